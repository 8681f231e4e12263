/* One table: its items, model, schema, stream, and files in and out. */
import { bytes, plural } from "../lib/format.js";
import { to } from "../lib/route.js";
import { useTable } from "../lib/schema.js";
import { Items } from "../table/items.jsx";
import { Model } from "../table/model.jsx";
import { Schema } from "../table/schema_tab.jsx";
import { StreamTail } from "../table/stream.jsx";
import { TableInsight } from "../table/insight_tab.jsx";
import { Transfer } from "../table/transfer.jsx";
import { Empty, Failure, Head, Panel, StatusBadge, Waiting } from "../ui.jsx";

const TABS = [["items", "Items", Items], ["model", "Model", Model], ["schema", "Schema", Schema], ["insight", "Insight", TableInsight], ["stream", "Stream", StreamTail],
  ["transfer", "Import and export", Transfer]];

export function TablePage({ name, tab, query }) {
  const { table, error, reload } = useTable(name);
  const crumbs = <a href={to(["tables"])}>Tables</a>;
  if (!table) {
    if (error?.name === "ResourceNotFoundException") {
      return <><Head title={name} crumbs={crumbs} /><Panel><Empty title="There is no such table"><a class="button" href={to(["tables"])}>All tables</a></Empty></Panel></>;
    }
    return <><Head title={name} crumbs={crumbs} />{error ? <Failure error={error} retry={reload} /> : <Waiting />}</>;
  }
  const [current, , Content] = TABS.find(([id]) => id === tab) ?? TABS[0];
  return (
    <>
      <Head title={name} crumbs={crumbs} sub={`${plural(table.ItemCount, "item")} · ${bytes(table.TableSizeBytes)} · ${table.BillingModeSummary?.BillingMode === "PAY_PER_REQUEST" ? "on-demand" : "provisioned"}`}>
        {table.TableStatus !== "ACTIVE" && <StatusBadge status={table.TableStatus} />}
      </Head>
      <nav class="tabs" aria-label="Table">
        {TABS.map(([id, label]) => <a key={id} href={to(["tables", name, id])} aria-current={id === current ? "page" : undefined}>{label}</a>)}
      </nav>
      <Content table={table} query={query} reload={reload} />
    </>
  );
}
