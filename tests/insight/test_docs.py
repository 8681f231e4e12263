"""Every command and every request of the insight API that the docs name works as it stands there: docs/patterns.md, docs/findings and others."""

import os
import re
import subprocess

import pytest

from insight import Insight
from server import ROOT, program
from wire import Client

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/findings").glob("*.md"))]
TABLES = {"Tasks": ["GSI1", "GSI3"], "Tickets": ["CallerIdIndex"]}  # that the docs speak of


def commands():
    """(page, command) of `gramme patterns` and `gramme top`, in text or in a block, and of curl; each once."""
    for page in PAGES:
        text = page.read_text()
        found = re.findall(r"`(gramme (?:patterns|top)\b[^`]*)`", text)
        found += [line.partition("#")[0] for line in re.findall(r"^    (gramme (?:patterns|top)\b.*)$", text, re.MULTILINE)]
        found += [re.sub(r"\n +", " ", block) for block in re.findall(r"^    (curl (?:[^'\n]|'[^']*')*)$", text, re.MULTILINE)]
        for command in dict.fromkeys(part.strip() for part in found):
            yield pytest.param(command, id=f"{page.name}: {command[:60]}")


def requests():
    """(method, path) that the docs name with their whole address."""
    named = {found for page in PAGES for found in re.findall(r"`(GET|POST) /_gramme/api/([^`\s]+)`", page.read_text())}
    return sorted(named)


@pytest.fixture
def traffic(server):
    """The tables, and one call of each."""
    with Client(server.endpoint) as db:
        for table, indexes in TABLES.items():
            db.CreateTable(
                TableName=table, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", *indexes)],
                GlobalSecondaryIndexes=[{"IndexName": index, "KeySchema": [{"AttributeName": index, "KeyType": "HASH"}],
                                         "Projection": {"ProjectionType": "ALL"}} for index in indexes])
            db.PutItem(TableName=table, Item={"pk": {"S": "a"}, **{index: {"S": "x"} for index in indexes}})
    return server


def test_the_docs_name_commands():
    texts = [parameter.values[0] for parameter in commands()]
    for needed in ("patterns list", "patterns record", "patterns check", "patterns reset", "top --once", "curl -X POST"):
        assert any(needed in text for text in texts), needed
    assert len(requests()) >= 4


@pytest.mark.parametrize("command", commands())
def test_command(command, traffic, tmp_path):
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "gramme").symlink_to(program())
    environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "GRAMME_ENDPOINT": traffic.endpoint}

    def run(text):
        return subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path, env=environment)
    if "check" in command:  # needs the file that the docs say how to make
        assert run("gramme patterns record > patterns.json").returncode == 0
        command = re.sub(r"check\b(?! patterns)", "check patterns.json", command)
    if command == "gramme top":  # runs until it is ended; test_top_in_a_terminal() shows that
        command += " --once"
    if command == "gramme patterns":  # of a page that lists the commands
        command += " --help"
    done = run(command.replace("http://127.0.0.1:8000", traffic.endpoint))
    assert done.returncode == 0, done
    if "curl" in command:
        assert Insight(traffic.endpoint).get("simulation")["tables"]["Tasks"]["readUnits"] == 5, done.stdout


@pytest.mark.parametrize("method, path", requests())
def test_request(method, path, traffic):
    status, answer = Insight(traffic.endpoint).request(method, path.replace("table=T", "table=Tasks"), {} if method == "POST" else None)
    assert status == 200 and answer, (status, answer)
