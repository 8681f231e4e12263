"""Large bodies and large answers of many connections at once, which take turns: all arrive whole, with TLS and without, also
when clients pause, and small requests are answered meanwhile."""

import json
import os
import random
import threading
import time

import pytest

from certificates import Authority, client_context
from server import TlsServer
from tables import create_table
from wire import Client, request_bytes

CLIENTS = 6
ROUNDS = 3
ITEMS = 25
TEXT_BYTES = 390_000  # an answer to BatchGetItem has 9.75 MB


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    if "GRAMME_ENDPOINT" in os.environ:
        pytest.skip("needs a server of its own")
    authority = Authority(tmp_path_factory.mktemp("large"))
    with TlsServer(authority.make("server")) as started:
        started.context = client_context(authority)
        create_table(Client(started.endpoint), name="Large")
        yield started


def text_of(client, number):
    return random.Random(client * 1000 + number).randbytes(TEXT_BYTES // 2).hex()


def write(db, client):
    requests = [{"PutRequest": {"Item": {"pk": {"S": f"{client}-{i}"}, "text": {"S": text_of(client, i)}}}}
                for i in range(ITEMS)]
    body = json.dumps({"RequestItems": {"Large": requests}}).encode()
    data = request_bytes(db.connection.host, "BatchWriteItem", body)
    pauses = random.Random(client)
    for at in range(0, len(data), 1_500_000):  # a client that pauses
        db.connection.send(data[at:at + 1_500_000])
        time.sleep(pauses.random() * 0.01)
    answer = db.connection.read_answer()
    assert (answer.status, answer.json()) == (200, {"UnprocessedItems": {}})


def read(db, client):
    keys = [{"pk": {"S": f"{client}-{i}"}} for i in range(ITEMS)]
    answer = db.BatchGetItem(RequestItems={"Large": {"Keys": keys}})
    found = {item["pk"]["S"]: item["text"]["S"] for item in answer["Responses"]["Large"]}
    assert found == {f"{client}-{i}": text_of(client, i) for i in range(ITEMS)}


def run_client(connect, client, failures):
    try:
        with connect() as db:
            for _ in range(ROUNDS):
                write(db, client)
                read(db, client)
    except BaseException as failure:  # noqa: BLE001 - reported by the test
        failures.append(failure)


@pytest.mark.parametrize("secure", [False, True])
def test_many_large_bodies_and_answers_arrive_whole(server, secure):
    def connect():
        return Client(server.tls_endpoint, tls=server.context) if secure else Client(server.endpoint)

    failures = []
    threads = [threading.Thread(target=run_client, args=(connect, client, failures)) for client in range(CLIENTS)]
    for thread in threads:
        thread.start()
    small = Client(server.endpoint)
    answered = 0
    while any(thread.is_alive() for thread in threads):
        assert small.GetItem(TableName="Large", Key={"pk": {"S": "none"}}) == {}
        answered += 1
    assert failures == []
    assert answered > 0
