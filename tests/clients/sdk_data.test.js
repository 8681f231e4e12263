// The newest AWS SDK for JavaScript v3, whose model has every operation: backups, point-in-time recovery, exports, imports, bulk puts, policies.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import {
  BackupNotFoundException, CancelBulkOperationCommand, CreateBackupCommand, DeleteBackupCommand, DeleteResourcePolicyCommand, DescribeBackupCommand,
  DescribeBulkOperationCommand, DescribeContinuousBackupsCommand, DescribeContributorInsightsCommand, DescribeExportCommand, DescribeImportCommand,
  ExportTableToPointInTimeCommand, GetItemCommand, GetResourcePolicyCommand, ImportTableCommand, ListBackupsCommand, ListBulkOperationsCommand, ListExportsCommand,
  ListImportsCommand, PolicyNotFoundException, PutItemCommand, PutResourcePolicyCommand, ResourceNotFoundException, RestoreTableFromBackupCommand,
  RestoreTableToPointInTimeCommand, ScanCommand, StartBulkPutItemsCommand, UpdateContinuousBackupsCommand, UpdateContributorInsightsCommand, waitUntilTableExists,
} from '@aws-sdk/client-dynamodb'
import { client, createTable } from './support.js'

const buckets = process.env.S3_DIRECTORY
const TableName = 'Data'
const TableArn = `arn:aws:dynamodb:us-east-1:000000000000:table/${TableName}`
const waiter = { client, maxWaitTime: 30, minDelay: 1 }
const send = (command) => client.send(command)

/** Asks until the answer has ended; gives it. */
async function ended(ask, status) {
  for (let i = 0; i < 600; i++) {
    const answer = await ask()
    if (!['IN_PROGRESS', 'CREATING', 'STARTED', 'CANCELLING'].includes(answer[status])) {
      return answer
    }
    await new Promise((resolve) => { setTimeout(resolve, 50) })
  }
  throw new Error('it has not ended')
}

const bulkEnded = (BulkOperationArn) => ended(
  async () => (await send(new DescribeBulkOperationCommand({ BulkOperationArn }))).BulkOperationDescription, 'BulkOperationStatus')

function bulk(more = {}) {
  return {
    TableName,
    InputS3Configuration: { S3Bucket: 'inputs', S3KeyPrefix: 'bulk/', InputFormat: 'DYNAMODB_JSON' },
    OutputS3Configuration: { S3Bucket: 'reports', S3KeyPrefix: 'out', OutputType: ['ERROR', 'CONDITION_CHECK_FAILURE'] },
    ...more,
  }
}

before(async () => {
  for (const name of ['inputs/bulk', 'inputs/import', 'exports', 'reports']) {
    mkdirSync(join(buckets, name), { recursive: true })
  }
  await createTable(TableName, 'pk')
  await send(new UpdateContinuousBackupsCommand({ TableName, PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } }))
  await send(new PutItemCommand({ TableName, Item: { pk: { S: 'first' }, n: { N: '1' } } }))
})

test('a bulk put', async () => {
  const lines = Array.from({ length: 300 }, (_, i) => JSON.stringify({ Item: { pk: { S: `bulk${i}` } } }))
  writeFileSync(join(buckets, 'inputs/bulk/data'), [...lines, 'not JSON'].join('\n'))
  const { BulkOperationDescription: begun } = await send(new StartBulkPutItemsCommand(bulk()))
  assert.equal(begun.BulkOperationStatus, 'IN_PROGRESS')
  const found = await bulkEnded(begun.BulkOperationArn)
  assert.deepEqual([found.ProcessedItemCount, found.FailedItemCount], [301, 1])
  assert.ok(found.EndTime instanceof Date)
  assert.deepEqual((await send(new GetItemCommand({ TableName, Key: { pk: { S: 'bulk299' } } }))).Item, { pk: { S: 'bulk299' } })
  const { BulkOperationsSummaryList } = await send(new ListBulkOperationsCommand({ TableArn }))
  assert.deepEqual(BulkOperationsSummaryList.map((each) => each.BulkOperationArn), [begun.BulkOperationArn])
  const parts = begun.BulkOperationArn.split('/')
  const reports = readdirSync(join(buckets, 'reports/out/AWSDynamoDB', parts[parts.length - 1]), { recursive: true })
  assert.ok(reports.some((name) => /error/i.test(name)), String(reports))
})

test('a bulk put is cancelled', async () => {
  const lines = Array.from({ length: 20000 }, (_, i) => JSON.stringify({ Item: { pk: { S: `cancel${i}` } } }))
  writeFileSync(join(buckets, 'inputs/bulk/data'), lines.join('\n'))
  const { BulkOperationDescription: begun } = await send(new StartBulkPutItemsCommand(bulk({ MaxWriteRequestUnits: 1024 })))
  await send(new CancelBulkOperationCommand({ BulkOperationArn: begun.BulkOperationArn }))
  const found = await bulkEnded(begun.BulkOperationArn)
  assert.equal(found.BulkOperationStatus, 'CANCELLED')
  assert.ok(found.ProcessedItemCount < 20000)
  await assert.rejects(send(new StartBulkPutItemsCommand(bulk({ TableName: 'Nothing' }))), ResourceNotFoundException)
})

test('a backup and its restore', async () => {
  const { BackupDetails } = await send(new CreateBackupCommand({ TableName, BackupName: 'one' }))
  const { BackupArn } = BackupDetails
  assert.equal((await send(new DescribeBackupCommand({ BackupArn }))).BackupDescription.BackupDetails.BackupStatus, 'AVAILABLE')
  assert.equal((await send(new ListBackupsCommand({ TableName }))).BackupSummaries.length, 1)
  await send(new RestoreTableFromBackupCommand({ TargetTableName: 'FromBackup', BackupArn }))
  await waitUntilTableExists(waiter, { TableName: 'FromBackup' })
  assert.deepEqual((await send(new GetItemCommand({ TableName: 'FromBackup', Key: { pk: { S: 'first' } } }))).Item, { pk: { S: 'first' }, n: { N: '1' } })
  await send(new DeleteBackupCommand({ BackupArn }))
  await assert.rejects(send(new DescribeBackupCommand({ BackupArn })), BackupNotFoundException)
})

test('point-in-time recovery', async () => {
  const { ContinuousBackupsDescription } = await send(new DescribeContinuousBackupsCommand({ TableName }))
  const { PointInTimeRecoveryStatus, LatestRestorableDateTime } = ContinuousBackupsDescription.PointInTimeRecoveryDescription
  assert.equal(PointInTimeRecoveryStatus, 'ENABLED')
  assert.ok(LatestRestorableDateTime instanceof Date)
  await send(new RestoreTableToPointInTimeCommand({ SourceTableName: TableName, TargetTableName: 'FromTime', UseLatestRestorableTime: true }))
  await waitUntilTableExists(waiter, { TableName: 'FromTime' })
  assert.ok((await send(new ScanCommand({ TableName: 'FromTime', Select: 'COUNT' }))).Count >= 0)
})

test('an export and an import of it', async () => {
  const { ExportDescription: begun } = await send(new ExportTableToPointInTimeCommand({ TableArn, S3Bucket: 'exports' }))
  const found = await ended(async () => (await send(new DescribeExportCommand({ ExportArn: begun.ExportArn }))).ExportDescription, 'ExportStatus')
  assert.equal(found.ExportStatus, 'COMPLETED')
  assert.deepEqual((await send(new ListExportsCommand({ TableArn }))).ExportSummaries.map((each) => each.ExportArn), [begun.ExportArn])
  const manifest = readFileSync(join(buckets, 'exports', found.ExportManifest), 'utf8')
  const files = readFileSync(join(buckets, 'exports', JSON.parse(manifest).manifestFilesS3Key), 'utf8').trim().split('\n').map((line) => JSON.parse(line))
  const count = files.reduce((sum, file) => sum + gunzipSync(readFileSync(join(buckets, 'exports', file.dataFileS3Key))).toString().trim().split('\n').filter(Boolean).length, 0)
  assert.equal(count, found.ItemCount)
  const { ImportTableDescription } = await send(new ImportTableCommand({
    S3BucketSource: { S3Bucket: 'exports', S3KeyPrefix: files[0].dataFileS3Key.replace(/[^/]*$/, '') }, InputFormat: 'DYNAMODB_JSON', InputCompressionType: 'GZIP',
    TableCreationParameters: { TableName: 'Imported', BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }] },
  }))
  const imported = await ended(async () => (await send(new DescribeImportCommand({ ImportArn: ImportTableDescription.ImportArn }))).ImportTableDescription, 'ImportStatus')
  assert.deepEqual([imported.ImportStatus, imported.ImportedItemCount], ['COMPLETED', count])
  assert.equal((await send(new ListImportsCommand({}))).ImportSummaryList.length, 1)
})

test('policies and Contributor Insights', async () => {
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement: [{ Effect: 'Allow', Principal: { AWS: '000000000000' }, Action: 'dynamodb:GetItem', Resource: TableArn }] })
  const { RevisionId } = await send(new PutResourcePolicyCommand({ ResourceArn: TableArn, Policy }))
  const found = await send(new GetResourcePolicyCommand({ ResourceArn: TableArn }))
  assert.deepEqual([found.RevisionId, JSON.parse(found.Policy)], [RevisionId, JSON.parse(Policy)])
  await send(new DeleteResourcePolicyCommand({ ResourceArn: TableArn }))
  await assert.rejects(send(new GetResourcePolicyCommand({ ResourceArn: TableArn })), PolicyNotFoundException)
  await send(new UpdateContributorInsightsCommand({ TableName, ContributorInsightsAction: 'ENABLE' }))
  const insights = await ended(() => send(new DescribeContributorInsightsCommand({ TableName })), 'ContributorInsightsStatus')
  assert.match(insights.ContributorInsightsStatus, /ENABL/)
})
