"""What security costs: signatures and policies, TLS on kept connections, and handshakes beside other requests.

Two servers: one without authentication that serves plain and by TLS, one with --auth on. The generator signs in both
runs that are compared, so that its own cost is in both."""

import json
import os
import re
import subprocess

from measure import Step, measure
from peers import Gramme, free_port

KEY = {"AWS_ACCESS_KEY_ID": "AKIABENCHBENCHBENCH0", "AWS_SECRET_ACCESS_KEY": "bench-secret-bench-secret"}
TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/*"
ACTIONS = ["GetItem", "PutItem", "BatchWriteItem", "DescribeTable", "CreateTable", "DeleteTable"]
READERS = ["--connections", 16, "--rate", 2000]
CLIENTS = 4  # that shake hands at the same time


class OpenServer(Gramme):
    """Without authentication; also by TLS."""
    title = "Gramme"

    def __init__(self, directory):
        super().__init__(directory)
        self.tls_port = free_port()
        self.files = self.directory.parent / "tls.crt", self.directory.parent / "tls.key"

    def command(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                        "2", "-subj", "/CN=localhost", "-out", self.files[0], "-keyout", self.files[1]],
                       check=True, capture_output=True)
        return [*super().command(), "--listen", f"https://127.0.0.1:{self.tls_port}", "--tls-cert", str(self.files[0]),
                "--tls-key", str(self.files[1])]


class ByTls:
    """The same server, reached by TLS."""

    def __init__(self, server):
        self.server, self.name, self.title, self.pids = server, server.name, "Gramme by TLS", server.pids

    def endpoint(self):
        return f"https://127.0.0.1:{self.server.tls_port}"


class ClosedServer(Gramme):
    """With --auth on and a user who has a policy."""
    title = "Gramme with --auth on"

    def command(self):
        users = self.directory.parent / "users.json"
        statement = {"Effect": "Allow", "Action": [f"dynamodb:{action}" for action in ACTIONS], "Resource": TABLE}
        users.write_text(json.dumps({
            "users": [{"name": "bench", "policies": ["bench"],
                       "keys": [{"id": KEY["AWS_ACCESS_KEY_ID"], "secret": KEY["AWS_SECRET_ACCESS_KEY"]}]}],
            "policies": [{"name": "bench", "document": {"Version": "2012-10-17", "Statement": [statement]}}]}))
        users.chmod(0o600)
        return [*super().command(), "--auth", "on", "--users", str(users)]

    def answers(self):
        return super().answers() is not None  # that it refuses is an answer


def shake_hands(port, seconds):
    """Clients that do nothing else; they count."""
    return [subprocess.Popen(["openssl", "s_time", "-connect", f"127.0.0.1:{port}", "-new", "-time", str(seconds)],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(CLIENTS)]


def count_handshakes(clients):
    texts = [client.communicate(timeout=120)[0] for client in clients]
    found = [re.search(r"(\d+) connections in \d+ real seconds", text) for text in texts]
    return sum(int(match[1]) for match in found if match)


def security_steps(bench):
    os.environ.update(KEY)
    server, closed = OpenServer(bench.directory / "security"), ClosedServer(bench.directory / "security-on")
    settings = bench.settings
    seconds = max(int(settings.seconds * 8), 3)  # long enough for so many handshakes

    def start():
        server.start()
        closed.start()

    def stop():
        server.discard()
        closed.discard()

    def step(mode, peer, *arguments, number):
        return bench.step("security", peer, "get", *bench.item_set(), "--connections", 64, *arguments, number=number, mode=mode)

    def beside(number, is_busy):
        def run():
            clients = shake_hands(server.tls_port, seconds + 2) if is_busy else []
            row = measure(server, "get", "--warmup", 1, "--seconds", seconds, *READERS, *bench.item_set())
            return {**row, "section": "security", "work": "get", "peer": server.name, "round": number,
                    "mode": "beside handshakes" if is_busy else "alone", "handshakes": count_handshakes(clients)}
        return Step(f"security get at 2,000/s {'beside handshakes' if is_busy else 'alone'} round {number + 1}", seconds + 4, run)

    steps = [Step("security: start", 2, start)]
    for number in range(max(settings.rounds, 2)):
        steps += [step("plain", server, number=number), step("tls", ByTls(server), number=number),
                  step("unsigned", server, "--auth", "sign", number=number),
                  step("signed", closed, "--auth", "sign", number=number),
                  beside(number, False), beside(number, True)]
    return [*steps, Step("security: stop", 1, stop)]
