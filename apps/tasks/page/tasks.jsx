/* Tasks: mine, all by status, and who does what. */
import { render } from "preact";
import { useState } from "preact/hooks";
import { createApi } from "@common/api.js";
import { timeText, useAddress, usePages } from "@common/lists.js";
import { toast } from "@common/toasts.jsx";
import { Empty, Field, FormDialog, Loaded, Shell, useLoad } from "@common/ui.jsx";
import "@common/look.css";
import "./tasks.css";

const api = createApi("tasks");
const STATUSES = { OPEN: "Open", IN_PROGRESS: "In progress", COMPLETED: "Completed", CLOSED: "Closed" };
const PRIORITIES = { LOW: "", MEDIUM: "accent", HIGH: "bad" };

/* Who acts and what is shown is in the address: ?user=ana&status=OPEN; without a status, the user's own. */
function App() {
  const [{ user, status }, go] = useAddress();
  const [isCreating, setCreating] = useState(false);
  const [changes, setChanges] = useState(0); /* loads the list again */
  const act = { headers: { "X-User-Id": user } };
  async function create({ title, description, priority }) {
    await api.post("/tasks", { title, priority, ...(description && { description }) }, act);
    toast("The task is there.");
    setChanges(changes + 1);
  }
  return (
    <Shell app="tasks" title="Tasks" lead="My tasks, all by status, who does what."
           actions={user && <button class="primary" onClick={() => setCreating(true)}>New task</button>}>
      <Who key={user} user={user} go={(user) => go({ user, status })} />
      {user ? (
        <>
          <div class="tabs" role="tablist">
            <Tab label="My tasks" selected={!status} onClick={() => go({ user })} />
            {Object.entries(STATUSES).map(([name, label]) => (
              <Tab key={name} label={label} selected={status === name} onClick={() => go({ user, status: name })} />
            ))}
          </div>
          {status
            ? <ByStatus key={`${status} ${changes}`} status={status} act={act} />
            : <Mine key={`${user} ${changes}`} user={user} act={act} />}
        </>
      ) : <Welcome go={go} />}
      {isCreating && (
        <FormDialog title="New task" submit="Create" onSubmit={create} onClose={() => setCreating(false)}>
          <Field label="Title"><input name="title" required maxLength={200} autocomplete="off" /></Field>
          <Field label="Description"><textarea name="description" maxLength={2000} /></Field>
          <Field label="Priority">
            <select name="priority" defaultValue="MEDIUM">
              {Object.keys(PRIORITIES).map((name) => <option key={name}>{name}</option>)}
            </select>
          </Field>
        </FormDialog>
      )}
    </Shell>
  );
}

function Tab({ label, selected, onClick }) {
  return <button role="tab" aria-selected={selected} onClick={onClick}>{label}</button>;
}

/* Who acts, and what the table knows of them. */
function Who({ user, go }) {
  const profile = useLoad(() => (user ? api.get(`/users/${encodeURIComponent(user)}`) : {}), [user]);
  function change(event) {
    event.preventDefault();
    go(new FormData(event.target).get("user").trim());
  }
  return (
    <form class="row who" onSubmit={change}>
      <input class="grow" name="user" aria-label="Acting as" required maxLength={64} autocomplete="off"
             defaultValue={user} placeholder="ana" />
      <button>Act as</button>
      {user && profile.error && <span class="badge bad">unknown user</span>}
      {profile.data?.groups && <span class="badge">{profile.data.groups.join(", ")}</span>}
      {profile.data?.status === "DEACTIVATED" && <span class="badge warn">deactivated</span>}
    </form>
  );
}

function Welcome({ go }) {
  return (
    <Empty title="Who are you?">
      <p>Type a user above. The sample data has the admin{" "}
        <button class="plain link" onClick={() => go({ user: "ana" })}>ana</button> and the members{" "}
        {["ben", "chloe", "dario"].map((user) => (
          <button key={user} class="plain link" onClick={() => go({ user })}>{user}</button>
        ))}
      </p>
    </Empty>
  );
}

function Mine({ user, act }) {
  const list = usePages((cursor) => api.get(`/users/${encodeURIComponent(user)}/tasks`, { cursor }), [user]);
  return <TaskList list={list} tasks={(items) => items.map((item) => item.task)} act={act}
                   emptyText="Nothing is assigned to you." />;
}

function ByStatus({ status, act }) {
  const list = usePages((cursor) => api.get("/tasks", { status, cursor }), [status]);
  return <TaskList list={list} tasks={(items) => items} act={act}
                   emptyText={`No task is ${STATUSES[status].toLowerCase()}.`} />;
}

function TaskList({ list, tasks, act, emptyText }) {
  return (
    <Loaded of={list}>
      {(items) => items.length === 0 ? <Empty title={emptyText} /> : (
        <>
          <ul class="list">
            {tasks(items).map((task) => <TaskRow key={task.taskId} task={task} act={act} reload={list.reload} />)}
          </ul>
          {list.hasMore && <button class="more" onClick={list.loadMore}>Show more</button>}
        </>
      )}
    </Loaded>
  );
}

function TaskRow({ task, act, reload }) {
  const [isShown, setShown] = useState(false);
  async function change(event) {
    try {
      await api.put(`/tasks/${task.taskId}/status`, { status: event.target.value }, act);
      toast(`${task.title}: ${STATUSES[event.target.value]}`);
    } catch (error) {
      event.target.value = task.status;
      toast(error.status === 403 ? "Only who is assigned, or an admin, may change the status." : error.message, "error");
    }
    await reload();
  }
  return (
    <li data-task={task.taskId}>
      <div class="row">
        <span class="grow task-title">{task.title}</span>
        <span class={`badge ${PRIORITIES[task.priority]}`}>{task.priority.toLowerCase()}</span>
        <select aria-label={`Status of ${task.title}`} value={task.status} onChange={change}>
          {Object.entries(STATUSES).map(([name, label]) => <option key={name} value={name}>{label}</option>)}
        </select>
        <button class="small" aria-expanded={isShown} onClick={() => setShown(!isShown)}>Who</button>
      </div>
      {task.description && <p class="description">{task.description}</p>}
      <small>By {task.createdBy} on {timeText(task.createdAt)}</small>
      {isShown && <Assigned task={task} act={act} />}
    </li>
  );
}

function Assigned({ task, act }) {
  const path = `/tasks/${task.taskId}/assignments`;
  const list = usePages((cursor) => api.get(path, { cursor }), [path]);
  const [isAssigning, setAssigning] = useState(false);
  async function assign({ userId }) {
    await api.post(path, { userId: userId.trim() }, act);
    toast(`Assigned to ${userId.trim()}`);
    await list.reload();
  }
  return (
    <div class="assigned">
      <Loaded of={list}>
        {(assignments) => (
          <p class="row" aria-label={`Assigned to ${task.title}`}>
            {assignments.length === 0 && <span class="muted">Nobody yet.</span>}
            {assignments.map(({ userId }) => <span key={userId} class="badge">{userId}</span>)}
            {list.hasMore && <button class="small" onClick={list.loadMore}>More</button>}
            <button class="small" onClick={() => setAssigning(true)}>Assign</button>
          </p>
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

render(<App />, document.body);
