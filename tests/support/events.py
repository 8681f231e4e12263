"""A reader of server-sent events, on a thread of its own."""

import contextlib
import http.client
import json
import socket
import threading
from urllib.parse import urlsplit

from waiting import poll


class Event:
    def __init__(self, name, data, event_id):
        self.name, self.data, self.id = name, data, event_id

    def __repr__(self):
        return f"<{self.name} {self.id} {self.data}>"


class Events:
    """`with Events(f"{endpoint}/calls/api/live", headers) as events:` events.all grows as they come."""

    def __init__(self, url, headers=None):
        parts = urlsplit(url)
        self.all = []
        self.comments = 0
        self.is_over = False
        self.connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        self.connection.request("GET", parts.path, headers={"Accept": "text/event-stream", **(headers or {})})
        self.socket = self.connection.sock  # the answer takes it over
        self.answer = self.connection.getresponse()
        self.status = self.answer.status
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        fields = {}
        try:
            for line in self.answer:
                line = line.decode().rstrip("\n")
                if line.startswith(":"):
                    self.comments += 1
                elif line:
                    name, _, value = line.partition(": ")
                    fields[name] = value
                elif "event" in fields:
                    self.all.append(Event(fields["event"], json.loads(fields["data"]), fields.get("id")))
                    fields = {}
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass
        self.is_over = True

    def named(self, name):
        return [event for event in list(self.all) if event.name == name]

    def wait(self, name, count=1, seconds=15):
        """The events of a name, when there are that many."""
        poll(lambda: len(self.named(name)) >= count, seconds, f"{count} events {name}; there are {self.all}")
        return self.named(name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join(10)
        self.answer.close()
        self.connection.close()
