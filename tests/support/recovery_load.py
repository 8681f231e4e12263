"""Writers whose acknowledged writes are replayed, and backups and restores beside them: each restored table must be what the replay
gives.

Each writer owns its keys, which are in all partitions, and writes one after the other, so what it has written up to an instant is
the first n of its writes: all that were acknowledged before the instant, and none that was begun after it. All writers must have
such an n for one and the same instant. The table has more items than a restore copies at a time."""

import contextlib
import itertools
import random
import re
import threading
import time

from backups import everything, set_recovery, wait_available, wait_recovery, wait_restored
from tables import create_table, put_all
from values import item, plain
from waiting import poll
from wire import Refused

WRITERS, KEYS, HOT_KEYS = 3, 1700, 12  # keys of each writer; half of the writes are to the hot ones
LOST = (OSError, ValueError, EOFError, AssertionError)  # what a client sees of a server that is killed


class Writer(threading.Thread):
    """Writes to its own keys; `log` has (begun, acknowledged, {key: (n, g), or None if deleted})."""

    def __init__(self, run, number):
        super().__init__()
        self.run_of, self.number, self.log = run, number, []
        self.random = random.Random(number)
        self.failure = None

    def key(self, i):
        return {"pk": f"w{self.number}-{i}", "sk": i}

    def item(self, i, content):
        return item(self.key(i), n=content[0], g=content[1])

    def preload(self, db):
        """All keys have an item before the writer starts."""
        put_all(db, self.run_of.table, [self.item(i, (0, "g0")) for i in range(KEYS)])

    def choose(self):
        return self.random.randrange(self.random.choice([HOT_KEYS, KEYS]))

    def requests(self, n):
        """One write, or a transaction of two items in different partitions: (keys with their new content, the call)."""
        kind = self.random.choice(["put", "put", "update", "delete", "transact"])
        i, k = self.choose(), self.choose()
        table, content = self.run_of.table, (n, f"g{n % 3}")
        if kind == "delete":
            return {i: None}, lambda db: db.DeleteItem(TableName=table, Key=item(self.key(i)))
        if kind == "update":
            return {i: content}, lambda db: db.UpdateItem(
                TableName=table, Key=item(self.key(i)), UpdateExpression="SET n = :n, g = :g",
                ExpressionAttributeValues={":n": {"N": str(n)}, ":g": {"S": content[1]}})
        if kind == "transact" and i != k:
            return {i: content, k: content}, lambda db: db.TransactWriteItems(TransactItems=[
                {"Put": {"TableName": table, "Item": self.item(key, content)}} for key in (i, k)])
        return {i: content}, lambda db: db.PutItem(TableName=table, Item=self.item(i, content))

    def was_written(self, changes):
        """After a lost answer: reads whether the write has happened. Nobody else writes these keys."""
        before = self.state(len(self.log))
        if all(before.get(key) == content for key, content in changes.items()):
            return True  # it changes nothing
        self.run_of.wait_for_losses()
        def probe():
            with contextlib.suppress(*LOST, Refused), self.run_of.connect() as db:
                key, content = next((k, v) for k, v in changes.items() if before.get(k) != v)
                found = db.GetItem(TableName=self.run_of.table, Key=item(self.key(key)), ConsistentRead=True).get("Item")
                now = content_of(plain(found)) if found else None
                return ("yes" if now == content else "no")
            return None
        return poll(probe, 60, "the server answers again") == "yes"

    def run(self):
        try:
            n = 0
            while not self.run_of.is_over:
                with contextlib.suppress(OSError), self.run_of.connect() as db:
                    while not self.run_of.is_over:
                        n += 1
                        changes, call = self.requests(n)
                        begun = time.time()
                        try:
                            call(db)
                        except LOST:
                            if self.was_written(changes):
                                self.log.append((begun, time.time(), changes))
                            break
                        self.log.append((begun, time.time(), changes))
        except BaseException as failure:  # reported by the main thread
            self.failure = failure

    def state(self, count):
        state = {i: (0, "g0") for i in range(KEYS)}
        for _, _, changes in self.log[:count]:
            state.update(changes)
        return {key: content for key, content in state.items() if content is not None}

    def intervals(self, found, lower, upper):
        """The times between `lower` and `upper` at which the items can have been those: [(first, last)]."""
        first = sum(acknowledged < lower for _, acknowledged, _ in self.log)
        last = sum(begun <= upper for begun, _, _ in self.log)
        state, fitting = self.state(first), []
        for count in range(first, last + 1):
            if state == found:
                begun = self.log[count - 1][0] if count > 0 else lower
                acknowledged = self.log[count][1] if count < len(self.log) else upper
                fitting.append((max(begun, lower), min(acknowledged, upper)))
            if count < len(self.log):
                for key, content in self.log[count][2].items():
                    if content is None:
                        state.pop(key, None)
                    else:
                        state[key] = content
        assert fitting, f"writer {self.number}: none of the states {first} to {last}: {differences(found, self.state(first))}"
        return fitting


def content_of(entry):
    return int(entry["n"]), entry["g"]


def differences(found, expected):
    return {key: (found.get(key), expected.get(key)) for key in found.keys() | expected.keys() if found.get(key) != expected.get(key)}


def have_common_instant(intervals):
    """Whether there is a time that is in one interval of each list."""
    return any(all(any(first <= time <= last for first, last in fitting) for fitting in intervals)
               for time in (first for fitting in intervals for first, _ in fitting))


class Run:
    """connect() of a subclass gives a client of a server that lives; the servers have started."""

    def __init__(self):
        self.is_over = False
        with self.connect() as db:
            self.table = create_table(db, key="pk sk:N", gsi={"by-g": "g"})
            self.writers = [Writer(self, number) for number in range(WRITERS)]
            for writer in self.writers:
                writer.preload(db)
            set_recovery(db, self.table, True)
            wait_recovery(db, self.table)
        self.backups = []  # ARN, not before, not after
        self.restored = []  # table, not before, not after
        self.random = random.Random(7)
        self.names = (f"restored-{number}" for number in itertools.count())

    def wait_for_losses(self):
        """Until what a killed server had begun is decided."""

    def back_up(self, db):
        before = time.time()
        arn = db.CreateBackup(TableName=self.table, BackupName="backup")["BackupDetails"]["BackupArn"]
        self.backups.append([arn, before, None])

    def restore_backup(self, db):
        name = next(self.names)
        arn, before, after = self.random.choice([backup for backup in self.backups if backup[2] is not None])
        self.restored.append([name, before, after])
        try:
            db.RestoreTableFromBackup(TargetTableName=name, BackupArn=arn)
        except Refused as refused:
            assert refused.type == "BackupInUseException", refused  # a restore from it goes on after the kill

    def restore_second(self, db):
        second = self.random.randint(self.since, int(time.time()) - 1)
        name = next(self.names)
        self.restored.append([name, second, second])
        db.RestoreTableToPointInTime(SourceTableName=self.table, TargetTableName=name, RestoreDateTime=second)

    def settle(self, db):
        """What was begun is either there as a whole or not at all."""
        for backup in self.backups:
            if backup[2] is None:
                wait_available(db, backup[0])
                backup[2] = time.time()
        names = [name for page in (db.ListTables(), db.ListTables(ExclusiveStartTableName="restored")) for name in page["TableNames"]]
        self.restored = [restored for restored in self.restored if restored[0] in names]
        for name, _, _ in self.restored:
            wait_restored(db, name)

    def check(self, db):
        for name, lower, upper in self.restored:
            found = everything(db, name)
            assert [entry for entry in found[None] if "g" in entry] == found["by-g"]
            items = {writer.number: {} for writer in self.writers}
            for entry in map(plain, found[None]):
                number, i = re.fullmatch(r"w(\d+)-(\d+)", entry["pk"]).groups()
                assert entry.keys() == {"pk", "sk", "n", "g"} and entry["sk"] == int(i)
                items[int(number)][int(i)] = content_of(entry)
            intervals = [writer.intervals(items[writer.number], lower, upper) for writer in self.writers]
            assert have_common_instant(intervals), f"{name}: no instant fits all writers: {intervals}"

    def begin(self):
        with self.connect() as db:
            self.since = int(time.time()) + 2
            for writer in self.writers:
                writer.start()
            self.back_up(db)
            poll(lambda: time.time() > self.since + 2, 10, "some seconds to restore to")
            self.settle(db)

    def end(self):
        self.is_over = True
        for writer in self.writers:
            writer.join(90)
            assert writer.failure is None, writer.failure
            assert len(writer.log) > 50
        with self.connect() as db:
            self.settle(db)
            self.check(db)
            assert all(backup["BackupStatus"] == "AVAILABLE" for backup in db.ListBackups()["BackupSummaries"])

    def abandon(self):
        """Ends the writers, if the test has failed."""
        self.is_over = True
        for writer in self.writers:
            if writer.is_alive():
                writer.join(90)
