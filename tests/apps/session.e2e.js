/* Who is signed in, and what they may see and do on the pages. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { testBoth, useSite } from "./browser.js";

const site = useSite("--samples");
const as = (user) => ({ "X-User-Id": user });

testBoth("in the development mode one chooses who one is", async (context) => {
  const page = await site.open("/calls/", context);
  await page.getByRole("button", { name: "Signed in as Administrator" }).click();
  await page.getByRole("dialog").getByRole("button", { name: /^Ben/ }).click();
  await page.getByRole("button", { name: "Signed in as Ben" }).waitFor();
  await page.getByRole("heading", { name: "ben", exact: true }).waitFor(); /* a member sees their own calls */
  assert.equal(await page.getByRole("search").count(), 0, "and chooses nobody else's");
  await page.getByRole("button", { name: "Signed in as Ben" }).click();
  await page.getByRole("dialog").getByLabel("Somebody else").fill("dr-new");
  await page.getByRole("dialog").getByLabel("provider").check();
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByText("This provider has no calls.").waitFor();
  await site.close(page);
});

testBoth("a member does not see what is not theirs", async (context) => {
  const page = await site.open("/calls/?user=ana", { user: "ben", refusals: [403], ...context });
  await page.getByRole("alert").first().waitFor();
  assert.equal(await page.locator("[data-call]").count(), 0);
  await site.close(page);
  const tickets = await site.open("/tickets/", { user: "poc-user-002", ...context });
  await tickets.getByRole("region", { name: "Tickets of the caller" }).getByRole("listitem").first().waitFor();
  assert.equal(await tickets.getByRole("search").count(), 0);
  assert.equal(await tickets.getByLabel("Status of the ticket").count(), 0);
  await site.close(tickets);
  const tasks = await site.open("/tasks/?status=CREATED", { user: "ben", ...context });
  await tasks.getByRole("button", { name: /^Who: Order chairs/ }).click();
  await tasks.locator(".assigned").getByText(/./).first().waitFor();
  assert.equal(await tasks.getByRole("button", { name: /^Assign|^Unassign/ }).count(), 0);
  assert.equal(await tasks.getByRole("tab", { name: "Users" }).count(), 0);
  await site.close(tasks);
});

testBoth("an event of somebody else is shown, not changed", async (context, width) => {
  const day = width === "1280" ? "2033-05-1" : "2033-06-1";
  const { status } = await site.rest("POST", "/calendar/api/events", { title: "Chloe's", start: `${day}0`, end: `${day}2` }, as("chloe"));
  assert.equal(status, 201);
  const page = await site.open(`/calendar/?date=${day}0`, { user: "ben", ...context });
  const event = page.locator(".fc-event", { hasText: "Chloe's" });
  await event.click();
  await page.getByRole("dialog").getByText("Booked by chloe").waitFor();
  assert.equal(await page.getByRole("dialog").getByRole("button", { name: "Save" }).count(), 0);
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await event.focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.getByText("Enter saves, Escape puts it back").count(), 0);
  await site.close(page);
});

testBoth("each application has a page about its access patterns and their cost", async (context) => {
  const page = await site.open("/calls/?user=ana", context);
  await page.locator(".call").first().waitFor();
  for (const name of ["calls", "calendar", "reconciliation", "tickets", "tasks"]) {
    await page.goto(`${site.apps.url}/${name}/`);
    await page.getByRole("link", { name: "Access patterns and cost" }).click();
    await page.getByRole("table", { name: "Patterns" }).waitFor();
    const { body } = await site.rest("GET", `/${name}/api/patterns`);
    assert.equal(await page.getByRole("table", { name: "Patterns" }).getByRole("row").count(), body.patterns.length + 1);
    await page.getByRole("table", { name: "Cost per month" }).getByRole("row", { name: /^On demand, as/ }).nth(1).waitFor();
    assert.equal(await page.getByRole("table", { name: "Workload" }).getByRole("row").count(), body.workload.operations.length + 1);
  }
  await site.close(page);
});

testBoth("when the session is over the page stays, and says where to sign in", async (context, width) => {
  const thought = `half a thought at ${width}`;
  const page = await site.open("/tickets/?caller=poc-user-001&ticket=1d8d2fe2-4543-4e6d-aad0-9deed9d57070", { refusals: [401], ...context });
  await page.getByLabel("Comment", { exact: true }).fill(thought);
  await page.route("**/comments", (route) => route.fulfill({
    status: 401, json: { error: { code: "sign_in_required", message: "Sign in first", signIn: "/auth/login" } } }));
  await page.getByRole("button", { name: "Add comment" }).click();
  await page.getByText("Your session is over.").waitFor();
  assert.equal(await page.getByLabel("Comment", { exact: true }).inputValue(), thought);
  await page.unroute("**/comments");
  await page.getByRole("button", { name: "Add comment" }).click();
  await page.getByRole("listitem").filter({ hasText: thought }).waitFor();
  await site.close(page);
});

testBoth("without a session the page goes to the sign-in, and comes back to where it was", async (context) => {
  const page = await site.open("/", context);
  await page.route("**/auth/session", (route) => route.fulfill({ json: { mode: "oidc", user: null, chosen: false, signIn: "/auth/login" } }));
  await page.route("**/auth/login?*", (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html><title>provider</title>" }));
  await page.goto(`${site.apps.url}/calls/?user=ana`);
  await page.waitForURL("**/auth/login?return=*");
  assert.equal(new URL(page.url()).searchParams.get("return"), "/calls/?user=ana");
  await page.goto(`${site.apps.url}/?signIn=failed`);
  await page.getByText("Signing in did not work.").waitFor();
  await page.getByRole("link", { name: "Sign in" }).waitFor();
  await site.close(page);
});

testBoth("another website cannot write, whatever it tries", async (context, width) => {
  const caller = `cross-site-victim-${width}`;
  const other = createServer((_, response) => response.writeHead(200, { "Content-Type": "text/html" })
    .end("<!doctype html><title>other</title><form method=post enctype=text/plain><input name=a></form>")).listen(0, "localhost");
  await once(other, "listening");
  const page = await site.open("/tickets/", { user: caller, ...context });
  await page.getByText("No tickets yet.").waitFor();
  await page.goto(`http://localhost:${other.address().port}/`);
  const target = `${site.apps.url}/tickets/api/tickets`;
  const outcomes = await page.evaluate(async (url) => {
    const body = JSON.stringify({ issue_description: "written by another website" });
    const tries = ["text/plain", "application/json"].flatMap((type) => ["no-cors", "cors"].map((mode) => ({ type, mode })));
    return Promise.all(tries.map(({ type, mode }) =>
      fetch(url, { method: "POST", mode, credentials: "include", headers: { "Content-Type": type }, body })
        .then((answer) => answer.ok, () => false)));
  }, target);
  assert.deepEqual(outcomes, [false, false, false, false]);
  /* A form sends its cookies too, and text that is JSON. */
  const [answer] = await Promise.all([
    page.waitForResponse(target),
    page.evaluate(([url, victim]) => {
      const form = document.querySelector("form");
      form.action = url;
      form.firstElementChild.name = `{"issue_description": "written by a form", "caller_id": "${victim}", "x": "`;
      form.firstElementChild.value = '"}';
      form.submit();
    }, [target, caller]),
  ]);
  assert.ok(answer.status() >= 400, `the form got ${answer.status()}`);
  const { body } = await site.rest("GET", `/tickets/api/tickets?caller=${caller}`);
  assert.deepEqual(body.items, []);
  await page.close();
  other.close();
});
