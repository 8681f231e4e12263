"""The same programs against every kind of DynamoDB."""

import pathlib
import sys

import pytest

import postgresql
from server import Server
from tables import create_table
from values import item
from wire import Client

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "differential"))
from servers import Oracle, oracle_is_missing  # noqa: E402


def test_operations_over_http(run_program, start_server):
    run_program("operations", start_server().endpoint)


def test_operations_in_process(run_program):
    run_program("operations", "memory:")


def test_operations_in_process_on_disk(run_program, tmp_path):
    run_program("operations", f"rocksdb:{tmp_path}/data")


def test_operations_in_process_on_postgresql(run_program, probe):
    """Also beside a server on the same database, whose tables it sees, and as another account, which is refused."""
    with postgresql.Cluster() as cluster:
        url = cluster.create_database()
        run_program("operations", url)
        run_program("threads", url)
        with Server(url) as server, Client(server.endpoint) as db:
            table = create_table(db)
            db.PutItem(TableName=table, Item=item(pk="p"))
            found = probe(url, "GetItem", {"TableName": table, "Key": item(pk="p")})
            assert found["answer"]["Item"] == {"pk": "p"}
        other = cluster.create_database("other")
        with Server(other, "--account", "111111111111"):
            pass
        assert probe(other)["code"] == "CannotOpen"


@pytest.mark.parametrize("name", ["dynoxide", "local"])
def test_operations_of_others(run_program, name):
    missing = oracle_is_missing(name)
    if missing is not None:
        pytest.skip(missing)
    oracle = Oracle(name)
    try:
        run_program("operations", oracle.endpoint, *(["local"] if name == "local" else []))
    finally:
        oracle.stop()


def test_threads_over_http(run_program, start_server):
    run_program("threads", start_server().endpoint)


def test_threads_in_process(run_program):
    run_program("threads", "memory:")


def test_what_is_on_disk_stays(probe, tmp_path):
    url = f"rocksdb:{tmp_path}/data"
    probe(url, "CreateTable", {
        "TableName": "Kept", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]})
    probe(url, "PutItem", {"TableName": "Kept", "Item": {"pk": {"S": "a"}, "n": {"N": "1"}}})
    got = probe(url, "GetItem", {"TableName": "Kept", "Key": {"pk": {"S": "a"}}})
    assert got["answer"] == {"Item": {"pk": "a", "n": 1}}


def test_a_directory_that_cannot_be_opened(probe, tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert probe(f"rocksdb:{tmp_path}/file")["code"] == "CannotOpen"
    assert probe("rocksdb:")["code"] == "BadAddress"
