/* Many tables, many items, large files: nothing loads everything. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { close, useSite, visit } from "./site.js";

const site = useSite();
const TABLES = 1000;

const schema = (TableName) => ({ TableName, BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }], KeySchema: [{ AttributeName: "id", KeyType: "HASH" }] });

test("a thousand tables: only those in view are asked for", async () => {
  const names = [...Array(TABLES).keys()].map((i) => `table-${String(i).padStart(4, "0")}`);
  for (let at = 0; at < TABLES; at += 20) {
    await Promise.all(names.slice(at, at + 20).map((name) => site.call("CreateTable", schema(name))));
  }
  const page = await site.open("tables");
  let described = 0;
  page.on("request", (request) => {
    described += request.headers()["x-amz-target"]?.endsWith("DescribeTable") ? 1 : 0;
  });
  await page.getByText("1,000 tables").waitFor();
  assert.ok(await page.locator("tbody tr").count() < 80);
  await page.getByRole("region", { name: "Tables" }).evaluate((box) => box.scrollTo(0, box.scrollHeight));
  await page.getByRole("row", { name: /table-0999 id .* active/ }).waitFor();
  await page.getByLabel("Find tables").fill("0777");
  await page.getByText("1 of 1,000 tables").waitFor();
  await page.getByRole("link", { name: "table-0777" }).click();
  await page.getByText("The table is empty.").waitFor();
  assert.ok(described < 120, `${described} tables were described`);
  await close(page);
});

test("every page with a thousand tables: no answer has them all", async () => {
  for (const path of ["", "tables", "patterns", "findings", "heat", "cost", "partiql", "simulation", "connect"]) {
    const page = await site.open(path);
    const sizes = [];
    page.on("response", async (response) => sizes.push([response.url(), (await response.body().catch(() => "")).length]));
    await visit(page, path);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.waitForLoadState("networkidle", { timeout: 5000 }).catch(() => {}); // pages that poll are never idle
    assert.ok(await page.locator("*").count() < 6000, `${path}: ${await page.locator("*").count()} elements`);
    for (const [url, size] of sizes.filter(([at]) => at.includes("/api/"))) {
      assert.ok(size < 200_000, `${path}: ${url} has ${size} bytes`);
    }
    await close(page);
  }
  const page = await site.open("cost");
  await page.getByText("Tables 1 to 20 of 1,000, the most expensive first").waitFor();
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText("Tables 21 to 40 of 1,000").waitFor();
  await close(page);
});

const imported = (page) => page.getByText("3,000 items written").last().waitFor({ timeout: 60_000 });

test("files of thousands of items go in and come out unchanged", async () => {
  await site.call("CreateTable", schema("Files"));
  const items = [...Array(3000).keys()].map((i) => ({ id: { S: `i${i}` }, n: { N: `${i}.${"1".repeat(25)}` }, tags: { SS: ["a", `b${i}`] }, nested: { M: { text: { S: 'quo"te, é\n' }, list: { L: [{ BOOL: i % 2 === 0 }, { NULL: true }] } } } }));
  const page = await site.open("tables/Files/transfer");
  await page.locator('input[type="file"]').setInputFiles({ name: "items.jsonl", mimeType: "application/json", buffer: Buffer.from(items.map((Item) => JSON.stringify({ Item })).join("\n")) });
  await page.getByRole("button", { name: "Import into Files" }).click();
  await imported(page);
  for (const [format, label] of [["jsonl", "DynamoDB JSON"], ["csv", "CSV"]]) {
    await page.getByRole("region", { name: "Export" }).getByRole("button", { name: label, exact: true }).click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: /^Export about/ }).click()]);
    const text = readFileSync(await download.path());
    const table = `Files-${format}`;
    await site.call("CreateTable", schema(table));
    await visit(page, `tables/${table}/transfer`);
    await page.getByRole("heading", { name: table }).waitFor();
    await page.locator('input[type="file"]').setInputFiles({ name: `again.${format}`, mimeType: "text/plain", buffer: text });
    await page.getByRole("button", { name: `Import into ${table}` }).click();
    await imported(page);
    const found = new Map();
    for (let start; ;) {
      const answer = await site.call("Scan", { TableName: table, ...(start && { ExclusiveStartKey: start }) });
      answer.Items.forEach((item) => found.set(item.id.S, item));
      start = answer.LastEvaluatedKey;
      if (!start) {
        break;
      }
    }
    assert.equal(found.size, items.length);
    for (const item of items) {
      const stored = found.get(item.id.S);
      assert.deepEqual({ ...stored, tags: { SS: [...stored.tags.SS].sort() } }, item);
    }
    await visit(page, "tables/Files/transfer");
    await page.getByRole("heading", { name: "Files", exact: true }).waitFor();
  }
  await close(page);
});

test("bad items and bad files are named, good items are written", async () => {
  await site.call("CreateTable", schema("Bad"));
  const page = await site.open("tables/Bad/transfer", { refusals: [400] });
  const load = async (name, text) => {
    await page.locator('input[type="file"]').setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
    await page.getByRole("button", { name: "Import into Bad" }).click();
  };
  await load("a.json", '[{"id": "1", "x": 1}, {"x": "no key"}, {"id": "2"}, {"id": "1", "x": 2}]');
  await page.getByText("3 items written, 1 refused").last().waitFor();
  assert.deepEqual((await site.call("GetItem", { TableName: "Bad", Key: { id: { S: "1" } } })).Item.x, { N: "2" }, "the later of two wins");
  await load("b.json", '[{"id": "3"}, {"id": ');
  await page.getByText("The file ends in the middle of a value").waitFor();
  await load("c.json", '[{"id": "3", }]');
  await page.getByText("expected a string").waitFor();
  await load("d.csv", 'id,n,flag\n10,5,true\n"11",text,\n');
  await page.getByText("2 items written").last().waitFor();
  assert.deepEqual((await site.call("GetItem", { TableName: "Bad", Key: { id: { S: "10" } } })).Item, { id: { S: "10" }, n: { N: "5" }, flag: { BOOL: true } });
  assert.deepEqual((await site.call("GetItem", { TableName: "Bad", Key: { id: { S: "11" } } })).Item, { id: { S: "11" }, n: { S: "text" } });
  await close(page);
});
