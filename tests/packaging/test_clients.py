"""`make clients` on a system whose Node.js is too old for some of the clients, or that has none."""

import os
import shutil
import subprocess

import pytest

from server import ROOT

# Stand-ins: Node.js of Debian 12, packages that are all installed, and an npm that packs a newer Node.js.
PROGRAMS = {
    "node": "echo v18.20.4\n",
    "dpkg-query": "printf installed\n",
    "npm": """[ "$1" = pack ] || exit 0
mkdir -p package/bin
printf '#!/bin/sh\\necho v%s\\n' "${3##*@}" >package/bin/node
chmod +x package/bin/node
tar -czf "$(echo "$3" | tr @ -).tgz" package
echo packed >>"$PACKED"
"""}


@pytest.fixture
def old_system(tmp_path):
    """A folder for PATH with these programs."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, text in PROGRAMS.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}")
        (folder / name).chmod(0o755)
    return folder


def test_setup_brings_a_newer_node(old_system, tmp_path):
    """Once; the second run finds it."""
    tree, packed = tmp_path / "tree", tmp_path / "packed"
    for name in ("tools/setup", "tests/package.json", "tests/clients/package.json"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    for folder in ("tests", "tests/clients"):
        (tree / folder / "node_modules").mkdir()
    for _ in range(2):
        subprocess.run([tree / "tools/setup", "clients"], check=True, env={"PATH": f"{old_system}:{os.environ['PATH']}", "PACKED": str(packed)})
        done = subprocess.run([tree / ".cache/node/bin/node"], check=True, capture_output=True, text=True)
        assert done.stdout.startswith("v2") and packed.read_text() == "packed\n"


@pytest.mark.parametrize("client, status, text", [("boto3", 0, "0 failed"), ("keyv", 1, "need Node.js 20; found: v18.20.4")])
def test_clients_in_python_need_no_node(old_system, tmp_path, client, status, text):
    tree = tmp_path / "tree"  # without .cache
    (tree / "tests").mkdir(parents=True)
    shutil.copytree(ROOT / "tests/clients", tree / "tests/clients", ignore=shutil.ignore_patterns("node_modules"))
    (tree / "tests/support").symlink_to(ROOT / "tests/support")
    done = subprocess.run([tree / "tests/clients/run.py", client], capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": f"{old_system}:{os.environ['PATH']}"})
    assert done.returncode == status and text in done.stdout + done.stderr, done.stdout + done.stderr
