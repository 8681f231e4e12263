#!/usr/bin/python3
"""Is GetItem with insight on at least 97 % as quick as without? Two servers, one with --insight off, measured in turn, in
many short rounds, so that whatever else the machine does hits both alike.

    tests/insight/throughput.py [--rounds 80] [--seconds 0.4]

Compares the CPU time that the servers use for a request (their own, user and system) and the requests answered. Other
programs on the machine (shared caches, hyper-threads, steal time) only ever make a round slower, so each server is judged by
the mean of its quickest third of the rounds. Fails if insight takes more than 3 % of the CPU time, or if the requests of a round
with insight are less than 97 % of those of the round beside it, by the median of all rounds. Where the noise of the machine
is larger than the difference (97 % lies within the 95 % confidence interval of the median), that is said instead."""

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
    while answer["server_cpu_us"] <= 0:  # the machine was so busy that the round saw no CPU time of the server
        answer = bench(server, seconds, "--no-setup", "--pid", str(server.process.pid))
    return answer["requests_per_second"], answer["server_cpu_us"]


def best(values, reverse=False):
    """The mean of the best third: of the smallest, or reversed of the largest."""
    return statistics.mean(sorted(values, reverse=reverse)[:max(1, len(values) // 3)])


def median_interval(values):
    """The median and its 95 % confidence interval, by the ranks of the values (a sign test)."""
    values = sorted(values)
    reach = int(0.98 * len(values) ** 0.5)
    middle = len(values) // 2
    return values[max(0, middle - reach)], statistics.median(values), values[min(len(values) - 1, middle + reach)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=80)
    parser.add_argument("--seconds", type=float, default=0.4)
    options = parser.parse_args()
    with Server("memory:", "--insight", "off") as off, Server("memory:") as on:
        for server in (off, on):
            bench(server, 0.5)  # makes and loads the table
        rounds = []
        for number in range(options.rounds):
            order = (off, on) if number % 2 == 0 else (on, off)
            results = {id(server): measure(server, options.seconds) for server in order}
            rounds.append((results[id(off)], results[id(on)]))
    count = len(rounds)
    requests_off, requests_on = (best([each[side][0] for each in rounds], reverse=True) for side in (0, 1))
    cpu_off, cpu_on = (best([each[side][1] for each in rounds]) for side in (0, 1))
    cpu = cpu_off / cpu_on
    print(f"requests a second: {requests_off:,.0f} without, {requests_on:,.0f} with insight: {requests_on / requests_off:.1%} "
          f"(mean of the quickest third of {count} rounds)")
    print(f"CPU per request: {cpu_off:.2f} us without, {cpu_on:.2f} us with insight: {cpu:.1%}")
    print(f"for comparison, median of all rounds: {statistics.median(off[1] / on[1] for off, on in rounds):.1%}")
    low, median, high = median_interval([on[0] / off[0] for off, on in rounds])
    print(f"requests with insight, of those without, by rounds: median {median:.1%}, {low:.1%} to {high:.1%} at 95 % confidence")
    if median < LIMIT <= high:
        print("the machine is too busy: noise decides whether the requests are fewer")
    if high < LIMIT:
        print(f"throughput.py: fewer than {LIMIT:.0%} of the requests with insight")
        return 1
    if cpu < LIMIT:
        print(f"throughput.py: insight takes more than {1 - LIMIT:.0%} of GetItem's CPU time")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
