/* Tickets: a caller's newest, one of them to follow and to comment. */
import { render } from "preact";
import { useState } from "preact/hooks";
import { createApi } from "@common/api.js";
import { agoText, timeText, useAddress, useEvery, usePages } from "@common/lists.js";
import { toast } from "@common/toasts.jsx";
import { Empty, Field, FormDialog, Loaded, Shell, useLoad } from "@common/ui.jsx";
import "@common/look.css";
import "./tickets.css";

const api = createApi("tickets");
const FOLLOW_SECONDS = 3;

/* What the page shows is in its address: ?caller=poc-user-001&ticket=... */
function App() {
  const [{ caller, ticket }, go] = useAddress();
  const [isOpening, setOpening] = useState(false);
  const [opened, setOpened] = useState(0);
  async function open({ caller_id, issue_description }) {
    const created = await api.post("/tickets", { caller_id: caller_id.trim(), issue_description });
    toast("The ticket is open.");
    setOpened(opened + 1);
    go({ caller: created.caller_id, ticket: created.ticket_id });
  }
  return (
    <Shell app="tickets" title="Tickets" lead="Open a ticket, follow it, comment."
           actions={<button class="primary" onClick={() => setOpening(true)}>Open a ticket</button>}>
      <Chooser key={caller} caller={caller} go={go} />
      <div class={ticket ? "tickets with-ticket" : "tickets"}>
        {caller
          ? <CallerTickets key={`${caller} ${opened}`} caller={caller} selected={ticket} go={go} />
          : !ticket && <Welcome go={go} />}
        {ticket && <Ticket key={ticket} id={ticket} />}
      </div>
      {isOpening && (
        <FormDialog title="Open a ticket" submit="Open" onSubmit={open} onClose={() => setOpening(false)}>
          <Field label="Caller"><input name="caller_id" required maxLength={128} defaultValue={caller} autocomplete="off" /></Field>
          <Field label="What is wrong?"><textarea name="issue_description" required maxLength={4000} /></Field>
        </FormDialog>
      )}
    </Shell>
  );
}

function Chooser({ caller, go }) {
  function show(event) {
    event.preventDefault();
    go({ caller: new FormData(event.target).get("caller").trim() });
  }
  return (
    <form class="row chooser" onSubmit={show} role="search">
      <input class="grow" name="caller" aria-label="Caller" required maxLength={128} autocomplete="off"
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

function CallerTickets({ caller, selected, go }) {
  const list = usePages((cursor) => api.get("/tickets", { caller, cursor }), [caller]);
  useEvery(FOLLOW_SECONDS, () => !list.hasMore && list.reload());
  return (
    <section aria-label="Tickets of the caller">
      <h2>{caller}</h2>
      <Loaded of={list}>
        {(tickets) => tickets.length === 0 ? <Empty title="No tickets yet." /> : (
          <>
            <ul class="list">
              {tickets.map((ticket) => (
                <li key={ticket.ticket_id} class={ticket.ticket_id === selected ? "selected" : undefined}>
                  <a href={`?${new URLSearchParams({ caller, ticket: ticket.ticket_id })}`}
                     aria-current={ticket.ticket_id === selected ? "true" : undefined}
                     onClick={(event) => {
                       event.preventDefault();
                       go({ caller, ticket: ticket.ticket_id });
                     }}>
                    <span class="issue">{ticket.issue_description}</span>
                    <small>{timeText(ticket.created_at)} · {commentsText(ticket.comments.length)}</small>
                  </a>
                </li>
              ))}
            </ul>
            {list.hasMore && <button class="more" onClick={list.loadMore}>Older tickets</button>}
          </>
        )}
      </Loaded>
    </section>
  );
}

const commentsText = (count) => (count === 1 ? "1 comment" : `${count} comments`);

function Ticket({ id }) {
  const ticket = useLoad(() => api.get(`/tickets/${encodeURIComponent(id)}`), [id]);
  useEvery(FOLLOW_SECONDS, ticket.reload);
  return (
    <section aria-label="Ticket">
      <Loaded of={ticket}>
        {(data) => (
          <article class="card">
            <div class="row">
              <h2 class="grow">{data.issue_description}</h2>
              <span class="badge good">{data.status}</span>
            </div>
            <p class="muted">
              Opened by {data.caller_id} on <time dateTime={data.created_at}>{timeText(data.created_at)}</time>.
              Ticket <code>{data.ticket_id}</code>
            </p>
            <ol class="comments" aria-label="Comments">
              {data.comments.map((comment, index) => (
                <li key={index}>
                  <p>{comment.comment_text}</p>
                  <small title={timeText(comment.added_at)}>{agoText(comment.added_at)}</small>
                </li>
              ))}
            </ol>
            <CommentForm id={id} reload={ticket.reload} />
          </article>
        )}
      </Loaded>
    </section>
  );
}

function CommentForm({ id, reload }) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  async function send(event) {
    event.preventDefault();
    setBusy(true);
    try {
      await api.post(`/tickets/${encodeURIComponent(id)}/comments`, { comment_text: text });
      setText("");
      await reload();
    } catch (error) {
      toast.error(error); /* the text stays, to be sent again */
    }
    setBusy(false);
  }
  return (
    <form onSubmit={send}>
      <Field label="Comment">
        <textarea required maxLength={4000} value={text} onInput={(event) => setText(event.target.value)} />
      </Field>
      <button class="primary" disabled={busy || text.trim() === ""}>Add comment</button>
    </form>
  );
}

render(<App />, document.body);
