/* Reconciliation: calls that need a second look, by age, tenant and shard, live. */
import { useState } from "preact/hooks";
import { createApi } from "@common/api.js";
import { Field, FormDialog } from "@common/dialog.jsx";
import { useRowFocus } from "@common/focus.js";
import { agoText, timeText, useAddress } from "@common/lists.js";
import { useLive, useLoad } from "@common/load.js";
import { start } from "@common/start.jsx";
import { toast } from "@common/toasts.jsx";
import { Empty, Hidden, Loaded, Shell } from "@common/ui.jsx";
import "./reconciliation.css";

const api = createApi("reconciliation");
const STATUSES = ["FAILED", "PENDING", "SUCCESS"];

/* ?tenant=north&shard=3: of these only. */
function App() {
  const [{ tenant, shard }, go] = useAddress();
  const [isReporting, setReporting] = useState(false);
  const now = useLoad(async () => {
    const [summary, pending, metrics] = await Promise.all([
      api.get("/summary", { tenant }), api.get("/pending", { tenant, shard }), api.get("/metrics"),
    ]);
    return { summary, pending: pending.items, metrics };
  }, [tenant, shard]);
  useLive("reconciliation", now.reload);
  const put = ({ tenantId, callId, callDateTime, audioReceived, processingStatus }) => api.put(
    `/calls/${encodeURIComponent(tenantId)}/${encodeURIComponent(callId)}`, { callDateTime, audioReceived, processingStatus });
  async function report(call) {
    const { pending } = await put(call);
    toast(pending ? `${call.callId} needs a second look.` : `${call.callId} is fine.`);
    await now.reload();
  }
  async function restore(call) {
    try {
      await put(call);
      toast(`${call.callId} needs a second look again.`);
    } catch (error) {
      toast.error(error);
    }
    await now.reload();
  }
  async function settle(call) {
    try {
      await put({ ...call, audioReceived: true, processingStatus: "SUCCESS" });
      toast(`${call.callId} is fine.`, "info", { label: "Undo", run: () => restore(call) });
    } catch (error) {
      toast.error(error);
    }
    await now.reload();
  }
  return (
    <Shell app="reconciliation" title="Reconciliation" lead="Calls that need a second look. The index holds only them."
           actions={<button class="primary" onClick={() => setReporting(true)}>Report a call</button>}>
      <Loaded of={now}>
        {({ summary, pending, metrics }) => (
          <div class="stack">
            <Numbers summary={summary} metrics={metrics} />
            <div class="grid">
              <Bars title="By age" rows={summary.ages.map(({ below, count }) => ({ name: ageText(below), count }))} />
              <Bars title="By tenant" chosen={tenant} choose={(tenant) => go({ tenant, shard })}
                    rows={summary.tenants.map(({ tenantId, count }) => ({ name: tenantId, count }))} />
              <Bars title="By shard" chosen={shard} choose={(shard) => go({ tenant, shard })}
                    rows={summary.shards.map(({ shard, count }) => ({ name: String(shard), count }))} />
            </div>
            <Pending calls={pending} filter={{ tenant, shard }} go={go} settle={settle} />
          </div>
        )}
      </Loaded>
      {isReporting && <ReportDialog report={report} onClose={() => setReporting(false)} />}
    </Shell>
  );
}

const ageText = (below) => (below === "older" ? below : `under ${below}`);

function Numbers({ summary, metrics }) {
  return (
    <div class="grid numbers">
      <Number label="pending" value={summary.pending} />
      <Number label="without audio" value={summary.audioMissing} />
      <Number label="oldest" value={summary.oldest ? agoText(summary.oldest) : "none"} />
      <Number label={metrics.polling ? "delivered by the poller" : "poller, in this server"}
              value={metrics.polling ? metrics.delivered : "off"} />
    </div>
  );
}

function Number({ label, value }) {
  return <div class="card number-card"><strong>{value}</strong><span class="muted">{label}</span></div>;
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

const COLUMNS = ["Call", "Tenant", "When", "What is wrong", "Shard"];

/* Roles are explicit, because on phones the rows are laid out as blocks, which hides the table from
 * assistive technology. */
function Pending({ calls, filter, go, settle }) {
  const isFiltered = filter.tenant || filter.shard;
  const rows = useRowFocus();
  return (
    <section aria-label="Pending calls" ref={rows} tabIndex={-1} class="pending">
      <div class="row">
        <h2 class="grow">Oldest first</h2>
        {isFiltered && <button class="small" onClick={() => go({})}>Show all</button>}
      </div>
      {calls.length === 0 ? <Empty title="Nothing is pending." /> : (
        <table role="table">
          <thead role="rowgroup">
            <tr role="row">
              {COLUMNS.map((name) => <th key={name} role="columnheader" scope="col">{name}</th>)}
              <th role="columnheader" scope="col"><Hidden>Action</Hidden></th>
            </tr>
          </thead>
          <tbody role="rowgroup">
            {calls.map((call) => <Row key={`${call.tenantId} ${call.callId}`} call={call} settle={settle} />)}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Row({ call, settle }) {
  return (
    <tr role="row" data-call={call.callId} data-row>
      <td role="cell" class="id">{call.callId}</td>
      <td role="cell">{call.tenantId}</td>
      <td role="cell"><time dateTime={call.callDateTime} title={timeText(call.callDateTime)}>{agoText(call.callDateTime)}</time></td>
      <td role="cell">
        {!call.audioReceived && <span class="badge bad">no audio</span>}{" "}
        {call.processingStatus !== "SUCCESS" && <span class="badge warn">{call.processingStatus.toLowerCase()}</span>}{" "}
        {call.notBefore > new Date().toISOString() && <small>again {agoText(call.notBefore)}</small>}
      </td>
      <td role="cell"><span class="on-phone">shard </span>{call.shard}</td>
      <td role="cell" class="last">
        <button class="small" data-action="settle" aria-label={`It is fine: ${call.callId}`} onClick={() => settle(call)}>It is fine</button>
      </td>
    </tr>
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
      <Field label="Processing">
        <select name="processingStatus">{STATUSES.map((name) => <option key={name}>{name}</option>)}</select>
      </Field>
      <label class="row check"><input type="checkbox" name="audio" defaultChecked /> Audio received</label>
    </FormDialog>
  );
}

start("reconciliation", App);
