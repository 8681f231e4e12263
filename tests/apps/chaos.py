#!/usr/bin/python3
"""Kills the server and the applications with SIGKILL while people book nights and move calls, starts them
again, and checks what is in the tables: no night without its event, no event without its nights, no call
twice, none gone, and nothing acknowledged is lost.

    chaos.py [--kills 6] [--seed N]

Deeds and moments of death come from the seed, which it prints; the interleaving of clients does not."""

import argparse
import datetime
import http.client
import pathlib
import random
import sys
import tempfile
import threading
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from loopback import free_port  # noqa: E402
from rest import Rest  # noqa: E402
from server import Apps, Server  # noqa: E402
from wire import Client  # noqa: E402

CLIENTS = 8
DAYS = 60  # that all want: few, so that they collide
START = 1_800_000_000_000
FIRST_DAY = datetime.date(2030, 1, 1)


def day(number):
    return (FIRST_DAY + datetime.timedelta(days=number)).isoformat()


class Unknown(Exception):
    """There was no answer, or one that does not say whether it was done."""


def ask(api, method, path, body=None, version=None):
    headers = {} if version is None else {"If-Match": f'"{version}"'}
    try:
        reply = api.call(method, path, body, headers)
    except (OSError, http.client.HTTPException) as failure:
        raise Unknown from failure
    if reply.status == 503:
        raise Unknown
    assert reply.status in (200, 201, 204, 404, 409, 412), reply
    return reply


class Thing:
    """An event or a call of one client, who alone changes it. `states` are those that it may be in: one,
    or more when there was no answer. None: it is not there."""

    def __init__(self):
        self.id = str(uuid.uuid4())
        self.states = [None]

    def attempt(self, new_state, work):
        """Does work(); afterwards it is in the new state if that went well, in either if nobody knows."""
        before = self.states
        self.states = [*before, new_state]
        reply = work()
        self.states = [new_state] if reply.status in (200, 201, 204) else before
        return reply


class Worker:
    """One client of both applications."""

    def __init__(self, number, seed, endpoint):
        self.dice = random.Random(seed * 1000 + number)
        self.number = number
        self.calendar = Rest(f"{endpoint}/calendar/api")
        self.calls = Rest(f"{endpoint}/calls/api")
        self.events = [Thing() for _ in range(3)]
        self.things = [Thing() for _ in range(3)]
        self.done = self.refused = self.unknown = 0

    def run(self, until):
        while not until.is_set():
            try:
                if self.dice.random() < 0.5:
                    self.touch_event(self.dice.choice(self.events))
                else:
                    self.touch_call(self.dice.choice(self.things))
                self.done += 1
            except Unknown:
                self.unknown += 1
                time.sleep(0.01)

    def settle(self, api, path, thing, read):
        """Asks how a thing is when its client does not know."""
        if len(thing.states) > 1:
            reply = ask(api, "GET", f"{path}/{thing.id}")
            now = None if reply.status == 404 else read(reply.body)
            assert now in thing.states, f"{thing.id} is {now}, could be {thing.states}"
            thing.states = [now]
        return thing.states[0]

    def touch_event(self, event):
        state = self.settle(self.calendar, "/events", event, read_event)
        start = self.dice.randrange(DAYS)
        end = start + self.dice.randrange(1, 8)
        title = f"client {self.number}"
        wanted = {"title": title, "start": day(start), "end": day(end)}
        if state is None:
            reply = event.attempt((day(start), day(end), 1), lambda: ask(
                self.calendar, "POST", "/events", {"id": event.id, **wanted}))
        elif self.dice.random() < 0.3:
            event.attempt(None, lambda: ask(self.calendar, "DELETE", f"/events/{event.id}", None, state[2]))
            event.id = str(uuid.uuid4()) if event.states == [None] else event.id
            return
        else:
            reply = event.attempt((day(start), day(end), state[2] + 1), lambda: ask(
                self.calendar, "PUT", f"/events/{event.id}", wanted, state[2]))
        self.refused += reply.status == 409
        assert reply.status != 412, "someone else changed it"

    def touch_call(self, call):
        state = self.settle(self.calls, "/calls", call, read_call)
        if state is None:
            wanted = (f"user-{self.number}", START + self.dice.randrange(1000), "SCHEDULED", 1)
            call.attempt(wanted, lambda: ask(self.calls, "POST", "/calls", {
                "callId": call.id, "userId": wanted[0], "providerId": "dr-lund", "scheduledFor": wanted[1]}))
            return
        user, at, status, version = state
        part, body, new = self.dice.choice([
            ("schedule", {"scheduledFor": at + 1}, (user, at + 1, status, version + 1)),
            ("user", {"userId": user + "x" if len(user) < 12 else user[:6]}, None),
            ("status", {"status": "COMPLETED" if status == "SCHEDULED" else "SCHEDULED"}, None)])
        if part == "user":
            new = (body["userId"], at, status, version + 1)
        elif part == "status":
            new = (user, at, body["status"], version + 1)
        reply = call.attempt(new, lambda: ask(self.calls, "PUT", f"/calls/{call.id}/{part}", body, version))
        assert reply.status == 200, reply


def read_event(event):
    return event["start"], event["end"], event["version"]


def read_call(call):
    return call["userId"], call["scheduledFor"], call["status"], call["version"]


# --- what is in the tables ---

def scan(db, table, **more):
    items, start = [], {}
    while True:
        page = db.Scan(TableName=table, **more, **start)
        items += [{name: next(iter(value.values())) for name, value in item.items()} for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            return items
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def nights(event):
    first, last = (datetime.date.fromisoformat(event[name]) for name in ("startDate", "endDate"))
    return [(first + datetime.timedelta(days=offset)).isoformat() for offset in range((last - first).days)]


def check_calendar(db, workers):
    items = scan(db, "cal-app-sam", ConsistentRead=True)
    events = {item["SK"]: item for item in items if item["PK"] == "EVENT"}
    slots = {item["SK"]: item["eventId"] for item in items if item["PK"] == "SLOT"}
    wanted = {night: event_id for event_id, event in events.items() for night in nights(event)}
    assert sum(len(nights(event)) for event in events.values()) == len(wanted), "two events share a night"
    assert slots == wanted, f"nights without event, or events without night: {set(slots) ^ set(wanted)}"
    check_states(workers, "events", {
        event_id: (event["startDate"], event["endDate"], int(event["version"])) for event_id, event in events.items()})


def check_calls(db, workers):
    items = scan(db, "Calls", ConsistentRead=True)
    calls = [item for item in items if "callId" in item]
    by_id = {call["callId"]: call for call in calls}
    assert len(by_id) == len(calls), "a call is there twice"
    assert {item["userId"][1:] for item in items if item["sk"] == "created"} == set(by_id), "a call is gone"
    for call in calls:
        assert call["sk"] == f"{int(call['scheduledFor']):013d}#{call['callId']}"
        assert call["userStatus"] == f"{call['userId']}#{call['status']}"
    for index in ("byCallId", "byProvider", "byUserStatus"):
        assert sorted(scan(db, "Calls", IndexName=index), key=str) == sorted(calls, key=str), index
    check_states(workers, "things", {
        call_id: (call["userId"], int(call["scheduledFor"]), call["status"], int(call["version"]))
        for call_id, call in by_id.items()})


def check_states(workers, kind, found):
    """Each thing is as its client knows, and there are no others."""
    things = [thing for worker in workers for thing in getattr(worker, kind)]
    for thing in things:
        now = found.get(thing.id)
        assert now in thing.states, f"{thing.id} is {now}, could be {thing.states}"
    assert set(found) <= {thing.id for thing in things}


# --- lives and deaths ---

class Place:
    """Both programs, which come back at the same addresses."""

    def __init__(self, directory):
        self.store = f"rocksdb:{directory}/data"
        self.server = Server(self.store, port=free_port())
        self.apps = Apps(self.server.endpoint, "--listen", f"127.0.0.1:{free_port()}")

    def kill(self, names):
        for name in names:
            getattr(self, name).kill()
        if "server" in names:
            self.server = Server(self.store, port=self.server.port)
        if "apps" in names:
            self.apps = Apps(self.server.endpoint, "--listen", f"127.0.0.1:{self.apps.port}")

    def stop(self):
        self.apps.stop()
        self.server.stop()


def run_until_killed(place, workers, dice):
    """Everybody at work for a while, then one or both are killed and come back while they still work."""
    ended = threading.Event()
    failures = []

    def guarded(worker):
        try:
            worker.run(ended)
        except BaseException as failure:  # noqa: B902 - reported below
            failures.append(failure)
    threads = [threading.Thread(target=guarded, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        time.sleep(dice.uniform(0.1, 0.8))
        place.kill(dice.choice([["server"], ["apps"], ["server", "apps"], ["apps", "server"]]))
        time.sleep(dice.uniform(0, 0.3))
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print(f"chaos: {options.kills} kills, --seed {options.seed}", flush=True)
    dice = random.Random(options.seed)
    passed = 0
    with tempfile.TemporaryDirectory(prefix="gramme-chaos-") as directory:
        place = Place(directory)
        workers = [Worker(number, options.seed, place.apps.endpoint) for number in range(CLIENTS)]
        try:
            for kill in range(1, options.kills + 1):
                run_until_killed(place, workers, dice)
                with Client(place.server.endpoint) as db:
                    check_calendar(db, workers)
                    check_calls(db, workers)
                passed += 1
                print(f"kill {kill}: {sum(worker.done for worker in workers)} done, "
                      f"{sum(worker.refused for worker in workers)} nights were taken, "
                      f"{sum(worker.unknown for worker in workers)} without answer", flush=True)
            place.stop()
        except AssertionError as failure:
            print(f"kill {passed + 1} of --seed {options.seed}: {failure}", file=sys.stderr)
            print(f"{passed} passed, 1 failed")
            place.server.process.kill()
            place.apps.process.kill()
            sys.exit(1)
    print(f"{passed} passed, 0 failed")


if __name__ == "__main__":
    main()
