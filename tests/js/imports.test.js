// Imports, from a folder of buckets.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  DescribeImportCommand, DescribeTableCommand, GetItemCommand, ImportNotFoundException, ImportTableCommand, ListImportsCommand,
  paginateListImports, ResourceInUseException,
} from '@aws-sdk/client-dynamodb';
import { useServer } from './support.js';

const buckets = mkdtempSync(join(tmpdir(), 'gramme-buckets-'));
const db = useServer('--s3-directory', buckets);

function request(TableName, more = {}) {
  return {
    S3BucketSource: { S3Bucket: 'bucket' },
    InputFormat: 'DYNAMODB_JSON',
    TableCreationParameters: {
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    },
    ...more,
  };
}

async function ended(ImportArn) {
  for (let i = 0; i < 600; i++) {
    const { ImportTableDescription } = await db.client.send(new DescribeImportCommand({ ImportArn }));
    if (ImportTableDescription.ImportStatus !== 'IN_PROGRESS') return ImportTableDescription;
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  throw new Error('the import has not ended');
}

test('an import', async () => {
  mkdirSync(join(buckets, 'bucket'));
  writeFileSync(join(buckets, 'bucket', 'data'), '{"Item":{"pk":{"S":"a"},"n":{"N":"1"}}}\n{"Item":{"pk":{"S":"b"}}}\n');
  const { ImportTableDescription } = await db.client.send(new ImportTableCommand(request('Imported')));
  assert.equal(ImportTableDescription.ImportStatus, 'IN_PROGRESS');
  const found = await ended(ImportTableDescription.ImportArn);
  assert.equal(found.ImportStatus, 'COMPLETED');
  assert.deepEqual([found.ImportedItemCount, found.ErrorCount], [2, 0]);
  assert.ok(found.EndTime instanceof Date);
  const { Table } = await db.client.send(new DescribeTableCommand({ TableName: 'Imported' }));
  assert.equal(Table.TableId, found.TableId);
  const { Item } = await db.client.send(new GetItemCommand({ TableName: 'Imported', Key: { pk: { S: 'a' } } }));
  assert.deepEqual(Item, { pk: { S: 'a' }, n: { N: '1' } });
  await assert.rejects(db.client.send(new ImportTableCommand(request('Imported'))), ResourceInUseException);
});

test('lists and errors', async () => {
  const { ImportTableDescription } = await db.client.send(new ImportTableCommand(request('Other', { S3BucketSource: { S3Bucket: 'none' } })));
  const found = await ended(ImportTableDescription.ImportArn);
  assert.deepEqual([found.ImportStatus, found.FailureCode], ['FAILED', 'S3NoSuchBucket']);
  const arns = [];
  for await (const page of paginateListImports({ client: db.client, pageSize: 1 }, {})) {
    arns.push(...page.ImportSummaryList.map((summary) => summary.ImportArn));
  }
  assert.equal(arns[0], ImportTableDescription.ImportArn);
  const { ImportSummaryList } = await db.client.send(new ListImportsCommand({}));
  assert.deepEqual(ImportSummaryList.map((summary) => summary.ImportArn), arns);
  await assert.rejects(db.client.send(new DescribeImportCommand({ ImportArn: arns[0].replace(/.{8}$/, '00000000') })), ImportNotFoundException);
});
