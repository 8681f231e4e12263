"""ImportTable, DescribeImport, ListImports: objects in a folder of buckets become a new table."""

import json
import re

import pytest

from clock import TEST_CLOCK, advance_clock
from loads import (PACKED, Buckets, bucket, db, describe_bulk, describe_import, identifier, import_request, in_order,  # noqa: F401
                   json_lines, run_bulk, run_import, served, start_import, wait_import)
from server import Server
from tables import all_items, create_table, unique_name, wait_active
from values import item
from waiting import poll
from wire import Client, Refused, invalid, refused

ITEM_ERRORS = ("Some of the items failed validation checks and were not imported. Please check CloudWatch error logs for more "
               "details.")
NOWHERE = "arn:aws:dynamodb:us-east-1:000000000000:table/nowhere/import/01489602797149-73d8d5bc"


def items(count, start=0):
    return [item(pk=f"p{i}", n=i, text="t" * (i % 50), list=[1, "x", None, {"deep": True}]) for i in range(start, start + count)]


def scan(db, table, **more):
    return in_order(all_items(db.Scan, TableName=table, **more))


def check_counts(found, processed, imported, errors):
    assert (found["ProcessedItemCount"], found["ImportedItemCount"], found["ErrorCount"]) == (processed, imported, errors), found


@pytest.mark.parametrize("compression", PACKED)
def test_json(db, bucket, compression):
    wanted = items(3000)
    for part in range(3):
        bucket.put(f"data/{part}.json", PACKED[compression](json_lines(wanted[part::3]).encode()))
    bucket.put("other", "not read")
    table = unique_name()
    found = run_import(db, table, bucket=bucket, prefix="data/", InputCompressionType=compression, gsi={"by-n": "n:N"})
    assert found["ImportStatus"] == "COMPLETED", found
    check_counts(found, 3000, 3000, 0)
    assert found["ProcessedSizeBytes"] > 0 and found["EndTime"] >= found["StartTime"]
    assert wait_active(db, table)["ItemCount"] == 3000
    assert scan(db, table) == in_order(wanted)
    assert scan(db, table, IndexName="by-n") == in_order(wanted)
    db.PutItem(TableName=table, Item=item(pk="a table like any other"))


def test_description(db, bucket):
    bucket.put("x", json_lines(items(1)))
    table = unique_name()
    request = import_request(table, bucket=bucket, ClientToken="token-" + table)
    answer = db.ImportTable(**request)["ImportTableDescription"]
    assert answer["ImportStatus"] == "IN_PROGRESS" and "EndTime" not in answer
    found = wait_import(db, answer["ImportArn"])
    arn = f"arn:aws:dynamodb:us-east-1:000000000000:table/{table}"
    assert re.fullmatch(re.escape(arn) + r"/import/\d{14}-[0-9a-f]{8}", found["ImportArn"])
    assert int(identifier(found["ImportArn"])[:14]) == round(found["StartTime"] * 1000)
    assert found["TableArn"] == arn and found["TableId"] == db.DescribeTable(TableName=table)["Table"]["TableId"] == answer["TableId"]
    assert found["ClientToken"] == request["ClientToken"]
    assert found["S3BucketSource"] == {"S3Bucket": bucket, "S3BucketOwner": "000000000000"}
    assert found["InputFormat"] == "DYNAMODB_JSON" and found["InputCompressionType"] == "NONE"
    assert found["TableCreationParameters"] == request["TableCreationParameters"]
    assert found["CloudWatchLogGroupArn"] == "arn:aws:logs:us-east-1:000000000000:log-group:/aws-dynamodb/imports:*"
    assert "FailureCode" not in found and "InputFormatOptions" not in found


def test_ion(db, bucket):
    bucket.put("a", '$ion_1_0 {Item:{pk:"a",n:103.,big:6d2,s:$dynamodb_SS::["x","y"],b:{{AAEC}},no:null,yes:true,l:[1,{m:"x"}]}}\n')
    bucket.put("b", '$ion_1_0 [{Item:{pk:"b"}}, // a comment\n {Item:{pk:\'\'\'c\'\'\'}}]')
    table = unique_name()
    check_counts(run_import(db, table, bucket=bucket, format="ION"), 3, 3, 0)
    assert scan(db, table) == in_order([
        {"pk": {"S": "a"}, "n": {"N": "103"}, "big": {"N": "600"}, "s": {"SS": ["x", "y"]}, "b": {"B": "AAEC"}, "no": {"NULL": True},
         "yes": {"BOOL": True}, "l": {"L": [{"N": "1"}, {"M": {"m": {"S": "x"}}}]}}, item(pk="b"), item(pk="c")])


def test_csv(db, bucket):
    bucket.put("a", 'pk,n,other\na,1,"x, ""y"""\nb,2,\n')
    table = unique_name()
    check_counts(run_import(db, table, bucket=bucket, format="CSV", key="pk n:N"), 2, 2, 0)
    assert scan(db, table) == in_order([item(pk="a", n=1, other='x, "y"'), item(pk="b", n=2)])
    table = unique_name()
    options = {"Csv": {"Delimiter": ";", "HeaderList": ["pk", "n"]}}
    bucket.put("b/x", "c;3\nd;4\n")
    found = run_import(db, table, bucket=bucket, prefix="b/", format="CSV", key="pk n:N", InputFormatOptions=options)
    assert found["InputFormatOptions"] == options and scan(db, table) == [item(pk="c", n=3), item(pk="d", n=4)]


def import_text(db, bucket, text, **more):
    bucket.put("x", text)
    table = unique_name()
    found = run_import(db, table, bucket=bucket, **more)
    assert found["ImportStatus"] == "FAILED" and found["FailureCode"] == "ItemValidationError", found
    assert found["FailureMessage"] == ITEM_ERRORS
    assert wait_active(db, table)
    return found, scan(db, table)


def test_bad_records_are_counted(db, served, bucket):
    lines = [json_lines([one]) for one in items(9)]
    lines.insert(4, '{"Item":{"other":{"S":"x"}}}\n')
    found, stored = import_text(db, bucket, "".join(lines))
    check_counts(found, 10, 9, 1)
    assert len(stored) == 9
    event = {"itemS3Pointer": {"bucket": bucket, "key": "x", "itemIndex": 4}, "importArn": found["ImportArn"],
             "errorMessages": ["One or more parameter values were invalid: Missing the key pk in the item"]}
    assert json.dumps(event, separators=(",", ":")) in served[0].log()


def test_unparsable_line_ends_the_object(db, bucket):
    lines = json_lines(items(5)) + "{not json\n" + json_lines(items(5, 5))
    bucket.put("y", json_lines(items(2, 100)))
    found, stored = import_text(db, bucket, lines)
    check_counts(found, 8, 7, 1)
    assert len(stored) == 7


@pytest.mark.parametrize("text", ['{"Other":{}}\n', '{"Item":{"pk":{"N":"1"}}}\n', '{"Item":{"pk":{"S":""}}}\n',
                                  '{"Item":{"pk":{"S":"x"},"big":{"S":"' + "x" * 410000 + '"}}}\n'])
def test_one_bad_record(db, bucket, text):
    found, stored = import_text(db, bucket, text + json_lines(items(1)))
    check_counts(found, 2, 1, 1)
    assert len(stored) == 1


def test_wrong_compression(db, bucket):
    bucket.put("z", json_lines(items(3)))
    found, stored = import_text(db, bucket, "not gzip", InputCompressionType="GZIP")
    check_counts(found, 2, 0, 2)  # one error per object
    assert stored == []


def test_equal_keys_overwrite(db, bucket):
    bucket.put("x", json_lines([item(pk="a", n=i) for i in range(200)] + [item(pk="b")]))
    table = unique_name()
    check_counts(run_import(db, table, bucket=bucket, gsi={"by-n": "n:N"}), 201, 201, 0)
    assert scan(db, table) == [item(pk="a", n=199), item(pk="b")]
    assert scan(db, table, IndexName="by-n") == [item(pk="a", n=199)]


def test_nothing_matches(db, bucket):
    bucket.put("x", json_lines(items(3)))
    table = unique_name()
    check_counts(run_import(db, table, bucket=bucket, prefix="nothing"), 0, 0, 0)
    assert wait_active(db, table)["ItemCount"] == 0


def test_no_bucket(db):
    table = unique_name()
    found = run_import(db, table, bucket="does-not-exist")
    assert (found["ImportStatus"], found["FailureCode"]) == ("FAILED", "S3NoSuchBucket") and found["FailureMessage"]
    with refused("ResourceNotFoundException"):
        db.DescribeTable(TableName=table)


def test_name_is_taken(db, bucket):
    bucket.put("x", json_lines(items(1)))
    table = create_table(db)
    with refused("ResourceInUseException", f"Table already exists: {table}"):
        start_import(db, table, bucket=bucket)
    bucket.put("x", json_lines(items(5000)))
    for _ in range(10):  # the second one must start before the first one has ended
        name = unique_name()
        try:
            arns = [start_import(db, name, bucket=bucket)["ImportArn"] for _ in range(2)]
            break
        except Refused:
            pass
    ended = sorted((wait_import(db, arn) for arn in arns), key=lambda found: found["ImportStatus"])
    assert [found["ImportStatus"] for found in ended] == ["COMPLETED", "FAILED"]
    assert ended[1]["FailureCode"] == "TableAlreadyExists"
    assert len(scan(db, name)) == 5000


def test_client_token(db, bucket):
    bucket.put("x", json_lines(items(1)))
    table = unique_name()
    token = unique_name()
    first = start_import(db, table, bucket=bucket, ClientToken=token)
    with refused("ImportConflictException", "Import conflict: Duplicate request detected with conflicting parameters"):
        start_import(db, unique_name(), bucket=bucket, ClientToken=token)
    wait_import(db, first["ImportArn"])
    with refused("ResourceInUseException"):
        start_import(db, table, bucket=bucket, ClientToken=token)
    db.DeleteTable(TableName=table)
    again = start_import(db, table, bucket=bucket, prefix="ignored", ClientToken=token)
    assert again["ImportArn"] == first["ImportArn"] and again["ImportStatus"] == "COMPLETED"


def test_long_client_token(db, bucket):
    """It may be longer than a key of the store."""
    bucket.put("in/a", json_lines(items(1)))
    found = run_import(db, bucket=bucket, prefix="in/", ClientToken="t" * 10_000)
    assert found["ImportStatus"] == "COMPLETED"


def test_list(db, bucket):
    bucket.put("x", json_lines(items(1)))
    table = unique_name()
    arns = []
    for _ in range(3):
        arns.insert(0, run_import(db, table, bucket=bucket)["ImportArn"])
        db.DeleteTable(TableName=table)
    run_import(db, bucket=bucket)
    arn = f"arn:aws:dynamodb:us-east-1:000000000000:table/{table}"
    listed = db.ListImports(TableArn=arn)
    assert [one["ImportArn"] for one in listed["ImportSummaryList"]] == arns and "NextToken" not in listed
    assert set(listed["ImportSummaryList"][0]) == {"ImportArn", "ImportStatus", "TableArn", "S3BucketSource", "CloudWatchLogGroupArn",
                                                   "InputFormat", "StartTime", "EndTime"}
    seen, token = [], {}
    while True:
        page = db.ListImports(TableArn=arn, PageSize=1, **token)
        seen += [one["ImportArn"] for one in page["ImportSummaryList"]]
        if "NextToken" not in page:
            break
        token = {"NextToken": page["NextToken"]}
        assert re.fullmatch("([0-9a-f]{16})+", page["NextToken"]) and len(page["NextToken"]) >= 112
    assert seen == arns
    assert len(db.ListImports()["ImportSummaryList"]) > 3


@pytest.mark.parametrize("kind", ["import", "bulk put"])
def test_forgotten_after_90_days(tmp_path, kind):
    buckets = Buckets(tmp_path)
    buckets.put("bucket", "x", json_lines(items(1)))
    with Server("memory:", "--s3-directory", str(tmp_path), *TEST_CLOCK) as server, Client(server.endpoint) as db:
        table = create_table(db)

        def run():
            return run_import(db)["ImportArn"] if kind == "import" else run_bulk(db, table, prefix="x")["BulkOperationArn"]

        def listed():
            if kind == "import":
                return [one["ImportArn"] for one in db.ListImports()["ImportSummaryList"]]
            return [one["BulkOperationArn"] for one in db.ListBulkOperations()["BulkOperationsSummaryList"]]

        first = run()
        advance_clock(db, 89 * 86400)
        second = run()
        assert listed() == [second, first]
        advance_clock(db, 2 * 86400)
        poll(lambda: listed() == [second], 20, "the first is forgotten")
        with refused("ImportNotFoundException" if kind == "import" else "ResourceNotFoundException"):
            (describe_import if kind == "import" else describe_bulk)(db, first)


def test_describe_errors(db):
    with refused("ImportNotFoundException", f"Import not found: Import not found: {NOWHERE}"):
        describe_import(db, NOWHERE)
    with invalid("Invalid Import ARN"):
        describe_import(db, NOWHERE.replace("/import/", "/backup/"))
    with refused("AccessDeniedException", "Access is denied"):
        describe_import(db, NOWHERE.replace("000000000000", "123456789012"))
    with invalid("Invalid Request: Provided nextToken is invalid: " + "0" * 112):
        db.ListImports(NextToken="0" * 112)
    with invalid("One or more parameter values were invalid: tableArn is not a valid ARN"):
        db.ListImports(TableArn="nothing")


def test_request_errors(db):
    table = unique_name()

    def start(message, **more):
        with invalid(message):
            start_import(db, table, **more)
    start("Invalid Request: Unsupported InputFormatOptions for the given input format: DYNAMODB_JSON.",
          InputFormatOptions={"Csv": {"Delimiter": ";"}})
    start("One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified when "
          "BillingMode is PROVISIONED", parameters={"BillingMode": "PROVISIONED"})
    start("1 validation error detected: Value 'LZ4' at 'inputCompressionType' failed to satisfy constraint: Member must satisfy enum "
          "value set: [ZSTD, NONE, GZIP]", InputCompressionType="LZ4")
    start("1 validation error detected: Value 'x' at 'inputFormatOptions.csv.delimiter' failed to satisfy constraint: Member must "
          "satisfy regular expression pattern: [,;:|\\t ]", format="CSV", InputFormatOptions={"Csv": {"Delimiter": "x"}})
    start("1 validation error detected: Value '-' at 's3BucketSource.s3Bucket' failed to satisfy constraint: Member must satisfy "
          "regular expression pattern: ^[a-z0-9A-Z]+[\\.\\-\\w]*[a-z0-9A-Z]+$", bucket="-")
    with Client(db.endpoint) as client, invalid():
        client.ImportTable(InputFormat="CSV")


def test_creating_until_done(served, bucket, db):
    """A table that is being imported is CREATING: nobody can use, change or delete it."""
    bucket.put("x", json_lines(items(20000)))
    for _ in range(5):  # an import may end before it is seen
        seen = import_and_look(db, bucket)
        if {"CREATING", "ResourceInUseException"} <= seen:
            return
    pytest.fail(str(seen))


def import_and_look(db, bucket):
    """The states of a table and the refusals of its deletion while it is imported."""
    table = unique_name()
    arn = start_import(db, table, bucket=bucket)["ImportArn"]
    seen = set()
    while describe_import(db, arn)["ImportStatus"] == "IN_PROGRESS":
        try:
            seen.add(db.DescribeTable(TableName=table)["Table"]["TableStatus"])
            db.DeleteTable(TableName=table)
            seen.add("deleted")  # the import has ended since it was described
            break
        except Refused as error:
            seen.add(error.type)
    assert describe_import(db, arn)["ImportStatus"] == "COMPLETED"
    assert seen <= {"CREATING", "ResourceInUseException", "ResourceNotFoundException", "ACTIVE", "deleted"}
    assert "deleted" in seen or wait_active(db, table)
    return seen


def test_tokens_are_forgotten(tmp_path):
    """After eight hours a token is a new one."""
    Buckets(tmp_path).put("bucket", "x", json_lines(items(1)))
    with Server("memory:", "--s3-directory", str(tmp_path), "--test-clock", "on") as server, Client(server.endpoint) as db:
        table = unique_name()
        first = run_import(db, table, ClientToken="token")["ImportArn"]
        db.DeleteTable(TableName=table)
        assert start_import(db, table, ClientToken="token")["ImportArn"] == first
        db.call("SetClock", {"AdvanceSeconds": 8 * 3600 + 60}, prefix="Gramme_20261115.")
        again = start_import(db, table, ClientToken="token")["ImportArn"]
        assert again != first and wait_import(db, again)["ImportStatus"] == "COMPLETED"
