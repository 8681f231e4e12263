"""Contributor Insights and Kinesis destinations with the AWS CLI."""

import pytest

from kinesis import Kinesis
from server import Server
from waiting import poll


@pytest.fixture(scope="module")
def kinesis(tmp_path_factory):
    with Kinesis(tmp_path_factory.mktemp("kinesis")) as started:
        yield started


@pytest.fixture(scope="module")
def own(cli, kinesis, tmp_path_factory):
    with Server("memory:", "--kinesis-endpoint", kinesis.endpoint) as server:
        own_cli = type(cli)(server.endpoint, tmp_path_factory.mktemp("home"))
        own_cli.run("""aws dynamodb create-table --table-name music --billing-mode PAY_PER_REQUEST \
                     --attribute-definitions AttributeName=artist,AttributeType=S --key-schema AttributeName=artist,KeyType=HASH""")
        yield own_cli


def test_contributor_insights(own):
    command = "aws dynamodb update-contributor-insights --table-name music --contributor-insights-action"
    assert own.run(f"{command} ENABLE")["ContributorInsightsStatus"] == "ENABLING"
    described = own.run("aws dynamodb describe-contributor-insights --table-name music")
    assert described["ContributorInsightsStatus"] == "ENABLED" and len(described["ContributorInsightsRuleList"]) == 2
    assert [entry["TableName"] for entry in own.run("aws dynamodb list-contributor-insights")["ContributorInsightsSummaries"]] == ["music"]
    own.run(f"{command} DISABLE")
    own.fail(f"{command} ENABLE --index-name none", "ResourceNotFoundException")


def test_kinesis(own, kinesis):
    arn = kinesis.create_stream("cli")
    stream = f"--table-name music --stream-arn {arn}"
    assert own.run(f"aws dynamodb enable-kinesis-streaming-destination {stream}")["DestinationStatus"] == "ENABLING"
    describe = "aws dynamodb describe-kinesis-streaming-destination --table-name music"
    poll(lambda: own.run(describe)["KinesisDataStreamDestinations"][0]["DestinationStatus"] == "ACTIVE", 30, "it is active")
    own.fail(f"aws dynamodb enable-kinesis-streaming-destination {stream}", "ValidationException")
    own.run("""aws dynamodb put-item --table-name music --item '{"artist": {"S": "Nina Simone"}}'""")
    [record] = kinesis.reader("cli").wait(1)
    assert record["dynamodb"]["NewImage"] == {"artist": {"S": "Nina Simone"}}
    assert own.run(f"aws dynamodb disable-kinesis-streaming-destination {stream}")["DestinationStatus"] == "DISABLING"
    poll(lambda: own.run(describe)["KinesisDataStreamDestinations"][0]["DestinationStatus"] == "DISABLED", 30, "it is disabled")


@pytest.mark.parametrize("command, code", [
    ("update-kinesis-streaming-destination --table-name nowhere --stream-arn arn:aws:kinesis:us-east-1:000000000000:stream/changes",
     "ResourceNotFoundException"),
    ("start-bulk-put-items --table-name nowhere --input-s3-configuration S3Bucket=b-1,InputFormat=ION "
     "--output-s3-configuration S3Bucket=b-1,OutputType=ERROR", "ResourceNotFoundException"),
    ("describe-bulk-operation --bulk-operation-arn nothing", "ValidationException"),
    ("cancel-bulk-operation --bulk-operation-arn nothing", "ValidationException")], ids=lambda value: value.split()[0])
def test_operations_of_newer_models(own, command, code):
    """Debian's AWS CLI lacks them; tests/clients/sdk_data.test.js runs them."""
    if "Invalid choice" in own.shell(f"aws dynamodb {command}").stderr:
        pytest.skip("this AWS CLI does not have it")
    own.fail(f"aws dynamodb {command}", code)
