"""What identity policies decide: an oracle collected from AWS's documentation, condition keys, boundaries, tags, and the
actions of the insight API."""

import datetime
import json

import pytest

from policies import ACCOUNT, ARN, T, allow, connect, deny, expect, key_id, on_table, outcome, policy, policy_server, renamed, table, user
from server import Server
from signing import SECRET, SignedClient, now, request_bytes, signature, sts_session, write_users
from tables import table_request
from wire import Refused

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
    24: policy(allow("*", T)),
    25: policy(allow("*", T + "/index/*")),
    26: policy(allow("*"), deny(["PartiQLSelect", "PartiQLInsert", "PartiQLUpdate", "PartiQLDelete"], T)),
    27: policy(allow("*", If={"StringEquals": {"dynamodb:EnclosingOperation": ["TransactWriteItems", "ExecuteTransaction"]}})),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    policies = {f"P{number}": document for number, document in ORACLE.items()}
    users = [user(f"p{number}", f"P{number}") for number in ORACLE]
    users += [user("root"), user("nobody"), user("full", "full"), user("readonly", "readonly"), user("readwrite", "readwrite"),
              user("bounded", "P10", boundary="query"), user("empty"), user("tagged", "tags", tags={"team": "red"})]
    policies["query"] = policy(allow("Query"))
    policies["tags"] = policy(
        allow("GetItem", If={"StringEquals": {"aws:PrincipalTag/team": "red"}}),
        allow("TagResource", If={"ForAllValues:StringEquals": {"aws:TagKeys": ["env"]},
                                 "StringEquals": {"aws:RequestTag/env": "dev"}}))
    with policy_server(tmp_path_factory.mktemp("users"), users, policies) as started:
        yield started


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


def in_batch(*texts):
    return ("BatchExecuteStatement", {"Statements": [{"Statement": text} for text in texts]})


def in_transaction(*texts):
    return ("ExecuteTransaction", {"TransactStatements": [{"Statement": text} for text in texts]})


def statements(owner, table="GameScores"):
    """The action and text of each kind of statement."""
    where = f"WHERE UserId = '{owner}' AND GameTitle = 'q'"
    return [("PartiQLSelect", f"SELECT * FROM {table} {where}"), ("PartiQLUpdate", f"UPDATE {table} SET Wins = 1 {where}"),
            ("PartiQLInsert", f"INSERT INTO {table} VALUE {{'UserId': '{owner}', 'GameTitle': 'r'}}"),
            ("PartiQLDelete", f"DELETE FROM {table} {where}")]


FORMS = (sql, in_batch, in_transaction)
CHECK = ("TransactWriteItems", {"TransactItems": [{"ConditionCheck": on_table(
    Key={"UserId": {"S": "a"}, "GameTitle": {"S": "x"}}, ConditionExpression="attribute_not_exists(Nothing)")}]})


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
    # the key of another user, in every operation that names keys
    *((2, request, wanted) for owner, wanted in (("p2", "allow"), ("u2", "impl")) for request in (
        ("GetItem", on_table(Key=item(owner))), query(owner), transact("p2", owner),
        ("BatchGetItem", {"RequestItems": {"GameScores": {"Keys": [{**item("p2"), "GameTitle": {"S": "y"}}, item(owner)]}}}),
        ("BatchWriteItem", {"RequestItems": {"GameScores": [{"DeleteRequest": {"Key": item(owner)}}]}}),
        ("UpdateItem", on_table(Key=item(owner), UpdateExpression="SET Wins = :v", ExpressionAttributeValues={":v": {"N": "1"}})),
        ("TransactGetItems", {"TransactItems": [{"Get": on_table(Key={**item("p2"), "GameTitle": {"S": "y"}})},
                                                {"Get": on_table(Key=item(owner))}]}),
        *(("TransactWriteItems", {"TransactItems": [{kind: on_table(Key=item(owner), **more)}]}) for kind, more in (
            ("ConditionCheck", {"ConditionExpression": "attribute_not_exists(Nothing)"}), ("Delete", {}),
            ("Update", {"UpdateExpression": "SET Wins = :v", "ExpressionAttributeValues": {":v": {"N": "1"}}}))))),
    # an index is a resource of its own: the policy of the table does not cover it
    *((24, request, "impl", action, T + "/index/O__") for request, action in [
        (("Scan", on_table(IndexName="O")), "Scan"), (sql('SELECT * FROM GameScores."O__"'), "PartiQLSelect"),
        (("DescribeContributorInsights", on_table(IndexName="O")), "DescribeContributorInsights"),
        (("UpdateContributorInsights", on_table(IndexName="O", ContributorInsightsAction="DISABLE")), "UpdateContributorInsights")]),
    *((25, request, "allow") for request in (
        ("Scan", on_table(IndexName="O")), sql('SELECT * FROM GameScores."O__"'), ("DescribeContributorInsights", on_table(IndexName="O")),
        ("UpdateContributorInsights", on_table(IndexName="O", ContributorInsightsAction="DISABLE")))),
    (25, ("Scan", on_table()), "impl", "Scan", T), (25, sql("SELECT * FROM GameScores"), "impl", "PartiQLSelect", T),
    # statements alone, in batches and in transactions: the own key, that of another user, a denial, another table, an index
    *((2, form(text), "allow") for form in FORMS for _, text in statements("p2")),
    *((2, form(text), "impl", action, T) for form in FORMS for action, text in statements("u2")),
    *((26, form(text), "expl", action, T) for form in FORMS for action, text in statements("p26")),
    *((24, form(text), "impl", action, ARN + "table/X__") for form in FORMS for action, text in statements("a", "X__")),
    *((24, form("SELECT * FROM GameScores.\"O__\" WHERE Owner = 'a'"), "impl", "PartiQLSelect", T + "/index/O__") for form in FORMS),
    *((25, form("SELECT * FROM GameScores.\"O__\" WHERE Owner = 'a'"), "allow") for form in FORMS),
    *((2, form(statements("p2")[1][1], statements("u2")[1][1]), "impl", "PartiQLUpdate", T) for form in (in_batch, in_transaction)),
    *((2, ("ExplainStatement", {"Statement": statements(owner)[0][1]}), wanted) for owner, wanted in (("p2", "allow"), ("u2", "impl"))),
    *((2, ("ExplainQuery", query(owner)[1]), wanted) for owner, wanted in (("p2", "allow"), ("u2", "impl"))),
    # the actions that have dynamodb:ReturnConsumedCapacity, and those that have not
    *((23, request, "allow") for request in (
        put("a"), query("a"), ("Scan", on_table()), CHECK, ("DeleteItem", on_table(Key=item("a"))), update("SET Wins = :v"),
        ("BatchGetItem", {"RequestItems": {"GameScores": {"Keys": [item("a")]}}}),
        ("BatchWriteItem", {"RequestItems": {"GameScores": [{"DeleteRequest": {"Key": item("a")}}]}}))),
    *((23, request, "impl") for request in (
        ("DescribeTable", on_table()), ("ListTables", {}), ("DescribeLimits", {}), ("DescribeTimeToLive", on_table()),
        *(form(text) for form in FORMS for _, text in statements("a")))),
    # dynamodb:EnclosingOperation: only in transactions
    *((27, request, "allow") for request in (transact("a"), CHECK, *(in_transaction(text) for _, text in statements("p27")))),
    *((27, request, "impl") for request in (
        put("a"), get("a"), ("DescribeTable", on_table()), ("TransactGetItems", {"TransactItems": [{"Get": on_table(Key=item("a"))}]}),
        *(form(text) for form in (sql, in_batch) for _, text in statements("p27")))),
]


@pytest.mark.parametrize("row", range(len(ROWS)), ids=lambda row: f"P{ROWS[row][0]}-{ROWS[row][1][0]}-{row}")
def test_oracle(server, row):
    number, (operation, members), wanted, *names = ROWS[row]
    expect(server, f"p{number}", operation, renamed(members), wanted, *names,
           target="Gramme_20261115." if operation.startswith("Explain") else None)


PARTS = ["First", "Second", "Third", "Fourth"]


@pytest.mark.parametrize("part", range(4))
def test_each_part_of_a_composite_key_is_a_condition_key(tmp_path, part):
    """Of an index whose partition key has four attributes; FirstPartitionKeyValues is LeadingKeys."""
    names = [f"k{number}" for number in range(4)]
    key = f"dynamodb:{PARTS[part]}PartitionKeyValues"
    path = write_users(tmp_path / "users.json", [user("root"), user("u", "u")], policies={"u": policy(
        allow("Query", T + "/index/*", If={"ForAllValues:StringEquals": {key: ["mine"]}, "Null": {key: "false"}}))})
    with Server("memory:", "--auth", "on", "--users", path) as server:
        with connect(server, "root") as root:
            root.CreateTable(**table_request("GameScores", "UserId", gsi={"four": ",".join(names)}))

        def ask(values):
            return outcome(server, "u", "Query", on_table(
                IndexName="four", KeyConditionExpression=" AND ".join(f"{name} = :{name}" for name in names),
                ExpressionAttributeValues={f":{name}": {"S": value} for name, value in zip(names, values)}))
        values = ["other"] * 4
        assert "no identity-based policy allows" in ask(values)
        values[part] = "mine"
        assert ask(values) == "allow"


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


def test_a_failed_condition_does_not_show_what_policies_hide(tmp_path):
    """A write with ReturnValuesOnConditionCheckFailure ALL_OLD must be allowed with ReturnValues ALL_OLD, too."""
    actions = ["PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem", "PartiQLUpdate", "PartiQLInsert"]
    path = write_users(tmp_path / "users.json", [user("root"), user("u", "u")], policies={"u": policy(
        allow(actions, If={"StringEqualsIfExists": {"dynamodb:ReturnValues": ["NONE", "UPDATED_NEW"]}}))})
    key, failing = {"UserId": {"S": "a"}}, {"ConditionExpression": "attribute_not_exists(UserId)"}
    put, remove = {"TableName": "X__", "Item": key, **failing}, {"TableName": "X__", "Key": key, **failing}
    change = {**remove, "UpdateExpression": "SET Wins = :w", "ExpressionAttributeValues": {":w": {"N": "1"}}}
    update, insert = ("UPDATE X__ SET Wins=1 WHERE UserId='a' AND Wins=7", "INSERT INTO X__ VALUE {'UserId':'a'}")
    shown = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    rows = [("PutItem", put, None), ("DeleteItem", remove, None), ("UpdateItem", change, None),
            *(("TransactWriteItems", {"TransactItems": [{kind: members}]}, kind)
              for kind, members in (("Put", put), ("Delete", remove), ("Update", change), ("ConditionCheck", remove))),
            *(("ExecuteStatement", {"Statement": text}, None) for text in (update, insert)),
            *(("ExecuteTransaction", {"TransactStatements": [{"Statement": text}]}, "statement") for text in (update, insert))]
    with Server("memory:", "--auth", "on", "--users", path) as server:
        with connect(server, "root") as root:
            root.CreateTable(**table("X", ["UserId"], {}))
            root.PutItem(TableName="X__", Item={**key, "SSN": {"S": "hidden"}})
        for operation, members, inner in rows:
            assert outcome(server, "u", operation, members) == "allow"
            if inner == "statement":
                members = {"TransactStatements": [{**members["TransactStatements"][0], **shown}]}
            elif inner is not None:
                members = {"TransactItems": [{inner: {**members["TransactItems"][0][inner], **shown}}]}
            else:
                members = {**members, **shown}
            assert "no identity-based policy allows" in outcome(server, "u", operation, members), (operation, members)


def test_a_failed_condition_does_not_hide_what_is_returned(tmp_path):
    """ReturnValuesOnConditionCheckFailure does not replace ReturnValues; EXISTS with it is a Select of all attributes."""
    path = write_users(tmp_path / "users.json", [user("root"), user("u", "u")], policies={"u": policy(
        allow(["UpdateItem", "PartiQLUpdate"], If={"StringEquals": {"dynamodb:ReturnValues": ["NONE", "ALL_OLD"]}}),
        allow(["PartiQLSelect"], If={"StringEquals": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}}))})
    shown = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    change = {"TableName": "X__", "Key": {"UserId": {"S": "a"}}, "UpdateExpression": "SET Wins = :w",
              "ExpressionAttributeValues": {":w": {"N": "1"}}}
    update, exists = "UPDATE X__ SET Wins=1 WHERE UserId='a'", "EXISTS(SELECT Wins FROM X__ WHERE UserId='a' AND Wins=7)"
    allowed = [("UpdateItem", {**change, **shown}), ("ExecuteStatement", {"Statement": update, **shown}),
               ("ExecuteTransaction", {"TransactStatements": [{"Statement": exists}]})]
    denied = [("UpdateItem", {**change, **shown, "ReturnValues": "ALL_NEW"}),
              ("ExecuteStatement", {"Statement": f"{update} RETURNING ALL NEW *", **shown}),
              ("ExecuteTransaction", {"TransactStatements": [{"Statement": exists, **shown}]})]
    with Server("memory:", "--auth", "on", "--users", path) as server:
        with connect(server, "root") as root:
            root.CreateTable(**table("X", ["UserId"], {}))
            root.PutItem(TableName="X__", Item={"UserId": {"S": "a"}, "SSN": {"S": "hidden"}})
        for operation, members in allowed:
            assert outcome(server, "u", operation, members) == "allow", operation
        for operation, members in denied:
            assert "no identity-based policy allows" in outcome(server, "u", operation, members), operation


def test_a_missing_table_is_not_told_from_a_forbidden_key(server):
    """Caller: may access items whose key equals the user name."""
    for name in ("GameScores", "Nowhere"):
        text = outcome(server, "p15", "GetItem", {"TableName": name, "Key": item("p15")})
        assert "no identity-based policy" in text


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


# --- numbers ---

def number_key(value):
    return {"TableName": "Numbers", "Key": {"pk": {"N": value}}}


def test_numbers_of_any_size_are_compared_exactly(tmp_path):
    """A key of N is compared by its canonical text, which has up to 127 characters."""
    above, exact = "ForAnyValue:NumericGreaterThan", "ForAllValues:NumericEquals"
    policies = {"small": policy(allow("GetItem"), deny("GetItem", If={above: {"dynamodb:LeadingKeys": "1000"}})),
                "one": policy(allow("GetItem", If={exact: {"dynamodb:LeadingKeys": "9007199254740992"}}))}
    rows = [("small", "1000", "allow"), ("small", "1000.0000000000000000000000000000000001", "expl"), ("small", "1E60", "expl"),
            ("small", "1E70", "expl"), ("small", "1E125", "expl"), ("small", "-1E125", "allow"), ("small", "1E-130", "allow"),
            ("one", "9007199254740992", "allow"), ("one", "9007199254740993", "impl"), ("one", "9007199254740992.1", "impl")]
    with policy_server(tmp_path, [user("root"), *(user(name, name) for name in policies)], policies) as server:
        with connect(server, "root") as root:
            root.CreateTable(**table_request("Numbers", "pk:N"))
        for name, value, wanted in rows:
            expect(server, name, "GetItem", number_key(value), wanted)


# --- the condition keys that the server fills in for every request ---

BOTH, NONE = {"user", "session"}, set()
ALL = BOTH | {"role"}


def days(count):
    return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=count)


YESTERDAY, TOMORROW = (days(count).strftime("%Y-%m-%dT%H:%M:%SZ") for count in (-1, 1))


FILLED = [
    # key, operator, value ({name} is that of user and role), and for which callers it holds: a user with a lasting key, with a
    # temporary one, a session of a role
    ("aws:CurrentTime", "DateGreaterThan", YESTERDAY, ALL), ("aws:CurrentTime", "DateGreaterThan", TOMORROW, NONE),
    ("aws:EpochTime", "NumericGreaterThan", str(int(days(-1).timestamp())), ALL),
    ("aws:EpochTime", "NumericGreaterThan", str(int(days(1).timestamp())), NONE),
    ("aws:userid", "StringEquals", "{name}", BOTH), ("aws:userid", "StringEquals", "{name}:me", {"role"}),
    ("aws:username", "StringEquals", "{name}", BOTH), ("aws:username", "StringEquals", "other", NONE),
    ("aws:username", "Null", "true", {"role"}),
    ("aws:PrincipalType", "StringEquals", "User", BOTH), ("aws:PrincipalType", "StringEquals", "AssumedRole", {"role"}),
    ("aws:PrincipalType", "StringEquals", "Account", NONE),
    ("aws:PrincipalArn", "ArnEquals", f"arn:aws:iam::{ACCOUNT}:user/{{name}}", BOTH),
    ("aws:PrincipalArn", "ArnEquals", f"arn:aws:iam::{ACCOUNT}:role/{{name}}", {"role"}),
    ("aws:PrincipalAccount", "StringEquals", ACCOUNT, ALL), ("aws:PrincipalAccount", "StringEquals", "111111111111", NONE),
    ("aws:PrincipalTag/team", "StringEquals", "red", ALL), ("aws:PrincipalTag/team", "StringEquals", "blue", NONE),
    ("aws:ResourceTag/env", "StringEquals", "prod", ALL), ("aws:ResourceTag/env", "StringEquals", "dev", NONE),
    ("aws:RequestedRegion", "StringEquals", "us-east-1", ALL), ("aws:RequestedRegion", "StringEquals", "eu-west-1", NONE),
    ("aws:SourceIp", "IpAddress", "127.0.0.1/32", ALL), ("aws:SourceIp", "IpAddress", "127.0.0.2/32", NONE),
    ("aws:SecureTransport", "Bool", "false", ALL), ("aws:SecureTransport", "Bool", "true", NONE),
    ("aws:UserAgent", "StringLike", "tests/*", ALL), ("aws:UserAgent", "StringLike", "other/*", NONE),
    ("aws:TokenIssueTime", "DateGreaterThan", YESTERDAY, {"session", "role"}),
    ("aws:TokenIssueTime", "DateGreaterThan", TOMORROW, NONE),
    ("aws:TokenIssueTime", "Null", "true", {"user"}),
    ("aws:MultiFactorAuthPresent", "Bool", "false", {"session", "role"}), ("aws:MultiFactorAuthPresent", "Bool", "true", NONE),
    ("aws:MultiFactorAuthPresent", "Null", "true", {"user"}),
]


@pytest.fixture(scope="module")
def filling_server(tmp_path_factory):
    """For each row of FILLED a user and a role who may read an item if the condition holds."""
    tags, trust = {"team": "red"}, {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:user/assumer"}, "Action": "sts:AssumeRole"}
    policies, users, roles = {}, [user("root"), user("assumer")], []
    for number, (key, operator, value, _) in enumerate(FILLED):
        name = f"c{number}"
        policies[name] = policy(allow("GetItem", T, If={operator: {key: value.format(name=name)}}))
        users.append(user(name, name, tags=tags))
        roles.append({"name": name, "trust": policy(trust), "policies": [name], "tags": tags})
    with policy_server(tmp_path_factory.mktemp("users"), users, policies, roles) as started:
        yield started


def key_of_caller(server, caller, name):
    if caller == "user":
        return {"key_id": key_id(name), "secret": SECRET}
    if caller == "session":
        return sts_session(server.endpoint, "Action=GetSessionToken", key_id=key_id(name))
    form = f"Action=AssumeRole&RoleArn=arn:aws:iam::{ACCOUNT}:role/{name}&RoleSessionName=me"
    return sts_session(server.endpoint, form, key_id=key_id("assumer"))


@pytest.mark.parametrize("caller", sorted(ALL))
@pytest.mark.parametrize("row", range(len(FILLED)), ids=lambda row: f"{FILLED[row][0]}-{row}")
def test_condition_keys_of_every_request(filling_server, row, caller):
    """SimulatePolicy fills in the same, except what depends on the connection and on the name of the session."""
    name, wanted = f"c{row}", caller in FILLED[row][3]
    key = key_of_caller(filling_server, caller, name)
    with SignedClient(filling_server.endpoint, **key, more={"user-agent": "tests/1"}) as client:
        answer = client.post("GetItem", json.dumps(on_table(Key=item("a"))).encode())
    assert answer.status == 200 if wanted else answer.json()["__type"].endswith("#AccessDeniedException"), answer.body
    if caller != "session":
        given = {"aws:SourceIp": ["127.0.0.1"], "aws:SecureTransport": ["false"], "aws:UserAgent": ["tests/1"]}
        if caller == "role":
            given["aws:userid"] = [f"{name}:me"]
        with connect(filling_server, "root", target="GrammeAdmin_20261101.") as root:
            found = root.SimulatePolicy(**{"RoleName" if caller == "role" else "UserName": name}, Action="dynamodb:GetItem", Resource=T,
                                        Context=given)
        assert (found["Decision"], found["TableFound"]) == ("allowed" if wanted else "implicitDeny", True)


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
