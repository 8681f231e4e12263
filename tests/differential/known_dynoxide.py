"""Where Dynoxide 1.2.1 differs and is not to be followed. It is close to the service in texts, but looks at conditions and updates only
as far as it evaluates them."""

import json
import re

import known_extras
import known_partiql
from known import (ENVELOPE, EXPRESSION, INVALID, MISTAKES, PAGES, WRITES, Rules, makes_nothing, one_row, only_reason_is_static, reasons, refused,
                   shows_fragments, text, without)
from servers import Client

# Members of table descriptions that it does not have, or fills in its own way.
IGNORED_MEMBERS = {
    "WarmThroughput": "came in November 2024",
    "TableThroughputModeSummary": "is not in the service's model",
    "TableSizeBytes": "is always 0 there",
    "IndexSizeBytes": "is always 0 there",
    "ItemCount": "is 0 there in some answers",
    "BillingModeSummary": "has no date there, and goes when a table becomes provisioned again",
    "DeletionProtectionEnabled": "is missing there in answers to CreateTable",
    "KMSMasterKeyArn": "is made up by everybody",
    "SSEDescription": "is not kept there",
    "NumberOfDecreasesToday": "counts differently there",
    "LastIncreaseDateTime": "is given or not for the same change",
    "LastDecreaseDateTime": "is given or not for the same change",
}

TEXTS_COUNT = True
LEFT_OUT = set()
CLIENT = Client
REMOVES_UNFIT_FIRST = False
CALM = False
avoids = None
RULES = Rules()
known, lacks, own_text = RULES.known, RULES.lacks, RULES.own_text
known_extras.add_dynoxide(RULES)
known_partiql.add_dynoxide(RULES)

# --- Dynoxide: the JSON of requests ---

own_text(
    "serde",
    "malformed requests are answered with the words of its JSON library",
    r"(missing field|invalid type|invalid value|invalid length|unknown variant|expected |duplicate field|EOF |trailing |floating point|"
    r"key must|control character|lone |invalid base64|data did not match|integer |invalid unicode)",
)


@known("not an object", "a body that is no JSON object is refused without a message (measured by Dynalite)")
def _(case):
    return case.gramme.error() == "SerializationException" and not case.gramme.message()


@known(
    "wrong kinds of JSON",
    "texts for JSON of a wrong kind as Dynalite measured them; Dynoxide takes some for others, says "
    "TRUE_VALUE for numbers, does not look into legacy parameters, and misses some",
)
def _(case):
    return case.gramme.error() == "SerializationException" and bool(case.gramme.message())


@known(
    "members of other operations",
    "Dynoxide reads Limit, Segment and the like in every operation; the service skips members that an "
    "operation does not have",
)
def _(case):
    return case.gramme.error() != "SerializationException" and case.oracle.error() == "SerializationException"


# --- Dynoxide: texts and the order of checks ---


@known(
    "envelope",
    "PutItem, UpdateItem and DeleteItem put the envelope before everything that is found before the table"
    " is looked up (measured in October 2026); Dynoxide puts it before some",
)
def _(case):
    ours, theirs = case.gramme.message(), case.oracle.message()
    return case.operation in WRITES and case.gramme.status == case.oracle.status and ours == ENVELOPE + theirs


@known(
    "wording of the current layer",
    "numbers, sets, empty table names, unknown ReturnValues and ConditionalOperator are worded anew by "
    "the service (captures of October 2026)",
)
def _(case):
    ours, theirs = text(case.gramme), text(case.oracle)
    if not refused(case.gramme) or not refused(case.oracle):
        return False
    return bool(
        re.match(INVALID + "Input collection", ours) and "Input collection" in theirs
        or re.match(r"Value at '(TableName|RequestItems|RequestItems\..*\.Keys|Limit)' failed", ours) and "failed to satisfy constraint" in theirs
        or "Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]" in ours and "returnValues" in theirs
        or ours == "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]"
        or re.match(r"The parameter cannot be converted to a numeric value|Number (over|under)flow", ours) and
        re.match(r"The parameter cannot be converted|Number (over|under)flow", theirs))


PARSER = r"(Invalid \w+Expression: )?(Syntax error; )?(Expected |Unexpected |Unterminated|Unsupported|Invalid operator|Invalid operand)"
own_text(
    "parser",
    "Dynoxide's parsers have texts of their own for what they do not expect",
    PARSER,
    r"Syntax error; token",
    r"An expression attribute (name|value) used",
    r"Query filter contains a sort key",
    r"Invalid KeyConditionExpression: partition key",
    r"Invalid KeyConditionExpression: unsupported operator with a value on the left",
)


@known("parentheses and spaces", "may stand around an operand and an index (DynamoDB Local agrees)")
def _(case):
    messages = [text(case.oracle)] + [r.get("Message") or "" for r in (case.oracle.body or {}).get("CancellationReasons", [])]
    odd = re.search(r"\( *[#\w.\[\]]+ *\)|\[ +\d|\d +\]", case.text())
    return bool(odd) and any(re.match(PARSER + r"|Invalid \w+Expression: Syntax error; token|Value provided in ExpressionAttribute", t) for t in messages)


@known("token and near", "Dynoxide has no `near`, or another piece of text there")
def _(case):
    def token(answer):
        found = re.match(EXPRESSION + r'Syntax error; token: "(.*?)"(, near: |$)', text(answer), re.DOTALL)
        return found and found[2]

    return token(case.gramme) is not None and token(case.oracle) is not None


own_text(
    "segments",
    "a text of its own for TotalSegments and Segment out of bounds",
    r"Value at 'totalSegments'|Value '-?\d+' at 'segment'",
)

lacks(
    "static checks of expressions",
    "Dynoxide looks at operand types, bounds, types' names, document paths and first operands when it "
    "evaluates an expression, and not at all if it need not; the service when it reads it (and so does "
    "DynamoDB Local)",
    EXPRESSION + r"Incorrect (operand type|number of operands)",
    EXPRESSION + r"The BETWEEN operator requires",
    EXPRESSION + r"The first operand must be distinct",
    EXPRESSION + r"Invalid attribute type name found",
    EXPRESSION + r"Two document paths (overlap|conflict)",
    EXPRESSION + r"The \w+ operator",
    EXPRESSION + r"Invalid function name",
    EXPRESSION + r"The function",
    EXPRESSION + r"The document path has too many nesting levels",
)
lacks(
    "document paths of updates",
    "where a part of the path is missing an update is refused (DynamoDB Local agrees); Dynoxide does "
    "nothing, or makes the parts",
    r"The document path provided in the update expression is invalid for update",
)


@known("beyond the end of a list", "an element that is set there is added to the end (documented); Dynoxide fills the gap with nulls")
def _(case):
    return case.operation in ("UpdateItem", "TransactWriteItems") and case.both_ok() and bool(
        re.search(r"\[\d+\] = ", case.text())) and '{"NULL": true}' in json.dumps(case.right.get("after"))


lacks(
    "paths into keys",
    "a path into a key attribute is refused in conditions, filters and projections too (captures)",
    r"Key attributes must be scalars",
)


@known("paths into keys in TransactGetItems", "as above")
def _(case):
    return case.operation == "TransactGetItems" and "Key attributes must be scalars" in case.gramme.text


lacks(
    "names and values",
    "maps of names and values are looked through first (measured by Dynalite); Dynoxide looks for unused "
    "ones first, and not at all where there is no expression",
    r"ExpressionAttribute(Names|Values) contains invalid (key|value)",
    r"ExpressionAttribute(Names|Values) must not be empty",
    r"ExpressionAttribute(Names|Values) can only be specified",
)
lacks(
    "expressions before keys",
    "expressions are read before anything of the item is looked at; Dynoxide reads them in transactions "
    "after the key, and one after the other",
    EXPRESSION + r"(Expression size|Syntax error|An expression attribute|Attribute name is a reserved|The expression)",
    r"Value provided in ExpressionAttribute(Names|Values) unused",
)
lacks(
    "constraints",
    "Dynoxide does not check all constraints of the model, or after other things",
    r"(?s)(\d+ validation errors? detected: )?Value .* failed to satisfy constraint: ",
)
lacks(
    "values",
    "attribute values are looked through before keys, conditions and tables",
    r"Supplied AttributeValue",
    INVALID + r"(An (number|string|binary) set  may not |Null attribute value types|Input collection)",
    r"Input collection contains duplicates",
    r"Nesting Levels have exceeded",
    r"The parameter cannot be converted to a numeric value",
    INVALID + r"Binary sets should not be empty",
    r"Number (over|under)flow",
    r"Attempting to store more than 38 significant digits",
    r"Empty attribute name",
)

# --- Dynoxide: items ---

lacks(
    "equal numbers",
    "keys that are equal numbers in different clothes (100, 1e2) are duplicates",
    r"Provided list of item keys contains duplicates",
    r"Transaction request cannot include multiple operations on one item",
)
lacks(
    "keys of batches",
    "a BatchWriteItem whose item lacks its key says that the key does not match (captures)",
    r"The provided key element does not match the schema",
    operations={"BatchWriteItem"},
)
lacks(
    "changed keys",
    "whether an update changes the key is looked at before the condition (Dynalite does, too)",
    INVALID + r"Cannot update attribute \S+\. This attribute is part of the key",
)
lacks(
    "ReturnValues",
    "is looked at before the rest (captures)",
    r"ReturnValues can only be ALL_OLD or NONE",
    r"Failed to satisfy constraint: Member must satisfy enum value set: \[ALL_OLD, UPDATED_OLD",
)


@known(
    "ALL_OLD of nothing",
    "an item that was not there has no old attributes; Dynoxide answers with its key",
)
def _(case):
    return (case.operation == "UpdateItem" and case.gramme.status == case.oracle.status == 200
            and case.body.get("ReturnValues") == "ALL_OLD" and "Attributes" not in case.gramme.body
            and case.left["body"] == {k: v for k, v in case.right["body"].items() if k != "Attributes"})


@known("numbers in keys", "ItemCollectionKey holds the number as it is kept (100), not as it was given (1e2)")
def _(case):
    return case.gramme.status == case.oracle.status == 200 and case.left["body"].get("ItemCollectionMetrics") != case.right["body"].get(
        "ItemCollectionMetrics") and bool(re.search(r'"N": "(1e2|1e0|[+0.])', case.text()))


@known("ItemCollectionMetrics of transactions", "are given if asked for (documented)")
def _(case):
    return case.operation == "TransactWriteItems" and case.gramme.status == case.oracle.status == 200 and case.left["body"] == {
        **case.right["body"], "ItemCollectionMetrics": case.left["body"].get("ItemCollectionMetrics")}


@known("the first of several mistakes", "which mistake of an update is found first is nowhere defined")
def _(case):
    return case.operation == "UpdateItem" and text(case.gramme) in MISTAKES and text(case.oracle) in MISTAKES


@known("removing from nothing", "an update that only removes makes no item (measured)")
def _(case):
    return makes_nothing(case)


own_text(
    "size of expressions",
    "Dynoxide adds the size",
    EXPRESSION + r"Expression size has exceeded the maximum allowed size;",
)
own_text("list_append", "a text of its own", r"list_append requires two list operands")


@known("projections in TransactGetItems", "Dynoxide adds the keys of the item")
def _(case):
    return case.operation == "TransactGetItems" and case.gramme.status == case.oracle.status == 200 and "ProjectionExpression" in case.text()


own_text("operands of arithmetic", "a text of its own", r"Operands for [+-] must be numbers")
own_text("values of key conditions", "how many there are is checked before their types", r"Cannot convert partition key value to string")


@known("types of keys before sizes", "all key attributes' types are checked before a size; Dynoxide checks them one after the other")
def _(case):
    return case.gramme.message() == "The provided key element does not match the schema" and bool(
        re.match(INVALID + "(Size of hashkey|Aggregated size)", case.oracle.message()))


lacks(
    "sizes",
    "items with local indexes share 400 KB with their entries; keys of indexes have the limits of keys "
    "(documented)",
    r"Item size (to update )?has exceeded",
    INVALID + r"(Aggregated size of all range keys|Size of hashkey)",
)


@known(
    "NOT_CONTAINS of nothing",
    "an attribute that is not there matches nothing but NE and NULL (DynamoDB Local agrees)",
)
def _(case):
    return case.gramme.error() == "ConditionalCheckFailedException" and case.oracle.error() != case.gramme.error() and "NOT_CONTAINS" in case.text()


lacks(
    "index keys before duplicates",
    "items are checked one by one before duplicates are looked for",
    INVALID + r"Type mismatch for Index Key",
    operations={"BatchWriteItem"},
)

own_text(
    "empty keys first",
    "types of keys are looked at first",
    r"One or more parameter values are not valid\. The AttributeValue for a key",
)


@known("tables before keys", "batches look for all tables before they look at keys")
def _(case):
    return case.operation in ("BatchGetItem", "BatchWriteItem") and case.gramme.error() == "ResourceNotFoundException" and refused(case.oracle)


@known("letters of begins_with", "Dynoxide's begins_with in key conditions takes A for a (its SQL's LIKE does)")
def _(case):
    def items(side):
        return (side.get("pages") or side["body"]).get("Items", [])

    if case.operation != "Query" or not case.both_ok() or not re.search("begins_?with", case.text(), re.IGNORECASE):
        return False
    return len(items(case.left)) < len(items(case.right)) and all(item in items(case.right) for item in items(case.left))


@known("capacity of projections", "reads cost what the item takes, not what is shown of it (documented)")
def _(case):
    return case.operation in ("GetItem", "BatchGetItem", "TransactGetItems") and case.both_ok() and (
        "ProjectionExpression" in case.text() or "AttributesToGet" in case.text()) and (
        without(case.left, "ConsumedCapacity") == without(case.right, "ConsumedCapacity"))


@known(
    "fragments",
    "UPDATED_OLD and UPDATED_NEW show only what is at the paths of the update (measured); Dynoxide all of"
    " the attribute",
)
def _(case):
    return str(case.body.get("ReturnValues")).startswith("UPDATED") and shows_fragments(case, (case.oracle.body or {}).get("Attributes"))


@known("past the end of a list", "an element is added at the end (documented for SET); Dynoxide fills the gap with NULL")
def _(case):
    nulls = [json.dumps(side).count('{"NULL": true}') for side in (case.left, case.right)]
    return case.both_ok() and bool(re.search(r"\[\d+\]", case.text())) and nulls[0] < nulls[1]


# --- Dynoxide: transactions ---


@known("mismatch of tokens", "has no message; Dynoxide's is that of an SDK which got none")
def _(case):
    return case.gramme.error() == case.oracle.error() == "IdempotentParameterMismatchException"


lacks(
    "empty keys of transactions",
    "are found before anything else of the items (captures)",
    r"One or more parameter values are not valid\. .*The AttributeValue for a key attribute cannot contain an empty",
    operations={"TransactWriteItems", "BatchWriteItem"},
)
own_text("no action", "a text of its own", r"TransactItem must contain exactly one action")
lacks("actions before values", "an element without an action is found before what is wrong with values", r"Invalid Request: TransactWriteRequest should contain")


@known("keys before duplicates in transactions", "each key must fit its table; Dynoxide compares first, without the attributes that do not belong there")
def _(case):
    return (case.operation == "TransactWriteItems" and only_reason_is_static(case)
            and "The provided key element does not match the schema" in json.dumps(case.gramme.body)
            and case.oracle.message() == "Transaction request cannot include multiple operations on one item")


@known("keys before conditions in transactions", "the first key or update that does not fit the table is the only reason (measured)")
def _(case):
    return case.operation == "TransactWriteItems" and only_reason_is_static(case) and (
        case.oracle.is_ok() or case.oracle.error() == "TransactionCanceledException")


@known(
    "reasons of updates in transactions",
    "Dynoxide stops at the first reason of some kinds, and does not find document paths (DynamoDB Local agrees with us)",
)
def _(case):
    if case.operation != "TransactWriteItems" or case.gramme.error() != "TransactionCanceledException":
        return False
    ours = [r.get("Message") for r in case.gramme.body["CancellationReasons"]]
    theirs = [r.get("Message") for r in (case.oracle.body or {}).get("CancellationReasons", [])] or [None] * len(ours)
    comparable = case.oracle.is_ok() or case.oracle.error() == "TransactionCanceledException"
    return comparable and not MISTAKES.isdisjoint(ours) and all(
        a == b or a in MISTAKES or b is None for a, b in zip(ours, theirs))


@known("reasons of keys", "a key of a wrong type and an empty one: which of the two is reported")
def _(case):
    return case.operation == "TransactGetItems" and "ValidationError" in reasons(case.gramme) and reasons(case.gramme) == reasons(case.oracle)


# --- Dynoxide: legacy parameters ---


@known(
    "legacy parameters as expressions",
    "Dynoxide turns legacy parameters into expressions and stumbles over names that cannot stand in one",
)
def _(case):
    legacy = ("Expected", "QueryFilter", "ScanFilter", "AttributesToGet", "AttributeUpdates")
    return case.oracle.status == 400 and isinstance(case.body, dict) and any(m in case.text() for m in legacy) and bool(
        re.search(r"attribute name: #|#(qf|sf|expected)_|Syntax error|Expected |Unexpected |[Rr]eserved|Duplicate value in attribute name", case.oracle.message()))


@known(
    "KeyConditions beside expressions",
    "may stand beside a FilterExpression and a ProjectionExpression (measured by Dynalite)",
)
def _(case):
    return bool(re.match(r"Can not use both expression and non-expression parameters.*: \{KeyConditions\}", case.oracle.message()))


lacks(
    "legacy conditions",
    "operands of comparisons are checked for their number and types before the item is looked at "
    "(measured by Dynalite)",
    INVALID + r"(ComparisonOperator|Invalid number of argument|Value or AttributeValueList|Value must|Value cannot|"
    r"Duplicate value in attribute name|Exists|One or more|AttributeValues)",
    r"The BETWEEN condition was provided a range",
    r"One or more parameter values are not valid\. The AttributeValue for a key",
    r"ConditionalOperator can(not| only) be used",
    r"Can not use both expression and non-expression",
    r"Supplied AttributeValue",
)

own_text(
    "Value beside ComparisonOperator",
    "is a list of one (measured by Dynalite)",
    INVALID + r"Value or AttributeValueList must be used",
)
lacks(
    "unknown ConditionalOperator",
    "is refused (captures)",
    r"Failed to satisfy constraint: Member must satisfy enum value set: \[ALL, OR\]",
)
lacks(
    "AttributeUpdates in order",
    "Dynoxide looks at them in another order",
    INVALID + r"(ADD|DELETE) action (with value )?is not supported",
    INVALID + r"Value and AttributeValueList",
    operations={"UpdateItem", "PutItem", "DeleteItem"},
)
lacks(
    "empty KeyConditions",
    "have a text of their own (measured by Dynalite)",
    r"Conditions can be of length 1 or 2 only",
)

# --- Dynoxide: pages ---


@known("capacity of local indexes", "units of a local index are counted there, not at the table (measured)")
def _(case):
    table = case.table()
    index = case.body.get("IndexName") if isinstance(case.body, dict) else None
    if table is None or index not in table.indexes or index in table.globals or not case.both_ok():
        return False
    return {**case.left, "body": {**case.left["body"], "ConsumedCapacity": 0}} == {**case.right, "body": {**case.right["body"], "ConsumedCapacity": 0}}


@known("starting at a single row", "a Query after the only row of a partition finds nothing")
def _(case):
    table = case.table()
    return case.operation == "Query" and case.both_ok() and table is not None and not table.keys.range and (
        case.body.get("ExclusiveStartKey") is not None) and not case.gramme.body.get("Items")



@known("one item at most", "a Query of a table without sort key has no LastEvaluatedKey (DynamoDB Local agrees with us)")
def _(case):
    return one_row(case) and "LastEvaluatedKey" in case.oracle.body


@known(
    "local indexes fetch",
    "attributes that a local index does not hold are fetched from the table (documented); not by Dynoxide",
)
def _(case):
    table = case.table()
    index = case.body.get("IndexName") if isinstance(case.body, dict) else None
    if table is None or index not in table.indexes or index in table.globals or index not in table.partial:
        return False
    return case.operation in PAGES and case.gramme.status == case.oracle.status == 200


lacks(
    "attributes of indexes",
    "what a global index does not hold cannot be asked for, nor be in the filter of a Query (measured by "
    "Dynalite)",
    INVALID + r"(Global secondary index|Secondary index|Select type|One or more)",
)
lacks(
    "starting keys",
    "Dynoxide checks them less, and with other texts",
    r"The provided (starting|exclusive start) key",
    r"Exclusive Start Key",
    r"The query can return at most one row",
    r"(Filter Expression|QueryFilter) can only contain non-primary key",
)
own_text(
    "ConsistentRead before the index",
    "an index that is not there is found first",
    r"Consistent reads are not supported on global",
)
own_text(
    "missing keys in key conditions",
    "conditions are counted first",
    r"Query condition missed key schema element",
)


@known("order of key conditions", "does not matter; Dynoxide wants the partition key of a local index first")
def _(case):
    return case.operation == "Query" and case.gramme.is_ok() and case.oracle.message().startswith("Query condition missed key schema element")


@known("NOT_CONTAINS of nothing in filters", "as above")
def _(case):
    return case.operation in PAGES and case.both_ok() and "NOT_CONTAINS" in case.text()


@known("null for false", "a member that is null is a member that is not there; Dynoxide refuses some")
def _(case):
    return case.gramme.is_ok() and case.oracle.message().startswith("invalid type: null") and ": null" in case.text()


lacks(
    "parameters before expressions",
    "segments and the presence of key conditions are looked at before expressions",
    r"The (TotalSegments|Segment) parameter",
    r"Either the KeyConditions or KeyConditionExpression",
)
lacks(
    "Select",
    "is looked at first",
    r"ALL_PROJECTED_ATTRIBUTES can be used only",
    r"Must specify the AttributesToGet or ProjectionExpression",
    r"Cannot specify the (ProjectionExpression|AttributesToGet) when choosing",
)
lacks(
    "types of key conditions",
    "values must have the types of the keys",
    INVALID + r"Condition parameter type does not match",
    operations={"Query"},
)

# --- Dynoxide: tables ---


@known(
    "checks before the table's name is looked up",
    "Dynoxide looks first whether the table is there already",
)
def _(case):
    return case.operation == "CreateTable" and refused(case.gramme) and case.oracle.error() == "ResourceInUseException"


@known(
    "UPDATING",
    "a table is UPDATING while it is changed (documented); in Dynoxide only if its throughput changes, "
    "which it keeps for the table but not for indexes",
)
def _(case):
    if case.operation != "UpdateTable" or case.gramme.status != 200 or case.oracle.status != 200:
        return False
    ours, theirs = case.left["body"]["TableDescription"], case.right["body"]["TableDescription"]
    changing = {"TableStatus", "ProvisionedThroughput", "GlobalSecondaryIndexes", "StreamSpecification", "TableClassSummary", "LatestStreamLabel",
                "LatestStreamArn", "OnDemandThroughput"}
    return {k: v for k, v in ours.items() if k not in changing} == {k: v for k, v in theirs.items() if k not in changing}


@known("indexes that go", "an index is DELETING for a while, and its keys are defined as long (measured); in Dynoxide it is gone at once")
def _(case):
    if case.operation != "UpdateTable" or not case.both_ok() or '"DELETING"' not in case.gramme.text:
        return False
    changing = {"TableStatus", "GlobalSecondaryIndexes", "AttributeDefinitions"}
    ours, theirs = case.left["body"]["TableDescription"], case.right["body"]["TableDescription"]
    return {k: v for k, v in ours.items() if k not in changing} == {k: v for k, v in theirs.items() if k not in changing}


@known("indexes that are not there", "the service names index and table (measured)")
def _(case):
    return case.operation == "UpdateTable" and not case.oracle.is_ok() and bool(
        re.fullmatch(r"Requested resource not found: Index \S+ for table \S+", case.gramme.message()))


@known("one index at a time", "comes or goes (documented); Dynoxide allows five")
def _(case):
    return case.operation == "UpdateTable" and case.gramme.error() == "LimitExceededException"


lacks(
    "settings of tables",
    "Dynoxide does not check them all, or in another order",
    INVALID + r"(ProvisionedThroughput (should|must)|Duplicate index|Unknown Proj|ProjectionType is |ReadCapacityUnits and|Index KeySchema does|Neither ReadCapacityUnits|Number of|"
    r"Table is being created with a stream|If stream is being|Table is already encrypted|SSEType |KMSMasterKeyId |Requested \w+UnitsPerSecond|Attributes cannot be redefined|Duplicate element|The only Updates for index|You cannot modify stream|Table KeySchema does not have a range key|M\w+Units for OnDemand|Requested M\w+|Only one global|One of Global|Some AttributeDefinitions|Some index key|"
    r"You cannot create or delete index|[\w -]+ must be the only operation|OnDemandThroughput can only be combined|AttributeDefinitions is not specified|"
    r"Both ReadCapacityUnits and|List of GlobalSecondaryIndexUpdates)",
    r"Attempting to create an index which already exists",
    r"Cannot (delete|update) an index that is not a GlobalSecondaryIndex",
    r"Table (has no stream to disable|already has an enabled stream)",
    r"The provisioned throughput for the (table|index \S+) will not change",
    r"Given value \d+ for",
    r"Attribute Name is duplicated",
    r"Both the Hash Key",
    r"Invalid KeySchema",
    r"This operation cannot be performed with given input values",
    operations={"CreateTable", "UpdateTable"},
)


@known("changes of one setting", "SSESpecification and OnDemandThroughput are changes, too")
def _(case):
    return case.operation == "UpdateTable" and case.oracle.message().startswith("At least one of") and bool(
        {"SSESpecification", "OnDemandThroughput"} & set(case.body))


@known("DeleteTable without global indexes", "the answer does not show them (measured by Dynalite)")
def _(case):
    return case.operation == "DeleteTable" and case.gramme.status == case.oracle.status == 200 and case.left["body"]["TableDescription"] == {
        k: v for k, v in case.right["body"]["TableDescription"].items() if k != "GlobalSecondaryIndexes"}


own_text(
    "short names of tables",
    "only CreateTable asks for three characters (captures)",
    r"TableName must be at least 3 characters long",
)


@known("settings of indexes", "Dynoxide does not keep OnDemandThroughput of an index")
def _(case):
    return case.operation in ("CreateTable", "DescribeTable") and case.both_ok() and '"OnDemandThroughput"' in case.gramme.text and (
        without(case.left, "OnDemandThroughput") == without(case.right, "OnDemandThroughput"))


@known("streams that are disabled", "LatestStreamArn and LatestStreamLabel stay (measured); not in Dynoxide")
def _(case):
    def shown(side):
        return without(without(side["body"]["Table"], "LatestStreamArn"), "LatestStreamLabel")

    return case.operation == "DescribeTable" and case.both_ok() and "StreamSpecification" not in case.gramme.body["Table"] and (
        shown(case.left) == shown(case.right))


@known("changes that are not kept", "Dynoxide forgets new throughput of indexes and the date of a change of TableClass")
def _(case):
    def kept(side):
        table = without(side["body"]["Table"], "LastUpdateDateTime")
        indexes = [without(index, "ProvisionedThroughput") for index in table.get("GlobalSecondaryIndexes", [])]
        return {**table, "GlobalSecondaryIndexes": indexes}

    return case.operation == "DescribeTable" and case.both_ok() and kept(case.left) == kept(case.right)


own_text(
    "throughput of index updates",
    "is not required since tables can be on demand (model)",
    r"Value null at 'globalSecondaryIndexUpdates\.\d+\.member\.update\.provisionedThroughput'",
)


@known("updates of indexes that change nothing", "as above")
def _(case):
    return case.operation == "UpdateTable" and case.gramme.is_ok() and "update.provisionedThroughput" in case.oracle.message()


own_text("no change", "an older list of what may be changed", r"At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled")


@known("descriptions of deleted tables", "have neither keys nor indexes nor a date of creation (captures of October 2026)")
def _(case):
    if case.operation != "DeleteTable" or not case.both_ok():
        return False
    gone = {"KeySchema", "AttributeDefinitions", "CreationDateTime", "GlobalSecondaryIndexes", "LocalSecondaryIndexes", "StreamSpecification"}
    ours, theirs = case.left["body"]["TableDescription"], case.right["body"]["TableDescription"]
    return "KeySchema" not in ours and {k: v for k, v in ours.items() if k not in gone} == {k: v for k, v in theirs.items() if k not in gone}


@known(
    "DeletionProtectionEnabled",
    "is kept differently there if it is null, or changed along with other settings",
)
def _(case):
    return case.operation == "DeleteTable" and "protected against deletion" in case.gramme.message() + case.oracle.message()


@known("tables before settings", "UpdateTable looks for the table first")
def _(case):
    return case.operation == "UpdateTable" and case.gramme.error() == "ResourceNotFoundException" and refused(case.oracle)


@known("keys of several attributes", "came in November 2025")
def _(case):
    return case.operation == "CreateTable" and not refused(case.gramme) and case.oracle.message().startswith("Invalid KeySchema: The second")


def has_long_keys(case):
    """Whether an index of a table that the request names has keys of more than two attributes."""
    tables = [t for n, t in case.tables.items() if n in case.text()]
    return any(len(keys.all) > 2 for t in tables for keys in t.indexes.values())


@known("units of keys of several attributes", "an item is in an index only with all of its key attributes; Dynoxide looks at two of them")
def _(case):
    return case.both_ok() and without(case.left, "ConsumedCapacity") == without(case.right, "ConsumedCapacity") and has_long_keys(case)


@known("entries of keys of several attributes", "as above")
def _(case):
    return case.operation == "ExecuteStatement" and case.both_ok() and '\\".\\"' in case.text() and has_long_keys(case)


lacks("too many writes", "are counted first", r"Too many items requested for the BatchWriteItem call")
own_text("updates of local indexes", "a text of its own", r"This operation cannot be performed with given input values.*: Action Blocked: IndexUpdate$")
own_text("long keys of new indexes", "keys of several attributes came in November 2025", r"Value null at 'keySchema' failed to satisfy")
lacks(
    "keys of several attributes of indexes",
    "as above; their names are different ones, HASH before RANGE",
    r"The KeySchema contains multiple key attributes with the same name",
    INVALID + r"All HASH key attributes must precede RANGE",
)


@known("several elements of a list removed", "their indexes are those before the update (documented); Dynoxide's shift as it goes")
def _(case):
    return case.operation in ("UpdateItem", "TransactWriteItems") and case.both_ok() and bool(
        re.search(r"\bREMOVE\b.*\[\d+\].*\[\d+\]", case.text(), re.IGNORECASE))


@known("several new elements", "go to a list's end in the order of their indexes and know nothing of each other; Dynoxide adds to the one it has just set")
def _(case):
    adds = re.search(r"\bADD\b.*\[\d+\]", case.text(), re.IGNORECASE) and re.search(r"\bSET\b.*\[\d+\]", case.text(), re.IGNORECASE)
    return case.operation == "UpdateItem" and bool(adds) and case.gramme.is_ok() and case.oracle.message().endswith("has an incorrect data type")


@known("minus zero", "-0 and 0 are one number; Dynoxide keeps both in a set, and then finds duplicates")
def _(case):
    return case.gramme.is_ok() and '"-0' in case.text() and case.oracle.message() == "Input collection contains duplicates"


@known("tables of a batch", "which table of several is looked at first is not documented: the key of one does not fit, another is not there")
def _(case):
    messages = {case.gramme.message(), case.oracle.message()}
    return case.operation == "BatchGetItem" and messages == {"The provided key element does not match the schema", "Requested resource not found"}


@known("many indexes with keys of several attributes", "indexes are counted; Dynoxide stops at a key of several HASH attributes, which came in November 2025")
def _(case):
    return ("GlobalSecondaryIndex count exceeds the per-table limit" in case.gramme.message()
            and case.oracle.message() == "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
