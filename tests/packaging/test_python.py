"""The Python package, from its folder, with the program that GRAMME names: the server, the pytest plugin, the unittest helper.
tools/doors installs the wheel and does the same."""

import os
import pathlib
import subprocess
import sys

import pytest

from server import program
from waiting import poll

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "python"
sys.path.insert(0, str(PACKAGE))
import gramme  # noqa: E402


@pytest.fixture(autouse=True)
def built_program(monkeypatch):
    monkeypatch.setenv("GRAMME", program())


def make_table(client, name):
    client.create_table(TableName=name, BillingMode="PAY_PER_REQUEST", AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}])


def test_start_use_reset_stop():
    with gramme.start() as server:
        client = server.client()
        make_table(client, "first")
        make_table(client, "second")
        assert server.tables() == ["first", "second"]
        server.reset()
        assert client.list_tables()["TableNames"] == []
    server.stop()
    assert "standard input has ended" in server.log


def test_reset_deletes_more_tables_than_one_page_lists():
    with gramme.start() as server:
        for i in range(120):
            server.call("CreateTable", TableName=f"table-{i}", BillingMode="PAY_PER_REQUEST",
                        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}], KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                        DeletionProtectionEnabled=i % 50 == 0)
        server.reset()
        assert server.tables() == []


def test_reset_waits_for_tables_that_are_being_changed():
    with gramme.start("--table-delay-ms", "300") as server:
        client = server.client()
        make_table(client, "made")
        server.reset()
        assert server.tables() == []
        make_table(client, "changed")
        client.get_waiter("table_exists").wait(TableName="changed", WaiterConfig={"Delay": 1})
        client.update_table(TableName="changed", AttributeDefinitions=[{"AttributeName": "g", "AttributeType": "S"}],
                            GlobalSecondaryIndexUpdates=[{"Create": {"IndexName": "by-g", "Projection": {"ProjectionType": "ALL"},
                                                                     "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]}}])
        server.reset()
        assert server.tables() == []


def test_a_server_that_cannot_start_says_why():
    with pytest.raises(RuntimeError, match="unknown option --no-such-option"):
        gramme.start("--no-such-option", "1")


def test_errors_have_names():
    with gramme.start() as server, pytest.raises(gramme.Refused, match="ResourceNotFoundException"):
        server.call("DescribeTable", TableName="none")


def test_server_ends_when_the_process_is_killed():
    code = "import gramme, os, signal; server = gramme.start(); print(server.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(PACKAGE)}, capture_output=True, text=True, timeout=60)
    pid = int(done.stdout)

    def has_ended():
        try:
            return "State:\tZ" in pathlib.Path(f"/proc/{pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return True
    poll(has_ended, 30, "the server ends")


def run_python(folder, *command):
    """Runs Python in a folder, with the package."""
    return subprocess.run([sys.executable, *command], cwd=folder, env={**os.environ, "PYTHONPATH": str(PACKAGE)}, capture_output=True, text=True,
                          timeout=120)


TABLE = """TableName="orders", BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}], KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}]"""


def test_pytest_plugin(tmp_path):
    """Both tests make the same table: the first one's must be gone."""
    (tmp_path / "pytest.ini").write_text("[pytest]\ngramme_options = --region eu-west-1\n")
    (tmp_path / "test_it.py").write_text(f"""
import os

def test_resource(dynamodb, dynamodb_client):
    table = dynamodb.create_table({TABLE})
    table.put_item(Item={{"id": "1", "total": 12}})
    assert table.get_item(Key={{"id": "1"}})["Item"]["total"] == 12
    assert dynamodb_client.list_tables()["TableNames"] == ["orders"]

def test_client(dynamodb_client, gramme_server):
    assert dynamodb_client.list_tables()["TableNames"] == []
    made = dynamodb_client.create_table({TABLE})
    assert ":eu-west-1:" in made["TableDescription"]["TableArn"]
    assert os.environ["AWS_ENDPOINT_URL_DYNAMODB"] == gramme_server.endpoint

def test_last(gramme_tables):
    assert gramme_tables.tables() == []

def test_without():
    assert "AWS_ENDPOINT_URL_DYNAMODB" not in os.environ
""")
    done = run_python(tmp_path, "-m", "pytest", "-q", "-p", "gramme.pytest_plugin", "-p", "no:cacheprovider", "test_it.py")
    assert "4 passed" in done.stdout, done.stdout + done.stderr


def test_unittest_helper(tmp_path):
    (tmp_path / "test_it.py").write_text(f"""
import os, unittest
from gramme.testcase import DynamoDBTestCase

class TestOne(DynamoDBTestCase):
    def test_a(self):
        self.dynamodb.create_table({TABLE})
        self.assertEqual(self.dynamodb_client.list_tables()["TableNames"], ["orders"])

    def test_b(self):
        self.assertEqual(self.dynamodb_client.list_tables()["TableNames"], [])
        self.assertEqual(os.environ["AWS_ENDPOINT_URL_DYNAMODB"], self.gramme_server.endpoint)

class TestOptions(DynamoDBTestCase):
    gramme_options = ("--region", "eu-west-1")

    def test_region(self):
        self.assertIn(":eu-west-1:", self.dynamodb_client.create_table({TABLE})["TableDescription"]["TableArn"])
""")
    done = run_python(tmp_path, "-W", "error", "-m", "unittest", "-v", "test_it")
    assert "Ran 3 tests" in done.stderr and "OK" in done.stderr, done.stderr
    assert "ResourceWarning" not in done.stderr, done.stderr


def test_program_of_the_package():
    done = run_python(PACKAGE, "-m", "gramme", "version")
    assert done.stdout.startswith("gramme ")
