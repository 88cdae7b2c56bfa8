"""The null baseline: `ast` and regular expressions, no paths, no conditions, no values.

In a class whose source names `layers_to_capture` it reports each call that receives `self.layers`
or a slice of it without an argument that speaks of a capture, and each loop over layers that calls
one and whose source does not name `layers_to_capture`. What an afternoon buys:

    python tests/bench/null.py FILE...

It finds the known bypasses of SGLang 0.5.6 (deepseek_v2.py:3301, qwen2_moe.py:590) and of 0.5.12
(deepseek_v2.py:2296, qwen2_moe.py:806), and two more in each that cannot run. Of the 93 variants
in `tests/variants/cases` it gets 47 wrong: it misses 24 of the 44 faulty ones and reports 23 of the
49 correct ones.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

CAPTURES = re.compile(r"captur|aux")
ASKED_FOR = re.compile(r"layers?_to_capture")
STACK = re.compile(r"\bself\.layers\b")
STACK_ARGUMENT = re.compile(r"(\w+=)?self\.layers(\[[^\]]*:[^\]]*\])?")
LAYER_CALL = re.compile(r"\blayer\(|\bself\.layers\[[^\]]*\]\(")
READERS = re.compile(r"enumerate|getattr|hasattr|isinstance|islice|iter|len|list|range|setattr|zip")


def find(source: str) -> list[int]:
    """Return the lines that look like a skipped capture."""
    lines = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and ASKED_FOR.search(ast.unparse(node)):
            lines |= {*handoffs(node), *bare_loops(node)}
    return sorted(lines)


def handoffs(owner: ast.ClassDef) -> Iterator[int]:
    """Yield the lines of calls that receive layers and nothing that speaks of a capture."""
    for call in ast.walk(owner):
        if not isinstance(call, ast.Call) or READERS.fullmatch(ast.unparse(call.func)):
            continue
        arguments = [ast.unparse(argument) for argument in (*call.args, *call.keywords)]
        given = any(STACK_ARGUMENT.fullmatch(argument) for argument in arguments)
        if given and not any(CAPTURES.search(argument) for argument in arguments):
            yield call.lineno


def bare_loops(owner: ast.ClassDef) -> Iterator[int]:
    """Yield the lines of loops that call a layer and do not name what is asked for."""
    for loop in ast.walk(owner):
        if isinstance(loop, ast.For | ast.While):
            text = ast.unparse(loop)
            runs = STACK.search(text) and LAYER_CALL.search(text)
            if runs and not ASKED_FOR.search(text):
                yield loop.lineno


def main(names: list[str]) -> None:
    """Print a line a finding."""
    for name in names:
        for line in find(Path(name).read_text(encoding="utf-8-sig")):
            sys.stdout.write(f"{name}:{line}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
