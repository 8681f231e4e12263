#!/usr/bin/python3
"""Is GetItem with insight on at least 97 % as quick as without? Two servers, one with --insight off, measured in turn, in
many short rounds, so that whatever else the machine does hits both alike.

    tests/insight/throughput.py [--rounds 20] [--seconds 2]

Compares the CPU time that the servers use for a request (their own, user and system), which does not depend on what else
runs, and the requests answered; the median of all rounds. Fails if insight takes more than 3 % of the CPU time."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from server import Server, program  # noqa: E402

LIMIT = 0.97


def bench(server, seconds, *more):
    done = subprocess.run([program(), "bench", "get", "--endpoint", server.endpoint, "--seconds", str(seconds), "--warmup", "0.2",
                           "--connections", "64", "--json", "-", *more], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}\nthroughput.py: gramme bench failed")
    return json.loads(done.stdout)


def measure(server, seconds):
    """(requests a second, microseconds of CPU per request)"""
    answer = bench(server, seconds, "--no-setup", "--pid", str(server.process.pid))
    return answer["requests_per_second"], answer["server_cpu_us"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    with Server("memory:", "--insight", "off") as off, Server("memory:") as on:
        for server in (off, on):
            bench(server, 0.5)  # makes and loads the table
        rounds = []
        for number in range(options.rounds):
            order = (off, on) if number % 2 == 0 else (on, off)
            results = {id(server): measure(server, options.seconds) for server in order}
            rounds.append((results[id(off)], results[id(on)]))
    requests = statistics.median(with_it[0] / without[0] for without, with_it in rounds)
    cpu = statistics.median(without[1] / with_it[1] for without, with_it in rounds)
    print(f"requests a second: {statistics.median(r[0][0] for r in rounds):,.0f} without, "
          f"{statistics.median(r[1][0] for r in rounds):,.0f} with insight; {requests:.1%} (median of {len(rounds)} rounds)")
    print(f"CPU per request: {statistics.median(r[0][1] for r in rounds):.2f} us without, "
          f"{statistics.median(r[1][1] for r in rounds):.2f} us with insight; without is {cpu:.1%} of with")
    if cpu < LIMIT:
        print(f"throughput.py: insight takes more than {1 - LIMIT:.0%} of GetItem's CPU time")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
