"""PartiQL's SELECT: what rows come back, how they are read, in which order, page by page.

The texts are those of the service: as published from measurements in September and October 2026, where they are not in its
documentation."""

import pytest

from partiql import execute, pages, run
from tables import put_all
from values import item
from wire import invalid, refused

NOT_WELL_FORMED = "Statement wasn't well formed, can't be processed: "


@pytest.fixture(scope="module")
def simple(make_module_table, endpoint):
    """pk: one item with every type, one with little."""
    from wire import Client
    table = make_module_table("pk")
    with Client(endpoint) as db:
        put_all(db, table, [
            item(pk="full", n=1, s="str", nul=None, yes=True, ss={"a", "b"}, ns={1, 2}, b=b"xy",
                 l=[1, "two", {"k": "deep"}], m={"x": {"y": 3}, "l": ["c"]}),
            item(pk="bare", n=2)])
    return table


@pytest.fixture(scope="module")
def sorted_table(make_module_table, endpoint):
    """pk, sk with three items in each of three partitions, and indexes of every projection."""
    from wire import Client
    table = make_module_table("pk sk", gsi={"all": "g", "inc": ("g", ["p"]), "keys": ("g l:N", "KEYS_ONLY")},
                              lsi={"lsi": ("pk l:N", "KEYS_ONLY")})
    with Client(endpoint) as db:
        put_all(db, table, [item(pk=pk, sk=str(n), g=f"g{n}", l=10 - n, p=f"p{n}", x=f"x{n}")
                            for pk in "abc" for n in (1, 2, 3)])
        put_all(db, table, [item(pk="a", sk="none")])  # in no index
    return table


def keys(rows):
    return [row["pk"] + row.get("sk", "") for row in rows]


def test_all_and_columns(db, simple):
    (full,) = run(db, f"SELECT * FROM \"{simple}\" WHERE pk = 'full'")
    assert full["n"] == 1 and full["ss"] == {"a", "b"} and full["l"][2] == {"k": "deep"}
    assert run(db, f"SELECT n, s FROM \"{simple}\" WHERE pk = 'full'") == [{"n": 1, "s": "str"}]
    assert run(db, f"SELECT none FROM \"{simple}\" WHERE pk = 'full'") == [{}]
    assert run(db, f"SELECT * FROM \"{simple}\" WHERE pk = 'absent'") == []


def test_a_column_is_called_by_the_end_of_its_path(db, simple):
    assert run(db, f"SELECT m.x.y, l[1], m.l[0], l[2].k FROM \"{simple}\" WHERE pk = ?", "full") == [
        {"y": 3, "l[1]": "two", "l[0]": "c", "k": "deep"}]
    with invalid("Duplicate identifiers in select clause: n"):
        run(db, f"SELECT n, n FROM \"{simple}\"")


@pytest.mark.parametrize("condition, expected", [
    ("n = 1", ["full"]), ("1 = n", ["full"]), ("n <> 1", ["bare"]), ("n != 1", ["bare"]), ("n > 1", ["bare"]),
    ("n >= 1 AND n < 2.0", ["full"]), ("n BETWEEN 1 AND 1.5", ["full"]), ("n NOT BETWEEN 1 AND 1.5", ["bare"]),
    ("n IN [3, 2]", ["bare"]), ("n IN (2)", ["bare"]), ("n NOT IN <<1>>", ["bare"]),
    # a row without the attribute
    ("s = 'str'", ["full"]), ("s <> 'other'", ["full"]), ("s <> 'str'", []), ("NOT s = 'str'", ["bare"]),
    ("NOT s <> 'str'", ["bare", "full"]), ("NOT contains(s, 'tr')", ["bare"]), ("NOT begins_with(s, 's')", ["bare"]),
    ("s IS MISSING", ["bare"]), ("s IS NOT MISSING", ["full"]), ("nul IS NULL", ["full"]), ("nul IS NOT NULL", ["bare"]),
    ("s IS STRING", ["full"]), ("yes IS BOOL", ["full"]), ("m IS STRUCT", ["full"]), ("l IS LIST", ["full"]),
    ("n IS NUMERIC", ["bare", "full"]), ("b IS BLOB", ["full"]), ("NOT n IS STRING", ["bare", "full"]),
    # functions, in any case
    ("size(s) = 3", ["full"]), ("SIZE(l) > 2", ["full"]), ("attribute_type(ss, 'SS')", ["full"]),
    ("attribute_exists(m.x.y)", ["full"]), ("ATTRIBUTE_NOT_EXISTS(m)", ["bare"]), ("Contains(ss, 'a')", ["full"]),
    ("contains(l, 'two')", ["full"]), ("begins_with(s, 'st')", ["full"]), ("attribute_exists(s) = true", ["full"]),
    ("attribute_exists(s) = false", ["bare"]), ("(n = 1 OR n = 5) = true", ["full"]),
    # all types compare
    ("ss = <<'b', 'a'>>", ["full"]), ("ns = <<2, 1.0>>", ["full"]), ("l = [1, 'two', {'k': 'deep'}]", ["full"]),
    ("m = {'l': ['c'], 'x': {'y': 3}}", ["full"]), ("nul = null", ["full"]), ("yes = true", ["full"]),
    ("m.x.y = 3", ["full"]), ("l[2].k = 'deep'", ["full"]), ("\"s\" = 'str'", ["full"]), ("n = 1e0", ["full"]),
    ("n = .1E+1", ["full"]), ("n > -5 AND n = - -1", ["full"]), ("s < 5", []),
    # precedence
    ("n = 2 OR n = 1 AND s = 'x'", ["bare"]), ("(n = 2 OR n = 1) AND s = 'str'", ["full"]),
    ("NOT (n = 1 AND s = 'str')", ["bare"]), ("NOT NOT n = 1", ["full"]),
])
def test_conditions(db, simple, condition, expected):
    assert sorted(keys(run(db, f"SELECT pk FROM \"{simple}\" WHERE {condition}"))) == expected


def test_parameters_of_every_type(db, simple):
    for name, value in {"s": "str", "n": 1, "b": b"xy", "ss": {"b", "a"}, "ns": {1, 2}, "nul": None, "yes": True,
                        "l": [1, "two", {"k": "deep"}], "m": {"x": {"y": 3}, "l": ["c"]}}.items():
        where = f"SELECT pk FROM \"{simple}\" WHERE pk = ? AND {name}"
        assert len(run(db, f"{where} = ?", "full", value)) == 1
        assert len(run(db, f"{where} <> ?", "full", value)) == 0


def test_comments(db, simple):
    assert keys(run(db, f"-- a note\nSELECT/**/* -- all\nFROM \"{simple}\" /* it */ WHERE pk = 'bare' --")) == ["bare"]


def plan(db, statement, *parameters):
    """Keys and units: they tell how the rows were read."""
    answer = execute(db, statement, *parameters, ReturnConsumedCapacity="INDEXES")
    capacity = answer["ConsumedCapacity"]
    arms = {name: arm["CapacityUnits"] for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
            for name, arm in capacity.get(kind, {}).items()}
    return keys([{k: v["S"] for k, v in row.items() if k in ("pk", "sk")} for row in answer["Items"]]), capacity["Table"][
        "CapacityUnits"], arms


def test_sort_key_conditions_are_pushed_into_the_read(db, make_table):
    table = make_table("pk sk:N")
    put_all(db, table, [item(pk="a", sk=n, fill="x" * 4000) for n in range(8)])
    select = f"SELECT pk FROM \"{table}\" WHERE pk = 'a'"
    for condition, units in [("", 4), (" AND sk < 2", 1), (" AND sk >= 6", 1), (" AND sk BETWEEN 2 AND 3", 1),
                             (" AND sk > 2 AND sk < 5", 1), (" AND sk = 1", .5), (" AND sk IN [1, 5]", 1), (" AND NOT sk < 7", 4),
                             (" AND fill = 'no'", 4), (" AND 6 <= sk", 1)]:
        assert plan(db, select + condition)[1] == units, condition


def test_reads_by_partition_key(db, sorted_table):
    select = f"SELECT pk, sk FROM \"{sorted_table}\" WHERE "
    assert plan(db, select + "pk = 'b'") == (["b1", "b2", "b3"], .5, {})
    assert plan(db, select + "pk = 'b' AND sk > '1'") == (["b2", "b3"], .5, {})
    assert plan(db, select + "pk IN ['c', 'b'] AND sk <= '2'") == (["b1", "b2", "c1", "c2"], 1, {})
    assert plan(db, select + "pk = 'c' OR pk = 'b' AND sk = '2'") == (["b2", "c1", "c2", "c3"], 1, {})
    assert plan(db, select + "pk = 'b' AND (sk = '1' OR sk = '3')") == (["b1", "b3"], 1, {})
    assert plan(db, select + "pk = 'b' AND sk <> '1'") == (["b2", "b3"], .5, {})
    assert sorted(plan(db, select + "sk = '2'")[0]) == ["a2", "b2", "c2"]
    assert plan(db, select + "pk = 'b' AND pk = 'c'")[0] == []


@pytest.mark.parametrize("left", ["NOT sk = '1'", "sk <> '1'", "NOT sk IN ['1', '9']", "NOT (sk = '1')"])
def test_branches_may_overlap_if_the_sort_key_is_negated(db, sorted_table, left):
    rows = run(db, f"SELECT sk, pk FROM \"{sorted_table}\" WHERE pk = 'b' AND {left} OR pk = 'b' AND sk = '2'")
    assert keys(rows) == ["b2", "b3"]


@pytest.mark.parametrize("where, message", [
    ("pk IN ['b', 'b']", "Overlapping conditions with range keys are not supported in where clause"),
    ("pk = 'b' OR pk = 'b'", "Overlapping conditions with range keys are not supported in where clause"),
    ("pk = 'b' AND (sk > '0' OR sk < '5')", "Overlapping conditions with range keys are not supported in where clause"),
    ("pk = 'b' AND x = '1' OR pk = 'b' AND sk = '2'", "Overlapping conditions with range keys are not supported in where clause"),
    (f"pk IN [{', '.join(map(repr, map(str, range(51))))}]", "Too many decomposed read operations for a given query."),
    ("pk = 1 OR pk = 'b'", "Key attribute's data type should match its data type in table's schema: Key pk"),
    ("pk = 'b' AND sk IN ['1', 2]", "Key attribute's data type should match its data type in table's schema: Key sk"),
    ("pk = true", "Key value must be of type S, N, or B. Key name: pk, Key type: BOOL"),
    ("pk = ''", "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string "
                "value. Key: pk"),
    ("pk.x = 1", "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: pk"),
    (f"pk = 'b' AND x IN [{', '.join(map(str, range(101)))}]",
     "The IN operator is provided with too many operands; number of operands: 101"),
])
def test_refused_conditions(db, sorted_table, where, message):
    with invalid(message):
        run(db, f"SELECT * FROM \"{sorted_table}\" WHERE {where}")


# --- ORDER BY ---

@pytest.mark.parametrize("order, expected", [
    ("pk = 'b' ORDER BY sk DESC", "b3 b2 b1"), ("pk = 'b' ORDER BY sk", "b1 b2 b3"), ("pk = 'b' ORDER BY sk ASC", "b1 b2 b3"),
    ("pk = 'b' ORDER BY pk ASC", "b3 b2 b1"),  # without a term of its own the sort key comes backwards
    ("pk IN ['b', 'c'] ORDER BY pk DESC, sk ASC", "c1 c2 c3 b1 b2 b3"),
    ("pk IN ['b', 'c'] ORDER BY pk, sk DESC", "b3 b2 b1 c3 c2 c1"),
    ("pk IN ['b', 'c'] AND sk IN ['1', '3'] ORDER BY pk, sk DESC", "b3 b1 c3 c1"),
    ("pk IN ['b', 'c'] AND sk IN ['1', '3'] ORDER BY pk DESC, sk", "c1 c3 b1 b3"),
])
def test_order(db, sorted_table, order, expected):
    statement = f"SELECT pk, sk FROM \"{sorted_table}\" WHERE {order}"
    assert keys(run(db, statement)) == expected.split()
    for limit in (1, 2, 4):
        assert keys(sum(pages(db, statement, Limit=limit), [])) == expected.split()


@pytest.mark.parametrize("rest, message", [
    ("ORDER BY sk", "Must have WHERE clause in the statement when using ORDER BY clause."),
    ("WHERE pk = 'b' ORDER BY x DESC", "Attribute x in ORDER BY clause must be part of the primary key"),
    ("WHERE pk > 'a' ORDER BY sk",
     "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause."),
    ("WHERE pk IN ['b', 'c'] ORDER BY sk",
     "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause."),
])
def test_refused_order(db, sorted_table, rest, message):
    with invalid(message):
        run(db, f"SELECT * FROM \"{sorted_table}\" {rest}")


# --- indexes ---

def test_an_index_holds_its_own(db, sorted_table):
    rows = run(db, f"SELECT * FROM \"{sorted_table}\".\"inc\" WHERE g = 'g2'")
    assert len(rows) == 3 and all(set(row) == {"pk", "sk", "g", "p"} for row in rows)
    rows = run(db, f"SELECT * FROM \"{sorted_table}\".\"lsi\" WHERE pk = 'a'")
    assert [row["l"] for row in rows] == [7, 8, 9] and all(set(row) == {"pk", "sk", "l"} for row in rows)
    assert len(run(db, f"SELECT * FROM \"{sorted_table}\".\"all\"")) == 9
    assert len(run(db, f"SELECT * FROM \"{sorted_table}\"")) == 10
    assert keys(run(db, f"SELECT * FROM \"{sorted_table}\".\"keys\" WHERE g = 'g2' AND l > 8")) == []


def test_units_are_those_of_the_index(db, sorted_table):
    index = f"FROM \"{sorted_table}\".\"all\" WHERE g = 'g2'"
    assert plan(db, f"SELECT pk, sk {index}")[1:] == (0, {"all": .5})
    local = f"FROM \"{sorted_table}\".\"lsi\" WHERE pk = 'a'"
    assert plan(db, f"SELECT pk, sk {local}")[1:] == (0, {"lsi": .5})
    assert plan(db, f"SELECT pk, sk, x {local}") == (["a3", "a2", "a1"], 1.5, {"lsi": .5})  # fetched from the table
    answer = execute(db, f"SELECT x {local}", ConsistentRead=True, ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"]["CapacityUnits"] == 4


@pytest.mark.parametrize("statement, message", [
    ("SELECT x FROM {t}.\"inc\" WHERE g = 'g1'",
     "One or more parameter values were invalid: Global secondary index inc does not project [x]"),
    ("SELECT x, y FROM {t}.\"inc\"", "One or more parameter values were invalid: Global secondary index inc does not project [x, y]"),
    ("SELECT pk FROM {t}.\"inc\" WHERE g = 'g1' AND x = 'x1'", "One or more parameter values were invalid: Secondary index inc does "
     "not project one or more filter attributes: [x]"),
    ("SELECT pk FROM {t}.\"inc\" WHERE g IN ['g1', 'g2'] AND NOT x = 'x1'", "One or more parameter values were invalid: Secondary "
     "index inc does not project one or more filter attributes: [x]"),
    ("SELECT pk FROM {t}.\"lsi\" WHERE pk = 'a' AND x IS MISSING", "One or more parameter values were invalid: Secondary index lsi "
     "does not project one or more filter attributes: [x]"),
    ("SELECT * FROM {t}.\"none\"", "The table does not have the specified index: none"),
    ("SELECT * FROM {t}.\"inc\".\"x\"", "A path may contain at most 2 components in the FROM clause"),
    ("SELECT * FROM {t}.\"\"", "Path component cannot be an empty string"),
    ("UPDATE {t}.\"inc\" SET x = 1 WHERE pk = 'a' AND sk = '1'", "This operation is not supported on an index"),
    ("DELETE FROM {t}.\"inc\" WHERE pk = 'a' AND sk = '1'", "This operation is not supported on an index"),
])
def test_refused_on_indexes(db, sorted_table, statement, message):
    with invalid(message):
        run(db, statement.format(t=f'"{sorted_table}"'))


def test_a_filter_on_what_an_unkeyed_index_read_lacks_finds_nothing(db, sorted_table):
    select = f"SELECT pk, sk FROM \"{sorted_table}\".\"inc\" WHERE "
    assert run(db, select + "x = 'x1'") == []
    assert len(run(db, select + "NOT x = 'x1'")) == 9
    assert len(run(db, select + "(g = 'g1' AND x = 'x1') OR g = 'g2'")) == 3


def test_no_consistent_read_of_a_global_index(db, sorted_table):
    with invalid("Strongly consistent read is not supported on Global Secondary Indexes"):
        run(db, f"SELECT * FROM \"{sorted_table}\".\"all\" WHERE g = 'g1'", ConsistentRead=True)


def test_no_index_with_keys_of_several_attributes(db, make_table):
    table = make_table("pk", gsi={"multi": "a,b c"})
    refusal = ("PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys.")
    for rest in ("", " WHERE a = 5", " WHERE a = 'x' AND b = 'y'"):
        with invalid(refusal):
            run(db, f"SELECT * FROM \"{table}\".\"multi\"{rest}")
    assert run(db, f"SELECT * FROM \"{table}\"") == []


# --- pages ---

@pytest.mark.parametrize("rest", [
    "", " WHERE x = 'x2'", " WHERE pk IN ['a', 'b', 'c']", " WHERE pk = 'a' AND sk > '1'", ".\"all\"", ".\"keys\" WHERE g = 'g2'",
    ".\"lsi\" WHERE pk = 'a' ORDER BY l DESC", " WHERE pk IN ['c', 'a'] ORDER BY pk DESC"])
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_paging_gives_every_row_once(db, sorted_table, rest, limit):
    statement = f"SELECT pk, sk FROM \"{sorted_table}\"{rest}"
    whole = run(db, statement)
    seen = list(pages(db, statement, Limit=limit))
    assert sum(seen, []) == whole and all(len(page) <= limit for page in seen)


def test_limit_counts_rows_before_the_filter(db, sorted_table):
    answer = execute(db, f"SELECT * FROM \"{sorted_table}\" WHERE pk = 'b' AND x = 'x3'", Limit=2, ReturnConsumedCapacity="TOTAL")
    assert answer["Items"] == [] and answer["NextToken"] and answer["LastEvaluatedKey"] == item(pk="b", sk="2")
    assert answer["ConsumedCapacity"]["CapacityUnits"] == .5


def test_a_page_ends_at_a_megabyte(db, make_table):
    table = make_table("pk sk:N")
    put_all(db, table, [item(pk="a", sk=n, pad="x" * 300_000) for n in range(5)])
    seen = [len(page) for page in pages(db, f"SELECT sk FROM \"{table}\" WHERE pk = 'a'")]
    assert seen == [4, 1]


def test_a_long_in_is_read_ten_keys_at_a_time(db, make_table):
    table = make_table("pk")
    put_all(db, table, [item(pk=f"k{n:02}") for n in range(25)])
    listed = ", ".join(f"'k{n:02}'" for n in range(25))
    seen = [len(page) for page in pages(db, f"SELECT * FROM \"{table}\" WHERE pk IN [{listed}]")]
    assert seen == [10, 10, 5]


def test_one_item_by_its_key_has_no_next_page(db, simple):
    assert "NextToken" not in execute(db, f"SELECT * FROM \"{simple}\" WHERE pk = 'full'", Limit=1)


def test_a_token_is_good_for_its_request_only(db, sorted_table, simple):
    statement = f"SELECT pk, sk FROM \"{sorted_table}\" WHERE pk = ?"
    token = execute(db, statement, "a", Limit=1)["NextToken"]
    assert len(run(db, statement, "a", NextToken=token)) == 3
    for other, parameter in [(statement, "b"), (statement + " ", "a"), (f"SELECT * FROM \"{sorted_table}\".\"all\" WHERE g = ?", "a"),
                             (f"SELECT * FROM \"{simple}\" WHERE pk = ?", "a")]:
        with invalid("NextToken does not match request"):
            run(db, other, parameter, NextToken=token)
    with invalid("NextToken is only valid on a SELECT statement"):
        run(db, f"DELETE FROM \"{sorted_table}\" WHERE pk = 'a' AND sk = '1'", NextToken=token)


def test_a_token_of_a_table_that_was_made_anew(db, make_table):
    from tables import create_table
    table = make_table("pk")
    put_all(db, table, [item(pk=str(n)) for n in range(3)])
    token = execute(db, f"SELECT * FROM \"{table}\"", Limit=1)["NextToken"]
    db.DeleteTable(TableName=table)
    create_table(db, "pk", name=table)
    with invalid("NextToken does not match request"):
        run(db, f"SELECT * FROM \"{table}\"", NextToken=token)


@pytest.mark.parametrize("spoil", [
    lambda t: "x", lambda t: "", lambda t: "A" * 4096, lambda t: t[:-4], lambda t: t[4:], lambda t: t + "AAAA", lambda t: t[::-1],
    lambda t: t[:30] + ("A" if t[30] != "A" else "B") + t[31:], lambda t: t[:-6] + "AAAA==", lambda t: t.lower(), lambda t: "é" * 40])
def test_a_spoiled_token(db, sorted_table, spoil):
    statement = f"SELECT * FROM \"{sorted_table}\""
    token = spoil(execute(db, statement, Limit=1)["NextToken"])
    with invalid("Invalid NextToken" if token else None):
        run(db, statement, NextToken=token)


# --- what is no statement ---

@pytest.mark.parametrize("statement, detail", [
    ("SLECT * FROM t WHERE a = 1", "Expected data manipulation"), ("gibberish", "Expected data manipulation"),
    ("SELECT * FROM t WHERE", "Unexpected term"), ("SELECT * FROM", "Unexpected term"),
    ("SELECT * FROM t WHERE pk = 1 foo", "Unexpected token after expression"),
    ("SELECT * FROM t WHERE pk = 'p' AND", "Missing right-hand side expression of infix operator"),
    ("SELECT * FROM t WHERE pk = 'p", ""), ("SELECT * FROM \"t", ""), ("SELECT * FROM t # note", ""),
    ("SELECT * FROM t WHERE n = 1e99999999999", ""), ("SELECT * FROM t WHERE a.inner = 1", "Invalid path dot component"),
])
def test_not_well_formed(db, statement, detail):
    with invalid(NOT_WELL_FORMED + detail):
        run(db, statement)


@pytest.mark.parametrize("statement, message", [
    ("SELECT COUNT(*) FROM t", "Unexpected path component at 1:8:5"), ("x IS INT4", "Unsupported operation: IsType"),
    ("SELECT * FROM t u", "Aliasing is not supported"), ("SELECT * FROM \"\"", "Path component cannot be an empty string"),
    ("SELECT * FROM t WHERE n < true",
     "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL"),
    ("SELECT * FROM t WHERE n = ?", "Number of parameters in request and statement don't match."),
    ("EXISTS(SELECT * FROM t WHERE pk = 'a' AND b = 1)", "EXISTS can only be used in ExecuteTransaction write requests."),
])
def test_refused_before_the_table_is_looked_up(db, statement, message):
    with invalid(message):
        run(db, statement)


def test_a_missing_table(db):
    with refused("ResourceNotFoundException", "Requested resource not found"):
        run(db, "SELECT * FROM \"no-such-table\" WHERE pk = 'a'")


@pytest.mark.parametrize("text", [
    "SELECT * FROM t WHERE " + "(" * 250 + "a = 1" + ")" * 250, "SELECT * FROM t WHERE " + "NOT " * 2000 + "a = 1",
    "SELECT * FROM t WHERE a = " + "[" * 4000, "INSERT INTO t VALUE " + "{'a':" * 1500 + "1" + "}" * 1500,
    "SELECT * FROM t WHERE a = " + "-" * 1 + " -" * 4000 + "1", "SELECT " + "a." * 4000 + "a FROM t", "'" * 8191, "(" * 8192,
    "SELECT * FROM t WHERE " + " OR ".join(["a=1"] * 1150), "SELECT * FROM t WHERE a IN (" + "1," * 4000 + "1)",
    "UPDATE t " + "SET a=1 " * 1000 + "WHERE b=1", "/*" + "*" * 8000, "SELECT * FROM t WHERE f(" + "f(" * 2000, "\u00e9" * 8192],
    ids=lambda text: text[:24])
def test_long_and_deep_texts_are_refused(db, text):
    with invalid():
        run(db, text)


def test_a_text_of_8193_characters(db):
    with invalid() as caught:
        run(db, "x" * 8193)
    assert caught.error.message.endswith(
        "at 'statement' failed to satisfy constraint: Member must have length less than or equal to 8192")


def test_deep_parameters(db, simple):
    value = {"S": "leaf"}
    for _ in range(40):
        value = {"M": {"n": value}}
    with invalid("Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"):
        db.ExecuteStatement(Statement=f"SELECT * FROM \"{simple}\" WHERE x = ?", Parameters=[value])


@pytest.mark.parametrize("parameter, message", [
    ({"N": "abc"}, "The parameter cannot be converted to a numeric value: abc"),
    ({"N": "1e99999999999"}, "The parameter cannot be converted to a numeric value: 1e99999999999"),
    ({"N": ""}, "The parameter cannot be converted to a numeric value"),
    ({"SS": ["a", "a"]}, "One or more parameter values were invalid: Input collection [a, a] contains duplicates."),
    ({"SS": []}, "One or more parameter values were invalid: An string set  may not be empty"),
    ({"NULL": False}, "One or more parameter values were invalid: Null attribute value types must have the value of true"),
])
def test_bad_parameters_are_told_before_the_statement_is_read(db, parameter, message):
    with invalid(message):
        db.ExecuteStatement(Statement="UPDATE t SET WHERE", Parameters=[parameter])


@pytest.mark.parametrize("member, value, message", [
    ("Limit", 0, "1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: Member must have value greater "
                 "than or equal to 1"),
    ("ReturnConsumedCapacity", "SOME", "1 validation error detected: Value 'SOME' at 'returnConsumedCapacity' failed to satisfy "
                                       "constraint: Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"),
    ("Parameters", [], "1 validation error detected: Value '[]' at 'parameters' failed to satisfy constraint: Member must have "
                       "length greater than or equal to 1"),
])
def test_the_models_constraints(db, member, value, message):
    with invalid(message):
        db.ExecuteStatement(Statement="SELECT * FROM t", **{member: value})
