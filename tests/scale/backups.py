#!/usr/bin/python3
"""Backups of large stores and tables. On demand.

    tests/scale/backups.py store --gb 10            `gramme backup` of a store in use, `gramme restore`, `gramme check`
    tests/scale/backups.py tables --items 20000000  CreateBackup of a large table beside one of a small table

store: GetItem and PutItem are sent at a fixed rate before and during the backup; the median p99 during it may be at most
twice that before. A writer puts numbered items all the time; those acknowledged before the backup began must be in the
restored store. A plain copy of a file of the same size at the same rate is measured beside it: the part that the disk plays.

tables: the backup of the large table may take at most 3 times as long as that of a table of 100,000 items, and 1 % of the
store's room; the restored small table must equal its source; the restore of the large one must log its progress and have all
items."""

import argparse
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from backups import create_backup, restore, wait_restored  # noqa: E402
from rich_store import gramme  # noqa: E402
from server import ROOT, Server, program  # noqa: E402
from tables import all_items  # noqa: E402
from values import item  # noqa: E402
from waiting import poll  # noqa: E402
from wire import Client  # noqa: E402

ITEM_BYTES = 1024
SMALL = 100_000
NUMBERED = "numbered"
P99_RATIO_MAX, TIME_RATIO_MAX, ROOM_RATIO_MAX = 2, 3, 1.01
ROUND_SECONDS, QUIET_ROUNDS, RATE = 3, 5, 500


def bench(endpoint, *arguments):
    done = subprocess.run([program(), "bench", *map(str, arguments), "--endpoint", endpoint, "--json", "-"],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout[done.stdout.index("{"):])


def disk_bytes(directory):
    return sum(path.stat().st_blocks * 512 for path in pathlib.Path(directory).rglob("*") if path.is_file())


class Writer(threading.Thread):
    """Puts items with the numbers 0, 1, 2, ...; the first `acknowledged` of them were answered."""

    def __init__(self, endpoint):
        super().__init__()
        self.endpoint, self.acknowledged, self.stopping = endpoint, 0, threading.Event()

    def run(self):
        with Client(self.endpoint) as db:
            while not self.stopping.wait(0.002):
                db.PutItem(TableName=NUMBERED, Item=item(pk=str(self.acknowledged)))
                self.acknowledged += 1


class Latencies:
    """p99 of GetItem and PutItem at a fixed rate, in rounds, in microseconds."""

    def __init__(self, endpoint, items):
        self.endpoint, self.items = endpoint, items
        self.rounds = {"get": [], "put": []}

    def measure(self):
        for work, rounds in self.rounds.items():
            row = bench(self.endpoint, work, "--no-setup", "--items", self.items, "--size", ITEM_BYTES, "--gsi", 0,
                        "--connections", 16, "--rate", RATE, "--seconds", ROUND_SECONDS, "--warmup", 0.2)
            assert not row["errors"], row
            rounds.append(row["latency_us"]["p99"])

    def middle(self):
        return {work: statistics.median(rounds) for work, rounds in self.rounds.items()}


def while_running(process, latencies):
    while process.poll() is None:
        latencies.measure()
    return latencies.middle()


def start_copy(source, target, rate_mb):
    """Copies a file with a bounded rate, as a backup does, without any of our code."""
    script = ("import sys, time\n"
              "source, target, rate = open(sys.argv[1], 'rb'), open(sys.argv[2], 'wb'), int(sys.argv[3]) << 20\n"
              "begun, done = time.monotonic(), 0\n"
              "while part := source.read(1 << 20):\n"
              "    target.write(part); done += len(part)\n"
              "    time.sleep(max(0, done / rate - (time.monotonic() - begun)))\n")
    return subprocess.Popen([sys.executable, "-c", script, source, target, str(rate_mb)])


def check_restored(directory, backup, acknowledged):
    done = gramme("restore", backup, directory / "restored")
    assert done.returncode == 0, done
    check = gramme("check", directory / "restored")
    assert check.returncode == 0, check.stdout
    with Server(f"rocksdb:{directory / 'restored'}") as server, Client(server.endpoint) as db:
        found = {int(row["pk"]["S"]) for row in all_items(db.Scan, TableName=NUMBERED)}
    assert found >= set(range(acknowledged)), f"{acknowledged - len(found & set(range(acknowledged)))} acknowledged items are missing"
    return len(found)


def run_store(directory, gigabytes, rate_mb):
    items = gigabytes * (1 << 30) // ITEM_BYTES
    with Server(f"rocksdb:{directory / 'store'}") as server:
        begun = time.monotonic()
        bench(server.endpoint, "load", "--items", items, "--size", ITEM_BYTES, "--gsi", 0, "--connections", 16)
        print(f"loaded {items:,} items, {disk_bytes(directory / 'store') >> 20:,} MiB on disk, in {time.monotonic() - begun:.0f} s", flush=True)
        with Client(server.endpoint) as db:
            db.CreateTable(TableName=NUMBERED, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                           AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
        writer = Writer(server.endpoint)
        writer.start()
        quiet = Latencies(server.endpoint, items)
        for _ in range(QUIET_ROUNDS):
            quiet.measure()
        acknowledged = writer.acknowledged
        begun = time.monotonic()
        backup = subprocess.Popen([program(), "backup", "--rate-mb", str(rate_mb), directory / "store", directory / "backup"],
                                  stdout=subprocess.DEVNULL)
        during = while_running(backup, Latencies(server.endpoint, items))
        seconds = time.monotonic() - begun
        assert backup.returncode == 0
        largest = max((directory / "backup").rglob("*.sst"), key=lambda path: path.stat().st_size)
        copied = while_running(start_copy(largest, directory / "copy", rate_mb), Latencies(server.endpoint, items))
        for _ in range(QUIET_ROUNDS):
            quiet.measure()
        writer.stopping.set()
        writer.join()
    before = quiet.middle()
    print(f"backup of {disk_bytes(directory / 'backup') >> 20:,} MiB in {seconds:.0f} s")
    for work in before:
        print(f"{work}: p99 {before[work]:,.0f} us without a backup, {during[work]:,.0f} us during it "
              f"({during[work] / before[work]:.2f} times), {copied[work]:,.0f} us beside a plain copy", flush=True)
    shutil.rmtree(directory / "store")
    found = check_restored(directory, directory / "backup", acknowledged)
    print(f"restored and checked: {found:,} numbered items, {acknowledged:,} of them acknowledged before the backup began")
    return sum(during[work] > P99_RATIO_MAX * before[work] for work in before)


def restore_large(server, db, arn, items):
    """Whether the log tells of a part of the restore."""
    begun = time.monotonic()
    db.RestoreTableFromBackup(TargetTableName="large", BackupArn=arn)

    def probe():
        shares = [int(share) for share in re.findall(r"restore: table large: (\d+) %", server.log())]
        return [share for share in shares if 0 < share < 100] or db.DescribeTable(TableName="large")["Table"]["TableStatus"] == "ACTIVE"
    shares = poll(probe, 600, "a part is restored", pause=0.5)
    described = wait_restored(db, "large", 7200)
    assert described["ItemCount"] == items, described
    print(f"{items:,} items restored in {time.monotonic() - begun:.0f} s; first progress in the log: {shares}", flush=True)
    return shares is not True


def run_tables(directory, items):
    with Server(f"rocksdb:{directory / 'store'}") as server, Client(server.endpoint) as db:
        seconds = {}
        for count in (SMALL, items):
            name = f"items-{count}"
            bench(server.endpoint, "load", "--items", count, "--size", 100, "--gsi", 0, "--connections", 16, "--table", name)
            times = []
            room = disk_bytes(directory)
            for number in range(5):
                begun = time.monotonic()
                arn = create_backup(db, name, f"backup-{number}")
                times.append(time.monotonic() - begun)
            grown = disk_bytes(directory) / room
            seconds[count] = statistics.median(times)
            print(f"{count:,} items: a backup takes {seconds[count] * 1000:.1f} ms; five of them {100 * (grown - 1):+.2f} % of room", flush=True)
            if count == SMALL:
                restore(db, arn, "restored")
                assert all_items(db.Scan, TableName="restored") == all_items(db.Scan, TableName=name)
        ratio = seconds[items] / seconds[SMALL]
        print(f"time: {ratio:.2f} times")
        shows_progress = restore_large(server, db, arn, items)
        return (ratio > TIME_RATIO_MAX) + (grown > ROOM_RATIO_MAX) + (not shows_progress)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["store", "tables"])
    parser.add_argument("--gb", type=int, default=10)
    parser.add_argument("--rate-mb", type=int, default=50, help="of the backup")
    parser.add_argument("--items", type=int, default=20_000_000)
    parser.add_argument("--directory", type=pathlib.Path, default=ROOT / "build", help="on the disk to use")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory, prefix="backups-") as made:
        directory = pathlib.Path(made)
        failed = run_store(directory, options.gb, options.rate_mb) if options.part == "store" else run_tables(directory, options.items)
    print(f"{(2 if options.part == 'store' else 3) - failed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
