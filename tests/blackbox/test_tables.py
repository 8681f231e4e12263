"""CreateTable, DescribeTable, ListTables, UpdateTable, DeleteTable."""

import os
import re
import time

import pytest

from tables import create_table, definitions, put_all, table_request, unique_name, wait_active
from values import item, item_size, values
from waiting import poll
from wire import Client, Refused, invalid, refused


def describe(db, table):
    return db.DescribeTable(TableName=table)["Table"]


def test_describe_on_demand_table(db, make_table):
    before = time.time()
    table = make_table("pk sk:N")
    description = describe(db, table)
    assert description["TableName"] == table
    assert description["TableStatus"] == "ACTIVE"
    assert description["KeySchema"] == [{"AttributeName": "pk", "KeyType": "HASH"},
                                        {"AttributeName": "sk", "KeyType": "RANGE"}]
    assert sorted(map(str, description["AttributeDefinitions"])) == sorted(
        map(str, definitions("pk sk:N")))
    assert description["ItemCount"] == description["TableSizeBytes"] == 0
    assert description["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    throughput = description["ProvisionedThroughput"]
    assert (throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]) == (0, 0)
    assert re.fullmatch(rf"arn:aws:dynamodb:[a-z0-9-]+:\d{{12}}:table/{table}", description["TableArn"])
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", description["TableId"])
    assert before - 5 < description["CreationDateTime"] < time.time() + 5
    assert description["DeletionProtectionEnabled"] is False


def test_describe_provisioned_table(db, make_table):
    table = make_table("pk", BillingMode="PROVISIONED",
                       ProvisionedThroughput={"ReadCapacityUnits": 3, "WriteCapacityUnits": 4})
    description = describe(db, table)
    assert "BillingModeSummary" not in description or (
        description["BillingModeSummary"]["BillingMode"] == "PROVISIONED")
    throughput = description["ProvisionedThroughput"]
    assert (throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]) == (3, 4)
    assert throughput["NumberOfDecreasesToday"] == 0


def test_describe_indexes(db, make_table):
    table = make_table("pk sk", gsi={"gsi-all": "a b:N", "gsi-some": ("c", ["x", "y"])},
                       lsi={"lsi-keys": ("pk d", "KEYS_ONLY")})
    description = describe(db, table)
    globals_ = {index["IndexName"]: index for index in description["GlobalSecondaryIndexes"]}
    assert globals_["gsi-all"]["IndexStatus"] == "ACTIVE"
    assert globals_["gsi-all"]["Projection"] == {"ProjectionType": "ALL"}
    assert globals_["gsi-all"]["IndexArn"] == description["TableArn"] + "/index/gsi-all"
    assert globals_["gsi-all"]["KeySchema"] == [{"AttributeName": "a", "KeyType": "HASH"},
                                                {"AttributeName": "b", "KeyType": "RANGE"}]
    projection = globals_["gsi-some"]["Projection"]
    assert projection["ProjectionType"] == "INCLUDE"
    assert sorted(projection["NonKeyAttributes"]) == ["x", "y"]
    local, = description["LocalSecondaryIndexes"]
    assert (local["IndexName"], local["Projection"]) == ("lsi-keys", {"ProjectionType": "KEYS_ONLY"})
    assert (local["ItemCount"], local["IndexSizeBytes"]) == (0, 0)


def test_counts_and_sizes_follow_writes(db, make_table):
    """Ours at once; the service every six hours or so."""
    table = make_table("pk", gsi={"idx": ("g", "KEYS_ONLY")})
    rows = [item(pk=f"p{number}", v="x" * number, **({"g": "g"} if number % 2 else {}))
            for number in range(20)]
    put_all(db, table, rows)
    put_all(db, table, rows)  # once more: nothing may count twice

    def check(expected):
        description = describe(db, table)
        index, = description["GlobalSecondaryIndexes"]
        entries = [{"pk": row["pk"], "g": row["g"]} for row in expected if "g" in row]
        return ((description["ItemCount"], description["TableSizeBytes"], index["ItemCount"],
                 index["IndexSizeBytes"])
                == (len(expected), sum(map(item_size, expected)), len(entries),
                    sum(map(item_size, entries))))
    poll(lambda: check(rows), 10, "the counts are right")
    for row in rows[:5]:
        db.DeleteItem(TableName=table, Key={"pk": row["pk"]})
    for row in rows[10:]:
        row["v"] = {"S": "shorter"}
        db.UpdateItem(TableName=table, Key={"pk": row["pk"]}, UpdateExpression="SET v = :v",
                      ExpressionAttributeValues=values(v="shorter"))
    poll(lambda: check(rows[5:]), 10, "the counts are right after deletes and updates")


def test_create_answers_with_the_description(db, make_table):
    name = unique_name()
    answer = db.CreateTable(**table_request(name))["TableDescription"]
    assert answer["TableName"] == name
    assert answer["TableStatus"] in ("CREATING", "ACTIVE")
    wait_active(db, name)
    assert describe(db, name)["TableId"] == answer["TableId"]
    gone = db.DeleteTable(TableName=name)["TableDescription"]
    assert (gone["TableName"], gone["TableStatus"]) == (name, "DELETING")


def test_create_twice_is_refused(db, make_table):
    table = make_table("pk")
    with refused("ResourceInUseException", f"Table already exists: {table}"):
        db.CreateTable(**table_request(table))


def test_deleted_table_takes_its_items_along(db, make_table):
    table = make_table("pk")
    first_id = describe(db, table)["TableId"]
    put_all(db, table, [item(pk=f"p{number}") for number in range(50)])
    db.DeleteTable(TableName=table)

    def is_gone():
        try:
            return describe(db, table)["TableStatus"] == "DELETING" and None
        except Refused as error:
            assert error.type == "ResourceNotFoundException"
            assert error.message == f"Requested resource not found: Table: {table} not found"
            return True
    poll(is_gone, 30, "the table is gone")
    with refused("ResourceNotFoundException", "Requested resource not found"):
        db.PutItem(TableName=table, Item=item(pk="k"))
    with refused("ResourceNotFoundException", f"Requested resource not found: Table: {table} not found"):
        db.DeleteTable(TableName=table)
    create_table(db, "pk", name=table)
    assert db.Scan(TableName=table)["Items"] == []
    assert describe(db, table)["TableId"] != first_id
    assert describe(db, table)["ItemCount"] == 0


def test_deletion_protection(db, make_table):
    table = make_table("pk", DeletionProtectionEnabled=True)
    assert describe(db, table)["DeletionProtectionEnabled"] is True
    with invalid("Resource cannot be deleted as it is currently protected against deletion. Disable "
                 "deletion protection first."):
        db.DeleteTable(TableName=table)
    db.UpdateTable(TableName=table, DeletionProtectionEnabled=False)
    wait_active(db, table)
    db.DeleteTable(TableName=table)


def test_list_pages_in_order_of_names(start_server):
    with Client(start_server().endpoint) as db:
        names = [f"table-{number:03}" for number in range(250)]
        for name in reversed(names):
            db.CreateTable(**table_request(name))
        assert db.ListTables()["TableNames"] == names[:100]
        assert db.ListTables()["LastEvaluatedTableName"] == names[99]
        found, request = [], {"Limit": 33}
        while True:
            page = db.ListTables(**request)
            found += page["TableNames"]
            if "LastEvaluatedTableName" not in page:
                break
            request["ExclusiveStartTableName"] = page["LastEvaluatedTableName"]
        assert found == names
        assert db.ListTables(ExclusiveStartTableName="table-248x")["TableNames"] == ["table-249"]
        for limit in (0, 101):
            with invalid():
                db.ListTables(Limit=limit)


def test_arn_as_table_name(db, make_table):
    table = make_table("pk", gsi={"idx": "g"})
    arn = describe(db, table)["TableArn"]
    db.PutItem(TableName=arn, Item=item(pk="k", g="g"))
    assert db.GetItem(TableName=arn, Key=item(pk="k"))["Item"] == item(pk="k", g="g")
    assert db.Query(TableName=arn, IndexName="idx", KeyConditionExpression="g = :g",
                    ExpressionAttributeValues=values(g="g"))["Count"] == 1
    assert db.Scan(TableName=arn)["Count"] == 1
    assert describe(db, arn)["TableName"] == table
    batch = db.BatchGetItem(RequestItems={arn: {"Keys": [item(pk="k")]}})
    assert list(batch["Responses"].values()) == [[item(pk="k", g="g")]]
    db.TransactWriteItems(TransactItems=[{"Delete": {"TableName": arn, "Key": item(pk="k")}}])
    assert db.Scan(TableName=table)["Count"] == 0


def test_arn_of_elsewhere_is_not_found(db, make_table):
    table = make_table("pk")
    arn = describe(db, table)["TableArn"].replace(":table/", ":table/no-")
    with refused("ResourceNotFoundException"):
        db.GetItem(TableName=arn, Key=item(pk="k"))


def create_slowly(start_server, delay_ms):
    """A client, and a table "delayed" that is CREATING for so long."""
    db = Client(start_server("memory:", "--table-delay-ms", str(delay_ms)).endpoint)
    answer = db.CreateTable(**table_request("delayed", gsi={"idx": "g"}))["TableDescription"]
    assert answer["TableStatus"] == "CREATING"
    assert answer["GlobalSecondaryIndexes"][0]["IndexStatus"] == "CREATING"
    return db


def test_new_table_is_creating_for_a_while(start_server):
    with create_slowly(start_server, 400) as db:
        wait_active(db, "delayed")
        db.PutItem(TableName="delayed", Item=item(pk="k"))


def test_new_table_cannot_be_used_while_it_is_creating(start_server):
    with create_slowly(start_server, 60_000) as db, refused("ResourceNotFoundException"):
        db.PutItem(TableName="delayed", Item=item(pk="k"))


def test_table_that_is_creating_can_be_neither_changed_nor_deleted(start_server):
    with Client(start_server("memory:", "--table-delay-ms", "60000").endpoint) as db:
        db.CreateTable(**table_request("delayed"))
        text = "Attempt to change a resource which is still in use: Table is being created: delayed"
        with refused("ResourceInUseException", text):
            db.UpdateTable(TableName="delayed", BillingMode="PAY_PER_REQUEST")
        with refused("ResourceInUseException", text):
            db.DeleteTable(TableName="delayed")
        with refused("ResourceInUseException", text):
            db.CreateTable(**table_request("delayed"))


def test_update_billing_and_throughput(db, make_table):
    table = make_table("pk", gsi={"idx": "g"})
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
    db.UpdateTable(TableName=table, BillingMode="PROVISIONED", ProvisionedThroughput=units,
                   GlobalSecondaryIndexUpdates=[
                       {"Update": {"IndexName": "idx", "ProvisionedThroughput": units}}])
    wait_active(db, table)
    description = describe(db, table)
    for part in (description, description["GlobalSecondaryIndexes"][0]):
        assert (part["ProvisionedThroughput"]["ReadCapacityUnits"],
                part["ProvisionedThroughput"]["WriteCapacityUnits"]) == (5, 6)
    db.UpdateTable(TableName=table, ProvisionedThroughput={"ReadCapacityUnits": 4,
                                                           "WriteCapacityUnits": 6})
    wait_active(db, table)
    assert describe(db, table)["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 1
    db.UpdateTable(TableName=table, BillingMode="PAY_PER_REQUEST")
    wait_active(db, table)
    description = describe(db, table)
    assert description["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert description["ProvisionedThroughput"]["ReadCapacityUnits"] == 0


def test_update_table_class(db, make_table):
    table = make_table("pk", TableClass="STANDARD_INFREQUENT_ACCESS")
    assert describe(db, table)["TableClassSummary"]["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    db.UpdateTable(TableName=table, TableClass="STANDARD")
    wait_active(db, table)
    assert describe(db, table)["TableClassSummary"]["TableClass"] == "STANDARD"


def test_update_needs_something_to_change(db, make_table):
    table = make_table("pk")
    with invalid():
        db.UpdateTable(TableName=table)
    with refused("ResourceNotFoundException"):
        db.UpdateTable(TableName="no-such-table", BillingMode="PAY_PER_REQUEST")


KEY = [{"AttributeName": "pk", "KeyType": "HASH"}]
RANGE = {"AttributeName": "sk", "KeyType": "RANGE"}
BAD_TABLES = {
    "no name": {"TableName": None},
    "name too short": {"TableName": "ab"},
    "name too long": {"TableName": "a" * 256},
    "name with a space": {"TableName": "a b c"},
    "no key": {"KeySchema": None},
    "empty key": {"KeySchema": []},
    "no definitions": {"AttributeDefinitions": None},
    "key without definition": {"AttributeDefinitions": definitions("other")},
    "definition without use": {"AttributeDefinitions": definitions("pk other")},
    "first key is RANGE": {"KeySchema": [{"AttributeName": "pk", "KeyType": "RANGE"}]},
    "two HASH": {"KeySchema": KEY + [{"AttributeName": "sk", "KeyType": "HASH"}],
                 "AttributeDefinitions": definitions("pk sk")},
    "three keys": {"KeySchema": KEY + [RANGE, {"AttributeName": "x", "KeyType": "RANGE"}],
                   "AttributeDefinitions": definitions("pk sk", "x")},
    "one attribute twice": {"KeySchema": KEY + [{"AttributeName": "pk", "KeyType": "RANGE"}]},
    "key of type BOOL": {"AttributeDefinitions": definitions("pk:BOOL")},
    "unknown key type": {"KeySchema": [{"AttributeName": "pk", "KeyType": "MAIN"}]},
    "unknown billing": {"BillingMode": "FREE"},
    "on demand with throughput": {"ProvisionedThroughput": {"ReadCapacityUnits": 1,
                                                            "WriteCapacityUnits": 1}},
    "provisioned without throughput": {"BillingMode": "PROVISIONED"},
    "throughput of zero": {"BillingMode": "PROVISIONED", "ProvisionedThroughput": {
        "ReadCapacityUnits": 0, "WriteCapacityUnits": 1}},
    "unknown class": {"TableClass": "CHEAP"},
    "empty list of indexes": {"GlobalSecondaryIndexes": []},
    "stream without view": {"StreamSpecification": {"StreamEnabled": True}},
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_create_refused(db, case):
    request = {name: value for name, value in
               {**table_request(unique_name()), **BAD_TABLES[case]}.items() if value is not None}
    with invalid():
        db.CreateTable(**request)


BAD_INDEXES = {
    "index key without definition": {"gsi": {"idx": "g"}, "AttributeDefinitions": definitions("pk sk")},
    "index name too short": {"gsi": {"ab": "g"}},
    "index name with a slash": {"gsi": {"a/b": "g"}},
    "21 global": {"gsi": {f"idx{number}": f"g{number}" for number in range(21)}},
    "6 local": {"lsi": {f"idx{number}": f"pk l{number}" for number in range(6)}},
    "local with another partition key": {"lsi": {"idx": "other l"}},
    "local without sort key": {"lsi": {"idx": "pk"}},
    "one name for two": {"gsi": {"idx": "g"}, "lsi": {"idx": "pk l"}},
    "INCLUDE without names": {"gsi": {"idx": ("g", "INCLUDE")}},
    "unknown projection": {"gsi": {"idx": ("g", "SOME")}},
    "21 projected names": {"gsi": {"idx": ("g", [f"a{number}" for number in range(21)])}},
    "101 projected names": {"gsi": {f"idx{index}": (f"g{index}", [f"a{number}" for number in range(20)])
                                    for index in range(6)}},
}


@pytest.mark.parametrize("case", BAD_INDEXES)
def test_create_with_bad_index_refused(db, case):
    with invalid():
        db.CreateTable(**table_request(unique_name(), "pk sk", **BAD_INDEXES[case]))


def test_local_index_needs_a_sort_key_on_the_table(db):
    with invalid("One or more parameter values were invalid: Table KeySchema does not have a range key, "
                 "which is required when specifying a LocalSecondaryIndex"):
        db.CreateTable(**table_request(unique_name(), "pk", lsi={"idx": "pk l"}))


def test_tables_survive_a_restart(start_server, tmp_path):
    store = f"rocksdb:{tmp_path}/data"
    server = start_server(store)
    with Client(server.endpoint) as db:
        create_table(db, "pk sk:N", name="kept", gsi={"gsi": ("g", ["x"])}, lsi={"lsi": "pk l:B"})
        put_all(db, "kept", [item(pk="k", sk=number, g="g", x=number, l=b"\x01") for number in range(100)])
        create_table(db, "pk", name="dropped")
        db.DeleteTable(TableName="dropped")
        before = describe(db, "kept")
    server.stop()
    with Client(start_server(store).endpoint) as db:
        assert db.ListTables()["TableNames"] == ["kept"]
        assert describe(db, "kept") == before
        assert db.Scan(TableName="kept", IndexName="gsi")["Count"] == 100
        assert db.Scan(TableName="kept", IndexName="lsi")["Count"] == 100


@pytest.mark.skipif("GRAMME_POSTGRESQL" in os.environ, reason="on PostgreSQL they can")
def test_two_servers_cannot_share_a_store(start_server, tmp_path):
    store = f"rocksdb:{tmp_path}/data"
    start_server(store)
    with pytest.raises(AssertionError, match="the server ended with 1"):
        start_server(store)
