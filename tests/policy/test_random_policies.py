"""Random policies and requests: the server's decisions are those of an evaluator that was written for this test alone."""

import collections
import json
import os
import pathlib
import random
import subprocess

from policy_evaluator import decide
from server import program

ACCOUNT = "000000000000"
COUNT = int(os.environ.get("POLICY_PAIRS", "100000"))
TABLE = f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/"
ACTIONS = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:DeleteTable", "dynamodb:DeleteResourcePolicy"]
ACTION_PATTERNS = [*ACTIONS, "*", "dynamodb:*", "dynamodb:Get*", "DYNAMODB:getitem", "dynamodb:?et*", "dynamodb:*Item", "dynamodb:*Table*"]
RESOURCES = [TABLE + "Music", TABLE + "Music/index/by-year", TABLE + "u1", TABLE + "a*b", "*"]
RESOURCE_PATTERNS = ["*", *RESOURCES[:4], TABLE + "*", TABLE + "M*", TABLE + "Music/index/*", "arn:aws:dynamodb:*:*:table/Mus?c",
                     TABLE + "${aws:username}", TABLE + "${aws:PrincipalTag/team, 'Music'}", TABLE + "a${*}b", "arn:aws:s3:::*",
                     TABLE + "${aws:nothing}"]
USER = f"arn:aws:iam::{ACCOUNT}:user/u1"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/R1"
SESSION = f"arn:aws:sts::{ACCOUNT}:assumed-role/R1/s"
PRINCIPALS = ["*", {"AWS": "*"}, {"AWS": ACCOUNT}, {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, {"AWS": USER}, {"AWS": ROLE}, {"AWS": SESSION},
              {"AWS": [USER, "111111111111"]}, {"AWS": "111111111111"}]
TEXTS = ["u1", "u2", "U1", "Music", "SSN", "a*b", "ab", "axb", "${aws:username}", "u*", "?1", "*", "${aws:nothing}", "${aws:nothing, 'u1'}",
         "TransactGetItems", "NONE", "SPECIFIC_ATTRIBUTES", "${*}", "a${*}b", ""]
LARGE = ["9007199254740992", "9007199254740993", "1" + "0" * 70, "-1" + "0" * 70, "0." + "0" * 70 + "1"]  # the texts of large keys
NUMBERS = ["0", "1", "2", "2.0", "-1", "1e3", "1000", "1E70", "-1E70", "1e-71", *LARGE, "x"]
DATES = ["2026-01-01T00:00:00Z", "2026-06-01T12:00:00Z", "1767225600", "2027-01-01T00:00:00Z"]
ADDRESSES = ["10.0.0.0/8", "10.1.2.3", "127.0.0.1/32", "::1", "2001:db8::/32", "0.0.0.0/0"]
ARNS = [USER, ROLE, f"arn:aws:iam::{ACCOUNT}:user/*", "arn:aws:iam::*:*", f"arn:aws:iam::{ACCOUNT}:user/${{aws:username}}", "arn:aws:iam::*:role/R?"]
BINARIES = ["AAAA", "AQID", ""]
BOOLS = ["true", "false", "TRUE", True, False]
NUMERIC = [f"{kind}{comparison}" for kind in ("Numeric", "Date")
           for comparison in ("Equals", "NotEquals", "LessThan", "LessThanEquals", "GreaterThan", "GreaterThanEquals")]
# Operator: values of a policy, and the keys that it is asked about.
TEXT_KEYS = ["aws:username", "aws:USERID", "dynamodb:LeadingKeys", "dynamodb:Attributes", "dynamodb:Select", "dynamodb:ReturnValues",
             "dynamodb:EnclosingOperation", "aws:PrincipalTag/team", "aws:ResourceTag/env", "aws:RequestTag/env", "aws:TagKeys"]
OPERATORS = {
    **{name: (TEXTS, TEXT_KEYS) for name in ("StringEquals", "StringNotEquals", "StringEqualsIgnoreCase", "StringNotEqualsIgnoreCase",
                                             "StringLike", "StringNotLike")},
    **{name: (DATES if name.startswith("Date") else NUMBERS[:-1],
              ["aws:CurrentTime", "aws:EpochTime"] if name.startswith("Date") else ["aws:EpochTime", "dynamodb:LeadingKeys"]) for name in NUMERIC},
    **{name: (ADDRESSES, ["aws:SourceIp"]) for name in ("IpAddress", "NotIpAddress")},
    **{name: (ARNS, ["aws:PrincipalArn"]) for name in ("ArnEquals", "ArnLike", "ArnNotEquals", "ArnNotLike")},
    "BinaryEquals": (BINARIES, ["dynamodb:LeadingKeys", "dynamodb:Attributes", "aws:userid"]),
    "Bool": (BOOLS, ["aws:SecureTransport", "dynamodb:FullTableScan", "aws:MultiFactorAuthPresent"]),
    "Null": (["true", "false"], [*TEXT_KEYS, "aws:TokenIssueTime"]),
}


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def some(self, values, most=3):
        chosen = self.random.sample(values, self.random.randint(1, min(most, len(values))))
        return chosen[0] if len(chosen) == 1 and self.random.random() < 0.5 else chosen

    def condition(self):
        name = self.random.choice(list(OPERATORS))
        values, keys = OPERATORS[name]
        block = {key: self.some(values) for key in self.random.sample(keys, 1 if self.random.random() < 0.8 else min(2, len(keys)))}
        is_null = name == "Null"
        if not is_null and self.random.random() < 0.3:
            name += "IfExists"
        if not is_null and self.random.random() < 0.4:
            name = self.random.choice(["ForAllValues:", "ForAnyValue:"]) + name
        return name, block

    def statement(self, is_resource):
        made = {"Effect": "Deny" if self.random.random() < 0.3 else "Allow",
                "NotAction" if self.random.random() < 0.15 else "Action": self.some(ACTION_PATTERNS),
                "NotResource" if self.random.random() < 0.15 else "Resource": self.some(RESOURCE_PATTERNS)}
        if is_resource:
            made["NotPrincipal" if self.random.random() < 0.1 and made["Effect"] == "Deny" else "Principal"] = self.random.choice(PRINCIPALS)
        if self.random.random() < 0.6:
            made["Condition"] = dict(self.condition() for _ in range(self.random.choice([1, 1, 2])))
        return made

    def policy(self, is_resource=False):
        statements = [self.statement(is_resource) for _ in range(self.random.choice([1, 1, 2, 3]))]
        return {"Version": "2012-10-17" if self.random.random() < 0.8 else "2008-10-17", "Statement": statements}

    def context(self, kind):
        maybe = {"aws:SourceIp": ["10.1.2.3", "127.0.0.1", "::1", "2001:db8::1"], "aws:CurrentTime": DATES[:2], "aws:EpochTime": ["1767225600", "2", "1000", *LARGE],
                 "aws:SecureTransport": ["true", "false"], "dynamodb:FullTableScan": ["true", "false"], "dynamodb:Select": ["SPECIFIC_ATTRIBUTES", "ALL"],
                 "dynamodb:ReturnValues": ["NONE", "ALL_NEW"], "dynamodb:EnclosingOperation": ["TransactGetItems"], "aws:userid": ["u1", "AIDA", "AQID", "not base64"],
                 "aws:PrincipalTag/team": ["Music", "u1"], "aws:ResourceTag/env": ["u1", "Music"], "aws:RequestTag/env": ["SSN"],
                 "aws:PrincipalArn": [USER, ROLE]}
        made = {key: [self.random.choice(values)] for key, values in maybe.items() if self.random.random() < 0.6}
        if kind == "user":
            made["aws:username"] = [self.random.choice(["u1", "u1", "a*b"])]
        for key in ("dynamodb:LeadingKeys", "dynamodb:Attributes", "aws:TagKeys"):
            if self.random.random() < 0.6:
                made[key] = self.random.sample(["u1", "u2", "SSN", "Music", "a*b", "axb", "1", "2.0", "AAAA", "AQID", *LARGE], self.random.choice([0, 1, 1, 2, 3]))
        return made

    def question(self):
        kind = self.random.choice(["user", "user", "user", "session", "root"])
        made = {"identity": [self.policy() for _ in range(self.random.choice([0, 1, 1, 2]))], "kind": kind,
                "arn": {"user": USER, "session": SESSION, "root": f"arn:aws:iam::{ACCOUNT}:root"}[kind], "role": ROLE, "account": ACCOUNT,
                "action": self.random.choice(ACTIONS), "on": self.random.choice(RESOURCES), "context": self.context(kind)}
        for name, chance in (("resource", 0.5), ("boundary", 0.2), ("session", 0.2)):
            if self.random.random() < chance:
                made[name] = self.policy(name == "resource")
        return made


def test_decisions_agree():
    maker = Maker(17)
    tool = pathlib.Path(program()).parent / "tests" / "policy" / "policy_decide"
    counts = collections.Counter()
    for start in range(0, COUNT, 10_000):
        questions = [maker.question() for _ in range(min(10_000, COUNT - start))]
        done = subprocess.run([tool], input="".join(json.dumps(question) + "\n" for question in questions), capture_output=True, text=True,
                              check=False, timeout=600)
        assert done.returncode == 0, done.stderr
        for question, decision in zip(questions, done.stdout.splitlines(), strict=True):
            wanted = decide(question)
            assert decision == wanted, json.dumps(question)
            counts[wanted] += 1
    assert all(counts[kind] > COUNT // 1000 for kind in (
        "allow", "implicit identity", "implicit boundary", "implicit session", "explicit identity", "explicit resource",
        "explicit boundary", "explicit session")), counts
