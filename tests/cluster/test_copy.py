"""gramme copy: from RocksDB to PostgreSQL and back, also after it was killed."""

import os
import signal
import subprocess
import time

import pytest

import postgresql
from kinesis import Kinesis, check_history, enable
from server import Server, program
from streams import Consumer, Streams, specification, stream_arn
from tables import create_table
from values import item, plain
from wire import Client

ITEMS = 400


@pytest.fixture(scope="module")
def database():
    with postgresql.Cluster() as cluster:
        yield cluster


def copy(source, target, status=0):
    done = subprocess.run([program(), "copy", source, target], text=True, capture_output=True, timeout=120, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def write(db, table, first, last):
    for i in range(first, last):
        db.PutItem(TableName=table, Item=item(pk=f"p{i % 20}", sk=i, a=f"a{i % 7}", b=f"b{i}"))


def contents(store, table):
    """Items, both indexes, counts, and the stream's records: per partition key in order."""
    with Server(store) as server, Client(server.endpoint) as db, Streams(server.endpoint) as streams:
        described = db.DescribeTable(TableName=table)["Table"]
        records = Consumer(streams, stream_arn(db, table)).read_all()
        last = {}
        for record in records:
            key = plain(record["dynamodb"]["Keys"])
            assert key["sk"] > last.get(key["pk"], -1)
            last[key["pk"]] = key["sk"]
        return {
            "items": db.Scan(TableName=table)["Items"],
            "by a": db.Scan(TableName=table, IndexName="by-a")["Items"],
            "by b": db.Scan(TableName=table, IndexName="by-b")["Items"],
            "count": described["ItemCount"],
            "sizes": [index["IndexSizeBytes"] for index in described["GlobalSecondaryIndexes"]],
            "records": sorted(record["eventID"] for record in records),
        }


def test_there_and_back(database, tmp_path):
    first, second = f"rocksdb:{tmp_path / 'first'}", f"rocksdb:{tmp_path / 'second'}"
    between = database.create_database("between")
    with Server(first) as server, Client(server.endpoint) as db:
        table = create_table(db, "pk sk:N", gsi={"by-a": "a"}, lsi={"by-b": "pk b"},
                             StreamSpecification=specification("NEW_AND_OLD_IMAGES"))
        write(db, table, 0, ITEMS)
    assert "are equal" in copy(first, between)
    assert contents(between, table) == contents(first, table)
    assert "not empty" in copy(first, between, status=1)
    with Server(between) as server, Client(server.endpoint) as db:
        write(db, table, ITEMS, ITEMS + 50)  # stamps of the stream go on behind those that were copied
    before = contents(between, table)
    assert before["count"] == ITEMS + 50
    copy(between, second)
    assert contents(second, table) == before
    with Server(second) as server, Client(server.endpoint) as db:
        write(db, table, ITEMS + 50, ITEMS + 60)
    assert len(contents(second, table)["records"]) == ITEMS + 60


def test_goes_on_after_a_kill(database, tmp_path):
    source = f"rocksdb:{tmp_path / 'source'}"
    target = database.create_database("target")
    with Server(source) as server, Client(server.endpoint) as db:
        table = create_table(db, "pk sk:N", gsi={"by-a": "a"}, lsi={"by-b": "pk b"},
                             StreamSpecification=specification("NEW_AND_OLD_IMAGES"))
        for i in range(40):
            db.BatchWriteItem(RequestItems={table: [
                {"PutRequest": {"Item": item(pk=f"p{k % 20}", sk=i * 25 + k, a="a", b="b", filler="x" * 2000)}} for k in range(25)]})
    running = subprocess.Popen([program(), "copy", source, target], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and running.poll() is None:
        if int(database.sql("SELECT count(*) FROM gramme.kv" if database.sql(
                "SELECT to_regclass('gramme.kv') IS NOT NULL", "target") == "t" else "SELECT 0", "target")) > 600:
            break
    running.send_signal(signal.SIGKILL)
    if running.wait() == 0:
        pytest.skip("it was quicker than we")
    failed = subprocess.run([program(), "serve", "--listen", "127.0.0.1:0", "--store", target], text=True, capture_output=True,
                            timeout=60, check=False)
    assert failed.returncode == 1 and "not finished" in failed.stderr
    assert "continued and finished" in copy(source, target)
    assert contents(target, table) == contents(source, table)


@pytest.mark.parametrize("url, message", [
    ("postgresql://gramme:wrong@127.0.0.1:{port}/between", "refuses the user or password"),
    ("postgresql://gramme:{password}@127.0.0.1:{port}/none", "has no such database"),
    ("postgresql://gramme:{password}@127.0.0.1:1/between", "cannot be reached"),
])
def test_clear_errors(database, url, message):
    store = url.format(port=database.port, password=database.password)
    done = subprocess.run([program(), "serve", "--listen", "127.0.0.1:0", "--store", store], text=True, capture_output=True,
                          timeout=60, check=False)
    assert done.returncode == 1 and message in done.stderr
    assert database.password not in done.stderr and "wrong" not in done.stderr


def test_another_account_and_another_version(database):
    url = database.create_database(f"o{os.urandom(4).hex()}")
    with Server(url, "--account", "111111111111"):
        pass

    def start(*options):
        done = subprocess.run([program(), "serve", "--listen", "127.0.0.1:0", "--store", url, *options], text=True,
                              capture_output=True, timeout=60, check=False)
        assert done.returncode == 1
        return done.stderr
    assert "belongs to account and region 111111111111/us-east-1" in start("--account", "222222222222")
    database.sql("UPDATE gramme.kv SET v = '\\x00000063' || substr(v, 5) WHERE b = 73", url.rsplit("/", 1)[1])
    assert "another version of Gramme" in start("--account", "111111111111")


def test_deliveries_to_kinesis_go_on(database, tmp_path):
    """Everything is delivered before each copy, so that only the cursors tell with which numbers the records go on."""
    stores = [f"rocksdb:{tmp_path}/first", database.create_database("kinesis"), f"rocksdb:{tmp_path}/second"]
    with Kinesis(tmp_path / "kinesis") as kinesis:
        reader, table, arn = kinesis.reader("s"), "changes", kinesis.create_stream("s")
        for number, store in enumerate(stores):
            if number > 0:
                copy(stores[number - 1], store)
            with Server(store, "--kinesis-endpoint", kinesis.endpoint) as server, Client(server.endpoint) as db:
                if number == 0:
                    enable(db, create_table(db, name=table), arn)
                for i in range(50):
                    db.PutItem(TableName=table, Item=item(pk=f"p{i % 5}", n=number * 100 + i))
                records = reader.wait(50 * (number + 1))
                assert len(records) == 50 * (number + 1)
                check_history(records, key_count=5)


def test_a_distributed_table_is_refused(database):
    """Citus lists the tables that it has distributed; here the list is ours."""
    name = f"o{os.urandom(4).hex()}"
    url = database.create_database(name)
    with Server(url):
        pass
    database.sql("SET allow_system_table_mods = on; CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass)", name)
    with Server(url):  # it is not in the list
        pass
    database.sql("SET allow_system_table_mods = on; INSERT INTO pg_catalog.pg_dist_partition VALUES ('gramme.kv')", name)
    done = subprocess.run([program(), "serve", "--listen", "127.0.0.1:0", "--store", url], text=True, capture_output=True, timeout=60,
                          check=False)
    assert done.returncode == 1 and "distributed by Citus" in done.stderr
