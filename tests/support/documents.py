"""What the walks through the five documents share: the applications with a recording proxy before their database, and a look
at the rows behind their backs."""

import contextlib

from recorder import Recorder
from rest import Rest
from server import Apps, Server
from wire import Client


def plain(value):
    """{"S": "x"} -> "x", and so on, inside too."""
    (kind, inner), = value.items()
    if kind == "N":
        return float(inner) if "." in inner else int(inner)
    if kind == "L":
        return [plain(each) for each in inner]
    return row(inner) if kind == "M" else inner


def row(item):
    return {name: plain(value) for name, value in item.items()}


def typed(value):
    """The reverse of plain()."""
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int):
        return {"N": str(value)}
    if isinstance(value, list):
        return {"L": [typed(each) for each in value]}
    if isinstance(value, dict):
        return {"M": {name: typed(each) for name, each in value.items()}}
    return {"S": value}


def definition(hash_key, range_key=None, **indexes):
    """A table as documents define it, in the form that described() gives."""
    return {"keys": [key for key in (hash_key, range_key) if key], "billing": "PAY_PER_REQUEST", "indexes": indexes}


class Walk:
    """with Walk("calls") as walk: walk.api, walk.rows(), walk.asked()."""

    def __init__(self, name, table, *options, schema=None):
        """`schema`: of the table, if it is not the application's own."""
        self.name, self.table, self.options, self.schema = name, table, options, schema

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        server = self.stack.enter_context(Server("memory:"))
        self.recorder = self.stack.enter_context(Recorder(server.endpoint))
        self.db = self.stack.enter_context(Client(server.endpoint))
        if self.schema:
            self.db.CreateTable(**self.schema)
        self.apps = self.stack.enter_context(Apps(self.recorder.endpoint, *self.options))
        self.api = Rest(f"{self.apps.endpoint}/{self.name}/api")
        return self

    def __exit__(self, *error):
        return self.stack.__exit__(*error)

    def rows(self, index=None):
        """All rows of the table, or those that an index holds."""
        more = {"IndexName": index} if index else {}
        return [row(item) for item in self.db.Scan(TableName=self.table, **more)["Items"]]

    def put(self, **attributes):
        """A row as another program writes it."""
        self.db.PutItem(TableName=self.table, Item={name: typed(value) for name, value in attributes.items()})

    def asked(self):
        """What this application asked of its table since the last time, that of other threads left out. None of it is a Scan."""
        taken = [access for access in self.recorder.take() if access.table == self.table]
        assert all(access.operation != "Scan" for access in taken)
        return taken

    def described(self):
        """The table as it is: keys, billing, and of each index its keys and what it projects; all keys are strings."""
        table = self.db.DescribeTable(TableName=self.table)["Table"]
        assert {each["AttributeType"] for each in table["AttributeDefinitions"]} == {"S"}

        def keys(of):
            return [each["AttributeName"] for each in sorted(of["KeySchema"], key=lambda key: key["KeyType"])]
        listed = table.get("GlobalSecondaryIndexes", []) + table.get("LocalSecondaryIndexes", [])
        return {"keys": keys(table), "billing": table["BillingModeSummary"]["BillingMode"],
                "indexes": {each["IndexName"]: (keys(each), each["Projection"]["ProjectionType"]) for each in listed}}
