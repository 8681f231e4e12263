#!/usr/bin/python3
"""Whether memory stays bounded whatever clients do: 64 of the worst requests at once, 40 bodies of 16 MB
without credentials, and 10,000 clients that ask for much and hardly read. After each, and during the
last, the server must serve others, and its memory must be below cache + 1 GiB.

    tests/scale/memory.py [--readers 10000]

Of requests that fit into memory one by one, some must succeed however many come at once. There are no more readers
than the server can have connections, which depends on how many files a process may open.
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import resource
import socket
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import memory  # noqa: E402
from server import Server  # noqa: E402
from tables import create_table  # noqa: E402
from values import item  # noqa: E402
from wire import Client, Connection, Refused, request_bytes  # noqa: E402

CACHE_MB = 64
MEMORY_MB = 512
MOST_MB = CACHE_MB + 1024
SERVED_SECONDS = 20  # for which others are served while all readers are connected
HOT_NAMES = [f"{a}{b}" for a in "ABCDEFGHJKLMNPQRSTUVWXYZ" for b in "bcdfghjklmpqvwxz"]


def fill(db):
    table = create_table(db)
    for number in range(100):
        db.PutItem(TableName=table, Item=item(pk=f"k{number}", s="\u0001" * 160_000))
        db.PutItem(TableName=table, Item=item(pk=f"large{number}", s="x" * 380_000))
        db.PutItem(TableName=table, Item=item(pk=f"list{number}", l=["x" * 95] * 3900))
    return table


def updates(table, name, expression):
    return json.dumps({"TransactItems": [
        {"Update": {"TableName": table, "Key": item(pk=f"{name}{number}"),
                    "UpdateExpression": expression}} for number in range(100)]}).encode()


def worst_requests(table):
    """Each is, in its own way, the most that one request can ask for: (operation, body, whether it can succeed)"""
    keys = [item(pk=f"k{number}") for number in range(100)]
    copies = "SET " + ",".join(f"{name}=s" for name in HOT_NAMES[:380])
    lists = "SET " + ",".join(f"{name}=list_append(l,l)" for name in HOT_NAMES[:190])
    writes = [{"PutRequest": {"Item": item(pk=f"w{number}", s="y" * 390_000)}} for number in range(25)]
    return [
        ("BatchGetItem", json.dumps({"RequestItems": {table: {"Keys": keys}}}).encode(), True),
        ("TransactWriteItems", updates(table, "large", copies), False),
        ("TransactWriteItems", updates(table, "list", lists), False),
        ("TransactWriteItems", updates(table, "large", "SET t = pk"), True),
        ("BatchWriteItem", json.dumps({"RequestItems": {table: writes}}).encode(), True),
        ("TransactWriteItems", b'{"TransactItems":[' + b",".join([b'{"Put":{}}'] * 1_450_000) + b"]}", False),
        ("PutItem", json.dumps({"TableName": table, "Item": item(pk="x", l=[None] * 900_000)}).encode(), False),
        ("UpdateItem", b'{"TableName":"abc","Key":{},"ExpressionAttributeNames":{' +
         b",".join(b'"#%d":""' % number for number in range(1_100_000)) + b"}}", False),
    ]


def send(endpoint, request):
    try:
        with Client(endpoint) as client:
            return client.send(*request[:2]).status
    except ConnectionError:
        return 0
    except TimeoutError:  # a slow machine; only memory counts here
        return -1


class Watch:
    def __init__(self, server, table):
        self.server, self.table, self.failed = server, table, False

    def check(self, what, good=True):
        """Serves within a minute, and the peak since the last check was low enough; `good`: and what else was seen."""
        began = time.monotonic()
        found = None
        while found is None:
            try:
                with Client(self.server.endpoint) as db:
                    db.PutItem(TableName=self.table, Item=item(pk="small"))
                    found = db.GetItem(TableName=self.table, Key=item(pk="small"))
            except Refused as refused:
                if refused.status != 503 or time.monotonic() > began + 60:
                    raise
        peak = self.peak.before + self.peak.peak_mb()
        good = good and peak < MOST_MB and "Item" in found
        self.failed |= not good
        print(f"{'ok  ' if good else 'FAIL'} {what}: peak {peak:.0f} MiB of {MOST_MB}, "
              f"served in {(time.monotonic() - began) * 1000:.0f} ms", flush=True)

    def begin(self):
        self.peak = memory.Growth(self.server.process.pid)


def run_worst(server, table, watch):
    requests = worst_requests(table)
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        for request in requests:
            watch.begin()
            statuses = list(pool.map(send, [server.endpoint] * 64, [request] * 64))
            counts = {status: statuses.count(status) for status in set(statuses)}
            watch.check(f"64 x {request[0]} of {len(request[1]) >> 10} KiB {counts}",
                        200 in counts or -1 in counts or not request[2])
        watch.begin()
        statuses = list(pool.map(send, [server.endpoint] * 128, requests * 16))
        watch.check(f"all of them, 64 at a time { {s: statuses.count(s) for s in set(statuses)} }")


def run_bodies(server, table, watch):
    watch.begin()
    connections = [Connection(server.endpoint) for _ in range(40)]
    for connection in connections:
        try:
            connection.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16000000\r\n\r\n" +
                            b"x" * 15_999_999)
        except ConnectionError:
            pass
    watch.check("40 x 16 MB without credentials")
    for connection in connections:
        connection.close()


def connections_max(server, wanted):
    """What the server says at its start if it can have fewer; some are left for the checks."""
    fewer = re.search(r"at most (\d+) connections", server.log())
    return min(wanted, int(fewer[1]) - 50 if fewer else wanted)


def run_readers(server, table, watch, count):
    watch.begin()
    operation, body, _ = worst_requests(table)[0]
    request = request_bytes(f"127.0.0.1:{server.port}", operation, body)
    connections = []
    for number in range(count):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(request)
        connections.append(connection)
        if number % 1000 == 999 or number == count - 1:
            watch.check(f"{number + 1} slow readers")
    until = time.monotonic() + SERVED_SECONDS
    while time.monotonic() < until:
        watch.check(f"{count} slow readers, served for long")
        time.sleep(2)
    for connection in connections:
        connection.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--readers", type=int, default=10000)
    readers = parser.parse_args().readers
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as folder, Server(
            f"rocksdb:{folder}/data", "--cache-mb", str(CACHE_MB), "--memory-mb", str(MEMORY_MB), "--connections",
            str(readers + 200)) as server:
        with Client(server.endpoint) as db:
            table = fill(db)
        print(f"     at rest: {memory.resident_mb(server.process.pid):.0f} MiB, {soft} files")
        watch = Watch(server, table)
        run_bodies(server, table, watch)
        run_worst(server, table, watch)
        run_readers(server, table, watch, connections_max(server, readers))
    print("failed" if watch.failed else "passed")
    return watch.failed


if __name__ == "__main__":
    sys.exit(main())
