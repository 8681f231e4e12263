// ElectroDB: entities, services with collections, filters, updates of all kinds, batches, transactions, paging.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import electrodb from 'electrodb'
import { client, createTable } from './support.js'

const { Entity, Service, createWriteTransaction, createGetTransaction } = electrodb
const table = 'electro'
const model = (entity, attributes, indexes) => new Entity({ model: { entity, version: '1', service: 'taskapp' }, attributes, indexes }, { client, table })
const keys = (n) => (n === 0 ? { pk: 'pk', sk: 'sk' } : { pk: `gsi${n}pk`, sk: `gsi${n}sk` })

const Employee = model('employee', {
  employeeId: { type: 'string', default: () => crypto.randomUUID() },
  firstName: { type: 'string', required: true },
  office: { type: 'string', required: true },
  title: { type: 'string' },
  team: { type: ['development', 'marketing', 'finance'], required: true },
  salary: { type: 'number', default: 0 },
  tags: { type: 'set', items: 'string' },
  log: { type: 'list', items: { type: 'string' } },
  place: { type: 'map', properties: { city: { type: 'string' }, desk: { type: 'number' } } },
  version: { type: 'number', default: 0 },
}, {
  employee: { pk: { field: 'pk', composite: ['employeeId'] }, sk: { field: 'sk', composite: [] } },
  coworkers: { collection: 'workplaces', index: 'gsi1', pk: { field: keys(1).pk, composite: ['office'] }, sk: { field: keys(1).sk, composite: ['team', 'title', 'employeeId'] } },
})
const Office = model('office', { office: { type: 'string' }, country: { type: 'string' } }, {
  locations: { pk: { field: 'pk', composite: ['country'] }, sk: { field: 'sk', composite: ['office'] } },
  office: { collection: 'workplaces', index: 'gsi1', pk: { field: keys(1).pk, composite: ['office'] }, sk: { field: keys(1).sk, composite: [] } },
})
const Company = new Service({ employees: Employee, offices: Office })
const ana = { employeeId: 'ana', firstName: 'Ana', office: 'gym', title: 'lead', team: 'development', salary: 100, tags: ['a'], log: ['hired'], place: { city: 'Graz', desk: 1 } }

before(() => createTable(table, 'pk sk', { global: { gsi1: 'gsi1pk gsi1sk' } }))

test('create, get, and create only once', async () => {
  await Employee.create(ana).go()
  const { data } = await Employee.get({ employeeId: 'ana' }).go()
  assert.deepEqual({ ...data, tags: [...data.tags] }, { ...ana, version: 0 })
  await assert.rejects(Employee.create(ana).go(), /conditional request failed/)
  assert.equal((await Employee.get({ employeeId: 'nobody' }).go()).data, null)
})

test('put, upsert and patch', async () => {
  await Employee.put({ ...ana, employeeId: 'ben', firstName: 'Ben', team: 'finance' }).go()
  await Employee.upsert({ ...ana, employeeId: 'cleo', firstName: 'Cleo' }).go()
  const { data } = await Employee.patch({ employeeId: 'cleo' }).set({ salary: 5 }).go({ response: 'all_new' })
  assert.equal(data.salary, 5)
  await assert.rejects(Employee.patch({ employeeId: 'nobody' }).set({ salary: 5 }).go(), /conditional request failed/)
})

test('every kind of update', async () => {
  const { data } = await Employee.update({ employeeId: 'ana' }).add({ salary: 10, tags: ['b', 'c'] }).append({ log: ['raised'] }).set({ 'place.desk': 2 })
    .subtract({ version: 1 }).delete({ tags: ['a'] }).go({ response: 'all_new' }).catch((error) => ({ data: error }))
  // Two clauses that change one set are refused, by the service too.
  assert.match(String(data.message), /overlap|Two document paths/)
  const next = await Employee.update({ employeeId: 'ana' }).add({ salary: 10 }).append({ log: ['raised'] }).set({ 'place.desk': 2 }).subtract({ version: 1 })
    .delete({ tags: ['a'] }).go({ response: 'all_new' })
  assert.deepEqual([next.data.salary, next.data.log, next.data.place, next.data.version], [110, ['hired', 'raised'], { city: 'Graz', desk: 2 }, -1])
  const second = await Employee.update({ employeeId: 'ana' }).data((attributes, { set, ifNotExists, add }) => {
    set(attributes.firstName, 'Anna')
    add(attributes.salary, 1)
    ifNotExists(attributes.place.city, 'Wien')
  }).where(({ salary }, { gte }) => gte(salary, 100)).go({ response: 'updated_new' })
  assert.deepEqual([second.data.firstName, second.data.salary], ['Anna', 111])
})

test('queries of an index, with conditions of the sort key and filters', async () => {
  const all = await Employee.query.coworkers({ office: 'gym' }).go()
  assert.equal(all.data.length, 3)
  const some = await Employee.query.coworkers({ office: 'gym' }).begins({ team: 'dev' }).go()
  assert.deepEqual(some.data.map((one) => one.employeeId).sort(), ['ana', 'cleo'])
  const range = await Employee.query.coworkers({ office: 'gym' }).gte({ team: 'development' }).go({ order: 'desc' })
  assert.equal(range.data[0].team, 'finance')
  const rich = await Employee.query.coworkers({ office: 'gym' }).where(({ salary, firstName }, { gt, begins }) => `${gt(salary, 50)} AND ${begins(firstName, 'A')}`).go()
  assert.deepEqual(rich.data.map((one) => one.employeeId), ['ana'])
})

test('collections', async () => {
  await Office.create({ office: 'gym', country: 'AT' }).go()
  const { data } = await Company.collections.workplaces({ office: 'gym' }).go()
  assert.deepEqual([data.employees.length, data.offices.length], [3, 1])
})

test('batches with paging', async () => {
  const many = Array.from({ length: 60 }, (_, i) => ({ office: `o${String(i).padStart(2, '0')}`, country: 'DE' }))
  assert.deepEqual((await Office.put(many).go()).unprocessed, [])
  assert.equal((await Office.get(many).go()).data.length, 60)
  const seen = []
  let cursor = null
  do {
    const page = await Office.query.locations({ country: 'DE' }).go({ cursor, limit: 25 })
    seen.push(...page.data)
    cursor = page.cursor
  } while (cursor !== null)
  assert.equal(seen.length, 60)
  assert.equal((await Office.query.locations({ country: 'DE' }).go({ pages: 'all', count: 40 })).data.length, 40)
  assert.ok((await Office.scan.go({ pages: 'all' })).data.length >= 60)
  await Office.delete(many.slice(0, 30)).go()
  assert.equal((await Office.query.locations({ country: 'DE' }).go({ pages: 'all' })).data.length, 30)
})

test('transactions', async () => {
  const done = await createWriteTransaction({ Employee, Office }, ({ Employee: employee, Office: office }) => [
    employee.update({ employeeId: 'ana' }).set({ salary: 1 }).commit(), office.create({ office: 'new', country: 'AT' }).commit(),
    office.check({ office: 'gym', country: 'AT' }).where(({ country }, { eq }) => eq(country, 'AT')).commit(),
  ]).go()
  assert.equal(done.canceled, false)
  const canceled = await createWriteTransaction({ Office }, ({ Office: office }) => [office.create({ office: 'new', country: 'AT' }).commit({ response: 'all_old' })]).go()
  assert.deepEqual([canceled.canceled, canceled.data[0].code, canceled.data[0].item.office], [true, 'ConditionalCheckFailed', 'new'])
  const read = await createGetTransaction({ Employee }, ({ Employee: employee }) => [employee.get({ employeeId: 'ana' }).commit(), employee.get({ employeeId: 'nobody' }).commit()]).go()
  assert.deepEqual([read.data[0].item.salary, read.data[1].item], [1, null])
})

test('remove with a condition', async () => {
  await assert.rejects(Employee.remove({ employeeId: 'ben' }).where(({ team }, { eq }) => eq(team, 'marketing')).go(), /conditional request failed/)
  const { data } = await Employee.delete({ employeeId: 'ben' }).go({ response: 'all_old' })
  assert.equal(data.firstName, 'Ben')
})
