"""The load of faults.py: clients that call servers at random and remember what the answers promised.

The calls are those of the crash test (tests/crash/workload.py): every client owns its keys, so it knows what they hold. A call
without an answer, or with one that says that the server cannot know, leaves its keys in doubt: they are not used any more until
the check after the fault finds out."""

import contextlib
import random
import threading
import time

import changes
from streams import Streams
from tables import definitions, index_request
from values import item, plain, values
from wire import Client, Refused
from workload import ACCOUNTS, BRIEF, EACH, MONEY, SLIM, Doubt, IndexMaker, Worker

KEYS_LEFT_MIN = 16  # a client with fewer that are not in doubt writes only what all share


def is_conflict(error):
    """Nothing was written because another transaction was under way."""
    reasons = error.body.get("CancellationReasons", [])
    return error.type == "TransactionConflictException" or any(reason["Code"] == "TransactionConflict" for reason in reasons)


class ClusterWorker(Worker):
    """`held` is what is known; `doubts` has calls whose outcome is not. Items of BRIEF have expired when they are put."""

    def __init__(self, number, seed):
        super().__init__(number, seed)
        self.brief = {}  # key of an item that expires -> whether it is known to have been put
        self.doubts, self.unknown, self.conflicts = [], 0, 0
        self.failure = None

    # What came of a call.

    def attempt(self, send, kind, after, replay=None, may_fail=()):
        try:
            send()
            self.settle(after)
        except Refused as error:
            if error.status == 500 or is_conflict(error) and kind is EACH and len(after) > 1:
                self.doubt_of(kind, after, replay)
            elif is_conflict(error):
                self.conflicts += 1
            else:
                assert error.type in may_fail, error
                self.refused += 1
        except OSError:
            self.doubt_of(kind, after, replay)
            raise

    def doubt_of(self, kind, after, replay):
        self.unknown += 1
        self.doubts.append(Doubt(kind, after, replay))
        self.keys = [key for key in self.keys if key not in after]

    # Calls that the crash test does not have, or that may fail otherwise here.

    def read(self, db):
        """Any server gives what was acknowledged last by whichever server."""
        key = self.dice.choice(self.keys)
        with suppress_server_failure():
            found = db.GetItem(TableName=key[0], Key=item(self.key_item(key)), ConsistentRead=True)
            assert plain(found.get("Item")) == self.held[key], f"{key} holds {found}, not {self.held[key]}"

    def read_accounts(self, db):
        """All of them at one moment: the sum is always the same."""
        with suppress_server_failure():
            answers = db.TransactGetItems(TransactItems=[
                {"Get": {"TableName": SLIM, "Key": item(pk=f"account-{number}")}} for number in range(ACCOUNTS)])["Responses"]
            balances = [plain(answer["Item"])["money"] for answer in answers]
            assert sum(balances) == ACCOUNTS * MONEY, f"a torn read: {balances}"

    def pay(self, db):
        with suppress_server_failure():
            super().pay(db)

    def count(self, db):
        self.added_doubt += 1
        with suppress_server_failure():
            db.UpdateItem(TableName=SLIM, Key=item(pk="counter"), UpdateExpression="ADD n :one",
                          ExpressionAttributeValues=values(one=1))
            self.added += 1
            self.added_doubt -= 1

    def put_brief(self, db):
        """Expires at once."""
        pk = self.next_write()
        self.brief[pk] = False
        with suppress_server_failure():
            db.PutItem(TableName=BRIEF, Item=item(pk=pk, due=int(time.time()) - 10))
            self.brief[pk] = True

    # Running.

    def run(self, cluster, is_over):
        """Calls servers at random until is_over()."""
        shared = [self.count, self.pay, self.read_accounts, self.put_brief]
        own = [self.put] * 4 + [self.change] * 4 + [self.delete] * 2 + [self.batch] * 2 + [self.transaction] * 3 + [
            self.refused_put] + [self.read] * 3 + shared * 2
        clients = {}
        while not is_over():
            endpoint = cluster.pick(self.dice, self.number)
            try:
                if endpoint not in clients:
                    clients[endpoint] = Client(endpoint)
                self.dice.choice(own if len(self.keys) >= KEYS_LEFT_MIN else shared)(clients[endpoint])
                self.calls += 1
            except OSError:
                clients.pop(endpoint, None)
                time.sleep(0.02)
        for client in clients.values():
            client.close()


@contextlib.contextmanager
def suppress_server_failure():
    """The server may say that it cannot, or that another transaction is under way."""
    try:
        yield
    except Refused as error:
        if error.status != 500 and not is_conflict(error):
            raise


class ClusterIndexMaker(IndexMaker):
    """Gives a table in use an index and takes it away, again and again; often before it is filled."""
    EXPECTED = ("ResourceInUseException", "ResourceNotFoundException", "ValidationException")  # another change is under way, or was done

    def run(self, cluster, is_over):
        while not is_over():
            try:
                with Client(cluster.pick(self.dice, 1)) as db:
                    self.toggle(db)
                self.calls += 1
            except OSError:
                time.sleep(0.02)
            except Refused as error:
                if error.status != 500 and error.type not in self.EXPECTED:
                    raise
            time.sleep(self.dice.uniform(0.05, 0.5))

    def toggle(self, db):
        indexes = db.DescribeTable(TableName=self.TABLE)["Table"]["GlobalSecondaryIndexes"]
        is_there = any(index["IndexName"] == self.NAME for index in indexes)
        update = {"Delete": {"IndexName": self.NAME}} if is_there else {"Create": index_request(self.NAME, (self.KEY, "KEYS_ONLY"))}
        db.UpdateTable(TableName=self.TABLE, AttributeDefinitions=definitions(self.KEY), GlobalSecondaryIndexUpdates=[update])


class StreamReader(changes.StreamReader):
    """Reads the stream of a table while it is written, from servers at random, and keeps all records in order."""

    def __init__(self, table, endpoint, seed):
        super().__init__(table, endpoint)
        self.dice = random.Random(f"{seed}/stream of {table}")

    def run(self, cluster, is_over):
        while not is_over():
            try:
                with Streams(cluster.pick(self.dice, 1)) as self.consumer.streams, suppress_server_failure():
                    for records in self.consumer.read_shards():
                        self.records += records
            except OSError:
                time.sleep(0.02)


def run_all(runners, cluster, fault):
    """Runs all beside each other while fault() does its work; raises the first failure."""
    over, failures = threading.Event(), []

    def guarded(runner):
        try:
            runner.run(cluster, over.is_set)
        except BaseException as failure:  # noqa: B902 - raised below
            failures.append(failure)
            over.set()
    threads = [threading.Thread(target=guarded, args=(runner,)) for runner in runners]
    for thread in threads:
        thread.start()
    try:
        fault(over)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]


