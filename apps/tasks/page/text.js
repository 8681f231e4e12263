/* Words for what the API says. */
import { createApi } from "@common/api.js";

export const api = createApi("tasks");
export const STATUSES = { OPEN: "Open", IN_PROGRESS: "In progress", COMPLETED: "Completed", CLOSED: "Closed" };
export const PRIORITIES = { LOW: "", MEDIUM: "accent", HIGH: "bad" }; /* and the look of their badges */
const BYTES_MAX = 3250; /* of title and description: with the rest, ids of the greatest length among it, an item stays below 4 KB */

/* "HIGH" -> "High" */
export const upper = (name) => name[0] + name.slice(1).toLowerCase();

const encoder = new TextEncoder();
const byteCount = (text) => encoder.encode(text).length;

/* Throws if a task would not fit into an item of 4 KB. */
export function checkSize(title, description) {
  const size = byteCount(title) + byteCount(description);
  if (size > BYTES_MAX) {
    throw new Error(`Title and description are too long together: ${size} of at most ${BYTES_MAX} bytes.`);
  }
}

/* Why an assignment of a user was refused. */
export function explainAssignment(error, userId) {
  switch (error.code) {
    case "duplicate":
      return new Error(`${userId} is already assigned to this task.`);
    case "user_deactivated":
      return new Error(`${userId} is deactivated and cannot be assigned.`);
    default:
      return error.status === 404 ? new Error(`There is no user “${userId}”, or the task is gone.`) : error;
  }
}
