"""`gramme import`: files, standard input and buckets into tables; the AWS CLI's commands for imports."""

import gzip
import json
import os
import subprocess

import pytest

from loads import Buckets, in_order, json_lines
from server import Server, on_postgresql, program
from tables import all_items, create_table, unique_name, wait_active
from values import item
from waiting import poll
from wire import Client


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    directory = tmp_path_factory.mktemp("buckets")
    with Server("memory:", "--s3-directory", str(directory)) as server:
        yield server, Buckets(directory)


@pytest.fixture
def db(served):
    with Client(served[0].endpoint) as client:
        yield client


def run(*arguments, stdin=None, status=0):
    done = subprocess.run([program(), "import", *map(str, arguments)], input=stdin, capture_output=True, timeout=60)
    assert done.returncode == status, done
    return done.stdout.decode(), done.stderr.decode()


def scan(db, table):
    return in_order(all_items(db.Scan, TableName=table))


def test_files(db, tmp_path):
    table = create_table(db)
    wanted = [item(pk=f"p{i % 90}", n=i) for i in range(200)]  # equal keys, in one batch too
    path = tmp_path / "data.json.gz"
    path.write_bytes(gzip.compress(json_lines(wanted).encode()))
    out, err = run("--url", db.endpoint, table, path)
    assert out == f"200 items written to {table}, 0 errors\n" and err == ""
    assert scan(db, table) == in_order({one["pk"]["S"]: one for one in wanted}.values())


def test_standard_input(db):
    table = create_table(db, key="pk n:N")
    run("--url", db.endpoint, "--format", "csv", table, stdin=b'pk,n,x\na,1,"b,c"\nb,2,\n')
    run("--url", db.endpoint, "--format", "json", table, "-", stdin=b'{"pk": "c", "n": 3, "list": [1, "x", null]}\n\n{"pk":"d","n":4}')
    run("--url", db.endpoint, "--format", "ion", table, stdin=b'{Item:{pk:"e",n:5.}}')
    assert scan(db, table) == in_order([item(pk="a", n=1, x="b,c"), item(pk="b", n=2), item(pk="c", n=3, list=[1, "x", None]),
                                        item(pk="d", n=4), item(pk="e", n=5)])


def test_bad_records(db):
    table = create_table(db)
    text = json_lines([item(pk="a"), item(other="x"), item(pk="b")]) + '{"Other":1}\n'
    out, err = run("--url", db.endpoint, table, stdin=text.encode(), status=1)
    assert out == f"2 items written to {table}, 2 errors\n"
    assert "record 2: " in err and "record 4: The record has no member Item" in err
    assert scan(db, table) == [item(pk="a"), item(pk="b")]
    run("--url", db.endpoint, "nowhere", stdin=b"", status=1)
    run("--format", "xml", "t", status=2)
    run(status=2)
    run("--bucket", "b", table, status=2)


def test_store_that_nobody_has_open(tmp_path):
    store = on_postgresql(f"rocksdb:{tmp_path}/store")
    with Server(store) as server, Client(server.endpoint) as db:
        table = create_table(db)
    run("--url", store, table, stdin=json_lines([item(pk="a")]).encode())
    with Server(store) as server, Client(server.endpoint) as db:
        assert scan(db, table) == [item(pk="a")]


def test_bucket(db, served):
    served[1].put("command", "data/x.csv", "pk;sk\na;1\nb;2\n")
    table = unique_name()
    out, _ = run("--url", db.endpoint, "--bucket", "command", "--prefix", "data/", "--format", "csv", "--delimiter", ";", "--key", "pk,sk:N", table)
    assert out == "COMPLETED: 2 items written, 0 errors\n"
    assert scan(db, table) == [item(pk="a", sk=1), item(pk="b", sk=2)]
    out, _ = run("--url", db.endpoint, "--bucket", "nowhere", "--key", "pk", unique_name(), status=1)
    assert out.startswith("FAILED: ")


def test_aws_cli(db, served):
    served[1].put("aws-cli", "x", json_lines([item(pk="a")]))
    table = unique_name()

    def run_aws(*arguments):
        environment = {**os.environ, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1"}
        return subprocess.run(["aws", "dynamodb", *arguments, "--endpoint-url", db.endpoint, "--output", "json"], capture_output=True,
                              text=True, check=False, env=environment)

    def aws(*arguments):
        done = run_aws(*arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    parameters = {"TableName": table, "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                  "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}
    arn = aws("import-table", "--s3-bucket-source", "S3Bucket=aws-cli", "--input-format", "DYNAMODB_JSON",
              "--table-creation-parameters", json.dumps(parameters))["ImportTableDescription"]["ImportArn"]
    poll(lambda: aws("describe-import", "--import-arn", arn)["ImportTableDescription"]["ImportStatus"] == "COMPLETED", 60, "it is imported")
    assert wait_active(db, table) and arn in [one["ImportArn"] for one in aws("list-imports")["ImportSummaryList"]]
    failed = run_aws("import-table", "--s3-bucket-source", "S3Bucket=aws-cli", "--input-format", "DYNAMODB_JSON",
                     "--table-creation-parameters", json.dumps(parameters))
    assert failed.returncode != 0 and "(ResourceInUseException)" in failed.stderr, failed.stderr
    failed = run_aws("describe-import", "--import-arn", arn[:-8] + "00000000")
    assert failed.returncode != 0 and "(ImportNotFoundException)" in failed.stderr, failed.stderr
