/* Deliveries to the webhook: those of one call, and the newest that failed. */
import { useRef } from "preact/hooks";
import { InfoDialog } from "@common/dialog.jsx";
import { agoText, timeText } from "@common/lists.js";
import { useLive, useLoad } from "@common/load.js";
import { Loaded } from "@common/ui.jsx";
import { api, callPath, statusText } from "./calls.js";

const PAUSE_MS = 1000;
const FAILURES_MAX = 10;

/* "status 500", "no answer: connection refused", "delivered, status 200" */
function outcomeText({ status, error }) {
  if (error) {
    return status > 0 ? `status ${status}: ${error}` : `no answer: ${error}`;
  }
  return status >= 200 && status < 300 ? `delivered, status ${status}` : status > 0 ? `status ${status}` : "no answer";
}

/* Also a call that is in no list any more is here, and "It is fine" can be undone. */
export function CallDialog({ call, settle, reopen, onClose }) {
  const details = useLoad(() => api.get(callPath(call)), [call.tenantId, call.callId]);
  useLive("reconciliation", details.reload, {
    concerns: ({ item, old }) => (item ?? old)?.callId === call.callId, pauseMs: PAUSE_MS });
  const now = details.data;
  async function toggle() {
    await (now.pending ? settle(now) : reopen(now));
    await details.reload();
  }
  const mayToggle = now && (now.pending || now.resolved);
  return (
    <InfoDialog title={call.callId} onClose={onClose}
                extra={mayToggle && (
                  <button type="button" class="start" onClick={toggle}>{now.pending ? "It is fine" : "It is not fine"}</button>
                )}>
      <Loaded of={details}>
        {(now) => (
          <>
            <dl class="facts">
              <dt>Tenant</dt><dd>{now.tenantId}</dd>
              <dt>When</dt><dd>{now.callDateTime ? `${timeText(now.callDateTime)}, ${agoText(now.callDateTime)}` : "not known"}</dd>
              <dt>Audio</dt><dd>{now.audioReceived ? "received" : "missing"}</dd>
              <dt>Processing</dt><dd>{statusText(now)}</dd>
              <dt>State</dt>
              <dd>{now.pending ? (now.abandoned ? "pending, too old for the poller" : "pending") : "fine"}</dd>
              {now.resolved && <><dt>Settled</dt><dd>by {now.resolved.by}, {timeText(now.resolved.at)}</dd></>}
              <dt>Deliveries</dt><dd>{now.attempts ?? 0}</dd>
            </dl>
            <History deliveries={now.deliveries ?? []} />
          </>
        )}
      </Loaded>
    </InfoDialog>
  );
}

function History({ deliveries }) {
  if (deliveries.length === 0) {
    return <p class="muted">No delivery was tried yet.</p>;
  }
  return (
    <ol class="deliveries" aria-label="Deliveries">
      {deliveries.map((delivery, index) => (
        <li key={index}>
          <time dateTime={delivery.at}>{timeText(delivery.at)}</time>, attempt {delivery.attempt}: {outcomeText(delivery)}
        </li>
      ))}
    </ol>
  );
}

/* The newest of some deliveries, each once. */
function newestOf(deliveries) {
  const byKey = new Map(deliveries.map((delivery) => [`${delivery.tenantId} ${delivery.callId} ${delivery.at}`, delivery]));
  return [...byKey.values()].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)).slice(0, FAILURES_MAX);
}

/* What could not be delivered; nothing is shown without failures. A server that was restarted may not know all that it
 * knew before: what is shown stays. */
export function Failures() {
  const shown = useRef([]);
  const list = useLoad(async () => {
    const { items } = await api.get("/deliveries", { failed: true });
    shown.current = newestOf([...shown.current, ...items]);
    return shown.current;
  }, []);
  useLive("reconciliation", list.reload, { pauseMs: PAUSE_MS });
  if (!list.data || list.data.length === 0) {
    return null;
  }
  return (
    <section aria-label="Failed deliveries">
      <h2>Deliveries that failed</h2>
      <ul class="list failures">
        {list.data.map((delivery) => (
          <li key={`${delivery.tenantId} ${delivery.callId} ${delivery.at}`}>
            <strong>{delivery.callId}</strong> of {delivery.tenantId}: {outcomeText(delivery)}, attempt {delivery.attempt},{" "}
            <time dateTime={delivery.at} title={timeText(delivery.at)}>{agoText(delivery.at)}</time>
          </li>
        ))}
      </ul>
    </section>
  );
}
