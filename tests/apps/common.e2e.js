/* What all pages have in common: accessibility, phones, long texts, messages, keyboard. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAxe, checkWidth, DESKTOP, eventually, PHONE, SMALL_PHONE, testBoth, useSite } from "./browser.js";

const site = useSite("--samples");
const LONG = "long-".repeat(20) + "name"; /* no place to break a line */
const TICKET = "1d8d2fe2-4543-4e6d-aad0-9deed9d57070";
const PHONE_WIDTHS = [360, 375, 390, 412, 430];

/* Every page: address, and what to wait for. */
const PAGES = [
  ["/", "a.app"],
  ["/calls/", ".notice.empty"],
  ["/calls/?user=ana", ".call"],
  ["/calls/?provider=dr-lund", ".call"],
  ["/calendar/", ".fc-event"],
  ["/reconciliation/", "[data-call]"],
  ["/tickets/", ".notice.empty"],
  [`/tickets/?caller=poc-user-001&ticket=${TICKET}`, ".comments li"],
  ["/tasks/", ".notice.empty"],
  ["/tasks/?status=OPEN", "[data-task]"],
  ["/tasks/?status=USERS", "[data-user]"],
  ...["calls", "calendar", "reconciliation", "tickets", "tasks"].map((name) => [`/${name}/?view=patterns`, "table"]),
];

/* Every dialog: address, and the names of the buttons that lead to it. */
const DIALOGS = [
  ["/calls/?user=ana", "New call"],
  ["/calls/?user=ana", /^Reschedule/],
  ["/calls/?user=ana", /^Reassign/],
  ["/calls/?user=ana", /^Provider/],
  ["/calls/?user=ana", /^Cancel/],
  ["/calendar/", "Subscribe"],
  ["/calendar/", "New event"],
  ["/calendar/", /^Chloe/],
  ["/calendar/", /^Chloe/, "Delete…"],
  ["/reconciliation/", "Report a call"],
  ["/reconciliation/", "Find a call"],
  ["/tickets/", "Open a ticket"],
  ["/tasks/?status=OPEN", "New task"],
  ["/tasks/?status=OPEN", /^Who: /, /^Assign /],
  ["/tasks/?status=OPEN", /^Edit /],
  ["/tasks/?status=USERS", "New user"],
  ["/tasks/", /^Notifications/],
  ["/", /^Signed in as/],
  ["/calls/?provider=dr-lund", "New call"],
  ["/reconciliation/", /^call-/],
];

/* What only some people see: who, address, what to wait for, and the button that leads to a dialog, if it is one. */
const OTHERS = [
  ["a-stranger", "/tasks/", ".notice.empty"],
  ["ben", "/tasks/?status=CREATED", "[data-task]"],
  ["dr-lund", "/calls/", ".call"],
  ["ben", "/calendar/", ".fc-event", /^Chloe/],
  ["poc-user-001", "/tickets/", "main li"],
  ["ben", "/reconciliation/", "[role=alert]"],
];

/* At both sizes, light and dark; in the dark only the colours are others. */
async function checkAllLooks(page, what, element = null) {
  for (const { viewport } of [DESKTOP, PHONE]) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme: "light" });
    await checkAxe(page, `${what}, light, ${viewport.width} px`, { element });
    await page.emulateMedia({ colorScheme: "dark" });
    await checkAxe(page, `${what}, dark, ${viewport.width} px`, { element, rules: ["color-contrast"] });
  }
}

for (const [where, ready] of PAGES) {
  test(`axe finds nothing on ${where}`, async () => {
    const page = await site.open(where, { colorScheme: "light" });
    await page.locator(ready).first().waitFor();
    await checkAllLooks(page, where);
    await site.close(page);
  });
}

for (const [where, ...buttons] of DIALOGS) {
  test(`axe finds nothing in the dialog ${buttons.at(-1)} of ${where}`, async () => {
    const page = await site.open(where, { colorScheme: "light" });
    for (const name of buttons) {
      await page.getByRole("button", { name }).first().click();
    }
    await page.getByRole("dialog").waitFor();
    await checkAllLooks(page, String(buttons.at(-1)), "dialog");
    for (const { viewport } of [SMALL_PHONE, DESKTOP]) {
      await page.setViewportSize(viewport);
      await checkWidth(page, String(buttons.at(-1)));
    }
    await site.close(page);
  });
}

/* What appears on a page by what someone does, or by itself: address, how it comes, and who is signed in. */
const STATES = {
  "an unread notification": ["/tasks/", async (page) => {
    const path = `/tasks/api/tasks/8b1f9d0a-3c5e-4f55-9a3c-0c4d1f2e7a03/assignments`;
    await site.rest("POST", path, { userId: "chloe" });
    await page.getByRole("button", { name: /^Notifications \d+ unread$/ }).waitFor();
  }, { user: "chloe" }],
  "who is assigned to a task": ["/tasks/?status=OPEN", async (page) => {
    await page.getByRole("button", { name: /^Who: Write down/ }).click();
    await page.locator(".assigned .badge").first().waitFor();
  }],
  "messages": ["/tasks/?status=USERS", async (page) => {
    const search = page.getByRole("search");
    await search.getByLabel("Find by id").fill("emil");
    await search.getByRole("button").click();
    await page.getByRole("status", { name: "Found" }).getByRole("button", { name: /^Make/ }).click();
    await page.locator(".toast").waitFor();
    await search.getByLabel("Find by id").fill("ana");
    await search.getByRole("button").click();
    await page.getByRole("status", { name: "Found" }).getByRole("button", { name: "Deactivate: ana" }).click();
    await page.locator(".toast.error").waitFor();
  }, { user: "ana", refusals: [409] }],
  "a refused dialog": ["/tasks/?status=OPEN", async (page) => {
    await page.getByRole("button", { name: /^Who: / }).first().click();
    await page.getByRole("button", { name: /^Assign / }).first().click();
    await page.getByLabel("User").fill("nobody-at-all");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("alert").getByText("There is no user").waitFor();
  }, { refusals: [404] }],
  "a question": ["/calls/?user=ana", async (page) => {
    await page.getByRole("button", { name: "New call" }).click();
    await page.getByRole("dialog").getByLabel("Provider").fill("dr-lund");
    await page.getByLabel("When").fill("2020-01-02T03:04");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("alert").getByText("in the past").waitFor();
  }],
  "the banner of an outage": ["/tasks/?status=OPEN", async (page) => {
    await page.locator("[data-task]").first().waitFor();
    await page.route("**/api/**", (route) => route.abort());
    await page.getByRole("tab", { name: "Closed" }).click();
    await page.getByRole("status", { name: "Connection" }).getByText("Connection lost").waitFor();
  }, { refusals: ["ERR_FAILED"] }],
  "a week": ["/calendar/?view=dayGridWeek", async (page) => {
    await page.locator('.calendar[aria-busy="false"] .fc-dayGridWeek-view').waitFor();
  }],
  "the history of a ticket's status": [`/tickets/?caller=poc-user-001&ticket=${TICKET}`, async (page) => {
    await site.rest("PUT", `/tickets/api/tickets/${TICKET}/status`, { status: "in_progress", from: "open" });
    await page.getByText("History of the status").click();
    await page.locator(".history li").nth(1).waitFor();
  }],
};

for (const [what, [where, go, options]] of Object.entries(STATES)) {
  test(`axe finds nothing with ${what}`, async () => {
    const page = await site.open(where, { colorScheme: "light", ...options });
    await go(page);
    await checkAllLooks(page, what);
    await site.close(page);
  });
}

for (const [user, where, ready, button] of OTHERS) {
  test(`axe finds nothing on ${where} as ${user} sees it`, async () => {
    const page = await site.open(where, { colorScheme: "light", user, refusals: [403] });
    await page.locator(ready).first().waitFor();
    if (button) {
      await page.getByRole("button", { name: button }).first().click();
      await page.getByRole("dialog").waitFor();
    }
    await checkAllLooks(page, where);
    await site.close(page);
  });
}

/* Fails if a text is squeezed into a column of a few letters. */
async function checkReadable(page, what) {
  const squeezed = await page.locator("main *").evaluateAll((elements) => elements.flatMap((element) => {
    const text = [...element.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE).map(({ data }) => data).join("").trim();
    const { width, height } = element.getBoundingClientRect();
    return text.length >= 6 && width < 70 && height > 70 ? [`${text.slice(0, 40)}: ${Math.round(width)} x ${Math.round(height)} px`] : [];
  }));
  assert.deepEqual(squeezed, [], what);
}

test("no page is wider than a phone, and no text squeezed, whatever people enter", async () => {
  const text = LONG.repeat(2).slice(0, 190);
  for (const [where, body, headers] of [
    ["/calls/api/calls", { callId: "long", userId: "ana", providerId: LONG.slice(0, 64), scheduledFor: Date.now() }],
    ["/calendar/api/events", { title: text, start: "2031-01-10", end: "2031-01-12" }],
    ["/tickets/api/tickets", { caller_id: LONG, issue_description: text }],
    ["/tasks/api/tasks", { title: text, description: text, priority: "LOW" }, { "X-User-Id": "ana" }],
    ["/tasks/api/users", { userId: "f:0d0a1c6e-1f3a-4b52-9a3f-3b2f2b8f6a10:ana.smith", email: "ana.smith@example.com", isAdmin: true }],
  ]) {
    const { status, body: answer } = await site.rest("POST", where, body, headers);
    assert.equal(status, 201, JSON.stringify(answer));
  }
  const { status } = await site.rest("PUT", `/reconciliation/api/calls/${LONG}/${LONG}`,
    { callDateTime: new Date().toISOString().replace(/\.\d+/, ""), audioReceived: false, processingStatus: "FAILED" });
  assert.equal(status, 201);
  const page = await site.open("/", PHONE);
  for (const [where, ready] of [...PAGES, [`/tickets/?caller=${LONG}`, "main li"], ["/calendar/?date=2031-01-01", ".fc-event"]]) {
    await page.goto(site.apps.url + where);
    await page.locator(ready).first().waitFor();
    for (const width of [...PHONE_WIDTHS, DESKTOP.viewport.width]) {
      await page.setViewportSize({ width, height: 844 });
      await checkWidth(page, `${where} at ${width} px`);
      await checkReadable(page, `${where} at ${width} px`);
    }
  }
  await site.close(page);
});

test("on a phone the navigation is one row, all of it on the screen; the calendar's toolbar is in its card", async () => {
  for (const size of [PHONE, SMALL_PHONE]) {
    const page = await site.open("/calendar/", size);
    await page.locator(".fc-event").first().waitFor();
    const boxes = await page.getByRole("navigation").getByRole("link").evaluateAll((links) =>
      links.map((link) => link.getBoundingClientRect().toJSON()));
    assert.equal(boxes.length, 5);
    assert.equal(new Set(boxes.map(({ top }) => Math.round(top))).size, 1, "one row");
    assert.ok(boxes.every(({ left, right }) => left >= 0 && right <= size.viewport.width));
    const card = await page.locator(".calendar").boundingBox();
    for (const button of await page.locator(".fc-toolbar button").all()) {
      const { x, width } = await button.boundingBox();
      assert.ok(x >= card.x && x + width <= card.x + card.width, "inside the card");
    }
    await site.close(page);
  }
});

test("on a phone a long name leaves the header in one line", async () => {
  const page = await site.open("/", { user: "x".repeat(255), ...SMALL_PHONE });
  await page.getByRole("button", { name: /^Signed in as x/ }).waitFor();
  const heights = await page.locator("header.bar > .brand, header.bar > .user, header.bar > .theme").evaluateAll((parts) =>
    parts.map((part) => part.getBoundingClientRect()).map(({ height, left, right }) => height < 48 && left >= 0 && right <= innerWidth));
  assert.deepEqual(heights, [true, true, true]);
  await checkWidth(page, "with a long name");
  await site.close(page);
});

test("on a phone the chosen tab is on the screen, also when counts have widened the others", async () => {
  for (const size of [PHONE, SMALL_PHONE]) {
    for (const status of ["USERS", "CLOSED"]) {
      const page = await site.open(`/tasks/?status=${status}`, size);
      await page.locator(".tabs .count").nth(3).waitFor();
      await eventually(async () => {
        const { left, right } = await page.getByRole("tab", { selected: true }).evaluate((tab) => tab.getBoundingClientRect().toJSON());
        return left >= 0 && right <= size.viewport.width;
      }, true, `${status} at ${size.viewport.width} px`);
      await site.close(page);
    }
  }
});

test("a tapped ticket comes into view, and back leads to the list", async () => {
  const page = await site.open("/tickets/?caller=poc-user-001", PHONE);
  await page.getByRole("link", { name: "Email not working" }).tap();
  const heading = page.getByRole("heading", { name: "Email not working" });
  await heading.waitFor();
  const { y } = await heading.boundingBox();
  assert.ok(y >= 0 && y < 400, `the ticket's title is at ${y} px`);
  await page.getByRole("button", { name: "All tickets" }).tap();
  await page.getByRole("link", { name: "Email not working" }).waitFor();
  await site.close(page);
});

testBoth("errors stay until they are dismissed, other messages until the reader had time for them", async (context, width) => {
  const title = `a message at ${width}`;
  const { status } = await site.rest("POST", "/tasks/api/tasks", { title, priority: "LOW" }, { "X-User-Id": "dario" });
  assert.equal(status, 201);
  const page = await site.open("/tasks/?status=CREATED", { user: "dario", refusals: [403], ...context });
  await page.clock.install();
  await page.getByLabel(`Status of ${title}`).selectOption("CLOSED");
  const error = page.locator(".toast.error");
  await error.waitFor();
  await page.clock.runFor(600_000);
  assert.equal(await error.count(), 1);
  await error.getByRole("button", { name: "Dismiss" }).click();
  await error.waitFor({ state: "detached" });
  await site.close(page);

  const other = await site.open("/tasks/?status=OPEN", context);
  await other.clock.install();
  await other.getByLabel(`Status of ${title}`).selectOption("IN_PROGRESS");
  const message = other.locator(".toast");
  await message.waitFor();
  await other.clock.runFor(600_000);
  assert.equal(await message.count(), 1, "nobody was there to read it");
  await other.mouse.move(10, 10);
  await other.mouse.move(20, 20);
  await other.clock.runFor(20_000);
  await message.waitFor({ state: "detached" });
  await site.close(other);
});
