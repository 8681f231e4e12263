"""Ports for programs that others must know the address of, or that come back at the same address."""

import contextlib
import random
import socket


def free_port():
    """A port that is free now. It is below those that the kernel gives out by itself (from 32768 on), so that it is still free when a
    program begins to listen there, or listens there again after it was killed."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            probe.listen()
            return port
