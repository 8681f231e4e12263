"""PartiQL's INSERT, UPDATE and DELETE: what they write, refuse, give back and cost."""

import pytest

from partiql import execute, run
from tables import put_all
from values import item, item_size, plain
from wire import invalid, refused


@pytest.fixture
def table(make_table):
    return make_table("pk")


def stored(db, table, **key):
    return plain(db.GetItem(TableName=table, Key=item(**key), ConsistentRead=True).get("Item"))


def condition_failed():
    return refused("ConditionalCheckFailedException", "The conditional request failed")


# --- INSERT ---

def test_insert_every_type(db, table):
    answer = execute(db, f"INSERT INTO \"{table}\" VALUE {{'pk': 'k', 's': 'it''s', 'n': -1.50, 'e': 1E3, 't': true, 'f': false, 'z': null,"
                         f" 'ss': <<'a', 'b'>>, 'ns': <<1, 4.5>>, 'l': [1, [], {{}}], 'm': {{'x': {{'y': 'z'}}}}, 'bin': ?}}", b"xy")
    assert answer == {"Items": []}
    assert stored(db, table, pk="k") == {
        "pk": "k", "s": "it's", "n": -1.5, "e": 1000, "t": True, "f": False, "z": None, "ss": {"a", "b"}, "ns": {1, 4.5},
        "l": [1, [], {}], "m": {"x": {"y": "z"}}, "bin": b"xy"}


def test_insert_is_no_upsert(db, table):
    run(db, f"INSERT INTO \"{table}\" VALUE {{'pk': 'k', 'v': 1}}")
    with refused("DuplicateItemException", "Duplicate primary key exists in table"):
        run(db, f"INSERT INTO \"{table}\" VALUE {{'pk': 'k', 'v': 2}}", ReturnValuesOnConditionCheckFailure="ALL_OLD")
    assert stored(db, table, pk="k") == {"pk": "k", "v": 1}
    run(db, f"DELETE FROM \"{table}\" WHERE pk = 'k'")
    run(db, f"INSERT INTO \"{table}\" VALUE {{'pk': 'k', 'v': 3}}")
    assert stored(db, table, pk="k") == {"pk": "k", "v": 3}


@pytest.mark.parametrize("value, message", [
    ("{'v': 1}", "One or more parameter values were invalid: Missing the key pk in the item"),
    ("{'pk': 1}", "One or more parameter values were invalid: Type mismatch for key pk expected: S actual: N"),
    ("{'pk': ''}", "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string "
                   "value. Key: pk"),
    ("{'pk': 'a', 'g': 1}", "One or more parameter values were invalid: Type mismatch for Index Key g Expected: S Actual: N "
                            "IndexName: idx"),
    ("{'pk': 'a', 's': <<>>}", "Empty bags are not supported"),
    ("{'pk': 'a', 's': <<'x', 'x'>>}", "One or more parameter values were invalid: Input collection [x, x] contains duplicates."),
    ("{'pk': 'a', 'm': {'x': 1e126}}", "Number overflow. Attempting to store a number with magnitude larger than supported range "
                                       "under root.x"),
    ("{'pk': 'a', 'pk': 'b'}", "Duplicate keys in tuple. Key: pk under root"),
    ("{'pk': 'a'} RETURNING ALL OLD *", "RETURNING is not supported in INSERT"),
])
def test_refused_items(db, make_table, value, message):
    table = make_table("pk", gsi={"idx": "g"})
    with invalid(message):
        run(db, f"INSERT INTO \"{table}\" VALUE {value}")
    assert db.Scan(TableName=table)["Count"] == 0


def test_insert_into_an_index(db, table):
    with invalid(f"FROM clause may only contain a single table name in data manipulation statements at 1:13:{len(table) + 2}"):
        run(db, f"INSERT INTO \"{table}\".\"idx\" VALUE {{'pk': 'a'}}")


# --- UPDATE ---

@pytest.fixture
def music(db, table):
    put_all(db, table, [item(pk="k", n=5, s="x", l=[1, 2, 3], m={"a": 1, "b": 2}, tags={"p", "q"}, solo={"one"})])
    return table


@pytest.mark.parametrize("changes, changed", [
    ("SET v = 1", {"v": 1}), ("SET v = 1, w = 'x'", {"v": 1, "w": "x"}), ("SET v = 1 SET w = 'x' REMOVE s", {"v": 1, "w": "x", "s": None}),
    ("SET n = n + 2", {"n": 7}), ("SET n=n-1", {"n": 4}), ("SET n = 10 - n", {"n": 5}), ("SET v = n", {"v": 5}),
    ("SET n = 1 SET v = n", {"n": 1, "v": 5}),  # right-hand sides see the item as it was
    ("SET m.c = [1]", {"m": {"a": 1, "b": 2, "c": [1]}}), ("SET m.a = m.b", {"m": {"a": 2, "b": 2}}), ("REMOVE m.a", {"m": {"b": 2}}),
    ("SET l[0] = 'first'", {"l": ["first", 2, 3]}), ("SET l[9] = 'last'", {"l": [1, 2, 3, "last"]}), ("REMOVE l[0]", {"l": [2, 3]}),
    ("REMOVE l[0] REMOVE l[2]", {"l": [2]}), ("SET l = list_append(l, [4])", {"l": [1, 2, 3, 4]}),
    ("SET l = LIST_APPEND([0], l)", {"l": [0, 1, 2, 3]}), ("SET tags = set_add(tags, <<'r', 'p'>>)", {"tags": {"p", "q", "r"}}),
    ("SET fresh = set_add(fresh, <<1>>)", {"fresh": {1}}), ("SET tags = SET_DELETE(tags, <<'p', 'zz'>>)", {"tags": {"q"}}),
    ("SET solo = set_delete(solo, <<'one'>>)", {"solo": None}), ("SET none = set_delete(none, <<'one'>>)", {}), ("REMOVE none", {}),
    ("SET v = {'x': [<<'a'>>]}", {"v": {"x": [{"a"}]}}),
])
def test_changes(db, music, changes, changed):
    before = stored(db, music, pk="k")
    expected = {name: value for name, value in {**before, **changed}.items() if value is not None}
    assert execute(db, f"UPDATE \"{music}\" {changes} WHERE pk = 'k'") == {"Items": []}
    assert stored(db, music, pk="k") == expected


def test_from_comes_first(db, music):
    run(db, f"FROM \"{music}\" WHERE pk = ? AND n = 5 SET v = ? REMOVE s", "k", 1)
    assert stored(db, music, pk="k")["v"] == 1 and "s" not in stored(db, music, pk="k")


def test_update_is_no_upsert(db, table):
    for where in ("pk = 'no'", "pk = 'no' AND attribute_not_exists(pk)", "pk = 'no' AND v IS MISSING"):
        with condition_failed():
            run(db, f"UPDATE \"{table}\" SET v = 1 WHERE {where}")
    assert stored(db, table, pk="no") is None


def test_what_is_asked_beside_the_key_is_a_condition(db, music):
    run(db, f"UPDATE \"{music}\" SET v = 1 WHERE pk = 'k' AND n = 5 AND (s = 'no' OR contains(tags, 'p'))")
    with condition_failed() as caught:
        run(db, f"UPDATE \"{music}\" SET v = 2 WHERE pk = 'k' AND NOT n = 5", ReturnValuesOnConditionCheckFailure="ALL_OLD")
    assert plain(caught.error.body["Item"])["v"] == 1
    with condition_failed() as caught:
        run(db, f"DELETE FROM \"{music}\" WHERE pk = 'k' AND n <> 5")
    assert "Item" not in caught.error.body
    assert stored(db, music, pk="k")["v"] == 1
    run(db, f"DELETE FROM \"{music}\" WHERE pk = 'k' AND v = 1")
    assert stored(db, music, pk="k") is None


MANDATORY = "Where clause does not contain a mandatory equality on all key attributes"
ONE_ITEM = "Multiple conditions on same key pk. Only single item Update/Insert/Delete are supported"


@pytest.mark.parametrize("rest, message", [
    ("SET v = 1", MANDATORY), ("SET v = 1 WHERE n = 5", MANDATORY), ("SET v = 1 WHERE pk > 'a'", MANDATORY),
    ("SET v = 1 WHERE pk = 'k' OR pk = 'j'", MANDATORY), ("SET v = 1 WHERE pk IN ['k']", MANDATORY),
    ("SET v = 1 WHERE NOT pk = 'k'", MANDATORY), ("SET v = 1 WHERE pk = 'k' AND pk = 'j'", ONE_ITEM),
    ("SET v = 1 WHERE pk = 1", "Key attribute's data type should match its data type in table's schema: Key pk"),
    ("SET pk = 'j' WHERE pk = 'k'",
     "One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key"),
    ("SET none.x = 1 WHERE pk = 'k'", "The document path provided in the update expression is invalid for update"),
    ("SET v = none WHERE pk = 'k'", "The provided expression refers to an attribute that does not exist in the item"),
    ("SET v = s + 1 WHERE pk = 'k'", "An operand in the update expression has an incorrect data type"),
    ("SET tags = set_add(tags, <<1>>) WHERE pk = 'k'", "An operand in the update expression has an incorrect data type"),
    ("SET v = 1, v.w = 2 WHERE pk = 'k'", "Two document paths overlap with each other; must remove or rewrite one of these paths; path "
                                          "one: [v], path two: [v, w]"),
])
def test_refused_updates(db, music, rest, message):
    before = stored(db, music, pk="k")
    with invalid(message):
        run(db, f"UPDATE \"{music}\" {rest}")
    assert stored(db, music, pk="k") == before


def test_both_keys_are_needed(db, make_table):
    table = make_table("pk sk:N")
    put_all(db, table, [item(pk="a", sk=1)])
    for statement in (f"UPDATE \"{table}\" SET v = 1 WHERE pk = 'a'", f"DELETE FROM \"{table}\" WHERE pk = 'a'",
                      f"DELETE FROM \"{table}\" WHERE sk = 1", f"DELETE FROM \"{table}\""):
        with invalid(MANDATORY):
            run(db, statement)
    run(db, f"UPDATE \"{table}\" SET v = 1 WHERE (sk = 1 AND pk = 'a') AND pk = 'a'")
    assert stored(db, table, pk="a", sk=1) == {"pk": "a", "sk": 1, "v": 1}


# --- RETURNING ---

@pytest.mark.parametrize("changes, mode, expected", [
    ("SET n = 6", "ALL OLD", [{"pk": "k", "n": 5, "m": {"a": 1, "b": 2}, "l": [1, 2, 3]}]),
    ("SET n = 6", "ALL NEW", [{"pk": "k", "n": 6, "m": {"a": 1, "b": 2}, "l": [1, 2, 3]}]),
    ("SET n = 6 SET v = 1", "MODIFIED OLD", [{"n": 5}]), ("SET n = 6 SET v = 1", "MODIFIED NEW", [{"n": 6, "v": 1}]),
    ("SET m.a = 9", "MODIFIED NEW", [{"m": {"a": 9}}]), ("SET l[2] = 9 SET l[0] = 7", "MODIFIED NEW", [{"l": [7, 9]}]),
    ("REMOVE n", "MODIFIED OLD", [{"n": 5}]), ("REMOVE n", "MODIFIED NEW", []), ("SET v = 1", "MODIFIED OLD", []),
])
def test_returning(db, table, changes, mode, expected):
    put_all(db, table, [item(pk="k", n=5, m={"a": 1, "b": 2}, l=[1, 2, 3])])
    assert run(db, f"UPDATE \"{table}\" {changes} WHERE pk = 'k' RETURNING {mode} *") == expected


def test_delete_returns_the_item(db, music):
    (old,) = run(db, f"DELETE FROM \"{music}\" WHERE pk = 'k' RETURNING ALL OLD *")
    assert old["n"] == 5
    assert run(db, f"DELETE FROM \"{music}\" WHERE pk = 'k' RETURNING ALL OLD *") == []
    for mode in ("ALL NEW", "MODIFIED OLD", "MODIFIED NEW"):
        with invalid(f"Invalid returning clause: RETURNING {mode} *. Only RETURNING ALL OLD * is allowed in DELETE statements."):
            run(db, f"DELETE FROM \"{music}\" WHERE pk = 'k' RETURNING {mode} *")


def test_delete_of_what_is_not_there(db, table):
    assert execute(db, f"DELETE FROM \"{table}\" WHERE pk = 'no'") == {"Items": []}
    assert execute(db, f"DELETE FROM \"{table}\" WHERE pk = 'no' AND v = 1") == {"Items": []}


# --- indexes, sizes, capacity ---

def test_indexes_follow(db, make_table):
    table = make_table("pk", gsi={"idx": "g"})
    run(db, f"INSERT INTO \"{table}\" VALUE {{'pk': 'k', 'g': 'one'}}")
    run(db, f"UPDATE \"{table}\" SET g = 'two' WHERE pk = 'k'")
    assert run(db, f"SELECT * FROM \"{table}\".\"idx\" WHERE g = 'one'") == []
    assert len(run(db, f"SELECT * FROM \"{table}\".\"idx\" WHERE g = 'two'")) == 1
    run(db, f"DELETE FROM \"{table}\" WHERE pk = 'k'")
    assert run(db, f"SELECT * FROM \"{table}\".\"idx\"") == []


def test_the_size_limit_is_flat(db, table):
    def fill(size):
        return "x" * (size - item_size(item(pk="k", fill="")))
    run(db, f"INSERT INTO \"{table}\" VALUE {{'pk': ?, 'fill': ?}}", "k", fill(409600))
    with invalid("Item size has exceeded the maximum allowed size"):
        run(db, f"INSERT INTO \"{table}\" VALUE {{'pk': ?, 'fill': ?}}", "j", fill(409601))
    run(db, f"UPDATE \"{table}\" SET fill = 'small' WHERE pk = 'k'")
    run(db, f"UPDATE \"{table}\" SET fill = ? WHERE pk = 'k'", fill(409600))
    with invalid("Item size to update has exceeded the maximum allowed size"):
        run(db, f"UPDATE \"{table}\" SET fill = ? WHERE pk = 'k'", fill(409601))


def units(db, statement, *parameters):
    return execute(db, statement, *parameters, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]


def test_writes_cost_what_single_writes_do(db, make_table):
    table = make_table("pk", gsi={"idx": "g", "keys": ("h", "KEYS_ONLY")})
    capacity = units(db, f"INSERT INTO \"{table}\" VALUE {{'pk': 'k', 'g': 'g', 'h': 'h', 'fill': ?}}", "x" * 2500)
    assert capacity == {"TableName": table, "CapacityUnits": 7.0, "Table": {"CapacityUnits": 3.0}, "GlobalSecondaryIndexes": {
        "idx": {"CapacityUnits": 3.0}, "keys": {"CapacityUnits": 1.0}}}
    assert units(db, f"UPDATE \"{table}\" SET v = 1 WHERE pk = 'k'")["CapacityUnits"] == 6
    assert units(db, f"DELETE FROM \"{table}\" WHERE pk = 'no'")["CapacityUnits"] == 1
    assert units(db, f"SELECT * FROM \"{table}\" WHERE pk = 'k'")["CapacityUnits"] == .5
    assert units(db, f"SELECT * FROM \"{table}\" WHERE pk = 'no'")["CapacityUnits"] == .5
    capacity = execute(db, f"SELECT * FROM \"{table}\" WHERE pk = 'no'", ConsistentRead=True, ReturnConsumedCapacity="TOTAL")
    assert capacity["ConsumedCapacity"] == {"TableName": table, "CapacityUnits": 1.0}
    assert units(db, f"DELETE FROM \"{table}\" WHERE pk = 'k'")["CapacityUnits"] == 7
