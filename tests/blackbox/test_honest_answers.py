"""Operations on features that are not there yet: describe and list operations return empty results; changes are unknown operations; what would change something is
unknown. Words of refusals are in tests/conformance."""

import pytest

from boto_errors import fails_with
from tables import create_table
from wire import Client, refused

TABLE_OPERATIONS = ("describe_continuous_backups", "describe_contributor_insights", "describe_kinesis_streaming_destination")


def answer(response):
    return {name: value for name, value in response.items() if name != "ResponseMetadata"}


def test_infrastructure_tools_can_read_a_table(boto, db):
    table = create_table(db)
    backups = boto.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"]
    assert backups["PointInTimeRecoveryDescription"] == {"PointInTimeRecoveryStatus": "DISABLED"}
    assert answer(boto.describe_contributor_insights(TableName=table)) == {
        "TableName": table, "ContributorInsightsStatus": "DISABLED"}
    assert answer(boto.describe_kinesis_streaming_destination(TableName=table)) == {
        "TableName": table, "KinesisDataStreamDestinations": []}
    arn = boto.describe_table(TableName=table)["Table"]["TableArn"]
    with refused("PolicyNotFoundException"):
        db.GetResourcePolicy(ResourceArn=arn)


def test_lists_are_empty(boto):
    assert answer(boto.list_backups()) == {"BackupSummaries": []}
    assert answer(boto.list_exports()) == {"ExportSummaries": []}
    assert answer(boto.list_imports()) == {"ImportSummaryList": []}
    assert answer(boto.list_global_tables()) == {"GlobalTables": []}


def test_pages_end(boto):
    assert list(boto.get_paginator("list_backups").paginate().search("BackupSummaries")) == []


@pytest.mark.parametrize("operation", TABLE_OPERATIONS)
def test_a_table_that_is_not_there(boto, operation):
    error = "TableNotFoundException" if "backups" in operation else "ResourceNotFoundException"
    with fails_with(error):
        getattr(boto, operation)(TableName="nowhere")


def test_a_table_that_is_being_made(start_server):
    with Client(start_server("memory:", "--table-delay-ms", "60000").endpoint) as slow:
        slow.CreateTable(TableName="slow", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                         AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
        with refused("TableNotFoundException"):
            slow.DescribeContinuousBackups(TableName="slow")
        with refused("ResourceNotFoundException"):
            slow.DescribeContributorInsights(TableName="slow")


def test_what_would_change_something_is_unknown(db):
    table = create_table(db)
    for operation in ("CreateGlobalTable", "UpdateGlobalTable", "UpdateGlobalTableSettings", "UpdateTableReplicaAutoScaling"):
        with refused("UnknownOperationException"):
            db.call(operation, {"TableName": table})
