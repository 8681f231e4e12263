"""What UPDATED_OLD and UPDATED_NEW show of an item: what is at the paths of the update. A second implementation of that rule, so that answers
of servers that show more can still be checked."""

import re

TOKEN = re.compile(r"[#:]?[\w-]+|\S")
SECTIONS = ("SET", "REMOVE", "ADD", "DELETE")


def actions(expression):
    """The actions of an update expression as lists of tokens, each with its section."""
    section, found, depth = None, [], 0
    for token in TOKEN.findall(expression):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if token.upper() in SECTIONS:
            section = token.upper()
            found.append((section, []))
        elif token == "," and depth == 0:
            found.append((section, []))
        elif found:
            found[-1][1].append(token)
    return found


def path_of(section, tokens, names):
    """The path that an action changes: names and indexes."""
    ends = {"SET": lambda t: t == "=", "ADD": lambda t: t[0] == ":", "DELETE": lambda t: t[0] == ":"}.get(section, lambda t: False)
    steps = []
    for token in tokens:
        if ends(token):
            break
        if token not in ".[]()":
            is_index = token.isdigit() and steps and tokens[tokens.index(token) - 1] == "["
            steps.append(int(token) if is_index else names.get(token, token))
    return steps


def paths(request):
    names = request.get("ExpressionAttributeNames") or {}
    return [path_of(section, tokens, names) for section, tokens in actions(request["UpdateExpression"])]


def pick(value, wanted):
    """The parts of an attribute value at the paths; None if there are none. Elements of lists are packed in order."""
    if [] in wanted:
        return value
    kind, held = next(iter(value.items()))
    firsts = {path[0] for path in wanted}
    below = {step: [path[1:] for path in wanted if path[0] == step] for step in firsts}
    if kind == "M":
        picked = {name: pick(held[name], rest) for name, rest in below.items() if isinstance(name, str) and name in held}
        picked = {name: part for name, part in picked.items() if part is not None}
    elif kind == "L":
        indexes = sorted(step for step in firsts if isinstance(step, int) and step < len(held))
        picked = [part for part in (pick(held[i], below[i]) for i in indexes) if part is not None]
    else:
        return None
    return {kind: picked} if picked else None


def fragments(item, request):
    """The attributes that the answer to an UpdateItem shows of an item, before or after the update."""
    picked = pick({"M": item}, paths(request))
    return picked["M"] if picked else None
