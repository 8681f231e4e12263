"""Memory for requests is limited (--memory-mb): what does not fit is answered with 503 in the service's
form for throttling, which SDKs retry; everything else is served; memory goes back to the system."""

import concurrent.futures
import gzip
import json
import os
import socket
import time
import zlib

import boto3
import pytest
from botocore.config import Config

import memory
from boto_config import boto3_config
from c_programs import sanitizer_flags
from server import Server
from tables import create_table
from values import item
from waiting import poll
from wire import Client, Connection, invalid, request_bytes

MEMORY_MB = 192
SLACK_MB = 100  # beside what is counted: a request that is being refused, heaps, the store's writes


@pytest.fixture(scope="module")
def server():
    if "GRAMME_ENDPOINT" in os.environ:
        pytest.skip("needs a server of its own")
    with Server("memory:", "--memory-mb", str(MEMORY_MB)) as server:
        yield server


@pytest.fixture
def db(server):
    with Client(server.endpoint) as client:
        yield client


@pytest.fixture(scope="module")
def table(server):
    with Client(server.endpoint) as client:
        name = create_table(client)
        for number in range(100):
            client.PutItem(TableName=name, Item=item(pk=f"k{number}", s="x" * 160_000))
    return name


@pytest.fixture
def growth(server):
    return memory.Growth(server.process.pid)


def check_serves(db, table):
    assert db.GetItem(TableName=table, Key=item(pk="k1"))["Item"]["pk"] == {"S": "k1"}
    db.PutItem(TableName=table, Item=item(pk="new", s="y" * 1000))


def check_memory_comes_back(server, growth):
    if not sanitizer_flags():
        poll(lambda: memory.resident_mb(server.process.pid) < growth.before + 40, 30,
             "memory goes back to the system")


def check_throttled(answer):
    assert answer.status == 503
    assert answer.json()["__type"] == "com.amazonaws.dynamodb.v20120810#ThrottlingException"
    assert answer.headers["content-type"] == "application/x-amz-json-1.0"
    assert int(answer.headers["x-amz-crc32"]) == zlib.crc32(answer.body)


def answers_of(connections):
    """The answers that came by now; None for connections without one."""
    answers = []
    for connection in connections:
        connection.socket.settimeout(0.2)
        try:
            answers.append(connection.read_answer())
        except (TimeoutError, ConnectionError):
            answers.append(None)
    return answers


def test_bodies_of_clients_without_credentials(server, db, table, growth):
    """40 of 16 MB, each without its last byte."""
    connections = [Connection(server.endpoint) for _ in range(40)]
    for connection in connections:
        try:
            connection.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16000000\r\n\r\n" +
                            b"x" * 15_999_999)
        except ConnectionError:
            pass  # refused before it had sent all
    check_serves(db, table)
    growth.check(MEMORY_MB + SLACK_MB)
    answers = [answer for answer in answers_of(connections) if answer is not None]
    assert answers
    for answer in answers:
        check_throttled(answer)
    for connection in connections:
        connection.close()
    check_memory_comes_back(server, growth)


def test_compressed_bodies(server, db, table, growth):
    """16 MB each when inflated, and a stream of them."""
    body = gzip.compress(b"{" + b" " * 15_900_000 + b"}", 1)

    def send(_):
        with Client(server.endpoint) as client:
            return client.send("ListTables", body, "Content-Encoding: gzip\r\n").status

    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        assert set(pool.map(send, range(128))) <= {200, 503}
    check_serves(db, table)
    growth.check(MEMORY_MB + SLACK_MB)


def batch_get(table):
    keys = [item(pk=f"k{number}") for number in range(100)]
    return json.dumps({"RequestItems": {table: {"Keys": keys}}}).encode()


def test_answers_that_nobody_reads(server, db, table, growth):
    connections = [Connection(server.endpoint) for _ in range(64)]
    for connection in connections:
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.send(request_bytes(connection.host, "BatchGetItem", batch_get(table)))
    check_serves(db, table)
    growth.check(MEMORY_MB + SLACK_MB)
    statuses = []
    for connection in connections:  # every one has got an answer of some kind
        connection.socket.settimeout(30)
        statuses.append(connection.socket.recv(12)[-3:])
    assert set(statuses) == {b"200", b"503"}
    for connection in connections:
        connection.close()
    check_memory_comes_back(server, growth)


def hold_all_memory(server, table):
    """Connections that do not read their large answers, as many as it takes until more are refused, several times: what a request
    needs before its answer is sent is free again soon after."""
    holders, refusals = [], 0
    for _ in range(80):
        connection = Connection(server.endpoint)
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.send(request_bytes(connection.host, "BatchGetItem", batch_get(table)))
        if connection.socket.recv(12) == b"HTTP/1.1 503":
            connection.close()
            refusals += 1
            if refusals == 5:
                return holders
            time.sleep(0.05)
        else:
            holders.append(connection)
            refusals = 0
    raise AssertionError("no request is refused")


def test_sdk_retries_what_there_is_no_memory_for(server, table):
    holders = hold_all_memory(server, table)
    config = Config(retries={"mode": "standard", "max_attempts": 10})
    client = boto3.client("dynamodb", endpoint_url=server.endpoint,
                          **{**boto3_config(), "config": config})
    refused = []

    def let_go(response, **_):
        if response is not None and response[0].status_code == 503:
            refused.append(response[1]["Error"]["Code"])
            while holders:
                holders.pop().close()

    client.meta.events.register_first("needs-retry.dynamodb.BatchGetItem", let_go)
    keys = [{"pk": {"S": f"k{number}"}} for number in range(100)]
    answer = client.batch_get_item(RequestItems={table: {"Keys": keys}})
    assert len(answer["Responses"][table]) == 100
    assert set(refused) == {"ThrottlingException"}


TOO_MANY = b'{"TransactItems":[' + b",".join([b'{"Put":{}}'] * 1_450_000) + b"]}"
TOO_LARGE = (b'{"TableName":"abc","Key":{"pk":{"S":"a"}},"ExpressionAttributeNames":{' +
             b",".join(b'"%d":""' % number for number in range(1_200_000)) + b"}}")


@pytest.mark.parametrize("operation, body, message", [
    ("TransactWriteItems", TOO_MANY, "10 validation errors detected: Value '[TransactWriteItem("),
    ("UpdateItem", TOO_LARGE, "The request needs more memory than one request may have"),
], ids=["list", "map"])
def test_json_that_takes_much_more_memory_than_its_text(db, table, growth, operation, body, message):
    answer = db.send(operation, body)
    assert answer.status == 400
    assert answer.json()["__type"] == "com.amazon.coral.validate#ValidationException"
    assert answer.json()["message"].startswith(message)
    check_serves(db, table)
    growth.check(len(body) / 2**20 * 2 + SLACK_MB)


def test_list_that_is_cut_is_still_read_to_its_end(db):
    """What is wrong behind the elements that are kept is found, and comes first."""
    body = TOO_MANY[:-2] + b',{"Put":7}]}'
    answer = db.send("TransactWriteItems", body)
    assert answer.json()["__type"].endswith("#SerializationException")
    assert db.send("TransactWriteItems", TOO_MANY[:-2]).status == 400


@pytest.fixture(scope="module")
def large_updates(server):
    """A transaction that updates 100 items of 300 KB: the largest of what must be held for one request."""
    with Client(server.endpoint) as client:
        name = create_table(client)
        for number in range(100):
            client.PutItem(TableName=name, Item=item(pk=f"u{number}", s="x" * 300_000))
    return [{"Update": {"TableName": name, "Key": item(pk=f"u{number}"), "UpdateExpression": "SET t = pk"}}
            for number in range(100)]


def test_large_transaction_fits(db, large_updates):
    db.TransactWriteItems(TransactItems=large_updates)
    name = large_updates[7]["Update"]["TableName"]
    assert db.GetItem(TableName=name, Key=item(pk="u7"))["Item"]["t"] == {"S": "u7"}


def test_of_many_large_transactions_some_finish(server, db, table, large_updates, growth):
    """Together they need many times the memory there is."""
    body = json.dumps({"TransactItems": large_updates}).encode()

    def send(_):
        with Client(server.endpoint) as client:
            return client.send("TransactWriteItems", body).status

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(send, range(16)))
    assert 200 in statuses
    assert set(statuses) <= {200, 503}
    check_serves(db, table)
    growth.check(MEMORY_MB * 3 / 2 + 2 * SLACK_MB)


def test_index_entries_that_stand_for_much(server, db, growth):
    """A page of entries of a local index, each of which fetches an item of 300 KB."""
    name = create_table(db, "pk sk", lsi={"byOther": ("pk other", "KEYS_ONLY")})
    for number in range(150):
        db.PutItem(TableName=name, Item=item(pk="p", sk=f"{number:04}", other=f"{number:04}", s="x" * 300_000))
    body = json.dumps({"TableName": name, "IndexName": "byOther", "Select": "ALL_ATTRIBUTES",
                       "KeyConditionExpression": "pk = :p",
                       "ExpressionAttributeValues": {":p": {"S": "p"}}}).encode()
    answer = db.send("Query", body)
    assert answer.status == 200
    assert [found["sk"]["S"] for found in answer.json()["Items"]] == [f"{number:04}" for number in range(150)]
    growth.check(150 * 0.3 * 2 + SLACK_MB)

    connections = [Connection(server.endpoint) for _ in range(12)]  # nothing is read before all are answered: they need memory together
    for connection in connections:
        connection.send(request_bytes(connection.host, "Query", body))
    for connection in connections:
        assert connection.socket.recv(1, socket.MSG_PEEK)
    statuses = []
    for connection in connections:
        statuses.append(connection.read_answer().status)
        connection.close()
    assert set(statuses) == {200, 503}
    growth.check(MEMORY_MB + 2 * SLACK_MB)
    with invalid():
        db.UpdateItem(TableName=name, Key=item(pk="u0"), UpdateExpression="SET a = s, b = s")
