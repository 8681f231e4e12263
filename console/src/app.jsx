/* The frame of the console: navigation, and the page that the address names. */
import { useEffect, useRef, useState } from "preact/hooks";
import { credentials, insight, refusal, signOut } from "./lib/dynamo.js";
import { useLoad, usePoll } from "./lib/load.js";
import { observable, useObservable } from "./lib/observable.js";
import { to, useRoute } from "./lib/route.js";
import { useTables } from "./lib/schema.js";
import { count } from "./lib/format.js";
import { Palette } from "./palette.jsx";
import { SignIn } from "./sign_in.jsx";
import { ThemeButton } from "./theme.jsx";
import { Icon, IconButton, Logo, Toasts } from "./ui.jsx";
import { Connect } from "./pages/connect.jsx";
import { Cost } from "./pages/cost.jsx";
import { Findings } from "./pages/findings.jsx";
import { Heat } from "./pages/heat.jsx";
import { Overview } from "./pages/overview.jsx";
import { PartiQL } from "./pages/partiql.jsx";
import { Patterns } from "./pages/patterns.jsx";
import { Simulation } from "./pages/simulation.jsx";
import { TablePage } from "./pages/table.jsx";
import { Tables } from "./pages/tables.jsx";

/* Group, then pages: address, title, icon. */
export const PAGES = [
  ["Data", [["overview", "Overview", "overview"], ["tables", "Tables", "tables"], ["partiql", "PartiQL", "partiql"]]],
  ["Insight", [["patterns", "Access patterns", "patterns"], ["findings", "Findings", "findings"], ["heat", "Heat", "heat"], ["cost", "Cost", "cost"]]],
  ["Tools", [["simulation", "Simulation", "simulation"], ["connect", "Connect", "plug"]]],
];

/* The server's status, read every few seconds: {data, error, reload}. */
export const server = observable({ data: null, error: null, reload() {} });

function page({ parts, query }) {
  const [name, ...rest] = parts;
  switch (name) {
    case "tables": return rest.length === 0 ? [<Tables query={query} />, "Tables"] : [<TablePage key={rest[0]} name={rest[0]} tab={rest[1] ?? "items"} query={query} />, rest[0]];
    case "partiql": return [<PartiQL query={query} />, "PartiQL"];
    case "patterns": return [<Patterns id={rest[0]} query={query} />, "Access patterns"];
    case "findings": return [<Findings query={query} />, "Findings"];
    case "heat": return [<Heat query={query} />, "Heat"];
    case "cost": return [<Cost query={query} />, "Cost"];
    case "simulation": return [<Simulation />, "Simulation"];
    case "connect": return [<Connect query={query} />, "Connect"];
    default: return [<Overview />, "Overview"];
  }
}

/* Browsers scroll to what gets the focus if it is hidden; this also if a part of it is. */
function reveal({ target }) {
  if (target.matches(":focus-visible") && target.offsetWidth < innerWidth && target.offsetHeight < innerHeight) {
    target.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}

export function App() {
  const route = useRoute();
  const refused = useObservable(refusal);
  const keys = useObservable(credentials);
  const [isFinding, setFinding] = useState(false);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const press = (event) => {
      const isTyping = event.target.closest?.("input, textarea, select, [contenteditable]") || event.composedPath()[0].isContentEditable;
      if ((event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !isTyping && !document.querySelector("dialog[open]"))) {
        event.preventDefault();
        setFinding(true);
      }
    };
    addEventListener("keydown", press);
    addEventListener("focusin", reveal);
    return () => {
      removeEventListener("keydown", press);
      removeEventListener("focusin", reveal);
    };
  }, []);
  if (refused && !keys) {
    return <><SignIn reason={refused} /><Toasts /></>;
  }
  return <Frame key={keys?.accessKeyId} route={route} keys={keys} refused={refused} isFinding={isFinding} setFinding={setFinding} isOpen={isOpen} setOpen={setOpen} />;
}

function Frame({ route, keys, refused, isFinding, setFinding, isOpen, setOpen }) {
  const main = useRef();
  const [content, title] = page(route);
  const where = route.parts.slice(0, 2).join("/");
  const isFirst = useRef(true);
  const status = useLoad(() => insight("overview"), []);
  usePoll(5, status);
  useEffect(() => server.set(status), [status.data, status.error]);
  useEffect(() => {
    document.title = `${title} · Gramme`;
    setOpen(false);
    if (!isFirst.current) {
      scrollTo(0, 0);
      main.current.focus({ preventScroll: true });
    }
    isFirst.current = false;
  }, [where]);
  const side = <Side route={route} status={status} keys={keys} find={() => setFinding(true)} />;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current.focus(); }}>Skip to content</a>
      {status.error?.status === 0 && <div class="outage" role="status">The server does not answer; trying again.</div>}
      {refused && <SignInAgain reason={refused} />}
      <header class="top">
        <IconButton icon="menu" label="Menu" onClick={() => setOpen(true)} />
        <a class="brand" href="#/"><Logo />Gramme</a>
        <IconButton icon="search" label="Find a table or page" onClick={() => setFinding(true)} />
        <ThemeButton />
      </header>
      <div class="frame">
        {side}
        <main id="main" tabIndex={-1} ref={main}>{content}</main>
      </div>
      {isOpen && <Drawer onClose={() => setOpen(false)}>{side}</Drawer>}
      {isFinding && <Palette onClose={() => setFinding(false)} />}
      <Toasts />
    </>
  );
}

function SignInAgain({ reason }) {
  return <div class="outage" role="alert">{reason.message} <button type="button" class="link" onClick={signOut}>Enter another access key</button></div>;
}

function Drawer({ onClose, children }) {
  const dialog = useRef();
  useEffect(() => dialog.current.showModal(), []);
  return (
    <dialog ref={dialog} class="drawer" aria-label="Menu" onClose={onClose}
            onClick={(event) => (event.target === dialog.current || event.target.closest("a, .finder")) && dialog.current.close()}>{children}</dialog>
  );
}

function Side({ route, status, keys, find }) {
  const { names, isComplete } = useTables();
  const counts = {
    tables: names && [count(names.length) + (isComplete ? "" : "+"), ""],
    findings: status.data?.findingCount ? [count(status.data.findingCount), "warn"] : null,
  };
  const current = route.parts[0] ?? "overview";
  const version = status.data?.server;
  return (
    <header class="side">
      <a class="brand" href="#/"><Logo />Gramme</a>
      <button type="button" class="finder" onClick={find}><Icon name="search" />Find <kbd>Ctrl K</kbd></button>
      <nav aria-label="Console">
        {PAGES.map(([group, pages]) => (
          <div key={group}>
            <h2>{group}</h2>
            {pages.map(([name, title, icon]) => (
              <a key={name} href={name === "overview" ? "#/" : to([name])} aria-current={current === name ? "page" : undefined}>
                <Icon name={icon} />{title}
                {counts[name] && <span class={`count ${counts[name][1]}`}>{counts[name][0]}</span>}
              </a>
            ))}
          </div>
        ))}
      </nav>
      <div class="side-foot">
        <div class="row">
          <span>{version ? <>{version.region}<br />{version.version} · {version.store}</> : location.host}</span>
          <ThemeButton />
        </div>
        {keys && <div class="row"><span class="mono">{keys.accessKeyId}</span><button type="button" class="little" onClick={signOut}>Sign out</button></div>}
      </div>
    </header>
  );
}
