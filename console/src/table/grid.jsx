/* Items as a grid: a row each, a column per attribute. Only rows in view are drawn. */
import { short, typeOf, typesOf } from "../lib/values.js";
import { Scroll, useWindow } from "../ui.jsx";

const ROW = 32;
const COLUMNS_MAX = 60;

/* `columns` are names, keys first; `keys` those that are keys. onOpen(item) opens one; with onSelect(Set of indexes) rows
 * can be selected. */
export function Grid({ items, columns, keys = [], onOpen, selected, onSelect, label = "Items", maxHeight = "max(320px, calc(100vh - 330px))" }) {
  const { ref, first, last, before, after } = useWindow(items.length, ROW);
  const shown = columns.slice(0, COLUMNS_MAX);
  const types = new Map(shown.map((name) => [name, typesOf(items.slice(0, 200), name).map(([type]) => type)]));
  const toggle = (i) => {
    const next = new Set(selected);
    if (!next.delete(i)) {
      next.add(i);
    }
    onSelect(next);
  };
  const width = shown.length + (onSelect ? 1 : 0);
  return (
    <Scroll label={label} boxRef={ref} style={{ maxHeight }}>
      <table class="items" aria-rowcount={items.length + 1}>
        <thead>
          <tr>
            {onSelect && (
              <th class="check" scope="col"><input type="checkbox" aria-label="Select all" checked={selected.size > 0 && selected.size === items.length}
                onChange={() => onSelect(selected.size === items.length ? new Set() : new Set(items.keys()))} /></th>
            )}
            {shown.map((name) => <th key={name} scope="col" title={name}>{name}{types.get(name).map((type) => <span key={type} class="type">{type}</span>)}</th>)}
          </tr>
        </thead>
        <tbody>
          {before > 0 && <tr aria-hidden="true"><td colSpan={width} style={{ height: before, padding: 0 }} /></tr>}
          {items.slice(first, last).map((item, offset) => {
            const i = first + offset;
            return (
              <tr key={i} aria-rowindex={i + 2} aria-selected={onSelect ? selected.has(i) : undefined} onClick={onOpen && ((event) => !event.target.closest("input, button") && onOpen(item))}>
                {onSelect && <td class="check"><input type="checkbox" aria-label={`Select row ${i + 1}`} checked={selected.has(i)} onChange={() => toggle(i)} /></td>}
                {shown.map((name, column) => <Cell key={name} value={item[name]} isKey={keys.includes(name)} onOpen={column === 0 && onOpen ? () => onOpen(item) : null} />)}
              </tr>
            );
          })}
          {after > 0 && <tr aria-hidden="true"><td colSpan={width} style={{ height: after, padding: 0 }} /></tr>}
        </tbody>
      </table>
    </Scroll>
  );
}

/* The first cell of a row is a button, so that keyboards can open the item. */
function Cell({ value, isKey, onOpen }) {
  const text = value && short(value);
  const content = value ? (text === "" ? <span class="muted">(empty)</span> : text) : <span class="missing">–</span>;
  return (
    <td class={`${isKey ? "key" : ""} ${value ? `v-${typeOf(value)}` : ""}`} title={text}>
      {onOpen ? <button type="button" class="open" onClick={onOpen}>{value ? content : "open"}</button> : content}
    </td>
  );
}
