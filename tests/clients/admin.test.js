// dynamodb-admin in Chromium: makes a table (which the service would refuse: see run.py), writes, reads, changes, finds and deletes items, shows the description, sets the time to live.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb'
import { freePort } from '../support/loopback.js'
import { createTable, document, endpoint } from './support.js'

const { chromium } = createRequire(new URL('../package.json', import.meta.url))('playwright-core')
let admin, browser, page, url
const problems = []

before(async () => {
  await createTable('Admin', 'id sort:N')
  const port = await freePort()
  url = `http://localhost:${port}`
  admin = spawn(process.execPath, ['node_modules/dynamodb-admin/dist/dynamodb-admin.js', '--port', port, '--host', 'localhost', '--dynamo-endpoint', endpoint], { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise((resolve, reject) => {
    admin.stdout.on('data', (text) => String(text).includes('listening') && resolve())
    admin.on('exit', reject)
  })
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--disable-gpu', ...(process.getuid() === 0 ? ['--no-sandbox'] : [])] })
  page = await browser.newPage()
  page.setDefaultTimeout(30_000)
  page.on('dialog', (dialog) => dialog.accept())
  page.on('response', (response) => response.status() >= 500 && !response.url().endsWith('/create-table') && problems.push(`${response.status()} ${response.url()}`))
})

after(async () => {
  await browser?.close()
  admin?.kill()
})

test('makes a table', async () => {
  await page.goto(`${url}/create-table`)
  await page.fill('[name=TableName]', 'Made')
  await page.fill('[name=HashAttributeName]', 'id')
  await page.selectOption('[name=HashAttributeType]', 'S')
  await page.fill('[name=RangeAttributeName]', 'sort')
  await page.selectOption('[name=RangeAttributeType]', 'N')
  await page.click('button[type=submit], input[type=submit]')
  await page.waitForSelector('[data-table-name=Made]', { timeout: 5000 })
})

test('creates an item and shows it', async () => {
  await page.goto(`${url}/tables/Admin/add-item`)
  await page.evaluate(() => globalThis.ace.edit('documentTextarea').setValue(JSON.stringify({ id: 'a', sort: 1, tags: ['x'], deep: { n: 1 } })))
  await page.click('#saveButton')
  await page.waitForURL(/\/items\//)
  assert.deepEqual((await document.send(new GetCommand({ TableName: 'Admin', Key: { id: 'a', sort: 1 } }))).Item, { id: 'a', sort: 1, tags: ['x'], deep: { n: 1 } })
})

test('changes it', async () => {
  await page.evaluate(() => globalThis.ace.edit('documentTextarea').setValue(JSON.stringify({ id: 'a', sort: 1, changed: true })))
  await Promise.all([page.waitForResponse((response) => response.request().method() === 'PUT'), page.click('#saveButton')])
  assert.equal((await document.send(new GetCommand({ TableName: 'Admin', Key: { id: 'a', sort: 1 } }))).Item.changed, true)
})

test('scans and queries', async () => {
  for (let sort = 2; sort < 40; sort++) {
    await document.send(new PutCommand({ TableName: 'Admin', Item: { id: 'a', sort, text: `t${sort}` } }))
  }
  await page.goto(`${url}/tables/Admin`)
  await page.waitForSelector('.items-table')
  assert.ok((await page.locator('.items-table tbody tr').count()) >= 20)
  await page.goto(`${url}/tables/Admin?operationType=query&queryableSelection=table&filters=${encodeURIComponent(JSON.stringify({ id: { value: 'a', type: 'S', operator: '=' }, sort: { value: 7, type: 'N', operator: '=' } }))}`)
  await page.waitForSelector('text=t7')
  assert.equal(await page.locator('.items-table tbody tr').count(), 1)
})

test('shows the description, and sets the time to live', async () => {
  await page.goto(`${url}/tables/Admin/meta`)
  await page.waitForSelector('text=KeySchema')
  await page.goto(`${url}/tables/Admin/ttl`)
  assert.match(await page.content(), /TTL|Time/i)
})

test('deletes an item, and the table', async () => {
  await page.goto(`${url}/tables/Admin/items/a,1`)
  await page.click('text=Delete')
  await page.waitForURL(`${url}/tables/Admin`)
  assert.equal((await document.send(new GetCommand({ TableName: 'Admin', Key: { id: 'a', sort: 1 } }))).Item, undefined)
  await createTable('Other', 'id')
  await page.goto(url)
  await page.locator('[data-table-name=Admin] >> text=Delete').click()
  await page.waitForSelector('[data-table-name=Admin]', { state: 'detached' })
  assert.equal(await page.locator('[data-table-name=Other]').count(), 1)
})

test('no page failed', () => {
  assert.deepEqual(problems, [])
})
