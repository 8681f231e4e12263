"""ITSM tickets: table `poc-itsm-tickets` with CallerIdIndex; create, status, comment, list."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from boto_errors import condition_failed
from schema import index, keys, strings

TICKET_ID = "33567ee8-f182-4f8a-b03e-2f1515915471"
TICKET = {
    "ticket_id": TICKET_ID,
    "caller_id": "poc-user-001",
    "issue_description": "My laptop won't turn on",
    "status": "open",
    "created_at": "2026-02-09T12:20:25.343883Z",
    "updated_at": "2026-02-09T12:20:25.343883Z",
    "comments": [],
}
WITH_COMMENTS = {
    "ticket_id": "1d8d2fe2-4543-4e6d-aad0-9deed9d57070",
    "caller_id": "poc-user-001",
    "issue_description": "Email not working in Outlook",
    "status": "open",
    "created_at": "2026-02-09T12:32:57.917604Z",
    "updated_at": "2026-02-09T12:35:00.123456Z",
    "comments": [
        {"comment_text": "Tried restarting Outlook but still not working",
         "added_at": "2026-02-09T12:35:00.123456Z"},
        {"comment_text": "Checked internet connection - it's working fine",
         "added_at": "2026-02-09T12:36:30.789012Z"},
    ],
}


@pytest.fixture(scope="module")
def tickets(make_application_table):
    return make_application_table(
        TableName="poc-itsm-tickets", BillingMode="PAY_PER_REQUEST", KeySchema=keys("ticket_id"),
        AttributeDefinitions=strings("ticket_id", "caller_id", "created_at"),
        GlobalSecondaryIndexes=[index("CallerIdIndex", "caller_id", "created_at")],
        Tags=[{"Key": "Environment", "Value": "PoC"}, {"Key": "Project", "Value": "AI-L1-Support"}])


def get_ticket_status(tickets, ticket_id):
    return tickets.get_item(Key={"ticket_id": ticket_id}).get("Item")


def add_comment(tickets, ticket_id, text, timestamp, **more):
    return tickets.update_item(
        Key={"ticket_id": ticket_id},
        UpdateExpression="SET comments = list_append(if_not_exists(comments, :empty_list), :comment), "
                         "updated_at = :timestamp",
        ExpressionAttributeValues={":comment": [{"comment_text": text, "added_at": timestamp}],
                                   ":timestamp": timestamp, ":empty_list": []}, **more)


def list_recent_tickets(tickets, caller_id):
    return tickets.query(IndexName="CallerIdIndex", KeyConditionExpression="caller_id = :caller_id",
                         ExpressionAttributeValues={":caller_id": caller_id}, ScanIndexForward=False,
                         Limit=10)["Items"]


@pytest.mark.parametrize("ticket", [TICKET, WITH_COMMENTS], ids=["no comments", "with comments"])
def test_create_ticket_and_get_ticket_status(tickets, ticket):
    tickets.put_item(Item=ticket)
    assert get_ticket_status(tickets, ticket["ticket_id"]) == ticket


def test_item_in_dynamodb_json(tickets, boto):
    """The document's item in AWS format comes back in the same format."""
    wire = {
        "ticket_id": {"S": "wire-format"}, "caller_id": {"S": "poc-user-001"},
        "issue_description": {"S": "My laptop won't turn on"}, "status": {"S": "open"},
        "created_at": {"S": "2026-02-09T12:20:25.343883Z"},
        "updated_at": {"S": "2026-02-09T12:20:25.343883Z"},
        "comments": {"L": [{"M": {"comment_text": {"S": "Tried restarting"},
                                  "added_at": {"S": "2026-02-09T12:30:00.123456Z"}}}]}}
    boto.put_item(TableName="poc-itsm-tickets", Item=wire)
    found = boto.get_item(TableName="poc-itsm-tickets", Key={"ticket_id": {"S": "wire-format"}})
    assert found["Item"] == wire


def test_get_status_of_unknown_ticket(tickets):
    assert get_ticket_status(tickets, str(uuid.uuid4())) is None


def test_add_comment(tickets):
    tickets.put_item(Item=TICKET)
    add_comment(tickets, TICKET_ID, "Tried restarting", "2026-02-09T12:30:00Z")
    add_comment(tickets, TICKET_ID, "Still dark", "2026-02-09T12:40:00Z")
    found = get_ticket_status(tickets, TICKET_ID)
    assert found == {**TICKET, "updated_at": "2026-02-09T12:40:00Z", "comments": [
        {"comment_text": "Tried restarting", "added_at": "2026-02-09T12:30:00Z"},
        {"comment_text": "Still dark", "added_at": "2026-02-09T12:40:00Z"}]}


def test_add_comment_to_a_ticket_without_list(tickets):
    bare = {name: value for name, value in TICKET.items() if name != "comments"}
    tickets.put_item(Item={**bare, "ticket_id": "bare"})
    add_comment(tickets, "bare", "first", "2026-02-09T12:30:00Z")
    assert [each["comment_text"] for each in get_ticket_status(tickets, "bare")["comments"]] == ["first"]


def test_add_comment_only_to_a_ticket_that_exists(tickets):
    with condition_failed():
        add_comment(tickets, "unknown", "lost", "2026-02-09T12:30:00Z",
                    ConditionExpression="attribute_exists(ticket_id)")
    assert get_ticket_status(tickets, "unknown") is None


def test_list_recent_tickets(tickets):
    for minute in range(25):
        tickets.put_item(Item={**TICKET, "ticket_id": f"listed-{minute}", "caller_id": "poc-user-list",
                               "created_at": f"2026-02-09T12:{minute:02}:00.000000Z"})
    found = list_recent_tickets(tickets, "poc-user-list")
    assert [each["ticket_id"] for each in found] == [f"listed-{minute}" for minute in range(24, 14, -1)]
    assert found[0]["issue_description"] == TICKET["issue_description"]  # all attributes are projected
    assert list_recent_tickets(tickets, "poc-user-nobody") == []


def test_comment_shows_in_the_list(tickets):
    tickets.put_item(Item={**TICKET, "ticket_id": "shown", "caller_id": "poc-user-shown"})
    add_comment(tickets, "shown", "seen by all", "2026-02-09T13:00:00Z")
    found, = list_recent_tickets(tickets, "poc-user-shown")
    assert [each["comment_text"] for each in found["comments"]] == ["seen by all"]
    assert found["updated_at"] == "2026-02-09T13:00:00Z"


def test_comments_appended_by_many_are_all_kept(tickets):
    """16 clients append 20 comments each to one ticket: none is lost, each client's stay in order."""
    tickets.put_item(Item={**TICKET, "ticket_id": "busy"})

    def comment(client):
        for number in range(20):
            add_comment(tickets, "busy", f"{client}:{number}", "2026-02-09T13:00:00Z")
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(comment, range(16)))
    texts = [each["comment_text"] for each in get_ticket_status(tickets, "busy")["comments"]]
    assert sorted(texts) == sorted(f"{client}:{number}" for client in range(16) for number in range(20))
    for client in range(16):
        mine = [int(text.split(":")[1]) for text in texts if text.startswith(f"{client}:")]
        assert mine == list(range(20))


def test_table_is_as_specified(tickets, boto):
    description = boto.describe_table(TableName="poc-itsm-tickets")["Table"]
    assert description["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert description["TableArn"].split(":")[3] == "us-east-1"
    caller_index, = description["GlobalSecondaryIndexes"]
    assert caller_index["Projection"]["ProjectionType"] == "ALL"
