"""Sample data: there after the start, and not undone by loading it again."""

from rest import Rest
from server import Apps, Server

SAMPLE_TICKET = "33567ee8-f182-4f8a-b03e-2f1515915471"


def api(process, name):
    return Rest(f"{process.endpoint}/{name}/api")


def test_samples_are_there_and_what_people_did_stays():
    with Server("memory:") as server:
        with Apps(server.endpoint, "--samples") as process:
            assert api(process, "tickets").post(f"/tickets/{SAMPLE_TICKET}/comments",
                                                {"comment_text": "It turned on"}).status == 201
            tasks = api(process, "tasks").acting_as("ana")
            mine = tasks.get("/users/ben/tasks").body["items"]
            assert len(mine) > 1 and tasks.get("/users/emil").body["status"] == "DEACTIVATED"
            assert tasks.put(f"/tasks/{mine[0]['taskId']}/status", {"status": "CLOSED"}).status == 204
            assert tasks.put("/users/emil/status", {"status": "ACTIVE"}).status == 204
            calls = api(process, "reconciliation")
            pending = calls.get("/pending").body["items"]
            assert 20 < len(pending) < 60
            newest = pending[-1]
            state = {"callDateTime": newest["callDateTime"], "audioReceived": True, "processingStatus": "SUCCESS"}
            where = f"/calls/{newest['tenantId']}/{newest['callId']}"
            assert calls.put(where, state).status == 200
        with Apps(server.endpoint, "--samples") as process:
            ticket = api(process, "tickets").get(f"/tickets/{SAMPLE_TICKET}").body
            assert [comment["comment_text"] for comment in ticket["comments"]] == ["It turned on"]
            tasks = api(process, "tasks")
            assert tasks.get(f"/tasks/{mine[0]['taskId']}").body["status"] == "CLOSED"
            assert tasks.get("/users/emil").body["status"] == "ACTIVE"
            assert api(process, "reconciliation").get(where).body["pending"] is False
