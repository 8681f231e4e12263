/* Requests as code: for the AWS CLI, boto3, JavaScript and PartiQL. */
import { pathText } from "./path.js";
import { contentOf, typeOf } from "./values.js";

const shellQuote = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const kebab = (name) => name.replace(/(?<!^)([A-Z])/g, "-$1").toLowerCase();

/* The CLI pages by itself: its --max-items is what Limit is to one request. */
const CLI_NAMES = { Limit: "max-items" };

export function cliCode(operation, input, endpoint) {
  const options = [`--endpoint-url ${endpoint}`];
  for (const [name, value] of Object.entries(input)) {
    const option = `--${CLI_NAMES[name] ?? kebab(name)}`;
    if (typeof value === "boolean") {
      options.push(value ? option : option.replace("--", "--no-"));
    } else {
      options.push(`${option} ${typeof value === "object" ? shellQuote(JSON.stringify(value)) : shellQuote(String(value))}`);
    }
  }
  return `aws dynamodb ${kebab(operation)} \\\n    ${options.join(" \\\n    ")}`;
}

/* A literal of Python or JavaScript; values of binaries are bytes there. */
function literal(value, language, depth, isValue = false) {
  const pad = "    ".repeat(depth);
  const inner = "    ".repeat(depth + 1);
  const isPython = language === "python";
  if (value === null) {
    return isPython ? "None" : "null";
  }
  if (typeof value === "boolean") {
    return isPython ? (value ? "True" : "False") : String(value);
  }
  if (typeof value !== "object") {
    return JSON.stringify(value);
  }
  const parts = Array.isArray(value)
    ? value.map((one) => literal(one, language, depth + 1, isValue))
    : Object.entries(value).map(([name, one]) => {
      const isBinary = isValue && (name === "B" || name === "BS");
      const bytes = (text) => (isPython ? `base64.b64decode(${JSON.stringify(text)})` : `Buffer.from(${JSON.stringify(text)}, "base64")`);
      const text = isBinary && typeof one === "string" ? bytes(one)
        : isBinary && Array.isArray(one) ? `[${one.map(bytes).join(", ")}]` : literal(one, language, depth + 1, isValue);
      const key = !isPython && /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
      return `${key}: ${text}`;
    });
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const flat = `${open}${parts.join(", ")}${close}`;
  return flat.length + inner.length <= 90 && !flat.includes("\n") ? flat : `${open}\n${parts.map((part) => `${inner}${part},`).join("\n")}\n${pad}${close}`;
}

const HOLD_VALUES = ["ExpressionAttributeValues", "Item", "Key", "RequestItems", "TransactItems"];

export function boto3Code(operation, input, endpoint) {
  const parameters = Object.entries(input).map(([name, value]) => `    ${name}=${literal(value, "python", 1, HOLD_VALUES.includes(name))},`);
  const body = parameters.join("\n");
  return `${body.includes("base64.") ? "import base64\n" : ""}import boto3

dynamodb = boto3.client("dynamodb", endpoint_url="${endpoint}")
answer = dynamodb.${kebab(operation).replaceAll("-", "_")}(
${body}
)`;
}

export function javascriptCode(operation, input, endpoint) {
  const parameters = Object.entries(input).map(([name, value]) => `    ${name}: ${literal(value, "javascript", 1, HOLD_VALUES.includes(name))},`);
  return `import { DynamoDBClient, ${operation}Command } from "@aws-sdk/client-dynamodb";

const client = new DynamoDBClient({ endpoint: "${endpoint}" });
const answer = await client.send(new ${operation}Command({
${parameters.join("\n")}
}));`;
}

/* --- PartiQL --- */

const quoted = (text) => `'${text.replaceAll("'", "''")}'`;
export const identifier = (name) => `"${name.replaceAll('"', '""')}"`;

/* There are no literals of binaries. */
function hasBinary(value) {
  const content = contentOf(value);
  switch (typeOf(value)) {
    case "B": case "BS": return true;
    case "L": return content.some(hasBinary);
    case "M": return Object.values(content).some(hasBinary);
    default: return false;
  }
}

function partiqlLiteral(value) {
  const content = contentOf(value);
  switch (typeOf(value)) {
    case "S": return quoted(content);
    case "N": return content;
    case "BOOL": return String(content).toUpperCase();
    case "NULL": return "NULL";
    case "SS": return `<<${content.map(quoted).join(", ")}>>`;
    case "NS": return `<<${content.join(", ")}>>`;
    case "L": return `[${content.map(partiqlLiteral).join(", ")}]`;
    default: return `{${Object.entries(content).map(([name, one]) => `${quoted(name)}: ${partiqlLiteral(one)}`).join(", ")}}`;
  }
}

/* text(value) gives a literal, or `?` and adds a parameter, which cannot be a part of a value. */
function operands() {
  const parameters = [];
  return {
    parameters,
    text(value) {
      if (!hasBinary(value)) {
        return partiqlLiteral(value);
      }
      parameters.push(value);
      return "?";
    },
  };
}

/* One condition of the query builder: {steps, op, values}. */
function partiqlCondition({ steps, op, values }, operandText) {
  const name = pathText(steps, identifier);
  const texts = values.map(operandText);
  const [first, second] = texts;
  switch (op) {
    case "between": return `${name} BETWEEN ${first} AND ${second}`;
    case "begins_with": return `begins_with(${name}, ${first})`;
    case "contains": return `contains(${name}, ${first})`;
    /* An expression's <> and NOT contains are true for an item without the attribute; those of PartiQL are not. */
    case "not_contains": return `(${name} IS MISSING OR NOT contains(${name}, ${first}))`;
    case "<>": return `(${name} IS MISSING OR ${name} <> ${first})`;
    case "exists": return `${name} IS NOT MISSING`;
    case "not_exists": return `${name} IS MISSING`;
    case "in": return `${name} IN [${texts.join(", ")}]`;
    default: return `${name} ${op} ${first}`;
  }
}

/* query: {table, index, conditions, projection: [steps of paths], isBackward, sortKey}. Gives {statement, parameters}. */
export function partiqlCode({ table, index, conditions, projection, isBackward, sortKey }) {
  const { text, parameters } = operands();
  const from = identifier(table) + (index ? `.${identifier(index)}` : "");
  const where = conditions.length > 0 ? `\nWHERE ${conditions.map((one) => partiqlCondition(one, text)).join("\n  AND ")}` : "";
  const order = isBackward && sortKey ? `\nORDER BY ${identifier(sortKey)} DESC` : "";
  const columns = projection.length > 0 ? projection.map((steps) => pathText(steps, identifier)).join(", ") : "*";
  return { statement: `SELECT ${columns}\nFROM ${from}${where}${order}`, parameters };
}

export function insertCode(table, item) {
  const { text, parameters } = operands();
  const members = Object.entries(item).map(([name, value]) => `  ${quoted(name)}: ${text(value)}`);
  return { statement: `INSERT INTO ${identifier(table)} VALUE {\n${members.join(",\n")}\n}`, parameters };
}
