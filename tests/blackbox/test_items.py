"""PutItem, GetItem, DeleteItem: every type of value is read as written."""

import base64

import pytest

from values import Raw, av, item, plain
from wire import invalid, refused

VALUES = {
    "string": "text",
    "empty string": "",
    "unicode": "naïve café, 北京, 🜲",
    "escapes": "quote \" backslash \\ slash / newline \n tab \t nul \0 bell \x07",
    "zero": 0,
    "negative": -42,
    "binary": bytes(range(256)),
    "empty binary": b"",
    "true": True,
    "false": False,
    "null": None,
    "list": [1, "two", b"three", None, [True, []], {"four": 4}],
    "empty list": [],
    "map": {"a": 1, "b": {"c": {"d": [None]}}},
    "empty map": {},
    "string set": {"a", "b", "c"},
    "string set with an empty string": {"", "a"},
    "number set": {1, 2, -3},
    "binary set": {b"\x00", b"\xff", b"abc"},
}


@pytest.fixture
def table(make_table):
    return make_table("pk")


def put_get(db, table, **attributes):
    db.PutItem(TableName=table, Item=item(pk="k", **attributes))
    return plain(db.GetItem(TableName=table, Key=item(pk="k"), ConsistentRead=True)["Item"])


@pytest.mark.parametrize("name", VALUES)
def test_value_round_trip(db, table, name):
    assert put_get(db, table, v=VALUES[name]) == {"pk": "k", "v": VALUES[name]}


def test_item_with_every_type_at_once(db, table):
    assert put_get(db, table, **VALUES) == {"pk": "k", **VALUES}


def test_get_of_absent_item_has_no_item(db, table):
    assert db.GetItem(TableName=table, Key=item(pk="absent")) == {}


def test_put_replaces_the_whole_item(db, table):
    put_get(db, table, old=1)
    assert put_get(db, table, new=2) == {"pk": "k", "new": 2}


def test_put_returns_the_old_item(db, table):
    first = db.PutItem(TableName=table, Item=item(pk="k", v=1), ReturnValues="ALL_OLD")
    second = db.PutItem(TableName=table, Item=item(pk="k", v=2), ReturnValues="ALL_OLD")
    assert first == {}
    assert plain(second["Attributes"]) == {"pk": "k", "v": 1}


def test_delete_returns_the_old_item(db, table):
    db.PutItem(TableName=table, Item=item(pk="k", v=1))
    gone = db.DeleteItem(TableName=table, Key=item(pk="k"), ReturnValues="ALL_OLD")
    again = db.DeleteItem(TableName=table, Key=item(pk="k"), ReturnValues="ALL_OLD")
    assert plain(gone["Attributes"]) == {"pk": "k", "v": 1}
    assert again == {}
    assert db.GetItem(TableName=table, Key=item(pk="k")) == {}


@pytest.mark.parametrize("operation", ["PutItem", "DeleteItem"])
@pytest.mark.parametrize("wanted", ["ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
def test_return_values_beyond_all_old_belong_to_update(db, table, operation, wanted):
    request = {"PutItem": {"Item": item(pk="k")}, "DeleteItem": {"Key": item(pk="k")}}[operation]
    with invalid():
        db.call(operation, {"TableName": table, "ReturnValues": wanted, **request})


def test_table_with_sort_key_holds_many_items_of_one_partition(db, make_table):
    table = make_table("pk sk:N")
    for sk in (3, 1, 2):
        db.PutItem(TableName=table, Item=item(pk="k", sk=sk, v=f"v{sk}"))
    for sk in (1, 2, 3):
        found = db.GetItem(TableName=table, Key=item(pk="k", sk=sk))["Item"]
        assert plain(found)["v"] == f"v{sk}"


@pytest.mark.parametrize("kind, key", [("S", "naïve"), ("N", -1.5), ("B", b"\x00\xff")])
def test_keys_of_every_type(db, make_table, kind, key):
    table = make_table(f"pk:{kind} sk:{kind}")
    key = {kind: str(key)} if kind == "N" else av(key)
    db.PutItem(TableName=table, Item={"pk": key, "sk": key, "v": {"S": "found"}})
    assert db.GetItem(TableName=table, Key={"pk": key, "sk": key})["Item"]["v"] == {"S": "found"}


def test_number_keys_are_equal_by_value(db, make_table):
    table = make_table("pk:N")
    db.PutItem(TableName=table, Item={"pk": {"N": "1.50"}})
    assert db.GetItem(TableName=table, Key={"pk": {"N": "15e-1"}})["Item"] == {"pk": {"N": "1.5"}}


def test_names_may_be_anything(db, table):
    names = {"with space": 1, "dot.ted": 2, "#hash": 3, ":colon": 4, "ключ": 5, "S": 6, "x" * 300: 7}
    assert put_get(db, table, **names) == {"pk": "k", **names}


def test_unpadded_or_broken_base64_is_refused(db, table):
    for text in ("!!!!", "YQ", "Y"):
        with refused("SerializationException"):
            db.PutItem(TableName=table, Item={"pk": av("k"), "v": {"B": text}})


def test_binary_comes_back_as_canonical_base64(db, table):
    data = base64.b64encode(b"\xfb\xff\xfe").decode()
    assert "+" in data and "/" in data
    db.PutItem(TableName=table, Item={"pk": av("k"), "v": {"B": data}})
    assert db.GetItem(TableName=table, Key=item(pk="k"))["Item"]["v"] == {"B": data}


@pytest.mark.parametrize("value", [
    Raw(SS=[]), Raw(NS=[]), Raw(BS=[]),
    Raw(SS=["a", "a"]), Raw(NS=["1", "1.0"]), Raw(BS=["YQ==", "YQ=="]),
    Raw(NULL=False), Raw(), Raw(S="a", N="1"),
], ids=str)
def test_values_that_are_refused(db, table, value):
    for attributes in ({"v": value}, {"v": [value]}, {"v": {"m": value}}):
        with invalid():
            db.PutItem(TableName=table, Item=item(pk="k", **attributes))


@pytest.mark.parametrize("value, text", [
    (Raw(SS=[]), "An string set  may not be empty"),
    (Raw(NULL=False), "Null attribute value types must have the value of true"),
    (Raw(SS=["a", "a"]), 'Input collection ["a", "a"] contains duplicates.'),
], ids=str)
def test_value_errors_keep_the_services_words(db, table, value, text):
    with invalid("1 validation error detected: One or more parameter values were invalid: " + text):
        db.PutItem(TableName=table, Item=item(pk="k", v=value))


def nested(levels):
    value = av("deepest")
    for _ in range(levels):
        value = {"L": [value]}
    return Raw(value)


def test_nesting_of_32_levels(db, table):
    assert put_get(db, table, v=nested(31))["v"]
    with invalid():
        db.PutItem(TableName=table, Item=item(pk="k", v=nested(32)))


@pytest.mark.parametrize("key, case", [
    ({}, "no key"), ({"sk": "s"}, "no partition key"), ({"pk": "p"}, "no sort key"),
    ({"pk": "p", "sk": "s", "extra": "x"}, "one too many"), ({"pk": 1, "sk": "s"}, "wrong type"),
    ({"pk": "p", "sk": [1]}, "not a scalar"),
], ids=lambda case: case if isinstance(case, str) else "")
def test_look_up_key_must_match_the_schema(db, make_table, key, case):
    table = make_table("pk sk")
    for operation in ("GetItem", "DeleteItem", "UpdateItem"):
        with invalid("The provided key element does not match the schema"):
            db.call(operation, {"TableName": table, "Key": item(key)})


def test_put_without_its_keys_is_refused(db, make_table):
    table = make_table("pk sk")
    with invalid("One or more parameter values were invalid: Missing the key sk in the item"):
        db.PutItem(TableName=table, Item=item(pk="k"))


def test_put_with_key_of_wrong_type_is_refused(db, table):
    with invalid("One or more parameter values were invalid: Type mismatch for key pk expected: S "
                 "actual: N"):
        db.PutItem(TableName=table, Item=item(pk=1))


def test_empty_key_values_are_refused(db, make_table):
    for kind, empty, word in (("S", "", "string"), ("B", b"", "binary")):
        table = make_table(f"pk:{kind}")
        text = ("One or more parameter values are not valid. The AttributeValue for a key attribute "
                f"cannot contain an empty {word} value. Key: pk")
        with invalid(text):
            db.PutItem(TableName=table, Item=item(pk=empty))
        with invalid(text):
            db.GetItem(TableName=table, Key=item(pk=empty))


def test_absent_table(db):
    for operation, request in (("GetItem", {"Key": item(pk="k")}),
                               ("PutItem", {"Item": item(pk="k")}),
                               ("DeleteItem", {"Key": item(pk="k")}),
                               ("UpdateItem", {"Key": item(pk="k")})):
        with refused("ResourceNotFoundException", "Requested resource not found"):
            db.call(operation, {"TableName": "no-such-table", **request})
