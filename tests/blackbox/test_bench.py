"""gramme bench: every kind of work against a small table, the counts it tells, and that it tells
what went wrong."""

import http.server
import json
import os
import shutil
import subprocess
import threading

import pytest
from certificates import Authority
from server import Server, TlsServer, program
from signing import KEY_ID, SECRET, write_users
from tables import create_table
from waiting import poll
from wire import Client

pytestmark = pytest.mark.skipif("GRAMME_ENDPOINT" in os.environ, reason="is about our own program")

# work: (options, requests, items each request reads or writes)
WORKS = {
    "get": ([], 300, 1), "put": ([], 300, 1), "put-conditional": ([], 300, 1), "update": ([], 300, 1),
    "query10": ([], 100, 10), "query1mb": ([], 20, 100), "gsi10": ([], 100, 10), "batch-get": ([], 20, 100),
    "batch-write": ([], 20, 25), "transact4": ([], 50, 4), "transact100": ([], 10, 100),
    "scan": (["--segments", "4"], 40, 100), "ycsb-a": ([], 300, 1), "ycsb-b": ([], 300, 1),
    "ycsb-c": ([], 300, 1), "ycsb-d": ([], 300, 1), "ycsb-e": ([], 100, 1), "ycsb-f": ([], 300, 1)}


@pytest.fixture(scope="module")
def server():
    with Server() as server:
        yield server


@pytest.fixture
def db(server):
    with Client(server.endpoint) as client:
        yield client


def bench(*arguments, status=0):
    """Runs it; gives its JSON, or what it printed if it failed without. `status`: what it must end with, or several of which one."""
    done = subprocess.run([program(), "bench", *map(str, arguments), "--json", "-"], text=True,
                          capture_output=True, timeout=120)
    assert done.returncode in (status if isinstance(status, tuple) else (status,)), done.stdout + done.stderr
    return json.loads(done.stdout) if done.stdout.startswith("{") else done.stderr


def on(server, *arguments, **more):
    return bench(*arguments, "--endpoint", server.endpoint, "--pid", server.process.pid, **more)


@pytest.mark.parametrize("work", WORKS)
def test_each_kind_of_work(server, work):
    options, requests, items = WORKS[work]
    result = on(server, work, "--items", 100, "--connections", 8, "--requests", requests, *options)
    assert result["errors"] == {} and result["retries"] == 0 and result["reconnects"] == 0
    assert result["requests"] == requests
    assert result["items_per_request"] == items
    latency = result["latency_us"]
    assert 0 < latency["p50"] <= latency["p99"] <= latency["p99.9"] <= latency["max"]
    assert result["server_bytes"] > 1 << 20


def count_items(db, table):
    return db.Scan(TableName=table, Select="COUNT")["Count"]


def test_writes_write(server, db):
    """What it says it wrote is there."""
    table = "bench-writes"
    on(server, "load", "--table", table, "--items", 100, "--gsi", 2)
    description = db.DescribeTable(TableName=table)["Table"]
    assert [index["ItemCount"] for index in description["GlobalSecondaryIndexes"]] == [100, 100]
    assert count_items(db, table) == 100
    same = ["--items", 100, "--gsi", 2, "--requests", 10]
    for work, added in (("put", 10), ("put-conditional", 10), ("batch-write", 250), ("transact4", 30),
                        ("get", 0), ("update", 0), ("query10", 0)):
        before = count_items(db, table)
        on(server, work, "--table", table, *same)
        assert count_items(db, table) - before == added, work


@pytest.mark.parametrize("size", [100, 1024, 65536, 409600])
def test_item_sizes(server, db, size):
    table = f"bench-size-{size}"
    on(server, "get", "--table", table, "--items", 4, "--size", size, "--requests", 4, "--connections", 2)
    stored = db.DescribeTable(TableName=table)["Table"]["TableSizeBytes"]
    assert 0.9 * 4 * size <= stored <= 4 * size


def test_large_batches_stay_within_the_limits(server):
    for work in ("batch-get", "batch-write", "transact100", "query1mb", "scan"):
        result = on(server, work, "--items", 40, "--size", 409600, "--requests", 3, "--connections", 1)
        assert result["errors"] == {}, work


def test_scan_sees_every_item(server, db):
    table = "bench-scan"
    on(server, "load", "--table", table, "--items", 3000, "--gsi", 0)
    pages = 0
    request = {"TableName": table}
    while True:
        page = db.Scan(**request)
        pages += 1
        if "LastEvaluatedKey" not in page:
            break
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
    assert pages > 2
    result = on(server, "scan", "--table", table, "--items", 3000, "--gsi", 0, "--requests", pages * 2)
    per_pass = result["answer_bytes"] / 2  # it starts again at the end
    assert 3000 * 1024 < per_pass < 3000 * 1500


def test_a_rate_is_kept(server):
    """Never more requests than the rate; all of them, unless the machine stops for longer than the rest of the second: in one of
    five attempts it does not."""
    for _ in range(5):
        result = on(server, "get", "--items", 100, "--rate", 200, "--seconds", 1, "--warmup", 0, "--connections", 4, status=(0, 1))
        assert result["requests"] <= 200
        assert set(result["errors"]) <= {"not sent: slower than the rate"}
        if result["requests"] >= 195:
            return
    pytest.fail(str(result))


def test_a_rate_that_is_too_high_is_told(server):
    """What was due and could not be sent is not forgotten."""
    result = on(server, "get", "--items", 100, "--rate", 10_000_000, "--seconds", 0.2, "--warmup", 0,
                "--connections", 1, status=1)
    assert set(result["errors"]) == {"not sent: slower than the rate"}
    assert result["requests"] + sum(result["errors"].values()) >= 1_990_000
    assert result["latency_us"]["max"] > 100_000  # counted from when they were due


def test_errors_are_told(server, db):
    create_table(db, "other", name="bench-wrong")
    result = on(server, "get", "--table", "bench-wrong", "--no-setup", "--requests", 10, status=1)
    assert result["errors"] == {"ValidationException": 10} and result["requests"] == 0
    result = on(server, "get", "--table", "bench-nowhere", "--no-setup", "--requests", 5, status=1)
    assert result["errors"] == {"ResourceNotFoundException": 5}


def test_empty_answers_are_errors(server, db):
    """Empty results count as errors."""
    create_table(db, "pk sk", name="bench-empty")
    result = on(server, "get", "--table", "bench-empty", "--no-setup", "--requests", 10, status=1)
    assert result["errors"] == {"incomplete answer": 10}


def test_wrong_arguments(server):
    assert "there is no workload 'fly'" in bench("fly", status=2)
    assert "unknown option --wings" in bench("get", "--wings", 2, status=2)
    assert "gsi10 needs an index" in on(server, "gsi10", "--gsi", 0, status=2)
    assert "is not http[s]://HOST:PORT" in bench("get", "--endpoint", "ftp://x", status=2)
    assert "does not answer: Connection refused" in bench("get", "--endpoint", "http://127.0.0.1:1", status=1)


class Odd(http.server.BaseHTTPRequestHandler):
    """Answers in ways that Gramme does not: chunked, closing, throttled at first, never."""
    protocol_version = "HTTP/1.1"
    refusals = 3

    def do_GET(self):
        body = b"x" * 5000
        self.send_response(200)
        if self.path == "/chunked":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for start in range(0, len(body), 700):
                part = body[start:start + 700]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.write(b"0\r\n\r\n")
            return
        self.send_header("Content-Length", str(len(body)))
        if self.path == "/closing":
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        cls = type(self)
        cls.refusals -= 1
        status, body = (400, b'{"__type":"x#ThrottlingException"}') if cls.refusals >= 0 else (200, b"{}")
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def odd():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Odd) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("path,reconnects", [("/plain", False), ("/chunked", False), ("/closing", True)])
def test_raw(odd, path, reconnects):
    result = bench("raw", "--endpoint", odd + path, "--requests", 20, "--connections", 2)
    assert result["errors"] == {} and result["requests"] == 20
    assert result["answer_bytes"] == 20 * 5000
    assert (result["reconnects"] > 0) == reconnects


def test_raw_file(odd, tmp_path):
    request = tmp_path / "request"
    request.write_bytes(b"GET /chunked HTTP/1.1\r\nHost: localhost\r\n\r\n")
    result = bench("raw", "--endpoint", odd, "--request", request, "--requests", 3, "--connections", 1)
    assert result["answer_bytes"] == 3 * 5000


def test_throttled_requests_are_sent_again(odd):
    result = bench("put", "--endpoint", odd, "--no-setup", "--requests", 5, "--connections", 1)
    assert result["retries"] == 3 and result["requests"] == 5 and result["errors"] == {}


def test_a_lost_server_is_told():
    server = Server()
    on(server, "load", "--table", "bench-lost", "--items", 100)
    running = subprocess.Popen(
        [program(), "bench", "put", "--table", "bench-lost", "--items", "100", "--no-setup", "--seconds", "60", "--endpoint",
         server.endpoint], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with Client(server.endpoint) as db:  # it sends nothing before all its connections are open
        poll(lambda: db.DescribeTable(TableName="bench-lost")["Table"]["ItemCount"] > 100, 60, "it writes")
    server.kill()
    out, err = running.communicate(timeout=60)
    assert running.returncode == 1 and "FAILED" in out, out + err


@pytest.mark.parametrize("limit", ["fsync", "overwrite", "rocksdb", "roundtrip", "durable", "memory"])
def test_limits(tmp_path, limit):
    result = bench("--limit", limit, "--directory", tmp_path, "--seconds", 0.1, "--batch", 8)
    assert result["count"] > 0 and result["latency_us"]["p50"] > 0
    assert list(tmp_path.iterdir()) == []


def test_generator_missing(tmp_path):
    """The generator is a program beside gramme; a copy of gramme alone says what it cannot run."""
    alone = shutil.copy(program(), tmp_path)
    done = subprocess.run([alone, "bench", "get"], text=True, capture_output=True, timeout=30, check=False)
    assert done.returncode == 1
    assert f"cannot run {tmp_path}/gramme-bench: No such file" in done.stderr


@pytest.mark.parametrize("work", ["get", "put", "query1mb"])
def test_signed_and_by_tls(tmp_path, monkeypatch, work):
    """A server that checks signatures accepts what is signed, plain and by TLS, and nothing else."""
    users = write_users(tmp_path / "users.json", [("root", KEY_ID, SECRET, [])])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with TlsServer(Authority(tmp_path).make("server"), "--auth", "on", "--users", users) as server:
        for endpoint in (server.endpoint, server.tls_endpoint):
            command = [program(), "bench", work, "--endpoint", endpoint, "--requests", "50", "--items", "200",
                       "--connections", "4", "--json", "-"]
            done = subprocess.run([*command, "--auth", "sign"], capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, done.stderr
            row = json.loads(done.stdout)
            assert row["requests"] == 50 and row["errors"] == {}
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode != 0
