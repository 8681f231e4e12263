"""A walk through the document "DynamoDB Schema Design - Task 0.3": table, attributes, the four patterns, samples, cost,
permissions and privacy."""

import hashlib
import hmac
import json
import re
import uuid

import pytest

from documents import Walk, definition
from server import ROOT, Apps
from rest import Rest

TABLE = "poc-itsm-tickets"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"
SAMPLES = [
    {"ticket_id": "33567ee8-f182-4f8a-b03e-2f1515915471", "caller_id": "poc-user-001",
     "issue_description": "My laptop won't turn on after pressing the power button", "status": "open",
     "created_at": "2026-02-09T12:20:25.343883Z", "updated_at": "2026-02-09T12:20:25.343883Z", "comments": []},
    {"ticket_id": "1d8d2fe2-4543-4e6d-aad0-9deed9d57070", "caller_id": "poc-user-001",
     "issue_description": "Email not working in Outlook", "status": "open", "created_at": "2026-02-09T12:32:57.917604Z",
     "updated_at": "2026-02-09T12:35:00.123456Z", "comments": [
         {"comment_text": "Tried restarting Outlook but still not working", "added_at": "2026-02-09T12:35:00.123456Z"},
         {"comment_text": "Checked internet connection - it's working fine", "added_at": "2026-02-09T12:36:30.789012Z"}]},
]


@pytest.fixture(scope="module")
def walk():
    with Walk("tickets", TABLE) as walk:
        yield walk


def create(walk, caller="poc-user-002", issue="My laptop won't turn on"):
    reply = walk.api.post("/tickets", {"caller_id": caller, "issue_description": issue})
    assert reply.status == 201, reply
    return reply.body


def stored(walk, ticket_id):
    found, = [row for row in walk.rows() if row["ticket_id"] == ticket_id]
    return found


def test_table_configuration(walk):
    assert TABLE.startswith("poc-")
    assert walk.described() == definition("ticket_id", CallerIdIndex=(["caller_id", "created_at"], "ALL"))
    arn = walk.db.DescribeTable(TableName=TABLE)["Table"]["TableArn"]
    assert arn.split(":")[3] == "us-east-1"
    tags = walk.db.ListTagsOfResource(ResourceArn=arn)["Tags"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == {"Environment": "PoC", "Project": "AI-L1-Support"}


def test_required_attributes_and_pattern_1_create(walk):
    walk.asked()
    ticket = create(walk)
    assert [access.operation for access in walk.asked()] == ["PutItem"]
    row = stored(walk, ticket["ticket_id"])
    assert str(uuid.UUID(row["ticket_id"])) == row["ticket_id"]
    assert (row["caller_id"], row["issue_description"], row["status"], row["comments"]) == (
        "poc-user-002", "My laptop won't turn on", "open", [])
    assert re.fullmatch(TIME, row["created_at"]) and row["updated_at"] == row["created_at"]


def test_pattern_2_get(walk):
    ticket = create(walk)
    walk.asked()
    assert walk.api.get(f"/tickets/{ticket['ticket_id']}").body == ticket
    access, = walk.asked()
    assert access.operation == "GetItem" and access.request["Key"] == {"ticket_id": {"S": ticket["ticket_id"]}}
    assert walk.api.get(f"/tickets/{uuid.uuid4()}").status == 404


def test_pattern_3_add_comment(walk):
    ticket = create(walk)
    for text in ("Tried restarting", "Still not working"):
        walk.asked()
        assert walk.api.post(f"/tickets/{ticket['ticket_id']}/comments", {"comment_text": text}).status == 201
        update, = [access for access in walk.asked() if access.operation == "UpdateItem"]
        assert "list_append(if_not_exists(comments, :empty_list), :comment)" in update.request["UpdateExpression"]
        assert update.request["ExpressionAttributeValues"][":empty_list"] == {"L": []}
    row = stored(walk, ticket["ticket_id"])
    assert [comment["comment_text"] for comment in row["comments"]] == ["Tried restarting", "Still not working"]
    assert all(re.fullmatch(TIME, comment["added_at"]) for comment in row["comments"])
    assert row["updated_at"] == row["comments"][-1]["added_at"] > row["created_at"]


def test_pattern_4_list_recent(walk):
    made = [create(walk, "poc-user-many", f"issue {number}")["ticket_id"] for number in range(12)]
    walk.asked()
    page = walk.api.get("/tickets", caller="poc-user-many").body
    assert [ticket["ticket_id"] for ticket in page["items"]] == made[:1:-1], "the ten newest, newest first"
    query, = walk.asked()
    assert (query.operation, query.index, query.key) == ("Query", "CallerIdIndex", "caller_id = :caller_id")
    assert (query.request["ScanIndexForward"], query.request["Limit"]) == (False, 10)


@pytest.mark.parametrize("sample", SAMPLES, ids=["without comments", "with comments"])
def test_sample_data(walk, sample):
    walk.put(**sample)
    shown = walk.api.get(f"/tickets/{sample['ticket_id']}").body
    assert {name: shown[name] for name in sample} == sample
    assert sample["ticket_id"] in [each["ticket_id"] for each in walk.api.get("/tickets", caller="poc-user-001").body["items"]]


def test_the_demo_has_the_samples():
    with Apps("memory:", "--samples") as process:
        for sample in SAMPLES:
            shown = Rest(f"{process.endpoint}/tickets/api").get(f"/tickets/{sample['ticket_id']}").body
            kept = sample.keys() - {"updated_at"}  # the document's is older than the second comment
            assert {name: shown[name] for name in kept} == {name: sample[name] for name in kept}


def test_cost_considerations(walk):
    body = walk.api.get("/patterns").body
    prices = body["workload"]["prices"]
    assert (prices["writeMillion"], prices["readMillion"], prices["storageGbMonth"]) == (1.25, 0.25, 0.25)
    counts = {each["pattern"]: each["count"] for each in body["workload"]["operations"]}
    assert counts == {"create_ticket": 10, "get_ticket_status": 50, "add_comment": 20, "list_recent_tickets": 10}
    assert 0 < body["cost"]["total"] < 0.01


def test_security_permissions():
    statements = json.loads((ROOT / "apps/tickets/policy.json").read_text())["Statement"]
    table = [each for each in statements if each["Resource"].endswith(f"table/{TABLE}")]
    assert {action for each in table for action in each["Action"]} == {
        "dynamodb:PutItem", "dynamodb:GetItem", "dynamodb:UpdateItem",  # Query only on the index
        "dynamodb:DescribeTable"}  # the last one for live updates
    assert [each["Action"] for each in statements if each["Resource"].endswith("index/CallerIdIndex")] == ["dynamodb:Query"]
    assert not any("*" in action for each in statements for action in each["Action"])


def test_data_privacy(tmp_path):
    """Callers as hashes, and people are asked not to enter secrets."""
    (tmp_path / "key").write_text("0123456789abcdef0123456789abcdef")
    with Walk("tickets", TABLE, "--hash-caller-ids", tmp_path / "key") as walk:
        settings = walk.api.get("/settings").body
        assert settings["callerIdsAreHashed"] is True and "password" in settings["hint"].lower()
        assert walk.api.acting_as("+49301234").post("/tickets", {"issue_description": "x"}).status == 201
        row, = walk.rows()
        mac = hmac.new(hashlib.sha256((tmp_path / "key").read_bytes()).digest(), b"+49301234", hashlib.sha256).hexdigest()
        assert row["caller_id"] == f"h-{mac[:32]}" and "1234" not in json.dumps({**row, "caller_id": ""})
        assert len(walk.api.acting_as("+49301234").get("/tickets").body["items"]) == 1
        assert walk.api.acting_as("+49301235").get("/tickets").body["items"] == []
        tasks = Rest(f"{walk.apps.endpoint}/tasks/api")
        for path, status in (("/users/%2B49301234/tasks", 200), ("/users/+49301234/created?limit=1", 200), ("/users/+49301234/x", 404)):
            assert tasks.acting_as("+49301234").get(path).status == status
        assert tasks.acting_as("+49301234").post("/users/+49301234", {}).status == 405
        log = walk.apps.log()
        assert f'user={row["caller_id"]}' in log and "49301234" not in log
        assert "path=/tasks/api/users/{userId}/tasks " in log and "path=/tasks/api/users/{userId}/created " in log
