"""`gramme shell` in a terminal, on Gramme, Dynoxide and (after tools/setup oracle) DynamoDB Local: typing, completion, history, Ctrl-C,
paging, questions, widths."""

import http.server
import json
import stat
import threading

import pytest

from server import Server, program
from signing import KEY_ID, SECRET, SignedClient, write_users
from tables import create_table
from terminal import Terminal
from wire import AUTHORIZATION, Refused

ACCESS_KEY, _, REGION, *_ = AUTHORIZATION.partition("Credential=")[2].split("/")


def S(text):
    return {"S": text}


@pytest.fixture(scope="session")
def endpoint(any_db):
    """Each kind of DynamoDB in turn, also for db and make_table."""
    return any_db.endpoint


@pytest.fixture
def environment(environment):
    """With the access key of db: DynamoDB Local has tables for each access key and region."""
    return {**environment, "AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": "any", "AWS_REGION": REGION}


@pytest.fixture
def start(environment, tmp_path):
    """start(url, width=80): the shell in a terminal."""
    opened = []

    def open_terminal(url, *options, **size):
        wanted = {**environment, "PAGER": "cat", "XDG_STATE_HOME": f"{tmp_path}/state"}
        terminal = Terminal(program(), "shell", *options, url, environment=wanted, **size)
        opened.append(terminal)
        terminal.wait_for("gramme>")
        return terminal
    yield open_terminal
    for terminal in opened:
        terminal.__exit__()


def wait_for_prompt(terminal):
    """Until a line is edited: before that the terminal itself would interpret Ctrl-D and Ctrl-U."""
    terminal.wait_for(lambda screen: screen.rstrip().endswith("gramme>"))


def type_line(terminal, text, shows):
    terminal.send(text)
    terminal.press("Enter")
    return terminal.wait_for(shows)


@pytest.fixture
def music(db, make_table):
    """A table with two items."""
    name = make_table("Artist Song")
    for song in ("Sinnerman", "Feeling Good"):
        db.PutItem(TableName=name, Item={"Artist": S("Nina Simone"), "Song": S(song), "Label": S("Philips")})
    return name


def test_a_session(start, any_db, endpoint, music):
    terminal = start(endpoint)
    screen = type_line(terminal, f"\\d {music}", "key: Artist (S), Song (S)")
    assert f"table {music}: ACTIVE" in screen
    terminal.send(f'SELECT Song FROM "{music}"')
    terminal.press("Enter")
    units = "" if any_db.kind == "local" else "0.5 units, "  # DynamoDB Local does not say what statements consume
    screen = type_line(terminal, "WHERE Artist = 'Nina Simone';", f"(2 items, {units}")
    assert "Song\n------------\nFeeling Good\nSinnerman" in screen
    wait_for_prompt(terminal)
    terminal.press("C-d")
    terminal.wait_for(lambda _: terminal.has_ended())


def test_completion(start, endpoint, music):
    terminal = start(endpoint)
    terminal.send("\\tab")
    terminal.press("Tab")
    terminal.wait_for("gramme> \\tables")
    terminal.press("C-u")
    wait_for_prompt(terminal)
    terminal.send("sel")
    terminal.press("Tab")
    terminal.wait_for("gramme> SELECT")
    terminal.send(f"* FROM {music[:-1]}")
    terminal.press("Tab")
    terminal.wait_for(f'gramme> SELECT * FROM "{music}"')
    type_line(terminal, ";", "(2 items")  # their attributes are known now
    terminal.send(f'SELECT * FROM "{music}" WHERE Lab')
    terminal.press("Tab")
    terminal.wait_for("WHERE Label")
    terminal.press("C-c")
    wait_for_prompt(terminal)
    terminal.send("\\set format cs")
    terminal.press("Tab")
    terminal.wait_for("\\set format csv")
    terminal.press("C-c")
    wait_for_prompt(terminal)
    terminal.send("\\")
    terminal.press("Tab")
    terminal.wait_for(lambda screen: "\\export" in screen and "\\watch" in screen)


def test_completion_of_indexes(start, endpoint, make_table):
    name = make_table("pk", gsi={"by_color": "color"})
    terminal = start(endpoint)
    terminal.send(f"\\query {name}.by")
    terminal.press("Tab")
    terminal.wait_for(f"\\query {name}.by_color")


def test_history_is_kept_for_its_owner_only(start, endpoint, tmp_path):
    type_line(start(endpoint), "\\set rows 7", lambda screen: screen.count("gramme>") == 2)
    path = tmp_path / "state" / "gramme" / "shell_history"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)  # as an older program might have left it
    terminal = start(endpoint)
    terminal.press("Up")
    terminal.wait_for("gramme> \\set rows 7")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_interrupt_drops_the_line(start, endpoint):
    terminal = start(endpoint)
    terminal.send("SELECT nonsense")
    terminal.press("Enter")
    terminal.wait_for("\n      >")
    terminal.press("C-c")
    terminal.wait_for("^C\ngramme>")
    type_line(terminal, "\\set rows", "rows    100")


class NeverAnswers(http.server.BaseHTTPRequestHandler):
    """Answers ListTables, and nothing else before it is released."""

    arrived = threading.Event()
    release = threading.Event()

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if not self.headers["X-Amz-Target"].endswith("ListTables"):
            self.arrived.set()
            self.release.wait(60)
        body = json.dumps({"TableNames": ["still-there"]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_interrupt_stops_the_query_and_not_the_shell(start):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), NeverAnswers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        terminal = start(f"http://127.0.0.1:{server.server_port}")
        terminal.send('SELECT * FROM "slow";')
        terminal.press("Enter")
        assert NeverAnswers.arrived.wait(30)
        terminal.press("C-c")
        terminal.wait_for("interrupted; the request may still be carried out")
        type_line(terminal, "\\tables", "still-there")
        type_line(terminal, "\\quit", lambda _: terminal.has_ended())
        NeverAnswers.release.set()
        server.shutdown()


def test_questions(start, db, endpoint, music):
    terminal = start(endpoint)
    type_line(terminal, f"\\drop {music}", "and its 2 items? [y/N]")
    type_line(terminal, "n", "not done")
    type_line(terminal, f"\\delete {music} 'Nina Simone' Sinnerman", lambda screen: screen.count("[y/N]") == 2)
    terminal.press("C-c")
    terminal.wait_for(lambda screen: screen.count("not done") == 2)
    assert db.Scan(TableName=music)["Count"] == 2
    type_line(terminal, f"\\delete {music} 'Nina Simone' Sinnerman", lambda screen: screen.count("[y/N]") == 3)
    type_line(terminal, "y", "deleted")
    assert db.Scan(TableName=music)["Count"] == 1


def test_import_asks_before_it_replaces_items(start, db, endpoint, music, make_table, tmp_path):
    (tmp_path / "items.json").write_text('{"Artist": "Nina Simone", "Song": "Sinnerman"}\n')
    terminal = start(endpoint)
    type_line(terminal, f"\\import {music} {tmp_path}/items.json json", "that have the same key? [y/N]")
    type_line(terminal, "n", "not done")
    assert sum("Label" in item for item in db.Scan(TableName=music)["Items"]) == 2
    empty = make_table("Artist Song")
    type_line(terminal, f"\\import {empty} {tmp_path}/items.json json", f"1 item written to {empty}")
    terminal = start(endpoint, "-y")
    type_line(terminal, f"\\import {music} {tmp_path}/items.json json", f"1 item written to {music}")
    assert sum("Label" in item for item in db.Scan(TableName=music)["Items"]) == 1


def test_import_without_the_right_to_scan(start, environment, tmp_path):
    """The shell cannot find out whether the table has items: it asks."""
    allowed = [f"dynamodb:{name}" for name in ("CreateTable", "DescribeTable", "GetItem", "BatchWriteItem")]
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": allowed, "Resource": "*"}]}
    users = write_users(tmp_path / "users.json", [("ada", KEY_ID, SECRET, ["writes"])], policies={"writes": policy})
    (tmp_path / "items.json").write_text('{"pk": "a"}\n')
    environment |= {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
    with Server("memory:", "--auth", "on", "--users", users) as server, SignedClient(server.endpoint, key_id=KEY_ID) as client:
        create_table(client, "pk", name="Music")
        with pytest.raises(Refused, match="AccessDenied"):
            client.Scan(TableName="Music")
        terminal = start(server.endpoint)
        type_line(terminal, f"\\import Music {tmp_path}/items.json json", "that have the same key? [y/N]")
        type_line(terminal, "n", "not done")
        type_line(terminal, f"\\import Music {tmp_path}/items.json json", lambda screen: screen.count("[y/N]") == 2)
        type_line(terminal, "y", "1 item written to Music")


def test_more(start, db, endpoint, make_table):
    name = make_table("pk sk")
    for i in range(5):
        db.PutItem(TableName=name, Item={"pk": S("a"), "sk": S(f"s{i}")})
    terminal = start(endpoint)
    type_line(terminal, "\\set rows 2", lambda screen: screen.count("gramme>") == 2)
    screen = type_line(terminal, f"\\query {name} a", "-- more")
    assert "s1" in screen and "s2" not in screen
    terminal.press("Enter")
    screen = terminal.wait_for("s3")
    assert "s4" not in screen
    terminal.send("q")
    terminal.press("Enter")
    screen = terminal.wait_for("(4 items, ")
    assert "s4" not in screen


def test_pager(start, db, endpoint, make_table, environment):
    name = make_table("pk sk")
    for i in range(30):
        db.PutItem(TableName=name, Item={"pk": S("a"), "sk": S(f"s{i:02}")})
    environment["LESS"] = "-S"
    terminal = Terminal(program(), "shell", endpoint, environment={**environment, "PAGER": "less"}, height=20)
    with terminal:
        terminal.wait_for("gramme>")
        screen = type_line(terminal, f"\\query {name} a", "s16")
        assert "s20" not in screen
        terminal.press("q")
        terminal.wait_for(lambda screen: "gramme>" in screen and "s16" not in screen)


@pytest.mark.parametrize("width", [40, 80])
def test_tables_fit_the_terminal(start, db, endpoint, make_table, width):
    name = make_table("pk")
    db.PutItem(TableName=name, Item={"pk": S("日本語" * 20), "long": S("x" * 500), "escape": S("\x1b[31mred"),
                                     **{f"column{i}": S("value") for i in range(12)}})
    terminal = start(endpoint, width=width)
    screen = type_line(terminal, f"\\scan {name}", "(1 item, ")
    rows = [line for line in screen.splitlines() if " | " in line]
    assert len(rows) == 2 and "日本" in rows[1] and "…" in rows[1]
    columns = [sum(2 if ord(character) > 0x2e80 else 1 for character in line) for line in rows]
    assert all(count <= width for count in columns)
    assert "more columns not shown" in screen
    screen = type_line(terminal, "\\set format list", lambda screen: screen.count("gramme>") == 3)
    assert "\\x1b[31mred" in type_line(terminal, f"\\scan {name}", "\\x1b[31mred")


def test_watch_ends_with_interrupt(start, db, endpoint, make_table):
    name = make_table("pk", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
    terminal = start(endpoint)
    type_line(terminal, f"\\watch {name}", "Ctrl-C ends")
    db.PutItem(TableName=name, Item={"pk": S("seen")})
    terminal.wait_for('INSERT {"pk":"seen"}')
    terminal.press("C-c")
    terminal.wait_for(lambda screen: screen.count("gramme>") == 2)
    type_line(terminal, "\\quit", lambda _: terminal.has_ended())
