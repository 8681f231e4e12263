/* Data of the server in a page: loaded, kept during outages, loaded again when it changes. */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { isOutage } from "./api.js";
import { loadFailed, loadSettled } from "./connection.js";
import { liveSource } from "./live.js";
import { toast } from "./toasts.jsx";

/* const list = useLoad(() => api.get("/tasks"), []);
 * {data, error, loading, reload()}. A failed reload never discards data: during an outage it is kept and the
 * load is repeated until it succeeds; any other error is reported beside the data. An answer to an
 * outdated request is dropped; its reload() ends with that of the newest request. `data` is null until the
 * first answer. */
export function useLoad(load, dependencies) {
  const [state, setState] = useState({ data: null, error: null, loading: true });
  const newest = useRef(0);
  const running = useRef({ turn: 0, end: null });
  const identity = useRef({}).current;
  const reload = useCallback(function repeat() {
    const turn = ++newest.current;
    async function run() {
      let result;
      try {
        result = { data: await load(), error: null };
      } catch (error) {
        result = { error };
      }
      if (turn !== newest.current) {
        await (running.current.turn > turn ? running.current.end : null);
        return;
      }
      if (isOutage(result.error)) {
        loadFailed(identity, repeat);
      } else {
        loadSettled(identity);
      }
      setState((old) => ({ ...old, ...result, loading: false }));
    }
    const end = run();
    running.current = { turn, end };
    return end;
  }, dependencies);
  useEffect(() => {
    setState((old) => (old.loading ? old : { ...old, loading: true }));
    reload();
    return () => {
      newest.current++;
      loadSettled(identity);
    };
  }, [reload]);
  const change = (edit) => setState((old) => ({ ...old, data: edit(old.data) }));
  return { ...state, reload, change };
}

/* A list that grows by pages: const list = usePages((cursor) => api.get("/calls", { cursor }), []);
 * Like useLoad(), with list.hasMore and list.loadMore(); list.data holds all items so far. Reloading reads as
 * many pages again as it takes to have at least as many items, so the list never shrinks under its
 * reader. list.first holds the other members of the newest first page. */
export function usePages(load, dependencies) {
  const shown = useMemo(() => ({ count: 0 }), dependencies);
  const list = useLoad(async () => {
    const first = await load();
    let { items, cursor } = first;
    while (cursor && items.length < shown.count) {
      const page = await load(cursor);
      items = [...items, ...page.items];
      cursor = page.cursor;
    }
    shown.count = items.length;
    return { first, items, cursor };
  }, dependencies);
  const newest = useRef();
  newest.current = list.data;
  async function loadMore() {
    const before = list.data;
    try {
      const page = await load(before.cursor);
      if (newest.current !== before) {
        shown.count = before.items.length + page.items.length;
        await list.reload(); /* the list changed meanwhile: appending could repeat or skip items */
        return;
      }
      shown.count = before.items.length + page.items.length;
      list.change((old) => ({ ...old, items: [...old.items, ...page.items], cursor: page.cursor }));
    } catch (error) {
      toast.error(error);
    }
  }
  return {
    ...list,
    data: list.data && list.data.items,
    first: list.data && list.data.first,
    hasMore: Boolean(list.data?.cursor),
    loadMore,
  };
}

/* Calls `work` every `seconds` while the page is visible, one call at a time; 0: never. */
export function useEvery(seconds, work) {
  const newest = useRef(work);
  newest.current = work;
  useEffect(() => {
    if (seconds === 0) {
      return undefined;
    }
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

const POLL_SECONDS = 3;

/* Calls `reload` when the application's data may have changed: at once by live updates, every few seconds while there
 * are none. `concerns(change)` tells whether a change affects what the page shows; several within `pauseMs`
 * cost one reload. */
export function useLive(app, reload, { concerns = () => true, pauseMs = 150 } = {}) {
  const newest = useRef();
  newest.current = { reload, concerns };
  const source = liveSource(app);
  useEffect(() => {
    let timer = null;
    const run = () => {
      timer = null;
      newest.current.reload();
    };
    const end = source.subscribe(({ kind, change }) => {
      if (kind === "reload" || newest.current.concerns(change)) {
        timer ??= setTimeout(run, pauseMs);
      }
    });
    return () => {
      clearTimeout(timer);
      end();
    };
  }, [source, pauseMs]);
  useEvery(POLL_SECONDS, () => (source.isReady ? undefined : reload()));
}
