/* Addresses within the console: #/tables/Music/items?index=byYear. The part behind the # never reaches the server, so
 * keys that are looked at appear in no log. */
import { useEffect, useState } from "preact/hooks";

/* An address that was typed or cut may have a % that stands for nothing. */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function parse() {
  const [path, search = ""] = location.hash.replace(/^#/, "").split(/\?(.*)/s);
  return { parts: path.split("/").filter(Boolean).map(decode), query: Object.fromEntries(new URLSearchParams(search)) };
}

/* to(["tables", "Music"], {index: "byYear"}) */
export function to(parts, query = {}) {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "")).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${search && `?${search}`}`;
}

export function go(parts, query) {
  location.hash = to(parts, query);
}

/* Like go(), without an entry of its own in the history. */
export function replace(parts, query) {
  history.replaceState(null, "", to(parts, query));
  dispatchEvent(new HashChangeEvent("hashchange"));
}

export function useRoute() {
  const [route, setRoute] = useState(parse);
  useEffect(() => {
    const change = () => setRoute(parse());
    addEventListener("hashchange", change);
    return () => removeEventListener("hashchange", change);
  }, []);
  return route;
}
