"""The insight API of a server, as a test asks it (docs/internals/insight-api.md)."""

import json
import urllib.error
import urllib.parse
import urllib.request


class Insight:
    def __init__(self, endpoint):
        self.endpoint = endpoint

    def request(self, method, path, body=None, headers=None):
        """(status, JSON)"""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.endpoint}/_gramme/api/{path}", data, headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def get(self, path, **parameters):
        query = urllib.parse.urlencode(parameters, doseq=True)
        status, answer = self.request("GET", path + ("?" + query if query else ""))
        assert status == 200, (path, parameters, status, answer)
        return answer

    def post(self, path, body=None):
        status, answer = self.request("POST", path, {} if body is None else body)
        assert status == 200, (path, body, status, answer)
        return answer

    def patterns(self, **parameters):
        """{text: pattern}"""
        found = self.get("patterns", limit=1000, **parameters)["patterns"]
        return {pattern["text"]: pattern for pattern in found}

    def pattern(self, text):
        return self.patterns()[text]
