/* Calls: one user's timeline, upcoming and past; or one provider's calls. */
import { useState } from "preact/hooks";
import { Select } from "@common/dialog.jsx";
import { useRowFocus } from "@common/focus.js";
import { agoText, useAddress, zoneText } from "@common/lists.js";
import { useLive, useLoad, usePages } from "@common/load.js";
import { useSession } from "@common/session.jsx";
import { start } from "@common/start.jsx";
import { toast } from "@common/toasts.jsx";
import { Empty, Loaded, Shell } from "@common/ui.jsx";
import { api, changeCall, describe } from "./change.js";
import { CallDialog } from "./dialogs.jsx";
import { dayText, hourText, PAGE_SIZE } from "./time.js";
import "./calls.css";

/* Whose calls the page shows is in its address: ?user=ana or ?provider=dr-lund. Without, an admin is asked, and others
 * see their own. */
function App() {
  const [{ user = "", provider = "" }, go] = useAddress();
  const session = useSession();
  const isAdmin = session.has("admin");
  const me = session.user.id;
  const own = isAdmin ? {} : session.has("provider") ? { provider: me } : { user: me };
  const who = user || provider ? { user, provider } : { user: "", provider: "", ...own };
  return (
    <Shell app="calls" title="Calls" lead="What a user has coming up, and what is done.">
      {isAdmin && <Chooser key={who.user + who.provider} who={who} go={go} />}
      {!isAdmin && session.has("provider") && (
        <div class="row chooser">
          <button aria-pressed={Boolean(who.provider)} onClick={() => go({ provider: me })}>As a provider</button>
          <button aria-pressed={Boolean(who.user)} onClick={() => go({ user: me })}>My own calls</button>
        </div>
      )}
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

const KINDS = [["user", "User"], ["provider", "Provider"]];

function Chooser({ who, go }) {
  function show(event) {
    event.preventDefault();
    const { kind, name } = Object.fromEntries(new FormData(event.target));
    if (name.trim() !== "") {
      go({ [kind]: name.trim() });
    }
  }
  return (
    <form class="row chooser" onSubmit={show} role="search" aria-label="Whose calls">
      <Select name="kind" aria-label="Kind" options={KINDS} initial={who.provider && !who.user ? "provider" : "user"} />
      <input class="grow" name="name" aria-label="Name" autocomplete="off" required
             defaultValue={who.user || who.provider} placeholder="ana" />
      <button class="primary">Show</button>
    </form>
  );
}

const useCalls = (path) => usePages((cursor) => api.get(path, { limit: PAGE_SIZE, cursor }), [path]);

/* The dialogs and buttons that change calls; `reload` shows what they did. */
function useActions(reload) {
  const isAdmin = useSession().has("admin");
  const [dialog, setDialog] = useState(null);
  async function setStatus(call, status, done) {
    try {
      await changeCall(call, "status", { status });
      toast(done);
    } catch (error) {
      toast.error(error);
    }
    await reload();
  }
  function buttons(call) {
    const what = describe(call);
    const action = (kind, label) => (
      <button class="small" data-action={kind} aria-label={`${label}, ${what}`} onClick={() => setDialog({ kind, call })}>{label}</button>
    );
    if (call.status !== "SCHEDULED") {
      return (
        <button class="small" data-action="status" aria-label={`Reopen, ${what}`}
                onClick={() => setStatus(call, "SCHEDULED", `Reopened: ${what}`)}>Reopen</button>
      );
    }
    return (
      <>
        <button class="small" data-action="status" aria-label={`Complete, ${what}`}
                onClick={() => setStatus(call, "COMPLETED", `Completed: ${what}`)}>Complete</button>
        {action("reschedule", "Reschedule")}
        {isAdmin && action("reassign", "Reassign")}
        {action("provider", "Provider")}
        {action("cancel", "Cancel")}
      </>
    );
  }
  const open = dialog && (
    <CallDialog key={dialog.kind} {...dialog} reload={reload} onClose={() => setDialog(null)}
                onChanged={(call) => setDialog({ ...dialog, call })} />
  );
  return { buttons, open, create: (who) => setDialog({ kind: "create", ...who }) };
}

/* The next call from now on. Mostly it is among those shown; if the shown ones are all overdue, it is looked up. */
function useNext(user, upcoming) {
  const isDue = (call) => call.scheduledFor >= Date.now();
  const found = upcoming.data?.find(isDue);
  const isBeyond = Boolean(upcoming.data && !found && upcoming.hasMore);
  const beyond = useLoad(async () => {
    try {
      return isBeyond ? await api.get(`/users/${encodeURIComponent(user)}/calls/next`) : undefined;
    } catch (error) {
      if (error.status === 404) {
        return undefined;
      }
      throw error;
    }
  }, [user, isBeyond, upcoming.data]);
  return found ?? (isBeyond ? beyond.data : undefined);
}

function UserTimeline({ user, go }) {
  const upcoming = useCalls(`/users/${encodeURIComponent(user)}/calls/upcoming`);
  const completed = useCalls(`/users/${encodeURIComponent(user)}/calls/completed`);
  const canceled = useCalls(`/users/${encodeURIComponent(user)}/calls/canceled`);
  const reload = () => Promise.all([upcoming.reload(), completed.reload(), canceled.reload()]);
  useLive("calls", reload, { concerns: ({ item, old }) => item?.userId === user || old?.userId === user });
  const actions = useActions(reload);
  const next = useNext(user, upcoming);
  return (
    <>
      <div class="row timeline-title">
        <h2 class="grow">{user}</h2>
        <button class="primary" onClick={() => actions.create({ user })}>New call</button>
      </div>
      <p class="zone muted">All times are in your time zone, {zoneText()}.</p>
      {next && <NextCall call={next} go={go} />}
      <div class="grid timelines">
        <Timeline title="Upcoming" list={upcoming} emptyText="Nothing is planned." go={go} next={next} actions={actions.buttons} />
        <div tabIndex={-1}>
          <Timeline title="Past" list={completed} emptyText="No call is completed yet." go={go} actions={actions.buttons} />
          {canceled.data?.length > 0 && <Timeline title="Canceled" list={canceled} go={go} actions={actions.buttons} />}
        </div>
      </div>
      {actions.open}
    </>
  );
}

function NextCall({ call, go }) {
  return (
    <section class="card next-call" aria-label="Next call">
      <div class="row">
        <span class="badge accent">next</span>
        <span class="muted">{agoText(call.scheduledFor)}</span>
      </div>
      <p>
        <strong>{dayText(call.scheduledFor)}, {hourText(call.scheduledFor)}</strong>{" "}
        with <Name who={{ provider: call.providerId }} go={go} />
      </p>
    </section>
  );
}

function ProviderCalls({ provider, go }) {
  const list = useCalls(`/providers/${encodeURIComponent(provider)}/calls`);
  useLive("calls", list.reload, { concerns: ({ item, old }) => item?.providerId === provider || old?.providerId === provider });
  const actions = useActions(list.reload);
  return (
    <>
      <div class="row timeline-title">
        <h2 class="grow">{provider}</h2>
        <button class="primary" onClick={() => actions.create({ provider })}>New call</button>
      </div>
      <Timeline title={`Calls of ${provider}, newest first`} list={list} go={go} byUser actions={actions.buttons}
                emptyText="This provider has no calls."
                lead={`All times are in your time zone, ${zoneText()}.`} />
      {actions.open}
    </>
  );
}

function Timeline({ title, lead, list, emptyText, next, byUser, go, actions }) {
  const rows = useRowFocus();
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {lead && <p class="zone muted">{lead}</p>}
      <Loaded of={list}>
        {(calls) => (
          <div ref={rows} tabIndex={-1} class="days">
            {calls.length === 0 && <Empty title={emptyText} />}
            {groupByDay(calls).map(([day, ofDay]) => (
              <div key={day} class="day">
                <h3>{day}</h3>
                <ul class="list">
                  {ofDay.map((call) => (
                    <CallRow key={call.callId} call={call} isNext={call.callId === next?.callId} byUser={byUser} go={go}>
                      {actions(call)}
                    </CallRow>
                  ))}
                </ul>
              </div>
            ))}
            {list.hasMore && <button aria-label={`Show more, ${title}`} onClick={list.loadMore}>Show more</button>}
          </div>
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

/* A link to the calls of {user} or {provider}. */
function Name({ who, go }) {
  const { has, user } = useSession();
  const [name] = Object.values(who);
  if (!has("admin") && name !== user.id) {
    return <strong>{name}</strong>; /* other people's calls are not theirs to see */
  }
  return (
    <a href={`?${new URLSearchParams(who)}`}
       onClick={(event) => { event.preventDefault(); go(who); }}>{name}</a>
  );
}

function CallRow({ call, isNext, byUser, go, children }) {
  const late = call.status === "SCHEDULED" && call.scheduledFor < Date.now();
  return (
    <li class={isNext ? "call next" : "call"} data-call={call.callId} data-row>
      <div class="row">
        <time dateTime={new Date(call.scheduledFor).toISOString()}>{hourText(call.scheduledFor)}</time>
        <span class="grow">with <Name who={byUser ? { user: call.userId } : { provider: call.providerId }} go={go} /></span>
        {isNext && <span class="badge accent">next</span>}
        {late && <span class="badge warn">overdue</span>}
        {call.status === "COMPLETED" && <span class="badge good">completed</span>}
        {call.status === "CANCELED" && <span class="badge">canceled</span>}
      </div>
      {call.cancelReason && (
        <p class="reason muted">“{call.cancelReason}”{call.canceledBy && `, ${call.canceledBy}`}</p>
      )}
      <div class="row buttons">{children}</div>
    </li>
  );
}

start("calls", App);
