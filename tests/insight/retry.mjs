// Reads 20 items with the SDK's own retries; prints how many attempts that took. node retry.mjs ENDPOINT TABLE
import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
const client = new DynamoDBClient({ endpoint: process.argv[2], region: "us-east-1", maxAttempts: 10,
    credentials: { accessKeyId: "x", secretAccessKey: "y" } });
let attempts = 0;
for (let i = 0; i < 20; i++) {
    const answer = await client.send(new GetItemCommand({ TableName: process.argv[3], Key: { pk: { S: "k" + i } } }));
    attempts += answer.$metadata.attempts;
}
console.log(attempts);
