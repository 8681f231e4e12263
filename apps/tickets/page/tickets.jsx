/* Tickets: a caller's newest, one of them to follow and to comment. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { createApi } from "@common/api.js";
import { Field, FormDialog } from "@common/dialog.jsx";
import { useRowFocus } from "@common/focus.js";
import { agoText, timeText, useAddress, useDraft, useSendId } from "@common/lists.js";
import { useLive, useLoad, usePages } from "@common/load.js";
import { useSession } from "@common/session.jsx";
import { start } from "@common/start.jsx";
import { StatusSelect } from "@common/status.jsx";
import { toast } from "@common/toasts.jsx";
import { Empty, Loaded, Shell } from "@common/ui.jsx";
import { joinText, splitText } from "./text.js";
import "./tickets.css";

const api = createApi("tickets");

/* What the page shows is in its address: ?caller=poc-user-001&ticket=... Agents see everybody's tickets, others their own. */
function App() {
  const session = useSession();
  const isAgent = session.has("agent");
  const [query, go] = useAddress();
  const { ticket } = query;
  const caller = query.caller ?? (isAgent ? undefined : session.user.id);
  const settings = useLoad(() => api.get("/settings"), []);
  const ids = useSendId();
  const [isOpening, setOpening] = useState(false);
  const [opened, setOpened] = useState(0);
  async function open({ caller_id, title, details }) {
    const ticket = { ...(caller_id && { caller_id: caller_id.trim() }), issue_description: joinText(title, details) };
    const created = await api.post("/tickets", { ticket_id: ids.of(ticket), ...ticket });
    ids.clear();
    toast("The ticket is open.");
    setOpened(opened + 1);
    go({ caller: created.caller_id, ticket: created.ticket_id });
  }
  return (
    <Shell app="tickets" title="Tickets" lead="Open a ticket, follow it, comment."
           actions={<button class="primary" onClick={() => setOpening(true)}>Open a ticket</button>}>
      {isAgent && <Chooser key={caller} caller={caller} go={go} />}
      {settings.data?.callerIdsAreHashed && <p class="muted">Callers are stored as hashes of their ids.</p>}
      <div class={ticket ? "tickets with-ticket" : "tickets"}>
        {caller
          ? <CallerTickets key={caller} caller={caller} isHashed={settings.data?.callerIdsAreHashed} opened={opened} selected={ticket} go={go} />
          : !ticket && <Welcome go={go} />}
        {ticket && <Ticket key={ticket} id={ticket} settings={settings.data} back={caller && (() => go({ caller }))} />}
      </div>
      {isOpening && <OpenDialog caller={caller} hint={settings.data?.hint} isAgent={isAgent} open={open} onClose={() => setOpening(false)} />}
    </Shell>
  );
}

function OpenDialog({ caller, hint, isAgent, open, onClose }) {
  return (
    <FormDialog title="Open a ticket" submit="Open" onSubmit={open} onClose={onClose}>
      {isAgent && (
        <Field label="Caller"><input name="caller_id" required maxLength={255} defaultValue={caller} autocomplete="off" /></Field>
      )}
      <Field label="What is wrong?" hint="In one line.">
        <input name="title" required maxLength={120} autocomplete="off" />
      </Field>
      <Field label="Details" hint={hint}><textarea name="details" maxLength={3800} /></Field>
    </FormDialog>
  );
}

function Chooser({ caller, go }) {
  function show(event) {
    event.preventDefault();
    go({ caller: new FormData(event.target).get("caller").trim() });
  }
  return (
    <form class="row chooser" onSubmit={show} role="search" aria-label="Whose tickets">
      <input class="grow" name="caller" aria-label="Caller" required maxLength={255} autocomplete="off"
             defaultValue={caller} placeholder="poc-user-001" />
      <button>Show tickets</button>
    </form>
  );
}

function Welcome({ go }) {
  return (
    <Empty title="Whose tickets?">
      <p>Type a caller above, or open a ticket. The sample data has{" "}
        {["poc-user-001", "poc-user-002"].map((caller) => (
          <button key={caller} class="plain link" onClick={() => go({ caller })}>{caller}</button>
        ))}
      </p>
    </Empty>
  );
}

function CallerTickets({ caller, isHashed, opened, selected, go }) {
  const list = usePages((cursor) => api.get("/tickets", { caller, cursor }), [caller]);
  /* With hashed ids the tickets in the list tell the caller's hash; until there is one, any ticket may be the first. */
  const stored = isHashed ? list.data?.[0]?.caller_id : caller;
  useLive("tickets", list.reload, { concerns: ({ item, old }) => !stored || (item ?? old)?.caller_id === stored });
  useEffect(() => {
    if (opened > 0) {
      list.reload();
    }
  }, [opened]);
  const rows = useRowFocus();
  useReturn(rows, selected);
  return (
    <section aria-label="Tickets of the caller" class="caller-tickets" ref={rows} tabIndex={-1}>
      <h2>{caller}</h2>
      <Loaded of={list}>
        {(tickets) => tickets.length === 0 ? <Empty title="No tickets yet." /> : (
          <>
            <ul class="list">
              {tickets.map((ticket) => (
                <TicketRow key={ticket.ticket_id} ticket={ticket} isSelected={ticket.ticket_id === selected}
                           address={{ caller, ticket: ticket.ticket_id }} go={go} />
              ))}
            </ul>
            {list.hasMore && <button class="more" onClick={list.loadMore}>Older tickets</button>}
          </>
        )}
      </Loaded>
    </section>
  );
}

/* When a ticket is left, by "All tickets" or by the browser's button, its row gets the focus that the ticket had. */
function useReturn(rows, selected) {
  const left = useRef();
  useLayoutEffect(() => {
    if (!selected && left.current && document.activeElement === document.body) {
      rows.current.querySelector(`[data-ticket="${CSS.escape(left.current)}"] a`)?.focus();
    }
    left.current = selected;
  }, [selected]);
}

function TicketRow({ ticket, isSelected, address, go }) {
  return (
    <li data-row data-ticket={ticket.ticket_id} class={isSelected ? "selected" : undefined}>
      <a href={`?${new URLSearchParams(address)}`} aria-current={isSelected ? "true" : undefined}
         onClick={(event) => {
           event.preventDefault();
           go(address);
         }}>
        <span class="issue">{splitText(ticket.issue_description).title}</span>
        <small>{statusText(ticket.status)} · {timeText(ticket.created_at)} · {commentsText(ticket.comments?.length ?? 0)}</small>
      </a>
    </li>
  );
}

/* "in_progress" -> "in progress"; a ticket of another program may have none. */
const statusText = (status) => status?.replaceAll("_", " ") ?? "no status";
const commentsText = (count) => (count === 1 ? "1 comment" : `${count} comments`);

/* The chosen ticket. It comes into view when it is chosen; on a phone it takes the place of the list. */
function Ticket({ id, settings, back }) {
  const ticket = useLoad(() => api.get(`/tickets/${encodeURIComponent(id)}`), [id]);
  useLive("tickets", ticket.reload, { concerns: ({ item, old }) => (item ?? old)?.ticket_id === id });
  const section = useRef();
  useEffect(() => {
    if (matchMedia("(max-width: 59.99rem)").matches) {
      section.current.scrollIntoView({ block: "start" });
      section.current.focus({ preventScroll: true }); /* the link that was tapped is hidden now */
    }
  }, [id]);
  return (
    <section aria-label="Ticket" class="ticket" ref={section} tabIndex={-1}>
      {back && <button class="plain link back" onClick={back}>← All tickets</button>}
      <Loaded of={ticket}>
        {(data) => <TicketCard data={data} id={id} settings={settings} reload={ticket.reload} />}
      </Loaded>
    </section>
  );
}

function TicketCard({ data, id, settings, reload }) {
  const isAgent = useSession().has("agent");
  async function change(status) {
    try {
      await api.put(`/tickets/${encodeURIComponent(id)}/status`, { status, from: data.status });
      toast(`The ticket is ${statusText(status)}.`);
    } catch (error) {
      toast(error.code === "status_changed" ? "Someone changed the status meanwhile. You see it now as it is." : error.message, "error");
    }
    await reload();
  }
  const { title, details } = splitText(data.issue_description);
  return (
    <article class="card">
      <div class="row top">
        <h2 class="grow">{title}</h2>
        {isAgent && settings
          ? <StatusSelect label="Status of the ticket" value={data.status ?? ""} change={change}
                          options={statusOptions(settings.statuses, data.status)} />
          : <span class="badge good">{statusText(data.status)}</span>}
      </div>
      {details && <p class="details">{details}</p>}
      <p class="muted">
        Opened by {data.caller_id} on <time dateTime={data.created_at}>{timeText(data.created_at)}</time>.
        Ticket <code>{data.ticket_id}</code>
      </p>
      <ol class="comments" aria-label="Comments">
        {(data.comments ?? []).map((comment, index) => (
          <li key={index}>
            <p>{comment.comment_text}</p>
            <small title={timeText(comment.added_at)}>{authorText(comment.author)}{agoText(comment.added_at)}</small>
          </li>
        ))}
      </ol>
      <History history={data.history ?? []} />
      <CommentForm id={id} hint={settings?.hint} reload={reload} />
    </article>
  );
}

/* A ticket of another program may have a status that is not among the settings. */
const statusOptions = (statuses, current) =>
  [...new Set([...statuses, current])].map((status) => [status ?? "", statusText(status)]);

/* "Ben, service desk, "; nothing for comments that another program wrote without an author. */
const authorText = (author) =>
  (author ? `${author.name || author.id}${author.role === "agent" ? ", service desk" : ""}, ` : "");

function History({ history }) {
  if (history.length < 2) {
    return null;
  }
  return (
    <details class="history">
      <summary>History of the status</summary>
      <ol>
        {history.map(({ status, at, by }, index) => (
          <li key={index}><strong>{statusText(status)}</strong> by {by}, <time dateTime={at}>{timeText(at)}</time></li>
        ))}
      </ol>
    </details>
  );
}

function CommentForm({ id, hint, reload }) {
  const [text, setText] = useDraft(`comment on ticket ${id}`);
  const ids = useSendId();
  const [problem, setProblem] = useState(null);
  const field = useRef();
  const busy = useRef(false);
  async function send(event) {
    event.preventDefault();
    if (busy.current) {
      return;
    }
    busy.current = true;
    try {
      if (text.trim() === "") {
        throw new Error("Write something first.");
      }
      await api.post(`/tickets/${encodeURIComponent(id)}/comments`, { comment_text: text, comment_id: ids.of(text) });
      ids.clear();
      const box = field.current?.querySelector("textarea");
      if (!box || box.value === text) {
        setText(""); /* what was typed meanwhile stays */
      }
      setProblem(null);
      box?.focus();
      reload();
    } catch (error) {
      setProblem(error); /* the text stays, to be sent again */
    }
    busy.current = false;
  }
  return (
    <form onSubmit={send} ref={field}>
      <Field label="Comment" hint={hint}>
        <textarea maxLength={4000} value={text} onInput={(event) => setText(event.target.value)} />
      </Field>
      <div role="alert">{problem && <p class="notice error">{problem.message}</p>}</div>
      <button class="primary">Add comment</button>
    </form>
  );
}

start("tickets", App);
