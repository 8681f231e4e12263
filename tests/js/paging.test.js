// Paginators and waiters of both clients.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import {
  CreateTableCommand, DeleteTableCommand, paginateListTables, paginateQuery as paginateWireQuery,
  waitUntilTableExists, waitUntilTableNotExists,
} from '@aws-sdk/client-dynamodb';
import { BatchWriteCommand, paginateQuery, paginateScan } from '@aws-sdk/lib-dynamodb';
import { makeTable, useServer } from './support.js';

const db = useServer();
const COUNT = 60;

async function filledTable() {
  const TableName = await makeTable(db, { sort: 'N' });
  for (let start = 0; start < COUNT; start += 20) {
    await db.documents.send(new BatchWriteCommand({
      RequestItems: {
        [TableName]: Array.from({ length: 20 }, (_, number) => ({
          PutRequest: { Item: { pk: 'k', sk: start + number } },
        })),
      },
    }));
  }
  return TableName;
}

const all = Array.from({ length: COUNT }, (_, number) => number);

test('paginateQuery in both directions', async () => {
  const TableName = await filledTable();
  for (const ScanIndexForward of [true, false]) {
    const found = [];
    const pages = paginateQuery({ client: db.documents, pageSize: 7 }, {
      TableName, ScanIndexForward, KeyConditionExpression: 'pk = :k', ExpressionAttributeValues: { ':k': 'k' },
    });
    for await (const page of pages) {
      assert.ok(page.Items.length <= 7);
      found.push(...page.Items.map((item) => item.sk));
    }
    assert.deepEqual(found, ScanIndexForward ? all : [...all].reverse());
  }
});

test('paginateQuery of the low-level client', async () => {
  const TableName = await filledTable();
  const found = [];
  const pages = paginateWireQuery({ client: db.client, pageSize: 11 }, {
    TableName, KeyConditionExpression: 'pk = :k', ExpressionAttributeValues: { ':k': { S: 'k' } },
  });
  for await (const page of pages) found.push(...page.Items.map((item) => Number(item.sk.N)));
  assert.deepEqual(found, all);
});

test('paginateScan with a filter', async () => {
  const TableName = await filledTable();
  const found = [];
  let scanned = 0;
  const pages = paginateScan({ client: db.documents, pageSize: 10 }, {
    TableName, FilterExpression: 'sk >= :v', ExpressionAttributeValues: { ':v': 50 },
  });
  for await (const page of pages) {
    found.push(...page.Items.map((item) => item.sk));
    scanned += page.ScannedCount;
  }
  assert.deepEqual(found.sort((one, two) => one - two), all.slice(50));
  assert.equal(scanned, COUNT);
});

test('paginateListTables', async () => {
  const made = [];
  for (let number = 0; number < 5; number++) made.push(await makeTable(db));
  const names = [];
  for await (const page of paginateListTables({ client: db.client, pageSize: 2 }, {})) {
    names.push(...page.TableNames);
  }
  assert.deepEqual(made.filter((name) => !names.includes(name)), []);
  assert.equal(new Set(names).size, names.length);
});

test('waiters for a table to come and go', async () => {
  const TableName = 'js-waited-for';
  const wait = { client: db.client, maxWaitTime: 30, minDelay: 1 };
  await db.client.send(new CreateTableCommand({
    TableName, BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
  }));
  assert.equal((await waitUntilTableExists(wait, { TableName })).state, 'SUCCESS');
  await db.client.send(new DeleteTableCommand({ TableName }));
  assert.equal((await waitUntilTableNotExists(wait, { TableName })).state, 'SUCCESS');
});
