"""Waiters of newer SDKs than Debian's boto3. WAITERS has their acceptors as those SDKs have them (@aws-sdk/client-dynamodb 3.1162.0);
botocore runs them."""

import boto3
import pytest
from botocore.exceptions import WaiterError
from botocore.waiter import WaiterModel, create_waiter_with_client

from backups import set_recovery
from boto_config import boto3_config
from exports import table_arn
from kinesis import Kinesis
from loads import import_request, json_lines
from server import Server
from tables import create_table, unique_name
from values import item
from wire import Client


def path(argument, **states):
    return [{"matcher": "path", "argument": argument, "expected": expected, "state": state} for expected, state in states.items()]


DESTINATIONS = "KinesisDataStreamDestinations"
WAITERS = {
    "ExportCompleted": ("DescribeExport", path("ExportDescription.ExportStatus", COMPLETED="success", FAILED="failure")),
    "ImportCompleted": ("DescribeImport", path("ImportTableDescription.ImportStatus", COMPLETED="success", FAILED="failure",
                                               CANCELLED="failure")),
    "ContributorInsightsEnabled": ("DescribeContributorInsights", path("ContributorInsightsStatus", ENABLED="success", FAILED="failure")),
    "KinesisStreamingDestinationActive": ("DescribeKinesisStreamingDestination", [
        {"matcher": "pathAny", "argument": f"{DESTINATIONS}[].DestinationStatus", "expected": "ACTIVE", "state": "success"},
        {"matcher": "path", "argument": f"(length({DESTINATIONS}) > `0`) && (length({DESTINATIONS}[?DestinationStatus == 'DISABLED' "
         f"|| DestinationStatus == 'ENABLE_FAILED']) == length({DESTINATIONS}))", "expected": True, "state": "failure"}]),
}
MODEL = WaiterModel({"version": 2, "waiters": {
    name: {"operation": operation, "delay": 1, "maxAttempts": 30, "acceptors": acceptors}
    for name, (operation, acceptors) in WAITERS.items()}})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("s3")


@pytest.fixture(scope="module")
def kinesis(tmp_path_factory):
    with Kinesis(tmp_path_factory.mktemp("kinesis")) as started:
        yield started


@pytest.fixture(scope="module")
def server(folder, kinesis):
    with Server("memory:", "--s3-directory", str(folder), "--kinesis-endpoint", kinesis.endpoint) as started:
        yield started


@pytest.fixture
def db(server):
    with Client(server.endpoint) as client:
        yield client


@pytest.fixture
def wait(server):
    client = boto3.client("dynamodb", endpoint_url=server.endpoint, **boto3_config())
    return lambda name, **parameters: create_waiter_with_client(name, MODEL, client).wait(**parameters)


def reaches_failure(wait, name, **parameters):
    with pytest.raises(WaiterError, match="terminal failure state"):
        wait(name, **parameters)


def test_exports(db, wait):
    table = create_table(db)
    set_recovery(db, table, True)
    good, bad = [db.ExportTableToPointInTime(TableArn=table_arn(db, table), S3Bucket=bucket)["ExportDescription"]["ExportArn"]
                 for bucket in ("exports", "UPPER")]
    wait("ExportCompleted", ExportArn=good)
    reaches_failure(wait, "ExportCompleted", ExportArn=bad)


def test_imports(db, wait, folder):
    (folder / "bucket").mkdir()
    (folder / "bucket" / "good").write_text(json_lines([item(pk="a")]))
    (folder / "bucket" / "bad").write_text("no JSON\n")
    good, bad = [db.ImportTable(**import_request(unique_name(), prefix=key))["ImportTableDescription"]["ImportArn"]
                 for key in ("good", "bad")]
    wait("ImportCompleted", ImportArn=good)
    reaches_failure(wait, "ImportCompleted", ImportArn=bad)


def test_contributor_insights(db, wait):
    table = create_table(db)
    db.UpdateContributorInsights(TableName=table, ContributorInsightsAction="ENABLE")
    wait("ContributorInsightsEnabled", TableName=table)


def test_kinesis_destinations(db, wait, kinesis):
    table = create_table(db)
    for arn in [kinesis.create_stream(unique_name("stream")) for _ in range(2)]:
        db.EnableKinesisStreamingDestination(TableName=table, StreamArn=arn)
        wait("KinesisStreamingDestinationActive", TableName=table)
        db.DisableKinesisStreamingDestination(TableName=table, StreamArn=arn)
        reaches_failure(wait, "KinesisStreamingDestinationActive", TableName=table)
