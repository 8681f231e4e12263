"""tools/cluster: three servers behind HAProxy, as a user starts them and ends them."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from server import ROOT
from tables import create_table
from values import item
from waiting import poll
from wire import Client, Refused

pytestmark = pytest.mark.skipif(shutil.which("haproxy", path="/usr/sbin:/usr/bin") is None, reason="needs haproxy (tools/setup cluster)")
START_SECONDS = 120


class Script:
    """tools/cluster, and what it has printed: the endpoint, and the processes by their kind."""

    def __init__(self, folder, *command):
        self.process = subprocess.Popen([sys.executable, str(ROOT / "tools" / "cluster"), *command], text=True, stdout=subprocess.PIPE,
                                        env={**os.environ, "TMPDIR": str(folder)}, start_new_session=True)

    def read(self):
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if line.startswith("Ctrl-C"):
                break
        text = "".join(lines)
        self.endpoint = re.search(r"^endpoint +(http\S+)", text, re.MULTILINE)[1]
        found = re.findall(r"^(primary|standby|server) .*process (\d+)", text, re.MULTILINE)
        self.pids = {kind: [int(pid) for other, pid in found if other == kind] for kind, _ in found}
        return text

    def processes(self):
        """All processes of its session, PostgreSQL's two servers, and their children, which have sessions of their own."""
        listed = subprocess.run(["ps", "-eo", "pid=,ppid=,sid="], text=True, stdout=subprocess.PIPE, check=True).stdout
        known = {self.process.pid, *self.pids["primary"], *self.pids["standby"]}
        numbers = [tuple(map(int, line.split())) for line in listed.splitlines()]
        return {pid for pid, parent, session in numbers if known & {pid, parent, session}}


def put_many(endpoint, table, first, last):
    """Puts items as a client that retries: a server that was killed breaks its connections."""
    deadline = time.monotonic() + 60
    for i in range(first, last):
        while True:
            try:
                with Client(endpoint) as db:
                    db.PutItem(TableName=table, Item=item(pk=f"p{i}"))
                break
            except (OSError, ConnectionError, Refused):
                assert time.monotonic() < deadline
                time.sleep(0.05)


def items_of(endpoint, table):
    """All items; None if HAProxy has chosen the server that was killed."""
    try:
        with Client(endpoint) as db:
            return db.Scan(TableName=table, ConsistentRead=True)["Items"]
    except (OSError, Refused):
        return None


@pytest.fixture
def folder():
    """PostgreSQL's user must be able to enter it."""
    made = pathlib.Path("/tmp") / f"gramme-cluster-{os.urandom(4).hex()}"
    made.mkdir(mode=0o777)
    made.chmod(0o777)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def test_it_serves_survives_a_kill_and_leaves_nothing(folder):
    script = Script(folder)
    try:
        text = script.read()
        assert len(script.pids["server"]) == 3 and "store      postgresql://" in text
        with Client(script.endpoint) as db:  # at once: it has waited for HAProxy
            table = create_table(db)
        put_many(script.endpoint, table, 0, 30)
        os.kill(script.pids["server"][1], signal.SIGKILL)
        put_many(script.endpoint, table, 30, 60)
        assert len(poll(lambda: items_of(script.endpoint, table), 60, "a server answers")) == 60
        before = script.processes()
        assert len(before) > 40  # three servers have 17 connections each
        os.kill(script.process.pid, signal.SIGINT)
        assert script.process.wait(60) == 0
        poll(lambda: not script.processes(), 30, "all processes have ended")
        assert list(folder.iterdir()) == []
    finally:
        if script.process.poll() is None:
            os.killpg(script.process.pid, signal.SIGTERM)
            script.process.wait(60)


def test_it_runs_a_command(folder):
    """The command gets the endpoint, and its status is that of the script."""
    command = "curl -s --max-time 20 $GRAMME_ENDPOINT/_gramme/ready; exit 7"
    done = subprocess.run([sys.executable, str(ROOT / "tools" / "cluster"), "sh", "-c", command], text=True, capture_output=True,
                          timeout=START_SECONDS, env={**os.environ, "TMPDIR": str(folder)}, check=False)
    assert done.returncode == 7, done.stderr
    assert '"ready":true' in done.stdout
