"""The cases of run.py as tests."""

import importlib.util
import pathlib

import pytest

spec = importlib.util.spec_from_file_location("conformance_run", pathlib.Path(__file__).with_name("run.py"))
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)


@pytest.fixture(scope="module")
def replay(endpoint):
    return run.Replay(endpoint)


@pytest.mark.parametrize("operation, case", run.load(), ids=lambda v: v["name"] if isinstance(v, dict) else v)
def test_case(replay, operation, case):
    assert replay.answer(operation, case) == run.expected(case)
