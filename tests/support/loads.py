"""Imports and bulk operations, waited for; the objects that they read, as files of a server's folder of buckets."""

import gzip
import json
import pathlib
import subprocess

import pytest

from server import Server
from tables import definitions, key_schema, unique_name
from waiting import poll
from wire import Client

ENDED = ("COMPLETED", "COMPLETED_WITH_ERRORS", "CANCELLED", "FAILED")


def in_order(items):
    """Items in an order that does not depend on the order of their attributes."""
    return sorted(items, key=lambda one: json.dumps(one, sort_keys=True))


class Buckets:
    """A folder of buckets; put() writes an object."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def put(self, bucket, key, data):
        path = self.path / bucket / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)

    def lines(self, bucket, under):
        """The JSON lines of all objects below a folder, in the order of their names."""
        paths = sorted((self.path / bucket / under).rglob("*.json"))
        return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def json_lines(items, **more):
    """Items as DynamoDB JSON, one per line."""
    return "".join(json.dumps({"Item": item, **more}, separators=(",", ":")) + "\n" for item in items)


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout


PACKED = {"NONE": lambda data: data, "GZIP": gzip.compress, "ZSTD": zstd}


def import_request(table, bucket="bucket", prefix=None, key="pk", format="DYNAMODB_JSON", **more):
    source = {"S3Bucket": bucket}
    if prefix is not None:
        source["S3KeyPrefix"] = prefix
    gsi = more.pop("gsi", {})
    parameters = {"TableName": table, "AttributeDefinitions": definitions(key, *gsi.values()), "KeySchema": key_schema(key),
                  "BillingMode": "PAY_PER_REQUEST", **more.pop("parameters", {})}
    if gsi:
        parameters["GlobalSecondaryIndexes"] = [
            {"IndexName": name, "KeySchema": key_schema(keys), "Projection": {"ProjectionType": "ALL"}} for name, keys in gsi.items()]
    return {"S3BucketSource": source, "InputFormat": format, "TableCreationParameters": parameters, **more}


def start_import(db, table, **more):
    return db.ImportTable(**import_request(table, **more))["ImportTableDescription"]


def describe_import(db, arn):
    return db.DescribeImport(ImportArn=arn)["ImportTableDescription"]


def wait_import(db, arn, seconds=120):
    return poll(lambda: (found := describe_import(db, arn))["ImportStatus"] in ENDED and found, seconds, f"{arn} has ended")


def run_import(db, table=None, **more):
    """An import that has ended; gives its description."""
    return wait_import(db, start_import(db, table or unique_name(), **more)["ImportArn"])


def bulk_request(table, bucket="bucket", prefix="in/", output=("ERROR", "CONDITION_CHECK_FAILURE"), format="DYNAMODB_JSON",
                 compression=None, **more):
    source = {"S3Bucket": bucket, "S3KeyPrefix": prefix, "InputFormat": format}
    if compression:
        source["InputCompressionType"] = compression
    return {"TableName": table, "InputS3Configuration": source,
            "OutputS3Configuration": {"S3Bucket": "reports", "S3KeyPrefix": "out", "OutputType": list(output)}, **more}


def start_bulk(db, table, **more):
    return db.StartBulkPutItems(**bulk_request(table, **more))["BulkOperationDescription"]


def describe_bulk(db, arn):
    return db.DescribeBulkOperation(BulkOperationArn=arn)["BulkOperationDescription"]


def wait_bulk(db, arn, seconds=60):
    return poll(lambda: (found := describe_bulk(db, arn))["BulkOperationStatus"] in ENDED and found, seconds, f"{arn} has ended")


def run_bulk(db, table, **more):
    return wait_bulk(db, start_bulk(db, table, **more)["BulkOperationArn"])


def identifier(arn):
    return arn.rsplit("/", 1)[1]


# --- fixtures, for the files that import them ---


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server of the file's own, and its buckets."""
    directory = tmp_path_factory.mktemp("buckets")
    with Server("memory:", "--s3-directory", str(directory)) as server:
        yield server, Buckets(directory)


@pytest.fixture
def db(served):
    with Client(served[0].endpoint) as client:
        yield client


@pytest.fixture
def bucket(served):
    """A bucket of the test's own; put() writes an object, reports() reads those of a bulk put."""
    name = unique_name("bucket")
    buckets = served[1]

    class Bucket(str):
        def put(self, key, data):
            buckets.put(name, key, data)

        def reports(self, arn, kind):
            return buckets.lines("reports", f"out/AWSDynamoDB/{identifier(arn)}/{kind}")
    return Bucket(name)
