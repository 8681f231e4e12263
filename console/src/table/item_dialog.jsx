/* One item: attributes with their types, or JSON. Saving checks that nobody has changed the item meanwhile. */
import { useState } from "preact/hooks";
import { boto3Code, cliCode, insertCode, javascriptCode } from "../lib/code.js";
import { call } from "../lib/dynamo.js";
import { bytes } from "../lib/format.js";
import { keyOf, keyTypes, primaryKey } from "../lib/schema.js";
import { emptyOf, itemFromText, itemSize, plainJson, problemOf, same, typedJson } from "../lib/values.js";
import { Editor } from "../editor.jsx";
import { Code, Confirm, Dialog, Notice, Segment, StatementCode, Tabs, toast } from "../ui.jsx";
import { itemOf, nodesOf, Tree } from "./tree.jsx";

const FORMS = [["form", "Form"], ["plain", "JSON"], ["typed", "DynamoDB JSON"], ["code", "Code"]];
const COMPARED_MAX = 100; /* attributes; an expression has a limit */
const ITEM_BYTES_MAX = 400 * 1024;

/* A new item has the keys of the table to begin with. */
function template(table) {
  const types = keyTypes(table);
  return Object.fromEntries(primaryKey(table).map((name) => [name, types[name] === "N" ? { N: "" } : emptyOf(types[name])]));
}

/* With the keys first. */
function ordered(table, item) {
  const keys = primaryKey(table);
  return { ...Object.fromEntries(keys.map((name) => [name, item[name]])), ...item };
}

/* A PutItem that fails if the item is not as it was; before null: if there is one. */
export function putRequest(table, item, before) {
  const [hash] = primaryKey(table);
  const names = { "#k": hash };
  const values = {};
  let condition = "attribute_not_exists(#k)";
  if (before) {
    const others = Object.keys(before).filter((name) => !primaryKey(table).includes(name)).slice(0, COMPARED_MAX);
    condition = ["attribute_exists(#k)", ...others.map((name, i) => {
      names[`#a${i}`] = name;
      values[`:a${i}`] = before[name];
      return `#a${i} = :a${i}`;
    })].join(" AND ");
  }
  return {
    TableName: table.TableName, Item: item, ConditionExpression: condition, ExpressionAttributeNames: names,
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  };
}

export function ItemDialog({ table, item, onClose, onSaved }) {
  const [before, setBefore] = useState(item);
  const initial = ordered(table, item ?? template(table));
  const [form, setForm] = useState("form");
  const [nodes, setNodes] = useState(() => nodesOf(initial));
  const [text, setText] = useState("");
  const [problem, setProblem] = useState(null);
  const [isDeleting, setDeleting] = useState(false);
  const [conflict, setConflict] = useState(null); /* the key of the item that would be overwritten */

  const current = () => (form === "plain" || form === "typed" ? itemFromText(text, form, before ?? initial) : itemOf(nodes));
  function show(next) {
    try {
      const now = current();
      setNodes(nodesOf(now));
      setText(next === "plain" ? plainJson({ M: now }) : next === "typed" ? typedJson(now) : "");
      setForm(next);
      setProblem(null);
    } catch (error) {
      setProblem(error);
    }
  }
  /* The confirmation applied to another key: ask again. */
  const isConflict = (next) => conflict !== null && next !== null && same(keyOf(table, next), conflict);
  async function save() {
    const next = current();
    const wrong = problemOf({ M: next });
    if (wrong) {
      throw new Error(wrong);
    }
    const size = itemSize(next);
    if (size > ITEM_BYTES_MAX) {
      throw new Error(`The item has ${bytes(size)}; the limit is 400 KB.`);
    }
    const isSame = before && same(keyOf(table, next), keyOf(table, before));
    try {
      if (isConflict(next)) {
        await call("PutItem", { TableName: table.TableName, Item: next });
      } else {
        await call("PutItem", putRequest(table, next, isSame ? before : null));
      }
    } catch (error) {
      if (error.name !== "ConditionalCheckFailedException") {
        throw error;
      }
      setConflict(keyOf(table, next));
      throw new Error(isSame ? "The item has been changed by someone else since it was loaded. Save again to overwrite it." : "There is an item with this key. Save again to overwrite it.");
    }
    toast(before && isSame ? "Saved" : "Item created");
    onSaved();
  }
  async function remove() {
    await call("DeleteItem", { TableName: table.TableName, Key: keyOf(table, before) });
    toast("Item deleted");
    onSaved();
    onClose();
  }
  function duplicate() {
    setBefore(null);
    setConflict(null);
    toast("A copy: change its key, then create it.");
  }
  let now = null;
  try {
    now = current();
  } catch { /* shown when it is saved */ }
  const isOverwriting = isConflict(now);
  const title = before ? "Edit item" : "New item";
  return (
    <Dialog title={title} wide class="item-dialog" submit={isOverwriting ? "Overwrite" : before ? "Save" : "Create"} danger={isOverwriting} onSubmit={save} onClose={onClose}
            extra={before && <><button type="button" class="plain" onClick={() => setDeleting(true)}>Delete</button><button type="button" class="plain" onClick={duplicate}>Duplicate</button></>}>
      <div class="row between">
        <Segment label="Form of the item" options={FORMS} value={form} onChange={show} />
        <span class="muted small">{now && bytes(itemSize(now))}</span>
      </div>
      {problem && <Notice kind="bad">{problem.message}</Notice>}
      {form === "form" && <Tree nodes={nodes} onChange={setNodes} fixed={primaryKey(table)} />}
      {(form === "plain" || form === "typed") && <Editor key={form} label="Item as JSON" language="json" value={text} onInput={setText} minHeight={300} />}
      {form === "plain" && before && <p class="small muted">Sets and binary values keep the types that they have in the stored item.</p>}
      {form === "code" && now && <ItemCode table={table} item={now} />}
      {isDeleting && <Confirm title="Delete this item?" submit="Delete" onSubmit={remove} onClose={() => setDeleting(false)}>This cannot be undone.</Confirm>}
    </Dialog>
  );
}

function ItemCode({ table, item }) {
  const put = { TableName: table.TableName, Item: item };
  const endpoint = location.origin;
  return (
    <div class="panel">
      <Tabs label="Item as code" tabs={[
        ["cli", "AWS CLI", <Code label="AWS CLI" text={cliCode("PutItem", put, endpoint)} />],
        ["boto3", "boto3", <Code label="boto3" text={boto3Code("PutItem", put, endpoint)} />],
        ["javascript", "JavaScript", <Code label="JavaScript" text={javascriptCode("PutItem", put, endpoint)} />],
        ["partiql", "PartiQL", <StatementCode {...insertCode(table.TableName, item)} />],
      ]} />
    </div>
  );
}
