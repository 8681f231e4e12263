/* Calls: one user's timeline, upcoming and past; or one provider's calls. */
import { render } from "preact";
import { useState } from "preact/hooks";
import { createApi } from "@common/api.js";
import { useAddress, usePages } from "@common/lists.js";
import { toast } from "@common/toasts.jsx";
import { Empty, Loaded, Shell } from "@common/ui.jsx";
import { CallDialog } from "./dialogs.jsx";
import { dayText, hourText, PAGE_SIZE } from "./time.js";
import "@common/look.css";
import "./calls.css";

const api = createApi("calls");

/* Whose calls the page shows is in its address: ?user=ana or ?provider=dr-lund. */
function App() {
  const [{ user = "", provider = "" }, go] = useAddress();
  const who = { user, provider };
  return (
    <Shell app="calls" title="Calls" lead="What a user has coming up, and what is done.">
      <Chooser key={who.user + who.provider} who={who} go={go} />
      {who.user && <UserTimeline key={who.user} user={who.user} go={go} />}
      {!who.user && who.provider && <ProviderCalls key={who.provider} provider={who.provider} go={go} />}
      {!who.user && !who.provider && (
        <Empty title="Whose calls?">
          <p>Type a user's name above. The sample data has{" "}
            {["ana", "ben", "chloe"].map((user) => (
              <button key={user} class="plain link" onClick={() => go({ user })}>{user}</button>
            ))}
          </p>
        </Empty>
      )}
    </Shell>
  );
}

function Chooser({ who, go }) {
  function show(event) {
    event.preventDefault();
    const { kind, name } = Object.fromEntries(new FormData(event.target));
    if (name.trim() !== "") {
      go({ [kind]: name.trim() });
    }
  }
  return (
    <form class="row chooser" onSubmit={show} role="search">
      <select name="kind" aria-label="Kind" defaultValue={who.provider ? "provider" : "user"}>
        <option value="user">User</option>
        <option value="provider">Provider</option>
      </select>
      <input class="grow" name="name" aria-label="Name" autocomplete="off" required
             defaultValue={who.user || who.provider} placeholder="ana" />
      <button class="primary">Show</button>
    </form>
  );
}

const useCalls = (path) => usePages((cursor) => api.get(path, { limit: PAGE_SIZE, cursor }), [path]);

function UserTimeline({ user, go }) {
  const upcoming = useCalls(`/users/${encodeURIComponent(user)}/calls/upcoming`);
  const completed = useCalls(`/users/${encodeURIComponent(user)}/calls/completed`);
  const [dialog, setDialog] = useState(null);
  const reload = () => Promise.all([upcoming.reload(), completed.reload()]);
  const change = (call, part, body, done) => changeCall(call, part, body, done, reload);
  const next = upcoming.data?.find((call) => call.scheduledFor >= Date.now());
  return (
    <>
      <div class="row timeline-title">
        <h2 class="grow">{user}</h2>
        <button class="primary" onClick={() => setDialog({ kind: "create" })}>New call</button>
      </div>
      <div class="grid timelines">
        <Timeline title="Upcoming" list={upcoming} emptyText="Nothing is planned." go={go} next={next}
                  actions={(call) => (
                    <>
                      <button class="small" onClick={() => change(call, "status", { status: "COMPLETED" }, "Completed")}>Complete</button>
                      <button class="small" onClick={() => setDialog({ kind: "reschedule", call })}>Reschedule</button>
                      <button class="small" onClick={() => setDialog({ kind: "reassign", call })}>Reassign</button>
                      <button class="small" onClick={() => setDialog({ kind: "provider", call })}>Provider</button>
                    </>
                  )} />
        <Timeline title="Past" list={completed} emptyText="No call is completed yet." go={go}
                  actions={(call) => (
                    <button class="small" onClick={() => change(call, "status", { status: "SCHEDULED" }, "Reopened")}>Reopen</button>
                  )} />
      </div>
      {dialog && (
        <CallDialog {...dialog} user={user} api={api} change={change} reload={reload}
                    onClose={() => setDialog(null)} />
      )}
    </>
  );
}

/* Changes one part of a call, if it still is as the page shows it. */
async function changeCall(call, part, body, done, reload) {
  try {
    await api.put(`/calls/${encodeURIComponent(call.callId)}/${part}`, body, { version: call.version });
    toast(done);
  } catch (error) {
    if (error.status === 412) {
      toast("Someone changed this call meanwhile. You see it now as it is.", "error");
    } else {
      toast.error(error);
    }
  }
  await reload();
}

function ProviderCalls({ provider, go }) {
  const list = useCalls(`/providers/${encodeURIComponent(provider)}/calls`);
  return (
    <Timeline title={`Calls of ${provider}, newest first`} list={list} go={go} byUser
              emptyText="This provider has no calls." />
  );
}

function Timeline({ title, list, emptyText, next, byUser, go, actions }) {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <Loaded of={list}>
        {(calls) => calls.length === 0 ? <Empty title={emptyText} /> : (
          <>
            {groupByDay(calls).map(([day, ofDay]) => (
              <div key={day} class="day">
                <h3>{day}</h3>
                <ul class="list">
                  {ofDay.map((call) => (
                    <CallRow key={call.callId} call={call} isNext={call === next} byUser={byUser} go={go}>
                      {actions?.(call)}
                    </CallRow>
                  ))}
                </ul>
              </div>
            ))}
            {list.hasMore && <button onClick={list.loadMore}>Show more</button>}
          </>
        )}
      </Loaded>
    </section>
  );
}

function groupByDay(calls) {
  const days = new Map();
  for (const call of calls) {
    const day = dayText(call.scheduledFor);
    days.set(day, [...(days.get(day) ?? []), call]);
  }
  return [...days];
}

function CallRow({ call, isNext, byUser, go, children }) {
  const late = call.status === "SCHEDULED" && call.scheduledFor < Date.now();
  const other = byUser ? { user: call.userId } : { provider: call.providerId };
  return (
    <li class={isNext ? "call next" : "call"} data-call={call.callId}>
      <div class="row">
        <time dateTime={new Date(call.scheduledFor).toISOString()}>{hourText(call.scheduledFor)}</time>
        <span class="grow">with{" "}
          <a href={`?${new URLSearchParams(other)}`}
             onClick={(event) => { event.preventDefault(); go(other); }}>{Object.values(other)[0]}</a>
        </span>
        {isNext && <span class="badge accent">next</span>}
        {late && <span class="badge warn">overdue</span>}
        {call.status === "COMPLETED" && <span class="badge good">completed</span>}
      </div>
      {children && <div class="row buttons">{children}</div>}
    </li>
  );
}

render(<App />, document.body);
