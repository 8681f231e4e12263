/* Tables: names, descriptions, keys. */
import { useEffect } from "preact/hooks";
import { call } from "./dynamo.js";
import { useEvery, useLoad } from "./load.js";
import { observable, useObservable } from "./observable.js";

/* Names of all tables, loaded page by page; {names, isComplete, error}, names null before the first page. */
export const tables = observable({ names: null, isComplete: false, error: null });
let loading = null;
let loadedAt = -Infinity;
const FRESH_MS = 5000;

export function loadTables() {
  loading ??= (async () => {
    const names = [];
    let start;
    try {
      do {
        const page = await call("ListTables", { Limit: 100, ...(start && { ExclusiveStartTableName: start }) });
        names.push(...page.TableNames);
        start = page.LastEvaluatedTableName;
        /* A list that was complete is replaced at once; a first one grows as it comes. */
        if (start && !tables.get().isComplete) {
          tables.set({ names: [...names], isComplete: false, error: null });
        }
      } while (start);
      tables.set({ names, isComplete: true, error: null });
      loadedAt = performance.now();
    } catch (error) {
      tables.set({ ...tables.get(), error });
    }
    loading = null;
  })();
  return loading;
}

export function useTables() {
  const value = useObservable(tables);
  useEffect(() => {
    if (performance.now() - loadedAt > FRESH_MS) {
      loadTables();
    }
  }, []);
  return value;
}

const descriptions = new Map();

export async function describe(name) {
  const { Table } = await call("DescribeTable", { TableName: name });
  descriptions.set(name, Table);
  return Table;
}

export const knownTable = (name) => descriptions.get(name) ?? null;
export const forget = (name) => descriptions.delete(name);

/* A table's description, with its time to live. While something of it is changing it is read again each second. */
export function useTable(name) {
  const load = useLoad(async () => {
    const [table, ttl] = await Promise.all([describe(name),
      call("DescribeTimeToLive", { TableName: name }).then((answer) => answer.TimeToLiveDescription, () => null)]);
    return { ...table, ttl };
  }, [name]);
  const table = load.data?.TableName === name ? load.data : null;
  const isChanging = table && (table.TableStatus !== "ACTIVE" || table.GlobalSecondaryIndexes?.some((index) => index.IndexStatus !== "ACTIVE"));
  useEvery(isChanging ? 1 : 0, load.reload);
  return { ...load, table };
}

/* --- keys; an index may have several attributes of a kind --- */

const attributes = (keySchema, kind) => keySchema.filter((key) => key.KeyType === kind).map((key) => key.AttributeName);

/* {name, kind, hash: [names], range: [names], projection, ...} of the table itself (name null) and its indexes. */
export function sourcesOf(table) {
  const source = (index, kind) => ({
    name: index?.IndexName ?? null,
    kind,
    hash: attributes((index ?? table).KeySchema, "HASH"),
    range: attributes((index ?? table).KeySchema, "RANGE"),
    projection: index?.Projection ?? null,
    status: index?.IndexStatus ?? table.TableStatus,
    isBackfilling: index?.Backfilling ?? false,
    items: index ? index.ItemCount : table.ItemCount,
    bytes: index ? index.IndexSizeBytes : table.TableSizeBytes,
  });
  return [source(null, "Table"), ...(table.GlobalSecondaryIndexes ?? []).map((index) => source(index, "Global index")),
    ...(table.LocalSecondaryIndexes ?? []).map((index) => source(index, "Local index"))];
}

export const keyTypes = (table) => Object.fromEntries(table.AttributeDefinitions.map((one) => [one.AttributeName, one.AttributeType]));
export const primaryKey = (table) => table.KeySchema.map((key) => key.AttributeName);
export const keyOf = (table, item) => Object.fromEntries(primaryKey(table).map((name) => [name, item[name]]));

/* Names of the attributes of items: the keys of the source, those of the table, then others by how often they occur. */
export function columnsOf(table, items, source = null) {
  const seen = new Map();
  for (const item of items) {
    for (const name of Object.keys(item)) {
      seen.set(name, (seen.get(name) ?? 0) + 1);
    }
  }
  const first = [...(source ? [...source.hash, ...source.range] : []), ...(table ? primaryKey(table) : [])];
  const others = [...seen.keys()].filter((name) => !first.includes(name)).sort((a, b) => seen.get(b) - seen.get(a) || (a < b ? -1 : 1));
  return [...new Set(first.filter((name) => seen.has(name) || items.length === 0)), ...others];
}
