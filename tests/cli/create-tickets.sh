aws dynamodb create-table \
  --table-name poc-itsm-tickets \
  --attribute-definitions \
    AttributeName=ticket_id,AttributeType=S \
    AttributeName=caller_id,AttributeType=S \
    AttributeName=created_at,AttributeType=S \
  --key-schema \
    AttributeName=ticket_id,KeyType=HASH \
  --billing-mode PAY_PER_REQUEST \
  --global-secondary-indexes \
    "[{
      \"IndexName\": \"CallerIdIndex\",
      \"KeySchema\": [
        {\"AttributeName\": \"caller_id\", \"KeyType\": \"HASH\"},
        {\"AttributeName\": \"created_at\", \"KeyType\": \"RANGE\"}
      ],
      \"Projection\": {\"ProjectionType\": \"ALL\"}
    }]" \
  --tags \
    "[{\"Key\": \"Environment\", \"Value\": \"PoC\"}, {\"Key\": \"Project\", \"Value\": \"AI-L1-Support\"}]" \
  --region us-east-1
