/* Attribute values as the API has them: {S: "text"}, {N: "1.5"}, {L: [...]}, ... */
import { Digits, parseJson } from "./json.js";

export const TYPES = ["S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"];
export const TYPE_NAMES = {
  S: "String", N: "Number", B: "Binary", BOOL: "Boolean", NULL: "Null", L: "List", M: "Map",
  SS: "String set", NS: "Number set", BS: "Binary set",
};
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export const typeOf = (value) => Object.keys(value)[0];
export const contentOf = (value) => Object.values(value)[0];

/* A value of a type, to begin with. */
export function emptyOf(type) {
  return { [type]: { S: "", N: "0", B: "", BOOL: true, NULL: true, L: [], M: {}, SS: [""], NS: ["0"], BS: [""] }[type] };
}

/* What is wrong with a value, or null. */
export function problemOf(value) {
  const type = typeOf(value);
  const content = contentOf(value);
  const bad = { N: (text) => !NUMBER.test(text) && `“${text}” is no number`, B: (text) => !BASE64.test(text) && "Binary values are base64" };
  if (type === "N" || type === "B") {
    return bad[type](content) || null;
  }
  if (type === "SS" || type === "NS" || type === "BS") {
    if (content.length === 0) {
      return "A set has at least one value";
    }
    if (new Set(content).size < content.length) {
      return "The values of a set differ";
    }
    return content.map((text) => bad[type[0]]?.(text)).find(Boolean) || null;
  }
  const parts = type === "L" ? content : type === "M" ? Object.values(content) : [];
  return parts.map(problemOf).find(Boolean) ?? null;
}

/* The value of a key attribute from what was typed. */
export function keyValue(type, text) {
  return { [type]: text.trim() === "" && type === "N" ? "" : type === "N" ? text.trim() : text };
}

const byteLength = (base64) => Math.floor((base64.length * 3) / 4) - (base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0);

/* One line, for a cell of a table. */
export function short(value, max = 120) {
  const type = typeOf(value);
  const content = contentOf(value);
  const cut = (text) => (text.length > max ? `${text.slice(0, max)}…` : text);
  switch (type) {
    case "S": return cut(content);
    case "N": return content;
    case "BOOL": return String(content);
    case "NULL": return "null";
    case "B": return `${cut(content)} (${byteLength(content)} bytes)`;
    case "SS": case "NS": case "BS": return cut(`{${content.slice(0, 20).join(", ")}}`);
    default: return cut(plainJson(value, 0, max * 2));
  }
}

/* As the service meters it: names and values; numbers are estimated to a byte. */
export function sizeOf(value) {
  const type = typeOf(value);
  const content = contentOf(value);
  const text = (string) => new TextEncoder().encode(string).length;
  const number = (digits) => Math.ceil(digits.replace(/[eE].*|[-+.]|^0+|0+$/g, "").length / 2) + 1 + (digits.startsWith("-") ? 1 : 0);
  switch (type) {
    case "S": return text(content);
    case "N": return number(content);
    case "B": return byteLength(content);
    case "BOOL": case "NULL": return 1;
    case "SS": return content.reduce((sum, one) => sum + text(one), 0);
    case "NS": return content.reduce((sum, one) => sum + number(one), 0);
    case "BS": return content.reduce((sum, one) => sum + byteLength(one), 0);
    case "L": return 3 + content.reduce((sum, one) => sum + 1 + sizeOf(one), 0);
    default: return 3 + Object.entries(content).reduce((sum, [name, one]) => sum + 1 + text(name) + sizeOf(one), 0);
  }
}
export const itemSize = (item) => sizeOf({ M: item }) - 3 - Object.keys(item).length;

/* --- plain JSON: {"name": "Ana", "age": 36} --- */

/* The text, with all digits; sets are arrays, binaries are strings. Cut off somewhere behind `max` characters. */
export function plainJson(value, indent = 2, max = Infinity) {
  let length = 0;
  const add = (text) => {
    length += text.length;
    return text;
  };
  function write(one, depth) {
    if (length > max) {
      return "…";
    }
    const type = typeOf(one);
    const content = contentOf(one);
    const [line, end, gap] = indent ? [`\n${" ".repeat(indent * (depth + 1))}`, `\n${" ".repeat(indent * depth)}`, " "] : ["", "", indent ? " " : ""];
    const list = (parts, open, close) => (parts.length === 0 ? add(open + close) : open + parts.map((part) => line + part).join(indent ? "," : ", ") + end + close);
    switch (type) {
      case "S": case "B": return add(JSON.stringify(content));
      case "N": return add(content);
      case "BOOL": return add(String(content));
      case "NULL": return add("null");
      case "SS": case "BS": return list(content.map((text) => add(JSON.stringify(text))), "[", "]");
      case "NS": return list(content.map(add), "[", "]");
      case "L": return list(content.map((part) => write(part, depth + 1)), "[", "]");
      default: return list(Object.entries(content).map(([name, part]) => `${add(JSON.stringify(name))}:${gap || " "}${write(part, depth + 1)}`), "{", "}");
    }
  }
  return write(value, 0);
}

/* A value from parsed plain JSON. `like`, the value that was there, tells which arrays are sets and which strings are
 * binaries. */
export function fromPlain(value, like = null) {
  const type = like && typeOf(like);
  if (value === null) {
    return { NULL: true };
  }
  if (typeof value === "boolean") {
    return { BOOL: value };
  }
  if (value instanceof Digits) {
    return { N: value.text };
  }
  if (typeof value === "string") {
    return type === "B" ? { B: value } : { S: value };
  }
  if (Array.isArray(value)) {
    const texts = value.map((one) => (one instanceof Digits ? one.text : one));
    const wanted = value.length === 0 ? null : { SS: "string", BS: "string", NS: "object" }[type];
    if (wanted && value.every((one) => (one instanceof Digits ? "object" : typeof one) === wanted)) {
      return { [type]: texts };
    }
    return { L: value.map((one, i) => fromPlain(one, type === "L" ? like.L[i] ?? null : null)) };
  }
  return { M: Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fromPlain(one, type === "M" ? like.M[name] ?? null : null)])) };
}

/* --- DynamoDB JSON: {"name": {"S": "Ana"}, "age": {"N": "36"}} --- */

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Digits);

/* Whether parsed JSON is an attribute value in that form. */
export function isTyped(value) {
  if (!isObject(value)) {
    return false;
  }
  const [type, ...more] = Object.keys(value);
  const content = value[type];
  const isStrings = (list) => Array.isArray(list) && list.length > 0 && list.every((one) => typeof one === "string");
  return more.length === 0 && {
    S: () => typeof content === "string", N: () => typeof content === "string", B: () => typeof content === "string",
    BOOL: () => typeof content === "boolean", NULL: () => content === true,
    L: () => Array.isArray(content) && content.every(isTyped), M: () => isObject(content) && Object.values(content).every(isTyped),
    SS: () => isStrings(content), NS: () => isStrings(content), BS: () => isStrings(content),
  }[type]?.() === true;
}
export const isTypedItem = (value) => isObject(value) && Object.keys(value).length > 0 && Object.values(value).every(isTyped);

/* An item from JSON text of either form; `like` is the item as it was. */
export function itemFromText(text, form, like = null) {
  const value = parseJson(text);
  if (!isObject(value)) {
    throw new SyntaxError("An item is an object: { ... }");
  }
  if (form === "plain") {
    return fromPlain(value, like && { M: like }).M;
  }
  const bad = Object.entries(value).find(([, one]) => !isTyped(one));
  if (bad) {
    throw new SyntaxError(`“${bad[0]}” is no typed value such as {"S": "text"}`);
  }
  return toObjects(value);
}

/* With ordinary prototypes. */
const toObjects = (value) => JSON.parse(JSON.stringify(value));

export const typedJson = (item) => JSON.stringify(item, null, 2);
export const same = (a, b) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));

function sorted(value) {
  if (Array.isArray(value)) {
    return value.map(sorted);
  }
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.keys(value).sort().map((name) => {
      const part = value[name];
      return [name, ["SS", "NS", "BS"].includes(name) && Array.isArray(part) ? [...part].sort() : sorted(part)];
    }));
  }
  return value;
}

/* The types that a path's values have across items, and how often: [["S", 12], ["N", 1]]. */
export function typesOf(items, name) {
  const found = {};
  for (const item of items) {
    if (item[name]) {
      const type = typeOf(item[name]);
      found[type] = (found[type] ?? 0) + 1;
    }
  }
  return Object.entries(found).sort((a, b) => b[1] - a[1]);
}
