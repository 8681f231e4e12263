"""Many clients at once: threads that start together and whose first failure fails the test."""

import threading

from wire import Client


def race(endpoint, count, work):
    """Runs work(client, number) in `count` threads, each with a connection of its own; all begin
    when all are connected. Gives their results in order."""
    def run(number, start):
        with Client(endpoint) as client:
            start.wait(60)
            return work(client, number)
    return _run(count, run)


def together(count, work):
    """The same for work(number), which brings its own connection."""
    def run(number, start):
        start.wait(60)
        return work(number)
    return _run(count, run)


def _run(count, work):
    results = [None] * count
    failures = []
    start = threading.Barrier(count)

    def run(number):
        try:
            results[number] = work(number, start)
        except BaseException as failure:  # noqa: B902 - reported to the test below
            failures.append(failure)
            start.abort()
    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return results
