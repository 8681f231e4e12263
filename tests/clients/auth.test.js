// The DynamoDB adapter of Auth.js: users, accounts, sessions, verification tokens, as its table in the documentation has it.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { DynamoDBAdapter } from '@auth/dynamodb-adapter'
import { DynamoDBDocument } from '@aws-sdk/lib-dynamodb'
import { client, createTable } from './support.js'

const marshallOptions = { convertEmptyValues: true, removeUndefinedValues: true, convertClassInstanceToMap: true }
const adapter = DynamoDBAdapter(DynamoDBDocument.from(client, { marshallOptions }), { tableName: 'next-auth' })
const expires = new Date(Math.floor(Date.now() / 1000) * 1000 + 3600_000)
let user

before(() => createTable('next-auth', 'pk sk', { global: { GSI1: 'GSI1PK GSI1SK' } }))

test('users', async () => {
  user = await adapter.createUser({ email: 'ana@example.com', name: 'Ana', emailVerified: null })
  assert.equal((await adapter.getUser(user.id)).name, 'Ana')
  assert.equal((await adapter.getUserByEmail('ana@example.com')).id, user.id)
  assert.equal((await adapter.updateUser({ id: user.id, name: 'Ana B.' })).name, 'Ana B.')
  assert.equal(await adapter.getUser('nobody'), null)
})

test('accounts', async () => {
  const account = { provider: 'github', providerAccountId: '7', type: 'oauth', userId: user.id, access_token: 't' }
  await adapter.linkAccount(account)
  assert.equal((await adapter.getUserByAccount({ provider: 'github', providerAccountId: '7' })).id, user.id)
  await adapter.unlinkAccount({ provider: 'github', providerAccountId: '7' })
  assert.equal(await adapter.getUserByAccount({ provider: 'github', providerAccountId: '7' }), null)
})

test('sessions', async () => {
  await adapter.createSession({ sessionToken: 's', userId: user.id, expires })
  const read = await adapter.getSessionAndUser('s')
  assert.deepEqual([read.user.id, read.session.expires], [user.id, expires])
  await adapter.updateSession({ sessionToken: 's', expires: new Date(expires.getTime() + 1000) })
  await adapter.deleteSession('s')
  assert.equal(await adapter.getSessionAndUser('s'), null)
})

test('verification tokens are used once', async () => {
  await adapter.createVerificationToken({ identifier: 'ana', token: 'v', expires })
  assert.equal((await adapter.useVerificationToken({ identifier: 'ana', token: 'v' })).identifier, 'ana')
  assert.equal(await adapter.useVerificationToken({ identifier: 'ana', token: 'v' }), null)
})

test('deleting a user deletes all that is theirs', async () => {
  await adapter.createSession({ sessionToken: 's2', userId: user.id, expires })
  await adapter.deleteUser(user.id)
  assert.equal(await adapter.getUser(user.id), null)
  assert.equal(await adapter.getSessionAndUser('s2'), null)
})
