"""`gramme check`: finds good stores good, names what is wrong with others, and changes no byte."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from rich_store import built, copy_store, files, gramme, make  # noqa: E402
from server import Server, program  # noqa: E402


@pytest.fixture(scope="module", params=["closed", "killed", "with-sst-files"])
def store(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp(request.param) / "store"
    return make(directory, kill=request.param == "killed", large=100 if request.param == "with-sst-files" else 0)


@pytest.fixture
def copy(store, tmp_path):
    return copy_store(store, tmp_path / "copy")


@pytest.fixture(scope="module")
def sst_store(tmp_path_factory):
    """A store with SST files."""
    return make(tmp_path_factory.mktemp("sst") / "store", large=100)


def flip(path, offset, bits=4, count=1):
    content = bytearray(path.read_bytes())
    for i in range(count):
        content[offset + i] ^= bits
    path.write_bytes(content)


def test_a_good_store_is_good_and_not_touched(store):
    before = files(store)
    done = gramme("check", store)
    assert done.returncode == 0 and done.stdout.endswith(": good\n") and done.stderr == "", done
    assert "2 tables: " in done.stdout
    assert files(store) == before


def test_json(store):
    done = gramme("check", "--json", store)
    total = [json.loads(line) for line in done.stdout.splitlines()][-1]
    assert not total["damaged"] and total["tables"] == 2 and total["items"] >= 170
    assert total["streamRecords"] >= 130 and total["indexEntries"] > 300


def test_every_missing_or_changed_row_is_noticed(tmp_path):
    directory = make(tmp_path / "small", wide=12, slim=6)
    done = subprocess.run([built("sim/sim_rows"), directory], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    kinds = set(done.stdout.splitlines())
    assert {"items", "index entries", "collections", "expiry", "sizes", "tokens by age", "catalog"} <= kinds


def test_a_store_in_use_is_not_checked(copy):
    with Server(f"rocksdb:{copy}"):
        done = gramme("check", copy)
    assert done.returncode == 2 and "in use" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["--nothing", "x"], ["a", "b"]])
def test_wrong_arguments(arguments):
    done = gramme("check", *arguments)
    assert done.returncode == 2 and "Usage" in done.stderr


def test_no_store(tmp_path):
    assert "no store" in gramme("check", tmp_path).stderr
    assert gramme("check", tmp_path / "missing").returncode == 2
    assert not (tmp_path / "missing").exists()


def damaged(directory, *words):
    before = files(directory)
    done = gramme("check", directory)
    assert done.returncode == 1, done
    assert "gramme repair" in done.stdout
    for word in words:
        assert word in done.stdout, done.stdout
    assert files(directory) == before
    return done.stdout


@pytest.mark.parametrize("name", ["plain", "two words", "it's $HOME; \"so\""])
def test_the_command_for_a_repair_can_be_run(sst_store, tmp_path, name):
    """Also if the name beside the store is taken, and from within the store."""
    directory = copy_store(sst_store, tmp_path / name)
    (tmp_path / f"{name}-repaired").mkdir()
    sst = max(directory.glob("*.sst"), key=lambda path: path.stat().st_size)
    flip(sst, sst.stat().st_size // 2, count=64)
    for where, word in ((tmp_path, f"{name}/"), (directory, ".")):
        done = subprocess.run([program(), "check", word], capture_output=True, text=True, timeout=120, cwd=where)
        assert done.returncode == 1, done
        command = done.stdout.splitlines()[-1]
        assert command.startswith("gramme repair "), done.stdout
        path = f"{pathlib.Path(program()).parent}:{os.environ['PATH']}"
        repaired = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120, cwd=where,
                                  env={**os.environ, "PATH": path})
        assert "2 tables" in gramme("check", tmp_path / f"{name}-repaired-2").stdout, repaired
        shutil.rmtree(tmp_path / f"{name}-repaired-2")


def test_one_identity_file_is_enough(copy):
    (copy / "STORE").unlink()
    done = gramme("check", copy)
    assert done.returncode == 0 and "corrected" in done.stdout


def test_the_log_is_damaged(copy):
    segment = max(copy.glob("*.wal"))
    content = segment.read_bytes()
    if len(content.strip(b"\0")) <= 4096:
        pytest.skip("all records are in SST files")
    flip(segment, 4096 * 3, 255, 700)
    damaged(copy, segment.name, "record")


def test_a_segment_is_missing(copy):
    segment = max(copy.glob("*.wal"))
    segment.unlink()
    damaged(copy, segment.name, "missing")


def test_current_is_damaged(copy):
    (copy / "CURRENT").write_bytes(b"garbage")
    damaged(copy, "CURRENT")


def test_the_manifest_is_damaged(copy):
    flip(copy / (copy / "CURRENT").read_text().strip(), 20)
    damaged(copy, "MANIFEST-")


def test_sst_files_are_damaged(sst_store, tmp_path):
    """A flipped bit and a bad sector in each third of each SST file; one that is missing or cut."""
    names = [path.name for path in sst_store.glob("*.sst")]
    assert names
    for number, name in enumerate(names):
        size = (sst_store / name).stat().st_size
        for place, bits, count in [(size // 3, 1, 1), (size // 2, 255, 512), (size - 60, 255, 30), (size - 20, 8, 1)]:
            copy = copy_store(sst_store, tmp_path / f"{number}-{place}-{count}")
            flip(copy / name, place, bits, count)
            damaged(copy, name)
            shutil.rmtree(copy)
        copy = copy_store(sst_store, tmp_path / f"{number}-cut")
        (copy / name).write_bytes((copy / name).read_bytes()[:size // 2])
        damaged(copy, name)
        (copy / name).unlink()
        damaged(copy, name, "missing")
