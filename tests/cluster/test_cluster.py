"""Three servers on one PostgreSQL, clients spread over them at random. faults.py has what fails meanwhile."""

import contextlib
import os
import random
import signal
import subprocess
import threading
import time
import urllib.request

import pytest

import postgresql
from kinesis import Kinesis, check_history, enable
from server import Server, program
from signing import SignedClient
from streams import Consumer, Streams, specification, stream_arn
from tables import create_table, unique_name, wait_active
from values import item, plain
from waiting import poll
from wire import Client, Refused

SERVERS = 3


@pytest.fixture(scope="module")
def database():
    with postgresql.Cluster() as cluster:
        yield cluster


class Servers:
    """Some servers on one database."""

    def __init__(self, url, *options):
        self.url, self.options = url, options
        self.servers = [Server(url, *options) for _ in range(SERVERS)]

    def __getitem__(self, index):
        return self.servers[index]

    def __iter__(self):
        return iter(self.servers)

    def restart(self, index):
        self.servers[index] = Server(self.url, *self.options, port=self.servers[index].port)

    def stop(self):
        for server in self.servers:
            if server.process.poll() is None:
                server.stop()


@pytest.fixture
def servers(database):
    started = Servers(database.create_database(f"c{os.urandom(6).hex()}"))
    yield started
    started.stop()


@pytest.fixture
def distributed_servers(database):
    name = f"c{os.urandom(6).hex()}"
    url = database.create_database(name)
    database.pretend_distributed(name)
    started = Servers(url)
    started.database = name
    yield started
    started.stop()


class Worker(threading.Thread):
    """Calls `work(client, random)` on a random server again and again, also after its time until `least` calls have succeeded. An answer
    that is lost, or says that the server cannot, is counted as unknown; work() says what it did by what it returns."""

    def __init__(self, servers, work, seconds, seed, least=0):
        super().__init__()
        self.servers, self.work, self.until, self.random = servers, work, time.monotonic() + seconds, random.Random(seed)
        self.least, self.deadline, self.longest = least, self.until + 60, 0
        self.done, self.unknown, self.problem, self.clients = [], 0, None, {}
        self.start()

    def client(self, server):
        if server.endpoint not in self.clients:
            self.clients[server.endpoint] = Client(server.endpoint)
        return self.clients[server.endpoint]

    def run(self):
        try:
            while time.monotonic() < self.until or len(self.done) < self.least and time.monotonic() < self.deadline:
                server, started = self.random.choice(self.servers.servers), time.monotonic()
                try:
                    self.done.append(self.work(self.client(server), self.random))
                except (OSError, ConnectionError):
                    self.clients.pop(server.endpoint, None)
                    self.unknown += 1
                    time.sleep(0.05)
                except Refused as error:
                    if is_conflict(error):  # nothing was done: another call held the item for a second
                        continue
                    if error.status != 500:
                        raise
                    self.unknown += 1
                finally:
                    self.longest = max(self.longest, time.monotonic() - started)
        except Exception as error:  # pylint: disable=broad-except
            self.problem = error


def is_conflict(error):
    reasons = error.body.get("CancellationReasons", [])
    return error.type == "TransactionConflictException" or any(reason["Code"] == "TransactionConflict" for reason in reasons)


def run(servers, works, seconds, meanwhile=None, least=0):
    """Runs all works beside each other, each at least `least` times; gives the workers."""
    workers = [Worker(servers, work, seconds, seed, least) for seed, work in enumerate(works)]
    if meanwhile is not None:
        meanwhile()
    for worker in workers:
        worker.join()
        if worker.problem is not None:
            raise worker.problem
    return workers


def run_without_doubt(servers, make_works, seconds, **more):
    """Runs make_works(round), and gives the round and its workers; no answer may be lost. Only if the machine has stopped a server for so long
    that its lease of four seconds may have ended, which the calls of that time show, is there another round."""
    for number in range(5):
        workers = run(servers, make_works(number), seconds, **more)
        if not any(worker.unknown for worker in workers):
            return number, workers
        assert max(worker.longest for worker in workers) > 2, [worker.unknown for worker in workers]
    raise AssertionError("the machine has stopped a server in each round")


def counter(table, pk):
    def work(db, _):
        db.UpdateItem(TableName=table, Key=item(pk=pk), UpdateExpression="ADD n :one",
                      ExpressionAttributeValues={":one": {"N": "1"}})
        return pk
    return work


ACCOUNTS, MONEY = 10, 100


def transfer(table):
    def work(db, rand):
        one, other = rand.sample(range(ACCOUNTS), 2)
        amount = {":a": {"N": str(rand.randint(1, 5))}}
        with contextlib.suppress(Refused):
            db.TransactWriteItems(TransactItems=[
                {"Update": {"TableName": table, "Key": item(pk=f"a{one}"), "UpdateExpression": "SET money = money - :a",
                            "ConditionExpression": "money >= :a", "ExpressionAttributeValues": amount}},
                {"Update": {"TableName": table, "Key": item(pk=f"a{other}"), "UpdateExpression": "SET money = money + :a",
                            "ExpressionAttributeValues": amount}}])
    return work


def look(table):
    """All accounts at once: the sum is always the same."""
    def work(db, _):
        answers = db.TransactGetItems(TransactItems=[
            {"Get": {"TableName": table, "Key": item(pk=f"a{i}")}} for i in range(ACCOUNTS)])["Responses"]
        assert sum(plain(answer["Item"])["money"] for answer in answers) == ACCOUNTS * MONEY
    return work


def check_counter(servers, table, pk, workers):
    """The acknowledged ones are there, and not more than were tried."""
    mine = [worker for worker in workers if worker.done and worker.done[0] == pk]
    least = sum(len(worker.done) for worker in mine)
    most = least + sum(worker.unknown for worker in mine)
    for server in servers:
        with Client(server.endpoint) as db:
            n = plain(served(db, TableName=table, Key=item(pk=pk))["Item"])["n"]
            assert least <= n <= most
    return least, most


def served(db, **request):
    """The answer of GetItem, as soon as the server serves: after a fault it may take a moment."""
    def ask():
        try:
            return db.GetItem(**request, ConsistentRead=True)
        except Refused as error:
            assert error.status == 500, error
    return poll(ask, 60, "the server serves")


def test_counters_and_transfers_are_exact(servers):
    with Client(servers[0].endpoint) as db:
        table = create_table(db, "pk")
        for i in range(ACCOUNTS):
            db.PutItem(TableName=table, Item=item(pk=f"a{i}", money=MONEY))
    number, workers = run_without_doubt(
        servers, lambda number: [counter(table, f"hot{number}")] * 6 + [transfer(table)] * 6 + [look(table)] * 3, 4, least=10)
    least, most = check_counter(servers, table, f"hot{number}", workers)
    assert least == most and least > 50
    with Client(servers[2].endpoint) as db:
        accounts = [plain(entry) for entry in db.Scan(TableName=table, ConsistentRead=True)["Items"]]
        assert sum(account.get("money", 0) for account in accounts) == ACCOUNTS * MONEY
        counted = db.DescribeTable(TableName=table)["Table"]
        assert counted["ItemCount"] == ACCOUNTS + number + 1


def test_tables_are_seen_everywhere_at_once(servers):
    clients = [Client(server.endpoint) for server in servers]
    for number in range(6):
        name = unique_name()
        creator, *others = random.Random(number).sample(clients, SERVERS)
        for round_number in range(2):
            create_table(creator, "pk", name=name)
            for position, db in enumerate(others):
                db.PutItem(TableName=name, Item=item(pk="x", n=round_number, by=position))
                assert plain(db.GetItem(TableName=name, Key=item(pk="x"), ConsistentRead=True)["Item"])["n"] == round_number
                assert name in db.ListTables()["TableNames"]
            others[0].DeleteTable(TableName=name)
            for db in (creator, others[1]):
                assert name not in db.ListTables()["TableNames"]
                for call in (lambda db=db: db.GetItem(TableName=name, Key=item(pk="x")),
                             lambda db=db: db.PutItem(TableName=name, Item=item(pk="y"))):
                    with pytest.raises(Refused) as error:
                        call()
                    assert error.value.type == "ResourceNotFoundException"
    for db in clients:
        db.close()


def test_tables_come_and_go_while_all_are_used(servers):
    """All three create and delete the same tables, and write to them, at the same time. No answer may be any other error than that a
    table is there already, or is not; afterwards all three agree on what there is."""
    names = [unique_name() for _ in range(3)]
    expected = {"ResourceNotFoundException", "ResourceInUseException", "LimitExceededException"}

    def work(db, rand):
        name, action = rand.choice(names), rand.random()
        try:
            if action < 0.1:
                db.CreateTable(TableName=name, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                               AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
            elif action < 0.2:
                db.DeleteTable(TableName=name)
            elif action < 0.6:
                db.PutItem(TableName=name, Item=item(pk="x", id=db.DescribeTable(TableName=name)["Table"]["TableId"]),
                           ConditionExpression="attribute_not_exists(pk)")
            else:
                db.GetItem(TableName=name, Key=item(pk="x"), ConsistentRead=True)
        except Refused as error:
            if error.type not in {*expected, "ConditionalCheckFailedException"}:
                raise
    run(servers, [work] * 9, 8)
    for name in names:  # afterwards all agree
        answers = set()
        for server in servers:
            with Client(server.endpoint) as db:
                try:
                    described = db.DescribeTable(TableName=name)["Table"]["TableId"]
                    found = db.GetItem(TableName=name, Key=item(pk="x"), ConsistentRead=True).get("Item")
                    answers.add((described, plain(found)["id"] if found else None))
                except Refused as error:
                    assert error.type == "ResourceNotFoundException", error
                    answers.add(None)
        assert len(answers) == 1, answers


def check_index(db, table, index, attribute):
    items = {plain(entry)["pk"]: plain(entry) for entry in scan(db, table)}
    entries = {plain(entry)["pk"]: plain(entry) for entry in scan(db, table, IndexName=index)}
    assert entries == {pk: entry for pk, entry in items.items() if attribute in entry}
    described = db.DescribeTable(TableName=table)["Table"]
    assert described["ItemCount"] == len(items)
    [index_described] = described["GlobalSecondaryIndexes"]
    assert index_described["ItemCount"] == len(entries)


def scan(db, table, **more):
    found, start = [], {}
    while True:
        page = db.Scan(TableName=table, **more, **start)
        found += page["Items"]
        if "LastEvaluatedKey" not in page:
            return found
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def test_index_is_filled_while_all_write(servers):
    with Client(servers[1].endpoint) as db:
        table = create_table(db, "pk")
        for i in range(400):
            db.PutItem(TableName=table, Item=item(pk=f"p{i}", **({"g": f"g{i % 7}"} if i % 3 else {})))

    def write(db, rand):
        pk = f"p{rand.randrange(500)}"
        if rand.random() < 0.3:
            db.DeleteItem(TableName=table, Key=item(pk=pk))
        else:
            db.PutItem(TableName=table, Item=item(pk=pk, **({"g": f"g{rand.randrange(7)}"} if rand.random() < 0.7 else {})))

    run(servers, [write] * 6, 5, lambda: create_index(servers[2], table))
    check_index_everywhere(servers, table)


def create_index(server, table):
    with Client(server.endpoint) as db:
        db.UpdateTable(TableName=table, AttributeDefinitions=[{"AttributeName": "g", "AttributeType": "S"},
                                                              {"AttributeName": "pk", "AttributeType": "S"}],
                       GlobalSecondaryIndexUpdates=[{"Create": {
                           "IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                           "Projection": {"ProjectionType": "ALL"}}}])


def wait_for_index(server, table):
    with Client(server.endpoint) as db:
        wait_active(db, table)
        poll(lambda: db.DescribeTable(TableName=table)["Table"]["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE",
             60, "the index is active")


def check_index_everywhere(servers, table):
    for server in servers:
        wait_for_index(server, table)
        with Client(server.endpoint) as db:
            check_index(db, table, "by-g", "g")


def is_ready(server):
    try:
        with urllib.request.urlopen(f"{server.endpoint}/_gramme/ready", timeout=10) as answer:
            return answer.status == 200
    except OSError:
        return False


@pytest.mark.parametrize("position", range(SERVERS), ids=["leader", "second", "third"])
def test_index_created_while_a_server_is_stopped(servers, position):
    """A server is stopped in the middle of writes, for longer than its lease. Another one creates an index and fills it
    meanwhile. The stopped one does not know the index when it goes on: none of its writes may lack an entry."""
    with Client(servers[0].endpoint) as db:
        table = create_table(db, "pk")
        for i in range(100):
            db.PutItem(TableName=table, Item=item(pk=f"p{i}", g=f"g{i % 7}"))
    stopped, other = servers[position], servers[(position + 1) % SERVERS]
    acknowledged, lock = {}, threading.Lock()

    def write(number, server, is_over):
        """Puts items of its own, each with the next number, until it is over or the server has answered after the stop."""
        clients = {}
        count = 0
        while not is_over.is_set():
            pk = f"w{number}-{count % 5}"
            count += 1
            try:
                if not clients:
                    clients[0] = Client(server.endpoint)
                clients[0].PutItem(TableName=table, Item=item(pk=pk, g=f"g{count % 7}", n=count))
                with lock:
                    acknowledged[pk] = count
            except (OSError, ConnectionError):
                clients.clear()
            except Refused as error:
                assert error.status == 500, error

    over = threading.Event()
    problems = []

    def guarded(number, server):
        try:
            write(number, server, over)
        except Exception as error:  # pylint: disable=broad-except
            problems.append(error)
    writers = [threading.Thread(target=guarded, args=(i, stopped if i < 12 else other)) for i in range(15)]
    for writer in writers:
        writer.start()
    try:
        poll(lambda: len(acknowledged) == 75, 30, "all writers write")
        os.kill(stopped.process.pid, signal.SIGSTOP)
        try:
            create_index(other, table)  # is answered when the stopped one is excluded
            wait_for_index(other, table)
        finally:
            os.kill(stopped.process.pid, signal.SIGCONT)
        before = dict(acknowledged)
        poll(lambda: is_ready(stopped), 60, "the stopped server may serve again")
        poll(lambda: all(acknowledged[pk] > count for pk, count in before.items()), 60, "all writers go on")
    finally:
        over.set()
        for writer in writers:
            writer.join()
    assert not problems, problems
    check_index_everywhere(servers, table)
    with Client(other.endpoint) as db:
        found = {plain(entry)["pk"]: plain(entry).get("n") for entry in scan(db, table, ConsistentRead=True)}
    assert {pk: n for pk, n in found.items() if pk in acknowledged and n < acknowledged[pk]} == {}


def check_stream(servers):
    """Writes through all servers, and reads every write from the stream, once and in order per item. Gives the number of shards."""
    arns = []

    def works(_):
        with Client(servers[0].endpoint) as db:
            table = create_table(db, "pk", StreamSpecification=specification("NEW_AND_OLD_IMAGES"))
            arns.append(stream_arn(db, table))
        return [counter(table, f"k{i}") for i in range(4)] * 2
    _, workers = run_without_doubt(servers, works, 4)
    expected = {}
    for worker in workers:
        for pk in worker.done:
            expected[pk] = expected.get(pk, 0) + 1
    with Streams(servers[2].endpoint) as streams:
        consumer = Consumer(streams, arns[-1])
        records = []
        poll(lambda: records.extend(consumer.read_all()) or len(records) >= sum(expected.values()), 30, "all records are there")
    seen = {}
    for record in records:
        image = plain(record["dynamodb"]["NewImage"])
        assert image["n"] == seen.get(image["pk"], 0) + 1
        seen[image["pk"]] = image["n"]
    assert seen == expected
    return len(consumer.parents)


def test_stream_has_every_write_once_and_in_order(servers):
    check_stream(servers)


def test_stream_whose_shards_end_while_all_write(database):
    """A new shard replaces each after 0.3 s, by whichever server notices it. Writers and shards come from different clocks and threads."""
    servers = Servers(database.create_database(f"c{os.urandom(6).hex()}"), "--stream-shard-ms", "300", "--stream-shards", "2")
    try:
        assert check_stream(servers) > 8
    finally:
        servers.stop()


def test_all_of_this_on_a_distributed_table(distributed_servers):
    """As if Citus had distributed it: locked reads of several items, appends in three round trips, ranges by bucket."""
    test_counters_and_transfers_are_exact(distributed_servers)
    check_stream(distributed_servers)
    test_index_is_filled_while_all_write(distributed_servers)
    test_items_expire_once(distributed_servers)


def test_exclusion_waits_for_transactions_on_all_servers(database, distributed_servers):
    """A server is killed while one of its transactions has not ended on all servers of a distributed table: PostgreSQL still
    holds the lock of its writer, here for another session. Others must not believe that it is gone."""
    def sql(text):
        return database.sql(text, distributed_servers.database)

    def heartbeats():
        """Of each member, by its number."""
        rows = sql("SELECT encode(substring(k from 6), 'hex'), wid FROM gramme.kv WHERE b = 77 AND get_byte(k, 4) = 77")
        return {int(number, 16): int(wid) for number, wid in (row.split("|") for row in rows.splitlines())}

    def marker_count(member):
        return int(sql(f"SELECT count(*) FROM gramme.kv WHERE b = 87 AND substring(k from 6 for 8) = int8send({member})"))
    victim = max(heartbeats())  # the one that was started last
    lock = 7167 << 48 | victim << 8 | 2
    command = [str(database.bin / "psql"), "-XAtq", database.uri(distributed_servers.database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as session:
        print(f"SELECT pg_advisory_lock({lock}); SELECT 'held';", file=session.stdin, flush=True)
        while session.stdout.readline().strip() != "held":
            assert session.poll() is None
        distributed_servers[SERVERS - 1].kill()
        poll(lambda: marker_count(victim) == 0, 60, "the killed server cannot write any more")
        leader, before = min(heartbeats()), heartbeats()
        poll(lambda: heartbeats()[leader] >= before[leader] + 4, 60, "others have looked at it again")
        assert victim in heartbeats()
        session.stdin.close()
        session.wait()
    poll(lambda: victim not in heartbeats(), 60, "the killed server is excluded")


def test_changes_go_to_kinesis_though_servers_are_killed(database, tmp_path):
    """One server delivers; when it is killed another one goes on. Each counter's changes arrive complete and in order."""
    with Kinesis(tmp_path / "kinesis") as kinesis:
        arn = kinesis.create_stream("s")
        servers = Servers(database.create_database(f"c{os.urandom(6).hex()}"), "--kinesis-endpoint", kinesis.endpoint)
        with Client(servers[0].endpoint) as db:
            table = create_table(db)
            enable(db, table, arn)

        def kill_each():
            for index in range(SERVERS):
                time.sleep(0.7)
                servers[index].kill()
                servers.restart(index)
        run(servers, [counter(table, pk) for pk in ("a", "b", "c", "d")] * 2, 4, kill_each)
        with Client(servers[0].endpoint) as db:
            expected = {str(found["pk"]["S"]): int(found["n"]["N"]) for found in scan(db, table)}
        reader = kinesis.reader("s")
        records = reader.wait(sum(expected.values()), 60)
        images = check_history(records, key_count=4)
        assert {image["pk"]["S"]: int(image["n"]["N"]) for image in images.values()} == expected
        servers.stop()


def test_items_expire_once(servers):
    with Client(servers[0].endpoint) as db:
        table = create_table(db, "pk", StreamSpecification=specification("OLD_IMAGE"))
        db.UpdateTimeToLive(TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": "t"})
        arn = stream_arn(db, table)
    count = 60
    for i in range(count):
        with Client(servers[i % SERVERS].endpoint) as db:
            db.PutItem(TableName=table, Item=item(pk=f"p{i}", t=int(time.time()) - 1))
    with Client(servers[1].endpoint) as db:
        poll(lambda: not scan(db, table), 60, "all items have expired")
        assert db.DescribeTable(TableName=table)["Table"]["ItemCount"] == 0
    with Streams(servers[1].endpoint) as streams:
        records = Consumer(streams, arn).read_all()
    removed = [plain(record["dynamodb"]["OldImage"])["pk"] for record in records if record["eventName"] == "REMOVE"]
    assert sorted(removed) == sorted(f"p{i}" for i in range(count))


def test_counters_of_servers_that_are_gone_are_folded(database):
    """Each server adds to rows of its own; restarts must not leave more and more of them."""
    name = f"c{os.urandom(6).hex()}"
    url = database.create_database(name)
    writers = 8  # of a server, each with its own row
    table = unique_name()
    for turn in range(4):
        server = Server(url)
        with Client(server.endpoint) as db:
            if turn == 0:
                create_table(db, "pk", name=table)
            for i in range(40):
                db.PutItem(TableName=table, Item=item(pk=f"{turn}-{i}"))
            poll(lambda: int(database.sql("SELECT count(*) FROM gramme.kv WHERE b = 67 AND get_byte(k, 4) = 67 "
                                          "AND substring(k from length(k) - 13 for 8) = '\\x0000000000000000'::bytea", name)) >= (turn > 0),
                 60, "there is a folded row")
            poll(lambda: int(database.sql("SELECT max(n) FROM (SELECT count(*) AS n FROM gramme.kv WHERE b = 67 "
                                          "GROUP BY substring(k for length(k) - 14)) AS counts", name)) <= writers + 1,
                 60, "rows of earlier servers are gone")
            assert db.DescribeTable(TableName=table)["Table"]["ItemCount"] == 40 * (turn + 1)
        if turn % 2:
            server.stop()
        else:
            server.process.kill()
            server.process.wait()


def test_users_and_keys_of_one_server_are_known_to_another(database, tmp_path):
    """Within seconds: a new key is accepted, and one that was removed is not."""
    url = database.create_database(f"c{os.urandom(6).hex()}")
    master = ("--master-key-file", str(tmp_path / "master.key"))

    def gramme(*arguments, **variables):
        done = subprocess.run([program(), *arguments], text=True, capture_output=True, timeout=60, check=False,
                              env={**os.environ, **variables})
        assert done.returncode == 0, done.stderr
        return dict(line.split("=", 1) for line in done.stdout.splitlines() if line.startswith("AWS_"))

    def may_list(server, key):
        with SignedClient(server.endpoint, key["AWS_ACCESS_KEY_ID"], key["AWS_SECRET_ACCESS_KEY"]) as db:
            try:
                return db.ListTables() is not None
            except Refused as error:
                assert error.type == "UnrecognizedClientException", error
                return False
    root = gramme("init", "--store", url, *master)
    with Server(url, "--auth", "on", *master) as one, Server(url, "--auth", "on", *master) as other:
        on_one = {**root, "GRAMME_ENDPOINT": one.endpoint}
        gramme("user", "add", "app", **on_one)
        gramme("policy", "attach", "full", "--user", "app", **on_one)
        key = gramme("key", "add", "app", **on_one)
        assert may_list(one, key)
        poll(lambda: may_list(other, key), 20, "the other server knows the key")
        gramme("key", "remove", key["AWS_ACCESS_KEY_ID"], **on_one)
        assert not may_list(one, key)
        poll(lambda: not may_list(other, key), 20, "the other server knows that the key is gone")


def test_heartbeats_are_few(database):
    """Two a second for each server, and few more when tables change: each is a commit."""
    name = f"c{os.urandom(6).hex()}"
    server = Server(database.create_database(name))
    with Client(server.endpoint) as db:
        create_table(db, "pk")

    def heartbeats():
        return int(database.sql("SELECT sum(wid) FROM gramme.kv WHERE b = 77 AND get_byte(k, 4) = 77", name))
    started = time.monotonic()  # before the first look, so that all that are counted fall into the time
    before = heartbeats()
    poll(lambda: heartbeats() >= before + 6, 60, "there are heartbeats")
    assert heartbeats() - before <= 2 * (time.monotonic() - started) + 3
    server.stop()
