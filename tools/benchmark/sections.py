"""What `make bench` measures, section by section, as lists of steps.

Rounds are interleaved: in each round every peer and limit of a measurement has its turn, because
the machine is shared and what disturbs one should disturb all."""

import json
import subprocess
import time

from measure import Flushes, Step, measure, run_bench
from peers import AUTHORIZATION, GRAMME, Gramme

# work, connections, options; requests of nginx that send the same bytes. First those that only read: how dear a range
# is depends on what was overwritten before, in every store that merges. AFTER_WORKS show that.
WORKS = [
    ("get", 64, [], "item"), ("query10", 64, [], None), ("query1mb", 16, [], "page"), ("gsi10", 64, [], None),
    ("batch-get", 16, [], None), ("put", 64, [], None), ("put-conditional", 64, [], None), ("update", 64, [], None),
    ("batch-write", 16, [], None), ("transact4", 64, [], None), ("transact100", 16, [], None),
    ("ycsb-a", 64, [], None), ("ycsb-b", 64, [], None), ("ycsb-c", 64, [], None), ("ycsb-d", 64, [], None),
    ("ycsb-e", 64, [], None), ("ycsb-f", 64, [], None)]
AFTER_WORKS = [("query10", 64), ("query1mb", 16)]
LATENCY_ROUNDS = 9  # enough rounds for a stable median
MIXED_ROUNDS = 6  # p99 is sensitive to other load
ITEMS_ROUNDS = 7  # how long memory takes differs from one second to the next
SIZES = [(100, 10_000), (65_536, 200), (409_600, 50)]
GROWTH_WORKS = ["get", "query10", "put"]  # first those that only read, as above
GROWTH_CONNECTIONS = [1, 4, 16, 64, 128, 256, 512]
GROWTH_GSIS = [0, 2, 10]
GROWTH_SIZE = 100
# DynamoDB Local answers large transactions on many connections with internal failures; dynalite knows no transactions.
CANNOT = {("local", "transact100"), ("dynalite", "transact4"), ("dynalite", "transact100")}
LOAD_RATES = {"gramme": 20_000, "earlier": 20_000, "dynoxide": 1_000, "local": 300, "dynalite": 1_500}


class Bench:
    """State of a run: servers, results, options."""

    def __init__(self, directory, settings, databases, nginx, results):
        self.directory, self.settings, self.results = directory, settings, results
        self.databases, self.nginx = databases, nginx
        self.gramme = databases.get("gramme")
        self.stops = []  # functions that stop servers of single sections; called at the end, whatever happens

    def window(self):
        return ["--seconds", self.settings.seconds, "--warmup", self.settings.warmup]

    def step(self, section, peer, work, *arguments, number=0, seconds=None, **more):
        """A step that measures one peer once; its row also has what is in `more`."""
        window = ["--warmup", self.settings.warmup, "--seconds", seconds or self.settings.seconds]
        label = " ".join(map(str, [section, work, peer.title, *(f"{k}={v}" for k, v in more.items()),
                                   f"round {number + 1}"]))

        def run():
            row = measure(peer, work, *window, *arguments)
            return {**row, "section": section, "peer": peer.name, "work": work, "round": number, **more}
        return Step(label, self.settings.seconds + self.settings.warmup + 0.5, run)

    def limit(self, section, name, *arguments, number=0, seconds=None, **more):
        def run():
            row = run_bench("--limit", name, "--directory", self.directory, "--seconds",
                            seconds or self.settings.seconds, *arguments)
            return {**row, "section": section, "limit": name, "round": number, **more}
        return Step(f"{section} limit {name}", (seconds or self.settings.seconds) + 0.5, run)

    def item_set(self):
        return ["--items", self.settings.items]


def start_steps(bench):
    """Start-up time, best of three, and memory at rest; leaves all running."""
    def run(peer):
        times = []
        for _ in range(3):
            peer.discard()
            times.append(peer.start())
        time.sleep(1)
        return {"section": "start", "peer": peer.name, "start_ms": round(min(times) * 1000, 1),
                "rest_bytes": peer.resident_bytes()}
    return [Step(f"start {peer.title}", 15 if peer.name == "local" else 4, lambda peer=peer: run(peer))
            for peer in bench.databases.values()]


def load_steps(bench):
    """The data that all sections use, through BatchWriteItem."""
    def run(peer):
        row = measure(peer, "load", *bench.item_set(), "--connections", 16)
        return {**row, "section": "load", "peer": peer.name, "disk_bytes": peer.disk_bytes()}
    return [Step(f"load {bench.settings.items:,} items into {peer.title}",
                 bench.settings.items / LOAD_RATES[peer.name] + 1, lambda peer=peer: run(peer))
            for peer in bench.databases.values()]


def get_body(bench):
    """A GetItem of an item that is there."""
    return json.dumps({"TableName": f"bench-1024b-1gsi-{bench.settings.items}",
                       "Key": {"pk": {"S": f"{0:016}"}, "sk": {"S": f"{1:016}"}}})


def page_body(bench):
    """A Query of more than a page."""
    return json.dumps({"TableName": f"bench-1024b-1gsi-{bench.settings.items}", "KeyConditionExpression": "pk = :p",
                       "ExpressionAttributeValues": {":p": {"S": f"{0:016}"}}})


def nginx_step(bench):
    """Records Gramme's answer, configures nginx with it, starts nginx."""
    def run():
        bench.nginx.learn(bench.gramme, get_body(bench), page_body(bench))
        bench.nginx.discard()
        bench.nginx.start()
        time.sleep(0.3)  # the workers are forked after the first connection is accepted
    return Step("start nginx", 1, run)


def nginx_measure(bench, section, kind, *arguments, number=0, **more):
    """nginx sending the bytes of GetItem ("item", asked with GetItem's bytes) or of a page."""
    work = "get" if kind == "item" else "raw"
    step = bench.step(section, bench.nginx, work, "--no-setup", *arguments, number=number, **more)

    def run():
        endpoint = bench.nginx.endpoint() + ("/page" if kind == "page" else "")
        row = run_bench(work, "--endpoint", endpoint, "--pid", ",".join(map(str, bench.nginx.pids())),
                        *bench.window(), "--no-setup", *arguments)
        return {**row, "section": section, "peer": "nginx", "work": work, "kind": kind, "round": number, **more}
    return Step(step.label, step.seconds, run)


def put_step(bench, number):
    """PutItem, with the size of the groups that were committed: by how often the disk was flushed."""
    step = bench.step("works", bench.gramme, "put", *bench.item_set(), "--connections", 64, number=number)
    flushes = Flushes(bench.directory)

    def run():
        before = flushes.count()
        row = step.run()
        after = flushes.count()
        if before is not None and row.get("requests"):
            # The warm-up's requests are not counted, its flushes are.
            share = row["seconds"] / (row["seconds"] + bench.settings.warmup)
            row["flushes_per_request"] = (after - before) * share / row["requests"]
        return row
    return Step(step.label, step.seconds, run)


def fsync_step(bench, number):
    flushes = Flushes(bench.directory)
    step = bench.limit("limits", "fsync", number=number)

    def run():
        before = flushes.count()
        row = step.run()
        if before is not None and row.get("count"):
            row["flushes_per_fsync"] = (flushes.count() - before) / row["count"]
        return row
    return Step(step.label, step.seconds, run)


def group_size(results):
    """How many PutItem calls Gramme commits with one fsync; the disk's flushes tell, if it counts them.
    Others who use the disk make the groups look smaller than they are, so the largest is taken."""
    per_fsync = [row["flushes_per_fsync"] for row in results.rows if row.get("flushes_per_fsync")]
    per_request = [row["flushes_per_request"] for row in results.rows if row.get("flushes_per_request")]
    if not per_fsync or not per_request:
        return 32
    return max(1, min(64, round(min(per_fsync) / min(per_request))))


def rocksdb_step(bench, number):
    def run():
        batch = group_size(bench.results)
        row = run_bench("--limit", "rocksdb", "--directory", bench.directory, "--seconds", bench.settings.seconds,
                        "--batch", batch)
        return {**row, "section": "limits", "limit": "rocksdb", "round": number, "batch": batch}
    return Step("limits RocksDB alone", bench.settings.seconds + 0.5, run)


def works_steps(bench, only):
    steps = []
    for work, connections, options, kind in WORKS:
        if only and work not in only:
            continue
        arguments = [*bench.item_set(), "--connections", connections, *options]
        for number in range(bench.settings.rounds):
            for peer in bench.databases.values():
                if (peer.name, work) in CANNOT:
                    continue
                if peer is bench.gramme and work == "put":
                    steps += [fsync_step(bench, number), put_step(bench, number), rocksdb_step(bench, number)]
                else:
                    steps.append(bench.step("works", peer, work, *arguments, number=number))
            if kind is not None and bench.nginx is not None:
                steps.append(nginx_measure(bench, "works", kind, "--connections", connections, number=number))
    if not only:
        steps += [bench.step("after", peer, work, *bench.item_set(), "--connections", connections, number=number)
                  for work, connections in AFTER_WORKS for number in range(bench.settings.rounds)
                  for peer in bench.databases.values()]
    steps.append(Step("memory", 1, lambda: memory(bench)))
    return steps


def memory(bench):
    for peer in bench.databases.values():
        bench.results.add({"section": "memory", "peer": peer.name, "loaded_bytes": peer.resident_bytes(),
                           "disk_bytes": peer.disk_bytes()})


def size_steps(bench):
    steps = []
    for size, items in SIZES:
        arguments = ["--items", min(items, bench.settings.items), "--size", size, "--connections", 16]
        for work in ("get", "put"):
            for number in range(bench.settings.rounds):
                steps += [bench.step("sizes", peer, work, *arguments, number=number, size=size)
                          for peer in bench.databases.values()]
    return steps


def latency_steps(bench):
    """One connection: what a single caller waits."""
    steps = []
    for number in range(max(LATENCY_ROUNDS, bench.settings.rounds)):
        steps.append(bench.step("latency", bench.gramme, "get", *bench.item_set(), "--connections", 1, number=number))
        if bench.nginx is not None:
            steps.append(nginx_measure(bench, "latency", "item", "--connections", 1, number=number))
        steps += [bench.step("latency", bench.gramme, "put", *bench.item_set(), "--connections", 1, number=number),
                  bench.limit("latency", "fsync", number=number),
                  bench.limit("latency", "overwrite", number=number),
                  bench.limit("latency", "roundtrip", number=number),
                  bench.limit("latency", "durable", number=number)]
    return steps


def mixed_steps(bench):
    """GetItem at a steady rate, without and with 32 connections that write at full speed. nginx answers the same bytes
    beside the same writers: how long its readers wait is due to the machine and to what the writers take of it."""
    readers = [*bench.item_set(), "--connections", 16, "--rate", 2000]
    settings, flushes = bench.settings, Flushes(bench.directory)

    def wait_for(writers):
        """Until they write; where flushes of the disk are not counted, the readers' warm-up has to do."""
        before = flushes.count()
        while before is not None and flushes.count() < before + 100 and writers.poll() is None:
            time.sleep(0.005)

    def read(peer, number, writers):
        if peer is bench.nginx:
            return nginx_measure(bench, "mixed", "item", *readers, number=number, writers=writers)
        return bench.step("mixed", peer, "get", *readers, number=number, writers=writers)

    def read_beside_writers(peer, number):
        step = read(peer, number, writers=32)

        def run():
            writers = subprocess.Popen(
                [str(GRAMME), "bench", "put", "--endpoint", bench.gramme.endpoint(), *map(str, bench.item_set()),
                 "--connections", "32", "--threads", "1", "--seconds", str(settings.seconds + 1), "--warmup",
                 str(settings.warmup)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait_for(writers)
            row = step.run()
            writers.wait()
            return row
        return Step(step.label, settings.seconds + 2, run)
    peers = [peer for peer in (bench.gramme, bench.nginx) if peer is not None]
    return [step for number in range(max(MIXED_ROUNDS, settings.rounds)) for peer in peers
            for step in (read(peer, number, writers=0), read_beside_writers(peer, number))]


def big_steps(bench):
    """Loading and scanning a large table; the slow peers are left out."""
    count = bench.settings.big
    peers = [peer for peer in bench.databases.values() if peer.name in ("gramme", "dynoxide")]

    def load(peer):
        row = measure(peer, "load", "--items", count, "--connections", 16)
        return {**row, "section": "big", "peer": peer.name, "items": count, "disk_bytes": peer.disk_bytes()}
    steps = [Step(f"load {count:,} items into {peer.title}", count / LOAD_RATES[peer.name],
                  lambda peer=peer: load(peer)) for peer in peers]
    if bench.gramme:
        steps.append(settle_step(bench.gramme))
    for segments in (1, 4):
        for number in range(bench.settings.rounds):
            steps += [bench.step("big", peer, "scan", "--items", count, "--segments", segments, number=number,
                                 segments=segments) for peer in peers]
            if bench.nginx is not None:
                steps.append(nginx_measure(bench, "big", "page", "--connections", segments, number=number,
                                           segments=segments))
    return steps


def settle_step(peer, seconds_max=120):
    """Waits until a server is at rest: compactions of the load are not what we measure."""
    def run():
        def cpu():
            fields = open(f"/proc/{peer.process.pid}/stat").read().rsplit(")", 1)[1].split()
            return int(fields[11]) + int(fields[12])
        quiet, until = 0, time.monotonic() + seconds_max
        while quiet < 3 and time.monotonic() < until:
            before = cpu()
            time.sleep(0.5)
            quiet = quiet + 1 if cpu() - before < 3 else 0
    return Step(f"wait until {peer.title} is at rest", 5, run)


def growth_steps(bench):
    """Gramme's cost per request against items, indexes and connections: a server for each number of items, so that the
    rounds of few and of many can be interleaved."""
    rounds = range(bench.settings.rounds)
    servers = {items: Gramme(bench.directory / f"growth-{items}") for items in bench.settings.growth}
    small, biggest = bench.settings.growth[0], bench.settings.growth[-1]

    def start(peer):
        return Step("start Gramme", 1, lambda: (peer.discard(), peer.start()) and None)

    def step(items, work, number, axis, value, *arguments):
        return bench.step("growth", servers[items], work, "--size", GROWTH_SIZE, "--items", items, *arguments,
                          number=number, axis=axis, value=value)

    def load(items, gsi=1):
        peer = servers[items]

        def run():
            row = measure(peer, "load", "--items", items, "--gsi", gsi, "--size", GROWTH_SIZE, "--connections", 16)
            return {**row, "section": "growth", "axis": "load", "peer": "gramme", "value": items}
        return Step(f"growth load {items:,} items, {gsi} GSIs", items / 60_000 + 1, run)

    def warm(items):
        """Reads the table once: what is measured is not how files come into the cache."""
        peer, pages = servers[items], items * GROWTH_SIZE // (1 << 20) + 1

        def run():
            run_bench("scan", "--endpoint", peer.endpoint(), "--items", items, "--size", GROWTH_SIZE, "--requests", pages)
        return Step(f"growth read {items:,} items", items / 500_000 + 0.2, run)

    # What is merged of the table comes about every ten seconds: up, down and up again it does not fall on the same
    # number of connections each time.
    steps = [start(servers[small]), load(small), settle_step(servers[small]), warm(small)]
    steps += [step(small, work, number, "connections", connections, "--connections", connections)
              for number in rounds for work in GROWTH_WORKS
              for connections in (reversed(GROWTH_CONNECTIONS) if number % 2 else GROWTH_CONNECTIONS)]
    for gsi in GROWTH_GSIS:
        steps += [load(small, gsi), *(step(small, work, number, "gsi", gsi, "--gsi", gsi)
                                      for work in ("get", "put", "update") for number in rounds)]
    # Uses a new empty server, because the previous one contains old versions.
    for items, peer in servers.items():
        steps += [start(peer), load(items), settle_step(peer, 600), warm(items)]
    for work in GROWTH_WORKS:
        for number in range(max(ITEMS_ROUNDS, bench.settings.rounds)):
            steps += [bench.limit("growth", "memory", number=number, seconds=1),
                      *(step(items, work, number, "items", items) for items in servers)]

    def restart():
        peer = servers[biggest]
        peer.stop()
        seconds = min(peer.start() for _ in range(3) if peer.stop() is None)
        row = {"section": "growth", "axis": "restart", "peer": "gramme", "value": biggest,
               "start_ms": round(seconds * 1000, 1), "disk_bytes": peer.disk_bytes(),
               "rest_bytes": peer.resident_bytes()}
        for each in servers.values():
            each.discard()
        return row
    return [*steps, Step("growth start with all items", 5, restart)]


WRK_SCRIPT = """wrk.method = "POST"
wrk.body = '%s'
wrk.headers["X-Amz-Target"] = "DynamoDB_20120810.GetItem"
wrk.headers["X-Amz-Date"] = "20250101T000000Z"
wrk.headers["Content-Type"] = "application/x-amz-json-1.0"
wrk.headers["Authorization"] = "%s"
"""


def agreement_steps(bench):
    """One GetItem again and again, from us and from wrk, to see that both say the same of a server. Dynoxide
    is asked: it costs much more than either generator, so that it alone decides the rate."""
    peer = bench.databases["dynoxide"]
    body = get_body(bench)
    head = (f"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.GetItem\r\nX-Amz-Date: 20250101T000000Z\r\n"
            f"Content-Type: application/x-amz-json-1.0\r\nAuthorization: {AUTHORIZATION}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n")
    request, script = bench.directory / "request", bench.directory / "wrk.lua"
    request.write_text(head + body, newline="")
    script.write_text(WRK_SCRIPT % (body, AUTHORIZATION))
    seconds = max(1, round(bench.settings.seconds))

    def wrk(number):
        output = subprocess.run(["wrk", "-t1", "-c16", f"-d{seconds}s", "-s", str(script), peer.endpoint() + "/"],
                                text=True, capture_output=True, check=True).stdout
        rate = float(next(line.split()[1] for line in output.splitlines() if line.startswith("Requests/sec:")))
        errors = {"wrk's": 1} if "Non-2xx" in output or "Socket errors" in output else {}
        return {"section": "agreement", "generator": "wrk", "round": number, "requests_per_second": rate,
                "requests": 1, "errors": errors, "latency_us": {"p50": 0, "p99": 0}}
    steps = []
    for number in range(max(3, bench.settings.rounds)):
        steps += [bench.step("agreement", peer, "raw", "--request", request, "--connections", 16, "--threads", 1,
                             number=number, seconds=seconds, generator="gramme"),
                  Step(f"agreement wrk round {number + 1}", seconds + 0.5, lambda number=number: wrk(number))]
    return steps
