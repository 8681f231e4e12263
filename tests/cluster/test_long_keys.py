"""The longest keys on PostgreSQL, of random bytes: its index takes rows of at most 2,704 bytes and would not shorten them."""

import os
import random

import pytest

import postgresql
from backups import create_backup, restore
from server import Server
from streams import Consumer, Streams, specification, stream_arn
from tables import all_items, create_table, definitions, index_request, wait_active
from values import av, item, values
from wire import Client, refused

HASH_MAX, RANGE_MAX = 2048, 1024  # bytes of key attributes


@pytest.fixture(scope="module")
def server():
    with postgresql.Cluster() as database, Server(database.create_database()) as started:
        yield started


@pytest.fixture
def db(server):
    with Client(server.endpoint) as client:
        yield client


def noise(dice, count):
    """Also the bytes that are escaped in stored keys."""
    return dice.choice([dice.randbytes(count), bytes(count), b"\xff" * count])


def test_longest_keys(server, db):
    table = create_table(db, "pk:B sk:B", gsi={"gsi": "gh:B gr:B"}, lsi={"lsi": "pk:B lr:B"},
                         StreamSpecification=specification("NEW_AND_OLD_IMAGES"))
    dice = random.Random(20)
    pk = dice.randbytes(HASH_MAX)
    items = [item(pk=pk, sk=noise(dice, RANGE_MAX - 1) + bytes([number]), gh=dice.randbytes(HASH_MAX), gr=noise(dice, RANGE_MAX),
                  lr=noise(dice, RANGE_MAX), n=number) for number in range(12)]
    for each in items[:6]:
        db.PutItem(TableName=table, Item=each)
    db.BatchWriteItem(RequestItems={table: [{"PutRequest": {"Item": each}} for each in items[6:9]]})
    db.TransactWriteItems(TransactItems=[{"Put": {"TableName": table, "Item": each}} for each in items[9:]])

    def numbers(found):
        return sorted(int(each["n"]["N"]) for each in found)
    for each in items:
        key = {"pk": each["pk"], "sk": each["sk"]}
        assert db.GetItem(TableName=table, Key=key, ConsistentRead=True)["Item"] == each
        entries = all_items(db.Query, TableName=table, IndexName="gsi", KeyConditionExpression="gh = :h AND gr = :r",
                            ExpressionAttributeValues={":h": each["gh"], ":r": each["gr"]})
        assert entries == [each]
    for more in ({}, {"IndexName": "gsi"}, {"IndexName": "lsi"}):
        assert numbers(all_items(db.Scan, TableName=table, Limit=5, **more)) == list(range(12))
    for more in ({}, {"IndexName": "lsi"}):
        assert numbers(all_items(db.Query, TableName=table, KeyConditionExpression="pk = :p", Limit=5,
                                 ExpressionAttributeValues={":p": av(pk)}, **more)) == list(range(12))
    for each in items[:4]:
        db.DeleteItem(TableName=table, Key={"pk": each["pk"], "sk": each["sk"]})
    described = db.DescribeTable(TableName=table)["Table"]
    counts = [described["ItemCount"], *(index["ItemCount"] for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
                                        for index in described[kind])]
    assert counts == [8, 8, 8]
    with Streams(server.endpoint) as streams:
        assert len(Consumer(streams, stream_arn(db, table)).read_all()) == 12 + 4


def test_index_keys_that_do_not_fit(db):
    """Four sort key attributes of an index can have 4,096 bytes. That is too much here: it is said, and nothing is written."""
    key = "g r1:B,r2:B,r3:B,r4:B"
    table = create_table(db, "pk", gsi={"gsi": key})
    long = item(pk="long", g="g", **{f"r{number}": os.urandom(RANGE_MAX) for number in range(1, 5)})
    short = item(pk="short", g="g", **{f"r{number}": os.urandom(400) for number in range(1, 5)})
    with refused("ValidationException"):
        db.PutItem(TableName=table, Item=long)
    with refused("TransactionCanceledException"):
        db.TransactWriteItems(TransactItems=[{"Put": {"TableName": table, "Item": each}} for each in (short, long)])
    db.PutItem(TableName=table, Item=short)
    assert db.Scan(TableName=table)["Items"] == db.Scan(TableName=table, IndexName="gsi")["Items"] == [short]


def test_index_is_created_over_keys_that_do_not_fit(db):
    """An item that the index cannot take is left out, as one whose key has the wrong type."""
    key = "g r1:B,r2:B,r3:B,r4:B"
    table = create_table(db, "pk")
    long = item(pk="long", g="g", **{f"r{number}": os.urandom(RANGE_MAX) for number in range(1, 5)})
    short = item(pk="short", g="g", **{f"r{number}": os.urandom(400) for number in range(1, 5)})
    for each in (long, short):
        db.PutItem(TableName=table, Item=each)
    db.UpdateTable(TableName=table, AttributeDefinitions=definitions("pk", key),
                   GlobalSecondaryIndexUpdates=[{"Create": index_request("gsi", key)}])
    wait_active(db, table)
    assert db.Scan(TableName=table, IndexName="gsi")["Items"] == [short]

    def update(expression, **named):
        db.UpdateItem(TableName=table, Key=item(pk="long"), UpdateExpression=expression, ExpressionAttributeValues=values(**named))
    update("SET touched = :one", one=1)  # does not touch the key
    with refused("ValidationException"):
        update("SET r1 = :r", r=os.urandom(RANGE_MAX))
    update("SET r1 = :r, r2 = :r", r=b"short")
    assert len(db.Scan(TableName=table, IndexName="gsi")["Items"]) == 2


def test_restore_of_keys_that_do_not_fit(db):
    """What the index of the source did not take the index of the new table leaves out as well."""
    key = "g r1:B,r2:B,r3:B,r4:B"
    table = create_table(db, "pk")
    long = item(pk="long", g="g", **{f"r{number}": os.urandom(RANGE_MAX) for number in range(1, 5)})
    db.PutItem(TableName=table, Item=long)
    db.UpdateTable(TableName=table, AttributeDefinitions=definitions("pk", key),
                   GlobalSecondaryIndexUpdates=[{"Create": index_request("gsi", key)}])
    wait_active(db, table)
    restore(db, create_backup(db, table), "long-restored")
    assert db.Scan(TableName="long-restored")["Items"] == [long]
    assert db.Scan(TableName="long-restored", IndexName="gsi")["Items"] == []
