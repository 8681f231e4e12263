"""Ports of the loopback address."""

import contextlib
import random
import socket


def free_port():
    """A port that is free now, for a program that is told its port, or that is stopped and started again at the same one. It is below
    those that the kernel gives to programs that ask for any (from 32768 on), so no such program takes it meanwhile."""
    while True:
        port = random.SystemRandom().randrange(10_000, 32_768)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
