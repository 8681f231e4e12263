/* What happened to one's tasks: a button with the number of unread notifications, and their list. */
import { useState } from "preact/hooks";
import { InfoDialog } from "@common/dialog.jsx";
import { useRowFocus } from "@common/focus.js";
import { agoText, timeText } from "@common/lists.js";
import { useLive, usePages } from "@common/load.js";
import { Empty, Hidden, Loaded } from "@common/ui.jsx";
import { api } from "./text.js";

/* The server counts up to 100. */
const unreadText = (count) => (count > 99 ? "99+" : String(count));

/* `show(taskId)` is called when someone follows a notification to its task. */
export function Notifications({ user, show }) {
  const path = `/users/${encodeURIComponent(user)}/notifications`;
  const list = usePages((cursor) => api.get(path, { cursor }), [path]);
  useLive("tasks", list.reload, { concerns: ({ type }) => ["notification", "assignment", "task"].includes(type), pauseMs: 400 });
  const [isOpen, setOpen] = useState(false);
  const rows = useRowFocus();
  const unread = list.first?.unread ?? 0;
  async function close() {
    setOpen(false);
    const newest = list.data?.[0]?.at;
    if (unread > 0 && newest) {
      await api.put(`${path}/read`, { upTo: newest }).catch(() => {}); /* they stay unread, and are shown again */
      await list.reload();
    }
  }
  return (
    <>
      <button class="bell" onClick={() => setOpen(true)}>
        Notifications{unread > 0 && <> <span class="badge bad">{unreadText(unread)}<Hidden> unread</Hidden></span></>}
      </button>
      {isOpen && (
        <InfoDialog title="Notifications" onClose={close}>
          <div ref={rows} tabIndex={-1} class="rows">
            <Loaded of={list}>
              {(items) => items.length === 0 ? <Empty title="Nothing has happened to your tasks yet." /> : (
                <ul class="notifications" aria-label="Notifications">
                  {items.map(({ id, at, text, taskId, title, read }) => (
                    <li key={id} data-row class={read ? undefined : "unread"}>
                      {!read && <span class="badge accent">new</span>} <strong>{title}</strong>: {text}{" "}
                      <button type="button" class="plain link" aria-label={`Show ${title}`} onClick={() => { close(); show(taskId); }}>Show</button>
                      <br /><small title={timeText(at)}>{agoText(at)}</small>
                    </li>
                  ))}
                </ul>
              )}
            </Loaded>
            {list.hasMore && <button type="button" class="small" onClick={list.loadMore}>Older</button>}
          </div>
        </InfoDialog>
      )}
    </>
  );
}
