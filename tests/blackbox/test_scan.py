"""Scan: everything once, in segments, filtered, of indexes."""

import collections

import pytest

from tables import all_items, pages, put_all
from values import av, item, plain, plains, values
from wire import Client, invalid

COUNT = 500


@pytest.fixture(scope="module")
def table(make_module_table, endpoint):
    name = make_module_table("pk sk:N", gsi={"by_color": ("color n:N", "KEYS_ONLY")})
    colors = ("red", "green", "blue")
    with Client(endpoint) as client:
        put_all(client, name, [item(pk=f"p{number // 5}", sk=number % 5, n=number,
                                    **({"color": colors[number % 3]} if number % 10 else {}))
                               for number in range(COUNT)])
    return name


def numbers(items):
    return sorted(plain(each)["n"] for each in items)


def test_everything_once(db, table):
    page = db.Scan(TableName=table)
    assert page["Count"] == page["ScannedCount"] == COUNT
    assert numbers(page["Items"]) == list(range(COUNT))


@pytest.mark.parametrize("limit", [1, 7, 100, 499, 500, 501])
def test_pages(db, table, limit):
    found = []
    for page in pages(db.Scan, TableName=table, Limit=limit):
        assert page["Count"] == limit or "LastEvaluatedKey" not in page
        found += page["Items"]
    assert numbers(found) == list(range(COUNT))


def test_a_partitions_items_come_together_and_in_order(db, table):
    seen = collections.OrderedDict()
    last = None
    for each in plains(all_items(db.Scan, TableName=table, Limit=13)):
        assert each["pk"] == last or each["pk"] not in seen, "a partition came twice"
        last = each["pk"]
        seen.setdefault(last, []).append(each["sk"])
    assert all(order == [0, 1, 2, 3, 4] for order in seen.values())


@pytest.mark.parametrize("total", [1, 2, 3, 7, 64, 1000, 1_000_000])
def test_segments_are_disjoint_and_complete(db, table, total):
    found = []
    segments = range(total) if total <= 1000 else ()
    for segment in segments:
        found += all_items(db.Scan, TableName=table, Segment=segment, TotalSegments=total)
    if total <= 1000:
        assert numbers(found) == list(range(COUNT))
    else:  # too many to visit: some of them, each a true part of the whole
        for segment in (0, total // 2, total - 1):
            part = all_items(db.Scan, TableName=table, Segment=segment, TotalSegments=total)
            assert set(numbers(part)) <= set(range(COUNT))


def test_segments_page(db, table):
    found = []
    for segment in range(4):
        found += all_items(db.Scan, TableName=table, Segment=segment, TotalSegments=4, Limit=11)
    assert numbers(found) == list(range(COUNT))


def test_segments_of_an_index(db, table):
    found = []
    for segment in range(3):
        found += all_items(db.Scan, TableName=table, IndexName="by_color", Segment=segment,
                           TotalSegments=3, Limit=50)
    assert numbers(found) == [number for number in range(COUNT) if number % 10]


def test_segment_errors(db, table):
    with invalid("The TotalSegments parameter is required but was not present in the request when "
                 "Segment parameter is present"):
        db.Scan(TableName=table, Segment=0)
    with invalid("The Segment parameter is required but was not present in the request when parameter "
                 "TotalSegments is present"):
        db.Scan(TableName=table, TotalSegments=2)
    with invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: "
                 "Segment: 5 is not less than TotalSegments: 5"):
        db.Scan(TableName=table, Segment=5, TotalSegments=5)
    for segment, total in ((-1, 2), (0, 0), (0, 1_000_001)):
        with invalid():
            db.Scan(TableName=table, Segment=segment, TotalSegments=total)


def test_start_key_must_lie_in_the_segment(db, table):
    pages_of_segment = next(pages(db.Scan, TableName=table, Segment=0, TotalSegments=2, Limit=1))
    with invalid():
        db.Scan(TableName=table, Segment=1, TotalSegments=2,
                ExclusiveStartKey=pages_of_segment["LastEvaluatedKey"])


def test_filter(db, table):
    page = db.Scan(TableName=table, FilterExpression="n < :v", ExpressionAttributeValues=values(v=10))
    assert numbers(page["Items"]) == list(range(10))
    assert (page["Count"], page["ScannedCount"]) == (10, COUNT)


def test_filter_may_name_keys(db, table):
    found = all_items(db.Scan, TableName=table, FilterExpression="pk = :p AND sk > :s",
                      ExpressionAttributeValues=values(p="p3", s=2))
    assert numbers(found) == [18, 19]


def test_limit_counts_before_the_filter(db, table):
    got = list(pages(db.Scan, TableName=table, Limit=50, FilterExpression="sk = :v",
                     ExpressionAttributeValues=values(v=0)))
    assert [page["ScannedCount"] for page in got][:10] == [50] * 10
    assert sum(page["Count"] for page in got) == 100


def test_index_scan_is_sparse_and_projected(db, table):
    found = plains(all_items(db.Scan, TableName=table, IndexName="by_color", Limit=77))
    assert sorted(each["n"] for each in found) == [n for n in range(COUNT) if n % 10]
    assert all(set(each) == {"pk", "sk", "color", "n"} for each in found)
    order = collections.defaultdict(list)
    for each in found:
        order[each["color"]].append(each["n"])
    assert all(part == sorted(part) for part in order.values())


def test_count(db, table):
    assert db.Scan(TableName=table, Select="COUNT") == {"Count": COUNT, "ScannedCount": COUNT}


def test_select_needs_what_it_says(db, table):
    with invalid("Must specify the AttributesToGet or ProjectionExpression when choosing to get "
                 "SPECIFIC_ATTRIBUTES"):
        db.Scan(TableName=table, Select="SPECIFIC_ATTRIBUTES")
    with invalid():
        db.Scan(TableName=table, Select="ALL_PROJECTED_ATTRIBUTES")


def test_projection(db, table):
    assert sorted(map(str, plains(db.Scan(TableName=table, ProjectionExpression="n")["Items"]))) == sorted(
        str({"n": number}) for number in range(COUNT))


def test_limit_of_zero(db, table):
    with invalid("1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: "
                 "Member must have value greater than or equal to 1"):
        db.Scan(TableName=table, Limit=0)


@pytest.mark.parametrize("start", [{"pk": av("k")}, {"sk": av(1)}, {"pk": av("k"), "sk": av("1")},
                                   {"pk": av("k"), "sk": av(1), "x": av(1)}, {}], ids=str)
def test_bad_start_key(db, table, start):
    with invalid():
        db.Scan(TableName=table, ExclusiveStartKey=start)


def test_pages_of_one_megabyte(db, make_table):
    table = make_table("pk")
    put_all(db, table, [item(pk=f"p{number}", body="x" * 100_000) for number in range(25)])
    got = list(pages(db.Scan, TableName=table))
    assert [page["Count"] for page in got] == [11, 11, 3]
    assert len({each["pk"]["S"] for page in got for each in page["Items"]}) == 25


def test_empty_table(db, make_table):
    table = make_table("pk sk", gsi={"idx": "g"})
    for index in ({}, {"IndexName": "idx"}):
        assert db.Scan(TableName=table, **index) == {"Items": [], "Count": 0, "ScannedCount": 0}


def test_deleted_items_are_gone(db, make_table):
    table = make_table("pk")
    put_all(db, table, [item(pk=f"p{number}") for number in range(100)])
    for number in range(0, 100, 2):
        db.DeleteItem(TableName=table, Key=item(pk=f"p{number}"))
    found = {each["pk"]["S"] for each in all_items(db.Scan, TableName=table, ConsistentRead=True)}
    assert found == {f"p{number}" for number in range(1, 100, 2)}
