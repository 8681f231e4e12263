"""Gramme, a DynamoDB-compatible database: starts a server for tests.

    import gramme
    with gramme.start() as db:
        client = db.client()        # boto3
        ...

The server keeps its data in memory and listens on a free port. It ends with the block, and with this process
in whichever way that ends: its standard input is a pipe from here (`gramme serve --until-eof`)."""

import json
import os
import pathlib
import queue
import re
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.request

__all__ = ["Server", "program", "start"]

REGION = "us-east-1"
LOG_LINES_MAX = 200
EOF_SECONDS_MAX = 3
STOP_SECONDS_MAX = 10
RESET_SECONDS_MAX = 30
_SERVES = re.compile(r"gramme \S+ serves (http://[^ ,]+)")


def _find_in_path():
    """A `gramme` in PATH that is not this package's own command, which would only start itself; or None."""
    for folder in os.get_exec_path():
        found = shutil.which("gramme", path=folder)
        if found is not None:
            with open(found, "rb") as file:
                if b"gramme.__main__" not in file.read(4096):
                    return found
    return None


def program():
    """The path of the program: the variable GRAMME, the one in this package, or one in PATH."""
    inside = pathlib.Path(__file__).parent / "programs" / "gramme"
    found = os.environ.get("GRAMME") or (str(inside) if inside.exists() else _find_in_path())
    if found is None:
        raise FileNotFoundError("gramme: this package was installed without the program; name yours in the variable GRAMME, or put "
                                "it into PATH")
    return found


def start(*options, store="memory:", program_path=None, seconds_max=30.0):
    """Starts a server and returns when it is ready. `options` are further ones of `gramme serve`."""
    return Server(options, store, program_path or program(), seconds_max)


class Refused(Exception):
    """An error that the server answered; `kind` is its name, such as ResourceNotFoundException."""

    def __init__(self, kind, message):
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class Server:
    """A running server. Attributes: endpoint, port, pid, region."""

    def __init__(self, options, store, program_path, seconds_max):
        self.region = REGION
        self._lines, self._told = [], queue.Queue()
        # Of an option that is given twice the first is used. GRAMME_* variables of the environment are not passed on.
        command = [program_path, "serve", "--listen", "127.0.0.1:0", "--store", store, "--log-level", "info", "--log-format", "text",
                   "--log-file", "-", "--until-eof", *map(str, options)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GRAMME_")}
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                         errors="replace", env=environment)
        self.pid = self._process.pid
        self._reader = threading.Thread(target=self._read_log, name="gramme-log", daemon=True)
        self._reader.start()
        self.endpoint = self._await_endpoint(seconds_max)
        self.port = int(self.endpoint.rsplit(":", 1)[1])

    def _read_log(self):
        """Runs in a thread until the server ends: its log must be read, or it would wait."""
        for line in self._process.stderr:
            self._lines.append(line.rstrip("\n"))
            del self._lines[:-LOG_LINES_MAX]
            found = _SERVES.search(line)
            if found:
                self._told.put(found[1])
        self._told.put(None)

    def _await_endpoint(self, seconds_max):
        try:
            endpoint = self._told.get(timeout=seconds_max)
        except queue.Empty:
            self.kill()
            raise RuntimeError(f"gramme was not ready after {seconds_max} s:\n{self.log}") from None
        if endpoint is None:
            raise RuntimeError(f"gramme did not start: it ended with status {self._process.wait()}:\n{self.log}")
        return endpoint

    @property
    def log(self):
        """The last lines of the server's log."""
        return "\n".join(self._lines)

    @property
    def boto3(self):
        """Arguments for boto3: boto3.client("dynamodb", **server.boto3)."""
        return {"endpoint_url": self.endpoint, "region_name": self.region, "aws_access_key_id": "test", "aws_secret_access_key": "test"}

    def client(self, service="dynamodb"):
        """A boto3 client: of "dynamodb" or "dynamodbstreams"."""
        import boto3
        return boto3.client(service, **self.boto3)

    def resource(self):
        """A boto3 resource."""
        import boto3
        return boto3.resource("dynamodb", **self.boto3)

    def environment(self):
        """Variables with which AWS SDKs find the server (boto3 from 1.28 on); those for credentials and region only if they are not set."""
        variables = {"AWS_ENDPOINT_URL_DYNAMODB": self.endpoint, "AWS_ENDPOINT_URL_DYNAMODB_STREAMS": self.endpoint}
        defaults = {"AWS_DEFAULT_REGION": self.region, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
        variables.update({name: value for name, value in defaults.items() if not os.environ.get(name)})
        return variables

    def call(self, operation, **body):
        """Carries out an operation of DynamoDB without boto3; values as in its JSON protocol. Raises Refused."""
        request = urllib.request.Request(self.endpoint, json.dumps(body).encode(), {
            "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"DynamoDB_20120810.{operation}", "X-Amz-Date": "20200101T000000Z",
            "Authorization": f"AWS4-HMAC-SHA256 Credential=test/20200101/{REGION}/dynamodb/aws4_request, "
                             "SignedHeaders=host;x-amz-date;x-amz-target, Signature=0"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            body = json.load(error)
            raise Refused(body.get("__type", "").rpartition("#")[2], body.get("message", body.get("Message", ""))) from None

    def tables(self):
        """The names of all tables."""
        names, page = [], self.call("ListTables")
        while True:
            names += page["TableNames"]
            if "LastEvaluatedTableName" not in page:
                return names
            page = self.call("ListTables", ExclusiveStartTableName=page["LastEvaluatedTableName"])

    def reset(self):
        """Deletes all tables, also those with deletion protection. Waits for those that are being made, or an index of theirs."""
        for name in self.tables():
            self._delete_table(name, time.monotonic() + RESET_SECONDS_MAX)

    def _delete_table(self, name, deadline):
        is_protected = False
        while True:
            try:
                if is_protected:
                    self.call("UpdateTable", TableName=name, DeletionProtectionEnabled=False)
                    is_protected = False
                self.call("DeleteTable", TableName=name)
                return
            except Refused as refused:
                if refused.kind == "ResourceNotFoundException":
                    return
                if refused.kind not in ("ResourceInUseException", "ValidationException") or time.monotonic() > deadline:
                    raise
                is_protected = refused.kind == "ValidationException" or is_protected
                time.sleep(0 if is_protected else 0.01)

    def stop(self):
        """Ends the server; raises RuntimeError if it did not end well. May be called again."""
        if self._process.poll() is None:
            self._process.stdin.close()
            # A process that was forked from this one may have the pipe, too.
            for seconds_max, end in ((EOF_SECONDS_MAX, self._process.terminate), (STOP_SECONDS_MAX, self.kill)):
                try:
                    self._process.wait(seconds_max)
                    break
                except subprocess.TimeoutExpired:
                    end()
        self._reader.join(STOP_SECONDS_MAX)
        self._process.stderr.close()
        if self._process.returncode != 0:
            raise RuntimeError(f"gramme ended with status {self._process.returncode}:\n{self.log}")

    def kill(self):
        """Ends the server at once, as a crash would."""
        self._process.kill()
        self._process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
