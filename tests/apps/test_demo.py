"""make demo's own part: tools/demo starts both programs, loads what they need, and ends both."""

import configparser
import pathlib
import re
import shlex
import signal
import stat
import subprocess
import urllib.request

import pytest

from app_users import NAMES
from blocks import blocks_for
from rest import Rest
from server import ROOT, Process, Server, apps_program, program
from signing import SignedClient
from waiting import poll
from wire import refused


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            return response.status == 200
    except OSError:
        return False


def check_keys(database, path):
    """Each application has its own, which opens its own table."""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    profiles = configparser.ConfigParser()
    profiles.read(path)
    assert sorted(profiles.sections()) == [f"gramme-apps-{name}" for name in NAMES]
    key = profiles["gramme-apps-tickets"]
    with SignedClient(database, key["aws_access_key_id"], key["aws_secret_access_key"]) as client:
        assert client.DescribeTable(TableName="poc-itsm-tickets")
        with refused("AccessDeniedException"):
            client.DescribeTable(TableName="Calls")


def test_commands_of_the_manual(tmp_path):
    """docs/apps.md: `make demo` runs tools/demo, which test_demo starts; the commands by hand, but for the one that needs an account of AWS."""
    demo, by_hand = blocks_for("docs/apps.md", "tests/apps/test_demo.py")
    assert demo == "make demo\n" and "\t@tools/demo " in (ROOT / "Makefile").read_text()
    first, *commands = (shlex.split(line, comments=True) for line in by_hand.splitlines())
    assert first == ["make", "build", "pages"]
    with Server(f"rocksdb:{tmp_path / 'data'}") as server:
        for command in commands:
            assert command[0] == "build/apps/gramme-apps"
            if "amazonaws.com" not in command[2]:
                command = [apps_program(), *(server.endpoint if word == "http://127.0.0.1:8000" else word for word in command[1:]), "--listen", "127.0.0.1:0"]
                with Process(*command) as apps:
                    assert answers(f"{apps.endpoint}/calls/openapi.json")


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_demo(tmp_path, end):
    log = tmp_path / "log"
    build = pathlib.Path(program()).parent
    for _ in range(2):  # the second time the data is there already
        with open(log, "w") as out:
            demo = subprocess.Popen([ROOT / "tools/demo", "--build", build, "--data", tmp_path / "data", "--listen",
                                     "127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            poll(lambda: "Ctrl-C" in log.read_text() or demo.poll() is not None, 60, "the demo says where it is")
            apps, database = re.findall(r"^  (http://\S+)", log.read_text(), re.MULTILINE)
            assert len(Rest(f"{apps}calls/api").get("/users/ana/calls").body["items"]) == 11
            for page in ("", "calls/", "calendar/", "calls/openapi.json"):
                assert answers(apps + page), page
            assert answers(database)
            assert Rest(f"{apps}calls/api").get("/patterns").body["measured"] is True
            reconciliation = Rest(f"{apps}reconciliation/api")
            poll(lambda: reconciliation.get("/metrics").body["delivery_failures"] > 0, 60, "the receiver fails at some deliveries")
            poll(lambda: reconciliation.get("/metrics").body["delivered"] > 0, 60, "it takes others")
            check_keys(database, tmp_path / "data.credentials")
        finally:
            demo.send_signal(end)
            status = demo.wait(60)
        assert status == 0, log.read_text()
        assert not answers(apps) and not answers(database)
