"""ExportTableToPointInTime, DescribeExport, ListExports: what they answer, and what is in the files, as a reader of the test's own
sees it. Buckets are folders here; test_exports_s3.py has the same with an S3 server."""

import json
import os
import re
import time
from decimal import Decimal

import pytest

from backups import recovery, set_recovery, wait_recovery
from clock import TEST_CLOCK, advance_clock, read_clock
from exports import Folder, describe, export, read_export, read_ion, read_items, table_arn, wait_export
from server import Server
from tables import all_items, create_table, put_all, unique_name
from values import item
from waiting import poll
from wire import Client, invalid, refused

BUCKET = "exports"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return tmp_path_factory.mktemp("s3")


@pytest.fixture(scope="module")
def server(folders):
    with Server("memory:", "--s3-directory", str(folders), "--recovery-lag-ms", "0", *TEST_CLOCK) as started:
        yield started


@pytest.fixture
def db(server):
    with Client(server.endpoint) as client:
        yield client


@pytest.fixture
def bucket(folders):
    return Folder(folders, BUCKET)


def rich_items(count):
    return [item(pk=f"p{i}", sk=i, text=f"é \"q\" \\ \n {i}", number=Decimal(i) / 8) | {
        "big": {"N": "12345678901234567890123456789012345678"}, "small": {"N": "0.0000000001"}, "hundreds": {"N": "1200"},
        "binary": {"B": "AAEC/w=="}, "yes": {"BOOL": True}, "nothing": {"NULL": True},
        "strings": {"SS": ["a", "b"]}, "numbers": {"NS": ["1", "2.5"]}, "binaries": {"BS": ["AA==", "AQ=="]},
        "list": {"L": [{"S": ""}, {"M": {"a b": {"N": "-1"}}}]}, "null": {"S": "\u0001\u007f"}} for i in range(count)]


def make(db, count=0, pitr=True):
    table = create_table(db, key="pk sk:N")
    put_all(db, table, rich_items(count))
    if pitr:
        set_recovery(db, table, True)
        wait_recovery(db, table)
    return table


def items_of(db, table):
    return sorted(all_items(db.Scan, TableName=table), key=str)


@pytest.mark.parametrize("form", ["DYNAMODB_JSON", "ION"])
def test_full(db, bucket, form):
    table = make(db, 100)
    ended = export(db, table, S3Bucket=BUCKET, ExportFormat=form)
    assert read_items(bucket, ended) == items_of(db, table)
    assert ended["ItemCount"] == 100 and ended["BilledSizeBytes"] == 0 and ended["ExportFormat"] == form
    folder = ended["ExportManifest"].removesuffix("manifest-summary.json")
    assert len([key for key in bucket.keys() if key.startswith(folder)]) == 9


def test_lines(db, bucket):
    table = create_table(db, key="Id:N")
    db.PutItem(TableName=table, Item={"Id": {"N": "103"}, "Title": {"S": "x"}})
    set_recovery(db, table, True)
    assert read_export(bucket, export(db, table, S3Bucket=BUCKET)) == ['{"Item":{"Id":{"N":"103"},"Title":{"S":"x"}}}']
    assert read_export(bucket, export(db, table, S3Bucket=BUCKET, ExportFormat="ION")) == ['$ion_1_0 {Item:{Id:103.,Title:"x"}}']


def test_description(db):
    table = make(db, 3)
    started = db.ExportTableToPointInTime(TableArn=table_arn(db, table), S3Bucket=BUCKET)["ExportDescription"]
    assert re.fullmatch(re.escape(table_arn(db, table)) + r"/export/\d{14}-[0-9a-f]{8}", started["ExportArn"])
    assert started["ExportArn"].rsplit("/", 1)[1][:14] == f"{round(started['StartTime'] * 1000):014}"
    assert started["ExportTime"] == started["StartTime"]
    assert set(started) == {"ExportArn", "ExportStatus", "StartTime", "TableArn", "TableId", "ExportTime", "ClientToken",
                            "S3Bucket", "S3SseAlgorithm", "ExportFormat", "DestinationType"}
    assert (started["ExportStatus"], started["S3SseAlgorithm"], started["DestinationType"]) == ("IN_PROGRESS", "AES256", "S3")
    ended = wait_export(db, started["ExportArn"])
    assert set(ended) - set(started) == {"EndTime", "ExportManifest", "ItemCount", "BilledSizeBytes"}
    assert ended["EndTime"] >= ended["StartTime"]
    everything = export(db, table, S3Bucket=BUCKET, S3Prefix="a/b", S3BucketOwner="123456789012", S3SseAlgorithm="KMS",
                        S3SseKmsKeyId="key", ExportType="FULL_EXPORT", ClientToken=unique_name())
    assert set(everything) - set(ended) == {"S3Prefix", "S3BucketOwner", "S3SseKmsKeyId", "ExportType"}
    assert everything["ExportManifest"].startswith("a/b/AWSDynamoDB/")


def test_empty_table(db, bucket):
    ended = export(db, make(db), S3Bucket=BUCKET, S3Prefix="empty")
    assert read_export(bucket, ended) == [] and ended["ItemCount"] == 0
    assert len([key for key in bucket.keys() if key.startswith("empty/")]) == 9


def test_earlier_time(db, bucket):
    """The items of an earlier second, while others are written."""
    table = make(db, 20)
    poll(lambda: recovery(db, table)["EarliestRestorableDateTime"] + 1 < read_clock(db), 20, "a second in the window")
    second = int(read_clock(db))
    poll(lambda: read_clock(db) > second + 1.01, 20, "the next second")
    before = items_of(db, table)
    put_all(db, table, [item(pk="later", sk=i) for i in range(30)])
    for i in range(10):
        db.DeleteItem(TableName=table, Key=item(pk=f"p{i}", sk=i))
    ended = export(db, table, S3Bucket=BUCKET, ExportTime=second + 1)
    assert read_items(bucket, ended) == before
    assert ended["ExportTime"] == second + 1
    assert read_items(bucket, export(db, table, S3Bucket=BUCKET)) == items_of(db, table)


def key_of(found):
    return {name: found[name] for name in ("pk", "sk")}


@pytest.mark.parametrize("form", ["DYNAMODB_JSON", "ION"])
@pytest.mark.parametrize("view", ["NEW_IMAGE", "NEW_AND_OLD_IMAGES"])
def test_incremental(db, bucket, form, view):
    table = make(db, 6)
    poll(lambda: recovery(db, table)["EarliestRestorableDateTime"] < read_clock(db) - 0.1, 20, "a window")
    start = int(advance_clock(db, 60))
    old = {found["pk"]["S"]: found for found in items_of(db, table)}
    advance_clock(db, 30)
    db.PutItem(TableName=table, Item=item(pk="new", sk=1, a=1))
    db.PutItem(TableName=table, Item=item(pk="p0", sk=0, a=2))
    db.PutItem(TableName=table, Item=item(pk="p0", sk=0, a=3))
    db.DeleteItem(TableName=table, Key=item(pk="p1", sk=1))
    db.PutItem(TableName=table, Item=item(pk="passing", sk=1))
    db.DeleteItem(TableName=table, Key=item(pk="passing", sk=1))
    written = read_clock(db)
    end = int(advance_clock(db, 16 * 60))
    advance_clock(db, 30)
    db.PutItem(TableName=table, Item=item(pk="p2", sk=2, later=1))
    db.PutItem(TableName=table, Item=item(pk="new", sk=1, later=1))
    ended = export(db, table, S3Bucket=BUCKET, S3Prefix="inc", ExportFormat=form, ExportType="INCREMENTAL_EXPORT",
                   IncrementalExportSpecification={"ExportFromTime": start, "ExportToTime": end, "ExportViewType": view})
    assert "ExportTime" not in ended and ended["BilledSizeBytes"] == 10_000_000 and ended["ItemCount"] == 3
    assert ended["IncrementalExportSpecification"] == {"ExportFromTime": start, "ExportToTime": end, "ExportViewType": view}
    records = {}
    for line in read_export(bucket, ended):
        record = json.loads(line) if form == "DYNAMODB_JSON" else read_ion(line)["Record"]
        names = [name for name in record if name != "Metadata"]
        assert names == [name for name in ("Keys", "OldImage", "NewImage") if name in record]
        micros = int(record.pop("Metadata")["WriteTimestampMicros"]["N"])
        assert start * 1_000_000 <= micros <= (written + 1) * 1_000_000
        records[record["Keys"]["pk"]["S"]] = record
    expected = {
        "new": {"Keys": item(pk="new", sk=1), "NewImage": item(pk="new", sk=1, a=1)},
        "p0": {"Keys": item(pk="p0", sk=0), "OldImage": old["p0"], "NewImage": item(pk="p0", sk=0, a=3)},
        "p1": {"Keys": item(pk="p1", sk=1), "OldImage": old["p1"]},
    }
    if view == "NEW_IMAGE":
        for record in expected.values():
            record.pop("OldImage", None)
    assert records == expected


def test_incremental_until_now(db, bucket):
    table = make(db)
    start = read_clock(db)
    advance_clock(db, 20 * 60)
    db.PutItem(TableName=table, Item=item(pk="a", sk=1))
    advance_clock(db, 1)
    ended = export(db, table, S3Bucket=BUCKET, ExportType="INCREMENTAL_EXPORT",
                   IncrementalExportSpecification={"ExportFromTime": int(start) + 1})
    assert ended["IncrementalExportSpecification"]["ExportToTime"] == ended["StartTime"]
    assert ended["IncrementalExportSpecification"]["ExportViewType"] == "NEW_AND_OLD_IMAGES"
    assert len(read_export(bucket, ended)) == 1


def test_table_in_use_and_deleted(db, bucket):
    """An export is of one instant, whatever becomes of the table."""
    table = make(db, 200)
    before = items_of(db, table)
    arn = db.ExportTableToPointInTime(TableArn=table_arn(db, table), S3Bucket=BUCKET)["ExportDescription"]["ExportArn"]
    put_all(db, table, [item(pk=f"p{i}", sk=i, other=1) for i in range(200)])
    db.DeleteTable(TableName=table)
    ended = wait_export(db, arn)
    assert ended["ExportStatus"] == "COMPLETED", ended
    assert read_items(bucket, ended) == before
    assert db.ListExports(TableArn=arn.split("/export/")[0])["ExportSummaries"] == []


def test_right_after_recovery_is_enabled(db, bucket):
    for _ in range(10):
        table = create_table(db, key="pk")
        db.PutItem(TableName=table, Item=item(pk="a"))
        set_recovery(db, table, True)
        assert read_items(bucket, export(db, table, S3Bucket=BUCKET)) == [item(pk="a")]


def test_nothing_is_held_afterwards(db):
    table = make(db, 5)
    export(db, table, S3Bucket=BUCKET)
    with refused("BackupNotFoundException"):
        db.DescribeBackup(BackupArn=f"{table_arn(db, table)}/backup/01489602797149-73d8d5bc")
    assert db.ListBackups(TableName=table, BackupType="ALL")["BackupSummaries"] == []


def test_tokens(db):
    table, token = make(db, 1), unique_name()
    request = {"TableArn": table_arn(db, table), "S3Bucket": BUCKET, "ClientToken": token}
    first = db.ExportTableToPointInTime(**request)["ExportDescription"]
    assert first["ClientToken"] == token
    again = db.ExportTableToPointInTime(**request)["ExportDescription"]
    assert again["ExportArn"] == first["ExportArn"]
    ended = wait_export(db, first["ExportArn"])
    assert db.ExportTableToPointInTime(**request)["ExportDescription"] == ended
    with refused("ExportConflictException", "Export conflict: Duplicate request detected with conflicting parameters"):
        db.ExportTableToPointInTime(**request | {"S3Prefix": "other"})
    refused_token = unique_name()
    with refused("InvalidExportTimeException", "Export Time is invalid"):
        db.ExportTableToPointInTime(**request | {"ClientToken": refused_token, "ExportTime": 1})
    db.ExportTableToPointInTime(**request | {"ClientToken": refused_token, "S3Prefix": "p"})
    advance_clock(db, 8 * 3600 + 1)
    assert db.ExportTableToPointInTime(**request)["ExportDescription"]["ExportArn"] != first["ExportArn"]


def test_list(db):
    table = make(db)
    arn = table_arn(db, table)
    assert db.ListExports(TableArn=arn) == {"ExportSummaries": []}
    arns = [export(db, table, S3Bucket=BUCKET)["ExportArn"] for _ in range(5)]
    found = db.ListExports(TableArn=arn)
    assert "NextToken" not in found
    assert [entry["ExportArn"] for entry in found["ExportSummaries"]] == arns[::-1]
    assert found["ExportSummaries"][0] == {"ExportArn": arns[-1], "ExportStatus": "COMPLETED", "ExportType": "FULL_EXPORT"}
    listed, more = [], {}
    while True:
        page = db.ListExports(TableArn=arn, MaxResults=2, **more)
        listed += [entry["ExportArn"] for entry in page["ExportSummaries"]]
        if "NextToken" not in page:
            break
        assert re.fullmatch("[0-9a-f]+", page["NextToken"])
        more = {"NextToken": page["NextToken"]}
    assert listed == arns[::-1]
    assert len(db.ListExports()["ExportSummaries"]) <= 10
    assert len(db.ListExports(MaxResults=2)["ExportSummaries"]) == 2


def test_old_exports_are_forgotten(tmp_path):
    with Server("memory:", "--s3-directory", str(tmp_path), *TEST_CLOCK) as server, Client(server.endpoint) as db:
        table = make(db)
        arn = export(db, table, S3Bucket=BUCKET)["ExportArn"]
        advance_clock(db, 89 * 86400)
        db.ExportTableToPointInTime(TableArn=table_arn(db, table), S3Bucket=BUCKET)  # wakes the thread
        assert describe(db, arn)["ExportStatus"] == "COMPLETED"
        advance_clock(db, 2 * 86400)
        db.ExportTableToPointInTime(TableArn=table_arn(db, table), S3Bucket=BUCKET)
        poll(lambda: len(db.ListExports()["ExportSummaries"]) == 2, 20, "the old export is forgotten")
        with refused("ExportNotFoundException"):
            describe(db, arn)


def test_times(db):
    table = make(db)
    request = {"TableArn": table_arn(db, table), "S3Bucket": BUCKET}
    now = read_clock(db)
    for seconds in (0, 1, int(now) + 1000):
        with refused("InvalidExportTimeException", "Export Time is invalid"):
            db.ExportTableToPointInTime(**request, ExportTime=seconds)

    def incremental(start, end):
        return db.ExportTableToPointInTime(**request, ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification={
            "ExportFromTime": start, "ExportToTime": end})

    advance_clock(db, 2 * 86400)
    now = int(read_clock(db))
    with refused("InvalidExportTimeException") as caught:
        incremental(1, now)
    assert re.fullmatch(r"Incremental export period from time cannot be less than the table creation time : "
                        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", caught.error.message)
    with refused("InvalidExportTimeException") as caught:
        incremental(now - 3600, now + 1000)
    assert caught.error.message.startswith("Incremental export period to time cannot be greater than the current time : ")
    for start, end in ((now - 899, now), (now - 10, now - 1000)):
        with refused("InvalidExportTimeException", "Difference between export period from time and export period to time is "
                                                   "less than 15 minutes"):
            incremental(start, end)
    with refused("InvalidExportTimeException"):
        incremental(now - 86401, now)
    export(db, table, S3Bucket=BUCKET, ExportType="INCREMENTAL_EXPORT",
           IncrementalExportSpecification={"ExportFromTime": now - 900, "ExportToTime": now})


def test_lag(tmp_path):
    with Server("memory:", "--s3-directory", str(tmp_path), "--recovery-lag-ms", "3600000") as server, \
            Client(server.endpoint) as db:
        table = make(db)
        second = int(time.time()) + 1
        poll(lambda: time.time() > second + 0.1, 5, "the next second")
        with refused("InvalidExportTimeException", "Point in Time Recovery is not available for specified export time"):
            db.ExportTableToPointInTime(TableArn=table_arn(db, table), S3Bucket=BUCKET, ExportTime=second)
        assert export(db, table, S3Bucket=BUCKET)["ExportStatus"] == "COMPLETED"  # that of now


def test_errors(db):
    table = make(db, pitr=False)
    arn = table_arn(db, table)
    with refused("PointInTimeRecoveryUnavailableException", f"Point in time recovery is not enabled for table '{table}'"):
        db.ExportTableToPointInTime(TableArn=arn, S3Bucket=BUCKET)
    absent = arn.replace(table, "absent")
    with refused("TableNotFoundException", f"Table not found: {absent}"):
        db.ExportTableToPointInTime(TableArn=absent, S3Bucket=BUCKET)
    elsewhere = arn.replace("us-east-1", "eu-west-1")
    with refused("TableNotFoundException", f"Table not found: {elsewhere}"):
        db.ExportTableToPointInTime(TableArn=elsewhere, S3Bucket=BUCKET)
    with refused("AccessDeniedException"):
        db.ExportTableToPointInTime(TableArn=arn.replace("000000000000", "111111111111"), S3Bucket=BUCKET)
    for unknown in (f"{arn}/export/01489602797149-73d8d5bc", f"{arn}/export/{'x' * 30}"):
        with refused("ExportNotFoundException", f"Export not found: Export not found: {unknown}"):
            describe(db, unknown)


def test_bad_buckets_fail_later(db):
    """The bucket is not looked at before the export begins."""
    table = make(db, 1)
    for name in ("UPPER", "a_b"):
        arn = db.ExportTableToPointInTime(TableArn=table_arn(db, table), S3Bucket=name)["ExportDescription"]["ExportArn"]
        failed = wait_export(db, arn)
        assert (failed["ExportStatus"], failed["FailureCode"]) == ("FAILED", "S3InvalidBucketName")
        assert failed["FailureMessage"].startswith("The specified bucket is not valid.") and "EndTime" in failed
        assert "ExportManifest" not in failed and "ItemCount" not in failed
    for prefix in ("../..", "a//b", "/a"):
        arn = db.ExportTableToPointInTime(TableArn=table_arn(db, table), S3Bucket=BUCKET,
                                          S3Prefix=prefix)["ExportDescription"]["ExportArn"]
        assert wait_export(db, arn)["FailureCode"] == "S3InvalidArgument"


def test_no_place_for_objects():
    with Server("memory:") as server, Client(server.endpoint) as db:
        with invalid("This server has no place for objects: start it with --s3-directory or --s3-endpoint"):
            db.ExportTableToPointInTime(TableArn=table_arn(db, make(db)), S3Bucket=BUCKET)


def test_restart(tmp_path):
    """Beside the data, without a setting; the list outlives the server; what is in progress is carried out after a kill."""
    store = f"rocksdb:{tmp_path}/data"
    options = ("--s3-directory", f"{tmp_path}/data.s3") if "GRAMME_POSTGRESQL" in os.environ else ()
    with Server(store, *options) as server, Client(server.endpoint) as db:
        table = make(db, 50)
        first = export(db, table, S3Bucket=BUCKET)
        arn = db.ExportTableToPointInTime(TableArn=table_arn(db, table), S3Bucket=BUCKET)["ExportDescription"]["ExportArn"]
        server.kill()
    with Server(store, *options) as server, Client(server.endpoint) as db:
        assert describe(db, first["ExportArn"]) == first
        second = wait_export(db, arn)
        assert second["ExportStatus"] == "COMPLETED", second
        folder = Folder(f"{tmp_path}/data.s3", BUCKET)
        assert read_items(folder, first) == read_items(folder, second) == items_of(db, table)
