#!/usr/bin/python3
"""Kills a server on disk with SIGKILL while it is under load, starts it again on the same files, and
checks that everything acknowledged is there, nothing refused is, indexes and counts agree, streams have every change once
and in order, and items are missing only if they were deleted or have expired. Before each start `gramme check` must find
the files good.

    crash.py [--kills 5] [--seed N]

Load and moments of death come from the seed, which it prints; the interleaving of clients does not."""

import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from check import check_all, stream_checks  # noqa: E402
from server import Server, program  # noqa: E402
from wire import Client  # noqa: E402
from workload import BRIEF, IndexMaker, TableMaker, Worker, prepare  # noqa: E402

CLIENTS = 8


def run_until_killed(server, runners, seconds):
    """Load on the server for a while, then SIGKILL. The first failure of a client is raised."""
    failures = []

    def guarded(runner):
        try:
            runner.run(server.endpoint)
        except BaseException as failure:  # noqa: B902 - reported below
            failures.append(failure)
    threads = [threading.Thread(target=guarded, args=(runner,)) for runner in runners]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    server.kill()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def check_files(directory):
    """`gramme check`; leaves a copy of the files to look at if they are not good. On PostgreSQL there are none."""
    if "GRAMME_POSTGRESQL" in os.environ:
        return
    result = subprocess.run([program(), "check", directory], capture_output=True, text=True)
    if result.returncode != 0:
        kept = tempfile.mkdtemp(prefix="gramme-crash-kept-")
        subprocess.run(["cp", "-a", directory, kept], check=True)
        raise AssertionError(f"gramme check ended with {result.returncode} (files: {kept}):\n"
                             f"{result.stdout}{result.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print(f"crash test: {options.kills} kills, --seed {options.seed}", flush=True)
    dice = random.Random(options.seed)
    workers = [Worker(number, options.seed) for number in range(CLIENTS)]
    maker, index_maker = TableMaker(), IndexMaker(options.seed)
    passed = 0
    with tempfile.TemporaryDirectory(prefix="gramme-crash-") as directory:
        server = Server(f"rocksdb:{directory}/data")
        prepare(server.endpoint)
        streams = stream_checks(server.endpoint)
        try:
            for kill in range(1, options.kills + 1):
                run_until_killed(server, [*workers, maker, index_maker], dice.uniform(0.05, 1.5))
                check_files(f"{directory}/data")
                server = Server(f"rocksdb:{directory}/data")
                with Client(server.endpoint) as db:
                    check_all(db, server.endpoint, workers, maker, streams)
                passed += 1
                print(f"kill {kill}: {sum(worker.calls for worker in workers)} calls so far, "
                      f"{sum(worker.refused for worker in workers)} refused as they should, "
                      f"{sum(each.seen for each in streams.values())} changes in streams, "
                      f"{streams[BRIEF].expired} items expired", flush=True)
        except AssertionError as failure:
            print(f"kill {passed + 1} of --seed {options.seed}: {failure}", file=sys.stderr)
            print(f"{passed} passed, 1 failed")
            server.process.kill()
            sys.exit(1)
        server.stop()
    print(f"{passed} passed, 0 failed")


if __name__ == "__main__":
    main()
