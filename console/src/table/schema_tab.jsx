/* What a table is: keys, indexes, settings; and what can be changed of it. */
import { useState } from "preact/hooks";
import { call } from "../lib/dynamo.js";
import { bytes, count, moment } from "../lib/format.js";
import { go } from "../lib/route.js";
import { forget, keyTypes, loadTables, sourcesOf } from "../lib/schema.js";
import { Badge, Confirm, DataTable, Dialog, Field, Icon, IconButton, Panel, StatusBadge, toast } from "../ui.jsx";
import { CreateIndex, RequestTabs } from "./create.jsx";

const projectionText = (projection) => (projection.ProjectionType === "INCLUDE" ? projection.NonKeyAttributes.join(", ") : { ALL: "all", KEYS_ONLY: "keys only" }[projection.ProjectionType]);

/* The CreateTable request that would make the same table. */
export function createInputOf(table) {
  const throughput = (of) => (table.BillingModeSummary?.BillingMode === "PAY_PER_REQUEST" ? {} : { ProvisionedThroughput: { ReadCapacityUnits: of.ProvisionedThroughput.ReadCapacityUnits, WriteCapacityUnits: of.ProvisionedThroughput.WriteCapacityUnits } });
  const index = ({ IndexName, KeySchema, Projection }) => ({ IndexName, KeySchema, Projection });
  return {
    TableName: table.TableName, AttributeDefinitions: table.AttributeDefinitions, KeySchema: table.KeySchema,
    BillingMode: table.BillingModeSummary?.BillingMode ?? "PROVISIONED", ...throughput(table),
    ...(table.GlobalSecondaryIndexes && { GlobalSecondaryIndexes: table.GlobalSecondaryIndexes.map((one) => ({ ...index(one), ...throughput(one) })) }),
    ...(table.LocalSecondaryIndexes && { LocalSecondaryIndexes: table.LocalSecondaryIndexes.map(index) }),
    ...(table.StreamSpecification && { StreamSpecification: table.StreamSpecification }),
  };
}

export function Schema({ table, reload }) {
  const [dialog, setDialog] = useState(null);
  const types = keyTypes(table);
  const keys = (list) => (list.length === 0 ? <span class="muted">–</span> : list.map((name) => <span key={name} class="key-name"><code>{name}</code> <span class="type">{types[name]}</span></span>));
  const close = () => setDialog(null);
  const update = async (input, text) => {
    await call("UpdateTable", { TableName: table.TableName, ...input });
    toast(text);
    reload();
  };
  const act = (work) => () => work().catch(toast.error);
  const stream = table.StreamSpecification?.StreamEnabled;
  const ttl = table.ttl?.TimeToLiveStatus === "ENABLED" || table.ttl?.TimeToLiveStatus === "ENABLING" ? table.ttl.AttributeName : null;
  const columns = [
    { id: "name", label: "Name", cell: (one) => <><span class="strong">{one.name ?? table.TableName}</span><div class="sub">{one.kind}</div></> },
    { id: "hash", label: "Partition key", cell: (one) => keys(one.hash) },
    { id: "range", label: "Sort key", cell: (one) => keys(one.range) },
    { id: "projection", label: "Projection", cell: (one) => (one.projection ? projectionText(one.projection) : <span class="muted">–</span>), class: "wrap" },
    { id: "items", label: "Items", num: true, cell: (one) => count(one.items) },
    { id: "bytes", label: "Size", num: true, cell: (one) => bytes(one.bytes) },
    { id: "status", label: "Status", cell: (one) => <>{one.status ? <StatusBadge status={one.status} /> : null}{one.isBackfilling && <div class="sub">copying items</div>}</> },
    { id: "more", label: <span class="visually-hidden">Actions</span>, cell: (one) => one.kind === "Global index" && <IconButton icon="trash" label={`Delete index ${one.name}`} class="plain little" onClick={() => setDialog({ index: one.name })} /> },
  ];
  return (
    <div class="stack">
      <Panel flush title="Keys and indexes" actions={<button type="button" onClick={() => setDialog("create")}><Icon name="plus" />Create index</button>}>
        <DataTable label="Keys and indexes" columns={columns} rows={sourcesOf(table)} rowKey={(one) => one.name ?? ""} />
      </Panel>
      <Panel title="Settings">
        <dl class="settings">
          <dt>Billing</dt><dd>{table.BillingModeSummary?.BillingMode === "PAY_PER_REQUEST" ? "On-demand" : `Provisioned: ${count(table.ProvisionedThroughput.ReadCapacityUnits)} read and ${count(table.ProvisionedThroughput.WriteCapacityUnits)} write units a second`}</dd><dd />
          <dt>Table class</dt><dd>{table.TableClassSummary?.TableClass === "STANDARD_INFREQUENT_ACCESS" ? "Standard, infrequent access" : "Standard"}</dd><dd />
          <dt>Stream</dt><dd>{stream ? <>On <Badge>{table.StreamSpecification.StreamViewType.toLowerCase().replaceAll("_", " ")}</Badge></> : "Off"}</dd>
          <dd><button type="button" class="little" onClick={act(() => update({ StreamSpecification: stream ? { StreamEnabled: false } : { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" } }, stream ? "Stream disabled" : "Stream enabled"))}>{stream ? "Disable" : "Enable"}</button></dd>
          <dt>Time to live</dt><dd>{ttl ? <>by <code>{ttl}</code></> : "Off"}</dd><dd><button type="button" class="little" onClick={() => setDialog("ttl")}>{ttl ? "Disable" : "Enable"}</button></dd>
          <dt>Deletion protection</dt><dd>{table.DeletionProtectionEnabled ? "On" : "Off"}</dd>
          <dd><button type="button" class="little" onClick={act(() => update({ DeletionProtectionEnabled: !table.DeletionProtectionEnabled }, "Deletion protection changed"))}>{table.DeletionProtectionEnabled ? "Turn off" : "Turn on"}</button></dd>
          <dt>Created</dt><dd>{moment(table.CreationDateTime * 1000)}</dd><dd />
          <dt>ARN</dt><dd><code>{table.TableArn}</code></dd><dd />
        </dl>
      </Panel>
      <Panel title="The same table elsewhere"><RequestTabs operation="CreateTable" input={createInputOf(table)} /></Panel>
      <div><button type="button" onClick={() => setDialog("delete")}><Icon name="trash" />Delete table</button></div>
      {dialog === "create" && <CreateIndex table={table} onClose={close} onCreated={reload} />}
      {dialog === "ttl" && <TimeToLive table={table} current={ttl} onClose={close} onDone={reload} />}
      {dialog?.index && (
        <Confirm title={`Delete the index ${dialog.index}?`} submit="Delete index" onClose={close}
                 onSubmit={() => update({ GlobalSecondaryIndexUpdates: [{ Delete: { IndexName: dialog.index } }] }, `Index ${dialog.index} is being deleted`)}>
          Queries on it fail from then on. The table's items are not touched.
        </Confirm>
      )}
      {dialog === "delete" && (
        <Confirm title={`Delete the table ${table.TableName}?`} submit="Delete table" word={table.TableName} onClose={close} onSubmit={async () => {
          await call("DeleteTable", { TableName: table.TableName });
          forget(table.TableName);
          await loadTables();
          toast(`Table ${table.TableName} deleted`);
          go(["tables"]);
        }}>All {count(table.ItemCount)} items and all indexes go with it. This cannot be undone.</Confirm>
      )}
    </div>
  );
}

function TimeToLive({ table, current, onClose, onDone }) {
  const [name, setName] = useState(current ?? "expiresAt");
  async function submit() {
    await call("UpdateTimeToLive", { TableName: table.TableName, TimeToLiveSpecification: { Enabled: !current, AttributeName: name.trim() } });
    toast(current ? "Time to live disabled" : "Time to live enabled");
    onDone();
  }
  return (
    <Dialog title="Time to live" submit={current ? "Disable" : "Enable"} onSubmit={submit} onClose={onClose}>
      <Field label="Attribute" hint="A number: seconds since 1970 after which the item is deleted"><input required value={name} disabled={Boolean(current)} spellcheck={false} onInput={(event) => setName(event.currentTarget.value)} /></Field>
    </Dialog>
  );
}
