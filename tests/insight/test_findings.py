"""Each finding is found where it should be, with evidence, and not where it should not."""

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
    assert scan["severity"] == "critical" and scan["numbers"] == {"calls": 1, "itemsRead": 1000, "tableItems": 1000}
    assert "n = ?" in scan["remedy"] and insight.get("patterns/" + scan["pattern"])["operation"] == "Scan"
    assert "read 1000 items to return 1 (0.1 %)" in findings["filter-discards"]["evidence"]
    assert insight.get("overview")["findingCount"] >= 0


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
    assert found(insight, other)["conditions-fail"]["numbers"] == {"calls": 20, "failed": 19}


def test_large_items(db, insight):
    table = create_table(db, "pk")
    db.PutItem(TableName=table, Item={"pk": S("a"), "text": S("x" * 350_000)})
    assert found(insight, table)["large-items"]["numbers"]["itemBytesMax"] > 350_000
    insight.post("reset")  # what is stored shows it, too
    assert found(insight, table)["large-items"]["pattern"] is None


@pytest.mark.parametrize("sort_keys, expected", [
    (["TASK#1", "TASK#2", "TASK#10"], "misplacedNumbers"),
    (["TASK#01", "TASK#02", "TASK#10"], None),
    (["15.11.2026", "16.10.2026", "17.12.2025"], "misplacedDates"),
    (["2026-11-15T08:00:00Z", "2026-11-16T08:00:00Z"], None),
    (["AT#11/15/2026", "AT#11/16/2026"], "misplacedDates"),
])
def test_sort_key_order(db, insight, sort_keys, expected):
    table = create_table(db, "pk sk")
    fill(db, table, [{"pk": S("a"), "sk": S(key)} for key in sort_keys])
    findings = found(insight, table)
    if expected is None:
        assert findings == {}
    else:
        assert findings["sort-key-order"]["numbers"][expected] > 0


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
