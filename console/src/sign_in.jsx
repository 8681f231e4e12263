/* Asks for an access key, on servers that check signatures. */
import { useState } from "preact/hooks";
import { call, ServerError, signIn } from "./lib/dynamo.js";
import { Check, Failure, Field, Logo } from "./ui.jsx";

/* Whether the error means that the key is good but may not do what was asked. */
const isKnown = (error) => error instanceof ServerError && error.name === "AccessDeniedException";

export function SignIn({ reason }) {
  const [accessKeyId, setId] = useState("");
  const [secretAccessKey, setSecret] = useState("");
  const [sessionToken, setToken] = useState("");
  const [isKept, setKept] = useState(true);
  const [problem, setProblem] = useState(null);
  const [isBusy, setBusy] = useState(false);
  async function submit(event) {
    event.preventDefault();
    setBusy(true);
    const keys = { accessKeyId: accessKeyId.trim(), secretAccessKey: secretAccessKey.trim(), ...(sessionToken.trim() && { sessionToken: sessionToken.trim() }) };
    const error = await call("ListTables", { Limit: 1 }, undefined, keys).then(() => null, (failure) => failure);
    setBusy(false);
    if (error && !isKnown(error)) {
      setProblem(error);
    } else {
      signIn(keys, isKept);
    }
  }
  const set = (change) => (event) => change(event.currentTarget.value);
  return (
    <main class="sign-in">
      <form class="panel" onSubmit={submit}>
        <div class="brand"><Logo />Gramme</div>
        <div>
          <h1>Enter an access key</h1>
          <p class="muted">This server checks signatures. Requests are signed in your browser: the secret is not sent, and you see what the key may see.</p>
        </div>
        {problem ? <Failure error={problem} /> : reason && !/MissingAuth|Unrecognized/.test(reason.name) && <Failure error={reason} />}
        <Field label="Access key ID"><input required autocomplete="username" spellcheck={false} value={accessKeyId} onInput={set(setId)} /></Field>
        <Field label="Secret access key"><input required type="password" autocomplete="current-password" value={secretAccessKey} onInput={set(setSecret)} /></Field>
        <Field label="Session token" hint="Only for temporary credentials"><input type="password" autocomplete="off" value={sessionToken} onInput={set(setToken)} /></Field>
        <Check label="Keep until this tab is closed" checked={isKept} onChange={setKept} />
        <button type="submit" class="primary" aria-disabled={isBusy}>{isBusy ? "Checking…" : "Continue"}</button>
      </form>
    </main>
  );
}
