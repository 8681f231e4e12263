"""Does a request cost the same in a big table as in a small one?

Loads a table with two global indexes with 10,000 items of 1 KB and one with 1,000,000, each in a
server of its own on disk, and compares what GetItem, a Query of 10 items and UpdateItem cost: the
server's CPU time per request, user and system, least of three rounds.

    /usr/bin/python3 tests/scale/scale.py [--items 1000000] [--requests 20000]
"""

import argparse
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

GRAMME = os.environ.get("GRAMME", "build/gramme")
SMALL = 10_000
PIPELINE = 16


class Server:
    def __init__(self, directory):
        self.process = subprocess.Popen(
            [GRAMME, "serve", "--listen", "127.0.0.1:0", "--store", f"rocksdb:{directory}"],
            stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)", line).group(1))
        self.socket = socket.create_connection(("127.0.0.1", self.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def stop(self):
        self.socket.close()
        self.process.terminate()
        assert self.process.wait(60) == 0

    def cpu_seconds(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def send(self, requests, pipelined=1):
        """Sends encoded requests, some at a time, and reads the answers."""
        for start in range(0, len(requests), pipelined):
            part = requests[start:start + pipelined]
            self.socket.sendall(b"".join(part))
            for _ in part:
                self.read_answer()

    def read_answer(self):
        status = self.file.readline()
        length = 0
        while (line := self.file.readline()) != b"\r\n":
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        body = self.file.read(length)
        if b" 200 " not in status:
            sys.exit(f"{status!r} {body!r}")
        return body


def request(operation, body):
    text = json.dumps(body).encode()
    return (f"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n"
            f"Authorization: AWS4-HMAC-SHA256 Credential=x\r\nContent-Length: {len(text)}\r\n\r\n"
            ).encode() + text


def table():
    def index(name, hash_name, range_name):
        return {"IndexName": name, "Projection": {"ProjectionType": "ALL"},
                "KeySchema": [{"AttributeName": hash_name, "KeyType": "HASH"},
                              {"AttributeName": range_name, "KeyType": "RANGE"}]}
    names = ["pk", "sk", "owner", "made"]
    return {"TableName": "Scale", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in names],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"},
                          {"AttributeName": "sk", "KeyType": "RANGE"}],
            "GlobalSecondaryIndexes": [index("byOwner", "owner", "made"),
                                       index("byMade", "made", "owner")]}


def key(number):
    return {"pk": {"S": f"part{number // 100}"}, "sk": {"S": f"item{number % 100:02}"}}


def item(number):
    return {**key(number), "owner": {"S": f"owner{number % 5000}"}, "made": {"S": f"{number:012}"},
            "count": {"N": "0"}, "text": {"S": "x" * 900}}


def load(server, count):
    server.send([request("CreateTable", table())])
    started = time.monotonic()
    for start in range(0, count, 25 * PIPELINE):
        stop = min(start + 25 * PIPELINE, count)
        server.send([request("BatchWriteItem", {"RequestItems": {"Scale": [
            {"PutRequest": {"Item": item(n)}} for n in range(first, min(first + 25, stop))]}})
            for first in range(start, stop, 25)], PIPELINE)
        if start % 100_000 < 25 * PIPELINE:
            print(f"  {start:>9,} items, {time.monotonic() - started:.0f} s", flush=True)


def works(rng, items, count):
    numbers = [rng.randrange(items) for _ in range(count)]
    yield "GetItem", [request("GetItem", {"TableName": "Scale", "Key": key(n)}) for n in numbers]
    yield "Query of 10", [request("Query", {
        "TableName": "Scale", "KeyConditionExpression": "pk = :p AND sk >= :s", "Limit": 10,
        "ExpressionAttributeValues": {":p": key(n)["pk"], ":s": {"S": f"item{n % 90:02}"}}})
        for n in numbers[:count // 4]]
    yield "UpdateItem", [request("UpdateItem", {
        "TableName": "Scale", "Key": key(n), "UpdateExpression": "SET #c = #c + :one",
        "ExpressionAttributeNames": {"#c": "count"},
        "ExpressionAttributeValues": {":one": {"N": "1"}}}) for n in numbers[:count // 4]]


def settle(server):
    """Waits until the server is at rest: compactions of the load are not what we measure."""
    quiet = 0
    while quiet < 3:
        before = server.cpu_seconds()
        time.sleep(1)
        quiet = quiet + 1 if server.cpu_seconds() - before < 0.05 else 0


def measure(items, count):
    directory = tempfile.mkdtemp(prefix="gramme-scale-", dir=os.environ.get("SCALE_DIR"))
    try:
        server = Server(directory)
        print(f"loading {items:,} items", flush=True)
        load(server, items)
        settle(server)
        server.stop()  # from here on everything is read from files, in the small table too
        server = Server(directory)
        settle(server)
        results = {}
        for name, requests in works(random.Random(1), items, count):
            server.send(requests[:len(requests) // 4])
            best = float("inf")
            for _ in range(3):
                before = server.cpu_seconds()
                server.send(requests)
                best = min(best, (server.cpu_seconds() - before) / len(requests))
            results[name] = best * 1e6
        server.stop()
        return results
    finally:
        shutil.rmtree(directory)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--requests", type=int, default=40_000)
    parser.add_argument("--limit", type=float, default=1.5, help="the ratio that must not be exceeded")
    arguments = parser.parse_args()
    small = measure(SMALL, arguments.requests)
    big = measure(arguments.items, arguments.requests)
    print(f"{'CPU per request':<16}{SMALL:>12,}{arguments.items:>12,}   ratio")
    worst = 0
    for name, cost in small.items():
        ratio = big[name] / cost
        worst = max(worst, ratio)
        print(f"{name:<16}{cost:>9.1f} us{big[name]:>9.1f} us   {ratio:.2f}")
    sys.exit(0 if worst <= arguments.limit else f"a ratio is over {arguments.limit}")


main()
