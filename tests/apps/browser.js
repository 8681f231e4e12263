/* Pages in Chromium: gramme-apps on a database of its own, and pages that fail their test when a script
 * fails, something cannot be loaded, or anything is requested from another host. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { AxeBuilder } from "@axe-core/playwright";
import { chromium } from "playwright-core";
import { storeUrl } from "../support/store.js";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const BUILD = path.dirname(process.env.GRAMME ?? path.join(ROOT, "build", "gramme"));

export const DESKTOP = { viewport: { width: 1280, height: 900 } };
export const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
export const SMALL_PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

/* test(), once on a desktop and once on a phone; `run` gets the options of the page, and its width as text. */
export function testBoth(name, run, options = {}) {
  for (const context of [DESKTOP, PHONE]) {
    const { width } = context.viewport;
    test(`${name}, ${width} px`, options, () => run(context, String(width)));
  }
}

/* Starts a program of ours that prints where it serves: {url, stop(), kill()}. `variables` are added to its environment. */
export async function start(program, args, variables = {}) {
  const child = spawn(path.join(BUILD, program), args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...variables } });
  const ended = once(child, "exit");
  const end = async (signal) => {
    child.kill(signal);
    return (await ended)[0];
  };
  let said = "";
  const url = await new Promise((resolve, reject) => {
    const listen = (piece) => {
      said += piece;
      const found = said.match(/serves (http:\/\/[\d.]+:\d+)/)?.[1]?.replace("//0.0.0.0:", "//127.0.0.1:");
      if (found) {
        resolve(found);
      }
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    ended.then(() => reject(new Error(`${program} did not start: ${said}`)));
  });
  return {
    url,
    stop: async () => assert.equal(await end("SIGTERM"), 0, `${program} ended with an error: ${said}`),
    kill: () => end("SIGKILL"),
  };
}

const WITHIN_MS = 20_000;

/* Reads until the value is the expected one; fails with the last difference if that takes too long. For what is not an element
 * that a locator can wait for: `read` must not wait itself. */
export async function eventually(read, expected, what) {
  let value = await read();
  for (const deadline = Date.now() + WITHIN_MS; !isDeepStrictEqual(value, expected) && Date.now() < deadline; value = await read()) {
    await sleep(50);
  }
  assert.deepEqual(value, expected, what);
}

/* Waits until the field holds this value. */
export const holds = (field, value) => eventually(() => field.inputValue(), value);

/* Does `work` until it was quick enough, three times at most: a machine that stops a process for a while does not do so each time.
 * work() fails by itself if anything but its time is wrong; it gives how long it took. */
export async function checkTime(work, mostMs, what) {
  const times = [];
  do {
    times.push(await work());
  } while (times.at(-1) > mostMs && times.length < 3);
  assert.ok(times.at(-1) <= mostMs, `${what}: ${times.join(", ")} ms, of at most ${mostMs}`);
}

/* A real OpenID Connect provider; gives its process. */
export function startProvider(port, redirect) {
  const program = fileURLToPath(new URL("oidc_provider.js", import.meta.url));
  const child = spawn("node", [program, String(port), redirect], { stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((resolve, reject) => {
    child.stdout.on("data", (text) => String(text).includes("serves") && resolve(child));
    child.on("exit", () => reject(new Error("the provider did not start")));
  });
}

/* gramme-apps, in memory (or on PostgreSQL) unless GRAMME_ENDPOINT names a DynamoDB; with GRAMME_SIGNED=1 on a database that checks signatures, with a key and policy for each application. */
export function startApps(...options) {
  return process.env.GRAMME_SIGNED ? startAppsSigned(options) : startAppsOn(process.env.GRAMME_ENDPOINT ?? storeUrl(), "127.0.0.1:0", ...options);
}

async function startAppsSigned(options) {
  const { startAppsAsRoot, startAppsAsThemselves, startSignedDatabase } = await import("./signed.js");
  const directory = mkdtempSync(path.join(tmpdir(), "gramme-signed-"));
  const database = await startSignedDatabase(directory);
  await (await startAppsAsRoot(database, "--create-tables")).stop();
  const apps = await startAppsAsThemselves(database, ...options);
  const stop = async () => {
    await apps.stop();
    await database.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  return { ...apps, stop };
}

export function startAppsOn(db, listen, ...options) {
  return startAppsOnTables(db, listen, "--create-tables", ...options);
}

/* The same where the tables are there already, with or without streams, and stay as they are. */
export function startAppsOnTables(db, listen, ...options) {
  return start("apps/gramme-apps", ["--db", db, "--listen", listen, "--pages", path.join(BUILD, "pages"), ...options]);
}

/* A database server with its data in a directory. */
export function startDatabase(directory, listen = "127.0.0.1:0") {
  return start("gramme", ["serve", "--listen", listen, "--store", storeUrl(`rocksdb:${directory}`)]);
}

export function startBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--disable-gpu", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])],
  });
}

/* Opens pages of `apps` in `browser`; see useSite(). `user`, if given, is signed in (in the development mode). */
export async function openPage(browser, url, where, { refusals = [], user = null, ...context } = {}) {
  const own = await browser.newContext({ locale: "en-GB", timezoneId: "UTC", ...DESKTOP, ...context });
  if (user) {
    const answer = await own.request.post(`${url}/auth/dev`, { data: { user }, headers: { Origin: url } });
    assert.equal(answer.status(), 200, await answer.text());
  }
  const page = await own.newPage();
  page.once("close", () => own.close().catch(() => {})); /* the browser may be closing too */
  page.setDefaultTimeout(20_000);
  page.troubles = [];
  page.on("pageerror", (error) => page.troubles.push(String(error)));
  page.on("console", (message) => {
    const expected = refusals.some((refusal) => message.text().includes(typeof refusal === "number" ? `status of ${refusal}` : refusal));
    if (message.type() === "error" && !expected) {
      page.troubles.push(message.text());
    }
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith("data:")) {
      page.troubles.push(`requested from another host: ${request.url()}`);
    }
  });
  await page.goto(url + where);
  return page;
}

/* const site = useSite(); in a test file: site.open(path, options) gives a page, site.rest(...) speaks to
 * the API as another client would. */
export function useSite(...options) {
  const site = {};
  before(async () => {
    [site.apps, site.browser] = await Promise.all([startApps(...options), startBrowser()]);
  });
  after(async () => {
    await site.browser?.close();
    await site.apps?.stop();
  });

  /* `refusals`: statuses that the API may answer with in this test, or names of network errors. The browser logs each of them. */
  site.open = (where, more) => openPage(site.browser, site.apps.url, where, more);

  /* To end a test with: nothing went wrong on the page that the test did not provoke. */
  site.close = async (page) => {
    const { troubles } = page;
    await page.close();
    assert.deepEqual(troubles, []);
  };

  site.rest = (method, where, body, headers) => rest(site.apps.url, method, where, body, headers);
  return site;
}

/* {status, body} */
export async function rest(url, method, where, body, headers = {}) {
  const answer = await fetch(url + where, {
    method,
    headers: { "Content-Type": "application/json", ...headers },
    body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? null : JSON.parse(text) };
}

/* The next request of this method to an address that ends so reaches the server, but its answer is lost. */
export async function loseAnswer(page, method, ending) {
  let isLost = false;
  await page.route((url) => url.pathname.endsWith(ending), async (route) => {
    if (isLost || route.request().method() !== method) {
      await route.fallback();
      return;
    }
    isLost = true;
    await route.fetch();
    await route.abort("connectionreset");
  });
}

/* Fails if axe finds anything on the page as it is now, or in one element of it; of `rules` only, if given. */
export async function checkAxe(page, what, { rules = null, element = null } = {}) {
  const builder = new AxeBuilder({ page })
    .setLegacyMode() /* in the page itself: no other pages, which are slow to open */
    .options(rules
      ? { runOnly: rules }
      : { rules: { "label-content-name-mismatch": { enabled: true }, "target-size": { enabled: true } } });
  const { violations } = await (element ? builder.include(element) : builder).analyze();
  const found = violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 200)}`));
  assert.deepEqual(found, [], what);
}

/* Fails if the page is wider than its window, and stays so: scripts lay out some parts anew shortly after the window has changed. */
export async function checkWidth(page, what) {
  const widths = () => page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  let [content, window] = await widths();
  for (const deadline = Date.now() + 5000; content > window && Date.now() < deadline;) {
    await sleep(50);
    [content, window] = await widths();
  }
  assert.ok(content <= window, `${what}: ${content} px wide in ${window} px`);
}
