// Dynamoose: schemas and models that make their own tables, queries, scans, conditions, updates, batches, transactions, populate.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import dynamoose from 'dynamoose'
import { config } from './support.js'

dynamoose.aws.ddb.set(new dynamoose.aws.ddb.DynamoDB(config))
const Author = dynamoose.model('Author', new dynamoose.Schema({ id: String, name: String }))
const Book = dynamoose.model('Book', new dynamoose.Schema({
  id: { type: String, hashKey: true },
  part: { type: Number, rangeKey: true },
  title: { type: String, required: true },
  genre: { type: String, index: { name: 'genreIndex', rangeKey: 'year', type: 'global' } },
  year: Number,
  tags: { type: Set, schema: [String] },
  details: { type: Object, schema: { pages: Number, cover: String } },
  lines: { type: Array, schema: [String] },
  published: Date,
  author: Author,
}, { timestamps: true }), { throughput: 'ON_DEMAND' })

before(async () => {
  for (const model of [Author, Book]) {
    await new dynamoose.Table(`${model.Model.name}s`, [model], { initialize: false, waitForActive: { enabled: true, check: { timeout: 20000, frequency: 50 } } }).initialize()
  }
})

test('create and get', async () => {
  await Author.create({ id: 'a1', name: 'Ada' })
  const book = await Book.create({ id: 'b', part: 1, title: 'One', genre: 'x', year: 1990, tags: new Set(['p', 'q']), details: { pages: 10, cover: 'red' }, lines: ['l'], published: new Date(0), author: 'a1' })
  assert.ok(new Date(book.createdAt) <= new Date())
  const read = await Book.get({ id: 'b', part: 1 })
  assert.deepEqual([read.title, [...read.tags].sort(), read.details, read.lines, read.published], ['One', ['p', 'q'], { pages: 10, cover: 'red' }, ['l'], new Date(0)])
  await assert.rejects(Book.create({ id: 'b', part: 1, title: 'Again' }), { name: 'ConditionalCheckFailedException' })
  assert.equal(await Book.get({ id: 'b', part: 9 }), undefined)
})

test('populate', async () => {
  const read = await Book.get({ id: 'b', part: 1 })
  assert.equal((await read.populate()).author.name, 'Ada')
})

test('save and update', async () => {
  const book = await Book.get({ id: 'b', part: 1 })
  book.title = 'Two'
  await book.save()
  const updated = await Book.update({ id: 'b', part: 1 }, { $SET: { genre: 'y' }, $ADD: { year: 5 }, $REMOVE: ['lines'] })
  assert.deepEqual([updated.title, updated.genre, updated.year, updated.lines], ['Two', 'y', 1995, undefined])
  const condition = new dynamoose.Condition().where('year').gt(3000)
  await assert.rejects(Book.update({ id: 'b', part: 1 }, { genre: 'z' }, { condition }), { name: 'ConditionalCheckFailedException' })
})

test('batches', async () => {
  const many = Array.from({ length: 25 }, (_, i) => ({ id: 'many', part: i, title: `T${i}`, genre: i % 2 ? 'odd' : 'even', year: 2000 + i }))
  assert.deepEqual((await Book.batchPut(many)).unprocessedItems, [])
  assert.equal((await Book.batchGet(many.slice(0, 10).map(({ id, part }) => ({ id, part })))).length, 10)
  await Book.batchDelete([{ id: 'many', part: 24 }])
})

test('queries', async () => {
  assert.equal((await Book.query('id').eq('many').exec()).length, 24)
  assert.deepEqual((await Book.query('id').eq('many').where('part').between(3, 5).sort('descending').exec()).map((one) => one.part), [5, 4, 3])
  const odd = await Book.query('genre').eq('odd').using('genreIndex').where('year').ge(2015).exec()
  assert.equal(odd.length, 5)
  assert.equal((await Book.query('id').eq('many').count().exec()).count, 24)
  const page = await Book.query('id').eq('many').limit(10).exec()
  const next = await Book.query('id').eq('many').limit(10).startAt(page.lastKey).exec()
  assert.deepEqual([page.length, next[0].part], [10, 10])
  assert.equal((await Book.query('id').eq('many').limit(5).all().exec()).length, 24)
  assert.deepEqual(Object.keys((await Book.query('id').eq('many').attributes(['part']).limit(1).exec())[0]), ['part'])
  const either = await Book.query('id').eq('many').parenthesis((c) => c.where('title').eq('T1').or().where('title').eq('T2')).exec()
  assert.equal(either.length, 2)
})

test('scans', async () => {
  assert.equal((await Book.scan('title').beginsWith('T1').exec()).length, 11)
  assert.equal((await Book.scan().parallel(4).exec()).length, 25)
  assert.equal((await Book.scan('tags').contains('p').or().where('year').in([2001, 2002]).exec()).length, 3)
  assert.equal((await Book.scan().where('details.pages').exists().count().exec()).count, 1)
})

test('transactions', async () => {
  await dynamoose.transaction([Book.transaction.create({ id: 't', part: 1, title: 'T' }), Book.transaction.update({ id: 'b', part: 1 }, { title: 'Three' }), Book.transaction.delete({ id: 'many', part: 0 })])
  assert.equal((await Book.get({ id: 'b', part: 1 })).title, 'Three')
  await assert.rejects(dynamoose.transaction([Book.transaction.create({ id: 't', part: 1, title: 'T' })]), { name: 'TransactionCanceledException' })
  const read = await dynamoose.transaction([Book.transaction.get({ id: 't', part: 1 })])
  assert.equal(read[0].title, 'T')
})

test('delete', async () => {
  await Book.delete({ id: 't', part: 1 })
  assert.equal(await Book.get({ id: 't', part: 1 }), undefined)
})
