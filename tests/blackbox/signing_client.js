// The AWS SDK for JavaScript as a client that signs: node signing_client.js ENDPOINT header|query
// Credentials come from the environment, or with header from the profile that it names. Prints the names of the tables, or the name of the error.
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';

const [endpoint, form] = process.argv.slice(2);

async function byHeader() {
  const client = new DynamoDBClient({ endpoint, region: 'us-east-1', maxAttempts: 1 });
  return (await client.send(new ListTablesCommand({}))).TableNames;
}

async function byQuery() {
  const { hostname, port, protocol, host } = new URL(endpoint);
  const credentials = {
    accessKeyId: process.env.AWS_ACCESS_KEY_ID, secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY,
  };
  const signer = new SignatureV4({ credentials, region: 'us-east-1', service: 'dynamodb', sha256: Sha256 });
  const headers = { host, 'x-amz-target': 'DynamoDB_20120810.ListTables', 'content-type': 'application/x-amz-json-1.0' };
  const request = { method: 'POST', hostname, port: Number(port), protocol, path: '/', query: {}, headers, body: '{}' };
  const signed = await signer.presign(request, { expiresIn: 60, unhoistableHeaders: new Set(['x-amz-target']) });
  const query = Object.entries(signed.query).map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
  const answer = await fetch(`${endpoint}/?${query}`, { method: 'POST', headers: signed.headers, body: '{}' });
  const body = await answer.json();
  if (answer.status !== 200) {
    throw Object.assign(new Error(body.message), { name: body.__type.split('#')[1] });
  }
  return body.TableNames;
}

try {
  console.log(JSON.stringify(await (form === 'query' ? byQuery() : byHeader())));
} catch (error) {
  console.log(JSON.stringify(error.name));
}
