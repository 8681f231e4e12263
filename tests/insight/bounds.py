#!/usr/bin/python3
"""Does insight stay within its bounds? A thousand tables, more than ten thousand patterns, and a million distinct keys in a minute.

    tests/insight/bounds.py [--tables 1000] [--patterns 12000] [--keys 1000000] [--long]

Sends the same requests to two servers, one with --insight off. Checks that
- insight says that it uses less than 64 MiB, and the process with it uses at most 64 MiB more than the one without, now and at
  its peak;
- there are 10,000 patterns (with --long, patterns with texts of many kilobytes, as many as fit), what is folded into "other" is counted, and the calls of all patterns are the calls that were sent;
- the accesses of all keys are counted, or said to be uncounted;
- all of it can be read through the API while it happens.
Prints "N passed, M failed"."""

import argparse
import json
import pathlib
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from insight import Insight  # noqa: E402
from racing import together  # noqa: E402
from server import Server  # noqa: E402
from wire import Client, Refused  # noqa: E402

LIMIT = 64 << 20
CLIENTS = 8
BATCH = 100
PATTERNS_MAX = 10_000
PACE_SECONDS = 50


def resident(server):
    """(bytes of memory that the process has, that it has had at most)"""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return [int(status.split(f"{name}:")[1].split()[0]) * 1024 for name in ("VmRSS", "VmHWM")]


def in_parallel(server, count, send):
    """Calls send(client, number) for each number, with several clients."""
    def run(thread):
        with Client(server.endpoint) as client:
            for number in range(thread, count, CLIENTS):
                send(client, number)
    together(CLIENTS, run)


def make_tables(server, count):
    in_parallel(server, count, lambda db, number: db.CreateTable(
        TableName=f"table-{number}", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}],
        GlobalSecondaryIndexes=[{"IndexName": "gsi", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                                 "Projection": {"ProjectionType": "ALL"}}]))


def make_patterns(server, tables, patterns):
    """Each call is a pattern of its own; texts are of usual length."""
    in_parallel(server, patterns, lambda db, number: db.GetItem(
        TableName=f"table-{number % tables}", Key={"pk": {"S": f"k{number}"}},
        ProjectionExpression=f"title, description, created_at, updated_at, attribute_{number}"))


def make_long_patterns(server, tables, patterns):
    """Updates with more than 1 KB each of update and condition, which differ at the beginning."""
    names = [f"an_attribute_with_a_long_name_{i}" for i in range(40)]

    def send(db, number):
        update = ", ".join(f"{name} = :v" for name in [f"first_{number}", *names])
        condition = " AND ".join(f"attribute_not_exists({name})" for name in [f"other_{number}", *names])
        try:
            db.UpdateItem(TableName=f"table-{number % tables}", Key={"pk": {"S": f"k{number % 7}"}}, UpdateExpression=f"SET {update}",
                          ConditionExpression=condition, ExpressionAttributeValues={":v": {"S": "x"}})
        except Refused as refused:
            assert refused.type == "ConditionalCheckFailedException"
    in_parallel(server, patterns, send)


def use_keys(server, tables, keys):
    """Distinct keys, in batches of one table each, about a million in PACE_SECONDS; gives the seconds that it took."""
    start = time.monotonic()

    def send(db, number):
        first = number * BATCH
        time.sleep(max(0, start + first * PACE_SECONDS / 1_000_000 - time.monotonic()))
        db.BatchGetItem(RequestItems={f"table-{number % tables}": {"Keys": [{"pk": {"S": f"customer-{first + i:012}"}} for i in range(BATCH)]}})
    in_parallel(server, keys // BATCH, send)
    return time.monotonic() - start


class Watch:
    """Reads the pages of the API while the workload runs; keeps the most memory that insight said."""

    def __init__(self, server):
        self.insight = Insight(server.endpoint)
        self.most = 0
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.stopped.wait(1):
            self.most = max(self.most, self.insight.get("overview")["insight"]["memoryBytes"])
            for page in ("tables", "patterns", "heat", "findings", "cost"):
                self.insight.get(page)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()


def all_patterns(insight):
    found = []
    while True:
        page = insight.get("patterns", limit=1000, offset=len(found))
        found += page["patterns"]
        if len(found) >= page["total"] or not page["patterns"]:
            return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--patterns", type=int, default=12_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    make = make_long_patterns if options.long else make_patterns
    checks = []

    def check(good, text):
        checks.append(good)
        print(f"{'ok    ' if good else 'FAILED'} {text}", flush=True)

    memory = {}
    with Server("memory:", "--insight", "off") as off:
        make_tables(off, options.tables)
        make(off, options.tables, options.patterns)
        use_keys(off, options.tables, min(options.keys, 100_000))  # they leave nothing behind there
        memory["off"] = resident(off)
    with Server("memory:") as on:
        insight = Insight(on.endpoint)
        with Watch(on) as watch:
            make_tables(on, options.tables)
            make(on, options.tables, options.patterns)
            seconds = use_keys(on, options.tables, options.keys)
        memory["on"] = resident(on)
        overview = insight.get("overview")
        patterns = all_patterns(insight)
        places = [insight.get("heat", table=f"table-{number}", limit=1) for number in range(options.tables)]
    state = overview["insight"]
    print(f"{options.keys:,} distinct keys in {seconds:.0f} s; insight says {max(watch.most, state['memoryBytes']) / 2**20:.1f} MiB at most; "
          f"the process has {memory['on'][0] / 2**20:.0f} MiB and had {memory['on'][1] / 2**20:.0f} at most, while pages of the API were made; "
          f"without insight {memory['off'][0] / 2**20:.0f} and {memory['off'][1] / 2**20:.0f}")
    check(max(watch.most, state["memoryBytes"]) < LIMIT, "insight says that it uses less than 64 MiB")
    check(memory["on"][0] - memory["off"][0] < LIMIT, "the process has at most 64 MiB more than without insight")
    check(memory["on"][1] - memory["off"][1] < LIMIT, "and had at most 64 MiB more at its peak")
    check(seconds < 60 or options.keys < 1_000_000, "a million keys within a minute")
    if options.long:
        check(2000 < state["patterns"] < PATTERNS_MAX, f"{state['patterns']:,} patterns")
    else:
        check(state["patterns"] == min(PATTERNS_MAX, options.patterns + options.tables + 1), f"{state['patterns']:,} patterns")
    folded = sum(pattern["calls"] for pattern in patterns if pattern["other"])
    check(folded == state["foldedCalls"] > 0, f"{folded:,} calls are in the patterns \"other\", foldedCalls says {state['foldedCalls']:,}")
    sent = options.patterns + options.keys // BATCH * BATCH
    counted = sum(pattern["calls"] for pattern in patterns if pattern["table"])
    check(counted == sent + options.tables or counted == sent, f"{sent:,} calls on items were sent, {counted:,} are counted")
    accesses = sum(place["accesses"] for place in places)
    check(accesses + state["uncountedKeys"] == sent, f"{accesses:,} accesses of keys are counted, {state['uncountedKeys']:,} said to be uncounted")
    check(state["uncountedKeys"] < sent / 100, "less than 1 % of the accesses is uncounted")
    print(f"{sum(checks)} passed, {len(checks) - sum(checks)} failed")
    return 0 if all(checks) else 1


if __name__ == "__main__":
    sys.exit(main())
