// Jest's globalSetup.
'use strict';

const { startForWorkers } = require('./workers.js');

module.exports = async (config) => {
  globalThis.__grammeStop = await startForWorkers(config.maxWorkers);
};
