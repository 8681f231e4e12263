"""boto3 as its guide uses it: client, resource, waiters, paginators, batch writer, conditions, transactions, PartiQL, streams."""

import decimal
import os
import re
import time

import boto3
import pytest
from boto3.dynamodb.conditions import Attr, Key
from boto3.dynamodb.types import Binary, TypeDeserializer, TypeSerializer
from botocore.exceptions import ClientError, WaiterError

ENDPOINT = os.environ["AWS_ENDPOINT_URL"]
KEYS = [{"AttributeName": "username", "KeyType": "HASH"}, {"AttributeName": "last_name", "KeyType": "RANGE"}]
TYPES = [{"AttributeName": "username", "AttributeType": "S"}, {"AttributeName": "last_name", "AttributeType": "S"}]


@pytest.fixture(scope="module")
def client():
    return boto3.client("dynamodb", endpoint_url=ENDPOINT)


@pytest.fixture(scope="module")
def resource():
    return boto3.resource("dynamodb", endpoint_url=ENDPOINT)


@pytest.fixture
def table(resource, request):
    """The table of the guide, gone after the test."""
    table = resource.create_table(TableName=re.sub(r"\W", "-", request.node.name), KeySchema=KEYS, AttributeDefinitions=TYPES,
                                  ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 5})
    table.wait_until_exists()
    table.reload()
    yield table
    table.delete()
    table.wait_until_not_exists()


def error_code(call, *arguments, **parameters):
    with pytest.raises(ClientError) as caught:
        call(*arguments, **parameters)
    return caught.value.response["Error"]["Code"]


# --- the resource ---


def test_creating_a_table(table, resource):
    assert (table.item_count, table.table_status) == (0, "ACTIVE")
    assert table.name in [each.name for each in resource.tables.all()]
    assert table.creation_date_time.year >= 2026 and table.key_schema == KEYS
    assert table.provisioned_throughput["ReadCapacityUnits"] == 5


def test_items(table):
    table.put_item(Item={"username": "janedoe", "last_name": "Doe", "age": 25, "account_type": "standard_user"})
    key = {"username": "janedoe", "last_name": "Doe"}
    assert table.get_item(Key=key)["Item"]["age"] == decimal.Decimal(25)
    table.update_item(Key=key, UpdateExpression="SET age = :val1", ExpressionAttributeValues={":val1": 26})
    assert table.get_item(Key=key)["Item"]["age"] == 26
    answer = table.update_item(Key=key, UpdateExpression="ADD age :one REMOVE account_type", ExpressionAttributeValues={":one": 1},
                               ReturnValues="UPDATED_NEW", ReturnConsumedCapacity="TOTAL")
    assert answer["Attributes"] == {"age": 27} and answer["ConsumedCapacity"]["CapacityUnits"] == 1
    assert table.delete_item(Key=key, ReturnValues="ALL_OLD")["Attributes"]["age"] == 27
    assert "Item" not in table.get_item(Key=key)


def test_batch_writer(table):
    with table.batch_writer() as batch:
        for i in range(80):
            batch.put_item(Item={"account_type": "anonymous", "username": f"user{i}", "last_name": "unknown"})
    with table.batch_writer(overwrite_by_pkeys=["username", "last_name"]) as batch:
        for _ in range(3):
            batch.put_item(Item={"username": "user0", "last_name": "unknown", "again": True})
        batch.delete_item(Key={"username": "user1", "last_name": "unknown"})
    table.reload()
    assert table.scan(Select="COUNT")["Count"] == 79
    assert table.get_item(Key={"username": "user0", "last_name": "unknown"})["Item"]["again"] is True


def test_conditions(table):
    for name, age, state in (("johndoe", 25, "CA"), ("janedoe", 40, "WA"), ("bob", 17, "CA")):
        table.put_item(Item={"username": name, "last_name": "Doe", "age": age, "address": {"state": state, "road": "1 Jefferson Street"},
                             "tags": {"a", "b"}, "first_name": name.title()})
    items = table.query(KeyConditionExpression=Key("username").eq("johndoe") & Key("last_name").begins_with("D"))["Items"]
    assert [item["username"] for item in items] == ["johndoe"]

    def found(condition):
        return sorted(item["username"] for item in table.scan(FilterExpression=condition)["Items"])
    assert found(Attr("age").lt(27)) == ["bob", "johndoe"]
    assert found(Attr("first_name").begins_with("J") & Attr("address.state").eq("CA")) == ["johndoe"]
    assert found(Attr("age").between(17, 25) | Attr("username").is_in(["janedoe"])) == ["bob", "janedoe", "johndoe"]
    assert found(~Attr("address.state").eq("CA")) == ["janedoe"]
    assert found(Attr("nothing").not_exists() & Attr("tags").contains("a") & Attr("age").attribute_type("N")) == ["bob", "janedoe", "johndoe"]
    assert found(Attr("address").size().gte(2) & Attr("age").ne(17)) == ["janedoe", "johndoe"]


def test_types(table):
    item = {"username": "types", "last_name": "all", "n": decimal.Decimal("1.5"), "b": Binary(b"\x00\xff"), "t": True, "none": None,
            "list": ["a", 1, {"deep": [None]}], "ss": {"a", "b"}, "ns": {decimal.Decimal(1), decimal.Decimal("2.5")}, "bs": {Binary(b"x")}}
    table.put_item(Item=item)
    assert table.get_item(Key={"username": "types", "last_name": "all"})["Item"] == item
    written = TypeSerializer().serialize(item)
    assert TypeDeserializer().deserialize(written) == item


def test_batch_get_of_the_resource(table, resource):
    for i in range(3):
        table.put_item(Item={"username": f"u{i}", "last_name": "x", "i": i})
    answer = resource.batch_get_item(RequestItems={table.name: {"Keys": [{"username": f"u{i}", "last_name": "x"} for i in range(4)],
                                                                "ConsistentRead": True}})
    assert sorted(item["i"] for item in answer["Responses"][table.name]) == [0, 1, 2] and answer["UnprocessedKeys"] == {}


# --- the client ---


def test_conditional_check_failed(table, client):
    item = {"username": {"S": "a"}, "last_name": {"S": "b"}}
    client.put_item(TableName=table.name, Item=item)
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as caught:
        client.put_item(TableName=table.name, Item=item, ConditionExpression="attribute_not_exists(username)")
    assert caught.value.response["Error"]["Message"] == "The conditional request failed"
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.get_item(TableName="nothing", Key={"a": {"S": "a"}})
    assert error_code(client.get_item, TableName=table.name, Key={"a": {"S": "a"}}) == "ValidationException"


def test_transactions(table, client):
    def put(name):
        return {"Put": {"TableName": table.name, "Item": {"username": {"S": name}, "last_name": {"S": "t"}}, "ConditionExpression": "attribute_not_exists(username)"}}
    client.transact_write_items(TransactItems=[put("a"), put("b")], ClientRequestToken="token")
    client.transact_write_items(TransactItems=[put("a"), put("b")], ClientRequestToken="token")
    with pytest.raises(client.exceptions.TransactionCanceledException) as caught:
        client.transact_write_items(TransactItems=[put("c"), put("a")])
    assert [reason["Code"] for reason in caught.value.response["CancellationReasons"]] == ["None", "ConditionalCheckFailed"]
    read = client.transact_get_items(TransactItems=[{"Get": {"TableName": table.name, "Key": {"username": {"S": name}, "last_name": {"S": "t"}}}} for name in "abc"])
    assert ["Item" in part for part in read["Responses"]] == [True, True, False]


def test_partiql(table, client):
    name = table.name
    client.execute_statement(Statement=f"INSERT INTO \"{name}\" VALUE {{'username': ?, 'last_name': 'p', 'n': 1}}", Parameters=[{"S": "a"}])
    client.execute_statement(Statement=f"UPDATE \"{name}\" SET n = n + 1 WHERE username = 'a' AND last_name = 'p'")
    items = client.execute_statement(Statement=f"SELECT n FROM \"{name}\" WHERE username = 'a'")["Items"]
    assert items == [{"n": {"N": "2"}}]
    answer = client.batch_execute_statement(Statements=[{"Statement": f"SELECT * FROM \"{name}\" WHERE username = 'a' AND last_name = 'p'"},
                                                        {"Statement": f"SELECT * FROM \"{name}\""}])
    assert "Item" in answer["Responses"][0] and answer["Responses"][1]["Error"]["Code"] == "ValidationError"
    client.execute_transaction(TransactStatements=[{"Statement": f"DELETE FROM \"{name}\" WHERE username = 'a' AND last_name = 'p'"}])
    assert client.execute_statement(Statement=f"SELECT * FROM \"{name}\"")["Items"] == []


@pytest.mark.parametrize("page", [1, 7, 1000])
def test_paginators(table, client, page):
    with table.batch_writer() as batch:
        for i in range(30):
            batch.put_item(Item={"username": "u", "last_name": f"{i:02}"})
    for name, more in (("scan", {}), ("query", {"KeyConditionExpression": "username = :u", "ExpressionAttributeValues": {":u": {"S": "u"}}})):
        pages = list(client.get_paginator(name).paginate(TableName=table.name, PaginationConfig={"PageSize": page}, **more))
        assert [item["last_name"]["S"] for one in pages for item in one["Items"]] == [f"{i:02}" for i in range(30)]
    whole = client.get_paginator("scan").paginate(TableName=table.name, PaginationConfig={"PageSize": page, "MaxItems": 10}).build_full_result()
    assert len(whole["Items"]) == 10 and "NextToken" in whole
    rest = client.get_paginator("scan").paginate(TableName=table.name, PaginationConfig={"StartingToken": whole["NextToken"]}).build_full_result()
    assert len(rest["Items"]) == 20


def test_other_paginators(table, client):
    names = [name for page in client.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 1}) for name in page["TableNames"]]
    assert table.name in names and len(names) == len(set(names))
    arn = client.describe_table(TableName=table.name)["Table"]["TableArn"]
    client.tag_resource(ResourceArn=arn, Tags=[{"Key": f"k{i}", "Value": "v"} for i in range(15)])
    tags = client.get_paginator("list_tags_of_resource").paginate(ResourceArn=arn).build_full_result()["Tags"]
    assert len(tags) == 15
    backup = client.create_backup(TableName=table.name, BackupName="one")["BackupDetails"]["BackupArn"]
    backups = client.get_paginator("list_backups").paginate(TableName=table.name).build_full_result()["BackupSummaries"]
    assert [one["BackupArn"] for one in backups] == [backup]
    client.delete_backup(BackupArn=backup)


def test_waiters(client):
    client.create_table(TableName="waited", KeySchema=KEYS[:1], AttributeDefinitions=TYPES[:1], BillingMode="PAY_PER_REQUEST")
    client.get_waiter("table_exists").wait(TableName="waited", WaiterConfig={"Delay": 1, "MaxAttempts": 10})
    with pytest.raises(WaiterError):
        client.get_waiter("table_not_exists").wait(TableName="waited", WaiterConfig={"Delay": 1, "MaxAttempts": 1})
    client.delete_table(TableName="waited")
    client.get_waiter("table_not_exists").wait(TableName="waited", WaiterConfig={"Delay": 1, "MaxAttempts": 10})


def test_indexes_and_updates(client):
    client.create_table(TableName="indexed", KeySchema=KEYS[:1], AttributeDefinitions=TYPES[:1], BillingMode="PAY_PER_REQUEST",
                        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    client.update_table(TableName="indexed", AttributeDefinitions=[*TYPES[:1], {"AttributeName": "age", "AttributeType": "N"}],
                        GlobalSecondaryIndexUpdates=[{"Create": {"IndexName": "by-age", "KeySchema": [{"AttributeName": "age", "KeyType": "HASH"}],
                                                                 "Projection": {"ProjectionType": "ALL"}}}])
    deadline = time.monotonic() + 60
    while client.describe_table(TableName="indexed")["Table"]["GlobalSecondaryIndexes"][0]["IndexStatus"] != "ACTIVE":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    client.put_item(TableName="indexed", Item={"username": {"S": "a"}, "age": {"N": "7"}})
    found = client.query(TableName="indexed", IndexName="by-age", KeyConditionExpression="age = :a", ExpressionAttributeValues={":a": {"N": "7"}})
    assert found["Count"] == 1
    client.update_time_to_live(TableName="indexed", TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"})
    assert client.describe_time_to_live(TableName="indexed")["TimeToLiveDescription"] == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}
    client.update_continuous_backups(TableName="indexed", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True})
    client.delete_table(TableName="indexed")


def test_streams():
    client, streams = boto3.client("dynamodb", endpoint_url=ENDPOINT), boto3.client("dynamodbstreams", endpoint_url=ENDPOINT)
    table = client.create_table(TableName="streamed", KeySchema=KEYS[:1], AttributeDefinitions=TYPES[:1], BillingMode="PAY_PER_REQUEST",
                                StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})["TableDescription"]
    client.put_item(TableName="streamed", Item={"username": {"S": "a"}})
    records = []
    for shard in streams.describe_stream(StreamArn=table["LatestStreamArn"])["StreamDescription"]["Shards"]:
        iterator = streams.get_shard_iterator(StreamArn=table["LatestStreamArn"], ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
        records += streams.get_records(ShardIterator=iterator)["Records"]
    assert [(record["eventName"], record["dynamodb"]["NewImage"]) for record in records] == [("INSERT", {"username": {"S": "a"}})]
    client.delete_table(TableName="streamed")
