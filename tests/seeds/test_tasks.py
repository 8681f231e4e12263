"""Task manager: one table for tasks, users and assignments, with GSI1 (a user's tasks) and GSI2
(tasks by status). The seven access patterns of its document, by number."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError

from boto_errors import condition_failed
from schema import index, keys, strings

TABLE = "task-manager-sandbox-tasks"


@pytest.fixture(scope="module")
def tasks(make_application_table):
    table = make_application_table(
        TableName=TABLE, BillingMode="PAY_PER_REQUEST", KeySchema=keys("PK", "SK"),
        AttributeDefinitions=strings("PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK"),
        GlobalSecondaryIndexes=[index("GSI1", "GSI1PK", "GSI1SK"), index("GSI2", "GSI2PK", "GSI2SK")])
    with table.batch_writer() as batch:
        for number in range(20):
            batch.put_item(Item=task(number, "OPEN" if number % 2 else "COMPLETED"))
        for number in range(10):
            batch.put_item(Item=user(number))
        for number in range(20):
            for assignee in {number % 10, (number + 3) % 10}:
                batch.put_item(Item=assignment(number, assignee))
    return table


def created_at(number):
    return f"2026-01-{1 + number:02}T00:00:00Z"


def task(number, status="OPEN"):
    return {"PK": f"TASK#{number}", "SK": "METADATA", "EntityType": "TASK", "TaskId": str(number),
            "Title": f"Task {number}", "Description": "to do", "Priority": "HIGH", "Status": status,
            "CreatedBy": "admin", "CreatedAt": created_at(number), "UpdatedAt": created_at(number),
            "GSI2PK": f"STATUS#{status}", "GSI2SK": f"CREATED_AT#{created_at(number)}"}


def user(number):
    return {"PK": f"USER#{number}", "SK": "PROFILE", "EntityType": "USER", "UserId": str(number),
            "Email": f"user{number}@example.com", "UserStatus": "ACTIVE", "Groups": ["Members"],
            "CreatedAt": created_at(number)}


def assignment(task_number, user_number):
    return {"PK": f"TASK#{task_number}", "SK": f"ASSIGNMENT#{user_number}", "EntityType": "ASSIGNMENT",
            "TaskId": str(task_number), "UserId": str(user_number), "AssignedBy": "admin",
            "AssignedAt": created_at(task_number), "GSI1PK": f"USER#{user_number}",
            "GSI1SK": f"TASK#{task_number}"}


def query(tasks, condition, values, **more):
    return tasks.query(KeyConditionExpression=condition, ExpressionAttributeValues=values, **more)


def assign(tasks, task_number, user_number):
    tasks.put_item(Item=assignment(task_number, user_number),
                   ConditionExpression="attribute_not_exists(PK) AND attribute_not_exists(SK)")


def test_pattern_1_get_task_by_id(tasks):
    answer = tasks.get_item(Key={"PK": "TASK#7", "SK": "METADATA"}, ReturnConsumedCapacity="TOTAL")
    assert answer["Item"] == task(7, "OPEN")
    assert answer["ConsumedCapacity"]["CapacityUnits"] == 0.5
    assert "Item" not in tasks.get_item(Key={"PK": "TASK#999", "SK": "METADATA"})


def test_pattern_2_get_user_profile(tasks):
    assert tasks.get_item(Key={"PK": "USER#4", "SK": "PROFILE"})["Item"] == user(4)


def test_pattern_3_get_all_assignments_for_a_task(tasks):
    found = query(tasks, "PK = :taskId AND begins_with(SK, :assignment)",
                  {":taskId": "TASK#5", ":assignment": "ASSIGNMENT#"})["Items"]
    assert [each["UserId"] for each in found] == ["5", "8"]


def test_pattern_4_get_all_tasks_assigned_to_a_user(tasks):
    found = query(tasks, "GSI1PK = :userId", {":userId": "USER#3"}, IndexName="GSI1")["Items"]
    assert [each["TaskId"] for each in found] == ["0", "10", "13", "3"]  # sorted as text
    assert {each["EntityType"] for each in found} == {"ASSIGNMENT"}


def test_pattern_5_get_tasks_by_status(tasks):
    found = query(tasks, "GSI2PK = :status", {":status": "STATUS#OPEN"}, IndexName="GSI2")["Items"]
    assert [int(each["TaskId"]) for each in found] == list(range(1, 20, 2))  # by creation time


def test_pattern_6_check_if_user_is_assigned_to_task(tasks):
    assert "Item" in tasks.get_item(Key={"PK": "TASK#5", "SK": "ASSIGNMENT#8"})
    assert "Item" not in tasks.get_item(Key={"PK": "TASK#5", "SK": "ASSIGNMENT#9"})


def test_pattern_7_prevent_duplicate_assignment(tasks):
    assign(tasks, 500, 1)
    with condition_failed():
        assign(tasks, 500, 1)
    assign(tasks, 500, 2)  # the same task, another user
    assign(tasks, 501, 1)  # another task, the same user


def test_pattern_7_racing_admins(tasks):
    """Of 16 admins that assign one task to one user at once, one succeeds."""
    def try_assign(_):
        try:
            assign(tasks, 600, 1)
            return True
        except ClientError as error:
            assert error.response["Error"]["Code"] == "ConditionalCheckFailedException"
            return False
    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(try_assign, range(16))) == 1


def test_status_update_moves_the_task_in_GSI2(tasks):
    tasks.put_item(Item=task(25, "OPEN"))
    tasks.update_item(Key={"PK": "TASK#25", "SK": "METADATA"},
                      UpdateExpression="SET #s = :s, GSI2PK = :g, UpdatedAt = :t",
                      ConditionExpression="attribute_exists(PK)",
                      ExpressionAttributeNames={"#s": "Status"},
                      ExpressionAttributeValues={":s": "CLOSED", ":g": "STATUS#CLOSED", ":t": "now"})
    closed = query(tasks, "GSI2PK = :status", {":status": "STATUS#CLOSED"}, IndexName="GSI2")["Items"]
    assert [each["TaskId"] for each in closed] == ["25"]
    still_open = query(tasks, "GSI2PK = :status", {":status": "STATUS#OPEN"}, IndexName="GSI2")["Items"]
    assert "25" not in [each["TaskId"] for each in still_open]


def test_indexes_are_sparse(tasks):
    assert {each["EntityType"] for each in tasks.scan(IndexName="GSI1")["Items"]} == {"ASSIGNMENT"}
    assert {each["EntityType"] for each in tasks.scan(IndexName="GSI2")["Items"]} == {"TASK"}


def test_conditional_write_costs_as_the_document_says(tasks):
    answer = tasks.put_item(Item=assignment(700, 1), ReturnConsumedCapacity="INDEXES",
                            ConditionExpression="attribute_not_exists(PK) AND attribute_not_exists(SK)")
    assert answer["ConsumedCapacity"]["Table"]["CapacityUnits"] == 1
    assert answer["ConsumedCapacity"]["GlobalSecondaryIndexes"] == {"GSI1": {"CapacityUnits": 1}}


def test_batch_get_of_users_for_notifications(tasks):
    wanted = [{"PK": f"USER#{number}", "SK": "PROFILE"} for number in range(12)]
    found = tasks.meta.client.batch_get_item(RequestItems={TABLE: {"Keys": wanted}})
    assert sorted(each["UserId"] for each in found["Responses"][TABLE]) == [str(n) for n in range(10)]
