"""Contributor Insights: UpdateContributorInsights, DescribeContributorInsights and ListContributorInsights. Words of refusals are in
tests/conformance. Older versions of boto3 do not know ContributorInsightsMode and leave it out."""

import re

import boto3
import pytest

from backups import create_backup, restore
from boto_config import boto3_config
from boto_errors import fails_with
from server import Server
from tables import create_table, unique_name
from waiting import poll
from wire import Client, invalid, refused

ACCESSED = "ACCESSED_AND_THROTTLED_KEYS"
THROTTLED = "THROTTLED_KEYS"


def answer(response):
    return {name: value for name, value in response.items() if name not in ("ResponseMetadata", "ContributorInsightsMode")}


def update(db, table, action, **more):
    return db.UpdateContributorInsights(TableName=table, ContributorInsightsAction=action, **more)


def rules(description):
    """{kind: (name, number)} of the rules."""
    found = [re.fullmatch(r"DynamoDBContributorInsights-([A-Z]{3})-(.+)-(\d{13})", rule)
             for rule in description.get("ContributorInsightsRuleList", [])]
    return {rule[1]: (rule[2], int(rule[3])) for rule in found}


def test_a_table_from_first_to_last(boto, db):
    table = create_table(db)
    assert answer(boto.describe_contributor_insights(TableName=table)) == {
        "TableName": table, "ContributorInsightsStatus": "DISABLED"}
    enabled = boto.update_contributor_insights(TableName=table, ContributorInsightsAction="ENABLE")
    assert answer(enabled) == {
        "TableName": table, "ContributorInsightsStatus": "ENABLING"}
    description = boto.describe_contributor_insights(TableName=table)
    assert description["ContributorInsightsStatus"] == "ENABLED"
    assert db.DescribeContributorInsights(TableName=table)["ContributorInsightsMode"] == ACCESSED
    assert set(rules(description)) == {"PKC", "PKT"}
    since = description["LastUpdateDateTime"]
    number = rules(description)["PKC"][1]
    assert rules(description) == {"PKC": (table, number), "PKT": (table, number)}
    assert abs(number / 1000 - since.timestamp()) < 0.002
    disabled = boto.update_contributor_insights(TableName=table, ContributorInsightsAction="DISABLE")
    assert disabled["ContributorInsightsStatus"] == "DISABLING"
    last = answer(boto.describe_contributor_insights(TableName=table))
    assert last.pop("LastUpdateDateTime") >= since
    assert last == {"TableName": table, "ContributorInsightsStatus": "DISABLED"}
    assert db.DescribeContributorInsights(TableName=table)["ContributorInsightsMode"] == ACCESSED


def test_an_action_twice_changes_nothing(db):
    table = create_table(db)
    assert update(db, table, "DISABLE") == {"TableName": table, "ContributorInsightsStatus": "DISABLED"}
    assert "LastUpdateDateTime" not in db.DescribeContributorInsights(TableName=table)
    assert update(db, table, "ENABLE")["ContributorInsightsStatus"] == "ENABLING"
    before = db.DescribeContributorInsights(TableName=table)
    assert update(db, table, "ENABLE")["ContributorInsightsStatus"] == "ENABLED"
    assert db.DescribeContributorInsights(TableName=table) == before
    assert update(db, table, "DISABLE")["ContributorInsightsStatus"] == "DISABLING"
    assert update(db, table, "DISABLE")["ContributorInsightsStatus"] == "DISABLED"


def test_modes(db):
    table = create_table(db, "pk sk:N")
    update(db, table, "ENABLE", ContributorInsightsMode=THROTTLED)
    throttled = db.DescribeContributorInsights(TableName=table)
    assert throttled["ContributorInsightsMode"] == THROTTLED
    assert list(rules(throttled)) == ["PKT", "SKT"]
    changed = update(db, table, "ENABLE")  # without a mode: all keys
    assert changed["ContributorInsightsStatus"] == "ENABLING" and changed["ContributorInsightsMode"] == ACCESSED
    accessed = db.DescribeContributorInsights(TableName=table)
    assert list(rules(accessed)) == ["PKC", "PKT", "SKC", "SKT"]
    assert rules(accessed)["PKT"] == rules(throttled)["PKT"], "the number stays"
    update(db, table, "DISABLE")
    assert rules(db.DescribeContributorInsights(TableName=table)) == {}


def test_indexes_have_their_own(db):
    table = create_table(db, "pk sk", gsi={"plain": "a", "sorted": "a b"}, lsi={"local": "pk c"})
    enabled = update(db, table, "ENABLE", IndexName="sorted")
    assert enabled["IndexName"] == "sorted"
    description = db.DescribeContributorInsights(TableName=table, IndexName="sorted")
    assert {name for name, _ in rules(description).values()} == {"sorted"}
    assert set(rules(description)) == {"PKC", "PKT", "SKC", "SKT"}
    for name in ({}, {"IndexName": "plain"}):
        assert db.DescribeContributorInsights(TableName=table, **name)["ContributorInsightsStatus"] == "DISABLED"
    with refused("ResourceNotFoundException"):
        update(db, table, "ENABLE", IndexName="local")
    db.UpdateTable(TableName=table, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "sorted"}}])
    poll(lambda: len(db.DescribeTable(TableName=table)["Table"]["GlobalSecondaryIndexes"]) == 1, 30, "the index is deleted")
    with refused("ResourceNotFoundException"):
        db.DescribeContributorInsights(TableName=table, IndexName="sorted")
    assert db.ListContributorInsights(TableName=table) == {"ContributorInsightsSummaries": []}


def listed(db, **request):
    found = []
    while True:
        page = db.ListContributorInsights(**request)
        found += [(summary["TableName"], summary.get("IndexName"), summary["ContributorInsightsMode"])
                  for summary in page["ContributorInsightsSummaries"]]
        if "NextToken" not in page:
            return found
        request["NextToken"] = page["NextToken"]


@pytest.fixture
def own(start_server):
    with Client(start_server("memory:").endpoint) as db:
        yield db


def test_lists(own):
    db = own
    first = create_table(db, "pk", name="a-table", gsi={"by-x": "x", "by-a": "a"})
    second = create_table(db, "pk", name="b-table")
    create_table(db, "pk", name="c-table")
    for table, more in ((second, {}), (first, {"IndexName": "by-a", "ContributorInsightsMode": THROTTLED}), (first, {"IndexName": "by-x"})):
        update(db, table, "ENABLE", **more)
    expected = [(first, "by-x", ACCESSED), (first, "by-a", THROTTLED), (second, None, ACCESSED)]
    assert listed(db) == expected
    boto = boto3.client("dynamodb", endpoint_url=db.endpoint, **boto3_config())
    assert [summary["TableName"] for summary in boto.list_contributor_insights()["ContributorInsightsSummaries"]] == [first, first, second]
    update(db, first, "ENABLE")
    expected.insert(0, (first, None, ACCESSED))
    for size in (1, 2, 3, 4, 100):
        assert listed(db, MaxResults=size) == expected, size
    assert listed(db, TableName=first, MaxResults=2) == expected[:3]
    page = db.ListContributorInsights(MaxResults=4)
    assert "NextToken" not in page, "nothing is left"
    with invalid():
        db.ListContributorInsights(NextToken="never given out")
    update(db, first, "DISABLE")
    assert listed(db) == expected[1:]
    db.DeleteTable(TableName=second)
    poll(lambda: listed(db) == expected[1:3], 30, "the deleted table is not listed")


def test_states_last_as_long_as_those_of_tables(start_server):
    with Client(start_server("memory:", "--table-delay-ms", "1500").endpoint) as db:
        table = unique_name()
        db.CreateTable(TableName=table, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                       AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
        with invalid("Table or Index is not in a valid state to update Key Access Insights: TableStatus must be ACTIVE to enable "
                     "ContributorInsights."):
            update(db, table, "ENABLE")
        poll(lambda: db.DescribeTable(TableName=table)["Table"]["TableStatus"] == "ACTIVE", 30, "the table is active")
        for action, state, settled in (("ENABLE", "ENABLING", "ENABLED"), ("DISABLE", "DISABLING", "DISABLED")):
            assert update(db, table, action)["ContributorInsightsStatus"] == state
            assert db.DescribeContributorInsights(TableName=table)["ContributorInsightsStatus"] == state
            assert len(db.ListContributorInsights()["ContributorInsightsSummaries"]) == 1
            poll(lambda expected=settled: db.DescribeContributorInsights(TableName=table)["ContributorInsightsStatus"] == expected,
                 30, f"{action} has settled")


def test_errors(boto, db):
    table = create_table(db)
    with fails_with("ResourceNotFoundException"):
        boto.update_contributor_insights(TableName="nowhere", ContributorInsightsAction="ENABLE")
    with fails_with("ResourceNotFoundException"):
        boto.update_contributor_insights(TableName=table, IndexName="none", ContributorInsightsAction="ENABLE")
    with fails_with("ValidationException"):
        boto.update_contributor_insights(TableName=table, ContributorInsightsAction="DELETE")
    assert db.DescribeContributorInsights(TableName=table) == {"TableName": table, "ContributorInsightsStatus": "DISABLED"}


def test_outlives_a_restart_but_not_a_restore(tmp_path):
    store = f"rocksdb:{tmp_path}/data"
    server = Server(store)
    with Client(server.endpoint) as db:
        table = create_table(db, "pk", gsi={"by-a": "a"})
        update(db, table, "ENABLE")
        update(db, table, "ENABLE", IndexName="by-a", ContributorInsightsMode=THROTTLED)
        before = [db.DescribeContributorInsights(TableName=table, **name) for name in ({}, {"IndexName": "by-a"})]
    server.stop()
    server = Server(store)
    with Client(server.endpoint) as db:
        assert [db.DescribeContributorInsights(TableName=table, **name) for name in ({}, {"IndexName": "by-a"})] == before
        copy = restore(db, create_backup(db, table), unique_name())["TableName"]
        for name in ({}, {"IndexName": "by-a"}):
            assert db.DescribeContributorInsights(TableName=copy, **name)["ContributorInsightsStatus"] == "DISABLED"
    server.stop()
