"""A TCP proxy in front of PostgreSQL that cuts connections at random points of the byte stream, in either direction.

    with CuttingProxy(port, seed) as proxy:
        ... postgresql://...@127.0.0.1:{proxy.port}/...
        proxy.start_cutting(50)

A cut forwards a random part of what has just come and closes both sides, with RST or FIN. Many cuts are at a COMMIT: before
it is forwarded, after it was (so that its answer is lost), or within its answer.

freeze() makes it forward and accept nothing any more, without closing anything, as if the machine behind it had vanished."""

import contextlib
import random
import selectors
import socket
import struct
import threading

COMMIT_SENT = b"\0COMMIT\0"      # Bind names the portal (none) and the prepared statement
COMMIT_ANSWERED = b"COMMIT\0"    # CommandComplete
CHUNKS_BETWEEN_CUTS = 40         # at most, between two cuts that are not at a COMMIT
COMMIT_SHARE = 0.3               # of the COMMITs that pass while cuts are left
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close sends RST


class Pipe:
    """One direction of a connection: bytes that come from `source` and go to `target`."""

    def __init__(self, source, target, is_request):
        self.source, self.target, self.is_request = source, target, is_request


class CuttingProxy(threading.Thread):
    """Cuts only after start_cutting(), and then as often as asked for; `cuts` counts by kind."""

    def __init__(self, target_port, seed):
        super().__init__(daemon=True)
        self.target_port = target_port
        self.dice = random.Random(f"{seed}/proxy")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.is_closing = threading.Event()
        self.cuts = {"sending": 0, "receiving": 0, "before COMMIT": 0, "after COMMIT": 0, "answer of COMMIT": 0}
        self.left, self.gap = 0, 0
        self.is_frozen, self.freezes_at_commit = threading.Event(), None

    @property
    def count(self):
        return sum(self.cuts.values())

    def start_cutting(self, count):
        self.left = count

    def freeze(self):
        self.is_frozen.set()

    def freeze_at_commit(self, written):
        """The next COMMIT that is sent together with a write of the bytes `written` is forwarded, and nothing after it."""
        self.freezes_at_commit = written

    def thaw(self):
        self.freezes_at_commit = None
        self.is_frozen.clear()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.is_closing.set()
        self.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()

    def run(self):
        while not self.is_closing.is_set():
            if self.is_frozen.is_set():
                self.is_closing.wait(0.05)
                continue
            for key, _ in self.selector.select(0.1):
                if self.is_frozen.is_set():
                    break
                if key.fileobj is self.listener:
                    self.accept()
                elif key.fd in self.selector.get_map():  # another event of this round may have cut it
                    self.forward(key.data)

    def accept(self):
        client, _ = self.listener.accept()
        try:
            server = socket.create_connection(("127.0.0.1", self.target_port))
        except OSError:
            client.close()
            return
        for one, other, is_request in ((client, server, True), (server, client, False)):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.selector.register(one, selectors.EVENT_READ, Pipe(one, other, is_request))

    def forward(self, pipe):
        kind = None
        try:
            data = pipe.source.recv(1 << 16)
            kind, kept = self.choose(data, pipe.is_request) if self.left > 0 and data else (None, len(data))
            pipe.target.sendall(data[:kept])
            if self.freezes_at_commit and pipe.is_request and COMMIT_SENT in data and self.freezes_at_commit in data:
                self.freeze()
        except OSError:
            data = b""
        if not data or kind is not None:
            # What was forwarded must arrive: RST would make the receiver forget what it has not read.
            self.close(pipe, is_reset=kind is not None and kind != "after COMMIT" and self.dice.random() < 0.5)

    def choose(self, data, is_request):
        """The kind of cut, None for none, and how much of the data is forwarded."""
        at = data.find(COMMIT_SENT if is_request else COMMIT_ANSWERED)
        self.gap -= 1
        if at >= 0 and self.dice.random() < COMMIT_SHARE:
            kind, kept = self.cut_commit(data, at, is_request)
        elif self.gap < 0:
            kind, kept = "sending" if is_request else "receiving", self.dice.randrange(len(data))
        else:
            return None, len(data)
        self.gap = self.dice.randrange(CHUNKS_BETWEEN_CUTS)
        self.cuts[kind] += 1
        self.left -= 1
        return kind, kept

    def cut_commit(self, data, at, is_request):
        if not is_request:
            return "answer of COMMIT", at + self.dice.randrange(len(COMMIT_ANSWERED))
        if self.dice.random() < 0.5:
            return "before COMMIT", at
        return "after COMMIT", len(data)

    def close(self, pipe, is_reset=False):
        for side in (pipe.source, pipe.target):
            with contextlib.suppress(KeyError, ValueError):
                self.selector.unregister(side)
            with contextlib.suppress(OSError):
                if is_reset:
                    side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            side.close()
