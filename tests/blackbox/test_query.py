"""Query: key conditions of every kind, both directions, pages, filters, Select."""

import pytest

from tables import all_items, pages, put_all
from values import av, item, plain, plains, values
from wire import Client, invalid

ROWS = 20
LETTERS = "abcdefghijklmnopqrst"


@pytest.fixture(scope="module")
def table(make_module_table, endpoint):
    """Partition k: sk a..t, n 0..19; a second one beside it."""
    name = make_module_table("pk sk")
    with Client(endpoint) as client:
        put_all(client, name, [item(pk=pk, sk=letter, n=number, even=number % 2 == 0)
                               for pk in ("k", "other") for number, letter in enumerate(LETTERS)])
    return name


def query(db, table, condition="pk = :k", names=None, **more):
    named = {"k": "k", **more.pop("named", {})}
    request = {"TableName": table, "KeyConditionExpression": condition,
               "ExpressionAttributeValues": values(**named), **more}
    if names:
        request["ExpressionAttributeNames"] = names
    return request


def letters(items):
    return "".join(each["sk"]["S"] for each in items)


CONDITIONS = {
    "pk = :k": ({}, LETTERS),
    ":k = pk": ({}, LETTERS),
    "pk = :k AND sk = :a": ({"a": "c"}, "c"),
    "sk = :a AND pk = :k": ({"a": "c"}, "c"),
    "(pk = :k) AND (sk = :a)": ({"a": "c"}, "c"),
    "pk = :k AND sk < :a": ({"a": "d"}, "abc"),
    "pk = :k AND sk <= :a": ({"a": "d"}, "abcd"),
    "pk = :k AND sk > :a": ({"a": "r"}, "st"),
    "pk = :k AND sk >= :a": ({"a": "r"}, "rst"),
    "pk = :k AND :a <= sk": ({"a": "r"}, "rst"),
    "pk = :k AND :a > sk": ({"a": "c"}, "ab"),
    "pk = :k AND sk BETWEEN :a AND :b": ({"a": "c", "b": "f"}, "cdef"),
    "pk = :k AND sk between :a and :b": ({"a": "c", "b": "c"}, "c"),
    "pk = :k AND begins_with(sk, :a)": ({"a": "c"}, "c"),
    "begins_with(sk, :a) AND pk = :k": ({"a": "c"}, "c"),
    "pk = :k AND sk > :b": ({"b": "zz"}, ""),
    "pk = :k AND sk = :b": ({"b": "cc"}, ""),
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_key_condition_in_both_directions(db, table, condition):
    named, expected = CONDITIONS[condition]
    request = query(db, table, condition, named=named)
    forward = db.Query(**request)
    assert letters(forward["Items"]) == expected
    assert forward["Count"] == forward["ScannedCount"] == len(expected)
    assert "LastEvaluatedKey" not in forward
    assert letters(db.Query(**request, ScanIndexForward=False)["Items"]) == expected[::-1]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("forward", [True, False])
def test_key_condition_in_pages_of_three(db, table, condition, forward):
    named, expected = CONDITIONS[condition]
    request = query(db, table, condition, named=named, Limit=3, ScanIndexForward=forward)
    found = ""
    for page in pages(db.Query, **request):
        assert len(page["Items"]) == 3 or "LastEvaluatedKey" not in page
        if "LastEvaluatedKey" in page:
            assert plain(page["LastEvaluatedKey"]) == {"pk": "k", "sk": letters(page["Items"])[-1]}
        found += letters(page["Items"])
    assert found == (expected if forward else expected[::-1])


def test_name_placeholders(db, table):
    request = query(db, table, "#p = :k AND #s > :a", {"#p": "pk", "#s": "sk"}, named={"a": "r"})
    assert letters(db.Query(**request)["Items"]) == "st"


@pytest.mark.parametrize("condition, named", [
    ("", {}), ("pk", {}), ("pk <> :k", {}), ("pk > :k", {}), ("begins_with(pk, :k)", {}),
    ("pk = :k OR pk = :a", {"a": "x"}), ("pk = :k AND sk <> :a", {"a": "x"}),
    ("pk = :k AND n = :a", {"a": 1}), ("pk = :k AND sk = :a AND n = :b", {"a": "a", "b": 1}),
    ("sk = :k", {}), ("NOT pk = :k", {}), ("pk = :k AND sk IN (:a)", {"a": "x"}),
    ("pk = :k AND contains(sk, :a)", {"a": "x"}), ("pk = :k AND attribute_exists(sk)", {}),
    ("pk = :k AND sk BETWEEN :a AND :b", {"a": "z", "b": "a"}), ("pk = :k AND sk = :a", {"a": 1}),
    ("pk = :k AND pk = :a", {"a": "x"}), ("pk = :k AND sk > :a AND sk < :b", {"a": "a", "b": "c"}),
    ("pk.x = :k", {}), ("pk = :k AND sk[0] = :a", {"a": "x"}), ("pk = :k AND size(sk) = :a", {"a": 1}),
    ("((pk = :k))", {}), ("pk = :undefined AND sk = :k", {}),
], ids=str)
def test_key_conditions_that_are_refused(db, table, condition, named):
    with invalid():
        db.Query(**query(db, table, condition, named=named))


def test_error_texts(db, table):
    with invalid("Query condition missed key schema element: pk"):
        db.Query(**query(db, table, "sk = :k"))
    with invalid("Query key condition not supported"):
        db.Query(**query(db, table, "pk > :k"))
    with invalid("Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on "
                 "nested attributes"):
        db.Query(**query(db, table, "pk.x = :k"))
    with invalid("One or more parameter values were invalid: Condition parameter type does not match "
                 "schema type"):
        db.Query(**query(db, table, "pk = :k AND sk = :a", named={"a": 1}))
    with invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the "
                 "request."):
        db.Query(TableName=table)


def test_empty_key_values_are_refused(db, table):
    with invalid():
        db.Query(**query(db, table, named={"k": ""}))
    with invalid():
        db.Query(**query(db, table, "pk = :k AND sk = :a", named={"a": ""}))


def test_begins_with_knows_no_wildcards(db, make_table):
    table = make_table("pk sk")
    names = ["a%c", "a_c", "abc", "a", "ab\x00", "ab\U0010FFFF", "b"]
    put_all(db, table, [item(pk="k", sk=name) for name in names])
    for prefix in ("a%", "a_", "a", "ab", "ab\U0010FFFF"):
        found = db.Query(**query(db, table, "pk = :k AND begins_with(sk, :a)", named={"a": prefix}))
        assert [each["sk"]["S"] for each in found["Items"]] == sorted(
            (name for name in names if name.startswith(prefix)), key=str.encode)


def test_strings_sort_by_utf8_bytes(db, make_table):
    table = make_table("pk sk")
    keys = ["", "A", "Z", "a", "a\x00", "a\x00b", "a ", "ab", "b", "é", "z", "￿", "\U00010000"][1:]
    put_all(db, table, [item(pk="k", sk=key) for key in keys])
    found = [each["sk"]["S"] for each in db.Query(**query(db, table))["Items"]]
    assert found == sorted(keys, key=str.encode)


def test_binary_sorts_by_unsigned_bytes(db, make_table):
    table = make_table("pk sk:B")
    keys = [b"\x00", b"\x00\x00", b"\x00\x01", b"\x7f", b"\x80", b"\xff", b"\xff\x00", b"\xff\xff"]
    put_all(db, table, [item(pk="k", sk=key) for key in reversed(keys)])
    assert [plain(each)["sk"] for each in db.Query(**query(db, table))["Items"]] == keys
    found = db.Query(**query(db, table, "pk = :k AND begins_with(sk, :a)", named={"a": b"\xff"}))
    assert [plain(each)["sk"] for each in found["Items"]] == [b"\xff", b"\xff\x00", b"\xff\xff"]


def test_number_ranges(db, make_table):
    table = make_table("pk:N sk:N")
    put_all(db, table, [item(pk=1, sk=number) for number in range(-10, 11)])
    for condition, named, expected in (
            ("pk = :k AND sk < :a", {"a": -8}, [-10, -9]),
            ("pk = :k AND sk BETWEEN :a AND :b", {"a": -1, "b": 1}, [-1, 0, 1]),
            ("pk = :k AND sk > :a", {"a": 8}, [9, 10])):
        found = db.Query(**query(db, table, condition, named={"k": 1, **named}))
        assert [plain(each)["sk"] for each in found["Items"]] == expected


def test_filter_comes_after_limit(db, table):
    request = query(db, table, named={"t": True}, FilterExpression="even = :t", Limit=5)
    got = list(pages(db.Query, **request))
    assert "".join(letters(page["Items"]) for page in got) == LETTERS[::2]
    assert [page["ScannedCount"] for page in got][:4] == [5, 5, 5, 5]
    assert [page["Count"] for page in got][:4] == [3, 2, 3, 2]


def test_filter_may_leave_pages_empty(db, table):
    request = query(db, table, named={"n": 19}, FilterExpression="n = :n", Limit=4)
    got = list(pages(db.Query, **request))
    assert [page["Count"] for page in got][:5] == [0, 0, 0, 0, 1]
    assert got[0]["LastEvaluatedKey"] == item(pk="k", sk="d")


def test_filter_may_not_name_keys(db, table):
    for name in ("pk", "sk"):
        with invalid() as caught:
            db.Query(**query(db, table, FilterExpression=f"{name} = :k"))
        assert caught.error.message == (
            "Filter Expression can only contain non-primary key attributes: Primary key attribute: "
            + name)


def test_limit_that_ends_the_partition_exactly(db, table):
    page = db.Query(**query(db, table, Limit=ROWS))
    assert page["Count"] == ROWS
    if "LastEvaluatedKey" in page:  # the service cannot know yet that nothing follows
        rest = db.Query(**query(db, table, Limit=ROWS, ExclusiveStartKey=page["LastEvaluatedKey"]))
        assert rest["Count"] == 0 and "LastEvaluatedKey" not in rest


@pytest.mark.parametrize("limit", [0, -1])
def test_limit_below_one_is_refused(db, table, limit):
    with invalid():
        db.Query(**query(db, table, Limit=limit))


def test_pages_of_one_megabyte(db, make_table):
    table = make_table("pk sk:N")
    body = "x" * 100_000
    put_all(db, table, [item(pk="k", sk=number, body=body) for number in range(25)])
    for forward in (True, False):
        got = list(pages(db.Query, **query(db, table, ScanIndexForward=forward)))
        assert [page["Count"] for page in got] == [11, 11, 3]
        numbers = [plain(each)["sk"] for page in got for each in page["Items"]]
        assert numbers == sorted(range(25), reverse=not forward)
    filtered = list(pages(db.Query, **query(db, table, named={"n": "none"},
                                            FilterExpression="body = :n")))
    assert [page["ScannedCount"] for page in filtered] == [11, 11, 3]
    projected = list(pages(db.Query, **query(db, table, ProjectionExpression="sk")))
    assert [page["Count"] for page in projected] == [11, 11, 3]


def test_select_count(db, table):
    page = db.Query(**query(db, table, Select="COUNT"))
    assert page == {"Count": ROWS, "ScannedCount": ROWS}
    page = db.Query(**query(db, table, Select="COUNT", named={"t": True}, FilterExpression="even = :t"))
    assert page == {"Count": ROWS // 2, "ScannedCount": ROWS}


def test_select_forms(db, table):
    every = db.Query(**query(db, table, Select="ALL_ATTRIBUTES"))["Items"]
    assert plain(every[0]) == {"pk": "k", "sk": "a", "n": 0, "even": True}
    some = db.Query(**query(db, table, Select="SPECIFIC_ATTRIBUTES", ProjectionExpression="n"))["Items"]
    assert plains(some) == [{"n": number} for number in range(ROWS)]
    for select, words in (("ALL_ATTRIBUTES", "ALL_ATTRIBUTES"), ("COUNT", "only the Count")):
        with invalid(f"1 validation error detected: Cannot specify the ProjectionExpression when choosing to get {words}"):
            db.Query(**query(db, table, Select=select, ProjectionExpression="n"))
    with invalid():
        db.Query(**query(db, table, Select="SPECIFIC_ATTRIBUTES"))
    with invalid():
        db.Query(**query(db, table, Select="ALL_PROJECTED_ATTRIBUTES"))
    with invalid():
        db.Query(**query(db, table, Select="SOME"))


def test_table_without_sort_key_has_no_second_page(db, make_table):
    table = make_table("pk")
    db.PutItem(TableName=table, Item=item(pk="k", n=1))
    request = {"TableName": table, "KeyConditionExpression": "pk = :k", "ExpressionAttributeValues": values(k="k")}
    page = db.Query(**request, Limit=1)
    assert plains(page["Items"]) == [{"pk": "k", "n": 1}] and "LastEvaluatedKey" not in page
    with invalid("The provided exclusive start key is invalid: ExclusiveStartKey: {pk=AttributeValue: {S:k}}"):
        db.Query(**request, ExclusiveStartKey=item(pk="k"))
    with invalid("The provided starting key is outside query boundaries based on provided conditions"):
        db.Query(**request, ExclusiveStartKey=item(pk="other"))
    assert "LastEvaluatedKey" in db.Scan(TableName=table, Limit=1)


def test_start_key(db, table):
    request = query(db, table, "pk = :k AND sk > :a", named={"a": "c"})
    after = db.Query(**request, ExclusiveStartKey=item(pk="k", sk="f"))
    assert letters(after["Items"]) == LETTERS[6:]
    absent = db.Query(**request, ExclusiveStartKey=item(pk="k", sk="ff"))
    assert letters(absent["Items"]) == LETTERS[6:]
    back = db.Query(**query(db, table, ScanIndexForward=False, ExclusiveStartKey=item(pk="k", sk="c")))
    assert letters(back["Items"]) == "ba"


@pytest.mark.parametrize("start", [
    {"pk": "k"}, {"sk": "a"}, {"pk": "k", "sk": 1}, {"pk": "k", "sk": "d", "n": 1}, {},
    {"pk": "other", "sk": "d"}, {"pk": "k", "sk": "a"},
], ids=str)
def test_start_key_that_does_not_belong_is_refused(db, table, start):
    with invalid():
        db.Query(**query(db, table, "pk = :k AND sk > :a", named={"a": "c"},
                         ExclusiveStartKey=item(start)))


def test_consistent_read(db, table):
    db.PutItem(TableName=table, Item=item(pk="fresh", sk="x"))
    assert letters(db.Query(**query(db, table, named={"k": "fresh"}, ConsistentRead=True))["Items"]) == "x"


def test_table_without_sort_key(db, make_table):
    table = make_table("pk")
    db.PutItem(TableName=table, Item=item(pk="k", v=1))
    assert plains(db.Query(**query(db, table))["Items"]) == [{"pk": "k", "v": 1}]
    assert db.Query(**query(db, table, named={"k": "absent"}))["Items"] == []


def test_changes_between_pages(db, make_table):
    table = make_table("pk sk:N")
    put_all(db, table, [item(pk="k", sk=number) for number in range(10)])
    first = db.Query(**query(db, table, Limit=4))
    db.DeleteItem(TableName=table, Key=first["LastEvaluatedKey"])
    db.DeleteItem(TableName=table, Key=item(pk="k", sk=5))
    db.PutItem(TableName=table, Item={"pk": av("k"), "sk": {"N": "5.5"}})
    rest = all_items(db.Query, **query(db, table, ExclusiveStartKey=first["LastEvaluatedKey"]))
    assert [each["sk"]["N"] for each in rest] == ["4", "5.5", "6", "7", "8", "9"]
