"""`gramme patterns` and `gramme top`."""

import contextlib
import http.server
import json
import os
import subprocess
import threading
import time
import xml.etree.ElementTree

import boto3
import pytest

from boto_config import boto3_config
from insight import Insight
from server import Server, program
from signing import KEY_ID, SECRET, SignedClient, write_users
from tables import create_table
from terminal import Terminal
from waiting import poll
from wire import Refused

S = lambda text: {"S": text}
N = lambda number: {"N": str(number)}


@pytest.fixture
def table(db):
    name = create_table(db, "pk sk", gsi={"by-status": "status sk", "by-owner": "owner"})
    for i in range(40):
        db.PutItem(TableName=name, Item={"pk": S("a"), "sk": S(f"{i:03}"), "status": S("open"), "n": N(i), "owner": S("o")})
    return name


@pytest.fixture
def gramme(server):
    def run(*arguments, status=0):
        done = subprocess.run([program(), *arguments, "--endpoint", server.endpoint], capture_output=True, text=True,
                              check=False, timeout=60)
        assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr
    return run


def query(db, table, **more):
    return db.Query(TableName=table, KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": S("a")}, **more)


def filtered(db, table, below):
    return db.Query(TableName=table, KeyConditionExpression="pk = :p", FilterExpression="n < :n",
                    ExpressionAttributeValues={":p": S("a"), ":n": N(below)})


@pytest.fixture
def contract(db, table, gramme, tmp_path):
    """The file of a contract: GetItem, a Query, a filter that keeps most, and an index."""
    gramme("patterns", "reset")
    normal_traffic(db, table)
    path = tmp_path / "patterns.json"
    path.write_text(gramme("patterns", "record"))
    gramme("patterns", "reset")
    return path


def normal_traffic(db, table):
    db.GetItem(TableName=table, Key={"pk": S("a"), "sk": S("001")})
    query(db, table, Limit=5)
    filtered(db, table, 30)
    db.Query(TableName=table, IndexName="by-status", KeyConditionExpression="#s = :s",
             ExpressionAttributeNames={"#s": "status"}, ExpressionAttributeValues={":s": S("open")})
    db.UpdateItem(TableName=table, Key={"pk": S("a"), "sk": S("001")}, UpdateExpression="SET x = :x",
                  ExpressionAttributeValues={":x": S("y")})


def test_record(contract, table):
    recorded = {pattern["text"]: pattern for pattern in json.loads(contract.read_text())["patterns"]}
    assert set(recorded) == {
        f"GetItem {table} pk = ? AND sk = ?", f"Query {table} pk = ? LIMIT", f"Query {table} pk = ? FILTER n < ?",
        f"Query {table}.by-status status = ?", f"UpdateItem {table} pk = ? AND sk = ? SET x = ?"}
    assert recorded[f"Query {table} pk = ? LIMIT"]["itemsReadMax"] == 5
    assert recorded[f"UpdateItem {table} pk = ? AND sk = ? SET x = ?"]["unitsMax"] == 3  # both indexes hold x


def test_check_passes(db, table, gramme, contract, tmp_path):
    for _ in range(3):
        normal_traffic(db, table)
    report = gramme("patterns", "check", str(contract), "--junit", str(tmp_path / "junit.xml"))
    assert "5 patterns as declared, 0 not, 0 declared but not seen" in report
    suite = xml.etree.ElementTree.parse(tmp_path / "junit.xml").getroot().find("testsuite")
    assert (suite.get("tests"), suite.get("failures")) == ("5", "0")


def test_unseen_patterns_do_not_fail(gramme, contract):
    assert "5 declared but not seen" in gramme("patterns", "check", str(contract))


CASES = {
    "a new Scan": (lambda db, table: db.Scan(TableName=table), "is not declared, and reads the whole table"),
    "40 read to return 2": (lambda db, table: filtered(db, table, 2), "read 40 items to return 2 in one call; at most 10"),
    "40 read to return 2, after good calls": (lambda db, table: [filtered(db, table, below) for below in (40, 40, 40, 2)],
                                              "read 40 items to return 2 in one call; at most 10"),
    "more items": (lambda db, table: query(db, table, Limit=6), "read 6 items in one call; 5 are declared"),
    "over its units": (lambda db, table: db.UpdateItem(
        TableName=table, Key={"pk": S("a"), "sk": S("001")}, UpdateExpression="SET x = :x",
        ExpressionAttributeValues={":x": S("y" * 2000)}), "consumed 6 units in one call; 3 are declared"),
    "an undeclared index": (lambda db, table: db.Query(
        TableName=table, IndexName="by-owner", KeyConditionExpression="#o = :o",
        ExpressionAttributeNames={"#o": "owner"}, ExpressionAttributeValues={":o": S("o")}),
        "no declared pattern uses the index by-owner"),
    "an undeclared pattern": (lambda db, table: query(db, table, ConsistentRead=True), "is not declared"),
    "a scan by PartiQL": (lambda db, table: db.ExecuteStatement(Statement=f'SELECT * FROM "{table}" WHERE n = 5'),
                          "is not declared, and reads the whole table"),
}


@pytest.mark.parametrize("case", CASES)
def test_check_finds(db, table, gramme, contract, tmp_path, case):
    call, expected = CASES[case]
    call(db, table)
    report = gramme("patterns", "check", str(contract), "--junit", str(tmp_path / "junit.xml"), status=1)
    assert report.count("FAILED") == 1 and expected in report, report
    suite = xml.etree.ElementTree.parse(tmp_path / "junit.xml").getroot().find("testsuite")
    assert suite.get("failures") == "1"
    assert expected in suite.find("testcase/failure").get("message")


def test_junit_of_names_that_xml_does_not_allow(db, table, gramme, contract, tmp_path):
    """U+FFFE, U+FFFF and control characters are replaced; other characters beyond ASCII stay."""
    db.Scan(TableName=table, FilterExpression="#n = :n", ExpressionAttributeNames={"#n": "a\uffff\ufffe\u0001<é\ufffd\U0001f600>"},
            ExpressionAttributeValues={":n": N(1)})
    gramme("patterns", "check", str(contract), "--junit", str(tmp_path / "junit.xml"), status=1)
    case, = xml.etree.ElementTree.parse(tmp_path / "junit.xml").getroot().findall("testsuite/testcase[failure]")
    assert '"a???<é\ufffd\U0001f600>"' in case.get("name"), case.get("name")


def test_the_ratio_of_the_worst_call_is_recorded(db, table, gramme, contract, tmp_path):
    """A contract that was recorded is satisfied by the traffic that it was recorded of."""
    for below in (40, 40, 3):
        filtered(db, table, below)
    path = tmp_path / "recorded.json"
    path.write_text(gramme("patterns", "record"))
    recorded, = json.loads(path.read_text())["patterns"]
    assert 40 / 3 <= recorded["readPerReturnedMax"] < 13.34
    gramme("patterns", "check", str(path))
    filtered(db, table, 2)
    assert "read 40 items to return 2 in one call; at most 13.334" in gramme("patterns", "check", str(path), status=1)


class Patterns(http.server.BaseHTTPRequestHandler):
    """A server that has seen `rows`."""
    protocol_version = "HTTP/1.1"
    rows = []

    def do_GET(self):
        body = json.dumps({"patterns": self.rows, "total": len(self.rows)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("returned", [0, 1, 3, 7])
def test_large_numbers_are_recorded_exactly(tmp_path, monkeypatch, returned):
    """As counts of large tables: a contract is satisfied by the traffic that it was recorded of."""
    row = {"id": "0" * 16, "operation": "Scan", "table": "Orders", "text": "Scan Orders FILTER n < ?", "filter": "n < ?", "scan": True, "calls": 3, "errors": 0,
           "unitsMax": 12345678901.5, "itemsReadMax": 12345678901, "itemsRead": 1237225, "itemsReturned": returned, "worstItemsRead": 1237225,
           "worstItemsReturned": returned}
    monkeypatch.setattr(Patterns, "rows", [row])
    path = tmp_path / "recorded.json"
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Patterns) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def run(*arguments):
            command = [program(), "patterns", *arguments, "--endpoint", f"http://127.0.0.1:{server.server_port}"]
            return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        path.write_text(run("record").stdout)
        good = run("check", path)
        row["worstItemsRead"] += 10
        bad = run("check", path)
        server.shutdown()
    recorded, = json.loads(path.read_text())["patterns"]
    assert (recorded["unitsMax"], recorded["itemsReadMax"]) == (12345678901.5, 12345678901)
    ratio = 1237225 / max(returned, 1)
    assert ratio <= recorded["readPerReturnedMax"] < ratio + 0.002
    assert good.returncode == 0 and "1 patterns as declared, 0 not" in good.stdout, good
    assert bad.returncode == 1 and f"read 1237235 items to return {returned} in one call; at most {recorded['readPerReturnedMax']:.15g} for" in bad.stdout, bad


def refused_update(db, table):
    with pytest.raises(Refused):
        db.UpdateItem(TableName=table, Key={"pk": S("a"), "sk": S("001")}, UpdateExpression="SET x = :x", ConditionExpression="attribute_not_exists(pk)",
                      ExpressionAttributeValues={":x": S("y")})


def test_calls_that_failed_are_not_seen(db, table, gramme, contract):
    """With --require-all each declared pattern must have succeeded once."""
    text = f"UpdateItem {table} pk = ? AND sk = ? SET x = ? IF attribute_not_exists(pk)"
    contract.write_text(json.dumps({"version": 1, "patterns": [{"text": text}]}))
    refused_update(db, table)
    assert "0 patterns as declared, 0 not, 1 declared but not seen" in gramme("patterns", "check", str(contract))
    assert "is declared, but each of its calls failed" in gramme("patterns", "check", str(contract), "--require-all", status=1)
    db.UpdateItem(TableName=table, Key={"pk": S("a"), "sk": S("new")}, UpdateExpression="SET x = :x", ConditionExpression="attribute_not_exists(pk)",
                  ExpressionAttributeValues={":x": S("y")})
    assert "1 patterns as declared, 0 not, 0 declared" in gramme("patterns", "check", str(contract), "--require-all")


def test_require_all_of_a_table(db, table, gramme, contract):
    """With --table declared patterns of other tables are left out."""
    file = json.loads(contract.read_text())
    others = [f"GetItem {table}2 pk = ?", f"Query {table[:-1]}.by-status {table[1:]} = ?", f"TransactWriteItems Put {table}-old pk = ?"]
    file["patterns"] += [{"text": text} for text in others]
    contract.write_text(json.dumps(file))
    normal_traffic(db, table)
    assert "5 patterns as declared, 3 not" in gramme("patterns", "check", str(contract), "--require-all", status=1)
    assert "5 patterns as declared, 0 not, 0 declared" in gramme("patterns", "check", str(contract), "--require-all", "--table", table)
    assert "5 patterns as declared, 0 not, 0 declared" in gramme("patterns", "check", str(contract), "--table", table)
    gramme("patterns", "reset")
    db.GetItem(TableName=table, Key={"pk": S("a"), "sk": S("001")})
    assert "1 patterns as declared, 4 not" in gramme("patterns", "check", str(contract), "--require-all", "--table", table, status=1)
    assert "nothing was checked" in gramme("patterns", "check", str(contract), "--require-all", "--table", "Mistyped", status=1)


def test_no_traffic(db, table, gramme, contract, tmp_path):
    """Nothing to check is not silent; with --require-all what is declared must have been seen."""
    assert "No calls were seen: nothing was checked." in gramme("patterns", "check", str(contract))
    normal_traffic(db, table)
    assert "No calls were seen of table Tsks" in gramme("patterns", "check", str(contract), "--table", "Tsks")
    assert "No calls" not in gramme("patterns", "check", str(contract), "--require-all")
    gramme("patterns", "reset")
    db.GetItem(TableName=table, Key={"pk": S("a"), "sk": S("001")})
    gramme("patterns", "check", str(contract))
    report = gramme("patterns", "check", str(contract), "--require-all", "--junit", str(tmp_path / "junit.xml"), status=1)
    assert report.count("is declared, but was not seen") == 4 and "1 patterns as declared, 4 not, 0 declared but" in report
    assert xml.etree.ElementTree.parse(tmp_path / "junit.xml").getroot().find("testsuite").get("failures") == "4"
    assert "--require-all is for check" in gramme("patterns", "list", "--require-all", status=2)


def test_declared_scan_may_scan(db, table, gramme, contract):
    file = json.loads(contract.read_text())
    file["patterns"].append({"text": f"Scan {table}", "scan": True})
    contract.write_text(json.dumps(file))
    db.Scan(TableName=table)
    gramme("patterns", "check", str(contract))
    del file["patterns"][-1]["scan"]
    contract.write_text(json.dumps(file))
    assert 'which is not declared ("scan": true)' in gramme("patterns", "check", str(contract), status=1)


def test_long_texts_are_told_apart(db, table, gramme, tmp_path):
    """Texts are cut at 1,024 bytes: patterns that differ behind that are recorded with their id."""
    def update(last, size=1):
        names = [f"attribute_{i:03}" for i in range(80)] + [last]
        db.UpdateItem(TableName=table, Key={"pk": S("long"), "sk": S("1")}, UpdateExpression="SET " + ", ".join(f"{name} = :v" for name in names),
                      ExpressionAttributeValues={":v": S("x" * size)})
    gramme("patterns", "reset")
    update("last_a")
    update("last_b", 100)
    path = tmp_path / "patterns.json"
    path.write_text(gramme("patterns", "record"))
    recorded = json.loads(path.read_text())["patterns"]
    assert len(recorded) == 2 and recorded[0]["text"] == recorded[1]["text"] and recorded[0]["id"] != recorded[1]["id"]
    assert recorded[0]["unitsMax"] != recorded[1]["unitsMax"]
    assert "2 patterns as declared, 0 not, 0 declared" in gramme("patterns", "check", str(path))
    update("last_c")
    assert "2 patterns as declared, 1 not" in gramme("patterns", "check", str(path), status=1)
    path.write_text(json.dumps({"version": 1, "patterns": recorded[:1]}))
    assert "1 patterns as declared, 2 not" in gramme("patterns", "check", str(path), status=1)


def test_list_as_json(db, table, gramme, insight):
    filtered(db, table, 10)
    lines = [json.loads(line) for line in gramme("patterns", "list", "--json", "--table", table).splitlines()]
    assert {line["text"]: line["calls"] for line in lines} == {
        one["text"]: one["calls"] for one in insight.get("patterns", table=table)["patterns"]}
    assert set(lines[0]) == set(insight.get("patterns")["patterns"][0])
    assert "--json is for list" in gramme("patterns", "record", "--json", status=2)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2, "patterns": []}', '{"version": 1, "patterns": [{}]}',
                                  '{"version": 1, "patterns": [{"text": "GetItem t", "unitMax": 3}]}'])
def test_bad_contracts(gramme, tmp_path, text):
    path = tmp_path / "bad.json"
    path.write_text(text)
    assert gramme("patterns", "check", str(path), status=2).startswith("gramme patterns: ")


@pytest.mark.parametrize("arguments, status", [
    (["patterns"], 2), (["patterns", "dance"], 2), (["patterns", "check"], 2), (["patterns", "list", "more"], 2),
    (["patterns", "list", "--nothing"], 2), (["patterns", "check", "/not/there"], 2), (["top", "--interval", "soon"], 2),
    (["top", "--nothing"], 2)])
def test_bad_arguments(gramme, arguments, status):
    assert "gramme" in gramme(*arguments, status=status)


def test_no_server(tmp_path):
    for arguments in (["patterns", "list"], ["top", "--once"]):
        done = subprocess.run([program(), *arguments, "--endpoint", "http://127.0.0.1:1"], capture_output=True, text=True,
                              check=False, timeout=60)
        assert done.returncode == 3 and "cannot connect" in done.stderr


def test_list(db, table, gramme):
    filtered(db, table, 10)
    text = gramme("patterns", "list", "--table", table)
    assert f"Query {table} pk = ? FILTER n < ?" in text and "25 %" in text


def test_top_once(db, table, gramme):
    for _ in range(10):
        db.GetItem(TableName=table, Key={"pk": S("hot"), "sk": S("001")})
    text = gramme("top", "--once")
    assert f"GetItem {table} pk = ? AND sk = ?" in text
    assert f"{table}  hot" in text and "findings: " in text


def top_lines(text):
    """The lines of patterns: calls, units and errors a second, p99 and the text."""
    lines = text.split("pattern\n", 1)[1].split("most used partition keys", 1)[0].splitlines()
    split = [line.split(None, 4) for line in lines if " " in line.strip()]
    return [(*(float(number) for number in line[:4]), line[4]) for line in split if len(line) == 5]


def test_top_once_shows_the_last_minute(db, table, gramme, insight):
    """Rates of the last minute; patterns that were not called in it are left out."""
    for _ in range(30):
        db.GetItem(TableName=table, Key={"pk": S("hot"), "sk": S("001")})

    def seconds():
        """How many seconds the last minute has: fewer after a start."""
        overview = insight.get("overview")
        return min(60, max(1, (overview["server"]["now"] - max(overview["server"]["startedAt"], overview["insight"]["since"])) / 1000))
    least = seconds()
    lines = {line[4]: line for line in top_lines(gramme("top", "--once"))}
    most = seconds()
    calls, units, errors, p99, _ = lines[f"GetItem {table} pk = ? AND sk = ?"]
    assert 30 / most - 0.01 <= calls <= 30 / least + 0.01, (least, calls, most)
    assert units == pytest.approx(calls / 2, abs=0.011) and errors == 0 and p99 > 0
    insight.post("reset")
    assert top_lines(gramme("top", "--once")) == []


def test_top_with_many_patterns(db, table, server):
    """More patterns than are shown: none has more calls a second than there were, also not one that comes into view; after
    a reset no rate is below zero."""
    for number in range(260):
        for _ in range(5):
            db.GetItem(TableName=table, Key={"pk": S("x"), "sk": S("1")}, ProjectionExpression=f"attribute_{number}")
    with Terminal(program(), "top", "--endpoint", server.endpoint, "--interval", "0.3", width=100, height=60) as terminal:
        def rates():
            screen = terminal.screen()
            return [line[0] for line in top_lines(screen) if "RETURN" in line[4]] if "most used partition keys" in screen else []
        poll(rates, 30, "a picture")
        for number in range(260):  # in another order than before
            db.GetItem(TableName=table, Key={"pk": S("x"), "sk": S("1")}, ProjectionExpression=f"attribute_{259 - number}")
            if number % 20 == 0:
                assert all(0 <= rate <= 12 for rate in rates()), terminal.screen()
        Insight(server.endpoint).post("reset")
        db.GetItem(TableName=table, Key={"pk": S("x"), "sk": S("1")})
        for _ in range(20):
            assert all(rate >= 0 for rate in rates()), terminal.screen()
            time.sleep(0.1)
        terminal.press("q")
        poll(terminal.has_ended, 30, "the end")


def test_top_sorts(db, table, server):
    """c sorts by calls, u by units, e by errors, l by latency."""
    with Terminal(program(), "top", "--endpoint", server.endpoint, "--interval", "0.2") as terminal:
        def first():
            for _ in range(5):
                db.GetItem(TableName=table, Key={"pk": S("a"), "sk": S("001")})
            db.PutItem(TableName=table, Item={"pk": S("a"), "sk": S("large"), "pad": S("x" * 100_000)})
            with contextlib.suppress(Refused):
                db.UpdateItem(TableName=table, Key={"pk": S("a"), "sk": S("absent")}, UpdateExpression="SET x = :x",
                              ConditionExpression="attribute_exists(pk)", ExpressionAttributeValues={":x": S("x")})
            screen = terminal.screen()
            lines = top_lines(screen) if "most used partition keys" in screen else []
            return lines and lines[0][4].split()[0]
        for key, operation in (("c", "GetItem"), ("u", "PutItem"), ("e", "UpdateItem"), ("l", "PutItem")):
            terminal.press(key)
            poll(lambda: first() == operation, 30, f"{operation} first, after {key}")
        terminal.press("q")
        poll(terminal.has_ended, 30, "the end")


@pytest.mark.parametrize("height", [12, 24, 50])
def test_top_on_a_phone(db, table, server, height):
    """With 40 columns patterns and keys have lines of their own; what does not fit below is left out, not what is at the top."""
    with Terminal(program(), "top", "--endpoint", server.endpoint, "--interval", "0.2", width=40, height=height) as terminal:
        def is_drawn():
            for _ in range(20):
                db.GetItem(TableName=table, Key={"pk": S("hot"), "sk": S("001")})
            lines = terminal.screen().splitlines()
            patterns = [number for number, line in enumerate(lines) if line.startswith(f"GetItem {table} pk")]
            numbers = lines[patterns[0] + 1].split() if patterns else []
            starts = ["gramme top  (q u c e l)", "last minute: p50 "]
            return (all(line.startswith(start) for line, start in zip(lines, starts)) and lines[2].endswith("errors/s")
                    and "  calls/s  units/s errors/s   p99 us" in lines and len(numbers) == 4 and float(numbers[0]) > 0
                    and (height == 12 or "  share most used partition keys" in lines and shows_key(lines)))

        def shows_key(lines):
            start = lines.index("  share most used partition keys")
            return lines[start + 1].endswith(f" % {table}") and lines[start + 2].strip() in ("a", "hot")
        terminal.wait_for(lambda _: is_drawn())
        terminal.press("q")
        poll(terminal.has_ended, 30, "the end")


def test_top_in_a_terminal(db, table, server):
    with Terminal(program(), "top", "--endpoint", server.endpoint, "--interval", "0.2") as terminal:
        poll(lambda: "gramme top" in terminal.screen(), 30, "a picture")

        def shows_load():
            for _ in range(20):
                db.GetItem(TableName=table, Key={"pk": S("hot"), "sk": S("001")})
            screen = terminal.screen()  # the first picture is drawn in two steps
            lines = [line for line in screen.splitlines() if f"GetItem {table}" in line]
            is_whole = "most used partition keys" in screen and "last minute" in screen
            return lines and float(lines[0].split()[0]) > 0 and is_whole and screen
        screen = poll(shows_load, 30, "calls a second of GetItem")
        assert all(len(line) <= 100 for line in screen.splitlines())
        for key in "celu":
            terminal.press(key)
        terminal.press("q")
        poll(terminal.has_ended, 30, "the end")


@pytest.fixture
def guarded(tmp_path):
    """A server that checks signatures: root, a reader who may see insight, and one who may not; with a table and a call."""
    def allow(*actions):
        return {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": list(actions), "Resource": "*"}]}
    users = write_users(tmp_path / "users.json", [("root", KEY_ID, SECRET, []), ("ada", "AKIAADA", SECRET, ["sees"]), ("bob", "AKIABOB", SECRET, ["reads"])],
                        [{"name": "viewer", "trust": {"Version": "2012-10-17", "Statement": [
                            {"Effect": "Allow", "Principal": {"AWS": "000000000000"}, "Action": "sts:AssumeRole"}]}, "policies": ["sees"]}],
                        {"sees": allow("gramme:GetInsight", "dynamodb:*", "sts:AssumeRole"), "reads": allow("dynamodb:*")})
    with Server("memory:", "--auth", "on", "--users", users) as server, SignedClient(server.endpoint, key_id=KEY_ID) as client:
        client.call("CreateTable", TableName="Guarded", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                    AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
        client.call("GetItem", TableName="Guarded", Key={"pk": S("a")})
        yield server


def run_as(server, key, *arguments, **more):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    credentials = {} if key is None else {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1", **more}
    return subprocess.run([program(), *arguments, "--endpoint", server.endpoint], capture_output=True, text=True, check=False, timeout=60,
                          env={**environment, **credentials})


@pytest.mark.parametrize("command", [("patterns", "list"), ("patterns", "record"), ("top", "--once")])
def test_signed(guarded, command):
    """With --auth on the commands sign; what is refused is said, with a status."""
    for key in (KEY_ID, "AKIAADA"):
        done = run_as(guarded, key, *command)
        assert done.returncode == 0 and "GetItem Guarded" in done.stdout, done
    refused = run_as(guarded, "AKIABOB", *command)
    assert refused.returncode != 0 and "gramme:GetInsight" in refused.stderr and "GetItem Guarded" not in refused.stdout, refused
    for wrong in (run_as(guarded, None, *command), run_as(guarded, "AKIANOBODY", *command),
                  run_as(guarded, KEY_ID, *command, AWS_SECRET_ACCESS_KEY="wrong")):
        assert wrong.returncode != 0 and "answers 4" in wrong.stderr and "GetItem Guarded" not in wrong.stdout, wrong


def test_signed_changes_need_their_own_permission(guarded):
    refused = run_as(guarded, "AKIAADA", "patterns", "reset")
    assert refused.returncode != 0 and "gramme:ChangeInsight" in refused.stderr, refused
    assert "GetItem Guarded" in run_as(guarded, "AKIAADA", "patterns", "list").stdout
    assert run_as(guarded, KEY_ID, "patterns", "reset").returncode == 0
    assert "GetItem Guarded" not in run_as(guarded, KEY_ID, "patterns", "list").stdout


def test_signed_with_temporary_credentials(guarded):
    sts = boto3.client("sts", endpoint_url=guarded.endpoint,
                       **{**boto3_config(), "aws_access_key_id": "AKIAADA", "aws_secret_access_key": SECRET})
    made = sts.assume_role(RoleArn="arn:aws:iam::000000000000:role/viewer", RoleSessionName="session")["Credentials"]
    done = run_as(guarded, made["AccessKeyId"], "patterns", "list", AWS_SECRET_ACCESS_KEY=made["SecretAccessKey"], AWS_SESSION_TOKEN=made["SessionToken"])
    assert done.returncode == 0 and "GetItem Guarded" in done.stdout, done
