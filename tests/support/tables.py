"""Tables for tests, described in few words.

A key is "hash" or "hash range"; an attribute is a name, or name:TYPE (S if not said); commas join
the attributes of a composite key: "tenant,year:N month:N,day:N".

An index is its key, or (key, projection) where projection is "KEYS_ONLY" or a list of names."""

import itertools
import os

from waiting import poll

_numbers = itertools.count(1)


def unique_name(prefix="t"):
    return f"{prefix}-{os.getpid()}-{next(_numbers)}"


def _split(key):
    """[[(name, type), ...] of HASH, the same of RANGE]"""
    parts = []
    for word in key.split():
        parts.append([(name, kind or "S") for name, _, kind in
                      (attribute.partition(":") for attribute in word.split(","))])
    return parts


def key_schema(key):
    return [{"AttributeName": name, "KeyType": role}
            for role, part in zip(("HASH", "RANGE"), _split(key)) for name, _ in part]


def definitions(*keys):
    kinds = {name: kind for key in keys for part in _split(key) for name, kind in part}
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in kinds.items()]


def index_request(name, index):
    key, projection = (index, "ALL") if isinstance(index, str) else index
    return {"IndexName": name, "KeySchema": key_schema(key), "Projection": (
        {"ProjectionType": projection} if isinstance(projection, str) else
        {"ProjectionType": "INCLUDE", "NonKeyAttributes": projection})}


def table_request(name, key="pk", gsi=None, lsi=None, **more):
    """The CreateTable request; more members override."""
    keys = [key] + [index if isinstance(index, str) else index[0]
                    for index in (*(gsi or {}).values(), *(lsi or {}).values())]
    request = {"TableName": name, "KeySchema": key_schema(key),
               "AttributeDefinitions": definitions(*keys), "BillingMode": "PAY_PER_REQUEST"}
    if gsi:
        request["GlobalSecondaryIndexes"] = [index_request(*pair) for pair in gsi.items()]
    if lsi:
        request["LocalSecondaryIndexes"] = [index_request(*pair) for pair in lsi.items()]
    request.update(more)
    return request


def wait_active(db, name, seconds=60):
    """Until the table and its indexes are ACTIVE; gives its description."""
    def probe():
        table = db.DescribeTable(TableName=name)["Table"]
        states = [table["TableStatus"]] + [
            index["IndexStatus"] for index in table.get("GlobalSecondaryIndexes", [])]
        return set(states) == {"ACTIVE"} and table
    return poll(probe, seconds, f"table {name} is active")


def create_table(db, key="pk", name=None, **more):
    name = name or unique_name()
    answer = db.CreateTable(**table_request(name, key, **more))
    if answer["TableDescription"]["TableStatus"] != "ACTIVE" or more.get("gsi"):
        wait_active(db, name)
    return name


def put_all(db, table, wire_items):
    """Puts items 25 at a time."""
    todo = [{"PutRequest": {"Item": wire_item}} for wire_item in wire_items]
    while todo:
        batch, todo = todo[:25], todo[25:]
        left = db.BatchWriteItem(RequestItems={table: batch})["UnprocessedItems"]
        todo = left.get(table, []) + todo


def pages(call, **request):
    """Every page of a Query or Scan, by ExclusiveStartKey."""
    while True:
        page = call(**request)
        yield page
        if "LastEvaluatedKey" not in page:
            return
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def all_items(call, **request):
    return [wire_item for page in pages(call, **request) for wire_item in page["Items"]]
