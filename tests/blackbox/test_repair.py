"""`gramme repair`: everything that can be read is in the new store, what is lost is named, and the new
store is good."""

import pathlib
import re
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from rich_store import SLIM, WIDE, contents, copy_store, files, gramme, make  # noqa: E402
from server import Server  # noqa: E402
from values import item  # noqa: E402
from wire import Client  # noqa: E402


@pytest.fixture(scope="module", params=["log", "sst"])
def store(request, tmp_path_factory):
    """(directory, everything in it)"""
    directory = tmp_path_factory.mktemp(request.param) / "store"
    make(directory, large=100 if request.param == "sst" else 0)
    reference = copy_store(directory, directory.parent / "reference")
    with Server(f"rocksdb:{reference}") as server:
        return directory, contents(server.endpoint)


@pytest.fixture
def copy(store, tmp_path):
    return copy_store(store[0], tmp_path / "copy")


def flip(path, offset, bits=4, count=1):
    content = bytearray(path.read_bytes())
    for i in range(count):
        content[offset + i] ^= bits
    path.write_bytes(content)


def repaired(directory, status):
    """Repairs; the result must be good, and the original as it was. Gives what was said, and the contents."""
    before = files(directory)
    target = directory.parent / "repaired"
    shutil.rmtree(target, ignore_errors=True)
    done = gramme("repair", directory, target)
    assert done.returncode == status, done
    assert files(directory) == before
    check = gramme("check", target)
    assert check.returncode == 0, check.stdout + done.stdout
    with Server(f"rocksdb:{target}") as server:
        found = contents(server.endpoint)
        with Client(server.endpoint) as db:
            db.PutItem(TableName=SLIM, Item=item(pk="new", g="g0"))
    return done.stdout, found


def test_a_good_store_is_copied(store, copy):
    said, found = repaired(copy, 0)
    assert found == store[1]
    assert "0 losses, 0 uncertain, 0 restored" in said


def test_the_seed_of_hashes_comes_from_the_sst_files(store, copy):
    (copy / "STORE").unlink()
    (copy / "STORE.copy").write_bytes(b"x" * 64)
    said, found = repaired(copy, 0)
    assert found == store[1]
    assert "neither STORE nor STORE.copy" in said


def test_without_a_manifest(store, copy):
    """The store was closed, so no SST file is left over, and nothing is lost."""
    (copy / "CURRENT").unlink()
    for manifest in copy.glob("MANIFEST-*"):
        manifest.unlink()
    _, found = repaired(copy, 0)
    assert found == store[1]


def test_garbage_in_the_manifest(store, copy):
    flip(copy / (copy / "CURRENT").read_text().strip(), 10, 255, 20)
    _, found = repaired(copy, 0)
    assert found == store[1]


def test_flipped_bits_lose_nothing(store, copy):
    """In several blocks of each SST file, and in the WAL."""
    for path in [*copy.glob("*.sst"), max(copy.glob("*.wal"))]:
        for place in (5000, 25000, 45000):
            flip(path, place)
    _, found = repaired(copy, 0)
    assert found == store[1]


def keys(rows, *names):
    return {tuple(str(row[name]) for name in names) for row in rows}


def test_a_bad_sector_in_the_log_costs_its_record(tmp_path):
    directory = make(tmp_path / "store")
    with Server(f"rocksdb:{directory}") as server:
        before = contents(server.endpoint)
    segments = sorted(directory.glob("*.wal"))
    flip(segments[0], 4096 * 20, 255, 600)
    said, found = repaired(directory, 1)
    assert re.search(r"damage .*record \d+: records are lost", said), said
    for (table, index), rows in before.items():
        assert len(found[table, index]) >= len(rows) - 50, said


def test_bad_blocks_cost_their_rows_and_indexes_give_some_back(tmp_path):
    """Sectors of an SST file: rows are lost, restored from an index that has all of them, or
    known by name; every item that is missing afterwards was named or counted."""
    directory = make(tmp_path / "store", large=100, wide=3000)
    with Server(f"rocksdb:{directory}") as server:
        before = contents(server.endpoint)
    sst = max(directory.glob("*.sst"), key=lambda path: path.stat().st_size)
    size = sst.stat().st_size
    for place in range(20000, size, size // 40):
        flip(sst, place, 255, 300)
    said, found = repaired(directory, 1)
    lost = keys(before[WIDE, None], "pk", "sk") - keys(found[WIDE, None], "pk", "sk")
    assert not keys(found[WIDE, None], "pk", "sk") - keys(before[WIDE, None], "pk", "sk")
    assert "restored" in said
    for pk, sk in lost:
        name = re.search(r"'S': '([^']*)'", pk)[1], re.search(r"'N': '([^']*)'", sk)[1]
        assert f'table "wide": item pk = "{name[0]}", sk = {name[1]} is lost' in said, (name, said)
    missing = len(before[SLIM, None]) - len(found[SLIM, None])
    assert (missing > 0) == (re.search(r'table "slim": \d+ items were counted, \d+ are saved', said) is not None)


def test_a_missing_sst_file_is_reported(tmp_path):
    directory = make(tmp_path / "store", large=100)
    next(iter(directory.glob("*.sst"))).unlink()
    done = gramme("repair", directory, tmp_path / "repaired")
    assert done.returncode == 1 and "the SST file is missing" in done.stdout
    assert gramme("check", tmp_path / "repaired").returncode == 0


def test_targets_and_arguments(copy, tmp_path):
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").write_text("")
    done = gramme("repair", copy, tmp_path / "used")
    assert done.returncode == 2 and "not empty" in done.stderr
    assert list((tmp_path / "used").iterdir()) == [tmp_path / "used" / "file"]
    assert gramme("repair", copy).returncode == 2
    assert gramme("repair", tmp_path / "nowhere", tmp_path / "new").returncode == 2
    assert not (tmp_path / "new").exists()


def test_an_unfinished_repair_is_no_store(copy, tmp_path):
    target = tmp_path / "partial"
    assert gramme("repair", copy, target).returncode == 0
    (target / "STORE.partial").write_text("")
    done = gramme("serve", "--listen", "127.0.0.1:0", "--store", f"rocksdb:{target}")
    assert done.returncode == 1 and "has not completed" in done.stderr + done.stdout
