"""Access patterns of servers that share a store: what is kept is the sum of all, and a reset reaches all."""

import os

import pytest

import postgresql
from insight import Insight
from server import Server
from tables import create_table, wait_active
from waiting import poll
from wire import Client

S = lambda text: {"S": text}


@pytest.fixture(scope="module")
def database():
    with postgresql.Cluster() as cluster:
        yield cluster


@pytest.fixture
def url(database):
    return database.create_database(f"i{os.urandom(6).hex()}")


def get(server, table, calls):
    with Client(server.endpoint) as db:
        wait_active(db, table)
        for _ in range(calls):
            db.GetItem(TableName=table, Key={"pk": S("a")})


def calls(server, table):
    return sum(pattern["calls"] for pattern in Insight(server.endpoint).get("patterns", table=table, operation="GetItem")["patterns"])


def test_counts_add_up(url):
    with Server(url) as first, Server(url) as second:
        with Client(first.endpoint) as db:
            table = create_table(db, "pk")
        get(first, table, 30)
        get(second, table, 12)
        # Its own calls a server knows at once; those of the other it may know already.
        assert 30 <= calls(first, table) <= 42 and 12 <= calls(second, table) <= 42
        # A server takes over what the other has stored when it writes counts of its own, and about once a minute.
        poll(lambda: calls(first, table) == calls(second, table) == 42, 120, "both servers to know the calls of the other", pause=0.5)
    with Server(url) as third:
        poll(lambda: calls(third, table) == 42, 30, "the sums of both")
        total = Insight(third.endpoint).get("overview")["totals"]["calls"]
        assert total == sum(pattern["calls"] for pattern in Insight(third.endpoint).get("patterns", limit=1000)["patterns"])


def test_stopped_servers_lose_nothing(url):
    with Server(url) as first, Server(url) as second, Server(url) as third:
        with Client(first.endpoint) as db:
            table = create_table(db, "pk")
        for server, count in ((first, 5), (second, 6), (third, 7)):
            get(server, table, count)
    with Server(url) as again:
        poll(lambda: calls(again, table) == 18, 30, "5 + 6 + 7 calls")


def test_reset_reaches_all(url):
    with Server(url) as first, Server(url) as second:
        with Client(first.endpoint) as db:
            table = create_table(db, "pk")
        get(first, table, 30)
        get(second, table, 12)
        # The reset is that of another server only if both know when counting began.
        since = lambda server: Insight(server.endpoint).get("overview")["insight"]["since"]
        poll(lambda: since(first) == since(second), 60, "the same beginning of counting")
        Insight(first.endpoint).post("reset")
        get(first, table, 1)

        def is_reset():
            with Client(second.endpoint) as db:
                db.ListTables()  # a count to be stored
            return since(second) == since(first)
        poll(is_reset, 60, "the reset at the other server", pause=0.2)
        assert calls(second, table) in (0, 1)
    with Server(url) as third:
        poll(lambda: calls(third, table) > 0, 30, "the patterns")
        assert calls(third, table) == 1
