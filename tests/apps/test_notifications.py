"""Notifications of tasks while servers end, crash and come back: each is there, once."""

import time

import pytest

from loopback import free_port
from recorder import Recorder
from rest import Rest
from server import Apps, Server
from waiting import poll
from wire import Client

TABLE = "task-manager-sandbox-tasks"


@pytest.fixture
def database():
    with Server("memory:") as server:
        yield server


class Team:
    """Ana, an admin, and Ben, who is notified; on a server of its own that may be ended."""

    def __init__(self, database):
        self.database = database
        self.apps = None

    def start(self):
        self.apps = Apps(self.database.endpoint)
        self.admin = Rest(f"{self.apps.endpoint}/tasks/api").acting_as("ana", "admin")
        self.ben = Rest(f"{self.apps.endpoint}/tasks/api").acting_as("ben")

    def notifications(self):
        return [(item["kind"], item["taskId"]) for page in self.ben.pages("/users/ben/notifications") for item in page]

    def task(self, title):
        return self.admin.post("/tasks", {"title": title, "priority": "LOW"}).body["taskId"]

    def assign(self, task):
        assert self.admin.post(f"/tasks/{task}/assignments", {"userId": "ben"}).status == 201


@pytest.fixture
def team(database):
    team = Team(database)
    team.start()
    assert team.admin.post("/users", {"userId": "ben", "email": "ben@example.com"}).status == 201
    yield team
    team.apps.stop()


def test_they_are_the_users_own(team):
    assert team.ben.get("/users/ben/notifications").status == 200
    assert team.admin.get("/users/ben/notifications").status == 403


def position(database):
    with Client(database.endpoint) as db:
        return db.GetItem(TableName=TABLE, Key={"PK": {"S": "STREAM"}, "SK": {"S": "NOTIFICATIONS"}}).get("Item")


def test_what_another_program_changes_while_no_server_runs(team, database):
    tasks = [team.task(f"task {number}") for number in range(3)]
    team.assign(tasks[0])
    poll(lambda: team.notifications() == [("assigned", tasks[0])], 30, "the notification of the assignment")
    team.apps.stop()
    assert position(database) is not None, "an orderly end stores the position"
    with Client(database.endpoint) as db:
        for task in tasks[1:]:
            db.PutItem(TableName=TABLE, Item={name: {"S": value} for name, value in {
                "PK": f"TASK#{task}", "SK": "ASSIGNMENT#ben", "EntityType": "ASSIGNMENT", "TaskId": task, "UserId": "ben",
                "AssignedBy": "ana", "AssignedAt": "2026-02-09T12:20:25.000000Z", "GSI1PK": "USER#ben",
                "GSI1SK": f"TASK#{task}"}.items()})
    team.start()
    poll(lambda: len(team.notifications()) >= 3, 30, "the other notifications")
    assert sorted(team.notifications()) == sorted(("assigned", task) for task in tasks)


def test_what_was_told_is_not_told_again(team, database):
    """A notification that is gone (somebody else tidies up) does not come back with a restart."""
    first, second = team.task("first"), team.task("second")
    team.assign(first)
    poll(lambda: team.notifications() == [("assigned", first)], 30, "the notification of the assignment")
    team.apps.stop()
    with Client(database.endpoint) as db:
        items = db.Query(TableName=TABLE, KeyConditionExpression="PK = :u AND begins_with(SK, :n)", ExpressionAttributeValues={
            ":u": {"S": "USER#ben"}, ":n": {"S": "NOTIFICATION#"}})["Items"]
        for item in items:
            db.DeleteItem(TableName=TABLE, Key={"PK": item["PK"], "SK": item["SK"]})
    team.start()
    team.assign(second)
    poll(lambda: ("assigned", second) in team.notifications(), 30, "the second notification")
    assert team.notifications() == [("assigned", second)]


def test_all_unread_ones_are_counted_up_to_100(team):
    """Not just those of the first page."""
    for number in range(30):
        team.assign(team.task(f"task {number}"))
    poll(lambda: len(team.notifications()) == 30, 30, "all are told")
    page = team.ben.get("/users/ben/notifications").body
    assert (len(page["items"]), page["unread"]) == (25, 30)
    assert team.ben.get("/users/ben/notifications", cursor=page["cursor"]).body["unread"] == 30
    assert team.ben.put("/users/ben/notifications/read", {"upTo": page["items"][2]["at"]}).status == 204
    assert team.ben.get("/users/ben/notifications").body["unread"] == 2
    assert team.ben.get("/users/ben/notifications", limit=1).body["unread"] == 2
    for number in range(110):
        team.assign(team.task(f"more {number}"))
    poll(lambda: len(team.notifications()) == 140, 60, "all are told")
    assert team.ben.get("/users/ben/notifications").body["unread"] == 100


def test_a_deactivated_user_gets_none(team):
    """The document reads the user's profile for notifications."""
    task = team.task("first")
    team.assign(task)
    assert team.admin.post("/users", {"userId": "zoe", "email": "zoe@example.com"}).status == 201
    assert team.admin.post(f"/tasks/{task}/assignments", {"userId": "zoe"}).status == 201
    zoe = Rest(f"{team.apps.endpoint}/tasks/api").acting_as("zoe")

    def told():
        return zoe.get("/users/zoe/notifications").body["items"][0]["text"]
    poll(lambda: team.notifications() == [("assigned", task)], 30, "the assignment is told")
    assert team.admin.put("/users/ben/status", {"status": "DEACTIVATED"}).status == 204
    assert team.admin.put(f"/tasks/{task}/status", {"status": "CLOSED"}).status == 204
    poll(lambda: told() == "ana changed the status to CLOSED", 30, "zoe, who is behind ben in the list, is told")
    assert team.admin.put("/users/ben/status", {"status": "ACTIVE"}).status == 204
    assert team.admin.put(f"/tasks/{task}/status", {"status": "OPEN"}).status == 204
    poll(lambda: told() == "ana changed the status to OPEN", 30, "the second change is told")
    assert [item["text"] for item in team.ben.get("/users/ben/notifications").body["items"]] == [
        "ana changed the status to OPEN", "ana assigned you"]


def test_they_are_removed_after_90_days(team, database):
    team.assign(team.task("first"))
    poll(team.notifications, 30, "the assignment is told")
    with Client(database.endpoint) as db:
        assert db.DescribeTimeToLive(TableName=TABLE)["TimeToLiveDescription"] == {
            "AttributeName": "ExpiresAt", "TimeToLiveStatus": "ENABLED"}
        item, = [item for item in db.Scan(TableName=TABLE)["Items"] if item["EntityType"] == {"S": "NOTIFICATION"}]
    assert abs(int(item["ExpiresAt"]["N"]) - time.time() - 90 * 86400) < 60


def test_crashes_neither_lose_nor_repeat(team):
    """Killed right after each change is answered, before a notification can have been written."""
    tasks = []
    for number in range(6):
        tasks.append(team.task(f"task {number}"))
        team.assign(tasks[-1])
        assert team.admin.put(f"/tasks/{tasks[-1]}/status", {"status": "IN_PROGRESS"}).status == 204
        team.apps.kill()
        team.start()
    wanted = sorted((kind, task) for kind in ("assigned", "status") for task in tasks)
    poll(lambda: len(team.notifications()) >= len(wanted), 60, "all notifications")
    assert sorted(team.notifications()) == wanted


def test_two_servers_tell_once(team, database):
    with Apps(database.endpoint):
        tasks = [team.task(f"task {number}") for number in range(10)]
        for task in tasks:
            team.assign(task)
        poll(lambda: len(team.notifications()) >= 10, 30, "all notifications")
    assert sorted(team.notifications()) == sorted(("assigned", task) for task in tasks)


def test_the_database_dies_between(tmp_path):
    database = Server(f"rocksdb:{tmp_path}", port=free_port())
    team = Team(database)
    team.start()
    try:
        assert team.admin.post("/users", {"userId": "ben", "email": "ben@example.com"}).status == 201
        tasks = []
        for number in range(3):
            tasks.append(team.task(f"task {number}"))
            team.assign(tasks[-1])
            database.kill()
            database = Server(f"rocksdb:{tmp_path}", port=database.port)
        poll(lambda: len(team.notifications()) >= 3, 60, "all notifications")
        assert sorted(team.notifications()) == sorted(("assigned", task) for task in tasks)
        team.apps.stop()
    finally:
        database.stop()


def test_one_that_cannot_be_written_is_skipped_and_the_log_does_not_name_the_user(database):
    with Recorder(database.endpoint) as recorder:
        team = Team(recorder)
        team.start()
        try:
            assert team.admin.post("/users", {"userId": "ben", "email": "ben@example.com"}).status == 201
            recorder.refused["PutItem"] = "ValidationException"
            task = team.task("one")
            team.assign(task)
            line = f"a notification about task {task} cannot be written: ValidationException: refused by the test"
            poll(lambda: line in team.apps.log(), 30, "the log says so")
            assert not any("ben" in line for line in team.apps.log().splitlines() if " error " in line)
            recorder.refused.clear()
            later = team.task("two")
            team.assign(later)
            poll(team.notifications, 30, "those that follow are written")
            assert team.notifications() == [("assigned", later)]
        finally:  # the log has errors, so stop() does not fit
            team.apps.process.terminate()
            assert team.apps.process.wait(60) == 0
        team.apps.log_path.unlink()
