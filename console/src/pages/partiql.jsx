/* A PartiQL editor: runs statements, shows how they are carried out and what they cost. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Editor } from "../editor.jsx";
import { identifier } from "../lib/code.js";
import { call, callAsProgram, credentials, timed } from "../lib/dynamo.js";
import { count, duration, plural, unit } from "../lib/format.js";
import { useSettled } from "../lib/load.js";
import { isExplainable, readPlan, statementsOf, targetOf, writeOf } from "../lib/plan.js";
import { columnsOf, describe, keyOf, knownTable, primaryKey, useTables } from "../lib/schema.js";
import { Grid } from "../table/grid.jsx";
import { ItemDialog } from "../table/item_dialog.jsx";
import { Badge, Empty, Failure, Head, Icon, Panel, toast } from "../ui.jsx";

const KEY = "gramme.statements";
const PAGE = 100;
const KEPT = 30;

/* Statements can hold data: on a server that asks for an access key they stay in this tab, as the key does. */
const memory = () => (credentials.get() ? sessionStorage : localStorage);

const remembered = () => {
  try {
    return JSON.parse(memory().getItem(KEY)) ?? [];
  } catch {
    return [];
  }
};

/* Runs one statement, with more of the answers before if `more` is what an earlier run gave. */
async function run(statement, before, signal) {
  const start = before?.next;
  const { answer, ms } = await timed(callAsProgram, "ExecuteStatement", { Statement: statement, Limit: PAGE, ReturnConsumedCapacity: "INDEXES", ...(start && { NextToken: start }) }, signal);
  const units = answer.ConsumedCapacity?.CapacityUnits ?? 0;
  return {
    statement, items: [...(before?.items ?? []), ...(answer.Items ?? [])], next: answer.NextToken ?? null, ms: (before?.ms ?? 0) + ms, units: (before?.units ?? 0) + units, capacity: answer.ConsumedCapacity, requests: (before?.requests ?? 0) + 1,
  };
}

const PLAN_COLOURS = { get: "good", query: "good", scan: "warn", write: "accent", error: "bad" };
const PLANS_MAX = 10;

/* The server's plan of each statement, once it is no longer being typed; null: it has none. */
function usePlans(statements, names) {
  const [plans, setPlans] = useState({});
  const texts = useSettled(JSON.stringify(statements.map((one) => one.text)), 400);
  useEffect(() => {
    const abort = new AbortController();
    for (const text of JSON.parse(texts).slice(0, PLANS_MAX).filter((one) => !plans[one] && isExplainable(one, names))) {
      call("ExplainStatement", { Statement: text }, abort.signal).then(({ Plan }) => readPlan(Plan), (error) => (error.name === "ValidationException" ? { kind: "error", text: error.message, details: [] } : null))
        .then((plan) => plan && !abort.signal.aborted && setPlans((old) => ({ ...old, [text]: plan })));
    }
    return () => abort.abort();
  }, [texts, names.length]);
  return statements.map((one) => plans[one.text] ?? writeOf(one.text));
}

export function PartiQL({ query }) {
  const { names } = useTables();
  const [text, setText] = useState(query.statement ?? remembered()[0] ?? "");
  const [epoch, setEpoch] = useState(0);
  const [results, setResults] = useState([]);
  const [isBusy, setBusy] = useState(false);
  const [history, setHistory] = useState(remembered);
  const [, setKnown] = useState(0); /* counts descriptions that arrived */
  const running = useRef(null);
  const write = (statement) => {
    setText(statement);
    setEpoch((old) => old + 1);
  };
  useEffect(() => {
    if (query.statement) {
      write(query.statement);
    }
  }, [query.statement]);
  const statements = useMemo(() => statementsOf(text), [text]);
  const targets = [...new Set(statements.map((one) => targetOf(one.text)?.table).filter((name) => name && names?.includes(name)))];
  useEffect(() => { /* completion needs the tables' keys */
    for (const name of targets.filter((one) => !knownTable(one))) {
      describe(name).then(() => setKnown((old) => old + 1), () => {});
    }
  }, [targets.join()]);
  const plans = usePlans(statements, names ?? []);

  async function execute() {
    if (statements.length === 0 || isBusy) {
      return;
    }
    running.current = new AbortController();
    setBusy(true);
    setResults([]);
    const next = [text, ...history.filter((one) => one !== text)].slice(0, KEPT);
    memory().setItem(KEY, JSON.stringify(next));
    setHistory(next);
    for (const one of statements) {
      try {
        const result = await run(one.text, null, running.current.signal);
        setResults((old) => [...old, result]);
      } catch (error) {
        if (error.name !== "AbortError") {
          setResults((old) => [...old, { statement: one.text, error }]);
        }
        break;
      }
    }
    setBusy(false);
  }
  async function more(i) {
    setBusy(true);
    running.current = new AbortController();
    try {
      const result = await run(results[i].statement, results[i], running.current.signal);
      setResults((old) => old.map((one, at) => (at === i ? result : one)));
    } catch (error) {
      toast.error(error);
    }
    setBusy(false);
  }
  const completions = () => [
    ...(names ?? []).slice(0, 2000).map((name) => ({ label: `"${name}"`, type: "class", detail: "table" })),
    ...targets.flatMap((name) => (knownTable(name)?.AttributeDefinitions ?? []).map((one) => ({ label: one.AttributeName, type: "property", detail: "key" }))),
    ...results.flatMap((one) => columnsOf(null, (one.items ?? []).slice(0, 20))).map((name) => ({ label: name, type: "property" })),
  ].filter((one, i, all) => all.findIndex((other) => other.label === one.label) === i);
  return (
    <>
      <Head title="PartiQL" sub="Statements end with ; and run in order. Ctrl+Enter runs." />
      <div class="stack">
        <section class="panel" aria-label="Statement">
          <div class="body">
            <Editor label="PartiQL statement" language="sql" value={text} epoch={epoch} onInput={setText} onRun={execute} minHeight={110} maxHeight={360} names={completions} />
            <ul class="plans" aria-label="Plan">
              {plans.map((plan, i) => plan && (
                <li key={i}><Badge kind={PLAN_COLOURS[plan.kind]}>{plan.kind}</Badge> {plan.text}{plan.details.map((line) => <div key={line} class="muted small">{line}</div>)}</li>
              ))}
            </ul>
          </div>
          <footer class="row between">
            <span class="row">
              {isBusy ? <button type="button" onClick={() => running.current.abort()}><Icon name="pause" />Stop</button>
                : <button type="button" class="primary" disabled={statements.length === 0} onClick={execute}><Icon name="play" />Run{statements.length > 1 && ` ${statements.length} statements`}</button>}
              {history.length > 0 && (
                <select aria-label="Earlier statements" class="auto history" value="" onChange={(event) => { write(history[Number(event.currentTarget.value)]); event.currentTarget.value = ""; }}>
                  <option value="" disabled selected>Earlier…</option>
                  {history.map((one, i) => <option key={one} value={i}>{one.replace(/\s+/g, " ").slice(0, 80)}</option>)}
                </select>
              )}
            </span>
            <Examples names={names ?? []} onChoose={write} />
          </footer>
        </section>
        {results.map((result, i) => <Result key={i} result={result} isBusy={isBusy} onMore={() => more(i)} onChanged={execute} />)}
        {results.length === 0 && !isBusy && <Panel><Empty><p>Results appear here.</p></Empty></Panel>}
      </div>
    </>
  );
}

/* Statements to start from, for the first table. */
function Examples({ names, onChoose }) {
  const [table] = names;
  async function choose(kind) {
    try {
      const description = knownTable(table) ?? await describe(table);
      const [hash] = primaryKey(description);
      const { Items } = await call("Scan", { TableName: table, Limit: 1 });
      const value = Items[0] ? Object.values(Items[0][hash])[0] : "value";
      const literal = Items[0]?.[hash].N !== undefined ? value : `'${String(value).replaceAll("'", "''")}'`;
      onChoose(kind === "all" ? `SELECT * FROM "${table}"` : `SELECT * FROM "${table}"\nWHERE ${identifier(hash)} = ${literal}`);
    } catch (error) {
      toast.error(error);
    }
  }
  return table && <span class="row small"><span class="muted">Start with</span><button type="button" class="link" onClick={() => choose("key")}>one key</button><button type="button" class="link" onClick={() => choose("all")}>all items</button></span>;
}

function Result({ result, isBusy, onMore, onChanged }) {
  const [opened, setOpened] = useState(null);
  const { statement, error, items, next, units, ms, requests, capacity } = result;
  if (error) {
    return <Panel title={<code>{statement.replace(/\s+/g, " ").slice(0, 120)}</code>}><Failure error={error} /></Panel>;
  }
  const target = targetOf(statement);
  const table = knownTable(target?.table);
  const parts = [...Object.entries(capacity?.GlobalSecondaryIndexes ?? {}), ...Object.entries(capacity?.LocalSecondaryIndexes ?? {})];
  async function open(item) {
    try {
      const key = keyOf(table, item);
      const { Item } = Object.values(key).every(Boolean) ? await call("GetItem", { TableName: table.TableName, Key: key, ConsistentRead: true }) : {};
      if (Item) {
        setOpened(Item);
      } else {
        toast("The item cannot be opened: its keys were not read, or it is gone.", "bad");
      }
    } catch (problem) {
      toast.error(problem);
    }
  }
  return (
    <Panel flush title={<span class="summary" role="status">{target?.verb === "SELECT" ? plural(items.length, "item") : "Done"}
      <span class="facts"><span>{unit(units)} units{parts.length > 0 && ` (${parts.map(([name, one]) => `${name} ${unit(one.CapacityUnits)}`).join(", ")})`}</span><span>{duration(ms * 1000)}</span>{requests > 1 && <span>{count(requests)} requests</span>}</span></span>}
           actions={next && <button type="button" disabled={isBusy} onClick={onMore}>More</button>}>
      {items.length > 0 ? <Grid items={items} columns={columnsOf(table, items)} keys={table ? primaryKey(table) : []} onOpen={table ? open : undefined} label="Result" maxHeight="480px" /> : <div class="body muted">{next ? "No item matched so far." : target?.verb === "SELECT" ? "No item matches." : statement.replace(/\s+/g, " ").slice(0, 160)}</div>}
      {opened && <ItemDialog table={table} item={opened} onClose={() => setOpened(null)} onSaved={onChanged} />}
    </Panel>
  );
}
