"""tools/pages: which directories it fills, and when it builds again."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Instead of Vite: empties the directory and counts the builds.
NPM = """#!/bin/sh
rm -rf "${OUT:?}"/*
echo built >>../builds
[ ! -e ../fails ] || { touch "$OUT/half"; exit 1; }
touch "$OUT/index.html"
"""


@pytest.fixture
def tree(tmp_path):
    """A tree of one application."""
    for name in ("tools", "bin", "apps/calls/page"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("calls/page/index.html", "calls/openapi.json", "package.json", "vite.config.js"):
        (tmp_path / "apps" / name).write_text("")
    shutil.copy(ROOT / "tools/pages", tmp_path / "tools")
    (tmp_path / "bin/npm").write_text(NPM)
    (tmp_path / "bin/npm").chmod(0o755)
    return tmp_path


def run(tree, *arguments):
    """The status, the errors, and how many builds there were so far."""
    done = subprocess.run([tree / "tools/pages", *arguments], env={**os.environ, "PATH": f"{tree}/bin:{os.environ['PATH']}"}, capture_output=True, text=True,
                          check=False, timeout=60)
    builds = tree / "builds"
    return done.returncode, done.stderr, len(builds.read_text().splitlines()) if builds.exists() else 0


def test_foreign_files_stay(tree):
    (tree / "build").mkdir()
    (tree / "build/gramme").write_text("a program")
    for _ in range(2):
        status, errors, builds = run(tree, "build")
        assert status == 1 and "has files that tools/pages has not built" in errors and builds == 0
    assert [path.name for path in (tree / "build").iterdir()] == ["gramme"] and not (tree / "build.built").exists()


@pytest.mark.parametrize("arguments", [[], ["elsewhere"]])
def test_it_builds_when_it_must(tree, arguments):
    out = tree / (arguments or ["build/pages"])[0]
    assert run(tree, *arguments) == (0, "", 1) and (out / "index.html").exists()
    assert run(tree, *arguments) == (0, "", 1)
    (tree / "apps/calls/page/new.js").write_text("")
    os.utime(f"{out}.built", (1, 1))
    assert run(tree, *arguments) == (0, "", 2)
    shutil.rmtree(out)
    assert run(tree, *arguments) == (0, "", 3) and (out / "index.html").exists()


def test_a_failed_build_is_begun_again(tree):
    assert run(tree)[0] == 0
    (tree / "fails").write_text("")
    os.utime(tree / "build/pages.built", (1, 1))
    assert run(tree)[0] == 1 and (tree / "build/pages/half").exists()
    assert run(tree)[0] == 1
    (tree / "fails").unlink()
    assert run(tree) == (0, "", 4) and [path.name for path in (tree / "build/pages").iterdir()] == ["index.html"]
