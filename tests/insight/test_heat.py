"""Heavy hitters: keys are named with counts within the stated error; nothing is dropped silently."""

import bisect
import collections
import itertools
import random

import pytest

from tables import create_table
from wire import Client

S = lambda text: {"S": text}
KEYS = 1_000_000
READS = 200_000


def zipf_keys(rng, count, keys=KEYS, exponent=1.0):
    weights = list(itertools.accumulate(1 / (rank ** exponent) for rank in range(1, keys + 1)))
    return [bisect.bisect_left(weights, rng.random() * weights[-1]) for _ in range(count)]


def batches_of(drawn):
    """All draws, in batches of up to 100 keys without duplicates: a key that was drawn again waits for the next batch."""
    waiting = collections.Counter(drawn)
    while waiting:
        batch = list(itertools.islice(waiting, 100))
        for key in batch:
            count = waiting.pop(key) - 1
            if count > 0:
                waiting[key] = count  # behind the others
        yield batch


def test_zipf(db, insight):
    """200,000 reads of a million keys, drawn by Zipf's law: the ten heaviest keys are the ten first, with counts within the
    stated error. src/meter/heat_test.c draws ten million."""
    table = create_table(db, "pk")
    drawn = zipf_keys(random.Random(7), READS)
    true = collections.Counter(drawn)
    for batch in batches_of(drawn):
        db.BatchGetItem(RequestItems={table: {"Keys": [{"pk": S(f"user-{key}")} for key in batch]}})
    heat = insight.get("heat", table=table, limit=10)
    assert heat["accesses"] == READS and insight.get("overview")["insight"]["uncountedKeys"] == 0
    assert heat["keysTracked"] <= 1024 and heat["errorMax"] <= READS / heat["keysTracked"] + 1
    number = lambda key: int(key["key"]["S"].split("-")[1])
    assert {number(key) for key in heat["keys"]} == {key for key, _ in true.most_common(10)}
    for key in heat["keys"]:
        assert key["accesses"] - key["error"] <= true[number(key)] <= key["accesses"], (key, true[number(key)])
    assert [key["accesses"] for key in heat["keys"]] == sorted((key["accesses"] for key in heat["keys"]), reverse=True)
    # Every key's count is within its error, and what is not listed was used at most errorMax times.
    listed = {number(key): key for key in insight.get("heat", table=table, limit=1000)["keys"]}
    for key, found in listed.items():
        assert found["accesses"] - found["error"] <= true[key] <= found["accesses"]
    if heat["keysTracked"] <= 1000:
        assert max(count for key, count in true.items() if key not in listed) <= heat["errorMax"]


def test_units_ranges_and_limits(db, insight):
    table = create_table(db, "pk sk", gsi={"gsi": "g"})
    for i in range(30):
        db.PutItem(TableName=table, Item={"pk": S(f"k{i % 3}"), "sk": S(str(i)), "g": S("one"), "pad": S("x" * 2000)})
    for _ in range(10):
        db.GetItem(TableName=table, Key={"pk": S("k0"), "sk": S("0")})
    heat = insight.get("heat", table=table)
    assert heat["keys"][0]["key"] == S("k0") and heat["keys"][0]["accesses"] == 20
    assert heat["keys"][0]["writeUnits"] == 20 and heat["keys"][0]["readUnits"] == 5
    assert heat["readUnits"] == 5 == sum(r["readUnits"] for r in heat["ranges"])
    assert heat["writeUnits"] == 60 == sum(r["writeUnits"] for r in heat["ranges"]) and len(heat["ranges"]) == 64
    assert not heat["keys"][0]["overWriteLimit"]
    index = insight.get("heat", table=table, index="gsi")
    assert index["keys"][0]["key"] == S("one") and index["writeUnits"] == 60
    assert {(place["table"], place["index"]) for place in insight.get("heat")["places"]} == {(table, None), (table, "gsi")}
    assert [c["items"] for c in heat["collections"]] == [10, 10, 10] and all(c["exact"] for c in heat["collections"])


@pytest.fixture
def large_table(db):
    """100,000 keys with one item each, and one with 4,999: more than a sample reads."""
    table = create_table(db, "pk sk")
    items = [{"pk": S(f"k{i}"), "sk": S("1")} for i in range(100_000)]
    items[50_000:50_000] = [{"pk": S("large"), "sk": S(f"{i:04}")} for i in range(4999)]
    for start in range(0, len(items), 25):
        db.BatchWriteItem(RequestItems={table: [{"PutRequest": {"Item": item}} for item in items[start:start + 25]]})
    return table


def test_the_largest_collection_is_measured(db, insight, large_table):
    """Its key has most writes, so one sample is enough."""
    heat = insight.get("heat", table=large_table)
    assert heat["itemsTotal"] == 104_999 and heat["itemsExamined"] <= 40_000  # the work is bounded
    assert heat["collections"][0] == {"key": S("large"), "items": 4999, "bytes": 4999 * 13, "exact": True}


def test_samples_cover_a_large_table(db, insight, large_table):
    """A key without known writes is found by one of the next samples, and stays. A change of the table is a reason for a new sample."""
    insight.post("reset")
    found = []
    for number in range(7):
        first, = insight.get("heat", table=large_table)["collections"][:1]
        found.append(first["key"] == S("large") and first["items"] > 1000)
        db.UpdateTable(TableName=large_table, DeletionProtectionEnabled=number % 2 == 0)
    assert found == sorted(found) and all(found[3:]), found


def test_partiql_ranges(db, insight):
    """A statement that reads several partitions makes heat of each, with its own units."""
    table = create_table(db, "pk sk", gsi={"gsi": "g"})
    for key, size in (("small", 100), ("large", 20_000)):
        db.PutItem(TableName=table, Item={"pk": S(key), "sk": S("1"), "g": S(key), "pad": S("x" * size)})
    insight.post("reset")
    for _ in range(3):
        db.ExecuteStatement(Statement=f"""SELECT sk FROM "{table}" WHERE pk IN ['small', 'large', 'absent']""")
    keys = {key["key"]["S"]: (key["accesses"], key["readUnits"]) for key in insight.get("heat", table=table)["keys"]}
    assert keys == {"small": (3, 1.5), "large": (3, 7.5), "absent": (3, 1.5)}
    db.ExecuteStatement(Statement=f"""SELECT sk FROM "{table}"."gsi" WHERE g = 'small' OR g = 'large'""")
    keys = {key["key"]["S"]: key["accesses"] for key in insight.get("heat", table=table, index="gsi")["keys"]}
    assert keys == {"small": 1, "large": 1}


def test_key_over_the_limit(db, insight):
    """A second with more than 1,000 write units on one key."""
    table = create_table(db, "pk")
    item = {"pk": S("hot"), "pad": S("x" * 390_000)}
    for _ in range(12):  # 381 units each; at least three of them fall into one second
        db.PutItem(TableName=table, Item=item)
    key = insight.get("heat", table=table)["keys"][0]
    assert key["overWriteLimit"] and key["peakWriteUnitsPerSecond"] > 1000
    assert any(f["id"] == "hot-key" and f["table"] == table for f in insight.get("findings")["findings"])


def test_long_and_binary_keys(db, insight):
    table = create_table(db, "pk:B")
    db.PutItem(TableName=table, Item={"pk": {"B": "AAEC"}})
    assert insight.get("heat", table=table)["keys"][0]["key"] == {"B": "AAEC"}
    long = create_table(db, "pk")
    db.PutItem(TableName=long, Item={"pk": S("é" * 500)})
    key = insight.get("heat", table=long)["keys"][0]
    assert key["cut"] and 20 <= len(key["key"]["S"]) <= 32 and set(key["key"]["S"]) == {"é"}
    numbers = create_table(db, "pk:N")
    db.PutItem(TableName=numbers, Item={"pk": {"N": "-12.5"}})
    assert insight.get("heat", table=numbers)["keys"][0]["key"] == {"N": "-12.5"}


def test_many_patterns_and_tables(server, insight):
    """More than 10,000 patterns: what is folded into "other" is counted, sums stay exact, memory stays bounded."""
    with Client(server.endpoint) as db:
        tables = [create_table(db, "pk") for _ in range(20)]
        calls = 0
        for number in range(10_400):
            db.GetItem(TableName=tables[number % 20], Key={"pk": S(f"k{number}")}, ProjectionExpression=f"attribute_{number}")
            calls += 1
        db.PutItem(TableName=tables[0], Item={"pk": S("x")})
    overview = insight.get("overview")
    assert overview["insight"]["patterns"] == 10_000
    assert overview["insight"]["memoryBytes"] < 64 << 20
    folded = insight.get("patterns", operation="other", limit=1000)["patterns"]
    assert sum(p["calls"] for p in folded) == overview["insight"]["foldedCalls"] > 400
    assert all(p["other"] and p["text"] in (f"other reads {p['table']}", f"other writes {p['table']}") for p in folded)
    reads = [table for table in insight.get("tables", limit=1000)["tables"]]
    assert sum(t["readUnits"] for t in reads) == calls / 2 and sum(t["writeUnits"] for t in reads) == 1
    data = [p for p in overview["operations"] if p["operation"] in ("GetItem", "PutItem", "other")]
    assert sum(p["calls"] for p in data) == calls + 1
