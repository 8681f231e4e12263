/* A web page of another site, opened in a browser on the machine of a server without authentication (--auth off, the
 * default, and none; --insecure: as in a container, whose port is published on loopback), can neither read nor write there,
 * neither items nor the insight API: by requests that need no preflight, by those that do, by forms, or by a name of its own
 * that resolves to the loopback address (DNS rebinding). */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { start } from "./browser.js";

const AUTHORIZATION = "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0";
const TABLE = { TableName: "Victim", BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
  KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }] };
const site = {};
const MODES = {
  "--auth off": ["--listen", "127.0.0.1:0", "--auth", "off"],
  "--auth none": ["--listen", "127.0.0.1:0", "--auth", "none"],
  "--insecure": ["--listen", "0.0.0.0:0", "--insecure"],
};

/* As a program does it, which browsers' rules do not concern. */
async function call(database, operation, body) {
  const answer = await fetch(database.url, { method: "POST", body: JSON.stringify(body), headers: {
    "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": `DynamoDB_20120810.${operation}`, Authorization: AUTHORIZATION } });
  return { status: answer.status, body: await answer.json() };
}

before(async () => {
  site.directory = await mkdtemp(path.join(os.tmpdir(), "gramme-foreign-"));
  site.databases = {};
  for (const [mode, options] of Object.entries(MODES)) {
    site.databases[mode] = await start("gramme", ["serve", ...options, "--store", `rocksdb:${path.join(site.directory, mode)}`]);
  }
  site.pages = createServer((_, answer) => answer.setHeader("Content-Type", "text/html").end("<title>evil</title>"));
  site.pages.listen(0, "127.0.0.1");
  await once(site.pages, "listening");
  site.browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--disable-gpu", "--host-resolver-rules=MAP evil.example 127.0.0.1",
      "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessSendPreflights", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])],
  });
  for (const database of Object.values(site.databases)) {
    assert.equal((await call(database, "CreateTable", TABLE)).status, 200);
    assert.equal((await call(database, "PutItem", { TableName: "Victim", Item: { pk: { S: "secret" } } })).status, 200);
  }
});

after(async () => {
  await site.browser?.close();
  site.pages?.close();
  for (const database of Object.values(site.databases ?? {})) {
    await database.stop();
  }
  await rm(site.directory, { recursive: true, force: true });
});

/* Every call would fail. As a body of text/plain, which forms can send. */
const SIMULATION = '{"errors":{"rate":1},"x":"="}';

/* A form sends no headers of its own, but its body may be JSON: what the insight API takes. Gives the status that the browser got;
 * null: none. */
async function submitForm(page, target) {
  const answered = page.waitForResponse((answer) => answer.request().method() === "POST", { timeout: 20_000 }).catch(() => null);
  await page.evaluate(([url, simulation]) => {
    const frame = document.createElement("iframe");
    frame.name = "elsewhere";
    const form = document.createElement("form");
    form.method = "POST";
    form.enctype = "text/plain";
    form.action = `${url}/_gramme/api/simulation`;
    form.target = "elsewhere";
    const input = document.createElement("input");
    [input.name, input.value] = simulation.split("=");
    form.append(input);
    document.body.append(frame, form);
    form.submit();
  }, [target, SIMULATION]);
  return (await answered)?.status() ?? null;
}

/* Tries everything from inside a page; gives what it could read. */
function attack(page, target) {
  return page.evaluate(async ([url, authorization, simulation]) => {
    const read = [];
    const attempts = [];
    for (const mode of ["cors", "no-cors", "same-origin"]) {
      for (const type of ["text/plain", "application/x-amz-json-1.0", "application/json", undefined]) {
        for (const operation of ["Scan", "DeleteTable"]) {
          attempts.push(fetch(url, { method: "POST", mode, body: JSON.stringify({ TableName: "Victim" }), headers: {
            ...(type ? { "Content-Type": type } : {}), "X-Amz-Target": `DynamoDB_20120810.${operation}`, Authorization: authorization } })
            .then(async (answer) => read.push([answer.status, await answer.text()]), () => {}));
        }
      }
      attempts.push(fetch(url, { mode }).then(async (answer) => read.push([answer.status, await answer.text()]), () => {}));
      for (const [method, path] of [["GET", "/metrics"], ["GET", "/_gramme/api/overview"], ["GET", "/_gramme/api/heat"],
        ["POST", "/_gramme/api/simulation"], ["POST", "/_gramme/api/reset"]]) {
        attempts.push(fetch(url + path, { method, mode, ...(method === "POST" ? { body: simulation } : {}) })
          .then(async (answer) => read.push([answer.status, await answer.text()]), () => {}));
      }
    }
    await Promise.all(attempts);
    return read;
  }, [target, AUTHORIZATION, SIMULATION]);
}

async function checkUnharmed(database, read, before) {
  for (const [status, text] of read) {
    assert.ok(!text.includes("secret") && status !== 200, `a page read: ${status} ${text}`);
  }
  const items = (await call(database, "Scan", { TableName: "Victim" })).body.Items;
  assert.deepEqual(items, [{ pk: { S: "secret" } }]);
  assert.deepEqual(await simulationOf(database), before);
}

async function simulationOf(database) {
  const answer = await fetch(`${database.url}/_gramme/api/simulation`);
  assert.equal(answer.status, 200);
  return answer.json();
}

for (const mode of Object.keys(MODES)) {
  test(`a page of another origin, ${mode}`, async () => {
    const database = site.databases[mode];
    const before = await simulationOf(database);
    const page = await site.browser.newPage();
    await page.goto(`http://127.0.0.1:${site.pages.address().port}/`);
    const read = await attack(page, database.url);
    assert.equal(await submitForm(page, database.url), 403);
    await checkUnharmed(database, read, before);
    await page.close();
  });

  test(`a page whose name resolves to this machine, ${mode}`, async () => {
    const database = site.databases[mode];
    const before = await simulationOf(database);
    const page = await site.browser.newPage();
    const url = database.url.replace("127.0.0.1", "evil.example");
    /* The page itself came from elsewhere, before the name was bound to this machine. */
    await page.route(`${url}/evil`, (route) => route.fulfill({ contentType: "text/html", body: "<title>evil</title><body>" }));
    await page.goto(`${url}/evil`);
    const read = await attack(page, url);
    assert.ok(read.length > 0, "to the browser it is the page's own origin");
    assert.equal(await submitForm(page, url), 403);
    await checkUnharmed(database, read, before);
    await page.close();
  });
}
