/* Heat: which partition keys, and which parts of the key space, take the load. */
import { insight } from "../lib/dynamo.js";
import { bytes, compact, count, moment, percent, unit } from "../lib/format.js";
import { useLoad, usePoll } from "../lib/load.js";
import { EMPTY, queryToAddress } from "../lib/query.js";
import { go, to } from "../lib/route.js";
import { contentOf, short } from "../lib/values.js";
import { Badge, DataTable, Empty, Head, Loaded, Notice, Panel, Stats } from "../ui.jsx";

export function Heat({ query }) {
  const load = useLoad(() => insight("heat"), []);
  usePoll(5, load);
  const places = load.data?.places ?? [];
  const chosen = query.table ? { table: query.table, index: query.index || null } : places[0];
  return (
    <>
      <Head title="Heat" sub="The service spreads a table over partitions by the hash of the partition key, and limits each. Here is where load would fall." />
      <Loaded of={load}>
        {() => (places.length === 0 && !chosen ? <Panel><Empty title="No load yet"><p>Reads and writes by key appear here.</p></Empty></Panel> : (
          <div class="heat">
            <Panel flush title="Tables and indexes">
              <ul class="places">
                {places.map((place) => (
                  <li key={`${place.table}.${place.index}`}>
                    <a href={to(["heat"], { table: place.table, index: place.index })} aria-current={place.table === chosen?.table && (place.index ?? null) === chosen?.index ? "true" : undefined}>
                      <span class="name">{place.table}{place.index && <span class="muted">.{place.index}</span>}</span>
                      <span class="muted small">{compact(place.accesses)} accesses · hottest key {percent(place.hottestShare)}</span>
                      <span class="meter"><i style={{ width: `${100 * place.hottestShare}%` }} class={place.hottestShare > 0.5 && place.accesses > 1000 ? "over" : ""} /></span>
                    </a>
                  </li>
                ))}
              </ul>
            </Panel>
            {chosen && <HeatOf key={`${chosen.table}.${chosen.index}`} table={chosen.table} index={chosen.index} />}
          </div>
        ))}
      </Loaded>
    </>
  );
}

export function HeatOf({ table, index }) {
  const load = useLoad(() => insight("heat", { table, index, limit: 50 }), [table, index]);
  usePoll(5, load);
  return <Loaded of={load}>{(data) => <HeatDetails data={data} table={table} index={index} />}</Loaded>;
}

function HeatDetails({ data, table, index }) {
  const over = data.keys.filter((key) => key.overReadLimit || key.overWriteLimit);
  const query = (key) => data.keyName && !key.cut && to(["tables", table, "items"], { q: queryToAddress({ ...EMPTY, index, key: { [data.keyName]: String(contentOf(key.key)) } }) });
  const keyText = (key) => (key.key ? short(key.key, 60) : "–") + (key.cut ? "…" : "");
  const limits = data.limits;
  return (
    <div class="stack">
      <Stats label="Load" items={[["Accesses", compact(data.accesses)], ["Read units", unit(data.readUnits)], ["Write units", unit(data.writeUnits)], ["Hottest key", data.keys[0] ? percent(data.keys[0].share) : "–", "of accesses"], ["Keys over a limit", count(over.length), null, over.length > 0 ? "bad" : ""]]} />
      {over.length > 0 && (
        <Notice kind="warn" title={`${count(over.length)} ${over.length === 1 ? "key" : "keys"} would be throttled by the service`}>
          A single key may use {count(limits.readUnitsPerSecond)} read and {count(limits.writeUnitsPerSecond)} write units a second.
        </Notice>
      )}
      <Panel title="Load by key range" footer={`64 equal parts of the hash space since ${moment(data.since)}`}><RangeMap ranges={data.ranges} /></Panel>
      <Panel flush title="Heaviest partition keys" footer={data.keys.some((key) => key.error > 0) || data.errorMax > 0 ? `Counted for ${count(data.keysTracked)} keys; the true number is at most the error lower. A key that is not listed had at most ${count(data.errorMax)} accesses.` : null}>
        {data.keys.length === 0 ? <Empty><p>No keys yet.</p></Empty> : (
          <DataTable label="Heaviest partition keys" rows={data.keys} rowKey={(key) => JSON.stringify(key.key)} maxHeight="440px" columns={[
            { id: "key", label: "Key", cell: (key) => (query(key) ? <a class="mono" href={query(key)}>{keyText(key)}</a> : <span class="mono">{keyText(key)}</span>), class: "wrap" },
            { id: "share", label: "Share", num: true, cell: (key) => <span class="share"><span class="meter"><i style={{ width: `${(100 * key.share) / Math.max(data.keys[0].share, 1e-9)}%` }} class={key.overReadLimit || key.overWriteLimit ? "over" : ""} /></span>{percent(key.share)}</span> },
            { id: "accesses", label: "Accesses", num: true, sort: (key) => key.accesses, cell: (key) => <>{count(key.accesses)}{key.error > 0 && <span class="muted"> −{count(key.error)}</span>}</> },
            { id: "read", label: "Read units", num: true, sort: (key) => key.readUnits, cell: (key) => unit(key.readUnits) },
            { id: "write", label: "Write units", num: true, sort: (key) => key.writeUnits, cell: (key) => unit(key.writeUnits) },
            { id: "peak", label: "Peak per second", num: true, cell: (key) => <Peak key_={key} limits={limits} /> },
          ]} />
        )}
      </Panel>
      {data.collections?.length > 0 && (
        <Panel flush title="Largest item collections" footer={data.collectionsAt ? `Of ${data.itemsExamined < data.itemsTotal ? `${count(data.itemsExamined)} of ${count(data.itemsTotal)} items in this sample, of samples before it, and of the keys with most writes` : "all items"}, ${moment(data.collectionsAt)}; with a local index a collection and its index entries may have 10 GB` : null}>
          <DataTable label="Largest item collections" rows={data.collections} rowKey={(one) => JSON.stringify(one.key)} columns={[
            { id: "key", label: "Key", cell: (one) => <span class="mono">{short(one.key, 60)}</span>, class: "wrap" },
            { id: "items", label: "Items", num: true, cell: (one) => <>{one.exact ? "" : "≥ "}{count(one.items)}</> }, { id: "bytes", label: "Size", num: true, cell: (one) => bytes(one.bytes) },
          ]} />
        </Panel>
      )}
    </div>
  );
}

function Peak({ key_: key, limits }) {
  const text = [key.peakReadUnitsPerSecond > 0 && `${unit(key.peakReadUnitsPerSecond)} R`, key.peakWriteUnitsPerSecond > 0 && `${unit(key.peakWriteUnitsPerSecond)} W`].filter(Boolean).join(", ");
  return key.overReadLimit || key.overWriteLimit ? <Badge kind="bad" title={`limits: ${limits.readUnitsPerSecond} R, ${limits.writeUnitsPerSecond} W`}>{text}</Badge> : text || "–";
}

/* Two rows of 64 cells: the stronger the colour, the more load. */
function RangeMap({ ranges }) {
  const most = (name) => Math.max(1e-9, ...ranges.map((range) => range[name]));
  const [reads, writes] = [most("readUnits"), most("writeUnits")];
  const cells = (name, max, colour) => (
    <div class="ranges" role="img" aria-label={`${name === "readUnits" ? "Read" : "Write"} units by key range; the heaviest of ${ranges.length} has ${unit(max < 1e-8 ? 0 : max)}`}>
      {ranges.map((range) => <i key={range.from} title={`${percent(range.from, 1)} to ${percent(range.to, 1)}: ${unit(range.readUnits)} read, ${unit(range.writeUnits)} write units`}
                                style={{ background: range[name] > 0 ? `color-mix(in oklab, ${colour} ${Math.round(12 + (88 * range[name]) / max)}%, var(--sunk))` : "var(--sunk)" }} />)}
    </div>
  );
  return (
    <div class="stack tight">
      <div class="range-row"><span class="muted small">Reads</span>{cells("readUnits", reads, "var(--c1)")}</div>
      <div class="range-row"><span class="muted small">Writes</span>{cells("writeUnits", writes, "var(--c2)")}</div>
    </div>
  );
}
