/* A server that checks signatures: the console asks for an access key and signs its own requests. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { checkAxe, close, open, startBrowser, startServer, visit } from "./site.js";

const ID = "AKIAEXAMPLEEXAMPLE01";
const SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const folder = mkdtempSync(path.join(tmpdir(), "gramme-console-"));
const site = {};

before(async () => {
  const users = path.join(folder, "users.json");
  writeFileSync(users, JSON.stringify({ users: [{ name: "root", keys: [{ id: ID, secret: SECRET }] }] }), { mode: 0o600 });
  [site.server, site.browser] = await Promise.all([startServer("--auth", "on", "--users", users, "--region", "eu-north-1"), startBrowser()]);
});
after(async () => {
  await site.browser?.close();
  await site.server?.stop();
  rmSync(folder, { recursive: true });
});

async function enter(page, id, secret) {
  await page.getByLabel("Access key ID").fill(id);
  await page.getByLabel("Secret access key").fill(secret);
  await page.getByRole("button", { name: "Continue" }).click();
}

test("an access key is asked for, checked and used", async () => {
  const page = await open(site.browser, site.server.url, "tables", { refusals: [400, 401, 403] });
  await page.getByRole("heading", { name: "Enter an access key" }).waitFor();
  await checkAxe(page, "sign in");
  await enter(page, ID, "wrong");
  await page.getByText("signature we calculated does not match").waitFor();
  assert.equal(await page.getByLabel("Access key ID").inputValue(), ID, "what was typed stays");
  await page.getByRole("heading", { name: "Enter an access key" }).waitFor();
  await enter(page, ID, SECRET);
  await page.getByRole("heading", { name: "No tables yet" }).waitFor();
  await page.getByRole("button", { name: "Load sample data" }).click();
  await page.getByRole("link", { name: "poc-itsm-tickets" }).waitFor();
  await page.getByText("5 tables with").waitFor({ timeout: 60_000 });
  await page.getByRole("link", { name: "poc-itsm-tickets" }).click();
  await page.getByText("48 items", { exact: true }).waitFor();
  await visit(page, "patterns"); /* its API is signed as well */
  await page.getByRole("table", { name: "Access patterns" }).getByText("poc-itsm-tickets").first().waitFor();
  await visit(page, "tables/poc-itsm-tickets");
  /* Kept in the tab: a reload goes on. */
  await page.reload();
  await page.getByText("48 items", { exact: true }).waitFor();
  assert.equal(await page.evaluate(() => localStorage.length), 0);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Enter an access key" }).waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  await close(page);
});
