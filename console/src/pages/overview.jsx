/* What the server is doing now. An empty server offers sample data instead. */
import { useState } from "preact/hooks";
import { Chart } from "../chart.jsx";
import { insight } from "../lib/dynamo.js";
import { bytes, compact, count, duration, plural, unit } from "../lib/format.js";
import { useLoad, usePoll } from "../lib/load.js";
import { go, to } from "../lib/route.js";
import { loadTables, useTables } from "../lib/schema.js";
import { SampleData } from "../samples/sample_data.jsx";
import { CreateTable } from "../table/create.jsx";
import { DataTable, Empty, Failure, Head, Icon, Loaded, Logo, Panel, Segment, Stats, Waiting } from "../ui.jsx";
import { FirstQuery } from "./connect.jsx";
import { FindingList } from "./findings.jsx";
import { PatternText } from "./patterns.jsx";

export function Overview() {
  const { names, isComplete, error } = useTables();
  if (names === null) {
    return <><Head title="Overview" />{error ? <Failure error={error} retry={loadTables} /> : <Waiting />}</>;
  }
  return names.length === 0 && isComplete ? <FirstMinute /> : <Live names={names} />;
}

function FirstMinute() {
  const [isCreating, setCreating] = useState(false);
  return (
    <>
      <div class="welcome">
        <Logo />
        <div>
          <h1>The server runs, and is empty</h1>
          <p class="muted">It speaks DynamoDB at <code>{location.origin}</code>. Start with sample data and look around, or create a table of your own.</p>
          <div class="row">
            <SampleData />
            <button type="button" onClick={() => setCreating(true)}><Icon name="plus" />Create table</button>
          </div>
          <p class="muted small">The samples are the tables of five applications: tasks, tickets, calls, a calendar, and call records that need a second look; about 800 items, and 400 requests as those applications send them.</p>
        </div>
      </div>
      <FirstQuery table={null} />
      {isCreating && <CreateTable onClose={() => setCreating(false)} />}
    </>
  );
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

function Live({ names }) {
  const [step, setStep] = useState("second");
  const load = useLoad(async () => {
    const [overview, series, patterns, tables, findings] = await Promise.all([insight("overview"), insight("series", { step }), insight("patterns", { sort: "units", limit: 10 }),
      insight("tables", { sort: "load", limit: 6 }), insight("findings").catch(() => ({ total: 0, findings: [] }))]);
    return { overview, series, patterns, tables, findings, step };
  }, [step]);
  usePoll(step === "second" ? 1 : 15, load);
  return (
    <>
      <Head title="Overview" sub={load.data && `Counting since ${new Date(load.data.overview.insight.since).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" })}; ${count(load.data.overview.totals.consoleCalls)} calls of this console are left out`}>
        <Segment label="Time" options={[["second", "5 minutes"], ["minute", "24 hours"]]} value={step} onChange={setStep} />
      </Head>
      <Loaded of={load}>{(data) => <LivePicture {...data} />}</Loaded>
      {load.error?.name === "NoInsight" && <div class="after-notice"><FirstQuery table={names[0]} /></div>}
    </>
  );
}

function LivePicture({ overview, series, patterns, tables, findings }) {
  const { totals, lastMinute } = overview;
  const seconds = series.step;
  const perSecond = (values) => values.map((value) => value / seconds);
  return (
    <div class="stack">
      <Stats label="Last minute" items={[
        ["Requests, last minute", compact(lastMinute.calls), `${compact(lastMinute.calls / 60)} / s`],
        ["Errors, last minute", compact(lastMinute.errors), null, lastMinute.errors > 0 ? "bad" : ""],
        ["Latency p50", duration(lastMinute.latency.p50Us)], ["Latency p99", duration(lastMinute.latency.p99Us)],
        ["Read units, total", unit(totals.readUnits)], ["Write units, total", unit(totals.writeUnits)],
      ]} />
      <div class="cols charts">
        <Panel title="Requests per second"><Chart label={`Requests per second: ${count(sum(series.calls))} in all`} at={series.at} seconds={series.step === 1 ? 300 : 0} format={compact}
          series={[{ label: "requests", values: perSecond(series.calls), colour: "--c1", fill: true }, { label: "errors", values: perSecond(series.errors), colour: "--c6" }]} /></Panel>
        <Panel title="Latency"><Chart label="Latency of requests" at={series.at} seconds={series.step === 1 ? 300 : 0} format={duration}
          series={[{ label: "p50", values: series.p50Us, colour: "--c3" }, { label: "p99", values: series.p99Us, colour: "--c2" }]} /></Panel>
        <Panel title="Capacity units per second"><Chart label="Capacity units per second" at={series.at} seconds={series.step === 1 ? 300 : 0} format={unit}
          series={[{ label: "read", values: perSecond(series.readUnits), colour: "--c1", fill: true }, { label: "write", values: perSecond(series.writeUnits), colour: "--c4", fill: true }]} /></Panel>
      </div>
      <div class="cols">
        <Panel flush title="Patterns by units" actions={<a href={to(["patterns"])}>All {count(patterns.total)}</a>}>
          {patterns.patterns.length === 0 ? <Empty><p>No requests yet.</p></Empty> : (
            <DataTable label="Patterns by units" rows={patterns.patterns} rowKey={(one) => one.id} onOpen={(one) => go(["patterns", one.id])} columns={[
              { id: "text", label: "Pattern", cell: (one) => <PatternText pattern={one} link />, class: "wrap" },
              { id: "calls", label: "Calls", num: true, cell: (one) => compact(one.calls) },
              { id: "units", label: "Units", num: true, cell: (one) => unit(one.readUnits + one.writeUnits) },
              { id: "p99", label: "p99", num: true, cell: (one) => duration(one.latency.p99Us) },
            ]} />
          )}
        </Panel>
        <div class="stack">
          <Panel flush title="Findings" actions={<a href={to(["findings"])}>{plural(findings.total, "finding")}</a>}>
            {findings.findings.length === 0 ? <Empty><p>Nothing to report.</p></Empty> : <FindingList findings={findings.findings.slice(0, 3)} isShort />}
          </Panel>
          <Panel flush title="Busiest tables" actions={<a href={to(["tables"])}>All {count(tables.total)}</a>}>
            <DataTable label="Busiest tables" rows={tables.tables} rowKey={(one) => one.table} onOpen={(one) => go(["tables", one.table])} columns={[
              { id: "table", label: "Table", cell: (one) => <a class="strong" href={to(["tables", one.table])}>{one.table}</a>, class: "wrap" },
              { id: "calls", label: "Calls / min", num: true, cell: (one) => compact(one.lastMinute.calls) },
              { id: "items", label: "Items", num: true, cell: (one) => compact(one.items) },
              { id: "bytes", label: "Size", num: true, cell: (one) => bytes(one.bytes) },
            ]} />
          </Panel>
        </div>
      </div>
    </div>
  );
}
