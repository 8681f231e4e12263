"""Tickets of a service desk, through the REST API."""

import json
import pathlib
import uuid

import pytest

from racing import together

MISSING = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def caller():
    return f"caller-{uuid.uuid4()}"


def open_ticket(tickets, caller, issue="My laptop won't turn on"):
    reply = tickets.post("/tickets", {"caller_id": caller, "issue_description": issue})
    assert reply.status == 201, reply
    return reply.body


def comment(tickets, ticket, text):
    return tickets.post(f"/tickets/{ticket['ticket_id']}/comments", {"comment_text": text})


def test_a_new_ticket_is_as_the_document_has_it(tickets, caller):
    reply = tickets.post("/tickets", {"caller_id": caller, "issue_description": "É «won't» 🖥 turn on"})
    ticket = reply.body
    assert reply.status == 201
    assert reply.headers["location"] == f"/tickets/api/tickets/{ticket['ticket_id']}"
    assert str(uuid.UUID(ticket["ticket_id"])) == ticket["ticket_id"]
    assert len(ticket["created_at"]) == len("2026-02-09T12:20:25.343883Z")
    assert ticket == {
        "title": "É «won't» 🖥 turn on", "mine": False,
        "history": [{"status": "open", "at": ticket["created_at"], "by": caller}],
        "ticket_id": ticket["ticket_id"], "caller_id": caller, "comments": [], "status": "open",
        "issue_description": "É «won't» 🖥 turn on", "created_at": ticket["created_at"],
        "updated_at": ticket["created_at"]}
    assert tickets.get(f"/tickets/{ticket['ticket_id']}").body == ticket


@pytest.mark.parametrize("body", [
    b"", b"null", b"[]", b"{", b'"text"', b'{"caller_id": "a"}',
    b'{"caller_id": "", "issue_description": "b"}', b'{"caller_id": 7, "issue_description": "b"}',
    b'{"caller_id": "a", "issue_description": null}', b'{"caller_id": "a", "issue_description": ""}',
    b'{"caller_id": "a\\u0000", "issue_description": "b"}',
    json.dumps({"caller_id": "a" * 256, "issue_description": "b"}).encode(),
    json.dumps({"caller_id": "a", "issue_description": "b" * 4001}).encode(),
    b'{"caller_id": "\xff", "issue_description": "b"}', b"[" * 1000,
])
def test_malformed_tickets_are_refused(tickets, body):
    reply = tickets.send("POST", "/tickets", body)
    assert (reply.status, reply.code) in ((400, "bad_json"), (400, "bad_parameter"))
    assert reply.body["error"]["message"]


def test_texts_of_the_greatest_length(tickets, caller):
    ticket = open_ticket(tickets, caller, "é" * 4000)
    assert comment(tickets, ticket, "ü" * 4000).status == 201
    assert comment(tickets, ticket, "ü" * 4001).status == 400
    assert open_ticket(tickets, "c" * 255)["caller_id"] == "c" * 255


@pytest.mark.parametrize("ticket_id", [MISSING, "x", "%20", "a" * 5000, MISSING.upper() + "Z", "%c3%a9"])
def test_a_ticket_that_is_not_there(tickets, ticket_id):
    assert (tickets.get(f"/tickets/{ticket_id}").status,
            tickets.get(f"/tickets/{ticket_id}").code) == (404, "not_found")
    reply = tickets.post(f"/tickets/{ticket_id}/comments", {"comment_text": "Me too"})
    assert (reply.status, reply.code) == (404, "not_found")
    assert tickets.get(f"/tickets/{ticket_id}").status == 404  # the comment made none


@pytest.mark.parametrize("method, path, status", [
    ("GET", "/", 404), ("GET", "/ticket", 404), ("GET", "/tickets/", 404), ("GET", "", 404),
    ("DELETE", "/tickets", 405), ("PUT", f"/tickets/{MISSING}", 405),
    ("GET", f"/tickets/{MISSING}/comments", 405), ("GET", "/tickets/%zz", 404),
])
def test_paths_and_methods_that_are_not_there(tickets, method, path, status):
    assert tickets.send(method, path).status == status


def test_comments_in_order(tickets, caller):
    ticket = open_ticket(tickets, caller)
    for number in range(3):
        reply = comment(tickets, ticket, f"comment {number}")
        assert reply.status == 201
        assert len(reply.body["comments"]) == number + 1
    now = tickets.get(f"/tickets/{ticket['ticket_id']}").body
    assert [each["comment_text"] for each in now["comments"]] == ["comment 0", "comment 1", "comment 2"]
    assert [set(each) for each in now["comments"]] == [{"comment_text", "added_at", "author"}] * 3
    assert now["updated_at"] == now["comments"][-1]["added_at"] > now["created_at"]
    assert {**now, "comments": [], "updated_at": ticket["updated_at"]} == ticket


@pytest.mark.parametrize("body", [b"", b"{}", b'{"comment_text": ""}', b'{"comment_text": []}'])
def test_malformed_comments_change_nothing(tickets, caller, body):
    ticket = open_ticket(tickets, caller)
    reply = tickets.send("POST", f"/tickets/{ticket['ticket_id']}/comments", body)
    assert reply.status == 400
    assert tickets.get(f"/tickets/{ticket['ticket_id']}").body == ticket


def test_fifty_comments_at_once_are_all_there(tickets, caller):
    ticket = open_ticket(tickets, caller)
    replies = together(50, lambda number: comment(tickets, ticket, f"from {number}"))
    assert [reply.status for reply in replies] == [201] * 50
    now = tickets.get(f"/tickets/{ticket['ticket_id']}").body
    assert sorted(each["comment_text"] for each in now["comments"]) == sorted(
        f"from {number}" for number in range(50))
    # Each saw its own comment as the newest, after those before it.
    for number, reply in enumerate(replies):
        seen = [each["comment_text"] for each in reply.body["comments"]]
        assert seen[-1] == f"from {number}"
        assert seen == [each["comment_text"] for each in now["comments"]][:len(seen)]


def test_a_ticket_that_is_full_says_so(tickets, caller):
    ticket = open_ticket(tickets, caller)
    replies = [comment(tickets, ticket, "€" * 4000) for _ in range(35)]
    statuses = [reply.status for reply in replies]
    assert statuses == [201] * 33 + [422] * 2  # 12,000 bytes each, 400 KB in all
    assert replies[-1].code == "ticket_full"
    assert comment(tickets, ticket, "short").status == 201


def test_the_ten_newest_of_a_caller(tickets, caller):
    opened = [open_ticket(tickets, caller, f"issue {number}") for number in range(12)]
    reply = tickets.get("/tickets", caller=caller)
    assert reply.status == 200
    assert reply.body["items"] == opened[:1:-1]
    pages = list(tickets.pages("/tickets", caller=caller))
    assert [len(page) for page in pages] == [10, 2]
    assert sum(pages, []) == opened[::-1]


def test_a_comment_shows_in_the_list(tickets, caller):
    ticket = open_ticket(tickets, caller)
    after = comment(tickets, ticket, "Still not").body
    assert tickets.get("/tickets", caller=caller).body == {"items": [after]}


def test_callers_are_told_apart(tickets, caller):
    mine = open_ticket(tickets, caller)
    theirs = open_ticket(tickets, caller + " & co?=/+%")
    assert tickets.get("/tickets", caller=caller).body["items"] == [mine]
    assert tickets.get("/tickets", caller=caller + " & co?=/+%").body["items"] == [theirs]
    assert tickets.get("/tickets", caller=caller + " none").body == {"items": []}


def test_malformed_lists_are_refused(tickets, caller):
    for number in range(11):
        open_ticket(tickets, caller, f"issue {number}")
    cursor = tickets.get("/tickets", caller=caller).body["cursor"]
    assert tickets.get("/tickets", caller="").code == "bad_parameter"
    assert tickets.get("/tickets", caller="c" * 256).code == "bad_parameter"
    assert tickets.send("GET", "/tickets?caller=%ff").code == "bad_parameter"
    for bad in ("x", "", cursor[:-4], cursor + "AAAA", "e30", "bnVsbA"):
        reply = tickets.get("/tickets", caller=caller, cursor=bad)
        assert (reply.status, reply.code) == (400, "bad_cursor"), bad


def test_a_cursor_of_another_caller_is_refused(tickets, caller, strict_db):
    for number in range(11):
        open_ticket(tickets, caller, f"issue {number}")
    cursor = tickets.get("/tickets", caller=caller).body["cursor"]
    reply = tickets.get("/tickets", caller="someone else", cursor=cursor)
    assert (reply.status, reply.code) == (400, "bad_cursor")
