/* Dialogs and form fields. */
import { cloneElement } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

/* Thrown by a dialog's onSubmit to ask before going on: the message is shown, the button becomes `submit`, and the
 * next onSubmit(values, true) is confirmed. */
export class Question extends Error {
  constructor(message, submit) {
    super(message);
    this.submit = submit;
  }
}

/* A modal dialog with a form. `onSubmit(values, isConfirmed)` gets the fields by name; an error that it throws is
 * shown in the dialog, which stays open with its input; otherwise the dialog closes. */
export function FormDialog({ title, submit, dismiss = "Cancel", danger, extra, onSubmit, onClose, children }) {
  const dialog = useRef();
  const busy = useRef(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const titleId = useId();
  useEffect(() => {
    dialog.current.showModal();
  }, []);
  async function send(event) {
    event.preventDefault();
    if (busy.current) {
      return;
    }
    busy.current = true;
    setBusy(true);
    try {
      await onSubmit(Object.fromEntries(new FormData(event.target)), problem instanceof Question);
      dialog.current?.close();
    } catch (error) {
      setProblem(error);
    }
    busy.current = false;
    setBusy(false);
  }
  const isQuestion = problem instanceof Question;
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby={titleId}>
      <form onSubmit={send} onInput={() => isQuestion && setProblem(null)}>
        <h2 id={titleId}>{title}</h2>
        {children}
        <div role="alert">
          {problem && <p class={isQuestion ? "notice warn" : "notice error"}>{problem.message}</p>}
        </div>
        <div class="actions">
          {extra}
          <button type="button" onClick={() => dialog.current.close()}>{dismiss}</button>
          {/* Not `disabled` while busy: a disabled button would lose the focus. */}
          <button type="submit" class={danger ? "danger" : "primary"} aria-disabled={isBusy}>
            {isQuestion ? problem.submit : submit}
          </button>
        </div>
      </form>
    </dialog>
  );
}

/* A dialog that only shows something. */
export function InfoDialog({ title, extra, onClose, children }) {
  const dialog = useRef();
  const titleId = useId();
  useEffect(() => {
    dialog.current.showModal();
  }, []);
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby={titleId}>
      <h2 id={titleId}>{title}</h2>
      {children}
      <div class="actions">
        {extra}
        <button type="button" onClick={() => dialog.current.close()}>Close</button>
      </div>
    </dialog>
  );
}

/* A labelled field; `children` is the input. */
export function Field({ label, hint, children }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {cloneElement(children, { id, "aria-describedby": hint ? `${id}-hint` : undefined })}
      {hint && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  );
}

/* A <select> whose initial choice is `initial`; `options` are [value, label]. Preact ignores defaultValue on <select>. */
export function Select({ options, initial, ...rest }) {
  return (
    <select {...rest}>
      {options.map(([value, label]) => (
        <option key={value} value={value} selected={value === initial}>{label}</option>
      ))}
    </select>
  );
}
