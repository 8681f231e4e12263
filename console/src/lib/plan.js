/* PartiQL statements in a text, and the server's plans of them (ExplainStatement). */
const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|[A-Za-z_][\w]*|\d+(?:\.\d+)?|<=|>=|<>|[^\s]/g;

export function tokensOf(text) {
  return (text.replace(/--[^\n]*/g, "").match(TOKEN) ?? []);
}

const COMMENT = /--[^\n]*|\/\*[^]*?(?:\*\/|$)/y;
function commentEnd(text, at) {
  COMMENT.lastIndex = at;
  COMMENT.exec(text);
  return COMMENT.lastIndex;
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
    } else if (text.startsWith("--", at) || text.startsWith("/*", at)) {
      at = commentEnd(text, at) - 1; /* quotes and semicolons mean nothing there */
      continue;
    } else if (character === "'" || character === '"') {
      quote = character;
    }
    if (at === text.length || (character === ";" && !quote)) {
      if (text.slice(from, at).replace(/--[^\n]*|\/\*[^]*?\*\//g, "").trim() !== "") {
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

/* Whether a statement may have a plan: a SELECT of a table that exists, whose text does not end in the middle. The server refuses others,
 * and so it is not asked while they are typed. */
export function isExplainable(text, names) {
  const tokens = tokensOf(text);
  const target = targetOf(text);
  const depth = tokens.reduce((sum, token) => sum + ("([{".includes(token) ? 1 : ")]}".includes(token) ? -1 : 0), 0);
  return target?.verb === "SELECT" && names.includes(target.table) && depth === 0 && !tokens.includes("'") && !tokens.includes('"') && !/^(where|and|or|not|in|by|from|between|order|=|<|>|<=|>=|<>|,|\.)$/i.test(tokens.at(-1));
}

/* What a statement that writes does; null of others. */
export function writeOf(text) {
  const target = targetOf(text);
  return target && target.verb !== "SELECT" ? { kind: "write", text: `${target.verb === "INSERT" ? "Writes" : "Changes"} one item of ${target.table}`, details: [] } : null;
}

/* The plan of ExplainStatement, a text with the kind and the table or index in its first line: {kind, text, details}. */
export function readPlan(text) {
  const [first, ...details] = text.trimEnd().split("\n").map((line) => line.trim());
  const [kind, ...where] = first.split(" ");
  const texts = { get: "Gets one item of", query: "Queries", scan: "Reads every item of" };
  return { kind, text: `${texts[kind] ?? kind} ${where.join(" ")}`, details };
}
