"""A store with a little of everything that is stored: indexes of each kind and projection, item collections,
expiry, streams, tokens, deleted tables, backups and earlier versions of items; in SST files and in the WAL."""

import pathlib
import shutil
import subprocess
import time

from server import Server, program
from tables import all_items, create_table, put_all
from values import item
from waiting import poll
from wire import Client

WIDE, SLIM = "wide", "slim"
WIDE_ITEMS, SLIM_ITEMS = 120, 60


def fill(server, large=0, wide=WIDE_ITEMS, slim=SLIM_ITEMS):
    """`large`: so many items of 100 KB more, so that the server writes tables when it stops."""
    with Client(server.endpoint) as db:
        create_table(db, name=WIDE, key="pk sk:N", gsi={"all": "a", "keys": ("g s:N", "KEYS_ONLY")},
                     lsi={"lsi": ("pk l", ["extra"])},
                     StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
        create_table(db, name=SLIM, key="pk", gsi={"some": ("g", ["extra"])})
        create_table(db, name="gone", key="pk")
        db.UpdateTimeToLive(TableName=WIDE, TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"})
        db.PutItem(TableName="gone", Item=item(pk="a"))
        db.CreateBackup(TableName="gone", BackupName="of-a-deleted-table")
        db.CreateBackup(TableName=SLIM, BackupName="empty")
        db.UpdateContinuousBackups(TableName=WIDE, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True})
        poll(lambda: all(backup["BackupStatus"] == "AVAILABLE" for backup in db.ListBackups()["BackupSummaries"]), 30,
             "the backups are available")
        db.PutItem(TableName="gone", Item=item(pk="a", number=1))
        db.PutItem(TableName="gone", Item=item(pk="b"))
        now = int(time.time())
        put_all(db, WIDE, [item(pk=f"p{i % 9}", sk=i, a=f"a{i % 7}", g="g", s=i, l=f"l{i % 5}", extra="e" * 20,
                                ttl=now + 86400 + i, text="t" * (i % 50)) for i in range(wide)])
        put_all(db, SLIM, [item(pk=f"s{i}", g=f"g{i % 3}", extra="x", number=i) for i in range(slim)])
        db.TransactWriteItems(ClientRequestToken="token", TransactItems=[
            {"Put": {"TableName": SLIM, "Item": item(pk="t1", g="g0")}},
            {"Put": {"TableName": WIDE, "Item": item(pk="t", sk=1, a="a0")}}])
        for i in range(0, 20, 2):
            db.DeleteItem(TableName=WIDE, Key=item(pk=f"p{i % 9}", sk=i))
        for i in range(large):
            db.PutItem(TableName=SLIM, Item=item(pk=f"large{i}", g="large", extra="y", body="b" * 100000))
        db.DeleteTable(TableName="gone")


def make(directory, kill=False, **sizes):
    server = Server(f"rocksdb:{directory}")
    fill(server, **sizes)
    if kill:
        server.kill()
    else:
        server.stop()
    return pathlib.Path(directory)


def copy_store(source, target):
    """Without the control socket that a killed server leaves, which is no file to copy."""
    return pathlib.Path(shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.sock")))


def contents(endpoint):
    """All items of both tables by their keys, and of the indexes."""
    with Client(endpoint) as db:
        found = {}
        for table, index in ((WIDE, None), (SLIM, None), (WIDE, "all"), (WIDE, "keys"), (WIDE, "lsi"), (SLIM, "some")):
            more = {"IndexName": index} if index else {}
            rows = all_items(db.Scan, TableName=table, **more)
            found[table, index] = sorted(rows, key=str)
        return found


def files(directory):
    """Names, bytes and times of change of everything in a directory."""
    return {path.name: (path.read_bytes() if path.is_file() else None, path.lstat().st_mtime_ns)
            for path in pathlib.Path(directory).iterdir()}


def gramme(command, *arguments, timeout=120):
    """Runs `gramme COMMAND`; it must not crash."""
    done = subprocess.run([program(), command, *map(str, arguments)], capture_output=True, text=True, timeout=timeout)
    assert done.returncode in (0, 1, 2), done
    return done


def built(name):
    """A program of the build that is tested."""
    return str(pathlib.Path(program()).resolve().parent / "tests" / name)
