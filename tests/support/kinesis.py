"""A Kinesis server written by others (npm kinesalite), and the records that a table's changes become there."""

import base64
import collections
import json
import pathlib
import subprocess

import boto3
from boto_config import boto3_config
from loopback import free_port
from waiting import poll

SCRIPT = pathlib.Path(__file__).with_name("kinesalite.cjs")
ACCOUNT = "000000000000"


def stream_arn(name, region="us-east-1"):
    return f"arn:aws:kinesis:{region}:{ACCOUNT}:stream/{name}"


class Kinesis:
    """Serves at self.endpoint; its streams are kept in a directory, so stop() and start() lose nothing."""

    def __init__(self, directory, fail_every=0, create_ms=20):
        self.directory = str(directory)
        self.fail_every, self.create_ms = fail_every, create_ms
        self.port = free_port()  # the same after stop() and start()
        self.process = None
        self.start()
        self.client = boto3.client("kinesis", endpoint_url=self.endpoint, **boto3_config())

    def start(self):
        self.process = subprocess.Popen(["node", str(SCRIPT), str(self.port), self.directory, str(self.fail_every),
                                         str(self.create_ms)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        assert line, "kinesalite did not start"
        self.port = int(line)
        self.endpoint = f"http://127.0.0.1:{self.port}"

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def create_stream(self, name, shards=2):
        self.client.create_stream(StreamName=name, ShardCount=shards)
        poll(lambda: self.client.describe_stream(StreamName=name)["StreamDescription"]["StreamStatus"] == "ACTIVE", 30,
             "the stream is active")
        arn = self.client.describe_stream(StreamName=name)["StreamDescription"]["StreamARN"]
        assert arn == stream_arn(name)
        return arn

    def reader(self, name):
        return Reader(self, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Reader:
    """Reads all records of a stream; `records` are (partition key, the record as JSON) in the order of each shard."""

    def __init__(self, kinesis, name):
        self.kinesis = kinesis
        self.name = name
        self.after = {}
        self.records = []

    def _iterator(self, shard):
        start = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": self.after[shard]} \
            if shard in self.after else {"ShardIteratorType": "TRIM_HORIZON"}
        return self.kinesis.client.get_shard_iterator(StreamName=self.name, ShardId=shard, **start)["ShardIterator"]

    def _read_shard(self, shard):
        iterator = self._iterator(shard)
        while True:
            page = self.kinesis.client.get_records(ShardIterator=iterator, Limit=10000)
            for record in page["Records"]:
                self.records.append((record["PartitionKey"], json.loads(record["Data"])))
                self.after[shard] = record["SequenceNumber"]
            iterator = page["NextShardIterator"]
            if not page["Records"]:
                return

    def read(self):
        for shard in self.kinesis.client.describe_stream(StreamName=self.name)["StreamDescription"]["Shards"]:
            self._read_shard(shard["ShardId"])
        return self.records

    def wait(self, count, seconds=30):
        """Until there are so many different records; gives them without duplicates, by first arrival."""
        def enough():
            found = self.unique()
            return found if len(found) >= count else None
        return poll(lambda: (self.read(), enough())[1], seconds, f"{count} records", pause=0.05)

    def unique(self):
        return list({record["eventID"]: record for _, record in self.records}.values())


def by_item(records):
    """{key attributes as text: its records in order}"""
    found = collections.defaultdict(list)
    for record in records:
        found[json.dumps(record["dynamodb"]["Keys"], sort_keys=True)].append(record)
    return found


def check_history(records, key_count=None):
    """Each item's records, without duplicates, are a history without a gap: the old image of each is the new image of the one before.
    Gives the last images."""
    images = {}
    for key, history in by_item(records).items():
        image = None
        for record in history:
            change = record["dynamodb"]
            assert change.get("OldImage") == image, (key, change, image)
            image = change.get("NewImage")
            assert record["eventName"] == ("REMOVE" if image is None else "INSERT" if "OldImage" not in change else "MODIFY")
        images[key] = image
    assert key_count is None or len(images) == key_count
    return images


def decoded(text):
    """A binary value of a record: encoded twice."""
    return base64.b64decode(base64.b64decode(text))


def destinations(db, table):
    return db.DescribeKinesisStreamingDestination(TableName=table)["KinesisDataStreamDestinations"]


def wait_state(db, table, state, seconds=30, number=-1):
    poll(lambda: destinations(db, table)[number]["DestinationStatus"] == state, seconds, f"the destination is {state}")
    return destinations(db, table)[number]


def enable(db, table, arn, **more):
    answer = db.EnableKinesisStreamingDestination(TableName=table, StreamArn=arn, **more)
    assert answer["DestinationStatus"] == "ENABLING"
    wait_state(db, table, "ACTIVE")
