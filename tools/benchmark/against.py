"""Compares Gramme with an earlier revision of itself. That is built in a temporary clone; then both are measured in turn, so that
what disturbs one disturbs the other as well."""

import subprocess

import sections
from peers import ROOT, Gramme, output_of

SLOWER, DEARER = 0.95, 1.05  # of the earlier one; a line is worse only if it is both: times vary more than CPU time


class Earlier(Gramme):
    name = "earlier"

    def __init__(self, directory, revision):
        super().__init__(directory)
        self.revision = output_of("git", "-C", str(ROOT), "rev-parse", "--short", revision)
        self.title = f"Gramme {self.revision}"
        self.clone = directory / "clone"
        self.program = self.clone / "build" / "gramme"

    def build(self):
        print(f"building {self.title}", flush=True)
        for command in (["git", "clone", "--quiet", "--shared", "--no-checkout", ROOT, self.clone],
                        ["git", "-C", self.clone, "checkout", "--quiet", self.revision],
                        ["make", "-C", self.clone, "--quiet", "build"]):
            subprocess.run(command, check=True)

    def version(self):
        return self.revision


def is_revision(text):
    return subprocess.run(["git", "-C", ROOT, "rev-parse", "--quiet", "--verify", f"{text}^{{commit}}"],
                          stdout=subprocess.DEVNULL).returncode == 0


def steps(bench, works):
    """All works, or some: in each round both have their turn, the one that had the second turn first."""
    made = sections.start_steps(bench) + sections.load_steps(bench)
    for work, connections, options, _ in sections.WORKS:
        for number in range(bench.settings.rounds if not works or work in works else 0):
            peers = list(bench.databases.values())[:: -1 if number % 2 else 1]
            made += [bench.step("works", peer, work, *bench.item_set(), "--connections", connections, *options, number=number)
                     for peer in peers]
    return made


def compare(results):
    """Prints a line for each work; whether none is worse than it was."""
    print(f"{'work':<18}{'earlier/s':>12}{'now/s':>12}{'now/earlier':>14}{'CPU now/earlier':>18}")
    worse = []
    for work, *_ in sections.WORKS:
        earlier, now = (results.best(section="works", peer=peer, work=work) for peer in ("earlier", "gramme"))
        if earlier is None or now is None:
            continue
        speed = now["requests_per_second"] / earlier["requests_per_second"]
        cost = now["server_cpu_us"] / earlier["server_cpu_us"]
        if speed < SLOWER and cost > DEARER:
            worse.append(work)
        print(f"{work:<18}{earlier['requests_per_second']:>12,.0f}{now['requests_per_second']:>12,.0f}{speed:>14.2f}{cost:>18.2f}"
              f"{'  WORSE' if work in worse else ''}")
    return not worse
