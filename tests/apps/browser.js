/* Pages in Chromium: gramme-apps on a database of its own, and pages that fail their test when a script
 * fails, something cannot be loaded, or anything is asked of another host. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BUILD = path.dirname(process.env.GRAMME ?? path.join(ROOT, "build", "gramme"));

/* gramme-apps, in memory unless told otherwise: {url, stop()}. */
export async function startApps(...options) {
  const child = spawn(
    path.join(BUILD, "apps", "gramme-apps"),
    ["--db", "memory:", "--listen", "127.0.0.1:0", "--create-tables", "--pages", path.join(BUILD, "pages"), ...options],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  let said = "";
  for await (const piece of child.stdout) {
    said += piece;
    const url = said.match(/serves (http:\/\/[\d.:]+)/)?.[1];
    if (url) {
      const stop = async () => {
        child.kill("SIGTERM");
        const [status] = await once(child, "exit");
        assert.equal(status, 0, "gramme-apps ended with an error");
      };
      return { url, stop };
    }
  }
  throw new Error(`gramme-apps did not start: ${said}`);
}

export function startBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--disable-gpu", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])],
  });
}

/* const site = useSite(); in a test file: site.open(path, options) gives a page, site.rest(...) speaks to
 * the API as another client would. */
export function useSite(...options) {
  const site = { troubles: [] };
  before(async () => {
    [site.apps, site.browser] = await Promise.all([startApps(...options), startBrowser()]);
  });
  after(async () => {
    await site.browser?.close();
    await site.apps?.stop();
  });

  /* `refusals`: statuses that the API may answer with in this test. The browser logs each of them. */
  site.open = async (where, { refusals = [], ...context } = {}) => {
    const page = await site.browser.newPage({ locale: "en-GB", timezoneId: "UTC", viewport: { width: 1280, height: 900 }, ...context });
    page.setDefaultTimeout(20_000);
    page.troubles = [];
    page.on("pageerror", (error) => page.troubles.push(String(error)));
    page.on("console", (message) => {
      const expected = refusals.some((status) => message.text().includes(`status of ${status}`));
      if (message.type() === "error" && !expected) {
        page.troubles.push(message.text());
      }
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(site.apps.url) && !request.url().startsWith("data:")) {
        page.troubles.push(`asked another host: ${request.url()}`);
      }
    });
    await page.goto(site.apps.url + where);
    return page;
  };

  /* To end a test with: nothing went wrong on the page that the test did not provoke. */
  site.close = async (page) => {
    const { troubles } = page;
    await page.close();
    assert.deepEqual(troubles, []);
  };

  /* {status, body} */
  site.rest = async (method, where, body, headers = {}) => {
    const answer = await fetch(site.apps.url + where, {
      method,
      headers: { "Content-Type": "application/json", ...headers },
      body: body && JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? null : JSON.parse(text) };
  };
  return site;
}
