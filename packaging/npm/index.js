// Starts a Gramme server for tests: in memory, on a free port. The server's standard input is a pipe from this
// process, and the server ends when that pipe does (--until-eof): also when this process crashes or is killed.
'use strict';

const { spawn } = require('node:child_process');
const { existsSync } = require('node:fs');
const http = require('node:http');
const path = require('node:path');

const REGION = 'us-east-1';
const CREDENTIALS = { accessKeyId: 'test', secretAccessKey: 'test' };
const LOG_LINES_MAX = 200;
const STOP_MS_MAX = 10_000;
const RESET_MS_MAX = 30_000;

// The program: the option, the variable GRAMME, or the one inside this package.
function findProgram(option) {
  const program = option ?? process.env.GRAMME ?? path.join(__dirname, 'programs', 'gramme');
  if (!existsSync(program)) {
    throw new Error(`gramme: there is no program at ${program}; this package has one for linux-x64, ` +
      'elsewhere name yours in the variable GRAMME');
  }
  return program;
}

// One operation of DynamoDB, without an SDK.
function call(endpoint, operation, body) {
  return new Promise((resolve, reject) => {
    const request = http.request(endpoint, {
      method: 'POST',
      agent: false,
      headers: {
        'Content-Type': 'application/x-amz-json-1.0',
        'X-Amz-Target': `DynamoDB_20120810.${operation}`,
        'X-Amz-Date': '20200101T000000Z',
        Authorization: `AWS4-HMAC-SHA256 Credential=test/20200101/${REGION}/dynamodb/aws4_request, ` +
          'SignedHeaders=host;x-amz-date;x-amz-target, Signature=0',
      },
    }, (response) => {
      const parts = [];
      response.on('error', reject);
      response.on('data', (part) => parts.push(part));
      response.on('end', () => {
        const answer = JSON.parse(Buffer.concat(parts).toString() || '{}');
        if (response.statusCode === 200) {
          resolve(answer);
        } else {
          reject(Object.assign(new Error(answer.message ?? answer.Message ?? `status ${response.statusCode}`),
            { name: String(answer.__type ?? 'Error').replace(/^.*#/, '') }));
        }
      });
    });
    request.on('error', reject);
    request.end(JSON.stringify(body));
  });
}

async function listTables(endpoint) {
  const names = [];
  let last;
  do {
    const page = await call(endpoint, 'ListTables', { ExclusiveStartTableName: last });
    names.push(...page.TableNames);
    last = page.LastEvaluatedTableName;
  } while (last !== undefined);
  return names;
}

// A table that is being made, or an index of it, is ResourceInUseException; deletion protection is ValidationException.
async function deleteTable(endpoint, TableName) {
  const deadline = Date.now() + RESET_MS_MAX;
  let isProtected = false;
  for (;;) {
    try {
      if (isProtected) {
        await call(endpoint, 'UpdateTable', { TableName, DeletionProtectionEnabled: false });
        isProtected = false;
      }
      await call(endpoint, 'DeleteTable', { TableName });
      return;
    } catch (error) {
      if (error.name === 'ResourceNotFoundException') {
        return;
      }
      if (!['ResourceInUseException', 'ValidationException'].includes(error.name) || Date.now() > deadline) {
        throw error;
      }
      isProtected ||= error.name === 'ValidationException';
      await new Promise((resolve) => setTimeout(resolve, isProtected ? 0 : 10));
    }
  }
}

// Deletes all tables of a server.
async function reset(endpoint) {
  await Promise.all((await listTables(endpoint)).map((name) => deleteTable(endpoint, name)));
}

// What an AWS SDK reads; credentials and region of the user's own are left as they are.
function environment(endpoint) {
  const variables = { AWS_ENDPOINT_URL_DYNAMODB: endpoint, AWS_ENDPOINT_URL_DYNAMODB_STREAMS: endpoint };
  const defaults = { AWS_REGION: REGION, AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey };
  for (const [name, value] of Object.entries(defaults)) {
    if (!process.env[name]) {
      variables[name] = value;
    }
  }
  return variables;
}

class Server {
  constructor(child, endpoint, lines) {
    this.endpoint = endpoint;
    this.port = Number(new URL(endpoint).port);
    this.pid = child.pid;
    this.region = REGION;
    this.credentials = { ...CREDENTIALS };
    Object.defineProperties(this, { child: { value: child }, lines: { value: lines } });
  }

  get config() {
    return { endpoint: this.endpoint, region: this.region, credentials: { ...this.credentials } };
  }

  get log() {
    return this.lines.join('\n');
  }

  environment() {
    return environment(this.endpoint);
  }

  reset() {
    return reset(this.endpoint);
  }

  stop() {
    const { child } = this;
    this.stopping ??= new Promise((resolve, reject) => {
      if (child.exitCode !== null || child.signalCode !== null) {
        resolve();
        return;
      }
      child.ref();
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
      child.once('exit', (code, signal) => {
        clearTimeout(timer);
        if (code === 0) {
          resolve();
        } else {
          reject(new Error(`gramme ended with ${signal ?? `status ${code}`}:\n${this.log}`));
        }
      });
      child.stdin.end();
    });
    return this.stopping;
  }
}

// Resolves with the endpoint when the server's log tells it.
function awaitEndpoint(child, lines, timeoutMs) {
  return new Promise((resolve, reject) => {
    const fail = (why) => reject(new Error(`gramme did not start: ${why}\n${lines.join('\n')}`));
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      fail(`it was not ready after ${timeoutMs} ms`);
    }, timeoutMs);
    let rest = '';
    child.stderr.setEncoding('utf8');
    child.stderr.on('data', (text) => {
      const parts = (rest + text).split('\n');
      rest = parts.pop();
      for (const line of parts) {
        lines.push(line);
        const found = /gramme \S+ serves (http:\/\/[^ ,]+)/.exec(line);
        if (found) {
          clearTimeout(timer);
          resolve(found[1]);
        }
      }
      lines.splice(0, lines.length - LOG_LINES_MAX);
    });
    child.once('error', (error) => {
      clearTimeout(timer);
      fail(error.message);
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      fail(`it ended with ${signal ?? `status ${code}`}`); // no effect once it has started
    });
  });
}

// This process may end without stop(): the server then ends by itself.
function unref(child) {
  child.unref();
  child.stdin.unref();
  child.stderr.unref();
}

async function start(options = {}) {
  const { store = 'memory:', args = [], program, timeoutMs = 30_000 } = options;
  // Of an option that is given twice the first is used.
  const settings = ['--listen', '127.0.0.1:0', '--store', store, '--log-level', 'info', '--log-format', 'text', '--log-file', '-', '--until-eof',
    ...args];
  // Variables of a server that somebody runs on this machine are not for this one.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GRAMME_')));
  const child = spawn(findProgram(program), ['serve', ...settings], { stdio: ['pipe', 'ignore', 'pipe'], env });
  child.stdin.on('error', () => {}); // the server is gone: 'exit' tells
  const lines = [];
  const endpoint = await awaitEndpoint(child, lines, timeoutMs);
  unref(child);
  return new Server(child, endpoint, lines);
}

module.exports = { start, reset, environment };
