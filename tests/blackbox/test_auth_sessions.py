"""Temporary credentials (STS on the same port), the audit log, limits of access keys, and no secret appears in answers, logs or core dumps."""

import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import threading

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from backups import set_recovery
from boto_config import boto3_config
from c_programs import clean_environment, sanitizer_flags
from exports import export
from installation import Installation, client as client_of
from s3_server import S3Server
from server import Server, TlsServer
from signing import KEY_ID, SECRET, SignedClient, request_bytes, signed_headers, write_users
from tables import create_table, table_request
from waiting import poll
from wire import Client, Connection, Refused

ACCOUNT = "000000000000"
ADA = {"aws_access_key_id": "AKIAADA", "aws_secret_access_key": SECRET}
ROOT = {"aws_access_key_id": KEY_ID, "aws_secret_access_key": SECRET}
READER = f"arn:aws:iam::{ACCOUNT}:role/reader"


def allow(*actions, resource="*"):
    return {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": list(actions), "Resource": resource}]}


def trust(principal, condition=None):
    statement = {"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole", **({"Condition": condition} if condition else {})}
    return {"Version": "2012-10-17", "Statement": [statement]}


USERS = [
    ("root", KEY_ID, SECRET, []),
    ("ada", "AKIAADA", SECRET, ["assume", "full"]),
    ("bob", "AKIABOB", SECRET, ["readonly"]),
]
ROLES = [
    {"name": "reader", "trust": trust({"AWS": f"arn:aws:iam::{ACCOUNT}:user/ada"}), "policies": ["readonly"], "sessionSeconds": 7200},
    {"name": "delegated", "trust": trust({"AWS": ACCOUNT}), "policies": ["full"]},
    *({"name": name, "trust": trust({"AWS": f"arn:aws:iam::{ACCOUNT}:user/ada"}, {"StringEquals": condition}), "policies": ["readonly"]}
      for name, condition in (("partner", {"sts:ExternalId": "shop-17"}), ("named", {"sts:RoleSessionName": "${aws:username}"}))),
]
POLICIES = {"assume": allow("sts:AssumeRole", resource=f"arn:aws:iam::{ACCOUNT}:role/delegated")}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    directory = tmp_path_factory.mktemp("sessions")
    users = write_users(directory / "users.json", USERS, ROLES, POLICIES)
    with Server("memory:", "--auth", "on", "--users", users, "--audit", str(directory / "audit.log"), "--test-clock", "on") as started:
        started.audit = directory / "audit.log"
        started.users = users
        yield started


def sts(server, keys, **more):
    return boto3.client("sts", endpoint_url=server.endpoint, **{**boto3_config(), **keys, **more})


def database(server, keys):
    return boto3.client("dynamodb", endpoint_url=server.endpoint, **{**boto3_config(), **keys})


def as_keys(credentials):
    return {"aws_access_key_id": credentials["AccessKeyId"], "aws_secret_access_key": credentials["SecretAccessKey"],
            "aws_session_token": credentials["SessionToken"]}


def code_of(call, **members):
    with pytest.raises(ClientError) as caught:
        call(**members)
    return caught.value.response["Error"]["Code"]


def test_callers_learn_who_they_are(server):
    assert sts(server, ADA).get_caller_identity()["Arn"] == f"arn:aws:iam::{ACCOUNT}:user/ada"
    root = sts(server, ROOT).get_caller_identity()
    assert (root["Arn"], root["UserId"], root["Account"]) == (f"arn:aws:iam::{ACCOUNT}:root", ACCOUNT, ACCOUNT)
    assert code_of(sts(server, {**ADA, "aws_secret_access_key": "x" * 40}).get_caller_identity) == "SignatureDoesNotMatch"
    assert code_of(sts(server, {**ADA, "aws_access_key_id": "AKIANOBODY"}).get_caller_identity) == "InvalidClientTokenId"


def test_a_role_is_assumed(server):
    answer = sts(server, ADA).assume_role(RoleArn=READER, RoleSessionName="night-shift")
    assert answer["AssumedRoleUser"]["Arn"] == f"arn:aws:sts::{ACCOUNT}:assumed-role/reader/night-shift"
    keys = as_keys(answer["Credentials"])
    assert sts(server, keys).get_caller_identity()["Arn"].endswith("assumed-role/reader/night-shift")
    assert database(server, keys).list_tables()["TableNames"] == []
    with pytest.raises(ClientError) as caught:
        database(server, keys).delete_table(TableName="Music")
    assert caught.value.response["Error"]["Message"] == (
        f"User: arn:aws:sts::{ACCOUNT}:assumed-role/reader/night-shift is not authorized to perform: dynamodb:DeleteTable on resource: "
        f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/Music because no identity-based policy allows the dynamodb:DeleteTable action")


def test_a_session_policy_narrows(server):
    keys = as_keys(sts(server, ADA).assume_role(RoleArn=READER, RoleSessionName="s1",
                                                Policy=json.dumps(allow("dynamodb:DescribeLimits")))["Credentials"])
    assert "AccountMaxReadCapacityUnits" in database(server, keys).describe_limits()
    with pytest.raises(ClientError) as caught:
        database(server, keys).list_tables()
    assert "no session policy allows the dynamodb:ListTables action" in caught.value.response["Error"]["Message"]


def test_who_may_assume_a_role(server):
    delegated = f"arn:aws:iam::{ACCOUNT}:role/delegated"
    assert sts(server, ADA).assume_role(RoleArn=delegated, RoleSessionName="s1")
    bob = {"aws_access_key_id": "AKIABOB", "aws_secret_access_key": SECRET}
    for keys, role in ((bob, READER), (bob, delegated), (ROOT, READER), (ADA, f"arn:aws:iam::{ACCOUNT}:role/nothing"),
                       (ADA, "arn:aws:iam::111111111111:role/reader")):
        assert code_of(sts(server, keys).assume_role, RoleArn=role, RoleSessionName="s1") == "AccessDenied", role


@pytest.mark.parametrize("role, members, is_allowed", [
    ("partner", {"ExternalId": "shop-17"}, True), ("partner", {"ExternalId": "shop-18"}, False), ("partner", {}, False),
    ("named", {"RoleSessionName": "ada"}, True), ("named", {"RoleSessionName": "bob"}, False)])
def test_conditions_of_trust_policies(server, role, members, is_allowed):
    assume = lambda: sts(server, ADA).assume_role(**{"RoleArn": f"arn:aws:iam::{ACCOUNT}:role/{role}", "RoleSessionName": "s1", **members})
    if is_allowed:
        assert database(server, as_keys(assume()["Credentials"])).list_tables()["TableNames"] == []
    else:
        assert code_of(assume) == "AccessDenied"


@pytest.mark.parametrize("external_id, wanted", [
    ("", "ValidationError"), ("x", "ValidationError"), ("x" * 1225, "ValidationError"), ("shop 17", "ValidationError"),
    ("x" * 1224, "AccessDenied"), ("a:/b", "AccessDenied")])
def test_external_ids_that_are_not_valid(server, external_id, wanted):
    unchecked = sts(server, ADA, config=Config(parameter_validation=False))
    assert code_of(unchecked.assume_role, RoleArn=f"arn:aws:iam::{ACCOUNT}:role/partner", RoleSessionName="s1",
                   ExternalId=external_id) == wanted


def by_cli(server, environment, external_id):
    """The version that Debian has cannot be pointed at another STS by a profile."""
    option = ["--external-id", external_id] if external_id else []
    done = subprocess.run(["/usr/bin/aws", "sts", "assume-role", "--endpoint-url", server.endpoint, "--profile", "ada", "--role-arn",
                           f"arn:aws:iam::{ACCOUNT}:role/partner", "--role-session-name", "s1", *option], env=environment,
                          capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        return done.stderr.partition("(")[2].partition(")")[0]
    made = json.loads(done.stdout)["Credentials"]
    return database(server, as_keys(made)).list_tables()["TableNames"]


def by_javascript(server, environment, _):
    script = pathlib.Path(__file__).with_name("signing_client.js")
    done = subprocess.run(["node", str(script), server.endpoint, "header"], env={**environment, "AWS_PROFILE": "partner"},
                          capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("client", [by_cli, by_javascript])
@pytest.mark.parametrize("external_id, wanted", [("shop-17", []), ("shop-18", "AccessDenied"), ("", "AccessDenied")])
def test_clients_with_an_external_id(server, tmp_path, client, external_id, wanted):
    partner = f"role_arn = arn:aws:iam::{ACCOUNT}:role/partner\nsource_profile = ada\n" + (f"external_id = {external_id}\n" if external_id else "")
    (tmp_path / "config").write_text(f"[profile partner]\n{partner}")
    (tmp_path / "credentials").write_text(f"[ada]\naws_access_key_id = AKIAADA\naws_secret_access_key = {SECRET}\n")
    environment = clean_environment(tmp_path, AWS_CONFIG_FILE=str(tmp_path / "config"), AWS_SHARED_CREDENTIALS_FILE=str(tmp_path / "credentials"),
                                    AWS_REGION="us-east-1", AWS_DEFAULT_REGION="us-east-1", AWS_ENDPOINT_URL=server.endpoint, AWS_PAGER="")
    assert client(server, environment, external_id) == wanted


def test_bad_requests_for_roles(server):
    client = sts(server, ADA)
    for members, code in ((dict(RoleSessionName="a b"), "ValidationError"), (dict(RoleSessionName="s1", DurationSeconds=7201), "ValidationError"),
                          (dict(RoleSessionName="s1", DurationSeconds=899), "ValidationError"),
                          (dict(RoleSessionName="s1", Policy="{}"), "MalformedPolicyDocument"),
                          (dict(RoleSessionName="s1", Policy=json.dumps(allow("*", resource="arn:aws:dynamodb:*:*:table/" + "x" * 2048))), "MalformedPolicyDocument")):
        members = {"RoleArn": READER, **members}
        with pytest.raises(Exception) as caught:
            client.assume_role(**members)
        assert code in str(caught.value) or "Parameter validation" in str(caught.value), members


def test_session_tokens(server):
    keys = as_keys(sts(server, ADA).get_session_token(DurationSeconds=900)["Credentials"])
    assert sts(server, keys).get_caller_identity()["Arn"] == f"arn:aws:iam::{ACCOUNT}:user/ada"
    assert database(server, keys).list_tables()["TableNames"] == []
    assert code_of(sts(server, keys).get_session_token) == "AccessDenied"
    for changes in ({"aws_session_token": "junk"}, {"aws_session_token": keys["aws_session_token"][:-4] + "AAAA"},
                    {"aws_session_token": None}, {"aws_access_key_id": "ASIAOTHEROTHEROTHERO"}):
        assert code_of(database(server, {**keys, **changes}).list_tables) == "UnrecognizedClientException", changes
    assert code_of(database(server, {**keys, "aws_secret_access_key": "x" * 40}).list_tables) == "InvalidSignatureException"


def test_a_session_expires(tmp_path):
    users = write_users(tmp_path / "users.json", USERS, ROLES, POLICIES)
    with Server("memory:", "--auth", "on", "--users", users, "--test-clock", "on", "--auth-skew", "100000") as server:
        keys = as_keys(sts(server, ADA).get_session_token(DurationSeconds=900)["Credentials"])
        assert database(server, keys).list_tables()["TableNames"] == []
        with SignedClient(server.endpoint, target="Gramme_20261115.") as root:
            assert root.post("SetClock", b'{"AdvanceSeconds":901}').status == 200
        assert code_of(database(server, keys).list_tables) == "ExpiredTokenException"


# --- sessions that end early ---

ADMIN, CLOCK = "GrammeAdmin_20261101.", "Gramme_20261115."
BOB = {"aws_access_key_id": "AKIABOB", "aws_secret_access_key": SECRET}
# Who holds a session: the two users, and two roles, each of which another user has assumed.
HOLDERS = {
    "ada": lambda server: sts(server, ADA).get_session_token(), "bob": lambda server: sts(server, BOB).get_session_token(),
    "reader": lambda server: sts(server, ADA).assume_role(RoleArn=READER, RoleSessionName="s1"),
    "writer": lambda server: sts(server, BOB).assume_role(RoleArn=f"arn:aws:iam::{ACCOUNT}:role/writer", RoleSessionName="s1")}


def add_user(admin, name):
    admin.CreateUser(UserName=name)
    admin.CreateAccessKey(UserName=name, AccessKeyId=f"AKIA{name.upper()}", SecretAccessKey=SECRET)
    admin.AttachPolicy(PolicyName="full", UserName=name)


def put_role(admin, name, user):
    admin.PutRole(RoleName=name, Document=json.dumps(trust({"AWS": f"arn:aws:iam::{ACCOUNT}:user/{user}"})))
    admin.AttachPolicy(PolicyName="readonly", RoleName=name)


# What: the change, whose sessions it ends, and who gets no new one afterwards.
CHANGES = {
    "user revoked": (lambda command, admin: command("user", "revoke", "ada"), {"ada"}, set()),
    "user disabled": (lambda command, admin: command("user", "disable", "ada"), {"ada"}, {"ada", "reader"}),
    "user enabled again": (lambda command, admin: (command("user", "disable", "ada"), command("user", "enable", "ada")), set(), set()),
    "user removed": (lambda command, admin: command("user", "remove", "ada"), {"ada"}, {"ada", "reader"}),
    "user recreated": (lambda command, admin: (command("user", "remove", "ada"), add_user(admin, "ada")), {"ada"}, set()),
    "role revoked": (lambda command, admin: command("role", "revoke", "reader"), {"reader"}, set()),
    "role put again": (lambda command, admin: put_role(admin, "reader", "ada"), set(), set()),
    "role removed": (lambda command, admin: command("role", "remove", "reader"), {"reader"}, {"reader"}),
    "role recreated": (lambda command, admin: (command("role", "remove", "reader"), put_role(admin, "reader", "ada")), {"reader"}, set())}


def check_sessions(server, sessions, ended):
    for holder, issued in sessions.items():
        client = database(server, as_keys(issued["Credentials"]))
        if holder not in ended:
            assert client.list_tables()["TableNames"] == [], holder
            continue
        with pytest.raises(ClientError) as caught:
            client.list_tables()
        assert caught.value.response["Error"] == {
            "Code": "UnrecognizedClientException", "Message": "The security token included in the request is invalid"}, holder


@pytest.mark.parametrize("what", CHANGES)
def test_sessions_end_early(tmp_path, what):
    """Those of this user or role, at once and also after a restart; other sessions do not, nor do new ones."""
    change, ended, barred = CHANGES[what]
    installation = Installation(tmp_path)
    with installation.start() as server:
        with client_of(server, installation.root, target=ADMIN) as admin:
            for name, role in (("ada", "reader"), ("bob", "writer")):
                add_user(admin, name)
                put_role(admin, role, name)
            sessions = {holder: issue(server) for holder, issue in HOLDERS.items()}
            check_sessions(server, sessions, set())
            change(lambda *words: installation.on(server, *words), admin)
        check_sessions(server, sessions, ended)
    with installation.start("--test-clock", "on") as server:
        check_sessions(server, sessions, ended)
        with client_of(server, installation.root, target=CLOCK) as root:
            root.SetClock(AdvanceSeconds=2)  # a session of the second of the revocation is revoked, too
        for holder in barred:
            with pytest.raises(ClientError):
                HOLDERS[holder](server)
        check_sessions(server, {holder: HOLDERS[holder](server) for holder in HOLDERS if holder not in barred}, set())
        for keys, is_known in ((ADA, "ada" not in barred), (BOB, True)):  # lasting keys are not revoked
            if is_known:
                assert database(server, keys).list_tables()["TableNames"] == []


# --- audit ---

def entries(server):
    return [json.loads(line) for line in server.audit.read_text().splitlines()]


def test_refusals_and_changes_are_recorded(server):
    before = len(entries(server))
    with SignedClient(server.endpoint, key_id="AKIAADA") as ada, SignedClient(server.endpoint, key_id="AKIABOB") as bob, \
            SignedClient(server.endpoint, key_id="AKIAADA", secret="x" * 40) as wrong:
        ada.CreateTable(TableName="Audited", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
        ada.PutItem(TableName="Audited", Item={"pk": {"S": "very private"}})
        for client in (bob, wrong):
            with pytest.raises(Refused):
                client.PutItem(TableName="Audited", Item={"pk": {"S": "very private"}})
        ada.DeleteTable(TableName="Audited")
    found = entries(server)[before:]
    arn = f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/Audited"
    assert [(entry.get("caller", "").rpartition("/")[2], entry["operation"], entry["status"], entry.get("error")) for entry in found] == [
        ("ada", "CreateTable", 200, None), ("bob", "PutItem", 400, "AccessDeniedException"), ("", "PutItem", 400, "InvalidSignatureException"),
        ("ada", "DeleteTable", 200, None)]
    assert found[0]["resource"] == found[1]["resource"] == arn
    assert found[2]["accessKeyId"] == "AKIAADA" and all(entry["sourceIp"] == "127.0.0.1" and len(entry["requestId"]) == 52 for entry in found)
    assert "very private" not in server.audit.read_text() and SECRET not in server.audit.read_text()


def test_the_audit_file_is_reopened(server):
    moved = server.audit.with_suffix(".1")
    server.audit.rename(moved)
    server.process.send_signal(signal.SIGHUP)
    poll(lambda: "SIGHUP: log reopened" in server.log(), 20, "the server writes to a new file")
    with SignedClient(server.endpoint, key_id="AKIANOBODY") as client, pytest.raises(Refused):
        client.ListTables()
    assert [(entry["operation"], entry.get("resource")) for entry in entries(server)] == [
        ("Reload", "settings"), ("Reload", "users"), ("ListTables", None)]


def test_all_requests_are_recorded_if_wanted(tmp_path):
    users = write_users(tmp_path / "users.json", USERS[:1])
    audit = tmp_path / "audit.log"
    with Server("memory:", "--auth", "on", "--users", users, "--audit", str(audit), "--audit-all") as server:
        with SignedClient(server.endpoint) as root:
            root.ListTables()
    assert [json.loads(line)["operation"] for line in audit.read_text().splitlines()] == ["ListTables"]


# --- limits ---

def same_key(_):
    return {}


def new_session(server):
    made = sts(server, ROOT).get_session_token()["Credentials"]
    return {"key_id": made["AccessKeyId"], "secret": made["SecretAccessKey"], "token": made["SessionToken"]}


@pytest.mark.parametrize("key_of_reader", [same_key, new_session])
def test_one_key_cannot_take_all(tmp_path, key_of_reader):
    """Requests whose answers are made on slow threads count; the other key is served. Sessions of one user count as one key."""
    users = write_users(tmp_path / "users.json", [("root", KEY_ID, SECRET, []), ("ada", "AKIAADA", SECRET, ["full"])])
    with Server("memory:", "--auth", "on", "--users", users, "--key-requests", "1") as server:
        with SignedClient(server.endpoint) as root:
            root.CreateTable(TableName="Big", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                             AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
            for number in range(40):
                root.PutItem(TableName="Big", Item={"pk": {"S": str(number)}, "v": {"S": "x" * 390_000}})
        body = json.dumps({"RequestItems": {"Big": {"Keys": [{"pk": {"S": str(number)}} for number in range(40)]}}}).encode()
        results = []
        keys = [key_of_reader(server) for _ in range(8)]

        def read(key):
            with SignedClient(server.endpoint, **key) as client:
                for _ in range(5):
                    answer = client.post("BatchGetItem", body)
                    results.append(answer.status if answer.status == 200 else answer.json()["__type"].partition("#")[2])
        threads = [threading.Thread(target=read, args=(key,)) for key in keys]
        for thread in threads:
            thread.start()
        with SignedClient(server.endpoint, key_id="AKIAADA") as ada:
            for _ in range(20):
                ada.ListTables()
        for thread in threads:
            thread.join()
        assert set(results) == {200, "RequestLimitExceeded"}


KEYS = {"ada": "AKIAADA", "bob": "AKIABOB"}


def sent(server, name, operation, body):
    """A connection that has sent a request of a user, and has little room for its answer."""
    connection = Connection(server.endpoint)
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.send(request_bytes(signed_headers(connection.host, operation, body, key_id=KEYS[name]), body))
    return connection


def test_unread_answers_count(tmp_path):
    """Who does not read large answers is throttled, and does not use up the memory for the others."""
    users = write_users(tmp_path / "users.json", [("root", KEY_ID, SECRET, []), *((name, key, SECRET, ["full"]) for name, key in KEYS.items())])

    def keys(count):
        return json.dumps({"RequestItems": {"Big": {"Keys": [{"pk": {"S": str(number)}} for number in range(count)]}}}).encode()
    with Server("memory:", "--auth", "on", "--users", users, "--memory-mb", "256", "--key-requests", "2", "--key-mb", "1") as server:
        with SignedClient(server.endpoint) as root:
            root.CreateTable(**table_request("Big"))
            for number in range(40):
                root.PutItem(TableName="Big", Item={"pk": {"S": str(number)}, "v": {"S": "x" * 390_000}})
        held = [sent(server, "ada", "BatchGetItem", keys(40)) for _ in range(17)]
        first = [connection.socket.recv(12, socket.MSG_PEEK) for connection in held]
        assert 1 <= first.count(b"HTTP/1.1 200") <= 2 and set(first) == {b"HTTP/1.1 200", b"HTTP/1.1 400"}
        with SignedClient(server.endpoint, key_id=KEYS["ada"]) as ada, SignedClient(server.endpoint, key_id=KEYS["bob"]) as bob:
            for _ in range(20):
                assert bob.post("BatchGetItem", keys(4)).status == 200
                assert ada.post("ListTables", b"{}").json()["__type"].endswith("#RequestLimitExceeded")
            for connection in held:
                connection.close()
            poll(lambda: ada.post("ListTables", b"{}").status == 200, 20, "requests whose connections are closed do not count")
            answer = poll(lambda: (read := ada.post("BatchGetItem", keys(40))).status == 200 and read, 20, "nor do their answers")
            assert len(answer.body) > 10 << 20


def test_pipelined_requests_count_one_after_the_other(tmp_path):
    users = write_users(tmp_path / "users.json", [("root", KEY_ID, SECRET, [])])
    with Server("memory:", "--auth", "on", "--users", users, "--key-requests", "1") as server:
        with SignedClient(server.endpoint) as root:
            host = root.connection.host
            one = request_bytes(signed_headers(host, "ListTables", b"{}"), b"{}")
            create = json.dumps(table_request("Slow")).encode()
            root.connection.send(one * 70 + request_bytes(signed_headers(host, "CreateTable", create), create) + one * 70)
            assert [root.connection.read_answer().status for _ in range(141)] == [200] * 141


# --- secrets ---

def dump(server, directory):
    """A core dump; gcore leaves out what is not to be dumped."""
    subprocess.run(["gcore", "-o", directory / "core", str(server.process.pid)], check=True, capture_output=True, timeout=120)
    return next(directory.glob("core.*")).read_bytes()


@pytest.fixture
def no_sanitizer():
    if sanitizer_flags():
        pytest.skip("a sanitizer's shadow memory makes a core dump of many gigabytes")


def test_no_secret_in_log_process_list_or_core_dump(tmp_path, no_sanitizer):
    """What the server keeps for long: secrets of users and the master key."""
    secret, master = "Kept/Secret+0123456789abcdefghijklmnopqr", "ab" * 32
    users = write_users(tmp_path / "users.json", [("root", KEY_ID, secret, [])])
    os.environ["GRAMME_MASTER_KEY"] = master
    try:
        server = Server("memory:", "--auth", "on", "--users", users, "--log-level", "debug")
    finally:
        del os.environ["GRAMME_MASTER_KEY"]
    with server:
        with SignedClient(server.endpoint, secret=secret) as client:
            for _ in range(10):
                client.ListTables()
        errors = []
        for key in ({"secret": "wrong" * 8}, {"key_id": "AKIANOBODY"}, {"secret": secret, "region": "mars"}):
            with SignedClient(server.endpoint, **key) as client, pytest.raises(Refused) as refused:
                client.ListTables()
            errors.append(json.dumps(refused.value.body).encode())
        process = pathlib.Path(f"/proc/{server.process.pid}")
        for content in (server.log().encode(), (process / "cmdline").read_bytes(), (process / "environ").read_bytes(), *errors):
            assert secret.encode() not in content and master.encode() not in content
        core = dump(server, tmp_path)
        for text in (secret.encode(), master.encode(), bytes.fromhex(master)):
            assert text not in core


def scalar(key_file):
    """The secret number of a key on P-256."""
    text = subprocess.run(["openssl", "pkey", "-in", key_file, "-noout", "-text"], check=True, capture_output=True, text=True).stdout
    return int("".join(text.partition("priv:")[2].partition("pub:")[0].split()).replace(":", ""), 16)


def test_what_was_issued_and_the_tls_key_are_in_no_core_dump(tmp_path, no_sanitizer, monkeypatch):
    """Keys that were created, imported and read from the store, temporary ones, and the key of the certificate. All were sent
    over connections that are open, with and without TLS."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-keyout", tmp_path / "tls.key", "-out", tmp_path / "tls.crt"], check=True, capture_output=True)
    monkeypatch.setenv("GRAMME_MASTER_KEY", "cd" * 32)
    monkeypatch.setenv("GRAMME_ROOT_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("GRAMME_ROOT_SECRET_ACCESS_KEY", SECRET)
    trusting = ssl.create_default_context(cafile=tmp_path / "tls.crt")
    trusting.check_hostname = False
    with TlsServer((tmp_path / "tls.crt", tmp_path / "tls.key"), "--auth", "on", "--log-level", "debug") as server:
        secrets = [SECRET]
        for number, (endpoint, tls) in enumerate(((server.endpoint, None), (server.tls_endpoint, trusting))):
            name, imported = f"user{number}", f"Imported/Secret+{number}123456789abcdefghijklm"
            with SignedClient(endpoint, target="GrammeAdmin_20261101.", tls=tls) as admin:
                admin.CreateUser(UserName=name)
                secrets.append(admin.CreateAccessKey(UserName=name)["SecretAccessKey"])
                admin.CreateAccessKey(UserName=name, AccessKeyId=f"AKIAIMPORTED{number}", SecretAccessKey=imported)
                admin.ListUsers()
            with SignedClient(endpoint, key_id=f"AKIAIMPORTED{number}", secret=imported, tls=tls) as client, pytest.raises(Refused):
                client.ListTables()
            verify = str(tmp_path / "tls.crt") if tls else None
            client = boto3.client("sts", endpoint_url=endpoint.replace("127.0.0.1", "localhost"), verify=verify,
                                  **{**boto3_config(), **ROOT})
            made = client.get_session_token()["Credentials"]
            with SignedClient(endpoint, key_id=made["AccessKeyId"], secret=made["SecretAccessKey"], token=made["SessionToken"],
                              tls=tls) as session:
                session.ListTables()
            secrets += [imported, made["SecretAccessKey"]]
        core, number = dump(server, tmp_path), scalar(tmp_path / "tls.key")
        log = server.log()
    pem = "".join((tmp_path / "tls.key").read_text().splitlines()[1:-1])
    found = [text for text in (*secrets, pem[:64], pem[64:128]) if text.encode() in core]
    found += [order for order in ("big", "little") if number.to_bytes(32, order) in core]
    assert found == []
    assert not any(text in log for text in secrets)


@pytest.mark.parametrize("source", ["environment", "file"])
def test_credentials_for_buckets_are_in_no_core_dump(tmp_path, no_sanitizer, monkeypatch, source):
    """After an export and one that failed: neither there, nor in the environment, the log and the answers."""
    secret, token = "Bucket/Secret+0123456789abcdefghijklmnop", "Bucket/Token+" + "0123456789" * 10
    variables = {"AWS_ACCESS_KEY_ID": "S3RVER", "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": token}
    (tmp_path / "s3").mkdir()
    with S3Server(tmp_path / "s3", "exports") as s3:
        for name, value in variables.items():
            monkeypatch.delenv(name, raising=False)
            if source == "environment":
                monkeypatch.setenv(name, value)
        if source == "file":
            (tmp_path / "credentials").write_text("[default]\n" + "".join(f"{name.lower()} = {value}\n" for name, value in variables.items()))
            monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
        with Server("memory:", "--s3-endpoint", s3.endpoint) as server, Client(server.endpoint) as db:
            table = create_table(db)
            set_recovery(db, table, True)
            answers = [export(db, table, S3Bucket="exports")]
            with pytest.raises((AssertionError, Refused)) as failed:
                export(db, table, S3Bucket="missing-bucket")
            answers.append(str(failed.value))
            environ = pathlib.Path(f"/proc/{server.process.pid}/environ").read_bytes()
            core = dump(server, tmp_path)
            texts = (core, environ, server.log().encode(), json.dumps(answers, default=str).encode())
    assert [secret.encode() in text for text in texts] == [False] * 4
    assert token.encode() not in environ
