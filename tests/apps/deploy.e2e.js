/* The samples of docs/apps.md are run as they stand there, with other addresses and paths: the service unit is checked by
 * systemd-analyze, its command line is started, and nginx with the sample of a reverse proxy stands before it, with TLS.
 * People sign in through a real provider. Needs nginx and systemd-analyze (tools/setup deploy); skipped without them, unless
 * GRAMME_DEPLOY=1 (make soak) says that they must be there. */
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { BUILD, ROOT, start, startProvider, testBoth } from "./browser.js";
import { freePort } from "../support/loopback.js";

const HOST = "apps.example.com";
const lacking = ["nginx", "systemd-analyze"].filter((program) => spawnSync("sh", ["-c", `command -v ${program}`]).status !== 0);
const skip = lacking.length > 0 && !process.env.GRAMME_DEPLOY ? `not installed: ${lacking.join(", ")}` : false;
const directory = mkdtempSync(path.join(tmpdir(), "gramme-deploy-"));
const running = {};

/* The indented text that follows a heading. */
function sample(heading) {
  const text = readFileSync(path.join(ROOT, "docs", "apps.md"), "utf8");
  const lines = text.slice(text.indexOf(`### ${heading}\n`)).split("\n");
  const first = lines.findIndex((line) => line.startsWith("    "));
  const end = lines.findIndex((line, index) => index > first && line !== "" && !line.startsWith("    "));
  return lines.slice(first, end).map((line) => line.slice(4)).join("\n");
}

/* Replaces each text, which must be there. */
function adapt(text, replacements) {
  return replacements.reduce((all, [from, to]) => {
    assert.ok(all.includes(from), `the sample has no ${from}`);
    return all.replaceAll(from, to);
  }, text);
}

/* The unit's command line, with the variables that systemd sets. */
function command(unit) {
  const line = unit.replaceAll("\\\n", " ").match(/^ExecStart=(.*)$/m)[1];
  return adapt(line, [["${CREDENTIALS_DIRECTORY}", directory], ["${STATE_DIRECTORY}", directory]]).trim().split(/\s+/);
}

before(async () => {
  if (skip) {
    return;
  }
  const [site, port, providerPort] = [await freePort(), await freePort(), await freePort()];
  running.url = `https://${HOST}:${site}`;
  const issuer = `http://127.0.0.1:${providerPort}`;
  running.provider = await startProvider(providerPort, `${running.url}/auth/callback`);
  writeFileSync(path.join(directory, "client-secret"), "a secret/with+signs\n");
  writeFileSync(path.join(directory, "webhook-secret"), "s".repeat(40));
  const [, ...options] = command(adapt(sample("Service unit"), [
    ["https://dynamodb.eu-west-1.amazonaws.com", "memory:"], ["127.0.0.1:8080", `127.0.0.1:${port}`],
    ["/usr/share/gramme/pages", path.join(BUILD, "pages")], ["https://login.example.com", issuer],
    [`https://${HOST}`, running.url], ["https://calls.example.com/reconcile", `${issuer}/nowhere`]]));
  running.apps = await start("apps/gramme-apps", [...options, "--create-tables", "--samples"]);

  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
    `/CN=${HOST}`, "-addext", `subjectAltName=DNS:${HOST}`, "-keyout", path.join(directory, "apps.key"), "-out", path.join(directory, "apps.pem")],
  { stdio: "ignore" });
  const server = adapt(sample("Reverse proxy"), [["listen 443", `listen 127.0.0.1:${site}`], ["http://127.0.0.1:8080", `http://127.0.0.1:${port}`],
    ["/etc/ssl/apps.pem", path.join(directory, "apps.pem")], ["/etc/ssl/apps.key", path.join(directory, "apps.key")]]);
  const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  kinds.forEach((kind) => mkdirSync(path.join(directory, kind)));
  running.configuration = path.join(directory, "nginx.conf");
  writeFileSync(running.configuration, `daemon off;\npid ${directory}/nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n`
    + kinds.map((kind) => `${kind}_temp_path ${directory}/${kind};\n`).join("") + `${server}\n}\n`);
  running.proxy = spawn("nginx", ["-c", running.configuration, "-p", directory, "-e", "stderr"], { stdio: "ignore" });
  running.browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--disable-gpu", `--host-resolver-rules=MAP ${HOST} 127.0.0.1`, ...(process.getuid() === 0 ? ["--no-sandbox"] : [])],
  });
});
after(async () => {
  await running.browser?.close();
  running.proxy?.kill("SIGTERM");
  await running.apps?.stop();
  running.provider?.kill();
  rmSync(directory, { recursive: true, force: true });
});

test("systemd accepts the service unit", { skip }, () => {
  const unit = path.join(directory, "gramme-apps.service");
  writeFileSync(unit, adapt(sample("Service unit"), [["/usr/bin/gramme-apps", path.join(BUILD, "apps", "gramme-apps")]]));
  const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", "--recursive-errors=no", unit], { encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
  assert.doesNotMatch(stdout + stderr, /gramme-apps\.service/);
});

test("nginx accepts the sample", { skip }, () => {
  const { status, stderr } = spawnSync("nginx", ["-t", "-c", running.configuration, "-p", directory, "-e", "stderr"], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  assert.doesNotMatch(stderr, /\[(warn|error|emerg)\]/);
});

testBoth("behind the proxy people sign in, write, and see what others write at once", async (options, width) => {
  const context = await running.browser.newContext({ locale: "en-GB", ignoreHTTPSErrors: true, ...options });
  await context.route((url) => url.hostname !== "127.0.0.1" && url.hostname !== HOST, (route) => route.abort()); /* a font of the provider's page */
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  for (const deadline = Date.now() + 20_000; !(await page.goto(`${running.url}/tickets/`).catch(() => null));) {
    assert.ok(Date.now() < deadline, "nginx does not answer");
    await page.waitForTimeout(50);
  }
  await page.locator("input[name=login]").fill("poc-user-001");
  await page.locator("input[name=password]").fill("any");
  await page.locator("button[type=submit]").click();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.waitForURL(`${running.url}/tickets/`);
  await page.getByRole("link", { name: "Email not working" }).waitFor();
  const [cookie] = (await context.cookies(running.url)).filter(({ name }) => name === "gramme_apps_session");
  assert.deepEqual([cookie.secure, cookie.httpOnly, cookie.sameSite], [true, true, "Lax"]);

  const other = await context.newPage(); /* the same person, in another tab */
  const [answer] = await Promise.all([other.waitForResponse("**/api/tickets*"), other.goto(`${running.url}/tickets/`)]);
  assert.match((await answer.allHeaders())["x-request-id"], /^[0-9a-f]{32}$/, "the id of the proxy");
  assert.equal(await other.evaluate(() => performance.getEntriesByType("navigation")[0].nextHopProtocol), "h2");
  await other.getByRole("button", { name: "Open a ticket" }).click();
  await other.getByRole("dialog").getByLabel("What is wrong?").fill(`Through the proxy at ${width}`);
  await other.getByRole("dialog").getByRole("button", { name: "Open" }).click();
  await page.getByRole("link", { name: `Through the proxy at ${width}` }).waitFor({ timeout: 5000 }); /* nothing is held back */
  await context.close();
}, { skip });
