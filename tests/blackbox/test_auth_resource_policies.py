"""Policies of tables and streams: what they allow and deny, revisions, bad documents, restarts."""

import json

import pytest

from policies import ACCOUNT, ARN, STREAMS_TARGET, allow, arn_of, connect, deny, outcome, policy, policy_server, table, user
from server import Server
from signing import write_users
from wire import Refused


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    users = [user("root"), user("nobody"), user("full", "full"), user("empty"), user("emptybounded", boundary="query"),
             user("p10", "P10")]
    policies = {"query": policy(allow("Query")), "P10": policy(allow("*"), deny("GetItem"))}
    with policy_server(tmp_path_factory.mktemp("users"), users, policies) as started:
        yield started


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
    arn, get, scan = ARN + "table/X__", to(arn_of("empty"), "Allow", "GetItem"), to(arn_of("empty"), "Allow", "Scan")
    with connect(server, "root") as root:
        first = table_policy(get, ExpectedRevisionId="NO_POLICY")
        assert table_policy(get) == first
        assert root.GetResourcePolicy(ResourceArn=arn)["RevisionId"] == first
        for expected, text in (
                ("NO_POLICY", f"Requested policy update expecting none to be present for table X__, but a policy exists with revision id {first}."),
                ("1", f"Requested update for policy with revision id 1, but the policy associated to target table X__ has revision id {first}.")):
            with pytest.raises(Refused) as caught:
                table_policy(scan, ExpectedRevisionId=expected)
            assert (caught.value.type, caught.value.message) == ("PolicyNotFoundException", text)
        second = table_policy(scan, ExpectedRevisionId=first)
        assert second != first
        with pytest.raises(Refused):
            root.DeleteResourcePolicy(ResourceArn=arn, ExpectedRevisionId=first)
        assert root.DeleteResourcePolicy(ResourceArn=arn, ExpectedRevisionId=second) == {"RevisionId": second}
        assert root.DeleteResourcePolicy(ResourceArn=arn) == {}
        with pytest.raises(Refused) as caught:
            root.DeleteResourcePolicy(ResourceArn=arn, ExpectedRevisionId=second)
        assert (caught.value.type, caught.value.message) == (
            "PolicyNotFoundException",
            f"Requested update for policy with revision id {second}, but table X__ has no associated policy.")
        with pytest.raises(Refused) as caught:
            root.GetResourcePolicy(ResourceArn=arn)
        assert (caught.value.type, caught.value.message) == (
            "PolicyNotFoundException", f"Resource-based policy not found for the provided ResourceArn: {arn}")


CANONICAL = ('{"Version":"2008-10-17","Statement":[{"Sid":"A","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::000000000000:root"},'
             f'"Action":"dynamodb:GetItem","Resource":"{ARN}table/X__",'
             '"Condition":{"Bool":{"aws:SecureTransport":"false"},"StringLike":{"aws:UserAgent":["a","b"],"aws:username":"é\\\""}}}]}')
EQUIVALENT = [
    CANONICAL, json.dumps(json.loads(CANONICAL), indent=2),
    json.dumps({"Statement": {
        "Condition": {"StringLike": {"aws:username": ["é\""], "aws:UserAgent": ["a", "b"]}, "Bool": {"aws:SecureTransport": ["false"]}},
        "Resource": [ARN + "table/X__"], "Action": ["dynamodb:GetItem"], "Principal": {"AWS": [ACCOUNT]}, "Effect": "Allow", "Sid": "A"}})]


def test_equivalent_policies_are_one(server):
    """In the canonical form; A, B, A has three revisions."""
    arn = ARN + "table/X__"
    other = json.dumps(policy(to(arn_of("empty"), "Allow", "GetItem")))
    with connect(server, "root") as root:
        for sent in EQUIVALENT:
            first = root.PutResourcePolicy(ResourceArn=arn, Policy=sent)["RevisionId"]
            for again in EQUIVALENT:
                assert root.PutResourcePolicy(ResourceArn=arn, Policy=again)["RevisionId"] == first
                assert root.GetResourcePolicy(ResourceArn=arn) == {"Policy": CANONICAL, "RevisionId": first}
            second = root.PutResourcePolicy(ResourceArn=arn, Policy=other)["RevisionId"]
            assert first < second < root.PutResourcePolicy(ResourceArn=arn, Policy=sent)["RevisionId"]
            root.DeleteResourcePolicy(ResourceArn=arn)


def test_a_new_policy_is_in_force_at_once(server):
    """Also if it has the revision of one that was deleted in the same millisecond."""
    arn = ARN + "table/X__"
    documents = {name: json.dumps(policy(to(arn_of(name), "Allow", "GetItem"))) for name in ("empty", "nobody")}
    with connect(server, "root") as root:
        for _ in range(100):
            for allowed, document in documents.items():
                root.PutResourcePolicy(ResourceArn=arn, Policy=document)
                for name in documents:
                    assert (outcome(server, name, *X_GET) == "allow") == (name == allowed)
                root.DeleteResourcePolicy(ResourceArn=arn)


OOM = "One or more parameter values were invalid: "
BAD_POLICY = OOM + "Invalid policy document: "
UNBOUNDED = ("Resource-based policy grants unbounded access in one or more elements. Please revise the policy to ensure "
             "least-privilege form of access")


def without(element):
    statement = to(arn_of("empty"), "Allow", "GetItem")
    del statement[element]
    return policy(statement)


@pytest.mark.parametrize("document, text", [
    ("{", BAD_POLICY + "This policy contains invalid Json"), ("", None), ("{}", BAD_POLICY + "Syntax error at position (1,3)"),
    ("null", BAD_POLICY + "This text appears not to be a policy"), ("[]", BAD_POLICY + "This text appears not to be a policy"),
    (policy(), BAD_POLICY + "Could not parse the policy: Statement is empty!"),
    *((without(element), BAD_POLICY + "Missing required field " + element) for element in ("Effect", "Principal", "Action", "Resource")),
    (policy(*(to(arn_of("empty"), "Allow", "GetItem", Sid="same") for _ in range(2))),
     BAD_POLICY + "The Statement Ids in the policy are not unique"),
    (policy({**to(arn_of("empty"), "Allow", "GetItem"), "Resource": ARN + "tables/X__"}),
     BAD_POLICY + f'The relative-id "tables/X__" is invalid for ARN "{ARN}tables/X__"'),
    *((policy(to(principal, "Allow", "GetItem")), OOM + "Invalid principal in policy document.")
      for principal in ("empty", {"AWS": "empty"}, {"AWS": ["*", f"arn:aws:iam::{ACCOUNT}:user/e*"]}, {}, {"AWS": 1})),
    (policy(to("*", "Allow", "ListStreams")), BAD_POLICY + 'The following action names are invalid: "dynamodb:ListStreams"'),
    (json.dumps(policy(to("*", "Allow", "GetItem"))) + " " * 20480, OOM + "Maximum policy size of 20480 bytes exceeded"),
    *((policy(to(principal, "Allow", "GetItem", **more)), UNBOUNDED) for principal, more in [
        ("*", {}), ({"AWS": "*"}, {}), ({"AWS": [ACCOUNT, "*"]}, {}),
        *(("*", {"Condition": condition}) for condition in [
            {"Bool": {"aws:SecureTransport": "true"}}, {"StringLike": {"aws:PrincipalArn": f"arn:aws:iam::{ACCOUNT}:*"}},
            {"StringNotEquals": {"aws:username": "a"}}, {"StringEqualsIfExists": {"aws:username": "a"}},
            {"ForAllValues:StringEquals": {"aws:username": "a"}}, {"IpAddress": {"aws:SourceIp": ["10.0.0.0/8", "0.0.0.0/1"]}},
            {"NotIpAddress": {"aws:SourceIp": "10.0.0.0/8"}}, {"StringEquals": {"aws:username": "${aws:username}"}}])]),
    (policy({"Effect": "Allow", "NotPrincipal": arn_of("p1"), "Action": "dynamodb:GetItem", "Resource": "*"}), UNBOUNDED),
])
def test_bad_table_policies(server, document, text):
    document = document if isinstance(document, str) else json.dumps(document)
    with connect(server, "root") as root:
        for call in (lambda: root.PutResourcePolicy(ResourceArn=ARN + "table/X__", Policy=document),
                     lambda: root.CreateTable(**table("Unborn", ["UserId"], {}), ResourcePolicy=document)):
            with pytest.raises(Refused) as caught:
                call()
            assert caught.value.type == "ValidationException" and text in (None, caught.value.message)
        with pytest.raises(Refused, match="PolicyNotFound"):
            root.GetResourcePolicy(ResourceArn=ARN + "table/X__")


@pytest.mark.parametrize("condition", [
    {"StringEquals": {"aws:PrincipalAccount": ACCOUNT}}, {"IpAddress": {"aws:SourceIp": "127.0.0.0/8"}},
    {"ArnEquals": {"aws:PrincipalArn": f"arn:aws:iam::{ACCOUNT}:user/empty"}}])
def test_everybody_may_be_bounded_by_a_condition(server, table_policy, condition):
    table_policy(to("*", "Allow", "GetItem", Condition=condition))
    assert outcome(server, "empty", *X_GET) == "allow"


def test_nobody_locks_himself_out_by_mistake(server, table_policy):
    arn = ARN + "table/X__"
    for name, statement in (("full", to(arn_of("full"), "Deny", "PutResourcePolicy")), ("root", to("*", "Deny", "PutResourcePolicy"))):
        members = {"ResourceArn": arn, "Policy": json.dumps(policy(statement))}
        with connect(server, name) as client:
            with pytest.raises(Refused) as caught:
                client.PutResourcePolicy(**members)
            assert (caught.value.type, caught.value.message) == (
                "AccessDeniedException", "The new resource policy will not allow you to update the resource policy in the future.")
            with pytest.raises(Refused, match="PolicyNotFound"):
                client.GetResourcePolicy(ResourceArn=arn)
            client.PutResourcePolicy(**members, ConfirmRemoveSelfResourceAccess=True)
            with pytest.raises(Refused, match="with an explicit deny in a resource-based policy"):
                client.PutResourcePolicy(**members)
            client.DeleteResourcePolicy(ResourceArn=arn)
    table_policy(to(arn_of("empty"), "Deny", "PutResourcePolicy"))  # that of another user


def test_a_policy_goes_with_its_table(server):
    arn = ARN + "table/Brief"
    with connect(server, "root") as root:
        for _ in range(2):
            root.CreateTable(**table("Brief", ["UserId"], {}))
            with pytest.raises(Refused):
                root.GetResourcePolicy(ResourceArn=arn)
            root.PutResourcePolicy(ResourceArn=arn, Policy=json.dumps(policy(to(arn_of("empty"), "Allow", "GetItem"))))
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
            put_policy(to(arn_of("empty"), "Allow", "GetRecords"), ExpectedRevisionId="NO_POLICY")
        second = put_policy(to(arn_of("empty"), "Allow", "GetRecords"), ExpectedRevisionId=first)
        assert root.DeleteResourcePolicy(ResourceArn=arn) == {"RevisionId": second}
        assert root.DeleteResourcePolicy(ResourceArn=arn) == {}
        with pytest.raises(Refused, match="PolicyNotFound"):
            root.GetResourcePolicy(ResourceArn=arn)
        for bad in ("GetItem", "ListStreams"):
            with pytest.raises(Refused, match="action names are invalid"):
                put_policy(to(arn_of("empty"), "Allow", bad))
        with pytest.raises(Refused, match="Stream: .* not found for Table: Flow"):
            root.PutResourcePolicy(ResourceArn=ARN + "table/Flow/stream/2020-01-01T00:00:00.000",
                                   Policy=json.dumps(policy(to(arn_of("empty"), "Allow", "GetRecords"))))


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
        assert json.loads(got["Policy"])["Statement"][0]["Resource"] == ARN + "table/Born" and len(got["RevisionId"]) == 13
    members = {"TableName": "Born", "Key": {"UserId": {"S": "a"}}}
    assert outcome(server, "empty", "GetItem", members) == "allow"
    assert outcome(server, "nobody", "GetItem", members) != "allow"


def test_a_table_with_a_policy_asks_for_both_actions(tmp_path):
    users = write_users(tmp_path / "users.json", [user("both", "both"), user("one", "one")],
                        policies={"both": policy(allow("CreateTable"), allow("PutResourcePolicy")),
                                  "one": policy(allow("CreateTable"))})
    document = json.dumps(policy({**to(arn_of("one"), "Allow", "GetItem"), "Resource": "*"}))
    with Server("memory:", "--auth", "on", "--users", users) as started:
        members = {**table("Two", ["UserId"], {}), "ResourcePolicy": document}
        assert "dynamodb:PutResourcePolicy on resource" in outcome(started, "one", "CreateTable", members)
        assert outcome(started, "both", "CreateTable", members) == "allow"
        with connect(started, "both") as client, pytest.raises(Refused, match="ResourceInUse"):
            client.CreateTable(**members)
