"""tools/check_texts.py: what it takes for a text, and that it finds one which stands in two files."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_texts  # noqa: E402

CALL = 'return err_set(err, ERR_VALIDATION, %s);\n'
TEXT = '"Too many items in the request"'


def complaints(**sources):
    """Of files that are named by keywords: api__a is src/api/a.c, err__messages_h is src/err/messages.h."""
    return check_texts.repeated({
        "src/" + name.replace("__", "/").replace("_h", ".h") + ("" if name.endswith("_h") else ".c"): source
        for name, source in sources.items()})


@pytest.mark.parametrize("second", [
    CALL % TEXT,
    CALL % '"Too many items "\n    "in the request"',
    "static const char *const problem = " + TEXT + ";",
    '/* an "odd" comment */ int c = \'"\'; ' + CALL % TEXT,
])
def test_a_text_in_two_files_is_refused(second):
    (complaint,) = complaints(api__a="\n" + CALL % TEXT, engine__b=second)
    assert complaint.startswith('src/api/a.c:2: "Too many items in the request" also stands in src/engine/b.c: ')


def test_a_text_that_has_a_name_is_refused():
    assert complaints(err__messages_h="#define MESSAGE_ITEMS \\\n    \"Too many items \" \\\n    \"in the request\"\n",
                      api__a=CALL % TEXT)


@pytest.mark.parametrize("sources", [
    {"api__a": CALL % TEXT + CALL % TEXT},                     # one file
    {"api__a": CALL % TEXT, "api__b": CALL % '"Too many"'},    # another text
    {"api__a": 'f("TableName");', "api__b": 'f("TableName");'},  # a name
    {"api__a": 'f("at most");', "api__b": 'f("at most");'},    # too short for a message
    {"api__a": f"/* {TEXT} */", "api__b": CALL % TEXT},        # a comment
    {"api__a": CALL % TEXT, "api__a_test": CALL % TEXT},       # its test
    {"cli__a": CALL % TEXT, "store__b": CALL % TEXT},          # for operators
    {"api__a": '#include "two words/here and there.h"', "api__b": '#include "two words/here and there.h"'},
])
def test_what_is_allowed(sources):
    assert complaints(**sources) == []


def test_lint_fails_for_a_text_in_two_files(tmp_path):
    """The program, in a repository of its own: what tools/lint calls."""
    for name in ("a", "b"):
        (tmp_path / "src" / name).mkdir(parents=True)
        (tmp_path / "src" / name / "x.c").write_text(CALL % TEXT)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    check = [sys.executable, ROOT / "tools/check_texts.py"]
    done = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "src/a/x.c:1" in done.stderr
    (tmp_path / "src/b/x.c").write_text(CALL % "MESSAGE_ITEMS")
    done = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    assert "check_texts.py" in (ROOT / "tools/lint").read_text()
