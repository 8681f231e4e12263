"""Users with policies, for the tests of authorization: statements, callers, and what a caller gets."""

import contextlib
import json
import re

from server import Server
from signing import SECRET, SignedClient, write_users
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
            answer = client.call(operation, **members)
            if operation == "BatchExecuteStatement":  # a denied statement fails alone, in a good answer
                errors = [one["Error"] for one in answer["Responses"] if "Error" in one]
                return next((error["Message"] for error in errors if error["Code"] == "AccessDenied"), "allow")
        except Refused as error:
            if error.type == "AccessDeniedException":
                assert operation != "BatchExecuteStatement" and error.status == 400 and "Message" in error.body
                return error.message
            assert error.type not in ("InternalServerError", "SerializationException"), error
        return "allow"


def expect(server, name, operation, members, wanted, action=None, resource=None, target=None):
    """wanted: "allow", "impl" (no statement allows it) or "expl" (a statement denies it)."""
    got = outcome(server, name, operation, members, target)
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


def on_table(**more):
    return {"TableName": "GameScores", **more}


def arn_of(name):
    return {"AWS": f"arn:aws:iam::{ACCOUNT}:user/{name}"}


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


@contextlib.contextmanager
def policy_server(directory, users, policies, roles=()):
    """A server with these users, policies and roles, the tables above, a tag and an item."""
    path = write_users(directory / "users.json", users, roles, policies)
    with Server("memory:", "--auth", "on", "--users", path) as started:
        with connect(started, "root") as root:
            for name, key, indexes in TABLES:
                root.CreateTable(**table(name, key, indexes))
            root.TagResource(ResourceArn=T, Tags=[{"Key": "env", "Value": "prod"}])
            root.PutItem(TableName="GameScores", Item={"UserId": {"S": "p2"}, "GameTitle": {"S": "x"}})
        yield started
