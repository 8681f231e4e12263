"""Each thread has a name that `top -H` shows and docs/internals/request.md explains."""

import contextlib
import os
import pathlib
import re

import pytest

from server import ROOT, Server

pytestmark = pytest.mark.skipif("GRAMME_POSTGRESQL" in os.environ, reason="src/store/pg/README.md has the threads of that store")


def thread_names(server):
    names = set()
    for path in pathlib.Path(f"/proc/{server.process.pid}/task").glob("*/comm"):
        with contextlib.suppress(OSError):  # the thread has ended
            names.add(path.read_text().strip())
    return names


def documented_names():
    page = (ROOT / "docs/internals/request.md").read_text()
    section = page[page.index("## Threads"):page.index("## Time slices")]
    return set(re.findall(r"^    ([a-z-]+)  ", section, re.MULTILINE))


def test_threads_have_the_names_of_the_page(tmp_path):
    with Server(f"rocksdb:{tmp_path}/store") as server:
        names = {name for name in thread_names(server) if not name.startswith("rocksdb:")}
    assert {"http-network", "store-commit", "housekeeper", "backfill", "expiry", "recovery", "follow", "meter"} <= names
    assert names <= documented_names() | {"gramme"}
