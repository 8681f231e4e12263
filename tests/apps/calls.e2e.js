/* The page of calls in Chromium. */
import assert from "node:assert/strict";
import { testBoth, useSite } from "./browser.js";

const HOUR = 3600 * 1000;
const YEAR = new Date().getUTCFullYear() + 1; /* what is in the past is questioned */
const site = useSite();
let users = 0;

/* A user of this test alone, with calls at these hours from now. */
async function newUser(...hours) {
  const user = `user-${++users}`;
  const calls = [];
  for (const hour of hours) {
    const { status, body } = await site.rest("POST", "/calls/api/calls", {
      callId: `${user}-${hour}`, userId: user, providerId: "dr-lund", scheduledFor: Date.now() + hour * HOUR,
    });
    assert.equal(status, 201);
    calls.push(body);
  }
  return { user, calls };
}

const complete = (call) =>
  site.rest("PUT", `/calls/api/calls/${call.callId}/status`, { status: "COMPLETED" }, { "If-Match": `"${call.version}"` });

/* The ids of the calls in a timeline, from top to bottom. */
async function shown(page, title, count) {
  const list = page.getByRole("region", { name: title });
  await list.locator("[data-call]").nth(count - 1).waitFor();
  return list.locator("[data-call]").evaluateAll((rows) => rows.map((row) => row.dataset.call));
}

testBoth("the first visit says what to do, and a user's name leads to the timeline", async (context) => {
  const { user } = await newUser(1);
  const page = await site.open("/calls/", context);
  await page.getByText("Whose calls?").waitFor();
  await page.getByLabel("Name").fill(user);
  await page.keyboard.press("Enter");
  assert.deepEqual(await shown(page, "Upcoming", 1), [`${user}-1`]);
  assert.equal(new URL(page.url()).search, `?user=${user}`);
  await page.goBack();
  await page.getByText("Whose calls?").waitFor();
  await site.close(page);
});

testBoth("upcoming calls ascend, past ones descend, the next is marked", async (context) => {
  const { user, calls } = await newUser(30, -2, 3, -50, -80);
  await complete(calls[3]);
  await complete(calls[4]);
  const page = await site.open(`/calls/?user=${user}`, context);
  assert.deepEqual(await shown(page, "Upcoming", 3), [`${user}--2`, `${user}-3`, `${user}-30`]);
  assert.deepEqual(await shown(page, "Past", 2), [`${user}--50`, `${user}--80`]);
  assert.equal(await page.locator("[data-call]", { hasText: "next" }).getAttribute("data-call"), `${user}-3`);
  assert.equal(await page.locator("[data-call]", { hasText: "overdue" }).getAttribute("data-call"), `${user}--2`);
  await site.close(page);
});

testBoth("empty timelines say so", async (context) => {
  const page = await site.open("/calls/?user=nobody", context);
  await page.getByText("Nothing is planned.").waitFor();
  await page.getByText("No call is completed yet.").waitFor();
  await site.close(page);
});

testBoth("a call is created, completed and reopened", async (context) => {
  const { user } = await newUser();
  const page = await site.open(`/calls/?user=${user}`, context);
  await page.getByRole("button", { name: "New call" }).click();
  await page.getByLabel("Provider").fill("dr-osei");
  await page.keyboard.press("Enter");
  const upcoming = page.getByRole("region", { name: "Upcoming" });
  await upcoming.getByText("with dr-osei").waitFor();
  await upcoming.getByRole("button", { name: "Complete" }).click();
  await page.getByRole("region", { name: "Past" }).getByText("with dr-osei").waitFor();
  await upcoming.getByText("Nothing is planned.").waitFor();
  await page.getByRole("button", { name: "Reopen" }).click();
  await upcoming.getByText("with dr-osei").waitFor();
  const { body } = await site.rest("GET", `/calls/api/users/${user}/calls`);
  assert.equal(body.items.length, 1);
  assert.deepEqual([body.items[0].status, body.items[0].version], ["SCHEDULED", 3]);
  await site.close(page);
});

testBoth("a call is rescheduled, gets another provider, and another user", async (context) => {
  const { user, calls: [call] } = await newUser(5);
  const page = await site.open(`/calls/?user=${user}`, context);
  await page.getByRole("button", { name: "Reschedule" }).click();
  await page.getByLabel("When").fill(`${YEAR}-03-04T05:06`);
  await page.getByRole("dialog").getByRole("button", { name: "Reschedule" }).click();
  await page.getByRole("heading", { name: `4 March ${YEAR}` }).waitFor();
  await page.getByRole("button", { name: "Provider" }).click();
  await page.getByRole("dialog").getByLabel("Provider").fill("dr-moreau");
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Upcoming" }).getByText("with dr-moreau").waitFor();
  await page.getByRole("button", { name: "Reassign" }).click();
  await page.getByRole("dialog").getByLabel("User").fill(`${user}-b`);
  await page.keyboard.press("Enter");
  await page.getByText("Nothing is planned.").waitFor();
  const { body } = await site.rest("GET", `/calls/api/calls/${call.callId}`);
  assert.deepEqual(body, { ...call, userId: `${user}-b`, providerId: "dr-moreau", version: 4,
                           scheduledFor: Date.UTC(YEAR, 2, 4, 5, 6) });
  await site.close(page);
});

testBoth("a call that someone changed meanwhile gives a message, and its current state is shown", async (context) => {
  const { user, calls: [call] } = await newUser(5);
  const page = await site.open(`/calls/?user=${user}`, { refusals: [412], ...context });
  await page.getByRole("button", { name: "Reschedule" }).click();
  await complete(call);
  await page.getByLabel("When").fill(`${YEAR}-03-04T05:06`);
  await page.keyboard.press("Enter");
  await page.getByText("Someone changed this call meanwhile").waitFor();
  await page.getByRole("region", { name: "Past" }).getByText("completed").waitFor();
  await page.getByText("Nothing is planned.").waitFor();
  await site.close(page);
});

testBoth("what the server refuses is said in the dialog", async (context) => {
  const { user } = await newUser();
  const page = await site.open(`/calls/?user=${user}`, { refusals: [400], ...context });
  await page.getByRole("button", { name: "New call" }).click();
  await page.getByLabel("Provider").fill("no # sign");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("alert").getByText("providerId must be").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await site.close(page);
});

testBoth("long timelines come in pages", async (context) => {
  const { user } = await newUser(...Array.from({ length: 23 }, (_, index) => index + 1));
  const page = await site.open(`/calls/?user=${user}`, context);
  assert.equal((await shown(page, "Upcoming", 10)).length, 10);
  await page.getByRole("button", { name: "Show more" }).click();
  assert.equal((await shown(page, "Upcoming", 20)).length, 20);
  await page.getByRole("button", { name: "Show more" }).click();
  assert.deepEqual(await shown(page, "Upcoming", 23), Array.from({ length: 23 }, (_, index) => `${user}-${index + 1}`));
  assert.equal(await page.getByRole("button", { name: "Show more" }).count(), 0);
  await site.close(page);
});

testBoth("a provider's calls, the newest first, reached by the name in a timeline", async (context, width) => {
  const { user } = await newUser(1);
  const provider = `dr-new-${width}`;
  for (const hour of [2, 1, 3]) {
    await site.rest("POST", "/calls/api/calls", {
      callId: `p-${width}-${hour}`, userId: user, providerId: provider, scheduledFor: Date.now() + hour * HOUR });
  }
  const page = await site.open(`/calls/?user=${user}`, context);
  await page.getByRole("link", { name: provider }).first().click();
  assert.deepEqual(await shown(page, `Calls of ${provider}, newest first`, 3), [3, 2, 1].map((hour) => `p-${width}-${hour}`));
  await site.close(page);
});

testBoth("when the server cannot be reached the page says so, and recovers by itself", async (context) => {
  const { user } = await newUser(1);
  const page = await site.open("/calls/", context);
  await page.route("**/calls/api/**", (route) => route.abort());
  await page.getByLabel("Name").fill(user);
  await page.keyboard.press("Enter");
  await page.getByText("The server cannot be reached.").first().waitFor();
  await page.unroute("**/calls/api/**");
  assert.deepEqual(await shown(page, "Upcoming", 1), [`${user}-1`]);
  await page.close(); /* the browser logged what was aborted */
});

testBoth("the home page leads here, and the theme can be chosen", async (context) => {
  const page = await site.open("/", { colorScheme: "light", ...context });
  await page.getByRole("main").getByRole("link", { name: /^Calls/ }).click();
  await page.getByText("Whose calls?").waitFor();
  await page.getByRole("button", { name: "Use dark colours" }).click();
  await page.reload();
  await page.getByRole("button", { name: "Use light colours" }).waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await site.close(page);
});

testBoth("the chooser keeps what was chosen", async (context) => {
  const page = await site.open("/calls/", context);
  await page.getByLabel("Kind").selectOption("provider");
  await page.getByLabel("Name").fill("dr-lund");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Calls of dr-lund" }).waitFor();
  assert.equal(await page.getByLabel("Kind").inputValue(), "provider");
  await page.reload();
  await page.getByRole("heading", { name: "Calls of dr-lund" }).waitFor();
  assert.equal(await page.getByLabel("Kind").inputValue(), "provider");
  await site.close(page);
});

testBoth("the next call is shown however many are overdue", async (context) => {
  const { user } = await newUser(...Array.from({ length: 12 }, (_, index) => -1 - index), 5);
  const page = await site.open(`/calls/?user=${user}`, context);
  const next = page.getByRole("region", { name: "Next call" });
  await next.getByText("in 4 hours").waitFor();
  assert.equal(await next.locator(".badge").textContent(), "next");
  assert.equal((await shown(page, "Upcoming", 10)).length, 10);
  assert.equal(await page.locator("[data-call] .badge.accent").count(), 0); /* it is not on this page of the list */
  await page.getByRole("button", { name: "Show more" }).click();
  await page.locator(`[data-call="${user}-5"] .badge.accent`).waitFor();
  await site.close(page);
});

testBoth("completing a row keeps the list, the scroll and the focus", async (context) => {
  const { user } = await newUser(...Array.from({ length: 14 }, (_, index) => index + 1));
  const page = await site.open(`/calls/?user=${user}`, context);
  await page.getByRole("button", { name: "Show more" }).click();
  assert.equal((await shown(page, "Upcoming", 14)).length, 14);
  const row = page.locator(`[data-call="${user}-11"]`);
  await row.scrollIntoViewIfNeeded();
  const top = await page.evaluate(() => scrollY);
  await row.getByRole("button", { name: "Complete" }).focus();
  await page.keyboard.press("Enter");
  await row.and(page.getByRole("region", { name: "Upcoming" }).locator("[data-call]")).waitFor({ state: "detached" });
  assert.deepEqual((await shown(page, "Upcoming", 13)).at(-1), `${user}-14`);
  await page.waitForFunction((id) => document.activeElement.closest("[data-call]")?.dataset.call === id, `${user}-12`);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Complete");
  assert.ok(Math.abs(await page.evaluate(() => scrollY) - top) < 200, "the page did not jump");
  await site.close(page);
});

testBoth("a time in the past is questioned, and the time zone is named", async (context) => {
  const { user } = await newUser();
  const page = await site.open(`/calls/?user=${user}`, { ...context, timezoneId: "Europe/Berlin" });
  await page.getByText("All times are in your time zone, Europe/Berlin").waitFor();
  await page.getByRole("button", { name: "New call" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Europe/Berlin").waitFor();
  await dialog.getByLabel("Provider").fill("dr-lund");
  await dialog.getByLabel("When").fill("2020-01-02T03:04");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByRole("alert").getByText("This time is in the past").waitFor();
  assert.equal((await site.rest("GET", `/calls/api/users/${user}/calls`)).body.items.length, 0);
  await dialog.getByLabel("When").fill("2020-01-02T03:05"); /* another time is another question */
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await dialog.getByRole("button", { name: "Create anyway" }).click();
  await dialog.waitFor({ state: "detached" });
  const { body } = await site.rest("GET", `/calls/api/users/${user}/calls`);
  assert.deepEqual(body.items.map((call) => call.scheduledFor), [Date.UTC(2020, 0, 2, 2, 5)]);
  await site.close(page);
});

testBoth("a provider's calls can be changed where they are seen", async (context) => {
  const provider = `dr-${++users}`;
  await site.rest("POST", "/calls/api/calls", { callId: provider, userId: "someone", providerId: provider, scheduledFor: Date.now() + HOUR });
  const page = await site.open(`/calls/?provider=${provider}`, context);
  const row = page.locator(`[data-call="${provider}"]`);
  await row.getByRole("button", { name: "Complete" }).click();
  await row.getByText("completed").waitFor();
  await row.getByRole("button", { name: "Reopen" }).click();
  await row.getByRole("button", { name: "Reschedule" }).click();
  await page.getByLabel("When").fill(`${YEAR}-03-04T05:06`);
  await page.getByRole("dialog").getByRole("button", { name: "Reschedule" }).click();
  await page.getByRole("heading", { name: `4 March ${YEAR}` }).waitFor();
  await site.close(page);
});

testBoth("a refused change stays in its dialog, and is sent again to the call as it is now", async (context) => {
  const { user, calls: [call] } = await newUser(5);
  const page = await site.open(`/calls/?user=${user}`, { refusals: [412], ...context });
  await page.getByRole("button", { name: "Provider" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Provider").fill("dr-mine");
  await site.rest("PUT", `/calls/api/calls/${call.callId}/provider`, { providerId: "dr-theirs" }, { "If-Match": '"1"' });
  await dialog.getByRole("button", { name: "Change" }).click();
  await dialog.getByRole("alert").getByText("Someone changed this call meanwhile").waitFor();
  await dialog.getByRole("alert").getByText("dr-theirs").waitFor();
  assert.equal(await dialog.getByLabel("Provider").inputValue(), "dr-mine");
  await dialog.getByRole("button", { name: "Change" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.equal((await site.rest("GET", `/calls/api/calls/${call.callId}`)).body.providerId, "dr-mine");
  await site.close(page);
});

testBoth("a call is canceled with a reason, and can be reopened", async (context) => {
  const { user } = await newUser(5);
  const page = await site.open(`/calls/?user=${user}`, context);
  await page.getByRole("button", { name: /^Cancel,/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("   ");
  await dialog.getByRole("button", { name: "Cancel the call" }).click();
  await dialog.getByRole("alert").getByText("Say why").waitFor();
  await dialog.getByLabel("Reason").fill("The line is down");
  await dialog.getByRole("button", { name: "Cancel the call" }).click();
  const canceled = page.getByRole("region", { name: "Canceled" });
  await canceled.getByText("The line is down").waitFor();
  await page.getByText("Nothing is planned.").waitFor();
  await canceled.getByRole("button", { name: /^Reopen/ }).focus();
  await page.keyboard.press("Enter");
  assert.deepEqual(await shown(page, "Upcoming", 1), [`${user}-5`]);
  await canceled.waitFor({ state: "detached" });
  await page.locator("div:focus", { hasText: "Past" }).waitFor(); /* what was around the timeline that is gone */
  await site.close(page);
});

testBoth("what others change appears by itself", async (context) => {
  const { user } = await newUser(5);
  const page = await site.open(`/calls/?user=${user}`, context);
  await shown(page, "Upcoming", 1);
  await site.rest("POST", "/calls/api/calls", { callId: `${user}-live`, userId: user, providerId: "dr-live", scheduledFor: Date.now() + HOUR });
  await page.getByRole("region", { name: "Upcoming" }).getByText("with dr-live").waitFor();
  await site.close(page);
});
