/* The console: built into assets that the server serves under /_gramme/.
 *
 *     npm run build    into ../build/console (OUT=DIRECTORY: elsewhere); tools/console calls it
 *     npm run dev      while working on it, with a server at GRAMME (http://127.0.0.1:8000) behind */
import { defineConfig } from "vite";

const server = process.env.GRAMME ?? "http://127.0.0.1:8000";

export default defineConfig({
  base: "/_gramme/",
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  server: {
    proxy: {
      "/_gramme/api": server,
      /* Operations are POSTs to /; the page itself is below /_gramme/. */
      "^/$": { target: server, bypass: (request) => (request.method === "POST" ? null : request.url) },
    },
  },
  build: {
    outDir: process.env.OUT ?? "../build/console",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 2000,
  },
});
