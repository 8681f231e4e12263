#!/usr/bin/python3
"""Compares instructions per request with expected.json. Counts instructions with callgrind, so that a slow-down shows
in review without a clock, and compares them with expected.json.

    tests/cost/cost.py            fails if a count is off by more than 5 percent, up or down
    tests/cost/cost.py --update   writes what was counted, to be reviewed in the diff

Counts hold for one compiler and its options; with another one nothing is compared."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "tests" / "cost" / "cost"
EXPECTED = pathlib.Path(__file__).with_name("expected.json")
TOLERANCE = 0.05
# The thread of the calls, the committer, and the slow threads, which continue long ranges; not those that do something
# now and then.
COUNTED = ["main", "rocks_committer_main", "rocks_slow_main"]
# Searches in RocksDB's memtable, a skip list. How many keys they compare depends on random heights, seeded by the id of
# the thread: with another stack size the same program counts up to 14 percent more for a PutItem. Inside of a counted
# function, callgrind does not count what it "toggles" again. One pattern for each: callgrind finds only the first of
# several that begin alike.
NOT_COUNTED = ["rocksdb::InlineSkipList*::FindGreaterOrEqual*", "*InlineSkipList*::FindLessThan*",
               "void rocksdb::InlineSkipList*"]


def built_with(compiler):
    """The compiler, and what tells it how much to optimise."""
    options = json.loads((ROOT / "build" / "meson-info" / "intro-buildoptions.json").read_text())
    chosen = {option["name"]: option["value"] for option in options}
    return f"{compiler}, optimization {chosen['optimization']}, lto {chosen['b_lto']}"


def count():
    """The compiler, and {operation: instructions per request}"""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--quiet", "--collect-atstart=no",
             *(f"--toggle-collect={name}" for name in COUNTED + NOT_COUNTED), f"--callgrind-out-file={folder}/out",
             str(PROGRAM)], text=True, capture_output=True)
        if done.returncode != 0:
            sys.exit(f"{done.stdout}{done.stderr}\ncost.py: {PROGRAM} failed")
        requests = dict(line.split("\t") for line in done.stdout.splitlines())
        compiler = requests.pop("compiler")
        totals = {}
        for path in pathlib.Path(folder).iterdir():
            text = path.read_text(errors="replace")
            name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
            if name:
                totals[name[1]] = int(re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)[1])
        return compiler, {name: round(totals[name] / int(number)) for name, number in requests.items()}


def main():
    compiler, counted = count()
    here = built_with(compiler)
    if "--update" in sys.argv[1:]:
        EXPECTED.write_text(json.dumps({"built with": here, "instructions per request": counted}, indent=2) + "\n")
        return 0
    expected = json.loads(EXPECTED.read_text())
    if expected["built with"] != here:
        print(f"expected.json is for {expected['built with']}, this is {here}: not compared")
        print("0 passed, 0 failed")
        return 0
    failed = 0
    known = expected["instructions per request"]
    for name in sorted({*counted, *known}):
        now, before = counted.get(name), known.get(name)
        good = now is not None and before is not None and abs(now / before - 1) <= TOLERANCE
        failed += not good
        change = f"{100 * (now / before - 1):+.1f} %" if now and before else "new or gone"
        print(f"{'ok    ' if good else 'FAILED'} {name:<22}{before!s:>9} expected, {now!s:>9} counted, {change}")
    if failed:
        print("If that is meant, run tests/cost/cost.py --update and say why in the commit.")
    print(f"{len(counted) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
