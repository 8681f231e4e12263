"""What callers may do: every operation with and without permission, the decisions of an oracle collected from AWS's
documentation, condition keys, and policies of tables."""

import json
import pathlib
import re

import pytest

from server import ROOT, Server
from signing import SECRET, SignedClient, now, request_bytes, signature, write_users
from wire import Refused

ACCOUNT = "000000000000"
ARN = f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:"
T = ARN + "table/GameScores"
STREAMS_TARGET = "DynamoDBStreams_20120810."


def policy(*statements, version="2012-10-17"):
    return {"Version": version, "Statement": list(statements)}


def allow(action, resource="*", **condition):
    return _statement("Allow", action, resource, condition)


def deny(action, resource="*", **condition):
    return _statement("Deny", action, resource, condition)


def _statement(effect, action, resource, condition):
    actions = [action] if isinstance(action, str) else list(action)
    made = {"Effect": effect, "Action": [name if name == "*" else f"dynamodb:{name}" for name in actions],
            "Resource": resource}
    if condition:
        made["Condition"] = condition["If"]
    return made


def key_id(name):
    return "AKIA" + re.sub("[^A-Za-z0-9]", "0", name).upper()


def user(name, *attached, **more):
    return {"name": name, "policies": list(attached), "keys": [{"id": key_id(name), "secret": SECRET}], **more}


def connect(server, name, **options):
    return SignedClient(server.endpoint, key_id=key_id(name), **options)


def outcome(server, name, operation, members, target=None):
    """"allow", or the text of the denial. Any other error comes after the decision."""
    with connect(server, name, **({"target": target} if target else {})) as client:
        try:
            client.call(operation, **members)
        except Refused as error:
            if error.type == "AccessDeniedException":
                assert error.status == 400 and "Message" in error.body
                return error.message
            assert error.type not in ("InternalServerError", "SerializationException"), error
        return "allow"


def expect(server, name, operation, members, wanted, action=None, resource=None):
    """wanted: "allow", "impl" (no statement allows it) or "expl" (a statement denies it)."""
    got = outcome(server, name, operation, members)
    caller = f"User: arn:aws:iam::{ACCOUNT}:user/{name} is not authorized to perform: "
    if wanted == "allow":
        assert got == "allow", (operation, members)
        return
    assert got.startswith(caller), (got, operation, members)
    ending = ("with an explicit deny in an identity-based policy" if wanted == "expl"
              else "because no identity-based policy allows the dynamodb:")
    assert ending in got, got
    if action:
        assert f"perform: dynamodb:{action} on resource" in got, got
    if resource:
        assert f"on resource: {resource} " in got, got


# --- every operation ---

KEY = {"UserId": {"S": "a"}, "GameTitle": {"S": "b"}}
BACKUP = ARN + "table/GameScores/backup/01489602797149-73d8d5bc"
IMPORT = ARN + "table/GameScores/import/01489602797149-73d8d5bc"
BULK = ARN + "table/GameScores/bulk-operation/01489602797149-73d8d5bc"
EXPORT = ARN + "table/GameScores/export/01489602797149-73d8d5bc"
STREAM = ARN + "table/GameScores/stream/2026-01-01T00:00:00.000"
SCHEMA = {"AttributeDefinitions": [{"AttributeName": "UserId", "AttributeType": "S"},
                                   {"AttributeName": "GameTitle", "AttributeType": "S"}],
          "KeySchema": [{"AttributeName": "UserId", "KeyType": "HASH"}, {"AttributeName": "GameTitle", "KeyType": "RANGE"}],
          "BillingMode": "PAY_PER_REQUEST"}


def on_table(**more):
    return {"TableName": "GameScores", **more}


# Operation: request, then the action that it needs if not its own name, and the resource if it is not the table.
OPERATIONS = {
    "BatchExecuteStatement": ({"Statements": [{"Statement": "SELECT * FROM GameScores WHERE UserId='a' AND GameTitle='b'"}]},
                              "PartiQLSelect", T),
    "BatchGetItem": ({"RequestItems": {"GameScores": {"Keys": [KEY]}}}, None, T),
    "BatchWriteItem": ({"RequestItems": {"GameScores": [{"PutRequest": {"Item": KEY}}]}}, None, T),
    "CancelBulkOperation": ({"BulkOperationArn": BULK}, None, BULK),
    "CreateBackup": (on_table(BackupName="backup"), None, T),
    "CreateTable": (on_table(**SCHEMA), None, T),
    "DeleteBackup": ({"BackupArn": BACKUP}, None, BACKUP),
    "DeleteItem": (on_table(Key=KEY), None, T),
    "DeleteResourcePolicy": ({"ResourceArn": T}, None, T),
    "DeleteTable": ({"TableName": "Missing"}, None, ARN + "table/Missing"),
    "DescribeBackup": ({"BackupArn": BACKUP}, None, BACKUP),
    "DescribeBulkOperation": ({"BulkOperationArn": BULK}, None, BULK),
    "DescribeContinuousBackups": (on_table(), None, T),
    "DescribeContributorInsights": (on_table(), None, T),
    "DescribeEndpoints": ({}, "free", "*"),
    "DescribeExport": ({"ExportArn": EXPORT}, None, EXPORT),
    "DescribeImport": ({"ImportArn": IMPORT}, None, IMPORT),
    "DescribeKinesisStreamingDestination": (on_table(), None, T),
    "DescribeLimits": ({}, None, "*"),
    "DescribeTable": (on_table(), None, T),
    "DescribeTimeToLive": (on_table(), None, T),
    "DisableKinesisStreamingDestination": (on_table(StreamArn="too short"), None, T),
    "EnableKinesisStreamingDestination": (on_table(StreamArn="too short"), None, T),
    "ExecuteStatement": ({"Statement": "SELECT * FROM GameScores"}, "PartiQLSelect", T),
    "ExecuteTransaction": ({"TransactStatements": [{"Statement": "INSERT INTO GameScores VALUE {'UserId':'x','GameTitle':'y'}"}]},
                           "PartiQLInsert", T),
    "ExportTableToPointInTime": ({"TableArn": T, "S3Bucket": "bucket"}, None, T),
    "GetItem": (on_table(Key=KEY), None, T),
    "GetResourcePolicy": ({"ResourceArn": T}, None, T),
    "ImportTable": ({"TableCreationParameters": on_table(**SCHEMA), "InputFormat": "ION", "S3BucketSource": {"S3Bucket": "bucket"}}, None, T),
    "ListBackups": ({}, None, "*"),
    "ListBulkOperations": ({}, None, "*"),
    "ListContributorInsights": ({}, None, "*"),
    "ListExports": ({}, None, "*"),
    "ListGlobalTables": ({}, None, "*"),
    "ListImports": ({}, None, "*"),
    "ListTables": ({}, None, ARN + "table/*"),
    "ListTagsOfResource": ({"ResourceArn": T}, None, T),
    "PutItem": (on_table(Item=KEY), None, T),
    "PutResourcePolicy": ({"ResourceArn": T, "Policy": "{}"}, None, T),
    "Query": (on_table(IndexName="O", KeyConditionExpression="#o = :o", ExpressionAttributeNames={"#o": "Owner"},
                       ExpressionAttributeValues={":o": {"S": "a"}}), None, T + "/index/O"),
    "RestoreTableFromBackup": ({"BackupArn": BACKUP, "TargetTableName": "Restored"}, None, BACKUP),
    "RestoreTableToPointInTime": ({"SourceTableName": "GameScores", "TargetTableName": "Restored", "UseLatestRestorableTime": True},
                                  None, T),
    "Scan": (on_table(), None, T),
    "StartBulkPutItems": (on_table(InputS3Configuration={"S3Bucket": "bucket", "InputFormat": "ION"},
                                   OutputS3Configuration={"S3Bucket": "bucket", "OutputType": ["ERROR"]}), None, T),
    "TagResource": ({"ResourceArn": T, "Tags": []}, None, T),
    "TransactGetItems": ({"TransactItems": [{"Get": on_table(Key=KEY)}]}, "GetItem", T),
    "TransactWriteItems": ({"TransactItems": [{"ConditionCheck": on_table(
        Key=KEY, ConditionExpression="attribute_exists(UserId)")}]}, "ConditionCheckItem", T),
    "UntagResource": ({"ResourceArn": T, "TagKeys": []}, None, T),
    "UpdateContinuousBackups": (on_table(PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False}), None, T),
    "UpdateContributorInsights": (on_table(ContributorInsightsAction="DISABLE"), None, T),
    "UpdateItem": (on_table(Key=KEY, UpdateExpression="SET Wins = :w", ExpressionAttributeValues={":w": {"N": "1"}}), None, T),
    "UpdateKinesisStreamingDestination": (on_table(StreamArn="too short"), None, T),
    "UpdateTable": (on_table(), None, T),
    "UpdateTimeToLive": (on_table(), None, T),
    "DescribeStream": ({"StreamArn": STREAM}, None, STREAM),
    "GetRecords": ({"ShardIterator": STREAM + "|1|AAAA"}, None, STREAM),
    "GetShardIterator": ({"StreamArn": STREAM, "ShardId": "shardId-" + "0" * 20 + "-00000000", "ShardIteratorType": "LATEST"},
                         None, STREAM),
    "ListStreams": ({}, None, "*"),
}


def built_operations():
    for file in ("ops.def", "stream_ops.def"):
        for name in re.findall(r"^OP\((\w+)", (pathlib.Path(ROOT) / "src/wire" / file).read_text(), re.MULTILINE):
            yield name, (STREAMS_TARGET if file == "stream_ops.def" else None)


TARGETS = dict(built_operations())


def test_every_operation_is_here():
    """An operation that is added needs a row above, and so a resource kind that works."""
    assert sorted(TARGETS) == sorted(OPERATIONS)


def operation_users():
    """For each operation: one who may do just that, one who may do all but that, one who may do it elsewhere."""
    policies, users = {}, [user("nobody")]
    for name, (_, action, resource) in OPERATIONS.items():
        action = action or name
        policies[f"{name}-only"] = policy(allow(action, resource))
        policies[f"{name}-not"] = policy(allow("*"), deny(action))
        policies[f"{name}-others"] = policy(allow("*", ARN + "table/Other*"), {
            "Effect": "Allow", "NotAction": f"dynamodb:{action}", "Resource": "*"})
        users += [user(f"{name}-{kind}", f"{name}-{kind}") for kind in ("only", "not", "others")]
    return policies, users


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    policies, users = operation_users()
    policies.update({f"P{number}": document for number, document in ORACLE.items()})
    users += [user(f"p{number}", f"P{number}") for number in ORACLE]
    users += [user("root"), user("full", "full"), user("readonly", "readonly"), user("readwrite", "readwrite"),
              user("bounded", "P10", boundary="query"), user("empty"), user("emptybounded", boundary="query"),
              user("tagged", "tags", tags={"team": "red"})]
    policies["query"] = policy(allow("Query"))
    policies["tags"] = policy(
        allow("GetItem", If={"StringEquals": {"aws:PrincipalTag/team": "red"}}),
        allow("TagResource", If={"ForAllValues:StringEquals": {"aws:TagKeys": ["env"]},
                                 "StringEquals": {"aws:RequestTag/env": "dev"}}))
    path = write_users(tmp_path_factory.mktemp("users") / "users.json", users, policies=policies)
    with Server("memory:", "--auth", "on", "--users", path) as started:
        with connect(started, "root") as root:
            for name, key, indexes in TABLES:
                root.CreateTable(**table(name, key, indexes))
            root.TagResource(ResourceArn=T, Tags=[{"Key": "env", "Value": "prod"}])
            root.PutItem(TableName="GameScores", Item={"UserId": {"S": "p2"}, "GameTitle": {"S": "x"}})
        yield started


TABLES = [("GameScores", ["UserId", "GameTitle"], {"TopScoreDateTimeIndex": ["GameTitle", "TopScoreDateTime"], "O": ["Owner"]}),
          ("C", ["UserId"], {}), ("T3", ["UserId"], {}), ("X", ["UserId"], {})]


def keys(names):
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"))]


def table(name, key, indexes):
    names = sorted({attribute for attributes in (key, *indexes.values()) for attribute in attributes})
    made = {"TableName": name.ljust(3, "_"), "BillingMode": "PAY_PER_REQUEST", "KeySchema": keys(key),
            "AttributeDefinitions": [{"AttributeName": attribute, "AttributeType": "S"} for attribute in names]}
    if indexes:
        made["GlobalSecondaryIndexes"] = [{"IndexName": index, "KeySchema": keys(attributes),
                                           "Projection": {"ProjectionType": "ALL"}}
                                          for index, attributes in ((index.ljust(3, "_"), attributes)
                                                                    for index, attributes in indexes.items())]
    return made


def renamed(value):
    """Tables and indexes need three letters."""
    text = json.dumps(value)
    text = re.sub(r'"(TableName|IndexName)": "(C|T3|X|O)"', lambda found: f'"{found[1]}": "{found[2].ljust(3, "_")}"', text)
    return json.loads(text)


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
    if name == "BatchExecuteStatement":
        check_batch_statement(server, request)
        return
    missing = outcome(server, "nobody", name, request, target)
    assert missing == (f"User: arn:aws:iam::{ACCOUNT}:user/nobody is not authorized to perform: dynamodb:{wanted} on "
                       f"resource: {resource} because no identity-based policy allows the dynamodb:{wanted} action")
    assert outcome(server, f"{name}-not", name, request, target) == (
        f"User: arn:aws:iam::{ACCOUNT}:user/{name}-not is not authorized to perform: dynamodb:{wanted} on resource: "
        f"{resource} with an explicit deny in an identity-based policy")
    assert "no identity-based policy allows" in outcome(server, f"{name}-others", name, request, target)
    if name.startswith("RestoreTable"):  # the new table needs permissions, too
        assert "table/Restored because no identity-based policy allows" in outcome(server, f"{name}-only", name, request, target)
    elif resource != T + "/index/O__":
        assert outcome(server, f"{name}-only", name, request, target) == "allow"


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


def check_batch_statement(server, request):
    """A denied statement fails alone, inside a good answer."""
    with connect(server, "nobody") as client:
        denied = client.BatchExecuteStatement(**request)["Responses"][0]["Error"]
    assert denied["Code"] == "AccessDenied" and "dynamodb:PartiQLSelect" in denied["Message"]
    with connect(server, "BatchExecuteStatement-only") as client:
        assert "Error" not in client.BatchExecuteStatement(**request)["Responses"][0]


# --- the oracle ---

FA = "ForAllValues:StringEquals"
AV = "ForAnyValue:StringEquals"
IE = "StringEqualsIfExists"
OWN = {FA: {"dynamodb:LeadingKeys": ["${aws:username}"]}}
SPECIFIC = {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}
C = ARN + "table/C__"
T3 = ARN + "table/T3_"

ORACLE = {
    1: policy(allow(["GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"], T, If={
        FA: {"dynamodb:LeadingKeys": ["${aws:username}"], "dynamodb:Attributes": ["UserId", "GameTitle", "Wins", "Losses"]},
        IE: SPECIFIC})),
    2: policy(allow("*", [T, T + "/index/*"], If=OWN)),
    3: policy(allow(["UpdateItem", "GetItem", "Query", "Scan"], T3, If={
        FA: {"dynamodb:Attributes": ["UserId", "TopScore"]},
        IE: {**SPECIFIC, "dynamodb:ReturnValues": ["NONE", "UPDATED_OLD", "UPDATED_NEW"]}})),
    4: policy(allow("UpdateItem", T, If={"ForAllValues:StringNotLike": {"dynamodb:Attributes": ["BossLevelUnlocked"]}})),
    5: policy(allow("Query", T + "/index/TopScoreDateTimeIndex", If={
        FA: {"dynamodb:Attributes": ["GameTitle", "TopScoreDateTime", "Wins"]}, "StringEquals": SPECIFIC})),
    6: policy(allow(["GetItem", "Query", "Scan"], C), deny(["GetItem", "Query", "Scan"], C, If={AV: {"dynamodb:Attributes": ["SSN"]}}),
              deny(["GetItem", "Query", "Scan"], C, If={"StringNotEqualsIfExists": SPECIFIC})),
    7: policy(allow(["GetItem", "PutItem"], T, If={
        AV: {"dynamodb:EnclosingOperation": ["TransactGetItems", "TransactWriteItems"]}})),
    8: policy(allow("PutItem", T), deny("PutItem", T, If={AV: {"dynamodb:EnclosingOperation": ["TransactWriteItems"]}})),
    9: policy(allow("PartiQLSelect", T), deny("PartiQLSelect", T, If={"Bool": {"dynamodb:FullTableScan": "true"}})),
    10: policy(allow("*"), deny("GetItem")),
    11: policy(allow("*"), deny("*", If={"StringEquals": {"dynamodb:Attributes": "SSN"}})),
    12: policy(allow("GetItem", T), {"Effect": "Deny", "Action": "*", "NotResource": T}),
    13: policy(allow("ListTables", ARN + "table/*")),
    14: policy(allow("get*", T)),
    15: policy(allow("*", [T, T + "/index/*"], If=OWN), version="2008-10-17"),
    16: policy({"Effect": "Allow", "NotAction": "dynamodb:DeleteTable", "Resource": T}),
    17: policy(allow("*", If={"StringEquals": {"aws:ResourceTag/env": "prod"}})),
    18: policy(allow("CreateTable")),
    20: policy(allow("*", If={"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}})),
    21: policy(allow("*", If={"IpAddress": {"aws:SourceIp": "127.0.0.0/8"}})),
    22: policy(allow("*", If={"Bool": {"aws:SecureTransport": "true"}})),
    23: policy(allow("*", If={"StringEquals": {"dynamodb:ReturnConsumedCapacity": ["NONE", "TOTAL"]}})),
}


def item(owner, **more):
    return {"UserId": {"S": owner}, "GameTitle": {"S": "x"}, **{name: {"N": str(value)} for name, value in more.items()}}


def get(owner, projection=None, **more):
    return ("GetItem", on_table(Key=item(owner), **({"ProjectionExpression": projection} if projection else {}), **more))


def query(owner, **more):
    return ("Query", on_table(KeyConditionExpression="UserId = :u", ExpressionAttributeValues={":u": {"S": owner}}, **more))


def put(owner, **values):
    return ("PutItem", on_table(Item=item(owner, **values)))


def transact(*owners):
    return ("TransactWriteItems", {"TransactItems": [{"Put": on_table(Item=item(owner))} for owner in owners]})


def by_index(index, attribute, value, **more):
    return ("Query", on_table(IndexName=index, KeyConditionExpression="#k = :v", ExpressionAttributeValues={":v": {"S": value}},
                              **{"ExpressionAttributeNames": {"#k": attribute, **more.pop("names", {})}}, **more))


def c_get(projection=None, names=None):
    return ("GetItem", {"TableName": "C", "Key": {"UserId": {"S": "a"}}, **({"ProjectionExpression": projection} if projection else {}),
                        **({"ExpressionAttributeNames": names} if names else {})})


def sql(text):
    return ("ExecuteStatement", {"Statement": text})


def update(expression, **more):
    return ("UpdateItem", on_table(Key=item("p1"), UpdateExpression=expression, ExpressionAttributeValues={":v": {"N": "1"}}, **more))


ROWS = [
    # policy, request, result, then what the text names: action, resource
    (1, get("p1", "UserId, Wins"), "allow"),
    (1, ("BatchGetItem", {"RequestItems": {"GameScores": {"Keys": [item("p1"), {**item("p1"), "GameTitle": {"S": "y"}}],
                                                          "ProjectionExpression": "UserId, Wins"}}}), "allow"),
    (1, query("p1", ProjectionExpression="Wins"), "allow"),
    (1, get("p1"), "impl"), (1, query("p1"), "impl"),
    (1, get("u2", "Wins"), "impl"), (1, query("u2", ProjectionExpression="Wins"), "impl"),
    (1, get("p1", "#x", ExpressionAttributeNames={"#x": "Secret"}), "impl"),
    (1, get("p1", "Wins, Secret.a[0]"), "impl"),
    (1, put("p1", Wins=1), "allow"), (1, put("p1", Level=1), "impl"),
    (1, update("SET Wins = :v", ConditionExpression="attribute_exists(#l)", ExpressionAttributeNames={"#l": "Level"}), "impl"),
    (1, update("SET Wins = :v", ConditionExpression="attribute_exists(Losses)"), "allow"),
    (1, ("BatchWriteItem", {"RequestItems": {"GameScores": [{"PutRequest": {"Item": item("u2")}}]}}), "impl"),
    (1, ("BatchWriteItem", {"RequestItems": {"GameScores": [{"PutRequest": {"Item": item("p1")}},
                                                            {"DeleteRequest": {"Key": item("u2")}}]}}), "impl"),
    (1, ("BatchWriteItem", {"RequestItems": {"GameScores": [{"DeleteRequest": {"Key": item("p1")}}]}}), "allow"),
    (1, ("Scan", on_table()), "impl"), (1, ("DescribeTable", on_table()), "impl"),
    (1, sql("SELECT * FROM GameScores"), "impl", "PartiQLSelect", T),
    (1, by_index("TopScoreDateTimeIndex", "GameTitle", "x", ProjectionExpression="Wins"), "impl", "Query",
     T + "/index/TopScoreDateTimeIndex"),
    (1, ("GetItem", {"TableName": "Nowhere", "Key": item("p1"), "ProjectionExpression": "Wins"}), "impl"),
    (1, transact("p1"), "allow"), (1, transact("p1", "u2"), "impl", "PutItem", T),
    (2, ("Scan", on_table()), "allow"),
    (2, by_index("O", "Owner", "p2"), "allow"), (2, by_index("O", "Owner", "u2"), "impl"),
    (2, put("u2"), "impl"), (2, ("DeleteItem", on_table(Key=item("u2"))), "impl"), (2, put("p2"), "allow"),
    (2, ("Query", on_table(KeyConditions={"UserId": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "u2"}]}})), "impl"),
    (2, ("Query", on_table(KeyConditions={"UserId": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "p2"}]}})), "allow"),
    (2, sql("SELECT * FROM GameScores WHERE UserId = 'p2'"), "allow"),
    (2, sql("SELECT * FROM GameScores WHERE UserId = 'u2'"), "impl"),
    (2, sql("SELECT * FROM GameScores WHERE UserId IN ['p2', 'u2']"), "impl"),
    (2, sql("INSERT INTO GameScores VALUE {'UserId': 'u2', 'GameTitle': 'q'}"), "impl", "PartiQLInsert", T),
    (2, sql("UPDATE GameScores SET Wins = 1 WHERE UserId = 'u2' AND GameTitle = 'q'"), "impl", "PartiQLUpdate", T),
    (2, sql("DELETE FROM GameScores WHERE UserId = 'p2' AND GameTitle = 'q'"), "allow"),
    (2, ("DescribeTable", on_table()), "allow"), (2, ("ListTables", {}), "impl", "ListTables", ARN + "table/*"),
    (3, ("Scan", {"TableName": "T3", "ProjectionExpression": "UserId, TopScore"}), "allow"),
    (3, ("Scan", {"TableName": "T3", "ProjectionExpression": "UserId, TopScore", "FilterExpression": "Wins > :w",
                  "ExpressionAttributeValues": {":w": {"N": "1"}}}), "impl"),
    (3, ("Scan", {"TableName": "T3", "AttributesToGet": ["UserId"], "ScanFilter": {
        "Wins": {"ComparisonOperator": "NOT_NULL"}}}), "impl"),
    (3, ("Scan", {"TableName": "T3", "AttributesToGet": ["UserId"]}), "allow"),
    (3, ("UpdateItem", {"TableName": "T3", "Key": {"UserId": {"S": "a"}}, "UpdateExpression": "SET TopScore = :v",
                        "ExpressionAttributeValues": {":v": {"N": "1"}}, "ReturnValues": "UPDATED_NEW"}), "allow"),
    (3, ("UpdateItem", {"TableName": "T3", "Key": {"UserId": {"S": "a"}}, "UpdateExpression": "SET TopScore = :v",
                        "ExpressionAttributeValues": {":v": {"N": "1"}}, "ReturnValues": "ALL_NEW"}), "impl"),
    (4, update("SET Wins = :v"), "allow"), (4, update("SET BossLevelUnlocked = :v"), "impl"),
    (4, ("UpdateItem", on_table(Key=item("p1"), AttributeUpdates={"BossLevelUnlocked": {"Value": {"N": "1"}}})), "impl"),
    (5, by_index("TopScoreDateTimeIndex", "GameTitle", "x", ProjectionExpression="Wins"), "allow"),
    (5, by_index("TopScoreDateTimeIndex", "GameTitle", "x"), "impl"),
    (5, query("a", ProjectionExpression="Wins"), "impl"),
    (6, c_get("UserId"), "allow"), (6, c_get("#s", {"#s": "SSN"}), "expl"), (6, c_get(), "expl"),
    (6, ("Query", {"TableName": "C", "KeyConditionExpression": "UserId = :u", "FilterExpression": "SSN = :u",
                   "ProjectionExpression": "UserId", "ExpressionAttributeValues": {":u": {"S": "a"}}}), "expl"),
    (7, put("a"), "impl"), (7, transact("a"), "allow"), (7, get("a"), "impl"),
    (7, ("TransactGetItems", {"TransactItems": [{"Get": on_table(Key=item("a"))}]}), "allow"),
    (8, put("a"), "allow"), (8, transact("a"), "expl", "PutItem", T),
    (9, sql("SELECT * FROM GameScores WHERE UserId = 'u1'"), "allow"), (9, sql("SELECT * FROM GameScores"), "expl"),
    (9, sql("SELECT * FROM GameScores WHERE Wins > 3"), "expl"),
    (9, sql("SELECT * FROM GameScores WHERE UserId = 'u1' OR Wins > 3"), "expl"),
    (10, get("a"), "expl"), (10, ("TransactGetItems", {"TransactItems": [{"Get": on_table(Key=item("a"))}]}), "expl"),
    (10, ("BatchGetItem", {"RequestItems": {"GameScores": {"Keys": [item("a")]}}}), "allow"),
    (10, sql("SELECT * FROM GameScores"), "allow"),
    (11, ("GetItem", {"TableName": "C", "Key": {"UserId": {"S": "a"}}, "ProjectionExpression": "SSN"}), "allow"),
    (12, get("a"), "allow"), (12, ("GetItem", {"TableName": "X", "Key": {"UserId": {"S": "a"}}}), "expl"), (12, put("a"), "impl"),
    (13, ("ListTables", {}), "allow"), (13, ("DescribeTable", on_table()), "impl"),
    (14, get("a"), "allow"), (14, ("GetItem", {"TableName": "gamescores", "Key": item("a")}), "impl"),
    (14, ("BatchGetItem", {"RequestItems": {"GameScores": {"Keys": [item("a")]}}}), "impl"),
    (15, get("p15"), "impl"), (15, ("Scan", on_table()), "allow"),
    (16, put("a"), "allow"), (16, ("DeleteTable", on_table()), "impl"),
    (17, get("a"), "allow"), (17, by_index("O", "Owner", "a"), "allow"),
    (17, ("GetItem", {"TableName": "X", "Key": {"UserId": {"S": "a"}}}), "impl"),
    (18, ("CreateTable", {**table("New", ["UserId"], {})}), "allow"),
    (18, ("CreateTable", {**table("New2", ["UserId"], {}), "Tags": [{"Key": "a", "Value": "b"}]}), "impl", "TagResource"),
    (20, get("a"), "impl"), (21, get("a"), "allow"), (22, get("a"), "impl"),
    (23, get("a"), "allow"), (23, get("a", ReturnConsumedCapacity="TOTAL"), "allow"),
    (23, get("a", ReturnConsumedCapacity="INDEXES"), "impl"),
]


@pytest.mark.parametrize("row", range(len(ROWS)), ids=lambda row: f"P{ROWS[row][0]}-{ROWS[row][1][0]}-{row}")
def test_oracle(server, row):
    number, (operation, members), wanted, *names = ROWS[row]
    expect(server, f"p{number}", operation, renamed(members), wanted, *names)


def test_a_denied_batch_writes_nothing(server):
    with connect(server, "p1") as client, pytest.raises(Refused):
        client.BatchWriteItem(RequestItems={"GameScores": [{"PutRequest": {"Item": {**item("p1"), "GameTitle": {"S": "batch"}}}},
                                                           {"PutRequest": {"Item": item("u2")}}]})
    with connect(server, "root") as root:
        assert "Item" not in root.GetItem(TableName="GameScores", Key={**item("p1"), "GameTitle": {"S": "batch"}})


def test_types_come_before_the_decision_and_values_after(server):
    with connect(server, "nobody") as client:
        with pytest.raises(Refused) as caught:
            client.GetItem(TableName=7, Key={})
        assert caught.value.type == "SerializationException"
        with pytest.raises(Refused) as caught:
            client.GetItem(TableName="GameScores", Key={"UserId": {"S": ""}})
        assert caught.value.type == "AccessDeniedException"
        with pytest.raises(Refused) as caught:
            client.GetItem(Key={})
        assert caught.value.type == "ValidationException"


def test_a_missing_table_is_not_told_from_a_forbidden_key(server):
    """By one who may use his own keys of any table."""
    for name in ("GameScores", "Nowhere"):
        text = outcome(server, "p15", "GetItem", {"TableName": name, "Key": item("p15")})
        assert "no identity-based policy" in text


def test_built_in_policies(server):
    rows = [("readonly", "GetItem", True), ("readonly", "PutItem", False), ("readonly", "DescribeTable", True),
            ("readonly", "CreateTable", False), ("readwrite", "PutItem", True), ("readwrite", "DeleteTable", False),
            ("readwrite", "Query", True), ("full", "CreateTable", True), ("full", "DeleteTable", True)]
    for name, operation, is_allowed in rows:
        request = renamed(OPERATIONS[operation][0])
        assert (outcome(server, name, operation, request) == "allow") == is_allowed, (name, operation)


def test_boundaries_limit_identity_policies(server):
    assert outcome(server, "bounded", *query("a")) == "allow"
    assert outcome(server, "bounded", *put("a")) == (
        f"User: arn:aws:iam::{ACCOUNT}:user/bounded is not authorized to perform: dynamodb:PutItem on resource: {T} because no "
        "permissions boundary allows the dynamodb:PutItem action")


def test_tags_of_caller_and_request(server):
    assert outcome(server, "tagged", *get("a")) == "allow"
    for tags, wanted in (([{"Key": "env", "Value": "dev"}], True), ([{"Key": "env", "Value": "prod"}], False),
                         ([{"Key": "env", "Value": "dev"}, {"Key": "x", "Value": "y"}], False)):
        got = outcome(server, "tagged", "TagResource", {"ResourceArn": ARN + "table/X__", "Tags": tags})
        assert (got == "allow") == wanted, tags


# --- policies of tables ---

@pytest.fixture
def table_policy(server):
    """table_policy(statement...): sets the policy of table X until the test ends; gives its revision."""
    arn = ARN + "table/X__"
    with connect(server, "root") as root:
        def put_policy(*statements, **more):
            return root.PutResourcePolicy(ResourceArn=arn, Policy=json.dumps(policy(*statements)), **more)["RevisionId"]
        yield put_policy
        root.DeleteResourcePolicy(ResourceArn=arn)


def to(principal, effect, *actions, **more):
    return {"Effect": effect, "Principal": principal, "Action": [f"dynamodb:{action}" for action in actions],
            "Resource": ARN + "table/X__", **more}


X_GET = ("GetItem", {"TableName": "X__", "Key": {"UserId": {"S": "a"}}})
X_PUT = ("PutItem", {"TableName": "X__", "Item": {"UserId": {"S": "a"}}})


def arn_of(name):
    return {"AWS": f"arn:aws:iam::{ACCOUNT}:user/{name}"}


def test_a_table_policy_allows(server, table_policy):
    assert outcome(server, "empty", *X_GET) != "allow"
    table_policy(to(arn_of("empty"), "Allow", "GetItem"))
    assert outcome(server, "empty", *X_GET) == "allow"
    assert outcome(server, "empty", *X_PUT) != "allow"
    assert outcome(server, "nobody", *X_GET) != "allow"


def test_a_boundary_does_not_limit_a_policy_that_names_the_user(server, table_policy):
    table_policy(to(arn_of("emptybounded"), "Allow", "GetItem"))
    assert outcome(server, "emptybounded", *X_GET) == "allow"


def test_a_table_policy_denies(server, table_policy):
    table_policy(to("*", "Deny", "PutItem"))
    assert outcome(server, "p10", *X_PUT).endswith("with an explicit deny in a resource-based policy")
    assert outcome(server, "root", *X_PUT).endswith("with an explicit deny in a resource-based policy")
    table_policy(to("*", "Deny", "PutItem", "DeleteResourcePolicy"))
    assert outcome(server, "full", "DeleteResourcePolicy", {"ResourceArn": ARN + "table/X__"}).endswith("resource-based policy")
    # root can always delete it: the fixture does


def test_an_account_only_delegates(server, table_policy):
    table_policy(to({"AWS": ACCOUNT}, "Allow", "GetItem"))
    assert outcome(server, "empty", *X_GET) != "allow"


def test_revisions(server, table_policy):
    arn = ARN + "table/X__"
    with connect(server, "root") as root:
        first = table_policy(to("*", "Allow", "GetItem"), ExpectedRevisionId="NO_POLICY")
        assert table_policy(to("*", "Allow", "GetItem")) == first
        got = root.GetResourcePolicy(ResourceArn=arn)
        assert got["RevisionId"] == first and json.loads(got["Policy"]) == policy(to("*", "Allow", "GetItem"))
        for expected in ("NO_POLICY", "1"):
            with pytest.raises(Refused) as caught:
                table_policy(to("*", "Allow", "Scan"), ExpectedRevisionId=expected)
            assert caught.value.type == "PolicyNotFoundException"
        second = table_policy(to("*", "Allow", "Scan"), ExpectedRevisionId=first)
        assert second != first
        with pytest.raises(Refused):
            root.DeleteResourcePolicy(ResourceArn=arn, ExpectedRevisionId=first)
        assert root.DeleteResourcePolicy(ResourceArn=arn, ExpectedRevisionId=second) == {"RevisionId": second}
        assert root.DeleteResourcePolicy(ResourceArn=arn) == {}
        with pytest.raises(Refused) as caught:
            root.GetResourcePolicy(ResourceArn=arn)
        assert caught.value.type == "PolicyNotFoundException"


@pytest.mark.parametrize("document, text", [
    ("{", "Invalid policy document"), ("{}", "Invalid policy document"),
    (json.dumps(policy(allow("GetItem"))), "Principal"),
    (json.dumps(policy(to("*", "Allow", "ListStreams"))),
     'One or more parameter values were invalid: Invalid policy document: The following action names are invalid: '
     '"dynamodb:ListStreams"'),
    (json.dumps(policy(to("*", "Allow", "GetItem"))) + " " * 20480, "size"),
], ids=["json", "empty", "principal", "action", "size"])
def test_bad_table_policies(server, document, text):
    with connect(server, "root") as root, pytest.raises(Refused) as caught:
        root.PutResourcePolicy(ResourceArn=ARN + "table/X__", Policy=document)
    assert caught.value.type == "ValidationException" and text in caught.value.message


def test_a_policy_goes_with_its_table(server):
    arn = ARN + "table/Brief"
    with connect(server, "root") as root:
        for _ in range(2):
            root.CreateTable(**table("Brief", ["UserId"], {}))
            with pytest.raises(Refused):
                root.GetResourcePolicy(ResourceArn=arn)
            root.PutResourcePolicy(ResourceArn=arn, Policy=json.dumps(policy(to("*", "Allow", "GetItem"))))
            root.DeleteTable(TableName="Brief")


def test_a_policy_survives_a_restart(tmp_path):
    users = write_users(tmp_path / "users.json", [user("root"), user("empty")])
    store, options = f"rocksdb:{tmp_path}/data", ("--auth", "on", "--users", users)
    arn = ARN + "table/X__"
    with Server(store, *options) as server, connect(server, "root") as root:
        root.CreateTable(**table("X", ["UserId"], {}))
        root.PutResourcePolicy(ResourceArn=arn, Policy=json.dumps(policy(to(arn_of("empty"), "Allow", "GetItem"))))
    with Server(store, *options) as server:
        assert outcome(server, "empty", *X_GET) == "allow"
        assert outcome(server, "empty", *X_PUT) != "allow"


# --- policies of streams, and with a new table ---

def streamed(name):
    return {**table(name, ["UserId"], {}), "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}


def stream_questions(arn):
    shard = "shardId-" + "0" * 20 + "-00000000"
    return [("DescribeStream", {"StreamArn": arn}),
            ("GetShardIterator", {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "LATEST"}),
            ("GetRecords", {"ShardIterator": f"{arn}|1|x"})]


def test_a_stream_policy(server):
    with connect(server, "root") as root:
        root.CreateTable(**streamed("Flow"))
        arn = root.DescribeTable(TableName="Flow")["Table"]["LatestStreamArn"]

        def put_policy(*statements, **more):
            document = json.dumps(policy(*({**statement, "Resource": arn} for statement in statements)))
            return root.PutResourcePolicy(ResourceArn=arn, Policy=document, **more)["RevisionId"]
        names = [operation for operation, _ in stream_questions(arn)]
        for operation, members in stream_questions(arn):
            assert outcome(server, "empty", operation, members, STREAMS_TARGET) != "allow"
            put_policy(to(arn_of("empty"), "Allow", operation))
            assert outcome(server, "empty", operation, members, STREAMS_TARGET) == "allow"
            for other, its_members in stream_questions(arn):
                if other != operation:
                    assert outcome(server, "empty", other, its_members, STREAMS_TARGET) != "allow"
            assert outcome(server, "nobody", operation, members, STREAMS_TARGET) != "allow"
        put_policy(to("*", "Deny", *names))
        for operation, members in stream_questions(arn):
            assert outcome(server, "full", operation, members,
                           STREAMS_TARGET).endswith("with an explicit deny in a resource-based policy")
        # that of the table is another one
        with pytest.raises(Refused, match="PolicyNotFound"):
            root.GetResourcePolicy(ResourceArn=ARN + "table/Flow")
        first = root.GetResourcePolicy(ResourceArn=arn)["RevisionId"]
        with pytest.raises(Refused, match="PolicyNotFound"):
            put_policy(to("*", "Allow", "GetRecords"), ExpectedRevisionId="NO_POLICY")
        second = put_policy(to("*", "Allow", "GetRecords"), ExpectedRevisionId=first)
        assert root.DeleteResourcePolicy(ResourceArn=arn) == {"RevisionId": second}
        assert root.DeleteResourcePolicy(ResourceArn=arn) == {}
        with pytest.raises(Refused, match="PolicyNotFound"):
            root.GetResourcePolicy(ResourceArn=arn)
        for bad in ("GetItem", "ListStreams"):
            with pytest.raises(Refused, match="action names are invalid"):
                put_policy(to("*", "Allow", bad))
        with pytest.raises(Refused, match="Stream: .* not found for Table: Flow"):
            root.PutResourcePolicy(ResourceArn=ARN + "table/Flow/stream/2020-01-01T00:00:00.000",
                                   Policy=json.dumps(policy(to("*", "Allow", "GetRecords"))))


def test_a_stream_policy_belongs_to_one_stream(tmp_path):
    """It outlives the end of the stream and a restart, and is not that of the next stream."""
    users = write_users(tmp_path / "users.json", [user("root"), user("empty")])
    store, options = f"rocksdb:{tmp_path}/data", ("--auth", "on", "--users", users)
    on = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    with Server(store, *options) as server, connect(server, "root") as root:
        root.CreateTable(**streamed("Flow"))
        arn = root.DescribeTable(TableName="Flow")["Table"]["LatestStreamArn"]
        document = json.dumps(policy({**to(arn_of("empty"), "Allow", "DescribeStream"), "Resource": "*"}))
        root.PutResourcePolicy(ResourceArn=arn, Policy=document)
        root.UpdateTable(TableName="Flow", StreamSpecification={"StreamEnabled": False})
    with Server(store, *options) as server, connect(server, "root") as root:
        assert outcome(server, "empty", "DescribeStream", {"StreamArn": arn}, STREAMS_TARGET) == "allow"
        root.UpdateTable(TableName="Flow", StreamSpecification=on)
        newer = root.DescribeTable(TableName="Flow")["Table"]["LatestStreamArn"]
        assert newer != arn
        for stream in (arn, newer):
            assert outcome(server, "empty", "DescribeStream", {"StreamArn": stream}, STREAMS_TARGET) != "allow"
            with pytest.raises(Refused, match="PolicyNotFound"):
                root.GetResourcePolicy(ResourceArn=stream)
        with pytest.raises(Refused, match="A newer stream of the table has been enabled"):
            root.PutResourcePolicy(ResourceArn=arn, Policy=document)
        root.DeleteTable(TableName="Flow")
        with pytest.raises(Refused, match="NotFound"):
            root.GetResourcePolicy(ResourceArn=newer)


def test_a_table_that_is_made_with_a_policy(server):
    document = json.dumps(policy({**to(arn_of("empty"), "Allow", "GetItem"), "Resource": ARN + "table/Born"}))
    with connect(server, "root") as root:
        for bad in ("{", json.dumps(policy(to("*", "Allow", "ListTables")))):
            with pytest.raises(Refused, match="Invalid policy document"):
                root.CreateTable(**table("Born", ["UserId"], {}), ResourcePolicy=bad)
        root.CreateTable(**table("Born", ["UserId"], {}), ResourcePolicy=document)
        got = root.GetResourcePolicy(ResourceArn=ARN + "table/Born")
        assert got["Policy"] == document and len(got["RevisionId"]) == 13
    members = {"TableName": "Born", "Key": {"UserId": {"S": "a"}}}
    assert outcome(server, "empty", "GetItem", members) == "allow"
    assert outcome(server, "nobody", "GetItem", members) != "allow"


def test_a_table_with_a_policy_asks_for_both_actions(tmp_path):
    users = write_users(tmp_path / "users.json", [user("both", "both"), user("one", "one")],
                        policies={"both": policy(allow("CreateTable"), allow("PutResourcePolicy")),
                                  "one": policy(allow("CreateTable"))})
    document = json.dumps(policy({**to("*", "Allow", "GetItem"), "Resource": "*"}))
    with Server("memory:", "--auth", "on", "--users", users) as started:
        members = {**table("Two", ["UserId"], {}), "ResourcePolicy": document}
        assert "dynamodb:PutResourcePolicy on resource" in outcome(started, "one", "CreateTable", members)
        assert outcome(started, "both", "CreateTable", members) == "allow"
        with connect(started, "both") as client, pytest.raises(Refused, match="ResourceInUse"):
            client.CreateTable(**members)


def test_warn_carries_out_what_policies_deny(tmp_path):
    users = write_users(tmp_path / "users.json", [user("nobody")])
    with Server("memory:", "--auth", "warn", "--users", users) as server:
        with connect(server, "nobody") as client:
            assert client.ListTables() == {"TableNames": []}
        assert "would be refused" in server.log() and "dynamodb:ListTables" in server.log()


# --- what is no operation of DynamoDB ---

def insight(server, name, method, path):
    """The status of a signed request to the insight API, and its body."""
    with connect(server, name) as client:
        body = b"{}" if method == "POST" else b""
        headers = {"host": client.connection.host, "x-amz-date": now()}
        scope, names, signed = signature(method, path, "", headers, body, secret=SECRET, time=headers["x-amz-date"],
                                         region="us-east-1", service="dynamodb")
        headers["authorization"] = (f"AWS4-HMAC-SHA256 Credential={key_id(name)}/{scope}, SignedHeaders={names}, "
                                    f"Signature={signed}")
        client.connection.send(request_bytes({**headers, "content-type": "application/json"}, body, path, method))
        answer = client.connection.read_answer()
        return answer.status, answer.body.decode()


@pytest.mark.parametrize("name,sees,changes", [
    ("root", True, True), ("full", True, True), ("readwrite", True, False), ("readonly", True, False),
    ("empty", False, False), ("p1", False, False)])
def test_the_insight_api_asks_for_actions_of_its_own(server, name, sees, changes):
    for method, path, action, allowed in (
            ("GET", "/_gramme/api/overview", "GetInsight", sees), ("GET", "/metrics", "GetInsight", sees),
            ("POST", "/_gramme/api/reset", "ChangeInsight", changes)):
        status, body = insight(server, name, method, path)
        if allowed:
            assert status == 200, body
        else:
            assert status == 400 and "AccessDeniedException" in body
            assert f"because no identity-based policy allows the gramme:{action} action" in body
