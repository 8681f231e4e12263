"""The audit log: which requests have an entry, in each mode, and what it says; and that metrics and log count refusals."""

import json
import re
import signal

import pytest

from policies import allow, policy
from server import Server
from signing import KEY_ID, SECRET, SignedClient, now, request_bytes, signature, signed_headers, sts_answer, write_users
from tables import table_request
from waiting import poll
from wire import Client, Connection, Refused

ACCOUNT = "000000000000"
ARN = f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/"
GRAMME = "Gramme_20261115."
BY = {"root": KEY_ID, "ada": "AKIAADA", "bob": "AKIABOB", "carl": "AKIACARL"}


@pytest.fixture(scope="module")
def users(tmp_path_factory):
    return write_users(tmp_path_factory.mktemp("users") / "users.json", [
        ("root", KEY_ID, SECRET, []), ("ada", "AKIAADA", SECRET, ["full"]), ("bob", "AKIABOB", SECRET, ["readonly"]),
        ("carl", "AKIACARL", SECRET, ["one"])], policies={"one": policy(allow("PartiQLSelect", ARN + "One"))})


@pytest.fixture
def start(users, tmp_path):
    """start("--auth", "on", ...): a server with an audit log; .entries() are its new lines."""
    started = []

    def make(*options):
        server = Server("memory:", "--users", users, "--audit", str(tmp_path / "audit.log"), *options)
        server.audit, server.read = tmp_path / "audit.log", 0

        def entries():
            lines = server.audit.read_text().splitlines()
            new, server.read = lines[server.read:], len(lines)
            return [json.loads(line) for line in new]
        server.entries = entries
        started.append(server)
        return server
    yield make
    for server in started:
        server.stop()


def as_user(server, name, **options):
    return SignedClient(server.endpoint, key_id=BY[name], **options)


def short(entry):
    return (entry.get("caller", "").rpartition("/")[2], entry["service"], entry["operation"], entry.get("resource"), entry["status"],
            entry.get("error"))


def send(server, text):
    connection = Connection(server.endpoint)
    connection.send(text.encode())
    answer = connection.read_answer()
    connection.close()
    return answer


def test_without_checks_changes_are_recorded(start):
    server = start("--auth", "off")
    with Client(server.endpoint) as db:
        db.CreateTable(**table_request("Music"))
        db.PutItem(TableName="Music", Item={"pk": {"S": "private"}})
        with pytest.raises(Refused):
            db.DeleteTable(TableName="Missing")
        with pytest.raises(Refused):
            db.PutResourcePolicy(ResourceArn=ARN + "Music", Policy="{}")
        db.DeleteTable(TableName="Music")
    assert [short(entry) for entry in server.entries()] == [
        ("", "dynamodb", "CreateTable", ARN + "Music", 200, None),
        ("", "dynamodb", "DeleteTable", ARN + "Missing", 400, "ResourceNotFoundException"),
        ("", "dynamodb", "PutResourcePolicy", ARN + "Music", 400, "ValidationException"),
        ("", "dynamodb", "DeleteTable", ARN + "Music", 200, None)]
    assert "private" not in server.audit.read_text()


@pytest.mark.parametrize("mode", ["off", "on"])
def test_all_resources_of_a_request_are_named(start, mode):
    server = start("--auth", mode, "--audit-all")
    with as_user(server, "root") as db:
        for name in ("One", "Two", "Three"):
            db.CreateTable(**table_request(name))
        server.entries()
        key = {"pk": {"S": "a"}}
        db.BatchGetItem(RequestItems={name: {"Keys": [key]} for name in ("One", "Two", "Three")})
        db.BatchWriteItem(RequestItems={name: [{"PutRequest": {"Item": key}}] for name in ("One", "Two")})
        db.TransactGetItems(TransactItems=[{"Get": {"TableName": name, "Key": key}} for name in ("Three", "One", "Three")
                                           ][:2] + [{"Get": {"TableName": "Three", "Key": {"pk": {"S": "b"}}}}])
        db.ExecuteTransaction(TransactStatements=[{"Statement": f"DELETE FROM {name} WHERE pk='a'"} for name in ("One", "Two")])
        db.GetItem(TableName="One", Key=key)
        db.ListTables()
    found = [(entry["operation"], [arn.removeprefix(ARN) for arn in entry.get("resources", [])], entry["resource"].removeprefix(ARN))
             for entry in server.entries()]
    assert found == [("BatchGetItem", ["One", "Two", "Three"], "Three"), ("BatchWriteItem", ["One", "Two"], "Two"),
                     ("TransactGetItems", ["Three", "One"], "Three"), ("ExecuteTransaction", ["One", "Two"], "Two"),
                     ("GetItem", [], "One"), ("ListTables", [], "*")]


def test_other_hosts_and_origins_are_recorded(start):
    server = start("--auth", "off")
    head = f"POST / HTTP/1.1\r\nauthorization: AWS4-HMAC-SHA256 Credential={KEY_ID}/x\r\ncontent-length: 0\r\n"
    assert send(server, head + "host: evil.example\r\n\r\n").status == 403
    assert send(server, head + f"host: 127.0.0.1:{server.port}\r\norigin: http://evil.example\r\n\r\n").status == 403
    assert send(server, f"GET /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\norigin: http://evil.example\r\n\r\n").status == 403
    assert [short(entry) for entry in server.entries()] == [
        ("", "http", "Host", "evil.example", 403, "AccessDeniedException"),
        ("", "http", "Origin", "http://evil.example", 403, "AccessDeniedException"),
        ("", "http", "Origin", "http://evil.example", 403, "AccessDeniedException")]


def insight(server, name, path, body):
    headers = {"host": f"127.0.0.1:{server.port}", "x-amz-date": now()}
    scope, names, signed = signature("POST", path, "", headers, body, secret=SECRET, time=headers["x-amz-date"], region="us-east-1",
                                     service="dynamodb")
    headers["authorization"] = f"AWS4-HMAC-SHA256 Credential={BY[name]}/{scope}, SignedHeaders={names}, Signature={signed}"
    return send(server, request_bytes({**headers, "content-type": "application/json"}, body, path).decode())


def test_changes_of_the_simulation_are_recorded(start):
    server = start("--auth", "on")
    rows = [("ada", "/_gramme/api/reset", b"{}", 200, None), ("ada", "/_gramme/api/simulation", b"nonsense", 400, None),
            ("bob", "/_gramme/api/reset", b"{}", 400, "AccessDeniedException")]
    ids = []
    for name, path, body, status, _ in rows:
        answer = insight(server, name, path, body)
        assert answer.status == status
        ids.append(answer.headers["x-amzn-requestid"])
    entries = server.entries()
    assert [short(entry) for entry in entries] == [
        (name, "gramme", "ChangeInsight", path, status, error) for name, path, _, status, error in rows]
    assert [entry["requestId"] for entry in entries] == ids and len(set(ids)) == 3


def test_changes_of_the_simulation_are_recorded_without_checks(start):
    server = start("--auth", "off")
    assert send(server, "POST /_gramme/api/reset HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}").status == 200
    assert send(server, "GET /_gramme/api/overview HTTP/1.1\r\nhost: localhost\r\n\r\n").status == 200
    assert [short(entry) for entry in server.entries()] == [("", "gramme", "ChangeInsight", "/_gramme/api/reset", 200, None)]


def test_the_clock_needs_a_permission_and_is_recorded(start):
    """Else any user could make the keys and sessions of others invalid."""
    server = start("--auth", "on", "--test-clock", "on")
    for name in ("bob", "ada"):
        with as_user(server, name, target=GRAMME) as client, pytest.raises(Refused) as caught:
            client.SetClock(AdvanceSeconds=100000)
        assert caught.value.type == "AccessDeniedException" and "perform: gramme:SetClock on resource: * because" in caught.value.message
    with as_user(server, "root", target=GRAMME) as root:
        root.SetClock(AdvanceSeconds=1)
        with pytest.raises(Refused):
            root.SetClock()
    assert [short(entry) for entry in server.entries()] == [
        ("bob", "gramme", "SetClock", None, 400, "AccessDeniedException"), ("ada", "gramme", "SetClock", None, 400, "AccessDeniedException"),
        (f"arn:aws:iam::{ACCOUNT}:root", "gramme", "SetClock", None, 200, None),
        (f"arn:aws:iam::{ACCOUNT}:root", "gramme", "SetClock", None, 400, "ValidationException")]


def sts(server, name, form):
    return sts_answer(server.endpoint, form, key_id=BY[name])


def test_sts_is_recorded_and_its_denials_are_logged(start):
    server = start("--auth", "on")
    role = f"arn:aws:iam::{ACCOUNT}:role/none"
    assert sts(server, "ada", "Action=GetCallerIdentity").status == 200
    assert sts(server, "ada", f"Action=AssumeRole&RoleArn={role}&RoleSessionName=me").status == 403
    assert [short(entry) for entry in server.entries()] == [
        ("ada", "sts", "GetCallerIdentity", None, 200, None), ("ada", "sts", "AssumeRole", role, 403, "AccessDeniedException")]
    assert re.search(f"refused: {role}.*AssumeRole|AssumeRole.*{role}", server.log()), server.log()


def test_warn_records_what_on_would_refuse(start):
    server = start("--auth", "warn")
    with as_user(server, "root") as root:
        root.CreateTable(**table_request("Music"))
    with as_user(server, "bob") as bob, as_user(server, "bob", secret="x" * 40) as wrong:
        bob.PutItem(TableName="Music", Item={"pk": {"S": "a"}})
        wrong.ListTables()
        bob.ListTables()
    found = [(*short(entry), entry.get("wouldBeRefused")) for entry in server.entries()]
    assert found[1:] == [("bob", "dynamodb", "PutItem", ARN + "Music", 200, None, "AccessDeniedException"),
                         ("", "dynamodb", "ListTables", None, 200, None, "InvalidSignatureException")]


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("mode", ["off", "warn", "on"])
def test_a_denied_statement_of_a_batch_is_recorded(start, mode, everything):
    """It fails alone, in an answer with status 200: the line has its error and its table, not those of the statement after it."""
    server = start("--auth", mode, *(["--audit-all"] if everything else []))
    with as_user(server, "root") as root:
        for name in ("One", "Two"):
            root.CreateTable(**table_request(name))
    server.entries()
    with as_user(server, "carl") as carl:
        def run(*tables):
            return carl.BatchExecuteStatement(Statements=[{"Statement": f"SELECT * FROM {name} WHERE pk='a'"} for name in tables])
        answers = [run("One"), run("Two", "One")["Responses"]]
        with pytest.raises(Refused) as caught:
            run("Two", "One", "One")  # the same item twice
    assert ["Error" in answer for answer in answers[1]] == [mode == "on", False]
    assert caught.value.type == "ValidationException"
    found = [(*short(entry), entry.get("wouldBeRefused"), [arn.removeprefix(ARN) for arn in entry.get("resources", [])])
             for entry in server.entries()]
    name, denied = "BatchExecuteStatement", "AccessDeniedException"
    quiet, both = ("carl" if mode != "off" else "", "dynamodb", name), ["Two", "One"]
    wanted = {
        "off": [(*quiet, ARN + "One", 200, None, None, both), (*quiet, ARN + "One", 400, "ValidationException", None, both)],
        "warn": [(*quiet, ARN + "Two", 200, None, denied, both), (*quiet, ARN + "Two", 400, "ValidationException", denied, both)],
        "on": [(*quiet, ARN + "Two", 200, denied, None, both), (*quiet, ARN + "Two", 400, denied, None, both)]}[mode]
    if everything:
        assert found == [(*quiet, ARN + "One", 200, None, None, []), *wanted]
    else:
        assert found == ([] if mode == "off" else wanted)


TABLES = ("One", "Two", "Three", "Four")
KEY = {"pk": {"S": "a"}}


def select(names):
    return [{"Statement": f"SELECT * FROM {name} WHERE pk='a'"} for name in names]


NAMING = {  # requests that name several tables; carl may do PartiQLSelect on One, and nothing else
    "BatchExecuteStatement": lambda db, names: db.BatchExecuteStatement(Statements=select(names)),
    "ExecuteTransaction": lambda db, names: db.ExecuteTransaction(TransactStatements=select(names)),
    "BatchGetItem": lambda db, names: db.BatchGetItem(RequestItems={name: {"Keys": [KEY]} for name in names}),
    "BatchWriteItem": lambda db, names: db.BatchWriteItem(RequestItems={name: [{"PutRequest": {"Item": KEY}}] for name in names}),
    "TransactGetItems": lambda db, names: db.TransactGetItems(
        TransactItems=[{"Get": {"TableName": name, "Key": KEY}} for name in names]),
    "TransactWriteItems": lambda db, names: db.TransactWriteItems(
        TransactItems=[{"Delete": {"TableName": name, "Key": KEY}} for name in names]),
}


@pytest.mark.parametrize("operation", NAMING)
def test_all_denied_resources_of_a_request_are_named(start, operation):
    """The error still names the first one only, and the log and the metrics count one refusal for one error."""
    server = start("--auth", "on")
    with as_user(server, "root") as root:
        for name in TABLES:
            root.CreateTable(**table_request(name))
    server.entries()
    allowed = ["One"] if "Execute" in operation else []
    denied = [ARN + name for name in ("Two", "Three", "Four")]
    is_batch = operation == "BatchExecuteStatement"
    with as_user(server, "carl") as carl:
        if is_batch:
            answers = NAMING[operation](carl, ["Two", "One", "Three", "Four"])["Responses"]
            assert ["Error" in answer for answer in answers] == [True, False, True, True]
        else:
            with pytest.raises(Refused) as caught:
                NAMING[operation](carl, ["Two", *allowed, "Three", "Four"])
            assert caught.value.type == "AccessDeniedException"
            assert "table/Two" in caught.value.message and "Three" not in caught.value.message
        with pytest.raises(Refused):
            carl.GetItem(TableName="Two", Key=KEY)
    several, one = server.entries()
    assert short(several) == ("carl", "dynamodb", operation, denied[0], 200 if is_batch else 400, "AccessDeniedException")
    assert several["denied"] == denied
    assert several["resources"] == [denied[0], *(ARN + name for name in allowed), *denied[1:]]
    assert one["resource"] == denied[0] and "denied" not in one and "resources" not in one
    assert metrics(server)["policy"] == (3 if is_batch else 1) + 1
    assert server.log().count("refused: ") == (3 if is_batch else 1) + 1


def test_warn_names_all_resources_that_on_would_deny(start):
    server = start("--auth", "warn")
    with as_user(server, "root") as root:
        for name in TABLES:
            root.CreateTable(**table_request(name))
    server.entries()
    with as_user(server, "carl") as carl:
        for operation in NAMING:
            NAMING[operation](carl, ["Two", "Three"])
    for entry in server.entries():
        assert (entry["resource"], entry["denied"], entry["wouldBeRefused"]) == (
            ARN + "Two", [ARN + "Two", ARN + "Three"], "AccessDeniedException"), entry


def test_the_list_of_denied_resources_is_bounded(start):
    """Policies decide before it is checked how many items a request has."""
    server = start("--auth", "on")
    with as_user(server, "carl") as carl:
        for count in (100, 5000):
            for operation in ("BatchGetItem", "TransactGetItems"):
                with pytest.raises(Refused) as caught:
                    NAMING[operation](carl, [f"Table{number}" for number in range(count)])
                assert caught.value.type == "AccessDeniedException"
    assert [len(entry["denied"]) for entry in server.entries()] == [100, 100, 128, 128]


def metrics(server):
    """The refusals that /metrics counts; asked with the key of root."""
    headers = {"host": f"127.0.0.1:{server.port}", "x-amz-date": now()}
    scope, names, signed = signature("GET", "/metrics", "", headers, b"", secret=SECRET, time=headers["x-amz-date"],
                                     region="us-east-1", service="dynamodb")
    headers["authorization"] = f"AWS4-HMAC-SHA256 Credential={KEY_ID}/{scope}, SignedHeaders={names}, Signature={signed}"
    text = send(server, request_bytes(headers, b"", "/metrics", "GET").decode()).body.decode()
    return {reason: int(count) for reason, count in re.findall(r'gramme_auth_refusals_total\{reason="(\w+)"\} (\d+)', text)}


@pytest.mark.parametrize("mode", ["on", "warn"])
def test_refusals_are_counted(start, mode):
    """Also those for which the log, with ten lines a second, has no room."""
    server = start("--auth", mode)
    assert metrics(server) == {"signature": 0, "policy": 0, "limit": 0}
    for options, count in (({}, 30), ({"secret": "x" * 40}, 20)):
        with as_user(server, "bob", **options) as client:
            for _ in range(count):
                answer = client.post("DeleteTable", b'{"TableName":"Missing"}')
                assert (answer.json()["__type"].endswith("ResourceNotFoundException")) == (mode == "warn")
    assert metrics(server) == {"signature": 20, "policy": 30, "limit": 0}
    assert len([entry for entry in server.entries() if "wouldBeRefused" in entry or "error" in entry]) == 50


@pytest.mark.parametrize("mode", ["on", "warn"])
def test_throttled_requests_are_recorded(start, mode):
    server = start("--auth", mode, "--key-mb", "1")
    with as_user(server, "root") as root:
        root.CreateTable(**table_request("Big"))
    server.entries()
    body = json.dumps({"RequestItems": {"Big": [{"PutRequest": {"Item": {"pk": {"S": str(number)}, "v": {"S": "x" * 390_000}}}}
                                                for number in range(25)]}}).encode()
    clients = [as_user(server, "root") for _ in range(8)]
    raw = [request_bytes(signed_headers(client.connection.host, "BatchWriteItem", body), body) for client in clients]

    def throttled():
        """Two large bodies of one key that are under way at once. With warn all are carried out, and the log counts."""
        for client, request in zip(clients, raw):
            client.connection.send(request[:-1])
        for client in clients:
            client.connection.send(body[-1:])
        answers = [client.connection.read_answer() for client in clients]
        assert {answer.status for answer in answers} <= ({200, 400} if mode == "on" else {200})
        return [answer for answer in answers if answer.status == 400] if mode == "on" else [None] * metrics(server)["limit"]
    refused = poll(throttled, 60, "a request is throttled")
    assert mode == "warn" or {answer.json()["__type"].partition("#")[2] for answer in refused} == {"RequestLimitExceeded"}
    for client in clients:
        client.connection.close()
    entries = server.entries()
    assert [short(entry)[:3] for entry in entries] == [(f"arn:aws:iam::{ACCOUNT}:root", "dynamodb", "BatchWriteItem")] * len(refused)
    member, status = ("error", 400) if mode == "on" else ("wouldBeRefused", 200)
    assert {(entry["status"], entry[member]) for entry in entries} == {(status, "RequestLimitExceeded")}
    lines = [line for line in server.log().splitlines() if "would be refused" in line]
    assert all("RequestLimitExceeded" in line and "check=BatchWriteItem" in line for line in lines)
    assert bool(lines) == (mode == "warn")
    assert metrics(server)["limit"] == len(refused)


# --- SIGHUP ---

def test_one_bad_file_does_not_keep_the_others_from_being_read(users, tmp_path):
    """Users and settings have a mistake: the audit log is rotated all the same; then the other way round."""
    own = tmp_path / "users.json"
    config, audit = tmp_path / "gramme.conf", tmp_path / "log" / "audit.log"
    audit.parent.mkdir()
    write_users(own, [("root", KEY_ID, SECRET, [])])
    config.write_text(f"users = {own}\naudit = {audit}\nauth = on\n")
    with Server("memory:", "--config", str(config)) as server:
        def hangup(text):
            before = server.log().count(text)
            server.process.send_signal(signal.SIGHUP)
            poll(lambda: server.log().count(text) > before, 20, text)
        own.write_text("{")
        config.write_text("nonsense = 1\n")
        audit.rename(audit.with_suffix(".1"))
        hangup("SIGHUP: the rest was read again")
        assert "SIGHUP: not read again: settings: " in server.log() and "SIGHUP: not read again: users: " in server.log()
        assert audit.exists()
        with SignedClient(server.endpoint) as root:
            root.ListTables()
        write_users(own, [("root", "AKIANEW", SECRET, [])])
        audit.unlink()
        audit.parent.chmod(0o500)
        audit.parent.rename(tmp_path / "gone")  # root may write anywhere, but not where nothing is
        hangup("SIGHUP: not read again: audit file: ")
        with SignedClient(server.endpoint, key_id="AKIANEW") as root:
            root.ListTables()
        (tmp_path / "gone").chmod(0o700)


def test_what_sighup_reads_again_is_recorded(tmp_path):
    """In the new file, after the old one was renamed."""
    own, config, audit = tmp_path / "users.json", tmp_path / "gramme.conf", tmp_path / "audit.log"
    write_users(own, [("root", KEY_ID, SECRET, [])])
    config.write_text(f"users = {own}\naudit = {audit}\nauth = on\n")
    with Server("memory:", "--config", str(config)) as server:
        def hangup():
            audit.rename(audit.with_suffix(".1"))
            server.process.send_signal(signal.SIGHUP)
            poll(lambda: audit.exists() and len(audit.read_text().splitlines()) >= 2, 20, "the lines are written")
            return [json.loads(line) for line in audit.read_text().splitlines()]
        entries = hangup()
        assert [short(entry) for entry in entries] == [
            ("", "gramme", "Reload", "settings", 200, None), ("", "gramme", "Reload", "users", 200, None)]
        assert all(set(entry) == {"time", "service", "operation", "resource", "status"} for entry in entries)
        own.write_text("{")
        config.write_text("nonsense = 1\n")
        entries = hangup()
        assert [(entry["resource"], entry["status"] >= 400, "error" in entry) for entry in entries] == [
            ("settings", True, True), ("users", True, True)]
        assert "nonsense" in entries[0]["reason"] and str(own) in entries[1]["reason"] and SECRET not in audit.read_text()


def test_sighup_records_only_what_the_server_uses(start):
    server = start("--auth", "off")
    server.process.send_signal(signal.SIGHUP)
    poll(lambda: "SIGHUP: log reopened" in server.log(), 20, "the files are read again")
    assert [entry["resource"] for entry in server.entries()] == ["settings"]
