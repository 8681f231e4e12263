/* The console in Chromium, served by a server of its own. Pages fail their test when a script fails, something cannot be
 * loaded, the Content-Security-Policy is violated, or anything is requested from another host. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { DESKTOP, openPage, startBrowser } from "../apps/browser.js";
import { storeUrl } from "../support/store.js";

export { checkAxe, checkWidth, DESKTOP, eventually, PHONE, SMALL_PHONE, startBrowser } from "../apps/browser.js";

export const GRAMME = process.env.GRAMME ?? fileURLToPath(new URL("../../build/gramme", import.meta.url));

/* A server in memory (or on PostgreSQL): {url, log(), stop()}. */
export async function startServer(...options) {
  const child = spawn(GRAMME, ["serve", "--listen", "127.0.0.1:0", "--store", storeUrl(), ...options], { stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "exit");
  let log = "";
  const url = await new Promise((resolve, reject) => {
    child.stderr.on("data", (piece) => {
      log += piece;
      const found = log.match(/serves (http:\/\/[\d.]+:\d+)/)?.[1];
      if (found) {
        resolve(found);
      }
    });
    ended.then(() => reject(new Error(`the server did not start: ${log}`)));
  });
  return {
    url,
    log: () => log,
    async stop() {
      child.kill("SIGTERM");
      assert.equal((await ended)[0], 0, log);
    },
  };
}

/* Calls an operation as a program would; `isRefused`: it must fail with 400. */
export async function dynamo(url, operation, input, isRefused = false) {
  const prefix = /Stream|Shard|Records/.test(operation) ? "DynamoDBStreams_20120810" : "DynamoDB_20120810";
  const answer = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": `${prefix}.${operation}`,
      Authorization: "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=00",
    },
    body: JSON.stringify(input),
  });
  const body = await answer.json();
  assert.equal(answer.status, isRefused ? 400 : 200, JSON.stringify(body));
  return body;
}

/* Whether the server records its traffic (not with --insight off); otherwise it has no insight API, and browsers log its 404. */
const hasInsight = async (url) => (await fetch(`${url}/_gramme/api/overview`)).status !== 404;

/* Opens a page of the console: where is "tables/Music". */
export async function open(browser, url, where = "", more = {}) {
  const missing = (await hasInsight(url)) ? [] : [404];
  const page = await openPage(browser, url, `/_gramme/#/${where}`, { ...DESKTOP, ...more, refusals: [...missing, ...(more.refusals ?? [])] });
  page.setDefaultTimeout(15_000);
  return page;
}

/* Goes to another page of the console without loading it again. */
export async function visit(page, where) {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, `#/${where}`);
}

/* Ends a test: nothing went wrong that the test did not provoke. */
export async function close(page) {
  const { troubles } = page;
  await page.close();
  assert.deepEqual(troubles, []);
}

/* Loads the sample data as a user would. */
export async function loadSamples(site) {
  const page = await site.open("");
  await page.getByRole("button", { name: "Load sample data" }).click();
  await page.getByText("5 tables with").waitFor({ timeout: 60_000 });
  await close(page);
}

/* const site = useSite(); in a test file: site.url, site.open(where, options), site.call(operation, input). `prepare(site)` runs before the
 * tests. */
export function useSite(prepare = async () => {}) {
  const site = {};
  before(async () => {
    const [server, browser] = await Promise.all([startServer(), startBrowser()]);
    Object.assign(site, { server, browser, url: server.url });
    await prepare(site);
  });
  after(async () => {
    await site.browser?.close();
    await site.server?.stop();
  });
  site.open = (where, more) => open(site.browser, site.url, where, more);
  site.call = (operation, input) => dynamo(site.url, operation, input);
  site.refused = (operation, input) => dynamo(site.url, operation, input, true);
  return site;
}
