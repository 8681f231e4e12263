// The AWS SDK for JavaScript v3: clients, paginators, waiters, and the document client of lib-dynamodb.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import {
  BatchExecuteStatementCommand, ConditionalCheckFailedException, CreateTableCommand, DeleteTableCommand, DescribeTableCommand, DynamoDB, DynamoDBClient,
  ExecuteStatementCommand, PutItemCommand, ResourceNotFoundException, TransactionCanceledException, TransactWriteItemsCommand,
  paginateListTables, paginateQuery, paginateScan, waitUntilTableExists, waitUntilTableNotExists,
} from '@aws-sdk/client-dynamodb'
import { DescribeStreamCommand, DynamoDBStreamsClient, GetRecordsCommand, GetShardIteratorCommand } from '@aws-sdk/client-dynamodb-streams'
import {
  BatchGetCommand, BatchWriteCommand, DeleteCommand, DynamoDBDocument, GetCommand, NumberValue, PutCommand, QueryCommand, ScanCommand, TransactGetCommand,
  TransactWriteCommand, UpdateCommand, paginateQuery as paginateDocuments,
} from '@aws-sdk/lib-dynamodb'
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb'
import { client, config, createTable, document } from './support.js'

const TableName = 'Sdk'

before(() => createTable(TableName, 'pk sk:N', { global: { byOwner: 'owner sk:N' }, StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' } }))

test('waiters', async () => {
  const waiter = { client, maxWaitTime: 30, minDelay: 1 }
  await client.send(new CreateTableCommand({
    TableName: 'Waited', BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
  }))
  assert.equal((await waitUntilTableExists(waiter, { TableName: 'Waited' })).state, 'SUCCESS')
  await client.send(new DeleteTableCommand({ TableName: 'Waited' }))
  assert.equal((await waitUntilTableNotExists(waiter, { TableName: 'Waited' })).state, 'SUCCESS')
})

test('errors are classes', async () => {
  await assert.rejects(client.send(new DescribeTableCommand({ TableName: 'Nothing' })), ResourceNotFoundException)
  const put = { TableName, Item: { pk: { S: 'e' }, sk: { N: '1' } }, ConditionExpression: 'attribute_not_exists(pk)', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }
  await client.send(new PutItemCommand(put))
  await assert.rejects(client.send(new PutItemCommand(put)), (error) => {
    assert.ok(error instanceof ConditionalCheckFailedException)
    assert.deepEqual(error.Item, put.Item)
    return true
  })
  await assert.rejects(client.send(new TransactWriteItemsCommand({ TransactItems: [{ Put: put }] })), (error) => {
    assert.ok(error instanceof TransactionCanceledException)
    assert.deepEqual(error.CancellationReasons.map((reason) => reason.Code), ['ConditionalCheckFailed'])
    return true
  })
})

test('the aggregated client', async () => {
  const db = new DynamoDB(config)
  assert.ok((await db.listTables({})).TableNames.includes(TableName))
  assert.equal((await db.describeTable({ TableName })).Table.ItemCount >= 0, true)
  assert.equal((await db.describeLimits({})).TableMaxReadCapacityUnits, 40000)
  assert.equal((await db.describeEndpoints({})).Endpoints.length, 1)
})

test('documents: every type comes back', async () => {
  const item = {
    pk: 'types', sk: 1, text: 'å', yes: true, nothing: null, list: [1, 'a', [null]], map: { deep: { deeper: 1 } },
    bytes: new Uint8Array([0, 255]), strings: new Set(['a', 'b']), numbers: new Set([1, 2]),
  }
  await document.send(new PutCommand({ TableName, Item: item }))
  const read = (await document.send(new GetCommand({ TableName, Key: { pk: 'types', sk: 1 }, ConsistentRead: true }))).Item
  assert.deepEqual(read, item)
  assert.deepEqual(unmarshall(marshall(read)), read)
})

test('documents: numbers of 38 digits', async () => {
  const exact = DynamoDBDocument.from(new DynamoDBClient(config), { unmarshallOptions: { wrapNumbers: true } })
  const big = '1234567890123456789012345678901234.5678'
  await exact.put({ TableName, Item: { pk: 'big', sk: 1, big: NumberValue.from(big), whole: 12345678901234567890n } })
  const read = (await exact.get({ TableName, Key: { pk: 'big', sk: 1 } })).Item
  assert.deepEqual([read.big.toString(), read.whole.toString()], [big, '12345678901234567890'])
})

test('documents: update, query, scan, delete', async () => {
  for (let sk = 0; sk < 5; sk++) {
    await document.send(new PutCommand({ TableName, Item: { pk: 'd', sk, owner: sk % 2 ? 'odd' : 'even' } }))
  }
  const updated = await document.send(new UpdateCommand({
    TableName, Key: { pk: 'd', sk: 0 }, UpdateExpression: 'SET #n = if_not_exists(#n, :zero) + :one', ExpressionAttributeNames: { '#n': 'count' },
    ExpressionAttributeValues: { ':zero': 0, ':one': 1 }, ReturnValues: 'ALL_NEW', ReturnConsumedCapacity: 'INDEXES',
  }))
  assert.equal(updated.Attributes.count, 1)
  assert.equal(updated.ConsumedCapacity.CapacityUnits, 2)
  const odd = await document.send(new QueryCommand({
    TableName, IndexName: 'byOwner', KeyConditionExpression: '#o = :o AND sk BETWEEN :low AND :high', ExpressionAttributeNames: { '#o': 'owner' },
    ExpressionAttributeValues: { ':o': 'odd', ':low': 1, ':high': 3 }, ScanIndexForward: false,
  }))
  assert.deepEqual(odd.Items.map((item) => item.sk), [3, 1])
  const scanned = await document.send(new ScanCommand({ TableName, FilterExpression: 'pk = :d', ExpressionAttributeValues: { ':d': 'd' }, Select: 'COUNT' }))
  assert.equal(scanned.Count, 5)
  const deleted = await document.send(new DeleteCommand({ TableName, Key: { pk: 'd', sk: 4 }, ReturnValues: 'ALL_OLD' }))
  assert.equal(deleted.Attributes.owner, 'even')
})

test('documents: batches and transactions', async () => {
  const items = Array.from({ length: 25 }, (_, sk) => ({ pk: 'b', sk }))
  assert.deepEqual((await document.send(new BatchWriteCommand({ RequestItems: { [TableName]: items.map((Item) => ({ PutRequest: { Item } })) } }))).UnprocessedItems, {})
  const read = await document.send(new BatchGetCommand({ RequestItems: { [TableName]: { Keys: items } } }))
  assert.equal(read.Responses[TableName].length, 25)
  await document.send(new TransactWriteCommand({
    TransactItems: [
      { Update: { TableName, Key: items[0], UpdateExpression: 'SET a = :a', ExpressionAttributeValues: { ':a': 1 } } },
      { ConditionCheck: { TableName, Key: items[1], ConditionExpression: 'attribute_exists(pk)' } },
      { Delete: { TableName, Key: items[2] } },
    ],
  }))
  const answer = await document.send(new TransactGetCommand({ TransactItems: [0, 2].map((i) => ({ Get: { TableName, Key: items[i] } })) }))
  assert.deepEqual(answer.Responses.map((one) => one.Item?.a), [1, undefined])
})

test('paginators', async () => {
  const pages = []
  for await (const page of paginateQuery({ client, pageSize: 10 }, { TableName, KeyConditionExpression: 'pk = :b', ExpressionAttributeValues: { ':b': { S: 'b' } } })) {
    pages.push(page.Count)
  }
  assert.deepEqual(pages, [10, 10, 4])
  let count = 0
  for await (const page of paginateScan({ client, pageSize: 7 }, { TableName })) {
    count += page.Count
  }
  assert.ok(count >= 24)
  count = 0
  for await (const page of paginateDocuments({ client: document, pageSize: 3 }, { TableName, KeyConditionExpression: 'pk = :b', ExpressionAttributeValues: { ':b': 'b' } })) {
    count += page.Items.length
  }
  assert.equal(count, 24)
  const names = []
  for await (const page of paginateListTables({ client, pageSize: 1 }, {})) {
    names.push(...page.TableNames)
  }
  assert.ok(names.includes(TableName))
})

test('PartiQL', async () => {
  await client.send(new ExecuteStatementCommand({ Statement: `INSERT INTO "${TableName}" VALUE {'pk': ?, 'sk': 1}`, Parameters: [{ S: 'p' }] }))
  const db = DynamoDBDocument.from(client)
  assert.deepEqual((await db.executeStatement({ Statement: `SELECT pk FROM "${TableName}" WHERE pk = ?`, Parameters: ['p'] })).Items, [{ pk: 'p' }])
  const batch = await client.send(new BatchExecuteStatementCommand({ Statements: [{ Statement: `SELECT * FROM "${TableName}" WHERE pk = 'p' AND sk = 1` }] }))
  assert.equal(batch.Responses[0].Item.pk.S, 'p')
})

test('streams', async () => {
  const streams = new DynamoDBStreamsClient(config)
  const { Table } = await client.send(new DescribeTableCommand({ TableName }))
  const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn: Table.LatestStreamArn }))
  let records = 0
  for (const { ShardId } of StreamDescription.Shards) {
    const { ShardIterator } = await streams.send(new GetShardIteratorCommand({ StreamArn: Table.LatestStreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' }))
    records += (await streams.send(new GetRecordsCommand({ ShardIterator }))).Records.length
  }
  assert.ok(records > 30)
})
