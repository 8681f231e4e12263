"""`gramme backup` of a running or closed store and `gramme restore`: what was acknowledged before the backup
is in it, a damaged or incomplete backup is refused."""

import pathlib
import signal
import socket
import stat
import subprocess
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from rich_store import SLIM, contents, copy_store, fill, files, gramme, make  # noqa: E402
from server import Server, program  # noqa: E402
from values import item  # noqa: E402
from waiting import poll  # noqa: E402
from wire import Client  # noqa: E402


class Writer(threading.Thread):
    """Puts one item after the other; `acknowledged` is how many were answered."""

    def __init__(self, endpoint):
        super().__init__()
        self.endpoint = endpoint
        self.acknowledged = 0
        self.stopping = False
        self.start()

    def run(self):
        with Client(self.endpoint) as db:
            while not self.stopping:
                db.PutItem(TableName=SLIM, Item=item(pk=f"w{self.acknowledged}", g="w", extra="z" * 500))
                self.acknowledged += 1

    def stop(self):
        self.stopping = True
        self.join()


def restored(backup, directory):
    done = gramme("restore", backup, directory)
    assert done.returncode == 0, done
    check = gramme("check", directory)
    assert check.returncode == 0, check.stdout
    with Server(f"rocksdb:{directory}") as server:
        return contents(server.endpoint)


@pytest.fixture(scope="module")
def backup(tmp_path_factory):
    """(a backup, what is in it)"""
    directory = tmp_path_factory.mktemp("backup")
    make(directory / "store", large=100)
    done = gramme("backup", "--rate-mb", 0, directory / "store", directory / "backup")
    assert done.returncode == 0, done
    with Server(f"rocksdb:{directory / 'store'}") as server:
        return directory / "backup", contents(server.endpoint)


def test_a_closed_store(backup, tmp_path):
    directory, before = backup
    assert gramme("check", directory).returncode == 0
    assert restored(directory, tmp_path / "restored") == before


def test_a_running_store_with_writers(tmp_path):
    server = Server(f"rocksdb:{tmp_path / 'store'}")
    fill(server)
    before = contents(server.endpoint)
    writer = Writer(server.endpoint)
    poll(lambda: writer.acknowledged > 50, 30, "the writer writes")
    acknowledged = writer.acknowledged
    done = gramme("backup", tmp_path / "store", tmp_path / "backup")
    later = writer.acknowledged
    writer.stop()
    assert done.returncode == 0, done
    poll(lambda: not (tmp_path / "store" / "checkpoint").exists(), 30, "the checkpoint is gone with its client")
    server.stop()
    after = restored(tmp_path / "backup", tmp_path / "restored")
    written = {int(row["pk"]["S"][1:]) for row in after[SLIM, None] if row["pk"]["S"].startswith("w")}
    assert set(range(acknowledged)) <= written <= set(range(later + 1))
    assert written == set(range(len(written))), "a later write is there, an earlier one is not"
    for (table, index), rows in before.items():
        assert [row for row in after[table, index] if not row["pk"]["S"].startswith("w")] == rows


def test_the_socket_is_for_the_owner(tmp_path):
    with Server(f"rocksdb:{tmp_path / 'store'}"):
        mode = (tmp_path / "store" / "control.sock").stat().st_mode
        assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600
    assert not (tmp_path / "store" / "control.sock").exists()


def talk(directory, *pieces):
    """A connection to the control socket that has sent this."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(30)
    connection.connect(str(directory / "control.sock"))
    for piece in pieces:
        connection.sendall(piece)
    return connection


def test_requests_that_are_not_understood(tmp_path):
    with Server(f"rocksdb:{tmp_path}"):
        for request in (b"nonsense\n", b"x" * 64, b"checkpoint\ncheckpoint\n"):
            with talk(tmp_path, request) as connection:
                assert b"error " in connection.recv(1000)
        with talk(tmp_path, b"check", b"point\n") as connection:
            assert connection.recv(1000).startswith(b"ok ")
            with talk(tmp_path) as second:
                assert b"another backup is under way" in second.recv(1000)
        poll(lambda: not (tmp_path / "checkpoint").exists(), 30, "the checkpoint is gone with its client")


def test_a_checkpoint_of_a_killed_server_goes(tmp_path):
    server = Server(f"rocksdb:{tmp_path}")
    with talk(tmp_path, b"checkpoint\n") as connection:
        assert connection.recv(1000).startswith(b"ok ")
        server.kill()
    assert (tmp_path / "checkpoint").exists()
    with Server(f"rocksdb:{tmp_path}"):
        assert not (tmp_path / "checkpoint").exists()


def test_a_killed_backup_is_none(tmp_path):
    server = Server(f"rocksdb:{tmp_path / 'store'}")
    fill(server, large=100)
    process = subprocess.Popen([program(), "backup", "--rate-mb", "1", str(tmp_path / "store"), str(tmp_path / "backup")])
    poll(lambda: any((tmp_path / "backup").glob("*.sst")), 30, "the backup has begun")
    process.send_signal(signal.SIGKILL)
    process.wait()
    poll(lambda: not (tmp_path / "store" / "checkpoint").exists(), 30, "the server deletes the checkpoint")
    server.stop()
    done = gramme("restore", tmp_path / "backup", tmp_path / "restored")
    assert done.returncode == 2 and "no complete backup" in done.stderr
    assert not (tmp_path / "restored").exists()


def flip(path, offset=-1):
    content = bytearray(path.read_bytes())
    content[offset if offset >= 0 else len(content) // 2] ^= 4
    path.write_bytes(content)


def test_damage_is_noticed(backup, tmp_path):
    """Of each file in turn: a flipped bit, a missing file."""
    for number, path in enumerate(sorted(backup[0].iterdir())):
        for kind in ("flip", "delete"):
            copy = copy_store(backup[0], tmp_path / f"{number}-{kind}")
            if kind == "flip":
                flip(copy / path.name)
            else:
                (copy / path.name).unlink()
            target = tmp_path / f"{number}-{kind}-restored"
            done = gramme("restore", copy, target)
            if path.name.startswith("BACKUP"):
                assert done.returncode == 0, done
                continue
            assert gramme("check", copy).returncode == 1
            assert done.returncode == 2 and path.name in done.stderr
            refused = gramme("serve", "--listen", "127.0.0.1:0", "--store", f"rocksdb:{target}")
            assert refused.returncode == 1 and "has not completed" in refused.stdout + refused.stderr


def test_both_manifests_are_damaged(backup, tmp_path):
    copy = copy_store(backup[0], tmp_path / "copy")
    flip(copy / "BACKUP")
    flip(copy / "BACKUP.copy", 20)
    done = gramme("restore", copy, tmp_path / "restored")
    assert done.returncode == 2 and "damaged" in done.stderr
    assert gramme("check", copy).returncode == 1


def test_a_backup_of_damaged_sst_files_says_so(backup, tmp_path):
    directory = make(tmp_path / "store", large=100)
    sst = next(iter(directory.glob("*.sst")))
    flip(sst, 30000)
    done = gramme("backup", directory, tmp_path / "backup")
    assert done.returncode == 1 and sst.name in done.stdout and "damaged blocks" in done.stdout, done


def test_targets_and_arguments(backup, tmp_path):
    before = files(tmp_path)
    assert gramme("backup", tmp_path, tmp_path / "x").returncode == 2
    assert gramme("backup", tmp_path / "missing", tmp_path / "x").returncode == 2
    assert gramme("backup", tmp_path).returncode == 2
    assert gramme("restore", tmp_path, tmp_path / "x").returncode == 2
    assert gramme("restore", "--rate-mb", "-1", backup[0], tmp_path / "x").returncode == 2
    assert files(tmp_path) == before
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").write_text("")
    assert "not empty" in gramme("restore", backup[0], tmp_path / "used").stderr
    assert "not empty" in gramme("backup", make(tmp_path / "store"), tmp_path / "used").stderr
    assert [path.name for path in (tmp_path / "used").iterdir()] == ["file"]


@pytest.mark.parametrize("command", ["backup", "repair"])
def test_passwords_of_urls_are_not_printed(tmp_path, command):
    """Also not where a URL, mistyped, would be a path in the directory of the store."""
    directory = make(tmp_path / "store")
    for url in ("postgresql://gramme:secret@127.0.0.1/gramme", "postgresql:gramme:secret@127.0.0.1"):
        done = subprocess.run([program(), command, ".", url], cwd=directory, capture_output=True, text=True, timeout=60)
        assert done.returncode != 0 and "pg_dump" in done.stderr and "secret" not in done.stderr + done.stdout, done
