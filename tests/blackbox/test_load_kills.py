"""Imports and bulk operations through SIGKILL, restarts and full stops: they go on where they were, and nothing half-made is shown
as made. More kills: GRAMME_KILLS=50 (make soak)."""

import os
import random
import time

import pytest

from loads import Buckets, describe_bulk, describe_import, in_order, json_lines, start_bulk, start_import, wait_bulk, wait_import
from server import Server
from tables import all_items, create_table, unique_name, wait_active
from values import item
from waiting import poll
from wire import Client, Refused

KILLS = int(os.environ.get("GRAMME_KILLS", "3"))
COUNT = 20000 * max(1, KILLS // 3)


def items():
    return [item(pk=f"p{i}", n=i, text="t" * (i % 60)) for i in range(COUNT)]


def state(db, table):
    try:
        return db.DescribeTable(TableName=table)["Table"]["TableStatus"]
    except Refused as error:
        return error.type


def crash(server, db, seconds):
    time.sleep(seconds)  # somewhere in the middle
    db.close()
    server.kill()


@pytest.mark.parametrize("compression", ["NONE", "GZIP"])
def test_import_goes_on(tmp_path, compression):
    import gzip
    wanted = items()
    buckets = Buckets(tmp_path / "s3")
    for part in range(5):
        data = json_lines(wanted[part::5]).encode()
        buckets.put("bucket", f"{part}", gzip.compress(data, 1) if compression == "GZIP" else data)
    store = f"rocksdb:{tmp_path}/store"
    options = ["--s3-directory", str(tmp_path / "s3")]
    table = unique_name()
    randomness = random.Random(7)
    server = Server(store, *options)
    with Client(server.endpoint) as db:
        arn = start_import(db, table, bucket="bucket", gsi={"by-n": "n:N"}, InputCompressionType=compression)["ImportArn"]
        crash(server, db, 0.1 * randomness.random())
    for _ in range(KILLS - 1):
        server = Server(store, *options)
        with Client(server.endpoint) as db:
            found = describe_import(db, arn)
            assert found["ImportStatus"] == "IN_PROGRESS" or (found["ImportStatus"], found["ImportedItemCount"]) == ("COMPLETED", COUNT)
            assert found["ImportStatus"] == "COMPLETED" or state(db, table) != "ACTIVE" or describe_import(db, arn)["ImportStatus"] == "COMPLETED"
            crash(server, db, 0.3 * randomness.random())
    with Server(store, *options) as server, Client(server.endpoint) as db:
        found = wait_import(db, arn)
        assert (found["ImportStatus"], found["ErrorCount"]) == ("COMPLETED", 0), found
        assert (found["ProcessedItemCount"], found["ImportedItemCount"]) == (COUNT, COUNT)
        assert wait_active(db, table)["ItemCount"] == COUNT
        assert in_order(all_items(db.Scan, TableName=table)) == in_order(wanted)
        assert in_order(all_items(db.Scan, TableName=table, IndexName="by-n")) == in_order(wanted)


def test_bulk_put_goes_on(tmp_path):
    """With conditions that hold only once, and errors: each is counted and reported once."""
    wanted = items()[:COUNT // 2]
    buckets = Buckets(tmp_path / "s3")
    lines = json_lines(wanted, ConditionExpression="attribute_not_exists(pk)").splitlines(True)
    for i in range(0, len(lines), 100):
        lines[i] += '{"Item":{"none":{"S":"x"}}}\n'
    twice = json_lines(wanted[:50], ConditionExpression="attribute_not_exists(pk)")
    buckets.put("bucket", "in/a", "".join(lines))
    buckets.put("bucket", "in/b", json_lines([item(pk=f"p{i}", other=True) for i in range(50)], ConditionExpression="attribute_not_exists(pk)"))
    assert twice
    store = f"rocksdb:{tmp_path}/store"
    options = ["--s3-directory", str(tmp_path / "s3")]
    randomness = random.Random(11)
    server = Server(store, *options)
    with Client(server.endpoint) as db:
        table = create_table(db)
        arn = start_bulk(db, table, bucket="bucket")["BulkOperationArn"]
        crash(server, db, 0.2 * randomness.random())
    for _ in range(KILLS - 1):
        server = Server(store, *options)
        with Client(server.endpoint) as db:
            describe_bulk(db, arn)
            crash(server, db, 0.4 * randomness.random())
    with Server(store, *options) as server, Client(server.endpoint) as db:
        found = wait_bulk(db, arn)
        errors = (len(wanted) + 99) // 100
        assert found["BulkOperationStatus"] == "COMPLETED_WITH_ERRORS"
        assert (found["ProcessedItemCount"], found["FailedItemCount"]) == (len(wanted) + errors + 50, errors)
        assert in_order(all_items(db.Scan, TableName=table)) == in_order(wanted)
    folder = f"out/AWSDynamoDB/{arn.rsplit('/', 1)[1]}"
    pointers = [report["itemS3Pointer"]["itemIndex"] for report in buckets.lines("reports", folder + "/error")]
    assert pointers == sorted(set(pointers)) and len(pointers) == errors
    failed = buckets.lines("reports", folder + "/condition-check-failure")
    assert [report["Item"]["pk"]["S"] for report in failed] == [f"p{i}" for i in range(50)]


def test_stopping_leaves_it_running(tmp_path):
    """SIGTERM in the middle: the server ends soon, and the next one goes on."""
    buckets = Buckets(tmp_path / "s3")
    buckets.put("bucket", "a", json_lines(items()))
    store = f"rocksdb:{tmp_path}/store"
    options = ["--s3-directory", str(tmp_path / "s3")]
    table = unique_name()
    with Server(store, *options) as server, Client(server.endpoint) as db:
        arn = start_import(db, table, bucket="bucket")["ImportArn"]
        poll(lambda: state(db, table) == "CREATING" or describe_import(db, arn)["ImportStatus"] == "COMPLETED", 30, "it has begun")
    with Server(store, *options) as server, Client(server.endpoint) as db:
        assert wait_import(db, arn)["ImportedItemCount"] == COUNT


def import_of_changed_object(folder):
    """An import whose server is killed while it reads an object, which is then replaced. None: it had ended before the kill."""
    buckets = Buckets(folder / "s3")
    count = 100000  # progress is stored twice a second, and after 50,000
    buckets.put("bucket", "a", json_lines(item(pk=f"p{i}", n=i) for i in range(count)))
    store = f"rocksdb:{folder}/store"
    options = ["--s3-directory", str(folder / "s3")]
    table = unique_name()
    server = Server(store, *options)
    with Client(server.endpoint) as db:
        arn = start_import(db, table, bucket="bucket", gsi={f"index-{i}": "n:N" for i in range(5)})["ImportArn"]
        poll(lambda: describe_import(db, arn)["ProcessedItemCount"] > 0, 30, "it has begun")
        server.process.kill()
    server.kill()
    buckets.put("bucket", "a", json_lines(items()[:10]))
    with Server(store, *options) as server, Client(server.endpoint) as db:
        ended = wait_import(db, arn)
        assert wait_active(db, table)["TableStatus"] == "ACTIVE"
        if ended["ImportStatus"] == "COMPLETED":
            assert ended["ImportedItemCount"] == count
            return None
        return ended


def test_object_that_changes_meanwhile(tmp_path):
    """An import that finds another object than it began to read has errors, and its table is there."""
    for attempt in range(5):
        ended = import_of_changed_object(tmp_path / str(attempt))
        if ended is not None:
            assert (ended["ImportStatus"], ended["FailureCode"], ended["ErrorCount"]) == ("FAILED", "ItemValidationError", 1), ended
            return
    pytest.fail("all imports had ended before the server was killed")
