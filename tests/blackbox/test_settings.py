"""Command line, options, environment, configuration file, log, signals: commands, options, environment, configuration file, log, signals."""

import json
import os
import re
import resource
import signal
import subprocess

import pytest

from loopback import free_port
from server import Server, program
from tables import create_table
from values import item
from waiting import poll
from wire import Client, Connection, Refused, request_bytes


@pytest.fixture(autouse=True)
def own_servers():
    if "GRAMME_ENDPOINT" in os.environ:
        pytest.skip("needs a server of its own")


def gramme(*arguments, **environment):
    return subprocess.run([program(), *arguments], env={**os.environ, **environment}, text=True,
                          capture_output=True, timeout=60)


def arn_of_new_table(server):
    with Client(server.endpoint) as db:
        return db.DescribeTable(TableName=create_table(db))["Table"]["TableArn"]


@pytest.mark.parametrize("arguments", [["help"], ["--help"], ["serve", "--help"], ["serve", "-h"]], ids=str)
def test_help(arguments):
    done = gramme(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage:" in done.stdout


def test_help_names_every_setting():
    text = gramme("serve", "--help").stdout
    for name in ("listen", "store", "region", "account", "threads", "cache-mb", "memory-mb", "min-rate",
                 "connections", "auth",
                 "table-delay-ms", "ttl-delay-ms", "recovery-lag-ms", "s3-directory", "s3-endpoint", "s3-region", "s3-style", "clock-confirm-ms", "log-file", "test-clock", "log-level", "log-format", "config"):
        assert f"--{name} " in text


def test_version():
    done = gramme("version")
    assert done.returncode == 0
    assert done.stdout.startswith("gramme ") and done.stdout == gramme("--version").stdout


@pytest.mark.parametrize("arguments", [
    ["dance"], ["serve", "--no-such-option", "1"], ["serve", "--listen"], ["serve", "extra"],
    ["serve", "--listen", "127.0.0.1:99999"], ["serve", "--listen", "127.0.0.1:x"],
    ["serve", "--threads", "-1"], ["serve", "--threads", "many"], ["serve", "--account", "12"],
    ["serve", "--auth", "maybe"], ["serve", "--log-level", "loud"], ["serve", "--log-format", "xml"],
    ["serve", "--region", "eu\nwest"], ["serve", "--region", ""], ["serve", "--region", "EU"],
    ["serve", "--region", "r" * 65], ["serve", "--account", "-12345678901"], ["serve", "--account", "12345678901x"],
    ["serve", "--store", "memory:\x01"], ["serve", "--memory-mb", "1"], ["serve", "--memory-mb", "99999999"],
    ["serve", "--min-rate", "-1"], ["serve", "--clock-confirm-ms", "0"], ["serve", "--stream-shards", "0"],
    ["serve", "--log-file", ""],
    ["serve", "--connections", "0"], ["serve", "--table-delay-ms", "-5"],
    ["serve", "--ttl-delay-ms", "-1"], ["serve", "--test-clock", "maybe"], ["serve", "--config", "/no/such/file"],
], ids=str)
def test_bad_arguments(arguments):
    done = gramme(*arguments)
    assert done.returncode == 2
    assert done.stderr.strip()


@pytest.mark.parametrize("store", ["", "memory", "ftp:x", "rocksdb:", "rocksdb:/proc/nowhere"], ids=str)
def test_bad_store(store):
    done = gramme("serve", "--listen", "127.0.0.1:0", "--store", store)
    assert done.returncode in (1, 2)
    assert done.stderr.strip()


def test_port_that_is_taken(start_server):
    port = start_server().port
    done = gramme("serve", "--listen", f"127.0.0.1:{port}", "--store", "memory:")
    assert done.returncode == 1
    assert str(port) in done.stderr


def test_region_and_account(start_server):
    server = start_server("memory:", "--region", "eu-west-3", "--account", "123456789012")
    assert arn_of_new_table(server).startswith("arn:aws:dynamodb:eu-west-3:123456789012:table/")


def test_sources_of_a_setting(start_server, tmp_path, monkeypatch):
    """Command line before environment before file."""
    file = tmp_path / "gramme.conf"
    file.write_text("# a comment\n\n  region = from-file  \naccount = 111111111111\n")
    configured = arn_of_new_table(start_server("memory:", "--config", str(file)))
    assert configured.startswith("arn:aws:dynamodb:from-file:111111111111:")
    monkeypatch.setenv("GRAMME_REGION", "from-environment")
    environment = arn_of_new_table(start_server("memory:", "--config", str(file)))
    assert environment.startswith("arn:aws:dynamodb:from-environment:111111111111:")
    command_line = arn_of_new_table(start_server("memory:", "--config", str(file), "--region=from-line"))
    assert command_line.startswith("arn:aws:dynamodb:from-line:111111111111:")


def test_every_setting_has_a_variable():
    """A value with a control character is good for none of them, and the complaint names the setting."""
    names = re.findall(r"^  --([a-z0-9-]+) ", gramme("serve", "--help").stdout, re.MULTILINE)
    assert {"s3-directory", "listen"} <= set(names)
    for name in set(names) - {"config", "help", "version"}:
        done = gramme("serve", **{"GRAMME_" + name.upper().replace("-", "_"): "\x01"})
        assert done.returncode == 2 and name in done.stderr and "environment" in done.stderr, (name, done)


@pytest.mark.parametrize("text", ["no-such-setting = 1", "region", "threads = x"])
def test_bad_configuration_file(tmp_path, text):
    file = tmp_path / "gramme.conf"
    file.write_text("# settings\n" + text + "\n")
    done = gramme("serve", "--config", str(file))
    assert done.returncode == 2
    assert f"{file}:2: " in done.stderr


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_stops_on_signal(name):
    server = Server("memory:")
    server.process.send_signal(getattr(signal, name))
    assert server.process.wait(30) == 0
    assert name in server.log()
    server.log_path.unlink()


def test_stops_while_connections_are_open(start_server):
    server = start_server()
    idle, half = Connection(server.endpoint), Connection(server.endpoint)
    half.send(request_bytes(half.host, "ListTables", b"{}")[:50])
    server.stop(seconds=15)
    assert idle.is_closed_by_server() and half.is_closed_by_server()


def test_log_as_json(start_server):
    server = start_server("memory:", "--log-format", "json")
    lines = [json.loads(line) for line in server.log().splitlines()]
    assert lines and all({"time", "level", "module", "message"} <= set(line) for line in lines)


def test_quiet_log(tmp_path):
    log, port = tmp_path / "log", free_port()
    with open(log, "wb") as out:
        process = subprocess.Popen([program(), "serve", "--listen", f"127.0.0.1:{port}", "--store",
                                    "memory:", "--log-level", "error"], stderr=out)

    def serves():
        try:
            Connection(f"http://127.0.0.1:{port}").close()
            return True
        except OSError:
            return False
    poll(serves, 30, "the server accepts connections")
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    assert log.read_text() == ""


def test_more_connections_than_allowed(start_server):
    """Those over the limit are turned away; as others leave, there is room again."""
    server = start_server("memory:", "--connections", "10")
    kept = [Connection(server.endpoint) for _ in range(10)]
    for connection in kept:
        connection.send(request_bytes(connection.host, "ListTables", b"{}"))
        assert connection.read_answer().status == 200
    extra = Connection(server.endpoint, timeout=5)
    try:
        extra.send(request_bytes(extra.host, "ListTables", b"{}"))
        status = extra.read_answer().status
    except (ConnectionError, TimeoutError):
        status = None  # closed, or left waiting in the queue of the system
    assert status in (None, 503)
    for connection in kept[:5]:
        connection.close()

    def serves_again():
        connection = Connection(server.endpoint)
        try:
            connection.send(request_bytes(connection.host, "ListTables", b"{}"))
            return connection.read_answer().status == 200
        except OSError:
            return False
        finally:
            connection.close()
    poll(serves_again, 20, "a connection is accepted again")
    for connection in kept[5:]:
        connection.send(request_bytes(connection.host, "ListTables", b"{}"))
        assert connection.read_answer().status == 200


@pytest.mark.parametrize("threads", ["1", "3"])
def test_threads(start_server, threads):
    server = start_server("memory:", "--threads", threads)
    with Client(server.endpoint) as db:
        table = create_table(db)
        db.PutItem(TableName=table, Item=item(pk="k"))
    for _ in range(10):  # each connection may be served by another thread: all see the same
        with Client(server.endpoint) as db:
            assert db.GetItem(TableName=table, Key=item(pk="k"))["Item"] == item(pk="k")


def test_small_cache(start_server, tmp_path):
    """A cache far smaller than the data: reads go to the disk and find everything."""
    server = start_server(f"rocksdb:{tmp_path}/data", "--cache-mb", "1")
    with Client(server.endpoint) as db:
        table = create_table(db)
        for number in range(100):
            db.PutItem(TableName=table, Item=item(pk=f"p{number}", body="x" * 50_000))
        for number in range(100):
            found = db.GetItem(TableName=table, Key=item(pk=f"p{number}"))["Item"]
            assert len(found["body"]["S"]) == 50_000


def test_hangup_reopens_the_log_and_reads_its_level_again(tmp_path):
    log, config = tmp_path / "gramme.log", tmp_path / "gramme.conf"
    config.write_text("log-level = info\n")
    port = free_port()
    process = subprocess.Popen([program(), "serve", "--listen", f"127.0.0.1:{port}", "--store", "memory:",
                                "--config", str(config), "--log-file", str(log)])
    try:
        poll(lambda: log.exists() and "serves http" in log.read_text(), 60, "it serves")
        assert log.stat().st_mode & 0o777 == 0o600
        log.rename(tmp_path / "old.log")
        process.send_signal(signal.SIGHUP)
        poll(lambda: log.exists() and "SIGHUP" in log.read_text(), 60, "a new log is begun")
        config.write_text("log-level = nonsense\n")
        process.send_signal(signal.SIGHUP)
        poll(lambda: "not read again: settings: " in log.read_text(), 60, "bad settings are refused")
        config.write_text("log-level = error\n")
        process.send_signal(signal.SIGHUP)
        with Client(f"http://127.0.0.1:{port}") as db:
            assert db.ListTables() == {"TableNames": []}
        process.terminate()
        assert process.wait(60) == 0
        assert "stopped" not in log.read_text()
    finally:
        process.kill()
        process.wait()


@pytest.mark.skipif("GRAMME_POSTGRESQL" in os.environ, reason="PostgreSQL has the files")
def test_data_is_for_the_owner_only(start_server, tmp_path):
    data = tmp_path / "data"
    server = start_server(f"rocksdb:{data}")
    arn_of_new_table(server)
    assert data.stat().st_mode & 0o777 == 0o700
    modes = {path.name: path.stat().st_mode & 0o777 for path in data.rglob("*") if path.is_file()}
    assert modes and set(modes.values()) == {0o600}


def test_store_keeps_its_descriptors(tmp_path):
    """More idle connections than the process may have files: the store still opens its own, and clients
    that come later are served in place of idle ones."""
    def limit_files():
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))

    log = tmp_path / "log"
    with open(log, "wb") as out:
        process = subprocess.Popen([program(), "serve", "--listen", "127.0.0.1:0", "--store",
                                    f"rocksdb:{tmp_path / 'data'}"], stderr=out, preexec_fn=limit_files)
    try:
        found = poll(lambda: re.search(r"serves (http://127.0.0.1:\d+)", log.read_text()), 60, "it serves")
        assert "at most 64 connections" in log.read_text()
        idle = [Connection(found[1]) for _ in range(600)]

        def write():
            try:
                with Client(found[1]) as db:
                    table = create_table(db)
                    db.PutItem(TableName=table, Item=item(pk="a"))
                    return "Item" in db.GetItem(TableName=table, Key=item(pk="a"))
            except (Refused, ConnectionError, ValueError):
                return False  # not yet: the others have not been idle for long
        poll(write, 60, "a new client is served")
        for connection in idle:
            connection.close()
        process.terminate()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
