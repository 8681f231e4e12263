"""What must hold after a fault, asked of every server: items, indexes, counts, sums and streams. The load has stopped."""

from changes import SERVICE, check_changes
from check import check_collections, check_indexes_and_sizes, check_shared, stored_items
from values import item, plain
from waiting import poll
from wire import Client, Refused
from workload import ALL, BRIEF, SLIM, TABLES, WIDE


def check_all(endpoints, workers, stream_checks):
    """The calls in doubt are decided by what is there; afterwards nothing is."""
    views = [check_server(endpoint) for endpoint in endpoints]
    for view in views[1:]:
        assert view == views[0], "two servers disagree"
    stored = views[0]
    count = check_shared(workers, stored[SLIM])
    for worker in workers:
        check_worker(worker, stored)
    for table, items in stored.items():
        assert not items, f"{table} holds what nobody wrote: {list(items)[:5]}"
    with Client(endpoints[0]) as db:
        for worker in workers:
            send_again(db, worker)
    check_streams(endpoints, workers, stream_checks, count)


def check_server(endpoint):
    with Client(endpoint) as db:
        stored = {table: stored_items(db, table) for table in TABLES}
        for table, items in stored.items():
            check_indexes_and_sizes(db, table, items)
        check_collections(db, WIDE, stored[WIDE])
        return stored


def check_worker(worker, stored):
    """Acknowledged is there, refused is not; what is in doubt is whole or not at all, and decided from now on."""
    actual = {}
    for key in worker.own_keys:
        table, pk, sk = key
        actual[key] = plain(stored[table].pop((pk,) if table == SLIM else (pk, sk), None))
    for key in worker.keys:
        assert actual[key] == worker.held[key], f"{key} holds {actual[key]}, was acknowledged as {worker.held[key]}"
    for doubt in worker.doubts:
        has_happened = {key: actual[key] == content for key, content in doubt.after.items() if content != worker.held[key]}
        for key, content in doubt.after.items():
            assert actual[key] in (worker.held[key], content), (
                f"{key} holds {actual[key]}, neither {worker.held[key]} nor {content}")
        if doubt.kind is ALL:
            assert len(set(has_happened.values())) < 2, f"half of a transaction: {doubt.after}"
        worker.settle({key: actual[key] for key in doubt.after})


def send_again(db, worker):
    """Transactions in doubt that had a token are sent again: each has then happened once."""
    for doubt in worker.doubts:
        if doubt.replay:
            try:
                db.TransactWriteItems(**doubt.replay)
            except Refused as error:
                raise AssertionError(f"a transaction sent again: {error}: {doubt.replay}") from error
            worker.settle(doubt.after)
            for key, content in doubt.after.items():
                found = db.GetItem(TableName=key[0], Key=item(worker.key_item(key)), ConsistentRead=True)
                assert plain(found.get("Item")) == content, f"sent again: {key} holds {found}, not {content}"
    worker.doubts, worker.keys = [], list(worker.own_keys)


def check_streams(endpoints, workers, stream_checks, count):
    """Every change once, in order of its item."""
    check_expired(endpoints, workers, stream_checks[BRIEF])
    for table in TABLES:
        check_changes(stream_checks[table], endpoints[-1], workers, count)


def check_expired(endpoints, workers, stream_check):
    """Every item expires, once, and the stream says that nobody else deleted it."""
    for endpoint in endpoints:
        with Client(endpoint) as db:
            poll(lambda db=db: db.Scan(TableName=BRIEF, ConsistentRead=True)["Count"] == 0, 60, "all items have expired")
            assert db.DescribeTable(TableName=BRIEF)["Table"]["ItemCount"] == 0
    found = stream_check.take(endpoints[0])
    for worker in workers:
        for pk, is_sure in worker.brief.items():
            events = found.pop((pk,), None)
            if events is None and not is_sure:
                continue
            assert [event[0] for event in events or []] == ["INSERT", "REMOVE"], f"{pk}: {events}"
            assert events[1][2]["PrincipalId"] == SERVICE, events
        worker.brief = {}
    assert not found, f"the stream of {BRIEF} has {list(found)[:5]}, which nobody put"
