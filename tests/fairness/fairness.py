#!/usr/bin/python3
"""Measures how long GetItem and PutItem of others take while clients send expensive requests, against how long they
take without: in turns within one run, because the machine's own load changes.

    fairness.py [--rounds 3] [--seconds 2] [--attackers 16] [--kinds a,b] [--ratios 10,20] [--endpoint-only]

Each round measures without attackers, then with each kind. Of each the median of the rounds' 99th percentiles counts.
Fails if it is more than 10 times (GetItem) or 20 times (PutItem) the one without. Figures of a busy machine are noisy:
not part of `make test`."""

import argparse
import multiprocessing
import os
import pathlib
import statistics
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from attacks import KINDS, Connection, fill, request  # noqa: E402
from server import Server  # noqa: E402

VICTIMS = 2  # connections of each kind
BASES_US_MIN = 200  # what a percentile without attackers counts at least


def victim(port, operation, stop, times, number):
    connection = Connection(port)
    if operation == "GetItem":
        prepared = [request("GetItem", {"TableName": "Victims", "Key": {"pk": {"S": f"victim-{i}"}}})
                    for i in range(64)]
    else:
        prepared = [request("PutItem", {"TableName": "Victims", "Item": {
            "pk": {"S": f"own-{number}-{i}"}, "text": {"S": "y" * 100}}}) for i in range(64)]
    turn = 0
    while not stop.is_set():
        start = time.perf_counter()
        status, body = connection.call(prepared[turn % len(prepared)])
        times.append(time.perf_counter() - start)
        assert status == 200, body
        turn += 1
        time.sleep(0.001)
    connection.close()


def run_victims(port, operation, seconds, out):
    """In a process of its own; gives the times in seconds."""
    stop = threading.Event()
    times = []
    threads = [threading.Thread(target=victim, args=(port, operation, stop, times, i)) for i in range(VICTIMS)]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    stop.set()
    for thread in threads:
        thread.join()
    out.put((operation, times))


def attack(port, prepared, stop, counts):
    while not stop.is_set():
        try:
            connection = Connection(port)
            while not stop.is_set():
                status, _ = connection.call(prepared)
                counts.append(status)
        except OSError:
            time.sleep(0.01)  # refused or closed: allowed, if others are served


def run_attackers(port, kind, count, stop, out):
    os.nice(10)  # they stand for other machines
    prepared = [KINDS[kind](number) for number in range(min(count, 2))]
    counts = []
    threads = [threading.Thread(target=attack, args=(port, prepared[i % len(prepared)], stop, counts), daemon=True)
               for i in range(count)]
    for thread in threads:
        thread.start()
    stop.wait()
    out.put((kind, counts))
    out.close()
    out.join_thread()
    os._exit(0)  # not after the last answers


def percentile(times, part):
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def measure(port, kind, arguments):
    """The 99th percentile of each operation in microseconds, the worst, and how many attacks were answered."""
    out = multiprocessing.Queue()
    stop = multiprocessing.Event()
    attackers = None
    if kind is not None:
        attackers = multiprocessing.Process(target=run_attackers,
                                            args=(port, kind, arguments.attackers, stop, out))
        attackers.start()
        time.sleep(1)  # until they are all at it
    victims = [multiprocessing.Process(target=run_victims, args=(port, operation, arguments.seconds, out))
               for operation in ("GetItem", "PutItem")]
    for process in victims:
        process.start()
    results = dict(out.get(timeout=120) for _ in victims)
    counts = []
    if attackers is not None:
        stop.set()
        counts = out.get(timeout=120)[1]
        attackers.join()
    for process in victims:
        process.join()
    return {operation: (percentile(times, 0.99) * 1e6, max(times) * 1e6, len(times))
            for operation, times in results.items()}, counts


def wait_until_calm(port):
    """Until what the attackers left behind is done: then requests are quick again."""
    connection = Connection(port)
    prepared = request("PutItem", {"TableName": "Victims", "Item": {"pk": {"S": "calm"}}})
    deadline = time.monotonic() + 60
    quick = 0
    while quick < 20 and time.monotonic() < deadline:
        start = time.perf_counter()
        connection.call(prepared)
        quick = quick + 1 if time.perf_counter() - start < 0.05 else 0
    connection.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--attackers", type=int, default=16)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--ratios", default="10,20")
    arguments = parser.parse_args()
    kinds = arguments.kinds.split(",")
    allowed = dict(zip(("GetItem", "PutItem"), map(float, arguments.ratios.split(","))))
    found = {kind: {operation: [] for operation in allowed} for kind in [None, *kinds]}
    with tempfile.TemporaryDirectory() as directory, Server(f"rocksdb:{directory}/data") as server:
        fill(server.port)
        for number in range(arguments.rounds):
            for kind in [None, *kinds]:
                wait_until_calm(server.port)
                figures, counts = measure(server.port, kind, arguments)
                for operation, (p99, worst, count) in figures.items():
                    found[kind][operation].append(p99)
                    print(f"round {number} {kind or 'none':18} {operation} p99 {p99:9.0f} us  max {worst:9.0f} us  "
                          f"{count} calls, {len(counts)} attacks answered", flush=True)
    passed = failed = 0
    for kind in kinds:
        for operation, ratio_max in allowed.items():
            base = max(statistics.median(found[None][operation]), BASES_US_MIN)
            ratio = statistics.median(found[kind][operation]) / base
            good = ratio <= ratio_max
            passed, failed = passed + good, failed + (not good)
            print(f"{kind:18} {operation} {ratio:7.1f} times (at most {ratio_max:.0f})"
                  f"{'' if good else '  FAILED'}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
