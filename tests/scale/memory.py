#!/usr/bin/python3
"""Whether memory stays bounded whatever clients do: 64 of the worst requests at once, 40 bodies of 16 MB
without credentials, and 10,000 clients that ask for much and hardly read. After each, and during the
last, the server must serve others within 5 seconds, and its memory must be below cache + 1 GiB.

    tests/scale/memory.py [--readers 10000] [--connections N]

Every request must be answered, or its connection closed; a client that waits for 10 minutes has failed. Of requests that fit
into memory one by one, some must succeed however many come at once. If the machine does not let the server have so many
connections (files of a process), the run fails: give --readers. With --connections not above --readers, the readers use up all
connections, and those that hardly read must make way for others.

The server runs with --cache-mb 64 and --memory-mb 512. One running request may exceed --memory-mb by half of it and 256 MiB,
so the bound is 64 + 1.5 * 512 + 256 MiB, which is cache + 1 GiB.
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
MOST_MB = CACHE_MB + MEMORY_MB * 3 // 2 + 256
SERVED_SECONDS = 20  # for which others are served while all readers are connected
SERVED_SECONDS_MAX = 5  # until a small request succeeds, 503 and all
ANSWER_SECONDS_MAX = 600  # for one of many large answers that are read on the same machine
CLOSED, TIMED_OUT = 0, -1  # instead of a status
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
    """The status. A server without memory for a body may answer and close before it was sent: then there is none."""
    try:
        with Client(endpoint) as client:
            client.connection.socket.settimeout(ANSWER_SECONDS_MAX)
            return client.send(*request[:2]).status
    except ConnectionError:
        return CLOSED
    except TimeoutError:
        return TIMED_OUT


class Watch:
    def __init__(self, server, table):
        self.server, self.table, self.failed = server, table, False

    def serve(self):
        """Writes and reads an item; gives how long that took, and whether it succeeded in time."""
        began = time.monotonic()
        while True:
            try:
                with Client(self.server.endpoint) as db:
                    db.PutItem(TableName=self.table, Item=item(pk="small"))
                    found = db.GetItem(TableName=self.table, Key=item(pk="small"))
                seconds = time.monotonic() - began
                return seconds, "Item" in found and seconds < SERVED_SECONDS_MAX
            except Refused as refused:
                if refused.status != 503 or time.monotonic() > began + SERVED_SECONDS_MAX:
                    return time.monotonic() - began, False
            except ConnectionError:  # too many connections
                if time.monotonic() > began + SERVED_SECONDS_MAX:
                    return time.monotonic() - began, False

    def check(self, what, good=True):
        """Serves, and the peak since the last check was low enough; `good`: and what else was seen."""
        seconds, is_served = self.serve()
        peak = self.peak.before + self.peak.peak_mb()
        good = good and is_served and peak < MOST_MB
        self.failed |= not good
        print(f"{'ok  ' if good else 'FAIL'} {what}: peak {peak:.0f} MiB of {MOST_MB}, "
              f"{'served' if is_served else 'NOT served'} in {seconds * 1000:.0f} ms", flush=True)

    def begin(self):
        self.peak = memory.Growth(self.server.process.pid)


def counted(statuses):
    return {status: statuses.count(status) for status in sorted(set(statuses))}


def run_worst(server, table, watch):
    requests = worst_requests(table)
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        for request in requests:
            watch.begin()
            counts = counted(list(pool.map(send, [server.endpoint] * 64, [request] * 64)))
            watch.check(f"64 x {request[0]} of {len(request[1]) >> 10} KiB {counts}",
                        TIMED_OUT not in counts and (200 in counts or not request[2]))
        watch.begin()
        counts = counted(list(pool.map(send, [server.endpoint] * 128, requests * 16)))
        watch.check(f"all of them, 64 at a time {counts}", TIMED_OUT not in counts)


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


def check_connections(server, connections):
    """The server says at its start if it can have fewer connections than it was asked for; some are left for the checks."""
    fewer = re.search(r"at most (\d+) connections", server.log())
    if fewer and int(fewer[1]) < connections:
        sys.exit(f"failed: the server can have {fewer[1]} connections on this machine; give --readers {int(fewer[1]) - 200}, "
                 "or allow more files (ulimit -Hn)")


def run_readers(server, table, watch, count):
    watch.begin()
    operation, body, _ = worst_requests(table)[0]
    request = request_bytes(f"127.0.0.1:{server.port}", operation, body)
    connections = []
    for number in range(count):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        try:
            connection.connect(("127.0.0.1", server.port))
            connection.sendall(request)
        except ConnectionError:
            pass  # there are too many
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
    parser.add_argument("--connections", type=int, help="of the server (200 more than readers)")
    arguments = parser.parse_args()
    readers = arguments.readers
    connections_max = arguments.connections or readers + 200
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as folder, Server(
            f"rocksdb:{folder}/data", "--cache-mb", str(CACHE_MB), "--memory-mb", str(MEMORY_MB), "--connections",
            str(connections_max)) as server:
        check_connections(server, connections_max)
        with Client(server.endpoint) as db:
            table = fill(db)
        print(f"     at rest: {memory.resident_mb(server.process.pid):.0f} MiB, {soft} files")
        watch = Watch(server, table)
        run_bodies(server, table, watch)
        run_worst(server, table, watch)
        run_readers(server, table, watch, readers)
    print("failed" if watch.failed else "passed")
    return watch.failed


if __name__ == "__main__":
    sys.exit(main())
