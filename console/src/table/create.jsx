/* Dialogs that create a table, or an index of one; with the request as code beside the form. */
import { useState } from "preact/hooks";
import { boto3Code, cliCode, javascriptCode } from "../lib/code.js";
import { call } from "../lib/dynamo.js";
import { go } from "../lib/route.js";
import { keyTypes, loadTables, primaryKey } from "../lib/schema.js";
import { Editor } from "../editor.jsx";
import { Check, Code, Dialog, Field, Icon, IconButton, Notice, Segment, Select, Tabs, toast } from "../ui.jsx";

const KEY_TYPES = [["S", "String"], ["N", "Number"], ["B", "Binary"]];
const PROJECTIONS = [["ALL", "All attributes"], ["KEYS_ONLY", "Keys only"], ["INCLUDE", "Keys and some"]];
const NEW_KEY = { name: "", type: "S" };
const NEW_INDEX = { kind: "global", name: "", hash: NEW_KEY, range: { ...NEW_KEY }, projection: "ALL", include: "" };

const names = (text) => text.split(",").map((name) => name.trim()).filter(Boolean);

function KeyFields({ label, value, onChange, optional, types, locked }) {
  /* An attribute that is a key already has its type. */
  const known = types?.[value.name];
  return (
    <div class="key-fields">
      <Field label={label}><input value={value.name} required={!optional} disabled={locked} placeholder={optional ? "none" : "name"} spellcheck={false} autocomplete="off" onInput={(event) => onChange({ ...value, name: event.currentTarget.value })} /></Field>
      <Field label="Type"><Select options={KEY_TYPES} value={known ?? value.type} disabled={Boolean(known) || locked} onChange={(type) => onChange({ ...value, type })} /></Field>
    </div>
  );
}

function IndexFields({ index, onChange, onRemove, types, tableHash, kinds = ["global", "local"] }) {
  const change = (part) => onChange({ ...index, ...part });
  return (
    <fieldset class="index-fields">
      <legend class="visually-hidden">Index {index.name}</legend>
      <div class="form-row">
        <Field label="Index name"><input value={index.name} required spellcheck={false} autocomplete="off" onInput={(event) => change({ name: event.currentTarget.value })} /></Field>
        {kinds.length > 1 && <Field label="Kind"><Select options={[["global", "Global"], ["local", "Local"]]} value={index.kind} onChange={(kind) => change({ kind })} /></Field>}
        <Field label="Projection"><Select options={PROJECTIONS} value={index.projection} onChange={(projection) => change({ projection })} /></Field>
      </div>
      <div class="form-row wide">
        {index.kind === "local"
          ? <KeyFields label="Partition key" value={tableHash} locked onChange={() => {}} />
          : <KeyFields label="Partition key" value={index.hash} types={types} onChange={(hash) => change({ hash })} />}
        <KeyFields label="Sort key" optional={index.kind === "global"} value={index.range} types={types} onChange={(range) => change({ range })} />
      </div>
      {index.projection === "INCLUDE" && <Field label="Attributes to include" hint="Separated by commas"><input value={index.include} onInput={(event) => change({ include: event.currentTarget.value })} /></Field>}
      {onRemove && <IconButton icon="trash" label="Remove index" class="plain little remove" onClick={onRemove} />}
    </fieldset>
  );
}

const keySchema = (hash, range) => [{ AttributeName: hash, KeyType: "HASH" }, ...(range ? [{ AttributeName: range, KeyType: "RANGE" }] : [])];

function indexInput(index, tableHash) {
  return {
    IndexName: index.name.trim(),
    KeySchema: keySchema(index.kind === "local" ? tableHash : index.hash.name.trim(), index.range.name.trim()),
    Projection: { ProjectionType: index.projection, ...(index.projection === "INCLUDE" && { NonKeyAttributes: names(index.include) }) },
  };
}

/* The CreateTable request that the form stands for. */
export function createTableInput({ name, hash, range, indexes, billing, readUnits, writeUnits, stream, protection }) {
  const types = {};
  const note = (key) => {
    if (key.name.trim() !== "") {
      types[key.name.trim()] ??= key.type;
    }
  };
  [hash, range, ...indexes.flatMap((index) => [...(index.kind === "global" ? [index.hash] : []), index.range])].forEach(note);
  const throughput = billing === "PROVISIONED" ? { ProvisionedThroughput: { ReadCapacityUnits: Number(readUnits), WriteCapacityUnits: Number(writeUnits) } } : {};
  const global = indexes.filter((index) => index.kind === "global").map((index) => ({ ...indexInput(index), ...throughput }));
  const local = indexes.filter((index) => index.kind === "local").map((index) => indexInput(index, hash.name.trim()));
  return {
    TableName: name.trim(),
    AttributeDefinitions: Object.entries(types).map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
    KeySchema: keySchema(hash.name.trim(), range.name.trim()),
    BillingMode: billing, ...throughput,
    ...(global.length > 0 && { GlobalSecondaryIndexes: global }),
    ...(local.length > 0 && { LocalSecondaryIndexes: local }),
    ...(stream && { StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" } }),
    ...(protection && { DeletionProtectionEnabled: true }),
  };
}

export function CreateTable({ onClose }) {
  const [form, setForm] = useState({ name: "", hash: { name: "", type: "S" }, range: { name: "", type: "S" }, indexes: [], billing: "PAY_PER_REQUEST", readUnits: "5", writeUnits: "5", stream: false, protection: false });
  const [mode, setMode] = useState("form");
  const [text, setText] = useState("");
  const change = (part) => setForm({ ...form, ...part });
  const input = createTableInput(form);
  const types = Object.fromEntries([form.hash, form.range].filter((key) => key.name).map((key) => [key.name, key.type]));
  async function create() {
    const request = mode === "json" ? JSON.parse(text) : input;
    await call("CreateTable", request);
    loadTables();
    toast(`Table ${request.TableName} created`);
    go(["tables", request.TableName]);
  }
  function show(next) {
    if (next === "json" && mode === "form") {
      setText(JSON.stringify(input, null, 2));
    }
    setMode(next);
  }
  return (
    <Dialog title="Create table" wide submit="Create table" onSubmit={create} onClose={onClose}>
      <Segment label="As" options={[["form", "Form"], ["json", "JSON"], ["code", "Code"]]} value={mode} onChange={show} />
      {mode === "json" && <><p class="small muted">A CreateTable request, as <code>aws dynamodb create-table --cli-input-json</code> takes it.</p><Editor label="CreateTable request" language="json" value={text} onInput={setText} minHeight={280} /></>}
      {mode === "code" && <RequestTabs operation="CreateTable" input={input} />}
      {mode === "form" && (
        <div class="form">
          <Field label="Table name" hint="3 to 255 letters, digits, _ - and ."><input required value={form.name} spellcheck={false} autocomplete="off" onInput={(event) => change({ name: event.currentTarget.value })} /></Field>
          <div class="form-row wide">
            <KeyFields label="Partition key" value={form.hash} onChange={(hash) => change({ hash })} />
            <KeyFields label="Sort key" optional value={form.range} onChange={(range) => change({ range })} />
          </div>
          <h3>Indexes</h3>
          {form.indexes.map((index, i) => (
            <IndexFields key={i} index={index} types={types} tableHash={form.hash} onRemove={() => change({ indexes: form.indexes.filter((_, at) => at !== i) })}
                         onChange={(next) => change({ indexes: form.indexes.map((one, at) => (at === i ? next : one)) })} />
          ))}
          <button type="button" class="little add" onClick={() => change({ indexes: [...form.indexes, { ...NEW_INDEX, name: `GSI${form.indexes.length + 1}` }] })}><Icon name="plus" />Add index</button>
          <h3>Settings</h3>
          <div class="form-row">
            <Field label="Billing"><Select options={[["PAY_PER_REQUEST", "On-demand"], ["PROVISIONED", "Provisioned"]]} value={form.billing} onChange={(billing) => change({ billing })} /></Field>
            {form.billing === "PROVISIONED" && <Field label="Read units"><input type="number" min="1" value={form.readUnits} onInput={(event) => change({ readUnits: event.currentTarget.value })} /></Field>}
            {form.billing === "PROVISIONED" && <Field label="Write units"><input type="number" min="1" value={form.writeUnits} onInput={(event) => change({ writeUnits: event.currentTarget.value })} /></Field>}
          </div>
          <div class="row wide-gap"><Check label="Stream of changes" checked={form.stream} onChange={(stream) => change({ stream })} /><Check label="Deletion protection" checked={form.protection} onChange={(protection) => change({ protection })} /></div>
        </div>
      )}
    </Dialog>
  );
}

export function RequestTabs({ operation, input }) {
  const endpoint = location.origin;
  return (
    <div class="panel">
      <Tabs label="Request as code" tabs={[
        ["cli", "AWS CLI", <Code label="AWS CLI" text={cliCode(operation, input, endpoint)} />],
        ["boto3", "boto3", <Code label="boto3" text={boto3Code(operation, input, endpoint)} />],
        ["javascript", "JavaScript", <Code label="JavaScript" text={javascriptCode(operation, input, endpoint)} />],
      ]} />
    </div>
  );
}

export function CreateIndex({ table, onClose, onCreated }) {
  const [index, setIndex] = useState({ ...NEW_INDEX, name: `GSI${(table.GlobalSecondaryIndexes?.length ?? 0) + 1}` });
  const types = keyTypes(table);
  const isProvisioned = table.BillingModeSummary?.BillingMode !== "PAY_PER_REQUEST";
  const keys = [index.hash, ...(index.range.name.trim() ? [index.range] : [])].map((key) => ({ AttributeName: key.name.trim(), AttributeType: types[key.name.trim()] ?? key.type }));
  const input = {
    TableName: table.TableName,
    AttributeDefinitions: keys,
    GlobalSecondaryIndexUpdates: [{ Create: { ...indexInput(index), ...(isProvisioned && { ProvisionedThroughput: { ReadCapacityUnits: 5, WriteCapacityUnits: 5 } }) } }],
  };
  async function create() {
    await call("UpdateTable", input);
    toast(`Index ${index.name} is being created`);
    onCreated();
  }
  return (
    <Dialog title="Create index" wide submit="Create index" onSubmit={create} onClose={onClose}>
      <IndexFields index={index} onChange={setIndex} types={types} tableHash={{ name: primaryKey(table)[0], type: "S" }} kinds={["global"]} />
      <Notice kind="info">Every item is copied into the index while the table stays in use. Each write of an item that the index holds then costs write units of the index too.</Notice>
      <RequestTabs operation="UpdateTable" input={input} />
    </Dialog>
  );
}
