"""Fixtures of the library's tests."""

import json

import pytest

from c_programs import BUILD, LIBRARY, ROOT, clean_environment, run


@pytest.fixture
def run_program(tmp_path):
    """run_program("operations", url): one of tests/client's programs, which must succeed."""
    def start(name, *arguments, **variables):
        done = run([BUILD / "tests" / "client" / f"client_{name}", *arguments],
                   clean_environment(tmp_path, **variables))
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
    return start


@pytest.fixture
def probe(run_program):
    """probe(url, "GetItem", {...}, attempts_max=1): the outcome of one call. Names in capitals
    are variables of the environment."""
    def call(url, operation="ListTables", request=None, **more):
        variables = {name: str(value) for name, value in more.items() if name.isupper()}
        options = [f"{name}={value}" for name, value in more.items() if not name.isupper()]
        return json.loads(run_program("probe", url, operation, json.dumps(request or {}), *options,
                                      **variables))
    return call


@pytest.fixture
def build_flags():
    """To compile against this build, without installing it."""
    return [f"-I{ROOT}/include", f"-L{LIBRARY}", "-lgramme"]
