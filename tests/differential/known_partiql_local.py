"""Where PartiQL in DynamoDB Local 3.3.1 differs and is not to be followed. Answers are compared statement by statement, as in
known_partiql.py; the texts of errors do not count."""

from known import MISTAKES, is_within, reasons, without
from known_partiql import STATEMENTS, PairRules

PAIRS = PairRules()


VALIDATION = ("ValidationException", "ValidationError")


def errors(pair):
    return pair.ours.get("error"), pair.theirs.get("error")


def selected(pair):
    """What stands between SELECT and FROM."""
    return pair.text.partition("SELECT")[2].partition(" FROM ")[0]


@PAIRS.known("names of errors", "INSERT of an existing key is a DuplicateItemException, in a transaction DuplicateItem (documented)")
def _(pair):
    return errors(pair) in (("DuplicateItemException", "DuplicateItem"), ("DuplicateItem", "ValidationError"))


@PAIRS.known("attributes that are not there", "are not different from a value (measured): the condition is false")
def _(pair):
    if "<>" not in pair.text:
        return False
    if "rows" not in pair.ours or "rows" not in pair.theirs:
        failed = pair.ours.get("error") in ("ConditionalCheckFailedException", "ConditionalCheckFailed")
        return failed and pair.theirs.get("error") in (None, *VALIDATION)
    few, many = pair.ours["rows"], pair.theirs["rows"]
    return is_within(few, many) or "NOT" in pair.text and is_within(many, few)


@PAIRS.known("overlapping paths", "a SELECT may name a path and a part of it; DynamoDB Local refuses")
def _(pair):
    return pair.ours.get("error") in (None, "ResourceNotFound", "ResourceNotFoundException") and pair.theirs.get("error") in VALIDATION and "SELECT" in pair.text and (
        "Two document paths overlap" in pair.their_text() or pair.operation == "BatchExecuteStatement")


@PAIRS.known("tables of failures", "a statement of a batch that fails its checks does not name its table (measured)")
def _(pair):
    return pair.both_refuse() and pair.ours == {k: v for k, v in pair.theirs.items() if k != "TableName"}


@PAIRS.known("names of paths", "a column is named by the last name in its path and what follows; DynamoDB Local leaves out a step of some")
def _(pair):
    return "rows" in pair.ours and "rows" in pair.theirs and ("][" in selected(pair) or "]." in selected(pair))


@PAIRS.known("paths in batches and transactions", "are named as in a single SELECT; DynamoDB Local gives the whole document")
def _(pair):
    return pair.operation != "ExecuteStatement" and "Item" in pair.ours and "Item" in pair.theirs and "SELECT" in pair.text


@PAIRS.known("reasons of transactions", "the first statement that fails is the only reason (measured); DynamoDB Local goes on")
def _(pair):
    return pair.cancelled and pair.ours == {}


@PAIRS.known("filters on indexes", "see what the index holds; in DynamoDB Local the whole item, if the read has no key")
def _(pair):
    return "rows" in pair.ours and "rows" in pair.theirs and '\\".\\"' in pair.text.partition(" FROM ")[2].partition(" WHERE ")[0]


@PAIRS.known("fragments", "MODIFIED shows only what is at the paths of the update (measured)")
def _(pair):
    shown = ("Items", "Item")
    left, right = ({k: v for k, v in side.items() if k not in shown} for side in (pair.ours, pair.theirs))
    return "RETURNING MODIFIED" in pair.text and left == right and "error" not in left


@PAIRS.known("types of index keys", "are checked in every write")
def _(pair):
    return pair.operation == "BatchExecuteStatement" and errors(pair) == ("ValidationError", None)


PAIRS.lacks("types of index keys in one statement", "as above", r"One or more parameter values were invalid: Type mismatch for Index Key")


PAIRS.lacks(
    "values twice in IN",
    "are refused (measured)",
    r"Overlapping conditions with range keys are not supported in where clause",
)
PAIRS.lacks("depth", "statements are refused beyond some depth", r"Statement wasn't well formed, can't be processed: Statement is nested too deeply")
PAIRS.lacks(
    "filters on attributes that an index does not project",
    "are refused if the read has a key (measured)",
    r"One or more parameter values were invalid: (Global secondary index|Secondary index)",
)
PAIRS.lacks("depth of values", "is checked in statements, too", r"Nesting Levels have exceeded supported limits")
PAIRS.lacks("types of keys", "are checked in every condition (measured)", r"Key attribute's data type should match its data type in table's schema")
PAIRS.lacks("RETURNING", "is refused before keys are looked at (measured)", r"RETURNING clause is not supported in ExecuteTransaction")
PAIRS.lacks("sizes of keys", "are checked in conditions, too", r"One or more parameter values were invalid: (Size of hashkey|Aggregated size)")


@PAIRS.known("depth of values, and items that are there", "the depth of values is checked before the item is looked for")
def _(pair):
    return errors(pair) == ("ValidationError", "DuplicateItem") and pair.text.count('{"L"') + pair.text.count('{"M"') > 30


@PAIRS.known("tables of statements", "RETURNING is checked before the table is looked for")
def _(pair):
    return errors(pair) == ("ValidationError", "ResourceNotFound") and "RETURNING" in pair.text


@PAIRS.known("IS MISSING of a key", "DynamoDB Local fails")
def _(pair):
    return pair.theirs.get("error") == "InternalFailure" and "MISSING" in pair.text


@PAIRS.known("conditions on keys", "are refused by DynamoDB Local if the value's type is not the key's, even beside an equality")
def _(pair):
    return "error" not in pair.ours and pair.their_text().startswith((
        "One or more parameter values were invalid: Condition parameter type does not match schema type",
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty"))


@PAIRS.known("mistakes of a single statement", "in a batch fail that statement alone (measured)")
def _(pair):
    return pair.operation == "BatchExecuteStatement" and pair.theirs.get("error") == "ValidationException" and (
        "ValidationError" in str(pair.ours.get("Responses")))


SHORT = {"ValidationException": "ValidationError", "ResourceNotFoundException": "ResourceNotFound"}


def codes(answer):
    """Why a transaction failed: the codes of its reasons, or of the request."""
    cancelled = answer.error() == "TransactionCanceledException"
    return set(reasons(answer)) - {"None"} or {answer.message().partition(" ")[0] if cancelled else SHORT.get(answer.error(), answer.error())}


def first_code(answer):
    return next((code for code in reasons(answer) if code != "None"), None)


def refused_as_a_whole(case):
    """A transaction that we cancel, with the reason's code, is refused by DynamoDB Local without reasons, or the other way round; the first
    reason may be another one, as we look through all statements first."""
    if case.operation != "ExecuteTransaction" or not case.gramme.status == case.oracle.status == 400:
        return False
    whole = "CancellationReasons" not in case.left or "CancellationReasons" not in case.right
    found = MISTAKES | {"Invalid attribute value type"}  # of an index key: DynamoDB Local looks at it before the condition
    evaluated = {"ConditionalCheckFailed", "DuplicateItem"} if case.oracle.message() in found else set()
    same = codes(case.gramme) == {first_code(case.oracle)}  # DynamoDB Local goes on after the first reason
    return whole and (same or codes(case.gramme) | codes(case.oracle) <= {"ValidationError", "ResourceNotFound"} | evaluated)


def add(rules):
    PAIRS.add_to(rules)

    @rules.known("PartiQL: capacity", "DynamoDB Local tells nothing of it")
    def _(case):
        return case.operation in STATEMENTS and case.both_ok() and "ConsumedCapacity" not in case.oracle.body and (
            without(case.left, "ConsumedCapacity") == case.right)

    @rules.known("PartiQL: internal failures", "of DynamoDB Local with statements that are nested deeply")
    def _(case):
        return case.operation in STATEMENTS and case.oracle.status == 500 and "nested too deeply" in case.gramme.text

    @rules.known("PartiQL: failures of IN", "DynamoDB Local fails on some statements with IN beside OR or NOT, and on indexes")
    def _(case):
        return case.operation in STATEMENTS and case.oracle.status == 500 and " IN [" in case.text() and (
            " OR " in case.text() or " NOT " in case.text() or '\\".\\"' in case.text() or '"."' in case.text())

    @rules.known("PartiQL: transactions that are refused", "checks of a statement's keys, paths and table cancel (measured); some refuse there")
    def _(case):
        return refused_as_a_whole(case)
