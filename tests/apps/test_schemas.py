"""Each application's schema.json is what `aws dynamodb create-table --cli-input-json` takes."""

import os
import subprocess

import pytest

from server import ROOT, Server
from wire import Client


@pytest.fixture(scope="module")
def server():
    with Server("memory:") as server:
        yield server


@pytest.mark.parametrize("name", ["calendar", "calls", "reconciliation", "tasks", "tickets"])
def test_the_aws_cli_creates_the_table(server, name):
    done = subprocess.run(
        ["aws", "dynamodb", "create-table", "--cli-input-json", f"file://{ROOT}/apps/{name}/schema.json",
         "--endpoint-url", server.endpoint, "--region", "us-east-1", "--query", "TableDescription.TableName",
         "--output", "text"], capture_output=True, text=True, timeout=120,
        env={**os.environ, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"})
    assert done.returncode == 0, done.stderr
    with Client(server.endpoint) as db:
        assert done.stdout.strip() in db.ListTables()["TableNames"]
