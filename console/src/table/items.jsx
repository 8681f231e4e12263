/* Items of a table or index: query builder, results page by page, and the request as code. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { boto3Code, cliCode, javascriptCode } from "../lib/code.js";
import { call, timed } from "../lib/dynamo.js";
import { count, duration, plural, unit } from "../lib/format.js";
import { pathOf } from "../lib/path.js";
import { isQuery, queryFromAddress, queryToAddress, requestOf, sourceOf, statementOf } from "../lib/query.js";
import { replace, to } from "../lib/route.js";
import { columnsOf, keyOf, primaryKey } from "../lib/schema.js";
import { Code, Confirm, Empty, Failure, Icon, Notice, Panel, Segment, Select, StatementCode, Tabs, toast, Waiting } from "../ui.jsx";
import { typesOf } from "../lib/values.js";
import { Builder } from "./builder.jsx";
import { Grid } from "./grid.jsx";
import { ItemDialog } from "./item_dialog.jsx";

const PAGE_SIZES = [25, 50, 100, 250, 1000];
const REQUESTS_MAX = 20; /* per page, when a filter lets few items through */
const FILTERED_LIMIT = 1000; /* items to read by a request with a filter; a page may then have more than its size */

/* Reads until a page is full, the end is reached, or many requests were needed. */
async function readPage({ operation, input }, start, size, signal) {
  const page = { items: [], scanned: 0, units: 0, ms: 0, requests: 0, next: start };
  do {
    const { answer, ms } = await timed(call, operation,
      { ...input, Limit: input.FilterExpression ? Math.max(size, FILTERED_LIMIT) : size - page.items.length, ReturnConsumedCapacity: "TOTAL", ...(page.next && { ExclusiveStartKey: page.next }) }, signal);
    page.items.push(...answer.Items);
    page.scanned += answer.ScannedCount;
    page.units += answer.ConsumedCapacity?.CapacityUnits ?? 0;
    page.ms += ms;
    page.requests++;
    page.next = answer.LastEvaluatedKey ?? null;
  } while (page.next && page.items.length < size && page.requests < REQUESTS_MAX);
  return page;
}

export function Items({ table, query: address, reload }) {
  const [query, setQuery] = useState(() => queryFromAddress(address.q));
  const [asked, setAsked] = useState(query); /* what the results are of */
  const [size, setSize] = useState(50);
  const [starts, setStarts] = useState([null]); /* where each page up to the current one begins */
  const [state, setState] = useState({ page: null, error: null, isBusy: true });
  const [selected, setSelected] = useState(new Set());
  const [opened, setOpened] = useState(null);
  const [isDeleting, setDeleting] = useState(false);
  const [turn, setTurn] = useState(0);
  const running = useRef(null);
  const shownAddress = useRef(address.q);
  const start = starts.at(-1);

  useEffect(() => { /* another address, by the browser's buttons or a link */
    if (address.q !== shownAddress.current) {
      shownAddress.current = address.q;
      const next = queryFromAddress(address.q);
      setQuery(next);
      setAsked(next);
      setStarts([null]);
    }
  }, [address.q]);

  useEffect(() => {
    const controller = new AbortController();
    running.current = controller;
    setState((old) => ({ ...old, isBusy: true }));
    readPage(requestOf(table, asked, null), start, size, controller.signal).then(
      (page) => setState({ page, error: null, isBusy: false }),
      (error) => error.name !== "AbortError" && setState((old) => ({ page: error.status ? null : old.page, error, isBusy: false })));
    setSelected(new Set());
    return () => controller.abort();
  }, [table.TableName, asked, start, size, turn]);

  function run() {
    setAsked({ ...query });
    setStarts([null]);
    setTurn(turn + 1);
    const text = queryToAddress(query);
    shownAddress.current = text ?? undefined;
    replace(["tables", table.TableName, "items"], { q: text });
  }
  function stop() {
    running.current?.abort();
    setState((old) => ({ ...old, isBusy: false }));
  }
  const { page, error, isBusy } = state;
  const source = sourceOf(table, asked);
  const columns = useMemo(() => columnsOf(table, page?.items ?? [], source), [page, asked]);
  const isWhole = source.name === null || source.projection?.ProjectionType === "ALL";

  /* An index may hold a part of an item, and a projection reads a part: the editor needs all of it. */
  async function open(item) {
    const key = keyOf(table, item);
    if (Object.values(key).some((value) => !value)) {
      toast("The keys of this item were not read: leave the list of attributes empty to open items.", "bad");
      return;
    }
    if (isWhole && asked.fields.length === 0 && source.name === null) {
      setOpened({ item });
      return;
    }
    try {
      const { Item } = await call("GetItem", { TableName: table.TableName, Key: key, ConsistentRead: true });
      if (Item) {
        setOpened({ item: Item });
      } else {
        toast("The item is gone.", "bad");
      }
    } catch (problem) {
      toast.error(problem);
    }
  }
  async function removeSelected() {
    const keys = [...selected].map((i) => keyOf(table, page.items[i]));
    for (let at = 0; at < keys.length; at += 25) {
      let requests = { [table.TableName]: keys.slice(at, at + 25).map((Key) => ({ DeleteRequest: { Key } })) };
      for (let tries = 0; Object.keys(requests).length > 0; tries++) {
        if (tries > 8) {
          throw new Error("The server did not take all deletions; try again.");
        }
        await new Promise((resolve) => setTimeout(resolve, tries === 0 ? 0 : 25 * 2 ** tries)); /* it takes fewer at the moment */
        requests = (await call("BatchWriteItem", { RequestItems: requests })).UnprocessedItems;
      }
    }
    toast(`${plural(keys.length, "item")} deleted`);
    setTurn(turn + 1);
    reload();
  }
  return (
    <div class="stack">
      <Builder table={table} query={query} onChange={setQuery} onRun={run} isBusy={isBusy} onStop={stop} columns={columns}
               typeOf={(path) => typesOf(page?.items ?? [], columns.find((name) => pathOf(name) === path) ?? path)[0]?.[0]} />
      <Panel flush title={<Summary table={table} query={asked} page={page} isBusy={isBusy} />} actions={
        <>
          {selected.size > 0 && <button type="button" onClick={() => setDeleting(true)}><Icon name="trash" />Delete {count(selected.size)}</button>}
          <Select aria-label="Items per page" class="page-size" options={PAGE_SIZES.map((one) => [String(one), `${one} per page`])} value={String(size)} onChange={(value) => { setSize(Number(value)); setStarts([null]); }} />
          <button type="button" aria-label="Previous page" disabled={starts.length < 2 || isBusy} class="icon-only" onClick={() => setStarts(starts.slice(0, -1))}><Icon name="left" /></button>
          <span class="muted small nowrap">Page {starts.length}</span>
          <button type="button" aria-label="Next page" disabled={!page?.next || isBusy} class="icon-only" onClick={() => setStarts([...starts, page.next])}><Icon name="right" /></button>
          <button type="button" onClick={() => setOpened({ item: null })}><Icon name="plus" />New item</button>
        </>
      }>
        {error && <div class="body"><Failure error={error} retry={() => setTurn(turn + 1)} /></div>}
        {!page && !error && <Waiting />}
        {page && page.items.length === 0 && (
          <Empty title={page.next ? "No match so far" : "No items"}>
            {page.next ? <p>{count(page.scanned)} items were read and none matched. There are more.</p> : <p>{asked.filters.length > 0 || isQuery(table, asked) ? "No item matches." : "The table is empty."}</p>}
            {page.next && <button type="button" onClick={() => setStarts([...starts, page.next])}>Read on</button>}
          </Empty>
        )}
        {page && page.items.length > 0 && (
          <Grid items={page.items} columns={columns} keys={[...primaryKey(table), ...source.hash, ...source.range]} onOpen={open} selected={selected} onSelect={setSelected} />
        )}
      </Panel>
      <RequestCode table={table} query={query} size={size} />
      {opened && <ItemDialog table={table} item={opened.item} onClose={() => setOpened(null)} onSaved={() => { setTurn(turn + 1); reload(); }} />}
      {isDeleting && (
        <Confirm title={`Delete ${plural(selected.size, "item")}?`} submit="Delete" onSubmit={removeSelected} onClose={() => setDeleting(false)}>This cannot be undone.</Confirm>
      )}
    </div>
  );
}

/* What was read, and what it cost. */
function Summary({ table, query, page, isBusy }) {
  const operation = isQuery(table, query) ? "Query" : "Scan";
  if (!page) {
    return <span class="summary">{operation}{isBusy && <span class="muted"> · reading…</span>}</span>;
  }
  const wasted = page.scanned - page.items.length;
  return (
    <span class="summary" role="status" aria-busy={isBusy}>
      {operation}{query.index && <span class="muted"> on {query.index}</span>}
      <span class="facts">
        <span>{plural(page.items.length, "item")}</span>
        {wasted > 0 && <span class={wasted > page.items.length ? "warn" : ""}>{count(page.scanned)} read</span>}
        <span>{unit(page.units)} RCU</span>
        <span>{duration(page.ms * 1000)}</span>
        {page.requests > 1 && <span>{page.requests} requests</span>}
      </span>
    </span>
  );
}

function RequestCode({ table, query, size }) {
  const endpoint = location.origin;
  const { operation, input } = requestOf(table, query, size);
  const statement = statementOf(table, query);
  return (
    <section class="panel" aria-label="Request as code">
      <Tabs label="Request as code" tabs={[
        ["cli", "AWS CLI", <Code label="AWS CLI" text={cliCode(operation, input, endpoint)} />],
        ["boto3", "boto3", <Code label="boto3" text={boto3Code(operation, input, endpoint)} />],
        ["javascript", "JavaScript", <Code label="JavaScript" text={javascriptCode(operation, input, endpoint)} />],
        ...(statement ? [["partiql", "PartiQL", <StatementCode {...statement} />]] : []),
        ["json", "JSON", <Code label="JSON" text={JSON.stringify(input, null, 2)} />],
      ]} actions={statement?.parameters.length === 0 && <a class="button plain" href={to(["partiql"], { statement: statement.statement })}>Open in PartiQL</a>} />
    </section>
  );
}
