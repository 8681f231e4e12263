"""What holds for every operation of the five APIs, as openapi.json lists them: nobody who is not signed in, no other website, no
other content type, no unknown field, no unknown parameter of the query."""

import http.cookiejar
import json
import re
import urllib.request

import pytest

from rest import Rest
from server import ROOT, Apps

NAMES = ["calendar", "calls", "reconciliation", "tasks", "tickets"]
EVIL = "https://evil.example"


def described(name):
    return json.loads((ROOT / "apps" / name / "openapi.json").read_text())


def operations(writes_only):
    for name in NAMES:
        for path, methods in described(name)["paths"].items():
            for method in methods:
                if not writes_only or method != "get":
                    yield pytest.param(name, method.upper(), re.sub(r"{\w+}", "x-1", path), id=f"{name} {method.upper()} {path}")


@pytest.fixture(scope="module")
def site():
    with Apps("memory:") as process:
        yield process


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    """With sign-in; its provider is not there, and need not be."""
    with Apps("memory:", "--auth", "oidc", "--oidc-issuer", "http://127.0.0.1:9", "--oidc-client-id", "apps",
              "--session-key", tmp_path_factory.mktemp("key") / "key") as process:
        yield process


@pytest.fixture(scope="module")
def cookie(site):
    """An administrator's session."""
    jar = http.cookiejar.CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    opener.open(urllib.request.Request(f"{site.endpoint}/auth/dev", b'{"user": "boss", "roles": ["admin"]}',
                                       {"Content-Type": "application/json", "Origin": site.endpoint}), timeout=20)
    return "; ".join(f"{each.name}={each.value}" for each in jar)


@pytest.mark.parametrize("name, method, path", operations(writes_only=False))
def test_nobody_in_particular_gets_nothing(closed, name, method, path):
    api = Rest(f"{closed.endpoint}/{name}/api")
    for headers in ({}, {"X-User-Id": "admin", "X-User-Roles": "admin"}, {"Cookie": "gramme_apps_session=e30.AAAA"}):
        reply = api.call(method, path, None if method == "GET" else {}, headers)
        assert (reply.status, reply.code) == (401, "sign_in_required"), reply


@pytest.mark.parametrize("name, method, path", operations(writes_only=True))
def test_other_websites_cannot_write(site, cookie, name, method, path):
    api = Rest(f"{site.endpoint}/{name}/api", {"Cookie": cookie})
    for headers in ({"Origin": EVIL}, {"Origin": "null"}, {}, {"Origin": site.endpoint, "Sec-Fetch-Site": "cross-site"}):
        reply = api.call(method, path, {}, headers)
        assert (reply.status, reply.code) == (403, "cross_site"), (headers, reply)


@pytest.mark.parametrize("name, method, path", operations(writes_only=True))
def test_writes_are_json(site, name, method, path):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        reply = Rest(f"{site.endpoint}/{name}/api").send(method, path, b"{}", {"Content-Type": kind})
        assert (reply.status, reply.code) == (415, "json_required"), reply


@pytest.mark.parametrize("name, method, path", [each for each in operations(writes_only=True) if each.values[1] != "DELETE"])
def test_unknown_fields_are_refused(site, name, method, path):
    reply = Rest(f"{site.endpoint}/{name}/api").call(method, path, {"nonsense": 1}, {"If-Match": '"1"'})
    assert (reply.status, reply.code, reply.body["error"]["field"]) == (400, "unknown_field", "nonsense"), reply


@pytest.mark.parametrize("name", NAMES)
def test_refusals_are_described(name):
    for path, methods in described(name)["paths"].items():
        for method, operation in methods.items():
            assert {"401", "403", "503"} <= set(operation["responses"]), (method, path)


def parameters(name, path, method):
    """The query's parameters in openapi.json."""
    document = described(name)
    listed = [document["components"]["parameters"][each["$ref"].rsplit("/", 1)[1]] if "$ref" in each else each
              for each in document["paths"][path][method].get("parameters", [])]
    return [each["name"] for each in listed if each["in"] == "query"]


@pytest.mark.parametrize("name", NAMES)
def test_parameters_of_queries_are_those_of_the_description(site, name):
    api = Rest(f"{site.endpoint}/{name}/api")
    for path, methods in described(name)["paths"].items():
        for method in methods:
            where = re.sub(r"{\w+}", "x-1", path)
            body = None if method in ("get", "delete") else {}
            refused = api.call(method.upper(), where, body, nonsense="1")
            assert (refused.status, refused.code, refused.body["error"]["field"]) == (400, "unknown_field", "nonsense"), (method, path)
            for parameter in parameters(name, path, method):
                reply = api.call(method.upper(), where, body, **{parameter: "1"})
                assert reply.status < 400 or reply.code != "unknown_field", (method, path, parameter)
