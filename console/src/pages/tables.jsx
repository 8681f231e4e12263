/* The list of tables. Only rows in view are drawn, and only their tables are described: a thousand tables cost no more
 * than thirty. */
import { useEffect, useState } from "preact/hooks";
import { CreateTable } from "../table/create.jsx";
import { bytes, count, plural } from "../lib/format.js";
import { go, replace, to } from "../lib/route.js";
import { describe, knownTable, loadTables, useTables } from "../lib/schema.js";
import { useSettled } from "../lib/load.js";
import { matching } from "../palette.jsx";
import { SampleData } from "../samples/sample_data.jsx";
import { Empty, Failure, Head, Icon, Panel, Scroll, Search, StatusBadge, useWindow, Waiting } from "../ui.jsx";

const ROW = 45;

export function Tables({ query }) {
  const { names, isComplete, error } = useTables();
  const [text, setText] = useState(query.find ?? "");
  const [isCreating, setCreating] = useState(false);
  const found = names && (text.trim() === "" ? names : matching(names, text));
  return (
    <>
      <Head title="Tables" sub={names && (text.trim() ? `${count(found.length)} of ${plural(names.length, "table")}` : plural(names.length, "table"))}>
        <button type="button" class="plain" onClick={loadTables}><Icon name="refresh" />Refresh</button>
        <button type="button" class="primary" onClick={() => setCreating(true)}><Icon name="plus" />Create table</button>
      </Head>
      {error && <Failure error={error} retry={loadTables} />}
      {!names && !error && <Waiting />}
      {names?.length === 0 && isComplete && (
        <Panel><Empty title="No tables yet"><p>Create one, or start with sample data: the tables of five applications, with their items.</p><SampleData /></Empty></Panel>
      )}
      {names?.length > 0 && (
        <div class="stack">
          <Search label="Find tables" value={text} onInput={(value) => { setText(value); replace(["tables"], { find: value }); }} />
          {found.length === 0 ? <Panel><Empty>No table has “{text}” in its name.</Empty></Panel> : <TableList names={found} />}
        </div>
      )}
      {isCreating && <CreateTable onClose={() => setCreating(false)} />}
    </>
  );
}

function TableList({ names }) {
  const { ref, first, last, before, after } = useWindow(names.length, ROW, 6);
  const shown = names.slice(first, last);
  return (
    <section class="panel flush">
      <Scroll label="Tables" class="table-list" boxRef={ref}>
        <table aria-rowcount={names.length}>
          <thead>
            <tr><th scope="col">Name</th><th scope="col">Partition key</th><th scope="col">Sort key</th><th scope="col" class="num">Indexes</th><th scope="col" class="num">Items</th>
              <th scope="col" class="num">Size</th><th scope="col">Status</th></tr>
          </thead>
          <tbody>
            {before > 0 && <tr aria-hidden="true"><td colSpan={7} style={{ height: before, padding: 0 }} /></tr>}
            {shown.map((name) => <TableRow key={name} name={name} />)}
            {after > 0 && <tr aria-hidden="true"><td colSpan={7} style={{ height: after, padding: 0 }} /></tr>}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

/* A row asks for its table's description when it has been in view for a moment. */
function TableRow({ name }) {
  const [table, setTable] = useState(knownTable(name));
  const settled = useSettled(name, 120);
  const [isIn, setIn] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIn(true), 120);
    return () => clearTimeout(timer);
  }, []);
  useEffect(() => {
    if (isIn) {
      describe(name).then(setTable, () => {});
    }
  }, [isIn, settled]);
  const key = (kind) => table?.KeySchema.filter((one) => one.KeyType === kind).map((one) => one.AttributeName).join(", ");
  const indexes = table && (table.GlobalSecondaryIndexes?.length ?? 0) + (table.LocalSecondaryIndexes?.length ?? 0);
  return (
    <tr class="link" onClick={(event) => !event.target.closest("a") && go(["tables", name])}>
      <td><a class="strong" href={to(["tables", name])}>{name}</a></td>
      <td class="mono">{key("HASH")}</td><td class="mono">{key("RANGE")}</td>
      <td class="num">{table && (indexes || "–")}</td><td class="num">{table && count(table.ItemCount)}</td><td class="num">{table && bytes(table.TableSizeBytes)}</td>
      <td>{table && <StatusBadge status={table.TableStatus} />}</td>
    </tr>
  );
}
