/* Files into tables and tables into files, a piece at a time: neither is ever in memory as a whole. */
import { call } from "./dynamo.js";
import { csvHead, csvItems, csvLine, csvReader } from "./csv.js";
import { jsonSplitter, parseJson } from "./json.js";
import { fromPlain, isTypedItem, plainJson } from "./values.js";

const BATCH = 25;
const WORKERS = 4;
const TRIES = 10;
const PROBLEMS_KEPT = 20;

/* --- items from a file --- */

const plainObject = (value) => JSON.parse(JSON.stringify(value));

/* What one JSON object of a file holds: an item in either form, an item of an export to S3, the answer of a Scan, or a
 * file for BatchWriteItem. */
export function itemsOfJson(value) {
  const isObject = (one) => one !== null && typeof one === "object" && !Array.isArray(one);
  const one = (item) => (isTypedItem(item) ? plainObject(item) : fromPlain(item).M);
  const names = Object.keys(value);
  if (names.length === 1 && names[0] === "Item" && isTypedItem(value.Item)) {
    return [plainObject(value.Item)];
  }
  if (Array.isArray(value.Items) && names.every((name) => ["Items", "Count", "ScannedCount", "LastEvaluatedKey", "ConsumedCapacity", "NextToken"].includes(name))) {
    return value.Items.map(one);
  }
  const [requests] = Object.values(value);
  if (names.length === 1 && Array.isArray(requests) && requests.length > 0 && requests.every((request) => isObject(request) && isObject(request.PutRequest?.Item))) {
    return requests.map((request) => one(request.PutRequest.Item));
  }
  return [one(value)];
}

/* Calls take(items) for what each piece of the file completes; awaits it, so that reading does not run ahead of writing (back-pressure). */
async function readItems(file, { format, types, isPlain }, take, onProgress, signal) {
  const reader = file.stream().pipeThrough(new TextDecoderStream("utf-8", { fatal: true })).getReader();
  const splitter = format === "csv" ? csvReader() : jsonSplitter();
  const fromRecord = csvItems(types, isPlain);
  const items = (found) => (format === "csv" ? found.map(fromRecord).filter(Boolean) : found.flatMap((text) => itemsOfJson(parseJson(text))));
  let done = 0;
  for (;;) {
    const { value, done: isEnd } = await reader.read();
    if (signal.aborted) {
      await reader.cancel();
      return;
    }
    if (isEnd) {
      break;
    }
    await take(items(splitter.push(value)));
    done += value.length;
    onProgress(Math.min(1, done / file.size));
  }
  await take(items(format === "csv" ? splitter.finish() : (splitter.end(), [])));
}

/* Writes a batch until nothing of it is unprocessed. */
async function writeBatch(tableName, items, signal) {
  let requests = { [tableName]: items.map((Item) => ({ PutRequest: { Item } })) };
  for (let tries = 0; Object.keys(requests).length > 0; tries++) {
    if (tries > 0) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(2000, 25 * 2 ** tries)));
    }
    if (signal.aborted || tries === TRIES) {
      throw new Error("the server did not take all items");
    }
    try {
      requests = (await call("BatchWriteItem", { RequestItems: requests }, signal)).UnprocessedItems;
    } catch (error) {
      if (error.status !== 503 && error.name !== "ThrottlingException" && error.name !== "ProvisionedThroughputExceededException") {
        throw error;
      }
    }
  }
}

/* Imports a file. onProgress({share, written, failed}); gives {written, failed, problems}. An item that the server
 * refuses is counted and named; the others are written. */
export async function importFile(file, { tableName, keys, ...options }, onProgress, signal) {
  const state = { share: 0, written: 0, failed: 0, problems: [] };
  const fail = (item, error) => {
    state.failed++;
    if (state.problems.length < PROBLEMS_KEPT) {
      state.problems.push({ key: keys.map((name) => (item[name] ? Object.values(item[name])[0] : "–")).join(" "), message: error.message });
    }
  };
  async function write(items) {
    try {
      await writeBatch(tableName, items, signal);
      state.written += items.length;
    } catch (error) {
      if (signal.aborted || error.status === 0) {
        throw error;
      }
      for (const item of items) { /* one of them is bad: find out which */
        await call("PutItem", { TableName: tableName, Item: item }, signal).then(() => state.written++, (problem) => fail(item, problem));
      }
    }
    onProgress({ ...state });
  }
  let waiting = [];
  const flush = async (size) => {
    while (waiting.length >= size && waiting.length > 0 && !signal.aborted) {
      const group = waiting.splice(0, BATCH * WORKERS);
      const batches = [];
      for (let at = 0; at < group.length; at += BATCH) {
        batches.push(distinct(group.slice(at, at + BATCH), keys));
      }
      await Promise.all(batches.map(async (parts) => {
        for (const part of parts) {
          await write(part);
        }
      }));
    }
  };
  await readItems(file, options, async (items) => {
    waiting = waiting.concat(items);
    await flush(BATCH * WORKERS);
  }, (share) => { state.share = share; onProgress({ ...state }); }, signal);
  await flush(1);
  return { ...state, share: 1 };
}

/* A batch must not name a key twice: later ones go to batches of their own, in order. */
function distinct(items, keys) {
  const batches = [];
  for (const item of items) {
    const id = JSON.stringify(keys.map((name) => item[name]));
    let batch = batches.at(-1);
    if (!batch || batch.ids.has(id)) {
      batch = { ids: new Set(), items: [] };
      batches.push(batch);
    }
    batch.ids.add(id);
    batch.items.push(item);
  }
  return batches.map((batch) => batch.items);
}

/* --- a file from a table --- */

/* Scans the table; gives a Blob whose parts the browser may keep on disk. onProgress({items}). For CSV the columns are
 * those of `columns`, the attributes of a sample, and all items are read: attributes that first occur later are listed. */
export async function exportTable(tableName, { format, columns, index }, onProgress, signal) {
  const parts = [];
  const missing = new Set();
  let items = 0;
  let start;
  if (format === "csv") {
    parts.push(csvHead(columns));
  } else if (format === "plain") {
    parts.push("[\n");
  }
  do {
    const answer = await call("Scan", { TableName: tableName, ...(index && { IndexName: index }), ...(start && { ExclusiveStartKey: start }) }, signal);
    const texts = answer.Items.map((item, i) => {
      if (format === "csv") {
        Object.keys(item).filter((name) => !columns.includes(name)).forEach((name) => missing.add(name));
        return csvLine(columns, item);
      }
      return format === "plain" ? `${items + i > 0 ? ",\n" : ""}${plainJson({ M: item }, 0)}` : `${JSON.stringify({ Item: item })}\n`;
    });
    parts.push(new Blob([texts.join("")]));
    items += answer.Items.length;
    onProgress({ items });
    start = answer.LastEvaluatedKey;
  } while (start && !signal.aborted);
  signal.throwIfAborted();
  if (format === "plain") {
    parts.push("\n]\n");
  }
  return { blob: new Blob(parts, { type: format === "csv" ? "text/csv" : "application/json" }), items, missing: [...missing] };
}

export function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
