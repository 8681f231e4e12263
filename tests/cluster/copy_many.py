#!/usr/bin/python3
"""Copies a large table with three indexes and a stream from RocksDB to PostgreSQL and back, killing each copy in the middle once,
and compares both copies with the source: every item, every index entry and every record of the stream.

    copy_many.py [--items 1000000] [--seed N]

Prints how long each copy took and how much memory. About 10 minutes for a million items."""

import argparse
import itertools
import json
import multiprocessing
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import postgresql  # noqa: E402
from server import Server, program  # noqa: E402
from streams import Streams, all_shards, iterator, specification, stream_arn  # noqa: E402
from tables import create_table, pages, put_all, wait_active  # noqa: E402
from values import item  # noqa: E402
from wire import Client  # noqa: E402

TABLE = "many"
INDEXES = {"gsi": {"by-color": ("color n:N", "KEYS_ONLY"), "by-name": "name"}, "lsi": {"by-size": ("pk size:N", ["color"])}}
NAMES = ["by-color", "by-name", "by-size"]
LOADERS, PER_PARTITION = 4, 40
COPY_SECONDS_MAX = 3600


def make_item(number, dice):
    """Some are in no index; sizes differ."""
    attributes = {"color": f"c{dice.randrange(500)}", "n": number, "name": f"name {number % 70_000}", "size": dice.randrange(10_000)}
    return item(pk=f"p{number // PER_PARTITION}", sk=number, text="x" * dice.randrange(120),
                **{name: value for name, value in attributes.items() if dice.random() < 0.9})


def load_part(endpoint, first, last, seed):
    dice = random.Random(f"{seed}/{first}")
    with Client(endpoint) as db:
        for start in range(first, last, 25):
            put_all(db, TABLE, [make_item(number, dice) for number in range(start, min(start + 25, last))])


def load(endpoint, count, seed):
    with Client(endpoint) as db:
        create_table(db, "pk sk:N", name=TABLE, StreamSpecification=specification("NEW_AND_OLD_IMAGES"), **INDEXES)
    step = -(-count // LOADERS)
    parts = [multiprocessing.Process(target=load_part, args=(endpoint, first, min(first + step, count), seed))
             for first in range(0, count, step)]
    for part in parts:
        part.start()
    for part in parts:
        part.join()
        assert part.exitcode == 0, "loading failed"


class Copy:
    """One run of gramme copy; `rows` is how many it says it has copied."""

    def __init__(self, source, target):
        self.started = time.monotonic()
        self.process = subprocess.Popen([program(), "copy", source, target], text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        self.output, self.rows = "", 0

    def wait(self, rows_max=None):
        """Reads what it says until it ends, or has copied so many rows and is killed."""
        for line in self.process.stdout:
            self.output += line
            found = re.match(r"copied (\d+) rows", line)
            self.rows = int(found[1]) if found else self.rows
            if rows_max is not None and self.rows >= rows_max:
                self.process.send_signal(signal.SIGKILL)
                rows_max = None
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.seconds, self.megabytes = time.monotonic() - self.started, usage.ru_maxrss / 1024
        return self.process.returncode


def copy_killed_once(what, source, target, rows_max):
    first = Copy(source, target)
    assert first.wait(rows_max) == -signal.SIGKILL, f"it was not killed in time:\n{first.output[-500:]}"
    print(f"{what}: killed after {first.rows:,} rows and {first.seconds:.0f} s, {first.megabytes:.0f} MiB", flush=True)
    second = Copy(source, target)
    status = second.wait()
    assert status == 0 and "continued and finished" in second.output, f"status {status}:\n{second.output[-500:]}"
    print(f"{what}: continued and finished in {second.seconds:.0f} s, {second.megabytes:.0f} MiB: {second.output.splitlines()[-1]}",
          flush=True)


def records(streams, arn):
    """All records, shard by shard."""
    for shard in all_shards(streams, arn):
        position = iterator(streams, arn, shard["ShardId"])
        while position:
            page = streams.GetRecords(ShardIterator=position, Limit=1000)
            yield from page["Records"]
            if not page["Records"]:
                break
            position = page.get("NextShardIterator")


def compare_each(what, ones, others):
    count = 0
    for one, other in itertools.zip_longest(ones, others):
        assert one == other, f"{what} {count} differs: {json.dumps(one)[:300]} and {json.dumps(other)[:300]}"
        count += 1
    return count


def compare(source, target, items):
    """Everything that a client can see."""
    with Server(source) as one, Server(target) as other, Client(one.endpoint) as one_db, Client(other.endpoint) as other_db:
        descriptions = [wait_active(db, TABLE) for db in (one_db, other_db)]
        assert descriptions[0] == descriptions[1], descriptions
        assert descriptions[0]["ItemCount"] == items
        for index in (None, *NAMES):
            more = {"IndexName": index} if index else {}
            scans = [(each for page in pages(db.Scan, TableName=TABLE, **more) for each in page["Items"]) for db in (one_db, other_db)]
            print(f"  {index or 'items'}: {compare_each(index or 'item', *scans):,} are equal", flush=True)
        with Streams(one.endpoint) as one_streams, Streams(other.endpoint) as other_streams:
            arn = stream_arn(one_db, TABLE)
            count = compare_each("record", records(one_streams, arn), records(other_streams, arn))
            assert count >= items
            print(f"  records: {count:,} are equal", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print(f"copies of {options.items:,} items, --seed {options.seed}", flush=True)
    dice = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="gramme-copy-") as folder, postgresql.Cluster() as database:
        first, second, between = f"rocksdb:{folder}/first", f"rocksdb:{folder}/second", database.create_database()
        started = time.monotonic()
        with Server(first) as server:
            load(server.endpoint, options.items, options.seed)
        print(f"loaded in {time.monotonic() - started:.0f} s", flush=True)
        for what, source, target in (("to PostgreSQL", first, between), ("back to RocksDB", between, second)):
            copy_killed_once(what, source, target, dice.randrange(options.items // 2, 3 * options.items))
            compare(first, target, options.items)
    print("2 passed, 0 failed")


if __name__ == "__main__":
    main()
