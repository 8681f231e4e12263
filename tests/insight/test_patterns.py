"""Access patterns: what is folded together, what is counted, what is kept."""

import json
import os
import re
import subprocess
import urllib.error
import urllib.request

import pytest

from insight import Insight
from server import program
from tables import create_table
from waiting import poll
from wire import Client, Refused

S = lambda text: {"S": text}
N = lambda number: {"N": str(number)}


@pytest.fixture
def table(db):
    return create_table(db, "pk sk", gsi={"gsi": "gk gs"}, lsi={"lsi": "pk ls"})


def send(endpoint, operation, body, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(endpoint, json.dumps(body).encode(), {
        "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        "Authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=00", **headers})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_calls_of_the_console_are_not_traffic(start_server):
    """The console says in a header that a call is for its pages: it is counted as one of the console, and in nothing else. The header of a
    page of another origin, or without an origin, is ignored."""
    server = start_server("memory:", "--cors", "http://other.example")
    insight = Insight(server.endpoint)
    with Client(server.endpoint) as db:
        table = create_table(db, "pk")
        db.PutItem(TableName=table, Item={"pk": S("a")})
        insight.post("simulation", {"tables": {table: {"errorRate": 1}}})
        insight.post("reset")
        for _ in range(3):
            assert send(server.endpoint, "Scan", {"TableName": table}, Origin=server.endpoint, X_Gramme_Console="1")["Count"] == 1
        send(server.endpoint, "PutItem", {"TableName": table, "Item": {"pk": S("b")}}, Origin=server.endpoint, X_Gramme_Console="1")
        assert insight.patterns() == {} and insight.get("heat")["places"] == []
        totals = insight.get("overview")["totals"]
        assert (totals["calls"], totals["consoleCalls"], totals["readUnits"]) == (0, 4, 0)
        assert insight.get("simulation")["counts"]["errors"] == 0
        for headers in ({}, {"Origin": "http://other.example"}):
            with pytest.raises(urllib.error.HTTPError) as refused:
                send(server.endpoint, "Scan", {"TableName": table}, X_Gramme_Console="1", **headers)
            assert refused.value.code == 500
        assert insight.pattern(f"Scan {table}")["calls"] == 2
        assert insight.get("overview")["totals"]["consoleCalls"] == 4
        insight.post("reset")
        assert insight.get("overview")["totals"]["consoleCalls"] == 0


def test_programs_may_not_see_what_the_console_wrote(start_server):
    """Stale reads and lagging indexes do not show writes of the console yet, like those of programs. The console reads the newest state."""
    server = start_server("memory:")
    insight = Insight(server.endpoint)
    console = {"Origin": server.endpoint, "X_Gramme_Console": "1"}
    with Client(server.endpoint) as db:
        table = create_table(db, "pk", gsi={"gsi": "g"})
        of_index = {"TableName": table, "IndexName": "gsi", "KeyConditionExpression": "g = :g", "ExpressionAttributeValues": {":g": S("x")}}
        insight.post("simulation", {"tables": {table: {"indexLagMs": 60_000}}})
        send(server.endpoint, "PutItem", {"TableName": table, "Item": {"pk": S("a"), "g": S("x")}}, **console)
        send(server.endpoint, "BatchWriteItem", {"RequestItems": {table: [{"PutRequest": {"Item": {"pk": S("b"), "g": S("x")}}}]}}, **console)
        assert db.Query(**of_index)["Count"] == 0
        assert send(server.endpoint, "Query", of_index, **console)["Count"] == 2
        insight.post("simulation", {"tables": {table: {"indexLagMs": 0}}})
        assert db.Query(**of_index)["Count"] == 2


# operation, request without TableName, text of the pattern ("T" is the table)
SHAPES = [
    ("GetItem", {"Key": {"pk": S("a"), "sk": S("b")}}, "GetItem T pk = ? AND sk = ?"),
    ("GetItem", {"Key": {"pk": S("a"), "sk": S("b")}, "ConsistentRead": True,
                 "ProjectionExpression": "#a, b[1].c", "ExpressionAttributeNames": {"#a": "odd name"}},
     'GetItem T pk = ? AND sk = ? RETURN "odd name", b[1].c CONSISTENT'),
    ("GetItem", {"Key": {"pk": S("a"), "sk": S("b")}, "AttributesToGet": ["x", "y"]},
     "GetItem T pk = ? AND sk = ? RETURN x, y"),
    ("PutItem", {"Item": {"pk": S("a"), "sk": S("b")}}, "PutItem T"),
    ("PutItem", {"Item": {"pk": S("a"), "sk": S("c")}, "ConditionExpression": "attribute_not_exists(pk)"},
     "PutItem T IF attribute_not_exists(pk)"),
    ("DeleteItem", {"Key": {"pk": S("a"), "sk": S("z")}}, "DeleteItem T pk = ? AND sk = ?"),
    ("UpdateItem", {"Key": {"pk": S("a"), "sk": S("b")},
                    "UpdateExpression": "REMOVE r ADD c :one SET n = if_not_exists(n, :one) + :one, #m.x = :one",
                    "ConditionExpression": "NOT (attribute_exists(q) AND size(q) > :one) OR n IN (:one, :two)",
                    "ExpressionAttributeNames": {"#m": "gk2"},
                    "ExpressionAttributeValues": {":one": N(1), ":two": N(2)}},
     "UpdateItem T pk = ? AND sk = ? SET n = if_not_exists(n, ?) + ?, gk2.x = ? REMOVE r ADD c ? "
     "IF NOT (attribute_exists(q) AND size(q) > ?) OR n IN (?, ...)"),
    ("UpdateItem", {"Key": {"pk": S("a"), "sk": S("b")},
                    "AttributeUpdates": {"x": {"Action": "PUT", "Value": N(1)}, "y": {"Action": "DELETE"}}},
     "UpdateItem T pk = ? AND sk = ? SET x = ? REMOVE y"),
    ("Query", {"KeyConditionExpression": "begins_with(sk, :s) AND pk = :p",
               "ExpressionAttributeValues": {":p": S("a"), ":s": S("b")}, "ScanIndexForward": False},
     "Query T pk = ? AND begins_with(sk, ?) BACKWARD"),
    ("Query", {"KeyConditions": {"sk": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [S("a"), S("b")]},
                                 "pk": {"ComparisonOperator": "EQ", "AttributeValueList": [S("a")]}}},
     "Query T pk = ? AND sk BETWEEN ? AND ?"),
    ("Query", {"IndexName": "gsi", "KeyConditionExpression": "gk = :p", "FilterExpression": "n BETWEEN :a AND :b",
               "ExpressionAttributeValues": {":p": S("a"), ":a": N(1), ":b": N(2)}, "Limit": 5},
     "Query T.gsi gk = ? FILTER n BETWEEN ? AND ? LIMIT"),
    ("Query", {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": S("a")}, "Select": "COUNT"},
     "Query T pk = ? COUNT"),
    ("Scan", {}, "Scan T"),
    ("Scan", {"IndexName": "lsi", "ConsistentRead": True}, "Scan T.lsi CONSISTENT"),
    ("Scan", {"FilterExpression": "contains(a.b, :x) AND attribute_type(c, :t)",
              "ExpressionAttributeValues": {":x": S("a"), ":t": S("S")}},
     "Scan T FILTER contains(a.b, ?) AND attribute_type(c, S)"),
]


def canonical(pattern, table):
    return pattern.replace(" T", " " + table, 1)


@pytest.mark.parametrize("operation, request_, text", SHAPES, ids=[row[2] for row in SHAPES])
def test_text(db, table, insight, operation, request_, text):
    try:
        db.call(operation, {"TableName": table, **request_})
    except Refused as refused:
        assert refused.type == "ConditionalCheckFailedException" or "document path" in refused.message, refused
    pattern = insight.patterns()[canonical(text, table)]
    assert pattern["calls"] == 1
    assert pattern["operation"] == operation and pattern["table"] == table
    assert pattern["scan"] == (operation == "Scan")


def test_same_shape_is_one_pattern(db, table, insight):
    """Names of placeholders, values, order of key terms and lengths of lists do not count."""
    for number, (p, s) in enumerate([(":p", ":s"), (":x", ":y")]):
        db.Query(TableName=table, KeyConditionExpression=f"pk = {p} AND sk > {s}", FilterExpression=f"#n IN ({p}, {s})",
                 ExpressionAttributeNames={"#n": "name"}, ExpressionAttributeValues={p: S(f"k{number}"), s: S("b")})
        db.Query(TableName=table, KeyConditionExpression=f"#k > {s} AND pk = {p}", FilterExpression=f"#n IN ({p})",
                 ExpressionAttributeNames={"#n": "name", "#k": "sk"}, ExpressionAttributeValues={p: S("a"), s: S("b")})
    assert list(insight.patterns(operation="Query")) == [f"Query {table} pk = ? AND sk > ? FILTER name IN (?, ...)"]
    assert insight.patterns(operation="Query").popitem()[1]["calls"] == 4


def test_items_of_batches_and_transactions(db, table, insight):
    keys = [{"pk": S("a"), "sk": S(str(i))} for i in range(4)]
    db.BatchWriteItem(RequestItems={table: [{"PutRequest": {"Item": key}} for key in keys[:3]]})
    db.BatchGetItem(RequestItems={table: {"Keys": keys}})
    db.TransactGetItems(TransactItems=[{"Get": {"TableName": table, "Key": key}} for key in keys[:2]])
    db.TransactWriteItems(TransactItems=[
        {"Delete": {"TableName": table, "Key": keys[0]}},
        {"Update": {"TableName": table, "Key": keys[1], "UpdateExpression": "SET x = :x",
                    "ExpressionAttributeValues": {":x": N(1)}}},
        {"ConditionCheck": {"TableName": table, "Key": keys[2], "ConditionExpression": "attribute_exists(pk)"}}])
    db.BatchWriteItem(RequestItems={table: [{"DeleteRequest": {"Key": keys[2]}}]})
    patterns = insight.patterns(table=table)
    assert {text: pattern["calls"] for text, pattern in patterns.items()} == {
        f"BatchWriteItem Put {table}": 3,
        f"BatchGetItem {table} pk = ? AND sk = ?": 4,
        f"TransactGetItems {table} pk = ? AND sk = ?": 2,
        f"TransactWriteItems Delete {table} pk = ? AND sk = ?": 1,
        f"TransactWriteItems Update {table} pk = ? AND sk = ? SET x = ?": 1,
        f"TransactWriteItems ConditionCheck {table} pk = ? AND sk = ? IF attribute_exists(pk)": 1,
        f"BatchWriteItem Delete {table} pk = ? AND sk = ?": 1,
    }
    batch_get = patterns[f"BatchGetItem {table} pk = ? AND sk = ?"]
    assert (batch_get["itemsReturned"], batch_get["readUnits"]) == (3, 2.0)
    assert patterns[f"TransactWriteItems Delete {table} pk = ? AND sk = ?"]["writeUnits"] == 2


def test_partiql(db, table, insight):
    db.ExecuteStatement(Statement=f'INSERT INTO "{table}" VALUE {{\'pk\': \'secret-1\', \'sk\': \'b\', \'n\': 5}}')
    db.ExecuteStatement(Statement=f'SELECT n FROM "{table}" WHERE pk = \'secret-1\' AND n = 17')
    db.ExecuteStatement(Statement=f'SELECT n FROM "{table}" WHERE pk = \'secret-2\' AND n = 18')
    db.ExecuteStatement(Statement=f'SELECT * FROM "{table}" WHERE n = 5')
    db.ExecuteStatement(Statement=f'UPDATE "{table}" SET n = n + 1 WHERE pk = \'secret-1\' AND sk = \'b\'')
    patterns = insight.patterns(table=table)
    keyed = patterns[f"ExecuteStatement Select {table} FILTER pk = ? AND n = ? RETURN n"]
    whole = patterns[f"ExecuteStatement Select {table} FILTER n = ?"]
    assert (keyed["calls"], keyed["scan"], whole["scan"]) == (2, False, True)
    for pattern in patterns.values():
        assert "secret" not in json.dumps(insight.get("patterns/" + pattern["id"])), pattern


def test_counts(db, table, insight):
    for i in range(10):
        db.PutItem(TableName=table, Item={"pk": S("a"), "sk": S(f"{i}"), "n": N(i), "pad": S("x" * 500)})
    answer = db.Query(TableName=table, KeyConditionExpression="pk = :p", FilterExpression="n < :n",
                      ExpressionAttributeValues={":p": S("a"), ":n": N(3)}, ReturnConsumedCapacity="INDEXES")
    pattern = insight.pattern(f"Query {table} pk = ? FILTER n < ?")
    assert (pattern["itemsRead"], pattern["itemsReturned"], pattern["itemsReadMax"]) == (10, 3, 10)
    assert pattern["readUnits"] == answer["ConsumedCapacity"]["CapacityUnits"] == 1.0
    assert pattern["bytesRead"] > 5000 and pattern["answerBytes"] > 1500
    assert pattern["firstSeenAt"] == pattern["lastSeenAt"]
    assert 0 < pattern["latency"]["p50Us"] <= pattern["latency"]["maxUs"]


def test_errors_by_kind(db, table, insight):
    item = {"pk": S("a"), "sk": S("b")}
    for _ in range(3):
        try:
            db.PutItem(TableName=table, Item=item, ConditionExpression="attribute_not_exists(pk)")
        except Refused as refused:
            assert refused.type == "ConditionalCheckFailedException"
    for _ in range(2):
        with pytest.raises(Refused):
            db.GetItem(TableName="not-there", Key=item)
    pattern = insight.pattern(f"PutItem {table} IF attribute_not_exists(pk)")
    assert (pattern["calls"], pattern["errors"]) == (3, 2)
    assert pattern["errorKinds"] == {"ConditionalCheckFailedException": 2}
    assert pattern["writeUnits"] == 3  # a failed condition is charged too
    missing = insight.pattern("GetItem")
    assert missing["table"] is None and missing["errorKinds"] == {"ResourceNotFoundException": 2}


def test_example_masks_values(db, table, insight):
    db.UpdateItem(TableName=table, Key={"pk": S("person@example.org"), "sk": S("b")},
                  UpdateExpression="SET #s = :s, l = :l, n = :n, z = :z",
                  ExpressionAttributeNames={"#s": "status"},
                  ExpressionAttributeValues={":s": S("confidential"), ":n": N(424242), ":z": {"BOOL": False},
                                             ":l": {"L": [{"M": {"inner": {"SS": ["hidden-1", "hidden-2"]}}}]}})
    pattern = insight.get("patterns/" + insight.patterns(operation="UpdateItem").popitem()[1]["id"])
    example = pattern["example"]
    assert example["operation"] == "UpdateItem"
    assert example["request"]["ExpressionAttributeNames"] == {"#s": "status"}
    assert example["request"]["ExpressionAttributeValues"] == {
        ":s": S("***"), ":n": N(0), ":z": {"BOOL": True}, ":l": {"L": [{"M": {"inner": {"SS": ["***", "***"]}}}]}}
    for secret in ("person", "confidential", "424242", "hidden"):
        assert secret not in json.dumps(pattern)
    assert sum(bucket["calls"] for bucket in pattern["histogram"]) == 1


def test_kept_across_restarts(start_server, tmp_path):
    store = f"rocksdb:{tmp_path}/data"
    server = start_server(store)
    with Client(server.endpoint) as db:
        table = create_table(db, "pk sk", gsi={"gsi": "gk"})
        for i in range(5):
            db.PutItem(TableName=table, Item={"pk": S("a"), "sk": S(str(i)), "gk": S("x")})
        with pytest.raises(Refused):
            db.PutItem(TableName=table, Item={"pk": S("a"), "sk": S("1")}, ConditionExpression="attribute_not_exists(pk)")
    def kept(pattern):
        assert set(pattern.pop("lastMinute")) == {"calls", "errors", "units", "p50Us", "p99Us"}
        return pattern

    def patterns(insight):
        return {text: kept(pattern) for text, pattern in insight.patterns().items()}
    before = patterns(Insight(server.endpoint))
    examples = [kept(Insight(server.endpoint).get("patterns/" + p["id"])) for p in before.values()]
    since = Insight(server.endpoint).get("overview")["insight"]["since"]
    server.stop()
    if "GRAMME_POSTGRESQL" not in os.environ:  # a store on PostgreSQL has no files to check
        checked = subprocess.run([program(), "check", f"{tmp_path}/data"], capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stdout + checked.stderr
    server = start_server(store)
    insight = Insight(server.endpoint)
    # The collector reads them after the start.
    poll(lambda: len(insight.patterns()) == len(before), 30, "patterns are back")
    assert patterns(insight) == before
    assert [kept(insight.get("patterns/" + p["id"])) for p in before.values()] == examples
    assert insight.get("overview")["insight"]["since"] == since
    with Client(server.endpoint) as db:
        db.PutItem(TableName=table, Item={"pk": S("a"), "sk": S("9"), "gk": S("x")})
    assert insight.pattern(f"PutItem {table}")["calls"] == 6
    insight.post("reset")
    assert insight.patterns() == {}


def test_prometheus(db, table, server, insight):
    for i in range(3):
        db.PutItem(TableName=table, Item={"pk": S("a"), "sk": S(str(i))})
    with urllib.request.urlopen(server.endpoint + "/metrics") as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        text = answer.read().decode()
    samples = {}
    for line in text.splitlines():
        if line.startswith("#"):
            assert re.fullmatch(r"# (HELP|TYPE) [a-z_]+ .+", line), line
            continue
        name, labels, value = re.fullmatch(r'([a-z_]+)(?:\{((?:\w+="[^"]*",?)*)\})? (\S+)', line).groups()
        assert (name, labels) not in samples, line
        samples[name, labels] = float(value)
    assert samples["gramme_requests_total", f'operation="PutItem",table="{table}"'] == 3
    assert samples["gramme_consumed_write_units_total", f'operation="PutItem",table="{table}"'] == 3
    assert samples["gramme_request_seconds_count", 'operation="PutItem"'] == 3
    assert samples["gramme_request_seconds_bucket", 'operation="PutItem",le="+Inf"'] == 3


def test_overview_series_tables(db, table, insight):
    for i in range(3):
        db.PutItem(TableName=table, Item={"pk": S("a"), "sk": S(str(i)), "gk": S("x"), "gs": S("y")})
    overview = insight.get("overview")
    assert overview["totals"]["writeUnits"] == 6 == overview["lastMinute"]["writeUnits"]
    assert overview["tableCount"] == 1 and overview["insight"]["memoryBytes"] < 64 << 20
    described = insight.get("tables")["tables"][0]
    assert (described["table"], described["items"], described["writeUnits"]) == (table, 3, 6)
    assert described["indexes"][0]["index"] == "gsi" and described["indexes"][0]["writeUnits"] == 3
    series = insight.get("series")
    assert len({len(series[name]) for name in ("at", "calls", "errors", "readUnits", "writeUnits", "p50Us", "p99Us")}) == 1
    assert insight.get("tables", sort="load")["tables"][0]["table"] == table
    assert insight.get("series", step="minute", table=table)["step"] == 60


@pytest.mark.parametrize("method, path, status", [
    ("GET", "nothing", 404), ("GET", "overview/more", 404), ("POST", "overview", 404), ("GET", "reset", 404),
    ("GET", "patterns/0000000000000000", 404), ("GET", "patterns/zz", 404), ("GET", "patterns?sort=luck", 400),
    ("GET", "patterns?limit=0", 400), ("GET", "patterns?limit=many", 400), ("GET", "patterns?offset=-1", 400),
    ("GET", "series?step=hour", 400), ("GET", "series?table=x", 400), ("GET", "tables?sort=size", 400),
    ("GET", "heat?table=not-there", 404)])
def test_bad_requests(insight, method, path, status):
    answered, body = insight.request(method, path, {} if method == "POST" else None)
    assert answered == status and body["error"]


def test_other_origins_are_refused(insight):
    for method, path in (("GET", "overview"), ("POST", "reset")):
        status, _ = insight.request(method, path, {} if method == "POST" else None, {"Origin": "http://evil.example"})
        assert status == 403


def test_off(start_server):
    server = start_server("memory:", "--insight", "off")
    with Client(server.endpoint) as db:
        table = create_table(db, "pk")
        db.PutItem(TableName=table, Item={"pk": S("a")})
    for path in ("/_gramme/api/overview", "/metrics"):
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(server.endpoint + path)
        assert error.value.code == 404
