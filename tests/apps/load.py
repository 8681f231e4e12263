#!/usr/bin/python3
"""Many people at once on the demo (tools/demo): each signs in, keeps the page of one application open (live updates), reads,
writes, and thinks for a second in between. First ten of them, then 200. Fails if a request fails or a page does not receive
changes, if a program ends badly or reports an error (sanitizers too), if memory of the applications grows while 200 work, and,
with --p99, if the 99th percentile of 200 people is more than 5 times that of ten.

    tests/apps/load.py [--people 200] [--seconds 20] [--build build] [--p99]

With --build build-asan it is the test of the sanitized programs; `make soak` runs that for 5 minutes."""

import argparse
import asyncio
import datetime
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from server import TROUBLE  # noqa: E402
from waiting import poll  # noqa: E402

APPS = ["calls", "calendar", "reconciliation", "tickets", "tasks"]
FEW = 10
SAMPLE_SECONDS = 1
ARRIVAL_SECONDS = 2  # people do not all come in the same millisecond


class Demo:
    """tools/demo as a process: self.port, and the memory of gramme-apps."""

    def __init__(self, build):
        self.directory = tempfile.TemporaryDirectory(prefix="gramme-load-")
        self.log_path = pathlib.Path(self.directory.name) / "log"
        # Freed memory is held back by AddressSanitizer, 256 MB of it by default.
        environment = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=16"}
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen(
                [ROOT / "tools/demo", "--build", build, "--data", f"{self.directory.name}/data", "--listen", "127.0.0.1:0"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        poll(lambda: "Ctrl-C" in self.log() or self.process.poll() is not None, 120, "the demo says where it is")
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)/   the applications", self.log())[1])
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        self.apps_pid = next(pid for pid in children if pathlib.Path(f"/proc/{pid}/comm").read_text() == "gramme-apps\n")

    def log(self):
        return self.log_path.read_text(errors="replace")

    def memory_mb(self):
        status = pathlib.Path(f"/proc/{self.apps_pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def stop(self):
        """What was wrong with it, if anything."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(120)
        log = self.log()
        self.directory.cleanup()
        return f"status {status}: {log[-3000:]}" if status != 0 or TROUBLE.search(log) else None


class Connection:
    """HTTP/1.1, one request at a time, with a cookie and the origin as browsers send them."""

    def __init__(self, port):
        self.port, self.cookie = port, ""

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    def close(self):
        self.writer.close()

    async def send(self, method, path, body=None, version=None):
        """(status, headers, body)"""
        content = b"" if body is None else json.dumps(body).encode()
        match = "" if version is None else f'If-Match: "{version}"\r\n'
        self.writer.write((f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nOrigin: http://127.0.0.1:{self.port}\r\n"
                           f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n{match}"
                           f"Cookie: {self.cookie}\r\n\r\n").encode() + content)
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        content = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return int(lines[0].split()[1]), headers, json.loads(content) if content else None


class Phase:
    """What the people of one phase saw."""

    def __init__(self, people):
        self.people = people
        self.times, self.failures, self.received = [], [], 0

    def p99(self):
        return sorted(self.times)[int(len(self.times) * 0.99)]


class Person:
    """A browser with the page of one application: a connection for requests, and one for live updates."""

    def __init__(self, port, number, phase):
        self.number, self.phase = number, phase
        self.app = APPS[number % len(APPS)]
        self.name = f"person-{number}"
        self.connection = Connection(port)
        self.made = None  # what this person wrote last

    async def call(self, method, path, body=None, version=None):
        began = time.monotonic()
        status, headers, answer = await self.connection.send(method, path, body, version)
        self.phase.times.append(time.monotonic() - began)
        if status >= 300:
            self.phase.failures.append((self.name, method, path, status, answer))
            return headers, None
        return headers, answer

    async def sign_in(self):
        await self.connection.open()
        roles = ["operator"] if self.app == "reconciliation" else []
        headers, _ = await self.call("POST", "/auth/dev", {"user": self.name, "roles": roles})
        self.connection.cookie = headers["set-cookie"].split(";")[0]

    async def listen(self):
        """Reads events until it is canceled."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.connection.port)
        writer.write(f"GET /{self.app}/api/live HTTP/1.1\r\nHost: 127.0.0.1:{self.connection.port}\r\n"
                     f"Cookie: {self.connection.cookie}\r\n\r\n".encode())
        try:
            if b" 200 " not in await reader.readline():
                self.phase.failures.append((self.name, "GET", f"/{self.app}/api/live"))
            while piece := await reader.read(65536):  # not line by line: this script must not be what people wait for
                self.phase.received += piece.count(b"event: change\n")
            self.phase.failures.append((self.name, "the server ended the live updates of", self.app))
        finally:
            writer.close()

    async def live(self, until):
        await asyncio.sleep(random.uniform(0, ARRIVAL_SECONDS))
        await self.sign_in()
        listening = asyncio.create_task(self.listen())
        while time.monotonic() < until:
            await getattr(self, f"use_{self.app}")(random.random())
            await asyncio.sleep(random.uniform(0.5, 1.5))
        listening.cancel()
        self.connection.close()

    async def use_calls(self, luck):
        if luck < 0.15:
            _, self.made = await self.call("POST", "/calls/api/calls", {
                "userId": self.name, "providerId": f"dr-{self.number % 7}",
                "scheduledFor": int(time.time() * 1000) + random.randrange(10**9)})
        elif luck < 0.3 and self.made:
            await self.call("PUT", f"/calls/api/calls/{self.made['callId']}/status", {"status": "COMPLETED"}, self.made["version"])
            self.made = None
        else:
            await self.call("GET", f"/calls/api/users/{self.name}/calls/{'upcoming' if luck < 0.8 else 'completed'}")

    async def use_calendar(self, luck):
        place = self.phase.people + self.number  # nights that nobody else books, also not in the phase before
        day = datetime.date(2100, 1, 1) + datetime.timedelta(days=place * 700 + random.randrange(690))
        if luck < 0.15 and self.made is None:
            _, self.made = await self.call("POST", "/calendar/api/events", {
                "title": self.name, "start": day.isoformat(), "end": (day + datetime.timedelta(days=3)).isoformat()})
        elif luck < 0.3 and self.made:
            await self.call("DELETE", f"/calendar/api/events/{self.made['id']}", version=self.made["version"])
            self.made = None
        else:
            month = {"from": day.isoformat(), "to": (day + datetime.timedelta(days=31)).isoformat()}
            await self.call("GET", f"/calendar/api/events?from={month['from']}&to={month['to']}")

    async def use_reconciliation(self, luck):
        if luck < 0.2:
            now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            await self.call("PUT", f"/reconciliation/api/calls/{self.name}/c-{random.randrange(20)}", {
                "callDateTime": now, "audioReceived": True, "processingStatus": random.choice(["FAILED", "PENDING", "SUCCESS"])})
        else:
            await self.call("GET", f"/reconciliation/api/{'summary' if luck < 0.6 else 'pending'}")

    async def use_tickets(self, luck):
        if luck < 0.15:
            _, self.made = await self.call("POST", "/tickets/api/tickets", {"issue_description": "It does not work " * 5})
        elif luck < 0.3 and self.made:
            await self.call("POST", f"/tickets/api/tickets/{self.made['ticket_id']}/comments", {"comment_text": "Still not " * 5})
        else:
            await self.call("GET", "/tickets/api/tickets")

    async def use_tasks(self, luck):
        if luck < 0.2:
            await self.call("POST", "/tasks/api/tasks", {"title": f"Task of {self.name}", "priority": "LOW"})
        else:
            await self.call("GET", f"/tasks/api/users/{self.name}/{'tasks' if luck < 0.4 else 'created' if luck < 0.7 else 'notifications'}")


async def prepare(port, people):
    """Accounts for those who work with tasks."""
    admin = Connection(port)
    await admin.open()
    for number in range(people):
        if APPS[number % len(APPS)] == "tasks":
            status, _, body = await admin.send("POST", "/tasks/api/users", {
                "userId": f"person-{number}", "email": f"person-{number}@example.com"})
            assert status == 201, body
    admin.close()


async def run(demo, people, seconds):
    """The phase, and samples of the memory in MB."""
    phase, memory = Phase(people), []
    until = time.monotonic() + seconds
    work = asyncio.gather(*(Person(demo.port, number, phase).live(until) for number in range(people)))
    while not work.done():
        memory.append(demo.memory_mb())
        await asyncio.wait([work], timeout=SAMPLE_SECONDS)
    await work
    return phase, memory


def growth(memory):
    """Whether the last third is above the middle third by more than noise: (MB, MB, bool)"""
    third = max(1, len(memory) // 3)
    middle, last = sorted(memory[third:2 * third] or memory), sorted(memory[-third:])
    before, after = middle[len(middle) // 2], last[len(last) // 2]
    return before, after, after > before * 1.1 + 8


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(os.environ.get("GRAMME", ROOT / "build/gramme")).parent)
    parser.add_argument("--p99", action="store_true", help="compare the 99th percentiles")
    options = parser.parse_args()
    demo = Demo(options.build)
    try:
        asyncio.run(prepare(demo.port, options.people))
        few, _ = asyncio.run(run(demo, FEW, options.seconds / 4))
        many, memory = asyncio.run(run(demo, options.people, options.seconds))
    finally:
        trouble = demo.stop()
    before, after, grew = growth(memory)
    print(f"p99 of {FEW} people {few.p99() * 1000:.1f} ms ({len(few.times)} requests), of {options.people} {many.p99() * 1000:.1f} ms "
          f"({len(many.times)} requests); {many.received} changes received; memory of gramme-apps {before:.0f} MB, then {after:.0f} MB")
    print("memory in MB over time:", *(f"{memory[len(memory) * tenth // 10]:.0f}" for tenth in range(10)), f"{memory[-1]:.0f}")
    failures = few.failures + many.failures
    bad = {"requests failed": failures and (len(failures), failures[:5]), "a program complained": trouble,
           "no page received changes": many.received == 0, "memory grew": grew,
           "the 99th percentile grew": options.p99 and many.p99() > 5 * few.p99() and f"{many.p99() / few.p99():.1f} times"}
    for what, detail in bad.items():
        if detail:
            print(f"{what}: {detail}")
    failed = sum(bool(detail) for detail in bad.values())
    print(f"{len(bad) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
