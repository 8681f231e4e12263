/* Requests to the server: operations of the DynamoDB API, and the insight API under /_gramme/api/. All of them go to the
 * page's own origin and are signed. */
import { observable } from "./observable.js";
import { encodePart, sign } from "./sign.js";

const SESSION_KEY = "gramme.credentials";
const NOBODY = { accessKeyId: "console", secretAccessKey: "console" }; /* for servers that do not check signatures */
const AUTH_ERRORS = ["MissingAuthenticationTokenException", "MissingAuthenticationToken", "UnrecognizedClientException",
  "InvalidSignatureException", "IncompleteSignatureException", "ExpiredTokenException", "InvalidClientTokenId"];

/* `name` is the error's type without its namespace; status 0: the server was not reached. */
export class ServerError extends Error {
  constructor(name, message, status, body = {}) {
    super(message || name);
    this.name = name;
    this.status = status;
    this.body = body;
  }
}

function storedCredentials() {
  try {
    return JSON.parse(sessionStorage.getItem(SESSION_KEY)) ?? null;
  } catch {
    return null;
  }
}

/* The access key that was entered, or null; kept for this tab if the user wishes. */
export const credentials = observable(storedCredentials());
/* Why the server refused the credentials, or null: then an access key must be entered. */
export const refusal = observable(null);

export function signIn(keys, isKept) {
  if (isKept) {
    sessionStorage.setItem(SESSION_KEY, JSON.stringify(keys));
  } else {
    sessionStorage.removeItem(SESSION_KEY);
  }
  credentials.set(keys);
  refusal.set(null);
}

export function signOut() {
  sessionStorage.clear(); /* the key, and statements that were run with it */
  credentials.set(null);
}

let region = null;
/* The server's region, which signatures contain: the health page names it. */
export function serverRegion() {
  region ??= fetch("/", { credentials: "omit" }).then((answer) => answer.text())
    .then((text) => text.match(/dynamodb\.([a-z0-9-]+)\./)?.[1] ?? "us-east-1")
    .catch(() => {
      region = null; /* ask again the next time */
      return "us-east-1";
    });
  return region;
}

const currentKeys = () => credentials.get() ?? NOBODY;

async function send({ method, path, search = "", headers = {}, body }, signal, keys = currentKeys()) {
  const signed = await sign({ method, path, search, headers, body, host: location.host }, keys, await serverRegion());
  let answer;
  let text;
  try {
    answer = await fetch(path + (search && `?${search}`),
      { method, headers: { ...headers, ...signed }, body, signal, credentials: "omit", cache: "no-store" });
    text = await answer.text();
  } catch (error) {
    if (error.name === "AbortError") {
      throw error;
    }
    throw new ServerError("Unreachable", "The server does not answer. Is it running?", 0);
  }
  let parsed = {};
  try {
    parsed = text === "" ? {} : JSON.parse(text);
  } catch {
    parsed = { message: text.slice(0, 200) };
  }
  if (!answer.ok) {
    const name = (parsed.__type ?? "").split("#").pop() || `HTTP ${answer.status}`;
    const error = new ServerError(name, parsed.message ?? parsed.Message ?? parsed.error, answer.status, parsed);
    if (AUTH_ERRORS.includes(name) && keys === currentKeys()) {
      refusal.set(error);
    }
    throw error;
  }
  return parsed;
}

const STREAM_OPERATIONS = ["ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"];

/* Items get no prototype: "constructor" is the name of an attribute or of nothing. */
function bare(answer) {
  const images = (answer.Records ?? []).flatMap(({ dynamodb }) => [dynamodb.OldImage, dynamodb.NewImage]);
  for (const item of [answer.Item, ...(answer.Items ?? []), ...images]) {
    if (item) {
      Object.setPrototypeOf(item, null);
    }
  }
  return answer;
}

async function post(operation, input, headers, signal, keys) {
  const prefix = STREAM_OPERATIONS.includes(operation) ? "DynamoDBStreams_20120810" : operation === "ExplainStatement" ? "Gramme_20261115" : "DynamoDB_20120810";
  return bare(await send({
    method: "POST",
    path: "/",
    headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": `${prefix}.${operation}`, ...headers },
    body: JSON.stringify(input),
  }, signal, keys));
}

/* Calls an operation; gives the answer, or throws a ServerError. `keys`: an access key other than the one that was entered.
 * The header says that the console reads or writes for its pages: the server does not count the call as traffic, and simulates nothing for it. */
export function call(operation, input = {}, signal = undefined, keys = undefined) {
  return post(operation, input, { "x-gramme-console": "1" }, signal, keys);
}

/* Calls an operation as an application does: the call is traffic. */
export function callAsProgram(operation, input, signal) {
  return post(operation, input, {}, signal);
}

/* What `send`, call() or callAsProgram(), gives, with how long it took. */
export async function timed(send, operation, input, signal) {
  const start = performance.now();
  const answer = await send(operation, input, signal);
  return { answer, ms: performance.now() - start };
}

/* Spaces are %20: in signatures a + is a plus sign. */
function searchOf(query) {
  return Object.entries(query).flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).map((one) => [name, one]))
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => `${encodePart(name)}=${encodePart(String(value))}`).join("&");
}

const MISSING = { simulation: "This server does not simulate faults." };

/* insight("patterns", {sort: "units"}): GET /_gramme/api/patterns?sort=units */
export async function insight(path, query = {}) {
  try {
    return await send({ method: "GET", path: `/_gramme/api/${path}`, search: searchOf(query) });
  } catch (error) {
    /* patterns/ID may be gone; 404 of any other path: the server does not support it. */
    throw error.status === 404 && !path.includes("/") ? new ServerError("NoInsight", MISSING[path] ?? "This server does not record its traffic: it was started with --insight off.", 404) : error;
  }
}

export function changeInsight(path, body) {
  return send({ method: "POST", path: `/_gramme/api/${path}`, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
}
