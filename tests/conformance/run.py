#!/usr/bin/python3
"""Replays recorded requests and compares the answers, word for word.

    run.py [--endpoint http://127.0.0.1:8000] [OPERATION ...]
    UPDATE_GOLDEN=1 run.py        writes the answers into the files, for review

One file per operation, cases/PutItem.json, holds a list of cases:

    {"name": "...", "setup": [["PutItem", {...}], ...], "request": {...}, "status": 400, "response": {...}}

`setup` is carried out first and may fail; `request` is a value, or text that is sent as it is; `operation` stands for
another one than the file's. The tables of tables.json are there from the start. {"$repeat": ["x", 1025]} in a request is a long
text, a member "$repeat x 65536" a long name. {"$arn": "table"} is the ARN of that table's stream, {"$shard": "table"} the id of
its first shard, {"$iterator": "table"} an iterator at the start of the shard that has records, {"$token": {...}} the NextToken of
that ExecuteStatement. Dates, ids, tokens, ARNs and runs of ten
thousand equal characters are placeholders in answers; an empty body is an empty text. Without
--endpoint a server in memory is started."""

import argparse
import json
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

import streams  # noqa: E402
from server import Server  # noqa: E402
from waiting import poll  # noqa: E402
from wire import TARGET, Client  # noqa: E402

RUN = re.compile(r"(.)\1{9999,}")
ARN = re.compile(r"arn:aws:(\w+):[^:]*:[^:]*:(key/.*)?")
RULE = re.compile(r"(?<=^DynamoDBContributorInsights)(.+)-\d{13}$")
LABEL = re.compile(r"(?<=/stream/)[^\" ]+|^\d{4}-\d\d-\d\dT[\d:.]+$")


# Nothing listens there: destinations of cases stay ENABLING.
OPTIONS = ("--kinesis-endpoint", "http://127.0.0.1:1")


def load():
    """[(operation, case)] of all files."""
    return [(case.get("operation", path.stem), case) for path in sorted((HERE / "cases").glob("*.json"))
            for case in json.loads(path.read_text())]


STREAM_OPERATIONS = ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams")


class Words:
    """What stands in a request for a text that is long, or known only when it is sent."""

    def __init__(self, endpoint):
        self.db = Client(endpoint)
        self.streams = streams.Streams(endpoint)

    def repeat(self, given):
        return given[0] * given[1]

    def arn(self, table):
        return streams.stream_arn(self.db, table)

    def shard(self, table):
        return streams.all_shards(self.streams, self.arn(table))[0]["ShardId"]

    def iterator(self, table):
        arn = self.arn(table)
        for shard in streams.all_shards(self.streams, arn):
            found = streams.iterator(self.streams, arn, shard["ShardId"])
            if self.streams.GetRecords(ShardIterator=found)["Records"]:
                break
        return found

    def token(self, request):
        return self.db.ExecuteStatement(**self.expand(request))["NextToken"]

    @staticmethod
    def expand_name(name):
        words = name.split(" ")
        return words[1] * int(words[2]) if words[0] == "$repeat" and len(words) == 3 else name

    def expand(self, value):
        if isinstance(value, dict):
            word = next(iter(value), "")
            if len(value) == 1 and word.startswith("$") and " " not in word:
                return getattr(self, word[1:])(value[word])
            return {self.expand_name(k): self.expand(v) for k, v in value.items()}
        return [self.expand(v) for v in value] if isinstance(value, list) else value


def plain(value, member=""):
    """An answer without what differs from run to run; definitions and indexes have no order."""
    if isinstance(value, dict):
        return {k: plain(v, k) for k, v in value.items()}
    if isinstance(value, list):
        unordered = member in ("AttributeDefinitions", "GlobalSecondaryIndexes", "LocalSecondaryIndexes")
        made = [plain(v) for v in value]
        return sorted(made, key=lambda v: json.dumps(v, sort_keys=True)) if unordered else made
    if member.endswith("DateTime"):
        return "DATE"
    if member in ("TableId", "eventID", "ShardId", "LastEvaluatedShardId", "SequenceNumber"):
        return "ID"
    if member == "Address":
        return "HOST"
    if member == "NextToken":
        return "TOKEN"
    if member in ("ShardIterator", "NextShardIterator"):
        return "ITERATOR"
    if isinstance(value, str):
        value = RULE.sub(r"\1-MS", value)
        value = RUN.sub(lambda run: f"<{run[1]}: {len(run[0])} times>", value)
        return LABEL.sub("LABEL", ARN.sub(lambda arn: f"arn:aws:{arn[1]}:REGION:ACCOUNT:{'key/ID' if arn[2] else ''}", value))
    return value


class Replay:
    """Sends cases to one server."""

    def __init__(self, endpoint):
        self.client = Client(endpoint)
        self.words = Words(endpoint)
        for table in json.loads((HERE / "tables.json").read_text()):
            self.send("DeleteTable", {"TableName": table["TableName"]})
            status, answer = self.send("CreateTable", table)
            assert status == 200, answer

    def send(self, operation, request):
        body = request if isinstance(request, str) else json.dumps(self.words.expand(request), ensure_ascii=False)
        prefix = streams.PREFIX if operation in STREAM_OPERATIONS else TARGET
        answer = self.client.send(operation, body.encode("utf-8", "surrogatepass"), prefix=prefix)
        return answer.status, answer.json() if answer.body else ""

    def answer(self, operation, case):
        for step, request in case.get("setup", []):
            self.send(step, request)
            if step == "DeleteTable":
                poll(lambda name=request["TableName"]: self.send("DescribeTable", {"TableName": name})[0] == 400, 30,
                     "the table is deleted")
        status, response = self.send(operation, case["request"])
        return {"status": status, "response": plain(response)}


def expected(case):
    return {"status": case["status"], "response": case["response"]}


def update(replay, operations):
    """Writes what the server says into the files of the operations; none is named: into all."""
    for path in sorted((HERE / "cases").glob("*.json")):
        if operations and path.stem not in operations:
            continue
        cases = json.loads(path.read_text())
        for case in cases:
            case.update(replay.answer(case.get("operation", path.stem), case))
        path.write_text(format_cases(cases))


def format_cases(cases):
    """One member of a case on a line: good to read in a diff."""
    def one(case):
        return ",\n  ".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in case.items())

    return "[\n" + ",\n".join(f" {{{one(case)}}}" for case in cases) + "\n]\n"


def check(replay, operations):
    """How many cases are as they should be, and how many are not."""
    passed = failed = 0
    for operation, case in load():
        if operations and operation not in operations:
            continue
        answer = replay.answer(operation, case)
        if answer == expected(case):
            passed += 1
            continue
        failed += 1
        print(f"{operation}: {case['name']}\n  sent     {json.dumps(case['request'], ensure_ascii=False)[:1000]}\n"
              f"  expected {json.dumps(expected(case), ensure_ascii=False)[:2000]}\n  got      {json.dumps(answer, ensure_ascii=False)[:2000]}")
    print(f"{passed} passed, {failed} failed")
    return failed == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--endpoint")
    parser.add_argument("operations", nargs="*")
    options = parser.parse_args()
    server = None if options.endpoint else Server("memory:", *OPTIONS)
    try:
        replay = Replay(options.endpoint or server.endpoint)
        if os.environ.get("UPDATE_GOLDEN") == "1":
            update(replay, options.operations)
            return 0
        return 0 if check(replay, options.operations) else 1
    finally:
        if server is not None:
            server.stop()


if __name__ == "__main__":
    sys.exit(main())
