/* Data and servers that are not friendly: binary keys, names like those of JavaScript, huge items, errors, a server that ends. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { startDatabase } from "../apps/browser.js";
import { freePort } from "../support/loopback.js";
import { checkAxe, checkWidth, close, dynamo, open, SMALL_PHONE, useSite, visit } from "./site.js";

const S = (text) => ({ S: text });
const table = (TableName, hash, range) => ({
  TableName, BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "pk", AttributeType: hash }, { AttributeName: "sk", AttributeType: range }],
  KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }, { AttributeName: "sk", KeyType: "RANGE" }],
});

const site = useSite();
const simulate = (body) => fetch(`${site.url}/_gramme/api/simulation`, { method: "POST", body: JSON.stringify(body) }).then((answer) => assert.equal(answer.status, 200));

test("binary and number keys, and attributes named like parts of JavaScript or HTML", async () => {
  await site.call("CreateTable", table("Odd", "B", "N"));
  const item = { pk: { B: "AP/+" }, sk: { N: "-1.5" }, __proto__x: S("x"), constructor: S("c"), toString: S("t"), "<img src=x onerror=alert(1)>": S("<script>alert(2)</script>"), "a.b[0] \"q\"": S("quotes '\"\\"), "": undefined };
  delete item[""];
  await site.call("PutItem", { TableName: "Odd", Item: item });
  const page = await site.open("tables/Odd");
  await page.getByText("<script>alert(2)</script>").first().waitFor(); /* as text */
  await page.getByRole("button", { name: "AP/+" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Edit item" });
  await dialog.getByLabel("Value of constructor", { exact: true }).fill("changed");
  await checkAxe(page, "odd item", { element: "dialog" });
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  const { Item } = await site.call("GetItem", { TableName: "Odd", Key: { pk: item.pk, sk: item.sk } });
  assert.deepEqual({ ...Item }, { ...item, constructor: S("changed") });
  await visit(page, "heat?table=Odd");
  await page.getByRole("table", { name: "Heaviest partition keys" }).getByRole("row").nth(1).waitFor();
  await visit(page, "tables/Odd/model");
  await page.getByRole("heading", { name: /kinds? of items/ }).waitFor();
  await close(page);
});

test("items near 400 KB, with thousands of attributes and deep values, can be seen and opened", async () => {
  await site.call("CreateTable", table("Huge", "S", "S"));
  const deep = (levels) => (levels === 0 ? S("end") : { M: { d: deep(levels - 1) } });
  await site.call("PutItem", { TableName: "Huge", Item: { pk: S("text"), sk: S("1"), pad: S("x".repeat(390_000)) } });
  await site.call("PutItem", { TableName: "Huge", Item: { pk: S("wide"), sk: S("1"), ...Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`attribute_${i}`, { N: String(i) }])) } });
  await site.call("PutItem", { TableName: "Huge", Item: { pk: S("deep"), sk: S("1"), value: deep(30) } });
  await site.call("PutItem", { TableName: "Huge", Item: { pk: S("k".repeat(2000)), sk: S("s".repeat(1000)) } });
  const page = await site.open("tables/Huge", SMALL_PHONE);
  await page.getByText("4 items", { exact: true }).waitFor();
  await checkWidth(page, "huge items");
  for (const key of ["text", "wide", "deep"]) {
    await page.getByRole("button", { name: key, exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Edit item" });
    await dialog.getByRole("button", { name: "Save" }).waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  }
  await close(page);
});

test("errors of the server: each page says what went wrong, and works again when it is over", async () => {
  await site.call("CreateTable", table("Errors", "S", "S"));
  await site.call("PutItem", { TableName: "Errors", Item: { pk: S("a"), sk: S("1") } });
  const page = await site.open("tables", { refusals: [400, 500] });
  await page.route(`${site.url}/`, (route) => { /* for calls of the console nothing is simulated: make them those of a program */
    const headers = route.request().headers();
    delete headers["x-gramme-console"];
    return route.continue({ headers });
  });
  await simulate({ tables: { Errors: { errorRate: 1 } } });
  await visit(page, "tables/Errors");
  await page.getByText("Internal server error").first().waitFor();
  await simulate({ tables: { Errors: { errorRate: 0, throttleRate: 1 } } });
  await page.getByRole("button", { name: "Try again" }).first().click();
  await page.getByText(/Throughput exceeds/).first().waitFor();
  await checkAxe(page, "an error");
  await simulate({ tables: { Errors: null } });
  await page.getByRole("button", { name: "Try again" }).first().click();
  await page.getByText("1 item", { exact: true }).waitFor();
  /* An item that cannot be saved stays open, with what was typed. */
  await page.getByRole("button", { name: "a", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Edit item" });
  await simulate({ tables: { Errors: { errorRate: 1 } } });
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("Internal server error").waitFor();
  await simulate({ tables: { Errors: null } });
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  await close(page);
});

test("a table that is deleted while it is looked at", async () => {
  await site.call("CreateTable", table("Gone", "S", "S"));
  const page = await site.open("tables/Gone", { refusals: [400] });
  await page.getByRole("heading", { name: "Gone" }).waitFor();
  await site.call("DeleteTable", { TableName: "Gone" });
  for (const part of ["", "/schema", "/model", "/insight", "/stream"]) {
    await visit(page, "tables");
    await page.getByRole("heading", { name: "Tables", exact: true }).waitFor(); /* the page of the table is gone, and is made anew */
    await visit(page, `tables/Gone${part}`);
    await page.getByRole("main").getByText("There is no such table").waitFor();
  }
  await close(page);
});

test("the server is killed and comes back at the same address: the page goes on", async () => {
  const directory = mkdtempSync(path.join(tmpdir(), "gramme-console-"));
  let server = await startDatabase(directory, `127.0.0.1:${await freePort()}`);
  try {
    const { url } = server;
    await dynamo(url, "CreateTable", table("Stays", "S", "S"));
    const page = await open(site.browser, url, "");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await server.kill();
    await page.getByText("The server does not answer. Is it running?").first().waitFor();
    await visit(page, "tables/Stays");
    server = await startDatabase(directory, new URL(url).host);
    await visit(page, "tables");
    await page.getByRole("link", { name: "Stays", exact: true }).waitFor();
    await visit(page, "");
    await page.getByText("The server does not answer").first().waitFor({ state: "detached" });
    page.troubles.length = 0; /* the browser logs each request that failed meanwhile */
    await visit(page, "patterns");
    await page.getByRole("heading", { name: "Access patterns" }).waitFor();
    await close(page);
  } finally {
    await server.stop();
    rmSync(directory, { recursive: true });
  }
});
