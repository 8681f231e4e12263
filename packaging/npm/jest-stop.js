// Jest's globalTeardown.
'use strict';

module.exports = async () => {
  await globalThis.__grammeStop?.();
};
