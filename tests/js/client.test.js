// The low-level client: attribute values as they are on the wire.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import {
  BatchGetItemCommand, BatchWriteItemCommand, DeleteItemCommand, DescribeTableCommand,
  GetItemCommand, ListTablesCommand, PutItemCommand, QueryCommand, ScanCommand, UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { makeTable, useServer } from './support.js';

const db = useServer();
const send = (command) => db.client.send(command);

test('an item of every type comes back as it was put', async () => {
  const TableName = await makeTable(db);
  const Item = {
    pk: { S: 'k' },
    text: { S: 'naïve 🜲' },
    number: { N: '12345678901234567890123456789012345678' },
    binary: { B: new Uint8Array([0, 255, 16]) },
    yes: { BOOL: true },
    nothing: { NULL: true },
    list: { L: [{ N: '1' }, { S: 'two' }] },
    map: { M: { inner: { L: [] } } },
    strings: { SS: ['a', 'b'] },
    numbers: { NS: ['1', '2.5'] },
    binaries: { BS: [new Uint8Array([1]), new Uint8Array([2])] },
  };
  await send(new PutItemCommand({ TableName, Item }));
  const found = await send(new GetItemCommand({ TableName, Key: { pk: { S: 'k' } }, ConsistentRead: true }));
  found.Item.binaries.BS.sort((one, two) => one[0] - two[0]);
  found.Item.strings.SS.sort();
  found.Item.numbers.NS.sort();
  assert.deepEqual(found.Item, Item);
});

test('update and delete return what was asked for', async () => {
  const TableName = await makeTable(db);
  const Key = { pk: { S: 'k' } };
  const updated = await send(new UpdateItemCommand({
    TableName, Key, UpdateExpression: 'SET #n = if_not_exists(#n, :zero) + :one',
    ExpressionAttributeNames: { '#n': 'count' },
    ExpressionAttributeValues: { ':zero': { N: '0' }, ':one': { N: '1' } }, ReturnValues: 'ALL_NEW',
  }));
  assert.deepEqual(updated.Attributes, { pk: { S: 'k' }, count: { N: '1' } });
  const gone = await send(new DeleteItemCommand({ TableName, Key, ReturnValues: 'ALL_OLD' }));
  assert.deepEqual(gone.Attributes, updated.Attributes);
  assert.equal((await send(new GetItemCommand({ TableName, Key }))).Item, undefined);
});

test('query and scan', async () => {
  const TableName = await makeTable(db, { sort: 'N' });
  await send(new BatchWriteItemCommand({
    RequestItems: {
      [TableName]: Array.from({ length: 20 }, (_, number) => ({
        PutRequest: { Item: { pk: { S: 'k' }, sk: { N: String(number) } } },
      })),
    },
  }));
  const page = await send(new QueryCommand({
    TableName, KeyConditionExpression: 'pk = :k AND sk BETWEEN :lo AND :hi', ScanIndexForward: false,
    ExpressionAttributeValues: { ':k': { S: 'k' }, ':lo': { N: '5' }, ':hi': { N: '8' } },
  }));
  assert.deepEqual(page.Items.map((item) => item.sk.N), ['8', '7', '6', '5']);
  const counted = await send(new ScanCommand({
    TableName, Select: 'COUNT', FilterExpression: 'sk < :v', ExpressionAttributeValues: { ':v': { N: '3' } },
  }));
  assert.equal(counted.Count, 3);
  assert.equal(counted.ScannedCount, 20);
});

test('batch get finds what there is', async () => {
  const TableName = await makeTable(db);
  await send(new PutItemCommand({ TableName, Item: { pk: { S: 'a' } } }));
  const answer = await send(new BatchGetItemCommand({
    RequestItems: { [TableName]: { Keys: [{ pk: { S: 'a' } }, { pk: { S: 'b' } }] } },
  }));
  assert.deepEqual(answer.Responses, { [TableName]: [{ pk: { S: 'a' } }] });
  assert.deepEqual(answer.UnprocessedKeys, {});
});

test('tables are described and listed', async () => {
  const TableName = await makeTable(db);
  const { Table } = await send(new DescribeTableCommand({ TableName }));
  assert.equal(Table.TableStatus, 'ACTIVE');
  assert.ok(Table.CreationDateTime instanceof Date);
  assert.ok(Math.abs(Table.CreationDateTime - Date.now()) < 60_000);
  assert.ok((await send(new ListTablesCommand({}))).TableNames.includes(TableName));
});

test('the request id is in the metadata', async () => {
  const answer = await send(new ListTablesCommand({}));
  assert.equal(answer.$metadata.httpStatusCode, 200);
  assert.match(answer.$metadata.requestId, /^[A-Z0-9]{52}$/);
});
