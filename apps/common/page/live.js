/* Live updates of an application: one EventSource per page, shared by all who listen. It is closed while the page
 * is hidden, because browsers open only six connections to a server over HTTP/1.1. See apps/API.md, Live updates. */

const REOPEN_MS = 2000;
const sources = new Map(); /* application -> source */

function createSource(app) {
  const listeners = new Set();
  let connection = null;
  let timer = null;
  const source = { isReady: false, subscribe };

  const publish = (event) => listeners.forEach((listener) => listener(event));

  function open() {
    clearTimeout(timer);
    if (connection || listeners.size === 0 || document.visibilityState !== "visible") {
      return;
    }
    connection = new EventSource(`/${app}/api/live`);
    connection.addEventListener("ready", ({ data }) => {
      source.isReady = true;
      if (!JSON.parse(data).resumed) {
        publish({ kind: "reload" });
      }
    });
    connection.addEventListener("change", ({ data }) => publish({ kind: "change", change: JSON.parse(data) }));
    connection.addEventListener("reload", () => publish({ kind: "reload" }));
    connection.addEventListener("status", () => publish({ kind: "reload" })); /* loads find out what the state is */
    connection.addEventListener("error", () => {
      source.isReady = false;
      publish({ kind: "reload" });
      if (connection?.readyState === EventSource.CLOSED) { /* refused: the browser does not try again */
        close();
        timer = setTimeout(open, REOPEN_MS);
      }
    });
  }

  function close() {
    clearTimeout(timer);
    connection?.close();
    connection = null;
    source.isReady = false;
  }

  function subscribe(listener) {
    listeners.add(listener);
    open();
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) {
        close();
      }
    };
  }

  document.addEventListener("visibilitychange", () => (document.visibilityState === "visible" ? open() : close()));
  addEventListener("pagehide", close);
  return source;
}

/* {isReady, subscribe(listener)}; subscribe returns a function that ends it. Listeners get {kind: "change", change}, or
 * {kind: "reload"} when anything may have changed. */
export function liveSource(app) {
  if (!sources.has(app)) {
    sources.set(app, createSource(app));
  }
  return sources.get(app);
}
