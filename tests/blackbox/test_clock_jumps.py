"""A wall clock that jumps ahead by mistake deletes nothing: not items by time to live, not records of
streams, not tokens. The jump is made by a library that is preloaded into the server."""

import os
import pathlib
import signal
import struct
import subprocess
import time

import pytest

from c_programs import sanitizer_flags
from expiry import enable_ttl
from server import Server
from tables import create_table
from values import item
from waiting import poll
from wire import Client, Connection

DAY = 86_400
SHIM = pathlib.Path(__file__).resolve().parents[1] / "support" / "clock_shim.c"


class Clock:
    """The wall clock of the servers that are started while this exists."""

    def __init__(self, path):
        self.path = path
        self.jump_to(0)

    def jump_to(self, seconds):
        """Ahead of the real time by so much."""
        with open(self.path, "r+b" if self.path.exists() else "wb") as file:
            file.write(struct.pack("=q", seconds))


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    if "GRAMME_ENDPOINT" in os.environ:
        pytest.skip("needs a server of its own")
    if sanitizer_flags():
        pytest.skip("sanitizers want to be loaded first")
    library = tmp_path_factory.mktemp("shim") / "clock_shim.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Werror", str(SHIM), "-o", str(library),
                    "-ldl"], check=True)
    return library


@pytest.fixture
def clock(shim, tmp_path, monkeypatch):
    clock = Clock(tmp_path / "seconds")
    monkeypatch.setenv("CLOCK_SHIM_FILE", str(clock.path))
    monkeypatch.setenv("LD_PRELOAD", str(shim))
    return clock


def expiring(db, table, name, seconds):
    """An item that expires in so many seconds of real time."""
    db.PutItem(TableName=table, Item=item(pk=name, at=int(time.time()) + seconds))


def wait_for_log(server, text):
    poll(lambda: text in server.log(), 30, f"the log says: {text}")


def is_there(db, table, name):
    return "Item" in db.GetItem(TableName=table, Key=item(pk=name))


def is_gone(db, table, name):
    return not is_there(db, table, name)


@pytest.fixture
def make_items():
    def make(db):
        table = create_table(db)
        enable_ttl(db, table, "at")
        for number in range(20):
            expiring(db, table, f"in days {number}", (number + 1) * DAY)
        return table
    return make


def check_all_there(db, table):
    for number in range(20):
        assert is_there(db, table, f"in days {number}")


def ready(server):
    connection = Connection(server.endpoint)
    connection.send(b"GET /_gramme/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    answer = connection.read_answer()
    connection.close()
    return answer.json()


def test_jump_of_31_days(clock, make_items):
    """What is due by the time that has passed still goes; that shows that expiry had its turn."""
    with Server() as server, Client(server.endpoint) as db:
        table = make_items(db)
        clock.jump_to(31 * DAY)
        wait_for_log(server, "ahead of the time that has passed")
        assert ready(server)["clock"] == "doubted"
        expiring(db, table, "canary", 1)
        poll(lambda: is_gone(db, table, "canary"), 30, "an item expires by the time that has passed")
        check_all_there(db, table)
        clock.jump_to(0)
        wait_for_log(server, "the clock has come back")
        expiring(db, table, "second canary", 1)
        poll(lambda: is_gone(db, table, "second canary"), 30, "items expire as before")
        check_all_there(db, table)
        assert ready(server)["clock"] == "trusted"


def test_clock_is_confirmed_by_time(clock, make_items):
    with Server("memory:", "--clock-confirm-ms", "2000") as server, Client(server.endpoint) as db:
        table = make_items(db)
        clock.jump_to(31 * DAY)
        wait_for_log(server, "the clock is confirmed")
        poll(lambda: is_gone(db, table, "in days 19"), 30, "items expire by the new time")


def test_clock_is_confirmed_by_an_operator(clock, make_items):
    with Server() as server, Client(server.endpoint) as db:
        table = make_items(db)
        clock.jump_to(31 * DAY)
        wait_for_log(server, "ahead of the time that has passed")
        check_all_there(db, table)
        server.process.send_signal(signal.SIGUSR1)
        wait_for_log(server, "items expire by it again")
        poll(lambda: is_gone(db, table, "in days 19"), 30, "items expire by the new time")


def test_jump_while_the_server_is_down(clock, make_items, tmp_path):
    """The store knows until when it was open: readiness probes write the time, too."""
    store = f"rocksdb:{tmp_path / 'data'}"
    with Server(store) as server, Client(server.endpoint) as db:
        table = make_items(db)
        assert ready(server)["ready"] is True
    clock.jump_to(31 * DAY)
    with Server(store) as server, Client(server.endpoint) as db:
        wait_for_log(server, "ahead of the time that has passed")
        expiring(db, table, "canary", 1)
        poll(lambda: is_gone(db, table, "canary"), 30, "an item expires by the time that has passed")
        check_all_there(db, table)
    clock.jump_to(0)
    with Server(store) as server, Client(server.endpoint) as db:
        assert "ahead" not in server.log()
        check_all_there(db, table)


def test_tokens_outlive_a_jump(clock):
    request = dict(TransactItems=[{"Put": {"TableName": "", "Item": item(pk="a")}}],
                   ClientRequestToken="token")
    with Server() as server, Client(server.endpoint) as db:
        request["TransactItems"][0]["Put"]["TableName"] = table = create_table(db)
        db.TransactWriteItems(**request)
        db.DeleteItem(TableName=table, Key=item(pk="a"))
        clock.jump_to(31 * DAY)
        db.TransactWriteItems(**request)  # the same call again, not a second one
        assert "Item" not in db.GetItem(TableName=table, Key=item(pk="a"))
