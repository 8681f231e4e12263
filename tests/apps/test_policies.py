"""Each application works with a key of its own on a server that enforces its policy.json (--auth on), can do nothing else there,
neither with its own table nor with those of the others, and needs all that the policy allows."""

import copy
import json
import os
import pathlib
import re
import subprocess
import textwrap

import pytest

import replays
from app_users import NAMES, PREFIX, ROOT_KEY, app_key, credentials_file, policy_documents, use_key, use_profiles, users_file
from events import Events
from operation_requests import OPERATIONS, TARGETS
from rest import Rest
from server import ROOT, Apps, Process, Server, program
from signing import SignedClient
from waiting import poll

DOCUMENTS = policy_documents()
TABLES = {name: json.loads((ROOT / "apps" / name / "schema.json").read_text())["TableName"] for name in NAMES}


@pytest.fixture(scope="module")
def key():
    """key(pair): what is started from now on signs with it."""
    patch = pytest.MonkeyPatch()

    yield lambda pair: use_key(patch, pair)
    patch.undo()


def start_narrow(server, credentials, prefix=PREFIX):
    """gramme-apps in which each application signs with its own key; other processes are not concerned."""
    with pytest.MonkeyPatch.context() as patch:
        use_profiles(patch, credentials, name="none")
        return Process(*Apps.command(server.endpoint, "--profiles", prefix))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server("memory:", "--auth", "on", "--users", str(users_file(tmp_path_factory.mktemp("users")))) as server:
        yield server


@pytest.fixture(scope="module")
def direct(server, key):
    """With root's key: makes tables and streams, and loads data."""
    key(ROOT_KEY)
    with Apps(server.endpoint) as process:
        for name in NAMES:
            with Events(f"{process.endpoint}/{name}/api/live") as events:
                assert events.wait("ready")[0].data["source"] == "stream"
        yield process


@pytest.fixture(scope="module")
def narrow(server, direct, tmp_path_factory):
    with start_narrow(server, credentials_file(tmp_path_factory.mktemp("credentials"))) as process:
        yield process


@pytest.mark.parametrize("name", NAMES)
def test_everything_works_under_the_policy(name, server, direct, narrow):
    with Events(f"{narrow.endpoint}/{name}/api/live") as events:
        assert events.wait("ready")[0].data["source"] == "stream"
        replay = getattr(replays, f"replay_{name}")
        replay(Rest(f"{direct.endpoint}/{name}/api"), replays.Calls(Rest(f"{narrow.endpoint}/{name}/api")), server)
        events.wait("change")
    assert "AccessDenied" not in narrow.log()


@pytest.mark.parametrize("name", NAMES)
def test_what_the_server_has_measured(name, narrow):
    assert Rest(f"{narrow.endpoint}/{name}/api").get("/patterns").body["measured"] is True


def test_without_the_permission_for_insight_only_the_live_numbers_are_missing(tmp_path, key):
    with Server("memory:", "--auth", "on", "--users", str(users_file(tmp_path, insight=False))) as server:
        key(ROOT_KEY)
        with Apps(server.endpoint):
            pass
        with start_narrow(server, credentials_file(tmp_path)) as process:
            body = Rest(f"{process.endpoint}/tickets/api").get("/patterns").body
            assert body["measured"] is False and body["patterns"] and body["cost"]
            assert Rest(f"{process.endpoint}/tickets/api").get("/tickets", caller="poc-user-001").status == 200


def aws(server, *arguments):
    return subprocess.run(["aws", "dynamodb", *arguments, "--endpoint-url", server.endpoint, "--region", "us-east-1"],
                          capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("name, arguments", [
    ("tickets", ["scan", "--table-name", "poc-itsm-tickets"]), ("calls", ["delete-table", "--table-name", "Calls"]),
    ("tasks", ["list-tables"]), ("tickets", ["delete-item", "--table-name", "poc-itsm-tickets", "--key", '{"ticket_id": {"S": "x"}}']),
    ("calendar", ["query", "--table-name", "cal-app-sam", "--key-condition-expression", "PK = :p", "--expression-attribute-values",
                  '{":p": {"S": "EVENT"}}']),
    ("reconciliation", ["put-item", "--table-name", "CallRecords", "--item", '{"PK": {"S": "x"}, "SK": {"S": "x"}}'])])
def test_and_nothing_else(server, direct, key, name, arguments):
    key(app_key(name))
    done = aws(server, *arguments)
    assert done.returncode != 0 and "AccessDenied" in done.stderr, done


# What the key of tickets may do with its table, its index and its stream: the four operations of its document, what live pages
# need, operations that need the same permissions, and those that need none. All others are denied.
FOUR = {"PutItem", "GetItem", "UpdateItem", "Query"}
FOR_LIVE_PAGES = {"DescribeTable", "DescribeStream", "GetShardIterator", "GetRecords"}
BY_THESE = {"TransactGetItems": "GetItem", "ExplainQuery": "Query"}
FREE = {"DescribeEndpoints", "ListOperations"}


def test_tickets_can_do_its_four_actions_and_nothing_else(server, direct):
    allowed = set()
    for name, target in TARGETS.items():
        text = json.dumps(OPERATIONS[name][0]).replace('"O"', '"CallerIdIndex"')
        text = re.sub("(FROM|INTO) GameScores", r'\1 \\"GameScores\\"', text).replace("GameScores", TABLES["tickets"])
        with SignedClient(server.endpoint, *app_key("tickets"), **({"target": target} if target else {})) as client:
            answer = client.post(name, text.encode())
        if b"is not authorized to perform" not in answer.body:
            allowed.add(name)
    assert allowed == FOUR | FOR_LIVE_PAGES | set(BY_THESE) | FREE


OPERATIONS_ON_TABLES = {
    "GetItem": {"Key": {}}, "PutItem": {"Item": {}}, "UpdateItem": {"Key": {}}, "DeleteItem": {"Key": {}},
    "Query": {"KeyConditionExpression": "PK = :p", "ExpressionAttributeValues": {":p": {"S": "x"}}}, "Scan": {}, "DescribeTable": {},
    "DescribeTimeToLive": {}, "UpdateTable": {}, "DeleteTable": {},
}


@pytest.mark.parametrize("name", NAMES)
def test_no_key_reaches_the_tables_of_the_others(server, direct, name):
    denied = {other: set() for other in NAMES}
    with SignedClient(server.endpoint, *app_key(name)) as client:
        for other in NAMES:
            for operation, more in OPERATIONS_ON_TABLES.items():
                answer = client.post(operation, json.dumps({"TableName": TABLES[other], **more}).encode())
                if answer.status == 400 and "AccessDeniedException" in answer.json()["__type"]:
                    denied[other].add(operation)
    own = denied.pop(name)
    assert "Scan" in own and "DescribeTable" not in own
    assert denied == {other: set(OPERATIONS_ON_TABLES) for other in denied}


def test_the_applications_sign_with_different_keys(server, narrow, tmp_path):
    """With a wrong secret in the profile of one, that one alone fails."""
    path = credentials_file(tmp_path)
    path.write_text(path.read_text().replace(app_key("tickets")[1], "another-secret"))
    process = start_narrow(server, path)
    try:
        assert Rest(f"{process.endpoint}/tickets/api").get("/tickets", caller="poc-user-001").status >= 500
        assert Rest(f"{process.endpoint}/calls/api").get("/users/ana/calls").status == 200
    finally:
        end(process)


def test_profiles_need_a_database_with_keys():
    done = subprocess.run(Apps.command("memory:", "--profiles", PREFIX), capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "--profiles is for a database with keys, not memory:" in done.stderr


def test_the_commands_of_the_manual(tmp_path, key):
    """docs/apps.md, "Permissions": users, policies and keys by the administration commands, then gramme-apps with --profiles."""
    text = (ROOT / "docs/apps.md").read_text()
    commands = textwrap.dedent(text[text.index("    umask 077\n    gramme policy put insight"):text.index("\n    AWS_SHARED_CREDENTIALS_FILE=")])
    master_key = ["--master-key-file", str(tmp_path / "master.key")]
    store = f"rocksdb:{tmp_path / 'data'}"
    made = subprocess.run([program(), "init", "--store", store, *master_key], capture_output=True, text=True, timeout=60, check=True)
    key([line.split("=", 1)[1] for line in made.stdout.split()])
    with Server(store, "--auth", "on", *master_key) as server:
        with Apps(server.endpoint):
            pass
        environment = {**os.environ, "GRAMME_ENDPOINT": server.endpoint, "CREDENTIALS": str(tmp_path / "credentials"),
                       "PATH": f"{pathlib.Path(program()).parent}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-ec", commands.replace(">> credentials", '>> "$CREDENTIALS"')], env=environment, cwd=ROOT,
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done
        with start_narrow(server, tmp_path / "credentials", "gramme-apps-") as process:
            for name, path in (("calls", "/users/ana/calls"), ("calendar", "/events?from=2036-01-01&to=2036-02-01"),
                               ("reconciliation", "/pending"), ("tickets", "/tickets"), ("tasks", "/tasks?status=OPEN")):
                assert Rest(f"{process.endpoint}/{name}/api").get(path).status == 200, name


def test_a_key_that_is_none(server, direct, key):
    """Nothing of it in the answer, the cause in the log."""
    key(("AKIANOBODYNOBODYNOBO", "whatever"))
    with Process(*Apps.command(server.endpoint)) as process:
        reply = Rest(f"{process.endpoint}/tickets/api").get("/tickets")
        assert reply.status in (500, 503)
        assert "AKIA" not in reply.content.decode()
        poll(lambda: re.search(r"database: (UnrecognizedClient|AccessDenied|InvalidSignature)\w*", process.log()), 5, "the log says why")
        process.process.kill()  # not stop(): errors in its log are what is wanted here
        process.process.wait()


# Nothing can be left out: without any one action, or any one resource, an application fails, because the server refuses just that.


def listed(value):
    return value if isinstance(value, list) else [value]


def parts():
    """(name, statement, member, value): every action, and every resource where there are several."""
    for name, document in DOCUMENTS.items():
        for number, statement in enumerate(document["Statement"]):
            for member in ("Action", "Resource"):
                values = listed(statement[member])
                for value in values if member == "Action" or len(values) > 1 else []:
                    yield pytest.param(name, number, member, value,
                                       id=f"{name} {statement['Sid']} without {value.rsplit(':', 1)[1]}")


def without(name, number, member, value):
    """The policy of the application without one part of one statement."""
    document = copy.deepcopy(DOCUMENTS[name])
    statement = document["Statement"][number]
    statement[member] = [each for each in listed(statement[member]) if each != value]
    if not statement[member]:
        del document["Statement"][number]
    return document


def use_everything(name, server, direct, narrow):
    """What test_policies.py does to show that the application works."""
    with Events(f"{narrow.endpoint}/{name}/api/live") as events:
        assert events.wait("ready", seconds=5)[0].data["source"] == "stream"
        replay = getattr(replays, f"replay_{name}")
        replay(Rest(f"{direct.endpoint}/{name}/api"), replays.Calls(Rest(f"{narrow.endpoint}/{name}/api")), server)
        events.wait("change", seconds=5)


def end(process):
    """Its log says what was refused, so that is not checked here."""
    process.process.kill()
    process.process.wait()
    process.log_path.unlink()


@pytest.mark.parametrize("name, number, member, value", parts())
def test_nothing_can_be_left_out(request, tmp_path, key, name, number, member, value):
    if name != "tickets" and not request.config.getoption("every_part"):
        pytest.skip("two minutes: with --every-part, in make soak")
    users = users_file(tmp_path, {**DOCUMENTS, name: without(name, number, member, value)})
    with Server("memory:", "--auth", "on", "--users", str(users)) as server:
        key(ROOT_KEY)
        with Apps(server.endpoint) as direct:
            with Events(f"{direct.endpoint}/{name}/api/live") as events:
                events.wait("ready")  # the table has a stream
            narrow = start_narrow(server, credentials_file(tmp_path))
            try:
                with pytest.raises(AssertionError):
                    use_everything(name, server, direct, narrow)
            finally:
                end(narrow)
        refusals = [line for line in server.log().splitlines() if "not authorized to perform" in line]
    missing = value if member == "Action" else value.partition(":table/")[2]
    assert refusals and all(missing in line for line in refusals), refusals
