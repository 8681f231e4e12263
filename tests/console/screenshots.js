/* Pictures of the console with the sample data, for the manual: node tests/console/screenshots.js [NAME...] */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DESKTOP, dynamo, open, PHONE, startBrowser, startServer } from "./site.js";

const DIRECTORY = new URL("../../docs/console/", import.meta.url).pathname;
const TASKS = "tables/task-manager-sandbox-tasks";
const QUERY = encodeURIComponent(JSON.stringify({ index: "GSI2", key: { GSI2PK: "STATUS#OPEN" }, backward: true }));
const FILTERED = encodeURIComponent(JSON.stringify({
  key: { userId: "ana" }, sort: [{ name: "sk", op: ">", values: ["17"] }], filters: [{ path: "status", op: "=", type: "S", values: ["SCHEDULED"] }, { path: "providerId", op: "=", type: "S", values: ["dr-osei"] }],
}));
const WIDE = { viewport: { width: 1280, height: 640 } }; /* for pages with little on them */
const STATEMENT = encodeURIComponent(`SELECT * FROM "Calls"\nWHERE "userId" = 'ana' AND "sk" > '17'`);

/* Changes items of the table once its stream is followed. */
async function change(page, url) {
  await page.getByRole("button", { name: "Enable the stream" }).click();
  await page.locator(".live").waitFor();
  await page.waitForTimeout(2000); /* it has found the shards */
  const table = { TableName: "poc-itsm-tickets" };
  const { Items } = await dynamo(url, "Scan", { ...table, Limit: 3 });
  for (const [i, Item] of Items.entries()) {
    await dynamo(url, "PutItem", { ...table, Item: { ...Item, status: { S: ["resolved", "on_hold", "escalated"][i] } } });
  }
  await dynamo(url, "PutItem", { ...table, Item: { ...Items[0], ticket_id: { S: "8c9e1f4e-2f0b-4d5c-9d1b-1f2a3b4c5d6e" } } });
  await dynamo(url, "DeleteItem", { ...table, Key: { ticket_id: Items[2].ticket_id } });
  await page.getByText("5 seen").waitFor();
}

async function simulate(page) {
  await page.getByRole("button", { name: "Add rule" }).waitFor();
  await page.locator("button.preset").first().click();
  await page.locator(".rules li").waitFor();
}

/* File, address, what to wait for, light or dark, desktop or phone, what to do first. */
const PICTURES = [
  ["overview", "", ".uplot", "light", DESKTOP],
  ["overview-dark", "", ".uplot", "dark", DESKTOP],
  ["items", `${TASKS}/items?q=${QUERY}`, "button.open", "light", DESKTOP],
  ["item", "tables/poc-itsm-tickets", "button.open", "light", DESKTOP, (page) => page.locator("button.open").first().click()],
  ["code", `tables/Calls/items?q=${FILTERED}`, "button.open", "light", DESKTOP, (page) => page.getByRole("tab", { name: "boto3" }).click()],
  ["tables", "tables", "tbody tr", "light", WIDE],
  ["schema", `${TASKS}/schema`, "h2", "light", DESKTOP],
  ["stream", "tables/poc-itsm-tickets/stream", "h1", "light", WIDE, change],
  ["transfer", `${TASKS}/transfer`, "h2", "light", WIDE],
  ["connect", "connect", "pre", "light", DESKTOP],
  ["model", `${TASKS}/model`, ".item-card", "light", DESKTOP],
  ["model-dark", `${TASKS}/model`, ".item-card", "dark", DESKTOP],
  ["partiql", `partiql?statement=${STATEMENT}`, ".plans li", "light", DESKTOP, async (page) => {
    await page.getByRole("button", { name: "Run" }).click();
    await page.locator("button.open").first().waitFor();
  }],
  ["patterns", "patterns", ".pattern", "light", DESKTOP],
  ["pattern", "patterns", ".pattern", "light", DESKTOP, async (page) => {
    await page.getByRole("row", { name: /^Scan CallRecords/ }).getByRole("link").click();
    await page.getByRole("table", { name: "Latency" }).waitFor();
  }],
  ["findings", "findings", ".findings li", "light", DESKTOP],
  ["heat", "heat?table=CallRecords", ".ranges", "light", DESKTOP],
  ["cost", "cost?traffic=10", ".what-if", "light", DESKTOP],
  ["phone-overview", "", ".uplot", "dark", PHONE],
  ["phone-items", TASKS, "button.open", "light", PHONE],
  ["phone-model", `${TASKS}/model`, ".item-card", "light", PHONE],
  ["insight", "tables/Calls/insight", ".pattern", "light", DESKTOP, (page) => page.waitForTimeout(70_000)], /* a minute has ended */
  ["simulation", "simulation", "h1", "light", WIDE, simulate], /* the last: requests fail from then on */
];

const wanted = process.argv.slice(2);
const isWanted = (name) => wanted.length === 0 || wanted.includes(name);

async function save(page, name) {
  await page.waitForTimeout(700); /* charts and dialogs settle */
  await page.screenshot({ path: `${DIRECTORY}${name}.png` });
  console.log(`docs/console/${name}.png`);
}

async function take(browser, url, [name, where, ready, colorScheme, size, act]) {
  const page = await open(browser, url, where, { colorScheme, ...size });
  await page.locator(ready).first().waitFor();
  await act?.(page, url);
  await save(page, name);
  await page.close();
}

/* An empty server, then its pages with the sample data. */
async function takePages(browser) {
  const server = await startServer();
  const page = await open(browser, server.url, "");
  await page.locator(".welcome").waitFor();
  if (isWanted("welcome")) {
    await save(page, "welcome");
  }
  await page.getByRole("button", { name: "Load sample data" }).click();
  await page.getByText("5 tables with").waitFor({ timeout: 60_000 });
  await page.waitForTimeout(22_000); /* the page sends the sample requests */
  await page.close();
  for (const picture of PICTURES.filter(([name]) => isWanted(name))) {
    await take(browser, server.url, picture);
  }
  await server.stop();
}

/* A server that checks signatures. */
async function takeSignIn(browser) {
  const folder = mkdtempSync(path.join(tmpdir(), "gramme-pictures-"));
  const users = path.join(folder, "users.json");
  writeFileSync(users, JSON.stringify({ users: [{ name: "root", keys: [{ id: "AKIAEXAMPLEEXAMPLE01", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" }] }] }), { mode: 0o600 });
  const server = await startServer("--auth", "on", "--users", users);
  await take(browser, server.url, ["sign-in", "tables", "h1, h2", "light", WIDE]);
  await server.stop();
  rmSync(folder, { recursive: true });
}

mkdirSync(DIRECTORY, { recursive: true });
const browser = await startBrowser();
try {
  await takePages(browser);
  if (isWanted("sign-in")) {
    await takeSignIn(browser);
  }
} finally {
  await browser.close();
}
