"""HAProxy in front of servers, for tests."""

import contextlib
import pathlib
import shutil
import subprocess

import pytest

from wire import Client, Refused

HAPROXY = shutil.which("haproxy") or "/usr/sbin/haproxy"
needs_haproxy = pytest.mark.skipif(not pathlib.Path(HAPROXY).exists(), reason="haproxy is not installed (tools/setup cluster)")


@contextlib.contextmanager
def haproxy(configuration, folder):
    """HAProxy with this text as its configuration, which is written to the folder."""
    file = folder / "haproxy.cfg"
    file.write_text(configuration)
    process = subprocess.Popen([HAPROXY, "-f", file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


def answers(port):
    """Whether a request through this port is answered."""
    try:
        with Client(f"http://127.0.0.1:{port}") as client:
            client.ListTables()
        return True
    except (OSError, ValueError, Refused):
        return False
