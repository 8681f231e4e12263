/* The query builder: which table or index, which keys, which filters. */
import { useId, useState } from "preact/hooks";
import { pathOf, pathsOf } from "../lib/path.js";
import { EMPTY, FILTER_OPS, isQuery, operandCount, SORT_OPS, sourceOf } from "../lib/query.js";
import { keyTypes, sourcesOf } from "../lib/schema.js";
import { Check, Field, Icon, IconButton, Segment, Select } from "../ui.jsx";

const FILTER_TYPES = ["S", "N", "BOOL", "B", "NULL"];

/* `columns` are names of attributes to suggest; typeOf(path) gives the type that an attribute has, if it is known. */
export function Builder({ table, query, onChange, onRun, onStop, isBusy, columns, typeOf }) {
  const [isOpen, setOpen] = useState(query.filters.length > 0 || query.fields.length > 0 || query.consistent);
  const source = sourceOf(table, query);
  const types = keyTypes(table);
  const change = (part) => onChange({ ...query, ...part });
  const list = useId();
  const isKeyed = isQuery(table, query);
  const extra = query.filters.length + (query.fields.length > 0 ? 1 : 0) + (query.consistent ? 1 : 0);
  return (
    <form class="panel builder" aria-label="Query" onSubmit={(event) => { event.preventDefault(); onRun(); }}>
      <datalist id={list}>{columns.map((name) => <option key={name} value={pathOf(name)} />)}</datalist>
      <div class="body keys">
        <Field label="Read from">
          <Select options={sourcesOf(table).map((one) => [one.name ?? "", one.name ? `${one.name} (${one.kind.toLowerCase()})` : "Table"])} value={query.index ?? ""}
                  onChange={(name) => change({ index: name || null, key: {}, sort: [], consistent: query.consistent && sourcesOf(table).find((one) => one.name === (name || null)).kind !== "Global index" })} />
        </Field>
        {source.hash.map((name) => (
          <Field key={name} label={<>{name} <span class="type">{types[name]}</span></>}>
            <input value={query.key[name] ?? ""} placeholder="any: scan" spellcheck={false} autocomplete="off" inputMode={types[name] === "N" ? "decimal" : undefined}
                   onInput={(event) => change({ key: { ...query.key, [name]: event.currentTarget.value } })} />
          </Field>
        ))}
        {source.range.map((name) => <SortCondition key={name} name={name} type={types[name]} isActive={isKeyed} condition={query.sort.find((one) => one.name === name) ?? { name, op: "=", values: [""] }}
                                                   onChange={(condition) => change({ sort: [...query.sort.filter((one) => one.name !== name), condition] })} />)}
        <div class="run">
          {isBusy
            ? <button type="button" onClick={onStop}><Icon name="pause" />Stop</button>
            : <button type="submit" class="primary"><Icon name="play" />{isKeyed ? "Query" : "Scan"}</button>}
          <button type="button" class="plain" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            <Icon name={isOpen ? "up" : "down"} />Filters{extra > 0 && <span class="badge accent">{extra}</span>}
          </button>
        </div>
      </div>
      {isOpen && (
        <div class="body stack tight">
          {query.filters.map((filter, i) => (
            <FilterRow key={i} filter={filter} list={list} typeOf={typeOf} onRemove={() => change({ filters: query.filters.filter((_, at) => at !== i) })}
                       onChange={(next) => change({ filters: query.filters.map((one, at) => (at === i ? next : one)) })} />
          ))}
          <div class="row options">
            <button type="button" class="little" onClick={() => change({ filters: [...query.filters, { path: "", op: "=", type: "S", values: [""] }] })}><Icon name="plus" />Add filter</button>
            <label class="fields">Attributes <input placeholder="all, or: name, address.city" value={query.fields.join(", ")} spellcheck={false}
              onChange={(event) => change({ fields: pathsOf(event.currentTarget.value) })} /></label>
            <Segment label="Order" options={[[false, "Ascending"], [true, "Descending"]]} value={query.backward} onChange={(backward) => change({ backward })} />
            <Check label="Consistent read" checked={query.consistent} disabled={source.kind === "Global index"} onChange={(consistent) => change({ consistent })} />
            <button type="button" class="link" onClick={() => onChange({ ...EMPTY, index: query.index })}>Clear</button>
          </div>
          {query.filters.length > 0 && <p class="small muted">A filter is applied after reading: items that it drops are read and paid for all the same.</p>}
        </div>
      )}
    </form>
  );
}

function SortCondition({ name, type, condition, onChange, isActive }) {
  const label = <>{name} <span class="type">{type}</span></>;
  const operands = operandCount(condition.op);
  const set = (i, value) => onChange({ ...condition, values: Object.assign([...condition.values], { [i]: value }) });
  return (
    <div class="field sort" role="group" aria-label={name}>
      <span class="legend">{label}</span>
      <div class="row">
        <Select aria-label={`${name}: comparison`} class="op" disabled={!isActive} options={SORT_OPS.filter(([op]) => type !== "N" || op !== "begins_with")} value={condition.op} onChange={(op) => onChange({ ...condition, op })} />
        {[...Array(operands).keys()].map((i) => (
          <input key={i} class="grow" disabled={!isActive} aria-label={`${name}: ${operands > 1 ? (i === 0 ? "from" : "to") : "value"}`} placeholder={isActive ? "any" : ""} value={condition.values[i] ?? ""} spellcheck={false} autocomplete="off"
                 onInput={(event) => set(i, event.currentTarget.value)} />
        ))}
      </div>
    </div>
  );
}

function FilterRow({ filter, list, typeOf, onChange, onRemove }) {
  const operands = operandCount(filter.op);
  const set = (i, value) => onChange({ ...filter, values: Object.assign([...filter.values], { [i]: value }) });
  function rename(path) {
    const type = typeOf(path);
    const isOther = FILTER_TYPES.includes(type) && type !== filter.type;
    onChange({ ...filter, path, ...(isOther && { type, values: [type === "BOOL" ? "true" : ""] }) });
  }
  return (
    <div class="filter" role="group" aria-label="Filter">
      <input aria-label="Attribute" placeholder="attribute" list={list} value={filter.path} spellcheck={false} onInput={(event) => rename(event.currentTarget.value)} />
      <Select aria-label="Comparison" options={FILTER_OPS} value={filter.op} onChange={(op) => onChange({ ...filter, op })} />
      {operands > 0 && <Select aria-label="Type" options={FILTER_TYPES} value={filter.type} onChange={(type) => onChange({ ...filter, type, values: type === "BOOL" ? ["true"] : [""] })} />}
      {operands > 0 && filter.type === "BOOL"
        ? <Select aria-label="Value" options={["true", "false"]} value={filter.values[0]} onChange={(value) => set(0, value)} />
        : filter.type !== "NULL" && [...Array(operands).keys()].map((i) => (
          <input key={i} aria-label={operands > 1 ? (i === 0 ? "From" : "To") : "Value"} placeholder={filter.op === "in" ? "a, b, c" : "value"} value={filter.values[i] ?? ""} spellcheck={false}
                 onInput={(event) => set(i, event.currentTarget.value)} />
        ))}
      <IconButton icon="close" label="Remove filter" onClick={onRemove} />
    </div>
  );
}
