# The table of the reconciliation for Terraform; the same as schema.json, which a test compares.
# The document's index has provisioned capacity ("Adjust based on failure rate"); with
# billing_mode = "PROVISIONED" add read_capacity and write_capacity to table and index.

resource "aws_dynamodb_table" "call_records" {
  name         = "CallRecords"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "PK"
  range_key    = "SK"

  attribute {
    name = "PK"
    type = "S"
  }

  attribute {
    name = "SK"
    type = "S"
  }

  attribute {
    name = "GSI_Recon_PK"
    type = "S"
  }

  attribute {
    name = "GSI_Recon_SK"
    type = "S"
  }

  global_secondary_index {
    name               = "ReconciliationIndex"
    hash_key           = "GSI_Recon_PK"
    range_key          = "GSI_Recon_SK"
    projection_type    = "INCLUDE"
    non_key_attributes = ["TenantId", "CallId", "AudioReceived", "ProcessingStatus", "NotBefore"]
  }

  # For live updates.
  stream_enabled   = true
  stream_view_type = "NEW_AND_OLD_IMAGES"
}
