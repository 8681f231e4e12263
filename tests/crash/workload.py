"""The load of the crash test: clients that write and remember what the answers promised.

Every client owns its keys, so it knows exactly what they hold: what was acknowledged is there, what
was refused is not. Only the call that is under way when the server dies is in doubt; for it the
client keeps what would have come of it. Some items are shared by all: a counter, and accounts
between which money is moved. Items of one table expire, some of them within seconds.

Every write carries a number of its own, so that the records of the streams can be compared with what was written, one by
one (changes.py)."""

import random
import time

from expiry import start_ttl
from streams import specification
from tables import create_table, definitions, index_request, key_schema, wait_active
from values import av, item, values
from wire import Client, Refused

WIDE, SLIM = "wide", "slim"
BRIEF = "brief"  # its items expire
KEYS_PER_CLIENT = 12
BRIEF_KEYS = 6
ACCOUNTS, MONEY = 10, 1000
TABLES = {
    WIDE: {"key": "pk sk:N", "gsi": {"gsi": ("g s:N", "KEYS_ONLY"), "all": "a"},
           "lsi": {"lsi": ("pk l", ["extra"])}},
    SLIM: {"key": "pk", "gsi": {"two": ("g1,g2 s:N", ["extra"])}},
}
EXPIRING = {BRIEF: {"key": "pk", "gsi": {"gsi": ("g", "KEYS_ONLY")}}}
# What the in-doubt call would have done: ALL of it or nothing, or EACH item for itself.
ALL, EACH = "all", "each"


def definition(table):
    return {**TABLES, **EXPIRING}[table]


def prepare(endpoint):
    """Creates the tables, each with a stream, and the accounts."""
    with Client(endpoint) as db:
        for name in (*TABLES, *EXPIRING):
            create_table(db, name=name, StreamSpecification=specification("NEW_AND_OLD_IMAGES"), **definition(name))
        start_ttl(db, BRIEF, "due")
        for number in range(ACCOUNTS):
            db.PutItem(TableName=SLIM, Item=item(pk=f"account-{number}", money=MONEY))


def index_definitions(table):
    """{index name: (names of its keys, projection as in CreateTable)}"""
    return {name: ([part["AttributeName"] for part in request["KeySchema"]], request["Projection"])
            for kind in ("gsi", "lsi") for name, request in
            ((name, index_request(name, index)) for name, index in definition(table).get(kind, {}).items())}


def key_names(table):
    return [part["AttributeName"] for part in key_schema(definition(table)["key"])]


class Doubt:
    """A call without an answer: what each of its keys would hold afterwards."""

    def __init__(self, kind, after, replay=None):
        self.kind = kind
        self.after = after
        self.replay = replay  # TransactWriteItems request with a token, to be sent again


class BriefWrite:
    """A put (content) or a deletion (None); sure when it was acknowledged."""

    def __init__(self, content):
        self.content, self.is_sure = content, False


class Brief:
    """An item that may expire: what it was when it was checked last, and the writes since."""

    def __init__(self):
        self.held, self.writes = None, []


class Worker:
    """`history` has, for each key, the numbers of its writes in order, None for a deletion: what the stream must say."""

    def __init__(self, number, seed):
        self.number = number
        self.dice = random.Random(f"{seed}/{number}")
        self.keys = [(WIDE, f"c{number}-{index % 3}", index) for index in range(KEYS_PER_CLIENT)]
        self.keys += [(SLIM, f"c{number}-{index}", None) for index in range(KEYS_PER_CLIENT)]
        self.own_keys = list(self.keys)
        self.held = dict.fromkeys(self.keys)  # key -> item in Python's values, or None
        self.history = {key: [] for key in self.keys}
        self.brief = {f"c{number}-{index}": Brief() for index in range(BRIEF_KEYS)}
        self.doubt = None
        self.added, self.added_doubt = 0, 0  # to the shared counter
        self.calls = self.refused = self.tokens = self.writes = 0

    def next_write(self):
        self.writes += 1
        return f"{self.number}-{self.writes}"

    def settle(self, after):
        """These are the items now."""
        for key, content in after.items():
            if content != self.held[key]:
                self.history[key].append(content and content["w"])
            self.held[key] = content

    def key_item(self, key):
        table, pk, sk = key
        return {"pk": pk} if table == SLIM else {"pk": pk, "sk": sk}

    def content(self, key):
        """A random item: in some indexes and not in others, of any size."""
        dice = self.dice
        some = {"g": f"g{dice.randrange(4)}", "s": dice.randrange(-5, 5), "a": f"a{dice.randrange(3)}",
                "l": f"l{dice.randrange(6)}", "g1": f"x{dice.randrange(3)}", "g2": f"y{dice.randrange(2)}",
                "extra": "e" * dice.randrange(300), "tags": {"red", f"t{dice.randrange(9)}"},
                "body": "b" * dice.choice((0, 10, 100, 3000))}
        return {**self.key_item(key), "n": dice.randrange(1000), "w": self.next_write(),
                **{name: value for name, value in some.items() if dice.random() < 0.7}}

    def update(self, key, before):
        """A random update: its request, and the item afterwards."""
        dice = self.dice
        after = dict(before or self.key_item(key))
        after.update(s=dice.randrange(-5, 5), l=f"l{dice.randrange(6)}", n=after.get("n", 0) + 7, w=self.next_write())
        drop = dice.choice(["g", "a", "g1", "extra"])
        after.pop(drop, None)
        return {"Key": item(self.key_item(key)),
                "UpdateExpression": f"SET s = :s, l = :l, w = :w ADD n :seven REMOVE {drop}",
                "ExpressionAttributeValues": values(s=after["s"], l=after["l"], w=after["w"], seven=7)}, after

    def run(self, endpoint):
        """Until the server is gone. Anything else that goes wrong is raised."""
        steps = [self.put] * 4 + [self.change] * 4 + [self.delete] * 2 + [self.batch] * 2 + [
            self.transaction] * 3 + [self.count] * 2 + [self.pay] * 2 + [self.refused_put, self.put_brief, self.put_brief, self.delete_brief]
        try:
            with Client(endpoint) as db:
                while True:
                    self.dice.choice(steps)(db)
                    self.calls += 1
        except OSError:
            return

    def attempt(self, send, kind, after, replay=None, may_fail=()):
        """Sends a call; what it does to our keys holds when it is answered."""
        self.doubt = Doubt(kind, after, replay)
        try:
            send()
            self.settle(after)
        except Refused as error:
            assert error.type in may_fail, error
            self.refused += 1
        self.doubt = None

    def put(self, db):
        key = self.dice.choice(self.keys)
        new = self.content(key)
        self.attempt(lambda: db.PutItem(TableName=key[0], Item=item(new)), EACH, {key: new})

    def refused_put(self, db):
        """Only if absent: often it is not, and then nothing may come of it."""
        key = self.dice.choice(self.keys)
        new = {**self.content(key), "refused": True}
        self.attempt(lambda: db.PutItem(TableName=key[0], Item=item(new),
                                        ConditionExpression="attribute_not_exists(pk)"),
                     EACH, {key: new if self.held[key] is None else self.held[key]},
                     may_fail=["ConditionalCheckFailedException"] if self.held[key] else [])

    def change(self, db):
        key = self.dice.choice(self.keys)
        request, after = self.update(key, self.held[key])
        self.attempt(lambda: db.UpdateItem(TableName=key[0], **request), EACH, {key: after})

    def delete(self, db):
        key = self.dice.choice(self.keys)
        self.attempt(lambda: db.DeleteItem(TableName=key[0], Key=item(self.key_item(key))), EACH,
                     {key: None})

    def batch(self, db):
        after, requests = {}, {}
        for key in self.dice.sample(self.keys, self.dice.randint(2, 15)):
            after[key] = self.content(key) if self.dice.random() < 0.7 else None
            requests.setdefault(key[0], []).append(
                {"PutRequest": {"Item": item(after[key])}} if after[key] else
                {"DeleteRequest": {"Key": item(self.key_item(key))}})

        def send():
            assert db.BatchWriteItem(RequestItems=requests)["UnprocessedItems"] == {}
        self.attempt(send, EACH, after)

    def transaction(self, db):
        """Puts, updates and deletes over both tables; some with a check that fails, and then nothing
        of it may be seen; some with a token, and then it may be sent again."""
        chosen = self.dice.sample(self.keys, self.dice.randint(2, 6))
        doomed = self.dice.random() < 0.3
        after, actions = {}, []
        for key in chosen[1:]:
            table = {"TableName": key[0]}
            kind = self.dice.choice(["Put", "Update", "Delete"])
            if kind == "Put":
                after[key] = {**self.content(key), **({"refused": True} if doomed else {})}
                actions.append({"Put": {**table, "Item": item(after[key])}})
            elif kind == "Update":
                request, after[key] = self.update(key, self.held[key])
                actions.append({"Update": {**table, **request}})
            else:
                after[key] = None
                actions.append({"Delete": {**table, "Key": item(self.key_item(key))}})
        present = self.held[chosen[0]] is not None
        after[chosen[0]] = self.held[chosen[0]]  # only checked: it stays as it is
        actions.append({"ConditionCheck": {
            "TableName": chosen[0][0], "Key": item(self.key_item(chosen[0])),
            "ConditionExpression": "attribute_exists(pk)" if present != doomed else
            "attribute_not_exists(pk)"}})
        request = {"TransactItems": actions}
        if self.dice.random() < 0.5:
            self.tokens += 1
            request["ClientRequestToken"] = f"client-{self.number}-{self.tokens}"
        if doomed:
            after = {key: self.held[key] for key in after}
        self.attempt(lambda: db.TransactWriteItems(**request), ALL, after,
                     replay=request if "ClientRequestToken" in request and not doomed else None,
                     may_fail=["TransactionCanceledException"] if doomed else [])

    def count(self, db):
        self.added_doubt = 1
        db.UpdateItem(TableName=SLIM, Key=item(pk="counter"), UpdateExpression="ADD n :one",
                      ExpressionAttributeValues=values(one=1))
        self.added_doubt = 0
        self.added += 1

    def pay(self, db):
        source, target = self.dice.sample(range(ACCOUNTS), 2)
        amount = av(self.dice.randint(1, MONEY))
        try:
            db.TransactWriteItems(TransactItems=[
                {"Update": {"TableName": SLIM, "Key": item(pk=f"account-{source}"),
                            "UpdateExpression": "SET money = money - :m", "ConditionExpression": "money >= :m",
                            "ExpressionAttributeValues": {":m": amount}}},
                {"Update": {"TableName": SLIM, "Key": item(pk=f"account-{target}"),
                            "UpdateExpression": "SET money = money + :m",
                            "ExpressionAttributeValues": {":m": amount}}}])
        except Refused as error:
            if error.type != "TransactionCanceledException":
                raise
            self.refused += 1


    def write_brief(self, pk, content, send):
        write = BriefWrite(content)
        self.brief[pk].writes.append(write)
        send()
        write.is_sure = True

    def put_brief(self, db):
        """Expires at once, within seconds, not for long, or never."""
        dice = self.dice
        pk = dice.choice(list(self.brief))
        due = dice.choice((-10, 1, 1, 2, 3600, None))
        content = {"pk": pk, "w": self.next_write(), "g": f"g{dice.randrange(3)}",
                   **({"due": int(time.time()) + due} if due is not None else {})}
        self.write_brief(pk, content, lambda: db.PutItem(TableName=BRIEF, Item=item(content)))

    def delete_brief(self, db):
        pk = self.dice.choice(list(self.brief))
        self.write_brief(pk, None, lambda: db.DeleteItem(TableName=BRIEF, Key=item(pk=pk)))


class IndexMaker:
    """Gives a table in use an index and takes it away, again and again; often before it is filled."""
    TABLE, NAME, KEY = WIDE, "passing", "n:N"

    def __init__(self, seed):
        self.dice = random.Random(f"{seed}/index")
        self.calls = self.refused = 0

    def run(self, endpoint):
        try:
            with Client(endpoint) as db:
                there = self.NAME in self.settled(db)
                while True:
                    if there:
                        self.change(db, {"Delete": {"IndexName": self.NAME}})
                    else:
                        self.change(db, {"Create": index_request(self.NAME, (self.KEY, "KEYS_ONLY"))})
                    there = not there
                    if not there or self.dice.random() < 0.5:
                        self.settled(db)
                    self.calls += 1
        except OSError:
            return

    def change(self, db, update):
        """An index can be deleted as soon as it is being filled, but not before."""
        while True:
            try:
                db.UpdateTable(TableName=self.TABLE, AttributeDefinitions=definitions(self.KEY),
                               GlobalSecondaryIndexUpdates=[update])
                return
            except Refused as error:
                assert error.type == "ResourceInUseException", error

    def settled(self, db):
        """The names of the table's indexes when none of them changes."""
        return {index["IndexName"] for index in wait_active(db, self.TABLE)["GlobalSecondaryIndexes"]}


class TableMaker:
    """Makes a table, fills it and drops it, again and again."""
    NAME, ITEMS = "short-lived", 5

    def __init__(self):
        self.may_exist, self.must_exist = False, False
        self.calls = self.refused = 0

    def run(self, endpoint):
        try:
            with Client(endpoint) as db:
                if self.may_exist:
                    db.DeleteTable(TableName=self.NAME)
                while True:
                    self.may_exist = True
                    create_table(db, "pk", name=self.NAME, gsi={"idx": "g"})
                    self.must_exist = True
                    assert db.Scan(TableName=self.NAME)["Count"] == 0, "old items in a new table"
                    assert db.Scan(TableName=self.NAME, IndexName="idx")["Count"] == 0
                    for number in range(self.ITEMS):
                        db.PutItem(TableName=self.NAME, Item=item(pk=f"p{number}", g="g"))
                    self.must_exist = False
                    db.DeleteTable(TableName=self.NAME)
                    self.may_exist = False
                    self.calls += self.ITEMS + 2
        except OSError:
            return
