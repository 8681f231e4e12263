/* Days are text, YYYY-MM-DD; the end of an event is the day after its last night. */
const DAY_MS = 24 * 3600 * 1000;
const SHOWN_MAX = 5;
/* Of an event; GET /settings replaces them, see loadLimits() in events.js. */
export const limits = { nightsMax: 99, titleMax: 200 };
const format = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });

const toDate = (day) => new Date(`${day}T00:00:00Z`);

export function addDays(day, count) {
  return new Date(toDate(day).getTime() + count * DAY_MS).toISOString().slice(0, 10);
}

export function today() {
  const now = new Date();
  return new Date(now.getTime() - now.getTimezoneOffset() * 60 * 1000).toISOString().slice(0, 10);
}

export function dayText(day) {
  return format.format(toDate(day));
}

export const nightCount = (start, end) => Math.round((toDate(end) - toDate(start)) / DAY_MS);

/* "3 Nov – 5 Nov, 2 nights" */
export function nightsText(start, end) {
  const count = nightCount(start, end);
  if (!(count > 0)) {
    return "no night";
  }
  return `${dayText(start)} – ${dayText(end)}, ${count === 1 ? "1 night" : `${count} nights`}`;
}

/* "An event has at most 99 nights; this one has 120.", or "" if it is short enough. */
export function tooLongText(start, end) {
  const count = nightCount(start, end);
  return count > limits.nightsMax ? `An event has at most ${limits.nightsMax} nights; this one has ${count}.` : "";
}

/* The nights from `start` to `end` that other events than `id` have: Map of title -> nights. */
export function findClashes(events, { id, start, end }) {
  const clashes = new Map();
  for (const other of events) {
    if (other.id !== id) {
      const from = other.start > start ? other.start : start;
      const to = other.end < end ? other.end : end;
      for (let night = from; night < to; night = addDays(night, 1)) {
        clashes.set(other.title, [...(clashes.get(other.title) ?? []), night]);
      }
    }
  }
  return clashes;
}

/* "Ben has the night of 12 Nov. Dana has the nights of 14 Nov, 15 Nov." */
export function clashText(clashes) {
  return [...clashes].map(([title, nights]) => {
    const shown = nights.slice(0, SHOWN_MAX).map(dayText).join(", ");
    const more = nights.length > SHOWN_MAX ? ` and ${nights.length - SHOWN_MAX} more` : "";
    return `${title} has the night${nights.length === 1 ? "" : "s"} of ${shown}${more}.`;
  }).join(" ");
}

/* Why a change was refused, for its author. `load(from, to)` reads the events that are in the way. */
export async function explain(error, load) {
  switch (error.code) {
    case "overlap": {
      const nights = [...error.details.nights].sort();
      const wanted = { start: nights[0], end: addDays(nights.at(-1), 1) };
      const events = await load(wanted.start, wanted.end).catch(() => []);
      const text = clashText(findClashes(events, wanted));
      return text || `Someone else has the night of ${nights.slice(0, SHOWN_MAX).map(dayText).join(", ")}.`;
    }
    case "version_mismatch":
      return "Someone changed this event meanwhile. The calendar shows it as it is now: look, and try again.";
    case "not_found":
      return "Someone deleted this event meanwhile.";
    default:
      return error.message;
  }
}

/* The hue of a guest's colour, 0 to 359; the same for the same name. */
export function hueOf(title) {
  let hash = 2166136261;
  for (const letter of title.trim().toLowerCase()) {
    hash = Math.imul(hash ^ letter.codePointAt(0), 16777619) >>> 0;
  }
  return hash % 360;
}
