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

/* Opens a <dialog> as a modal: {props, close()}, the props of the element. `onClose` is called once, at once by close():
 * the browser's own event comes later, when the page may already show another dialog. */
function useModal(onClose) {
  const ref = useRef();
  useEffect(() => {
    ref.current.showModal();
  }, []);
  const close = () => {
    if (ref.current) { /* else it has been closed and removed */
      ref.current.close();
      ref.current = null;
      onClose();
    }
  };
  return { props: { ref, onClose: () => close() }, close };
}

/* A modal dialog with a form. `onSubmit(values, isConfirmed)` gets the fields by name; an error that it throws is
 * shown in the dialog, which stays open with its input; otherwise the dialog closes. */
export function FormDialog({ title, submit, dismiss = "Cancel", danger, extra, onSubmit, onClose, children }) {
  const modal = useModal(onClose);
  const busy = useRef(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const titleId = useId();
  async function send(event) {
    event.preventDefault();
    if (busy.current) {
      return;
    }
    busy.current = true;
    setBusy(true);
    try {
      await onSubmit(Object.fromEntries(new FormData(event.target)), problem instanceof Question);
      modal.close();
    } catch (error) {
      setProblem(error);
    }
    busy.current = false;
    setBusy(false);
  }
  const isQuestion = problem instanceof Question;
  return (
    <dialog {...modal.props} aria-labelledby={titleId}>
      <form onSubmit={send} onInput={() => isQuestion && setProblem(null)}>
        <h2 id={titleId}>{title}</h2>
        {children}
        <div role="alert">
          {problem && <p class={isQuestion ? "notice warn" : "notice error"}>{problem.message}</p>}
        </div>
        <div class="actions">
          {extra}
          <button type="button" onClick={modal.close}>{dismiss}</button>
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
  const modal = useModal(onClose);
  const titleId = useId();
  return (
    <dialog {...modal.props} aria-labelledby={titleId}>
      <h2 id={titleId}>{title}</h2>
      {children}
      <div class="actions">
        {extra}
        <button type="button" onClick={modal.close}>Close</button>
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
