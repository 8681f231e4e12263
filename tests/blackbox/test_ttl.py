"""Time to live: UpdateTimeToLive, DescribeTimeToLive, and the deletion of expired items. A canary item
that expires last shows when a sweep has finished."""

import itertools
import os
import time
from decimal import Decimal

import pytest

from clock import TEST_CLOCK, advance_clock, read_clock, set_clock
from expiry import FIVE_YEARS, describe_ttl, enable_ttl, is_there, start_ttl, stop_ttl, wait_enabled, wait_gone
from racing import race
from server import Server
from tables import create_table, put_all
from values import Raw, item, plain, values
from waiting import poll
from wire import Client, Refused, invalid, refused

DAY = 86_400
MODIFIED = "Time to live has been modified multiple times within a fixed interval"


@pytest.fixture(scope="module")
def clock_server():
    if "GRAMME_ENDPOINT" in os.environ:
        pytest.skip("needs a server of its own")
    with Server("memory:", *TEST_CLOCK) as server:
        yield server


@pytest.fixture
def db(clock_server):
    with Client(clock_server.endpoint) as client:
        set_clock(client, int(time.time()))
        yield client


_canaries = itertools.count()


def wait_for_canary(db, table):
    """Returns when an item that is put now, due at once, has been swept: so have all that were due."""
    name = f"canary {next(_canaries)}"
    put(db, table, name, read_clock(db) + 1)
    advance_clock(db, 3)
    wait_gone(db, table, pk=name)


def put(db, table, pk, expires, **more):
    db.PutItem(TableName=table, Item=item(pk=pk, expires=expires, **more))


def scan(db, table, **more):
    return sorted(plain(found)["pk"] for found in db.Scan(TableName=table, **more)["Items"])


class TestSwitching:
    def test_off_at_first(self, db):
        assert describe_ttl(db, create_table(db)) == {"TimeToLiveStatus": "DISABLED"}

    def test_on_and_off(self, db):
        table = create_table(db)
        answer = db.UpdateTimeToLive(TableName=table, TimeToLiveSpecification={
            "Enabled": True, "AttributeName": "expires"})
        assert answer == {"TimeToLiveSpecification": {"Enabled": True, "AttributeName": "expires"}}
        assert describe_ttl(db, table) == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}
        advance_clock(db, 3600)
        stop_ttl(db, table)
        assert describe_ttl(db, table) == {"TimeToLiveStatus": "DISABLED"}

    def test_one_change_in_31_minutes(self, db):
        table = create_table(db)
        with invalid("TimeToLive is already disabled"):
            stop_ttl(db, table)
        enable_ttl(db, table)
        with invalid(MODIFIED):
            stop_ttl(db, table)
        advance_clock(db, 1811)
        with invalid(MODIFIED):
            stop_ttl(db, table)
        advance_clock(db, 61)
        stop_ttl(db, table)
        with invalid(MODIFIED):
            start_ttl(db, table, "another")
        with invalid("TimeToLive is already disabled"):
            stop_ttl(db, table)
        advance_clock(db, 3600)
        enable_ttl(db, table, "another")
        assert describe_ttl(db, table)["AttributeName"] == "another"

    def test_what_is_asked_for_comes_before_when(self, db):
        table = create_table(db)
        enable_ttl(db, table)
        different = "TimeToLive is active on a different AttributeName: current AttributeName is expires"
        with invalid("TimeToLive is already enabled"):
            start_ttl(db, table)
        with invalid(different):
            start_ttl(db, table, "other")
        with invalid(different):
            stop_ttl(db, table, "other")

    def test_a_table_made_anew_starts_anew(self, db):
        table = create_table(db)
        enable_ttl(db, table)
        db.DeleteTable(TableName=table)
        create_table(db, name=table)
        assert describe_ttl(db, table) == {"TimeToLiveStatus": "DISABLED"}
        enable_ttl(db, table, "other")

    def test_a_table_that_is_not_there(self, db):
        text = "Requested resource not found: Table: nowhere not found"
        with refused("ResourceNotFoundException", text):
            db.DescribeTimeToLive(TableName="nowhere")
        with refused("ResourceNotFoundException", text):
            start_ttl(db, "nowhere")

    def test_a_table_that_is_being_made(self, start_server):
        with Client(start_server("memory:", "--table-delay-ms", "60000").endpoint) as slow:
            slow.CreateTable(TableName="slow", BillingMode="PAY_PER_REQUEST",
                             KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                             AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
            with refused("ResourceInUseException",
                         "Attempt to change a resource which is still in use: Table slow is being created"):
                start_ttl(slow, "slow")
            with invalid():
                slow.DescribeTimeToLive(TableName="slow")

    def test_enabled_at_once_while_other_states_last(self, start_server):
        with Client(start_server("memory:", "--table-delay-ms", "1500", *TEST_CLOCK).endpoint) as slow:
            create_table(slow, name="slow")
            put(slow, "slow", "before", read_clock(slow) - 10)
            start_ttl(slow, "slow")
            assert describe_ttl(slow, "slow") == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}
            put(slow, "slow", "after", read_clock(slow) - 10)
            wait_gone(slow, "slow", pk="before")
            wait_gone(slow, "slow", pk="after")

    def test_racing_calls_change_once(self, db, clock_server):
        table = create_table(db)

        def work(client, _):
            try:
                start_ttl(client, table)
                return "done"
            except Refused as error:
                return error.message
        assert sorted(race(clock_server.endpoint, 8, work)) == ["TimeToLive is already enabled"] * 7 + ["done"]
        wait_enabled(db, table)


class TestExpiry:
    @pytest.fixture
    def table(self, db):
        table = create_table(db)
        enable_ttl(db, table)
        return table

    def test_within_a_second(self, start_server):
        """By the real clock. Never early; and one of five soon, as the machine may stop for longer than a second."""
        with Client(start_server("memory:").endpoint) as real:
            table = create_table(real)
            enable_ttl(real, table)
            for _ in range(5):
                due = int(time.time()) + 2
                put(real, table, "k", due)
                wait_gone(real, table, pk="k")
                gone = time.time()
                assert due < gone
                if gone < due + 2:
                    return
            pytest.fail(f"the last one was deleted {gone - due} s after it was due")

    def test_goes_when_its_time_has_passed(self, db, table):
        now = read_clock(db)
        put(db, table, "soon", now + 100)
        put(db, table, "later", now + 10_000)
        wait_for_canary(db, table)
        assert scan(db, table) == ["later", "soon"]
        advance_clock(db, 101)
        wait_gone(db, table, pk="soon")
        assert scan(db, table) == ["later"]
        advance_clock(db, 10_000)
        wait_gone(db, table, pk="later")

    @pytest.mark.parametrize("ago", [0, 1, 1000, DAY, FIVE_YEARS - DAY])
    def test_put_with_a_time_that_is_past(self, db, table, ago):
        put(db, table, "late", read_clock(db) - ago)
        advance_clock(db, 1)
        wait_gone(db, table, pk="late")

    @pytest.mark.parametrize("value", [
        "soon", "1000000000", b"1000000000", True, None, {1_700_000_000}, [1_700_000_000], {"N": 1},
        0, -1, -1_700_000_000, Raw(N="1E+100"), Raw(N="9.9E+125"), Raw(N="1E-130"), Raw(N="9223372036854775807"),
        Raw(N="9223372036854775808"), Raw(N="0.5"),
    ], ids=repr)
    def test_what_is_no_time(self, db, table, value):
        put(db, table, "stays", value)
        wait_for_canary(db, table)
        assert is_there(db, table, pk="stays")

    def test_an_item_without_the_attribute(self, db, table):
        db.PutItem(TableName=table, Item=item(pk="stays", other=1))
        db.PutItem(TableName=table, Item=item(pk="nested", map={"expires": read_clock(db) - 10}))
        wait_for_canary(db, table)
        assert scan(db, table) == ["nested", "stays"]

    def test_five_years_past(self, db, table):
        now = read_clock(db)
        put(db, table, "too long", now - FIVE_YEARS - 10)
        put(db, table, "not yet", now - FIVE_YEARS + DAY)
        wait_gone(db, table, pk="not yet")
        wait_for_canary(db, table)
        assert is_there(db, table, pk="too long")

    def test_fractions(self, db, table):
        now = read_clock(db)
        put(db, table, "k", Decimal(f"{now + 100}.5"))
        advance_clock(db, 98)
        wait_for_canary(db, table)  # three seconds more: due, as is 100.5 by then
        wait_gone(db, table, pk="k")

    def test_milliseconds_are_taken_for_seconds(self, db, table):
        put(db, table, "far", read_clock(db) * 1000)
        wait_for_canary(db, table)
        assert is_there(db, table, pk="far")

    def test_an_expired_item_can_be_read_and_saved(self, start_server):
        """With a delay, so that there is time for it."""
        with Client(start_server("memory:", "--ttl-delay-ms", "3600000", *TEST_CLOCK).endpoint) as slow:
            table = create_table(slow)
            enable_ttl(slow, table)
            now = read_clock(slow)
            for name in ("moved", "removed", "replaced", "touched", "left"):
                put(slow, table, name, now - 10)
            assert scan(slow, table) == ["left", "moved", "removed", "replaced", "touched"]
            slow.UpdateItem(TableName=table, Key=item(pk="moved"), UpdateExpression="SET expires = :t",
                            ExpressionAttributeValues=values(t=now + 10 * DAY))
            slow.UpdateItem(TableName=table, Key=item(pk="removed"), UpdateExpression="REMOVE expires")
            slow.PutItem(TableName=table, Item=item(pk="replaced", expires="never"))
            slow.UpdateItem(TableName=table, Key=item(pk="touched"), UpdateExpression="SET v = :v",
                            ExpressionAttributeValues=values(v=1))
            advance_clock(slow, 3700)
            wait_gone(slow, table, pk="left")
            wait_gone(slow, table, pk="touched")
            put(slow, table, "canary", now)
            advance_clock(slow, 3700)
            wait_gone(slow, table, pk="canary")
            assert scan(slow, table) == ["moved", "removed", "replaced"]
            advance_clock(slow, 10 * DAY)
            wait_gone(slow, table, pk="moved")

    def test_moving_the_time(self, db, table):
        now = read_clock(db)
        put(db, table, "earlier", now + 10_000)
        put(db, table, "later", now + 100)
        for pk, expires in (("earlier", now + 100), ("later", now + 10_000)):
            db.UpdateItem(TableName=table, Key=item(pk=pk), UpdateExpression="SET expires = :t",
                          ExpressionAttributeValues=values(t=expires))
        advance_clock(db, 101)
        wait_gone(db, table, pk="earlier")
        wait_for_canary(db, table)
        assert is_there(db, table, pk="later")
        advance_clock(db, 10_000)
        wait_gone(db, table, pk="later")

    def test_all_ways_to_write(self, db, table):
        now = read_clock(db)
        put(db, table, "put", now + 50)
        db.UpdateItem(TableName=table, Key=item(pk="update"), UpdateExpression="SET expires = :t",
                      ExpressionAttributeValues=values(t=now + 50))
        db.BatchWriteItem(RequestItems={table: [{"PutRequest": {"Item": item(pk="batch", expires=now + 50)}}]})
        db.TransactWriteItems(TransactItems=[{"Put": {"TableName": table, "Item": item(pk="transaction", expires=now + 50)}}])
        db.UpdateItem(TableName=table, Key=item(pk="add"), UpdateExpression="ADD expires :t",
                      ExpressionAttributeValues=values(t=now + 50))
        assert len(scan(db, table)) == 5
        advance_clock(db, 51)
        poll(lambda: scan(db, table) == [], 20, "all have expired")

    def test_deleted_and_put_again(self, db, table):
        now = read_clock(db)
        put(db, table, "k", now + 50)
        db.DeleteItem(TableName=table, Key=item(pk="k"))
        db.PutItem(TableName=table, Item=item(pk="k"))
        advance_clock(db, 51)
        wait_for_canary(db, table)
        assert is_there(db, table, pk="k")

    def test_clock_set_back(self, db, table):
        now = read_clock(db)
        put(db, table, "k", now + 100)
        advance_clock(db, 101)
        wait_gone(db, table, pk="k")
        set_clock(db, now)
        put(db, table, "again", now + 50)
        wait_for_canary(db, table)
        assert is_there(db, table, pk="again")
        advance_clock(db, 51)
        wait_gone(db, table, pk="again")

    def test_the_key_itself_can_be_the_time(self, db):
        table = create_table(db, "pk sk:N")
        enable_ttl(db, table, "sk")
        now = read_clock(db)
        for offset in (50, 51, 5000):
            db.PutItem(TableName=table, Item=item(pk="k", sk=now + offset))
        advance_clock(db, 55)
        poll(lambda: db.Scan(TableName=table)["Count"] == 1, 20, "two have expired")
        assert is_there(db, table, pk="k", sk=now + 5000)

    def test_only_tables_that_have_it(self, db, table):
        other = create_table(db)
        put(db, other, "k", read_clock(db) - 10)
        wait_for_canary(db, table)
        assert is_there(db, other, pk="k")

    def test_nothing_goes_after_it_is_off(self, db, table):
        now = read_clock(db)
        put(db, table, "k", now + 10_000)
        advance_clock(db, 3600)
        stop_ttl(db, table)
        put(db, table, "l", now + 10_000)
        other = create_table(db)
        enable_ttl(db, other)
        advance_clock(db, 20_000)
        wait_for_canary(db, other)
        assert scan(db, table) == ["k", "l"]


class TestWhatFollows:
    """Index entries and counts go with the item; nothing is charged."""

    def test_indexes_and_counts(self, db):
        table = create_table(db, "pk sk", gsi={"all": "g", "keys": ("g h", "KEYS_ONLY")}, lsi={"local": "pk l"})
        enable_ttl(db, table)
        now = read_clock(db)
        put_all(db, table, [item(pk=f"p{n % 10}", sk=f"s{n}", g=f"g{n % 3}", h=str(n), l=str(n),
                                 expires=now + (50 if n % 2 else 5000)) for n in range(200)])
        advance_clock(db, 51)

        def counts():
            return {db.Scan(TableName=table, Select="COUNT", **index)["Count"] for index in (
                {}, {"IndexName": "all"}, {"IndexName": "keys"}, {"IndexName": "local"})}
        poll(lambda: counts() == {100}, 20, "half of the items have gone")
        described = db.DescribeTable(TableName=table)["Table"]
        indexes = described["GlobalSecondaryIndexes"] + described["LocalSecondaryIndexes"]
        assert [described["ItemCount"]] + [index["ItemCount"] for index in indexes] == [100] * 4
        assert described["TableSizeBytes"] > 0 and all(index["IndexSizeBytes"] > 0 for index in indexes)
        advance_clock(db, 5000)
        poll(lambda: counts() == {0}, 20, "all items have gone")
        described = db.DescribeTable(TableName=table)["Table"]
        indexes = described["GlobalSecondaryIndexes"] + described["LocalSecondaryIndexes"]
        assert [described["ItemCount"], described["TableSizeBytes"]] == [0, 0]
        assert all((index["ItemCount"], index["IndexSizeBytes"]) == (0, 0) for index in indexes)

    def test_item_collections_shrink(self, db):
        table = create_table(db, "pk sk", lsi={"local": "pk l"})
        enable_ttl(db, table)
        now = read_clock(db)
        put_all(db, table, [item(pk="p", sk=f"{n}", l="x", body="b" * 1000, expires=now + 50) for n in range(10)])
        advance_clock(db, 51)
        poll(lambda: db.Scan(TableName=table)["Count"] == 0, 20, "all items have gone")
        kept = {"pk": "p", "sk": "new", "l": "x"}
        metrics = db.PutItem(TableName=table, Item=item(kept), ReturnItemCollectionMetrics="SIZE")
        assert metrics["ItemCollectionMetrics"]["SizeEstimateRangeGB"][0] == 0
        db.DeleteItem(TableName=table, Key=item(pk="p", sk="new"))


class TestTablesInUse:
    """Enabling it on a table with items; restarts; changes of the table meanwhile."""

    def test_items_that_were_there_before(self, db):
        table = create_table(db)
        now = read_clock(db)
        put_all(db, table, [item(pk=f"old {n}", expires=now - 100) for n in range(500)])
        put_all(db, table, [item(pk=f"new {n}", expires=now + 100) for n in range(500)])
        put_all(db, table, [item(pk=f"none {n}") for n in range(10)])
        enable_ttl(db, table)
        poll(lambda: db.DescribeTable(TableName=table)["Table"]["ItemCount"] == 510, 30, "the old ones go")
        advance_clock(db, 101)
        poll(lambda: db.DescribeTable(TableName=table)["Table"]["ItemCount"] == 10, 30, "the others go")
        assert scan(db, table) == sorted(f"none {n}" for n in range(10))

    def test_enabling_under_writes(self, db, clock_server):
        """Writes during the backfill get correct expiry rows."""
        table = create_table(db)
        now = read_clock(db)
        put_all(db, table, [item(pk=str(n), expires=now + 1000) for n in range(3000)])  # not due while clients write

        def work(client, number):
            if number == 0:
                start_ttl(client, table)
                return
            for n in range(number - 1, 3000, 14):
                if number % 2:
                    client.UpdateItem(TableName=table, Key=item(pk=str(n)), UpdateExpression="SET v = :v",
                                      ExpressionAttributeValues=values(v=number))
                else:
                    client.UpdateItem(TableName=table, Key=item(pk=str(n)), UpdateExpression="SET expires = :t",
                                      ExpressionAttributeValues=values(t=now + 50_000))
        race(clock_server.endpoint, 8, work)
        saved = sum(n % 14 in (1, 3, 5) for n in range(3000))
        wait_enabled(db, table)
        advance_clock(db, 1001)
        count = lambda: db.DescribeTable(TableName=table)["Table"]["ItemCount"]  # noqa: E731
        poll(lambda: count() == saved, 30, "what was not saved goes")
        advance_clock(db, 50_000)
        poll(lambda: count() == 0, 30, "the rest goes, too")

    def test_saving_items_while_they_go(self, db, clock_server):
        """Each item is either gone or has its new time; an update finds it as it was or not at all."""
        table = create_table(db)
        enable_ttl(db, table)
        now = read_clock(db)
        put_all(db, table, [item(pk=str(n), expires=now + 1000, v=1) for n in range(2000)])  # not due before clients write

        def work(client, number):
            if number == 0:
                advance_clock(client, 1001)
                return 0
            saved = 0
            for n in range(number - 1, 2000, 7):
                try:
                    client.UpdateItem(TableName=table, Key=item(pk=str(n)), UpdateExpression="SET expires = :t",
                                      ConditionExpression="attribute_exists(v)",
                                      ExpressionAttributeValues=values(t=now + 50_000))
                    saved += 1
                except Refused as error:
                    assert error.type == "ConditionalCheckFailedException"
            return saved
        saved = sum(race(clock_server.endpoint, 8, work))
        wait_for_canary(db, table)
        found = db.Scan(TableName=table)["Items"]
        assert len(found) == saved and {plain(one)["expires"] for one in found} <= {now + 50_000}

    def test_table_deleted_while_items_go(self, db):
        for _ in range(5):
            table = create_table(db)
            start_ttl(db, table)
            put_all(db, table, [item(pk=str(n), expires=read_clock(db) - 10) for n in range(200)])
            db.DeleteTable(TableName=table)
            create_table(db, name=table)
            assert scan(db, table) == []

    def test_description_changes_while_items_go(self, db):
        table = create_table(db)
        enable_ttl(db, table)
        arn = db.DescribeTable(TableName=table)["Table"]["TableArn"]
        now = read_clock(db)
        for step in range(20):
            put(db, table, str(step), now + 10)
            db.TagResource(ResourceArn=arn, Tags=[{"Key": "step", "Value": str(step)}])
        advance_clock(db, 11)
        poll(lambda: scan(db, table) == [], 20, "all have expired")

    @pytest.mark.parametrize("how", ["stop", "kill"])
    def test_restart(self, start_server, tmp_path, how):
        store = f"rocksdb:{tmp_path}/data"
        server = start_server(store, *TEST_CLOCK)
        with Client(server.endpoint) as before:
            table = create_table(before, name="kept")
            enable_ttl(before, table)
            now = read_clock(before)
            put(before, table, "soon", now + 1000)
            put(before, table, "later", now + 100_000)
        getattr(server, how)()
        with Client(start_server(store, *TEST_CLOCK).endpoint) as after:
            assert describe_ttl(after, "kept") == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}
            assert scan(after, "kept") == ["later", "soon"]
            with invalid(MODIFIED):
                stop_ttl(after, "kept")
            set_clock(after, now + 1001)
            wait_gone(after, "kept", pk="soon")
            assert is_there(after, "kept", pk="later")

    def test_killed_while_enabling(self, start_server, tmp_path):
        store = f"rocksdb:{tmp_path}/data"
        server = start_server(store, *TEST_CLOCK)
        with Client(server.endpoint) as before:
            create_table(before, name="kept")
            now = read_clock(before)
            put_all(before, "kept", [item(pk=str(n), expires=now + 1000) for n in range(3000)])
            start_ttl(before, "kept")
        server.kill()
        with Client(start_server(store, *TEST_CLOCK).endpoint) as after:
            wait_enabled(after, "kept")
            assert after.DescribeTable(TableName="kept")["Table"]["ItemCount"] == 3000
            set_clock(after, now + 1001)
            poll(lambda: after.DescribeTable(TableName="kept")["Table"]["ItemCount"] == 0, 30, "all have expired")

    def test_many_tables(self, db):
        tables = [create_table(db) for _ in range(20)]
        for table in tables:
            start_ttl(db, table)
        now = read_clock(db)
        for table in tables:
            put(db, table, "k", now + 10)
        advance_clock(db, 11)
        for table in tables:
            wait_gone(db, table, pk="k")
