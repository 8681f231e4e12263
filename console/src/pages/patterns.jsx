/* Access patterns: every call, folded by what it asks for. */
import { useState } from "preact/hooks";
import { insight } from "../lib/dynamo.js";
import { ago, bytes, compact, count, duration, moment, percent, unit } from "../lib/format.js";
import { useLoad, usePoll, useSettled } from "../lib/load.js";
import { go, to } from "../lib/route.js";
import { changeInsight } from "../lib/dynamo.js";
import { SampleTraffic } from "../samples/sample_data.jsx";
import { Badge, Code, Confirm, DataTable, Empty, Head, Icon, Loaded, Panel, Search, Select, Stats, toast } from "../ui.jsx";
import { FindingList } from "./findings.jsx";

const PAGE = 100;
const READS = /Get|Query|Scan|Execute/;
const SORTS = [["units", "Units"], ["calls", "Calls"], ["errors", "Errors"], ["p99", "Latency p99"], ["waste", "Items read and not returned"], ["last", "Last seen"]];

/* "Query Tasks.GSI1" and, below, its conditions. */
export function PatternText({ pattern, link }) {
  const { operation, table, index, key, filter, condition, update, projection, scan, other, flags } = pattern;
  const name = <>{operation} <span class="target">{table ?? "–"}{index && <>.{index}</>}</span></>;
  const parts = [[null, key], ["filter", filter], ["if", condition], ["update", update], ["read", projection]].filter(([, text]) => text);
  return (
    <span class="pattern">
      <span>{link ? <a href={to(["patterns", pattern.id])}>{name}</a> : <span>{name}</span>}{scan && <Badge kind="warn">scan</Badge>}{other && <Badge>other</Badge>}{flags.map((flag) => <Badge key={flag}>{flag}</Badge>)}</span>
      {parts.map(([label, text]) => <code key={label}>{label && <span class="muted">{label} </span>}{text}</code>)}
    </span>
  );
}

const columns = [
  { id: "text", label: "Pattern", cell: (one) => <PatternText pattern={one} link />, class: "wrap" },
  { id: "calls", label: "Calls", num: true, sort: true, cell: (one) => compact(one.calls) },
  { id: "errors", label: "Errors", num: true, sort: true, cell: (one) => <span class={one.errors > 0 ? "bad" : "muted"}>{one.errors > 0 ? compact(one.errors) : "–"}</span> },
  { id: "waste", label: "Read → returned", num: true, sort: true, cell: (one) => (one.itemsRead === 0 || !READS.test(one.operation) ? <span class="muted">–</span> : <span class={one.itemsReturned < one.itemsRead / 2 ? "warn" : ""}>{compact(one.itemsRead)} → {compact(one.itemsReturned)}</span>) },
  { id: "units", label: "Units", num: true, sort: true, cell: (one) => unit(one.readUnits + one.writeUnits) },
  { id: "each", label: "Per call", num: true, cell: (one) => unit(one.unitsPerCall) },
  { id: "p50", label: "p50", num: true, cell: (one) => duration(one.latency.p50Us) },
  { id: "p99", label: "p99", num: true, sort: true, cell: (one) => duration(one.latency.p99Us) },
  { id: "last", label: "Last seen", num: true, sort: true, cell: (one) => ago(one.lastSeenAt) },
];

export function Patterns({ id, query }) {
  return id ? <PatternPage id={id} /> : <PatternList table={query.table} />;
}

function PatternList({ table }) {
  const [text, setText] = useState("");
  const [isResetting, setResetting] = useState(false);
  const q = useSettled(text.trim());
  const { view, toolbar, load } = usePatterns({ table, q });
  return (
    <>
      <Head title="Access patterns" sub={table ? <>of {table} · <a href={to(["patterns"])}>all tables</a></> : "Every call of a program, folded by what it asks for; values are left out."}>
        <button type="button" class="plain" onClick={() => setResetting(true)}>Reset</button>
        <SampleOffer load={load} />
      </Head>
      <div class="stack">
        <div class="row"><div class="grow"><Search label="Find patterns" value={text} onInput={setText} /></div>{toolbar}</div>
        {view}
      </div>
      {isResetting && (
        <Confirm title="Forget all patterns?" submit="Reset" onClose={() => setResetting(false)} onSubmit={async () => { await changeInsight("reset", {}); toast("Counting starts anew"); load.reload(); }}>
          Patterns, heat and series of all tables are forgotten, and counting starts anew. Data is not touched.
        </Confirm>
      )}
    </>
  );
}

/* Nothing was asked yet: offers requests to look at. */
function SampleOffer({ load }) {
  return load.data?.total === 0 ? <SampleTraffic onDone={load.reload} /> : null;
}

/* The table of patterns, with sorting and paging by the server. */
export function usePatterns(filter) {
  const [sort, setSort] = useState("units");
  const [operation, setOperation] = useState("");
  const [offset, setOffset] = useState(0);
  const load = useLoad(() => insight("patterns", { ...filter, operation, sort, limit: PAGE, offset }), [filter.table, filter.q, filter.index, operation, sort, offset]);
  usePoll(3, load);
  const toolbar = (
    <>
      <Select aria-label="Operation" class="auto" options={[["", "All operations"], "GetItem", "Query", "Scan", "PutItem", "UpdateItem", "DeleteItem", "BatchGetItem", "ExecuteStatement"]} value={operation} onChange={(value) => { setOperation(value); setOffset(0); }} />
      <Select aria-label="Sort by" class="auto" options={SORTS.map(([value, label]) => [value, `By ${label.toLowerCase()}`])} value={sort} onChange={(value) => { setSort(value); setOffset(0); }} />
    </>
  );
  const view = (
    <Loaded of={load}>
      {({ total, patterns }) => (
        <section class="panel flush">
          {patterns.length === 0 ? <Empty title="No patterns"><p>Requests to the server appear here.</p></Empty> : (
            <DataTable label="Access patterns" columns={columns} rows={patterns} rowKey={(one) => one.id} onOpen={(one) => go(["patterns", one.id])} sort={{ by: sort, down: true }} onSort={({ by }) => { setSort(by); setOffset(0); }} />
          )}
          {total > PAGE && (
            <footer class="row between">
              <span>{count(offset + 1)} to {count(Math.min(total, offset + PAGE))} of {count(total)}</span>
              <span class="row">
                <button type="button" class="little" disabled={offset === 0} onClick={() => setOffset(Math.max(0, offset - PAGE))}><Icon name="left" />Previous</button>
                <button type="button" class="little" disabled={offset + PAGE >= total} onClick={() => setOffset(offset + PAGE)}>Next<Icon name="right" /></button>
              </span>
            </footer>
          )}
        </section>
      )}
    </Loaded>
  );
  return { view, toolbar, load };
}

function PatternPage({ id }) {
  const load = useLoad(() => insight(`patterns/${encodeURIComponent(id)}`), [id]);
  usePoll(3, load);
  return (
    <>
      <Head title={load.data ? `${load.data.operation} ${load.data.table ?? ""}${load.data.index ? `.${load.data.index}` : ""}` : "Access pattern"} crumbs={<a href={to(["patterns"])}>Access patterns</a>}>
        {load.data?.table && <a class="button" href={to(["tables", load.data.table])}>Open table</a>}
      </Head>
      <Loaded of={load}>{(pattern) => <PatternDetails pattern={pattern} />}</Loaded>
    </>
  );
}

function PatternDetails({ pattern }) {
  const findings = useLoad(() => insight("findings", { table: pattern.table }), [pattern.id]);
  const own = findings.data?.findings.filter((one) => one.pattern === pattern.id) ?? [];
  const parts = [["Key condition", pattern.key], ["Filter", pattern.filter], ["Condition", pattern.condition], ["Update", pattern.update], ["Projection", pattern.projection], ["Options", pattern.flags?.join(", ")]].filter(([, text]) => text);
  const units = [[pattern.table, pattern.tableUnits], ...Object.entries(pattern.indexUnits ?? {})];
  return (
    <div class="stack">
      <Stats label="Pattern" items={[["Calls", compact(pattern.calls)], ["Errors", compact(pattern.errors), null, pattern.errors > 0 ? "bad" : ""],
        ["Units per call", unit(pattern.unitsPerCall), `max ${unit(pattern.unitsMax)}`], ["Latency p50", duration(pattern.latency.p50Us)], ["Latency p99", duration(pattern.latency.p99Us), `max ${duration(pattern.latency.maxUs)}`],
        ["Items read → returned", `${compact(pattern.itemsRead)} → ${compact(pattern.itemsReturned)}`, pattern.itemsRead > 0 ? percent(pattern.itemsReturned / pattern.itemsRead, 0) : null]]} />
      {own.length > 0 && <Panel flush title="Findings"><FindingList findings={own} /></Panel>}
      <div class="cols">
        <Panel title="What it asks for">
          <dl class="pairs">
            {parts.map(([label, text]) => <div key={label}><dt>{label}</dt><dd><code>{text}</code></dd></div>)}
            <div><dt>Seen</dt><dd>{moment(pattern.firstSeenAt)} to {moment(pattern.lastSeenAt)}</dd></div>
            <div><dt>Bytes</dt><dd>{bytes(pattern.bytesRead)} read, {bytes(pattern.bytesWritten)} written, largest item {bytes(pattern.itemBytesMax)}</dd></div>
            <div><dt>Traffic</dt><dd>{bytes(pattern.requestBytes)} in, {bytes(pattern.answerBytes)} out</dd></div>
          </dl>
          {pattern.scan && <Badge kind="warn">reads without a partition key</Badge>}
        </Panel>
        <Panel title="Latency"><Histogram buckets={pattern.histogram} /></Panel>
        <Panel flush title="Capacity units">
          <DataTable label="Capacity units" rows={units.filter(([, one]) => one)} rowKey={([name]) => name} columns={[
            { id: "name", label: "Table or index", cell: ([name]) => name, class: "wrap" }, { id: "read", label: "Read", num: true, cell: ([, one]) => unit(one.read) }, { id: "write", label: "Write", num: true, cell: ([, one]) => unit(one.write) },
          ]} />
        </Panel>
        {Object.keys(pattern.errorKinds ?? {}).length > 0 && (
          <Panel flush title="Errors"><DataTable label="Errors" rows={Object.entries(pattern.errorKinds)} rowKey={([name]) => name} columns={[{ id: "kind", label: "Kind", cell: ([name]) => name, class: "wrap" }, { id: "n", label: "Calls", num: true, cell: ([, n]) => count(n) }]} /></Panel>
        )}
      </div>
      {pattern.example && <Panel flush title="An example, with its values masked"><Code label="Example" text={JSON.stringify(pattern.example.request, null, 2)} /></Panel>}
    </div>
  );
}

/* Bars of calls per bucket; buckets without calls are not in the list. */
function Histogram({ buckets }) {
  if (!buckets || buckets.length === 0) {
    return <p class="muted">No calls yet.</p>;
  }
  const max = Math.max(...buckets.map((one) => one.calls));
  return (
    <table class="histogram" aria-label="Latency">
      <tbody>
        {buckets.map((one) => (
          <tr key={one.leUs}><th scope="row">≤ {duration(one.leUs)}</th><td><span class="bar" style={{ width: `${(100 * one.calls) / max}%` }} /></td><td class="num">{count(one.calls)}</td></tr>
        ))}
      </tbody>
    </table>
  );
}
