/* Light, dark, or as the system has it; kept in the browser. */
import { observable, useObservable } from "./lib/observable.js";
import { IconButton } from "./ui.jsx";

const KEY = "gramme.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const chosen = localStorage.getItem(KEY);
export const theme = observable(chosen ?? (system.matches ? "dark" : "light"));

system.addEventListener("change", () => {
  if (!localStorage.getItem(KEY)) {
    theme.set(system.matches ? "dark" : "light");
  }
});

export function applyTheme() {
  const apply = (name) => document.documentElement.setAttribute("data-theme", name);
  apply(theme.get());
  theme.subscribe(apply);
}

export function ThemeButton() {
  const isDark = useObservable(theme) === "dark";
  function toggle() {
    const next = isDark ? "light" : "dark";
    localStorage.setItem(KEY, next);
    theme.set(next);
  }
  return <IconButton icon={isDark ? "sun" : "moon"} label={isDark ? "Light colours" : "Dark colours"} onClick={toggle} />;
}
