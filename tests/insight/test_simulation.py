"""Simulated throttling, errors, stale reads: the service's errors, SDKs that get through, the same faults with the same seed."""

import subprocess
import time

import boto3
import botocore.config
import pytest

from boto_config import boto3_config
from server import ROOT
from tables import create_table
from waiting import poll
from wire import Refused

S = lambda text: {"S": text}
TABLE_TEXT = ("The level of configured provisioned throughput for the table was exceeded. Consider increasing your "
              "provisioning level with the UpdateTable API.")


@pytest.fixture
def table(db):
    name = create_table(db, "pk", gsi={"gsi": "g"})
    for i in range(20):
        db.PutItem(TableName=name, Item={"pk": S(f"k{i}"), "g": S("x")})
    return name


def simulate(insight, table, seed=None, **settings):
    body = {"tables": {table: settings or None}, **({} if seed is None else {"seed": seed})}
    return insight.post("simulation", body)


def outcomes(db, table, count=200):
    """Which of `count` GetItem calls are refused, and how."""
    result = []
    for i in range(count):
        try:
            db.GetItem(TableName=table, Key={"pk": S(f"k{i % 20}")})
            result.append(None)
        except Refused as refused:
            result.append(refused.type)
    return result


STALE_SECONDS = 0.9  # a read can be stale for one second after a write


def in_time(attempt):
    """What attempt(number) gives, which writes first and then reads what is stale. Again, if the machine took longer for it than reads are stale."""
    for number in range(20):
        started = time.monotonic()
        found = attempt(number)
        if time.monotonic() - started < STALE_SECONDS:
            return found
    raise AssertionError(f"no attempt took less than {STALE_SECONDS} s")


def test_off_by_default(db, table, insight):
    assert insight.get("simulation")["tables"] == {}
    assert outcomes(db, table) == [None] * 200


def test_same_seed_same_faults(db, table, insight):
    settings = {"throttle": "off", "throttleRate": 0.3, "errorRate": 0.1}
    runs = []
    for seed in (7, 7, 8):
        simulate(insight, table, seed, **settings)
        runs.append(outcomes(db, table))
    assert runs[0] == runs[1] != runs[2]
    assert 30 <= runs[0].count("ThrottlingException") <= 90 and 5 <= runs[0].count("InternalServerError") <= 40
    counts = insight.get("simulation")["counts"]
    assert counts["throttled"] == sum(run.count("ThrottlingException") for run in runs)
    assert insight.get("overview")["totals"]["throttled"] == counts["throttled"]
    simulate(insight, table)  # null: as before
    assert outcomes(db, table) == [None] * 200


def test_same_seed_same_parts(db, table, insight):
    """Also of batches, transactions and statements the same parts are throttled."""
    def parts():
        simulate(insight, table, 11, throttleRate=0.3)
        found = []
        for start in range(0, 20, 5):
            keys = [{"pk": S(f"k{number}")} for number in range(start, start + 5)]
            for call in (lambda: db.BatchGetItem(RequestItems={table: {"Keys": keys}})["UnprocessedKeys"],
                         lambda: db.BatchWriteItem(RequestItems={table: [{"PutRequest": {"Item": {**key, "g": S("x")}}} for key in keys]})["UnprocessedItems"],
                         lambda: db.BatchExecuteStatement(Statements=[
                             {"Statement": f"""SELECT * FROM "{table}" WHERE pk = '{key["pk"]["S"]}'"""} for key in keys])["Responses"],
                         lambda: db.TransactWriteItems(TransactItems=[{"Put": {"TableName": table, "Item": {**key, "g": S("x")}}} for key in keys])):
                try:
                    found.append(call())
                except Refused as refused:
                    found.append(refused.body)
        return found
    first, second = parts(), parts()
    text = str(first)
    assert first == second and all(word in text for word in ("Keys", "PutRequest", "CancellationReasons", "ThrottlingError")), text


def test_tables_do_not_share_a_sequence(db, table, insight):
    """Calls on another table between those on this one change nothing."""
    other = create_table(db, "pk")
    def run(is_interleaved):
        insight.post("simulation", {"seed": 7, "tables": {"*": {"throttleRate": 0.3}}})
        found = []
        for _ in range(100):
            found += outcomes(db, table, 1)
            if is_interleaved:
                outcomes(db, other, 1)
        return found
    alone = run(False)
    assert run(True) == alone and 10 < alone.count("ThrottlingException") < 50
    insight.post("simulation", {"seed": 7, "tables": {"*": {"throttleRate": 0.3}}})
    assert outcomes(db, other, 100) != alone
    insight.post("simulation", {"tables": {"*": None}})


@pytest.mark.parametrize("settings", [
    {"throttle": "provisioned", "readUnits": 100, "writeUnits": 1000}, {"throttle": "onDemand", "readUnits": 100, "writeUnits": 1000},
    {"partitionLimits": True}], ids=["provisioned", "onDemand", "partitionLimits"])
def test_units_by_steps(db, table, insight, settings):
    """With stepMs units are refilled by calls instead of time: the same calls are throttled, however fast they are."""
    db.PutItem(TableName=table, Item={"pk": S("k1"), "pad": S("x" * 390_000)})
    def run(pause):
        simulate(insight, table, 1, stepMs=10, **settings)
        found = []
        for number in range(200):
            try:
                # 96 units each: one in a step of 10 ms are too many for 100 a second, and for 3,000 of a partition key
                db.Query(TableName=table, KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": S("k1")}, ConsistentRead=True, Select="COUNT")
                found.append(True)
            except Refused:
                found.append(False)
            time.sleep(pause)
        return found
    first = run(0)
    assert run(0.003) == first and 2 <= first.count(True) < 200
    assert insight.get("simulation")["tables"][table]["stepMs"] == 10


@pytest.mark.parametrize("step", [0.0009, 1e-9, -1])
def test_the_clock_does_not_stand_still(table, insight, step):
    """A step below a microsecond would never refill units."""
    status, answer = insight.request("POST", "simulation", {"tables": {table: {"stepMs": step}}})
    assert status == 400 and "stepMs" in answer["error"]
    for step in (0.001, 0):
        simulate(insight, table, stepMs=step)
        assert insight.get("simulation")["tables"][table]["stepMs"] == step


def arn(table, index=None):
    return f"arn:aws:dynamodb:us-east-1:000000000000:table/{table}" + (f"/index/{index}" if index else "")


def test_provisioned_units(db, table, insight):
    """Five read units a second: ten eventually consistent reads are free, then the next one is refused."""
    simulate(insight, table, throttle="provisioned", readUnits=5, writeUnits=1000)
    with pytest.raises(Refused) as refused:
        for _ in range(1000):
            db.GetItem(TableName=table, Key={"pk": S("k1")})
    assert refused.value.status == 400
    assert refused.value.body == {
        "__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException", "message": TABLE_TEXT,
        "ThrottlingReasons": [{"reason": "TableReadProvisionedThroughputExceeded", "resource": arn(table)}]}
    pattern = insight.pattern(f"GetItem {table} pk = ?")
    assert pattern["readUnits"] >= 5 and pattern["errorKinds"] == {"ProvisionedThroughputExceededException": 1}
    db.PutItem(TableName=table, Item={"pk": S("k1")})  # writes have their own


def test_index_units(db, table, insight):
    simulate(insight, table, throttle="provisioned", readUnits=1, writeUnits=1000)
    with pytest.raises(Refused) as refused:
        for _ in range(100):
            db.Query(TableName=table, IndexName="gsi", KeyConditionExpression="g = :g", ExpressionAttributeValues={":g": S("x")})
    assert refused.value.body["ThrottlingReasons"] == [
        {"reason": "IndexReadProvisionedThroughputExceeded", "resource": arn(table, "gsi")}]
    assert "global secondary indexes" in refused.value.message


def test_on_demand_maximum(db, insight):
    table = create_table(db, "pk", BillingMode="PAY_PER_REQUEST", OnDemandThroughput={"MaxWriteRequestUnits": 3})
    simulate(insight, table, throttle="onDemand")
    with pytest.raises(Refused) as refused:
        for i in range(100):
            db.PutItem(TableName=table, Item={"pk": S(str(i))})
    assert refused.value.body == {
        "__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException",
        "message": "Throughput exceeds the maximum OnDemandThroughput configured on table or index",
        "throttlingReasons": [{"reason": "TableWriteMaxOnDemandThroughputExceeded", "resource": arn(table)}]}


def test_partition_limit(db, table, insight):
    """One key takes 1,000 write units a second, other keys go on."""
    simulate(insight, table, partitionLimits=True)
    big = "x" * 400_000
    with pytest.raises(Refused) as refused:
        for _ in range(30):
            db.PutItem(TableName=table, Item={"pk": S("hot"), "pad": S(big)})
    assert refused.value.body["throttlingReasons"] == [
        {"reason": "TableWriteKeyRangeThroughputExceeded", "resource": arn(table)}]
    db.PutItem(TableName=table, Item={"pk": S("cold")})


@pytest.mark.parametrize("index", [None, "gsi"])
def test_partition_limit_of_reads(db, table, insight, index):
    """One key takes 3,000 read units a second, of the table or of an index; other keys go on."""
    for number in range(10):
        db.PutItem(TableName=table, Item={"pk": S(f"big{number}"), "g": S("big"), "pad": S("x" * 390_000)})
    simulate(insight, table, partitionLimits=True)
    key, value = ("g", "big") if index else ("pk", "big1")
    # Only counted: so many large answers a second are too much for a busy machine.
    query = {"TableName": table, "KeyConditionExpression": f"{key} = :k", "Select": "COUNT",
             **({"IndexName": index} if index else {"ConsistentRead": True})}
    with pytest.raises(Refused) as refused:
        for _ in range(500):
            db.Query(**query, ExpressionAttributeValues={":k": S(value)})
    reason = "IndexReadKeyRangeThroughputExceeded" if index else "TableReadKeyRangeThroughputExceeded"
    assert refused.value.body["throttlingReasons"] == [{"reason": reason, "resource": arn(table, index)}]
    db.Query(**query, ExpressionAttributeValues={":k": S("other")})


@pytest.mark.parametrize("reason, index", [("TableRead", None), ("TableWrite", None), ("IndexRead", "gsi"), ("IndexWrite", "gsi")])
@pytest.mark.parametrize("billing", ["PROVISIONED", "PAY_PER_REQUEST"])
def test_units_of_the_table_itself(db, insight, billing, reason, index):
    """Without units in the settings those of the table and of its index count: provisioned ones, or the on-demand maximum. One of them
    is small."""
    limits = {name: 2 if name == reason else 1000 for name in ("TableRead", "TableWrite", "IndexRead", "IndexWrite")}
    if billing == "PROVISIONED":
        units = lambda place: {"ProvisionedThroughput": {"ReadCapacityUnits": limits[f"{place}Read"], "WriteCapacityUnits": limits[f"{place}Write"]}}
        members, kind, settings = "ThrottlingReasons", "ProvisionedThroughput", {"throttle": "provisioned", "burstSeconds": 1}
    else:
        units = lambda place: {"OnDemandThroughput": {"MaxReadRequestUnits": limits[f"{place}Read"], "MaxWriteRequestUnits": limits[f"{place}Write"]}}
        members, kind, settings = "throttlingReasons", "MaxOnDemandThroughput", {"throttle": "onDemand", "burstSeconds": 1}
    gsi = {"IndexName": "gsi", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}, **units("Index")}
    table = create_table(db, "pk", gsi={"gsi": "g"}, BillingMode=billing, GlobalSecondaryIndexes=[gsi], **units("Table"))
    db.PutItem(TableName=table, Item={"pk": S("a"), "g": S("x"), "pad": S("x" * 20_000)})
    simulate(insight, table, **settings)
    source = {"IndexName": index, "KeyConditionExpression": "g = :k"} if index else {"KeyConditionExpression": "pk = :k"}
    with pytest.raises(Refused) as refused:
        for number in range(100):
            if reason.endswith("Read"):
                db.Query(TableName=table, **source, ExpressionAttributeValues={":k": S("x" if index else "a")})
            else:
                db.PutItem(TableName=table, Item={"pk": S(str(number)), "g": S("y"), "pad": S("x" * 4_000)})
    assert refused.value.type == ("ProvisionedThroughputExceededException" if billing == "PROVISIONED" else "ThrottlingException")
    assert refused.value.body[members] == [{"reason": f"{reason}{kind}Exceeded", "resource": arn(table, index)}]
    assert set(refused.value.body) == {"__type", "message", members}


@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem", "BatchWriteItem"])
def test_partition_limit_of_an_index(db, table, insight, operation):
    """All items have one key in the index, and each its own in the table: the index takes 1,000 write units a second."""
    simulate(insight, table, partitionLimits=True)
    item = lambda number, key: {"pk": S(f"{operation}-{number}"), "g": S(key), "pad": S("x" * 190_000)}

    def write(number, key):
        if operation == "PutItem":
            db.PutItem(TableName=table, Item=item(number, key))
        elif operation == "UpdateItem":
            db.UpdateItem(TableName=table, Key={"pk": S(f"u{number}")}, UpdateExpression="SET g = :g, padding_ = :p",
                          ExpressionAttributeValues={":g": S(key), ":p": S("x" * 190_000)})
        elif db.BatchWriteItem(RequestItems={table: [{"PutRequest": {"Item": item(number, key)}}, {"PutRequest": {
                "Item": {"pk": S(f"small-{number}")}}}]})["UnprocessedItems"]:
            raise InterruptedError
    with pytest.raises((Refused, InterruptedError)) as refused:
        for number in range(30):
            write(number, "STATUS#PENDING")
    if operation != "BatchWriteItem":
        assert refused.value.body["throttlingReasons"] == [
            {"reason": "IndexWriteKeyRangeThroughputExceeded", "resource": arn(table, "gsi")}]
    write(100, "STATUS#OTHER")
    db.PutItem(TableName=table, Item={"pk": S("no-index")})


def test_only_affected_indexes_need_units(db, insight):
    """An item without the keys of an index needs no units of it."""
    units = lambda count: {"ReadCapacityUnits": count, "WriteCapacityUnits": count}
    table = create_table(db, "pk", gsi={"gsi": "g"}, BillingMode="PROVISIONED", ProvisionedThroughput=units(1000),
                         GlobalSecondaryIndexes=[{"IndexName": "gsi", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                                                  "Projection": {"ProjectionType": "ALL"}, "ProvisionedThroughput": units(1)}])
    simulate(insight, table, throttle="provisioned", burstSeconds=1)
    db.PutItem(TableName=table, Item={"pk": S("a"), "g": S("x"), "pad": S("x" * 100_000)})  # 98 seconds of the index
    with pytest.raises(Refused) as refused:
        db.PutItem(TableName=table, Item={"pk": S("b"), "g": S("x")})
    assert refused.value.body["ThrottlingReasons"] == [
        {"reason": "IndexWriteProvisionedThroughputExceeded", "resource": arn(table, "gsi")}]
    for number in range(10):
        db.PutItem(TableName=table, Item={"pk": S(f"n{number}")})


def test_latency_at_a_rate(db, table, insight):
    """A tenth of the calls is slow; with the same seed the same ones."""
    def slow_calls():
        simulate(insight, table, 5, latencyMs=60, latencyRate=0.1)
        found = []
        for number in range(60):
            start = time.monotonic()
            db.GetItem(TableName=table, Key={"pk": S("k1")})
            found += [number] if time.monotonic() - start >= 0.06 else []
        return found
    before = insight.get("simulation")["counts"]["delayed"]
    first = slow_calls()
    assert 1 <= insight.get("simulation")["counts"]["delayed"] - before <= 20
    assert len(first) < 30 and set(first) & set(slow_calls())


def test_unprocessed_items(db, table, insight):
    simulate(insight, table, 3, throttleRate=0.5)
    keys = [{"pk": S(f"k{i}")} for i in range(20)]
    answer = db.BatchGetItem(RequestItems={table: {"Keys": keys, "ConsistentRead": True}})
    read = [item["pk"]["S"] for item in answer["Responses"][table]]
    unprocessed = answer["UnprocessedKeys"][table]
    assert unprocessed["ConsistentRead"] is True
    left = [key["pk"]["S"] for key in unprocessed["Keys"]]
    assert read and left and sorted(read + left) == sorted(f"k{i}" for i in range(20))
    requests = [{"PutRequest": {"Item": {"pk": S(f"n{i}"), "v": S("1")}}} for i in range(10)]
    requests += [{"DeleteRequest": {"Key": key}} for key in keys[:10]]
    answer = db.BatchWriteItem(RequestItems={table: requests})
    left = answer["UnprocessedItems"][table]
    assert left and all(request in requests for request in left)
    simulate(insight, table)
    for request in requests:
        key = request.get("PutRequest", {}).get("Item") or request["DeleteRequest"]["Key"]
        stored = "Item" in db.GetItem(TableName=table, Key={"pk": key["pk"]}, ConsistentRead=True)
        assert stored == (("PutRequest" in request) == (request not in left))
    simulate(insight, table, throttleRate=1)
    for call in (lambda: db.BatchGetItem(RequestItems={table: {"Keys": keys}}),
                 lambda: db.BatchWriteItem(RequestItems={table: requests})):
        with pytest.raises(Refused) as refused:
            call()
        assert refused.value.type == "ThrottlingException" and refused.value.body["throttlingReasons"]


def test_transactions(db, table, insight):
    items = [{"Put": {"TableName": table, "Item": {"pk": S("t1")}}}, {"Put": {"TableName": table, "Item": {"pk": S("t2")}}}]
    simulate(insight, table, conflictRate=1)
    with pytest.raises(Refused) as refused:
        db.TransactWriteItems(TransactItems=items)
    assert [reason["Code"] for reason in refused.value.body["CancellationReasons"]] == ["TransactionConflict", "None"]
    with pytest.raises(Refused) as refused:
        db.PutItem(TableName=table, Item={"pk": S("t1")})
    assert (refused.value.type, refused.value.message) == ("TransactionConflictException", "Transaction is ongoing for the item")
    for read in (lambda: db.TransactGetItems(TransactItems=[{"Get": {"TableName": table, "Key": {"pk": S("k1")}}}]),
                 lambda: db.ExecuteTransaction(TransactStatements=[{"Statement": f"""SELECT * FROM "{table}" WHERE pk = 'k1'"""}])):
        with pytest.raises(Refused) as refused:
            read()
        assert [reason["Code"] for reason in refused.value.body["CancellationReasons"]] == ["TransactionConflict"]
    db.GetItem(TableName=table, Key={"pk": S("k1")}, ConsistentRead=True)  # single reads never conflict
    # BatchWriteItem has no such error.
    assert db.BatchWriteItem(RequestItems={table: [{"PutRequest": {"Item": {"pk": S("t3")}}}]})["UnprocessedItems"] == {}
    simulate(insight, table, throttle="provisioned", writeUnits=0, conflictRate=0)
    with pytest.raises(Refused) as refused:
        db.TransactWriteItems(TransactItems=items)
    assert refused.value.body["CancellationReasons"][0]["Code"] == "ProvisionedThroughputExceeded"
    assert "Item" not in db.GetItem(TableName=table, Key={"pk": S("t1")}, ConsistentRead=True)


def test_stale_reads(db, table, insight):
    simulate(insight, table, staleReadRate=1)

    def attempt(number):
        """Reads of an item that was changed and of one that is new, and how many of them the server counts as stale."""
        changed, fresh = ({"pk": S(f"{name}{number}")} for name in ("k", "fresh"))
        before = insight.get("simulation")["counts"]["staleReads"]
        db.PutItem(TableName=table, Item={**changed, "v": S("new")})
        db.PutItem(TableName=table, Item=fresh)
        answers = [db.GetItem(TableName=table, Key=changed), db.GetItem(TableName=table, Key=changed, ConsistentRead=True),
                   db.GetItem(TableName=table, Key=fresh)]
        return answers, insight.get("simulation")["counts"]["staleReads"] - before
    (stale, consistent, absent), count = in_time(attempt)
    assert "v" not in stale["Item"] and consistent["Item"]["v"] == S("new") and "Item" not in absent
    assert count == 2


def test_refused_statements_and_transactions(db, table, insight):
    """Every operation on items takes part: errors of single statements, cancelled transactions, nothing done."""
    insert = f"""INSERT INTO "{table}" VALUE {{'pk': 'new'}}"""
    select = f"""SELECT * FROM "{table}" WHERE pk = 'k1'"""
    read = [{"Get": {"TableName": table, "Key": {"pk": S("k1")}}}, {"Get": {"TableName": table, "Key": {"pk": S("k2")}}}]
    transactions = [lambda: db.ExecuteTransaction(TransactStatements=[{"Statement": insert}]),
                    lambda: db.ExecuteTransaction(TransactStatements=[{"Statement": select}]),
                    lambda: db.TransactGetItems(TransactItems=read)]
    simulate(insight, table, throttleRate=1)
    for statement in (insert, select):
        answer = db.BatchExecuteStatement(Statements=[{"Statement": statement}])["Responses"][0]
        assert answer["Error"]["Code"] == "ThrottlingError" and "Item" not in answer, answer
    for call in transactions:
        with pytest.raises(Refused) as refused:
            call()
        assert refused.value.type == "TransactionCanceledException"
        assert refused.value.body["CancellationReasons"][0]["Code"] == "ThrottlingError"
    simulate(insight, table, throttleRate=0, errorRate=1)
    for call in [*transactions, lambda: db.TransactWriteItems(TransactItems=[{"Put": {"TableName": table, "Item": {"pk": S("new")}}}])]:
        with pytest.raises(Refused) as refused:
            call()
        assert (refused.value.status, refused.value.type) == (500, "InternalServerError")
    simulate(insight, table)
    assert "Item" not in db.GetItem(TableName=table, Key={"pk": S("new")}, ConsistentRead=True)
    assert [len(call().get("Responses")) for call in transactions] == [0, 1, 2]


def everything(db, table, **more):
    """The items of a table in pages of two, by Scan or Query."""
    read = db.Query if "KeyConditionExpression" in more else db.Scan
    items, start = [], {}
    while True:
        answer = read(TableName=table, Limit=2, **more, **start)
        items += answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return items
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


WRITES = [
    lambda db, table: db.PutItem(TableName=table, Item={"pk": S("a"), "sk": S("5"), "g": S("x")}),  # new, between others
    lambda db, table: db.DeleteItem(TableName=table, Key={"pk": S("a"), "sk": S("2")}),
    lambda db, table: db.UpdateItem(TableName=table, Key={"pk": S("a"), "sk": S("4")}, UpdateExpression="SET g = :g, v = :g",
                                    ExpressionAttributeValues={":g": S("w")}),  # moves in the index
    lambda db, table: db.BatchWriteItem(RequestItems={table: [
        {"PutRequest": {"Item": {"pk": S("a"), "sk": S("0"), "g": S("x")}}}, {"DeleteRequest": {"Key": {"pk": S("a"), "sk": S("8")}}}]}),
    lambda db, table: db.TransactWriteItems(TransactItems=[
        {"Put": {"TableName": table, "Item": {"pk": S("b"), "sk": S("0"), "g": S("x"), "v": S("t")}}},
        {"ConditionCheck": {"TableName": table, "Key": {"pk": S("b"), "sk": S("1")}, "ConditionExpression": "attribute_not_exists(pk)"}}]),
    lambda db, table: db.ExecuteStatement(Statement=f"""INSERT INTO "{table}" VALUE {{'pk': 'a', 'sk': '9', 'g': 'x'}}"""),
    lambda db, table: db.BatchExecuteStatement(Statements=[
        {"Statement": f"""UPDATE "{table}" SET v = 'again' WHERE pk = 'a' AND sk = '4'"""}]),
    lambda db, table: db.ExecuteTransaction(TransactStatements=[{"Statement": f"""DELETE FROM "{table}" WHERE pk = 'a' AND sk = '6'"""}]),
]
BY_KEY = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": S("a")}}
BY_INDEX = {"IndexName": "gsi", "KeyConditionExpression": "g = :p", "ExpressionAttributeValues": {":p": S("x")}}
BY_LOCAL = {**BY_KEY, "IndexName": "lsi"}


@pytest.fixture
def sorted_table(db):
    name = create_table(db, "pk sk", gsi={"gsi": "g sk"}, lsi={"lsi": "pk g"})
    for i in (2, 4, 6, 8):
        db.PutItem(TableName=name, Item={"pk": S("a"), "sk": S(str(i)), "g": S("x")})
    return name


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("writes", [[write] for write in WRITES] + [WRITES], ids=[*map(str, range(len(WRITES))), "all"])
def test_stale_ranges(db, sorted_table, insight, writes, backward):
    """Query and Scan see all of the writes or none; pages, filters and counts are those of the older state."""
    ranges = [BY_KEY, BY_INDEX, BY_LOCAL] if not backward else [{**BY_KEY, "ScanIndexForward": False}, {**BY_INDEX, "ScanIndexForward": False}]
    ranges += [] if backward else [{}, {"IndexName": "gsi"}]
    simulate(insight, sorted_table, staleReadRate=0.000001)  # remembers writes, and shows them
    before = [everything(db, sorted_table, **more) for more in ranges]
    for write in writes:
        write(db, sorted_table)
    after = [everything(db, sorted_table, **more) for more in ranges]
    assert after != before
    keep = insight.get("simulation")["counts"]["staleReads"]
    simulate(insight, sorted_table, staleReadRate=0)
    assert [everything(db, sorted_table, **more) for more in ranges] == after
    # The same writes again on tables as before, now with stale reads.
    def attempt(_):
        fresh = create_table(db, "pk sk", gsi={"gsi": "g sk"}, lsi={"lsi": "pk g"})
        for i in (2, 4, 6, 8):
            db.PutItem(TableName=fresh, Item={"pk": S("a"), "sk": S(str(i)), "g": S("x")})
        simulate(insight, fresh, staleReadRate=1)
        for write in writes:
            write(db, fresh)
        return fresh, [everything(db, fresh, **more) for more in ranges]
    fresh, seen = in_time(attempt)
    assert seen == before
    assert insight.get("simulation")["counts"]["staleReads"] > keep
    assert [everything(db, fresh, ConsistentRead=True, **more) for more in ranges if more.get("IndexName") != "gsi"] == [
        items for more, items in zip(ranges, after) if more.get("IndexName") != "gsi"]


def test_stale_batches_and_statements(db, table, insight):
    simulate(insight, table, staleReadRate=1)
    ways = [
        lambda key, consistent: db.BatchGetItem(RequestItems={table: {"Keys": [{"pk": S(key)}], "ConsistentRead": consistent}})["Responses"][table],
        lambda key, consistent: db.ExecuteStatement(Statement=by_key(key), ConsistentRead=consistent)["Items"],
        lambda key, consistent: [db.BatchExecuteStatement(Statements=[{"Statement": by_key(key), "ConsistentRead": consistent}])["Responses"][0]["Item"]],
        lambda key, consistent: db.ExecuteStatement(Statement=f"""SELECT v FROM "{table}" WHERE v = '{key}'""", ConsistentRead=consistent)["Items"],
    ]

    def by_key(key):
        return f"""SELECT v FROM "{table}" WHERE pk = '{key}'"""

    def attempt(number):
        db.PutItem(TableName=table, Item={"pk": S(f"k{number}"), "v": S(f"k{number}")})
        return [(way(f"k{number}", False), way(f"k{number}", True), f"k{number}") for way in ways]
    for stale, consistent, value in in_time(attempt):
        assert not any("v" in item for item in stale)
        assert [item["v"] for item in consistent] == [S(value)]


def test_index_lag(db, sorted_table, insight):
    """Global indexes follow their table after indexLagMs; the table itself and local indexes are up to date."""
    def of_index():
        return [item["sk"]["S"] for item in db.Query(TableName=sorted_table, **BY_INDEX)["Items"]]
    simulate(insight, sorted_table, indexLagMs=60_000)
    db.PutItem(TableName=sorted_table, Item={"pk": S("a"), "sk": S("5"), "g": S("x")})
    db.UpdateItem(TableName=sorted_table, Key={"pk": S("a"), "sk": S("2")}, UpdateExpression="SET g = :g", ExpressionAttributeValues={":g": S("y")})
    db.DeleteItem(TableName=sorted_table, Key={"pk": S("a"), "sk": S("8")})
    assert of_index() == ["2", "4", "6", "8"]
    moved = {**BY_INDEX, "ExpressionAttributeValues": {":p": S("y")}}
    assert db.Query(TableName=sorted_table, **moved)["Count"] == 0
    assert [item["sk"]["S"] for item in db.Scan(TableName=sorted_table, IndexName="gsi")["Items"]] == ["2", "4", "6", "8"]
    assert [item["sk"]["S"] for item in db.Query(TableName=sorted_table, **BY_KEY)["Items"]] == ["2", "4", "5", "6"]
    assert "Item" in db.GetItem(TableName=sorted_table, Key={"pk": S("a"), "sk": S("5")})
    simulate(insight, sorted_table, indexLagMs=0)
    assert of_index() == ["4", "5", "6"]
    simulate(insight, sorted_table, indexLagMs=200)
    db.PutItem(TableName=sorted_table, Item={"pk": S("a"), "sk": S("7"), "g": S("x")})
    poll(lambda: of_index() == ["4", "5", "6", "7"], 10, "the index has followed")


def test_only_so_many_writes_are_remembered(db, sorted_table, insight):
    """More than 8 MiB of old items: the oldest writes show early, and nothing else breaks."""
    simulate(insight, sorted_table, indexLagMs=60_000)
    for i in range(60):
        db.PutItem(TableName=sorted_table, Item={"pk": S("big"), "sk": S(f"{i:03}"), "g": S("big"), "pad": S("x" * 190_000)})
    seen = [item["sk"]["S"] for item in everything(db, sorted_table, **{**BY_INDEX, "ExpressionAttributeValues": {":p": S("big")}})]
    assert 0 < len(seen) < 60 and seen == [f"{i:03}" for i in range(len(seen))]


def test_latency(db, table, insight):
    simulate(insight, table, latencyMs=60, latencyJitterMs=20)
    start = time.monotonic()
    for _ in range(5):
        db.GetItem(TableName=table, Key={"pk": S("k1")})
    assert time.monotonic() - start >= 0.3
    assert insight.get("simulation")["counts"]["delayed"] == 5


def test_star_is_every_other_table(db, table, insight):
    other = create_table(db, "pk")
    insight.post("simulation", {"tables": {"*": {"errorRate": 1}, other: {"errorRate": 0}}})
    with pytest.raises(Refused) as refused:
        db.GetItem(TableName=table, Key={"pk": S("k1")})
    assert refused.value.status == 500
    assert refused.value.body == {"__type": "com.amazonaws.dynamodb.v20120810#InternalServerError", "message": "Internal server error"}
    db.GetItem(TableName=other, Key={"pk": S("k1")})


@pytest.mark.parametrize("body", [
    [], {"speed": 1}, {"seed": -1}, {"seed": "x"}, {"tables": []}, {"tables": {"t": {"errorRate": 2}}},
    {"tables": {"t": {"errorRate": -0.1}}}, {"tables": {"t": {"throttle": "often"}}}, {"tables": {"t": {"luck": 1}}},
    {"tables": {"t": {"latencyMs": 1e9}}}, {"tables": {"good": {"errorRate": 1}, "t": {"partitionLimits": 1}}}])
def test_bad_settings_change_nothing(insight, body):
    status, answer = insight.request("POST", "simulation", body)
    assert status == 400 and answer["error"]
    assert insight.get("simulation")["tables"] == {}


def test_boto3_gets_through(server, table, insight):
    """Its own retries are enough for one call in three being throttled, and for server errors."""
    config = boto3_config()
    config["config"] = botocore.config.Config(retries={"mode": "standard", "max_attempts": 10})
    client = boto3.client("dynamodb", endpoint_url=server.endpoint, **config)
    simulate(insight, table, 5, throttleRate=0.3, errorRate=0.05)
    attempts = [client.get_item(TableName=table, Key={"pk": S(f"k{i % 20}")})["ResponseMetadata"]["RetryAttempts"]
                for i in range(30)]
    assert sum(attempts) > 0 and insight.get("simulation")["counts"]["throttled"] > 0
    resource = boto3.resource("dynamodb", endpoint_url=server.endpoint, **config)
    with resource.Table(table).batch_writer() as batch:  # sends what was left unprocessed again
        for i in range(100):
            batch.put_item(Item={"pk": f"b{i}"})
    simulate(insight, table)
    assert all("Item" in client.get_item(TableName=table, Key={"pk": S(f"b{i}")}, ConsistentRead=True) for i in range(100))


@pytest.mark.parametrize("billing", ["PROVISIONED", "PAY_PER_REQUEST"])
def test_boto3_gets_through_limits(server, db, insight, billing):
    """The table takes three writes a second: the retries of boto3 wait until there are units, and every item arrives once."""
    table = limited_table(db, insight, billing)
    config = boto3_config()
    config["config"] = botocore.config.Config(retries={"mode": "standard", "max_attempts": 12})
    client = boto3.client("dynamodb", endpoint_url=server.endpoint, **config)
    retries = sum(client.put_item(TableName=table, Item={"pk": S(f"p{i}")})["ResponseMetadata"]["RetryAttempts"] for i in range(10))
    assert 0 < retries == insight.get("simulation")["counts"]["throttled"]
    with boto3.resource("dynamodb", endpoint_url=server.endpoint, **config).Table(table).batch_writer() as batch:
        for i in range(10):
            batch.put_item(Item={"pk": f"b{i}"})
    assert db.Scan(TableName=table, Select="COUNT")["Count"] == 20
    assert insight.pattern(f"PutItem {table}")["errors"] == retries


@pytest.mark.parametrize("billing", ["PROVISIONED", "PAY_PER_REQUEST"])
def test_javascript_gets_through_limits(server, db, insight, billing):
    table = limited_table(db, insight, billing)
    attempts = run_javascript(server, table, "write")
    assert attempts - 10 == insight.get("simulation")["counts"]["throttled"] > 0
    assert db.Scan(TableName=table, Select="COUNT")["Count"] == 10


def limited_table(db, insight, billing):
    """A table of three write units a second, provisioned or as the on-demand maximum."""
    units = ({"ProvisionedThroughput": {"ReadCapacityUnits": 100, "WriteCapacityUnits": 3}} if billing == "PROVISIONED" else
             {"OnDemandThroughput": {"MaxReadRequestUnits": 100, "MaxWriteRequestUnits": 3}})
    table = create_table(db, "pk", BillingMode=billing, **units)
    simulate(insight, table, throttle="provisioned" if billing == "PROVISIONED" else "onDemand", burstSeconds=1)
    return table


def run_javascript(server, table, action):
    """How many attempts the SDK for JavaScript needs for its calls."""
    done = subprocess.run(["node", str(ROOT / "tests/insight/retry.mjs"), server.endpoint, table, action], capture_output=True,
                          text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_javascript_gets_through(server, table, insight):
    simulate(insight, table, 5, throttleRate=0.3, errorRate=0.05)
    assert run_javascript(server, table, "read") > 20
    assert insight.get("simulation")["counts"]["throttled"] > 0
