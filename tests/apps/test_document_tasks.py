"""A walk through the document "DynamoDB Single-Table Design - Access Patterns": entities, the seven patterns, workload, and what
it calls best practices. Its list of attributes has the values of Priority and Status swapped: see apps/tasks/README.md."""

import re

import pytest

from documents import Walk, definition

TABLE = "task-manager-sandbox-tasks"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"


@pytest.fixture(scope="module")
def walk():
    with Walk("tasks", TABLE) as walk:
        for user, is_admin in (("ana", True), ("ben", False), ("chloe", False)):
            assert walk.api.post("/users", {"userId": user, "email": f"{user}@example.com", "isAdmin": is_admin}).status == 201
        yield walk


def task(walk, title="Order chairs"):
    reply = walk.api.acting_as("ana").post("/tasks", {"title": title, "description": "Ten of them", "priority": "HIGH"})
    assert reply.status == 201, reply
    return reply.body["taskId"]


def assign(walk, task_id, user, by="ana"):
    return walk.api.acting_as(by).post(f"/tasks/{task_id}/assignments", {"userId": user})


def stored(walk, pk, sk):
    found, = [row for row in walk.rows() if (row["PK"], row["SK"]) == (pk, sk)]
    return found


def one(walk, reply, operation):
    """The one access of this operation that a call took, which succeeded. What acts on the stream runs along."""
    assert reply.status in (200, 201, 204), reply
    return next(access for access in walk.asked() if access.operation == operation)


def key_of(access):
    return access.request["Key"]["PK"]["S"], access.request["Key"]["SK"]["S"]


def test_table_structure(walk):
    assert walk.described() == definition("PK", "SK", GSI1=(["GSI1PK", "GSI1SK"], "ALL"), GSI2=(["GSI2PK", "GSI2SK"], "ALL"))


def test_entity_1_task_metadata(walk):
    task_id = task(walk)
    row = stored(walk, f"TASK#{task_id}", "METADATA")
    created = row["CreatedAt"]
    assert re.fullmatch(TIME, created)
    assert row == {"PK": f"TASK#{task_id}", "SK": "METADATA", "EntityType": "TASK", "TaskId": task_id, "Title": "Order chairs",
                   "Description": "Ten of them", "Priority": "HIGH", "Status": "OPEN", "CreatedBy": "ana", "CreatedAt": created,
                   "UpdatedAt": created, "GSI2PK": "STATUS#OPEN", "GSI2SK": f"CREATED_AT#{created}"}


def test_entity_2_user_profile(walk):
    for user, group in (("ana", "Admins"), ("ben", "Members")):
        row = stored(walk, f"USER#{user}", "PROFILE")
        assert re.fullmatch(TIME, row["CreatedAt"])
        assert {name: row[name] for name in ("EntityType", "UserId", "Email", "UserStatus", "Groups")} == {
            "EntityType": "USER", "UserId": user, "Email": f"{user}@example.com", "UserStatus": "ACTIVE", "Groups": [group]}


def test_entity_3_task_assignment(walk):
    task_id = task(walk)
    assert assign(walk, task_id, "ben").status == 201
    row = stored(walk, f"TASK#{task_id}", "ASSIGNMENT#ben")
    assert re.fullmatch(TIME, row.pop("AssignedAt"))
    assert row == {"PK": f"TASK#{task_id}", "SK": "ASSIGNMENT#ben", "EntityType": "ASSIGNMENT", "TaskId": task_id,
                   "UserId": "ben", "AssignedBy": "ana", "GSI1PK": "USER#ben", "GSI1SK": f"TASK#{task_id}"}


def test_pattern_1_get_task_by_id(walk):
    task_id = task(walk)
    walk.asked()
    reply = walk.api.get(f"/tasks/{task_id}")
    assert key_of(one(walk, reply, "GetItem")) == (f"TASK#{task_id}", "METADATA")
    assert reply.body["title"] == "Order chairs"


def test_pattern_2_get_user_profile(walk):
    walk.asked()
    reply = walk.api.get("/users/ben")
    assert key_of(one(walk, reply, "GetItem")) == ("USER#ben", "PROFILE")
    assert reply.body["email"] == "ben@example.com"


def test_pattern_3_all_assignments_of_a_task(walk):
    task_id = task(walk)
    for user in ("ben", "chloe"):
        assign(walk, task_id, user)
    walk.asked()
    reply = walk.api.get(f"/tasks/{task_id}/assignments")
    query = next(access for access in walk.asked() if access.operation == "Query")
    assert (query.index, query.key) == (None, "PK = :taskId AND begins_with(SK, :assignment)")
    assert query.request["ExpressionAttributeValues"] == {":taskId": {"S": f"TASK#{task_id}"}, ":assignment": {"S": "ASSIGNMENT#"}}
    assert [each["userId"] for each in reply.body["items"]] == ["ben", "chloe"]


def test_pattern_4_all_tasks_of_a_user(walk):
    made = {task(walk, f"of chloe {number}") for number in range(3)}
    for task_id in made:
        assign(walk, task_id, "chloe")
    walk.asked()
    reply = walk.api.acting_as("chloe").get("/users/chloe/tasks")
    query = next(access for access in walk.asked() if access.operation == "Query" and access.index)
    assert (query.index, query.key) == ("GSI1", "GSI1PK = :userId")
    assert query.request["ExpressionAttributeValues"] == {":userId": {"S": "USER#chloe"}}
    assert made <= {each["taskId"] for each in reply.body["items"]}


def test_pattern_5_tasks_by_status(walk):
    made = [task(walk, f"status {number}") for number in range(3)]
    walk.asked()
    reply = walk.api.get("/tasks", status="OPEN", limit=100, order="oldest")
    query = next(access for access in walk.asked() if access.operation == "Query" and access.index)
    assert (query.index, query.key) == ("GSI2", "GSI2PK = :status")
    assert query.request["ExpressionAttributeValues"] == {":status": {"S": "STATUS#OPEN"}}
    assert [each["taskId"] for each in reply.body["items"]][-3:] == made, "by creation time"
    for status in ("IN_PROGRESS", "COMPLETED", "CLOSED"):
        assert walk.api.acting_as("ana").put(f"/tasks/{made[0]}/status", {"status": status}).status == 204
        assert [each["taskId"] for each in walk.api.get("/tasks", status=status).body["items"]] == [made[0]]
        assert stored(walk, f"TASK#{made[0]}", "METADATA")["GSI2PK"] == f"STATUS#{status}"
    assert walk.api.acting_as("ana").get("/tasks", status="OPEN").status == 200, "Admin views all open tasks"
    assert walk.api.acting_as("ben").get("/tasks", status="OPEN").status == 403


def test_pattern_6_check_assignment(walk):
    task_id = task(walk)
    assign(walk, task_id, "ben")
    walk.asked()
    reply = walk.api.get(f"/tasks/{task_id}/assignments/ben")
    accesses = [access for access in walk.asked() if access.operation == "GetItem"]
    assert (f"TASK#{task_id}", "ASSIGNMENT#ben") in map(key_of, accesses) and reply.status == 200
    assert walk.api.get(f"/tasks/{task_id}/assignments/chloe").status == 404
    # "Validate member access before status update"
    assert walk.api.acting_as("chloe").put(f"/tasks/{task_id}/status", {"status": "CLOSED"}).status == 403
    assert walk.api.acting_as("ben").put(f"/tasks/{task_id}/status", {"status": "CLOSED"}).status == 204


def test_pattern_7_prevent_duplicate_assignment(walk):
    task_id = task(walk)
    walk.asked()
    assert assign(walk, task_id, "ben").status == 201
    transaction = next(access for access in walk.asked() if access.operation == "TransactWriteItems")
    put, = [part["Put"] for part in transaction.request["TransactItems"] if "Put" in part]
    assert put["ConditionExpression"] == "attribute_not_exists(PK) AND attribute_not_exists(SK)"
    again = assign(walk, task_id, "ben")
    assert (again.status, again.code) == (409, "duplicate") and "ben is already assigned" in again.body["error"]["message"]
    assert assign(walk, task_id, "chloe", by="ben").status == 403, "AssignedBy is an admin"


def test_use_case_of_pattern_2_notifications_reach_active_users(walk):
    reply = walk.api.post("/users", {"userId": "dora", "email": "dora@example.com"})
    assert reply.status == 201
    assert walk.api.put("/users/dora/status", {"status": "DEACTIVATED"}).status == 204
    assert stored(walk, "USER#dora", "PROFILE")["UserStatus"] == "DEACTIVATED"
    assert assign(walk, task(walk), "dora").code == "user_deactivated"


def test_capacity_planning_and_example_workload(walk):
    body = walk.api.get("/patterns").body
    prices = body["workload"]["prices"]
    assert (prices["readMillion"], prices["writeMillion"], prices["storageGbMonth"]) == (0.25, 1.25, 0.25)
    daily = sorted((each["count"], each["count"] * each["units"], each["kind"]) for each in body["workload"]["operations"])
    assert daily == sorted([(500, 500, "read"), (100, 100, "write"), (200, 200, "write"), (300, 300, "write"), (500, 2500, "read")])
    assert body["workload"]["storageGb"] == 1 and round(body["cost"]["total"], 1) == 0.3


def test_query_complexity_analysis(walk):
    """The document's table; what it calls PutItem is one part of a transaction here."""
    patterns = {each["name"]: each for each in walk.api.get("/patterns").body["patterns"]}
    for name, operation, complexity in (
            ("get_task", "GetItem", "O(1)"), ("get_user_profile", "GetItem", "O(1)"), ("get_task_assignments", "Query", "O(n)"),
            ("get_user_tasks", "Query", "O(n)"), ("get_tasks_by_status", "Query", "O(n)"), ("check_assignment", "GetItem", "O(1)"),
            ("assign_task", "TransactWriteItems", "O(1)")):
        assert (patterns[name]["operation"], patterns[name]["complexity"]) == (operation, complexity), name
    assert not any(each["scans"] for each in patterns.values()), "No Full Table Scans Required"


def test_capacity_planning_provisioned_mode(walk):
    """The workload, spread evenly, takes one unit each: 720 hours of them."""
    body = walk.api.get("/patterns").body
    assert (body["workload"]["prices"]["readUnitHour"], body["workload"]["prices"]["writeUnitHour"]) == (0.00013, 0.00065)
    provisioned = body["cost"]["provisioned"]
    assert (provisioned["readCapacity"], provisioned["writeCapacity"]) == (1, 1)
    assert (provisioned["reads"], provisioned["writes"]) == (round(0.00013 * 720, 6), round(0.00065 * 720, 6))
    assert body["cost"]["here"]["total"] > 0


def test_sparse_indexes(walk):
    assign(walk, task(walk), "ben")
    assert {row["EntityType"] for row in walk.rows("GSI1")} == {"ASSIGNMENT"}
    assert {row["EntityType"] for row in walk.rows("GSI2")} == {"TASK", "USER"}  # users: for their list


def test_no_large_items(walk):
    reply = walk.api.acting_as("ana").post("/tasks", {"title": "t", "description": "é" * 2000, "priority": "LOW"})
    assert (reply.status, reply.code, reply.body["error"]["bytesMax"]) == (422, "too_large", 4095)  # "< 4KB"
    task_id = task(walk)
    seen = walk.api.get(f"/tasks/{task_id}").body["updatedAt"]
    reply = walk.api.acting_as("ana").put(f"/tasks/{task_id}", {"description": "é" * 2000, "seen": seen})
    assert reply.code == "too_large"
