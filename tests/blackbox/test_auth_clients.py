"""Clients that sign as they do for the service are accepted by --auth on, plain and by TLS: botocore, the AWS CLI, the
AWS SDK for JavaScript, and libgramme; in the header, and in the query where the client can. With another secret each of
them is refused."""

import hashlib
import json
import os
import pathlib
import subprocess
import urllib.error
import urllib.request

import boto3
import pytest
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from boto_config import boto3_config
from c_programs import BUILD, clean_environment, run
from certificates import Authority, client_context
from server import TlsServer
from signing import KEY_ID, SECRET, SignedClient, write_users

SCRIPT = pathlib.Path(__file__).with_name("signing_client.js")
REFUSED = "InvalidSignatureException"
TABLE = {"TableName": "Music", "BillingMode": "PAY_PER_REQUEST",
         "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
         "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}


@pytest.fixture(scope="module", autouse=True)
def own_servers():
    if "GRAMME_ENDPOINT" in os.environ:
        pytest.skip("needs a server of its own")


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("clients"))


@pytest.fixture(scope="module")
def server(authority):
    users = write_users(authority.directory / "users.json", [("root", KEY_ID, SECRET, [])])
    with TlsServer(authority.make("server"), "--auth", "on", "--users", users) as started:
        with SignedClient(started.endpoint) as client:
            client.CreateTable(**TABLE)
        yield started


@pytest.fixture(params=["http", "https"])
def target(request, server):
    return server.endpoint if request.param == "http" else server.tls_endpoint


@pytest.fixture
def environment(authority, tmp_path):
    def make(secret):
        return clean_environment(tmp_path, AWS_ACCESS_KEY_ID=KEY_ID, AWS_SECRET_ACCESS_KEY=secret,
                                 AWS_DEFAULT_REGION="us-east-1", AWS_REGION="us-east-1", AWS_PAGER="",
                                 AWS_CA_BUNDLE=str(authority.file), NODE_EXTRA_CA_CERTS=str(authority.file))
    return make


def by_botocore(target, secret, authority, **_):
    config = {**boto3_config(), "aws_access_key_id": KEY_ID, "aws_secret_access_key": secret}
    try:
        return boto3.client("dynamodb", endpoint_url=target, verify=str(authority.file), **config).list_tables()["TableNames"]
    except ClientError as error:
        return error.response["Error"]["Code"]


class QueryAuth(SigV4QueryAuth):
    """botocore would move a body into the query: the request has none for it, and the test passes the hash of the body explicitly."""

    def payload(self, request):
        return hashlib.sha256(b"{}").hexdigest()


def by_botocore_query(target, secret, authority, **_):
    headers = {"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Type": "application/x-amz-json-1.0"}
    request = AWSRequest("POST", target + "/", headers=headers)
    QueryAuth(Credentials(KEY_ID, secret), "dynamodb", "us-east-1", expires=60).add_auth(request)
    sent = urllib.request.Request(request.url, data=b"{}", headers=dict(request.headers.items()), method="POST")
    context = client_context(authority) if target.startswith("https") else None
    try:
        with urllib.request.urlopen(sent, context=context, timeout=60) as answer:
            return json.load(answer)["TableNames"]
    except urllib.error.HTTPError as error:
        with error:
            return json.load(error)["__type"].partition("#")[2]


def by_cli(target, secret, environment, **_):
    done = run(["/usr/bin/aws", "dynamodb", "list-tables", "--endpoint-url", target], environment(secret))
    if done.returncode == 0:
        return json.loads(done.stdout)["TableNames"]
    return done.stderr.partition("(")[2].partition(")")[0]


def by_javascript(target, secret, environment, form="header", **_):
    done = subprocess.run(["node", str(SCRIPT), target, form], env=environment(secret), capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def by_javascript_query(target, secret, environment, **_):
    return by_javascript(target, secret, environment, "query")


def by_libgramme(target, secret, environment, **_):
    done = run([BUILD / "tests" / "client" / "client_probe", target, "ListTables", "{}", "attempts_max=1"],
               environment(secret))
    assert done.returncode == 0, done.stdout + done.stderr
    outcome = json.loads(done.stdout)
    return outcome["answer"]["TableNames"] if "answer" in outcome else outcome["code"]


@pytest.mark.parametrize("client", [by_botocore, by_botocore_query, by_cli, by_javascript, by_javascript_query,
                                    by_libgramme], ids=lambda client: client.__name__)
def test_a_client_is_accepted(client, target, authority, environment):
    more = {"authority": authority, "environment": environment}
    assert client(target, SECRET, **more) == ["Music"]
    assert client(target, SECRET[:-1] + "x", **more) == REFUSED
