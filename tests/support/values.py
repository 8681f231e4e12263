"""Attribute values between Python and the wire, and their sizes by the service's rules.

    item(pk="a", n=1, tags={"x"})  ->  {"pk": {"S": "a"}, "n": {"N": "1"}, "tags": {"SS": ["x"]}}
"""

import base64
from decimal import Decimal


class Raw(dict):
    """An attribute value as it goes over the wire: Raw(N="1e2")."""


def av(value):
    if isinstance(value, Raw):
        return dict(value)
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, (int, Decimal)):
        return {"N": str(value)}
    if isinstance(value, bytes):
        return {"B": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return {"L": [av(element) for element in value]}
    if isinstance(value, dict):
        return {"M": {name: av(element) for name, element in value.items()}}
    if isinstance(value, (set, frozenset)) and value:
        members = [av(element) for element in value]
        kind = next(iter(members[0]))
        return {kind + "S": [member[kind] for member in members]}
    raise TypeError(f"no attribute value for {value!r}")


def item(mapping=None, **attributes):
    return {name: av(value) for name, value in {**(mapping or {}), **attributes}.items()}


def values(**named):
    """ExpressionAttributeValues: values(v=1) is {":v": {"N": "1"}}."""
    return {":" + name: av(value) for name, value in named.items()}


def number(text):
    value = Decimal(text)
    return int(value) if value == value.to_integral_value() else value


def plain_value(wire):
    (kind, content), = wire.items()
    if kind == "NULL":
        return None
    if kind in ("S", "BOOL"):
        return content
    if kind == "N":
        return number(content)
    if kind == "B":
        return base64.b64decode(content)
    if kind == "L":
        return [plain_value(element) for element in content]
    if kind == "M":
        return plain(content)
    assert kind in ("SS", "NS", "BS"), wire
    members = {plain_value({kind[0]: member}) for member in content}
    assert len(members) == len(content), f"a set with duplicates: {wire}"
    return members


def plain(wire_item):
    """An item back in Python; None stays None."""
    return wire_item and {name: plain_value(value) for name, value in wire_item.items()}


def plains(wire_items):
    return [plain(wire_item) for wire_item in wire_items]


def number_size(text):
    """1 + half a byte per significant digit, before and after the point each rounded up."""
    sign, digits, exponent = Decimal(text).as_tuple()
    significant = "".join(map(str, digits)).lstrip("0")
    point = len(significant) + exponent  # digits before the decimal point
    significant = significant.rstrip("0")
    if not significant:
        return 1
    whole = min(max(point, 0), len(significant))
    fraction = len(significant) - whole
    return 1 + (whole + 1) // 2 + (fraction + 1) // 2 + sign


def value_size(wire):
    (kind, content), = wire.items()
    if kind == "S":
        return len(content.encode())
    if kind == "N":
        return number_size(content)
    if kind == "B":
        return len(base64.b64decode(content))
    if kind in ("NULL", "BOOL"):
        return 1
    if kind == "L":
        return 3 + sum(1 + value_size(element) for element in content)
    if kind == "M":
        return 3 + sum(1 + value_size(element) for element in content.values()) + sum(
            len(name.encode()) for name in content)
    return sum(value_size({kind[0]: member}) for member in content)


def item_size(wire_item):
    return sum(len(name.encode()) + value_size(value) for name, value in wire_item.items())
