"""Steps of a benchmark, each one run of `gramme bench`, with an estimate of how long it takes."""

import json
import os
import statistics
import subprocess
import sys
import time

from peers import GRAMME


class Step:
    """`run` gives a result or None; `seconds` is about how long it takes."""

    def __init__(self, label, seconds, run):
        self.label, self.seconds, self.run = label, seconds, run


class Results:
    """Everything that was measured, one dictionary each; read with best()."""

    def __init__(self):
        self.rows = []

    def add(self, row):
        self.rows.append(row)

    def find(self, **wanted):
        return [row for row in self.rows if all(row.get(name) == value for name, value in wanted.items())]

    def best(self, **wanted):
        """The round with the most requests a second, with the least CPU per request of all rounds; None if
        there is none without errors."""
        rows = [row for row in self.find(**wanted) if row.get("requests") and not row["errors"]]
        if not rows:
            return None
        best = dict(max(rows, key=lambda row: row["requests_per_second"]))
        costs = [row["server_cpu_us"] for row in rows if "server_cpu_us" in row]
        if costs:
            best["server_cpu_us"] = min(costs)
        best["rounds"] = len(rows)
        return best

    def lowest(self, quantile, **wanted):
        """The least of one latency quantile over the rounds."""
        rows = [row["latency_us"][quantile] for row in self.find(**wanted) if not row.get("errors")]
        return min(rows) if rows else None

    def middle(self, quantile, **wanted):
        """The median of one latency quantile over the rounds."""
        rows = [row["latency_us"][quantile] for row in self.find(**wanted) if not row.get("errors")]
        return statistics.median(rows) if rows else None

    def limit(self, name, **wanted):
        rows = self.find(limit=name, **wanted)
        return max(rows, key=lambda row: row["per_second"]) if rows else None

    def ratio_of_rounds(self, above, below, name="requests_per_second", below_name=None):
        """The median over the rounds of one row's value by another's of the same round; None: there is no round with both.
        `above`, `below`: what find() takes."""
        ratios = []
        for one in self.find(**above):
            others = self.find(**below, round=one["round"])
            if others and not one.get("errors") and not others[0].get("errors") and others[0].get(below_name or name):
                ratios.append(one[name] / others[0][below_name or name])
        return statistics.median(ratios) if ratios else None


def run_bench(*arguments, timeout=7200):
    """The JSON that gramme bench writes; errors are in it. {} if it could not even start."""
    done = subprocess.run([str(GRAMME), "bench", *map(str, arguments), "--json", "-"], text=True,
                          capture_output=True, timeout=timeout)
    try:
        return json.loads(done.stdout)
    except ValueError:
        print(f"\n  {' '.join(map(str, arguments))}: {done.stderr.strip()}", file=sys.stderr)
        return {"errors": {done.stderr.strip()[:60] or "no result": 1}, "requests": 0}


def measure(peer, work, *arguments):
    """One measurement of a peer. Slow servers get a longer measuring time."""
    command = [work, "--endpoint", peer.endpoint(), "--pid", ",".join(map(str, peer.pids())), *arguments]
    row = run_bench(*command)
    seconds = arguments[arguments.index("--seconds") + 1] if "--seconds" in arguments else None
    if row["requests"] == 0 and not row["errors"] and seconds:
        command[command.index("--seconds") + 1] = max(5, 5 * seconds)
        row = run_bench(*command)
    return row


class Flushes:
    """The number of flush commands sent to the disk, by any process; None if the kernel
    does not count it."""

    def __init__(self, directory):
        device = os.stat(directory).st_dev
        self.path = f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat"

    def count(self):
        try:
            return int(open(self.path).read().split()[15])
        except (OSError, IndexError):
            return None


def clock(seconds):
    minutes, seconds = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def run_steps(steps, results):
    """Runs all, showing what is done, how much is left and what came out."""
    total = sum(step.seconds for step in steps)
    print(f"{len(steps)} measurements, about {clock(total)} (minutes:seconds)", flush=True)
    started, done = time.monotonic(), 0
    pace = 1.0
    for number, step in enumerate(steps, 1):
        left = clock((total - done) * pace)
        if sys.stderr.isatty():
            print(f"\r\033[K[{number}/{len(steps)}, {left} left] {step.label} ...", end="", file=sys.stderr, flush=True)
        row = step.run()
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        if row is not None:
            results.add(row)
        print(f"[{number}/{len(steps)}, {left} left] {step.label}: {describe(row)}", flush=True)
        done += step.seconds
        pace = max(0.2, (time.monotonic() - started) / done)


def describe(row):
    if row is None:
        return "done"
    if row.get("errors"):
        return "FAILED: " + ", ".join(f"{count} {name}" for name, count in row["errors"].items())
    if "requests_per_second" in row:
        cost = f", {row['server_cpu_us']:.1f} us CPU" if "server_cpu_us" in row else ""
        return (f"{row['requests_per_second']:,.0f}/s, p50 {row['latency_us']['p50']:,.0f} us, "
                f"p99 {row['latency_us']['p99']:,.0f} us{cost}")
    if "per_second" in row:
        return f"{row['per_second']:,.0f}/s" + (f", p50 {row['latency_us']['p50']:,.0f} us" if row["latency_us"] else "")
    return ", ".join(f"{name} {value}" for name, value in row.items() if name not in ("section", "peer"))
