"""What people need of each application beyond its document's patterns: roles, reasons, history, notifications, feeds,
cost; and rows that another program wrote, exactly as the documents write them."""

import datetime
import json
import re
import subprocess
import uuid

import pytest

import values
from recorder import Recorder
from rest import Rest
from server import ROOT, Apps, Server
from waiting import poll
from wire import Client

START = 1_900_000_000_000


@pytest.fixture
def user():
    return f"user-{uuid.uuid4()}"


def refusal(reply):
    return reply.status, reply.code


# --- calls ---

@pytest.fixture
def call(calls, user):
    return calls.post("/calls", {"userId": user, "providerId": "dr-lund", "scheduledFor": START}).body


def set_status(api, call, version=None, **body):
    return api.put(f"/calls/{call['callId']}/status", body, {"If-Match": f'"{version or call["version"]}"'})


def test_canceling_a_call_needs_a_reason(calls, user, call):
    mine = calls.acting_as(user)
    assert refusal(set_status(mine, call, status="CANCELED")) == (400, "bad_parameter")
    assert refusal(set_status(mine, call, status="CANCELED", reason="  ")) == (400, "blank")
    assert refusal(set_status(mine, call, status="COMPLETED", reason="x")) == (400, "bad_parameter")
    canceled = set_status(mine, call, status="CANCELED", reason="I am ill").body
    assert canceled == {**call, "status": "CANCELED", "version": 2, "cancelReason": "I am ill", "canceledBy": user}
    assert mine.get(f"/users/{user}/calls/canceled").body["items"] == [canceled]
    assert mine.get(f"/users/{user}/calls/upcoming").body["items"] == []
    moved = mine.put(f"/calls/{call['callId']}/schedule", {"scheduledFor": START + 1}, {"If-Match": '"2"'}).body
    assert moved["cancelReason"] == "I am ill", "a move keeps it"
    again = set_status(mine, call, version=3, status="SCHEDULED").body
    assert again == {**call, "scheduledFor": START + 1, "version": 4}


def test_a_call_is_its_user_s_and_its_provider_s(calls, user, call):
    provider, stranger = calls.acting_as("dr-lund"), calls.acting_as("dr-osei")
    assert provider.get(f"/calls/{call['callId']}").body == call
    assert call in provider.get("/providers/dr-lund/calls", status="SCHEDULED", limit=100).body["items"]
    assert set_status(provider, call, status="COMPLETED").status == 200
    for api in (stranger, calls.acting_as("ana"), calls.acting_as("dr-lund", "")):
        for reply in (api.get(f"/calls/{call['callId']}"), api.get(f"/users/{user}/calls"),
                      api.get(f"/users/{user}/calls/next"), api.get(f"/users/{user}/calls/canceled"),
                      api.get("/providers/dr-lund/calls"), set_status(api, call, 2, status="SCHEDULED"),
                      api.post("/calls", {"userId": user, "providerId": "dr-moreau", "scheduledFor": START})):
            assert refusal(reply) == (403, "not_allowed")
    reply = calls.acting_as(user).put(f"/calls/{call['callId']}/user", {"userId": "ana"}, {"If-Match": '"2"'})
    assert refusal(reply) == (403, "not_allowed"), "only admins give a call to somebody else"


def test_upcoming_from_a_time_on(calls, user):
    for number in range(5):
        calls.post("/calls", {"userId": user, "providerId": "p", "scheduledFor": START + number})
    items = calls.get(f"/users/{user}/calls/upcoming", after=START + 3).body["items"]
    assert [item["scheduledFor"] for item in items] == [START + 3, START + 4]
    assert refusal(calls.get(f"/users/{user}/calls/upcoming", after="x")) == (400, "bad_parameter")


# --- rows of other programs ---

@pytest.fixture(scope="module")
def shared():
    """A database that the test writes to itself, and the applications on it."""
    with Server("memory:") as server, Apps(server.endpoint) as apps, Client(server.endpoint) as db:
        yield db, apps


def put(db, table, **item):
    typed = {name: {"N": str(value)} if isinstance(value, int) else value if isinstance(value, dict) else {"S": value}
             for name, value in item.items()}
    db.PutItem(TableName=table, Item=typed)


def test_a_call_as_the_document_writes_it(shared):
    db, apps = shared
    calls = Rest(f"{apps.endpoint}/calls/api")
    put(db, "Calls", userId="ana", sk=f"{START:013}#doc-1", callId="doc-1", providerId="dr-lund", status="SCHEDULED",
        scheduledFor=START, userStatus="ana#SCHEDULED")
    reply = calls.get("/calls/doc-1")
    assert (reply.body["version"], reply.headers["etag"]) == (0, '"0"')
    same = {"callId": "doc-1", "userId": "ana", "providerId": "dr-lund", "scheduledFor": START}
    assert calls.post("/calls", same).status == 200
    assert refusal(calls.post("/calls", {**same, "scheduledFor": START + 5})) == (409, "call_exists")
    for version, (part, body) in enumerate([
            ("status", {"status": "COMPLETED"}), ("schedule", {"scheduledFor": START + 9}), ("user", {"userId": "ben"}),
            ("provider", {"providerId": "dr-osei"}), ("status", {"status": "CANCELED", "reason": "x"})]):
        reply = calls.put(f"/calls/doc-1/{part}", body, {"If-Match": f'"{version}"'})
        assert (reply.status, reply.body["version"]) == (200, version + 1), reply
        stale = calls.put(f"/calls/doc-1/{part}", {"status": "SCHEDULED"} if part == "status" else body,
                          {"If-Match": f'"{version}"'})
        assert stale.status == 412
    assert len(calls.get("/users/ben/calls").body["items"]) == 1


def test_a_ticket_as_another_program_writes_it(shared):
    db, apps = shared
    tickets = Rest(f"{apps.endpoint}/tickets/api")
    ticket_id = str(uuid.uuid4())
    put(db, "poc-itsm-tickets", ticket_id=ticket_id, caller_id="poc-user-009", issue_description="Mouse\nis dead",
        status="waiting", created_at="2026-02-09T12:20:25.343883Z", updated_at="2026-02-09T12:20:25.343883Z")
    for found in (tickets.get(f"/tickets/{ticket_id}").body, tickets.get("/tickets", caller="poc-user-009").body["items"][0]):
        assert (found["comments"], found["title"], found["status"]) == ([], "Mouse", "waiting")
        assert [each["status"] for each in found["history"]] == ["waiting"]
    assert tickets.post(f"/tickets/{ticket_id}/comments", {"comment_text": "x"}).status == 201
    closed = tickets.put(f"/tickets/{ticket_id}/status", {"status": "closed", "from": "waiting"}).body
    assert closed["status"] == "closed" and [each["status"] for each in closed["history"]] == ["waiting", "closed"]
    assert all(set(each) == {"status", "at", "by"} for each in closed["history"])


def test_a_user_and_a_task_as_the_document_writes_them(shared):
    db, apps = shared
    tasks, table = Rest(f"{apps.endpoint}/tasks/api"), "task-manager-sandbox-tasks"
    put(db, table, PK="USER#zoe", SK="PROFILE", EntityType="USER", UserId="zoe", Email="zoe@example.com",
        UserStatus="ACTIVE", Groups={"L": [{"S": "Members"}]}, CreatedAt="2026-01-01T00:00:00Z")
    put(db, table, PK="TASK#t-1", SK="METADATA", EntityType="TASK", TaskId="t-1", Title="T", Description="D",
        Priority="LOW", Status="OPEN", CreatedBy="zoe", CreatedAt="2026-01-01T00:00:00Z", UpdatedAt="2026-01-01T00:00:00Z",
        GSI2PK="STATUS#OPEN", GSI2SK="CREATED_AT#2026-01-01T00:00:00Z")
    zoe = tasks.acting_as("zoe")
    assert zoe.get("/me").body["profile"]["userId"] == "zoe"
    edited = zoe.put("/tasks/t-1", {"priority": "HIGH", "seen": "2026-01-01T00:00:00Z"})
    assert (edited.status, edited.body["priority"], edited.body["description"]) == (200, "HIGH", "D")
    assert tasks.put("/users/zoe/role", {"role": "admin"}).status == 204
    assert "zoe" in [each["userId"] for each in tasks.get("/users").body["items"]]
    assert zoe.post("/tasks/t-1/assignments", {"userId": "zoe"}).status == 201


def test_an_assignment_without_the_id_of_its_task(shared):
    db, apps = shared
    table, key = "task-manager-sandbox-tasks", {"PK": "TASK#t-2", "SK": "ASSIGNMENT#ida"}
    tasks = Rest(f"{apps.endpoint}/tasks/api")
    task = tasks.post("/tasks", {"taskId": "t-2", "title": "T", "priority": "LOW"}).body
    put(db, table, **key, EntityType="ASSIGNMENT", UserId="ida", GSI1PK="USER#ida", GSI1SK="TASK#t-2")
    assert [each["task"] for each in tasks.get("/users/ida/tasks").body["items"]] == [task]


def test_an_event_as_the_document_writes_it(shared):
    db, apps = shared
    calendar = Rest(f"{apps.endpoint}/calendar/api").acting_as("ana")
    event_id = str(uuid.uuid4())
    put(db, "cal-app-sam", PK="EVENT", SK=event_id, startDate="2042-08-02", endDate="2042-08-04", title="Dana", version=1)
    for night in ("2042-08-02", "2042-08-03"):
        put(db, "cal-app-sam", PK="SLOT", SK=night)  # without an owner
    reply = calendar.post("/events", {"title": "Ana", "start": "2042-08-03", "end": "2042-08-05"})
    assert refusal(reply) == (409, "overlap")
    assert reply.body["error"]["message"] == "Dana has the night of 2042-08-03"
    assert reply.body["error"]["taken"] == [{"night": "2042-08-03", "eventId": event_id, "title": "Dana"}]
    found = calendar.get(f"/events/{event_id}").body
    assert found["mayChange"] is True and "owner" not in found
    body = {"title": "Dana", "start": "2042-08-02", "end": "2042-08-05"}
    assert calendar.put(f"/events/{event_id}", body, {"If-Match": '"1"'}).status == 200
    assert calendar.delete(f"/events/{event_id}", {"If-Match": '"2"'}).status == 204


# --- calendar ---

def test_events_are_their_owner_s(calendar):
    """In an even year: the tests of the calendar take odd ones at random."""
    ana, ben = calendar.acting_as("ana"), calendar.acting_as("ben")
    event = ana.post("/events", {"title": "Ana", "start": "2950-07-01", "end": "2950-07-03"}).body
    try:
        assert (event["owner"], event["mayChange"]) == ("ana", True)
        assert ben.get(f"/events/{event['id']}").body["mayChange"] is False
        body = {"title": "Ben", "start": "2950-07-01", "end": "2950-07-03"}
        for reply in (ben.put(f"/events/{event['id']}", body, {"If-Match": '"1"'}),
                      ben.delete(f"/events/{event['id']}", {"If-Match": '"1"'})):
            assert refusal(reply) == (403, "not_allowed") and "ana" in reply.body["error"]["message"]
        changed = calendar.put(f"/events/{event['id']}", body, {"If-Match": '"1"'}).body  # an admin
        assert (changed["owner"], changed["title"]) == ("ana", "Ben")
    finally:
        version = calendar.get(f"/events/{event['id']}").body["version"]
        assert calendar.delete(f"/events/{event['id']}", {"If-Match": f'"{version}"'}).status == 204


def test_limits_can_be_known_before(calendar):
    assert calendar.get("/settings").body == {"nightsMax": 99, "titleMax": 200}


def test_the_feed_is_read_by_a_calendar_program():
    titles = ["Ana; Ben, \\ and \"Chloé\" 🏡 " + "é" * 100, "Line\nbreak", "plain"]
    with Apps("memory:") as apps:
        site, calendar = Rest(apps.endpoint), Rest(f"{apps.endpoint}/calendar/api")
        first = datetime.date.today() + datetime.timedelta(days=10)
        for number, title in enumerate(titles):
            day = first + datetime.timedelta(days=10 * number)
            reply = calendar.post("/events", {"title": title, "start": day.isoformat(),
                                              "end": (day + datetime.timedelta(days=3)).isoformat()})
            assert reply.status == 201, reply
        url = calendar.acting_as("ana").get("/feed").body["url"]
        reply = site.get(url)
        assert reply.status == 200 and reply.headers["content-type"] == "text/calendar; charset=utf-8"
        assert site.get("/calendar/feed.ics?token=x.y").status == 401
        assert all(len(line) <= 75 for line in reply.content.split(b"\r\n"))
        script = """
            import("ical.js").then(({default: ICAL}) => {
                const calendar = new ICAL.Component(ICAL.parse(require("fs").readFileSync(0, "utf8")));
                const events = calendar.getAllSubcomponents("vevent").map((each) => new ICAL.Event(each));
                console.log(JSON.stringify(events.map((event) => [event.summary, event.startDate.toString(),
                    event.endDate.toString(), event.startDate.isDate, event.uid])));
            });
        """
        done = subprocess.run(["node", "-e", script], cwd=ROOT / "tests", input=reply.content, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr
        events = json.loads(done.stdout)
        assert [event[0] for event in events] == titles
        assert events[0][1:4] == [first.isoformat(), (first + datetime.timedelta(days=3)).isoformat(), True]
        assert len({event[4] for event in events}) == 3


# --- tickets ---

def test_tickets_are_their_caller_s_and_the_desk_s(tickets, user):
    mine, desk, other = tickets.acting_as(user), tickets.acting_as("desk"), tickets.acting_as("other")
    ticket = mine.post("/tickets", {"issue_description": "Slow\n" + "x" * 200}).body
    assert (ticket["caller_id"], ticket["mine"], ticket["title"]) == (user, True, "Slow")
    path = f"/tickets/{ticket['ticket_id']}"
    for reply in (other.get(path), other.post(f"{path}/comments", {"comment_text": "x"}), other.get("/tickets", caller=user),
                  other.post("/tickets", {"issue_description": "x", "caller_id": user}),
                  mine.put(f"{path}/status", {"status": "closed", "from": "open"})):
        assert refusal(reply) == (403, "not_allowed")
    mine.post(f"{path}/comments", {"comment_text": "Anybody?"})
    comments = desk.post(f"{path}/comments", {"comment_text": "Yes"}).body["comments"]
    assert [comment["author"] for comment in comments] == [
        {"id": user, "name": user, "role": "caller"}, {"id": "desk", "name": "Service desk", "role": "agent"}]
    assert [each["ticket_id"] for each in mine.get("/tickets").body["items"]] == [ticket["ticket_id"]]


def test_statuses_with_history(tickets, user):
    desk = tickets.acting_as("desk")
    path = f"/tickets/{tickets.acting_as(user).post('/tickets', {'issue_description': 'x'}).body['ticket_id']}"
    assert desk.put(f"{path}/status", {"status": "in_progress", "from": "open"}).status == 200
    lost = desk.put(f"{path}/status", {"status": "closed", "from": "open"})
    assert refusal(lost) == (409, "status_changed") and lost.body["error"]["status"] == "in_progress"
    assert refusal(desk.put(f"{path}/status", {"status": "gone", "from": "open"})) == (400, "bad_parameter")
    history = desk.put(f"{path}/status", {"status": "closed", "from": "in_progress"}).body["history"]
    assert [(each["status"], each["by"]) for each in history] == [("open", user), ("in_progress", "desk"), ("closed", "desk")]
    assert sorted(each["at"] for each in history) == [each["at"] for each in history]
    missing = f"/tickets/{uuid.uuid4()}/status"
    assert refusal(desk.put(missing, {"status": "closed", "from": "open"})) == (404, "not_found")


def test_statuses_and_privacy_are_settings(tmp_path):
    with Apps("memory:", "--ticket-statuses", "new,done", "--hash-caller-ids", tmp_path / "key") as apps:
        tickets = Rest(f"{apps.endpoint}/tickets/api")
        settings = tickets.get("/settings").body
        assert settings["statuses"] == ["new", "done"] and settings["callerIdsAreHashed"] is True
        assert "passwords" in settings["hint"]
        ana = tickets.acting_as("ana")
        ticket = ana.post("/tickets", {"issue_description": "x"}).body
        assert ticket["status"] == "new" and re.fullmatch("h-[0-9a-f]{32}", ticket["caller_id"]) and ticket["mine"]
        commented = ana.post(f"/tickets/{ticket['ticket_id']}/comments", {"comment_text": "y"}).body
        assert "ana" not in json.dumps(commented)
        agent = {"X-User-Id": "ana", "X-User-Roles": "agent"}
        path = f"/tickets/{ticket['ticket_id']}/status"
        changed = tickets.put(path, {"status": "done", "from": "new"}, headers=agent).body
        assert "ana" not in json.dumps(changed) and changed["history"][-1]["by"] == ticket["caller_id"]
        other = tickets.put(path, {"status": "new", "from": "done"}, headers={**agent, "X-User-Id": "ben"}).body
        assert other["history"][-1]["by"] == "ben", "of others' tickets the agent"
        assert refusal(tickets.put(f"/tickets/{uuid.uuid4()}/status", {"status": "new", "from": "done"}, headers=agent)) == (404, "not_found")
        for caller in ("ana", ticket["caller_id"]):
            assert len(tickets.get("/tickets", caller=caller).body["items"]) == 1
        assert len(ana.get("/tickets").body["items"]) == 1
        assert refusal(tickets.acting_as("ben").get("/tickets", caller=ticket["caller_id"])) == (403, "not_allowed")


# --- tasks ---

@pytest.fixture
def team(tasks):
    """An admin by the table, and two members."""
    names = {role: f"{role}-{uuid.uuid4()}" for role in ("boss", "one", "two")}
    for role, name in names.items():
        assert tasks.post("/users", {"userId": name, "email": "x@example.com", "isAdmin": role == "boss"}).status == 201
    return names


def test_members_do_not_administer(tasks, team):
    member, boss = tasks.acting_as(team["one"]), tasks.acting_as(team["boss"])
    for reply in (member.post("/users", {"email": "x@example.com", "isAdmin": True}), member.get("/users"),
                  member.put(f"/users/{team['one']}x/role", {"role": "admin"}), member.get(f"/users/{team['two']}"),
                  member.put(f"/users/{team['two']}/status", {"status": "DEACTIVATED"}),
                  member.get(f"/users/{team['two']}/tasks"), member.get(f"/users/{team['two']}/notifications"),
                  tasks.acting_as("nobody").get("/tasks", status="OPEN"), tasks.acting_as("nobody").get("/tasks/counts")):
        assert refusal(reply) == (403, "not_allowed"), reply
    assert member.get("/me").body["isAdmin"] is False and boss.get("/me").body["isAdmin"] is True
    assert refusal(member.put(f"/users/{team['one']}/role", {"role": "admin"})) == (409, "last_admin")
    assert refusal(boss.put(f"/users/{team['boss']}/status", {"status": "DEACTIVATED"})) == (409, "last_admin")
    assert boss.put(f"/users/{team['one']}/role", {"role": "admin"}).status == 204
    assert member.get("/me").body["isAdmin"] is True
    listed = [user for page in boss.pages("/users", limit=100) for user in page]
    assert {team["boss"], team["one"], team["two"]} <= {user["userId"] for user in listed}
    assert boss.put(f"/users/{team['one']}/status", {"status": "DEACTIVATED"}).status == 204
    assert refusal(member.get("/tasks", status="OPEN")) == (403, "not_allowed")
    assert refusal(boss.put("/users/missing/role", {"role": "admin"})) == (404, "not_found")


def test_members_see_the_tasks_that_they_created_or_that_are_assigned_to_them(tasks, team):
    boss, one, two = (tasks.acting_as(team[role]) for role in ("boss", "one", "two"))
    made = [one.post("/tasks", {"title": f"t {number}", "priority": "LOW"}).body for number in range(3)]
    path = f"/tasks/{made[0]['taskId']}"
    own = f"{path}/assignments/{team['two']}"
    for reply in (two.get(path), two.get(f"{path}/assignments"), two.get(f"{path}/assignments/{team['one']}"),
                  two.get(f"/users/{team['one']}/created"), two.get(f"/users/{team['one']}/tasks"),
                  one.get("/tasks", status="OPEN"), one.get("/tasks/counts"), tasks.acting_as("nobody").get(path)):
        assert refusal(reply) == (403, "not_allowed"), reply
    assert refusal(two.get(own)) == (404, "not_found"), "oneself"
    for api in (one, boss):
        assert api.get(path).body == made[0] and api.get(f"{path}/assignments").body == {"items": []}
        assert [task for page in api.pages(f"/users/{team['one']}/created", limit=2) for task in page] == made[::-1]
    assert boss.post(f"{path}/assignments", {"userId": team["two"]}).status == 201
    assert two.get(path).body == made[0] and two.get(own).status == 200
    assert [each["userId"] for each in two.get(f"{path}/assignments").body["items"]] == [team["two"]]
    assert one.get(own).status == 200 and two.get(f"/users/{team['two']}/created").body == {"items": []}
    assert boss.delete(own).status == 204
    assert refusal(two.get(path)) == (403, "not_allowed")
    boss.put(f"/users/{team['one']}/status", {"status": "DEACTIVATED"})
    assert refusal(one.get(path)) == (403, "not_allowed") and "no active account" in one.get(path).body["error"]["message"]
    boss.put(f"/users/{team['one']}/status", {"status": "ACTIVE"})
    boss.put(f"/users/{team['two']}/role", {"role": "admin"})
    assert two.get(path).status == 200 and two.get("/tasks", status="OPEN").status == two.get("/tasks/counts").status == 200


def test_who_may_not_see_a_task_does_not_learn_whether_it_exists(tasks, team):
    task = tasks.acting_as(team["one"]).post("/tasks", {"title": "t", "priority": "LOW"}).body["taskId"]

    def replies(api, task_id):
        path = f"/tasks/{task_id}"
        made = (api.get(path), api.get(f"{path}/assignments"), api.get(f"{path}/assignments/{team['one']}"),
                api.put(path, {"title": "x", "seen": "x"}), api.put(path, {"title": "x"}), api.put(f"{path}/status", {"status": "CLOSED"}),
                api.post(f"{path}/assignments", {"userId": team["two"]}), api.delete(f"{path}/assignments/{team['one']}"))
        return [(*refusal(reply), reply.body["error"]["message"]) for reply in made]
    for name in (team["two"], "nobody"):
        there, missing = (replies(tasks.acting_as(name), each) for each in (task, uuid.uuid4()))
        assert there == missing and {refused[:2] for refused in there} == {(403, "not_allowed")}
    boss, missing = tasks.acting_as(team["boss"]), f"/tasks/{uuid.uuid4()}"
    for reply in (boss.get(missing), boss.put(missing, {"title": "x"}), boss.put(f"{missing}/status", {"status": "CLOSED"})):
        assert refusal(reply) == (404, "not_found"), "admins do"


def created(api, name):
    return [task["title"] for page in api.pages(f"/users/{name}/created") for task in page]


def test_a_task_of_the_same_id_as_one_that_another_program_deleted(tasks, team, apps_db):
    if not apps_db.startswith("http"):
        pytest.skip("the row is deleted in the database")
    one, two = tasks.acting_as(team["one"]), tasks.acting_as(team["two"])
    task = str(uuid.uuid4())

    def delete():
        with Client(apps_db) as db:
            db.DeleteItem(TableName="task-manager-sandbox-tasks", Key={"PK": {"S": f"TASK#{task}"}, "SK": {"S": "METADATA"}})
    for title in ("first", "second"):
        assert one.post("/tasks", {"taskId": task, "title": title, "priority": "LOW"}).status == 201
        assert created(one, team["one"]) == [title]
        delete()
        assert created(one, team["one"]) == []
    assert two.post("/tasks", {"taskId": task, "title": "secret", "priority": "LOW"}).status == 201
    assert created(one, team["one"]) == [] and created(two, team["two"]) == ["secret"]
    assert refusal(one.get(f"/tasks/{task}")) == (403, "not_allowed")


def test_errors_say_who(tasks, team):
    boss = tasks.acting_as(team["boss"])
    task = boss.post("/tasks", {"title": "t", "priority": "LOW"}).body["taskId"]
    path = f"/tasks/{task}/assignments"
    assert boss.post(path, {"userId": team["one"]}).status == 201
    again = boss.post(path, {"userId": team["one"]})
    assert refusal(again) == (409, "duplicate")
    assert again.body["error"]["message"] == f"{team['one']} is already assigned to this task"
    assert refusal(tasks.acting_as(team["one"]).delete(f"{path}/{team['one']}")) == (403, "not_allowed")
    assert boss.delete(f"{path}/{team['one']}").status == 204
    gone = boss.delete(f"{path}/{team['one']}")
    assert refusal(gone) == (404, "not_found") and team["one"] in gone.body["error"]["message"]
    assert boss.get(path).body["items"] == []


def test_editing_a_task(tasks, team):
    boss, one, two = (tasks.acting_as(team[role]) for role in ("boss", "one", "two"))
    task = one.post("/tasks", {"title": "t", "priority": "LOW", "description": "d"}).body
    path = f"/tasks/{task['taskId']}"
    assert refusal(two.put(path, {"title": "x", "seen": task["updatedAt"]})) == (403, "not_allowed")
    assert refusal(one.put(path, {"title": "x"})) == (428, "version_required")
    edited = one.put(path, {"title": "x", "seen": task["updatedAt"]}).body
    assert (edited["title"], edited["description"], edited["priority"]) == ("x", "d", "LOW")
    assert refusal(one.put(path, {"title": "y", "seen": task["updatedAt"]})) == (412, "version_mismatch")
    cleared = boss.put(path, {"description": "", "priority": "HIGH", "seen": edited["updatedAt"]}).body
    assert (cleared["description"], cleared["priority"]) == ("", "HIGH")
    boss.post(f"{path}/assignments", {"userId": team["two"]})
    assert two.put(path, {"title": "z", "seen": cleared["updatedAt"]}).status == 200
    assert one.get(path).body["title"] == "z"


def test_items_stay_below_4_kb(tasks, team):
    one = tasks.acting_as(team["one"])
    reply = one.post("/tasks", {"title": "t", "priority": "LOW", "description": "🏡" * 1000})
    assert refusal(reply) == (422, "too_large")
    assert reply.body["error"]["bytes"] > reply.body["error"]["bytesMax"] == 4095
    task = one.post("/tasks", {"title": "t", "priority": "LOW", "description": "é" * 1700}).body
    reply = one.put(f"/tasks/{task['taskId']}", {"description": "🏡" * 1000, "seen": task["updatedAt"]})
    assert refusal(reply) == (422, "too_large")
    assert one.get(f"/tasks/{task['taskId']}").body == task


def test_no_change_of_the_status_makes_an_item_of_4_kb(tasks, team, apps_db):
    """The largest task that is accepted has room for the longest status and the longest id."""
    if not apps_db.startswith("http"):
        pytest.skip("the item is read from the database")
    longest = f"{uuid.uuid4()}".ljust(255, "x")
    one = tasks.acting_as(team["one"])
    size = one.post("/tasks", {"title": "t", "priority": "LOW", "description": "🏡" * 1000}).body["error"]["bytes"]
    room = 4095 - (size - 4000)  # for the description
    text = {"title": "t", "priority": "LOW"}
    accepted = "🏡" * (room // 4) + "x" * (room % 4)
    assert refusal(one.post("/tasks", {**text, "description": accepted + "x"})) == (422, "too_large")
    task = one.post("/tasks", {**text, "description": accepted}).body["taskId"]
    assert tasks.acting_as(longest, "admin").put(f"/tasks/{task}/status", {"status": "IN_PROGRESS"}).status == 204
    with Client(apps_db) as db:
        item = db.GetItem(TableName="task-manager-sandbox-tasks", Key={"PK": {"S": f"TASK#{task}"}, "SK": {"S": "METADATA"}})["Item"]
    assert item["UpdatedBy"] == {"S": longest} and values.item_size(item) == 4095


def test_a_user_of_another_program_is_found_and_listed_by_its_own_time(tasks, apps_db):
    """As the document writes it: without keys of an index."""
    if not apps_db.startswith("http"):
        pytest.skip("the row is written to the database")
    user = f"doc-{uuid.uuid4()}"
    with Client(apps_db) as db:
        db.PutItem(TableName="task-manager-sandbox-tasks", Item={
            "PK": {"S": f"USER#{user}"}, "SK": {"S": "PROFILE"}, "EntityType": {"S": "USER"}, "UserId": {"S": user}, "Email": {"S": "d@x.org"},
            "UserStatus": {"S": "ACTIVE"}, "Groups": {"L": [{"S": "Members"}]}, "CreatedAt": {"S": "2020-01-02T03:04:05.000000Z"}})
        assert tasks.get(f"/users/{user}").body["userId"] == user
        assert tasks.put(f"/users/{user}/role", {"role": "admin"}).status == 204
        row = db.GetItem(TableName="task-manager-sandbox-tasks", Key={"PK": {"S": f"USER#{user}"}, "SK": {"S": "PROFILE"}})["Item"]
    assert (row["GSI2PK"]["S"], row["GSI2SK"]["S"]) == ("USERS", "CREATED_AT#2020-01-02T03:04:05.000000Z")
    assert user in [each["userId"] for page in tasks.pages("/users", limit=100) for each in page]


def test_counts_follow_the_tasks(tasks, team):
    one, boss = tasks.acting_as(team["one"]), tasks.acting_as(team["boss"])
    before = boss.get("/tasks/counts").body
    task = one.post("/tasks", {"title": "t", "priority": "HIGH"}).body["taskId"]
    tasks.post("/tasks", {"title": "t", "priority": "LOW"})
    after = boss.get("/tasks/counts").body
    assert after["byStatus"]["OPEN"] - before["byStatus"]["OPEN"] == 2
    assert after["byStatusAndPriority"]["OPEN"]["HIGH"] - before["byStatusAndPriority"]["OPEN"]["HIGH"] == 1
    tasks.put(f"/tasks/{task}/status", {"status": "CLOSED"})
    last = boss.get("/tasks/counts").body
    assert last["byStatus"]["CLOSED"] - before["byStatus"]["CLOSED"] == 1
    assert last["byPriority"] == after["byPriority"] and sum(last["byStatus"].values()) == sum(last["byPriority"].values())


def test_notifications(tasks, team):
    boss, one = tasks.acting_as(team["boss"]), tasks.acting_as(team["one"])
    path = f"/users/{team['one']}/notifications"
    task = boss.post("/tasks", {"title": "Chairs", "priority": "LOW"}).body["taskId"]
    boss.post(f"/tasks/{task}/assignments", {"userId": team["one"]})

    def kinds():
        return [item["kind"] for item in one.get(path).body["items"]]
    poll(lambda: kinds() == ["assigned"], 30, "the notification of the assignment")
    boss.put(f"/tasks/{task}/status", {"status": "IN_PROGRESS"})
    poll(lambda: kinds() == ["status", "assigned"], 30, "the notification of the status")
    one.put(f"/tasks/{task}/status", {"status": "COMPLETED"})  # their own doing is not
    boss.put(f"/tasks/{task}", {"title": "More chairs", "seen": one.get(f"/tasks/{task}").body["updatedAt"]})
    poll(lambda: kinds() == ["edited", "status", "assigned"], 30, "the notification of the edit")
    page = one.get(path).body
    assert page["unread"] == 3 and page["items"][1] == {
        **page["items"][1], "taskId": task, "title": "Chairs", "by": team["boss"], "read": False,
        "text": f"{team['boss']} changed the status to IN_PROGRESS"}
    assert one.put(f"{path}/read", {"upTo": page["items"][1]["at"]}).status == 204
    page = one.get(path).body
    assert (page["unread"], [item["read"] for item in page["items"]]) == (1, [False, True, True])
    assert refusal(one.put(f"{path}/read", {"upTo": "now"})) == (400, "bad_parameter")
    boss.delete(f"/tasks/{task}/assignments/{team['one']}")
    poll(lambda: "unassigned" in kinds(), 30, "the notification of the removal")


# --- cost ---

@pytest.mark.parametrize("name", ["calendar", "calls", "reconciliation", "tasks", "tickets"])
def test_access_patterns_and_their_cost(apps, name):
    body = Rest(f"{apps.endpoint}/{name}/api").get("/patterns").body
    declared = json.loads((ROOT / "apps" / name / "patterns.json").read_text())["patterns"]
    workload = json.loads((ROOT / "apps" / name / "workload.json").read_text())
    assert [each["name"] for each in body["patterns"]] == [each["name"] for each in declared]
    names = {each["name"] for each in declared}
    sums = {"read": 0, "write": 0}
    for shown, given in zip(body["workload"]["operations"], workload["operations"]):
        assert given["pattern"] in names
        units = given["count"] * given["units"] * (30 if given["per"] == "day" else 1)
        cost = units / 1e6 * workload["prices"][f"{given['kind']}Million"]
        assert shown["unitsPerMonth"] == units and shown["costPerMonth"] == pytest.approx(cost, abs=1e-6)
        sums[given["kind"]] += cost
    storage = workload["storageGb"] * workload["prices"]["storageGbMonth"]
    assert body["cost"]["reads"] == pytest.approx(sums["read"], abs=1e-5)
    assert body["cost"]["writes"] == pytest.approx(sums["write"], abs=1e-5)
    assert body["cost"]["total"] == pytest.approx(sum(sums.values()) + storage, abs=1e-5)


def test_live_numbers_when_the_database_can_tell():
    with Server("memory:") as server, Recorder(server.endpoint) as recorder, Apps(recorder.endpoint) as process:
        tickets = Rest(f"{process.endpoint}/tickets/api")
        body = tickets.get("/patterns").body
        assert body["measured"] is False and not any("live" in each for each in body["patterns"])
        recorder.insight = {"total": 2, "patterns": [
            {"operation": "Query", "table": "poc-itsm-tickets", "index": "CallerIdIndex", "key": "caller_id = ?", "calls": 8,
             "readUnits": 4, "writeUnits": 0},
            {"operation": "UpdateItem", "table": "poc-itsm-tickets", "index": None, "key": "ticket_id = ?", "calls": 2,
             "readUnits": 0, "writeUnits": 10}]}
        body = tickets.get("/patterns").body
        live = {each["name"]: each.get("live") for each in body["patterns"]}
        assert body["measured"] is True and live["create_ticket"] is None
        assert live["list_recent_tickets"] == {"requests": 8, "units": 4, "unitsEach": 0.5}
        assert live["add_comment"] == {"requests": 2, "units": 10, "unitsEach": 5, "togetherWith": ["change_status"]}
        recorder.insight_status = 500
        recorder.insight = {"__type": "com.amazonaws.dynamodb.v20120810#InternalFailure"}  # as DynamoDB Local answers
        assert tickets.get("/patterns").body["measured"] is False
        recorder.insight = {"__type": "com.amazonaws.dynamodb.v20120810#InternalServerError"}
        assert tickets.get("/patterns").status == 503


def test_the_documents_own_numbers(apps):
    tasks = Rest(f"{apps.endpoint}/tasks/api").get("/patterns").body["cost"]
    assert (round(tasks["reads"], 2), round(tasks["writes"], 2), tasks["storage"]) == (0.02, 0.02, 0.25)
    assert round(tasks["total"], 1) == 0.3
    assert Rest(f"{apps.endpoint}/tickets/api").get("/patterns").body["cost"]["total"] < 0.01
