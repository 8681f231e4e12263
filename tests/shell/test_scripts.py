"""`gramme shell` as a script, on Gramme, Dynoxide and (after tools/setup oracle) DynamoDB Local."""

import csv
import io
import json
import re
import secrets

import pytest

from certificates import Authority
from server import ROOT, TlsServer
from signing import KEY_ID, SECRET, write_users


@pytest.fixture
def table(any_db, shell):
    """A table with a string and a number as its key, gone after the test."""
    name = f"shell-{secrets.token_hex(4)}"
    done = shell(any_db.endpoint, "-c", f"\\create {name} pk n:N")
    assert (done.status, done.out) == (0, "created\n"), done.err
    yield name
    assert shell(any_db.endpoint, "-y", "-c", f"\\drop {name}").out == "deleted\n"


def fill(shell, url, table, count=5):
    lines = [f'\\put {table} ' + json.dumps({"pk": f"p{i % 2}", "n": i, "text": f"item {i}"}) for i in range(count)]
    done = shell(url, text="\n".join(lines))
    assert (done.status, done.out) == (0, "written\n" * count), done.err


def objects(done):
    assert done.status == 0, done.err
    return [json.loads(line) for line in done.lines()]


def test_items(any_db, shell, table):
    url = any_db.endpoint
    fill(shell, url, table)
    assert objects(shell(url, "-o", "json", text=f"\\get {table} p1 3")) == [{"pk": "p1", "n": 3, "text": "item 3"}]
    assert objects(shell(url, "-o", "json", text=f"\\get {table} p1 4")) == []
    again = shell(url, text=f'\\put {table} {{"pk": "p1", "n": 3}}')
    assert again.out == "written; replaced an item\n"
    assert shell(url, "-y", text=f"\\delete {table} p1 3\n\\delete {table} p1 3").out == "deleted\nthere was no such item\n"


def test_query(any_db, shell, table):
    url = any_db.endpoint
    fill(shell, url, table, 9)

    def numbers(words):
        return [item["n"] for item in objects(shell(url, "-o", "json", "-c", f"\\query {table} {words}"))]
    assert numbers("p0") == [0, 2, 4, 6, 8]
    assert numbers("p0 desc limit 2") == [8, 6]
    assert numbers("p0 = 4 consistent") == [4]
    assert numbers("p0 < 4") == [0, 2] and numbers("p0 <= 4") == [0, 2, 4]
    assert numbers("p0 > 4") == [6, 8] and numbers("p0 >= 4") == [4, 6, 8]
    assert numbers("p0 between 2 6 desc") == [6, 4, 2]
    assert numbers("nobody") == []
    assert len(objects(shell(url, "-o", "json", "-c", f"\\scan {table} limit 4"))) == 4
    assert len(objects(shell(url, "-o", "json", "-c", f"\\scan {table}"))) == 9


def test_index(any_db, shell):
    name = f"shell-{secrets.token_hex(4)}"
    attribute = {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}
    request = {"TableName": name, "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attribute,
               "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
               "GlobalSecondaryIndexes": [{"IndexName": "by.g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                                           "Projection": {"ProjectionType": "ALL"}}]}
    done = shell(any_db.endpoint, text=f"\\create {json.dumps(request, indent=1)}\n"
                 f'\\put {name} {{"pk": "a", "g": "x y"}}\n\\d {name}\n\\set format json\n'
                 f"\\query \"{name}\".\"by.g\" 'x y'\n")
    assert done.status == 0, done.err
    assert "global indexes:\n  by.g: g (S), projects ALL\n" in done.out
    assert json.loads(done.lines()[-1]) == {"pk": "a", "g": "x y"}
    missing = shell(any_db.endpoint, text=f"\\query {name}.nothing a")
    assert (missing.status, missing.err) == (1, f"table {name} has no index nothing\n")
    assert shell(any_db.endpoint, "-y", "-c", f"\\drop {name}").status == 0


def test_partiql(any_db, shell, table):
    """Statements over several lines, several in a line, comments, semicolons in quotes, no last semicolon."""
    done = shell(any_db.endpoint, "-o", "json", text=f"""
        -- a comment; with a semicolon
        INSERT INTO "{table}" VALUE {{'pk': 'a;b', 'n': 1, 'it''s': 'quoted'}};
        INSERT INTO "{table}" VALUE {{'pk': 'c', 'n': 2}}; SELECT n, pk
          FROM "{table}" WHERE pk = 'a;b';
        UPDATE "{table}" SET z = 5 WHERE pk = 'c' AND n = 2;
        SELECT z FROM "{table}" WHERE pk = 'c' AND n = 2""")
    assert objects(done) == [{"n": 1, "pk": "a;b"}, {"z": 5}]


def test_deleting_needs_yes(any_db, shell, table):
    url = any_db.endpoint
    fill(shell, url, table, 1)
    rest = f"\"{table}\" WHERE pk = 'p0' AND n = 0"
    statement = f"DELETE FROM {rest}"
    others = [f"delete{blank}FROM {rest}" for blank in ("/**/", "\t", "\n", "--\n", "\r\n")]
    others += [f"({statement})", f"( /* c */ ({statement}))", "\N{NO-BREAK SPACE}" + statement]
    for text in (statement, *others, f"\\delete {table} p0 0", f"\\drop {table}", f'\\call DeleteTable {{"TableName": "{table}"}}'):
        done = shell(url, "-c", text)
        assert done.status == 1 and "-y" in done.err and done.out == "", text
    assert len(objects(shell(url, "-o", "json", "-c", f"\\scan {table}"))) == 1
    assert shell(url, "-y", "-c", statement).status == 0
    assert objects(shell(url, "-o", "json", "-c", f"\\scan {table}")) == []


def test_a_script_stops_at_its_first_failure(any_db, shell, table):
    text = f"\\get nothing-here a\n\\tables {table}\n"
    done = shell(any_db.endpoint, "-o", "csv", text=text)
    assert (done.status, done.out) == (1, "") and done.err.startswith("ResourceNotFoundException: ")
    kept = shell(any_db.endpoint, "-o", "csv", "-k", text=text)
    assert (kept.status, kept.out) == (1, f"table\n{table}\n")


def test_formats(any_db, shell, table):
    """The same items in each format; values that need care in each."""
    item = {"pk": "a", "n": 1, "quoted": 'x, "y"\nz', "wide": "日本語", "list": [1, {"a": None}], "yes": True}
    url = any_db.endpoint
    assert shell(url, text=f"\\put {table} {json.dumps(item)}").status == 0

    def scan(form):
        done = shell(url, "-o", form, "-c", f"\\scan {table}")
        assert done.status == 0, done.err
        return done.out
    assert json.loads(scan("json")) == item
    assert json.loads(scan("typed"))["quoted"] == {"S": 'x, "y"\nz'}
    header, row = csv.reader(io.StringIO(scan("csv")))
    found = dict(zip(header, row))
    assert header[:2] == ["pk", "n"] and found["quoted"] == item["quoted"] and found["list"] == '[1,{"a":null}]'
    lines = scan("table").splitlines()
    assert len(lines) == 3 and len({line.find("|") for line in lines if "|" in line}) == 1
    assert "日本語" in lines[2] and 'x, "y"\\nz' in lines[2]
    assert "quoted | x, \"y\"\\nz\n" in scan("list")


def test_terminal_escapes_are_harmless(any_db, shell, table):
    evil = "\x1b[31mred\x07\x9b2J\u202egnp\x7f"
    url = any_db.endpoint
    put = shell(url, text=f"\\put {table} " + json.dumps({"pk": "e", "n": 1, evil: evil}))
    assert put.status == 0, put.err
    for form in ("table", "list", "json", "typed"):
        out = shell(url, "-o", form, "-c", f"\\scan {table}").out
        assert not any(character in out for character in "\x1b\x07\x9b\u202e\x7f"), form
        if form == "json":
            assert json.loads(out)[evil] == evil
    failed = shell(url, "-c", f"\\get {table} \x1b[31m x")
    assert failed.status == 1 and "\x1b" not in failed.err


def test_export_and_import(any_db, shell, table, tmp_path):
    url = any_db.endpoint
    items = [{"pk": {"S": f"p{i}"}, "n": {"N": str(i)}, "b": {"B": "AAEC"}, "s": {"SS": ["x", "y"]}} for i in range(60)]
    source = tmp_path / "in.json"
    source.write_text("".join(json.dumps({"Item": item}) + "\n" for item in items))
    done = shell(url, text=f"\\import {table} {source}\n\\export {table} {tmp_path}/out.json\n")
    assert done.out == f"60 items written to {table}\n60 items written to {tmp_path}/out.json\n", done.err

    def read(path):
        rows = [json.loads(line)["Item"] for line in path.read_text().splitlines()]
        for row in rows:
            row["s"]["SS"].sort()
        return sorted(rows, key=lambda row: int(row["n"]["N"]))
    assert read(tmp_path / "out.json") == items
    again = shell(url, text=f"\\export {table} {tmp_path}/out.json")
    assert again.status == 1 and "File exists" in again.err


def test_csv_both_ways(any_db, shell, table, tmp_path):
    url = any_db.endpoint
    (tmp_path / "in.csv").write_text('pk,n,text,flag,more\r\n007,1,"a ""b""\nc",true,"[1,2]"\nx,2,,,5\nx,2,last,,\n')
    done = shell(url, "-o", "json", text=f"\\import {table} {tmp_path}/in.csv\n\\query {table} 007\n\\query {table} x\n")
    assert done.status == 0, done.err
    first, *rest = done.lines()
    assert first == f"3 items written to {table}"
    assert [json.loads(line) for line in rest] == [
        {"pk": "007", "n": 1, "text": 'a "b"\nc', "flag": True, "more": [1, 2]}, {"pk": "x", "n": 2, "text": "last"}]
    done = shell(url, text=f"\\export {table} {tmp_path}/out.csv")
    with open(tmp_path / "out.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["pk"]: row["text"] for row in rows} == {"007": 'a "b"\nc', "x": "last"}


def test_csv_that_is_read_in_pieces(any_db, shell, table, tmp_path):
    """With quotes, commas and line ends at every distance from the ends of the pieces."""
    rows = [{"pk": f"p{i}", "n": i, "text": ('a "b", c\r\n' * 26_000)[i % 11:1000 * (i % 40) ** 2 // 8]} for i in range(80)]
    with open(tmp_path / "in.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["pk", "n", "text"])
        writer.writeheader()
        writer.writerows(rows)
    done = shell(any_db.endpoint, text=f"\\import {table} {tmp_path}/in.csv\n\\export {table} {tmp_path}/out.csv\n")
    assert done.status == 0 and f"80 items written to {table}" in done.out, done.err
    csv.field_size_limit(1 << 20)
    with open(tmp_path / "out.csv", newline="", encoding="utf-8") as file:
        found = {row["pk"]: row["text"] for row in csv.DictReader(file)}
    assert found == {row["pk"]: row["text"] for row in rows}


def test_import_does_not_read_the_whole_file_first(any_db, shell, table, tmp_path):
    with open(tmp_path / "large.csv", "w", encoding="utf-8") as file:
        file.write("pk,n\na,1\nb\n")
        file.truncate(100 << 20)
    done = shell(any_db.endpoint, text=f"\\import {table} {tmp_path}/large.csv")
    assert done.status == 1 and "line 3: the record has 1 fields" in done.err, done.err


@pytest.mark.parametrize("content, complaint", [
    ('pk,n\na,"1\n', "line 2: a quote is not closed"), ("pk,n\na,1\nb\n", "line 3: the record has 1 fields, the header 2"),
    ('"pk', "line 1: a quote is not closed"), ("pk,n\na," + "1" * (17 << 20), "line 2: A record is longer than 16777216 bytes"),
    ("pk,n" + ",x" * 4096, "line 1: there are too many fields")], ids=lambda value: value[:20])
def test_import_of_bad_csv(any_db, shell, table, tmp_path, content, complaint):
    (tmp_path / "bad").write_text(content)
    done = shell(any_db.endpoint, text=f"\\import {table} {tmp_path}/bad csv")
    assert done.status == 1 and complaint in done.err, done.err


@pytest.mark.parametrize("content, complaint", [
    ('{"pk": "a", "n": 1}\n{"pk": \n', "line 2"), ("[1]\n", "line 1"), ('{"pk": "a"}\n', "ValidationException")])
def test_import_of_bad_files(any_db, shell, table, tmp_path, content, complaint):
    (tmp_path / "bad").write_text(content)
    done = shell(any_db.endpoint, text=f"\\import {table} {tmp_path}/bad json")
    assert done.status == 1 and complaint in done.err, done.err


def test_bad_commands(any_db, shell, table):
    """Each fails by itself, says why in one line, and nothing crashes."""
    commands = [
        "\\nothing", "\\", "\\get", f"\\get {table}", f"\\get {table} a", f"\\get {table} a b", f"\\get {table} a 1 c",
        f"\\put {table} 5", f'\\put {table} [1]', f'\\put {table} {{"pk": "a"}}', f"\\query {table}",
        f"\\query {table} a begins", f"\\query {table} a between 1", f"\\query {table} a limit 0", f"\\scan {table} desc",
        "\\get 'open", "\\set format xml", "\\set nothing on", "\\set pager maybe", "\\i /nowhere", "\\import", "\\export",
        f"\\import {table} /nowhere", "\\create", "\\create xyz y:Z", "\\call", "\\call ../x", "\\watch", f"\\watch {table}",
        "\\help nothing", "\\explain", "SELECT;", "garbage;"]
    done = shell(any_db.endpoint, "-y", "-k", text="\n".join(commands))
    assert done.status == 1 and done.out == ""
    assert len(done.err.splitlines()) == len(commands), done.err
    for text in (f"\\put {table} {{", "\\call ListTables {", "'", "/* open"):
        done = shell(any_db.endpoint, "-y", "-c", text)
        assert done.status == 1 and done.err.count("\n") == 1 and done.out == "", text


def test_what_only_gramme_has(any_db, shell, table):
    commands = {"\\cost": "table", "\\patterns": "calls", "\\findings": "",
                f"\\explain SELECT * FROM \"{table}\" WHERE pk = 'a'": "query"}
    for command, start in commands.items():
        done = shell(any_db.endpoint, "-c", command)
        if any_db.kind == "gramme":
            assert done.status == 0 and done.out.startswith(start), (command, done.err)
        else:
            assert done.status == 1
            assert done.err == f"{command.split()[0]} needs a Gramme server, and this is another DynamoDB\n"


def test_watch(any_db, shell):
    name = f"shell-{secrets.token_hex(4)}"
    request = {"TableName": name, "BillingMode": "PAY_PER_REQUEST",
               "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
               "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
               "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}}
    done = shell(any_db.endpoint, "-y", "-o", "json", text=f"""\\create {json.dumps(request)}
        \\put {name} {{"pk": "a", "v": 1}}
        \\put {name} {{"pk": "a", "v": 2}}
        \\delete {name} a
        \\watch {name} from start limit 3
        \\drop {name}""")
    assert done.status == 0, done.err
    events = [json.loads(line) for line in done.lines() if line.startswith("{")]
    assert [event["event"] for event in events] == ["INSERT", "MODIFY", "REMOVE"]
    assert events[1]["old"] == {"pk": "a", "v": 1} and events[1]["new"] == {"pk": "a", "v": 2}


# A command line for each command that sends requests; "watch" runs until Ctrl-C.
WITH_USAGE = {
    "tables": "", "d": "TABLE", "get": "TABLE p0 0", "query": "TABLE p0", "scan": "TABLE", "put": 'TABLE {"pk": "a", "n": 1}',
    "delete": "TABLE a 1", "create": "TABLE-2 pk", "drop": "TABLE-2", "call": "ListTables", "explain": "SELECT * FROM \"TABLE\" WHERE pk = 'a'",
    "cost": "", "patterns": "", "findings": "", "export": "TABLE FILE", "import": "TABLE FILE"}
WITHOUT_USAGE = {"watch", "set", "i", "help", "quit"}


def test_usage_is_printed_after_each_answer(any_db, shell, table, tmp_path):
    names = re.findall(r'^COMMAND\(\w+, "(\w+)"', (ROOT / "src/shell/commands.def").read_text(), re.MULTILINE)
    assert set(names) == WITH_USAGE.keys() | WITHOUT_USAGE
    fill(shell, any_db.endpoint, table)
    for name, words in WITH_USAGE.items():
        if any_db.kind != "gramme" and name in ("explain", "cost", "patterns", "findings"):
            continue
        line = f"\\{name} {words}".replace("TABLE", table).replace("FILE", f"{tmp_path}/items")
        done = shell(any_db.endpoint, "-y", "-t", "-c", line)
        assert done.status == 0 and re.fullmatch(r"\(.*[\d.]+ ms\)\n", done.err), (line, done.err)
        if name in ("export", "import"):
            assert re.search(r"[1-9][\d.]* units?, ", done.err), (line, done.err)


def test_description_in_json(any_db, shell, table):
    description = json.loads(shell(any_db.endpoint, "-o", "json", "-c", f"\\d {table}").out)
    assert description["TableName"] == table and description["KeySchema"][1]["AttributeName"] == "n"


def test_timing_goes_to_standard_error(any_db, shell, table):
    done = shell(any_db.endpoint, "-t", "-o", "json", "-c", f"\\scan {table}")
    assert done.out == "" and done.err.startswith("(0 items, ") and done.err.endswith(" ms)\n")


# --- these need no other server ---


def test_in_process(shell, tmp_path):
    url = f"rocksdb:{tmp_path}/data"
    assert shell(url, text='\\create Tab pk\n\\put Tab {"pk": "a"}\n').out == "created\nwritten\n"
    assert shell(url, "-o", "csv", "-c", 'SELECT * FROM "Tab"').out == "pk\na\n"


def test_many_pages(shell):
    """More than one page of the service; with a filter that discards nearly all."""
    rows = "\n".join(f'\\put Tab {{"pk": "a", "n": {i}, "text": "{"x" * 20000}", "odd": {i % 60}}}' for i in range(120))
    done = shell("memory:", text=f"\\create Tab pk n:N\n{rows}\n\\set format csv\n\\query Tab a\n"
                 "SELECT n FROM Tab WHERE odd = 59;\nSELECT n FROM Tab WHERE pk = 'a' AND n > 117")
    assert done.status == 0, done.err
    lines = done.lines()[121:]
    assert lines[0].startswith("pk,n,") and len(lines) == 121 + 3 + 3
    assert lines[121:] == ["n", "59", "119", "n", "118", "119"]


def test_wrong_options(shell):
    for options in (["--nothing"], ["-o", "xml"], ["-c", "x", "-f", "y"], ["a", "b"]):
        done = shell("memory:", *options)
        assert done.status == 2 and done.err.startswith("gramme shell: "), options
    assert shell("ftp://x").status == 2
    assert shell("-").status == 2
    assert shell("-c").status == 2


def test_no_server(shell):
    done = shell("http://127.0.0.1:1", "-c", "\\tables")
    assert done.status == 1 and done.err.startswith("ConnectionFailed: ")


def test_caret(shell):
    """Columns are those of the screen: wide characters take two."""
    done = shell("memory:", "-c", "\\create Tab pk\nSELECT *\n  FROM Tab WHERE pk = '日本' AND foo(pk)")
    before = "    FROM Tab WHERE pk = '日本' AND "
    assert done.err.splitlines()[1:] == [before + "foo(pk)", " " * (len(before) + 2) + "^"]


def test_include(shell, tmp_path):
    (tmp_path / "inner.sql").write_text('\\put Tab {"pk": "a"}\n')
    (tmp_path / "loop.sql").write_text(f"\\i {tmp_path}/loop.sql\n")
    done = shell("memory:", "-o", "csv", text=f"\\create Tab pk\n\\i {tmp_path}/inner.sql\n\\scan Tab\n\\quit\n\\nothing\n")
    assert (done.status, done.out) == (0, "created\nwritten\npk\na\n")
    assert "too deeply" in shell("memory:", text=f"\\i {tmp_path}/loop.sql").err


def test_help(shell):
    out = shell("memory:", "-c", "\\help").out
    for name in ("tables", "d", "get", "query", "scan", "put", "explain", "cost", "watch", "import", "export", "quit"):
        assert f"  \\{name} " in out


def test_signed_and_over_tls(shell, environment, tmp_path):
    """Plans and cost are asked for with the same credentials and certificates as everything else."""
    authority = Authority(tmp_path)
    everything = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    users = write_users(tmp_path / "users.json", [("root", KEY_ID, SECRET, ["all"])], policies={"all": everything})
    text = "\\create Tab pk\n\\explain SELECT * FROM Tab WHERE pk = 'a'\n\\cost\n\\patterns Tab\n"
    with TlsServer(authority.make("server"), "--auth", "on", "--users", str(users)) as server:
        refused = shell(server.tls_endpoint, "--ca-file", str(authority.file), text=text)
        assert refused.status == 1 and "UnrecognizedClientException" in refused.err
        environment.update(AWS_ACCESS_KEY_ID=KEY_ID, AWS_SECRET_ACCESS_KEY=SECRET, AWS_REGION="us-east-1")
        unknown = shell(server.tls_endpoint, text=text)
        assert unknown.status == 1 and "certificate" in unknown.err
        done = shell(server.tls_endpoint, "--ca-file", str(authority.file), text=text)
        assert done.status == 0 and done.out.startswith("created\nget Tab\n"), done.err
