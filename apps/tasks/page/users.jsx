/* Administration of users: list, create, deactivate, role. For admins only; the API refuses others. */
import { useState } from "preact/hooks";
import { Field, FormDialog, Select } from "@common/dialog.jsx";
import { useRowFocus } from "@common/focus.js";
import { timeText } from "@common/lists.js";
import { useLive, useLoad, usePages } from "@common/load.js";
import { toast } from "@common/toasts.jsx";
import { Empty, Loaded } from "@common/ui.jsx";
import { api } from "./text.js";

const ROLES = [["member", "Member"], ["admin", "Admin"]];
const isAdmin = (user) => user.groups?.includes("Admins");

/* `open(dialog)` opens a dialog of the page. */
export function Users({ me, open }) {
  const list = usePages((cursor) => api.get("/users", { cursor }), []);
  useLive("tasks", list.reload, { concerns: ({ type }) => type === "user" });
  const rows = useRowFocus();
  /* The list has users that were made or changed here; one that another program made is found by its id. */
  const [wanted, setWanted] = useState(null);
  const found = useLoad(async () => wanted && api.get(`/users/${encodeURIComponent(wanted)}`), [wanted]);
  useLive("tasks", found.reload, { concerns: ({ type, item, old }) => type === "user" && (item ?? old)?.userId === wanted });
  function find(event) {
    event.preventDefault();
    setWanted(new FormData(event.target).get("user").trim() || null);
  }
  async function put(user, part, body, done) {
    try {
      await api.put(`/users/${encodeURIComponent(user.userId)}/${part}`, body);
      toast(done);
    } catch (error) {
      toast.error(error);
    }
    await Promise.all([list.reload(), found.reload()]);
  }
  return (
    <section aria-label="Users">
      <div class="row users-title">
        <span class="grow muted">Who may have tasks, and who administers.</span>
        <button onClick={() => open({ kind: "user", reload: list.reload })}>New user</button>
      </div>
      <form class="row" role="search" aria-label="Find a user" onSubmit={find}>
        <input class="grow" name="user" aria-label="Find by id" maxLength={255} autocomplete="off" placeholder="User id" />
        <button>Find</button>
      </form>
      {wanted && !found.loading && (
        <div role="status" aria-label="Found">
          {found.error ? <p class="notice error">{found.error.status === 404 ? `There is no user “${wanted}”.` : found.error.message}</p> : (
            found.data && <ul class="list"><UserRow user={found.data} isMe={found.data.userId === me} put={put} /></ul>
          )}
        </div>
      )}
      <Loaded of={list}>
        {(users) => (
          <div ref={rows} tabIndex={-1} class="rows">
            {users.length === 0 && <Empty title="No users yet." />}
            <ul class="list">
              {users.map((user) => <UserRow key={user.userId} user={user} isMe={user.userId === me} put={put} />)}
            </ul>
            {list.hasMore && <button class="more" onClick={list.loadMore}>Show more</button>}
          </div>
        )}
      </Loaded>
    </section>
  );
}

export function CreateUserDialog({ reload, onClose }) {
  async function create({ userId, email, role }) {
    await api.post("/users", { ...(userId.trim() && { userId: userId.trim() }), email: email.trim(), isAdmin: role === "admin" });
    toast(`Created: ${email.trim()}`);
    await reload();
  }
  return (
    <FormDialog title="New user" submit="Create" onSubmit={create} onClose={onClose}>
      <Field label="Email"><input type="email" name="email" required maxLength={200} autocomplete="off" /></Field>
      <Field label="User id" hint="As the sign-in has it; without one, a new id is made.">
        <input name="userId" maxLength={255} autocomplete="off" />
      </Field>
      <Field label="Role"><Select name="role" options={ROLES} initial="member" /></Field>
    </FormDialog>
  );
}

function UserRow({ user, isMe, put }) {
  const { userId, email, status, createdAt } = user;
  const isActive = status === "ACTIVE";
  return (
    <li data-user={userId} data-row class="task">
      <div class="row">
        <span class="grow task-title">{userId} <small>{email}</small></span>
        <span class="row controls">
          {isAdmin(user) && <span class="badge accent">admin</span>}
          {!isActive && <span class="badge warn">deactivated</span>}
          {isMe && <span class="badge">you</span>}
          <button class="small" data-action="role" aria-label={`${isAdmin(user) ? "Make member" : "Make admin"}: ${userId}`}
                  onClick={() => put(user, "role", { role: isAdmin(user) ? "member" : "admin" },
                    `${userId} is now ${isAdmin(user) ? "a member" : "an admin"}`)}>
            {isAdmin(user) ? "Make member" : "Make admin"}
          </button>
          <button class="small" data-action="status" aria-label={`${isActive ? "Deactivate" : "Activate"}: ${userId}`}
                  onClick={() => put(user, "status", { status: isActive ? "DEACTIVATED" : "ACTIVE" },
                    `${userId} is ${isActive ? "deactivated" : "active again"}`)}>
            {isActive ? "Deactivate" : "Activate"}
          </button>
        </span>
      </div>
      {createdAt && <small>Since {timeText(createdAt)}</small>}
    </li>
  );
}
