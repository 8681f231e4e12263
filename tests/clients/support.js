// What the walks through JavaScript clients share: the server of tests/clients/run.py, clients of it, tables.
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'

export const endpoint = process.env.AWS_ENDPOINT_URL
export const config = { endpoint, region: 'us-east-1', credentials: { accessKeyId: 'any', secretAccessKey: 'any' } }
export const client = new DynamoDBClient(config)
export const document = DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } })

/** Creates a table. Keys are 'pk', 'pk sk' or 'pk sk:N'; indexes are the same by name. */
export async function createTable(name, key, { global = {}, local = {}, ...more } = {}) {
  const types = {}
  const schema = (text) => text.split(' ').map((word, i) => {
    const [attribute, type = 'S'] = word.split(':')
    types[attribute] = type
    return { AttributeName: attribute, KeyType: i === 0 ? 'HASH' : 'RANGE' }
  })
  const indexes = (all) => Object.entries(all).map(([IndexName, text]) => ({ IndexName, KeySchema: schema(text), Projection: { ProjectionType: 'ALL' } }))
  const request = { TableName: name, BillingMode: 'PAY_PER_REQUEST', KeySchema: schema(key), ...more }
  if (Object.keys(global).length > 0) {
    request.GlobalSecondaryIndexes = indexes(global)
  }
  if (Object.keys(local).length > 0) {
    request.LocalSecondaryIndexes = indexes(local)
  }
  request.AttributeDefinitions = Object.entries(types).map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType }))
  await client.send(new CreateTableCommand(request))
}
