// Vitest: `plugins: [gramme()]` in vitest.config. A server per worker; each test file starts without tables.
import { fileURLToPath } from 'node:url';

const file = (name) => fileURLToPath(new URL(name, import.meta.url));

export default function gramme() {
  return {
    name: 'gramme',
    config: () => ({
      test: { globalSetup: [file('./vitest-start.mjs')], setupFiles: [file('./vitest-file.mjs')] },
    }),
  };
}
