/* Tasks: mine, and those I created; for admins all by status, who does what, and the users. */
import { useEffect, useState } from "preact/hooks";
import { Field, FormDialog, Select } from "@common/dialog.jsx";
import { useRowFocus } from "@common/focus.js";
import { useAddress, useSendId } from "@common/lists.js";
import { useEvery, useLive, useLoad, usePages } from "@common/load.js";
import { start } from "@common/start.jsx";
import { tabPanel, Tabs } from "@common/tabs.jsx";
import { toast } from "@common/toasts.jsx";
import { Empty, Loaded, Shell } from "@common/ui.jsx";
import { Notifications } from "./notifications.jsx";
import { AssignDialog, EditDialog, TaskRow } from "./row.jsx";
import { api, checkSize, PRIORITIES, STATUSES, upper } from "./text.js";
import { CreateUserDialog, Users } from "./users.jsx";
import "./tasks.css";

/* Which tasks are shown is in the address: without a status, those assigned to oneself; ?status=CREATED: those one has
 * created (members); ?status=OPEN: by status, ?status=USERS: the users (admins). */
function App() {
  const me = useLoad(() => api.get("/me"), []);
  const [dialog, setDialog] = useState(null); /* {kind, ...}; as long as one is open the page stays, and with it what is typed */
  const isActive = me.data && (me.data.isAdmin || me.data.profile?.status === "ACTIVE");
  return isActive || dialog ? <Workspace me={me.data} reloadMe={me.reload} dialog={dialog} open={setDialog} /> : (
    <Shell app="tasks" title="Tasks" lead={LEAD}>
      <Loaded of={me}>{(data) => <NoAccount me={data} reload={me.reload} />}</Loaded>
    </Shell>
  );
}

const ACCOUNT_SECONDS = 3;

/* Looks again and again: live updates are refused to those who have no active account. */
function NoAccount({ me: { userId, profile }, reload }) {
  useEvery(ACCOUNT_SECONDS, reload);
  return (
    <Empty title={profile ? "Your account is deactivated." : "You have no account here yet."}>
      <p>Ask an administrator to {profile ? "activate it" : "create one"}. They need your user id: <code>{userId}</code></p>
    </Empty>
  );
}

const LEAD = "My tasks, and who does what.";

/* For those who have an active account. */
function Workspace({ me, reloadMe, dialog, open }) {
  /* The account or the role may change while the page is open. */
  useLive("tasks", reloadMe, { concerns: ({ type, item, old }) => type === "user" && (item ?? old)?.userId === me.userId });
  const { isAdmin } = me;
  const counts = useLoad(async () => isAdmin ? api.get("/tasks/counts") : null, [isAdmin]);
  useLive("tasks", counts.reload, { concerns: ({ type }) => type === "task" });
  const [{ status }, go] = useAddress();
  const ids = useSendId();
  const [fresh, setFresh] = useState(null); /* the id of the task that was just created */
  async function create({ title, description, priority }) {
    checkSize(title, description);
    const wanted = { title: title.trim(), priority, ...(description.trim() && { description }) };
    const task = await api.post("/tasks", { taskId: ids.of(wanted), ...wanted });
    ids.clear();
    toast(`Created: ${task.title}`);
    setFresh(task.taskId);
    go({ status: isAdmin ? task.status : "CREATED" }); /* where it is seen: a new task is nobody's yet */
  }
  return (
    <Shell app="tasks" title="Tasks" lead={LEAD}
           actions={(
             <>
               <Notifications user={me.userId} show={(taskId) => { setFresh(taskId); go({}); }} />
               <button class="primary" onClick={() => open({ kind: "create" })}>New task</button>
             </>
           )}>
      <Views user={me.userId} isAdmin={isAdmin} status={status} counts={counts.data} fresh={fresh} go={go} open={open} />
      {dialog && <Dialog {...dialog} create={create} onClose={() => open(null)} />}
    </Shell>
  );
}

function Dialog({ kind, ...rest }) {
  switch (kind) {
    case "create":
      return <CreateDialog {...rest} />;
    case "edit":
      return <EditDialog {...rest} />;
    case "assign":
      return <AssignDialog {...rest} />;
    default:
      return <CreateUserDialog {...rest} />;
  }
}

function Views({ user, isAdmin, status, counts, fresh, go, open }) {
  const tabs = [{ name: "mine", label: "My tasks" }, ...(isAdmin ? [
    ...Object.entries(STATUSES).map(([name, label]) => ({ name, label, count: counts?.byStatus[name] })),
    { name: "USERS", label: "Users" },
  ] : [{ name: "CREATED", label: "Created by me" }])];
  const tab = tabs.some(({ name }) => name === status) ? status : "mine";
  const priorities = counts?.byStatusAndPriority?.[tab];
  return (
    <>
      <Tabs label="Which tasks" tabs={tabs} chosen={tab}
            choose={(name, byKey) => go({ status: name === "mine" ? undefined : name }, { replace: byKey })} />
      <div {...tabPanel(tab)}>
        {priorities && (
          <p class="row priorities">
            {Object.keys(PRIORITIES).reverse().map((name) => (
              <span key={name} class={`badge ${PRIORITIES[name]}`}>{priorities[name] ?? 0} {name.toLowerCase()}</span>
            ))}
          </p>
        )}
        {tab === "USERS" ? <Users me={user} open={open} /> : (
          <TaskList key={tab} user={user} isAdmin={isAdmin} name={tab} fresh={fresh} open={open} />
        )}
      </div>
    </>
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

/* `name`: "mine", "CREATED", or a status. */
function TaskList({ user, isAdmin, name, fresh, open }) {
  const own = `/users/${encodeURIComponent(user)}`;
  const list = usePages(async (cursor) => {
    if (name === "mine") {
      const page = await api.get(`${own}/tasks`, { cursor });
      return { ...page, items: page.items.map((item) => item.task) };
    }
    return name === "CREATED" ? api.get(`${own}/created`, { cursor }) : api.get("/tasks", { status: name, cursor });
  }, [user, name]);
  /* Members are told of some changes of their tasks by notifications only. */
  useLive("tasks", list.reload, { concerns: ({ type }) => type === "task" || (!(name in STATUSES) && ["assignment", "notification"].includes(type)) });
  const rows = useRowFocus();
  const isFreshHere = list.data?.some((task) => task.taskId === fresh);
  useEffect(() => {
    if (isFreshHere) {
      rows.current.querySelector(".fresh")?.scrollIntoView({ block: "nearest" });
    }
  }, [isFreshHere, fresh]);
  const emptyText = name === "mine" ? "Nothing is assigned to you." : name === "CREATED" ? "You have created no task."
    : `No task is ${STATUSES[name].toLowerCase()}.`;
  return (
    <Loaded of={list}>
      {(tasks) => (
        <div ref={rows} tabIndex={-1} class="rows">
          {tasks.length === 0 ? <Empty title={emptyText} /> : (
            <ul class="list">
              {tasks.map((task) => (
                <TaskRow key={task.taskId} task={task} isAdmin={isAdmin} isFresh={task.taskId === fresh} reload={list.reload} open={open} />
              ))}
            </ul>
          )}
          {list.hasMore && <button class="more" onClick={list.loadMore}>Show more</button>}
        </div>
      )}
    </Loaded>
  );
}

start("tasks", App);
