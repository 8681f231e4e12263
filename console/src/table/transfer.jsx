/* Import and export of a table's items, with progress. */
import { useRef, useState } from "preact/hooks";
import { call } from "../lib/dynamo.js";
import { bytes, count, plural } from "../lib/format.js";
import { columnsOf, keyTypes, primaryKey, sourcesOf } from "../lib/schema.js";
import { download, exportTable, importFile } from "../lib/transfer.js";
import { Check, Failure, Field, Icon, Notice, Panel, Scroll, Segment, Select } from "../ui.jsx";

export function Transfer({ table, reload }) {
  return <div class="cols"><Import table={table} reload={reload} /><Export table={table} /></div>;
}

const formatOf = (name) => (/\.csv$/i.test(name) ? "csv" : "json");

function Import({ table, reload }) {
  const [file, setFile] = useState(null);
  const [format, setFormat] = useState("json");
  const [isPlain, setPlain] = useState(false);
  const [progress, setProgress] = useState(null);
  const [result, setResult] = useState(null);
  const [error, setError] = useState(null);
  const [isOver, setOver] = useState(false);
  const running = useRef(null);
  const input = useRef();
  function choose(next) {
    if (next) {
      setFile(next);
      setFormat(formatOf(next.name));
      setResult(null);
      setError(null);
    }
  }
  async function start() {
    running.current = new AbortController();
    setResult(null);
    setError(null);
    setProgress({ share: 0, written: 0, failed: 0 });
    try {
      setResult(await importFile(file, { tableName: table.TableName, keys: primaryKey(table), format, types: keyTypes(table), isPlain }, setProgress, running.current.signal));
    } catch (problem) {
      if (!running.current.signal.aborted) {
        setError(problem);
      }
    }
    setProgress(null);
    reload();
  }
  return (
    <Panel title="Import">
      <div class="form">
        <p class="muted small">JSON: items in DynamoDB's form or plain, as an array or one per line; exports to S3, answers of Scan and files for batch-write-item too. CSV: the first line names the attributes.</p>
        <div class={`drop ${isOver ? "over" : ""}`} onDragOver={(event) => { event.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)}
             onDrop={(event) => { event.preventDefault(); setOver(false); choose(event.dataTransfer.files[0]); }}>
          <input ref={input} type="file" hidden aria-label="File to import" accept=".json,.jsonl,.ndjson,.csv,.txt" onChange={(event) => choose(event.currentTarget.files[0])} />
          <button type="button" onClick={() => input.current.click()}><Icon name="upload" />Choose a file</button>
          <span class="muted small">{file ? `${file.name}, ${bytes(file.size)}` : "or drop it here"}</span>
        </div>
        {file && <div class="row wide-gap"><Segment label="Format" options={[["json", "JSON"], ["csv", "CSV"]]} value={format} onChange={setFormat} />
          {format === "csv" && <Check label="Numbers and booleans stay text" checked={isPlain} onChange={setPlain} />}</div>}
        {progress ? (
          <div class="stack tight">
            <progress aria-label="Import" max="1" value={progress.share} />
            <div class="row between"><span role="status">{plural(progress.written, "item")} written{progress.failed > 0 && `, ${count(progress.failed)} refused`}</span><button type="button" onClick={() => running.current.abort()}>Stop</button></div>
          </div>
        ) : file && <div><button type="button" class="primary" onClick={start}>Import into {table.TableName}</button></div>}
        {error && <Failure error={error} />}
        {result && <Notice kind={result.failed > 0 ? "warn" : "good"} title={`${plural(result.written, "item")} written${result.failed > 0 ? `, ${count(result.failed)} refused` : ""}`}>
          {result.problems.length > 0 && <ul class="problems">{result.problems.map((one, i) => <li key={i}><code>{one.key}</code>: {one.message}</li>)}</ul>}
        </Notice>}
      </div>
    </Panel>
  );
}

const FORMATS = [["typed", "DynamoDB JSON"], ["plain", "JSON"], ["csv", "CSV"]];
const HINTS = {
  typed: "One item per line, as exports to S3 have it. Keeps all types.",
  plain: "An array of plain objects. Sets become arrays, binaries base64.",
  csv: "A column per attribute. Sets, maps and lists are DynamoDB JSON in their cell.",
};

function Export({ table }) {
  const [format, setFormat] = useState("typed");
  const [index, setIndex] = useState("");
  const [progress, setProgress] = useState(null);
  const [done, setDone] = useState(null);
  const [error, setError] = useState(null);
  const running = useRef(null);
  async function start() {
    running.current = new AbortController();
    setProgress({ items: 0 });
    setDone(null);
    setError(null);
    try {
      let columns = [];
      if (format === "csv") {
        const { Items } = await call("Scan", { TableName: table.TableName, Limit: 1000, ...(index && { IndexName: index }) });
        columns = columnsOf(table, Items);
      }
      const result = await exportTable(table.TableName, { format, columns, index }, setProgress, running.current.signal);
      download(result.blob, `${table.TableName}${index ? `-${index}` : ""}.${{ typed: "jsonl", plain: "json", csv: "csv" }[format]}`);
      setDone({ ...result, size: result.blob.size });
    } catch (problem) {
      if (problem.name !== "AbortError") {
        setError(problem);
      }
    }
    setProgress(null);
  }
  const total = sourcesOf(table).find((one) => (one.name ?? "") === index)?.items ?? 0;
  return (
    <Panel title="Export">
      <div class="form">
        <Segment label="Format" options={FORMATS} value={format} onChange={setFormat} />
        <p class="muted small">{HINTS[format]}</p>
        {sourcesOf(table).length > 1 && <Field label="From"><Select options={sourcesOf(table).map((one) => [one.name ?? "", one.name ?? "Table"])} value={index} onChange={setIndex} /></Field>}
        {progress ? (
          <div class="stack tight">
            <progress aria-label="Export" max="1" value={Math.min(1, progress.items / Math.max(1, total))} />
            <div class="row between"><span role="status">{plural(progress.items, "item")} of about {count(total)}</span><button type="button" onClick={() => running.current.abort()}>Stop</button></div>
          </div>
        ) : <div><button type="button" class="primary" onClick={start}><Icon name="download" />Export about {plural(total, "item")}</button></div>}
        {error && <Failure error={error} />}
        {done && <Notice kind="good" title={`${plural(done.items, "item")}, ${bytes(done.size)}`}>{done.missing.length > 0 && `Attributes that only items behind the first 1,000 have are not in the file: ${done.missing.slice(0, 20).join(", ")}.`}</Notice>}
      </div>
    </Panel>
  );
}
