"""A wall clock that jumps ahead by mistake deletes nothing: not items by time to live, not records of
streams, not tokens, not exports; and restores to a time have all that was written before it. The jump is
made by a library that is preloaded into the server."""

import os
import pathlib
import signal
import struct
import subprocess
import time

import pytest

from backups import create_backup, recovery, restore, set_recovery, wait_recovery, wait_restored
from c_programs import sanitizer_flags
from expiry import enable_ttl
from readiness import ask_ready
from server import Server
from streams import Consumer, Streams, specification, stream_arn
from tables import all_items, create_table, unique_name
from values import item
from waiting import poll
from wire import Client, refused

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


def test_jump_of_31_days(clock, make_items):
    """Items due by trusted time are deleted, which shows that a sweep ran."""
    with Server() as server, Client(server.endpoint) as db:
        table = make_items(db)
        clock.jump_to(31 * DAY)
        wait_for_log(server, "ahead of the time that has passed")
        assert ask_ready(server)[1]["clock"] == "doubted"
        expiring(db, table, "canary", 1)
        poll(lambda: is_gone(db, table, "canary"), 30, "an item expires by the time that has passed")
        check_all_there(db, table)
        clock.jump_to(0)
        wait_for_log(server, "the clock was set back and is trusted again")
        expiring(db, table, "second canary", 1)
        poll(lambda: is_gone(db, table, "second canary"), 30, "items expire as before")
        check_all_there(db, table)
        assert ask_ready(server)[1]["clock"] == "trusted"


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


@pytest.mark.parametrize("is_probed", [False, True], ids=["short-run", "probed"])
def test_jump_while_the_server_is_down(clock, make_items, tmp_path, is_probed):
    """The store contains the last time at which it was open: a new store from its start; readiness probes write it, too."""
    store = f"rocksdb:{tmp_path / 'data'}"
    with Server(store) as server, Client(server.endpoint) as db:
        table = make_items(db)
        if is_probed:
            assert ask_ready(server)[0] == 200
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


def test_stream_records_outlive_a_jump_while_the_server_is_down(clock, tmp_path):
    """The first thing that a server does must not be to trim streams by a clock that it does not trust."""
    store = f"rocksdb:{tmp_path / 'data'}"
    with Server(store) as server, Client(server.endpoint) as db:
        table = create_table(db, StreamSpecification=specification("KEYS_ONLY"))
        arn = stream_arn(db, table)
        for number in range(20):
            db.PutItem(TableName=table, Item=item(pk=f"k{number}"))
    clock.jump_to(31 * DAY)
    for _ in range(3):
        with Server(store) as server, Streams(server.endpoint) as streams:
            wait_for_log(server, "ahead of the time that has passed")
            assert len(Consumer(streams, arn).read_all()) == 20


def names(db, table):
    return {one["pk"]["S"] for one in all_items(db.Scan, TableName=table)}


def wait_restorable(db, table):
    """Until the latest restorable time is after all writes so far: both are in milliseconds."""
    written = recovery(db, table)["LatestRestorableDateTime"]
    poll(lambda: recovery(db, table)["LatestRestorableDateTime"] > written, 10, "the writes can be restored")


def restore_latest(db, table):
    """The names of the items in a table that is restored to the latest time."""
    target = unique_name()
    db.RestoreTableToPointInTime(SourceTableName=table, TargetTableName=target, UseLatestRestorableTime=True)
    wait_restored(db, target)
    return names(db, target)


def test_restores_have_what_was_written_after_a_jump(clock):
    with Server("memory:", "--recovery-lag-ms", "0") as server, Client(server.endpoint) as db:
        table = create_table(db)
        set_recovery(db, table, True)
        wait_recovery(db, table)
        db.PutItem(TableName=table, Item=item(pk="before"))
        clock.jump_to(31 * DAY)
        db.PutItem(TableName=table, Item=item(pk="meanwhile"))
        wait_for_log(server, "ahead of the time that has passed")
        wait_restorable(db, table)
        assert restore_latest(db, table) == {"before", "meanwhile"}
        clock.jump_to(0)
        wait_for_log(server, "the clock was set back and is trusted again")
        db.PutItem(TableName=table, Item=item(pk="after"))
        wait_restorable(db, table)
        assert restore_latest(db, table) == {"before", "meanwhile", "after"}
        assert abs(recovery(db, table)["LatestRestorableDateTime"] - time.time()) < 10


def test_restores_are_refused_while_times_are_ahead(clock):
    """A clock that is less than an hour ahead is believed. When it is set back, the writes that follow have no times of their own."""
    if "GRAMME_POSTGRESQL" in os.environ:
        pytest.skip("the times of writes are those of PostgreSQL's clock")
    with Server("memory:", "--recovery-lag-ms", "0") as server, Client(server.endpoint) as db:
        table = create_table(db)
        set_recovery(db, table, True)
        wait_recovery(db, table)
        clock.jump_to(3000)
        db.PutItem(TableName=table, Item=item(pk="ahead"))
        clock.jump_to(0)
        db.PutItem(TableName=table, Item=item(pk="behind"))
        with refused("PointInTimeRecoveryUnavailableException") as caught:
            restore_latest(db, table)
        assert "the times of writes are not known" in caught.error.message
        target = unique_name()
        restore(db, create_backup(db, table), target)
        assert names(db, target) == {"ahead", "behind"}


def test_exports_are_not_forgotten_after_a_jump(clock, tmp_path):
    def export(db, table):
        arn = db.ExportTableToPointInTime(TableArn=db.DescribeTable(TableName=table)["Table"]["TableArn"],
                                          S3Bucket="bucket")["ExportDescription"]["ExportArn"]
        poll(lambda: db.DescribeExport(ExportArn=arn)["ExportDescription"]["ExportStatus"] == "COMPLETED", 30, "the export")
        return arn

    (tmp_path / "bucket").mkdir()
    with Server("memory:", "--s3-directory", str(tmp_path)) as server, Client(server.endpoint) as db:
        table = create_table(db)
        set_recovery(db, table, True)
        wait_recovery(db, table)
        arn = export(db, table)
        clock.jump_to(100 * DAY)
        export(db, table)
        export(db, table)  # after the round that would have forgotten old ones
        assert db.DescribeExport(ExportArn=arn)["ExportDescription"]["ExportStatus"] == "COMPLETED"
