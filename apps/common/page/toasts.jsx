/* Short messages in a corner: toast("Saved"), toast.error(error). Shell shows them. */
import { useEffect, useState } from "preact/hooks";

const SECONDS_SHOWN = 6;
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

export function toast(text, kind = "info") {
  const id = ++count;
  change([...shown, { id, text, kind }]);
  setTimeout(() => dismiss(id), SECONDS_SHOWN * 1000);
}
toast.error = (error) => toast(error.message, "error");

export function Toasts() {
  const [messages, setMessages] = useState(shown);
  useEffect(() => {
    listener = setMessages;
    setMessages(shown);
    return () => (listener = () => {});
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {messages.map(({ id, text, kind }) => (
        <div key={id} class={`toast ${kind}`}>
          <span>{text}</span>
          <button class="plain" aria-label="Dismiss" onClick={() => dismiss(id)}>×</button>
        </div>
      ))}
    </div>
  );
}
