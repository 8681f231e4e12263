// Resource policies of tables and streams. The AWS CLI and boto3 of Debian 12 are older than these operations.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import {
  DeleteResourcePolicyCommand, DescribeTableCommand, GetResourcePolicyCommand, PolicyNotFoundException, PutResourcePolicyCommand,
  ResourceNotFoundException,
} from '@aws-sdk/client-dynamodb';
import { makeTable, useServer } from './support.js';

const db = useServer();

async function describe(TableName) {
  return (await db.client.send(new DescribeTableCommand({ TableName }))).Table;
}

function policy(Resource, Action) {
  return JSON.stringify({ Version: '2012-10-17', Statement: [{ Effect: 'Allow', Principal: { AWS: '000000000000' }, Action, Resource }] });
}

async function check(ResourceArn, action) {
  const put = (more) => db.client.send(new PutResourcePolicyCommand({ ResourceArn, ...more }));
  const get = () => db.client.send(new GetResourcePolicyCommand({ ResourceArn }));
  await assert.rejects(get(), PolicyNotFoundException);
  await assert.rejects(put({ Policy: policy(ResourceArn, action), ExpectedRevisionId: '1234567890123' }), PolicyNotFoundException);
  const first = await put({ Policy: policy(ResourceArn, action), ExpectedRevisionId: 'NO_POLICY' });
  assert.match(first.RevisionId, /^\d{13}$/);
  const found = await get();
  assert.equal(found.RevisionId, first.RevisionId);
  assert.deepEqual(JSON.parse(found.Policy).Statement, [{
    Effect: 'Allow', Principal: { AWS: 'arn:aws:iam::000000000000:root' }, Action: action, Resource: ResourceArn,
  }]);
  assert.equal((await put({ Policy: policy(ResourceArn, [action]) })).RevisionId, first.RevisionId, 'an equivalent document');
  await assert.rejects(put({ Policy: policy(ResourceArn, action), ExpectedRevisionId: 'NO_POLICY' }), PolicyNotFoundException);
  await assert.rejects(put({ Policy: '{' }), { name: 'ValidationException' });
  const removed = await db.client.send(new DeleteResourcePolicyCommand({ ResourceArn, ExpectedRevisionId: first.RevisionId }));
  assert.equal(removed.RevisionId, first.RevisionId);
  await assert.rejects(get(), PolicyNotFoundException);
  assert.equal((await db.client.send(new DeleteResourcePolicyCommand({ ResourceArn }))).RevisionId, undefined);
}

test('a policy of a table', async () => {
  await check((await describe(await makeTable(db))).TableArn, 'dynamodb:GetItem');
});

test('a policy of a stream', async () => {
  const TableName = await makeTable(db, { StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' } });
  await check((await describe(TableName)).LatestStreamArn, 'dynamodb:GetRecords');
});

test('a table with a policy from the start', async () => {
  const name = `js-${process.pid}-with-policy`;
  const ResourceArn = (await describe(await makeTable(db))).TableArn.replace(/[^/]+$/, name);
  await makeTable(db, { name, ResourcePolicy: policy(ResourceArn, 'dynamodb:GetItem') });
  const found = await db.client.send(new GetResourcePolicyCommand({ ResourceArn }));
  assert.equal(JSON.parse(found.Policy).Statement[0].Action, 'dynamodb:GetItem');
});

test('a table that is not there', async () => {
  const ResourceArn = (await describe(await makeTable(db))).TableArn.replace(/[^/]+$/, 'nowhere');
  for (const Command of [GetResourcePolicyCommand, DeleteResourcePolicyCommand]) {
    await assert.rejects(db.client.send(new Command({ ResourceArn })), ResourceNotFoundException);
  }
  await assert.rejects(db.client.send(new PutResourcePolicyCommand({ ResourceArn, Policy: policy(ResourceArn, 'dynamodb:GetItem') })),
    ResourceNotFoundException);
});
