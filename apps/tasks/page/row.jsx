/* One task: its status, its text, and who is assigned. */
import { useState } from "preact/hooks";
import { Field, FormDialog, Select } from "@common/dialog.jsx";
import { timeText } from "@common/lists.js";
import { useEvery, useLive, usePages } from "@common/load.js";
import { StatusSelect } from "@common/status.jsx";
import { toast } from "@common/toasts.jsx";
import { Loaded } from "@common/ui.jsx";
import { api, checkSize, explainAssignment, PRIORITIES, STATUSES, upper } from "./text.js";

/* `open(dialog)` opens one of the dialogs below. They are the page's, not the row's: the row goes when somebody else changes
 * the task's status, and what is typed must not go with it. */
export function TaskRow({ task, isAdmin, isFresh, reload, open }) {
  const [isShown, setShown] = useState(false);
  async function change(status) {
    try {
      await api.put(`/tasks/${encodeURIComponent(task.taskId)}/status`, { status });
      toast(`${task.title}: ${STATUSES[status]}`);
    } catch (error) {
      toast(error.status === 403 ? "Only someone assigned, or an admin, may change the status." : error.message, "error");
    }
    await reload();
  }
  return (
    <li data-task={task.taskId} data-row class={isFresh ? "task fresh" : "task"}>
      <div class="row">
        <span class="grow task-title">{task.title}</span>
        <span class="row controls">
          {task.priority && <span class={`badge ${PRIORITIES[task.priority] ?? ""}`}>{task.priority.toLowerCase()}</span>}
          <StatusSelect label={`Status of ${task.title}`} value={task.status} options={Object.entries(STATUSES)} change={change} />
          <button class="small" data-action="edit" aria-label={`Edit ${task.title}`} onClick={() => open({ kind: "edit", task, reload })}>Edit</button>
          <button class="small" data-action="who" aria-expanded={isShown} aria-label={`Who: ${task.title}`}
                  onClick={() => setShown(!isShown)}>Who</button>
        </span>
      </div>
      {task.description && <p class="description">{task.description}</p>}
      <small>By {task.createdBy} on {timeText(task.createdAt)}</small>
      {isShown && <Assigned task={task} isAdmin={isAdmin} open={open} />}
    </li>
  );
}

/* Saves on top of the task as it was when the dialog opened; if it is another by now, says so and goes on from there. */
export function EditDialog({ task, reload, onClose }) {
  const [seen, setSeen] = useState(task.updatedAt);
  async function save({ title, description, priority }) {
    checkSize(title, description);
    try {
      await api.put(`/tasks/${encodeURIComponent(task.taskId)}`, { title: title.trim(), description, priority, seen });
    } catch (error) {
      if (error.status === 412) {
        const now = await api.get(`/tasks/${encodeURIComponent(task.taskId)}`);
        setSeen(now.updatedAt);
        await reload();
        throw new Error(`Someone changed this task meanwhile. Its title is now “${now.title}”, its status ${STATUSES[now.status]}. `
          + "Save again to replace their text with yours.");
      }
      throw error.status === 403 ? new Error("Only who created it, someone assigned, or an admin may edit a task.") : error;
    }
    toast(`Saved: ${title.trim()}`);
    await reload();
  }
  return (
    <FormDialog title="Edit the task" submit="Save" onSubmit={save} onClose={onClose}>
      <Field label="Title"><input name="title" required maxLength={200} autocomplete="off" defaultValue={task.title} /></Field>
      <Field label="Description"><textarea name="description" maxLength={2000} defaultValue={task.description ?? ""} /></Field>
      <Field label="Priority">
        <Select name="priority" initial={task.priority} options={Object.keys(PRIORITIES).map((name) => [name, upper(name)])} />
      </Field>
    </FormDialog>
  );
}

const assignmentsPath = (task) => `/tasks/${encodeURIComponent(task.taskId)}/assignments`;

async function assign(task, userId) {
  try {
    await api.post(assignmentsPath(task), { userId });
  } catch (error) {
    throw explainAssignment(error, userId);
  }
  toast(`Assigned to ${userId}`);
}

export function AssignDialog({ task, reload, onClose }) {
  async function submit({ userId }) {
    await assign(task, userId.trim());
    await reload();
  }
  return (
    <FormDialog title={`Assign “${task.title}”`} submit="Assign" onSubmit={submit} onClose={onClose}>
      <Field label="User" hint="Admins assign, to users who are active.">
        <input name="userId" required maxLength={255} autocomplete="off" />
      </Field>
    </FormDialog>
  );
}

const SECONDS = 5;

function Assigned({ task, isAdmin, open }) {
  const path = assignmentsPath(task);
  const list = usePages((cursor) => api.get(path, { cursor }), [path]);
  useLive("tasks", list.reload, {
    concerns: ({ type, item, old }) => type === "assignment" && (item ?? old)?.taskId === task.taskId });
  useEvery(isAdmin ? 0 : SECONDS, list.reload); /* members are not told of the assignments of others */
  async function unassign(userId) {
    try {
      await api.delete(`${path}/${encodeURIComponent(userId)}`);
      toast(`${userId} is no longer assigned`, "info", { label: "Undo", run: () => assign(task, userId).then(list.reload, toast.error) });
    } catch (error) {
      toast.error(error);
    }
    await list.reload();
  }
  return (
    <div class="assigned" tabIndex={-1}>
      <Loaded of={list}>
        {(assignments) => (
          <div class="row">
            {assignments.length === 0 && <span class="muted">Nobody yet.</span>}
            {assignments.length > 0 && (
              <ul class="row people" aria-label={`Assigned to ${task.title}`}>
                {assignments.map(({ userId }) => (
                  <li key={userId} class="badge">
                    {userId}
                    {isAdmin && (
                      <button class="plain" aria-label={`Unassign ${userId} from ${task.title}`} onClick={() => unassign(userId)}>×</button>
                    )}
                  </li>
                ))}
              </ul>
            )}
            {list.hasMore && <button class="small" onClick={list.loadMore}>More</button>}
            {isAdmin && (
              <button class="small" aria-label={`Assign ${task.title}`} onClick={() => open({ kind: "assign", task, reload: list.reload })}>Assign</button>
            )}
          </div>
        )}
      </Loaded>
    </div>
  );
}
