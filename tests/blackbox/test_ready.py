"""GET /_gramme/ready: whether the server can serve requests, and what asking costs."""

import concurrent.futures
import os
import time

import pytest

from readiness import ask_ready
from waiting import poll
from wire import Connection


@pytest.fixture(autouse=True)
def own_servers():
    if "GRAMME_ENDPOINT" in os.environ:
        pytest.skip("needs a server of its own")


def get(server, target, method="GET"):
    connection = Connection(server.endpoint)
    connection.send(f"{method} {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    answer = connection.read_answer(has_body=method != "HEAD")
    connection.close()
    return answer


def test_ready(start_server, tmp_path):
    server = start_server(f"rocksdb:{tmp_path / 'data'}")
    answer = get(server, "/_gramme/ready")
    assert answer.status == 200 and answer.headers["content-type"] == "application/json"
    state = answer.json()
    assert state["ready"] is True and state["store"] == "writable" and state["queue"] == "ok"
    assert state.get("disk") == (None if "GRAMME_POSTGRESQL" in os.environ else "ok")
    assert state["memory"] == "ok" and state["clock"] == "trusted" and state["writeMicroseconds"] > 0
    assert get(server, "/_gramme/ready", "HEAD").status == 200
    assert get(start_server(), "/_gramme/ready").json()["ready"] is True
    assert get(server, "/_gramme/other").status == 404


def test_ready_says_no_while_memory_is_full(start_server):
    server = start_server("memory:", "--memory-mb", "16")
    assert ask_ready(server)[0] == 200
    connections = [Connection(server.endpoint) for _ in range(150)]
    for connection in connections:  # 22 MB; those that do not fit are refused
        connection.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n" + b"x" * 150_000)
    status, answer = poll(lambda: (asked := ask_ready(server))[0] == 503 and asked, 30, "the bodies are received")
    if "ready" in answer:
        assert answer["ready"] is False and answer["memory"] == "full" and answer["store"] == "writable"
    else:  # not even this request fits: the answer is that of any request
        assert answer["__type"].endswith("#ThrottlingException")
    for connection in connections:
        connection.close()
    assert poll(lambda: ask_ready(server)[0] == 200, 30, "the memory is free again")


def test_ready_shares_one_write(start_server):
    """The time of the write tells which one it was."""
    server = start_server()
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda _: ask_ready(server), range(400)))
    seconds = time.monotonic() - start
    assert {status for status, _ in answers} == {200}
    writes = {answer["writeMicroseconds"] for _, answer in answers} - {0}  # 0: the first was under way
    assert 1 <= len(writes) <= 1 + seconds
