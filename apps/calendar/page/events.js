/* Events of the API in FullCalendar. */
import { createApi } from "@common/api.js";
import { hueOf, limits, nightsText } from "./text.js";

export const api = createApi("calendar");

/* Reads what the server allows. */
export const loadLimits = async () => Object.assign(limits, await api.get("/settings"));

/* All events that have a night in a range of days. */
export async function loadEvents(from, to) {
  const events = [];
  let cursor;
  do {
    const page = await api.get("/events", { from, to, limit: 100, cursor });
    events.push(...page.items);
    cursor = page.cursor;
  } while (cursor);
  return events;
}

const toFullCalendar = ({ id, title, start, end, version, owner, mayChange }) => ({
  id, title, start, end, allDay: true, editable: mayChange !== false, extendedProps: { version, owner, mayChange },
});

/* The inverse of toFullCalendar(). */
export const fromFullCalendar = ({ id, title, startStr, endStr, extendedProps }) => ({
  id, title, start: startStr, end: endStr, ...extendedProps,
});

/* Makes the calendar show these events. Touches only what differs, so that elements keep the focus. */
export function showEvents(calendar, events) {
  const wanted = new Map(events.map((event) => [event.id, event]));
  calendar.batchRendering(() => {
    for (const shown of calendar.getEvents()) {
      const now = wanted.get(shown.id);
      wanted.delete(shown.id);
      if (!now) {
        shown.remove();
        continue;
      }
      if (shown.title !== now.title) {
        shown.setProp("title", now.title);
      }
      if (shown.startStr !== now.start || shown.endStr !== now.end) {
        shown.setDates(now.start, now.end, { allDay: true });
      }
      if (shown.extendedProps.version !== now.version) {
        shown.setExtendedProp("version", now.version);
      }
      if (shown.extendedProps.mayChange !== now.mayChange) {
        shown.setExtendedProp("mayChange", now.mayChange);
        shown.setProp("editable", now.mayChange !== false);
      }
    }
    for (const event of wanted.values()) {
      calendar.addEvent(toFullCalendar(event));
    }
  });
}

/* Names and colours the elements of the events; FullCalendar has no hook for changed ones. */
export function decorate(calendar, place) {
  for (const element of place.querySelectorAll("[data-event]")) {
    const event = calendar.getEventById(element.dataset.event);
    if (event) {
      element.setAttribute("aria-label", `${event.title}, ${nightsText(event.startStr, event.endStr)}`);
      element.style.setProperty("--hue", hueOf(event.title));
    }
  }
}
