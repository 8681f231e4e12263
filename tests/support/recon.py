"""What the tests of reconciliation say often."""

import datetime


def ago(**delta):
    when = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(**delta)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def state(when=None, audio=True, status="SUCCESS"):
    return {"callDateTime": when or ago(hours=1), "audioReceived": audio, "processingStatus": status}


def ingest(reconciliation, tenant, call, **more):
    reply = reconciliation.put(f"/calls/{tenant}/{call}", state(**more))
    assert reply.status in (200, 201), reply
    return reply.body["pending"]


def pending(reconciliation, tenant, **query):
    """The ids of a tenant's pending calls, oldest first."""
    reply = reconciliation.get("/pending", tenant=tenant, **query)
    assert reply.status == 200, reply
    return [item["callId"] for item in reply.body["items"]]
