// Runs in the worker before each test file; the endpoint must be known before the file's own modules are loaded.
'use strict';

const { environment } = require('./index.js');
const { prepare } = require('./workers.js');

const number = Number(process.env.JEST_WORKER_ID ?? 1);
const endpoint = (process.env.GRAMME_WORKER_ENDPOINTS ?? '').split(',')[number - 1];
if (endpoint) {
  Object.assign(process.env, environment(endpoint));
}
beforeAll(() => prepare(number));
