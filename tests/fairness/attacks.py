"""Requests that are expensive for the server and cheap for whoever sends them: one function per kind, each gives
(prepared bytes, the next bytes...) to be sent again and again over one connection."""

import gzip
import json
import socket

ITEMS_BIG = 120
BIG_BYTES = 100_000
ITEMS_SMALL = 1200
NEEDLES = 100


def request(operation, body, headers=""):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = (f"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n"
            "Authorization: AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, "
            "SignedHeaders=host, Signature=0\r\nContent-Type: application/x-amz-json-1.0\r\n"
            f"{headers}Content-Length: {len(data)}\r\n\r\n")
    return head.encode() + data


class Connection:
    """One HTTP connection; call() sends a prepared request and gives status and body."""

    def __init__(self, port, seconds=120):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def call(self, prepared):
        self.socket.sendall(prepared)
        data = self.rest
        while b"\r\n\r\n" not in data:
            data += self._receive()
        head, _, body = data.partition(b"\r\n\r\n")
        lower = head.lower()
        at = lower.index(b"content-length:") + len(b"content-length:")
        length = int(lower[at:].split(b"\r\n", 1)[0])
        pieces, size = [body], len(body)
        while size < length:
            pieces.append(self._receive())
            size += len(pieces[-1])
        body = b"".join(pieces)
        self.rest = body[length:]
        return int(head.split(b" ", 2)[1]), body[:length]

    def _receive(self):
        piece = self.socket.recv(1 << 18)
        if not piece:
            raise ConnectionError("the server closed the connection")
        return piece

    def close(self):
        self.socket.close()


def checked(connection, operation, body):
    status, answer = connection.call(request(operation, body))
    assert status == 200, (operation, status, answer[:300])
    return json.loads(answer)


def fill(port):
    """The tables that victims and attackers use."""
    db = Connection(port)
    for name in ("Victims", "Big", "Small"):
        checked(db, "CreateTable", {
            "TableName": name, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]})
    for number in range(ITEMS_BIG):
        item = {"pk": {"S": f"big-{number}"}, "text": {"S": "ab" * (BIG_BYTES // 2)}}
        checked(db, "PutItem", {"TableName": "Big", "Item": item})
    for number in range(ITEMS_SMALL):
        item = {"pk": {"S": f"small-{number}"}, "text": {"S": "ab" * 500}}
        checked(db, "PutItem", {"TableName": "Small", "Item": item})
    for number in range(64):
        item = {"pk": {"S": f"victim-{number}"}, "text": {"S": "x" * 100}}
        checked(db, "PutItem", {"TableName": "Victims", "Item": item})
    db.close()


def needles():
    return {f":{i}": {"S": "ab" * 8 + f"c{i}"} for i in range(NEEDLES)}


def scan_contains(_):
    text = " OR ".join(f"contains(#t,:{i})" for i in range(NEEDLES))
    return request("Scan", {"TableName": "Small", "FilterExpression": text,
                            "ExpressionAttributeNames": {"#t": "text"}, "ExpressionAttributeValues": needles()})


def condition_checks(number):
    text = " AND ".join(f"NOT contains(#t,:{i})" for i in range(NEEDLES))
    check = {"TableName": "Big", "ConditionExpression": text, "ExpressionAttributeNames": {"#t": "text"},
             "ExpressionAttributeValues": needles()}
    actions = [{"ConditionCheck": {**check, "Key": {"pk": {"S": f"big-{i}"}}}} for i in range(99)]
    actions.append({"Put": {"TableName": "Victims", "Item": {"pk": {"S": f"attack-{number}"}}}})
    return request("TransactWriteItems", {"TransactItems": actions})


def large_json(_):
    elements = ",".join(['{"N":"1"}'] * 1_600_000)  # 16 MB, refused only after it has been decoded
    body = '{"TableName":"Small","Item":{"pk":{"S":"x"},"l":{"L":[' + elements + "]}}}"
    return request("PutItem", body.encode())


def gzip_body(_):
    body = '{"TableName":"Small","Item":{"pk":{"S":"x"},"l":{"S":"' + "a" * 16_000_000 + '"}}}'
    return request("PutItem", gzip.compress(body.encode(), 6), "Content-Encoding: gzip\r\n")


def gzip_answer(_):
    return request("Scan", {"TableName": "Small"}, "Accept-Encoding: gzip\r\n")


def batch_get(_):
    keys = [{"pk": {"S": f"big-{i}"}} for i in range(100)]
    return request("BatchGetItem", {"RequestItems": {"Big": {"Keys": keys}}})


def short_names():
    """1,360 different names of two characters, ascending: with commas 4 KB, as much as an expression may have."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    names = [f"{a}{b}" for a in letters for b in letters]
    reserved = {"AS", "AT", "BY", "DO", "GO", "IF", "IN", "IS", "NO", "OF", "ON", "OR", "TO"}
    return [name for name in names if name.upper() not in reserved][:1360]


def projections(names):
    """15 of them in one request of 62 KB: bodies of up to 64 KB are handled by the network thread."""
    get = {"TableName": "Small", "ProjectionExpression": ",".join(names)}
    return request("TransactGetItems", {"TransactItems": [
        {"Get": {**get, "Key": {"pk": {"S": f"small-{i}"}}}} for i in range(15)]})


def projections_descending(_):
    return projections(short_names()[::-1])


def projections_ascending(_):
    return projections(short_names())


def many_columns(_):
    columns = ",".join(f'"{name}"' for name in short_names()[:1300])
    return request("BatchExecuteStatement", {"Statements": [
        {"Statement": f"SELECT {columns} FROM Small WHERE pk = 'small-{i}'"} for i in range(6)]})


KINDS = {kind.__name__: kind for kind in (scan_contains, condition_checks, large_json, gzip_body, gzip_answer,
                                          batch_get, projections_descending, projections_ascending, many_columns)}
