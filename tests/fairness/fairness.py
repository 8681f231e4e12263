#!/usr/bin/python3
"""Measures how long GetItem and PutItem of others take, of small and of large items, while clients send expensive
requests, against how long they take without: in turns within one run, because the machine's own load changes.

    fairness.py [--rounds 3] [--seconds 2] [--attackers 16] [--kinds a,b] [--victims a,b] [--ratios 10,20] [--until-good]
                [--beside]

Each round measures without attackers, then with each kind. Of each the median of the rounds' 99th percentiles counts.
Fails if it is more than 10 times (GetItem) or 20 times (PutItem) the one without, or if no attack of a kind was answered:
then nothing was measured.

Attackers, victims and server share the processors, so a part of the delay is that of the machine. --beside measures that
part: a second server that nobody attacks answers the same victims while the first one is attacked. Its percentiles are
printed beside those of the first. An attack then also passes if the first server takes at most twice as long as the
second: that is the machine, not the server.

Figures of a busy machine are noisy. With --until-good the best round of each kind counts, and there are no more rounds than
are needed: for `make test`, which also allows larger ratios. It notices a server that lets others wait for whole expensive
requests: that is hundreds or thousands of times."""

import argparse
import contextlib
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
# What a percentile without attackers counts at least. A request may have to wait for one slice of another one, which is 2 ms
# by design (docs/internals/request.md): that is 10 times this. Machines on which GetItem takes less are not held to less.
BASE_US_MIN = 200


BESIDE_RATIO = 2  # how much longer the attacked server may take than one that nobody attacks, on the same machine
# What victims do: operation, number of items, bytes of an item. Large requests and answers are handled by slow threads.
VICTIM_KINDS = {
    "GetItem": ("GetItem", 64, 0),
    "PutItem": ("PutItem", 64, 100),
    "GetItem 300 KB": ("GetItem", 4, 300_000),
    "PutItem 100 KB": ("PutItem", 4, 100_000),
}


def victim_requests(kind, number):
    operation, count, size = VICTIM_KINDS[kind]
    if operation == "GetItem":
        name = "large" if size else "victim"
        return [request("GetItem", {"TableName": "Victims", "Key": {"pk": {"S": f"{name}-{i}"}}}) for i in range(count)]
    return [request("PutItem", {"TableName": "Victims", "Item": {
        "pk": {"S": f"own-{number}-{size}-{i}"}, "text": {"S": "y" * size}}}) for i in range(count)]


def fill_large(port):
    """The items of victims that read large ones."""
    connection = Connection(port)
    _, count, size = VICTIM_KINDS["GetItem 300 KB"]
    for i in range(count):
        status, body = connection.call(request("PutItem", {"TableName": "Victims", "Item": {
            "pk": {"S": f"large-{i}"}, "text": {"S": "z" * size}}}))
        assert status == 200, body
    connection.close()


def victim(port, operation, stop, times, number):
    connection = Connection(port)
    prepared = victim_requests(operation, number)
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


def measure(port, kind, arguments, attacked_port=None):
    """The 99th percentile of each operation at the port in microseconds, the worst, and how many attacks were answered by
    the server at attacked_port (the same one, if None)."""
    out = multiprocessing.Queue()
    stop = multiprocessing.Event()
    attackers = None
    if kind is not None:
        attackers = multiprocessing.Process(target=run_attackers,
                                            args=(attacked_port or port, kind, arguments.attackers, stop, out))
        attackers.start()
        time.sleep(1)  # until they are all at it
    victims = [multiprocessing.Process(target=run_victims, args=(port, operation, arguments.seconds, out))
               for operation in arguments.victims.split(",")]
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


class Results:
    """The 99th percentiles of all rounds in microseconds, and how many attacks were answered."""

    def __init__(self, kinds, allowed, best_counts):
        self.kinds, self.allowed, self.best_counts = kinds, allowed, best_counts
        self.found = {kind: {operation: [] for operation in allowed} for kind in [None, *kinds]}
        self.beside = {kind: {operation: [] for operation in allowed} for kind in kinds}
        self.answered = dict.fromkeys([None, *kinds], 0)

    def figure_beside(self, kind, operation):
        """Of the server that nobody attacks, while the other one is attacked; 0 if not measured."""
        return statistics.median(self.beside[kind][operation] or [0])

    def figures(self, kind, operation):
        """(without attackers, with them)"""
        choose = min if self.best_counts else statistics.median
        return statistics.median(self.found[None][operation]), choose(self.found[kind][operation])

    def is_good(self, kind, operation):
        without, with_attackers = self.figures(kind, operation)
        allowed = max(max(without, BASE_US_MIN) * self.allowed[operation], self.figure_beside(kind, operation) * BESIDE_RATIO)
        return self.answered[kind] > 0 and with_attackers <= allowed

    def bad_kinds(self):
        """Of which another round may show that they are good."""
        return [kind for kind in self.kinds if not all(self.is_good(kind, operation) for operation in self.allowed)]

    def report(self):
        passed = failed = 0
        for kind in self.kinds:
            for operation, ratio_max in self.allowed.items():
                without, with_attackers = self.figures(kind, operation)
                good = self.is_good(kind, operation)
                passed, failed = passed + good, failed + (not good)
                beside = self.figure_beside(kind, operation)
                print(f"{kind:22} {operation:14} {with_attackers / without:7.1f} times {without:.0f} us (at most {ratio_max:.0f}"
                      + (f"; the server beside it: {beside / without:.1f}" if beside else "")
                      + f"), {self.answered[kind]} attacks answered{'' if good else '  FAILED'}")
        return passed, failed


def store(found, name, figures, answered):
    for operation, (p99, worst, count) in figures.items():
        found[operation].append(p99)
        print(f"{name} {operation:14} p99 {p99:9.0f} us  max {worst:9.0f} us  {count} calls, {answered} attacks answered",
              flush=True)


def run_round(server, beside, number, arguments, results):
    kinds = results.bad_kinds() if arguments.until_good and number > 0 else results.kinds
    for kind in [None, *kinds]:
        wait_until_calm(server.port)
        figures, counts = measure(server.port, kind, arguments)
        results.answered[kind] += len(counts)
        store(results.found[kind], f"round {number} {kind or 'none':22}", figures, len(counts))
        if beside is not None and kind is not None:
            wait_until_calm(server.port)
            figures, counts = measure(beside.port, kind, arguments, server.port)
            store(results.beside[kind], f"round {number} {'beside it':22}", figures, len(counts))


@contextlib.contextmanager
def filled_server():
    with tempfile.TemporaryDirectory() as directory, Server(f"rocksdb:{directory}/data") as server:
        fill(server.port)
        fill_large(server.port)
        yield server


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--attackers", type=int, default=16)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--victims", default=",".join(VICTIM_KINDS))
    parser.add_argument("--ratios", default="10,20")
    parser.add_argument("--until-good", action="store_true")
    parser.add_argument("--beside", action="store_true")
    arguments = parser.parse_args()
    kinds = arguments.kinds.split(",")
    ratios = dict(zip(("GetItem", "PutItem"), map(float, arguments.ratios.split(","))))
    allowed = {kind: ratios[VICTIM_KINDS[kind][0]] for kind in arguments.victims.split(",")}
    results = Results(kinds, allowed, arguments.until_good)
    with filled_server() as server, filled_server() if arguments.beside else contextlib.nullcontext() as beside:
        for number in range(arguments.rounds):
            run_round(server, beside, number, arguments, results)
            if arguments.until_good and not results.bad_kinds():
                break
    passed, failed = results.report()
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
