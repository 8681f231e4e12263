"""Units and cost of a scripted workload, against a calculation of its own: sizes, units and prices are computed here
from the service's rules (item sizes byte by byte; 1 KB writes, 4 KB reads; index entries by their projected image;
transactions twice on the table; 100 bytes of overhead per stored item), and must equal what the server counted."""

import json
import math
import random
import time

import pytest

from insight import Insight
from server import ROOT
from tables import create_table
from values import item_size
from waiting import poll
from wire import Client, Refused

S = lambda text: {"S": text}
N = lambda number: {"N": str(number)}
B = lambda count: {"S": "x" * count}
GB = 1 << 30
MONTH_HOURS = 730


def write_units(size):
    return max(1, math.ceil(size / 1024))


def read_units(size, consistent=False):
    return max(1, math.ceil(size / 4096)) * (1 if consistent else 0.5)


class Model:
    """A table pk/sk with the index "wide" (gk, ALL) and "narrow" (gk, INCLUDE a), and what it was charged."""

    def __init__(self):
        self.items = {}
        self.read = {None: 0, "wide": 0, "narrow": 0}
        self.write = {None: 0, "wide": 0, "narrow": 0}

    @staticmethod
    def entry(index, item):
        if item is None or "gk" not in item:
            return None
        keep = set(item) if index == "wide" else {"pk", "sk", "gk", "a"}
        return {name: value for name, value in item.items() if name in keep}

    def change(self, key, new, factor=1):
        """Charges a write that puts `new` (None: deletes) where `key` is."""
        old = self.items.get(key)
        self.write[None] += factor * write_units(max(item_size(old or {}), item_size(new or {})))
        for index in ("wide", "narrow"):
            before, after = self.entry(index, old), self.entry(index, new)
            if before == after:
                continue
            if before and after and before["gk"] == after["gk"]:
                self.write[index] += write_units(max(item_size(before), item_size(after)))
            else:
                self.write[index] += sum(write_units(item_size(image)) for image in (before, after) if image)
        if new is None:
            self.items.pop(key, None)
        else:
            self.items[key] = new

    def refuse(self, key):
        """Charges a write whose condition failed."""
        self.write[None] += write_units(item_size(self.items.get(key, {})))

    def stored(self, index):
        images = [image for image in ((item if index is None else self.entry(index, item))
                                      for item in self.items.values()) if image]
        return sum(item_size(image) for image in images), len(images)


def run_workload(db, table, model, rng, steps):
    for _ in range(steps):
        key = (rng.choice("abc"), str(rng.randrange(12)))
        wire_key = {"pk": S(key[0]), "sk": S(key[1])}
        old = model.items.get(key)
        kind = rng.randrange(10)
        new = {**wire_key, "a": B(rng.choice([1, 900, 1500])), "b": B(rng.choice([1, 5000])),
               **({"gk": S(rng.choice("xy"))} if rng.random() < 0.7 else {})}
        if kind < 3:
            db.PutItem(TableName=table, Item=new)
            model.change(key, new)
        elif kind == 3:
            db.DeleteItem(TableName=table, Key=wire_key)
            model.change(key, None)
        elif kind == 4:
            value = B(rng.choice([1, 2500]))
            db.UpdateItem(TableName=table, Key=wire_key, UpdateExpression="SET b = :b", ExpressionAttributeValues={":b": value})
            model.change(key, {**(old or wire_key), "b": value})
        elif kind == 5:
            try:
                db.PutItem(TableName=table, Item=new, ConditionExpression="attribute_not_exists(pk)")
                assert old is None
                model.change(key, new)
            except Refused as refused:
                assert refused.type == "ConditionalCheckFailedException" and old is not None
                model.refuse(key)
        elif kind == 6:
            consistent = rng.random() < 0.5
            db.GetItem(TableName=table, Key=wire_key, ConsistentRead=consistent)
            model.read[None] += read_units(item_size(old or {}), consistent)
        elif kind == 7:
            db.Query(TableName=table, KeyConditionExpression="pk = :p", FilterExpression="attribute_not_exists(a)",
                     ExpressionAttributeValues={":p": S(key[0])})
            model.read[None] += read_units(sum(item_size(item) for (pk, _), item in model.items.items() if pk == key[0]))
        elif kind == 8:
            index = rng.choice(["wide", "narrow"])
            db.Query(TableName=table, IndexName=index, KeyConditionExpression="gk = :g", ExpressionAttributeValues={":g": S("x")})
            entries = (model.entry(index, item) for item in model.items.values())
            model.read[index] += read_units(sum(item_size(entry) for entry in entries if entry and entry["gk"] == S("x")))
        else:
            other = ("t", key[1])
            db.TransactWriteItems(TransactItems=[
                {"Put": {"TableName": table, "Item": new}},
                {"Delete": {"TableName": table, "Key": {"pk": S("t"), "sk": S(key[1])}}}])
            model.change(key, new, factor=2)
            model.change(other, None, factor=2)


@pytest.fixture
def table(db):
    return create_table(db, "pk sk", gsi={"wide": "gk", "narrow": ("gk", ["a"])}, BillingMode="PAY_PER_REQUEST")


def bill(model, prices, hours, cls="standard"):
    month = MONTH_HOURS / hours
    parts = {}
    for index in (None, "wide", "narrow"):
        size, count = model.stored(index)
        requests = month * (model.read[index] * prices[cls]["readRequestMillion"]
                            + model.write[index] * prices[cls]["writeRequestMillion"]) / 1e6
        parts[index] = (requests, (size + 100 * count) / GB * prices[cls]["storageGbMonth"])
    return parts


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_units_and_cost(db, table, insight, seed):
    model = Model()
    insight.post("reset")
    run_workload(db, table, model, random.Random(seed), 400)
    cost = insight.get("cost", hours=2, limit=1000)
    found = cost["tables"][0]
    parts = {part["index"]: part for part in found["parts"]}
    assert {index: parts[index]["readUnits"] for index in parts} == model.read
    assert {index: parts[index]["writeUnits"] for index in parts} == model.write
    assert sum(p["readUnits"] for p in cost["patterns"]) == sum(model.read.values())
    assert sum(p["writeUnits"] for p in cost["patterns"]) == sum(model.write.values())
    for name in ("us-east-1", "documents"):
        prices = next(p for p in insight.get("prices")["prices"] if p["name"] == name)
        answer = insight.get("cost", hours=2, prices=name)
        expected = bill(model, prices, 2)
        for part in answer["tables"][0]["parts"]:
            assert part["requests"] == pytest.approx(expected[part["index"]][0], rel=1e-9)
            assert part["storage"] == pytest.approx(expected[part["index"]][1], rel=1e-9)
        total = sum(map(sum, expected.values()))
        assert round(answer["total"]["monthly"], 2) == round(total, 2)
        assert answer["total"]["monthly"] == pytest.approx(total, rel=1e-9)
        infrequent = sum(map(sum, bill(model, prices, 2, "infrequentAccess").values()))
        assert answer["tables"][0]["infrequentAccess"]["monthly"] == pytest.approx(infrequent, rel=1e-9)


def test_prices_of_the_documents(db, table, insight):
    """3,000 reads and 600 writes a day are 2 cents each in the document's table."""
    prices = next(p for p in insight.get("prices")["prices"] if p["name"] == "documents")["standard"]
    assert round(3000 * 30 / 1e6 * prices["readRequestMillion"], 2) == 0.02
    assert round(600 * 30 / 1e6 * prices["writeRequestMillion"], 2) == 0.02
    assert (prices["readUnitHour"], prices["writeUnitHour"], prices["storageGbMonth"]) == (0.00013, 0.00065, 0.25)
    # On demand costs 1 / 0.1444 of what fully used provisioned units do.
    assert insight.get("cost", prices="documents")["tables"][0]["breakEvenUtilization"] == pytest.approx(0.144444, rel=1e-4)


def test_provisioned(db, insight):
    table = create_table(db, "pk", gsi={"gsi": "g"}, BillingMode="PROVISIONED",
                         ProvisionedThroughput={"ReadCapacityUnits": 10, "WriteCapacityUnits": 5},
                         GlobalSecondaryIndexes=[{
                             "IndexName": "gsi", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                             "Projection": {"ProjectionType": "ALL"},
                             "ProvisionedThroughput": {"ReadCapacityUnits": 2, "WriteCapacityUnits": 5}}])
    found = next(t for t in insight.get("cost")["tables"] if t["table"] == table)
    expected = MONTH_HOURS * (12 * 0.00013 + 10 * 0.00065)
    assert found["billing"] == "PROVISIONED"
    assert found["requests"] == pytest.approx(expected) == found["provisioned"]["monthly"]
    assert (found["provisioned"]["readUnits"], found["provisioned"]["writeUnits"]) == (12, 10)


def test_what_if(db, table, insight):
    insight.post("reset")
    for i in range(20):
        db.PutItem(TableName=table, Item={"pk": S("a"), "sk": S(str(i)), "gk": S("x"), "a": S("a"), "b": B(3000)})
    plain = insight.get("cost", hours=1)
    assert plain["whatIf"] is None

    def what_if(**parameters):
        return insight.get("cost", hours=1, **parameters)["whatIf"]

    def units(answer):
        return {part["index"]: part["writeUnits"] for part in answer["tables"][0]["parts"]}
    assert units(plain) == {None: 60, "wide": 60, "narrow": 20}
    assert units(what_if(traffic=10)) == {None: 600, "wide": 600, "narrow": 200}
    assert units(what_if(itemSize=0.5)) == {None: 40, "wide": 40, "narrow": 20}
    assert units(what_if(dropIndex=f"{table}/wide")) == {None: 60, "wide": 0, "narrow": 20}
    assert units(what_if(projection=f"{table}/wide:KEYS_ONLY")) == {None: 60, "wide": 20, "narrow": 20}
    assert units(what_if(projection=f"{table}/narrow:ALL")) == {None: 60, "wide": 60, "narrow": 60}
    both = what_if(traffic=2, dropIndex=[f"{table}/wide", f"{table}/narrow"])
    assert units(both) == {None: 120, "wide": 0, "narrow": 0} and len(both["changes"]) == 3
    dropped = what_if(dropIndex=f"{table}/wide")["total"]["monthly"]
    wide = next(p for p in plain["tables"][0]["parts"] if p["index"] == "wide")
    assert dropped == pytest.approx(plain["total"]["monthly"] - wide["monthly"])


def test_batches_scans_statements_and_local_indexes(db, insight):
    """The same rules for every way to read and write: the parts of a table with a local index add up."""
    table = create_table(db, "pk sk", lsi={"local": "pk s"}, BillingMode="PAY_PER_REQUEST")
    items = [{"pk": S("a"), "sk": S(str(i)), "s": S(str(i)), "b": B(1500)} for i in range(6)]
    write, read = {None: 0, "local": 0}, {None: 0, "local": 0}
    db.BatchWriteItem(RequestItems={table: [{"PutRequest": {"Item": item}} for item in items]})
    for item in items:
        for part in write:
            write[part] += write_units(item_size(item))
    db.BatchGetItem(RequestItems={table: {"Keys": [{"pk": item["pk"], "sk": item["sk"]} for item in items], "ConsistentRead": True}})
    read[None] += sum(read_units(item_size(item), consistent=True) for item in items)
    whole = sum(map(item_size, items))
    db.Scan(TableName=table)
    read[None] += read_units(whole)
    db.ExecuteStatement(Statement=f"SELECT * FROM \"{table}\" WHERE pk = 'a'")
    read[None] += read_units(whole)
    db.Query(TableName=table, IndexName="local", KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": S("a")}, ConsistentRead=True)
    read["local"] += read_units(whole, consistent=True)
    db.TransactGetItems(TransactItems=[{"Get": {"TableName": table, "Key": {"pk": S("a"), "sk": S("0")}}}])
    read[None] += 2 * read_units(item_size(items[0]), consistent=True)
    found = next(one for one in insight.get("cost", hours=1)["tables"] if one["table"] == table)
    assert {part["index"]: part["writeUnits"] for part in found["parts"]} == write
    assert {part["index"]: part["readUnits"] for part in found["parts"]} == read
    month = MONTH_HOURS * (sum(read.values()) * 0.125 + sum(write.values()) * 0.625) / 1e6
    assert found["requests"] == pytest.approx(month)
    # The prices of us-east-1, as constants: of provisioned units relative to requests.
    used = sum(read.values()) / 3600 * 0.00013 + sum(write.values()) / 3600 * 0.00065
    assert found["breakEvenUtilization"] == pytest.approx(used * MONTH_HOURS / month, rel=1e-4)


def test_stream_reads(db, server, insight):
    table = create_table(db, "pk", StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}, BillingMode="PAY_PER_REQUEST")
    with Client(server.endpoint) as streams:
        call = lambda operation, **request: streams.call(operation, request, prefix="DynamoDBStreams_20120810.")
        arn = db.DescribeTable(TableName=table)["Table"]["LatestStreamArn"]
        shard = call("DescribeStream", StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
        iterator = call("GetShardIterator", StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
        for _ in range(5):
            iterator = call("GetRecords", ShardIterator=iterator)["NextShardIterator"]
    found = next(one for one in insight.get("cost", hours=1)["tables"] if one["table"] == table)
    assert found["streamReads"] == 5 and found["streams"] == pytest.approx(MONTH_HOURS * 5 * 0.2 / 1e6)
    changed, _ = what_if_table(insight, table, traffic=10)
    assert changed["streamReads"] == 50 and changed["streams"] == pytest.approx(10 * found["streams"])


def what_if_table(insight, table, **parameters):
    answer = insight.get("cost", hours=1, **parameters)["whatIf"]
    return next(one for one in answer["tables"] if one["table"] == table), answer


def test_what_if_of_a_provisioned_table(db, insight):
    """Provisioned units change like the consumed ones: the table keeps its utilization."""
    throughput = {"ReadCapacityUnits": 10, "WriteCapacityUnits": 5}
    table = create_table(db, "pk", gsi={"gsi": "g"}, BillingMode="PROVISIONED", ProvisionedThroughput=throughput,
                         GlobalSecondaryIndexes=[{"IndexName": "gsi", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                                                  "Projection": {"ProjectionType": "ALL"}, "ProvisionedThroughput": throughput}])
    plain = next(t for t in insight.get("cost", hours=1)["tables"] if t["table"] == table)
    idle, _ = what_if_table(insight, table, traffic=10)
    assert idle["provisioned"]["readUnits"] == 10 * plain["provisioned"]["readUnits"]
    for i in range(10):
        db.PutItem(TableName=table, Item={"pk": S(str(i)), "b": B(3000)})
    provisioned = lambda read, write: MONTH_HOURS * (read * 0.00013 + write * 0.00065)
    plain = next(t for t in insight.get("cost", hours=1)["tables"] if t["table"] == table)
    own, index = plain["parts"]
    assert own["requests"] == pytest.approx(provisioned(10, 5))
    changed, answer = what_if_table(insight, table, traffic=10)
    assert changed["parts"][0]["requests"] == pytest.approx(provisioned(100, 50))
    assert changed["requests"] == pytest.approx(10 * plain["requests"])
    assert "provisioned tables keep their utilization" in answer["changes"][0]
    half, _ = what_if_table(insight, table, itemSize=0.5)  # writes of 3 units become writes of 2; no read was seen
    assert half["parts"][0]["requests"] == pytest.approx(provisioned(10, math.ceil(5 * 2 / 3)))
    dropped, _ = what_if_table(insight, table, dropIndex=f"{table}/gsi")
    assert dropped["parts"][1]["requests"] == 0 and dropped["requests"] == pytest.approx(own["requests"])


def test_what_if_of_pages(db, table, insight):
    """Reads of pages are rounded once a page, not once an item: many small items cost half of it at half the size."""
    for i in range(100):
        db.PutItem(TableName=table, Item={"pk": S("a"), "sk": S(f"{i:03}"), "gk": S("x"), "a": S("a"), "b": B(1000)})
    insight.post("reset")
    item = {"pk": S("a"), "sk": S("000"), "gk": S("x"), "a": S("a"), "b": B(1000)}
    page = 100 * item_size(item)
    for _ in range(3):
        db.Query(TableName=table, KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": S("a")})
        db.Scan(TableName=table)
        db.Query(TableName=table, IndexName="wide", KeyConditionExpression="gk = :g", ExpressionAttributeValues={":g": S("x")})
    plain = next(t for t in insight.get("cost", hours=1)["tables"] if t["table"] == table)
    reads = lambda answer: {part["index"]: part["readUnits"] for part in answer["parts"]}
    assert reads(plain) == {None: 6 * read_units(page), "wide": 3 * read_units(page), "narrow": 0}
    half, answer = what_if_table(insight, table, itemSize=0.5)
    assert reads(half) == {None: 6 * read_units(page / 2), "wide": 3 * read_units(page / 2), "narrow": 0}
    # What the patterns cost is what the tables cost.
    assert sum(one["readUnits"] for one in answer["patterns"]) == sum(reads(half).values())
    keys = 100 * item_size({name: item[name] for name in ("pk", "sk", "gk")})
    only_keys, _ = what_if_table(insight, table, projection=f"{table}/wide:KEYS_ONLY")
    assert reads(only_keys) == {None: 6 * read_units(page), "wide": 3 * read_units(keys), "narrow": 0}
    both = 100 * item_size({name: item[name] for name in ("pk", "sk", "gk", "b")})
    included, answer = what_if_table(insight, table, projection=f"{table}/narrow:INCLUDE(b,absent)")
    assert f"{table}/narrow projects INCLUDE(b,absent)" in answer["changes"][0]
    stored = {part["index"]: part["storedBytes"] for part in included["parts"]}
    assert stored["narrow"] == pytest.approx(both + 100 * 100)
    smaller, _ = what_if_table(insight, table, projection=f"{table}/wide:INCLUDE(a)")
    assert reads(smaller)["wide"] == 3 * read_units(100 * item_size({name: item[name] for name in ("pk", "sk", "gk", "a")}))


def test_pages_of_tables(db, insight):
    """The most expensive tables come first; pages of them; the total is of all."""
    tables = [create_table(db, "pk", BillingMode="PAY_PER_REQUEST") for _ in range(7)]
    for number, table in enumerate(tables):
        for i in range(number + 1):
            db.PutItem(TableName=table, Item={"pk": S(str(i))})
    whole = insight.get("cost", hours=1)
    mine = [t["table"] for t in whole["tables"] if t["table"] in tables]
    assert mine == tables[::-1] and whole["tableCount"] == len(whole["tables"]) >= 7
    pages = [insight.get("cost", hours=1, limit=3, offset=offset) for offset in range(0, whole["tableCount"], 3)]
    assert [t for page in pages for t in page["tables"]] == whole["tables"]
    assert all(page["total"] == whole["total"] and len(page["tables"]) <= 3 for page in pages)
    what_if = insight.get("cost", hours=1, limit=3, offset=3, traffic=2)
    assert [t["table"] for t in what_if["whatIf"]["tables"]] == [t["table"] for t in pages[1]["tables"]]


def test_observed_hours(start_server, tmp_path):
    """Hours in which no server ran do not count."""
    store = f"rocksdb:{tmp_path}/data"
    server = start_server(store)
    with Client(server.endpoint) as db:
        table = create_table(db, "pk")
        db.PutItem(TableName=table, Item={"pk": S("a")})
    ran = Insight(server.endpoint).get("overview")["insight"]["observedMs"]
    server.stop()
    time.sleep(3)
    insight = Insight(start_server(store).endpoint)
    poll(lambda: insight.get("patterns", table=table)["total"] > 0, 30, "patterns are back")
    before = insight.get("overview")
    hours = insight.get("cost")["observedHours"]
    after = insight.get("overview")
    for state in (before, after):
        assert ran <= state["insight"]["observedMs"] <= state["server"]["now"] - state["insight"]["since"] - 2500
    assert before["insight"]["observedMs"] - 1000 <= hours * 3600e3 <= after["insight"]["observedMs"] + 1000


@pytest.mark.parametrize("query", ["prices=nowhere", "projection=x/y:INCLUDE", "projection=x/y:INCLUDE()", "offset=-1", "traffic=lots", "traffic=-1", "itemSize=0", "dropIndex=x", "dropIndex=x/y",
                                   "projection=x/y", "hours=0"])
def test_bad_parameters(insight, table, query):
    status, body = insight.request("GET", "cost?" + query)
    assert status == 400 and body["error"]


def test_prices_file(start_server, tmp_path):
    built_in = json.loads((ROOT / "docs/prices.json").read_text())
    assert Insight(start_server("memory:").endpoint).get("prices") == built_in
    built_in["prices"][0].update(name="mine", date="2027-01-01")
    built_in["default"] = "mine"
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(built_in))
    assert Insight(start_server("memory:", "--prices", str(path)).endpoint).get("cost")["prices"]["name"] == "mine"
    del built_in["prices"][0]["note"]
    path.write_text(json.dumps(built_in))
    with pytest.raises(AssertionError, match="prices"):
        start_server("memory:", "--prices", str(path))
