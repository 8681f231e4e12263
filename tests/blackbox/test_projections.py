"""ProjectionExpression: parts of items, in their own shape, from every read."""

import pytest

from values import item, plain, plains, values
from wire import invalid

ITEM = {
    "pk": "k", "sk": 1, "a": "A", "b": "B", "n": None, "ss": {"x"},
    "m": {"x": 1, "y": {"z": 2, "w": [10, 20, 30]}, "dot.ted": 3},
    "l": ["l0", {"a": 1, "b": 2, "c": 3}, ["l20", "l21"], "l3"],
}


@pytest.fixture(scope="module")
def table(make_module_table, endpoint):
    from wire import Client
    name = make_module_table("pk sk:N")
    with Client(endpoint) as client:
        client.PutItem(TableName=name, Item=item(ITEM))
    return name


CASES = {
    "a": {"a": "A"},
    "a, b": {"a": "A", "b": "B"},
    "pk": {"pk": "k"},
    "absent, a": {"a": "A"},
    "m": {"m": ITEM["m"]},
    "m.x": {"m": {"x": 1}},
    "m.x, m.y.z": {"m": {"x": 1, "y": {"z": 2}}},
    "m.y.w[1]": {"m": {"y": {"w": [20]}}},
    "m.absent, a": {"a": "A"},
    "l[0]": {"l": ["l0"]},
    "l[2], l[0]": {"l": ["l0", ["l20", "l21"]]},
    "l[1].a, l[1].c": {"l": [{"a": 1, "c": 3}]},
    "l[2][1]": {"l": [["l21"]]},
    "l[3], l[1].b, l[2][0]": {"l": [{"b": 2}, ["l20"], "l3"]},
    "l[9], b": {"b": "B"},
    "a.x, b": {"b": "B"},
    "a[0], b": {"b": "B"},
    "m.y.w[2], m.y.w[0], a": {"m": {"y": {"w": [10, 30]}}, "a": "A"},
    "n, ss": {"n": None, "ss": {"x"}},
}


@pytest.mark.parametrize("expression", CASES)
def test_projection_of_every_read(db, table, expression):
    key = item(pk="k", sk=1)
    expected = CASES[expression]
    one = {"TableName": table, "ProjectionExpression": expression}
    assert plain(db.GetItem(**one, Key=key)["Item"]) == expected
    assert plains(db.Scan(**one)["Items"]) == [expected]
    assert plains(db.Query(**one, KeyConditionExpression="pk = :k",
                           ExpressionAttributeValues=values(k="k"))["Items"]) == [expected]
    batch = db.BatchGetItem(RequestItems={table: {
        "Keys": [key], "ProjectionExpression": expression}})
    assert plains(batch["Responses"][table]) == [expected]
    transaction = db.TransactGetItems(TransactItems=[{"Get": {**one, "Key": key}}])
    assert plain(transaction["Responses"][0]["Item"]) == expected


def test_names_may_stand_for_anything(db, table):
    found = db.GetItem(TableName=table, Key=item(pk="k", sk=1),
                       ProjectionExpression="#m.#d, #m.y.#w[0]",
                       ExpressionAttributeNames={"#m": "m", "#d": "dot.ted", "#w": "w"})
    assert plain(found["Item"]) == {"m": {"dot.ted": 3, "y": {"w": [10]}}}


def test_projection_that_matches_nothing(db, table):
    key = item(pk="k", sk=1)
    assert db.GetItem(TableName=table, Key=key, ProjectionExpression="absent")["Item"] == {}
    batch = db.BatchGetItem(RequestItems={table: {"Keys": [key], "ProjectionExpression": "absent"}})
    assert batch["Responses"] == {table: [{}]}
    transaction = db.TransactGetItems(TransactItems=[
        {"Get": {"TableName": table, "Key": key, "ProjectionExpression": "absent"}}])
    assert transaction["Responses"] == [{}]


@pytest.mark.parametrize("expression", [
    "", "a,", ",a", "a b", "a..b", "a.", "l[", "l[x]", "l[-1]", "!!", "a, a", "m, m.x", "m.x, m",
    "l[0], l", "l[1], l[1].a", "#undefined", ":v", "status", "a.status", "a + b", "size(a)",
])
def test_refused_even_where_nothing_matches(db, table, expression):
    with invalid() as caught:
        db.GetItem(TableName=table, Key=item(pk="absent", sk=1), ProjectionExpression=expression)
    assert "ProjectionExpression" in caught.error.message
    with invalid():
        db.Query(TableName=table, ProjectionExpression=expression, KeyConditionExpression="pk = :k",
                 ExpressionAttributeValues=values(k="absent"))


def test_error_texts(db, table):
    def project(expression, **more):
        db.GetItem(TableName=table, Key=item(pk="k", sk=1), ProjectionExpression=expression, **more)
    with invalid('Invalid ProjectionExpression: Syntax error; token: "!", near: "!!"'):
        project("!!")
    with invalid("Invalid ProjectionExpression: Two document paths overlap with each other; must remove "
                 "or rewrite one of these paths; path one: [m], path two: [m, x]"):
        project("m, m.x")
    with invalid("Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}"):
        project("a", ExpressionAttributeNames={"#x": "a"})
