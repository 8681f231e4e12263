"""The applications, on a server over HTTP and on the engine in the same process; with --db URL on
that DynamoDB only, which may be another implementation."""

import pytest

from rest import Rest
from server import Apps, Server


def pytest_addoption(parser):
    parser.addoption("--db", help="a DynamoDB to run the applications on, instead of our own")
    parser.addoption("--short-transactions", action="store_true",
                     help="leave out what needs transactions of more than 10 actions")


def pytest_generate_tests(metafunc):
    if "apps_db" in metafunc.fixturenames:
        url = metafunc.config.getoption("db")
        metafunc.parametrize("apps_db", [url] if url else ["http", "memory:"], scope="session",
                             indirect=True)


@pytest.fixture(scope="session")
def apps_db(request):
    """The address of a DynamoDB for gramme-apps."""
    if request.param != "http":
        yield request.param
        return
    with Server("memory:") as server:
        yield server.endpoint


@pytest.fixture(scope="session")
def apps(apps_db):
    with Apps(apps_db) as process:
        yield process


@pytest.fixture
def strict_db(request):
    """For what the service does, and so do we, but not every other implementation."""
    if request.config.getoption("db"):
        pytest.skip("other implementations take it")


def api(name):
    @pytest.fixture(scope="session", name=name)
    def client(apps):
        return Rest(f"{apps.endpoint}/{name}/api")
    return client


calls = api("calls")
reconciliation = api("reconciliation")
calendar = api("calendar")
tickets = api("tickets")
tasks = api("tasks")
