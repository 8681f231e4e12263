/* Edge cases: scripts, time zones, keyboard only, two tabs: texts in other scripts and directions, other time zones, days and months that end while a page is
 * open, nothing but a keyboard, two tabs with different people. */
import assert from "node:assert/strict";
import { checkAxe, checkWidth, testBoth, useSite } from "./browser.js";

const HOUR = 3600 * 1000;
const site = useSite("--samples");
let numbers = 0;

const TEXTS = {
  emoji: "👩‍👩‍👧‍👦 moves in 🇩🇪 ❤️‍🔥",
  "right to left": "الطابعة لا تعمل، מדפסת",
  "turned around": "abc \u202Edetrevni",
  combined: "Ẑ͗̃a̴͝l̸g̵o é",
  wide: "プリンターが動きません".repeat(8),
  markup: "<img src=x onerror=alert(1)> &amp; ${1+1} {{2}}",
};

async function post(where, body, headers) {
  const { status, body: answer } = await site.rest("POST", where, body, headers);
  assert.equal(status, 201, JSON.stringify(answer));
  return answer;
}

testBoth("texts in any script and direction are shown as they are, and change nothing around them", async (context, width) => {
  const caller = `odd-${width}`;
  const month = width === "390" ? "2041-03" : "2041-04";
  const page = await site.open("/", context);
  for (const [index, [name, text]] of Object.entries(TEXTS).entries()) {
    const ticket = await post("/tickets/api/tickets", { caller_id: caller, issue_description: text });
    await post(`/tickets/api/tickets/${ticket.ticket_id}/comments`, { comment_text: text });
    const task = await post("/tasks/api/tasks", { title: text, description: text, priority: "LOW" }, { "X-User-Id": "ana" });
    await post("/calendar/api/events", { title: text, start: `${month}-${10 + index}`, end: `${month}-${11 + index}` }, { "X-User-Id": "ana" });

    await page.goto(`${site.apps.url}/tickets/?caller=${caller}&ticket=${ticket.ticket_id}`);
    await page.getByRole("heading", { name: text, exact: true }).waitFor();
    await page.locator(".comments li").getByText(text, { exact: true }).waitFor();
    await checkWidth(page, `a ticket, ${name}`);
    await page.goto(`${site.apps.url}/tasks/?status=OPEN`);
    const title = page.locator(`[data-task="${task.taskId}"] .task-title`);
    await title.getByText(text, { exact: true }).waitFor();
    assert.match(await title.evaluate((element) => getComputedStyle(element).unicodeBidi), /plaintext|isolate/, name);
    await checkWidth(page, `a task, ${name}`);
  }
  await page.goto(`${site.apps.url}/calendar/?date=${month}-01`);
  for (const [index, text] of Object.values(TEXTS).entries()) {
    await page.locator(`.fc-daygrid-day[data-date="${month}-${10 + index}"] .fc-event`, { hasText: text }).waitFor();
  }
  await checkWidth(page, "the calendar");
  await site.close(page);
});

/* Days are days, whatever the zone: 14 hours before and 11 behind UTC, and where clocks change on 31 March 2041. */
for (const [number, timezoneId] of ["Pacific/Kiritimati", "Pacific/Niue", "Europe/Berlin"].entries()) {
  testBoth(`the calendar's days in ${timezoneId}`, async (context, width) => {
    const year = 2042 + number * 2 + (width === "390" ? 1 : 0);
    const page = await site.open(`/calendar/?date=${year}-03-01`, { timezoneId, user: "ana", ...context });
    await page.locator('.calendar[aria-busy="false"]').waitFor();
    await page.getByRole("button", { name: "New event" }).click();
    await page.getByLabel("Who").fill("Ana");
    await page.getByLabel("First night").fill(`${year}-03-30`);
    await page.getByLabel("Leaves on").fill(`${year}-04-01`);
    await page.keyboard.press("Enter");
    const shown = (day) => page.locator(`.fc-daygrid-day[data-date="${day}"] .fc-event`, { hasText: "Ana" });
    await shown(`${year}-03-30`).first().waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" }); /* what is behind it cannot have the focus */
    await shown(`${year}-03-30`).first().focus();
    await page.keyboard.press("ArrowLeft");
    await page.getByRole("status").getByText("Enter saves").waitFor();
    await page.keyboard.press("Enter");
    await shown(`${year}-03-29`).first().waitFor();
    await page.locator(".toast", { hasText: "Ana: 29 " }).filter({ hasText: "2 nights" }).waitFor();
    const { body } = await site.rest("GET", `/calendar/api/events?from=${year}-03-01&to=${year}-04-30`);
    assert.deepEqual(body.items.map(({ start, end }) => [start, end]), [[`${year}-03-29`, `${year}-03-31`]]);
    await page.reload();
    await shown(`${year}-03-29`).first().waitFor(); /* the same month */
    assert.equal(new URL(page.url()).searchParams.get("date"), `${year}-03-01`);
    await site.close(page);
  });
}

testBoth("times are entered and shown in the reader's zone", async (context, width) => {
  const user = `zone-${width}`;
  const year = new Date().getUTCFullYear() + 1;
  const page = await site.open(`/calls/?user=${user}`, { timezoneId: "Pacific/Kiritimati", ...context });
  await page.getByRole("button", { name: "New call" }).click();
  await page.getByLabel("Provider").fill("dr-far");
  await page.getByLabel("When").fill(`${year}-03-01T01:30`);
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Upcoming" }).getByText("with dr-far").waitFor();
  await page.getByRole("heading", { name: `1 March ${year}` }).waitFor();
  const { body } = await site.rest("GET", `/calls/api/users/${user}/calls`);
  assert.equal(body.items[0].scheduledFor, Date.UTC(year, 2, 1, 1, 30) - 14 * HOUR);
  await site.close(page);
});

testBoth("a page that stays open follows the clock: what is next becomes overdue, a month ends", async (context, width) => {
  const user = `clock-${width}`;
  for (const [name, minutes] of [["soon", 5], ["later", 120]]) {
    await post("/calls/api/calls", { callId: `${user}-${name}`, userId: user, providerId: "dr-lund", scheduledFor: Date.now() + minutes * 60_000 });
  }
  const page = await site.open("/", context);
  await page.clock.install({ time: Date.now() });
  await page.goto(`${site.apps.url}/calls/?user=${user}`);
  await page.locator(`[data-call="${user}-soon"] .badge`, { hasText: "next" }).waitFor();
  await page.clock.fastForward(10 * 60_000);
  await page.clock.runFor(25_000);
  await page.locator(`[data-call="${user}-soon"] .badge`, { hasText: "overdue" }).waitFor();
  await page.locator(`[data-call="${user}-later"] .badge`, { hasText: "next" }).waitFor();

  await page.clock.setSystemTime(new Date("2043-01-31T23:59:30Z"));
  await page.goto(`${site.apps.url}/calendar/`);
  await page.locator(".fc-toolbar-title").getByText("January 2043").waitFor();
  await page.clock.setSystemTime(new Date("2043-02-01T00:00:30Z"));
  await page.getByRole("button", { name: "New event" }).click();
  assert.equal(await page.getByLabel("First night").inputValue(), "2043-02-01");
  await site.close(page);
});

/* Presses Tab until the element has the focus. */
async function tabTo(page, locator, most = 60) {
  for (let presses = 0; presses < most; presses++) {
    await page.keyboard.press("Tab");
    if (await locator.evaluate((element) => element === document.activeElement)) {
      return;
    }
  }
  assert.fail(`not reached by Tab: ${locator}`);
}

testBoth("with the keyboard alone: to the content, into each dialog and back to where one was", async (context) => {
  for (const [where, button, ready] of [["/calls/?user=ana", "New call", ".call"], ["/calendar/", "New event", ".fc-event"],
    ["/reconciliation/", "Report a call", "[data-call]"], ["/tickets/?caller=poc-user-001", "Open a ticket", "main li"],
    ["/tasks/?status=OPEN", "New task", "[data-task]"]]) {
    const page = await site.open(where, { user: "ana", ...context, ...(where.startsWith("/reconciliation") || where.startsWith("/tickets") ? { user: "admin" } : {}) });
    await page.locator(ready).first().waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to content");
    await page.keyboard.press("Enter");
    await tabTo(page, page.getByRole("button", { name: button }));
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await page.waitForFunction(() => document.activeElement.closest("dialog") && document.activeElement.matches("input, textarea, select"));
    for (let presses = 0; presses < 15; presses++) { /* the focus may leave the page, but not reach what is behind the dialog */
      await page.keyboard.press("Tab");
      assert.ok(await page.evaluate(() => document.activeElement === document.body || document.activeElement.closest("dialog") !== null), where);
    }
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.waitForFunction((name) => document.activeElement.textContent === name, button);
    await site.close(page);
  }
});

testBoth("a page tells when somebody else signs in in another tab, and keeps what is typed", async (context) => {
  const page = await site.open("/tickets/?caller=poc-user-001&ticket=1d8d2fe2-4543-4e6d-aad0-9deed9d57070", { user: "poc-user-001", ...context });
  await page.getByLabel("Comment", { exact: true }).fill("half a thought");
  const other = await page.context().newPage();
  await other.goto(`${site.apps.url}/tickets/`);
  await other.getByRole("button", { name: /^Signed in as/ }).click();
  assert.equal(await page.getByText("in another tab").count(), 0, "the same person in two tabs");
  await other.getByRole("dialog").getByLabel("Somebody else").fill(`someone-${++numbers}`);
  await other.getByRole("button", { name: "Go on" }).click();
  await page.getByRole("status", { name: "Session" }).getByText(`You signed in as someone-${numbers} in another tab.`).waitFor();
  assert.equal(await page.getByLabel("Comment", { exact: true }).inputValue(), "half a thought");
  await checkWidth(page, "with the banner");
  await checkAxe(page, "with the banner");
  await page.getByRole("button", { name: "Show their page" }).click();
  await page.getByRole("button", { name: `Signed in as someone-${numbers}` }).waitFor();
  await page.close();
});
