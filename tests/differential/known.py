"""Rules for differences that are known: an oracle differs from us and is not to be followed, for a reason. Matchers are narrow: they say
for which two answers, and where needed for which requests, the difference is the known one.

What we follow, in this order: the measured behaviour of the service (published captures of October 2026, us-east-1), AWS's
documentation, then what the oracles agree on."""

import re

ENVELOPE = "1 validation error detected: "
INVALID = "One or more parameter values were invalid: "
EXPRESSION = r"Invalid (Update|Condition|Filter|KeyCondition|Projection)Expression: "
WRITES = {"PutItem", "UpdateItem", "DeleteItem"}
PAGES = {"Query", "Scan"}


class Known:
    """`matches` gets a Case (see differ.py)."""

    def __init__(self, name, reason, matches):
        self.name = name
        self.reason = reason
        self.matches = matches


class Rules:
    """The known differences of one oracle; the first that matches counts."""

    def __init__(self):
        self.rules = []

    def known(self, name, reason):
        """Adds a function of a Case to the list."""

        def add(matches):
            self.rules.append(Known(name, reason, matches))
            return matches

        return add

    def lacks(self, name, reason, *patterns, operations=None):
        """The oracle does not have a check, or not so early: we refuse with this text, it does something else."""
        regex = re.compile("|".join(patterns))

        @self.known(name, reason)
        def _(case):
            mine = operations is None or case.operation in operations
            return mine and refused(case.gramme) and bool(regex.match(text(case.gramme)))

    def own_text(self, name, reason, *patterns):
        """Both refuse; the oracle has a text of its own."""
        regex = re.compile("|".join(patterns))

        @self.known(name, reason)
        def _(case):
            return case.gramme.status == case.oracle.status == 400 and bool(regex.match(text(case.oracle)))

    def explain(self, case):
        return next((rule for rule in self.rules if rule.matches(case)), None)


def refused(answer):
    return answer.status == 400 and answer.error() == "ValidationException"


def text(answer):
    return answer.message().removeprefix(ENVELOPE)


def reasons(answer):
    """The codes of a transaction's reasons."""
    return [r.get("Code") for r in (answer.body or {}).get("CancellationReasons", [])]


def without(value, member):
    """The value without members of that name, at any depth."""
    if isinstance(value, dict):
        return {k: without(v, member) for k, v in value.items() if k != member}
    return [without(v, member) for v in value] if isinstance(value, list) else value


def only_removes(update):
    """Whether an UpdateItem or a transaction's Update has actions, and all of them remove."""
    legacy, expression = update.get("AttributeUpdates"), update.get("UpdateExpression")
    if isinstance(legacy, dict) and legacy:
        return all(isinstance(change, dict) and change.get("Action") == "DELETE" for change in legacy.values())
    return isinstance(expression, str) and bool(re.match(r"\s*(REMOVE|DELETE)\b", expression, re.IGNORECASE)) and not re.search(
        r"\b(SET|ADD)\b", expression, re.IGNORECASE)


def makes_nothing(case):
    """Whether it is an update, alone or in a transaction, that only removes and therefore makes no item, as measured on the service."""
    if case.operation == "UpdateItem":
        return case.gramme.is_ok() and only_removes(case.body) and "Attributes" not in case.gramme.body and not case.left.get("after")
    actions = case.body.get("TransactItems", []) if case.operation == "TransactWriteItems" else []
    return case.gramme.is_ok() and any(only_removes(action["Update"]) for action in actions if "Update" in action)


def one_row(case):
    """Whether it is a Query that finds one item at most, which we answered without LastEvaluatedKey."""
    table = case.table()
    return case.operation == "Query" and case.both_ok() and table is not None and len(table.keys.all) == 1 and (
        "IndexName" not in case.body and "LastEvaluatedKey" not in case.gramme.body)
