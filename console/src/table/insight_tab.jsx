/* The traffic of one table: load over an hour, patterns, findings, heat. */
import { Chart } from "../chart.jsx";
import { insight } from "../lib/dynamo.js";
import { compact, plural, unit } from "../lib/format.js";
import { useLoad, usePoll } from "../lib/load.js";
import { to } from "../lib/route.js";
import { FindingList } from "../pages/findings.jsx";
import { usePatterns } from "../pages/patterns.jsx";
import { Loaded, Panel } from "../ui.jsx";

export function TableInsight({ table }) {
  const name = table.TableName;
  const load = useLoad(async () => {
    const [series, findings] = await Promise.all([insight("series", { step: "minute", table: name }), insight("findings", { table: name }).catch(() => ({ total: 0, findings: [] }))]);
    return { series, findings };
  }, [name]);
  usePoll(15, load);
  const { view, toolbar } = usePatterns({ table: name });
  return (
    <Loaded of={load}>
      {({ series, findings }) => (
        <div class="stack">
          {findings.findings.length > 0 && <Panel flush title={plural(findings.total, "finding")}><FindingList findings={findings.findings} /></Panel>}
          <div class="cols charts">
            <Panel title="Requests per minute"><Chart label="Requests per minute" at={series.at} format={compact} least={600} height={130} series={[{ label: "requests", values: series.calls, colour: "--c1", fill: true }, { label: "errors", values: series.errors, colour: "--c6" }]} /></Panel>
            <Panel title="Capacity units per minute"><Chart label="Capacity units per minute" at={series.at} format={unit} least={600} height={130} series={[{ label: "read", values: series.readUnits, colour: "--c1", fill: true }, { label: "write", values: series.writeUnits, colour: "--c4", fill: true }]} /></Panel>
          </div>
          <div class="row between"><h2>Access patterns</h2><span class="row">{toolbar}<a class="button" href={to(["heat"], { table: name })}>Heat</a></span></div>
          {view}
        </div>
      )}
    </Loaded>
  );
}
