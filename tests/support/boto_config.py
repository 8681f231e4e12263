"""How boto3's clients are made: any credentials, and no retries, which would hide errors."""

from botocore.config import Config


def boto3_config():
    return dict(region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test",
                config=Config(retries={"max_attempts": 0}, max_pool_connections=64))
