"""How surely the call sites between the entries of a release and their layers are resolved.

    python tests/bench/resolutions.py [VERSION ...]

Counted are the call sites of every function that the call graphs of all served classes reach, and
among them those that hand on layers or an accumulator: what a rule cannot follow without.
"""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from pathaudit.callgraph import CallGraph
from pathaudit.check import find_entries
from pathaudit.errors import UsageError
from pathaudit.graph.entry import find_entry
from pathaudit.paths import ask
from pathaudit.ruleset import load_ruleset, rules_directory
from pathaudit.sources import open_source
from pathaudit.work import Work
from tests.releases import release

KINDS = ("exact", "hierarchy", "external", "unknown")


def count(version: str) -> tuple[Counter[str], Counter[str]]:
    """Call sites by resolution, all and those that hand something on; shared functions again."""
    rules = load_ruleset(rules_directory() / "sglang")
    work = Work(open_source(str(release(version)), "sglang"), rules.profile)
    index = work.index
    everything: Counter[str] = Counter()
    carrying: Counter[str] = Counter()
    for name in sorted({ref.name for ref in find_entries(work)}):
        try:
            entry = find_entry(work, name, "")
        except UsageError:
            continue  # no method of it that can be found
        question = ask(index.profile, "captures", (), entry.writes, entry.stacks)
        builder = CallGraph(index, question)
        builder.add_entry(entry.instance, entry.method)
        everything += builder.resolutions
        carrying += builder.carrying
    return everything, carrying


def main(versions: list[str]) -> None:
    sys.stdout.write(f"{'release':>10}{'':12}" + "".join(f"{kind:>11}" for kind in KINDS) + "\n")
    for version in versions:
        for title, counter in zip(("all", "carrying"), count(version), strict=True):
            row = "".join(f"{counter[kind]:11,}" for kind in KINDS)
            share = counter["unknown"] / max(1, counter.total())
            sys.stdout.write(f"{version:>10}{title:>12}{row}   {share:.1%} unknown\n")


if __name__ == "__main__":
    main(sys.argv[1:] or ["0.5.23"])
