"""The protocol below the operations: HTTP, JSON, headers, compression, limits, bad input."""

import gzip
import http.client
import json
import re
import socket
import zlib
from urllib.parse import urlsplit

import pytest

from values import item
from wire import AUTHORIZATION, Client, Connection, Refused, refused, request_bytes

LIST = b'{"Limit":1}'


@pytest.fixture
def connection(endpoint):
    connection = Connection(endpoint)
    yield connection
    connection.close()


def ask(connection, operation="ListTables", body=LIST, headers=""):
    connection.send(request_bytes(connection.host, operation, body, headers))
    return connection.read_answer()


def kind(answer):
    return answer.json()["__type"]


class TestHeaders:
    def test_answer(self, connection):
        answer = ask(connection)
        assert answer.status == 200
        assert answer.headers["content-type"] == "application/x-amz-json-1.0"
        assert re.fullmatch(r"[A-Z0-9]{52}", answer.headers["x-amzn-requestid"])
        assert int(answer.headers["x-amz-crc32"]) == zlib.crc32(answer.body)
        assert answer.headers["server"]
        assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", answer.headers["date"])
        assert int(answer.headers["content-length"]) == len(answer.body)

    def test_error_answer(self, connection):
        answer = ask(connection, "DescribeTable", b'{"TableName":"no-such-table"}')
        assert answer.status == 400
        assert answer.headers["content-type"] == "application/x-amz-json-1.0"
        assert int(answer.headers["x-amz-crc32"]) == zlib.crc32(answer.body)
        assert answer.json() == {
            "__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
            "message": "Requested resource not found: Table: no-such-table not found"}

    def test_each_answer_has_its_own_id(self, connection):
        assert len({ask(connection).headers["x-amzn-requestid"] for _ in range(100)}) == 100


class TestErrors:
    @pytest.mark.parametrize("target", ["DynamoDB_20120810.Unknown", "DynamoDB_20120810.", "ListTables",
                                        "DynamoDB_20111205.ListTables", "", "x" * 5000,
                                        "DynamoDB_20120810.listTables"],
                             ids=lambda target: target[:40])
    def test_unknown_operation(self, connection, target):
        connection.send(f"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: {target}\r\nAuthorization: "
                        f"{AUTHORIZATION}\r\nX-Amz-Date: 20260101T000000Z\r\nContent-Length: 2\r\n\r\n{{}}"
                        .encode())
        answer = connection.read_answer()
        assert answer.status == 400
        assert kind(answer) == "com.amazon.coral.service#UnknownOperationException"

    @pytest.mark.parametrize("body", [
        b"", b" ", b"{", b"}", b"[]", b"1", b'"x"', b"null", b"{}x", b"{'Limit':1}", b'{"Limit":}',
        b'{"Limit":1,}', b'{"Limit":01}', b'{"Limit":+1}', b'{"Limit" 1}', b"{Limit:1}", b'{"Limit":1',
        b'{"a":"\\x"}', b'{"a":"\\u12"}', b'{"a":"\t"}', b'{"a":"\x00"}', b'{"a":nul}',
        b'{"a":"\xff"}', b'{"a":"\xc0\xaf"}', b'{"a":"\xed\xa0\x80"}', b'{"a":"\xf4\x90\x80\x80"}',
        b'{"a":"\xe2\x82"}', b'{"a":"unterminated', b"\xef\xbb\xbf{}", b"{\"a\":1}{\"b\":2}",
    ])
    def test_bad_json(self, connection, body):
        answer = ask(connection, body=body)
        assert answer.status == 400
        assert kind(answer) == "com.amazon.coral.service#SerializationException"
        assert ask(connection).status == 200  # and the connection lives on

    @pytest.mark.parametrize("body", [
        b'{"Limit":"1"}', b'{"Limit":true}', b'{"Limit":{}}', b'{"ExclusiveStartTableName":5}',
        b'{"ExclusiveStartTableName":["a"]}'])
    def test_wrong_json_type(self, connection, body):
        assert kind(ask(connection, body=body)) == "com.amazon.coral.service#SerializationException"

    def test_unknown_members_are_ignored(self, connection):
        assert ask(connection, body=b'{"Limit":1,"NoSuchMember":[{"a":null}]}').status == 200

    @pytest.mark.parametrize("depth", [100, 10_000, 1_000_000])
    @pytest.mark.parametrize("opening, closing", [(b"[", b"]"), (b'{"a":', b"}"), (b'{"L":[', b"]}")])
    def test_deep_nesting(self, connection, depth, opening, closing):
        body = b'{"TableName":"x","Item":{"a":{"L":' + opening * depth + b"1" + closing * depth + b"}}}"
        answer = ask(connection, "PutItem", body)
        assert answer.status == 400
        assert kind(answer).partition("#")[2] in ("SerializationException", "ValidationException")
        assert ask(connection).status == 200

    def test_many_members(self, connection):
        body = json.dumps({f"member{number}": number for number in range(50_000)}).encode()
        assert ask(connection, body=body).status == 200

    @pytest.mark.parametrize("operation", ["ListTables", "GetItem"])
    def test_missing_authentication(self, connection, operation):
        connection.send(f"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n"
                        "Content-Length: 2\r\n\r\n{}".encode())
        answer = connection.read_answer()
        assert answer.status == 400
        assert kind(answer) == "com.amazon.coral.service#MissingAuthenticationTokenException"

    @pytest.mark.parametrize("body, target, signed, error", [
        (b"{", "Unknown", True, "SerializationException"), (b"{", "ListTables", False, "SerializationException"),
        (b"{", "Unknown", False, "SerializationException"), (b"{}", "Unknown", False, "UnknownOperationException"),
        (b"[]", "Unknown", False, "UnknownOperationException"), (b"[]", "ListTables", False, "MissingAuthenticationTokenException"),
        (b"", "Unknown", False, "UnknownOperationException"), (b"", "ListTables", False, "MissingAuthenticationTokenException"),
        (b"", "ListTables", True, "SerializationException"), (b"[]", "ListTables", True, "SerializationException"),
    ])
    def test_order_of_checks(self, connection, body, target, signed, error):
        """JSON, target, credentials, and then what the body holds."""
        authorization = f"Authorization: {AUTHORIZATION}\r\n" if signed else ""
        connection.send(f"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.{target}\r\n{authorization}"
                        f"X-Amz-Date: 20260101T000000Z\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = connection.read_answer()
        assert (answer.status, kind(answer)) == (400, f"com.amazon.coral.service#{error}")

    def test_credentials_in_the_query(self, connection):
        query = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=k%2F20260101%2Fus-east-1%2Fdynamodb%2Faws4_request&X-Amz-Date=" \
                "20260101T000000Z&X-Amz-SignedHeaders=host&X-Amz-Signature=00"
        head = f"POST /?{query} HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n"
        connection.send(f"{head}Content-Length: 2\r\n\r\n{{}}".encode())
        assert connection.read_answer().status == 200
        connection.send(f"{head}Authorization: {AUTHORIZATION}\r\nContent-Length: 2\r\n\r\n{{}}".encode())
        assert connection.read_answer().json() == {
            "__type": "com.amazon.coral.service#InvalidSignatureException",
            "message": "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."}

    def test_authentication_may_be_switched_off(self, start_server):
        connection = Connection(start_server("memory:", "--auth", "none").endpoint)
        connection.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n"
                        b"Content-Length: 2\r\n\r\n{}")
        assert connection.read_answer().json() == {"TableNames": []}

    def test_escapes_in_error_texts(self, connection):
        name = 'quote " back \\ tab \t é'
        answer = ask(connection, "DescribeTable", json.dumps({"TableName": name}).encode())
        assert name in answer.json()["message"]


class TestText:
    """Strings travel as they are, whatever JSON calls them."""

    @pytest.mark.parametrize("escaped, text", [
        (b"\\u0041", "A"), (b"\\u00e9", "é"), (b"\\ud83d\\ude00", "\U0001F600"),
        (b"\\n\\t\\r\\b\\f\\/\\\\\\\"", "\n\t\r\b\f/\\\""), (b"\xf0\x9f\x98\x80", "\U0001F600"),
        (b"\\u0000", "\0"), (b"\x7f", "\x7f"), ("\u2028".encode(), "\u2028"), (b"\\u2028", "\u2028"),
        (b"\\uFFFF", "￿"),
    ])
    def test_round_trip(self, db, make_table, escaped, text):
        table = make_table("pk")
        body = b'{"TableName":"%s","Item":{"pk":{"S":"k"},"v":{"S":"%s"}}}' % (table.encode(), escaped)
        assert db.send("PutItem", body).status == 200
        assert db.GetItem(TableName=table, Key=item(pk="k"))["Item"]["v"] == {"S": text}

    @pytest.mark.parametrize("escaped", [b"\\ud83d", b"\\ude00", b"\\ud83dx", b"\\ud83d\\u0041"])
    def test_lone_surrogates(self, db, make_table, escaped):
        """Refused, or stored as U+FFFD or '?'; never as bytes that are no UTF-8."""
        table = make_table("pk")
        body = b'{"TableName":"%s","Item":{"pk":{"S":"k"},"v":{"S":"%s"}}}' % (table.encode(), escaped)
        answer = db.send("PutItem", body)
        assert answer.status in (200, 400)
        stored = db.send("GetItem", json.dumps({"TableName": table, "Key": item(pk="k")}).encode())
        stored.body.decode("utf-8")

    def test_members_may_come_in_any_order_and_space(self, db, make_table):
        table = make_table("pk")
        body = b' \n{ "Item" :\t{ "pk":{ "S" : "k" } } ,\r\n "TableName" : "%s" } ' % table.encode()
        assert db.send("PutItem", body).status == 200

    def test_last_of_two_members_counts(self, db, make_table):
        table = make_table("pk")
        body = b'{"TableName":"nowhere","Item":{"pk":{"S":"k"}},"TableName":"%s"}' % table.encode()
        assert db.send("PutItem", body).status == 200


class TestHttp:
    def test_health(self, connection):
        connection.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = connection.read_answer()
        assert answer.status == 200
        assert answer.body.decode().strip() == "healthy: dynamodb.us-east-1.amazonaws.com"
        assert int(answer.headers["x-amz-crc32"]) == zlib.crc32(answer.body)

    def test_health_names_the_region(self, start_server):
        connection = Connection(start_server("memory:", "--region", "eu-north-1").endpoint)
        connection.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.read_answer().body.decode().strip() == (
            "healthy: dynamodb.eu-north-1.amazonaws.com")

    def test_head(self, connection):
        connection.send(b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.read_answer(has_body=False).status == 200
        assert ask(connection).status == 200

    def test_other_paths_and_methods(self, connection):
        connection.send(b"GET /favicon.ico HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.read_answer().status == 404
        for method in (b"PUT", b"DELETE", b"PATCH", b"OPTIONS", b"BREW"):
            connection.send(method + b" / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
            answer = connection.read_answer()
            assert (answer.status, answer.body) == (404, b"<UnknownOperationException/>\n")
            assert int(answer.headers["x-amz-crc32"]) == zlib.crc32(answer.body)
        assert ask(connection).status == 200

    @pytest.mark.parametrize("sent, answered", [
        ("application/x-amz-json-1.0", "application/x-amz-json-1.0"), ("application/json", "application/json"),
        ("application/json; charset=UTF-8", "application/json"), ("Application/X-Amz-Json-1.0", "application/x-amz-json-1.0"),
        (None, "application/x-amz-json-1.0")])
    def test_content_types(self, connection, sent, answered):
        line = b"Content-Type: application/x-amz-json-1.0\r\n"
        request = request_bytes(connection.host, "ListTables", LIST)
        assert line in request
        connection.send(request.replace(line, f"Content-Type: {sent}\r\n".encode() if sent else b""))
        answer = connection.read_answer()
        assert (answer.status, answer.headers["content-type"]) == (200, answered)

    @pytest.mark.parametrize("type_", ["text/plain", "application/x-www-form-urlencoded", "application/x-amz-json-1.1", "x"])
    def test_other_content_types(self, connection, type_):
        connection.send(request_bytes(connection.host, "ListTables", LIST).replace(b"application/x-amz-json-1.0", type_.encode()))
        answer = connection.read_answer()
        assert (answer.status, answer.body) == (404, b"<UnknownOperationException/>\n")

    def test_keep_alive_and_close(self, endpoint, connection):
        for _ in range(50):
            assert ask(connection).status == 200
        answer = ask(connection, headers="Connection: close\r\n")
        assert answer.status == 200
        assert answer.headers["connection"].lower() == "close"
        assert connection.is_closed_by_server()

    def test_http_1_0(self, connection):
        connection.send(b"GET / HTTP/1.0\r\n\r\n")
        assert connection.read_answer().status == 200
        assert connection.is_closed_by_server()

    def test_pipelining(self, db, make_table, connection):
        """Twenty requests at once are answered in order, each seeing what the one before wrote."""
        table = make_table("pk")
        requests = b""
        for number in range(10):
            put = {"TableName": table, "Item": item(pk="k", n=number)}
            get = {"TableName": table, "Key": item(pk="k")}
            requests += request_bytes(connection.host, "PutItem", json.dumps(put).encode())
            requests += request_bytes(connection.host, "GetItem", json.dumps(get).encode())
        connection.send(requests)
        for number in range(10):
            assert connection.read_answer().json() == {}
            assert connection.read_answer().json()["Item"] == item(pk="k", n=number)

    def test_request_in_single_bytes(self, connection):
        for byte in request_bytes(connection.host, "ListTables", LIST):
            connection.send(bytes([byte]))
        assert connection.read_answer().status == 200

    @pytest.mark.parametrize("sizes", [[11], [1] * 11, [5, 6]])
    def test_chunked_body(self, connection, sizes):
        head = request_bytes(connection.host, "ListTables", b"").decode().replace(
            "Content-Length: 0", "Transfer-Encoding: chunked")
        rest, chunks = LIST, b""
        for size in sizes:
            chunks += b"%x\r\n%s\r\n" % (size, rest[:size])
            rest = rest[size:]
        assert rest == b""
        connection.send(head.encode() + chunks + b"0\r\n\r\n")
        assert connection.read_answer().status == 200
        assert ask(connection).status == 200

    def test_expect_continue(self, connection):
        head, _, body = request_bytes(connection.host, "ListTables", LIST,
                                      "Expect: 100-continue\r\n").partition(b"\r\n\r\n")
        connection.send(head + b"\r\n\r\n")
        assert connection.read_answer(has_body=False).status == 100
        connection.send(body)
        assert connection.read_answer().status == 200

    def test_header_names_in_any_case(self, connection):
        request = request_bytes(connection.host, "ListTables", LIST)
        connection.send(request.replace(b"X-Amz-Target", b"x-AMZ-tArGeT").replace(
            b"Content-Length", b"content-length"))
        assert connection.read_answer().status == 200

    @pytest.mark.parametrize("request_", [
        b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\nbad\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 20_000 + b"\r\n\r\n",
        b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ], ids=lambda request_: repr(request_[:60]))
    def test_bad_http_is_refused_and_the_server_lives(self, endpoint, connection, request_):
        connection.send(request_)
        assert 400 <= connection.read_answer().status < 600
        assert connection.is_closed_by_server()
        with Client(endpoint) as db:
            db.ListTables()

    @pytest.mark.parametrize("request_", [
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 20_000 + b"\r\n\r\n", b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ], ids=["headers", "target"])
    def test_large_heads(self, connection, request_):
        connection.send(request_)
        assert connection.read_answer().status == 400

    def test_client_that_goes_away(self, endpoint):
        """Half requests and unread answers leave nothing behind."""
        for cut in (1, 20, 150, 300):
            connection = Connection(endpoint)
            connection.send(request_bytes(connection.host, "ListTables", LIST)[:cut])
            connection.close()
        for _ in range(20):
            connection = Connection(endpoint)
            connection.send(request_bytes(connection.host, "ListTables", LIST) * 50)
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.close()
        with Client(endpoint) as db:
            db.ListTables()


class TestBodyLimit:
    LIMIT = 16 * 1024 * 1024

    def test_16_megabytes_are_read(self, connection):
        body = LIST[:-1] + b" " * (self.LIMIT - len(LIST)) + b"}"
        assert len(body) == self.LIMIT
        assert ask(connection, body=body).status == 200

    def test_one_more_is_refused(self, endpoint, connection):
        try:
            connection.send(request_bytes(connection.host, "ListTables", LIST.ljust(self.LIMIT + 1)))
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before all was sent
        assert connection.read_answer().status == 413
        with Client(endpoint) as db:
            db.ListTables()

    def test_bomb_is_refused(self, connection):
        body = gzip.compress(LIST.ljust(self.LIMIT + 1))
        assert len(body) < 100_000
        assert ask(connection, body=body, headers="Content-Encoding: gzip\r\n").status == 413

    def test_endless_chunks_are_refused(self, connection):
        head = request_bytes(connection.host, "ListTables", b"").decode().replace(
            "Content-Length: 0", "Transfer-Encoding: chunked")
        chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        try:
            connection.send(head.encode())
            for _ in range(20):
                connection.send(chunk)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert connection.read_answer().status == 413


class TestCompression:
    @pytest.fixture(scope="class")
    def table(self, make_module_table, endpoint):
        name = make_module_table("pk")
        with Client(endpoint) as client:
            client.PutItem(TableName=name, Item=item(pk="large", v="long text " * 10_000))
            client.PutItem(TableName=name, Item=item(pk="small"))
        return name

    def get(self, connection, table, pk, accept):
        body = json.dumps({"TableName": table, "Key": item(pk=pk)}).encode()
        return ask(connection, "GetItem", body, f"Accept-Encoding: {accept}\r\n" if accept else "")

    @pytest.mark.parametrize("accept, coding", [
        ("gzip", "gzip"), ("gzip, deflate, br", "gzip"), ("deflate", "deflate"), ("identity", None),
        ("gzip;q=0", None), ("br", None), (None, None), ("x-gzip", None), ("deflate, gzip", "deflate"),
        ("identity, gzip;q=0.1", "gzip"), ("gzip;q=0.9, deflate;q=7", "deflate")])
    def test_large_answer(self, connection, table, accept, coding):
        answer = self.get(connection, table, "large", accept)
        assert answer.headers.get("content-encoding") == coding
        assert int(answer.headers["x-amz-crc32"]) == zlib.crc32(answer.body)
        body = (gzip.decompress(answer.body) if coding == "gzip" else
                zlib.decompress(answer.body) if coding == "deflate" else answer.body)
        assert (len(answer.body) < 10_000) == (coding is not None)
        assert json.loads(body)["Item"]["v"]["S"] == "long text " * 10_000

    def test_small_answer_stays_plain(self, connection, table):
        answer = self.get(connection, table, "small", "gzip")
        assert "content-encoding" not in answer.headers
        assert answer.json()["Item"] == item(pk="small")

    def test_gzip_request(self, connection, table):
        for body in (gzip.compress(LIST), gzip.compress(LIST[:5]) + gzip.compress(LIST[5:])):
            assert ask(connection, body=body, headers="Content-Encoding: gzip\r\n").status == 200

    @pytest.mark.parametrize("coding, body", [
        ("gzip", b"not gzip"), ("gzip", gzip.compress(LIST)[:-4]), ("gzip", gzip.compress(LIST) + b"x"), ("deflate", b"no"),
        ("br", LIST), ("x-gzip", gzip.compress(LIST))])
    def test_broken_and_unknown_codings(self, endpoint, connection, coding, body):
        assert ask(connection, body=body, headers=f"Content-Encoding: {coding}\r\n").status == 500
        with Client(endpoint) as db:
            db.ListTables()


def test_many_connections_at_once(endpoint):
    connections = [Connection(endpoint) for _ in range(300)]
    for connection in connections:
        connection.send(request_bytes(connection.host, "ListTables", LIST))
    for connection in connections:
        assert connection.read_answer().status == 200
        connection.close()


def test_python_http_client(endpoint):
    """An HTTP library as a second opinion on our framing."""
    url = urlsplit(endpoint)
    connection = http.client.HTTPConnection(url.hostname, url.port)
    for _ in range(3):
        connection.request("POST", "/", LIST, {
            "X-Amz-Target": "DynamoDB_20120810.ListTables", "Authorization": AUTHORIZATION,
            "X-Amz-Date": "20260101T000000Z", "Content-Type": "application/x-amz-json-1.0"})
        response = connection.getresponse()
        assert response.status == 200 and "TableNames" in json.loads(response.read())


def test_operations_that_are_not_built_say_so(db):
    with refused("UnknownOperationException"):
        db.call("MakeCoffee", {})


def test_describe_endpoints_and_limits(db):
    endpoints = db.DescribeEndpoints()["Endpoints"]
    assert endpoints == [{"Address": db.connection.host, "CachePeriodInMinutes": 1440}]
    limits = db.DescribeLimits()
    assert limits["AccountMaxReadCapacityUnits"] >= limits["TableMaxReadCapacityUnits"] > 0


def test_validation_comes_before_the_table_look_up(db):
    """Input is validated before the table is looked up."""
    for operation, request in (
            ("Scan", {"Limit": 0}), ("Scan", {"FilterExpression": "a ="}),
            ("Query", {"KeyConditionExpression": "a ="}), ("GetItem", {"Key": item(a=1),
                                                                       "ProjectionExpression": "a b"}),
            ("PutItem", {"Item": item(a=1), "ReturnValues": "X"})):
        try:
            db.call(operation, {"TableName": "no-such-table", **request})
            raise AssertionError("not refused")
        except Refused as error:
            assert error.type == "ValidationException", (operation, request, error)


def test_several_constraints_are_told_together(db):
    with refused("ValidationException") as caught:
        db.Scan(TableName="a", Limit=0, Select="X", ReturnConsumedCapacity="Y")
    assert caught.error.message.startswith("3 validation errors detected: ")
    assert caught.error.message.count("failed to satisfy constraint") == 3
