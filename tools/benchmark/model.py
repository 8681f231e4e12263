#!/usr/bin/python3
"""How many requests N servers on one PostgreSQL serve: measures what a request costs at each place, predicts from that, and compares
the prediction for one and two servers with what they reach on this machine.

    tools/benchmark/model.py [--seconds 3] [--rounds 5]

Prints the tables of docs/internals/many-servers-model.md."""

import argparse
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from many import Database, GrammeOnPostgresql  # noqa: E402
from measure import measure, run_bench  # noqa: E402
from report import table  # noqa: E402

WORKS = {"get": "GetItem, 1 KB", "put": "PutItem, 1 KB, one GSI"}
ITEMS, CLIENTS, IO_THREAD = 10_000, 64, "pg-io"
TICK_US = 1_000_000 / os.sysconf("SC_CLK_TCK")
# Machines of a deployment for which the model says what is reached.
SERVER_CORES, DATABASE_CORES, SYNC_US = 4, 16, 100


def thread_us(pid):
    """CPU time of each thread of a process by its name."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            text = (task / "stat").read_text()
        except OSError:
            continue
        name = text[text.index("(") + 1:text.rindex(")")]
        fields = text.rsplit(")", 1)[1].split()
        found[name] = found.get(name, 0) + (int(fields[11]) + int(fields[12])) * TICK_US
    return found


def own_us():
    times = os.times()
    return (times.children_user + times.children_system) * 1e6


def machine_us():
    """CPU time that anybody has used on this machine."""
    fields = list(map(int, pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]))
    return (sum(fields) - fields[3] - fields[4]) * TICK_US  # but for idle and waiting


class Load:
    """CPU time of servers, PostgreSQL and clients since it was made, and how many cores others left them."""

    def __init__(self, servers, database):
        self.servers, self.database = servers, database
        self.started, self.own, self.all = time.monotonic(), self.own_us(), machine_us()

    def own_us(self):
        return sum(sum(thread_us(server.pids()[0]).values()) for server in self.servers) + self.database.cpu_seconds() * 1e6 + own_us()

    def cores_left(self, cores):
        others = (machine_us() - self.all) - (self.own_us() - self.own)
        return max(cores - others / 1e6 / (time.monotonic() - self.started), 0.1)


class Demand:
    """Of one request: microseconds of CPU of the thread that talks to PostgreSQL, of the whole server, of PostgreSQL and of the
    clients; microseconds in which PostgreSQL syncs its log, how often it does, bytes of the log, transactions; and `cores`: that
    there were for all of it."""
    NAMES = ("io", "server", "database", "clients", "sync", "syncs", "bytes", "transactions", "cores")

    def __init__(self, *values):
        self.io, self.server, self.database, self.clients = values[:4]
        self.sync, self.syncs, self.bytes, self.transactions, self.cores = values[4:]


def log_statistics(database):
    """Microseconds, syncs and bytes of PostgreSQL's log so far, and transactions of the servers."""
    text = database.cluster.sql("SELECT wal_sync_time * 1000, wal_sync, wal_bytes, "
                                "(SELECT xact_commit FROM pg_stat_database WHERE datname = 'served') FROM pg_stat_wal")
    return list(map(float, text.split("|")))


def calibrate(server, database, work, seconds, cores):
    """One server under full load."""
    load, log_before = Load([server], database), log_statistics(database)
    before, database_before, clients_before = thread_us(server.pids()[0]), database.cpu_seconds(), own_us()
    row = measure(server, work, "--seconds", seconds, "--warmup", 0, "--items", ITEMS, "--connections", CLIENTS)
    after, count = thread_us(server.pids()[0]), row["requests"]
    total = sum(after.values()) - sum(before.values())
    io = after.get(IO_THREAD, 0) - before.get(IO_THREAD, 0)
    log = [(now - then) / count for now, then in zip(log_statistics(database), log_before)]
    if work == "get":
        log[:3] = 0, 0, 0  # what is written meanwhile is not its: reads do not wait for the log
    return Demand(io / count, total / count, (database.cpu_seconds() - database_before) * 1e6 / count,
                  (own_us() - clients_before) / count, *log, load.cores_left(cores))


def middle(demands):
    return Demand(*(statistics.median(getattr(demand, name) for demand in demands) for name in Demand.NAMES))


def predict_here(demand):
    """All on the same cores, which are what is shared, however many servers there are: mean value analysis of a closed system with
    two stations, the cores and the log. Several cores are one that is as much quicker, and a delay (Seidmann)."""
    cpu = demand.server + demand.database + demand.clients
    cores = max(demand.cores, 1)
    stations, delay = [cpu / demand.cores, demand.sync], cpu * (cores - 1) / cores
    queues, rate = [0.0] * len(stations), 0.0
    for clients in range(1, CLIENTS + 1):
        times = [service * (1 + queue) for service, queue in zip(stations, queues)]
        rate = clients / (delay + sum(times))
        queues = [rate * time_us for time_us in times]
    return rate * 1e6


def predict(demand, servers):
    """On machines of their own: (requests a second, what limits them)."""
    limits = {"the I/O thread of the servers": servers * 1e6 / demand.io,
              "the servers": servers * SERVER_CORES * 1e6 / demand.server,
              "PostgreSQL": DATABASE_CORES * 1e6 / demand.database,
              "the disk of the log": 1e6 / max(demand.syncs * SYNC_US, 1e-3)}
    name = min(limits, key=limits.get)
    return limits[name], name


def reached(servers, work, seconds, attempts=3):
    """Requests a second of all servers at once, each with its clients; again if some failed, as on a machine so busy that a lease
    ran out."""
    rows = [None] * len(servers)

    def run(number):
        rows[number] = run_bench(work, "--endpoint", servers[number].endpoint(), "--seconds", seconds, "--warmup", 0.5, "--items", ITEMS,
                                 "--connections", CLIENTS // len(servers))
    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(servers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if any(row["errors"] for row in rows):
        assert attempts > 1, rows
        return reached(servers, work, seconds, attempts - 1)
    return sum(row["requests_per_second"] for row in rows)


def show(demands, rates, cores):
    """demands: those of each round by work; rates: (predicted, measured) of each round by work and number of servers."""
    demands = {work: middle(found) for work, found in demands.items()}
    print("Microseconds per request, of CPU and of syncing the log:\n")
    print(table(["", "I/O thread of a server", "server", "PostgreSQL", "clients", "sync of the log"],
                [[WORKS[work], *(f"{getattr(demand, name):.1f}" for name in Demand.NAMES[:5])] for work, demand in demands.items()]))
    print("Of each request at PostgreSQL:\n")
    print(table(["", "transactions", "syncs of the log", "bytes of the log"],
                [[WORKS[work], f"{demand.transactions:.3f}", f"{demand.syncs:.3f}", f"{demand.bytes:,.0f}"]
                 for work, demand in demands.items()]))
    left = statistics.median(demand.cores for demand in demands.values())
    print(f"Servers, PostgreSQL and clients on the same {cores} cores, of which others left {left:.1f}; requests a second:\n")
    rows = []
    for (work, count), found in rates.items():
        predicted, measured = (statistics.median(values) for values in zip(*found))
        off = statistics.median(each / rate for each, rate in found) - 1
        rows.append([WORKS[work], count, f"{predicted:,.0f}", f"{measured:,.0f}", f"{100 * off:+.0f} %"])
    print(table(["", "servers", "predicted", "measured", "off, median of the rounds"], rows))
    print(f"Servers with {SERVER_CORES} cores each, PostgreSQL with {DATABASE_CORES} and a sync of its log in {SYNC_US} us:\n")
    rows = []
    for work, demand in demands.items():
        for count in (1, 2, 3, 4, 6, 8, 12):
            rate, name = predict(demand, count)
            rows.append([WORKS[work], count, f"{rate:,.0f}", name])
    print(table(["", "servers", "requests/s at most", "limited by"], rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    directory, database = pathlib.Path(tempfile.mkdtemp(prefix="gramme-model-")), Database({"track_wal_io_timing": "on"})
    servers = [GrammeOnPostgresql(directory / str(number), database) for number in range(2)]
    calibrations, rates, cores = {work: [] for work in WORKS}, {}, len(os.sched_getaffinity(0))
    try:
        database.start()
        for server in servers:
            server.start()
        run_bench("get", "--endpoint", servers[0].endpoint(), "--items", ITEMS, "--seconds", 1)
        for number in range(options.rounds):
            for work in WORKS:
                for count in (1, 2):
                    calibrations[work].append(calibrate(servers[0], database, work, options.seconds, cores))
                    rates.setdefault((work, count), []).append(
                        (predict_here(calibrations[work][-1]), reached(servers[:count], work, options.seconds)))
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    finally:
        for server in servers:
            server.discard()
        database.stop()
        shutil.rmtree(directory, ignore_errors=True)
    show(calibrations, rates, cores)


if __name__ == "__main__":
    main()
