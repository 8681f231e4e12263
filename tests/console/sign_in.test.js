/* A server that checks signatures: the console asks for an access key and signs its own requests. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { checkAxe, close, open, startBrowser, startServer, visit } from "./site.js";

const ID = "AKIAEXAMPLEEXAMPLE01";
const SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const LIMITED = "AKIAEXAMPLEEXAMPLE02";
const folder = mkdtempSync(path.join(tmpdir(), "gramme-console-"));
const site = {};

before(async () => {
  const users = path.join(folder, "users.json");
  const tickets = "arn:aws:dynamodb:eu-north-1:000000000000:table/poc-itsm-tickets";
  const allow = (Action, Resource) => ({ Effect: "Allow", Action, Resource });
  writeFileSync(users, JSON.stringify({
    users: [{ name: "root", keys: [{ id: ID, secret: SECRET }] }, { name: "limited", keys: [{ id: LIMITED, secret: SECRET }], policies: ["tickets"] }],
    policies: [{ name: "tickets", document: { Version: "2012-10-17", Statement: [
      allow(["dynamodb:ListTables"], "*"), allow(["dynamodb:DescribeTable", "dynamodb:Scan", "dynamodb:Query", "dynamodb:GetItem"], [tickets, `${tickets}/index/*`]),
    ] } }],
  }), { mode: 0o600 });
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

test("a limited key sees what it may see, and no more", async () => {
  const page = await open(site.browser, site.server.url, "tables", { refusals: [400, 401, 403] });
  await page.getByRole("heading", { name: "Enter an access key" }).waitFor();
  await enter(page, LIMITED, SECRET);
  await page.getByRole("link", { name: "poc-itsm-tickets" }).click();
  await page.getByText("48 items", { exact: true }).waitFor();
  /* It reads items, but does not write them. */
  await page.getByRole("button", { name: "New item" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: /Create|Save|Put/ }).click();
  await dialog.getByText(/not authorized to perform: dynamodb:PutItem/).waitFor();
  await page.keyboard.press("Escape");
  /* Another table: its name is listed, its items are refused. */
  await visit(page, "tables/cal-app-sam");
  await page.getByText(/not authorized to perform: dynamodb:DescribeTable/).first().waitFor();
  /* What the server counts needs a permission of its own. */
  for (const path of ["patterns", "findings", "heat", "cost"]) {
    await visit(page, path);
    await page.getByText(/gramme:GetInsight/).first().waitFor();
  }
  assert.equal(await page.getByText("CallRecords").count(), 0);
  await close(page);
});
