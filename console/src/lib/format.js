/* Numbers, sizes, durations, money and times as text. */
const counts = new Intl.NumberFormat("en");
const compacts = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const units = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export const count = (value) => (value === null || value === undefined ? "–" : counts.format(value));
/* 12.3K from 10,000 on */
export const compact = (value) => (value === null || value === undefined ? "–" : value < 10000 ? units.format(value) : compacts.format(value));
export const unit = (value) => (value === null || value === undefined ? "–" : value >= 10000 ? compacts.format(value) : units.format(value));
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

export function bytes(value) {
  if (value === null || value === undefined) {
    return "–";
  }
  const names = ["B", "KB", "MB", "GB", "TB"];
  let step = 0;
  while (value >= 1024 && step < names.length - 1) {
    value /= 1024;
    step++;
  }
  return `${step > 0 && value < 100 ? value.toFixed(1) : Math.round(value)} ${names[step]}`;
}

/* Microseconds. */
export function duration(us) {
  if (us === null || us === undefined) {
    return "–";
  }
  if (us < 1000) {
    return `${Math.round(us)} µs`;
  }
  if (us < 1e6) {
    return `${us < 1e4 ? (us / 1000).toFixed(1) : Math.round(us / 1000)} ms`;
  }
  return `${(us / 1e6).toFixed(1)} s`;
}

export function percent(share, digits = share < 0.1 ? 1 : 0) {
  return share === null || share === undefined || Number.isNaN(share) ? "–" : `${(100 * share).toFixed(digits)} %`;
}

/* Costs are often fractions of a cent, which are not rounded to nothing. */
export function money(value, currency = "USD") {
  const small = value > 0 && value < 0.01;
  const digits = small ? Math.min(8, 1 - Math.floor(Math.log10(value))) : 2;
  return new Intl.NumberFormat("en", { style: "currency", currency, minimumFractionDigits: 2, maximumFractionDigits: digits }).format(value);
}

export const clock = (at) => new Date(at).toLocaleTimeString("en-GB");
export const moment = (at) => (at ? new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }) : "–");

export function ago(at, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  for (const [name, size] of [["d", 86400], ["h", 3600], ["min", 60]]) {
    if (seconds >= size) {
      return `${Math.floor(seconds / size)} ${name} ago`;
    }
  }
  return seconds < 2 ? "now" : `${seconds} s ago`;
}

/* The times that a chart shows, in seconds: those of its points, of which the first and last are given, but at most `seconds` (0: all) and
 * at least `least` of them. */
export const timeRange = (first, last, seconds, least) => [last - Math.min(seconds || Infinity, Math.max(least, last - first)), last];
