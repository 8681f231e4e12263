"""Users, tasks and assignments, through the REST API."""

import itertools
import json
import uuid

import pytest

from racing import together

STATUSES = ("OPEN", "IN_PROGRESS", "COMPLETED", "CLOSED")
MISSING = "00000000-0000-4000-8000-000000000000"
numbers = itertools.count()


def make_user(tasks, is_admin=False):
    user_id = f"user-{next(numbers)}-{uuid.uuid4()}"[:64]
    reply = tasks.post("/users", {"userId": user_id, "email": f"{user_id[:20]}@example.com",
                                  "isAdmin": is_admin})
    assert reply.status == 201, reply
    return user_id


@pytest.fixture
def admin(tasks):
    return make_user(tasks, is_admin=True)


@pytest.fixture
def member(tasks):
    return make_user(tasks)


def make_task(tasks, user, title="Renew the certificate", **more):
    reply = tasks.acting_as(user).post("/tasks", {"title": title, "priority": "HIGH", **more})
    assert reply.status == 201, reply
    return reply.body["taskId"]


def assign(tasks, admin, task, user):
    return tasks.acting_as(admin).post(f"/tasks/{task}/assignments", {"userId": user})


def set_status(tasks, user, task, status):
    return tasks.acting_as(user).put(f"/tasks/{task}/status", {"status": status})


def deactivate(tasks, user, status="DEACTIVATED"):
    assert tasks.put(f"/users/{user}/status", {"status": status}).status == 204


def assigned_users(tasks, task):
    return [each["userId"] for page in tasks.pages(f"/tasks/{task}/assignments") for each in page]


def tasks_of(tasks, user):
    return [each["taskId"] for page in tasks.pages(f"/users/{user}/tasks") for each in page]


def by_status(tasks, status, **query):
    return [each["taskId"] for page in tasks.pages("/tasks", status=status, limit=100, **query)
            for each in page]


def refusal(reply):
    return reply.status, reply.code


# --- users ---

def test_a_new_user(tasks):
    reply = tasks.post("/users", {"email": "ana@example.com"})
    user = reply.body
    assert reply.status == 201
    assert reply.headers["location"] == f"/tasks/api/users/{user['userId']}"
    assert str(uuid.UUID(user["userId"])) == user["userId"]
    assert user == {"userId": user["userId"], "email": "ana@example.com", "status": "ACTIVE",
                    "groups": ["Members"], "createdAt": user["createdAt"]}
    assert tasks.get(f"/users/{user['userId']}").body == user


def test_an_admin(tasks, admin):
    assert tasks.get(f"/users/{admin}").body["groups"] == ["Admins"]


def test_a_user_is_not_made_twice(tasks, admin):
    reply = tasks.post("/users", {"userId": admin, "email": "other@example.com"})
    assert refusal(reply) == (409, "duplicate")
    assert tasks.get(f"/users/{admin}").body["groups"] == ["Admins"]


@pytest.mark.parametrize("body", [
    {}, {"email": "x"}, {"email": "@x"}, {"email": "x@"}, {"email": "a b@c"}, {"email": 7},
    {"email": "a@b@c"}, {"email": "x@" + "y" * 253}, {"email": "a@b", "userId": ""},
    {"email": "a@b", "userId": " a"}, {"email": "a@b", "userId": "a#b"}, {"email": "a@b", "userId": 1},
    {"email": "a@b", "userId": "x" * 256}, {"email": "a@b", "isAdmin": "yes"},
])
def test_malformed_users_are_refused(tasks, body):
    assert refusal(tasks.post("/users", body)) == (400, "bad_parameter")


def test_users_that_are_not_there(tasks):
    assert refusal(tasks.get(f"/users/{MISSING}")) == (404, "not_found")
    assert refusal(tasks.get("/users/a%23b")) == (404, "not_found")
    assert refusal(tasks.put(f"/users/{MISSING}/status", {"status": "ACTIVE"})) == (404, "not_found")
    assert tasks.get(f"/users/{MISSING}").status == 404
    assert tasks_of(tasks, MISSING) == []


# --- tasks ---

def test_a_new_task(tasks, member):
    reply = tasks.acting_as(member).post("/tasks", {
        "title": "Täsk «1»", "description": "What to do", "priority": "LOW"})
    task = reply.body
    assert reply.status == 201
    assert reply.headers["location"] == f"/tasks/api/tasks/{task['taskId']}"
    assert task == {
        "taskId": str(uuid.UUID(task["taskId"])), "title": "Täsk «1»", "description": "What to do",
        "priority": "LOW", "status": "OPEN", "createdBy": member, "createdAt": task["createdAt"],
        "updatedAt": task["createdAt"]}
    assert tasks.get(f"/tasks/{task['taskId']}").body == task


@pytest.mark.parametrize("body", [
    {}, {"title": "t"}, {"title": "", "priority": "LOW"}, {"title": "t", "priority": "OPEN"},
    {"title": "t", "priority": 1}, {"title": "t" * 201, "priority": "LOW"}, {"priority": "LOW"},
    {"title": "t", "priority": "LOW", "description": "d" * 2001},
    {"title": "t", "priority": "LOW", "description": 5},
])
def test_malformed_tasks_are_refused(tasks, member, body):
    assert refusal(tasks.acting_as(member).post("/tasks", body)) == (400, "bad_parameter")


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"1", b'{"title": "\xff"}'])
def test_what_is_no_json_object_is_refused(tasks, member, body):
    reply = tasks.acting_as(member).send("POST", "/tasks", body)
    assert refusal(reply) == (400, "bad_json")


def test_who_acts_must_be_said_and_be_an_active_user(tasks, member):
    body = {"title": "t", "priority": "LOW"}
    assert refusal(tasks.acting_as("a+b").post("/tasks", body)) == (403, "not_allowed")
    assert refusal(tasks.acting_as(MISSING).post("/tasks", body)) == (403, "not_allowed")
    deactivate(tasks, member)
    assert refusal(tasks.acting_as(member).post("/tasks", body)) == (403, "not_allowed")
    deactivate(tasks, member, "ACTIVE")
    assert tasks.acting_as(member).post("/tasks", body).status == 201


def test_tasks_that_are_not_there(tasks, admin):
    assert refusal(tasks.get(f"/tasks/{MISSING}")) == (404, "not_found")
    assert refusal(tasks.get("/tasks/%00")) == (404, "not_found")
    assert refusal(set_status(tasks, admin, MISSING, "CLOSED")) == (404, "not_found")
    assert assigned_users(tasks, MISSING) == []
    assert refusal(tasks.get(f"/tasks/{MISSING}/assignments/{admin}")) == (404, "not_found")


# --- assignments ---

def test_assignment_shows_from_both_sides(tasks, admin, member):
    task = make_task(tasks, admin)
    reply = assign(tasks, admin, task, member)
    assert reply.status == 201
    assert reply.headers["location"] == f"/tasks/api/tasks/{task}/assignments/{member}"
    expected = {"taskId": task, "userId": member, "assignedBy": admin}
    assert reply.body == expected
    stored = tasks.get(f"/tasks/{task}/assignments/{member}").body
    assert stored == {**expected, "assignedAt": stored["assignedAt"]}
    assert tasks.get(f"/tasks/{task}/assignments").body == {"items": [stored]}
    assert tasks.get(f"/users/{member}/tasks").body == {
        "items": [{**stored, "task": tasks.get(f"/tasks/{task}").body}]}
    assert tasks.get(f"/tasks/{task}/assignments/{admin}").status == 404


def test_assignment_is_refused_for_a_duplicate(tasks, admin, member):
    task = make_task(tasks, admin)
    assert assign(tasks, admin, task, member).status == 201
    first = tasks.get(f"/tasks/{task}/assignments/{member}").body
    other = make_user(tasks, is_admin=True)
    assert refusal(assign(tasks, other, task, member)) == (409, "duplicate")
    assert tasks.get(f"/tasks/{task}/assignments/{member}").body == first


def test_assignment_is_refused_for_a_missing_task(tasks, admin, member):
    assert refusal(assign(tasks, admin, MISSING, member)) == (404, "not_found")
    assert tasks_of(tasks, member) == []
    assert assigned_users(tasks, MISSING) == []


def test_assignment_is_refused_for_a_deactivated_user(tasks, admin, member):
    task = make_task(tasks, admin)
    deactivate(tasks, member)
    assert refusal(assign(tasks, admin, task, member)) == (409, "user_deactivated")
    assert assigned_users(tasks, task) == []
    deactivate(tasks, member, "ACTIVE")
    assert assign(tasks, admin, task, member).status == 201


def test_assignment_is_refused_for_a_missing_user(tasks, admin):
    task = make_task(tasks, admin)
    reply = assign(tasks, admin, task, MISSING)
    assert refusal(reply) == (404, "not_found")
    assert "user" in reply.body["error"]["message"]
    assert assigned_users(tasks, task) == []


def test_only_active_admins_assign(tasks, admin, member):
    task = make_task(tasks, admin)
    assert refusal(assign(tasks, member, task, member)) == (403, "not_allowed")
    assert refusal(assign(tasks, MISSING, task, member)) == (403, "not_allowed")
    deactivate(tasks, admin)
    assert refusal(assign(tasks, admin, task, member)) == (403, "not_allowed")
    assert assigned_users(tasks, task) == []


def test_an_admin_takes_a_task(tasks, admin):
    task = make_task(tasks, admin)
    assert assign(tasks, admin, task, admin).status == 201
    assert refusal(assign(tasks, admin, task, admin)) == (409, "duplicate")
    assert tasks_of(tasks, admin) == [task]


@pytest.mark.parametrize("body", [{}, {"userId": ""}, {"userId": None}, {"userId": "a#b"}])
def test_malformed_assignments_are_refused(tasks, admin, body):
    reply = tasks.acting_as(admin).post(f"/tasks/{MISSING}/assignments", body)
    assert refusal(reply) == (400, "bad_parameter")


def test_the_same_assignment_by_many_at_once_is_made_once(tasks, admin, member):
    task = make_task(tasks, admin)
    replies = together(20, lambda _: assign(tasks, admin, task, member))
    assert sorted(reply.status for reply in replies) == [201] + [409] * 19
    assert assigned_users(tasks, task) == [member]
    assert tasks_of(tasks, member) == [task]


def test_many_users_assigned_at_once_are_all_there(tasks, admin):
    task = make_task(tasks, admin)
    users = [make_user(tasks) for _ in range(20)]
    replies = together(20, lambda number: assign(tasks, admin, task, users[number]))
    assert [reply.status for reply in replies] == [201] * 20
    assert sorted(assigned_users(tasks, task)) == sorted(users)


def test_no_assignment_after_a_deactivation(tasks, admin):
    """While users are deactivated they are being assigned: whatever comes first, no assignment is
    made after the user has been seen deactivated."""
    users = [make_user(tasks) for _ in range(10)]
    made = [make_task(tasks, admin) for _ in range(10)]

    def act(number):
        user, turn = users[number // 2], number % 2
        if turn == 0:
            deactivate(tasks, user)
            return tasks_of(tasks, user)
        return [assign(tasks, admin, task, user).status for task in made]
    results = together(20, act)
    for number, user in enumerate(users):
        seen, statuses = results[2 * number], results[2 * number + 1]
        first_refused = statuses.index(409) if 409 in statuses else len(statuses)
        assert set(statuses[first_refused:]) <= {409}, statuses
        assert len(tasks_of(tasks, user)) == statuses.count(201) >= len(seen)
        assert refusal(assign(tasks, admin, make_task(tasks, admin), user)) == (409, "user_deactivated")


# --- status ---

@pytest.mark.parametrize("status", STATUSES[1:])
def test_who_is_assigned_changes_the_status(tasks, admin, member, status):
    task = make_task(tasks, admin)
    before = tasks.get(f"/tasks/{task}").body
    assign(tasks, admin, task, member)
    reply = set_status(tasks, member, task, status)
    assert (reply.status, reply.content) == (204, b"")
    after = tasks.get(f"/tasks/{task}").body
    assert after == {**before, "status": status, "updatedAt": after["updatedAt"]}
    assert after["updatedAt"] > before["updatedAt"]
    assert task in by_status(tasks, status)
    assert task not in by_status(tasks, "OPEN")
    assert tasks.get(f"/users/{member}/tasks").body["items"][0]["task"] == after


def test_an_admin_changes_the_status_of_any_task(tasks, admin, member):
    task = make_task(tasks, member)
    assert set_status(tasks, admin, task, "CLOSED").status == 204
    assert tasks.get(f"/tasks/{task}").body["status"] == "CLOSED"


def test_others_do_not(tasks, admin, member):
    task = make_task(tasks, member)  # who made it is not assigned to it
    before = tasks.get(f"/tasks/{task}").body
    assert refusal(set_status(tasks, member, task, "CLOSED")) == (403, "not_allowed")
    assert refusal(set_status(tasks, MISSING, task, "CLOSED")) == (403, "not_allowed")
    assign(tasks, admin, task, member)
    deactivate(tasks, member)
    assert refusal(set_status(tasks, member, task, "CLOSED")) == (403, "not_allowed")
    deactivate(tasks, admin)
    assert refusal(set_status(tasks, admin, task, "CLOSED")) == (403, "not_allowed")
    assert tasks.get(f"/tasks/{task}").body == before


@pytest.mark.parametrize("body", [{}, {"status": "HIGH"}, {"status": "open"}, {"status": 1}])
def test_malformed_statuses_are_refused(tasks, admin, body):
    task = make_task(tasks, admin)
    reply = tasks.acting_as(admin).put(f"/tasks/{task}/status", body)
    assert refusal(reply) == (400, "bad_parameter")
    assert tasks.get(f"/tasks/{task}").body["status"] == "OPEN"


def test_a_task_is_under_one_status_after_many_changes_at_once(tasks, admin):
    task = make_task(tasks, admin)
    users = [make_user(tasks) for _ in range(8)]
    for user in users:
        assign(tasks, admin, task, user)

    def change(number):
        return [set_status(tasks, users[number], task, status).status for status in STATUSES]
    assert together(8, change) == [[204] * 4] * 8
    now = tasks.get(f"/tasks/{task}").body["status"]
    assert [status for status in STATUSES if task in by_status(tasks, status)] == [now]


# --- lists ---

def test_tasks_by_status_in_order_of_creation(tasks, admin):
    made = [make_task(tasks, admin, f"task {number}") for number in range(5)]
    for task in made:
        assert set_status(tasks, admin, task, "IN_PROGRESS").status == 204
    newest = [task for task in by_status(tasks, "IN_PROGRESS") if task in made]
    oldest = [task for task in by_status(tasks, "IN_PROGRESS", order="oldest") if task in made]
    assert (newest, oldest) == (made[::-1], made)


def test_pages(tasks, admin, member):
    made = [make_task(tasks, admin, f"task {number}") for number in range(7)]
    for task in made:
        assign(tasks, admin, task, member)
    pages = list(tasks.pages(f"/users/{member}/tasks", limit=3))
    assert [len(page) for page in pages] == [3, 3, 1]
    assert sorted(each["task"]["taskId"] for page in pages for each in page) == sorted(made)
    users = [make_user(tasks) for _ in range(5)]
    for user in users:
        assign(tasks, admin, made[0], user)
    pages = list(tasks.pages(f"/tasks/{made[0]}/assignments", limit=4))
    assert [len(page) for page in pages] == [4, 2]
    assert sorted(each["userId"] for page in pages for each in page) == sorted([member, *users])
    first = tasks.get("/tasks", status="OPEN", limit=2).body
    second = tasks.get("/tasks", status="OPEN", limit=2, cursor=first["cursor"]).body
    assert [each["taskId"] for each in first["items"] + second["items"]] == made[:2:-1]


@pytest.mark.parametrize("query", [
    {}, {"status": "open"}, {"status": ""}, {"status": "OPEN", "limit": 0}, {"status": "OPEN", "limit": 101},
    {"status": "OPEN", "limit": "x"}, {"status": "OPEN", "order": "up"},
])
def test_malformed_lists_are_refused(tasks, query):
    assert refusal(tasks.get("/tasks", **query)) == (400, "bad_parameter")


def test_a_cursor_of_another_list_is_refused(tasks, admin, strict_db):
    for number in range(3):
        make_task(tasks, admin, f"task {number}")
    cursor = tasks.get("/tasks", status="OPEN", limit=1).body["cursor"]
    assert refusal(tasks.get("/tasks", status="CLOSED", cursor=cursor)) == (400, "bad_cursor")
    assert refusal(tasks.get(f"/users/{admin}/tasks", cursor=cursor)) == (400, "bad_cursor")
    assert refusal(tasks.get("/tasks", status="OPEN", cursor=json.dumps({}))) == (400, "bad_cursor")
