/* A first query in each language, for a table of the server. */
import { cliCode } from "./code.js";

const bytesOf = (base64) => [...atob(base64)].map((character) => `0x${character.charCodeAt(0).toString(16).padStart(2, "0")}`);

/* The value of a key in each language that needs more than a string. Numbers have up to 38 digits: more than floating point has. */
function literals(type, value) {
  const q = JSON.stringify(value);
  const isSmall = /^-?\d{1,15}$/.test(value);
  switch (type) {
    case "N": return { python: isSmall ? value : `Decimal(${q})`, javascript: isSmall ? value : `NumberValue.from(${q})`, java: q, go: q, csharp: q, rust: `${q}.into()`, c: `gramme_set_number(gramme_request_values(query), ":v", ${q})` };
    case "B": {
      const bytes = bytesOf(value);
      return {
        python: `base64.b64decode(${q})`, javascript: `Buffer.from(${q}, "base64")`, java: `SdkBytes.fromByteArray(Base64.getDecoder().decode(${q}))`, go: `[]byte{${bytes.join(", ")}}`,
        csharp: `new MemoryStream(Convert.FromBase64String(${q}))`, rust: `Blob::new(vec![${bytes.join(", ")}])`, php: `base64_decode('${value}')`,
        c: `gramme_set_binary(gramme_request_values(query), ":v", (const unsigned char[]){${bytes.join(", ")}}, ${bytes.length})`,
      };
    }
    default: return { python: q, javascript: q, java: q, go: q, csharp: q, rust: `${q}.into()`, c: `gramme_set_string(gramme_request_values(query), ":v", ${q})` };
  }
}

/* table: a description, or null: the query reads a table of the sample data; values are those of an item, or placeholders. */
export function snippets({ endpoint, region, table, item }) {
  const name = table?.TableName ?? "Calls";
  const hash = table?.KeySchema.find((key) => key.KeyType === "HASH").AttributeName ?? "userId";
  const type = table?.AttributeDefinitions.find((one) => one.AttributeName === hash).AttributeType ?? "S";
  const value = item?.[hash]?.[type] ?? (type === "N" ? "1" : "ana");
  const h = JSON.stringify(hash);
  const single = (text) => `'${String(text).replace(/[\\']/g, "\\$&")}'`; /* a literal of PHP */
  const typed = literals(type, value);
  const isLong = typed.javascript.startsWith("NumberValue"); /* more digits than the SDK reads as a number */
  const imports = typed.python.startsWith("Decimal") ? "from decimal import Decimal\n\n" : typed.python.startsWith("base64") ? "import base64\n\n" : "";
  const code = {
    cli: `export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any AWS_DEFAULT_REGION=${region}

${cliCode("Query", { TableName: name, KeyConditionExpression: `#k = :v`, ExpressionAttributeNames: { "#k": hash }, ExpressionAttributeValues: { ":v": { [type]: value } } }, endpoint)}`,
    python: `${imports}import boto3
from boto3.dynamodb.conditions import Key

dynamodb = boto3.resource(
    "dynamodb", endpoint_url="${endpoint}", region_name="${region}",
    aws_access_key_id="any", aws_secret_access_key="any",
)
table = dynamodb.Table("${name}")
for item in table.query(KeyConditionExpression=Key(${h}).eq(${typed.python}))["Items"]:
    print(item)`,
    javascript: `import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, ${isLong ? "NumberValue, " : ""}QueryCommand } from "@aws-sdk/lib-dynamodb";

const client = DynamoDBDocumentClient.from(new DynamoDBClient({
  endpoint: "${endpoint}", region: "${region}",
  credentials: { accessKeyId: "any", secretAccessKey: "any" },
})${isLong ? ", { unmarshallOptions: { wrapNumbers: true } }" : ""});
const { Items } = await client.send(new QueryCommand({
  TableName: "${name}",
  KeyConditionExpression: "#k = :v",
  ExpressionAttributeNames: { "#k": ${h} },
  ExpressionAttributeValues: { ":v": ${typed.javascript} },
}));
console.log(Items);`,
    java: `DynamoDbClient client = DynamoDbClient.builder()
    .endpointOverride(URI.create("${endpoint}"))
    .region(Region.of("${region}"))
    .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("any", "any")))
    .build();

client.query(request -> request
    .tableName("${name}")
    .keyConditionExpression("#k = :v")
    .expressionAttributeNames(Map.of("#k", ${h}))
    .expressionAttributeValues(Map.of(":v", AttributeValue.from${type}(${typed.java}))))
    .items().forEach(System.out::println);`,
    go: `cfg, err := config.LoadDefaultConfig(ctx,
	config.WithRegion("${region}"),
	config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("any", "any", "")))
if err != nil {
	log.Fatal(err)
}
client := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
	o.BaseEndpoint = aws.String("${endpoint}")
})
out, err := client.Query(ctx, &dynamodb.QueryInput{
	TableName:                aws.String("${name}"),
	KeyConditionExpression:   aws.String("#k = :v"),
	ExpressionAttributeNames: map[string]string{"#k": ${h}},
	ExpressionAttributeValues: map[string]types.AttributeValue{
		":v": &types.AttributeValueMember${type}{Value: ${typed.go}},
	},
})`,
    csharp: `var client = new AmazonDynamoDBClient("any", "any",
    new AmazonDynamoDBConfig { ServiceURL = "${endpoint}", AuthenticationRegion = "${region}" });

var answer = await client.QueryAsync(new QueryRequest
{
    TableName = "${name}",
    KeyConditionExpression = "#k = :v",
    ExpressionAttributeNames = new() { ["#k"] = ${h} },
    ExpressionAttributeValues = new() { [":v"] = new AttributeValue { ${type} = ${typed.csharp} } },
});`,
    rust: `let config = aws_config::defaults(BehaviorVersion::latest())
    .endpoint_url("${endpoint}")
    .region(Region::new("${region}"))
    .credentials_provider(Credentials::new("any", "any", None, None, "static"))
    .load().await;
let client = aws_sdk_dynamodb::Client::new(&config);

let answer = client.query()
    .table_name("${name}")
    .key_condition_expression("#k = :v")
    .expression_attribute_names("#k", ${h})
    .expression_attribute_values(":v", AttributeValue::${type}(${typed.rust}))
    .send().await?;`,
    php: `$client = new Aws\\DynamoDb\\DynamoDbClient([
    'endpoint' => '${endpoint}', 'region' => '${region}', 'version' => 'latest',
    'credentials' => ['key' => 'any', 'secret' => 'any'],
]);
$answer = $client->query([
    'TableName' => '${name}',
    'KeyConditionExpression' => '#k = :v',
    'ExpressionAttributeNames' => ['#k' => ${single(hash)}],
    'ExpressionAttributeValues' => [':v' => ['${type}' => ${typed.php ?? single(value)}]],
]);`,
    c: `#include <gramme/gramme.h>
#include <stdio.h>

int main(void)
{
    struct gramme_error *error = NULL;
    struct gramme_db *db = gramme_open("${endpoint}", NULL, &error);
    struct gramme_request *query = gramme_request_create("Query", "${name}");
    gramme_request_key_condition(query, "#k = :v");
    gramme_request_name(query, "#k", ${h});
    ${typed.c};
    struct gramme_items *items = gramme_items_open(db, query);
    const struct gramme_value *item;
    while ((item = gramme_items_next(items, &error)) != NULL) {
        char *json = gramme_value_to_json(item, GRAMME_PLAIN, NULL);
        puts(json);
        gramme_free(json);
    }
    gramme_items_close(items);
    gramme_request_destroy(query);
    gramme_close(db);
    return error != NULL;
}`,
  };
  return [["cli", "AWS CLI"], ["python", "Python"], ["javascript", "JavaScript"], ["java", "Java"], ["go", "Go"], ["csharp", "C#"], ["rust", "Rust"], ["php", "PHP"], ["c", "C"]]
    .map(([id, label]) => [id, label, code[id]]);
}
