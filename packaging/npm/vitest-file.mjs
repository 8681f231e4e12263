// Runs in the worker before each test file.
import workers from './workers.js';

await workers.prepare(Number(process.env.VITEST_POOL_ID ?? 1));
