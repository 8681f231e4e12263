/* The pages on a database that checks signatures, each application with its own key and policy.json: rows as the documents write
 * them, without what our own programs add; and what the database has measured, on the pages "Access patterns". */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before } from "node:test";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand } from "@aws-sdk/lib-dynamodb";
import { checkAxe, checkWidth, openPage, rest, startBrowser, testBoth } from "./browser.js";
import { NAMES, ROOT_KEY, startAppsAsRoot, startAppsAsThemselves, startSignedDatabase } from "./signed.js";

const HOUR = 3600 * 1000;
const directory = mkdtempSync(path.join(tmpdir(), "gramme-stored-"));
const running = {};

before(async () => {
  running.database = await startSignedDatabase(directory);
  await (await startAppsAsRoot(running.database, "--create-tables", "--samples")).stop();
  running.apps = await startAppsAsThemselves(running.database);
  running.browser = await startBrowser();
  running.db = DynamoDBDocumentClient.from(new DynamoDBClient({ endpoint: running.database.url, region: "us-east-1",
    credentials: { accessKeyId: ROOT_KEY.id, secretAccessKey: ROOT_KEY.secret } }));
});
after(async () => {
  await running.browser?.close();
  running.db?.destroy();
  await running.apps?.stop();
  await running.database?.stop();
  rmSync(directory, { recursive: true, force: true });
});

const put = (table, item) => running.db.send(new PutCommand({ TableName: table, Item: item }));
const open = (where, context, more = {}) => openPage(running.browser, running.apps.url, where, { ...context, ...more });
const ask = (method, where, body, headers) => rest(running.apps.url, method, where, body, headers);

async function close(page) {
  const { troubles } = page;
  await page.close();
  assert.deepEqual(troubles, []);
}

testBoth("a call as the document writes it, without a version, can be changed", async (context, width) => {
  const user = `doc-${width}`;
  const callId = `call-${width}`;
  const scheduledFor = Date.now() + 5 * HOUR;
  await put("Calls", { userId: user, sk: `${String(scheduledFor).padStart(13, "0")}#${callId}`, callId, providerId: "dr-doc",
    status: "SCHEDULED", scheduledFor, userStatus: `${user}#SCHEDULED` });
  const page = await open(`/calls/?user=${user}`, context);
  const row = (region) => page.getByRole("region", { name: region }).locator(`[data-call="${callId}"]`);
  await row("Upcoming").getByRole("button", { name: "Complete" }).click();
  await row("Past").getByRole("button", { name: "Reopen" }).click();
  await row("Upcoming").getByRole("button", { name: /^Provider/ }).click();
  await page.getByRole("dialog").getByLabel("Provider").fill("dr-other");
  await page.keyboard.press("Enter");
  await row("Upcoming").getByText("dr-other").waitFor();
  const again = await ask("POST", "/calls/api/calls", { callId, userId: "somebody", providerId: "dr-doc", scheduledFor });
  assert.equal(again.status, 409, "its id is taken");
  await close(page);
});

testBoth("a ticket as the document writes it, without comments, is shown and takes a comment", async (context, width) => {
  const caller = `doc-${width}`;
  const ticket = width.padStart(8, "0") + "-f182-4f8a-b03e-2f1515915471";
  await put("poc-itsm-tickets", { ticket_id: ticket, caller_id: caller, issue_description: "My laptop won't turn on", status: "open",
    created_at: "2026-02-09T12:20:25.343883Z", updated_at: "2026-02-09T12:20:25.343883Z" });
  const page = await open(`/tickets/?caller=${caller}`, context);
  await page.getByRole("link", { name: "My laptop won't turn on" }).click();
  await page.getByLabel("Comment", { exact: true }).fill("Tried restarting");
  await page.getByRole("button", { name: "Add comment" }).click();
  await page.getByRole("listitem").filter({ hasText: "Tried restarting" }).waitFor();
  await close(page);
});

testBoth("a stay, a bad call and a task as the documents write them are shown and can be changed", async (context, width) => {
  const month = width === "390" ? "2036-03" : "2036-04";
  const eventId = width.padStart(8, "0") + "-1111-4f8a-b03e-2f1515915471";
  await put("cal-app-sam", { PK: "EVENT", SK: eventId, startDate: `${month}-10`, endDate: `${month}-11`, title: "A guest", version: 1 });
  await put("cal-app-sam", { PK: "SLOT", SK: `${month}-10` });
  const calendar = await open(`/calendar/?date=${month}-01`, context);
  await calendar.locator(".fc-event", { hasText: "A guest" }).click();
  await calendar.getByRole("dialog").getByLabel("Leaves on").fill(`${month}-13`);
  await calendar.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await calendar.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal((await ask("GET", `/calendar/api/events/${eventId}`)).body.end, `${month}-13`);
  await close(calendar);

  const time = new Date(Date.now() - HOUR).toISOString().replace(/\.\d+/, "");
  await put("CallRecords", { PK: `TENANT#doc-${width}`, SK: "CALL#bad", TenantId: `doc-${width}`, CallId: "bad", CallDateTime: time,
    AudioReceived: false, ProcessingStatus: "SUCCESS", GSI_Recon_PK: "STATUS#PENDING#0", GSI_Recon_SK: `${time}#doc-${width}` });
  const reconciliation = await open(`/reconciliation/?tenant=doc-${width}`, context);
  await reconciliation.getByRole("button", { name: "It is fine: bad" }).click();
  await reconciliation.getByText("Nothing is pending.").waitFor();
  await close(reconciliation);

  const now = new Date().toISOString();
  const task = `${width}-task`;
  await put("task-manager-sandbox-tasks", { PK: `TASK#${task}`, SK: "METADATA", EntityType: "TASK", TaskId: task, Title: `As written ${width}`,
    Description: "", Priority: "LOW", Status: "OPEN", CreatedBy: "ana", CreatedAt: now, UpdatedAt: now, GSI2PK: "STATUS#OPEN", GSI2SK: `CREATED_AT#${now}` });
  const tasks = await open("/tasks/?status=OPEN", context, { user: "ana" });
  await tasks.getByLabel(`Status of As written ${width}`).selectOption("CLOSED");
  await tasks.getByText(`As written ${width}: Closed`).waitFor();
  await close(tasks);
});

testBoth("a bad call without a status, and a user without keys of an index, as other programs write them", async (context, width) => {
  const time = new Date(Date.now() - HOUR).toISOString().replace(/\.\d+/, "");
  const tenant = `bare-${width}`;
  await put("CallRecords", { PK: `TENANT#${tenant}`, SK: "CALL#silent", TenantId: tenant, CallId: "silent", CallDateTime: time,
    AudioReceived: false, GSI_Recon_PK: "STATUS#PENDING#0", GSI_Recon_SK: `${time}#${tenant}` });
  const reconciliation = await open(`/reconciliation/?tenant=${tenant}`, context);
  await reconciliation.getByRole("button", { name: "silent", exact: true }).click();
  await reconciliation.getByRole("dialog").getByText("not known").waitFor();
  await reconciliation.keyboard.press("Escape");
  await reconciliation.getByRole("button", { name: "It is fine: silent" }).click();
  await reconciliation.getByText("Nothing is pending.").waitFor();
  await reconciliation.getByRole("button", { name: "Undo" }).click();
  await reconciliation.getByRole("button", { name: "It is fine: silent" }).waitFor();
  await close(reconciliation);

  const user = `bare-${width}`;
  await put("task-manager-sandbox-tasks", { PK: `USER#${user}`, SK: "PROFILE", EntityType: "USER", UserId: user, Email: "bare@example.com",
    UserStatus: "ACTIVE", Groups: ["Members"], CreatedAt: "2026-01-02T03:04:05Z" });
  const tasks = await open("/tasks/?status=USERS", context, { user: "ana", refusals: [404] });
  const search = tasks.getByRole("search", { name: "Find a user" });
  await search.getByLabel("Find by id").fill("nobody-at-all");
  await tasks.keyboard.press("Enter");
  await tasks.getByText("There is no user “nobody-at-all”.").waitFor();
  await search.getByLabel("Find by id").fill(user);
  await search.getByRole("button", { name: "Find" }).click();
  const found = tasks.getByRole("status", { name: "Found" });
  await found.getByText("bare@example.com").waitFor();
  await checkAxe(tasks, "a user that was found");
  await checkWidth(tasks, "a user that was found");
  await found.getByRole("button", { name: `Deactivate: ${user}` }).click();
  await found.getByText("deactivated", { exact: true }).waitFor();
  await close(tasks);
});

testBoth("rows of other programs with a time of another form, or without a status or a priority, do not break the pages", async (context, width) => {
  const time = "2023-10-27T08:00:00+00:00";
  const tenant = `odd-${width}`;
  await put("CallRecords", { PK: `TENANT#${tenant}`, SK: "CALL#odd-time", TenantId: tenant, CallId: "odd-time", CallDateTime: time,
    AudioReceived: false, ProcessingStatus: "PENDING", GSI_Recon_PK: "STATUS#PENDING#0", GSI_Recon_SK: `${time}#${tenant}` });
  const reconciliation = await open(`/reconciliation/?tenant=${tenant}&age=abandoned`, context);
  await reconciliation.getByRole("button", { name: "odd-time", exact: true }).click();
  await reconciliation.getByRole("dialog").getByText("not known").waitFor();
  await close(reconciliation);

  const caller = `odd-${width}`;
  await put("poc-itsm-tickets", { ticket_id: width.padStart(8, "0") + "-f182-4f8a-b03e-2f1515915472", caller_id: caller,
    issue_description: "No status", created_at: "2026-02-09T12:20:25.343883Z" });
  const tickets = await open(`/tickets/?caller=${caller}`, context, { user: "desk" });
  await tickets.getByRole("link", { name: "No status" }).click();
  await tickets.getByRole("region", { name: "Ticket", exact: true }).getByRole("heading", { name: "No status" }).waitFor();
  assert.equal(await tickets.getByLabel("Status of the ticket").inputValue(), "");
  await close(tickets);

  const now = new Date().toISOString();
  await put("task-manager-sandbox-tasks", { PK: `TASK#odd-${width}`, SK: "METADATA", EntityType: "TASK", TaskId: `odd-${width}`,
    Title: `No priority ${width}`, Status: "OPEN", CreatedBy: "ana", CreatedAt: now, UpdatedAt: now, GSI2PK: "STATUS#OPEN", GSI2SK: `CREATED_AT#${now}` });
  const tasks = await open("/tasks/?status=OPEN", context, { user: "ana" });
  await tasks.getByText(`No priority ${width}`).waitFor();
  await close(tasks);
});

/* Something that each application asks of its table: a pattern, and what makes a request of it. */
const MEASURED = {
  calls: ["last_completed", () => ask("GET", "/calls/api/users/ana/calls/last")],
  calendar: ["list_events", () => ask("GET", "/calendar/api/events?from=2036-01-01&to=2036-02-01")],
  reconciliation: ["get_call", () => ask("GET", "/reconciliation/api/calls/north/none")],
  tickets: ["list_recent_tickets", () => ask("GET", "/tickets/api/tickets?caller=poc-user-001")],
  tasks: ["get_tasks_by_status", () => ask("GET", "/tasks/api/tasks?status=OPEN")],
};

testBoth("the pages about access patterns show what the database has measured, and go on counting", async (context) => {
  for (const name of NAMES) {
    const [pattern, request] = MEASURED[name];
    assert.ok((await request()).status < 500);
    const page = await open(`/${name}/?view=patterns`, context);
    const cell = page.getByRole("table", { name: "Patterns" }).getByRole("row", { name: new RegExp(`^${pattern}\\b`) })
      .locator('[data-name="Requests measured"]');
    const count = async () => Number((await cell.textContent()).replace(/\D.*/, ""));
    await page.waitForFunction((element) => parseInt(element.textContent, 10) > 0, await cell.elementHandle());
    const first = await count();
    await request();
    await page.reload();
    await cell.waitFor();
    for (const deadline = Date.now() + 30_000; await count() <= first;) {
      assert.ok(Date.now() < deadline, `${name}: ${pattern} is not counted`);
      await page.reload();
      await cell.waitFor();
    }
    await page.getByRole("table", { name: "Cost per month" }).getByRole("row", { name: /^On demand, as/ }).nth(1).waitFor();
    await checkWidth(page, `${name} at ${context.viewport.width} px`);
    await checkAxe(page, `${name}, with what was measured`);
    await close(page);
  }
});
