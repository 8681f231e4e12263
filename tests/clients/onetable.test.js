// OneTable: schema, models, unique attributes, indexes, filters, updates, batches, transactions, paging, table administration.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Table } from 'dynamodb-onetable'
import { Dynamo } from 'dynamodb-onetable/Dynamo'
import { client } from './support.js'

const table = new Table({
  client, name: 'OneTable', partial: true,
  schema: {
    format: 'onetable:1.1.0', version: '0.0.1',
    indexes: { primary: { hash: 'pk', sort: 'sk' }, gs1: { hash: 'gs1pk', sort: 'gs1sk', follow: true }, ls1: { sort: 'id', type: 'local' } },
    models: {
      Account: {
        pk: { type: String, value: 'account:${id}' }, sk: { type: String, value: 'account:' }, id: { type: String, generate: 'ulid' },
        name: { type: String, required: true, unique: true }, status: { type: String, default: 'active' },
        address: { type: Object, schema: { street: { type: String }, zip: { type: String } } }, tags: { type: Set }, started: { type: Date }, list: { type: Array },
      },
      User: {
        pk: { type: String, value: 'account:${accountId}' }, sk: { type: String, value: 'user:${email}' }, id: { type: String, generate: 'ulid' },
        accountId: { type: String, required: true }, email: { type: String, required: true }, role: { type: String, enum: ['user', 'admin'], default: 'user' },
        balance: { type: Number, default: 0 }, gs1pk: { type: String, value: 'user-email:${email}' }, gs1sk: { type: String, value: 'user:' },
      },
    },
    params: { isoDates: true, timestamps: true },
  },
})
const Account = table.getModel('Account')
const User = table.getModel('User')
let account

before(() => table.createTable())

test('the table that it makes', async () => {
  assert.equal(await table.exists(), true)
  const { Table: described } = await table.describeTable()
  assert.deepEqual([described.GlobalSecondaryIndexes.length, described.LocalSecondaryIndexes.length], [1, 1])
  assert.ok(table.client instanceof Dynamo)
})

test('create and get, with types', async () => {
  const started = new Date('2026-01-01T00:00:00Z')
  account = await Account.create({ name: 'Acme Airplanes', address: { street: 'A', zip: '98034' }, tags: new Set(['a', 'b']), started, list: [1, 2] })
  const read = await Account.get({ id: account.id })
  assert.deepEqual([read.name, read.status, read.address, [...read.tags].sort(), read.started, read.list], ['Acme Airplanes', 'active', { street: 'A', zip: '98034' }, ['a', 'b'], started, [1, 2]])
  await assert.rejects(Account.create({ id: account.id, name: 'Other' }), /exists|Unique|Conditional/i)
})

test('unique attributes', async () => {
  await assert.rejects(Account.create({ name: 'Acme Airplanes' }), /unique/i)
  await Account.update({ id: account.id, name: 'Acme Trains' })
  await Account.create({ name: 'Acme Airplanes' })
})

test('users, find by filters and indexes', async () => {
  for (let i = 0; i < 12; i++) {
    await User.create({ accountId: account.id, email: `u${String(i).padStart(2, '0')}@example.com`, role: i % 3 ? 'user' : 'admin', balance: i * 50 })
  }
  assert.equal((await User.find({ accountId: account.id })).length, 12)
  assert.equal((await User.find({ accountId: account.id, role: 'admin' })).length, 4)
  assert.equal((await User.find({ accountId: account.id }, { where: '${balance} > {100.00}' })).length, 9)
  assert.equal((await User.get({ email: 'u03@example.com' }, { index: 'gs1', follow: true })).balance, 150)
  assert.equal((await User.find({ accountId: account.id, sk: { begins: 'user:u1' } })).length, 2)
  assert.equal((await User.find({ accountId: account.id }, { count: true })).count, 12)
})

test('paging', async () => {
  const seen = []
  let next
  do {
    const page = await User.find({ accountId: account.id }, { limit: 5, next })
    seen.push(...page)
    next = page.next
  } while (next)
  assert.equal(seen.length, 12)
})

test('updates', async () => {
  const where = { accountId: account.id, email: 'u00@example.com' }
  assert.equal((await User.update(where, { add: { balance: 10 } })).balance, 10)
  assert.equal((await User.update(where, { set: { balance: '${balance} - {5}' } })).balance, 5)
  await assert.rejects(User.update({ accountId: account.id, email: 'nobody@example.com', balance: 1 }), /Conditional|not found|failed/i)
  assert.equal((await Account.update({ id: account.id, list: null })).list, undefined)
  assert.deepEqual((await Account.update({ id: account.id, address: { zip: '1' } })).address, { street: 'A', zip: '1' })
  await assert.rejects(User.update({ ...where, balance: 7 }, { where: '${balance} = {99}' }), /Conditional|failed/i)
})

test('batches and transactions', async () => {
  const batch = {}
  for (const name of ['x', 'y']) {
    await User.create({ accountId: account.id, email: `${name}@example.com` }, { batch, exists: null })
  }
  await table.batchWrite(batch)
  const reads = {}
  await User.get({ accountId: account.id, email: 'x@example.com' }, { batch: reads })
  await User.get({ accountId: account.id, email: 'y@example.com' }, { batch: reads })
  assert.equal((await table.batchGet(reads, { parse: true })).length, 2)
  const transaction = {}
  await User.update({ accountId: account.id, email: 'x@example.com', balance: 1 }, { transaction })
  await User.remove({ accountId: account.id, email: 'y@example.com' }, { transaction })
  await table.transact('write', transaction)
  assert.equal((await User.get({ accountId: account.id, email: 'x@example.com' })).balance, 1)
  assert.equal(await User.get({ accountId: account.id, email: 'y@example.com' }), undefined)
})

test('groups, scan and remove', async () => {
  const items = await table.queryItems({ pk: `account:${account.id}` }, { parse: true, hidden: true })
  const groups = table.groupByType(items)
  assert.deepEqual([groups.Account.length, groups.User.length], [1, 13])
  assert.equal((await User.scan({}, { parse: true })).length, 13)
  await User.remove({ accountId: account.id }, { many: true })
  assert.equal((await User.find({ accountId: account.id })).length, 0)
})
