"""tools/test: what it takes for a success, and which of the tests it runs."""

import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import types

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def runner(monkeypatch):
    loader = importlib.machinery.SourceFileLoader("tools_test", str(ROOT / "tools/test"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tools_test", loader))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(module)
    return module


@pytest.fixture
def build(tmp_path):
    (tmp_path / "test-logs").mkdir()
    return tmp_path


def says(runner, name, text, status=0):
    """A suite that prints a text and ends with a status."""
    return runner.Suite(name, lambda wanted: ["sh", "-c", f"printf '{text}'; exit {status}"], runner.said_counts)


@pytest.mark.parametrize("text, status, failed, reason", [
    ("3 passed, 0 failed\\n", 0, 0, ""),
    ("2 passed, 1 failed\\n", 1, 1, "failed;"),
    ("0 passed, 0 failed\\n", 0, 1, "it ran no test"),
    ("", 0, 1, "it did not come to its end"),
    ("3 passed, 0 failed\\n", 3, 1, "it ended with status 3"),
])
def test_what_fails(runner, build, capsys, text, status, failed, reason):
    assert runner.run(says(runner, "one", text, status), [], build).failed == failed
    assert reason in capsys.readouterr().out


def test_skipped_tests_are_none(runner, build):
    text = "# pass 0\\n# fail 0\\n# cancelled 0\\n# skipped 4\\n"
    suite = runner.Suite("one", says(runner, "one", text).command, runner.node_counts)
    assert runner.run(suite, [], build).failed == 1


def test_a_report_of_an_earlier_run_does_not_count(runner, build):
    report = build / "old.json"
    report.write_text('{"result": "OK"}\n')
    suite = runner.Suite("one", lambda wanted: ["true"], runner.meson_counts, report)
    assert runner.run(suite, [], build).failed == 1


def test_a_suite_that_does_not_end(runner, build, monkeypatch, capsys):
    monkeypatch.setattr(runner, "SUITE_SECONDS_MAX", 0.2)
    suite = runner.Suite("one", lambda wanted: ["sh", "-c", "sleep 600; true"], runner.said_counts)
    assert runner.run(suite, [], build).failed == 1
    assert "it was ended after" in capsys.readouterr().out


def test_goes_on_and_names_all_that_failed(runner, build, monkeypatch, capsys):
    chosen = [says(runner, "first", "1 passed, 1 failed\\n", 1), says(runner, "second", "2 passed, 0 failed\\n"),
              says(runner, "third", "", 0)]
    monkeypatch.setattr(runner, "choose", lambda words: (build, [], chosen, []))
    monkeypatch.setattr(runner, "make", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        runner.main()
    assert ended.value.code == 1
    assert capsys.readouterr().out.endswith("failed: first, third\n3 passed, 2 failed\n")


def test_suites_that_measure_run_alone(runner, build):
    log = build / "order"

    def suite(name, alone=False):
        text = f"echo begin {name} >>{log}; sleep 0.1; echo end {name} >>{log}; echo 1 passed, 0 failed"
        return runner.Suite(name, lambda wanted: ["sh", "-c", text], runner.said_counts, alone=alone)

    chosen = [suite("first"), suite("alone", alone=True), suite("second"), suite("third")]
    assert [(one.name, counts.passed) for one, counts in runner.run_all(chosen, [], build)] == [
        ("first", 1), ("alone", 1), ("second", 1), ("third", 1)]
    lines = log.read_text().splitlines()
    assert len(lines) == 8 and lines[-2:] == ["begin alone", "end alone"]


def command(runner, *words):
    build, _, chosen, wanted = runner.choose(list(words))
    assert len(chosen) == 1
    return build.name, " ".join(chosen[0].command(wanted))


@pytest.mark.parametrize("words, directory, end", [
    ("blackbox test_wire.py", "build", " tests/blackbox/test_wire.py"),
    ("asan blackbox test_wire.py::test_x", "build-asan", " tests/blackbox/test_wire.py::test_x"),
    ("blackbox -k wire", "build", " -k wire tests/blackbox"),
    ("tsan cli", "build-tsan", " tests/cli"),
    ("js paging.test.js", "build", "=tap tests/js/paging.test.js"),
    ("crash --kills 100", "build", "crash.py --kills 100"),
    ("crash", "build", "crash.py --kills 5"),
])
def test_one_suite_or_test(runner, words, directory, end):
    name, made = command(runner, *words.split())
    assert name == directory
    assert made.endswith(end)


def test_unknown_suites_are_refused(runner):
    with pytest.raises(SystemExit, match="there is no suite 'nope'"):
        runner.choose(["nope"])


@pytest.mark.parametrize("word, found", [
    ("store/wal", ["store/wal"]),
    ("store/", ["store/wal", "store/wal/format"]),
    ("store", ["store/wal", "store/wal/format"]),
    ("json", ["json/reader"]),
    ("--repeat=2", ["--repeat=2"]),
])
def test_unit_tests_by_name_or_folder(runner, build, monkeypatch, word, found):
    knows_tests(runner, monkeypatch, ["json/reader", "store/wal", "store/wal/format", "storehouse"])
    assert runner.unit_names(build, [word]) == found


def test_unknown_unit_tests_are_refused(runner, build, monkeypatch):
    knows_tests(runner, monkeypatch, ["store/wal"])
    with pytest.raises(SystemExit, match="there is no unit test or folder 'store/journal'"):
        runner.unit_names(build, ["store/journal"])


def knows_tests(runner, monkeypatch, names):
    """Lets Meson list these unit tests."""
    listed = json.dumps([{"name": name} for name in names])
    monkeypatch.setattr(runner.subprocess, "run", lambda *_, **__: types.SimpleNamespace(stdout=listed))
