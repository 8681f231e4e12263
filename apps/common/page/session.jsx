/* Who is signed in. startPage() renders a page once that is known; useSession() tells its components. See apps/API.md,
 * Who is asking. */
import { createContext, render } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { createClient, onSignInRequired } from "./api.js";
import { Field, FormDialog, InfoDialog } from "./dialog.jsx";
import { useEvery, useLoad } from "./load.js";
import { toast } from "./toasts.jsx";

const auth = createClient("/auth");
const ROLES = ["admin", "provider", "agent", "operator"];
const CLOCK_SECONDS = 20;
const tabs = new BroadcastChannel("gramme-session"); /* each tab says who is signed in when it opens */
const Session = createContext(null);

/* {user: {id, name, email, roles}, mode, has(role)}; admins have every role. Null before sign-in. */
export const useSession = () => useContext(Session);

const signInAddress = (path) => `${path}?return=${encodeURIComponent(location.pathname + location.search)}`;

/* Renders `Page` into the document when the session is known and somebody is signed in. `Frame` is the page's Shell. */
export function startPage(Page, Frame) {
  render(<Root Page={Page} Frame={Frame} />, document.body);
}

function Root({ Page, Frame }) {
  const load = useLoad(() => auth.get("/session"), []);
  const data = load.data;
  const [, setTick] = useState(0);
  useEvery(CLOCK_SECONDS, () => setTick((tick) => tick + 1)); /* "in 5 minutes" is rendered anew as time passes */
  const isFailed = new URLSearchParams(location.search).get("signIn") === "failed";
  const mustSignIn = data !== null && data.user === null;
  useEffect(() => {
    if (mustSignIn && !isFailed) {
      location.replace(signInAddress(data.signIn));
    }
  }, [mustSignIn]);
  if (data === null || mustSignIn) {
    return (
      <Frame>
        {isFailed && (
          <div class="notice error" role="alert">
            <p>Signing in did not work. Try again, or ask whoever runs this server.</p>
            {mustSignIn && <a class="button" href={`${data.signIn}?return=/`}>Sign in</a>}
          </div>
        )}
        {!isFailed && (
          <div class="loading" role="status" aria-label={mustSignIn ? "Signing in" : "Loading"}><span /><span /><span /></div>
        )}
      </Frame>
    );
  }
  const session = { ...data, has: (role) => data.user.roles.includes(role) || data.user.roles.includes("admin") };
  return <Session.Provider value={session}><Page /></Session.Provider>;
}

/* The user whom another tab has signed in, if that is not the one of this page: its requests are theirs from then on. */
function useOtherUser() {
  const user = useSession()?.user;
  const [other, setOther] = useState(null);
  useEffect(() => {
    if (!user) {
      return undefined;
    }
    const take = ({ data }) => setOther(data.id === user.id ? null : data);
    tabs.addEventListener("message", take);
    tabs.postMessage({ id: user.id, name: user.name });
    return () => tabs.removeEventListener("message", take);
  }, [user?.id]);
  return other;
}

/* Shown when the session ended, or somebody else signed in, while the page is open. The page stays, with what is typed in it:
 * signing in opens another tab. */
export function SessionBanner() {
  const [signIn, setSignIn] = useState(null);
  const other = useOtherUser();
  useEffect(() => onSignInRequired(setSignIn), []);
  return (
    <div class="connection" role="status" aria-label="Session">
      {other && (
        <p>
          You signed in as {other.name || other.id} in another tab. What you do here is done as {other.name || other.id}, too.{" "}
          <button class="plain small link" onClick={() => location.reload()}>Show their page</button>
        </p>
      )}
      {signIn && (
        <p>
          Your session is over. <a href={`${signIn}?return=/`} target="_blank" rel="noopener">Sign in in another tab</a>, then go on
          here. <button class="plain small link" onClick={() => setSignIn(null)}>Dismiss</button>
        </p>
      )}
    </div>
  );
}

/* The button with the user's name, and what is behind it. */
export function UserMenu() {
  const session = useSession();
  const [isOpen, setOpen] = useState(false);
  if (!session) {
    return null;
  }
  const { user, mode } = session;
  return (
    <>
      <button class="plain user" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <span class="initial" data-initial={(user.name || user.id)[0].toUpperCase()} />
        <span class="visually-hidden">Signed in as </span><span class="name">{user.name || user.id}</span>
      </button>
      {isOpen && (mode === "dev"
        ? <ChooseDialog session={session} onClose={() => setOpen(false)} />
        : <AccountDialog user={user} onClose={() => setOpen(false)} />)}
    </>
  );
}

const rolesText = (roles) => (roles.length > 0 ? roles.join(", ") : "member");

function AccountDialog({ user, onClose }) {
  async function signOut() {
    try {
      const { url } = await auth.post("/logout", {});
      location.assign(url ?? "/");
    } catch (error) {
      toast.error(error);
    }
  }
  return (
    <InfoDialog title={user.name || user.id} onClose={onClose}
                extra={<button type="button" class="start" onClick={signOut}>Sign out</button>}>
      <p class="muted">{user.email && <>{user.email}<br /></>}{user.id}<br />{rolesText(user.roles)}</p>
    </InfoDialog>
  );
}

/* Development mode: be anyone. */
function ChooseDialog({ session, onClose }) {
  async function choose(user, roles) {
    await auth.post("/dev", { user, ...(roles && { roles }) });
    location.assign(location.pathname); /* reloads the page, because its data belongs to the previous user */
  }
  async function submit(values) {
    await choose(values.user.trim(), ROLES.filter((role) => values[role] === "on"));
    await new Promise(() => {}); /* until the browser has left the page */
  }
  return (
    <FormDialog title="Who are you?" submit="Go on" onSubmit={submit} onClose={onClose}>
      <p class="muted">Development mode: anybody may be anyone. Now: {session.user.name || session.user.id}.</p>
      <ul class="people-list">
        {session.users?.map(({ id, name, roles }) => (
          <li key={id}>
            <button type="button" aria-pressed={id === session.user.id} onClick={() => choose(id).catch(toast.error)}>
              <strong>{name}</strong> <small>{rolesText(roles)}</small>
            </button>
          </li>
        ))}
      </ul>
      <Field label="Somebody else"><input name="user" required maxLength={255} autocomplete="off" /></Field>
      <fieldset class="row roles">
        <legend>Roles</legend>
        {ROLES.map((role) => (
          <label key={role} class="row check"><input type="checkbox" name={role} /> {role}</label>
        ))}
      </fieldset>
    </FormDialog>
  );
}
