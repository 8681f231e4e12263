// Contributor Insights, and Kinesis destinations on a server whose Kinesis does not answer: tests/blackbox/test_kinesis.py has one that does.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import {
  DescribeContributorInsightsCommand, DescribeKinesisStreamingDestinationCommand, DisableKinesisStreamingDestinationCommand,
  EnableKinesisStreamingDestinationCommand, ListContributorInsightsCommand, paginateListContributorInsights, ResourceNotFoundException,
  UpdateContributorInsightsCommand, UpdateKinesisStreamingDestinationCommand,
} from '@aws-sdk/client-dynamodb';
import { makeTable, useServer } from './support.js';

const db = useServer('--kinesis-endpoint', 'http://127.0.0.1:1');
const StreamArn = 'arn:aws:kinesis:us-east-1:000000000000:stream/changes';

test('contributor insights', async () => {
  const TableName = await makeTable(db, { sort: 'N' });
  const update = (more) => db.client.send(new UpdateContributorInsightsCommand({ TableName, ...more }));
  const enabled = await update({ ContributorInsightsAction: 'ENABLE', ContributorInsightsMode: 'THROTTLED_KEYS' });
  assert.equal(enabled.ContributorInsightsStatus, 'ENABLING');
  assert.equal(enabled.ContributorInsightsMode, 'THROTTLED_KEYS');
  const described = await db.client.send(new DescribeContributorInsightsCommand({ TableName }));
  assert.equal(described.ContributorInsightsStatus, 'ENABLED');
  assert.deepEqual(described.ContributorInsightsRuleList.map((rule) => rule.split('-')[1]), ['PKT', 'SKT']);
  assert.ok(described.LastUpdateDateTime instanceof Date);
  const listed = [];
  for await (const page of paginateListContributorInsights({ client: db.client, pageSize: 1 }, {})) {
    listed.push(...page.ContributorInsightsSummaries.map((summary) => summary.TableName));
  }
  assert.deepEqual(listed, [TableName]);
  await update({ ContributorInsightsAction: 'DISABLE' });
  const { ContributorInsightsSummaries } = await db.client.send(new ListContributorInsightsCommand({ TableName }));
  assert.deepEqual(ContributorInsightsSummaries, []);
  await assert.rejects(update({ ContributorInsightsAction: 'ENABLE', IndexName: 'none' }), ResourceNotFoundException);
});

test('kinesis destinations', async () => {
  const TableName = await makeTable(db);
  const config = { ApproximateCreationDateTimePrecision: 'MICROSECOND' };
  const enabled = await db.client.send(new EnableKinesisStreamingDestinationCommand({
    TableName, StreamArn, EnableKinesisStreamingConfiguration: config,
  }));
  assert.equal(enabled.DestinationStatus, 'ENABLING');
  assert.deepEqual(enabled.EnableKinesisStreamingConfiguration, config);
  const { KinesisDataStreamDestinations } = await db.client.send(new DescribeKinesisStreamingDestinationCommand({ TableName }));
  assert.deepEqual(KinesisDataStreamDestinations, [{ StreamArn, DestinationStatus: 'ENABLING', ...config }]);
  for (const command of [
    new DisableKinesisStreamingDestinationCommand({ TableName, StreamArn }),
    new UpdateKinesisStreamingDestinationCommand({ TableName, StreamArn, UpdateKinesisStreamingConfiguration: config }),
    new EnableKinesisStreamingDestinationCommand({ TableName, StreamArn }),
  ]) {
    await assert.rejects(db.client.send(command), { name: 'ValidationException' });
  }
  await assert.rejects(db.client.send(new EnableKinesisStreamingDestinationCommand({ TableName: 'nowhere', StreamArn })),
    ResourceNotFoundException);
});
