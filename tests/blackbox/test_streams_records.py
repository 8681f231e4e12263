"""Streams: what is recorded, and reading it."""

import boto3
import pytest

import tables
from clock import TEST_CLOCK, advance_clock, read_clock
from boto_config import boto3_config
from expiry import enable_ttl, wait_gone
from streams import Consumer, Mirror, Streams, all_shards, iterator, read_on, specification, stream_arn
from values import item, item_size, values
from wire import Client, refused


@pytest.fixture
def streams(endpoint):
    with Streams(endpoint) as client:
        yield client


@pytest.fixture
def make_stream(make_table, db):
    """A table with a stream; gives its name and the stream's ARN."""
    def make(view="NEW_AND_OLD_IMAGES", key="pk", **more):
        name = make_table(key, StreamSpecification=specification(view), **more)
        return name, stream_arn(db, name)
    return make


def changes(records):
    """[(event, old image, new image)]"""
    return [(record["eventName"], record["dynamodb"].get("OldImage"), record["dynamodb"].get("NewImage"))
            for record in records]


def write_three(db, table):
    first, second = item(pk="a", n=1), item(pk="a", n=2, s="x")
    db.PutItem(TableName=table, Item=first)
    db.PutItem(TableName=table, Item=second)
    db.DeleteItem(TableName=table, Key=item(pk="a"))
    return first, second


@pytest.mark.parametrize("view", ["NEW_AND_OLD_IMAGES", "NEW_IMAGE", "OLD_IMAGE", "KEYS_ONLY"])
def test_view(db, streams, make_stream, view):
    table, arn = make_stream(view)
    first, second = write_three(db, table)
    records = Consumer(streams, arn).read_all()
    wanted = [("INSERT", None, first), ("MODIFY", first, second), ("REMOVE", second, None)]
    old, new = view in ("NEW_AND_OLD_IMAGES", "OLD_IMAGE"), view in ("NEW_AND_OLD_IMAGES", "NEW_IMAGE")
    assert changes(records) == [
        (event, before if old else None, after if new else None) for event, before, after in wanted]
    for record, (_, before, after) in zip(records, wanted):
        change = record["dynamodb"]
        assert change["Keys"] == item(pk="a")
        assert change["StreamViewType"] == view
        assert change["SizeBytes"] == item_size(change["Keys"]) + sum(
            item_size(image) for image in (before if old else None, after if new else None) if image)


def test_record_is_as_the_guide_shows_it(db, streams, make_stream):
    """The example of the developer guide: SizeBytes 26, 59 and 38."""
    table, arn = make_stream(key="Id:N")
    db.PutItem(TableName=table, Item=item(Id=101, Message="New item!"))
    db.UpdateItem(TableName=table, Key=item(Id=101), UpdateExpression="SET Message = :m",
                  ExpressionAttributeValues=values(m="This item has changed"))
    db.DeleteItem(TableName=table, Key=item(Id=101))
    records = Consumer(streams, arn).read_all()
    assert [record["dynamodb"]["SizeBytes"] for record in records] == [26, 59, 38]
    for record in records:
        assert (record["eventVersion"], record["eventSource"], record["awsRegion"]) == (
            "1.1", "aws:dynamodb", "us-east-1")
        assert "userIdentity" not in record
        assert len(record["dynamodb"]["SequenceNumber"]) >= 21
        assert record["dynamodb"]["ApproximateCreationDateTime"] % 1 == 0
    assert len({record["eventID"] for record in records}) == 3


def test_update_that_only_removes_where_there_is_no_item_has_no_record(db, streams, make_stream):
    table, arn = make_stream()
    key = {"TableName": table, "Key": item(pk="a")}
    db.UpdateItem(**key, UpdateExpression="REMOVE x, y.z")
    db.UpdateItem(**key, UpdateExpression="DELETE x :s", ExpressionAttributeValues=values(s={"b"}))
    db.UpdateItem(**key, AttributeUpdates={"x": {"Action": "DELETE"}})
    db.TransactWriteItems(TransactItems=[{"Update": {**key, "UpdateExpression": "REMOVE x.y"}}])
    db.PutItem(TableName=table, Item=item(pk="a", n=1))
    assert changes(Consumer(streams, arn).read_all()) == [("INSERT", None, item(pk="a", n=1))]


def test_records_of_an_item_are_in_order(db, streams, make_stream):
    table, arn = make_stream(key="pk sk:N")
    keys = [item(pk=f"p{number % 7}", sk=number % 3) for number in range(21)]
    for turn in range(5):
        for key in keys:
            db.UpdateItem(TableName=table, Key=key, UpdateExpression="ADD n :n",
                          ExpressionAttributeValues=values(n=turn + 1))
    records = Consumer(streams, arn).read_all()
    mirror = Mirror()
    mirror.apply(records)
    assert len(records) == 5 * len({str(key) for key in keys})
    mirror.check_is(tables.all_items(db.Scan, TableName=table), ["pk", "sk"])


def test_sequence_numbers_grow_within_a_shard(db, streams, make_stream):
    table, arn = make_stream()
    for number in range(50):
        db.PutItem(TableName=table, Item=item(pk=f"p{number}"))
    found = 0
    for shard in all_shards(streams, arn):
        records, _ = read_on(streams, iterator(streams, arn, shard["ShardId"]))
        numbers = [int(record["dynamodb"]["SequenceNumber"]) for record in records]
        assert numbers == sorted(set(numbers))
        assert all(int(shard["SequenceNumberRange"]["StartingSequenceNumber"]) < number for number in numbers)
        found += len(records)
    assert found == 50


def test_keys_are_spread_over_the_shards(db, streams, make_stream):
    table, arn = make_stream()
    for number in range(100):
        db.PutItem(TableName=table, Item=item(pk=f"p{number}"))
    shards = all_shards(streams, arn)
    assert len(shards) == 4
    for shard in shards:
        assert read_on(streams, iterator(streams, arn, shard["ShardId"]))[0]


def test_what_changes_nothing_is_not_recorded(db, streams, make_stream):
    table, arn = make_stream()
    db.PutItem(TableName=table, Item=item(pk="a", n=1, tags={"x", "y"}))
    db.PutItem(TableName=table, Item=item(tags={"y", "x"}, n=1, pk="a"))
    db.UpdateItem(TableName=table, Key=item(pk="a"), UpdateExpression="SET n = :n REMOVE nothing",
                  ExpressionAttributeValues=values(n=1))
    db.UpdateItem(TableName=table, Key=item(pk="a"))
    db.DeleteItem(TableName=table, Key=item(pk="nobody"))
    with refused("ConditionalCheckFailedException"):
        db.PutItem(TableName=table, Item=item(pk="a"), ConditionExpression="attribute_not_exists(pk)")
    with refused("ValidationException"):
        db.UpdateItem(TableName=table, Key=item(pk="a"), UpdateExpression="SET n = nothing + n")
    assert [event for event, _, _ in changes(Consumer(streams, arn).read_all())] == ["INSERT"]


def test_transaction_is_recorded_whole_or_not_at_all(db, streams, make_stream):
    table, arn = make_stream()
    db.PutItem(TableName=table, Item=item(pk="a", n=1))
    db.PutItem(TableName=table, Item=item(pk="b", n=1))

    def transact(expected):
        db.TransactWriteItems(TransactItems=[
            {"Update": {"TableName": table, "Key": item(pk="a"), "UpdateExpression": "ADD n :n",
                        "ExpressionAttributeValues": values(n=1)}},
            {"Delete": {"TableName": table, "Key": item(pk="b")}},
            {"Put": {"TableName": table, "Item": item(pk="c")}},
            {"ConditionCheck": {"TableName": table, "Key": item(pk="d"), "ConditionExpression": expected}}])
    with refused("TransactionCanceledException"):
        transact("attribute_exists(pk)")
    consumer = Consumer(streams, arn)
    assert len(consumer.read_all()) == 2
    transact("attribute_not_exists(pk)")
    records = consumer.read_all()
    assert sorted((record["eventName"], record["dynamodb"]["Keys"]["pk"]["S"]) for record in records) == [
        ("INSERT", "c"), ("MODIFY", "a"), ("REMOVE", "b")]


def test_replayed_transaction_is_recorded_once(db, streams, make_stream):
    table, arn = make_stream()
    for _ in range(2):
        db.TransactWriteItems(ClientRequestToken="again", TransactItems=[
            {"Update": {"TableName": table, "Key": item(pk="a"), "UpdateExpression": "ADD n :n",
                        "ExpressionAttributeValues": values(n=1)}}])
    assert len(Consumer(streams, arn).read_all()) == 1


def test_batch(db, streams, make_stream):
    table, arn = make_stream()
    tables.put_all(db, table, [item(pk=f"p{number}") for number in range(60)])
    db.BatchWriteItem(RequestItems={table: [{"DeleteRequest": {"Key": item(pk="p1")}}]})
    mirror = Mirror()
    mirror.apply(Consumer(streams, arn).read_all())
    assert len(mirror.event_ids) == 61
    mirror.check_is(tables.all_items(db.Scan, TableName=table), ["pk"])


def only_shard_of(streams, arn):
    """The shard that has records."""
    full = [shard["ShardId"] for shard in all_shards(streams, arn)
            if streams.GetRecords(ShardIterator=iterator(streams, arn, shard["ShardId"]))["Records"]]
    assert len(full) == 1
    return full[0]


def test_iterator_types(db, streams, make_stream):
    table, arn = make_stream()
    for number in range(5):
        db.PutItem(TableName=table, Item=item(pk="a", n=number))
    shard = only_shard_of(streams, arn)
    latest = iterator(streams, arn, shard, "LATEST")
    records, _ = read_on(streams, iterator(streams, arn, shard, "TRIM_HORIZON"))
    numbers = [record["dynamodb"]["SequenceNumber"] for record in records]

    def read(kind, sequence):
        found, _ = read_on(streams, iterator(streams, arn, shard, kind, sequence))
        return [record["dynamodb"]["SequenceNumber"] for record in found]
    assert read("AT_SEQUENCE_NUMBER", numbers[2]) == numbers[2:]
    assert read("AFTER_SEQUENCE_NUMBER", numbers[2]) == numbers[3:]
    assert read("AFTER_SEQUENCE_NUMBER", numbers[4]) == []
    start = all_shards(streams, arn)[0]["SequenceNumberRange"]["StartingSequenceNumber"]
    assert read("AT_SEQUENCE_NUMBER", start) == numbers
    assert read_on(streams, latest)[0] == []
    db.PutItem(TableName=table, Item=item(pk="a", n=9))
    assert [record["dynamodb"]["NewImage"] for record in read_on(streams, latest)[0]] == [item(pk="a", n=9)]


def test_records_come_in_pages(db, streams, make_stream):
    table, arn = make_stream()
    for number in range(7):
        db.PutItem(TableName=table, Item=item(pk="a", n=number))
    shard = only_shard_of(streams, arn)
    position, pages = iterator(streams, arn, shard), []
    for _ in range(4):
        page = streams.GetRecords(ShardIterator=position, Limit=3)
        pages.append([record["dynamodb"]["NewImage"]["n"]["N"] for record in page["Records"]])
        position = page["NextShardIterator"]  # an open shard always has one
    assert pages == [["0", "1", "2"], ["3", "4", "5"], ["6"], []]


def test_page_ends_at_a_megabyte(db, streams, make_stream):
    table, arn = make_stream("NEW_IMAGE")
    for number in range(8):
        db.PutItem(TableName=table, Item=item(pk="a", n=number, big="x" * 300_000))
    shard = only_shard_of(streams, arn)
    page = streams.GetRecords(ShardIterator=iterator(streams, arn, shard))
    assert len(page["Records"]) == 3
    records, _ = read_on(streams, page["NextShardIterator"])
    assert [record["dynamodb"]["NewImage"]["n"]["N"] for record in records] == ["3", "4", "5", "6", "7"]


def test_tables_do_not_share_streams(db, streams, make_stream):
    (one, one_arn), (other, other_arn) = make_stream(), make_stream()
    db.TransactWriteItems(TransactItems=[
        {"Put": {"TableName": one, "Item": item(pk="1")}}, {"Put": {"TableName": other, "Item": item(pk="2")}}])
    for arn, key in ((one_arn, "1"), (other_arn, "2")):
        records = Consumer(streams, arn).read_all()
        assert [record["dynamodb"]["Keys"] for record in records] == [item(pk=key)]


def test_expiry_is_recorded_as_the_service_s_own(start_server):
    server = start_server("memory:", *TEST_CLOCK)
    with Client(server.endpoint) as db, Streams(server.endpoint) as streams:
        table = tables.create_table(db, StreamSpecification=specification("OLD_IMAGE"))
        enable_ttl(db, table)
        due = item(pk="a", expires=int(read_clock(db)) + 1)
        db.PutItem(TableName=table, Item=due)
        advance_clock(db, 3)
        wait_gone(db, table, pk="a")
        db.PutItem(TableName=table, Item=item(pk="a"))
        db.DeleteItem(TableName=table, Key=item(pk="a"))
        made, expired, again, deleted = Consumer(streams, stream_arn(db, table)).read_all()
        assert (expired["eventName"], expired["dynamodb"]["OldImage"]) == ("REMOVE", due)
        # As the guide shows it, and as the model that SDKs read by has it.
        assert expired["userIdentity"] == {"type": "Service", "principalId": "dynamodb.amazonaws.com",
                                           "Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
        assert not any("userIdentity" in record for record in (made, again, deleted))
        boto = boto3.client("dynamodbstreams", endpoint_url=server.endpoint, **boto3_config())
        shards = boto.describe_stream(StreamArn=stream_arn(db, table))["StreamDescription"]["Shards"]
        found = [record for shard in shards for record in boto.get_records(ShardIterator=iterator(
            streams, stream_arn(db, table), shard["ShardId"]))["Records"] if "userIdentity" in record]
        assert [record["userIdentity"] for record in found] == [
            {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}]
