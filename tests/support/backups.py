"""Backups and restores of tables, waited for."""

from tables import all_items, wait_active
from waiting import poll
from wire import Refused


def create_backup(db, table, name="backup"):
    """A backup that is AVAILABLE; gives its ARN."""
    arn = db.CreateBackup(TableName=table, BackupName=name)["BackupDetails"]["BackupArn"]
    wait_available(db, arn)
    return arn


def details(db, arn):
    return db.DescribeBackup(BackupArn=arn)["BackupDescription"]["BackupDetails"]


def wait_available(db, arn, seconds=30):
    poll(lambda: details(db, arn)["BackupStatus"] == "AVAILABLE", seconds, f"{arn} is available")


def wait_restored(db, name, seconds=60):
    """Until the table is ACTIVE; gives its description."""
    poll(lambda: db.DescribeTable(TableName=name)["Table"]["TableStatus"] == "ACTIVE", seconds, f"{name} is restored")
    table = wait_active(db, name)
    assert "RestoreSummary" not in table
    return table


def restore(db, arn, name, **overrides):
    answer = db.RestoreTableFromBackup(TargetTableName=name, BackupArn=arn, **overrides)["TableDescription"]
    assert answer["TableStatus"] == "CREATING" and answer["RestoreSummary"]["RestoreInProgress"]
    return wait_restored(db, name)


def set_recovery(db, table, enabled, **more):
    """Switches point-in-time recovery; when it is answered, the table can be restored, unless that takes seconds."""
    answer = db.UpdateContinuousBackups(TableName=table, PointInTimeRecoverySpecification={
        "PointInTimeRecoveryEnabled": enabled, **more})
    return answer["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]


def wait_recovery(db, table):
    """Until point-in-time recovery has begun, however long that takes: before, a restore is refused in another way than for its parameters."""
    def probe():
        try:
            db.RestoreTableToPointInTime(SourceTableName=table, TargetTableName="target", UseLatestRestorableTime=True,
                                         BillingModeOverride="PROVISIONED")
        except Refused as error:
            return error.type == "ValidationException"
        raise AssertionError("a restore without ProvisionedThroughputOverride")
    poll(probe, 30, "recovery has begun")


def recovery(db, table):
    answer = db.DescribeContinuousBackups(TableName=table)["ContinuousBackupsDescription"]
    assert answer["ContinuousBackupsStatus"] == "ENABLED"
    return answer["PointInTimeRecoveryDescription"]


def everything(db, table):
    """All items, and all entries of each index, in one form."""
    described = db.DescribeTable(TableName=table)["Table"]
    found = {None: sorted(all_items(db.Scan, TableName=table), key=str)}
    for index in described.get("GlobalSecondaryIndexes", []) + described.get("LocalSecondaryIndexes", []):
        name = index["IndexName"]
        found[name] = sorted(all_items(db.Scan, TableName=table, IndexName=name), key=str)
        assert index["ItemCount"] == len(found[name])
    assert described["ItemCount"] == len(found[None])
    return found
