/* The dialogs: a new event, an existing one, and the question before it is deleted. */
import { useState } from "preact/hooks";
import { newId } from "@common/api.js";
import { Field, FormDialog, InfoDialog } from "@common/dialog.jsx";
import { useLoad } from "@common/load.js";
import { toast } from "@common/toasts.jsx";
import { Loaded } from "@common/ui.jsx";
import { api, loadEvents } from "./events.js";
import { addDays, clashText, explain, findClashes, limits, nightsText, today, tooLongText } from "./text.js";

/* The event that a dialog changes, as it was when the dialog opened: {seen, refuse(error)}. refuse() gives what to tell the
 * person; if somebody else has changed the event meanwhile, `seen` is what it is now, so that trying again works. */
function useSeen(event, again) {
  const [seen, setSeen] = useState(event);
  async function refuse(error) {
    if (error.code !== "version_mismatch") {
      return new Error(await explain(error, loadEvents));
    }
    try {
      const now = await api.get(`/events/${event.id}`);
      setSeen(now);
      return new Error(`Someone changed this event meanwhile. It is now “${now.title}”, ${nightsText(now.start, now.end)}. ${again}`);
    } catch (problem) {
      return new Error(await explain(problem, loadEvents));
    }
  }
  return { seen, refuse };
}

/* An event with a `version` exists and is changed, otherwise it is a new one. `events` are those the page knows. */
export function EventDialog({ event, events, reload, onClose, onDelete }) {
  const isNew = event.version === undefined;
  const [id] = useState(() => event.id ?? newId()); /* one per dialog: sending it twice books once */
  const [start, setStart] = useState(event.start ?? today());
  const [end, setEnd] = useState(event.end ?? addDays(today(), 1));
  const { seen, refuse } = useSeen(event, "Save again to replace that with yours.");
  const clash = end > start ? clashText(findClashes(events, { id, start, end })) : "";

  async function save({ title }) {
    const wanted = { title: title.trim(), start, end };
    const tooLong = tooLongText(start, end);
    if (tooLong) {
      throw new Error(tooLong);
    }
    try {
      if (isNew) {
        await api.post("/events", { id, ...wanted });
      } else {
        await api.put(`/events/${id}`, wanted, { version: seen.version });
      }
    } catch (error) {
      reload(); /* behind the dialog, so that one sees who is there */
      throw await refuse(error);
    }
    toast(`${wanted.title}: ${nightsText(start, end)}`);
    await reload();
  }

  function moveStart(next) {
    setStart(next);
    if (next !== "" && end <= next) {
      setEnd(addDays(next, 1));
    }
  }

  return (
    <FormDialog title={isNew ? "New event" : event.title} submit={isNew ? "Book" : "Save"} onSubmit={save} onClose={onClose}
                extra={onDelete && <button type="button" class="start" onClick={() => onDelete(seen)}>Delete…</button>}>
      <Field label="Who">
        <input name="title" required maxLength={limits.titleMax} autofocus autocomplete="off" defaultValue={event.title ?? ""}
               placeholder="Ana" />
      </Field>
      <div class="grid">
        <Field label="First night">
          <input type="date" name="start" required value={start} onInput={(input) => moveStart(input.target.value)} />
        </Field>
        <Field label="Leaves on" hint={nightsText(start, end)}>
          <input type="date" name="end" required value={end} min={start && addDays(start, 1)}
                 onInput={(input) => setEnd(input.target.value)} />
        </Field>
      </div>
      <p class="clash" role="status">{tooLongText(start, end) || clash}</p>
    </FormDialog>
  );
}

export function DeleteDialog({ event, reload, onClose }) {
  const { seen, refuse } = useSeen(event, "Delete again to delete it as it is now.");
  async function remove() {
    try {
      await api.delete(`/events/${event.id}`, { version: seen.version });
    } catch (error) {
      reload();
      throw await refuse(error);
    }
    toast(`${seen.title} is deleted`);
    await reload();
  }
  return (
    <FormDialog title="Delete the event?" submit="Delete" danger onSubmit={remove} onClose={onClose}>
      <p>{seen.title}, {nightsText(seen.start, seen.end)}</p>
    </FormDialog>
  );
}

/* An event of somebody else. */
export function ShowDialog({ event, onClose }) {
  return (
    <InfoDialog title={event.title} onClose={onClose}>
      <p>{nightsText(event.start, event.end)}</p>
      <p class="muted">Booked by {event.owner}. Only they, or an admin, may change it.</p>
    </InfoDialog>
  );
}

/* The address of the calendar for other calendar programs. */
export function FeedDialog({ onClose }) {
  const feed = useLoad(() => api.get("/feed"), []);
  async function copy(url) {
    try {
      await navigator.clipboard.writeText(url);
      toast("The address is copied.");
    } catch {
      toast("The browser does not let the page copy: select the address and copy it yourself.", "error");
    }
  }
  return (
    <InfoDialog title="See it in your own calendar" onClose={onClose}>
      <p class="muted">Subscribe to this address in your calendar program. Whoever has it can read the calendar: keep it to yourself.</p>
      <Loaded of={feed}>
        {({ url }) => {
          const address = new URL(url, location.href).href;
          return (
            <>
              <Field label="Address"><input readOnly value={address} onFocus={(event) => event.target.select()} /></Field>
              <div class="row">
                <button type="button" onClick={() => copy(address)}>Copy</button>
                <a class="button" href={address.replace(/^https?:/, "webcal:")}>Open in a calendar program</a>
                <a href={url}>Download</a>
              </div>
            </>
          );
        }}
      </Loaded>
    </InfoDialog>
  );
}
