// Contributor Insights, and Kinesis destinations on a server whose Kinesis does not answer, and on one whose Kinesis does (npm kinesalite).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import assert from 'node:assert/strict';
import {
  DescribeContributorInsightsCommand, DescribeKinesisStreamingDestinationCommand, DisableKinesisStreamingDestinationCommand,
  EnableKinesisStreamingDestinationCommand, ListContributorInsightsCommand, paginateListContributorInsights, ResourceNotFoundException,
  UpdateContributorInsightsCommand, UpdateKinesisStreamingDestinationCommand,
} from '@aws-sdk/client-dynamodb';
import { makeTable, useServer } from './support.js';

/** Starts kinesalite, which ends with the file's tests. */
async function startKinesis() {
  const directory = mkdtempSync(join(tmpdir(), 'kinesalite-'));
  const script = fileURLToPath(new URL('../support/kinesalite.cjs', import.meta.url));
  const child = spawn('node', [script, '0', directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  after(async () => {
    child.kill();
    await once(child, 'exit');
    rmSync(directory, { recursive: true });
  });
  const [line] = await once(child.stdout, 'data');
  return `http://127.0.0.1:${Number(line)}`;
}

/** Sends a request to Kinesis. Kinesalite wants the headers of a signature, but does not check it. */
async function callKinesis(endpoint, operation, request) {
  const answer = await fetch(endpoint, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': `Kinesis_20131202.${operation}`,
      'x-amz-date': '20261119T000000Z',
      authorization: 'AWS4-HMAC-SHA256 Credential=test/20261119/us-east-1/kinesis/aws4_request, SignedHeaders=host, Signature=test',
    },
    body: JSON.stringify(request),
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return text === '' ? {} : JSON.parse(text);
}

/** Makes a stream, and waits until it is ACTIVE: before that, a destination fails. */
async function makeStream(endpoint, StreamName) {
  await callKinesis(endpoint, 'CreateStream', { StreamName, ShardCount: 1 });
  for (let i = 0; (await callKinesis(endpoint, 'DescribeStream', { StreamName })).StreamDescription.StreamStatus !== 'ACTIVE'; i++) {
    assert.ok(i < 600, 'the stream is not ACTIVE');
    await sleep(50);
  }
}

const kinesis = await startKinesis();
const db = useServer('--kinesis-endpoint', 'http://127.0.0.1:1');
const connected = useServer('--kinesis-endpoint', kinesis);
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

test('a kinesis destination that answers', { skip: process.env.GRAMME_ENDPOINT && 'needs a server of its own' }, async () => {
  const { client } = connected;
  const TableName = await makeTable(connected);
  await makeStream(kinesis, 'changes');
  const described = async () => (await client.send(new DescribeKinesisStreamingDestinationCommand({ TableName }))).KinesisDataStreamDestinations[0];
  const until = async (status) => {
    for (let i = 0; (await described()).DestinationStatus !== status; i++) {
      assert.ok(i < 600, `the destination is not ${status}`);
      await sleep(50);
    }
  };
  await client.send(new EnableKinesisStreamingDestinationCommand({ TableName, StreamArn }));
  await until('ACTIVE');
  const config = { ApproximateCreationDateTimePrecision: 'MICROSECOND' };
  const update = () => client.send(new UpdateKinesisStreamingDestinationCommand({ TableName, StreamArn, UpdateKinesisStreamingConfiguration: config }));
  const updated = await update();
  assert.equal(updated.DestinationStatus, 'UPDATING');
  assert.deepEqual(updated.UpdateKinesisStreamingConfiguration, config);
  await until('ACTIVE');
  assert.deepEqual(await described(), { StreamArn, DestinationStatus: 'ACTIVE', ...config });
  await assert.rejects(update(), { name: 'ValidationException', message: /Precision is already set to the desired value of MICROSECOND/ });
  const disabled = await client.send(new DisableKinesisStreamingDestinationCommand({ TableName, StreamArn }));
  assert.equal(disabled.DestinationStatus, 'DISABLING');
  await until('DISABLED');
});
