"""make demo's own part: tools/demo starts both programs, loads what they need, and ends both."""

import pathlib
import re
import signal
import subprocess
import urllib.request

import pytest

from rest import Rest
from server import ROOT, program
from waiting import poll


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            return response.status == 200
    except OSError:
        return False


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
        finally:
            demo.send_signal(end)
            status = demo.wait(60)
        assert status == 0, log.read_text()
        assert not answers(apps) and not answers(database)
