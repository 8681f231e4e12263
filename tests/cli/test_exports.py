"""Exports by the AWS CLI, and `gramme export`."""

import csv
import io
import json
import subprocess

import pytest

from exports import Folder, read_items
from server import Server, program
from tables import put_all
from values import item
from waiting import poll
from wire import Client

TABLE = "cli-export"
ITEMS = [item(pk=f"p{i}", sk=i, text='a "quoted", text', list=[1, None, True]) for i in range(5)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return tmp_path_factory.mktemp("s3")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return f"rocksdb:{tmp_path_factory.mktemp('store')}/data"


@pytest.fixture(scope="module")
def server(folders, store):
    with Server(store, "--s3-directory", str(folders)) as started, Client(started.endpoint) as db:
        db.CreateTable(TableName=TABLE, BillingMode="PAY_PER_REQUEST",
                       AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"},
                                             {"AttributeName": "sk", "AttributeType": "N"}],
                       KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}])
        put_all(db, TABLE, ITEMS)
        yield started


@pytest.fixture(scope="module")
def export_cli(server, make_cli):
    return make_cli(server.endpoint)


def gramme_export(server, *arguments):
    return subprocess.run([program(), "export", "--url", server.endpoint, *arguments], capture_output=True, text=True, timeout=60)


def test_aws_cli(export_cli, folders):
    cli = export_cli
    arn = cli.run(f"aws dynamodb describe-table --table-name {TABLE}")["Table"]["TableArn"]
    cli.fail(f"aws dynamodb export-table-to-point-in-time --table-arn {arn} --s3-bucket exports",
             "PointInTimeRecoveryUnavailableException")
    cli.run(f"aws dynamodb update-continuous-backups --table-name {TABLE} "
            "--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true")
    started = cli.run(f"aws dynamodb export-table-to-point-in-time --table-arn {arn} --s3-bucket exports --s3-prefix cli "
                      "--export-format ION --client-token once")["ExportDescription"]
    again = cli.run(f"aws dynamodb export-table-to-point-in-time --table-arn {arn} --s3-bucket exports --s3-prefix cli "
                    "--export-format ION --client-token once")["ExportDescription"]
    assert again["ExportArn"] == started["ExportArn"]
    cli.fail(f"aws dynamodb export-table-to-point-in-time --table-arn {arn} --s3-bucket other --client-token once",
             "ExportConflictException")

    def ended():
        found = cli.run(f"aws dynamodb describe-export --export-arn {started['ExportArn']}")["ExportDescription"]
        return found["ExportStatus"] != "IN_PROGRESS" and found

    description = poll(ended, 60, "the export has ended")
    assert description["ExportStatus"] == "COMPLETED" and description["ItemCount"] == len(ITEMS)
    listed = cli.run(f"aws dynamodb list-exports --table-arn {arn} --max-results 25")["ExportSummaries"]
    assert [entry["ExportArn"] for entry in listed] == [started["ExportArn"]]
    assert read_items(Folder(folders, "exports"), description) == sorted(ITEMS, key=str)
    cli.fail(f"aws dynamodb describe-export --export-arn {arn}/export/01489602797149-73d8d5bc", "ExportNotFoundException")


def test_gramme_export_lines(server, tmp_path):
    done = gramme_export(server, TABLE)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted((json.loads(line)["Item"] for line in done.stdout.splitlines()), key=str) == sorted(ITEMS, key=str)
    done = gramme_export(server, "--format", "json", "--output", str(tmp_path / "plain.jsonl"), TABLE)
    assert (done.returncode, done.stdout) == (0, "")
    found = [json.loads(line) for line in (tmp_path / "plain.jsonl").read_text().splitlines()]
    assert sorted(row["sk"] for row in found) == list(range(5)) and found[0]["list"] == [1, None, True]
    done = gramme_export(server, "-f", "csv", TABLE)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(rows[0])[:2] == ["pk", "sk"] and {row["text"] for row in rows} == {'a "quoted", text'} and len(rows) == 5
    done = gramme_export(server, "--output", str(tmp_path / "plain.jsonl"), TABLE)
    assert done.returncode == 1 and "File exists" in done.stderr  # it is not overwritten


def test_gramme_export_to_a_bucket(server, folders):
    with Client(server.endpoint) as db:
        db.UpdateContinuousBackups(TableName=TABLE, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True})
    done = gramme_export(server, "--to-bucket", "commands", "--prefix", "p", TABLE)
    assert done.returncode == 0 and done.stdout.startswith("5 items exported to commands, p/AWSDynamoDB/"), done
    done = gramme_export(server, "--to-bucket", "NOT_VALID", TABLE)
    assert done.returncode == 1 and done.stderr.startswith("gramme export: S3InvalidBucketName: The specified bucket"), done


@pytest.mark.parametrize("arguments", [
    [], ["a", "b"], ["--format", "xml", "t"], ["--nonsense", "1", "t"], ["t", "--output"], ["--prefix", "p", "t"],
    ["--to-bucket", "b", "--format", "csv", "t"], ["--to-bucket", "b", "--output", "f", "t"]], ids=str)
def test_gramme_export_arguments(server, arguments):
    done = gramme_export(server, *arguments)
    assert done.returncode == 2 and done.stderr.startswith("gramme export: ") and done.stdout == ""


def test_gramme_export_errors(server):
    done = gramme_export(server, "absent")
    assert done.returncode == 1 and "not found" in done.stderr and done.stdout == ""
    done = subprocess.run([program(), "export", "--url", "http://127.0.0.1:1", "t"], capture_output=True, text=True, timeout=60,
                          env={"AWS_MAX_ATTEMPTS": "1", "HOME": "/nonexistent"})
    assert done.returncode == 1 and "127.0.0.1" in done.stderr


def test_gramme_export_of_a_store_nobody_has_open(tmp_path):
    store = f"rocksdb:{tmp_path}/data"
    with Server(store) as server, Client(server.endpoint) as db:
        db.CreateTable(TableName="t-1", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                       AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
        put_all(db, "t-1", [item(pk="a")])
        done = subprocess.run([program(), "export", "--url", store, "t-1"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "in use" in done.stderr
    done = subprocess.run([program(), "export", "--url", store, "t-1"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, '{"Item":{"pk":{"S":"a"}}}\n')
    done = subprocess.run([program(), "export", "--url", store, "--to-bucket", "b-1", "t-1"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "only a server exports" in done.stderr, done
