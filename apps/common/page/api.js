/* Talking to an application's REST API. What it refuses becomes an ApiError: every error has the one
 * shape {"error": {"code", "message", ...details}}. */

export class ApiError extends Error {
  constructor(status, error) {
    super(error.message);
    this.status = status; /* 0: there was no answer */
    this.code = error.code;
    this.details = error;
  }
}

/* const api = createApi("calls");
 * await api.get("/users/ana/calls", { limit: 10 })
 * await api.patch("/calls/7", { status: "COMPLETED" }, { version: 3 })
 *
 * Each gives the answer's JSON, null if it has none. `version` is sent as If-Match, `headers` as they
 * are, `signal` can end the request early. */
export function createApi(app) {
  async function send(method, path, { query, body, version, headers, signal } = {}) {
    const given = Object.entries(query ?? {}).filter(([, value]) => value != null && value !== "");
    const search = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
    let answer;
    try {
      answer = await fetch(`/${app}/api${path}${search}`, {
        method,
        signal,
        headers: {
          ...(body === undefined ? {} : { "Content-Type": "application/json" }),
          ...(version === undefined ? {} : { "If-Match": `"${version}"` }),
          ...headers,
        },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
    } catch (cause) {
      if (cause.name === "AbortError") {
        throw cause;
      }
      throw new ApiError(0, { code: "offline", message: "The server cannot be reached." });
    }
    return read(answer);
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
    /* told below: whoever answered is not the application */
  }
  if (answer.ok && (json !== null || text === "")) {
    return json;
  }
  throw new ApiError(
    answer.status,
    json?.error ?? { code: "bad_answer", message: `The server answered with status ${answer.status}.` },
  );
}
