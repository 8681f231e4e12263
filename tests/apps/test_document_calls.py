"""A walk through the document "DynamoDB Call Storage": each access pattern, field, update and query that it names."""

import time

import pytest

from documents import Walk, definition

HOUR = 3600 * 1000
ALL = "ALL"


@pytest.fixture(scope="module")
def walk():
    with Walk("calls", "Calls") as walk:
        yield walk


def sk(scheduled_for, call_id):
    """The document's key builder: String.format("%013d#%s")."""
    return "%013d#%s" % (scheduled_for, call_id)


def create(walk, call_id, user, at, provider="dr-lund"):
    reply = walk.api.post("/calls", {"callId": call_id, "userId": user, "providerId": provider, "scheduledFor": at})
    assert reply.status == 201, reply
    return reply.body


def stored(walk, call_id):
    """The one row of the call; the item that keeps its id is in no index."""
    found = [row for row in walk.rows("byCallId") if row["callId"] == call_id]
    assert len(found) == 1, found
    return found[0]


def change(walk, call_id, version, part, **body):
    reply = walk.api.put(f"/calls/{call_id}/{part}", body, {"If-Match": f'"{version}"'})
    assert reply.status == 200, reply
    return reply.body


def test_section_2_and_6_the_table(walk):
    assert walk.described() == definition(
        "userId", "sk", byCallId=(["callId"], ALL), byProvider=(["providerId", "sk"], ALL),
        byUserStatus=(["userStatus", "sk"], ALL))


@pytest.mark.parametrize("at", [0, 1, 1_700_000_000_000, 9_999_999_999_999])
def test_section_2_and_3_attributes_and_composite_fields(walk, at):
    create(walk, f"fields-{at}", "ana", at)
    row = stored(walk, f"fields-{at}")
    assert {name: row[name] for name in ("userId", "sk", "callId", "providerId", "status", "scheduledFor", "userStatus")} == {
        "userId": "ana", "sk": sk(at, f"fields-{at}"), "callId": f"fields-{at}", "providerId": "dr-lund",
        "status": "SCHEDULED", "scheduledFor": at, "userStatus": "ana#SCHEDULED"}


def test_section_4_create_is_idempotent(walk):
    made = create(walk, "once", "ana", HOUR)
    walk.asked()
    again = walk.api.post("/calls", {"callId": "once", "userId": "ana", "providerId": "dr-lund", "scheduledFor": HOUR})
    assert (again.status, again.body) == (200, made)
    put = next(part["Put"] for access in walk.asked() if access.operation == "TransactWriteItems"
               for part in access.request["TransactItems"] if part["Put"]["Item"]["userId"] == {"S": "ana"})
    assert put["ConditionExpression"] == "attribute_not_exists(userId) AND attribute_not_exists(sk)"
    other = walk.api.post("/calls", {"callId": "once", "userId": "ben", "providerId": "dr-lund", "scheduledFor": HOUR})
    assert other.status == 409, "callId is unique"
    assert stored(walk, "once")["userId"] == "ana"


def test_section_4_status_change(walk):
    create(walk, "status", "ana", HOUR)
    walk.asked()
    change(walk, "status", 1, "status", status="COMPLETED")
    update, = [access for access in walk.asked() if access.operation == "UpdateItem"]
    assert "ConditionExpression" in update.request
    row = stored(walk, "status")
    assert (row["status"], row["userStatus"], row["version"]) == ("COMPLETED", "ana#COMPLETED", 2)


@pytest.mark.parametrize("part, body, key", [
    ("schedule", {"scheduledFor": 7 * HOUR}, ("ana", 7 * HOUR)), ("user", {"userId": "ben"}, ("ben", HOUR))])
def test_section_4_reschedule_and_reassign_move_the_row(walk, part, body, key):
    create(walk, f"move-{part}", "ana", HOUR)
    walk.asked()
    change(walk, f"move-{part}", 1, part, **body)
    move, = [access for access in walk.asked() if access.operation == "TransactWriteItems"]
    assert sorted(kind for item in move.request["TransactItems"] for kind in item) == ["Delete", "Put"]
    user, at = key
    row = stored(walk, f"move-{part}")
    assert (row["userId"], row["sk"], row["scheduledFor"], row["userStatus"]) == (
        user, sk(at, f"move-{part}"), at, f"{user}#SCHEDULED")


def test_section_4_provider_change_is_a_simple_update(walk):
    create(walk, "provider", "ana", HOUR, "dr-before")
    walk.asked()
    change(walk, "provider", 1, "provider", providerId="dr-after")
    assert [access.operation for access in walk.asked() if access.operation != "Query"] == ["UpdateItem"]
    for provider, ids in (("dr-before", []), ("dr-after", ["provider"])):  # the index moved the entry
        assert [call["callId"] for call in walk.api.get(f"/providers/{provider}/calls").body["items"]] == ids


def test_section_4_concurrency_by_versions(walk):
    create(walk, "version", "ana", HOUR)
    change(walk, "version", 1, "status", status="COMPLETED")
    stale = walk.api.put("/calls/version/status", {"status": "SCHEDULED"}, {"If-Match": '"1"'})
    assert (stale.status, stored(walk, "version")["status"]) == (412, "COMPLETED")


def test_section_1_and_5_queries(walk):
    now = int(time.time() * 1000)
    hours = (-5, 3, 1, -2, 2)
    for hour in hours:
        create(walk, f"q{hour}", "queries", now + hour * HOUR, "dr-queries")
    for hour in (-5, -2):
        change(walk, f"q{hour}", 1, "status", status="COMPLETED")

    def asked(path, **expected):
        """The ids that a path of the API gives, and that it took one Query of this form."""
        walk.asked()
        body = walk.api.get(path).body
        query, = walk.asked()
        found = {"IndexName": query.index, "ScanIndexForward": query.request.get("ScanIndexForward", True),
                 "Limit": query.request.get("Limit"), "key": query.key,
                 "values": [value["S"] for value in query.request["ExpressionAttributeValues"].values()]}
        assert query.operation == "Query" and {name: found[name] for name in expected} == expected
        return [call["callId"] for call in body.get("items", [body])]
    assert asked("/users/queries/calls", IndexName=None, key="userId = :user") == ["q-5", "q-2", "q1", "q2", "q3"]
    assert asked("/users/queries/calls/upcoming", IndexName="byUserStatus", ScanIndexForward=True,
                 values=["queries#SCHEDULED"]) == ["q1", "q2", "q3"]
    assert asked("/users/queries/calls/completed", IndexName="byUserStatus", ScanIndexForward=False,
                 values=["queries#COMPLETED"]) == ["q-2", "q-5"]
    assert asked("/users/queries/calls/next", IndexName="byUserStatus", ScanIndexForward=True, Limit=1,
                 key="userStatus = :user_status AND sk >= :now") == ["q1"]
    assert asked("/users/queries/calls/last", IndexName="byUserStatus", ScanIndexForward=False, Limit=1,
                 values=["queries#COMPLETED"]) == ["q-2"]
    assert asked("/providers/dr-queries/calls", IndexName="byProvider", ScanIndexForward=False,
                 values=["dr-queries"]) == ["q3", "q2", "q1", "q-2", "q-5"]
    assert asked("/calls/q2", IndexName="byCallId", values=["q2"]) == ["q2"]


def test_rows_as_the_document_writes_them(walk):
    """Without the attributes that we add."""
    walk.put(userId="doc", sk=sk(HOUR, "doc-1"), callId="doc-1", providerId="dr-doc", status="SCHEDULED", scheduledFor=HOUR,
             userStatus="doc#SCHEDULED")
    assert walk.api.get("/users/doc/calls/upcoming").body["items"][0]["callId"] == "doc-1"
    change(walk, "doc-1", 0, "status", status="COMPLETED")
    assert stored(walk, "doc-1")["userStatus"] == "doc#COMPLETED"


def test_what_other_programs_add_moves_with_the_call(walk):
    """Attributes that we do not know, a status of theirs, and texts that are longer than ours."""
    more = {"notes": "bring the scan", "attendees": ["ana", "ben"], "meta": {"room": 7}, "providerId": "p" * 400, "status": "NO_SHOW"}
    walk.put(userId="doc", sk=sk(HOUR, "rich"), callId="rich", scheduledFor=HOUR, userStatus="doc#NO_SHOW", **more)
    change(walk, "rich", 0, "schedule", scheduledFor=3 * HOUR)
    assert stored(walk, "rich") == {"userId": "doc", "sk": sk(3 * HOUR, "rich"), "callId": "rich", "scheduledFor": 3 * HOUR,
                                    "userStatus": "doc#NO_SHOW", "version": 1, **more}
    change(walk, "rich", 1, "user", userId="other")
    assert stored(walk, "rich") == {"userId": "other", "sk": sk(3 * HOUR, "rich"), "callId": "rich", "scheduledFor": 3 * HOUR,
                                    "userStatus": "other#NO_SHOW", "version": 2, **more}


def test_a_call_whose_user_has_an_id_that_does_not_fit_is_left_alone(walk):
    user = "u" * 300
    walk.put(userId=user, sk=sk(HOUR, "far"), callId="far", providerId="dr-lund", status="SCHEDULED", scheduledFor=HOUR,
             userStatus=f"{user}#SCHEDULED")
    before = stored(walk, "far")
    for part, body in (("schedule", {"scheduledFor": 9}), ("user", {"userId": "ana"}), ("status", {"status": "COMPLETED"}),
                       ("provider", {"providerId": "dr-osei"})):
        reply = walk.api.put(f"/calls/far/{part}", body, {"If-Match": '"0"'})
        assert (reply.status, reply.code) == (422, "foreign_call"), reply
    assert stored(walk, "far") == before


def test_the_id_of_a_row_of_another_program_stays_taken(walk):
    """As long as it has no version, and after a change of ours, which gives it one."""
    walk.put(userId="ana", sk=sk(HOUR, "foreign"), callId="foreign", providerId="dr-lund", status="SCHEDULED", scheduledFor=HOUR,
             userStatus="ana#SCHEDULED")
    same = {"callId": "foreign", "userId": "ana", "providerId": "dr-lund", "scheduledFor": HOUR}
    for version in (0, 1):
        assert walk.api.post("/calls", same).status == 200
        assert walk.api.post("/calls", {**same, "userId": "ben"}).status == 409
        change(walk, "foreign", version, "status", status="COMPLETED" if version == 0 else "SCHEDULED")
    assert walk.api.post("/calls", {**same, "scheduledFor": 2 * HOUR}).status == 409
    assert stored(walk, "foreign")["version"] == 2
