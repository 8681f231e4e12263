"""Validation errors: which texts have the envelope, and the order of checks.

PutItem and UpdateItem put "1 validation error detected: " before some errors and not before others;
reads never do. The split follows the kind of error, never the text."""

import pytest

from values import Raw, av, item, values
from wire import invalid, refused

ENVELOPE = "1 validation error detected: "


@pytest.fixture(scope="module")
def table(make_module_table):
    return make_module_table("pk", gsi={"idx": "g"})


def put(db, table, **more):
    attributes = more.pop("attributes", {})
    return db.PutItem(TableName=table, Item=item(pk="k", **attributes), **more)


def update(db, table, expression=None, **more):
    if expression is not None:
        more["UpdateExpression"] = expression
    return db.UpdateItem(TableName=table, Key=item(pk="k"), **more)


ENVELOPED = {
    "empty set": lambda db, table: put(db, table, attributes={"v": Raw(SS=[])}),
    "duplicates in a set": lambda db, table: put(db, table, attributes={"v": Raw(NS=["1", "1"])}),
    "NULL that is false": lambda db, table: put(db, table, attributes={"v": Raw(NULL=False)}),
    "NULL that is false, deep": lambda db, table: put(db, table, attributes={"v": [{"x": Raw(NULL=False)}]}),
    "NULL that is false, as a value": lambda db, table: update(
        db, table, "SET v = :v", ExpressionAttributeValues={":v": {"NULL": False}}),
    "syntax of a condition": lambda db, table: put(db, table, ConditionExpression="a ="),
    "syntax of an update": lambda db, table: update(db, table, "SET"),
    "size of an expression": lambda db, table: put(
        db, table, ConditionExpression="attribute_exists(pk)".ljust(4097)),
    "redundant parentheses": lambda db, table: put(
        db, table, ConditionExpression="((attribute_exists(pk)))"),
    "contains of itself": lambda db, table: put(db, table, ConditionExpression="contains(a, a)"),
    "values without expression": lambda db, table: put(db, table, ExpressionAttributeValues=values(v=1)),
    "both kinds of parameters": lambda db, table: put(
        db, table, ConditionExpression="attribute_exists(pk)", Expected={"a": {"Exists": False}}),
    "invalid ReturnValues": lambda db, table: put(db, table, ReturnValues="SOME"),
    "invalid ReturnValues of an update": lambda db, table: update(db, table, ReturnValues="SOME"),
}

BARE = {
    "key of wrong type": lambda db, table: db.PutItem(TableName=table, Item=item(pk=1)),
    "index key of wrong type": lambda db, table: put(db, table, attributes={"g": 1}),
    "update of a key": lambda db, table: update(
        db, table, "SET pk = :v", ExpressionAttributeValues=values(v="x")),
    "invalid document path": lambda db, table: update(
        db, table, "SET a.b = :v", ExpressionAttributeValues=values(v=1)),
    "missing attribute": lambda db, table: update(db, table, "SET a = b"),
    "empty key": lambda db, table: db.PutItem(TableName=table, Item=item(pk="")),
    "value without type": lambda db, table: put(db, table, attributes={"v": Raw()}),
    "value with two types": lambda db, table: put(db, table, attributes={"v": Raw(S="a", N="1")}),
    "oversized item": lambda db, table: put(db, table, attributes={"v": "x" * 409_600}),
}


@pytest.mark.parametrize("case", ENVELOPED)
def test_enveloped(db, table, case):
    with invalid() as caught:
        ENVELOPED[case](db, table)
    assert caught.error.message.startswith(ENVELOPE), caught.error.message


@pytest.mark.parametrize("case", BARE)
def test_bare(db, table, case):
    db.DeleteItem(TableName=table, Key=item(pk="k"))
    with invalid() as caught:
        BARE[case](db, table)
    assert not caught.error.message.startswith(ENVELOPE), caught.error.message


@pytest.mark.parametrize("operation, request_", [
    ("GetItem", {"Key": item(pk="k"), "ProjectionExpression": "a b"}),
    ("Scan", {"FilterExpression": "a ="}),
    ("Query", {"KeyConditionExpression": "a ="}),
], ids=str)
def test_expression_errors_of_reads_are_bare(db, table, operation, request_):
    with invalid() as caught:
        db.call(operation, {"TableName": table, **request_})
    assert caught.error.message.startswith("Invalid "), caught.error.message


def test_user_data_does_not_decide_the_envelope(db, table):
    """An item that contains the words of another error."""
    with invalid() as caught:
        db.PutItem(TableName=table, Item=item({"pk": 1, "Invalid UpdateExpression: Syntax error": 1}))
    assert not caught.error.message.startswith(ENVELOPE)


def test_wrong_json_type_comes_before_everything(db):
    for request in ({"TableName": 5}, {"TableName": "", "Item": []}, {"TableName": "", "Item": "x"},
                    {"TableName": "", "Item": {"pk": {"S": 5}}}, {"TableName": "", "Item": {"pk": "x"}}):
        with refused("SerializationException"):
            db.call("PutItem", request)


def test_missing_members_are_told_together(db):
    with invalid() as caught:
        db.call("GetItem", {})
    assert "2 validation errors detected: " in caught.error.message
    for name in ("tableName", "key"):
        assert (f"Value null at '{name}' failed to satisfy constraint: Member must not be null"
                in caught.error.message)


def test_enums_of_put_are_told_together(db, table):
    with invalid() as caught:
        put(db, table, ReturnValues="A", ReturnConsumedCapacity="B", ReturnItemCollectionMetrics="C")
    assert caught.error.message.startswith("3 validation errors detected: ")
    assert caught.error.message.count("Member must satisfy enum value set: [") == 3
    for text in ("[INDEXES, TOTAL, NONE]", "[SIZE, NONE]"):
        assert text in caught.error.message


def test_expressions_come_before_the_table_and_keys_after_it(db):
    with invalid():
        db.UpdateItem(TableName="no-such-table", Key=item(pk="k"), UpdateExpression="SET")
    with refused("ResourceNotFoundException"):
        db.UpdateItem(TableName="no-such-table", Key=item(wrong=1), UpdateExpression="SET a = :v",
                      ExpressionAttributeValues=values(v=1))


def test_key_comes_before_the_condition(db, table):
    with invalid("The provided key element does not match the schema"):
        db.DeleteItem(TableName=table, Key=item(wrong="x"), ConditionExpression="attribute_exists(pk)")


def test_condition_comes_before_the_update(db, table):
    db.DeleteItem(TableName=table, Key=item(pk="k"))
    with refused("ConditionalCheckFailedException"):
        update(db, table, "SET a = b", ConditionExpression="attribute_exists(pk)")


@pytest.mark.parametrize("name", ["", "a b", "a/b", "é", "x" * 2000], ids=["empty", "space", "slash",
                                                                          "accent", "long"])
def test_table_names_that_cannot_be(db, name):
    for operation, request in (("GetItem", {"Key": item(pk="k")}), ("PutItem", {"Item": item(pk="k")}),
                               ("Scan", {}), ("DescribeTable", {}), ("DeleteTable", {})):
        with invalid() as caught:
            db.call(operation, {"TableName": name, **request})
        assert "ableName" in caught.error.message


@pytest.mark.parametrize("operation", ["GetItem", "PutItem", "Query", "Scan", "BatchGetItem",
                                       "BatchWriteItem", "TransactGetItems", "TransactWriteItems",
                                       "UpdateItem", "DeleteItem"])
def test_unknown_return_consumed_capacity(db, table, operation):
    get = {"TableName": table, "Key": item(pk="k")}
    request = {
        "PutItem": {"TableName": table, "Item": item(pk="k")},
        "Query": {"TableName": table, "KeyConditionExpression": "pk = :k",
                  "ExpressionAttributeValues": values(k="k")},
        "Scan": {"TableName": table},
        "BatchGetItem": {"RequestItems": {table: {"Keys": [item(pk="k")]}}},
        "BatchWriteItem": {"RequestItems": {table: [{"PutRequest": {"Item": item(pk="k")}}]}},
        "TransactGetItems": {"TransactItems": [{"Get": get}]},
        "TransactWriteItems": {"TransactItems": [{"Delete": get}]},
    }.get(operation, get)
    with invalid() as caught:
        db.call(operation, {**request, "ReturnConsumedCapacity": "LOTS"})
    assert ("Value 'LOTS' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy "
            "enum value set: [INDEXES, TOTAL, NONE]") in caught.error.message


def test_values_are_checked_wherever_they_stand(db, table):
    """A bad value is refused in keys, items and expression values, on reads too."""
    for bad in (Raw(SS=[]), Raw(N="x"), Raw(NULL=False), Raw(), Raw(NS=["1", "1"])):
        for operation, request in (
                ("GetItem", {"Key": item(pk=bad)}),
                ("Scan", {"FilterExpression": "a = :v", "ExpressionAttributeValues": {":v": av(bad)}}),
                ("Query", {"KeyConditionExpression": "pk = :v",
                           "ExpressionAttributeValues": {":v": av(bad)}}),
                ("Scan", {"ExclusiveStartKey": item(pk=bad)}),
                ("DeleteItem", {"Key": item(pk="k"), "ConditionExpression": "a = :v",
                                "ExpressionAttributeValues": {":v": av(bad)}})):
            with invalid():
                db.call(operation, {"TableName": table, **request})
