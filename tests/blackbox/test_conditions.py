"""Condition and filter expressions: one item, many questions, each asked as a condition of a write
and as a filter of a read."""

import pytest

from values import Raw, av, item, plain, values
from wire import Refused, invalid, refused

ITEM = {
    "pk": "k",
    "s": "hello", "blank": "", "wide": "a\U0001F600é", "t": "hello",
    "n": 5, "big": Raw(N="1234567890123456789012345678901234567.8"), "m5": 5,
    "b": b"\x01\x02\x03", "yes": True, "nay": False, "nil": None,
    "l": [1, "two", [3], {"four": 4}, 1], "m": {"a": 1, "b": {"c": "deep", "l": [10, 20]}},
    "ss": {"a", "b"}, "ns": {1, 2, 3}, "bs": {b"x", b"y"},
    "size": 7, "two words": 2, "dot.ted": 3,
}


@pytest.fixture(scope="module")
def table(make_module_table):
    return make_module_table("pk")


@pytest.fixture(autouse=True)
def stored(db, table):
    db.PutItem(TableName=table, Item=item(ITEM))


def holds(db, table, expression, names=None, **named):
    """Whether the condition holds on ITEM; as a filter it must say the same."""
    request = {"TableName": table}
    if names:
        request["ExpressionAttributeNames"] = names
    if named:
        request["ExpressionAttributeValues"] = values(**named)
    found = db.Scan(**request, FilterExpression=expression)
    assert found["ScannedCount"] == 1
    try:
        db.UpdateItem(**request, Key=item(pk="k"), ConditionExpression=expression)
        as_condition = True
    except Refused as error:
        assert error.type == "ConditionalCheckFailedException", error
        assert error.message == "The conditional request failed"
        as_condition = False
    assert as_condition == (found["Count"] == 1)
    return as_condition


TRUE = [
    ("s = :v", {"v": "hello"}), ("s <> :v", {"v": "other"}), ("s < :v", {"v": "help"}),
    ("s <= :v", {"v": "hello"}), ("s > :v", {"v": "hell"}), ("s >= :v", {"v": "hello"}),
    (":v = s", {"v": "hello"}), ("s = t", {}), ("n = m5", {}), (":v < n", {"v": 4}),
    ("n = :v", {"v": Raw(N="5.00")}), ("n <> :v", {"v": "5"}), ("n < :v", {"v": 10}),
    ("big = :v", {"v": Raw(N="1234567890123456789012345678901234567.80")}),
    ("big < :v", {"v": Raw(N="1234567890123456789012345678901234567.9")}),
    ("b = :v", {"v": b"\x01\x02\x03"}), ("b > :v", {"v": b"\x01\x02"}), ("b < :v", {"v": b"\xff"}),
    ("yes = :v", {"v": True}), ("yes <> nay", {}), ("nil = :v", {"v": None}),
    ("l = :v", {"v": [1, "two", [3], {"four": 4}, 1]}),
    ("m = :v", {"v": {"b": {"l": [10, 20], "c": "deep"}, "a": 1}}),
    ("ss = :v", {"v": Raw(SS=["b", "a"])}), ("ns = :v", {"v": Raw(NS=["3.0", "1", "2"])}),
    ("bs = :v", {"v": {b"y", b"x"}}),
    ("l <> :v", {"v": ["two", 1, [3], {"four": 4}, 1]}),
    # a missing attribute differs from everything and compares with nothing
    ("gone <> :v", {"v": 1}), ("NOT gone = :v", {"v": 1}), ("NOT gone < :v", {"v": 1}),
    # paths
    ("m.a = :v", {"v": 1}), ("m.b.c = :v", {"v": "deep"}), ("m.b.l[1] = :v", {"v": 20}),
    ("l[0] = :v", {"v": 1}), ("l[2][0] = :v", {"v": 3}), ("l[3].four = :v", {"v": 4}),
    ("l[9] <> :v", {"v": 1}), ("s.x <> :v", {"v": 1}),
    # ranges and lists
    ("n BETWEEN :lo AND :hi", {"lo": 5, "hi": 5}), ("s BETWEEN :lo AND :hi", {"lo": "a", "hi": "i"}),
    ("b BETWEEN :lo AND :hi", {"lo": b"", "hi": b"\x02"}), (":v BETWEEN n AND big", {"v": 6}),
    ("NOT n BETWEEN :lo AND :hi", {"lo": "a", "hi": "z"}),
    ("s IN (:a, :b)", {"a": "x", "b": "hello"}), ("n IN (:a)", {"a": 5}),
    ("l IN (:a, :b)", {"a": [], "b": ITEM["l"]}), ("n IN (s, m5)", {}),
    ("NOT n IN (:a)", {"a": "5"}),
    # functions
    ("attribute_exists(s)", {}), ("attribute_exists(m.b.l[0])", {}), ("attribute_exists(nil)", {}),
    ("attribute_not_exists(gone)", {}), ("attribute_not_exists(m.gone)", {}),
    ("attribute_not_exists(l[5])", {}),
    ("begins_with(s, :v)", {"v": "hell"}), ("begins_with(s, :v)", {"v": ""}),
    ("begins_with(b, :v)", {"v": b"\x01\x02"}), ("begins_with(m.b.c, :v)", {"v": "de"}),
    ("contains(s, :v)", {"v": "ell"}), ("contains(b, :v)", {"v": b"\x02\x03"}),
    ("contains(l, :v)", {"v": "two"}), ("contains(l, :v)", {"v": [3]}),
    ("contains(l, :v)", {"v": {"four": 4}}), ("contains(ss, :v)", {"v": "a"}),
    ("contains(ns, :v)", {"v": Raw(N="2.0")}), ("contains(bs, :v)", {"v": b"x"}),
    ("contains(s, t)", {}), ("contains(m.b.l, :v)", {"v": 20}),
    ("size(s) = :v", {"v": 5}), ("size(blank) = :v", {"v": 0}), ("size(b) = :v", {"v": 3}),
    ("size(l) = :v", {"v": 5}), ("size(m) = :v", {"v": 2}), ("size(ns) = :v", {"v": 3}),
    ("size(m.b.l) = :v", {"v": 2}), ("size(s) > size(b)", {}), (":v < size(s)", {"v": 4}),
    ("size(s) BETWEEN :lo AND :hi", {"lo": 5, "hi": 6}), ("size(s) IN (:a, :b)", {"a": 1, "b": 5}),
    # and, or, not
    ("s = :v AND n = :w", {"v": "hello", "w": 5}), ("s = :v OR n = :w", {"v": "x", "w": 5}),
    ("NOT s = :v", {"v": "x"}), ("NOT NOT s = :v", {"v": "hello"}),
    ("s = :t OR s = :f AND n = :f", {"t": "hello", "f": "x"}),
    ("NOT s = :f AND n = :w", {"f": "x", "w": 5}),
    ("NOT (s = :f AND n = :w)", {"f": "x", "w": 5}),
    ("s = :v and not n = :w or n between :w and :w", {"v": "x", "w": 5}),
    ("(s = :v) AND (n = :w OR n = :x)", {"v": "hello", "w": 1, "x": 5}),
]

FALSE = [
    ("s = :v", {"v": "HELLO"}), ("s < :v", {"v": "hello"}), ("n = :v", {"v": "5"}),
    ("n < :v", {"v": "z"}), ("n >= :v", {"v": "0"}), ("n > :v", {"v": 5}),
    ("big = :v", {"v": Raw(N="1234567890123456789012345678901234567.7")}),
    ("yes = nay", {}), ("nil = :v", {"v": False}), ("l = :v", {"v": [1]}),
    ("m = :v", {"v": {"a": 1}}), ("ss = :v", {"v": {"a"}}), ("ss = :v", {"v": ["a", "b"]}),
    ("gone = :v", {"v": 1}), ("gone < :v", {"v": 1}), ("gone >= :v", {"v": 1}),
    ("gone BETWEEN :a AND :b", {"a": 1, "b": 2}), ("gone IN (:a)", {"a": 1}),
    ("m.a.x = :v", {"v": 1}), ("l[9] = :v", {"v": 1}),
    ("n BETWEEN :lo AND :hi", {"lo": 6, "hi": 9}), ("s IN (:a)", {"a": "x"}),
    ("attribute_exists(gone)", {}), ("attribute_exists(m.x)", {}), ("attribute_exists(l[5])", {}),
    ("attribute_exists(s.x)", {}), ("attribute_not_exists(s)", {}),
    ("begins_with(s, :v)", {"v": "ello"}), ("begins_with(n, :v)", {"v": "5"}),
    ("begins_with(gone, :v)", {"v": "a"}), ("begins_with(b, :v)", {"v": "a"}),
    ("contains(s, :v)", {"v": "xyz"}), ("contains(ss, :v)", {"v": 1}), ("contains(n, :v)", {"v": 5}),
    ("contains(gone, :v)", {"v": "a"}), ("contains(l, :v)", {"v": 3}),
    ("contains(m, :v)", {"v": "a"}), ("contains(ss, :v)", {"v": "ab"}),
    ("size(n) = :v", {"v": 1}), ("size(yes) = :v", {"v": 1}), ("size(gone) < :v", {"v": 9}),
    ("size(nil) < :v", {"v": 9}),
    ("s = :v AND n = :w", {"v": "hello", "w": 6}), ("NOT s = :v", {"v": "hello"}),
    ("(s = :t OR s = :f) AND n = :f", {"t": "hello", "f": "x"}),
    ("NOT s = :t OR n = :f", {"t": "hello", "f": "x"}),
]


@pytest.mark.parametrize("expression, named", TRUE, ids=[case[0] for case in TRUE])
def test_holds(db, table, expression, named):
    assert holds(db, table, expression, **named)


@pytest.mark.parametrize("expression, named", FALSE, ids=[case[0] for case in FALSE])
def test_does_not_hold(db, table, expression, named):
    assert not holds(db, table, expression, **named)


TYPES = {"S": "s", "N": "n", "B": "b", "BOOL": "yes", "NULL": "nil", "L": "l", "M": "m", "SS": "ss",
         "NS": "ns", "BS": "bs"}


@pytest.mark.parametrize("kind", TYPES)
def test_attribute_type(db, table, kind):
    for other, name in TYPES.items():
        assert holds(db, table, f"attribute_type({name}, :t)", t=kind) == (kind == other)
    assert not holds(db, table, "attribute_type(gone, :t)", t=kind)


def test_attribute_type_wants_a_known_type(db, table):
    for bad in ("X", "s", "", "STRING", 1):
        with invalid():
            holds(db, table, "attribute_type(s, :t)", t=bad)


def test_size_of_text_is_in_utf16_units(db, table):
    assert holds(db, table, "size(wide) = :v", v=4)  # a, a surrogate pair, é


def test_name_placeholders(db, table):
    assert holds(db, table, "#s = :v", {"#s": "size"}, v=7)
    assert holds(db, table, "#w = :v AND #d = :w", {"#w": "two words", "#d": "dot.ted"}, v=2, w=3)
    assert holds(db, table, "#m.#b.c = :v", {"#m": "m", "#b": "b"}, v="deep")


@pytest.mark.parametrize("word", ["status", "Name", "DATA", "count", "zone", "abort"])
def test_reserved_words_need_a_placeholder(db, table, word):
    with invalid() as caught:
        db.Scan(TableName=table, FilterExpression=f"{word} = :v",
                ExpressionAttributeValues=values(v=1))
    assert caught.error.message == ("Invalid FilterExpression: Attribute name is a reserved keyword; "
                                    f"reserved keyword: {word}")


@pytest.mark.parametrize("expression, named", [
    ("", {}), ("s", {}), ("s =", {}), ("= :v", {"v": 1}), ("s == :v", {"v": 1}), ("s != :v", {"v": 1}),
    ("s = :v AND", {"v": 1}), ("s = :v OR OR s = :v", {"v": 1}), ("(s = :v", {"v": 1}),
    ("s = :v)", {"v": 1}), ("s BETWEEN :v", {"v": 1}), ("s BETWEEN :v AND", {"v": 1}),
    ("s IN ()", {}), ("s IN :v", {"v": 1}), ("NOT", {}), ("s = 1", {}), ("s = 'x'", {}),
    ("unknown(s)", {}), ("ATTRIBUTE_EXISTS(s)", {}), ("attribute_exists()", {}),
    ("attribute_exists(s, t)", {}), ("attribute_exists(:v)", {"v": 1}), ("begins_with(s)", {}),
    ("contains(s)", {}), ("size(s)", {}), ("size(s, t) = :v", {"v": 1}), ("s.", {}), ("l[] = :v", {"v": 1}),
    ("l[x] = :v", {"v": 1}), ("l[-1] = :v", {"v": 1}), (".s = :v", {"v": 1}), ("s = :v ; n = :v", {"v": 1}),
    ("s = :undefined", {}), ("#undefined = :v", {"v": 1}), ("s = :v", {"v": 1, "unused": 1}),
    ("((s = :v))", {"v": 1}), ("contains(s, s)", {}), ("begins_with(s, :v)", {"v": 5}),
    ("s < :v", {"v": True}), ("s < :v", {"v": [1]}), ("s BETWEEN :v AND :w", {"v": {}, "w": {}}),
    ("n BETWEEN :v AND :w", {"v": 2, "w": 1}), ("n BETWEEN :v AND :w", {"v": 2, "w": "x"}),
    ("if_not_exists(s, :v) = :v", {"v": 1}),
], ids=str)
def test_bad_expressions_are_refused_before_anything_is_read(db, table, expression, named):
    request = {"ExpressionAttributeValues": values(**named)} if named else {}
    with invalid():
        db.Scan(TableName=table, FilterExpression=expression, **request)
    with invalid():
        db.DeleteItem(TableName=table, Key=item(pk="k"), ConditionExpression=expression, **request)
    assert db.GetItem(TableName=table, Key=item(pk="k"))["Item"]["pk"] == av("k")


def nested_or(count):
    return " OR ".join(["n = :v"] * count)


def test_limits_of_an_expression(db, table):
    assert holds(db, table, "n IN (" + ", ".join(f":v{i}" for i in range(100)) + ")",
                 **{f"v{i}": i for i in range(100)})
    with invalid():
        holds(db, table, "n IN (" + ", ".join(f":v{i}" for i in range(101)) + ")",
              **{f"v{i}": i for i in range(101)})
    assert holds(db, table, nested_or(150), v=5)
    with invalid():
        holds(db, table, nested_or(151), v=5)  # 151 comparisons and 150 ORs: over 300 operators
    with invalid() as caught:
        db.Scan(TableName=table, FilterExpression="n = :v".ljust(4097),
                ExpressionAttributeValues=values(v=5))
    assert caught.error.message == (
        "Invalid FilterExpression: Expression size has exceeded the maximum allowed size; expression size: 4097")
    assert holds(db, table, "n = :v".ljust(4096), v=5)


def test_unused_and_undefined_placeholders_are_named(db, table):
    with invalid("Value provided in ExpressionAttributeValues unused in expressions: keys: {:x}"):
        db.Scan(TableName=table, FilterExpression="n = :v", ExpressionAttributeValues=values(v=1, x=2))
    with invalid("Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}"):
        db.Scan(TableName=table, FilterExpression="n = :v", ExpressionAttributeValues=values(v=1),
                ExpressionAttributeNames={"#x": "n"})
    with invalid("Invalid FilterExpression: An expression attribute value used in expression is not "
                 "defined; attribute value: :x"):
        db.Scan(TableName=table, FilterExpression="n = :v OR n = :x",
                ExpressionAttributeValues=values(v=1))
    with invalid("Invalid FilterExpression: An expression attribute name used in the document path is "
                 "not defined; attribute name: #x"):
        db.Scan(TableName=table, FilterExpression="#x = :v", ExpressionAttributeValues=values(v=1))


def test_values_without_an_expression_are_refused(db, table):
    with invalid():
        db.DeleteItem(TableName=table, Key=item(pk="k"), ExpressionAttributeValues=values(v=1))
    with invalid():
        db.DeleteItem(TableName=table, Key=item(pk="k"), ExpressionAttributeNames={"#n": "n"})


def test_condition_on_an_absent_item_sees_nothing_of_it(db, table):
    key = item(pk="absent")
    for expression in ("attribute_exists(pk)", "pk = :k"):
        named = {"ExpressionAttributeValues": values(k="absent")} if ":k" in expression else {}
        for call, request in ((db.PutItem, {"Item": key}), (db.DeleteItem, {"Key": key}),
                              (db.UpdateItem, {"Key": key})):
            with refused("ConditionalCheckFailedException"):
                call(TableName=table, ConditionExpression=expression, **request, **named)
    assert db.GetItem(TableName=table, Key=key) == {}


def test_put_if_absent(db, table):
    new = item(pk="new", v=1)
    db.DeleteItem(TableName=table, Key=item(pk="new"))
    db.PutItem(TableName=table, Item=new, ConditionExpression="attribute_not_exists(pk)")
    with refused("ConditionalCheckFailedException"):
        db.PutItem(TableName=table, Item=item(pk="new", v=2),
                   ConditionExpression="attribute_not_exists(pk)")
    assert db.GetItem(TableName=table, Key=item(pk="new"))["Item"] == new
    db.DeleteItem(TableName=table, Key=item(pk="new"))


@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem", "DeleteItem"])
def test_failed_condition_can_give_the_item(db, table, operation):
    request = {"TableName": table, "ConditionExpression": "n = :v",
               "ExpressionAttributeValues": values(v=6)}
    request["Item" if operation == "PutItem" else "Key"] = item(pk="k")
    with refused("ConditionalCheckFailedException") as plain_failure:
        db.call(operation, request)
    assert "Item" not in plain_failure.error.body
    with refused("ConditionalCheckFailedException") as failure:
        db.call(operation, {**request, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"})
    assert plain(failure.error.body["Item"]) == plain(item(ITEM))


def test_failed_condition_on_an_absent_item_gives_none(db, table):
    with refused("ConditionalCheckFailedException") as failure:
        db.DeleteItem(TableName=table, Key=item(pk="absent"), ConditionExpression="n = :v",
                      ExpressionAttributeValues=values(v=1),
                      ReturnValuesOnConditionCheckFailure="ALL_OLD")
    assert "Item" not in failure.error.body


def test_refused_condition_changes_nothing(db, table):
    with refused("ConditionalCheckFailedException"):
        db.UpdateItem(TableName=table, Key=item(pk="k"), UpdateExpression="SET s = :new REMOVE m",
                      ConditionExpression="n > :v", ExpressionAttributeValues=values(new="x", v=5))
    assert plain(db.GetItem(TableName=table, Key=item(pk="k"))["Item"]) == plain(item(ITEM))
