// The walk-through of the developer guide's low-level streams example: a table with a stream, three
// changes of an item, and all shards read from TRIM_HORIZON on; then a stream that has ended.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import {
  DeleteItemCommand, DescribeTableCommand, PutItemCommand, UpdateItemCommand, UpdateTableCommand,
} from '@aws-sdk/client-dynamodb';
import {
  DescribeStreamCommand, GetRecordsCommand, GetShardIteratorCommand, ListStreamsCommand,
  ResourceNotFoundException,
} from '@aws-sdk/client-dynamodb-streams';
import { makeTable, useServer } from './support.js';

const db = useServer();

async function makeStreamedTable() {
  const TableName = await makeTable(db, {
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
  });
  const { Table } = await db.client.send(new DescribeTableCommand({ TableName }));
  return { TableName, StreamArn: Table.LatestStreamArn };
}

async function change(TableName) {
  const Key = { pk: { S: '101' } };
  await db.client.send(new PutItemCommand({ TableName, Item: { ...Key, Message: { S: 'New item!' } } }));
  await db.client.send(new UpdateItemCommand({
    TableName, Key, UpdateExpression: 'SET Message = :m',
    ExpressionAttributeValues: { ':m': { S: 'This item has changed' } },
  }));
  await db.client.send(new DeleteItemCommand({ TableName, Key }));
}

async function* shards(StreamArn) {
  let ExclusiveStartShardId;
  do {
    const { StreamDescription } = await db.streams.send(
      new DescribeStreamCommand({ StreamArn, ExclusiveStartShardId, Limit: 3 }),
    );
    yield* StreamDescription.Shards;
    ExclusiveStartShardId = StreamDescription.LastEvaluatedShardId;
  } while (ExclusiveStartShardId);
}

/** All records, and of how many shards the end was reached. */
async function readAll(StreamArn) {
  const records = [];
  let ended = 0;
  for await (const { ShardId } of shards(StreamArn)) {
    let { ShardIterator } = await db.streams.send(
      new GetShardIteratorCommand({ StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' }),
    );
    while (ShardIterator) {
      const page = await db.streams.send(new GetRecordsCommand({ ShardIterator }));
      records.push(...page.Records);
      ShardIterator = page.NextShardIterator;
      if (page.Records.length === 0) break;
    }
    ended += ShardIterator === undefined ? 1 : 0;
  }
  return { records, ended };
}

test('the walk-through of the developer guide', async () => {
  const { TableName, StreamArn } = await makeStreamedTable();
  await change(TableName);
  const { records, ended } = await readAll(StreamArn);
  assert.equal(ended, 0);
  assert.deepEqual(records.map((record) => record.eventName), ['INSERT', 'MODIFY', 'REMOVE']);
  assert.equal(records[1].dynamodb.OldImage.Message.S, 'New item!');
  assert.equal(records[1].dynamodb.NewImage.Message.S, 'This item has changed');
  assert.ok(records[0].dynamodb.ApproximateCreationDateTime instanceof Date);
  assert.ok(records.every((record) => record.userIdentity === undefined));
});

test('a stream that was disabled is read to its end', async () => {
  const { TableName, StreamArn } = await makeStreamedTable();
  await change(TableName);
  await db.client.send(new UpdateTableCommand({ TableName, StreamSpecification: { StreamEnabled: false } }));
  const { records, ended } = await readAll(StreamArn);
  assert.equal(records.length, 3);
  assert.equal(ended, 4);
  const { StreamDescription } = await db.streams.send(new DescribeStreamCommand({ StreamArn }));
  assert.equal(StreamDescription.StreamStatus, 'DISABLED');
});

test('list, and an unknown stream', async () => {
  const { TableName, StreamArn } = await makeStreamedTable();
  const { Streams } = await db.streams.send(new ListStreamsCommand({ TableName }));
  assert.deepEqual(Streams.map((stream) => stream.StreamArn), [StreamArn]);
  await assert.rejects(db.streams.send(new DescribeStreamCommand({ StreamArn: `${StreamArn}0` })), ResourceNotFoundException);
});
