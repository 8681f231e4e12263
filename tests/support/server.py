"""Gramme's servers as processes: started on a free port, stopped with SIGTERM, their logs checked."""

import hashlib
import os
import pathlib
import re
import secrets
import signal
import subprocess
import tempfile

from waiting import poll

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVES = re.compile(r"serves http://(?:127\.0\.0\.1|0\.0\.0\.0):(\d+)")
SERVES_TLS = re.compile(r"serves .*\bhttps://127\.0\.0\.1:(\d+)")
# What a healthy server never prints: sanitizer reports, failed assertions, our own error lines.
TROUBLE = re.compile(r"Sanitizer|runtime error:|[Aa]ssertion|Z error |\"level\":\"error\"")


def program():
    return os.environ.get("GRAMME", str(ROOT / "build" / "gramme"))


def apps_program():
    return str(pathlib.Path(program()).parent / "apps" / "gramme-apps")


class Process:
    """A program that says where it serves, and does so at self.endpoint until stopped."""

    def __init__(self, *command, start_seconds=60):
        self.log_path = pathlib.Path(tempfile.mkstemp(prefix="gramme-test-", suffix=".log")[1])
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log)
        self.port = int(poll(self._find_port, start_seconds, "the server says where it serves"))
        self.endpoint = f"http://127.0.0.1:{self.port}"

    def _find_port(self):
        found = SERVES.search(self.log())
        if found is None and self.process.poll() is not None:
            log = self.log()
            self.log_path.unlink()
            raise AssertionError(f"the server ended with {self.process.returncode}:\n{log}")
        return found and found[1]

    def log(self):
        return self.log_path.read_text(errors="replace")

    def stop(self, seconds=60):
        """SIGTERM; it must end with status 0 and have said nothing that means trouble."""
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the server did not stop in {seconds} s:\n{self.log()}") from None
        log = self.log()
        assert status == 0, f"the server ended with {status}:\n{log}"
        assert not TROUBLE.search(log), f"the server's log tells of trouble:\n{log}"
        self.log_path.unlink()

    def kill(self):
        """SIGKILL, as a crash would; what it logged before must be clean all the same."""
        self.process.kill()
        self.process.wait()
        log = self.log()
        self.log_path.unlink()
        assert not TROUBLE.search(log), f"the server's log tells of trouble:\n{log}"

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None and kind is not None:
            self.process.kill()  # the test failed already: do not hide why
            self.process.wait()
        elif self.process.returncode is None or self.process.returncode != -signal.SIGKILL:
            self.stop()


def on_postgresql(store):
    """If GRAMME_POSTGRESQL is set, the suites run on that PostgreSQL: each store they name is a database of its own there.
    One in memory is a new one; one in a directory is the same whenever it is named."""
    server = os.environ.get("GRAMME_POSTGRESQL")
    if server is None or store.startswith("postgresql:"):
        return store
    name = secrets.token_hex(8) if store == "memory:" else hashlib.sha256(store.encode()).hexdigest()[:16]
    subprocess.run(["psql", "-Xq", server, "-c", f"CREATE DATABASE t_{name} TEMPLATE template0"], check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # it may be there
    return f"{server.rsplit('/', 1)[0]}/t_{name}"


class Server(Process):
    """`with Server("memory:") as server:` serves at server.endpoint until the block ends."""

    def __init__(self, store="memory:", *options, port=0, start_seconds=60):
        url = on_postgresql(store)
        drain = ["--drain-ms", "0"] if url.startswith(("postgresql:", "postgres:")) else []  # without a load balancer; options win
        super().__init__(program(), "serve", "--listen", f"127.0.0.1:{port}", "--store", url, *options, *drain,
                         start_seconds=start_seconds)


class TlsServer(Server):
    """A server that also serves with TLS, at self.tls_endpoint; `certificate` is (file, key)."""

    def __init__(self, certificate, *options, store="memory:"):
        super().__init__(store, "--listen", "https://127.0.0.1:0", "--tls-cert", str(certificate[0]),
                         "--tls-key", str(certificate[1]), *options)
        self.tls_port = int(SERVES_TLS.search(self.log())[1])
        self.tls_endpoint = f"https://127.0.0.1:{self.tls_port}"


class Apps(Process):
    """gramme-apps on a DynamoDB: an address, or "memory:" for none."""
    OPTIONS_AT = {}  # by address, in place of --create-tables: the tables are there already

    def __init__(self, db, *options):
        super().__init__(*self.command(db, *self.OPTIONS_AT.get(db, ["--create-tables"]), *options))

    @staticmethod
    def command(db, *options):
        return [apps_program(), "--db", db, "--listen", "127.0.0.1:0", *map(str, options)]
