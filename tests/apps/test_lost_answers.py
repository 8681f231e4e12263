"""Writes whose answer is lost on the way from the database: they are done, the client library sends them
again, and the caller hears that they are done, once."""

import uuid

import pytest

from recorder import Recorder
from rest import Rest
from server import Apps, Server

START = 1_800_000_000_000


@pytest.fixture(scope="module")
def recorder():
    with Server("memory:") as server, Recorder(server.endpoint) as recorder:
        yield recorder


@pytest.fixture(scope="module")
def apps(recorder):
    with Apps(recorder.endpoint) as process:
        yield process


@pytest.fixture
def lose(recorder):
    """lose(operation, work) does work() while the first answer to the operation is lost."""
    def run(operation, work):
        recorder.take()
        recorder.lose(operation)
        reply = work()
        assert [access.operation for access in recorder.take()].count(operation) == 2
        return reply
    return run


def versioned(version):
    return {"If-Match": f'"{version}"'}


@pytest.mark.parametrize("part, body, operation", [
    ("status", {"status": "COMPLETED"}, "UpdateItem"), ("provider", {"providerId": "dr-osei"}, "UpdateItem"),
    ("schedule", {"scheduledFor": START + 1}, "TransactWriteItems"), ("user", {"userId": "ben"}, "TransactWriteItems")])
def test_changes_of_a_call(apps, lose, part, body, operation):
    calls = Rest(f"{apps.endpoint}/calls/api")
    user = f"user-{uuid.uuid4()}"
    wanted = {"callId": str(uuid.uuid4()), "userId": user, "providerId": "dr-lund", "scheduledFor": START}
    made = lose("TransactWriteItems", lambda: calls.post("/calls", wanted))
    assert (made.status, made.body) == (201, {**wanted, "status": "SCHEDULED", "version": 1})
    path = f"/calls/{wanted['callId']}"
    reply = lose(operation, lambda: calls.put(f"{path}/{part}", body, versioned(1)))
    assert (reply.status, reply.body) == (200, {**made.body, **body, "version": 2})
    assert calls.get(path).body == reply.body
    assert calls.put(f"{path}/{part}", body, versioned(1)).status == 412


def test_changes_of_an_event(apps, lose):
    calendar = Rest(f"{apps.endpoint}/calendar/api")
    wanted = {"title": "Ana", "start": "2030-01-01", "end": "2030-01-04"}
    made = lose("TransactWriteItems", lambda: calendar.post("/events", wanted))
    assert made.status == 201
    path = f"/events/{made.body['id']}"
    moved = lose("TransactWriteItems", lambda: calendar.put(path, {**wanted, "end": "2030-01-06"}, versioned(1)))
    assert (moved.status, moved.body) == (200, {**made.body, "end": "2030-01-06", "version": 2})
    gone = lose("TransactWriteItems", lambda: calendar.delete(path, versioned(2)))
    assert gone.status == 204
    assert calendar.post("/events", {**wanted, "end": "2030-01-06"}).status == 201
