"""The AWS CLI, as its reference and the developer guide's "getting started" use it."""

import json
import os
import subprocess

import pytest

ENDPOINT = os.environ["AWS_ENDPOINT_URL"]


def aws(*arguments, service="dynamodb", fails=False):
    """The answer as Python values, or the text of the error."""
    done = subprocess.run(["/usr/bin/aws", service, *map(str, arguments), "--endpoint-url", ENDPOINT, "--output", "json"], capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr if fails else json.loads(done.stdout or "null")


@pytest.fixture(scope="module", autouse=True)
def music():
    aws("create-table", "--table-name", "Music",
        "--attribute-definitions", "AttributeName=Artist,AttributeType=S", "AttributeName=SongTitle,AttributeType=S",
        "--key-schema", "AttributeName=Artist,KeyType=HASH", "AttributeName=SongTitle,KeyType=RANGE",
        "--provisioned-throughput", "ReadCapacityUnits=5,WriteCapacityUnits=5", "--table-class", "STANDARD")
    aws("wait", "table-exists", "--table-name", "Music")
    yield
    aws("delete-table", "--table-name", "Music")
    aws("wait", "table-not-exists", "--table-name", "Music")


def test_getting_started():
    for artist, song, album in (("No One You Know", "Call Me Today", "Somewhat Famous"), ("No One You Know", "Howdy", "Somewhat Famous"),
                                ("Acme Band", "Happy Day", "Songs About Life"), ("Acme Band", "PartiQL Rocks", "Another Album Title")):
        aws("put-item", "--table-name", "Music", "--item", json.dumps({"Artist": {"S": artist}, "SongTitle": {"S": song}, "AlbumTitle": {"S": album}, "Awards": {"N": "1"}}))
    key = json.dumps({"Artist": {"S": "Acme Band"}, "SongTitle": {"S": "Happy Day"}})
    assert aws("get-item", "--consistent-read", "--table-name", "Music", "--key", key)["Item"]["AlbumTitle"] == {"S": "Songs About Life"}
    updated = aws("update-item", "--table-name", "Music", "--key", key, "--update-expression", "SET AlbumTitle = :newval",
                  "--expression-attribute-values", '{":newval": {"S": "Updated Album Title"}}', "--return-values", "ALL_NEW")
    assert updated["Attributes"]["AlbumTitle"] == {"S": "Updated Album Title"}
    found = aws("query", "--table-name", "Music", "--key-condition-expression", "Artist = :name", "--expression-attribute-values", '{":name": {"S": "Acme Band"}}')
    assert found["Count"] == 2


def test_index_of_the_guide():
    aws("update-table", "--table-name", "Music", "--attribute-definitions", "AttributeName=AlbumTitle,AttributeType=S", "--global-secondary-index-updates",
        json.dumps([{"Create": {"IndexName": "AlbumTitle-index", "KeySchema": [{"AttributeName": "AlbumTitle", "KeyType": "HASH"}],
                                "ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 5}, "Projection": {"ProjectionType": "ALL"}}}]))
    aws("wait", "table-exists", "--table-name", "Music")
    found = aws("query", "--table-name", "Music", "--index-name", "AlbumTitle-index", "--key-condition-expression", "AlbumTitle = :name",
                "--expression-attribute-values", '{":name": {"S": "Somewhat Famous"}}')
    assert found["Count"] == 2


def test_paging_of_the_cli():
    page = aws("scan", "--table-name", "Music", "--page-size", 1, "--max-items", 3)
    assert len(page["Items"]) == 3
    rest = aws("scan", "--table-name", "Music", "--starting-token", page["NextToken"])
    assert len(rest["Items"]) == 1


def test_batches_transactions_and_statements():
    aws("batch-write-item", "--request-items", json.dumps({"Music": [{"PutRequest": {"Item": {"Artist": {"S": "B"}, "SongTitle": {"S": str(i)}}}} for i in range(25)]}))
    read = aws("batch-get-item", "--request-items", json.dumps({"Music": {"Keys": [{"Artist": {"S": "B"}, "SongTitle": {"S": str(i)}} for i in range(25)]}}))
    assert len(read["Responses"]["Music"]) == 25
    aws("transact-write-items", "--transact-items", json.dumps([{"Delete": {"TableName": "Music", "Key": {"Artist": {"S": "B"}, "SongTitle": {"S": "0"}}}}]))
    answer = aws("execute-statement", "--statement", "SELECT * FROM Music WHERE Artist = 'B'")
    assert len(answer["Items"]) == 24


def test_errors():
    error = aws("put-item", "--table-name", "Music", "--item", '{"Artist": {"S": "B"}, "SongTitle": {"S": "1"}}',
                "--condition-expression", "attribute_not_exists(Artist)", fails=True)
    assert "(ConditionalCheckFailedException) when calling the PutItem operation: The conditional request failed" in error
    assert "ResourceNotFoundException" in aws("describe-table", "--table-name", "Nothing", fails=True)


def test_backups_and_settings():
    arn = aws("create-backup", "--table-name", "Music", "--backup-name", "MusicBackup")["BackupDetails"]["BackupArn"]
    aws("restore-table-from-backup", "--target-table-name", "MusicRestored", "--backup-arn", arn)
    aws("wait", "table-exists", "--table-name", "MusicRestored")
    aws("delete-table", "--table-name", "MusicRestored")
    aws("delete-backup", "--backup-arn", arn)
    aws("update-time-to-live", "--table-name", "Music", "--time-to-live-specification", "Enabled=true,AttributeName=ttl")
    assert aws("describe-time-to-live", "--table-name", "Music")["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLED"
    table = aws("describe-table", "--table-name", "Music")["Table"]["TableArn"]
    aws("tag-resource", "--resource-arn", table, "--tags", "Key=Owner,Value=blueTeam")
    assert aws("list-tags-of-resource", "--resource-arn", table)["Tags"] == [{"Key": "Owner", "Value": "blueTeam"}]


def test_streams():
    table = aws("update-table", "--table-name", "Music", "--stream-specification", "StreamEnabled=true,StreamViewType=NEW_IMAGE")["TableDescription"]
    aws("put-item", "--table-name", "Music", "--item", '{"Artist": {"S": "S"}, "SongTitle": {"S": "1"}}')
    stream = aws("describe-stream", "--stream-arn", table["LatestStreamArn"], service="dynamodbstreams")["StreamDescription"]
    records = []
    for shard in stream["Shards"]:
        iterator = aws("get-shard-iterator", "--stream-arn", table["LatestStreamArn"], "--shard-id", shard["ShardId"], "--shard-iterator-type", "TRIM_HORIZON",
                       service="dynamodbstreams")["ShardIterator"]
        records += aws("get-records", "--shard-iterator", iterator, service="dynamodbstreams")["Records"]
        if records:
            break
    assert records[0]["eventName"] == "INSERT"
