#!/usr/bin/python3
"""Many changes of a table go to Kinesis (npm kinesalite, which refuses records, fails and loses answers) while the server is killed and Kinesis is stopped again and
again: each item's changes arrive complete and in order, duplicates allowed.

    tests/scale/kinesis_delivery.py [--changes 100000] [--items 5000] [--seed 1]

Prints how many changes, duplicates and restarts there were, and how long it took."""

import argparse
import json
import pathlib
import random
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

from kinesis import Kinesis, check_history, enable  # noqa: E402
from server import Server  # noqa: E402
from tables import all_items, create_table  # noqa: E402
from values import item  # noqa: E402
from waiting import poll  # noqa: E402
from wire import Client  # noqa: E402

TABLE = "changes"
WRITERS = 4


class Writer(threading.Thread):
    """Changes items of its own. A change whose answer is lost may have happened or not: the item says so later."""

    def __init__(self, run, number):
        super().__init__(daemon=True)
        self.run_state = run
        self.number = number
        self.random = random.Random(run.options.seed * 100 + number)
        self.acknowledged = 0

    def change(self, db):
        key = item(pk=f"w{self.number}-{self.random.randrange(self.run_state.options.items // WRITERS)}")
        if self.random.random() < 0.15:
            self.acknowledged += "Attributes" in db.DeleteItem(TableName=TABLE, Key=key, ReturnValues="ALL_OLD")
        else:
            db.PutItem(TableName=TABLE, Item={**key, **item(n=self.random.getrandbits(40), text="x" * self.random.randrange(200))})
            self.acknowledged += 1

    def run(self):
        db = None
        while not self.run_state.enough():
            try:
                db = db or Client(self.run_state.endpoint)
                self.change(db)
            except OSError:  # the server was killed
                db = None
                time.sleep(0.05)


class Run:
    def __init__(self, options, directory):
        self.options = options
        self.random = random.Random(options.seed)
        self.kinesis = Kinesis(directory / "kinesis", fail_every=50)
        self.arn = self.kinesis.create_stream("changes", shards=4)
        self.server_options = (f"rocksdb:{directory}/data", "--kinesis-endpoint", self.kinesis.endpoint)
        self.server = Server(*self.server_options)
        self.endpoint = self.server.endpoint
        self.writers = [Writer(self, number) for number in range(WRITERS)]
        self.kills = self.outages = 0

    def enough(self):
        return sum(writer.acknowledged for writer in self.writers) >= self.options.changes

    def disturb(self):
        """One restart: of the server, or of Kinesis, which is away for a while."""
        if self.random.random() < 0.5:
            self.kills += 1
            self.server.kill()
            self.server = Server(*self.server_options, port=self.server.port)
        else:
            self.outages += 1
            self.kinesis.stop()
            time.sleep(self.random.random() * 2)
            self.kinesis.start()

    def write(self):
        for writer in self.writers:
            writer.start()
        while not self.enough():
            time.sleep(self.random.random() * 3)
            self.disturb()
        for writer in self.writers:
            writer.join()

    def check(self):
        with Client(self.endpoint) as db:
            table = {json.dumps({"pk": found["pk"]}): found for found in all_items(db.Scan, TableName=TABLE, ConsistentRead=True)}
        reader = self.kinesis.reader("changes")
        acknowledged = sum(writer.acknowledged for writer in self.writers)

        def is_complete():
            reader.read()
            return len(reader.unique()) >= acknowledged and self.last_images(reader) == table
        poll(is_complete, 600, "everything is delivered", pause=2)
        images = check_history(reader.unique())
        assert {key: image for key, image in images.items() if image is not None} == table
        return acknowledged, reader

    @staticmethod
    def last_images(reader):
        images = {}
        for record in reader.unique():
            images[json.dumps(record["dynamodb"]["Keys"])] = record["dynamodb"].get("NewImage")
        return {key: image for key, image in images.items() if image is not None}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=100_000)
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        run = Run(options, pathlib.Path(directory))
        with Client(run.endpoint) as db:
            create_table(db, name=TABLE)
            enable(db, TABLE, run.arn)
        run.write()
        written = time.monotonic() - started
        acknowledged, reader = run.check()
        print(f"{acknowledged} changes acknowledged in {written:.0f} s, {len(reader.unique())} delivered, "
              f"{len(reader.records) - len(reader.unique())} duplicates, {run.kills} kills of the server, {run.outages} outages of Kinesis, "
              f"all complete and in order after {time.monotonic() - started:.0f} s (seed {options.seed})")
        run.server.stop()
        run.kinesis.stop()


if __name__ == "__main__":
    main()
