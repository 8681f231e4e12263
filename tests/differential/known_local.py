"""Where DynamoDB Local 3.3.1 differs and is not to be followed. It has the service's semantics for items, expressions and indexes, but its own
texts, so that only the kinds of errors are compared, and it checks less."""

import re

import known_extras
import known_partiql_local
from known import INVALID, PAGES, WRITES, Rules, is_within, makes_nothing, only_reason_is_static, reasons, refused, service_key, shows_fragments, without
from local_answers import LocalClient

# Members of table descriptions that it does not have, or fills in its own way.
IGNORED_MEMBERS = {
    "WarmThroughput": "is not there",
    "TableId": "is not there",
    "TableStatus": "tables are ACTIVE at once there",
    "IndexStatus": "indexes are ACTIVE at once there",
    "LastIncreaseDateTime": "is 0 there if there was none",
    "LastDecreaseDateTime": "is 0 there if there was none",
    "NumberOfDecreasesToday": "is always 0 there",
    "TableSizeBytes": "counts some numbers with a byte more there",
    "IndexSizeBytes": "counts some numbers with a byte more there",
    "BillingModeSummary": "has a date there even if the mode never changed",
    "SSEDescription": "is not there",
    "TableClassSummary": "is not there",
    "LatestStreamLabel": "is there without a stream, too",
    "LatestStreamArn": "is there without a stream, too",
}
LEFT_OUT = {"ItemCollectionMetrics"}  # it never gives them

TEXTS_COUNT = False
CLIENT = LocalClient
REMOVES_UNFIT_FIRST = True  # an item that is not fit for a new index ends the thread that fills indexes
CALM = True  # it answers broken JSON and values with an internal failure


def avoids(operation, body, tables):
    """The deletion of a global index: the job for it fails if the table is described meanwhile, or if another index has the same key, and
    then no index can be created or deleted any more. Dynoxide's runs have it."""
    table = tables.get(body.get("TableName")) if isinstance(body.get("TableName"), str) else None
    if operation != "UpdateTable" or table is None:
        return False
    deleted = {(update.get("Delete") or {}).get("IndexName") for update in body.get("GlobalSecondaryIndexUpdates") or [] if update}
    return not deleted.isdisjoint(table.indexes)


RULES = Rules()
known, lacks = RULES.known, RULES.lacks
known_extras.add_local(RULES)
known_partiql_local.add(RULES)

# --- capacity ---


def units_only(case):
    """Whether the answers differ in ConsumedCapacity alone."""
    return case.both_ok() and without(case.left, "ConsumedCapacity") == without(case.right, "ConsumedCapacity")


def units(answer):
    """The units of each table."""
    return {part["TableName"]: part["CapacityUnits"] for part in answer.body.get("ConsumedCapacity", [])}


@known("capacity of keys that are not there", "each costs half a unit, or one if the read is consistent (measured); nothing in DynamoDB Local")
def _(case):
    if case.operation != "BatchGetItem" or not units_only(case) or case.gramme.body["UnprocessedKeys"]:
        return False
    found, ours, theirs = case.gramme.body["Responses"], units(case.gramme), units(case.oracle)

    def missing(name, asked):
        return (len(asked["Keys"]) - len(found.get(name, []))) * (1.0 if asked.get("ConsistentRead") else 0.5)

    return all(ours[name] == theirs.get(name, 0) + missing(name, asked) for name, asked in case.body["RequestItems"].items())


@known("capacity of batches", "deletes of nothing cost one unit, and index entries that do not change nothing (measured); more in DynamoDB Local")
def _(case):
    if case.operation != "BatchWriteItem" or not units_only(case):
        return False
    ours, theirs = units(case.gramme), units(case.oracle)

    def is_known(name, writes):
        more, deletes = theirs[name] - ours[name], sum("DeleteRequest" in write for write in writes)
        return more >= 0 and (more <= deletes or bool(case.tables[name].indexes))

    return all(is_known(name, writes) for name, writes in case.body["RequestItems"].items())


@known(
    "capacity of transactions",
    "deletes of nothing cost two units, checks as much as the item's size, a Put as much as the item that it replaces, if that is larger; "
    "index entries are not doubled, and cost nothing if they do not change (measured); DynamoDB Local takes a little less for replaced items",
)
def _(case):
    if case.operation != "TransactWriteItems" or not units_only(case):
        return False
    ours, theirs = units(case.gramme), units(case.oracle)
    kinds = [(kind, part["TableName"]) for action in case.body["TransactItems"] for kind, part in action.items()]

    def is_known(name):
        more = ours[name] - theirs[name]
        checked = ("Delete", name) in kinds or ("ConditionCheck", name) in kinds
        return 0 <= more <= 2 * kinds.count(("Put", name)) or checked and more > 0 or bool(case.tables[name].indexes)

    return set(ours) == set(theirs) and all(is_known(name) for name in ours)


@known("capacity of pages", "a page that reads nothing costs half a unit (measured)")
def _(case):
    return units_only(case) and case.operation in PAGES and case.oracle.body["ConsumedCapacity"]["CapacityUnits"] == 0


@known("capacity of index entries that do not change", "is nothing (measured)")
def _(case):
    return units_only(case) and case.operation in WRITES and (
        case.gramme.body["ConsumedCapacity"]["CapacityUnits"] < case.oracle.body["ConsumedCapacity"]["CapacityUnits"])


@known("capacity of fetches", "attributes that a local index does not project are fetched from the table at extra cost (documented)")
def _(case):
    return units_only(case) and case.operation in PAGES and case.table() is not None and case.body.get("IndexName") in case.table().partial


# --- items ---


@known("updates without an Action", "the default is PUT (documented); DynamoDB Local ignores such an update, and others after it")
def _(case):
    updates = case.body.get("AttributeUpdates") or {}
    return case.operation == "UpdateItem" and case.both_ok() and any("Action" not in update for update in updates.values())


@known("removing from nothing", "an update that only removes creates no item (measured); DynamoDB Local creates one of the key")
def _(case):
    refused_there = case.oracle.message().startswith("The document path provided in the update expression is invalid")
    return (case.oracle.is_ok() or refused_there) and makes_nothing(case)


lacks(
    "updates before conditions",
    "whether an update names a key attribute, and takes values of a type, is checked before the condition",
    INVALID + r"Cannot update attribute",
    INVALID + r"(ADD|DELETE) action is not supported for the type (S|B|BOOL|NULL|M|SS|NS|BS)$",
    operations={"UpdateItem"},
)
lacks("values before conditions", "of AttributeUpdates are checked first", r"Nesting Levels have exceeded", r"Supplied AttributeValue",
      INVALID + r"Input collection")
lacks("nesting of values", "is checked before the expression that uses the value, and if none does (measured)",
      r"ExpressionAttributeValues contains invalid value: Nesting Levels have exceeded")


@known("empty keys first", "a key without attributes is compared with the schema, after the table is looked for; DynamoDB Local refuses it first")
def _(case):
    return case.operation == "BatchGetItem" and case.gramme.error() == "ResourceNotFoundException" and "has one or more empty keys" in case.oracle.text


lacks("types of index keys", "are checked in every update", INVALID + r"Type mismatch for Index Key", operations={"UpdateItem"})


@known("filters on indexes", "see what the index holds; those of a Scan see the whole item in DynamoDB Local")
def _(case):
    return case.operation == "Scan" and case.both_ok() and case.table() is not None and case.body.get("IndexName") in case.table().partial and (
        "Filter" in case.text())


@known("taking from an index key", "DELETE of a set from an attribute that is not there does nothing; DynamoDB Local wants the key's type")
def _(case):
    return case.operation == "UpdateItem" and case.gramme.is_ok() and case.oracle.message().startswith("Updates on index keys must be of the same")
lacks("paths into keys", "are refused before the condition is evaluated", r"Key attributes must be scalars")
lacks("sizes of keys", "are checked in key conditions, too", INVALID + r"(Size of hashkey|Aggregated size of all range keys)")


@known("sizes of index keys in transactions", "are checked when the item is known, as its types are; DynamoDB Local does not check them there")
def _(case):
    return case.operation == "TransactWriteItems" and only_reason_is_static(case) and case.oracle.is_ok() and bool(
        re.search(r"(Size of hashkey|Aggregated size of all range keys) has exceeded", case.gramme.text))


@known("fragments", "UPDATED_NEW shows only what is at the paths of the update (measured)")
def _(case):
    return case.body.get("ReturnValues") == "UPDATED_NEW" and shows_fragments(case, (case.left.get("after") or {}).get("Item"))


@known("fragments of old items", "UPDATED_OLD shows only what is at the paths of the update (measured)")
def _(case):
    return case.body.get("ReturnValues") == "UPDATED_OLD" and shows_fragments(case, case.oracle.body.get("Attributes"))


@known("segments", "which key is in which segment is each implementation's own")
def _(case):
    return case.operation == "Scan" and "egment" in case.gramme.message() + case.oracle.message() and "ExclusiveStartKey" in case.body


lacks(
    "equal numbers",
    "keys that are equal numbers, written differently (100, 1e2), are duplicates",
    r"Provided list of item keys contains duplicates",
    r"Transaction request cannot include multiple operations on one item",
)
lacks(
    "constraints",
    "DynamoDB Local does not check all constraints of the model",
    r"(\d+ validation errors? detected: )?Value .* failed to satisfy constraint: ",
)


@known("start keys without a second page", "a table without a sort key has no page after the first (measured)")
def _(case):
    return case.operation == "Query" and case.gramme.message().startswith("The provided exclusive start key is invalid") and case.oracle.is_ok()


def bounds(body):
    """The two values of each BETWEEN of a key condition."""
    given = body.get("ExpressionAttributeValues") or {}
    for low, high in re.findall(r"BETWEEN\s+(:\w+)\s+AND\s+(:\w+)", body.get("KeyConditionExpression") or "", re.IGNORECASE):
        yield given[low], given[high]
    for condition in (body.get("KeyConditions") or {}).values():
        if condition.get("ComparisonOperator") == "BETWEEN":
            yield tuple(condition["AttributeValueList"])


@known("BETWEEN a value and itself", "DynamoDB Local takes it for an equality, and finds nothing or gives no LastEvaluatedKey")
def _(case):
    return case.operation == "Query" and case.gramme.is_ok() and any(
        service_key({"": low}) == service_key({"": high}) for low, high in bounds(case.body))


@known("ends at the bound", "Limit items are followed by a LastEvaluatedKey (documented), also if the last of them is the bound of the condition")
def _(case):
    return case.operation == "Query" and case.both_ok() and case.gramme.body["ScannedCount"] == case.body.get("Limit") and (
        without(case.left, "LastEvaluatedKey") == case.right)


@known("entries at the bound", "entries of an index may share a key: those beyond Limit are on the next page; DynamoDB Local gives no LastEvaluatedKey at the bound")
def _(case):
    return case.operation == "Query" and case.both_ok() and "IndexName" in case.body and (
        case.oracle.body["ScannedCount"] == case.body.get("Limit") and "LastEvaluatedKey" not in case.oracle.body
        and "LastEvaluatedKey" in case.gramme.body and case.left.get("pages") and case.right.get("pages")
        and is_within(case.right["pages"]["Items"], case.left["pages"]["Items"]))


@known("starts at the bound", "a page may start at the last key that the condition allows: nothing follows; DynamoDB Local refuses")
def _(case):
    return case.operation == "Query" and case.gramme.is_ok() and case.gramme.body["ScannedCount"] == 0 and (
        case.oracle.message() == "The provided starting key does not match the range key predicate")


@known("large Limit", "DynamoDB Local fails beyond 31 bits")
def _(case):
    return case.oracle.status == 500 and case.operation in PAGES and case.body.get("Limit", 0) >= 2**31


@known("internal failures", "DynamoDB Local answers some bad requests with one")
def _(case):
    return case.oracle.status == 500 and not case.gramme.is_ok()


# --- transactions ---


@known(
    "mistakes in transactions",
    "an action that cannot be carried out cancels the transaction (documented); in DynamoDB Local some refuse the whole request, and the "
    "first reason hides others",
)
def _(case):
    if case.operation not in ("TransactWriteItems", "TransactGetItems") or case.gramme.error() != "TransactionCanceledException":
        return False
    if "ValidationError" not in reasons(case.gramme):
        return False
    return refused(case.oracle) or case.oracle.error() == "TransactionCanceledException" and set(reasons(case.oracle)) <= {"ValidationError", "None"}


@known("keys before conditions in transactions", "the first key or update that does not fit the table is the only reason (measured)")
def _(case):
    return only_reason_is_static(case) and "ConditionalCheckFailed" in reasons(case.oracle)


@known("mistakes in transactions that DynamoDB Local does not find", "paths into keys and types of index keys are checked in every update")
def _(case):
    return case.operation == "TransactWriteItems" and "ValidationError" in reasons(case.gramme) and (
        "Key attributes must be scalars" in case.gramme.text or "Type mismatch for Index Key" in case.gramme.text)


@known("updates before conditions in transactions", "in DynamoDB Local an update that cannot be carried out refuses the request, even if "
       "another action's condition fails")
def _(case):
    return case.operation == "TransactWriteItems" and "ConditionalCheckFailed" in reasons(case.gramme) and (
        "document path provided in the update expression is invalid" in case.oracle.message())


@known("tables before items in transactions", "all tables are looked for before an update is carried out")
def _(case):
    return case.operation in ("TransactWriteItems", "TransactGetItems") and case.gramme.error() == "ResourceNotFoundException" and (
        refused(case.oracle))


@known("requests before keys in transactions", "expressions and tables of all parts are checked before any key")
def _(case):
    return case.operation in ("TransactWriteItems", "TransactGetItems") and case.oracle.error() == "TransactionCanceledException" and (
        case.gramme.error() in ("ValidationException", "ResourceNotFoundException"))


# --- tables ---


@known("names of tables", "item operations take names of one character and more, and then find no table (measured)")
def _(case):
    return case.oracle.message().startswith("Invalid table/index name") and case.gramme.error() == "ResourceNotFoundException"


@known("tables before requests", "DynamoDB Local looks for the table before it reads expressions and values")
def _(case):
    return refused(case.gramme) and case.oracle.error() == "ResourceNotFoundException"


@known("changes before tables", "the number of indexes that change is checked before the table is looked for")
def _(case):
    return case.operation == "UpdateTable" and case.gramme.error() == "LimitExceededException" and not case.oracle.is_ok()


@known("tables that exist", "a new table's settings are checked before its name is looked for (measured); the other way round there")
def _(case):
    return case.operation == "CreateTable" and {case.gramme.error(), case.oracle.error()} == {"ValidationException", "ResourceInUseException"}


@known("indexes that are not there", "are not found: ResourceNotFoundException (documented)")
def _(case):
    return case.operation == "UpdateTable" and case.gramme.error() == "ResourceNotFoundException" and refused(case.oracle)


@known("tables while they change", "DynamoDB Local shows them as they will be, and global indexes without some zeros")
def _(case):
    changing = ["ProvisionedThroughput", "OnDemandThroughput", "GlobalSecondaryIndexes", "StreamSpecification"]
    if '"Delete"' in case.text():
        changing.append("AttributeDefinitions")  # those of an index that is being deleted
    left, right = case.left, case.right
    for member in changing:
        left, right = without(left, member), without(right, member)
    return case.operation in ("CreateTable", "UpdateTable") and case.both_ok() and left == right


@known("counts of new indexes", "DynamoDB Local counts the items of a new index some time after it is ACTIVE")
def _(case):
    if case.operation != "DescribeTable" or not case.both_ok():
        return False
    ours, theirs = (side["body"]["Table"].get("GlobalSecondaryIndexes", []) for side in (case.left, case.right))
    late = {index["IndexName"] for index in theirs if index.get("ItemCount") == 0}
    counted = [{**index, "ItemCount": 0} if index["IndexName"] in late else index for index in ours]
    return counted == theirs and without(case.left, "GlobalSecondaryIndexes") == without(case.right, "GlobalSecondaryIndexes")


@known("tables that are deleted", "have neither keys nor indexes nor a date of creation, and no items (measured); DynamoDB Local shows all")
def _(case):
    if case.operation != "DeleteTable" or not case.both_ok():
        return False
    ours, theirs = case.left["body"]["TableDescription"], case.right["body"]["TableDescription"]
    gone = {"KeySchema", "AttributeDefinitions", "CreationDateTime", "GlobalSecondaryIndexes", "LocalSecondaryIndexes", "ItemCount"}
    return gone & set(ours) <= {"ItemCount"} and ours == {
        **{k: v for k, v in theirs.items() if k not in gone}, "ItemCount": 0}


lacks(
    "settings that are not checked",
    "DynamoDB Local takes throughput that does not fit the billing mode, any OnDemandThroughput, TableClass and Tags, settings that may "
    "only be changed alone, and definitions that come twice or are missing",
    INVALID + r"Neither ReadCapacityUnits nor WriteCapacityUnits can be specified (for index: \S+ )?when BillingMode is PAY_PER_REQUEST",
    INVALID + r"ProvisionedThroughput (should not be|must be) specified",
    INVALID + r"(Requested )?M\w+RequestUnits for OnDemandThroughput",
    INVALID + r"OnDemandThroughput can only be combined with BillingMode",
    INVALID + r"[\w -]+ modification must be the only operation in the request",
    INVALID + r"You cannot create or delete index while changing stream status",
    INVALID + r"List of LocalSecondaryIndexes is empty",
    r"Given value \d+ for \w+CapacityUnits is out of bounds",
    INVALID + r"Some index key attributes are not defined in AttributeDefinitions",
    INVALID + r"Some AttributeDefinitions are not used",
    INVALID + r"Duplicate element in NonKeyAttributes",
    r"Attribute Name is duplicated",
    r"The Tag Key provided is invalid|Duplicate Tag Keys provided",
    operations={"CreateTable", "UpdateTable"},
)


ZEROS = {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}
NO_CEILING = -1


def without_throughput(index):
    """An index of a table on demand without its throughput, and without ceilings that are none."""
    ceilings = {name: units for name, units in index.get("OnDemandThroughput", {}).items() if units != NO_CEILING}
    rest = {k: v for k, v in index.items() if k not in ("ProvisionedThroughput", "OnDemandThroughput")}
    return {**rest, "OnDemandThroughput": ceilings} if ceilings else rest


def comparable(table, definitions):
    """A table with the definitions that both sides have; the throughput of its indexes only if the table itself has one."""
    indexes = table.get("GlobalSecondaryIndexes", [])
    if table["ProvisionedThroughput"] == ZEROS:
        indexes = [without_throughput(index) for index in indexes]
    return {**table, "AttributeDefinitions": definitions, "GlobalSecondaryIndexes": indexes}


@known(
    "descriptions of tables",
    "definitions that nothing uses are dropped with UpdateTable, and the throughput of indexes of tables on demand is zero (measured); "
    "DynamoDB Local keeps both",
)
def _(case):
    if case.operation != "DescribeTable" or not case.both_ok():
        return False
    ours, theirs = case.left["body"]["Table"], case.right["body"]["Table"]
    if ours["ProvisionedThroughput"] == ZEROS and any(i["ProvisionedThroughput"] != ZEROS for i in ours.get("GlobalSecondaryIndexes", [])):
        return False
    if '"Create"' in case.text():  # a new index makes DynamoDB Local forget the ceilings of the table
        ours = {k: v for k, v in ours.items() if k != "OnDemandThroughput" or k in theirs}
    definitions = [d for d in theirs["AttributeDefinitions"] if d in ours["AttributeDefinitions"]]
    return definitions == ours["AttributeDefinitions"] and comparable(ours, definitions) == comparable(theirs, definitions)


@known("OnDemandThroughput", "may have one member alone (documented); DynamoDB Local takes the other one for missing throughput")
def _(case):
    return "throughput must be at least 1, and cannot be null" in case.oracle.message() and "OnDemandThroughput" in case.text()


@known("OnDemandThroughput in answers", "is shown with every change, -1 once (measured); DynamoDB Local leaves it out of some")
def _(case):
    return case.operation in ("CreateTable", "UpdateTable") and case.both_ok() and (
        without(case.left, "OnDemandThroughput") == without(case.right, "OnDemandThroughput"))


@known(
    "ceilings that are forgotten",
    "-1 removes one ceiling, not both (measured), and BillingMode none if the table is on demand already; DynamoDB Local shows none then",
)
def _(case):
    removes = -1 in (case.body.get("OnDemandThroughput") or {}).values() or case.body.get("BillingMode") == "PAY_PER_REQUEST"
    return case.operation == "DescribeTable" and case.both_ok() and removes and without(case.left, "OnDemandThroughput") == case.right


@known("definitions of another type", "are ignored if no index is created (measured); DynamoDB Local refuses")
def _(case):
    return case.operation == "UpdateTable" and case.gramme.is_ok() and "SchemaElement redefined" in case.oracle.message() and (
        '"Create"' not in case.text())


@known("definitions that nothing uses", "are dropped with UpdateTable (measured); DynamoDB Local keeps them")
def _(case):
    return case.operation == "UpdateTable" and case.both_ok() and len(case.gramme.body["TableDescription"]["AttributeDefinitions"]) < len(
        case.oracle.body["TableDescription"]["AttributeDefinitions"])


@known("updates of nothing", "an Update of an index may be empty (measured); DynamoDB Local wants throughput, or fails")
def _(case):
    return case.operation == "UpdateTable" and case.gramme.is_ok() and (
        case.oracle.message().startswith("No provisioned throughput specified") or case.oracle.status == 500 and "OnDemandThroughput" in case.text())


@known("settings that are not there", "TableClass and SSESpecification alone are nothing to update there")
def _(case):
    return case.operation == "UpdateTable" and case.oracle.message() == "Nothing to update" and case.gramme.is_ok()
