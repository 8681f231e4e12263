"""--auth: who may send requests. Modes, SigV4 in header and query with the service's errors in its order, and what
a signature covers: every bit of it."""

import collections
import gzip
import itertools
import json
import re
import signal
import socket
import subprocess
from urllib.parse import unquote_to_bytes

import boto3
import pytest
from botocore.exceptions import ClientError

from boto_config import boto3_config
from server import Process, Server, program
from signing import (KEY_ID, SECRET, SignedClient, now, presigned_target, request_bytes, signed_headers,
                     write_users)
from tables import table_request
from waiting import poll
from wire import Connection, Refused

TOKEN_TEXT = "The security token included in the request is invalid."
MISMATCH = ("The request signature we calculated does not match the signature you provided. Check your AWS Secret "
            "Access Key and signing method. Consult the service documentation for details.")
LIST = b"{}"


@pytest.fixture(scope="module")
def users_file(tmp_path_factory):
    return write_users(tmp_path_factory.mktemp("users") / "users.json", [
        ("root", KEY_ID, SECRET, []),
        {"name": "off", "keys": [{"id": "AKIADISABLED", "secret": SECRET, "disabled": True}]},
        {"name": "gone", "disabled": True, "keys": [{"id": "AKIAUSERDISABLED", "secret": SECRET}]}])


@pytest.fixture(scope="module")
def server(users_file):
    with Server("memory:", "--auth", "on", "--users", users_file) as started:
        yield started


@pytest.fixture
def client(server):
    with SignedClient(server.endpoint) as connected:
        yield connected


def send(server, headers, body=LIST, target="/"):
    connection = Connection(server.endpoint)
    try:
        connection.send(request_bytes(headers, body, target))
        return connection.read_answer()
    finally:
        connection.socket.close()


def refusal(answer):
    body = answer.json()
    assert answer.status == 400, answer.body
    return body["__type"].partition("#")[2], body.get("message", body.get("Message"))


def host_of(server):
    return f"127.0.0.1:{server.port}"


# --- accepted ---

def test_signed_requests_are_carried_out(client):
    client.CreateTable(TableName="Music", BillingMode="PAY_PER_REQUEST",
                       AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                       KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}])
    client.PutItem(TableName="Music", Item={"pk": {"S": "a"}, "n": {"N": "1"}})
    assert client.GetItem(TableName="Music", Key={"pk": {"S": "a"}})["Item"]["n"] == {"N": "1"}
    client.DeleteTable(TableName="Music")


def test_boto3_signs_and_is_accepted(server):
    boto = boto3.client("dynamodb", endpoint_url=server.endpoint,
                        **{**boto3_config(), "aws_access_key_id": KEY_ID, "aws_secret_access_key": SECRET})
    assert boto.list_tables()["TableNames"] == []
    streams = boto3.client("dynamodbstreams", endpoint_url=server.endpoint,
                           **{**boto3_config(), "aws_access_key_id": KEY_ID, "aws_secret_access_key": SECRET})
    assert streams.list_streams()["Streams"] == []


def test_a_signature_in_the_query_is_accepted(server):
    target, headers = presigned_target(host_of(server), "ListTables", LIST)
    assert send(server, headers, target=target).status == 200
    assert refusal(send(server, headers, b'{"Limit":1}', target))[0] == "InvalidSignatureException"
    changed = target.replace("X-Amz-Expires=300", "X-Amz-Expires=301")
    assert refusal(send(server, headers, target=changed))[0] == "InvalidSignatureException"


def test_the_signature_covers_the_compressed_body(server):
    body = gzip.compress(b'{"Limit":1}')
    headers = signed_headers(host_of(server), "ListTables", body, more={"content-encoding": "gzip"})
    assert send(server, headers, body).status == 200
    other = gzip.compress(b'{"Limit":2}')
    assert refusal(send(server, headers, other)) == ("InvalidSignatureException", MISMATCH)


def test_a_body_in_chunks_is_hashed_whole(server):
    headers = signed_headers(host_of(server), "ListTables", b'{"Limit":1}')
    connection = Connection(server.endpoint)
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    connection.send(f"POST / HTTP/1.1\r\n{head}transfer-encoding: chunked\r\n\r\n4\r\n{{\"Li\r\n".encode())
    connection.send(b"7\r\nmit\":1}\r\n0\r\n\r\n")
    assert connection.read_answer().status == 200
    connection.socket.close()


def test_a_large_body_is_verified(server):
    with SignedClient(server.endpoint) as client:
        body = json.dumps({"ExclusiveStartTableName": "a" * 200, "x": "y" * 300_000}).encode()
        assert client.post("ListTables", body).status == 200
    headers = signed_headers(host_of(server), "ListTables", body)
    assert refusal(send(server, headers, body[:-5] + b'z"  }'))[1] == MISMATCH


def test_the_published_vector(users_file, tmp_path):
    """Key, time, body and signature of a request that botocore signs alike; its host is part of what is signed."""
    users = write_users(tmp_path / "users.json", [("root", "AKIDEXAMPLE", SECRET, [])])
    with Server("memory:", "--auth", "on", "--users", users, "--auth-skew", str(1 << 30)) as server:
        headers = {"host": "localhost:8000", "x-amz-target": "DynamoDB_20120810.DescribeTable",
                   "x-amz-date": "20260115T101112Z", "content-type": "application/x-amz-json-1.0",
                   "authorization": "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260115/us-east-1/dynamodb/aws4_request, "
                   "SignedHeaders=content-type;host;x-amz-date;x-amz-target, "
                   "Signature=2ae661b5f081fd28a5a9210a53dd05202fe1119ab22b47c089857b3f2759a0b7"}
        body = b'{"TableName":"Music"}'
        assert refusal(send(server, headers, body))[0] == "ResourceNotFoundException"
        query = ("/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE%2F20260115%2Fus-east-1%2Fdynamodb%2F"
                 "aws4_request&X-Amz-Date=20260115T101112Z&X-Amz-Expires=300&X-Amz-SignedHeaders=host%3Bx-amz-target"
                 "&X-Amz-Signature=bdc0608852900ccaaa8830e19875cba01b11383ea6bebe3b287dd9aaa57003ce")
        plain = {name: headers[name] for name in ("host", "x-amz-target")}
        assert refusal(send(server, plain, body, query))[0] == "ResourceNotFoundException"


# --- refused ---

def test_wrong_secrets_and_unknown_keys(server):
    wrong = signed_headers(host_of(server), "ListTables", LIST, secret="x" * 40)
    assert refusal(send(server, wrong)) == ("InvalidSignatureException", MISMATCH)
    for key_id in ("AKIANOBODY", "AKIADISABLED", "AKIAUSERDISABLED", "ASIANOBODYNOBODYNOBO"):
        headers = signed_headers(host_of(server), "ListTables", LIST, key_id=key_id)
        assert refusal(send(server, headers)) == ("UnrecognizedClientException", TOKEN_TEXT), key_id


def test_boto3_with_a_wrong_secret(server):
    boto = boto3.client("dynamodb", endpoint_url=server.endpoint,
                        **{**boto3_config(), "aws_access_key_id": KEY_ID, "aws_secret_access_key": "wrong" * 8})
    with pytest.raises(ClientError) as caught:
        boto.list_tables()
    assert caught.value.response["Error"]["Code"] == "InvalidSignatureException"


def test_a_session_token_with_a_lasting_key(server):
    headers = signed_headers(host_of(server), "ListTables", LIST, token="nonsense")
    assert refusal(send(server, headers)) == ("UnrecognizedClientException", TOKEN_TEXT[:-1])


def test_checks_come_in_the_services_order(server):
    """Each row breaks one thing more than the row after it, so the error must be that of the earlier check."""
    host = host_of(server)
    good = signed_headers(host, "ListTables", LIST)
    rows = [
        ({"x-amz-target": "DynamoDB_20120810.Dance"}, "UnknownOperationException", None),
        ({"authorization": ""}, "MissingAuthenticationTokenException", "Request is missing Authentication Token"),
        ({"authorization": "Basic x"}, "MissingAuthenticationTokenException", "Request is missing Authentication Token"),
        ({"authorization": "AWS4-HMAC-SHA256 a"}, "IncompleteSignatureException",
         "'a' not a valid key=value pair (missing equal-sign) in Authorization header: 'AWS4-HMAC-SHA256 a'."),
        ({"authorization": "AWS4-x Credential=a"}, "IncompleteSignatureException",
         "Authorization header requires 'Signature' parameter. Authorization header requires 'SignedHeaders' parameter. "
         "Authorization=AWS4-x Credential=a"),
        ({"authorization": "AWS4-x Credential=a, SignedHeaders=b, Signature=c", "x-amz-date": "201"},
         "IncompleteSignatureException",
         "Date must be in ISO-8601 'basic format'. Got '201'. See http://en.wikipedia.org/wiki/ISO_8601"),
        ({"authorization": "AWS4-x Credential=a, SignedHeaders=b, Signature=c"}, "InvalidSignatureException",
         "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."),
        ({"authorization": "AWS4-x Credential=a, SignedHeaders=host, Signature=c"}, "IncompleteSignatureException",
         "Unsupported AWS 'algorithm': 'AWS4-x' (only AWS4-HMAC-SHA256 for now). "),
        ({"authorization": "AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=c"},
         "IncompleteSignatureException",
         "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got 'a/b'"),
        ({"authorization": f"AWS4-HMAC-SHA256 Credential=a/{now()[:8]}/mars/s3/aws4_request, SignedHeaders=host, "
          "Signature=c"}, "InvalidSignatureException",
         "Credential should be scoped to a valid region. Credential should be scoped to correct service: 'dynamodb'. "),
        ({"authorization": f"AWS4-HMAC-SHA256 Credential=a/{now()[:8]}/us-east-1/dynamodb/aws4_request, "
          "SignedHeaders=host, Signature=c"}, "UnrecognizedClientException", TOKEN_TEXT),
        ({"authorization": f"AWS4-HMAC-SHA256 Credential={KEY_ID}/{now()[:8]}/us-east-1/dynamodb/aws4_request, "
          "SignedHeaders=host, Signature=c"}, "InvalidSignatureException", MISMATCH),
    ]
    for changes, kind, text in rows:
        assert refusal(send(server, {**good, **changes})) == (kind, text), changes
        assert refusal(send(server, {**good, **changes}, b"{"))[0] == "SerializationException", changes


def test_the_clock_may_be_15_minutes_off(server):
    host = host_of(server)
    for time, beginning in (("20200101T000000Z", "Signature expired: 20200101T000000Z is now earlier than "),
                            ("20990101T000000Z", "Signature not yet current: 20990101T000000Z is still later than ")):
        kind, text = refusal(send(server, signed_headers(host, "ListTables", LIST, key_id="AKIANOBODY", time=time)))
        assert kind == "InvalidSignatureException" and text.startswith(beginning), text
        assert text.endswith("15 min.)")


def test_both_header_and_query(server):
    target, _ = presigned_target(host_of(server), "ListTables", LIST)
    headers = signed_headers(host_of(server), "ListTables", LIST)
    assert refusal(send(server, headers, target=target)) == (
        "InvalidSignatureException",
        "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.")


def test_an_unknown_key_is_refused_before_the_body_comes(server):
    """The head promises a megabyte of which nothing is sent."""
    headers = signed_headers(host_of(server), "PutItem", b"", key_id="AKIANOBODY")
    connection = Connection(server.endpoint)
    head = request_bytes(headers, b"").replace(b"content-length: 0", b"content-length: 1000000")
    connection.send(head)
    answer = connection.read_answer()
    assert refusal(answer) == ("UnrecognizedClientException", TOKEN_TEXT)
    assert answer.headers["connection"] == "close"
    assert connection.socket.recv(1) == b""
    connection.socket.close()


FORM = {"content-type": "application/x-www-form-urlencoded"}


def head_answer(server, headers, length, target="/", method="POST", timeout=60):
    """The answer to a head that promises a body, of which nothing is sent; None: there is none within `timeout` seconds."""
    connection = Connection(server.endpoint, timeout=timeout)
    framing = b"transfer-encoding: chunked" if length is None else b"content-length: %d" % length
    connection.send(request_bytes(headers, b"", target, method).replace(b"content-length: 0", framing))
    try:
        return connection.read_answer()
    except TimeoutError:
        return None
    finally:
        connection.socket.close()


@pytest.mark.parametrize("length", [10, 1_000_000, None])
def test_every_kind_of_request_is_checked_by_its_head(server, length):
    """An unknown key, or none, is told so before the body comes, whatever the request is for."""
    host = host_of(server)
    unknown = {"key_id": "AKIANOBODY"}
    rows = [
        (signed_headers(host, "PutItem", b"", **unknown), "/", b"UnrecognizedClientException"),
        (signed_headers(host, "SetClock", b"", target="Gramme_20261115.", **unknown), "/", None),  # there is none without --test-clock
        (signed_headers(host, "ListUsers", b"", target="GrammeAdmin_20261101.", **unknown), "/", b"UnrecognizedClientException"),
        (signed_headers(host, "", b"", service="sts", more=FORM, **unknown), "/", b"InvalidClientTokenId"),
        ({"host": host, **FORM}, "/", b"MissingAuthenticationToken"),
        ({"host": host, "content-type": "application/json"}, "/_gramme/api/simulation", b"MissingAuthenticationToken"),
        ({"host": host}, "/", None), ({"host": host, "x-amz-target": "DynamoDB_20120810.Dance"}, "/", None)]
    for headers, target, code in rows:
        is_answered = code is not None or length == 1_000_000
        answer = head_answer(server, headers, length, target, timeout=60 if is_answered else 1)
        if code is not None:
            assert answer.status in (400, 403) and code in answer.body, (headers, answer)
        elif length == 1_000_000:  # what needs no key must be small
            assert answer.status == 413, (headers, answer)
        else:
            assert answer is None, (headers, answer)


def test_what_needs_no_key_must_be_small(server):
    """In chunks and compressed, too; forms of known keys, too."""
    host, large = host_of(server), b"x" * 70_000
    form = signed_headers(host, "", large, service="sts", more=FORM)
    for headers in ({"host": host}, form):
        chunked = request_bytes(headers, b"").replace(b"content-length: 0", b"transfer-encoding: chunked")
        zipped = request_bytes({**headers, "content-encoding": "gzip"}, gzip.compress(large))
        for head, rest in ((chunked, b"11170\r\n" + large + b"\r\n0\r\n\r\n"), (zipped[:-1], zipped[-1:])):
            connection = Connection(server.endpoint)
            connection.send(head)
            connection.send(rest)
            assert connection.read_answer().status in (400, 413)
            connection.socket.close()
    assert head_answer(server, form, 70_000).status == 413
    for method in ("GET", "PUT"):
        assert head_answer(server, {"host": host}, 1_000_000, method=method).status == 413


def test_a_known_key_is_asked_for_its_body(server):
    body = b'{"Limit":1}'
    headers = signed_headers(host_of(server), "ListTables", body, more={"expect": "100-continue"})
    connection = Connection(server.endpoint)
    connection.send(request_bytes(headers, body)[:-len(body)])
    assert connection.read_answer(has_body=False).status == 100
    connection.send(body)
    assert connection.read_answer().status == 200
    connection.socket.close()


def flip(data, position, bit):
    changed = bytearray(data)
    changed[position] ^= 1 << bit
    return bytes(changed)


def verdict(server, raw):
    """"200", the type of the error, the status of one without a type, or "closed"."""
    connection = Connection(server.endpoint, timeout=20)
    try:
        connection.send(raw)
        connection.socket.shutdown(socket.SHUT_WR)
        answer = connection.read_answer()
        is_typed = answer.status == 400 and answer.body.startswith(b"{")
        return answer.json()["__type"].partition("#")[2] if is_typed else str(answer.status)
    except ConnectionError:
        return "closed"
    finally:
        connection.socket.close()


def of_botocore(server):
    """A request as botocore signs and sends it."""
    found = []
    client = boto3.client("dynamodb", endpoint_url=server.endpoint, **{**boto3_config(), "aws_access_key_id": KEY_ID,
                                                                     "aws_secret_access_key": SECRET})
    client.meta.events.register("before-send.dynamodb", lambda request, **_: found.append(request))
    client.put_item(TableName="Mutated", Item={"pk": {"S": "key"}, "v": {"N": "17"}})
    request, = found
    texts = {name: value.decode() if isinstance(value, bytes) else value for name, value in request.headers.items()
             if name.lower() not in ("host", "content-length")}
    return request_bytes({"Host": host_of(server), **texts}, request.body)


def signed_requests(server):
    host = host_of(server)
    for operation, body in (("ListTables", b'{"ExclusiveStartTableName":"Music","Limit":3}'),
                            ("PutItem", b'{"TableName":"Mutated","Item":{"pk":{"S":"key"},"v":{"N":"17"}}}')):
        yield request_bytes(signed_headers(host, operation, body), body)
        target, headers = presigned_target(host, operation, body)
        yield request_bytes(headers, body, target)
    yield of_botocore(server)


def signed_positions(raw):
    """Of all bytes that are signed: method and target, the lines of signed headers and of the signature, the body."""
    names = re.search(rb"SignedHeaders=([\w%;-]+)", raw)[1].replace(b"%3B", b";").split(b";")
    head, _, _ = raw.partition(b"\r\n\r\n")
    at = head.index(b" HTTP/1.1")
    positions = [*range(at), *range(len(head) + 4, len(raw))]
    for line in re.finditer(rb"\r\n([^:]+):[^\r]*", head):
        if line[1].lower() in (*names, b"authorization"):
            positions += range(line.start() + 2, line.end())
    return positions


def is_same(raw, changed, position):
    """Whether the change has no meaning: %2f is %2F, and names of headers have no case."""
    start = raw.rfind(b"\r\n", 0, position) + 2
    is_name = raw.index(b"\r\n") < position < raw.index(b"\r\n\r\n") and b":" not in raw[start:position + 1]
    return unquote_to_bytes(changed) == unquote_to_bytes(raw) or (is_name and changed.lower() == raw.lower())


# What a request with one changed bit may be answered with: that the signature is wrong, or what is checked before it.
REFUSALS = {"IncompleteSignatureException", "InvalidSignatureException", "MissingAuthenticationTokenException",
            "UnrecognizedClientException", "SerializationException", "UnknownOperationException", "400", "403", "404", "405", "501",
            "closed"}


def test_every_changed_bit_is_refused(server, client):
    """All of them, each alone: refused by the signature if nothing else is wrong; and nothing is carried out."""
    client.CreateTable(**table_request("Mutated"))
    kinds = collections.Counter()
    for raw in signed_requests(server):
        assert verdict(server, raw) == "200", raw
        for position, bit in itertools.product(signed_positions(raw), range(8)):
            changed = flip(raw, position, bit)
            if not is_same(raw, changed, position):
                kind = verdict(server, changed)
                assert kind in REFUSALS, (kind, changed)
                kinds[kind] += 1
    assert kinds.total() > 15_000 and kinds["InvalidSignatureException"] > 5000, kinds
    assert client.Scan(TableName="Mutated")["Items"] == [{"pk": {"S": "key"}, "v": {"N": "17"}}]


# --- modes ---

def test_warn_carries_out_and_logs(users_file):
    with Server("memory:", "--auth", "warn", "--users", users_file) as server:
        with SignedClient(server.endpoint, secret="x" * 40) as client:
            assert client.ListTables() == {"TableNames": []}
        with SignedClient(server.endpoint, region="mars") as client:
            assert client.ListTables() == {"TableNames": []}
        line = poll(lambda: [line for line in server.log().splitlines() if "would be refused" in line], 20, "a line")
        assert len(line) == 1 and "InvalidSignatureException" in line[0] and KEY_ID in line[0]


@pytest.mark.parametrize("mode", ["off", "any", "none"])
def test_without_checks_any_credentials_will_do(mode):
    with Server("memory:", "--auth", mode) as server:
        with SignedClient(server.endpoint, key_id="x", secret="y") as client:
            assert client.ListTables() == {"TableNames": []}
        answer = send(server, {"host": host_of(server), "x-amz-target": "DynamoDB_20120810.ListTables"})
        assert (answer.status == 200) == (mode == "none")


def start(*options):
    done = subprocess.run([program(), "serve", "--store", "memory:", *options], capture_output=True, text=True,
                          timeout=60, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("options", [[], ["--auth", "off"], ["--auth", "warn"], ["--insecure=off"]])
@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "db.example.com:0"])
def test_other_machines_need_authentication(address, options):
    status, text = start("--listen", address, *options)
    assert status == 2 and "--auth on" in text and "--insecure" in text


def test_insecure_says_it_is_wanted():
    process = subprocess.Popen([program(), "serve", "--store", "memory:", "--listen", "0.0.0.0:0", "--insecure"],
                               stderr=subprocess.PIPE, text=True)
    while "serves http://0.0.0.0:" not in (line := process.stderr.readline()):
        assert line != "", "it ended"
    process.terminate()
    process.communicate()
    assert process.returncode == 0


def test_sighup_reads_the_users_again(tmp_path):
    users = write_users(tmp_path / "users.json", [("ada", "AKIAFIRST", SECRET, ["full"])])
    with Server("memory:", "--auth", "on", "--users", users) as server:
        with SignedClient(server.endpoint, key_id="AKIAFIRST") as first, \
                SignedClient(server.endpoint, key_id="AKIASECOND") as second:
            first.ListTables()
            with pytest.raises(Refused):
                second.ListTables()
            write_users(users, [("ada", "AKIASECOND", SECRET, ["full"])])
            server.process.send_signal(signal.SIGHUP)
            poll(lambda: "users and certificates read again" in server.log(), 20, "the users are read again")
            second.ListTables()
            with pytest.raises(Refused):
                first.ListTables()
            users.write_text("{")
            server.process.send_signal(signal.SIGHUP)
            poll(lambda: "not read again: users: " in server.log(), 20, "the bad file is refused")
            second.ListTables()


@pytest.mark.parametrize("content, text", [
    ("{", "users file"), ("[]", "expected {"), ('{"users":[{"name":"a b"}]}', "not a valid name for a user"),
    ('{"users":[{"name":"a","policies":["x"]}]}', "there is no policy 'x'"),
    ('{"users":[{"name":"a"},{"name":"a"}]}', "exists twice"),
    ('{"users":[{"name":"a","dance":1}]}', "'dance'"),
    ('{"users":[{"name":"a","keys":[{"id":"AKIA","secret":"short"}]}]}', "no usable secret"),
    ('{"policies":[{"name":"p","document":{"Statement":[{"Effect":"Maybe"}]}}]}', "policy 'p'"),
    ('{"users":[{"name":"a","keys":[{"id":"AKIA1","sealed":"AAAA"}]}]}', "no master key"),
])
def test_a_bad_users_file_is_explained(tmp_path, content, text):
    path = tmp_path / "users.json"
    path.write_text(content)
    path.chmod(0o600)
    status, log = start("--listen", "127.0.0.1:0", "--auth", "on", "--users", str(path))
    assert status == 1 and text in log, log


def test_a_users_file_that_others_can_read_is_refused(tmp_path):
    path = write_users(tmp_path / "users.json")
    path.chmod(0o644)
    status, log = start("--listen", "127.0.0.1:0", "--auth", "on", "--users", str(path))
    assert status == 1 and "chmod 600" in log


# --- host names ---

# host, whether a server on loopback is reached by it, whether one that other machines can reach is
HOSTS = [
    ("127.0.0.1:{port}", True, True), ("localhost:{port}", True, True), ("LOCALHOST", True, True), ("[::1]:{port}", True, True),
    ("a.localhost", True, True), ("127.9.9.9", True, True), ("evil.example.com", False, False),
    ("evil.example.com:{port}", False, False), ("evil.example.com.", False, False),
    ("127.0.0.1.evil.example.com", False, False), ("localhost.evil.example.com", False, False),
    ("10.0.0.1:{port}", False, True), ("gramme.internal:{port}", True, True), ("other.internal", True, True),
    ("[::2]", False, True), ("[::2]:{port}", False, True), ("dynamodb:{port}", False, True), ("dynamodb.:{port}", False, True),
    ("10.0.0.1.example.com", False, False), ("10.0.0.256", False, False), (f"{'1' * 300}.1", False, False),
    ("", False, False), (":{port}", False, False), (".", False, False)]


@pytest.mark.parametrize("is_open", [False, True], ids=["loopback", "open"])
@pytest.mark.parametrize("host, local, open_", HOSTS)
@pytest.mark.parametrize("request_line, status", [
    ("POST / HTTP/1.1\r\nx-amz-target: DynamoDB_20120810.ListTables\r\nauthorization: x\r\ncontent-length: 2", 200),
    ("GET / HTTP/1.1", 200), ("GET /_gramme/ready HTTP/1.1", 200), ("PUT / HTTP/1.1\r\ncontent-length: 2", 404)])
def test_other_host_names_are_refused(host_server, open_server, host, local, open_, is_open, request_line, status):
    server = open_server if is_open else host_server
    connection = Connection(f"http://127.0.0.1:{server.port}")
    name = host.format(port=server.port)
    body = "{}" if "content-length" in request_line else ""
    connection.send(f"{request_line}\r\nhost: {name}\r\n\r\n{body}".encode())
    answer = connection.read_answer()
    connection.socket.close()
    is_ours = open_ if is_open else local
    assert answer.status == (status if is_ours else 403), answer.body
    if not is_ours:
        assert b"--host" in answer.body


@pytest.fixture(scope="module")
def host_server():
    with Server("memory:", "--host", "gramme.internal", "--host", "other.internal") as started:
        yield started


@pytest.fixture(scope="module")
def open_server():
    """As in a container: its only address is one that other machines can reach, and its port is published on loopback."""
    with Process(program(), "serve", "--store", "memory:", "--listen", "0.0.0.0:0", "--insecure",
                 "--host", "gramme.internal,other.internal") as started:
        yield started


def test_with_authentication_any_host_name_will_do(server):
    headers = signed_headers("evil.example.com", "ListTables", LIST)
    assert send(server, headers).status == 200
