/* Whether the server and its database answer. A load that fails because of an outage registers here and is
 * repeated until it succeeds; Shell shows a banner meanwhile. Loads are identified by an object of their
 * caller, because the function that repeats them changes with each render. */
import { useEffect, useState } from "preact/hooks";

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 2000;

const waiting = new Map(); /* load -> function that repeats it */
const listeners = new Set();
let delay = FIRST_DELAY_MS;
let timer = null;

function publish() {
  listeners.forEach((listener) => listener(waiting.size > 0));
}

function repeatAll() {
  clearTimeout(timer);
  timer = null;
  delay = Math.min(delay * 2, LONGEST_DELAY_MS);
  [...waiting.values()].forEach((repeat) => repeat());
}

/* The load failed: repeats it soon. */
export function loadFailed(load, repeat) {
  waiting.set(load, repeat);
  timer ??= setTimeout(repeatAll, delay);
  publish();
}

/* The load succeeded, was refused for another reason, or is no longer wanted. */
export function loadSettled(load) {
  if (waiting.delete(load) && waiting.size === 0) {
    clearTimeout(timer);
    timer = null;
    delay = FIRST_DELAY_MS;
  }
  publish();
}

/* Browsers slow down timers of hidden pages and pause them during sleep. */
addEventListener("online", repeatAll);
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && repeatAll());

/* Whether some load waits for the connection. */
export function useConnectionLost() {
  const [isLost, setLost] = useState(waiting.size > 0);
  useEffect(() => {
    listeners.add(setLost);
    setLost(waiting.size > 0);
    return () => listeners.delete(setLost);
  }, []);
  return isLost;
}
