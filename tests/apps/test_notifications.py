"""Notifications of tasks while servers end, crash and come back: each is there, once."""

import pytest

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
    poll(lambda: team.notifications() == [("assigned", tasks[0])], 10, "the assignment is told")
    team.apps.stop()
    assert position(database) is not None, "an orderly end stores the position"
    with Client(database.endpoint) as db:
        for task in tasks[1:]:
            db.PutItem(TableName=TABLE, Item={name: {"S": value} for name, value in {
                "PK": f"TASK#{task}", "SK": "ASSIGNMENT#ben", "EntityType": "ASSIGNMENT", "TaskId": task, "UserId": "ben",
                "AssignedBy": "ana", "AssignedAt": "2026-02-09T12:20:25.000000Z", "GSI1PK": "USER#ben",
                "GSI1SK": f"TASK#{task}"}.items()})
    team.start()
    poll(lambda: len(team.notifications()) >= 3, 10, "the others are told")
    assert sorted(team.notifications()) == sorted(("assigned", task) for task in tasks)


def test_what_was_told_is_not_told_again(team, database):
    """A notification that is gone (somebody else tidies up) does not come back with a restart."""
    first, second = team.task("first"), team.task("second")
    team.assign(first)
    poll(lambda: team.notifications() == [("assigned", first)], 10, "the assignment is told")
    team.apps.stop()
    with Client(database.endpoint) as db:
        items = db.Query(TableName=TABLE, KeyConditionExpression="PK = :u AND begins_with(SK, :n)", ExpressionAttributeValues={
            ":u": {"S": "USER#ben"}, ":n": {"S": "NOTIFICATION#"}})["Items"]
        for item in items:
            db.DeleteItem(TableName=TABLE, Key={"PK": item["PK"], "SK": item["SK"]})
    team.start()
    team.assign(second)
    poll(lambda: ("assigned", second) in team.notifications(), 10, "the second is told")
    assert team.notifications() == [("assigned", second)]


def test_crashes_neither_lose_nor_repeat(team):
    """Killed right after each change is answered, before anything can have been told of it."""
    tasks = []
    for number in range(6):
        tasks.append(team.task(f"task {number}"))
        team.assign(tasks[-1])
        assert team.admin.put(f"/tasks/{tasks[-1]}/status", {"status": "IN_PROGRESS"}).status == 204
        team.apps.kill()
        team.start()
    wanted = sorted((kind, task) for kind in ("assigned", "status") for task in tasks)
    poll(lambda: len(team.notifications()) >= len(wanted), 20, "all are told")
    assert sorted(team.notifications()) == wanted


def test_two_servers_tell_once(team, database):
    with Apps(database.endpoint):
        tasks = [team.task(f"task {number}") for number in range(10)]
        for task in tasks:
            team.assign(task)
        poll(lambda: len(team.notifications()) >= 10, 10, "all are told")
    assert sorted(team.notifications()) == sorted(("assigned", task) for task in tasks)


def test_the_database_dies_between(tmp_path):
    database = Server(f"rocksdb:{tmp_path}")
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
        poll(lambda: len(team.notifications()) >= 3, 15, "all are told")
        assert sorted(team.notifications()) == sorted(("assigned", task) for task in tasks)
        team.apps.stop()
    finally:
        database.stop()
