"""Each finding is reported for matching traffic, with evidence, and not where it should not."""

import pathlib

import pytest

from server import ROOT
from tables import create_table
from wire import Refused

S = lambda text: {"S": text}
N = lambda number: {"N": str(number)}


def fill(db, table, items):
    for start in range(0, len(items), 25):
        db.BatchWriteItem(RequestItems={table: [{"PutRequest": {"Item": item}} for item in items[start:start + 25]]})


def found(insight, table):
    return {finding["id"]: finding for finding in insight.get("findings", table=table)["findings"]}


def test_a_healthy_table_has_none(db, insight):
    table = create_table(db, "pk sk")
    fill(db, table, [{"pk": S(f"user-{i}"), "sk": S("2026-11-15T08:00:00Z"), "n": N(i)} for i in range(50)])
    for i in range(50):
        db.GetItem(TableName=table, Key={"pk": S(f"user-{i}"), "sk": S("2026-11-15T08:00:00Z")})
    assert found(insight, table) == {}


def test_scan_and_filter(db, insight):
    table = create_table(db, "pk")
    fill(db, table, [{"pk": S(f"k{i:05}"), "n": N(i)} for i in range(1000)])
    db.Scan(TableName=table, FilterExpression="n = :n", ExpressionAttributeValues={":n": N(5)})
    findings = found(insight, table)
    assert set(findings) == {"scan-on-growing-table", "filter-discards"}
    scan = findings["scan-on-growing-table"]
    assert scan["severity"] == "warning" and scan["title"] == "A Scan reads a large table"
    assert scan["numbers"] == {"calls": 1, "itemsRead": 1000, "tableItems": 1000, "tableItemsBefore": 1000}
    assert "n = ?" in scan["remedy"] and insight.get("patterns/" + scan["pattern"])["operation"] == "Scan"
    assert "read 1000 items to return 1 (0.1 %)" in findings["filter-discards"]["evidence"]
    assert insight.get("overview")["findingCount"] >= 0


def test_scan_of_a_table_that_grows(db, insight):
    """The number of items is compared with that of the first search."""
    table = create_table(db, "pk")
    fill(db, table, [{"pk": S(f"k{i:05}")} for i in range(1000)])
    db.Scan(TableName=table)
    assert found(insight, table)["scan-on-growing-table"]["severity"] == "warning"
    fill(db, table, [{"pk": S(f"k{i:05}")} for i in range(1000, 1300)])
    scan = found(insight, table)["scan-on-growing-table"]
    assert scan["severity"] == "critical" and scan["title"] == "A Scan reads a table that grows"
    assert (scan["numbers"]["tableItemsBefore"], scan["numbers"]["tableItems"]) == (1000, 1300)
    assert "1300 items and had 1000" in scan["evidence"]


def test_small_scans_are_fine(db, insight):
    table = create_table(db, "pk")
    fill(db, table, [{"pk": S(f"k{i:05}")} for i in range(50)])
    db.Scan(TableName=table)
    assert found(insight, table) == {}


def test_indexes(db, insight):
    table = create_table(db, "pk", gsi={"never": "a", "wide": "b", "used": ("c", "KEYS_ONLY")})
    fill(db, table, [{"pk": S(f"k{i}"), "a": S(f"a{i}"), "b": S(f"b{i}"), "c": S(f"c{i}")} for i in range(150)])
    for i in range(12):
        db.Query(TableName=table, IndexName="wide", KeyConditionExpression="b = :b", ProjectionExpression="pk",
                 ExpressionAttributeValues={":b": S(f"b{i}")})
        db.Query(TableName=table, IndexName="used", KeyConditionExpression="c = :c", ExpressionAttributeValues={":c": S(f"c{i}")})
    findings = found(insight, table)
    assert set(findings) == {"index-never-read", "index-over-projected"}
    assert findings["index-never-read"]["index"] == "never" and findings["index-never-read"]["numbers"]["writeUnits"] == 150
    assert findings["index-over-projected"]["index"] == "wide"


@pytest.mark.parametrize("projection, named, expected", [
    ("ALL", "pk, title", "projects ALL, but none of the 12 reads names 1 of its attributes"),
    ("ALL", "pk, title, body", None), ("ALL", None, None),
    (["title", "body"], "title", "projects body, which none of the 12 reads names"),
    (["title", "body"], "title, body", None), (["title", "my-body"], "title, #m", None), ("KEYS_ONLY", "pk", None)])
def test_projections(db, insight, projection, named, expected):
    table = create_table(db, "pk", gsi={"by-b": ("b", projection)})
    fill(db, table, [{"pk": S(f"k{i}"), "b": S("b"), "title": S("t"), ("my-body" if "#m" in (named or "") else "body"): S("x")} for i in range(20)])
    more = {"ProjectionExpression": named} if named else {}
    if named and "#m" in named:
        more["ExpressionAttributeNames"] = {"#m": "my-body"}
    for _ in range(12):
        db.Query(TableName=table, IndexName="by-b", KeyConditionExpression="b = :b", Limit=1, ExpressionAttributeValues={":b": S("b")}, **more)
    findings = found(insight, table)
    assert set(findings) == ({"index-over-projected"} if expected else set()), findings
    assert not expected or expected in findings["index-over-projected"]["evidence"]


def test_filters_count_as_reads(db, insight):
    table = create_table(db, "pk", gsi={"by-b": ("b", ["title", "body"])})
    fill(db, table, [{"pk": S(f"k{i}"), "b": S("b"), "title": S("t"), "body": S("x")} for i in range(20)])
    for _ in range(12):
        db.Query(TableName=table, IndexName="by-b", KeyConditionExpression="b = :b", ProjectionExpression="title", FilterExpression="body <> :n",
                 ExpressionAttributeValues={":b": S("b"), ":n": S("n")})
    assert found(insight, table) == {}


def test_index_that_is_not_sparse(db, insight):
    table = create_table(db, "pk", gsi={"by-status": "status"})
    fill(db, table, [{"pk": S(f"k{i}"), "status": S("open" if i % 9 == 0 else "done")} for i in range(1000)])
    db.Query(TableName=table, IndexName="by-status", KeyConditionExpression="#s = :s", Limit=1,
             ExpressionAttributeNames={"#s": "status"}, ExpressionAttributeValues={":s": S("open")})
    finding = found(insight, table)["index-not-sparse"]
    assert finding["numbers"] == {"entries": 1000, "items": 1000, "keys": 2}


def test_hot_key(db, insight):
    table = create_table(db, "pk")
    for i in range(1200):
        db.GetItem(TableName=table, Key={"pk": S("hot" if i % 4 else f"k{i}")})
    finding = found(insight, table)["hot-key"]
    assert '{"S":"hot"}' in finding["evidence"] and finding["numbers"]["share"] == pytest.approx(0.75, abs=0.01)


def test_consistency_and_conditions(db, insight):
    table = create_table(db, "pk")
    db.PutItem(TableName=table, Item={"pk": S("a")})
    for _ in range(120):
        db.GetItem(TableName=table, Key={"pk": S("a")}, ConsistentRead=True)
    other = create_table(db, "pk")
    for _ in range(20):
        try:
            db.PutItem(TableName=other, Item={"pk": S("a")}, ConditionExpression="attribute_not_exists(pk)")
        except Refused as refused:
            assert refused.type == "ConditionalCheckFailedException"
    assert "needless-consistency" in found(insight, table)
    finding = found(insight, other)["conditions-fail"]
    assert finding["numbers"] == {"calls": 20, "failed": 19} and "each failure is charged as a write" in finding["evidence"]


def test_inserts_and_transactions_that_fail(db, insight):
    """An INSERT of an item that exists is a condition that fails, too. A cancelled transaction consumes no units."""
    table = create_table(db, "pk")
    for _ in range(20):
        try:
            db.ExecuteStatement(Statement=f"INSERT INTO \"{table}\" VALUE {{'pk': 'a'}}")
        except Refused as refused:
            assert refused.type == "DuplicateItemException"
    finding = found(insight, table)["conditions-fail"]
    assert finding["numbers"] == {"calls": 20, "failed": 19} and "charged" in finding["evidence"]
    other = create_table(db, "pk")
    for _ in range(20):
        try:
            db.TransactWriteItems(TransactItems=[{"Put": {"TableName": other, "Item": {"pk": S("a")}, "ConditionExpression": "attribute_not_exists(pk)"}}])
        except Refused as refused:
            assert refused.type == "TransactionCanceledException"
    finding = found(insight, other)["conditions-fail"]
    assert finding["numbers"]["failed"] == 19 and "charged" not in finding["evidence"], finding


def test_large_items(db, insight):
    table = create_table(db, "pk")
    db.PutItem(TableName=table, Item={"pk": S("a"), "text": S("x" * 350_000)})
    assert found(insight, table)["large-items"]["numbers"]["itemBytesMax"] > 350_000
    insight.post("reset")  # what is stored shows it, too
    assert found(insight, table)["large-items"]["pattern"] is None


def test_size_of_item_collections(db, insight):
    """Every kind of write of a table with local indexes tells the size that its collection has then; src/meter/findings_test.c has the finding
    itself, of 7 GB."""
    table = create_table(db, "pk sk", lsi={"by_n": "pk n:N"})
    row = lambda sk: {"pk": S("p"), "sk": S(sk), "n": N(1), "text": S("x" * 100)}
    size = lambda item: sum(len(name) + len(str(next(iter(value.values())))) for name, value in item.items()) + 1  # the number 1 has 2 bytes
    entry = 2 * size(row("a"))  # the item, and its copy in the index
    db.PutItem(TableName=table, Item=row("a"))
    db.UpdateItem(TableName=table, Key={"pk": S("p"), "sk": S("a")}, UpdateExpression="SET n = :n", ExpressionAttributeValues={":n": N(2)})
    db.BatchWriteItem(RequestItems={table: [{"PutRequest": {"Item": row("b")}}]})
    db.TransactWriteItems(TransactItems=[{"Put": {"TableName": table, "Item": row("c")}}])
    db.ExecuteStatement(Statement=f"""INSERT INTO "{table}" VALUE {{'pk': 'p', 'sk': 'd', 'n': 1, 'text': '{"x" * 100}'}}""")
    db.DeleteItem(TableName=table, Key={"pk": S("p"), "sk": S("a")})
    found_sizes = {pattern["operation"]: pattern["collectionBytesMax"] for pattern in insight.get("patterns", table=table, limit=100)["patterns"]}
    counts = {"PutItem": 1, "UpdateItem": 1, "BatchWriteItem": 2, "TransactWriteItems": 3, "ExecuteStatement": 4, "DeleteItem": 3}
    assert {name.split()[0]: bytes_ for name, bytes_ in found_sizes.items() if bytes_} == {name: count * entry for name, count in counts.items()}


@pytest.mark.parametrize("sort_keys, expected", [
    (["TASK#1", "TASK#2", "TASK#10"], "misplacedNumbers"),
    (["TASK#01", "TASK#02", "TASK#10"], None),
    (["15.11.2026", "16.10.2026", "17.12.2025"], "misplacedDates"),
    (["2026-11-15T08:00:00Z", "2026-11-16T08:00:00Z"], None),
    (["AT#11/15/2026", "AT#11/16/2026"], "misplacedDates"),
    (["P#9#b", "P#10#a"], "misplacedNumbers"),
    (["P#09#b", "P#10#a"], None),
    (["2026-9-1", "2026-10-1"], "misplacedNumbers"),
    (["0.5", "0.25", "12:00:05.5", "12:00:05.25"], None),
    (["ID#12ab", "ID#1a2b", "ID#9f"], None),
])
@pytest.mark.parametrize("place", ["table", "gsi", "lsi"])
def test_sort_key_order(db, insight, place, sort_keys, expected):
    """Of the table, a global or a local index."""
    if place == "table":
        table = create_table(db, "pk sk")
        fill(db, table, [{"pk": S("a"), "sk": S(key)} for key in sort_keys])
    else:
        table = create_table(db, "pk sk", **{place: {"index": "g s" if place == "gsi" else "pk s"}})
        fill(db, table, [{"pk": S("a"), "sk": S(f"{i:03}"), "g": S("g"), "s": S(key)} for i, key in enumerate(sort_keys)])
    findings = found(insight, table)
    if expected is None:
        assert findings == {}
    else:
        assert findings["sort-key-order"]["numbers"][expected] > 0
        assert findings["sort-key-order"]["index"] == (None if place == "table" else "index")


def test_all_tables_are_examined(db, insight):
    """200 tables a search; the answer says how many, and further searches examine the others."""
    tables = [create_table(db, "pk") for _ in range(205)]
    fill(db, tables[-1], [{"pk": S("large"), "x": S("x" * 390_000)}])
    first = insight.get("findings", limit=1)
    assert first["tables"] >= 205 and first["tablesExamined"] == 200
    second = insight.get("findings")
    assert second["tablesExamined"] == second["tables"] == first["tables"]
    assert [one["id"] for one in second["findings"] if one["table"] == tables[-1]] == ["large-items"]


def test_every_finding_has_a_page():
    ids = [line.split('"')[1] for line in (ROOT / "src/meter/findings.def").read_text().splitlines()
           if line.startswith("FINDING(")]
    assert len(ids) >= 11
    for id_ in ids:
        text = (ROOT / "docs/findings" / f"{id_}.md").read_text()
        for part in ("## What it means", "## Why it costs", "## Example", "## How to fix it"):
            assert part in text, (id_, part)
        assert f"({id_}.md)" in (ROOT / "docs/findings/README.md").read_text()
    assert {path.stem for path in pathlib.Path(ROOT / "docs/findings").glob("*.md")} == {*ids, "README"}
