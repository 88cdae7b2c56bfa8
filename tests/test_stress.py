"""Hard shapes: an answer, or *unknown* with a gap that names the budget; never a crash."""

from textwrap import indent

import pytest

from pathaudit.results import Verdict
from tests.test_paths import BARE, KEEP, RANGE, RUN, SLICE, audit_body, loop


def independent_ifs(count: int) -> str:
    """``if``s in a row, each of which sets a local of its own."""
    return "\n".join(f"if self.g{n}:\n    x{n} = 1\nelse:\n    x{n} = 2" for n in range(count))


def used_ifs(count: int) -> str:
    """Locals that all decide what runs: the states cannot be merged."""
    parts = [f"x{n} = True\nif self.g{n}:\n    x{n} = False" for n in range(count)]
    every = " and ".join(f"x{n}" for n in range(count))
    return "\n".join(parts) + f"\nif {every}:\n" + indent(BARE.strip(), "    ")


def nested_ifs(levels: int, body: str) -> str:
    for n in reversed(range(levels)):
        body = f"if self.g{n}:\n{indent(body, '    ')}\nelse:\n    hidden = hidden + {n}"
    return body


def optional_events(count: int) -> str:
    """Captures in a row before each layer, each under its own flag."""
    return loop(
        RANGE,
        *(line for n in range(count) for line in (f"if self.g{n}:", f"    {KEEP}")),
        RUN,
    )


def optional_runs(count: int) -> str:
    return "\n".join(f"if self.g{n}:\n    hidden = self.layers[{n}](hidden)" for n in range(count))


def long_body(lines: int) -> str:
    return "\n".join(f"y{n % 97} = hidden + {n}" for n in range(lines)) + BARE


def long_chain(lines: int) -> str:
    """A long function whose tests all matter to the loop at its end."""
    return "\n".join(f"if self.g{n}:\n    raise ValueError" for n in range(lines // 2)) + BARE


def nested_lambdas(levels: int) -> str:
    return "(lambda: " * levels + "hidden" + ")" * levels


INNER = loop("for _ in range(self.rounds):", *loop(SLICE, "hidden = layer(hidden)").splitlines())
DEEP_LOOPS = loop(
    "for a in range(2):",
    *loop(
        "for b in range(3):",
        *loop("for c in range(4):", *BARE.strip().splitlines()).splitlines(),
    ).splitlines(),
)

VIOLATED, HOLDS = "violated", "holds"
SHAPES: dict[str, tuple[str, str, str]] = {
    "forty ifs": (independent_ifs(40) + BARE, VIOLATED, "always"),
    "forty ifs in the loop": (
        loop(RANGE, *independent_ifs(40).splitlines(), RUN),
        VIOLATED,
        "always",
    ),
    "twenty levels": (
        nested_ifs(20, BARE.strip()),
        VIOLATED,
        " and ".join(sorted(f"g{n}" for n in range(20))),
    ),
    "twenty levels, all keep": (nested_ifs(20, loop(RANGE, KEEP, RUN)), HOLDS, ""),
    "loop in a loop in a try": (
        f"try:\n{indent(INNER, '    ')}\nexcept ValueError:\n    pass",
        VIOLATED,
        "",
    ),
    "loops four deep": (DEEP_LOOPS, VIOLATED, "always"),
    "twelve optional captures": (
        optional_events(12),
        VIOLATED,
        " and ".join(sorted((f"not g{n}" for n in range(12)), key=lambda item: item[4:])),
    ),
    "twelve optional runs": (optional_runs(12), "", ""),
    "six optional runs, the last one kept": (optional_runs(6) + f"\n{KEEP}", VIOLATED, ""),
    "20,000 lines": (long_body(20_000), VIOLATED, "always"),
    "2,000 tests": (long_chain(4_000), VIOLATED, "always"),
    "a long sum": (f"hidden = {' + '.join(['hidden'] * 900)}{BARE}", "", ""),
    "a long test": (
        f"if {' or '.join(f'self.g{n}' for n in range(300))}:\n    return hidden, aux{BARE}",
        VIOLATED,
        "",
    ),
    "sixty lambdas in each other": (f"f = {nested_lambdas(60)}{BARE}", VIOLATED, "always"),
    "forty locals that decide": (used_ifs(40), "", ""),
    "ten locals that decide": (used_ifs(10), "", ""),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shape(name: str) -> None:
    body, verdict, condition = SHAPES[name]
    report = audit_body(body)
    (entry,) = report.entries
    if not verdict:
        # Whatever the answer is: it is not "holds", and unknown says why.
        assert entry.verdict is not Verdict.HOLDS
        assert entry.verdict is Verdict.VIOLATED or [gap.kind for gap in report.gaps] == ["budget"]
        return
    assert (entry.verdict, report.gaps) == (verdict, ())
    if condition:
        assert {item.condition for item in report.findings} == {condition}
