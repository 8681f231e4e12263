"""Over HTTP, with a server that fails in every way: retries, time-outs, reuse of connections,
signatures."""

import datetime
import json
import shutil
import ssl
import subprocess
import time
import zlib

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from fake import Fake, Reply, error

GOOD = Reply(200, {"TableNames": ["a"]})


def test_a_failure_that_passes(probe):
    with Fake(error("InternalServerError", 500), Reply(503, "<html>"), GOOD) as fake:
        outcome = probe(fake.url, "ListTables", {"Limit": 3})
        assert outcome["code"] == "" and outcome["answer"] == {"TableNames": ["a"]}
        assert [asked.json() for asked in fake.asked] == [{"Limit": 3}] * 3


def test_a_failure_that_stays(probe):
    with Fake(error("InternalServerError", 500, "broken", x_amzn_RequestId="R1")) as fake:
        outcome = probe(fake.url)
        assert len(fake.asked) == 4
        assert outcome == {"code": "InternalServerError", "message": "broken", "status": 500,
                           "attempts": 4, "retryable": True, "request_id": "R1"}


def test_throttling_waits_longer(probe):
    """Up to 1, 2 and 4 s, at random: with three of them hardly ever under 100 ms in all."""
    with Fake(error("ProvisionedThroughputExceededException"), error("ThrottlingException"),
              error("RequestLimitExceeded"), GOOD) as fake:
        start = time.monotonic()
        assert probe(fake.url)["code"] == ""
        assert len(fake.asked) == 4
        assert 0.1 < time.monotonic() - start < 8


@pytest.mark.parametrize("code", ["ValidationException", "ConditionalCheckFailedException",
                                  "ResourceNotFoundException", "TransactionCanceledException",
                                  "TransactionConflictException", "AccessDeniedException"])
def test_what_is_not_retried(probe, code):
    with Fake(error(code)) as fake:
        outcome = probe(fake.url)
        assert (outcome["code"], outcome["attempts"], len(fake.asked)) == (code, 1, 1)


def test_number_of_attempts(probe):
    for more in ({"attempts_max": 2}, {"AWS_MAX_ATTEMPTS": 2}):
        with Fake(error("InternalServerError", 500)) as fake:
            assert probe(fake.url, **more)["attempts"] == 2
            assert len(fake.asked) == 2


def test_quota_ends_retries(probe):
    """35 retries use up the 500 tokens: of 20 calls the first 11 can make all three, the 12th two."""
    with Fake(error("InternalServerError", 500)) as fake:
        assert probe(fake.url, repeat=20)["attempts"] == 1
        assert len(fake.asked) == 20 + 35


def test_server_says_when(probe):
    waits = []
    while not waits or min(waits) >= 3 and len(waits) < 5:  # again, if the machine held the client up
        with Fake(error("InternalServerError", 500, x_amz_retry_after=400), GOOD) as fake:
            assert probe(fake.url)["code"] == ""
            waits.append(fake.asked[1].time - fake.asked[0].time)
    assert 0.4 <= min(waits) < 3


def test_no_server(probe):
    with Fake(GOOD) as fake:
        url = fake.url
    outcome = probe(url)
    assert (outcome["code"], outcome["attempts"], outcome["status"]) == ("ConnectionFailed", 4, 0)
    assert outcome["retryable"] and url in outcome["message"]


def test_no_such_host(probe):
    outcome = probe("http://gramme.invalid:8000", attempts_max=1, access_key_id="a",
                    secret_access_key="b")
    assert outcome["code"] == "ConnectionFailed"


def test_answer_is_cut_off(probe):
    with Fake(Reply(200, {"TableNames": ["a"]}, cut=5), GOOD) as fake:
        assert probe(fake.url)["answer"] == {"TableNames": ["a"]}
        assert len(fake.asked) == 2


def test_answer_is_damaged(probe):
    body = b'{"TableNames":["a"]}'
    right, wrong = ({"x_amz_crc32": zlib.crc32(body) ^ flip} for flip in (0, 1))
    with Fake(Reply(200, body, wrong), Reply(200, body, right)) as fake:
        assert probe(fake.url)["answer"] == {"TableNames": ["a"]}
        assert len(fake.asked) == 2
    with Fake(Reply(200, body, wrong)) as fake:
        assert probe(fake.url, attempts_max=2)["code"] == "BadAnswer"


@pytest.mark.parametrize("body", ["", "{", "[]", '{"Item": {"a": "b"}}', "<html></html>"])
def test_answer_is_nonsense(probe, body):
    with Fake(Reply(200, body)) as fake:
        outcome = probe(fake.url, attempts_max=2)
        assert (outcome["code"], len(fake.asked)) == ("BadAnswer", 2)


def test_not_a_dynamodb(probe):
    with Fake(Reply(404, "<h1>not here</h1>")) as fake:
        outcome = probe(fake.url)
        assert (outcome["code"], outcome["status"], len(fake.asked)) == ("BadAnswer", 404, 1)
        assert "not here" in outcome["message"]


def test_time_out(probe):
    with Fake(Reply(wait=True)) as fake:
        start = time.monotonic()
        outcome = probe(fake.url, timeout_ms=200, attempts_max=2)
        assert (outcome["code"], outcome["attempts"]) == ("TimedOut", 2)
        assert 0.4 <= time.monotonic() - start < 10


def test_time_out_that_passes(probe):
    """More attempts than one would need: also the fake server may be held up."""
    with Fake(Reply(wait=True), GOOD) as fake:
        assert probe(fake.url, timeout_ms=500, attempts_max=10)["answer"] == {"TableNames": ["a"]}


def test_connection_is_kept(probe):
    with Fake(GOOD) as fake:
        probe(fake.url, repeat=5)
        assert len({asked.port for asked in fake.asked}) == 1
        assert len(fake.asked) == 5


def test_transaction_keeps_its_token(probe):
    with Fake(error("InternalServerError", 500), Reply(200, {}), Reply(200, {})) as fake:
        probe(fake.url, transact=2, repeat=2)
        first, again, other = [asked.json()["ClientRequestToken"] for asked in fake.asked]
        assert first == again != other
        assert len(first) == 36


def test_unprocessed_is_sent_again(probe):
    written = []

    def take_some(asked):
        writes = asked.json()["RequestItems"]["T"]
        assert len(writes) <= 25
        some = len(writes) // 2 if len(writes) > 3 else len(writes)
        written.extend(write["PutRequest"]["Item"]["pk"]["N"] for write in writes[:some])
        rest = writes[some:]
        return Reply(200, {"UnprocessedItems": {"T": rest} if rest else {}})
    with Fake(take_some) as fake:
        assert probe(fake.url, batch=60)["code"] == ""
    assert sorted(map(int, written)) == list(range(60))


def test_batch_that_gets_nowhere(probe):
    with Fake(lambda asked: Reply(200, {"UnprocessedItems": asked.json()["RequestItems"]})) as fake:
        outcome = probe(fake.url, batch=3)
        assert outcome["code"] == "ProvisionedThroughputExceededException"
        assert outcome["retryable"]
        assert len(fake.asked) == 8


# --- what is sent ---

def botocore_authorization(asked, credentials, region):
    """The Authorization header that botocore makes for the same request at the same time."""
    signed = asked.headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
    headers = {name: asked.headers[name] for name in signed if name != "host"}
    request = AWSRequest(asked.method, f"http://{asked.headers['host']}{asked.path}", headers=headers,
                         data=asked.body)
    request.context["timestamp"] = asked.headers["x-amz-date"]
    auth = SigV4Auth(credentials, "dynamodb", region)
    canonical = auth.canonical_request(request)
    signature = auth.signature(auth.string_to_sign(request, canonical), request)
    return (f"AWS4-HMAC-SHA256 Credential={auth.scope(request)}, "
            f"SignedHeaders={';'.join(sorted(signed))}, Signature={signature}")


@pytest.mark.parametrize("token", [None, "the/token+=="])
def test_signature(probe, token):
    options = dict(region="eu-west-1", access_key_id="AKID", secret_access_key="se/cret+")
    if token:
        options["session_token"] = token
    with Fake(GOOD) as fake:
        probe(fake.url, "PutItem", {"TableName": "T", "Item": {"pk": {"S": "é\n\""}}}, **options)
        asked, = fake.asked
    assert asked.headers["x-amz-target"] == "DynamoDB_20120810.PutItem"
    assert asked.headers["content-type"] == "application/x-amz-json-1.0"
    assert asked.headers["user-agent"].startswith("gramme/")
    assert asked.headers.get("x-amz-security-token") == token
    assert "expect" not in asked.headers
    sent = datetime.datetime.strptime(asked.headers["x-amz-date"], "%Y%m%dT%H%M%SZ")
    assert abs(datetime.datetime.utcnow() - sent) < datetime.timedelta(minutes=1)
    assert asked.headers["authorization"] == botocore_authorization(
        asked, Credentials("AKID", "se/cret+", token), "eu-west-1")


@pytest.mark.parametrize("token", [None, "the/token+=="])
def test_insight_is_signed(probe, token):
    options = dict(region="eu-west-1", access_key_id="AKID", secret_access_key="se/cret+", insight=1)
    if token:
        options["session_token"] = token
    with Fake(Reply(200, {"patterns": [{"Key": "not an attribute value"}]})) as fake:
        outcome = probe(fake.url + "/", "patterns", {"table": "a table/é&=", "limit": 10, "after": "~x"}, **options)
        asked, = fake.asked
    assert outcome["answer"] == {"patterns": [{"Key": "not an attribute value"}]}
    assert (asked.method, asked.path) == ("GET", "/_gramme/api/patterns?after=~x&limit=10&table=a%20table%2F%C3%A9%26%3D")
    assert asked.body == b"" and "x-amz-target" not in asked.headers
    assert asked.headers["authorization"] == botocore_authorization(asked, Credentials("AKID", "se/cret+", token), "eu-west-1")


def test_insight_of_other_servers(probe):
    """Another DynamoDB knows no such page; a page is a name; the engine in this process has none."""
    with Fake(error("UnknownOperationException")) as fake:
        outcome = probe(fake.url, "patterns", insight=1)
        assert (outcome["code"], outcome["status"], outcome["attempts"]) == ("UnknownOperationException", 400, 1)
        for page in ("", "../secret", "a b", "a?b", "a\r\nb"):
            assert probe(fake.url, page, insight=1)["code"] == "BadRequest", page
        assert probe(fake.url, "patterns", {"limit": [1]}, insight=1)["code"] == "BadRequest"
        assert len(fake.asked) == 1
    with Fake(Reply(404, "<html>")) as fake:
        assert probe(fake.url, "patterns", insight=1)["status"] == 404
    assert probe("memory:", "patterns", insight=1)["code"] == "BadAddress"


def test_streams_are_another_service(probe):
    with Fake(GOOD) as fake:
        probe(fake.url, "GetRecords")
        assert fake.asked[0].headers["x-amz-target"] == "DynamoDBStreams_20120810.GetRecords"


def test_large_request(probe):
    """Over 1 MB curl would ask first (Expect: 100-continue), which this server never answers."""
    text = "x" * 100_000
    with Fake(GOOD) as fake:
        outcome = probe(fake.url, "BatchWriteItem", {"Texts": [text]})
        assert outcome["code"] == ""
        assert json.loads(fake.asked[0].body) == {"Texts": [text]}


def test_proxies_are_not_for_this_machine(probe):
    with Fake(GOOD) as fake:
        assert probe(fake.url, HTTP_PROXY="http://127.0.0.1:1", ALL_PROXY="http://127.0.0.1:1")[
            "code"] == ""


# --- TLS ---

@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("needs the openssl command")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
                   check=True, capture_output=True)
    return folder


def test_tls(probe, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    with Fake(GOOD, context=context) as fake:
        assert probe(fake.url, ca_file=certificate / "cert.pem")["answer"] == {"TableNames": ["a"]}
        assert probe(fake.url, AWS_CA_BUNDLE=certificate / "cert.pem")["code"] == ""
        outcome = probe(fake.url, attempts_max=1)  # nobody vouches for it
        assert outcome["code"] == "ConnectionFailed"
        assert "certificate" in outcome["message"]


# --- addresses ---

def test_bad_addresses(probe):
    for url in ("ftp://localhost", "localhost:8000", "", "http://", "http://localhost/path",
                "http://user:word@localhost", "http://localhost:99999", "mysql:x"):
        assert probe(url)["code"] == "BadAddress", url
    assert probe("aws:")["code"] == "NoRegion"


def test_default_address(probe):
    with Fake(GOOD) as fake:
        assert probe("aws:", AWS_ENDPOINT_URL_DYNAMODB=fake.url, AWS_ENDPOINT_URL="http://x")[
            "code"] == ""
        assert probe("aws:", AWS_ENDPOINT_URL=fake.url)["code"] == ""
        assert len(fake.asked) == 2
