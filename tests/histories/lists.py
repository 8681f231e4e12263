"""Are transactions strictly serializable? As Elle does it (Kingsbury and Alvaro, VLDB 2020), from lists to which
transactions append unique elements: the order of versions of a list is the order of its elements, so what each
transaction saw says which others came before and after it. A cycle of "came before" is an anomaly.

A transaction is a dict: start, end (None: no answer), ok (True, False, None: unknown), appends {key: [elements]},
reads {key: [elements as read]}. Elements are unique per key."""

from collections import defaultdict, deque

WW, WR, RW, REAL = "ww", "wr", "rw", "real-time"


def version_orders(transactions, problems):
    """{key: the longest list that was read}; each other read must be a beginning of it."""
    longest = {}
    for transaction in transactions:
        if transaction["ok"]:
            for key, elements in transaction["reads"].items():
                if len(elements) > len(longest.get(key, ())):
                    longest[key] = elements
    for transaction in transactions:
        if transaction["ok"]:
            for key, elements in transaction["reads"].items():
                if elements != longest.get(key, [])[:len(elements)]:
                    problems.append(f"incompatible order: list {key} was read as {elements[-5:]} and as "
                                    f"{longest[key][:len(elements)][-5:]}")
    return longest


def writers(transactions):
    """{(key, element): number of the transaction that appended it}"""
    return {(key, element): number for number, transaction in enumerate(transactions)
            for key, elements in transaction["appends"].items() for element in elements}


def check_elements(transactions, longest, writer_of, problems):
    """Elements never appended, appended by an aborted transaction, duplicated, or only part of their transaction."""
    for key, elements in longest.items():
        if len(set(elements)) != len(elements):
            problems.append(f"duplicate element in list {key}")
        for element in elements:
            number = writer_of.get((key, element))
            if number is None:
                problems.append(f"list {key} holds {element}, which nobody appended")
            elif transactions[number]["ok"] is False:
                problems.append(f"aborted read: list {key} holds {element} of a transaction that was refused")
    for transaction in transactions:
        for key, elements in transaction["reads"].items() if transaction["ok"] else ():
            if elements and (key, elements[-1]) in writer_of:
                together = transactions[writer_of[key, elements[-1]]]["appends"][key]
                if together[-1] != elements[-1]:
                    problems.append(f"intermediate read: list {key} was read with {elements[-1]} but not "
                                    f"{together[-1]} of the same transaction")


def check_lost(transactions, longest, problems):
    """Acknowledged appends that the longest read lacks although it began after them."""
    read_at = {}
    for transaction in transactions:
        for key, elements in transaction["reads"].items() if transaction["ok"] else ():
            read_at[key] = max(read_at.get(key, 0), transaction["start"])
    for transaction in transactions:
        for key, elements in transaction["appends"].items() if transaction["ok"] else ():
            missing = set(elements) - set(longest.get(key, ()))
            if missing and read_at.get(key, 0) > transaction["end"]:
                problems.append(f"lost update: {sorted(missing)} was appended to list {key} and is not there")


def dependencies(transactions, longest, writer_of):
    """Edges {number: {number: kind}} by what transactions saw of each other."""
    edges = defaultdict(dict)

    def add(a, b, kind):
        if a is not None and b is not None and a != b:
            edges[a].setdefault(b, kind)
    for key, elements in longest.items():
        order = [writer_of.get((key, element)) for element in elements]
        for a, b in zip(order, order[1:]):
            add(a, b, WW)
    for number, transaction in enumerate(transactions):
        if not transaction["ok"]:
            continue
        for key, elements in transaction["reads"].items():
            if elements:
                add(writer_of.get((key, elements[-1])), number, WR)
            order = longest.get(key, [])
            if len(elements) < len(order):
                add(number, writer_of.get((key, order[len(elements)])), RW)
    return edges


def add_real_time(transactions, edges):
    """If one ended before another began it came before. By a chain of nodes behind the transactions' own, one for each
    end, so that there are few edges."""
    ends = sorted((transaction["end"], number) for number, transaction in enumerate(transactions)
                  if transaction["ok"])
    starts = sorted((transaction["start"], number) for number, transaction in enumerate(transactions))
    base, at = len(transactions), 0
    for position, (_, number) in enumerate(ends):
        edges[number].setdefault(base + position, REAL)
        if position > 0:
            edges[base + position - 1][base + position] = REAL
    for start, number in starts:
        while at < len(ends) and ends[at][0] < start:
            at += 1
        if at > 0:
            edges[base + at - 1].setdefault(number, REAL)


def components(edges):
    """Strongly connected components with more than one node (Tarjan, without recursion)."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for root in list(edges):
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        work = [(root, iter(edges.get(root, ())))]
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(edges.get(other, ()))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = set()
                    while node not in component:
                        component.add(stack.pop())
                    on_stack -= component
                    if len(component) > 1:
                        found.append(component)
    return found


def shortest_cycle(edges, component):
    best = None
    for start in sorted(component)[:200]:
        came = {start: None}
        queue = deque([start])
        while queue:
            node = queue.popleft()
            for other in edges.get(node, ()):
                if other == start:
                    path = [node]
                    while came[path[-1]] is not None:
                        path.append(came[path[-1]])
                    path.reverse()
                    if best is None or len(path) < len(best):
                        best = path
                    queue.clear()
                    break
                if other in component and other not in came:
                    came[other] = node
                    queue.append(other)
    return best


def name_cycle(kinds):
    """The usual name of the anomaly."""
    suffix = " with real time" if REAL in kinds else ""
    anti = sum(kind == RW for kind in kinds)
    if anti == 0:
        return ("G0 (write cycle)" if set(kinds) <= {WW, REAL} else "G1c (circular information flow)") + suffix
    return ("G-single (read skew, lost update)" if anti == 1 else "G2 (anti-dependency cycle)") + suffix


def describe(transactions, edges, cycle):
    lines, kinds = [], []
    for node, other in zip(cycle, cycle[1:] + cycle[:1]):
        kinds.append(edges[node][other])
        if node < len(transactions):
            transaction = transactions[node]
            reads = {key: elements[-3:] for key, elements in transaction["reads"].items()}
            lines.append(f"  {transaction['start'] / 1e6:.3f} to {(transaction['end'] or 0) / 1e6:.3f} ms: appends "
                         f"{transaction['appends']}, reads ending in {reads}  --{kinds[-1]}-->")
    return f"{name_cycle(kinds)}:\n" + "\n".join(lines[:20])


def check(transactions):
    """Texts of what is wrong."""
    problems = []
    longest = version_orders(transactions, problems)
    writer_of = writers(transactions)
    check_elements(transactions, longest, writer_of, problems)
    check_lost(transactions, longest, problems)
    edges = dependencies(transactions, longest, writer_of)
    add_real_time(transactions, edges)
    for component in components(edges):
        problems.append(describe(transactions, edges, shortest_cycle(edges, component)))
    return problems
