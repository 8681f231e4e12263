/* An editor for the attributes of an item, of every type. It works on nodes: {id, name, type, content}, where the content
 * of maps and lists are nodes again, and that of sets a list of texts. */
import { useRef } from "preact/hooks";
import { contentOf, emptyOf, problemOf, TYPE_NAMES, TYPES, typeOf } from "../lib/values.js";
import { Icon, IconButton, Select } from "../ui.jsx";

let nextId = 1;

export function nodeOf(name, value) {
  const type = typeOf(value);
  const content = contentOf(value);
  const inner = type === "M" ? Object.entries(content).map(([key, one]) => nodeOf(key, one)) : type === "L" ? content.map((one) => nodeOf("", one)) : content;
  return { id: nextId++, name, type, content: inner };
}

export const nodesOf = (item) => Object.entries(item).map(([name, value]) => nodeOf(name, value));

export function valueOf({ type, content }) {
  if (type === "L") {
    return { L: content.map(valueOf) };
  }
  return { [type]: type === "M" ? itemOf(content) : content };
}

/* Throws if a name is missing or occurs twice. */
export function itemOf(nodes) {
  const seen = new Set();
  for (const { name } of nodes) {
    if (name === "") {
      throw new Error("An attribute has no name.");
    }
    if (seen.has(name)) {
      throw new Error(`The attribute “${name}” occurs twice.`);
    }
    seen.add(name);
  }
  return Object.fromEntries(nodes.map((node) => [node.name, valueOf(node)]));
}

/* `fixed` are names that cannot be changed or removed: the keys. */
export function Tree({ nodes, onChange, fixed = [] }) {
  const set = (node) => onChange(nodes.map((one) => (one.id === node.id ? node : one)));
  return (
    <div class="tree">
      {nodes.map((node) => (
        <Node key={node.id} node={node} onChange={set} isFixed={fixed.includes(node.name)} onRemove={() => onChange(nodes.filter((one) => one.id !== node.id))} hasName />
      ))}
      <button type="button" class="little add" onClick={() => onChange([...nodes, nodeOf("", emptyOf("S"))])}><Icon name="plus" />Add attribute</button>
    </div>
  );
}

function Node({ node, onChange, onRemove, isFixed, hasName, position }) {
  const { name, type, content } = node;
  const label = hasName ? name || "new attribute" : `element ${position + 1}`;
  const isNested = type === "M" || type === "L";
  const problem = isNested ? null : problemOf(valueOf(node));
  function retype(next) {
    /* Text that was typed stays where it makes sense. */
    const text = typeof content === "string" ? content : null;
    const fresh = nodeOf(name, text !== null && (next === "S" || next === "N" || next === "B") ? { [next]: text } : emptyOf(next));
    onChange({ ...fresh, id: node.id });
  }
  return (
    <div class={`node ${isNested ? "nested" : ""}`} role="group" aria-label={label}>
      <div class="line">
        {hasName
          ? <input class="name" aria-label="Attribute name" value={name} disabled={isFixed} placeholder="name" spellcheck={false} autocomplete="off" onInput={(event) => onChange({ ...node, name: event.currentTarget.value })} />
          : <span class="name position">{position + 1}</span>}
        <Select class="type-select" aria-label={`Type of ${label}`} disabled={isFixed} options={TYPES.map((one) => [one, TYPE_NAMES[one]])} value={type} onChange={retype} />
        <div class="content">
          {isNested
            ? <span class="muted small">{type === "M" ? `${content.length} attributes` : `${content.length} elements`}</span>
            : <Content node={node} label={label} problem={problem} onChange={(next) => onChange({ ...node, content: next })} />}
        </div>
        {isFixed ? <span class="badge key">key</span> : <IconButton icon="trash" label={`Remove ${label}`} class="plain little" onClick={onRemove} />}
      </div>
      {problem && <p class="small bad">{problem}</p>}
      {isNested && <Children node={node} onChange={onChange} />}
    </div>
  );
}

function Children({ node, onChange }) {
  const { type, content } = node;
  const replace = (next) => onChange({ ...node, content: next });
  return (
    <div class="children">
      {content.map((child, i) => (
        <Node key={child.id} node={child} position={i} hasName={type === "M"} onChange={(next) => replace(content.map((one) => (one.id === next.id ? next : one)))}
              onRemove={() => replace(content.filter((one) => one.id !== child.id))} />
      ))}
      <button type="button" class="little add" onClick={() => replace([...content, nodeOf("", emptyOf("S"))])}><Icon name="plus" />{type === "M" ? "Add attribute" : "Add element"}</button>
    </div>
  );
}

function Content({ node: { type, content }, label, problem, onChange }) {
  const common = { "aria-label": `Value of ${label}`, "aria-invalid": problem ? "true" : undefined, spellcheck: false };
  switch (type) {
    case "S":
      return <textarea {...common} rows={Math.min(8, Math.max(1, content.split("\n").length, Math.ceil(content.length / 60)))} value={content} onInput={(event) => onChange(event.currentTarget.value)} />;
    case "N":
      return <input {...common} inputMode="decimal" class="mono" value={content} onInput={(event) => onChange(event.currentTarget.value.trim())} />;
    case "B":
      return <Binary common={common} content={content} onChange={onChange} />;
    case "BOOL":
      return <Select {...common} options={[["true", "true"], ["false", "false"]]} value={String(content)} onChange={(value) => onChange(value === "true")} />;
    case "NULL":
      return <span class="muted">null</span>;
    default:
      return (
        <div class="set">
          {content.map((text, i) => (
            <span key={i} class="member">
              <input aria-label={`Value ${i + 1} of ${label}`} class={type === "SS" ? "" : "mono"} value={text} spellcheck={false} onInput={(event) => onChange(content.map((one, at) => (at === i ? event.currentTarget.value : one)))} />
              <IconButton icon="close" label={`Remove value ${i + 1}`} class="plain little" onClick={() => onChange(content.filter((_, at) => at !== i))} />
            </span>
          ))}
          <button type="button" class="little" onClick={() => onChange([...content, ""])}><Icon name="plus" />Add value</button>
        </div>
      );
  }
}

/* Base64, or the bytes of a file. */
function Binary({ common, content, onChange }) {
  const file = useRef();
  async function load() {
    const bytes = new Uint8Array(await file.current.files[0].arrayBuffer());
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192) {
      text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    }
    onChange(btoa(text));
  }
  return (
    <div class="row binary">
      <input {...common} class="mono grow" placeholder="base64" value={content} onInput={(event) => onChange(event.currentTarget.value.trim())} />
      <input ref={file} type="file" hidden onChange={load} aria-label="File" />
      <button type="button" class="little" onClick={() => file.current.click()}>File…</button>
    </div>
  );
}
