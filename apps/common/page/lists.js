/* Lists that come in pages, and things that change by themselves. */
import { useEffect, useRef, useState } from "preact/hooks";
import { toast } from "./toasts.jsx";
import { useLoad } from "./ui.jsx";

/* A list that grows by pages: const list = usePages((cursor) => api.get("/calls", { cursor }), []);
 * useLoad() for the first page, with list.hasMore and list.loadMore() for the rest; list.data are all items
 * so far. */
export function usePages(load, dependencies) {
  const [more, setMore] = useState({ items: [], cursor: null });
  const first = useLoad(async () => {
    const page = await load();
    setMore({ items: [], cursor: page.cursor });
    return page.items;
  }, dependencies);
  async function loadMore() {
    try {
      const page = await load(more.cursor);
      setMore({ items: [...more.items, ...page.items], cursor: page.cursor });
    } catch (error) {
      toast.error(error);
    }
  }
  const data = first.data && [...first.data, ...more.items];
  return { ...first, data, hasMore: Boolean(more.cursor), loadMore };
}

/* Calls `work` every so often while the page is to be seen, one call at a time. */
export function useEvery(seconds, work) {
  const newest = useRef(work);
  newest.current = work;
  useEffect(() => {
    let busy = false;
    const timer = setInterval(async () => {
      if (!busy && document.visibilityState === "visible") {
        busy = true;
        await newest.current();
        busy = false;
      }
    }, seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
}

/* What the page shows, kept in its address: const [query, go] = useAddress();
 * query.caller is the ?caller= of it; go({ caller: "ana" }) changes it, with a step back in the browser. */
export function useAddress() {
  const read = () => Object.fromEntries(new URLSearchParams(location.search));
  const [query, setQuery] = useState(read);
  useEffect(() => {
    const back = () => setQuery(read());
    addEventListener("popstate", back);
    return () => removeEventListener("popstate", back);
  }, []);
  function go(next) {
    const given = Object.entries(next).filter(([, value]) => value);
    history.pushState(null, "", `?${new URLSearchParams(given)}`);
    setQuery(read());
  }
  return [query, go];
}

const times = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
/* An ISO 8601 time as people write it, in their zone. */
export const timeText = (iso) => times.format(new Date(iso));

const UNITS = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
/* "3 hours ago", "in 5 minutes" */
export function agoText(iso) {
  const seconds = (new Date(iso).getTime() - Date.now()) / 1000;
  const [size, unit] = UNITS.find(([size]) => Math.abs(seconds) >= size) ?? UNITS[3];
  return relative.format(Math.trunc(seconds / size), unit);
}
