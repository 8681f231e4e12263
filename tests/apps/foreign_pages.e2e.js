/* A web page of another site, opened in a browser on the machine of a server in its default mode, can neither read
 * nor write there: by requests that need no preflight, by those that do, by forms, or by a name of its own that
 * resolves to the loopback address (DNS rebinding). */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { startDatabase } from "./browser.js";

const AUTHORIZATION = "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0";
const TABLE = { TableName: "Victim", BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
  KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }] };
const site = {};

/* As a program does it, which browsers' rules do not concern. */
async function call(operation, body) {
  const answer = await fetch(site.database.url, { method: "POST", body: JSON.stringify(body), headers: {
    "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": `DynamoDB_20120810.${operation}`, Authorization: AUTHORIZATION } });
  return { status: answer.status, body: await answer.json() };
}

before(async () => {
  site.directory = await mkdtemp(path.join(os.tmpdir(), "gramme-foreign-"));
  site.database = await startDatabase(path.join(site.directory, "data"));
  site.pages = createServer((_, answer) => answer.setHeader("Content-Type", "text/html").end("<title>evil</title>"));
  site.pages.listen(0, "127.0.0.1");
  await once(site.pages, "listening");
  site.browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--disable-gpu", "--host-resolver-rules=MAP evil.example 127.0.0.1",
      "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessSendPreflights", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])],
  });
  assert.equal((await call("CreateTable", TABLE)).status, 200);
  assert.equal((await call("PutItem", { TableName: "Victim", Item: { pk: { S: "secret" } } })).status, 200);
});

after(async () => {
  await site.browser?.close();
  site.pages?.close();
  await site.database?.stop();
  await rm(site.directory, { recursive: true, force: true });
});

/* Tries everything from inside a page; gives what it could read. */
function attack(page, target) {
  return page.evaluate(async ([url, authorization]) => {
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
    }
    const form = document.createElement("form");
    form.method = "POST";
    form.enctype = "text/plain";
    form.action = `${url}/?X-Amz-Target=DynamoDB_20120810.DeleteTable&X-Amz-Algorithm=AWS4-HMAC-SHA256`;
    form.target = "elsewhere";
    form.innerHTML = `<input name='{"TableName":"Victim","x":"' value='"}'>`;
    document.body.append(form);
    form.submit();
    await Promise.all(attempts);
    return read;
  }, [target, AUTHORIZATION]);
}

async function checkUnharmed(read) {
  for (const [status, text] of read) {
    assert.ok(!text.includes("secret") && status !== 200, `a page read: ${status} ${text}`);
  }
  const items = (await call("Scan", { TableName: "Victim" })).body.Items;
  assert.deepEqual(items, [{ pk: { S: "secret" } }]);
}

test("a page of another origin", async () => {
  const page = await site.browser.newPage();
  await page.goto(`http://127.0.0.1:${site.pages.address().port}/`);
  await checkUnharmed(await attack(page, site.database.url));
  await page.close();
});

test("a page whose name resolves to this machine", async () => {
  const page = await site.browser.newPage();
  const url = site.database.url.replace("127.0.0.1", "evil.example");
  /* The page itself came from elsewhere, before the name was bound to this machine. */
  await page.route(`${url}/evil`, (route) => route.fulfill({ contentType: "text/html", body: "<title>evil</title><body>" }));
  await page.goto(`${url}/evil`);
  const read = await attack(page, url);
  assert.ok(read.length > 0, "to the browser it is the page's own origin");
  await checkUnharmed(read);
  await page.close();
});
