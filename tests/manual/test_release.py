"""tools/release: what does not agree is found, and the SBOM has every library."""

import importlib.machinery
import importlib.util
import json
import re
import subprocess
import sys
import tarfile

import pytest

from server import ROOT, program


@pytest.fixture(scope="module")
def release():
    loader = importlib.machinery.SourceFileLoader("release", str(ROOT / "tools/release"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
    sys.path.insert(0, str(ROOT / "tools"))  # as for a script
    try:
        loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


@pytest.fixture
def built():
    return json.loads(subprocess.run([program(), "version", "--json"], check=True, capture_output=True, text=True).stdout)


@pytest.fixture
def clone(release, tmp_path, monkeypatch):
    """A small repository with the files that are looked at."""
    for name, text in {"meson.build": "project('gramme', 'c',\n  version: '0.2.0',\n", "CHANGELOG.md": "# Changes\n\n## 0.2.0 (2026-11-17)\n\n- All.\n",
                       "packaging/npm/package.json": '{\n  "version": "0.2.0"\n}\n', "packaging/python/pyproject.toml": '[project]\nversion = "0.1.0"\n'}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"], ["tag", "v0.1.9"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setattr(release.output, "__kwdefaults__", {"cwd": tmp_path})
    return tmp_path


def test_tree(release, clone):
    assert release.check_tree() == []
    (clone / "new").write_text("x")
    assert "new" in release.check_tree()[0]


@pytest.mark.parametrize("version, problem", [
    ("0.2.0", None), ("0.1.10", None), ("1.0.0-rc1", None), ("0.1.9", "tagged already"), ("0.1.8", "not above 0.1.9"), ("0.1.9-rc1", "not above 0.1.9"),
    ("1.0", "not a semantic version"), ("01.0.0", "not a semantic version"), ("1.0.0 ", "not a semantic version"),
])
def test_versions(release, clone, version, problem):
    problems = release.check_version(version, release.version_tags())
    assert (problems == []) if problem is None else (problem in problems[0])


@pytest.mark.parametrize("text, problem", [
    ("# Changes\n\n## 0.2.0 (2026-11-17)\n\n- All.\n\n## 0.1.0 (2026-01-01)\n\n- Old.\n", None),
    ("# Changes\n\n## 0.2.0 (not released)\n\n- All.\n", "the first section is `0.2.0 (not released)`"),
    ("# Changes\n\n## 0.1.0 (2026-11-17)\n\n- All.\n", "is about 0.1.0"),
    ("# Changes\n\n## 0.2.0 (2026-11-17)\n\n## 0.1.0 (2026-01-01)\n\n- Old.\n", "says nothing"),
    ("# Changes\n", "no section"),
])
def test_changelog(release, text, problem):
    problems = release.check_changelog("0.2.0", text)
    assert (problems == []) if problem is None else (problem in problems[0])


@pytest.mark.parametrize("title, problem", [("0.2.0 (not released)", None), ("0.2.0 (2026-11-17)", None), ("0.2.0", "the first section"),
                                            ("0.1.0 (not released)", "is about 0.1.0")])
def test_changelog_of_a_rehearsal(release, title, problem):
    problems = release.check_changelog("0.2.0", f"# Changes\n\n## {title}\n\n- All.\n", dated=False)
    assert (problems == []) if problem is None else (problem in problems[0])


def test_changelog_of_this_tree(release):
    assert release.check_changelog(release.project_version(), (release.ROOT / "CHANGELOG.md").read_text(), dated=False) == []


def test_artifacts(release, clone, built):
    """What is in a release, with stand-ins for packages and manual."""
    names = release.artifact_names("0.2.0")
    packages = " ".join(names - {"gramme-0.2.0.tar.gz", "gramme-0.2.0-manual.tar.gz", "gramme-0.2.0.cdx.json", "SHA256SUMS"})
    (clone / "tools").mkdir()
    (clone / "tools/package").write_text(f"#!/bin/sh\nmkdir -p build/packages && cd build/packages && for name in {packages} SHA256SUMS; do echo $name >$name; done\n")
    (clone / "tools/package").chmod(0o755)
    (clone / "build/manual/site").mkdir(parents=True)
    (clone / "build/manual/site/index.html").write_text("x")
    (clone / "build/packages").mkdir()
    (clone / "build/packages/gramme-0.1.0.tgz").write_text("of another version")
    target = clone / "build/release/0.2.0"
    release.build_artifacts("0.2.0", built, target)
    assert {path.name for path in target.iterdir()} == names and len(names) == 10
    assert release.check_artifacts(target, "0.2.0") == []
    with tarfile.open(target / "gramme-0.2.0.tar.gz") as sources:
        assert "gramme-0.2.0/meson.build" in sources.getnames()
    (target / "gramme-0.2.0.tgz").write_text("other")
    (target / "gramme-0.2.0-manual.tar.gz").unlink()
    (target / "more").write_text("x")
    problems = release.check_artifacts(target, "0.2.0")
    assert problems[:3] == ["gramme-0.2.0-manual.tar.gz is missing", "more does not belong there", "SHA256SUMS lacks more"]
    assert "gramme-0.2.0.tgz: FAILED" in problems[3]


@pytest.mark.parametrize("status", [0, 1])
def test_unchecked_files_are_no_release(release, clone, built, monkeypatch, status):
    """build/release/VERSION exists if the build is reproducible, and not otherwise."""
    def build_artifacts(_version, _built, target):
        target.mkdir(parents=True)
        (target / "SHA256SUMS").write_text("")
    (clone / "tools").mkdir()
    (clone / "tools/doors").write_text(f"#!/bin/sh\nexit {status}\n")
    (clone / "tools/doors").chmod(0o755)
    monkeypatch.setattr(release, "build_artifacts", build_artifacts)
    monkeypatch.setattr(release, "check_artifacts", lambda *_: [])
    target = clone / "build/release/0.2.0"
    target.mkdir(parents=True)
    (target / "of an earlier run").write_text("")
    if status == 0:
        release.make_release("0.2.0", built, target)
    else:
        with pytest.raises(SystemExit, match="0.2.0.unchecked is not a release"):
            release.make_release("0.2.0", built, target)
    left = sorted(str(path.relative_to(target.parent)) for path in target.parent.rglob("*"))
    assert left == (["0.2.0", "0.2.0/SHA256SUMS"] if status == 0 else ["0.2.0.unchecked", "0.2.0.unchecked/SHA256SUMS"])


@pytest.mark.parametrize("words", [["--nothing"], ["--check", "--rehearse"], ["0.2.0"]])
def test_wrong_options(release, words):
    with pytest.raises(SystemExit) as end:
        release.read_options(words)
    assert end.value.code == 2


def test_packages(release, clone):
    assert release.project_version() == "0.2.0"
    assert release.check_packages("0.2.0") == ["packaging/python/pyproject.toml has version 0.1.0, meson.build 0.2.0"]


def test_named_versions(release, clone):
    page = clone / "docs/install.md"
    page.parent.mkdir()
    page.write_text("`gramme_0.2.0-1_amd64.deb`, `gramme-0.2.0.tgz`\n\nWith Gramme 0.1.9 and RocksDB 7.8.3: gramme-0.1.9-linux-x86_64.tar.gz\n")
    container = clone / "packaging/container/Containerfile"
    container.parent.mkdir()
    container.write_text("# gramme-0.3.0-linux-x86_64.tar.gz\n")
    subprocess.run(["git", "add", "-A"], cwd=clone, check=True)
    assert release.check_named_versions("0.2.0") == [
        "docs/install.md:3 names version 0.1.9, meson.build 0.2.0", "docs/install.md:3 names version 0.1.9, meson.build 0.2.0",
        "packaging/container/Containerfile:1 names version 0.3.0, meson.build 0.2.0"]


def test_named_versions_of_this_tree(release):
    assert release.check_named_versions(release.project_version()) == []


def test_formats_of_this_tree(release, built):
    assert release.check_formats(built["formats"]) == []
    assert len(release.check_formats({"store": 99, "postgresql": 99})) == 2


def test_sbom(release, built):
    bom = release.sbom(built)
    assert (bom["bomFormat"], bom["metadata"]["component"]["version"]) == ("CycloneDX", built["version"])
    components = {component["name"]: component for component in bom["components"]}
    assert {name: components[name]["version"] for name in built["libraries"]} == built["libraries"]
    assert all(component.get("purl", "").startswith("pkg:") for component in components.values())
    assert len({component["bom-ref"] for component in bom["components"]}) == len(bom["components"])
    assert "preact" in components and re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", bom["serialNumber"])


def test_archives_are_equal(release, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site/page.html").write_text("x")
    for name in ("a", "b"):
        release.pack(tmp_path / "site", tmp_path / name, "manual")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
