#!/usr/bin/python3
"""How many requests N servers on one PostgreSQL serve: measures what a request costs at each place, predicts from that, and compares
the prediction for one and two servers with what they reach on this machine.

    tools/benchmark/model.py [--seconds 3] [--rounds 5]

Prints the page docs/internals/many-servers-model.md (from model.md.in), to be stored as it is:

    tools/benchmark/model.py >page.md && mv page.md docs/internals/many-servers-model.md

Exits with status 1 if a prediction is off by more than a quarter.

Each measured run lies between two calibrations, whose mean it is compared with; how many cores others leave is measured during the
run itself, because that is not what the model predicts."""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import string
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from many import POOL, Database, GrammeOnPostgresql  # noqa: E402
from measure import measure, run_bench  # noqa: E402
from report import machine, table  # noqa: E402

WORKS = {"get": "GetItem, 1 KB", "put": "PutItem, 1 KB, one GSI"}
ITEMS, CLIENTS, IO_THREAD = 10_000, 64, "pg-io"
OFF_MAX = 0.25
TICK_US = 1_000_000 / os.sysconf("SC_CLK_TCK")
# Machines of a deployment for which the model says what is reached.
SERVER_CORES, DATABASE_CORES, SYNC_US, NETWORK_BITS, ROUND_TRIP_US = 4, 16, 100, 10e9, 200
ROUND_TRIPS = {"get": 1, "put": 2}
GROUP_MAX = 64  # PG_GROUP_MAX of src/store/pg/pg_internal.h
TEMPLATE = pathlib.Path(__file__).resolve().with_suffix(".md.in")


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


def calibrate(server, database, work, seconds, clients):
    """One server under the load of so many clients."""
    log_before, network_before = log_statistics(database), network_statistics(database)
    before, database_before, clients_before = thread_us(server.pids()[0]), database.cpu_seconds(), own_us()
    row = measure(server, work, "--seconds", seconds, "--warmup", 0, "--items", ITEMS, "--connections", clients)
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


def network_us(demand):
    """How long a request keeps the network card of PostgreSQL busy, in the busier direction; the standby gets the log."""
    return 8 * max(demand.sent, demand.received + demand.bytes) * 1e6 / NETWORK_BITS


def wait_us(work):
    """Of a request that waits for nobody else: for round trips, and for the sync that is under way, half of it in the mean, and its own."""
    return ROUND_TRIPS[work] * ROUND_TRIP_US + (1.5 * SYNC_US if work == "put" else 0)


def predict(work, demand, servers):
    """On machines of their own: (requests a second, what limits them)."""
    limits = {"the I/O thread of the servers": servers * 1e6 / demand.io,
              "the cores of the servers": servers * SERVER_CORES * 1e6 / demand.server,
              "the cores of PostgreSQL": DATABASE_CORES * 1e6 / demand.database,
              "the disk of the log": 1e6 / max(demand.syncs * SYNC_US, 1e-3),
              "the network card of PostgreSQL": 1e6 / network_us(demand)}
    if work == "put":
        limits["the connections of the servers"] = servers * POOL * GROUP_MAX * 1e6 / wait_us(work)
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


def demand_rows(demands):
    """What is in the rows of both tables of demands: a request, and with how many clients of the server."""
    return [([WORKS[work], clients], middle(found)) for (work, clients), found in demands.items()]


def show_checks(rates):
    """The table, and the largest error."""
    rows, worst = [], 0
    for (work, count), found in rates.items():
        predicted, measured, _ = (statistics.median(values) for values in zip(*found))
        off = statistics.median(each / rate for each, rate, _ in found) - 1
        worst = max(worst, abs(off))
        rows.append([WORKS[work], count, f"{predicted:,.0f}", f"{measured:,.0f}", f"{100 * off:+.0f} %"])
    return table(["", "servers", "predicted", "measured", "off"], rows), worst


def show_predictions(demands):
    """The table, and in words when more servers do not help."""
    rows, words = [], []
    for work in WORKS:
        demand, enough = middle(demands[work, CLIENTS]), None
        for count in (1, 2, 3, 4, 6, 8, 12):
            rate, name = predict(work, demand, count)
            under_way = rate * (wait_us(work) + demand.server + demand.database) / 1e6
            rows.append([WORKS[work], count, f"{rate:,.0f}", name, f"{under_way:,.0f}"])
            if enough is None and "servers" not in name:
                enough = f"with {count} servers {name} {'are' if 'cores' in name else 'is'} the limit"
        words.append(f"For {WORKS[work]}, {enough or 'the servers are always the limit'}.")
    return table(["", "servers", "requests/s at most", "limited by", "under way"], rows), "\n".join(words)


def page(demands, rates, options, cores):
    """The page as text, and the largest error. demands: of each round, by work and clients of the server; rates: (predicted, measured,
    cores) of each round, by work and number of servers."""
    here = machine()
    checks, worst = show_checks(rates)
    predictions, conclusions = show_predictions(demands)
    left = statistics.median(found[2] for each in rates.values() for found in each)
    text = string.Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        date=time.strftime("%Y-%m-%d"), rounds=options.rounds, seconds=f"{options.seconds:g}",
        machine=f"{here['processors']} processors ({here['processor']}), Linux {here['kernel']}",
        pool=POOL, clients=CLIENTS, half=CLIENTS // 2, cores=cores, left=f"{left:.1f}", worst=f"{100 * worst:.0f} %",
        demands=table(["", "clients of the server", "I/O thread of the server", "server", "PostgreSQL", "clients", "sync of the log"],
                      [[*name, *(f"{getattr(demand, part):.1f}" for part in Demand.NAMES[:5])] for name, demand in demand_rows(demands)]),
        exchanges=table(["", "clients of the server", "transactions", "syncs of the log", "bytes of the log", "bytes to PostgreSQL",
                         "bytes from PostgreSQL", "packets to PostgreSQL"],
                        [[*name, f"{demand.transactions:.3f}", f"{demand.syncs:.3f}", f"{demand.bytes:,.0f}", f"{demand.sent:,.0f}",
                          f"{demand.received:,.0f}", f"{demand.sends:.3f}"] for name, demand in demand_rows(demands)]),
        checks=checks, predictions=predictions, conclusions=conclusions, server_cores=SERVER_CORES, database_cores=DATABASE_CORES,
        sync_us=SYNC_US, gigabits=f"{NETWORK_BITS / 1e9:g}", round_trip_us=ROUND_TRIP_US, group=GROUP_MAX)
    return wrapped(text), worst


def wrapped(text):
    """The text with lines of at most 120 columns, as the other pages."""
    with tempfile.NamedTemporaryFile("w+", suffix=".md", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        subprocess.run([sys.executable, str(ROOT / "tools" / "wrap_markdown.py"), file.name], check=True, stdout=subprocess.DEVNULL)
        return pathlib.Path(file.name).read_text(encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    directory, database = pathlib.Path(tempfile.mkdtemp(prefix="gramme-model-")), Database({"track_wal_io_timing": "on"})
    servers = [GrammeOnPostgresql(directory / str(number), database) for number in range(2)]
    calibrations, rates, cores = {}, {}, len(os.sched_getaffinity(0))
    try:
        database.start()
        for server in servers:
            server.start()
        run_bench("get", "--endpoint", servers[0].endpoint(), "--items", ITEMS, "--seconds", 1)
        for number in range(options.rounds):
            for work in WORKS:
                for count in (1, 2):
                    found = calibrations.setdefault((work, CLIENTS // count), [])
                    found.append(calibrate(servers[0], database, work, options.seconds, CLIENTS // count))
                    rate, left = reached(servers[:count], database, work, options.seconds, cores)
                    found.append(calibrate(servers[0], database, work, options.seconds, CLIENTS // count))
                    rates.setdefault((work, count), []).append((predict_here(middle(found[-2:]), left), rate, left))
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    finally:
        for server in servers:
            server.discard()
        database.stop()
        shutil.rmtree(directory, ignore_errors=True)
    text, worst = page(calibrations, rates, options, cores)
    print(text, end="")
    return 1 if worst > OFF_MAX else 0


if __name__ == "__main__":
    sys.exit(main())
