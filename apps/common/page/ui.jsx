/* What the pages are made of. */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Toasts } from "./toasts.jsx";

/* All applications: for the navigation and the page at /. */
export const APPS = [
  ["calls", "Calls", "A user's calls: upcoming and past."],
  ["calendar", "Calendar", "A house to book by the night, never twice."],
  ["reconciliation", "Reconciliation", "Calls that need a second look, by age, tenant and shard."],
  ["tickets", "Tickets", "Open a ticket, follow it, comment."],
  ["tasks", "Tasks", "My tasks, all by status, who does what."],
];

/* The frame of every page: navigation, theme, messages. */
export function Shell({ app, title, lead, actions, children }) {
  return (
    <>
      <a class="skip" href="#main">Skip to content</a>
      <header class="bar">
        <a class="brand" href="/">Gramme</a>
        <nav aria-label="Applications">
          {APPS.map(([name, label]) => (
            <a key={name} href={`/${name}/`} aria-current={name === app ? "page" : undefined}>{label}</a>
          ))}
        </nav>
        <ThemeButton />
      </header>
      <main id="main" tabIndex={-1}>
        <div class="title">
          <div>
            <h1>{title}</h1>
            {lead && <p class="lead">{lead}</p>}
          </div>
          <div class="actions">{actions}</div>
        </div>
        {children}
      </main>
      <Toasts />
    </>
  );
}

/* Light or dark as the system has it, until someone chooses. */
function ThemeButton() {
  const [theme, setTheme] = useState(localStorage.getItem("theme"));
  useLayoutEffect(() => {
    if (theme) {
      document.documentElement.dataset.theme = theme;
    }
  }, [theme]);
  const choose = (chosen) => {
    localStorage.setItem("theme", chosen); /* now: effects may come after the page is left */
    setTheme(chosen);
  };
  const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  return (
    <button class="plain" aria-label={isDark ? "Use light colours" : "Use dark colours"}
            onClick={() => choose(isDark ? "light" : "dark")}>
      {isDark ? "☀" : "☾"}
    </button>
  );
}

/* const list = useLoad(() => api.get("/tasks"), []);
 * {data, error, loading, reload()}: data stays while it is loaded again, so that nothing flickers. An
 * answer that comes after a newer question is dropped. */
export function useLoad(load, dependencies) {
  const [state, setState] = useState({ data: null, error: null, loading: true });
  const newest = useRef(0);
  const reload = useCallback(async () => {
    const turn = ++newest.current;
    setState((old) => ({ ...old, loading: true }));
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
    reload();
    return () => newest.current++;
  }, [reload]);
  return { ...state, reload };
}

/* Shows what useLoad() has: an error with a way to try again, a placeholder, or `children(data)`. */
export function Loaded({ of, children }) {
  if (of.error) {
    return (
      <div class="notice error" role="alert">
        <p>{of.error.message}</p>
        <button onClick={of.reload}>Try again</button>
      </div>
    );
  }
  if (of.data === null) {
    return <div class="loading" role="status" aria-label="Loading"><span /><span /><span /></div>;
  }
  return <div aria-busy={of.loading}>{children(of.data)}</div>;
}

export function Empty({ title, children }) {
  return (
    <div class="notice empty">
      <p><strong>{title}</strong></p>
      {children}
    </div>
  );
}

/* A modal dialog with a form. `onSubmit(values)` gets the fields by name; what it throws is shown in
 * the dialog, which stays open; otherwise it closes. */
export function FormDialog({ title, submit, danger, extra, onSubmit, onClose, children }) {
  const dialog = useRef();
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    dialog.current.showModal();
  }, []);
  async function send(event) {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await onSubmit(Object.fromEntries(new FormData(event.target)));
      dialog.current?.close();
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  }
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="dialog-title">
      <form onSubmit={send}>
        <h2 id="dialog-title">{title}</h2>
        {children}
        {error && <p class="notice error" role="alert">{error.message}</p>}
        <div class="actions">
          {extra}
          <button type="button" onClick={() => dialog.current.close()}>Cancel</button>
          <button type="submit" class={danger ? "danger" : "primary"} disabled={busy}>{submit}</button>
        </div>
      </form>
    </dialog>
  );
}

/* A labelled field; `children` is the input. */
export function Field({ label, hint, children }) {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
      {hint && <small>{hint}</small>}
    </label>
  );
}
