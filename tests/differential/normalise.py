"""Brings an answer into a form in which two servers' answers can be compared: what has no order is sorted, dates and
ids become placeholders, and members that the oracle does not have are left out."""

import json
import re

DATES = {"CreationDateTime", "LastIncreaseDateTime", "LastDecreaseDateTime", "LastUpdateToPayPerRequestDateTime",
         "LastUpdateDateTime"}
ARN = re.compile(r"arn:aws:(\w+):[^:]*:[^:]*:")
LABEL = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+|(?<=/stream/)\d+\.\d+)$")


def order(value):
    return json.dumps(value, sort_keys=True)


def plain_value(value):
    """An attribute value with its sets sorted, at any depth."""
    if isinstance(value, dict):
        return {k: sorted(v, key=order) if k in ("SS", "NS", "BS") and isinstance(v, list) else plain_value(v)
                for k, v in value.items()}
    if isinstance(value, list):
        return [plain_value(v) for v in value]
    return value


def plain_member(name, value, ignored):
    if name in DATES:
        return "DATE"
    if name == "TableId":
        return "ID"
    if name == "LatestStreamLabel":
        return "LABEL"
    if isinstance(value, str):
        return LABEL.sub("LABEL", ARN.sub(r"arn:aws:\1:REGION:ACCOUNT:", value))
    if name in ("AttributeDefinitions", "GlobalSecondaryIndexes", "LocalSecondaryIndexes") and isinstance(value, list):
        return sorted((plain_table(v, ignored) for v in value), key=order)
    return plain_table(value, ignored)


def plain_table(value, ignored):
    """A table's description."""
    if isinstance(value, dict):
        return {k: plain_member(k, v, ignored) for k, v in value.items() if k not in ignored}
    if isinstance(value, list):
        return [plain_table(v, ignored) for v in value]
    return value


def plain_capacity(value):
    """A list of several tables' capacities comes in no order; no units are the same as nothing."""
    if isinstance(value, list):
        return sorted((plain_capacity(v) for v in value), key=order)
    if isinstance(value, dict):
        return {k: plain_capacity(v) for k, v in value.items()}
    return float(value) if isinstance(value, int) else value


def plain_metrics(value):
    """SizeEstimateRangeGB is an estimate; a table's entries come in no order."""
    if isinstance(value, dict) and "SizeEstimateRangeGB" in value:
        return plain_value({**value, "SizeEstimateRangeGB": "RANGE"})
    if isinstance(value, list):
        return sorted({order(plain_metrics(v)) for v in value})
    if isinstance(value, dict):
        return {k: plain_metrics(v) for k, v in value.items()}
    return value


def plain_statements(responses):
    """Answers to the statements of a batch without the texts of errors."""
    return [{**part, "Error": plain_reason(part["Error"], False)} if "Error" in part else part for part in responses]


def plain_success(operation, body, ignored, left_out, texts):
    body = {k: v for k, v in body.items() if k not in left_out}
    for member in ("TableDescription", "Table"):
        if member in body:
            body[member] = plain_table(body[member], ignored)
    if "ConsumedCapacity" in body:
        body["ConsumedCapacity"] = plain_capacity(body["ConsumedCapacity"])
    if "ItemCollectionMetrics" in body:
        body["ItemCollectionMetrics"] = plain_metrics(body["ItemCollectionMetrics"])
    if operation == "BatchGetItem":
        body["Responses"] = {t: sorted((plain_value(i) for i in items), key=order) for t, items in body.get("Responses", {}).items()}
    if operation == "BatchExecuteStatement" and not texts:
        body["Responses"] = plain_statements(body.get("Responses", []))
    for member in ("Item", "Items", "Attributes", "Responses", "LastEvaluatedKey"):
        if member in body:
            body[member] = plain_value(body[member])
    return body


def plain_error(answer, texts):
    """`texts`: whether the words count, or only the kind of the error."""
    body = answer.body if isinstance(answer.body, dict) else {}
    plain = {"error": answer.error()}
    if texts:
        plain["type"] = body.get("__type")
        plain["message"] = ARN.sub(r"arn:aws:\1:REGION:ACCOUNT:", answer.message())
    if "Item" in body:
        plain["Item"] = plain_value(body["Item"])
    if "CancellationReasons" in body:
        plain["CancellationReasons"] = [plain_reason(r, texts) for r in body["CancellationReasons"]]
    return plain


def plain_reason(reason, texts):
    plain = plain_value({k: v for k, v in reason.items() if v is not None})
    if not texts:
        plain.pop("Message", None)
    return plain


def plain_answer(operation, answer, ignored, left_out, texts):
    """`ignored`: members of table descriptions, `left_out`: members of answers that do not count."""
    if answer.status == 200 and isinstance(answer.body, dict):
        return {"status": 200, "body": plain_success(operation, answer.body, ignored, left_out, texts)}
    return {"status": answer.status, **plain_error(answer, texts)}
