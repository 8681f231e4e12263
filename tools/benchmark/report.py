"""The report: a page of Markdown with tables, plots as SVG beside it, and everything as JSON."""

import json
import os
import platform
import re
import time

import plots
from goals import MIB, all_goals
from sections import AFTER_WORKS, WORKS


def machine():
    cpu = re.search(r"model name\s*: (.*)", open("/proc/cpuinfo").read())
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE") / (1 << 30)
    system = re.search(r'PRETTY_NAME="(.*)"', open("/etc/os-release").read())
    return {"processor": cpu[1] if cpu else platform.machine(), "processors": os.cpu_count(),
            "memory_gib": round(memory, 1), "kernel": platform.release(), "system": system[1] if system else "?"}


def table(head, rows):
    """Columns of numbers are set to the right."""
    def is_number(cell):
        return re.fullmatch(r"[-+0-9.,e]*( \([0-9.,]+\))?", str(cell)) is not None
    marks = ["---:" if column > 0 and all(is_number(row[column]) for row in rows) else "---"
             for column in range(len(head))]
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join(marks) + " |"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def number(value, digits=0):
    return "" if value is None else f"{value:,.{digits}f}"


class Report:
    def __init__(self, results, peers, about):
        self.results, self.peers, self.about = results, peers, about
        self.titles = {name: peer["title"] for name, peer in peers.items()} | {"many": "Gramme on PostgreSQL"}
        self.parts = []

    def add(self, *texts):
        self.parts.extend(texts)

    def heading(self, about):
        here = about["machine"]
        self.add("# Benchmarks\n", f"Measured by `make bench{about['arguments']}` on {about['date']}: "
                 f"{here['processors']} processors ({here['processor']}), {here['memory_gib']} GiB, "
                 f"{here['system']}, Linux {here['kernel']}. The load generator (`gramme bench`) ran on the same machine. "
                 f"Load of the machine when it began: {about['load']}.\n",
                 f"Each figure is the best of {about['rounds']} round(s) of {about['seconds']} s, the rounds of all peers "
                 "interleaved: requests/s and latencies are of the round with the most requests/s, CPU per request (of the "
                 "server's process, user and system) is the least of all rounds. Latencies at one connection (5.) are those "
                 "of the middle one of nine rounds, for ours and for the limits: now and then both ends of a connection "
                 "are on one processor by chance, and a round trip takes a quarter of the usual time. Each p99 of 7. is the "
                 "least of six rounds, costs against items (8.) are of seven. The machine may be shared: compare within a run, not "
                 "between runs.\n")

    def goals(self):
        rows = [goal.row() for goal in all_goals(self.results)]
        self.add("## What it must show\n", "Numbers are ratios unless a unit is named. [Why some are missed](missed.md).\n",
                 table(["", "measured", "wanted", ""], rows))

    def servers(self):
        rows = []
        for name, peer in self.peers.items():
            start = (self.results.find(section="start", peer=name) or [{}])[0]
            memory = (self.results.find(section="memory", peer=name) or [{}])[-1]
            load = (self.results.find(section="load", peer=name) or [{}])[0]

            def mib(row, key):
                return number(row[key] / MIB, 1) if key in row else ""
            rows.append([peer["title"], peer["version"], peer["durability"], number(start.get("start_ms"), 1),
                         mib(start, "rest_bytes"), mib(memory, "loaded_bytes"), mib(load, "disk_bytes"),
                         mib(memory, "disk_bytes")])
        self.add("## Servers\n", table(
            ["", "version", "durability", "start to first answer, ms", "memory at rest, MiB", "after the work, MiB",
             "on disk when loaded, MiB", "after the work, MiB"], rows))

    def measured(self, title, labels, head="work"):
        """labels: [(text, connections, criteria of best())]"""
        rows = []
        for text, wanted in labels:
            row = self.results.best(**wanted)
            failed = [row for row in self.results.find(**wanted) if row.get("errors")]
            if row is None and not failed:
                continue
            name = self.titles.get(wanted["peer"], wanted["peer"])
            if row is None:
                rows.append([text, name, "failed: " + ", ".join(failed[0]["errors"]), "", "", "", "", "", ""])
                continue
            latency = row["latency_us"]
            rows.append([text, name, row.get("connections", ""), number(row["requests_per_second"]),
                         number(row.get("megabytes_per_second"), 1),
                         *(number(latency[q]) for q in ("p50", "p99", "p99.9")),
                         number(row.get("server_cpu_us"), 1)])
        if rows:
            self.add(f"## {title}\n", table(
                [head, "server", "connections", "requests/s", "MB/s of answers", "p50, us", "p99, us", "p99.9, us",
                 "CPU per request, us"], rows))

    def works(self):
        labels = []
        for work, _, _, kind in WORKS:
            labels += [(work, {"section": "works", "work": work, "peer": name})
                       for name in self.peers if name != "nginx"]
            if kind:
                labels.append((f"{work}, the same bytes", {"section": "works", "kind": kind, "peer": "nginx"}))
        self.measured("Work, 1 KB items, one GSI", labels)
        labels = [(work, {"section": "after", "work": work, "peer": name})
                  for work, _ in AFTER_WORKS for name in self.peers]
        self.measured("Queries after all those writes to the same items", labels)
        labels = [(f"{work}, {size} bytes", {"section": "sizes", "work": work, "size": size, "peer": name})
                  for size in sorted({row["size"] for row in self.results.find(section="sizes")})
                  for work in ("get", "put") for name in self.peers]
        self.measured("Item sizes", labels)
        labels = [(work, {"section": "latency", "work": work, "peer": name})
                  for work in ("get", "put") for name in self.peers]
        self.measured("One connection", labels)
        labels = [("load", {"section": "load", "work": "load", "peer": name}) for name in self.peers]
        labels += [("load, large table", {"section": "big", "work": "load", "peer": name}) for name in self.peers]
        labels += [(f"scan, {segments} segment(s)", {"section": "big", "segments": segments, "peer": name})
                   for segments in (1, 4) for name in self.peers]
        self.measured("Loading (25 items a request) and scanning", labels)
        labels = [(f"get, {text}", {"section": "security", "mode": mode, "peer": "gramme"}) for mode, text in (
            ("plain", "plain"), ("tls", "by TLS, kept connections"), ("unsigned", "signed, not checked"),
            ("signed", "signature and policy checked"), ("alone", "2,000/s"), ("beside handshakes", "2,000/s beside handshakes"))]
        labels += [(f"the same bytes, {text}", {"section": "security", "mode": mode, "peer": "nginx"})
                   for mode, text in (("plain", "plain"), ("tls", "by TLS, kept connections"), ("alone", "2,000/s"),
                                      ("beside handshakes", "2,000/s beside handshakes"))]
        self.measured("Security", labels)
        labels = [(f"put, recovery {mode}", {"section": "recovery", "mode": mode, "peer": "gramme"}) for mode in ("off", "on")]
        self.measured("Point-in-time recovery", labels)
        self.imports()
        labels = [(text, {"section": "many", "work": work, "peer": name}) for work, text in (
            ("get", "get"), ("put", "put"), ("query10", "query10"), ("transact4", "transact4"), ("update", "update of one item by all")) for name in ("many", "gramme", "dynoxide")]
        self.measured("On PostgreSQL", labels)
        self.costs_on_postgresql()

    def imports(self):
        rows = []
        for work, text in (("load", "load with BatchWriteItem"), ("import", "ImportTable from a folder")):
            found = [row["items_per_second"] for row in self.results.find(section="import", work=work) if not row.get("errors")]
            if found:
                rows.append([text, number(max(found))])
        if rows:
            self.add("### Imports\n", "The same items, 1 KB with one GSI, into a new table.\n", table(["", "items/s"], rows))

    def costs_on_postgresql(self):
        """A bare loop needs no client and no HTTP: this says how much of the difference that is, and what the cores allow."""
        rows = []
        served = self.results.find(section="many", cost="get")
        bare = [row for row in self.results.find(section="many", limit="libpq get") if row.get("database_cpu_us")]
        for title, found, own in (("Gramme on PostgreSQL", served, "server_cpu_us"), ("a bare libpq loop", bare, "cpu_us")):
            costs = [(row["database_cpu_us"], row[own], row.get("client_cpu_us", 0)) for row in found if not row.get("errors")]
            if costs:
                cost = min(costs, key=sum)
                rows.append([title, *(number(part, 1) for part in (*cost, sum(cost))), number(1e6 * os.cpu_count() / sum(cost))])
        if rows:
            self.add("### Where the CPU time of a GetItem on PostgreSQL goes\n",
                     "Microseconds for each, the round with the least sum. All run on the same cores; the last column is what these "
                     "would allow if nobody waited.\n",
                     table(["", "PostgreSQL", "server or loop", "load generator", "sum", "most requests/s"], rows))

    def mixed(self):
        rows = []
        for name, text in (("gramme", "GetItem"), ("nginx", "the same bytes")):
            p99 = [self.results.lowest("p99", section="mixed", peer=name, writers=writers) for writers in (0, 32)]
            p50 = [self.results.lowest("p50", section="mixed", peer=name, writers=writers) for writers in (0, 32)]
            if None not in p99:
                rows.append([text, self.titles[name], *map(number, [*p50, *p99]), number(p99[1] / p99[0], 2)])
        if rows:
            self.add("## Readers while others write\n",
                     "2,000 requests a second; the writers are 32 connections that write to Gramme at full speed, also when "
                     "nginx is asked: so much the machine makes readers wait. Each the least of all rounds.\n",
                     table(["", "server", "p50, us", "p50 with writers, us", "p99, us", "p99 with writers, us",
                            "p99, ratio"], rows))

    def limits(self):
        rows = []
        for name, text in (("fsync", "append 4 KB and fdatasync"),
                           ("overwrite", "write 4 KB over what is there and fdatasync"), ("rocksdb", "RocksDB alone"),
                           ("roundtrip", "a bare round trip over loopback"),
                           ("durable", "a bare round trip with append and fdatasync in it"),
                           ("memory", "1,000 reads from random places in 512 MiB, one after the other"),
                           ("libpq get", "a bare libpq loop: gets, 8 connections, 8 in flight on each"),
                           ("libpq put", "the same: puts with an index entry, transactions of 8 on 8 connections"),
                           ("libpq hot", "the same: updates of one row, one connection, one at a time")):
            row = self.results.limit(name)
            if row:
                batch = f", {row['batch']} PutItem in a commit" if "batch" in row else ""
                rows.append([text + batch, number(row["per_second"]), number(row["latency_us"].get("p50"), 1),
                             number(row["latency_us"].get("p99"), 1), number(row["cpu_us"], 1)])
        if rows:
            self.add("## Limits of the machine\n", table(["", "per second", "p50, us", "p99, us", "CPU, us"], rows))

    def growth(self):
        for axis, title in (("items", "items"), ("connections", "connections"), ("gsi", "GSIs")):
            rows = self.results.find(section="growth", axis=axis)
            works = list(dict.fromkeys(row["work"] for row in rows))
            values = sorted({row["value"] for row in rows})
            if not rows:
                continue
            best = {(work, value): self.results.best(section="growth", axis=axis, work=work, value=value)
                    for work in works for value in values}
            self.add(f"## Cost against {title}\n",
                     f"CPU of the server per request in us (requests/s), items of 100 bytes. ![](growth-{axis}.svg)\n",
                     table([title, *works], [
                         [f"{value:,}", *(f"{row['server_cpu_us']:.1f} ({row['requests_per_second']:,.0f})" if row else ""
                                          for row in (best[work, value] for work in works))] for value in values]))

    def plots(self, folder):
        works = [work for work, *_ in WORKS if self.results.find(section="works", work=work)]
        for name, unit, file in (("requests_per_second", "requests/s", "requests"),
                                 ("server_cpu_us", "CPU per request, us", "cpu")):
            series = {}
            for peer in (name for name in self.peers if name != "nginx"):
                best = {work: self.results.best(section="works", work=work, peer=peer) for work in works}
                series[self.titles[peer]] = {work: row[name] for work, row in best.items() if row}
            plots.bars(folder / f"{file}.svg", "Work on 1 KB items, one GSI", unit, works, series)
        for axis in ("items", "connections", "gsi"):
            series = {}
            for row in self.results.find(section="growth", axis=axis):
                best = self.results.best(section="growth", axis=axis, work=row["work"], value=row["value"])
                if best:
                    series.setdefault(row["work"], {})[row["value"]] = best["server_cpu_us"]
            plots.lines(folder / f"growth-{axis}.svg", f"Gramme's cost against {axis}", "CPU per request, us", axis,
                        {work: list(points.items()) for work, points in series.items()})

    def save(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.plots(folder)
        self.heading(self.about)
        self.goals()
        self.servers()
        if (folder / "requests.svg").exists():
            self.add("![](requests.svg) ![](cpu.svg)\n")
        self.works()
        self.mixed()
        self.limits()
        self.growth()
        (folder / "README.md").write_text("\n".join(self.parts))
        (folder / "results.json").write_text(json.dumps(
            {"about": self.about, "peers": self.peers, "results": self.results.rows}, indent=1) + "\n")


def describe_run(settings, arguments):
    return {"date": time.strftime("%Y-%m-%d"), "machine": machine(), "rounds": settings.rounds,
            "seconds": settings.seconds, "load": "%.1f" % os.getloadavg()[0],
            "arguments": f' ARGS="{" ".join(arguments)}"' if arguments else ""}
