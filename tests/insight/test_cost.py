"""Units and cost of a scripted workload, against a calculation of its own: sizes, units and prices are computed here
from the service's rules (item sizes byte by byte; 1 KB writes, 4 KB reads; index entries by their projected image;
transactions twice on the table; 100 bytes of overhead per stored item), and must equal what the server counted."""

import json
import math
import random

import pytest

from insight import Insight
from server import ROOT
from tables import create_table
from values import item_size
from wire import Refused

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


@pytest.mark.parametrize("query", ["prices=nowhere", "traffic=lots", "traffic=-1", "itemSize=0", "dropIndex=x", "dropIndex=x/y",
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
