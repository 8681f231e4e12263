"""Random requests for every operation: most fit the tables there are, some are at a limit, some are broken."""

import copy

import random_values as values
from expressions import Expressions
from statements import Statements
from table_extras import TableExtras

TABLE_NAMES = ["alpha", "beta", "gamma.1", "delta_2", "eps-3"]
KEY_NAMES = ["pk", "sk", "a", "b", "g1", "g2", "g3"]
INDEX_NAMES = ["idx", "idx-1", "byG", "byL", "zz.top"]
KEY_TEXTS = ["a", "b", "k1", "kä", "ab", "abc", "b-"]
KEY_NUMBERS = ["1", "2", "-3", "1.5", "100", "1e2", "0"]
KEY_BYTES = [b"a", b"b", b"ab", b"\xff", b"\x00"]
RETURNS = ["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"]
COMPARISONS = ["EQ", "NE", "IN", "LE", "LT", "GE", "GT", "BETWEEN", "NOT_NULL", "NULL", "CONTAINS", "NOT_CONTAINS", "BEGINS_WITH"]


class Schema:
    """The keys of a table or of an index."""

    def __init__(self, key_schema):
        self.hash = [k["AttributeName"] for k in key_schema if k["KeyType"] == "HASH"]
        self.range = [k["AttributeName"] for k in key_schema if k["KeyType"] == "RANGE"]
        self.all = self.hash + self.range


class Table:
    """What the generator knows of a table: from the answer to DescribeTable."""

    def __init__(self, description):
        self.name = description["TableName"]
        self.types = {d["AttributeName"]: d["AttributeType"] for d in description["AttributeDefinitions"]}
        self.keys = Schema(description["KeySchema"])
        self.provisioned = description["ProvisionedThroughput"]["ReadCapacityUnits"] > 0
        self.indexes = {}
        self.globals = set()
        self.partial = set()  # indexes that do not hold all attributes
        for i in description.get("GlobalSecondaryIndexes", []):
            self.globals.add(i["IndexName"])
        for i in description.get("GlobalSecondaryIndexes", []) + description.get("LocalSecondaryIndexes", []):
            self.indexes[i["IndexName"]] = Schema(i["KeySchema"])
            if i["Projection"]["ProjectionType"] != "ALL":
                self.partial.add(i["IndexName"])

    def fits(self, index, item):
        """Whether the key attributes of the index that the item has are fit for one."""
        schema = self.indexes[index]
        limits = {**dict.fromkeys(schema.hash, 2048), **dict.fromkeys(schema.range, 1024)}
        return all(0 < len(item[k].get(self.types[k], "")) <= limits[k] for k in schema.all if k in item)

    def index_keys(self):
        return sorted({k for schema in self.indexes.values() for k in schema.all} - set(self.keys.all))


class Generator:
    """`calm` leaves out requests that are broken in their JSON or their values; `avoids(operation, body, tables)` tells others that
    are left out."""

    def __init__(self, r, calm=False, avoids=None):
        self.r = r
        self.calm = calm
        self.avoids = avoids or (lambda *_: False)
        self.tables = {}
        self.last_tokens = []
        self.operations = [
            (self.create_table, 5), (self.update_table, 4), (self.delete_table, 1), (self.describe_table, 1), (self.list_tables, 1),
            (self.put_item, 18), (self.get_item, 8), (self.update_item, 20), (self.delete_item, 8), (self.batch_get_item, 6),
            (self.batch_write_item, 6), (self.query, 14), (self.scan, 8), (self.transact_write_items, 8),
            (self.transact_get_items, 4), (self.legacy_write, 7), (self.legacy_read, 5), (self.junk, 1),
            *TableExtras(self).operations(),
        ]
        statements = Statements(self)
        self.operations += [(statements.execute_statement, 30), (statements.batch_execute_statement, 5), (statements.execute_transaction, 5)]

    def forget_tokens(self):
        """What a token does after a table has changed is not defined."""
        self.last_tokens = []

    def request(self):
        """(operation, body): the body is a value, or text for what is not even JSON."""
        operation, body = self.any_request()
        while self.is_left_out(operation, body):
            operation, body = self.any_request()
        return operation, body

    def is_left_out(self, operation, body):
        is_calm = isinstance(body, dict) and values.is_calm(body)
        return self.calm and not is_calm or self.avoids(operation, body, self.tables)

    def any_request(self):
        r = self.r
        if len(self.tables) < 2 and r.random() < 0.8:
            make = self.create_table
        else:
            make = r.choices([m for m, _ in self.operations], [w for _, w in self.operations])[0]
        operation, body = make()
        if not self.calm and isinstance(body, dict) and r.random() < 0.06:
            body = self.spoil(body)
        return operation, body

    # --- pieces ---

    def table(self):
        return self.r.choice(list(self.tables.values())) if self.tables else None

    def table_name(self, table):
        r = self.r
        if table is None or r.random() < 0.01:
            return r.choice(["nothere", "ab", "x", "", "bad!name", "y" * 256, "alpha.none"])
        return table.name

    def key_value(self, kind):
        r = self.r
        chance = r.random()
        if chance < 0.012:
            return values.broken(r) if r.random() < 0.5 else values.value(r, 1)
        if chance < 0.02:
            return r.choice([{"S": ""}, {"B": ""}, {"N": "0"}, {"S": "z" * r.choice([1024, 1025, 2048, 2049])}])
        if kind == "S":
            return {"S": r.choice(KEY_TEXTS)}
        if kind == "N":
            return {"N": r.choice(KEY_NUMBERS)}
        return {"B": values.b64(r.choice(KEY_BYTES))}

    def key(self, table):
        r = self.r
        if table is None:
            return {"pk": {"S": "a"}}
        key = {k: self.key_value(table.types[k]) for k in table.keys.all}
        if r.random() < 0.01:
            key[r.choice(values.NAMES)] = values.value(r, 0)
        if r.random() < 0.01:
            del key[r.choice(sorted(key))]
        return key

    def item(self, table):
        r = self.r
        item = self.key(table)
        if table is not None:
            for k in table.index_keys():
                if r.random() < 0.7:
                    item[k] = self.key_value(table.types[k])
        for _ in range(r.randint(0, 5)):
            item.setdefault(values.name(r), values.maybe_broken(r, 0.015))
        if r.random() < 0.4:
            item.update(values.document(r))
        if r.random() < 0.004:
            item["big"] = {"S": "x" * r.choice([100000, 409000, 409580, 409600, 420000])}
        if r.random() < 0.01:
            item["deep"] = values.deep(r.choice([31, 32, 33]))
        return item

    def enum(self, body, member, choices, chance=0.25, bad=0.01):
        r = self.r
        if r.random() < chance:
            wrong = r.random() < bad and not self.calm
            body[member] = r.choice(["BOGUS", "", choices[0].lower()]) if wrong else r.choice(choices)

    def capacity(self, body):
        self.enum(body, "ReturnConsumedCapacity", ["TOTAL", "INDEXES", "NONE"])

    def maybe_corrupt(self, expressions, text):
        return expressions.broken(text) if self.r.random() < 0.04 else text

    def spoil(self, body):
        """One member missing, null, of another JSON type, or a strange text; or one too many."""
        r = self.r
        body = copy.deepcopy(body)
        holder = body
        while True:
            inner = [v for v in (holder.values() if isinstance(holder, dict) else holder) if isinstance(v, (dict, list)) and v]
            if not inner or r.random() < 0.6:
                break
            holder = r.choice(inner)
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return body
        at = r.choice(keys)
        change = r.randint(0, 4)
        if change == 0:
            del holder[at]
        elif change == 1:
            holder[at] = None
        elif change == 2:
            holder[at] = r.choice([1, -1, 1.5, "x", "", True, [], {}, [None], {"S": "a"}])
        elif change == 3 and isinstance(holder, dict):
            holder[r.choice(["Extra", "", "Limit", "Segment", "Select", "ConsistentRead"])] = r.choice([1, "x", None, True])
        else:
            holder[at] = r.choice(["BOGUS", "", "z" * 300])
        return body

    # --- tables ---

    def throughput(self):
        r = self.r
        units = lambda: r.choice([1, 1, 2, 5, 10, 0, -1, 1000000000001]) if r.random() < 0.1 else r.randint(1, 10)
        return {"ReadCapacityUnits": units(), "WriteCapacityUnits": units()}

    def key_schema(self, names):
        r = self.r
        schema = [{"AttributeName": n, "KeyType": "HASH" if i == 0 else "RANGE"} for i, n in enumerate(names)]
        if r.random() < 0.02:
            schema.reverse()
        if r.random() < 0.01:
            schema.append({"AttributeName": r.choice(KEY_NAMES), "KeyType": r.choice(["HASH", "RANGE", "BOGUS"])})
        return schema

    def projection(self):
        r = self.r
        projection = {"ProjectionType": r.choice(["ALL", "ALL", "KEYS_ONLY", "INCLUDE"])}
        include = projection["ProjectionType"] == "INCLUDE"
        if include != (r.random() < 0.03):
            projection["NonKeyAttributes"] = r.sample(values.NAMES, r.randint(1, 3))
        if r.random() < 0.01:
            projection["NonKeyAttributes"] = r.choice([[], [f"n{i}" for i in range(21)], ["a", "a"]])
        if r.random() < 0.01:
            del projection["ProjectionType"]
        return projection

    def index(self, kind, table_keys, provisioned):
        r = self.r
        names = [table_keys[0]] if kind == "local" else [r.choice(KEY_NAMES)]
        if kind == "local" and r.random() < 0.03:
            names = [r.choice(KEY_NAMES)]
        if kind == "local" or r.random() < 0.6:
            names.append(r.choice(KEY_NAMES))
        if r.random() < 0.95 and len(set(names)) < len(names):
            names = names[:1] + [r.choice([n for n in KEY_NAMES if n != names[0]])]
        index = {"IndexName": r.choice(INDEX_NAMES), "KeySchema": self.key_schema(names), "Projection": self.projection()}
        if r.random() < 0.02:
            index["IndexName"] = r.choice(["ab", "", "bad name", "i" * 256])
        if kind == "global" and provisioned != (r.random() < 0.03):
            index["ProvisionedThroughput"] = self.throughput()
        if kind == "global" and r.random() < 0.02:
            index["OnDemandThroughput"] = {"MaxReadRequestUnits": r.choice([5, 1, 0, -1])}
        return index, names

    def indexes(self, kind, keys, provisioned):
        r = self.r
        count = r.choice([0, 0, 1, 1, 2]) if r.random() < 0.98 else r.choice([6, 21])
        made = [self.index(kind, keys, provisioned) for _ in range(count)]
        if r.random() < 0.9:  # different names
            for i, (index, _) in enumerate(made):
                index["IndexName"] = f"{kind}{i}" if index["IndexName"] in INDEX_NAMES else index["IndexName"]
        return [i for i, _ in made], [n for _, names in made for n in names]

    def create_table(self):
        r = self.r
        keys = r.sample(KEY_NAMES, 2)[: r.choice([1, 2, 2])]
        provisioned = r.random() < 0.5
        body = {"TableName": r.choice(TABLE_NAMES), "KeySchema": self.key_schema(keys)}
        if r.random() < 0.03:
            body["TableName"] = r.choice(["ab", "", "bad name!", "t" * 256])
        if provisioned:
            body["ProvisionedThroughput"] = self.throughput()
            if r.random() < 0.3:
                body["BillingMode"] = "PROVISIONED"
        else:
            body["BillingMode"] = "PAY_PER_REQUEST"
        if r.random() < 0.02:
            body["BillingMode"] = r.choice(["PROVISIONED", "PAY_PER_REQUEST", "BOGUS"])
        used = list(keys)
        for kind, member in (("global", "GlobalSecondaryIndexes"), ("local", "LocalSecondaryIndexes")):
            if kind == "local" and len(keys) < 2 and r.random() < 0.97:
                continue
            indexes, names = self.indexes(kind, keys, provisioned)
            if indexes or r.random() < 0.01:
                body[member] = indexes
                used += names
        body["AttributeDefinitions"] = self.definitions(used)
        self.table_settings(body, creating=True)
        return "CreateTable", body

    def definitions(self, used):
        r = self.r
        names = list(dict.fromkeys(used))
        if r.random() < 0.03:
            names.append(r.choice(["extra", names[0]]))
        if r.random() < 0.03:
            names.pop()
        definitions = [{"AttributeName": n, "AttributeType": r.choice(["S", "S", "N", "B"])} for n in names]
        if definitions and r.random() < 0.01:
            r.choice(definitions)["AttributeType"] = r.choice(["SS", "BOGUS", "s"])
        return definitions

    def table_settings(self, body, creating):
        r = self.r
        if r.random() < (0.4 if creating else 0.08):
            body["StreamSpecification"] = {"StreamEnabled": r.random() < 0.6}
            if body["StreamSpecification"]["StreamEnabled"] != (r.random() < 0.1):
                views = ["NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"]
                body["StreamSpecification"]["StreamViewType"] = r.choice(views) if r.random() < 0.95 else "X"
        if r.random() < 0.06:
            body["TableClass"] = r.choice(["STANDARD", "STANDARD_INFREQUENT_ACCESS", "BOGUS"])
        if r.random() < 0.06:
            body["DeletionProtectionEnabled"] = r.random() < 0.5
        if r.random() < 0.06:
            units = [1, 10, 0, -1]
            body["OnDemandThroughput"] = {m: r.choice(units) for m in ("MaxReadRequestUnits", "MaxWriteRequestUnits") if r.random() < 0.7}
        if r.random() < 0.05:
            body["SSESpecification"] = {"Enabled": r.random() < 0.5}
        if creating and r.random() < 0.04:
            body["Tags"] = [{"Key": r.choice(["a", "b", ""]), "Value": "v"} for _ in range(r.randint(0, 3))]

    def update_table(self):
        r = self.r
        table = self.table()
        body = {"TableName": self.table_name(table)}
        kind = r.random()
        if kind < 0.2:
            body["ProvisionedThroughput"] = self.throughput()
            if r.random() < 0.3:
                body["BillingMode"] = r.choice(["PROVISIONED", "PAY_PER_REQUEST"])
        elif kind < 0.3:
            body["BillingMode"] = r.choice(["PROVISIONED", "PAY_PER_REQUEST", "PAY_PER_REQUEST"])
        elif kind < 0.75:
            self.index_updates(table, body)
        else:
            self.table_settings(body, creating=False)
        return "UpdateTable", body

    def index_updates(self, table, body):
        """Mostly one index that comes or goes."""
        r = self.r
        count = r.choice([1] * 18 + [2, 0])
        used = []
        body["GlobalSecondaryIndexUpdates"] = [self.index_update(table, used) for _ in range(count)]
        if used or r.random() < 0.1:
            body["AttributeDefinitions"] = self.definitions(used or ["pk"])
        if r.random() < 0.02:
            self.table_settings(body, creating=False)

    def index_update(self, table, used):
        """`used` gets the key attributes of an index that is to be created."""
        r = self.r
        kind = r.random()
        if table is not None and kind < 0.5:
            index, names = self.index("global", table.keys.all, table.provisioned)
            used += names
            return {"Create": index}
        names = sorted(table.globals if r.random() < 0.95 else table.indexes) if table is not None else []
        update = {"IndexName": r.choice(names) if names and r.random() < 0.95 else "nosuch"}
        if kind < 0.75:
            return {"Delete": update}
        if r.random() < 0.95:
            update["ProvisionedThroughput"] = self.throughput()
        return {} if r.random() < 0.02 else {"Update": update}

    def delete_table(self):
        return "DeleteTable", {"TableName": self.table_name(self.table())}

    def describe_table(self):
        return "DescribeTable", {"TableName": self.table_name(self.table())}

    def list_tables(self):
        r = self.r
        body = {}
        if r.random() < 0.5:
            body["Limit"] = r.choice([1, 2, 3, 100, 101, 0, -1])
        if r.random() < 0.4:
            body["ExclusiveStartTableName"] = r.choice(TABLE_NAMES + ["zz", "b", "bad name", "aaaa"])
        return "ListTables", body

    # --- one item ---

    def write_options(self, body, expressions, chance=0.4):
        r = self.r
        if r.random() < chance:
            body["ConditionExpression"] = self.maybe_corrupt(expressions, expressions.condition())
        self.capacity(body)
        self.enum(body, "ReturnItemCollectionMetrics", ["SIZE", "NONE"], 0.15)
        self.enum(body, "ReturnValuesOnConditionCheckFailure", ["ALL_OLD", "NONE"], 0.15)

    def put_item(self):
        table = self.table()
        body = {"TableName": self.table_name(table), "Item": self.item(table)}
        expressions = Expressions(self.r, table.keys.all if table else ())
        self.write_options(body, expressions, 0.25)
        self.enum(body, "ReturnValues", ["NONE", "ALL_OLD", "ALL_OLD"] + (["ALL_NEW"] if self.r.random() < 0.05 else []))
        expressions.finish(body)
        return "PutItem", body

    def update_item(self):
        r = self.r
        table = self.table()
        body = {"TableName": self.table_name(table), "Key": self.key(table)}
        expressions = Expressions(r, table.keys.all + table.index_keys() if table and r.random() < 0.3 else ())
        if r.random() < 0.1:
            body["UpdateExpression"] = expressions.document_update()
            body["ReturnValues"] = r.choice(["UPDATED_OLD", "UPDATED_NEW"])
            expressions.finish(body)
            return "UpdateItem", body
        if r.random() < 0.96:
            body["UpdateExpression"] = self.maybe_corrupt(expressions, self.update_text(table, expressions))
        self.write_options(body, expressions)
        self.enum(body, "ReturnValues", RETURNS, 0.6)
        expressions.finish(body)
        return "UpdateItem", body

    def update_text(self, table, expressions):
        """An update; often one that moves the item inside an index."""
        r = self.r
        keys = table.index_keys() if table else []
        if keys and r.random() < 0.3:
            k = r.choice(keys)
            name = expressions.attribute(k)
            return f"REMOVE {name}" if r.random() < 0.3 else f"SET {name} = {expressions.constant(self.key_value(table.types[k]))}"
        return expressions.update()

    def delete_item(self):
        table = self.table()
        body = {"TableName": self.table_name(table), "Key": self.key(table)}
        expressions = Expressions(self.r, table.keys.all if table else ())
        self.write_options(body, expressions)
        self.enum(body, "ReturnValues", ["NONE", "ALL_OLD"] + (["UPDATED_NEW"] if self.r.random() < 0.05 else []), 0.4)
        expressions.finish(body)
        return "DeleteItem", body

    def read_options(self, body, expressions):
        r = self.r
        if r.random() < 0.35:
            body["ProjectionExpression"] = self.maybe_corrupt(expressions, expressions.projection())
        if r.random() < 0.3:
            body["ConsistentRead"] = r.random() < 0.6

    def get_item(self):
        table = self.table()
        body = {"TableName": self.table_name(table), "Key": self.key(table)}
        expressions = Expressions(self.r, table.keys.all if table else ())
        self.read_options(body, expressions)
        self.capacity(body)
        expressions.finish(body)
        return "GetItem", body

    # --- many items ---

    def some_tables(self):
        r = self.r
        names = sorted(self.tables)
        return [self.tables[n] for n in r.sample(names, min(len(names), r.choice([1, 1, 2])))] or [None]

    def batch_get_item(self):
        r = self.r
        items = {}
        for table in self.some_tables():
            count = r.choice([1, 2, 3, 5]) if r.random() < 0.98 else r.choice([0, 60, 101])
            entry = {"Keys": [self.key(table) for _ in range(count)]}
            if r.random() < 0.9:
                entry["Keys"] = self.distinct(entry["Keys"])
            expressions = Expressions(r)
            self.read_options(entry, expressions)
            expressions.finish(entry)
            entry.pop("ExpressionAttributeValues", None)
            if r.random() < 0.05:
                entry["AttributesToGet"] = [values.name(r) for _ in range(r.randint(0, 2))]
            items[self.table_name(table)] = entry
        body = {"RequestItems": items if r.random() < 0.99 else {}}
        self.capacity(body)
        return "BatchGetItem", body

    @staticmethod
    def distinct(keys):
        return list({repr(sorted(k.items(), key=repr)): k for k in keys}.values())

    def batch_write_item(self):
        r = self.r
        items = {}
        for table in self.some_tables():
            count = r.choice([1, 2, 3, 5]) if r.random() < 0.98 else r.choice([0, 20, 26])
            writes, seen = [], []
            for _ in range(count):
                put = r.random() < 0.7
                item = self.item(table) if put else self.key(table)
                key = repr(sorted((k, v) for k, v in item.items() if table is None or k in table.keys.all))
                if key in seen and r.random() < 0.9:
                    continue
                seen.append(key)
                writes.append({"PutRequest": {"Item": item}} if put else {"DeleteRequest": {"Key": item}})
            items[self.table_name(table)] = writes
        body = {"RequestItems": items if r.random() < 0.99 else {}}
        self.capacity(body)
        self.enum(body, "ReturnItemCollectionMetrics", ["SIZE", "NONE"], 0.15)
        return "BatchWriteItem", body

    def page_options(self, body, table, expressions):
        r = self.r
        self.read_options(body, expressions)
        if r.random() < 0.35:
            body["FilterExpression"] = self.maybe_corrupt(expressions, expressions.condition(1))
        if r.random() < 0.35:
            body["Limit"] = r.choice([1, 2, 3, 5, 100, 1, 2]) if r.random() < 0.98 else r.choice([0, -1, 10**12])
        self.enum(body, "Select", ["ALL_ATTRIBUTES", "COUNT", "ALL_PROJECTED_ATTRIBUTES", "SPECIFIC_ATTRIBUTES"], 0.2)
        self.capacity(body)
        if r.random() < 0.02 and table is not None:
            body["ExclusiveStartKey"] = self.key(table)

    def pick_index(self, body, table):
        r = self.r
        if table is not None and table.indexes and r.random() < 0.5:
            body["IndexName"] = r.choice(sorted(table.indexes))
            return table.indexes[body["IndexName"]]
        if r.random() < 0.01:
            body["IndexName"] = r.choice(["nosuch", "ab", "bad name"])
        return table.keys if table is not None else Schema([{"AttributeName": "pk", "KeyType": "HASH"}])

    def query(self):
        r = self.r
        table = self.table()
        body = {"TableName": self.table_name(table)}
        schema = self.pick_index(body, table)
        types = table.types if table is not None else {"pk": "S"}
        expressions = Expressions(r)
        text = expressions.key_condition(schema, lambda k: self.key_value(types.get(k, "S")))
        body["KeyConditionExpression"] = self.maybe_corrupt(expressions, text)
        self.page_options(body, table, expressions)
        if r.random() < 0.3:
            body["ScanIndexForward"] = r.random() < 0.5
        expressions.finish(body)
        return "Query", body

    def scan(self):
        r = self.r
        table = self.table()
        body = {"TableName": self.table_name(table)}
        self.pick_index(body, table)
        expressions = Expressions(r)
        self.page_options(body, table, expressions)
        if r.random() < 0.15:
            body["TotalSegments"] = r.choice([1, 2, 3, 4, 0, 1000001])
            body["Segment"] = r.choice([0, 0, 1, 2, 5, -1])
            if r.random() < 0.1:
                del body[r.choice(["Segment", "TotalSegments"])]
        expressions.finish(body)
        return "Scan", body

    # --- transactions ---

    def action(self, table):
        r = self.r
        name = self.table_name(table)
        expressions = Expressions(r, table.keys.all if table else ())
        kind = r.choice(["Put", "Put", "Update", "Update", "Delete", "ConditionCheck"])
        action = {"TableName": name}
        if kind == "Put":
            action["Item"] = self.item(table)
        else:
            action["Key"] = self.key(table)
        if kind == "Update":
            action["UpdateExpression"] = self.maybe_corrupt(expressions, self.update_text(table, expressions))
        if kind == "ConditionCheck" or r.random() < 0.25:
            action["ConditionExpression"] = self.maybe_corrupt(expressions, expressions.condition(1))
        self.enum(action, "ReturnValuesOnConditionCheckFailure", ["ALL_OLD", "NONE"], 0.2)
        expressions.finish(action)
        return {kind: action}

    def transact_write_items(self):
        r = self.r
        tables = self.some_tables()
        count = r.choice([1, 2, 2, 3, 4]) if r.random() < 0.99 else r.choice([0, 101])
        actions, seen = [], []
        for _ in range(count):
            table = r.choice(tables)
            entry = self.action(table)
            (action,) = entry.values()
            held = action.get("Item", action.get("Key", {}))
            key = (action["TableName"], repr(sorted((k, v) for k, v in held.items() if table is None or k in table.keys.all)))
            if key in seen and r.random() < 0.9:
                continue
            seen.append(key)
            actions.append(entry)
        body = {"TransactItems": actions}
        self.capacity(body)
        self.enum(body, "ReturnItemCollectionMetrics", ["SIZE", "NONE"], 0.15)
        if r.random() < 0.08:
            self.token(body)
        return "TransactWriteItems", body

    def token(self, body):
        """A new token, or the one of an earlier request, with or without its body."""
        r = self.r
        if self.last_tokens and r.random() < 0.4:
            earlier = r.choice(self.last_tokens)
            body["ClientRequestToken"] = earlier["ClientRequestToken"]
            if r.random() < 0.7:
                body["TransactItems"] = copy.deepcopy(earlier["TransactItems"])
            return
        body["ClientRequestToken"] = f"token-{r.randrange(10**9)}" if r.random() < 0.95 else r.choice(["", "t" * 37])
        self.last_tokens = (self.last_tokens + [copy.deepcopy(body)])[-5:]

    def transact_get_items(self):
        r = self.r
        tables = self.some_tables()
        count = r.choice([1, 2, 3]) if r.random() < 0.99 else r.choice([0, 101])
        gets = []
        for _ in range(count):
            table = r.choice(tables)
            get = {"TableName": self.table_name(table), "Key": self.key(table)}
            expressions = Expressions(r)
            if r.random() < 0.35:
                get["ProjectionExpression"] = self.maybe_corrupt(expressions, expressions.projection())
            expressions.finish(get)
            get.pop("ExpressionAttributeValues", None)
            gets.append({"Get": get})
        if r.random() < 0.9:
            gets = self.distinct_gets(gets)
        body = {"TransactItems": gets}
        self.capacity(body)
        return "TransactGetItems", body

    @staticmethod
    def distinct_gets(gets):
        return list({(g["Get"]["TableName"], repr(sorted(g["Get"]["Key"].items(), key=repr))): g for g in gets}.values())

    # --- legacy parameters ---

    def comparison(self, expected=False, depth=1):
        r = self.r
        operator = r.choice(COMPARISONS)
        condition = {"ComparisonOperator": operator}
        count = {"NULL": 0, "NOT_NULL": 0, "BETWEEN": 2, "IN": r.randint(1, 3)}.get(operator, 1)
        if r.random() < 0.05:
            count = r.randint(0, 3)
        first = values.maybe_broken(r, 0.02, depth)
        kind = next(iter(first)) if isinstance(first, dict) and first else "S"
        same = lambda: values.scalar(r, kind) if kind in ("S", "N", "B") else first
        if count or r.random() < 0.1:
            condition["AttributeValueList"] = [first if i == 0 else same() for i in range(count)]
        if expected and r.random() < 0.03:
            condition[r.choice(["Exists", "Value"])] = r.choice([True, False, {"S": "a"}])
        return condition

    def expected(self):
        r = self.r
        entry = r.random()
        if entry < 0.5:
            return self.comparison(expected=True)
        if entry < 0.75:
            return {"Value": values.maybe_broken(r, 0.02, 1)}
        made = {"Exists": r.random() < 0.3}
        if made["Exists"] != (r.random() < 0.1):
            made["Value"] = values.value(r, 0)
        return made

    def conditions(self, body, member, make, chance):
        r = self.r
        if r.random() < chance:
            body[member] = {values.name(r): make() for _ in range(r.choice([1, 1, 2, 2, 3]))}
            if r.random() < 0.4:
                body["ConditionalOperator"] = r.choice(["AND", "OR"])
        elif r.random() < 0.02:
            body["ConditionalOperator"] = r.choice(["AND", "OR", "XOR"])

    def legacy_write(self):
        r = self.r
        table = self.table()
        operation = r.choice(["PutItem", "DeleteItem", "UpdateItem", "UpdateItem", "UpdateItem"])
        body = {"TableName": self.table_name(table)}
        if operation == "PutItem":
            body["Item"] = self.item(table)
        else:
            body["Key"] = self.key(table)
        if operation == "UpdateItem":
            body["AttributeUpdates"] = {values.name(r): self.attribute_update() for _ in range(r.choice([1, 1, 2, 3]))}
            self.enum(body, "ReturnValues", RETURNS, 0.6)
        else:
            self.enum(body, "ReturnValues", ["NONE", "ALL_OLD"])
        self.conditions(body, "Expected", self.expected, 0.5)
        self.capacity(body)
        if r.random() < 0.03:
            body["ConditionExpression"] = "attribute_exists(a)"
        return operation, body

    def attribute_update(self):
        r = self.r
        update = {}
        if r.random() < 0.9:
            update["Action"] = r.choice(["PUT", "PUT", "ADD", "DELETE", "BOGUS" if r.random() < 0.05 else "PUT"])
        action = update.get("Action")
        if action == "ADD" and r.random() < 0.7:
            update["Value"] = {"N": values.number(r)}
        elif action != "DELETE" or r.random() < 0.4:
            update["Value"] = values.maybe_broken(r, 0.02, 1) if action != "DELETE" else {"SS": ["a", "b"]}
        return update

    def legacy_read(self):
        r = self.r
        table = self.table()
        operation = r.choice(["GetItem", "Query", "Query", "Scan"])
        body = {"TableName": self.table_name(table)}
        if operation == "GetItem":
            body["Key"] = self.key(table)
        else:
            schema = self.pick_index(body, table)
            filter_name = "QueryFilter" if operation == "Query" else "ScanFilter"
            self.conditions(body, filter_name, self.comparison, 0.5)
            if operation == "Query":
                self.key_conditions(body, table, schema)
            if r.random() < 0.3:
                body["Limit"] = r.randint(1, 4)
        if r.random() < 0.4:
            body["AttributesToGet"] = [values.name(r) for _ in range(r.choice([1, 2, 3, 0]))]
        self.capacity(body)
        if r.random() < 0.03:
            body["ProjectionExpression"] = "a"
        return operation, body

    def key_conditions(self, body, table, schema):
        r = self.r
        types = table.types if table is not None else {}
        draw = lambda k: self.key_value(types.get(k, "S"))
        conditions = {k: {"ComparisonOperator": "EQ", "AttributeValueList": [draw(k)]} for k in schema.hash}
        for k in schema.range[: r.choice([0, 1])]:
            operator = r.choice(["EQ", "LT", "LE", "GT", "GE", "BETWEEN", "BEGINS_WITH", "NE" if r.random() < 0.1 else "EQ"])
            conditions[k] = {"ComparisonOperator": operator, "AttributeValueList": [draw(k) for _ in range(2 if operator == "BETWEEN" else 1)]}
        if r.random() < 0.02:
            conditions["other"] = {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}
        body["KeyConditions"] = conditions

    def junk(self):
        r = self.r
        operation = r.choice(["PutItem", "Query", "ListTables", "NoSuchOperation", "CreateTable", "BatchGetItem"])
        return operation, r.choice(["", "{", "[]", "null", '"a"', "1", "{}", '{"a":}', '{"TableName":"alpha"', "{}}", "\ufeff{}"])
