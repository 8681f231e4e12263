"""Known differences of Dynoxide in PartiQL. It knows a small part of the language, and looks at a statement as it carries it out.

Answers are compared statement by statement: a request is explained if every statement of it is whose outcomes differ."""

import json
import re

from known import is_within, without

STATEMENTS = {"ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"}


class Pair:
    """One statement and its outcomes: {"error": code, "message": text, ...}, or what it answered."""

    def __init__(self, operation, statement, ours, theirs, cancelled=False):
        self.operation = operation
        self.text = statement
        self.ours = ours
        self.theirs = theirs
        self.cancelled = cancelled  # on both sides, for whatever reasons
        self.messages = ("", "")    # of the whole request or its first reason, for where texts do not count

    def our_text(self):
        return MEMBER.sub("", self.ours.get("message") or self.messages[0])

    def their_text(self):
        return MEMBER.sub("", self.theirs.get("message") or self.messages[1])

    def both_refuse(self):
        return "error" in self.ours and "error" in self.theirs


MEMBER = re.compile(r"Validation failed in \w+\[\d+\]: ")


def failure(code, message, rest):
    return {"error": code, "message": message, **{k: rest[k] for k in ("Item", "TableName") if k in rest}}


def whole(plain):
    """The outcome of a request as a whole."""
    if plain["status"] != 200:
        reasons = "; ".join(f"{r.get('Code')} {r.get('Message')}" for r in plain.get("CancellationReasons", []))
        return failure(plain["error"], reasons or plain.get("message"), plain)
    rest = {k: v for k, v in plain.items() if k in ("rows", "after")}
    return {**{k: v for k, v in plain["body"].items() if k != "ConsumedCapacity"}, **rest}


def parts(plain):
    """The outcomes of the statements of a batch or transaction, or None if it was refused as a whole."""
    if plain["status"] == 200:
        answers = plain["body"].get("Responses", [])
        return [failure(a["Error"].get("Code"), a["Error"].get("Message"), {**a, **a["Error"]}) if "Error" in a else a for a in answers]
    reasons = plain.get("CancellationReasons")
    return None if reasons is None else [{} if r.get("Code") == "None" else failure(r.get("Code"), r.get("Message"), r) for r in reasons]


def first_reason(answer):
    """The text of an error; of a cancelled transaction that of its first reason."""
    given = [r.get("Message") for r in (answer.body or {}).get("CancellationReasons", []) if r.get("Code") != "None"]
    return (given or [None])[0] or answer.message()


def pairs(case):
    """The statements whose outcomes differ."""
    body = case.body if isinstance(case.body, dict) else {}
    statements = body.get("Statements") or body.get("TransactStatements")
    ours, theirs = parts(case.left), parts(case.right)
    if statements is not None and case.gramme.status != case.oracle.status:  # a transaction of writes answers nothing for its statements
        ours, theirs = ([{}] * len(statements) if outcomes == [] else outcomes for outcomes in (ours, theirs))
    if statements is None or ours is None or theirs is None or not len(statements) == len(ours) == len(theirs):
        found = [Pair(case.operation, case.text(), whole(case.left), whole(case.right))]
    else:
        cancelled = not case.gramme.is_ok() and not case.oracle.is_ok()
        found = [Pair(case.operation, json.dumps(s), a, b, cancelled) for s, a, b in zip(statements, ours, theirs)]
    if case.gramme.status != case.oracle.status:  # all or nothing
        found = [p for p in found if "error" in p.ours or "error" in p.theirs]
    for pair in found:
        pair.messages = (first_reason(case.gramme), first_reason(case.oracle))
    return [p for p in found if p.ours != p.theirs]


class PairRules:
    """The known differences between outcomes of one statement; the first that matches counts."""

    def __init__(self):
        self.rules = []

    def known(self, name, reason):
        def add(matches):
            self.rules.append((name, reason, matches))
            return matches

        return add

    def add_to(self, rules):
        """Adds a rule for requests for each rule here. A request counts for the rule of the first statement that differs; all that
        differ have to be known."""
        for name, reason, _ in self.rules:

            @rules.known(f"PartiQL: {name}", reason)
            def _(case, name=name):
                if case.operation not in STATEMENTS:
                    return False
                names = [self.explain(pair) for pair in pairs(case)]
                return bool(names) and None not in names and names[0] == name

    def own_text(self, name, reason, *patterns):
        """Both refuse; Dynoxide has a text of its own."""
        regex = re.compile("|".join(patterns))
        self.known(name, reason)(lambda pair: pair.both_refuse() and bool(regex.match(pair.their_text())))

    def lacks(self, name, reason, *patterns):
        """We refuse with this text; Dynoxide does something else."""
        regex = re.compile("|".join(patterns))
        self.known(name, reason)(lambda pair: "error" in pair.ours and bool(regex.match(pair.our_text())))

    def refuses(self, name, reason, *patterns):
        """Dynoxide refuses with this text; we do something else."""
        regex = re.compile("|".join(patterns))
        self.known(name, reason)(lambda pair: "error" in pair.theirs and bool(regex.match(pair.their_text())))

    def explain(self, pair):
        return next((name for name, _, matches in self.rules if matches(pair)), None)


PAIRS = PairRules()

# --- answers ---


@PAIRS.known("Items of writes", "a write without RETURNING answers with no items, but with Items (measured)")
def _(pair):
    return pair.ours.get("Items") == [] and "Items" not in pair.theirs and pair.ours == {**pair.theirs, "Items": []}


@PAIRS.known("Responses of writes", "a transaction of writes has no responses (measured); Dynoxide has empty ones")
def _(pair):
    return pair.ours.get("Responses") == [] and not any(pair.theirs.get("Responses", [True])) and pair.ours == {**pair.theirs, "Responses": []}


@PAIRS.known("tables of failures", "a statement whose condition fails, or whose item is there already, names its table (measured)")
def _(pair):
    return pair.both_refuse() and pair.ours == {**pair.theirs, "TableName": pair.ours.get("TableName")}


@PAIRS.known("items of failures", "ReturnValuesOnConditionCheckFailure is for statements, too (documented)")
def _(pair):
    return pair.both_refuse() and pair.ours == {**pair.theirs, "Item": pair.ours.get("Item")}


@PAIRS.known("begins_with", "tells A from a (Dynoxide's is its SQL's LIKE)")
def _(pair):
    if "begins_with" not in pair.text or "rows" not in pair.ours or "rows" not in pair.theirs:
        return False
    few, many = pair.ours["rows"], pair.theirs["rows"]
    return is_within(few, many) or "NOT" in pair.text and is_within(many, few)


@PAIRS.known("begins_with of binaries", "is for binary sort keys, too")
def _(pair):
    return "begins_with" in pair.text and '"B": ' in pair.text and "rows" in pair.ours and "rows" in pair.theirs and is_within(
        pair.theirs["rows"], pair.ours["rows"])


@PAIRS.known("pages of indexes", "Dynoxide does not take its own tokens for some")
def _(pair):
    return "NextToken does not match request" in str(pair.theirs.get("rows"))


@PAIRS.known("numbers in sets", "are the same in all their clothes")
def _(pair):
    return "contains(" in pair.text and len(pair.ours.get("rows", [])) > len(pair.theirs.get("rows", []))


@PAIRS.known("local indexes", "a condition sees the attributes that the index does not hold, too (documented)")
def _(pair):
    return ".\\\"local" in pair.text and pair.ours.get("rows") != pair.theirs.get("rows")


# --- refusals ---


@PAIRS.known("reasons of transactions", "statements are looked through first, then carried out; Dynoxide stops at the first that fails")
def _(pair):
    return pair.cancelled and {} in (pair.ours, pair.theirs)


@PAIRS.known("statements that are none", "a batch with one is answered statement by statement (measured)")
def _(pair):
    return pair.operation == "BatchExecuteStatement" and "error" in pair.theirs and "ValidationError" in str(pair.ours.get("Responses"))


PAIRS.own_text(
    "tables",
    "the service does not tell which table it has not found, and does so in a transaction's reasons, too (measured)",
    r"Requested resource not found: Table: \S+ not found",
)
PAIRS.lacks(
    "parameters",
    "their number has to be that of the marks (measured); Dynoxide looks at those that it needs",
    r"Number of parameters in request and statement don't match",
)
PAIRS.lacks(
    "mixtures",
    "of reads and writes are found before what is wrong with values",
    r"Read and write requests together in the same batch is not supported",
    r"ExecuteTransaction API does not support both read and write operations",
)
PAIRS.lacks(
    "types of keys",
    "values for keys are of the key's type (measured); Dynoxide finds nothing, or makes numbers and texts of them",
    r"Key attribute's data type should match its data type in table's schema",
    r"Key value must be of type S, N, or B",
    r"The provided key element does not match the schema",
)
PAIRS.lacks(
    "syntax",
    "texts as measured; Dynoxide has its own, and takes some forms that are none",
    r"Statement wasn't well formed",
)
PAIRS.refuses(
    "the language",
    "Dynoxide does not know all of the language",
    r"Statement wasn't well formed",
    r"UPDATE requires a WHERE clause",
    r"Parameter index \d+ out of range",
)
PAIRS.lacks(
    "values",
    "are looked through before conditions and the rest, as those of other operations",
    r"One or more parameter values were invalid: (An (number|string|binary) set|Null attribute|Input collection|Binary sets)",
    r"Supplied AttributeValue",
    r"Input collection contains duplicates",
    r"Nesting Levels have exceeded",
    r"The parameter cannot be converted to a numeric value",
    r"Number (over|under)flow",
    r"Attempting to store more than 38 significant digits",
)
PAIRS.lacks(
    "static checks",
    "paths are looked at before anything is carried out (as in expressions)",
    r"Two document paths (overlap|conflict)",
    r"Duplicate identifiers in select clause",
    r"Multiple conditions on same key",
    r"One or more parameter values are not valid\. A value specified for a secondary index key is not supported",
    r"One or more parameter values were invalid: Type mismatch for Index Key",
    r"One or more parameter values were invalid: (Aggregated size of all range keys|Size of hashkey) has exceeded",
    r"Item size has exceeded the maximum allowed size",
    r"The BETWEEN operator requires",
    r"Incorrect operand type for operator or function",
    r"One or more parameter values are not valid\. The AttributeValue for a key attribute cannot contain an empty",
    r"One or more parameter values were invalid: Cannot update attribute \S+\. This attribute is part of the key",
)
PAIRS.lacks(
    "updates that cannot be",
    "as in expressions; Dynoxide has texts of its own, does nothing, or makes what is not there",
    r"The document path provided in the update expression is invalid for update",
    r"The provided expression refers to an attribute that does not exist in the item",
    r"An operand in the update expression has an incorrect data type",
)
PAIRS.refuses(
    "what assignments see",
    "all see the item as it was before, as in expressions; Dynoxide's see what the ones before them did",
    r"SET expression \w+ requires numeric attribute and operand",
    r"list_append requires list operands",
)
PAIRS.lacks(
    "reads and writes before values",
    "a bad value is a matter of its statement, reads among writes of the batch",
    r"Read and write requests together in the same batch is not supported",
)


@PAIRS.known("types before duplicates", "the types of key values are a matter of the statement; Dynoxide takes the first of two values and compares items first")
def _(pair):
    return pair.both_refuse() and "The provided key element does not match the schema" in pair.our_text() and (
        pair.their_text() == "Transaction request cannot include multiple operations on one item")


@PAIRS.known("elements behind a list's end", "go to its end in the order of their numbers (documented); Dynoxide puts them as they come")
def _(pair):
    return "error" not in pair.ours and "error" not in pair.theirs and len(re.findall(r"\[\d+\] =", pair.text)) > 1


@PAIRS.known("operands that the statement sets", "have the value before the update (documented for updates); Dynoxide sets one after the other")
def _(pair):
    targets = set(re.findall(r'[ ,]\\?"?(\w+)\\?"? = ', pair.text.partition(" WHERE ")[0]))
    operands = re.findall(r'list_append\(\\?"?(\w+)|, \\?"?(\w+)\\?"?\)|= \\?"?(\w+)\\?"? [+-]', pair.text)
    return "error" not in pair.ours and "error" not in pair.theirs and len(targets) > 1 and any(
        name in targets for names in operands for name in names)


PAIRS.own_text("indexes that are not there", "the text names the index (DynamoDB Local agrees)", r"The table does not have the specified index$")
PAIRS.own_text("values of keys", "a text of its own", r"Invalid key value")
PAIRS.own_text("RETURNING", "statements are read one after the other, then looked at (measured)", r"RETURNING clause is not supported in ExecuteTransaction")
PAIRS.lacks(
    "keys",
    "a batch or a transaction reads whole keys (measured); reads that overlap are refused",
    r"Select statements within \w+ must specify the primary key in the where clause",
    r"Overlapping conditions with range keys are not supported in where clause",
)


PAIRS.lacks(
    "keys of several attributes",
    "tables with such indexes take no statements",
    r"PartiQL statements cannot be executed on tables with multi-attribute",
)


def add_dynoxide(rules):
    PAIRS.add_to(rules)

    @rules.known("PartiQL: capacity of several keys", "each key costs as one Query (documented)")
    def _(case):
        return case.reads() and " IN [" in case.text() and same_but_capacity(case)

    @rules.known("PartiQL: capacity of parentheses", "do not make a Query a Scan")
    def _(case):
        return case.reads() and "(" in case.text().upper().split("WHERE", 1)[-1] and same_but_capacity(case)

    @rules.known("PartiQL: capacity of batches", "statements that fail cost, and a table's part is its own (as in other operations)")
    def _(case):
        return case.operation == "BatchExecuteStatement" and '"Error"' in case.gramme.text and same_but_capacity(case)


def same_but_capacity(case):
    return case.both_ok() and without(case.left, "ConsumedCapacity") == without(case.right, "ConsumedCapacity")
