// Servers for the workers of a test runner: one each, so that no worker sees another's tables. The process that starts the
// workers starts the servers too, and tells their endpoints in a variable, which workers inherit.
'use strict';

const { environment, reset, start } = require('./index.js');

const VARIABLE = 'GRAMME_WORKER_ENDPOINTS';
let own; // endpoint of a worker that nobody started a server for

// Starts servers and returns a function that stops them.
async function startForWorkers(count) {
  const servers = await Promise.all(Array.from({ length: Math.max(count, 1) }, () => start({ args: ['--threads', '1'] })));
  process.env[VARIABLE] = servers.map((server) => server.endpoint).join(',');
  return async () => {
    delete process.env[VARIABLE];
    await Promise.all(servers.map((server) => server.stop()));
  };
}

// The endpoint of a worker, by its number from 1 on. A worker beyond those that were expected starts a server of its own.
async function endpointOf(number) {
  const endpoints = (process.env[VARIABLE] ?? '').split(',').filter(Boolean);
  if (number >= 1 && number <= endpoints.length) {
    return endpoints[number - 1];
  }
  own ??= (await start({ args: ['--threads', '1'] })).endpoint;
  return own;
}

// Before a test file: its SDKs find the server of this worker, which has no tables.
async function prepare(number) {
  const endpoint = await endpointOf(number);
  Object.assign(process.env, environment(endpoint));
  await reset(endpoint);
}

module.exports = { startForWorkers, prepare };
