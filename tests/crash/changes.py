"""What streams must say after a crash or a fault: every change of an item once and in order, and of expired items that
they had expired. Clients remember their writes (Worker.history, Worker.brief in workload.py)."""

import time

from streams import Consumer, Mirror, Streams, stream_arn
from tables import all_items
from values import plain
from waiting import poll
from wire import Client
from workload import BRIEF, SLIM, key_names

LATE_SECONDS = 5  # after which an expired item must be gone
SERVICE = "dynamodb.amazonaws.com"  # deletes expired items


class StreamReader:
    """Reads the stream of a table from its beginning, and keeps its place."""

    def __init__(self, table, endpoint):
        self.table, self.records = table, []
        with Client(endpoint) as db:
            self.consumer = Consumer(None, stream_arn(db, table))

    def finish(self, endpoint):
        """What is left when nobody writes."""
        with Streams(endpoint) as self.consumer.streams:
            self.records += self.consumer.read_all()


class StreamCheck:
    """Compares the records of a table's stream with what was written since the last check."""

    def __init__(self, reader):
        self.reader, self.mirror = reader, Mirror()
        self.table, self.key_names = reader.table, key_names(reader.table)
        self.counted = 0  # the counter, when it was checked last
        self.seen = self.expired = 0  # records in all

    def take(self, endpoint):
        """New records by key, in order: (event name, new image, who, when)."""
        self.reader.finish(endpoint)
        records, self.reader.records = self.reader.records, []
        self.mirror.apply(records)  # each fits what the one before has left
        self.seen += len(records)
        self.expired += sum("userIdentity" in record for record in records)
        found = {}
        for record in records:
            change = record["dynamodb"]
            key = tuple(plain(change["Keys"])[name] for name in self.key_names)
            found.setdefault(key, []).append((record["eventName"], plain(change.get("NewImage")),
                                              record.get("userIdentity"), change["ApproximateCreationDateTime"]))
        return found

    def check_table(self, endpoint):
        """The table holds what the records say."""
        with Client(endpoint) as db:
            self.mirror.check_is(all_items(db.Scan, TableName=self.table, ConsistentRead=True), self.key_names)


def check_counter(stream_check, found, count):
    numbers = [new["n"] for _, new, _, _ in found.pop(("counter",), [])]
    expected = list(range(stream_check.counted + 1, count + 1))
    assert numbers == expected, f"the stream of the counter has {numbers}, not {expected}"
    stream_check.counted = count


def check_changes(stream_check, endpoint, workers, count):
    """Every change of a worker's items once, in order of its item; and of the counter, which is `count`."""
    table = stream_check.table
    found = stream_check.take(endpoint)
    if table == SLIM:
        check_counter(stream_check, found, count)
        found = {key: events for key, events in found.items() if not key[0].startswith("account-")}  # the mirror has them
    for worker in workers:
        for key in worker.own_keys:
            if key[0] == table:
                seen = [new and new["w"] for _, new, _, _ in found.pop(key[1:2] if table == SLIM else key[1:], [])]
                assert seen == worker.history[key], f"the stream of {key} has {seen}, written were {worker.history[key]}"
                worker.history[key] = []
    assert not found, f"the stream of {table} has {list(found)[:5]}, which nobody wrote"
    stream_check.check_table(endpoint)


def check_brief(stream_check, endpoint, workers):
    """Items of BRIEF are there unless they were deleted or were due. Expiry goes on meanwhile."""
    found = {}

    def is_settled():
        for key, events in stream_check.take(endpoint).items():
            found.setdefault(key, []).extend(events)
        try:
            stream_check.check_table(endpoint)
        except AssertionError:
            return False
        late = int(time.time()) - LATE_SECONDS
        return not any(int(wire_item["due"]["N"]) < late for wire_item in stream_check.mirror.items.values()
                       if "due" in wire_item)
    poll(is_settled, 60, f"{BRIEF} holds what its stream says, and no item that is due", pause=0.1)
    for worker in workers:
        for pk, brief in worker.brief.items():
            brief.held = follow_brief(pk, brief, found.pop((pk,), []))
            brief.writes = []
    assert not found, f"the stream of {BRIEF} has {list(found)[:5]}, which nobody put"


def follow_brief(pk, brief, events):
    """What the item is after these events, which must be those of the writes, and of expiry when it was due."""
    state, writes = brief.held, list(brief.writes)
    for name, new, who, when in events:
        if who is not None:
            assert who["PrincipalId"] == SERVICE and new is None, f"{pk}: {who}"
            assert state and state.get("due", when + 2) <= when + 1, f"{pk} was deleted at {when}, not due: {state}"
            state = None
            continue
        while writes and writes[0].content == state:  # it was gone: to delete it again changed nothing
            writes.pop(0)
        assert writes and writes.pop(0).content == new, f"{pk}: {name} of {new}, which was not written then"
        state = new
    lost = [write.content for write in writes if write.is_sure and write.content != state]
    assert not lost, f"{pk}: acknowledged and not in the stream: {lost}"
    return state
