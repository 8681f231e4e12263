"""A global index created on a big table while clients write, with a SIGKILL in the middle.

Loads a table on disk, measures what its clients write in a second, creates an index, kills the server
when half of the index is filled, starts it again, and waits for the index to be ACTIVE, all under the
same load. Then every item of the table must be in the index exactly once if it has the keys, with its
newest image, and the counts must be exact.

    /usr/bin/python3 tests/scale/backfill.py [--items 1000000] [--clients 8] [--no-kill]
"""

import argparse
import json
import math
import multiprocessing
import os
import pathlib
import random
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from server import Server  # noqa: E402
from tables import definitions, index_request, pages, table_request, wait_active  # noqa: E402
from values import item, item_size, values  # noqa: E402
from waiting import poll  # noqa: E402
from wire import Client, Refused, request_bytes  # noqa: E402

TABLE, INDEX = "Big", "byGroup"
PIPELINE = 16
BASELINE_SECONDS = 10
BUCKETS = 150


def bucket_of(seconds):
    """Buckets grow by a tenth, from 0.1 ms on."""
    return min(max(int(math.log(seconds / 1e-4) / math.log(1.1)), 0), BUCKETS - 1)


def bucket_end(number):
    return 1e-4 * 1.1 ** (number + 1)


def content(number, version):
    """An item; each tenth is not in the index, some of these because of a wrong type."""
    group = f"g{(number * 7 + version) % 1000}"
    if number % 10 == 0:
        group = None if number % 20 else number
    return {"pk": f"p{number:07}", "v": version, "text": "x" * 100, **({"g": group} if group is not None else {})}


def load(endpoint, count):
    started = time.monotonic()
    with Client(endpoint) as db:
        db.CreateTable(**table_request(TABLE))
        wait_active(db, TABLE)
        for start in range(0, count, 25 * PIPELINE):
            requests = [{"RequestItems": {TABLE: [{"PutRequest": {"Item": item(content(n, 0))}}
                                                  for n in range(first, min(first + 25, count))]}}
                        for first in range(start, min(start + 25 * PIPELINE, count), 25)]
            db.connection.send(b"".join(request_bytes(db.connection.host, "BatchWriteItem", json.dumps(each).encode())
                                        for each in requests))
            for _ in requests:
                answer = db.connection.read_answer()
                assert answer.status == 200, answer.body
    print(f"loaded {count:,} items in {time.monotonic() - started:.0f} s", flush=True)


def write_some(db, dice, count):
    """One random write; such that the index must follow it."""
    number = dice.randrange(count)
    new = content(number, dice.randrange(1, 1000))
    if number % 20 == 0:
        new.pop("g", None)  # a wrong type would be refused from now on
    kind = dice.random()
    if kind < 0.4:
        db.PutItem(TableName=TABLE, Item=item(new))
    elif kind < 0.8:
        db.UpdateItem(TableName=TABLE, Key=item(pk=new["pk"]), UpdateExpression="SET v = :v, g = :g",
                      ExpressionAttributeValues=values(v=new["v"], g=new.get("g", "was none")))
    elif kind < 0.9:
        db.DeleteItem(TableName=TABLE, Key=item(pk=new["pk"]))
    else:
        other = content((number + 1) % count, 5)
        other.pop("g", None)
        db.TransactWriteItems(TransactItems=[{"Put": {"TableName": TABLE, "Item": item(new)}},
                                             {"Put": {"TableName": TABLE, "Item": item(other)}}])


def write(endpoint, seed, count, stop, times):
    """One client: writes until stopped; reconnects after a kill. `times` counts
    its writes by how long they took."""
    dice = random.Random(seed)
    while not stop.value:
        try:
            with Client(endpoint) as db:
                while not stop.value:
                    start = time.monotonic()
                    write_some(db, dice, count)
                    times[bucket_of(time.monotonic() - start)] += 1
        except Refused as error:
            print(f"client {seed}: {error}", flush=True)
            os._exit(1)
        except OSError:
            time.sleep(0.02)


class Load:
    """Clients that write at the same time, each in a process of its own."""

    def __init__(self, endpoint, clients, count):
        self.stop = multiprocessing.Value("b", 0)
        self.times = [multiprocessing.Array("q", BUCKETS, lock=False) for _ in range(clients)]
        self.processes = [multiprocessing.Process(target=write, args=(
            endpoint, seed, count, self.stop, times)) for seed, times in enumerate(self.times)]
        for process in self.processes:
            process.start()
        self.mark()

    def counts(self):
        return [sum(counts) for counts in zip(*self.times)]

    def mark(self):
        """Forgets what was measured so far."""
        self.seen = self.counts()
        self.since = time.monotonic()

    def tell(self, what):
        seconds = time.monotonic() - self.since
        counts = [now - before for now, before in zip(self.counts(), self.seen)]
        total = sum(counts)

        def part(share):
            """The time within which that part of the writes was done."""
            left = share * total
            return next(1e3 * bucket_end(number) for number in range(BUCKETS)
                        if (left := left - counts[number]) <= 0)
        print(f"{what}: {total / seconds:,.0f} writes/s; latency median {part(0.5):.1f} ms, 99 % {part(0.99):.1f} ms, "
              f"99.9 % {part(0.999):.0f} ms, longest {part(1):.0f} ms", flush=True)
        assert all(process.is_alive() for process in self.processes), "a client failed"

    def end(self):
        self.stop.value = 1
        for process in self.processes:
            process.join()
        assert all(process.exitcode == 0 for process in self.processes), "a client failed"


def index_of(db):
    return db.DescribeTable(TableName=TABLE)["Table"]["GlobalSecondaryIndexes"][0]


def create_index(db):
    db.UpdateTable(TableName=TABLE, AttributeDefinitions=definitions("g"),
                   GlobalSecondaryIndexUpdates=[{"Create": index_request(INDEX, "g")}])


def fingerprints(db, **request):
    """{pk: hash of the item}, and their number and bytes; each pk must come once."""
    found, size = {}, 0
    for page in pages(db.Scan, TableName=TABLE, **request):
        for wire_item in page["Items"]:
            pk = wire_item["pk"]["S"]
            assert pk not in found, f"{pk} comes twice"
            found[pk] = hash(json.dumps(wire_item, sort_keys=True)), "S" in wire_item.get("g", {})
            size += item_size(wire_item)
    return found, size


def compare(db):
    started = time.monotonic()
    items, size = fingerprints(db)
    expected = {pk: each for pk, each in items.items() if each[1]}
    entries, entry_size = fingerprints(db, IndexName=INDEX)
    assert entries == expected, (
        f"{len(set(expected) - set(entries))} items are missing in the index, "
        f"{len(set(entries) - set(expected))} too many, "
        f"{sum(entries[pk] != expected[pk] for pk in set(entries) & set(expected))} old")
    table = db.DescribeTable(TableName=TABLE)["Table"]
    index = table["GlobalSecondaryIndexes"][0]
    assert (table["ItemCount"], table["TableSizeBytes"]) == (len(items), size)
    assert (index["ItemCount"], index["IndexSizeBytes"]) == (len(entries), entry_size)
    print(f"compared {len(items):,} items with {len(entries):,} index entries in "
          f"{time.monotonic() - started:.0f} s: all as it should be", flush=True)


def run(arguments, directory):
    store = f"rocksdb:{directory}/data"
    server = Server(store)
    load(server.endpoint, arguments.items)
    clients = Load(server.endpoint, arguments.clients, arguments.items)
    time.sleep(1)
    clients.mark()
    time.sleep(BASELINE_SECONDS)
    clients.tell("before")
    db = Client(server.endpoint)
    started = time.monotonic()
    create_index(db)
    clients.mark()
    if arguments.kill:
        half = arguments.items * 0.9 / 2
        poll(lambda: index_of(db)["ItemCount"] >= half, 600, "half of the index is filled")
        clients.tell("while the index is filled")
        assert index_of(db)["Backfilling"], "it was too quick to be killed in the middle"
        server.kill()
        print(f"killed after {time.monotonic() - started:.1f} s", flush=True)
        server = Server(store, port=server.port)
        db = Client(server.endpoint)
        clients.mark()
    wait_active(db, TABLE, 600)
    clients.tell("while the index is filled")
    print(f"the index is active after {time.monotonic() - started:.1f} s", flush=True)
    clients.mark()
    time.sleep(BASELINE_SECONDS)
    clients.tell("after")
    clients.end()
    compare(db)
    print("".join(line + "\n" for line in server.log().splitlines() if "backfill" in line), end="")
    server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--no-kill", dest="kill", action="store_false")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gramme-backfill-", dir=os.environ.get("SCALE_DIR")) as directory:
        run(arguments, directory)


main()
