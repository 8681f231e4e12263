"""Gramme and one PostgreSQL: rights, TLS, the pool, readiness, hosts that vanish, locks of others, work that must be done in pieces."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest

import postgresql
from certificates import Authority
from cutting_proxy import CuttingProxy
from server import Process, Server, program
from tables import create_table
from values import item, plain
from waiting import poll
from wire import Client, Refused, refused

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def database():
    with postgresql.Cluster() as cluster:
        yield cluster


@pytest.fixture
def name(database):
    """The name of an empty database."""
    made = f"d{os.urandom(6).hex()}"
    database.create_database(made)
    return made


def ready_status(server):
    try:
        with urllib.request.urlopen(f"{server.endpoint}/_gramme/ready", timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def fails_to_start(url, *options):
    """What a server says that does not start."""
    done = subprocess.run([program(), "serve", "--listen", "127.0.0.1:0", "--store", url, *options], text=True, capture_output=True,
                          timeout=120, check=False)
    assert done.returncode == 1, done.stderr
    return done.stderr


def with_parameter(url, text):
    return f"{url}{'&' if '?' in url else '?'}{text}"


def use(server):
    """A table with everything that writes rows in its own way: an index, a stream, times; created, used and deleted."""
    with Client(server.endpoint) as db:
        table = create_table(db, "pk", gsi={"by-a": "a"},
                             StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
        db.UpdateContinuousBackups(TableName=table, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True})
        for i in range(5):
            db.PutItem(TableName=table, Item=item(pk=f"p{i}", a="x"))
        assert len(db.Scan(TableName=table, IndexName="by-a")["Items"]) == 5
        db.DeleteTable(TableName=table)


# --- roles, TLS, versions ---


def documented_grants(password):
    """The statements of docs/many-machines.md for a role with few rights."""
    text = (ROOT / "docs" / "many-machines.md").read_text(encoding="utf-8")
    [block] = [block for block in re.findall(r"```sql\n(.*?)```", text, re.DOTALL) if "gramme_server" in block]
    return block.replace("'...'", f"'{password}'")


def test_the_documented_rights_suffice(database):
    url = database.create_database("gramme")
    with Server(url):
        pass
    database.sql(documented_grants("few"), "gramme")
    poor = f"postgresql://gramme_server:few@127.0.0.1:{database.port}/gramme"
    with Server(poor) as server:
        use(server)
    database.sql("REVOKE UPDATE ON SEQUENCE gramme.clock FROM gramme_server", "gramme")
    assert "GRANT UPDATE ON SEQUENCE gramme.clock" in fails_to_start(poor)
    database.sql("DROP SEQUENCE gramme.clock", "gramme")  # as in a store of an earlier version
    assert "start one server with the role that owns the schema" in fails_to_start(poor)
    with Server(url):
        assert database.sql("SELECT count(*) FROM pg_sequences WHERE sequencename = 'clock'", "gramme") == "1"


def test_tls_with_verification(tmp_path):
    authority, other = Authority(tmp_path, "good"), Authority(tmp_path, "bad")
    with postgresql.Cluster() as cluster:
        for source, target in zip(authority.make("server"), ("server.crt", "server.key")):
            copied = cluster.data / target
            copied.write_bytes(source.read_bytes())
            copied.chmod(0o600)
            if os.getuid() == 0:
                shutil.chown(copied, "postgres", "postgres")
        cluster.sql("ALTER SYSTEM SET ssl = on")
        cluster.sql("SELECT pg_reload_conf()")
        url = cluster.create_database()
        with Server(with_parameter(url, f"sslmode=verify-full&sslrootcert={authority.file}")) as server:
            use(server)
            assert cluster.sql("SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) "
                               "WHERE application_name = 'gramme' AND NOT ssl") == "0"
        assert "certificate verify failed" in fails_to_start(with_parameter(url, f"sslmode=verify-full&sslrootcert={other.file}"))


class OldServer(threading.Thread):
    """Forwards connections to a PostgreSQL, and says that its version is 12."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.target_port, self.listener = port, socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(("127.0.0.1", self.target_port))
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=self.forward, args=(one, other), daemon=True).start()

    @staticmethod
    def forward(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(re.sub(rb"(server_version\0)\d\d", rb"\g<1>12", data))
            target.shutdown(socket.SHUT_WR)


def test_an_old_version_is_refused(database, name):
    url = database.uri(name).replace(f":{database.port}/", f":{OldServer(database.port).port}/")
    assert "is version 12; 13 or newer is needed" in fails_to_start(with_parameter(url, "sslmode=disable"))


# --- connections ---


def sessions(database, name):
    return int(database.sql(f"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'gramme' AND datname = '{name}'"))


@pytest.mark.parametrize("parameters, count", [("", 17), ("pool=4", 5), ("pool=40&connect_timeout=5", 41), ("connect_timeout=5&pool=2", 3)])
def test_the_pool_has_as_many_connections_as_the_url_says(database, name, parameters, count):
    with Server(with_parameter(database.uri(name), parameters) if parameters else database.uri(name)) as server:
        poll(lambda: sessions(database, name) == count, 30, "all connections are open")
        use(server)
        assert sessions(database, name) == count


@pytest.mark.parametrize("value", ["1", "129", "x", "", "4x"])
def test_a_bad_pool_is_refused(database, name, value):
    assert "number of connections from 2 to 128" in fails_to_start(with_parameter(database.uri(name), f"pool={value}"))


def test_the_other_scheme_of_libpq(database, name):
    with Server(database.uri(name).replace("postgresql://", "postgres://")) as server:
        poll(lambda: ready_status(server) == 200, 60, "the server serves")
        assert f"from postgres://gramme@127.0.0.1:{database.port}/{name}" in server.log()


@contextlib.contextmanager
def silent_host():
    """A port at which connections are neither accepted nor refused: the queue of the listening socket is full."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(8):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def test_a_silent_host_delays_only_the_first_connection(database, name):
    """It costs the whole connect_timeout of 3 s: for each of 17 connections that would be more than 50 s."""
    with silent_host() as port:
        url = database.uri(name).replace(f"127.0.0.1:{database.port}", f"127.0.0.1:{port},127.0.0.1:{database.port}")
        started = time.monotonic()
        with Server(url):
            poll(lambda: sessions(database, name) == 17, 60, "all connections are open")
            assert time.monotonic() - started < 20


def test_failover_of_a_machine_that_vanishes():
    """The machine of the primary answers nothing any more and closes nothing. The standby takes over."""
    with contextlib.ExitStack() as stack:
        primary, standby, url = postgresql.primary_with_standby(stack)
        proxy = stack.enter_context(CuttingProxy(primary.port, 1))
        server = stack.enter_context(Server(url.replace(f":{primary.port},", f":{proxy.port},")))
        db = stack.enter_context(Client(server.endpoint))
        table = create_table(db)
        db.PutItem(TableName=table, Item=item(pk="before"))
        proxy.freeze()
        postgresql.fail_over(primary, standby)
        started = time.monotonic()

        def write():
            try:
                return db.PutItem(TableName=table, Item=item(pk="after")) is not None
            except Refused as error:
                assert error.status == 500, error
        poll(write, 60, "writes succeed again")
        assert time.monotonic() - started < 25
        assert plain(db.GetItem(TableName=table, Key=item(pk="before"), ConsistentRead=True)["Item"]) == {"pk": "before"}
        assert poll(lambda: sessions(standby, "gramme") == 17, 20, "all connections are open")


@contextlib.contextmanager
def cancelled_waits(database):
    """Cancels every wait of a commit for the standby: PostgreSQL then commits on the primary alone, with a warning."""
    is_over = threading.Event()

    def cancel():
        while not is_over.wait(0.1):
            database.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def status_of(call, **request):
    """The status of the answer, and what it says."""
    try:
        return 200, call(**request)
    except Refused as error:
        return error.status, error


def test_commits_that_the_standby_does_not_confirm_count_neither_as_writes_nor_as_heartbeats():
    """The primary goes on without its standby, because somebody cancels the waits. What only the primary has must not be read."""
    with contextlib.ExitStack() as stack:
        primary, standby, url = postgresql.primary_with_standby(stack)
        server = stack.enter_context(Server(url))
        db, writer = (stack.enter_context(Client(server.endpoint)) for _ in range(2))
        table = create_table(db)
        db.PutItem(TableName=table, Item=item(pk="p", n=1))
        standby.kill()
        with cancelled_waits(primary):
            answers = []
            writing = threading.Thread(
                target=lambda: answers.append(status_of(writer.PutItem, TableName=table, Item=item(pk="p", n=2))[0]))
            writing.start()
            poll(lambda: ready_status(server) == 503, 20, "the lease ends")
            for _ in range(10):
                assert ready_status(server) == 503
                assert status_of(db.GetItem, TableName=table, Key=item(pk="p"), ConsistentRead=True)[0] == 500
            writing.join()
            assert answers == [500]
        primary.kill()
        standby.start()
        postgresql.fail_over(primary, standby)
        poll(lambda: ready_status(server) == 200, 60, "the server serves again")
        assert plain(db.GetItem(TableName=table, Key=item(pk="p"), ConsistentRead=True)["Item"]) == {"pk": "p", "n": 1}


# --- readiness ---


def test_ready_says_no_while_the_lease_cannot_be_renewed(database, name):
    command = [str(database.bin / "psql"), "-XAtq", database.uri(name)]
    with Server(database.uri(name)) as server, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                                 text=True) as session:
        poll(lambda: ready_status(server) == 200, 60, "the server serves")
        print("BEGIN; SELECT 'held' FROM gramme.kv WHERE b = 77 AND get_byte(k, 4) = 77 FOR UPDATE;", file=session.stdin, flush=True)
        assert session.stdout.readline().strip() == "held"
        poll(lambda: ready_status(server) == 503, 30, "the lease has ended")
        print("ROLLBACK;", file=session.stdin, flush=True)
        session.stdin.close()
        session.wait()
        poll(lambda: ready_status(server) == 200, 60, "the server serves again")


def test_ready_says_no_while_postgresql_is_down():
    with postgresql.Cluster() as cluster, Server(cluster.create_database()) as server:
        poll(lambda: ready_status(server) == 200, 60, "the server serves")
        cluster.stop()
        poll(lambda: ready_status(server) == 503, 30, "the server notices")
        cluster.start()
        poll(lambda: ready_status(server) == 200, 60, "the server serves again")


def test_ready_says_no_while_the_server_still_serves_before_it_stops(database, name):
    drain_seconds = 60  # the test would need so long only on a machine that hangs; the second signal ends it
    with Server(database.uri(name), "--drain-ms", str(drain_seconds * 1000)) as server, Client(server.endpoint) as db:
        table = create_table(db)
        server.process.send_signal(signal.SIGTERM)
        poll(lambda: ready_status(server) == 503, 30, "ready says no")
        for i in range(20):
            db.PutItem(TableName=table, Item=item(pk=f"p{i}"))
        with Client(server.endpoint) as other:  # new connections, too
            assert len(other.Scan(TableName=table)["Items"]) == 20
        assert ready_status(server) == 503
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0


@pytest.mark.parametrize("options, seconds", [([], 1.5), (["--drain-ms", "1000"], 1)])
def test_the_server_stops_after_the_time_of_draining(database, name, options, seconds, monkeypatch):
    monkeypatch.delenv("GRAMME_DRAIN_MS", raising=False)
    with Process(program(), "serve", "--listen", "127.0.0.1:0", "--store", database.uri(name), *options) as server:
        started = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        poll(lambda: ready_status(server) == 503, 30, "ready says no")
        assert server.process.wait(60) == 0
        assert time.monotonic() - started >= seconds


def test_a_server_alone_stops_at_once(monkeypatch):
    monkeypatch.delenv("GRAMME_DRAIN_MS", raising=False)
    seconds = []
    while not seconds or min(seconds) >= 1 and len(seconds) < 5:  # again, if the machine held it up
        with Process(program(), "serve", "--listen", "127.0.0.1:0", "--store", "memory:") as server:
            started = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(60) == 0
            seconds.append(time.monotonic() - started)
    assert min(seconds) < 1


# --- what others do to the rows ---


def test_a_row_that_is_locked_for_long_is_a_conflict(database, name):
    command = [str(database.bin / "psql"), "-XAtq", database.uri(name)]
    with Server(database.uri(name)) as server, Client(server.endpoint) as db, \
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as session:
        table = create_table(db)
        db.PutItem(TableName=table, Item=item(pk="p"))
        print("BEGIN; SELECT count(*) FROM (SELECT 1 FROM gramme.kv WHERE k >= '\\x00000010' FOR UPDATE) AS rows;", file=session.stdin,
              flush=True)
        assert int(session.stdout.readline()) > 0
        seconds = []
        while not seconds or min(seconds) >= 5 and len(seconds) < 5:  # again, if the machine held the answer up
            started = time.monotonic()
            with refused("TransactionConflictException"):
                db.PutItem(TableName=table, Item=item(pk="p", n=1))
            seconds.append(time.monotonic() - started)
        assert 0.9 < min(seconds) < 5
        assert plain(db.GetItem(TableName=table, Key=item(pk="p"), ConsistentRead=True)["Item"]) == {"pk": "p"}
        print("ROLLBACK;", file=session.stdin, flush=True)
        session.stdin.close()
        session.wait()
        db.PutItem(TableName=table, Item=item(pk="p", n=1))


def test_a_commit_that_is_not_decided_in_time_is_an_error(database, name):
    """PostgreSQL gets COMMIT and is not reached any more: after 10 s the answer is 500, and the write may have happened."""
    with CuttingProxy(database.port, 1) as proxy:
        url = database.uri(name).replace(f":{database.port}/", f":{proxy.port}/")
        with Server(with_parameter(url, "sslmode=disable")) as server, Client(server.endpoint) as db:
            table = create_table(db)
            proxy.freeze_at_commit(b"undecided")
            started = time.monotonic()
            with pytest.raises(Refused) as error:
                db.PutItem(TableName=table, Item=item(pk="undecided"))
            assert error.value.status == 500
            assert 5 < time.monotonic() - started < 20
            proxy.thaw()
            poll(lambda: ready_status(server) == 200, 60, "the server serves again")
            assert len(db.Scan(TableName=table, ConsistentRead=True)["Items"]) == 1
            db.PutItem(TableName=table, Item=item(pk="q"))
            assert db.DescribeTable(TableName=table)["Table"]["ItemCount"] == 2


# --- the leader's work ---


def test_large_rows_of_a_dropped_table_are_deleted_in_pieces(database, name):
    """A long statement would delay the heartbeats. A trigger notes what each statement deletes."""
    with Server(database.uri(name)) as server, Client(server.endpoint) as db:
        table = create_table(db)
        for i in range(60):
            db.PutItem(TableName=table, Item=item(pk=f"p{i}", v="x" * 390_000))
        database.sql("""
            CREATE TABLE public.deleted (bytes int8);
            CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                INSERT INTO public.deleted SELECT sum(octet_length(v)) FROM old HAVING count(*) > 0; RETURN NULL; END $$;
            CREATE TRIGGER note AFTER DELETE ON gramme.kv REFERENCING OLD TABLE AS old FOR EACH STATEMENT
                EXECUTE FUNCTION public.note()""", name)
        db.DeleteTable(TableName=table)
        poll(lambda: int(database.sql("SELECT count(*) FROM gramme.kv WHERE octet_length(v) > 300000", name)) == 0, 60,
             "the rows are deleted", pause=0.1)
        assert int(database.sql("SELECT sum(bytes) FROM public.deleted", name)) >= 60 * 390_000
        assert int(database.sql("SELECT max(bytes) FROM public.deleted", name)) < 6 << 20
