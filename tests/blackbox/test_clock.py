"""The clock that tests can set: what it moves, and that it is off by default."""

import time

import pytest

from clock import PREFIX, TEST_CLOCK, advance_clock, read_clock, set_clock
from tables import create_table, unique_name
from values import item, values
from wire import Client, invalid, refused


@pytest.fixture
def db(start_server):
    with Client(start_server("memory:", *TEST_CLOCK).endpoint) as client:
        yield client


def created(db):
    return db.DescribeTable(TableName=create_table(db))["Table"]["CreationDateTime"]


def test_is_the_real_time_at_first(db):
    assert abs(read_clock(db) - time.time()) < 60
    assert abs(created(db) - time.time()) < 60


def test_set(db):
    assert set_clock(db, 1_000_000_000) == 1_000_000_000
    assert 0 <= created(db) - 1_000_000_000 < 60


def test_advance_and_go_back(db):
    start = read_clock(db)
    assert 0 <= advance_clock(db, 86_400) - start - 86_400 < 60
    assert 0 <= created(db) - start - 86_400 < 60
    assert 0 <= advance_clock(db, -2 * 86_400) - start + 86_400 < 60
    assert abs(created(db) - start + 86_400) < 60


@pytest.mark.parametrize("request_", [
    {}, {"Now": None}, {"Now": 1, "AdvanceSeconds": 1}, {"Now": -1}, {"Now": 253402300800},
    {"AdvanceSeconds": 253402300799}, {"AdvanceSeconds": -253402300799}, {"Now": 2**63 - 1},
], ids=str)
def test_bad_requests_change_nothing(db, request_):
    with invalid():
        db.call("SetClock", request_, prefix=PREFIX)
    assert abs(read_clock(db) - time.time()) < 60


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"Now": "soon"}', b'{"AdvanceSeconds": [1]}'], ids=str)
def test_what_is_no_request(db, body):
    answer = db.send("SetClock", body, prefix=PREFIX)
    assert (answer.status, answer.json()["__type"].partition("#")[2]) == (400, "SerializationException")
    assert abs(read_clock(db) - time.time()) < 60


def test_needs_credentials_as_all_operations(start_server):
    with Client(start_server("memory:", *TEST_CLOCK).endpoint) as db:
        db.connection.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: Gramme_20261115.SetClock\r\n"
                           b"Content-Length: 2\r\n\r\n{}")
        assert "MissingAuthenticationToken" in db.connection.read_answer().json()["__type"]


def test_refused_without_the_option(start_server):
    with Client(start_server("memory:").endpoint) as db:
        with refused("UnknownOperationException"):
            advance_clock(db, 600)
        assert abs(created(db) - time.time()) < 60


def test_is_no_operation_of_the_service(db):
    with refused("UnknownOperationException"):
        db.SetClock(Now=1)
    for operation in ("ListTables", "SetClocks", ""):
        with refused("UnknownOperationException"):
            db.call(operation, {}, prefix=PREFIX)


def test_token_expires_after_ten_minutes(db):
    table = create_table(db)
    request = {"TransactItems": [{"Update": {
        "TableName": table, "Key": item(pk="k"), "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": values(one=1)}}], "ClientRequestToken": unique_name("token")}

    def count():
        db.TransactWriteItems(**request)
        return int(db.GetItem(TableName=table, Key=item(pk="k"))["Item"]["n"]["N"])
    assert [count(), count()] == [1, 1]
    advance_clock(db, 590)
    assert count() == 1
    advance_clock(db, 11)
    assert [count(), count()] == [2, 2]
