// rate-limiter-flexible on DynamoDB: makes its table, counts with conditions, blocks, deletes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DynamoDB } from '@aws-sdk/client-dynamodb'
import limiters from 'rate-limiter-flexible'
import { config } from './support.js'

const { RateLimiterDynamo } = limiters
const make = (more) => new Promise((resolve, reject) => {
  const limiter = new RateLimiterDynamo({ storeClient: new DynamoDB(config), points: 3, duration: 60, ...more }, (error) => (error ? reject(error) : resolve(limiter)))
})

test('consumes points until there are none', async () => {
  const limiter = await make({ keyPrefix: 'a' })
  assert.equal((await limiter.consume('ana')).remainingPoints, 2)
  assert.equal((await limiter.consume('ana', 2)).remainingPoints, 0)
  await assert.rejects(limiter.consume('ana'), (rejected) => rejected.remainingPoints === 0 && rejected.msBeforeNext > 0)
  assert.equal((await limiter.consume('ben')).remainingPoints, 2)
})

test('many at once', async () => {
  const limiter = await make({ keyPrefix: 'b', points: 5 })
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => limiter.consume('all')))
  assert.equal(results.filter((result) => result.status === 'fulfilled').length, 5)
})

test('get, penalty, reward, block, delete', async () => {
  const limiter = await make({ keyPrefix: 'c' })
  assert.equal(await limiter.get('x'), null)
  await limiter.penalty('x', 2)
  assert.equal((await limiter.reward('x')).consumedPoints, 1)
  await limiter.block('x', 10)
  await assert.rejects(limiter.consume('x'))
  assert.equal(await limiter.delete('x'), true)
  assert.equal((await limiter.consume('x')).remainingPoints, 2)
})

test('expires', async () => {
  const limiter = await make({ keyPrefix: 'd', points: 1, duration: 1 })
  const { msBeforeNext } = await limiter.consume('x')
  await assert.rejects(limiter.consume('x'))
  await new Promise((resolve) => { setTimeout(resolve, msBeforeNext + 1100) })
  assert.equal((await limiter.consume('x')).remainingPoints, 0)
})
