/** A plugin for vitest.config: starts a server per worker; each test file starts without tables. */
export default function gramme(): { name: string; config(): { test: { globalSetup: string[]; setupFiles: string[] } } };
