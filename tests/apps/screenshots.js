/* Pictures of the pages with sample data on a server, which has measured what the pictures before the last asked for; for
 * docs/apps.md: node tests/apps/screenshots.js */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { DESKTOP, openPage, PHONE, rest, startAppsOn, startBrowser, startDatabase } from "./browser.js";

const DIRECTORY = new URL("../../docs/apps/", import.meta.url).pathname;

const TALL = { viewport: { width: 1280, height: 1450 } };
const TICKET = "1d8d2fe2-4543-4e6d-aad0-9deed9d57070";

/* File, user, address, what to wait for, light or dark, desktop or phone. */
const PICTURES = [
  ["calls", "admin", "/calls/?user=ana", ".call", "light", DESKTOP],
  ["calls-phone", "ana", "/calls/", ".call", "light", PHONE],
  ["calendar", "admin", "/calendar/", ".fc-event", "light", DESKTOP],
  ["calendar-dark", "admin", "/calendar/", ".fc-event", "dark", DESKTOP],
  ["calendar-phone", "admin", "/calendar/", ".fc-event", "dark", PHONE],
  ["reconciliation", "ops", "/reconciliation/", "section[aria-label='Failed deliveries'] li", "light", TALL],
  ["reconciliation-phone", "ops", "/reconciliation/", "[data-call]", "light", PHONE],
  ["tickets", "desk", `/tickets/?caller=poc-user-001&ticket=${TICKET}`, ".history li", "light", DESKTOP],
  ["tickets-phone", "poc-user-001", `/tickets/?ticket=${TICKET}`, ".comments li", "light", PHONE],
  ["tasks", "ana", "/tasks/?status=OPEN", "[data-task]", "light", DESKTOP],
  ["tasks-phone", "ana", "/tasks/?status=OPEN", "[data-task]", "light", PHONE],
  ["patterns", "admin", "/tasks/?view=patterns", '[data-name="Requests measured"]', "light", DESKTOP],
  ["patterns-phone", "admin", "/tickets/?view=patterns", '[data-name="Requests measured"]', "dark", PHONE],
];

async function take(apps, browser, [name, user, where, ready, colorScheme, size]) {
  const page = await openPage(browser, apps.url, where, { user, colorScheme, ...size });
  if (ready.startsWith(".history")) {
    await page.locator(".history summary").click();
  }
  await page.locator(ready).first().waitFor();
  await page.locator('[aria-busy="true"]').waitFor({ state: "detached" });
  await page.screenshot({ path: `${DIRECTORY}${name}.png` });
  await page.close();
  console.log(`docs/apps/${name}.png`);
}

/* A receiver for the poller: of five deliveries one fails, and one repairs its call. */
async function startReceiver() {
  let count = 0;
  const server = createServer((request, answer) => {
    request.resume();
    request.on("end", () => {
      const turn = count++ % 5;
      answer.writeHead(turn === 0 ? 500 : 200).end(turn === 1 ? '{"audioReceived": true, "processingStatus": "SUCCESS"}' : "");
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, stop: () => server.close() };
}

/* Bad calls of the last days, which the poller has delivered when this returns. */
async function reportCalls(url) {
  const calls = Array.from({ length: 40 }, (_, number) => ({
    tenantId: ["north", "south", "harbour"][number % 3], callId: `call-${4100 + number}`,
    callDateTime: new Date(Date.now() - (number * 3.5 + 0.2) * 3600 * 1000).toISOString().replace(/\.\d+/, ""),
    audioReceived: number % 4 > 0, processingStatus: ["FAILED", "PENDING"][number % 2] }));
  await rest(url, "POST", "/reconciliation/api/calls", { calls });
  for (let delivered = 0; delivered < 30;) {
    delivered = (await rest(url, "GET", "/reconciliation/api/metrics")).body.delivered;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/* The service desk answers a ticket, and works on it. */
async function answerTicket(url) {
  const path = `/tickets/api/tickets/${TICKET}`;
  const desk = { "X-User-Id": "desk" };
  await rest(url, "PUT", `${path}/status`, { status: "in_progress", from: "open" }, desk);
  await rest(url, "POST", `${path}/comments`, { comment_text: "The mail server was down until 12:40. Does it work now?" }, desk);
  await rest(url, "POST", `${path}/comments`, { comment_text: "It does, thank you." }, { "X-User-Id": "poc-user-001" });
  await rest(url, "PUT", `${path}/status`, { status: "resolved", from: "in_progress" }, desk);
}

mkdirSync(DIRECTORY, { recursive: true });
const directory = mkdtempSync(path.join(tmpdir(), "gramme-pictures-"));
const database = await startDatabase(directory);
const receiver = await startReceiver();
const apps = await startAppsOn(database.url, "127.0.0.1:0", "--samples", "--webhook", receiver.url);
const browser = await startBrowser();
try {
  await reportCalls(apps.url);
  await answerTicket(apps.url);
  for (const picture of PICTURES) {
    await take(apps, browser, picture);
  }
} finally {
  await browser.close();
  await apps.stop();
  receiver.stop();
  await database.stop();
  rmSync(directory, { recursive: true });
}
