"""Each application works on a server that enforces its policy.json (--auth on), can do nothing else there, and needs all that it
allows."""

import copy
import json
import re
import subprocess

import pytest

import replays
from app_users import APPS_KEY, NAMES, ROOT_KEY, WITHOUT_INSIGHT_KEY, use_key, user_record, users_file
from events import Events
from rest import Rest
from server import ROOT, Apps, Process, Server
from waiting import poll

DOCUMENTS = {name: json.loads((ROOT / "apps" / name / "policy.json").read_text()) for name in NAMES}


@pytest.fixture(scope="module")
def key():
    """key(pair): what is started from now on signs with it."""
    patch = pytest.MonkeyPatch()

    yield lambda pair: use_key(patch, pair)
    patch.undo()


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
def narrow(server, direct, key):
    key(APPS_KEY)
    with Process(*Apps.command(server.endpoint)) as process:
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


def test_without_the_permission_for_insight_only_the_live_numbers_are_missing(server, direct, key):
    key(WITHOUT_INSIGHT_KEY)
    with Process(*Apps.command(server.endpoint)) as process:
        body = Rest(f"{process.endpoint}/tickets/api").get("/patterns").body
        assert body["measured"] is False and body["patterns"] and body["cost"]
        assert Rest(f"{process.endpoint}/tickets/api").get("/tickets", caller="poc-user-001").status == 200


def aws(server, *arguments):
    return subprocess.run(["aws", "dynamodb", *arguments, "--endpoint-url", server.endpoint, "--region", "us-east-1"],
                          capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("arguments", [
    ["scan", "--table-name", "poc-itsm-tickets"], ["delete-table", "--table-name", "Calls"], ["list-tables"],
    ["delete-item", "--table-name", "poc-itsm-tickets", "--key", '{"ticket_id": {"S": "x"}}'],
    ["query", "--table-name", "cal-app-sam", "--key-condition-expression", "PK = :p", "--expression-attribute-values",
     '{":p": {"S": "EVENT"}}'],
    ["put-item", "--table-name", "CallRecords", "--item", '{"PK": {"S": "x"}, "SK": {"S": "x"}}']])
def test_and_nothing_else(server, narrow, key, arguments):
    key(APPS_KEY)
    done = aws(server, *arguments)
    assert done.returncode != 0 and "AccessDenied" in done.stderr, done


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
                    if (name, number, value) == ("tickets", 0, "dynamodb:Query"):
                        continue  # unused, but the document grants it
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


def write_users(path, documents):
    path.write_text(json.dumps({
        "users": [user_record("root", [], ROOT_KEY), user_record("apps", list(documents), APPS_KEY)],
        "policies": [{"name": name, "document": document} for name, document in documents.items()]}))
    path.chmod(0o600)
    return path


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
    users = write_users(tmp_path / "users.json", {**DOCUMENTS, name: without(name, number, member, value)})
    with Server("memory:", "--auth", "on", "--users", str(users)) as server:
        key(ROOT_KEY)
        with Apps(server.endpoint) as direct:
            with Events(f"{direct.endpoint}/{name}/api/live") as events:
                events.wait("ready")  # the table has a stream
            key(APPS_KEY)
            narrow = Process(*Apps.command(server.endpoint))
            try:
                with pytest.raises(AssertionError):
                    use_everything(name, server, direct, narrow)
            finally:
                end(narrow)
        refusals = [line for line in server.log().splitlines() if "not authorized to perform" in line]
    missing = value if member == "Action" else value.partition(":table/")[2]
    assert refusals and all(missing in line for line in refusals), refusals
