"""gramme copy: from RocksDB to PostgreSQL and back, also after it was killed."""

import os
import pathlib
import re
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
EMPTY_THE_TARGET = "empty the target (PostgreSQL: DROP SCHEMA gramme CASCADE; RocksDB: delete the directory) and copy again"


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
    said = copy(first, between)
    assert "are equal" in said
    assert re.search(rf"^equal: table {table}, {ITEMS} items, \d+ rows with \d+ bytes, checksum [0-9a-f]{{16}}$", said, re.MULTILINE)
    assert re.search(r" and [1-9]\d* counters are equal$", said, re.MULTILINE)
    assert contents(between, table) == contents(first, table)
    assert f"not empty: {EMPTY_THE_TARGET}" in copy(first, between, status=1)
    with Server(between) as server, Client(server.endpoint) as db:
        write(db, table, ITEMS, ITEMS + 50)  # stamps of the stream go on behind those that were copied
    before = contents(between, table)
    assert before["count"] == ITEMS + 50
    copy(between, second)
    assert contents(second, table) == before
    with Server(second) as server, Client(server.endpoint) as db:
        write(db, table, ITEMS + 50, ITEMS + 60)
    assert len(contents(second, table)["records"]) == ITEMS + 60


def rows_of(database, name):
    if database.sql("SELECT to_regclass('gramme.kv') IS NOT NULL", name) != "t":
        return 0
    return int(database.sql("SELECT count(*) FROM gramme.kv WHERE k >= '\\x00000010'", name))


def is_killed_in_the_middle(database, source, target):
    """Whether a copy could be killed before its end. It runs for moments only, and we look at what it has copied while it is stopped."""
    with subprocess.Popen([program(), "copy", source, target], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        for _ in range(5000):
            time.sleep(0.005)
            running.send_signal(signal.SIGSTOP)
            if rows_of(database, target.rsplit("/", 1)[1]) > 600:
                break
            running.send_signal(signal.SIGCONT)
        running.kill()
        status = running.wait()
    assert status in (0, -signal.SIGKILL)
    return status != 0


def kill_copy_in_the_middle(database, source):
    """Gives the name of the database with half a copy. A busy machine may let a copy run to its end: then there is another one."""
    for number in range(10):
        name = f"target{number}"
        if is_killed_in_the_middle(database, source, database.create_database(name)):
            return name
    raise AssertionError("every copy came to its end")


def test_goes_on_after_a_kill(database, tmp_path):
    source = f"rocksdb:{tmp_path / 'source'}"
    with Server(source) as server, Client(server.endpoint) as db:
        table = create_table(db, "pk sk:N", gsi={"by-a": "a"}, lsi={"by-b": "pk b"},
                             StreamSpecification=specification("NEW_AND_OLD_IMAGES"))
        for i in range(40):
            db.BatchWriteItem(RequestItems={table: [
                {"PutRequest": {"Item": item(pk=f"p{k % 20}", sk=i * 25 + k, a="a", b="b", filler="x" * 2000)}} for k in range(25)]})
    name = kill_copy_in_the_middle(database, source)
    target = database.uri(name)
    failed = subprocess.run([program(), "serve", "--listen", "127.0.0.1:0", "--store", target], text=True, capture_output=True,
                            timeout=60, check=False)
    assert failed.returncode == 1 and "not finished" in failed.stderr
    other = f"rocksdb:{tmp_path / 'other'}"
    with Server(other):
        pass
    assert "made with another seed" in copy(other, target, status=1)
    # The cursor has the seed of the store that is copied.
    other_seed = "UPDATE gramme.kv SET v = set_byte(v, 1, 255 - get_byte(v, 1)) WHERE k > '\\x00000001636f7079' AND k < '\\x00000001636f707a'"
    database.sql(other_seed, name)
    assert "unfinished copy of another store" in copy(source, target, status=1)
    database.sql(other_seed, name)
    assert "continued and finished" in copy(source, target)
    assert contents(target, table) == contents(source, table)


def test_a_changed_copy_is_noticed(database, tmp_path):
    source = f"rocksdb:{tmp_path / 'source'}"
    target = database.create_database("changed")
    with Server(source) as server, Client(server.endpoint) as db:
        table = create_table(db, "pk sk:N")
        write(db, table, 0, 50)
    copy(source, target)
    # With the cursor of a copy that has copied all rows it is compared again.
    seed = database.sql("SELECT encode(substr(v, 5, 8), 'hex') FROM gramme.kv WHERE b = 73", "changed")
    cursor = "\\x00000001" + "copy".encode().hex() + "00" * 12
    database.sql(f"INSERT INTO gramme.kv VALUES (99, '{cursor}', 0, '\\x01{seed}ffffffffff')", "changed")
    database.sql("UPDATE gramme.kv SET v = v || '\\x00' WHERE (b, k) = (SELECT b, k FROM gramme.kv WHERE k >= '\\x00000010' LIMIT 1)", "changed")
    for _ in range(2):  # the same command only compares again
        said = copy(source, target, status=1)
        assert f"the table {table} differs" in said and f"Stop its servers, {EMPTY_THE_TARGET}" in said
    database.sql("DROP SCHEMA gramme CASCADE", "changed")
    assert "finished: " in copy(source, target)


def test_a_target_that_a_server_has_used(database, tmp_path):
    source, target = f"rocksdb:{tmp_path / 'source'}", database.create_database("used")
    for store in (source, target):
        with Server(store):
            pass
    said = copy(source, target, status=1)
    assert "made with another seed, by a server or as the copy of another store" in said and EMPTY_THE_TARGET in said
    database.sql("DROP SCHEMA gramme CASCADE", "used")
    assert "finished: " in copy(source, target)


def test_a_copy_belongs_to_the_first_server(database, tmp_path):
    """A store on RocksDB has no owner; the copy of one on PostgreSQL has that of its source."""
    first = f"rocksdb:{tmp_path / 'first'}"
    names = [f"o{os.urandom(4).hex()}" for _ in range(2)]
    urls = [database.create_database(name) for name in names]
    with Server(first):
        pass
    copy(first, urls[0])
    with Server(urls[0], "--account", "111111111111", "--region", "eu-west-1"):
        pass
    copy(urls[0], urls[1])
    for url in urls:
        done = subprocess.run([program(), "serve", "--listen", "127.0.0.1:0", "--store", url], text=True, capture_output=True,
                              timeout=60, check=False)
        assert done.returncode == 1 and "belongs to account and region 111111111111/eu-west-1" in done.stderr


@pytest.mark.parametrize("url, message", [
    ("postgresql://gramme:wrong@127.0.0.1:{port}/between", "refuses the user or password"),
    ("postgresql://gramme:{password}@127.0.0.1:{port}/none", "has no such database"),
    ("postgresql://gramme:{password}@127.0.0.1:1/between", "cannot be reached"),
    ("postgresql://gramme:{password}@127.0.0.1:1/between?pool=4", "127.0.0.1:1/between cannot be reached"),
    ("postgresql://gramme:{password}@127.0.0.1:{port}/between?bogus=1", 'URL is not valid: invalid URI query parameter: "bogus"'),
    ("postgresql://gramme:{password}@127.0.0.1:{port}/between?password=wrong&bogus=1", "URL is not valid; in a user or password"),
    ("postgresql://gramme:a/b?wrong=1@127.0.0.1:{port}/between?sslmode=prefer", "URL is not valid; in a user or password"),
    ("postgresql://gramme:wrong%zz@127.0.0.1:{port}/between", "URL is not valid; in a user or password"),
    ("postgress://gramme:{password}@127.0.0.1:{port}/between", "unknown store 'postgress://gramme@127.0.0.1:"),
])
def test_clear_errors(database, url, message):
    store = url.format(port=database.port, password=database.password)
    done = subprocess.run([program(), "serve", "--listen", "127.0.0.1:0", "--store", store], text=True, capture_output=True,
                          timeout=60, check=False)
    assert done.returncode == 1 and message in done.stderr
    assert database.password not in done.stderr and "wrong" not in done.stderr


@pytest.mark.parametrize("command", [["backup", "{url}", "to"], ["backup", "from", "{url}"], ["restore", "from", "{url}"],
                                     ["repair", "{url}", "to"], ["check", "{url}"]])
@pytest.mark.parametrize("url, message", [("postgresql://gramme:secret@db1/gramme", "a store on PostgreSQL is backed up"),
                                          ("postgres://gramme:secret@db1/gramme", "a store on PostgreSQL is backed up"),
                                          ("rocksdb:./data", "without the prefix of its URL: not 'rocksdb:./data'")])
def test_commands_for_directories_refuse_urls(command, url, message, tmp_path):
    done = subprocess.run([str(pathlib.Path(program()).resolve()), *(word.format(url=url) for word in command)], text=True, capture_output=True, timeout=60,
                          check=False, cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr
    assert "secret" not in done.stderr and not list(tmp_path.iterdir())


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
