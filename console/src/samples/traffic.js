/* Requests as the five applications send them: the access patterns of their documents, a few times each, so that the
 * insight pages have something to show. */
import { callAsProgram } from "../lib/dynamo.js";

const S = (text) => ({ S: text });
const pick = (list) => list[Math.floor(Math.random() * list.length)];

const TASKS = "task-manager-sandbox-tasks";
const TICKETS = "poc-itsm-tickets";

/* [weight, () => [operation, input]]; `of` gives items of the samples by table. */
function requests(of) {
  const tasks = of[TASKS].filter((item) => item.EntityType.S === "TASK");
  const users = of[TASKS].filter((item) => item.EntityType.S === "USER");
  const query = (TableName, IndexName, KeyConditionExpression, ExpressionAttributeValues, more = {}) =>
    ["Query", { TableName, ...(IndexName && { IndexName }), KeyConditionExpression, ExpressionAttributeValues, ...more }];
  return [
    [12, () => ["GetItem", { TableName: TASKS, Key: { PK: pick(tasks).PK, SK: S("METADATA") } }]],
    [8, () => ["GetItem", { TableName: TASKS, Key: { PK: pick(users).PK, SK: S("PROFILE") } }]],
    [8, () => query(TASKS, null, "PK = :taskId AND begins_with(SK, :assignment)", { ":taskId": pick(tasks).PK, ":assignment": S("ASSIGNMENT#") })],
    [8, () => query(TASKS, "GSI1", "GSI1PK = :userId", { ":userId": pick(users).PK })],
    [6, () => query(TASKS, "GSI2", "GSI2PK = :status", { ":status": pick(tasks).GSI2PK }, { ScanIndexForward: false, Limit: 20 })],
    [10, () => ["GetItem", { TableName: TICKETS, Key: { ticket_id: pick(of[TICKETS]).ticket_id } }]],
    [8, () => query(TICKETS, "CallerIdIndex", "caller_id = :caller_id", { ":caller_id": S("poc-user-001") }, { ScanIndexForward: false, Limit: 10 })],
    [3, () => ["UpdateItem", { TableName: TICKETS, Key: { ticket_id: pick(of[TICKETS]).ticket_id }, UpdateExpression: "SET #s = :s, updated_at = :now", ExpressionAttributeNames: { "#s": "status" },
      ExpressionAttributeValues: { ":s": S(pick(["open", "in_progress", "closed"])), ":now": S(new Date().toISOString()) } }]],
    [6, () => query("Calls", null, "userId = :user", { ":user": pick(of.Calls).userId })],
    [6, () => query("Calls", "byUserStatus", "userStatus = :user_status AND sk >= :now", { ":user_status": S(`${pick(of.Calls).userId.S}#SCHEDULED`), ":now": S(String(Date.now())) }, { Limit: 1 })],
    [4, () => query("Calls", "byCallId", "callId = :call", { ":call": pick(of.Calls).callId })],
    [4, () => query("Calls", "byProvider", "providerId = :provider", { ":provider": pick(of.Calls).providerId })],
    [6, () => query("cal-app-sam", "startDateIndex", "PK = :event AND startDate BETWEEN :first AND :last", { ":event": S("EVENT"), ":first": S("2026-01-01"), ":last": S("2030-01-01") })],
    [6, () => query("CallRecords", "ReconciliationIndex", "GSI_Recon_PK = :status AND GSI_Recon_SK > :lookbackDate", { ":status": S(`STATUS#PENDING#${Math.floor(Math.random() * 5)}`), ":lookbackDate": S("2020") })],
    /* Two that should not be there, for the findings. */
    [2, () => ["Scan", { TableName: "CallRecords", FilterExpression: "ProcessingStatus = :failed", ExpressionAttributeValues: { ":failed": S("FAILED") } }]],
    [2, () => query("CallRecords", null, "PK = :tenant", { ":tenant": S("TENANT#north"), ":audio": { BOOL: false } }, { FilterExpression: "AudioReceived = :audio" })],
  ];
}

const PAUSE_MS = 100;
const STRIDE = 37; /* through the list of requests, so that they mix: each is sent as often as its weight says */

/* Sends `count` requests, three at a time and about thirty a second, so that one can watch; onProgress(done). Errors are the
 * server's to count. */
export async function sendTraffic(samples, count, onProgress, signal) {
  const of = Object.fromEntries(samples.map(({ schema, items }) => [schema.TableName, items(Date.now())]));
  const weighted = requests(of).flatMap(([weight, make]) => Array(weight).fill(make));
  let done = 0;
  const work = async () => {
    while (done < count && !signal.aborted) {
      const [operation, input] = weighted[(done++ * STRIDE) % weighted.length]();
      await callAsProgram(operation, { ...input, ReturnConsumedCapacity: "INDEXES" }, signal).catch(() => {});
      onProgress(done);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  };
  await Promise.all([work(), work(), work()]);
}
