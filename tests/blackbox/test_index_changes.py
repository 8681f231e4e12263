"""Global indexes that come to a table in use and go: their states, what may change meanwhile, and that
an index holds exactly what it should when it is ACTIVE."""

import random
import threading

import pytest

from racing import race
from tables import all_items, create_table, definitions, index_request, put_all, wait_active
from values import item, item_size, plain, values
from waiting import poll
from wire import Client, Refused, invalid, refused

INVALID = "One or more parameter values were invalid: "
IN_USE = "Attempt to change a resource which is still in use: "
ONE_AT_A_TIME = ("Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously "
                 "per table")
UNITS = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}


def create(name, index, **more):
    return {"Create": {**index_request(name, index), **more}}


def delete(name):
    return {"Delete": {"IndexName": name}}


def update(name, **settings):
    return {"Update": {"IndexName": name, **settings}}


def change(db, table, *updates, defined=None, **more):
    """UpdateTable; `defined` names the attributes to define."""
    request = {"TableName": table, "GlobalSecondaryIndexUpdates": list(updates), **more}
    if defined is not None:
        request["AttributeDefinitions"] = definitions(defined) if defined else []
    return db.UpdateTable(**request)["TableDescription"]


def add(db, table, name, index):
    change(db, table, create(name, index), defined=index if isinstance(index, str) else index[0])
    wait_active(db, table)


def description_of(db, table, name):
    """The table's description and that of its index, or None."""
    found = db.DescribeTable(TableName=table)["Table"]
    return found, next((each for each in found.get("GlobalSecondaryIndexes", [])
                        if each["IndexName"] == name), None)


def is_fit(wire_item, name, kind, limit):
    """Whether the attribute can be a key of an index."""
    value = wire_item.get(name, {}).get(kind)
    return value is not None and (kind != "S" or 0 < len(value) <= limit)


def projected(wire_item, index):
    """What an index must hold of an item, or None."""
    keys = [part["AttributeName"] for part in index["KeySchema"]]
    if not all(is_fit(wire_item, part["AttributeName"], index["kinds"][part["AttributeName"]],
                      2048 if part["KeyType"] == "HASH" else 1024) for part in index["KeySchema"]):
        return None
    if index["Projection"]["ProjectionType"] == "ALL":
        return wire_item
    names = {"pk", *keys, *index["Projection"].get("NonKeyAttributes", [])}
    return {name: value for name, value in wire_item.items() if name in names}


def check_index(db, table, name):
    """Every item that has the keys is in the index once, with its newest image; counts are exact."""
    found, index = description_of(db, table, name)
    index["kinds"] = {each["AttributeName"]: each["AttributeType"] for each in found["AttributeDefinitions"]}
    items = all_items(db.Scan, TableName=table)
    expected = {each["pk"]["S"]: projected(each, index) for each in items}
    expected = {pk: entry for pk, entry in expected.items() if entry is not None}
    entries = all_items(db.Scan, TableName=table, IndexName=name)
    assert len(entries) == len(expected)
    assert {each["pk"]["S"]: plain(each) for each in entries} == {
        pk: plain(entry) for pk, entry in expected.items()}
    assert (found["ItemCount"], found["TableSizeBytes"]) == (len(items), sum(map(item_size, items)))
    assert (index["ItemCount"], index["IndexSizeBytes"]) == (len(expected), sum(
        map(item_size, expected.values())))
    return entries


# --- states ---

def state_of(db, table, name):
    found, index = description_of(db, table, name)
    return (found["TableStatus"],) + ((index["IndexStatus"], index.get("Backfilling")) if index else ())


ALLOCATING = ("UPDATING", "CREATING", False)
BACKFILLING = ("ACTIVE", "CREATING", True)
ACTIVE = ("ACTIVE", "ACTIVE", None)
DELETING = ("UPDATING", "DELETING", None)
GONE = ("ACTIVE",)


def wait_for(db, table, name, state):
    poll(lambda: state_of(db, table, name) == state, 30, f"index {name} is {state}")


def test_states(start_server):
    """From allocation of resources over backfilling to ACTIVE, and from DELETING to nothing."""
    with Client(start_server("memory:", "--table-delay-ms", "2000").endpoint) as db:
        table = create_table(db, "pk")
        db.PutItem(TableName=table, Item=item(pk="k", g="g"))
        answer = change(db, table, create("idx", "g"), defined="g")
        index, = answer["GlobalSecondaryIndexes"]
        assert (answer["TableStatus"], index["IndexStatus"], index["Backfilling"]) == ALLOCATING
        assert index["ItemCount"] == index["IndexSizeBytes"] == 0
        assert index["KeySchema"] == [{"AttributeName": "g", "KeyType": "HASH"}]
        assert answer["AttributeDefinitions"] == definitions("pk", "g")
        seen = [ALLOCATING]
        while seen[-1] != ACTIVE:
            state = state_of(db, table, "idx")
            if state != seen[-1]:
                seen.append(state)
            if state != ACTIVE and state == state_of(db, table, "idx"):
                for read in (lambda: db.Scan(TableName=table, IndexName="idx"), lambda: db.Query(
                        TableName=table, IndexName="idx", KeyConditionExpression="g = :g",
                        ExpressionAttributeValues=values(g="g")),
                        lambda: db.ExecuteStatement(Statement=f'SELECT * FROM "{table}"."idx"')):
                    try:
                        read()
                        assert state_of(db, table, "idx") == ACTIVE
                    except Refused as error:
                        assert (error.type, error.message) == (
                            "ValidationException", "Cannot read from backfilling global secondary index: idx")
        assert seen == [ALLOCATING, BACKFILLING, ACTIVE]
        assert db.Scan(TableName=table, IndexName="idx")["Count"] == 1

        answer = change(db, table, delete("idx"))
        assert answer["TableStatus"] == "UPDATING"
        assert answer["GlobalSecondaryIndexes"][0]["IndexStatus"] == "DELETING"
        assert "Backfilling" not in answer["GlobalSecondaryIndexes"][0]
        assert answer["AttributeDefinitions"] == definitions("pk", "g")
        with invalid("The table does not have the specified index: idx"):
            db.Scan(TableName=table, IndexName="idx")
        assert state_of(db, table, "idx") == DELETING
        wait_for(db, table, "idx", GONE)
        assert description_of(db, table, "idx")[0]["AttributeDefinitions"] == definitions("pk")


def test_what_may_change_meanwhile(start_server):
    """What the service has been seen to refuse in each state of an index, and to accept."""
    provisioned = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS}
    stream = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}
    with Client(start_server("memory:", "--table-delay-ms", "4000").endpoint) as db:
        table = create_table(db, "pk", gsi={"old": "o"})

        def iops(state, index):
            return refused("ResourceInUseException", IN_USE + (
                f"Can't change table IOPS when an index is being {state}. Table: {table} Indexes: [{index}]"))

        def no_deletion():
            return refused("ResourceInUseException", IN_USE + "Cannot delete table while indexes are being "
                           "created, updated, or deleted.")

        change(db, table, create("new", "n"), defined="n")
        with iops("created", "new"):
            db.UpdateTable(TableName=table, **provisioned)
        with refused("ResourceInUseException", IN_USE + (
                f"Can't change stream status when an index is being created. Table: {table} Indexes: [new]")):
            db.UpdateTable(TableName=table, **stream)
        with refused("ResourceInUseException", IN_USE + "OnDemandThroughput cannot be updated while index "
                     "creation is in progress for indexes: [new]"):
            db.UpdateTable(TableName=table, OnDemandThroughput={"MaxReadRequestUnits": 5})
        with refused("ResourceInUseException", IN_USE + (
                f"Index is being created but is not backfilling yet.  Table: {table} Index: new")):
            change(db, table, update("new", OnDemandThroughput={"MaxReadRequestUnits": 5}))
        with refused("ResourceInUseException", IN_USE + (
                "Index creation is in resource allocation phase. Retry deletion during backfilling phase or "
                f"when the index is active. Table: {table} Index: new")):
            change(db, table, delete("new"))
        with refused("ResourceInUseException", IN_USE + f"Index is being created.  Table: {table} Index: new"):
            change(db, table, create("new", "n"), defined="n")
        with refused("LimitExceededException", ONE_AT_A_TIME):
            change(db, table, create("other", "n"), defined="n")
        with refused("LimitExceededException", ONE_AT_A_TIME):
            change(db, table, delete("old"))
        with no_deletion():
            db.DeleteTable(TableName=table)
        change(db, table, update("old", OnDemandThroughput={"MaxReadRequestUnits": 5}))
        db.UpdateTable(TableName=table, DeletionProtectionEnabled=False)
        db.UpdateTable(TableName=table, BillingMode="PAY_PER_REQUEST")
        assert state_of(db, table, "new") == ALLOCATING, "the machine is too slow for this test"

        wait_for(db, table, "new", BACKFILLING)
        change(db, table, update("new", OnDemandThroughput={"MaxReadRequestUnits": 7}))
        db.UpdateTable(TableName=table, OnDemandThroughput={"MaxReadRequestUnits": 6})
        for updates, defined in (([create("other", "n")], "n"), ([delete("old")], None)):
            with refused("LimitExceededException", ONE_AT_A_TIME):
                change(db, table, *updates, defined=defined)
        with no_deletion():
            db.DeleteTable(TableName=table)
        assert state_of(db, table, "new") == BACKFILLING, "the machine is too slow for this test"
        answer = change(db, table, delete("new"))
        assert {each["IndexName"]: each["IndexStatus"] for each in answer["GlobalSecondaryIndexes"]} == {
            "old": "ACTIVE", "new": "DELETING"}

        with iops("deleted", "new"):
            db.UpdateTable(TableName=table, **provisioned)
        with refused("ResourceInUseException", IN_USE + "OnDemandThroughput cannot be updated while index "
                     "deletion is in progress for indexes: [new]"):
            db.UpdateTable(TableName=table, OnDemandThroughput={"MaxReadRequestUnits": 5})
        for updates in ([update("new", OnDemandThroughput={"MaxReadRequestUnits": 5})], [delete("new")],
                        [create("new", "n")]):
            with refused("ResourceInUseException", IN_USE + (
                    f"Index is being deleted.  Table: {table} Index: new")):
                change(db, table, *updates, defined="n")
        for updates in ([create("other", "n")], [delete("old")]):
            with refused("LimitExceededException", ONE_AT_A_TIME):
                change(db, table, *updates, defined="n")
        with no_deletion():
            db.DeleteTable(TableName=table)
        db.UpdateTable(TableName=table, DeletionProtectionEnabled=False)
        assert state_of(db, table, "new") == DELETING, "the machine is too slow for this test"

        wait_for(db, table, "new", GONE)
        index, = description_of(db, table, "old")[0]["GlobalSecondaryIndexes"]
        assert index["OnDemandThroughput"] == {"MaxReadRequestUnits": 5}
        db.DeleteTable(TableName=table)


# --- refusals ---

@pytest.mark.parametrize("updates, defined, message", [
    ([create("new", "n")], None, INVALID + "AttributeDefinitions is not specified for index: new"),
    ([create("new", "n")], "", INVALID + "AttributeDefinitions is not specified for index: new"),
    ([create("new", "n")], "m", INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
     "Keys: [n], AttributeDefinitions: [m]"),
    # A key attribute must be defined in the request, even if the table knows it.
    ([create("new", "n g")], "n", INVALID + "Some index key attributes are not defined in "
     "AttributeDefinitions. Keys: [n, g], AttributeDefinitions: [n]"),
    # That the name is taken is found before anything is looked at, also if it is a local index's.
    ([create("gsi", "n")], None, "Attempting to create an index which already exists"),
    ([create("lsi", "n")], "n", "Attempting to create an index which already exists"),
    ([delete("lsi")], None, "Cannot delete an index that is not a GlobalSecondaryIndex: lsi"),
    ([update("lsi", WarmThroughput={"ReadUnitsPerSecond": 1})], None,
     "Cannot update an index that is not a GlobalSecondaryIndex: lsi"),
    ([create("new", "n", ProvisionedThroughput=UNITS)], "n", INVALID + "Neither ReadCapacityUnits nor "
     "WriteCapacityUnits can be specified for index: new when BillingMode is PAY_PER_REQUEST"),
    ([create("new", "n", OnDemandThroughput={"MaxReadRequestUnits": 0})], "n", INVALID +
     "Requested MaxReadRequestUnits for OnDemandThroughput for index is outside of valid range"),
    ([create("new", "n", KeySchema=[{"AttributeName": "n", "KeyType": "RANGE"}])], "n",
     "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"),
    ([create("new", "n n")], "n",
     "Both the Hash Key and the Range Key element in the KeySchema have the same name"),
    ([create("new", ("n", "INCLUDE"))], "n",
     INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified"),
    ([create("new", "n", Projection={"ProjectionType": "ALL", "NonKeyAttributes": ["x"]})], "n",
     INVALID + "ProjectionType is ALL, but NonKeyAttributes is specified"),
    ([create("new", "n", Projection={})], "n", INVALID + "Unknown ProjectionType: null"),
    ([{}], None, INVALID + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
     "GlobalSecondaryIndexUpdate.Delete must not be null"),
    ([{**create("new", "n"), **delete("gsi")}], "n",
     INVALID + "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object"),
    ([delete("gsi"), create("gsi", "n")], "n",
     INVALID + "Only one global secondary index update per index is allowed simultaneously. Index: gsi"),
])
def test_refusals(db, make_table, updates, defined, message):
    table = make_table("pk sk", gsi={"gsi": "g"}, lsi={"lsi": "pk l"})
    before = description_of(db, table, "gsi")
    with invalid(message):
        change(db, table, *updates, defined=defined)
    assert description_of(db, table, "gsi") == before


@pytest.mark.parametrize("more, message", [
    ({"ProvisionedThroughput": UNITS}, "You cannot create or delete index while updating table IOPS"),
    ({"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}},
     "You cannot create or delete index while changing stream status"),
    ({"SSESpecification": {"Enabled": True}},
     "Server-Side Encryption modification must be the only operation in the request"),
    ({"TableClass": "STANDARD"}, "TableClass modification must be the only operation in the request"),
    ({"DeletionProtectionEnabled": True},
     "DeletionProtection modification must be the only operation in the request"),
    ({"OnDemandThroughput": {"MaxReadRequestUnits": 5}},
     "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request"),
    ({"WarmThroughput": {"ReadUnitsPerSecond": 15000}},
     "Create global secondary index cannot be specified when updating WarmThroughput"),
])
def test_an_index_comes_alone(db, make_table, more, message):
    table = make_table("pk")
    with invalid(INVALID + message):
        change(db, table, create("new", "n"), defined="n", **more)


def test_refusals_of_other_kinds(db, make_table):
    table = make_table("pk", gsi={"gsi": "g"})
    for updates in ([delete("no-such")], [update("no-such", WarmThroughput={"ReadUnitsPerSecond": 1})]):
        with refused("ResourceNotFoundException",
                     f"Requested resource not found: Index no-such for table {table}"):
            change(db, table, *updates)
    for updates in ([create("i-a", "a"), create("i-b", "b")], [create("i-a", "a"), delete("gsi")]):
        with refused("LimitExceededException", ONE_AT_A_TIME):
            change(db, table, *updates, defined="a b")
    with refused("ResourceNotFoundException", "Requested resource not found: Table: no-such not found"):
        change(db, "no-such", delete("gsi"))
    with invalid(INVALID + "List of GlobalSecondaryIndexUpdates is empty"):
        change(db, table, DeletionProtectionEnabled=False)


def test_twenty_indexes(db, make_table):
    table = make_table("pk", gsi={f"index-{number}": "g" for number in range(20)})
    with refused("LimitExceededException", "Subscriber limit exceeded: Number of global secondary indexes "
                 "exceeds per-table limit of 20"):
        change(db, table, create("too-many", "n"), defined="n")
    change(db, table, delete("index-7"))
    wait_active(db, table)
    add(db, table, "again", "n")
    assert [each["IndexName"] for each in db.DescribeTable(TableName=table)["Table"][
        "GlobalSecondaryIndexes"]] == [f"index-{number}" for number in range(20) if number != 7] + ["again"]


def test_projected_names_of_all_indexes(db, make_table):
    names = [f"name{number}" for number in range(20)]
    table = make_table("pk", gsi={f"index-{number}": ("g", names) for number in range(4)})
    add(db, table, "last", ("g", names))
    with invalid(INVALID + "Number of NonKeyAttributes exceeds per-table limit of 100"):
        change(db, table, create("other", ("g", ["one"])), defined="g")


def test_throughput_of_a_new_index(db, make_table):
    table = make_table("pk", BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)
    with invalid(INVALID + "Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: new"):
        change(db, table, create("new", "n"), defined="n")
    change(db, table, create("new", "n", ProvisionedThroughput={
        "ReadCapacityUnits": 3, "WriteCapacityUnits": 4}), defined="n")
    index, = wait_active(db, table)["GlobalSecondaryIndexes"]
    assert (index["ProvisionedThroughput"]["ReadCapacityUnits"],
            index["ProvisionedThroughput"]["WriteCapacityUnits"]) == (3, 4)
    change(db, table, create("free", "n"), defined="n", BillingMode="PAY_PER_REQUEST")
    wait_active(db, table)


# --- definitions ---

def test_definitions_are_a_delta(db, make_table):
    """Given ones are added, unused ones ignored, known ones keep their type, orphans go. Keys of the new index must not be defined
    anew."""
    table = make_table("pk", gsi={"gsi": "g:N"})
    with invalid():
        change(db, table, create("new", "n g"), defined="n g")
    answer = change(db, table, create("new", "n g:N"), defined="n g:N unused pk:N")
    assert answer["AttributeDefinitions"] == definitions("pk", "g:N", "n")
    wait_active(db, table)
    db.PutItem(TableName=table, Item=item(pk="k", n="n", g=5))
    assert db.Scan(TableName=table, IndexName="new")["Count"] == 1
    with invalid():
        db.PutItem(TableName=table, Item=item(pk="k", n=1))
    change(db, table, delete("gsi"), defined="other")
    assert wait_active(db, table)["AttributeDefinitions"] == definitions("pk", "g:N", "n")
    change(db, table, delete("new"))
    assert wait_active(db, table)["AttributeDefinitions"] == definitions("pk")
    db.PutItem(TableName=table, Item=item(pk="k", n=1, g="any"))
    db.UpdateTable(TableName=table, AttributeDefinitions=definitions("x"), DeletionProtectionEnabled=False)
    assert wait_active(db, table)["AttributeDefinitions"] == definitions("pk")


# --- content ---

@pytest.mark.parametrize("index", ["g", ("g", "KEYS_ONLY"), ("g s:N", ["v", "w"]), "v w",
                                   "a,b:N,c,v s:N,d,g,w", ("g", ["pk"])])
def test_backfill_takes_what_fits(db, make_table, index):
    """Sparse: every key attribute, each of the right type and not too long; of items of many sizes."""
    table = make_table("pk")
    dice = random.Random(5)
    kinds = {"g": ["x", "y", "z", 5, None, ""], "s": [1, 2, "three"], "a": ["a"], "b": [7, "seven"],
             "c": ["c", b"c"], "d": ["d", {"d"}], "v": ["v" * 2048, "v" * 2049, "v"],
             "w": ["w" * 1024, "w" * 1025, "w", ["list"]]}
    put_all(db, table, [item(pk=f"p{number}", **{
        name: dice.choice(choices) for name, choices in kinds.items() if dice.random() < 0.9})
        for number in range(900)])
    add(db, table, "new", index)
    assert 0 < len(check_index(db, table, "new")) < 900
    # An update that leaves an unfit key as it is goes through; the item stays out of the index.
    for number in range(0, 900, 5):
        db.UpdateItem(TableName=table, Key=item(pk=f"p{number}"), UpdateExpression="SET touched = :o",
                      ExpressionAttributeValues=values(o=number))
    check_index(db, table, "new")


def test_empty_table(db, make_table):
    table = make_table("pk")
    add(db, table, "new", "n")
    assert check_index(db, table, "new") == []


def test_big_items(db, make_table):
    table = make_table("pk")
    for number in range(12):
        db.PutItem(TableName=table, Item=item(pk=f"p{number}", g="g", big="x" * 390_000))
    add(db, table, "new", "g")
    assert len(check_index(db, table, "new")) == 12


def test_beside_other_indexes(db, make_table):
    """The order of indexes stays, local ones too; each write goes to all of them."""
    table = make_table("pk sk", gsi={"gsi": "g"}, lsi={"lsi": "pk l"})
    put_all(db, table, [item(pk=f"p{number}", sk="s", g="g", l="l", n="n") for number in range(200)])
    add(db, table, "new", "n")
    db.PutItem(TableName=table, Item=item(pk="later", sk="s", g="g", l="l", n="n"))
    for name in ("gsi", "lsi", "new"):
        assert db.Scan(TableName=table, IndexName=name)["Count"] == 201
    change(db, table, delete("gsi"))
    wait_active(db, table)
    db.PutItem(TableName=table, Item=item(pk="last", sk="s", g=1, l="l", n="n"))
    for name in ("lsi", "new"):
        assert db.Scan(TableName=table, IndexName=name)["Count"] == 202
    answer = db.PutItem(TableName=table, Item=item(pk="last", sk="s", l="m", n="m"),
                        ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
    assert answer["GlobalSecondaryIndexes"] == {"new": {"CapacityUnits": 2.0}}


def random_write(db, table, dice, numbers):
    """A write after which the index must look different, or the same."""
    pk = f"p{dice.choice(numbers)}"
    kind = dice.randrange(6)
    group = f"g{dice.randrange(5)}"
    if kind < 2:
        db.PutItem(TableName=table, Item=item(pk=pk, v=dice.randrange(3), **({"g": group} if kind else {})))
    elif kind == 2:
        db.UpdateItem(TableName=table, Key=item(pk=pk), UpdateExpression="SET g = :g, v = :v",
                      ExpressionAttributeValues=values(g=group, v=dice.randrange(3)))
    elif kind == 3:
        db.UpdateItem(TableName=table, Key=item(pk=pk), UpdateExpression="REMOVE g")
    elif kind == 4:
        db.DeleteItem(TableName=table, Key=item(pk=pk))
    else:
        other = f"p{dice.choice(numbers)}"
        if other != pk:
            db.TransactWriteItems(TransactItems=[
                {"Put": {"TableName": table, "Item": item(pk=pk, g=group, v=7)}},
                {"Delete": {"TableName": table, "Key": item(pk=other)}}])


class Writers:
    """Clients that write to a table at random until the block ends."""

    def __init__(self, endpoint, table, count, clients=4):
        self.stop = threading.Event()
        self.may_lose_connection = False
        self.failures = []
        self.threads = [threading.Thread(target=self.run, args=(
            endpoint, table, random.Random(seed), range(seed, count, clients))) for seed in range(clients)]

    def run(self, endpoint, table, dice, numbers):
        try:
            with Client(endpoint) as db:
                while not self.stop.is_set():
                    random_write(db, table, dice, numbers)
        except OSError as failure:
            if not self.may_lose_connection:
                self.failures.append(failure)
        except BaseException as failure:  # noqa: B902 - reported to the test below
            self.failures.append(failure)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()
        assert not self.failures, self.failures[0]


def fill(db, table, count):
    put_all(db, table, [item(pk=f"p{number}", v=0, **({"g": f"g{number % 5}"} if number % 7 else {"g": 1}))
                        for number in range(count)])


def test_writes_during_backfill(db, endpoint, make_table):
    table = make_table("pk")
    fill(db, table, 5000)
    with Writers(endpoint, table, 5000):
        for name, index in (("one", "g"), ("two", ("g v:N", "KEYS_ONLY"))):
            add(db, table, name, index)
    for name in ("one", "two"):
        check_index(db, table, name)


def test_come_and_go_under_load(db, endpoint, make_table):
    """The same name again and again; nothing of an index that is gone shows in the next one."""
    table = make_table("pk")
    fill(db, table, 2000)
    dice = random.Random(1)
    with Writers(endpoint, table, 2000):
        for number in range(8):
            change(db, table, create("idx", "g" if number % 2 else "g v:N"), defined="g v:N")
            if dice.random() < 0.5:
                wait_active(db, table)
            else:  # while it is being filled
                poll(lambda: state_of(db, table, "idx") != ALLOCATING, 30, "the index can be deleted")
            change(db, table, delete("idx"))
            wait_for(db, table, "idx", GONE)
        add(db, table, "idx", "g")
    check_index(db, table, "idx")


def test_changes_at_once(endpoint, db, make_table):
    """Many clients create and delete indexes of one table: one change at a time succeeds."""
    table = make_table("pk")
    fill(db, table, 300)

    def work(client, number):
        done = 0
        for _ in range(10):
            for updates in ([create(f"index-{number % 3}", "g")], [delete(f"index-{number % 3}")]):
                try:
                    change(client, table, *updates, defined="g")
                    done += 1
                except Refused as error:
                    assert error.type in ("LimitExceededException", "ResourceInUseException",
                                          "ResourceNotFoundException") or (
                        error.message == "Attempting to create an index which already exists"), error
        return done
    assert sum(race(endpoint, 6, work)) > 0
    description = wait_active(db, table)
    for index in description.get("GlobalSecondaryIndexes", []):
        check_index(db, table, index["IndexName"])


# --- restarts ---

@pytest.mark.parametrize("end", ["stop", "kill"])
def test_restart_in_the_middle(start_server, tmp_path, end):
    """What was filled stays, the rest follows; writes of before, meanwhile and after are all there."""
    store, count = f"rocksdb:{tmp_path}/data", 10_000
    server = start_server(store)
    with Client(server.endpoint) as db:
        table = create_table(db, "pk")
        fill(db, table, count)
        with Writers(server.endpoint, table, count) as writers:
            writers.may_lose_connection = True
            for _ in range(5):  # it may be filled before it is seen
                change(db, table, create("idx", "g"), defined="g")
                poll(lambda: (description_of(db, table, "idx")[1]["ItemCount"] > count / 10), 60, "it is begun")
                if (state := state_of(db, table, "idx")) == BACKFILLING:
                    break
                assert state == ACTIVE
                change(db, table, delete("idx"))
                wait_for(db, table, "idx", GONE)
            assert state == BACKFILLING
            getattr(server, end)()
    server = start_server(store)
    with Client(server.endpoint) as db:
        with Writers(server.endpoint, table, count):
            wait_active(db, table, 60)
        check_index(db, table, "idx")


def test_restart_in_each_state(start_server, tmp_path):
    """CREATING, backfilling and DELETING continue after a restart."""
    store, delay = f"rocksdb:{tmp_path}/data", ("--table-delay-ms", "2000")
    server = start_server(store, *delay)
    with Client(server.endpoint) as db:
        table = create_table(db, "pk")
        fill(db, table, 300)
        change(db, table, create("idx", "g"), defined="g")
    for state in (ALLOCATING, BACKFILLING):
        with Client(server.endpoint) as db:
            wait_for(db, table, "idx", state)
        server.kill()
        server = start_server(store, *delay)
    with Client(server.endpoint) as db:
        wait_active(db, table)
        check_index(db, table, "idx")
        change(db, table, delete("idx"))
    server.kill()
    server = start_server(store, *delay)
    with Client(server.endpoint) as db:
        wait_for(db, table, "idx", GONE)
        add(db, table, "idx", "g")
        check_index(db, table, "idx")
