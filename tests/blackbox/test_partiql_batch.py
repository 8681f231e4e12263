"""BatchExecuteStatement: each statement on its own, its error in its place."""

import pytest

from partiql import batch, request
from tables import put_all
from values import item, plain
from wire import invalid

NEEDS_KEY = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."


@pytest.fixture
def table(db, make_table):
    table = make_table("pk sk", gsi={"idx": "g"})
    put_all(db, table, [item(pk="a", sk=str(n), g="g", v=n) for n in range(3)])
    return table


def select(table, sk, rest=""):
    return f"SELECT * FROM \"{table}\" WHERE pk = 'a' AND sk = '{sk}'{rest}"


def errors(answer):
    return [member.get("Error", {}).get("Code") for member in answer["Responses"]]


def stored(db, table, pk, sk):
    return plain(db.GetItem(TableName=table, Key=item(pk=pk, sk=sk)).get("Item"))


def test_reads(db, table):
    answer = batch(db, select(table, 1), select(table, "none"), f"SELECT v FROM \"{table}\" WHERE sk = '2' AND pk IN ['a']")
    one, none, two = answer["Responses"]
    assert one == {"TableName": table, "Item": item(pk="a", sk="1", g="g", v=1)}
    assert none == {"TableName": table}
    assert two == {"TableName": table, "Item": item(v=2)}


def test_members_fail_alone(db, table):
    answer = batch(db, "SLECT * FROM t", f"SELECT * FROM \"{table}\" WHERE", request(select(table, 1), 5), select(table, 1),
                   "SELECT * FROM \"no-such-table\" WHERE pk = 'a'", f"SELECT * FROM \"{table}\".\"idx\" WHERE g = 'g'",
                   f"SELECT * FROM \"{table}\" WHERE pk = 'a'", select(table, 2, " AND v = 2"),
                   {"Statement": select(table, 2, " AND v = ?"), "Parameters": [{"N": "abc"}]},
                   f"EXISTS(SELECT * FROM \"{table}\" WHERE pk = 'a' AND sk = '1' AND v = 1)")
    assert errors(answer) == ["ValidationError"] * 3 + [None, "ResourceNotFound"] + ["ValidationError"] * 5
    messages = [member.get("Error", {}).get("Message") for member in answer["Responses"]]
    assert messages == [
        "Statement wasn't well formed, can't be processed: Expected data manipulation",
        "Statement wasn't well formed, can't be processed: Unexpected term",
        "Number of parameters in request and statement don't match.", None, "Requested resource not found", NEEDS_KEY, NEEDS_KEY,
        NEEDS_KEY, "The parameter cannot be converted to a numeric value: abc",
        "EXISTS can only be used in ExecuteTransaction write requests."]
    assert [member.get("TableName") for member in answer["Responses"]] == [None] * 3 + [table] + [None] * 6


def test_writes(db, table):
    answer = batch(db, request(f"INSERT INTO \"{table}\" VALUE {{'pk': ?, 'sk': 'new'}}", "a"),
                   f"UPDATE \"{table}\" SET v = 10 WHERE pk = 'a' AND sk = '0' RETURNING MODIFIED NEW *",
                   f"UPDATE \"{table}\" REMOVE g WHERE pk = 'a' AND sk = '1' RETURNING MODIFIED NEW *",
                   f"DELETE FROM \"{table}\" WHERE pk = 'a' AND sk = '2' RETURNING ALL OLD *",
                   f"DELETE FROM \"{table}\" WHERE pk = 'a' AND sk = 'none' RETURNING ALL OLD *")
    assert answer == {"Responses": [{"TableName": table}, {"TableName": table, "Item": item(v=10)}, {"TableName": table},
                                    {"TableName": table, "Item": item(pk="a", sk="2", g="g", v=2)}, {"TableName": table}]}
    assert stored(db, table, "a", "new") == {"pk": "a", "sk": "new"}
    assert stored(db, table, "a", "0")["v"] == 10 and "g" not in stored(db, table, "a", "1")
    assert stored(db, table, "a", "2") is None


def test_writes_fail_alone(db, table):
    update = f"UPDATE \"{table}\" SET v = 9 WHERE pk = 'a' AND sk = '0' AND v = 77"
    answer = batch(db, f"INSERT INTO \"{table}\" VALUE {{'pk': 'a', 'sk': '1'}}", {"Statement": update,
                   "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}, f"UPDATE \"{table}\" SET v = 9 WHERE pk = 'a'",
                   f"DELETE FROM \"{table}\" WHERE pk = 'a' AND sk = '2' RETURNING MODIFIED OLD *",
                   f"UPDATE \"{table}\" SET v = 9 WHERE pk = 'none' AND sk = '0'",
                   f"INSERT INTO \"{table}\" VALUE {{'pk': 'b', 'sk': '1'}}")
    assert errors(answer) == ["DuplicateItem", "ConditionalCheckFailed", "ValidationError", "ValidationError",
                              "ConditionalCheckFailed", None]
    assert [member.get("TableName") for member in answer["Responses"]] == [table, table, None, None, table, table]
    assert answer["Responses"][1] == {"TableName": table, "Error": {  # the option does nothing here
        "Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}}
    assert stored(db, table, "a", "0")["v"] == 0 and stored(db, table, "b", "1")


def test_an_update_that_fails_while_it_runs(db, table):
    (member,) = batch(db, f"UPDATE \"{table}\" SET w = none WHERE pk = 'a' AND sk = '1'")["Responses"]
    assert member == {"Error": {"Code": "ValidationError", "Message":  # a ValidationError names no table
                      "The provided expression refers to an attribute that does not exist in the item"}}


def test_refused_as_a_whole(db, table):
    insert = f"INSERT INTO \"{table}\" VALUE {{'pk': 'x', 'sk': 'x'}}"
    with invalid("Read and write requests together in the same batch is not supported."):
        batch(db, insert, select(table, 1))
    with invalid("Provided list of item keys contains duplicates"):
        batch(db, insert, f"DELETE FROM \"{table}\" WHERE pk = 'x' AND sk = 'x'")
    with invalid("Provided list of item keys contains duplicates"):
        batch(db, select(table, 1), select(table, 1))
    assert stored(db, table, "x", "x") is None
    with invalid("1 validation error detected: Value '[]' at 'statements' failed to satisfy constraint: Member must have length "
                 "greater than or equal to 1"):
        batch(db)
    with invalid() as caught:
        batch(db, *[select(table, n) for n in range(26)])
    assert caught.error.message.endswith("Member must have length less than or equal to 25")


def test_capacity_of_reads(db, table, make_table):
    other = make_table("pk")
    members = [{"Statement": select(table, 0), "ConsistentRead": True}, select(table, 1), select(table, "none"), "SLECT",
               f"SELECT * FROM \"{other}\" WHERE pk = 'none'"]
    answer = batch(db, *members, ReturnConsumedCapacity="INDEXES")
    assert {c["TableName"]: c["CapacityUnits"] for c in answer["ConsumedCapacity"]} == {table: 2.0, other: .5}
    assert answer["ConsumedCapacity"][0]["Table"] == {"CapacityUnits": 2.0}


def test_capacity_of_writes(db, table, make_table):
    other = make_table("pk")
    put_all(db, other, [item(pk="k")])
    duplicate = f"INSERT INTO \"{other}\" VALUE {{'pk': 'k'}}"
    answer = batch(db, f"INSERT INTO \"{table}\" VALUE {{'pk': 'n', 'sk': 'n', 'g': 'g'}}",
                   request(f"INSERT INTO \"{table}\" VALUE {{'pk': 'a', 'sk': '1', 'fill': ?}}", "x" * 3000), duplicate,
                   ReturnConsumedCapacity="INDEXES")
    (capacity,) = answer["ConsumedCapacity"]  # a failed write costs what it carries; all of `other` failed
    assert capacity == {"TableName": table, "CapacityUnits": 5.0, "Table": {"CapacityUnits": 4.0},
                        "GlobalSecondaryIndexes": {"idx": {"CapacityUnits": 1.0}}}
    assert "ConsumedCapacity" not in batch(db, duplicate, ReturnConsumedCapacity="TOTAL")
