"""IAM decisions, written from AWS's documentation for the tests and independent of the server's code: plain, slow and
without any compilation, so that it is easy to compare with the text of the rules."""

import base64
import binascii
import datetime
import decimal
import ipaddress
import re

MULTIVALUED = {name.lower() for name in (
    "aws:TagKeys", "dynamodb:Attributes", "dynamodb:LeadingKeys", "dynamodb:SecondPartitionKeyValues",
    "dynamodb:ThirdPartitionKeyValues", "dynamodb:FourthPartitionKeyValues")}


class Unresolved(Exception):
    """A variable without a value."""


def listed(value):
    return value if isinstance(value, list) else [value]


def find(context, key):
    """The values of a condition key, or None."""
    for name, values in context.items():
        if name.lower() == key.lower():
            return values
    return None


# --- texts with wildcards and variables ---

def pieces(text, has_variables, context):
    """The text as (character, is it literal): variables are inserted literally."""
    found, at = [], 0
    while at < len(text):
        variable = re.match(r"\$\{([^}]*)\}", text[at:]) if has_variables else None
        if variable is None:
            found.append((text[at], False))
            at += 1
            continue
        at += variable.end()
        name = variable[1]
        if name in ("*", "?", "$"):
            found.append((name, True))
            continue
        default = re.fullmatch(r"([^,]*),\s*'(.*)'", name)
        values = find(context, (default[1] if default else name).strip())
        if values is not None and len(values) == 1 and (default[1] if default else name).strip().lower() not in MULTIVALUED:
            found += [(character, True) for character in values[0]]
        elif default:
            found += [(character, True) for character in default[2]]
        else:
            raise Unresolved
    return found


def pattern(text, has_variables, context, wildcards=True):
    made = ""
    for character, is_literal in pieces(text, has_variables, context):
        if not is_literal and wildcards and character == "*":
            made += ".*"
        elif not is_literal and wildcards and character == "?":
            made += "."
        else:
            made += re.escape(character)
    return made


def like(text, value, has_variables, context, *, wildcards=True, ignore_case=False):
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    return re.fullmatch(pattern(text, has_variables, context, wildcards), value, flags) is not None


def arn_like(text, value, has_variables, context, variables_from=0):
    """By colon part; the sixth takes the rest. A short pattern ends in * and stands for the rest."""
    if text == "*":
        return True
    wanted, parts = text.split(":", 5), value.split(":", 5)
    if len(wanted) < 6:
        return like(text, value, has_variables, context)
    if len(parts) < 6:
        return False
    return all(like(wanted[i], parts[i], has_variables and i >= variables_from, context) for i in range(6))


# --- conditions ---

def number(text):
    try:
        found = decimal.Decimal(text)
    except decimal.InvalidOperation:
        return None
    return found if found.is_finite() else None


def moment(text):
    if re.fullmatch(r"-?\d+(\.\d+)?", text):
        return float(text)
    try:
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


COMPARISONS = {"Equals": lambda a, b: a == b, "LessThan": lambda a, b: a < b, "LessThanEquals": lambda a, b: a <= b,
               "GreaterThan": lambda a, b: a > b, "GreaterThanEquals": lambda a, b: a >= b}


def matches(operator, wanted, value, has_variables, context):
    """Whether one value of the request is what one value of the policy says; the operator is positive."""
    wanted = str(wanted).lower() if isinstance(wanted, bool) else str(wanted)
    if operator == "StringEquals":
        return like(wanted, value, has_variables, context, wildcards=False)
    if operator == "StringEqualsIgnoreCase":
        return like(wanted, value, has_variables, context, wildcards=False, ignore_case=True)
    if operator == "StringLike":
        return like(wanted, value, has_variables, context)
    if operator in ("ArnEquals", "ArnLike"):
        return arn_like(wanted, value, has_variables, context)
    if operator == "Bool":
        return value.lower() == wanted.lower()
    if operator == "BinaryEquals":
        try:
            return base64.b64decode(wanted, validate=True) == base64.b64decode(value, validate=True)
        except binascii.Error:
            return False
    if operator == "IpAddress":
        return ipaddress.ip_address(value) in ipaddress.ip_network(wanted, strict=False)
    read = number if operator.startswith("Numeric") else moment
    left, right = read(value), read(wanted)
    kind = operator.removeprefix("Numeric").removeprefix("Date")
    return left is not None and right is not None and COMPARISONS[kind](left, right)


NEGATED = {"StringNotEquals": "StringEquals", "StringNotEqualsIgnoreCase": "StringEqualsIgnoreCase", "StringNotLike": "StringLike",
           "ArnNotEquals": "ArnEquals", "ArnNotLike": "ArnLike", "NotIpAddress": "IpAddress",
           "NumericNotEquals": "NumericEquals", "DateNotEquals": "DateEquals"}


def holds_for(operator, wanted, value, has_variables, context):
    """One value of the request against all of the policy."""
    positive = NEGATED.get(operator, operator)

    def one(text):
        try:
            return matches(positive, text, value, has_variables, context)
        except Unresolved:
            return False
    any_matches = any(one(text) for text in wanted)
    return not any_matches if operator in NEGATED else any_matches


def condition_holds(name, key, wanted, has_variables, context):
    quantifier, _, operator = name.rpartition(":")
    if_exists = operator.endswith("IfExists")
    operator = operator.removesuffix("IfExists")
    values = find(context, key)
    if operator == "Null":
        is_absent = values is None or not values
        return any((str(text).lower() == "true") == is_absent for text in wanted)
    if quantifier == "ForAllValues":
        return all(holds_for(operator, wanted, value, has_variables, context) for value in values or [])
    if quantifier == "ForAnyValue":
        if not values and if_exists:  # an empty set is no value
            return True
        return any(holds_for(operator, wanted, value, has_variables, context) for value in values or [])
    if values is None or not values:
        return if_exists or operator in NEGATED
    if key.lower() in MULTIVALUED:
        return False
    return holds_for(operator, wanted, values[0], has_variables, context)


# --- statements and policies ---

def principal_match(statement, caller):
    """How directly the statement names the caller: None, "account", "anyone", "role" or "self"."""
    order = [None, "account", "anyone", "role", "self"]

    def one(name):
        if name == "*":
            return "anyone"
        if name == caller["account"] or name == f"arn:aws:iam::{caller['account']}:root":
            return "account"
        if name == caller["arn"]:
            return "self"
        return "role" if caller["kind"] == "session" and name == caller["role"] else None
    element = statement.get("Principal", statement.get("NotPrincipal"))
    names = ["*"] if element == "*" else listed(element["AWS"])
    best = max((one(name) for name in names), key=order.index)
    if "NotPrincipal" in statement:
        return "anyone" if best is None else None
    asks = any(key.lower() == "aws:principalarn" for block in statement.get("Condition", {}).values() for key in block)
    return "self" if best == "anyone" and asks else best


def statement_matches(policy, statement, request):
    has_variables = policy.get("Version") == "2012-10-17"
    context = request["context"]

    def on_action(text):
        return like(text, request["action"], False, context, ignore_case=True)

    def on_resource(text):
        try:
            return arn_like(text, request["on"], has_variables, context, variables_from=5)
        except Unresolved:
            return False
    acts = any(map(on_action, listed(statement.get("Action", statement.get("NotAction")))))
    if acts == ("NotAction" in statement):
        return False
    hits = any(map(on_resource, listed(statement.get("Resource", statement.get("NotResource")))))
    if hits == ("NotResource" in statement):
        return False
    return all(condition_holds(operator, key, listed(wanted), has_variables, context)
               for operator, block in statement.get("Condition", {}).items() for key, wanted in block.items())


def evaluate(policy, request, is_resource=False):
    """(effect, principal) of one policy; effect is None, "Allow" or "Deny"."""
    effect, principal = None, None
    order = [None, "account", "anyone", "role", "self"]
    for statement in listed(policy["Statement"]):
        named = principal_match(statement, request) if is_resource else "self"
        if named is None or not statement_matches(policy, statement, request):
            continue
        if statement["Effect"] == "Deny":
            return "Deny", named
        effect = "Allow"
        principal = max(principal, named, key=order.index)
    return effect, principal


def decide(request):
    """"allow", or implicit or explicit and whose policy decided."""
    resource = evaluate(request["resource"], request, True) if "resource" in request else (None, None)
    if request["kind"] == "root":
        is_own = request["action"] == "dynamodb:DeleteResourcePolicy"
        return "explicit resource" if resource[0] == "Deny" and not is_own else "allow"
    identity = [evaluate(policy, request)[0] for policy in request["identity"]]
    others = {name: evaluate(request[name], request)[0] for name in ("boundary", "session") if name in request}
    if "Deny" in identity:
        return "explicit identity"
    if resource[0] == "Deny":
        return "explicit resource"
    for name, effect in others.items():
        if effect == "Deny":
            return f"explicit {name}"
    by_resource = resource[0] == "Allow" and resource[1] != "account"
    if by_resource and resource[1] == "self":
        return "allow"
    if not by_resource and "Allow" not in identity:
        return "implicit identity"
    for name, effect in others.items():
        if effect != "Allow":
            return f"implicit {name}"
    return "allow"
