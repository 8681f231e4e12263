// A server for one test file, clients of the AWS SDK for it, and tables.
// GRAMME names the program; GRAMME_ENDPOINT makes the tests talk to that address instead.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { after, before } from 'node:test';
import assert from 'node:assert/strict';
import {
  CreateTableCommand, DynamoDBClient, waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { storeUrl } from '../support/store.js';

const program = process.env.GRAMME ?? fileURLToPath(new URL('../../build/gramme', import.meta.url));

/** Starts a server in memory (or on PostgreSQL); stop() checks that it exits with 0 and logs no warning. */
async function startServer(options) {
  const child = spawn(program, ['serve', '--listen', '127.0.0.1:0', '--store', storeUrl(), ...options], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  const ended = new Promise((resolve) => child.on('exit', (code, signal) => resolve(code ?? signal)));
  const endpoint = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.stderr.on('data', (data) => {
      log += data;
      const found = /serves (http:\/\/127\.0\.0\.1:\d+)/.exec(log);
      if (found) resolve(found[1]);
    });
    ended.then((status) => reject(new Error(`the server ended with ${status}:\n${log}`)));
  });
  async function stop() {
    child.kill('SIGTERM');
    assert.equal(await ended, 0, log);
    assert.doesNotMatch(log, /Sanitizer|runtime error:|assertion|Z error /i);
  }
  return { endpoint, stop };
}

/** Clients that are ready when the file's tests run: `db.client`, `db.documents` and `db.streams`. `options` are the server's. */
export function useServer(...options) {
  const db = {};
  let server;
  before(async () => {
    const endpoint = process.env.GRAMME_ENDPOINT ?? (server = await startServer(options)).endpoint;
    const settings = {
      endpoint,
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
      maxAttempts: 1,
    };
    db.client = new DynamoDBClient(settings);
    db.streams = new DynamoDBStreamsClient(settings);
    db.documents = DynamoDBDocumentClient.from(db.client, {
      marshallOptions: { removeUndefinedValues: true },
    });
  });
  after(async () => {
    db.client?.destroy();
    db.streams?.destroy();
    await server?.stop();
  });
  return db;
}

let tables = 0;

/** Makes a table with partition key pk (S) and, if given, sort key sk of that type, and of that name. */
export async function makeTable(db, { sort, name, ...more } = {}) {
  const TableName = name ?? `js-${process.pid}-${++tables}`;
  await db.client.send(new CreateTableCommand({
    TableName,
    BillingMode: 'PAY_PER_REQUEST',
    ...more,
    AttributeDefinitions: [
      { AttributeName: 'pk', AttributeType: 'S' },
      ...(sort ? [{ AttributeName: 'sk', AttributeType: sort }] : []),
      ...(more.AttributeDefinitions ?? []),
    ],
    KeySchema: [
      { AttributeName: 'pk', KeyType: 'HASH' },
      ...(sort ? [{ AttributeName: 'sk', KeyType: 'RANGE' }] : []),
    ],
  }));
  await waitUntilTableExists({ client: db.client, maxWaitTime: 30, minDelay: 1 }, { TableName });
  return TableName;
}
