"""Backups and restores to seconds on three servers that share one PostgreSQL, under a load of writes, while one is killed: each
restored table is what a replay of the acknowledged writes gives (tests/support/recovery_load.py). Exports and restores that need a
damaged page of PostgreSQL fail."""

import os
import random

import pytest

import postgresql
import recovery_load
from backups import create_backup, set_recovery, wait_recovery
from exports import table_arn, wait_export
from server import Server
from tables import create_table, put_all
from values import item
from waiting import poll
from wire import Client

SERVERS, ROUNDS = 3, 3


@pytest.fixture(scope="module")
def database():
    with postgresql.Cluster() as cluster:
        yield cluster


class Run(recovery_load.Run):
    """Each client uses one of the servers that live. The first one started carries out backups and restores. The list of servers is
    replaced, not changed, because writers choose from it."""

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
        killed, *self.servers = self.servers
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


def described(db, name):
    return db.DescribeTable(TableName=name)["Table"]


def begin_restore(run):
    """Whether a restore is seen that has copied a part: it may be over too early."""
    with run.connect() as db:
        run.settle(db)
        run.restore_second(db)
    with Client(run.servers[-1].endpoint) as db:
        name = run.restored[-1][0]
        table = poll(lambda: (table := described(db, name))["ItemCount"] > 0 and table, 30, "a part is copied", pause=0)
        return table["TableStatus"] == "CREATING"


def test_restores_under_load_while_a_server_is_killed(run):
    run.begin()
    some_rounds(run)
    attempts = next(number for number in range(1, 11) if begin_restore(run))
    run.kill_first()
    some_rounds(run)
    assert len(run.restored) == 4 * ROUNDS + attempts
    run.end()


def damage_page(database, name, text):
    """Overwrites the header of the page that holds the row with a text, while PostgreSQL is stopped."""
    block = int(database.sql(f"SELECT (ctid::text::point)[0]::int FROM gramme.kv WHERE position('{text}'::bytea IN v) > 0 LIMIT 1", name))
    path = database.data / database.sql("SELECT pg_relation_filepath('gramme.kv')", name)
    database.sql("CHECKPOINT")
    database.stop()
    with open(path, "r+b") as file:
        file.seek(8192 * block + 8)
        file.write(b"\xff" * 16)
    database.start()


def test_exports_and_restores_that_need_a_damaged_page_fail(tmp_path):
    with postgresql.Cluster() as database:
        name = f"d{os.urandom(6).hex()}"
        options = (database.create_database(name), "--recovery-lag-ms", "0", "--s3-directory", str(tmp_path))
        with Server(*options) as server, Client(server.endpoint) as db:
            table = create_table(db)
            set_recovery(db, table, True)
            wait_recovery(db, table)
            put_all(db, table, [item(pk=f"item {number}", text=random.randbytes(500).hex()) for number in range(1500)])
            arn = create_backup(db, table)
        damage_page(database, name, "item 700")
        server = Server(*options)
        try:
            with Client(server.endpoint) as db:
                export = db.ExportTableToPointInTime(TableArn=table_arn(db, table), S3Bucket="bucket")["ExportDescription"]["ExportArn"]
                db.RestoreTableFromBackup(TargetTableName="restored", BackupArn=arn)
                failed = wait_export(db, export, 120)
                assert (failed["ExportStatus"], failed["FailureCode"]) == ("FAILED", "InternalError"), failed
                poll(lambda: "restored" not in db.ListTables()["TableNames"], 120, "the table of the restore is deleted")
                db.DeleteBackup(BackupArn=arn)
            assert "table restored: failed, and the table is deleted" in server.log()
        finally:  # the log tells of the damage, so stop() does not fit
            server.process.terminate()
            server.process.wait(60)
            server.log_path.unlink()
