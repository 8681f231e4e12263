"""Clients that record requests, times and answers. Each runs in a thread of its own; several share a
process. A connection that breaks leaves the call in doubt; the client then waits until the server is back."""

import itertools
import random
import time

from wire import Client, Refused

TABLE = "histories"
REGISTERS = 6   # at a time; every second one has a large item and expensive conditions
LISTS = 5
LIST_LENGTH_MAX = 150  # then another list takes its place: reads would become slow
FILLER = "ab" * 3000
NEEDLES = 90  # the service allows 300 operators
EXPENSIVE = "".join(f" AND NOT contains(filler,:n{i})" for i in range(NEEDLES))
EXPENSIVE_VALUES = {f":n{i}": {"S": "ab" * 6 + f"c{i}"} for i in range(NEEDLES)}


class Doubt(Exception):
    """No answer, or one that does not say what happened."""


class Worker:
    """`generation` is shared by all: items of older ones are left alone, so that their histories stay short."""

    def __init__(self, number, endpoint, seed, generation, stop, make_client=Client):
        self.number, self.endpoint, self.generation, self.stop = number, endpoint, generation, stop
        self.dice = random.Random(f"{seed}/{number}")
        self.make_client = make_client
        self.numbers = itertools.count(number * 10_000_000 + 1)
        self.db = None
        self.registers = []     # (key, operation)
        self.transactions = []
        self.seen = {}          # register -> value
        self.lengths = {}       # list -> elements

    def connect(self):
        while self.db is None and not self.stop.is_set():
            try:
                self.db = self.make_client(self.endpoint)
            except OSError:
                time.sleep(0.02)
        return self.db is not None

    def call(self, operation, request):
        """The answer; raises Refused if it is certain that nothing happened, else Doubt."""
        try:
            return getattr(self.db, operation)(**request)
        except Refused as refused:
            if refused.status >= 500:
                raise Doubt from None
            raise
        except (OSError, ValueError, IndexError):
            self.db.close()
            self.db = None
            raise Doubt from None

    def run(self):
        while not self.stop.is_set():
            if self.connect():
                self.dice.choice((self.use_register, self.use_register, self.use_lists))()

    # Registers: single items.

    def use_register(self):
        number = self.dice.randrange(REGISTERS)
        key = f"r{self.generation.value}-{number}"
        heavy = number % 2 == 1
        kind = self.dice.choice(("read", "read", "write", "cas", "cas", "swap", "delete", "create"))
        getattr(self, kind)(key, heavy)

    def record(self, key, start, kind, a, b, certain=True):
        end = time.monotonic_ns() if certain else None
        self.registers.append((key, (start, end, kind, a, b)))

    def item(self, key, value, heavy):
        return {"pk": {"S": key}, "v": {"N": str(value)}, **({"filler": {"S": FILLER}} if heavy else {})}

    def read(self, key, heavy):
        start = time.monotonic_ns()
        try:
            item = self.call("GetItem", {"TableName": TABLE, "Key": {"pk": {"S": key}}, "ConsistentRead": True})
        except Doubt:
            return
        value = int(item["Item"]["v"]["N"]) if "Item" in item else None
        self.record(key, start, "read", value, None)
        self.seen[key] = value

    def write(self, key, heavy):
        value, start = next(self.numbers), time.monotonic_ns()
        try:
            self.call("PutItem", {"TableName": TABLE, "Item": self.item(key, value, heavy)})
            self.record(key, start, "write", value, None)
            self.seen[key] = value
        except Doubt:
            self.record(key, start, "write", value, None, certain=False)

    def delete(self, key, heavy):
        start = time.monotonic_ns()
        try:
            self.call("DeleteItem", {"TableName": TABLE, "Key": {"pk": {"S": key}}})
            self.record(key, start, "write", None, None)
            self.seen[key] = None
        except Doubt:
            self.record(key, start, "write", None, None, certain=False)

    def conditional(self, key, heavy, old, condition):
        value, start = next(self.numbers), time.monotonic_ns()
        try:
            self.call("PutItem", {"TableName": TABLE, "Item": self.item(key, value, heavy), **condition})
            self.record(key, start, "cas", old, value)
            self.seen[key] = value
        except Refused as refused:
            assert refused.type == "ConditionalCheckFailedException", refused
            self.record(key, start, "miss", old, None)
            self.seen.pop(key, None)
        except Doubt:
            self.record(key, start, "cas", old, value, certain=False)

    def cas(self, key, heavy):
        old = self.seen.get(key)
        if old is None:
            self.read(key, heavy)
            return
        values = {":old": {"N": str(old)}, **(EXPENSIVE_VALUES if heavy else {})}
        self.conditional(key, heavy, old, {"ConditionExpression": "v = :old" + (EXPENSIVE if heavy else ""),
                                           "ExpressionAttributeValues": values})

    def create(self, key, heavy):
        self.conditional(key, heavy, None, {"ConditionExpression": "attribute_not_exists(pk)"})

    def swap(self, key, heavy):
        value, start = next(self.numbers), time.monotonic_ns()
        request = {"TableName": TABLE, "Key": {"pk": {"S": key}}, "UpdateExpression": "SET v = :v",
                   "ExpressionAttributeValues": {":v": {"N": str(value)}}, "ReturnValues": "UPDATED_OLD"}
        try:
            answer = self.call("UpdateItem", request)
            old = answer.get("Attributes", {}).get("v", {}).get("N")
            self.record(key, start, "swap", value, None if old is None else int(old))
            self.seen[key] = value
        except Doubt:
            self.record(key, start, "swap", value, None, certain=False)

    # Lists: transactions.

    def use_lists(self):
        getattr(self, self.dice.choice(("read_lists", "append", "append", "append_guarded", "append_one")))()

    def lists(self, count):
        generation = self.generation.value
        names = []
        for number in self.dice.sample(range(LISTS), count):
            part = 0
            while len(self.lengths.get(f"l{generation}-{number}-{part}", ())) >= LIST_LENGTH_MAX:
                part += 1
            names.append(f"l{generation}-{number}-{part}")
        return names

    def note(self, start, ok, appends, reads):
        self.transactions.append({"start": start, "end": None if ok is None else time.monotonic_ns(), "ok": ok,
                                  "appends": appends, "reads": reads})
        if ok:
            self.lengths.update(reads)

    def read_lists(self):
        names, start = self.lists(self.dice.randint(1, 4)), time.monotonic_ns()
        try:
            self.note(start, True, {}, read_all(self, names))
        except Doubt:
            pass
        except Refused as refused:
            assert refused.type == "TransactionCanceledException", refused

    def update(self, name, elements):
        values = [{"N": str(element)} for element in elements]
        return {"TableName": TABLE, "Key": {"pk": {"S": name}},
                "UpdateExpression": "SET l = list_append(if_not_exists(l, :none), :new)",
                "ExpressionAttributeValues": {":none": {"L": []}, ":new": {"L": values}}}

    def append(self):
        names = self.lists(self.dice.randint(1, 3))
        appends = {name: [next(self.numbers) for _ in range(self.dice.choice((1, 1, 2)))] for name in names}
        self.transact([{"Update": self.update(name, elements)} for name, elements in appends.items()], appends, {})

    def append_guarded(self):
        """What was read of one list before must still be so when another one is written."""
        read, written = self.lists(2)
        elements = self.lengths.get(read)
        if not elements:
            self.read_lists()
            return
        last = len(elements) - 1
        check = {"TableName": TABLE, "Key": {"pk": {"S": read}},
                 "ConditionExpression": f"size(l) = :size AND l[{last}] = :last",
                 "ExpressionAttributeValues": {":size": {"N": str(len(elements))}, ":last": {"N": str(elements[-1])}}}
        appends = {written: [next(self.numbers)]}
        if self.transact([{"ConditionCheck": check}, {"Update": self.update(written, appends[written])}],
                         appends, {read: elements}) is False:
            self.lengths.pop(read, None)

    def transact(self, actions, appends, reads):
        start = time.monotonic_ns()
        try:
            self.call("TransactWriteItems", {"TransactItems": actions})
            ok = True
        except Refused as refused:
            assert refused.type == "TransactionCanceledException", refused
            ok = False
        except Doubt:
            ok = None
        self.note(start, ok, appends, reads)
        return ok

    def append_one(self):
        (name,), element = self.lists(1), next(self.numbers)
        start = time.monotonic_ns()
        try:
            answer = self.call("UpdateItem", {**self.update(name, [element]), "ReturnValues": "UPDATED_NEW"})
            elements = [int(value["N"]) for value in answer["Attributes"]["l"]["L"]]
            self.note(start, True, {name: [element]}, {name: elements})
        except Doubt:
            self.note(start, None, {name: [element]}, {})


def read_all(worker, names):
    """{list: elements} at one instant."""
    gets = [{"Get": {"TableName": TABLE, "Key": {"pk": {"S": name}}}} for name in names]
    answer = worker.call("TransactGetItems", {"TransactItems": gets})
    return {name: [int(value["N"]) for value in response.get("Item", {}).get("l", {}).get("L", [])]
            for name, response in zip(names, answer["Responses"])}
