"""Web pages: which may use the server (--cors), what they get, and what others do not."""

import json
import subprocess

import pytest

from server import program
from tables import create_table
from values import item
from wire import Client, Connection, request_bytes

APP = "http://app.example"
LIST = b'{"Limit":1}'
CORS = "access-control-"


@pytest.fixture
def closed(start_server):
    return start_server("memory:").endpoint


@pytest.fixture
def one(start_server):
    """Allows one origin."""
    return start_server("memory:", "--cors", APP).endpoint


def ask(endpoint, operation="ListTables", body=LIST, **headers):
    """Sends an operation; Host may be given."""
    connection = Connection(endpoint)
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    connection.send(request_bytes(connection.host, operation, body, lines))
    answer = connection.read_answer()
    connection.close()
    return answer


def preflight(endpoint, origin):
    connection = Connection(endpoint)
    connection.send(f"OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\nAccess-Control-Request-Method: POST\r\n"
                    "Access-Control-Request-Headers: x-amz-target,authorization\r\n\r\n".encode())
    answer = connection.read_answer()
    connection.close()
    return answer


def cors_headers(answer):
    return {name.removeprefix(CORS): value for name, value in answer.headers.items() if name.startswith(CORS)}


EXPOSED = "x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,Date"


class TestByDefault:
    @pytest.mark.parametrize("origin", [APP, "null", "http://localhost:1", "chrome-extension://abc", ""])
    def test_no_page_may_use_the_server(self, closed, origin):
        answer = ask(closed, Origin=origin)
        assert (answer.status, answer.json()["__type"]) == (403, "com.amazon.coral.service#AccessDeniedException")
        assert "--cors" in answer.json()["Message"]
        assert cors_headers(answer) == {}

    def test_nothing_is_written(self, closed):
        """A browser sends such a request without asking first."""
        with Client(closed) as db:
            table = create_table(db)
            connection = Connection(closed)
            body = json.dumps({"TableName": table, "Item": item(pk="k")}).encode()
            for type_ in (b"text/plain", b"application/x-www-form-urlencoded", b"application/x-amz-json-1.0"):
                connection.send(request_bytes(connection.host, "PutItem", body, f"Origin: {APP}\r\n").replace(
                    b"application/x-amz-json-1.0", type_))
                assert connection.read_answer().status == 403
            assert db.Scan(TableName=table)["Count"] == 0

    def test_preflight_is_not_granted(self, closed):
        answer = preflight(closed, APP)
        assert (answer.status, cors_headers(answer)) == (403, {})

    def test_pages_of_this_server_may(self, closed):
        host = Connection(closed).host
        answer = ask(closed, Origin=f"http://{host}")
        assert (answer.status, cors_headers(answer)) == (200, {})

    def test_health_tells_pages_nothing(self, closed):
        connection = Connection(closed)
        connection.send(f"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: {APP}\r\n\r\n".encode())
        answer = connection.read_answer()
        assert (answer.status, cors_headers(answer)) == (200, {})

    def test_requests_without_an_origin(self, closed):
        answer = ask(closed)
        assert (answer.status, cors_headers(answer)) == (200, {})


class TestAllowed:
    def test_an_operation(self, one):
        answer = ask(one, Origin=APP)
        assert answer.status == 200
        assert cors_headers(answer) == {"allow-origin": APP, "expose-headers": EXPOSED}
        assert answer.headers["vary"] == "Origin"

    def test_an_error(self, one):
        answer = ask(one, "DescribeTable", b'{"TableName":"nowhere"}', Origin=APP)
        assert (answer.status, cors_headers(answer)["allow-origin"]) == (400, APP)

    def test_preflight(self, one):
        answer = preflight(one, APP)
        assert (answer.status, answer.body) == (200, b"")
        assert cors_headers(answer) == {"allow-origin": APP, "allow-methods": "POST", "max-age": "172800",
                                        "allow-headers": "x-amz-target,authorization"}

    def test_others_are_refused(self, one):
        for origin in ("https://app.example", APP + ":81", "http://other.example"):
            answer = ask(one, Origin=origin)
            assert (answer.status, cors_headers(answer)) == (403, {})
            assert preflight(one, origin).status == 403

    def test_no_headers_without_an_origin(self, one):
        assert cors_headers(ask(one)) == {}

    @pytest.mark.parametrize("options", [["--cors", "http://a, http://b"], ["--cors", "http://a", "--cors=http://b"]])
    def test_several(self, start_server, options):
        endpoint = start_server("memory:", *options).endpoint
        assert [ask(endpoint, Origin=origin).status for origin in ("http://a", "http://b", "http://c")] == [200, 200, 403]

    def test_all(self, start_server):
        endpoint = start_server("memory:", "--cors", "*").endpoint
        for origin in (APP, "null"):
            assert cors_headers(ask(endpoint, Origin=origin)) == {"allow-origin": "*", "expose-headers": EXPOSED}
            assert cors_headers(preflight(endpoint, origin))["allow-origin"] == "*"


@pytest.mark.parametrize("value", ["app.example", "http://app.example/", "http://a b"])
def test_values_that_are_no_origins(value):
    done = subprocess.run([program(), "serve", "--store", "memory:", "--listen", "127.0.0.1:0", "--cors", value],
                          capture_output=True, text=True, timeout=20)
    assert done.returncode == 2
    assert f"'{value}' is not a valid value for cors: expected *, null or origins such as http://localhost:3000" in done.stderr
