/* The page "Access patterns" of an application: what it asks of the database, what that costs, and what this server
 * has measured. All from GET /NAME/api/patterns. */
import { createApi } from "./api.js";
import { useEvery, useLoad } from "./load.js";
import { APPS, Loaded, Shell } from "./ui.jsx";

const REFRESH_SECONDS = 10;
const units = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });
const counts = new Intl.NumberFormat();

export function Patterns({ app }) {
  const [, title] = APPS.find(([name]) => name === app);
  const load = useLoad(() => createApi(app).get("/patterns"), [app]);
  useEvery(REFRESH_SECONDS, load.reload);
  return (
    <Shell app={app} title={`${title}: access patterns`} lead="What the application asks of its table, and what it costs."
           actions={<a class="button" href={`/${app}/`}>Back</a>}>
      <Loaded of={load}>
        {({ patterns, measured, workload, cost }) => (
          <div class="stack">
            {cost && <Cost workload={workload} cost={cost} />}
            <PatternTable patterns={patterns} measured={measured} />
            {workload && <Workload workload={workload} />}
          </div>
        )}
      </Loaded>
    </Shell>
  );
}

/* Costs are often fractions of a cent: never rounded to nothing. */
function moneyText(value, currency) {
  const digits = value === 0 || value >= 0.01 ? 2 : Math.min(10, 1 - Math.floor(Math.log10(value)));
  return new Intl.NumberFormat(undefined, { style: "currency", currency, currencyDisplay: "narrowSymbol", minimumFractionDigits: 2, maximumFractionDigits: Math.max(2, digits) })
    .format(value);
}

/* The workload as its author counts units, as they are here, and (if it has the prices) with provisioned capacity. */
function Cost({ workload, cost }) {
  const money = (value) => moneyText(value, cost.currency ?? "USD");
  const { here, provisioned } = cost;
  const isMeasured = workload.operations.some(({ unitsHereAre }) => unitsHereAre === "measured");
  const author = workload.source === "document" ? "as the document counts" : "as assumed";
  const rows = [
    [`On demand, ${author}`, cost],
    [`On demand, as ${isMeasured ? "measured or declared" : "declared"} here`, here],
    ...(provisioned ? [[`Provisioned, ${author}: ${provisioned.readCapacity} RCU, ${provisioned.writeCapacity} WCU`, provisioned]] : []),
  ].map(([label, { total, reads, writes, storage }]) => [label, <strong>{money(total)}</strong>, ...[reads, writes, storage].map(money)]);
  return (
    <section aria-label="Cost per month">
      <h2>Cost per month</h2>
      <Table label="Cost per month" rows={rows} columns={[["How it is counted"], ["Total per month", "number"], ["Reads", "number"], ["Writes", "number"],
        [`Storage, ${workload.storageGb} GB`, "number"]]} />
    </section>
  );
}

/* Cells carry their column's name, which phones show beside the value. */
function Table({ label, columns, rows }) {
  return (
    <table role="table" aria-label={label} class="cards">
      <thead role="rowgroup">
        <tr role="row">{columns.map(([name, kind]) => <th key={name} role="columnheader" scope="col" class={kind}>{name}</th>)}</tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((cells, index) => (
          <tr key={index} role="row">
            {cells.map((cell, column) => (
              <td key={column} role="cell" class={columns[column][1]} data-name={columns[column][0]}>{cell === "" ? "" : <div>{cell}</div>}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/* What was measured is shown if the database can tell. */
function PatternTable({ patterns, measured }) {
  const rows = patterns.map(({ name, what, operation, table, index, key, complexity, scans, unitsMax, itemsMax, live }) => [
    <><strong>{name}</strong><br /><small>{what}</small></>,
    <>{operation}<br /><small>{table}{index && `, ${index}`}</small>{key && <><br /><code>{key}</code></>}</>,
    complexity, scans ? "yes" : "no", unitsMax ?? "", itemsMax ?? "",
    ...(measured ? [
      <>{live ? counts.format(live.requests) : 0}{live?.togetherWith && <><br /><small>with {live.togetherWith.join(", ")}</small></>}</>,
      live ? units.format(live.unitsEach) : "",
    ] : []),
  ]);
  return (
    <section aria-label="Patterns">
      <h2>Patterns</h2>
      {!measured && <p class="muted">This database does not tell what it has measured.</p>}
      <Table label="Patterns" rows={rows} columns={[["Pattern"], ["Request"], ["Complexity"], ["Scans table?"], ["Units at most", "number"], ["Items at most", "number"],
        ...(measured ? [["Requests measured", "number"], ["Units each", "number"]] : [])]} />
    </section>
  );
}

function Workload({ workload }) {
  const { operations, prices, source, note } = workload;
  const money = (value) => moneyText(value, prices.currency ?? "USD");
  const rows = operations.map(({ what, kind, count, per, units: each, unitsPerMonth, costPerMonth, unitsHere, unitsHereAre, costPerMonthHere }) => [
    what, kind, `${counts.format(count)} per ${per}`, units.format(each), counts.format(unitsPerMonth), money(costPerMonth),
    <>{units.format(unitsHere)}<br /><small>{unitsHereAre}</small></>, money(costPerMonthHere),
  ]);
  return (
    <section aria-label="Workload">
      <h2>Workload</h2>
      <p class="muted">
        {source === "document" ? "As the document of the data model has it." : "Assumed: the document of the data model names none."} {note}{" "}
        Prices: {money(prices.readMillion)} per million read units, {money(prices.writeMillion)} per million write units,{" "}
        {money(prices.storageGbMonth)} per GB and month
        {prices.readUnitHour && <>; provisioned: {money(prices.readUnitHour)} per RCU and hour, {money(prices.writeUnitHour)} per WCU and hour</>}.
      </p>
      <Table label="Workload" rows={rows} columns={[["Operation"], ["Kind"], ["How often"], ["Units", "number"], ["Units per month", "number"],
        ["Cost per month", "number"], ["Units here", "number"], ["Cost per month here", "number"]]} />
    </section>
  );
}
