"""StartBulkPutItems, DescribeBulkOperation, ListBulkOperations, CancelBulkOperation: objects are loaded into a table in use."""

import time

import pytest

from loads import (PACKED, bucket, bulk_request, db, describe_bulk, in_order, json_lines, run_bulk, served,  # noqa: F401
                   start_bulk, wait_bulk)
from memory import Growth
from tables import all_items, create_table, put_all, unique_name
from values import item
from waiting import poll
from wire import invalid, refused

NOWHERE = "arn:aws:dynamodb:us-east-1:000000000000:table/nowhere/bulk-operation/01489602797149-73d8d5bc"


def items(count, start=0, **more):
    return [item(pk=f"p{i}", sk=i, g=f"g{i % 3}", l=f"l{i % 5}", **more) for i in range(start, start + count)]


def scan(db, table, **more):
    return in_order(all_items(db.Scan, TableName=table, **more))


def make(db):
    return create_table(db, key="pk sk:N", gsi={"by-g": "g"}, lsi={"by-l": ("pk l", "KEYS_ONLY")})


@pytest.mark.parametrize("compression", PACKED)
def test_puts(db, bucket, compression):
    table = make(db)
    put_all(db, table, items(50, 950, old=True) + items(5, 5000))
    for part in range(4):
        bucket.put(f"in/{part}", PACKED[compression](json_lines(items(1000)[part::4]).encode()))
    found = run_bulk(db, table, bucket=bucket, compression=compression)
    assert found["BulkOperationStatus"] == "COMPLETED", found
    assert (found["ProcessedItemCount"], found["FailedItemCount"]) == (1000, 0)
    assert found["ProcessedInputBytes"] == found["TotalInputBytes"] > 0
    wanted = in_order(items(1000) + items(5, 5000))
    assert scan(db, table) == wanted and scan(db, table, IndexName="by-g") == wanted
    assert len(scan(db, table, IndexName="by-l")) == 1005
    usage = found["BulkOperationUsage"][0]
    assert usage["TableName"] == table and set(usage["GlobalSecondaryIndexes"]) == {"by-g"} and set(usage["LocalSecondaryIndexes"]) == {"by-l"}
    table_bytes = usage["Table"]["BulkPutBytes"]
    assert usage["GlobalSecondaryIndexes"]["by-g"]["BulkPutBytes"] == table_bytes > usage["LocalSecondaryIndexes"]["by-l"]["BulkPutBytes"] > 0
    assert usage["BulkPutBytes"] == 2 * table_bytes + usage["LocalSecondaryIndexes"]["by-l"]["BulkPutBytes"]


def test_description(db, bucket):
    table = create_table(db)
    bucket.put("in/a", json_lines([item(pk="a")]))
    request = bulk_request(table, bucket=bucket, MaxWriteRequestUnits=5000, PerformanceTier="ACCELERATED", ClientToken=unique_name())
    found = wait_bulk(db, db.StartBulkPutItems(**request)["BulkOperationDescription"]["BulkOperationArn"])
    assert found["BulkOperationArn"].startswith(f"arn:aws:dynamodb:us-east-1:000000000000:table/{table}/bulk-operation/")
    assert found["TableDetails"] == [{"TableName": table, "TableId": db.DescribeTable(TableName=table)["Table"]["TableId"]}]
    for name in ("InputS3Configuration", "OutputS3Configuration", "ClientToken", "MaxWriteRequestUnits", "PerformanceTier"):
        assert found[name] == request[name]
    assert found["EndTime"] >= found["StartTime"] and "FailureCode" not in found


def test_errors_are_reported(db, bucket):
    table = create_table(db)
    bucket.put("in/a", json_lines([item(pk="a"), item(other="b"), item(pk="c")]) + "{broken\n" + json_lines([item(pk="d")]))
    bucket.put("in/b", json_lines([item(pk="e")]))
    found = run_bulk(db, table, bucket=bucket)
    assert found["BulkOperationStatus"] == "COMPLETED_WITH_ERRORS"
    assert (found["ProcessedItemCount"], found["FailedItemCount"]) == (5, 2)
    assert scan(db, table) == [item(pk="a"), item(pk="c"), item(pk="e")]
    reports = bucket.reports(found["BulkOperationArn"], "error")
    assert [report["itemS3Pointer"] for report in reports] == [{"bucket": bucket, "key": "in/a", "itemIndex": i} for i in (1, 3)]
    assert reports[0]["errorMessages"] == ["One or more parameter values were invalid: Missing the key pk in the item"]
    assert reports[0]["bulkOperationArn"] == found["BulkOperationArn"]
    assert bucket.reports(found["BulkOperationArn"], "condition-check-failure") == []


def test_conditions(db, bucket):
    table = create_table(db)
    put_all(db, table, [item(pk="old", v=5), item(pk="older", v=1)])
    bucket.put("in/a", json_lines([item(pk="old", v=7), item(pk="new", v=7)], ConditionExpression="attribute_not_exists(pk)") +
               json_lines([item(pk="old", v=3), item(pk="older", v=3)], ConditionExpression="#v < :v",
                          ExpressionAttributeNames={"#v": "v"}, ExpressionAttributeValues={":v": {"N": "3"}}) +
               json_lines([item(pk="bad")], ConditionExpression="nonsense("))
    found = run_bulk(db, table, bucket=bucket)
    assert (found["ProcessedItemCount"], found["FailedItemCount"]) == (5, 1)
    assert scan(db, table) == in_order([item(pk="new", v=7), item(pk="old", v=5), item(pk="older", v=3)])
    reports = bucket.reports(found["BulkOperationArn"], "condition-check-failure")
    assert [(report["Item"], report["ExistingItem"]) for report in reports] == [
        (item(pk="old", v=7), item(pk="old", v=5)), (item(pk="old", v=3), item(pk="old", v=5))]
    assert reports[0]["errorMessages"] == ["The conditional request failed"]
    # Conditions that do not hold are no errors, and are written out only if that is wanted.
    bucket.put("only/a", json_lines([item(pk="old", v=7)], ConditionExpression="attribute_not_exists(pk)"))
    found = run_bulk(db, table, bucket=bucket, prefix="only/", output=["ERROR"])
    assert found["BulkOperationStatus"] == "COMPLETED" and found["ProcessedItemCount"] == 1
    assert bucket.reports(found["BulkOperationArn"], "condition-check-failure") == []


def test_ion(db, bucket):
    table = create_table(db)
    bucket.put("in/a", '$ion_1_0 {Item:{pk:"a",n:1.5}}\n{Item:{pk:"b"},ConditionExpression:"attribute_exists(pk)"}')
    found = run_bulk(db, table, bucket=bucket, format="ION")
    assert found["BulkOperationStatus"] == "COMPLETED" and scan(db, table) == [{"pk": {"S": "a"}, "n": {"N": "1.5"}}]
    assert [report["Item"] for report in bucket.reports(found["BulkOperationArn"], "condition-check-failure")] == [item(pk="b")]


def test_rate_and_cancel(db, bucket):
    table = create_table(db)
    bucket.put("in/a", json_lines([item(pk=f"p{i}", text="x" * 3000) for i in range(5000)]))  # 3 units each
    started = time.monotonic()
    arn = start_bulk(db, table, bucket=bucket, MaxWriteRequestUnits=1024)["BulkOperationArn"]
    poll(lambda: describe_bulk(db, arn)["ProcessedItemCount"] > 0, 30, "some items are written")
    assert describe_bulk(db, arn)["BulkOperationStatus"] == "IN_PROGRESS"
    answer = db.CancelBulkOperation(BulkOperationArn=arn)
    assert answer == {"BulkOperationArn": arn, "BulkOperationStatus": "CANCELLING"}
    found = wait_bulk(db, arn)
    seconds = time.monotonic() - started
    assert found["BulkOperationStatus"] == "CANCELLED" and found["FailureCode"] == "Cancelled" and found["FailureMessage"]
    written = len(scan(db, table))
    assert written == found["ProcessedItemCount"] < 5000
    assert written * 3 <= 1024 * seconds + 2 * 3 * 1024  # and two batches
    with invalid("Invalid Request: The bulk operation has ended and cannot be cancelled"):
        db.CancelBulkOperation(BulkOperationArn=arn)


def test_table_is_changed_and_deleted_meanwhile(db, bucket):
    table = create_table(db)
    bucket.put("in/a", json_lines([item(pk=f"p{i}", g=f"g{i}", text="x" * 100) for i in range(4000)]))
    arn = start_bulk(db, table, bucket=bucket, MaxWriteRequestUnits=2000)["BulkOperationArn"]
    poll(lambda: describe_bulk(db, arn)["ProcessedItemCount"] > 0, 30, "some items are written")
    db.UpdateTable(TableName=table, AttributeDefinitions=[{"AttributeName": "g", "AttributeType": "S"}], GlobalSecondaryIndexUpdates=[
        {"Create": {"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}}])
    found = wait_bulk(db, arn)
    assert found["BulkOperationStatus"] == "COMPLETED" and found["ProcessedItemCount"] == 4000, found
    poll(lambda: db.DescribeTable(TableName=table)["Table"]["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE", 30, "the index is there")
    assert len(scan(db, table)) == len(scan(db, table, IndexName="by-g")) == 4000
    bucket.put("slow/a", json_lines([item(pk=f"p{i}", text="x" * 10_000) for i in range(3000)]))  # 10 units each: half a minute
    arn = start_bulk(db, table, bucket=bucket, prefix="slow/", MaxWriteRequestUnits=1024)["BulkOperationArn"]
    poll(lambda: describe_bulk(db, arn)["ProcessedItemCount"] > 0, 30, "some items are written")
    db.DeleteTable(TableName=table)
    found = wait_bulk(db, arn)
    assert (found["BulkOperationStatus"], found["FailureCode"]) == ("FAILED", "TableNotFound")


def test_buckets_that_do_not_exist(db, bucket):
    table = create_table(db)
    found = run_bulk(db, table, bucket="does-not-exist")
    assert (found["BulkOperationStatus"], found["FailureCode"]) == ("FAILED", "S3NoSuchBucket") and found["FailureMessage"]


def test_tokens(db, bucket):
    table = create_table(db)
    bucket.put("in/a", json_lines([item(pk="a")]))
    token = unique_name()
    first = start_bulk(db, table, bucket=bucket, ClientToken=token)
    assert start_bulk(db, table, bucket=bucket, ClientToken=token)["BulkOperationArn"] == first["BulkOperationArn"]
    with refused("IdempotentParameterMismatchException"):
        start_bulk(db, table, bucket=bucket, prefix="other/", ClientToken=token)
    assert wait_bulk(db, first["BulkOperationArn"])["BulkOperationStatus"] == "COMPLETED"


def test_long_tokens(db, bucket):
    """A token may be longer than a key of the store."""
    table, token = create_table(db), "t" * 10_000
    bucket.put("in/a", json_lines([item(pk="a")]))
    first = start_bulk(db, table, bucket=bucket, ClientToken=token)
    assert start_bulk(db, table, bucket=bucket, ClientToken=token)["BulkOperationArn"] == first["BulkOperationArn"]
    wait_bulk(db, first["BulkOperationArn"])


def test_reports_are_not_read(db, bucket):
    """Reports may lie below the prefix of the input: they have items whose condition did not hold."""
    table = create_table(db)
    put_all(db, table, [item(pk="old", v=1)])
    bucket.put("a", json_lines([item(pk="old", v=2)], ConditionExpression="attribute_not_exists(pk)") + json_lines([item(x="no key")]))
    request = bulk_request(table, bucket=bucket, prefix="")
    request["OutputS3Configuration"]["S3Bucket"] = bucket
    request["OutputS3Configuration"]["S3KeyPrefix"] = "z"
    found = wait_bulk(db, db.StartBulkPutItems(**request)["BulkOperationDescription"]["BulkOperationArn"])
    assert (found["ProcessedItemCount"], found["FailedItemCount"]) == (2, 1)  # conditions are no failures
    assert scan(db, table) == [item(pk="old", v=1)]


def test_records_that_are_refused_take_no_memory(served, db, bucket):
    """300 lines of 1 MB: each is too large for an item. They are not kept while a batch is filled."""
    table = create_table(db)
    line = json_lines([item(pk="a", data="x" * 1_000_000)])
    bucket.put("in/a.gz", PACKED["GZIP"](line.encode() * 300))
    growth = Growth(served[0].process.pid)
    found = run_bulk(db, table, bucket=bucket, compression="GZIP")
    assert (found["ProcessedItemCount"], found["FailedItemCount"]) == (300, 300)
    growth.check(120)


def test_list(db, bucket):
    table = create_table(db)
    bucket.put("in/a", json_lines([item(pk="a")]))
    arns = [run_bulk(db, table, bucket=bucket)["BulkOperationArn"] for _ in range(3)][::-1]
    listed = db.ListBulkOperations()["BulkOperationsSummaryList"]
    assert [one["BulkOperationArn"] for one in listed[:3]] == arns
    assert set(listed[0]) == {"BulkOperationArn", "BulkOperationStatus", "StartTime", "EndTime"}
    first = db.ListBulkOperations(MaxResults=2)
    second = db.ListBulkOperations(MaxResults=2, NextToken=first["NextToken"])
    assert [one["BulkOperationArn"] for one in first["BulkOperationsSummaryList"] + second["BulkOperationsSummaryList"]][:3] == arns
    with invalid("Invalid Request: Provided nextToken is invalid: 0123456789abcdef"):
        db.ListBulkOperations(NextToken="0123456789abcdef")


def test_errors(db):
    table = create_table(db)
    with refused("ResourceNotFoundException", "Requested resource not found: Table: nowhere not found"):
        start_bulk(db, "nowhere")
    with invalid("1 validation error detected: Value '1000' at 'maxWriteRequestUnits' failed to satisfy constraint: Member must have "
                 "value greater than or equal to 1024"):
        start_bulk(db, table, MaxWriteRequestUnits=1000)
    with invalid("1 validation error detected: Value 'CSV' at 'inputS3Configuration.inputFormat' failed to satisfy constraint: Member "
                 "must satisfy enum value set: [DYNAMODB_JSON, ION]"):
        start_bulk(db, table, format="CSV")
    with invalid():
        start_bulk(db, table, output=[])
    for call in (db.DescribeBulkOperation, db.CancelBulkOperation):
        with refused("ResourceNotFoundException", f"Requested resource not found: Bulk operation: {NOWHERE} not found"):
            call(BulkOperationArn=NOWHERE)
        with invalid("Invalid Bulk Operation ARN"):
            call(BulkOperationArn=NOWHERE.replace("bulk-operation", "import"))


def test_fifty_at_once(db, bucket):
    """Four are worked on, the others wait. A cancelled one ends also if it has not begun."""
    table = create_table(db)
    lines = json_lines([item(pk=f"p{i}", text="x" * 300000) for i in range(200)])  # 300 units each: a minute at this rate
    bucket.put("in/a", PACKED["GZIP"](lines.encode()))
    running = len([one for one in db.ListBulkOperations(MaxResults=25)["BulkOperationsSummaryList"] if "EndTime" not in one])
    arns = [start_bulk(db, table, bucket=bucket, compression="GZIP", MaxWriteRequestUnits=1024)["BulkOperationArn"]
            for _ in range(50 - running)]
    with refused("LimitExceededException", "Subscriber limit exceeded: Only 50 bulk operations can be done simultaneously"):
        start_bulk(db, table, bucket=bucket)
    for arn in arns:
        assert db.CancelBulkOperation(BulkOperationArn=arn)["BulkOperationStatus"] == "CANCELLING"
    for arn in arns:
        assert wait_bulk(db, arn)["BulkOperationStatus"] == "CANCELLED"
