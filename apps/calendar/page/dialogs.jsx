/* The dialogs: a new event, one that is there, and whether to delete it. */
import { useState } from "preact/hooks";
import { toast } from "@common/toasts.jsx";
import { Field, FormDialog } from "@common/ui.jsx";
import { addDays, explain, nightsText, today } from "./text.js";

/* One id per dialog: sending it twice books once. */
function newId() {
  const hex = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}

/* With a `version` the event is there and is changed, else it is a new one. */
export function EventDialog({ event, api, refresh, onClose, onDelete }) {
  const isNew = event.version === undefined;
  const [id] = useState(() => event.id ?? newId());
  const [start, setStart] = useState(event.start ?? today());
  const [end, setEnd] = useState(event.end ?? addDays(today(), 1));

  async function save({ title }) {
    const wanted = { title: title.trim(), start, end };
    try {
      if (isNew) {
        await api.post("/events", { id, ...wanted });
      } else {
        await api.put(`/events/${id}`, wanted, { version: event.version });
      }
    } catch (error) {
      refresh(); /* behind the dialog, so that one sees who is there */
      throw new Error(explain(error));
    }
    toast(`${wanted.title}: ${nightsText(start, end)}`);
    refresh();
  }

  function moveStart(next) {
    setStart(next);
    if (next !== "" && end <= next) {
      setEnd(addDays(next, 1));
    }
  }

  return (
    <FormDialog title={isNew ? "New event" : event.title} submit={isNew ? "Book" : "Save"} onSubmit={save} onClose={onClose}
                extra={onDelete && <button type="button" class="start" onClick={onDelete}>Delete…</button>}>
      <Field label="Who">
        <input name="title" required maxLength={200} autofocus autocomplete="off" defaultValue={event.title ?? ""}
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
    </FormDialog>
  );
}

export function DeleteDialog({ event, api, refresh, onClose }) {
  async function remove() {
    try {
      await api.delete(`/events/${event.id}`, { version: event.version });
    } catch (error) {
      refresh();
      throw new Error(explain(error));
    }
    toast(`${event.title} is deleted`);
    refresh();
  }
  return (
    <FormDialog title="Delete the event?" submit="Delete" danger onSubmit={remove} onClose={onClose}>
      <p>{event.title}, {nightsText(event.start, event.end)}</p>
    </FormDialog>
  );
}
