"""The `aws dynamodb create-table` commands of the applications' documents, unchanged."""


def test_create_table_Calls(cli):
    made = cli.document("create-calls.sh")["TableDescription"]
    assert made["TableName"] == "Calls"
    cli.run("aws dynamodb wait table-exists --table-name Calls")
    table = cli.run("aws dynamodb describe-table --table-name Calls")["Table"]
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert {index["IndexName"]: [key["AttributeName"] for key in index["KeySchema"]]
            for index in table["GlobalSecondaryIndexes"]} == {
        "byCallId": ["callId"], "byProvider": ["providerId", "sk"], "byUserStatus": ["userStatus", "sk"]}
    cli.run("""
        aws dynamodb put-item --table-name Calls --item '{
          "userId": {"S": "user-1"}, "sk": {"S": "1700000000000#call-1"}, "callId": {"S": "call-1"},
          "providerId": {"S": "p-1"}, "status": {"S": "SCHEDULED"}, "scheduledFor": {"N": "1700000000000"},
          "userStatus": {"S": "user-1#SCHEDULED"}}' \
          --condition-expression 'attribute_not_exists(userId) AND attribute_not_exists(sk)'""")
    found = cli.run("""
        aws dynamodb query --table-name Calls --index-name byUserStatus --limit 1 \
          --key-condition-expression 'userStatus = :u AND sk >= :now' \
          --expression-attribute-values '{":u": {"S": "user-1#SCHEDULED"}, ":now": {"S": "1600000000000"}}'
        """)
    assert [each["callId"]["S"] for each in found["Items"]] == ["call-1"]
    cli.run("aws dynamodb delete-table --table-name Calls")
    cli.run("aws dynamodb wait table-not-exists --table-name Calls")


def test_create_table_poc_itsm_tickets(cli):
    made = cli.document("create-tickets.sh")["TableDescription"]
    assert made["TableName"] == "poc-itsm-tickets"
    assert made["TableArn"].startswith("arn:aws:dynamodb:us-east-1:")
    index, = made["GlobalSecondaryIndexes"]
    assert index["IndexName"] == "CallerIdIndex"
    assert [key["AttributeName"] for key in index["KeySchema"]] == ["caller_id", "created_at"]
    cli.run("aws dynamodb wait table-exists --table-name poc-itsm-tickets")
    cli.run("aws dynamodb delete-table --table-name poc-itsm-tickets")
    cli.run("aws dynamodb wait table-not-exists --table-name poc-itsm-tickets")
