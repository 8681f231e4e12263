// Dynamode: tables and entities by decorators (called as functions here, as in plain JavaScript), queries, scans, updates, transactions.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { DynamoDB } from '@aws-sdk/client-dynamodb'
import dynamode from 'dynamode'
import { config } from './support.js'

const { Dynamode, Entity, TableManager, attribute, entity: _, transactionWrite, transactionGet } = { ...dynamode, ...dynamode.default }
Dynamode.ddb.set(new DynamoDB(config))

class Base extends Entity {
  constructor(props) {
    super()
    Object.assign(this, props)
  }
}
attribute.partitionKey.string()(Base.prototype, 'pk')
attribute.sortKey.number()(Base.prototype, 'sk')
attribute.lsi.sortKey.string({ indexName: 'LSI' })(Base.prototype, 'name')

class User extends Base {}
attribute.object()(User.prototype, 'data')
attribute.set()(User.prototype, 'tags')
attribute.number()(User.prototype, 'age')

const tables = new TableManager(Base, { tableName: 'dynamode-table', partitionKey: 'pk', sortKey: 'sk', indexes: { LSI: { sortKey: 'name' } } })
const users = tables.entityManager(User)
const make = (sk, more) => new User({ pk: 'u', sk, name: `n${sk}`, data: { a: 1 }, tags: new Set(['x']), age: sk, ...more })

before(() => tables.createTable())

test('the table that it makes is what it wants', async () => {
  await tables.validateTable()
})

test('create, put, get', async () => {
  await users.create(make(1))
  await assert.rejects(users.create(make(1)), { name: 'ConditionalCheckFailedException' })
  await users.put(make(2, { data: { a: 2 } }))
  const read = await users.get({ pk: 'u', sk: 2 })
  assert.deepEqual([read.data, [...read.tags], read.age], [{ a: 2 }, ['x'], 2])
})

test('update and conditions', async () => {
  const changed = await users.update({ pk: 'u', sk: 1 }, { add: { age: 5 }, set: { name: 'changed' } })
  assert.deepEqual([changed.age, changed.name], [6, 'changed'])
  await assert.rejects(users.update({ pk: 'u', sk: 1 }, { set: { age: 1 } }, { condition: users.condition().attribute('age').gt(100) }), { name: 'ConditionalCheckFailedException' })
})

test('batches, queries and scans', async () => {
  await users.batchPut(Array.from({ length: 20 }, (unused, i) => make(10 + i)))
  assert.equal((await users.batchGet([{ pk: 'u', sk: 10 }, { pk: 'u', sk: 11 }])).items.length, 2)
  assert.equal((await users.query().partitionKey('pk').eq('u').sortKey('sk').ge(10).run()).items.length, 20)
  assert.equal((await users.query().partitionKey('pk').eq('u').sortKey('name').beginsWith('n1').indexName('LSI').run()).items.length, 10)
  const page = await users.query().partitionKey('pk').eq('u').limit(5).sort('descending').run()
  assert.deepEqual([page.items[0].sk, page.items.length, page.lastKey.sk], [29, 5, 25])
  assert.equal((await users.scan().attribute('age').lt(3).run()).items.length, 1)
  await users.batchDelete([{ pk: 'u', sk: 10 }])
})

test('transactions', async () => {
  await transactionWrite([users.transaction.put(make(50)), users.transaction.delete({ pk: 'u', sk: 11 })])
  const read = await transactionGet([users.transaction.get({ pk: 'u', sk: 50 })])
  assert.equal(read.items[0].sk, 50)
})
