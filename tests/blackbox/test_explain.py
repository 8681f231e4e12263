"""Operations that DynamoDB does not have: plans of reads as text, and the list of operations."""

import os

import pytest
from server import Server
from wire import Client, Refused

pytestmark = pytest.mark.skipif("GRAMME_ENDPOINT" in os.environ, reason="is about our own operations")

PREFIX = "Gramme_20261115."


@pytest.fixture(scope="module")
def db():
    with Server() as server, Client(server.endpoint) as client:
        client.CreateTable(
            TableName="music", BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "artist", "AttributeType": "S"}, {"AttributeName": "song", "AttributeType": "S"},
                                  {"AttributeName": "year", "AttributeType": "N"}],
            KeySchema=[{"AttributeName": "artist", "KeyType": "HASH"}, {"AttributeName": "song", "KeyType": "RANGE"}],
            LocalSecondaryIndexes=[{"IndexName": "by_year", "Projection": {"ProjectionType": "KEYS_ONLY"},
                                    "KeySchema": [{"AttributeName": "artist", "KeyType": "HASH"},
                                                  {"AttributeName": "year", "KeyType": "RANGE"}]}])
        yield client


STATEMENTS = [
    ("SELECT * FROM music WHERE artist = 'a' AND song = 'b'", 'get music\n  key: artist = "a", song = "b"\n'),
    ("SELECT * FROM music WHERE artist IN ['b', 'a'] AND begins_with(song, 'x')",
     'query music\n  range: artist = "a", begins_with(song, "x")\n  range: artist = "b", begins_with(song, "x")\n'),
    ("SELECT genre FROM music.by_year WHERE artist = 'a' AND \"year\" > 1965 ORDER BY \"year\" DESC",
     'query music.by_year\n  range: artist = "a", year > 1965\n  order: descending\n  fetch: whole items from the table\n'),
    ("SELECT * FROM music WHERE genre = 'jazz'", "scan music\n  filter: genre\n"),
]


@pytest.mark.parametrize("statement, plan", STATEMENTS)
def test_statements(db, statement, plan):
    assert db.call("ExplainStatement", {"Statement": statement}, prefix=PREFIX) == {"Plan": plan}


def test_parameters(db):
    request = {"Statement": "SELECT * FROM music WHERE artist = ?", "Parameters": [{"S": "x\"y"}]}
    assert db.call("ExplainStatement", request, prefix=PREFIX)["Plan"] == 'query music\n  range: artist = "x\\"y"\n'


@pytest.mark.parametrize("statement, message", [
    ("DELETE FROM music WHERE artist = 'a' AND song = 'b'", "Only SELECT statements have a plan to explain"),
    ("SELECT * FROM music WHERE artist = 1", "Key attribute's data type should match"),
    ("SELECT", "Statement wasn't well formed"),
    ("SELECT * FROM absent_table", "Requested resource not found"),
])
def test_statement_errors(db, statement, message):
    with pytest.raises(Refused) as refused:
        db.call("ExplainStatement", {"Statement": statement}, prefix=PREFIX)
    assert message in str(refused.value)


def test_query(db):
    request = {"TableName": "music", "IndexName": "by_year", "KeyConditionExpression": "artist = :a AND #y BETWEEN :l AND :h",
               "ExpressionAttributeNames": {"#y": "year"}, "ScanIndexForward": False, "ProjectionExpression": "genre",
               "ExpressionAttributeValues": {":a": {"S": "a"}, ":l": {"N": "1"}, ":h": {"N": "2.50"}}}
    assert db.call("ExplainQuery", request, prefix=PREFIX)["Plan"] == (
        'query music.by_year\n  range: artist = "a", year >= 1, year <= 2.5\n  order: descending\n'
        '  fetch: whole items from the table\n')
    with pytest.raises(Refused):
        db.call("ExplainQuery", {"TableName": "music"}, prefix=PREFIX)


def test_explaining_reads_nothing(db):
    """A statement whose plan is shown is not run: a request that would read has no items in its answer."""
    db.PutItem(TableName="music", Item={"artist": {"S": "q"}, "song": {"S": "s"}})
    assert list(db.call("ExplainStatement", {"Statement": "SELECT * FROM music WHERE artist = 'q'"}, prefix=PREFIX)) == ["Plan"]


def test_list_operations(db):
    lists = db.call("ListOperations", {}, prefix=PREFIX)
    assert set(lists) == {"DynamoDB", "DynamoDBStreams", "Gramme"}
    names = [op["Name"] for op in lists["DynamoDB"]]
    assert names == sorted(names) and {"GetItem", "PutItem", "Query"} <= set(names)
    assert {"Name": "GetItem", "Access": "Read", "Summary": "Reads one item by primary key"} in lists["DynamoDB"]
    assert {"ExplainQuery", "ExplainStatement", "ListOperations"} == {op["Name"] for op in lists["Gramme"]}


def test_not_of_dynamodb(db):
    for prefix in ("DynamoDB_20120810.", "DynamoDBStreams_20120810."):
        with pytest.raises(Refused) as refused:
            db.call("ListOperations", {}, prefix=prefix)
        assert "UnknownOperationException" in str(refused.value)
