/* Ctrl+K: goes to a table or a page by a part of its name. */
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { PAGES } from "./app.jsx";
import { go } from "./lib/route.js";
import { useTables } from "./lib/schema.js";
import { Icon } from "./ui.jsx";

const SHOWN = 30;

/* Names that contain the text, those that begin with it first. */
export function matching(names, text) {
  const wanted = text.trim().toLowerCase();
  const found = names.filter((name) => name.toLowerCase().includes(wanted));
  return found.sort((a, b) => b.toLowerCase().startsWith(wanted) - a.toLowerCase().startsWith(wanted));
}

export function Palette({ onClose }) {
  const { names } = useTables();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const dialog = useRef();
  const list = useRef();
  const id = useId();
  useEffect(() => dialog.current.showModal(), []);
  const pages = PAGES.flatMap(([, group]) => group).filter(([, title]) => title.toLowerCase().includes(text.trim().toLowerCase()))
    .map(([name, title, icon]) => ({ title, icon, kind: "page", parts: name === "overview" ? [] : [name] }));
  const found = matching(names ?? [], text).slice(0, SHOWN).map((name) => ({ title: name, icon: "tables", kind: "table", parts: ["tables", name] }));
  const all = text.trim() === "" ? [...pages, ...found] : [...found, ...pages];
  useEffect(() => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" }), [at]);
  function choose(one) {
    dialog.current.close();
    go(one.parts);
  }
  function press(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && all.length > 0) {
      event.preventDefault();
      setAt((at + step + all.length) % all.length);
    } else if (event.key === "Enter" && all[at]) {
      event.preventDefault();
      choose(all[at]);
    }
  }
  return (
    <dialog ref={dialog} class="palette" aria-label="Find a table or page" onClose={onClose} onClick={(event) => event.target === dialog.current && dialog.current.close()}>
      <input role="combobox" aria-label="Name of a table or page" aria-expanded="true" aria-controls={id} aria-activedescendant={all[at] ? `${id}-${at}` : undefined}
             placeholder="Go to a table or page" autocomplete="off" spellcheck={false} value={text} onKeyDown={press}
             onInput={(event) => { setText(event.currentTarget.value); setAt(0); }} />
      <ul role="listbox" id={id} ref={list} aria-label="Matches">
        {all.map((one, i) => (
          <li key={`${one.kind}-${one.title}`} id={`${id}-${i}`} role="option" aria-selected={i === at} onMouseMove={() => setAt(i)} onClick={() => choose(one)}>
            <Icon name={one.icon} />{one.title}<small>{one.kind}</small>
          </li>
        ))}
      </ul>
      {all.length === 0 && <p class="empty">Nothing matches.</p>}
    </dialog>
  );
}
