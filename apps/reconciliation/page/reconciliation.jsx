/* Reconciliation: calls that need a second look, by age, tenant and shard, live. */
import { render } from "preact";
import { useState } from "preact/hooks";
import { createApi } from "@common/api.js";
import { agoText, timeText, useAddress, useEvery } from "@common/lists.js";
import { toast } from "@common/toasts.jsx";
import { Empty, Field, FormDialog, Loaded, Shell, useLoad } from "@common/ui.jsx";
import "@common/look.css";
import "./reconciliation.css";

const api = createApi("reconciliation");
const LIVE_SECONDS = 2;
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
  useEvery(LIVE_SECONDS, now.reload);
  async function write(call) {
    const { pending } = await api.put(
      `/calls/${encodeURIComponent(call.tenantId)}/${encodeURIComponent(call.callId)}`,
      { callDateTime: call.callDateTime, audioReceived: call.audioReceived, processingStatus: call.processingStatus },
    );
    toast(pending ? `${call.callId} needs a second look.` : `${call.callId} is fine.`);
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
            <Pending calls={pending} filter={{ tenant, shard }} go={go} write={write} />
          </div>
        )}
      </Loaded>
      {isReporting && <ReportDialog write={write} onClose={() => setReporting(false)} />}
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

function Pending({ calls, filter, go, write }) {
  const isFiltered = filter.tenant || filter.shard;
  return (
    <section aria-label="Pending calls">
      <div class="row">
        <h2 class="grow">Oldest first</h2>
        {isFiltered && <button class="small" onClick={() => go({})}>Show all</button>}
      </div>
      {calls.length === 0 ? <Empty title="Nothing is pending." /> : (
        <table>
          <thead>
            <tr><th>Call</th><th>Tenant</th><th>When</th><th>What is wrong</th><th>Shard</th><th /></tr>
          </thead>
          <tbody>
            {calls.map((call) => (
              <tr key={`${call.tenantId} ${call.callId}`} data-call={call.callId}>
                <td>{call.callId}</td>
                <td>{call.tenantId}</td>
                <td><time dateTime={call.callDateTime} title={timeText(call.callDateTime)}>{agoText(call.callDateTime)}</time></td>
                <td>
                  {!call.audioReceived && <span class="badge bad">no audio</span>}{" "}
                  {call.processingStatus !== "SUCCESS" && <span class="badge warn">{call.processingStatus.toLowerCase()}</span>}{" "}
                  {call.notBefore > new Date().toISOString() && <small>again {agoText(call.notBefore)}</small>}
                </td>
                <td>{call.shard}</td>
                <td>
                  <button class="small" aria-label={`${call.callId} is fine`}
                          onClick={() => write({ ...call, audioReceived: true, processingStatus: "SUCCESS" }).catch(toast.error)}>
                    It is fine
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function ReportDialog({ write, onClose }) {
  const report = ({ tenantId, callId, audio, processingStatus }) => write({
    tenantId: tenantId.trim(), callId: callId.trim(), processingStatus, audioReceived: audio === "on",
    callDateTime: new Date().toISOString().replace(/\.\d+/, ""),
  });
  return (
    <FormDialog title="Report a call" submit="Report" onSubmit={report} onClose={onClose}>
      <Field label="Tenant"><input name="tenantId" required maxLength={128} autocomplete="off" /></Field>
      <Field label="Call"><input name="callId" required maxLength={128} autocomplete="off" /></Field>
      <Field label="Processing">
        <select name="processingStatus">{STATUSES.map((name) => <option key={name}>{name}</option>)}</select>
      </Field>
      <label class="row check"><input type="checkbox" name="audio" defaultChecked /> Audio received</label>
    </FormDialog>
  );
}

render(<App />, document.body);
