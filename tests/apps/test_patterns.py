"""Declared access patterns: what each application asks of the database is what its patterns.json says,
no more, on the amounts of data that the documents speak of. See apps/README.md for the format.

Data is loaded first, past the proxy; then every operation of the REST API is called through it, in
the largest forms that it allows (tests/support/replays.py)."""

import json
import re

import pytest

import replays
from events import Events
from recorder import Recorder
from rest import Rest
from server import ROOT, Apps, Process, Server

NAMES = ["calendar", "calls", "reconciliation", "tasks", "tickets"]


def declared(name):
    return json.loads((ROOT / "apps" / name / "patterns.json").read_text())


class Replay:
    """Calls one application's API through the proxy, and judges each call."""

    def __init__(self, name, api, recorder):
        self.api = api
        self.recorder = recorder
        file = declared(name)
        self.patterns = {pattern["name"]: pattern for pattern in file["patterns"]}
        self.calls = file["calls"]
        self.seen_calls = set()
        self.seen_patterns = set()

    def __call__(self, call, body=None, user=None, version=None, expect=(200, 201, 204), **more):
        """call: "GET /tasks/{taskId}" as declared; `more` fills the path, the rest is the query."""
        method, template = call.split(" ")
        names = re.findall(r"{(\w+)}", template)
        path = template.format(**{name: more.pop(name) for name in names})
        headers = {**({"X-User-Id": user} if user else {}),
                   **({"If-Match": f'"{version}"'} if version is not None else {})}
        self.recorder.take()
        reply = self.api.call(method, path, body, headers, **more)
        assert reply.status in expect, (call, reply)
        self.judge(call)
        return reply.body

    def judge(self, call):
        """That what the call has asked is declared."""
        self.seen_calls.add(call)
        tables = {pattern["table"] for pattern in self.patterns.values()}
        for access in self.recorder.take():
            if access.table not in tables:
                continue  # another application acts on changes of its own
            assert access.operation != "Scan", f"{call} scans: {access}"
            names = self.calls[call] + self.calls.get("stream", [])  # what acts on changes runs along
            fitting = [name for name in names if self.fits(self.patterns[name], access)]
            assert fitting, f"{call} is not declared to do this, or only with less: {access}"
            self.seen_patterns.update(fitting)

    @staticmethod
    def fits(pattern, access):
        return (pattern["operation"] == access.operation and pattern["table"] == access.table
                and pattern.get("index") == access.index and pattern.get("key") == access.key
                and access.units <= pattern["units_max"] and access.items <= pattern["items_max"])


@pytest.fixture(scope="module")
def server():
    with Server("memory:") as server:
        yield server


@pytest.fixture(scope="module")
def direct(server):
    """The applications past the proxy, to load data."""
    with Apps(server.endpoint) as process:
        yield process


@pytest.fixture(scope="module")
def recorder(server):
    with Recorder(server.endpoint) as recorder:
        yield recorder


@pytest.fixture(scope="module")
def watched(direct, recorder):
    """As it is deployed: the tables and their streams are there."""
    for name in NAMES:
        with Events(f"{direct.endpoint}/{name}/api/live") as events:
            assert events.wait("ready")[0].data["source"] == "stream"
    with Process(*Apps.command(recorder.endpoint)) as process:
        yield process


@pytest.mark.parametrize("name", NAMES)
def test_the_application_does_what_it_declares_and_its_policy_allows(name, direct, watched, recorder):
    replay = Replay(name, Rest(f"{watched.endpoint}/{name}/api"), recorder)
    with Events(f"{watched.endpoint}/{name}/api/live") as events:
        assert events.wait("ready")[0].data["source"] == "stream"
        getattr(replays, f"replay_{name}")(Rest(f"{direct.endpoint}/{name}/api"), replay, recorder)
        events.wait("change")
    replay.seen_calls.add("stream")
    assert replay.seen_calls >= set(replay.calls), "calls that were not replayed, or are not declared"
    assert replay.seen_patterns == set(replay.patterns), "patterns that no call uses"
    check_policy(name, recorder)


def allowed_by(policy):
    """Pairs of an action and the last part of a resource's ARN."""
    def listed(value):
        return value if isinstance(value, list) else [value]
    assert all(statement["Effect"] == "Allow" for statement in policy["Statement"])
    return {(action, resource.split(":table/")[1]) for statement in policy["Statement"]
            for action in listed(statement["Action"]) for resource in listed(statement["Resource"])}


def check_policy(name, recorder):
    """The policy allows what was asked, and nothing else."""
    allowed = allowed_by(json.loads((ROOT / "apps" / name / "policy.json").read_text()))
    table = json.loads((ROOT / "apps" / name / "schema.json").read_text())["TableName"]
    used = {(action, resource) for action, resource in recorder.permissions
            if resource is not None and resource.partition("/")[0] == table}
    used.add(("dynamodb:GetRecords", f"{table}/stream/*"))
    assert allowed == used
    assert not any("*" in action for action, _ in allowed)
    assert {resource for _, resource in allowed if "*" in resource} == {f"{table}/stream/*"}  # its name has a time in it


@pytest.mark.parametrize("name", NAMES)
def test_every_operation_of_the_api_is_declared(name):
    paths = json.loads((ROOT / "apps" / name / "openapi.json").read_text())["paths"]
    operations = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert set(declared(name)["calls"]) - {"poll", "stream"} == operations
    routes = re.findall(r'{"([A-Z]+)", "(/[^"?]*)[?"]', (ROOT / "apps" / name / "api.c").read_text())
    assert {" ".join(route) for route in routes} - {"GET /feed.ics"} == operations  # that is beside the pages


@pytest.mark.parametrize("name", NAMES)
def test_patterns_are_functions_of_the_data_layer(name):
    header = (ROOT / "apps" / name / f"{name}.h").read_text()
    for pattern in declared(name)["patterns"]:
        assert re.search(rf"\b[a-z]+_{pattern['name']}\(", header), pattern["name"]
