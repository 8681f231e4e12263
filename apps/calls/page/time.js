/* Times of calls are milliseconds since 1970; people see them in their own zone. */
export const PAGE_SIZE = 10;

const days = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long", year: "numeric" });
const hours = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

export const dayText = (ms) => days.format(ms);
export const hourText = (ms) => hours.format(ms);

/* The value of <input type="datetime-local">, and back. */
export function toInput(ms) {
  const date = new Date(ms);
  return new Date(ms - date.getTimezoneOffset() * 60 * 1000).toISOString().slice(0, 16);
}
export const fromInput = (text) => new Date(text).getTime();
