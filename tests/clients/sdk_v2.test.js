// The AWS SDK for JavaScript v2 (service object, document client, waiters), and dynamodb-lock-client, which is built on it.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { promisify } from 'node:util'
import AWS from 'aws-sdk'
import locks from 'dynamodb-lock-client'
import { createTable, endpoint } from './support.js'

AWS.config.update({ region: 'us-east-1', credentials: { accessKeyId: 'any', secretAccessKey: 'any' } })
const db = new AWS.DynamoDB({ endpoint })
const document = new AWS.DynamoDB.DocumentClient({ endpoint })

before(() => createTable('locks', 'id'))

test('service object and waiters', async () => {
  await db.createTable({ TableName: 'Sdk2', BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }] }).promise()
  await db.waitFor('tableExists', { TableName: 'Sdk2' }).promise()
  await db.putItem({ TableName: 'Sdk2', Item: { id: { S: 'a' }, n: { N: '1' } } }).promise()
  assert.deepEqual((await db.getItem({ TableName: 'Sdk2', Key: { id: { S: 'a' } } }).promise()).Item.n, { N: '1' })
  await assert.rejects(db.getItem({ TableName: 'Nothing', Key: { id: { S: 'a' } } }).promise(), { code: 'ResourceNotFoundException', statusCode: 400 })
})

test('document client', async () => {
  await document.put({ TableName: 'Sdk2', Item: { id: 'd', list: [1, { a: null }], set: document.createSet(['x', 'y']), bytes: Buffer.from([1]) } }).promise()
  const { Item } = await document.get({ TableName: 'Sdk2', Key: { id: 'd' } }).promise()
  assert.deepEqual([Item.list, Item.set.values, [...Item.bytes]], [[1, { a: null }], ['x', 'y'], [1]])
  const updated = await document.update({ TableName: 'Sdk2', Key: { id: 'd' }, AttributeUpdates: { n: { Action: 'ADD', Value: 2 } }, ReturnValues: 'UPDATED_NEW' }).promise()
  assert.equal(updated.Attributes.n, 2)
  assert.equal((await document.scan({ TableName: 'Sdk2', FilterExpression: 'n > :n', ExpressionAttributeValues: { ':n': 0 } }).promise()).Count, 2)
  await document.transactWrite({ TransactItems: [{ Delete: { TableName: 'Sdk2', Key: { id: 'd' } } }] }).promise()
})

test('lock that fails closed', async () => {
  const lockClient = new locks.FailClosed({ dynamodb: document, lockTable: 'locks', partitionKey: 'id', acquirePeriodMs: 200 })
  const lock = await promisify(lockClient.acquireLock.bind(lockClient))('one')
  await assert.rejects(promisify(lockClient.acquireLock.bind(lockClient))('one'))
  await promisify(lock.release.bind(lock))()
  const again = await promisify(lockClient.acquireLock.bind(lockClient))('one')
  await promisify(again.release.bind(again))()
})

test('lock that fails open, with fencing tokens', async () => {
  const lockClient = new locks.FailOpen({ dynamodb: document, lockTable: 'locks', partitionKey: 'id', heartbeatPeriodMs: 50, leaseDurationMs: 400 })
  const acquire = promisify(lockClient.acquireLock.bind(lockClient))
  const first = await acquire('two')
  await promisify(first.release.bind(first))()
  const second = await acquire('two')
  assert.ok(second.fencingToken > first.fencingToken)
  await promisify(second.release.bind(second))()
})
