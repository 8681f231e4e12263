"""Where DynamoDB Local of 2020 differs and is not to be followed. It has the service's semantics, texts of its own, and nothing of what
came later."""

import re
from decimal import Context, Decimal

import known_extras
from known import EXPRESSION, INVALID, PAGES, WRITES, Rules, reasons, refused, text, without

# Members of table descriptions that it does not have, or fills in its own way.
IGNORED_MEMBERS = {
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
}

TEXTS_COUNT = False
CALM = True  # leave out what it answers with an internal failure
PARTIQL = False  # it has none in 2020
STREAMS = False  # it trims them while they are read
INDEX_CHANGES = False  # it leaves new indexes CREATING
RULES = Rules()
known, lacks, own_text = RULES.known, RULES.lacks, RULES.own_text
known_extras.add_local(RULES)

# --- DynamoDB Local: what it does not know ---


def units_only(case):
    """Whether the answers differ in ConsumedCapacity, and what DynamoDB Local never gives, alone."""
    sides = (case.left, case.right)
    left, right = (without(without(side, "ConsumedCapacity"), "ItemCollectionMetrics") for side in sides)
    return case.both_ok() and left == right


@known("capacity unasked", "is given by DynamoDB Local to some requests that did not ask")
def _(case):
    return units_only(case) and "ConsumedCapacity" not in case.gramme.body


@known(
    "capacity of transactions and batches",
    "reads of nothing cost half a unit, transactions double the table's units alone, and a write costs "
    "the larger of the two items (measured); DynamoDB Local counts its own way",
)
def _(case):
    return units_only(case) and case.operation in ("BatchGetItem", "BatchWriteItem", "TransactGetItems", "TransactWriteItems")


@known("capacity of entries that stay", "an index entry that does not change costs nothing (measured)")
def _(case):
    return units_only(case) and case.operation in WRITES and (
        case.gramme.body["ConsumedCapacity"]["CapacityUnits"] < case.oracle.body["ConsumedCapacity"]["CapacityUnits"])


@known(
    "capacity of fetches",
    "what a local index does not hold is fetched from the table and paid there (documented)",
)
def _(case):
    return units_only(case) and case.operation in PAGES and case.table() is not None and case.body.get("IndexName") in case.table().partial


@known("large Limit", "DynamoDB Local fails beyond 31 bits")
def _(case):
    return case.oracle.status == 500 and case.operation in PAGES and case.body.get("Limit", 0) >= 2**31


@known("segments", "which key is in which segment is everybody's own")
def _(case):
    return case.operation == "Scan" and "egment" in case.gramme.message() + case.oracle.message() and "ExclusiveStartKey" in case.body


@known("streams", "an enabled stream cannot be enabled again: ResourceInUseException (measured)")
def _(case):
    return case.operation == "UpdateTable" and case.gramme.error() == "ResourceInUseException"


@known("projections of nothing in TransactGetItems", "the response has no Item (documented)")
def _(case):
    return case.operation == "TransactGetItems" and case.both_ok() and [r for r in case.left["body"]["Responses"] if r] == [
        r for r in case.right["body"]["Responses"] if r and r != {"Item": {}}]


@known("deleting from nothing", "DELETE of AttributeUpdates makes no item (documented)")
def _(case):
    return case.operation == "UpdateItem" and case.both_ok() and "Item" not in case.left.get("after", {}) and all(
        u.get("Action") == "DELETE" for u in case.body.get("AttributeUpdates", {}).values())


lacks(
    "paths into keys",
    "are refused in conditions, too, and before they are evaluated",
    r"Key attributes must be scalars",
)
lacks(
    "doubles in AttributesToGet",
    "are refused (measured by Dynalite)",
    INVALID + r"Duplicate value in attribute name",
)
lacks(
    "expressions of transactions",
    "are all read before an item is looked at",
    EXPRESSION,
    operations={"TransactWriteItems"},
)


@known("capacity of pages", "the smallest page costs half a unit")
def _(case):
    return units_only(case) and case.operation in PAGES and case.oracle.body["ConsumedCapacity"]["CapacityUnits"] == 0


@known("ItemCollectionMetrics", "are not there")
def _(case):
    return case.both_ok() and "ItemCollectionMetrics" in case.text() and (
        without(case.left, "ItemCollectionMetrics") == without(case.right, "ItemCollectionMetrics"))


@known(
    "numbers as given",
    "come back from DynamoDB Local with their exponents and zeros in some places; from the service "
    "without",
)
def _(case):
    left, right = (without(without(plain_numbers(side), "ConsumedCapacity"), "ItemCollectionMetrics") for side in (case.left, case.right))
    return case.both_ok() and left == right and "after" in left


def plain_numbers(value):
    if isinstance(value, dict):
        return {k: sorted(map(plain_numbers, v)) if k == "NS" else plain_numbers(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_numbers(v) for v in value]
    if isinstance(value, str) and re.match(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$", value):
        return str(Decimal(value).normalize(Context(prec=40)) + 0)
    return value


@known(
    "Limit without a sort key",
    "DynamoDB Local gives no LastEvaluatedKey with the only row of a partition",
)
def _(case):
    table = case.table()
    return case.operation == "Query" and case.both_ok() and table is not None and "LastEvaluatedKey" in case.gramme.body and (
        without(case.left, "LastEvaluatedKey") == case.right)


@known("tables while they change", "are shown as they will be; GlobalSecondaryIndexes even when deleted")
def _(case):
    changing = ("ProvisionedThroughput", "GlobalSecondaryIndexes", "StreamSpecification", "LatestStreamLabel", "LatestStreamArn")
    left, right = case.left, case.right
    for member in changing:
        left, right = without(left, member), without(right, member)
    return case.operation in ("CreateTable", "UpdateTable", "DeleteTable") and case.both_ok() and left == right


@known(
    "newer settings of tables",
    "OnDemandThroughput, Tags, TableClass, DeletionProtectionEnabled, SSESpecification and checks of "
    "throughput are not there",
)
def _(case):
    newer = {"OnDemandThroughput", "Tags", "TableClass", "DeletionProtectionEnabled", "SSESpecification", "ProvisionedThroughput", "BillingMode",
             "GlobalSecondaryIndexUpdates"}
    return case.operation in ("CreateTable", "UpdateTable") and isinstance(case.body, dict) and any(m in case.text() for m in newer) and (
        case.gramme.is_ok() != case.oracle.is_ok() or case.oracle.error() == "ResourceInUseException")


@known("DeletionProtectionEnabled", "is not there")
def _(case):
    return case.operation == "DeleteTable" and "protected against deletion" in case.gramme.message()


@known("failures", "DynamoDB Local answers some bad requests with an internal failure")
def _(case):
    return case.oracle.status == 500 and not case.gramme.is_ok()


@known(
    "nothing to update",
    "DynamoDB Local fails without UpdateExpression if ReturnValues is UPDATED_NEW or UPDATED_OLD",
)
def _(case):
    return case.oracle.status == 500 and case.operation == "UpdateItem" and "UpdateExpression" not in case.body


@known("names of tables and indexes", "are checked first, and as CreateTable does")
def _(case):
    return case.oracle.message().startswith("Invalid table/index name") and case.gramme.error() == "ResourceNotFoundException"


@known("tables before requests", "DynamoDB Local looks for the table before it reads the request")
def _(case):
    return refused(case.gramme) and case.oracle.error() == "ResourceNotFoundException"


lacks(
    "constraints",
    "DynamoDB Local does not check all constraints of the model",
    r"(\d+ validation errors? detected: )?Value .* failed to satisfy "
    "constraint: ",
    r"Failed to satisfy constraint",
)
lacks(
    "equal numbers",
    "keys that are equal numbers in different clothes (100, 1e2) are duplicates",
    r"Provided list of item keys contains duplicates",
    r"Transaction request cannot include multiple operations on one item",
)
lacks(
    "attributes of indexes",
    "what a global index does not hold cannot be asked for, nor be in the filter of a Query (measured by "
    "Dynalite)",
    INVALID + r"(Global secondary index|Secondary index|Select type)",
)
lacks(
    "ADD to an index key",
    "must give a value of its type, too",
    INVALID + r"Type mismatch for Index Key",
    operations={"UpdateItem"},
)


@known("ADD to an index key in a transaction", "as above")
def _(case):
    return case.operation == "TransactWriteItems" and case.oracle.is_ok() and "Type mismatch for Index Key" in case.gramme.text


@known("wrong kinds of JSON", "DynamoDB Local takes some for others")
def _(case):
    return case.gramme.error() == "SerializationException"


@known(
    "tables first",
    "are looked for before anything is asked of their items, and before a new one's schema is looked at",
)
def _(case):
    return case.gramme.error() in ("ResourceNotFoundException", "ResourceInUseException") and refused(case.oracle)


@known("filters on local indexes", "see what the index holds; DynamoDB Local fetches the items for a Scan")
def _(case):
    return case.operation == "Scan" and case.both_ok() and case.table() is not None and case.body.get("IndexName") in case.table().partial and (
        "Filter" in case.text())


lacks(
    "values before conditions",
    "of AttributeUpdates are looked through first",
    r"Nesting Levels have exceeded",
    r"Supplied AttributeValue",
    INVALID + r"Input collection",
)
lacks(
    "changed keys",
    "whether an update changes the key is looked at before the condition (Dynalite does, too)",
    INVALID + r"Cannot update attribute",
    INVALID + r"(ADD|DELETE) action",
    operations={"UpdateItem"},
)


@known(
    "mistakes in transactions",
    "items that cannot be written cancel the transaction (documented); in DynamoDB Local some refuse the "
    "whole request, and the first reason hides others",
)
def _(case):
    return case.operation in ("TransactWriteItems", "TransactGetItems") and case.gramme.error() == "TransactionCanceledException" and (
        "ValidationError" in reasons(case.gramme)) and (not case.oracle.is_ok() or "Key attributes must be scalars" in case.gramme.text)


@known("items of failed conditions", "ReturnValuesOnConditionCheckFailure came in 2023")
def _(case):
    return case.gramme.error() == case.oracle.error() and "ReturnValuesOnConditionCheckFailure" in case.text() and (
        without(case.left, "Item") == without(case.right, "Item"))


@known("requests before keys in transactions", "expressions and tables of all parts are looked at before any key")
def _(case):
    return case.operation in ("TransactWriteItems", "TransactGetItems") and case.oracle.error() == "TransactionCanceledException" and (
        case.gramme.error() in ("ValidationException", "ResourceNotFoundException"))


@known("fragments", "UPDATED_OLD and UPDATED_NEW show only what is at the paths of the update (measured)")
def _(case):
    return case.operation == "UpdateItem" and case.both_ok() and str(case.body.get("ReturnValues")).startswith("UPDATED") and (
        without(case.left, "Attributes") == without(case.right, "Attributes")) and "." in case.body.get("UpdateExpression", "")


@known("view type of a stream that is turned off", "is not looked at when a stream is disabled")
def _(case):
    return case.operation == "UpdateTable" and "StreamEnabled was false but a StreamViewType was present" in text(case.oracle)


@known("definitions that nothing uses", "are dropped with UpdateTable (captures); DynamoDB Local keeps them")
def _(case):
    return case.operation == "UpdateTable" and case.both_ok() and len(case.gramme.body["TableDescription"]["AttributeDefinitions"]) < len(
        case.oracle.body["TableDescription"]["AttributeDefinitions"])
