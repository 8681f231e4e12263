"""Are the operations on one item linearizable? The algorithm of Wing and Gong with Lowe's cache of visited states: it
looks for an order of the operations that respects real time and in which every answer is right.

An item is a register that holds a number, or None while it is absent. An operation is (start, end, kind, a, b):

    read   a: the value that was read
    write  a: the value that was written; None: deleted
    cas    a became b, because the register held a
    miss   a conditional write was refused, so the register did not hold a
    swap   a was written, and b is what the register held before

`end` is None if the client never saw an answer: then the operation may have happened at any time after its start, or
never; of a `swap` without answer b is unknown, and a `cas` may have missed."""

import math


def _apply(operation, value):
    """The register's value afterwards, or () if the answer would be wrong."""
    _, end, kind, a, b = operation
    if kind == "read":
        return value if value == a or end is None else ()
    if kind == "write":
        return a
    if kind == "cas":
        return b if value == a else value if end is None else ()
    if kind == "miss":
        return value if value != a else ()
    return a if end is None or value == b else ()


def _events(operations):
    """A doubly linked list of starts and ends in the order of time, as arrays: [index] -> operation, -1 for the head."""
    times = []
    for number, operation in enumerate(operations):
        times.append((operation[0], 0, number))
        times.append((math.inf if operation[1] is None else operation[1], 1, number))
    times.sort()
    return times


def find_order(operations, steps_max=5_000_000):
    """None if the operations are linearizable, else a text that says what cannot be explained."""
    times = _events(operations)
    count = len(times)
    following = list(range(1, count + 2))  # 0 is the head; event i is i + 1
    before = list(range(-1, count + 1))
    end_of = {number: i + 1 for i, (_, is_end, number) in enumerate(times) if is_end}
    value, done, visited, path = None, 0, set(), []
    completed = sum(operation[1] is not None for operation in operations)
    deepest, deepest_at = -1, None
    at, steps = following[0], 0

    def remove(i):
        following[before[i]] = following[i]
        before[following[i]] = before[i]

    def restore(i):
        following[before[i]] = i
        before[following[i]] = i

    while completed > 0:
        steps += 1
        if steps > steps_max:
            return f"gave up after {steps_max} steps, with {completed} operations left"
        is_end = at > count or times[at - 1][1]
        if not is_end:
            number = times[at - 1][2]
            after = _apply(operations[number], value)
            state = (done | 1 << number, after)
            if after != () and state not in visited:
                visited.add(state)
                path.append((at, value))
                value, done = after, done | 1 << number
                completed -= operations[number][1] is not None
                remove(at)
                remove(end_of[number])
                at = following[0]
                continue
            at = following[at]
            continue
        if len(path) > deepest and at <= count:
            deepest, deepest_at = len(path), times[at - 1][2]
        if not path:
            return describe(operations, deepest_at)
        at, value = path.pop()
        number = times[at - 1][2]
        done &= ~(1 << number)
        completed += operations[number][1] is not None
        restore(end_of[number])
        restore(at)
        at = following[at]
    return None


def describe(operations, number):
    """The operation that no order explains, and its neighbours in time."""
    culprit = operations[number]
    near = [operation for operation in operations
            if (operation[1] is None or operation[1] > culprit[0] - 50_000_000) and operation[0] < culprit[1]]
    lines = [f"  {(o[0] - culprit[0]) / 1e6:9.3f} ms to "
             f"{'?' if o[1] is None else format((o[1] - culprit[0]) / 1e6, '9.3f')} ms  {o[2]} {o[3]} {o[4]}"
             for o in sorted(near)[-30:]]
    return f"no order explains {culprit[2]} {culprit[3]} {culprit[4]}; near it:\n" + "\n".join(lines)


def check(histories):
    """{key: operations} -> texts of what is wrong."""
    problems = []
    for key, operations in histories.items():
        text = find_order(sorted(operations, key=lambda operation: operation[0]))
        if text is not None:
            problems.append(f"item {key} is not linearizable: {text}")
    return problems
