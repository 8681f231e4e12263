"""A proxy between a program and its DynamoDB that notes what is asked, and what it consumed."""

import http.client
import http.server
import json
import threading
from urllib.parse import urlsplit

NO_CAPACITY = {"CreateTable", "DescribeTable", "ListTables", "UpdateTable"}
STREAMS = {"DescribeStream", "GetShardIterator", "GetRecords"}  # live updates; no access patterns
PARTS = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}
PASSED_ON = ("x-amz-target", "content-type", "authorization", "x-amz-date", "host")


def permissions_of(operation, request, answer):
    """What a policy must allow for a request to pass: pairs of an action and the last part of a resource's ARN."""
    def of_table(table, action=operation, index=None):
        return f"dynamodb:{action}", f"{table}/index/{index}" if index else table
    if operation == "TransactWriteItems":
        return {of_table(part["TableName"], PARTS[kind]) for item in request["TransactItems"] for kind, part in item.items()}
    if operation in ("BatchGetItem", "BatchWriteItem"):
        return {of_table(table) for table in request["RequestItems"]}
    if operation in ("DescribeStream", "GetShardIterator"):
        return {of_table(request["StreamArn"].split(":table/")[1].partition("/")[0] + "/stream/*")}
    if operation == "GetRecords":  # the iterator does not say of which table; a record's answer has no name either
        return {("dynamodb:GetRecords", None)} if "Records" in answer else set()
    return {of_table(request.get("TableName"), index=request.get("IndexName"))}


class Access:
    """One request: operation, table, index, key (of a Query), items, units, and the answer's status."""

    def __init__(self, operation, request, status, answer):
        self.operation = operation
        self.request = request
        self.status = status
        self.index = request.get("IndexName")
        self.key = request.get("KeyConditionExpression")
        tables = self._tables(request)
        self.table = request.get("TableName") or (tables[0] if len(set(tables)) == 1 else tables)
        consumed = answer.get("ConsumedCapacity", [])
        consumed = consumed if isinstance(consumed, list) else [consumed]
        self.units = sum(each["CapacityUnits"] for each in consumed)
        self.items = answer.get("ScannedCount", len(tables) or 1)

    @staticmethod
    def _tables(request):
        """The table of each item that a batch or transaction names."""
        if "TransactItems" in request:
            return [part["TableName"] for item in request["TransactItems"] for part in item.values()]
        return [table for table, of_table in request.get("RequestItems", {}).items()
                for _ in (of_table["Keys"] if "Keys" in of_table else of_table)]

    def __repr__(self):
        return (f"<{self.operation} {self.table} {self.index or ''} key {self.key!r}: {self.status}, "
                f"{self.items} items, {self.units} units>")


class Recorder:
    """`with Recorder(endpoint) as recorder:` passes on what comes to recorder.endpoint."""

    def __init__(self, endpoint):
        self.lock = threading.Lock()
        self.accesses = []
        self.permissions = set()
        self.insight = None  # the answer to GET /_gramme/api/patterns
        self.insight_status = 200
        self.lost = []  # operations whose next answer does not arrive
        self.refused = {}  # operations that are refused, with the name of the error
        recorder = self
        target = urlsplit(endpoint).netloc

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self):
                super().setup()
                self.upstream = http.client.HTTPConnection(target, timeout=60)

            def finish(self):
                super().finish()
                self.upstream.close()

            def do_POST(self):
                operation = self.headers["X-Amz-Target"].rpartition(".")[2]
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if operation not in NO_CAPACITY | STREAMS:
                    request["ReturnConsumedCapacity"] = "TOTAL"
                if operation in recorder.refused:
                    self.refuse(recorder.refused[operation])
                    return
                headers = {name: value for name, value in self.headers.items() if name.lower() in PASSED_ON}
                self.upstream.request("POST", "/", json.dumps(request).encode(), headers)
                response = self.upstream.getresponse()
                content = response.read()
                with recorder.lock:
                    recorder.permissions |= permissions_of(operation, request, json.loads(content))
                    if operation not in STREAMS | {"DescribeTable", "UpdateTable"}:
                        recorder.accesses.append(
                            Access(operation, request, response.status, json.loads(content)))
                    if operation in recorder.lost:
                        recorder.lost.remove(operation)
                        self.close_connection = True
                        return
                self.send_response(response.status)
                for name, value in response.getheaders():
                    if name.lower() in ("content-type", "content-length", "x-amz-crc32"):
                        self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def refuse(self, name):
                content = json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{name}", "message": "refused by the test"}).encode()
                self.send_response(400)
                self.send_header("Content-Type", "application/x-amz-json-1.0")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def do_GET(self):
                """What a database that measures tells, if the test says so."""
                content = json.dumps(recorder.insight or {"error": "no such path"}).encode()
                is_known = recorder.insight and self.path.startswith("/_gramme/api/patterns?")
                self.send_response(recorder.insight_status if is_known else 404)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"

    def take(self):
        """What was asked since the last time."""
        with self.lock:
            taken, self.accesses = self.accesses, []
        return taken

    def lose(self, operation):
        """The next answer to this operation is lost on the way: executed, but the answer is dropped."""
        with self.lock:
            self.lost.append(operation)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
