/* Keeps the keyboard focus where the person was when the page changes under it. */
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

/* For the whole page: when the focused element is removed, the focus goes to the nearest element around it that can have it:
 * a list or a section with tabIndex -1, or <main>. useRowFocus() is more exact, and acts before. */
export function keepFocus() {
  let last = null; /* {target, around}: what has the focus, and what is around it, the innermost first */
  document.addEventListener("focusin", ({ target }) => {
    const around = [];
    for (let element = target.parentElement; element; element = element.parentElement) {
      if (element.hasAttribute("tabindex")) {
        around.push(element);
      }
    }
    last = { target, around };
  });
  document.addEventListener("focusout", ({ target }) => queueMicrotask(() => {
    if (target === last?.target && isOnBackground(target)) {
      last = null;
    }
  }));
  new MutationObserver(() => {
    if (last && !last.target.isConnected && document.activeElement === document.body && !document.querySelector("dialog[open]")) {
      const { around } = last;
      last = null;
      (around.find((element) => element.isConnected) ?? document.getElementById("main"))?.focus({ preventScroll: true });
    }
  }).observe(document.body, { childList: true, subtree: true });
}

/* Whether the focus left an element because of a click on the background. */
const isOnBackground = (left) => left.isConnected && document.activeElement === document.body;

/* const list = useRowFocus(); <ul ref={list} tabIndex={-1}>...<li data-row>...<button data-action="complete">
 * When the focused element disappears together with its row, the same action of the row that took its place
 * gets the focus; without one, the list itself. When "Show more" disappears, the first row that it brought. */
export function useRowFocus() {
  const list = useRef();
  const last = useRef(null);
  const rows = () => [...list.current.querySelectorAll("[data-row]")];
  useEffect(() => {
    const remember = ({ target }) => {
      if (list.current?.contains(target)) {
        last.current = { target, ...placeOf(target, rows()), action: target.closest("[data-action]")?.dataset.action };
      } else if (!target.closest("dialog")) {
        last.current = null; /* the user moved the focus; a closing dialog restores it itself */
      }
    };
    const forget = ({ target }) => queueMicrotask(() => {
      if (target === last.current?.target && isOnBackground(target)) {
        last.current = null;
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
    const dialog = document.querySelector("dialog[open]");
    if (!list.current || !lost || lost.target.isConnected || (dialog && !dialog.contains(list.current))) {
      return;
    }
    last.current = null;
    if (document.activeElement !== document.body) {
      return;
    }
    const now = rows();
    const row = lost.isAbove ? null : now[Math.min(lost.index, now.length - 1)];
    const next = row?.querySelector(`[data-action="${lost.action}"]`) ?? row?.querySelector("button, a, select");
    (next ?? list.current).focus();
  });
  return list;
}

/* {index, isAbove}: which of the rows an element is in; for one behind them, the index of the next row. */
function placeOf(element, rows) {
  const row = element.closest("[data-row]");
  if (rows.includes(row)) {
    return { index: rows.indexOf(row), isAbove: false };
  }
  const index = rows.filter((each) => each.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING).length;
  return { index, isAbove: index === 0 };
}
