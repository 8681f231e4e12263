/* Live updates on a DynamoDB whose tables have no streams: pages get an event to reload, at once after a write of their own
 * server and every few seconds otherwise. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { checkTime, DESKTOP, openPage, PHONE, rest, ROOT, startAppsOnTables, startBrowser, startDatabase } from "./browser.js";

const NAMES = ["calls", "calendar", "reconciliation", "tickets", "tasks"];
const directory = mkdtempSync(path.join(tmpdir(), "gramme-poll-"));
const running = {};
let turns = 0;

/* Of January 2035, which has enough for every turn. */
const day = (number) => new Date(Date.UTC(2035, 0, number)).toISOString().slice(0, 10);

async function createTable(name) {
  const answer = await fetch(running.database.url, {
    method: "POST",
    headers: { "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810.CreateTable",
      Authorization: "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0" },
    body: readFileSync(path.join(ROOT, "apps", name, "schema.json")),
  });
  assert.equal(answer.status, 200, await answer.text());
}

before(async () => {
  running.database = await startDatabase(directory);
  await Promise.all(NAMES.map(createTable));
  running.apps = await startAppsOnTables(running.database.url, "127.0.0.1:0", "--samples");
  running.other = await startAppsOnTables(running.database.url, "127.0.0.1:0");
  running.browser = await startBrowser();
});
after(async () => {
  await running.browser?.close();
  await Promise.all([running.apps?.stop(), running.other?.stop()]);
  await running.database?.stop();
  rmSync(directory, { recursive: true, force: true });
});

/* Each application: its page, what to wait for, where a person types, and a change at a server with the text that shows it. */
const PAGES = [
  { where: "/calls/?user=ana", shown: ".call", open: "New call", typed: "dialog input[name=other]",
    change: (url, text) => rest(url, "POST", "/calls/api/calls",
      { callId: text, userId: "ana", providerId: text, scheduledFor: Date.now() + 60_000 - turns * 1000 }) },
  { where: "/calendar/?date=2035-01-01", shown: ".fc-daygrid-day", open: "New event", typed: "dialog input[name=title]",
    change: (url, text) => rest(url, "POST", "/calendar/api/events",
      { title: text, start: day(turns), end: day(turns + 1) }) },
  { where: "/reconciliation/?order=newest", shown: "[data-call]", open: "Report a call", typed: "dialog input[name=callId]",
    change: (url, text) => rest(url, "PUT", `/reconciliation/api/calls/north/${text}`,
      { callDateTime: new Date().toISOString().replace(/\.\d+/, ""), audioReceived: false, processingStatus: "FAILED" }) },
  { where: "/tickets/?caller=poc-user-001", shown: "main li", open: "Open a ticket", typed: "dialog textarea",
    change: (url, text) => rest(url, "POST", "/tickets/api/tickets", { issue_description: text, caller_id: "poc-user-001" }) },
  { where: "/tasks/?status=OPEN", shown: "[data-task]", open: "New task", typed: "dialog textarea",
    change: (url, text) => rest(url, "POST", "/tasks/api/tasks", { title: text, priority: "LOW" }, { "X-User-Id": "ana" }) },
];

/* The server reads every 5 s: only what it says after a write of its own comes sooner to all five pages. */
for (const [whose, server, withinMs, size, context] of [["their own", "apps", 2500, "1280", DESKTOP], ["another", "other", 9000, "390", PHONE]]) {
  test(`pages show what ${whose} server writes, and keep what is typed, ${size} px`, async () => {
    const pages = await Promise.all(PAGES.map(async (each) => {
      const page = await openPage(running.browser, running.apps.url, each.where, context);
      await page.locator(each.shown).first().waitFor();
      await page.getByRole("button", { name: each.open }).click();
      await page.locator(each.typed).fill("half a thought");
      return page;
    }));
    await checkTime(async () => Math.max(...await Promise.all(PAGES.map(async (each, index) => {
      const page = pages[index];
      const text = `poll-${each.where.split("/")[1]}-${++turns}`;
      const { status, body } = await each.change(running[server].url, text);
      assert.equal(status, 201, JSON.stringify(body));
      const start = Date.now();
      await page.getByText(text).first().waitFor({ state: "attached" });
      assert.equal(await page.locator(each.typed).inputValue(), "half a thought");
      return Date.now() - start;
    }))), withinMs, "until all pages showed what was written");
    for (const page of pages) {
      assert.deepEqual(page.troubles, []);
      await page.close();
    }
  });
}
