"""The applications, on a server over HTTP and on the engine in the same process; the data layer on Dynoxide too. With
--db URL, --db dynoxide or --db local (DynamoDB Local, after tools/setup oracle) all of them on that DynamoDB only. With
--db signed on a server with --auth on, where the applications may do what their policies allow and nothing else."""

import contextlib
import sys

import pytest

from app_users import PREFIX, ROOT_KEY, credentials_file, use_key, use_profiles, users_file
from rest import Rest
from server import ROOT, Apps, Server

sys.path.insert(0, str(ROOT / "tests/differential"))
from servers import Oracle  # noqa: E402

OTHERS = ("dynoxide", "local")
DATA_LAYER = {"test_calendar", "test_calls", "test_reconciliation", "test_tasks", "test_tickets"}  # quick enough to run on Dynoxide each time
# What the service refuses, and so do we and DynamoDB Local, but these take.
NOT_STRICT = {"dynoxide": "Dynoxide does not check that a start key belongs to the query"}


def pytest_addoption(parser):
    parser.addoption("--every-part", action="store_true", help="leave out each part of each policy, not just those of the tickets")
    parser.addoption("--db", help="a DynamoDB to run the applications on, instead of our own: URL, dynoxide, local or signed")


def pytest_generate_tests(metafunc):
    if "apps_db" not in metafunc.fixturenames:
        return
    other = metafunc.config.getoption("db")
    databases = [other] if other else ["http", "memory:"]
    if "start" in metafunc.fixturenames and not other:
        databases = ["http"]  # another process must reach it
    if "start" in metafunc.fixturenames and other == "memory:":
        databases = [pytest.param(other, marks=pytest.mark.skip(reason="the poller is a process of its own, and cannot reach it"))]
    if not other and metafunc.module.__name__.rpartition(".")[2] in DATA_LAYER and "strict_db" not in metafunc.fixturenames:
        databases.append("dynoxide")
    metafunc.parametrize("apps_db", databases, scope="session", indirect=True)


@contextlib.contextmanager
def signed(directory):
    """A server with --auth on whose tables root has made; what is started then has the applications' keys."""
    patch = pytest.MonkeyPatch()
    with Server("memory:", "--auth", "on", "--users", str(users_file(directory))) as server:
        use_key(patch, ROOT_KEY)
        with Apps(server.endpoint):
            pass
        use_profiles(patch, credentials_file(directory))
        Apps.OPTIONS_AT[server.endpoint] = ["--profiles", PREFIX]
        yield server.endpoint
    patch.undo()


@pytest.fixture(scope="session")
def apps_db(request, tmp_path_factory):
    """The address of a DynamoDB for gramme-apps."""
    if request.param == "http":
        with Server("memory:") as server:
            yield server.endpoint
    elif request.param == "signed":
        with signed(tmp_path_factory.mktemp("users")) as endpoint:
            yield endpoint
    elif request.param in OTHERS:
        oracle = Oracle(request.param)
        yield oracle.endpoint
        oracle.stop()
    else:
        yield request.param


@pytest.fixture(scope="session")
def apps(apps_db):
    with Apps(apps_db) as process:
        yield process


@pytest.fixture
def strict_db(request):
    reason = NOT_STRICT.get(request.config.getoption("db"))
    if reason:
        pytest.skip(reason)


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
