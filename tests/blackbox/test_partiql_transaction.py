"""ExecuteTransaction: all or nothing, with reasons, once per token."""

import threading

import pytest

from partiql import request, transact
from tables import put_all
from values import item, plain
from wire import Client, invalid, refused


@pytest.fixture
def table(db, make_table):
    table = make_table("pk")
    put_all(db, table, [item(pk="a", n=1), item(pk="b", n=2)])
    return table


def stored(db, table, pk):
    return plain(db.GetItem(TableName=table, Key=item(pk=pk), ConsistentRead=True).get("Item"))


def update(table, pk, rest="", change="SET n = n + 1"):
    return f"UPDATE \"{table}\" {change} WHERE pk = '{pk}'{rest}"


def insert(table, pk):
    return f"INSERT INTO \"{table}\" VALUE {{'pk': '{pk}'}}"


def select(table, pk):
    return f"SELECT * FROM \"{table}\" WHERE pk = '{pk}'"


def exists(table, pk, rest):
    return f"EXISTS(SELECT * FROM \"{table}\" WHERE pk = '{pk}'{rest})"


def cancelled(db, *statements, **more):
    with refused("TransactionCanceledException") as caught:
        transact(db, *statements, **more)
    return caught.error.body["CancellationReasons"]


def codes(reasons):
    return [reason["Code"] for reason in reasons]


def test_reads(db, table):
    answer = transact(db, select(table, "a"), select(table, "none"), f"SELECT n FROM \"{table}\" WHERE pk = 'b'")
    assert answer == {"Responses": [{"Item": item(pk="a", n=1)}, {}, {"Item": item(n=2)}]}


def test_writes(db, table, make_table):
    other = make_table("pk sk:N")
    answer = transact(db, update(table, "a"), insert(table, "new"), f"DELETE FROM \"{table}\" WHERE pk = 'b' AND n = 2",
                      request(f"INSERT INTO \"{other}\" VALUE {{'pk': ?, 'sk': ?}}", "k", 1),
                      f"DELETE FROM \"{other}\" WHERE pk = 'none' AND sk = 1")
    assert answer == {"Responses": []}
    assert stored(db, table, "a")["n"] == 2 and stored(db, table, "new") and stored(db, table, "b") is None
    assert db.Scan(TableName=other)["Count"] == 1


def test_a_failed_condition_cancels_all_and_is_the_only_reason(db, table):
    reasons = cancelled(db, update(table, "a"), insert(table, "b"), update(table, "none"))
    assert codes(reasons) == ["None", "DuplicateItem", "None"]
    assert reasons[1]["Message"] == "Duplicate primary key exists in table"
    assert stored(db, table, "a")["n"] == 1
    reasons = cancelled(db, {"Statement": update(table, "a", " AND n = 77"), "ReturnValuesOnConditionCheckFailure": "ALL_OLD"},
                        insert(table, "new"))
    assert reasons == [{"Code": "ConditionalCheckFailed", "Message": "The conditional request failed", "Item": item(pk="a", n=1)},
                       {"Code": "None"}]
    assert stored(db, table, "new") is None


def test_exists_is_a_condition_check(db, table):
    transact(db, exists(table, "a", " AND n = 1"), update(table, "b"))
    assert codes(cancelled(db, exists(table, "a", " AND n = 2"), update(table, "b"))) == ["ConditionalCheckFailed", "None"]
    assert codes(cancelled(db, exists(table, "none", " AND x IS MISSING"), update(table, "b"))) == ["ConditionalCheckFailed", "None"]
    assert stored(db, table, "b")["n"] == 3
    for rest in ("", " AND pk = 'a'"):
        with invalid("Validation failed in TransactStatements[0]: EXISTS() must contain a single item read with additional condition"):
            transact(db, exists(table, "a", rest), update(table, "b"))


@pytest.mark.parametrize("statements, message", [
    (["SELECT * FROM {t} WHERE pk = 'a'", "UPDATE {t} SET n = 1 WHERE pk = 'b'"],
     "ExecuteTransaction API does not support both read and write operations in the same request."),
    (["UPDATE {t} SET n = 1 WHERE pk = 'a'", "DELETE FROM {t} WHERE pk = 'a'"],
     "Transaction request cannot include multiple operations on one item"),
    (["SELECT * FROM {t} WHERE pk = 'a'", "SELECT n FROM {t} WHERE pk = 'a'"],
     "Transaction request cannot include multiple operations on one item"),
    (["UPDATE {t} SET n = 1 WHERE pk = 'a' RETURNING ALL NEW *"],
     "Validation failed in TransactStatements[0]: RETURNING clause is not supported in ExecuteTransaction."),
    (["SELECT * FROM {t} WHERE pk = 'a'", "SELECT * FROM {t} WHERE"],
     "Validation failed in TransactStatements[1]: Statement wasn't well formed, can't be processed: Unexpected term"),
    (["SELECT * FROM {t}.\"idx\" WHERE pk = 'a'"],
     "Validation failed in TransactStatements[0]: Reads on indices are not supported within transactions."),
    (["UPDATE {t}.\"idx\" SET n = 1 WHERE pk = 'a'"],
     "Validation failed in TransactStatements[0]: This operation is not supported on an index"),
    (["SELECT * FROM {t} WHERE pk = 'a' AND n = 1"], "Validation failed in TransactStatements[0]: Select statements within "
     "ExecuteTransaction must specify the primary key in the where clause."),
    (["SELECT * FROM {t} WHERE pk IN ['a', 'a']"], "Validation failed in TransactStatements[0]: Overlapping conditions with range keys "
     "are not supported in where clause"),
    ([], "1 validation error detected: Value '[]' at 'transactStatements' failed to satisfy constraint: Member must have length "
         "greater than or equal to 1"),
    (["INSERT INTO {t} VALUE {{'pk': ''}}"], "One or more parameter values are not valid. The AttributeValue for a key attribute "
     "cannot contain an empty string value. Key: pk"),
])
def test_refused_as_a_whole(db, table, statements, message):
    with invalid(message):
        transact(db, *[statement.format(t=f'"{table}"') for statement in statements])
    assert stored(db, table, "a") == {"pk": "a", "n": 1}


def test_bad_keys_and_missing_tables_are_reasons(db, table):
    mismatch = "The provided key element does not match the schema"
    bad = [
        (f"UPDATE \"{table}\" SET n = 1 WHERE n = 1", "ValidationError", mismatch),
        (f"UPDATE \"{table}\" SET n = 1 WHERE pk = 1", "ValidationError", mismatch),
        ("DELETE FROM \"no-such-table\" WHERE pk = 'a'", "ResourceNotFound", "Requested resource not found"),
        (f"INSERT INTO \"{table}\" VALUE {{'n': 1}}", "ValidationError",
         "One or more parameter values were invalid: Missing the key pk in the item"),
    ]
    for statement, code, message in bad:
        reasons = cancelled(db, update(table, "a"), statement)
        assert reasons == [{"Code": "None"}, {"Code": code, "Message": message}]
    assert codes(cancelled(db, f"SELECT * FROM \"{table}\" WHERE pk = 1", select(table, "a"))) == ["ValidationError", "None"]


def test_only_the_first_bad_statement_is_a_reason(db, table):
    bad = [f"UPDATE \"{table}\" SET n = 1 WHERE pk = 1", "DELETE FROM \"no-such-table\" WHERE pk = 'a'"]
    assert codes(cancelled(db, update(table, "a"), *bad)) == ["None", "ValidationError", "None"]
    assert codes(cancelled(db, *reversed(bad))) == ["ResourceNotFound", "None"]


def test_empty_index_key_behind_another_failure(db, make_table):
    """It is no reason then; on its own it refuses the request."""
    table = make_table("pk", gsi={"by_a": "a"})
    put_all(db, table, [item(pk="b")])
    empty = update(table, "b", change="SET a = ''")
    assert codes(cancelled(db, update(table, "none"), empty)) == ["ConditionalCheckFailed", "None"]
    with invalid("One or more parameter values are not valid. The update expression attempted to update a secondary index key to a "
                 "value that is not supported. The AttributeValue for a key attribute cannot contain an empty string value."):
        transact(db, empty, update(table, "none"))
    assert stored(db, table, "b") == {"pk": "b"}


def test_bad_parameters(db, table):
    with invalid("The parameter cannot be converted to a numeric value: abc"):
        transact(db, update(table, "a"), {"Statement": "UPDATE", "Parameters": [{"N": "abc"}]})


def test_a_hundred_statements(db, table):
    transact(db, *[insert(table, f"k{n}") for n in range(100)])
    assert db.Scan(TableName=table)["Count"] == 102
    with invalid() as caught:
        transact(db, *[insert(table, f"l{n}") for n in range(101)])
    assert caught.error.message.endswith("Member must have length less than or equal to 100")


# --- tokens ---

def test_a_token_applies_once(db, table):
    more = {"ClientRequestToken": "once", "ReturnConsumedCapacity": "INDEXES"}
    first = transact(db, update(table, "a"), **more)
    again = transact(db, update(table, "a"), **more)
    assert stored(db, table, "a")["n"] == 2
    assert first["ConsumedCapacity"] == [{"TableName": table, "CapacityUnits": 2.0, "WriteCapacityUnits": 2.0, "Table": {
        "CapacityUnits": 2.0, "WriteCapacityUnits": 2.0}}]
    assert again["ConsumedCapacity"] == [{"TableName": table, "CapacityUnits": 2.0, "ReadCapacityUnits": 2.0, "Table": {
        "CapacityUnits": 2.0, "ReadCapacityUnits": 2.0}}]


def test_a_token_goes_with_its_statements_and_parameters(db, table):
    statement = f"UPDATE \"{table}\" SET n = ? WHERE pk = 'a'"
    transact(db, request(statement, 5), ClientRequestToken="bound")
    for other in (request(statement, 6), request(statement + " ", 5), update(table, "a")):
        with refused("IdempotentParameterMismatchException"):
            transact(db, other, ClientRequestToken="bound")
    assert stored(db, table, "a")["n"] == 5


def test_tokens_are_not_those_of_transact_write_items(db, table):
    transact(db, update(table, "a"), ClientRequestToken="shared")
    db.TransactWriteItems(ClientRequestToken="shared", TransactItems=[{"Put": {"TableName": table, "Item": item(pk="other")}}])
    assert stored(db, table, "other") and stored(db, table, "a")["n"] == 2


def test_one_token_from_many_clients_at_once(db, endpoint, table):
    def run():
        with Client(endpoint) as client:
            transact(client, update(table, "a"), ClientRequestToken="race")
    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stored(db, table, "a")["n"] == 2


# --- capacity ---

def test_capacity(db, table, make_table):
    indexed = make_table("pk", gsi={"idx": "g"})
    answer = transact(db, update(table, "a"), insert(table, "new"), f"INSERT INTO \"{indexed}\" VALUE {{'pk': 'k', 'g': 'g'}}",
                      exists(table, "b", " AND n = 2"), ReturnConsumedCapacity="INDEXES")
    assert {c["TableName"]: c["WriteCapacityUnits"] for c in answer["ConsumedCapacity"]} == {table: 6.0, indexed: 3.0}
    (_, capacity) = answer["ConsumedCapacity"]
    assert capacity["GlobalSecondaryIndexes"] == {"idx": {"CapacityUnits": 1.0, "WriteCapacityUnits": 1.0}}
    answer = transact(db, select(table, "a"), select(table, "none"), ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"] == [{"TableName": table, "CapacityUnits": 4.0, "ReadCapacityUnits": 4.0}]
