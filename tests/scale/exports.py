#!/usr/bin/python3
"""Exports of a large table, full and incremental, read back by a reader of the test's own, and imported into new tables, which must
be equal; memory of the server stays below a bound; SIGKILL at random moments; all of it with folders, and with an S3 server that
fails every tenth request and is away for a minute in the middle of each: a full export, an incremental one, and an import. On
demand: make soak.

    tests/scale/exports.py --items 1000000 --kills 20 --outage 60
"""

import argparse
import json
import pathlib
import random
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from backups import set_recovery  # noqa: E402
from clock import TEST_CLOCK, advance_clock  # noqa: E402
from exports import Bucket, Folder, read_export, table_arn, wait_export  # noqa: E402
from loads import start_import, wait_import  # noqa: E402
from s3_server import FailingProxy, S3Server  # noqa: E402
from server import Server  # noqa: E402
from tables import table_request, wait_active  # noqa: E402
from waiting import poll  # noqa: E402
from wire import Client  # noqa: E402

TABLE, BUCKET = "large", "exports"
KEY, INDEXES = "pk sk:N", {"by-group": "group sk:N"}
CACHE_MB, REQUESTS_MB = 64, 128
PEAK_MB_MAX = 400  # of the server, whatever the number of items: what it may use for caches and requests, and memtables


def item_of(number, version=0):
    return {"pk": {"S": f"p{number % 10007}"}, "sk": {"N": str(number)}, "text": {"S": f"text of {number} " * 5},
            "version": {"N": str(version)}, "group": {"S": f"g{number % 101}"}, "binary": {"B": "AAEC/w=="},
            "strings": {"SS": ["a", f"b{number}"]}, "numbers": {"NS": ["1", "2.5"]}}


def write(endpoint, numbers, version=0):
    """Puts items in batches, from some threads."""
    def put(batches):
        with Client(endpoint) as db:
            for batch in batches:
                rest = {TABLE: [{"PutRequest": {"Item": item_of(number, version)}} for number in batch]}
                while rest:
                    rest = db.BatchWriteItem(RequestItems=rest)["UnprocessedItems"]
    batches = [numbers[at:at + 25] for at in range(0, len(numbers), 25)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, [batches[part::4] for part in range(4)]))


def check_items(items, count):
    """Each item is there once and is what was written."""
    seen = bytearray(count)
    for found in items:
        number = int(found["sk"]["N"])
        assert found == item_of(number), found
        assert not seen[number]
        seen[number] = 1
    assert sum(seen) == count, f"{sum(seen)} of {count} items"


def check_full(bucket, description, count):
    check_items((json.loads(line)["Item"] for line in read_export(bucket, description)), count)


def check_incremental(bucket, description, changed):
    """One record per changed item, with its state at both times."""
    found = set()
    for line in read_export(bucket, description):
        record = json.loads(line)
        number = int(record["Keys"]["sk"]["N"])
        assert record["OldImage"] == item_of(number) and record["NewImage"] == item_of(number, 1) and number not in found
        found.add(number)
    assert found == set(changed)


def scan(db, table, **more):
    """All items, page by page."""
    position = {}
    while position is not None:
        page = db.Scan(TableName=table, **more, **position)
        yield from page["Items"]
        position = {"ExclusiveStartKey": page["LastEvaluatedKey"]} if "LastEvaluatedKey" in page else None


def peak_mb(server):
    """The most memory that the server has used so far; a bound on it is checked."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    peak = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) // 1024
    assert peak <= PEAK_MB_MAX, f"{peak} MB"
    return peak


def start(db, **parameters):
    return db.ExportTableToPointInTime(TableArn=table_arn(db, TABLE), S3Bucket=BUCKET, **parameters)["ExportDescription"]["ExportArn"]


def completed(db, arn, seconds=3600):
    ended = wait_export(db, arn, seconds)
    assert ended["ExportStatus"] == "COMPLETED", ended
    return ended


def import_and_check(server, description, count, where, meanwhile=lambda: None):
    """An import of a full export makes an equal table, with its index."""
    prefix = description["ExportManifest"].removesuffix("manifest-summary.json") + "data/"
    table = f"imported-from-{where}"
    began = time.monotonic()
    with Client(server.endpoint) as db:
        arn = start_import(db, table, bucket=BUCKET, prefix=prefix, key=KEY, gsi=INDEXES, InputCompressionType="GZIP")["ImportArn"]
        meanwhile()
        ended = wait_import(db, arn, 3600)
        assert (ended["ImportStatus"], ended["ErrorCount"], ended["ImportedItemCount"]) == ("COMPLETED", 0, count), ended
        print(f"import from {where}: {time.monotonic() - began:.1f} s, peak {peak_mb(server)} MB")
        check_items(scan(db, table), count)
        for index in INDEXES:
            check_items(scan(db, table, IndexName=index), count)
        db.DeleteTable(TableName=table)


class Test:
    def __init__(self, arguments, directory, s3, proxy):
        self.arguments, self.s3, self.proxy = arguments, s3, proxy
        self.source = random.Random(arguments.seed)
        self.store = f"rocksdb:{directory}/data"
        options = ("--cache-mb", str(CACHE_MB), "--memory-mb", str(REQUESTS_MB), *TEST_CLOCK)
        self.folders = (*options, "--s3-directory", f"{directory}/folders")
        self.service = (*options, "--s3-endpoint", proxy.endpoint)
        self.folder, self.bucket = Folder(f"{directory}/folders", BUCKET), Bucket(s3.client(), BUCKET)
        self.ahead = 0  # seconds by which the servers' clock was advanced

    def serve(self, options):
        """A server whose clock is not behind the times of earlier writes: else exports as of a given time are refused."""
        server = Server(self.store, *options)
        if self.ahead > 0:
            with Client(server.endpoint) as db:
                advance_clock(db, self.ahead)
        return server

    def advance(self, db, seconds):
        self.ahead += seconds
        return int(advance_clock(db, seconds))

    def fill(self):
        server = self.serve(self.folders)
        with Client(server.endpoint) as db:
            db.CreateTable(**table_request(TABLE, KEY, gsi=INDEXES))
            wait_active(db, TABLE)
        began = time.monotonic()
        write(server.endpoint, range(self.arguments.items))
        print(f"{self.arguments.items} items written in {time.monotonic() - began:.0f} s, peak {peak_mb(server)} MB")
        with Client(server.endpoint) as db:
            set_recovery(db, TABLE, True)
        server.stop()

    def full(self, server, bucket, where, **parameters):
        before, began = peak_mb(server), time.monotonic()
        with Client(server.endpoint) as db:
            ended = completed(db, start(db, **parameters))
        print(f"full export to {where}: {time.monotonic() - began:.1f} s, peak {before} -> {peak_mb(server)} MB")
        check_full(bucket, ended, self.arguments.items)
        return ended

    def change(self, server):
        """Writes a tenth of the items again, between two times."""
        with Client(server.endpoint) as db:
            self.since = self.advance(db, 10)
            self.advance(db, 10)
            self.changed = self.source.sample(range(self.arguments.items), self.arguments.items // 10)
        write(server.endpoint, self.changed, 1)
        with Client(server.endpoint) as db:
            self.until = self.advance(db, 1000)
            self.advance(db, 10)

    def incremental(self, server, bucket, where, meanwhile=lambda: None):
        began = time.monotonic()
        with Client(server.endpoint) as db:
            arn = start(db, ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification={
                "ExportFromTime": self.since, "ExportToTime": self.until})
            meanwhile()
            ended = completed(db, arn)
        print(f"incremental export of {len(self.changed)} changes to {where}: {time.monotonic() - began:.1f} s, peak {peak_mb(server)} MB")
        check_incremental(bucket, ended, self.changed)

    def with_folders(self):
        server = self.serve(self.folders)
        ended = self.full(server, self.folder, "folders")
        import_and_check(server, ended, self.arguments.items, "folders")
        self.change(server)
        self.incremental(server, self.folder, "folders")
        server.stop()

    def kill_exports(self, server):
        """Exports are begun, and the server is killed meanwhile; then the S3 server is away. All exports complete: of all the manifests,
        checksums and counts are checked, of the first and the last each item."""
        arns, began = [], time.monotonic()
        for _ in range(self.arguments.kills):
            with Client(server.endpoint) as db:
                arns.append(start(db, ExportTime=self.since))
            threading.Event().wait(self.source.uniform(0, 3))
            server.kill()
            server = self.serve(self.service)
        with Client(server.endpoint) as db:
            arns.append(start(db, ExportTime=self.since))
            self.be_away()
            for number, arn in enumerate(arns):
                ended = completed(db, arn)
                if number in (0, len(arns) - 1):
                    check_full(self.bucket, ended, self.arguments.items)
                else:
                    assert len(read_export(self.bucket, ended)) == self.arguments.items
        print(f"{len(arns)} exports to S3 with {self.arguments.kills} kills and {self.proxy.requests} requests, every tenth of which "
              f"failed: {time.monotonic() - began:.0f} s, peak {peak_mb(server)} MB")
        return server, ended

    def be_away(self):
        """Waits until the S3 server is used, and then lets all requests fail for a while."""
        if self.arguments.outage > 0:
            before = self.proxy.requests
            poll(lambda: self.proxy.requests > before, 600, "the S3 server is used")
            self.proxy.is_down, before = True, self.proxy.requests
            threading.Event().wait(self.arguments.outage)
            assert self.proxy.requests > before, "nobody noticed the outage"
            self.proxy.is_down = False

    def with_service(self):
        server, ended = self.kill_exports(self.serve(self.service))
        self.incremental(server, self.bucket, "S3", self.be_away)
        import_and_check(server, ended, self.arguments.items, "S3", self.be_away)
        server.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--outage", type=float, default=60, help="seconds")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    arguments = parser.parse_args()
    print("seed", arguments.seed)
    with tempfile.TemporaryDirectory() as directory, S3Server(f"{directory}/s3", BUCKET) as s3, \
            FailingProxy(s3.port) as proxy:
        test = Test(arguments, directory, s3, proxy)
        test.fill()
        test.with_folders()
        test.with_service()
    print("exports: good")


if __name__ == "__main__":
    main()
