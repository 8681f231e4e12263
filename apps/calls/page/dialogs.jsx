/* The dialogs of a user's timeline: a new call, and what can be changed of one. */
import { useState } from "preact/hooks";
import { toast } from "@common/toasts.jsx";
import { Field, FormDialog } from "@common/ui.jsx";
import { fromInput, toInput } from "./time.js";

const HOUR_MS = 3600 * 1000;

/* The next full hour. */
const soon = () => Math.ceil((Date.now() + 1) / HOUR_MS) * HOUR_MS;

const DIALOGS = {
  reschedule: {
    title: "Reschedule the call",
    submit: "Reschedule",
    part: "schedule",
    done: "Rescheduled",
    body: ({ time }) => ({ scheduledFor: fromInput(time) }),
    field: (call) => (
      <Field label="When">
        <input type="datetime-local" name="time" required defaultValue={toInput(call.scheduledFor)} />
      </Field>
    ),
  },
  reassign: {
    title: "Reassign the call",
    submit: "Reassign",
    part: "user",
    done: "Reassigned",
    body: ({ userId }) => ({ userId: userId.trim() }),
    field: () => (
      <Field label="User" hint="The call leaves this timeline and joins theirs.">
        <input name="userId" required autocomplete="off" />
      </Field>
    ),
  },
  provider: {
    title: "Change the provider",
    submit: "Change",
    part: "provider",
    done: "Provider changed",
    body: ({ providerId }) => ({ providerId: providerId.trim() }),
    field: (call) => (
      <Field label="Provider">
        <input name="providerId" required autocomplete="off" defaultValue={call.providerId} />
      </Field>
    ),
  },
};

export function CallDialog({ kind, call, user, api, change, reload, onClose }) {
  if (kind === "create") {
    return <CreateDialog user={user} api={api} reload={reload} onClose={onClose} />;
  }
  const { title, submit, part, done, body, field } = DIALOGS[kind];
  return (
    <FormDialog title={title} submit={submit} onClose={onClose}
                onSubmit={(values) => change(call, part, body(values), done)}>
      {field(call)}
    </FormDialog>
  );
}

function CreateDialog({ user, api, reload, onClose }) {
  /* One id per dialog: sending it twice makes one call. */
  const [callId] = useState(() => Array.from(crypto.getRandomValues(new Uint8Array(16)),
                                             (byte) => byte.toString(16).padStart(2, "0")).join(""));
  async function create({ providerId, time }) {
    await api.post("/calls", {
      callId, userId: user, providerId: providerId.trim(), scheduledFor: fromInput(time),
    });
    toast("Call created");
    await reload();
  }
  return (
    <FormDialog title={`New call for ${user}`} submit="Create" onSubmit={create} onClose={onClose}>
      <Field label="Provider">
        <input name="providerId" required autocomplete="off" placeholder="dr-lund" />
      </Field>
      <Field label="When">
        <input type="datetime-local" name="time" required defaultValue={toInput(soon())} />
      </Field>
    </FormDialog>
  );
}
