"""A database that a server of the format before has left: opened, upgraded without loss, and used like any other."""

import gzip
import pathlib
import subprocess

import pytest

import postgresql
from backups import create_backup, everything, restore
from server import Server, program
from streams import Consumer, Streams, stream_arn
from values import item
from waiting import poll
from wire import Client

DUMP = pathlib.Path(__file__).resolve().parent / "data" / "format1.sql.gz"  # of pg_dump, without \restrict
IDENTITY = "SELECT encode(substr(v, 1, 4), 'hex') FROM gramme.kv WHERE b = 73"


@pytest.fixture
def database():
    with postgresql.Cluster() as cluster:
        url = cluster.create_database()
        subprocess.run([str(cluster.bin / "psql"), "-Xq", "-v", "ON_ERROR_STOP=1", url], input=gzip.decompress(DUMP.read_bytes()),
                       stdout=subprocess.DEVNULL, check=True)
        cluster.url = url
        yield cluster


def numbers(db, **more):
    return sorted(int(row["number"]["N"]) for row in db.Scan(TableName="Old", **more)["Items"])


def test_a_database_of_format_1_is_upgraded(database):
    """With an index, a stream and a tag; 60 items were put, and item 0 was deleted."""
    assert database.sql(IDENTITY, "gramme") == "00000001"
    server = Server(database.url)
    assert server.log().count("was upgraded to format 2") == 1
    assert database.sql(IDENTITY, "gramme") == "00000002"
    with Client(server.endpoint) as db, Streams(server.endpoint) as streams:
        assert numbers(db) == numbers(db, IndexName="by-number") == list(range(1, 60))
        table = db.DescribeTable(TableName="Old")["Table"]
        assert table["ItemCount"] == 59 and table["StreamSpecification"]["StreamEnabled"]
        assert db.ListTagsOfResource(ResourceArn=table["TableArn"])["Tags"] == [{"Key": "kind", "Value": "old"}]
        db.PutItem(TableName="Old", Item=item(pk="item-60", number=60))
        consumer = Consumer(streams, stream_arn(db, "Old"))
        poll(lambda: item(pk="item-60") in [record["dynamodb"]["Keys"] for record in consumer.read_round()], 30, "the new item")
        before = everything(db, "Old")
        arn = create_backup(db, "Old")
        db.DeleteItem(TableName="Old", Key=item(pk="item-1"))
        restore(db, arn, "restored")
        assert everything(db, "restored") == before
    server.kill()
    with Server(database.url) as server, Client(server.endpoint) as db:
        assert "upgraded" not in server.log()
        assert numbers(db) == list(range(2, 61))


def test_a_newer_format_is_refused(database):
    database.sql("UPDATE gramme.kv SET v = decode('00000009', 'hex') || substr(v, 5) WHERE b = 73", "gramme")
    done = subprocess.run([program(), "serve", "--listen", "127.0.0.1:0", "--store", database.url], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "was made by another version of Gramme (format 9, this is 2)" in done.stderr, done
    assert database.sql(IDENTITY, "gramme") == "00000009"
