"""Brings answers of DynamoDB Local into the service's form where it differs all the time, so that these differences do not hide others in
the same answer. What differs only now and then is a rule of known_local.py."""

from known import service_number
from servers import Client

STATEMENTS = {"ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"}
LEVELS = ("TOTAL", "INDEXES")


def with_numbers(value):
    """DynamoDB Local gives back nested numbers as they were sent."""
    if isinstance(value, list):
        return [with_numbers(v) for v in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and isinstance(value.get("N"), str):
        return {"N": service_number(value["N"])}
    if len(value) == 1 and isinstance(value.get("NS"), list):
        return {"NS": [service_number(n) for n in value["NS"]]}
    return {k: with_numbers(v) for k, v in value.items()}


def with_types(value):
    """In stream records it leaves out the type of an empty map."""
    if isinstance(value, list):
        return [{"M": {}} if v == {} else with_types(v) for v in value]
    if isinstance(value, dict):
        return {k: {"M": {}} if v == {} and k != "M" else with_types(v) for k, v in value.items()}
    return value


TRANSACTIONS = {"TransactGetItems": "ReadCapacityUnits", "TransactWriteItems": "WriteCapacityUnits"}


def with_kinds(value, kind):
    """Units of transactions are also told as units of reads or writes (measured)."""
    if isinstance(value, list):
        return [with_kinds(v, kind) for v in value]
    if not isinstance(value, dict):
        return value
    told = {k: with_kinds(v, kind) for k, v in value.items()}
    return {**told, kind: told["CapacityUnits"]} if "CapacityUnits" in told else told


def service_body(operation, request, body):
    body = with_numbers(body)
    if not isinstance(body, dict):
        return body
    if request.get("ReturnConsumedCapacity") not in LEVELS:
        body.pop("ConsumedCapacity", None)  # it gives it with some answers though nobody asked
    if operation in TRANSACTIONS and "ConsumedCapacity" in body:
        body["ConsumedCapacity"] = with_kinds(body["ConsumedCapacity"], TRANSACTIONS[operation])
    if operation == "GetRecords":
        for change in (record["dynamodb"] for record in body.get("Records", [])):
            change.update({image: with_types(change[image]) for image in ("OldImage", "NewImage") if image in change})
    if operation == "TransactGetItems":  # a projection that matches nothing gives no Item (documented)
        body["Responses"] = [{} if part == {"Item": {}} else part for part in body.get("Responses", [])]
    return body


class LocalClient(Client):
    def call(self, operation, body):
        answer = super().call(operation, body)
        answer.body = service_body(operation, body if isinstance(body, dict) else {}, answer.body)
        return answer
