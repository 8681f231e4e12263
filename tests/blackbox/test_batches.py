"""BatchGetItem and BatchWriteItem: many items in one call, each for itself."""

import pytest

from tables import put_all
from values import item, plains, values
from wire import invalid, refused


@pytest.fixture
def table(make_table):
    return make_table("pk")


def put(pk, **attributes):
    return {"PutRequest": {"Item": item(pk=pk, **attributes)}}


def delete(pk):
    return {"DeleteRequest": {"Key": item(pk=pk)}}


def key_list(numbers):
    return [item(pk=f"p{number}") for number in numbers]


def found(answer, table):
    return sorted(each["pk"] for each in plains(answer["Responses"][table]))


def test_write_and_get(db, table):
    answer = db.BatchWriteItem(RequestItems={table: [put(f"p{n}", v=n) for n in range(25)]})
    assert answer == {"UnprocessedItems": {}}
    answer = db.BatchGetItem(RequestItems={table: {"Keys": key_list(range(30))}})
    assert answer["UnprocessedKeys"] == {}
    assert sorted(each["v"] for each in plains(answer["Responses"][table])) == list(range(25))


def test_puts_and_deletes_together(db, table):
    db.BatchWriteItem(RequestItems={table: [put("old"), put("kept")]})
    db.BatchWriteItem(RequestItems={table: [delete("old"), put("new"), delete("absent")]})
    answer = db.BatchGetItem(RequestItems={table: {"Keys": [item(pk="old"), item(pk="kept"),
                                                            item(pk="new")]}})
    assert found(answer, table) == ["kept", "new"]


def test_put_replaces(db, table):
    db.PutItem(TableName=table, Item=item(pk="k", old=1))
    db.BatchWriteItem(RequestItems={table: [put("k", new=2)]})
    assert db.GetItem(TableName=table, Key=item(pk="k"))["Item"] == item(pk="k", new=2)


def test_several_tables(db, make_table):
    one, two = make_table("pk"), make_table("pk sk:N")
    db.BatchWriteItem(RequestItems={one: [put("a")], two: [put("b", sk=1), put("b", sk=2)]})
    answer = db.BatchGetItem(RequestItems={
        one: {"Keys": [item(pk="a")]},
        two: {"Keys": [item(pk="b", sk=1), item(pk="b", sk=3)], "ConsistentRead": True}})
    assert answer["Responses"] == {one: [item(pk="a")], two: [item(pk="b", sk=1)]}


def test_nothing_found_is_an_empty_list(db, table):
    assert db.BatchGetItem(RequestItems={table: {"Keys": key_list(range(3))}}) == {
        "Responses": {table: []}, "UnprocessedKeys": {}}


def test_projection_and_names(db, table):
    db.BatchWriteItem(RequestItems={table: [put("p0", v=1, status="x"), put("p1", v=2)]})
    answer = db.BatchGetItem(RequestItems={table: {
        "Keys": key_list(range(2)), "ProjectionExpression": "v, #s",
        "ExpressionAttributeNames": {"#s": "status"}}})
    assert sorted(plains(answer["Responses"][table]), key=lambda each: each["v"]) == [
        {"v": 1, "status": "x"}, {"v": 2}]


def test_get_takes_100_keys(db, table):
    assert db.BatchGetItem(RequestItems={table: {"Keys": key_list(range(100))}})["Responses"] == {
        table: []}
    with invalid():
        db.BatchGetItem(RequestItems={table: {"Keys": key_list(range(101))}})


def test_get_takes_100_keys_over_all_tables(db, make_table):
    one, two = make_table("pk"), make_table("pk")
    with invalid("Too many items requested for the BatchGetItem call"):
        db.BatchGetItem(RequestItems={one: {"Keys": key_list(range(51))},
                                      two: {"Keys": key_list(range(50))}})


def test_write_takes_25_requests(db, make_table):
    one, two = make_table("pk"), make_table("pk")
    with invalid():
        db.BatchWriteItem(RequestItems={one: [put(f"p{n}") for n in range(26)]})
    with invalid("Too many items requested for the BatchWriteItem call"):
        db.BatchWriteItem(RequestItems={one: [put(f"p{n}") for n in range(13)],
                                        two: [put(f"p{n}") for n in range(13)]})
    assert db.Scan(TableName=one)["Count"] == 0


BAD_WRITES = {
    "neither put nor delete": [{}],
    "put and delete in one": [{**put("k"), **delete("k")}],
    "put twice": [put("k"), put("k")],
    "put and delete": [put("k"), delete("k")],
    "delete twice": [delete("k"), delete("k")],
    "wrong key type": [put(1)],
    "put without key": [{"PutRequest": {"Item": item(v=1)}}],
    "delete without key": [{"DeleteRequest": {"Key": item(v=1)}}],
    "delete with too many attributes": [{"DeleteRequest": {"Key": item(pk="k", v=1)}}],
    "put of an empty key": [put("")],
    "delete of an empty key": [delete("")],
}


@pytest.mark.parametrize("case", BAD_WRITES)
def test_writes_refused_as_a_whole(db, table, case):
    with invalid():
        db.BatchWriteItem(RequestItems={table: [put("beside"), *BAD_WRITES[case]]})
    assert db.Scan(TableName=table)["Count"] == 0


def test_empty_requests_are_refused(db, table):
    for request in ({}, {table: []}):
        with invalid():
            db.BatchWriteItem(RequestItems=request)
    with invalid():
        db.BatchGetItem(RequestItems={})


@pytest.mark.parametrize("keys", [
    [], [{}], [{"pk": "k"}, {"pk": "k"}], [{"pk": 1}], [{"v": "k"}], [{"pk": "k", "v": 1}], [{"pk": ""}],
], ids=str)
def test_gets_refused_as_a_whole(db, table, keys):
    with invalid():
        db.BatchGetItem(RequestItems={table: {"Keys": [item(key) for key in keys]}})


def test_error_texts(db, table):
    with invalid("Provided list of item keys contains duplicates"):
        db.BatchWriteItem(RequestItems={table: [put("k"), delete("k")]})
    with invalid("Provided list of item keys contains duplicates"):
        db.BatchGetItem(RequestItems={table: {"Keys": [item(pk="k"), item(pk="k")]}})
    with invalid("The provided key element does not match the schema"):
        db.BatchWriteItem(RequestItems={table: [put(1)]})


def test_number_keys_are_duplicates_by_value(db, make_table):
    table = make_table("pk:N")
    with invalid("Provided list of item keys contains duplicates"):
        db.BatchGetItem(RequestItems={table: {"Keys": [{"pk": {"N": "1"}}, {"pk": {"N": "1.0"}}]}})


def test_the_order_of_key_attributes_makes_no_difference(db, make_table):
    table = make_table("pk sk:N")
    first, second = {"pk": {"S": "a"}, "sk": {"N": "100"}}, {"sk": {"N": "1E2"}, "pk": {"S": "a"}}
    with invalid("Provided list of item keys contains duplicates"):
        db.BatchGetItem(RequestItems={table: {"Keys": [first, second]}})


def test_absent_table(db, table):
    with refused("ResourceNotFoundException", "Requested resource not found"):
        db.BatchGetItem(RequestItems={table: {"Keys": [item(pk="k")]},
                                      "no-such-table": {"Keys": [item(pk="k")]}})
    with refused("ResourceNotFoundException", "Requested resource not found"):
        db.BatchWriteItem(RequestItems={table: [put("k")], "no-such-table": [put("k")]})
    assert db.GetItem(TableName=table, Key=item(pk="k")) == {}


def test_get_stops_at_16_megabytes(db, table):
    """50 items of 400 KB are 20 MB: what does not fit comes back as keys, with the settings."""
    body = "x" * 400_000
    for number in range(50):
        db.PutItem(TableName=table, Item=item(pk=f"p{number}", body=body))
    request = {"ConsistentRead": True, "ProjectionExpression": "pk, #b",
               "ExpressionAttributeNames": {"#b": "body"}}
    todo = {"Keys": key_list(range(50)), **request}
    seen, rounds = [], 0
    while todo:
        answer = db.BatchGetItem(RequestItems={table: todo})
        got = [each["pk"]["S"] for each in answer["Responses"][table]]
        assert all(len(each["body"]["S"]) == 400_000 for each in answer["Responses"][table])
        assert 0 < len(got) * 400_000 <= 16 * 1024 * 1024 + 400_000
        seen += got
        rounds += 1
        todo = answer["UnprocessedKeys"].get(table)
        if todo:
            assert {name: todo[name] for name in request} == request
    assert rounds == 2
    assert sorted(seen) == sorted(f"p{number}" for number in range(50))


def test_write_of_almost_16_megabytes(db, table):
    """25 items of the largest size are under 16 MB of request."""
    body = "x" * 409_000
    todo = [put(f"p{number}", body=body) for number in range(25)]
    while todo:
        todo = db.BatchWriteItem(RequestItems={table: todo})["UnprocessedItems"].get(table, [])
    assert len(found(db.BatchGetItem(RequestItems={table: {
        "Keys": key_list(range(25)), "ProjectionExpression": "pk"}}), table)) == 25


def test_indexes_follow_batches(db, make_table):
    table = make_table("pk", gsi={"idx": "g"})
    put_all(db, table, [item(pk=f"p{number}", g=f"g{number % 2}") for number in range(60)])
    db.BatchWriteItem(RequestItems={table: [delete(f"p{number}") for number in range(0, 50, 2)]})
    for g, expected in (("g0", 5), ("g1", 30)):
        assert db.Query(TableName=table, IndexName="idx", KeyConditionExpression="g = :g",
                        ExpressionAttributeValues=values(g=g))["Count"] == expected


def test_projection_and_attributes_to_get_do_not_mix(db, make_table):
    one, two = make_table("pk"), make_table("pk")
    with invalid():
        db.BatchGetItem(RequestItems={
            one: {"Keys": [item(pk="k")], "ProjectionExpression": "pk"},
            two: {"Keys": [item(pk="k")], "AttributesToGet": ["pk"]}})
