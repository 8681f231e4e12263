// The document client: plain JavaScript values.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import {
  BatchGetCommand, BatchWriteCommand, DeleteCommand, DynamoDBDocumentClient, GetCommand, NumberValue,
  PutCommand, QueryCommand, ScanCommand, UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { makeTable, useServer } from './support.js';

const db = useServer();
const send = (command) => db.documents.send(command);

test('create, read, update, delete', async () => {
  const TableName = await makeTable(db);
  const Item = {
    pk: 'k', text: '', number: -1.5, yes: false, nothing: null, list: [1, ['two'], {}],
    map: { deep: { deeper: [null] } }, set: new Set(['a', 'b']), numbers: new Set([1, 2]),
    binary: new Uint8Array([1, 2, 3]),
  };
  await send(new PutCommand({ TableName, Item }));
  const found = await send(new GetCommand({ TableName, Key: { pk: 'k' } }));
  assert.deepEqual({ ...found.Item, binary: [...found.Item.binary] }, { ...Item, binary: [1, 2, 3] });
  const updated = await send(new UpdateCommand({
    TableName, Key: { pk: 'k' }, ReturnValues: 'UPDATED_NEW',
    UpdateExpression: 'SET #l = list_append(#l, :more), #m.deep.fresh = :v REMOVE #t DELETE #s :out',
    ExpressionAttributeNames: { '#l': 'list', '#m': 'map', '#t': 'text', '#s': 'set' },
    ExpressionAttributeValues: { ':more': ['end'], ':v': 1, ':out': new Set(['b']) },
  }));
  assert.deepEqual(updated.Attributes, {
    list: [1, ['two'], {}, 'end'], map: { deep: { fresh: 1 } }, set: new Set(['a']),
  });
  await send(new DeleteCommand({ TableName, Key: { pk: 'k' } }));
  assert.equal((await send(new GetCommand({ TableName, Key: { pk: 'k' } }))).Item, undefined);
});

test('numbers beyond 2^53 keep all their digits', async () => {
  const TableName = await makeTable(db);
  const exact = DynamoDBDocumentClient.from(db.client, { unmarshallOptions: { wrapNumbers: true } });
  const digits = '12345678901234567890.123456789012345678';
  await exact.send(new PutCommand({
    TableName, Item: { pk: 'k', big: 2n ** 100n, exact: NumberValue.from(digits) },
  }));
  const { Item } = await exact.send(new GetCommand({ TableName, Key: { pk: 'k' } }));
  assert.equal(Item.big.toString(), (2n ** 100n).toString());
  assert.equal(Item.exact.toString(), digits);
});

test('batches', async () => {
  const TableName = await makeTable(db);
  const keys = Array.from({ length: 25 }, (_, number) => ({ pk: `p${number}` }));
  const written = await send(new BatchWriteCommand({
    RequestItems: { [TableName]: keys.map((key) => ({ PutRequest: { Item: { ...key, v: 1 } } })) },
  }));
  assert.deepEqual(written.UnprocessedItems, {});
  await send(new BatchWriteCommand({
    RequestItems: { [TableName]: [{ DeleteRequest: { Key: { pk: 'p3' } } }] },
  }));
  const found = await send(new BatchGetCommand({ RequestItems: { [TableName]: { Keys: keys } } }));
  assert.equal(found.Responses[TableName].length, 24);
});

test('query an index', async () => {
  const TableName = await makeTable(db, {
    AttributeDefinitions: [{ AttributeName: 'owner', AttributeType: 'S' }],
    GlobalSecondaryIndexes: [{
      IndexName: 'byOwner', KeySchema: [{ AttributeName: 'owner', KeyType: 'HASH' }],
      Projection: { ProjectionType: 'ALL' },
    }],
  });
  for (const [pk, owner] of [['a', 'ann'], ['b', 'bob'], ['c', 'ann'], ['d', undefined]]) {
    await send(new PutCommand({ TableName, Item: { pk, owner } }));
  }
  const found = await send(new QueryCommand({
    TableName, IndexName: 'byOwner', KeyConditionExpression: '#o = :o',
    ExpressionAttributeNames: { '#o': 'owner' }, ExpressionAttributeValues: { ':o': 'ann' },
  }));
  assert.deepEqual(found.Items.map((item) => item.pk).sort(), ['a', 'c']);
  assert.equal((await send(new ScanCommand({ TableName, IndexName: 'byOwner' }))).Count, 3);
});
