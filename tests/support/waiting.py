"""Waiting for a condition, with a deadline; never for a while and hoping."""

import time


def poll(probe, seconds, what, pause=0.005):
    """The first true value that probe() gives, asked again and again for at most `seconds`, with pauses between."""
    deadline = time.monotonic() + seconds
    while True:
        value = probe()
        if value:
            return value
        assert time.monotonic() < deadline, f"waited {seconds} s in vain: {what}"
        time.sleep(pause)
