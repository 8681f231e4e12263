"""A web server that takes what is posted to it, and notes when."""

import http.server
import json
import threading
import time


class Post:
    def __init__(self, content, signature):
        self.content = content
        self.body = json.loads(content)
        self.signature = signature
        self.began = time.monotonic()
        self.ended = None


class Webhook:
    """`with Webhook(answer) as hook:` answer(post) gives (status, JSON or None), on a thread per
    connection; hook.posts are in the order in which they came."""

    def __init__(self, answer=lambda post: (200, None)):
        self.posts = []
        self.lock = threading.Lock()
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                content = self.rfile.read(int(self.headers["Content-Length"]))
                post = Post(content, self.headers["X-Gramme-Signature"])
                with hook.lock:
                    hook.posts.append(post)
                status, body = answer(post)
                content = b"" if body is None else json.dumps(body).encode()
                post.ended = time.monotonic()
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                except OSError:
                    pass  # it has been given up meanwhile

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.url = f"http://127.0.0.1:{self.server.server_port}/calls"

    def bodies(self):
        with self.lock:
            return [post.body for post in self.posts]

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
