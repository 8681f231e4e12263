/* The pages of the applications: every apps/NAME/page/index.html becomes /NAME/ of what gramme-apps
 * serves, that of apps/common the one at /. Each application's openapi.json is served beside its page.
 *
 *     npm run build    into ../build/pages (OUT=DIRECTORY: elsewhere)
 *     npm run dev      while working on them, with gramme-apps at APPS (http://127.0.0.1:8080) behind */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { defineConfig } from "vite";

const names = readdirSync(".").filter((name) => existsSync(`${name}/page/index.html`));

/* calls/page/index.html -> calls/index.html */
const servedPath = (path) => path.replace(/^common\/page\//, "").replace(/\/page\//, "/");

const placed = {
  name: "pages-where-they-are-served",
  enforce: "post",
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle)) {
      if (file.fileName.endsWith(".html")) {
        file.fileName = servedPath(file.fileName);
      }
    }
    for (const name of names.filter((name) => existsSync(`${name}/openapi.json`))) {
      this.emitFile({
        type: "asset",
        fileName: `${name}/openapi.json`,
        source: readFileSync(`${name}/openapi.json`),
      });
    }
  },
};

/* While working on the pages: /calls/ is where it will be, and the API is gramme-apps'. */
const served = {
  name: "served-paths",
  configureServer(server) {
    server.middlewares.use((request, _, next) => {
      const [, name] = request.url.match(/^\/(?:([a-z]+)\/)?(?:\?.*)?$/) ?? [];
      if (request.url.startsWith("/?") || request.url === "/" || names.includes(name)) {
        request.url = `/${name ?? "common"}/page/index.html`;
      }
      next();
    });
  },
};

export default defineConfig({
  appType: "mpa",
  plugins: [placed, served],
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  resolve: { alias: { "@common": new URL("common/page", import.meta.url).pathname } },
  server: {
    proxy: { "^/[a-z]+/api(/|$)": process.env.APPS ?? "http://127.0.0.1:8080" },
  },
  build: {
    outDir: process.env.OUT ?? "../build/pages",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    rollupOptions: { input: names.map((name) => `${name}/page/index.html`) },
  },
});
