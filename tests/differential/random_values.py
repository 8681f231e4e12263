"""Random attribute values: mostly fit, some at a limit, some broken. `r` is a random.Random everywhere."""

import base64
import re

NAMES = ["a", "b", "c", "d", "e", "attr", "f.g", "#h", "naïve", "size", "name", "x-y", "q w", "_u", "A"]
DOCUMENT_PATHS = ["doc", "doc.a", "doc.b", "doc.b[0]", "doc.b[1]", "doc.b[9]", "doc.e", "doc.e.a", "doc.e.b", "doc.zz", "doc.zz.a", "list", "list[0]",
                  "list[1].a", "list[1].b", "list[2]", "list[3][0]", "list[3][1]", "list[7]", "list.a", "doc[0]"]
TEXTS = ["", "a", "b", "ab", "abc", "abcabc", "B", "é", "日本", "😀", 'q"uote', "back\\slash", "tab\there", "\u0001", "\u2028", "10", "9"]
NUMBERS = ["0", "1", "2", "3", "-1", "10", "1.5", "-2.25", "100", "1e2", "0.001", "+5", "00042", "3.1400", "1E-5", "-0", "7.0",
           "12345678901234567890123456789012345678", "9.9999999999999999999999999999999999999E+125", "1E-130", "-9.9e125",
           "0.0000001", ".5", "5.", "1e0", "123456.789"]
BAD_NUMBERS = ["", "abc", "1.2.3", " 1", "1 ", "1e", "e5", "+", "-", ".", "0x10", "NaN", "Infinity", "1e126", "1e-131", "--1", "1+2",
               "123456789012345678901234567890123456789", "1e99999999999", "1_0", "１", "1,5"]
BAD_BASE64 = ["a", "abc?", "ab=="]
BYTES = [b"", b"a", b"b", b"ab", b"\x00", b"\xff", b"\x00\x01\x02", b"hello"]


def b64(data):
    return base64.b64encode(data).decode()


def text(r):
    kind = r.random()
    if kind < 0.9:
        return r.choice(TEXTS)
    if kind < 0.97:
        return "x" * r.randint(1, 40)
    return "y" * r.choice([1000, 1023, 1024, 1025, 4000, 9000])


def number(r):
    if r.random() < 0.8:
        return r.choice(NUMBERS)
    return str(r.randint(-10**r.randint(1, 30), 10**r.randint(1, 30)))


def name(r):
    return r.choice(NAMES)


def members(r, draw, same):
    """A few different elements of a set."""
    chosen = {}
    for _ in range(r.randint(1, 4)):
        element = draw()
        chosen.setdefault(same(element), element)
    return list(chosen.values())


def canonical(number_text):
    """Equal for equal numbers."""
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 200
        return Decimal(number_text).normalize(context) + 0


def scalar(r, kind):
    if kind == "S":
        return {"S": text(r)}
    if kind == "N":
        return {"N": number(r)}
    return {"B": b64(r.choice(BYTES))}


def value(r, depth=3):
    kind = r.choice(["S", "S", "N", "N", "B", "SS", "NS", "BS", "BOOL", "NULL"] + (["L", "M", "L", "M"] if depth > 0 else []))
    if kind in ("S", "N", "B"):
        return scalar(r, kind)
    if kind == "SS":
        return {"SS": members(r, lambda: text(r), lambda t: t)}
    if kind == "NS":
        return {"NS": members(r, lambda: number(r), canonical)}
    if kind == "BS":
        return {"BS": members(r, lambda: b64(r.choice(BYTES)), lambda t: t)}
    if kind == "BOOL":
        return {"BOOL": r.random() < 0.5}
    if kind == "NULL":
        return {"NULL": True}
    if kind == "L":
        return {"L": [value(r, depth - 1) for _ in range(r.randint(0, 4))]}
    return {"M": {name(r): value(r, depth - 1) for _ in range(r.randint(0, 4))}}


def document(r):
    """Attributes with the structure that DOCUMENT_PATHS go into."""
    leaf = lambda: value(r, 0)
    return {
        "doc": {"M": {"a": {"N": number(r)}, "b": {"L": [leaf() for _ in range(r.randint(0, 3))]}, "e": {"M": {"a": leaf(), "b": {"SS": ["a", "b"]}}}}},
        "list": {"L": [{"N": number(r)}, {"M": {"a": leaf()}}, {"SS": ["a", "c"]}, {"L": [leaf(), leaf()]}][: r.randint(0, 4)]},
    }


def deep(levels):
    """A value whose innermost one is at this level."""
    inner = {"S": "leaf"}
    for i in range(levels - 1):
        inner = {"M": {"n": inner}} if i % 2 == 0 else {"L": [inner]}
    return inner


def broken(r):
    """A value that is refused; by its JSON, its form or its content."""
    return r.choice([
        lambda: {"N": r.choice(BAD_NUMBERS)},
        lambda: {"NS": ["1", r.choice(BAD_NUMBERS)]},
        lambda: {r.choice(["SS", "NS", "BS"]): []},
        lambda: {"SS": ["b", "a", "b"]},
        lambda: {"NS": ["1", "2", "1.0"]},
        lambda: {"BS": ["/w==", "AA==", "AA=="]},
        lambda: {"NULL": False},
        lambda: {},
        lambda: {"S": "a", "N": "1"},
        lambda: {"X": "a"},
        lambda: None,
        lambda: {"L": [{"N": "x"}]},
        lambda: {"M": {"a": {}}},
        lambda: deep(r.choice([33, 34, 40])),
        lambda: {"S": r.choice([1, True, [], {}, 1.5])},
        lambda: {"N": r.choice([1, False, [], {}])},
        lambda: {"B": r.choice(BAD_BASE64 + [1, True, []])},
        lambda: {"BOOL": r.choice(["true", 1, "x", []])},
        lambda: {"L": r.choice(["a", {}, 1])},
        lambda: {"M": r.choice(["a", [], 1])},
        lambda: {"SS": r.choice(["a", {}, [1], [None]])},
        lambda: r.choice(["a", 1, [], True]),
    ])()


def maybe_broken(r, chance=0.03, depth=3):
    return broken(r) if r.random() < chance else value(r, depth)


TYPES = {"S", "N", "B", "SS", "NS", "BS", "BOOL", "NULL", "L", "M"}
ATTRIBUTES = {"Item", "Key", "Keys", "ExpressionAttributeValues", "ExclusiveStartKey"}
HOLDERS = {"Item", "Keys", "AttributeValueList"}
CALM_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$")


def is_calm(value, member=""):
    """Whether all attribute values in a request have a form that every implementation understands, and none is empty. `member` is
    the name of what holds the value."""
    if isinstance(value, list):
        return all(is_calm(v, member) for v in value)
    if not isinstance(value, dict):
        return value is not None and value != "BOGUS" and member not in HOLDERS
    if set(value) & TYPES:
        return len(value) == 1 and is_calm_value(*next(iter(value.items())))
    if member in ATTRIBUTES:
        return all(k and isinstance(v, dict) and v and is_calm(v) for k, v in value.items())
    return all(k and v != {} and is_calm(v, k) for k, v in value.items())


def is_calm_value(kind, held):
    if kind in ("SS", "NS", "BS"):
        return isinstance(held, list) and bool(held) and all(is_calm_value(kind[0], h) for h in held) and len(set(held)) == len(held)
    if kind == "N":
        return isinstance(held, str) and bool(CALM_NUMBER.match(held)) and held not in BAD_NUMBERS
    if kind in ("S", "B"):
        return isinstance(held, str) and held != "" and (kind == "S" or held not in BAD_BASE64)
    if kind in ("BOOL", "NULL"):
        return isinstance(held, bool) and (kind == "BOOL" or held)
    if kind == "L":
        return isinstance(held, list) and all(isinstance(h, dict) and is_calm(h) for h in held)
    return isinstance(held, dict) and all(isinstance(h, dict) and is_calm(h) for h in held.values())
