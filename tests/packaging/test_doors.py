"""What tools/doors can be asked without packages: which commands of the pages it runs, and its helpers."""

import importlib.machinery
import importlib.util
import pathlib
import time

import pytest

from server import ROOT


@pytest.fixture
def doors():
    loader = importlib.machinery.SourceFileLoader("doors", str(ROOT / "tools/doors"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("doors", loader))
    loader.exec_module(module)
    return module


@pytest.fixture
def door(doors, tmp_path, monkeypatch):
    monkeypatch.setattr(doors, "LOGS", tmp_path)
    return doors.Door("test", tmp_path, tmp_path / "base")


def test_lines_that_no_door_runs_are_found(doors):
    everything = doors.unused()
    assert "docs/install.md: systemctl restart gramme" in everything
    assert "docs/start.md: npm install ./gramme-0.1.0.tgz" in everything
    assert any(line.startswith("packaging/npm/README.md: the block of js in line ") for line in everything)
    assert not any("docker compose" in line for line in everything)  # the page says that it is not run, and why
    assert doors.manual_line("docs/install.md", "Debian", "systemctl restart") == ["systemctl", "restart", "gramme"]
    doors.manual_block("docs/start.md", "npm")
    assert set(everything) - set(doors.unused()) >= {"docs/install.md: systemctl restart gramme", "docs/start.md: npm install ./gramme-0.1.0.tgz"}


def test_sections(doors):
    assert "npx gramme shell" in doors.manual_section("packaging/npm/README.md", None)
    npm = doors.manual_section("docs/start.md", "npm")
    assert "npx gramme serve" in npm and "pip install" not in npm
    assert "### npm" in doors.manual_section("docs/start.md", "From a package to the first answer")


def test_first_steps(doors, door, tmp_path, monkeypatch):
    """What a script leaves behind ends with it; a script that fails is a failure."""
    page = tmp_path / "docs/start.md"
    page.parent.mkdir()
    page.write_text("# Start\n\n## Steps\n\n### One\n\n```sh\nsleep 1000 &\necho $! >pid; echo Music $GRAMME_LISTEN\n```\n\n### Two\n\n```sh\nfalse\n```\n")
    monkeypatch.setattr(doors, "ROOT", tmp_path)
    doors.first_steps(door, "One", lambda script: doors.run_and_end(door, script, cwd=tmp_path))
    status = pathlib.Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and status.exists() and status.read_text().split()[2] != "Z":
        time.sleep(0.01)
    assert time.monotonic() < deadline
    with pytest.raises(doors.Failed, match="status 1"):
        doors.first_steps(door, "Two", lambda script: doors.run_and_end(door, script, cwd=tmp_path))


@pytest.mark.parametrize("upgrades, good", [([90, 100, 110], True), ([90, 400, 110, 100, 90], True), ([90, 400, 110, 400, 90], False),
                                            ([90, 400, 110, 90, 400], False), ([400, 400, 90], False)])
def test_every_upgrade_counts(doors, door, monkeypatch, capsys, upgrades, good):
    """After one that refuses clients for longer than a restart two more must not; it is reported. Two are a failure."""
    class Load:
        say = staticmethod(lambda _: {"failed": 0, "missing": 0, "acknowledged": 1, "longestGapMs": 1})
        __init__ = lambda self, _: None
        __enter__ = lambda self: self
        __exit__ = lambda self, *_: None

    left = [{"refusedMs": ms, "longestGapMs": ms} for ms in upgrades]
    monkeypatch.setattr(doors, "Load", Load)
    monkeypatch.setattr(doors.time, "sleep", lambda _: None)
    monkeypatch.setattr(doors, "measure", lambda *_: {"refusedMs": 100, "longestGapMs": 1})
    monkeypatch.setattr(doors, "upgrade", lambda *_: left.pop(0))
    if good:
        doors.upgrade_under_load(door, None, ["a", "b", "c"], ["d", "e"])
        assert left == []
        output = capsys.readouterr().out
        assert ("SLOW: " in output) == (400 in upgrades) and f"{upgrades.count(400)} of {len(upgrades)} slow" in output
        assert f"clients refused for {', '.join(map(str, upgrades))} ms" in output
    else:
        with pytest.raises(doors.Failed, match="upgrades refused clients"):
            doors.upgrade_under_load(door, None, ["a", "b", "c"], ["d", "e"])


@pytest.mark.parametrize("fails", [None, "install", "version"])
def test_what_setuptools_leaves_is_removed(doors, door, tmp_path, monkeypatch, fails):
    """Whether the folder of the Python package can be installed or not."""
    folder = tmp_path / "packaging/python"
    folder.mkdir(parents=True)

    def run(*command, **_):
        if "install" in command:
            for name in ("build", "gramme.egg-info"):
                (folder / name).mkdir()
        if fails in command:
            raise doors.Failed("it ended with status 1")
        return "gramme 0.1.0"
    monkeypatch.setattr(doors, "ROOT", tmp_path)
    monkeypatch.setattr(door, "run", run)
    if fails is None:
        doors.check_python_folder(door, tmp_path, {})
    else:
        with pytest.raises(doors.Failed):
            doors.check_python_folder(door, tmp_path, {})
    assert list(folder.iterdir()) == []
