/* Client of an application's REST API. A refused request becomes an ApiError: every error has the shape
 * {"error": {"code", "message", ...details}}. */

const READ_TIMEOUT_MS = 10_000;
const WRITE_TIMEOUT_MS = 30_000;
const OUTAGE_STATUSES = [0, 502, 503, 504];

/* onSignInRequired(listener): called with the address of the sign-in when a request is refused because the session is over.
 * Returns a function that ends it. */
const signInListeners = new Set();
export function onSignInRequired(listener) {
  signInListeners.add(listener);
  return () => signInListeners.delete(listener);
}

export class ApiError extends Error {
  constructor(status, error) {
    super(error.message);
    this.status = status; /* 0: no answer */
    this.code = error.code;
    this.details = error;
  }
}

/* Whether the request may succeed later, unchanged: the server or its database cannot be reached. */
export const isOutage = (error) => error instanceof ApiError && OUTAGE_STATUSES.includes(error.status);

/* const api = createApi("calls");
 * await api.get("/users/ana/calls", { limit: 10 })
 * await api.patch("/calls/7", { status: "COMPLETED" }, { version: 3 })
 *
 * Each returns the JSON of the answer, or null if it has no body. `version` is sent as If-Match, `headers`
 * unchanged. */
export const createApi = (app) => createClient(`/${app}/api`);

/* The same for any path of the server. */
export function createClient(base) {
  async function send(method, path, { query, body, version, headers } = {}) {
    const given = Object.entries(query ?? {}).filter(([, value]) => value != null && value !== "");
    const search = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
    let answer;
    try {
      answer = await fetch(`${base}${path}${search}`, {
        method,
        signal: AbortSignal.timeout(method === "GET" ? READ_TIMEOUT_MS : WRITE_TIMEOUT_MS),
        headers: {
          ...(body === undefined ? {} : { "Content-Type": "application/json" }),
          ...(version == null ? {} : { "If-Match": `"${version}"` }),
          ...headers,
        },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      return await read(answer);
    } catch (cause) {
      if (cause instanceof ApiError) {
        throw cause;
      }
      throw new ApiError(0, { code: "offline", message: "The server cannot be reached. Nothing you typed is lost: try again." });
    }
  }

  return {
    get: (path, query, more) => send("GET", path, { query, ...more }),
    post: (path, body, more) => send("POST", path, { body, ...more }),
    put: (path, body, more) => send("PUT", path, { body, ...more }),
    patch: (path, body, more) => send("PATCH", path, { body, ...more }),
    delete: (path, more) => send("DELETE", path, more),
  };
}

async function read(answer) {
  const text = await answer.text();
  let json = null;
  try {
    json = text === "" ? null : JSON.parse(text);
  } catch {
    /* Not JSON, so not from the application, for example a proxy's error page: reported below. */
  }
  if (answer.ok && (json !== null || text === "")) {
    return json;
  }
  if (answer.status === 401 && json?.error?.code === "sign_in_required") {
    signInListeners.forEach((listener) => listener(json.error.signIn ?? "/auth/login"));
  }
  throw new ApiError(
    answer.status,
    json?.error ?? { code: "bad_answer", message: `The server answered with status ${answer.status}.` },
  );
}

/* A random UUID (version 4), also on pages served without TLS, where crypto.randomUUID() does not exist. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
