"""cal-app-sam: events of a calendar, without overlaps. Each night of an event is an item of its own
(PK SLOT), so that two clients cannot book the same night: the transaction of one of them fails."""

import datetime
import random
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from boto3.dynamodb.conditions import Key
from botocore.exceptions import ClientError

from boto_errors import fails_with
from schema import index, keys, strings

TABLE = "cal-app-sam"


@pytest.fixture(scope="module")
def calendar(make_application_table):
    return make_application_table(
        TableName=TABLE, BillingMode="PAY_PER_REQUEST", KeySchema=keys("PK", "SK"),
        AttributeDefinitions=strings("PK", "SK", "startDate"),
        LocalSecondaryIndexes=[index("startDateIndex", "PK", "startDate")])


@pytest.fixture(autouse=True)
def empty(calendar):
    with calendar.batch_writer() as batch:
        for each in calendar.scan(ConsistentRead=True)["Items"]:
            batch.delete_item(Key={"PK": each["PK"], "SK": each["SK"]})


def day(number):
    """Day 1 is 2025-01-01."""
    return (datetime.date(2025, 1, 1) + datetime.timedelta(days=number - 1)).isoformat()


def nights(start, end):
    first, last = (datetime.date.fromisoformat(text) for text in (start, end))
    return [(first + datetime.timedelta(days=offset)).isoformat() for offset in range((last - first).days)]


def put_slot(night):
    return {"Put": {"TableName": TABLE, "Item": {"PK": "SLOT", "SK": night},
                    "ConditionExpression": "attribute_not_exists(PK)"}}


def delete_slot(night):
    return {"Delete": {"TableName": TABLE, "Key": {"PK": "SLOT", "SK": night}}}


def write(calendar, actions):
    calendar.meta.client.transact_write_items(TransactItems=actions)


def create_event(calendar, title, start, end, event_id=None):
    event_id = event_id or str(uuid.uuid4())
    event = {"PK": "EVENT", "SK": event_id, "title": title, "startDate": start, "endDate": end,
             "version": 1}
    write(calendar, [{"Put": {"TableName": TABLE, "Item": event,
                              "ConditionExpression": "attribute_not_exists(PK)"}},
                     *map(put_slot, nights(start, end))])
    return event_id


def get_event(calendar, event_id):
    return calendar.get_item(Key={"PK": "EVENT", "SK": event_id}, ConsistentRead=True).get("Item")


def delete_event(calendar, event):
    write(calendar, [{"Delete": {"TableName": TABLE, "Key": {"PK": "EVENT", "SK": event["SK"]},
                                 "ConditionExpression": "version = :version",
                                 "ExpressionAttributeValues": {":version": event["version"]}}},
                     *map(delete_slot, nights(event["startDate"], event["endDate"]))])


def update_event(calendar, event, title, start, end):
    before, after = set(nights(event["startDate"], event["endDate"])), set(nights(start, end))
    write(calendar, [
        {"Update": {"TableName": TABLE, "Key": {"PK": "EVENT", "SK": event["SK"]},
                    "UpdateExpression": "SET title = :t, startDate = :s, endDate = :e, "
                                        "version = version + :one",
                    "ConditionExpression": "version = :version",
                    "ExpressionAttributeValues": {":t": title, ":s": start, ":e": end, ":one": 1,
                                                  ":version": event["version"]}}},
        *map(put_slot, sorted(after - before)), *map(delete_slot, sorted(before - after))])


def list_events(calendar, start, end):
    return calendar.query(IndexName="startDateIndex", ConsistentRead=True, KeyConditionExpression=(
        Key("PK").eq("EVENT") & Key("startDate").between(start, end)))["Items"]


def slots(calendar):
    return [each["SK"] for each in calendar.query(
        KeyConditionExpression=Key("PK").eq("SLOT"), ConsistentRead=True)["Items"]]


def overlaps(calendar, *arguments):
    """Whether creating fails because a night is taken."""
    try:
        create_event(calendar, *arguments)
        return False
    except ClientError as error:
        assert error.response["Error"]["Code"] == "TransactionCanceledException"
        codes = {reason["Code"] for reason in error.response["CancellationReasons"]}
        assert codes <= {"None", "ConditionalCheckFailed", "TransactionConflict"}
        return True


def test_createEvent(calendar):
    event_id = create_event(calendar, "Ada", day(2), day(5))
    assert get_event(calendar, event_id) == {"PK": "EVENT", "SK": event_id, "title": "Ada",
                                             "startDate": day(2), "endDate": day(5), "version": 1}
    assert slots(calendar) == [day(2), day(3), day(4)]


def test_createEvent_refuses_overlaps(calendar):
    create_event(calendar, "Ada", day(5), day(8))
    for start, end in ((5, 8), (4, 6), (7, 9), (6, 7), (1, 20)):
        assert overlaps(calendar, "Bob", day(start), day(end))
    assert slots(calendar) == [day(5), day(6), day(7)]
    assert len(list_events(calendar, day(1), day(31))) == 1


def test_createEvent_next_to_each_other(calendar):
    """The end date is exclusive: one may start on the day another ends."""
    create_event(calendar, "Ada", day(5), day(8))
    assert not overlaps(calendar, "Bob", day(8), day(9))
    assert not overlaps(calendar, "Eve", day(4), day(5))


def test_createEvent_refuses_an_id_twice(calendar):
    event_id = create_event(calendar, "Ada", day(1), day(2))
    with fails_with("TransactionCanceledException") as caught:
        create_event(calendar, "Bob", day(10), day(11), event_id)
    assert [reason["Code"] for reason in caught.response["CancellationReasons"]] == [
        "ConditionalCheckFailed", "None"]
    assert slots(calendar) == [day(1)]


def test_listEvents_within_a_date_range(calendar):
    for start in (20, 3, 11, 7):
        create_event(calendar, f"on {start}", day(start), day(start + 2))
    found = list_events(calendar, day(4), day(15))
    assert [each["title"] for each in found] == ["on 7", "on 11"]
    assert [each["title"] for each in list_events(calendar, day(1), day(31))] == [
        "on 3", "on 7", "on 11", "on 20"]


def test_slots_are_not_listed_as_events(calendar):
    create_event(calendar, "Ada", day(1), day(10))
    assert len(list_events(calendar, "2000-01-01", "2100-01-01")) == 1


def test_deleteEvent(calendar):
    event = get_event(calendar, create_event(calendar, "Ada", day(1), day(4)))
    create_event(calendar, "Bob", day(6), day(7))
    delete_event(calendar, event)
    assert get_event(calendar, event["SK"]) is None
    assert slots(calendar) == [day(6)]
    assert not overlaps(calendar, "Eve", day(2), day(3))


def test_deleteEvent_checks_the_version(calendar):
    stale = get_event(calendar, create_event(calendar, "Ada", day(1), day(3)))
    update_event(calendar, stale, "Ada", day(2), day(4))
    with fails_with("TransactionCanceledException"):
        delete_event(calendar, stale)
    assert slots(calendar) == [day(2), day(3)]


def test_updateEvent_moves_the_slots(calendar):
    event = get_event(calendar, create_event(calendar, "Ada", day(10), day(14)))
    update_event(calendar, event, "Ada and Bob", day(12), day(16))
    assert get_event(calendar, event["SK"]) == {**event, "title": "Ada and Bob", "startDate": day(12),
                                                "endDate": day(16), "version": 2}
    assert slots(calendar) == [day(12), day(13), day(14), day(15)]
    assert [each["title"] for each in list_events(calendar, day(12), day(12))] == ["Ada and Bob"]
    assert list_events(calendar, day(10), day(11)) == []


def test_updateEvent_refuses_overlaps(calendar):
    event = get_event(calendar, create_event(calendar, "Ada", day(10), day(12)))
    create_event(calendar, "Bob", day(14), day(16))
    with fails_with("TransactionCanceledException"):
        update_event(calendar, event, "Ada", day(11), day(15))
    assert get_event(calendar, event["SK"]) == event
    assert slots(calendar) == [day(10), day(11), day(14), day(15)]


def test_racing_clients_cannot_book_one_night_twice(calendar):
    """20 clients want the same three nights: one gets them."""
    with ThreadPoolExecutor(20) as pool:
        taken = list(pool.map(lambda number: overlaps(calendar, f"client {number}", day(10), day(13)),
                              range(20)))
    assert taken.count(False) == 1
    assert slots(calendar) == [day(10), day(11), day(12)]
    assert len(list_events(calendar, day(1), day(31))) == 1


def test_racing_clients_with_overlapping_wishes(calendar):
    """200 random bookings of 16 clients: afterwards nights and events agree, none is double."""
    dice = random.Random(7)
    wishes = [(start, start + dice.randint(1, 5)) for start in (dice.randint(1, 60) for _ in range(200))]
    with ThreadPoolExecutor(16) as pool:
        taken = list(pool.map(lambda wish: overlaps(calendar, "client", day(wish[0]), day(wish[1])),
                              wishes))
    events = list_events(calendar, day(1), day(100))
    assert len(events) == taken.count(False) > 5
    booked = [night for event in events for night in nights(event["startDate"], event["endDate"])]
    assert len(booked) == len(set(booked)), "a night was booked twice"
    assert sorted(booked) == slots(calendar)
    events.sort(key=lambda event: event["startDate"])
    assert all(one["endDate"] <= two["startDate"] for one, two in zip(events, events[1:]))


def test_racing_updates_of_one_event(calendar):
    """Ten clients read version 1 and move the event; one succeeds, and its nights are the only ones."""
    event = get_event(calendar, create_event(calendar, "Ada", day(10), day(12)))

    def update(number):
        try:
            update_event(calendar, event, f"moved {number}", day(20 + 3 * number), day(22 + 3 * number))
            return number
        except ClientError as error:
            assert error.response["Error"]["Code"] == "TransactionCanceledException"
            return None
    with ThreadPoolExecutor(10) as pool:
        winners = [number for number in pool.map(update, range(10)) if number is not None]
    assert len(winners) == 1
    stored = get_event(calendar, event["SK"])
    assert stored["version"] == 2 and stored["title"] == f"moved {winners[0]}"
    assert slots(calendar) == nights(stored["startDate"], stored["endDate"])
