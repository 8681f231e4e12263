/* Tables, their items, schema and model. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { close, useSite, visit } from "./site.js";

const site = useSite();
const api = async (path) => (await fetch(`${site.url}/_gramme/api/${path}`)).json();

const MUSIC = {
  TableName: "Music", BillingMode: "PAY_PER_REQUEST",
  AttributeDefinitions: [{ AttributeName: "Artist", AttributeType: "S" }, { AttributeName: "Song", AttributeType: "S" }, { AttributeName: "Year", AttributeType: "N" }],
  KeySchema: [{ AttributeName: "Artist", KeyType: "HASH" }, { AttributeName: "Song", KeyType: "RANGE" }],
  GlobalSecondaryIndexes: [{ IndexName: "byYear", KeySchema: [{ AttributeName: "Year", KeyType: "HASH" }, { AttributeName: "Song", KeyType: "RANGE" }], Projection: { ProjectionType: "KEYS_ONLY" } }],
};

async function music(name, count) {
  await site.call("CreateTable", { ...MUSIC, TableName: name });
  for (let at = 0; at < count; at += 25) {
    await site.call("BatchWriteItem", { RequestItems: { [name]: [...Array(Math.min(25, count - at)).keys()].map((i) => ({ PutRequest: { Item: {
      Artist: { S: `artist-${(at + i) % 7}` }, Song: { S: `song-${String(at + i).padStart(4, "0")}` }, Year: { N: String(1960 + ((at + i) % 10)) }, Plays: { N: "12345678901234567890.123456789" } } } })) } });
  }
}

test("an empty server offers sample data, which fills the console", async () => {
  const page = await site.open("");
  await page.getByRole("heading", { name: "The server runs, and is empty" }).waitFor();
  await page.getByRole("tab", { name: "Rust" }).click();
  assert.match(await page.getByRole("region", { name: "Rust" }).textContent(), /aws_sdk_dynamodb/);
  await page.getByText("It reads a table of the sample data").waitFor();
  await page.getByRole("tab", { name: "AWS CLI" }).click();
  const first = await page.getByRole("region", { name: "AWS CLI" }).textContent();
  await page.getByRole("button", { name: "Load sample data" }).click();
  await page.getByText("5 tables with").waitFor({ timeout: 60_000 });
  const { TableNames } = await site.call("ListTables", {});
  assert.deepEqual(TableNames, ["CallRecords", "Calls", "cal-app-sam", "poc-itsm-tickets", "task-manager-sandbox-tasks"]);
  const option = (name) => first.match(new RegExp(`--${name}\\s+'?([^\\s']+|\\{.*?\\})'?(\\s|$)`, "s"))[1];
  const { Count } = await site.call("Query", { TableName: option("table-name"), KeyConditionExpression: "#k = :v", ExpressionAttributeNames: JSON.parse(option("expression-attribute-names")), ExpressionAttributeValues: JSON.parse(option("expression-attribute-values")) });
  assert.ok(Count > 0, "the first query finds items of the sample data");
  await visit(page, "tables");
  await page.getByRole("link", { name: "task-manager-sandbox-tasks" }).click();
  await page.getByRole("link", { name: "Model" }).click();
  await page.getByRole("heading", { name: "3 kinds of items" }).waitFor();
  const kinds = await page.locator(".kind").allInnerTexts();
  const task = kinds.find((text) => text.startsWith("TASK"));
  assert.match(task.replace(/\s+/g, " "), /PK TASK#\{TaskId\} SK METADATA .*GSI2PK STATUS#\{Status\} GSI2SK CREATED_AT#\{CreatedAt\}/);
  await page.locator(".item-card").first().click();
  await page.getByRole("dialog", { name: "Edit item" }).waitFor();
  await page.keyboard.press("Escape");
  const sent = async () => (await api("patterns?limit=1000")).patterns.filter(({ operation }) => operation !== "BatchWriteItem Put").reduce((sum, { calls }) => sum + calls, 0);
  for (let waited = 0; (await sent()) < 401; waited++) { /* the sample requests, and the query above */
    assert.ok(waited < 240, "the sample requests are not sent");
    await page.waitForTimeout(500);
  }
  const { findings } = await api("findings");
  assert.deepEqual(findings.map(({ id, table, index }) => [id, table, index]), [["filter-discards", "CallRecords", null], ["filter-discards", "CallRecords", null]], JSON.stringify(findings));
  await close(page);
});

test("a table is created, and deleted by typing its name", async () => {
  const page = await site.open("tables");
  await page.getByRole("button", { name: "Create table" }).click();
  const dialog = page.getByRole("dialog", { name: "Create table" });
  await dialog.getByLabel("Table name").fill("Orders");
  await dialog.getByLabel("Partition key").fill("customer");
  await dialog.getByLabel("Sort key").fill("at");
  await dialog.getByLabel("Type").nth(1).selectOption("N");
  await dialog.getByRole("button", { name: "Add index" }).click();
  const index = dialog.locator(".index-fields");
  await index.getByLabel("Partition key").fill("status");
  await index.getByLabel("Projection").selectOption("KEYS_ONLY");
  await dialog.getByLabel("Stream of changes").check();
  await dialog.getByRole("button", { name: "Code" }).click();
  assert.match(await dialog.getByRole("region", { name: "AWS CLI" }).textContent(), /aws dynamodb create-table .*--table-name Orders/s);
  await dialog.getByRole("button", { name: "Create table" }).click();
  await page.getByRole("heading", { name: "Orders" }).waitFor();
  const { Table } = await site.call("DescribeTable", { TableName: "Orders" });
  assert.deepEqual(Table.KeySchema, [{ AttributeName: "customer", KeyType: "HASH" }, { AttributeName: "at", KeyType: "RANGE" }]);
  assert.deepEqual(Table.AttributeDefinitions.map((one) => one.AttributeName + one.AttributeType).sort(), ["atN", "customerS", "statusS"]);
  assert.equal(Table.GlobalSecondaryIndexes[0].Projection.ProjectionType, "KEYS_ONLY");
  assert.equal(Table.StreamSpecification.StreamEnabled, true);
  await page.getByRole("link", { name: "Schema" }).click();
  await page.getByRole("button", { name: "Delete table" }).click();
  const confirm = page.getByRole("dialog", { name: "Delete the table Orders?" });
  assert.equal(await confirm.getByRole("button", { name: "Delete table" }).getAttribute("aria-disabled"), "true");
  await confirm.getByLabel("Type “Orders” to confirm").fill("Orders");
  await confirm.getByRole("button", { name: "Delete table" }).click();
  await page.getByRole("heading", { name: "Tables" }).waitFor();
  assert.ok(!(await site.call("ListTables", {})).TableNames.includes("Orders"));
  await close(page);
});

test("the query builder pages, filters, and shows its request as code", async () => {
  await music("Builder", 130);
  const page = await site.open("tables/Builder");
  await page.getByText("50 items", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Next page" }).click();
  await page.getByRole("button", { name: "Next page" }).click();
  await page.getByText("30 items", { exact: true }).waitFor();
  assert.ok(await page.getByRole("button", { name: "Next page" }).isDisabled());
  await page.getByLabel("Artist").fill("artist-3");
  await page.getByLabel("Song: comparison").selectOption("begins_with");
  await page.getByLabel("Song: value").fill("song-000");
  await page.getByRole("button", { name: "Query" }).click();
  await page.getByText("1 item", { exact: true }).waitFor();
  const code = page.getByRole("region", { name: "Request as code" });
  assert.match(await code.textContent(), /--key-condition-expression '#Artist = :Artist AND begins_with\(#Song, :Song\)'/);
  await code.getByRole("tab", { name: "PartiQL", exact: true }).click();
  assert.match(await code.textContent(), /WHERE "Artist" = 'artist-3'\s+AND begins_with\("Song", 'song-000'\)/);
  await code.getByRole("tab", { name: "boto3" }).click();
  assert.match(await code.textContent(), /dynamodb\.query\(\s+TableName="Builder"/);
  await page.getByLabel("Read from").selectOption("byYear");
  await page.getByLabel("Year").fill("1963");
  await page.getByRole("button", { name: "Query" }).click();
  await page.getByText("13 items", { exact: true }).waitFor();
  await page.getByLabel("Read from").selectOption("");
  await page.getByRole("button", { name: "Filters" }).click();
  await page.getByRole("button", { name: "Add filter" }).click();
  await page.getByLabel("Attribute", { exact: true }).fill("Year");
  assert.equal(await page.getByLabel("Type").inputValue(), "N", "the type that the attribute has");
  await page.getByLabel("Value", { exact: true }).fill("1961");
  await page.getByRole("button", { name: "Scan" }).click();
  await page.getByText("13 items", { exact: true }).waitFor();
  await page.getByText("130 read").waitFor();
  /* The address holds the query: a new page shows the same. */
  const other = await site.open(new URL(page.url()).hash.slice(2));
  await other.getByText("13 items", { exact: true }).waitFor();
  await close(other);
  await close(page);
});

test("the item editor knows all types and keeps all digits", async () => {
  await site.call("CreateTable", { ...MUSIC, TableName: "Types" });
  const item = {
    Artist: { S: "a" }, Song: { S: "b" }, constructor: { S: "a name like others" }, n: { N: "12345678901234567890123456789012345678" }, b: { B: "aGVsbG8=" }, t: { BOOL: true }, nothing: { NULL: true },
    l: { L: [{ S: "x" }, { N: "1" }, { M: { deep: { SS: ["p", "q"] } } }] }, m: { M: { inner: { BOOL: false } } }, ss: { SS: ["one", "two"] }, ns: { NS: ["1", "2.5"] }, bs: { BS: ["AQ==", "Ag=="] },
  };
  await site.call("PutItem", { TableName: "Types", Item: item });
  await site.call("PutItem", { TableName: "Types", Item: { Artist: { S: "z" }, Song: { S: "without the others" } } });
  const page = await site.open("tables/Types");
  const stored = async () => (await site.call("GetItem", { TableName: "Types", Key: { Artist: { S: "a" }, Song: { S: "b" } } })).Item;
  const openItem = async () => {
    await page.getByRole("button", { name: "a", exact: true }).click();
    return page.getByRole("dialog", { name: "Edit item" });
  };
  for (const form of [null, "JSON", "DynamoDB JSON"]) { /* saving without a change changes nothing, in every form */
    const dialog = await openItem();
    if (form) {
      await dialog.getByRole("button", { name: form, exact: true }).click();
      await dialog.getByLabel("Item as JSON").waitFor();
    }
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    assert.deepEqual(await stored(), item, form ?? "form");
  }
  const dialog = await openItem();
  await dialog.getByLabel("Value of n", { exact: true }).fill("-7.5e3");
  await dialog.getByRole("group", { name: "ss" }).getByRole("button", { name: "Add value" }).click();
  await dialog.getByLabel("Value 3 of ss").fill("three");
  await dialog.getByRole("button", { name: "Add attribute" }).last().click();
  await dialog.getByLabel("Attribute name").last().fill("fresh");
  await dialog.getByLabel("Type of fresh").selectOption("BOOL");
  await dialog.getByLabel("Value of fresh").selectOption("false");
  await dialog.getByRole("button", { name: "Remove bs" }).click();
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  const { bs, ...rest } = item;
  const after = await stored();
  assert.deepEqual({ ...after, ss: { SS: [...after.ss.SS].sort() } }, { ...rest, n: { N: "-7500" }, ss: { SS: ["one", "three", "two"] }, fresh: { BOOL: false } });
  await close(page);
});

test("an item that someone else has changed is not overwritten unasked", async () => {
  await site.call("CreateTable", { ...MUSIC, TableName: "Conflict" });
  const key = { Artist: { S: "a" }, Song: { S: "b" } };
  await site.call("PutItem", { TableName: "Conflict", Item: { ...key, x: { N: "1" } } });
  const page = await site.open("tables/Conflict", { refusals: [400] });
  await page.getByRole("button", { name: "a", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Edit item" });
  await dialog.getByLabel("Value of x").fill("2");
  await site.call("PutItem", { TableName: "Conflict", Item: { ...key, x: { N: "9" } } });
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("changed by someone else").waitFor();
  assert.equal((await site.call("GetItem", { TableName: "Conflict", Key: key })).Item.x.N, "9");
  await dialog.getByRole("button", { name: "Overwrite" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.equal((await site.call("GetItem", { TableName: "Conflict", Key: key })).Item.x.N, "2");
  await page.getByRole("checkbox", { name: "Select row 1" }).check();
  await page.getByRole("button", { name: "Delete 1" }).click();
  await page.getByRole("dialog", { name: "Delete 1 item?" }).getByRole("button", { name: "Delete" }).click();
  await page.getByText("The table is empty.").waitFor();
  await close(page);
});

test("an index is created and deleted, time to live and stream are switched", async () => {
  await music("Schema", 30);
  const page = await site.open("tables/Schema/schema");
  await page.getByRole("button", { name: "Create index" }).click();
  const dialog = page.getByRole("dialog", { name: "Create index" });
  await dialog.getByLabel("Index name").fill("bySong");
  await dialog.getByLabel("Partition key").fill("Song");
  await dialog.getByRole("button", { name: "Create index" }).click();
  await page.getByRole("row", { name: /bySong.*30.*active/ }).waitFor();
  await page.getByRole("button", { name: "Delete index bySong" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete index" }).click();
  await page.getByText("bySong", { exact: true }).waitFor({ state: "detached" });
  const settings = page.getByRole("region", { name: "Settings" });
  await settings.getByRole("button", { name: "Enable" }).nth(1).click();
  await page.getByRole("dialog", { name: "Time to live" }).getByRole("button", { name: "Enable" }).click();
  await settings.getByText("by expiresAt").waitFor();
  await settings.getByRole("button", { name: "Enable" }).click();
  await settings.getByText("new and old images").waitFor();
  await close(page);
});

test("a stream shows changes as they happen", async () => {
  await site.call("CreateTable", { ...MUSIC, TableName: "Tail" });
  const page = await site.open("tables/Tail/stream");
  await page.getByRole("button", { name: "Enable the stream" }).click();
  await page.getByText("Waiting for changes").waitFor();
  const key = { Artist: { S: "a" }, Song: { S: "b" } };
  /* The tail begins at "now": writes until one is seen. */
  for (let i = 0; !(await page.getByText("modify").first().isVisible()); i++) {
    await site.call("PutItem", { TableName: "Tail", Item: { ...key, n: { N: String(i) } } });
    await page.waitForTimeout(100);
    assert.ok(i < 150, "the stream shows nothing");
  }
  await page.getByRole("button", { name: "All of 24 h" }).click();
  await page.getByText("insert").waitFor();
  await page.getByRole("button", { name: "a b" }).last().click();
  await page.getByRole("dialog").getByRole("row", { name: /n – 0/ }).waitFor();
  await close(page);
});
