/* The calendar: book nights by selecting them, move and resize by mouse or keyboard, rename and delete in a
 * dialog. Changes of others are shown as they happen; a refused change says why and is undone. */
import { Calendar } from "@fullcalendar/core";
import dayGridPlugin from "@fullcalendar/daygrid";
import interactionPlugin from "@fullcalendar/interaction";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useLive, useLoad } from "@common/load.js";
import { start } from "@common/start.jsx";
import { toast } from "@common/toasts.jsx";
import { Shell } from "@common/ui.jsx";
import { DeleteDialog, EventDialog, FeedDialog, ShowDialog } from "./dialogs.jsx";
import { api, decorate, fromFullCalendar, loadEvents, loadLimits, showEvents } from "./events.js";
import { moveByKeyboard } from "./keys.js";
import { clashText, explain, findClashes, nightsText, tooLongText } from "./text.js";
import "./calendar.css";

const VIEWS = ["dayGridMonth", "dayGridWeek"];

/* The month or week of the page is in its address, so that reloading keeps it: ?date=2026-11-01&view=dayGridWeek */
function readAddress() {
  const query = new URLSearchParams(location.search);
  const view = query.get("view");
  return { initialDate: query.get("date") ?? undefined, initialView: VIEWS.includes(view) ? view : VIEWS[0] };
}

const toDay = (date) => new Date(date.getTime() - date.getTimezoneOffset() * 60 * 1000).toISOString().slice(0, 10);

function writeAddress(view) {
  const query = new URLSearchParams({ date: toDay(view.currentStart), ...(view.type !== VIEWS[0] && { view: view.type }) });
  history.replaceState(null, "", `?${query}`);
}

function App() {
  const place = useRef();
  const calendar = useRef();
  const keys = useRef();
  const busy = useRef(0); /* drags and writes under way: until they end the calendar is ahead of the data */
  const [range, setRange] = useState(null);
  const [dialog, setDialog] = useState(null);
  const [moving, setMoving] = useState(null);

  const month = useLoad(async () => range && { range, events: await loadEvents(range.from, range.to) }, [range?.from, range?.to]);
  useLive("calendar", month.reload);
  useLoad(loadLimits, []);
  const isCurrent = month.data?.range === range && range !== null;
  const events = month.data?.events ?? [];
  const saving = useRef(Promise.resolve());
  const newest = useRef();
  newest.current = { events, reload: month.reload };

  function show() {
    if (busy.current === 0 && !keys.current.isMoving()) {
      showEvents(calendar.current, newest.current.events);
    }
    decorate(calendar.current, place.current);
  }

  async function put(event, old) {
    const { id, title, start, end } = event;
    const shown = calendar.current.getEventById(id);
    try {
      const clash = clashText(findClashes(newest.current.events, event)) || tooLongText(start, end);
      if (clash) {
        throw new Error(clash);
      }
      const saved = await api.put(`/events/${id}`, { title, start, end }, { version: shown?.extendedProps.version ?? old.version });
      shown?.setExtendedProp("version", saved.version);
      toast(`${title}: ${nightsText(start, end)}`);
    } catch (error) {
      toast(`${await explain(error, loadEvents)} ${title} stays at ${nightsText(old.start, old.end)}.`, "error");
    }
  }

  /* Saves an event that was moved or resized; a refused change is undone by showing the data. If the person moves it
   * again before that, the next save waits for this one and has its version. */
  async function save(event, old) {
    busy.current++;
    saving.current = saving.current.then(() => put(event, old));
    await saving.current;
    await newest.current.reload();
    busy.current--;
    show();
  }

  /* What others have changed during a drag is shown at its end, unless it is saved: eventDrop and eventResize follow at
   * once, before the microtask. */
  function endDrag() {
    busy.current--;
    queueMicrotask(show);
  }

  useEffect(() => {
    calendar.current = new Calendar(place.current, {
      plugins: [dayGridPlugin, interactionPlugin],
      ...readAddress(),
      headerToolbar: { left: "prev,next today", center: "title", right: VIEWS.join() },
      locale: navigator.language, /* for dates; the words are English */
      firstDay: 1,
      height: "auto",
      selectable: true,
      editable: true,
      eventResizableFromStart: true,
      eventInteractive: true,
      longPressDelay: 300,
      datesSet: ({ startStr, endStr, view }) => {
        writeAddress(view);
        const [from, to] = [startStr.slice(0, 10), endStr.slice(0, 10)];
        setRange((old) => (old?.from === from && old.to === to ? old : { from, to }));
      },
      select: ({ startStr, endStr }) => setDialog({ kind: "create", start: startStr, end: endStr }),
      unselectCancel: "dialog",
      eventClick: ({ event }) => setDialog({ kind: "edit", event: fromFullCalendar(event) }),
      eventDragStart: () => busy.current++,
      eventDragStop: endDrag,
      eventResizeStart: () => busy.current++,
      eventResizeStop: endDrag,
      eventDrop: ({ event, oldEvent }) => save(fromFullCalendar(event), fromFullCalendar(oldEvent)),
      eventResize: ({ event, oldEvent }) => save(fromFullCalendar(event), fromFullCalendar(oldEvent)),
      /* A cell is named by its day, not by the day instead of its events. */
      dayCellDidMount: ({ el }) => el.removeAttribute("aria-labelledby"),
      eventDidMount: ({ event, el }) => {
        el.dataset.event = event.id;
        el.setAttribute("role", "button");
        decorate(calendar.current, el.parentElement ?? place.current);
      },
    });
    keys.current = moveByKeyboard(calendar.current, place.current, {
      onMove: (event) => {
        setMoving(event);
        show(); /* at its end: what others have changed during the move */
      },
      save,
    });
    calendar.current.render();
    for (const icon of place.current.querySelectorAll(".fc-icon")) {
      icon.removeAttribute("role"); /* the button around it has a name */
      icon.setAttribute("aria-hidden", "true");
    }
    return () => {
      keys.current.stop();
      calendar.current.destroy();
    };
  }, []);
  useLayoutEffect(() => {
    if (calendar.current) {
      show();
    }
  }, [month.data]);

  function close() {
    setDialog(null);
    calendar.current.unselect();
  }

  const common = { events, reload: month.reload, onClose: close };
  return (
    <Shell app="calendar" title="Calendar" lead="Select nights to book them. A night has one guest."
           actions={
             <>
               <button onClick={() => setDialog({ kind: "feed" })}>Subscribe</button>
               <button class="primary" onClick={() => setDialog({ kind: "create" })}>New event</button>
             </>
           }>
      {month.error && !isCurrent && (
        <div class="notice error" role="alert">
          <p>The events cannot be shown: {month.error.message}</p>
          <button onClick={month.reload}>Try again</button>
        </div>
      )}
      <div class="card calendar" ref={place} aria-busy={!isCurrent} />
      <Hint moving={moving} events={events} />
      {dialog?.kind === "create" && <EventDialog key="create" event={dialog} {...common} />}
      {dialog?.kind === "edit" && dialog.event.mayChange === false && <ShowDialog event={dialog.event} onClose={close} />}
      {dialog?.kind === "feed" && <FeedDialog onClose={close} />}
      {dialog?.kind === "edit" && dialog.event.mayChange !== false && (
        <EventDialog key="edit" event={dialog.event} {...common}
                     onDelete={(event) => setDialog({ kind: "delete", event })} />
      )}
      {dialog?.kind === "delete" && <DeleteDialog event={dialog.event} {...common} />}
    </Shell>
  );
}

/* How to use the keyboard; while an event is moved by it, where it would be and what is in the way. */
function Hint({ moving, events }) {
  const clash = moving && clashText(findClashes(events, moving));
  return (
    <>
      <p class="hint" role="status">
        {moving && <strong>{moving.title}: {nightsText(moving.start, moving.end)}. {clash} Enter saves, Escape puts it back.</strong>}
      </p>
      <p class="hint muted">
        By keyboard: Tab to an event, move it with the arrow keys, change its end with Shift and an arrow key; Enter saves
        or opens it.
      </p>
    </>
  );
}

start("calendar", App);
