"""Where an oracle differs from us and is not to be followed, each with its reason. Matchers are narrow: they say for
which two answers, and where needed for which requests, the difference is the known one.

What we follow, in this order: the measured behaviour of the service (published captures of October 2026, us-east-1), AWS's
documentation, then what the oracles agree on. Dynoxide is close to the service in texts but looks at conditions and
updates only as far as it evaluates them; DynamoDB Local of 2020 has the service's semantics but texts of its own and
none of what came later."""

import json
import re

# Members of table descriptions that an oracle does not have, or fills in its own way.
MEMBERS = {
    "dynoxide": {
        "WarmThroughput": "came in November 2024",
        "TableThroughputModeSummary": "is not in the service's model",
        "TableSizeBytes": "is always 0 there",
        "IndexSizeBytes": "is always 0 there",
        "ItemCount": "is 0 there in some answers",
        "BillingModeSummary": "has no date there, and goes when a table becomes provisioned again",
        "DeletionProtectionEnabled": "is missing there in answers to CreateTable",
        "KMSMasterKeyArn": "is made up by everybody",
        "NumberOfDecreasesToday": "counts differently there",
        "LastIncreaseDateTime": "is given or not for the same change",
        "LastDecreaseDateTime": "is given or not for the same change",
    },
    "local": {
        "WarmThroughput": "came in November 2024",
        "DeletionProtectionEnabled": "came in 2023",
        "TableId": "is not there yet",
        "TableStatus": "tables are ACTIVE at once there",
        "IndexStatus": "indexes are ACTIVE at once there",
        "LastIncreaseDateTime": "is 0 there if there was none",
        "LastDecreaseDateTime": "is 0 there if there was none",
        "NumberOfDecreasesToday": "is always 0 there",
        "TableSizeBytes": "counts differently there",
        "IndexSizeBytes": "counts differently there",
        "ItemCount": "is 0 in our answer to DeleteTable",
        "BillingModeSummary": "is shown differently after changes there",
        "SSEDescription": "is not there yet",
        "TableClassSummary": "came in 2021",
        "OnDemandThroughput": "came in 2024",
    },
}

ENVELOPE = "1 validation error detected: "
WRITES = {"PutItem", "UpdateItem", "DeleteItem"}


class Known:
    """`matches` gets a Case (see differ.py)."""

    def __init__(self, name, reason, matches, oracle="dynoxide"):
        self.name = name
        self.reason = reason
        self.matches = matches
        self.oracle = oracle


DIFFERENCES = []


def known(name, reason, oracle="dynoxide"):
    """Adds a function of a Case to the list."""

    def add(matches):
        DIFFERENCES.append(Known(name, reason, matches, oracle))
        return matches

    return add


def lacks(name, reason, pattern, oracle="dynoxide", operations=None):
    """The oracle does not have a check: we refuse with this text, it goes on."""
    regex = re.compile(pattern)

    def matches(case):
        return (operations is None or case.operation in operations) and case.gramme.status == 400 and bool(
            regex.match(case.gramme.message().removeprefix(ENVELOPE)))

    DIFFERENCES.append(Known(name, reason, matches, oracle))


def own_text(name, reason, pattern, oracle="dynoxide"):
    """Both refuse; the oracle has a text of its own."""
    regex = re.compile(pattern)

    def matches(case):
        return case.gramme.status == 400 and case.oracle.status == 400 and bool(regex.match(case.oracle.message().removeprefix(ENVELOPE)))

    DIFFERENCES.append(Known(name, reason, matches, oracle))


def text_of(case):
    return case.text()


# --- Dynoxide: texts ---


@known("envelope", "PutItem, UpdateItem and DeleteItem put the envelope before everything that is found before the table is "
       "looked up (measured in October 2026); Dynoxide puts it before some")
def _(case):
    ours, theirs = case.gramme.message(), case.oracle.message()
    return case.operation in WRITES and case.gramme.status == case.oracle.status and ours == ENVELOPE + theirs


own_text("serde", "Dynoxide answers malformed requests with its JSON library's words",
         r"(missing field|invalid type|invalid value|invalid length|unknown variant|expected |duplicate field|EOF |trailing |floating point|key must|"
         r"control character|lone |invalid base64|data did not match|integer |invalid unicode)")


@known("not an object", "a body that is no JSON object is refused without a message (measured by Dynalite)")
def _(case):
    return case.gramme.error() == "SerializationException" and not case.gramme.message() and case.oracle.status == 400


@known("wrong kinds of JSON", "texts for JSON of a wrong kind as Dynalite measured them; Dynoxide takes some for others, says "
       "TRUE_VALUE for numbers, does not look into legacy parameters, and misses some")
def _(case):
    return case.gramme.error() == "SerializationException" and bool(case.gramme.message())


own_text("key condition parser", "Dynoxide reads key conditions with a parser of its own",
         r"(Expected |Unexpected token|An expression attribute (name|value) used|Query filter contains a sort key|"
         r"Invalid KeyConditionExpression: (partition key|Expected|Unexpected)|Unsupported|Invalid operator)")
own_text("segments", "Dynoxide's own text for TotalSegments and Segment out of bounds", r"Value at 'totalSegments'|Value '-?\d+' at 'segment'")
own_text("expected as expressions", "Dynoxide turns Expected and filters into expressions and fails on names and values",
         r"Syntax error; token|Expected comparison|Invalid operand|Unterminated|Attribute name is a reserved")


@known("wording of the current layer", "numbers, sets, empty table names, unknown ReturnValues and ConditionalOperator are worded anew by "
       "the service (captures of October 2026)")
def _(case):
    ours, theirs = case.gramme.message().removeprefix(ENVELOPE), case.oracle.message().removeprefix(ENVELOPE)
    if case.gramme.error() != "ValidationException" or case.oracle.error() != "ValidationException":
        return False
    return bool(
        re.match(r"One or more parameter values were invalid: Input collection", ours) and "Input collection" in theirs
        or re.match(r"Value at '(TableName|RequestItems|RequestItems\..*\.Keys|Limit)' failed", ours) and "failed to satisfy constraint" in theirs
        or "Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]" in ours and "returnValues" in theirs
        or ours == "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]"
        or re.match(r"The parameter cannot be converted to a numeric value|Number (over|under)flow", ours) and
        re.match(r"The parameter cannot be converted|Number (over|under)flow", theirs)
        or ours == "ExpressionAttributeValues can only be specified when using expressions" and theirs.startswith(ours))
