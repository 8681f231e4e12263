"""A bad block in an SST file: requests for its rows get 500 and the log names it once; everything else is served at full
speed, items beside it expire, exports and restores that need it fail, and compactions put it into quarantine."""

import os
import random
import re
import signal
import time
import urllib.request

import pytest

from backups import create_backup, everything, restore, set_recovery, wait_recovery, wait_restored
from clock import TEST_CLOCK, advance_clock
from expiry import enable_ttl
from exports import export, table_arn, wait_export
from rich_store import gramme
from server import Server
from tables import create_table, put_all
from values import item
from waiting import poll
from wire import Client, Refused

ITEMS = 1500
DAMAGED = re.compile(r"error store: an SST file is damaged.* in \S+\.sst offset \d+")


def name_of(number):
    return f"item {number}"


def fill(db, table, expires):
    """Items that cannot be compressed; what is due at `expires` is deleted by then."""
    dice = random.Random(7)
    for number in range(ITEMS):
        db.PutItem(TableName=table, Item=item(pk=name_of(number), s=dice.randbytes(500).hex(), at=expires))


def flip(path, places):
    content = bytearray(path.read_bytes())
    for place in places:  # two bits of one byte: they are in one block, so that it cannot be corrected
        content[int(len(content) * place)] ^= 0x11
    path.write_bytes(content)


class Damaged:
    """A server whose store has bad blocks in one SST file: places as parts of its length."""

    def __init__(self, directory, expires, *options, places=(0.4, 0.6), recovery=False):
        self.table = "Table"
        with Server(f"rocksdb:{directory}/store") as server, Client(server.endpoint) as db:
            create_table(db, name=self.table)
            enable_ttl(db, self.table, "at")
            if recovery:
                set_recovery(db, self.table, True)
                wait_recovery(db, self.table)
            fill(db, self.table, expires)
            self.backup = create_backup(db, self.table) if recovery else None
            done = gramme("backup", f"{directory}/store", f"{directory}/backup")  # which writes an SST file
            assert done.returncode == 0, done
        sst = max((directory / "store").glob("*.sst"), key=lambda path: path.stat().st_size)
        flip(sst, places)
        self.server = Server(f"rocksdb:{directory}/store", *options)

    def damages(self):
        return DAMAGED.findall(self.server.log())

    def end(self):
        """The log tells of the damage, so stop() does not fit."""
        self.server.process.send_signal(signal.SIGTERM)
        assert self.server.process.wait(60) == 0
        self.server.log_path.unlink()


@pytest.fixture
def make(tmp_path):
    if "GRAMME_ENDPOINT" in os.environ or "GRAMME_POSTGRESQL" in os.environ:
        pytest.skip("needs files of its own")
    made = []

    def make(expires, *options, **more):
        directory = tmp_path / f"{len(made)}" if made else tmp_path
        directory.mkdir(exist_ok=True)
        made.append(Damaged(directory, expires, *options, **more))
        return made[-1]
    yield make
    for damaged in made:
        damaged.end()


def read(db, table, number):
    """Whether the item can be read; the answer to others is 500."""
    try:
        return "Item" in db.GetItem(TableName=table, Key=item(pk=name_of(number)))
    except Refused as error:
        assert error.status == 500 and error.type == "InternalServerError"
        return None


def median_put_seconds(table, numbers, *clients):
    """Puts the items with these numbers with each client, in turn, so that all are measured in the same conditions. A put reads the
    old item; the range of a bad block can have a place for a new key."""
    took = [[] for _ in clients]
    for number in numbers:
        for db, times in zip(clients, took):
            start = time.monotonic()
            db.PutItem(TableName=table, Item=item(pk=name_of(number)))
            times.append(time.monotonic() - start)
    return [sorted(times)[len(times) // 2] for times in took]


def assert_writes_are_quick(make, damaged, unreadable):
    """Puts that replace items which can be read, beside the same puts on a store that is like it, but not damaged."""
    numbers = [number for number in range(ITEMS) if number not in unreadable][:300]
    good = make(int(time.time()) + 86_400, "--scrub-mb", "0", places=())
    with Client(damaged.server.endpoint) as db, Client(good.server.endpoint) as good_db:
        slow, quick = median_put_seconds(damaged.table, numbers, db, good_db)
    assert slow < 2 * quick, (slow, quick)


def test_reads_of_bad_blocks_get_500_and_the_log_names_each_once(make):
    damaged = make(int(time.time()) + 86_400, "--scrub-mb", "0")
    with Client(damaged.server.endpoint) as db:
        unreadable = [number for number in range(ITEMS) if read(db, damaged.table, number) is None]
        assert 2 <= len(unreadable) < 100
        assert [number for number in range(ITEMS) if read(db, damaged.table, number) is None] == unreadable
        assert len(damaged.damages()) == len(set(damaged.damages())) == 2
        with pytest.raises(Refused) as caught:  # it needs the old item
            db.PutItem(TableName=damaged.table, Item=item(pk=name_of(unreadable[0])))
        assert caught.value.status == 500
        assert_writes_are_quick(make, damaged, unreadable)
    assert len(damaged.damages()) == 2


def test_items_beside_a_bad_block_expire(make):
    damaged = make(int(time.time()) + 86_400, "--scrub-mb", "0", *TEST_CLOCK)
    with Client(damaged.server.endpoint) as db:
        unreadable = {number for number in range(ITEMS) if read(db, damaged.table, number) is None}
        assert unreadable
        advance_clock(db, 86_401)
        poll(lambda: not any(read(db, damaged.table, number) for number in range(ITEMS)), 60, "all others expire", pause=0.2)
        assert {number for number in range(ITEMS) if read(db, damaged.table, number) is None} == unreadable


def fails_to_export(db, table):
    arn = db.ExportTableToPointInTime(TableArn=table_arn(db, table), S3Bucket="bucket")["ExportDescription"]["ExportArn"]
    ended = wait_export(db, arn)
    assert (ended["ExportStatus"], ended["FailureCode"]) == ("FAILED", "InternalError"), ended
    assert ended["FailureMessage"] == "Some items of the table cannot be read: the store is damaged"
    return arn


def fails_to_restore(damaged, db, operation, **source):
    name = f"{operation}-{len(source)}"
    assert db.call(operation, {"TargetTableName": name, **source})["TableDescription"]["TableStatus"] == "CREATING"
    poll(lambda: name not in db.ListTables()["TableNames"], 30, f"{name} is deleted")
    assert re.search(rf"error restore: table {name}: failed, and the table is deleted: .* {table_arn(db, damaged.table)} cannot be read",
                     damaged.server.log())


def history_records(server, table):
    with urllib.request.urlopen(f"{server.endpoint}/metrics") as answer:
        text = answer.read().decode()
    assert "# TYPE gramme_history_records gauge" in text
    return sum(map(int, re.findall(rf'^gramme_history_records\{{table="{table}",deleted="\w+"\}} (\d+)$', text, re.MULTILINE)))


def test_exports_and_restores_of_bad_blocks_fail_and_hold_nothing(make):
    damaged = make(int(time.time()) + 86_400, "--scrub-mb", "0", "--recovery-lag-ms", "0", recovery=True)
    with Client(damaged.server.endpoint) as db:
        good = create_table(db, name="good")
        set_recovery(db, good, True)
        wait_recovery(db, good)
        put_all(db, good, [item(pk=name_of(number)) for number in range(500)])
        fails_to_export(db, damaged.table)
        for _ in range(2):  # the first one leaves the backup free for the second
            fails_to_restore(damaged, db, "RestoreTableFromBackup", BackupArn=damaged.backup)
        fails_to_restore(damaged, db, "RestoreTableToPointInTime", SourceTableName=damaged.table, UseLatestRestorableTime=True)
        assert export(db, good, S3Bucket="bucket")["ItemCount"] == 500
        restore(db, create_backup(db, good), "from-backup")
        db.RestoreTableToPointInTime(SourceTableName=good, TargetTableName="earlier", UseLatestRestorableTime=True)
        wait_restored(db, "earlier")
        assert everything(db, "from-backup") == everything(db, "earlier") == everything(db, good)
        assert "interrupted, to be resumed" not in damaged.server.log()
        assert history_records(damaged.server, damaged.table) > 0
        db.DeleteBackup(BackupArn=damaged.backup)
        set_recovery(db, damaged.table, False)
        poll(lambda: history_records(damaged.server, damaged.table) == 0, 30, "no earlier version of an item is kept")


def in_quarantine(damaged):
    return "are in quarantine: requests" in damaged.server.log()


def write_until_compacted(damaged, db, directory):
    """Each backup writes a new SST file, which a compaction merges with the damaged one. Items that can be read are written: the range
    of a bad block can have a place for a new key."""
    often, *others = [number for number in range(100) if read(db, damaged.table, number)][:21]
    for number in others:
        db.PutItem(TableName=damaged.table, Item=item(pk=name_of(number), s="x"))
        gramme("backup", directory / "store", directory / f"backup {number}")
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline and not in_quarantine(damaged):
            db.PutItem(TableName=damaged.table, Item=item(pk=name_of(often), s="x"))
            time.sleep(0.1)
        if in_quarantine(damaged):
            return
    raise AssertionError(damaged.server.log())


def test_compactions_put_bad_blocks_into_quarantine(make, tmp_path):
    damaged = make(int(time.time()) + 86_400, "--scrub-mb", "0")
    with Client(damaged.server.endpoint) as db:
        write_until_compacted(damaged, db, tmp_path)
        unreadable = {number for number in range(ITEMS) if read(db, damaged.table, number) is None}
        assert 2 <= len(unreadable) < 100
        assert "compactions are stopped" not in damaged.server.log()
        assert_writes_are_quick(make, damaged, unreadable)
        with pytest.raises(Refused) as caught:
            db.Scan(TableName=damaged.table)
        assert caught.value.status == 500
        backup = gramme("backup", tmp_path / "store", tmp_path / "last")
        assert backup.returncode == 1 and "quarantine" in backup.stdout, backup
    damaged.end()
    damaged.server = Server(f"rocksdb:{tmp_path}/store")
    assert "ranges of keys in" in damaged.server.log()
    with Client(damaged.server.endpoint) as db:
        assert {number for number in range(ITEMS) if read(db, damaged.table, number) is None} == unreadable
    stopped = tmp_path / "stopped"
    restore = gramme("restore", tmp_path / "last", stopped)
    assert restore.returncode in (0, 1), restore
    check = gramme("check", stopped)
    assert check.returncode == 1, check
    assert re.search(r'damage .*\.sst, offset \d+: a block was damaged and is in quarantine; lost: .*items of table "Table"', check.stdout), \
        check.stdout
    repair = gramme("repair", stopped, tmp_path / "repaired")
    assert repair.returncode == 1 and "in quarantine; lost: versions of rows from" in repair.stdout, repair
    assert gramme("check", tmp_path / "repaired").returncode == 0
    with Server(f"rocksdb:{tmp_path}/repaired") as server, Client(server.endpoint) as db:
        missing = {number for number in range(ITEMS) if not read(db, damaged.table, number)}
    assert missing == unreadable
