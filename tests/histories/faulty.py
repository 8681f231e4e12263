"""Planted bugs, every one of which the checkers must find. Most stand between a client and a good server, and do rarely what
a server with that bug would; SERVERS are servers that were built with a bug (meson.build)."""

import contextlib
import os
import pathlib
import random
import time

from server import program
from wire import Client


class Faulty(Client):
    """Does something wrong in one call of `ONE_IN` that it could."""
    ONE_IN = 20

    def __init__(self, endpoint):
        super().__init__(endpoint)
        self.dice = random.Random()

    def is_due(self):
        return self.dice.randrange(self.ONE_IN) == 0


class StaleReads(Faulty):
    """Answers a read with what another one found before."""

    def __init__(self, endpoint):
        super().__init__(endpoint)
        self.before = {}

    def GetItem(self, **request):
        key = request["Key"]["pk"]["S"]
        old = self.before.get(key)
        if old is not None and self.is_due():
            return old
        self.before[key] = super().call("GetItem", request)
        return self.before[key]


class DroppedWrites(Faulty):
    """Acknowledges a write that is then forgotten, as if it had not been synced before a crash."""

    def PutItem(self, **request):
        return {} if self.is_due() else super().call("PutItem", request)


class UncheckedConditions(Faulty):
    """Lets a conditional write happen whatever its condition says, as without a lock."""

    def PutItem(self, **request):
        if "ConditionExpression" in request and self.is_due():
            request = {"TableName": request["TableName"], "Item": request["Item"]}
        return super().call("PutItem", request)


class TornTransactions(Faulty):
    """Carries out a transaction write by write."""

    def TransactWriteItems(self, **request):
        if any("ConditionCheck" in action for action in request["TransactItems"]) or not self.is_due():
            return super().call("TransactWriteItems", request)
        for action in request["TransactItems"]:
            super().call("UpdateItem", action["Update"])
            time.sleep(0.005)
        return {}


class SkewedReads(Faulty):
    """Reads the items of a transaction one after the other instead of at one instant."""

    def TransactGetItems(self, **request):
        if not self.is_due():
            return super().call("TransactGetItems", request)
        responses = []
        for action in request["TransactItems"]:
            responses.append(super().call("GetItem", {**action["Get"], "ConsistentRead": True}))
            time.sleep(0.005)
        return {"Responses": responses}


class LostTransactions(Faulty):
    """Acknowledges a transaction that never happens."""
    ONE_IN = 50

    def TransactWriteItems(self, **request):
        return {} if self.is_due() else super().call("TransactWriteItems", request)


PLANTS = {plant.__name__: plant for plant in (StaleReads, DroppedWrites, UncheckedConditions, TornTransactions,
                                              SkewedReads, LostTransactions)}


SERVERS = {
    # Updates that were prepared on rows that have changed since are evaluated all the same: lost updates.
    "OverlookedWrites": "gramme-overlooks-writes",
}


@contextlib.contextmanager
def planted(name):
    """Servers that are started meanwhile have the bug; gives how to make a client that has it."""
    good = program()
    if name in SERVERS:
        os.environ["GRAMME"] = str(pathlib.Path(good).parent / "tests" / "histories" / SERVERS[name])
    try:
        yield PLANTS.get(name, Client)
    finally:
        os.environ["GRAMME"] = good
