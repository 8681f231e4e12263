/* The insight pages, with traffic that the test makes itself. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAxe, checkWidth, close, eventually, PHONE, useSite, visit } from "./site.js";

const TABLE = "Orders";
const S = (text) => ({ S: text });

/* 60 orders of three customers, of which c0 has the most requests; a filter that keeps 2 of 20; a Scan; writes that fail. */
async function traffic(site) {
  await site.call("CreateTable", {
    TableName: TABLE, BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }, { AttributeName: "sk", AttributeType: "S" }, { AttributeName: "status", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }, { AttributeName: "sk", KeyType: "RANGE" }],
    GlobalSecondaryIndexes: [{ IndexName: "byStatus", KeySchema: [{ AttributeName: "status", KeyType: "HASH" }], Projection: { ProjectionType: "ALL" } }],
  });
  for (let i = 0; i < 60; i++) {
    await site.call("PutItem", { TableName: TABLE, Item: { pk: S(`c${i % 3}`), sk: S(`o${i}`), status: S(i < 6 ? "open" : "done"), note: S("x".repeat(500)) } });
  }
  for (let i = 0; i < 30; i++) {
    await site.call("Query", { TableName: TABLE, KeyConditionExpression: "pk = :p", FilterExpression: "#s = :s", ExpressionAttributeNames: { "#s": "status" }, ExpressionAttributeValues: { ":p": S("c0"), ":s": S("open") } });
  }
  for (let i = 0; i < 5; i++) {
    await site.call("Scan", { TableName: TABLE });
    await site.call("GetItem", { TableName: TABLE, Key: { pk: S("c1"), sk: S("o1") } });
    await site.refused("PutItem", { TableName: TABLE, Item: { pk: S("c1"), sk: S("o1") }, ConditionExpression: "attribute_not_exists(pk)" });
  }
}

const site = useSite(traffic);

const api = async (path) => (await fetch(`${site.url}/_gramme/api/${path}`, { headers: { Authorization: "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=00" } })).json();

test("access patterns: sorted, found, and one in detail", async () => {
  const page = await site.open("patterns");
  const table = page.getByRole("table", { name: "Access patterns" });
  const row = table.getByRole("row", { name: /^Query Orders pk = \? filter status = \?/ });
  await row.waitFor();
  await eventually(async () => / 30 – 600 → 60 /.test((await row.innerText()).replace(/\s+/g, " ")), true, "30 calls, 600 items read, 60 found");
  await table.getByRole("row", { name: /^Scan Orders scan 5 –/ }).waitFor();
  await table.getByRole("row", { name: /^PutItem Orders .*if attribute_not_exists\(pk\) 5 5/ }).waitFor();
  await table.getByRole("button", { name: "Calls" }).click();
  await page.getByRole("columnheader", { name: "Calls", exact: false }).and(page.locator('[aria-sort="descending"]')).waitFor();
  await table.getByRole("row").nth(1).filter({ hasText: /PutItem Orders/ }).waitFor();
  await page.getByLabel("Find patterns").fill("Scan");
  await table.getByRole("row", { name: /^Query Orders/ }).waitFor({ state: "detached" });
  await page.getByLabel("Find patterns").fill("");
  await row.getByRole("link").click();
  await page.getByRole("heading", { name: "Query Orders" }).waitFor();
  await page.getByText("pk = ?", { exact: true }).waitFor();
  await page.getByRole("table", { name: "Latency" }).waitFor();
  const example = await page.getByRole("region", { name: "Example" }).textContent();
  assert.match(example, /"KeyConditionExpression": "pk = :p"/);
  assert.ok(example.includes("***") && !example.includes("c0"), "values are masked");
  await checkAxe(page, "pattern");
  await close(page);
});

test("the pattern of writes that fail names the error", async () => {
  const page = await site.open("patterns");
  await page.getByRole("row", { name: /if attribute_not_exists/ }).getByRole("link").click();
  await page.getByRole("row", { name: "ConditionalCheckFailedException 5" }).waitFor();
  await close(page);
});

test("findings lead to their pattern", async () => {
  const page = await site.open("findings");
  const finding = page.getByRole("listitem").filter({ hasText: "A filter discards most of what" });
  await finding.waitFor();
  await eventually(async () => /600 .*60/s.test(await finding.innerText()), true, "600 items read, 60 found");
  assert.match(await finding.innerText(), /Remedy:/);
  await checkAxe(page, "findings");
  await finding.getByRole("link", { name: "pattern" }).click();
  await page.getByRole("heading", { name: "Query Orders" }).waitFor();
  await page.getByText("A filter discards most of what").waitFor();
  await close(page);
});

test("heat names the heaviest key", async () => {
  const page = await site.open("heat");
  await page.getByRole("link", { name: /^Orders\s*\d/ }).click();
  const first = page.getByRole("table", { name: "Heaviest partition keys" }).getByRole("row").nth(1);
  await first.filter({ hasText: "c0" }).waitFor();
  await eventually(async () => {
    const { keys } = await api(`heat?table=${TABLE}`);
    assert.deepEqual(keys[0].key, S("c0"));
    return (await first.innerText()).includes(String(keys[0].accesses));
  }, true, "the page has the accesses of the API");
  await checkAxe(page, "heat");
  await close(page);
});

test("cost: the bill, and what if", async () => {
  const page = await site.open("cost");
  await page.getByRole("link", { name: TABLE, exact: true }).waitFor();
  await checkAxe(page, "cost");
  await page.getByRole("group", { name: "Traffic" }).getByRole("button", { name: "×10", exact: true }).click();
  await page.getByText("What if", { exact: true }).first().waitFor();
  await page.getByText(/traffic/i).last().waitFor();
  const answer = page.waitForResponse((response) => response.url().includes("dropIndex=Orders%2FbyStatus"));
  await page.getByLabel("What if byStatus of Orders").selectOption("drop");
  const bill = await (await answer).json();
  const table = bill.whatIf.tables.find((one) => one.table === TABLE);
  assert.ok(bill.whatIf.total.requests > bill.total.requests, "ten times the traffic costs more");
  assert.ok(table.monthly < 10.5 * bill.tables.find((one) => one.table === TABLE).monthly);
  const money = new Intl.NumberFormat("en", { style: "currency", currency: "USD" });
  await page.getByText(`→ ${money.format(table.monthly)}`).waitFor();
  assert.match(page.url(), /traffic=10/, "the address holds what was asked");
  await page.getByRole("button", { name: "Reset" }).click();
  await page.getByText("→", { exact: false }).waitFor({ state: "detached" });
  await close(page);
});

test("the overview shows the traffic, and a table its own", async () => {
  const page = await site.open("");
  await page.getByRole("table", { name: "Patterns by units" }).getByText("Orders").first().waitFor();
  await page.getByRole("img", { name: /^Requests per second: [\d,]+ in all/ }).waitFor();
  await page.getByRole("table", { name: "Busiest tables" }).getByRole("link", { name: TABLE }).click();
  await page.getByRole("link", { name: "Insight" }).click();
  await page.getByRole("table", { name: "Access patterns" }).getByRole("row", { name: /^Scan Orders scan 5/ }).waitFor();
  await page.getByText("A filter discards most of what").waitFor();
  await close(page);
});

test("the insight pages fit a phone", async () => {
  const page = await site.open("", PHONE);
  for (const [where, heading] of [["", "Patterns by units"], ["patterns", "Access patterns"], ["findings", "Findings"], ["heat", "Heaviest partition keys"], ["cost", "What if"]]) {
    await visit(page, where);
    await page.getByRole("heading", { name: heading, exact: true }).first().waitFor();
    await checkWidth(page, where);
  }
  await close(page);
});
