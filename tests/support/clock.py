"""The clock of a server that was started with --test-clock on.

    server = start_server("memory:", *TEST_CLOCK)
    with Client(server.endpoint) as db:
        advance_clock(db, 600)
"""

PREFIX = "Gramme_20261115."
TEST_CLOCK = ("--test-clock", "on")


def advance_clock(db, seconds):
    """Sets the clock forward (or back); gives the new time, in seconds since 1970."""
    return db.call("SetClock", {"AdvanceSeconds": seconds}, prefix=PREFIX)["Now"]


def set_clock(db, now):
    return db.call("SetClock", {"Now": now}, prefix=PREFIX)["Now"]


def read_clock(db):
    return advance_clock(db, 0)
