"""The checkers find what they are for: histories made by hand, good and bad."""

import lists
import registers


def transaction(start, end, appends=None, reads=None, ok=True):
    return {"start": start, "end": end if ok is not None else None, "ok": ok, "appends": appends or {},
            "reads": reads or {}}


REGISTERS = {  # name: (is linearizable, operations)
    "one after the other": (True, [(1, 2, "write", 1, None), (3, 4, "read", 1, None)]),
    "stale read": (False, [(1, 2, "write", 1, None), (3, 4, "write", 2, None), (5, 6, "read", 1, None)]),
    "concurrent write, either": (True, [(1, 9, "write", 1, None), (2, 3, "read", None, None), (4, 5, "read", 1, None)]),
    "read goes back": (False, [(1, 9, "write", 1, None), (2, 3, "read", 1, None), (4, 5, "read", None, None)]),
    "lost at a crash": (False, [(1, 2, "write", 1, None), (5, 6, "read", None, None)]),
    "in doubt, happened": (True, [(1, None, "write", 1, None), (5, 6, "read", 1, None)]),
    "in doubt, did not": (True, [(1, None, "write", 1, None), (5, 6, "read", None, None)]),
    "in doubt, late": (True, [(1, None, "write", 1, None), (5, 6, "read", None, None), (7, 8, "read", 1, None)]),
    "in doubt, and gone again": (False, [(1, None, "write", 1, None), (5, 6, "read", 1, None),
                                         (7, 8, "read", None, None)]),
    "out of nowhere": (False, [(1, 2, "read", 7, None)]),
    "two win the same": (False, [(1, 2, "write", 1, None), (3, 6, "cas", 1, 2), (4, 7, "cas", 1, 3)]),
    "one wins": (True, [(1, 2, "write", 1, None), (3, 6, "cas", 1, 2), (4, 7, "miss", 1, None)]),
    "refused without reason": (False, [(1, 2, "write", 1, None), (3, 4, "miss", 1, None)]),
    "swap saw it": (True, [(1, 2, "write", 1, None), (3, 4, "swap", 2, 1), (5, 6, "read", 2, None)]),
    "swap lost one": (False, [(1, 2, "write", 1, None), (3, 6, "swap", 2, 1), (3, 6, "swap", 3, 1)]),
    "deleted": (True, [(1, 2, "write", 1, None), (3, 4, "write", None, None), (5, 6, "cas", None, 5)]),
}

LISTS = {  # name: (expected words, or None if all is well; transactions)
    "serial": (None, [transaction(1, 2, {"x": [1]}), transaction(3, 4, {"x": [2]}),
                      transaction(5, 6, {}, {"x": [1, 2]})]),
    "lost update": ("lost update", [transaction(1, 2, {"x": [1]}), transaction(3, 4, {"x": [2]}),
                                    transaction(5, 6, {}, {"x": [2]})]),
    "aborted read": ("aborted read", [transaction(1, 2, {"x": [1]}, ok=False), transaction(3, 4, {}, {"x": [1]})]),
    "in doubt is allowed": (None, [transaction(1, 2, {"x": [1]}, ok=None), transaction(3, 4, {}, {"x": [1]})]),
    "intermediate read": ("intermediate read", [transaction(1, 9, {"x": [1, 2]}), transaction(2, 3, {}, {"x": [1]}),
                                                transaction(10, 11, {}, {"x": [1, 2]})]),
    "incompatible order": ("incompatible order", [transaction(1, 9, {"x": [1]}), transaction(1, 9, {"x": [2]}),
                                                  transaction(2, 8, {}, {"x": [1]}),
                                                  transaction(2, 8, {}, {"x": [2, 1]})]),
    "duplicate": ("duplicate", [transaction(1, 2, {"x": [1]}), transaction(3, 4, {}, {"x": [1, 1]})]),
    "out of nowhere": ("nobody appended", [transaction(3, 4, {}, {"x": [9]})]),
    "write cycle": ("G0", [transaction(1, 9, {"x": [1], "y": [1]}), transaction(1, 9, {"x": [2], "y": [2]}),
                           transaction(10, 11, {}, {"x": [1, 2]}), transaction(10, 11, {}, {"y": [2, 1]})]),
    "information flows in a circle": ("G1c", [transaction(1, 9, {"x": [1]}, {"y": [1]}),
                                              transaction(1, 9, {"y": [1]}, {"x": [1]})]),
    "torn transaction": ("G-single", [transaction(1, 9, {"x": [1], "y": [1]}),
                                      transaction(2, 8, {}, {"x": [1], "y": []}),
                                      transaction(10, 11, {}, {"x": [1], "y": [1]})]),
    "write skew": ("G2", [transaction(1, 9, {"x": [1]}, {"y": []}), transaction(1, 9, {"y": [1]}, {"x": []}),
                          transaction(10, 11, {}, {"x": [1], "y": [1]})]),
    "stale snapshot": ("real time", [transaction(1, 2, {"x": [1]}), transaction(3, 4, {}, {"x": []}),
                                     transaction(5, 6, {}, {"x": [1]})]),
    "concurrent reads may differ": (None, [transaction(1, 9, {"x": [1], "y": [1]}),
                                           transaction(2, 8, {}, {"x": [], "y": []}),
                                           transaction(3, 8, {}, {"x": [1], "y": [1]})]),
}


def run():
    """(passed, failed); says what failed."""
    passed = failed = 0
    for name, (good, operations) in REGISTERS.items():
        right = (registers.find_order(operations) is None) == good
        passed, failed = passed + right, failed + (not right)
        if not right:
            print(f"self-test of registers, {name}: found {registers.find_order(operations)}")
    for name, (words, transactions) in LISTS.items():
        problems = lists.check(transactions)
        right = not problems if words is None else any(words in problem for problem in problems)
        passed, failed = passed + right, failed + (not right)
        if not right:
            print(f"self-test of lists, {name}: found {problems}")
    return passed, failed


if __name__ == "__main__":
    print(run())
