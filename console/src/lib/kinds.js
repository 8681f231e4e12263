/* Finds the kinds of items that share a table, from a sample of them, and how their keys are made:
 *   PK = USER#{UserId}, SK = TASK#{TaskId}
 * A kind is identified by an attribute that names it (EntityType, type, ...), otherwise by the form of the keys. */
import { itemSize, typeOf, typesOf } from "./values.js";

const TYPE_NAMES = ["entitytype", "entity_type", "entity", "type", "_type", "__typename", "kind", "itemtype", "item_type", "recordtype", "record_type", "et"];
const KINDS_MAX = 24;
const WORD = /^[A-Za-z][A-Za-z_-]*$/;
const CAPITALS = /^[A-Z][A-Z_-]*$/;

/* The separator of the parts of a key, or null. */
function separatorOf(text) {
  return ["#", "|", "/"].find((one) => text.includes(one)) ?? (/^[A-Za-z_]+:/.test(text) ? ":" : null);
}

const textOf = (value) => (value && (typeOf(value) === "S" || typeOf(value) === "N") ? Object.values(value)[0] : null);

export function partsOf(text) {
  const separator = separatorOf(text);
  return { separator, parts: separator ? text.split(separator) : [text] };
}

/* The attribute that names the kind: most items have it, with few different short words. */
function typeAttribute(items, keys) {
  const names = new Set(items.flatMap((item) => Object.keys(item)));
  const good = [...names].filter((name) => {
    if (!TYPE_NAMES.includes(name.toLowerCase()) || keys.includes(name)) {
      return false;
    }
    const values = items.map((item) => item[name]?.S).filter(Boolean);
    return values.length >= items.length * 0.5 && new Set(values).size <= KINDS_MAX && values.every((value) => value.length <= 40);
  });
  return good.sort((a, b) => TYPE_NAMES.indexOf(a.toLowerCase()) - TYPE_NAMES.indexOf(b.toLowerCase()))[0] ?? null;
}

/* Whether a part of a key is a word of the model, not a value of the item. */
function isFixed(part, at, parts, ownValues) {
  if (ownValues.has(part)) {
    return false;
  }
  return at === 0 && parts.length > 1 ? WORD.test(part) : CAPITALS.test(part);
}

/* "USER#*" for the key attribute of an item. */
function formOf(item, name, keys) {
  const text = textOf(item[name]);
  if (text === null) {
    return item[name] ? "*" : "";
  }
  const own = new Set(Object.entries(item).filter(([other]) => !keys.includes(other) && !TYPE_NAMES.includes(other.toLowerCase())).map(([, value]) => textOf(value)));
  const { separator, parts } = partsOf(text);
  return parts.map((part, at) => (isFixed(part, at, parts, own) ? part : "*")).join(separator ?? "");
}

/* A name for a part that varies: the attribute that has the same value in nearly all items, or what it looks like. */
function nameOfPart(items, key, at, keys, previous) {
  const scores = new Map();
  for (const item of items) {
    const part = partsOf(textOf(item[key]) ?? "").parts[at];
    for (const [name, value] of Object.entries(item)) {
      if (name !== key && !keys.includes(name) && textOf(value) === part) {
        scores.set(name, (scores.get(name) ?? 0) + 1);
      }
    }
  }
  const best = [...scores].sort((a, b) => b[1] - a[1])[0];
  if (best && best[1] >= items.length * 0.8) {
    return best[0];
  }
  const samples = items.slice(0, 20).map((item) => partsOf(textOf(item[key]) ?? "").parts[at] ?? "");
  if (samples.every((text) => /^\d{4}-\d\d-\d\dT/.test(text))) {
    return "time";
  }
  if (samples.every((text) => /^\d{4}-\d\d(-\d\d)?$/.test(text))) {
    return "date";
  }
  if (samples.every((text) => /^\d+$/.test(text))) {
    return "number";
  }
  return previous && WORD.test(previous) ? `${previous.toLowerCase()}Id` : "id";
}

/* [{text, isFixed}] */
export function templateOf(items, key, keys, form) {
  const having = items.filter((item) => textOf(item[key]) !== null);
  if (having.length === 0) {
    return [];
  }
  const { separator, parts } = partsOf(textOf(having[0][key]));
  const wanted = separator ? form.split(separator) : [form];
  if (wanted.length !== parts.length) {
    return [{ text: `{${key}}`, isFixed: false }];
  }
  return parts.flatMap((part, at) => {
    const fixed = wanted[at] !== "*";
    const piece = { text: fixed ? part : `{${parts.length === 1 ? nameOfWhole(having, key, keys) : nameOfPart(having, key, at, keys, at > 0 ? wanted[at - 1] : null)}}`, isFixed: fixed };
    return at === 0 ? [piece] : [{ text: separator, isFixed: true }, piece];
  });
}

/* Of a key without parts: the key's own name says most. */
function nameOfWhole(items, key, keys) {
  const name = nameOfPart(items, key, 0, keys, null);
  return name === "id" ? key : name;
}

function titleOf(forms, fallback) {
  const words = (form) => (form ?? "").split(/[#|/:*]+/).filter(Boolean);
  const [hash, range] = forms;
  if (range && range.includes("*") && words(range).length > 0) {
    return words(range)[0];
  }
  return words(hash)[0] ?? words(range)[0] ?? fallback;
}

function attributesOf(items) {
  const names = new Map();
  for (const item of items) {
    for (const name of Object.keys(item)) {
      names.set(name, (names.get(name) ?? 0) + 1);
    }
  }
  return [...names].map(([name, number]) => ({ name, share: number / items.length, types: typesOf(items, name).map(([type]) => type) }))
    .sort((a, b) => b.share - a.share || (a.name < b.name ? -1 : 1));
}

/* sources: as sourcesOf() gives them, the table first. Gives kinds, most items first:
 * {name, items, share, bytes, keys: [{source, hash: template[], range: template[]}], attributes} */
export function findKinds(items, sources, tableName) {
  if (items.length === 0) {
    return [];
  }
  const keys = [...new Set(sources.flatMap((source) => [...source.hash, ...source.range]))];
  const [table] = sources;
  const tableKeys = [...table.hash, ...table.range];
  const typeName = typeAttribute(items, keys);
  const groups = new Map();
  for (const item of items) {
    const forms = tableKeys.map((name) => formOf(item, name, keys));
    const own = typeName && item[typeName]?.S;
    const id = own ?? forms.join("  ");
    if (!groups.has(id)) {
      groups.set(id, { name: own ?? titleOf(forms, tableName), items: [] });
    }
    groups.get(id).items.push(item);
  }
  const sorted = [...groups.values()].sort((a, b) => b.items.length - a.items.length);
  const kept = sorted.slice(0, KINDS_MAX);
  if (sorted.length > KINDS_MAX) {
    kept.push({ name: "other", items: sorted.slice(KINDS_MAX).flatMap((group) => group.items) });
  }
  return unique(kept).map((group) => ({
    ...group,
    share: group.items.length / items.length,
    bytes: group.items.reduce((sum, item) => sum + itemSize(item), 0) / group.items.length,
    attributes: attributesOf(group.items),
    keys: sources.map((source) => {
      const having = group.items.filter((item) => [...source.hash, ...source.range].every((name) => item[name]));
      const template = (name) => ({ name, pieces: templateOf(having, name, keys, commonForm(having, name, keys)) });
      return { source: source.name, share: having.length / group.items.length, hash: source.hash.map(template), range: source.range.map(template) };
    }).filter((one) => one.share > 0),
  }));
}

/* The form that most of the items have. */
function commonForm(items, name, keys) {
  const found = new Map();
  for (const item of items.slice(0, 200)) {
    const form = formOf(item, name, keys);
    found.set(form, (found.get(form) ?? 0) + 1);
  }
  return [...found].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "";
}

/* Kinds with the same name get a number as suffix. */
function unique(groups) {
  const seen = new Map();
  return groups.map((group) => {
    const times = (seen.get(group.name) ?? 0) + 1;
    seen.set(group.name, times);
    return times === 1 ? group : { ...group, name: `${group.name} (${times})` };
  });
}

/* Item collections of a source: [{key: [values], items}], largest first, items in the order of their sort keys. */
export function collectionsOf(items, source) {
  const found = new Map();
  for (const item of items) {
    if (source.hash.every((name) => item[name]) && source.range.every((name) => item[name])) {
      const id = JSON.stringify(source.hash.map((name) => item[name]));
      if (!found.has(id)) {
        found.set(id, { id, key: source.hash.map((name) => item[name]), items: [] });
      }
      found.get(id).items.push(item);
    }
  }
  const order = (a, b) => {
    for (const name of source.range) {
      const [x, y] = [textOf(a[name]) ?? "", textOf(b[name]) ?? ""];
      const difference = typeOf(a[name]) === "N" ? Number(x) - Number(y) : x < y ? -1 : x > y ? 1 : 0;
      if (difference !== 0) {
        return difference;
      }
    }
    return 0;
  };
  return [...found.values()].map((one) => ({ ...one, items: one.items.sort(order) })).sort((a, b) => b.items.length - a.items.length);
}
