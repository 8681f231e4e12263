"""Starts Gramme and an oracle, both in memory, and speaks to them on one connection each."""

import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from urllib.parse import urlsplit

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "support"))

from loopback import free_port  # noqa: E402
from server import Server as Gramme  # noqa: E402
from waiting import poll  # noqa: E402
from streams import PREFIX as STREAMS_TARGET  # noqa: E402
from wire import AUTHORIZATION, TARGET  # noqa: E402

HEADERS = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Date": "20260101T000000Z", "Authorization": AUTHORIZATION}


STREAM_OPERATIONS = {"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}


class Answer:
    """What came back: the HTTP status and the body as Python values (None if it was no JSON)."""

    def __init__(self, status, data):
        self.status = status
        self.text = data.decode("utf-8", "replace")
        try:
            self.body = json.loads(self.text or "{}")  # some answers are empty instead
        except ValueError:
            self.body = None

    def is_ok(self):
        return self.status == 200

    def error(self):
        """The short name of the error, or None."""
        if self.is_ok() or not isinstance(self.body, dict):
            return None
        return self.body.get("__type", "").rpartition("#")[2]

    def message(self):
        body = self.body if isinstance(self.body, dict) else {}
        return body.get("message", body.get("Message")) or ""

    def __str__(self):
        return f"{self.status} {self.text}"


class Client:
    """Any answer is an answer; a connection that the server closes is opened again once."""

    def __init__(self, endpoint):
        self.host = urlsplit(endpoint).netloc
        self.connection = None

    def call(self, operation, body):
        """Sends `body`: text, or a value to be written as JSON."""
        text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
        data = text.encode("utf-8", "surrogatepass")
        target = (STREAMS_TARGET if operation in STREAM_OPERATIONS else TARGET) + operation
        for attempt in (1, 2):
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPConnection(self.host, timeout=60)
                self.connection.request("POST", "/", data, {**HEADERS, "X-Amz-Target": target})
                answer = self.connection.getresponse()
                return Answer(answer.status, answer.read())
            except (http.client.HTTPException, OSError):
                self.connection = None
                if attempt == 2:
                    raise


def oracle_command(name, port):
    if name == "dynoxide":
        return [str(TESTS / "node_modules/@dynoxide/linux-x64/dynoxide"), "--port", str(port)]
    jar = next((TESTS.parent / ".cache/dynamodb-local").glob("*/DynamoDBLocal.jar"), None)
    if jar is None:
        raise SystemExit("DynamoDB Local is not there: run tools/setup oracle")
    return ["java", "-Xmx512m", f"-Djava.library.path={jar.parent / 'DynamoDBLocal_lib'}", "-jar", str(jar), "-inMemory",
            "-disableTelemetry", "-sharedDb", "-port", str(port)]


def oracle_is_missing(name):
    """Why a test on an oracle is to be skipped, or None. With GRAMME_PEERS=all, as in `make soak`, an oracle that is not there is a failure."""
    try:
        oracle_command(name, 0)
    except SystemExit as missing:
        if os.environ.get("GRAMME_PEERS") == "all":
            raise AssertionError(str(missing)) from None
        return str(missing)
    return None


class Oracle:
    """Another implementation as a process; its output is kept for when it dies."""

    def __init__(self, name):
        self.name = name
        self.port = free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.output = tempfile.TemporaryFile()
        self.start()

    def start(self):
        self.process = subprocess.Popen(oracle_command(self.name, self.port), stdout=self.output, stderr=subprocess.STDOUT)
        poll(self.answers, 60, f"{self.name} answers")

    def restart(self):
        """Ends it and starts it again, empty, at the same address."""
        self.stop()
        self.start()

    def answers(self):
        if self.process.poll() is not None:
            raise SystemExit(f"{self.name} does not start:\n{self.log()}")
        try:
            return Client(self.endpoint).call("ListTables", {}).is_ok()
        except (http.client.HTTPException, OSError):
            return False

    def log(self):
        self.output.seek(0)
        return self.output.read().decode("utf-8", "replace")[-4000:]

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
