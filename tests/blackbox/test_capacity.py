"""ConsumedCapacity by the service's measured rules, as tables of cases.

A write case: what is stored before, the call, and the units of table, GSI and LSI."""

import pytest

from tables import put_all
from values import item, item_size, values
from wire import refused

KB = 1024


def sized(size, **attributes):
    """An item of exactly `size` bytes with key k."""
    wire_item = item(pk="k", sk="s", **attributes, fill="")
    wire_item["fill"]["S"] = "x" * (size - item_size(wire_item))
    assert item_size(wire_item) == size
    return wire_item


KEY = item(pk="k", sk="s")


@pytest.fixture(scope="module")
def table(make_module_table):
    return make_module_table("pk sk")


@pytest.fixture(scope="module")
def indexed(make_module_table):
    """gsi and lsi hold keys and `extra` only; gall holds everything."""
    return make_module_table("pk sk", gsi={"gsi": ("g", ["extra"]), "gall": "ga"},
                             lsi={"lsi": ("pk l", ["extra"])})


@pytest.fixture(autouse=True)
def clean(db, request):
    for name in ("table", "indexed"):
        if name in request.fixturenames:
            db.DeleteItem(TableName=request.getfixturevalue(name), Key=KEY)


def units(answer, table_name=None):
    """The one ConsumedCapacity as (total, table, {index: units})."""
    consumed = answer["ConsumedCapacity"]
    consumed = consumed[0] if isinstance(consumed, list) else consumed
    if table_name:
        assert consumed["TableName"] == table_name
    indexes = {name: part["CapacityUnits"]
               for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
               for name, part in consumed.get(kind, {}).items()}
    return consumed["CapacityUnits"], consumed.get("Table", {}).get("CapacityUnits"), indexes


@pytest.mark.parametrize("size, consistent, expected", [
    (None, False, 0.5), (None, True, 1), (100, False, 0.5), (100, True, 1), (4 * KB, False, 0.5),
    (4 * KB, True, 1), (4 * KB + 1, False, 1), (4 * KB + 1, True, 2), (400 * KB, True, 100),
])
def test_get(db, table, size, consistent, expected):
    if size:
        db.PutItem(TableName=table, Item=sized(size))
    answer = db.GetItem(TableName=table, Key=KEY, ConsistentRead=consistent,
                        ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"] == {"TableName": table, "CapacityUnits": expected}
    batch = db.BatchGetItem(RequestItems={table: {"Keys": [KEY], "ConsistentRead": consistent}},
                            ReturnConsumedCapacity="INDEXES")
    assert units(batch, table) == (expected, expected, {})
    transaction = db.TransactGetItems(TransactItems=[{"Get": {"TableName": table, "Key": KEY}}],
                                      ReturnConsumedCapacity="INDEXES")
    double = 2 * max(1, -(-(size or 0) // (4 * KB)))
    assert units(transaction, table) == (double, double, {})
    assert transaction["ConsumedCapacity"][0]["ReadCapacityUnits"] == double


@pytest.mark.parametrize("before, after, expected", [
    (None, 1, 1), (None, KB, 1), (None, KB + 1, 2), (None, 3 * KB, 3), (3 * KB, 100, 3),
    (100, 3 * KB, 3), (2 * KB + 1, 2 * KB, 3), (400 * KB, 100, 400),
])
def test_put(db, table, before, after, expected):
    after = max(after, 20)
    if before:
        db.PutItem(TableName=table, Item=sized(before))
    answer = db.PutItem(TableName=table, Item=sized(after), ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"] == {"TableName": table, "CapacityUnits": expected}


@pytest.mark.parametrize("before, expected", [(None, 1), (100, 1), (KB, 1), (KB + 1, 2), (3 * KB, 3)])
def test_delete(db, table, before, expected):
    if before:
        db.PutItem(TableName=table, Item=sized(before))
    answer = db.DeleteItem(TableName=table, Key=KEY, ReturnConsumedCapacity="TOTAL")
    assert units(answer)[0] == expected


def test_update_charges_the_larger_image(db, table):
    for before, after, expected in ((3000, 10, 3), (10, 3000, 3), (10, 20, 1)):
        db.PutItem(TableName=table, Item=item(pk="k", sk="s", v="x" * before))
        answer = db.UpdateItem(TableName=table, Key=KEY, UpdateExpression="SET v = :v",
                               ExpressionAttributeValues=values(v="x" * after),
                               ReturnConsumedCapacity="TOTAL")
        assert units(answer)[0] == expected


def test_failed_condition_is_charged_but_not_told(db, table):
    """The units of a failed condition are in no answer; only that it fails is seen here."""
    db.PutItem(TableName=table, Item=sized(3 * KB))
    with refused("ConditionalCheckFailedException") as caught:
        db.PutItem(TableName=table, Item=sized(100), ConditionExpression="attribute_not_exists(pk)",
                   ReturnConsumedCapacity="TOTAL")
    assert "ConsumedCapacity" not in caught.error.body


# before, after (None: absent), expected units of indexes; the table's are those of the larger item.
WRITES = {
    "insert without index keys": (None, {"v": 1}, {}),
    "insert into gsi": (None, {"g": "a"}, {"gsi": 1}),
    "insert into lsi": (None, {"l": "a"}, {"lsi": 1}),
    "insert into all": (None, {"g": "a", "l": "a", "ga": "a"}, {"gsi": 1, "lsi": 1, "gall": 1}),
    "entry is sized by its projection": (None, {"g": "a", "body": "x" * 5000}, {"gsi": 1}),
    "entry with everything is sized whole": (None, {"ga": "a", "body": "x" * 5000}, {"gall": 5}),
    "entry of 3 KB": (None, {"g": "a", "extra": "x" * 3000}, {"gsi": 3}),
    "nothing changes": ({"g": "a", "l": "a", "ga": "a"}, {"g": "a", "l": "a", "ga": "a"}, {}),
    "reordered set": ({"ga": "a", "set": {"x", "y"}}, {"ga": "a", "set": {"y", "x"}}, {}),
    "change outside the projection": ({"g": "a", "v": 1}, {"g": "a", "v": 2}, {}),
    "change inside the projection": ({"g": "a", "extra": 1}, {"g": "a", "extra": 2}, {"gsi": 1}),
    "in place, larger image counts": ({"g": "a", "extra": "x" * 3000}, {"g": "a", "extra": 1}, {"gsi": 3}),
    "key moves": ({"g": "a"}, {"g": "b"}, {"gsi": 2}),
    "key moves, each image rounded": ({"g": "a", "extra": "x" * 1500},
                                      {"g": "b", "extra": "x" * 2500}, {"gsi": 5}),
    "key taken away": ({"g": "a", "l": "a"}, {"l": "a"}, {"gsi": 1}),
    "key added": ({"l": "a"}, {"g": "a", "l": "a"}, {"gsi": 1}),
    "lsi key moves": ({"l": "a"}, {"l": "b"}, {"lsi": 2}),
    "delete of unindexed item": ({"v": 1}, None, {}),
    "delete from gsi": ({"g": "a"}, None, {"gsi": 1}),
    "delete from all": ({"g": "a", "l": "a", "ga": "a"}, None, {"gsi": 1, "lsi": 1, "gall": 1}),
    "delete of entry of 3 KB": ({"g": "a", "extra": "x" * 3000}, None, {"gsi": 3}),
}


def table_units(before, after):
    largest = max(item_size(item(pk="k", sk="s", **(image or {}))) for image in (before, after))
    return max(1, -(-largest // KB))


def put_or_delete(db, table, image, **more):
    if image is None:
        return db.DeleteItem(TableName=table, Key=KEY, **more)
    return db.PutItem(TableName=table, Item=item(pk="k", sk="s", **image), **more)


@pytest.mark.parametrize("case", WRITES)
def test_index_writes(db, indexed, case):
    before, after, expected = WRITES[case]
    base = table_units(before, after)
    total = base + sum(expected.values())

    def reset():
        put_or_delete(db, indexed, before)
    reset()
    answer = put_or_delete(db, indexed, after, ReturnConsumedCapacity="INDEXES")
    assert units(answer, indexed) == (total, base, expected)
    reset()
    answer = put_or_delete(db, indexed, after, ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"] == {"TableName": indexed, "CapacityUnits": total}
    reset()
    request = ({"DeleteRequest": {"Key": KEY}} if after is None else
               {"PutRequest": {"Item": item(pk="k", sk="s", **after)}})
    answer = db.BatchWriteItem(RequestItems={indexed: [request]}, ReturnConsumedCapacity="INDEXES")
    assert units(answer, indexed) == (total, base, expected)
    reset()
    action = ({"Delete": {"TableName": indexed, "Key": KEY}} if after is None else
              {"Put": {"TableName": indexed, "Item": item(pk="k", sk="s", **after)}})
    answer = db.TransactWriteItems(TransactItems=[action], ReturnConsumedCapacity="INDEXES")
    assert units(answer, indexed) == (2 * base + sum(expected.values()), 2 * base, expected)
    assert answer["ConsumedCapacity"][0]["WriteCapacityUnits"] == 2 * base + sum(expected.values())


def test_batch_rounds_each_item(db, table):
    requests = [{"PutRequest": {"Item": item(pk="k", sk=f"s{number}", v="x" * 100)}}
                for number in range(25)]
    answer = db.BatchWriteItem(RequestItems={table: requests}, ReturnConsumedCapacity="TOTAL")
    assert units(answer, table)[0] == 25
    answer = db.BatchGetItem(RequestItems={table: {"Keys": [
        item(pk="k", sk=f"s{number}") for number in range(30)]}}, ReturnConsumedCapacity="TOTAL")
    assert units(answer, table)[0] == 15


def test_batch_names_each_table(db, table, indexed):
    answer = db.BatchWriteItem(RequestItems={
        table: [{"PutRequest": {"Item": item(pk="k", sk="s")}}],
        indexed: [{"PutRequest": {"Item": item(pk="k", sk="s", g="g")}}]}, ReturnConsumedCapacity="TOTAL")
    assert sorted((each["TableName"], each["CapacityUnits"]) for each in answer["ConsumedCapacity"]) == \
        sorted([(table, 1), (indexed, 2)])


class TestReads:
    """30 items of 500 bytes in partition k."""

    @pytest.fixture(scope="class")
    def rows(self, make_module_table, endpoint):
        from wire import Client
        name = make_module_table("pk sk:N", gsi={"gsi": ("g", "KEYS_ONLY"), "gall": "g"},
                                 lsi={"lsi": ("pk l", "KEYS_ONLY")})
        with Client(endpoint) as client:
            wire_items = []
            for number in range(30):
                row = item(pk="k", sk=100 + number, g="g", l="l", fill="")
                row["fill"]["S"] = "x" * (500 - item_size(row))
                wire_items.append(row)
            put_all(client, name, wire_items)
        return name

    def query(self, db, rows, **more):
        return units(db.Query(TableName=rows, KeyConditionExpression=more.pop("on", "pk = :k"),
                              ExpressionAttributeValues=more.pop("named", values(k="k")),
                              ReturnConsumedCapacity="INDEXES", **more), rows)

    @pytest.mark.parametrize("limit, consistent, expected", [
        (1, False, 0.5), (1, True, 1), (8, False, 0.5), (9, False, 1), (9, True, 2), (30, False, 2),
        (30, True, 4)])
    def test_query_rounds_once_per_page(self, db, rows, limit, consistent, expected):
        assert self.query(db, rows, Limit=limit, ConsistentRead=consistent) == (expected, expected, {})

    def test_filter_and_projection_do_not_change_it(self, db, rows):
        assert self.query(db, rows, ProjectionExpression="sk")[0] == 2
        assert self.query(db, rows, Select="COUNT")[0] == 2
        assert self.query(db, rows, FilterExpression="fill = :v", named=values(k="k", v="none"))[0] == 2

    def test_nothing_found(self, db, rows):
        assert self.query(db, rows, named=values(k="absent"))[0] == 0.5
        assert self.query(db, rows, named=values(k="absent"), ConsistentRead=True)[0] == 1

    def test_scan(self, db, rows):
        answer = db.Scan(TableName=rows, ReturnConsumedCapacity="INDEXES")
        assert units(answer, rows) == (2, 2, {})
        answer = db.Scan(TableName=rows, ReturnConsumedCapacity="TOTAL", ConsistentRead=True)
        assert answer["ConsumedCapacity"] == {"TableName": rows, "CapacityUnits": 4}

    def test_index_read_counts_on_the_index(self, db, rows):
        named = values(g="g")
        assert self.query(db, rows, IndexName="gall", on="g = :g", named=named) == (2, 0, {"gall": 2})
        assert self.query(db, rows, IndexName="gsi", on="g = :g", named=named) == (0.5, 0, {"gsi": 0.5})
        answer = db.Scan(TableName=rows, IndexName="gsi", ReturnConsumedCapacity="INDEXES")
        assert units(answer, rows) == (0.5, 0, {"gsi": 0.5})
        assert self.query(db, rows, IndexName="lsi") == (0.5, 0, {"lsi": 0.5})

    @pytest.mark.parametrize("consistent", [False, True])
    def test_lsi_fetch_counts_each_item(self, db, rows, consistent):
        factor = 2 if consistent else 1
        found = self.query(db, rows, IndexName="lsi", ProjectionExpression="fill", Limit=3,
                           ConsistentRead=consistent)
        assert found == (2 * factor, 1.5 * factor, {"lsi": 0.5 * factor})


def test_lsi_fetch_of_large_items(db, indexed):
    for number in range(3):
        db.PutItem(TableName=indexed, Item=item(pk="big", sk=f"s{number}", l="l", body="x" * 9000))
    request = {"TableName": indexed, "IndexName": "lsi", "KeyConditionExpression": "pk = :k",
               "ExpressionAttributeValues": values(k="big"), "ProjectionExpression": "body",
               "ReturnConsumedCapacity": "INDEXES"}
    assert units(db.Query(**request)) == (5, 4.5, {"lsi": 0.5})
    assert units(db.Query(**request, ConsistentRead=True)) == (10, 9, {"lsi": 1})


class TestTransactions:
    def write(self, db, *actions, **more):
        return units(db.TransactWriteItems(TransactItems=list(actions),
                                           ReturnConsumedCapacity="INDEXES", **more))

    def test_actions(self, db, table):
        put = {"Put": {"TableName": table, "Item": sized(1500)}}
        assert self.write(db, put) == (4, 4, {})
        check = {"ConditionCheck": {"TableName": table, "Key": KEY,
                                    "ConditionExpression": "attribute_exists(pk)"}}
        assert self.write(db, check) == (4, 4, {})
        update = {"Update": {"TableName": table, "Key": KEY, "UpdateExpression": "REMOVE fill"}}
        assert self.write(db, update) == (4, 4, {})
        assert self.write(db, check) == (2, 2, {})
        db.PutItem(TableName=table, Item=sized(3 * KB))
        assert self.write(db, {"Delete": {"TableName": table, "Key": KEY}}) == (6, 6, {})
        assert self.write(db, {"Delete": {"TableName": table, "Key": KEY}}) == (2, 2, {})

    def test_several_items(self, db, table):
        actions = [{"Put": {"TableName": table, "Item": item(pk="many", sk=f"s{number}")}}
                   for number in range(10)]
        assert self.write(db, *actions) == (20, 20, {})
        gets = [{"Get": {"TableName": table, "Key": item(pk="many", sk=f"s{number}")}}
                for number in range(12)]
        answer = db.TransactGetItems(TransactItems=gets, ReturnConsumedCapacity="TOTAL")
        assert units(answer, table)[0] == 24

    def test_replay_costs_reads(self, db, table):
        put = {"Put": {"TableName": table, "Item": sized(1500)}}
        request = {"TransactItems": [put], "ClientRequestToken": "replay", "ReturnConsumedCapacity": "TOTAL"}
        first = db.TransactWriteItems(**request)["ConsumedCapacity"][0]
        assert (first["CapacityUnits"], first["WriteCapacityUnits"]) == (4, 4)
        again = db.TransactWriteItems(**request)["ConsumedCapacity"][0]
        assert (again["CapacityUnits"], again["ReadCapacityUnits"]) == (2, 2)


def test_none_says_nothing(db, table):
    for more in ({}, {"ReturnConsumedCapacity": "NONE"}):
        assert "ConsumedCapacity" not in db.PutItem(TableName=table, Item=sized(100), **more)
        assert "ConsumedCapacity" not in db.GetItem(TableName=table, Key=KEY, **more)
        assert "ConsumedCapacity" not in db.Scan(TableName=table, **more)
        assert "ConsumedCapacity" not in db.BatchGetItem(RequestItems={table: {"Keys": [KEY]}}, **more)


def test_item_collection_metrics(db, table, indexed):
    """Only for tables with an LSI, and only when asked."""
    assert "ItemCollectionMetrics" not in db.PutItem(TableName=table, Item=sized(100),
                                                     ReturnItemCollectionMetrics="SIZE")
    assert "ItemCollectionMetrics" not in db.PutItem(TableName=indexed, Item=sized(100))
    for call, request in ((db.PutItem, {"Item": sized(100, l="l")}), (db.UpdateItem, {"Key": KEY}),
                          (db.DeleteItem, {"Key": KEY})):
        metrics = call(TableName=indexed, **request, ReturnItemCollectionMetrics="SIZE")[
            "ItemCollectionMetrics"]
        assert metrics["ItemCollectionKey"] == item(pk="k")
        low, high = metrics["SizeEstimateRangeGB"]
        assert 0 <= low <= high <= 1
    batch = db.BatchWriteItem(RequestItems={indexed: [{"PutRequest": {"Item": sized(100)}}]},
                              ReturnItemCollectionMetrics="SIZE")["ItemCollectionMetrics"]
    assert [each["ItemCollectionKey"] for each in batch[indexed]] == [item(pk="k")]
