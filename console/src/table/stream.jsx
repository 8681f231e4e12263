/* The changes of a table as they happen: reads all open shards of its stream, and follows them as shards close. */
import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../lib/dynamo.js";
import { clock, count } from "../lib/format.js";
import { primaryKey } from "../lib/schema.js";
import { same, short } from "../lib/values.js";
import { Badge, Dialog, Empty, Failure, Icon, Panel, Scroll, Segment, toast } from "../ui.jsx";

const KEPT = 500;
const PAUSE_MS = 700;
const KINDS = { INSERT: "good", MODIFY: "accent", REMOVE: "bad" };

async function shardsOf(arn) {
  const shards = [];
  let start;
  do {
    const { StreamDescription } = await call("DescribeStream", { StreamArn: arn, ...(start && { ExclusiveStartShardId: start }) });
    shards.push(...StreamDescription.Shards);
    start = StreamDescription.LastEvaluatedShardId;
  } while (start);
  return shards;
}

/* Calls onRecords with what each round of reading gave, until `signal` is aborted. */
async function follow(arn, fromStart, onRecords, signal) {
  const iterators = new Map(); /* of shards that are read; null: to its end */
  let isFirst = true;
  while (!signal.aborted) {
    for (const shard of await shardsOf(arn)) {
      if (iterators.has(shard.ShardId)) {
        continue;
      }
      const isClosed = Boolean(shard.SequenceNumberRange.EndingSequenceNumber);
      if (isFirst && isClosed && !fromStart) {
        iterators.set(shard.ShardId, null);
        continue;
      }
      /* A shard that came after we began is read whole. */
      const type = fromStart || !isFirst ? "TRIM_HORIZON" : "LATEST";
      iterators.set(shard.ShardId, (await call("GetShardIterator", { StreamArn: arn, ShardId: shard.ShardId, ShardIteratorType: type })).ShardIterator);
    }
    isFirst = false;
    const found = [];
    await Promise.all([...iterators].filter(([, iterator]) => iterator).map(async ([id, iterator]) => {
      const { Records, NextShardIterator } = await call("GetRecords", { ShardIterator: iterator, Limit: 1000 });
      iterators.set(id, NextShardIterator ?? null);
      found.push(...Records);
    }));
    if (signal.aborted) {
      return;
    }
    onRecords(found.sort((a, b) => (a.dynamodb.SequenceNumber.padStart(40, "0") < b.dynamodb.SequenceNumber.padStart(40, "0") ? -1 : 1)));
    await new Promise((resolve) => setTimeout(resolve, found.length > 0 ? 50 : PAUSE_MS));
  }
}

export function StreamTail({ table, reload }) {
  const arn = table.StreamSpecification?.StreamEnabled ? table.LatestStreamArn : null;
  const [isRunning, setRunning] = useState(true);
  const [from, setFrom] = useState("latest");
  const [records, setRecords] = useState([]);
  const [total, setTotal] = useState(0);
  const [error, setError] = useState(null);
  const [opened, setOpened] = useState(null);
  const [turn, setTurn] = useState(0);
  const seen = useRef(0);
  useEffect(() => {
    if (!arn || !isRunning) {
      return undefined;
    }
    const controller = new AbortController();
    follow(arn, from === "start", (found) => {
      if (found.length > 0) {
        seen.current += found.length;
        setTotal(seen.current);
        setRecords((old) => [...found.reverse(), ...old].slice(0, KEPT));
      }
    }, controller.signal).catch((problem) => {
      if (!controller.signal.aborted) {
        setError(problem);
        setRunning(false);
      }
    });
    return () => controller.abort();
  }, [arn, isRunning, from, turn]);
  function restart(next) {
    seen.current = 0;
    setTotal(0);
    setRecords([]);
    setError(null);
    setFrom(next);
    setRunning(true);
    setTurn(turn + 1);
  }
  async function enable() {
    try {
      await call("UpdateTable", { TableName: table.TableName, StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" } });
      reload();
    } catch (problem) {
      toast.error(problem);
    }
  }
  if (!arn) {
    return <Panel><Empty title="The stream is off"><p>A stream keeps every change of the table's items for 24 hours, in order.</p><button type="button" class="primary" onClick={enable}>Enable the stream</button></Empty></Panel>;
  }
  return (
    <Panel flush title={<span class="summary">Changes <span class="facts"><span>{count(total)} seen</span>{total > KEPT && <span>the last {KEPT} are shown</span>}{isRunning && <span class="live"><span class="dot good" /> live</span>}</span></span>}
           actions={<>
             <Segment label="From" options={[["latest", "New ones"], ["start", "All of 24 h"]]} value={from} onChange={restart} />
             <button type="button" onClick={() => { setError(null); setRunning(!isRunning); }}><Icon name={isRunning ? "pause" : "play"} />{isRunning ? "Pause" : "Go on"}</button>
             <button type="button" class="plain" onClick={() => { setRecords([]); setTotal(0); seen.current = 0; }}>Clear</button>
           </>}>
      {error && <div class="body"><Failure error={error} /></div>}
      {records.length === 0 ? <Empty><p>{isRunning ? "Waiting for changes. Change an item, and it appears here." : "Paused."}</p></Empty> : (
        <Scroll label="Changes" style={{ maxHeight: "max(320px, calc(100vh - 260px))" }}>
          <table>
            <thead><tr><th scope="col">Time</th><th scope="col">Change</th><th scope="col">Key</th><th scope="col">What changed</th></tr></thead>
            <tbody>
              {records.map((record) => (
                <tr key={record.eventID} class="link" onClick={() => setOpened(record)}>
                  <td class="nowrap">{clock(record.dynamodb.ApproximateCreationDateTime * 1000)}</td>
                  <td><Badge kind={KINDS[record.eventName]}>{record.userIdentity ? "expired" : record.eventName.toLowerCase()}</Badge></td>
                  <td class="mono wrap"><button type="button" class="link" onClick={() => setOpened(record)}>{primaryKey(table).map((name) => record.dynamodb.Keys[name] && short(record.dynamodb.Keys[name], 60)).join("  ")}</button></td>
                  <td class="wrap small">{changesText(record)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {opened && <Change record={opened} onClose={() => setOpened(null)} />}
    </Panel>
  );
}

/* Names of attributes that differ between the images. */
function changed({ OldImage: before = {}, NewImage: after = {} }) {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !before[name] || !after[name] || !same(before[name], after[name]));
}

function changesText({ eventName, dynamodb }) {
  if (eventName !== "MODIFY" || !dynamodb.OldImage || !dynamodb.NewImage) {
    const image = dynamodb.NewImage ?? dynamodb.OldImage;
    return image ? `${Object.keys(image).length} attributes` : "";
  }
  return changed(dynamodb).slice(0, 4).map((name) => `${name}: ${dynamodb.OldImage[name] ? short(dynamodb.OldImage[name], 30) : "–"} → ${dynamodb.NewImage[name] ? short(dynamodb.NewImage[name], 30) : "–"}`).join(", ");
}

function Change({ record, onClose }) {
  const { OldImage: before = {}, NewImage: after = {}, SequenceNumber, SizeBytes } = record.dynamodb;
  const names = [...new Set([...Object.keys(after), ...Object.keys(before)])];
  const differing = new Set(changed(record.dynamodb));
  const cell = (value) => (value ? short(value, 400) : <span class="muted">–</span>);
  return (
    <Dialog title={`${record.eventName.toLowerCase()} · ${SequenceNumber}`} wide onClose={onClose}>
      <p class="muted small">{SizeBytes} bytes{record.userIdentity ? " · deleted by time to live" : ""}</p>
      <Scroll label="Images">
        <table>
          <thead><tr><th scope="col">Attribute</th><th scope="col">Before</th><th scope="col">After</th></tr></thead>
          <tbody>{names.map((name) => <tr key={name} class={differing.has(name) ? "differs" : ""}><td class="mono">{name}</td><td class="wrap">{cell(before[name])}</td><td class="wrap">{cell(after[name])}</td></tr>)}</tbody>
        </table>
      </Scroll>
    </Dialog>
  );
}
