"""The parameters from before expressions: Expected, AttributeUpdates, KeyConditions, filters,
AttributesToGet."""

import pytest

from tables import put_all
from values import Raw, av, item, plain, plains, values
from wire import Client, Refused, invalid

ITEM = {"pk": "k", "s": "hello", "n": 5, "b": b"\x01\x02", "ss": {"a", "b"}, "ns": {1, 2},
        "l": [1, "two"], "m": {"a": 1}, "nil": None}


@pytest.fixture(scope="module")
def table(make_module_table):
    return make_module_table("pk")


@pytest.fixture(autouse=True)
def stored(db, table):
    db.PutItem(TableName=table, Item=item(ITEM))


def condition(operator, *operands):
    result = {"ComparisonOperator": operator}
    if operands:
        result["AttributeValueList"] = [av(operand) for operand in operands]
    return result


def expected_holds(db, table, expected, **more):
    try:
        db.PutItem(TableName=table, Item=item(ITEM), Expected=expected, **more)
        return True
    except Refused as error:
        assert error.type == "ConditionalCheckFailedException", error
        return False


CONDITIONS = [
    ("s", condition("EQ", "hello"), True), ("s", condition("EQ", "x"), False),
    ("n", condition("EQ", "5"), False), ("n", condition("EQ", Raw(N="5.0")), True),
    ("ss", condition("EQ", {"b", "a"}), True), ("l", condition("EQ", [1, "two"]), True),
    ("m", condition("EQ", {"a": 1}), True), ("gone", condition("EQ", 1), False),
    ("s", condition("NE", "x"), True), ("s", condition("NE", "hello"), False),
    ("n", condition("NE", "5"), True),
    ("n", condition("LT", 6), True), ("n", condition("LT", 5), False),
    ("n", condition("LE", 5), True), ("n", condition("GT", 4), True), ("n", condition("GE", 6), False),
    ("s", condition("LT", "help"), True), ("b", condition("GT", b"\x01"), True),
    ("n", condition("LT", "9"), False), ("gone", condition("LT", 9), False),
    ("s", condition("NULL"), False), ("gone", condition("NULL"), True), ("nil", condition("NULL"), False),
    ("s", condition("NOT_NULL"), True), ("gone", condition("NOT_NULL"), False),
    ("nil", condition("NOT_NULL"), True),
    ("s", condition("CONTAINS", "ell"), True), ("ss", condition("CONTAINS", "a"), True),
    ("ns", condition("CONTAINS", 2), True), ("l", condition("CONTAINS", "two"), True),
    ("b", condition("CONTAINS", b"\x02"), True), ("ss", condition("CONTAINS", 1), False),
    ("s", condition("NOT_CONTAINS", "xyz"), True), ("ss", condition("NOT_CONTAINS", "a"), False),
    ("s", condition("BEGINS_WITH", "hell"), True), ("s", condition("BEGINS_WITH", "ello"), False),
    ("n", condition("BETWEEN", 5, 6), True), ("n", condition("BETWEEN", 6, 7), False),
    ("s", condition("IN", "x", "hello"), True), ("s", condition("IN", "x"), False),
    ("s", {"Value": av("hello")}, True), ("s", {"Value": av("x")}, False),
    ("s", {"Value": av("hello"), "Exists": True}, True),
    ("gone", {"Exists": False}, True), ("s", {"Exists": False}, False),
]


@pytest.mark.parametrize("name, expected, result", CONDITIONS, ids=str)
def test_expected(db, table, name, expected, result):
    assert expected_holds(db, table, {name: expected}) is result
    if "ComparisonOperator" in expected:
        found = db.Scan(TableName=table, ScanFilter={name: expected})
        assert (found["Count"], found["ScannedCount"]) == (int(result), 1)


def test_conditional_operator(db, table):
    yes, no = condition("EQ", "hello"), condition("EQ", 6)
    assert expected_holds(db, table, {"s": yes, "n": no}) is False
    assert expected_holds(db, table, {"s": yes, "n": no}, ConditionalOperator="AND") is False
    assert expected_holds(db, table, {"s": yes, "n": no}, ConditionalOperator="OR") is True
    assert expected_holds(db, table, {"s": condition("EQ", "x"), "n": no},
                          ConditionalOperator="OR") is False
    found = db.Scan(TableName=table, ScanFilter={"s": yes, "n": no}, ConditionalOperator="OR")
    assert found["Count"] == 1


def test_expected_on_delete_and_update(db, table):
    for call, more in ((db.DeleteItem, {}), (db.UpdateItem, {"AttributeUpdates": {
            "v": {"Action": "PUT", "Value": av(1)}}})):
        with pytest.raises(Refused) as caught:
            call(TableName=table, Key=item(pk="k"), Expected={"n": condition("EQ", 6)}, **more)
        assert caught.value.type == "ConditionalCheckFailedException"
    db.DeleteItem(TableName=table, Key=item(pk="k"), Expected={"n": condition("EQ", 5)})
    assert db.GetItem(TableName=table, Key=item(pk="k")) == {}


@pytest.mark.parametrize("expected", [
    {"ComparisonOperator": "EQ"}, condition("EQ", 1, 2), condition("NULL", 1), condition("BETWEEN", 1),
    condition("BETWEEN", 1, "2"), condition("IN"), condition("LT", [1]), condition("LT", {1}),
    condition("BEGINS_WITH", 1), condition("SAME", 1), {"AttributeValueList": [av(1)]}, {},
    {"Exists": True}, {"Exists": False, "Value": av(1)}, {"Exists": True, **condition("EQ", 1)},
    {"Value": av(1), **condition("EQ", 1)},
], ids=str)
def test_bad_conditions_are_refused(db, table, expected):
    with invalid():
        db.PutItem(TableName=table, Item=item(pk="k"), Expected={"n": expected})
    assert plain(db.GetItem(TableName=table, Key=item(pk="k"))["Item"]) == ITEM


UPDATES = [
    ({"s": {"Action": "PUT", "Value": av("new")}}, {"s": "new"}),
    ({"s": {"Value": av("default action is PUT")}}, {"s": "default action is PUT"}),
    ({"fresh": {"Action": "PUT", "Value": av([1])}}, {"fresh": [1]}),
    ({"s": {"Action": "DELETE"}}, {"s": None}),
    ({"gone": {"Action": "DELETE"}}, {}),
    ({"ss": {"Action": "DELETE", "Value": av({"a", "z"})}}, {"ss": {"b"}}),
    ({"ns": {"Action": "DELETE", "Value": av({1, 2})}}, {"ns": None}),
    ({"n": {"Action": "ADD", "Value": av(3)}}, {"n": 8}),
    ({"fresh": {"Action": "ADD", "Value": av(3)}}, {"fresh": 3}),
    ({"ss": {"Action": "ADD", "Value": av({"c"})}}, {"ss": {"a", "b", "c"}}),
    ({"s": {"Action": "DELETE"}, "n": {"Action": "ADD", "Value": av(1)}}, {"s": None, "n": 6}),
]


@pytest.mark.parametrize("updates, changes", UPDATES, ids=str)
def test_attribute_updates(db, table, updates, changes):
    answer = db.UpdateItem(TableName=table, Key=item(pk="k"), AttributeUpdates=updates,
                           ReturnValues="ALL_NEW")
    expected = {**ITEM, **changes}
    for name in [name for name, value in changes.items() if value is None]:
        del expected[name]
    assert plain(answer["Attributes"]) == expected


@pytest.mark.parametrize("updates", [
    {"pk": {"Action": "PUT", "Value": av("x")}}, {"s": {"Action": "PUT"}}, {"n": {"Action": "ADD"}},
    {"s": {"Action": "ADD", "Value": av("x")}}, {"s": {"Action": "ADD", "Value": av(1)}},
    {"ss": {"Action": "ADD", "Value": av({1})}}, {"ss": {"Action": "DELETE", "Value": av("a")}},
    {"ss": {"Action": "DELETE", "Value": av({1})}}, {"s": {"Action": "CHANGE", "Value": av(1)}},
], ids=str)
def test_bad_attribute_updates_are_refused(db, table, updates):
    with invalid():
        db.UpdateItem(TableName=table, Key=item(pk="k"), AttributeUpdates=updates)
    assert plain(db.GetItem(TableName=table, Key=item(pk="k"))["Item"]) == ITEM


def test_attribute_updates_on_an_absent_item(db, table):
    def after(action):
        db.DeleteItem(TableName=table, Key=item(pk="new"))
        db.UpdateItem(TableName=table, Key=item(pk="new"), AttributeUpdates={"v": action})
        return plain(db.GetItem(TableName=table, Key=item(pk="new")).get("Item"))
    assert after({"Action": "PUT", "Value": av(1)}) == {"pk": "new", "v": 1}
    assert after({"Action": "ADD", "Value": av(1)}) == {"pk": "new", "v": 1}
    assert after({"Action": "ADD", "Value": av({1})}) == {"pk": "new", "v": {1}}
    assert after({"Action": "DELETE"}) is None
    db.DeleteItem(TableName=table, Key=item(pk="new"))


def test_attributes_to_get(db, table):
    key = item(pk="k")
    wanted = {"n": 5, "s": "hello"}
    names = ["n", "s", "gone"]
    assert plain(db.GetItem(TableName=table, Key=key, AttributesToGet=names)["Item"]) == wanted
    assert plains(db.Scan(TableName=table, AttributesToGet=names)["Items"]) == [wanted]
    batch = db.BatchGetItem(RequestItems={table: {"Keys": [key], "AttributesToGet": names}})
    assert plains(batch["Responses"][table]) == [wanted]
    for bad in ([], ["n", "n"]):
        with invalid():
            db.GetItem(TableName=table, Key=key, AttributesToGet=bad)


class TestQuery:
    @pytest.fixture(scope="class")
    def rows(self, make_module_table, endpoint):
        name = make_module_table("pk sk:N", gsi={"idx": "g sk:N"})
        with Client(endpoint) as client:
            put_all(client, name, [item(pk="k", sk=number, v=number % 3, g="g") for number in range(10)])
        return name

    def query(self, db, rows, sort=None, **more):
        conditions = {"pk": condition("EQ", "k")}
        if sort:
            conditions["sk"] = sort
        return [plain(each)["sk"] for each in
                db.Query(TableName=rows, KeyConditions=conditions, **more)["Items"]]

    @pytest.mark.parametrize("sort, expected", [
        (None, range(10)), (condition("EQ", 3), [3]), (condition("LT", 3), [0, 1, 2]),
        (condition("LE", 3), [0, 1, 2, 3]), (condition("GT", 7), [8, 9]), (condition("GE", 7), [7, 8, 9]),
        (condition("BETWEEN", 3, 5), [3, 4, 5])], ids=str)
    def test_key_conditions(self, db, rows, sort, expected):
        assert self.query(db, rows, sort) == list(expected)
        assert self.query(db, rows, sort, ScanIndexForward=False) == list(expected)[::-1]

    def test_index(self, db, rows):
        found = db.Query(TableName=rows, IndexName="idx", KeyConditions={
            "g": condition("EQ", "g"), "sk": condition("GE", 8)})
        assert found["Count"] == 2

    def test_query_filter(self, db, rows):
        assert self.query(db, rows, QueryFilter={"v": condition("EQ", 0)}) == [0, 3, 6, 9]
        assert self.query(db, rows, QueryFilter={"v": condition("EQ", 0), "w": condition("NOT_NULL")},
                          ConditionalOperator="OR") == [0, 3, 6, 9]
        with invalid():
            self.query(db, rows, QueryFilter={"sk": condition("EQ", 0)})

    @pytest.mark.parametrize("conditions", [
        {}, {"sk": condition("EQ", 1)}, {"pk": condition("GT", "a")}, {"pk": condition("EQ", 1)},
        {"pk": condition("EQ", "k"), "v": condition("EQ", 1)},
        {"pk": condition("EQ", "k"), "sk": condition("NE", 1)},
        {"pk": condition("EQ", "k"), "sk": condition("IN", 1)},
        {"pk": condition("EQ", "k"), "sk": condition("CONTAINS", 1)},
        {"pk": condition("EQ", "k"), "sk": condition("BETWEEN", 5, 3)},
    ], ids=str)
    def test_bad_key_conditions(self, db, rows, conditions):
        with invalid():
            db.Query(TableName=rows, KeyConditions=conditions)


@pytest.mark.parametrize("operation, request_", [
    ("PutItem", {"Item": item(pk="k"), "Expected": {"n": condition("NULL")},
                 "ConditionExpression": "attribute_not_exists(n)"}),
    ("UpdateItem", {"Key": item(pk="k"), "AttributeUpdates": {"v": {"Value": av(1)}},
                    "UpdateExpression": "REMOVE v"}),
    ("UpdateItem", {"Key": item(pk="k"), "AttributeUpdates": {"v": {"Value": av(1)}},
                    "ConditionExpression": "attribute_exists(n)"}),
    ("GetItem", {"Key": item(pk="k"), "AttributesToGet": ["n"], "ProjectionExpression": "n"}),
    ("Scan", {"ScanFilter": {"n": condition("NULL")}, "FilterExpression": "attribute_exists(n)"}),
    ("Query", {"KeyConditions": {"pk": condition("EQ", "k")}, "KeyConditionExpression": "pk = :k",
               "ExpressionAttributeValues": values(k="k")}),
], ids=str)
def test_old_and_new_do_not_mix(db, table, operation, request_):
    with invalid() as caught:
        db.call(operation, {"TableName": table, **request_})
    assert ("Can not use both expression and non-expression parameters in the same request: "
            "Non-expression parameters: {") in caught.error.message


def test_conditional_operator_needs_conditions(db, table):
    with invalid():
        db.PutItem(TableName=table, Item=item(pk="k"), ConditionalOperator="OR")
