"""The AWS CLI as a user runs it, in a shell, against our server."""

import json
import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent


class Cli:
    def __init__(self, endpoint, home):
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(home), "AWS_PAGER": "", "ENDPOINT": endpoint,
            "AWS_ACCESS_KEY_ID": "dummy", "AWS_SECRET_ACCESS_KEY": "dummy",
            "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}

    def shell(self, script):
        """Runs a script in which `aws` is the CLI with our endpoint."""
        function = 'aws() { /usr/bin/aws "$@" --endpoint-url "$ENDPOINT"; }\n'
        return subprocess.run(["bash", "-c", function + script], env=self.environment, text=True,
                              capture_output=True, timeout=60)

    def run(self, script):
        """The output of a script that must succeed, as JSON if it is any."""
        done = self.shell(script)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None

    def document(self, name):
        """A command copied unchanged from an application's document."""
        return self.run((HERE / name).read_text())

    def fail(self, script, code):
        done = self.shell(script)
        assert done.returncode != 0
        assert f"({code})" in done.stderr, done.stderr
        return done.stderr


@pytest.fixture(scope="session")
def make_cli(tmp_path_factory):
    """For a server of a test's own: make_cli(endpoint)."""
    return lambda own: Cli(own, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def cli(endpoint, tmp_path_factory):
    return Cli(endpoint, tmp_path_factory.mktemp("home"))
