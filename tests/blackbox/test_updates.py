"""UpdateItem: every clause and function, what it returns, what it refuses."""

import pytest

from values import Raw, av, item, plain, values
from wire import invalid

START = {
    "pk": "k", "n": 5, "s": "text", "b": b"bin", "l": ["a", "b", "c"], "empty_l": [],
    "m": {"a": 1, "deep": {"x": [10, 20, 30]}}, "ss": {"a", "b"}, "ns": {1, 2}, "bs": {b"x"},
    "flag": True, "nil": None,
}


@pytest.fixture(scope="module")
def table(make_module_table):
    return make_module_table("pk")


@pytest.fixture(autouse=True)
def stored(db, table):
    db.PutItem(TableName=table, Item=item(START))


def update(db, table, expression, names=None, returns="ALL_NEW", key="k", **named):
    request = {"TableName": table, "Key": item(pk=key), "UpdateExpression": expression,
               "ReturnValues": returns}
    if names:
        request["ExpressionAttributeNames"] = names
    if named:
        request["ExpressionAttributeValues"] = values(**named)
    return plain(db.UpdateItem(**request).get("Attributes"))


def changed(**attributes):
    """START with changes; None as GONE takes away."""
    result = {**START, **attributes}
    return {name: value for name, value in result.items() if value is not GONE}


GONE = object()

CASES = {
    # SET
    "SET s = :v": ({"v": "new"}, {"s": "new"}),
    "set s = :v": ({"v": "keywords in any case"}, {"s": "keywords in any case"}),
    "SET fresh = :v": ({"v": {1, 2}}, {"fresh": {1, 2}}),
    "SET s = :v, n = :w": ({"v": 1, "w": "two"}, {"s": 1, "n": "two"}),
    "SET n = n + :v": ({"v": 3}, {"n": 8}),
    "SET n = n - :v": ({"v": 7}, {"n": -2}),
    "SET n = :v - n": ({"v": 7}, {"n": 2}),
    "SET n = :v + :w": ({"v": 7, "w": Raw(N="-7")}, {"n": 0}),
    "SET n = n + n": ({}, {"n": 10}),
    "SET n = (n - :v)": ({"v": 1}, {"n": 4}),
    "SET dup = m.deep.x[1]": ({}, {"dup": 20}),
    "SET s = n, n = s": ({}, {"s": 5, "n": "text"}),
    "SET s = :v, dup = s": ({"v": "new"}, {"s": "new", "dup": "text"}),
    "SET m.a = :v": ({"v": 2}, {"m": {"a": 2, "deep": {"x": [10, 20, 30]}}}),
    "SET m.fresh = :v": ({"v": 2}, {"m": {"a": 1, "fresh": 2, "deep": {"x": [10, 20, 30]}}}),
    "SET m.deep.x[0] = :v": ({"v": 0}, {"m": {"a": 1, "deep": {"x": [0, 20, 30]}}}),
    "SET l[1] = :v": ({"v": "B"}, {"l": ["a", "B", "c"]}),
    "SET l[3] = :v": ({"v": "d"}, {"l": ["a", "b", "c", "d"]}),
    "SET l[99] = :v": ({"v": "z"}, {"l": ["a", "b", "c", "z"]}),
    "SET l[50] = :v, l[40] = :w": ({"v": "y", "w": "x"}, {"l": ["a", "b", "c", "x", "y"]}),
    "SET s = if_not_exists(s, :v)": ({"v": "unused"}, {}),
    "SET fresh = if_not_exists(fresh, :v)": ({"v": 1}, {"fresh": 1}),
    "SET fresh = if_not_exists(n, :v)": ({"v": 1}, {"fresh": 5}),
    "SET fresh = if_not_exists(fresh, :v) + :w": ({"v": 0, "w": 1}, {"fresh": 1}),
    "SET l = list_append(l, :v)": ({"v": ["d"]}, {"l": ["a", "b", "c", "d"]}),
    "SET l = list_append(:v, l)": ({"v": ["z"]}, {"l": ["z", "a", "b", "c"]}),
    "SET l = list_append(l, l)": ({}, {"l": ["a", "b", "c", "a", "b", "c"]}),
    "SET l = list_append(l, empty_l)": ({}, {}),
    "SET fresh = list_append(if_not_exists(fresh, :e), :v)": ({"e": [], "v": [1]}, {"fresh": [1]}),
    # REMOVE
    "REMOVE s": ({}, {"s": GONE}),
    "REMOVE s, n, absent": ({}, {"s": GONE, "n": GONE}),
    "REMOVE m.a": ({}, {"m": {"deep": {"x": [10, 20, 30]}}}),
    "REMOVE l[0]": ({}, {"l": ["b", "c"]}),
    "REMOVE l[0], l[2]": ({}, {"l": ["b"]}),
    "REMOVE l[9]": ({}, {}),
    "REMOVE m.deep.x[1]": ({}, {"m": {"a": 1, "deep": {"x": [10, 30]}}}),
    # ADD
    "ADD n :v": ({"v": 3}, {"n": 8}),
    "ADD fresh :v": ({"v": -3}, {"fresh": -3}),
    "ADD ss :v": ({"v": {"b", "c"}}, {"ss": {"a", "b", "c"}}),
    "ADD ns :v": ({"v": {2, 3}}, {"ns": {1, 2, 3}}),
    "ADD bs :v": ({"v": {b"y"}}, {"bs": {b"x", b"y"}}),
    "ADD fresh :v, n :w": ({"v": {"a"}, "w": 1}, {"fresh": {"a"}, "n": 6}),
    "ADD m.a :v": ({"v": 1}, {"m": {"a": 2, "deep": {"x": [10, 20, 30]}}}),
    "ADD m.deep.x[0] :v": ({"v": 1}, {"m": {"a": 1, "deep": {"x": [11, 20, 30]}}}),
    # DELETE
    "DELETE ss :v": ({"v": {"a", "z"}}, {"ss": {"b"}}),
    "DELETE ns :v": ({"v": {1, 2}}, {"ns": GONE}),
    "DELETE bs :v": ({"v": {b"z"}}, {}),
    "DELETE absent :v": ({"v": {"a"}}, {}),
    # all together, in any order
    "REMOVE s ADD n :v SET fresh = :w DELETE ss :x":
        ({"v": 1, "w": "w", "x": {"a"}}, {"s": GONE, "n": 6, "fresh": "w", "ss": {"b"}}),
    "SET l[0] = :v REMOVE l[1], l[2]": ({"v": "A"}, {"l": ["A"]}),
}


@pytest.mark.parametrize("expression", CASES)
def test_update(db, table, expression):
    named, changes = CASES[expression]
    assert update(db, table, expression, **named) == changed(**changes)
    stored = db.GetItem(TableName=table, Key=item(pk="k"), ConsistentRead=True)["Item"]
    assert plain(stored) == changed(**changes)


REFUSED = [
    ("", {}), ("SET", {}), ("SET s", {}), ("SET s =", {}), ("s = :v", {"v": 1}), ("SET = :v", {"v": 1}),
    ("SET s = :v,", {"v": 1}), ("SET s = :v SET n = :v", {"v": 1}), ("ADD n :v ADD m.a :v", {"v": 1}),
    ("SET s = :undefined", {}), ("SET #undefined = :v", {"v": 1}), ("SET s = :v", {"v": 1, "w": 2}),
    ("SET s = :v + :v + :v", {"v": 1}), ("SET s = :v * :v", {"v": 1}), ("SET s = 5", {}),
    ("ADD n", {}), ("ADD n n", {}), ("DELETE ss", {}), ("REMOVE", {}), ("REMOVE s :v", {"v": 1}),
    ("SET s = unknown(s)", {}), ("SET s = size(s)", {}), ("SET s = if_not_exists(s)", {}),
    ("SET s = if_not_exists(:v, s)", {"v": 1}), ("SET l = list_append(l)", {}),
    ("SET status = :v", {"v": 1}), ("SET l[x] = :v", {"v": 1}), ("SET l[-1] = :v", {"v": 1}),
    # types
    ("SET n = n + :v", {"v": "1"}), ("SET n = n + s", {}), ("SET n = s - n", {}),
    ("SET l = list_append(l, :v)", {"v": "x"}), ("SET l = list_append(s, l)", {}),
    ("ADD n :v", {"v": "1"}), ("ADD s :v", {"v": 1}), ("ADD n :v", {"v": {1}}), ("ADD ss :v", {"v": {1}}),
    ("ADD l :v", {"v": ["x"]}), ("ADD ss :v", {"v": "c"}), ("DELETE ns :v", {"v": {"a"}}),
    ("DELETE ss :v", {"v": "a"}), ("DELETE n :v", {"v": 5}), ("DELETE s :v", {"v": {"t"}}),
    # paths
    ("SET fresh = absent", {}), ("SET fresh = absent + :v", {"v": 1}), ("SET fresh = l[9]", {}),
    ("SET absent.x = :v", {"v": 1}), ("SET m.absent.x = :v", {"v": 1}), ("SET s.x = :v", {"v": 1}),
    ("SET s[0] = :v", {"v": 1}), ("SET m[0] = :v", {"v": 1}), ("SET l.x = :v", {"v": 1}),
    ("REMOVE absent.x", {}), ("SET l = list_append(absent, :v)", {"v": [1]}),
    # overlaps
    ("SET s = :v, s = :v", {"v": 1}), ("SET s = :v REMOVE s", {"v": 1}), ("SET m = :v REMOVE m.a", {"v": {}}),
    ("SET m.a = :v, m = :v", {"v": {}}), ("SET l[0] = :v, l[0] = :v", {"v": 1}),
    ("ADD n :v SET n = :v", {"v": 1}), ("SET l.x = :v, l[0] = :v", {"v": 1}),
    # keys
    ("SET pk = :v", {"v": "x"}), ("SET pk = :v", {"v": "k"}), ("REMOVE pk", {}), ("ADD pk :v", {"v": 1}),
    ("DELETE pk :v", {"v": {"a"}}),
]


@pytest.mark.parametrize("expression, named", REFUSED, ids=[case[0] or "empty" for case in REFUSED])
def test_refused_update_changes_nothing(db, table, expression, named):
    with invalid():
        update(db, table, expression, **named)
    assert plain(db.GetItem(TableName=table, Key=item(pk="k"))["Item"]) == START


@pytest.mark.parametrize("expression, named, message", [
    ("SET pk = :v", {"v": "x"}, "One or more parameter values were invalid: Cannot update attribute "
     "pk. This attribute is part of the key"),
    ("SET fresh = absent", {}, "The provided expression refers to an attribute that does not exist in "
     "the item"),
    ("SET absent.x = :v", {"v": 1},
     "The document path provided in the update expression is invalid for update"),
    ("SET n = n + s", {},
     "An operand in the update expression has an incorrect data type"),
    ("SET s = :v, s = :v", {"v": 1}, "1 validation error detected: Invalid UpdateExpression: Two "
     "document paths overlap with each other; must remove or rewrite one of these paths; path one: "
     "[s], path two: [s]"),
    ("SET s = :v SET n = :v", {"v": 1}, "1 validation error detected: Invalid UpdateExpression: The "
     "\"SET\" section can only be used once in an update expression;"),
])
def test_error_texts(db, table, expression, named, message):
    with invalid(message):
        update(db, table, expression, **named)


def test_several_past_the_end_keep_the_order_of_their_indices(db, table):
    result = update(db, table, "SET l[9] = :c, l[7] = :a, l[8] = :b", a=1, b=2, c=3)
    assert result["l"] == ["a", "b", "c", 1, 2, 3]


RETURNS = {
    "SET s = :v, fresh = :v": ({"v": 1}, {"s": 1, "fresh": 1}, {"s": "text"}),
    "SET m.a = :v": ({"v": 2}, {"m": {"a": 2}}, {"m": {"a": 1}}),
    "SET m.deep.x[1] = :v": ({"v": 2}, {"m": {"deep": {"x": [2]}}}, {"m": {"deep": {"x": [20]}}}),
    "SET l[2] = :v, l[0] = :w": ({"v": "C", "w": "A"}, {"l": ["A", "C"]}, {"l": ["a", "c"]}),
    "REMOVE s": ({}, None, {"s": "text"}),
    "ADD n :v": ({"v": 1}, {"n": 6}, {"n": 5}),
    "DELETE ns :v": ({"v": {1, 2}}, None, {"ns": {1, 2}}),
    "SET fresh = :v": ({"v": 1}, {"fresh": 1}, None),
}


@pytest.mark.parametrize("expression", RETURNS)
def test_updated_attributes_returned(db, table, expression):
    named, new, old = RETURNS[expression]
    assert update(db, table, expression, returns="UPDATED_NEW", **named) == new
    db.PutItem(TableName=table, Item=item(START))
    assert update(db, table, expression, returns="UPDATED_OLD", **named) == old


def test_all_old_and_none(db, table):
    assert update(db, table, "SET n = :v", returns="ALL_OLD", v=6) == START
    assert update(db, table, "SET n = :v", returns="NONE", v=7) is None


def test_unknown_return_values_are_refused(db, table):
    with invalid() as caught:
        update(db, table, "SET n = :v", returns="EVERYTHING", v=7)
    assert caught.error.message == (
        "1 validation error detected: Failed to satisfy constraint: "
        "Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]")


def test_update_makes_an_absent_item(db, table):
    db.DeleteItem(TableName=table, Key=item(pk="new"))
    assert update(db, table, "SET a = :v ADD c :v", key="new", v=1) == {"pk": "new", "a": 1, "c": 1}
    db.DeleteItem(TableName=table, Key=item(pk="new"))
    assert update(db, table, "SET a = :v", key="new", returns="ALL_OLD", v=1) is None
    db.DeleteItem(TableName=table, Key=item(pk="new"))
    assert update(db, table, "SET a = :v REMOVE b", key="new", v=1) == {"pk": "new", "a": 1}
    db.DeleteItem(TableName=table, Key=item(pk="new"))


@pytest.mark.parametrize("expression", ["REMOVE a", "REMOVE a.b", "REMOVE a[1], b.c[2]", "DELETE a :s", "DELETE a.b :s REMOVE c"])
@pytest.mark.parametrize("returns", ["ALL_NEW", "UPDATED_NEW", "ALL_OLD", "UPDATED_OLD"])
def test_update_that_only_removes_makes_no_item(db, table, expression, returns):
    named = {"s": {"x"}} if ":s" in expression else {}
    assert update(db, table, expression, key="new", returns=returns, **named) is None
    assert "Item" not in db.GetItem(TableName=table, Key=item(pk="new"))


def test_update_with_only_a_key_makes_the_item(db, table):
    db.UpdateItem(TableName=table, Key=item(pk="bare"))
    assert plain(db.GetItem(TableName=table, Key=item(pk="bare"))["Item"]) == {"pk": "bare"}
    db.UpdateItem(TableName=table, Key=item(pk="k"))
    assert plain(db.GetItem(TableName=table, Key=item(pk="k"))["Item"]) == START


def test_name_placeholders_may_hold_dots(db, table):
    result = update(db, table, "SET #d = :v, #m.#k = :v", {"#d": "a.b", "#m": "m", "#k": "c.d"}, v=1)
    assert result["a.b"] == 1 and result["m"]["c.d"] == 1


def test_all_types_can_be_set(db, table):
    new = {"a": "s", "b": 1, "c": b"x", "d": True, "e": None, "f": [1, [2]], "g": {"h": {}},
           "i": {"x"}, "j": {1}, "k": {b"y"}, "l": ""}
    for name, value in new.items():
        assert update(db, table, "SET v = :v", v=value)["v"] == value, name


def test_set_members_stay_unique(db, table):
    update(db, table, "ADD ns :v", v=Raw(NS=["1.0", "2e0"]))
    stored = db.GetItem(TableName=table, Key=item(pk="k"))["Item"]["ns"]["NS"]
    assert sorted(stored) == ["1", "2"]


def test_condition_and_update_see_the_same_item(db, table):
    answer = db.UpdateItem(TableName=table, Key=item(pk="k"), UpdateExpression="SET n = n + :one",
                           ConditionExpression="n = :five", ReturnValues="UPDATED_NEW",
                           ExpressionAttributeValues=values(one=1, five=5))
    assert answer["Attributes"] == {"n": av(6)}
