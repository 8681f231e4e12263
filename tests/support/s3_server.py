"""An S3 server written by others (npm s3rver), and a proxy before it that checks signatures, which s3rver does not, and makes
requests fail."""

import base64
import collections
import hashlib
import hmac
import http.client
import http.server
import os
import pathlib
import re
import socketserver
import subprocess
import tempfile
import threading
import urllib.parse

import boto3
from botocore.config import Config

from waiting import poll

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "node_modules" / "s3rver" / "bin" / "s3rver.js"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "S3RVER", "AWS_SECRET_ACCESS_KEY": "S3RVER"}


class S3Server:
    """`with S3Server(directory, "bucket") as s3:` serves at s3.endpoint; the credentials are in the environment meanwhile."""

    def __init__(self, directory, *buckets, port=0):
        self.log_path = pathlib.Path(tempfile.mkstemp(prefix="gramme-s3-", suffix=".log")[1])
        options = [part for bucket in buckets for part in ("--configure-bucket", bucket)]
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                ["node", "--openssl-legacy-provider",  # s3rver encrypts the tokens of lists with DES
                 str(PROGRAM), "-d", str(directory), "-a", "127.0.0.1", "-p", str(port), "--service-endpoint",
                 "localhost", *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.port = int(poll(self._find_port, 30, "s3rver listens")[1])
        self.endpoint = f"http://127.0.0.1:{self.port}"

    def _find_port(self):
        assert self.process.poll() is None, self.log_path.read_text()
        return re.search(r"listening on 127\.0\.0\.1:(\d+)", self.log_path.read_text())

    def client(self):
        return boto3.client("s3", endpoint_url=self.endpoint, region_name="us-east-1", aws_access_key_id="S3RVER",
                            aws_secret_access_key="S3RVER",
                            config=Config(s3={"addressing_style": "path"}))

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log_path.unlink()

    def __enter__(self):
        self.before = {name: os.environ.get(name) for name in CREDENTIALS}
        os.environ.update(CREDENTIALS)
        return self

    def __exit__(self, *_):
        for name, value in self.before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self.stop()


def is_signed(command, target, headers, body, secret):
    """Whether the request has a valid signature of version 4, as docs.aws.amazon.com describes it for S3."""
    found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=S3RVER/(\d{8})/([^/]+)/s3/aws4_request, SignedHeaders=([^,]+), "
                         r"Signature=([0-9a-f]{64})", headers["Authorization"])
    day, region, names, signature = found.groups()
    assert {"host", "x-amz-content-sha256", "x-amz-date"} <= set(names.split(";"))
    content_hash = hashlib.sha256(body).hexdigest()
    if headers["X-Amz-Content-Sha256"] != content_hash:
        return False
    if "Content-MD5" in headers and base64.b64decode(headers["Content-MD5"]) != hashlib.md5(body).digest():
        return False
    path, _, query = target.partition("?")
    pairs = sorted((urllib.parse.quote(name, "-_.~"), urllib.parse.quote(value, "-_.~"))
                   for name, value in urllib.parse.parse_qsl(query, keep_blank_values=True))
    canonical = "\n".join([command, urllib.parse.quote(urllib.parse.unquote(path), "/-_.~"),
                           "&".join(f"{name}={value}" for name, value in pairs),
                           *(f"{name}:{headers[name].strip()}" for name in names.split(";")), "", names, content_hash])
    text = "\n".join(["AWS4-HMAC-SHA256", headers["X-Amz-Date"], f"{day}/{region}/s3/aws4_request",
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{secret}".encode()
    for part in (day, region, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex() == signature


class Handler(http.server.BaseHTTPRequestHandler):
    """Passes a request on; every tenth fails: with a 503, with a lost answer, or with none at all."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms

    def log_message(self, *_):
        pass

    def handle_request(self):
        proxy = self.server.proxy
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        number = proxy.count(self.command)
        signed = is_signed(self.command, self.path, self.headers, body, CREDENTIALS["AWS_SECRET_ACCESS_KEY"])
        proxy.last = (self.path, signed)
        if not signed:
            self.answer(403, {}, b"<Error><Code>SignatureDoesNotMatch</Code><Message>The signature does not match</Message></Error>")
            return
        if proxy.refusal is not None:
            self.answer(400, {}, f"<Error><Code>{proxy.refusal}</Code><Message>Refused</Message></Error>".encode())
            return
        trouble = (number // proxy.every) % 3 if number % proxy.every == 0 else None
        if proxy.is_down or (proxy.good_requests is not None and number > proxy.good_requests) or trouble == 0:
            self.close_connection = True  # no answer
            return
        if trouble == 1:
            self.answer(503, {}, b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>")
            return
        onward = http.client.HTTPConnection("127.0.0.1", proxy.target_port, timeout=60)
        onward.request(self.command, self.path, body, dict(self.headers))
        answer = onward.getresponse()
        content = answer.read()
        onward.close()
        if trouble == 2 or proxy.lose(self.command, self.path):
            self.close_connection = True  # it was carried out, but the answer is lost
            return
        self.answer(answer.status, dict(answer.getheaders()), content)

    def answer(self, status, headers, content):
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "date", "server"):
                self.send_header(name, value)
        length = headers.get("content-length") or headers.get("Content-Length")
        self.send_header("Content-Length", length if self.command == "HEAD" and length else str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_request


class Listener(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that was killed ends its connection: not worth a trace."""


class FailingProxy:
    """`with FailingProxy(s3.port) as proxy:` is before an S3 server at proxy.endpoint; `is_down` makes all requests fail."""

    def __init__(self, target_port, every=10):
        self.target_port, self.every, self.is_down = target_port, every, False
        self.requests, self.lock = 0, threading.Lock()
        self.lose = lambda command, path: False  # whether the answer to a request is lost
        self.good_requests = None  # all others fail; None: no limit
        self.refusal = None  # the code of the error that answers each request; None: requests are passed on
        self.commands = collections.Counter()
        self.last = None  # path of the last request, and whether its signature is good
        self.listener = Listener(("127.0.0.1", 0), Handler)
        self.listener.proxy = self
        self.endpoint = f"http://127.0.0.1:{self.listener.server_address[1]}"
        threading.Thread(target=self.listener.serve_forever, args=(0.05,), daemon=True).start()

    def count(self, command):
        with self.lock:
            self.commands[command] += 1
            self.requests += 1
            return self.requests

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown()
        self.listener.server_close()
