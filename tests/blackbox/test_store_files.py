"""What a server does with the files of its store: it upgrades older ones, refuses damaged or foreign ones
with a message and changes nothing then, and never serves less than was acknowledged."""

import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tarfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from rich_store import copy_store  # noqa: E402
from server import Server, program  # noqa: E402
from tables import create_table  # noqa: E402
from values import item  # noqa: E402
from wire import Client  # noqa: E402

DATA = pathlib.Path(__file__).resolve().parent / "data"
ITEMS = 40


def numbers_of(server, table):
    with Client(server.endpoint) as db:
        return sorted(int(row["number"]["N"]) for row in db.Scan(TableName=table)["Items"])


def put(server, table, numbers):
    with Client(server.endpoint) as db:
        for number in numbers:
            db.PutItem(TableName=table, Item=item(pk=f"item-{number}", number=number))


def refusal(directory):
    """Starts a server that must end by itself; gives what it said."""
    done = subprocess.run([program(), "serve", "--listen", "127.0.0.1:0", "--store", f"rocksdb:{directory}"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode not in (0, -6, -11), done
    return done.stderr + done.stdout


def snapshot(directory):
    """Names and bytes of all files but the lock and RocksDB's LOG files."""
    return {path.name: path.read_bytes() for path in directory.iterdir()
            if path.is_file() and path.name != "STORE.lock" and not path.name.startswith("LOG")}


@pytest.fixture(params=["closed", "killed"])
def store(request, tmp_path):
    """A store of ITEMS items in table Table, whose server was closed or killed."""
    directory = tmp_path / "store"
    server = Server(f"rocksdb:{directory}")
    with Client(server.endpoint) as db:
        create_table(db, name="Table")
    put(server, "Table", range(ITEMS))
    if request.param == "closed":
        server.stop()
    else:
        server.kill()
    return directory


@pytest.mark.parametrize("sample", ["format3", "format3-new"])
def test_a_store_of_format_3_is_upgraded(tmp_path, sample):
    """Samples that a server of that format left: one started twenty times, with tables; one killed in its first
    life, whose seed is in RocksDB's log only. Both lost item 0 to a DeleteItem."""
    directory = tmp_path / "store"
    with tarfile.open(DATA / f"{sample}.tar.gz") as archive:
        archive.extractall(directory)
    server = Server(f"rocksdb:{directory}")
    assert numbers_of(server, "Old") == list(range(1, 60))
    assert server.log().count("was upgraded from format 3 to 5") == 1
    put(server, "Old", [60])
    server.kill()
    assert not list(directory.glob("*.journal"))
    assert (directory / "STORE").exists()
    with Server(f"rocksdb:{directory}") as server:
        assert "upgraded" not in server.log()
        assert numbers_of(server, "Old") == list(range(1, 61))


@pytest.mark.parametrize("sample", ["format4", "format4-killed"])
def test_a_store_of_format_4_is_upgraded(tmp_path, sample):
    """Samples with a stream and an index. The upgrade is logged once; then the store has backups like any other."""
    directory = tmp_path / "store"
    with tarfile.open(DATA / f"{sample}.tar.gz") as archive:
        archive.extractall(directory)
    assert subprocess.run([program(), "check", directory], stdout=subprocess.DEVNULL, timeout=60).returncode == 0
    server = Server(f"rocksdb:{directory}")
    assert numbers_of(server, "Old") == list(range(1, 60))
    assert server.log().count("was upgraded from format 4 to 5") == 1
    with Client(server.endpoint) as db:
        arn = db.CreateBackup(TableName="Old", BackupName="first")["BackupDetails"]["BackupArn"]
    server.kill()
    assert (directory / "STORE").read_bytes() == (directory / "STORE.copy").read_bytes()
    with Server(f"rocksdb:{directory}") as server, Client(server.endpoint) as db:
        assert "upgraded" not in server.log()
        assert db.DescribeBackup(BackupArn=arn)["BackupDescription"]["SourceTableDetails"]["ItemCount"] == 59
        assert db.Scan(TableName="Old", IndexName="by-number")["Count"] == 59


def test_an_interrupted_upgrade_goes_on(tmp_path):
    """The old log is still there, because the process ended before it was deleted."""
    directory = tmp_path / "store"
    with tarfile.open(DATA / "format3.tar.gz") as archive:
        archive.extractall(directory)
    journals = {path.name: path.read_bytes() for path in directory.glob("*.journal")}
    Server(f"rocksdb:{directory}").stop()
    for name, content in journals.items():
        (directory / name).write_bytes(content)
    with Server(f"rocksdb:{directory}") as server:
        assert numbers_of(server, "Old") == list(range(1, 60))


@pytest.mark.parametrize("place", [5, 4096 + 3, 4096 * 7 + 20, 4096 * 12 + 33, 4096 * 30 + 100, 4096 * 41 + 60])
def test_flipped_bits_in_the_log_lose_nothing(store, place):
    """In the segment's header, in headers of records, in a record in the middle, in the last one."""
    segment = max(store.glob("*.wal"))
    content = bytearray(segment.read_bytes())
    content[place] ^= 4
    segment.write_bytes(content)
    server = Server(f"rocksdb:{store}")
    assert numbers_of(server, "Table") == list(range(ITEMS))
    assert "a flipped bit" in server.log()
    server.stop()


def run_printed_repair(said):
    """Runs the command that a refusal names; the new store must be good. Gives its directory."""
    command = re.search("`gramme (repair [^`]+)`", said)[1].split()
    done = subprocess.run([program(), *command], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1), done
    assert subprocess.run([program(), "check", command[-1]], stdout=subprocess.DEVNULL, timeout=60).returncode == 0
    return command[-1]


def test_the_printed_command_repairs(store):
    for name in ("STORE", "STORE.copy"):
        (store / name).write_bytes(b"x" * 64)
    with Server(f"rocksdb:{run_printed_repair(refusal(f'{store}/'))}") as server:
        assert numbers_of(server, "Table") == list(range(ITEMS))


def test_the_newest_segment_is_missed(store):
    max(store.glob("*.wal")).unlink()
    before = snapshot(store)
    said = refusal(store)
    assert "the segment is missing" in said
    assert snapshot(store) == before
    run_printed_repair(said)


def test_a_bad_sector_in_the_log_is_refused(store):
    segment = max(store.glob("*.wal"))
    content = bytearray(segment.read_bytes())
    content[4096 * 20:4096 * 20 + 512] = b"\x55" * 512
    segment.write_bytes(content)
    before = snapshot(store)
    said = refusal(store)
    assert "damaged" in said and segment.name in said and "gramme check" in said
    assert snapshot(store) == before


def test_a_truncated_segment_is_refused(store):
    segment = max(store.glob("*.wal"))
    with open(segment, "r+b") as file:
        file.truncate(4096 * 20)
    before = snapshot(store)
    assert "truncated" in refusal(store)
    assert snapshot(store) == before


def test_every_deleted_file_is_missed_or_not_needed(store, tmp_path):
    """RocksDB's own log is not needed: ours holds what is in it."""
    names = list(snapshot(store))
    assert any(name.endswith(".log") for name in names)
    for name in names:
        copy = copy_store(store, tmp_path / "copy")
        (copy / name).unlink()
        if name in ("CURRENT", "wal.state") or name.startswith("MANIFEST-") or name.endswith((".wal", ".sst")):
            before = snapshot(copy)
            assert "gramme repair" in refusal(copy), name
            assert snapshot(copy) == before, name
        else:
            server = Server(f"rocksdb:{copy}")
            assert numbers_of(server, "Table") == list(range(ITEMS)), name
            server.kill()
        shutil.rmtree(copy)


@pytest.mark.parametrize("end", ["closed", "killed"])
def test_a_missing_or_short_sst_file_is_refused(tmp_path, end):
    """A repair writes all rows to SST files; the new store is opened, and closed or killed."""
    first, flushed = tmp_path / "first", tmp_path / "flushed"
    with Server(f"rocksdb:{first}") as server:
        with Client(server.endpoint) as db:
            create_table(db, name="Table")
        put(server, "Table", range(ITEMS))
    subprocess.run([program(), "repair", first, flushed], check=True, capture_output=True, timeout=60)
    server = Server(f"rocksdb:{flushed}")
    assert numbers_of(server, "Table") == list(range(ITEMS))
    server.stop() if end == "closed" else server.kill()
    names = [path.name for path in flushed.glob("*.sst")]
    assert names
    for name in names:
        for is_deleted in (True, False):
            copy = copy_store(flushed, tmp_path / "copy")
            if is_deleted:
                (copy / name).unlink()
            else:
                (copy / name).write_bytes((copy / name).read_bytes()[:-100])
            before = snapshot(copy)
            assert "gramme repair" in refusal(copy), (name, is_deleted)
            assert snapshot(copy) == before, (name, is_deleted)
            shutil.rmtree(copy)


def test_nothing_is_deleted_if_current_is_missing(store):
    (store / "CURRENT").unlink()
    before = snapshot(store)
    assert "CURRENT" in refusal(store)
    assert snapshot(store) == before


def test_a_damaged_manifest_is_refused(store):
    manifest = next(store.glob("MANIFEST-*"))
    content = bytearray(manifest.read_bytes())
    content[20] ^= 1
    manifest.write_bytes(content)
    before = snapshot(store)
    assert "damaged" in refusal(store)
    assert snapshot(store) == before


@pytest.mark.parametrize("name", ["STORE", "STORE.copy", "wal.state"])
def test_one_copy_is_enough(store, name):
    """A bad sector in either copy of the identity, or in the first copy of the log's state."""
    path = store / name
    content = bytearray(path.read_bytes())
    content[:64] = b"\x55" * 64
    path.write_bytes(content)
    server = Server(f"rocksdb:{store}")
    assert numbers_of(server, "Table") == list(range(ITEMS))
    server.kill()
    with Server(f"rocksdb:{store}") as server:
        assert numbers_of(server, "Table") == list(range(ITEMS))


def test_without_an_identity_it_is_refused(store):
    for name in ("STORE", "STORE.copy"):
        (store / name).unlink()
    before = snapshot(store)
    assert "STORE and STORE.copy are missing" in refusal(store)
    assert snapshot(store) == before


@pytest.mark.parametrize("command", ["backup", "repair"])
def test_a_copy_is_not_made_inside_its_store(store, command):
    before = snapshot(store)
    for target in (store / "copy", store / "checkpoint", store):
        done = subprocess.run([program(), command, store, target], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "is in the directory of the store" in done.stderr, done
        assert target == store or not target.exists()
    assert snapshot(store) == before


def test_foreign_directories_are_left_alone(tmp_path):
    directory = tmp_path / "photos"
    directory.mkdir()
    (directory / "cat.jpg").write_bytes(b"cat")
    assert "is not empty and holds no store" in refusal(directory)
    assert [path.name for path in directory.iterdir()] == ["cat.jpg"]


def test_an_empty_directory_becomes_a_store(tmp_path):
    directory = tmp_path / "disk"
    (directory / "lost+found").mkdir(parents=True)
    with Server(f"rocksdb:{directory}") as server:
        with Client(server.endpoint) as db:
            create_table(db, name="Table")
        put(server, "Table", [1])
    with Server(f"rocksdb:{directory}") as server:
        assert numbers_of(server, "Table") == [1]


def test_an_interrupted_creation_goes_on(tmp_path):
    """STORE.new says that whatever else is there belongs to a store that never took a write."""
    directory = tmp_path / "store"
    Server(f"rocksdb:{directory}").stop()
    for name in ("STORE", "STORE.copy", "wal.state"):
        (directory / name).unlink()
    (directory / "STORE.new").touch()
    with Server(f"rocksdb:{directory}") as server:
        with Client(server.endpoint) as db:
            create_table(db, name="Table")
    assert not (directory / "STORE.new").exists()


def test_a_new_store_is_private(tmp_path):
    directory = tmp_path / "store"
    with Server(f"rocksdb:{directory}") as server:
        with Client(server.endpoint) as db:
            create_table(db, name="Table")
        put(server, "Table", [1])
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        for name in ("STORE", "STORE.copy", "wal.state"):
            assert stat.S_IMODE((directory / name).stat().st_mode) == 0o600
