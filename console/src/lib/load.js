/* Hooks that load data. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

/* const list = useLoad(() => call("ListTables"), []); gives {data, error, loading, reload()}. Data stays while it is
 * loaded again, and if that fails. Only the newest request counts. */
export function useLoad(load, dependencies) {
  const [state, setState] = useState({ data: null, error: null, loading: true });
  const newest = useRef(0);
  const reload = useCallback(async () => {
    const turn = ++newest.current;
    let result;
    try {
      result = { data: await load(), error: null };
    } catch (error) {
      result = { error };
    }
    if (turn === newest.current) {
      setState((old) => ({ ...old, ...result, loading: false }));
    }
  }, dependencies);
  useEffect(() => {
    setState((old) => ({ ...old, loading: true }));
    reload();
    return () => {
      newest.current++;
    };
  }, [reload]);
  return { ...state, reload };
}

/* Calls `work` every `seconds` while the page is visible, one call at a time; 0: never. */
export function useEvery(seconds, work) {
  const newest = useRef(work);
  newest.current = work;
  useEffect(() => {
    if (!seconds) {
      return undefined;
    }
    let busy = false;
    const timer = setInterval(async () => {
      if (!busy && document.visibilityState === "visible") {
        busy = true;
        try {
          await newest.current();
        } finally {
          busy = false;
        }
      }
    }, seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
}

/* Loads again every `seconds` what useLoad() gave, unless the server does not have it. */
export function usePoll(seconds, { error, reload }) {
  useEvery(error?.name === "NoInsight" ? 0 : seconds, reload);
}

/* The value, once it has not changed for a while: for what is typed. */
export function useSettled(value, ms = 250) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
