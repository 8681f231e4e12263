/* How the server carries out a PartiQL statement: read from its text and the table's keys, by the service's rule. A
 * SELECT whose WHERE fixes the partition key (by = or IN, in every branch of an OR) is a Query; any other reads all. */
const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|[A-Za-z_][\w]*|\d+(?:\.\d+)?|<=|>=|<>|[^\s]/g;

export function tokensOf(text) {
  return (text.replace(/--[^\n]*/g, "").match(TOKEN) ?? []);
}

/* The statements of a text, separated by semicolons: [{text, from, to}]. */
export function statementsOf(text) {
  const found = [];
  let from = 0;
  let quote = null;
  for (let at = 0; at <= text.length; at++) {
    const character = text[at];
    if (quote) {
      quote = character === quote ? null : quote;
    } else if (character === "'" || character === '"') {
      quote = character;
    }
    if (at === text.length || (character === ";" && !quote)) {
      if (text.slice(from, at).replace(/--[^\n]*/g, "").trim() !== "") {
        found.push({ text: text.slice(from, at).trim(), from, to: at });
      }
      from = at + 1;
    }
  }
  return found;
}

const nameOf = (token) => (token?.startsWith('"') ? token.slice(1, -1).replaceAll('""', '"') : token);
const isWord = (token, word) => token?.toUpperCase() === word;

/* {verb, table, index} of a statement; null if it has none that we know. */
export function targetOf(text) {
  const tokens = tokensOf(text);
  const verb = tokens[0]?.toUpperCase();
  const at = verb === "SELECT" || verb === "DELETE" ? tokens.findIndex((token) => isWord(token, "FROM")) : verb === "INSERT" ? tokens.findIndex((token) => isWord(token, "INTO")) : verb === "UPDATE" ? 0 : -1;
  if (at < 0 || !tokens[at + 1]) {
    return null;
  }
  return { verb, table: nameOf(tokens[at + 1]), index: tokens[at + 2] === "." ? nameOf(tokens[at + 3]) : null };
}

/* Splits tokens at a word that is in no parentheses; the AND of a BETWEEN is part of it. */
function splitAt(tokens, word) {
  const parts = [[]];
  let depth = 0;
  let between = false;
  for (const token of tokens) {
    depth += "([{".includes(token) ? 1 : ")]}".includes(token) ? -1 : 0;
    if (isWord(token, "BETWEEN")) {
      between = true;
    }
    if (depth === 0 && isWord(token, word) && !(word === "AND" && between)) {
      parts.push([]);
    } else {
      if (isWord(token, "AND")) {
        between = false;
      }
      parts.at(-1).push(token);
    }
  }
  return parts;
}

function unwrap(tokens) {
  let inner = tokens;
  while (inner[0] === "(" && inner.at(-1) === ")") {
    let depth = 0;
    const closes = inner.findIndex((token) => {
      depth += token === "(" ? 1 : token === ")" ? -1 : 0;
      return depth === 0;
    });
    if (closes !== inner.length - 1) {
      break;
    }
    inner = inner.slice(1, -1);
  }
  return inner;
}

/* Whether the condition fixes the attribute. */
function fixes(tokens, name) {
  const inner = unwrap(tokens);
  const branches = splitAt(inner, "OR");
  if (branches.length > 1) {
    return branches.every((branch) => fixes(branch, name));
  }
  const terms = splitAt(inner, "AND");
  if (terms.length > 1) {
    return terms.some((term) => fixes(term, name));
  }
  const term = unwrap(inner);
  return nameOf(term[0]) === name && (term[1] === "=" || isWord(term[1], "IN"));
}

/* {kind: "Query"|"Scan"|"Write"|null, text}; sources as sourcesOf() gives them, or null if the table is not known. */
export function planOf(text, sources) {
  const target = targetOf(text);
  if (!target) {
    return { kind: null, text: "" };
  }
  if (target.verb !== "SELECT") {
    return { kind: "Write", text: `${target.verb === "INSERT" ? "Writes" : "Changes"} one item of ${target.table}` };
  }
  const source = sources?.find((one) => one.name === target.index);
  if (!source) {
    return { kind: null, text: "" };
  }
  const where = target.index ? `${target.table}.${target.index}` : target.table;
  const tokens = tokensOf(text);
  const from = tokens.findIndex((token) => isWord(token, "WHERE"));
  const until = tokens.findIndex((token, i) => i > from && isWord(token, "ORDER"));
  const condition = from < 0 ? [] : tokens.slice(from + 1, until < 0 ? undefined : until);
  if (condition.length > 0 && source.hash.every((name) => fixes(condition, name))) {
    const sorted = source.range.length > 0 && condition.map(nameOf).includes(source.range[0]);
    return { kind: "Query", text: `Query of ${where} by ${source.hash.join(" + ")}${sorted ? ` and ${source.range[0]}` : ""}` };
  }
  return { kind: "Scan", text: `Scan: reads every item of ${where}, whatever the condition, because it does not fix ${source.hash.join(" and ")}` };
}
