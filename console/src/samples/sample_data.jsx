/* Loads the sample data in one click, then sends some requests as the applications would. */
import { useRef, useState } from "preact/hooks";
import { call, callAsProgram } from "../lib/dynamo.js";
import { plural } from "../lib/format.js";
import { loadTables } from "../lib/schema.js";
import { Failure, Icon, toast } from "../ui.jsx";

const REQUESTS = 400;

async function createTable(schema) {
  try {
    await call("CreateTable", schema);
  } catch (error) {
    if (error.name !== "ResourceInUseException") { /* it is there: its items are written again */
      throw error;
    }
  }
  for (;;) {
    const { Table } = await call("DescribeTable", { TableName: schema.TableName });
    if (Table.TableStatus === "ACTIVE") {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function writeItems(table, items, onWritten) {
  for (let at = 0; at < items.length; at += 25) {
    let requests = { [table]: items.slice(at, at + 25).map((Item) => ({ PutRequest: { Item } })) };
    while (Object.keys(requests).length > 0) {
      requests = (await callAsProgram("BatchWriteItem", { RequestItems: requests })).UnprocessedItems;
    }
    onWritten(Math.min(25, items.length - at));
  }
}

export function SampleData({ onDone = () => {} }) {
  const [state, setState] = useState(null);
  const [error, setError] = useState(null);
  const running = useRef(new AbortController());
  async function load() {
    setError(null);
    setState({ text: "Creating tables", share: 0 });
    try {
      const [{ SAMPLES }, { sendTraffic }] = await Promise.all([import("./data.js"), import("./traffic.js")]);
      const sets = SAMPLES.map((sample) => ({ ...sample, rows: sample.items(Date.now()) }));
      const total = sets.reduce((sum, one) => sum + one.rows.length, 0);
      let written = 0;
      for (const { title, schema, rows } of sets) {
        await createTable(schema);
        await writeItems(schema.TableName, rows, (number) => {
          written += number;
          setState({ text: `${title}: ${plural(written, "item")}`, share: written / total });
        });
      }
      loadTables();
      toast(`${plural(sets.length, "table")} with ${plural(total, "item")} loaded; requests as the applications send them follow for some seconds`);
      sendTraffic(SAMPLES, REQUESTS, () => {}, running.current.signal);
      onDone();
    } catch (problem) {
      setError(problem);
    }
    setState(null);
    loadTables();
  }
  return (
    <div class="sample-data">
      {state
        ? <><progress aria-label="Sample data" max="1" value={state.share} /><span role="status" class="muted small">{state.text}</span></>
        : <button type="button" class="primary" onClick={load}><Icon name="download" />Load sample data</button>}
      {error && <Failure error={error} retry={load} />}
    </div>
  );
}

/* A button that only sends requests. */
export function SampleTraffic({ onDone }) {
  const [done, setDone] = useState(null);
  async function send() {
    setDone(0);
    const [{ SAMPLES }, { sendTraffic }] = await Promise.all([import("./data.js"), import("./traffic.js")]);
    await sendTraffic(SAMPLES, REQUESTS, setDone, new AbortController().signal);
    setDone(null);
    onDone?.();
  }
  return <button type="button" aria-disabled={done !== null} onClick={() => done === null && send()}><Icon name="play" />{done === null ? "Send sample requests" : `${done} of ${REQUESTS}`}</button>;
}
