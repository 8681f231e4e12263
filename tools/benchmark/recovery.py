"""What point-in-time recovery costs a write, and how fast an import is.

Two servers have the same table; one keeps its history. PutItem is sent to both in turn. Then the same items are loaded
with BatchWriteItem and imported from a file in a folder, in turn, each into a new table with the same index."""

import json
import pathlib
import shutil
import subprocess
import time

from measure import Step, measure
from peers import GRAMME, Gramme, call

ROUNDS = 5
BUCKET = "bench"


class FolderServer(Gramme):
    """With a folder of buckets that the import reads."""

    def command(self):
        return [*super().command(), "--s3-directory", str(self.buckets())]

    def buckets(self):
        return self.directory.parent / "buckets"

    def discard(self):
        super().discard()
        shutil.rmtree(self.buckets(), ignore_errors=True)


def ask(peer, operation, **parameters):
    status, _, body = call(peer.port, operation, json.dumps(parameters))
    assert status == 200, body
    return json.loads(body)


def table_name(items):
    return f"bench-1024b-1gsi-{items}"


def recovery_steps(bench):
    items, rounds = bench.settings.items, range(max(ROUNDS, bench.settings.rounds))
    servers = {mode: Gramme(bench.directory / f"recovery-{mode}") for mode in ("off", "on")}

    def start():
        for mode, server in servers.items():
            server.start()
            measure(server, "load", *bench.item_set(), "--connections", 16)
            if mode == "on":
                ask(server, "UpdateContinuousBackups", TableName=table_name(items),
                    PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True})

    def stop():
        for server in servers.values():
            server.discard()
    bench.stops.append(stop)
    steps = [Step("recovery: start", 3, start)]
    for number in rounds:
        order = list(servers.items()) if number % 2 == 0 else reversed(servers.items())
        steps += [bench.step("recovery", server, "put", *bench.item_set(), "--connections", 64, number=number, mode=mode)
                  for mode, server in order]
    return [*steps, Step("recovery: stop", 1, stop), *import_steps(bench)]


def import_steps(bench):
    items, server = bench.settings.big // 4, FolderServer(bench.directory / "import")
    folder = pathlib.Path(server.buckets()) / BUCKET

    def start():
        folder.mkdir(parents=True)
        server.start()

    def stop():
        server.discard()
    bench.stops.append(stop)

    def load(number):
        row = measure(server, "load", "--items", items, "--connections", 16)
        if number == 0:  # what the imports read
            subprocess.run([str(GRAMME), "export", "--url", server.endpoint(), "--output", str(folder / "items.json"), table_name(items)],
                           check=True, capture_output=True)
        return {**row, "section": "import", "peer": "gramme", "round": number, "items_per_second": round(items / row["seconds"])}

    def run_import(number):
        described = ask(server, "DescribeTable", TableName=table_name(items))["Table"]
        arn = ask(server, "ImportTable", S3BucketSource={"S3Bucket": BUCKET}, InputFormat="DYNAMODB_JSON", TableCreationParameters={
            "TableName": f"import-{number}", "BillingMode": "PAY_PER_REQUEST", "KeySchema": described["KeySchema"],
            "AttributeDefinitions": described["AttributeDefinitions"],
            "GlobalSecondaryIndexes": [{name: index[name] for name in ("IndexName", "KeySchema", "Projection")}
                                       for index in described["GlobalSecondaryIndexes"]]})["ImportTableDescription"]["ImportArn"]
        while (found := ask(server, "DescribeImport", ImportArn=arn)["ImportTableDescription"])["ImportStatus"] == "IN_PROGRESS":
            time.sleep(0.05)
        assert (found["ImportStatus"], found["ImportedItemCount"]) == ("COMPLETED", items), found
        ask(server, "DeleteTable", TableName=f"import-{number}")
        seconds = found["EndTime"] - found["StartTime"]
        return {"section": "import", "work": "import", "peer": "gramme", "round": number, "seconds": round(seconds, 2),
                "items_per_second": round(items / seconds)}
    steps = [Step("import: start", 1, start)]
    for number in range(bench.settings.rounds):
        steps += [Step(f"import: load {items:,} items", items / 20_000, lambda number=number: load(number)),
                  Step(f"import: import {items:,} items", items / 20_000, lambda number=number: run_import(number))]
    return [*steps, Step("import: stop", 1, stop)]
