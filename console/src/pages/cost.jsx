/* What the traffic would cost on AWS, and what it would cost if something were different. */
import { useMemo, useState } from "preact/hooks";
import { insight } from "../lib/dynamo.js";
import { bytes, count, money, percent, plural, unit } from "../lib/format.js";
import { useLoad, useSettled } from "../lib/load.js";
import { go, replace, to } from "../lib/route.js";
import { Badge, DataTable, Empty, Field, Head, Loaded, Panel, Segment, Select, Stats } from "../ui.jsx";

const TABLES_SHOWN = 20;

/* What-if in the address: traffic, itemSize, drop and projection as JSON lists. */
function whatIfOf(query) {
  const list = (text) => {
    try {
      return JSON.parse(text) ?? [];
    } catch {
      return [];
    }
  };
  return { traffic: Number(query.traffic) || 1, itemSize: Number(query.itemSize) || 1, dropIndex: list(query.drop), projection: list(query.projection), prices: query.prices ?? "", offset: Number(query.offset) || 0 };
}

export function Cost({ query }) {
  const asked = useMemo(() => whatIfOf(query), [JSON.stringify(query)]);
  const settled = useSettled(asked, 200);
  const isWhatIf = asked.traffic !== 1 || asked.itemSize !== 1 || asked.dropIndex.length > 0 || asked.projection.length > 0;
  const load = useLoad(() => insight("cost", {
    prices: settled.prices, limit: TABLES_SHOWN, offset: settled.offset, ...(settled.traffic !== 1 && { traffic: settled.traffic }), ...(settled.itemSize !== 1 && { itemSize: settled.itemSize }), dropIndex: settled.dropIndex, projection: settled.projection,
  }), [settled]);
  const prices = useLoad(() => insight("prices"), []);
  const change = (part) => {
    const next = { ...asked, ...part };
    replace(["cost"], { traffic: next.traffic === 1 ? null : next.traffic, itemSize: next.itemSize === 1 ? null : next.itemSize, drop: next.dropIndex.length ? JSON.stringify(next.dropIndex) : null,
      projection: next.projection.length ? JSON.stringify(next.projection) : null, prices: next.prices, offset: next.offset || null });
  };
  return (
    <>
      <Head title="Cost" sub={`A month of 730 hours at the rate of the traffic seen so far${load.data ? `, which is ${observedText(load.data.observedHours)}` : ""}, by the service's prices.`}>
        {prices.data && <Select aria-label="Prices" class="auto" options={prices.data.prices.map((one) => [one.name, `${one.name}, ${one.date}`])} value={asked.prices || prices.data.default} onChange={(name) => change({ prices: name })} />}
      </Head>
      <Loaded of={load}>{(data) => <Bill data={data} asked={asked} change={change} isWhatIf={isWhatIf} />}</Loaded>
    </>
  );
}

/* "3 minutes", "1.5 hours" */
function observedText(hours) {
  const [value, name] = hours < 1 ? [Math.max(1, Math.round(hours * 60)), "minute"] : hours < 48 ? [Math.round(hours * 10) / 10, "hour"] : [Math.round(hours / 24), "day"];
  return plural(value, name);
}

function Bill({ data, asked, change, isWhatIf }) {
  const currency = data.prices.currency;
  const show = (value) => money(value, currency);
  const other = data.whatIf;
  const delta = other && other.total.monthly - data.total.monthly;
  const otherTable = (name) => other?.tables.find((one) => one.table === name);
  return (
    <div class="stack">
      <Stats label="Per month" items={[
        ["Per month", show(data.total.monthly)], ["Requests", show(data.total.requests)], ["Storage", show(data.total.storage)], ["Streams", show(data.total.streams)],
        other && ["What if", show(other.total.monthly), `${delta >= 0 ? "+" : "−"}${show(Math.abs(delta))}`, delta > 0 ? "bad" : "good"],
      ]} />
      <WhatIf data={data} asked={asked} change={change} isWhatIf={isWhatIf} />
      {data.tables.length === 0 ? <Panel><Empty title="Nothing to charge yet"><p>Tables appear here with their storage, and with the requests they got.</p></Empty></Panel> : data.tables.map((table) => (
        <TableBill key={table.table} table={table} whatIf={otherTable(table.table)} show={show} asked={asked} change={change} />
      ))}
      <TablePages total={data.tableCount} offset={asked.offset} shown={data.tables.length} change={change} />
      {data.patterns.length > 0 && (
        <Panel flush title="Costliest patterns">
          <DataTable label="Costliest patterns" rows={(other ?? data).patterns} rowKey={(one) => one.id} onOpen={(one) => go(["patterns", one.id])} columns={[
            { id: "text", label: "Pattern", cell: (one) => <a class="plain-link" href={to(["patterns", one.id])}>{one.text}</a>, class: "wrap" },
            { id: "read", label: "Read units", num: true, cell: (one) => unit(one.readUnits) }, { id: "write", label: "Write units", num: true, cell: (one) => unit(one.writeUnits) },
            { id: "monthly", label: "Per month", num: true, cell: (one) => show(one.monthly) },
          ]} />
        </Panel>
      )}
    </div>
  );
}

/* Tables come in pages, the most expensive first. */
function TablePages({ total, offset, shown, change }) {
  if (total <= TABLES_SHOWN && offset === 0) {
    return null;
  }
  return (
    <nav class="row" aria-label="Pages of tables">
      <button type="button" disabled={offset === 0} onClick={() => change({ offset: Math.max(0, offset - TABLES_SHOWN) })}>Previous</button>
      <span>{shown === 0 ? "No tables" : `Tables ${count(offset + 1)} to ${count(offset + shown)}`} of {count(total)}, the most expensive first</span>
      <button type="button" disabled={offset + TABLES_SHOWN >= total} onClick={() => change({ offset: offset + TABLES_SHOWN })}>Next</button>
    </nav>
  );
}

const FACTORS = [0.1, 0.5, 1, 2, 10, 100];

function WhatIf({ data, asked, change, isWhatIf }) {
  return (
    <Panel title="What if" actions={isWhatIf && <button type="button" class="little" onClick={() => change({ traffic: 1, itemSize: 1, dropIndex: [], projection: [] })}>Reset</button>}>
      <div class="what-if">
        <div class="field"><span class="legend" id="traffic">Traffic</span><Segment label="Traffic" options={FACTORS.map((one) => [one, `×${one}`])} value={asked.traffic} onChange={(traffic) => change({ traffic })} /></div>
        <div class="field"><span class="legend">Size of items</span><Segment label="Size of items" options={[0.25, 0.5, 1, 2, 4].map((one) => [one, `×${one}`])} value={asked.itemSize} onChange={(itemSize) => change({ itemSize })} /></div>
        <p class="muted small">Indexes can be dropped, or made to hold other attributes, in the tables below.{asked.dropIndex.length + asked.projection.length > 0 && ` ${asked.dropIndex.length + asked.projection.length} changed.`}</p>
      </div>
      {data.whatIf?.changes && <p class="small">{Array.isArray(data.whatIf.changes) ? data.whatIf.changes.join("; ") : data.whatIf.changes}</p>}
      {!data.whatIf?.changes && data.changes && <p class="small">{Array.isArray(data.changes) ? data.changes.join("; ") : data.changes}</p>}
    </Panel>
  );
}

function TableBill({ table, whatIf, show, asked, change }) {
  const cheaper = table.billing === "PAY_PER_REQUEST" ? table.provisioned : table.onDemand;
  const saving = table.monthly - cheaper.monthly;
  const isDropped = (part) => asked.dropIndex.includes(`${table.table}/${part.index}`);
  const projected = (part) => {
    const id = `${table.table}/${part.index}:`;
    return asked.projection.find((one) => one.startsWith(id))?.slice(id.length);
  };
  const setIndex = (part, value) => {
    const id = `${table.table}/${part.index}`;
    const dropIndex = asked.dropIndex.filter((one) => one !== id);
    const projection = asked.projection.filter((one) => !one.startsWith(`${id}:`));
    change({ dropIndex: value === "drop" ? [...dropIndex, id] : dropIndex, projection: value && value !== "drop" ? [...projection, `${id}:${value}`] : projection });
  };
  const chosen = (part) => (isDropped(part) ? "drop" : projected(part)?.startsWith("INCLUDE") ? "INCLUDE" : projected(part) ?? "");
  const included = (part) => (projected(part) ?? "").slice("INCLUDE(".length, -1);
  return (
    <Panel flush title={<a class="plain-link" href={to(["tables", table.table])}>{table.table}</a>} actions={<>
      <Badge>{table.billing === "PAY_PER_REQUEST" ? "on-demand" : "provisioned"}</Badge>
      <strong>{show(table.monthly)}</strong>{whatIf && whatIf.monthly !== table.monthly && <span class={whatIf.monthly > table.monthly ? "bad" : "good"}>→ {show(whatIf.monthly)}</span>}
    </>} footer={<span class="facts">
      <span>On-demand {show(table.onDemand.monthly)}</span>
      <span>Provisioned {show(table.provisioned.monthly)} ({unit(table.provisioned.readUnits)} R, {unit(table.provisioned.writeUnits)} W)</span>
      {table.utilization !== null && table.utilization !== undefined && <span>Utilization {percent(table.utilization)}, break-even {percent(table.breakEvenUtilization)}</span>}
      <span>Standard {show(table.standard.monthly)}</span><span>Infrequent access {show(table.infrequentAccess.monthly)}</span>
      {saving > 0.005 && <span class="good">{table.billing === "PAY_PER_REQUEST" ? "Provisioned" : "On-demand"} would save {show(saving)}</span>}
    </span>}>
      <DataTable label={`Cost of ${table.table}`} rows={table.parts} rowKey={(part) => part.index ?? ""} columns={[
        { id: "name", label: "Part", cell: (part) => (part.index ? <span class={isDropped(part) ? "dropped" : ""}>{part.index} <span class="muted">index</span></span> : "Table"), class: "wrap" },
        { id: "read", label: "Read units", num: true, cell: (part) => unit(part.readUnits) }, { id: "write", label: "Write units", num: true, cell: (part) => unit(part.writeUnits) },
        { id: "stored", label: "Stored", num: true, cell: (part) => bytes(part.storedBytes) },
        { id: "requests", label: "Requests", num: true, cell: (part) => show(part.requests) }, { id: "storage", label: "Storage", num: true, cell: (part) => show(part.storage) }, { id: "monthly", label: "Per month", num: true, cell: (part) => show(part.monthly) },
        { id: "what", label: "What if", cell: (part) => part.index && <>
          <Select aria-label={`What if ${part.index} of ${table.table}`} class="auto little-select" options={[["", "as it is"], ["drop", "dropped"], ["KEYS_ONLY", "keys only"], ["INCLUDE", "keys and …"], ["ALL", "all attributes"]]}
            value={chosen(part)} onChange={(value) => setIndex(part, value === "INCLUDE" ? "INCLUDE(name)" : value)} />
          {chosen(part) === "INCLUDE" && <input aria-label={`Attributes of ${part.index} of ${table.table}`} value={included(part)} onChange={(event) => setIndex(part, `INCLUDE(${event.target.value.split(",").map((name) => name.trim()).filter(Boolean).join(",") || "name"})`)} />}
        </> },
      ]} />
    </Panel>
  );
}
