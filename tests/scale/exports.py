#!/usr/bin/python3
"""Exports of a large table, full and incremental, read back by a reader of the test's own; memory of the server; SIGKILL at random
moments; an S3 server that fails every tenth request, and one that is away for a minute. On demand: make soak.

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
from clock import TEST_CLOCK, advance_clock, read_clock  # noqa: E402
from exports import Bucket, Folder, read_export, table_arn, wait_export  # noqa: E402
from s3_server import FailingProxy, S3Server  # noqa: E402
from server import Server  # noqa: E402
from wire import Client  # noqa: E402

TABLE, BUCKET = "large", "exports"


def item_of(number, version=0):
    return {"pk": {"S": f"p{number % 10007}"}, "sk": {"N": str(number)}, "text": {"S": f"text of {number} " * 5},
            "version": {"N": str(version)}}


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


def check_full(bucket, description, count):
    """Each item is there once and is what was written."""
    seen = bytearray(count)
    for line in read_export(bucket, description):
        found = json.loads(line)["Item"]
        number = int(found["sk"]["N"])
        assert found == item_of(number), found
        assert not seen[number]
        seen[number] = 1
    assert sum(seen) == count, f"{sum(seen)} of {count} items"


def peak_mb(server):
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) // 1024


def start(db, **parameters):
    return db.ExportTableToPointInTime(TableArn=table_arn(db, TABLE), S3Bucket=BUCKET, **parameters)["ExportDescription"]["ExportArn"]


def completed(db, arn, seconds=3600):
    ended = wait_export(db, arn, seconds)
    assert ended["ExportStatus"] == "COMPLETED", ended
    return ended


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--outage", type=float, default=60, help="seconds")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    arguments = parser.parse_args()
    print("seed", arguments.seed)
    source = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as directory, S3Server(f"{directory}/s3", BUCKET) as s3, \
            FailingProxy(s3.port) as proxy:
        store = f"rocksdb:{directory}/data"
        options = ("--cache-mb", "64", "--memory-mb", "128", *TEST_CLOCK)
        folders = (*options, "--s3-directory", f"{directory}/folders")
        service = (*options, "--s3-endpoint", proxy.endpoint)
        server = Server(store, *folders)
        with Client(server.endpoint) as db:
            db.CreateTable(TableName=TABLE, BillingMode="PAY_PER_REQUEST",
                           AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"},
                                                 {"AttributeName": "sk", "AttributeType": "N"}],
                           KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}])
        began = time.monotonic()
        write(server.endpoint, range(arguments.items))
        print(f"{arguments.items} items written in {time.monotonic() - began:.0f} s, peak {peak_mb(server)} MB")
        with Client(server.endpoint) as db:
            set_recovery(db, TABLE, True)
        server.stop()

        server = Server(store, *folders)
        before = peak_mb(server)
        with Client(server.endpoint) as db:
            began = time.monotonic()
            ended = completed(db, start(db))
            print(f"full export to folders: {time.monotonic() - began:.1f} s, peak {before} -> {peak_mb(server)} MB")
            check_full(Folder(f"{directory}/folders", BUCKET), ended, arguments.items)
            since = int(advance_clock(db, 10))
            advance_clock(db, 10)
            changed = source.sample(range(arguments.items), arguments.items // 10)
        write(server.endpoint, changed, 1)
        with Client(server.endpoint) as db:
            until = int(advance_clock(db, 1000))
            advance_clock(db, 10)
            began = time.monotonic()
            ended = completed(db, start(db, ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification={
                "ExportFromTime": since, "ExportToTime": until}))
            print(f"incremental export of {len(changed)} changes: {time.monotonic() - began:.1f} s, peak {peak_mb(server)} MB")
            found = {}
            for line in read_export(Folder(f"{directory}/folders", BUCKET), ended):
                record = json.loads(line)
                number = int(record["Keys"]["sk"]["N"])
                assert record["OldImage"] == item_of(number) and record["NewImage"] == item_of(number, 1) and number not in found
                found[number] = True
            assert sorted(found) == sorted(changed)
        server.stop()

        server, bucket = Server(store, *service), Bucket(s3.client(), BUCKET)
        arns, kills = [], 0
        began = time.monotonic()
        while kills < arguments.kills:
            with Client(server.endpoint) as db:
                arns.append(start(db, ExportTime=since))
            threading.Event().wait(source.uniform(0, 3))
            server.kill()
            kills += 1
            server = Server(store, *service)
        with Client(server.endpoint) as db:
            arns.append(start(db, ExportTime=since))
            if arguments.outage > 0:
                proxy.is_down = True
                threading.Event().wait(arguments.outage)
                proxy.is_down = False
            for number, arn in enumerate(arns):
                ended = completed(db, arn)
                if number in (0, len(arns) - 1):
                    check_full(bucket, ended, arguments.items)
            print(f"{len(arns)} exports to S3 with {kills} kills and {proxy.requests} requests, every tenth of which failed: "
                  f"{time.monotonic() - began:.0f} s, peak {peak_mb(server)} MB")
        server.stop()
    print("exports: good")


if __name__ == "__main__":
    main()
