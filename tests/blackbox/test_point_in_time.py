"""Point-in-time recovery: UpdateContinuousBackups, DescribeContinuousBackups, RestoreTableToPointInTime, and the backup that a
deleted table leaves. Clients send whole seconds, so what a second held is known by writing before and after it."""

import json
import math
import os
import re
import time
import urllib.request

import pytest

from backups import create_backup, everything, recovery, restore, set_recovery, wait_restored
from clock import TEST_CLOCK, advance_clock, read_clock
from rich_store import gramme
from server import Server
from tables import create_table, put_all, unique_name
from values import item
from waiting import poll
from wire import Client, invalid, refused

DAY = 86_400


def fill(db, table, numbers):
    put_all(db, table, [item(pk=f"p{i % 7}", sk=i, g=f"g{i % 3}") for i in numbers])


def make(db, **more):
    return create_table(db, key="pk sk:N", gsi={"by-g": "g"}, **more)


def next_second():
    """Waits until a whole second is over that begins from now on; gives that second."""
    second = math.ceil(time.time())
    poll(lambda: time.time() > second + 0.01, 5, "the next second")
    return second


def restore_to(db, table, name=None, **more):
    name = name or unique_name()
    answer = db.RestoreTableToPointInTime(SourceTableName=table, TargetTableName=name, **more)["TableDescription"]
    assert answer["TableStatus"] == "CREATING" and "SourceBackupArn" not in answer["RestoreSummary"]
    wait_restored(db, name)
    return name


def wait_restorable(db, table, second):
    poll(lambda: recovery(db, table)["LatestRestorableDateTime"] >= second, 30, "the second can be restored")


def test_seconds(db):
    table = make(db)
    fill(db, table, range(20))
    set_recovery(db, table, True)
    states = []
    for round_number in range(3):
        states.append((next_second(), everything(db, table)))
        fill(db, table, range(20 * round_number, 20 * round_number + 40))
        for i in range(round_number, 40, 3):
            db.DeleteItem(TableName=table, Key=item(pk=f"p{i % 7}", sk=i))
    for second, contents in states:
        wait_restorable(db, table, second)
        assert everything(db, restore_to(db, table, RestoreDateTime=second)) == contents
    latest = everything(db, table)
    wait_restorable(db, table, time.time())
    assert everything(db, restore_to(db, table, UseLatestRestorableTime=True)) == latest


def test_switching(db):
    table = make(db)
    assert recovery(db, table) == {"PointInTimeRecoveryStatus": "DISABLED"}
    answer = set_recovery(db, table, True)
    assert answer["PointInTimeRecoveryStatus"] == "ENABLED" and answer["RecoveryPeriodInDays"] == 35
    assert answer["EarliestRestorableDateTime"] <= answer["LatestRestorableDateTime"]
    assert abs(answer["EarliestRestorableDateTime"] - time.time()) < 30
    earliest = poll(lambda: recovery(db, table)["EarliestRestorableDateTime"], 5, "a description")
    assert set_recovery(db, table, True, RecoveryPeriodInDays=2)["RecoveryPeriodInDays"] == 2
    assert set_recovery(db, table, True)["RecoveryPeriodInDays"] == 2
    assert recovery(db, table)["EarliestRestorableDateTime"] - earliest < 1
    assert set_recovery(db, table, False) == {"PointInTimeRecoveryStatus": "DISABLED"}
    assert set_recovery(db, table, False) == {"PointInTimeRecoveryStatus": "DISABLED"}
    with refused("PointInTimeRecoveryUnavailableException", f"Point in time recovery is not enabled for table '{table}'"):
        db.RestoreTableToPointInTime(SourceTableName=table, TargetTableName="target", UseLatestRestorableTime=True)
    assert set_recovery(db, table, True)["RecoveryPeriodInDays"] == 35


def test_a_restore_follows_at_once(db):
    """Also to the time that the answer says; the override makes the restore fail after that time was accepted."""
    for _ in range(10):
        table = make(db)
        earliest = set_recovery(db, table, True)["EarliestRestorableDateTime"]
        for time_wanted in ({"UseLatestRestorableTime": True}, {"RestoreDateTime": earliest}):
            with invalid():
                db.RestoreTableToPointInTime(SourceTableName=table, TargetTableName="target", BillingModeOverride="PROVISIONED",
                                             **time_wanted)
        db.DeleteTable(TableName=table)


def test_times_outside_of_the_window(db):
    table = make(db)
    set_recovery(db, table, True)
    for second in (1_500_000_000, int(time.time()) + 100):
        with refused("InvalidRestoreTimeException") as caught:
            db.RestoreTableToPointInTime(SourceTableName=table, TargetTableName="target", RestoreDateTime=second)
        iso = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(second))
        assert caught.error.message.startswith(
            f"RestoreDateTime '{iso}' must be within EarliestRestorableDateTime '"), caught.error
    other = make(db)
    poll(lambda: recovery(db, table)["LatestRestorableDateTime"] > recovery(db, table)["EarliestRestorableDateTime"], 5, "a window")
    with refused("TableAlreadyExistsException", f"Table already exists: {other}"):
        db.RestoreTableToPointInTime(SourceTableName=table, TargetTableName=other, UseLatestRestorableTime=True)
    with invalid():
        db.RestoreTableToPointInTime(SourceTableName=table, TargetTableName="target", UseLatestRestorableTime=True,
                                     BillingModeOverride="PROVISIONED")
    set_recovery(db, table, False)  # and nothing of these attempts is left that needs the history
    assert db.ListBackups(TableName=table, BackupType="ALL")["BackupSummaries"] == []


def system_backup(db, table):
    def probe():
        found = db.ListBackups(TableName=table, BackupType="SYSTEM")["BackupSummaries"]
        return found and found[0]["BackupStatus"] == "AVAILABLE" and found[0]
    return poll(probe, 30, "the system backup")


def test_a_deleted_table_leaves_a_backup(db):
    table = make(db)
    fill(db, table, range(30))
    set_recovery(db, table, True)
    fill(db, table, range(20, 50))
    contents = everything(db, table)
    db.DeleteTable(TableName=table)
    backup = system_backup(db, table)
    assert backup["BackupName"] == f"{table}$DeletedTableBackup" and backup["BackupArn"].endswith("-00000000")
    assert backup["BackupExpiryDateTime"] == pytest.approx(backup["BackupCreationDateTime"] + 35 * DAY)
    description = db.DescribeBackup(BackupArn=backup["BackupArn"])["BackupDescription"]
    assert description["SourceTableFeatureDetails"] == {} and description["SourceTableDetails"]["ItemCount"] == 50
    with invalid() as caught:
        db.DeleteBackup(BackupArn=backup["BackupArn"])
    assert caught.error.message.startswith("Invalid Request: User is not allowed to delete the system backup with arn "), caught.error
    name = unique_name()
    restore(db, backup["BackupArn"], name)
    assert everything(db, name) == contents


def test_none_without_recovery(db):
    table = make(db)
    set_recovery(db, table, True)
    set_recovery(db, table, False)
    db.DeleteTable(TableName=table)
    assert db.ListBackups(TableName=table, BackupType="ALL")["BackupSummaries"] == []


def test_deleted_while_it_is_restored(start_server):
    with Client(start_server("memory:", "--table-delay-ms", "300").endpoint) as db:
        table = create_table(db, key="pk sk:N", gsi={"by-g": "g"}, name="source")
        fill(db, table, range(30))
        set_recovery(db, table, True)
        contents = everything(db, table)
        second = next_second()
        wait_restorable(db, table, second)
        db.RestoreTableToPointInTime(SourceTableName=table, TargetTableName="target", RestoreDateTime=second)
        for i in range(30):
            db.DeleteItem(TableName=table, Key=item(pk=f"p{i % 7}", sk=i))
        set_recovery(db, table, False)
        db.DeleteTable(TableName=table)
        wait_restored(db, "target")
        assert everything(db, "target") == contents


class TestDays:
    @pytest.fixture
    def server(self, tmp_path):
        if "GRAMME_ENDPOINT" in os.environ:
            pytest.skip("needs a server of its own")
        with Server(f"rocksdb:{tmp_path / 'store'}", *TEST_CLOCK, "--clock-confirm-ms", "1000") as server:
            yield server

    def test_the_window_moves_and_old_versions_go(self, server, tmp_path):
        with Client(server.endpoint) as db:
            make(db, name="table")
            fill(db, "table", range(30))
            set_recovery(db, "table", True, RecoveryPeriodInDays=2)
            start = read_clock(db)
            fill(db, "table", range(100, 130))
            for i in range(30):
                db.DeleteItem(TableName="table", Key=item(pk=f"p{i % 7}", sk=i))
            arn = create_backup(db, "table")
            held = everything(db, "table")
            fill(db, "table", range(200, 220))
            advance_clock(db, 3 * DAY)
            window = recovery(db, "table")
            assert window["EarliestRestorableDateTime"] == pytest.approx(start + DAY, abs=60)
            with refused("InvalidRestoreTimeException"):
                db.RestoreTableToPointInTime(SourceTableName="table", TargetTableName="target", RestoreDateTime=start + 10)
            set_recovery(db, "table", True, RecoveryPeriodInDays=35)  # what is outside stays outside
            assert recovery(db, "table")["EarliestRestorableDateTime"] == pytest.approx(start + DAY, abs=60)
            set_recovery(db, "table", True, RecoveryPeriodInDays=1)
            assert recovery(db, "table")["EarliestRestorableDateTime"] == pytest.approx(start + 2 * DAY, abs=60)
            restore(db, arn, "target")
            assert everything(db, "target") == held
            db.DeleteTable(TableName="table")
            system_backup(db, "table")
            advance_clock(db, 36 * DAY)
            poll(lambda: not db.ListBackups(TableName="table", BackupType="SYSTEM")["BackupSummaries"], 30, "the system backup expires")
            restore(db, arn, "again")
            assert everything(db, "again") == held


def history_sizes(server):
    """{(table, whether it is deleted): (records, bytes)} of /metrics."""
    with urllib.request.urlopen(f"{server.endpoint}/metrics") as answer:
        text = answer.read().decode()
    found = {}
    for kind, table, deleted, value in re.findall(r'^gramme_history_(\w+)\{table="([^"]*)",deleted="(\w+)"\} (\d+)$', text, re.MULTILINE):
        found.setdefault((table, deleted == "true"), {})[kind] = int(value)
    return {key: (sizes["records"], sizes["bytes"]) for key, sizes in found.items()}


def update_all(db, table, count, rounds):
    for n in range(rounds):
        for first in range(0, count, 100):
            db.TransactWriteItems(TransactItems=[
                {"Update": {"TableName": table, "Key": item(pk=f"p{i}"), "UpdateExpression": "SET n = :n",
                            "ExpressionAttributeValues": {":n": {"N": str(n)}}}} for i in range(first, first + 100)])


@pytest.mark.parametrize("kind", ["memory", "rocksdb"])
def test_room_is_in_proportion_to_the_writes(start_server, tmp_path, kind):
    """A record per write, with the item as it was, and nothing for items that are not changed."""
    server = start_server("memory:" if kind == "memory" else f"rocksdb:{tmp_path / 'store'}")
    with Client(server.endpoint) as db:
        create_table(db, name="plain")
        create_table(db, name="table")
        put_all(db, "table", [item(pk=f"p{i}", text="t" * 1000) for i in range(2000)])
        assert history_sizes(server) == {}
        set_recovery(db, "table", True)
        assert history_sizes(server) == {("table", False): (0, 0)}
        update_all(db, "table", 500, 4)
        records, size = history_sizes(server)["table", False]
        assert records == 2000 and 2000 * 1000 < size < 2000 * 1150
        update_all(db, "table", 500, 1)
        assert history_sizes(server)["table", False][0] == 2500
        for _ in range(2):  # tables of one name are one series
            db.DeleteTable(TableName="table")
            poll(lambda: history_sizes(server).keys() == {("table", True)}, 30, "it is deleted")
            create_table(db, name="table")
            set_recovery(db, "table", True)
            db.PutItem(TableName="table", Item=item(pk="a"))
        sizes = history_sizes(server)
        assert sizes.keys() == {("table", True), ("table", False)} and sizes["table", False][0] == 1
        assert sizes["table", True][0] <= 2501  # a deleted table needs the versions of its last instant only


@pytest.mark.skipif("GRAMME_POSTGRESQL" in os.environ, reason="reads the store's directory")
def test_trimming(tmp_path):
    """Versions outside of the window go; those that a backup needs stay."""
    with Server(f"rocksdb:{tmp_path / 'store'}", *TEST_CLOCK, "--clock-confirm-ms", "1000", "--stream-retention-ms", "200") as server:
        with Client(server.endpoint) as db:
            make(db, name="table")
            fill(db, "table", range(30))
            set_recovery(db, "table", True, RecoveryPeriodInDays=1)
            arn = create_backup(db, "table")
            held = everything(db, "table")
            for _ in range(20):
                for i in range(30):
                    db.UpdateItem(TableName="table", Key=item(pk=f"p{i % 7}", sk=i), UpdateExpression="ADD n :one",
                                  ExpressionAttributeValues={":one": {"N": "1"}})
            advance_clock(db, 2 * DAY)
            poll(lambda: re.search(r"table table: \d+ earlier versions of items erased, 30 of", server.log()), 30,
                 "one version of each item is left, for the backup")
            restore(db, arn, "target")
            assert everything(db, "target") == held
            db.DeleteBackup(BackupArn=arn)
            poll(lambda: "table table: 30 earlier versions of items erased, 0 of" in server.log(), 30, "none is left")
    total = json.loads(gramme("check", "--json", tmp_path / "store").stdout.splitlines()[-1])
    assert total["earlierVersions"] == 0 and not total["damaged"]
