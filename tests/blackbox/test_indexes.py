"""Secondary indexes, global and local: which items are in them, what of the items, in which order."""

import pytest

from tables import all_items, definitions, index_request, pages, put_all, table_request, unique_name, \
    wait_active
from values import item, plain, plains, values
from wire import invalid, refused


def by_index(db, table, index, condition, **named):
    return plains(all_items(db.Query, TableName=table, IndexName=index,
                            KeyConditionExpression=condition,
                            ExpressionAttributeValues=values(**named)))


def in_index(db, table, index):
    """All entries by the table's key."""
    return sorted(plains(all_items(db.Scan, TableName=table, IndexName=index)),
                  key=lambda entry: entry["pk"])


@pytest.mark.parametrize("kind", ["gsi", "lsi"])
def test_entries_follow_their_items(db, make_table, kind):
    """Put, update, move, take away, delete: after each, the index holds exactly what it should."""
    table = make_table("pk sk", **({"gsi": {"idx": "ik ir:N"}} if kind == "gsi" else
                                   {"lsi": {"idx": "pk ir:N"}}))
    key = {"pk": "k", "sk": "s"}
    entry = {**key, "ik": "i", "ir": 1, "v": "one"}

    db.PutItem(TableName=table, Item=item(entry))
    assert in_index(db, table, "idx") == [entry]
    for expression, named, change in (
            ("SET v = :v", {"v": "two"}, {"v": "two"}),          # same place, new content
            ("SET ir = :v", {"v": 2}, {"ir": 2}),                # moves
            ("ADD ir :v", {"v": -5}, {"ir": -3}),  # moves over zero
            ("SET w = :v", {"v": [1]}, {"w": [1]})):
        db.UpdateItem(TableName=table, Key=item(key), UpdateExpression=expression,
                      ExpressionAttributeValues=values(**named))
        entry.update(change)
        assert in_index(db, table, "idx") == [entry]
    db.UpdateItem(TableName=table, Key=item(key), UpdateExpression="REMOVE ir")
    assert in_index(db, table, "idx") == []
    db.PutItem(TableName=table, Item=item(entry))
    assert in_index(db, table, "idx") == [entry]
    db.PutItem(TableName=table, Item=item(key))
    assert in_index(db, table, "idx") == []
    db.PutItem(TableName=table, Item=item(entry))
    db.DeleteItem(TableName=table, Key=item(key))
    assert in_index(db, table, "idx") == []



def test_gsi_is_sparse(db, make_table):
    table = make_table("pk", gsi={"idx": "a b"})
    put_all(db, table, [item(pk="both", a="x", b="y"), item(pk="only a", a="x"),
                        item(pk="only b", b="y"), item(pk="none")])
    assert [entry["pk"] for entry in in_index(db, table, "idx")] == ["both"]
    db.UpdateItem(TableName=table, Key=item(pk="only a"), UpdateExpression="SET b = :v",
                  ExpressionAttributeValues=values(v="z"))
    assert [entry["pk"] for entry in in_index(db, table, "idx")] == ["both", "only a"]


def test_index_key_of_wrong_type_is_refused(db, make_table):
    table = make_table("pk", gsi={"idx": "a b:N"})
    for bad in ({"a": 1}, {"a": "x", "b": "1"}, {"a": ["x"]}, {"a": None}, {"b": {1}}):
        with invalid():
            db.PutItem(TableName=table, Item=item(pk="k", **bad))
        with invalid():
            db.BatchWriteItem(RequestItems={table: [{"PutRequest": {"Item": item(pk="k", **bad)}}]})
    db.PutItem(TableName=table, Item=item(pk="k"))
    with invalid():
        db.UpdateItem(TableName=table, Key=item(pk="k"), UpdateExpression="SET a = :v",
                      ExpressionAttributeValues=values(v=1))
    assert in_index(db, table, "idx") == []
    assert plain(db.GetItem(TableName=table, Key=item(pk="k"))["Item"]) == {"pk": "k"}


def test_type_mismatch_text(db, make_table):
    table = make_table("pk", gsi={"idx": "a"})
    with invalid("One or more parameter values were invalid: Type mismatch for Index Key a Expected: S "
                 "Actual: N IndexName: idx"):
        db.PutItem(TableName=table, Item=item(pk="k", a=1))


def test_empty_index_key_is_refused(db, make_table):
    table = make_table("pk", gsi={"idx": "a"})
    with invalid("One or more parameter values are not valid. A value specified for a secondary index "
                 "key is not supported. The AttributeValue for a key attribute cannot contain an empty "
                 "string value. IndexName: idx, IndexKey: a"):
        db.PutItem(TableName=table, Item=item(pk="k", a=""))
    with invalid():
        db.UpdateItem(TableName=table, Key=item(pk="k"), UpdateExpression="SET a = :v",
                      ExpressionAttributeValues=values(v=""))


FULL = {"pk": "k", "sk": "s", "a": "A", "b": "B", "x": "X", "y": "Y", "z": {"deep": [1]}}
PROJECTIONS = {"ALL": set(FULL), "KEYS_ONLY": {"pk", "sk", "a", "b"}, "INCLUDE": {"pk", "sk", "a", "b", "x"}}


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_gsi_projection(db, make_table, projection):
    table = make_table("pk sk", gsi={"idx": ("a b", ["x"] if projection == "INCLUDE" else projection)})
    db.PutItem(TableName=table, Item=item(FULL))
    expected = {name: FULL[name] for name in PROJECTIONS[projection]}
    assert in_index(db, table, "idx") == [expected]
    assert by_index(db, table, "idx", "a = :a", a="A") == [expected]
    everything = {"TableName": table, "IndexName": "idx", "Select": "ALL_ATTRIBUTES"}
    if projection == "ALL":
        assert plains(db.Scan(**everything)["Items"]) == [FULL]
    else:
        with invalid("One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not "
                     "supported for global secondary index idx because its projection type is not ALL"):
            db.Scan(**everything)


def test_gsi_does_not_fetch_what_it_does_not_hold(db, make_table):
    table = make_table("pk sk", gsi={"idx": ("a b", ["x"])})
    db.PutItem(TableName=table, Item=item(FULL))
    request = {"TableName": table, "IndexName": "idx", "KeyConditionExpression": "a = :a",
               "ExpressionAttributeValues": values(a="A")}
    assert plains(db.Query(**request, ProjectionExpression="x, b")["Items"]) == [{"x": "X", "b": "B"}]
    with invalid("One or more parameter values were invalid: Global secondary index idx does not "
                 "project [y]"):
        db.Query(**request, ProjectionExpression="x, y")


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_lsi_fetches_what_it_does_not_hold(db, make_table, projection):
    table = make_table("pk sk", lsi={"idx": ("pk b", ["x"] if projection == "INCLUDE" else projection)})
    full = {name: FULL[name] for name in FULL if name != "a"}
    db.PutItem(TableName=table, Item=item(full))
    held = {name: full[name] for name in PROJECTIONS[projection] & set(full)}
    assert by_index(db, table, "idx", "pk = :k", k="k") == [held]
    request = {"TableName": table, "IndexName": "idx", "KeyConditionExpression": "pk = :k AND b = :b",
               "ExpressionAttributeValues": values(k="k", b="B")}
    assert plains(db.Query(**request, ProjectionExpression="y, z.deep")["Items"]) == [
        {"y": "Y", "z": {"deep": [1]}}]
    assert plains(db.Query(**request, Select="ALL_ATTRIBUTES")["Items"]) == [full]
    assert plains(db.Query(**request, Select="ALL_PROJECTED_ATTRIBUTES")["Items"]) == [held]
    assert plains(db.Query(**request, ConsistentRead=True)["Items"]) == [held]


def test_lsi_order_and_ranges(db, make_table):
    table = make_table("pk sk", lsi={"by_n": "pk n:N", "by_t": "pk t"})
    rows = [{"pk": "k", "sk": f"s{number}", "n": -number, "t": f"t{number % 3}"} for number in range(9)]
    put_all(db, table, [item(row) for row in rows])
    put_all(db, table, [item(pk="other", sk="s", n=0, t="t0")])
    assert [row["n"] for row in by_index(db, table, "by_n", "pk = :k", k="k")] == list(range(-8, 1))
    found = by_index(db, table, "by_n", "pk = :k AND n BETWEEN :a AND :b", k="k", a=-3, b=-1)
    assert [row["n"] for row in found] == [-3, -2, -1]
    assert [row["sk"] for row in by_index(db, table, "by_t", "pk = :k AND t = :t", k="k", t="t1")] == [
        "s1", "s4", "s7"]


def test_gsi_range_conditions(db, make_table):
    table = make_table("pk", gsi={"idx": "g s"})
    put_all(db, table, [item(pk=f"p{number}", g="g", s=f"{number:03}") for number in range(50)])
    for condition, named, expected in (
            ("g = :g AND s >= :a", {"a": "045"}, range(45, 50)),
            ("g = :g AND s BETWEEN :a AND :b", {"a": "010", "b": "012"}, range(10, 13)),
            ("g = :g AND begins_with(s, :a)", {"a": "03"}, range(30, 40)),
            ("g = :g AND s < :a", {"a": "002"}, range(2))):
        found = by_index(db, table, "idx", condition, g="g", **named)
        assert [row["pk"] for row in found] == [f"p{number}" for number in expected]


def test_index_without_sort_key_pages(db, make_table):
    table = make_table("pk", gsi={"idx": "g"})
    put_all(db, table, [item(pk=f"p{number}", g="same") for number in range(20)])
    for forward in (True, False):
        request = {"TableName": table, "IndexName": "idx", "KeyConditionExpression": "g = :g", "Limit": 3,
                   "ExpressionAttributeValues": values(g="same"), "ScanIndexForward": forward}
        got = list(pages(db.Query, **request))
        assert set(got[0]["LastEvaluatedKey"]) == {"pk", "g"}
        found = [each["pk"]["S"] for page in got for each in page["Items"]]
        assert sorted(found) == sorted(f"p{number}" for number in range(20))


def test_last_evaluated_key_has_index_and_table_keys(db, make_table):
    table = make_table("pk sk", gsi={"gsi": "g s"}, lsi={"lsi": "pk s"})
    put_all(db, table, [item(pk="k", sk=f"{number}", g="g", s="s") for number in range(3)])
    page = db.Query(TableName=table, IndexName="gsi", KeyConditionExpression="g = :g", Limit=1,
                    ExpressionAttributeValues=values(g="g"))
    assert set(page["LastEvaluatedKey"]) == {"pk", "sk", "g", "s"}
    page = db.Query(TableName=table, IndexName="lsi", KeyConditionExpression="pk = :k", Limit=1,
                    ExpressionAttributeValues=values(k="k"))
    assert set(page["LastEvaluatedKey"]) == {"pk", "sk", "s"}
    with invalid() as caught:
        db.Query(TableName=table, IndexName="gsi", KeyConditionExpression="g = :g",
                 ExpressionAttributeValues=values(g="g"), ExclusiveStartKey=item(g="g", s="s"))
    assert caught.error.message.startswith("The provided starting key is invalid")


def test_filter_on_index_may_name_table_keys_but_not_its_own(db, make_table):
    table = make_table("pk", gsi={"idx": "g s"})
    put_all(db, table, [item(pk=f"p{number}", g="g", s=f"{number}") for number in range(5)])
    request = {"TableName": table, "IndexName": "idx", "KeyConditionExpression": "g = :g"}
    found = db.Query(**request, FilterExpression="pk = :p",
                     ExpressionAttributeValues=values(g="g", p="p3"))
    assert [each["pk"]["S"] for each in found["Items"]] == ["p3"]
    with invalid():
        db.Query(**request, FilterExpression="s = :p", ExpressionAttributeValues=values(g="g", p="3"))


def test_consistent_reads_are_for_local_indexes_only(db, make_table):
    table = make_table("pk sk", gsi={"gsi": "g"}, lsi={"lsi": "pk s"})
    for call in (lambda **more: db.Scan(TableName=table, **more),
                 lambda **more: db.Query(TableName=table, **more, ExpressionAttributeValues=values(k="k"),
                                         KeyConditionExpression="g = :k" if more["IndexName"] == "gsi"
                                         else "pk = :k")):
        call(IndexName="lsi", ConsistentRead=True)
        call(IndexName="gsi", ConsistentRead=False)
        with invalid("Consistent reads are not supported on global secondary indexes"):
            call(IndexName="gsi", ConsistentRead=True)


def test_unknown_index(db, make_table):
    table = make_table("pk")
    with invalid("The table does not have the specified index: nowhere"):
        db.Scan(TableName=table, IndexName="nowhere")
    with invalid("The table does not have the specified index: nowhere"):
        db.Query(TableName=table, IndexName="nowhere", KeyConditionExpression="pk = :k",
                 ExpressionAttributeValues=values(k="k"))


def test_index_with_the_tables_keys_swapped(db, make_table):
    table = make_table("pk sk", gsi={"inverted": "sk pk"})
    put_all(db, table, [item(pk=f"p{p}", sk=f"s{s}") for p in range(4) for s in range(3)])
    found = by_index(db, table, "inverted", "sk = :s", s="s1")
    assert [row["pk"] for row in found] == ["p0", "p1", "p2", "p3"]


def test_many_indexes_on_one_table(db, make_table):
    table = make_table("pk sk", gsi={f"gsi{n}": f"g{n} r{n}:N" for n in range(20)},
                       lsi={f"lsi{n}": f"pk l{n}" for n in range(5)})
    row = {"pk": "k", "sk": "s", **{f"g{n}": f"G{n}" for n in range(20)},
           **{f"r{n}": n for n in range(20)}, **{f"l{n}": f"L{n}" for n in range(5)}}
    db.PutItem(TableName=table, Item=item(row))
    for n in range(20):
        assert by_index(db, table, f"gsi{n}", f"g{n} = :g AND r{n} = :r", g=f"G{n}", r=n) == [row]
    for n in range(5):
        assert by_index(db, table, f"lsi{n}", f"pk = :k AND l{n} = :l", k="k", l=f"L{n}") == [row]
    db.DeleteItem(TableName=table, Key=item(pk="k", sk="s"))
    for index in [f"gsi{n}" for n in range(20)] + [f"lsi{n}" for n in range(5)]:
        assert in_index(db, table, index) == []


COMPOSITE = "h1,h2:N,h3,h4:B r1,r2:N,r3,r4:B"


def composite_row(number, **changes):
    row = {"pk": f"p{number}", "h1": "a", "h2": 1, "h3": "b", "h4": b"c",
           "r1": f"x{number // 8}", "r2": number // 4 % 2, "r3": f"y{number // 2 % 2}",
           "r4": bytes([number % 2])}
    return {**row, **changes}


HASH = "h1 = :h1 AND h2 = :h2 AND h3 = :h3 AND h4 = :h4"
HASHED = {"h1": "a", "h2": 1, "h3": "b", "h4": b"c"}


class TestCompositeKeys:
    """A GSI may have up to four partition and four sort key attributes."""

    @pytest.fixture
    def table(self, db, make_table):
        table = make_table("pk", gsi={"idx": COMPOSITE})
        put_all(db, table, [item(composite_row(number)) for number in range(24)])
        return table

    def find(self, db, table, rest="", **named):
        return [row["pk"] for row in
                by_index(db, table, "idx", HASH + rest, **HASHED, **named)]

    def test_describe(self, db, table):
        index, = db.DescribeTable(TableName=table)["Table"]["GlobalSecondaryIndexes"]
        assert [(part["AttributeName"], part["KeyType"]) for part in index["KeySchema"]] == [
            *((name, "HASH") for name in ("h1", "h2", "h3", "h4")),
            *((name, "RANGE") for name in ("r1", "r2", "r3", "r4"))]

    def test_whole_partition_in_order_of_all_sort_attributes(self, db, table):
        assert self.find(db, table) == [f"p{number}" for number in range(24)]

    def test_equality_on_a_prefix_then_one_range(self, db, table):
        assert self.find(db, table, " AND r1 = :a", a="x1") == [f"p{n}" for n in range(8, 16)]
        assert self.find(db, table, " AND r1 = :a AND r2 = :b", a="x1", b=1) == [
            f"p{n}" for n in range(12, 16)]
        assert self.find(db, table, " AND r1 = :a AND r2 > :b", a="x1", b=0) == [
            f"p{n}" for n in range(12, 16)]
        assert self.find(db, table, " AND r1 BETWEEN :a AND :b", a="x0", b="x1") == [
            f"p{n}" for n in range(16)]
        assert self.find(db, table, " AND begins_with(r1, :a)", a="x2") == [
            f"p{n}" for n in range(16, 24)]
        assert self.find(db, table, " AND r1 = :a AND r2 = :b AND r3 = :c AND r4 = :d",
                         a="x2", b=1, c="y1", d=b"\x01") == ["p23"]

    def test_every_partition_attribute_is_needed(self, db, table):
        with invalid():
            by_index(db, table, "idx", "h1 = :a AND h2 = :b", a="a", b=1)

    def test_sort_attributes_may_not_be_skipped(self, db, table):
        with invalid():
            self.find(db, table, " AND r2 = :b", b=1)
        with invalid():
            self.find(db, table, " AND r1 > :a AND r2 = :b", a="x", b=1)

    def test_item_without_one_of_the_attributes_is_not_in_the_index(self, db, table):
        for name in ("h2", "h4", "r1", "r4"):
            row = composite_row(99, r1="x9")
            del row[name]
            db.PutItem(TableName=table, Item=item(row))
            assert "p99" not in self.find(db, table)
        db.PutItem(TableName=table, Item=item(composite_row(99, r1="x9")))
        assert self.find(db, table)[-1] == "p99"

    def test_pages_both_ways(self, db, table):
        for forward in (True, False):
            request = {"TableName": table, "IndexName": "idx", "KeyConditionExpression": HASH,
                       "ExpressionAttributeValues": values(**HASHED), "Limit": 5,
                       "ScanIndexForward": forward}
            got = list(pages(db.Query, **request))
            assert set(got[0]["LastEvaluatedKey"]) == {
                "pk", "h1", "h2", "h3", "h4", "r1", "r2", "r3", "r4"}
            found = [each["pk"]["S"] for page in got for each in page["Items"]]
            expected = [f"p{number}" for number in range(24)]
            assert found == (expected if forward else expected[::-1])

    def test_attributes_are_told_apart(self, db, make_table):
        """("a", "bc") and ("ab", "c") are different keys."""
        table = make_table("pk", gsi={"idx": "a,b"})
        put_all(db, table, [item(pk="one", a="a", b="bc"), item(pk="two", a="ab", b="c")])
        assert [row["pk"] for row in by_index(db, table, "idx", "a = :a AND b = :b", a="ab", b="c")] == [
            "two"]


class TestChangingIndexes:
    """UpdateTable adds and deletes GSIs of a table with items."""

    def add(self, db, table, name, index):
        key = index if isinstance(index, str) else index[0]
        answer = db.UpdateTable(TableName=table, AttributeDefinitions=definitions(key),
                                GlobalSecondaryIndexUpdates=[{"Create": index_request(name, index)}])
        states = [each["IndexStatus"] for each in answer["TableDescription"]["GlobalSecondaryIndexes"]
                  if each["IndexName"] == name]
        assert states == ["CREATING"]
        wait_active(db, table)

    def test_backfill(self, db, make_table):
        table = make_table("pk")
        put_all(db, table, [item(pk=f"p{number:03}", g=f"g{number % 3}", v=number)
                            for number in range(300)])
        put_all(db, table, [item(pk="sparse", v=1), item(pk="wrong type", g=5)])
        self.add(db, table, "idx", ("g", "KEYS_ONLY"))
        assert [row["pk"] for row in in_index(db, table, "idx")] == [f"p{n:03}" for n in range(300)]
        found = by_index(db, table, "idx", "g = :g", g="g1")
        assert len(found) == 100 and set(found[0]) == {"pk", "g"}
        db.PutItem(TableName=table, Item=item(pk="later", g="g1"))
        assert len(by_index(db, table, "idx", "g = :g", g="g1")) == 101

    def test_writes_during_backfill_are_not_lost(self, db, make_table):
        table = make_table("pk")
        put_all(db, table, [item(pk=f"p{number}", g="old") for number in range(1000)])
        db.UpdateTable(TableName=table, AttributeDefinitions=definitions("g"),
                       GlobalSecondaryIndexUpdates=[{"Create": index_request("idx", "g")}])
        for number in range(0, 1000, 10):
            db.UpdateItem(TableName=table, Key=item(pk=f"p{number}"), UpdateExpression="SET g = :v",
                          ExpressionAttributeValues=values(v="new"))
        for number in range(5, 1000, 10):
            db.DeleteItem(TableName=table, Key=item(pk=f"p{number}"))
        wait_active(db, table)
        assert len(by_index(db, table, "idx", "g = :g", g="new")) == 100
        assert len(by_index(db, table, "idx", "g = :g", g="old")) == 800

    def test_delete_and_make_again(self, db, make_table):
        table = make_table("pk", gsi={"idx": "g"})
        db.PutItem(TableName=table, Item=item(pk="k", g="g", h="h"))
        db.UpdateTable(TableName=table, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "idx"}}])
        wait_active(db, table)
        description = db.DescribeTable(TableName=table)["Table"]
        assert "GlobalSecondaryIndexes" not in description
        assert description["AttributeDefinitions"] == definitions("pk")
        with invalid():
            db.Scan(TableName=table, IndexName="idx")
        self.add(db, table, "idx", "h")
        assert [row["pk"] for row in in_index(db, table, "idx")] == ["k"]

    def test_refusals(self, db, make_table):
        table = make_table("pk", gsi={"idx": "g"})
        with refused("ResourceNotFoundException"):
            db.UpdateTable(TableName=table,
                           GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "nowhere"}}])
        with invalid():
            db.UpdateTable(TableName=table, GlobalSecondaryIndexUpdates=[
                {"Create": index_request("two", "g2")}])
        with invalid():
            db.UpdateTable(TableName=table, AttributeDefinitions=definitions("g"),
                           GlobalSecondaryIndexUpdates=[{"Create": index_request("idx", "g")}])
        with refused("LimitExceededException"):
            db.UpdateTable(TableName=table, AttributeDefinitions=definitions("a", "b"),
                           GlobalSecondaryIndexUpdates=[{"Create": index_request("i-a", "a")},
                                                        {"Create": index_request("i-b", "b")}])


def test_composite_limits(db):
    for key in ("a,b,c,d,e", "a b,c,d,e,f"):
        with invalid():
            db.CreateTable(**table_request(unique_name(), gsi={"idx": key}))


def test_value_moves_between_partitions_of_an_index(db, make_table):
    table = make_table("pk", gsi={"idx": "g s:N"})
    put_all(db, table, [item(pk=f"p{number}", g="g0", s=number) for number in range(10)])
    for round_number in range(1, 4):
        for number in range(10):
            db.UpdateItem(TableName=table, Key=item(pk=f"p{number}"),
                          UpdateExpression="SET g = :g, s = s + :ten",
                          ExpressionAttributeValues=values(g=f"g{round_number}", ten=10))
        assert by_index(db, table, "idx", "g = :g", g=f"g{round_number - 1}") == []
        found = by_index(db, table, "idx", "g = :g", g=f"g{round_number}")
        assert [row["s"] for row in found] == [round_number * 10 + number for number in range(10)]
