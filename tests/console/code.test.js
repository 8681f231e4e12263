/* The console's code for requests does what the requests do: the AWS CLI, Python with boto3, Node.js with the SDK and ExecuteStatement run
 * it, and find or write the same items. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { boto3Code, cliCode, insertCode, javascriptCode } from "../../console/src/lib/code.js";
import { pathSteps } from "../../console/src/lib/path.js";
import { EMPTY, queryToAddress, requestOf, statementOf } from "../../console/src/lib/query.js";
import { snippets } from "../../console/src/lib/snippets.js";
import { close, useSite } from "./site.js";

const DIGITS = "1234567890123456789012345678901234567.8";
const ODD = `it's "quoted" \\ $HOME \`id\` !x % é 漢 😀 ?\n\t#:=;--`;
const ITEM = { /* of every type */
  group: { S: ODD }, order: { S: "all" }, count: { N: DIGITS }, size: { N: "-1E-100" }, bytes: { B: "AP/+" }, yes: { BOOL: true }, none: { NULL: true },
  texts: { SS: ["a", "it's", "\"", "é"] }, numbers: { NS: ["1", "-0.5", DIGITS] }, binaries: { BS: ["AA==", "/w=="] }, list: { L: [{ S: ODD }, { N: "1" }, { B: "AA==" }, { L: [] }] },
  map: { M: { "a.b": { S: "x" }, B: { BS: ["AQ=="] }, SS: { SS: ["y"] }, toString: { NULL: true } } }, empty: { S: "" }, "user.id": { N: "0" }, S: { S: "type" }, B: { B: "" }, constructor: { S: "p" },
};

const TABLE = {
  TableName: "codes", BillingMode: "PAY_PER_REQUEST",
  AttributeDefinitions: [["group", "S"], ["order", "S"], ["count", "N"], ["size", "N"], ["bytes", "B"]].map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
  KeySchema: [{ AttributeName: "group", KeyType: "HASH" }, { AttributeName: "order", KeyType: "RANGE" }],
  LocalSecondaryIndexes: [index("by-bytes", ["group"], ["bytes"])],
  GlobalSecondaryIndexes: [index("by-size", ["count"], ["size"]), index("of-bytes", ["bytes"], ["order"]), index("many", ["group", "count"], ["size", "order"])],
};
const NAMES = { /* keys whose names are no simple names */
  TableName: "names", BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "user.id", AttributeType: "S" }, { AttributeName: `it's [0] "x"`, AttributeType: "S" }],
  KeySchema: [{ AttributeName: "user.id", KeyType: "HASH" }, { AttributeName: `it's [0] "x"`, KeyType: "RANGE" }],
};

function index(IndexName, hash, range) {
  return { IndexName, Projection: { ProjectionType: "ALL" }, KeySchema: [...hash.map((AttributeName) => ({ AttributeName, KeyType: "HASH" })), ...range.map((AttributeName) => ({ AttributeName, KeyType: "RANGE" }))] };
}

/* Items of one group, with every attribute but for some of some. */
function itemsOf() {
  return [...Array(12).keys()].map((i) => ({
    group: { S: "g" }, order: { S: `o-${String.fromCharCode(97 + i)}` }, count: { N: "7" }, size: { N: `${i - 4}` }, bytes: { B: Buffer.from([i * 20, 255]).toString("base64") },
    select: { S: i % 2 ? ODD : "plain" }, value: { N: i === 3 ? DIGITS : `${i}.5` }, ...(i % 3 && { flag: { BOOL: i % 2 === 0 } }), ...(i % 4 === 0 && { nothing: { NULL: true } }),
    tags: { SS: ["even", "odd"].slice(i % 2) }, "user.id": { S: `u${i % 3}` }, map: { M: { list: { L: [{ N: String(i % 5) }, { S: "x" }] }, "a.b": { S: `${i % 2}` } } }, raw: { B: Buffer.from([i]).toString("base64") },
  }));
}

const sortBy = (op, ...values) => ({ key: { group: "g" }, sort: [{ name: "order", op, values }] });
const filterBy = (path, op, type, ...values) => ({ key: { group: "g" }, filters: [{ path, op, type, values }] });

/* What is asked of the table, in the words of the query builder; how many items at most. */
const QUERIES = [
  [{}], [{}, 5], [{ key: { group: "g" } }, 4], [{ key: { group: "g" }, backward: true }, 3], [{ key: { group: ODD } }], [{ key: { group: "g" }, consistent: true }],
  [sortBy("=", "o-c")], [sortBy("begins_with", "o-")], [sortBy("between", "o-b", "o-e")], [sortBy("<", "o-d")], [sortBy("<=", "o-d")], [sortBy(">", "o-d")], [{ ...sortBy(">=", "o-d"), backward: true }],
  [{ index: "by-size", key: { count: "7" }, sort: [{ name: "size", op: "between", values: ["-2", "3"] }] }], [{ index: "by-size", key: { count: DIGITS } }], [{ index: "by-size", key: { count: "7" }, backward: true }, 3],
  [{ index: "of-bytes", key: { bytes: "PP8=" } }], [{ index: "by-bytes", key: { group: "g" }, sort: [{ name: "bytes", op: ">", values: ["PP8="] }] }],
  [{ index: "by-bytes", key: { group: "g" }, sort: [{ name: "bytes", op: "begins_with", values: ["PA=="] }] }], [{ index: "by-bytes", key: { group: "g" }, sort: [{ name: "bytes", op: "between", values: ["FP8=", "UP8="] }], backward: true }],
  [{ index: "many", key: { group: "g", count: "7" } }], [{ index: "many", key: { group: "g", count: "7" }, sort: [{ name: "size", op: "=", values: ["2"] }, { name: "order", op: "begins_with", values: ["o"] }] }],
  [{ index: "many", key: { group: "g", count: "7" }, backward: true }], [{ index: "of-bytes" }],
  [filterBy("select", "=", "S", ODD), 5], [filterBy("select", "<>", "S", ODD)], [filterBy("value", "=", "N", DIGITS)], [filterBy("value", "<", "N", "3.5")], [filterBy("value", "<=", "N", "3.5")], [filterBy("value", ">", "N", "3.5")],
  [filterBy("value", ">=", "N", "3.5")], [filterBy("value", "between", "N", "1.5", "4.5")], [filterBy("select", "begins_with", "S", "it's")], [filterBy("select", "contains", "S", "\"quoted\" \\")],
  [filterBy("tags", "contains", "S", "even")], [filterBy("tags", "not_contains", "S", "even")], [filterBy("value", "in", "N", "1.5, 2.5, 99")], [filterBy("select", "in", "S", "plain")],
  [filterBy("flag", "=", "BOOL", "true")], [filterBy("flag", "<>", "BOOL", "true")], [filterBy("flag", "exists", "S")], [filterBy("flag", "not_exists", "S")], [filterBy("nothing", "=", "NULL")], [filterBy("nothing", "<>", "NULL")],
  [filterBy("raw", "=", "B", "Aw==")], [filterBy("raw", "in", "B", "Aw==,BA==")], [filterBy("map.list[0]", ">", "N", "2")], [filterBy('"user.id"', "=", "S", "u1")], [filterBy('map."a.b"', "=", "S", "1")], [filterBy("missing", "<>", "S", "x")], [filterBy("nothing", "not_contains", "S", "x")],
  [{ filters: [{ path: "raw", op: "between", type: "B", values: ["AQ==", "Bg=="] }, { path: "select", op: "=", type: "S", values: ["plain"] }, { path: "select", op: "exists", values: [] }], fields: ["order", "select", "value"] }],
  [{ key: { group: "g" }, fields: ["order", "map.list[0]", '"user.id"', "select"] }, 2], [{ index: "by-size", key: { count: "7" }, fields: ["group", "order", "raw"] }],
];
const NAME_QUERIES = [[{ key: { "user.id": "u'1" } }], [{ key: { "user.id": "u'1" }, sort: [{ name: `it's [0] "x"`, op: "begins_with", values: ["s"] }], backward: true, fields: [`"it's [0] ""x"""`] }, 2], [{ filters: [{ path: '"user.id"', op: "=", type: "S", values: ["u2"] }] }]];

const folder = mkdtempSync(join(tmpdir(), "gramme-code-"));
const tables = {};
const site = useSite(async () => {
  symlinkSync(new URL("../node_modules", import.meta.url).pathname, join(folder, "node_modules"));
  for (const input of [TABLE, NAMES]) {
    await site.call("CreateTable", input);
    tables[input.TableName] = (await site.call("DescribeTable", { TableName: input.TableName })).Table;
  }
  for (const Item of [...itemsOf(), ITEM]) {
    await site.call("PutItem", { TableName: "codes", Item });
  }
  for (const [id, sort] of [["u'1", "s1"], ["u'1", "s2"], ["u'1", "s3"], ["u'1", "t"], ["u2", "s"]]) {
    await site.call("PutItem", { TableName: "names", Item: { "user.id": { S: id }, [`it's [0] "x"`]: { S: sort } } });
  }
});
after(() => rmSync(folder, { recursive: true }));

/* What a program prints. The event loop goes on meanwhile, so that fetch sees which connections have ended. */
async function printed(command, ...parameters) {
  const environment = { ...process.env, AWS_ACCESS_KEY_ID: "any", AWS_SECRET_ACCESS_KEY: "any", AWS_DEFAULT_REGION: "us-east-1", AWS_REGION: "us-east-1", AWS_PAGER: "", AWS_EC2_METADATA_DISABLED: "true", HOME: folder, LC_ALL: "C.UTF-8" };
  const child = spawn(command, parameters, { cwd: folder, env: environment, stdio: ["ignore", "pipe", "pipe"] });
  const [out, err, status] = await Promise.all([text(child.stdout), text(child.stderr), new Promise((resolve) => child.on("close", resolve))]);
  assert.equal(status, 0, `${err}\n${out}`);
  return out;
}

const aws = (command) => printed("bash", "-c", `aws() { /usr/bin/aws "$@"; }\n${command}`); /* version 2: version 1 takes binaries as text */

function write(name, text) {
  writeFileSync(join(folder, name), text);
  return name;
}

/* The items that each of the texts finds: with the CLI, which starts slowly, three at a time; otherwise all run by one program. */
const run = {
  async cli(codes) {
    const answers = [];
    const waiting = [...codes.entries()];
    const work = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        answers[next[0]] = JSON.parse(await aws(next[1])).Items;
      }
    };
    await Promise.all([work(), work(), work()]);
    return answers;
  },
  async boto3(codes) {
    codes.forEach((code, i) => write(`code${i}.py`, code));
    return JSON.parse(await printed("/usr/bin/python3", write("all.py", `import base64, json
answers = []
for i in range(${codes.length}):
    names = {}
    exec(open(f"code{i}.py", encoding="utf-8").read(), names)
    answers.append(names["answer"].get("Items"))
print(json.dumps(answers, default=lambda value: base64.b64encode(value).decode()))`)));
  },
  async javascript(codes) {
    codes.forEach((code, i) => write(`code${i}.mjs`, `${code}\nexport { answer };`));
    return JSON.parse(await printed("node", write("all.mjs", `const answers = [];
for (let i = 0; i < ${codes.length}; i++) {
  answers.push((await import(\`./code\${i}.mjs\`)).answer.Items);
}
Uint8Array.prototype.toJSON = function () { return Buffer.from(this.buffer, this.byteOffset, this.length).toString("base64"); };
console.log(JSON.stringify(answers));`)));
  },
};
const LANGUAGES = [["cli", cliCode], ["boto3", boto3Code], ["javascript", javascriptCode]];

/* Neither sets nor members of objects have an order. */
const comparable = (value) => JSON.parse(JSON.stringify(value, (name, one) => {
  if (["SS", "NS", "BS"].includes(name) && Array.isArray(one)) {
    return [...one].sort();
  }
  return one !== null && typeof one === "object" && !Array.isArray(one) ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))) : one;
}));

/* {query, limit, request, items} of each row; the items are those of the request itself. */
async function asked() {
  const rows = [...QUERIES.map((row) => ["codes", ...row]), ...NAME_QUERIES.map((row) => ["names", ...row])];
  return Promise.all(rows.map(async ([name, part, limit]) => {
    const query = { ...EMPTY, ...part };
    const request = requestOf(tables[name], query, limit);
    const { Items } = await site.call(request.operation, request.input);
    return { table: tables[name], query, limit, request, items: comparable(Items) };
  }));
}

test("a value that is not typed yet is an empty one", () => {
  const { input } = requestOf(tables.codes, { ...EMPTY, ...filterBy("select", "between", "S", "it") }, 5);
  assert.deepEqual([input.FilterExpression, input.ExpressionAttributeValues[":select2"]], ["#select BETWEEN :select AND :select2", { S: "" }]);
});

test("the rows ask for different things, and most find something", async () => {
  const rows = await asked();
  assert.ok(rows.filter(({ items }) => items.length > 0).length > rows.length * 0.95);
  assert.ok(new Set(rows.map(({ items }) => JSON.stringify(items))).size > rows.length / 2);
});

for (const [language, code] of LANGUAGES) {
  test(`${language}: code of requests finds the items of the requests`, async () => {
    const rows = await asked();
    const found = await run[language](rows.map(({ request }) => code(request.operation, request.input, site.url)));
    rows.forEach(({ request, items }, i) => assert.deepEqual(comparable(found[i]), items, JSON.stringify(request)));
  });
}

/* PartiQL gives the parts of items that it selects in no maps or lists, each with the name of its last step. */
function flat(item, fields) {
  return Object.fromEntries(fields.map(pathSteps).map((steps) => {
    const name = steps.filter((step) => typeof step === "string").at(-1);
    const value = steps.reduce((part, step) => (typeof step === "number" ? part.L[0] : part.M[step]), { M: item }); /* of a list this is the only element */
    return [`${name}${steps.slice(steps.lastIndexOf(name) + 1).map((position) => `[${position}]`).join("")}`, value];
  }));
}

test("PartiQL: statements find the items of the requests", async () => {
  for (const { table, query, limit, request, items } of await asked()) {
    const found = statementOf(table, query);
    if (found === null) {
      assert.equal(query.index, "many");
      await site.refused("ExecuteStatement", { Statement: 'SELECT * FROM "codes"."many"' });
      continue;
    }
    const { statement, parameters } = found;
    const { Items } = await site.call("ExecuteStatement", {
      Statement: statement, ...(parameters.length > 0 && { Parameters: parameters }), ...(request.input.Limit && { Limit: limit }), ConsistentRead: query.consistent,
    });
    assert.deepEqual(comparable(Items), comparable(query.fields.length > 0 ? items.map((item) => flat(item, query.fields)) : items), statement);
  }
});

/* Programs that find nothing. */
const act = { cli: aws, boto3: (code) => run.boto3([code]), javascript: (code) => run.javascript([code]) };

test("code of an item writes the item", async () => {
  const Key = { group: ITEM.group, order: ITEM.order };
  const takeAway = async () => comparable((await site.call("DeleteItem", { TableName: "codes", Key, ReturnValues: "ALL_OLD" })).Attributes);
  const expected = await takeAway();
  for (const [language, code] of LANGUAGES) {
    await act[language](code("PutItem", { TableName: "codes", Item: ITEM }, site.url));
    assert.deepEqual(await takeAway(), expected, language);
  }
  const { statement, parameters } = insertCode("codes", ITEM);
  await site.call("ExecuteStatement", { Statement: statement, Parameters: parameters });
  assert.deepEqual(await takeAway(), expected, "PartiQL");
});

test("code creates tables, and changes them", async () => {
  const { AttributeDefinitions, KeySchema, LocalSecondaryIndexes, GlobalSecondaryIndexes } = TABLE;
  const create = { TableName: "made", AttributeDefinitions, KeySchema, LocalSecondaryIndexes, GlobalSecondaryIndexes, BillingMode: "PAY_PER_REQUEST", StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" } };
  const update = { TableName: "made", AttributeDefinitions: [{ AttributeName: "more", AttributeType: "N" }], GlobalSecondaryIndexUpdates: [{ Create: index("more", ["more"], []) }] };
  const indexes = async () => (await site.call("DescribeTable", { TableName: "made" })).Table;
  const facts = (list) => list.map(({ IndexName, KeySchema: keys }) => [IndexName, keys]).sort();
  for (const [language, code] of LANGUAGES) {
    await act[language](code("CreateTable", create, site.url));
    const made = await indexes();
    assert.deepEqual([made.KeySchema, facts(made.GlobalSecondaryIndexes), facts(made.LocalSecondaryIndexes), made.StreamSpecification],
      [KeySchema, facts(GlobalSecondaryIndexes), facts(LocalSecondaryIndexes), create.StreamSpecification], language);
    await act[language](code("UpdateTable", update, site.url));
    assert.equal((await indexes()).GlobalSecondaryIndexes.length, 4, language);
    await site.call("DeleteTable", { TableName: "made" });
  }
});

test("the page shows this code", async () => {
  const query = { ...EMPTY, ...filterBy("raw", "=", "B", "Aw==") };
  const { operation, input } = requestOf(tables.codes, query, 50);
  const { statement, parameters } = statementOf(tables.codes, query);
  const page = await site.open(`tables/codes/items?q=${encodeURIComponent(queryToAddress(query))}`);
  const code = page.getByRole("region", { name: "Request as code" });
  for (const [tab, ...texts] of [["AWS CLI", cliCode(operation, input, site.url)], ["boto3", boto3Code(operation, input, site.url)], ["JavaScript", javascriptCode(operation, input, site.url)], ["PartiQL", statement, JSON.stringify(parameters)]]) {
    await code.getByRole("tab", { name: tab }).click();
    assert.deepEqual(await code.locator("pre:visible").allTextContents(), texts, tab);
  }
  assert.equal(await code.getByText("Open in PartiQL").count(), 0, "the editor has no parameters");
  await close(page);
});

test("the first query of Connect finds the item that it was made from", async () => {
  const commands = [];
  for (const [number, [type, value]] of [["S", "it's \"Nina\" \\ é"], ["N", "1"], ["N", "-1.5"], ["N", DIGITS], ["B", "AP/+"]].entries()) {
    const TableName = `first-${number}`;
    const table = { TableName, BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "name's", AttributeType: type }], KeySchema: [{ AttributeName: "name's", KeyType: "HASH" }] };
    await site.call("CreateTable", table);
    const item = { "name's": { [type]: value }, text: { S: "found" } };
    await site.call("PutItem", { TableName, Item: item });
    const code = Object.fromEntries(snippets({ endpoint: site.url, region: "us-east-1", table, item }).map(([id, , words]) => [id, words]));
    assert.match(await printed("/usr/bin/python3", write("first.py", code.python)), /found/, `Python: ${type}`);
    assert.match(await printed("node", write("first.mjs", code.javascript)), /found/, `JavaScript: ${type}`);
    commands.push([code.cli, comparable([item])]);
  }
  assert.deepEqual((await run.cli(commands.map(([text]) => text))).map(comparable), commands.map(([, items]) => items));
});
