// TypeDORM: entities and a table by decorators (called as functions here), entity manager, unique attributes, transactions, scans.
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { before, test } from 'node:test'
import { client, createTable } from './support.js'

const require = createRequire(import.meta.url) // its packages' ES modules name files without their endings, which Node.js does not find
const [common, core, clients] = ['common', 'core', 'document-client'].map((name) => require(`@typedorm/${name}`))
const { Attribute, AutoGenerateAttribute, AUTO_GENERATE_ATTRIBUTE_STRATEGY, Entity, INDEX_TYPE, Table } = common
const { createConnection, getEntityManager, getTransactionManger, getBatchManager, getScanManager, WriteTransaction, WriteBatch } = core

/** What a decorator on a property with a type does. */
function property(target, name, type, ...decorators) {
  Reflect.defineMetadata('design:type', type, target.prototype, name)
  decorators.forEach((decorate) => decorate(target.prototype, name))
}

class Organisation {}
property(Organisation, 'id', String, AutoGenerateAttribute({ strategy: AUTO_GENERATE_ATTRIBUTE_STRATEGY.UUID4 }))
property(Organisation, 'name', String, Attribute())
property(Organisation, 'email', String, Attribute({ unique: true }))
property(Organisation, 'size', Number, Attribute())
Entity({
  name: 'organisation', primaryKey: { partitionKey: 'ORG#{{id}}', sortKey: 'ORG#{{id}}' },
  indexes: { GSI1: { partitionKey: 'ORG#{{name}}', sortKey: 'ORG#{{id}}', type: INDEX_TYPE.GSI } },
})(Organisation)
const table = new Table({ name: 'typedorm', partitionKey: 'PK', sortKey: 'SK', indexes: { GSI1: { type: INDEX_TYPE.GSI, partitionKey: 'GSI1PK', sortKey: 'GSI1SK' } } })
const make = (name, email, size = 1) => Object.assign(new Organisation(), { name, email, size })
let first

before(async () => {
  await createTable('typedorm', 'PK SK', { global: { GSI1: 'GSI1PK GSI1SK' } })
  createConnection({ table, entities: [Organisation], documentClient: new clients.DocumentClientV3(client) })
})

test('create and find', async () => {
  first = await getEntityManager().create(make('acme', 'a@example.com'))
  assert.equal((await getEntityManager().findOne(Organisation, { id: first.id })).email, 'a@example.com')
  assert.equal(await getEntityManager().exists(Organisation, { email: 'a@example.com' }), true)
})

test('unique attributes', async () => {
  await assert.rejects(getEntityManager().create(make('other', 'a@example.com')))
  const changed = await getEntityManager().update(Organisation, { id: first.id }, { email: 'b@example.com', size: { ADD: 4 } })
  assert.deepEqual([changed.email, changed.size], ['b@example.com', 5])
  await getEntityManager().create(make('acme', 'a@example.com'))
})

test('find by an index, with a condition and a limit', async () => {
  const found = await getEntityManager().find(Organisation, { name: 'acme' }, { queryIndex: 'GSI1' })
  assert.equal(found.items.length, 2)
  const rich = await getEntityManager().find(Organisation, { name: 'acme' }, { queryIndex: 'GSI1', where: { size: { GT: 3 } } })
  assert.deepEqual(rich.items.map((one) => one.id), [first.id])
  assert.equal(await getEntityManager().count(Organisation, { name: 'acme' }, { queryIndex: 'GSI1' }), 2)
})

test('transactions and batches', async () => {
  const transaction = new WriteTransaction().addCreateItem(make('t', 't@example.com')).addUpdateItem(Organisation, { id: first.id }, { size: 9 })
  await getTransactionManger().write(transaction)
  assert.equal((await getEntityManager().findOne(Organisation, { id: first.id })).size, 9)
  class Plain {}
  property(Plain, 'id', String, Attribute())
  Entity({ name: 'plain', primaryKey: { partitionKey: 'PLAIN', sortKey: 'PLAIN#{{id}}' } })(Plain)
  createConnection({ name: 'second', table, entities: [Plain], documentClient: new clients.DocumentClientV3(client) })
  const batch = new WriteBatch()
  for (let i = 0; i < 30; i++) {
    batch.addCreateItem(Object.assign(new Plain(), { id: `p${i}` }))
  }
  const done = await getBatchManager('second').write(batch)
  assert.deepEqual([done.unprocessedItems, done.failedItems], [[], []])
  assert.equal((await getScanManager('second').find(Plain)).items.length, 30)
})

test('delete', async () => {
  await getEntityManager().delete(Organisation, { id: first.id })
  assert.equal(await getEntityManager().findOne(Organisation, { id: first.id }), undefined)
})
