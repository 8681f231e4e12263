/* Parts that all pages share. */
import { cloneElement } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { observable, useObservable } from "./lib/observable.js";

/* 24 by 24, drawn with lines. */
const ICONS = {
  overview: "M4 19V9M10 19V5M16 19v-7M22 19H2",
  tables: "M4 5h16v14H4zM4 10h16M10 10v9",
  partiql: "M8 6l-6 6 6 6M16 6l6 6-6 6",
  patterns: "M4 6h10M4 12h16M4 18h7M18 4v4M15 16v4",
  findings: "M12 3l9 16H3zM12 10v4M12 16.8v.2",
  heat: "M12 3c1 4 6 6 6 11a6 6 0 0 1-12 0c0-2 1-3.500 2-4.500 0 2 1 3 2 3 1.500-2-.5-5 2-9.500z",
  cost: "M12 3v18M16.500 7c-1-1.300-2.600-2-4.500-2-2.500 0-4.500 1.200-4.500 3.300 0 4.700 9.500 2.200 9.500 7 0 2.300-2.200 3.700-5 3.700-2.200 0-4-.8-5-2.300",
  simulation: "M4 7h9M17 7h3M4 17h3M11 17h9M15 4.500v5M9 14.500v5",
  connect: "M9 7L4 12l5 5M15 7l5 5-5 5",
  plug: "M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16.500 16.500L21 21",
  menu: "M4 6h16M4 12h16M4 18h16",
  close: "M6 6l12 12M18 6L6 18",
  plus: "M12 5v14M5 12h14",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M5 12.500l4.500 4.500L19 7.500",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  refresh: "M20 11a8 8 0 0 0-14.500-4L4 9M4 4v5h5M4 13a8 8 0 0 0 14.500 4l1.500-2M20 20v-5h-5",
  play: "M7 4.500v15l12-7.500z",
  pause: "M8 5v14M16 5v14",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.400 1.400M17.600 17.600L19 19M19 5l-1.400 1.400M6.400 17.600L5 19",
  moon: "M20 14.500A8.500 8.500 0 0 1 9.500 4 8.500 8.500 0 1 0 20 14.500z",
  key: "M8 11a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM11 12.500L20 4M16 8l3 3",
  left: "M15 5l-7 7 7 7",
  right: "M9 5l7 7-7 7",
  up: "M5 15l7-7 7 7",
  down: "M5 9l7 7 7-7",
  upload: "M12 16V4M7 9l5-5 5 5M4 20h16",
  download: "M12 4v12M7 11l5 5 5-5M4 20h16",
  info: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 11v6M12 7.500v.1",
  stream: "M3 8c3-3 6 3 9 0s6 3 9 0M3 16c3-3 6 3 9 0s6 3 9 0",
  model: "M4 4h6v6H4zM14 14h6v6h-6zM14 4h6v6h-6zM7 10v7h7",
};

export function Icon({ name }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round"
         stroke-linejoin="round"><path d={ICONS[name]} /></svg>
  );
}

/* The ring of a Gramme dynamo: windings around an armature. */
export function Logo() {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="var(--copper)">
      <circle cx="12" cy="12" r="7.500" stroke-width="5" stroke-dasharray="1.900 2.027" />
      <circle cx="12" cy="12" r="3" fill="var(--copper)" stroke="none" />
    </svg>
  );
}

/* A button that shows only an icon; `label` is its name. */
export function IconButton({ icon, label, class: more = "plain", ...rest }) {
  return <button type="button" class={`icon-only ${more}`} aria-label={label} title={label} {...rest}><Icon name={icon} /></button>;
}

/* --- layout --- */

export function Head({ title, sub, crumbs, children }) {
  return (
    <div class="head">
      <div>
        {crumbs && <nav class="crumbs" aria-label="Breadcrumb">{crumbs}</nav>}
        <h1>{title}</h1>
        {sub && <p class="sub">{sub}</p>}
      </div>
      <div class="row">{children}</div>
    </div>
  );
}

export function Panel({ title, actions, footer, flush, children, ...rest }) {
  const id = useId();
  return (
    <section class={`panel ${flush ? "flush" : ""}`} aria-labelledby={title && !flush ? id : undefined} {...rest}>
      {(title || actions) && <header>{title && <h2 id={id}>{title}</h2>}{actions}</header>}
      {flush ? children : <div class="body">{children}</div>}
      {footer && <footer>{footer}</footer>}
    </section>
  );
}

/* An area that scrolls sideways or down; keyboards can reach it. */
export function Scroll({ label, boxRef, class: more = "", children, ...rest }) {
  return <div class={`scroll ${more}`} ref={boxRef} role="region" aria-label={label} tabIndex={0} {...rest}>{children}</div>;
}

/* [[label, value, unit?, class?]] */
export function Stats({ items, label }) {
  return (
    <dl class="stats" aria-label={label}>
      {items.filter(Boolean).map(([name, value, unit, kind]) => (
        <div key={name} class="stat"><dt>{name}</dt><dd class={kind}>{value}{unit && <small> {unit}</small>}</dd></div>
      ))}
    </dl>
  );
}

export function Notice({ kind = "", title, children }) {
  const icon = { bad: "findings", warn: "findings", good: "check", info: "info" }[kind];
  return (
    <div class={`notice ${kind}`} role={kind === "bad" ? "alert" : undefined}>
      {icon && <Icon name={icon} />}
      <div>{title && <strong>{title}</strong>}{children}</div>
    </div>
  );
}

export function Failure({ error, retry }) {
  if (error.name === "NoInsight") {
    return <Notice kind="info">{error.message}</Notice>;
  }
  const name = !["Error", "Unreachable", "NoInsight", "SyntaxError"].includes(error.name) && !error.message.startsWith(error.name) ? error.name : null;
  return (
    <Notice kind="bad" title={name}>
      {error.message} {retry && <button type="button" class="link" onClick={retry}>Try again</button>}
    </Notice>
  );
}

export const Waiting = () => <div class="waiting" role="status" aria-label="Loading"><span /><span /><span /></div>;

/* What useLoad() gave: the data, or that it is not there yet. */
export function Loaded({ of, children }) {
  if (of.data === null) {
    return of.error ? <Failure error={of.error} retry={of.reload} /> : <Waiting />;
  }
  return <>{of.error && <Failure error={of.error} retry={of.reload} />}{children(of.data)}</>;
}

export function Empty({ title, children }) {
  return <div class="empty">{title && <h2>{title}</h2>}{children}</div>;
}

export const Badge = ({ kind = "", children, ...rest }) => <span class={`badge ${kind}`} {...rest}>{children}</span>;

export function StatusBadge({ status }) {
  return <Badge kind={status === "ACTIVE" || status === "ENABLED" ? "good" : status === "DELETING" ? "bad" : "warn"}>{status.toLowerCase().replaceAll("_", " ")}</Badge>;
}

/* --- forms --- */

export function Field({ label, hint, children, ...rest }) {
  const id = useId();
  return (
    <div class="field" {...rest}>
      <label for={id}>{label}</label>
      {cloneElement(children, { id, "aria-describedby": hint ? `${id}-hint` : undefined })}
      {hint && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  );
}

/* `options` are [value, label] or values. */
export function Select({ options, value, onChange, ...rest }) {
  return (
    <select {...rest} value={value ?? ""} onChange={(event) => onChange(event.currentTarget.value)}>
      {options.map((option) => {
        const [one, label] = Array.isArray(option) ? option : [option, option];
        return <option key={one} value={one ?? ""} selected={(one ?? "") === (value ?? "")}>{label}</option>;
      })}
    </select>
  );
}

export function Check({ label, checked, onChange, ...rest }) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} {...rest} />{label}
    </label>
  );
}

/* One of a few values, side by side: [[value, label]]. */
export function Segment({ label, options, value, onChange }) {
  return (
    <div class="segment" role="group" aria-label={label}>
      {options.map(([one, text]) => (
        <button key={one} type="button" aria-pressed={one === value} onClick={() => onChange(one)}>{text}</button>
      ))}
    </div>
  );
}

export function Search({ label, value, onInput, ...rest }) {
  return (
    <div class="search">
      <Icon name="search" />
      <input type="search" aria-label={label} placeholder={label} value={value} autocomplete="off" spellcheck={false}
             onInput={(event) => onInput(event.currentTarget.value)} {...rest} />
    </div>
  );
}

/* --- tabs within a page; [[id, label, content]] --- */

export function Tabs({ label, tabs, initial, actions }) {
  const [chosen, setChosen] = useState(initial ?? tabs[0][0]);
  const id = useId();
  const current = tabs.find(([name]) => name === chosen) ?? tabs[0];
  function press(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      event.preventDefault();
      const at = (tabs.indexOf(current) + step + tabs.length) % tabs.length;
      setChosen(tabs[at][0]);
      event.currentTarget.children[at].focus();
    }
  }
  return (
    <>
      <div class="row between tab-row">
        <div class="tabs in-panel" role="tablist" aria-label={label} onKeyDown={press}>
          {tabs.map(([name, text]) => (
            <button key={name} type="button" role="tab" id={`${id}-${name}`} aria-selected={name === current[0]} aria-controls={`${id}-panel`}
                    tabIndex={name === current[0] ? 0 : -1} onClick={() => setChosen(name)}>{text}</button>
          ))}
        </div>
        {actions}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${current[0]}`}>{current[2]}</div>
    </>
  );
}

/* --- dialogs --- */

/* A modal dialog; `footer` holds its buttons. With `onSubmit` it is a form: errors that it throws are shown, otherwise
 * the dialog closes. `onClose` is called whenever it is closed. */
export function Dialog({ title, wide, class: more = "", submit, danger, extra, dismiss = "Cancel", isReady = true, onSubmit, onClose, children }) {
  const dialog = useRef();
  const busy = useRef(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const id = useId();
  useEffect(() => {
    dialog.current.showModal();
  }, []);
  async function send(event) {
    event.preventDefault();
    if (busy.current || !isReady) {
      return;
    }
    busy.current = true;
    setBusy(true);
    setProblem(null);
    try {
      await onSubmit();
      dialog.current?.close();
    } catch (error) {
      setProblem(error);
    }
    busy.current = false;
    setBusy(false);
  }
  const close = () => dialog.current.close();
  const content = (
    <>
      <div class="dialog-head"><h2 id={id}>{title}</h2><IconButton icon="close" label="Close" onClick={close} /></div>
      <div class="dialog-body">{children}</div>
      {problem && <div class="dialog-problem"><Failure error={problem} /></div>}
      {onSubmit && (
        <div class="dialog-foot">
          {extra && <div class="start row">{extra}</div>}
          <button type="button" onClick={close}>{dismiss}</button>
          <button type="submit" class={danger ? "danger" : "primary"} aria-disabled={isBusy || !isReady}>{isBusy ? "Working…" : submit}</button>
        </div>
      )}
    </>
  );
  return (
    <dialog ref={dialog} class={`${wide ? "wide" : ""} ${more}`} aria-labelledby={id} onClose={(event) => event.target === dialog.current && onClose()}>
      {onSubmit ? <form onSubmit={send} noValidate>{content}</form> : content}
    </dialog>
  );
}

/* Asks before something cannot be undone; with `word` it must be typed. */
export function Confirm({ title, submit, word, onSubmit, onClose, children }) {
  const [typed, setTyped] = useState("");
  return (
    <Dialog title={title} submit={submit} danger isReady={!word || typed === word} onSubmit={onSubmit} onClose={onClose}>
      <div>{children}</div>
      {word && <Field label={`Type “${word}” to confirm`}><input value={typed} autocomplete="off" onInput={(event) => setTyped(event.currentTarget.value)} /></Field>}
    </Dialog>
  );
}

/* --- code --- */

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { /* not allowed, or not on a secure page: the old way */
    const area = document.createElement("textarea");
    area.value = text;
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

export function CopyButton({ text, label = "Copy", class: more = "little plain" }) {
  const [isDone, setDone] = useState(false);
  async function copy() {
    await copyText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  }
  return <button type="button" class={`copy ${more}`} onClick={copy}><Icon name={isDone ? "check" : "copy"} />{isDone ? "Copied" : label}</button>;
}

export function Code({ text, label }) {
  return <div class="code"><pre tabIndex={0} role="region" aria-label={label}>{text}</pre><CopyButton text={text} /></div>;
}

/* A statement of PartiQL; its parameters, if there are any, are those of ExecuteStatement. */
export function StatementCode({ statement, parameters }) {
  return <><Code label="PartiQL" text={statement} />{parameters.length > 0 && <><p class="small muted body">Binary values have no literal: they are parameters.</p><Code label="Parameters" text={JSON.stringify(parameters)} /></>}</>;
}

/* --- messages --- */

const toasts = observable([]);
let nextToast = 1;

export function toast(text, kind = "") {
  const id = nextToast++;
  toasts.set([...toasts.get().slice(-3), { id, text, kind }]);
  if (kind !== "bad") {
    setTimeout(() => dismiss(id), 5000);
  }
}
toast.error = (error) => toast(error.message, "bad");
const dismiss = (id) => toasts.set(toasts.get().filter((one) => one.id !== id));

export function Toasts() {
  const shown = useObservable(toasts);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, kind }) => (
        <div key={id} class={`toast ${kind}`}><span>{text}</span><IconButton icon="close" label="Dismiss" class="plain little" onClick={() => dismiss(id)} /></div>
      ))}
    </div>
  );
}

/* --- tables --- */

/* Which rows of a long list are in view: {ref, first, last, before, after} with the heights of what is not. */
export function useWindow(rowCount, rowHeight, overscan = 12) {
  const ref = useRef();
  const [view, setView] = useState({ top: 0, height: 800 });
  useEffect(() => {
    const box = ref.current;
    if (!box) {
      return undefined;
    }
    const look = () => setView({ top: box.scrollTop, height: box.clientHeight });
    look();
    box.addEventListener("scroll", look, { passive: true });
    const observer = new ResizeObserver(look);
    observer.observe(box);
    return () => {
      box.removeEventListener("scroll", look);
      observer.disconnect();
    };
  }, [rowCount > 0]);
  const first = Math.max(0, Math.floor(view.top / rowHeight) - overscan);
  const last = Math.min(rowCount, Math.ceil((view.top + view.height) / rowHeight) + overscan);
  return { ref, first, last, before: first * rowHeight, after: Math.max(0, rowCount - last) * rowHeight };
}

/* columns: {id, label, num?, sort?: (row) => value, cell: (row) => content, class?}. Sorts by a click on a heading;
 * with `sort`/`onSort` the caller does. */
export function DataTable({ label, columns, rows, rowKey, onOpen, sort: outer, onSort, initialSort, maxHeight }) {
  const [inner, setInner] = useState(initialSort ?? null);
  const sort = outer ?? inner;
  const column = columns.find(({ id }) => id === sort?.by);
  let shown = rows;
  if (!onSort && column?.sort) {
    shown = [...rows].sort((a, b) => {
      const [x, y] = [column.sort(a), column.sort(b)];
      return (x < y ? -1 : x > y ? 1 : 0) * (sort.down ? -1 : 1);
    });
  }
  const change = (id) => (onSort ?? setInner)({ by: id, down: sort?.by === id ? !sort.down : Boolean(columns.find((one) => one.id === id).num) });
  return (
    <Scroll label={label} style={{ maxHeight }}>
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ id, label: text, num, sort: by }) => (
              <th key={id} scope="col" class={num ? "num" : ""} aria-sort={sort?.by === id ? (sort.down ? "descending" : "ascending") : undefined}>
                {by ? <button type="button" onClick={() => change(id)}>{text}{sort?.by === id && <span aria-hidden="true">{sort.down ? "↓" : "↑"}</span>}</button> : text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <tr key={rowKey(row)} class={onOpen ? "link" : ""} onClick={onOpen && ((event) => !event.target.closest("a, button, input") && onOpen(row))}>
              {columns.map(({ id, num, cell, class: kind = "" }) => <td key={id} class={`${num ? "num" : ""} ${kind}`}>{cell(row)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
