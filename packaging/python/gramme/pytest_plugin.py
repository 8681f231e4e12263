"""Fixtures for pytest. A session has one server, in memory; with pytest-xdist each worker is a session of its own.

    def test_it(dynamodb):              # a boto3 resource; dynamodb_client is a client
        table = dynamodb.create_table(...)

All tables are deleted after each test that used one of them."""

import pytest

import gramme


def pytest_addoption(parser):
    group = parser.getgroup("gramme", "Gramme, a DynamoDB-compatible database")
    group.addoption("--gramme-option", action="append", default=[], metavar="OPTION",
                    help="an option of `gramme serve`, such as --test-clock=on; may be repeated")
    parser.addini("gramme_options", "options of `gramme serve`", type="args", default=[])


@pytest.fixture(scope="session")
def gramme_server(request):
    """The server of the session: a gramme.Server."""
    options = [*request.config.getini("gramme_options"), *request.config.getoption("--gramme-option")]
    with gramme.start(*options) as server:
        yield server


@pytest.fixture
def gramme_tables(gramme_server, monkeypatch):
    """For tests whose code makes its own boto3 clients: AWS_ENDPOINT_URL_DYNAMODB leads to the server (boto3 from 1.28 on).
    Afterwards all tables are deleted."""
    for name, value in gramme_server.environment().items():
        monkeypatch.setenv(name, value)
    yield gramme_server
    gramme_server.reset()


@pytest.fixture(scope="session")
def _gramme_resource(gramme_server):
    return gramme_server.resource()


@pytest.fixture(scope="session")
def _gramme_client(gramme_server):
    return gramme_server.client()


@pytest.fixture
def dynamodb(gramme_tables, _gramme_resource):
    """boto3's resource of DynamoDB, without tables."""
    return _gramme_resource


@pytest.fixture
def dynamodb_client(gramme_tables, _gramme_client):
    """boto3's client of DynamoDB, without tables."""
    return _gramme_client
