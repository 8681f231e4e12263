"""Calls that need a second look: the sparse index, through the REST API."""

import json
import os
import subprocess
import threading
import uuid

import pytest

from racing import together
from recon import ago, ingest, pending, state
from recorder import Recorder
from rest import Rest
from server import ROOT, Apps, Server
from wire import Client


@pytest.fixture
def tenant():
    return f"tenant-{uuid.uuid4()}"


@pytest.mark.parametrize("audio, status, bad", [
    (True, "SUCCESS", False), (False, "SUCCESS", True), (True, "FAILED", True),
    (True, "PENDING", True), (False, "FAILED", True)])
def test_only_bad_calls_are_in_the_index(reconciliation, tenant, audio, status, bad):
    when = ago(hours=2)
    reply = reconciliation.put(f"/calls/{tenant}/c-1", state(when, audio, status))
    assert (reply.status, reply.body) == (201, {"pending": bad})
    assert pending(reconciliation, tenant) == (["c-1"] if bad else [])
    found = reconciliation.get(f"/calls/{tenant}/c-1").body
    found.pop("shard", None)
    assert found == {
        "tenantId": tenant, "callId": "c-1", "callDateTime": when, "audioReceived": audio,
        "processingStatus": status, "pending": bad, "abandoned": False, "deliveries": []}


@pytest.mark.parametrize("calls", [[["x"]], ["x"], [None], [{}], "x", {}])
def test_calls_that_are_no_objects_are_refused(reconciliation, calls):
    reply = reconciliation.post("/calls", {"calls": calls})
    assert (reply.status, reply.code) == (400, "bad_parameter")


def test_a_call_enters_and_leaves_the_index_as_its_state_changes(reconciliation, tenant):
    def write(**more):
        reply = reconciliation.put(f"/calls/{tenant}/c-1", state(**more))
        return reply.status, reply.body["pending"], pending(reconciliation, tenant)
    assert write(status="PENDING") == (201, True, ["c-1"])
    assert write(status="FAILED") == (200, True, ["c-1"])
    assert write() == (200, False, [])
    assert write(audio=False) == (200, True, ["c-1"])
    assert write() == (200, False, [])


def test_a_pending_call_shows_what_the_index_knows(reconciliation, tenant):
    when = ago(hours=3)
    ingest(reconciliation, tenant, "c-1", when=when, audio=False, status="FAILED")
    item, = reconciliation.get("/pending", tenant=tenant).body["items"]
    assert item == {"tenantId": tenant, "callId": "c-1", "callDateTime": when, "audioReceived": False,
                    "processingStatus": "FAILED", "pending": True, "abandoned": False, "shard": item["shard"]}
    assert 0 <= item["shard"] < 10


def test_oldest_first_whatever_the_shard(reconciliation, tenant):
    order = [7, 2, 9, 4, 1, 8, 3, 6, 5, 0]
    for hours in order:
        ingest(reconciliation, tenant, f"c-{hours}", when=ago(hours=hours + 1), status="FAILED")
    assert pending(reconciliation, tenant) == [f"c-{hours}" for hours in range(9, -1, -1)]
    assert pending(reconciliation, tenant, limit=3) == ["c-9", "c-8", "c-7"]
    shards = {item["shard"] for item in reconciliation.get("/pending", tenant=tenant).body["items"]}
    assert len(shards) > 1


def test_look_back(reconciliation, tenant):
    for days in (1, 6, 8, 40):
        ingest(reconciliation, tenant, f"c-{days}", when=ago(days=days), status="FAILED")
    assert pending(reconciliation, tenant) == ["c-6", "c-1"]
    assert pending(reconciliation, tenant, lookbackDays=2) == ["c-1"]
    assert pending(reconciliation, tenant, lookbackDays=36500) == ["c-40", "c-8", "c-6", "c-1"]


def test_tenants_are_told_apart(reconciliation, tenant):
    ingest(reconciliation, tenant, "same-id", status="FAILED")
    ingest(reconciliation, tenant + ":2", "same-id", status="PENDING")
    assert pending(reconciliation, tenant) == ["same-id"]
    ingest(reconciliation, tenant, "same-id")
    assert pending(reconciliation, tenant) == []
    assert pending(reconciliation, tenant + ":2") == ["same-id"]
    everyone = reconciliation.get("/pending", limit=1000).body["items"]
    assert tenant + ":2" in {item["tenantId"] for item in everyone}


def test_pages_of_a_shard(reconciliation, tenant):
    for number in range(40):
        ingest(reconciliation, tenant, f"c-{number:02}", when=ago(minutes=number), status="FAILED")
    found = []
    for shard in range(10):
        items = [item for page in reconciliation.pages("/pending", tenant=tenant, shard=shard, limit=2)
                 for item in page]
        assert {item["shard"] for item in items} <= {shard}
        assert [item["callDateTime"] for item in items] == sorted(item["callDateTime"] for item in items)
        found += [item["callId"] for item in items]
    assert sorted(found) == [f"c-{number:02}" for number in range(40)]


def test_many_calls_at_once(reconciliation, tenant):
    calls = [{"tenantId": tenant, "callId": f"c-{number}", **state(ago(minutes=number), number % 10 != 0)}
             for number in range(500)]
    reply = reconciliation.post("/calls", {"calls": calls})
    assert (reply.status, reply.body) == (200, {"written": 500, "pending": 50})
    assert pending(reconciliation, tenant) == [f"c-{number}" for number in range(490, -1, -10)]


def test_summary(reconciliation, tenant):
    for number, delta in enumerate([{"minutes": 5}, {"minutes": 30}, {"hours": 3}, {"days": 2}, {"days": 5}]):
        ingest(reconciliation, tenant, f"c-{number}", when=ago(**delta), audio=number != 0, status="FAILED")
    ingest(reconciliation, tenant, "fine")
    summary = reconciliation.get("/summary", tenant=tenant).body
    assert summary["pending"] == 5
    assert summary["audioMissing"] == 1
    assert summary["tenants"] == [{"tenantId": tenant, "count": 5}]
    assert sum(shard["count"] for shard in summary["shards"]) == 5
    assert [shard["shard"] for shard in summary["shards"]] == list(range(10))
    assert {age["below"]: age["count"] for age in summary["ages"]} == {
        "15 min": 1, "1 h": 1, "6 h": 1, "1 day": 0, "3 days": 1, "7 days": 1, "older": 0}
    assert summary["oldest"] == reconciliation.get(f"/calls/{tenant}/c-4").body["callDateTime"]
    everyone = reconciliation.get("/summary").body
    assert everyone["pending"] >= 5 and len(everyone["tenants"]) <= 20
    assert reconciliation.get("/summary", tenant="nobody").body["pending"] == 0


@pytest.mark.parametrize("body", [
    {}, {"callDateTime": "yesterday"}, {"callDateTime": 5}, {"audioReceived": "true"},
    {"audioReceived": None}, {"processingStatus": "success"}, {"processingStatus": 1},
    {"processingStatus": "DONE"}, {"callDateTime": "2023-02-30T08:00:00Z"},
    {"callDateTime": "2023-10-27T08:00:00+02:00"}])
def test_malformed_states_are_refused(reconciliation, tenant, body):
    whole = {**state(), **body} if body else {}
    reply = reconciliation.put(f"/calls/{tenant}/c-1", whole)
    assert (reply.status, reply.code) == (400, "bad_parameter")
    assert reconciliation.get(f"/calls/{tenant}/c-1").status == 404


@pytest.mark.parametrize("calls", [
    None, [], "x", [1], [{}], [{"tenantId": "t", "callId": "c"}],
    [{"tenantId": "t#", "callId": "c", **state()}], [{"tenantId": "t", "callId": "", **state()}],
    [{"tenantId": "t", "callId": "c", **state()}] * 501])
def test_malformed_lists_of_calls_are_refused(reconciliation, calls):
    reply = reconciliation.post("/calls", {"calls": calls})
    assert (reply.status, reply.code) == (400, "bad_parameter")


def test_one_malformed_call_of_many_changes_nothing(reconciliation, tenant):
    calls = [{"tenantId": tenant, "callId": "good", **state(status="FAILED")},
             {"tenantId": tenant, "callId": "bad", **state(status="?")}]
    assert reconciliation.post("/calls", {"calls": calls}).status == 400
    assert pending(reconciliation, tenant) == []


def test_calls_that_are_not_there(reconciliation, tenant):
    assert reconciliation.get(f"/calls/{tenant}/none").status == 404
    assert reconciliation.get(f"/calls/{tenant}/a%23b").status == 404
    assert reconciliation.put(f"/calls/{tenant}/{'x' * 129}", state()).status == 404
    assert pending(reconciliation, tenant) == []


@pytest.mark.parametrize("query", [
    {"shard": 10}, {"shard": -1}, {"limit": 0}, {"limit": 1001}, {"lookbackDays": 0}, {"tenant": "a b"},
    {"lookbackDays": "x"}, {"shard": 1, "limit": 1001}])
def test_malformed_searches_are_refused(reconciliation, query):
    reply = reconciliation.get("/pending", **query)
    assert (reply.status, reply.code) == (400, "bad_parameter")


@pytest.mark.parametrize("query", [{"cursor": "x"}, {"shard": 0, "cursor": "x"}, {"shard": 0, "cursor": ""}])
def test_cursors_that_are_none(reconciliation, query):
    reply = reconciliation.get("/pending", **query)
    assert (reply.status, reply.code) == (400, "bad_cursor")


def test_metrics_without_a_poller(reconciliation):
    metrics = reconciliation.get("/metrics").body
    assert metrics["polling"] is False
    assert {metrics[name] for name in ("passes", "found", "delivered", "resolved")} == {0}


def test_the_index_stays_at_the_size_of_the_problem(reconciliation, request):
    """1 % of the calls are bad, and only they are in the index. RECONCILIATION_CALLS=1000000 for the
    document's millions. Others take a minute for what we do in a second."""
    tenant = "tenant-with-many-calls"  # its calls fall into the same shards each time
    count = int(os.environ.get("RECONCILIATION_CALLS", 2000 if request.config.getoption("db") else 20000))
    hour = ago(hours=1)

    def batch(first):
        return {"calls": [{"tenantId": tenant, "callId": f"c-{number}",
                           **state(hour, status="FAILED" if number % 100 == 0 else "SUCCESS")}
                          for number in range(first, first + 500)]}

    def write(thread):
        return {reconciliation.post("/calls", batch(first)).status
                for first in range(thread * 500, count, 4 * 500)}
    assert together(4, write) == [{200}] * 4
    assert reconciliation.get("/summary", tenant=tenant).body["pending"] == count // 100
    # The shards share the load.
    shards = [shard["count"] for shard in reconciliation.get("/summary", tenant=tenant).body["shards"]]
    if count >= 20000:  # else chance decides
        assert min(shards) > count // 100 / 10 / 4 and max(shards) < count // 100 / 10 * 3


# --- filters, pages, what is abandoned ---

def test_pages_of_all_shards_with_their_count(reconciliation, tenant):
    for number in range(25):
        ingest(reconciliation, tenant, f"c-{number:02}", when=ago(minutes=100 - number // 2), status="FAILED")
    for order in ("oldest", "newest"):
        found, query = [], {"tenant": tenant, "limit": 10, "order": order}
        while True:
            body = reconciliation.get("/pending", **query).body
            assert body["total"] == 25
            found += [item["callId"] for item in body["items"]]
            if "cursor" not in body:
                break
            query["cursor"] = body["cursor"]
        assert found == sorted(found, reverse=order == "newest") and len(found) == 25


def test_totals_follow_the_filters_and_choices_do_not(reconciliation, tenant):
    ingest(reconciliation, tenant, "failed", status="FAILED")
    ingest(reconciliation, tenant, "silent", audio=False)
    ingest(reconciliation, tenant, "waiting", status="PENDING")
    ingest(reconciliation, tenant, "old", when=ago(days=30), status="FAILED")
    other = f"{tenant}:other"
    for number in range(10):  # as choices the tenants with the most calls are shown
        ingest(reconciliation, other, f"c-{number}", status="FAILED")
    for query, names in (({}, {"failed", "silent", "waiting"}), ({"status": "FAILED"}, {"failed"}),
                         ({"status": "PENDING"}, {"silent", "waiting"}), ({"audio": "missing"}, {"silent"}),
                         ({"audio": "received"}, {"failed", "waiting"}), ({"age": "abandoned"}, {"old"}),
                         ({"age": "all"}, {"failed", "silent", "waiting", "old"}),
                         ({"age": "all", "status": "FAILED"}, {"failed", "old"})):
        assert set(pending(reconciliation, tenant, **query)) == names, query
        summary = reconciliation.get("/summary", tenant=tenant, **query).body
        assert summary["pending"] == len(names) == sum(summary["byStatus"].values()), query
        assert sum(age["count"] for age in summary["ages"]) == len(names)
        assert sum(shard["count"] for shard in summary["shards"]) == len(names)
        assert [each["tenantId"] for each in summary["tenants"]] == [tenant]
        assert {tenant, other} <= set(summary["choices"]["tenants"]), "the other can still be chosen"
    summary = reconciliation.get("/summary", tenant=tenant).body
    assert summary["abandoned"]["count"] == 1 and summary["abandoned"]["oldest"] < ago(days=29)
    assert reconciliation.get("/summary", tenant=tenant, audio="missing").body["abandoned"] == {"count": 0}
    assert reconciliation.get(f"/calls/{tenant}/old").body["abandoned"] is True
    for query in ({"status": "BAD"}, {"audio": "x"}, {"age": "young"}, {"order": "up"}):
        assert reconciliation.get("/pending", **query).code == "bad_parameter"


def test_it_is_fine_and_undo(reconciliation, tenant):
    ingest(reconciliation, tenant, "c-1", audio=False, status="FAILED")
    before = reconciliation.get(f"/calls/{tenant}/c-1").body
    path = f"/calls/{tenant}/c-1"
    fine = reconciliation.acting_as("ops").post(f"{path}/resolve", {}).body
    assert fine["pending"] is False and fine["resolved"]["by"] == "ops" and pending(reconciliation, tenant) == []
    assert reconciliation.post(f"{path}/resolve", {}).code == "not_pending"
    assert reconciliation.post(f"{path}/reopen", {}).body == before
    assert pending(reconciliation, tenant) == ["c-1"]
    assert reconciliation.post(f"{path}/reopen", {}).code == "not_resolved"
    reconciliation.post(f"{path}/resolve", {})
    ingest(reconciliation, tenant, "c-1", status="PENDING")  # what is new counts more
    assert reconciliation.post(f"{path}/reopen", {}).code == "not_resolved"
    assert reconciliation.post(f"/calls/{tenant}/none/resolve", {}).status == 404


def test_only_operators(reconciliation, tenant):
    member = reconciliation.acting_as("ana")
    for reply in (member.get("/pending"), member.get("/summary"), member.get("/metrics"), member.get("/deliveries"),
                  member.get(f"/calls/{tenant}/c"), member.put(f"/calls/{tenant}/c", state()),
                  member.post("/calls", {"calls": []}), member.post(f"/calls/{tenant}/c/resolve", {})):
        assert (reply.status, reply.code) == (403, "not_allowed")
    assert reconciliation.acting_as("ops").get("/summary").status == 200


def test_a_shard_is_a_filter_like_the_others(tenant):
    """With one key for all and with STATUS#FAILED: rows, total, order and numbers of a shard follow all filters."""
    for keys in ("pending", "split"):
        with Apps("memory:", "--status-keys", keys, "--shards", "3") as process:
            api = Rest(f"{process.endpoint}/reconciliation/api")
            for number in range(30):
                ingest(api, tenant, f"c-{number:02}", when=ago(days=number / 2), audio=number % 3 > 0,
                       status=("FAILED", "PENDING", "SUCCESS")[number % 3 if number % 3 else number % 2])
            for query in ({}, {"status": "FAILED"}, {"status": "PENDING", "audio": "missing"}, {"age": "all", "order": "newest"},
                          {"age": "abandoned"}, {"lookbackDays": 3}):
                every = api.get("/pending", **query).body["items"]
                for shard in range(3):
                    body = api.get("/pending", shard=shard, **query).body
                    wanted = [item for item in every if item["shard"] == shard]
                    assert (body["items"], body["total"]) == (wanted, len(wanted)), (keys, query, shard)
                    more = {name: value for name, value in query.items() if name != "order"}
                    summary = api.get("/summary", shard=shard, **more).body
                    assert summary["pending"] == len(wanted) == summary["shards"][shard]["count"], (keys, query, shard)
                    assert sum(each["count"] for each in summary["shards"]) == len(wanted)
            assert api.get("/summary", shard=3).code == "bad_parameter"


def test_failed_calls_under_a_key_of_their_own(tenant):
    """The document's STATUS#FAILED."""
    with Server("memory:") as server, Apps(server.endpoint, "--status-keys", "split", "--shards", "1") as process:
        api = Rest(f"{process.endpoint}/reconciliation/api")
        ingest(api, tenant, "failed", status="FAILED")
        ingest(api, tenant, "silent", audio=False)
        with Client(server.endpoint) as db:
            keys = {item["CallId"]["S"]: item["GSI_Recon_PK"]["S"] for item in db.Scan(TableName="CallRecords")["Items"]}
        assert keys == {"failed": "STATUS#FAILED", "silent": "STATUS#PENDING"}
        assert set(pending(api, tenant)) == {"failed", "silent"}
        assert pending(api, tenant, status="FAILED") == ["failed"]
        ingest(api, tenant, "failed", status="PENDING")
        assert pending(api, tenant, status="FAILED") == []


def test_a_refresh_costs_what_changed(tenant):
    """Not the whole index: after the first look only the stream is read."""
    with Server("memory:") as server, Recorder(server.endpoint) as recorder, Apps(recorder.endpoint) as process:
        api = Rest(f"{process.endpoint}/reconciliation/api")
        api.post("/calls", {"calls": [{"tenantId": tenant, "callId": f"c-{number}", **state(status="FAILED")}
                                      for number in range(300)]})
        assert api.get("/summary").body["pending"] == 300
        recorder.take()
        for number in range(10):
            ingest(api, tenant, f"c-{number}")
            assert api.get("/summary").body["pending"] == 299 - number
            assert api.get("/pending").body["total"] == 299 - number
        assert {access.operation for access in recorder.take()} == {"UpdateItem"}


def test_a_refresh_costs_what_changed_while_it_changes_all_the_time(tenant):
    """The index is read once, by the first look, although calls change while it is being read."""
    with Server("memory:") as server, Recorder(server.endpoint) as recorder, Apps(server.endpoint) as writer, \
            Apps(recorder.endpoint) as process:
        api, other = (Rest(f"{each.endpoint}/reconciliation/api") for each in (process, writer))
        other.post("/calls", {"calls": [{"tenantId": tenant, "callId": f"c-{number}", **state(status="FAILED")}
                                        for number in range(300)]})
        ended = threading.Event()

        def change():
            while not ended.is_set():
                other.post("/calls", {"calls": [{"tenantId": tenant, "callId": f"c-{number}", **state(status="PENDING")}
                                                for number in range(20)]})
        thread = threading.Thread(target=change)
        thread.start()
        try:
            recorder.take()
            assert all(api.get("/summary").body["pending"] == 300 for _ in range(10))
            queries = [access for access in recorder.take() if access.operation == "Query"]
        finally:
            ended.set()
            thread.join()
        partitions = 2 * 10  # PENDING and FAILED, ten shards each
        assert len(queries) <= partitions, "the whole index was read more than once"


def test_the_terraform_file_is_the_schema():
    script = """
        const hcl = require("hcl2-parser");
        console.log(JSON.stringify(hcl.parseToObject(require("fs").readFileSync(process.argv[1], "utf8"))[0]));
    """
    done = subprocess.run(["node", "-e", script, str(ROOT / "apps/reconciliation/table.tf")], cwd=ROOT / "tests",
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    table, = json.loads(done.stdout)["resource"]["aws_dynamodb_table"]["call_records"]
    schema = json.loads((ROOT / "apps/reconciliation/schema.json").read_text())
    index, = schema["GlobalSecondaryIndexes"]
    written, = table["global_secondary_index"]
    assert table["name"] == schema["TableName"] and table["billing_mode"] == schema["BillingMode"]
    assert {(each["name"], each["type"]) for each in table["attribute"]} == {
        (each["AttributeName"], each["AttributeType"]) for each in schema["AttributeDefinitions"]}
    for keys, written_keys in ((schema["KeySchema"], table), (index["KeySchema"], written)):
        assert [each["AttributeName"] for each in keys] == [written_keys["hash_key"], written_keys["range_key"]]
    assert written["name"] == index["IndexName"]
    assert written["projection_type"] == index["Projection"]["ProjectionType"]
    assert written["non_key_attributes"] == index["Projection"]["NonKeyAttributes"]
    # The document's table has the three, its Terraform TenantId in place of the last; NotBefore is what the poller needs.
    assert written["non_key_attributes"] == ["TenantId", "CallId", "AudioReceived", "ProcessingStatus", "NotBefore"]
