"""Streams: enabled and disabled, their tables deleted, servers restarted."""

import pytest

import tables
from clock import TEST_CLOCK, advance_clock
from racing import race
from server import Server
from streams import Consumer, Mirror, Streams, all_shards, iterator, read_on, read_untrimmed, specification, stream_arn
from values import item, values
from waiting import poll
from wire import Client, Refused, refused


@pytest.fixture
def streams(endpoint):
    with Streams(endpoint) as client:
        yield client


def enable(db, table, view="NEW_AND_OLD_IMAGES"):
    answer = db.UpdateTable(TableName=table, StreamSpecification=specification(view))["TableDescription"]
    assert answer["StreamSpecification"] == specification(view)
    assert answer["LatestStreamArn"].endswith("/stream/" + answer["LatestStreamLabel"])
    return answer["LatestStreamArn"]


def disable(db, table):
    return db.UpdateTable(TableName=table, StreamSpecification={"StreamEnabled": False})["TableDescription"]


def describe(streams, arn):
    return streams.DescribeStream(StreamArn=arn)["StreamDescription"]


def test_enabled_later(db, streams, make_table):
    table = make_table()
    db.PutItem(TableName=table, Item=item(pk="a", n=1))
    arn = enable(db, table)
    assert stream_arn(db, table) == arn
    db.PutItem(TableName=table, Item=item(pk="a", n=2))
    (record,) = Consumer(streams, arn).read_all()
    assert (record["eventName"], record["dynamodb"]["OldImage"]) == ("MODIFY", item(pk="a", n=1))


def test_disabled_stream_can_be_read_on(db, streams, make_table):
    table = make_table(StreamSpecification=specification("KEYS_ONLY"))
    arn = stream_arn(db, table)
    db.PutItem(TableName=table, Item=item(pk="a"))
    open_positions = {shard["ShardId"]: iterator(streams, arn, shard["ShardId"]) for shard in all_shards(streams, arn)}
    answer = disable(db, table)
    assert "StreamSpecification" not in answer and answer["LatestStreamArn"] == arn
    db.PutItem(TableName=table, Item=item(pk="b"))
    description = describe(streams, arn)
    assert description["StreamStatus"] == "DISABLED"
    assert all("EndingSequenceNumber" in shard["SequenceNumberRange"] for shard in description["Shards"])
    read = [read_on(streams, position) for position in open_positions.values()]
    assert [record["dynamodb"]["Keys"] for records, _ in read for record in records] == [item(pk="a")]
    assert all(position is None for _, position in read)


def test_enabled_again_is_another_stream(db, streams, make_table):
    table = make_table(StreamSpecification=specification("NEW_IMAGE"))
    arns = [stream_arn(db, table)]
    for turn in range(3):
        db.PutItem(TableName=table, Item=item(pk="a", n=turn))
        disable(db, table)
        arns.append(enable(db, table, "KEYS_ONLY"))
    assert len(set(arns)) == 4
    found = streams.ListStreams(TableName=table)["Streams"]
    assert sorted(stream["StreamArn"] for stream in found) == sorted(arns)
    assert [len(Consumer(streams, arn).read_all()) for arn in arns] == [1, 1, 1, 0]
    assert [describe(streams, arn)["StreamStatus"] for arn in arns] == ["DISABLED"] * 3 + ["ENABLED"]
    assert [describe(streams, arn)["StreamViewType"] for arn in arns] == ["NEW_IMAGE"] + ["KEYS_ONLY"] * 3


def test_refusals(db, make_table):
    table = make_table()
    with refused("ValidationException", f"Table has no stream to disable: TableName: {table}"):
        disable(db, table)
    enable(db, table)
    for view in ("NEW_AND_OLD_IMAGES", "KEYS_ONLY"):
        with refused("ValidationException", f"Table already has an enabled stream: TableName: {table}"):
            enable(db, table, view)
    with refused("ValidationException"):
        db.UpdateTable(TableName=table, StreamSpecification={"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"})
    disable(db, table)
    with refused("ValidationException"):
        db.UpdateTable(TableName=table, StreamSpecification={"StreamEnabled": True})


def test_stream_outlives_its_table(db, streams, make_table):
    table = make_table(StreamSpecification=specification("NEW_AND_OLD_IMAGES"))
    arn = stream_arn(db, table)
    db.PutItem(TableName=table, Item=item(pk="a"))
    db.DeleteTable(TableName=table)
    assert describe(streams, arn)["StreamStatus"] == "DISABLED"
    (record,) = Consumer(streams, arn).read_all()  # the table's items are not removed one by one
    assert record["eventName"] == "INSERT"
    tables.create_table(db, name=table, StreamSpecification=specification("NEW_AND_OLD_IMAGES"))
    new = stream_arn(db, table)
    assert new != arn
    db.PutItem(TableName=table, Item=item(pk="b"))
    assert len(Consumer(streams, arn).read_all()) == len(Consumer(streams, new).read_all()) == 1
    assert len(streams.ListStreams(TableName=table)["Streams"]) == 2


def test_list_is_paged(start_server):
    server = start_server()
    with Client(server.endpoint) as db, Streams(server.endpoint) as streams:
        assert streams.ListStreams() == {"Streams": []}
        names = sorted(tables.create_table(db, StreamSpecification=specification("KEYS_ONLY")) for _ in range(5))
        disable(db, names[0])
        enable(db, names[0])
        everything = streams.ListStreams()["Streams"]
        assert [stream["TableName"] for stream in everything] == sorted([names[0], *names])
        found, start = [], {}
        while True:
            page = streams.ListStreams(Limit=2, **start)
            found += page["Streams"]
            if "LastEvaluatedStreamArn" not in page:
                break
            start = {"ExclusiveStartStreamArn": page["LastEvaluatedStreamArn"]}
        assert found == everything
        assert streams.ListStreams(TableName="nobody") == {"Streams": []}


def test_restart_keeps_everything(tmp_path):
    store = f"rocksdb:{tmp_path}/data"
    with Server(store) as server, Client(server.endpoint) as db, Streams(server.endpoint) as streams:
        table = tables.create_table(db, StreamSpecification=specification("NEW_AND_OLD_IMAGES"))
        old = stream_arn(db, table)
        db.PutItem(TableName=table, Item=item(pk="a", n=1))
        disable(db, table)
        arn = enable(db, table)
        db.PutItem(TableName=table, Item=item(pk="a", n=2))
        before = [describe(streams, each) for each in (old, arn)], streams.ListStreams()
        position = iterator(streams, arn, all_shards(streams, arn)[0]["ShardId"])
    with Server(store) as server, Client(server.endpoint) as db, Streams(server.endpoint) as streams:
        assert ([describe(streams, each) for each in (old, arn)], streams.ListStreams()) == before
        db.PutItem(TableName=table, Item=item(pk="a", n=3))
        numbers = [[record["dynamodb"]["NewImage"]["n"]["N"] for record in Consumer(streams, each).read_all()]
                   for each in (old, arn)]
        assert numbers == [["1"], ["2", "3"]]
        assert "Records" in streams.GetRecords(ShardIterator=position)


def test_trimmed_stays_trimmed_after_a_restart(tmp_path):
    store, options = f"rocksdb:{tmp_path}/data", ("--stream-shards", "1", *TEST_CLOCK)
    with Server(store, *options) as server, Client(server.endpoint) as db, Streams(server.endpoint) as streams:
        table = tables.create_table(db, StreamSpecification=specification("NEW_AND_OLD_IMAGES"))
        arn = stream_arn(db, table)
        for number in range(3):
            db.PutItem(TableName=table, Item=item(pk="a", n=number))
        shard = all_shards(streams, arn)[0]["ShardId"]
        records, _ = read_on(streams, iterator(streams, arn, shard))
        advance_clock(db, 24 * 3600 + 5)
        poll(lambda: read_untrimmed(streams, arn, shard) == [], 30, "all is trimmed")
    with Server(store, *options) as server, Streams(server.endpoint) as streams:
        for record in records:
            with refused("TrimmedDataAccessException"):
                iterator(streams, arn, shard, "AT_SEQUENCE_NUMBER", record["dynamodb"]["SequenceNumber"])


def read_while_shards_go(streams, arn):
    """Whether all records can be read; not if a shard is trimmed between its listing and its first read."""
    try:
        return len(Consumer(streams, arn).read_all()) == 1
    except Refused as error:
        assert error.type == "ResourceNotFoundException"
        return False


@pytest.mark.parametrize("end", ["disable", "delete"])
def test_ended_stream_goes_after_its_time(start_server, end):
    server = start_server("memory:", *TEST_CLOCK)
    with Client(server.endpoint) as db, Streams(server.endpoint) as streams:
        table = tables.create_table(db, StreamSpecification=specification("NEW_AND_OLD_IMAGES"))
        arn = stream_arn(db, table)
        advance_clock(db, 12 * 3600)
        db.PutItem(TableName=table, Item=item(pk="a"))
        if end == "disable":
            disable(db, table)
        else:
            db.DeleteTable(TableName=table)
        advance_clock(db, 24 * 3600 - 60)
        poll(lambda: read_while_shards_go(streams, arn), 30, "the records can be read")
        advance_clock(db, 120)
        poll(lambda: streams.ListStreams()["Streams"] == [], 30, "the stream is gone")
        with refused("ResourceNotFoundException"):
            describe(streams, arn)
        with refused("ResourceNotFoundException"):
            iterator(streams, arn, "shardId-00000001431379295291-00000003")


def test_short_retention_needs_no_clock(start_server):
    server = start_server("memory:", "--stream-retention-ms", "300", "--stream-shard-ms", "100")
    with Client(server.endpoint) as db, Streams(server.endpoint) as streams:
        table = tables.create_table(db, StreamSpecification=specification("NEW_AND_OLD_IMAGES"))
        arn = stream_arn(db, table)
        db.PutItem(TableName=table, Item=item(pk="a"))
        disable(db, table)
        poll(lambda: streams.ListStreams()["Streams"] == [], 30, f"{arn} is gone")


def test_writes_while_a_stream_is_enabled_and_disabled(db, streams, make_table):
    """Every write that begins after UpdateTable's answer is in the stream; and its records are a
    history without gaps."""
    table = make_table()
    stop = []

    def work(client, number):
        if number == 0:
            arns = []
            for _ in range(20):
                arns.append(enable(client, table))
                client.PutItem(TableName=table, Item=item(pk="marker", n=len(arns)))
                disable(client, table)
            stop.append(True)
            return arns
        count = 0
        while not stop:
            client.UpdateItem(TableName=table, Key=item(pk=f"p{count % 3}"), UpdateExpression="ADD n :n",
                              ExpressionAttributeValues=values(n=1))
            count += 1
        return count
    arns = race(db.endpoint, 4, work)[0]
    assert len(set(arns)) == 20
    for turn, arn in enumerate(arns, 1):
        assert describe(streams, arn)["StreamStatus"] == "DISABLED"
        last, markers = {}, 0
        for record in Consumer(streams, arn).read_all():
            change = record["dynamodb"]
            key = change["Keys"]["pk"]["S"]
            markers += key == "marker"
            assert key not in last or change["OldImage"] == last[key], record
            last[key] = change["NewImage"]
        assert markers == 1 and last["marker"] == item(pk="marker", n=turn)
