"""Backups and restores to seconds on three servers that share one PostgreSQL, under a load of writes, while one is killed: each
restored table is what a replay of the acknowledged writes gives (tests/support/recovery_load.py)."""

import os
import random

import pytest

import postgresql
import recovery_load
from server import Server
from waiting import poll
from wire import Client

SERVERS, ROUNDS = 3, 3


@pytest.fixture(scope="module")
def database():
    with postgresql.Cluster() as cluster:
        yield cluster


class Run(recovery_load.Run):
    """Each client uses one of the servers that live. The first one started carries out backups and restores."""

    def __init__(self, database):
        self.database, self.chance = database, random.Random(21)
        url = database.create_database(f"b{os.urandom(6).hex()}")
        self.servers = [Server(f"{url}?application_name=server{number}", "--recovery-lag-ms", "0") for number in range(SERVERS)]
        super().__init__()

    def connect(self):
        return Client(self.chance.choice(self.servers).endpoint)

    def connections_of_first(self):
        return int(self.database.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'server0'"))

    def kill_first(self):
        assert self.connections_of_first() > 0
        killed = self.servers.pop(0)
        killed.kill()

    def wait_for_losses(self):
        poll(lambda: self.connections_of_first() == 0, 60, "PostgreSQL has ended the killed server's transactions")

    def stop(self):
        self.abandon()
        for server in self.servers:
            if server.process.poll() is None:
                server.stop()


@pytest.fixture
def run(database):
    started = Run(database)
    yield started
    started.stop()


def some_rounds(run):
    for _ in range(ROUNDS):
        with run.connect() as db:
            run.back_up(db)
            run.settle(db)
            run.restore_backup(db)
            run.restore_second(db)


def is_copying(db, name):
    table = db.DescribeTable(TableName=name)["Table"]
    return table["TableStatus"] == "ACTIVE" or table["ItemCount"] > 0


def test_restores_under_load_while_a_server_is_killed(run):
    run.begin()
    some_rounds(run)
    with run.connect() as db:
        run.settle(db)
        run.restore_second(db)
    with Client(run.servers[-1].endpoint) as db:
        name = run.restored[-1][0]
        poll(lambda: is_copying(db, name), 30, "a part is copied", pause=0)
    run.kill_first()
    some_rounds(run)
    assert len(run.restored) == 4 * ROUNDS + 1
    run.end()
