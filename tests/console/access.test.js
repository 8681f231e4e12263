/* How the console is served: headers, coding, and what --console off leaves. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import http from "node:http";
import { startServer } from "./site.js";

/* fetch() decodes; this does not. */
function get(url, headers = {}, method = "GET") {
  return new Promise((resolve, reject) => {
    http.request(url, { method, headers }, (answer) => {
      const parts = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts) }));
    }).on("error", reject).end();
  });
}

test("files are compressed, cached and fenced in", async () => {
  const server = await startServer();
  try {
    assert.match(server.log(), new RegExp(`console: ${server.url}/_gramme/`));
    const plain = await get(`${server.url}/_gramme/`);
    assert.equal(plain.status, 200);
    assert.equal(plain.headers["content-encoding"], undefined);
    assert.equal(plain.headers["content-type"], "text/html; charset=utf-8");
    assert.match(plain.headers["content-security-policy"], /default-src 'none'; script-src 'self'; style-src 'self'/);
    assert.equal(plain.headers["cache-control"], "no-cache");
    const page = plain.body.toString();
    assert.ok(!/<script>|<style|style=|https?:/.test(page), page);
    const coded = await get(`${server.url}/_gramme/`, { "Accept-Encoding": "br, gzip;q=0.8" });
    assert.equal(coded.headers["content-encoding"], "gzip");
    assert.equal(gunzipSync(coded.body).toString(), page);
    assert.equal((await get(`${server.url}/_gramme/`, { "Accept-Encoding": "gzip;q=0" })).headers["content-encoding"], undefined);
    const again = await get(`${server.url}/_gramme/`, { "If-None-Match": plain.headers.etag });
    assert.deepEqual([again.status, again.body.length], [304, 0]);
    for (const [, asset] of page.matchAll(/(?:src|href)="(\/_gramme\/[^"]+)"/g)) {
      const answer = await get(server.url + asset, { "Accept-Encoding": "gzip" });
      assert.equal(answer.status, 200, asset);
      assert.equal(answer.headers["cache-control"], "max-age=31536000, immutable");
      assert.equal(answer.headers["x-content-type-options"], "nosniff");
      assert.deepEqual(gunzipSync(answer.body), (await get(server.url + asset)).body);
    }
    const head = await get(`${server.url}/_gramme/`, {}, "HEAD");
    assert.deepEqual([head.status, head.body.length], [200, 0]);
    const redirect = await get(`${server.url}/_gramme`);
    assert.deepEqual([redirect.status, redirect.headers.location], [301, "/_gramme/"]);
    assert.equal((await get(`${server.url}/_gramme/?x=1`)).status, 200);
    for (const missing of ["/_gramme/nothing", "/_gramme/assets/", "/_gramme/index.html", "/_gramme/../etc/passwd"]) {
      assert.equal((await get(server.url + missing)).status, 404, missing);
    }
  } finally {
    await server.stop();
  }
});

test("--console off leaves it out", async () => {
  const server = await startServer("--console", "off");
  try {
    assert.doesNotMatch(server.log(), /console/);
    assert.equal((await get(`${server.url}/_gramme/`)).status, 404);
    assert.equal((await get(`${server.url}/_gramme/ready`)).status, 200);
  } finally {
    await server.stop();
  }
});
