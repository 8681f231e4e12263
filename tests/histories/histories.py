#!/usr/bin/python3
"""Many clients use the same items and transactions while the server is killed with SIGKILL and started again; then what
they saw is checked: single items must be linearizable, transactions strictly serializable, whatever was in flight at a
kill having happened or not.

    histories.py [--seconds 16] [--kill-every 3] [--processes 4] [--threads 4] [--seed N] [--plant NAME | --no-plants]

First the checkers are tested with histories made by hand. Then come short runs with planted bugs (faulty.py), each of
which must be found, and last the run that counts. The seed is printed; the interleaving of clients does not come from it."""

import argparse
import multiprocessing
import pathlib
import random
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import lists  # noqa: E402
import registers  # noqa: E402
import selftest  # noqa: E402
from clients import LISTS, REGISTERS, TABLE, Worker, read_all  # noqa: E402
from faulty import PLANTS, SERVERS, planted  # noqa: E402
from loopback import free_port  # noqa: E402
from server import Server  # noqa: E402
from wire import Client  # noqa: E402

PLANT_RUNS_MAX = 10


def run_process(numbers, endpoint, seed, generation, stop, make_client, out):
    workers = [Worker(number, endpoint, seed, generation, stop, make_client) for number in numbers]
    failures = []

    def guarded(worker):
        try:
            worker.run()
        except BaseException as failure:  # noqa: B902 - reported below
            failures.append(f"client {worker.number}: {failure!r}")
            stop.set()
    threads = [threading.Thread(target=guarded, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    out.put((failures, [operation for worker in workers for operation in worker.registers],
             [transaction for worker in workers for transaction in worker.transactions]))


def run_lives(store, port, server, generation, stop, arguments, dice, seconds):
    """Kills and starts the server until the time is over; gives the one that is alive then, and how many kills."""
    end = time.monotonic() + seconds
    kills = 0
    while not stop.is_set():
        life = arguments.kill_every * dice.uniform(0.6, 1.4)
        stop.wait(max(0, min(life / 2, end - time.monotonic())))
        with generation.get_lock():
            generation.value += 1  # in the middle, so that each item sees a kill or two
        stop.wait(max(0, min(life / 2, end - time.monotonic())))
        if time.monotonic() >= end:
            break
        server.kill()
        server = Server(store, port=port)
        kills += 1
    return server, kills


def read_at_the_end(endpoint, generations, transactions, operations):
    """Everything once more when all is quiet: what was acknowledged must be there."""
    reader = Worker(999, endpoint, 0, multiprocessing.Value("i", 0), threading.Event())
    reader.connect()
    names = sorted({name for transaction in transactions for name in transaction["appends"]})
    for at in range(0, len(names), 10):
        part, start = names[at:at + 10], time.monotonic_ns()
        reader.note(start, True, {}, read_all(reader, part))
    for generation in range(generations + 1):
        for number in range(REGISTERS):
            reader.read(f"r{generation}-{number}", False)
    reader.db.close()
    transactions += reader.transactions
    operations += reader.registers


def collect(arguments, seed, seconds, make_client):
    """Runs clients against a server; gives (operations, transactions, kills)."""
    dice = random.Random(seed)
    stop, generation, out = multiprocessing.Event(), multiprocessing.Value("i", 0), multiprocessing.Queue()
    with tempfile.TemporaryDirectory() as directory:
        store, port = f"rocksdb:{directory}/data", free_port()
        server = Server(store, port=port)
        try:
            with Client(server.endpoint) as db:
                db.CreateTable(TableName=TABLE, BillingMode="PAY_PER_REQUEST",
                               AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                               KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}])
            processes = [multiprocessing.Process(target=run_process, args=(
                range(p * arguments.threads, (p + 1) * arguments.threads), server.endpoint, seed, generation, stop,
                make_client, out)) for p in range(arguments.processes)]
            for process in processes:
                process.start()
            server, kills = run_lives(store, port, server, generation, stop, arguments, dice, seconds)
            stop.set()
            results = [out.get(timeout=300) for _ in processes]
            for process in processes:
                process.join()
            failures = [failure for result in results for failure in result[0]]
            assert not failures, "\n".join(failures)
            operations = [operation for result in results for operation in result[1]]
            transactions = [transaction for result in results for transaction in result[2]]
            read_at_the_end(server.endpoint, generation.value, transactions, operations)
            server.stop()
        except BaseException:
            server.process.kill()
            server.process.wait()
            raise
    return operations, transactions, kills


def check(operations, transactions):
    histories = {}
    for key, operation in operations:
        histories.setdefault(key, []).append(operation)
    return registers.check(histories) + lists.check(transactions)


def run_plant(arguments, seed, name):
    """Whether a planted bug is found. A slow machine may need more than one run to come across it."""
    for attempt in range(PLANT_RUNS_MAX):
        with planted(name) as make_client:
            operations, transactions, _ = collect(arguments, seed + attempt, arguments.plant_seconds, make_client)
        problems = check(operations, transactions)
        first = problems[0].splitlines()[0] if problems else "NOT FOUND"
        print(f"planted {name}: {len(operations)} operations, {len(transactions)} transactions: {first}", flush=True)
        if problems:
            return True
    return False


def run_plants(arguments, seed, names):
    """Every planted bug must be found."""
    found = [run_plant(arguments, seed, name) for name in names]
    return found.count(True), found.count(False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=16)
    parser.add_argument("--kill-every", type=float, default=3)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--plant", choices=[*PLANTS, *SERVERS], action="append")
    parser.add_argument("--plant-seconds", type=float, default=2)
    parser.add_argument("--no-plants", action="store_true")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    passed, failed = selftest.run()
    names = [] if arguments.no_plants else arguments.plant or [*PLANTS, *SERVERS]
    found, missed = run_plants(arguments, arguments.seed, names)
    passed, failed = passed + found, failed + missed
    operations, transactions, kills = collect(arguments, arguments.seed, arguments.seconds, Client)
    problems = check(operations, transactions)
    doubts = sum(o[1][1] is None for o in operations) + sum(t["ok"] is None for t in transactions)
    print(f"{len(operations)} operations on items, {len(transactions)} transactions, {kills} kills, {doubts} calls in "
          f"doubt: {len(problems)} anomalies")
    for problem in problems[:10]:
        print(problem)
    passed, failed = passed + (not problems), failed + bool(problems)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
