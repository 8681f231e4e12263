"""The tables that the documents of the five applications end in, made from traffic: the demo workload of the applications fills the
server's table of access patterns, and that contains the documents' tables (documents.json), row by row; so does the console's page.

A row of documents.json is exactly one pattern. `row` is the document's own name of it; `operation`, `index`, `key`, `condition`, `filter`
and `flags` are as the server writes them (one that is not there: the pattern has none); `sets` and `removes` are attributes of its update,
among others; `cost` of a call in the document's words. Rows whose requests differ in values only are the same pattern. Where an application
does otherwise than its document, `document` has what the document says, and why."""

import json
import re
import subprocess

import pytest

import replays
from insight import Insight
from rest import Rest
from server import ROOT, Apps, Server

DOCUMENTS = json.loads((ROOT / "tests/insight/documents.json").read_text())
ROWS = [pytest.param(name, row, id=f"{name}: {row['row']}") for name, document in DOCUMENTS.items() for row in document["rows"]]


@pytest.fixture(scope="module")
def demo():
    """A server on which the demo workload has run; the applications have ended, so that nothing changes any more."""
    with Server("memory:") as server:
        with Apps(server.endpoint) as apps:
            for name in DOCUMENTS:
                api = Rest(f"{apps.endpoint}/{name}/api")
                getattr(replays, f"replay_{name}")(api, replays.Calls(api), server)
        yield server


@pytest.fixture(scope="module")
def table(demo):
    """The server's table of access patterns."""
    return Insight(demo.endpoint).get("patterns", limit=1000)["patterns"]


def changes(pattern, verb):
    """The attributes that an update sets or removes."""
    clauses = re.split(r"\b(SET|REMOVE|ADD|DELETE) ", pattern["update"] or "")
    found = dict(zip(clauses[1::2], clauses[2::2])).get(verb, "")
    return {part.split(" =")[0].strip() for part in re.split(r", (?![^(]*\))", found)}


def fits(row, name, pattern):
    return (pattern["table"] == DOCUMENTS[name]["table"] and pattern["operation"] == row["operation"]
            and all(pattern[part] == row.get(part) for part in ("index", "key", "condition", "filter"))
            and set(pattern["flags"]) == set(row.get("flags", []))
            and set(row.get("sets", [])) <= changes(pattern, "SET") and set(row.get("removes", [])) <= changes(pattern, "REMOVE"))


def costs(pattern, cost):
    """Whether the calls of a pattern cost what the document says that one costs."""
    calls = pattern["calls"]
    if cost == "1 RCU":
        return pattern["unitsMax"] <= 1 and pattern["writeUnits"] == 0
    if cost == "n/4KB RCUs":  # rounded up for each call; half of it where reads are eventually consistent
        return pattern["bytesRead"] / 8192 <= pattern["readUnits"] <= pattern["bytesRead"] / 4096 + calls and pattern["writeUnits"] == 0
    assert cost == "2 WCUs"  # of the table: a small item in a transaction; one that is cancelled consumes nothing here
    return pattern["tableUnits"]["write"] == 2 * (calls - pattern["errors"])


@pytest.mark.parametrize("name, row", ROWS)
def test_row(name, row, table):
    found = [pattern for pattern in table if fits(row, name, pattern)]
    assert len(found) == 1, f"{len(found)} access patterns of the server are this row: {row}: {[pattern['text'] for pattern in found]}"
    pattern, = found
    assert pattern["calls"] > pattern["errors"] and not pattern["scan"], pattern
    assert "cost" not in row or costs(pattern, row["cost"]), (row, pattern)
    assert row.get("document", {}).get("operation") != row["operation"], row
    assert "document" not in row or row["document"]["why"], row


def test_no_full_table_scans(table):
    """"No Full Table Scans Required": nothing that the applications do reads a table or index without its partition key."""
    own = {document["table"] for document in DOCUMENTS.values()}
    assert {pattern["table"] for pattern in table} >= own
    assert [pattern["text"] for pattern in table if pattern["table"] in own and pattern["scan"]] == []


def test_rows_that_share_a_pattern_are_all_counted(demo):
    """Get Task, Get User and Check Assignment are one pattern without its values: each of them counts in it."""
    insight = Insight(demo.endpoint)
    text = "GetItem task-manager-sandbox-tasks PK = ? AND SK = ? CONSISTENT"
    with Apps(demo.endpoint) as apps:
        api = Rest(f"{apps.endpoint}/tasks/api")
        task = api.get("/tasks", status="OPEN").body["items"][0]["taskId"]
        for path in (f"/tasks/{task}", "/users/user-7", f"/tasks/{task}/assignments/user-7"):
            before = insight.pattern(text)["calls"]
            assert api.get(path).status in (200, 404)
            assert insight.pattern(text)["calls"] > before, path


def console_row(pattern):
    """How the console shows a pattern."""
    index = f".{pattern['index']}" if pattern["index"] else ""
    labels = [("", "key"), ("filter ", "filter"), ("if ", "condition"), ("update ", "update"), ("read ", "projection")]
    return {"name": f"{pattern['operation']} {pattern['table'] or '–'}{index}", "badges": (["scan"] if pattern["scan"] else []) + pattern["flags"],
            "parts": [label + pattern[part] for label, part in labels if pattern[part]],
            "calls": pattern["calls"], "perCall": pattern["unitsPerCall"]}


def shown_row(row):
    """A row of the page, comparable with console_row(): thousands (12.3K) and units per call are rounded to a tenth."""
    number = lambda text: float(text.rstrip("K").replace(",", ""))
    return {**row, "calls": pytest.approx(number(row["calls"]) * 1000, abs=50.1) if row["calls"].endswith("K") else number(row["calls"]),
            "perCall": pytest.approx(number(row["perCall"]), abs=0.0501)}


def test_the_console_shows_the_same_table(demo):
    table = Insight(demo.endpoint).get("patterns", limit=1000)["patterns"]
    assert len(table) <= 100, "the console's first page has 100 rows"
    done = subprocess.run(["node", str(ROOT / "tests/insight/pattern_rows.mjs"), demo.endpoint, str(len(table))], capture_output=True,
                          text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    shown = [shown_row(row) for row in json.loads(done.stdout)]
    for pattern in table:
        assert console_row(pattern) in shown, pattern["text"]
    for name, document in DOCUMENTS.items():
        for row in document["rows"]:
            assert any(console_row(pattern) in shown for pattern in table if fits(row, name, pattern)), (name, row)
