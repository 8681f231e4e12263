"""The reconciliation poller: leases, order, retries, and what the webhook makes of a call."""

import hashlib
import hmac
import json
import subprocess
import threading
import time
import uuid
import zlib

import pytest

from events import Events
from recon import ago, ingest, pending, state
from rest import Rest
from server import ROOT, TROUBLE, Apps, Server, apps_program
from waiting import poll
from webhook import Webhook
from wire import Client

FINE = {"audioReceived": True, "processingStatus": "SUCCESS"}


@pytest.fixture
def tenant():
    return f"tenant-{uuid.uuid4()}"


class Poller:
    """`gramme-apps poll` for one tenant's calls."""

    def __init__(self, db, tenant, url, *options):
        self.process = subprocess.Popen(
            [apps_program(), "poll", "--db", db, "--tenant", tenant, "--webhook", url, *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self):
        """Waits for it; what it counted."""
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0 and not TROUBLE.search(err), err
        return json.loads(out)

    def stop(self):
        self.process.terminate()
        return self.end()


@pytest.fixture
def start(apps_db, tenant):
    """start(url, *options): a poller, ended with the test."""
    started = []

    def make(url, *options):
        started.append(Poller(apps_db, tenant, url, *options))
        return started[-1]
    yield make
    for poller in started:
        if poller.process.poll() is None:
            poller.process.kill()
            poller.process.communicate()


def ids(hook):
    return [body["callId"] for body in hook.bodies()]


def call(reconciliation, tenant, name):
    return reconciliation.get(f"/calls/{tenant}/{name}").body


def test_one_pass_posts_each_call_once_oldest_first(reconciliation, tenant, start):
    for number in range(25):
        ingest(reconciliation, tenant, f"c-{number:02}", when=ago(hours=number), status="FAILED")
    ingest(reconciliation, tenant, "fine")
    with Webhook() as hook:
        counted = start(hook.url, "--once", "--concurrency", "1", "--batch", "10").end()
        assert ids(hook) == [f"c-{number:02}" for number in range(24, -1, -1)]
    assert counted["passes"] == 1
    assert counted["found"] == counted["leased"] == counted["delivered"] == 25
    assert counted["resolved"] == counted["delivery_failures"] == counted["lease_misses"] == 0
    assert len(pending(reconciliation, tenant)) == 25  # nobody said that they are fine


def test_the_payload(reconciliation, tenant, start):
    when = ago(hours=2)
    ingest(reconciliation, tenant, "c-1", when=when, audio=False, status="PENDING")
    with Webhook() as hook:
        start(hook.url, "--once").end()
        body, = hook.bodies()
    assert body == {"tenantId": tenant, "callId": "c-1", "callDateTime": when, "audioReceived": False,
                    "processingStatus": "PENDING", "attempt": 1, "leaseId": body["leaseId"],
                    "leaseUntil": body["leaseUntil"]}
    assert str(uuid.UUID(body["leaseId"])) == body["leaseId"]
    assert body["leaseUntil"] > ago()


def test_a_call_that_is_fine_leaves_the_index(reconciliation, tenant, start):
    for name in ("c-1", "c-2", "c-3"):
        ingest(reconciliation, tenant, name, audio=name != "c-1", status="FAILED")
    answers = {"c-1": FINE, "c-2": {"processingStatus": "SUCCESS"}, "c-3": {"processingStatus": "PENDING"}}
    with Webhook(lambda post: (200, answers[post.body["callId"]])) as hook:
        counted = start(hook.url, "--once").end()
    assert counted["resolved"] == 2
    assert pending(reconciliation, tenant) == ["c-3"]
    found = call(reconciliation, tenant, "c-1")
    assert [each["status"] for each in found.pop("deliveries")] == [200]
    assert found == {
        "tenantId": tenant, "callId": "c-1", "pending": False, "abandoned": False, **FINE,
        "callDateTime": found["callDateTime"]}
    assert call(reconciliation, tenant, "c-3")["processingStatus"] == "PENDING"


@pytest.mark.parametrize("answer", [
    None, [], "x", {}, {"audioReceived": "yes"}, {"processingStatus": "great"}, {"more": 1}])
def test_an_answer_that_says_nothing_leaves_the_call_as_it_is(reconciliation, tenant, start, answer):
    ingest(reconciliation, tenant, "c-1", audio=False, status="FAILED")
    before = call(reconciliation, tenant, "c-1")
    with Webhook(lambda post: (202, answer)) as hook:
        counted = start(hook.url, "--once").end()
    assert (counted["delivered"], counted["resolved"]) == (1, 0)
    after = call(reconciliation, tenant, "c-1")
    assert after.pop("notBefore") > ago()
    assert [(each["attempt"], each["status"]) for each in after["deliveries"]] == [(1, 202)]
    assert {**after, "deliveries": []} == before


def test_a_delivered_call_is_posted_again_only_after_a_while(reconciliation, tenant, start):
    ingest(reconciliation, tenant, "c-1", status="FAILED")
    with Webhook() as hook:
        assert start(hook.url, "--once").end()["delivered"] == 1
        assert start(hook.url, "--once").end()["found"] == 0
        ingest(reconciliation, tenant, "c-1")
        ingest(reconciliation, tenant, "c-1", status="FAILED")  # bad again: nothing to wait for
        assert start(hook.url, "--once", "--repeat-ms", "1").end()["delivered"] == 1
        assert start(hook.url, "--once").end()["delivered"] == 1
        assert [body["attempt"] for body in hook.bodies()] == [1, 1, 1]


@pytest.mark.parametrize("answer", [(500, None), (404, FINE), (302, FINE)])
def test_a_failed_delivery_is_tried_again_after_a_while(reconciliation, tenant, start, answer):
    ingest(reconciliation, tenant, "c-1", status="FAILED")
    with Webhook(lambda post: answer) as hook:
        counted = start(hook.url, "--once").end()
        assert (counted["delivery_failures"], counted["delivered"]) == (1, 0)
        after = call(reconciliation, tenant, "c-1")
        assert after["pending"] and after["attempts"] == 1 and after["notBefore"] > ago()
        assert start(hook.url, "--once").end()["found"] == 0
        assert len(hook.posts) == 1


def test_back_off_doubles(reconciliation, tenant, start):
    ingest(reconciliation, tenant, "c-1", status="FAILED")
    with Webhook(lambda post: (200, FINE) if post.body["attempt"] == 5 else (503, None)) as hook:
        poller = start(hook.url, "--backoff-ms", "40", "--interval-ms", "10")
        poll(lambda: not call(reconciliation, tenant, "c-1")["pending"], 20, "it is fine at last")
        counted = poller.stop()
    assert [body["attempt"] for body in hook.bodies()] == [1, 2, 3, 4, 5]
    assert len({body["leaseId"] for body in hook.bodies()}) == 5
    gaps = [after.began - before.ended for before, after in zip(hook.posts, hook.posts[1:])]
    for number, gap in enumerate(gaps):
        assert gap >= 0.040 * 2 ** number / 2, gaps
    assert (counted["delivery_failures"], counted["delivered"], counted["resolved"]) == (4, 1, 1)


def test_a_webhook_that_does_not_answer(reconciliation, tenant, start):
    ingest(reconciliation, tenant, "c-1", status="FAILED")
    release = threading.Event()

    def hang(_):
        release.wait(30)
        return 200, FINE
    with Webhook(hang) as hook:
        counted = start(hook.url, "--once", "--timeout-ms", "100").end()
        release.set()
    assert counted["delivery_failures"] == 1
    assert call(reconciliation, tenant, "c-1")["pending"]
    assert start("http://127.0.0.1:1/", "--once").end()["found"] == 0  # it waits


def test_nobody_listens(reconciliation, tenant, start):
    ingest(reconciliation, tenant, "c-1", status="FAILED")
    assert start("http://127.0.0.1:1/", "--once").end()["delivery_failures"] == 1


def test_look_back_of_the_poller(reconciliation, tenant, start):
    for days in (1, 5, 9):
        ingest(reconciliation, tenant, f"c-{days}", when=ago(days=days), status="FAILED")
    with Webhook() as hook:
        start(hook.url, "--once", "--lookback-days", "3").end()
        assert ids(hook) == ["c-1"]
        start(hook.url, "--once", "--lookback-days", "30", "--concurrency", "1").end()
        assert ids(hook) == ["c-1", "c-9", "c-5"]


def test_only_the_tenant_that_was_asked_for(reconciliation, tenant, start):
    ingest(reconciliation, tenant, "mine", status="FAILED")
    ingest(reconciliation, tenant + "-other", "theirs", status="FAILED")
    with Webhook() as hook:
        start(hook.url, "--once").end()
        assert ids(hook) == ["mine"]


def test_dry_run_prints_and_does_nothing(apps_db, reconciliation, tenant, start):
    for number in range(3):
        ingest(reconciliation, tenant, f"c-{number}", when=ago(hours=number), status="FAILED")
    before = reconciliation.get("/pending", tenant=tenant).body
    with Webhook() as hook:
        done = subprocess.run(
            [apps_program(), "poll", "--db", apps_db, "--tenant", tenant, "--webhook", hook.url, "--dry-run"],
            capture_output=True, text=True, timeout=60)
        assert hook.posts == []
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["CallId"] for line in lines] == ["c-2", "c-1", "c-0"]
    assert reconciliation.get("/pending", tenant=tenant).body == before


def test_a_call_that_became_fine_meanwhile_stays_fine(reconciliation, tenant, start):
    """The state comes in while the call is being posted; what the webhook says is older."""
    ingest(reconciliation, tenant, "c-1", status="FAILED")

    def answer(post):
        ingest(reconciliation, tenant, "c-1")
        return 200, {"processingStatus": "FAILED"}
    with Webhook(answer) as hook:
        counted = start(hook.url, "--once").end()
    assert counted["leases_lost"] >= 1
    after = call(reconciliation, tenant, "c-1")
    assert (after["pending"], after["processingStatus"]) == (False, "SUCCESS")
    assert "notBefore" not in after


def test_two_pollers_on_one_index(reconciliation, tenant, start):
    """Each call is delivered at least once, and nobody holds the lease of another. Both do some of the work, in one of three rounds: one
    of them may start late."""
    delivered = [0]
    for _ in range(3):
        delivered = race_two_pollers(reconciliation, tenant, start)
        if min(delivered) > 0:
            break
    assert min(delivered) > 0, "one did it all"


def race_two_pollers(reconciliation, tenant, start):
    """How many calls each has delivered."""
    count = 150
    calls = [{"tenantId": tenant, "callId": f"c-{number}", **state(ago(minutes=number), status="FAILED")}
             for number in range(count)]
    assert reconciliation.post("/calls", {"calls": calls}).status == 200

    def answer(post):
        time.sleep(0.005)  # so that deliveries overlap
        fails = zlib.crc32(f"{post.body['callId']}/{post.body['attempt']}".encode()) % 4 == 0
        return (503, None) if fails else (200, FINE)
    with Webhook(answer) as hook:
        options = ("--interval-ms", "10", "--backoff-ms", "20", "--backoff-max-ms", "40", "--batch", "40")
        pollers = [start(hook.url, *options) for _ in range(2)]
        poll(lambda: not pending(reconciliation, tenant), 60, "all calls are fine")
        counted = [poller.stop() for poller in pollers]
    assert set(ids(hook)) == {f"c-{number}" for number in range(count)}
    for number in range(count):
        posts = [post for post in hook.posts if post.body["callId"] == f"c-{number}"]
        assert len({post.body["leaseId"] for post in posts}) == len(posts)
        for before, after in zip(posts, posts[1:]):
            assert before.ended <= after.began, "two held the lease at the same time"
    assert sum(each["leased"] for each in counted) == len(hook.posts)
    assert sum(each["resolved"] for each in counted) == count
    return [each["delivered"] for each in counted]


def test_the_calls_of_a_poller_that_was_killed_are_taken_over(reconciliation, tenant, start):
    for number in range(3):
        ingest(reconciliation, tenant, f"c-{number}", when=ago(hours=number), status="FAILED")
    release = threading.Event()

    def hang(_):
        release.wait(30)
        return 200, FINE
    lease = ("--timeout-ms", "2500", "--lease-ms", "6000")  # long enough for the next poller to start
    with Webhook(hang) as hook:
        first = start(hook.url, *lease)
        poll(lambda: len(hook.posts) == 3, 20, "all are being posted")
        first.process.kill()
        first.process.communicate()
        release.set()
    with Webhook(lambda post: (200, FINE)) as hook:
        assert start(hook.url, "--once").end()["found"] == 0  # their leases hold
        second = start(hook.url, "--interval-ms", "20")
        poll(lambda: not pending(reconciliation, tenant), 40, "the leases are over")
        second.stop()
        assert {body["attempt"] for body in hook.bodies()} == {2}


def test_stopping_does_not_wait_for_the_webhook(reconciliation, tenant, start):
    ingest(reconciliation, tenant, "c-1", status="FAILED")
    release = threading.Event()

    def hang(_):
        release.wait(60)
        return 200, FINE
    with Webhook(hang) as hook:
        poller = start(hook.url, "--timeout-ms", "30000")
        poll(lambda: hook.posts, 20, "it is being posted")
        began = time.monotonic()
        assert poller.stop()["delivery_failures"] == 1
        assert time.monotonic() - began < 10
        release.set()


@pytest.mark.parametrize("options", [
    ["--shards", "0"], ["--shards", "101"], ["--shards", "x"], ["--batch"], ["--unknown"],
    ["--webhook", "ftp://x/"], ["--timeout-ms", "1000", "--lease-ms", "1999"], ["--webhook", ""]])
def test_bad_options(options):
    for command in (["poll", "--webhook", "http://127.0.0.1:1/", *options], ["--db", "memory:", *options]):
        done = subprocess.run([apps_program(), *command], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and done.stderr.startswith("gramme-apps: "), done


def test_poll_wants_a_webhook():
    done = subprocess.run([apps_program(), "poll", "--once"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "--webhook" in done.stderr


def test_the_database_is_away():
    done = subprocess.run([apps_program(), "poll", "--once", "--db", "http://127.0.0.1:1", "--webhook",
                           "http://127.0.0.1:1/"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "ConnectionFailed" in done.stderr


def test_polling_inside_of_the_server(apps_db, tenant):
    """Also on the engine in the same process, where no other process can poll."""
    fine_after = {"c-1": 1, "c-2": 2}

    def answer(post):
        fine = post.body["attempt"] >= fine_after[post.body["callId"]]
        return (200, FINE) if fine else (500, None)
    with Webhook(answer) as hook, Apps(
            apps_db, "--webhook", hook.url, "--interval-ms", "20", "--backoff-ms", "20",
            "--tenant", tenant) as process:
        api = Rest(f"{process.endpoint}/reconciliation/api")
        ingest(api, tenant, "c-1", status="FAILED")
        ingest(api, tenant, "c-2", audio=False)
        poll(lambda: not pending(api, tenant), 20, "both are fine")
        metrics = poll(lambda: api.get("/metrics").body["resolved"] == 2 and api.get("/metrics").body, 20,
                       "it is counted")
        assert metrics["polling"] is True
        assert (metrics["delivered"], metrics["delivery_failures"]) == (2, 1)
        assert metrics["passes"] >= 1 and metrics["last_pass"] > ago(minutes=1)
        for text in (api.get("/metrics", format="prometheus"),
                     api.get("/metrics", {"Accept": "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"})):
            assert text.headers["content-type"].startswith("text/plain; version=0.0.4")
            lines = text.content.decode().splitlines()
            assert "gramme_reconciliation_resolved_total 2" in lines
            assert "# TYPE gramme_reconciliation_resolved_total counter" in lines


def test_one_shard_is_the_plain_key_of_the_document(tenant):
    with Apps("memory:", "--shards", "1") as process:
        api = Rest(f"{process.endpoint}/reconciliation/api")
        ingest(api, tenant, "c-1", status="FAILED")
        item, = api.get("/pending", shard=0).body["items"]
        assert (item["callId"], item["shard"]) == ("c-1", 0)
        assert api.get("/summary").body["shards"] == [{"shard": 0, "count": 1}]
        assert api.get("/pending", shard=1).status == 400


def test_deliveries_are_remembered_logged_and_signed(apps_db, tenant, tmp_path):
    """The newest ten of a call, with what went wrong."""
    (tmp_path / "secret").write_text("a shared secret\n")
    seen = []

    def answer(post):
        seen.append((post.signature, post.content))
        return (200, FINE) if post.body["attempt"] == 13 else (500, None)
    with Webhook(answer) as hook, Apps(
            apps_db, "--webhook", hook.url, "--interval-ms", "10", "--backoff-ms", "1", "--backoff-max-ms", "2",
            "--tenant", tenant, "--webhook-secret", tmp_path / "secret") as process:
        api = Rest(f"{process.endpoint}/reconciliation/api")
        with Events(f"{api.base}/live") as events:
            events.wait("ready")  # from here on the stream is read
        ingest(api, tenant, "c-1", status="FAILED")
        poll(lambda: not pending(api, tenant), 20, "it is fine")
        deliveries = api.get(f"/calls/{tenant}/c-1").body["deliveries"]
        assert [each["attempt"] for each in deliveries] == list(range(4, 14))
        assert deliveries[-1]["status"] == 200 and "error" not in deliveries[-1]
        assert deliveries[0]["error"] == "the webhook answered with status 500"
        assert f"call c-1 of {tenant} was not delivered, attempt 3: the webhook answered with status 500" in process.log()

        def attempts(**query):
            return [each["attempt"] for each in api.get("/deliveries", **query).body["items"] if each["tenantId"] == tenant]
        poll(lambda: attempts() == list(range(13, 0, -1)), 20, "all deliveries, the newest first")
        assert attempts(failed="true") == list(range(12, 0, -1))
    for signature, content in seen:
        when, _, value = signature.removeprefix("t=").partition(",v1=")
        wanted = hmac.new(b"a shared secret", when.encode() + b"." + content, hashlib.sha256).hexdigest()
        assert hmac.compare_digest(value, wanted) and abs(int(when) - time.time()) < 60


def failures(api):
    reply = api.get("/deliveries", failed="true")
    assert reply.status == 200, reply
    return [(each["tenantId"], each["callId"], each["attempt"], each["error"]) for each in reply.body["items"]]


def test_failed_deliveries_are_known_after_a_restart(tenant):
    """Those of calls that are still pending, whichever process delivered them."""
    answer = "the webhook answered with status 500"
    with Server("memory:") as server, Webhook(lambda post: (500, None)) as hook:
        with Apps(server.endpoint) as process:
            api = Rest(f"{process.endpoint}/reconciliation/api")
            for name in ("c-1", "c-2", "never-tried"):
                ingest(api, tenant, name, status="FAILED", when=ago(days=8 if name == "never-tried" else 1))
            for _ in range(2):
                Poller(server.endpoint, tenant, hook.url, "--once", "--backoff-ms", "1", "--backoff-max-ms", "1").end()
            wanted = {(tenant, name, attempt, answer) for name in ("c-1", "c-2") for attempt in (1, 2)}
            poll(lambda: set(failures(api)) == wanted, 20, "both attempts")
        with Apps(server.endpoint) as process:
            found = failures(Rest(f"{process.endpoint}/reconciliation/api"))
            assert set(found) == wanted and len(found) == 4
            assert [attempt for _, _, attempt, _ in found] == [2, 2, 1, 1], "the newest first"


def test_failed_deliveries_without_a_stream(tenant, monkeypatch):
    """The poller of this server reports them itself."""
    with Server("memory:") as server, Webhook(lambda post: (500, None)) as hook, Client(server.endpoint) as db:
        db.CreateTable(**json.loads((ROOT / "apps/reconciliation/schema.json").read_text()))
        monkeypatch.setitem(Apps.OPTIONS_AT, server.endpoint, [])
        with Apps(server.endpoint, "--webhook", hook.url, "--interval-ms", "10", "--backoff-ms", "60000",
                  "--backoff-max-ms", "60000") as process:
            api = Rest(f"{process.endpoint}/reconciliation/api")
            assert failures(api) == []
            ingest(api, tenant, "c-1", status="FAILED")
            poll(lambda: failures(api) == [(tenant, "c-1", 1, "the webhook answered with status 500")], 20, "it is known")


def test_nobody_listens_is_told_as_well(apps_db, tenant):
    with Apps(apps_db, "--webhook", "http://127.0.0.1:9/", "--interval-ms", "10", "--tenant", tenant) as process:
        api = Rest(f"{process.endpoint}/reconciliation/api")
        ingest(api, tenant, "c-1", status="FAILED")
        first = poll(lambda: api.get(f"/calls/{tenant}/c-1").body["deliveries"], 30, "it is tried")[0]
        assert first["status"] == 0 and "connect" in first["error"].lower()


def test_newest_first(apps_db, tenant):
    with Webhook() as hook, Apps(apps_db, "--tenant", tenant) as process:
        api = Rest(f"{process.endpoint}/reconciliation/api")
        for hours in (5, 1, 3):
            ingest(api, tenant, f"h-{hours}", when=ago(hours=hours), status="FAILED")
        assert pending(api, tenant) == ["h-5", "h-3", "h-1"]
        assert pending(api, tenant, order="newest") == ["h-1", "h-3", "h-5"]
        if apps_db.startswith("http"):
            poller = Poller(apps_db, tenant, hook.url, "--once", "--order", "newest", "--concurrency", "1")
            poller.end()
            assert ids(hook) == ["h-1", "h-3", "h-5"]


def test_a_database_that_is_gone_is_in_the_log(tenant):
    """As a line of the log, in its format."""
    with Webhook() as hook:
        poller = Poller("http://127.0.0.1:9", tenant, hook.url, "--interval-ms", "10", "--log-format", "json")
        line = poller.process.stderr.readline()
        poller.process.kill()
        poller.process.communicate()
    entry = json.loads(line)
    assert (entry["level"], entry["module"]) == ("warn", "poller") and "the database does not answer" in entry["message"], entry
