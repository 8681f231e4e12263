"""Every operation with and without permission: its action, its resource, and what it needs of other services."""

import pytest

from operation_requests import BACKUP, BULK, IMPORT, OPERATIONS, TARGETS
from policies import ACCOUNT, ARN, T, allow, connect, deny, expect, outcome, policy, policy_server, renamed, user
from server import Server
from signing import write_users

# What an operation needs besides: actions of other services.
KINESIS = f"arn:aws:kinesis:us-east-1:{ACCOUNT}:stream/changes"
READ_OBJECTS = [("s3:ListBucket", "arn:aws:s3:::bucket"), ("s3:GetObject", "arn:aws:s3:::bucket/in/*")]
WRITE_OBJECTS = [("s3:PutObject", "arn:aws:s3:::bucket/out/*")]
BEYOND = {
    "EnableKinesisStreamingDestination": [("kinesis:DescribeStream", KINESIS), ("kinesis:PutRecords", KINESIS)],
    "ExportTableToPointInTime": WRITE_OBJECTS, "ImportTable": READ_OBJECTS, "StartBulkPutItems": READ_OBJECTS + WRITE_OBJECTS}


def test_every_operation_is_here():
    """An operation that is added needs a row in operation_requests.py, and so a resource kind that works."""
    assert sorted(TARGETS) == sorted(OPERATIONS)


def other(permission, effect="Allow"):
    return {"Effect": effect, "Action": permission[0], "Resource": permission[1]}


def operation_users():
    """For each operation: one who may do just that, one who may do all but that, one who may do it elsewhere."""
    policies, users = {}, [user("nobody")]
    for name, (_, action, resource) in OPERATIONS.items():
        action = action or name
        policies[f"{name}-only"] = policy(allow(action, resource), *map(other, BEYOND.get(name, [])))
        policies[f"{name}-not"] = policy(allow("*"), deny(action))
        policies[f"{name}-others"] = policy(allow("*", ARN + "table/Other*"), {
            "Effect": "Allow", "NotAction": f"dynamodb:{action}", "Resource": "*"})
        users += [user(f"{name}-{kind}", f"{name}-{kind}") for kind in ("only", "not", "others")]
    return policies, users


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    policies, users = operation_users()
    users += [user("root"), user("full", "full"), user("readonly", "readonly"), user("readwrite", "readwrite")]
    with policy_server(tmp_path_factory.mktemp("users"), users, policies) as started:
        yield started


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_operation(server, name):
    request, action, resource = OPERATIONS[name]
    request = renamed(request)
    resource = resource.replace("/index/O", "/index/O__")
    target = TARGETS[name]
    if action == "free":
        assert outcome(server, "nobody", name, request, target) == "allow"
        return
    wanted = action or name
    missing = outcome(server, "nobody", name, request, target)
    assert missing == (f"User: arn:aws:iam::{ACCOUNT}:user/nobody is not authorized to perform: dynamodb:{wanted} on "
                       f"resource: {resource} because no identity-based policy allows the dynamodb:{wanted} action")
    assert outcome(server, f"{name}-not", name, request, target) == (
        f"User: arn:aws:iam::{ACCOUNT}:user/{name}-not is not authorized to perform: dynamodb:{wanted} on resource: "
        f"{resource} with an explicit deny in an identity-based policy: arn:aws:iam::{ACCOUNT}:policy/{name}-not")
    assert "no identity-based policy allows" in outcome(server, f"{name}-others", name, request, target)
    if name.startswith("RestoreTable"):  # the new table needs permissions, too
        assert "table/Restored because no identity-based policy allows" in outcome(server, f"{name}-only", name, request, target)
    elif resource != T + "/index/O__":
        assert outcome(server, f"{name}-only", name, request, target) == "allow"


@pytest.mark.parametrize("name", sorted(BEYOND))
def test_buckets_and_streams_need_permissions_too(tmp_path, name):
    """The server uses its own credentials for them, so the caller needs the permissions."""
    request, _, resource = OPERATIONS[name]
    permissions = BEYOND[name]
    policies = {f"no-{action}": policy(allow(name, resource), *(other(it) for it in permissions if it[0] != action))
                for action, _ in permissions}
    policies |= {f"deny-{action}": policy(allow("*"), *map(other, permissions), other((action, arn), "Deny"))
                 for action, arn in permissions}
    narrow = {"arn:aws:s3:::bucket/in/*": ["arn:aws:s3:::bucket/in/a*", "arn:aws:s3:::bucket/in/?", "arn:aws:s3:::bucket/in"],
              "arn:aws:s3:::bucket/out/*": ["arn:aws:s3:::bucket/out/a*", "arn:aws:s3:::bucket/out"]}
    for action, arn in permissions:  # an Allow must cover all objects, a Deny of any of them denies
        for number, part in enumerate(narrow.get(arn, [])):
            rest = [other(it) for it in permissions if it[0] != action]
            policies[f"some-{action}-{number}"] = policy(allow(name, resource), *rest, other((action, part)))
            if part.endswith(("*", "?")):
                policies[f"deny-{action}-{number}"] = policy(allow("*"), *map(other, permissions), other((action, part), "Deny"))
    policies["all"] = policy(allow(name, resource), *map(other, permissions))
    names = {policy_name: policy_name.replace(":", "_") for policy_name in policies}
    path = write_users(tmp_path / "users.json", [user(it, it) for it in names.values()],
                       policies={names[it]: document for it, document in policies.items()})
    with Server("memory:", "--auth", "on", "--users", path) as server:
        assert outcome(server, "all", name, request) == "allow"
        for policy_name in policies:
            if policy_name == "all":
                continue
            kind, action = policy_name.split("-")[:2]
            got = outcome(server, names[policy_name], name, request)
            assert f"is not authorized to perform: {action} on resource: {dict(permissions)[action]} " in got, (policy_name, got)
            assert got.endswith("with an explicit deny in an identity-based policy: "
                                f"arn:aws:iam::{ACCOUNT}:policy/{names[policy_name]}" if kind == "deny"
                                else f"because no identity-based policy allows the {action} action")


RESTORE_ACTIONS = ["RestoreTableFromBackup", "BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "Scan", "UpdateItem"]


def test_restores_read_and_write_the_new_table(tmp_path):
    """Of the actions on the new table none may be missing."""
    new = ARN + "table/Restored"
    policies = {left_out: policy(allow("RestoreTableFromBackup", BACKUP),
                                 allow([action for action in RESTORE_ACTIONS if action != left_out], new))
                for left_out in ["none", *RESTORE_ACTIONS]}
    path = write_users(tmp_path / "users.json", [user(name, name) for name in policies], policies=policies)
    request = {"BackupArn": BACKUP, "TargetTableName": "Restored"}
    with Server("memory:", "--auth", "on", "--users", path) as server:
        expect(server, "none", "RestoreTableFromBackup", request, "allow")
        for action in RESTORE_ACTIONS:
            expect(server, action, "RestoreTableFromBackup", request, "impl", action, new)


@pytest.mark.parametrize("operation, member, arn", [
    ("DescribeBackup", "BackupArn", BACKUP), ("DeleteBackup", "BackupArn", BACKUP), ("DescribeImport", "ImportArn", IMPORT),
    ("DescribeBulkOperation", "BulkOperationArn", BULK), ("CancelBulkOperation", "BulkOperationArn", BULK)])
def test_other_regions_and_partitions_do_not_evade_a_denial(tmp_path, operation, member, arn):
    """These operations find what an ARN names by table and id, so policies are asked about the ARN that it has here."""
    denied = policy(allow("*", "*"), {"Effect": "Deny", "Action": f"dynamodb:{operation}", "Resource": arn})
    path = write_users(tmp_path / "users.json", [user("u", "u")], policies={"u": denied})
    with Server("memory:", "--auth", "on", "--users", path) as server:
        for sent in (arn, arn.replace("us-east-1", "eu-west-1"), arn.replace("arn:aws:", "arn:aws-cn:")):
            got = outcome(server, "u", operation, {member: sent})
            assert "explicit deny" in got and arn in got or "ValidationException" in got, (sent, got)


def test_built_in_policies(server):
    rows = [("readonly", "GetItem", True), ("readonly", "PutItem", False), ("readonly", "DescribeTable", True),
            ("readonly", "CreateTable", False), ("readwrite", "PutItem", True), ("readwrite", "DeleteTable", False),
            ("readwrite", "Query", True), ("full", "CreateTable", True), ("full", "DeleteTable", True)]
    for name, operation, is_allowed in rows:
        request = renamed(OPERATIONS[operation][0])
        assert (outcome(server, name, operation, request) == "allow") == is_allowed, (name, operation)


def test_warn_carries_out_what_policies_deny(tmp_path):
    users = write_users(tmp_path / "users.json", [user("nobody")])
    with Server("memory:", "--auth", "warn", "--users", users) as server:
        with connect(server, "nobody") as client:
            assert client.ListTables() == {"TableNames": []}
        assert "would be refused" in server.log() and "dynamodb:ListTables" in server.log()
