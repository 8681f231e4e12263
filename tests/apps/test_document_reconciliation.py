"""A walk through the document "DynamoDB Global Secondary Index (GSI) Strategy": the sparse index, its keys, the query, shards."""

import datetime
import itertools
import json
import subprocess

import pytest

from documents import Walk
from recon import ago, state
from rest import Rest
from server import ROOT, Apps, apps_program
from waiting import poll
from webhook import Webhook

TABLE, INDEX = "CallRecords", "ReconciliationIndex"
# The document names what the index projects twice, with different members.
TABLE_OF_SECTION_2, TERRAFORM_OF_SECTION_6 = {"CallId", "AudioReceived", "ProcessingStatus"}, {"TenantId", "CallId", "AudioReceived"}
DAY_OLD = ago(days=1)


@pytest.fixture(scope="module")
def plain():
    """The document's own keys: one shard, one status."""
    with Walk("reconciliation", TABLE, "--shards", "1") as walk:
        yield walk


@pytest.fixture(scope="module")
def split():
    """Its variants: write sharding, and STATUS#FAILED."""
    with Walk("reconciliation", TABLE, "--shards", "10", "--status-keys", "split") as walk:
        yield walk


def write(walk, tenant, call, audio=True, status="SUCCESS", when=DAY_OLD):
    reply = walk.api.put(f"/calls/{tenant}/{call}", state(when, audio, status))
    assert reply.status in (200, 201), reply


def stored(walk, call):
    found, = [row for row in walk.rows() if row["CallId"] == call]
    return found


def indexed(walk, call):
    return [row for row in walk.rows(INDEX) if row["CallId"] == call]


def test_gsi_definition(plain):
    table = plain.db.DescribeTable(TableName=TABLE)["Table"]
    index, = table["GlobalSecondaryIndexes"]
    assert {key["AttributeName"]: key["KeyType"] for key in index["KeySchema"]} == {
        "GSI_Recon_PK": "HASH", "GSI_Recon_SK": "RANGE"}
    types = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
    assert types["GSI_Recon_PK"] == types["GSI_Recon_SK"] == "S"
    assert (index["IndexName"], index["Projection"]["ProjectionType"]) == (INDEX, "INCLUDE")
    # Both lists, and when the poller may take a call again.
    assert set(index["Projection"]["NonKeyAttributes"]) == TABLE_OF_SECTION_2 | TERRAFORM_OF_SECTION_6 | {"NotBefore"}


@pytest.mark.parametrize("audio, status", itertools.product((True, False), ("SUCCESS", "FAILED", "PENDING")))
def test_constructing_the_keys(plain, audio, status):
    call = f"keys-{audio}-{status}"
    write(plain, "TENANT-123", call, audio, status)
    row = stored(plain, call)
    assert (row["AudioReceived"], row["ProcessingStatus"]) == (audio, status)
    if audio and status == "SUCCESS":
        assert "GSI_Recon_PK" not in row and "GSI_Recon_SK" not in row and indexed(plain, call) == []
    else:
        assert (row["GSI_Recon_PK"], row["GSI_Recon_SK"]) == ("STATUS#PENDING", f"{DAY_OLD}#TENANT-123")
        assert len(indexed(plain, call)) == 1


def test_a_call_that_becomes_fine_leaves_the_index(plain):
    write(plain, "t", "heals", status="FAILED")
    assert indexed(plain, "heals")
    write(plain, "t", "heals")
    assert indexed(plain, "heals") == [] and "GSI_Recon_PK" not in stored(plain, "heals")


def test_querying_the_index(plain):
    write(plain, "t", "recent", status="FAILED", when=ago(days=6))
    write(plain, "t", "old", status="FAILED", when=ago(days=8))
    plain.asked()
    with Webhook() as hook:
        done = subprocess.run([apps_program(), "poll", "--once", "--shards", "1", "--db", plain.recorder.endpoint,
                               "--webhook", hook.url, "--lookback-days", "7"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    calls = [body["callId"] for body in hook.bodies()]
    assert "recent" in calls and "old" not in calls
    query = next(access for access in plain.asked() if access.operation == "Query")
    assert (query.index, query.key) == (INDEX, "GSI_Recon_PK = :status AND GSI_Recon_SK > :lookbackDate")
    values = query.request["ExpressionAttributeValues"]
    assert values[":status"] == {"S": "STATUS#PENDING"}
    asked = datetime.datetime.fromisoformat(values[":lookbackDate"]["S"].replace("Z", "+00:00"))
    wanted = datetime.datetime.fromisoformat(ago(days=7).replace("Z", "+00:00"))
    assert abs(wanted - asked) < datetime.timedelta(minutes=2)


@pytest.fixture(scope="module", params=["section 2", "terraform"])
def documents_index(request):
    """The index exactly as one of the two sections of the document defines it."""
    projected = {"section 2": TABLE_OF_SECTION_2, "terraform": TERRAFORM_OF_SECTION_6}[request.param]
    schema = json.loads((ROOT / "apps/reconciliation/schema.json").read_text())
    schema["GlobalSecondaryIndexes"][0]["Projection"]["NonKeyAttributes"] = sorted(projected)
    with Walk("reconciliation", TABLE, "--shards", "1", schema=schema) as walk:
        walk.projected = projected
        yield walk


def put_document_row(walk, call, when, tenant="acme"):
    """A bad call as another program writes it, with the attributes that its index projects."""
    own = {"TenantId": tenant, "CallId": call, "AudioReceived": False, "ProcessingStatus": "FAILED"}
    walk.put(PK=f"TENANT#{tenant}", SK=f"CALL#{call}", CallDateTime=when, GSI_Recon_PK="STATUS#PENDING",
             GSI_Recon_SK=f"{when}#{tenant}", **{name: value for name, value in own.items() if name in walk.projected})


def poll_once(walk, hook, *options):
    """Gives the counters of the pass."""
    done = subprocess.run([apps_program(), "poll", "--once", "--shards", "1", "--db", walk.recorder.endpoint, "--webhook", hook.url,
                           *options], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_documents_index_in_lists_and_numbers(documents_index):
    walk = documents_index
    for tenant in ("list-1", "list-2"):
        put_document_row(walk, f"of-{tenant}", ago(hours=1), tenant)
    by_call = {item["callId"]: item for item in walk.api.get("/pending").body["items"]}
    assert {call: by_call[call]["tenantId"] for call in ("of-list-1", "of-list-2")} == {"of-list-1": "list-1", "of-list-2": "list-2"}
    assert by_call["of-list-1"]["audioReceived"] is False
    assert by_call["of-list-1"].get("processingStatus") == ("FAILED" if "ProcessingStatus" in walk.projected else None)
    assert [item["callId"] for item in walk.api.get("/pending", tenant="list-2").body["items"]] == ["of-list-2"]
    summary = walk.api.get("/summary", tenant="list-1").body
    assert summary["pending"] == 1 and summary["tenants"] == [{"tenantId": "list-1", "count": 1}]
    assert {"list-1", "list-2"} <= set(summary["choices"]["tenants"])


def test_the_documents_index_read_anew(documents_index):
    """By a server that has not seen the rows in the stream."""
    put_document_row(documents_index, "before", ago(hours=1), "anew")
    with Apps(documents_index.recorder.endpoint, "--shards", "1") as process:
        api = Rest(f"{process.endpoint}/reconciliation/api")
        item, = api.get("/pending", tenant="anew").body["items"]
        assert (item["tenantId"], item["callId"]) == ("anew", "before")
        assert api.get("/summary", tenant="anew").body["pending"] == 1


def test_the_documents_index_and_the_poller(documents_index):
    for tenant in ("poll-1", "poll-2"):
        put_document_row(documents_index, f"of-{tenant}", ago(hours=1), tenant)
    with Webhook(lambda post: (200, {"audioReceived": True, "processingStatus": "SUCCESS"})) as hook:
        counted = poll_once(documents_index, hook, "--tenant", "poll-1")
        assert [(body["tenantId"], body["callId"]) for body in hook.bodies()] == [("poll-1", "of-poll-1")]
        assert (counted["found"], counted["delivered"], counted["resolved"], counted["lease_misses"]) == (1, 1, 1, 0)
        poll_once(documents_index, hook)
        assert ("poll-2", "of-poll-2") in {(body["tenantId"], body["callId"]) for body in hook.bodies()}
    assert not {row["PK"] for row in documents_index.rows()} & {"TENANT#(null)", "TENANT#"}


def test_the_documents_index_resolve_and_reopen(documents_index):
    walk = documents_index
    put_document_row(walk, "silent", ago(hours=1))
    before, = [row for row in walk.rows() if row["SK"] == "CALL#silent"]
    assert walk.api.post("/calls/acme/silent/resolve", {}).body["pending"] is False
    assert not [row for row in walk.rows(INDEX) if row["SK"] == "CALL#silent"]
    reply = walk.api.post("/calls/acme/silent/reopen", {})
    assert (reply.body["pending"], reply.body["tenantId"], reply.body["callId"]) == (True, "acme", "silent")
    assert [row for row in walk.rows() if row["SK"] == "CALL#silent"] == [before]
    log = walk.apps.log()
    assert ("ReconciliationIndex has no ProcessingStatus" in log) == ("ProcessingStatus" not in walk.projected)
    assert "ReconciliationIndex has no NotBefore" in log


def test_without_not_before_in_the_index_every_call_is_reached(documents_index):
    """Those that wait are found again each time: they must not hide the others."""
    for number in range(12):
        put_document_row(documents_index, f"t-{number:02}", ago(hours=30 - number))
    with Webhook(lambda post: (500, None)) as hook:
        for _ in range(2):
            poll_once(documents_index, hook, "--batch", "3", "--backoff-ms", "60000", "--backoff-max-ms", "60000")
    calls = [body["callId"] for body in hook.bodies() if body["callId"].startswith("t-")]
    assert sorted(calls) == [f"t-{number:02}" for number in range(12)], "each once: they wait for a minute"


def test_across_tenants_or_of_one(plain):
    for tenant in ("one", "two"):
        write(plain, tenant, f"of-{tenant}", status="FAILED")
    everything = {item["callId"] for item in plain.api.get("/pending").body["items"]}
    assert {"of-one", "of-two"} <= everything
    assert [item["callId"] for item in plain.api.get("/pending", tenant="one").body["items"]] == ["of-one"]


def test_oldest_or_newest_first(plain):
    for hours in (3, 1, 2):
        write(plain, "order", f"h-{hours}", status="PENDING", when=ago(hours=hours))
    for order, wanted in (("oldest", ["h-3", "h-2", "h-1"]), ("newest", ["h-1", "h-2", "h-3"])):
        assert [item["callId"] for item in plain.api.get("/pending", tenant="order", order=order).body["items"]] == wanted


def test_variation_status_failed(split):
    for call, audio, status in (("bad", True, "FAILED"), ("waits", True, "PENDING"), ("mute", False, "SUCCESS")):
        write(split, "v", call, audio, status)
    keys = {call: stored(split, call)["GSI_Recon_PK"].rsplit("#", 1)[0] for call in ("bad", "waits", "mute")}
    assert keys == {"bad": "STATUS#FAILED", "waits": "STATUS#PENDING", "mute": "STATUS#PENDING"}
    write(split, "v", "bad", True, "PENDING")
    assert stored(split, "bad")["GSI_Recon_PK"].startswith("STATUS#PENDING#")


def test_variation_write_sharding(split):
    for number in range(60):
        write(split, "shards", f"s-{number}", status="FAILED")
    keys = {row["GSI_Recon_PK"] for row in split.rows(INDEX) if row["TenantId"] == "shards"}
    assert keys <= {f"STATUS#FAILED#{shard}" for shard in range(10)} and len(keys) > 5
    assert split.api.get("/pending", tenant="shards").body["total"] == 60, "all shards are read"
    split.asked()
    with Webhook(lambda post: (200, {"audioReceived": True, "processingStatus": "SUCCESS"})) as hook:
        done = subprocess.run([apps_program(), "poll", "--once", "--shards", "10", "--status-keys", "split", "--tenant", "shards",
                               "--db", split.recorder.endpoint, "--webhook", hook.url], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and json.loads(done.stdout)["delivered"] == 60
    asked = {access.request["ExpressionAttributeValues"][":status"]["S"] for access in split.asked() if access.operation == "Query"}
    assert asked >= {f"STATUS#{status}#{shard}" for status in ("PENDING", "FAILED") for shard in range(10)}
    poll(lambda: not [row for row in split.rows(INDEX) if row["TenantId"] == "shards"], 30, "the index is empty again")


def test_the_index_holds_only_the_problem(plain):
    """1 % of the calls: the 99 % that succeeded cost nothing there."""
    before = len(plain.rows(INDEX))
    reply = plain.api.post("/calls", {"calls": [
        {"tenantId": "many", "callId": f"m-{number}", **state(DAY_OLD, status="FAILED" if number % 100 == 0 else "SUCCESS")}
        for number in range(400)]})
    assert reply.status in (200, 201), reply
    assert len(plain.rows(INDEX)) == before + 4
