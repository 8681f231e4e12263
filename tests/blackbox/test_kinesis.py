"""Kinesis destinations: the four operations, the records, and that every change arrives, of each item in order, whatever is restarted.
Kinesis is npm's kinesalite. Words of refusals are in tests/conformance."""

import json
import os
import random
import re
import time
import urllib.request

import boto3
import pytest

from backups import create_backup, restore
from boto_config import boto3_config
from boto_errors import fails_with
from clock import TEST_CLOCK, advance_clock
from kinesis import Kinesis, by_item, check_history, decoded, destinations, enable, stream_arn, wait_state
from rich_store import gramme
from server import Server
from tables import create_table, put_all, unique_name
from values import item
from waiting import poll
from wire import Client, invalid, refused

NOWHERE = "http://127.0.0.1:1"  # nothing listens there


@pytest.fixture(scope="module")
def kinesis(tmp_path_factory):
    with Kinesis(tmp_path_factory.mktemp("kinesis")) as started:
        yield started


@pytest.fixture(scope="module")
def server(kinesis):
    with Server("memory:", "--kinesis-endpoint", kinesis.endpoint) as started:
        yield started


@pytest.fixture
def db(server):
    with Client(server.endpoint) as client:
        yield client


@pytest.fixture
def stream(kinesis):
    name = unique_name("stream")
    return kinesis.create_stream(name), kinesis.reader(name)


def metrics(server):
    with urllib.request.urlopen(f"{server.endpoint}/metrics") as answer:
        text = answer.read().decode()
    found = re.findall(r'^gramme_kinesis_(\w+)\{table="([^"]*)",stream="([^"]*)"\} (\S+)$', text, re.MULTILINE)
    assert len({series[:3] for series in found}) == len(found)  # each series once
    return {(name, table): float(value) for name, table, _, value in found}


# --- states ---

def test_from_enabling_to_disabled(server, db, stream):
    arn, reader = stream
    table = create_table(db)
    boto = boto3.client("dynamodb", endpoint_url=server.endpoint, **boto3_config())
    answer = boto.enable_kinesis_streaming_destination(TableName=table, StreamArn=arn)
    assert (answer["TableName"], answer["StreamArn"], answer["DestinationStatus"]) == (table, arn, "ENABLING")
    wait_state(db, table, "ACTIVE")
    described = boto.describe_kinesis_streaming_destination(TableName=table)
    assert described["KinesisDataStreamDestinations"] == [{"StreamArn": arn, "DestinationStatus": "ACTIVE"}]
    db.PutItem(TableName=table, Item=item(pk="a", n=1))
    db.UpdateItem(TableName=table, Key=item(pk="a"), UpdateExpression="SET n = :n", ExpressionAttributeValues=item(**{":n": 2}))
    db.PutItem(TableName=table, Item=item(pk="a", n=2))  # changes nothing
    db.DeleteItem(TableName=table, Key=item(pk="a"))
    assert [record["eventName"] for record in reader.wait(3)] == ["INSERT", "MODIFY", "REMOVE"]
    assert boto.disable_kinesis_streaming_destination(TableName=table, StreamArn=arn)["DestinationStatus"] == "DISABLING"
    assert wait_state(db, table, "DISABLED") == {"StreamArn": arn, "DestinationStatus": "DISABLED"}
    db.PutItem(TableName=table, Item=item(pk="unseen"))
    enable(db, table, arn)  # the same entry again
    assert destinations(db, table) == [{"StreamArn": arn, "DestinationStatus": "ACTIVE"}]
    db.PutItem(TableName=table, Item=item(pk="b"))
    assert len(reader.wait(4)) == 4
    assert [key for key, _ in by_item(reader.unique()).items()] == [json.dumps(item(pk="a")), json.dumps(item(pk="b"))]


def test_one_live_destination(db, kinesis, stream):
    arn, _ = stream
    other = kinesis.create_stream(unique_name("stream"))
    table = create_table(db)
    enable(db, table, arn)
    for refused_arn in (arn, other):
        with invalid("Table is not in a valid state to enable Kinesis Streaming Destination: EnableKinesisStreamingDestination must be "
                     "DISABLED or ENABLE_FAILED to perform ENABLE operation."):
            db.EnableKinesisStreamingDestination(TableName=table, StreamArn=refused_arn)
    with invalid():
        db.DisableKinesisStreamingDestination(TableName=table, StreamArn=other)
    db.DisableKinesisStreamingDestination(TableName=table, StreamArn=arn)
    wait_state(db, table, "DISABLED")
    with invalid():
        db.DisableKinesisStreamingDestination(TableName=table, StreamArn=arn)
    enable(db, table, other)
    assert destinations(db, table) == [{"StreamArn": arn, "DestinationStatus": "DISABLED"},
                                       {"StreamArn": other, "DestinationStatus": "ACTIVE"}]


@pytest.mark.parametrize("arn, problem", [
    (stream_arn("missing"), "User does not have a permission to use kinesis stream"),
    ("arn:aws:sns:us-east-1:000000000000:not-a-stream", "User does not have a permission to use kinesis stream"),
    (stream_arn("elsewhere", region="eu-west-1"),
     "The kinesis Arn used to enable kinesis replication belongs to a stream which is not in the current region"),
])
def test_a_stream_that_cannot_be_used(db, arn, problem, stream):
    table = create_table(db)
    assert db.EnableKinesisStreamingDestination(TableName=table, StreamArn=arn)["DestinationStatus"] == "ENABLING"
    assert wait_state(db, table, "ENABLE_FAILED") == {
        "StreamArn": arn, "DestinationStatus": "ENABLE_FAILED", "DestinationStatusDescription": problem}
    db.PutItem(TableName=table, Item=item(pk="a"))
    enable(db, table, stream[0])
    assert [entry["DestinationStatus"] for entry in destinations(db, table)] == ["ENABLE_FAILED", "ACTIVE"]


@pytest.mark.parametrize("character", ["\n", " ", "\"", "\\", "ü", "\x7f"])
def test_characters_of_arns(db, character):
    table = create_table(db)
    with invalid():
        db.EnableKinesisStreamingDestination(TableName=table, StreamArn=stream_arn(f"a{character}b"))
    assert destinations(db, table) == []


def test_a_stream_of_another_account(db, stream):
    table = create_table(db)
    other = stream[0].replace("000000000000", "111122223333")
    db.EnableKinesisStreamingDestination(TableName=table, StreamArn=other)
    assert wait_state(db, table, "ENABLE_FAILED")["DestinationStatusDescription"] == "User does not have a permission to use kinesis stream"


def test_a_stream_that_is_not_active(tmp_path):
    with Kinesis(tmp_path, create_ms=600_000) as slow:
        slow.client.create_stream(StreamName="slow", ShardCount=1)
        with Server("memory:", "--kinesis-endpoint", slow.endpoint) as server, Client(server.endpoint) as db:
            table = create_table(db)
            db.EnableKinesisStreamingDestination(TableName=table, StreamArn=stream_arn("slow"))
            assert wait_state(db, table, "ENABLE_FAILED")["DestinationStatusDescription"] == (
                "The kinesis Arn used to enable kinesis replication belongs to a stream which is not in Active state")


def test_states_last_as_long_as_those_of_tables(kinesis, stream):
    arn, _ = stream
    with Server("memory:", "--kinesis-endpoint", kinesis.endpoint, "--table-delay-ms", "1000") as server, Client(server.endpoint) as db:
        table = unique_name()
        db.CreateTable(TableName=table, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                       AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
        with refused("ResourceNotFoundException"):
            db.EnableKinesisStreamingDestination(TableName=table, StreamArn=arn)
        poll(lambda: db.DescribeTable(TableName=table)["Table"]["TableStatus"] == "ACTIVE", 30, "the table is active")
        db.EnableKinesisStreamingDestination(TableName=table, StreamArn=arn)
        assert destinations(db, table)[0]["DestinationStatus"] == "ENABLING"
        wait_state(db, table, "ACTIVE")
        updated = db.UpdateKinesisStreamingDestination(TableName=table, StreamArn=arn, UpdateKinesisStreamingConfiguration={
            "ApproximateCreationDateTimePrecision": "MICROSECOND"})
        assert updated["DestinationStatus"] == "UPDATING"
        assert destinations(db, table)[0]["DestinationStatus"] == "UPDATING"
        with invalid():
            db.UpdateKinesisStreamingDestination(TableName=table, StreamArn=arn, UpdateKinesisStreamingConfiguration={
                "ApproximateCreationDateTimePrecision": "MILLISECOND"})
        wait_state(db, table, "ACTIVE")
        db.DisableKinesisStreamingDestination(TableName=table, StreamArn=arn)
        assert destinations(db, table)[0]["DestinationStatus"] == "DISABLING"
        assert db.DisableKinesisStreamingDestination(TableName=table, StreamArn=arn)["DestinationStatus"] == "DISABLING"
        assert wait_state(db, table, "DISABLED") == {"StreamArn": arn, "DestinationStatus": "DISABLED"}, "the precision is forgotten"


def test_a_table_that_is_not_there(server):
    boto = boto3.client("dynamodb", endpoint_url=server.endpoint, **boto3_config())
    for operation in ("enable", "disable"):
        with fails_with("ResourceNotFoundException"):
            getattr(boto, f"{operation}_kinesis_streaming_destination")(TableName="nowhere", StreamArn=stream_arn("x"))
    with fails_with("ResourceNotFoundException"):
        boto.describe_kinesis_streaming_destination(TableName="nowhere")


# --- records ---

def test_a_record(db, stream):
    arn, reader = stream
    table = create_table(db, "pk sk:N")
    enable(db, table, arn)
    image = {"pk": {"S": "a\"ü"}, "sk": {"N": "1.50"}, "b": {"B": "AQID"}, "bs": {"BS": ["AQ=="]}, "ss": {"SS": ["x"]}, "t": {"BOOL": True},
             "l": {"L": [{"B": "/w=="}, {"NULL": True}]}, "m": {"M": {"n": {"N": "7"}}}}
    before = time.time()
    db.PutItem(TableName=table, Item=image)
    [record] = reader.wait(1)
    assert list(record) == ["awsRegion", "eventID", "eventName", "userIdentity", "recordFormat", "tableName", "dynamodb", "eventSource"]
    change = record.pop("dynamodb")
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", record.pop("eventID"))
    assert record == {"awsRegion": "us-east-1", "eventName": "INSERT", "userIdentity": None, "recordFormat": "application/json",
                      "tableName": table, "eventSource": "aws:dynamodb"}
    assert list(change) == ["ApproximateCreationDateTime", "Keys", "NewImage", "SizeBytes"]
    assert abs(change["ApproximateCreationDateTime"] / 1000 - before) < 30
    assert change["Keys"] == {"pk": image["pk"], "sk": {"N": "1.5"}}
    assert decoded(change["NewImage"]["b"]["B"]) == b"\x01\x02\x03"
    assert decoded(change["NewImage"]["bs"]["BS"][0]) == b"\x01"
    assert decoded(change["NewImage"]["l"]["L"][0]["B"]) == b"\xff"
    assert change["NewImage"]["m"] == image["m"]
    [(partition_key, _)] = reader.records
    assert re.fullmatch("[0-9A-F]{32}", partition_key)


def test_precision(db, stream):
    arn, reader = stream
    table = create_table(db)
    answer = db.EnableKinesisStreamingDestination(TableName=table, StreamArn=arn, EnableKinesisStreamingConfiguration={
        "ApproximateCreationDateTimePrecision": "MICROSECOND"})
    assert answer["EnableKinesisStreamingConfiguration"] == {"ApproximateCreationDateTimePrecision": "MICROSECOND"}
    assert wait_state(db, table, "ACTIVE")["ApproximateCreationDateTimePrecision"] == "MICROSECOND"
    db.PutItem(TableName=table, Item=item(pk="a"))
    [record] = reader.wait(1)
    change = record["dynamodb"]
    assert list(change)[-1] == "ApproximateCreationDateTimePrecision" and len(str(change["ApproximateCreationDateTime"])) == 16
    config = {"ApproximateCreationDateTimePrecision": "MILLISECOND"}
    answer = db.UpdateKinesisStreamingDestination(TableName=table, StreamArn=arn, UpdateKinesisStreamingConfiguration=config)
    assert answer == {"TableName": table, "StreamArn": arn, "DestinationStatus": "UPDATING", "UpdateKinesisStreamingConfiguration": config}
    assert destinations(db, table)[0]["ApproximateCreationDateTimePrecision"] == "MILLISECOND"
    wait_state(db, table, "ACTIVE")
    table_id = db.DescribeTable(TableName=table)["Table"]["TableId"]
    with invalid("Invalid Request: Precision is already set to the desired value of MILLISECOND for "
                 f"tableId: {table_id}, kdsArn: {arn}"):
        db.UpdateKinesisStreamingDestination(TableName=table, StreamArn=arn, UpdateKinesisStreamingConfiguration=config)
    db.PutItem(TableName=table, Item=item(pk="b"))
    change = reader.wait(2)[1]["dynamodb"]
    assert list(change)[-1] == "SizeBytes" and len(str(change["ApproximateCreationDateTime"])) == 13


def test_transactions_and_batches(db, stream):
    arn, reader = stream
    table = create_table(db)
    enable(db, table, arn)
    put_all(db, table, [item(pk=f"p{i}", n=i) for i in range(40)])
    db.TransactWriteItems(TransactItems=[{"Put": {"TableName": table, "Item": item(pk=f"p{i}", n=-1)}} for i in range(10)])
    with refused("TransactionCanceledException"):
        db.TransactWriteItems(TransactItems=[
            {"Put": {"TableName": table, "Item": item(pk="never")}},
            {"ConditionCheck": {"TableName": table, "Key": item(pk="x"), "ConditionExpression": "attribute_exists(pk)"}}])
    records = reader.wait(50)
    assert len(records) == 50
    check_history(records, key_count=40)


def test_expiry(kinesis, stream):
    arn, reader = stream
    with Server("memory:", "--kinesis-endpoint", kinesis.endpoint, *TEST_CLOCK) as server, Client(server.endpoint) as db:
        table = create_table(db)
        enable(db, table, arn)
        db.UpdateTimeToLive(TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"})
        db.PutItem(TableName=table, Item=item(pk="expiring", until=int(time.time()) + 1000))
        advance_clock(db, 2000)
        put, removed = reader.wait(2)
        assert (put["eventName"], put["userIdentity"]) == ("INSERT", None)
        assert (removed["eventName"], removed["userIdentity"]) == (
            "REMOVE", {"principalId": "dynamodb.amazonaws.com", "type": "Service"})


def test_changes_over_a_mebibyte_are_left_out(server, db, stream):
    arn, reader = stream
    table = create_table(db)
    enable(db, table, arn)
    for value in ("x", "y", "z"):  # old and new image, each in base64 twice
        db.PutItem(TableName=table, Item={"pk": {"S": "large"}, "b": {"B": "A" * 520_000 + {"x": "AAAA", "y": "AQEB", "z": "AgIC"}[value]}})
    db.PutItem(TableName=table, Item=item(pk="small"))
    assert sorted(record["dynamodb"]["Keys"]["pk"]["S"] for record in reader.wait(2)) == ["large", "small"]
    assert metrics(server)["left_out_records_total", table] == 2


# --- the stream of the table, and its end ---

def test_nothing_else_shows_it(db, stream):
    arn, _ = stream
    table = create_table(db)
    enable(db, table, arn)
    described = db.DescribeTable(TableName=table)["Table"]
    assert not [name for name in described if "Stream" in name or "Kinesis" in name]
    assert db.call("ListStreams", {"TableName": table}, prefix="DynamoDBStreams_20120810.") == {"Streams": []}


def test_deleting_the_table_delivers_what_was_changed(db, kinesis, stream):
    arn, reader = stream
    table = create_table(db)
    enable(db, table, arn)
    for number in range(200):
        db.PutItem(TableName=table, Item=item(pk=f"p{number % 20}", n=number))
    db.DeleteTable(TableName=table)
    poll(lambda: table not in db.ListTables()["TableNames"], 30, "the table is deleted")
    create_table(db, name=table)
    assert destinations(db, table) == []
    enable(db, table, arn)
    db.PutItem(TableName=table, Item=item(pk="again"))
    records = reader.wait(201)
    assert len(records) == 201
    check_history(records, key_count=21)


def test_a_restored_table_has_no_destination(db, stream):
    arn, reader = stream
    table = create_table(db)
    enable(db, table, arn)
    db.PutItem(TableName=table, Item=item(pk="a"))
    copy = restore(db, create_backup(db, table), unique_name())["TableName"]
    assert destinations(db, copy) == []
    db.PutItem(TableName=copy, Item=item(pk="b"))
    db.PutItem(TableName=table, Item=item(pk="c"))
    assert {record["tableName"] for record in reader.wait(2)} == {table}


def test_deleting_a_table_that_is_enabling():
    with Server("memory:", "--kinesis-endpoint", NOWHERE) as server, Client(server.endpoint) as db:
        table = create_table(db)
        db.EnableKinesisStreamingDestination(TableName=table, StreamArn=stream_arn("x"))
        db.PutItem(TableName=table, Item=item(pk="a"))
        db.DeleteTable(TableName=table)
        poll(lambda: not metrics(server), 30, "nothing is kept of it")


# --- outages ---

class Load:
    """Changes of some items, and what they must have become."""

    def __init__(self, db, table, items=40, seed=1):
        self.db, self.table, self.items = db, table, items
        self.random = random.Random(seed)
        self.changes = 0
        self.state = {}

    def write(self, count):
        for _ in range(count):
            key = f"p{self.random.randrange(self.items)}"
            self.changes += 1
            if key in self.state and self.random.random() < 0.2:
                self.db.DeleteItem(TableName=self.table, Key=item(pk=key))
                del self.state[key]
            else:
                self.state[key] = item(pk=key, n=self.changes)
                self.db.PutItem(TableName=self.table, Item=self.state[key])

    def check(self, records):
        images = check_history(records)
        assert {key: image for key, image in images.items() if image is not None} == {
            json.dumps(item(pk=key)): image for key, image in self.state.items()}


def test_restarts_of_both_sides(tmp_path):
    """Kinesis refuses records, fails, does not answer, and is down; the server is killed and stopped: nothing is lost or out of order."""
    store = f"rocksdb:{tmp_path}/data"
    with Kinesis(tmp_path / "kinesis", fail_every=7) as kinesis:
        arn = kinesis.create_stream("s", shards=3)
        reader = kinesis.reader("s")
        options = (store, "--kinesis-endpoint", kinesis.endpoint)
        server = Server(*options)
        with Client(server.endpoint) as db:
            table = create_table(db)
            enable(db, table, arn)
            load = Load(db, table)
            load.write(300)
        for step in ("kill", "outage", "stop", "kill"):
            if step == "outage":
                kinesis.stop()
            else:
                getattr(server, step)()
                server = Server(*options)
            with Client(server.endpoint) as load.db:
                load.write(300)
                if step == "outage":
                    poll(lambda: metrics(server).get(("failed_calls_total", table), 0) > 0, 30, "deliveries fail")
                    load.write(100)
                    kinesis.start()
        records = reader.wait(load.changes, 60)
        assert len(records) == load.changes
        load.check(records)
        poll(lambda: metrics(server)["backlog_records", table] == 0, 10, "nothing is left")
        assert metrics(server)["lost_records_total", table] == 0
        server.stop()
    assert "GRAMME_POSTGRESQL" in os.environ or gramme("check", f"{tmp_path}/data").returncode == 0


def test_a_long_outage_keeps_the_newest_changes(tmp_path):
    with Kinesis(tmp_path / "kinesis") as kinesis:
        arn = kinesis.create_stream("s")
        with Server("memory:", "--kinesis-endpoint", kinesis.endpoint, "--kinesis-backlog-mb", "1") as server, \
                Client(server.endpoint) as db:
            table = create_table(db)
            enable(db, table, arn)
            kinesis.stop()
            for number in range(60):
                db.PutItem(TableName=table, Item=item(pk=f"p{number}", text="x" * 50_000))
            poll(lambda: metrics(server)["lost_records_total", table] > 0, 30, "some are given up")
            poll(lambda: metrics(server)["backlog_bytes", table] <= 1 << 20, 30, "the backlog is bounded")
            db.PutItem(TableName=table, Item=item(pk="last"))
            kinesis.start()
            reader = kinesis.reader("s")
            poll(lambda: (reader.read(), any(r["dynamodb"]["Keys"] == item(pk="last") for r in reader.unique()))[1], 30, "the last arrives",
                 pause=0.05)
            lost = int(metrics(server)["lost_records_total", table])
            kept = {record["dynamodb"]["Keys"]["pk"]["S"] for record in reader.wait(61 - lost)}
            assert len(kept) + lost == 61
            assert len(kept) >= 10, "not more than needed are given up"
            newest = {f"p{number}" for number in range(60 - (len(kept) - 1), 60)} | {"last"}
            assert len(kept & newest) >= len(kept) - 2, "the oldest are given up"


def test_changes_that_are_too_old_are_given_up(tmp_path):
    with Kinesis(tmp_path / "kinesis") as kinesis:
        arn = kinesis.create_stream("s")
        with Server("memory:", "--kinesis-endpoint", kinesis.endpoint, *TEST_CLOCK) as server, Client(server.endpoint) as db:
            table = create_table(db)
            enable(db, table, arn)
            kinesis.stop()
            for number in range(30):
                db.PutItem(TableName=table, Item=item(pk=f"p{number}"))
            advance_clock(db, 86_401)
            db.PutItem(TableName=table, Item=item(pk="last"))
            poll(lambda: metrics(server)["lost_records_total", table] == 30, 30, "they are given up")
            kinesis.start()
            [record] = kinesis.reader("s").wait(1)
            assert record["dynamodb"]["Keys"] == item(pk="last")


def test_disabling_during_an_outage(tmp_path):
    """DISABLED comes all the same, and what was changed before arrives later, before the changes of a new start."""
    with Kinesis(tmp_path / "kinesis") as kinesis:
        arn = kinesis.create_stream("s")
        with Server(f"rocksdb:{tmp_path}/data", "--kinesis-endpoint", kinesis.endpoint, *TEST_CLOCK) as server, \
                Client(server.endpoint) as db:
            table = create_table(db)
            enable(db, table, arn)
            kinesis.stop()
            load = Load(db, table, items=5)
            load.write(100)
            db.DisableKinesisStreamingDestination(TableName=table, StreamArn=arn)
            advance_clock(db, 60)
            wait_state(db, table, "DISABLED")
            assert db.EnableKinesisStreamingDestination(TableName=table, StreamArn=arn)["DestinationStatus"] == "ENABLING"
            load.write(100)
            assert metrics(server)  # of the destination before and the new one
            kinesis.start()
            wait_state(db, table, "ACTIVE")
            records = kinesis.reader("s").wait(200)
            assert len(records) == 200
            load.check(records)


def copy_store(source, target):
    assert gramme("copy", f"rocksdb:{source}", f"rocksdb:{target}").returncode == 0


def repair_store(source, target):
    assert gramme("repair", source, target).returncode in (0, 1)


@pytest.mark.skipif("GRAMME_POSTGRESQL" in os.environ, reason="tools for stores in directories")
@pytest.mark.parametrize("move", [copy_store, repair_store])
def test_a_backlog_is_part_of_the_store(tmp_path, move):
    with Kinesis(tmp_path / "kinesis") as kinesis:
        arn = kinesis.create_stream("s")
        with Server(f"rocksdb:{tmp_path}/data", "--kinesis-endpoint", kinesis.endpoint) as server, Client(server.endpoint) as db:
            table = create_table(db)
            enable(db, table, arn)
            load = Load(db, table, items=5)
            load.write(20)
            kinesis.reader("s").wait(20)
            poll(lambda: metrics(server)["backlog_records", table] == 0, 10, "all is delivered")
            kinesis.stop()
            load.write(50)
        checked = gramme("check", f"{tmp_path}/data", "--json")
        assert checked.returncode == 0, checked.stdout
        move(tmp_path / "data", tmp_path / "moved")
        assert gramme("check", f"{tmp_path}/moved").returncode == 0
        kinesis.start()
        with Server(f"rocksdb:{tmp_path}/moved", "--kinesis-endpoint", kinesis.endpoint) as server, Client(server.endpoint) as load.db:
            load.write(30)
            records = kinesis.reader("s").wait(100)
            assert len(records) == 100
            load.check(records)
            poll(lambda: metrics(server)["backlog_records", table] == 0, 10, "nothing is left")


def test_an_endpoint_that_is_no_address():
    done = gramme("serve", "--store", "memory:", "--listen", "127.0.0.1:0", "--kinesis-endpoint", "ftp://x")
    assert done.returncode != 0 and "--kinesis-endpoint" in done.stderr
