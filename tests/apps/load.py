#!/usr/bin/python3
"""Many people at once: each signs in (mode dev), keeps a page open (live updates), reads and writes, and thinks for a
while in between. First ten of them, then 200, on a server and applications of this script's own. Fails if a request fails,
if the 99th percentile of 200 people is more than 5 times that of ten, or if memory grows while 200 work.

    tests/apps/load.py [--people 200] [--seconds 20]"""

import argparse
import asyncio
import json
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from server import Apps, Server  # noqa: E402


class Person:
    """One browser: a connection for requests, and one for live updates."""

    def __init__(self, port, number, times, failures):
        self.port, self.times, self.failures = port, times, failures
        self.name = f"person-{number}"
        self.cookie = ""
        self.events = 0

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def send(self, method, path, body=None):
        content = b"" if body is None else json.dumps(body).encode()
        head = (f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nOrigin: http://127.0.0.1:{self.port}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\nCookie: {self.cookie}\r\n\r\n")
        began = time.monotonic()
        self.writer.write(head.encode() + content)
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        await self.reader.readexactly(int(headers.get("content-length", 0)))
        self.times.append(time.monotonic() - began)
        status = int(lines[0].split()[1])
        if status >= 300:
            self.failures.append((method, path, status))
        return headers

    async def listen(self):
        """Takes what is told until the connection ends."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"GET /tickets/api/live HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {self.cookie}\r\n\r\n".encode())
        try:
            while await reader.readline():
                self.events += 1
        finally:
            writer.close()

    async def live(self, until):
        await self.open()
        headers = await self.send("POST", "/auth/dev", {"user": self.name})
        self.cookie = headers["set-cookie"].split(";")[0]
        listening = asyncio.create_task(self.listen())
        while time.monotonic() < until:
            choice = random.random()
            if choice < 0.2:
                await self.send("POST", "/tickets/api/tickets", {"issue_description": "It does not work " * 5})
            elif choice < 0.6:
                await self.send("GET", "/tickets/api/tickets")
            elif choice < 0.8:
                await self.send("GET", "/calendar/api/events?from=2031-01-01&to=2031-02-01")
            else:
                await self.send("GET", f"/calls/api/users/{self.name}/calls/upcoming")
            await asyncio.sleep(random.uniform(0.5, 1.5))
        listening.cancel()
        self.writer.close()


def resident_kb(process):
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0])


async def run(apps, people, seconds):
    """Gives the 99th percentile, the failures, and memory after the first third and at the end."""
    times, failures = [], []
    until = time.monotonic() + seconds
    work = [asyncio.create_task(Person(apps.port, number, times, failures).live(until)) for number in range(people)]
    await asyncio.sleep(seconds / 3)
    early = resident_kb(apps.process)
    await asyncio.gather(*work)
    times.sort()
    return times[int(len(times) * 0.99)], len(times), failures, early, resident_kb(apps.process)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    with Server("memory:") as server, Apps(server.endpoint, "--log-level", "warn") as apps:
        few, _, failures, _, _ = asyncio.run(run(apps, 10, options.seconds))
        many, count, more, early, late = asyncio.run(run(apps, options.people, options.seconds))
    print(f"p99 of 10 people {few * 1000:.1f} ms, of {options.people} {many * 1000:.1f} ms ({count} requests); "
          f"memory {early} KB, then {late} KB")
    bad = [("failures", (failures + more)[:5])] if failures or more else []
    bad += [("p99", many / few)] if many > 5 * few else []
    bad += [("memory", late / early)] if late > early * 1.25 + 20_000 else []
    for what in bad:
        print("too much:", *what)
    print(f"{int(not bad)} passed, {int(bool(bad))} failed")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
