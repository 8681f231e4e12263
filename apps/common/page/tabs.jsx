/* Tabs as ARIA describes them: one stop for the Tab key, arrow keys, Home and End move between them. */
import { useEffect, useRef } from "preact/hooks";

const STEPS = { ArrowLeft: -1, ArrowRight: 1 };

/* `tabs` are [{name, label, count?}]; `choose(name, byKey)`. The panel is <div {...tabPanel(name)}>. */
export function Tabs({ label, tabs, chosen, choose }) {
  const list = useRef();
  const buttons = () => [...list.current.querySelectorAll("[role=tab]")];
  /* Again when tabs or counts arrive, which move the chosen one; sideways only: the reader may be far down the page. */
  const widths = tabs.map(({ name, count }) => `${name} ${String(count ?? "").length}`).join();
  useEffect(() => {
    const tab = list.current.querySelector("[aria-selected=true]")?.getBoundingClientRect();
    const box = list.current.getBoundingClientRect();
    list.current.scrollLeft += tab ? tab.left + tab.width / 2 - box.left - box.width / 2 : 0;
  }, [chosen, widths]);
  function move(event) {
    const all = buttons();
    const from = all.indexOf(document.activeElement);
    const to = event.key === "Home" ? 0 : event.key === "End" ? all.length - 1
      : event.key in STEPS ? (from + STEPS[event.key] + all.length) % all.length : -1;
    if (to >= 0) {
      event.preventDefault();
      all[to].focus();
      choose(tabs[to].name, true);
    }
  }
  return (
    <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
      {tabs.map(({ name, label, count }) => (
        <button key={name} id={`tab-${name}`} role="tab" aria-selected={name === chosen} aria-controls={name === chosen ? `panel-${name}` : undefined}
                tabIndex={name === chosen ? 0 : -1} onClick={() => choose(name, false)}>
          {label}{count != null && <span class="count"> {count}</span>}
        </button>
      ))}
    </div>
  );
}

export const tabPanel = (name) => ({ id: `panel-${name}`, role: "tabpanel", "aria-labelledby": `tab-${name}` });
