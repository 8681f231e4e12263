/* Every page, light and dark, wide and narrow: it shows what it should, axe finds nothing, and it fits its window. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { checkAxe, checkWidth, close, DESKTOP, eventually, GRAMME, loadSamples, open, PHONE, SMALL_PHONE, startServer, useSite, visit } from "./site.js";

const TASKS = "tables/task-manager-sandbox-tasks";
/* Address, and what tells that it is complete. */
const PAGES = [
  ["", "heading", "Patterns by units"], ["tables", "link", "poc-itsm-tickets"], [TASKS, "button", "Next page"], [`${TASKS}/model`, "heading", "3 kinds of items"], [`${TASKS}/schema`, "heading", "Settings"],
  [`${TASKS}/insight`, "heading", "Access patterns"], [`${TASKS}/stream`, "button", "Enable the stream"], [`${TASKS}/transfer`, "heading", "Export"], ["partiql", "button", "Run"], ["patterns", "table", "Access patterns"],
  ["heat", "heading", "Heaviest partition keys"], ["findings", "heading", "Findings"], ["cost", "heading", "What if"], ["simulation", "heading", "Rules"], ["connect", "heading", "A first query"],
];

const patterns = async () => (await (await fetch(`${site.url}/_gramme/api/patterns?limit=1000`)).json()).patterns;

const site = useSite(async (own) => {
  await loadSamples(own);
  const [one] = (await (await fetch(`${own.url}/_gramme/api/patterns`)).json()).patterns;
  PAGES.push([`patterns/${one.id}`, "table", "Latency"]);
});

async function waitFor(page, [, role, name]) {
  await page.getByRole("main").getByRole(role, { name, exact: true }).first().waitFor();
  await page.locator(".waiting").first().waitFor({ state: "detached" });
}

/* In the second round only what can differ from the first is looked at. */
for (const [title, options, rules] of [["light, 1280 px", { ...DESKTOP, colorScheme: "light" }, null], ["dark, 390 px", { ...PHONE, colorScheme: "dark" }, ["color-contrast", "target-size", "scrollable-region-focusable"]]]) {
  test(`every page: ${title}`, async () => {
    const page = await site.open("", options);
    for (const one of PAGES) {
      await visit(page, one[0]);
      await waitFor(page, one);
      await checkAxe(page, `${title}: ${one[0]}`, { rules });
      await checkWidth(page, `${title}: ${one[0]}`);
    }
    await close(page);
  });
}

test("pages are not traffic: all of them leave the access patterns as they were, and a contract satisfied", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "gramme-console-"));
  const run = (...parameters) => spawnSync(GRAMME, ["patterns", ...parameters, "--endpoint", site.url], { encoding: "utf8" });
  const counted = async () => (await patterns()).map(({ text, calls }) => `${calls} ${text}`).sort();
  const before = await counted();
  const contract = path.join(folder, "patterns.json");
  writeFileSync(contract, run("record").stdout);
  const page = await site.open("");
  for (const one of PAGES) {
    await visit(page, one[0]);
    await waitFor(page, one);
  }
  await close(page);
  assert.deepEqual(await counted(), before);
  const { status, stdout } = run("check", contract);
  assert.equal(status, 0, stdout);
  const { totals } = await (await fetch(`${site.url}/_gramme/api/overview`)).json();
  assert.ok(totals.consoleCalls > 10, `${totals.consoleCalls} calls of the console`);
  rmSync(folder, { recursive: true });
});

test("everything fits 360 px", async () => {
  const page = await site.open("", SMALL_PHONE);
  for (const one of PAGES) {
    await visit(page, one[0]);
    await waitFor(page, one);
    await checkWidth(page, one[0]);
  }
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("dialog", { name: "Menu" }).getByRole("link", { name: /Tables/ }).click();
  await page.getByRole("heading", { name: "Tables" }).waitFor();
  await page.getByRole("dialog", { name: "Menu" }).waitFor({ state: "detached" });
  await close(page);
});

test("dialogs: axe finds nothing", async () => {
  const page = await site.open(TASKS);
  await page.getByRole("button", { name: /^TASK#|^USER#/ }).first().click();
  const item = page.getByRole("dialog", { name: "Edit item" });
  await item.waitFor();
  await checkAxe(page, "item: form", { element: "dialog" });
  await item.getByRole("button", { name: "JSON", exact: true }).click();
  await item.getByLabel("Item as JSON").waitFor();
  await checkAxe(page, "item: JSON", { element: "dialog" });
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Filters" }).click();
  await page.getByRole("button", { name: "Add filter" }).click();
  await checkAxe(page, "filters", { element: ".builder" });
  await visit(page, "tables");
  await page.getByRole("button", { name: "Create table" }).click();
  await page.getByRole("button", { name: "Add index" }).click();
  await checkAxe(page, "create table", { element: "dialog" });
  await page.keyboard.press("Escape");
  await close(page);
});

test("by keyboard alone: find a table, open an item, come back", async () => {
  const page = await site.open("");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await eventually(async () => { /* the page listens to keys shortly after it shows its heading */
    await page.keyboard.press("Control+k");
    return page.getByRole("combobox").isVisible();
  }, true, "Ctrl+K opens the finder");
  await checkAxe(page, "palette", { element: "dialog" });
  await page.keyboard.type("tick");
  await page.getByRole("option", { name: "poc-itsm-tickets" }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "poc-itsm-tickets" }).waitFor();
  await page.locator("button.open").first().waitFor();
  /* From the top of the page to the first item with Tab. */
  let presses = 0;
  while (!(await page.evaluate(() => document.activeElement.matches("button.open")))) {
    await page.keyboard.press("Tab");
    assert.ok(++presses < 60, "the first item cannot be reached");
  }
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Edit item" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.ok(await page.evaluate(() => document.activeElement.matches("button.open")), "the focus is back");
  await close(page);
});

test("the colours can be chosen and are kept", async () => {
  const page = await site.open("tables", { colorScheme: "light" });
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.getByRole("button", { name: "Dark colours" }).first().click();
  assert.notEqual(await background(), light);
  await page.reload();
  await page.getByRole("button", { name: "Light colours" }).first().waitFor();
  assert.notEqual(await background(), light);
  await close(page);
});

test("a server that does not record its traffic: the insight pages say so", async () => {
  const server = await startServer("--insight", "off");
  try {
    const page = await open(site.browser, server.url, "patterns");
    for (const where of ["patterns", "findings", "heat", "cost"]) {
      await visit(page, where);
      await page.getByText("This server does not record its traffic").waitFor();
    }
    await close(page);
  } finally {
    await server.stop();
  }
});

test("PartiQL: plan, result, units, error", async () => {
  const page = await site.open("partiql", { refusals: [400] });
  const editor = page.getByLabel("PartiQL statement");
  const type = async (text) => {
    await editor.click();
    await page.keyboard.press("Control+a");
    await page.keyboard.type(text);
  };
  await type(`SELECT * FROM "Calls" WHERE userId = 'ana'`);
  await page.getByText("Queries Calls").waitFor(); /* the server's own plan */
  await page.getByText('range: userId = "ana"').waitFor();
  await page.keyboard.press("Control+Enter");
  await page.getByRole("status").filter({ hasText: /^\d+ items[\d.]+ units/ }).waitFor();
  await type(`SELECT callId FROM "Calls"; UPDATE "Calls" SET x = 1 WHERE userId = 'nobody' AND sk = '1'`);
  await page.getByText("Reads every item of Calls").waitFor();
  await page.getByText("Changes one item of Calls").waitFor();
  await page.getByRole("button", { name: "Run 2 statements" }).click();
  await page.getByRole("status").filter({ hasText: /^100 items/ }).waitFor();
  await page.getByText("ConditionalCheckFailedException").waitFor();
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("status").filter({ hasText: /^160 items/ }).waitFor();
  await type(`SELECT * FROM "Calls" WHERE userId = 1`);
  await page.getByRole("list", { name: "Plan" }).getByText("Key attribute's data type should match").waitFor();
  await checkAxe(page, "PartiQL with plans");
  await close(page);
});

test("an answer from nowhere: the page says that the server is away, and goes on when it is back", async () => {
  const page = await site.open("tables");
  await page.getByRole("link", { name: "Calls", exact: true }).waitFor();
  await page.context().setOffline(true);
  await page.getByRole("button", { name: "Refresh" }).click();
  await page.getByText("The server does not answer. Is it running?").waitFor();
  page.troubles.length = 0; /* the browser logs each failed request */
  await page.context().setOffline(false);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("The server does not answer").first().waitFor({ state: "detached" });
  page.troubles.length = 0;
  await close(page);
});

/* Presses Tab until the focus is back where it began, or leaves the page; what has it must be in view. Gives the number of stops. */
async function tabThrough(page, where) {
  const seen = new Set();
  for (;;) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(() => {
      let element = document.activeElement;
      while (element.shadowRoot?.activeElement) {
        element = element.shadowRoot.activeElement;
      }
      const { left, right, top, bottom } = element.getBoundingClientRect();
      const header = document.querySelector("header.top").getBoundingClientRect();
      const isLarge = right - left >= innerWidth || bottom - top >= innerHeight - header.bottom;
      const isInHeader = element.closest?.("header.top, .skip") !== null;
      window.focusNumbers ??= new Map();
      window.focusNumbers.set(element, window.focusNumbers.get(element) ?? window.focusNumbers.size);
      return {
        number: window.focusNumbers.get(element), isBody: element === document.body, html: element.outerHTML.slice(0, 120),
        isVisible: isLarge || (left >= -1 && right <= innerWidth + 1 && bottom <= innerHeight + 1 && top >= (isInHeader ? -1 : header.bottom - 1)),
      };
    });
    if (stop.isBody || seen.has(stop.number)) {
      return seen.size;
    }
    seen.add(stop.number);
    assert.ok(stop.isVisible, `${where}: has the focus, and is not wholly in view: ${stop.html}`);
    assert.ok(seen.size < 500, where);
  }
}

test("by keyboard alone on 360 px: all that gets the focus is in view, menus and dialogs give it back", async () => {
  const page = await site.open("", { viewport: SMALL_PHONE.viewport });
  for (const one of PAGES) {
    await visit(page, one[0]);
    await waitFor(page, one);
    await page.evaluate(() => document.querySelector(".skip").focus());
    assert.ok((await tabThrough(page, one[0])) > 3, one[0]);
  }
  await page.getByRole("button", { name: "Menu" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Menu" }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("dialog.drawer").waitFor({ state: "detached" }); /* by role it is gone as soon as it is hidden */
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Menu", "the focus is back");
  await page.keyboard.press("Enter");
  const link = page.getByRole("dialog", { name: "Menu" }).getByRole("link", { name: /Heat/ });
  for (let presses = 0; !(await link.evaluate((element) => element === document.activeElement)); presses++) {
    await page.keyboard.press("Tab");
    assert.ok(presses < 20, "the link in the menu cannot be reached");
  }
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Heat" }).waitFor();
  await page.getByRole("dialog", { name: "Menu" }).waitFor({ state: "detached" });
  await close(page);
});
