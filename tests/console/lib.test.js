/* The console's own modules, without a browser: signatures, JSON and CSV, keys of items, PartiQL plans, code. */
import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { test } from "node:test";
import { boto3Code, cliCode, partiqlCode } from "../../console/src/lib/code.js";
import { csvHead, csvItems, csvLine, csvReader } from "../../console/src/lib/csv.js";
import { timeRange } from "../../console/src/lib/format.js";
import { jsonSplitter, parseJson } from "../../console/src/lib/json.js";
import { findKinds } from "../../console/src/lib/kinds.js";
import { pathOf, pathsOf, pathSteps } from "../../console/src/lib/path.js";
import { isExplainable, readPlan, statementsOf, writeOf } from "../../console/src/lib/plan.js";
import { sign } from "../../console/src/lib/sign.js";
import { fromPlain, itemFromText, itemSize, plainJson, problemOf, same } from "../../console/src/lib/values.js";

globalThis.crypto ??= webcrypto; /* Node.js 18 */

test("signatures are those of botocore", async () => {
  const keys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
  const post = { method: "POST", path: "/", host: "127.0.0.1:8000", body: '{"TableName":"Müsic"}', headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": "DynamoDB_20120810.DescribeTable" } };
  const get = { method: "GET", path: "/_gramme/api/patterns", search: "sort=units&q=a%20b%2Fc%28%29&limit=5", host: "127.0.0.1:8000", headers: {} };
  const expected = [[post, "", "5dbac361037c08dd550eece6cb8fa6e4481b4624f061a76647fbebeec6911e46"], [get, "", "1e489507f9d19bfd19bb407ac6c53652230865b28fa5502a1a0725662c4650a6"],
    [post, "the/token==", "47b8a17a5028bc21488f9db6d9cae5aaead8aad69a39ba6daf2ac9150473d971"], [get, "the/token==", "d6c9fd982ce4f2e382b190aa2306cf6313606691aca0fd97fa5da9e967ffddb8"]];
  const now = new Date("2026-11-17T03:04:05.678Z");
  for (const [request, sessionToken, signature] of expected) {
    const { authorization } = await sign(request, { ...keys, sessionToken }, "eu-west-1", now);
    assert.equal(authorization.split("Signature=")[1], signature);
  }
});

test("without Web Crypto signatures are the same", async () => {
  const keys = (secretAccessKey) => ({ accessKeyId: "a", secretAccessKey });
  const request = (body) => ({ method: "POST", path: "/", host: "h", headers: {}, body });
  const now = new Date(0);
  const bodies = ["", "x", "é".repeat(27), "y".repeat(55), "y".repeat(56), "y".repeat(64), "z".repeat(100_000)];
  const secrets = ["short", "s".repeat(200)];
  const all = () => Promise.all(bodies.flatMap((body) => secrets.map((secret) => sign(request(body), keys(secret), "r", now))));
  const expected = await all();
  const subtle = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(crypto), "subtle");
  Object.defineProperty(Object.getPrototypeOf(crypto), "subtle", { value: undefined, configurable: true });
  try {
    /* Another day, then back: the cached key must not hide the other implementation. */
    await sign(request(""), keys("other"), "r", now);
    assert.deepEqual(await all(), expected);
  } finally {
    Object.defineProperty(Object.getPrototypeOf(crypto), "subtle", subtle);
  }
});

test("JSON keeps digits, and says where it is wrong", () => {
  const text = '{"a": 1234567890123456789.00000001, "b": [1e5, "x\\u00e9\\n", true, null], "__proto__": {}}';
  const value = fromPlain(parseJson(text));
  assert.deepEqual(value.M.a, { N: "1234567890123456789.00000001" });
  assert.deepEqual(value.M.b, { L: [{ N: "1e5" }, { S: "xé\n" }, { BOOL: true }, { NULL: true }] });
  for (const [bad, message] of [["{", /expected/], ['{"a":1,}', /a string/], ["[1 2]", /, or \]/], ['{"a":1,"a":2}', /twice/], ["01", /the end/], ['"\u0001"', /a string|a value/], ["{}x", /the end/], ["[".repeat(60), /levels/]]) {
    assert.throws(() => parseJson(bad), message, bad);
  }
});

test("an item goes to plain JSON and back with its types", () => {
  const item = { s: { S: 'quo"te' }, n: { N: "1.10" }, b: { B: "AQ==" }, ss: { SS: ["a"] }, ns: { NS: ["1", "2"] }, bs: { BS: ["AQ=="] }, l: { L: [] }, m: { M: { x: { SS: ["p"] }, y: { NULL: true } } }, t: { BOOL: false } };
  assert.deepEqual(itemFromText(plainJson({ M: item }), "plain", item), item);
  assert.deepEqual(itemFromText(JSON.stringify(item), "typed"), item);
  assert.throws(() => itemFromText('{"a": 1}', "typed"), /no typed value/);
  assert.throws(() => itemFromText("[]", "plain"), /An item is an object/);
  assert.ok(same({ a: { SS: ["x", "y"] }, b: { S: "1" } }, { b: { S: "1" }, a: { SS: ["y", "x"] } }));
  assert.ok(!same({ a: { L: [{ S: "x" }, { S: "y" }] } }, { a: { L: [{ S: "y" }, { S: "x" }] } }));
  assert.equal(itemSize({ pk: { S: "abc" }, n: { N: "12345" } }), 2 + 3 + 1 + 4);
  assert.match(problemOf({ M: { a: { NS: [] } } }), /at least one/);
  assert.match(problemOf({ L: [{ N: "x" }] }), /no number/);
  assert.equal(problemOf({ N: "-1.5E+10" }), null);
});

test("JSON files are split wherever pieces end", () => {
  const objects = [{ a: "}{][\"\\" }, { b: [1, { c: "é" }] }, {}];
  for (const text of [JSON.stringify(objects), objects.map((one) => JSON.stringify(one)).join("\n"), `\ufeff ${JSON.stringify(objects, null, 2)}\n`]) {
    for (const size of [1, 2, 3, 7, 1000]) {
      const splitter = jsonSplitter();
      const found = [];
      for (let at = 0; at < text.length; at += size) {
        found.push(...splitter.push(text.slice(at, at + size)));
      }
      splitter.end();
      assert.deepEqual(found.map((one) => JSON.parse(one)), objects, `${size}: ${text}`);
    }
  }
  const cut = jsonSplitter();
  cut.push('[{"a": 1}, {"b"');
  assert.throws(() => cut.end(), /middle/);
  assert.throws(() => jsonSplitter().push("hello"), /Expected objects/);
});

test("CSV goes out and comes back", () => {
  const items = [{ k: { S: 'a,"b"\nc' }, n: { N: "1.5" }, t: { BOOL: true } }, { k: { S: "123" }, z: { NULL: true }, ss: { SS: ["x", "y"] } }, { k: { S: "" }, m: { M: { a: { S: "true" } } }, t: { S: "true" } }];
  const columns = ["k", "n", "t", "z", "ss", "m"];
  const text = csvHead(columns) + items.map((item) => csvLine(columns, item)).join("");
  for (const size of [1, 3, 10_000]) {
    const reader = csvReader();
    const take = csvItems({ k: "S" }, false);
    const records = [];
    for (let at = 0; at < text.length; at += size) {
      records.push(...reader.push(text.slice(at, at + size)));
    }
    records.push(...reader.finish());
    assert.deepEqual(records.map(take).filter(Boolean), items);
  }
  const reader = csvReader();
  assert.deepEqual([...reader.push('a,b\r\n1,"x'), ...reader.push('y"\r\n2'), ...reader.finish()].map((one) => one.map(({ text: cell }) => cell)), [["a", "b"], ["1", "xy"], ["2"]]);
  const open = csvReader();
  open.push('a\n"x');
  assert.throws(() => open.finish(), /quotes/);
});

test("kinds are found by type attribute or by the form of keys", () => {
  const sources = [{ name: null, hash: ["PK"], range: ["SK"] }, { name: "GSI1", hash: ["GPK"], range: [] }];
  const S = (text) => ({ S: text });
  const order = (i) => ({ PK: S(`CUSTOMER#c${i % 3}`), SK: S(`ORDER#2026-01-0${1 + (i % 9)}#o${i}`), orderId: S(`o${i}`), day: S(`2026-01-0${1 + (i % 9)}`), customer: S(`c${i % 3}`), GPK: S(`ORDER#o${i}`) });
  const customer = (i) => ({ PK: S(`CUSTOMER#c${i}`), SK: S("PROFILE"), name: S(`n${i}`), customer: S(`c${i}`) });
  const kinds = findKinds([...[...Array(9).keys()].map(order), ...[0, 1, 2].map(customer)], sources, "Shop");
  assert.deepEqual(kinds.map((kind) => [kind.name, kind.items.length]), [["ORDER", 9], ["CUSTOMER", 3]]);
  const text = (kind, source) => {
    const found = kind.keys.find((one) => one.source === source);
    return found && [...found.hash, ...found.range].map((key) => key.pieces.map((piece) => piece.text).join(""));
  };
  assert.deepEqual(text(kinds[0], null), ["CUSTOMER#{customer}", "ORDER#{day}#{orderId}"]);
  assert.deepEqual(text(kinds[0], "GSI1"), ["ORDER#{orderId}"]);
  assert.deepEqual(text(kinds[1], null), ["CUSTOMER#{customer}", "PROFILE"]);
  assert.equal(text(kinds[1], "GSI1"), undefined);
  assert.deepEqual(findKinds([{ PK: S("1"), SK: S("2"), type: S("dog") }, { PK: S("3"), SK: S("4"), type: S("cat") }], sources, "T").map((kind) => kind.name).sort(), ["cat", "dog"]);
  assert.deepEqual(findKinds([], sources, "T"), []);
});

test("PartiQL statements: what is asked of the server, and its plans", () => {
  const rows = [
    ["SELECT * FROM t WHERE pk = 'a'", true], ['SELECT * FROM "t"."by_x" WHERE x = 1 ORDER BY x', true], ["SELECT * FROM t", true], ["SELECT * FROM t WHERE pk IN ['a','b']", true],
    ["SELECT * FROM other", false], ["SELECT * FROM t WHERE", false], ["SELECT * FROM t WHERE pk =", false], ["SELECT * FROM t WHERE pk IN ['a'", false], ["SELECT * FROM t WHERE pk = 'a' AND", false],
    ["SELECT * FROM t WHERE pk = 'a", false], ["SELECT", false], ["INSERT INTO t VALUE {'pk': 1}", false], ["", false],
  ];
  for (const [statement, isAsked] of rows) {
    assert.equal(isExplainable(statement, ["t"]), isAsked, statement);
  }
  assert.equal(writeOf("INSERT INTO t VALUE {'pk': 1}").text, "Writes one item of t");
  assert.equal(writeOf("UPDATE t SET a = 1 WHERE pk = 1").kind, "write");
  assert.equal(writeOf("SELECT * FROM t"), null);
  assert.deepEqual(readPlan('query music.by_year\n  range: artist = "a", year > 1965\n  order: descending\n'), { kind: "query", text: "Queries music.by_year", details: ['range: artist = "a", year > 1965', "order: descending"] });
  assert.deepEqual(readPlan("scan music\n"), { kind: "scan", text: "Reads every item of music", details: [] });
  assert.deepEqual(statementsOf("SELECT ';' FROM a; -- note\n ;UPDATE \"b;\" SET x=1").map((one) => one.text), ["SELECT ';' FROM a", 'UPDATE "b;" SET x=1']);
});

test("code quotes what it must", () => {
  assert.equal(cliCode("Query", { TableName: "t", ExpressionAttributeValues: { ":v": { S: "it's" } }, ScanIndexForward: false, Limit: 3 }, "http://h"),
    `aws dynamodb query \\\n    --endpoint-url http://h \\\n    --table-name t \\\n    --expression-attribute-values '{":v":{"S":"it'\\''s"}}' \\\n    --no-scan-index-forward \\\n    --max-items 3`);
  assert.match(boto3Code("PutItem", { TableName: "t", Item: { b: { B: "AQ==" }, t: { BOOL: true } } }, "http://h"), /^import base64\nimport boto3[^]*"B": base64\.b64decode\("AQ=="\)[^]*True/);
  assert.equal(partiqlCode({ table: 'a"b', index: "i", conditions: [{ steps: ["m", "x", 0], op: "=", values: [{ S: "o'c" }] }, { steps: ["z"], op: "not_exists", values: [] }], projection: [["p"]], isBackward: true, sortKey: "s" }).statement,
    `SELECT "p"\nFROM "a""b"."i"\nWHERE "m"."x"[0] = 'o''c'\n  AND "z" IS MISSING\nORDER BY "s" DESC`);
});

test("paths: names, positions, and names in quotes", () => {
  const rows = [["a", ["a"]], ["a.b[2][0].c", ["a", "b", 2, 0, "c"]], ['"user.id"', ["user.id"]], ['"a ""b""".c', ['a "b"', "c"]], ["it's", ["it's"]], ['say "x"', ['say "x"']],
    ["a.", ["a."]], [".a", [".a"]], ["[0]", ["[0]"]], ["a[x]", ["a[x]"]], ['"a"b', ['"a"b']], ["a..b", ["a..b"]]]; /* no paths: names as they are */
  for (const [text, steps] of rows) {
    assert.deepEqual(pathSteps(text), steps, text);
  }
  for (const name of ["a", "user.id", "[0]", 'say "x"', "a, b", " a", '"', "naïve"]) {
    assert.deepEqual(pathSteps(pathOf(name)), [name]);
  }
  assert.deepEqual(pathsOf('a, "b, c".d[0],,e '), ["a", '"b, c".d[0]', "e"]);
});

test("times of charts: a single point has some time before it", () => {
  const rows = [[[1000, 1000, 0, 600], [400, 1000]], [[900, 1000, 0, 600], [400, 1000]], [[0, 1000, 0, 600], [0, 1000]], [[0, 1000, 300, 60], [700, 1000]], [[990, 1000, 300, 60], [940, 1000]]];
  for (const [given, expected] of rows) {
    assert.deepEqual(timeRange(...given), expected, given.join());
  }
});
