// DynamoDB-Toolbox: tables, entities, schemas; items, queries, scans, batches, transactions, streams of conditions.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Table } from 'dynamodb-toolbox/table'
import { Entity } from 'dynamodb-toolbox/entity'
import { item } from 'dynamodb-toolbox/schema/item'
import { string } from 'dynamodb-toolbox/schema/string'
import { number } from 'dynamodb-toolbox/schema/number'
import { list } from 'dynamodb-toolbox/schema/list'
import { map } from 'dynamodb-toolbox/schema/map'
import { set } from 'dynamodb-toolbox/schema/set'
import { GetItemCommand } from 'dynamodb-toolbox/entity/actions/get'
import { PutItemCommand } from 'dynamodb-toolbox/entity/actions/put'
import { DeleteItemCommand } from 'dynamodb-toolbox/entity/actions/delete'
import { UpdateItemCommand, $add, $append, $remove, $subtract, $delete, $get } from 'dynamodb-toolbox/entity/actions/update'
import { UpdateAttributesCommand } from 'dynamodb-toolbox/entity/actions/updateAttributes'
import { QueryCommand } from 'dynamodb-toolbox/table/actions/query'
import { ScanCommand } from 'dynamodb-toolbox/table/actions/scan'
import { BatchGetCommand, execute as executeGets } from 'dynamodb-toolbox/table/actions/batchGet'
import { BatchWriteCommand, execute as executeWrites } from 'dynamodb-toolbox/table/actions/batchWrite'
import { BatchGetRequest } from 'dynamodb-toolbox/entity/actions/batchGet'
import { BatchPutRequest } from 'dynamodb-toolbox/entity/actions/batchPut'
import { BatchDeleteRequest } from 'dynamodb-toolbox/entity/actions/batchDelete'
import { PutTransaction } from 'dynamodb-toolbox/entity/actions/transactPut'
import { UpdateTransaction } from 'dynamodb-toolbox/entity/actions/transactUpdate'
import { ConditionCheck } from 'dynamodb-toolbox/entity/actions/transactCheck'
import { execute as transactWrite } from 'dynamodb-toolbox/entity/actions/transactWrite'
import { GetTransaction, execute as transactGet } from 'dynamodb-toolbox/entity/actions/transactGet'
import { createTable, document } from './support.js'

const pokeTable = new Table({
  documentClient: document, name: 'poke', partitionKey: { name: 'pk', type: 'string' }, sortKey: { name: 'sk', type: 'string' },
  indexes: { byTrainer: { type: 'global', partitionKey: { name: 'trainer', type: 'string' }, sortKey: { name: 'level', type: 'number' } } },
})
const Pokemon = new Entity({
  name: 'POKEMON', table: pokeTable,
  schema: item({
    pokemonClass: string().key().savedAs('pk'), pokemonId: string().key().savedAs('sk'), trainer: string().optional(), level: number().default(1),
    types: set(string()).optional(), moves: list(string()).optional(), stats: map({ attack: number(), defense: number().optional() }).optional(),
  }),
})
const key = { pokemonClass: 'pikachu', pokemonId: '1' }

before(() => createTable('poke', 'pk sk', { global: { byTrainer: 'trainer level:N' } }))

test('put and get', async () => {
  await Pokemon.build(PutItemCommand).item({ ...key, trainer: 'ash', level: 3, types: new Set(['electric']), moves: ['spark'], stats: { attack: 5, defense: 2 } }).send()
  const { Item } = await Pokemon.build(GetItemCommand).key(key).options({ consistent: true }).send()
  assert.deepEqual([Item.level, [...Item.types], Item.moves, Item.stats], [3, ['electric'], ['spark'], { attack: 5, defense: 2 }])
  assert.ok(Item.created && Item.modified)
  const partial = await Pokemon.build(GetItemCommand).key(key).options({ attributes: ['level', 'stats.attack', 'moves[0]'] }).send()
  assert.deepEqual(partial.Item, { level: 3, stats: { attack: 5 }, moves: ['spark'] })
})

test('conditions', async () => {
  const put = Pokemon.build(PutItemCommand).item({ ...key, level: 9 })
  await assert.rejects(put.options({ condition: { attr: 'pokemonId', exists: false } }).send(), { name: 'ConditionalCheckFailedException' })
  await assert.rejects(put.options({ condition: { and: [{ attr: 'level', gt: 3 }, { attr: 'trainer', beginsWith: 'a' }] } }).send(), { name: 'ConditionalCheckFailedException' })
  await put.options({ condition: { or: [{ attr: 'level', between: [1, 5] }, { not: { attr: 'types', contains: 'electric' } }] } }).send()
})

test('updates', async () => {
  await Pokemon.build(PutItemCommand).item({ ...key, trainer: 'ash', level: 3, types: new Set(['electric', 'air']), moves: ['spark'], stats: { attack: 5 } }).send()
  const { Attributes } = await Pokemon.build(UpdateItemCommand).item({
    ...key, level: $add(1), types: $delete(new Set(['air'])), moves: $append(['shock']), stats: { attack: $subtract($get('stats.attack'), 1) }, trainer: $remove(),
  }).options({ returnValues: 'ALL_NEW' }).send()
  assert.deepEqual([Attributes.level, [...Attributes.types], Attributes.moves, Attributes.stats, Attributes.trainer], [4, ['electric'], ['spark', 'shock'], { attack: 4 }, undefined])
  const replaced = await Pokemon.build(UpdateAttributesCommand).item({ ...key, stats: { attack: 1 }, trainer: 'ash' }).options({ returnValues: 'UPDATED_NEW' }).send()
  assert.deepEqual(replaced.Attributes.stats, { attack: 1 })
})

test('batches, queries and scans', async () => {
  const many = Array.from({ length: 30 }, (_, i) => ({ pokemonClass: 'eevee', pokemonId: String(i).padStart(2, '0'), trainer: 'ash', level: i }))
  for (const part of [many.slice(0, 25), many.slice(25)]) {
    await executeWrites(pokeTable.build(BatchWriteCommand).requests(...part.map((one) => Pokemon.build(BatchPutRequest).item(one))))
  }
  const read = await executeGets(pokeTable.build(BatchGetCommand).requests(...many.slice(0, 3).map((one) => Pokemon.build(BatchGetRequest).key(one))))
  assert.equal(read.Responses[0].filter(Boolean).length, 3)
  const query = pokeTable.build(QueryCommand).entities(Pokemon)
  const top = await query.query({ index: 'byTrainer', partition: 'ash', range: { gte: 20 } }).options({ reverse: true, limit: 4 }).send()
  assert.deepEqual(top.Items.map((one) => one.level), [29, 28, 27, 26])
  const next = await query.query({ index: 'byTrainer', partition: 'ash', range: { gte: 20 } }).options({ reverse: true, limit: 4, exclusiveStartKey: top.LastEvaluatedKey }).send()
  assert.equal(next.Items[0].level, 25)
  const filtered = await query.query({ partition: 'eevee', range: { beginsWith: '1' } }).options({ filters: { POKEMON: { attr: 'level', lt: 15 } }, maxPages: Infinity }).send()
  assert.equal(filtered.Items.length, 5)
  assert.equal((await pokeTable.build(ScanCommand).entities(Pokemon).options({ maxPages: Infinity, limit: 7 }).send()).Items.length, 31)
  await executeWrites(pokeTable.build(BatchWriteCommand).requests(Pokemon.build(BatchDeleteRequest).key(many[0])))
})

test('transactions', async () => {
  await transactWrite(Pokemon.build(PutTransaction).item({ pokemonClass: 'mew', pokemonId: '1' }), Pokemon.build(UpdateTransaction).item({ ...key, level: $add(10) }),
    Pokemon.build(ConditionCheck).key({ pokemonClass: 'eevee', pokemonId: '01' }).condition({ attr: 'level', eq: 1 }))
  await assert.rejects(transactWrite(Pokemon.build(PutTransaction).item({ pokemonClass: 'mew', pokemonId: '1' }).options({ condition: { attr: 'pokemonId', exists: false } })),
    (error) => error.CancellationReasons[0].Code === 'ConditionalCheckFailed')
  const { Responses } = await transactGet(Pokemon.build(GetTransaction).key(key), Pokemon.build(GetTransaction).key({ pokemonClass: 'nothing', pokemonId: '1' }))
  assert.deepEqual([Responses[0].Item.level, Responses[1].Item], [14, undefined])
})

test('delete', async () => {
  const { Attributes } = await Pokemon.build(DeleteItemCommand).key(key).options({ returnValues: 'ALL_OLD' }).send()
  assert.equal(Attributes.level, 14)
})
