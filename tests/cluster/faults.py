#!/usr/bin/python3
"""Three servers on one PostgreSQL under load while something fails: servers are killed, one is stopped for longer than its lease,
PostgreSQL is killed, loses its synchronous standby, fails over to it, or its connections are cut. After each fault every server is asked:
all that was acknowledged is there and nothing refused, every index entry is that of its item, counts and sums are exact, expired
items are gone, and the streams have had every change once and in order per item.

    faults.py [--server-kills 2] [--stops 1] [--database-kills 2] [--standby-kills 1] [--failovers 1] [--cuts 60] [--seed N]

Load and moments of the faults come from the seed, which it prints; the interleaving of clients does not."""

import argparse
import contextlib
import os
import pathlib
import random
import signal
import sys
import time
import traceback
import urllib.error
import urllib.request

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "cluster"), str(TESTS / "support"), str(TESTS / "crash")]

import postgresql  # noqa: E402
from changes import StreamCheck  # noqa: E402
from fault_check import check_all  # noqa: E402
from fault_workload import ClusterIndexMaker, ClusterWorker, StreamReader, run_all  # noqa: E402
from cutting_proxy import CuttingProxy  # noqa: E402
from server import Server  # noqa: E402
from tables import create_table  # noqa: E402
from values import item  # noqa: E402
from waiting import poll  # noqa: E402
from wire import Client, refused  # noqa: E402
from workload import BRIEF, TABLES, prepare  # noqa: E402

SERVERS, CLIENTS = 3, 9
CUTS_PER_ROUND = 50


class Deployment:
    """Servers on one database, their load, and what has been checked."""

    def __init__(self, url, seed):
        self.url = url
        self.servers = [Server(url) for _ in range(SERVERS)]
        self.stopped = None  # a server that does not answer for a while
        prepare(self.servers[0].endpoint)
        self.workers = [ClusterWorker(number, seed) for number in range(CLIENTS)]
        self.readers = [StreamReader(table, self.servers[0].endpoint, seed) for table in (*TABLES, BRIEF)]
        self.index_maker = ClusterIndexMaker(seed)
        self.checks = {reader.table: StreamCheck(reader) for reader in self.readers}
        for check in self.checks.values():
            check.take(self.servers[0].endpoint)  # what prepare() has put

    def pick(self, dice, number):
        """The endpoint of a server; every third client may call one that is stopped, and waits for its answer."""
        servers = [server for server in self.servers if server is not self.stopped or number % 3 == 0]
        return dice.choice(servers).endpoint

    def wait_until_ready(self):
        for server in self.servers:
            poll(lambda server=server: is_ready(server.endpoint), 60, f"{server.endpoint} may serve")

    def create_table(self):
        """A table with one item."""
        server = next(server for server in self.servers if server is not self.stopped)
        with Client(server.endpoint) as db:
            table = create_table(db)
            db.PutItem(TableName=table, Item=item(pk="x"))
        return table

    def check_table(self, table):
        """All servers know it at once, and that it is gone."""
        for server in self.servers:
            with Client(server.endpoint) as db:
                found = db.GetItem(TableName=table, Key=item(pk="x"), ConsistentRead=True)
                assert "Item" in found, f"{server.endpoint} does not have the item of {table}"
        with Client(self.servers[-1].endpoint) as db:
            db.DeleteTable(TableName=table)
        for server in self.servers:
            with Client(server.endpoint) as db, refused("ResourceNotFoundException"):
                db.DescribeTable(TableName=table)

    def run(self, fault):
        """One fault under load, and the check."""
        run_all([*self.workers, *self.readers, self.index_maker], self, fault)
        self.wait_until_ready()
        check_all([server.endpoint for server in self.servers], self.workers, self.checks)
        self.check_table(self.create_table())

    def describe(self):
        calls, refused, unknown, conflicts = (sum(getattr(worker, name) for worker in self.workers)
                                              for name in ("calls", "refused", "unknown", "conflicts"))
        return (f"{calls} calls so far, {refused} refused as they should, {unknown} not known at first, {conflicts} conflicts, "
                f"{self.index_maker.calls} indexes made or deleted")

    def close(self, is_well):
        for server in self.servers:
            if server.process.poll() is None:
                if is_well:
                    server.stop()
                else:
                    server.process.kill()
                    server.process.wait()


def is_ready(endpoint):
    try:
        with urllib.request.urlopen(f"{endpoint}/_gramme/ready", timeout=10) as answer:
            return answer.status == 200
    except (OSError, urllib.error.HTTPError):
        return False


def pause(over, dice, least=0.3, most=1.2):
    """The load alone; ends early if a client has failed."""
    over.wait(dice.uniform(least, most))


def kill_server(deployment, dice):
    def fault(over):
        pause(over, dice)
        victim = dice.randrange(SERVERS)
        port = deployment.servers[victim].port
        deployment.servers[victim].kill()
        deployment.servers[victim] = Server(deployment.url, port=port)
        pause(over, dice)
    deployment.run(fault)


def stop_server(deployment, dice):
    def fault(over):
        pause(over, dice)
        deployment.stopped = dice.choice(deployment.servers)
        process = deployment.stopped.process
        os.kill(process.pid, signal.SIGSTOP)
        try:
            table = deployment.create_table()  # is answered when the lease of the stopped one has ended and it is excluded
            pause(over, dice, 0, 2)
        finally:
            os.kill(process.pid, signal.SIGCONT)
            deployment.stopped = None
        deployment.wait_until_ready()
        deployment.check_table(table)
        pause(over, dice)
    deployment.run(fault)


def kill_database(deployment, dice, database):
    def fault(over):
        pause(over, dice)
        database.kill()
        pause(over, dice, 0, 2)
        database.start()
        deployment.wait_until_ready()
        pause(over, dice)
    deployment.run(fault)


def kill_standby(deployment, dice, standby):
    """Without it no commit is acknowledged, not even a heartbeat: for longer than the lease, so that no server may serve."""
    def fault(over):
        pause(over, dice)
        standby.kill()
        poll(lambda: not any(is_ready(server.endpoint) for server in deployment.servers), 60, "no server may serve")
        pause(over, dice, 0, 8)
        standby.start()
        deployment.wait_until_ready()
        pause(over, dice)
    deployment.run(fault)


def cut_connections(deployment, proxy, count):
    def fault(over):
        target, deadline = proxy.count + count, time.monotonic() + 120
        proxy.start_cutting(count)
        while proxy.count < target and not over.wait(0.05):
            assert time.monotonic() < deadline, f"only {proxy.count} of {target} cuts"
        over.wait(0.5)
    deployment.run(fault)


class Run:
    """Counts, progress, and what to do when something is wrong."""

    def __init__(self, seed):
        self.seed, self.passed, self.started = seed, 0, time.monotonic()

    @contextlib.contextmanager
    def deployment(self, url):
        deployment, is_well = Deployment(url, self.seed), False
        try:
            yield deployment
            is_well = True
        finally:
            deployment.close(is_well)

    def rounds(self, name, count, deployment):
        for number in range(1, count + 1):
            yield number
            self.passed += 1
            print(f"{time.monotonic() - self.started:5.0f} s  {name} {number} of {count}: {deployment.describe()}", flush=True)


def run_on_one_database(run, options, dice):
    with postgresql.Cluster() as database, run.deployment(database.create_database()) as deployment:
        for _ in run.rounds("server killed,", options.server_kills, deployment):
            kill_server(deployment, dice)
        for _ in run.rounds("server stopped,", options.stops, deployment):
            stop_server(deployment, dice)
        for _ in run.rounds("database killed,", options.database_kills, deployment):
            kill_database(deployment, dice, database)


def run_behind_proxy(run, options):
    with postgresql.Cluster() as database, CuttingProxy(database.port, options.seed) as proxy:
        url = database.create_database().replace(f":{database.port}/", f":{proxy.port}/")
        with run.deployment(url) as deployment:
            counts = [CUTS_PER_ROUND] * (options.cuts // CUTS_PER_ROUND)
            counts += [options.cuts % CUTS_PER_ROUND] if options.cuts % CUTS_PER_ROUND else []
            for number in run.rounds("connections cut, round", len(counts), deployment):
                cut_connections(deployment, proxy, counts[number - 1])
        print("cuts:", ", ".join(f"{count} {kind}" for kind, count in proxy.cuts.items()), flush=True)


def run_with_standby(run, options, dice):
    with contextlib.ExitStack() as stack:
        primary, standby, url = postgresql.primary_with_standby(stack)
        deployment = stack.enter_context(run.deployment(url))
        for _ in run.rounds("standby killed,", options.standby_kills, deployment):
            kill_standby(deployment, dice, standby)
        for number in run.rounds("failover", options.failovers, deployment):
            if number > 1:  # the one that was primary becomes the standby, at the same port
                port = primary.port
                primary.close()
                primary, standby = standby, postgresql.add_standby(stack, standby, port)

            def fault(over):
                pause(over, dice)
                postgresql.fail_over(primary, standby)
                deployment.wait_until_ready()
                pause(over, dice)
            deployment.run(fault)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, count in (("server-kills", 2), ("stops", 1), ("database-kills", 2), ("standby-kills", 1), ("failovers", 1), ("cuts", 60)):
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print(f"faults: --server-kills {options.server_kills} --stops {options.stops} --database-kills {options.database_kills} "
          f"--standby-kills {options.standby_kills} --failovers {options.failovers} --cuts {options.cuts} --seed {options.seed}", flush=True)
    dice = random.Random(options.seed)
    run = Run(options.seed)
    try:
        if options.server_kills + options.stops + options.database_kills > 0:
            run_on_one_database(run, options, dice)
        if options.cuts > 0:
            run_behind_proxy(run, options)
        if options.standby_kills + options.failovers > 0:
            run_with_standby(run, options, dice)
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
        print(f"round {run.passed + 1} of --seed {options.seed} failed", file=sys.stderr)
        print(f"{run.passed} passed, 1 failed")
        sys.exit(1)
    print(f"{run.passed} passed, 0 failed")


if __name__ == "__main__":
    main()
