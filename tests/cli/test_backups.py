"""Backups, point-in-time recovery and restores by the AWS CLI; `gramme backup` and `gramme restore` of tables; progress bars."""

import math
import re
import shlex
import subprocess
import time

import pytest

from backups import everything, set_recovery, wait_recovery
from loads import json_lines
from server import Server, on_postgresql, program
from tables import create_table, put_all, unique_name
from terminal import Terminal
from values import item
from waiting import poll
from wire import Client

ITEMS = [item(pk=f"p{i}", sk=i, g=f"g{i % 3}") for i in range(50)]
MANY = 100_000


@pytest.fixture(scope="module")
def server():
    with Server("memory:", "--recovery-lag-ms", "0") as started:
        yield started


@pytest.fixture(scope="module")
def own(server, make_cli):
    return make_cli(server.endpoint)


@pytest.fixture
def db(server):
    with Client(server.endpoint) as client:
        yield client


@pytest.fixture
def table(db):
    name = create_table(db, key="pk sk:N", gsi={"by-g": "g"})
    put_all(db, name, ITEMS)
    return name


# --- the AWS CLI ---


def test_aws_cli_backups(own, db, table):
    made = own.run(f"aws dynamodb create-backup --table-name {table} --backup-name cli")["BackupDetails"]
    arn = made["BackupArn"]
    describe = f"aws dynamodb describe-backup --backup-arn {arn}"
    poll(lambda: own.run(describe)["BackupDescription"]["BackupDetails"]["BackupStatus"] == "AVAILABLE", 30, "the backup is available")
    assert own.run(describe)["BackupDescription"]["SourceTableDetails"]["ItemCount"] == len(ITEMS)
    listed = own.run(f"aws dynamodb list-backups --table-name {table} --backup-type USER")["BackupSummaries"]
    assert [(entry["BackupArn"], entry["BackupName"]) for entry in listed] == [(arn, "cli")]
    before = everything(db, table)
    db.DeleteItem(TableName=table, Key=item(pk="p1", sk=1))
    restored = own.run(f"aws dynamodb restore-table-from-backup --target-table-name {table}-restored --backup-arn {arn}")
    assert restored["TableDescription"]["RestoreSummary"]["RestoreInProgress"] is True
    own.run(f"aws dynamodb wait table-exists --table-name {table}-restored")
    assert everything(db, f"{table}-restored") == before
    own.fail(f"aws dynamodb restore-table-from-backup --target-table-name {table} --backup-arn {arn}", "TableAlreadyExistsException")
    assert own.run(f"aws dynamodb delete-backup --backup-arn {arn}")["BackupDescription"]["BackupDetails"]["BackupStatus"] == "DELETED"
    own.fail(describe, "BackupNotFoundException")
    own.fail("aws dynamodb create-backup --table-name nowhere --backup-name cli", "TableNotFoundException")


def test_aws_cli_recovery(own, db, table):
    describe = f"aws dynamodb describe-continuous-backups --table-name {table}"
    def window():
        found = own.run(describe)["ContinuousBackupsDescription"]
        assert found["ContinuousBackupsStatus"] == "ENABLED"
        return found["PointInTimeRecoveryDescription"]
    assert window() == {"PointInTimeRecoveryStatus": "DISABLED"}
    command = f"aws dynamodb restore-table-to-point-in-time --source-table-name {table} --target-table-name {table}-restored"
    own.fail(f"{command} --use-latest-restorable-time", "PointInTimeRecoveryUnavailableException")
    own.run(f"aws dynamodb update-continuous-backups --table-name {table} "
            "--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true")
    assert window()["PointInTimeRecoveryStatus"] == "ENABLED"
    own.fail(f"{command} --restore-date-time 1000000000", "InvalidRestoreTimeException")
    before = everything(db, table)
    own.run(f"{command} --use-latest-restorable-time")
    own.run(f"aws dynamodb wait table-exists --table-name {table}-restored")
    assert everything(db, f"{table}-restored") == before


# --- gramme backup, gramme restore ---


def gramme(server, command, *arguments, status=0):
    url = ["--url", server if isinstance(server, str) else server.endpoint]
    done = subprocess.run([program(), command, *url, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done
    return done.stdout if status == 0 else done.stderr


def test_backup_and_restore(server, db, table):
    before = everything(db, table)
    arn = gramme(server, "backup", "--table", table, "--name", "first").strip()
    assert re.fullmatch(rf"arn:aws:dynamodb:us-east-1:000000000000:table/{table}/backup/\d{{14}}-[0-9a-f]{{8}}", arn)
    db.DeleteItem(TableName=table, Key=item(pk="p1", sk=1))
    assert gramme(server, "restore", "--backup", arn, "--as", f"{table}-new") == f"50 items restored to {table}-new\n"
    assert everything(db, f"{table}-new") == before
    gramme(server, "backup", "--table", table)
    lines = gramme(server, "backup", "--list", "--table", table).splitlines()
    assert len(lines) == 2 and re.fullmatch(rf"\S+Z  AVAILABLE  USER  {table}  first  {re.escape(arn)}", lines[0])
    assert re.fullmatch(rf"\S+Z  AVAILABLE  USER  {table}  {table}-\d{{8}}-\d{{6}}  \S+", lines[1])
    assert arn in gramme(server, "backup", "--list")


def test_list_of_several_pages(server, db):
    name = create_table(db)
    for i in range(105):
        db.CreateBackup(TableName=name, BackupName=f"backup-{i}")
    assert len(gramme(server, "backup", "--list", "--table", name).splitlines()) == 105


def test_restore_to_a_time(server, db, table):
    set_recovery(db, table, True)
    first = everything(db, table)
    poll(lambda: time.time() % 1 < 0.2, 2, "the start of a second")
    second = int(time.time())
    poll(lambda: time.time() >= second + 1.3, 5, "the second is over, and can be restored")
    put_all(db, table, [item(pk="later", sk=i) for i in range(3)])
    text = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second + 1))
    for number, (when, wanted) in enumerate([(text, first), (text.replace("T", " ")[:-1], first), (str(second + 1), first),
                                             ("latest", everything(db, table))]):
        name = f"{table}-{number}"
        gramme(server, "restore", "--table", table, "--to", when, "--as", name)
        assert everything(db, name) == wanted, when
    assert "InvalidRestoreTimeException" in gramme(server, "restore", "--table", table, "--to", "2001-01-01T00:00:00Z", "--as", "old", status=1)


def test_store_that_nobody_has_open(tmp_path):
    store = on_postgresql(f"rocksdb:{tmp_path}/store")
    with Server(store) as server, Client(server.endpoint) as db:
        table = create_table(db, key="pk sk:N", gsi={"by-g": "g"})
        put_all(db, table, ITEMS)
        before = everything(db, table)
    arn = gramme(store, "backup", "--table", table).strip()
    assert gramme(store, "restore", "--backup", arn, "--as", "restored") == "50 items restored to restored\n"
    assert arn in gramme(store, "backup", "--list")
    with Server(store) as server, Client(server.endpoint) as db:
        assert everything(db, "restored") == before


def test_restore_to_a_time_from_a_store_that_nobody_has_open(tmp_path):
    store = on_postgresql(f"rocksdb:{tmp_path}/store")
    with Server(store, "--recovery-lag-ms", "0") as server, Client(server.endpoint) as db:
        table = create_table(db, key="pk sk:N", gsi={"by-g": "g"})
        set_recovery(db, table, True)
        wait_recovery(db, table)
        put_all(db, table, ITEMS)
        second = math.ceil(time.time())
        poll(lambda: time.time() > second + 0.01, 5, "the next second")
        first = everything(db, table)
        db.DeleteItem(TableName=table, Key=item(pk="p1", sk=1))
        last = everything(db, table)
        time_of_last = time.time()
    poll(lambda: time.time() > time_of_last + 1.1, 5, "the last write can be restored: --recovery-lag-ms")
    assert gramme(store, "restore", "--table", table, "--to", str(second), "--as", "first") == "50 items restored to first\n"
    assert gramme(store, "restore", "--table", table, "--to", "latest", "--as", "last") == "49 items restored to last\n"
    assert "InvalidRestoreTimeException" in gramme(store, "restore", "--table", table, "--to", "2001-01-01T00:00:00Z", "--as", "old", status=1)
    with Server(store) as server, Client(server.endpoint) as db:
        assert (everything(db, "first"), everything(db, "last")) == (first, last)


@pytest.mark.parametrize("command, arguments", [
    ("backup", ["--table"]), ("backup", ["--table", "t", "word"]), ("backup", ["--list", "--name", "n"]),
    ("backup", ["--table", "t", "--rate-mb", "1"]), ("restore", ["--as", "t"]), ("restore", ["--backup", "a"]),
    ("restore", ["--backup", "a", "--table", "t", "--to", "latest", "--as", "n"]), ("restore", ["--table", "t", "--as", "n"]),
    ("restore", ["--backup", "a", "--to", "latest", "--as", "n"]), ("restore", ["--table", "t", "--to", "noon", "--as", "n"]),
    ("restore", ["--table", "t", "--to", "2026-11-18T07:30:00+01:00", "--as", "n"])], ids=str)
def test_arguments(server, command, arguments):
    assert gramme(server, command, *arguments, status=2).startswith(f"gramme {command}: ")


def test_errors(server, db, table):
    assert "TableNotFoundException: Table not found: nowhere" in gramme(server, "backup", "--table", "nowhere", status=1)
    assert "not found" in gramme(server, "restore", "--table", "nowhere", "--to", "latest", "--as", "new", status=1)
    assert "PointInTimeRecoveryUnavailableException" in gramme(server, "restore", "--table", table, "--to", "latest", "--as", "new", status=1)
    absent = f"arn:aws:dynamodb:us-east-1:000000000000:table/{table}/backup/01489602797149-73d8d5bc"
    assert "BackupNotFoundException" in gramme(server, "restore", "--backup", absent, "--as", "new", status=1)


# --- what goes out comes in again ---


@pytest.mark.parametrize("word", ["typed", "dynamodb-json"])
def test_export_and_import_know_the_same_words(server, db, table, word):
    lines = gramme(server, "export", "--format", word, table)
    copy = create_table(db, key="pk sk:N", gsi={"by-g": "g"})
    done = subprocess.run([program(), "import", "--url", server.endpoint, "--region", "us-east-1", "--format", word, copy],
                          input=lines, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"50 items written to {copy}, 0 errors\n"), done
    assert everything(db, copy) == everything(db, table)


# --- progress ---


def watch(folder, pattern, *command):
    """Runs a command in a terminal to its end; a line of progress must have been there. All output is recorded by script(1): a look at the
    screen might come too late. Gives the last screen."""
    record = folder / "typescript"
    recorded = shlex.join(["script", "-q", "-c", shlex.join([program(), *command]), str(record)])
    with Terminal("sh", "-c", recorded + "; echo over; cat") as terminal:
        screen = terminal.wait_for("over", 120)
    assert re.search(pattern, record.read_text(errors="replace")), record.read_text(errors="replace")
    return screen


@pytest.fixture(scope="module")
def many(server, tmp_path_factory):
    """A file with so many items that a bar is seen."""
    path = tmp_path_factory.mktemp("many") / "many.json"
    path.write_text(json_lines(item(pk=f"p{i}", sk=i, g="g", text="t" * 100) for i in range(MANY)))
    with Client(server.endpoint) as db:
        return path, create_table(db, key="pk sk:N", gsi={"by-g": "g"})


SHARE = r"\[#+ +\]  [1-9]\d? %  "


def test_bars(server, db, many, tmp_path):
    path, table = many
    screen = watch(tmp_path, SHARE + r"\d+ items, \d+ a second, 0 errors", "import", "--url", server.endpoint, table, str(path))
    assert f"{MANY} items written to {table}, 0 errors" in screen and "%" not in screen
    screen = watch(tmp_path, SHARE + r"\d+ items", "export", "--url", server.endpoint, "--output", str(tmp_path / "out"), table)
    assert f"{MANY} items written to" in screen and "%" not in screen
    set_recovery(db, table, True)
    screen = watch(tmp_path, SHARE + r"\d+ items", "restore", "--url", server.endpoint, "--table", table, "--to", "latest", "--as", unique_name())
    assert f"{MANY} items restored to" in screen and "%" not in screen


def test_bars_without_a_share(tmp_path):
    """Before the first item of a restore is copied, part of the bar moves."""
    with Server("memory:", "--table-delay-ms", "2000") as server, Client(server.endpoint) as db:
        name = create_table(db)
        arn = gramme(server, "backup", "--table", name).strip()
        screen = watch(tmp_path, r"\[ *### *\]  0 items", "restore", "--url", server.endpoint, "--backup", arn, "--as", "restored")
        assert "0 items restored to restored" in screen and "[" not in screen
