"""A walk through the document "DynamoDB data model for cal-app-sam": its schema, patterns and the way events are kept apart."""

import uuid

import pytest

from documents import Walk, definition
from racing import together


@pytest.fixture(scope="module")
def walk():
    with Walk("calendar", "cal-app-sam") as walk:
        yield walk


def create(walk, start, end, title="Ana"):
    reply = walk.api.post("/events", {"title": title, "start": start, "end": end})
    assert reply.status == 201, reply
    return reply.body


def slots(walk, month):
    """The nights of a month that are taken."""
    return sorted(row["SK"] for row in walk.rows() if row["PK"] == "SLOT" and row["SK"].startswith(month))


def parts(walk):
    """The parts of the one transaction that was sent: {(kind, PK, SK): part}"""
    transaction, = [access for access in walk.asked() if access.operation == "TransactWriteItems"]
    found = {}
    for item in transaction.request["TransactItems"]:
        (kind, part), = item.items()
        key = part.get("Key") or part["Item"]
        found[kind, key["PK"]["S"], key["SK"]["S"]] = part
    return found


def test_table_schema(walk):
    assert walk.described() == definition("PK", "SK", startDateIndex=(["PK", "startDate"], "ALL"))


def test_event_objects_and_time_slots(walk):
    event = create(walk, "2030-01-30", "2030-02-02")
    row, = [row for row in walk.rows() if row["PK"] == "EVENT" and row["SK"] == event["id"]]
    assert str(uuid.UUID(row["SK"])) == row["SK"]
    assert {name: row[name] for name in ("startDate", "endDate", "title", "version")} == {
        "startDate": "2030-01-30", "endDate": "2030-02-02", "title": "Ana", "version": 1}
    assert slots(walk, "2030-01") + slots(walk, "2030-02") == ["2030-01-30", "2030-01-31", "2030-02-01"]  # not the last day


def test_list_events_within_a_range(walk):
    events = [create(walk, f"2030-03-{day:02}", f"2030-03-{day + 2:02}") for day in (1, 10, 20)]
    walk.asked()
    found = walk.api.get("/events", **{"from": "2030-03-05", "to": "2030-03-25"}).body["items"]
    assert [event["id"] for event in found] == [event["id"] for event in events[1:]]
    query, = walk.asked()
    assert (query.operation, query.index) == ("Query", "startDateIndex")
    assert query.request["ExpressionAttributeValues"][":event"] == {"S": "EVENT"}


def test_create_event_is_one_transaction_of_conditional_puts(walk):
    walk.asked()
    event = create(walk, "2030-04-01", "2030-04-03")
    sent = parts(walk)
    assert set(sent) == {("Put", "EVENT", event["id"]), ("Put", "SLOT", "2030-04-01"), ("Put", "SLOT", "2030-04-02")}
    assert all(part["ConditionExpression"].startswith("attribute_not_exists(") for part in sent.values())


def test_an_event_that_overlaps_is_not_created(walk):
    create(walk, "2030-05-10", "2030-05-12", "Ben")
    before = walk.rows()
    for start, end in (("2030-05-09", "2030-05-11"), ("2030-05-10", "2030-05-12"), ("2030-05-11", "2030-05-20"),
                       ("2030-05-01", "2030-05-30")):
        reply = walk.api.post("/events", {"title": "Chloe", "start": start, "end": end})
        assert (reply.status, reply.code) == (409, "overlap")
    assert walk.rows() == before, "nothing of them was written"
    create(walk, "2030-05-12", "2030-05-13")  # ends are exclusive: this night is free
    create(walk, "2030-05-09", "2030-05-10")


def test_delete_event(walk):
    event = create(walk, "2030-06-01", "2030-06-03")
    walk.asked()
    assert walk.api.delete(f"/events/{event['id']}", {"If-Match": '"7"'}).status == 412
    assert slots(walk, "2030-06") == ["2030-06-01", "2030-06-02"]
    walk.asked()
    assert walk.api.delete(f"/events/{event['id']}", {"If-Match": '"1"'}).status == 204
    asked = walk.asked()
    assert [access.operation for access in asked] == ["GetItem", "TransactWriteItems"]
    kinds = [(kind, (part.get("Key") or part["Item"])["PK"]["S"]) for item in asked[1].request["TransactItems"]
             for kind, part in item.items()]
    assert kinds == [("Delete", "EVENT"), ("Delete", "SLOT"), ("Delete", "SLOT")]
    event_part = asked[1].request["TransactItems"][0]["Delete"]
    assert "version" in event_part["ConditionExpression"] + str(event_part.get("ExpressionAttributeNames"))
    assert slots(walk, "2030-06") == [] and event["id"] not in [row["SK"] for row in walk.rows()]


def test_update_event_touches_only_the_nights_that_differ(walk):
    event = create(walk, "2030-07-01", "2030-07-05")
    walk.asked()
    reply = walk.api.put(f"/events/{event['id']}", {"title": "Ana and Ben", "start": "2030-07-03", "end": "2030-07-07"},
                         {"If-Match": '"1"'})
    assert (reply.status, reply.body["version"]) == (200, 2)
    sent = parts(walk)
    assert set(sent) == {("Update", "EVENT", event["id"]), ("Put", "SLOT", "2030-07-05"), ("Put", "SLOT", "2030-07-06"),
                         ("Delete", "SLOT", "2030-07-01"), ("Delete", "SLOT", "2030-07-02")}
    assert all("attribute_not_exists(" in part["ConditionExpression"] for (kind, _, _), part in sent.items() if kind == "Put")
    assert slots(walk, "2030-07") == ["2030-07-03", "2030-07-04", "2030-07-05", "2030-07-06"]
    stale = walk.api.put(f"/events/{event['id']}", {"title": "x", "start": "2030-07-03", "end": "2030-07-04"}, {"If-Match": '"1"'})
    assert stale.status == 412
    create(walk, "2030-07-20", "2030-07-21")
    clash = walk.api.put(f"/events/{event['id']}", {"title": "x", "start": "2030-07-18", "end": "2030-07-22"}, {"If-Match": '"2"'})
    assert clash.code == "overlap"
    assert slots(walk, "2030-07") == ["2030-07-03", "2030-07-04", "2030-07-05", "2030-07-06", "2030-07-20"]


def test_concurrent_creation_of_new_events(walk):
    """Without locking: of many who want overlapping nights those that are made do not overlap."""
    def wish(number):
        return walk.api.post("/events", {"title": f"person {number}", "start": f"2030-08-{10 + number % 4:02}",
                                         "end": f"2030-08-{13 + number % 4:02}"})
    replies = together(12, wish)
    made = [reply.body for reply in replies if reply.status == 201]
    assert made and {reply.status for reply in replies} == {201, 409}
    nights = [night for event in made for night in range(int(event["start"][-2:]), int(event["end"][-2:]))]
    assert len(nights) == len(set(nights))
    assert slots(walk, "2030-08") == sorted(f"2030-08-{night:02}" for night in nights)


def test_an_item_that_cannot_be_read_is_left_out(walk):
    """It must not keep the others from being shown and moved."""
    for number, more in enumerate(({"endDate": "soon"}, {"title": "t" * 2000}, {"title": 7})):
        walk.put(**{"PK": "EVENT", "SK": f"{number:08}-f182-4f8a-b03e-2f1515915471", "startDate": "2041-05-10", "endDate": "2041-05-11",
                    "title": "A guest", "version": 1, **more})
    made = walk.api.post("/events", {"title": "Ana", "start": "2041-05-20", "end": "2041-05-22"}).body
    listed = walk.api.get("/events?from=2041-05-01&to=2041-06-01").body["items"]
    assert [event["id"] for event in listed] == [made["id"]]
