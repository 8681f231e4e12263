// Backups, point-in-time recovery and restores; bulk puts, if the SDK knows them.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as sdk from '@aws-sdk/client-dynamodb';
import { makeTable, useServer } from './support.js';

const buckets = mkdtempSync(join(tmpdir(), 'gramme-buckets-'));
const db = useServer('--s3-directory', buckets, '--recovery-lag-ms', '0');

async function fill(TableName) {
  for (const name of ['a', 'b', 'c']) {
    await db.client.send(new sdk.PutItemCommand({ TableName, Item: { pk: { S: name } } }));
  }
}

async function keys(TableName) {
  const { Items } = await db.client.send(new sdk.ScanCommand({ TableName }));
  return Items.map((item) => item.pk.S).sort();
}

async function until(what) {
  for (let i = 0; i < 600; i++) {
    const found = await what();
    if (found) return found;
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  throw new Error('waited in vain');
}

test('a backup and its restore', async () => {
  const TableName = await makeTable(db);
  await fill(TableName);
  const { BackupDetails } = await db.client.send(new sdk.CreateBackupCommand({ TableName, BackupName: 'backup' }));
  const { BackupArn } = BackupDetails;
  const describe = async () => (await db.client.send(new sdk.DescribeBackupCommand({ BackupArn }))).BackupDescription;
  await until(async () => (await describe()).BackupDetails.BackupStatus === 'AVAILABLE');
  assert.ok((await describe()).BackupDetails.BackupCreationDateTime instanceof Date);
  assert.equal((await describe()).SourceTableDetails.ItemCount, 3);
  await db.client.send(new sdk.DeleteItemCommand({ TableName, Key: { pk: { S: 'a' } } }));
  const TargetTableName = `${TableName}-restored`;
  const { TableDescription } = await db.client.send(new sdk.RestoreTableFromBackupCommand({ TargetTableName, BackupArn }));
  assert.equal(TableDescription.RestoreSummary.SourceBackupArn, BackupArn);
  await sdk.waitUntilTableExists({ client: db.client, maxWaitTime: 30, minDelay: 1 }, { TableName: TargetTableName });
  assert.deepEqual(await keys(TargetTableName), ['a', 'b', 'c']);
  await assert.rejects(db.client.send(new sdk.RestoreTableFromBackupCommand({ TargetTableName, BackupArn })), sdk.TableAlreadyExistsException);
  const { BackupSummaries } = await db.client.send(new sdk.ListBackupsCommand({ TableName }));
  assert.deepEqual(BackupSummaries.map((summary) => summary.BackupArn), [BackupArn]);
  await db.client.send(new sdk.DeleteBackupCommand({ BackupArn }));
  await assert.rejects(describe(), sdk.BackupNotFoundException);
  await assert.rejects(db.client.send(new sdk.CreateBackupCommand({ TableName: 'nowhere', BackupName: 'backup' })), sdk.TableNotFoundException);
});

test('point-in-time recovery', async () => {
  const TableName = await makeTable(db);
  await fill(TableName);
  const restore = (more) => db.client.send(new sdk.RestoreTableToPointInTimeCommand({
    SourceTableName: TableName, TargetTableName: `${TableName}-restored`, ...more,
  }));
  await assert.rejects(restore({ UseLatestRestorableTime: true }), sdk.PointInTimeRecoveryUnavailableException);
  await db.client.send(new sdk.UpdateContinuousBackupsCommand({
    TableName, PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true, RecoveryPeriodInDays: 7 },
  }));
  const { ContinuousBackupsDescription } = await db.client.send(new sdk.DescribeContinuousBackupsCommand({ TableName }));
  const window = ContinuousBackupsDescription.PointInTimeRecoveryDescription;
  assert.deepEqual([window.PointInTimeRecoveryStatus, window.RecoveryPeriodInDays], ['ENABLED', 7]);
  assert.ok(window.LatestRestorableDateTime instanceof Date);
  await assert.rejects(restore({ RestoreDateTime: new Date(0) }), sdk.InvalidRestoreTimeException);
  await restore({ UseLatestRestorableTime: true });
  await sdk.waitUntilTableExists({ client: db.client, maxWaitTime: 30, minDelay: 1 }, { TableName: `${TableName}-restored` });
  assert.deepEqual(await keys(`${TableName}-restored`), ['a', 'b', 'c']);
});

const skip = sdk.StartBulkPutItemsCommand === undefined
  && 'this SDK does not have the operations; tests/clients/sdk_data.test.js runs them with one that does';

test('a bulk put', { skip }, async () => {
  const TableName = await makeTable(db);
  mkdirSync(join(buckets, 'bucket'));
  writeFileSync(join(buckets, 'bucket', 'data'), '{"Item":{"pk":{"S":"a"}}}\n');
  const { BulkOperationDescription } = await db.client.send(new sdk.StartBulkPutItemsCommand({
    TableName,
    InputS3Configuration: { S3Bucket: 'bucket', InputFormat: 'DYNAMODB_JSON' },
    OutputS3Configuration: { S3Bucket: 'reports', OutputType: ['ERROR'] },
  }));
  const { BulkOperationArn } = BulkOperationDescription;
  await until(async () => {
    const answer = await db.client.send(new sdk.DescribeBulkOperationCommand({ BulkOperationArn }));
    return answer.BulkOperationDescription.BulkOperationStatus === 'COMPLETED';
  });
  assert.deepEqual(await keys(TableName), ['a']);
});
