#!/usr/bin/python3
"""The files of docs/many-machines.md for etcd and Patroni, on loopback: two PostgreSQL servers that Patroni looks after, a Gramme server,
and clients that count. The leader is killed with everything on its machine; Patroni must promote the other one, and every
acknowledged write must be there.

    patroni.py [--failovers 2]

Needs etcd and Patroni (tools/setup patroni). About a minute for each failover."""

import argparse
import contextlib
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "support"))
from postgresql import BINARIES, free_port, unprivileged  # noqa: E402
from server import Server  # noqa: E402
from tables import create_table  # noqa: E402
from values import item, plain, values  # noqa: E402
from waiting import poll  # noqa: E402
from wire import Client, Refused  # noqa: E402

PAGE = (TESTS.parent / "docs" / "many-machines.md").read_text(encoding="utf-8")
COUNTERS = 4


def block_with(text):
    """The code block of the page that has this text."""
    return next(block for block in re.findall(r"```\w*\n(.*?)```", PAGE, re.DOTALL) if text in block)


def start(command, folder, log, env=None):
    """Runs a program as a user who may run PostgreSQL, in a session of its own."""
    with open(folder / log, "ab") as out:
        return subprocess.Popen([*unprivileged(), *map(str, command)], cwd=folder, stdout=out, stderr=out, start_new_session=True,
                                env={**os.environ, "HOME": str(folder), **(env or {})})


def end(process, *others):
    """SIGKILL of a program, of processes that belong to it, and of everything that they have started, as if the machine had ended."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], text=True, stdout=subprocess.PIPE, check=True).stdout.split()
    parents = dict(zip(map(int, listed[::2]), map(int, listed[1::2])))
    family = {process.pid, *others}
    while True:
        more = {pid for pid, parent in parents.items() if parent in family} - family
        if not more:
            break
        family |= more
    for pid in family:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


class Etcd:
    def __init__(self, folder):
        self.port, peer = free_port(), free_port()
        settings = dict(line.split("=", 1) for line in block_with("ETCD_NAME").split())
        settings["ETCD_INITIAL_CLUSTER"] = settings["ETCD_INITIAL_CLUSTER"].split(",")[0]  # one machine is enough here
        settings = {name: value.replace("10.0.0.1:2379", f"127.0.0.1:{self.port}").replace("10.0.0.1:2380", f"127.0.0.1:{peer}")
                    for name, value in settings.items()}
        settings["ETCD_DATA_DIR"] = str(folder / "etcd")
        self.process = start(["/usr/bin/etcd"], folder, "etcd.log", settings)

    def end(self):
        end(self.process)


class Machine:
    """Patroni and the PostgreSQL that it runs."""

    def __init__(self, folder, name, etcd):
        self.folder, self.name = folder, name
        self.port, self.rest = free_port(), free_port()
        text = block_with("scope: gramme").replace("name: db1", f"name: {name}")
        for old, new in ((r'\["10.0.0.1:2379".*\]', f'["127.0.0.1:{etcd.port}"]'), (r"10\.0\.0\.4:8008", f"127.0.0.1:{self.rest}"),
                         (r"10\.0\.0\.4:5432", f"127.0.0.1:{self.port}"), (r"10\.0\.0\.0/24", "127.0.0.1/32"),
                         (r"bin_dir: .*", f"bin_dir: {BINARIES[-1]}"), (r"data_dir: .*", f"data_dir: {folder / name}")):
            text, count = re.subn(old, new, text)
            assert count > 0, f"{old} is not in the file"
        self.file = folder / f"{name}.yml"
        self.file.write_text(text, encoding="utf-8")
        self.run()

    def run(self):
        self.process = start(["/usr/bin/patroni", self.file], self.folder, f"{self.name}.log", {"TMPDIR": str(self.folder)})

    def end(self):
        """PostgreSQL is no child of Patroni's: its file says which process it is."""
        with contextlib.suppress(FileNotFoundError):
            end(self.process, int((self.folder / self.name / "postmaster.pid").read_text().split()[0]))
        end(self.process)

    def state(self, path="patroni"):
        """What Patroni says of itself: its role, and whether it runs; or of the cluster."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.rest}/{path}", timeout=5) as answer:
                return json.load(answer)
        except (OSError, ValueError):
            return {}

    def leads(self):
        state = self.state()
        return state.get("role") in ("master", "primary") and state.get("state") == "running"

    def is_synchronous(self):
        """Whether there is one that has everything, and may therefore be promoted."""
        return any(member["role"] == "sync_standby" for member in self.state("cluster").get("members", []))

    def sql(self, text, database="postgres"):
        url = f"postgresql://postgres:SECRET1@127.0.0.1:{self.port}/{database}"
        subprocess.run([str(BINARIES[-1] / "psql"), "-Xq", "-v", "ON_ERROR_STOP=1", url, "-c", text], check=True)


class Counting(threading.Thread):
    """Adds 1 to an item again and again; counts what was acknowledged and what may have happened."""

    def __init__(self, endpoint, table, pk):
        super().__init__()
        self.endpoint, self.table, self.pk = endpoint, table, pk
        self.sure = self.unknown = 0
        self.is_over = threading.Event()
        self.last = time.monotonic()
        self.longest = 0.0
        self.start()

    def run(self):
        while not self.is_over.is_set():
            with contextlib.suppress(OSError), Client(self.endpoint) as db:
                while not self.is_over.is_set():
                    self.add(db)

    def add(self, db):
        self.unknown += 1
        try:
            db.UpdateItem(TableName=self.table, Key=item(pk=self.pk), UpdateExpression="ADD n :one", ExpressionAttributeValues=values(one=1))
        except Refused as error:
            assert error.status == 500, error
            return
        self.unknown, self.sure = self.unknown - 1, self.sure + 1
        self.longest, self.last = max(self.longest, time.monotonic() - self.last), time.monotonic()


def fail_over(machines, server, table, number):
    """The leader's machine ends under load; gives the new leader."""
    leader = next(machine for machine in machines if machine.leads())
    other = next(machine for machine in machines if machine is not leader)
    poll(leader.is_synchronous, 90, "the leader has a synchronous standby", 0.2)
    workers = [Counting(server.endpoint, table, f"{number}-{each}") for each in range(COUNTERS)]
    poll(lambda: all(worker.sure > 50 for worker in workers), 60, "clients are at work", 0.05)
    leader.end()
    poll(other.leads, 90, "the other one leads", 0.2)
    before = [worker.sure for worker in workers]
    poll(lambda: all(worker.sure > count + 50 for worker, count in zip(workers, before)), 60, "clients are at work again", 0.05)
    for worker in workers:
        worker.is_over.set()
        worker.join()
    with Client(server.endpoint) as db:
        for worker in workers:
            n = plain(db.GetItem(TableName=table, Key=item(pk=worker.pk), ConsistentRead=True)["Item"])["n"]
            assert worker.sure <= n <= worker.sure + worker.unknown, f"{worker.pk} is {n}, not in {worker.sure} + {worker.unknown}"
    print(f"failover {number}: {sum(worker.sure for worker in workers)} acknowledged, all there; "
          f"{max(worker.longest for worker in workers):.1f} s without an answer", flush=True)
    leader.run()  # its machine is back


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--failovers", type=int, default=2)
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gramme-patroni-"))
    folder.chmod(0o700)
    if os.getuid() == 0:
        shutil.chown(folder, pwd.getpwnam("postgres").pw_uid, pwd.getpwnam("postgres").pw_gid)
    etcd = Etcd(folder)
    processes = [etcd]
    try:
        machines = [Machine(folder, name, etcd) for name in ("db1", "db2")]
        processes += machines
        poll(lambda: any(machine.leads() for machine in machines), 90, "one leads", 0.2)
        leader = next(machine for machine in machines if machine.leads())
        for statement in block_with("CREATE DATABASE gramme").replace("'...'", "'secret'").strip().splitlines():
            leader.sql(statement)
        hosts = ",".join(f"127.0.0.1:{machine.port}" for machine in machines)
        with Server(f"postgresql://gramme:secret@{hosts}/gramme") as server:
            with Client(server.endpoint) as db:
                table = create_table(db)
            for number in range(1, options.failovers + 1):
                fail_over(machines, server, table, number)
        print(f"{options.failovers} passed, 0 failed")
    finally:
        for process in processes:
            process.end()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
