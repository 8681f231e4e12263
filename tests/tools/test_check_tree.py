"""tools/check_tree.py: cycles between folders, sorted includes, drawings in comments."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_tree  # noqa: E402


def cycle_of(*files):
    """The cycle among files that are given as "path: targets"."""
    sources = {}
    for file in files:
        path, targets = file.split(": ")
        sources["src/" + path] = "".join(f'#include "{target}"\n' for target in targets.split())
    return check_tree.find_cycle(check_tree.folder_includes(sources))


@pytest.mark.parametrize("files, cycle", [
    (["api/access/a.c: api/items/b.h", "api/items/b.h: api/access/a.h"], ["api/access", "api/items"]),
    (["api/access/a.c: api/items/b.h", "api/items/c.c: api/tables/d.h", "api/tables/e.c: api/access/a.h"],
     ["api/access", "api/items", "api/tables"]),
    (["api/dispatch.c: api/items/b.h", "api/items/b.c: api/api.h"], ["api", "api/items"]),        # a folder and its subfolder
    (["store/rocks/open/a.c: store/rocks/log/b.h", "store/rocks/log/b.c: store/rocks/open/a.h"],
     ["store/rocks/log", "store/rocks/open"]),
    (["api/access/a.c: api/items/b.h base/str.h", "api/items/b.c: api/items/b.h base/str.h"], []),  # one direction
    (["api/access/a.c: api/items/b.h", "api/items/b_test.c: api/access/a.h"], []),                # a test
])
def test_cycles(files, cycle):
    assert cycle_of(*files) == cycle


@pytest.mark.parametrize("lines, unsorted", [
    (['#include "a/b.h"', '#include "a/c.h"', '', '#include "a/a.h"'], []),          # blocks are apart
    (['#include <b.h>', '#include <a.h>'], [2]),
    (['#include "b.h"', '#include "a.h" /* why */', '#include "c.h"'], [2]),
    (['#include "b.h"', '#include "a.def"'], []),                                      # a table
])
def test_includes_are_sorted(lines, unsorted):
    assert list(check_tree.unsorted_includes(lines)) == unsorted


@pytest.mark.parametrize("lines, torn", [
    (["/* A row:", " *", " *   key | value", " *   | more", " *", " * Text. */"], []),
    (["/* A row:", " *   key |", " * value | more */"], [3]),                          # as clang-format joined them
    (["/* Steps:", " *  - one;", " *  - the last.", " * Text. */"], []),
    (["/* rule    = other */"], [1]),                                                   # would be joined
    (["/*   rule    = other */", "int a;    int b;"], []),
    (["    /* Two   columns */"], [1]),
])
def test_drawings_are_whole(lines, torn):
    assert list(check_tree.torn_drawings(lines)) == torn
