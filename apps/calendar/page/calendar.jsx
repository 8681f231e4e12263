/* The calendar: book nights by selecting them, move and resize with the mouse, rename and delete in a
 * dialog. What someone else did meanwhile is told, and the calendar shows things as they are. */
import { Calendar } from "@fullcalendar/core";
import dayGridPlugin from "@fullcalendar/daygrid";
import interactionPlugin from "@fullcalendar/interaction";
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { createApi } from "@common/api.js";
import { toast } from "@common/toasts.jsx";
import { Shell } from "@common/ui.jsx";
import { DeleteDialog, EventDialog } from "./dialogs.jsx";
import { explain, nightsText } from "./text.js";
import "@common/look.css";
import "./calendar.css";

const api = createApi("calendar");

/* All events that reach into a range of days. */
async function loadEvents(from, to) {
  const events = [];
  let cursor;
  do {
    const page = await api.get("/events", { from, to, limit: 100, cursor });
    events.push(...page.items);
    cursor = page.cursor;
  } while (cursor);
  return events;
}

const toFullCalendar = ({ id, title, start, end, version }) => ({
  id, title, start, end, allDay: true, extendedProps: { version },
});

/* What FullCalendar has back to what the API has. */
const fromFullCalendar = ({ id, title, startStr, endStr, extendedProps }) => ({
  id, title, start: startStr, end: endStr, version: extendedProps.version,
});

function App() {
  const place = useRef();
  const calendar = useRef();
  const [dialog, setDialog] = useState(null);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(true);

  const refresh = () => calendar.current.refetchEvents();

  /* After dragging or resizing: keeps it, or puts it back and says why. */
  async function keepChange({ event, oldEvent, revert }) {
    const { id, title, start, end } = fromFullCalendar(event);
    try {
      const now = await api.put(`/events/${id}`, { title, start, end }, { version: oldEvent.extendedProps.version });
      event.setExtendedProp("version", now.version);
      toast(`${title}: ${nightsText(start, end)}`);
    } catch (error) {
      revert();
      toast(explain(error), "error");
      refresh();
    }
  }

  useEffect(() => {
    calendar.current = new Calendar(place.current, {
      plugins: [dayGridPlugin, interactionPlugin],
      initialView: "dayGridMonth",
      initialDate: new URLSearchParams(location.search).get("date") ?? undefined,
      headerToolbar: { left: "prev,next today", center: "title", right: "dayGridMonth,dayGridWeek" },
      firstDay: 1,
      height: "auto",
      selectable: true,
      editable: true,
      eventResizableFromStart: true,
      eventInteractive: true,
      selectOverlap: false,
      eventOverlap: false,
      longPressDelay: 300,
      events: ({ startStr, endStr }, give, fail) =>
        loadEvents(startStr.slice(0, 10), endStr.slice(0, 10))
          .then((events) => {
            setProblem(null);
            give(events.map(toFullCalendar));
          })
          .catch((error) => {
            setProblem(error);
            fail(error);
          }),
      loading: setBusy,
      select: ({ startStr, endStr }) => setDialog({ kind: "create", start: startStr, end: endStr }),
      unselectCancel: "dialog",
      eventClick: ({ event }) => setDialog({ kind: "edit", event: fromFullCalendar(event) }),
      eventDrop: keepChange,
      eventResize: keepChange,
      eventDidMount: ({ event, el }) =>
        el.setAttribute("aria-label", `${event.title}, ${nightsText(event.startStr, event.endStr)}`),
    });
    calendar.current.render();
    return () => calendar.current.destroy();
  }, []);

  function close() {
    setDialog(null);
    calendar.current.unselect();
  }

  const common = { api, refresh, onClose: close };
  return (
    <Shell app="calendar" title="Calendar" lead="Select nights to book them. A night has one guest."
           actions={<button class="primary" onClick={() => setDialog({ kind: "create" })}>New event</button>}>
      {problem && (
        <div class="notice error" role="alert">
          <p>The events cannot be shown: {problem.message}</p>
          <button onClick={refresh}>Try again</button>
        </div>
      )}
      <div class="card calendar" ref={place} aria-busy={busy} />
      {dialog?.kind === "create" && <EventDialog key="create" event={dialog} {...common} />}
      {dialog?.kind === "edit" && (
        <EventDialog key="edit" event={dialog.event} {...common}
                     onDelete={() => setDialog({ kind: "delete", event: dialog.event })} />
      )}
      {dialog?.kind === "delete" && <DeleteDialog event={dialog.event} {...common} />}
    </Shell>
  );
}

render(<App />, document.body);
