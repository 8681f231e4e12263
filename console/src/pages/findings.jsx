/* What should be changed, with its evidence. */
import { useState } from "preact/hooks";
import { insight } from "../lib/dynamo.js";
import { count, plural } from "../lib/format.js";
import { useLoad, usePoll } from "../lib/load.js";
import { to } from "../lib/route.js";
import { Badge, Empty, Head, Loaded, Panel, Segment } from "../ui.jsx";

const KINDS = { critical: "bad", warning: "warn", info: "accent" };
const ORDER = ["critical", "warning", "info"];

export function Findings({ query }) {
  const [severity, setSeverity] = useState("all");
  const load = useLoad(() => insight("findings", { table: query.table }), [query.table]);
  usePoll(10, load);
  return (
    <>
      <Head title="Findings" sub={query.table ? <>of {query.table} · <a href={to(["findings"])}>all tables</a></> : "What the traffic shows that costs more than it needs to, or may fail under load."}>
        <Segment label="Severity" options={[["all", "All"], ["critical", "Critical"], ["warning", "Warnings"], ["info", "Info"]]} value={severity} onChange={setSeverity} />
      </Head>
      <Loaded of={load}>
        {({ findings, tables, tablesExamined }) => {
          const shown = findings.filter((one) => severity === "all" || one.severity === severity).sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
          return (
            <Panel flush title={plural(shown.length, "finding")} footer={tablesExamined < tables ? `The items of ${count(tablesExamined)} of ${count(tables)} tables were examined so far; 200 more are at each visit.` : null}>
              {shown.length === 0 ? <Empty title="Nothing to report"><p>Scans of growing tables, filters that discard most of what is read, unused indexes, hot keys and the like are listed here when traffic shows them.</p></Empty> : <FindingList findings={shown} />}
            </Panel>
          );
        }}
      </Loaded>
    </>
  );
}

export function FindingList({ findings, isShort }) {
  return <ul class="findings">{findings.map((one, i) => <Finding key={`${one.id}-${one.table}-${one.index}-${one.pattern}-${i}`} finding={one} isShort={isShort} />)}</ul>;
}

function Finding({ finding: { severity, title, table, index, pattern, evidence, remedy, docs }, isShort }) {
  return (
    <li>
      <div class="row"><Badge kind={KINDS[severity]}>{severity}</Badge><h3>{title}</h3></div>
      <p class="where">{table && <a href={to(["tables", table, "insight"])}>{table}</a>}{index && <> · {index}</>}{pattern && <> · <a href={to(["patterns", pattern])}>pattern</a></>}</p>
      <p>{evidence}</p>
      {!isShort && <p class="remedy"><strong>Remedy:</strong> {remedy}{docs && <span class="muted small"> See docs/{docs}.</span>}</p>}
    </li>
  );
}
