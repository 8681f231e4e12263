"""Random requests for tags and time to live."""

TAG_KEYS = ["owner", "stage", "Stage", "a", "b", "c d", "ключ", "x:y/z"]
BAD_TAG_KEYS = ["", "k" * 129, "aws:x", "AWS:y", "a#b", "100%"]
TAG_VALUES = ["", "v", "w x", "a+b-c=d.e_f:g/h@i", "表", "v" * 256]
BAD_TAG_VALUES = ["v" * 257, "a,b", "\U0001f511"]
BAD_ARNS = ["", "alpha", "arn:", "arn:aws:dynamodb:r:0:table/", "arn:aws:dynamodb:r:0:table/ab", "arn:aws:dynamodb:r:0:table/a$b",
            "arn:aws:dynamodb:r:0:table/nothere", "arn:aws:dynamodb:r:0:tabl/alpha", "arn:aws:s3:::bucket"]
TTL_NAMES = ["expires", "expires", "ttl", "a", "pk"]


class TableExtras:
    """`generator` knows the tables there are."""

    def __init__(self, generator):
        self.generator = generator
        self.r = generator.r

    def arn(self):
        table = self.generator.table()
        if table is None or self.r.random() < 0.05:
            return self.r.choice(BAD_ARNS)
        return f"arn:aws:dynamodb:us-east-1:000000000000:table/{table.name}"

    def tag(self):
        r = self.r
        return {"Key": r.choice(BAD_TAG_KEYS if r.random() < 0.03 else TAG_KEYS),
                "Value": r.choice(BAD_TAG_VALUES if r.random() < 0.03 else TAG_VALUES)}

    def tags(self):
        r = self.r
        if r.random() < 0.05:
            return [{"Key": f"k{n}", "Value": "v"} for n in range(r.choice([0, 10, 40, 50, 51]))]
        tags = [self.tag() for _ in range(r.choice([1, 1, 2, 3]))]
        return tags if r.random() < 0.1 else list({tag["Key"]: tag for tag in tags}.values())

    def tag_resource(self):
        return "TagResource", {"ResourceArn": self.arn(), "Tags": self.tags()}

    def untag_resource(self):
        r = self.r
        keys = TAG_KEYS + [f"k{n}" for n in range(50)]
        if r.random() < 0.05:
            keys = BAD_TAG_KEYS
        count = r.choice([1, 1, 2, 30]) if r.random() < 0.95 else r.choice([0, 51])
        return "UntagResource", {"ResourceArn": self.arn(), "TagKeys": [r.choice(keys) for _ in range(count)]}

    def list_tags(self):
        return "ListTagsOfResource", {"ResourceArn": self.arn()}

    def update_time_to_live(self):
        r = self.r
        name = r.choice(TTL_NAMES) if r.random() < 0.97 else r.choice(["", "x" * 255, "x" * 256])
        return "UpdateTimeToLive", {
            "TableName": self.generator.table_name(self.generator.table()),
            "TimeToLiveSpecification": {"Enabled": r.random() < 0.6, "AttributeName": name}}

    def describe_time_to_live(self):
        return "DescribeTimeToLive", {"TableName": self.generator.table_name(self.generator.table())}

    def operations(self):
        """With their weights, as in generate.py."""
        return [(self.tag_resource, 2), (self.untag_resource, 1), (self.list_tags, 2), (self.update_time_to_live, 2),
                (self.describe_time_to_live, 1)]


def tags_of(client, arn):
    """By key; None if there is no such table."""
    answer = client.call("ListTagsOfResource", {"ResourceArn": arn})
    return {tag["Key"]: tag["Value"] for tag in answer.body["Tags"]} if answer.is_ok() else None


def restore_tags(gramme, oracle, arn):
    """Brings the oracle's tags back to ours."""
    ours, theirs = tags_of(gramme, arn), tags_of(oracle, arn)
    if ours is None or theirs is None or ours == theirs:
        return
    for key in theirs:
        oracle.call("UntagResource", {"ResourceArn": arn, "TagKeys": [key]})
    if ours:
        oracle.call("TagResource", {"ResourceArn": arn, "Tags": [{"Key": k, "Value": v} for k, v in ours.items()]})


def restore_time_to_live(gramme, oracle, table):
    """Brings the oracle's time to live back to ours."""
    def change(name, enabled):
        oracle.call("UpdateTimeToLive", {"TableName": table, "TimeToLiveSpecification": {"Enabled": enabled, "AttributeName": name}})

    ours, theirs = (client.call("DescribeTimeToLive", {"TableName": table}).body.get("TimeToLiveDescription", {})
                    for client in (gramme, oracle))
    if "AttributeName" in theirs and theirs["AttributeName"] != ours.get("AttributeName"):
        change(theirs["AttributeName"], False)
    if "AttributeName" in ours and theirs.get("AttributeName") != ours["AttributeName"]:
        change(ours["AttributeName"], True)
