/* Changes of calls, and the messages shown for them. */
import { createApi } from "@common/api.js";
import { dayText, hourText } from "./time.js";

export const api = createApi("calls");

/* "09:00 on Tuesday, 17 November 2026 with dr-lund" */
export const describe = (call) =>
  `${hourText(call.scheduledFor)} on ${dayText(call.scheduledFor)} with ${call.providerId}`;

/* Changes one part of a call, if it still has the version that the page shows. If not, throws an error that
 * says what the call is now, with that call as `error.now`. */
export async function changeCall(call, part, body) {
  const path = `/calls/${encodeURIComponent(call.callId)}`;
  try {
    return await api.put(`${path}/${part}`, body, { version: call.version });
  } catch (error) {
    if (error.status !== 412) {
      throw error;
    }
    const now = await api.get(path);
    const changed = new Error(
      `Someone changed this call meanwhile. It is now ${now.status.toLowerCase()}, ${describe(now)}, for ${now.userId}.`);
    changed.now = now;
    throw changed;
  }
}
