#!/usr/bin/python3
"""How many requests N servers on one PostgreSQL serve: measures what a request costs at each place, predicts from that, and compares
the prediction for one and two servers with what they reach on this machine.

    tools/benchmark/model.py [--seconds 3] [--rounds 5]

Prints the tables of docs/internals/many-servers-model.md. Exits with status 1 if a prediction is off by more than a quarter.

Each measured run lies between two calibrations, whose mean it is compared with; how many cores others leave is measured during the
run itself, because that is not what the model predicts."""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
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
OFF_MAX = 0.25
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
    clients; microseconds in which PostgreSQL syncs its log, how often it does, bytes of the log, transactions; bytes that the server
    sends to PostgreSQL and gets from it, and packets of data that it sends, each of which begins a round trip."""
    NAMES = ("io", "server", "database", "clients", "sync", "syncs", "bytes", "transactions", "sent", "received", "sends")

    def __init__(self, *values):
        self.io, self.server, self.database, self.clients = values[:4]
        self.sync, self.syncs, self.bytes, self.transactions = values[4:8]
        self.sent, self.received, self.sends = values[8:]


def log_statistics(database):
    """Microseconds, syncs and bytes of PostgreSQL's log so far, and transactions of the servers."""
    text = database.cluster.sql("SELECT wal_sync_time * 1000, wal_sync, wal_bytes, "
                                "(SELECT xact_commit FROM pg_stat_database WHERE datname = 'served') FROM pg_stat_wal")
    return list(map(float, text.split("|")))


def network_statistics(database):
    """Bytes sent to PostgreSQL and received from it by its clients, and packets of data sent; of connections that are open."""
    listed = subprocess.run(["ss", "-tinH", f"dport = :{database.cluster.port}"], text=True, stdout=subprocess.PIPE, check=True).stdout
    return [sum(map(int, re.findall(rf"\b{name}:(\d+)", listed))) for name in ("bytes_sent", "bytes_received", "data_segs_out")]


def calibrate(server, database, work, seconds):
    """One server under full load."""
    log_before, network_before = log_statistics(database), network_statistics(database)
    before, database_before, clients_before = thread_us(server.pids()[0]), database.cpu_seconds(), own_us()
    row = measure(server, work, "--seconds", seconds, "--warmup", 0, "--items", ITEMS, "--connections", CLIENTS)
    after, count = thread_us(server.pids()[0]), row["requests"]
    total = sum(after.values()) - sum(before.values())
    io = after.get(IO_THREAD, 0) - before.get(IO_THREAD, 0)
    log = [(now - then) / count for now, then in zip(log_statistics(database), log_before)]
    network = [(now - then) / count for now, then in zip(network_statistics(database), network_before)]
    if work == "get":
        log[:3] = 0, 0, 0  # log activity during reads is caused by other work and not counted: reads do not wait for the log
    return Demand(io / count, total / count, (database.cpu_seconds() - database_before) * 1e6 / count,
                  (own_us() - clients_before) / count, *log, *network)


def middle(demands):
    """The median; of two, their mean."""
    return Demand(*(statistics.median(getattr(demand, name) for demand in demands) for name in Demand.NAMES))


def predict_here(demand, cores):
    """All on the same cores, which are what is shared, however many servers there are: mean value analysis of a closed system with
    two stations, the cores (those that others leave) and the log. Several cores are modelled as one faster core plus a delay
    (Seidmann)."""
    cpu = demand.server + demand.database + demand.clients
    stations, delay = [cpu / cores, demand.sync], cpu * (max(cores, 1) - 1) / max(cores, 1)
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


def reached(servers, database, work, seconds, cores, attempts=3):
    """(Requests a second of all servers at once, each with its clients, cores that there were for them); again if some failed, as on
    a machine so busy that a lease ran out."""
    rows, load = [None] * len(servers), Load(servers, database)

    def run(number):
        rows[number] = run_bench(work, "--endpoint", servers[number].endpoint(), "--seconds", seconds, "--warmup", 0, "--items", ITEMS,
                                 "--connections", CLIENTS // len(servers))
    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(servers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if any(row["errors"] for row in rows):
        assert attempts > 1, rows
        return reached(servers, database, work, seconds, cores, attempts - 1)
    return sum(row["requests_per_second"] for row in rows), load.cores_left(cores)


def show(demands, rates, cores):
    """demands: those of each round by work; rates: (predicted, measured, cores) of each round by work and number of servers. Gives the
    largest error."""
    demands = {work: middle(found) for work, found in demands.items()}
    print("Microseconds per request, of CPU and of syncing the log:\n")
    print(table(["", "I/O thread of a server", "server", "PostgreSQL", "clients", "sync of the log"],
                [[WORKS[work], *(f"{getattr(demand, name):.1f}" for name in Demand.NAMES[:5])] for work, demand in demands.items()]))
    print("Of each request at PostgreSQL:\n")
    print(table(["", "transactions", "syncs of the log", "bytes of the log", "bytes to it", "bytes from it", "packets to it"],
                [[WORKS[work], f"{demand.transactions:.3f}", f"{demand.syncs:.3f}", f"{demand.bytes:,.0f}", f"{demand.sent:,.0f}",
                  f"{demand.received:,.0f}", f"{demand.sends:.3f}"] for work, demand in demands.items()]))
    left = statistics.median(found[2] for each in rates.values() for found in each)
    print(f"Servers, PostgreSQL and clients on the same {cores} cores, of which others left {left:.1f}; requests a second:\n")
    rows, worst = [], 0
    for (work, count), found in rates.items():
        predicted, measured, _ = (statistics.median(values) for values in zip(*found))
        off = statistics.median(each / rate for each, rate, _ in found) - 1
        worst = max(worst, abs(off))
        rows.append([WORKS[work], count, f"{predicted:,.0f}", f"{measured:,.0f}", f"{100 * off:+.0f} %"])
    print(table(["", "servers", "predicted", "measured", "off, median of the rounds"], rows))
    print(f"Servers with {SERVER_CORES} cores each, PostgreSQL with {DATABASE_CORES} and a sync of its log in {SYNC_US} us:\n")
    rows = []
    for work, demand in demands.items():
        for count in (1, 2, 3, 4, 6, 8, 12):
            rate, name = predict(demand, count)
            rows.append([WORKS[work], count, f"{rate:,.0f}", name])
    print(table(["", "servers", "requests/s at most", "limited by"], rows))
    return worst


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
                calibrations[work].append(calibrate(servers[0], database, work, options.seconds))
                for count in (1, 2):
                    rate, left = reached(servers[:count], database, work, options.seconds, cores)
                    calibrations[work].append(calibrate(servers[0], database, work, options.seconds))
                    between = middle(calibrations[work][-2:])
                    rates.setdefault((work, count), []).append((predict_here(between, left), rate, left))
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    finally:
        for server in servers:
            server.discard()
        database.stop()
        shutil.rmtree(directory, ignore_errors=True)
    worst = show(calibrations, rates, cores)
    print(f"largest error: {100 * worst:.0f} %")
    return 1 if worst > OFF_MAX else 0


if __name__ == "__main__":
    sys.exit(main())
