"""Sizes at the byte: items of 409,600 bytes, keys of 2048 and 1024 bytes, pages and names."""

import pytest

from tables import create_table
from values import Raw, av, item, item_size, plain, values
from wire import invalid

ITEM_MAX = 409_600


@pytest.fixture
def table(make_table):
    return make_table("pk")


def filled(size, **attributes):
    """An item of exactly `size` bytes, by a string `fill`."""
    wire_item = item(pk="k", **attributes, fill="")
    wire_item["fill"]["S"] = "x" * (size - item_size(wire_item))
    assert item_size(wire_item) == size
    return wire_item


SHAPES = {
    "string": {},
    "multi-byte string": {"v": "北京é"},
    "numbers": {"a": 0, "b": 12345, "c": -1, "d": Raw(N="0.0000001"), "e": Raw(N="1E125"),
                "f": Raw(N="-123.456"), "g": Raw(N="100"), "h": Raw(N="1000000.5")},
    "binary": {"v": bytes(1000)},
    "scalars": {"t": True, "n": None},
    "list": {"v": [1, "two", [], {}, [None]]},
    "map": {"v": {"name": "x", "é": {"deep": [1, 2, 3]}}},
    "sets": {"s": {"a", "bc"}, "n": {1, 20, 300}, "b": {b"x", b"yz"}},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_item_of_exactly_409600_bytes_fits_and_one_more_does_not(db, table, shape):
    largest = filled(ITEM_MAX, **SHAPES[shape])
    db.PutItem(TableName=table, Item=largest)
    with invalid("Item size has exceeded the maximum allowed size"):
        db.PutItem(TableName=table, Item=filled(ITEM_MAX + 1, **SHAPES[shape]))
    stored = db.GetItem(TableName=table, Key=item(pk="k"))["Item"]
    assert plain(stored) == plain(largest)


def test_update_may_not_grow_an_item_over_the_limit(db, table):
    db.PutItem(TableName=table, Item=filled(ITEM_MAX - 200))
    with invalid("Item size to update has exceeded the maximum allowed size"):
        db.UpdateItem(TableName=table, Key=item(pk="k"), UpdateExpression="SET more = :v",
                      ExpressionAttributeValues=values(v="y" * 200))
    assert "more" not in db.GetItem(TableName=table, Key=item(pk="k"))["Item"]


def update_to(db, table, key, size):
    """SET of one string so that the item has `size` bytes."""
    rest = item_size(item(pk=key, fill=""))
    db.DeleteItem(TableName=table, Key=item(pk=key))
    db.UpdateItem(TableName=table, Key=item(pk=key), UpdateExpression="SET fill = :v",
                  ExpressionAttributeValues=values(v="x" * (size - rest)))


@pytest.mark.parametrize("key, ceiling", [("k", ITEM_MAX - 19), ("k" * 20, ITEM_MAX),
                                          ("k" * 100, ITEM_MAX)],
                         ids=["short key", "20 bytes", "100 bytes"])
def test_update_counts_19_bytes_per_action_but_not_the_keys(db, table, key, ceiling):
    update_to(db, table, key, ceiling)
    with invalid("Item size to update has exceeded the maximum allowed size"):
        update_to(db, table, key, ceiling + 1)


def test_batch_and_transaction_have_the_same_limit(db, table):
    db.BatchWriteItem(RequestItems={table: [{"PutRequest": {"Item": filled(ITEM_MAX)}}]})
    with invalid("Item size has exceeded the maximum allowed size"):
        db.BatchWriteItem(RequestItems={table: [{"PutRequest": {"Item": filled(ITEM_MAX + 1)}}]})
    db.TransactWriteItems(TransactItems=[{"Put": {"TableName": table, "Item": filled(ITEM_MAX)}}])
    with invalid("Item size has exceeded the maximum allowed size"):
        db.TransactWriteItems(
            TransactItems=[{"Put": {"TableName": table, "Item": filled(ITEM_MAX + 1)}}])


KEY_TOO_LARGE = {
    "pk": "Size of hashkey has exceeded the maximum size limit of2048 bytes",
    "sk": "Aggregated size of all range keys has exceeded the size limit of 1024 bytes",
}


@pytest.mark.parametrize("kind, unit", [("S", "k"), ("S", "é"), ("B", b"\x00")])
def test_table_keys_of_2048_and_1024_bytes(db, make_table, kind, unit):
    table = make_table(f"pk:{kind} sk:{kind}")
    width = len(unit.encode()) if kind == "S" else len(unit)
    largest = {"pk": unit * (2048 // width), "sk": unit * (1024 // width)}
    db.PutItem(TableName=table, Item=item(largest, v=1))
    assert plain(db.GetItem(TableName=table, Key=item(largest))["Item"])["v"] == 1
    one = "x" if kind == "S" else b"x"
    for name in largest:
        too_large = {**largest, name: largest[name] + one}
        for operation, member in (("PutItem", "Item"), ("GetItem", "Key"), ("DeleteItem", "Key")):
            with invalid("One or more parameter values were invalid: " + KEY_TOO_LARGE[name]):
                db.call(operation, {"TableName": table, member: item(too_large)})


@pytest.mark.parametrize("index", ["gsi", "lsi"])
def test_index_keys_have_the_same_limits(db, make_table, index):
    table = (make_table("pk sk", gsi={"idx": "ih ir"}) if index == "gsi" else
             make_table("pk sk", lsi={"idx": "pk ir"}))
    largest = {"pk": "p" * 2048, "sk": "s" * 1024, "ir": "r" * 1024}
    if index == "gsi":
        largest["ih"] = "h" * 2048
    db.PutItem(TableName=table, Item=item(largest))
    found = db.Scan(TableName=table, IndexName="idx")["Items"]
    assert [plain(each) for each in found] == [largest]
    for name in set(largest) - {"pk", "sk"}:
        with invalid():
            db.PutItem(TableName=table, Item=item({**largest, name: largest[name] + "x"}))
        with invalid():
            db.UpdateItem(TableName=table, Key=item(pk=largest["pk"], sk=largest["sk"]),
                          UpdateExpression=f"SET {name} = :v",
                          ExpressionAttributeValues=values(v=largest[name] + "x"))


def test_index_of_largest_keys_pages_through_all(db, make_table):
    table = make_table("pk sk", gsi={"idx": "ih ir"})
    for number in range(5):
        db.PutItem(TableName=table, Item=item(pk=f"{number}" * 2048, sk=f"{number}" * 1024,
                                              ih="h" * 2048, ir="r" * 1024))
    seen = []
    request = {"TableName": table, "IndexName": "idx", "KeyConditionExpression": "ih = :h", "Limit": 2,
               "ExpressionAttributeValues": values(h="h" * 2048)}
    while True:
        page = db.Query(**request)
        seen += [each["pk"]["S"][0] for each in page["Items"]]
        if "LastEvaluatedKey" not in page:
            break
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
    assert sorted(seen) == ["0", "1", "2", "3", "4"]


def test_key_attribute_names_of_255_bytes(db, make_table):
    key, index = "k" * 255, "i" * 255
    table = make_table(key, gsi={"gsi": index})
    db.PutItem(TableName=table, Item=item({key: "a", index: "b"}))
    assert db.Scan(TableName=table, IndexName="gsi")["Count"] == 1
    for request in ({"key": key + "k"}, {"key": "pk", "gsi": {"gsi": index + "i"}}):
        with invalid():
            create_table(db, **request)


def test_attribute_names_of_65535_bytes(db, table):
    longest = "n" * 65535
    db.PutItem(TableName=table, Item=item({"pk": "k", longest: 1}))
    assert plain(db.GetItem(TableName=table, Key=item(pk="k"))["Item"])[longest] == 1


def test_name_counts_to_the_size_of_an_item(db, table):
    name = "é" * 1000
    value = "x" * (ITEM_MAX - item_size({"pk": av("k"), name: av("")}))
    db.PutItem(TableName=table, Item=item({"pk": "k", name: value}))
    with invalid("Item size has exceeded the maximum allowed size"):
        db.PutItem(TableName=table, Item=item({"pk": "k", name: value + "x"}))


def test_expression_values_nest_32_levels(db, table):
    value = av(1)
    for _ in range(31):
        value = {"M": {"m": value}}
    db.UpdateItem(TableName=table, Key=item(pk="k"), UpdateExpression="SET v = :v",
                  ExpressionAttributeValues={":v": value})
    with invalid():
        db.UpdateItem(TableName=table, Key=item(pk="k"), UpdateExpression="SET v = :v",
                      ExpressionAttributeValues={":v": {"M": {"m": value}}})


UPDATE_COSTS = {
    # expression: what it is charged beside the item without its key
    "SET fill = :v": 3 + 19,
    "SET fill = :v, extra = :one": 3 + 2 * 19,
    "SET fill = :v REMOVE gone": 3 + 19 + 2,
    "SET fill = :v ADD extra :one": 3 + 2 * 19,
}


@pytest.mark.parametrize("expression", UPDATE_COSTS)
def test_what_an_update_is_charged(db, table, expression):
    """The ceiling of an update: the item without its key, 3 bytes, 19 per value, 2 per removal."""
    named = {"one": 1} if ":one" in expression else {}
    rest = item_size(item(fill="", **({"extra": 1} if named else {})))
    largest = ITEM_MAX - UPDATE_COSTS[expression] - rest

    def update(length):
        db.DeleteItem(TableName=table, Key=item(pk="k"))
        db.UpdateItem(TableName=table, Key=item(pk="k"), UpdateExpression=expression,
                      ExpressionAttributeValues=values(v="x" * length, **named))
    update(largest)
    with invalid("Item size to update has exceeded the maximum allowed size"):
        update(largest + 1)


def test_what_attribute_updates_are_charged(db, table):
    """As much as expressions with the same effect: 19 per value, 2 per removal."""
    largest = ITEM_MAX - (3 + 2 * 19 + 2) - item_size(item(fill="", extra=1))

    def update(length):
        db.DeleteItem(TableName=table, Key=item(pk="k"))
        db.UpdateItem(TableName=table, Key=item(pk="k"), AttributeUpdates={
            "fill": {"Value": av("x" * length)}, "extra": {"Action": "ADD", "Value": av(1)}, "gone": {"Action": "DELETE"}})
    update(largest)
    with invalid("Item size to update has exceeded the maximum allowed size"):
        update(largest + 1)


def test_item_and_its_local_index_entries_share_the_limit(db, make_table):
    table = make_table("pk sk", lsi={"lsi": "pk l"})
    half = ITEM_MAX // 2
    fits = item(pk="k", sk="s", l="l", fill="x" * (half - 100))
    db.PutItem(TableName=table, Item=fits)
    with invalid():
        db.PutItem(TableName=table, Item=item(pk="k", sk="s", l="l", fill="x" * (half + 100)))
    db.PutItem(TableName=table, Item=item(pk="k", sk="s", fill="x" * (half + 100)))  # not in the index
