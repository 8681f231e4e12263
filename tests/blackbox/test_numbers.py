"""Numbers: 38 digits, exponents, one canonical form, exact arithmetic."""

import pytest

from values import av, item, values
from wire import invalid

NINES = "9" * 38


@pytest.fixture(scope="module")
def table(make_module_table):
    return make_module_table("pk")


def put_number(db, table, text):
    db.PutItem(TableName=table, Item={"pk": av("k"), "n": {"N": text}})
    return db.GetItem(TableName=table, Key=item(pk="k"))["Item"]["n"]["N"]


@pytest.mark.parametrize("sent, stored", [
    ("0", "0"), ("-0", "0"), ("0.0", "0"), ("+5", "5"), ("00042", "42"), ("3.1400", "3.14"),
    ("1.5E2", "150"), ("1e+2", "100"), ("+1.5", "1.5"), ("+1e2", "100"), ("1.5e-3", "0.0015"),
    (".5", "0.5"), ("5.", "5"), ("-.5", "-0.5"), ("0.000", "0"), ("0.0e126", "0"),
    ("12345678901234567890", "12345678901234567890"),
    (NINES, NINES), ("-" + NINES, "-" + NINES), ("0." + NINES, "0." + NINES),
    (NINES + "000", NINES + "000"), ("1e125", "1" + "0" * 125),
    ("9." + "9" * 37 + "E125", NINES + "0" * 88), ("1e-130", "0." + "0" * 129 + "1"),
    ("-1e-130", "-0." + "0" * 129 + "1"), ("-1e125", "-1" + "0" * 125),
    ("1" + "0" * 60, "1" + "0" * 60),
])
def test_normal_form(db, table, sent, stored):
    assert put_number(db, table, sent) == stored


@pytest.mark.parametrize("text", [
    "", " ", "1 ", " 1", "1 2", "abc", "1+2", "1.2.3", "+e2", "e2", "1e", "1e+", "--1", "+-1", "0x10",
    "NaN", "Infinity", "1,5", "１", "1_000",
    "9" * 39, "0." + "9" * 39, "1" + "0" * 37 + ".5",  # too many digits
    "1e126", "-1e126", "1e-131", "-1e-131", "1e999999999999", "1e-999999999999", "0e126",
])
def test_refused(db, table, text):
    with invalid():
        put_number(db, table, text)


def add(db, table, start, change, operator="+"):
    db.PutItem(TableName=table, Item={"pk": av("k"), "n": {"N": start}})
    return db.UpdateItem(TableName=table, Key=item(pk="k"),
                         UpdateExpression=f"SET n = n {operator} :d", ReturnValues="UPDATED_NEW",
                         ExpressionAttributeValues={":d": {"N": change}})["Attributes"]["n"]["N"]


@pytest.mark.parametrize("start, operator, change, result", [
    ("0.1", "+", "0.2", "0.3"), ("1", "-", "0.9", "0.1"), ("5", "-", "5", "0"),
    (NINES[:-1] + "8", "+", "1", NINES), ("1e-130", "+", "1e-130", "0." + "0" * 129 + "2"),
    ("-1", "+", "0.5", "-0.5"), ("1e37", "+", "1", "1" + "0" * 36 + "1"),
    (NINES, "+", "1", "1" + "0" * 38), ("1e125", "-", "1e125", "0"),
    ("123456789.123456789", "+", "0.876543211", "123456790"),
])
def test_exact_arithmetic(db, table, start, operator, change, result):
    assert add(db, table, start, change, operator) == result


@pytest.mark.parametrize("start, change", [
    ("1e38", "1"), ("1", "1e-38"), ("9.9e125", "9.9e125"), (NINES, "0.5"),
])
def test_arithmetic_that_does_not_fit_is_refused(db, table, start, change):
    with invalid():
        add(db, table, start, change)
    assert put_number(db, table, "7") == "7"


def test_add_counts_from_zero(db, table):
    db.PutItem(TableName=table, Item=item(pk="k"))
    answer = db.UpdateItem(TableName=table, Key=item(pk="k"), UpdateExpression="ADD n :d",
                           ExpressionAttributeValues={":d": {"N": "-0.50"}},
                           ReturnValues="UPDATED_NEW")
    assert answer["Attributes"] == {"n": {"N": "-0.5"}}


@pytest.mark.parametrize("smaller, larger", [
    ("-1e125", "-1e124"), ("-2", "-1.5"), ("-1e-130", "0"), ("0", "1e-130"), ("9", "10"),
    ("1.4999", "1.5"), (NINES[:-1] + "8", NINES), ("1e37", "1" + "0" * 36 + "1"), ("1e124", "1e125"),
])
def test_comparison_is_numeric_and_exact(db, table, smaller, larger):
    db.PutItem(TableName=table, Item={"pk": av("k"), "n": {"N": smaller}})
    db.DeleteItem(TableName=table, Key=item(pk="k"), ConditionExpression="n < :v",
                  ExpressionAttributeValues={":v": {"N": larger}})
    db.PutItem(TableName=table, Item={"pk": av("k"), "n": {"N": larger}})
    db.DeleteItem(TableName=table, Key=item(pk="k"), ConditionExpression="n > :v",
                  ExpressionAttributeValues={":v": {"N": smaller}})


def test_numbers_sort_numerically_as_keys(db, make_table):
    table = make_table("pk sk:N")
    ordered = ["-1" + "0" * 125, "-100", "-99.5", "-1", "-0.5", "-0." + "0" * 129 + "1", "0",
               "0." + "0" * 129 + "1", "0.5", "1", "2", "9", "10", "99.5", "100", NINES,
               "1" + "0" * 125]
    for number in sorted(ordered):
        db.PutItem(TableName=table, Item={"pk": av("k"), "sk": {"N": number}})
    for forward in (True, False):
        found = db.Query(TableName=table, KeyConditionExpression="pk = :k",
                         ExpressionAttributeValues=values(k="k"), ScanIndexForward=forward)["Items"]
        assert [each["sk"]["N"] for each in found] == (ordered if forward else ordered[::-1])


def test_number_sets_hold_values_not_texts(db, table):
    db.PutItem(TableName=table, Item={"pk": av("k"), "s": {"NS": ["1.0", "2e1", "-0"]}})
    found = db.GetItem(TableName=table, Key=item(pk="k"))["Item"]["s"]["NS"]
    assert sorted(found) == ["0", "1", "20"]
    db.UpdateItem(TableName=table, Key=item(pk="k"), UpdateExpression="DELETE s :d",
                  ExpressionAttributeValues={":d": {"NS": ["1.00", "20"]}})
    assert db.GetItem(TableName=table, Key=item(pk="k"))["Item"]["s"] == {"NS": ["0"]}
