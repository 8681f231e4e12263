"""On a full disk everything that deletes still works, all other writes fail with 500 and change nothing, and the server recovers by
itself. The server runs on a small file system of its own, which other files fill up; needs root."""

import errno
import itertools
import os
import pathlib
import signal
import subprocess
import time

import pytest

from backups import create_backup, set_recovery, wait_recovery
from expiry import enable_ttl, wait_gone
from readiness import ask_ready
from server import Process, program
from tables import create_table
from values import item
from waiting import poll
from wire import Client, Refused

numbers = itertools.count()
LARGE = "x" * 100_000
MOUNT = 'mount -t tmpfs -o size=$0 small "$1" && shift && exec "$@"'


class SmallDiskServer(Process):
    """A server whose store is on a file system of `size`, that only it and its children see."""

    def __init__(self, directory, size, *options):
        super().__init__("unshare", "--mount", "--propagation", "private", "sh", "-c", MOUNT, size, str(directory),
                         program(), "serve", "--listen", "127.0.0.1:0", "--store", f"rocksdb:{directory}/store", *options)
        self.disk = pathlib.Path(f"/proc/{self.process.pid}/root{directory}")

    def fill_disk(self):
        """All but the reserve. Does nothing while the reserve is in use: the space is then for deletes."""
        if not (self.disk / "store" / "reserve").exists():
            return
        with open(self.disk / "filler", "ab", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(65536))
            except OSError as error:
                assert error.errno == errno.ENOSPC

    def free_disk(self):
        (self.disk / "filler").unlink()

    def end(self):
        """Its log tells of the full disk, so stop() does not fit."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0, self.log()
        assert "ssertion" not in self.log()
        self.log_path.unlink()


@pytest.fixture
def server(tmp_path):
    if "GRAMME_ENDPOINT" in os.environ:
        pytest.skip("needs a server of its own")
    mounts = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", MOUNT, "1m", str(tmp_path), "true"],
                            capture_output=True, check=False)
    if mounts.returncode != 0:
        pytest.skip("needs the right to mount")
    server = SmallDiskServer(tmp_path, "224m", "--reserve-mb", "32")
    yield server
    server.end()


@pytest.fixture
def db(server):
    with Client(server.endpoint) as client:
        yield client


def put_large(db, table, name, **more):
    db.PutItem(TableName=table, Item=item(pk=name, s=LARGE, **more))


def is_refused(db, table):
    """Whether a large item is refused as on a full disk."""
    try:
        put_large(db, table, f"more {next(numbers)}")
    except Refused as error:
        assert error.status == 500 and error.type == "InternalServerError"
        return True
    return False


def fill_up(server, db, table):
    """Until puts are refused: what is allocated for the log is used up first, and compactions free some space."""
    def probe():
        server.fill_disk()
        return any(is_refused(db, table) for _ in range(20))
    poll(probe, 60, "the disk is full")


def fill_up_for_good(server, db, table):
    """Until small writes fail, too: the server frees files that it has allocated for its log, and may have space again."""
    def probe():
        if (server.disk / "store" / "reserve").exists():
            fill_up(server, db, table)
        return ask_ready(server)[1]["store"] == "not writable"
    poll(probe, 60, "a probe of the store fails")


def test_deletes_work_and_other_writes_fail(server, db):
    plain = create_table(db, name="plain")
    history = create_table(db, name="history")
    stream = create_table(db, name="stream", gsi={"by-s": "other"}, StreamSpecification={
        "StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    backed = create_table(db, name="backed")
    kept = create_table(db, name="kept", StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    for table in (history, kept):
        set_recovery(db, table, True)
        wait_recovery(db, table)
    enable_ttl(db, history, "at")
    for number in range(8):
        for table in (plain, history, stream, backed):
            put_large(db, table, f"item {number}")
    backup, second = create_backup(db, backed), create_backup(db, backed)
    put_large(db, history, "expiring", at=int(time.time()) + 3600)
    assert ask_ready(server)[0] == 200 and (server.disk / "store" / "reserve").exists()
    fill_up_for_good(server, db, plain)
    status, answer = ask_ready(server)
    assert status == 503 and answer["ready"] is False and answer["disk"] == "full"
    for table in (plain, history, stream, backed):
        for number in range(4):
            db.DeleteItem(TableName=table, Key=item(pk=f"item {number}"))
            assert "Item" not in db.GetItem(TableName=table, Key=item(pk=f"item {number}"), ConsistentRead=True)
        assert db.GetItem(TableName=table, Key=item(pk="item 5"), ConsistentRead=True)["Item"]["s"] == {"S": LARGE}
    db.TransactWriteItems(TransactItems=[
        {"Delete": {"TableName": table, "Key": item(pk="item 4")}} for table in (history, stream, backed)])
    db.UpdateTable(TableName=stream, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-s"}}])
    db.DeleteBackup(BackupArn=backup)   # one that is left keeps the history
    db.DeleteBackup(BackupArn=second)
    assert is_refused(db, plain) and is_refused(db, history)
    poll(lambda: "GlobalSecondaryIndexes" not in db.DescribeTable(TableName=stream)["Table"], 30, "the index is gone")
    for table in (stream, history, kept, backed):
        db.DeleteTable(TableName=table)
    assert db.ListTables()["TableNames"] == [plain]
    assert is_refused(db, plain)

    server.free_disk()
    poll(lambda: not is_refused(db, plain), 30, "writes are accepted again")
    assert poll(lambda: ask_ready(server)[0] == 200, 30, "the server is ready again")


def test_items_with_history_expire(server, db):
    table = create_table(db)
    set_recovery(db, table, True)
    wait_recovery(db, table)
    enable_ttl(db, table, "at")
    assert (server.disk / "store" / "reserve").exists()
    fill_seconds = 8
    put_large(db, table, "expiring", at=int(time.time()) + fill_seconds)
    fill_up(server, db, table)
    wait_gone(db, table, 60, pk="expiring")
