"""Audits mutated real model files, for a time; what is not an answer is printed with its seed.

    python tests/bench/fuzz.py VERSION [--ask scan|matrix|hooks|reach] [--minutes N] [--seed N]

A mutation cuts, moves, doubles, nests or replaces lines of a model file, so that most results parse
and none means anything. The audit of the classes in that file must end, within the budgets, in a
report: an exception is a fault of ours, and so is a case that takes more than ``SLOW`` seconds.
"""

import argparse
import random
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from pathaudit.audit import audit, hooks_of, matrix_of, reach_of
from pathaudit.errors import UsageError
from pathaudit.index import build_index
from pathaudit.ruleset import Ruleset, load_ruleset, rules_directory
from pathaudit.sources import SourceTree, open_source
from tests.releases import release
from tests.releases.overlay import overlay

SLOW = 20.0

Lines = list[str]
Mutation = Callable[[Lines, random.Random], Lines]

PIECES = (
    "aux_hidden_states = []",
    "aux_hidden_states.append(hidden_states)",
    "hidden_states = self.layers[i](hidden_states)",
    "self.layers = self.layers[1:]",
    "return hidden_states, aux_hidden_states",
    "raise NotImplementedError",
    "continue",
    "break",
    "self = other",
    "hidden_states, residual = residual, hidden_states",
    "del hidden_states",
    "global aux_hidden_states",
    "hidden_states = (yield hidden_states)",
    "x = [layer(x) for layer in self.layers if (y := layer)]",
    "self.layers_to_capture = None",
    "self.forward = lambda *a, **k: self.forward(*a, **k)",
    "start_layer = end_layer = self.start_layer - len(self.layers[-1:][0:])",
)
HEADS = (
    "if self.training:",
    "if i in self.layers_to_capture:",
    "for i in range(self.start_layer, self.end_layer):",
    "for layer in reversed(self.layers):",
    "while hidden_states is not None:",
    "with torch.no_grad() as aux_hidden_states:",
    "try:",
    "def inner(self, *args, layers=None, **kwargs):",
    "class Inner(nn.Module):",
)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _place(lines: Lines, chance: random.Random) -> int:
    return chance.randrange(len(lines))


def cut(lines: Lines, chance: random.Random) -> Lines:
    start = _place(lines, chance)
    return lines[:start] + lines[start + chance.choice((1, 1, 2, 5)) :]


def double(lines: Lines, chance: random.Random) -> Lines:
    start = _place(lines, chance)
    part = lines[start : start + chance.choice((1, 3, 8))]
    return lines[:start] + part * chance.choice((2, 2, 3, 40)) + lines[start:]


def move(lines: Lines, chance: random.Random) -> Lines:
    first, second = _place(lines, chance), _place(lines, chance)
    lines = list(lines)
    lines[first], lines[second] = (
        _indent(lines[first]) + lines[second].lstrip(),
        _indent(lines[second]) + lines[first].lstrip(),
    )
    return lines


def insert(lines: Lines, chance: random.Random) -> Lines:
    place = _place(lines, chance)
    return [*lines[:place], _indent(lines[place]) + chance.choice(PIECES) + "\n", *lines[place:]]


def nest(lines: Lines, chance: random.Random) -> Lines:
    """A line and those below it that are as deep, under one to thirty heads."""
    start = _place(lines, chance)
    margin = _indent(lines[start])
    end = start + 1
    while end < len(lines) and len(_indent(lines[end])) >= len(margin) and lines[end].strip():
        end += 1
    found, after = lines[:start], Lines()
    inner = margin
    for depth in range(chance.choice((1, 1, 2, 30))):
        head = chance.choice(HEADS)
        found.append(f"{margin}{'  ' * depth}{head}\n")
        if head == "try:":
            after.insert(0, f"{margin}{'  ' * depth}except ValueError: pass\n")
        inner = "  " * (depth + 1)
    return [*found, *(f"{inner}{line}" for line in lines[start:end]), *after, *lines[end:]]


def rename(lines: Lines, chance: random.Random) -> Lines:
    words = sorted({word for line in lines for word in line.split() if word.isidentifier()})
    old, new = chance.choice(words), chance.choice(words)
    return [line.replace(old, new) for line in lines]


MUTATIONS: tuple[Mutation, ...] = (cut, double, move, insert, insert, nest, nest, rename)


def mutated(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    for _ in range(chance.choice((1, 2, 4, 8))):
        lines = chance.choice(MUTATIONS)(lines, chance) or ["\n"]
    return "".join(lines)


def served_files(tree: SourceTree, rules: Ruleset) -> list[tuple[str, str]]:
    """Model files with the name of a class that they serve."""
    index = build_index(tree, rules.profile)
    served = [(file, index.served(file)) for file in index.model_files]
    return [(file, classes[0].name) for file, classes in served if classes]


def around(tree: SourceTree, models: frozenset[str], file: str) -> SourceTree:
    """The tree without the model files that one does not lead to, which are no part of a case."""
    near, pending = {file}, [file]
    while pending:
        text = tree.read(pending.pop())
        named = (path for path in models - near if Path(path).stem.encode() in text)
        fresh = set(named)
        near |= fresh
        pending += fresh
    kept = tuple(path for path in tree.paths if path in near or path not in models)
    return overlay(tree, {}, kept)


@dataclass(frozen=True)
class Case:
    """A mutated file of a tree, a class that it served, and a line of it."""

    tree: SourceTree
    rules: Ruleset
    file: str
    entry: str
    line: int


ASK: dict[str, Callable[[Case], object]] = {
    "scan": lambda case: audit(case.tree, case.rules, entry=case.entry),
    "matrix": lambda case: matrix_of(case.tree, case.rules, entry=case.entry),
    "hooks": lambda case: hooks_of(case.tree, case.rules, entry=case.entry),
    "reach": lambda case: reach_of(
        case.tree, case.rules, f"{case.file}:{case.line}", entry=case.entry
    ),
}


def one_case(
    tree: SourceTree, rules: Ruleset, file: str, entry: str, seed: int, ask: str = "scan"
) -> str:
    """What went wrong with one mutation; nothing if it was answered."""
    chance = random.Random(seed)
    text = mutated(tree.text(file), chance)
    line = chance.randrange(text.count("\n") + 1) + 1
    started = time.process_time()  # others may be at work on this machine
    try:
        ASK[ask](Case(overlay(tree, {file: text}), rules, file, entry, line))
    except UsageError:
        return ""
    except Exception:  # noqa: BLE001 - whatever it is, it is what we look for
        return f"{file} {entry} seed {seed}\n{traceback.format_exc()}\n"
    seconds = time.process_time() - started
    return f"{file} {entry} seed {seed}: {seconds:.1f} s\n" if seconds > SLOW else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    parser.add_argument("--ask", choices=ASK, default="scan")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rules = load_ruleset(rules_directory() / "sglang")
    tree = open_source(str(release(given.version)), "sglang")
    files = served_files(tree, rules)
    models = frozenset(build_index(tree, rules.profile).model_files)
    trees: dict[str, SourceTree] = {}
    until = time.monotonic() + 60 * given.minutes
    count = faults = 0
    while time.monotonic() < until:
        seed = given.seed + count
        file, entry = random.Random(seed).choice(files)
        if file not in trees:
            trees[file] = around(tree, models, file)
        found = one_case(trees[file], rules, file, entry, seed, given.ask)
        count += 1
        faults += bool(found)
        sys.stdout.write(found)
        sys.stdout.flush()
    sys.stdout.write(f"{count} cases, {faults} faults\n")


if __name__ == "__main__":
    main()
