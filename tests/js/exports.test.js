// Exports by the AWS SDK: a table's items and their manifest in a folder; error types; the list in pages.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { gunzipSync } from 'node:zlib';
import {
  DescribeExportCommand, DescribeTableCommand, ExportConflictException, ExportNotFoundException,
  ExportTableToPointInTimeCommand, InvalidExportTimeException, paginateListExports,
  PointInTimeRecoveryUnavailableException, PutItemCommand, TableNotFoundException, UpdateContinuousBackupsCommand,
} from '@aws-sdk/client-dynamodb';
import { makeTable, useServer } from './support.js';

const folder = mkdtempSync(join(tmpdir(), 'gramme-exports-'));
const db = useServer('--s3-directory', folder);
after(() => rmSync(folder, { recursive: true }));

async function makeExportable(count) {
  const TableName = await makeTable(db);
  for (let i = 0; i < count; i++) {
    await db.client.send(new PutItemCommand({ TableName, Item: { pk: { S: `p${i}` }, n: { N: `${i}` } } }));
  }
  const { Table } = await db.client.send(new DescribeTableCommand({ TableName }));
  return { TableName, TableArn: Table.TableArn };
}

function enableRecovery(TableName) {
  return db.client.send(new UpdateContinuousBackupsCommand({
    TableName, PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
  }));
}

async function exportTable(parameters) {
  let { ExportDescription: found } = await db.client.send(new ExportTableToPointInTimeCommand(parameters));
  const { ExportArn } = found;
  for (let i = 0; i < 3000 && found.ExportStatus === 'IN_PROGRESS'; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    ({ ExportDescription: found } = await db.client.send(new DescribeExportCommand({ ExportArn })));
  }
  return found;
}

test('a full export', async () => {
  const { TableName, TableArn } = await makeExportable(7);
  await enableRecovery(TableName);
  const found = await exportTable({ TableArn, S3Bucket: 'bucket' });
  assert.equal(found.ExportStatus, 'COMPLETED');
  assert.equal(found.ItemCount, 7);
  assert.ok(found.EndTime >= found.StartTime);
  const read = (key) => readFileSync(join(folder, 'bucket', key));
  const summary = JSON.parse(read(found.ExportManifest));
  assert.equal(summary.exportArn, found.ExportArn);
  const files = read(summary.manifestFilesS3Key).toString().trim().split('\n').map((line) => JSON.parse(line));
  const items = files.flatMap(({ dataFileS3Key }) => gunzipSync(read(dataFileS3Key)).toString().split('\n').slice(0, -1))
    .map((line) => JSON.parse(line).Item);
  assert.deepEqual(items.map((item) => item.pk.S).sort(), ['p0', 'p1', 'p2', 'p3', 'p4', 'p5', 'p6']);
});

test('errors', async () => {
  const { TableName, TableArn } = await makeExportable(0);
  const send = (parameters) => db.client.send(new ExportTableToPointInTimeCommand({ TableArn, S3Bucket: 'bucket', ...parameters }));
  await assert.rejects(send({}), PointInTimeRecoveryUnavailableException);
  await assert.rejects(send({ TableArn: `${TableArn}-absent` }), TableNotFoundException);
  await enableRecovery(TableName);
  await assert.rejects(send({ ExportTime: new Date(1000) }), InvalidExportTimeException);
  await send({ ClientToken: 'token' });
  await assert.rejects(send({ ClientToken: 'token', S3Prefix: 'other' }), ExportConflictException);
  await assert.rejects(db.client.send(new DescribeExportCommand({
    ExportArn: `${TableArn}/export/01489602797149-73d8d5bc`,
  })), ExportNotFoundException);
});

test('pages of the list', async () => {
  const { TableName, TableArn } = await makeExportable(0);
  await enableRecovery(TableName);
  const made = [];
  for (let i = 0; i < 3; i++) {
    made.unshift((await exportTable({ TableArn, S3Bucket: 'bucket' })).ExportArn);
  }
  const listed = [];
  for await (const page of paginateListExports({ client: db.client, pageSize: 2 }, { TableArn })) {
    listed.push(...page.ExportSummaries.map((entry) => entry.ExportArn));
  }
  assert.deepEqual(listed, made);
});
