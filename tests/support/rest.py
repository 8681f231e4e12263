"""A client for the REST APIs of the applications: one connection per thread, nothing retried."""

import http.client
import json
import math
import threading
import time
from urllib.parse import quote, urlencode, urlsplit

IDLE_SECONDS_MAX = 20


class Reply:
    """`body` is the JSON, or None if there is none."""

    def __init__(self, status, headers, content):
        self.status = status
        self.headers = headers
        self.content = content
        is_json = headers.get("content-type") == "application/json"
        self.body = json.loads(content) if is_json else None

    @property
    def code(self):
        """The error's code."""
        return self.body["error"]["code"]

    def __repr__(self):
        return f"<{self.status} {self.content[:300]!r}>"


class Rest:
    """api.post("/tickets", {...}) under the base address of one application."""

    def __init__(self, base, headers=None):
        parts = urlsplit(base)
        self.base = base
        self.address = parts.netloc
        self.path = parts.path
        self.headers = headers or {}
        self.local = threading.local()

    def acting_as(self, user_id, roles=None):
        """Mode dev: as that user, with the roles ("agent,provider")."""
        more = {"X-User-Id": user_id, **({} if roles is None else {"X-User-Roles": roles})}
        return Rest(self.base, {**self.headers, **more})

    def _connection(self):
        """The thread's own; a new one if the server may have closed it, as it does after a minute without requests."""
        now = time.monotonic()
        if now - getattr(self.local, "used", -math.inf) > IDLE_SECONDS_MAX:
            self.local.connection = http.client.HTTPConnection(self.address, timeout=60)
        self.local.used = now
        return self.local.connection

    def send(self, method, path, content=None, headers=None):
        """Sends bytes as they are, as JSON if the headers do not say what they are."""
        if content is not None:
            headers = {"Content-Type": "application/json", **(headers or {})}
        connection = self._connection()
        try:
            connection.request(method, self.path + path, content, {**self.headers, **(headers or {})})
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, names, response.read())
        except Exception:
            connection.close()
            raise

    def call(self, method, path, body=None, headers=None, **query):
        query = {name: value for name, value in query.items() if value is not None}
        path += "?" + urlencode(query) if query else ""
        content = None if body is None else json.dumps(body)
        return self.send(method, path, content, headers)

    def get(self, path, headers=None, **query):
        return self.call("GET", path, None, headers, **query)

    def post(self, path, body, headers=None):
        return self.call("POST", path, body, headers)

    def put(self, path, body, headers=None):
        return self.call("PUT", path, body, headers)

    def patch(self, path, body, headers=None):
        return self.call("PATCH", path, body, headers)

    def delete(self, path, headers=None, **query):
        return self.call("DELETE", path, None, headers, **query)

    def pages(self, path, **query):
        """The items of every page of a list, one list per page."""
        while True:
            reply = self.get(path, **query)
            assert reply.status == 200, reply
            yield reply.body["items"]
            if "cursor" not in reply.body:
                return
            query["cursor"] = reply.body["cursor"]


def segment(text):
    """A text as one segment of a path."""
    return quote(text, safe="")
