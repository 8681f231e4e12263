/* Pictures of the console with the sample data, for docs/console.md: node tests/console/screenshots.js */
import { mkdirSync } from "node:fs";
import { DESKTOP, open, PHONE, startBrowser, startServer, visit } from "./site.js";

const DIRECTORY = new URL("../../docs/console/", import.meta.url).pathname;
const TASKS = "tables/task-manager-sandbox-tasks";
const QUERY = encodeURIComponent(JSON.stringify({ index: "GSI2", key: { GSI2PK: "STATUS#OPEN" }, backward: true }));
const STATEMENT = encodeURIComponent(`SELECT * FROM "Calls"\nWHERE "userId" = 'ana' AND "sk" > '17'`);

/* File, address, what to wait for, light or dark, desktop or phone, what to do first. */
const PICTURES = [
  ["overview", "", ".uplot", "light", DESKTOP],
  ["overview-dark", "", ".uplot", "dark", DESKTOP],
  ["items", `${TASKS}/items?q=${QUERY}`, "button.open", "light", DESKTOP],
  ["item", "tables/poc-itsm-tickets", "button.open", "light", DESKTOP, (page) => page.locator("button.open").first().click()],
  ["model", `${TASKS}/model`, ".item-card", "light", DESKTOP],
  ["model-dark", `${TASKS}/model`, ".item-card", "dark", DESKTOP],
  ["partiql", `partiql?statement=${STATEMENT}`, ".plans li", "light", DESKTOP, async (page) => {
    await page.getByRole("button", { name: "Run" }).click();
    await page.locator("button.open").first().waitFor();
  }],
  ["patterns", "patterns", ".pattern", "light", DESKTOP],
  ["findings", "findings", ".findings li", "light", DESKTOP],
  ["heat", "heat?table=CallRecords", ".ranges", "dark", DESKTOP],
  ["cost", "cost?traffic=10", ".what-if", "light", DESKTOP],
  ["phone-overview", "", ".uplot", "dark", PHONE],
  ["phone-items", TASKS, "button.open", "light", PHONE],
  ["phone-model", `${TASKS}/model`, ".item-card", "light", PHONE],
];

async function take(browser, url, [name, where, ready, colorScheme, size, act]) {
  const page = await open(browser, url, where, { colorScheme, ...size });
  await page.locator(ready).first().waitFor();
  await act?.(page);
  await page.waitForTimeout(700); /* charts and dialogs settle */
  await page.screenshot({ path: `${DIRECTORY}${name}.png` });
  await page.close();
  console.log(`docs/console/${name}.png`);
}

mkdirSync(DIRECTORY, { recursive: true });
const server = await startServer();
const browser = await startBrowser();
try {
  const page = await open(browser, server.url, "");
  await page.locator(".welcome").waitFor();
  await page.waitForTimeout(500);
  await page.screenshot({ path: `${DIRECTORY}welcome.png` });
  await page.getByRole("button", { name: "Load sample data" }).click();
  await page.getByText("5 tables with").waitFor({ timeout: 60_000 });
  await page.waitForTimeout(22_000); /* the sample requests */
  await page.close();
  const wanted = process.argv.slice(2);
  for (const picture of PICTURES.filter(([name]) => wanted.length === 0 || wanted.includes(name))) {
    await take(browser, server.url, picture);
  }
} finally {
  await browser.close();
  await server.stop();
}
