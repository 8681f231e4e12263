/* The frame of the pages and their common parts. */
import { useLayoutEffect, useState } from "preact/hooks";
import { isOutage } from "./api.js";
import { useConnectionLost } from "./connection.js";
import { SessionBanner, UserMenu } from "./session.jsx";
import { Toasts } from "./toasts.jsx";

/* All applications, for the navigation and the page at /: name, title, summary, icon (an SVG path, 24 by 24). */
export const APPS = [
  ["calls", "Calls", "A user's calls: upcoming and past.",
    "M6 3h3l2 5-2.5 1.5a11 11 0 0 0 6 6L16 13l5 2v3a3 3 0 0 1-3 3A15 15 0 0 1 3 6a3 3 0 0 1 3-3z"],
  ["calendar", "Calendar", "A house to book by the night, never twice.",
    "M4 6h16v14H4zM4 10.5h16M8 3v5M16 3v5"],
  ["reconciliation", "Reconciliation", "Calls that need a second look, by age, tenant and shard.",
    "M20 11a8 8 0 0 0-14-4.5L4 9M4 4v5h5M4 13a8 8 0 0 0 14 4.5l2-2.5M20 20v-5h-5"],
  ["tickets", "Tickets", "Open a ticket, follow it, comment.",
    "M3 7h18v3.5a1.5 1.5 0 0 0 0 3V17H3v-3.5a1.5 1.5 0 0 0 0-3zM14 7.5v9"],
  ["tasks", "Tasks", "My tasks, and who does what.",
    "M4 6.5l1.5 1.5L8 5M4 12.5l1.5 1.5L8 11M4 18.5l1.5 1.5L8 17M11 7h9M11 13h9M11 19h9"],
];

export function Icon({ path }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.8"
         stroke-linecap="round" stroke-linejoin="round"><path d={path} /></svg>
  );
}

/* The frame of every page: navigation, theme, connection, messages. On a phone the navigation is at the bottom. */
export function Shell({ app, title, lead, actions, children }) {
  return (
    <>
      <a class="skip" href="#main">Skip to content</a>
      <header class="bar">
        <a class="brand" href="/">Gramme</a>
        <nav aria-label="Applications">
          {APPS.map(([name, label, , icon]) => (
            <a key={name} href={`/${name}/`} aria-current={name === app ? "page" : undefined}>
              <Icon path={icon} /><span>{label}</span>
            </a>
          ))}
        </nav>
        <UserMenu />
        <ThemeButton />
      </header>
      <ConnectionBanner />
      <SessionBanner />
      <main id="main" tabIndex={-1}>
        <div class="title">
          <div>
            <h1>{title}</h1>
            {lead && <p class="lead">{lead}</p>}
          </div>
          <div class="actions">{actions}</div>
        </div>
        {children}
        {app && <footer><a href={`/${app}/?view=patterns`}>Access patterns and cost</a></footer>}
      </main>
      <Toasts />
    </>
  );
}

/* Always in the page, so that assistive technology announces what appears in it. */
function ConnectionBanner() {
  const isLost = useConnectionLost();
  return (
    <div class="connection" role="status" aria-label="Connection">
      {isLost && <p>Connection lost, trying again… What you see stays, and so does what you type.</p>}
    </div>
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
    localStorage.setItem("theme", chosen); /* here, because an effect may run after the page is left */
    setTheme(chosen);
  };
  const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  return (
    <button class="plain theme" aria-label={isDark ? "Use light colours" : "Use dark colours"}
            onClick={() => choose(isDark ? "light" : "dark")}>
      {isDark ? "☀" : "☾"}
    </button>
  );
}

/* Shows the state of useLoad(): a placeholder, `children(data)`, and an error that concerns the reader. Data
 * stays whatever happens; during an outage the banner says the rest. */
export function Loaded({ of, children }) {
  const isShown = of.data !== null;
  const error = isShown && isOutage(of.error) ? null : of.error;
  return (
    <>
      {error && (
        <div class="notice error" role="alert">
          <p>{isOutage(error) ? "The server cannot be reached. The page keeps trying." : error.message}</p>
          <button onClick={of.reload}>Try again</button>
        </div>
      )}
      {!isShown && !error && (
        <div class="loading" role="status" aria-label="Loading"><span /><span /><span /></div>
      )}
      {isShown && <div aria-busy={of.loading}>{children(of.data)}</div>}
    </>
  );
}

export function Empty({ title, children }) {
  return (
    <div class="notice empty">
      <p><strong>{title}</strong></p>
      {children}
    </div>
  );
}

/* Text for screen readers only, to tell apart what looks the same. */
export const Hidden = ({ children }) => <span class="visually-hidden">{children}</span>;
