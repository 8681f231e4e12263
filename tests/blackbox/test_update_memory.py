"""Updates whose result would be many times the largest item: refused as they grow, with the text and
in the order of checks that they would have if the whole result were made first."""

import concurrent.futures
import itertools
import string

import pytest

import memory
from server import Server
from tables import create_table
from values import item, values
from wire import Client, Refused, invalid

TOO_LARGE = "Item size to update has exceeded the maximum allowed size"
NAMES = ["".join(pair) for pair in itertools.product(string.ascii_uppercase, string.ascii_lowercase)]
GROWTH_MB = 40  # for one update; its result alone would be hundreds


def many(text, count=None):
    """`text` for as many attribute names as an expression of 4,096 bytes can hold; NAME stands for
    the name."""
    actions = [text.replace("NAME", name) for name in NAMES if name.lower() not in RESERVED]
    while len("SET " + ",".join(actions)) > 4096:
        actions.pop()
    return ",".join(actions[:count])


RESERVED = {"as", "at", "by", "do", "go", "if", "in", "is", "no", "of", "on", "or", "to"}


@pytest.fixture(scope="module")
def server():
    with Server("memory:") as server:
        yield server


@pytest.fixture(scope="module")
def db(server):
    with Client(server.endpoint) as client:
        yield client


@pytest.fixture(scope="module")
def table(db):
    name = create_table(db, "pk", gsi={"byik": "ik"})
    for number in range(100):
        db.PutItem(TableName=name, Item=item(pk=f"s{number}", s="x" * 380_000))
    db.PutItem(TableName=name, Item=item(pk="l", l=["x" * 95] * 3900))
    db.PutItem(TableName=name, Item=item(pk="set", t={f"{n:095d}" for n in range(3900)}))
    return name


@pytest.fixture
def growth(server):
    return memory.Growth(server.process.pid)


def update(db, table, key, expression, **more):
    return db.UpdateItem(TableName=table, Key=item(pk=key), UpdateExpression=expression, **more)


def test_copies_of_a_large_string(db, table, growth):
    with invalid(TOO_LARGE):
        update(db, table, "s0", "SET " + many("NAME=s"))
    growth.check(GROWTH_MB)


def test_lists_that_are_appended_to_themselves(db, table, growth):
    with invalid(TOO_LARGE):
        update(db, table, "l", "SET " + many("NAME=list_append(l,l)"))
    growth.check(GROWTH_MB)


def test_large_sets_added_to_many_attributes(db, table, growth):
    added = {f"{n:0100d}" for n in range(3000)}
    with invalid(TOO_LARGE):
        update(db, table, "set", "ADD " + many("NAME :v"), ExpressionAttributeValues=values(v=added))
    with invalid(TOO_LARGE):
        update(db, table, "set", "ADD t :v", ExpressionAttributeValues=values(v=added))
    growth.check(GROWTH_MB)


def test_copies_in_nested_places(db, table, growth):
    db.PutItem(TableName=table, Item=item(pk="nest", s="x" * 380_000, m={}, l=[1]))
    with invalid(TOO_LARGE):
        update(db, table, "nest", "SET " + many("m.NAME=s", 300))
    with invalid(TOO_LARGE):
        update(db, table, "nest", "SET " + ",".join(f"l[{n}]=s" for n in range(300)))
    growth.check(GROWTH_MB)


def test_attribute_updates_with_large_values(db, table, growth):
    """The request itself holds what it writes: 12 MB, which must not be copied many times."""
    updates = {name: {"Action": "PUT", "Value": {"S": "x" * 120_000}} for name in NAMES[:100]}
    with invalid(TOO_LARGE):
        db.UpdateItem(TableName=table, Key=item(pk="s0"), AttributeUpdates=updates)
    growth.check(12 * 4 + GROWTH_MB)


def test_partiql_update(db, table, growth):
    statement = f"UPDATE \"{table}\" " + " ".join(f'SET "{name}"=s' for name in NAMES[:400])
    with invalid(TOO_LARGE):
        db.ExecuteStatement(Statement=statement + " WHERE pk='s0'")
    growth.check(GROWTH_MB)


def transaction(table, expression, count):
    return [{"Update": {"TableName": table, "Key": item(pk=f"s{number}"),
                        "UpdateExpression": expression}} for number in range(count)]


def test_transaction_of_100_such_updates(db, table, growth):
    with pytest.raises(Refused) as caught:
        db.TransactWriteItems(TransactItems=transaction(table, "SET " + many("NAME=s"), 100))
    assert caught.value.type == "TransactionCanceledException"
    reasons = caught.value.body["CancellationReasons"]
    assert reasons == [{"Code": "ValidationError", "Message": TOO_LARGE}] * 100
    growth.check(2 * GROWTH_MB)


def test_many_such_transactions_at_once(server, table, growth):
    def send(_):
        with Client(server.endpoint) as client, pytest.raises(Refused) as caught:
            client.TransactWriteItems(
                TransactItems=transaction(table, "SET " + many("NAME=s"), 20))
        return caught.value.type

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        assert set(pool.map(send, range(12))) == {"TransactionCanceledException"}
    growth.check(8 * GROWTH_MB)


@pytest.mark.parametrize("last, message", [
    ("zz=nowhere", "The provided expression refers to an attribute that does not exist in the item"),
    ("zz=s+:n", "An operand in the update expression has an incorrect data type"),
    ("zz.a=:n", "The document path provided in the update expression is invalid for update"),
    ("ik=:n", "One or more parameter values were invalid: Type mismatch for Index Key ik "
              "Expected: S Actual: N IndexName: byik"),
])
def test_other_errors_of_the_update_come_first(db, table, last, message):
    expression = "SET " + many("NAME=s", 100) + "," + last
    if ":n" not in last:
        expression += ",yy=:n"
    with invalid(message):
        update(db, table, "s0", expression, ExpressionAttributeValues=values(n=1))


def test_what_just_fits_is_written_and_unchanged_items_stay(db, table):
    """The sum of the results is exact where it decides: 4 x 100 KB fit, and so do 2 lists."""
    db.PutItem(TableName=table, Item=item(pk="fit", s="x" * 102_000, l=["y" * 50] * 1000))
    update(db, table, "fit", "SET a=s,b=s")
    update(db, table, "fit", "SET c=list_append(l,l) REMOVE a,b")
    assert len(db.GetItem(TableName=table, Key=item(pk="fit"))["Item"]["c"]["L"]) == 2000
    update(db, table, "fit", "SET s=:v,a=s,b=s,d=s REMOVE c,l",
           ExpressionAttributeValues=values(v="z" * 102_000))
    stored = db.GetItem(TableName=table, Key=item(pk="fit"))["Item"]
    assert stored["s"]["S"][:1] == "z" and stored["d"]["S"][:1] == "x" and "c" not in stored
