"""What each application is asked by the replays: every operation of its REST API, in the largest forms that it allows, on the amounts
of data that the documents speak of.

    replay_NAME(api, replay, database)

`api` loads data; `replay("GET /tasks/{taskId}", taskId=...)` makes the calls that are looked at; `database.endpoint` is for programs."""

import datetime
import json
import re
import subprocess

from racing import together
from recon import ago, state
from server import apps_program
from waiting import poll
from webhook import Webhook

HOUR_MS = 3600 * 1000


def load(requests, send):
    """Sends many with eight clients at once; gives the replies' bodies in order."""
    def run(thread):
        return [send(request) for request in requests[thread::8]]
    results = together(8, run)
    bodies = []
    for number in range(len(requests)):
        reply = results[number % 8][number // 8]
        assert reply.status in (200, 201, 204), reply
        bodies.append(reply.body)
    return bodies


# --- what each application is asked, and about how much data ---

def replay_tickets(api, replay, _):
    """200 tickets of 10 callers; a ticket with 20 comments, the document's number for all."""
    load([{"caller_id": f"poc-user-{number % 10}", "issue_description": "My laptop won't turn on " * 8}
          for number in range(200)], lambda body: api.post("/tickets", body))
    ticket = replay("POST /tickets", {"caller_id": "poc-user-1", "issue_description": "x" * 4000})
    for number in range(20):
        replay("POST /tickets/{ticket_id}/comments", {"comment_text": f"Tried {number}: " + "still not " * 20},
               ticket_id=ticket["ticket_id"])
    assert len(replay("GET /tickets/{ticket_id}", ticket_id=ticket["ticket_id"])["comments"]) == 20
    replay("PUT /tickets/{ticket_id}/status", {"status": "closed", "from": "open"}, ticket_id=ticket["ticket_id"])
    replay("GET /settings")
    page = replay("GET /tickets", caller="poc-user-1")
    replay("GET /tickets", caller="poc-user-1", cursor=page["cursor"], limit=100)


def replay_tasks(api, replay, _):
    """The document's workload: 100 users, 1,000 tasks; 200 assignments, and a user and a task with
    100."""
    users = [f"user-{number}" for number in range(100)]
    load([{"userId": user, "email": f"{user}@example.com", "isAdmin": user == "user-0"} for user in users],
         lambda body: api.post("/users", body))
    made = load([{"title": f"Task {number}", "priority": "LOW", "description": "What to do. " * 10}
                 for number in range(1000)], lambda body: api.acting_as("user-0").post("/tasks", body))
    ids = [task["taskId"] for task in made]
    pairs = {(ids[number % 1000], users[number % 99 + 1]) for number in range(200)}
    pairs |= {(task, "user-50") for task in ids[500:600]} | {(ids[999], user) for user in users}
    load(sorted(pairs), lambda pair: api.acting_as("user-0").post(
        f"/tasks/{pair[0]}/assignments", {"userId": pair[1]}))

    replay("POST /users", {"email": "new@example.com"})
    replay("GET /users/{userId}", userId="user-7")
    replay("GET /users/{userId}", userId="user-7", user="user-7")
    replay("GET /me", user="user-0")
    assert len(replay("GET /users", user="user-0", limit=100)["items"]) == 100
    replay("GET /users", user="user-7", expect=[403])
    replay("PUT /users/{userId}/role", {"role": "admin"}, user="user-0", userId="user-98")
    replay("PUT /users/{userId}/status", {"status": "DEACTIVATED"}, userId="user-99")
    assert len(replay("GET /users/{userId}/tasks", userId="user-50", limit=100)["items"]) == 100
    replay("GET /users/{userId}/tasks", userId="user-8")
    task = replay("POST /tasks", {"title": "t" * 200, "priority": "HIGH"}, user="user-3")["taskId"]
    assert len(replay("GET /tasks", status="OPEN", limit=100)["items"]) == 100
    replay("GET /tasks", status="OPEN", order="oldest")
    replay("GET /tasks/{taskId}", taskId=task)
    replay("GET /tasks/{taskId}", user="user-3", taskId=task)
    replay("GET /tasks/{taskId}", user="user-9", taskId=task, expect=[403])
    assert [each["taskId"] for each in replay("GET /users/{userId}/created", user="user-3", userId="user-3")["items"]] == [task]
    assert len(replay("GET /users/{userId}/created", userId="user-0", limit=100)["items"]) == 100
    replay("GET /tasks/counts", user="user-0")
    replay("POST /tasks/{taskId}/assignments", {"userId": "user-3"}, user="user-0", taskId=task)
    replay("POST /tasks/{taskId}/assignments", {"userId": "user-3"}, user="user-0", taskId=task, expect=[409])
    replay("PUT /tasks/{taskId}/status", {"status": "IN_PROGRESS"}, user="user-3", taskId=task)
    replay("PUT /tasks/{taskId}/status", {"status": "COMPLETED"}, user="user-0", taskId=task)
    replay("PUT /tasks/{taskId}/status", {"status": "OPEN"}, user="user-9", taskId=task, expect=[403])
    for editor in ("user-3", "user-0"):
        seen = replay("GET /tasks/{taskId}", user=editor, taskId=task)["updatedAt"]
        replay("PUT /tasks/{taskId}", {"title": "t" * 200, "description": "é" * 1650, "seen": seen}, user=editor,
               taskId=task)
    assert len(replay("GET /tasks/{taskId}/assignments", taskId=ids[999], limit=100)["items"]) == 100
    for user in ("user-3", "user-50"):
        replay("GET /tasks/{taskId}/assignments", user=user, taskId=task, expect=[200 if user == "user-3" else 403])
        replay("GET /tasks/{taskId}/assignments/{userId}", user=user, taskId=task, userId="user-3", expect=[200 if user == "user-3" else 403])
    replay("DELETE /tasks/{taskId}/assignments/{userId}", user="user-0", taskId=task, userId="user-3")
    poll(lambda: api.acting_as("user-3").get("/users/user-3/notifications").body["items"], 10, "the stream is read")
    newest = replay("GET /users/{userId}/notifications", user="user-3", userId="user-3")["items"][0]
    replay("PUT /users/{userId}/notifications/read", {"upTo": newest["at"]}, user="user-3", userId="user-3")
    poll(lambda: api.acting_as("user-50").get("/users/user-50/notifications", limit=1).body["unread"] == 100, 10, "the rest is read")
    assert replay("GET /users/{userId}/notifications", user="user-50", userId="user-50", limit=1)["unread"] == 100


def replay_reconciliation(api, replay, database):
    """20,000 calls of 20 tenants, 1 % of them bad."""
    def call(number, status):
        return {"tenantId": f"tenant-{number % 20}", "callId": f"call-{number}",
                **state(ago(minutes=number % 9000), status=status)}
    load([{"calls": [call(number, "FAILED" if number % 100 == 0 else "SUCCESS")
                     for number in range(first, first + 500)]} for first in range(0, 20000, 500)],
         lambda body: api.post("/calls", body))
    for status in ("SUCCESS", "FAILED", "PENDING", "SUCCESS"):
        replay("PUT /calls/{tenantId}/{callId}", state(status=status), tenantId="tenant-0", callId="new")
    replay("POST /calls", {"calls": [call(number, "FAILED") for number in range(5)]})
    replay("GET /calls/{tenantId}/{callId}", tenantId="tenant-0", callId="call-0")
    assert len(replay("GET /pending", limit=1000)["items"]) > 150
    replay("GET /pending", shard=3, limit=100)
    replay("GET /pending", tenant="tenant-0")
    assert replay("GET /summary")["pending"] > 150
    replay("POST /calls/{tenantId}/{callId}/resolve", {}, tenantId="tenant-0", callId="call-0")
    replay("POST /calls/{tenantId}/{callId}/reopen", {}, tenantId="tenant-0", callId="call-0")
    replay("GET /deliveries")
    replay("GET /metrics")
    with Webhook(lambda post: [(500, None), (200, None), (200, {"processingStatus": "SUCCESS"})][
            int(post.body["callId"][5:]) // 100 % 3]) as hook:
        done = subprocess.run([apps_program(), "poll", "--once", "--db", database.endpoint, "--webhook", hook.url],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done
        assert json.loads(done.stdout)["delivered"] > 100
    replay.judge("poll")


def replay_calls(api, replay, _):
    """2,000 calls of 20 users with 10 providers."""
    start = 1_800_000_000_000
    load([{"callId": f"call-{number}", "userId": f"user-{number % 20}", "providerId": f"dr-{number % 10}",
           "scheduledFor": start + number * HOUR_MS} for number in range(2000)],
         lambda body: api.post("/calls", body))
    load([f"call-{number}" for number in range(0, 800)],
         lambda call: api.put(f"/calls/{call}/status", {"status": "COMPLETED"}, {"If-Match": '"1"'}))
    new = {"callId": "new", "userId": "user-1", "providerId": "dr-1", "scheduledFor": start + 7}
    replay("POST /calls", new)
    replay("POST /calls", new)  # again: it is there
    replay("GET /calls/{callId}", callId="call-900")
    for version, (part, body) in enumerate([
            ("status", {"status": "COMPLETED"}), ("schedule", {"scheduledFor": start + 9}),
            ("user", {"userId": "user-2"}), ("provider", {"providerId": "dr-2"})], 1):
        replay(f"PUT /calls/{{callId}}/{part}", body, callId="new", version=version)
    replay("GET /users/{userId}/calls/upcoming", userId="user-3", limit=100, after=start)
    replay("GET /users/{userId}/calls/upcoming", userId="user-3", limit=100)
    load([f"call-{number}" for number in range(803, 2000, 40)], lambda call: api.put(
        f"/calls/{call}/status", {"status": "CANCELED", "reason": "r" * 40}, {"If-Match": '"1"'}))
    for path in ("", "/completed", "/canceled"):
        page = replay(f"GET /users/{{userId}}/calls{path}", userId="user-3", limit=20)
        replay(f"GET /users/{{userId}}/calls{path}", userId="user-3", limit=100, cursor=page["cursor"])
    replay("GET /users/{userId}/calls/next", userId="user-3")
    replay("GET /users/{userId}/calls/last", userId="user-3")
    replay("GET /providers/{providerId}/calls", providerId="dr-3", limit=100)


def replay_calendar(api, replay, _):
    """Ten years of a house, booked half of the time: 600 events of three nights."""
    first = datetime.date(2030, 1, 1)

    def event(day, nights, title="Ana"):
        begin = first + datetime.timedelta(days=day)
        return {"title": title, "start": begin.isoformat(),
                "end": (begin + datetime.timedelta(days=nights)).isoformat()}
    load([event(number * 6, 3) for number in range(600)], lambda body: api.post("/events", body))
    made = replay("POST /events", event(4000, 99))
    replay("POST /events", event(4010, 2), expect=[409])
    replay("GET /events/{id}", id=made["id"])
    replay("GET /settings")
    replay("GET /feed")
    made = replay("PUT /events/{id}", event(4020, 60, "Ben"), id=made["id"], version=made["version"])
    replay("DELETE /events/{id}", id=made["id"], version=made["version"])
    replay("GET /events", **{"from": "2031-03-01", "to": "2031-04-01", "limit": 100})
    page = replay("GET /events", **{"from": "2031-01-01", "to": "2032-01-01", "limit": 10})
    replay("GET /events", **{"from": "2031-01-01", "to": "2032-01-01", "cursor": page["cursor"], "limit": 100})


class Calls:
    """Calls one application as the replays ask; judges nothing."""

    def __init__(self, api):
        self.api = api

    def __call__(self, call, body=None, user=None, version=None, expect=(200, 201, 204), **more):
        method, template = call.split(" ")
        path = template.format(**{name: more.pop(name) for name in re.findall(r"{(\w+)}", template)})
        headers = {**({"X-User-Id": user} if user else {}), **({"If-Match": f'"{version}"'} if version is not None else {})}
        reply = self.api.call(method, path, body, headers, **more)
        assert reply.status in expect, (call, reply)
        return reply.body

    def judge(self, _):
        pass
