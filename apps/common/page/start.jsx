/* Starts the page of an application: its own, or with ?view=patterns the one about its access patterns. */
import { keepFocus } from "./focus.js";
import { Patterns } from "./patterns.jsx";
import { startPage } from "./session.jsx";
import { APPS, Shell } from "./ui.jsx";
import "./look.css";

export function start(app, Page) {
  const [, title] = APPS.find(([name]) => name === app);
  const isPatterns = new URLSearchParams(location.search).get("view") === "patterns";
  keepFocus();
  startPage(isPatterns ? () => <Patterns app={app} /> : Page,
    ({ children }) => <Shell app={app} title={title}>{children}</Shell>);
}
