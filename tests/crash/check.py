"""What must hold after a crash, checked from outside: by Scan, index Scan, DescribeTable and the streams."""

from changes import StreamCheck, StreamReader, check_brief, check_changes
from tables import all_items, wait_active
from values import item, item_size, plain
from wire import Refused
from workload import ACCOUNTS, ALL, BRIEF, MONEY, SLIM, TABLES, IndexMaker, index_definitions, key_names


def stored_items(db, table):
    """Every item of a table by its key's values."""
    names = key_names(table)
    found = {}
    for wire_item in all_items(db.Scan, TableName=table, ConsistentRead=True):
        key = tuple(plain(wire_item)[name] for name in names)
        assert key not in found, f"{table} gives {key} twice"
        found[key] = wire_item
    return found


def projected(wire_item, table, key, projection):
    """The entry that the index must hold for an item, or None."""
    if any(name not in wire_item for name in key):
        return None
    if projection["ProjectionType"] == "ALL":
        return wire_item
    names = {*key, *key_names(table), *projection.get("NonKeyAttributes", [])}
    return {name: value for name, value in wire_item.items() if name in names}


def sorted_plain(wire_items):
    return sorted((plain(each) for each in wire_items), key=lambda each: sorted(map(str, each.items())))


def check_indexes_and_sizes(db, table, items):
    """Index entries are exactly those of the items, and DescribeTable counts them right."""
    description = wait_active(db, table)
    counted = {"": (description["ItemCount"], description["TableSizeBytes"])}
    for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        for index in description.get(kind, []):
            counted[index["IndexName"]] = (index["ItemCount"], index["IndexSizeBytes"])
    expected = {"": (len(items), sum(map(item_size, items.values())))}
    definitions = index_definitions(table)
    if IndexMaker.NAME in counted:
        definitions[IndexMaker.NAME] = (["n"], {"ProjectionType": "KEYS_ONLY"})
    for name, (key, projection) in definitions.items():
        entries = [entry for entry in (projected(each, table, key, projection) for each in items.values())
                   if entry is not None]
        found = all_items(db.Scan, TableName=table, IndexName=name)
        assert sorted_plain(found) == sorted_plain(entries), f"index {name} of {table} disagrees"
        expected[name] = (len(entries), sum(map(item_size, entries)))
    assert counted == expected, f"{table}: (count, bytes) {counted}, recounted {expected}"


def check_collections(db, table, items):
    """Each partition through the LSI: all its items that have the key, in order."""
    partitions = {}
    for wire_item in items.values():
        partitions.setdefault(wire_item["pk"]["S"], []).append(plain(wire_item))
    for pk, members in partitions.items():
        found = all_items(db.Query, TableName=table, IndexName="lsi", KeyConditionExpression="pk = :k",
                          ExpressionAttributeValues={":k": {"S": pk}}, ConsistentRead=True)
        order = [(each["l"]["S"], int(each["sk"]["N"])) for each in found]
        assert order == sorted((each["l"], each["sk"]) for each in members if "l" in each), pk


def check_worker(db, worker, stored):
    """Acknowledged is there, refused is not, and what is in doubt is whole or not at all."""
    def now(key):
        table, pk, sk = key
        return plain(stored[table].pop((pk,) if table == SLIM else (pk, sk), None))
    actual = {key: now(key) for key in worker.keys}
    doubt = worker.doubt
    doubtful = doubt.after if doubt else {}
    for key, content in actual.items():
        if key not in doubtful:
            assert content == worker.held[key], (
                f"{key} holds {content}, was acknowledged as {worker.held[key]}")
        else:
            assert content in (worker.held[key], doubtful[key]), (
                f"{key} holds {content}, neither {worker.held[key]} nor {doubtful[key]}")
    if doubt and doubt.kind is ALL:
        before = all(actual[key] == worker.held[key] for key in doubtful)
        after = all(actual[key] == doubtful[key] for key in doubtful)
        assert before or after, f"half of a transaction: {doubtful}"
    worker.settle(actual)
    worker.doubt = None
    if doubt and doubt.replay:
        settle(db, worker, doubt)


def settle(db, worker, doubt):
    """Sends a transaction again with its token: it has then happened once, not twice."""
    db.TransactWriteItems(**doubt.replay)
    worker.settle(doubt.after)
    for key, content in doubt.after.items():
        found = db.GetItem(TableName=key[0], Key=item(worker.key_item(key)), ConsistentRead=True)
        assert plain(found.get("Item")) == content, f"replay: {key} holds {found}, not {content}"


def check_shared(workers, slim):
    """The counter, which it returns, has every acknowledged addition and no more than were sent; no money was made or lost."""
    count = int(slim.pop(("counter",), {"n": {"N": "0"}})["n"]["N"])
    sure = sum(worker.added for worker in workers)
    most = sure + sum(worker.added_doubt for worker in workers)
    assert sure <= count <= most, f"the counter is {count}, not in {sure}..{most}"
    workers[0].added += count - sure
    for worker in workers:
        worker.added_doubt = 0
    balances = [int(slim.pop((f"account-{number}",))["money"]["N"]) for number in range(ACCOUNTS)]
    assert sum(balances) == ACCOUNTS * MONEY and min(balances) >= 0, f"money was made or lost: {balances}"
    return count


def check_short_lived(db, maker):
    try:
        description = db.DescribeTable(TableName=maker.NAME)["Table"]
        assert maker.may_exist, "a deleted table came back"
        items = all_items(db.Scan, TableName=maker.NAME)
        assert len(items) <= maker.ITEMS
        assert description["ItemCount"] == len(items)
        assert db.Scan(TableName=maker.NAME, IndexName="idx")["Count"] == len(items)
    except Refused as error:
        assert error.type == "ResourceNotFoundException" and not maker.must_exist, "a table is lost"
        maker.may_exist = False
    maker.must_exist = False


def check_expiring(db):
    """Indexes and sizes of a table whose items expire meanwhile."""
    while True:
        items = stored_items(db, BRIEF)
        try:
            check_indexes_and_sizes(db, BRIEF, items)
            return
        except AssertionError:
            if stored_items(db, BRIEF) == items:
                raise


def stream_checks(endpoint):
    """To be made before the first write."""
    return {table: StreamCheck(StreamReader(table, endpoint)) for table in (*TABLES, BRIEF)}


def check_all(db, endpoint, workers, maker, streams):
    stored = {table: stored_items(db, table) for table in TABLES}
    for table, items in stored.items():
        check_indexes_and_sizes(db, table, items)
    check_collections(db, "wide", stored["wide"])
    check_short_lived(db, maker)
    count = check_shared(workers, stored[SLIM])
    for worker in workers:
        check_worker(db, worker, stored)
    for table, items in stored.items():
        assert not items, f"{table} holds what nobody wrote: {list(items)[:5]}"
    for table in TABLES:
        check_changes(streams[table], endpoint, workers, count)
    check_brief(streams[BRIEF], endpoint, workers)
    check_expiring(db)
