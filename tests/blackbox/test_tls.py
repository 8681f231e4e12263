"""TLS: versions, protocols, certificates and their reload, what is refused, and that HTTP works over it as it does
over plain connections. Clients are Python's ssl, boto3, curl and openssl s_client."""

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import threading
import time

import boto3
import pytest

from boto_config import boto3_config
from certificates import Authority, client_context
from server import TlsServer, program
from signing import KEY_ID, SECRET, SignedClient, write_users
from tables import create_table
from waiting import poll
from wire import Client, Connection, Refused, request_bytes

VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]
HANDSHAKE_SECONDS = 10  # the server's deadline


@pytest.fixture(autouse=True)
def own_servers():
    if "GRAMME_ENDPOINT" in os.environ:
        pytest.skip("needs a server of its own")


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def authority(directory):
    return Authority(directory)


@pytest.fixture(scope="module")
def certificate(authority):
    return authority.make("server")


@pytest.fixture(scope="module")
def server(certificate):
    with TlsServer(certificate, "--log-level", "debug") as started:
        yield started


@pytest.fixture
def tls(authority):
    return client_context(authority)


@pytest.fixture
def db(server, tls):
    with Client(server.tls_endpoint, tls=tls) as client:
        yield client


def serves(server, tls):
    with Client(server.tls_endpoint, tls=tls) as client:
        return "TableNames" in client.ListTables()


def openssl_client(port, *options, stdin=b"", timeout=30):
    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *map(str, options)], input=stdin,
                          capture_output=True, timeout=timeout, check=False)
    return done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")


# Versions and protocols ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ec", "rsa"])
@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_versions_and_kinds_of_keys(authority, kind, version):
    with TlsServer(authority.make(f"key-{kind}", kind)) as started:
        with Client(started.tls_endpoint, tls=client_context(authority, version)) as client:
            assert client.connection.socket.version() == {VERSIONS[0]: "TLSv1.2", VERSIONS[1]: "TLSv1.3"}[version]
            assert client.ListTables() == {"TableNames": []}


def test_older_versions_are_refused(server):
    for option in ("-tls1", "-tls1_1"):
        text = openssl_client(server.tls_port, option, "-cipher", "ALL:@SECLEVEL=0")
        assert "Cipher is (NONE)" in text, text


def test_ciphers_of_tls_1_2_have_forward_secrecy(server):
    for cipher in ("AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA256", "DHE-RSA-AES128-GCM-SHA256"):
        text = openssl_client(server.tls_port, "-tls1_2", "-cipher", f"{cipher}:@SECLEVEL=0")
        assert "Cipher is (NONE)" in text, text
    assert "Cipher is ECDHE-ECDSA-AES256-GCM" in openssl_client(server.tls_port, "-tls1_2")


@pytest.mark.parametrize(("offered", "chosen"), [([], None), (["http/1.1"], "http/1.1"),
                                                 (["h2", "http/1.1"], "http/1.1")], ids=str)
def test_alpn(server, authority, offered, chosen):
    context = client_context(authority)
    if offered:
        context.set_alpn_protocols(offered)
    with Client(server.tls_endpoint, tls=context) as client:
        assert client.connection.socket.selected_alpn_protocol() == chosen
        assert "TableNames" in client.ListTables()


def test_a_client_that_speaks_other_protocols_only_is_refused(server, authority):
    context = client_context(authority)
    context.set_alpn_protocols(["h2"])
    with pytest.raises(ssl.SSLError, match="no application protocol"):
        Connection(server.tls_endpoint, tls=context)


def test_sessions_are_resumed(server, authority):
    context = client_context(authority)
    with Client(server.tls_endpoint, tls=context) as client:
        client.ListTables()  # the ticket comes with the first bytes
        session = client.connection.socket.session
    raw = socket.create_connection(("127.0.0.1", server.tls_port), 30)
    with context.wrap_socket(raw, server_hostname="127.0.0.1", session=session) as again:
        assert again.session_reused


# Clients ------------------------------------------------------------------------------------------------------------


def test_boto3(server, authority):
    client = boto3.client("dynamodb", endpoint_url=server.tls_endpoint, verify=str(authority.file), **boto3_config())
    assert client.list_tables()["TableNames"] is not None
    for name in ("127.0.0.1", "localhost"):
        url = f"https://{name}:{server.tls_port}"
        assert boto3.client("dynamodb", endpoint_url=url, verify=str(authority.file), **boto3_config()).list_tables()


def test_curl_and_the_pages(server, authority):
    for target in ("/_gramme/ready", "/_gramme/", "/metrics"):
        done = subprocess.run(["curl", "-sS", "--fail", "--cacert", authority.file, server.tls_endpoint + target],
                              capture_output=True, timeout=60, check=False)
        assert done.returncode == 0, (target, done.stderr)


def test_auth_on_at_an_address_for_everybody(authority, certificate, directory):
    users = write_users(directory / "users.json", [("root", KEY_ID, SECRET, [])])
    arguments = ["--auth", "on", "--users", users, "--listen", "https://0.0.0.0:0"]
    with TlsServer(certificate, *arguments) as started:
        config = {**boto3_config(), "aws_access_key_id": KEY_ID, "aws_secret_access_key": SECRET}
        client = boto3.client("dynamodb", endpoint_url=started.tls_endpoint, verify=str(authority.file), **config)
        assert client.list_tables()["TableNames"] == []
        assert "https://0.0.0.0:" in started.log()


def test_policies_know_whether_it_is_tls(authority, certificate, directory):
    only_by_tls = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "dynamodb:ListTables", "Resource": "*",
                                                           "Condition": {"Bool": {"aws:SecureTransport": "true"}}}]}
    users = write_users(directory / "secure.json", [("somebody", KEY_ID, SECRET, ["only-by-tls"])],
                        policies={"only-by-tls": only_by_tls})
    with TlsServer(certificate, "--auth", "on", "--users", users) as started:
        with SignedClient(started.tls_endpoint, tls=client_context(authority)) as client:
            assert client.ListTables() == {"TableNames": []}
        with SignedClient(started.endpoint) as client, pytest.raises(Refused, match="AccessDenied"):
            client.ListTables()


# What is refused ----------------------------------------------------------------------------------------------------


def test_a_client_that_does_not_trust_the_certificate(server, directory, tls):
    other = Authority(directory, "Other")
    for _ in range(20):
        with pytest.raises(ssl.SSLCertVerificationError):
            Connection(server.tls_endpoint, tls=client_context(other))
    assert serves(server, tls)


def test_plain_http_on_the_port_of_tls(server, tls):
    connection = Connection(f"http://127.0.0.1:{server.tls_port}")
    connection.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    answer = connection.read_answer()
    assert (answer.status, answer.body) == (400, b"400 Bad Request: this port speaks https (TLS).\n")
    assert connection.is_closed_by_server()
    assert serves(server, tls)


@pytest.mark.parametrize("noise", [b"\x00" * 100, b"\x16\x03\x01\xff\xff" + b"A" * 70_000, 
                                   b"\x15\x03\x03\x00\x02\x02\x28", b"SSH-2.0-x\r\n", b"\x16\x03\x01\x00\x00" * 200],
                         ids=lambda noise: noise[:6].hex())
def test_noise_on_the_port_of_tls(server, tls, noise):
    raw = socket.create_connection(("127.0.0.1", server.tls_port), 30)
    try:
        raw.sendall(noise)
        while raw.recv(65536):  # at most an alert, then the end
            pass
    except ConnectionError:
        pass
    raw.close()
    assert serves(server, tls)


def test_tls_on_the_plain_port(server, tls):
    with pytest.raises(ssl.SSLError):
        Connection(f"https://127.0.0.1:{server.port}", tls=tls)
    with Client(server.endpoint) as client:
        assert "TableNames" in client.ListTables()


def test_renegotiation_is_refused(server, tls):
    text = openssl_client(server.tls_port, "-tls1_2", stdin=b"R\n")
    assert "RENEGOTIATING" in text and "no renegotiation" in text, text
    assert serves(server, tls)


def client_hello(context):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    handshake = context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    with pytest.raises(ssl.SSLWantReadError):
        handshake.do_handshake()
    return outgoing.read()


def test_half_handshakes_hold_nobody_up_and_end(server, tls, db):
    """Clients that say nothing, half of a greeting, or a whole one and then nothing, are disconnected at the deadline;
    others are served meanwhile."""
    hello = client_hello(tls)
    begun = time.monotonic()
    held = []
    for i in range(150):
        raw = socket.create_connection(("127.0.0.1", server.tls_port), 3 * HANDSHAKE_SECONDS)
        raw.sendall([b"", hello[:len(hello) // 2], hello, hello[:1]][i % 4])
        held.append(raw)
    slowest = 0
    for _ in range(50):
        before = time.monotonic()
        db.ListTables()
        assert serves(server, tls)
        slowest = max(slowest, time.monotonic() - before)
    assert slowest < HANDSHAKE_SECONDS / 2
    for raw in held:
        while raw.recv(65536):
            pass
        raw.close()
    took = time.monotonic() - begun
    assert HANDSHAKE_SECONDS / 2 < took < 2.5 * HANDSHAKE_SECONDS


def test_a_handshake_byte_by_byte(server, tls):
    """Works, if it is quick enough."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    channel = tls.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    raw = socket.create_connection(("127.0.0.1", server.tls_port), 30)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send():
        for byte in outgoing.read():
            raw.sendall(bytes([byte]))

    def until_done(step):
        while True:
            try:
                result = step()
                send()
                return result
            except ssl.SSLWantReadError:
                send()
                incoming.write(raw.recv(65536))
    until_done(channel.do_handshake)
    channel.write(request_bytes("127.0.0.1", "ListTables", b"{}"))
    send()
    assert until_done(lambda: channel.read(1000)).startswith(b"HTTP/1.1 200 OK\r\n")
    raw.close()


def thread_times(pid):
    """Nanoseconds of processor time by the name of the thread."""
    times = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        name = (task / "comm").read_text().strip()
        times[name] = times.get(name, 0) + int((task / "schedstat").read_text().split()[0])
    return times


def test_network_threads_do_not_wait_for_handshake_threads(certificate, tls):
    """Handshake threads have a low priority. A network thread that spun until one of them has returned from waking it
    would take twice the time of the handshakes themselves; on one processor it would each time."""
    if not pathlib.Path("/proc/self/schedstat").exists():
        pytest.skip("the kernel does not count the time of threads")
    with TlsServer(certificate) as started:
        pid = started.process.pid
        for task in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(task), {min(os.sched_getaffinity(pid))})
        assert serves(started, tls)
        before = thread_times(pid)
        for _ in range(300):
            with socket.create_connection(("127.0.0.1", started.tls_port), 30) as raw:
                tls.wrap_socket(raw, server_hostname="127.0.0.1").close()
        after = thread_times(pid)
    taken = {name: after[name] - before.get(name, 0) for name in after}
    assert taken["http-network"] < taken["http-handshake"], taken


# HTTP over TLS ------------------------------------------------------------------------------------------------------


def test_pipelining(db):
    name = create_table(db)
    requests = b"".join(request_bytes("127.0.0.1", "PutItem", json.dumps(
        {"TableName": name, "Item": {"pk": {"S": str(i)}, "v": {"S": "x" * (i * 37 % 3000)}}}).encode())
        for i in range(100))
    requests += b"".join(request_bytes("127.0.0.1", "GetItem", json.dumps(
        {"TableName": name, "Key": {"pk": {"S": str(i)}}}).encode()) for i in range(100))
    db.connection.send(requests)  # on this thread: Python's TLS sockets cannot be read and written at the same time
    answers = [db.connection.read_answer() for _ in range(200)]
    assert [answer.status for answer in answers] == [200] * 200
    for i, answer in enumerate(answers[100:]):
        assert answer.json()["Item"]["v"] == {"S": "x" * (i * 37 % 3000)}


def test_requests_in_tiny_records(db):
    request = request_bytes("127.0.0.1", "ListTables", b"{}" + b" " * 500) * 3
    for i in range(0, len(request), 7):
        db.connection.send(request[i:i + 7])
    assert [db.connection.read_answer().status for _ in range(3)] == [200] * 3


def test_large_bodies_and_answers(server, db):
    """What comes by TLS is what comes by a plain connection: 10 MB of items in, 10 MB out, and a body of 16 MB."""
    name = create_table(db)
    items = [{"pk": {"S": str(i)}, "v": {"S": chr(ord("a") + i) * 390_000}} for i in range(25)]
    written = db.BatchWriteItem(RequestItems={name: [{"PutRequest": {"Item": item}} for item in items]})
    assert written["UnprocessedItems"] == {}
    keys = {name: {"Keys": [{"pk": item["pk"]} for item in items]}}
    by_key = {item["pk"]["S"]: item for item in items}
    for _ in range(3):
        got = db.BatchGetItem(RequestItems=keys)
        assert got["UnprocessedKeys"] == {}
        assert {item["pk"]["S"]: item for item in got["Responses"][name]} == by_key
    padded = json.dumps({"TableName": name, "Key": {"pk": {"S": "1"}}}).encode().ljust(16 << 20)
    assert db.send("GetItem", padded).json()["Item"] == items[1]
    with Client(server.endpoint) as plain:
        assert plain.send("GetItem", padded).json()["Item"] == items[1]
    assert db.send("GetItem", padded + b" ").status == 413


def test_many_large_answers_to_a_slow_reader(server, tls, db):
    """Pipelined answers that the client reads late come whole and in order; others are served meanwhile."""
    name = create_table(db)
    for i in range(8):
        db.PutItem(TableName=name, Item={"pk": {"S": str(i)}, "v": {"S": str(i) * 390_000}})
    with Client(server.tls_endpoint, tls=tls) as slow:
        slow.connection.send(b"".join(request_bytes("127.0.0.1", "GetItem", json.dumps(
            {"TableName": name, "Key": {"pk": {"S": str(i % 8)}}}).encode()) for i in range(40)))
        for _ in range(20):
            assert serves(server, tls)
        for i in range(40):
            assert slow.connection.read_answer().json()["Item"]["v"]["S"] == str(i % 8) * 390_000


def test_answers_that_nobody_reads_are_bounded(server, tls, db):
    """A client that sends requests for much and reads nothing does not make the server hold it all."""
    name = create_table(db)
    db.PutItem(TableName=name, Item={"pk": {"S": "a"}, "v": {"S": "v" * 390_000}})
    request = request_bytes("127.0.0.1", "GetItem", json.dumps({"TableName": name, "Key": {"pk": {"S": "a"}}}).encode())
    with Client(server.tls_endpoint, tls=tls) as deaf:
        deaf.connection.socket.settimeout(1)
        with pytest.raises(TimeoutError):
            for _ in range(1000):
                deaf.connection.send(request * 20)
        with contextlib.closing(Connection(server.endpoint)) as plain:
            plain.send(b"GET /_gramme/ready HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert plain.read_answer().json()["memoryBytes"] < 32 << 20


# The end of a connection --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_the_server_says_that_it_ends(server, authority, version):
    """After "Connection: close", after an error that ends the connection, and on an answer to the client's end."""
    for request in (request_bytes("127.0.0.1", "ListTables", b"{}", "Connection: close\r\n"), b"BAD\r\n\r\n"):
        connection = Connection(server.tls_endpoint, tls=client_context(authority, version))
        connection.send(request)
        connection.read_answer()
        assert connection.socket.recv(100) == b""  # without close_notify it would raise SSLEOFError
        connection.close()
    connection = Connection(server.tls_endpoint, tls=client_context(authority, version))
    connection.send(request_bytes("127.0.0.1", "ListTables", b"{}"))
    connection.read_answer()
    connection.socket.unwrap().close()  # waits for the server's close_notify


def test_a_client_that_ends_its_side_gets_its_answer(server, tls):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    channel = tls.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    raw = socket.create_connection(("127.0.0.1", server.tls_port), 30)
    while True:
        try:
            channel.do_handshake()
            break
        except ssl.SSLWantReadError:
            raw.sendall(outgoing.read())
            incoming.write(raw.recv(65536))
    channel.write(request_bytes("127.0.0.1", "ListTables", b"{}"))
    with pytest.raises(ssl.SSLWantReadError):
        channel.unwrap()
    raw.sendall(outgoing.read())  # the request and close_notify at once
    data = b""
    while more := raw.recv(65536):
        data += more
    assert len(data) > 150 and b"HTTP/1.1" not in data  # the answer, encrypted, and the end
    raw.close()


def test_connections_cut_off(server, tls):
    """Without close_notify, and in the middle of a record."""
    for cut in (0, 3, 50):
        connection = Connection(server.tls_endpoint, tls=tls)
        connection.send(request_bytes("127.0.0.1", "ListTables", b"{}"))
        connection.read_answer()
        raw = socket.socket(fileno=connection.socket.detach())
        raw.sendall(b"\x17\x03\x03\x00\x60" + b"x" * cut)
        raw.close()
    connection = Connection(server.tls_endpoint, tls=tls)
    raw = socket.socket(fileno=connection.socket.detach())
    raw.settimeout(30)
    raw.sendall(b"\x17\x03\x03\x00\x60" + b"x" * 0x60)  # does not decrypt
    while raw.recv(65536):
        pass
    raw.close()
    assert serves(server, tls)


def test_stopping_with_open_connections(authority, certificate):
    context = client_context(authority)
    started = TlsServer(certificate)
    idle = [Client(started.tls_endpoint, tls=context) for _ in range(10)]
    half = [socket.create_connection(("127.0.0.1", started.tls_port)) for _ in range(10)]
    for raw in half:
        raw.sendall(client_hello(context)[:100])
    idle[0].ListTables()
    started.stop(20)
    for client in idle:
        client.connection.socket.settimeout(10)
        assert client.connection.socket.recv(100) == b""
    for raw in half:
        raw.close()


def test_idle_connections_cost_little_memory(server, tls):
    def resident():
        with open(f"/proc/{server.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    assert serves(server, tls)
    before = resident()
    connections = [Connection(server.tls_endpoint, tls=tls) for _ in range(400)]
    for connection in connections:
        connection.send(request_bytes("127.0.0.1", "ListTables", b"{}"))
        connection.read_answer()
    each = (resident() - before) / len(connections)
    for connection in connections:
        connection.close()
    if "asan" not in program():
        assert each < 64 << 10


# Certificates -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_client_certificates(authority, certificate, directory, version):
    ours, theirs = authority.make("client"), Authority(directory, "Stranger").make("stranger")
    with TlsServer(certificate, "--tls-client-ca", str(authority.file)) as started:
        with Client(started.tls_endpoint, tls=client_context(authority, version, ours)) as client:
            assert client.ListTables() == {"TableNames": []}
        for other in (None, theirs):
            with pytest.raises((ssl.SSLError, ConnectionError)):  # TLS 1.3 tells the client at its first read
                with Client(started.tls_endpoint, tls=client_context(authority, version, other)) as client:
                    client.ListTables()
        with Client(started.endpoint) as client:  # the plain listener needs none
            assert client.ListTables() == {"TableNames": []}


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_client_certificates_are_recorded(authority, certificate, directory, version, tmp_path):
    """Accepted ones, also in a resumed session, and refused ones; not clients of other listeners."""
    ours, theirs = authority.make("known"), Authority(directory, "Outsider").make("outsider")
    audit = tmp_path / "audit.log"
    with TlsServer(certificate, "--tls-client-ca", str(authority.file), "--audit", str(audit)) as started:
        context = client_context(authority, version, ours)
        with Client(started.tls_endpoint, tls=context) as client:
            client.ListTables()
            client.ListTables()
            session = client.connection.socket.session
        with context.wrap_socket(socket.create_connection(("127.0.0.1", started.tls_port), 30), server_hostname="127.0.0.1",
                                 session=session) as again:
            assert again.session_reused
            again.sendall(request_bytes("127.0.0.1", "ListTables", b"{}"))
            assert again.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")
        for other in (None, theirs):
            with pytest.raises((ssl.SSLError, ConnectionError)), \
                    Client(started.tls_endpoint, tls=client_context(authority, version, other)) as client:
                client.ListTables()
        plain = socket.create_connection(("127.0.0.1", started.tls_port), 30)  # does not come so far
        plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert plain.recv(1000)
        plain.close()
        with Client(started.endpoint) as client:
            client.ListTables()
        poll(lambda: len(audit.read_text().splitlines()) >= 4, 20, "the lines are written")
    entries = [json.loads(line) for line in audit.read_text().splitlines()]
    assert {(entry["service"], entry["operation"], entry["sourceIp"]) for entry in entries} == {("tls", "ClientCertificate", "127.0.0.1")}
    assert [(entry.get("resource"), entry["status"], entry.get("error")) for entry in entries] == [
        ("CN=known", 200, None), ("CN=known", 200, None), (None, 403, "AccessDeniedException"),
        ("CN=outsider", 403, "AccessDeniedException")]
    reasons = [entry.get("reason") for entry in entries]
    assert reasons[:3] == [None, None, "peer did not return a certificate"]
    assert reasons[3].startswith("certificate verify failed: ")


def test_reloads_of_certificates_are_recorded(authority, directory, tmp_path):
    current, audit = (directory / "noted.crt", directory / "noted.key"), tmp_path / "audit.log"
    for source, target in zip(authority.make("noted-first"), current):
        target.write_bytes(source.read_bytes())
        target.chmod(0o600)
    with TlsServer(current, "--audit", str(audit)) as started:
        assert serves(started, client_context(authority))  # without --tls-client-ca there is no line
        for count in (1, 2):
            started.process.send_signal(signal.SIGHUP)
            poll(lambda: len(audit.read_text().splitlines()) == 2 * count, 30, "the lines are written")
            current[0].write_text("nonsense")
    entries = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [(entry["operation"], entry["resource"], entry["status"]) for entry in entries] == [
        ("Reload", "settings", 200), ("Reload", "certificates", 200), ("Reload", "settings", 200), ("Reload", "certificates", 500)]
    assert "cannot read the TLS certificate" in entries[3]["reason"]


def serial_at(port):
    return ssl.get_server_certificate(("127.0.0.1", port))


def test_reload_under_load(authority, directory):
    """SIGHUP gives new connections the new certificate; those that are open go on, and no request fails."""
    current = directory / "reloaded.crt", directory / "reloaded.key"
    versions = [authority.make("first"), authority.make("second", "rsa")]

    def install(version):
        for source, target in zip(versions[version], current):
            temporary = target.with_suffix(".new")
            temporary.write_bytes(source.read_bytes())
            temporary.chmod(0o600)
            temporary.rename(target)
    install(0)
    context = client_context(authority)
    with TlsServer(current) as started:
        done, failures, counts = threading.Event(), [], [0] * 6

        def kept(number):
            try:
                with Client(started.tls_endpoint, tls=context) as client:
                    while not done.is_set():
                        client.ListTables()
                        counts[number] += 1
            except Exception as error:  # pylint: disable=broad-except
                failures.append(error)

        def fresh(number):
            try:
                while not done.is_set():
                    assert serves(started, context)
                    counts[number] += 1
            except Exception as error:  # pylint: disable=broad-except
                failures.append(error)
        threads = [threading.Thread(target=kept if i < 4 else fresh, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for round_number in range(1, 9):
            wanted = versions[round_number % 2][0].read_text()
            install(round_number % 2)
            started.process.send_signal(signal.SIGHUP)
            poll(lambda: wanted.strip() == serial_at(started.tls_port).strip(), 30, "the other certificate")
        enough = [count + 20 for count in counts]
        poll(lambda: failures or all(count >= least for count, least in zip(counts, enough)), 60, "requests go on")
        done.set()
        for thread in threads:
            thread.join()
        assert failures == []


def test_a_bad_certificate_changes_nothing(authority, directory):
    current = directory / "kept.crt", directory / "kept.key"
    for source, target in zip(authority.make("good"), current):
        target.write_bytes(source.read_bytes())
        target.chmod(0o600)
    good = current[0].read_text()
    with TlsServer(current) as started:
        for content in ("nonsense", authority.make("unrelated")[0].read_text(), ""):
            current[0].write_text(content)
            lines = started.log().count("SIGHUP: not read again: certificates")
            started.process.send_signal(signal.SIGHUP)
            poll(lambda: started.log().count("SIGHUP: not read again: certificates") > lines, 30, "the server refuses it")
            assert serial_at(started.tls_port).strip() == good.strip()
            assert serves(started, client_context(authority))
        assert "is not that of the key" in started.log()
        assert f"cannot read the TLS certificate {current[0]}: no start line" in started.log()
        current[0].unlink()
        started.process.send_signal(signal.SIGHUP)
        poll(lambda: f"cannot read the TLS certificate {current[0]}: No such file or directory" in started.log(), 30,
             "the log says that the file is gone")
        assert serves(started, client_context(authority))


def refused_start(*options):
    done = subprocess.run([program(), "serve", "--store", "memory:", *map(str, options)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    return done.stdout + done.stderr


def test_settings_that_make_no_sense(authority, certificate, directory):
    cert, key = certificate
    secure = ["--listen", "https://127.0.0.1:0"]
    other_key = authority.make("another")[1]
    open_key = directory / "open.key"
    open_key.write_bytes(key.read_bytes())
    open_key.chmod(0o644)
    locked_key = directory / "locked.key"
    subprocess.run(["openssl", "ec", "-in", key, "-aes256", "-passout", "pass:secret", "-out", locked_key], check=True,
                   capture_output=True)
    missing = directory / "missing.pem"
    for options, text in [
            (secure, "needs --tls-cert and --tls-key"),
            ([*secure, "--tls-cert", cert], "needs --tls-cert and --tls-key"),
            (["--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key], "which is missing"),
            (["--listen", "127.0.0.1:0", "--tls-client-ca", cert], "which is missing"),
            ([*secure, "--tls-cert", missing, "--tls-key", key], "cannot read the TLS certificate"),
            ([*secure, "--tls-cert", cert, "--tls-key", missing], "cannot read the TLS key"),
            ([*secure, "--tls-cert", key, "--tls-key", key], "cannot read the TLS certificate"),
            ([*secure, "--tls-cert", cert, "--tls-key", other_key], "is not that of the key"),
            ([*secure, "--tls-cert", cert, "--tls-key", open_key], "use chmod 600"),
            ([*secure, "--tls-cert", cert, "--tls-key", locked_key], "must not have a passphrase"),
            ([*secure, "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", missing], "client authorities"),
            ([*secure, "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", key], "client authorities"),
            (["--listen", "https://0.0.0.0:0", "--tls-cert", cert, "--tls-key", key], "use --auth on"),
            (["--listen", "ftp://127.0.0.1:0"], "is not a valid value for listen"),
            (["--listen", "https://127.0.0.1"], "is not a valid value for listen"),
            (["--listen", ",".join(["127.0.0.1:0"] * 9)], "at most 8")]:
        assert text in refused_start(*options), options


def test_several_plain_listeners(start_server):
    server = start_server("memory:", "--listen", "http://127.0.0.1:0", "--listen", "[::1]:0")
    endpoints = re.findall(r"http://[^ ,/]+", server.log().split("serves ")[1].split(" from ")[0])
    assert [endpoint.rsplit(":", 1)[0] for endpoint in endpoints] == ["http://127.0.0.1"] * 2 + ["http://[::1]"]
    for endpoint in endpoints:
        with Client(endpoint) as client:
            assert "TableNames" in client.ListTables()


def test_an_address_that_is_taken(server, certificate):
    text = refused_start("--listen", "127.0.0.1:0", "--listen", f"https://127.0.0.1:{server.tls_port}", "--tls-cert",
                         certificate[0], "--tls-key", certificate[1])
    assert "another server listens there" in text


# The commands -------------------------------------------------------------------------------------------------------


def gramme(*arguments, **environment):
    return subprocess.run([program(), *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, **environment})


def test_commands_on_a_server_with_tls(authority, certificate, directory):
    master = {"GRAMME_MASTER_KEY": "00112233445566778899aabbccddeeff" * 2}
    first = {"GRAMME_ROOT_ACCESS_KEY_ID": KEY_ID, "GRAMME_ROOT_SECRET_ACCESS_KEY": SECRET}
    keys = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}
    other = Authority(directory, "Unknown")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**master, **first}.items():
            patch.setenv(name, value)
        started = TlsServer(certificate, "--auth", "on", store=f"rocksdb:{directory}/commands")
    with started:
        for endpoint in (started.tls_endpoint, f"https://localhost:{started.tls_port}/"):
            for command in (["user", "list"], ["patterns", "record"], ["top", "--once"]):
                done = gramme(*command, "--endpoint", endpoint, "--ca-file", authority.file, **keys)
                assert done.returncode == 0, (command, done.stderr)
                done = gramme(*command, GRAMME_ENDPOINT=endpoint, AWS_CA_BUNDLE=str(authority.file), **keys)
                assert done.returncode == 0, (command, done.stderr)
                for trusted in ([], ["--ca-file", other.file]):
                    done = gramme(*command, "--endpoint", endpoint, *trusted, **keys)
                    assert done.returncode != 0 and "certificate" in done.stderr, (command, done.stderr)
                done = gramme(*command, "--endpoint", endpoint, "--ca-file", "/no/such/file", **keys)
                assert done.returncode != 0 and "/no/such/file" in done.stderr, (command, done.stderr)
        wrong = f"https://127.0.0.2:{started.tls_port}"  # the certificate does not name it; nor is it listened on
        assert "cannot connect" in gramme("user", "list", "--endpoint", wrong, **keys).stderr
        done = gramme("user", "list", "--endpoint", f"https://127.0.0.1:{started.port}", **keys)
        assert done.returncode != 0 and "by TLS" in done.stderr


def test_a_certificate_for_another_host(authority, directory):
    cert, key = authority.make("elsewhere")
    (directory / "elsewhere.ext").write_text("subjectAltName=DNS:db.example.com\n")
    subprocess.run(["openssl", "x509", "-req", "-in", directory / "elsewhere.csr", "-CA", authority.file, "-CAkey",
                    authority.key, "-CAcreateserial", "-extfile", directory / "elsewhere.ext", "-out", cert], check=True,
                   capture_output=True)
    with TlsServer((cert, key)) as started:
        for host in ("127.0.0.1", "localhost"):
            done = gramme("top", "--once", "--endpoint", f"https://{host}:{started.tls_port}", "--ca-file",
                          authority.file)
            assert done.returncode != 0 and "mismatch" in done.stderr, done.stderr
