#!/usr/bin/python3
"""Runs clients of DynamoDB against a server of their own and tells what passed: `make clients`.

    tests/clients/run.py [CLIENT...]     all, or those named; --list names them

Each client has a file here that goes through its documented examples, or runs the test suite that its package brings, on a fresh
server in memory. A test that does not pass for a reason of the client's own, or because the service differs, is skipped with that reason; everything
else that does not pass makes the run fail. A run of all writes docs/reference/clients.json and clients.md, the table of the manual."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/clients"
sys.path.insert(0, str(ROOT / "tests/support"))
from server import Server, program  # noqa: E402

# Node.js of tools/setup, if the system has an older one.
os.environ["PATH"] = f"{ROOT}/.cache/node/bin:{os.environ['PATH']}"
REPORT = ROOT / "docs/reference/clients"
CLIENT_SECONDS = 300
NODE_MIN = 20


class Client:
    """`packages` are what is tried. `file` goes through its examples, or is its own suite for mocha: then `sources`, if given, is
    TypeScript that must be compiled first, `left_out` are files of it with the reason why they do not run, and `fails` tests that
    fail, with the reason, and `may_fail` those that fail on some stores, because the order of a Scan differs from store to store."""

    def __init__(self, name, file, packages, tried, sources=None, left_out=None, fails=None, may_fail=None):
        self.name, self.file, self.packages, self.tried, self.sources = name, file, packages, tried, sources
        self.left_out, self.fails, self.may_fail = left_out or {}, fails or {}, may_fail or {}

    def prepare(self):
        if self.sources is not None:
            subprocess.run(["node", "transpile.mjs", self.sources, self.file, *self.left_out], cwd=HERE, check=True)

    def needs_node(self):
        return not self.file.endswith(".py")

    def version(self):
        return ", ".join(f"{package} {installed_version(package)}" for package in self.packages)

    def command(self, report):
        if not self.needs_node():
            return ["/usr/bin/python3", "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", f"--junitxml={report}", "--noconftest", str(HERE / self.file)]
        if self.file.startswith("node_modules/"):
            return ["node_modules/.bin/mocha", "--timeout", "20000", "--exit", "--reporter", "xunit", "--reporter-option", f"output={report}", "--recursive", self.file]
        return ["node", "--test", "--test-reporter=junit", f"--test-reporter-destination={report}",
                "--test-reporter=spec", "--test-reporter-destination=stdout", str(HERE / self.file)]


def installed_version(package):
    if package == "boto3":
        return subprocess.run(["/usr/bin/python3", "-c", "import boto3; print(boto3.__version__)"], check=True, capture_output=True, text=True).stdout.strip()
    if package == "AWS CLI":
        return subprocess.run(["/usr/bin/aws", "--version"], check=True, capture_output=True, text=True).stdout.split()[0].split("/")[1]
    return json.loads((HERE / "node_modules" / package / "package.json").read_text())["version"]


CLIENTS = [
    Client("boto3", "test_boto3.py", ["boto3"], "client, resource, waiters, paginators, batch writer, conditions, streams"),
    Client("aws-cli", "test_aws_cli.py", ["AWS CLI"], "the developer guide's getting started, paging, waiters, streams"),
    Client("sdk", "sdk.test.js", ["@aws-sdk/client-dynamodb", "@aws-sdk/lib-dynamodb"], "clients, documents, paginators, waiters, PartiQL, streams"),
    Client("sdk-data", "sdk_data.test.js", ["@aws-sdk/client-dynamodb"],
           "backups, point-in-time recovery, exports, imports, bulk puts, policies, Contributor Insights"),
    Client("sdk-v2", "sdk_v2.test.js", ["aws-sdk", "dynamodb-lock-client"], "service object, document client, waiters; locks"),
    Client("electrodb", "electrodb.test.js", ["electrodb"], "entities, collections, filters, all updates, batches, transactions"),
    Client("toolbox", "toolbox.test.js", ["dynamodb-toolbox"], "entities, conditions, updates, batches, queries, transactions"),
    Client("onetable", "onetable.test.js", ["dynamodb-onetable"], "schema, unique attributes, indexes, filters, batches, transactions"),
    Client("dynamoose", "dynamoose.test.js", ["dynamoose"], "models that make their tables, queries, scans, conditions, transactions"),
    Client("typedorm", "typedorm.test.js", ["@typedorm/core"], "entities, unique attributes, indexes, batches, transactions, scans"),
    Client("dynamode", "dynamode.test.js", ["dynamode"], "tables, entities, updates, queries, batches, transactions"),
    Client("dyngoose", "node_modules/.dyngoose-suite", ["dyngoose"], "its own test suite", sources="node_modules/dyngoose/src",
           left_out={"utils/cdk.ts": "see its test", "utils/cdk.spec.ts": "needs aws-cdk-lib, and calls no database"},
           fails={'should throw "Cannot do operations on a non-existent table"': "expects a text of DynamoDB Local; the service says `Requested resource not found`, and so does Gramme"},
           may_fail={"Query/GlobalSecondaryIndex hash only index #query: should find items":
                     "expects an order of items with the same key of an index, which the service does not promise",
                     "honor a limited search": "depends on the order of partitions in a Scan, as Limit counts before the filter; the service promises none"}),
    Client("connect-dynamodb", "node_modules/connect-dynamodb/test/test.js", ["connect-dynamodb"], "its own test suite"),
    Client("dynamodb-admin", "admin.test.js", ["dynamodb-admin"], "its pages in Chromium: tables, items, queries, descriptions",
           fails={"makes a table": "sends ReadCapacityUnits as text, which DynamoDB Local takes; the service refuses text for a number (SerializationException), and so does Gramme"}),
    Client("keyv", "keyv.test.js", ["@keyv/dynamo"], "a store for Keyv"),
    Client("auth", "auth.test.js", ["@auth/dynamodb-adapter"], "the adapter of Auth.js"),
    Client("rate-limiter", "rate_limiter.test.js", ["rate-limiter-flexible"], "counting with conditions"),
    Client("powertools", "powertools.test.js", ["@aws-lambda-powertools/idempotency"], "idempotency"),
]


class Result:
    def __init__(self, client):
        self.client, self.passed, self.failed, self.reasons, self.seconds, self.output = client, 0, 0, [], 0.0, ""
        self.used = set()  # reasons that were needed

    def fail(self, problem):
        self.failed += 1
        self.output += f"\n{problem}"

    def read(self, report):
        """Counts the tests of a report in JUnit's format."""
        text = re.sub(r"&#x1b;|[\x00-\x08\x0b\x0c\x0e-\x1f]", "", report.read_text())  # colours, which XML does not allow
        for case in xml.etree.ElementTree.fromstring(text).iter("testcase"):
            skipped = case.find("skipped")
            if skipped is not None and skipped.get("message"):
                self.reasons.append(f"{case.get('name')}: {skipped.get('message')}")
            elif skipped is not None:
                self.fail(f"{case.get('name')} is skipped without a reason")
            elif case.find("failure") is not None and self.reason_to_fail(case) is not None:
                self.used.add(self.reason_to_fail(case))
                self.reasons.append(f"{case.get('name')}: {self.reason_to_fail(case)}")
            elif case.find("failure") is not None or case.find("error") is not None:
                problem = case.find("failure") if case.find("failure") is not None else case.find("error")
                self.fail(f"{case.get('classname')} {case.get('name')}: {problem.get('message') or ''}\n{problem.text or ''}")
            else:
                self.passed += 1

    def reason_to_fail(self, case):
        """Why a test may fail, by its name, or that of its group and its own; None: it may not."""
        reasons = {**self.client.fails, **self.client.may_fail}
        return reasons.get(case.get("name")) or reasons.get(f"{case.get('classname')}: {case.get('name')}")

    def tests(self):
        return self.passed + self.failed + len(self.reasons)

    def is_good(self):
        return self.passed > 0 and self.failed == 0


def run(client):
    result, start = Result(client), time.monotonic()
    client.prepare()
    result.reasons += [f"{name}: {reason}" for name, reason in client.left_out.items() if ".spec." in name]
    with tempfile.TemporaryDirectory() as folder, Server("memory:", "--s3-directory", folder) as server:
        report = pathlib.Path(folder) / "report.xml"
        environment = {**os.environ, "AWS_ENDPOINT_URL": server.endpoint, "AWS_ENDPOINT_URL_DYNAMODB": server.endpoint, "ENDPOINT": server.endpoint,
                       "DYNAMO_ENDPOINT": server.endpoint, "S3_DIRECTORY": folder, "AWS_ACCESS_KEY_ID": "any",
                       "AWS_SECRET_ACCESS_KEY": "any", "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
                       "AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE": "1"}
        try:
            done = subprocess.run(client.command(report), cwd=HERE, env=environment, capture_output=True, text=True, check=False, timeout=CLIENT_SECONDS)
            result.output = done.stdout + done.stderr
            result.read(report)
            for test, reason in client.fails.items():
                if reason not in result.used:
                    result.fail(f"{test} passes: it needs no reason any more")
            if done.returncode != 0 and result.failed == 0 and not result.used:
                result.fail(f"ended with status {done.returncode}")
        except (subprocess.TimeoutExpired, OSError, xml.etree.ElementTree.ParseError) as problem:
            result.fail(problem)
    result.seconds = time.monotonic() - start
    return result


def tried_gramme():
    """(version, commit) of the server."""
    built = json.loads(subprocess.run([program(), "version", "--json"], check=True, capture_output=True, text=True).stdout)
    return built["version"], built["commit"]


def write_report(results):
    version, commit = tried_gramme()
    rows = [{"client": result.client.name, "versions": {package: installed_version(package) for package in result.client.packages},
             "tried": result.client.tried, "tests": result.tests(), "passed": result.passed, "failed": result.failed, "notPassed": result.reasons} for result in results]
    REPORT.with_suffix(".json").write_text(json.dumps({"gramme": version, "commit": commit, "clients": rows}, indent=1, ensure_ascii=False) + "\n")
    lines = ["# Clients that were tried", "", f"What `make clients` found with Gramme {version} of commit {commit}: each client with the version that npm or Debian has, on a server of its own. "
             f"Tests are in `tests/clients`. The same numbers as JSON: `docs/reference/clients.json`.", "",
             "| client | what was tried | tests | passed |", "| --- | --- | --- | --- |"]
    for result in results:
        lines.append(f"| {result.client.version()} | {result.client.tried} | {result.tests()} | {result.passed} |")
    reasons = [f"- {result.client.name}: {reason}" for result in results for reason in result.reasons]
    lines += ["", "## What did not pass, and why", "", *(reasons or ["Nothing."]), ""]
    REPORT.with_suffix(".md").write_text("\n".join(lines))
    subprocess.run(["/usr/bin/python3", ROOT / "tools/wrap_markdown.py", REPORT.with_suffix(".md")], check=True)


def check_node():
    found = subprocess.run(["node", "--version"], check=False, capture_output=True, text=True).stdout.strip() if shutil.which("node") else "none"
    if found == "none" or int(found[1:].split(".")[0]) < NODE_MIN:
        sys.exit(f"tests/clients/run.py: the newest versions of these clients need Node.js {NODE_MIN}; found: {found}. tools/setup clients brings it")


def main():
    names = [client.name for client in CLIENTS]
    if sys.argv[1:] == ["--list"]:
        print(*names, sep="\n")
        return
    unknown = set(sys.argv[1:]) - set(names)
    if unknown:
        sys.exit(f"{__doc__}\n\ntests/clients/run.py: there is no client {', '.join(sorted(unknown))}")
    chosen = [client for client in CLIENTS if len(sys.argv) == 1 or client.name in sys.argv[1:]]
    if any(client.needs_node() for client in chosen):
        check_node()
    results = []
    for client in chosen:
        results.append(run(client))
        result = results[-1]
        print(f"{client.name:24}{result.seconds:6.1f} s  {result.passed} of {result.tests()} passed" + (f", {result.failed} failed" if result.failed else ""), flush=True)
        if not result.is_good():
            print(result.output, flush=True)
    if len(sys.argv) == 1:
        write_report(results)
    bad = [result.client.name for result in results if not result.is_good()]
    print(f"{sum(result.passed for result in results)} passed, {sum(result.failed for result in results)} failed" + (f": {', '.join(bad)}" if bad else ""))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
