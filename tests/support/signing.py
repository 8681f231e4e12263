"""SigV4 written for the tests, independent of the server's code and of botocore, so that a test can
sign exactly what it wants and then change it."""

import datetime
import hashlib
import hmac
import json
import os
import re
import stat
from urllib.parse import quote

from wire import TARGET, Answer, Connection, Refused

KEY_ID = "AKIAEXAMPLEEXAMPLE01"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")


def _mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def day_key(secret, day, region, service):
    key = ("AWS4" + secret).encode()
    for text in (day, region, service, "aws4_request"):
        key = _mac(key, text)
    return key


def signature(method, path, query, headers, body, *, secret, time, region, service):
    """headers: {lower-case name: value}, all signed."""
    names = ";".join(sorted(headers))
    canonical = "\n".join([method, path, query,
                           "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in sorted(headers)),
                           names, hashlib.sha256(body).hexdigest()])
    scope = f"{time[:8]}/{region}/{service}/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", time, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = day_key(secret, time[:8], region, service)
    return scope, names, hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def signed_headers(host, operation, body, *, key_id=KEY_ID, secret=SECRET, token=None, time=None, region="us-east-1",
                   service="dynamodb", target=TARGET, more=()):
    """The headers of a request, Authorization among them, as a dict with lower-case names."""
    time = time or now()
    headers = {"host": host, "x-amz-target": target + operation, "x-amz-date": time,
               "content-type": "application/x-amz-json-1.0", **dict(more)}
    if token is not None:
        headers["x-amz-security-token"] = token
    scope, names, hexed = signature("POST", "/", "", headers, body, secret=secret, time=time, region=region,
                                    service=service)
    headers["authorization"] = (f"AWS4-HMAC-SHA256 Credential={key_id}/{scope}, SignedHeaders={names}, "
                                f"Signature={hexed}")
    return headers


def presigned_target(host, operation, body, *, key_id=KEY_ID, secret=SECRET, token=None, time=None,
                     region="us-east-1"):
    """The request target with the signature in its query, and the headers to send with it."""
    time = time or now()
    headers = {"host": host, "x-amz-target": TARGET + operation}
    query = {"X-Amz-Algorithm": "AWS4-HMAC-SHA256",
             "X-Amz-Credential": f"{key_id}/{time[:8]}/{region}/dynamodb/aws4_request",
             "X-Amz-Date": time, "X-Amz-Expires": "300", "X-Amz-SignedHeaders": ";".join(sorted(headers))}
    if token is not None:
        query["X-Amz-Security-Token"] = token
    text = "&".join(f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in sorted(query.items()))
    _, _, hexed = signature("POST", "/", text, headers, body, secret=secret, time=time, region=region,
                            service="dynamodb")
    return f"/?{text}&X-Amz-Signature={hexed}", headers


def request_bytes(headers, body, target="/", method="POST"):
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()),
             f"content-length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


class SignedClient:
    """Like wire.Client, but each request is signed: client.GetItem(TableName=..., Key=...)."""

    def __init__(self, endpoint, key_id=KEY_ID, secret=SECRET, token=None, target=TARGET, tls=None, **options):
        self.connection = Connection(endpoint, tls=tls)
        self.key = dict(key_id=key_id, secret=secret, token=token)
        self.target = target
        self.options = options

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.socket.close()

    def post(self, operation, body: bytes) -> Answer:
        headers = signed_headers(self.connection.host, operation, body, target=self.target, **self.key, **self.options)
        self.connection.send(request_bytes(headers, body))
        return self.connection.read_answer()

    def call(self, operation, **members):
        answer = self.post(operation, json.dumps(members).encode())
        if answer.status != 200:
            raise Refused(answer)
        return answer.json() if answer.body else {}

    def __getattr__(self, operation):
        return lambda **members: self.call(operation, **members)


def sts_answer(endpoint, form, **key) -> Answer:
    """What STS answers to a form. key: key_id and secret, else those of above."""
    body = form.encode()
    connection = Connection(endpoint)
    headers = signed_headers(connection.host, "", body, service="sts", more={"content-type": "application/x-www-form-urlencoded"}, **key)
    connection.send(request_bytes(headers, body))
    answer = connection.read_answer()
    connection.close()
    return answer


def sts_session(endpoint, form, **key):
    """The temporary key that STS issues, as options of SignedClient."""
    answer = sts_answer(endpoint, form, **key)
    text = answer.body.decode()
    assert answer.status == 200, text
    return {option: re.search(f"<{name}>([^<]+)</{name}>", text)[1]
            for option, name in (("key_id", "AccessKeyId"), ("secret", "SecretAccessKey"), ("token", "SessionToken"))}


def write_users(path, users=(), roles=(), policies=()):
    """A users file. users: [(name, key id, secret, [policy names])] or whole records."""
    def record(user):
        if isinstance(user, dict):
            return user
        name, key_id, secret, attached = user
        return {"name": name, "keys": [{"id": key_id, "secret": secret}], "policies": list(attached)}
    content = {"users": [record(user) for user in users], "roles": list(roles),
               "policies": [{"name": name, "document": document} for name, document in dict(policies).items()]}
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, stat.S_IRUSR | stat.S_IWUSR), "w") as file:
        json.dump(content, file)
    return path
