"""A calendar of nights that nobody can have twice, through the REST API."""

import datetime
import random
import uuid

import pytest

from racing import together

CLIENTS = 20
NIGHTS_MAX = 99
NIGHTS_MAX = 99  # of an event
MISSING = "00000000-0000-4000-8000-000000000000"
years = iter(random.sample(range(1901, 2998, 2), 500))


def free_days(calendar):
    """A function: day(n) is the nth day of a year that nobody else uses, as are the days around it. What
    an earlier run left there goes."""
    first = datetime.date(next(years), 1, 1)

    def day(number):
        return (first + datetime.timedelta(days=number)).isoformat()
    for event in listed(calendar, day(-1), day(360)):
        assert delete(calendar, event).status == 204
    return day


@pytest.fixture
def day(calendar):
    return free_days(calendar)


def wish(start, end, title="Ana", **more):
    return {"title": title, "start": start, "end": end, **more}


def create(calendar, *args, **more):
    reply = calendar.post("/events", wish(*args, **more))
    assert reply.status == 201, reply
    return reply.body


def update(calendar, event, version=None, **change):
    version = event["version"] if version is None else version
    body = {name: value for name, value in {**event, **change}.items() if name in ("title", "start", "end")}
    return calendar.put(f"/events/{event['id']}", body, {"If-Match": f'"{version}"'})


def updated(calendar, event, **change):
    reply = update(calendar, event, **change)
    assert reply.status == 200, reply
    assert reply.headers["etag"] == f'"{reply.body["version"]}"'
    return reply.body


def delete(calendar, event, version=None):
    version = event["version"] if version is None else version
    return calendar.delete(f"/events/{event['id']}", {"If-Match": f'"{version}"'})


def listed(calendar, start, end, **query):
    return sum(calendar.pages("/events", **{"from": start, "to": end}, **query), [])


def taken(calendar, start, end):
    """The nights of a range that are taken: an event over them clashes with just those. Where none is,
    the event is made, and deleted again."""
    found = []
    first, last = map(datetime.date.fromisoformat, (start, end))
    while first < last:
        until = min(first + datetime.timedelta(days=NIGHTS_MAX), last)
        reply = calendar.post("/events", wish(first.isoformat(), until.isoformat(), "probe"))
        if reply.status == 201:
            assert delete(calendar, reply.body).status == 204
        else:
            assert (reply.status, reply.code) == (409, "overlap"), reply
            found += reply.body["error"]["nights"]
        first = until
    return found


def nights(*events):
    return sorted((datetime.date.fromisoformat(event["start"]) + datetime.timedelta(days=offset)).isoformat()
                  for event in events
                  for offset in range((datetime.date.fromisoformat(event["end"])
                                       - datetime.date.fromisoformat(event["start"])).days))


# --- create ---

def test_a_new_event(calendar, day):
    reply = calendar.post("/events", wish(day(3), day(5), "Ana & José 🏡"))
    event = reply.body
    assert reply.status == 201
    assert event == {"id": event["id"], "title": "Ana & José 🏡", "start": day(3), "end": day(5), "version": 1,
                     "owner": "admin", "mayChange": True}
    assert str(uuid.UUID(event["id"])) == event["id"]
    assert reply.headers["etag"] == '"1"'
    assert reply.headers["location"] == f"/calendar/api/events/{event['id']}"
    found = calendar.get(f"/events/{event['id']}")
    assert (found.status, found.body, found.headers["etag"]) == (200, event, '"1"')
    assert taken(calendar, day(0), day(10)) == [day(3), day(4)]


def test_events_may_touch(calendar, day):
    events = [create(calendar, day(number), day(number + 2)) for number in (2, 0, 4)]
    assert taken(calendar, day(0), day(10)) == nights(*events)


@pytest.mark.parametrize("start, end, clash", [
    (3, 11, [10]), (10, 15, [10, 11, 12, 13, 14]), (12, 13, [12]), (14, 20, [14]), (13, 22, [13, 14, 20])])
def test_an_overlap_is_refused_with_the_nights_that_clash(calendar, day, start, end, clash):
    events = [create(calendar, day(10), day(15)), create(calendar, day(20), day(21))]
    reply = calendar.post("/events", wish(day(start), day(end)))
    assert (reply.status, reply.code) == (409, "overlap")
    assert reply.body["error"]["nights"] == [day(number) for number in clash]
    assert taken(calendar, day(0), day(30)) == nights(*events)
    assert listed(calendar, day(0), day(30)) == events


def test_create_is_idempotent(calendar, day):
    wanted = wish(day(0), day(3), id=str(uuid.uuid4()))
    first, again = (calendar.post("/events", wanted) for _ in range(2))
    assert (first.status, again.status) == (201, 200)
    assert first.body == again.body
    for other in ({"title": "Ben"}, {"start": day(1)}, {"end": day(2)}, {"start": day(5), "end": day(6)}):
        reply = calendar.post("/events", {**wanted, **other})
        assert (reply.status, reply.code) == (409, "event_exists")
    assert taken(calendar, day(0), day(10)) == nights(first.body)


def test_the_longest_event(calendar, day):
    event = create(calendar, day(0), day(NIGHTS_MAX))
    assert taken(calendar, day(0), day(NIGHTS_MAX + 1)) == nights(event)
    reply = calendar.post("/events", wish(day(100), day(100 + NIGHTS_MAX + 1)))
    assert (reply.status, reply.code) == (422, "too_long")
    assert str(NIGHTS_MAX) in reply.body["error"]["message"]
    assert calendar.post("/events", wish("1900-01-01", "2999-12-31")).code == "too_long"
    assert taken(calendar, day(100), day(190)) == []
    assert delete(calendar, event).status == 204
    assert taken(calendar, day(0), day(NIGHTS_MAX)) == []


@pytest.mark.parametrize("change", [
    {"title": ""}, {"title": None}, {"title": 7}, {"title": "x" * 201}, {"title": "a\0b"}, {"start": "2026-02-30"},
    {"start": 20260101}, {"start": "2026-1-1"}, {"end": "tomorrow"}, {"end": None}, {"start": "1899-12-31"},
    {"end": "3000-01-01"}, {"id": "x"}, {"id": MISSING.replace("-", "")}, {"id": 7}, {"id": None},
    {"id": "ABCDEF00-0000-4000-8000-000000000000"}, {"title": ...}, {"start": ...}, {"end": ...}])
def test_malformed_events_are_refused(calendar, day, change):
    body = {name: value for name, value in {**wish(day(1), day(2)), **change}.items() if value is not ...}
    reply = calendar.post("/events", body)
    assert (reply.status, reply.code) == (400, "bad_parameter")
    assert taken(calendar, day(1), day(2)) == []


def test_an_event_ends_after_it_starts(calendar, day):
    for end in (1, 0):
        assert calendar.post("/events", wish(day(1), day(end))).code == "bad_parameter"


def test_titles_of_the_greatest_length(calendar, day):
    for number, character in enumerate("xé€"):
        assert create(calendar, day(number), day(number + 1), character * 200)["title"] == character * 200
    assert calendar.post("/events", wish(day(5), day(6), "🏡" * 101)).code == "bad_parameter"


# --- update and delete ---

@pytest.mark.parametrize("start, end", [
    (10, 14), (9, 14), (11, 14), (10, 15), (10, 13), (12, 13), (8, 16), (14, 18), (30, 34), (4, 11)])
def test_an_update_takes_and_frees_nights(calendar, day, start, end):
    event = create(calendar, day(10), day(14))
    now = updated(calendar, event, start=day(start), end=day(end), title="Ben")
    assert now == {"id": event["id"], "title": "Ben", "start": day(start), "end": day(end), "version": 2,
                   "owner": "admin", "mayChange": True}
    assert calendar.get(f"/events/{event['id']}").body == now
    assert taken(calendar, day(0), day(50)) == nights(now)
    assert delete(calendar, now).status == 204
    assert taken(calendar, day(0), day(50)) == []


def test_an_update_that_overlaps_changes_nothing(calendar, day):
    event, other = create(calendar, day(0), day(3)), create(calendar, day(5), day(8))
    reply = update(calendar, event, start=day(2), end=day(7))
    assert (reply.status, reply.code, reply.body["error"]["nights"]) == (409, "overlap", [day(5), day(6)])
    assert calendar.get(f"/events/{event['id']}").body == event
    assert taken(calendar, day(0), day(10)) == nights(event, other)


def test_updates_that_are_too_large(calendar, day):
    event = create(calendar, day(0), day(50))
    for start, end, code in ((0, 100, "too_long"), (50, 100, "too_many_changes"), (200, 250, "too_many_changes")):
        reply = update(calendar, event, start=day(start), end=day(end))
        assert (reply.status, reply.code) == (422, code)
    assert taken(calendar, day(0), day(90)) == nights(event)
    event = updated(calendar, event, start=day(50), end=day(99))  # 50 freed, 49 taken
    assert taken(calendar, day(20), day(119)) == nights(event)


def test_delete(calendar, day):
    event = create(calendar, day(0), day(3))
    reply = delete(calendar, event)
    assert (reply.status, reply.content) == (204, b"")
    assert calendar.get(f"/events/{event['id']}").status == 404
    assert delete(calendar, event).code == "not_found"
    assert update(calendar, event).code == "not_found"
    assert listed(calendar, day(0), day(9)) == []
    assert taken(calendar, day(0), day(9)) == []


def test_versions(calendar, day):
    event = create(calendar, day(0), day(3))
    now = updated(calendar, event, title="Ben")
    for version in (0, 1, 3):
        assert update(calendar, event, version, start=day(1)).code == "version_mismatch"
        assert delete(calendar, event, version).status == 412
    path = f"/events/{event['id']}"
    for method in ("PUT", "DELETE"):
        for headers, status in (({}, 428), ({"If-Match": "2"}, 400), ({"If-Match": "*"}, 400)):
            assert calendar.call(method, path, wish(day(1), day(2)), headers).status == status
    assert calendar.get(path).body == now
    assert taken(calendar, day(0), day(9)) == nights(now)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize("event_id", [MISSING, "x", MISSING.upper().replace("0", "A"), "%20", "%ff", "a" * 4000])
def test_events_that_are_not_there(calendar, method, event_id):
    reply = calendar.call(method, f"/events/{event_id}", wish("2026-01-01", "2026-01-02"), {"If-Match": '"1"'})
    assert (reply.status, reply.code) == (404, "not_found")


# --- many at once ---

def test_many_clients_book_the_same_nights_at_once(calendar, day):
    """Exactly one wins; the others get a 409 with the nights, and write nothing."""
    for round_number in range(5):
        first = 20 * round_number
        replies = together(CLIENTS, lambda number: calendar.post(
            "/events", wish(day(first), day(first + 7), f"client {number}")))
        assert sorted(reply.status for reply in replies) == [201] + [409] * (CLIENTS - 1)
        winner, = (reply.body for reply in replies if reply.status == 201)
        assert all(reply.body["error"]["nights"] == nights(winner) for reply in replies if reply.status == 409)
        assert listed(calendar, day(first), day(first + 7)) == [winner]
        assert delete(calendar, winner).status == 204
        assert taken(calendar, day(first), day(first + 7)) == []


def test_many_clients_book_nights_that_partly_overlap(calendar, day):
    replies = together(CLIENTS, lambda number: calendar.post(
        "/events", wish(day(number), day(number + 1 + number % 5), f"client {number}")))
    assert {reply.status for reply in replies} == {201, 409}
    winners = [reply.body for reply in replies if reply.status == 201]
    booked = nights(*winners)
    assert len(booked) == len(set(booked))
    assert taken(calendar, day(0), day(40)) == booked
    assert listed(calendar, day(0), day(40)) == sorted(winners, key=lambda event: event["start"])


def test_many_clients_move_one_event_at_once(calendar, day):
    event = create(calendar, day(0), day(2))
    for _ in range(5):
        replies = together(CLIENTS, lambda number: delete(calendar, event, 0) if number == 0 else update(
            calendar, event, start=day(number), end=day(number + 3), title=f"client {number}"))
        assert sorted(reply.status for reply in replies) == [200] + [412] * (CLIENTS - 1)
        event, = (reply.body for reply in replies if reply.status == 200)
        assert taken(calendar, day(0), day(60)) == nights(event)


def test_events_move_onto_the_same_nights_at_once(calendar, day):
    """As when people drag: all want days 50 to 52, from places of their own."""
    events = [create(calendar, day(2 * number), day(2 * number + 2)) for number in range(CLIENTS)]
    replies = together(CLIENTS, lambda number: update(calendar, events[number], start=day(50), end=day(52)))
    assert sorted(reply.status for reply in replies) == [200] + [409] * (CLIENTS - 1)
    now = listed(calendar, day(0), day(90))
    assert len(now) == CLIENTS
    assert taken(calendar, day(0), day(90)) == nights(*now)


# --- list ---

@pytest.fixture(scope="module")
def stays(calendar):
    """Four events of one year: 2 nights, the longest, 1 night, 9 nights. day(), and the events."""
    day = free_days(calendar)
    return day, [create(calendar, day(start), day(end)) for start, end in ((0, 2), (5, 104), (104, 105), (200, 209))]


@pytest.mark.parametrize("start, end, found", [
    (0, 300, [0, 1, 2, 3]), (0, 1, [0]), (1, 2, [0]), (2, 5, []), (-30, 0, []), (4, 6, [1]), (50, 51, [1]),
    (103, 104, [1]), (104, 105, [2]), (103, 105, [1, 2]), (105, 200, []), (208, 250, [3]), (209, 250, []),
    (-100, 200, [0, 1, 2])])
def test_list_shows_what_reaches_into_the_range(calendar, stays, start, end, found):
    day, events = stays
    assert listed(calendar, day(start), day(end)) == [events[number] for number in found]


def test_pages_of_a_list(calendar, day):
    events = [create(calendar, day(3 * number), day(3 * number + 2)) for number in range(30)]
    for limit in (1, 7, 100):
        assert listed(calendar, day(0), day(200), limit=limit) == events
    reply = calendar.get("/events", **{"from": day(0), "to": day(200), "limit": 7})
    assert len(reply.body["items"]) == 7
    for bad in ("", "x", "e30", reply.body["cursor"][:-5]):
        assert calendar.get("/events", **{"from": day(0), "to": day(200), "cursor": bad}).code == "bad_cursor"


@pytest.mark.parametrize("query", [
    {}, {"from": "2026-01-01"}, {"to": "2026-01-01"}, {"from": "2026-01-01", "to": "2026-01-01"},
    {"from": "2026-01-02", "to": "2026-01-01"}, {"from": "2026-01-01", "to": "2027-01-03"},
    {"from": "2026-01-01", "to": "2026-02-30"}, {"from": "", "to": ""}, {"from": "2026-01-01T00:00", "to": "2026-02-01"},
    {"from": "2026-01-01", "to": "2026-02-01", "limit": "0"}])
def test_malformed_ranges_are_refused(calendar, query):
    reply = calendar.get("/events", **query)
    assert (reply.status, reply.code) == (400, "bad_parameter")


def test_the_first_and_last_days_there_are(calendar):
    for start, end in (("1900-01-01", "1900-01-02"), ("2999-12-30", "2999-12-31")):
        assert calendar.get("/events", **{"from": start, "to": end}).status == 200
