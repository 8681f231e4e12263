/* The dialogs of a timeline: a new call, and the changes of an existing one. */
import { useState } from "preact/hooks";
import { newId } from "@common/api.js";
import { Field, FormDialog, Question } from "@common/dialog.jsx";
import { agoText, zoneText } from "@common/lists.js";
import { toast } from "@common/toasts.jsx";
import { api, changeCall, describe } from "./change.js";
import { fromInput, toInput } from "./time.js";

const HOUR_MS = 3600 * 1000;
const MINUTE_MS = 60 * 1000;

/* The next full hour. */
const soon = () => Math.ceil((Date.now() + 1) / HOUR_MS) * HOUR_MS;

function When({ initial }) {
  return (
    <Field label="When" hint={`In your time zone, ${zoneText()}.`}>
      <input type="datetime-local" name="time" required defaultValue={toInput(initial)} />
    </Field>
  );
}

/* Asks before a call gets a time in the past, which is rarely meant. */
function checkTime(time, isConfirmed, submit) {
  const ms = fromInput(time);
  if (!isConfirmed && ms < Date.now() - MINUTE_MS) {
    throw new Question(`This time is in the past, ${agoText(ms)}. Is it right?`, `${submit} anyway`);
  }
  return ms;
}

const DIALOGS = {
  reschedule: {
    title: "Reschedule the call",
    submit: "Reschedule",
    part: "schedule",
    done: "Rescheduled",
    body: ({ time }, isConfirmed) => ({ scheduledFor: checkTime(time, isConfirmed, "Reschedule") }),
    field: (call) => <When initial={call.scheduledFor} />,
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
  cancel: {
    title: "Cancel the call",
    submit: "Cancel the call",
    dismiss: "Keep it",
    part: "status",
    done: "Canceled",
    body: ({ reason }) => {
      if (reason.trim() === "") {
        throw new Error("Say why, so that the others know.");
      }
      return { status: "CANCELED", reason: reason.trim() };
    },
    field: () => (
      <Field label="Reason" hint="User and provider see it.">
        <textarea name="reason" required maxLength={500} />
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

/* `onChanged(call)` gets the call as it is now when someone else changed it; the next attempt starts from there. */
export function CallDialog({ kind, call, user, provider, reload, onChanged, onClose }) {
  if (kind === "create") {
    return <CreateDialog user={user} provider={provider} reload={reload} onClose={onClose} />;
  }
  const { title, submit, dismiss, part, done, body, field } = DIALOGS[kind];
  async function change(values, isConfirmed) {
    const wanted = body(values, isConfirmed);
    try {
      await changeCall(call, part, wanted);
    } catch (error) {
      if (error.now) {
        onChanged(error.now);
        reload();
      }
      throw error;
    }
    toast(done);
    await reload();
  }
  return (
    <FormDialog title={title} submit={submit} dismiss={dismiss} onClose={onClose} onSubmit={change}>
      <p class="muted">{describe(call)}, for {call.userId}</p>
      {field(call)}
    </FormDialog>
  );
}

/* For a user, with a provider to be named; or the other way round. */
function CreateDialog({ user, provider, reload, onClose }) {
  const [callId] = useState(newId); /* one per dialog: sending it twice creates one call */
  async function create({ other, time }, isConfirmed) {
    const scheduledFor = checkTime(time, isConfirmed, "Create");
    await api.post("/calls", { callId, userId: user ?? other.trim(), providerId: provider ?? other.trim(), scheduledFor });
    toast("Call created");
    await reload();
  }
  return (
    <FormDialog title={user ? `New call for ${user}` : `New call with ${provider}`} submit="Create" onSubmit={create} onClose={onClose}>
      <Field label={user ? "Provider" : "User"}>
        <input name="other" required autocomplete="off" placeholder={user ? "dr-lund" : "ana"} />
      </Field>
      <When initial={soon()} />
    </FormDialog>
  );
}
