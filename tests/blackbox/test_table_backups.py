"""Backups of tables: CreateBackup, DescribeBackup, ListBackups, DeleteBackup, RestoreTableFromBackup."""

import json
import re
import subprocess
import time

import pytest

from backups import create_backup, details, everything, restore, set_recovery, wait_available, wait_restored
from boto_errors import fails_with
from clock import TEST_CLOCK, advance_clock
from rich_store import gramme
from server import Server, program
from tables import create_table, put_all, unique_name
from values import item
from waiting import poll
from wire import Client, Refused, invalid, refused

NOWHERE = "arn:aws:dynamodb:us-east-1:000000000000:table/nowhere/backup/01489602797149-73d8d5bc"
BINARY_KEYS = [b"", b"\0", b"\0\0", b"12345678", b"12345678\0", b"123456789", b"\xff" * 8, b"\xff" * 9]


def make(db, **more):
    return create_table(db, key="pk sk:N", gsi={"by-g": "g"}, lsi={"by-l": ("pk l", "KEYS_ONLY")}, **more)


def fill(db, table, numbers):
    put_all(db, table, [item(pk=f"p{i % 7}", sk=i, g=f"g{i % 3}", l=f"l{i % 5}", text="t" * (i % 40)) for i in numbers])


def change(db, table):
    """Changes, deletes and adds items, so that little of the table is as it was."""
    for i in range(0, 60, 3):
        db.DeleteItem(TableName=table, Key=item(pk=f"p{i % 7}", sk=i))
    for i in range(1, 60, 3):
        db.UpdateItem(TableName=table, Key=item(pk=f"p{i % 7}", sk=i), UpdateExpression="SET g = :g REMOVE l",
                      ExpressionAttributeValues={":g": {"S": "changed"}})
    fill(db, table, range(100, 130))


def test_restores_what_was_there(db):
    table = make(db)
    fill(db, table, range(60))
    before = everything(db, table)
    arn = create_backup(db, table)
    change(db, table)
    between = everything(db, table)
    second = create_backup(db, table)
    change(db, table)
    fill(db, table, range(60))
    restore(db, arn, unique_name())
    name = unique_name()
    restore(db, arn, name)
    assert everything(db, name) == before
    name = unique_name()
    restore(db, second, name)
    assert everything(db, name) == between
    fill(db, name, range(200, 210))  # it is a table like any other
    assert everything(db, name) != between and len(everything(db, table)[None]) > 0


def test_outlives_its_table_and_a_namesake(db):
    table = make(db)
    fill(db, table, range(60))
    before = everything(db, table)
    arn = create_backup(db, table)
    change(db, table)
    db.DeleteTable(TableName=table)
    make(db, name=table)
    fill(db, table, range(500, 510))
    name = unique_name()
    restore(db, arn, name)
    assert everything(db, name) == before
    ids = {backup["TableId"] for backup in db.ListBackups(TableName=table)["BackupSummaries"]}
    create_backup(db, table)
    assert len({backup["TableId"] for backup in db.ListBackups(TableName=table)["BackupSummaries"]} | ids) == 2


def test_the_last_backup_takes_the_deleted_table_with_it(db):
    table = make(db)
    fill(db, table, range(20))
    arns = [create_backup(db, table) for _ in range(3)]
    db.DeleteTable(TableName=table)
    assert db.DeleteBackup(BackupArn=arns[1])["BackupDescription"]["BackupDetails"]["BackupStatus"] == "DELETED"
    db.DeleteBackup(BackupArn=arns[0])
    name = unique_name()
    restore(db, arns[2], name)
    assert len(everything(db, name)[None]) == 20
    db.DeleteBackup(BackupArn=arns[2])
    for arn in arns:
        with refused("BackupNotFoundException", f"Backup not found: {arn}"):
            db.DescribeBackup(BackupArn=arn)
        with refused("BackupNotFoundException", f"Backup not found: {arn}"):
            db.DeleteBackup(BackupArn=arn)


def test_keys_of_every_kind(db):
    """The order of keys, and where one ends, is kept in the history."""
    table = create_table(db, key="pk:B sk:B")
    keys = [(pk or b"x", sk or b"x") for pk in BINARY_KEYS[1:3] for sk in BINARY_KEYS]
    put_all(db, table, [item(pk=pk, sk=sk, a=1) for pk, sk in set(keys)])
    before = everything(db, table)
    arn = create_backup(db, table)
    for pk, sk in set(keys):
        db.DeleteItem(TableName=table, Key=item(pk=pk, sk=sk))
    put_all(db, table, [item(pk=b"\0", sk=b"\0" * n) for n in range(1, 30)])
    name = unique_name()
    restore(db, arn, name)
    assert everything(db, name) == before


def test_a_large_table_comes_in_chunks(db):
    """More deleted items than fit a chunk, and items larger than a chunk."""
    table = create_table(db, key="pk sk:N")
    put_all(db, table, [item(pk=f"p{i % 50}", sk=i) for i in range(3000)])
    for i in range(12):
        db.PutItem(TableName=table, Item=item(pk="large", sk=i, body="b" * 390_000))
    before = everything(db, table)
    arn = create_backup(db, table)
    for i in range(0, 3000, 25):
        db.BatchWriteItem(RequestItems={table: [{"DeleteRequest": {"Key": item(pk=f"p{n % 50}", sk=n)}} for n in range(i, i + 25)]})
    name = unique_name()
    restore(db, arn, name)
    assert everything(db, name) == before


def test_describe(db):
    table = create_table(db, key="pk sk:N", gsi={"by-g": "g"}, lsi={"by-l": ("pk l", ["x"])},
                         StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    db.UpdateTimeToLive(TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"})
    fill(db, table, range(10))
    described = db.DescribeTable(TableName=table)["Table"]
    answer = db.CreateBackup(TableName=described["TableArn"], BackupName="a.b-c_1")["BackupDetails"]
    assert answer["BackupStatus"] == "CREATING" and answer["BackupType"] == "USER" and answer["BackupName"] == "a.b-c_1"
    assert re.fullmatch(r"\d{14}-[0-9a-f]{8}", answer["BackupArn"].rpartition("/")[2])
    wait_available(db, answer["BackupArn"])
    backup = db.DescribeBackup(BackupArn=answer["BackupArn"])["BackupDescription"]
    source = backup["SourceTableDetails"]
    assert source["TableId"] == described["TableId"] and source["ItemCount"] == 10 and source["BillingMode"] == "PAY_PER_REQUEST"
    assert source["TableSizeBytes"] == described["TableSizeBytes"] == backup["BackupDetails"]["BackupSizeBytes"]
    assert source["KeySchema"] == described["KeySchema"] and "BackupExpiryDateTime" not in backup["BackupDetails"]
    features = backup["SourceTableFeatureDetails"]
    assert features["StreamDescription"] == {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    assert features["TimeToLiveDescription"] == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}
    assert [index["IndexName"] for index in features["GlobalSecondaryIndexes"]] == ["by-g"]
    assert features["LocalSecondaryIndexes"][0]["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]}
    restored = restore(db, answer["BackupArn"], unique_name())
    assert "StreamSpecification" not in restored and not restored["DeletionProtectionEnabled"]
    assert db.DescribeTimeToLive(TableName=restored["TableName"])["TimeToLiveDescription"] == {"TimeToLiveStatus": "DISABLED"}
    assert restored["TableId"] != described["TableId"]


def test_a_plain_table_has_no_features(db):
    backup = db.DescribeBackup(BackupArn=create_backup(db, create_table(db)))["BackupDescription"]
    assert backup["SourceTableFeatureDetails"] == {}


class TestList:
    def test_pages_and_filters(self, db):
        table, other = create_table(db), create_table(db)
        arns = [create_backup(db, table, f"backup-{i}") for i in range(7)]
        create_backup(db, other)
        listed, request = [], {"TableName": table, "Limit": 3}
        while True:
            page = db.ListBackups(**request)
            listed += [backup["BackupArn"] for backup in page["BackupSummaries"]]
            if "LastEvaluatedBackupArn" not in page:
                break
            assert len(page["BackupSummaries"]) == 3
            request["ExclusiveStartBackupArn"] = page["LastEvaluatedBackupArn"]
        assert listed == sorted(arns)
        assert "LastEvaluatedBackupArn" not in db.ListBackups(TableName=table, Limit=7)
        assert db.ListBackups(TableName=table, BackupType="SYSTEM")["BackupSummaries"] == []
        assert db.ListBackups(TableName=table, BackupType="AWS_BACKUP")["BackupSummaries"] == []
        assert len(db.ListBackups(TableName=table, BackupType="ALL")["BackupSummaries"]) == 7

    def test_times(self, db):
        table = create_table(db)
        arns = []
        for _ in range(3):
            arns.append(create_backup(db, table))
            time.sleep(0.002)  # so that the times differ
        times = [details(db, arn)["BackupCreationDateTime"] for arn in arns]

        def within(**bounds):
            return [backup["BackupArn"] for backup in db.ListBackups(TableName=table, **bounds)["BackupSummaries"]]
        assert within(TimeRangeLowerBound=times[1]) == arns[1:]
        assert within(TimeRangeUpperBound=times[1]) == arns[:1]
        assert within(TimeRangeLowerBound=times[0], TimeRangeUpperBound=times[2]) == arns[:2]
        assert within(TimeRangeLowerBound=times[2] + 1) == []


class TestOverrides:
    @pytest.fixture(scope="class")
    def source(self, endpoint):
        with Client(endpoint) as db:
            table = create_table(db, key="pk sk:N", gsi={"one": "g", "two": ("h", "KEYS_ONLY")}, lsi={"three": "pk l"})
            put_all(db, table, [item(pk="p", sk=i, g="g", h="h", l=f"l{i}") for i in range(5)])
            return create_backup(db, table)

    def test_indexes_are_dropped(self, db, source):
        table = restore(db, source, unique_name(), GlobalSecondaryIndexOverride=[], LocalSecondaryIndexOverride=[])
        assert "GlobalSecondaryIndexes" not in table and "LocalSecondaryIndexes" not in table
        assert [d["AttributeName"] for d in table["AttributeDefinitions"]] == ["pk", "sk"]
        assert table["ItemCount"] == 5

    def test_an_index_gets_another_name(self, db, source):
        table = restore(db, source, unique_name(), GlobalSecondaryIndexOverride=[
            {"IndexName": "new", "KeySchema": [{"AttributeName": "h", "KeyType": "HASH"}], "Projection": {"ProjectionType": "KEYS_ONLY"}}])
        assert [index["IndexName"] for index in table["GlobalSecondaryIndexes"]] == ["new"]
        assert [index["IndexName"] for index in table["LocalSecondaryIndexes"]] == ["three"]
        assert db.Scan(TableName=table["TableName"], IndexName="new")["Count"] == 5

    def test_indexes_that_are_alike(self, db):
        """Each index of the source can be restored once; of two that are alike the one with the same name is taken."""
        table = create_table(db, gsi={"one": "g", "two": "g", "three": "g"})
        put_all(db, table, [item(pk=f"p{i}", g="g") for i in range(5)])
        arn = create_backup(db, table)
        def indexes(*names):
            return [{"IndexName": name, "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                     "Projection": {"ProjectionType": "ALL"}} for name in names]
        with invalid("Invalid Request: Index four does not match a secondary index that existed in the source table and cannot be created "
                     "during the restore operation"):
            db.RestoreTableFromBackup(TargetTableName=unique_name(), BackupArn=arn,
                                      GlobalSecondaryIndexOverride=indexes("three", "two", "one", "four"))
        restored = restore(db, arn, unique_name(), GlobalSecondaryIndexOverride=indexes("three", "new"))
        assert sorted(index["IndexName"] for index in restored["GlobalSecondaryIndexes"]) == ["new", "three"]
        assert all(db.Scan(TableName=restored["TableName"], IndexName=name)["Count"] == 5 for name in ("new", "three"))

    def test_capacity(self, db, source):
        units = {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4}
        table = restore(db, source, unique_name(), BillingModeOverride="PROVISIONED", ProvisionedThroughputOverride=units,
                        GlobalSecondaryIndexOverride=[])
        assert table["ProvisionedThroughput"]["WriteCapacityUnits"] == 4
        assert "LastUpdateToPayPerRequestDateTime" not in table["BillingModeSummary"]
        arn = create_backup(db, table["TableName"])
        table = restore(db, arn, unique_name(), BillingModeOverride="PAY_PER_REQUEST")
        assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
        assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 0

    def test_on_demand_since(self, db, source):
        """A restored table has been on demand since it was created, not since its source was."""
        for overrides in ({}, {"BillingModeOverride": "PAY_PER_REQUEST"}):
            table = restore(db, source, unique_name(), **overrides)
            assert table["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"] == table["CreationDateTime"]

    @pytest.mark.parametrize("overrides, message", [
        ({"ProvisionedThroughputOverride": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}},
         "Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED"),
        ({"BillingModeOverride": "PROVISIONED"}, "Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED"),
        ({"BillingModeOverride": "PAY_PER_REQUEST", "ProvisionedThroughputOverride": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}},
         "Cannot override ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST"),
        ({"BillingModeOverride": "PROVISIONED", "ProvisionedThroughputOverride": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}},
         "Must specify provisioned throughput for index one"),
        ({"OnDemandThroughputOverride": {"MaxReadRequestUnits": 5}},
         "Cannot override MaxReadRequestUnits for OnDemandThroughput unless BillingModeOverride is PAY_PER_REQUEST"),
        ({"BillingModeOverride": "PAY_PER_REQUEST", "OnDemandThroughputOverride": {"MaxReadRequestUnits": -5}},
         "Requested MaxReadRequestUnits for OnDemandThroughput is outside of valid range"),
        ({"GlobalSecondaryIndexOverride": [{"IndexName": "new", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                                            "Projection": {"ProjectionType": "KEYS_ONLY"}}]},
         "Index new does not match a secondary index that existed in the source table and cannot be created during the restore operation"),
        ({"GlobalSecondaryIndexOverride": [{"IndexName": "one", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                                            "Projection": {"ProjectionType": "ALL"},
                                            "WarmThroughput": {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000}}]},
         "Cannot override WarmThroughput for index one"),
        ({"GlobalSecondaryIndexOverride": [{"IndexName": name, "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                                            "Projection": {"ProjectionType": "ALL"}} for name in ("one", "again")]},
         "Index again does not match a secondary index that existed in the source table and cannot be created during the restore operation"),
    ])
    def test_refused(self, db, source, overrides, message):
        with invalid(f"Invalid Request: {message}"):
            db.RestoreTableFromBackup(TargetTableName=unique_name(), BackupArn=source, **overrides)


class TestRefused:
    def test_names(self, db):
        with refused("TableNotFoundException", "Table not found: nowhere"):
            db.CreateBackup(TableName="nowhere", BackupName="backup")
        with refused("BackupNotFoundException", f"Backup not found: {NOWHERE}"):
            db.RestoreTableFromBackup(TargetTableName="target", BackupArn=NOWHERE)
        table = create_table(db)
        arn = create_backup(db, table)
        with refused("TableAlreadyExistsException", f"Table already exists: {table}"):
            db.RestoreTableFromBackup(TargetTableName=table, BackupArn=arn)
        with refused("AccessDeniedException", "Access is denied"):
            db.DescribeBackup(BackupArn=arn.replace("000000000000", "111111111111"))
        assert details(db, arn.replace("us-east-1", "eu-west-1"))["BackupArn"] == arn  # the Region in it is ignored

    def test_while_tables_are_being_made(self, start_server):
        with Client(start_server("memory:", "--table-delay-ms", "3000").endpoint) as slow:
            slow.CreateTable(TableName="slow", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                             AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
            with refused("ContinuousBackupsUnavailableException",
                         "Backups are being enabled for the table: slow. Please retry later"):
                slow.CreateBackup(TableName="slow", BackupName="backup")
            poll(lambda: slow.DescribeTable(TableName="slow")["Table"]["TableStatus"] == "ACTIVE", 30, "the table is active")
            arn = create_backup(slow, "slow")
            slow.RestoreTableFromBackup(TargetTableName="target", BackupArn=arn)
            with refused("BackupInUseException", f"Backup is being used to restore table: {arn}"):
                slow.DeleteBackup(BackupArn=arn)
            with refused("BackupInUseException", f"Backup is being used to restore another table: {arn}"):
                slow.RestoreTableFromBackup(TargetTableName="another", BackupArn=arn)
            with refused("TableInUseException", f"Table: target is already being restored from backup: {arn}"):
                slow.RestoreTableFromBackup(TargetTableName="target", BackupArn=create_backup(slow, "slow"))
            with refused("ResourceInUseException"):
                slow.DeleteTable(TableName="target")
            with refused("ResourceInUseException",
                         "Attempt to change a resource which is still in use: Table is being used: target"):
                slow.CreateTable(TableName="target", BillingMode="PAY_PER_REQUEST",
                                 KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                                 AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
            with refused("TableNotFoundException"):
                slow.CreateBackup(TableName="target", BackupName="backup")
            wait_restored(slow, "target")
            slow.DeleteBackup(BackupArn=arn)


def made_slowly(db):
    """A table that is ACTIVE although new tables are CREATING until the clock is advanced."""
    table = unique_name()
    db.CreateTable(TableName=table, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                   AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
    advance_clock(db, 601)
    poll(lambda: db.DescribeTable(TableName=table)["Table"]["TableStatus"] == "ACTIVE", 30, "the table is active")
    return table


SLOW = ("memory:", "--table-delay-ms", "600000", *TEST_CLOCK)


def test_a_table_that_is_being_restored_is_missing(start_server):
    with Client(start_server(*SLOW).endpoint) as db:
        table = made_slowly(db)
        arn = db.DescribeTable(TableName=table)["Table"]["TableArn"].replace(table, "target")
        db.RestoreTableFromBackup(TargetTableName="target", BackupArn=create_backup(db, table))
        assert db.DescribeTable(TableName="target")["Table"]["TableStatus"] == "CREATING"
        missing = "Requested resource not found: Table: target not found"
        with refused("ResourceNotFoundException", missing):
            db.UpdateTable(TableName="target", DeletionProtectionEnabled=True)
        with refused("ResourceNotFoundException", missing):
            db.UpdateTimeToLive(TableName="target", TimeToLiveSpecification={"Enabled": True, "AttributeName": "t"})
        with refused("ResourceNotFoundException", missing):
            db.UpdateContributorInsights(TableName="target", ContributorInsightsAction="ENABLE")
        statement = {"Effect": "Allow", "Principal": {"AWS": "000000000000"}, "Action": "dynamodb:GetItem", "Resource": arn}
        with refused("ResourceNotFoundException", missing):
            db.PutResourcePolicy(ResourceArn=arn, Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
                                 ConfirmRemoveSelfResourceAccess=True)
        with refused("ResourceNotFoundException", missing):
            db.DeleteResourcePolicy(ResourceArn=arn)
        with refused("ResourceNotFoundException", f"Requested resource not found: ResourceArn: {arn} not found"):
            db.TagResource(ResourceArn=arn, Tags=[{"Key": "k", "Value": "v"}])
        with refused("ResourceNotFoundException", f"Requested resource not found: ResourceArn: {arn} not found"):
            db.UntagResource(ResourceArn=arn, TagKeys=["k"])
        with refused("TableNotFoundException", "Table not found: target"):
            set_recovery(db, "target", True)
        advance_clock(db, 601)
        wait_restored(db, "target")
        db.TagResource(ResourceArn=arn, Tags=[{"Key": "k", "Value": "v"}])


def test_fifty_restores_at_once(start_server):
    with Client(start_server(*SLOW).endpoint) as db:
        table = made_slowly(db)
        for number in range(50):
            db.RestoreTableFromBackup(TargetTableName=f"target-{number}", BackupArn=create_backup(db, table))
        with refused("LimitExceededException", "Subscriber limit exceeded: Only 50 restore operations can be done simultaneously"):
            db.RestoreTableFromBackup(TargetTableName="another", BackupArn=create_backup(db, table))


def test_boto3_and_its_waiters(boto, db):
    table = create_table(db)
    boto.put_item(TableName=table, Item=item(pk="a"))
    arn = boto.create_backup(TableName=table, BackupName="backup")["BackupDetails"]["BackupArn"]
    wait_available(db, arn)
    name = unique_name()
    answer = boto.restore_table_from_backup(TargetTableName=name, BackupArn=arn)["TableDescription"]
    assert answer["RestoreSummary"]["SourceBackupArn"] == arn
    boto.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
    assert boto.scan(TableName=name)["Items"] == [item(pk="a")]
    assert boto.get_paginator("list_backups").paginate(TableName=table).build_full_result()["BackupSummaries"][0]["BackupArn"] == arn
    boto.delete_backup(BackupArn=arn)
    with fails_with("BackupNotFoundException"):
        boto.describe_backup(BackupArn=arn)


# --- stores with backups ---

def store_with_backups(directory):
    """A killed server's store: a table and a deleted one, both with backups; what they hold."""
    server = Server(f"rocksdb:{directory}")
    with Client(server.endpoint) as db:
        made = []
        for name in ("kept", "deleted"):
            make(db, name=name)
            set_recovery(db, name, True)
            fill(db, name, range(60))
            made.append((create_backup(db, name), everything(db, name)))
            change(db, name)
        db.DeleteTable(TableName="deleted")
        poll(lambda: [backup["BackupStatus"] for backup in db.ListBackups(BackupType="SYSTEM")["BackupSummaries"]] == ["AVAILABLE"],
             30, "the system backup")
        made.append((db.ListBackups(BackupType="SYSTEM")["BackupSummaries"][0]["BackupArn"], everything(db, "kept")))
    server.kill()
    return made


def check_backups(store, made):
    with Server(store) as server, Client(server.endpoint) as db:
        assert len(db.ListBackups(BackupType="ALL")["BackupSummaries"]) == len(made)
        for i, (arn, contents) in enumerate(made):
            restore(db, arn, f"restored-{i}")
            assert everything(db, f"restored-{i}") == contents


@pytest.mark.skipif("GRAMME_POSTGRESQL" in __import__("os").environ, reason="tools for stores in directories")
class TestTools:
    def test_check_repair_backup_restore(self, tmp_path):
        made = store_with_backups(tmp_path / "store")
        done = gramme("check", "--json", tmp_path / "store")
        total = json.loads(done.stdout.splitlines()[-1])
        assert done.returncode == 0 and not total["damaged"] and total["earlierVersions"] > 100, done.stdout
        assert gramme("repair", tmp_path / "store", tmp_path / "repaired").returncode == 0
        assert gramme("check", tmp_path / "repaired").returncode == 0
        check_backups(f"rocksdb:{tmp_path / 'repaired'}", made)
        assert gramme("backup", tmp_path / "store", tmp_path / "backup").returncode == 0
        assert gramme("restore", tmp_path / "backup", tmp_path / "restored").returncode == 0
        check_backups(f"rocksdb:{tmp_path / 'restored'}", made)

    def test_copy(self, tmp_path):
        made = store_with_backups(tmp_path / "store")
        subprocess.run([program(), "copy", f"rocksdb:{tmp_path / 'store'}", f"rocksdb:{tmp_path / 'copy'}"], check=True,
                       stdout=subprocess.DEVNULL, timeout=60)
        check_backups(f"rocksdb:{tmp_path / 'copy'}", made)

    def test_room_comes_back(self, tmp_path):
        """Nothing of a deleted table and of its backups is left when the last of them is deleted."""
        with Server(f"rocksdb:{tmp_path / 'store'}") as server, Client(server.endpoint) as db:
            make(db, name="gone")
            fill(db, "gone", range(60))
            arn = create_backup(db, "gone")
            change(db, "gone")
            db.DeleteTable(TableName="gone")
            db.DeleteBackup(BackupArn=arn)
        total = json.loads(gramme("check", "--json", tmp_path / "store").stdout.splitlines()[-1])
        assert total["items"] == total["earlierVersions"] == 0 and not total["damaged"]


def test_deletion_of_backups_is_not_counted_twice(db):
    """Racing deletes of one backup: one wins, and the other backup still holds what it needs."""
    from concurrent.futures import ThreadPoolExecutor
    table = make(db)
    fill(db, table, range(30))
    keep = create_backup(db, table)
    before = everything(db, table)
    for _ in range(5):
        arn = create_backup(db, table)

        def delete(_, arn=arn):
            with Client(db.endpoint) as client:
                try:
                    client.DeleteBackup(BackupArn=arn)
                    return True
                except Refused as error:
                    assert error.type == "BackupNotFoundException", error
                    return False
        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(delete, range(4))) == 1
    change(db, table)
    name = unique_name()
    restore(db, keep, name)
    assert everything(db, name) == before
