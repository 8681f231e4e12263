// Errors arrive as the SDK's classes, with what they carry.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import {
  ConditionalCheckFailedException, DescribeTableCommand, DynamoDBServiceException, GetItemCommand,
  IdempotentParameterMismatchException, ResourceInUseException, ResourceNotFoundException,
  ScanCommand, TransactionCanceledException, CreateTableCommand,
} from '@aws-sdk/client-dynamodb';
import { GetCommand, PutCommand, TransactGetCommand, TransactWriteCommand } from '@aws-sdk/lib-dynamodb';
import { makeTable, useServer } from './support.js';

const db = useServer();

async function failure(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return assert.fail('did not fail');
}

test('a missing table', async () => {
  const error = await failure(db.client.send(new DescribeTableCommand({ TableName: 'no-such-table' })));
  assert.ok(error instanceof ResourceNotFoundException);
  assert.ok(error instanceof DynamoDBServiceException);
  assert.equal(error.message, 'Requested resource not found: Table: no-such-table not found');
  assert.equal(error.$metadata.httpStatusCode, 400);
  assert.equal(error.$fault, 'client');
});

test('a table that exists', async () => {
  const TableName = await makeTable(db);
  const error = await failure(db.client.send(new CreateTableCommand({
    TableName, BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
  })));
  assert.ok(error instanceof ResourceInUseException);
});

test('bad input', async () => {
  const TableName = await makeTable(db);
  const noKey = await failure(db.client.send(new GetItemCommand({ TableName, Key: { x: { S: 'k' } } })));
  assert.equal(noKey.name, 'ValidationException');
  assert.equal(noKey.message, 'The provided key element does not match the schema');
  const syntax = await failure(db.client.send(new ScanCommand({ TableName, FilterExpression: 'a =' })));
  assert.equal(syntax.name, 'ValidationException');
});

test('a failed condition gives the item when asked', async () => {
  const TableName = await makeTable(db);
  const Item = { pk: 'k', v: 1, nested: { list: [1, 'two'] } };
  await db.documents.send(new PutCommand({ TableName, Item }));
  const put = { TableName, Item: { pk: 'k', v: 2 }, ConditionExpression: 'attribute_not_exists(pk)' };
  const quiet = await failure(db.documents.send(new PutCommand(put)));
  assert.ok(quiet instanceof ConditionalCheckFailedException);
  assert.equal(quiet.message, 'The conditional request failed');
  assert.equal(quiet.Item, undefined);
  const telling = await failure(db.documents.send(new PutCommand({
    ...put, ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  })));
  assert.ok(telling instanceof ConditionalCheckFailedException);
  assert.deepEqual(telling.Item.v, { N: '1' });
  assert.deepEqual(telling.Item.nested, { M: { list: { L: [{ N: '1' }, { S: 'two' }] } } });
});

test('a cancelled transaction tells its reasons in order', async () => {
  const TableName = await makeTable(db);
  await db.documents.send(new PutCommand({ TableName, Item: { pk: 'b', v: 1 } }));
  const error = await failure(db.documents.send(new TransactWriteCommand({
    TransactItems: [
      { Put: { TableName, Item: { pk: 'a' } } },
      {
        Update: {
          TableName, Key: { pk: 'b' }, UpdateExpression: 'SET v = :v', ConditionExpression: 'v > :v',
          ExpressionAttributeValues: { ':v': 5 }, ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        },
      },
      { ConditionCheck: { TableName, Key: { pk: 'c' }, ConditionExpression: 'attribute_exists(pk)' } },
    ],
  })));
  assert.ok(error instanceof TransactionCanceledException);
  assert.deepEqual(error.CancellationReasons.map((reason) => reason.Code), [
    'None', 'ConditionalCheckFailed', 'ConditionalCheckFailed']);
  assert.deepEqual(error.CancellationReasons[1].Item, { pk: { S: 'b' }, v: { N: '1' } });
  assert.match(error.message, /\[None, ConditionalCheckFailed, ConditionalCheckFailed\]/);
  assert.equal((await db.documents.send(new GetCommand({ TableName, Key: { pk: 'a' } }))).Item, undefined);
});

test('transactions that succeed, and their tokens', async () => {
  const TableName = await makeTable(db);
  const add = (amount) => new TransactWriteCommand({
    ClientRequestToken: `token-${TableName}`,
    TransactItems: [{
      Update: {
        TableName, Key: { pk: 'k' }, UpdateExpression: 'ADD n :n', ExpressionAttributeValues: { ':n': amount },
      },
    }],
  });
  await db.documents.send(add(1));
  await db.documents.send(add(1));
  const { Responses } = await db.documents.send(new TransactGetCommand({
    TransactItems: [{ Get: { TableName, Key: { pk: 'k' } } }, { Get: { TableName, Key: { pk: 'x' } } }],
  }));
  assert.deepEqual(Responses, [{ Item: { pk: 'k', n: 1 } }, {}]);
  assert.ok(await failure(db.documents.send(add(2))) instanceof IdempotentParameterMismatchException);
});
