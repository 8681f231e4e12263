/* Short messages in a corner: toast("Saved"), toast.error(error). Shell shows them. Errors stay until they are
 * dismissed. The others go some seconds after the reader has been active on the visible page, so nobody
 * misses one by being away; pointing at a message or focusing it keeps it. */
import { useEffect, useState } from "preact/hooks";

const SECONDS_SHOWN = 8;
const SHOWN_MAX = 4; /* messages other than errors */
let shown = [];
let listener = () => {};
let count = 0;

function change(next) {
  shown = next;
  listener(shown);
}

function dismiss(id) {
  change(shown.filter((message) => message.id !== id));
}

/* `action`, if given, is {label, run}: a button in the message, such as Undo. */
export function toast(text, kind = "info", action = null) {
  const infos = shown.filter((message) => message.kind !== "error");
  const old = infos.length >= SHOWN_MAX ? infos[0] : null;
  change([...shown.filter((message) => message !== old && !(message.kind === "error" && message.text === text)),
    { id: ++count, text, kind, action }]);
}
toast.error = (error) => toast(error.message, "error");

function Toast({ id, text, kind, action }) {
  const [isHeld, setHeld] = useState(false);
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    const see = () => document.visibilityState === "visible" && setSeen(true);
    const events = ["pointermove", "pointerdown", "keydown"];
    events.forEach((name) => addEventListener(name, see));
    return () => events.forEach((name) => removeEventListener(name, see));
  }, []);
  useEffect(() => {
    if (kind === "error" || isHeld || !isSeen) {
      return undefined;
    }
    const timer = setTimeout(() => dismiss(id), SECONDS_SHOWN * 1000);
    return () => clearTimeout(timer);
  }, [isHeld, isSeen]);
  return (
    <div class={`toast ${kind}`} role={kind === "error" ? "alert" : undefined}
         onMouseEnter={() => setHeld(true)} onMouseLeave={() => setHeld(false)}
         onFocusIn={() => setHeld(true)} onFocusOut={() => setHeld(false)}>
      <span>{text}</span>
      {action && (
        <button class="plain action" onClick={() => { dismiss(id); action.run(); }}>{action.label}</button>
      )}
      <button class="plain" aria-label="Dismiss" onClick={() => dismiss(id)}>×</button>
    </div>
  );
}

export function Toasts() {
  const [messages, setMessages] = useState(shown);
  useEffect(() => {
    listener = setMessages;
    setMessages(shown);
    return () => (listener = () => {});
  }, []);
  return (
    <div class="toasts" role="status" aria-label="Messages">
      {messages.map((message) => <Toast key={message.id} {...message} />)}
    </div>
  );
}
