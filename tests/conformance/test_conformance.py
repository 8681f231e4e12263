"""The cases of run.py as tests."""

import importlib.util
import os
import pathlib

import pytest

from server import Server

spec = importlib.util.spec_from_file_location("conformance_run", pathlib.Path(__file__).with_name("run.py"))
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)


@pytest.fixture(scope="module")
def replay():
    """On a server of its own: cases list all tables and backups."""
    if "GRAMME_ENDPOINT" in os.environ:
        yield run.Replay(os.environ["GRAMME_ENDPOINT"])
        return
    with Server("memory:", *run.OPTIONS) as server:
        yield run.Replay(server.endpoint)


@pytest.mark.parametrize("operation, case", run.load(), ids=lambda v: v["name"] if isinstance(v, dict) else v)
def test_case(replay, operation, case):
    assert replay.answer(operation, case) == run.expected(case)
