"""Measures latency and duration while a million items expire at once.

Loads a table on disk with a million items that expire at one time and 10,000 that do not, and has 16
clients read the latter, one GetItem after the other: for a while before that time has come, and then
until the last item has gone. Says both medians. The clock is the server's own, set by the test.

    /usr/bin/python3 tests/scale/expiry.py [--items 1000000] [--indexes 0] [--seconds 10]

Ends with status 1 if it took more than a minute or the median more than doubled."""

import argparse
import json
import os
import pathlib
import random
import selectors
import shutil
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

from clock import TEST_CLOCK, advance_clock, read_clock  # noqa: E402
from expiry import enable_ttl  # noqa: E402
from server import Server  # noqa: E402
from tables import create_table  # noqa: E402
from values import item  # noqa: E402
from wire import Client, Connection, request_bytes  # noqa: E402

TABLE = "Sessions"
READ_ITEMS = 10_000
CLIENTS = 16
PIPELINE = 16


def load(db, items):
    """Puts items, 25 at a time and many requests at once."""
    host, waiting = db.connection.host, 0
    for start in range(0, len(items), 25):
        body = {"RequestItems": {TABLE: [{"PutRequest": {"Item": one}} for one in items[start:start + 25]]}}
        db.connection.send(request_bytes(host, "BatchWriteItem", json.dumps(body).encode()))
        waiting += 1
        if waiting == PIPELINE:
            for _ in range(waiting):
                assert db.connection.read_answer().status == 200
            waiting = 0
    for _ in range(waiting):
        assert db.connection.read_answer().status == 200


class Readers:
    """Clients that each send a request when they have the answer to the last one."""

    def __init__(self, endpoint, requests):
        self.requests = requests
        self.selector = selectors.DefaultSelector()
        self.connections = [Connection(endpoint) for _ in range(CLIENTS)]
        for connection in self.connections:
            self.selector.register(connection.socket, selectors.EVENT_READ, connection)

    def ask(self, connection):
        connection.sent = time.perf_counter()
        connection.socket.sendall(random.choice(self.requests))

    def run(self, is_over):
        """Latencies in seconds until is_over(), which is asked twice a second."""
        latencies, idle = [], set()
        for connection in self.connections:
            self.ask(connection)
        next_look, over = time.monotonic() + 0.5, False
        while len(idle) < CLIENTS:
            for key, _ in self.selector.select():
                connection = key.data
                answer = connection.socket.recv(1 << 16)
                latencies.append(time.perf_counter() - connection.sent)
                assert answer.startswith(b"HTTP/1.1 200") and b'"Item"' in answer, answer
                if over:
                    idle.add(connection)
                else:
                    self.ask(connection)
            if not over and time.monotonic() >= next_look:
                over, next_look = is_over(), time.monotonic() + 0.5
        return latencies


def say(what, latencies, seconds):
    ordered = sorted(latencies)
    median = statistics.median(ordered)
    print(f"{what}: {len(ordered) / seconds:,.0f} GetItem/s, median {median * 1e6:.0f} us, 99th percentile "
          f"{ordered[len(ordered) * 99 // 100] * 1e6:.0f} us", flush=True)
    return median


def measure(server, options):
    with Client(server.endpoint) as db:
        indexes = {f"by-{number}": f"a{number}" for number in range(options.indexes)}
        create_table(db, name=TABLE, gsi=indexes or None)
        enable_ttl(db, TABLE)
        expires = read_clock(db) + 100_000
        start = time.monotonic()
        more = {f"a{number}": "x" for number in range(options.indexes)}
        for first in range(0, options.items, 10_000):
            load(db, [item(pk=f"session-{n}", user=f"user {n}", data="d" * 100, expires=expires, **more)
                      for n in range(first, min(first + 10_000, options.items))])
        load(db, [item(pk=f"read-{n}", user=f"user {n}", data="d" * 100) for n in range(READ_ITEMS)])
        print(f"loaded {options.items:,} items in {time.monotonic() - start:.0f} s", flush=True)
        host = db.connection.host
        readers = Readers(server.endpoint, [
            request_bytes(host, "GetItem", json.dumps({"TableName": TABLE, "Key": item(pk=f"read-{n}")}).encode())
            for n in range(READ_ITEMS)])
        readers.run(lambda end=time.monotonic() + 2: time.monotonic() > end)  # warm
        start = time.monotonic()
        quiet = readers.run(lambda: time.monotonic() > start + options.seconds)
        before = say("before", quiet, time.monotonic() - start)
        advance_clock(db, 100_001)
        start = time.monotonic()
        busy = readers.run(lambda: db.DescribeTable(TableName=TABLE)["Table"]["ItemCount"] == READ_ITEMS)
        took = time.monotonic() - start
        during = say("while they expire", busy, took)
        print(f"{options.items:,} items gone in {took:.1f} s; the median is {during / before:.2f} times what it was")
        return took <= 60 and during <= 2 * before


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--indexes", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=10)
    options = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="gramme-expiry-", dir=os.environ.get("TMPDIR", "/var/tmp"))
    try:
        with Server(f"rocksdb:{directory}/data", *TEST_CLOCK) as server:
            return 0 if measure(server, options) else 1
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    sys.exit(main())
