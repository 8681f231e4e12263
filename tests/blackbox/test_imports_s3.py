"""Imports and bulk puts from an S3 server written by others: lists of several pages, ranges of objects, reports, requests that fail,
a service that is away for a while, SIGKILL, and objects that change meanwhile."""

import gzip
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from loads import (bulk_request, describe_import, identifier, in_order, json_lines, run_bulk, run_import, start_import, wait_bulk,
                   wait_import)
from s3_server import FailingProxy, S3Server
from server import Server
from tables import all_items, create_table, unique_name, wait_active
from values import item
from waiting import poll
from wire import Client, refused

REPORTS = "reports"


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    with S3Server(tmp_path_factory.mktemp("s3"), REPORTS) as started:
        yield started


class Bucket(str):
    """The name of a bucket; put() writes an object."""

    def put(self, key, data):
        self.client.put_object(Bucket=self, Key=key, Body=data)


@pytest.fixture
def bucket(s3):
    made = Bucket(unique_name("bucket").lower())
    made.client = s3.client()
    made.client.create_bucket(Bucket=made)
    return made


def items(count, size=20):
    return [item(pk=f"p{i}", n=i, text="t" * size) for i in range(count)]


def scan(db, table, **more):
    return in_order(all_items(db.Scan, TableName=table, **more))


def serving(endpoint, *more, store="memory:"):
    return Server(store, "--s3-endpoint", endpoint, *more)


def check_import(db, table, found, wanted):
    assert (found["ImportStatus"], found["ErrorCount"], found["ImportedItemCount"]) == ("COMPLETED", 0, len(wanted)), found
    assert wait_active(db, table)["ItemCount"] == len(wanted)
    assert scan(db, table) == in_order(wanted)


@pytest.mark.parametrize("style", ["path", "virtual"])
def test_import(s3, bucket, style):
    """Objects of several pieces; keys that must be encoded; objects that the prefix does not match."""
    wanted = items(40_000, 150)
    with FailingProxy(s3.port, every=1000) as proxy, serving(
            proxy.endpoint.replace("127.0.0.1", "s3.localhost"), "--s3-style", style) as server, Client(server.endpoint) as db:
        for part, name in enumerate(["plain", "Ünï code", "a+b&c=d%20"]):
            bucket.put(f"data/{name}", json_lines(wanted[part::3]))
        bucket.put("other", "not read")
        table = unique_name()
        check_import(db, table, run_import(db, table, bucket=bucket, prefix="data/"), wanted)


def test_pieces(s3, bucket):
    """An object of some 9 MB is read in ranges of 4 MiB."""
    wanted = items(45_000, 150)
    bucket.put("large", json_lines(wanted))
    with FailingProxy(s3.port, every=1000) as proxy, serving(proxy.endpoint) as server, Client(server.endpoint) as db:
        table = unique_name()
        check_import(db, table, run_import(db, table, bucket=bucket), wanted)
        assert proxy.requests >= 4  # a list, and three ranges


def test_compressed(s3, bucket):
    wanted = items(3000)
    bucket.put("data/a.gz", gzip.compress(json_lines(wanted).encode()))
    with serving(s3.endpoint) as server, Client(server.endpoint) as db:
        table = unique_name()
        check_import(db, table, run_import(db, table, bucket=bucket, prefix="data/", InputCompressionType="GZIP"), wanted)


def test_more_objects_than_a_page_lists(s3, bucket):
    wanted = items(1100)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: bucket.put(f"data/{i}", json_lines([wanted[i]])), range(len(wanted))))
    with FailingProxy(s3.port, every=1000) as proxy, serving(proxy.endpoint) as server, Client(server.endpoint) as db:
        table = unique_name()
        check_import(db, table, run_import(db, table, bucket=bucket, prefix="data/"), wanted)
        assert proxy.requests >= len(wanted) + 2


def test_fifty_at_once(s3, bucket):
    """The service is away, so none of them ends."""
    with FailingProxy(s3.port, every=1000) as proxy, serving(proxy.endpoint) as server, Client(server.endpoint) as db:
        proxy.is_down = True
        for _ in range(50):
            start_import(db, unique_name(), bucket=bucket)
        with refused("LimitExceededException", "Subscriber limit exceeded: Only 50 import operations can be done simultaneously"):
            start_import(db, unique_name(), bucket=bucket)


def test_errors_of_the_service(s3, bucket, monkeypatch):
    with serving(s3.endpoint) as server, Client(server.endpoint) as db:
        table = unique_name()
        found = run_import(db, table, bucket="absent")
        assert (found["ImportStatus"], found["FailureCode"]) == ("FAILED", "S3NoSuchBucket")
        assert table not in db.ListTables()["TableNames"]
    bucket.put("x", json_lines(items(1)))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with FailingProxy(s3.port) as proxy, serving(proxy.endpoint) as server, Client(server.endpoint) as db:
        found = run_import(db, table, bucket=bucket)
        assert (found["ImportStatus"], found["FailureCode"]) == ("FAILED", "S3SignatureDoesNotMatch")


def read_reports(bucket, arn, kind):
    client, prefix = bucket.client, f"out/AWSDynamoDB/{identifier(arn)}/{kind}/"
    listed = client.list_objects_v2(Bucket=REPORTS, Prefix=prefix).get("Contents", [])
    lines = [line for one in sorted(listed, key=lambda one: one["Key"])
             for line in client.get_object(Bucket=REPORTS, Key=one["Key"])["Body"].read().decode().splitlines()]
    return [json.loads(line) for line in lines]


def put_bulk_input(bucket):
    """Records with conditions, some that fail, and some that are no items; gives the items that are written."""
    wanted = items(2000)
    condition = {"ConditionExpression": "attribute_not_exists(pk)"}
    lines = json_lines(wanted, **condition).splitlines(True)
    for i in range(0, len(lines), 500):
        lines[i] += '{"Item":{"none":{"S":"x"}}}\n'
    bucket.put("in/a", "".join(lines))
    bucket.put("in/b", json_lines([item(pk=f"p{i}", other=True) for i in range(30)], **condition))
    return wanted


def check_bulk(db, bucket, table, found, wanted):
    assert found["BulkOperationStatus"] == "COMPLETED_WITH_ERRORS", found
    assert (found["ProcessedItemCount"], found["FailedItemCount"]) == (len(wanted) + 34, 4)
    assert scan(db, table) == in_order(wanted)
    arn = found["BulkOperationArn"]
    assert [report["itemS3Pointer"]["itemIndex"] for report in read_reports(bucket, arn, "error")] == [1, 502, 1003, 1504]
    failed = read_reports(bucket, arn, "condition-check-failure")
    assert [report["Item"]["pk"]["S"] for report in failed] == [f"p{i}" for i in range(30)]


def test_bulk_put_and_its_reports(s3, bucket):
    wanted = put_bulk_input(bucket)
    with serving(s3.endpoint) as server, Client(server.endpoint) as db:
        table = create_table(db)
        check_bulk(db, bucket, table, run_bulk(db, table, bucket=bucket), wanted)


def test_every_tenth_request_fails(s3, bucket):
    wanted, bulk = items(300), put_bulk_input(bucket)
    for i in range(30):
        bucket.put(f"data/{i:02}", json_lines(wanted[i::30]))
    with FailingProxy(s3.port) as proxy, serving(proxy.endpoint) as server, Client(server.endpoint) as db:
        for _ in range(2):
            table = unique_name()
            check_import(db, table, run_import(db, table, bucket=bucket, prefix="data/"), wanted)
        table = create_table(db)
        check_bulk(db, bucket, table, run_bulk(db, table, bucket=bucket), bulk)
        assert proxy.requests > 60


def test_service_is_away_for_a_while(s3, bucket):
    wanted = items(500)
    bucket.put("x", json_lines(wanted))
    with FailingProxy(s3.port, every=1000) as proxy, serving(proxy.endpoint) as server, Client(server.endpoint) as db:
        proxy.is_down = True
        table = unique_name()
        arn = start_import(db, table, bucket=bucket)["ImportArn"]
        poll(lambda: proxy.requests >= 5, 60, "some attempts")
        assert describe_import(db, arn)["ImportStatus"] == "IN_PROGRESS"
        proxy.is_down = False
        check_import(db, table, wait_import(db, arn), wanted)


class Interrupted:
    """A server that is killed while it reads the second object of an import, of whose three ranges it gets two; start() starts it
    again."""

    def __init__(self, s3, bucket, directory):
        self.wanted, self.bucket, self.table = items(100_000, 60), bucket, unique_name()
        bucket.put("a", json_lines(self.wanted[:100]))
        bucket.put("b", json_lines(self.wanted[100:]))
        self.proxy, self.store = FailingProxy(s3.port, every=1000), f"rocksdb:{directory}/data"
        self.proxy.good_requests = 5  # two lists, the first object, and two ranges: 67,000 items; progress is stored after 50,000
        server = self.start()
        with Client(server.endpoint) as db:
            self.arn = start_import(db, self.table, bucket=bucket)["ImportArn"]
            poll(lambda: describe_import(db, self.arn)["ProcessedItemCount"] > 100, 60, "the second object is being read")
            server.process.kill()
        server.kill()
        self.proxy.good_requests = None

    def start(self):
        return serving(self.proxy.endpoint, store=self.store)

    def __enter__(self):
        self.proxy.__enter__()
        return self

    def __exit__(self, *_):
        self.proxy.__exit__()


def test_resumes_after_a_kill(s3, bucket, tmp_path):
    with Interrupted(s3, bucket, tmp_path) as run, run.start() as server, Client(server.endpoint) as db:
        found = wait_import(db, run.arn)
        check_import(db, run.table, found, run.wanted)
        assert found["ProcessedItemCount"] == len(run.wanted)
        assert run.proxy.commands["HEAD"] == 1  # the object in which it continues


def test_object_changes_between_kill_and_restart(s3, bucket, tmp_path):
    with Interrupted(s3, bucket, tmp_path) as run:
        bucket.put("b", json_lines(items(10)))
        with run.start() as server, Client(server.endpoint) as db:
            found = wait_import(db, run.arn)
            assert (found["ImportStatus"], found["FailureCode"], found["ErrorCount"]) == ("FAILED", "ItemValidationError", 1), found
            assert wait_active(db, run.table)["TableStatus"] == "ACTIVE"


def test_bulk_put_resumes_after_a_kill(s3, bucket, tmp_path):
    """Each error and each failed condition is reported once."""
    wanted, store = put_bulk_input(bucket), f"rocksdb:{tmp_path}/data"
    server = serving(s3.endpoint, store=store)
    with Client(server.endpoint) as db:
        table = create_table(db)
        arn = db.StartBulkPutItems(**bulk_request(table, bucket=bucket))["BulkOperationDescription"]["BulkOperationArn"]
        poll(lambda: db.Scan(TableName=table, Limit=1)["Count"] > 0, 60, "it has begun")
        server.process.kill()
    server.kill()
    with serving(s3.endpoint, store=store) as server, Client(server.endpoint) as db:
        check_bulk(db, bucket, table, wait_bulk(db, arn), wanted)
