"""Racing clients: no update is lost, no transaction is seen half."""

import itertools
import os
import random
import threading
import time

import pytest

from racing import race
from values import item, plain, values
from wire import Refused

CLIENTS = 64
ROUNDS = 200


@pytest.fixture
def table(make_table):
    return make_table("pk")


def read(db, table, pk="k"):
    return plain(db.GetItem(TableName=table, Key=item(pk=pk), ConsistentRead=True)["Item"])


def test_counter_with_add(db, endpoint, table):
    """Every increment returns a number of its own, and together they are all numbers."""
    request = {"TableName": table, "Key": item(pk="k"), "UpdateExpression": "ADD n :one",
               "ExpressionAttributeValues": values(one=1), "ReturnValues": "UPDATED_NEW"}

    def work(client, _):
        return [int(client.UpdateItem(**request)["Attributes"]["n"]["N"]) for _ in range(ROUNDS)]
    results = race(endpoint, CLIENTS, work)
    assert read(db, table) == {"pk": "k", "n": CLIENTS * ROUNDS}
    assert sorted(sum(results, [])) == list(range(1, CLIENTS * ROUNDS + 1))
    assert all(mine == sorted(mine) for mine in results)


def test_counter_with_version(db, endpoint, table):
    """Optimistic locking: a stale write fails with the current item and is retried."""
    db.PutItem(TableName=table, Item=item(pk="k", v=0, version=0))
    rounds = 20 if "GRAMME_POSTGRESQL" in os.environ else ROUNDS  # one hot item is slow there
    taken = []

    def work(client, number):
        dice = random.Random(number)
        version = 0
        for _ in range(rounds):
            for attempt in itertools.count():
                try:
                    client.UpdateItem(
                        TableName=table, Key=item(pk="k"),
                        UpdateExpression="SET v = v + :one, version = :next",
                        ConditionExpression="version = :version",
                        ExpressionAttributeValues=values(one=1, version=version, next=version + 1),
                        ReturnValuesOnConditionCheckFailure="ALL_OLD")
                    version += 1
                    taken.append(version)
                    break
                except Refused as error:
                    assert error.type == "ConditionalCheckFailedException"
                    time.sleep(dice.uniform(0, 0.001 * 2 ** min(attempt, 6)))  # as SDKs back off
                    version = int(error.body["Item"]["version"]["N"])
    race(endpoint, CLIENTS, work)
    total = CLIENTS * rounds
    assert read(db, table) == {"pk": "k", "v": total, "version": total}
    assert sorted(taken) == list(range(1, total + 1))


def test_money_is_neither_made_nor_lost(db, endpoint, table):
    """16 clients move money between 50 accounts; others sum all accounts in one transaction each."""
    accounts, movers, readers, moves, start = 50, 16, 4, 60, 1000
    for number in range(accounts):
        db.PutItem(TableName=table, Item=item(pk=f"a{number}", money=start))
    gets = [{"Get": {"TableName": table, "Key": item(pk=f"a{number}")}} for number in range(accounts)]
    finished = []
    conflicts = {"TransactionCanceledException"}

    def move(client, number):
        dice = random.Random(number)
        done = 0
        while done < moves:
            source, target = dice.sample(range(accounts), 2)
            amount = dice.randint(1, start // 2)
            try:
                client.TransactWriteItems(TransactItems=[
                    {"Update": {"TableName": table, "Key": item(pk=f"a{source}"),
                                "UpdateExpression": "SET money = money - :m",
                                "ConditionExpression": "money >= :m",
                                "ExpressionAttributeValues": values(m=amount)}},
                    {"Update": {"TableName": table, "Key": item(pk=f"a{target}"),
                                "UpdateExpression": "SET money = money + :m",
                                "ExpressionAttributeValues": values(m=amount)}}])
                done += 1
            except Refused as error:
                assert error.type in conflicts, error
        finished.append(number)

    def read_sums(client):
        sums = 0
        while len(finished) < movers:
            try:
                answer = client.TransactGetItems(TransactItems=gets)
            except Refused as error:
                assert error.type in conflicts, error
                continue
            balances = [int(each["Item"]["money"]["N"]) for each in answer["Responses"]]
            assert sum(balances) == accounts * start
            assert min(balances) >= 0
            sums += 1
        return sums

    results = race(endpoint, movers + readers, lambda client, number:
                   move(client, number) if number < movers else read_sums(client))
    assert sum(results[movers:]) > 10
    answer = db.TransactGetItems(TransactItems=gets)
    assert sum(int(each["Item"]["money"]["N"]) for each in answer["Responses"]) == accounts * start


def test_one_of_many_creates(endpoint, db, table):
    """Of racing conditional puts of one key exactly one succeeds."""
    def work(client, number):
        won = []
        for attempt in range(20):
            try:
                client.PutItem(TableName=table, Item=item(pk=f"k{attempt}", winner=number),
                               ConditionExpression="attribute_not_exists(pk)")
                won.append(attempt)
            except Refused as error:
                assert error.type == "ConditionalCheckFailedException"
        return won
    results = race(endpoint, 32, work)
    assert sorted(sum(results, [])) == list(range(20))
    for number, won in enumerate(results):
        for attempt in won:
            assert read(db, table, f"k{attempt}")["winner"] == number


def test_index_follows_racing_moves(endpoint, db, make_table):
    """Updates move items between index partitions; afterwards each is in the index once, where it belongs."""
    table = make_table("pk", gsi={"idx": "g s:N"})
    items = 20

    def work(client, number):
        dice = random.Random(number)
        for _ in range(50):
            client.UpdateItem(TableName=table, Key=item(pk=f"p{dice.randrange(items)}"),
                              UpdateExpression="SET g = :g, s = :s",
                              ExpressionAttributeValues=values(g=f"g{dice.randrange(5)}",
                                                               s=dice.randrange(5)))
    race(endpoint, 16, work)
    stored = {each["pk"]["S"]: each for each in db.Scan(TableName=table)["Items"]}
    entries = db.Scan(TableName=table, IndexName="idx")["Items"]
    assert len(entries) == len(stored) == items
    assert {each["pk"]["S"]: each for each in entries} == stored


def test_readers_see_whole_items(endpoint, db, table):
    """Two attributes written together are read together."""
    db.PutItem(TableName=table, Item=item(pk="k", a=0, b=0))
    done, started = threading.Event(), set()

    def work(client, number):
        if number == 0:
            for value in itertools.count():
                client.PutItem(TableName=table, Item=item(pk="k", a=value, b=value))
                if value >= 500 and len(started) == 7:  # each reader has read while the item changes
                    break
            done.set()
            return 1
        reads, last = 0, 0
        while not done.is_set():
            found = read(client, table)
            assert found["a"] == found["b"] >= last, "torn or going back in time"
            last = found["a"]
            reads += 1
            started.add(number)
        return reads
    assert min(race(endpoint, 8, work)) > 0
