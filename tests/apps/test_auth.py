"""Who is asking: sign-in through a real OpenID Connect provider, bearer tokens, sessions, the development mode, and
that pages of other sites cannot write."""

import base64
import contextlib
import html
import http.cookiejar
import http.client
import json
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from loopback import free_port
from rest import Rest, segment
from server import ROOT, Apps, apps_program
from waiting import poll

NAMES = ["calendar", "calls", "reconciliation", "tasks", "tickets"]


class Browser:
    """Follows links and sends forms, with cookies; sends Origin as browsers do."""

    def __init__(self, site):
        self.site = site
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))
        self.url = None

    def open(self, url, form=None, body=None, headers=None, method=None):
        data = None if form is None else urllib.parse.urlencode(form).encode()
        headers = dict(headers or {})
        if body is not None:
            data = json.dumps(body).encode()
            headers = {"Content-Type": "application/json", "Origin": self.site, **headers}
        request = urllib.request.Request(urllib.parse.urljoin(self.site, url), data, headers, method=method)
        try:
            with self.opener.open(request, timeout=20) as answer:
                self.url = answer.geturl()
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def json(self, url, **more):
        status, text = self.open(url, **more)
        return status, json.loads(text) if text else None

    def sign_in(self, login, return_path="/calls/"):
        """Through the provider's pages: a form for the name, a form for the consent."""
        _, page = self.open(f"/auth/login?return={return_path}")
        for _ in range(3):
            action = re.search(r'<form[^>]* action="([^"]+)"', page)
            if not action or self.url.startswith(self.site):
                break
            prompt = re.search(r'name="prompt" value="(\w+)"', page)[1]
            _, page = self.open(urllib.parse.urljoin(self.url, html.unescape(action[1])),
                                form={"prompt": prompt, "login": login, "password": "any"})


@pytest.fixture(scope="module")
def provider():
    port, apps_port = free_port(), free_port()
    process = subprocess.Popen(["node", ROOT / "tests/apps/oidc_provider.js", str(port),
                                f"http://127.0.0.1:{apps_port}/auth/callback"], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    try:
        poll(lambda: "serves" in process.stdout.readline(), 30, "the provider serves")
        yield f"http://127.0.0.1:{port}", apps_port
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def secret(tmp_path_factory):
    path = tmp_path_factory.mktemp("secret") / "client"
    path.write_text("a secret/with+signs\n")
    return path


def options(provider, secret, tmp_path, *more):
    issuer, port = provider
    return ["--auth", "oidc", "--oidc-issuer", issuer, "--oidc-client-id", "apps", "--oidc-client-secret", secret,
            "--oidc-scopes", "openid profile email roles", "--listen", f"127.0.0.1:{port}",
            "--oidc-audience", "urn:gramme:apps", "--session-key", tmp_path / "session.key", *more]


@pytest.fixture(scope="module")
def oidc(provider, secret, tmp_path_factory):
    with Apps("memory:", "--samples", *options(provider, secret, tmp_path_factory.mktemp("key"))) as process:
        yield process


def session_of(browser):
    return browser.json("/auth/session")[1]


# --- OpenID Connect ---

def test_without_signing_in_nothing_is_told(oidc):
    browser = Browser(oidc.endpoint)
    assert session_of(browser) == {"mode": "oidc", "user": None, "chosen": False, "signIn": "/auth/login"}
    for name in NAMES:
        for path in ("live", "patterns"):
            reply = Rest(f"{oidc.endpoint}/{name}/api").get(f"/{path}")
            assert (reply.status, reply.code, reply.body["error"]["signIn"]) == (
                401, "sign_in_required", "/auth/login")
    reply = Rest(f"{oidc.endpoint}/tickets/api").get("/tickets", {"X-User-Id": "ana"}, caller="ana")
    assert reply.status == 401, "headers of the development mode mean nothing here"
    assert browser.open("/auth/dev", body={"user": "admin"})[0] in (403, 404)


def test_sign_in_through_the_provider(oidc):
    browser = Browser(oidc.endpoint)
    browser.sign_in("ana", "/calls/")
    assert browser.url == f"{oidc.endpoint}/calls/"
    assert session_of(browser)["user"] == {
        "id": "ana", "name": "Name of ana", "email": "ana@example.com", "roles": []}
    cookie = next(each for each in browser.jar if each.name == "gramme_apps_session")
    assert cookie.has_nonstandard_attr("HttpOnly") and cookie.get_nonstandard_attr("SameSite") == "Lax"
    assert browser.json("/calls/api/users/ana/calls")[0] == 200
    status, refused = browser.json("/calls/api/users/ben/calls")
    assert (status, refused["error"]["code"]) == (403, "not_allowed")
    assert browser.json("/auth/logout", body={})[1]["url"].startswith("http")
    assert session_of(browser)["user"] is None


def test_roles_come_from_the_claim(oidc):
    browser = Browser(oidc.endpoint)
    browser.sign_in("operator-1")
    assert session_of(browser)["user"]["roles"] == ["operator"]
    assert browser.json("/reconciliation/api/summary")[0] == 200
    assert browser.json("/tickets/api/tickets?caller=poc-user-001")[0] == 403
    browser = Browser(oidc.endpoint)
    browser.sign_in("admin-1")
    assert browser.json("/tickets/api/tickets?caller=poc-user-001")[0] == 200
    assert browser.json("/tasks/api/me")[1]["isAdmin"] is True


@pytest.mark.parametrize("claim", ["roles", "realm_access.roles", "https://apps.example.com/roles", "role"])
def test_roles_in_the_claims_of_known_providers(provider, tmp_path, claim):
    """Flat, Keycloak's, Auth0's with dots in its name, and a text; the client has no secret, and the user is another claim than sub."""
    arguments = ["--auth", "oidc", "--oidc-issuer", provider[0], "--oidc-client-id", "public", "--oidc-scopes", "openid profile email roles",
                 "--oidc-audience", "urn:gramme:apps", "--oidc-roles-claim", claim, "--oidc-user-claim", "preferred_username",
                 "--session-key", tmp_path / "own.key"]
    with Apps("memory:", *arguments) as process:
        browser = Browser(process.endpoint)
        browser.sign_in("operator-1")
        user = session_of(browser)["user"]
        assert (user["id"], user["roles"]) == ("user.operator-1", ["operator"])
        assert browser.json("/reconciliation/api/summary")[0] == 200
        assert browser.json("/tickets/api/tickets?caller=poc-user-001")[0] == 403
        other = Browser(process.endpoint)
        other.sign_in("ana")
        assert (session_of(other)["user"]["id"], session_of(other)["user"]["roles"]) == ("user.ana", [])
        robot = bearer(process, token_of(provider))
        assert robot.post("/tickets", {"issue_description": "x", "caller_id": "somebody"}).status == 201, "it is an agent"
        assert robot.get("/tickets").body["items"] == [], "of its own"


@pytest.mark.parametrize("claim", ["realm_access", "realm_access.none", "nothing.roles", "roles.roles", "name"])
def test_claims_without_roles_give_none(provider, tmp_path, claim):
    with Apps("memory:", "--auth", "oidc", "--oidc-issuer", provider[0], "--oidc-client-id", "public", "--oidc-scopes",
              "openid profile roles", "--oidc-roles-claim", claim, "--session-key", tmp_path / "own.key") as process:
        browser = Browser(process.endpoint)
        browser.sign_in("admin-1")
        assert (session_of(browser)["user"]["id"], session_of(browser)["user"]["roles"]) == ("admin-1", [])


def test_a_user_claim_that_is_missing_signs_nobody_in(provider, tmp_path):
    with Apps("memory:", "--auth", "oidc", "--oidc-issuer", provider[0], "--oidc-client-id", "public", "--oidc-user-claim", "nothing",
              "--session-key", tmp_path / "own.key") as process:
        browser = Browser(process.endpoint)
        browser.sign_in("ana")
        assert "signIn=failed" in browser.url and session_of(browser)["user"] is None
        assert "claim nothing is missing" in process.log()


def test_sessions_survive_a_restart(provider, secret, tmp_path, oidc):
    """Another process with the same key knows them; one with another key does not."""
    browser = Browser(oidc.endpoint)
    browser.sign_in("ana")
    cookie = next(each for each in browser.jar if each.name == "gramme_apps_session").value
    key = next(path for path in tmp_path.parent.glob("**/session.key"))
    arguments = options(provider, secret, tmp_path)
    arguments[arguments.index("--listen") + 1] = "127.0.0.1:0"
    for path, status in ((key, 200), (tmp_path / "other.key", 401)):
        arguments[arguments.index("--session-key") + 1] = path
        with Apps("memory:", *arguments) as process:
            reply = Rest(f"{process.endpoint}/calls/api").get("/users/ana/calls",
                                                              {"Cookie": f"gramme_apps_session={cookie}"})
            assert reply.status == status
    assert (tmp_path / "other.key").stat().st_mode & 0o777 == 0o600


def test_a_session_that_was_changed_is_none(oidc):
    browser = Browser(oidc.endpoint)
    browser.sign_in("ana")
    token = next(each for each in browser.jar if each.name == "gramme_apps_session").value
    payload, mac = token.split(".")
    forged = json.loads(base64.urlsafe_b64decode(payload + "=="))
    forged["roles"] = ["admin"]
    changed = base64.urlsafe_b64encode(json.dumps(forged).encode()).decode().rstrip("=")
    api = Rest(f"{oidc.endpoint}/calls/api")
    other = mac[:-2] + ("BA" if mac.endswith("AA") else "AA")
    for bad in (f"{changed}.{mac}", f"{payload}.", f"{payload}.{other}", payload, "", "."):
        assert api.get("/users/ana/calls", {"Cookie": f"gramme_apps_session={bad}"}).status == 401, bad
    assert api.get("/users/ana/calls", {"Cookie": f"x=y; gramme_apps_session={token}"}).status == 200


@pytest.mark.parametrize("query", ["", "?code=x&state=y", "?error=access_denied&state=z"])
def test_a_callback_that_nobody_began_signs_nobody_in(oidc, query):
    browser = Browser(oidc.endpoint)
    browser.open(f"/auth/callback{query}")
    assert "signIn=failed" in browser.url
    assert session_of(browser)["user"] is None


@pytest.mark.parametrize("path", ["https://evil.example/", "//evil.example/", "/\\evil.example", "/\t/evil.example", "x"])
def test_sign_in_leads_back_to_this_site_only(oidc, path):
    browser = Browser(oidc.endpoint)
    browser.sign_in("ana", urllib.parse.quote(path))
    assert browser.url == f"{oidc.endpoint}/"


# --- bearer tokens ---

def token_of(provider, resource="urn:gramme:apps"):
    basic = base64.b64encode(b"robot:robot+secret").decode()
    form = urllib.parse.urlencode({"grant_type": "client_credentials", "resource": resource, "scope": "api"}).encode()
    request = urllib.request.Request(f"{provider[0]}/token", form, {"Authorization": f"Basic {basic}"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)["access_token"]


def bearer(oidc, token):
    return Rest(f"{oidc.endpoint}/tickets/api", {"Authorization": f"Bearer {token}"})


def test_a_program_with_a_token_of_the_provider(oidc, provider):
    api = bearer(oidc, token_of(provider))
    reply = api.post("/tickets", {"issue_description": "from a robot", "caller_id": "somebody"})
    assert reply.status == 201, reply  # the role agent is in its token; no Origin is needed
    assert api.get("/tickets", caller="somebody").body["items"][0]["ticket_id"] == reply.body["ticket_id"]


def test_tokens_that_are_not_good(oidc, provider):
    token = token_of(provider)
    head, payload, signature = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    claims["roles"] = ["admin"]
    other = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    none = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    hmac = base64.urlsafe_b64encode(b'{"alg":"HS256"}').decode().rstrip("=")
    for bad in (f"{head}.{other}.{signature}", f"{head}.{payload}.", f"{none}.{other}.", f"{hmac}.{other}.{signature}",
                "x", "a.b.c", f"{head}.{payload}.{signature[:-4]}AAAA", token_of(provider, "urn:somebody:else")):
        reply = bearer(oidc, bad).get("/tickets", caller="x")
        assert (reply.status, reply.code) == (401, "bad_token"), bad
        assert reply.headers["www-authenticate"].startswith("Bearer")


# --- writes of other sites ---

def test_writes_with_a_cookie_need_our_origin(oidc):
    browser = Browser(oidc.endpoint)
    browser.sign_in("ana")
    ticket = {"issue_description": "The printer is on fire"}
    assert browser.open("/tickets/api/tickets", body=ticket)[0] == 201
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"},
                    {"Origin": oidc.endpoint, "Sec-Fetch-Site": "cross-site"},
                    {"Origin": f"{oidc.endpoint}.evil.example"}):
        status, text = browser.open("/tickets/api/tickets", body=ticket, headers=headers)
        assert (status, json.loads(text)["error"]["code"]) == (403, "cross_site"), headers
    cookie = "; ".join(f"{each.name}={each.value}" for each in browser.jar)
    api = Rest(f"{oidc.endpoint}/tickets/api", {"Cookie": cookie})
    assert api.post("/tickets", ticket).code == "cross_site"  # a browser says where it comes from
    assert api.send("DELETE", "/tickets/x").status == 405


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
                                          "", "application/jsonx"])
def test_writes_are_json(tickets, content_type):
    reply = tickets.send("POST", "/tickets", b'{"issue_description": "x"}', {"Content-Type": content_type})
    assert (reply.status, reply.code) == (415, "json_required")
    reply = tickets.send("POST", "/tickets", b'{"issue_description": "x"}',
                         {"Content-Type": "application/json; charset=utf-8"})
    assert reply.status == 201


# --- the development mode ---

@pytest.mark.parametrize("public_url, origin", [
    ("https://apps.example.com", "https://apps.example.com"), ("https://apps.example.com/", "https://apps.example.com"),
    ("https://apps.example.com:443", "https://apps.example.com"), ("https://apps.example.com:8443/", "https://apps.example.com:8443"),
    ("http://127.0.0.1:80", "http://127.0.0.1")])
def test_forms_of_the_public_address(public_url, origin):
    """It is compared with what browsers send as Origin, and decides whether cookies are Secure."""
    with Apps("memory:", "--public-url", public_url, "--auth", "oidc", "--oidc-issuer", "http://127.0.0.1:9", "--oidc-client-id", "apps") as process:
        for sent, status in ((origin, 200), (origin + "/", 403), (origin + ".evil.example", 403)):
            reply = Rest(process.endpoint).post("/auth/logout", {}, headers={"Origin": sent})
            assert reply.status == status, sent
            assert status != 200 or reply.headers["set-cookie"].endswith("; Secure") == origin.startswith("https:")


def test_how_long_a_session_lasts():
    with Apps("memory:", "--public-url", "http://127.0.0.1", "--session-hours", "2") as process:
        browser = Browser(process.endpoint)
        assert browser.open("/auth/dev", body={"user": "ana"}, headers={"Origin": "http://127.0.0.1"})[0] == 200
        cookie, = browser.jar
        assert abs(cookie.expires - time.time() - 2 * 3600) < 60
        assert "development mode: everybody" in process.log()


def test_choosing_a_user(apps):
    browser = Browser(apps.endpoint)
    session = session_of(browser)
    assert (session["mode"], session["chosen"], session["user"]["id"]) == ("dev", False, "admin")
    assert {"id": "dr-lund", "name": "Dr. Lund", "roles": ["provider"]} in session["users"]
    status, session = browser.json("/auth/dev", body={"user": "dr-lund"})
    assert (status, session["chosen"], session["user"]["roles"]) == (200, True, ["provider"])
    assert session_of(browser)["user"]["id"] == "dr-lund"
    assert browser.json("/reconciliation/api/summary")[0] == 403
    assert browser.json("/auth/dev", body={"user": "zoe", "roles": ["operator", "nonsense"]})[1]["user"] == {
        "id": "zoe", "name": "zoe", "email": "zoe@example.com", "roles": ["operator"]}
    assert browser.json("/reconciliation/api/summary")[0] == 200
    assert browser.json("/auth/dev", body={"user": "a#b"})[0] == 400
    assert browser.json("/auth/dev", body={"user": "ana"}, headers={"Origin": "http://evil.example"})[0] == 403
    assert browser.json("/auth/logout", body={})[1] == {"url": None}
    assert session_of(browser)["chosen"] is False


# Ids as providers make them: Auth0, e-mail addresses, Keycloak's federated users, names of a domain, distinguished names.
IDS = ["auth0|5f7c8ec7c33c6c004bbafe82", "ana.smith+desk@example.com", "f:0d0a1c6e-1f3a-4b52-9a3f-3b2f2b8f6a10:ana", "CORP\\ana",
       "CN=Ana Smith,OU=People", "ana/smith", "100% ana?&=", "a" * 255]


@pytest.mark.parametrize("user", IDS)
def test_ids_of_any_provider(apps, user):
    """They work in each application, in bodies, paths and queries; Location is encoded."""
    def api(name, *roles):
        return Rest(f"{apps.endpoint}/{name}/api").acting_as(user, ",".join(roles))
    call = api("calls").post("/calls", {"userId": user, "providerId": user, "scheduledFor": 7})
    assert call.status == 201 and call.body["userId"] == user
    assert [each["callId"] for each in api("calls").get(f"/users/{segment(user)}/calls").body["items"]] == [call.body["callId"]]
    assert api("calls", "provider").get(f"/providers/{segment(user)}/calls").body["items"][0]["providerId"] == user
    made = Rest(f"{apps.endpoint}/tasks/api").post("/users", {"userId": user, "email": "a@b"})
    assert made.status == 201 and made.headers["location"] == f"/tasks/api/users/{segment(user)}"
    assert api("tasks").get("/me").body["profile"]["userId"] == user
    task = api("tasks").post("/tasks", {"title": "t", "priority": "LOW"}).body
    assert Rest(f"{apps.endpoint}/tasks/api").post(f"/tasks/{task['taskId']}/assignments", {"userId": user}).status == 201
    assert len(api("tasks").get(f"/users/{segment(user)}/tasks").body["items"]) == 1
    ticket = api("tickets").post("/tickets", {"issue_description": "x"}).body
    assert ticket["caller_id"] == user and ticket["mine"] is True
    assert len(api("tickets").get("/tickets", caller=user).body["items"]) == 1
    event = {"title": "t", "start": f"2{IDS.index(user):03}-01-01", "end": f"2{IDS.index(user):03}-01-02"}
    assert api("calendar").post("/events", event).body["owner"] == user


@pytest.mark.parametrize("user", ["a#b", "ä", "..", "x" * 256, "a\tb"])
def test_a_header_that_names_nobody(apps, user):
    """It is refused: acting as the default user instead, an administrator, would hide the mistake."""
    reply = Rest(f"{apps.endpoint}/tickets/api").get("/settings", {"X-User-Id": user.encode("latin-1")})
    assert (reply.status, reply.code, reply.body["error"]["field"]) == (400, "bad_parameter", "X-User-Id")


def test_other_names_do_not_reach_it(apps):
    """A site may let its own name point to this machine."""
    api = Rest(f"{apps.endpoint}/tickets/api")
    assert api.get("/settings", {"Host": "evil.example"}).code == "cross_site"
    assert api.get("/settings", {"Host": f"localhost:{apps.port}"}).status == 200
    assert api.get("/settings", {"Host": "127.0.0.1.evil.example"}).code == "cross_site"


@pytest.mark.parametrize("header", ["Forwarded", "Via", "X-Real-IP", "X-Forwarded-For", "x-forwarded-proto"])
def test_the_development_mode_does_not_answer_through_a_proxy(apps, header):
    """It would let everybody in as an administrator, under an address of this machine."""
    through = {header: "192.0.2.7", "Host": f"127.0.0.1:{apps.port}"}
    reply = Rest(f"{apps.endpoint}/tasks/api").post("/users", {"email": "a@b", "isAdmin": True}, headers=through)
    assert (reply.status, reply.code) == (403, "proxy")
    assert Rest(apps.endpoint).get("/auth/session", through).code == "proxy"


@pytest.mark.parametrize("arguments", [
    ["--listen", "0.0.0.0:0"], ["--auth", "dev", "--listen", "0.0.0.0:0"], ["--auth", "none"], ["--auth", "oidc"],
    ["--public-url", "https://apps.example.com"], ["--auth", "dev", "--public-url", "https://apps.example.com"],
    ["--public-url", "http://127.evil.example"], ["--public-url", "http://localhost.evil.example:80"],
    ["--auth", "oidc", "--oidc-issuer", "http://provider.example", "--oidc-client-id", "x"],
    ["--log-format", "xml"], ["--log-level", "all"], ["--session-key", "/nowhere/key"],
    ["--ticket-statuses", "Open,,x"], ["--live-interval-ms", "0"], ["--session-hours", "0"], ["--session-hours", "8761"],
    *(["--public-url", url] for url in ("apps.example.com", "ftp://a", "https://", "https:///", "https://a/b", "https://a//", "https://a?b",
                                        "https://a#b", "https://ana@a", "https://a b"))])
def test_bad_options(arguments):
    done = subprocess.run([apps_program(), "--db", "memory:", *arguments], capture_output=True, text=True, timeout=20)
    assert done.returncode in (1, 2) and done.stderr.startswith("gramme-apps: "), done


# --- errors ---

def test_a_body_that_is_too_large(apps):
    connection = http.client.HTTPConnection("127.0.0.1", apps.port, timeout=20)
    connection.putrequest("POST", "/tickets/api/tickets")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(10**9))
    connection.endheaders()
    answer = connection.getresponse()
    error = json.loads(answer.read())["error"]
    assert (answer.status, answer.getheader("Content-Type"), error["code"]) == (413, "application/json", "too_large")
    assert answer.getheader("X-Request-Id") == error["requestId"]


def test_methods_that_are_not_there_say_which_are(apps, tasks):
    reply = tasks.send("PATCH", "/tasks/7", b"{}")
    assert (reply.status, reply.code, reply.headers["allow"]) == (405, "method_not_allowed", "GET, PUT")
    page = Rest(apps.endpoint).send("POST", "/tickets/", b"{}")
    assert (page.status, page.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("name, path, body, field", [
    ("tickets", "/tickets", {"issue_description": "x", "status": "closed"}, "status"),
    ("tasks", "/tasks", {"title": "x", "priority": "LOW", "createdBy": "ana"}, "createdBy"),
    ("calls", "/calls", {"userId": "a", "providerId": "p", "scheduledFor": 1, "status": "COMPLETED"}, "status"),
    ("calendar", "/events", {"title": "x", "start": "2031-01-01", "end": "2031-01-02", "color": "red"}, "color"),
    ("reconciliation", "/calls", {"calls": [], "dry": True}, "dry"),
])
def test_unknown_fields_are_refused(apps, name, path, body, field):
    reply = Rest(f"{apps.endpoint}/{name}/api").post(path, body)
    assert (reply.status, reply.code, reply.body["error"]["field"]) == (400, "unknown_field", field)


@pytest.mark.parametrize("text", [
    " ", "\t\n", "\u00a0\u2003", "\u200b", "\u3000 \ufeff", "\u0085", "\u1680", "\u205f", "\u00ad", "\u061c", "\u180e", "\u200c", "\u200d",
    "\u2060", "\u2800", "\u3164", "\ufe0f", "\u200e\u200f", "\u202e\u202c", "\U000e0020\U0001d173"])
def test_blank_texts_are_refused(tickets, tasks, text):
    reply = tickets.post("/tickets", {"issue_description": text})
    assert (reply.status, reply.code, reply.body["error"]["field"]) == (400, "blank", "issue_description")
    assert tasks.post("/tasks", {"title": text, "priority": "LOW"}).code == "blank"


@pytest.mark.parametrize("text", ["\u200d❤\ufe0f", "\u2801", "\u00a1", "\ufff9", "\U000e1000", "."])
def test_texts_that_show_something_are_taken(tickets, text):
    assert tickets.post("/tickets", {"issue_description": text}).body["issue_description"] == text


def test_request_ids(tickets):
    reply = tickets.get("/settings", {"X-Request-Id": "my-7"})
    assert reply.headers["x-request-id"] == "my-7"
    other = tickets.get("/settings", {"X-Request-Id": "<script>"}).headers["x-request-id"]
    assert re.fullmatch("[0-9a-f]{16}", other)


def test_the_log_has_each_request_and_the_cause_of_what_failed(tmp_path):
    with contextlib.ExitStack() as stack:
        apps = stack.enter_context(Apps("memory:", "--log-format", "json"))
        api = Rest(f"{apps.endpoint}/tickets/api")
        request_id = api.get("/settings", {"X-User-Id": "ana"}).headers["x-request-id"]
        lines = poll(lambda: [line for line in map(json.loads, filter(lambda line: line.startswith("{"),
                              apps.log().splitlines())) if line.get("request") == request_id], 10, "it is logged")
        assert lines[0]["method"] == "GET" and lines[0]["path"] == "/tickets/api/settings"
        assert lines[0]["user"] == "ana" and lines[0]["message"].startswith("200 in ")
