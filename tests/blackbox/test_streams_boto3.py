"""The walk-through of the developer guide ("DynamoDB Streams low-level API: Java example") with boto3: a table with
a stream, three changes of an item, and all shards read from TRIM_HORIZON on."""

import boto3
import pytest

from boto_config import boto3_config
from boto_errors import fails_with
from tables import unique_name


@pytest.fixture(scope="module")
def streams(endpoint):
    return boto3.client("dynamodbstreams", endpoint_url=endpoint, **boto3_config())


@pytest.fixture
def table(boto):
    name = unique_name("TestTableForStreams")
    boto.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "Id", "AttributeType": "N"}],
        KeySchema=[{"AttributeName": "Id", "KeyType": "HASH"}],
        ProvisionedThroughput={"ReadCapacityUnits": 10, "WriteCapacityUnits": 10},
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    boto.get_waiter("table_exists").wait(TableName=name)
    yield name
    boto.delete_table(TableName=name)


def change(boto, table):
    boto.put_item(TableName=table, Item={"Id": {"N": "101"}, "Message": {"S": "New item!"}})
    boto.update_item(TableName=table, Key={"Id": {"N": "101"}},
                     AttributeUpdates={"Message": {"Action": "PUT", "Value": {"S": "This item has changed"}}})
    boto.delete_item(TableName=table, Key={"Id": {"N": "101"}})


def shards_of(streams, arn):
    last = None
    while True:
        more = {"ExclusiveStartShardId": last} if last else {}
        description = streams.describe_stream(StreamArn=arn, **more)["StreamDescription"]
        yield from description["Shards"]
        last = description.get("LastEvaluatedShardId")
        if last is None:
            return


def read_shard(streams, arn, shard):
    """Until a page is empty: shards of this example are open, so they do not end."""
    position = streams.get_shard_iterator(
        StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
    while position is not None:
        page = streams.get_records(ShardIterator=position)
        if not page["Records"]:
            return
        yield from page["Records"]
        position = page.get("NextShardIterator")


def test_walk_through(boto, streams, table):
    described = boto.describe_table(TableName=table)["Table"]
    arn = described["LatestStreamArn"]
    assert described["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    change(boto, table)
    records = [record for shard in shards_of(streams, arn) for record in read_shard(streams, arn, shard)]
    assert [record["eventName"] for record in records] == ["INSERT", "MODIFY", "REMOVE"]
    images = [(record["dynamodb"].get("OldImage"), record["dynamodb"].get("NewImage")) for record in records]
    new = {"Id": {"N": "101"}, "Message": {"S": "New item!"}}
    changed = {"Id": {"N": "101"}, "Message": {"S": "This item has changed"}}
    assert images == [(None, new), (new, changed), (changed, None)]
    for record in records:
        assert record["dynamodb"]["ApproximateCreationDateTime"].timestamp() >= described["CreationDateTime"].timestamp() - 1
        assert record["dynamodb"]["Keys"] == {"Id": {"N": "101"}}


def test_list_and_errors(boto, streams, table):
    arn = boto.describe_table(TableName=table)["Table"]["LatestStreamArn"]
    found = streams.list_streams(TableName=table)["Streams"]
    assert found == [{"StreamArn": arn, "TableName": table, "StreamLabel": arn.rpartition("/")[2]}]
    with pytest.raises(streams.exceptions.ResourceNotFoundException):
        streams.describe_stream(StreamArn=arn + "0")
    with fails_with("ValidationException"):
        boto.update_table(TableName=table, StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
