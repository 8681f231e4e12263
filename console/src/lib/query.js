/* What the query builder holds, and the request that it generates. It is kept in the page's address:
 *   index    name of an index, or nothing
 *   key      values of the partition key, by name
 *   sort     conditions on sort keys: {name, op, values}
 *   filters  {path, op, type, values}
 *   fields   paths to read, or none: all
 *   backward, consistent */
import { partiqlCode } from "./code.js";
import { pathSteps, pathText } from "./path.js";
import { keyTypes, sourcesOf } from "./schema.js";

export const EMPTY = { index: null, key: {}, sort: [], filters: [], fields: [], backward: false, consistent: false };
export const SORT_OPS = [["=", "="], ["begins_with", "begins with"], ["between", "between"], ["<", "<"], ["<=", "≤"], [">", ">"], [">=", "≥"]];
export const FILTER_OPS = [["=", "="], ["<>", "≠"], ["<", "<"], ["<=", "≤"], [">", ">"], [">=", "≥"], ["between", "between"],
  ["begins_with", "begins with"], ["contains", "contains"], ["not_contains", "does not contain"], ["in", "is one of"],
  ["exists", "exists"], ["not_exists", "does not exist"]];
export const operandCount = (op) => ({ between: 2, exists: 0, not_exists: 0 }[op] ?? 1);
const MAX_ADDRESS = 4000;

export function queryToAddress(query) {
  const changed = Object.fromEntries(Object.entries(query).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(EMPTY[name])));
  const text = JSON.stringify(changed);
  return text === "{}" || text.length > MAX_ADDRESS ? null : text;
}

export function queryFromAddress(text) {
  try {
    return { ...EMPTY, ...JSON.parse(text ?? "{}") };
  } catch {
    return EMPTY;
  }
}

export const sourceOf = (table, query) => sourcesOf(table).find((source) => source.name === (query.index || null)) ?? sourcesOf(table)[0];

/* Whether the partition key is given: a Query, not a Scan. */
export const isQuery = (table, query) => sourceOf(table, query).hash.every((name) => (query.key[name] ?? "") !== "");

/* The typed value of an operand that was typed in. */
function operand(type, text) {
  if (type === "BOOL") {
    return { BOOL: text !== "false" };
  }
  return type === "NULL" ? { NULL: true } : { [type]: type === "N" ? text.trim() : text };
}

/* Conditions on keys and filters: {steps, op, values}. Sort conditions without a value are not given. */
export function conditionsOf(table, query) {
  const types = keyTypes(table);
  const source = sourceOf(table, query);
  const conditions = { key: [], filter: [] };
  if (isQuery(table, query)) {
    conditions.key = source.hash.map((name) => ({ steps: [name], op: "=", values: [operand(types[name], query.key[name])] }));
    for (const { name, op, values } of query.sort) {
      if (source.range.includes(name) && values.slice(0, operandCount(op)).every((value) => value !== "" && value !== undefined)) {
        conditions.key.push({ steps: [name], op, values: values.slice(0, operandCount(op)).map((value) => operand(types[name], value)) });
      }
    }
  }
  conditions.filter = query.filters.filter(({ path }) => path.trim() !== "").map(({ path, op, type, values }) => ({
    steps: pathSteps(path.trim()),
    op,
    values: op === "in" ? (values[0] ?? "").split(",").map((value) => operand(type, value.trim())) : Array.from({ length: operandCount(op) }, (_, i) => operand(type, values[i] ?? "")),
  }));
  return conditions;
}

/* Names and values of expressions, each once. */
function placeholders() {
  const names = new Map();
  const values = {};
  const nameOf = (part) => {
    if (!names.has(part)) {
      const plain = `#${part.replace(/\W/g, "_")}`;
      const isFree = plain.length > 1 && ![...names.values()].includes(plain);
      names.set(part, isFree ? plain : `#n${names.size}`);
    }
    return names.get(part);
  };
  return {
    /* address.city[0] becomes #address.#city[0] */
    path: (steps) => pathText(steps, nameOf),
    value(steps, value) {
      const base = `:${steps.filter((step) => typeof step === "string").at(-1).replace(/\W/g, "_")}`;
      let name = base;
      for (let i = 2; name in values; i++) {
        name = `${base}${i}`;
      }
      values[name] = value;
      return name;
    },
    members: () => ({
      ...(names.size > 0 && { ExpressionAttributeNames: Object.fromEntries([...names].map(([part, name]) => [name, part])) }),
      ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
    }),
  };
}

function conditionText({ steps, op, values }, holders) {
  const name = holders.path(steps);
  const texts = values.map((value) => holders.value(steps, value));
  switch (op) {
    case "between": return `${name} BETWEEN ${texts[0]} AND ${texts[1]}`;
    case "begins_with": case "contains": return `${op}(${name}, ${texts[0]})`;
    case "not_contains": return `NOT contains(${name}, ${texts[0]})`;
    case "exists": return `attribute_exists(${name})`;
    case "not_exists": return `attribute_not_exists(${name})`;
    case "in": return `${name} IN (${texts.join(", ")})`;
    default: return `${name} ${op} ${texts[0]}`;
  }
}

/* {operation, input} of the API. With a filter there is no limit: it would count the items that are read, not those that match. */
export function requestOf(table, query, limit) {
  const { key, filter } = conditionsOf(table, query);
  const holders = placeholders();
  const input = { TableName: table.TableName };
  if (query.index) {
    input.IndexName = query.index;
  }
  const join = (conditions) => conditions.map((condition) => conditionText(condition, holders)).join(" AND ");
  if (key.length > 0) {
    input.KeyConditionExpression = join(key);
  }
  if (filter.length > 0) {
    input.FilterExpression = join(filter);
  }
  if (query.fields.length > 0) {
    input.ProjectionExpression = query.fields.map((path) => holders.path(pathSteps(path))).join(", ");
  }
  Object.assign(input, holders.members());
  if (query.backward && key.length > 0) {
    input.ScanIndexForward = false;
  }
  if (query.consistent) {
    input.ConsistentRead = true;
  }
  if (limit && filter.length === 0) {
    input.Limit = limit;
  }
  return { operation: key.length > 0 ? "Query" : "Scan", input };
}

/* The request as a statement of PartiQL: {statement, parameters}; null for an index with several key attributes of a kind, which
 * PartiQL cannot read. */
export function statementOf(table, query) {
  const { key, filter } = conditionsOf(table, query);
  const source = sourceOf(table, query);
  if (source.hash.length > 1 || source.range.length > 1) {
    return null;
  }
  return partiqlCode({
    table: table.TableName, index: query.index, conditions: [...key, ...filter], projection: query.fields.map(pathSteps),
    isBackward: query.backward && key.length > 0, sortKey: source.range[0],
  });
}
