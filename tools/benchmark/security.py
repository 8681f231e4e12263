"""What security costs: signatures and policies, TLS on kept connections, and handshakes beside other requests.

Two servers: one without authentication that serves plain and by TLS, one with --auth on. The generator signs in both
runs that are compared, so that its own cost is in both. nginx sends the same bytes plain and by TLS, alone and
beside handshakes: what is possible on this machine, where the generator encrypts on the same cores."""

import json
import os
import re
import subprocess

from measure import Step, measure
from peers import ByTls, Gramme, free_port, make_certificate

KEY = {"AWS_ACCESS_KEY_ID": "AKIABENCHBENCHBENCH0", "AWS_SECRET_ACCESS_KEY": "bench-secret-bench-secret"}
TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/*"
ACTIONS = ["GetItem", "PutItem", "BatchWriteItem", "DescribeTable", "CreateTable", "DeleteTable"]
READERS = ["--connections", 16, "--rate", 2000]
CLIENTS = 4  # clients that do TLS handshakes concurrently


class OpenServer(Gramme):
    """Without authentication; also by TLS."""
    title = "Gramme"

    def __init__(self, directory):
        super().__init__(directory)
        self.tls_port = free_port()

    def command(self):
        certificate, key = make_certificate(self.directory.parent)
        return [*super().command(), "--listen", f"https://127.0.0.1:{self.tls_port}", "--tls-cert", str(certificate),
                "--tls-key", str(key)]


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
        return super().answers() is not None  # an error response counts as answered


def shake_hands(port, seconds):
    """Clients that do nothing else; they count. They get only the time that nobody else wants: the server's work is
    measured, not what clients on the same machine take from others."""
    return [subprocess.Popen(["nice", "-n", "19", "openssl", "s_time", "-connect", f"127.0.0.1:{port}", "-new", "-time", str(seconds)],
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
    bench.stops.append(stop)

    def step(mode, peer, *arguments, number):
        return bench.step("security", peer, "get", *bench.item_set(), "--connections", 64, *arguments, number=number, mode=mode)

    def beside(peer, number, is_busy):
        def run():
            clients = shake_hands(peer.tls_port, seconds + 2) if is_busy else []
            row = measure(peer, "get", "--warmup", 1, "--seconds", seconds, *READERS, *setup(peer))
            return {**row, "section": "security", "work": "get", "peer": peer.name, "round": number,
                    "mode": "beside handshakes" if is_busy else "alone", "handshakes": count_handshakes(clients)}
        return Step(f"security get of {peer.title} at 2,000/s {'beside handshakes' if is_busy else 'alone'} round {number + 1}",
                    seconds + 4, run)

    def setup(peer):
        return ["--no-setup"] if peer is bench.nginx else bench.item_set()

    def limit(number):
        if bench.nginx is None:
            return []
        return [step("plain", bench.nginx, "--no-setup", number=number), step("tls", ByTls(bench.nginx), "--no-setup", number=number),
                beside(bench.nginx, number, False), beside(bench.nginx, number, True)]

    steps = [Step("security: start", 2, start)]
    for number in range(max(settings.rounds, 2)):
        steps += [step("plain", server, number=number), step("tls", ByTls(server), number=number), *limit(number),
                  step("unsigned", server, "--auth", "sign", number=number),
                  step("signed", closed, "--auth", "sign", number=number),
                  beside(server, number, False), beside(server, number, True)]
    return [*steps, Step("security: stop", 1, stop)]
