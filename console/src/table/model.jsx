/* The single-table view: which kinds of items share the table, how their keys are made, and which items form
 * collections. All from a sample: a part of the table from where its hash order begins. */
import { useMemo, useState } from "preact/hooks";
import { call } from "../lib/dynamo.js";
import { bytes, count, percent, plural } from "../lib/format.js";
import { useLoad } from "../lib/load.js";
import { EMPTY, queryToAddress } from "../lib/query.js";
import { to } from "../lib/route.js";
import { primaryKey, sourcesOf } from "../lib/schema.js";
import { collectionsOf, findKinds } from "../lib/kinds.js";
import { contentOf, short } from "../lib/values.js";
import { Empty, Loaded, Panel, Scroll, Segment, Select } from "../ui.jsx";
import { ItemDialog } from "./item_dialog.jsx";

const SAMPLES = [500, 2000, 10000];
const COLLECTIONS = 12;
const ITEMS_SHOWN = 24;
const TELLING = /title|name|email|subject|description|status|state|amount|price/i;

/* Up to `wanted` items of the table. */
async function sample(table, wanted) {
  const items = [];
  let start;
  do {
    const answer = await call("Scan", { TableName: table.TableName, Limit: Math.min(1000, wanted - items.length), ...(start && { ExclusiveStartKey: start }) });
    items.push(...answer.Items);
    start = answer.LastEvaluatedKey;
  } while (start && items.length < wanted);
  return { items, isWhole: !start };
}

export function Model({ table, reload }) {
  const [wanted, setWanted] = useState(SAMPLES[0]);
  const load = useLoad(() => sample(table, wanted), [table.TableName, wanted]);
  return (
    <Loaded of={load}>
      {({ items, isWhole }) => (items.length === 0
        ? <Panel><Empty title="No items yet"><p>The model is found from the items of the table.</p></Empty></Panel>
        : <Findings table={table} items={items} isWhole={isWhole} wanted={wanted} setWanted={setWanted} refresh={() => { load.reload(); reload(); }} />)}
    </Loaded>
  );
}

const colour = (i) => `var(--c${(i % 8) + 1})`;

function Findings({ table, items, isWhole, wanted, setWanted, refresh }) {
  const sources = sourcesOf(table);
  const kinds = useMemo(() => findKinds(items, sources, table.TableName), [items]);
  const kindOf = useMemo(() => new Map(kinds.flatMap((kind, i) => kind.items.map((item) => [item, i]))), [kinds]);
  const [opened, setOpened] = useState(null);
  return (
    <div class="stack">
      <Panel title={`${plural(kinds.length, "kind")} of items`} flush
             actions={<><span class="muted small">{isWhole ? `all ${plural(items.length, "item")}` : `sample of ${count(items.length)}`}</span>
               {!isWhole && <Select aria-label="Size of the sample" class="page-size" options={SAMPLES.map((one) => [String(one), `${count(one)} items`])} value={String(wanted)} onChange={(value) => setWanted(Number(value))} />}</>}>
        <div class="share-bar" role="img" aria-label={kinds.map((kind) => `${kind.name} ${percent(kind.share)}`).join(", ")}>
          {kinds.map((kind, i) => <i key={kind.name} style={{ flexGrow: kind.items.length, background: colour(i) }} />)}
        </div>
        <div class="kinds">{kinds.map((kind, i) => <Kind key={kind.name} kind={kind} colour={colour(i)} keys={primaryKey(table)} />)}</div>
      </Panel>
      <Collections table={table} items={items} sources={sources} kinds={kinds} kindOf={kindOf} onOpen={setOpened} />
      {opened && <ItemDialog table={table} item={opened} onClose={() => setOpened(null)} onSaved={refresh} />}
    </div>
  );
}

const Template = ({ pieces }) => <span class="template mono">{pieces.map((piece, i) => <span key={i} class={piece.isFixed ? "fixed" : "part"}>{piece.text}</span>)}</span>;

function Kind({ kind, colour: own, keys }) {
  const indexNames = new Set(kind.keys.flatMap((one) => [...one.hash, ...one.range].map((key) => key.name)));
  const others = kind.attributes.filter(({ name }) => !indexNames.has(name) && !keys.includes(name));
  return (
    <article class="kind">
      <header><span class="dot" style={{ background: own }} /><h3>{kind.name}</h3><span class="muted small">{plural(kind.items.length, "item")} · {percent(kind.share)} · {bytes(kind.bytes)} each</span></header>
      <table class="templates">
        <tbody>
          {kind.keys.map((one) => (
            <tr key={one.source}>
              <th scope="row">{one.source ?? "Table"}{one.share < 0.995 && <span class="muted"> {percent(one.share)}</span>}</th>
              <td>{[...one.hash, ...one.range].map((key) => <div key={key.name}><span class="muted mono">{key.name}</span> <Template pieces={key.pieces} /></div>)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {others.length > 0 && (
        <p class="attributes">{others.slice(0, 24).map(({ name, share, types }) => (
          <span key={name} class={share < 0.995 ? "some" : ""} title={share < 0.995 ? `in ${percent(share)} of the items` : "in all items"}>{name} <span class="type">{types.join(" ")}</span></span>
        ))}{others.length > 24 && <span class="muted">and {others.length - 24} more</span>}</p>
      )}
    </article>
  );
}

function Collections({ table, items, sources, kinds, kindOf, onOpen }) {
  const [name, setName] = useState(null);
  const [shown, setShown] = useState(COLLECTIONS);
  const source = sources.find((one) => one.name === name);
  const collections = useMemo(() => collectionsOf(items, source), [items, name]);
  const options = sources.map((one) => [one.name, one.name ?? "Table"]);
  return (
    <Panel flush title={`Item collections by ${source.hash.join(" + ")}`}
           actions={<><span class="muted small">{count(collections.length)} in the sample</span>{options.length > 1 && <Segment label="Table or index" options={options} value={name} onChange={(next) => { setName(next); setShown(COLLECTIONS); }} />}</>}>
      {collections.length === 0 && <Empty><p>No item of the sample is in this index.</p></Empty>}
      <ol class="collections">
        {collections.slice(0, shown).map((collection) => <Collection key={collection.id} table={table} source={source} collection={collection} kinds={kinds} kindOf={kindOf} onOpen={onOpen} />)}
      </ol>
      {collections.length > shown && <div class="body"><button type="button" onClick={() => setShown(shown + 24)}>Show more</button></div>}
    </Panel>
  );
}

function Collection({ table, source, collection, kinds, kindOf, onOpen }) {
  const key = collection.key.map((value) => short(value, 60)).join(" · ");
  const q = queryToAddress({ ...EMPTY, index: source.name, key: Object.fromEntries(source.hash.map((name, i) => [name, String(contentOf(collection.key[i]))])) });
  return (
    <li class="collection">
      <div class="collection-key">
        <a class="mono strong" href={to(["tables", table.TableName, "items"], { q })} title="Query this collection">{key === "" ? "(empty)" : key}</a>
        <span class="muted small">{plural(collection.items.length, "item")}</span>
      </div>
      <Scroll label={`Items of ${key}`} class="strip">
        {collection.items.slice(0, ITEMS_SHOWN).map((item, i) => <ItemCard key={i} item={item} source={source} table={table} kind={kinds[kindOf.get(item)]} colour={colour(kindOf.get(item))} onOpen={onOpen} />)}
        {collection.items.length > ITEMS_SHOWN && <span class="muted small more">and {count(collection.items.length - ITEMS_SHOWN)} more</span>}
      </Scroll>
    </li>
  );
}

/* The sort key, and a few attributes that are not keys. */
function ItemCard({ item, source, table, kind, colour: own, onOpen }) {
  const keys = new Set([...primaryKey(table), ...source.hash, ...source.range, ...kind.keys.flatMap((one) => [...one.hash, ...one.range].map((key) => key.name))]);
  /* What the keys hold already is not repeated; what names or describes the item comes first. */
  const inKeys = new Set(kind.keys.flatMap((one) => [...one.hash, ...one.range].flatMap((key) => key.pieces.map((piece) => piece.text.replace(/[{}]/g, "")))));
  const shown = kind.attributes.map(({ name }) => name).filter((name) => item[name] && !keys.has(name) && !inKeys.has(name) && item[name].S !== kind.name)
    .sort((a, b) => TELLING.test(b) - TELLING.test(a)).slice(0, 3);
  const sortKey = (source.range.length > 0 ? source.range : primaryKey(table)).map((name) => item[name] && short(item[name], 48)).join(" · ");
  return (
    <button type="button" class="item-card" style={{ borderTopColor: own }} onClick={() => onOpen(item)} title={`${kind.name}: ${sortKey}`}>
      <span class="mono sort-key">{sortKey}</span>
      {shown.map((name) => <span key={name} class="pair"><span class="muted">{name}</span> {short(item[name], 40)}</span>)}
    </button>
  );
}
