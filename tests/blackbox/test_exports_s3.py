"""Exports to an S3 server written by others: path and virtual-host style, objects in several parts, errors of the service, requests
that fail, and a service that is away for a while."""

import random
import re
import threading
import time

import pytest

from backups import set_recovery
from exports import Bucket, describe, export, read_items, table_arn, wait_export
from loads import run_import
from s3_server import FailingProxy, S3Server
from server import Server
from tables import all_items, create_table, put_all
from values import item
from waiting import poll
from wire import Client

BUCKET = "exports"


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    with S3Server(tmp_path_factory.mktemp("s3"), BUCKET) as started:
        yield started


@pytest.fixture
def bucket(s3):
    return Bucket(s3.client(), BUCKET)


def serving(endpoint, *more, store="memory:"):
    return Server(store, "--s3-endpoint", endpoint, *more)


def make(db, count, size=10):
    """A table with items that cannot be compressed; large ones all go to one data file."""
    table, random_source = create_table(db, key="pk sk:N"), random.Random(1)
    put_all(db, table, [item(pk=f"p{i}" if size < 1000 else "one", sk=i, data=random_source.randbytes(size))
                        for i in range(count)])
    set_recovery(db, table, True)
    return table


def items_of(db, table):
    return sorted(all_items(db.Scan, TableName=table), key=str)


@pytest.mark.parametrize("style", ["path", "virtual"])
def test_styles(s3, bucket, style):
    with FailingProxy(s3.port, every=1000) as proxy, serving(
            proxy.endpoint.replace("127.0.0.1", "s3.localhost"), "--s3-style", style) as server, Client(server.endpoint) as db:
        table = make(db, 50)
        for prefix in ({}, {"S3Prefix": "Ünï code/a+b&c=d"}):
            ended = export(db, table, S3Bucket=BUCKET, **prefix)
            assert read_items(bucket, ended) == items_of(db, table)


def test_parts_of_keys_that_are_dots(s3, bucket):
    """They are names like others: the request must not go to another place than what was signed."""
    with FailingProxy(s3.port, every=1000) as proxy, serving(proxy.endpoint) as server, Client(server.endpoint) as db:
        table = make(db, 5)
        proxy.is_down = True
        db.ExportTableToPointInTime(TableArn=table_arn(db, table), S3Bucket=BUCKET, S3Prefix="a/../../other")
        path, is_signed = poll(lambda: proxy.last, 60, "a request")
        assert path.startswith(f"/{BUCKET}/a/../../other/AWSDynamoDB/") and is_signed


def test_several_parts(s3, bucket):
    """A file of some 10 MB, so of two parts."""
    with serving(s3.endpoint) as server, Client(server.endpoint) as db:
        table = make(db, 38, 270_000)
        ended = export(db, table, S3Bucket=BUCKET)
        assert read_items(bucket, ended) == items_of(db, table)
        assert ended["BilledSizeBytes"] > 38 * 270_000


def test_an_upload_is_completed_but_the_answer_is_lost(s3, bucket):
    """S3 answers NoSuchUpload to the next attempt; s3rver answers 500, again and again."""
    lost = []
    def lose(command, path):
        is_complete = command == "POST" and "uploadId=" in path and not lost
        lost.extend([path] * is_complete)
        return is_complete
    with FailingProxy(s3.port, every=1000) as proxy, serving(proxy.endpoint) as server, Client(server.endpoint) as db:
        table = make(db, 38, 270_000)
        proxy.lose = lose
        assert read_items(bucket, export(db, table, S3Bucket=BUCKET)) == items_of(db, table)
        assert len(lost) == 1


def test_errors_of_the_service(s3):
    with serving(s3.endpoint) as server, Client(server.endpoint) as db:
        table = make(db, 1)
        arn = db.ExportTableToPointInTime(TableArn=table_arn(db, table), S3Bucket="absent")["ExportDescription"]["ExportArn"]
        failed = wait_export(db, arn)
        assert (failed["ExportStatus"], failed["FailureCode"]) == ("FAILED", "S3NoSuchBucket")
        assert failed["FailureMessage"].startswith(
            "The specified bucket does not exist (Service: Amazon S3; Status Code: 404; Error Code: NoSuchBucket")
        assert describe(db, arn) == failed


def test_errors_of_the_encryption_service(s3):
    with FailingProxy(s3.port) as proxy, serving(proxy.endpoint) as server, Client(server.endpoint) as db:
        table = make(db, 1)
        proxy.refusal = "KMS.NotFoundException"
        arn = db.ExportTableToPointInTime(TableArn=table_arn(db, table), S3Bucket=BUCKET, S3SseAlgorithm="KMS",
                                          S3SseKmsKeyId="absent")["ExportDescription"]["ExportArn"]
        assert wait_export(db, arn)["FailureCode"] == "KmsNotFoundException"
        found = run_import(db, bucket=BUCKET)
        assert (found["ImportStatus"], found["FailureCode"]) == ("FAILED", "KmsNotFoundException")


def test_wrong_credentials(s3, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with FailingProxy(s3.port) as proxy, serving(proxy.endpoint) as server, Client(server.endpoint) as db:
        table = make(db, 1)
        arn = db.ExportTableToPointInTime(TableArn=table_arn(db, table), S3Bucket=BUCKET)["ExportDescription"]["ExportArn"]
        assert wait_export(db, arn)["FailureCode"] == "S3SignatureDoesNotMatch"


def test_every_tenth_request_fails(s3, bucket):
    with FailingProxy(s3.port) as proxy, serving(proxy.endpoint) as server, Client(server.endpoint) as db:
        table = make(db, 60)
        for _ in range(4):
            assert read_items(bucket, export(db, table, S3Bucket=BUCKET)) == items_of(db, table)
        assert proxy.requests > 60


def test_service_is_away_for_a_while(s3, bucket):
    with FailingProxy(s3.port, every=1000) as proxy, serving(proxy.endpoint) as server, Client(server.endpoint) as db:
        table = make(db, 20)
        proxy.is_down = True
        arn = db.ExportTableToPointInTime(TableArn=table_arn(db, table), S3Bucket=BUCKET)["ExportDescription"]["ExportArn"]
        poll(lambda: proxy.requests >= 5, 60, "some attempts")
        assert describe(db, arn)["ExportStatus"] == "IN_PROGRESS"
        proxy.is_down = False
        assert read_items(bucket, wait_export(db, arn)) == items_of(db, table)


def test_progress_is_logged(s3, bucket):
    """An export that takes longer than five seconds, because the service does not take the first data file."""
    with FailingProxy(s3.port, every=1000) as proxy, serving(proxy.endpoint) as server, Client(server.endpoint) as db:
        table = make(db, 3000)
        proxy.good_requests = 1  # the object _started
        began = time.monotonic()
        arn = db.ExportTableToPointInTime(TableArn=table_arn(db, table), S3Bucket=BUCKET)["ExportDescription"]["ExportArn"]
        poll(lambda: proxy.requests > 1 and time.monotonic() > began + 5.5, 60, "more than five seconds")
        proxy.good_requests = None
        assert read_items(bucket, wait_export(db, arn)) == items_of(db, table)
        shares = [int(share) for share in re.findall(rf"export: table {table}: (\d+) %, \d+ items in", server.log())]
        assert any(0 < share < 100 for share in shares), server.log()


def test_stopping_does_not_wait_for_the_service(s3, tmp_path):
    """The server stops at once while the service is away, and resumes the export when it is started again."""
    store = f"rocksdb:{tmp_path}/data"
    with FailingProxy(s3.port, every=1000) as proxy:
        proxy.is_down = True
        with serving(proxy.endpoint, store=store) as server, Client(server.endpoint) as db:
            table = make(db, 20)
            arn = db.ExportTableToPointInTime(TableArn=table_arn(db, table),
                                              S3Bucket=BUCKET)["ExportDescription"]["ExportArn"]
            poll(lambda: proxy.requests >= 2, 60, "some attempts")
            start = time.monotonic()
        assert time.monotonic() - start < 10
        proxy.is_down = False
        with serving(proxy.endpoint, store=store) as server, Client(server.endpoint) as db:
            assert read_items(Bucket(s3.client(), BUCKET), wait_export(db, arn)) == items_of(db, table)


def test_kills(s3, bucket, tmp_path):
    """SIGKILL at random moments of an export: it goes on, and what is COMPLETED is complete."""
    store, random_source = f"rocksdb:{tmp_path}/data", random.Random(7)
    server = serving(s3.endpoint, store=store)
    with Client(server.endpoint) as db:
        table = make(db, 40, 10_000)
        expected = items_of(db, table)
    arns = []
    for _ in range(4):
        with Client(server.endpoint) as db:
            arns.append(db.ExportTableToPointInTime(TableArn=table_arn(db, table),
                                                    S3Bucket=BUCKET)["ExportDescription"]["ExportArn"])
        threading.Event().wait(random_source.uniform(0, 0.2))
        server.kill()
        server = serving(s3.endpoint, store=store)
    with server, Client(server.endpoint) as db:
        for arn in arns:
            assert read_items(bucket, wait_export(db, arn)) == expected
        assert db.ListBackups(TableName=table, BackupType="ALL")["BackupSummaries"] == []
