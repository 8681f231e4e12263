"""boto3 with the operations that move whole tables: point-in-time recovery, exports, imports, bulk puts, Kinesis destinations;
and with resource policies. Debian's boto3 is older than some of them: those tests are skipped as long as its model lacks the operation."""

import json

import boto3
import pytest

from backups import set_recovery
from boto_config import boto3_config
from boto_errors import fails_with
from exports import Folder, read_items
from loads import bulk_request, import_request, json_lines
from server import Server
from tables import all_items, create_table, put_all, unique_name
from values import item
from waiting import poll
from wire import Client

ITEMS = [item(pk=f"p{i}", n=i) for i in range(20)]
STREAM = "arn:aws:kinesis:us-east-1:000000000000:stream/changes"


@pytest.fixture(scope="module")
def buckets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("buckets")
    (folder / "bucket" / "in").mkdir(parents=True)
    (folder / "bucket" / "in" / "data.json").write_text(json_lines(ITEMS))
    return folder


@pytest.fixture(scope="module")
def server(buckets):
    with Server("memory:", "--s3-directory", str(buckets), "--recovery-lag-ms", "0", "--kinesis-endpoint", "http://127.0.0.1:1") as started:
        yield started


@pytest.fixture
def db(server):
    with Client(server.endpoint) as client:
        yield client


@pytest.fixture
def own(server):
    return boto3.client("dynamodb", endpoint_url=server.endpoint, **boto3_config())


@pytest.fixture
def table(db):
    name = create_table(db)
    put_all(db, name, ITEMS)
    return name


def need(client, *operations):
    """Skips the test if boto3's model, which is not ours, lacks one of the operations."""
    missing = set(operations) - set(client.meta.service_model.operation_names)
    if missing:
        pytest.skip(f"boto3 {boto3.__version__} does not have {', '.join(sorted(missing))}")


def ended(describe, status):
    return poll(lambda: (found := describe())[status] not in ("IN_PROGRESS", "CANCELLING") and found, 60, "it has ended")


def scan(db, name):
    return sorted(all_items(db.Scan, TableName=name), key=str)


def test_recovery(own, db, table):
    with fails_with("PointInTimeRecoveryUnavailableException"):
        own.restore_table_to_point_in_time(SourceTableName=table, TargetTableName="target", UseLatestRestorableTime=True)
    own.update_continuous_backups(TableName=table, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True})
    described = own.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    assert described["PointInTimeRecoveryStatus"] == "ENABLED"
    name = unique_name()
    with fails_with("InvalidRestoreTimeException"):
        own.restore_table_to_point_in_time(SourceTableName=table, TargetTableName=name, RestoreDateTime=1_000_000_000)
    answer = own.restore_table_to_point_in_time(SourceTableName=table, TargetTableName=name, UseLatestRestorableTime=True)
    assert answer["TableDescription"]["RestoreSummary"]["SourceTableArn"].endswith(f":table/{table}")
    own.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
    assert scan(db, name) == sorted(ITEMS, key=str)


def test_export(own, db, table, buckets):
    arn = own.describe_table(TableName=table)["Table"]["TableArn"]
    with fails_with("PointInTimeRecoveryUnavailableException"):
        own.export_table_to_point_in_time(TableArn=arn, S3Bucket="exports")
    set_recovery(db, table, True)
    started = own.export_table_to_point_in_time(TableArn=arn, S3Bucket="exports", ExportFormat="ION")["ExportDescription"]
    found = ended(lambda: own.describe_export(ExportArn=started["ExportArn"])["ExportDescription"], "ExportStatus")
    assert found["ExportStatus"] == "COMPLETED" and found["ItemCount"] == len(ITEMS)
    by_wire = db.DescribeExport(ExportArn=started["ExportArn"])["ExportDescription"]
    assert read_items(Folder(buckets, "exports"), by_wire) == sorted(ITEMS, key=str)
    listed = own.get_paginator("list_exports").paginate(TableArn=arn).build_full_result() if own.can_paginate("list_exports") else \
        own.list_exports(TableArn=arn)
    assert [entry["ExportArn"] for entry in listed["ExportSummaries"]] == [started["ExportArn"]]
    with fails_with("ExportNotFoundException"):
        own.describe_export(ExportArn=f"{arn}/export/01489602797149-73d8d5bc")


def test_import(own, db):
    name = unique_name()
    started = own.import_table(**import_request(name, prefix="in/"))["ImportTableDescription"]
    found = ended(lambda: own.describe_import(ImportArn=started["ImportArn"])["ImportTableDescription"], "ImportStatus")
    assert (found["ImportStatus"], found["ImportedItemCount"]) == ("COMPLETED", len(ITEMS))
    own.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
    assert scan(db, name) == sorted(ITEMS, key=str)
    assert started["ImportArn"] in [entry["ImportArn"] for entry in own.list_imports()["ImportSummaryList"]]
    with fails_with("ResourceInUseException"):
        own.import_table(**import_request(name, prefix="in/"))
    with fails_with("ImportNotFoundException"):
        own.describe_import(ImportArn=started["ImportArn"][:-8] + "00000000")


def test_bulk_put(own, db):
    need(own, "StartBulkPutItems", "DescribeBulkOperation", "ListBulkOperations", "CancelBulkOperation")
    table = create_table(db)
    started = own.start_bulk_put_items(**bulk_request(table))["BulkOperationDescription"]
    arn = started["BulkOperationArn"]
    found = ended(lambda: own.describe_bulk_operation(BulkOperationArn=arn)["BulkOperationDescription"], "BulkOperationStatus")
    assert (found["BulkOperationStatus"], found["ProcessedItemCount"]) == ("COMPLETED", len(ITEMS))
    assert arn in [entry["BulkOperationArn"] for entry in own.list_bulk_operations()["BulkOperationsSummaryList"]]
    with fails_with("ResourceNotFoundException"):
        own.start_bulk_put_items(**bulk_request("nowhere"))
    with fails_with("ValidationException"):
        own.cancel_bulk_operation(BulkOperationArn="nothing")


def test_update_kinesis_destination(own, table):
    need(own, "UpdateKinesisStreamingDestination")
    with fails_with("ValidationException"):
        own.update_kinesis_streaming_destination(TableName=table, StreamArn=STREAM, UpdateKinesisStreamingConfiguration={
            "ApproximateCreationDateTimePrecision": "MICROSECOND"})


def test_resource_policies(own, table):
    need(own, "PutResourcePolicy", "GetResourcePolicy", "DeleteResourcePolicy")
    arn = own.describe_table(TableName=table)["Table"]["TableArn"]
    with fails_with("PolicyNotFoundException"):
        own.get_resource_policy(ResourceArn=arn)
    statement = {"Effect": "Allow", "Principal": {"AWS": "000000000000"}, "Action": "dynamodb:GetItem", "Resource": arn}
    put = own.put_resource_policy(ResourceArn=arn, Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}))
    found = own.get_resource_policy(ResourceArn=arn)
    assert found["RevisionId"] == put["RevisionId"] and json.loads(found["Policy"])["Statement"][0]["Action"] == "dynamodb:GetItem"
    assert own.delete_resource_policy(ResourceArn=arn)["RevisionId"] == put["RevisionId"]
    with fails_with("ResourceNotFoundException"):
        own.get_resource_policy(ResourceArn=arn.replace(table, "nowhere"))
