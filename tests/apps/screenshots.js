/* Pictures of the pages with sample data on a server, which has measured what the pictures before the last asked for; for
 * docs/apps.md: node tests/apps/screenshots.js */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DESKTOP, openPage, PHONE, startAppsOn, startBrowser, startDatabase } from "./browser.js";

const DIRECTORY = new URL("../../docs/apps/", import.meta.url).pathname;

/* File, user, address, what to wait for, light or dark, desktop or phone. */
const PICTURES = [
  ["calls", "admin", "/calls/?user=ana", ".call", "light", DESKTOP],
  ["calls-phone", "ana", "/calls/", ".call", "light", PHONE],
  ["calendar", "admin", "/calendar/", ".fc-event", "light", DESKTOP],
  ["calendar-dark", "admin", "/calendar/", ".fc-event", "dark", DESKTOP],
  ["calendar-phone", "admin", "/calendar/", ".fc-event", "dark", PHONE],
  ["reconciliation", "ops", "/reconciliation/", "[data-call]", "light", DESKTOP],
  ["tickets", "desk", "/tickets/?caller=poc-user-001&ticket=1d8d2fe2-4543-4e6d-aad0-9deed9d57070", ".comments li", "light", DESKTOP],
  ["tasks", "ana", "/tasks/?status=OPEN", "[data-task]", "light", DESKTOP],
  ["patterns", "admin", "/tasks/?view=patterns", '[data-name="Requests measured"]', "light", DESKTOP],
  ["patterns-phone", "admin", "/tickets/?view=patterns", '[data-name="Requests measured"]', "dark", PHONE],
];

async function take(apps, browser, [name, user, where, ready, colorScheme, size]) {
  const page = await openPage(browser, apps.url, where, { user, colorScheme, ...size });
  await page.locator(ready).first().waitFor();
  await page.locator('[aria-busy="true"]').waitFor({ state: "detached" });
  await page.screenshot({ path: `${DIRECTORY}${name}.png` });
  await page.close();
  console.log(`docs/apps/${name}.png`);
}

mkdirSync(DIRECTORY, { recursive: true });
const directory = mkdtempSync(path.join(tmpdir(), "gramme-pictures-"));
const database = await startDatabase(directory);
const apps = await startAppsOn(database.url, "127.0.0.1:0", "--samples");
const browser = await startBrowser();
try {
  for (const picture of PICTURES) {
    await take(apps, browser, picture);
  }
} finally {
  await browser.close();
  await apps.stop();
  await database.stop();
  rmSync(directory, { recursive: true });
}
