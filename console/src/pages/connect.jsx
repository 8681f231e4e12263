/* How to reach this server: a first query in each language. */
import { useState } from "preact/hooks";
import { call, serverRegion } from "../lib/dynamo.js";
import { useLoad } from "../lib/load.js";
import { go } from "../lib/route.js";
import { describe, useTables } from "../lib/schema.js";
import { snippets } from "../lib/snippets.js";
import { Code, CopyButton, Field, Head, Loaded, Panel, Tabs } from "../ui.jsx";

export function Connect({ query }) {
  const { names } = useTables();
  const chosen = query.table ?? names?.[0] ?? null;
  return (
    <>
      <Head title="Connect" sub="Every AWS SDK and tool works: set the endpoint. Credentials can be any, unless the server checks signatures." />
      <div class="stack">
        <Panel title="Endpoint" actions={<CopyButton text={location.origin} label="Copy" />}><code class="endpoint">{location.origin}</code></Panel>
        <FirstQuery table={chosen} chooser={names?.length > 0 && <TableChooser names={names} value={chosen} onChange={(table) => go(["connect"], { table })} />} />
      </div>
    </>
  );
}

/* A text field with suggestions: a select element is unusable with a thousand tables. */
export function TableChooser({ names, value, onChange, label = "Table" }) {
  const [text, setText] = useState(null);
  function input(next) {
    setText(next);
    if (names.includes(next)) {
      onChange(next);
      setText(null);
    }
  }
  return (
    <div class="chooser">
      <input aria-label={label} list="table-names" value={text ?? value ?? ""} placeholder="table" spellcheck={false} autocomplete="off" onFocus={(event) => event.currentTarget.select()}
             onInput={(event) => input(event.currentTarget.value)} onBlur={() => setText(null)} />
      <datalist id="table-names">{(text ? names.filter((name) => name.toLowerCase().includes(text.toLowerCase())) : names).slice(0, 50).map((name) => <option key={name} value={name} />)}</datalist>
    </div>
  );
}

export function FirstQuery({ table, chooser }) {
  const load = useLoad(async () => {
    const region = await serverRegion();
    if (!table) {
      return { region, description: null, item: null };
    }
    const [description, { Items }] = await Promise.all([describe(table), call("Scan", { TableName: table, Limit: 1 })]);
    return { region, description, item: Items[0] ?? null };
  }, [table]);
  return (
    <section class="panel" aria-label="A first query">
      <header><h2>A first query</h2>{chooser}</header>
      {!table && <p class="body muted small">It reads a table of the sample data: load that first, on the overview.</p>}
      <Loaded of={load}>
        {({ region, description, item }) => (
          <Tabs label="Language" tabs={snippets({ endpoint: location.origin, region, table: description, item }).map(([id, label, code]) => [id, label, <Code label={label} text={code} />])} />
        )}
      </Loaded>
    </section>
  );
}
