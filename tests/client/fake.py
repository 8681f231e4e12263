"""A server that answers as a test tells it to, and remembers what it was asked."""

import http.server
import json
import ssl
import threading
import time


class Asked:
    """One request."""

    def __init__(self, handler, body):
        self.method = handler.command
        self.path = handler.path
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.body = body
        self.time = time.monotonic()
        self.port = handler.client_address[1]

    def json(self):
        return json.loads(self.body)


class Reply:
    """An answer. `body` is bytes, text, or a value to be written as JSON; `cut` sends only so many
    of its bytes and hangs up; `wait` holds the answer back until the server is closed."""

    def __init__(self, status=200, body=None, headers=None, cut=None, wait=False):
        self.status = status
        if not isinstance(body, (bytes, str)):
            body = json.dumps({} if body is None else body)
        self.body = body if isinstance(body, bytes) else body.encode()
        self.headers = headers or {}
        self.cut = cut
        self.wait = wait


def error(code, status=400, message="because", **headers):
    return Reply(status, {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message},
                 headers)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self):
        fake = self.server.fake
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        asked = Asked(self, body)
        reply = fake.next_reply(asked)
        if reply.wait:
            fake.closing.wait(60)
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body[:reply.cut])
        if reply.cut is not None:
            self.close_connection = True

    do_POST = do_GET = do_PUT = answer

    def handle(self):
        try:
            super().handle()
        except (ConnectionError, ssl.SSLError):
            pass  # the other side gave up, as some tests want

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


class Fake:
    """`replies` are given in turn, the last one for ever; each is a Reply or a function of what was
    asked that makes one."""

    def __init__(self, *replies, context=None):
        self.replies = list(replies)
        self.asked = []
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.fake = self
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_port
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.port}"
        # The same place under a name that does not tell that it is on this machine.
        self.far_url = f"http://0.0.0.0:{self.port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def next_reply(self, asked):
        with self.lock:
            self.asked.append(asked)
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return reply(asked) if callable(reply) else reply

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
