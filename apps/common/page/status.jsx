/* Chooses a status. By mouse, or from the opened list, it is saved at once. Arrow keys on the closed list only
 * propose one: Enter or Save saves it, Escape or leaving the field discards it. */
import { useRef, useState } from "preact/hooks";

/* `options` are [value, label]; `change(value)` saves. */
export function StatusSelect({ label, value, options, change }) {
  const [proposed, setProposed] = useState(null);
  const byKeys = useRef(false);
  const select = useRef();
  function press(event) {
    if (proposed && event.key === "Enter") {
      event.preventDefault();
      save();
    } else if (proposed && event.key === "Escape") {
      setProposed(null);
    } else {
      const opens = event.altKey || [" ", "Enter", "F4"].includes(event.key);
      byKeys.current = !opens && (event.key.startsWith("Arrow") || event.key.length === 1
        || ["Home", "End", "PageUp", "PageDown"].includes(event.key));
    }
  }
  function choose({ target }) {
    if (byKeys.current) {
      setProposed(target.value === value ? null : target.value);
    } else {
      change(target.value);
    }
  }
  async function save() {
    const status = proposed;
    select.current.focus(); /* the button goes */
    setProposed(null);
    await change(status);
  }
  const leave = ({ relatedTarget, currentTarget }) => !currentTarget.contains(relatedTarget) && setProposed(null);
  return (
    <span class="row status" onFocusOut={leave}>
      <select ref={select} aria-label={label} data-action="status" value={proposed ?? value}
              onKeyDown={press} onPointerDown={() => (byKeys.current = false)} onChange={choose}>
        {options.map(([name, text]) => <option key={name} value={name}>{text}</option>)}
      </select>
      {proposed && <button class="small primary" onClick={save}>Save</button>}
      <span class="visually-hidden" role="status">{proposed && "Not saved yet: Enter saves, Escape discards."}</span>
    </span>
  );
}
