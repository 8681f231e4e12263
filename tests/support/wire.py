"""A small client that speaks the service's JSON over one kept-alive connection.

It sends exactly what a test says, checks nothing beforehand and retries nothing, and is an order
of magnitude quicker than an SDK, so that a test can afford thousands of calls."""

import contextlib
import json
import socket
from urllib.parse import urlsplit

AUTHORIZATION = ("AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, "
                 "SignedHeaders=host, Signature=0")
TARGET = "DynamoDB_20120810."


class Answer:
    """One HTTP response: status, headers by lower-case name, and the body's bytes."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        return json.loads(self.body)


class Refused(Exception):
    """An error answer. `type` is its short name, `body` all of it. A proxy's own answer is not JSON: its type is empty, and
    its text is the message."""

    def __init__(self, answer):
        self.status = answer.status
        is_json = "json" in answer.headers.get("content-type", "")
        self.body = answer.json() if is_json else {"__type": "", "message": answer.body.decode("latin-1")}
        self.type = self.body["__type"].partition("#")[2]
        self.message = self.body.get("message", self.body.get("Message", ""))
        super().__init__(f"{self.status} {self.type}: {self.message}")


class Connection:
    """A TCP connection that sends bytes and reads whole HTTP responses. `tls`, an SSLContext, is for https."""

    def __init__(self, endpoint, timeout=60, tls=None):
        url = urlsplit(endpoint)
        self.host = url.netloc
        self.socket = socket.create_connection((url.hostname, url.port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname=url.hostname, suppress_ragged_eofs=False)
        self.buffer = b""

    def send(self, data):
        self.socket.sendall(data)

    def _more(self):
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionError(f"closed by the server; unread: {self.buffer[:200]!r}")
        self.buffer += data

    def read_answer(self, has_body=True):
        while b"\r\n\r\n" not in self.buffer:
            self._more()
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        size = int(headers.get("content-length", 0)) if has_body else 0
        if len(self.buffer) < size:
            parts = [self.buffer]
            missing = size - len(self.buffer)
            while missing > 0:
                data = self.socket.recv(min(missing, 1 << 20))
                if not data:
                    raise ConnectionError("closed by the server within a body")
                parts.append(data)
                missing -= len(data)
            self.buffer = b"".join(parts)
        body, self.buffer = self.buffer[:size], self.buffer[size:]
        return Answer(int(lines[0].split(" ")[1]), headers, body)

    def is_closed_by_server(self):
        """Waits for the end of the stream; False if the server sends something instead."""
        try:
            return not self.buffer and self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def close(self):
        self.socket.close()


def request_bytes(host, operation, body, headers="", prefix=TARGET):
    """An HTTP request with `body` (bytes); `headers` are complete extra lines."""
    head = (f"POST / HTTP/1.1\r\nHost: {host}\r\nX-Amz-Target: {prefix}{operation}\r\n"
            f"Content-Type: application/x-amz-json-1.0\r\nX-Amz-Date: 20260101T000000Z\r\n"
            f"Authorization: {AUTHORIZATION}\r\n"
            f"{headers}Content-Length: {len(body)}\r\n\r\n")
    return head.encode() + body


class Client:
    """db.PutItem(TableName=..., Item=...) gives the answer's JSON or raises Refused."""

    def __init__(self, endpoint, tls=None):
        self.endpoint = endpoint
        self.connection = Connection(endpoint, tls=tls)

    def send(self, operation, body, headers="", prefix=TARGET):
        """Sends bytes as they are; gives the Answer whatever it is."""
        self.connection.send(request_bytes(self.connection.host, operation, body, headers, prefix))
        return self.connection.read_answer()

    def call(self, operation, request, prefix=TARGET):
        answer = self.send(operation, json.dumps(request).encode(), prefix=prefix)
        if answer.status != 200:
            raise Refused(answer)
        return answer.json() if answer.body else None

    def __getattr__(self, operation):
        if not operation[0].isupper():
            raise AttributeError(operation)

        def call(**request):
            return self.call(operation, request)
        setattr(self, operation, call)
        return call

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@contextlib.contextmanager
def refused(kind, message=None):
    """The block must raise Refused of type `kind`; with exactly `message`, if given. The error is
    in `.error` of what it yields."""
    caught = type("Caught", (), {"error": None})()
    try:
        yield caught
    except Refused as error:
        assert error.type == kind, error
        if message is not None:
            assert error.message == message
        caught.error = error
    else:
        raise AssertionError(f"not refused with {kind}")


def invalid(message=None):
    return refused("ValidationException", message)
