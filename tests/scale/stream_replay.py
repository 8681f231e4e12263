#!/usr/bin/python3
"""Rebuilds a table from its stream and compares.

Clients make many mixed writes (puts, updates, deletes, conditional ones, batches, transactions) to a table whose stream has
both images, while items expire, shards roll over, and the server is restarted twice, once by SIGKILL. One consumer follows the stream all
the while; another starts from TRIM_HORIZON when all is written. Each rebuilds the table from the records alone, checking
that every record follows the one before it, and must end with exactly what a Scan finds.

    /usr/bin/python3 tests/scale/stream_replay.py [--writes 200000] [--clients 8] [--shard-ms 4000] [--seed N]
"""

import argparse
import pathlib
import random
import shutil
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import tables  # noqa: E402
from expiry import enable_ttl  # noqa: E402
from server import Server  # noqa: E402
from streams import Consumer, Mirror, Streams, specification, stream_arn  # noqa: E402
from values import item, values  # noqa: E402
from waiting import poll  # noqa: E402
from wire import Client, Refused  # noqa: E402

TABLE = "replayed"
PARTITIONS, ITEMS = 40, 50  # few enough that items are written again and again


class Writer:
    """One client: writes at random, and goes on after the server was gone."""

    def __init__(self, run, number):
        self.run = run
        self.dice = random.Random(f"{run.options.seed}/{number}")
        self.client = None

    def key(self):
        return item(pk=f"p{self.dice.randrange(PARTITIONS)}", sk=self.dice.randrange(ITEMS))

    def keys(self, count):
        found = {}
        while len(found) < count:
            key = self.key()
            found[str(key)] = key
        return list(found.values())

    def whole(self, key):
        made = item(n=self.dice.randrange(5), text="x" * self.dice.randrange(120), tags={f"t{self.dice.randrange(4)}", "t"})
        if self.dice.random() < 0.1:
            made.update(item(expires=int(time.time()) + self.dice.randrange(1, 10)))
        return {**key, **made}

    def update(self, key):
        return {"TableName": TABLE, "Key": key, "UpdateExpression": "ADD n :n SET mark = :m",
                "ExpressionAttributeValues": values(n=self.dice.randrange(3), m=self.dice.randrange(3))}

    def put(self):
        self.client.PutItem(TableName=TABLE, Item=self.whole(self.key()))
        return 1

    def change(self):
        self.client.UpdateItem(**self.update(self.key()))
        return 1

    def delete(self):
        self.client.DeleteItem(TableName=TABLE, Key=self.key())
        return 1

    def condition(self):
        self.client.PutItem(TableName=TABLE, Item=self.whole(self.key()), ConditionExpression="attribute_not_exists(pk)")
        return 1

    def batch(self):
        requests = [{"DeleteRequest": {"Key": key}} if self.dice.random() < 0.3 else {"PutRequest": {"Item": self.whole(key)}}
                    for key in self.keys(25)]
        self.client.BatchWriteItem(RequestItems={TABLE: requests})
        return len(requests)

    def transaction(self):
        def action(key):
            choice = self.dice.random()
            if choice < 0.5:
                return {"Update": self.update(key)}
            if choice < 0.8:
                return {"Put": {"TableName": TABLE, "Item": self.whole(key)}}
            if choice < 0.98:
                return {"Delete": {"TableName": TABLE, "Key": key}}
            return {"ConditionCheck": {"TableName": TABLE, "Key": key, "ConditionExpression": "attribute_exists(pk)"}}
        actions = [action(key) for key in self.keys(self.dice.randrange(2, 13))]
        self.client.TransactWriteItems(TransactItems=actions)
        return len(actions)

    def work(self):
        kinds = [self.put, self.change, self.delete, self.condition, self.batch, self.transaction]
        while self.run.left() > 0:
            try:
                if self.client is None:
                    self.client = Client(self.run.endpoint)
                self.run.count(self.dice.choices(kinds, [30, 40, 15, 10, 4, 12])[0]())
            except Refused as refusal:
                assert refusal.type in ("ConditionalCheckFailedException", "TransactionCanceledException"), refusal
            except OSError:  # the server is being restarted
                self.client = None
                time.sleep(0.01)


class Run:
    def __init__(self, options):
        self.options = options
        self.directory = tempfile.mkdtemp(prefix="gramme-replay-", dir=options.directory)
        self.lock = threading.Lock()
        self.done = 0
        self.failure = None
        self.server = self.start(0)
        self.endpoint = self.server.endpoint

    def start(self, port):
        return Server(f"rocksdb:{self.directory}/data", "--stream-shard-ms", str(self.options.shard_ms), port=port)

    def left(self):
        return 0 if self.failure else self.options.writes - self.done

    def count(self, writes):
        with self.lock:
            self.done += writes

    def guard(self, work):
        """A thread whose failure ends the run."""
        def run():
            try:
                work()
            except BaseException as failure:  # noqa: B902 - reported at the end
                self.failure = self.failure or failure
        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def restart_at(self, share, kill):
        while self.left() > self.options.writes * (1 - share):
            time.sleep(0.05)
        if self.failure:
            return
        (self.server.kill if kill else self.server.stop)()
        self.server = self.start(self.server.port)
        print(f"restarted after {self.done} writes ({'SIGKILL' if kill else 'SIGTERM'})", flush=True)


class Follower:
    """A consumer that runs beside the writers; it keeps its place over restarts."""

    def __init__(self, run, arn):
        self.run = run
        self.consumer = Consumer(Streams(run.endpoint), arn)
        self.mirror = Mirror()

    def work(self):
        while self.run.left() > 0:
            try:
                for records in self.consumer.read_shards():
                    self.mirror.apply(records)
            except OSError:
                self.reconnect()

    def reconnect(self):
        while self.run.left() > 0:
            try:
                self.consumer.streams = Streams(self.run.endpoint)
                return
            except OSError:
                time.sleep(0.01)


def replay(run):
    with Client(run.endpoint) as db:
        tables.create_table(db, "pk sk:N", name=TABLE, StreamSpecification=specification("NEW_AND_OLD_IMAGES"))
        enable_ttl(db, TABLE)
        arn = stream_arn(db, TABLE)
    follower = Follower(run, arn)
    start = time.monotonic()
    threads = [run.guard(Writer(run, number).work) for number in range(run.options.clients)]
    threads.append(run.guard(follower.work))
    run.restart_at(1 / 3, kill=False)
    run.restart_at(2 / 3, kill=True)
    for thread in threads:
        thread.join()
    if run.failure:
        raise run.failure
    print(f"{run.done} writes in {time.monotonic() - start:.0f} s", flush=True)
    check(run, arn, follower)


def settled_items(db):
    """What a Scan finds when no item is left that will expire."""
    def probe():
        found = tables.all_items(db.Scan, TableName=TABLE, ConsistentRead=True)
        return found if not any("expires" in item for item in found) else None
    return poll(probe, 120, "all items that have a time are gone")


def check(run, arn, follower):
    with Client(run.endpoint) as db, Streams(run.endpoint) as streams:
        found = settled_items(db)
        start = time.monotonic()
        consumer, mirror = Consumer(streams, arn), Mirror()
        records = consumer.read_all()
        mirror.apply(records)
        mirror.check_is(found, ["pk", "sk"])
        expired = [record for record in records if "userIdentity" in record]
        assert expired and all(record["eventName"] == "REMOVE" for record in expired)
        print(f"{len(records)} records ({len(expired)} of expiry) in {len(consumer.parents)} shards, read in "
              f"{time.monotonic() - start:.0f} s, make the {len(found)} items of the table", flush=True)
        follower.consumer.streams = streams
        follower.mirror.apply(follower.consumer.read_all())
        follower.mirror.check_is(found, ["pk", "sk"])
        assert follower.mirror.event_ids == mirror.event_ids
        print("and the consumer that ran beside the writers read the same", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writes", type=int, default=200_000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--shard-ms", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--directory", help="where to put the data (default: the system's for temporary files)")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    run = Run(options)
    try:
        replay(run)
    finally:
        run.server.stop()
        shutil.rmtree(run.directory)


if __name__ == "__main__":
    sys.exit(main())
