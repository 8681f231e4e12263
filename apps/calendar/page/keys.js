/* Moving events by keyboard: arrow keys move the focused event by a day or a week, with Shift the left and right
 * ones change its end. Nothing is sent before Enter; Escape, or leaving the event, restores it. */
import { fromFullCalendar } from "./events.js";
import { addDays } from "./text.js";

const DAYS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 };

/* Listens on `place`, the element of `calendar`. `onMove(event, old)` is called after each step, with null at the end;
 * `save(event, old)` does the rest. Returns {isMoving(), stop()}. */
export function moveByKeyboard(calendar, place, { onMove, save }) {
  let moving = null; /* {id, old} */

  const focus = (id) => place.querySelector(`[data-event="${CSS.escape(id)}"]`)?.focus();

  function show({ id, start, end }) {
    const { old } = moving;
    moving = { id, old, isRendering: true }; /* the element may be replaced: that is not leaving */
    const day = new Date(`${start}T00:00:00`);
    if (day < calendar.view.activeStart || day >= calendar.view.activeEnd) {
      calendar.gotoDate(start);
    }
    calendar.getEventById(id)?.setDates(start, end, { allDay: true });
    focus(id);
    moving.isRendering = false;
  }

  function step(event, key, isResize) {
    const now = fromFullCalendar(event);
    moving ??= { id: event.id, old: now };
    const days = DAYS[key];
    const next = isResize
      ? { ...now, end: addDays(now.end, days) }
      : { ...now, start: addDays(now.start, days), end: addDays(now.end, days) };
    if (next.end > next.start) {
      show(next);
      onMove(next, moving.old);
    }
  }

  function restore() {
    if (moving) {
      const { id, old } = moving;
      calendar.getEventById(id)?.setDates(old.start, old.end, { allDay: true });
      moving = null;
      onMove(null);
    }
  }

  async function finish(event) {
    const { id, old } = moving;
    const saved = save(fromFullCalendar(event), old); /* begins before the move ends, so that it is not undone meanwhile */
    moving = null;
    onMove(null);
    await saved;
    focus(id);
  }

  function press(press) {
    const id = press.target.closest?.("[data-event]")?.dataset.event;
    const event = id && calendar.getEventById(id);
    if (!event || event.extendedProps.mayChange === false || press.ctrlKey || press.metaKey || press.altKey) {
      return;
    }
    const isResize = press.shiftKey;
    if (press.key in DAYS && !(isResize && Math.abs(DAYS[press.key]) === 7)) {
      step(event, press.key, isResize);
    } else if (moving && press.key === "Enter") {
      finish(event);
    } else if (moving && press.key === "Escape") {
      restore();
      focus(id);
    } else {
      return;
    }
    press.preventDefault();
    press.stopPropagation(); /* FullCalendar opens the event on Enter */
  }

  function leave({ relatedTarget }) {
    if (moving && !moving.isRendering && relatedTarget?.closest?.("[data-event]")?.dataset.event !== moving.id) {
      restore();
    }
  }

  place.addEventListener("keydown", press, { capture: true });
  place.addEventListener("focusout", leave);
  return {
    isMoving: () => moving !== null,
    stop() {
      place.removeEventListener("keydown", press, { capture: true });
      place.removeEventListener("focusout", leave);
    },
  };
}
