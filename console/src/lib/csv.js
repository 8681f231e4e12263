/* CSV (RFC 4180), written and read; values that have no plain form are DynamoDB JSON in their cell. */
import { parseJson } from "./json.js";
import { isTyped, typeOf } from "./values.js";

const quoted = (text) => (/[",\r\n]|^\s|\s$/.test(text) || text === "" ? `"${text.replaceAll('"', '""')}"` : text);

/* Texts that would be read back as something else. */
const looksOtherwise = (text) => /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text) || text === "true" || text === "false" || text === "null" || text.startsWith("{");

function cell(value) {
  if (!value) {
    return "";
  }
  switch (typeOf(value)) {
    case "S": return quoted(looksOtherwise(value.S) ? JSON.stringify(value) : value.S);
    case "N": return quoted(value.N);
    case "BOOL": return String(value.BOOL);
    case "NULL": return "null";
    default: return quoted(JSON.stringify(value));
  }
}

export const csvLine = (columns, item) => `${columns.map((name) => cell(item[name])).join(",")}\r\n`;
export const csvHead = (columns) => `${columns.map(quoted).join(",")}\r\n`;

/* Reads records from pieces of text: push(piece) gives complete ones, as lists of {text, isQuoted}. */
export function csvReader() {
  let record = [];
  let field = "";
  let isQuoted = false; /* the field was */
  let inQuotes = false;
  let pending = ""; /* a quote or CR whose meaning the next character tells */
  const end = (records) => {
    record.push({ text: field, isQuoted });
    if (record.length > 1 || field !== "" || isQuoted) {
      records.push(record);
    }
    record = [];
    field = "";
    isQuoted = false;
  };
  return {
    push(piece) {
      const records = [];
      for (const character of piece) {
        if (pending === '"') {
          pending = "";
          if (character === '"') {
            field += '"';
            continue;
          }
          inQuotes = false;
        } else if (pending === "\r") {
          pending = "";
          if (character === "\n") {
            continue;
          }
        }
        if (inQuotes) {
          if (character === '"') {
            pending = '"';
          } else {
            field += character;
          }
        } else if (character === '"' && field === "" && !isQuoted) {
          inQuotes = true;
          isQuoted = true;
        } else if (character === ",") {
          record.push({ text: field, isQuoted });
          field = "";
          isQuoted = false;
        } else if (character === "\n" || character === "\r") {
          end(records);
          pending = character === "\r" ? "\r" : "";
        } else {
          field += character;
        }
      }
      return records;
    },
    finish() {
      if (inQuotes && pending !== '"') {
        throw new SyntaxError("The file ends within quotes");
      }
      const records = [];
      if (field !== "" || record.length > 0 || isQuoted) {
        end(records);
      }
      return records;
    },
  };
}

/* A value from a cell. `type`: the type of a key attribute, or null; `isPlain`: all is text. undefined: no attribute. */
function cellValue({ text, isQuoted }, type, isPlain) {
  if (text === "" && !isQuoted) {
    return undefined;
  }
  if (text.startsWith("{")) {
    try {
      const value = parseJson(text);
      if (isTyped(value)) {
        return JSON.parse(JSON.stringify(value));
      }
    } catch { /* text that begins with a brace */ }
  }
  if (type) {
    return { [type]: text };
  }
  if (!isPlain) {
    if (/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) {
      return { N: text };
    }
    if (text === "true" || text === "false") {
      return { BOOL: text === "true" };
    }
    if (text === "null") {
      return { NULL: true };
    }
  }
  return { S: text };
}

/* A function from records to items; the first record has the names. */
export function csvItems(types, isPlain) {
  let names = null;
  return (record) => {
    if (!names) {
      names = record.map(({ text }) => text.replace(/^\ufeff/, "").trim());
      return null;
    }
    const entries = record.map((field, i) => [names[i], names[i] ? cellValue(field, Object.hasOwn(types, names[i]) ? types[names[i]] : null, isPlain) : undefined]);
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  };
}
