"""Streams: a client for their operations, a consumer that follows the lineage of shards, and a
table rebuilt from what it reads.

    consumer = Consumer(Streams(endpoint), arn)
    mirror = Mirror()
    mirror.apply(consumer.read_all())
"""

import json

from wire import Client, Refused

PREFIX = "DynamoDBStreams_20120810."


class Streams(Client):
    """streams.DescribeStream(StreamArn=...) gives the answer's JSON or raises Refused."""

    def call(self, operation, request, prefix=PREFIX):
        return super().call(operation, request, prefix)


def specification(view):
    return {"StreamEnabled": True, "StreamViewType": view}


def stream_arn(db, table):
    return db.DescribeTable(TableName=table)["Table"]["LatestStreamArn"]


def all_shards(streams, arn, limit=100):
    """Every shard, page by page."""
    shards, start = [], {}
    while True:
        page = streams.DescribeStream(StreamArn=arn, Limit=limit, **start)["StreamDescription"]
        shards += page["Shards"]
        if "LastEvaluatedShardId" not in page:
            return shards
        start = {"ExclusiveStartShardId": page["LastEvaluatedShardId"]}


def iterator(streams, arn, shard, kind="TRIM_HORIZON", sequence=None):
    more = {"SequenceNumber": sequence} if sequence else {}
    return streams.GetShardIterator(StreamArn=arn, ShardId=shard, ShardIteratorType=kind, **more)["ShardIterator"]


def read_on(streams, position, limit=1000):
    """Records from an iterator on until a page is empty or the shard ends, and where it stands
    then: None at the end of the shard."""
    records = []
    while position:
        page = streams.GetRecords(ShardIterator=position, Limit=limit)
        records += page["Records"]
        position = page.get("NextShardIterator")
        if not page["Records"]:
            break
    return records, position


def read_untrimmed(streams, arn, shard):
    """What there is from the trim horizon on; asked again if that moves between the two calls."""
    while True:
        try:
            return read_on(streams, iterator(streams, arn, shard))[0]
        except Refused as refusal:
            if refusal.type != "TrimmedDataAccessException":
                raise


class Consumer:
    """Reads a stream as consumers written for AWS do: a shard only when its parent is read to its
    end. Keeps its place between calls."""

    def __init__(self, streams, arn):
        self.streams = streams
        self.arn = arn
        self.positions = {}  # of shards that were begun; None: read to the end
        self.parents = {}    # of all shards that were ever listed

    def _list(self):
        shards = all_shards(self.streams, self.arn)
        listed = {shard["ShardId"] for shard in shards}
        for shard in shards:
            self.parents.setdefault(shard["ShardId"], shard.get("ParentShardId"))
        return shards, listed

    def read_shards(self):
        """Lists the shards once, and yields the records of each that can be read. If it fails, what was not
        yielded comes another time."""
        shards, listed = self._list()
        for shard in shards:  # parents are listed before children
            name, parent = shard["ShardId"], shard.get("ParentShardId")
            if parent in listed and self.positions.get(parent, "") is not None:
                continue  # its parent comes first
            if name not in self.positions:
                self.positions[name] = iterator(self.streams, self.arn, name)
            if self.positions[name] is not None:
                records, self.positions[name] = read_on(self.streams, self.positions[name])
                yield records

    def read_round(self):
        return [record for records in self.read_shards() for record in records]

    def read_all(self):
        """Rounds until one brings nothing: no more is written meanwhile."""
        records = []
        while True:
            more = self.read_round()
            if not more and not self._is_behind():
                return records
            records += more

    def _is_behind(self):
        """A shard that ended has a child that was not begun."""
        children = {parent: name for name, parent in self.parents.items()}
        return any(position is None and name in children and children[name] not in self.positions
                   for name, position in self.positions.items())


def key_text(keys):
    return json.dumps(keys, sort_keys=True)


class Mirror:
    """A table rebuilt from records with both images. Each must fit what the one before it left: a
    record that is missing, doubled or out of order does not."""

    def __init__(self):
        self.items = {}
        self.event_ids = set()

    def apply(self, records):
        for record in records:
            change = record["dynamodb"]
            key = key_text(change["Keys"])
            assert record["eventID"] not in self.event_ids, f"twice: {record}"
            self.event_ids.add(record["eventID"])
            assert self.items.get(key) == change.get("OldImage"), (
                f"does not follow: {record}\nbefore: {self.items.get(key)}")
            expected = {"INSERT": (False, True), "MODIFY": (True, True), "REMOVE": (True, False)}
            assert expected[record["eventName"]] == ("OldImage" in change, "NewImage" in change), record
            if "NewImage" in change:
                self.items[key] = change["NewImage"]
            else:
                del self.items[key]

    def check_is(self, wire_items, key_names):
        """Holds exactly these items."""
        table = {key_text({name: item[name] for name in key_names}): item for item in wire_items}
        assert self.items.keys() == table.keys()
        for key, item in table.items():
            assert self.items[key] == item, key
