/* Reconciliation: calls that need a second look, by age, tenant and shard, live. */
import { useRef, useState } from "preact/hooks";
import { Field, FormDialog, Select } from "@common/dialog.jsx";
import { agoText, useAddress } from "@common/lists.js";
import { useLive, useLoad, usePages } from "@common/load.js";
import { start } from "@common/start.jsx";
import { toast } from "@common/toasts.jsx";
import { Loaded, Shell } from "@common/ui.jsx";
import { api, callPath } from "./calls.js";
import { CallDialog, Failures } from "./deliveries.jsx";
import { Pending } from "./pending.jsx";
import "./reconciliation.css";

const PAGE_SIZE = 50;
const PAUSE_MS = 500; /* a busy poller changes many calls per second */
const STATUSES = ["FAILED", "PENDING", "SUCCESS"];

/* What is shown is in the address: ?tenant=north&status=FAILED&audio=missing&age=abandoned&order=newest&shard=3 */
function App() {
  const [query, go] = useAddress();
  const { tenant, shard, status, audio, age, order } = query;
  const filter = { tenant, shard, status, audio, age };
  const dependencies = [tenant, shard, status, audio, age];
  const [dialog, setDialog] = useState(null); /* {kind: "report"}, {kind: "find"}, or {kind: "call", call} */
  const numbers = useLoad(async () => {
    const [summary, metrics] = await Promise.all([api.get("/summary", filter), api.get("/metrics")]);
    return { summary, metrics };
  }, dependencies);
  const pending = usePages((cursor) => api.get("/pending", { ...filter, order, limit: PAGE_SIZE, cursor }), [...dependencies, order]);
  const reload = () => Promise.all([numbers.reload(), pending.reload()]);
  useLive("reconciliation", reload, { pauseMs: PAUSE_MS });
  async function report({ tenantId, callId, ...state }) {
    const { pending: isPending } = await api.put(callPath({ tenantId, callId }), state);
    toast(isPending ? `${callId} needs a second look.` : `${callId} is fine.`);
    await reload();
  }
  async function post(call, what, done, undo) {
    try {
      await api.post(`${callPath(call)}/${what}`, {});
      toast(done, "info", undo);
    } catch (error) {
      toast.error(error);
    }
    await reload();
  }
  const reopen = (call) => post(call, "reopen", `${call.callId} needs a second look again.`);
  const settle = (call) => post(call, "resolve", `${call.callId} is fine.`, { label: "Undo", run: () => reopen(call) });
  const show = (call) => setDialog({ kind: "call", call });
  const close = () => setDialog(null);
  return (
    <Shell app="reconciliation" title="Reconciliation" lead="Calls that need a second look. The index holds only them."
           actions={<button class="primary" onClick={() => setDialog({ kind: "report" })}>Report a call</button>}>
      <div class="stack">
        <Loaded of={numbers}>
          {({ summary, metrics }) => (
            <div class="stack">
              <Numbers summary={summary} metrics={metrics} query={query} go={go} />
              <Filters choices={summary.choices?.tenants ?? []} query={query} go={go} />
              <div class="grid">
                <Bars title="By age" rows={summary.ages.map(({ below, count }) => ({ name: ageText(below), count }))} />
                <Bars title="By tenant" chosen={tenant} choose={(tenant) => go({ ...query, tenant })}
                      rows={summary.tenants.map(({ tenantId, count }) => ({ name: tenantId, count }))} />
                <Bars title="By shard" chosen={shard} choose={(shard) => go({ ...query, shard })}
                      rows={summary.shards.map(({ shard, count }) => ({ name: String(shard), count }))} />
              </div>
            </div>
          )}
        </Loaded>
        <Pending list={pending} order={order} isFiltered={Boolean(tenant || shard || status || audio || age)} go={go} settle={settle} show={show} find={() => setDialog({ kind: "find" })} />
        <Failures />
      </div>
      {dialog?.kind === "report" && <ReportDialog report={report} onClose={close} />}
      {dialog?.kind === "find" && <FindDialog tenant={tenant} onClose={(call) => (call ? show(call) : close())} />}
      {dialog?.kind === "call" && <CallDialog call={dialog.call} settle={settle} reopen={reopen} onClose={close} />}
    </Shell>
  );
}

const ageText = (below) => (below === "older" ? below : `under ${below}`);

function Numbers({ summary, metrics, query, go }) {
  const { pending, audioMissing, oldest, byStatus, abandoned } = summary;
  return (
    <div class="grid numbers">
      <Number label="pending" value={pending} />
      <Number label="failed" value={byStatus?.FAILED ?? 0} />
      <Number label="without audio" value={audioMissing} />
      <Number label="oldest" value={oldest ? agoText(oldest) : "none"} />
      <Number label="abandoned" value={abandoned?.count ?? 0}
              choose={abandoned?.count > 0 && query.age !== "abandoned" ? () => go({ ...query, age: "abandoned" }) : null} />
      <Number label={metrics.polling ? `delivered, ${metrics.delivery_failures} failures` : "poller, in this server"}
              value={metrics.polling ? metrics.delivered : "off"} />
    </div>
  );
}

function Number({ label, value, choose }) {
  return (
    <div class="card number-card" tabIndex={-1}>
      <strong>{value}</strong><span class="muted">{label}</span>
      {choose && <button class="plain link small" onClick={choose}>Show them</button>}
    </div>
  );
}

const FILTERS = [
  ["status", "Processing", [["", "any"], ["FAILED", "failed"], ["PENDING", "pending"]]],
  ["audio", "Audio", [["", "any"], ["missing", "missing"], ["received", "received"]]],
  ["age", "Age", [["", "current"], ["abandoned", "abandoned"], ["all", "all"]]],
];

/* The filters keep their choices in the address, so a link or a reload shows the same. */
function Filters({ choices, query, go }) {
  const tenants = [...new Set([...choices, ...(query.tenant ? [query.tenant] : [])])];
  const all = [["tenant", "Tenant", [["", "all"], ...tenants.map((name) => [name, name])]], ...FILTERS];
  return (
    <form class="row filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      {all.map(([name, label, options]) => (
        <Field key={name} label={label}>
          <select value={query[name] ?? ""} onChange={(event) => go({ ...query, [name]: event.target.value })}>
            {options.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
          </select>
        </Field>
      ))}
    </form>
  );
}

/* Names with a bar each; `choose`, if given, is called with the one that is clicked, or with none. */
function Bars({ title, rows, chosen, choose }) {
  const most = Math.max(1, ...rows.map(({ count }) => count));
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      {rows.length === 0 && <p class="muted">None.</p>}
      <ul class="bars">
        {rows.map(({ name, count }) => (
          <li key={name}>
            {choose ? (
              <button class="plain" aria-pressed={name === chosen} onClick={() => choose(name === chosen ? undefined : name)}>
                {name}
              </button>
            ) : <span>{name}</span>}
            <span class="bar-space"><span class="bar-fill" style={{ width: `${(100 * count) / most}%` }} /></span>
            <span class="number">{count}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/* Any call, also one that is fine and therefore in no list. `onClose` gets the call, or nothing. */
function FindDialog({ tenant, onClose }) {
  const found = useRef();
  async function find({ tenantId, callId }) {
    found.current = await api.get(callPath({ tenantId: tenantId.trim(), callId: callId.trim() }));
  }
  return (
    <FormDialog title="Find a call" submit="Find" onSubmit={find} onClose={() => onClose(found.current)}>
      <Field label="Tenant"><input name="tenantId" required maxLength={128} autocomplete="off" defaultValue={tenant} /></Field>
      <Field label="Call"><input name="callId" required maxLength={128} autocomplete="off" /></Field>
    </FormDialog>
  );
}

function ReportDialog({ report, onClose }) {
  const send = ({ tenantId, callId, audio, processingStatus }) => report({
    tenantId: tenantId.trim(), callId: callId.trim(), processingStatus, audioReceived: audio === "on",
    callDateTime: new Date().toISOString().replace(/\.\d+/, ""),
  });
  return (
    <FormDialog title="Report a call" submit="Report" onSubmit={send} onClose={onClose}>
      <Field label="Tenant"><input name="tenantId" required maxLength={128} autocomplete="off" /></Field>
      <Field label="Call"><input name="callId" required maxLength={128} autocomplete="off" /></Field>
      <Field label="Processing"><Select name="processingStatus" options={STATUSES.map((name) => [name, name])} initial="FAILED" /></Field>
      <label class="row check"><input type="checkbox" name="audio" defaultChecked /> Audio received</label>
    </FormDialog>
  );
}

start("reconciliation", App);
