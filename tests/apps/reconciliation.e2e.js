/* The page of reconciliation in Chromium. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { checkAxe, eventually, openPage, rest, startAppsOn, startDatabase, testBoth, useSite } from "./browser.js";
import { freePort } from "../support/loopback.js";

const HOUR = 3600 * 1000;
const site = useSite();
let tenants = 0;

/* A tenant of this test alone, with calls that failed these hours ago. */
async function newTenant(...hours) {
  const tenant = `tenant-${++tenants}`;
  for (const hour of hours) {
    await write(tenant, `${tenant}-${hour}h`, "FAILED", hour);
  }
  return tenant;
}

async function write(tenant, call, processingStatus, hoursAgo = 0, audioReceived = true) {
  const callDateTime = new Date(Date.now() - hoursAgo * HOUR).toISOString().replace(/\.\d+/, "");
  const { status } = await site.rest("PUT", `/reconciliation/api/calls/${tenant}/${call}`,
    { callDateTime, audioReceived, processingStatus });
  assert.ok(status === 200 || status === 201);
}

async function shown(page, count) {
  const rows = page.locator("[data-call]");
  await page.waitForFunction((n) => document.querySelectorAll("[data-call]").length === n, count);
  return rows.evaluateAll((all) => all.map((row) => row.dataset.call));
}

/* {name: count} of a card with bars. */
async function bars(page, title) {
  const rows = page.getByRole("region", { name: title }).getByRole("listitem");
  const pairs = await rows.evaluateAll((all) => all.map((row) =>
    [row.children[0].textContent, Number(row.children[2].textContent)]));
  return Object.fromEntries(pairs.filter(([, count]) => count > 0));
}

testBoth("oldest first, counted by age, tenant and shard", async (context) => {
  const tenant = await newTenant(30, 2, 100);
  await write(tenant, "fine", "SUCCESS", 1);
  const page = await site.open(`/reconciliation/?tenant=${tenant}`, context);
  assert.deepEqual(await shown(page, 3), [`${tenant}-100h`, `${tenant}-30h`, `${tenant}-2h`]);
  /* The numbers come with an answer of their own. */
  await eventually(() => bars(page, "By age"), { "under 6 h": 1, "under 3 days": 1, "under 7 days": 1 });
  await eventually(() => bars(page, "By tenant"), { [tenant]: 3 });
  const shards = await bars(page, "By shard");
  assert.equal(Object.values(shards).reduce((sum, count) => sum + count), 3);
  const [shard] = Object.keys(shards);
  await page.getByRole("region", { name: "By shard" }).getByRole("button", { name: shard, exact: true }).click();
  assert.equal((await shown(page, shards[shard])).length, shards[shard]);
  await page.waitForURL((url) => url.search === `?tenant=${tenant}&shard=${shard}`);
  await page.getByRole("button", { name: "Show all" }).click();
  await page.waitForFunction((name) => document.body.textContent.includes(name), tenant);
  await site.close(page);
});

testBoth("what changes shows by itself", async (context) => {
  const tenant = await newTenant(1);
  const page = await site.open(`/reconciliation/?tenant=${tenant}`, context);
  await shown(page, 1);
  await write(tenant, "new-one", "PENDING", 3, false);
  assert.deepEqual(await shown(page, 2), ["new-one", `${tenant}-1h`]);
  const row = page.locator("[data-call=new-one]");
  assert.deepEqual(await row.locator(".badge").allTextContents(), ["no audio", "pending"]);
  await write(tenant, "new-one", "SUCCESS", 3);
  await write(tenant, `${tenant}-1h`, "SUCCESS", 1);
  await page.getByText("Nothing is pending.").waitFor();
  await site.close(page);
});

testBoth("a call that is fine leaves the list, which can be undone", async (context) => {
  const tenant = await newTenant(1, 2);
  const page = await site.open(`/reconciliation/?tenant=${tenant}`, context);
  await page.getByRole("button", { name: `It is fine: ${tenant}-2h` }).click();
  await page.getByText(`${tenant}-2h is fine.`).waitFor();
  assert.deepEqual(await shown(page, 1), [`${tenant}-1h`]);
  const { body } = await site.rest("GET", `/reconciliation/api/calls/${tenant}/${tenant}-2h`);
  assert.deepEqual([body.pending, body.processingStatus], [false, "SUCCESS"]);
  await page.waitForFunction((id) => document.activeElement.closest("[data-call]")?.dataset.call === id, `${tenant}-1h`);
  await page.locator(".toast").getByRole("button", { name: "Undo" }).click();
  assert.deepEqual(await shown(page, 2), [`${tenant}-2h`, `${tenant}-1h`]);
  await site.close(page);
});

testBoth("a call that was said to be fine is found by its name, and the decision undone", async (context) => {
  const tenant = await newTenant(1);
  const call = `${tenant}-1h`;
  const page = await site.open(`/reconciliation/?tenant=${tenant}`, { refusals: [404], ...context });
  await shown(page, 1);
  assert.equal((await site.rest("POST", `/reconciliation/api/calls/${tenant}/${call}/resolve`, {})).status, 200);
  await page.getByText("Nothing is pending.").waitFor();
  await page.getByRole("button", { name: "Find a call" }).click();
  const dialog = page.getByRole("dialog");
  assert.equal(await dialog.getByLabel("Tenant").inputValue(), tenant, "the one that is looked at");
  await dialog.getByLabel("Call", { exact: true }).fill("none");
  await dialog.getByRole("button", { name: "Find" }).click();
  await dialog.getByRole("alert").getByText("There is no such call").waitFor();
  await dialog.getByLabel("Call", { exact: true }).fill(call);
  await dialog.getByRole("button", { name: "Find" }).click();
  await dialog.getByText("by admin,").waitFor();
  await dialog.getByRole("button", { name: "It is not fine" }).focus();
  await page.keyboard.press("Enter");
  await dialog.getByRole("button", { name: "It is fine" }).waitFor();
  await dialog.locator("button:focus", { hasText: "It is fine" }).waitFor();
  assert.deepEqual(await shown(page, 1), [call]);
  await page.keyboard.press("Enter");
  await dialog.getByRole("button", { name: "It is not fine" }).waitFor();
  await page.getByText("Nothing is pending.").waitFor();
  await checkAxe(page, "details of a call that was settled");
  await site.close(page);
});

testBoth("failed deliveries stay on the page when the server is restarted", async (context) => {
  const directory = mkdtempSync(path.join(tmpdir(), "gramme-failures-"));
  const receiver = createServer((request, response) => {
    request.resume();
    response.writeHead(500).end();
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const database = await startDatabase(directory);
  const listen = `127.0.0.1:${await freePort()}`;
  let apps = await startAppsOn(database.url, listen, "--webhook", `http://127.0.0.1:${receiver.address().port}/`, "--interval-ms", "100");
  const put = (call, processingStatus) => rest(apps.url, "PUT", `/reconciliation/api/calls/north/${call}`,
    { callDateTime: new Date().toISOString().replace(/\.\d+/, ""), audioReceived: true, processingStatus });
  const page = await openPage(site.browser, apps.url, "/reconciliation/", context);
  const failures = page.getByRole("region", { name: "Failed deliveries" }).getByRole("listitem");
  for (const call of ["heals", "stays"]) {
    await put(call, "FAILED");
    await failures.filter({ hasText: call }).getByText("status 500").waitFor();
  }
  await put("heals", "SUCCESS"); /* a new server does not find its deliveries */
  await apps.kill();
  await page.getByText("Connection lost").waitFor();
  apps = await startAppsOn(database.url, listen);
  await put("new-one", "FAILED");
  await page.locator('[data-call="new-one"]').waitFor();
  for (const call of ["heals", "stays"]) {
    assert.ok(await failures.filter({ hasText: call }).first().isVisible(), `${call} is still shown`);
  }
  await page.reload();
  await failures.filter({ hasText: "stays" }).first().waitFor();
  await page.close(); /* the browser logged the outage */
  await apps.stop();
  await database.stop();
  receiver.close();
  rmSync(directory, { recursive: true, force: true });
});

testBoth("report a call", async (context) => {
  const tenant = await newTenant();
  const page = await site.open(`/reconciliation/?tenant=${tenant}`, { refusals: [404], ...context });
  await page.getByText("Nothing is pending.").waitFor();
  await page.getByRole("button", { name: "Report a call" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Tenant").fill(tenant);
  await dialog.getByLabel("Call", { exact: true }).fill("not an id!");
  await dialog.getByRole("button", { name: "Report" }).click();
  await dialog.getByRole("alert").waitFor();
  await dialog.getByLabel("Call", { exact: true }).fill("c-1");
  await dialog.getByLabel("Audio received").uncheck();
  await dialog.getByLabel("Processing").selectOption("SUCCESS");
  await dialog.getByRole("button", { name: "Report" }).click();
  assert.deepEqual(await shown(page, 1), ["c-1"]);
  assert.deepEqual(await page.locator("[data-call=c-1] .badge").allTextContents(), ["no audio"]);
  await site.close(page);
});

testBoth("filters are kept, totals follow them, newest first on demand", async (context) => {
  const tenant = await newTenant(1, 2, 3);
  await write(tenant, `${tenant}-silent`, "PENDING", 4, false);
  const page = await site.open("/reconciliation/", context);
  await page.getByLabel("Tenant", { exact: true }).selectOption(tenant);
  await shown(page, 4);
  await page.getByLabel("Processing").selectOption("FAILED");
  assert.deepEqual(await shown(page, 3), [`${tenant}-3h`, `${tenant}-2h`, `${tenant}-1h`]);
  await page.getByText("3 of 3").waitFor();
  await page.getByRole("button", { name: "Newest first" }).click();
  await page.getByRole("heading", { name: "Newest first" }).waitFor();
  await page.waitForFunction((first) => document.querySelector("[data-call]").dataset.call === first, `${tenant}-1h`);
  await page.reload();
  assert.deepEqual(await shown(page, 3), [`${tenant}-1h`, `${tenant}-2h`, `${tenant}-3h`]);
  assert.equal(await page.getByLabel("Tenant", { exact: true }).inputValue(), tenant);
  await page.locator(".number-card", { hasText: /pending$/ }).locator("strong").getByText("3", { exact: true }).waitFor();
  await site.close(page);
});

testBoth("calls older than the look-back are counted and shown as abandoned", async (context) => {
  const tenant = await newTenant(24 * 30);
  const page = await site.open(`/reconciliation/?tenant=${tenant}`, context);
  await page.getByText("Nothing is pending.").waitFor();
  await page.getByRole("button", { name: "Show them" }).focus();
  await page.keyboard.press("Enter");
  assert.deepEqual(await shown(page, 1), [`${tenant}-720h`]);
  await page.locator("[data-call]").getByText("abandoned").waitFor();
  await page.locator(".number-card:focus", { hasText: "abandoned" }).waitFor(); /* where the button was */
  await page.getByRole("button", { name: "Show all" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Show all" }).waitFor({ state: "detached" });
  await page.locator("section:focus", { hasText: "Oldest first" }).waitFor();
  await site.close(page);
});

testBoth("many calls come in pages, and say how many there are", async (context) => {
  const tenant = `tenant-${++tenants}`;
  const callDateTime = new Date(Date.now() - HOUR).toISOString().replace(/\.\d+/, "");
  await Promise.all(Array.from({ length: 60 }, (_, number) => site.rest("PUT",
    `/reconciliation/api/calls/${tenant}/many-${number}`, { callDateTime, audioReceived: true, processingStatus: "FAILED" })));
  const page = await site.open(`/reconciliation/?tenant=${tenant}`, context);
  await page.getByText("50 of 60").waitFor();
  await page.getByRole("button", { name: "Show more" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("60 of 60").waitFor();
  await page.locator("[data-call]").nth(50).locator(":focus").waitFor(); /* the first of the new ones, as the button is gone */
  assert.equal(new Set(await shown(page, 60)).size, 60);
  await site.close(page);
});

testBoth("the poller's deliveries show live: failures on the page, the history in a call's details", async (context) => {
  let answers = 0;
  const receiver = createServer((request, response) => {
    request.resume();
    response.writeHead(++answers === 1 ? 500 : 200).end();
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const apps = await startAppsOn("memory:", "127.0.0.1:0", "--webhook", `http://127.0.0.1:${receiver.address().port}/`,
    "--interval-ms", "100", "--backoff-ms", "200");
  const page = await openPage(site.browser, apps.url, "/reconciliation/", context);
  await page.getByText("Nothing is pending.").waitFor();
  const { status } = await rest(apps.url, "PUT", "/reconciliation/api/calls/north/c-1",
    { callDateTime: new Date().toISOString().replace(/\.\d+/, ""), audioReceived: false, processingStatus: "FAILED" });
  assert.equal(status, 201);
  await page.getByRole("region", { name: "Failed deliveries" }).getByText("status 500").waitFor();
  await page.getByRole("button", { name: "c-1", exact: true }).click();
  const history = page.getByRole("dialog").getByRole("list", { name: "Deliveries" });
  await history.getByText("attempt 1: status 500").waitFor();
  await history.getByText("attempt 2: delivered, status 200").waitFor();
  await site.close(page);
  await apps.stop();
  receiver.close();
});
