"""Backups and restores under a load of writes with transactions, and SIGKILL at random points: each restored table is what a
replay of the acknowledged writes gives (tests/support/recovery_load.py). GRAMME_KILLS and GRAMME_ROUNDS make it longer."""

import contextlib
import os
import re
import time

import pytest

import recovery_load
from loopback import free_port
from recovery_load import LOST
from server import Server
from waiting import poll
from wire import Client

KILLS = int(os.environ.get("GRAMME_KILLS", "6"))
ROUNDS = int(os.environ.get("GRAMME_ROUNDS", "20"))


class Run(recovery_load.Run):
    def __init__(self, store):
        self.store = store
        self.server = Server(store, "--recovery-lag-ms", "0", port=free_port())  # restarts are at the same port
        super().__init__()

    def connect(self):
        return Client(self.server.endpoint)

    def restart(self):
        self.server.kill()
        self.server = Server(self.store, "--recovery-lag-ms", "0", port=self.server.port)

    def end(self):
        super().end()
        self.server.stop()


@pytest.fixture
def run(tmp_path):
    if "GRAMME_ENDPOINT" in os.environ:
        pytest.skip("needs a server of its own")
    started = Run(f"rocksdb:{tmp_path / 'store'}")
    yield started
    started.abandon()
    if started.server.process.poll() is None:
        started.server.kill()


def test_under_load(run):
    run.begin()
    with run.connect() as db:
        for _ in range(ROUNDS):
            run.back_up(db)
            run.settle(db)
            run.restore_backup(db)
            run.restore_second(db)
    assert len(run.restored) == 2 * ROUNDS
    run.end()


def test_killed(run):
    run.begin()
    for number in range(KILLS):
        with contextlib.suppress(*LOST), run.connect() as db:
            for action in run.random.sample([run.back_up, run.restore_backup, run.restore_second], 2):
                action(db)
        time.sleep(run.random.choice([0, 0.002, 0.01, 0.05]))  # a point of the work, whichever
        run.restart()
        if number % 3 == 2:
            with run.connect() as db:
                run.settle(db)
    run.end()


def kill_while_copying(run, start):
    """Starts a restore and kills the server when some of the items are copied. Whether the restore then continued behind its start."""
    with run.connect() as db:
        start(db)
        name = run.restored[-1][0]
        def is_copying():
            table = db.DescribeTable(TableName=name)["Table"]
            return table["TableStatus"] == "ACTIVE" or table["ItemCount"] > 2 * 1024  # more than a chunk
        poll(is_copying, 30, "a part is copied", pause=0)
    run.restart()
    with run.connect() as db:
        run.settle(db)
    shares = [int(share) for share in re.findall(rf"table {name}: continues at (\d+) %", run.server.log())]
    return any(0 < share < 100 for share in shares)


@pytest.mark.parametrize("kind", ["restore_backup", "restore_second"])
def test_killed_while_it_copies(run, kind):
    """The restore goes on from its cursor, while items on both sides of it change."""
    run.begin()
    resumed = sum(kill_while_copying(run, getattr(run, kind)) for _ in range(max(KILLS // 2, 3)))
    for _ in range(12):  # a restore may end before it is seen
        if resumed > 0:
            break
        resumed += kill_while_copying(run, getattr(run, kind))
    assert resumed > 0, "no kill came between the first and the last chunk"
    run.end()
