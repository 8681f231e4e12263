// Jest: { "preset": "gramme" }. A server per worker; each test file starts without tables.
'use strict';

const path = require('node:path');

module.exports = {
  globalSetup: path.join(__dirname, 'jest-start.js'),
  globalTeardown: path.join(__dirname, 'jest-stop.js'),
  setupFilesAfterEnv: [path.join(__dirname, 'jest-file.js')],
};
