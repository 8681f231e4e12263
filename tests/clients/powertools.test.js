// Powertools for AWS Lambda: idempotency with its DynamoDB layer, which writes with conditions on three attributes.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency'
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb'
import { client, createTable } from './support.js'

const store = () => new DynamoDBPersistenceLayer({ tableName: 'idempotencyTable', awsSdkV3Client: client })
process.env.AWS_LAMBDA_FUNCTION_NAME = 'test'

before(() => createTable('idempotencyTable', 'id'))

test('a function runs once for each payload', async () => {
  let runs = 0
  const config = new IdempotencyConfig({ expiresAfterSeconds: 60 })
  const pay = makeIdempotent(async (order) => ({ paid: order.id, runs: ++runs }), { persistenceStore: store(), config })
  assert.deepEqual(await pay({ id: 1 }), { paid: 1, runs: 1 })
  assert.deepEqual(await pay({ id: 1 }), { paid: 1, runs: 1 })
  assert.deepEqual(await pay({ id: 2 }), { paid: 2, runs: 2 })
})

test('at the same time, one runs and the other gets an error', async () => {
  let runs = 0
  const config = new IdempotencyConfig({})
  const slow = makeIdempotent(async () => {
    runs++
    await new Promise((resolve) => { setTimeout(resolve, 300) })
    return runs
  }, { persistenceStore: store(), config, keyPrefix: 'slow' })
  const results = await Promise.allSettled([slow({ same: true }), slow({ same: true })])
  assert.equal(runs, 1)
  assert.equal(results.filter((result) => result.status === 'rejected' && result.reason.name === 'IdempotencyAlreadyInProgressError').length, 1)
})

test('a failure may be tried again', async () => {
  let runs = 0
  const config = new IdempotencyConfig({})
  const flaky = makeIdempotent(async () => {
    if (++runs === 1) {
      throw new Error('first')
    }
    return runs
  }, { persistenceStore: store(), config, keyPrefix: 'flaky' })
  await assert.rejects(flaky({ a: 1 }), /first/)
  assert.equal(await flaky({ a: 1 }), 2)
})

test('a payload that changed is noticed', async () => {
  const config = new IdempotencyConfig({ eventKeyJmesPath: 'id', payloadValidationJmesPath: 'amount' })
  const pay = makeIdempotent(async () => true, { persistenceStore: store(), config, keyPrefix: 'changed' })
  await pay({ id: 'x', amount: 1 })
  await assert.rejects(pay({ id: 'x', amount: 2 }), { name: 'IdempotencyValidationError' })
})
