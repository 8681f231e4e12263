/* Keeps the keyboard focus where the person was when a list changes under it. */
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

/* const list = useRowFocus(); <ul ref={list} tabIndex={-1}>...<li data-row>...<button data-action="complete">
 * When the focused element disappears together with its row, the same action of the row that took its place
 * gets the focus; without one, the list itself. */
export function useRowFocus() {
  const list = useRef();
  const last = useRef(null);
  const rows = () => [...list.current.querySelectorAll("[data-row]")];
  useEffect(() => {
    const remember = ({ target }) => {
      if (list.current?.contains(target)) {
        const row = target.closest("[data-row]");
        last.current = row && { target, index: rows().indexOf(row), action: target.closest("[data-action]")?.dataset.action };
      } else if (!target.closest("dialog")) {
        last.current = null; /* the user moved the focus; a closing dialog restores it itself */
      }
    };
    const forget = ({ target }) => queueMicrotask(() => {
      if (target === last.current?.target && target.isConnected && document.activeElement === document.body) {
        last.current = null; /* a click on the background */
      }
    });
    document.addEventListener("focusin", remember);
    document.addEventListener("focusout", forget);
    return () => {
      document.removeEventListener("focusin", remember);
      document.removeEventListener("focusout", forget);
    };
  }, []);
  useLayoutEffect(() => {
    const lost = last.current;
    if (!list.current || !lost || lost.target.isConnected || document.querySelector("dialog[open]")) {
      return;
    }
    last.current = null;
    if (document.activeElement !== document.body) {
      return;
    }
    const now = rows();
    const row = now[Math.min(lost.index, now.length - 1)];
    const next = row?.querySelector(`[data-action="${lost.action}"]`) ?? row?.querySelector("button, a, select");
    (next ?? list.current).focus();
  });
  return list;
}
