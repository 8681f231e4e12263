/* The table of pending calls. Roles are explicit, because on phones the rows are laid out as blocks, which hides the
 * table from assistive technology. */
import { useRowFocus } from "@common/focus.js";
import { agoText, timeText } from "@common/lists.js";
import { Empty, Hidden, Loaded } from "@common/ui.jsx";
import { statusText } from "./calls.js";

const COLUMNS = ["Call", "Tenant", "When", "What is wrong", "Shard"];
const counts = new Intl.NumberFormat();

/* `show(call)` opens its details, `find()` asks for a call that is not in the list. */
export function Pending({ list, order, isFiltered, go, settle, show, find }) {
  const rows = useRowFocus();
  const isNewest = order === "newest";
  return (
    <section aria-label="Pending calls" ref={rows} tabIndex={-1} class="pending">
      <div class="row pending-title">
        <h2 class="grow">{isNewest ? "Newest first" : "Oldest first"}</h2>
        {list.data && list.data.length > 0 && (
          <span class="muted">{counts.format(list.data.length)} of {counts.format(Math.max(list.first.total ?? 0, list.data.length))}</span>
        )}
        <button class="small" onClick={find}>Find a call</button>
        <button class="small" onClick={() => go({ ...currentQuery(), order: isNewest ? undefined : "newest" })}>
          {isNewest ? "Oldest first" : "Newest first"}
        </button>
        {isFiltered && <button class="small" onClick={() => go({ order })}>Show all</button>}
      </div>
      <Loaded of={list}>
        {(calls) => calls.length === 0 ? <Empty title="Nothing is pending." /> : (
          <>
            <table role="table" aria-label="Pending calls">
              <thead role="rowgroup">
                <tr role="row">
                  {COLUMNS.map((name) => <th key={name} role="columnheader" scope="col">{name}</th>)}
                  <th role="columnheader" scope="col"><Hidden>Action</Hidden></th>
                </tr>
              </thead>
              <tbody role="rowgroup">
                {calls.map((call) => (
                  <Row key={`${call.tenantId} ${call.callId}`} call={call} show={show} settle={settle} />
                ))}
              </tbody>
            </table>
            {list.hasMore && <button class="more" onClick={list.loadMore}>Show more</button>}
          </>
        )}
      </Loaded>
    </section>
  );
}

const currentQuery = () => Object.fromEntries(new URLSearchParams(location.search));

/* Whether the processing is what is wrong, as far as is known. */
const isUnclear = ({ audioReceived, processingStatus }) => processingStatus ? processingStatus !== "SUCCESS" : audioReceived;

function Row({ call, show, settle }) {
  return (
    <tr role="row" data-call={call.callId} data-row>
      <td role="cell" class="id">
        <button class="plain link" data-action="show" aria-haspopup="dialog" onClick={() => show(call)}>{call.callId}</button>
      </td>
      <td role="cell">{call.tenantId}</td>
      <td role="cell"><time dateTime={call.callDateTime} title={timeText(call.callDateTime)}>{agoText(call.callDateTime)}</time></td>
      <td role="cell">
        {!call.audioReceived && <span class="badge bad">no audio</span>}{" "}
        {isUnclear(call) && <span class="badge warn">{statusText(call)}</span>}{" "}
        {call.abandoned && <span class="badge">abandoned</span>}{" "}
        {call.notBefore > new Date().toISOString() && <small>again {agoText(call.notBefore)}</small>}
      </td>
      <td role="cell"><span class="on-phone">shard </span>{call.shard}</td>
      <td role="cell" class="last">
        <button class="small" data-action="settle" aria-label={`It is fine: ${call.callId}`} onClick={() => settle(call)}>It is fine</button>
      </td>
    </tr>
  );
}
