// Prints the operations of DynamoDB and of its streams with all their parameters as JSON, from the models in the AWS SDK
// for JavaScript (tests/node_modules): {"version": "3.965.0", "operations": {"GetItem": ["TableName", "Key", ...]}}.
// Parameters of parameters are paths: TransactItems[].Put.Item.
import { createRequire } from 'node:module'

const require = createRequire(new URL('../../tests/package.json', import.meta.url))
const [LIST, MAP, STRUCTURE, UNION, OPERATION] = [1, 2, 3, 4, 9]
const VALUES = new Set(['AttributeValue'])

/** Adds the paths below a schema to `paths`; `seen` are the structures around it. */
function collect(schema, path, paths, seen) {
  const resolved = typeof schema === 'function' ? schema() : schema
  if (!Array.isArray(resolved)) {
    return // a string, number, boolean, or a list or map of those
  }
  if (resolved.length === 2) {
    collect(resolved[0], path, paths, seen) // with traits
    return
  }
  const [kind, , name, , first, second] = resolved
  if (kind === LIST) {
    collect(first, `${path}[]`, paths, seen)
  } else if (kind === MAP) {
    collect(second, `${path}{}`, paths, seen)
  } else if ((kind === STRUCTURE || kind === UNION) && !VALUES.has(name) && !seen.includes(name)) {
    first.forEach((member, i) => {
      const below = path === '' ? member : `${path}.${member}`
      paths.push(below)
      collect(second[i], below, paths, [...seen, name])
    })
  }
}

const operations = {}
for (const packageName of ['@aws-sdk/client-dynamodb', '@aws-sdk/client-dynamodb-streams']) {
  for (const schema of Object.values(require(packageName))) {
    if (Array.isArray(schema) && schema[0] === OPERATION) {
      operations[schema[2]] = []
      collect(schema[4], '', operations[schema[2]], [])
    }
  }
}
const { version } = require('@aws-sdk/client-dynamodb/package.json')
console.log(JSON.stringify({ version, operations }, null, 1))
