"""The server under others: a service manager (sd_notify) and test suites that start one (--until-eof)."""

import os
import signal
import socket
import subprocess
import sys

import pytest

from loopback import free_port
from server import SERVES, Server, program


@pytest.fixture(autouse=True)
def own_servers():
    if "GRAMME_ENDPOINT" in os.environ:
        pytest.skip("needs a server of its own")


class Manager:
    """The socket of a service manager, and a server that it starts."""

    def __init__(self, address, *options, **environment):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.socket.settimeout(60)
        self.process = subprocess.Popen(
            [program(), "serve", "--store", "memory:", "--listen", "127.0.0.1:0", *options], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "NOTIFY_SOCKET": address.replace("\0", "@"), **environment})

    def receive(self):
        return self.socket.recv(4096).decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.socket.close()


@pytest.mark.parametrize("is_abstract", [False, True])
def test_ready_and_stopping(tmp_path, is_abstract):
    address = f"\0gramme-test-{os.getpid()}" if is_abstract else str(tmp_path / "notify")
    with Manager(address) as manager:
        assert manager.receive() == "READY=1"
        manager.process.send_signal(signal.SIGTERM)
        assert manager.receive() == "STOPPING=1"
        assert manager.process.wait(60) == 0


def test_watchdog_gets_signs_of_life(tmp_path):
    with Manager(str(tmp_path / "notify"), WATCHDOG_USEC="3000000") as manager:
        assert [manager.receive() for _ in range(3)] == ["READY=1", "WATCHDOG=1", "WATCHDOG=1"]


def test_watchdog_of_another_process_is_left_alone(tmp_path):
    with Manager(str(tmp_path / "notify"), WATCHDOG_USEC="3000000", WATCHDOG_PID="1") as manager:
        assert manager.receive() == "READY=1"
        manager.socket.settimeout(2.5)  # two signs would come in this time
        with pytest.raises(TimeoutError):
            manager.receive()


def test_not_ready_if_it_cannot_start(tmp_path):
    with Manager(str(tmp_path / "notify"), "--listen", "256.0.0.1:1") as manager:
        assert manager.process.wait(60) != 0
        manager.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            manager.receive()


def await_service(process):
    """Reads its log up to the line that says where it serves."""
    lines = []
    while not (lines and SERVES.search(lines[-1])):
        lines.append(process.stderr.readline())
        assert lines[-1] != "", f"it ended:\n{''.join(lines)}"


def test_ends_with_standard_input():
    process = subprocess.Popen([program(), "serve", "--store", "memory:", "--listen", "127.0.0.1:0", "--until-eof"],
                               stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    await_service(process)
    process.stdin.write("ignored")
    process.stdin.flush()
    assert process.poll() is None
    _, log = process.communicate(timeout=60)  # closes the pipe
    assert process.returncode == 0
    assert "standard input has ended" in log


def test_ends_when_its_starter_is_killed():
    """Python starts the server and is killed with SIGKILL; the pipe to the server's standard error ends with both."""
    code = ("import subprocess, sys, time\n"
            "server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)\n"
            "time.sleep(600)\n")
    starter = subprocess.Popen([sys.executable, "-c", code, program(), "serve", "--store", "memory:", "--listen", "127.0.0.1:0",
                                "--until-eof"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    await_service(starter)
    starter.kill()
    _, log = starter.communicate(timeout=60)
    assert log.endswith("stopped\n")


def test_standard_input_at_its_end_stops_it_at_once():
    done = subprocess.run([program(), "serve", "--store", "memory:", "--listen", "127.0.0.1:0", "--until-eof"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "standard input has ended" in done.stderr


def ready(*options, **environment):
    return subprocess.run([program(), "ready", *options], env={**os.environ, **environment}, capture_output=True, text=True,
                          timeout=60)


def test_ready_command(start_server):
    server = start_server()
    done = ready("--endpoint", server.endpoint)
    assert (done.returncode, done.stderr) == (0, "")
    assert '"ready":true' in done.stdout
    assert ready(GRAMME_ENDPOINT=server.endpoint).returncode == 0
    server.stop()
    done = ready("--endpoint", server.endpoint)
    assert (done.returncode, done.stdout) == (1, "")
    assert server.endpoint.removeprefix("http://") in done.stderr or "refused" in done.stderr


def test_ready_command_waits():
    """It is started before the server is."""
    port = free_port()
    waiting = subprocess.Popen([program(), "ready", "--endpoint", f"http://127.0.0.1:{port}", "--wait", "60"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with Server("memory:", port=port):
        out, err = waiting.communicate(timeout=60)
    assert (waiting.returncode, err) == (0, "")
    assert '"ready":true' in out


@pytest.mark.parametrize("options", [["--wait"], ["--wait", "soon"], ["--wait", "-1"], ["--endpoint", "nowhere"], ["now"]], ids=str)
def test_ready_command_line(options):
    done = ready(*options)
    assert done.returncode == 2
    assert done.stderr.startswith("gramme ready: ")
