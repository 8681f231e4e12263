/* Simulated faults: throttling, delays, stale reads, lagging indexes, conflicts and errors, per table, while the server runs. */
import { useState } from "preact/hooks";
import { changeInsight, insight } from "../lib/dynamo.js";
import { count } from "../lib/format.js";
import { useLoad, usePoll } from "../lib/load.js";
import { useTables } from "../lib/schema.js";
import { Badge, Check, Dialog, Empty, Field, Head, Icon, IconButton, Loaded, Notice, Panel, Select, Stats, toast } from "../ui.jsx";
import { TableChooser } from "./connect.jsx";

const RATES = [["throttleRate", "Throttled at random", "of all calls are throttled"], ["errorRate", "Errors (HTTP 500)", "of all calls fail"], ["conflictRate", "Transaction conflicts", "of transactions are canceled"], ["staleReadRate", "Stale reads", "of eventually consistent reads are old"], ["latencyRate", "Delayed", "of all calls have the latency below"]];
const TIMES = [["latencyMs", "Added latency", "ms for each delayed call"], ["latencyJitterMs", "Jitter", "ms more, at random"], ["indexLagMs", "Index lag", "ms until global indexes show a write"], ["burstSeconds", "Burst", "s of unused units may be saved up"], ["stepMs", "Step", "ms for each call instead of real time; 0: real time"]];
const THROTTLES = [["off", "Off"], ["provisioned", "By provisioned units"], ["onDemand", "By on-demand limits"]];

/* Ready-made bad days. */
const PRESETS = [
  ["Throttled", "5 read and 5 write units a second", { throttle: "provisioned", readUnits: 5, writeUnits: 5, partitionLimits: true }],
  ["Slow", "200 ms, and up to 300 ms more", { latencyMs: 200, latencyJitterMs: 300 }],
  ["Flaky", "5 % of calls fail with HTTP 500", { errorRate: 0.05 }],
  ["Behind", "indexes lag 2 s, a third of reads are stale", { indexLagMs: 2000, staleReadRate: 0.33 }],
];

export function Simulation() {
  const load = useLoad(() => insight("simulation"), []);
  const [edited, setEdited] = useState(null);
  usePoll(3, load);
  async function change(body, text) {
    await changeInsight("simulation", body);
    toast(text);
    load.reload();
  }
  return (
    <>
      <Head title="Simulation" sub="So that code for bad days can be tested at a desk. Off unless it is turned on; a restart turns it off.">
        <button type="button" class="primary" onClick={() => setEdited({ table: "*", settings: {} })}><Icon name="plus" />Add rule</button>
      </Head>
      <Loaded of={load}>{(data) => <Rules data={data} change={change} edit={setEdited} />}</Loaded>
      {edited && <Rule edited={edited} onClose={() => setEdited(null)} onSave={(table, settings) => change({ tables: { [table]: settings } }, `Simulation for ${table === "*" ? "all tables" : table} set`)} />}
    </>
  );
}

function describeRule(rule) {
  const percent = (rate) => `${Math.round(rate * 1000) / 10} %`;
  return [
    rule.throttle && rule.throttle !== "off" && `throttled ${rule.throttle === "onDemand" ? "by on-demand limits" : rule.readUnits === null && rule.writeUnits === null ? "by provisioned units" : `at ${rule.readUnits ?? "its own"} read and ${rule.writeUnits ?? "its own"} write units`}`,
    rule.throttleRate > 0 && `${percent(rule.throttleRate)} throttled`, rule.partitionLimits && "partition limits",
    rule.latencyMs > 0 && `${rule.latencyRate < 1 ? `${Math.round(1000 * rule.latencyRate) / 10} % of calls ` : ""}${rule.latencyMs} ms slower`, rule.latencyJitterMs > 0 && `up to ${rule.latencyJitterMs} ms jitter`,
    rule.errorRate > 0 && `${percent(rule.errorRate)} errors`, rule.conflictRate > 0 && `${percent(rule.conflictRate)} conflicts`, rule.staleReadRate > 0 && `${percent(rule.staleReadRate)} stale reads`, rule.indexLagMs > 0 && `indexes lag ${rule.indexLagMs} ms`,
  ].filter(Boolean);
}

function Rules({ data, change, edit }) {
  const rules = Object.entries(data.tables ?? {}).filter(([, rule]) => rule && describeRule(rule).length > 0);
  const act = (body, text) => change(body, text).catch(toast.error);
  return (
    <div class="stack">
      {rules.length > 0 && <Notice kind="warn" title="Simulation is on">Requests of programs fail or wait as the rules below say.</Notice>}
      <Stats label="Simulated so far" items={[["Throttled", count(data.counts.throttled)], ["Errors", count(data.counts.errors)], ["Conflicts", count(data.counts.conflicts)], ["Stale reads", count(data.counts.staleReads)], ["Delayed", count(data.counts.delayed)]]} />
      <Panel flush title="Rules" actions={rules.length > 0 && <button type="button" onClick={() => act({ tables: Object.fromEntries(rules.map(([table]) => [table, null])) }, "All rules removed")}>Turn all off</button>}>
        {rules.length === 0 ? (
          <Empty title="Everything works as it should">
            <p>Start with one of these, for all tables:</p>
            <div class="presets">{PRESETS.map(([name, text, settings]) => <button key={name} type="button" class="preset" onClick={() => act({ tables: { "*": settings } }, `${name}: on`)}><strong>{name}</strong><span class="muted small">{text}</span></button>)}</div>
          </Empty>
        ) : (
          <ul class="rules">
            {rules.map(([table, rule]) => (
              <li key={table}>
                <div><strong>{table === "*" ? "All other tables" : table}</strong><div class="row">{describeRule(rule).map((text) => <Badge key={text} kind="warn">{text}</Badge>)}</div></div>
                <span class="row"><button type="button" class="little" onClick={() => edit({ table, settings: rule })}>Change</button><IconButton icon="trash" label={`Remove the rule for ${table}`} class="plain little" onClick={() => act({ tables: { [table]: null } }, "Rule removed")} /></span>
              </li>
            ))}
          </ul>
        )}
      </Panel>
      <Panel title="Seed"><Seed seed={data.seed} onSet={(seed) => act({ seed }, "The sequence starts anew")} /></Panel>
    </div>
  );
}

function Seed({ seed, onSet }) {
  const [text, setText] = useState(String(seed));
  return (
    <form class="row" onSubmit={(event) => { event.preventDefault(); onSet(Number(text)); }}>
      <input aria-label="Seed" class="auto" inputMode="numeric" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <button type="submit">Start anew</button>
      <span class="muted small">With the same seed and the same calls in the same order, the same calls fail.</span>
    </form>
  );
}

function Rule({ edited, onClose, onSave }) {
  const { names } = useTables();
  const [table, setTable] = useState(edited.table);
  const [isAll, setAll] = useState(edited.table === "*");
  const [rule, setRule] = useState({ throttle: "off", readUnits: 5, writeUnits: 5, burstSeconds: 0, partitionLimits: false, throttleRate: 0, latencyMs: 0, latencyJitterMs: 0, latencyRate: 1, indexLagMs: 0, errorRate: 0, conflictRate: 0, staleReadRate: 0, stepMs: 0, ...edited.settings });
  const set = (part) => setRule({ ...rule, ...part });
  const number = (name, factor = 1) => ({ type: "number", min: 0, step: "any", value: Math.round(rule[name] * factor * 1000) / 1000, onInput: (event) => set({ [name]: Number(event.currentTarget.value) / factor }) });
  /* Empty: as the table has them. */
  const units = (name) => ({ type: "number", min: 0, step: "any", placeholder: "the table's own", value: rule[name] ?? "", onInput: (event) => set({ [name]: event.currentTarget.value === "" ? null : Number(event.currentTarget.value) }) });
  async function save() {
    if (!isAll && !names.includes(table)) {
      throw new Error("Choose a table.");
    }
    const { readUnits, writeUnits, ...rest } = rule;
    await onSave(isAll ? "*" : table, { ...rest, ...(rule.throttle === "provisioned" && { readUnits, writeUnits }) });
  }
  return (
    <Dialog title="Simulation rule" wide submit="Apply" onSubmit={save} onClose={onClose}>
      <div class="row wide-gap"><Check label="All tables that have no rule of their own" checked={isAll} onChange={setAll} />{!isAll && <TableChooser names={names ?? []} value={table === "*" ? "" : table} onChange={setTable} />}</div>
      <div class="form-row">
        <Field label="Throttling"><Select options={THROTTLES} value={rule.throttle} onChange={(throttle) => set({ throttle })} /></Field>
        {rule.throttle === "provisioned" && <Field label="Read units per second"><input {...units("readUnits")} /></Field>}
        {rule.throttle === "provisioned" && <Field label="Write units per second"><input {...units("writeUnits")} /></Field>}
      </div>
      <Check label="Limits of single partitions: 3,000 read and 1,000 write units" checked={rule.partitionLimits} onChange={(partitionLimits) => set({ partitionLimits })} />
      <div class="form-row">{TIMES.map(([name, label, hint]) => <Field key={name} label={label} hint={hint}><input {...number(name)} /></Field>)}</div>
      <div class="form-row">{RATES.map(([name, label, hint]) => <Field key={name} label={label} hint={`% ${hint}`}><input {...number(name, 100)} max={100} /></Field>)}</div>
    </Dialog>
  );
}
