"""Time to live: switching it on, and waiting for what it does."""

from values import item
from waiting import poll

FIVE_YEARS = 5 * 365 * 24 * 3600


def describe_ttl(db, table):
    return db.DescribeTimeToLive(TableName=table)["TimeToLiveDescription"]


def start_ttl(db, table, attribute="expires"):
    """Asks for expiry by this attribute. Items that are there may still have to be looked at afterwards."""
    db.UpdateTimeToLive(TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": attribute})


def stop_ttl(db, table, attribute="expires"):
    db.UpdateTimeToLive(TableName=table, TimeToLiveSpecification={"Enabled": False, "AttributeName": attribute})


def wait_enabled(db, table, seconds=60):
    return poll(lambda: describe_ttl(db, table)["TimeToLiveStatus"] == "ENABLED", seconds,
                f"time to live of {table} is ENABLED")


def enable_ttl(db, table, attribute="expires"):
    start_ttl(db, table, attribute)
    wait_enabled(db, table)


def is_there(db, table, **key):
    return "Item" in db.GetItem(TableName=table, Key=item(**key), ConsistentRead=True)


def wait_gone(db, table, seconds=60, **key):
    poll(lambda: not is_there(db, table, **key), seconds, f"{key} of {table} has expired")
