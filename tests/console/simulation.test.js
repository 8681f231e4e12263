/* The page of the simulation, on the server's own simulation: what is set there happens to the calls of a program. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAxe, checkWidth, close, SMALL_PHONE, useSite } from "./site.js";

const S = (text) => ({ S: text });
const KEY = { TableName: "Orders", Key: { id: S("1") } };

const site = useSite(async (own) => {
  await own.call("CreateTable", {
    TableName: "Orders", BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }, { AttributeName: "state", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
    GlobalSecondaryIndexes: [{ IndexName: "byState", KeySchema: [{ AttributeName: "state", KeyType: "HASH" }], Projection: { ProjectionType: "ALL" } }],
  });
});

const state = async () => (await fetch(`${site.url}/_gramme/api/simulation`)).json();
const inIndex = async () => (await site.call("Query", { TableName: "Orders", IndexName: "byState", KeyConditionExpression: "#s = :s", ExpressionAttributeNames: { "#s": "state" }, ExpressionAttributeValues: { ":s": S("open") } })).Count;

/* Calls until one is refused; gives the name of the error. */
async function untilRefused(operation, input) {
  for (let i = 0; i < 500; i++) {
    const answer = await fetch(site.url, {
      method: "POST", body: JSON.stringify(input),
      headers: { "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": `DynamoDB_20120810.${operation}`, Authorization: "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=00" },
    });
    if (answer.status !== 200) {
      return (await answer.json()).__type.split("#")[1];
    }
  }
  return assert.fail("no call was refused");
}

test("simulation: presets and a rule, and what they do to calls", async () => {
  const page = await site.open("tables");
  await page.getByRole("link", { name: "Simulation" }).click();
  await page.getByRole("heading", { name: "Everything works as it should" }).waitFor();
  await checkAxe(page, "simulation: off");
  await page.getByRole("button", { name: /^Flaky/ }).click();
  await page.getByText("Simulation is on").waitFor();
  await page.getByText("5 % errors").waitFor();
  assert.equal((await state()).tables["*"].errorRate, 0.05);
  assert.equal(await untilRefused("GetItem", KEY), "InternalServerError");
  await page.getByRole("definition").filter({ hasText: /^1$/ }).waitFor();

  await page.getByRole("button", { name: "Add rule" }).click();
  const dialog = page.getByRole("dialog", { name: "Simulation rule" });
  await dialog.getByLabel("All tables that have no rule of their own").uncheck();
  await dialog.getByRole("button", { name: "Apply" }).click();
  await dialog.getByText("Choose a table.").waitFor();
  await dialog.getByLabel("Table", { exact: true }).fill("Orders");
  await dialog.getByLabel("Throttling").selectOption("provisioned");
  await dialog.getByLabel("Read units per second").fill("3");
  await dialog.getByLabel("Write units per second").fill("");
  await dialog.getByLabel("Added latency").fill("1");
  await dialog.getByLabel("Stale reads").fill("12.5");
  await checkAxe(page, "simulation: rule", { element: "dialog" });
  await dialog.getByRole("button", { name: "Apply" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByText("throttled at 3 read and its own write units").waitFor();
  assert.deepEqual((await state()).tables.Orders, {
    throttle: "provisioned", partitionLimits: false, readUnits: 3, writeUnits: null, burstSeconds: 0, throttleRate: 0, errorRate: 0, conflictRate: 0, staleReadRate: 0.125,
    indexLagMs: 0, latencyMs: 1, latencyJitterMs: 0, latencyRate: 1, stepMs: 0,
  });
  assert.equal(await untilRefused("GetItem", KEY), "ProvisionedThroughputExceededException");
  await checkAxe(page, "simulation: on");

  await page.getByRole("listitem").filter({ hasText: "Orders" }).getByRole("button", { name: "Change" }).click();
  assert.equal(await dialog.getByLabel("Write units per second").inputValue(), "");
  await dialog.getByLabel("Throttling").selectOption("off");
  await dialog.getByLabel("Throttled at random").fill("100");
  await dialog.getByRole("button", { name: "Apply" }).click();
  await page.getByText("100 % throttled").waitFor();
  assert.equal(await untilRefused("GetItem", KEY), "ThrottlingException");

  await page.getByRole("textbox", { name: "Seed" }).fill("42");
  await page.getByRole("button", { name: "Start anew" }).click();
  await page.getByText("The sequence starts anew").waitFor();
  assert.equal((await state()).seed, 42);
  await page.getByRole("button", { name: "Remove the rule for Orders" }).click();
  await page.getByText("100 % throttled").waitFor({ state: "detached" });
  assert.deepEqual(Object.keys((await state()).tables), ["*"]);
  await page.getByRole("button", { name: "Turn all off" }).click();
  await page.getByRole("heading", { name: "Everything works as it should" }).waitFor();
  assert.deepEqual((await state()).tables, {});
  await site.call("GetItem", KEY);
  await close(page);
});

test("simulation: the index lags behind", async () => {
  const page = await site.open("simulation", { ...SMALL_PHONE });
  await page.getByRole("button", { name: /^Behind/ }).click();
  await page.getByText("indexes lag 2000 ms").waitFor();
  await checkWidth(page, "simulation");
  await page.getByRole("button", { name: "Change" }).click();
  const dialog = page.getByRole("dialog", { name: "Simulation rule" });
  await dialog.getByLabel("Index lag").fill("60000");
  await dialog.getByLabel("Stale reads").fill("0");
  await dialog.getByRole("button", { name: "Apply" }).click();
  await page.getByText("indexes lag 60000 ms").waitFor();
  await site.call("PutItem", { TableName: "Orders", Item: { id: S("1"), state: S("open") } });
  assert.equal(await inIndex(), 0);
  await page.getByRole("button", { name: "Turn all off" }).click();
  await page.getByRole("heading", { name: "Everything works as it should" }).waitFor();
  assert.equal(await inIndex(), 1);
  await close(page);
});

test("simulation: a seed that the server refuses is reported and changes nothing", async () => {
  const page = await site.open("simulation", { refusals: [400] });
  await page.getByRole("textbox", { name: "Seed" }).fill("-1");
  await page.getByRole("button", { name: "Start anew" }).click();
  await page.getByRole("status").filter({ hasText: "seed" }).waitFor();
  assert.equal((await state()).seed, 42);
  await close(page);
});
