"""CreateTable requests for boto3 in the documents' words."""


def keys(partition, sort=None):
    schema = [{"AttributeName": partition, "KeyType": "HASH"}]
    if sort:
        schema.append({"AttributeName": sort, "KeyType": "RANGE"})
    return schema


def strings(*names):
    return [{"AttributeName": name, "AttributeType": "S"} for name in names]


def index(name, partition, sort=None, projection="ALL", **more):
    """projection: ALL, KEYS_ONLY, or a list of attributes to include."""
    return {"IndexName": name, "KeySchema": keys(partition, sort), "Projection": (
        {"ProjectionType": projection} if isinstance(projection, str) else
        {"ProjectionType": "INCLUDE", "NonKeyAttributes": projection}), **more}
