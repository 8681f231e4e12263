"""Fixtures of every Python suite: servers, clients and tables.

GRAMME names the program (default build/gramme). GRAMME_ENDPOINT makes the tests talk to that
address instead, to compare with another implementation; what needs a server of its own is then
skipped."""

import contextlib
import os

import boto3
import pytest

import tables
from boto_config import boto3_config
from server import Server
from wire import Client, Refused


class SharedServer:
    """The server of most tests: one in memory, its tables with unique names. If a test brings it
    down, that test fails and the next ones get a new one at the same address."""

    def __init__(self):
        self.server = Server("memory:")
        self.endpoint = self.server.endpoint

    def revive(self):
        if self.server.process.poll() is None:
            return
        log = self.server.log()
        self.server = Server("memory:", port=self.server.port)
        pytest.fail(f"the server died during this test:\n{log}")


@pytest.fixture(scope="session")
def shared_server():
    if "GRAMME_ENDPOINT" in os.environ:
        yield None
        return
    shared = SharedServer()
    yield shared
    shared.server.stop()


@pytest.fixture(scope="session")
def endpoint(shared_server):
    return shared_server.endpoint if shared_server else os.environ["GRAMME_ENDPOINT"]


@pytest.fixture(autouse=True)
def server_outlives_test(shared_server):
    yield
    if shared_server:
        shared_server.revive()


@pytest.fixture
def db(endpoint):
    with Client(endpoint) as client:
        yield client


@pytest.fixture
def make_table(endpoint):
    """make_table("pk sk:N", gsi={"g": "a b"}) makes a table, gone after the test; gives its name."""
    yield from _table_maker(endpoint)


@pytest.fixture(scope="module")
def make_module_table(endpoint):
    """The same for tables that all tests of a file read."""
    yield from _table_maker(endpoint)


def _table_maker(endpoint):
    names = []

    def make(key="pk", **more):
        with Client(endpoint) as client:
            names.append(tables.create_table(client, key, **more))
        return names[-1]
    yield make
    with Client(endpoint) as client:
        for name in names:
            with contextlib.suppress(Refused):  # the test may have deleted it itself
                client.DeleteTable(TableName=name)


@pytest.fixture
def start_server():
    """start_server(store, *options): a server of this test alone, stopped after it."""
    if "GRAMME_ENDPOINT" in os.environ:
        pytest.skip("needs a server of its own")
    started = []

    def start(store="memory:", *options):
        started.append(Server(store, *options))
        return started[-1]
    yield start
    for server in started:
        if server.process.poll() is None:
            server.stop()


@pytest.fixture(scope="session")
def boto(endpoint):
    """boto3's client."""
    return boto3.client("dynamodb", endpoint_url=endpoint, **boto3_config())


@pytest.fixture(scope="session")
def resource(endpoint):
    """boto3's resource: tables as objects, values in Python's types."""
    return boto3.resource("dynamodb", endpoint_url=endpoint, **boto3_config())
