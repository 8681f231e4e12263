"""boto3's errors by code."""

import contextlib

from botocore.exceptions import ClientError


@contextlib.contextmanager
def fails_with(code):
    """The block must raise ClientError with this code; its response is in `.response`."""
    caught = type("Caught", (), {"response": None})()
    try:
        yield caught
    except ClientError as error:
        assert error.response["Error"]["Code"] == code, error
        caught.response = error.response
    else:
        raise AssertionError(f"did not fail with {code}")


def condition_failed():
    return fails_with("ConditionalCheckFailedException")
