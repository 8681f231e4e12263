"""A request for each operation, with the action and the resource that a policy must allow."""

import pathlib
import re

from policies import ACCOUNT, ARN, STREAMS_TARGET, T, on_table
from server import ROOT

KEY = {"UserId": {"S": "a"}, "GameTitle": {"S": "b"}}
BACKUP = ARN + "table/GameScores/backup/01489602797149-73d8d5bc"
IMPORT = ARN + "table/GameScores/import/01489602797149-73d8d5bc"
BULK = ARN + "table/GameScores/bulk-operation/01489602797149-73d8d5bc"
EXPORT = ARN + "table/GameScores/export/01489602797149-73d8d5bc"
STREAM = ARN + "table/GameScores/stream/2026-01-01T00:00:00.000"
SCHEMA = {"AttributeDefinitions": [{"AttributeName": "UserId", "AttributeType": "S"},
                                   {"AttributeName": "GameTitle", "AttributeType": "S"}],
          "KeySchema": [{"AttributeName": "UserId", "KeyType": "HASH"}, {"AttributeName": "GameTitle", "KeyType": "RANGE"}],
          "BillingMode": "PAY_PER_REQUEST"}


# Operation: request, then the action that it needs if not its own name, and the resource if it is not the table.
OPERATIONS = {
    "BatchExecuteStatement": ({"Statements": [{"Statement": "SELECT * FROM GameScores WHERE UserId='a' AND GameTitle='b'"}]},
                              "PartiQLSelect", T),
    "BatchGetItem": ({"RequestItems": {"GameScores": {"Keys": [KEY]}}}, None, T),
    "BatchWriteItem": ({"RequestItems": {"GameScores": [{"PutRequest": {"Item": KEY}}]}}, None, T),
    "CancelBulkOperation": ({"BulkOperationArn": BULK}, None, BULK),
    "CreateBackup": (on_table(BackupName="backup"), None, T),
    "CreateTable": (on_table(**SCHEMA), None, T),
    "DeleteBackup": ({"BackupArn": BACKUP}, None, BACKUP),
    "DeleteItem": (on_table(Key=KEY), None, T),
    "DeleteResourcePolicy": ({"ResourceArn": T}, None, T),
    "DeleteTable": ({"TableName": "Missing"}, None, ARN + "table/Missing"),
    "DescribeBackup": ({"BackupArn": BACKUP}, None, BACKUP),
    "DescribeBulkOperation": ({"BulkOperationArn": BULK}, None, BULK),
    "DescribeContinuousBackups": (on_table(), None, T),
    "DescribeContributorInsights": (on_table(), None, T),
    "DescribeEndpoints": ({}, "free", "*"),
    "DescribeExport": ({"ExportArn": EXPORT}, None, EXPORT),
    "DescribeImport": ({"ImportArn": IMPORT}, None, IMPORT),
    "DescribeKinesisStreamingDestination": (on_table(), None, T),
    "DescribeLimits": ({}, None, "*"),
    "DescribeTable": (on_table(), None, T),
    "DescribeTimeToLive": (on_table(), None, T),
    "DisableKinesisStreamingDestination": (on_table(StreamArn="too short"), None, T),
    "EnableKinesisStreamingDestination": (on_table(StreamArn=f"arn:aws:kinesis:us-east-1:{ACCOUNT}:stream/changes"), None, T),
    "ExecuteStatement": ({"Statement": "SELECT * FROM GameScores"}, "PartiQLSelect", T),
    "ExecuteTransaction": ({"TransactStatements": [{"Statement": "INSERT INTO GameScores VALUE {'UserId':'x','GameTitle':'y'}"}]},
                           "PartiQLInsert", T),
    "ExportTableToPointInTime": ({"TableArn": T, "S3Bucket": "bucket", "S3Prefix": "out"}, None, T),
    "GetItem": (on_table(Key=KEY), None, T),
    "GetResourcePolicy": ({"ResourceArn": T}, None, T),
    "ImportTable": ({"TableCreationParameters": on_table(**SCHEMA), "InputFormat": "ION",
                     "S3BucketSource": {"S3Bucket": "bucket", "S3KeyPrefix": "in/"}}, None, T),
    "ListBackups": ({}, None, "*"),
    "ListBulkOperations": ({}, None, "*"),
    "ListContributorInsights": ({}, None, "*"),
    "ListExports": ({}, None, "*"),
    "ListGlobalTables": ({}, None, "*"),
    "ListImports": ({}, None, "*"),
    "ListTables": ({}, None, ARN + "table/*"),
    "ListTagsOfResource": ({"ResourceArn": T}, None, T),
    "PutItem": (on_table(Item=KEY), None, T),
    "PutResourcePolicy": ({"ResourceArn": T, "Policy": "{}"}, None, T),
    "Query": (on_table(IndexName="O", KeyConditionExpression="#o = :o", ExpressionAttributeNames={"#o": "Owner"},
                       ExpressionAttributeValues={":o": {"S": "a"}}), None, T + "/index/O"),
    "RestoreTableFromBackup": ({"BackupArn": BACKUP, "TargetTableName": "Restored"}, None, BACKUP),
    "RestoreTableToPointInTime": ({"SourceTableName": "GameScores", "TargetTableName": "Restored", "UseLatestRestorableTime": True},
                                  None, T),
    "Scan": (on_table(), None, T),
    "StartBulkPutItems": (on_table(InputS3Configuration={"S3Bucket": "bucket", "S3KeyPrefix": "in/", "InputFormat": "ION"},
                                   OutputS3Configuration={"S3Bucket": "bucket", "S3KeyPrefix": "out/", "OutputType": ["ERROR"]}), None, T),
    "TagResource": ({"ResourceArn": T, "Tags": []}, None, T),
    "TransactGetItems": ({"TransactItems": [{"Get": on_table(Key=KEY)}]}, "GetItem", T),
    "TransactWriteItems": ({"TransactItems": [{"ConditionCheck": on_table(
        Key=KEY, ConditionExpression="attribute_exists(UserId)")}]}, "ConditionCheckItem", T),
    "UntagResource": ({"ResourceArn": T, "TagKeys": []}, None, T),
    "UpdateContinuousBackups": (on_table(PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False}), None, T),
    "UpdateContributorInsights": (on_table(ContributorInsightsAction="DISABLE"), None, T),
    "UpdateItem": (on_table(Key=KEY, UpdateExpression="SET Wins = :w", ExpressionAttributeValues={":w": {"N": "1"}}), None, T),
    "UpdateKinesisStreamingDestination": (on_table(StreamArn="too short"), None, T),
    "UpdateTable": (on_table(), None, T),
    "UpdateTimeToLive": (on_table(), None, T),
    "DescribeStream": ({"StreamArn": STREAM}, None, STREAM),
    "GetRecords": ({"ShardIterator": STREAM + "|1|AAAA"}, None, STREAM),
    "GetShardIterator": ({"StreamArn": STREAM, "ShardId": "shardId-" + "0" * 20 + "-00000000", "ShardIteratorType": "LATEST"},
                         None, STREAM),
    "ListStreams": ({}, None, "*"),
    "ExplainQuery": (on_table(IndexName="O", KeyConditionExpression="#o = :o", ExpressionAttributeNames={"#o": "Owner"},
                              ExpressionAttributeValues={":o": {"S": "a"}}), "Query", T + "/index/O"),
    "ExplainStatement": ({"Statement": "SELECT * FROM GameScores"}, "PartiQLSelect", T),
    "ListOperations": ({}, "free", "*"),
}


def built_operations():
    for file, target in (("ops.def", None), ("stream_ops.def", STREAMS_TARGET), ("gramme_ops.def", "Gramme_20261115.")):
        for name in re.findall(r"^OP\((\w+)", (pathlib.Path(ROOT) / "src/wire" / file).read_text(), re.MULTILINE):
            yield name, target


TARGETS = dict(built_operations())
