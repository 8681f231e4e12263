"""Users, keys, policies and roles in the store: the commands, the administration API, the master key."""

import json
import os
import pathlib
import re
import subprocess

import pytest

from installation import Installation, client, gramme, key_of
from server import Server, on_postgresql, program
from signing import KEY_ID, SECRET, SignedClient
from tables import table_request
from wire import Refused

ADMIN = "GrammeAdmin_20261101."
MASTER = "00112233445566778899aabbccddeeff" * 2
READ_MUSIC = {"Version": "2012-10-17", "Statement": [
    {"Sid": "Read", "Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "arn:aws:dynamodb:*:*:table/Music"}]}


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    return Installation(tmp_path_factory.mktemp("installation"))


@pytest.fixture(scope="module")
def server(installation):
    with installation.start() as started:
        yield started


def lists(server, key):
    """Whether the key may list tables; else the error's type."""
    with client(server, key) as connection:
        try:
            connection.ListTables()
            return True
        except Refused as error:
            return error.type


def test_five_commands(installation, server, tmp_path):
    """As docs/security.md tells it."""
    installation.on(server, "user", "add", "app")
    key = key_of(installation.on(server, "key", "add", "app"))
    assert lists(server, key) == "AccessDeniedException"
    (tmp_path / "policy.json").write_text(json.dumps(READ_MUSIC))
    installation.on(server, "policy", "put", "music", tmp_path / "policy.json")
    installation.on(server, "policy", "attach", "music", "--user", "app")
    with client(server, key) as connection:
        with pytest.raises(Refused) as caught:
            connection.GetItem(TableName="Music", Key={"pk": {"S": "a"}})
        assert caught.value.type == "ResourceNotFoundException"
        with pytest.raises(Refused) as caught:
            connection.GetItem(TableName="Movies", Key={"pk": {"S": "a"}})
        assert caught.value.type == "AccessDeniedException"
    installation.on(server, "policy", "attach", "readonly", "--user", "app")
    assert lists(server, key) is True
    installation.on(server, "policy", "detach", "readonly", "--user", "app")
    assert lists(server, key) == "AccessDeniedException"
    assert "music" in installation.on(server, "policy", "list")
    assert json.loads(installation.on(server, "policy", "get", "music")) == READ_MUSIC
    assert "attached to user 'app'" in installation.on(server, "policy", "remove", "music", status=1)


def test_keys_are_rotated_and_disabled(installation, server):
    installation.on(server, "user", "add", "rotating")
    installation.on(server, "policy", "attach", "full", "--user", "rotating")
    first = key_of(installation.on(server, "key", "add", "rotating"))
    second = key_of(installation.on(server, "key", "rotate", "rotating"))
    assert first != second and lists(server, first) is True and lists(server, second) is True
    assert "2 keys" in installation.on(server, "key", "add", "rotating", status=1)
    installation.on(server, "key", "disable", first["AWS_ACCESS_KEY_ID"])
    assert lists(server, first) == "UnrecognizedClientException" and lists(server, second) is True
    installation.on(server, "key", "enable", first["AWS_ACCESS_KEY_ID"])
    assert lists(server, first) is True
    installation.on(server, "key", "remove", first["AWS_ACCESS_KEY_ID"])
    assert lists(server, first) == "UnrecognizedClientException"
    installation.on(server, "user", "disable", "rotating")
    assert lists(server, second) == "UnrecognizedClientException"
    installation.on(server, "user", "enable", "rotating")
    assert lists(server, second) is True
    installation.on(server, "user", "remove", "rotating")
    assert lists(server, second) == "UnrecognizedClientException"


def test_a_key_is_imported(installation, server):
    installation.on(server, "user", "add", "imported")
    installation.on(server, "policy", "attach", "full", "--user", "imported")
    installation.on(server, "key", "import", "imported", KEY_ID, environment={"GRAMME_IMPORT_SECRET": SECRET})
    assert lists(server, {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}) is True
    assert "exists already" in installation.on(server, "key", "import", "imported", KEY_ID, status=1,
                                               environment={"GRAMME_IMPORT_SECRET": SECRET})


def test_decisions_can_be_asked_for(installation, server, tmp_path):
    installation.on(server, "user", "add", "asked")
    (tmp_path / "p.json").write_text(json.dumps({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"},
        {"Effect": "Deny", "Action": "dynamodb:GetItem", "Resource": "*",
         "Condition": {"ForAnyValue:StringEquals": {"dynamodb:Attributes": ["SSN"]}}}]}))
    installation.on(server, "policy", "put", "asking", tmp_path / "p.json")
    installation.on(server, "policy", "attach", "asking", "--user", "asked")
    ask = ("policy", "test", "--user", "asked", "--resource", "arn:aws:dynamodb:us-east-1:000000000000:table/T", "--action")
    assert installation.on(server, *ask, "dynamodb:GetItem") == "allowed by identity-based policy asking, statement 1\n"
    assert installation.on(server, *ask, "dynamodb:GetItem", "--context", "dynamodb:Attributes=a,SSN") == (
        "explicitDeny by identity-based policy asking, statement 2\n")
    assert installation.on(server, *ask, "s3:GetObject") == "implicitDeny: no identity-based policy allows it\n"
    assert "is not a condition key" in installation.on(server, *ask, "s3:GetObject", "--context", "a=b", status=1)


NOT_FOUND = "The resource is no table, index or stream of this server: tags and a policy of its own were not evaluated.\n"


def test_decisions_see_tags_and_the_policy_of_the_resource(tmp_path):
    """On a running server, which really decides so, and on its store."""
    installation = Installation(tmp_path)
    arn, role = "arn:aws:dynamodb:us-east-1:000000000000:table/", {"AWS": "arn:aws:iam::000000000000:role/worker"}
    user = {"AWS": "arn:aws:iam::000000000000:user/tagged"}

    def statement(effect, action, resource="*", **more):
        return {"Effect": effect, "Action": action, "Resource": resource, **more}

    def document(*statements):
        return json.dumps({"Version": "2012-10-17", "Statement": statements})
    with installation.start() as server:
        with client(server, installation.root, target=ADMIN) as admin, client(server, installation.root) as root:
            admin.CreateUser(UserName="tagged", Tags={"team": "red"})
            admin.CreateAccessKey(UserName="tagged", AccessKeyId="AKIATAGGED", SecretAccessKey=SECRET)
            admin.PutPolicy(PolicyName="team", Document=document(statement("Allow", "dynamodb:GetItem", Condition={
                "StringEquals": {"aws:PrincipalTag/team": "red", "aws:ResourceTag/env": "prod"}})))
            admin.AttachPolicy(PolicyName="team", UserName="tagged")
            admin.PutRole(RoleName="worker", Document=TRUST)
            admin.AttachPolicy(PolicyName="readonly", RoleName="worker", AsBoundary=True)
            root.CreateTable(**table_request("Music"), Tags=[{"Key": "env", "Value": "prod"}],
                             StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
            root.CreateTable(**table_request("Plain"))
            stream = root.DescribeTable(TableName="Music")["Table"]["LatestStreamArn"]
            root.PutResourcePolicy(ResourceArn=arn + "Music", Policy=document(
                statement("Allow", "dynamodb:PutItem", arn + "Music", Principal=user),
                statement("Deny", "dynamodb:DeleteItem", arn + "Music", Principal="*"),
                statement("Allow", ["dynamodb:PutItem", "dynamodb:Scan"], arn + "Music", Principal=role)))
            root.PutResourcePolicy(ResourceArn=stream, Policy=document(
                statement("Allow", "dynamodb:DescribeStream", stream, Principal=user)))
        rows = [
            ("--user tagged", "GetItem", arn + "Music", "allowed by identity-based policy team, statement 1\n"),
            ("--user tagged --context aws:PrincipalTag/team=blue", "GetItem", arn + "Music",
             "implicitDeny: no identity-based policy allows it\n"),
            ("--user tagged", "GetItem", arn + "Plain", "implicitDeny: no identity-based policy allows it\n"),
            ("--user tagged --context aws:ResourceTag/env=prod", "GetItem", arn + "Plain",
             "allowed by identity-based policy team, statement 1\n"),
            ("--user tagged", "GetItem", arn + "Missing", "implicitDeny: no identity-based policy allows it\n" + NOT_FOUND),
            ("--user tagged", "GetItem", arn.replace("us-east-1", "eu-west-1") + "Music",
             "implicitDeny: no identity-based policy allows it\n" + NOT_FOUND),
            ("--user tagged", "PutItem", arn + "Music", "allowed by resource-based policy, statement 1\n"),
            ("--user tagged", "PutItem", arn + "Music/index/any", "implicitDeny: no identity-based policy allows it\n"),
            ("--user tagged", "DeleteItem", arn + "Music", "explicitDeny by resource-based policy, statement 2\n"),
            ("--user root", "DeleteItem", arn + "Music", "explicitDeny by resource-based policy, statement 2\n"),
            ("--user root", "PutItem", arn + "Music", "allowed\n"),
            ("--user tagged", "DescribeStream", stream, "allowed by resource-based policy, statement 1\n"),
            ("--user tagged", "GetRecords", stream, "implicitDeny: no identity-based policy allows it\n"),
            ("--role worker", "PutItem", arn + "Music", "implicitDeny: no permissions boundary allows it\n"),
            ("--role worker", "Scan", arn + "Music", "allowed by resource-based policy, statement 3\n")]
        for words, action, resource, wanted in rows:
            ask = ("policy", "test", *words.split(), "--action", f"dynamodb:{action}", "--resource", resource)
            assert installation.on(server, *ask, all_output=True) == wanted, ask
        with SignedClient(server.endpoint, "AKIATAGGED", SECRET) as tagged:
            tagged.GetItem(TableName="Music", Key={"pk": {"S": "a"}})
            tagged.PutItem(TableName="Music", Item={"pk": {"S": "a"}})
            for call, members in ((tagged.DeleteItem, {"TableName": "Music"}), (tagged.GetItem, {"TableName": "Plain"})):
                with pytest.raises(Refused) as caught:
                    call(**members, Key={"pk": {"S": "a"}})
                assert caught.value.type == "AccessDeniedException"
    for words, action, resource, wanted in rows:
        ask = ("policy", "test", *words.split(), "--action", f"dynamodb:{action}", "--resource", resource)
        assert gramme(*ask, *installation.store, all_output=True) == wanted, ask


def test_mistakes_are_explained(installation, server, tmp_path):
    (tmp_path / "bad.json").write_text("{}")
    installation.on(server, "user", "add", "mistaken")
    rows = [(("user", "add", "a b"), "A name has"), (("user", "add", "mistaken"), "exists already"),
            (("key", "add", "nobody"), "There is no user 'nobody'"), (("key", "remove", "AKIANOTHING"), "There is no access key"),
            (("policy", "put", "full", tmp_path / "bad.json"), "Invalid policy document"),
            (("policy", "attach", "nothing", "--user", "mistaken"), "There is no policy"),
            (("policy", "attach", "full"), "Either UserName or RoleName"),
            (("policy", "put", "x", tmp_path / "missing.json"), "cannot read"),
            (("user", "remove", "nobody"), "There is no user")]
    for arguments, text in rows:
        assert text in installation.on(server, *arguments, status=1), arguments
    for arguments in (("user",), ("user", "dance"), ("key", "x", "y")):
        assert gramme(*arguments, status=2) is not None
    assert "expected: add NAME" in gramme("user", "add", status=1)


def test_administration_needs_permission(installation, server):
    installation.on(server, "user", "add", "helper")
    key = key_of(installation.on(server, "key", "add", "helper"))
    installation.on(server, "policy", "attach", "full", "--user", "helper")
    with client(server, key, target=ADMIN) as admin:
        with pytest.raises(Refused) as caught:
            admin.CreateUser(UserName="more")
    assert caught.value.message == (
        "User: arn:aws:iam::000000000000:user/helper is not authorized to perform: gramme:CreateUser on resource: "
        "arn:aws:iam::000000000000:user/more because no identity-based policy allows the gramme:CreateUser action")
    installation.on(server, "policy", "put", "own-keys", "-", given=json.dumps({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "gramme:*AccessKey", "Resource": "arn:aws:iam::*:user/${aws:username}"}]}))
    installation.on(server, "policy", "attach", "own-keys", "--user", "helper")
    with client(server, key, target=ADMIN) as admin:
        made = admin.CreateAccessKey(UserName="helper")
        with pytest.raises(Refused):
            admin.CreateAccessKey(UserName="root")
        with pytest.raises(Refused):
            admin.UpdateAccessKey(AccessKeyId=installation.root["AWS_ACCESS_KEY_ID"], Disabled=True)
        for more in ({"UserName": "helper"}, {"RoleName": "helper"}):  # what an operation does not use decides nothing
            for call in (admin.UpdateAccessKey, admin.DeleteAccessKey):
                with pytest.raises(Refused) as caught:
                    call(AccessKeyId=installation.root["AWS_ACCESS_KEY_ID"], Disabled=True, **more)
                assert "on resource: arn:aws:iam::000000000000:user/root " in caught.value.message
        with pytest.raises(Refused):
            admin.CreateAccessKey(UserName="root", RoleName="helper")
        admin.DeleteAccessKey(AccessKeyId=made["AccessKeyId"])
        with pytest.raises(Refused) as caught:
            admin.ListUsers()
        assert "on resource: * " in caught.value.message
    assert lists(server, installation.root) is True


TRUST = json.dumps({"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Principal": {"AWS": "000000000000"}, "Action": "sts:AssumeRole"}]})
# Operation: its members, and what it is about.
OPERATIONS = {
    "AttachPolicy": ({"PolicyName": "full", "UserName": "target"}, "user/target"),
    "CreateAccessKey": ({"UserName": "target"}, "user/target"),
    "CreateUser": ({"UserName": "new"}, "user/new"),
    "DeleteAccessKey": ({"AccessKeyId": "AKIATARGET"}, "user/target"),
    "DeletePolicy": ({"PolicyName": "target"}, "policy/target"),
    "DeleteRole": ({"RoleName": "target"}, "role/target"),
    "DeleteUser": ({"UserName": "target"}, "user/target"),
    "DetachPolicy": ({"PolicyName": "readonly", "RoleName": "target"}, "role/target"),
    "GetPolicy": ({"PolicyName": "target"}, "policy/target"),
    "ListPolicies": ({}, "*"),
    "ListRoles": ({}, "*"),
    "ListUsers": ({}, "*"),
    "PutPolicy": ({"PolicyName": "target", "Document": json.dumps(READ_MUSIC)}, "policy/target"),
    "PutRole": ({"RoleName": "target", "Document": TRUST}, "role/target"),
    "RevokeSessions": ({"UserName": "target"}, "user/target"),
    "SimulatePolicy": ({"UserName": "target", "Action": "dynamodb:GetItem"}, "user/target"),
    "UpdateAccessKey": ({"AccessKeyId": "AKIATARGET", "Disabled": True}, "user/target"),
    "UpdateUser": ({"UserName": "target", "Disabled": True}, "user/target"),
}
READS = ["GetPolicy", "ListPolicies", "ListRoles", "ListUsers", "SimulatePolicy"]


def test_every_administration_operation_is_denied_and_allowed(tmp_path):
    """Without a statement, by a Deny, for another resource; and allowed by exactly its action and resource."""
    code = (pathlib.Path(__file__).parents[2] / "src/server/admin.c").read_text()
    assert sorted(OPERATIONS) == sorted(re.findall(r'^    \{"(\w+)", "gramme:', code, re.MULTILINE))
    installation = Installation(tmp_path)
    with installation.start("--audit", str(tmp_path / "audit.log")) as server, \
            client(server, installation.root, target=ADMIN) as root:
        keys = {}
        for kind in ("none", "only", "not", "elsewhere"):
            root.CreateUser(UserName=kind)
            made = root.CreateAccessKey(UserName=kind)
            keys[kind] = {"AWS_ACCESS_KEY_ID": made["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": made["SecretAccessKey"]}
        root.CreateUser(UserName="target")
        root.CreateAccessKey(UserName="target", AccessKeyId="AKIATARGET", SecretAccessKey=SECRET)
        root.PutPolicy(PolicyName="target", Document=json.dumps(READ_MUSIC))
        root.PutRole(RoleName="target", Document=TRUST)
        root.AttachPolicy(PolicyName="readonly", RoleName="target")
        for name, (members, subject) in sorted(OPERATIONS.items(), key=lambda item: item[0].startswith("Delete")):
            resource = "*" if subject == "*" else "arn:aws:iam::000000000000:" + subject
            statements = {
                "only": [("Allow", name, resource)], "not": [("Allow", "*", "*"), ("Deny", name, "*")],
                "elsewhere": [("Allow", name, "arn:aws:iam::000000000000:user/elsewhere")]}
            for kind, rows in statements.items():
                root.PutPolicy(PolicyName=kind, Document=json.dumps({"Version": "2012-10-17", "Statement": [
                    {"Effect": effect, "Action": f"gramme:{action}", "Resource": arn} for effect, action, arn in rows]}))
                root.AttachPolicy(PolicyName=kind, UserName=kind)
            for kind in ("none", "not", "elsewhere"):
                with client(server, keys[kind], target=ADMIN) as caller, pytest.raises(Refused) as caught:
                    caller.call(name, **members)
                assert caught.value.type == "AccessDeniedException"
                assert f"perform: gramme:{name} on resource: {resource} " in caught.value.message
            with client(server, keys["only"], target=ADMIN) as caller:
                caller.call(name, **members)
            entries = [json.loads(line) for line in (tmp_path / "audit.log").read_text().splitlines()]
            found = [(entry["caller"].rpartition("/")[2], entry["status"]) for entry in entries
                     if entry["operation"] == name and entry["resource"] == resource and "/" in entry["caller"]]
            refused = [("none", 400), ("not", 400), ("elsewhere", 400)]
            assert found == refused + ([] if name in READS else [("only", 200)])
        text = (tmp_path / "audit.log").read_text()
        assert SECRET not in text and not any(key["AWS_SECRET_ACCESS_KEY"] in text for key in keys.values())
        assert "gramme:CreateUser" in server.log()  # the log has denials, too


def test_root_is_not_changed_over_the_network(tmp_path):
    """Else who may make keys of any user would become root."""
    installation = Installation(tmp_path)
    with installation.start() as server:
        installation.on(server, "user", "add", "admin")
        installation.on(server, "policy", "attach", "administrator", "--user", "admin")
        admin_key = key_of(installation.on(server, "key", "add", "admin"))
        of_root = {"AccessKeyId": installation.root["AWS_ACCESS_KEY_ID"]}
        changes = [("CreateAccessKey", {"UserName": "root"}), ("DeleteAccessKey", of_root), ("DeleteUser", {"UserName": "root"}),
                   ("UpdateAccessKey", {**of_root, "Disabled": True}), ("UpdateUser", {"UserName": "root", "Disabled": True}),
                   ("AttachPolicy", {"UserName": "root", "PolicyName": "full"}), ("RevokeSessions", {"UserName": "root"}),
                   ("DetachPolicy", {"UserName": "root", "PolicyName": "full"}), ("CreateUser", {"UserName": "root"}),
                   ("CreateAccessKey", {"UserName": "root", "AccessKeyId": KEY_ID, "SecretAccessKey": SECRET})]
        for key in (admin_key, installation.root):
            with client(server, key, target=ADMIN) as admin:
                for operation, members in changes:
                    with pytest.raises(Refused) as caught:
                        admin.call(operation, **members)
                    assert (caught.value.type, caught.value.message[:40]) == (
                        "AccessDeniedException", "Root is not changed over the network: us"), operation
                assert admin.SimulatePolicy(UserName="root", Action="dynamodb:GetItem")["Decision"] == "allowed"
        assert lists(server, installation.root) is True
    second = key_of(gramme("key", "rotate", "root", *installation.store))  # with access to the store
    with installation.start() as server:
        assert lists(server, installation.root) is True and lists(server, second) is True


def test_what_is_stored_can_be_read_again(tmp_path):
    """A record that could not be read would keep the server from starting."""
    installation = Installation(tmp_path)
    nested = "".join(["["] * 505 + ["]"] * 505)
    with installation.start() as server, client(server, installation.root, target=ADMIN) as admin:
        with pytest.raises(Refused):
            admin.CreateUser(UserName="many", Tags={f"k{number}": "v" for number in range(51)})
        with pytest.raises(Refused):
            admin.PutPolicy(PolicyName="deep", Document='{"Version":"2012-10-17","Id":' + nested + ',"Statement":[]}')
        admin.CreateUser(UserName="good")
        admin.PutPolicy(PolicyName="own", Document=json.dumps({"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Action": "*", "Resource": "arn:aws:iam::*:user/${aws:username}"}]}))
        admin.AttachPolicy(PolicyName="own", UserName="good")
        admin.SimulatePolicy(UserName="good", Action="dynamodb:GetItem", Resource="*", Context={"aws:username": []})
    with installation.start() as server:
        assert lists(server, installation.root) is True


def test_white_space_does_not_count_in_the_size_of_a_policy(installation, server):
    def document(size, blanks):
        text = json.dumps({"Version": "2012-10-17", "Statement": [{"Sid": "", "Effect": "Allow", "Action": "*", "Resource": "*"}]},
                          separators=(",", ":"))
        return " " * blanks + text.replace('"Sid":""', '"Sid":"' + "x" * (size - len(text)) + '"')
    with client(server, installation.root, target=ADMIN) as admin:
        admin.PutPolicy(PolicyName="large", Document=document(6144, 50_000))
        for size, blanks in ((6145, 0), (6144, 60_000)):
            with pytest.raises(Refused) as caught:
                admin.PutPolicy(PolicyName="large", Document=document(size, blanks))
            assert caught.value.type == "LimitExceededException"


def test_a_boundary_is_detached_by_its_name(installation, server):
    installation.on(server, "user", "add", "bounded")
    with client(server, installation.root, target=ADMIN) as admin:
        admin.AttachPolicy(PolicyName="readonly", UserName="bounded")
        admin.AttachPolicy(PolicyName="full", UserName="bounded", AsBoundary=True)
        with pytest.raises(Refused):
            admin.DetachPolicy(PolicyName="readonly", UserName="bounded", AsBoundary=True)
        with pytest.raises(Refused):
            admin.DetachPolicy(PolicyName="full", UserName="bounded")
        admin.DetachPolicy(PolicyName="full", UserName="bounded", AsBoundary=True)


def test_administration_needs_a_signature(server):
    with SignedClient(server.endpoint, secret="x" * 40, target=ADMIN) as admin:
        with pytest.raises(Refused) as caught:
            admin.ListUsers()
    assert caught.value.type in ("UnrecognizedClientException", "InvalidSignatureException")
    with SignedClient(server.endpoint, target=ADMIN) as admin, pytest.raises(Refused) as caught:
        admin.Dance()
    assert caught.value.type == "UnknownOperationException"


def test_without_checks_there_is_no_administration(endpoint):
    with SignedClient(endpoint, target=ADMIN) as admin, pytest.raises(Refused) as caught:
        admin.ListUsers()
    assert caught.value.type == "UnknownOperationException"


def test_users_survive_a_restart_and_secrets_are_sealed(tmp_path):
    installation = Installation(tmp_path)
    with installation.start() as server:
        installation.on(server, "user", "add", "app")
        key = key_of(installation.on(server, "key", "add", "app"))
        installation.on(server, "policy", "attach", "full", "--user", "app")
    with installation.start() as server:
        assert lists(server, key) is True and lists(server, installation.root) is True
        log = server.log()
    for secret in (key["AWS_SECRET_ACCESS_KEY"], installation.root["AWS_SECRET_ACCESS_KEY"]):
        for path in pathlib.Path(tmp_path, "data").rglob("*"):
            assert path.is_dir() or secret.encode() not in path.read_bytes(), path
        assert secret not in log


def test_commands_work_on_a_store_that_nobody_has_open(tmp_path):
    installation = Installation(tmp_path)
    gramme("user", "add", "app", *installation.store)
    key = key_of(gramme("key", "add", "app", *installation.store))
    gramme("policy", "attach", "full", "--user", "app", *installation.store)
    with installation.start() as server:
        assert lists(server, key) is True
        if "GRAMME_POSTGRESQL" in os.environ:  # there a store may be open several times
            assert "app" in gramme("user", "list", *installation.store)
        else:
            assert "in use by another server" in gramme("user", "list", *installation.store, status=1)


@pytest.mark.skipif("GRAMME_POSTGRESQL" in os.environ, reason="gramme check and repair are for files")
def test_users_are_checked_and_saved_with_the_store(tmp_path):
    installation = Installation(tmp_path)
    gramme("user", "add", "app", *installation.store)
    assert "damage" not in gramme("check", tmp_path / "data")
    gramme("repair", tmp_path / "data", tmp_path / "new")
    assert "app" in gramme("user", "list", "--store", f"rocksdb:{tmp_path}/new", "--master-key-file", tmp_path / "master.key")


def test_init_again_replaces_the_keys_of_root(tmp_path):
    installation = Installation(tmp_path)
    again = key_of(gramme("init", *installation.store))
    with installation.start() as server:
        assert lists(server, installation.root) == "UnrecognizedClientException"
        assert lists(server, again) is True


def test_init_that_fails_leaves_no_master_key(tmp_path):
    """The store has users under another master key, or a server has it open, or is no store."""
    installation = Installation(tmp_path)
    other = tmp_path / "other.key"
    (tmp_path / "file").write_text("x")
    with installation.start() as server:
        gramme("init", *installation.store[:2], "--master-key-file", other, status=1)
        assert not other.exists()
        assert lists(server, installation.root) is True
    rows = [(installation.store[1], "the master key is another one"), (f"rocksdb:{tmp_path}/file", "file"), ("nonsense:x", "nonsense")]
    for environment in ({}, {"GRAMME_ROOT_ACCESS_KEY_ID": KEY_ID, "GRAMME_ROOT_SECRET_ACCESS_KEY": SECRET}):
        for store, text in rows:
            assert text in gramme("init", "--store", store, "--master-key-file", other, status=1, environment=environment)
            assert not other.exists(), store
    kept = pathlib.Path(installation.store[3]).read_text()
    assert "nonsense" in gramme("init", "--store", "nonsense:x", *installation.store[2:], status=1)
    assert pathlib.Path(installation.store[3]).read_text() == kept  # it was there before
    again = key_of(gramme("init", *installation.store))
    with installation.start() as server:
        assert lists(server, again) is True


def test_the_key_from_init_is_the_only_one_of_root(tmp_path):
    """Also if the environment has one, which a server would use at its first start."""
    store = ("--store", on_postgresql(f"rocksdb:{tmp_path}/data"), "--master-key-file", tmp_path / "master.key")
    given = {"GRAMME_ROOT_ACCESS_KEY_ID": KEY_ID, "GRAMME_ROOT_SECRET_ACCESS_KEY": SECRET}
    printed = gramme("init", *store, environment=given, all_output=True)
    assert "older keys" not in printed
    with Server(f"rocksdb:{tmp_path}/data", "--auth", "on", "--master-key-file", str(tmp_path / "master.key")) as server:
        assert lists(server, key_of(printed)) is True
        assert lists(server, {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}) == "UnrecognizedClientException"


def test_another_master_key_opens_nothing(tmp_path):
    store = Installation(tmp_path).store[1]
    other = tmp_path / "other.key"
    other.write_text(MASTER)
    other.chmod(0o600)
    for options, text in ((["--master-key-file", other], "the master key is another one"), ([], "no master key")):
        done = subprocess.run([program(), "serve", "--listen", "127.0.0.1:0", "--store", store, "--auth", "on",
                               *map(str, options)], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1 and text in done.stderr, done.stderr


def test_the_first_key_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("GRAMME_MASTER_KEY", MASTER)
    monkeypatch.setenv("GRAMME_ROOT_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("GRAMME_ROOT_SECRET_ACCESS_KEY", SECRET)
    with Server("memory:", "--auth", "on") as server:
        assert lists(server, {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}) is True
        environment = pathlib.Path(f"/proc/{server.process.pid}/environ").read_bytes()
        assert MASTER.encode() not in environment and SECRET.encode() not in environment
        assert SECRET not in server.log() and MASTER not in server.log()


def test_secrets_in_the_environment_are_erased_in_every_mode(monkeypatch, tmp_path):
    master = tmp_path / "master.key"
    master.write_text(MASTER)
    master.chmod(0o600)
    monkeypatch.setenv("GRAMME_MASTER_KEY", "ef" * 32)
    monkeypatch.setenv("GRAMME_ROOT_SECRET_ACCESS_KEY", SECRET)
    with Server("memory:", "--auth", "off", "--master-key-file", str(master)) as server:
        environment = pathlib.Path(f"/proc/{server.process.pid}/environ").read_bytes()
        assert b"ef" * 32 not in environment and SECRET.encode() not in environment


def test_a_store_without_users_refuses_everybody():
    with Server("memory:", "--auth", "on") as server:
        assert "gramme init" in server.log()
        assert lists(server, {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}) == "UnrecognizedClientException"
