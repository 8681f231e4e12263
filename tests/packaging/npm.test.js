// The npm package, from its folder, with the program that GRAMME names: start() and what the presets for Jest and Vitest do.
// tools/doors installs the packed file and runs both for real.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CreateTableCommand, DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
process.env.GRAMME ??= path.join(root, 'build', 'gramme');
const require = createRequire(import.meta.url);
const { start } = require('../../packaging/npm/index.js');
const workers = require('../../packaging/npm/workers.js');

const table = (TableName, more = {}) => new CreateTableCommand({
  TableName, BillingMode: 'PAY_PER_REQUEST', AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
  KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], ...more,
});
const tables = async (client) => (await client.send(new ListTablesCommand({}))).TableNames;

test('start, use, reset, stop', async () => {
  const db = await start();
  const client = new DynamoDBClient(db.config);
  await client.send(table('first'));
  await client.send(table('second', { DeletionProtectionEnabled: true }));
  assert.deepEqual(await tables(client), ['first', 'second']);
  await db.reset();
  assert.deepEqual(await tables(client), []);
  client.destroy();
  await db.stop();
  await db.stop();
  assert.match(db.log, /standard input has ended/);
});

test('reset deletes more tables than one page lists', async () => {
  const db = await start();
  const client = new DynamoDBClient(db.config);
  await Promise.all(Array.from({ length: 120 }, (_, i) => client.send(table(`table-${i}`))));
  await db.reset();
  assert.deepEqual(await tables(client), []);
  client.destroy();
  await db.stop();
});

test('reset waits for tables that are being made', async () => {
  const db = await start({ args: ['--table-delay-ms', '300'] });
  const client = new DynamoDBClient(db.config);
  await client.send(table('made'));
  await db.reset();
  assert.deepEqual(await tables(client), []);
  client.destroy();
  await db.stop();
});

test('the ES module has the same', async () => {
  const module = await import('../../packaging/npm/index.mjs');
  assert.equal(module.start, start);
});

test('a server that cannot start says why', async () => {
  await assert.rejects(start({ args: ['--no-such-option', '1'] }), /unknown option --no-such-option/);
  await assert.rejects(start({ program: '/no/such/program' }), /no program at \/no\/such\/program/);
  await assert.rejects(start({ program: '/bin/true' }), /it ended with status 0/);
});

test('stop() of a server that has crashed', async () => {
  const db = await start();
  process.kill(db.pid, 'SIGKILL');
  db.child.ref(); // start() lets the process end while the server runs
  await once(db.child, 'exit');
  await db.stop(); // it is gone, which is what was asked for
});

// Resolves with what a process wrote when all that have its standard output are gone.
function run(code, signal) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['-e', code], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.on('data', (part) => {
      text += part;
      if (signal && text.includes('\n')) {
        child.kill(signal);
      }
    });
    child.on('close', () => resolve(text));
  });
}

// A process that has ended and that nobody has waited for yet is not alive.
function isAlive(pid) {
  try {
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function isGone(pid) {
  for (const deadline = Date.now() + 20_000; isAlive(pid) && Date.now() < deadline;) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return !isAlive(pid);
}

const STARTER = "require('./packaging/npm').start().then((db) => { console.log(db.pid);";

test('the server ends with the process, which need not stop it', async () => {
  assert.ok(await isGone(Number(await run(`${STARTER} })`))));
});

test('the server ends when the process is killed', async () => {
  assert.ok(await isGone(Number(await run(`${STARTER} setInterval(() => {}, 1000) })`, 'SIGKILL'))));
});

test('each worker has its own tables, and each file starts without', async () => {
  const stop = await workers.startForWorkers(2);
  const clients = [];
  for (const number of [1, 2]) {
    await workers.prepare(number);
    const client = new DynamoDBClient({ endpoint: process.env.AWS_ENDPOINT_URL_DYNAMODB, region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' } });
    await client.send(table(`of-worker-${number}`));
    clients.push(client);
  }
  assert.deepEqual(await tables(clients[0]), ['of-worker-1']);
  assert.deepEqual(await tables(clients[1]), ['of-worker-2']);
  await workers.prepare(1);
  assert.deepEqual(await tables(clients[0]), []);
  assert.deepEqual(await tables(clients[1]), ['of-worker-2']);
  clients.forEach((client) => client.destroy());
  await stop();
  assert.equal(process.env.GRAMME_WORKER_ENDPOINTS, undefined);
});
