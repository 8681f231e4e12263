/* Tasks: mine, all by status, and who does what. */
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { createApi } from "@common/api.js";
import { Field, FormDialog, Select } from "@common/dialog.jsx";
import { useRowFocus } from "@common/focus.js";
import { useAddress } from "@common/lists.js";
import { useLive, useLoad, usePages } from "@common/load.js";
import { tabPanel, Tabs } from "@common/tabs.jsx";
import { toast } from "@common/toasts.jsx";
import { Empty, Loaded, Shell } from "@common/ui.jsx";
import { TaskRow } from "./row.jsx";
import { BYTES_MAX, byteCount, PRIORITIES, STATUSES, upper } from "./text.js";
import "@common/look.css";
import "./tasks.css";

const api = createApi("tasks");
const TABS = [{ name: "mine", label: "My tasks" },
  ...Object.entries(STATUSES).map(([name, label]) => ({ name, label }))];

/* Who acts and what is shown is in the address: ?user=ana&status=OPEN; without a status, the user's own. */
function App() {
  const [{ user, status }, go] = useAddress();
  const [isCreating, setCreating] = useState(false);
  const [fresh, setFresh] = useState(null); /* the id of the task that was just created */
  const act = { headers: { "X-User-Id": user } };
  const tab = status ?? "mine";
  async function create({ title, description, priority }) {
    const size = byteCount(title) + byteCount(description);
    if (size > BYTES_MAX) {
      throw new Error(`Title and description are too long together: ${size} of at most ${BYTES_MAX} bytes.`);
    }
    const task = await api.post("/tasks", { title: title.trim(), priority, ...(description.trim() && { description }) }, act);
    toast(`Created: ${task.title}`);
    setFresh(task.taskId);
    go({ user, status: task.status }); /* a new task is nobody's yet: it is seen among the open ones */
  }
  return (
    <Shell app="tasks" title="Tasks" lead="My tasks, all by status, who does what."
           actions={user && <button class="primary" onClick={() => setCreating(true)}>New task</button>}>
      <Who key={user} user={user} go={(user) => go({ user, status })} />
      {user ? (
        <>
          <Tabs label="Which tasks" tabs={TABS} chosen={tab}
                choose={(name, byKey) => go({ user, status: name === "mine" ? undefined : name }, { replace: byKey })} />
          <div {...tabPanel(tab)}>
            <TaskList key={`${user} ${tab}`} user={user} status={status} act={act} fresh={fresh} />
          </div>
        </>
      ) : <Welcome go={go} />}
      {isCreating && <CreateDialog create={create} onClose={() => setCreating(false)} />}
    </Shell>
  );
}

function CreateDialog({ create, onClose }) {
  return (
    <FormDialog title="New task" submit="Create" onSubmit={create} onClose={onClose}>
      <Field label="Title"><input name="title" required maxLength={200} autocomplete="off" /></Field>
      <Field label="Description"><textarea name="description" maxLength={2000} /></Field>
      <Field label="Priority">
        <Select name="priority" initial="MEDIUM" options={Object.keys(PRIORITIES).map((name) => [name, upper(name)])} />
      </Field>
    </FormDialog>
  );
}

/* Who acts, and their profile. */
function Who({ user, go }) {
  const profile = useLoad(async () => (user ? api.get(`/users/${encodeURIComponent(user)}`) : {}), [user]);
  function change(event) {
    event.preventDefault();
    go(new FormData(event.target).get("user").trim());
  }
  return (
    <form class="row who" onSubmit={change} aria-label="Who acts">
      <input class="grow" name="user" aria-label="Acting as" required maxLength={64} autocomplete="off"
             defaultValue={user} placeholder="ana" />
      <button>Act as</button>
      {profile.error?.status === 404 && <span class="badge bad">unknown user</span>}
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

/* The tasks of a status; without one, those that are assigned to the user. */
function TaskList({ user, status, act, fresh }) {
  const list = usePages(async (cursor) => {
    if (status) {
      return api.get("/tasks", { status, cursor });
    }
    const page = await api.get(`/users/${encodeURIComponent(user)}/tasks`, { cursor });
    return { ...page, items: page.items.map((item) => item.task) };
  }, [user, status]);
  useLive("tasks", list.reload);
  const rows = useRowFocus();
  const isFreshHere = list.data?.some((task) => task.taskId === fresh);
  useEffect(() => {
    if (isFreshHere) {
      rows.current.querySelector(".fresh")?.scrollIntoView({ block: "nearest" });
    }
  }, [isFreshHere]);
  const emptyText = status ? `No task is ${STATUSES[status]?.toLowerCase() ?? status}.` : "Nothing is assigned to you.";
  return (
    <Loaded of={list}>
      {(tasks) => (
        <div ref={rows} tabIndex={-1} class="rows">
          {tasks.length === 0 ? <Empty title={emptyText} /> : (
            <ul class="list">
              {tasks.map((task) => (
                <TaskRow key={task.taskId} api={api} task={task} act={act} isFresh={task.taskId === fresh} reload={list.reload} />
              ))}
            </ul>
          )}
          {list.hasMore && <button class="more" onClick={list.loadMore}>Show more</button>}
        </div>
      )}
    </Loaded>
  );
}

render(<App />, document.body);
