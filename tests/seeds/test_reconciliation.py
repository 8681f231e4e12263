"""Reconciliation pooler: a sparse index that holds only the calls that need attention."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from boto3.dynamodb.conditions import Key

from boto_errors import fails_with
from schema import index, keys, strings

LOOKBACK = "2023-10-20T00:00:00Z"
UNITS = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
# The document names the projection twice: in its table of the design, and for Terraform.
PROJECTIONS = {
    "design": ["CallId", "AudioReceived", "ProcessingStatus"],
    "terraform": ["TenantId", "CallId", "AudioReceived"],
}
SHARDS = 10


@pytest.fixture(scope="module", params=PROJECTIONS)
def projection(request):
    return request.param


@pytest.fixture(scope="module")
def records(make_application_table, projection):
    return make_application_table(
        TableName=f"CallRecords-{projection}", KeySchema=keys("PK", "SK"),
        ProvisionedThroughput=UNITS, AttributeDefinitions=strings(
            "PK", "SK", "GSI_Recon_PK", "GSI_Recon_SK"),
        GlobalSecondaryIndexes=[index("ReconciliationIndex", "GSI_Recon_PK", "GSI_Recon_SK",
                                      PROJECTIONS[projection], ProvisionedThroughput=UNITS)])


def record(tenant, call_id, when, audio=True, status="SUCCESS", bucket="STATUS#PENDING"):
    """The write side: index keys only for calls that are not all right."""
    new = {"PK": f"TENANT#{tenant}", "SK": f"CALL#{call_id}", "TenantId": tenant, "CallId": call_id,
           "CallDateTime": when, "AudioReceived": audio, "ProcessingStatus": status}
    if not audio or status != "SUCCESS":
        new["GSI_Recon_PK"] = bucket
        new["GSI_Recon_SK"] = f"{when}#{tenant}"
    return new


def pool(records, status="STATUS#PENDING", lookback=LOOKBACK, **more):
    return records.query(
        IndexName="ReconciliationIndex",
        KeyConditionExpression="GSI_Recon_PK = :status AND GSI_Recon_SK > :lookbackDate",
        ExpressionAttributeValues={":status": status, ":lookbackDate": lookback}, **more)


@pytest.fixture(scope="module")
def mixed(records):
    """100 calls over ten days and three tenants, a few of them bad."""
    with records.batch_writer() as batch:
        for number in range(100):
            day = f"2023-10-{17 + number // 10:02}T08:{number % 10:02}:00Z"
            bad = {7: {"audio": False}, 8: {"status": "FAILED"}, 9: {"status": "PENDING"}}
            batch.put_item(Item=record(f"TENANT-{number % 3}", f"call-{number:03}", day,
                                       **bad.get(number % 10, {})))
    return records


def call_ids(answer):
    return [each["CallId"] for each in answer["Items"]]


EXPECTED = [f"call-{number:03}" for number in range(30, 100) if number % 10 >= 7]


def test_index_holds_only_calls_that_require_reconciliation(mixed):
    everything = mixed.scan(IndexName="ReconciliationIndex")["Items"]
    assert len(everything) == 30
    assert mixed.scan(Select="COUNT")["Count"] == 100


def test_pooler_finds_recent_bad_calls_oldest_first(mixed):
    assert call_ids(pool(mixed)) == EXPECTED


def test_pooler_finds_newest_first(mixed):
    assert call_ids(pool(mixed, ScanIndexForward=False)) == EXPECTED[::-1]


def test_pooler_pages(mixed):
    found, more = [], {}
    while True:
        page = pool(mixed, Limit=4, **more)
        found += call_ids(page)
        if "LastEvaluatedKey" not in page:
            break
        more = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    assert found == EXPECTED


def test_pooler_for_one_tenant(mixed):
    """The sort key ends with the tenant, and the table's key comes along."""
    answer = pool(mixed, FilterExpression=Key("PK").eq("TENANT#TENANT-1"))
    assert call_ids(answer) == [call_id for call_id in EXPECTED if int(call_id[5:]) % 3 == 1]
    assert answer["ScannedCount"] == len(EXPECTED)


def test_projection_is_what_was_included(mixed, projection):
    keys_of_both = {"PK", "SK", "GSI_Recon_PK", "GSI_Recon_SK"}
    for each in pool(mixed)["Items"]:
        assert set(each) == keys_of_both | set(PROJECTIONS[projection])
    with fails_with("ValidationException"):
        pool(mixed, ProjectionExpression="CallDateTime")


def test_reconciled_call_leaves_the_index(records):
    key = {"PK": "TENANT#leaving", "SK": "CALL#leaving"}
    records.put_item(Item=record("leaving", "leaving", "2030-01-01T00:00:00Z", audio=False))
    assert "leaving" in call_ids(pool(records, lookback="2029"))
    records.update_item(Key=key, UpdateExpression="SET AudioReceived = :yes, ProcessingStatus = :ok "
                        "REMOVE GSI_Recon_PK, GSI_Recon_SK",
                        ExpressionAttributeValues={":yes": True, ":ok": "SUCCESS"})
    assert "leaving" not in call_ids(pool(records, lookback="2029"))
    assert records.get_item(Key=key)["Item"]["ProcessingStatus"] == "SUCCESS"


def test_overwriting_with_a_good_record_leaves_the_index(records):
    records.put_item(Item=record("over", "over", "2031-01-01T00:00:00Z", status="FAILED"))
    records.put_item(Item=record("over", "over", "2031-01-01T00:00:00Z"))
    assert call_ids(pool(records, lookback="2030-06")) == []


def test_specific_status_as_partition(records):
    records.put_item(Item=record("f", "failed", "2023-11-01T00:00:00Z", status="FAILED",
                                 bucket="STATUS#FAILED"))
    assert call_ids(pool(records, "STATUS#FAILED")) == ["failed"]
    records.delete_item(Key={"PK": "TENANT#f", "SK": "CALL#failed"})
    assert call_ids(pool(records, "STATUS#FAILED")) == []


def test_write_sharding_and_parallel_queries(records):
    with records.batch_writer() as batch:
        for number in range(200):
            batch.put_item(Item=record("sharded", f"shard-{number:03}", f"2023-12-01T00:{number % 60:02}:00Z",
                                       status="PENDING", bucket=f"STATUS#PENDING#{number % SHARDS}"))

    def query(shard):
        return call_ids(pool(records, f"STATUS#PENDING#{shard}"))
    with ThreadPoolExecutor(SHARDS) as workers:
        found = list(workers.map(query, range(SHARDS)))
    assert all(len(part) == 200 // SHARDS for part in found)
    assert sorted(sum(found, [])) == [f"shard-{number:03}" for number in range(200)]
