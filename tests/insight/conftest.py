"""A server of its own for each test, in memory, with what it knows of itself."""

import pytest

from insight import Insight
from wire import Client


@pytest.fixture
def server(start_server):
    return start_server("memory:")


@pytest.fixture
def db(server):
    with Client(server.endpoint) as client:
        yield client


@pytest.fixture
def insight(server):
    return Insight(server.endpoint)
