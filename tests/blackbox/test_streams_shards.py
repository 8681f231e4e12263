"""Streams: shards that follow each other, their lineage, and iterators."""

import json

import pytest

import tables
from clock import TEST_CLOCK, advance_clock
from racing import race
from server import Server
from streams import Consumer, Mirror, Streams, all_shards, iterator, read_on, read_untrimmed, specification, stream_arn
from values import item, values
from waiting import poll
from wire import Client, Refused, refused

TRIMMED = "The operation attempted to read past the oldest stream record in a shard."


@pytest.fixture
def streams(endpoint):
    with Streams(endpoint) as client:
        yield client


@pytest.fixture
def start(start_server):
    """start(*options): a server; gives a client, a streams client, and a table with its stream."""
    clients = []

    def run(*options, store="memory:"):
        server = start_server(store, *options)
        db, streams = Client(server.endpoint), Streams(server.endpoint)
        clients.extend((db, streams))
        table = tables.create_table(db, StreamSpecification=specification("NEW_AND_OLD_IMAGES"))
        return db, streams, table, stream_arn(db, table)
    yield run
    for client in clients:
        client.close()


def test_description_is_paged(start):
    db, streams, table, arn = start("--stream-shards", "7")
    shards = all_shards(streams, arn)
    assert len(shards) == 7
    for limit in (1, 3, 6, 7, 100):
        assert all_shards(streams, arn, limit) == shards
    page = streams.DescribeStream(StreamArn=arn, Limit=2)["StreamDescription"]
    assert (page["Shards"], page["LastEvaluatedShardId"]) == (shards[:2], shards[1]["ShardId"])
    assert page["KeySchema"] == tables.key_schema("pk")
    assert (page["TableName"], page["StreamStatus"]) == (table, "ENABLED")
    assert page["StreamViewType"] == "NEW_AND_OLD_IMAGES"
    assert arn.endswith(f":table/{table}/stream/{page['StreamLabel']}")


CAPACITY = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}}


@pytest.mark.parametrize("settings, count", [
    ({}, 4), (CAPACITY, 1), ({**CAPACITY, "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 2500}}, 3),
])
def test_as_many_shards_as_capacity_needs(db, streams, settings, count):
    table = tables.create_table(db, StreamSpecification=specification("KEYS_ONLY"), **settings)
    assert len(all_shards(streams, stream_arn(db, table))) == count


def test_new_capacity_is_for_new_streams(db, streams):
    table = tables.create_table(db, StreamSpecification=specification("KEYS_ONLY"), **CAPACITY)
    first = stream_arn(db, table)
    db.UpdateTable(TableName=table, BillingMode="PAY_PER_REQUEST")
    assert len(all_shards(streams, first)) == 1
    db.UpdateTable(TableName=table, StreamSpecification={"StreamEnabled": False})
    db.UpdateTable(TableName=table, StreamSpecification=specification("KEYS_ONLY"))
    second = stream_arn(db, table)
    assert second != first and len(all_shards(streams, second)) == 4


def test_shards_roll_over(start):
    db, streams, table, arn = start("--stream-shards", "2", "--stream-shard-ms", "3600000", *TEST_CLOCK)
    db.PutItem(TableName=table, Item=item(pk="a", n=1))
    first = all_shards(streams, arn)
    assert all("ParentShardId" not in shard and "EndingSequenceNumber" not in shard["SequenceNumberRange"]
               for shard in first)
    advance_clock(db, 3600)
    db.PutItem(TableName=table, Item=item(pk="a", n=2))
    advance_clock(db, 7200)  # an epoch without records is one, too
    shards = all_shards(streams, arn)
    assert len(shards) == 2 * 4
    by_id = {shard["ShardId"]: shard for shard in shards}
    assert len(by_id) == 8 and all(28 <= len(name) <= 65 for name in by_id)
    for shard in shards[:-2]:
        assert "EndingSequenceNumber" in shard["SequenceNumberRange"]
    for shard in shards[-2:]:
        assert "EndingSequenceNumber" not in shard["SequenceNumberRange"]
    for shard in shards[2:]:
        parent = by_id[shard["ParentShardId"]]["SequenceNumberRange"]
        assert int(parent["StartingSequenceNumber"]) < int(parent["EndingSequenceNumber"])
        assert int(parent["EndingSequenceNumber"]) < int(shard["SequenceNumberRange"]["StartingSequenceNumber"])
    records = Consumer(streams, arn).read_all()
    assert [record["dynamodb"]["NewImage"]["n"]["N"] for record in records] == ["1", "2"]


def test_filter_gives_children(start):
    db, streams, table, arn = start("--stream-shards", "3", "--stream-shard-ms", "3600000", *TEST_CLOCK)
    advance_clock(db, 2 * 3600)
    shards = all_shards(streams, arn)

    def children(parent):
        return streams.DescribeStream(StreamArn=arn, ShardFilter={
            "Type": "CHILD_SHARDS", "ShardId": parent["ShardId"]})["StreamDescription"]["Shards"]
    for shard in shards:
        assert children(shard) == [other for other in shards if other.get("ParentShardId") == shard["ShardId"]]
    assert [len(children(shard)) for shard in shards] == [1] * 6 + [0] * 3


def test_iterator_of_a_closed_shard_ends(start):
    db, streams, table, arn = start("--stream-shards", "1", "--stream-shard-ms", "60000", *TEST_CLOCK)
    db.PutItem(TableName=table, Item=item(pk="a"))
    shard = all_shards(streams, arn)[0]["ShardId"]
    position = iterator(streams, arn, shard)
    records, position = read_on(streams, position)
    assert len(records) == 1 and position is not None
    db.PutItem(TableName=table, Item=item(pk="b"))
    advance_clock(db, 60)
    db.PutItem(TableName=table, Item=item(pk="c"))
    records, position = read_on(streams, position)
    assert [record["dynamodb"]["Keys"] for record in records] == [item(pk="b")]
    assert position is None
    end = all_shards(streams, arn)[0]["SequenceNumberRange"]["EndingSequenceNumber"]
    for kind, sequence in (("LATEST", None), ("AFTER_SEQUENCE_NUMBER", end), ("AT_SEQUENCE_NUMBER", end)):
        assert streams.GetRecords(ShardIterator=iterator(streams, arn, shard, kind, sequence)) == {"Records": []}


def test_sequence_number_of_another_shard(start):
    db, streams, table, arn = start("--stream-shards", "1", "--stream-shard-ms", "60000", *TEST_CLOCK)
    advance_clock(db, 60)
    first, second = all_shards(streams, arn)
    with refused("ValidationException"):
        iterator(streams, arn, first["ShardId"], "AT_SEQUENCE_NUMBER",
                 second["SequenceNumberRange"]["StartingSequenceNumber"])


def test_consumer_keeps_up_with_quick_roll_over(start):
    """Writers and a consumer at once, with shards of 150 ms: nothing is lost or out of order."""
    db, streams, table, arn = start("--stream-shards", "3", "--stream-shard-ms", "150")
    consumer, mirror = Consumer(streams, arn), Mirror()

    def work(client, number):
        if number == 0:
            while len({name for name, position in consumer.positions.items() if position is None}) < 9:
                mirror.apply(consumer.read_round())
            return 0
        for turn in range(400):
            client.UpdateItem(TableName=table, Key=item(pk=f"p{turn % 11}"), UpdateExpression="ADD n :n",
                              ExpressionAttributeValues=values(n=number))
        return 400
    written = sum(race(db.endpoint, 5, work))
    mirror.apply(consumer.read_all())
    assert len(mirror.event_ids) == written
    mirror.check_is(tables.all_items(db.Scan, TableName=table), ["pk"])


def test_clock_that_is_set_back_reorders_nothing(start):
    db, streams, table, arn = start("--stream-shards", "1", "--stream-shard-ms", "60000", *TEST_CLOCK)
    mirror = Mirror()
    for turn, seconds in enumerate((0, 130, -100, 65, -60)):
        advance_clock(db, seconds)
        db.PutItem(TableName=table, Item=item(pk="a", n=turn))
        mirror.apply(Consumer(streams, arn).read_all()[turn:])
    records = Consumer(streams, arn).read_all()
    assert [record["dynamodb"]["NewImage"]["n"]["N"] for record in records] == list("01234")


def test_closed_shards_stay_closed_after_a_restart_with_an_earlier_clock(start, tmp_path):
    options = ("--stream-shards", "1", "--stream-shard-ms", "3600000", *TEST_CLOCK)
    store = f"rocksdb:{tmp_path}/data"
    with Server(store, *options) as server, Client(server.endpoint) as db, Streams(server.endpoint) as streams:
        table = tables.create_table(db, StreamSpecification=specification("NEW_AND_OLD_IMAGES"))
        arn = stream_arn(db, table)
        db.PutItem(TableName=table, Item=item(pk="a", n=1))
        advance_clock(db, 3600)
        before = all_shards(streams, arn)
        assert "EndingSequenceNumber" in before[0]["SequenceNumberRange"]
    with Server(store, *options) as server, Client(server.endpoint) as db, Streams(server.endpoint) as streams:
        assert all_shards(streams, arn) == before  # a restart forgets the test clock
        db.PutItem(TableName=table, Item=item(pk="a", n=2))
        old, _ = read_on(streams, iterator(streams, arn, before[0]["ShardId"]))
        assert [record["dynamodb"]["NewImage"] for record in old] == [item(pk="a", n=1)]
        assert len(Consumer(streams, arn).read_all()) == 2


def test_records_stay_in_order_after_a_restart_with_an_earlier_clock(tmp_path):
    """Nobody asked for shards before the restart: the records alone tell how late it was."""
    options = ("--stream-shards", "1", "--stream-shard-ms", "3600000", *TEST_CLOCK)
    store = f"rocksdb:{tmp_path}/data"
    with Server(store, *options) as server, Client(server.endpoint) as db:
        table = tables.create_table(db, StreamSpecification=specification("NEW_AND_OLD_IMAGES"))
        arn = stream_arn(db, table)
        advance_clock(db, 4000)
        db.PutItem(TableName=table, Item=item(pk="a", n=1))
    with Server(store, *options) as server, Client(server.endpoint) as db, Streams(server.endpoint) as streams:
        db.PutItem(TableName=table, Item=item(pk="a", n=2))
        mirror = Mirror()
        mirror.apply(Consumer(streams, arn).read_all())
        assert len(mirror.event_ids) == 2


def test_iterator_expires(start):
    db, streams, table, arn = start(*TEST_CLOCK)
    shard = all_shards(streams, arn)[0]["ShardId"]
    position = iterator(streams, arn, shard)
    advance_clock(db, 14 * 60)
    fresh = streams.GetRecords(ShardIterator=position)["NextShardIterator"]
    advance_clock(db, 60)
    with refused("ExpiredIteratorException"):
        streams.GetRecords(ShardIterator=position)
    assert streams.GetRecords(ShardIterator=fresh)["Records"] == []


def hours(count):
    return count * 3600


def test_old_records_are_trimmed(start):
    db, streams, table, arn = start("--stream-shards", "1", *TEST_CLOCK)
    db.PutItem(TableName=table, Item=item(pk="a", n=1))
    shard = all_shards(streams, arn)[0]["ShardId"]
    (record,), _ = read_on(streams, iterator(streams, arn, shard))
    advance_clock(db, hours(2))
    db.PutItem(TableName=table, Item=item(pk="a", n=2))
    advance_clock(db, hours(22) + 5)
    old = record["dynamodb"]["SequenceNumber"]

    def first_images():
        found = read_untrimmed(streams, arn, shard)
        return [change["dynamodb"]["NewImage"]["n"]["N"] for change in found] == ["2"]
    poll(first_images, 30, "the first record is trimmed")
    with refused("TrimmedDataAccessException", TRIMMED):
        iterator(streams, arn, shard, "AT_SEQUENCE_NUMBER", old)
    found, _ = read_on(streams, iterator(streams, arn, shard, "AFTER_SEQUENCE_NUMBER", old))
    assert len(found) == 1
    start_number = all_shards(streams, arn)[0]["SequenceNumberRange"]["StartingSequenceNumber"]
    with refused("TrimmedDataAccessException", TRIMMED):
        iterator(streams, arn, shard, "AT_SEQUENCE_NUMBER", start_number)


def test_iterator_to_what_was_trimmed_meanwhile(start):
    db, streams, table, arn = start("--stream-shards", "1", *TEST_CLOCK)
    db.PutItem(TableName=table, Item=item(pk="a"))
    shard = all_shards(streams, arn)[0]["ShardId"]
    advance_clock(db, hours(24) - 300)
    position = iterator(streams, arn, shard)
    assert streams.GetRecords(ShardIterator=position)["Records"]
    advance_clock(db, 400)

    def is_trimmed():
        try:
            streams.GetRecords(ShardIterator=position)
            return False
        except Refused as refusal:
            assert (refusal.type, refusal.message) == ("TrimmedDataAccessException", TRIMMED)
            return True
    poll(is_trimmed, 30, "the record is trimmed")


def test_idle_iterator_is_not_disturbed_by_trimming(start):
    """Trimming of parent shards does not affect the child."""
    db, streams, table, arn = start("--stream-shards", "1", "--stream-shard-ms", "36000000", *TEST_CLOCK)
    db.PutItem(TableName=table, Item=item(pk="a"))
    advance_clock(db, hours(24) - 300)
    position = iterator(streams, arn, all_shards(streams, arn)[-1]["ShardId"])
    advance_clock(db, 400)
    first = all_shards(streams, arn)[0]["ShardId"]
    poll(lambda: read_untrimmed(streams, arn, first) == [], 30, "the record is trimmed")
    assert streams.GetRecords(ShardIterator=position)["Records"] == []
    db.PutItem(TableName=table, Item=item(pk="b"))
    assert len(read_on(streams, position)[0]) == 1


def test_old_shards_are_gone(start):
    db, streams, table, arn = start("--stream-shards", "2", *TEST_CLOCK)
    db.PutItem(TableName=table, Item=item(pk="a"))
    first = all_shards(streams, arn)[0]["ShardId"]
    advance_clock(db, hours(27))
    assert len(all_shards(streams, arn)) == 2 * 7
    position = iterator(streams, arn, first)
    advance_clock(db, hours(1) - 60)
    assert all_shards(streams, arn)[0]["ShardId"] == first
    advance_clock(db, 61)
    shards = all_shards(streams, arn)
    assert first not in {shard["ShardId"] for shard in shards}
    assert shards[0]["ParentShardId"] == first  # as the service has it: the parent is not listed any more
    with refused("ResourceNotFoundException", "Shard does not exist"):
        iterator(streams, arn, first)
    with refused("ExpiredIteratorException"):
        streams.GetRecords(ShardIterator=position)
    assert Consumer(streams, arn).read_all() == []


def test_made_up_iterators_are_refused(start):
    db, streams, table, arn = start()
    position = iterator(streams, arn, all_shards(streams, arn)[0]["ShardId"])
    texts = ["x", arn, f"{arn}|1|", f"{arn}|1|AAAA", position[:-1], position + "A", position.replace(table, "other"),
             position[:-4] + "AAAA", position[::-1], "|" * 2048, "\u0000" * 60, "é" * 60]
    for text in texts:
        with refused("ValidationException", "Invalid ShardIterator"):
            streams.GetRecords(ShardIterator=text)
    for text in ("", "x" * 2049):
        with refused("ValidationException"):
            streams.GetRecords(ShardIterator=text)
    assert streams.send("GetRecords", json.dumps({"ShardIterator": 1}).encode(),
                        prefix="DynamoDBStreams_20120810.").status == 400
