/* Days are text, YYYY-MM-DD; the end of an event is the day after its last night. */
const DAY_MS = 24 * 3600 * 1000;
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

/* "3 Nov – 5 Nov, 2 nights" */
export function nightsText(start, end) {
  const count = Math.round((toDate(end) - toDate(start)) / DAY_MS);
  if (!(count > 0)) {
    return "no night";
  }
  return `${dayText(start)} – ${dayText(end)}, ${count === 1 ? "1 night" : `${count} nights`}`;
}

/* What went wrong, for the one who tried. */
export function explain(error) {
  switch (error.code) {
    case "overlap": {
      const { nights } = error.details;
      const shown = nights.slice(0, 5).map(dayText).join(", ");
      const more = nights.length > 5 ? ` and ${nights.length - 5} more` : "";
      return nights.length === 1
        ? `Someone else has the night of ${shown}. The calendar shows it now.`
        : `Someone else has these nights: ${shown}${more}. The calendar shows them now.`;
    }
    case "version_mismatch":
      return "Someone changed this event meanwhile. The calendar shows it now as it is: look, and try again.";
    case "not_found":
      return "Someone deleted this event meanwhile.";
    default:
      return error.message;
  }
}
