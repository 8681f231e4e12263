"""Rules for differences that are known: an oracle differs from us and is not to be followed, for a reason. Matchers are narrow: they say
for which two answers, and where needed for which requests, the difference is the known one.

What we follow, in this order: the measured behaviour of the service (published captures of October 2026, us-east-1), AWS's
documentation, then what the oracles agree on."""

import re
from collections import Counter
from decimal import Context, Decimal

from fragments import fragments
from normalise import order, plain_value

ENVELOPE = "1 validation error detected: "
INVALID = "One or more parameter values were invalid: "
EXPRESSION = r"Invalid (Update|Condition|Filter|KeyCondition|Projection)Expression: "
WRITES = {"PutItem", "UpdateItem", "DeleteItem"}
PAGES = {"Query", "Scan"}
# What is found when an update is carried out.
MISTAKES = {"An operand in the update expression has an incorrect data type", "The provided expression refers to an attribute that does not exist "
            "in the item", "The document path provided in the update expression is invalid for update"}


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
    if case.operation != "TransactWriteItems" or not case.gramme.is_ok():
        return False
    updates = [action["Update"] for action in case.body["TransactItems"] if "Update" in action]
    removed = [update for update in updates if only_removes(update)]
    if not case.oracle.is_ok():
        return any(re.search(r"[.\[]", update["UpdateExpression"]) for update in removed)
    return bool(removed) and same_but_made(case, removed)


def same_but_made(case, updates):
    """Whether a transaction left the same items, but for those of the keys of the updates, which only the oracle has."""
    made = {update["TableName"]: set() for update in updates}
    for update in updates:
        table = case.tables.get(update["TableName"])
        if table is not None:
            made[table.name].add(order(service_key({k: update["Key"][k] for k in table.keys.all})))
    for name, items in case.left.get("after", {}).items():
        theirs = case.right["after"][name]
        if any(theirs.get(key) != item for key, item in items.items()):
            return False
        if any(order(service_key(theirs[key][0])) not in made.get(name, ()) for key in theirs if key not in items):
            return False
    left, right = without(case.left, "after"), without(case.right, "after")
    return without(left, "ConsumedCapacity") == without(right, "ConsumedCapacity")


def service_key(key):
    """A key with its numbers as the service writes them."""
    return {name: {kind: service_number(value) if kind == "N" else value} for name, part in key.items() for kind, value in part.items()}


def service_number(text):
    """A number as the service writes it."""
    number = Decimal(text).normalize(Context(prec=40))
    return format(number, "f") if number else "0"


STATIC_REASON = re.compile(
    INVALID + r"(Cannot update attribute|Type mismatch for|Missing the key|Size of hashkey|Aggregated size)|The provided key element does not match|Key attributes must be scalars")


def only_reason_is_static(case):
    """Whether we cancelled a transaction for one reason: a key, or an update, that does not fit the table, whatever the items are."""
    given = [r for r in (case.gramme.body or {}).get("CancellationReasons", []) if r["Code"] != "None"]
    return len(given) == 1 and given[0]["Code"] == "ValidationError" and bool(STATIC_REASON.match(given[0]["Message"]))


def shows_fragments(case, whole):
    """Whether our answer to an UpdateItem shows exactly what is at the paths of the update in the item `whole`, and all else is the same."""
    if case.operation != "UpdateItem" or not case.both_ok() or not re.search(r"[.\[]", case.body.get("UpdateExpression", "")):
        return False
    if without(case.left, "Attributes") != without(case.right, "Attributes"):
        return False
    return plain_value(case.gramme.body.get("Attributes")) == plain_value(fragments(whole or {}, case.body))


def is_within(few, many):
    """Whether all of some rows are among others, each as often."""
    return not Counter(map(order, few)) - Counter(map(order, many))


def one_row(case):
    """Whether it is a Query that finds one item at most, which we answered without LastEvaluatedKey."""
    table = case.table()
    return case.operation == "Query" and case.both_ok() and table is not None and len(table.keys.all) == 1 and (
        "IndexName" not in case.body and "LastEvaluatedKey" not in case.gramme.body)
