"""Fixtures of the shell's tests: every kind of DynamoDB, and the shell as a script."""

import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "differential"))
from servers import Oracle, oracle_is_missing  # noqa: E402
from server import Server, program  # noqa: E402

# DynamoDB Local is there after `tools/setup oracle`.
KINDS = ["gramme", "dynoxide", "local"]


@pytest.fixture(scope="session", params=KINDS)
def any_db(request):
    """The endpoint of each kind of DynamoDB in turn."""
    if request.param == "gramme":
        server = Server("memory:", "--stream-shards", "1")
    else:
        missing = oracle_is_missing(request.param)
        if missing is not None:
            pytest.skip(missing)
        server = Oracle(request.param)
    server.kind = request.param
    yield server
    server.stop()


@pytest.fixture
def environment(tmp_path):
    """What the shell sees: no settings of the machine."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("AWS_", "GRAMME_", "PAGER", "XDG_", "LC_", "LANG"))}
    return {**clean, "HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "AWS_EC2_METADATA_DISABLED": "true"}


class Outcome:
    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    def lines(self):
        return self.out.splitlines()


@pytest.fixture
def shell(environment):
    """shell(url, "-y", text=...): runs the shell on a script; gives status, output and errors."""
    def run(url, *options, text="", seconds=60):
        done = subprocess.run([program(), "shell", *options, url], input=text, capture_output=True, text=True,
                              timeout=seconds, env=environment, check=False)
        return Outcome(done)
    return run
