"""The streams of the tables on both sides: what they have recorded since they were last looked at, item by item."""

import json

from normalise import order, plain_value
from servers import Answer

IMAGES = ("OldImage", "NewImage")


class Side:
    """One server's stream of one table, and how far it was read."""

    def __init__(self, client, arn):
        self.client = client
        self.arn = arn
        self.positions = {}  # by shard: the iterator to read on with
        self.last = {}       # by shard: the sequence number of the last record that was read
        self.read()          # what was before is not compared

    def call(self, operation, **body):
        answer = self.client.call(operation, body)
        assert answer.is_ok(), f"{operation} {body}: {answer}"
        return answer.body

    def describe(self):
        description = self.call("DescribeStream", StreamArn=self.arn)["StreamDescription"]
        return {member: description[member] for member in ("StreamStatus", "StreamViewType", "TableName")}

    def shards(self):
        return [shard["ShardId"] for shard in self.call("DescribeStream", StreamArn=self.arn)["StreamDescription"]["Shards"]]

    def read(self):
        """The records behind the positions, which move on."""
        return [record for shard in self.shards() for record in self.read_shard(shard)]

    def read_shard(self, shard):
        records = []
        if shard not in self.positions:
            self.rewind(shard)
        while True:
            answer = self.client.call("GetRecords", {"ShardIterator": self.positions[shard]})
            if answer.error() == "TrimmedDataAccessException":
                self.rewind(shard)  # DynamoDB Local says so of its own iterators though it has trimmed nothing
                continue
            assert answer.is_ok(), str(answer)
            self.positions[shard] = answer.body["NextShardIterator"]  # no shard ends within a run
            if not answer.body["Records"]:
                return records
            for record in answer.body["Records"]:
                number = int(record["dynamodb"]["SequenceNumber"])
                if number > self.last.get(shard, -1):
                    self.last[shard] = number
                    records.append(record)

    def rewind(self, shard):
        """To the oldest record; those that were read already are left out."""
        self.positions[shard] = self.call(
            "GetShardIterator", StreamArn=self.arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]


def plain_record(record):
    change = record["dynamodb"]
    return {"eventName": record["eventName"], "StreamViewType": change["StreamViewType"], "userIdentity": record.get("userIdentity"),
            **{image: plain_value(change[image]) for image in IMAGES if image in change}}


def changes_nothing(record):
    """Dynoxide records puts of what is there already; the service does not."""
    return record["eventName"] == "MODIFY" and "OldImage" in record and record["OldImage"] == record.get("NewImage")


def by_item(records):
    """{key: its records in order}. If a view does not show whether a MODIFY changed something, it may be missing on the
    other side, so only those that surely did are kept."""
    items = {}
    for record in records:
        key = order(plain_value(record["dynamodb"]["Keys"]))
        items.setdefault(key, []).append(plain_record(record))
    made = {}
    for key, history in items.items():
        both = history[0]["StreamViewType"] == "NEW_AND_OLD_IMAGES"
        kept = [record for record in history
                if (not changes_nothing(record) if both else record["eventName"] != "MODIFY")]
        if kept:
            made[key] = kept
    return made


class StreamPairs:
    def __init__(self, gramme, oracle):
        self.clients = (gramme, oracle)
        self.pairs = {}  # by table

    def refresh(self, name, descriptions):
        """After a change of a table: which streams it has now. `descriptions` of both sides, or None: it is gone."""
        arns = [d["LatestStreamArn"] for d in descriptions or () if "StreamSpecification" in d]
        if len(arns) < 2:
            self.pairs.pop(name, None)
        elif name not in self.pairs or [side.arn for side in self.pairs[name]] != arns:
            self.pairs[name] = [Side(client, arn) for client, arn in zip(self.clients, arns)]

    def skip(self, name):
        """The sides were brought back into step: what that recorded is not compared."""
        for side in self.pairs.get(name, ()):
            side.read()

    def compare(self, name):
        """Two answers: what each has recorded since the last time; None: there is no stream."""
        if name not in self.pairs:
            return None
        return [Answer(200, json.dumps({"Stream": side.describe(), "Items": by_item(side.read())}).encode())
                for side in self.pairs[name]]
