"""Gramme on PostgreSQL beside a bare loop over libpq (build/src/store/pg_baseline) that sends the same statements on as many
connections, with as many requests in flight, to the same PostgreSQL. Gets read the rows that Gramme has written; the loop's
writes go to a database of their own with the same table, to as many items as those of Gramme, again and again. Each round has
both one after the other, and a goal is the median of the ratios of the rounds: the machine may be quicker or slower in the next."""

import json
import os
import subprocess
import sys

from measure import Step, measure
from peers import GRAMME, ROOT, Gramme

sys.path.insert(0, str(ROOT / "tests" / "support"))
import postgresql  # noqa: E402

BASELINE = ROOT / "build" / "src" / "store" / "pg_baseline"
# As src/store/pg/pg_internal.h: 8 connections read and 8 write; 64 clients keep 8 requests in flight on each.
POOL, DEPTH = 8, 8
SERVER_SETTINGS = {"shared_buffers": "256MB"}


class GrammeOnPostgresql(Gramme):
    name, title = "many", "Gramme on PostgreSQL"
    durability = "every acknowledged write is synced to PostgreSQL's log"

    def __init__(self, directory, database):
        super().__init__(directory)
        self.database = database

    def command(self):
        return [str(GRAMME), "serve", "--listen", f"127.0.0.1:{self.port}", "--store", self.database.served,
                "--drain-ms", "0", "--log-level", "error"]


class Database:
    """A PostgreSQL of its own, with a database for servers and one for the bare loop."""

    def __init__(self, settings=None):
        self.cluster, self.settings = None, {**SERVER_SETTINGS, **(settings or {})}

    def start(self):
        self.cluster = postgresql.Cluster(settings=self.settings)
        self.served, self.bare = self.cluster.create_database("served"), self.cluster.create_database("bare")

    def copy_schema(self):
        """The table of the servers, empty, for the bare loop."""
        dump = subprocess.run([str(self.cluster.bin / "pg_dump"), "--schema-only", "--schema=gramme", self.served], text=True,
                              capture_output=True, check=True)
        subprocess.run([str(self.cluster.bin / "psql"), "-Xq", "-v", "ON_ERROR_STOP=1", self.bare], input=dump.stdout, text=True,
                       stdout=subprocess.DEVNULL, check=True)

    def cpu_seconds(self):
        """Of all its processes, those that have ended included."""
        total = 0
        for pid in (self.cluster.process.pid, *self.children()):
            try:
                fields = open(f"/proc/{pid}/stat", encoding="utf-8").read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            total += sum(map(int, fields[11:15] if pid == self.cluster.process.pid else fields[11:13]))
        return total / 100

    def children(self):
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.cluster.process.pid)], text=True, stdout=subprocess.PIPE,
                                check=False)
        return [int(word) for word in listed.stdout.split()]

    def stop(self):
        if self.cluster is not None:
            self.cluster.close()
            self.cluster = None


def baseline(url, mode, connections, depth, seconds):
    done = subprocess.run([str(BASELINE), url, mode, str(connections), str(depth), str(seconds)], text=True, capture_output=True,
                          timeout=120, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def children_us():
    """CPU time of all child processes that have ended: the load generators."""
    times = os.times()
    return (times.children_user + times.children_system) * 1e6


def get_costs(server, database, arguments):
    """Where the CPU time of a GetItem goes: server, PostgreSQL and load generator share the cores of this machine."""
    database_before, clients_before = database.cpu_seconds(), children_us()
    row = measure(server, "get", "--warmup", 0, *arguments, "--connections", 64)
    clients = children_us() - clients_before
    count = max(row["requests"], 1)
    return {**row, "database_cpu_us": (database.cpu_seconds() - database_before) * 1e6 / count, "client_cpu_us": clients / count}


def many_steps(bench):
    settings, database = bench.settings, Database()
    server = GrammeOnPostgresql(bench.directory / "many", database)

    def start():
        database.start()
        server.start()
        database.copy_schema()

    def stop():
        server.discard()
        database.stop()
    bench.stops.append(stop)

    def limit(mode, connections, depth, number):
        def run():
            row = baseline(database.served if mode == "get" else database.bare, mode, connections, depth, settings.seconds)
            return {**row, "section": "many", "limit": f"libpq {mode}", "round": number, "latency_us": {}}
        return Step(f"many limit libpq {mode} round {number + 1}", settings.seconds + 1, run)

    def costs(number):
        def run():
            row = get_costs(server, database, ["--seconds", settings.seconds, *items])
            return {**row, "section": "many", "cost": "get", "round": number}
        return Step(f"many: CPU time of GetItem round {number + 1}", settings.seconds + 1, run)

    items, hot = bench.item_set(), ["--items", 1, "--gsi", 0]
    others = [peer for peer in (bench.gramme, bench.databases.get("dynoxide")) if peer is not None]
    steps = [Step("many: start PostgreSQL and Gramme on it", 5, start)]
    for number in range(settings.rounds):
        for work in ("get", "put"):
            ours = [bench.step("many", peer, work, *items, "--connections", 64, number=number) for peer in (server, *others)]
            steps += [ours[0], limit(work, POOL, DEPTH, number), *ours[1:]]
        steps.append(costs(number))
        steps += [bench.step("many", peer, work, *items, "--connections", 64, number=number) for work in ("query10", "transact4")
                  for peer in (server, *([bench.gramme] if bench.gramme else []))]
        steps += [bench.step("many", server, "update", *hot, "--connections", 64, number=number), limit("hot", 1, 1, number)]
    return [*steps, Step("many: stop", 2, stop)]
