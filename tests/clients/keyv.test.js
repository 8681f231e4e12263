// Keyv with its DynamoDB store: makes its own table, time to live, namespaces, iteration.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Keyv from 'keyv'
import KeyvDynamo from '@keyv/dynamo'
import { config } from './support.js'

const store = () => new KeyvDynamo({ ...config, tableName: 'cacheTable' })

test('set, get, has, delete, clear', async () => {
  const keyv = new Keyv(store())
  await keyv.set('foo', { deep: [1, 2] })
  assert.deepEqual(await keyv.get('foo'), { deep: [1, 2] })
  assert.equal(await keyv.has('foo'), true)
  assert.equal(await keyv.delete('foo'), true)
  assert.equal(await keyv.get('foo'), undefined)
  await keyv.set('a', 1)
  await keyv.clear()
  assert.equal(await keyv.get('a'), undefined)
})

test('many at once', async () => {
  const keyv = new Keyv(store())
  for (let i = 0; i < 5; i++) {
    await keyv.set(`k${i}`, i)
  }
  assert.deepEqual(await keyv.get(['k1', 'k3', 'k9']), [1, 3, undefined])
  assert.equal(await keyv.delete(['k1', 'k3']), true)
})

test('time to live', async () => {
  const keyv = new Keyv(store())
  await keyv.set('short', 'x', 1)
  await new Promise((resolve) => { setTimeout(resolve, 20) })
  assert.equal(await keyv.get('short'), undefined)
})

test('namespaces', async () => {
  const one = new Keyv({ store: store(), namespace: 'one' })
  const two = new Keyv({ store: store(), namespace: 'two' })
  await one.set('k', 1)
  await two.set('k', 2)
  assert.deepEqual([await one.get('k'), await two.get('k')], [1, 2])
})
