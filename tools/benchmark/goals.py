"""What the benchmark must show, as ratios of one run; each is met, not met, or was not measured."""

MIB = 1 << 20


class Goal:
    def __init__(self, text, value, wanted, at_most=False):
        """`value` and `wanted` are numbers; None: not measured."""
        self.text, self.value, self.wanted, self.at_most = text, value, wanted, at_most

    def met(self):
        if self.value is None:
            return None
        return self.value <= self.wanted if self.at_most else self.value >= self.wanted

    def row(self):
        verdict = {None: "not measured", True: "met", False: "**not met**"}[self.met()]
        measured = "" if self.value is None else f"{self.value:.4g}"
        return [self.text, measured, f"{'at most' if self.at_most else 'at least'} {self.wanted:.3g}", verdict]


def ratio(above, below, name="requests_per_second"):
    if above is None or below is None or not below.get(name):
        return None
    return above[name] / below[name]


def divide(above, below):
    return above / below if above is not None and below else None


def get_goals(results):
    def works(work, peer):
        return results.best(section="works", work=work, peer=peer)
    ours, nginx = works("get", "gramme"), works("get", "nginx")
    yield Goal("1. GetItem 1 KB, 64 connections: requests/s, of nginx's", ratio(ours, nginx), 0.75)
    yield Goal("1. its CPU per request, of nginx's", ratio(ours, nginx, "server_cpu_us"), 2, True)
    yield Goal("1. its CPU per request, of Dynoxide's", ratio(ours, works("get", "dynoxide"), "server_cpu_us"), 1 / 8,
               True)
    yield Goal("1. its CPU per request, of DynamoDB Local's", ratio(ours, works("get", "local"), "server_cpu_us"),
               1 / 40, True)
    ours = works("put", "gramme")
    yield Goal("2. PutItem 1 KB with a GSI, 64 connections: times Dynoxide", ratio(ours, works("put", "dynoxide")), 8)
    yield Goal("2. times DynamoDB Local", ratio(ours, works("put", "local")), 30)
    bare = results.limit("rocksdb")
    yield Goal("2. of RocksDB alone with the same batches",
               divide(ours and ours["requests_per_second"], bare and bare["per_second"]), 0.6)
    yield Goal("3. Query of 1 MB: bytes/s, of nginx's",
               ratio(works("query1mb", "gramme"), results.best(section="works", kind="page"), "megabytes_per_second"),
               0.6)
    scan = results.best(section="big", work="scan", peer="gramme", segments=1)
    page = results.best(section="big", kind="page", segments=1)
    wanted = min(300, 0.7 * page["megabytes_per_second"]) if page else 300
    yield Goal("3. Scan of a large table, one connection: MB/s of JSON", scan and scan["megabytes_per_second"], wanted)
    ours = works("transact4", "gramme")
    yield Goal("4. TransactWrite of 4, 64 connections: times Dynoxide", ratio(ours, works("transact4", "dynoxide")), 8)
    yield Goal("4. times DynamoDB Local", ratio(ours, works("transact4", "local")), 20)


def latency_goals(results):
    def p50(**wanted):
        return results.middle("p50", section="latency", **wanted)
    fsync, trip = p50(limit="fsync"), p50(limit="roundtrip")
    put, get = p50(work="put", peer="gramme"), p50(work="get", peer="gramme")
    nginx = p50(peer="nginx")
    yield Goal("5. PutItem's p50 at 1 connection, of an fsync plus a round trip",
               divide(put, fsync + trip if fsync and trip else None), 1.3, True)
    yield Goal("5. GetItem's p50 at 1 connection, of nginx's", divide(get, nginx), 1.3, True)
    yield Goal("6. bulk load of 1 KB items with a GSI: times Dynoxide",
               ratio(results.best(section="big", work="load", peer="gramme"),
                     results.best(section="big", work="load", peer="dynoxide")), 10)
    yield Goal("7. p99 of GetItem while 32 connections write, of that without",
               divide(results.lowest("p99", section="mixed", peer="gramme", writers=32),
                      results.lowest("p99", section="mixed", peer="gramme", writers=0)), 4, True)


def growth_goals(results):
    values = sorted({row["value"] for row in results.find(section="growth", axis="items")})
    for work in ("get", "put", "query10"):
        ends = [results.best(section="growth", axis="items", work=work, value=value)
                for value in (values[0], values[-1])] if len(values) > 1 else [None, None]
        many = f"{values[-1]:,} items" if len(values) > 1 else "many items"
        yield Goal(f"8. CPU of {work} at {many}, of that at 10,000", ratio(ends[1], ends[0], "server_cpu_us"), 1.5, True)
    for work in ("get", "put", "query10"):
        rows = [results.best(section="growth", axis="connections", work=work, value=value)
                for value in (16, 64, 128, 256, 512)]
        costs = [row["server_cpu_us"] for row in rows if row]
        yield Goal(f"8. CPU of {work} from 16 to 512 connections: most, of least",
                   divide(max(costs), min(costs)) if costs else None, 1.25, True)


def start_goals(results):
    start = results.find(section="start", peer="gramme")
    yield Goal("9. idle memory, MiB", start[0]["rest_bytes"] / MIB if start else None, 40, True)
    yield Goal("9. start to first answer, empty, ms", start[0]["start_ms"] if start else None, 30, True)
    restart = results.find(section="growth", axis="restart")
    many = f"{restart[0]['value']:,}" if restart else "20,000,000"
    yield Goal(f"9. start to first answer with {many} items, ms", restart[0]["start_ms"] if restart else None, 300, True)


def agreement_goals(results):
    ours = results.best(section="agreement", generator="gramme")
    wrk = results.best(section="agreement", generator="wrk")
    off = abs(ratio(ours, wrk) - 1) if ours and wrk else None
    yield Goal("the generator: off from what wrk says of the same server", off, 0.1, True)


def security_goals(results):
    def best(mode, peer="gramme"):
        return results.best(section="security", mode=mode, peer=peer)
    signed, unsigned = best("signed"), best("unsigned")
    over = signed["server_cpu_us"] - unsigned["server_cpu_us"] if signed and unsigned else None
    yield Goal("10. signature and policy of a GetItem: us of CPU", over, 8, True)
    yield Goal("10. its requests/s, of those without", ratio(signed, unsigned), 0.7)
    yield Goal("10. GetItem by TLS on kept connections: requests/s, of plain ones", ratio(best("tls"), best("plain")), 0.8)
    limit = ratio(best("tls", "nginx"), best("plain", "nginx"))
    yield Goal("10. that share, of nginx's with the same bytes", divide(ratio(best("tls"), best("plain")), limit), 0.95)
    waits = beside_handshakes(results, "gramme")
    yield Goal("10. p99 of GetItem beside 5,000 handshakes, of that without", waits, 2, True)
    yield Goal("10. that, of nginx's", divide(waits, beside_handshakes(results, "nginx")), 1.1, True)


def beside_handshakes(results, peer):
    """How many times longer the slowest of a hundred requests take while there are handshakes."""
    rows = results.find(section="security", mode="beside handshakes", peer=peer)
    p99 = min((row["latency_us"]["p99"] for row in rows if row["handshakes"] >= 5000), default=None)
    return divide(p99, results.lowest("p99", section="security", mode="alone", peer=peer))


def many_goals(results):
    def of(work, peer, name="requests_per_second"):
        return results.ratio_of_rounds({"section": "many", "work": work, "peer": "many"},
                                       {"section": "many", "work": work, "peer": peer}, name)

    def of_limit(work, limit):
        return results.ratio_of_rounds({"section": "many", "work": work, "peer": "many"},
                                       {"section": "many", "limit": f"libpq {limit}"}, below_name="per_second")
    yield Goal("11. on PostgreSQL: GetItem, 64 connections: requests/s, of a bare libpq loop's", of_limit("get", "get"), 0.5)
    yield Goal("11. PutItem with a GSI, of the same transactions by a bare loop", of_limit("put", "put"), 0.5)
    yield Goal("11. times Dynoxide", of("put", "dynoxide"), 3)
    yield Goal("11. one item updated by 64 clients, of one client on a bare connection", of_limit("update", "hot"), 0.5)
    yield Goal("11. CPU of the server per GetItem, of that on RocksDB", of("get", "gramme", "server_cpu_us"), 2.5, True)


def recovery_goals(results):
    def best(mode):
        return results.best(section="recovery", mode=mode)

    def items(work):
        return max((row["items_per_second"] for row in results.find(section="import", work=work) if not row.get("errors")), default=None)
    yield Goal("12. PutItem with point-in-time recovery: CPU, of that without", ratio(best("on"), best("off"), "server_cpu_us"), 1.3, True)
    yield Goal("12. ImportTable: items/s, of those of a bulk load", divide(items("import"), items("load")), 1)


def all_goals(results):
    for goals in (get_goals, latency_goals, growth_goals, start_goals, security_goals, many_goals, recovery_goals, agreement_goals):
        yield from goals(results)
