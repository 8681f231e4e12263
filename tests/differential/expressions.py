"""Random expressions with the names and values that they use; now and then one that is broken."""

import re

import random_values as values

RESERVED = {"size", "name"}
SIMPLE = re.compile(r"^[A-Za-z][A-Za-z0-9_]*$")
COMPARATORS = ["=", "=", "=", "<>", "<", "<=", ">", ">="]
JUNK = ["(", ")", "AND", "=", ",", "!", ":v0", "#n0", "a", "SET", "[0]", ".", "<", "  ", "size(", "NOT", "1", '"']


class Expressions:
    """The expressions of one request share names and values."""

    def __init__(self, r, keys=()):
        self.r = r
        self.keys = list(keys)
        self.names = {}
        self.values = {}

    def attribute(self, attribute):
        """As it stands if it can, else through a placeholder."""
        plain = SIMPLE.match(attribute) and attribute not in RESERVED
        if plain and self.r.random() < 0.6:
            return attribute
        for placeholder, target in self.names.items():
            if target == attribute and self.r.random() < 0.8:
                return placeholder
        placeholder = f"#n{len(self.names)}"
        self.names[placeholder] = attribute
        return placeholder

    def constant(self, value):
        for placeholder, other in self.values.items():
            if other == value and self.r.random() < 0.5:
                return placeholder
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def path(self, top=None):
        r = self.r
        if top is None and r.random() < 0.35:
            return self.document_path()
        if top is None:
            top = r.choice(self.keys) if self.keys and r.random() < 0.15 else values.name(r)
        text = self.attribute(top)
        while r.random() < 0.25:
            text += f"[{r.randint(0, 3)}]" if r.random() < 0.5 else "." + self.attribute(values.name(r))
        return text

    def document_path(self):
        """A path into what random_values.document() makes; its names may be placeholders."""
        text = self.r.choice(values.DOCUMENT_PATHS)
        if self.r.random() < 0.2:
            head, point, rest = text.partition(".")
            name, bracket, index = head.partition("[")
            text = self.attribute(name) + bracket + index + point + rest
        return text

    def any_value(self):
        r = self.r
        return self.constant(values.broken(r) if r.random() < 0.01 else values.value(r, 1))

    def operand(self):
        r = self.r
        kind = r.random()
        if kind < 0.5:
            return self.path()
        return self.any_value() if kind < 0.92 else f"size({self.path()})"

    def function(self):
        r = self.r
        kind = r.randint(0, 5)
        if kind == 0:
            return f"attribute_exists({self.path()})"
        if kind == 1:
            return f"attribute_not_exists({self.path()})"
        if kind == 2:
            types = ["S", "N", "B", "SS", "NS", "BS", "BOOL", "NULL", "L", "M", "X"]
            return f"attribute_type({self.path()}, {self.constant({'S': r.choice(types)})})"
        if kind == 3:
            prefix = {"S": values.text(r)} if r.random() < 0.8 else values.value(r, 0)
            return f"begins_with({self.path()}, {self.constant(prefix)})"
        return f"contains({self.path()}, {self.operand()})"

    def term(self):
        r = self.r
        kind = r.random()
        if kind < 0.45:
            return f"{self.operand()} {r.choice(COMPARATORS)} {self.operand()}"
        if kind < 0.55:
            low, high = self.constant(values.scalar(r, "N")), self.constant(values.scalar(r, "N"))
            return f"{self.path()} BETWEEN {low} AND {high}"
        if kind < 0.65:
            return f"{self.path()} IN ({', '.join(self.operand() for _ in range(r.randint(1, 3)))})"
        return self.function()

    def condition(self, depth=2):
        r = self.r
        kind = r.random()
        if depth == 0 or kind < 0.5:
            return self.term()
        if kind < 0.6:
            return f"NOT {self.condition(depth - 1)}"
        if kind < 0.7:
            return f"({self.condition(depth - 1)})"
        joint = r.choice([" AND ", " OR ", " and "])
        return self.condition(depth - 1) + joint + self.condition(depth - 1)

    def set_value(self):
        r = self.r
        kind = r.random()
        if kind < 0.5:
            return self.any_value()
        if kind < 0.6:
            return self.path()
        if kind < 0.7:
            return f"if_not_exists({self.path()}, {self.any_value()})"
        if kind < 0.8:
            items = self.constant({"L": [values.value(r, 0)]})
            return f"list_append({self.path()}, {items})" if r.random() < 0.5 else f"list_append({items}, {self.path()})"
        number = self.constant({"N": values.number(r)})
        start = self.constant({"N": "0"})
        path = self.path()
        left = path if r.random() < 0.3 else f"if_not_exists({path}, {start})"
        return f"{left} {r.choice('+-')} {number}"

    def update(self):
        r = self.r
        sections = r.sample(["SET", "REMOVE", "ADD", "DELETE"], r.choice([1, 1, 1, 2, 3]))
        parts = []
        for section in sections:
            actions = []
            for _ in range(r.choice([1, 1, 2, 3])):
                if section == "SET":
                    actions.append(f"{self.path()} = {self.set_value()}")
                elif section == "REMOVE":
                    actions.append(self.path())
                elif section == "ADD":
                    added = {"N": values.number(r)} if r.random() < 0.6 else values.value(r, 0)
                    actions.append(f"{self.path()} {self.constant(added)}")
                else:
                    actions.append(f"{self.path()} {self.constant({'SS': ['a', 'b']})}")
            word = section if r.random() < 0.9 else section.lower()
            parts.append(word + " " + ", ".join(actions))
        return " ".join(parts)

    def document_update(self):
        """One or two changes inside of documents."""
        r = self.r
        parts = {"SET": [], "REMOVE": []}
        for path in r.sample(values.DOCUMENT_PATHS, r.choice([1, 1, 2])):
            section = r.choice(["SET", "SET", "REMOVE"])
            parts[section].append(f"{path} = {self.any_value()}" if section == "SET" else path)
        return " ".join(f"{section} {', '.join(actions)}" for section, actions in parts.items() if actions)

    def projection(self):
        return ", ".join(self.path() for _ in range(self.r.choice([1, 1, 2, 3])))

    def key_condition(self, schema, key_value):
        """A condition on the keys of a table or index; key_value(attribute) draws one."""
        r = self.r
        hashes = [f"{self.attribute(k)} = {self.constant(key_value(k))}" for k in schema.hash]
        terms = list(hashes)
        for k in schema.range[: r.choice([0, 1, 1, 1, 2])]:
            terms.append(self.range_term(k, key_value))
        if r.random() < 0.1:
            r.shuffle(terms)
        if r.random() < 0.1:
            terms = [f"({t})" for t in terms]
        return r.choice([" AND ", " AND ", " and "]).join(terms)

    def range_term(self, key, key_value):
        r = self.r
        kind = r.random()
        name = self.attribute(key)
        if kind < 0.5:
            operator = r.choice(["=", "<", "<=", ">", ">="])
            value = self.constant(key_value(key))
            return f"{value} {operator} {name}" if r.random() < 0.1 else f"{name} {operator} {value}"
        if kind < 0.75:
            return f"{name} BETWEEN {self.constant(key_value(key))} AND {self.constant(key_value(key))}"
        return f"begins_with({name}, {self.constant(key_value(key))})"

    def broken(self, text):
        """The text with a piece missing, doubled or strange."""
        r = self.r
        pieces = re.findall(r"\s+|[A-Za-z0-9_#:]+|.", text)
        at = r.randrange(len(pieces)) if pieces else 0
        change = r.randint(0, 3)
        if change == 0 and pieces:
            del pieces[at]
        elif change == 1:
            pieces.insert(at, r.choice(JUNK))
        elif change == 2 and pieces:
            pieces[at] = r.choice(JUNK)
        else:
            return r.choice(["", " ", "a", text * 200, "(" + text, text + ")", "((" + text + "))"])
        return "".join(pieces)

    def finish(self, body):
        """Adds the names and values to the request, with rare mistakes."""
        r = self.r
        if r.random() < 0.02:
            self.names[r.choice(["#unused", "#", "x", "#a-b", "##"])] = r.choice(["a", "", "zz"])
        if r.random() < 0.02:
            self.values[r.choice([":unused", ":", "v", ":a-b"])] = values.maybe_broken(r, 0.3, 0)
        if self.names and r.random() < 0.01:
            del self.names[r.choice(sorted(self.names))]
        if self.values and r.random() < 0.01:
            del self.values[r.choice(sorted(self.values))]
        if self.names or r.random() < 0.003:
            body["ExpressionAttributeNames"] = self.names
        if self.values or r.random() < 0.003:
            body["ExpressionAttributeValues"] = self.values
