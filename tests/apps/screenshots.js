/* Pictures of the pages with sample data, for docs/apps.md: node tests/apps/screenshots.js */
import { mkdirSync } from "node:fs";
import { startApps, startBrowser } from "./browser.js";

const DIRECTORY = new URL("../../docs/apps/", import.meta.url).pathname;

/* File, address, what to wait for, light or dark. */
const PICTURES = [
  ["calls", "/calls/?user=ana", ".call", "light"],
  ["calendar", "/calendar/", ".fc-event", "light"],
  ["reconciliation", "/reconciliation/", "[data-call]", "light"],
  ["tickets", "/tickets/?caller=poc-user-001&ticket=33567ee8-f182-4f8a-b03e-2f1515915471", "main li", "light"],
  ["tasks", "/tasks/?user=ben", "[data-task]", "light"],
  ["calendar-dark", "/calendar/", ".fc-event", "dark"],
];

async function take(apps, browser, [name, where, ready, colorScheme]) {
  const page = await browser.newPage({ locale: "en-GB", viewport: { width: 1280, height: 860 }, colorScheme });
  await page.goto(apps.url + where);
  await page.locator(ready).first().waitFor();
  await page.locator('[aria-busy="true"]').waitFor({ state: "detached" });
  await page.screenshot({ path: `${DIRECTORY}${name}.png` });
  await page.close();
  console.log(`docs/apps/${name}.png`);
}

mkdirSync(DIRECTORY, { recursive: true });
const apps = await startApps("--samples");
const browser = await startBrowser();
try {
  for (const picture of PICTURES) {
    await take(apps, browser, picture);
  }
} finally {
  await browser.close();
  await apps.stop();
}
