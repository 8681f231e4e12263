/* The page of tickets in Chromium. */
import assert from "node:assert/strict";
import { holds, loseAnswer, testBoth, useSite } from "./browser.js";

const site = useSite();
let callers = 0;
const newCaller = () => `caller-${++callers}`;

async function openTicket(caller, issue) {
  const { status, body } = await site.rest("POST", "/tickets/api/tickets", { caller_id: caller, issue_description: issue });
  assert.equal(status, 201);
  return body;
}

const comment = (ticket, text) =>
  site.rest("POST", `/tickets/api/tickets/${ticket.ticket_id}/comments`, { comment_text: text });

testBoth("open a ticket, comment on it, find it again", async (context) => {
  const caller = newCaller();
  const page = await site.open("/tickets/", context);
  await page.getByText("Whose tickets?").waitFor();
  await page.getByRole("button", { name: "Open a ticket" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Caller").fill(caller);
  await dialog.getByLabel("What is wrong?").fill("<b>My</b> laptop won't turn on");
  await dialog.getByRole("button", { name: "Open" }).click();
  const ticket = page.getByRole("region", { name: "Ticket", exact: true });
  await ticket.getByRole("heading", { name: "<b>My</b> laptop won't turn on" }).waitFor();

  await ticket.getByLabel("Comment", { exact: true }).fill("Tried another socket");
  await ticket.getByRole("button", { name: "Add comment" }).click();
  await ticket.getByRole("listitem").filter({ hasText: "Tried another socket" }).waitFor();
  await holds(ticket.getByLabel("Comment", { exact: true }), "");

  const stored = (await site.rest("GET", `/tickets/api/tickets?caller=${caller}`)).body.items;
  assert.equal(stored.length, 1);
  assert.deepEqual(stored[0].comments.map((each) => each.comment_text), ["Tried another socket"]);
  await page.goto(`${site.apps.url}/tickets/`);
  await page.getByLabel("Caller").fill(caller);
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "<b>My</b> laptop" }).click();
  await ticket.getByText("Tried another socket").waitFor();
  await site.close(page);
});

testBoth("ten newest first, older ones on demand", async (context) => {
  const caller = newCaller();
  for (let number = 0; number < 12; number++) {
    await openTicket(caller, `issue ${number}`);
  }
  const page = await site.open(`/tickets/?caller=${caller}`, context);
  const rows = page.getByRole("region", { name: "Tickets of the caller" }).getByRole("listitem");
  await rows.nth(9).waitFor();
  assert.equal(await rows.count(), 10);
  await page.getByRole("button", { name: "Older tickets" }).focus();
  await page.keyboard.press("Enter");
  await rows.nth(11).waitFor();
  await rows.nth(10).locator("a:focus").waitFor(); /* the first of the older ones, as the button is gone */
  const texts = await rows.locator(".issue").allTextContents();
  assert.deepEqual(texts, Array.from({ length: 12 }, (_, number) => `issue ${11 - number}`));
  await site.close(page);
});

testBoth("what others write appears by itself", async (context, width) => {
  const caller = newCaller();
  const ticket = await openTicket(caller, "The printer is blank");
  const page = await site.open(`/tickets/?caller=${caller}&ticket=${ticket.ticket_id}`, context);
  await page.getByRole("heading", { name: "The printer is blank" }).waitFor();
  await page.getByLabel("Comment", { exact: true }).fill("half a thought");
  await comment(ticket, "New toner, the same");
  await page.getByText("New toner, the same").waitFor();
  assert.equal(await page.getByLabel("Comment", { exact: true }).inputValue(), "half a thought");
  if (width === "390") {
    await page.getByRole("button", { name: "All tickets" }).focus(); /* a phone shows the list or a ticket */
    await page.keyboard.press("Enter");
    await page.locator("a:focus", { hasText: "The printer is blank" }).waitFor(); /* the one that was left */
  }
  await openTicket(caller, "Now the scanner too");
  await page.getByRole("link", { name: "Now the scanner too" }).waitFor();
  await site.close(page);
});

testBoth("a ticket that is not there, and a comment that is refused", async (context) => {
  const page = await site.open("/tickets/?ticket=00000000-0000-4000-8000-000000000000", { refusals: [404], ...context });
  await page.getByRole("alert").getByText("There is no such ticket").waitFor();
  await site.close(page);

  const ticket = await openTicket(newCaller(), "Full");
  for (let number = 0; number < 33; number++) {
    await comment(ticket, "€".repeat(4000));
  }
  const full = await site.open(`/tickets/?ticket=${ticket.ticket_id}`, { refusals: [422], ...context });
  await full.getByLabel("Comment", { exact: true }).fill("€".repeat(4000));
  await full.getByRole("button", { name: "Add comment" }).click();
  await full.getByText("The ticket has no room for more comments").waitFor();
  assert.equal((await full.getByLabel("Comment", { exact: true }).inputValue()).length, 4000);
  await site.close(full);
});

testBoth("older tickets stay when the page updates, and new ones appear", async (context) => {
  const caller = newCaller();
  for (let number = 0; number < 12; number++) {
    await openTicket(caller, `issue ${number}`);
  }
  const page = await site.open(`/tickets/?caller=${caller}`, context);
  await page.getByRole("button", { name: "Older tickets" }).click();
  await page.getByText("issue 0", { exact: true }).waitFor();
  await openTicket(caller, "the newest");
  await page.getByText("the newest").waitFor();
  await page.waitForFunction(() => document.querySelectorAll(".issue").length === 13);
  await site.close(page);
});

testBoth("a draft outlives a reload of the page", async (context) => {
  const ticket = await openTicket(newCaller(), "The printer\n\nIt prints blank pages.");
  const page = await site.open(`/tickets/?ticket=${ticket.ticket_id}`, context);
  await page.getByRole("heading", { name: "The printer", exact: true }).waitFor();
  await page.getByText("It prints blank pages.").waitFor();
  await page.getByText("Do not enter passwords").waitFor();
  await page.getByLabel("Comment", { exact: true }).fill("half a thought");
  await page.reload();
  await page.getByRole("heading", { name: "The printer" }).waitFor();
  assert.equal(await page.getByLabel("Comment", { exact: true }).inputValue(), "half a thought");
  await page.getByRole("button", { name: "Add comment" }).click();
  await page.getByRole("listitem").filter({ hasText: "half a thought" }).waitFor();
  await page.waitForFunction(() => document.activeElement.tagName === "TEXTAREA");
  await page.getByRole("button", { name: "Add comment" }).click();
  await page.getByText("Write something first.").waitFor();
  await site.close(page);
});

testBoth("the service desk changes the status; the caller sees it, its history, and who wrote", async (context) => {
  const caller = newCaller();
  const ticket = await openTicket(caller, "Blank pages");
  const where = `/tickets/?caller=${caller}&ticket=${ticket.ticket_id}`;
  const page = await site.open(where, { user: caller, ...context });
  await page.locator(".ticket .badge", { hasText: "open" }).waitFor();
  const desk = await site.open(where, { user: "desk", ...context });
  await desk.getByLabel("Status of the ticket").selectOption("in_progress");
  await page.locator(".ticket .badge", { hasText: "in progress" }).waitFor();
  await page.getByText("History of the status").click();
  await page.getByText("in progress by desk").waitFor();
  await desk.getByLabel("Comment", { exact: true }).fill("New toner is on its way");
  await desk.getByRole("button", { name: "Add comment" }).click();
  await page.getByRole("listitem").filter({ hasText: "New toner" }).getByText("Service desk, service desk").waitFor();
  await site.close(page);
  await site.close(desk);
});

testBoth("choosing a status by arrow key does not save at once", async (context) => {
  const ticket = await openTicket(newCaller(), "By key");
  const statusOf = async () => (await site.rest("GET", `/tickets/api/tickets/${ticket.ticket_id}`)).body.status;
  const page = await site.open(`/tickets/?ticket=${ticket.ticket_id}`, { user: "desk", ...context });
  const select = page.getByLabel("Status of the ticket");
  await select.focus();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("button", { name: "Save" }).waitFor();
  assert.equal(await statusOf(), "open");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Save" }).waitFor({ state: "detached" });
  assert.equal(await select.inputValue(), "open");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.locator(".toast").first().waitFor();
  assert.equal(await statusOf(), "in_progress");
  await site.close(page);
});

testBoth("a ticket and a comment whose answers are lost are there once when they are sent again", async (context) => {
  const caller = newCaller();
  const page = await site.open("/tickets/", context);
  await page.getByRole("button", { name: "Open a ticket" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Caller").fill(caller);
  await dialog.getByLabel("What is wrong?").fill("sent twice");
  await loseAnswer(page, "POST", "/tickets");
  await dialog.getByRole("button", { name: "Open" }).click();
  await dialog.getByRole("alert").getByText(/./).waitFor();
  await dialog.getByRole("button", { name: "Open" }).click();
  const ticket = page.getByRole("region", { name: "Ticket", exact: true });
  await ticket.getByRole("heading", { name: "sent twice" }).waitFor();
  for (const _ of ["first", "the same text again is another comment"]) {
    await ticket.getByLabel("Comment", { exact: true }).fill("me too");
    await loseAnswer(page, "POST", "/comments");
    await ticket.getByRole("button", { name: "Add comment" }).click();
    await ticket.getByRole("alert").getByText(/./).waitFor();
    await ticket.getByRole("button", { name: "Add comment" }).click();
    await ticket.getByRole("alert").getByText(/./).waitFor({ state: "detached" });
  }
  const { items } = (await site.rest("GET", `/tickets/api/tickets?caller=${caller}`)).body;
  assert.deepEqual(items.map((each) => each.comments.length), [2]);
  page.troubles = page.troubles.filter((text) => !text.includes("ERR_CONNECTION_RESET"));
  await site.close(page);
});
