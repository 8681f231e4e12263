"""TransactWriteItems and TransactGetItems: all or nothing, with reasons, once per token."""

import threading

import pytest

from clock import TEST_CLOCK, advance_clock
from tables import create_table, put_all
from values import item, plain, values
from wire import Client, Refused, invalid, refused


@pytest.fixture
def table(make_table):
    return make_table("pk")


def put(table, pk, **attributes):
    return {"Put": {"TableName": table, "Item": item(pk=pk, **attributes)}}


def put_new(table, pk, **attributes):
    action = put(table, pk, **attributes)
    action["Put"]["ConditionExpression"] = "attribute_not_exists(pk)"
    return action


def update(table, pk, expression, condition=None, **named):
    action = {"TableName": table, "Key": item(pk=pk), "UpdateExpression": expression}
    if named:
        action["ExpressionAttributeValues"] = values(**named)
    if condition:
        action["ConditionExpression"] = condition
    return {"Update": action}


def delete(table, pk, **more):
    return {"Delete": {"TableName": table, "Key": item(pk=pk), **more}}


def check(table, pk, condition, **named):
    action = {"TableName": table, "Key": item(pk=pk), "ConditionExpression": condition}
    if named:
        action["ExpressionAttributeValues"] = values(**named)
    return {"ConditionCheck": action}


def get(table, pk):
    return {"Get": {"TableName": table, "Key": item(pk=pk)}}


def write(db, *actions, **more):
    return db.TransactWriteItems(TransactItems=list(actions), **more)


def stored(db, table, pk):
    return plain(db.GetItem(TableName=table, Key=item(pk=pk), ConsistentRead=True).get("Item"))


def cancelled(db, *actions, **more):
    """The reasons of a transaction that must be cancelled."""
    with refused("TransactionCanceledException") as caught:
        write(db, *actions, **more)
    return caught.error.body["CancellationReasons"]


def codes(reasons):
    return [reason["Code"] for reason in reasons]


def test_all_four_actions(db, table):
    put_all(db, table, [item(pk="updated", n=1), item(pk="deleted"), item(pk="checked", ok=True)])
    assert write(db, put(table, "put", v=1), update(table, "updated", "ADD n :one", one=1),
                 delete(table, "deleted"), check(table, "checked", "ok = :t", t=True)) == {}
    assert stored(db, table, "put") == {"pk": "put", "v": 1}
    assert stored(db, table, "updated") == {"pk": "updated", "n": 2}
    assert stored(db, table, "deleted") is None
    assert stored(db, table, "checked") == {"pk": "checked", "ok": True}


def test_over_several_tables(db, make_table):
    one, two = make_table("pk"), make_table("pk", gsi={"idx": "g"})
    write(db, put(one, "k", v=1), put(two, "k", g="g"))
    assert stored(db, one, "k") and stored(db, two, "k")
    assert db.Scan(TableName=two, IndexName="idx")["Count"] == 1
    reasons = cancelled(db, put(one, "k", v=2), delete(two, "k", ConditionExpression="g = :v",
                                                       ExpressionAttributeValues=values(v="x")))
    assert codes(reasons) == ["None", "ConditionalCheckFailed"]
    assert stored(db, one, "k") == {"pk": "k", "v": 1}
    assert db.Scan(TableName=two, IndexName="idx")["Count"] == 1


@pytest.mark.parametrize("failing", range(4))
def test_one_failed_condition_cancels_all(db, table, failing):
    put_all(db, table, [item(pk=f"p{number}", v=number) for number in range(4)])
    actions = [put(table, "p0", v=100), update(table, "p1", "SET v = :v", v=100), delete(table, "p2"),
               check(table, "p3", "v = :v", v=3)]
    inner = next(iter(actions[failing].values()))
    inner["ConditionExpression"] = "attribute_not_exists(pk)"
    if failing == 3:
        del inner["ExpressionAttributeValues"]
    with refused("TransactionCanceledException") as caught:
        write(db, *actions)
    expected = ["None"] * 4
    expected[failing] = "ConditionalCheckFailed"
    assert caught.error.message == ("Transaction cancelled, please refer cancellation reasons for "
                                    f"specific reasons [{', '.join(expected)}]")
    assert codes(caught.error.body["CancellationReasons"]) == expected
    for number in range(4):
        assert stored(db, table, f"p{number}") == {"pk": f"p{number}", "v": number}


def test_reasons_say_what_and_give_the_item_when_asked(db, table):
    put_all(db, table, [item(pk="a", v=1), item(pk="b", v=2)])
    quiet, telling, absent = put_new(table, "a"), put_new(table, "b"), update(
        table, "c", "SET v = :v", "attribute_exists(pk)", v=1)
    telling["Put"]["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    absent["Update"]["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    reasons = cancelled(db, put(table, "fine"), quiet, telling, absent)
    assert reasons == [
        {"Code": "None"},
        {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"},
        {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed",
         "Item": item(pk="b", v=2)},
        {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}]


def test_check_gives_the_item_too(db, table):
    db.PutItem(TableName=table, Item=item(pk="k", v=1))
    action = check(table, "k", "v = :v", v=2)
    action["ConditionCheck"]["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    assert cancelled(db, action)[0]["Item"] == item(pk="k", v=1)


def test_failure_while_updating_cancels(db, table):
    db.PutItem(TableName=table, Item=item(pk="k", v="text"))
    for failing in (update(table, "k", "SET v = v + :one", one=1), update(table, "k", "SET v = nowhere"),
                    update(table, "k", "SET pk = :v", v="x")):
        reasons = cancelled(db, put(table, "beside"), failing)
        assert codes(reasons) == ["None", "ValidationError"]
        assert reasons[1]["Message"]
    assert stored(db, table, "beside") is None


def test_key_of_wrong_type_cancels(db, table):
    for action in (put(table, 1), delete(table, 1), update(table, 1, "SET v = :v", v=1)):
        assert codes(cancelled(db, put(table, "beside"), action)) == ["None", "ValidationError"]
    assert stored(db, table, "beside") is None


def test_oversized_update_cancels(db, table):
    body = "x" * 300_000
    db.PutItem(TableName=table, Item=item(pk="k", a=body))
    reasons = cancelled(db, update(table, "k", "SET b = :v", v=body))
    assert reasons == [{"Code": "ValidationError",
                        "Message": "Item size to update has exceeded the maximum allowed size"}]


def test_one_action_per_item(db, table):
    for actions in ([put(table, "k"), delete(table, "k")], [check(table, "k", "attribute_exists(pk)"),
                                                           put(table, "k")]):
        with invalid("Transaction request cannot include multiple operations on one item"):
            write(db, *actions)
    with invalid("Transaction request cannot include multiple operations on one item"):
        db.TransactGetItems(TransactItems=[get(table, "k"), get(table, "k")])


def test_100_actions_and_not_more(db, table):
    write(db, *(put(table, f"p{number}") for number in range(100)))
    assert db.Scan(TableName=table)["Count"] == 100
    for actions in ([put(table, f"q{number}") for number in range(101)], []):
        with invalid():
            write(db, *actions)
    answer = db.TransactGetItems(TransactItems=[get(table, f"p{number}") for number in range(100)])
    assert [each["Item"]["pk"]["S"] for each in answer["Responses"]] == [f"p{n}" for n in range(100)]
    with invalid():
        db.TransactGetItems(TransactItems=[get(table, f"p{number}") for number in range(101)])


def test_four_megabytes_and_not_more(db, table):
    body = "x" * 400_000
    write(db, *(put(table, f"p{number}", v=body) for number in range(10)))
    with invalid():
        write(db, *(put(table, f"q{number}", v=body) for number in range(11)))
    assert db.Scan(TableName=table, Select="COUNT", FilterExpression="begins_with(pk, :q)",
                   ExpressionAttributeValues=values(q="q"))["Count"] == 0


BAD_ACTIONS = {
    "nothing": lambda table: {},
    "two in one": lambda table: {**put(table, "a"), **delete(table, "b")},
    "check without condition": lambda table: {"ConditionCheck": {"TableName": table,
                                                                 "Key": item(pk="k")}},
    "update without expression": lambda table: {"Update": {"TableName": table, "Key": item(pk="k")}},
    "syntax": lambda table: update(table, "k", "SET v :v", v=1),
    "unused value": lambda table: update(table, "k", "SET v = :v", v=1, w=2),
    "empty key": lambda table: put(table, ""),
    "empty look-up key": lambda table: delete(table, ""),
    "bad value": lambda table: {"Put": {"TableName": table, "Item": {"pk": {"S": "k"}, "v": {"SS": []}}}},
    "unknown return value": lambda table: delete(table, "k",
                                                 ReturnValuesOnConditionCheckFailure="ALL"),
}


@pytest.mark.parametrize("case", BAD_ACTIONS)
def test_requests_refused_at_the_top(db, table, case):
    with invalid():
        write(db, put(table, "beside"), BAD_ACTIONS[case](table))
    assert stored(db, table, "beside") is None


def test_absent_table(db, table):
    with refused("ResourceNotFoundException"):
        write(db, put(table, "beside"), put("no-such-table", "k"))
    with refused("ResourceNotFoundException"):
        db.TransactGetItems(TransactItems=[get(table, "k"), get("no-such-table", "k")])
    assert stored(db, table, "beside") is None


class TestGet:
    def test_answers_in_order_with_gaps(self, db, table):
        put_all(db, table, [item(pk="a", v=1), item(pk="c", v=3)])
        answer = db.TransactGetItems(TransactItems=[get(table, "c"), get(table, "b"), get(table, "a")])
        assert answer["Responses"] == [{"Item": item(pk="c", v=3)}, {}, {"Item": item(pk="a", v=1)}]

    def test_projection(self, db, table):
        db.PutItem(TableName=table, Item=item(pk="k", a=1, b={"c": 2, "d": 3}))
        action = get(table, "k")
        action["Get"].update(ProjectionExpression="#b.c", ExpressionAttributeNames={"#b": "b"})
        assert db.TransactGetItems(TransactItems=[action])["Responses"] == [{"Item": item(b={"c": 2})}]

    def test_bad_key_cancels(self, db, table):
        with refused("TransactionCanceledException") as caught:
            db.TransactGetItems(TransactItems=[get(table, "k"), get(table, 1)])
        assert codes(caught.error.body["CancellationReasons"]) == ["None", "ValidationError"]


class TestTokens:
    """A ClientRequestToken makes a transaction happen once, for ten minutes."""

    def test_replay_writes_nothing(self, db, table):
        action = update(table, "k", "ADD n :one", one=1)
        for _ in range(3):
            write(db, action, ClientRequestToken="once")
        assert stored(db, table, "k")["n"] == 1
        write(db, action, ClientRequestToken="twice")
        assert stored(db, table, "k")["n"] == 2

    def test_replay_answers_even_if_the_item_changed_since(self, db, table):
        write(db, put_new(table, "k"), ClientRequestToken="created")
        write(db, put_new(table, "k"), ClientRequestToken="created")
        with refused("TransactionCanceledException"):
            write(db, put_new(table, "k"), ClientRequestToken="other")

    def test_other_body_is_a_mismatch(self, db, table):
        write(db, put(table, "k", v=1), ClientRequestToken="token")
        with refused("IdempotentParameterMismatchException"):
            write(db, put(table, "k", v=2), ClientRequestToken="token")
        assert stored(db, table, "k")["v"] == 1

    def test_cancelled_transaction_may_be_tried_again(self, db, table):
        action = update(table, "k", "ADD n :one", "attribute_exists(pk)", one=1)
        for _ in range(2):
            assert codes(cancelled(db, action, ClientRequestToken="retry")) == ["ConditionalCheckFailed"]
        db.PutItem(TableName=table, Item=item(pk="k"))
        write(db, action, ClientRequestToken="retry")
        assert stored(db, table, "k")["n"] == 1

    @pytest.mark.parametrize("length, fine", [(0, False), (1, True), (36, True), (37, False)])
    def test_length(self, db, table, length, fine):
        if fine:
            write(db, put(table, "k"), ClientRequestToken="x" * length)
        else:
            with invalid():
                write(db, put(table, "k"), ClientRequestToken="x" * length)

    def test_racing_calls_execute_once(self, endpoint, db, table):
        results = []

        def race():
            with Client(endpoint) as client:
                try:
                    write(client, update(table, "k", "ADD n :one", one=1), ClientRequestToken="race")
                    results.append("done")
                except Refused as error:
                    results.append(error.type)
        threads = [threading.Thread(target=race) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(results) <= {"done", "TransactionInProgressException"} and "done" in results
        assert stored(db, table, "k")["n"] == 1

    def test_ten_minutes(self, start_server):
        with Client(start_server("memory:", *TEST_CLOCK).endpoint) as db:
            create_table(db, name="counters")
            action = update("counters", "k", "ADD n :one", one=1)
            write(db, action, ClientRequestToken="token")
            advance_clock(db, 590)
            write(db, action, ClientRequestToken="token")
            assert stored(db, "counters", "k")["n"] == 1
            with refused("IdempotentParameterMismatchException"):
                write(db, update("counters", "k", "ADD n :one", one=5), ClientRequestToken="token")
            advance_clock(db, 20)
            write(db, update("counters", "k", "ADD n :one", one=5), ClientRequestToken="token")
            assert stored(db, "counters", "k")["n"] == 6

    @pytest.mark.parametrize("how", ["stop", "kill"])
    def test_token_survives_a_restart(self, start_server, tmp_path, how):
        store = f"rocksdb:{tmp_path}/data"
        server = start_server(store)
        with Client(server.endpoint) as db:
            create_table(db, name="counters")
            write(db, update("counters", "k", "ADD n :one", one=1), ClientRequestToken="kept")
        getattr(server, how)()
        with Client(start_server(store).endpoint) as db:
            write(db, update("counters", "k", "ADD n :one", one=1), ClientRequestToken="kept")
            assert stored(db, "counters", "k")["n"] == 1
            with refused("IdempotentParameterMismatchException"):
                write(db, update("counters", "k", "ADD n :one", one=5), ClientRequestToken="kept")


def test_racing_transactions_on_the_same_items_all_settle(endpoint, db, table):
    """Transactions that meet either wait or are cancelled with TransactionConflict; none is half
    done and none is lost."""
    db.PutItem(TableName=table, Item=item(pk="a", n=0))
    db.PutItem(TableName=table, Item=item(pk="b", n=0))
    done = []

    def race():
        with Client(endpoint) as client:
            for _ in range(25):
                try:
                    write(client, update(table, "a", "ADD n :one", one=1),
                          update(table, "b", "ADD n :one", one=1))
                    done.append(1)
                except Refused as error:
                    assert error.type == "TransactionCanceledException"
                    assert "TransactionConflict" in codes(error.body["CancellationReasons"])
    threads = [threading.Thread(target=race) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done and stored(db, table, "a")["n"] == stored(db, table, "b")["n"] == len(done)
