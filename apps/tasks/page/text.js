/* Words for what the API says. */
export const STATUSES = { OPEN: "Open", IN_PROGRESS: "In progress", COMPLETED: "Completed", CLOSED: "Closed" };
export const PRIORITIES = { LOW: "", MEDIUM: "accent", HIGH: "bad" }; /* and the look of their badges */
export const BYTES_MAX = 3500; /* of title and description: with the rest an item stays below 4 KB */

/* "HIGH" -> "High" */
export const upper = (name) => name[0] + name.slice(1).toLowerCase();

const encoder = new TextEncoder();
export const byteCount = (text) => encoder.encode(text).length;

/* Why an assignment of a user was refused. */
export function explainAssignment(error, userId) {
  switch (error.code) {
    case "duplicate":
      return new Error(`${userId} is already assigned to this task.`);
    case "user_deactivated":
      return new Error(`${userId} is deactivated and cannot be assigned.`);
    case "forbidden":
      return new Error("Only an active admin assigns tasks.");
    default:
      return error.status === 404 ? new Error(`There is no user “${userId}”, or the task is gone.`) : error;
  }
}
