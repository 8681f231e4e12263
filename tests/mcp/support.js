// Every kind of DynamoDB as a process, and `gramme mcp` for it behind the official client.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import { freePort } from '../support/loopback.js';
import { storeUrl } from '../support/store.js';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
export const program = process.env.GRAMME ?? here('../../build/gramme');

/** The command of a server on a port; null if it is not installed. */
function command(kind, port) {
  if (kind === 'gramme') return [program, 'serve', '--listen', `127.0.0.1:${port}`, '--store', storeUrl()];
  if (kind === 'dynoxide') return [here('../node_modules/@dynoxide/linux-x64/dynoxide'), '--port', `${port}`];
  const folder = here('../../.cache/dynamodb-local'); // after tools/setup oracle
  const version = existsSync(folder) ? readdirSync(folder)[0] : undefined;
  if (version === undefined) return null;
  return ['java', '-Xmx512m', `-Djava.library.path=${folder}/${version}/DynamoDBLocal_lib`, '-jar',
    `${folder}/${version}/DynamoDBLocal.jar`, '-inMemory', '-disableTelemetry', '-port', `${port}`];
}

/** Starts a server; null if it is not installed. */
export async function startDatabase(kind) {
  const port = await freePort();
  const words = command(kind, port);
  if (words === null) return null;
  const child = spawn(words[0], words.slice(1), { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.on('exit', resolve));
  const endpoint = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + 60000;
  for (;;) {
    try {
      await fetch(endpoint);
      break;
    } catch (error) {
      if (Date.now() > deadline || child.exitCode !== null) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  const client = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } });
  const documents = DynamoDBDocumentClient.from(client);
  return {
    kind,
    endpoint,
    client,
    put: (table, item) => documents.send(new PutCommand({ TableName: table, Item: item })),
    async stop() {
      client.destroy();
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** A table with a string and a number as its key, and an index. */
export async function makeTable(database, name) {
  await database.client.send(new CreateTableCommand({
    TableName: name,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [
      { AttributeName: 'pk', AttributeType: 'S' }, { AttributeName: 'n', AttributeType: 'N' },
      { AttributeName: 'color', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'n', KeyType: 'RANGE' }],
    GlobalSecondaryIndexes: [{
      IndexName: 'by-color',
      KeySchema: [{ AttributeName: 'color', KeyType: 'HASH' }],
      Projection: { ProjectionType: 'KEYS_ONLY' },
    }],
  }));
  await waitUntilTableExists({ client: database.client, maxWaitTime: 30, minDelay: 0.05 }, { TableName: name });
}

/** The official client, connected to `gramme mcp`. call() gives the answer's JSON, fails() its error text. */
export async function connect(endpoint, ...options) {
  // DynamoDB Local has tables for each access key and region.
  const env = { ...process.env, AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test', AWS_REGION: 'us-east-1' };
  const transport = new StdioClientTransport({ command: program, args: ['mcp', ...options, endpoint], env, stderr: 'inherit' });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  const send = (name, args) => client.callTool({ name, arguments: args });
  return {
    client,
    async call(name, args = {}) {
      const answer = await send(name, args);
      if (answer.isError) throw new Error(answer.content[0].text);
      return JSON.parse(answer.content[0].text);
    },
    async fails(name, args = {}) {
      const answer = await send(name, args);
      if (!answer.isError) throw new Error(`${name} did not fail: ${answer.content[0].text}`);
      return answer.content[0].text;
    },
    bytes: async (name, args) => (await send(name, args)).content[0].text.length,
    close: () => client.close(),
  };
}
