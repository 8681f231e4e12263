// Compiles the TypeScript sources of a package, tests included, to a folder beside it: node transpile.mjs PACKAGE TARGET EXCLUDED...
import fs from 'node:fs'
import path from 'node:path'
import ts from 'typescript'

const [source, target, ...excluded] = process.argv.slice(2)
fs.rmSync(target, { recursive: true, force: true })
for (const name of fs.readdirSync(source, { recursive: true })) {
  const from = path.join(source, name)
  if (!name.endsWith('.ts') || name.endsWith('.d.ts') || excluded.includes(name)) {
    continue
  }
  const { outputText } = ts.transpileModule(fs.readFileSync(from, 'utf8'), {
    compilerOptions: { module: 'commonjs', target: 'es2019', emitDecoratorMetadata: true, experimentalDecorators: true, esModuleInterop: true },
  })
  const to = path.join(target, name.replace(/\.ts$/, '.js'))
  fs.mkdirSync(path.dirname(to), { recursive: true })
  fs.writeFileSync(to, outputText)
}
fs.writeFileSync(path.join(target, 'package.json'), '{"type": "commonjs"}\n')
