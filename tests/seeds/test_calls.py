"""Call storage: table `Calls` with byCallId, byProvider and byUserStatus. Times are epoch
milliseconds; `sk` and `userStatus` are computed by the client for every write."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from boto3.dynamodb.conditions import Attr, Key
from botocore.exceptions import ClientError

from boto_errors import condition_failed, fails_with
from schema import index, keys, strings

NOW = 1_700_000_000_000
HOUR = 3_600_000
NOT_THERE = Attr("userId").not_exists() & Attr("sk").not_exists()
_numbers = itertools.count(1)


def sk(scheduled_for, call_id):
    return f"{scheduled_for:013d}#{call_id}"


def call(user_id, scheduled_for, status="SCHEDULED", provider_id="provider-0", call_id=None):
    call_id = call_id or f"call-{next(_numbers)}"
    return {"userId": user_id, "sk": sk(scheduled_for, call_id), "callId": call_id,
            "providerId": provider_id, "status": status, "scheduledFor": scheduled_for,
            "userStatus": f"{user_id}#{status}", "version": 1}


@pytest.fixture(scope="module")
def calls(make_application_table):
    return make_application_table(
        TableName="Calls", BillingMode="PAY_PER_REQUEST", KeySchema=keys("userId", "sk"),
        AttributeDefinitions=strings("userId", "sk", "callId", "providerId", "userStatus"),
        GlobalSecondaryIndexes=[index("byCallId", "callId"), index("byProvider", "providerId", "sk"),
                                index("byUserStatus", "userStatus", "sk")])


@pytest.fixture
def user():
    return f"user-{next(_numbers)}"


def create(calls, new):
    calls.put_item(Item=new, ConditionExpression=NOT_THERE)
    return new


def query(calls, condition, **more):
    return calls.query(KeyConditionExpression=condition, **more)["Items"]


def by_user_status(calls, user, status, **more):
    return query(calls, Key("userStatus").eq(f"{user}#{status}"), IndexName="byUserStatus", **more)


def test_store_all_calls_per_user_sorted_by_time(calls, user):
    times = [NOW + hours * HOUR for hours in (5, -3, 0, 12, -100)]
    for scheduled_for in times:
        create(calls, call(user, scheduled_for))
    create(calls, call(user + "-other", NOW))
    found = query(calls, Key("userId").eq(user))
    assert [each["scheduledFor"] for each in found] == sorted(times)


def test_direct_lookup_by_callId(calls, user):
    wanted = create(calls, call(user, NOW))
    create(calls, call(user, NOW))
    found = query(calls, Key("callId").eq(wanted["callId"]), IndexName="byCallId")
    assert found == [wanted]


def test_lookup_by_providerId_descending(calls, user):
    provider = f"provider-of-{user}"
    for hours in (1, 3, 2):
        create(calls, call(f"{user}-{hours}", NOW + hours * HOUR, provider_id=provider))
    found = query(calls, Key("providerId").eq(provider), IndexName="byProvider", ScanIndexForward=False)
    assert [each["userId"] for each in found] == [f"{user}-3", f"{user}-2", f"{user}-1"]


def test_upcoming_ascending_and_completed_descending(calls, user):
    for hours in (-2, -1, 1, 2, 3):
        create(calls, call(user, NOW + hours * HOUR, "COMPLETED" if hours < 0 else "SCHEDULED"))
    upcoming = by_user_status(calls, user, "SCHEDULED")
    completed = by_user_status(calls, user, "COMPLETED", ScanIndexForward=False)
    assert [each["scheduledFor"] - NOW for each in upcoming] == [1 * HOUR, 2 * HOUR, 3 * HOUR]
    assert [each["scheduledFor"] - NOW for each in completed] == [-1 * HOUR, -2 * HOUR]


def test_next_scheduled_call(calls, user):
    for hours in (-5, 4, 2, 9):
        create(calls, call(user, NOW + hours * HOUR))
    condition = Key("userStatus").eq(f"{user}#SCHEDULED") & Key("sk").gte(f"{NOW:013d}")
    found = query(calls, condition, IndexName="byUserStatus", Limit=1)
    assert [each["scheduledFor"] for each in found] == [NOW + 2 * HOUR]


def test_last_completed_call(calls, user):
    for hours in (-5, -1, -9):
        create(calls, call(user, NOW + hours * HOUR, "COMPLETED"))
    found = by_user_status(calls, user, "COMPLETED", ScanIndexForward=False, Limit=1)
    assert [each["scheduledFor"] for each in found] == [NOW - HOUR]


def test_create_is_idempotent(calls, user):
    new = create(calls, call(user, NOW))
    with condition_failed():
        create(calls, {**new, "providerId": "another"})
    assert query(calls, Key("userId").eq(user)) == [new]


def change_status(calls, user, old, status):
    calls.update_item(
        Key={"userId": user, "sk": old["sk"]},
        UpdateExpression="SET #status = :status, userStatus = :userStatus",
        ConditionExpression="#status = :was",
        ExpressionAttributeNames={"#status": "status"},
        ExpressionAttributeValues={":status": status, ":userStatus": f"{user}#{status}",
                                   ":was": old["status"]})


def test_status_change_moves_between_timelines(calls, user):
    new = create(calls, call(user, NOW))
    change_status(calls, user, new, "COMPLETED")
    assert by_user_status(calls, user, "SCHEDULED") == []
    assert [each["status"] for each in by_user_status(calls, user, "COMPLETED")] == ["COMPLETED"]
    with condition_failed():  # a second writer that still believes it SCHEDULED
        change_status(calls, user, new, "COMPLETED")


def move(calls, old, new):
    """TransactWrite: Put new, Delete old, neither without the other."""
    calls.meta.client.transact_write_items(TransactItems=[
        {"Put": {"TableName": "Calls", "Item": new,
                 "ConditionExpression": "attribute_not_exists(userId)"}},
        {"Delete": {"TableName": "Calls", "Key": {"userId": old["userId"], "sk": old["sk"]},
                    "ConditionExpression": "version = :version",
                    "ExpressionAttributeValues": {":version": old["version"]}}}])


def test_reschedule_is_a_transaction(calls, user):
    old = create(calls, call(user, NOW))
    new = {**call(user, NOW + HOUR, call_id=old["callId"]), "version": 2}
    move(calls, old, new)
    assert query(calls, Key("userId").eq(user)) == [new]
    assert query(calls, Key("callId").eq(old["callId"]), IndexName="byCallId") == [new]
    with fails_with("TransactionCanceledException") as caught:  # the old one is gone already
        move(calls, old, {**call(user, NOW + 2 * HOUR, call_id=old["callId"]), "version": 2})
    assert [reason["Code"] for reason in caught.response["CancellationReasons"]] == [
        "None", "ConditionalCheckFailed"]
    assert query(calls, Key("userId").eq(user)) == [new]


def test_racing_reschedules_leave_one_call(calls, user):
    old = create(calls, call(user, NOW))

    def reschedule(hours):
        try:
            move(calls, old, {**call(user, NOW + hours * HOUR, call_id=old["callId"]), "version": 2})
            return hours
        except ClientError as error:
            assert error.response["Error"]["Code"] == "TransactionCanceledException"
            return None
    with ThreadPoolExecutor(12) as pool:
        winners = [hours for hours in pool.map(reschedule, range(1, 13)) if hours]
    assert len(winners) == 1
    found = query(calls, Key("callId").eq(old["callId"]), IndexName="byCallId")
    assert [each["scheduledFor"] for each in found] == [NOW + winners[0] * HOUR]
    assert len(query(calls, Key("userId").eq(user))) == 1


def test_reassign_user(calls, user):
    old = create(calls, call(user, NOW))
    new = {**call(user + "-next", NOW, call_id=old["callId"]), "version": 2}
    move(calls, old, new)
    assert query(calls, Key("userId").eq(user)) == []
    assert by_user_status(calls, user, "SCHEDULED") == []
    assert by_user_status(calls, user + "-next", "SCHEDULED") == [new]


def test_provider_change_moves_the_index_entry(calls, user):
    old = create(calls, call(user, NOW, provider_id=f"{user}-before"))
    calls.update_item(Key={"userId": user, "sk": old["sk"]}, UpdateExpression="SET providerId = :p",
                      ExpressionAttributeValues={":p": f"{user}-after"})
    assert query(calls, Key("providerId").eq(f"{user}-before"), IndexName="byProvider") == []
    found = query(calls, Key("providerId").eq(f"{user}-after"), IndexName="byProvider")
    assert [each["callId"] for each in found] == [old["callId"]]


def test_optimistic_locking_by_version(calls, user):
    new = create(calls, call(user, NOW))

    def take(_):
        try:
            calls.update_item(Key={"userId": user, "sk": new["sk"]},
                              UpdateExpression="SET version = version + :one",
                              ConditionExpression="version = :seen",
                              ExpressionAttributeValues={":one": 1, ":seen": 1})
            return True
        except ClientError as error:
            assert error.response["Error"]["Code"] == "ConditionalCheckFailedException"
            return False
    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(take, range(16))) == 1
    assert query(calls, Key("userId").eq(user))[0]["version"] == 2
