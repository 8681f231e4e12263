"""Answers that get lost between database and application: it asks again, and nothing is done twice, nor
refused because of its own first attempt."""

import json
import subprocess
import uuid

import pytest

from racing import together
from recon import ingest, pending
from recorder import Recorder
from rest import Rest
from server import Apps, Server, apps_program
from webhook import Webhook


@pytest.fixture(scope="module")
def server():
    with Server("memory:") as server:
        yield server


@pytest.fixture(scope="module")
def recorder(server):
    with Recorder(server.endpoint) as recorder:
        yield recorder


@pytest.fixture(scope="module")
def apps(recorder):
    with Apps(recorder.endpoint) as process:
        yield process


@pytest.fixture
def losing(recorder):
    """losing("PutItem", work): runs work() while the first answer to that gets lost."""
    def run(operation, work):
        recorder.take()
        recorder.lose(operation)
        reply = work()
        assert [access.operation for access in recorder.take()].count(operation) >= 2
        return reply
    return run


def test_tickets(apps, losing):
    tickets = Rest(f"{apps.endpoint}/tickets/api")
    reply = losing("PutItem", lambda: tickets.post("/tickets", {"caller_id": "c", "issue_description": "i"}))
    assert reply.status == 201
    path = f"/tickets/{reply.body['ticket_id']}"
    assert tickets.get("/tickets", caller="c").body == {"items": [reply.body]}
    for text in ("one", "two"):
        reply = losing("UpdateItem", lambda: tickets.post(f"{path}/comments", {"comment_text": text}))
        assert reply.status == 201 and reply.body["comments"][-1]["comment_text"] == text
    assert [each["comment_text"] for each in tickets.get(path).body["comments"]] == ["one", "two"]


def test_tasks(apps, losing):
    tasks = Rest(f"{apps.endpoint}/tasks/api")
    ana = {"userId": "ana", "email": "ana@example.com", "isAdmin": True}
    assert losing("TransactWriteItems", lambda: tasks.post("/users", ana)).status == 201
    assert tasks.post("/users", ana).status == 409
    acting = tasks.acting_as("ana")
    reply = losing("TransactWriteItems", lambda: acting.post("/tasks", {"title": "t", "priority": "LOW"}))
    assert reply.status == 201
    assert tasks.get("/tasks", status="OPEN").body["items"] == [reply.body]
    path = f"/tasks/{reply.body['taskId']}"
    reply = losing("TransactWriteItems", lambda: acting.post(f"{path}/assignments", {"userId": "ana"}))
    assert reply.status == 201
    assert acting.post(f"{path}/assignments", {"userId": "ana"}).status == 409
    reply = losing("TransactWriteItems", lambda: acting.put(f"{path}/status", {"status": "CLOSED"}))
    assert reply.status == 204


def test_reconciliation(apps, recorder, losing):
    """The first answer that the poller loses is that to its lease."""
    api = Rest(f"{apps.endpoint}/reconciliation/api")
    losing("UpdateItem", lambda: ingest(api, "t", "c-1", status="FAILED"))
    with Webhook(lambda post: (200, {"processingStatus": "SUCCESS"})) as hook:
        done = losing("UpdateItem", lambda: subprocess.run(
            [apps_program(), "poll", "--once", "--db", recorder.endpoint, "--webhook", hook.url],
            capture_output=True, text=True, timeout=60))
        assert len(hook.posts) == 1
    counted = json.loads(done.stdout)
    assert (counted["leased"], counted["delivered"], counted["resolved"]) == (1, 1, 1)
    assert pending(api, "t") == []


def test_what_a_client_sends_again_is_done_once(apps):
    """When the answer is lost between client and application: the client's own id tells."""
    tickets = Rest(f"{apps.endpoint}/tickets/api")
    wanted = {"ticket_id": str(uuid.uuid4()), "caller_id": "again", "issue_description": "i"}
    first, second = tickets.post("/tickets", wanted), tickets.post("/tickets", wanted)
    assert (first.status, second.status, first.body) == (201, 200, second.body)
    path = f"/tickets/{wanted['ticket_id']}"
    for other in ({"caller_id": "other"}, {"issue_description": "j"}):
        reply = tickets.post("/tickets", {**wanted, **other})
        assert (reply.status, reply.code) == (409, "ticket_exists") and "i" not in reply.body["error"].get("issue_description", "")
    comments = [{"comment_text": "same", "comment_id": str(uuid.uuid4())} for _ in range(2)]
    for comment in (*comments, *comments):
        assert tickets.post(f"{path}/comments", comment).status == 201
    replies = together(8, lambda _: tickets.post(f"{path}/comments", {"comment_text": "at once", "comment_id": wanted["ticket_id"]}))
    assert {reply.status for reply in replies} == {201}
    ticket = tickets.get(path).body
    assert [each["comment_text"] for each in ticket["comments"]] == ["same", "same", "at once"] and "comment_ids" not in ticket
    assert tickets.get("/tickets", caller="again").body["items"] == [ticket]

    tasks = Rest(f"{apps.endpoint}/tasks/api")
    wanted = {"taskId": str(uuid.uuid4()), "title": "t", "priority": "LOW"}
    first, second = tasks.post("/tasks", wanted), tasks.post("/tasks", wanted)
    assert (first.status, second.status, first.body) == (201, 200, second.body)
    for reply in (tasks.post("/tasks", {**wanted, "title": "u"}), tasks.acting_as("eve", "admin").post("/tasks", wanted)):
        assert (reply.status, reply.code) == (409, "task_exists")
    assert [task["taskId"] for task in tasks.get("/tasks", status="OPEN").body["items"]].count(wanted["taskId"]) == 1
    for body in ({**wanted, "taskId": "a#b"}, {**wanted, "taskId": 7}):
        assert tasks.post("/tasks", body).code == "bad_parameter"
    for body in ({"ticket_id": "x"}, {"ticket_id": 7}):
        assert tickets.post("/tickets", {"issue_description": "i", **body}).code == "bad_parameter"
