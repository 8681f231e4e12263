/* The database is killed, and of the application server, under open pages: nothing shown disappears, nothing
 * typed is lost, and every page is live again within 5 seconds of their return. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before } from "node:test";
import { checkTime, openPage, rest, startAppsOn, startBrowser, startDatabase, testBoth } from "./browser.js";
import { freePort } from "../support/loopback.js";

const BACK_MS = 5000;
const BANNER = "Connection lost, trying again";
const directory = mkdtempSync(path.join(tmpdir(), "gramme-outage-"));
const running = {};

/* "http://127.0.0.1:1234" -> "127.0.0.1:1234", to be served there again */
const addressOf = ({ url }) => url.replace("http://", "");

before(async () => {
  running.database = await startDatabase(directory, `127.0.0.1:${await freePort()}`);
  running.apps = await startAppsOn(running.database.url, `127.0.0.1:${await freePort()}`, "--samples");
  running.browser = await startBrowser();
});
after(async () => {
  await running.browser?.close();
  await running.apps?.stop();
  await running.database?.stop();
  rmSync(directory, { recursive: true, force: true });
});

const send = (method, where, body, headers) => rest(running.apps.url, method, where, body, headers);
const today = (days) => new Date(Date.now() + days * 24 * 3600 * 1000).toISOString().slice(0, 10);
let turns = 0;

/* Each application: its page, something it shows, where a person types (`open` leads there), and a change by
 * somebody else with the text that shows it. */
const PAGES = [
  { name: "calls", where: "/calls/?user=ana", shown: "section[aria-label=Past] .call >> nth=0", typed: "dialog input[name=other]",
    open: (page) => page.getByRole("button", { name: "New call" }).click(),
    change: (text) => send("POST", "/calls/api/calls",
      { callId: text, userId: "ana", providerId: text, scheduledFor: Date.now() - turns * 60_000 }) }, /* before those of earlier turns */
  { name: "calendar", where: "/calendar/", shown: ".fc-event >> nth=0", typed: "dialog input[name=title]",
    open: (page) => page.getByRole("button", { name: "New event" }).click(),
    change: async (text) => {
      const id = "5a3e0000-0000-4000-8000-000000000003"; /* Chloe's stay, of the sample data */
      const { body } = await send("GET", `/calendar/api/events/${id}`);
      return send("PUT", `/calendar/api/events/${id}`, { title: text, start: body.start, end: body.end }, { "If-Match": `"${body.version}"` });
    } },
  { name: "reconciliation", where: "/reconciliation/?tenant=north", shown: "[data-call] >> nth=0", typed: "dialog input[name=callId]",
    open: (page) => page.getByRole("button", { name: "Report a call" }).click(),
    change: (text) => send("PUT", `/reconciliation/api/calls/north/${text}`,
      { callDateTime: `${today(-5)}T00:00:00Z`, audioReceived: false, processingStatus: "FAILED" }) },
  { name: "tickets", where: "/tickets/?caller=poc-user-001&ticket=1d8d2fe2-4543-4e6d-aad0-9deed9d57070", shown: ".comments li >> nth=1",
    typed: ".ticket textarea",
    change: (text) => send("POST", "/tickets/api/tickets/1d8d2fe2-4543-4e6d-aad0-9deed9d57070/comments", { comment_text: text }) },
  { name: "tasks", where: "/tasks/?status=OPEN", shown: "[data-task] >> nth=0", typed: "dialog textarea",
    open: (page) => page.getByRole("button", { name: "New task" }).click(),
    change: (text) => send("POST", "/tasks/api/tasks", { title: text, priority: "LOW" }, { "X-User-Id": "ana" }) },
];

async function prepare({ where, shown, typed, open }, context) {
  const page = await openPage(running.browser, running.apps.url, where, context);
  await page.locator(shown).waitFor();
  const before = await page.locator(shown).textContent();
  await open?.(page);
  await page.locator(typed).fill("half a thought");
  return { page, before };
}

/* Nothing disappeared, nothing typed is lost. */
async function checkKept({ name, shown, typed }, { page, before }, when) {
  assert.equal(await page.locator(shown).textContent(), before, `${name}, ${when}: still shown`);
  assert.equal(await page.locator(typed).inputValue(), "half a thought", `${name}, ${when}: still typed`);
}

const survive = (context, kill, revive) => checkTime(() => surviveOnce(context, kill, revive), BACK_MS, "until all pages were live again");

/* Gives how long it took until all pages were live again. */
async function surviveOnce(context, kill, revive) {
  const open = await Promise.all(PAGES.map((each) => prepare(each, context)));
  await kill();
  await Promise.all(PAGES.map(async (each, index) => {
    await open[index].page.getByText(BANNER).waitFor();
    await checkKept(each, open[index], "without connection");
  }));
  await revive();
  const turn = ++turns;
  const text = ({ name }) => `${name}-after-${turn}`;
  const start = Date.now();
  const times = [];
  await Promise.all(PAGES.map(async (each, index) => {
    const { page } = open[index];
    await page.getByText(BANNER).waitFor({ state: "detached" });
    const { status, body } = await each.change(text(each));
    assert.ok(status < 300, `${each.name}: ${JSON.stringify(body)}`);
    await page.getByText(text(each)).first().waitFor({ state: "attached" });
    times.push(Date.now() - start);
    assert.equal(await page.locator(each.typed).inputValue(), "half a thought", `${each.name}: still typed`);
    assert.deepEqual(page.troubles.filter((trouble) => !trouble.includes("Failed to load resource") && !trouble.includes("ERR_")), []);
    await page.close();
  }));
  return Math.max(...times);
}

testBoth("the application server is killed and comes back", (context) => survive(context,
  () => running.apps.kill(),
  async () => (running.apps = await startAppsOn(running.database.url, addressOf(running.apps)))));

testBoth("the database is killed and comes back", (context) => survive(context,
  () => running.database.kill(),
  async () => (running.database = await startDatabase(directory, addressOf(running.database)))));

testBoth("both are killed at once and come back", (context) => survive(context,
  () => Promise.all([running.apps.kill(), running.database.kill()]),
  async () => {
    running.database = await startDatabase(directory, addressOf(running.database));
    running.apps = await startAppsOn(running.database.url, addressOf(running.apps));
  }));

testBoth("the page about access patterns keeps what was measured while the database is gone", async (context) => {
  const page = await openPage(running.browser, running.apps.url, "/tickets/?view=patterns", context);
  const measured = page.locator('[data-name="Requests measured"]').first();
  await measured.waitFor();
  await checkTime(async () => {
    await running.database.kill();
    await page.getByText(BANNER).waitFor();
    assert.ok(await measured.isVisible(), "still shown");
    running.database = await startDatabase(directory, addressOf(running.database));
    const start = Date.now();
    await page.getByText(BANNER).waitFor({ state: "detached" });
    assert.ok(await measured.isVisible());
    return Date.now() - start;
  }, BACK_MS, "until the page had its data again");
  await page.close();
});

testBoth("what is sent during an outage is refused in the dialog, which keeps it, and can be sent again", async (context, width) => {
  const page = await openPage(running.browser, running.apps.url, "/calls/?user=ben", context);
  await page.getByRole("button", { name: "New call" }).click();
  await page.getByRole("dialog").getByLabel("Provider").fill(`dr-later-${width}`);
  await running.apps.kill();
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("dialog").getByText("The server cannot be reached").waitFor();
  running.apps = await startAppsOn(running.database.url, addressOf(running.apps));
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("region", { name: "Upcoming" }).getByText(`with dr-later-${width}`).waitFor();
  await page.close();
});
