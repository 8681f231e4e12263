"""Calls of users with providers, through the REST API."""

import json
import time
import uuid

import pytest

from racing import together

HOUR = 3600 * 1000
START = 1_800_000_000_000  # in 2027
CLIENTS = 20


@pytest.fixture
def user():
    return f"user-{uuid.uuid4()}"


def wish(user, at=START, provider="dr-lund", call_id=None):
    return {"callId": call_id or str(uuid.uuid4()), "userId": user, "providerId": provider,
            "scheduledFor": at}


def create(calls, *args, **more):
    reply = calls.post("/calls", wish(*args, **more))
    assert reply.status == 201, reply
    return reply.body


def change(calls, call, part, version=None, **body):
    version = call["version"] if version is None else version
    return calls.put(f"/calls/{call['callId']}/{part}", body, {"If-Match": f'"{version}"'})


def changed(calls, call, part, **body):
    reply = change(calls, call, part, **body)
    assert reply.status == 200, reply
    assert reply.headers["etag"] == f'"{reply.body["version"]}"'
    return reply.body


def look(calls, call):
    reply = calls.get(f"/calls/{call['callId']}")
    assert reply.status == 200, reply
    return reply.body


def items(calls, path):
    return sum(calls.pages(path), [])


# --- create ---

def test_a_new_call(calls, user):
    wanted = wish(user)
    reply = calls.post("/calls", wanted)
    assert reply.status == 201
    assert reply.body == {**wanted, "status": "SCHEDULED", "version": 1}
    assert reply.headers["etag"] == '"1"'
    assert reply.headers["location"] == f"/calls/api/calls/{wanted['callId']}"
    found = calls.get(f"/calls/{wanted['callId']}")
    assert (found.status, found.body, found.headers["etag"]) == (200, reply.body, '"1"')


def test_a_call_without_an_id_gets_one(calls, user):
    wanted = wish(user)
    del wanted["callId"]
    made = [calls.post("/calls", wanted).body for _ in range(2)]
    assert made[0]["callId"] != made[1]["callId"]
    assert str(uuid.UUID(made[0]["callId"])) == made[0]["callId"]
    assert len(items(calls, f"/users/{user}/calls")) == 2


def test_create_is_idempotent(calls, user):
    wanted = wish(user)
    first = calls.post("/calls", wanted)
    again = calls.post("/calls", wanted)
    assert (first.status, again.status) == (201, 200)
    assert first.body == again.body
    assert items(calls, f"/users/{user}/calls") == [first.body]


def test_create_sent_again_after_the_call_has_moved(calls, user):
    wanted = wish(user)
    call = calls.post("/calls", wanted).body
    call = changed(calls, call, "schedule", scheduledFor=START + HOUR)
    call = changed(calls, call, "user", userId=user + "-2")
    again = calls.post("/calls", wanted)
    assert (again.status, again.body) == (200, call)
    assert items(calls, f"/users/{user}/calls") == []
    assert items(calls, f"/users/{user}-2/calls") == [call]


@pytest.mark.parametrize("other", [{"scheduledFor": START + 1}, {"userId": "someone-else"},
                                   {"providerId": "dr-osei"}])
def test_another_call_of_the_same_id_is_refused(calls, user, other):
    call = create(calls, user)
    reply = calls.post("/calls", {**wish(user, call_id=call["callId"]), **other})
    assert (reply.status, reply.code) == (409, "call_exists")
    assert items(calls, f"/users/{user}/calls") == [call]
    assert look(calls, call) == call


def test_the_same_create_many_times_at_once_makes_one_call(calls, user):
    wanted = wish(user)
    replies = together(CLIENTS, lambda _: calls.post("/calls", wanted))
    assert sorted(reply.status for reply in replies) == [200] * (CLIENTS - 1) + [201]
    assert len(items(calls, f"/users/{user}/calls")) == 1


def test_creates_of_one_id_at_different_times_make_one_call(calls, user):
    wanted = wish(user)
    replies = together(CLIENTS, lambda number: calls.post(
        "/calls", {**wanted, "scheduledFor": START + number}))
    assert sorted(reply.status for reply in replies) == [201] + [409] * (CLIENTS - 1)
    winner, = (reply.body for reply in replies if reply.status == 201)
    assert items(calls, f"/users/{user}/calls") == [winner]


@pytest.mark.parametrize("field, value", [
    (field, value)
    for field in ("userId", "providerId", "callId")
    for value in ("", " a", "a ", "a#b", ".", "..", "é", "x" * 256, 7, None, [], "a\0b")
] + [("scheduledFor", value) for value in ("1", -1, 1.5, 10**13, 1e300, None, True, [])]
    + [("userId", ...), ("providerId", ...), ("scheduledFor", ...)])
def test_malformed_calls_are_refused(calls, user, field, value):
    body = wish(user)
    if value is ...:
        del body[field]
    else:
        body[field] = value
    reply = calls.post("/calls", body)
    assert (reply.status, reply.code) == (400, "bad_parameter"), reply
    assert field in reply.body["error"]["message"]
    assert items(calls, f"/users/{user}/calls") == []


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{", b"7", b'{"a": 1} x', b"\xff", b"[" * 5000,
                                  b'{"userId": "\xff"}'])
def test_what_is_no_json_object_is_refused(calls, body):
    for method, path in (("POST", "/calls"), ("PUT", "/calls/x/status")):
        reply = calls.send(method, path, body, {"If-Match": '"1"'})
        assert (reply.status, reply.code) == (400, "bad_json")


def test_ids_and_times_of_the_greatest_length(calls):
    user = f"{uuid.uuid4()}._@+:-".ljust(255, "U")
    call = create(calls, user, at=10**13 - 1, provider="p" * 255, call_id=f"{uuid.uuid4()}".ljust(255, "c"))
    assert look(calls, call) == call
    call = changed(calls, call, "schedule", scheduledFor=0)
    assert items(calls, f"/users/{user}/calls/upcoming") == [call]


# --- changes ---

def test_a_status_change_moves_the_call_to_the_other_timeline(calls, user):
    call = create(calls, user)
    done = changed(calls, call, "status", status="COMPLETED")
    assert done == {**call, "status": "COMPLETED", "version": 2}
    assert items(calls, f"/users/{user}/calls/upcoming") == []
    assert items(calls, f"/users/{user}/calls/completed") == [done]
    again = changed(calls, done, "status", status="SCHEDULED")
    assert again == {**call, "version": 3}
    assert items(calls, f"/users/{user}/calls/upcoming") == [again]
    assert items(calls, f"/users/{user}/calls/completed") == []


def test_rescheduling_moves_the_call_in_time(calls, user):
    call, other = create(calls, user), create(calls, user, at=START + HOUR)
    moved = changed(calls, call, "schedule", scheduledFor=START + 2 * HOUR)
    assert moved == {**call, "scheduledFor": START + 2 * HOUR, "version": 2}
    for path in ("", "/upcoming"):
        assert items(calls, f"/users/{user}/calls{path}") == [other, moved]
    assert look(calls, call) == moved
    assert len(items(calls, "/providers/dr-lund/calls")) >= 2


def test_reassigning_moves_the_call_to_another_user(calls, user):
    call = changed(calls, create(calls, user), "status", status="COMPLETED")
    moved = changed(calls, call, "user", userId=user + "-2")
    assert moved == {**call, "userId": user + "-2", "version": 3}
    for path in ("", "/completed"):
        assert items(calls, f"/users/{user}/calls{path}") == []
        assert items(calls, f"/users/{user}-2/calls{path}") == [moved]
    assert look(calls, call) == moved


def test_changing_the_provider(calls, user):
    providers = [f"{user}-p{number}" for number in range(2)]
    call = create(calls, user, provider=providers[0])
    now = changed(calls, call, "provider", providerId=providers[1])
    assert now == {**call, "providerId": providers[1], "version": 2}
    assert items(calls, f"/providers/{providers[0]}/calls") == []
    assert items(calls, f"/providers/{providers[1]}/calls") == [now]


@pytest.mark.parametrize("part, body", [
    ("status", {"status": "SCHEDULED"}), ("schedule", {"scheduledFor": START}),
    ("user", {"userId": None}), ("provider", {"providerId": "dr-lund"})])
def test_a_change_to_what_it_is_writes_nothing(calls, user, part, body):
    call = create(calls, user)
    body = {"userId": user} if part == "user" else body
    assert changed(calls, call, part, **body) == call


PARTS = [("status", {"status": "COMPLETED"}), ("schedule", {"scheduledFor": START + 1}),
         ("user", {"userId": "someone"}), ("provider", {"providerId": "dr-osei"})]


@pytest.mark.parametrize("part, body", PARTS)
def test_versions(calls, user, part, body):
    call = create(calls, user)
    now = changed(calls, call, "status", status="COMPLETED")
    path = f"/calls/{call['callId']}/{part}"
    for version in (0, 1, 3, -1, 2**62):
        reply = calls.put(path, body, {"If-Match": f'"{version}"'})
        assert (reply.status, reply.code) == (412, "version_mismatch")
    assert (calls.put(path, body).status, calls.put(path, body).code) == (428, "version_required")
    for text in ("2", '"2', '""', '"x"', '"2", "3"', "*", 'W/"2"', '"9223372036854775808"', '" 2"', '"+2"',
                 '"02"'):
        reply = calls.put(path, body, {"If-Match": text})
        assert (reply.status, reply.code) == (400, "bad_version"), text
    assert look(calls, call) == now


@pytest.mark.parametrize("part, body", PARTS)
def test_changes_of_a_call_that_is_not_there(calls, part, body):
    reply = calls.put(f"/calls/{uuid.uuid4()}/{part}", body, {"If-Match": '"1"'})
    assert (reply.status, reply.code) == (404, "not_found")


@pytest.mark.parametrize("part, bodies", [
    ("status", [{}, {"status": "DONE"}, {"status": 1}, {"status": None}, {"status": "completed"}]),
    ("schedule", [{}, {"scheduledFor": -1}, {"scheduledFor": "now"}, {"scheduledFor": 10**13}]),
    ("user", [{}, {"userId": ""}, {"userId": "#x"}]), ("provider", [{}, {"providerId": "a#b"}])])
def test_malformed_changes_change_nothing(calls, user, part, bodies):
    call = create(calls, user)
    for body in bodies:
        reply = change(calls, call, part, **body)
        assert (reply.status, reply.code) == (400, "bad_parameter"), body
    assert look(calls, call) == call


def test_many_changes_of_one_version_at_once_one_wins(calls, user):
    for _ in range(5):
        call = create(calls, user)
        kinds = [("status", {"status": "COMPLETED"}), ("schedule", {"scheduledFor": START + 1}),
                 ("user", {"userId": user + "-2"}), ("provider", {"providerId": "dr-osei"})]

        def race(number):
            part, body = kinds[number % len(kinds)]
            return change(calls, call, part, **body)
        replies = together(CLIENTS, race)
        assert sorted(reply.status for reply in replies) == [200] + [412] * (CLIENTS - 1)
        winner, = (reply.body for reply in replies if reply.status == 200)
        assert look(calls, call) == winner
        everywhere = sum((items(calls, f"/users/{name}/calls") for name in (user, user + "-2")), [])
        assert [each for each in everywhere if each["callId"] == call["callId"]] == [winner]


def test_reschedule_under_concurrent_status_change(calls, user):
    """Of two who saw the same version one wins, and the call is there once, in one timeline."""
    winners = set()
    for round_number in range(20):
        call = create(calls, user, at=START + round_number * HOUR)
        replies = together(2, lambda number: change(calls, call, "status", status="COMPLETED") if number
                           else change(calls, call, "schedule", scheduledFor=call["scheduledFor"] + 1))
        assert sorted(reply.status for reply in replies) == [200, 412]
        winner = next(reply.body for reply in replies if reply.status == 200)
        winners.add(winner["status"])
        assert winner["version"] == 2
        assert look(calls, call) == winner
        timelines = [items(calls, f"/users/{user}/calls{path}") for path in ("", "/upcoming", "/completed")]
        assert timelines[0].count(winner) == 1
        assert sorted(each["callId"] for each in timelines[0]) == sorted(
            each["callId"] for each in timelines[1] + timelines[2])
    assert len(items(calls, f"/users/{user}/calls")) == 20


# --- reads ---

@pytest.fixture(scope="module")
def timeline(apps, calls):
    """Thirty calls of a user, every third completed, created in no order; in the order of time."""
    user = f"user-{uuid.uuid4()}"
    made = {}
    for number in sorted(range(30), key=lambda number: number * 7 % 30):
        call = create(calls, user, at=START + number * HOUR, provider=f"{user}-p")
        made[number] = changed(calls, call, "status", status="COMPLETED") if number % 3 == 0 else call
    return user, [made[number] for number in range(30)]


def test_timelines(calls, timeline):
    user, made = timeline
    scheduled = [call for call in made if call["status"] == "SCHEDULED"]
    completed = [call for call in made if call["status"] == "COMPLETED"]
    assert items(calls, f"/users/{user}/calls") == made
    assert items(calls, f"/users/{user}/calls/upcoming") == scheduled
    assert items(calls, f"/users/{user}/calls/completed") == completed[::-1]
    assert items(calls, f"/providers/{user}-p/calls") == made[::-1]


@pytest.mark.parametrize("path, count", [("", 30), ("/upcoming", 20), ("/completed", 10)])
@pytest.mark.parametrize("limit", [1, 7, 10, 100])
def test_pages(calls, timeline, path, count, limit):
    user, _ = timeline
    pages = list(calls.pages(f"/users/{user}/calls{path}", limit=limit))
    assert all(len(page) <= limit for page in pages)
    assert sum(map(len, pages)) == count
    assert sum(pages, []) == items(calls, f"/users/{user}/calls{path}")


def test_cursors_that_are_none(calls, timeline):
    owner, _ = timeline
    path = f"/users/{owner}/calls"
    cursor = calls.get(path, limit=3).body["cursor"]
    for bad in ("", "x", "e30", "bnVsbA", cursor[:-5], cursor + "AAAA"):
        reply = calls.get(path, limit=3, cursor=bad)
        assert (reply.status, reply.code) == (400, "bad_cursor"), bad
    for limit in ("0", "101", "-1", "x", "", "1.5", "1e1", " 1"):
        assert calls.get(path, limit=limit).code == "bad_parameter", limit
    assert calls.send("GET", path + "?cursor=%zz").code == "bad_parameter"
    assert calls.send("GET", path + "?limit=%").code == "bad_parameter"


def test_a_cursor_of_another_list(calls, timeline, user, request):
    owner, _ = timeline
    cursor = calls.get(f"/users/{owner}/calls", limit=3).body["cursor"]
    for other in (f"/users/{owner}/calls/upcoming", f"/providers/{owner}-p/calls", f"/users/{user}/calls"):
        reply = calls.get(other, limit=3, cursor=cursor)
        if request.node.callspec.params["apps_db"] == "dynoxide" and reply.status == 200:
            assert reply.body == {"items": []}  # it takes a key of another partition
        else:
            assert (reply.status, reply.code) == (400, "bad_cursor"), other


def test_next_and_last(calls, user):
    assert calls.get(f"/users/{user}/calls/next").status == 404
    assert calls.get(f"/users/{user}/calls/last").status == 404
    now = int(time.time() * 1000)
    overdue, after, later = (create(calls, user, at=now + hours * HOUR) for hours in (-1, 1, 2))
    assert calls.get(f"/users/{user}/calls/next").body == after
    assert calls.get(f"/users/{user}/calls/last").status == 404
    done = [changed(calls, call, "status", status="COMPLETED") for call in (later, overdue)]
    assert calls.get(f"/users/{user}/calls/next").body == after
    assert calls.get(f"/users/{user}/calls/last").body == done[0]
    changed(calls, after, "status", status="COMPLETED")
    assert calls.get(f"/users/{user}/calls/next").code == "not_found"


def test_users_whose_names_begin_alike_are_told_apart(calls, user):
    mine, theirs = create(calls, user), create(calls, user + "-")
    assert items(calls, f"/users/{user}/calls/upcoming") == [mine]
    assert items(calls, f"/users/{user}-/calls/upcoming") == [theirs]


@pytest.mark.parametrize("method, path, status", [
    ("GET", "/calls/nothing", 404), ("GET", "/calls/a%23b", 400), ("GET", "/calls/" + "x" * 256, 400),
    ("GET", "/users/%20b/calls", 400), ("GET", "/providers/%c3%a9/calls", 400), ("GET", "/calls", 405),
    ("DELETE", "/calls/x", 405), ("GET", "/users/ana", 404), ("GET", "/users//calls", 404),
    ("GET", "/calls/%ff", 404), ("GET", "/calls/x/status", 405), ("GET", "", 404), ("GET", "x", 404),
])
def test_paths_and_methods_that_are_not_there(calls, method, path, status):
    reply = calls.send(method, path)
    assert reply.status == status
    if path != "x":
        assert set(json.loads(reply.content)["error"]) - {"field"} == {"code", "message", "requestId"}
        assert reply.headers["x-request-id"] == json.loads(reply.content)["error"]["requestId"]
        assert ("allow" in reply.headers) == (status == 405)
