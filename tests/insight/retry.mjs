// Reads 20 items, or writes 10, with the SDK's own retries; prints how many attempts that took. node retry.mjs ENDPOINT TABLE read|write
import { DynamoDBClient, GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
const [endpoint, table, action] = process.argv.slice(2);
const client = new DynamoDBClient({ endpoint, region: "us-east-1", maxAttempts: 12, credentials: { accessKeyId: "x", secretAccessKey: "y" } });
const command = { read: (pk) => new GetItemCommand({ TableName: table, Key: { pk } }), write: (pk) => new PutItemCommand({ TableName: table, Item: { pk } }) }[action];
let attempts = 0;
for (let i = 0; i < (action === "read" ? 20 : 10); i++) {
    attempts += (await client.send(command({ S: "k" + i }))).$metadata.attempts;
}
console.log(attempts);
