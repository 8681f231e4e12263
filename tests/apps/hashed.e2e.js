/* The page of tickets while callers are stored as hashes of their ids. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after } from "node:test";
import { checkAxe, testBoth, useSite } from "./browser.js";

const directory = mkdtempSync(path.join(tmpdir(), "gramme-hashed-"));
const site = useSite("--hash-caller-ids", path.join(directory, "key"));
after(() => rmSync(directory, { recursive: true, force: true }));

async function openTicket(caller, issue) {
  const { status, body } = await site.rest("POST", "/tickets/api/tickets", { issue_description: issue }, { "X-User-Id": caller });
  assert.equal(status, 201);
  assert.match(body.caller_id, /^h-[0-9a-f]{32}$/);
  return body;
}

testBoth("an agent's list of a caller is live, from the first ticket on", async (context, width) => {
  const caller = `+4930${width}`;
  const page = await site.open(`/tickets/?caller=${encodeURIComponent(caller)}`, { ...context, user: "desk" });
  const list = page.getByRole("region", { name: "Tickets of the caller" });
  await list.getByText("No tickets yet.").waitFor();
  await openTicket(caller, "first issue");
  await list.getByText("first issue").waitFor();
  await openTicket(`${caller}1`, "of somebody else");
  await openTicket(caller, "second issue");
  await list.getByText("second issue").waitFor();
  assert.deepEqual(await list.locator(".issue").allTextContents(), ["second issue", "first issue"]);
  await page.getByText("Callers are stored as hashes").waitFor();
  await checkAxe(page, "tickets with hashed callers");
  await site.close(page);
});

testBoth("a caller sees, opens and comments their own, under the hash", async (context, width) => {
  const caller = `caller-${width}`;
  const page = await site.open("/tickets/", { ...context, user: caller });
  await page.getByRole("button", { name: "Open a ticket" }).click();
  await page.getByRole("dialog").getByLabel("What is wrong?").fill("It is slow");
  await page.getByRole("dialog").getByRole("button", { name: "Open" }).click();
  const ticket = page.getByRole("region", { name: "Ticket", exact: true });
  await ticket.getByText(/Opened by h-[0-9a-f]{32}/).waitFor();
  await ticket.getByLabel("Comment", { exact: true }).fill("Since Monday");
  await ticket.getByRole("button", { name: "Add comment" }).click();
  const comment = ticket.getByRole("listitem").filter({ hasText: "Since Monday" });
  await comment.getByText("Caller,").waitFor();
  assert.ok(!(await comment.textContent()).includes(caller), "nothing names the caller");
  await site.close(page);
});
