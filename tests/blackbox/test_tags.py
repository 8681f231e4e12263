"""TagResource, UntagResource, ListTagsOfResource, and tags of CreateTable. Words of refusals are in
tests/conformance."""

import json

import pytest

from boto_errors import fails_with
from racing import race
from tables import create_table
from values import item, values
from wire import Client, invalid, refused


def tags_of(db, arn):
    return {tag["Key"]: tag["Value"] for tag in db.ListTagsOfResource(ResourceArn=arn)["Tags"]}


def tag(db, arn, **tags):
    db.TagResource(ResourceArn=arn, Tags=[{"Key": key, "Value": value} for key, value in tags.items()])


def arn_of(db, table):
    return db.DescribeTable(TableName=table)["Table"]["TableArn"]


@pytest.fixture
def arn(db, make_table):
    return arn_of(db, make_table("pk"))


def test_set_change_and_remove(db, arn):
    assert tags_of(db, arn) == {}
    tag(db, arn, owner="blue", stage="test")
    tag(db, arn, owner="red", team="x")
    assert tags_of(db, arn) == {"owner": "red", "stage": "test", "team": "x"}
    db.UntagResource(ResourceArn=arn, TagKeys=["stage", "never-set", "stage"])
    assert tags_of(db, arn) == {"owner": "red", "team": "x"}


def test_keys_and_values_are_told_apart_by_case_and_may_be_empty(db, arn):
    tag(db, arn, Env="", env="x", ENV="X")
    assert tags_of(db, arn) == {"Env": "", "env": "x", "ENV": "X"}


def test_tags_of_creation(db, make_table):
    arn = arn_of(db, make_table("pk", Tags=[{"Key": "a", "Value": "1"}, {"Key": "b", "Value": ""}]))
    assert tags_of(db, arn) == {"a": "1", "b": ""}
    tag(db, arn, a="2")
    assert tags_of(db, arn) == {"a": "2", "b": ""}


def test_no_more_than_fifty(db, arn):
    tag(db, arn, **{f"k{number}": "v" for number in range(50)})
    with invalid("Number of Tags exceed the current limit for the provided ResourceArn"):
        tag(db, arn, k0="new", one_more="v")
    assert tags_of(db, arn) == {f"k{number}": "v" for number in range(50)}
    tag(db, arn, k0="new")
    db.UntagResource(ResourceArn=arn, TagKeys=["k1"])
    tag(db, arn, one_more="v")
    assert len(tags_of(db, arn)) == 50


def test_other_partitions(db, arn):
    """A policy about the table's ARN would not match such a request."""
    with refused("ValidationException"):
        tag(db, arn.replace("arn:aws:", "arn:aws-cn:"), a="1")
    assert tags_of(db, arn) == {}


def test_bytes_of_the_largest_tags(db, arn):
    """50 tags with keys of 128 and values of 256 letters of four bytes are near what is possible."""
    tags = {f"{number:02}" + "\u8868" * 126: "\u8868" * 256 for number in range(50)}
    tag(db, arn, **tags)
    assert tags_of(db, arn) == tags


def test_racing_calls_lose_nothing(endpoint, db, arn):
    def work(client, number):
        for step in range(5):
            tag(client, arn, **{f"{number}-{step}": "v"})
        client.UntagResource(ResourceArn=arn, TagKeys=[f"{number}-0"])
    race(endpoint, 8, work)
    assert set(tags_of(db, arn)) == {f"{number}-{step}" for number in range(8) for step in range(1, 5)}


def test_writes_go_on_while_tags_change(endpoint, db, make_table):
    """Each change makes a new description of the table; writes that know an older one are not lost."""
    table = make_table("pk", gsi={"by-a": "a"})
    arn = arn_of(db, table)

    def work(client, number):
        for step in range(50):
            if number == 0:
                tag(client, arn, step=str(step))
            else:
                client.UpdateItem(TableName=table, Key=item(pk="k"), UpdateExpression="ADD n :one SET a = :a",
                                  ExpressionAttributeValues=values(one=1, a=f"{number}-{step}"))
    race(endpoint, 4, work)
    assert db.GetItem(TableName=table, Key=item(pk="k"))["Item"]["n"] == {"N": "150"}
    assert db.Scan(TableName=table, IndexName="by-a")["Count"] == 1


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_survive_a_restart(start_server, tmp_path, how):
    store = f"rocksdb:{tmp_path}/data"
    server = start_server(store)
    with Client(server.endpoint) as db:
        arn = arn_of(db, create_table(db, name="kept", Tags=[{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}]))
        tag(db, arn, c="3")
        db.UntagResource(ResourceArn=arn, TagKeys=["a"])
    getattr(server, how)()
    with Client(start_server(store).endpoint) as db:
        assert tags_of(db, arn) == {"b": "2", "c": "3"}


def test_a_table_made_anew_has_none(db, make_table):
    table = make_table("pk", Tags=[{"Key": "a", "Value": "1"}])
    db.DeleteTable(TableName=table)
    arn = arn_of(db, create_table(db, name=table))
    assert tags_of(db, arn) == {}


def test_a_table_that_is_not_there(db, arn):
    missing = arn + "-missing"
    text = f"Requested resource not found: ResourceArn: {missing} not found"
    with refused("ResourceNotFoundException", text):
        tag(db, missing, a="1")
    with refused("ResourceNotFoundException", text):
        db.UntagResource(ResourceArn=missing, TagKeys=["a"])
    with refused("ResourceNotFoundException", text):
        db.ListTagsOfResource(ResourceArn=missing)


def test_changes_have_empty_answers(db, arn):
    for operation, more in (("TagResource", {"Tags": [{"Key": "a", "Value": "1"}]}), ("UntagResource", {"TagKeys": ["a"]})):
        answer = db.send(operation, json.dumps({"ResourceArn": arn, **more}).encode())
        assert (answer.status, answer.body) == (200, b"")
        assert answer.headers["content-length"] == "0" and answer.headers["x-amz-crc32"] == "0"


def test_a_table_that_is_being_made(start_server):
    with Client(start_server("memory:", "--table-delay-ms", "60000").endpoint) as db:
        arn = db.CreateTable(TableName="slow", BillingMode="PAY_PER_REQUEST", Tags=[{"Key": "a", "Value": "1"}],
                             KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                             AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                             )["TableDescription"]["TableArn"]
        with refused("ResourceInUseException"):
            tag(db, arn, b="2")
        with refused("ResourceNotFoundException"):
            db.ListTagsOfResource(ResourceArn=arn)


def test_boto3_and_its_paginator(boto, db, arn):
    boto.tag_resource(ResourceArn=arn, Tags=[{"Key": f"k{number:02}", "Value": "v"} for number in range(50)])
    pages = boto.get_paginator("list_tags_of_resource").paginate(ResourceArn=arn)
    assert [tag["Key"] for page in pages for tag in page["Tags"]] == [f"k{number:02}" for number in range(50)]
    boto.untag_resource(ResourceArn=arn, TagKeys=["k00"])
    assert len(boto.list_tags_of_resource(ResourceArn=arn)["Tags"]) == 49
    with fails_with("ValidationException"):
        boto.tag_resource(ResourceArn=arn, Tags=[{"Key": "aws:x", "Value": "v"}])
