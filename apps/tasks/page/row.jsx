/* One task: its status, and who is assigned. */
import { useRef, useState } from "preact/hooks";
import { Field, FormDialog } from "@common/dialog.jsx";
import { timeText } from "@common/lists.js";
import { usePages } from "@common/load.js";
import { toast } from "@common/toasts.jsx";
import { Loaded } from "@common/ui.jsx";
import { explainAssignment, PRIORITIES, STATUSES } from "./text.js";

export function TaskRow({ api, task, act, isFresh, reload }) {
  const [isShown, setShown] = useState(false);
  async function change(status) {
    try {
      await api.put(`/tasks/${task.taskId}/status`, { status }, act);
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
          <span class={`badge ${PRIORITIES[task.priority]}`}>{task.priority.toLowerCase()}</span>
          <StatusSelect task={task} change={change} />
          <button class="small" data-action="who" aria-expanded={isShown} aria-label={`Who: ${task.title}`}
                  onClick={() => setShown(!isShown)}>Who</button>
        </span>
      </div>
      {task.description && <p class="description">{task.description}</p>}
      <small>By {task.createdBy} on {timeText(task.createdAt)}</small>
      {isShown && <Assigned api={api} task={task} act={act} />}
    </li>
  );
}

/* Chooses a status. By mouse, or from the opened list, it is saved at once. Arrow keys on the closed list only
 * propose one: Enter or Save saves it, Escape or leaving the field discards it. */
function StatusSelect({ task, change }) {
  const [proposed, setProposed] = useState(null);
  const byKeys = useRef(false);
  function press(event) {
    if (proposed && event.key === "Enter") {
      event.preventDefault();
      save();
    } else if (proposed && event.key === "Escape") {
      setProposed(null);
    } else {
      const opens = event.altKey || [" ", "Enter", "F4"].includes(event.key);
      byKeys.current = !opens && (event.key.startsWith("Arrow") || event.key.length === 1
        || ["Home", "End", "PageUp", "PageDown"].includes(event.key));
    }
  }
  function choose({ target: { value } }) {
    if (byKeys.current) {
      setProposed(value === task.status ? null : value);
    } else {
      change(value);
    }
  }
  async function save() {
    const status = proposed;
    setProposed(null);
    await change(status);
  }
  const leave = ({ relatedTarget, currentTarget }) => !currentTarget.contains(relatedTarget) && setProposed(null);
  return (
    <span class="row status" onFocusOut={leave}>
      <select aria-label={`Status of ${task.title}`} data-action="status" value={proposed ?? task.status}
              onKeyDown={press} onPointerDown={() => (byKeys.current = false)} onChange={choose}>
        {Object.entries(STATUSES).map(([name, label]) => <option key={name} value={name}>{label}</option>)}
      </select>
      {proposed && <button class="small primary" onClick={save}>Save</button>}
      <span class="visually-hidden" role="status">{proposed && "Not saved yet: Enter saves, Escape discards."}</span>
    </span>
  );
}

function Assigned({ api, task, act }) {
  const path = `/tasks/${task.taskId}/assignments`;
  const list = usePages((cursor) => api.get(path, { cursor }), [path]);
  const [isAssigning, setAssigning] = useState(false);
  async function assign({ userId }) {
    try {
      await api.post(path, { userId: userId.trim() }, act);
    } catch (error) {
      throw explainAssignment(error, userId.trim());
    }
    toast(`Assigned to ${userId.trim()}`);
    await list.reload();
  }
  return (
    <div class="assigned">
      <Loaded of={list}>
        {(assignments) => (
          <div class="row">
            {assignments.length === 0 && <span class="muted">Nobody yet.</span>}
            {assignments.length > 0 && (
              <ul class="row people" aria-label={`Assigned to ${task.title}`}>
                {assignments.map(({ userId }) => <li key={userId} class="badge">{userId}</li>)}
              </ul>
            )}
            {list.hasMore && <button class="small" onClick={list.loadMore}>More</button>}
            <button class="small" aria-label={`Assign ${task.title}`} onClick={() => setAssigning(true)}>Assign</button>
          </div>
        )}
      </Loaded>
      {isAssigning && (
        <FormDialog title={`Assign “${task.title}”`} submit="Assign" onSubmit={assign} onClose={() => setAssigning(false)}>
          <Field label="User" hint="Admins assign, to users who are active.">
            <input name="userId" required maxLength={64} autocomplete="off" />
          </Field>
        </FormDialog>
      )}
    </div>
  );
}
