"""Random PartiQL statements, one by one, in batches and in transactions. Most are in the part of the language that both sides know."""

import json
import re

import random_values as values

PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?$")
MISTAKES = ["SELECT * FROM", "SELECT * FROM {t} WHERE", "SLECT * FROM {t}", "SELECT * FROM {t} WHERE a = 'x", "INSERT INTO {t} VALUE {{'a': ",
            "UPDATE {t} SET a = ", "DELETE FROM {t} WHERE a =", "UPDATE {t} WHERE a = 1", "SELECT COUNT(*) FROM {t}", "SELECT * FROM {t}.\"a\".\"b\"",
            "SELECT * FROM \"\"", "SELECT * FROM {t} WHERE a < true", "SELECT * FROM {t} WHERE \"a\" BETWEEN [1] AND 2", "", "FROM", "gibberish",
            "DELETE FROM {t} WHERE \"a\" = 1 RETURNING ALL NEW *", "SELECT * FROM {t} WHERE " + "(" * 250 + "a = 1" + ")" * 250,
            "SELECT * FROM {t} WHERE " + "NOT " * 900 + "a = 1"]


def quoted(name):
    return '"' + name + '"'


def path_text(path):
    """doc.b[0] with its names in quotes."""
    return re.sub(r"[A-Za-z]+", lambda word: quoted(word[0]), path)


def literal(value):
    """The value as the language has it, or None if there is no such literal."""
    try:
        (kind, held), = value.items()
        return literal_of(kind, held)
    except (AttributeError, TypeError, ValueError):  # a broken value
        return None


def literal_of(kind, held):
    if kind == "S":
        return "'" + held.replace("'", "''") + "'"
    if kind == "N":
        return held if PLAIN_NUMBER.match(held) and held != "-0" else None
    if kind == "BOOL":
        return "true" if held else "false"
    if kind == "NULL":
        return "null"
    if kind in ("SS", "NS"):
        members = [literal({kind[0]: member}) for member in held]
        return None if None in members or not members or len(set(members)) < len(members) else "<<" + ", ".join(members) + ">>"
    if kind == "L":
        members = [literal(member) for member in held]
        return None if None in members else "[" + ", ".join(members) + "]"
    if kind == "M":
        members = {name: literal(member) for name, member in held.items()}
        return None if None in members.values() else "{" + ", ".join(f"'{n}': {m}" for n, m in members.items()) + "}"
    return None


class Statement:
    """One statement in the making; parameters are noted as their marks are written."""

    def __init__(self, generator, table):
        self.generator = generator
        self.r = generator.r
        self.table = table
        self.parameters = []

    def request(self, text):
        return {"Statement": text, **({"Parameters": self.parameters} if self.parameters else {})}

    # --- pieces ---

    def source(self):
        return quoted(self.table.name if self.table is not None and self.r.random() < 0.99 else "nothere")

    def value(self, value):
        text = literal(value) if self.r.random() < 0.5 else None
        if text is not None and len(text) < 300:
            return text
        self.parameters.append(value)
        return "?"

    def some_value(self):
        return self.value(values.maybe_broken(self.r, 0.01, 1))

    def key_value(self, name):
        return self.value(self.generator.key_value(self.table.types[name]))

    def path(self):
        r = self.r
        return quoted(r.choice(["a", "b", "c", "d", "e", "attr", "A"])) if r.random() < 0.6 else path_text(r.choice(values.DOCUMENT_PATHS[:-2]))

    def other_path(self):
        """Not into a key: Dynoxide lets statements change keys, and has rows then that no key leads to."""
        path = self.path()
        return self.other_path() if path.split('"')[1] in self.table.keys.all else path

    # --- conditions ---

    def test(self):
        r = self.r
        path = self.path()
        kind = r.random()
        if kind < 0.5:
            return f"{path} {r.choice(['=', '=', '<>', '<', '<=', '>', '>='])} {self.scalar() if r.random() < 0.8 else self.some_value()}"
        if kind < 0.6:
            return f"{path} BETWEEN {self.value({'N': '1'})} AND {self.value({'N': str(r.randint(1, 20))})}"
        if kind < 0.7:
            return f"{path} IN [{', '.join(self.scalar() for _ in range(r.randint(1, 3)))}]"
        if kind < 0.8:
            return f"begins_with({path}, {self.value({'S': r.choice(['a', 'b', 'ab'])})})"
        if kind < 0.9:
            return f"contains({path}, {self.scalar()})"
        return f"{path} IS {r.choice(['', 'NOT '])}MISSING"

    def scalar(self):
        return self.value(values.scalar(self.r, self.r.choice("SNN")))

    def condition(self, depth=2):
        r = self.r
        kind = r.random()
        if depth == 0 or kind < 0.6:
            return self.test()
        if kind < 0.7:
            return f"NOT {self.test()}"
        if kind < 0.76:
            return f"NOT ({self.condition(depth - 1)})"
        inner = f" {r.choice(['AND', 'OR'])} ".join(self.condition(depth - 1) for _ in range(2))
        return f"({inner})" if r.random() < 0.8 else inner

    def whole_key(self):
        """The primary key by equality; seldom not quite."""
        r = self.r
        names = list(self.table.keys.all)
        if r.random() < 0.02:
            names.pop()
        r.shuffle(names)
        return " AND ".join(f"{quoted(name)} = {self.key_value(name)}" for name in names) or f"{quoted('a')} = {self.scalar()}"

    def sort_condition(self, name):
        r = self.r
        kind = r.random()
        if kind < 0.6:
            return f"{quoted(name)} {r.choice(['=', '<', '<=', '>', '>='])} {self.key_value(name)}"
        if kind < 0.8 and self.table.types[name] != "N":
            return f"begins_with({quoted(name)}, {self.key_value(name)})"
        return f"{quoted(name)} <> {self.key_value(name)}"

    def where(self, schema):
        r = self.r
        kind = r.random()
        if kind < 0.15:
            return ""
        if kind < 0.35:
            return f" WHERE {self.condition()}"
        name = schema.hash[0]
        several = f"IN [{self.key_value(name)}, {self.key_value(name)}]" if r.random() < 0.1 else None
        text = f"{quoted(name)} {several or '= ' + self.key_value(name)}"
        if schema.range and r.random() < 0.5:
            text += f" AND {self.sort_condition(schema.range[0])}"
        if r.random() < 0.4:
            text += f" AND {self.test()}" if r.random() < 0.7 else f" AND ({self.condition(1)})"
        return f" WHERE {text}"

    # --- statements ---

    def columns(self):
        r = self.r
        if r.random() < 0.5:
            return "*"
        paths = [self.path() for _ in range(r.randint(1, 3))] + [quoted(k) for k in self.table.keys.all if r.random() < 0.5]
        columns = {path if r.random() < 0.02 else path.split(".")[-1]: path for path in paths}  # one of a name
        return ", ".join(columns.values())

    def select(self):
        r = self.r
        columns = self.columns()
        source, schema = self.source(), self.table.keys
        if self.table.indexes and r.random() < 0.3:
            name = r.choice(sorted(self.table.indexes))
            schema = self.table.indexes[name]
            source += "." + quoted(name)
        elif r.random() < 0.01:
            source += ".\"nosuch\""
        body = self.request(f"SELECT {columns} FROM {source}{self.where(schema)}")
        if r.random() < 0.2:
            body["ConsistentRead"] = r.random() < 0.5
        return body

    def select_item(self):
        return self.request(f"SELECT {self.columns()} FROM {self.source()} WHERE {self.whole_key()}")

    def insert(self):
        item = self.generator.item(self.table)
        entries = ", ".join(f"'{name}': {self.value(value)}" for name, value in item.items() if name and "'" not in name)
        return self.request(f"INSERT INTO {self.source()} VALUE {{{entries}}}")

    def change(self):
        """A SET of one path or more."""
        r = self.r
        sets = []
        for path in dict.fromkeys(self.other_path() for _ in range(r.choice([1, 1, 2, 3]))):
            kind = r.random()
            name = r.choice("abcde")  # without quotes: Dynoxide takes what is quoted for a text there
            if kind < 0.7:
                sets.append(f"{path} = {self.some_value()}")
            elif kind < 0.9:
                sets.append(f"{path} = {name} {r.choice('+-')} {r.randint(0, 9)}")
            else:
                sets.append(f"{path} = list_append({name}, {self.value({'L': [{'N': '1'}]})})")
        return "SET " + ", ".join(sets)

    def update(self):
        r = self.r
        text = f"UPDATE {self.source()} "
        text += f"REMOVE {self.other_path()}" if r.random() < 0.2 else self.change()
        text += f" WHERE {self.whole_key()}"
        if r.random() < 0.25:
            text += f" AND {self.test()}"
        if r.random() < 0.4:
            text += f" RETURNING {r.choice(['ALL', 'MODIFIED'])} {r.choice(['OLD', 'NEW'])} *"
        return self.request(text)

    def delete(self):
        r = self.r
        text = f"DELETE FROM {self.source()} WHERE {self.whole_key()}"
        if r.random() < 0.25:
            text += f" AND {self.test()}"
        if r.random() < 0.4:
            text += f" RETURNING {r.choice(['ALL OLD', 'ALL OLD', 'ALL OLD', 'MODIFIED NEW'])} *"
        return self.request(text)

    def write(self):
        return self.r.choices([self.insert, self.update, self.delete], [4, 4, 2])[0]()


class Statements:
    """Requests for the three operations."""

    def __init__(self, generator):
        self.generator = generator
        self.r = generator.r

    def statement(self):
        return Statement(self.generator, self.generator.table())

    def mistake(self):
        table = self.generator.table()
        return {"Statement": self.r.choice(MISTAKES).format(t=quoted(table.name if table else "nothere"))}

    def execute_statement(self):
        r = self.r
        if self.generator.table() is None or r.random() < 0.03:
            return "ExecuteStatement", self.mistake()
        body = self.statement().select() if r.random() < 0.45 else self.statement().write()
        if body["Statement"].startswith("SELECT") and r.random() < 0.2:
            body["Limit"] = r.choice([1, 2, 3, 100]) if r.random() < 0.97 else 0
        if r.random() < 0.1:
            self.generator.enum(body, "ReturnValuesOnConditionCheckFailure", ["ALL_OLD", "NONE"], 1)
        self.generator.capacity(body)
        return "ExecuteStatement", body

    def members(self, make, counts):
        """A few statements, most often on different items."""
        r = self.r
        chosen = {}
        for _ in range(r.choice(counts)):
            body = make()
            chosen.setdefault(json.dumps(body) if r.random() < 0.1 else body["Statement"] + str(body.get("Parameters", [])[-2:]), body)
        return list(chosen.values())

    def batch_execute_statement(self):
        r = self.r
        if self.generator.table() is None:
            return "BatchExecuteStatement", {"Statements": [self.mistake()]}
        reads = r.random() < 0.5
        make = lambda: (self.statement().select_item() if reads != (r.random() < 0.01) else self.statement().write())
        body = {"Statements": self.members(make, [1, 2, 2, 3, 4])}
        if r.random() < 0.03:
            body["Statements"].append(self.mistake())
        if r.random() < 0.01:
            body["Statements"] = []
        self.generator.capacity(body)
        return "BatchExecuteStatement", body

    def execute_transaction(self):
        r = self.r
        if self.generator.table() is None:
            return "ExecuteTransaction", {"TransactStatements": [self.mistake()]}
        reads = r.random() < 0.4
        make = lambda: (self.statement().select_item() if reads != (r.random() < 0.01) else self.statement().write())
        body = {"TransactStatements": self.members(make, [1, 2, 2, 3])}
        if r.random() < 0.01:
            body["TransactStatements"] = []
        self.generator.capacity(body)
        if r.random() < 0.05:
            body["ClientRequestToken"] = f"ql-{r.randrange(10**9)}"
        return "ExecuteTransaction", body
