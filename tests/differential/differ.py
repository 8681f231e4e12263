#!/usr/bin/python3
"""Sends the same random requests to Gramme and to another implementation and compares the answers.

    differ.py --oracle dynoxide --requests 6000 --seed 1

Both sides are kept in step: where a write turns out differently, the oracle's table is brought back to ours. Differences
that known.py explains are counted; what streams record of writes that turned out alike is compared, too. Any other difference is printed with its seed and number, made as small as it gets, and fails
the run."""

import argparse
import collections
import copy
import http.client
import json
import random
import re
import sys
import time

import known_dynoxide
import known_local
from generate import Generator, Table
from normalise import order, plain_answer, plain_value
from servers import Client, Gramme, Oracle, poll
from stream_pair import StreamPairs
from table_extras import restore_tags, restore_time_to_live

ORACLES = {"dynoxide": known_dynoxide, "local": known_local}
STATEMENTS = {"ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"}
WRITES = {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"} | STATEMENTS
TABLES = {"CreateTable", "UpdateTable", "DeleteTable"}
EXTRAS = {"TagResource", "UntagResource", "UpdateTimeToLive"}
PAGES = {"Query", "Scan"}
# What is the request's own in a message.
RUNS = re.compile(r"(.)\1{60,}")
PARTS = re.compile(r"""[0-9]+|'[^']*'|"[^"]*"|\{[^}]*\}|: [^ ]+$""")


def differing(left, right):
    """The parts of two values that differ."""
    if isinstance(left, dict) and isinstance(right, dict):
        return {k: differing(left.get(k), right.get(k)) for k in {**left, **right} if left.get(k) != right.get(k)}
    return [left, right]


def paths(value, depth=3):
    """The names on the way to what differs, to some depth."""
    if depth == 0 or not isinstance(value, dict):
        return {""}
    return {f".{k}{rest}" for k, v in value.items() for rest in paths(v, depth - 1)}


def brief(value, size):
    """For people: long runs of one character are counted, the rest is cut."""
    return RUNS.sub(lambda run: f"{run[1]}<{len(run[0])} times>", str(value))[:size]


class Case:
    """One request and what both sides made of it."""

    def __init__(self, operation, body, gramme, oracle, known, tables):
        self.operation = operation
        self.body = body
        self.tables = tables  # by name, as they are now
        self.gramme = gramme
        self.oracle = oracle
        self.left = plain_answer(operation, gramme, known.IGNORED_MEMBERS, known.LEFT_OUT, known.TEXTS_COUNT)
        self.right = plain_answer(operation, oracle, known.IGNORED_MEMBERS, known.LEFT_OUT, known.TEXTS_COUNT)

    def same(self):
        return self.left == self.right

    def both_ok(self):
        return self.gramme.is_ok() and self.oracle.is_ok()

    def text(self):
        return self.body if isinstance(self.body, str) else json.dumps(self.body, ensure_ascii=False)

    def table(self):
        name = self.body.get("TableName") if isinstance(self.body, dict) else None
        return self.tables.get(name) if isinstance(name, str) else None

    def reads(self):
        """Whether it is a SELECT."""
        return self.operation == "ExecuteStatement" and isinstance(self.body, dict) and str(self.body.get("Statement")).startswith("SELECT")

    def signature(self):
        """Equal for differences that are probably one and the same."""

        def side(answer):
            return "" if answer.is_ok() else f"{answer.error()} {PARTS.sub('_', answer.message())[:160]}"

        where = sorted(paths(differing(self.left, self.right))) if self.both_ok() else ()
        return self.operation, side(self.gramme), side(self.oracle), *where

    def __str__(self):
        return f"{self.operation} {brief(self.text(), 6000)}\n  gramme: {brief(self.gramme, 3000)}\n  oracle: {brief(self.oracle, 3000)}"


class OracleIsStuck(Exception):
    """The oracle does not finish an index."""


class Differ:
    def __init__(self, gramme, oracle, known, seed):
        self.gramme = gramme
        self.oracle = oracle
        self.known = known
        self.seed = seed
        self.generator = Generator(random.Random(seed), calm=known.CALM, avoids=known.avoids)
        self.rules = known.RULES
        self.explained = collections.Counter()
        self.unexplained = {}  # by signature; the first of a kind is made small
        self.outcomes = collections.Counter()
        self.streams = StreamPairs(gramme, oracle)

    def send(self, operation, body):
        if self.known.REMOVES_UNFIT_FIRST and operation == "UpdateTable":
            self.remove_unfit(body)
        return Case(operation, body, self.gramme.call(operation, body), self.oracle.call(operation, body), self.known,
                    self.generator.tables)

    def unexplained_count(self):
        return sum(len(kind) for kind in self.unexplained.values())

    def step(self, number):
        operation, body = self.generator.request()
        case = self.send(operation, body)
        self.outcomes[operation, case.gramme.error() or "ok"] += 1
        if case.both_ok() and operation in PAGES:
            case = self.walk(case)
        if case.both_ok() and case.reads():
            self.walk_statement(case)
        elif operation in WRITES and case.gramme.is_ok() == case.oracle.is_ok():
            self.look_after(case)
        if not case.same():
            self.report(number, case)
        if isinstance(body, dict) and "ClientRequestToken" in body and case.gramme.is_ok() != case.oracle.is_ok():
            self.generator.forget_tokens()  # only one side knows this one
        if operation in TABLES:
            self.compare_tables(number, case, self.refresh(case))
            self.compare_new_indexes(number, case)
        elif operation in WRITES and not case.reads() and (not case.same() or self.may_be_half_done(case)):
            self.restore(case)
        elif operation in WRITES:
            self.compare_streams(number, case)
        elif not case.same() and isinstance(body, dict):
            self.restore_extras(operation, body)

    @staticmethod
    def may_be_half_done(case):
        """DynamoDB Local finds some mistakes of a batch of statements after it has carried out the first of them."""
        return case.operation == "BatchExecuteStatement" and not case.oracle.is_ok()

    def compare_streams(self, number, write):
        for table in self.tables_in(write):
            answers = self.streams.compare(table.name)
            if answers is not None:
                case = Case("GetRecords", {"TableName": table.name}, *answers, self.known, self.generator.tables)
                self.outcomes["streams", "records" if case.left["body"]["Items"] else "nothing"] += 1
                if not case.same():
                    self.report(number, case)

    def report(self, number, case):
        rule = self.rules.explain(case)
        if rule is not None:
            self.explained[rule.name] += 1
            return
        kind = self.unexplained.setdefault(case.signature(), [])
        kind.append((number, case if kind else self.shrink(case)))

    # --- what writes leave behind ---

    def look_after(self, case):
        """Makes what a write left behind a part of the answers."""
        for client, plain in ((self.gramme, case.left), (self.oracle, case.right)):
            if case.table() is not None:
                plain["after"] = self.item_of(client, case)
            elif case.both_ok():
                plain["after"] = {t.name: self.items(client, t) for t in self.tables_in(case)}

    @staticmethod
    def item_of(client, case):
        """The item that a request names, or the error that there is no such key."""
        table = case.table()
        held = case.body.get("Key", case.body.get("Item"))
        key = {k: held[k] for k in table.keys.all if k in held} if isinstance(held, dict) else None
        answer = client.call("GetItem", {"TableName": table.name, "Key": key})
        return plain_value(answer.body) if answer.is_ok() else None

    def tables_in(self, case):
        text = case.text().replace('\\"', '"')  # statements have names in quotes of their own
        return [t for n, t in self.generator.tables.items() if json.dumps(n) in text]

    # --- pages ---

    def pages(self, client, operation, body, first):
        """Items, counts and units of all pages together."""
        total = {"Items": [], "Count": 0, "ScannedCount": 0}
        answer = first
        body = copy.deepcopy(body)
        for _ in range(1000):
            page = answer.body
            total["Items"] += [plain_value(i) for i in page.get("Items", [])]
            total["Count"] += page["Count"]
            total["ScannedCount"] += page["ScannedCount"]
            if "LastEvaluatedKey" not in page:
                return total
            body["ExclusiveStartKey"] = page["LastEvaluatedKey"]
            answer = client.call(operation, body)
            if answer.status != 200:
                return {"page failed": str(answer)}
        return {"page failed": "no end"}

    def segments(self, client, body):
        """All segments of a scan together."""
        total = {"Items": [], "Count": 0, "ScannedCount": 0}
        for segment in range(body["TotalSegments"]):
            one = {**body, "Segment": segment}
            answer = client.call("Scan", one)
            if answer.status != 200:
                return {"segment failed": str(answer)}
            for member, value in self.pages(client, "Scan", one, answer).items():
                total[member] = total.get(member, 0) + value if member in total else value
        return total

    def walk(self, case):
        """Compares pages: exactly where the order is defined, else what all pages hold together."""
        body = case.body
        table = self.generator.tables.get(body.get("TableName"))
        ordered = case.operation == "Query" and "IndexName" not in body
        if ordered and table is not None:
            return self.walk_rest(case)
        if "TotalSegments" in body:
            both = [self.segments(c, body) for c in (self.gramme, self.oracle)]
        else:
            both = [self.pages(c, case.operation, body, a) for c, a in ((self.gramme, case.gramme), (self.oracle, case.oracle))]
        for side in both:
            if "Items" in side:
                side["Items"].sort(key=order)
        paged = "Limit" in body or "ExclusiveStartKey" in body or "TotalSegments" in body
        for side, plain in zip(both, (case.left, case.right)):
            ignored = {"LastEvaluatedKey", "Items", "Count", "ScannedCount"} | ({"ConsumedCapacity"} if paged else set())
            plain["body"] = {k: v for k, v in plain["body"].items() if k not in ignored}
            plain["pages"] = None if "ExclusiveStartKey" in body else side  # where that is in the order nobody knows
        return case

    def walk_rest(self, case):
        """The pages after the first one, which is compared as it is."""
        if "LastEvaluatedKey" in case.gramme.body and "LastEvaluatedKey" in case.oracle.body:
            for client, answer, plain in ((self.gramme, case.gramme, case.left), (self.oracle, case.oracle, case.right)):
                plain["pages"] = self.pages(client, case.operation, case.body, answer)
        return case

    def rows(self, client, body, first):
        """The rows of all pages of a SELECT together."""
        rows, answer = [], first
        for _ in range(1000):
            rows += [plain_value(i) for i in answer.body.get("Items", [])]
            if "NextToken" not in answer.body:
                return sorted(rows, key=order)
            answer = client.call("ExecuteStatement", {**body, "NextToken": answer.body["NextToken"]})
            if answer.status != 200:
                return [str(answer)]
        return ["no end"]

    def walk_statement(self, case):
        """Compares what all pages hold together, and what they cost if there is one."""
        for client, answer, plain in ((self.gramme, case.gramme, case.left), (self.oracle, case.oracle, case.right)):
            ignored = {"LastEvaluatedKey", "NextToken", "Items"} | ({"ConsumedCapacity"} if "Limit" in case.body else set())
            plain["body"] = {k: v for k, v in plain["body"].items() if k not in ignored}
            plain["rows"] = self.rows(client, case.body, answer)

    # --- keeping both sides in step ---

    def compare_tables(self, number, change, described):
        """Tables after a change. One that only one side has carried out is a difference itself."""
        carried_out = change.gramme.is_ok() == change.oracle.is_ok()
        if carried_out and described is not None and described.both_ok() and not described.same():
            self.report(number, described)

    def refresh(self, case):
        """After a change of tables: what there is now. Where both sides have different tables, neither keeps its one. Returns both
        descriptions."""
        name = case.body.get("TableName") if isinstance(case.body, dict) else None
        if not isinstance(name, str):
            return None
        self.generator.forget_tokens()
        left = self.settled(self.gramme, name)
        try:
            right = self.settled(self.oracle, name)
        except AssertionError:
            raise OracleIsStuck from None
        described = Case("DescribeTable", case.body, left, right, self.known, {})
        if described.both_ok() and (described.same() or case.same()):
            self.generator.tables[name] = Table(left.body["Table"])
            self.streams.refresh(name, [left.body["Table"], right.body["Table"]])
        else:
            self.drop(name)
        return described

    def compare_new_indexes(self, number, case):
        """Indexes that a table in use has got. Items that do not fit are not in them: the oracles do not look, so these go."""
        table = case.table()
        if case.operation != "UpdateTable" or not case.both_ok() or table is None:
            return
        for created in self.created_indexes(case.body):
            self.remove_items(table, lambda item, name=created["IndexName"]: not table.fits(name, item))
            scan = self.send("Scan", {"TableName": table.name, "IndexName": created["IndexName"]})
            scan = self.walk(scan) if scan.both_ok() else scan
            self.outcomes["new indexes", "items" if scan.left.get("pages", {}).get("Items") else "nothing"] += 1
            if not scan.same():
                self.report(number, scan)

    @staticmethod
    def created_indexes(body):
        return [u["Create"] for u in body.get("GlobalSecondaryIndexUpdates") or [] if u.get("Create")]

    def remove_items(self, table, is_unfit):
        for key, item in self.items(self.gramme, table).values():
            if is_unfit(item):
                for client in (self.gramme, self.oracle):
                    client.call("DeleteItem", {"TableName": table.name, "Key": key})

    def remove_unfit(self, body):
        """Removes the items that are not fit for an index before it is created."""
        table = self.generator.tables.get(body.get("TableName"))
        created = self.created_indexes(body) if table is not None else []
        if created:
            types = {d["AttributeName"]: d["AttributeType"] for d in body.get("AttributeDefinitions") or []}
            names = {k["AttributeName"] for index in created for k in index.get("KeySchema") or []} - set(table.keys.all)
            self.remove_items(table, lambda item: not all(
                0 < len(item[n].get(types.get(n, table.types.get(n)), "")) <= 1024 for n in names if n in item))
            self.streams.skip(table.name)

    @staticmethod
    def settled(client, name):
        """The table's description when none of its indexes comes or goes any more. Asked seldom: a DescribeTable
        at the moment when DynamoDB Local adds an index can leave that in CREATING for good ("no such column: indexKey_0")."""
        def probe():
            answer = client.call("DescribeTable", {"TableName": name})
            states = {i["IndexStatus"] for i in answer.body["Table"].get("GlobalSecondaryIndexes", [])} if answer.is_ok() else set()
            return answer if states <= {"ACTIVE", "UPDATING"} else None
        return poll(probe, 120, f"the indexes of {name} are settled", pause=0.3)

    def drop(self, name):
        self.generator.tables.pop(name, None)
        self.streams.refresh(name, None)
        for client in (self.gramme, self.oracle):
            client.call("UpdateTable", {"TableName": name, "DeletionProtectionEnabled": False})
            client.call("DeleteTable", {"TableName": name})

    def start_over(self):
        """The oracle was started again, and is empty."""
        self.explained["an index is never filled"] += 1
        for name in self.gramme.call("ListTables", {}).body["TableNames"]:
            self.gramme.call("UpdateTable", {"TableName": name, "DeletionProtectionEnabled": False})
            self.gramme.call("DeleteTable", {"TableName": name})
        self.generator.forget_tokens()
        self.generator.tables.clear()
        self.streams.pairs.clear()

    def items(self, client, table):
        found, start = {}, {}
        while True:
            page = client.call("Scan", {"TableName": table.name, "ConsistentRead": True, **start}).body
            for item in page["Items"]:
                key = {k: item[k] for k in table.keys.all}
                found[order(key)] = (key, plain_value(item))
            if "LastEvaluatedKey" not in page:
                return found
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def restore(self, case):
        """Brings the oracle's items back to ours, in all tables that the request names."""
        for table in self.tables_in(case):
            if not self.restore_table(table):
                self.drop(table.name)
            self.streams.skip(table.name)

    def restore_extras(self, operation, body):
        if operation in ("TagResource", "UntagResource"):
            restore_tags(self.gramme, self.oracle, body.get("ResourceArn"))
        elif operation == "UpdateTimeToLive":
            restore_time_to_live(self.gramme, self.oracle, body.get("TableName"))

    def restore_table(self, table):
        try:
            ours, theirs = self.items(self.gramme, table), self.items(self.oracle, table)
            for key in sorted(set(ours) | set(theirs)):
                if key not in ours:
                    self.oracle.call("DeleteItem", {"TableName": table.name, "Key": theirs[key][0]})
                elif key not in theirs or ours[key] != theirs[key]:
                    self.oracle.call("PutItem", {"TableName": table.name, "Item": ours[key][1]})
            return ours == self.items(self.oracle, table)
        except KeyError:  # an item without its key: beyond repair
            return False

    # --- making a difference small ---

    def shrink(self, case):
        """Leaves out members as long as the two answers still differ in the same way. Only for requests that change nothing."""
        errors = case.gramme.status != 200 and case.oracle.status != 200
        if not isinstance(case.body, dict) or not (errors or case.operation not in WRITES | TABLES | EXTRAS):
            return case
        smaller = True
        while smaller:
            smaller = False
            for body in self.without_one(case.body):
                if self.generator.is_left_out(case.operation, body):
                    continue
                other = self.send(case.operation, body)
                if case.operation in PAGES and other.both_ok():
                    other = self.walk(other)
                harmless = case.operation not in WRITES | TABLES | EXTRAS or other.reads() or (
                    other.gramme.status != 200 and other.oracle.status != 200)
                if not harmless and case.operation in EXTRAS:
                    self.restore_extras(case.operation, body)
                elif not harmless:
                    self.refresh(other) if case.operation in TABLES else self.restore(other)
                elif not other.same() and other.signature() == case.signature() and self.rules.explain(other) is None:
                    case, smaller = other, True
                    break
        return case

    @classmethod
    def without_one(cls, value):
        """All copies of a value with one member or element less."""
        if isinstance(value, dict):
            for k in value:
                yield {n: v for n, v in value.items() if n != k}
            for k, v in value.items():
                for smaller in cls.without_one(v):
                    yield {**value, k: smaller}
        elif isinstance(value, list):
            for i in range(min(len(value), 12)):
                yield value[:i] + value[i + 1 :]
            for i, v in enumerate(value[:12]):
                for smaller in cls.without_one(v):
                    yield value[:i] + [smaller] + value[i + 1 :]


def show(differ, limit):
    """The unexplained differences, one of each kind."""
    for found in sorted(differ.unexplained.values(), key=len, reverse=True)[:limit]:
        number, case = found[0]
        print(f"seed {differ.seed}, request {number} ({len(found)} like it): {case}")
        if case.gramme.status == case.oracle.status:
            print("  compared: " + json.dumps(differing(case.left, case.right), ensure_ascii=False)[:1500])
        print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracle", choices=ORACLES, default="dynoxide")
    parser.add_argument("--requests", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--endpoint", help="host:port of a Gramme that runs already and is empty")
    parser.add_argument("--oracle-endpoint", help="host:port of an oracle that runs already and is empty")
    parser.add_argument("--show", type=int, default=20, help="how many kinds of unexplained differences to print")
    parser.add_argument("--stop-after", type=int, default=200, help="unexplained differences")
    parser.add_argument("--outcomes", action="store_true", help="count outcomes by operation")
    options = parser.parse_args()
    servers = []
    try:
        if options.endpoint is None:
            servers.append(Gramme())
        if options.oracle_endpoint is None:
            servers.append(Oracle(options.oracle))
        endpoints = [options.endpoint, options.oracle_endpoint]
        endpoints = [e or next(s.endpoint for s in servers if isinstance(s, kind)) for e, kind in zip(endpoints, (Gramme, Oracle))]
        clients = Client(endpoints[0]), ORACLES[options.oracle].CLIENT(endpoints[1])
        return run(Differ(*clients, ORACLES[options.oracle], options.seed), options, servers)
    finally:
        for server in servers:
            server.stop()


def restart_oracle(servers):
    oracle = next((server for server in servers if isinstance(server, Oracle)), None)
    if oracle is None:
        raise SystemExit("the oracle does not finish an index; start it again")
    oracle.restart()


def run(differ, options, servers):
    started = time.monotonic()
    number = 0
    while number < options.requests and differ.unexplained_count() < options.stop_after:
        number += 1
        try:
            differ.step(number)
        except OracleIsStuck:
            restart_oracle(servers)
            differ.start_over()
        except (http.client.HTTPException, OSError) as failure:
            print(f"seed {options.seed}, request {number}: {failure}")
            for server in servers:
                if server.process.poll() is not None:
                    print(server.log())
            return 1
    show(differ, options.show)
    if options.outcomes:
        for (operation, outcome), count in sorted(differ.outcomes.items()):
            print(f"  {operation} {outcome}: {count}")
    for name, count in sorted(differ.explained.items()):
        print(f"  known: {name}: {count}")
    seconds = time.monotonic() - started
    print(f"differential against {options.oracle}: seed {options.seed}, {number} requests in {seconds:.0f} s, "
          f"{sum(differ.explained.values())} known differences, {differ.unexplained_count()} unexplained")
    print("0 passed, 1 failed" if differ.unexplained else "1 passed, 0 failed")
    return 1 if differ.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
