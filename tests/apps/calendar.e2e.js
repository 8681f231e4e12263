/* The calendar's page in Chromium. Each test has a month of its own. */
import assert from "node:assert/strict";
import { testBoth, useSite } from "./browser.js";

const site = useSite();
let months = 0;

/* day(n) of a month that is this test's alone. */
function newMonth() {
  const month = months++;
  return (day) => new Date(Date.UTC(2030, month, day)).toISOString().slice(0, 10);
}

async function book(title, start, end) {
  const { status, body } = await site.rest("POST", "/calendar/api/events", { title, start, end });
  assert.equal(status, 201);
  return body;
}

async function read(event) {
  return (await site.rest("GET", `/calendar/api/events/${event.id}`)).body;
}

/* All events of the test's month. */
async function readAll(day) {
  const { body } = await site.rest("GET", `/calendar/api/events?from=${day(1)}&to=${day(29)}`);
  return body.items.map(({ title, start, end }) => [title, start, end]);
}

async function open(day, refusals = [], context = {}) {
  const page = await site.open(`/calendar/?date=${day(1)}`, { refusals, ...context });
  await page.locator('.calendar[aria-busy="false"]').waitFor();
  return page;
}

const cell = (page, day) => page.locator(`.fc-daygrid-day[data-date="${day}"]`);
const shownEvent = (page, title) => page.locator(".fc-event:not(.fc-event-mirror)", { hasText: title }).first();

/* The middle of a cell's lower part, below its events. */
async function spot(page, day) {
  const box = await cell(page, day).boundingBox();
  return [box.x + box.width / 2, box.y + box.height - 12];
}

async function dragTo(page, from, to) {
  await page.mouse.move(...from);
  await page.mouse.down();
  await page.mouse.move(...to, { steps: 8 });
  await page.mouse.up();
}

async function middle(locator) {
  const box = await locator.boundingBox();
  return [box.x + box.width / 2, box.y + box.height / 2];
}

/* Where the event's first night is. */
async function grip(locator) {
  const box = await locator.boundingBox();
  return [box.x + 20, box.y + box.height / 2];
}

const dialog = (page) => page.getByRole("dialog");

testBoth("selecting nights books them", async (context) => {
  const day = newMonth();
  const page = await open(day, [], context);
  await dragTo(page, await spot(page, day(10)), await spot(page, day(12)));
  await dialog(page).getByLabel("Who").fill("Ana");
  await dialog(page).getByText("3 nights").waitFor();
  await page.keyboard.press("Enter");
  await shownEvent(page, "Ana").waitFor();
  assert.deepEqual(await readAll(day), [["Ana", day(10), day(13)]]);
  await site.close(page);
});

testBoth("booking by keyboard, with dates typed in", async (context) => {
  const day = newMonth();
  const page = await open(day, [], context);
  await page.getByRole("button", { name: "New event" }).focus();
  await page.keyboard.press("Enter");
  await dialog(page).locator("input[name=title]:focus").waitFor();
  await page.keyboard.type("Ben");
  await dialog(page).getByLabel("First night").fill(day(20));
  await dialog(page).getByLabel("Leaves on").fill(day(22));
  await page.keyboard.press("Enter");
  await shownEvent(page, "Ben").waitFor();
  assert.deepEqual(await readAll(day), [["Ben", day(20), day(22)]]);
  await dialog(page).waitFor({ state: "detached" }); /* what is behind it cannot have the focus */
  await shownEvent(page, "Ben").focus();
  await page.keyboard.press("Enter");
  await dialog(page).getByRole("heading", { name: "Ben" }).waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  await site.close(page);
});

testBoth("dragging moves an event", async (context) => {
  const day = newMonth();
  const event = await book("Ana", day(10), day(12));
  const page = await open(day, [], context);
  await dragTo(page, await grip(shownEvent(page, "Ana")), await spot(page, day(20)));
  await page.locator(".toast", { hasText: "Ana: 20 " }).filter({ hasText: "2 nights" }).waitFor();
  assert.deepEqual(await read(event), { ...event, start: day(20), end: day(22), version: 2 });
  /* And once more: the page knows the new version. */
  await dragTo(page, await grip(shownEvent(page, "Ana")), await spot(page, day(4)));
  await page.locator(".toast", { hasText: "Ana: 4 " }).filter({ hasText: "2 nights" }).waitFor();
  assert.deepEqual(await read(event), { ...event, start: day(4), end: day(6), version: 3 });
  await site.close(page);
});

testBoth("an event is moved again before its first move is saved", async (context) => {
  const day = newMonth();
  const event = await book("Ana", day(10), day(12));
  const page = await open(day, [], context);
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route("**/calendar/api/events/*", async (route) => {
    if (route.request().method() === "PUT") {
      await released;
    }
    await route.continue();
  });
  const sent = page.waitForRequest((request) => request.method() === "PUT");
  await dragTo(page, await grip(shownEvent(page, "Ana")), await spot(page, day(20)));
  await sent;
  await dragTo(page, await grip(shownEvent(page, "Ana")), await spot(page, day(4)));
  release();
  await page.locator(".toast", { hasText: "Ana: 4 " }).filter({ hasText: "2 nights" }).waitFor();
  assert.deepEqual(await read(event), { ...event, start: day(4), end: day(6), version: 3 });
  assert.equal(await page.locator(".toast.error").count(), 0);
  await site.close(page);
});

testBoth("resizing makes an event longer, and shorter", async (context) => {
  const day = newMonth();
  const monday = [...Array(8).keys()].map((number) => day(number + 7)).find((text) => new Date(text).getUTCDay() === 1);
  const after = (count) => new Date(new Date(monday).getTime() + count * 24 * 3600 * 1000).toISOString().slice(0, 10);
  const event = await book("Ana", monday, after(2));
  const page = await open(day, [], context);
  async function resize(to) {
    await shownEvent(page, "Ana").hover();
    await dragTo(page, await middle(shownEvent(page, "Ana").locator(".fc-event-resizer-end")), await spot(page, to));
  }
  await resize(after(4));
  await page.locator(".toast", { hasText: "5 nights" }).waitFor();
  assert.deepEqual(await read(event), { ...event, end: after(5), version: 2 });
  await resize(after(0));
  await page.locator(".toast", { hasText: "1 night" }).last().waitFor();
  assert.deepEqual(await read(event), { ...event, end: after(1), version: 3 });
  await site.close(page);
});

testBoth("an event is renamed, and deleted after a question", async (context) => {
  const day = newMonth();
  const event = await book("Ana", day(10), day(12));
  const page = await open(day, [], context);
  await shownEvent(page, "Ana").click();
  await dialog(page).getByLabel("Who").fill("Ana and Ben");
  await dialog(page).getByRole("button", { name: "Save" }).click();
  await shownEvent(page, "Ana and Ben").click();
  await dialog(page).getByRole("button", { name: "Delete…" }).click();
  await page.getByText("Delete the event?").waitFor();
  assert.equal((await read(event)).title, "Ana and Ben");
  await dialog(page).getByRole("button", { name: "Delete" }).click();
  await page.locator(".toast", { hasText: "is deleted" }).waitFor();
  await page.locator(".fc-event").waitFor({ state: "detached" });
  assert.deepEqual(await readAll(day), []);
  await book("Chloe", day(10), day(12)); /* the nights are free */
  await site.close(page);
});

testBoth("when someone else took the night meanwhile, booking says which and shows it", async (context) => {
  const day = newMonth();
  const page = await open(day, [409], context);
  await dragTo(page, await spot(page, day(10)), await spot(page, day(13)));
  await dialog(page).getByLabel("Who").fill("Ana");
  await book("Ben", day(12), day(13));
  await page.keyboard.press("Enter");
  await dialog(page).getByRole("alert").getByText("Ben has the night of 12").waitFor();
  await shownEvent(page, "Ben").waitFor(); /* behind the dialog */
  assert.deepEqual(await readAll(day), [["Ben", day(12), day(13)]]);
  await dialog(page).getByLabel("Leaves on").fill(day(12));
  await dialog(page).getByRole("button", { name: "Book" }).click();
  await shownEvent(page, "Ana").waitFor();
  assert.deepEqual(await readAll(day), [["Ana", day(10), day(12)], ["Ben", day(12), day(13)]]);
  await site.close(page);
});

testBoth("a drag onto a night that was taken meanwhile goes back, and says why", async (context) => {
  const day = newMonth();
  const event = await book("Ana", day(8), day(9));
  const page = await open(day, [409], context);
  await book("Ben", day(15), day(16));
  await dragTo(page, await grip(shownEvent(page, "Ana")), await spot(page, day(15)));
  await page.locator(".toast.error", { hasText: "Ben has the night of 15" }).filter({ hasText: "Ana stays at 8" }).waitFor();
  await shownEvent(page, "Ben").waitFor();
  await cell(page, day(8)).locator(".fc-event", { hasText: "Ana" }).waitFor();
  assert.deepEqual(await read(event), event);
  await site.close(page);
});

testBoth("an event that someone changed or deleted meanwhile", async (context) => {
  const day = newMonth();
  const event = await book("Ana", day(8), day(9));
  const page = await open(day, [412, 404], context);
  await shownEvent(page, "Ana").click();
  await dialog(page).getByLabel("Who").fill("Anna");
  const { body: now } = await site.rest("PUT", `/calendar/api/events/${event.id}`,
    { title: "Anne", start: day(9), end: day(10) }, { "If-Match": '"1"' });
  await dialog(page).getByRole("button", { name: "Save" }).click();
  await dialog(page).getByRole("alert").getByText("Someone changed this event meanwhile. It is now “Anne”").waitFor();
  await cell(page, day(9)).locator(".fc-event", { hasText: "Anne" }).waitFor(); /* behind the dialog */
  assert.deepEqual(await read(event), now);
  assert.equal(await dialog(page).getByLabel("Who").inputValue(), "Anna");
  await dialog(page).getByRole("button", { name: "Save" }).click(); /* once more */
  await dialog(page).waitFor({ state: "detached" });
  await cell(page, day(8)).locator(".fc-event", { hasText: "Anna" }).waitFor();
  assert.deepEqual(await read(event), { ...event, title: "Anna", version: 3 });
  await shownEvent(page, "Anna").click();
  await site.rest("DELETE", `/calendar/api/events/${event.id}`, undefined, { "If-Match": '"3"' });
  await dialog(page).getByRole("button", { name: "Save" }).click();
  await dialog(page).getByText("Someone deleted this event meanwhile").waitFor();
  await page.locator(".fc-event").waitFor({ state: "detached" });
  await site.close(page);
});

testBoth("an event that someone changed meanwhile is deleted when asked again", async (context) => {
  const day = newMonth();
  const event = await book("Ana", day(8), day(9));
  const page = await open(day, [412], context);
  await shownEvent(page, "Ana").click();
  await dialog(page).getByRole("button", { name: "Delete…" }).click();
  await page.getByText("Delete the event?").waitFor();
  await site.rest("PUT", `/calendar/api/events/${event.id}`, { title: "Anne", start: day(9), end: day(11) }, { "If-Match": '"1"' });
  await dialog(page).getByRole("button", { name: "Delete" }).click();
  await dialog(page).getByRole("alert").getByText("Someone changed this event meanwhile. It is now “Anne”").waitFor();
  assert.equal((await read(event)).title, "Anne");
  await dialog(page).getByRole("button", { name: "Delete" }).click();
  await page.locator(".toast", { hasText: "Anne is deleted" }).waitFor();
  assert.deepEqual(await readAll(day), []);
  await site.close(page);
});

/* What `change` does has been read by the page, which has rendered it if it wanted to. */
async function readByPage(page, change) {
  const answer = page.waitForResponse((response) => response.url().includes("/calendar/api/events?"));
  await change();
  await (await answer).finished();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

testBoth("what others change while an event is moved by keyboard is shown after Escape", async (context) => {
  const day = newMonth();
  const event = await book("Ana", day(10), day(12));
  const page = await open(day, [], context);
  await shownEvent(page, "Ana").focus();
  await page.keyboard.press("ArrowRight");
  await page.getByRole("status").getByText("Enter saves, Escape puts it back").waitFor();
  await readByPage(page, () => book("Ben", day(20), day(21)));
  await readByPage(page, () => site.rest("PUT", `/calendar/api/events/${event.id}`,
    { title: "Ana", start: day(4), end: day(5) }, { "If-Match": '"1"' }));
  assert.equal(await shownEvent(page, "Ben").count(), 0, "nothing moves under the hand");
  await page.keyboard.press("Escape");
  await shownEvent(page, "Ben").waitFor();
  await cell(page, day(4)).locator(".fc-event", { hasText: "Ana" }).waitFor();
  await site.close(page);
});

testBoth("what others change during a drag is shown when the drag ends where it began", async (context) => {
  const day = newMonth();
  const event = await book("Ana", day(10), day(12));
  const page = await open(day, [], context);
  const from = await grip(shownEvent(page, "Ana"));
  await page.mouse.move(...from);
  await page.mouse.down();
  await page.mouse.move(...await spot(page, day(20)), { steps: 8 });
  await readByPage(page, () => book("Ben", day(24), day(25)));
  assert.equal(await shownEvent(page, "Ben").count(), 0, "nothing moves under the hand");
  await page.mouse.move(...from, { steps: 8 });
  await page.mouse.up();
  await shownEvent(page, "Ben").waitFor();
  assert.deepEqual(await read(event), event);
  await site.close(page);
});

testBoth("an event that is too long is refused in words", async (context) => {
  const day = newMonth();
  const page = await open(day, [], context);
  const sent = [];
  page.on("request", (request) => request.method() === "POST" && sent.push(request.url()));
  await page.getByRole("button", { name: "New event" }).click();
  await dialog(page).getByLabel("Who").fill("Ana");
  await dialog(page).getByLabel("First night").fill(day(1));
  await dialog(page).getByLabel("Leaves on").fill(day(101));
  await dialog(page).getByRole("button", { name: "Book" }).click();
  await dialog(page).getByRole("alert").getByText("An event has at most 99 nights; this one has 100.").waitFor();
  assert.equal(await dialog(page).getByLabel("Who").inputValue(), "Ana");
  assert.deepEqual(sent, []);
  assert.deepEqual(await readAll(day), []);
  await site.close(page);
});

testBoth("limits are those of the server, checked before anything is sent", async (context) => {
  const page = await site.open("/", context);
  await page.route("**/calendar/api/settings", (route) => route.fulfill({ json: { nightsMax: 3, titleMax: 5 } }));
  const day = newMonth();
  await Promise.all([page.waitForResponse("**/calendar/api/settings"), page.goto(`${site.apps.url}/calendar/?date=${day(1)}`)]);
  await page.getByRole("button", { name: "New event" }).click();
  await dialog(page).getByLabel("First night").fill(day(1));
  await dialog(page).getByLabel("Leaves on").fill(day(5));
  await dialog(page).getByRole("status").getByText("An event has at most 3 nights; this one has 4.").waitFor();
  await dialog(page).getByLabel("Who").pressSequentially("Annabel");
  assert.equal(await dialog(page).getByLabel("Who").inputValue(), "Annab");
  await site.close(page);
});

testBoth("an event that began months before shows", async (context) => {
  const day = newMonth();
  months += 4;
  await book("Works", day(1), day(1 + 99));
  const later = (number) => day(number + 91); /* three months on */
  const page = await open(later, [], context);
  await shownEvent(page, "Works").waitFor();
  await site.close(page);
});

testBoth("when events cannot be loaded the page says so, tries again when asked to, and recovers by itself", async (context) => {
  const day = newMonth();
  await book("Ana", day(10), day(12));
  const page = await open(newMonth(), [], context);
  await page.route("**/calendar/api/**", (route) => route.abort());
  await page.locator(".fc-prev-button").click();
  await page.getByText("The events cannot be shown").waitFor();
  await Promise.all([page.waitForRequest("**/calendar/api/events*"), page.getByRole("button", { name: "Try again" }).click()]);
  await page.getByText("The events cannot be shown").waitFor();
  await page.unroute("**/calendar/api/**"); /* from here on it recovers by itself, perhaps before anybody can click */
  await shownEvent(page, "Ana").waitFor();
  await page.getByText("The events cannot be shown").waitFor({ state: "detached" });
  await page.close(); /* the browser logged what was aborted */
});

testBoth("a drop on nights that are taken says which and by whom, and sends nothing", async (context) => {
  const day = newMonth();
  await book("Ana", day(8), day(10));
  await book("Ben", day(16), day(17));
  const page = await open(day, [], context);
  const sent = [];
  page.on("request", (request) => request.method() === "PUT" && sent.push(request.url()));
  await dragTo(page, await grip(shownEvent(page, "Ana")), await spot(page, day(15)));
  await page.locator(".toast.error", { hasText: "Ben has the night of 16" }).waitFor();
  await cell(page, day(8)).locator(".fc-event", { hasText: "Ana" }).waitFor();
  assert.deepEqual(sent, []);
  await site.close(page);
});

testBoth("an event is moved and resized by keyboard", async (context) => {
  const day = newMonth();
  const event = await book("Ana", day(10), day(12));
  await book("Ben", day(18), day(19));
  const page = await open(day, [], context);
  await shownEvent(page, "Ana").focus();
  await page.keyboard.press("ArrowRight");
  await page.getByRole("status").getByText("Enter saves, Escape puts it back").waitFor();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("status").getByText("Ben has the night of 18").waitFor();
  assert.deepEqual(await read(event), event, "nothing is saved before Enter");
  await page.keyboard.press("Escape");
  await cell(page, day(10)).locator(".fc-event", { hasText: "Ana" }).waitFor();
  await page.waitForFunction(() => document.activeElement.textContent.includes("Ana"));
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Shift+ArrowRight");
  await page.keyboard.press("Enter");
  await page.locator(".toast", { hasText: "3 nights" }).waitFor();
  assert.deepEqual(await read(event), { ...event, start: day(3), end: day(6), version: 2 });
  await page.waitForFunction(() => document.activeElement.textContent.includes("Ana"));
  await site.close(page);
});

testBoth("reloading keeps the month, and tabs see each other's events", async (context) => {
  const day = newMonth();
  await book("Ana", day(10), day(12));
  const page = await open(day, [], context);
  const title = await page.locator(".fc-toolbar-title").textContent();
  const other = await open(newMonth(), [], context);
  await other.locator(".fc-prev-button").click();
  await shownEvent(other, "Ana").waitFor();
  await other.reload();
  await shownEvent(other, "Ana").waitFor();
  assert.equal(await other.locator(".fc-toolbar-title").textContent(), title);
  await shownEvent(other, "Ana").focus();
  await book("Ben", day(20), day(22));
  await shownEvent(page, "Ben").waitFor();
  await shownEvent(other, "Ben").waitFor();
  assert.match(await other.evaluate(() => document.activeElement.textContent), /Ana/, "the focus stays");
  const colour = (name) => shownEvent(page, name).evaluate((element) => getComputedStyle(element).backgroundColor);
  assert.notEqual(await colour("Ana"), await colour("Ben"));
  await site.close(page);
  await site.close(other);
});

testBoth("the calendar can be subscribed to", async (context, width) => {
  const now = Date.now() + (width === "390" ? 5 : 0) * 24 * 3600 * 1000; /* feeds are about now; nights of its own */
  const day = (days) => new Date(now + days * 24 * 3600 * 1000).toISOString().slice(0, 10);
  await book(`Ana at ${width}`, day(10), day(12));
  const page = await open(day, [], context);
  await page.getByRole("button", { name: "Subscribe" }).click();
  const address = await dialog(page).getByLabel("Address").inputValue();
  const feed = await (await fetch(address)).text();
  assert.match(feed, /^BEGIN:VCALENDAR\r\n/);
  assert.match(feed, new RegExp(`SUMMARY:Ana at ${width}`));
  await site.close(page);
});

testBoth("days are written as their reader writes them", async (context) => {
  for (const [locale, text] of [["en-GB", "19/11"], ["en-US", "11/19"]]) {
    const page = await site.open("/calendar/?date=2040-11-19&view=dayGridWeek", { ...context, locale });
    await page.locator('.fc-col-header-cell[data-date="2040-11-19"]').getByText(text).waitFor();
    await site.close(page);
  }
});
