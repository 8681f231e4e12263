/* Addresses, drafts, ids of what is sent, and times. */
import { useEffect, useRef, useState } from "preact/hooks";
import { newId } from "./api.js";

/* What the page shows, kept in its address: const [query, go] = useAddress();
 * query.caller is the value of ?caller=; go({ caller: "ana" }) replaces the query, as a new entry in the browser's
 * history, or with go(next, { replace: true }) in place of the current one. */
export function useAddress() {
  const read = () => Object.fromEntries(new URLSearchParams(location.search));
  const [query, setQuery] = useState(read);
  useEffect(() => {
    const back = () => setQuery(read());
    addEventListener("popstate", back);
    return () => removeEventListener("popstate", back);
  }, []);
  function go(next, { replace = false } = {}) {
    const given = Object.entries(next).filter(([, value]) => value);
    const address = given.length > 0 ? `?${new URLSearchParams(given)}` : location.pathname;
    history[replace ? "replaceState" : "pushState"](null, "", address);
    setQuery(read());
  }
  return [query, go];
}

/* Text that someone types, kept in the tab across reloads of the page: const [text, setText] = useDraft("ticket 7"); */
export function useDraft(key) {
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? "");
  function change(next) {
    setText(next);
    if (next === "") {
      sessionStorage.removeItem(key);
    } else {
      sessionStorage.setItem(key, next);
    }
  }
  return [text, change];
}

/* Ids for something new: const ids = useSendId(); the id of(content) stays the same until the content is another one or
 * clear() is called, so that sending it again after a lost answer makes it once. */
export function useSendId() {
  const last = useRef({});
  function of(content) {
    const key = JSON.stringify(content);
    if (last.current.key !== key) {
      last.current = { key, id: newId() };
    }
    return last.current.id;
  }
  return { of, clear: () => { last.current = {}; } };
}

const times = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
/* An ISO 8601 time in the reader's language and time zone; "" for what is no time: another program may have written it. */
export function timeText(iso) {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? "" : times.format(time);
}

const UNITS = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
/* "3 hours ago", "in 5 minutes"; takes an ISO 8601 time or milliseconds since 1970. "" for what is no time. */
export function agoText(when) {
  const seconds = (new Date(when).getTime() - Date.now()) / 1000;
  if (Number.isNaN(seconds)) {
    return "";
  }
  const [size, unit] = UNITS.find(([size]) => Math.abs(seconds) >= size) ?? UNITS[3];
  return relative.format(Math.trunc(seconds / size), unit);
}

/* "Europe/Berlin, GMT+1": the zone in which the page shows times. */
export function zoneText(when = Date.now()) {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const parts = new Intl.DateTimeFormat(undefined, { timeZoneName: "short" }).formatToParts(when);
  const short = parts.find(({ type }) => type === "timeZoneName")?.value;
  return short && short !== timeZone ? `${timeZone}, ${short}` : timeZone;
}
