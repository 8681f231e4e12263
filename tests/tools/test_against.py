"""tools/bench --against: when a work counts as worse than it was."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "benchmark"))

import against  # noqa: E402
from measure import Results  # noqa: E402


def measured(*rounds):
    """Results of a work: the peer, its requests per second and CPU per request of each round."""
    results = Results()
    for peer, speed, cost in rounds:
        results.add({"section": "works", "peer": peer, "work": "get", "requests": 1000, "errors": {}, "requests_per_second": speed,
                     "server_cpu_us": cost})
    return results


@pytest.mark.parametrize("speed, cost, is_good", [
    (1000, 10, True),
    (800, 10, True),  # slower, but not by its own work: the machine was busy
    (1000, 12, True),
    (900, 12, False),
])
def test_worse_is_slower_and_dearer(capsys, speed, cost, is_good):
    results = measured(("earlier", 1000, 10), ("gramme", speed, cost))
    assert against.compare(results) == is_good
    assert ("WORSE" in capsys.readouterr().out) == (not is_good)


def test_the_best_rounds_are_compared(capsys):
    assert against.compare(measured(("earlier", 1000, 10), ("gramme", 500, 20), ("gramme", 1000, 10), ("earlier", 400, 30)))


def test_an_unknown_revision_is_refused():
    done = subprocess.run([ROOT / "tools/bench", "--against", "no-such-revision"], capture_output=True, text=True)
    assert done.returncode == 2 and "there is no revision 'no-such-revision'" in done.stderr
