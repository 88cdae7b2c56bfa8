"""Every run of a generated forward that breaks the rule is covered by a path of the report.

Generated programs (``programs.py``) are run under every combination of what they ask, and the
iterations that run a layer without collecting are compared with what pathaudit says of the text.
A place reported without any run that realises it is a fault. Each assignment under which a path is
said to break must break it, except where a local that decides is assigned inside a loop (the
executor forgets it), and where a handler or a ``finally`` joins states: there one run suffices.
"""

import ast
import os
import re
from collections import Counter
from collections.abc import Iterator
from itertools import product

from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from pathaudit.results import Finding, PathReport, Report, Verdict
from tests.labels import audit_model
from tests.programs import (
    LOOPS,
    PLAIN,
    RANGES,
    Assign,
    Capture,
    Endless,
    Help,
    If,
    Jump,
    Loop,
    Match,
    Oracle,
    Outcome,
    Program,
    Run,
    Statement,
    Try,
    every_statement,
    render_program,
)

SHARE_OF_UNKNOWN = 0.07
EXAMPLES = {"thorough": 4000, "ci": 150}
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
INDEXES = range(9)
# With more places that can fail than this, one fails at a time.
PAIRED = 8
# "difference with a sum": what it means cannot be told
DIFFERENCE = re.compile(r"\w - \w+ \+ \d")
FORGOTTEN = re.compile(r"\b(mid|w|a|b|[ijmn])\b")

# ---- programs ---------------------------------------------------------------------------------

FLAG_TESTS = (
    "self.f0",
    "not self.f0",
    "self.f1",
    "not self.f1",
    "a",
    "not a",
    "b",
    "self.f0 and not self.f1",
    "not self.f0 and self.f1",
    "self.f0 or self.f1",
    "a or self.f2",
    "a and not b",
    "self.layers_to_capture",
    "not self.layers_to_capture and self.f2",
    "not self.layers_to_capture or self.f2",
    "(a := self.f1)",
    "not (a := self.f3)",
)
INTEGER_TESTS = (
    "self.k < self.end_layer",
    "self.start_layer < self.k < self.end_layer",
    "mid != self.end_layer",
    "mid < self.end_layer",
    "mid == self.k",
    "self.k > mid",
    "self.start_layer + 1 < self.k",
    "self.start_layer in self.layers_to_capture",
    "self.start_layer not in self.layers_to_capture",
    "(w := self.k) < self.end_layer",
    "(w := self.start_layer + 1) < self.k",
    "w < self.k",
    "w == self.start_layer",
)
INDEX_TESTS = ("INDEX < self.k", "INDEX == self.k", "INDEX >= mid", "INDEX != self.start_layer")
INTEGERS = ("self.start_layer", "self.end_layer", "self.k", "mid", "self.start_layer + 1")
CHOICES = ("self.k if self.f0 else self.end_layer", "self.start_layer if a else mid", "w")
FORMS = ("aux.append(hidden)", "aux += [hidden]", "aux.extend([hidden])")
LAYER_LOOPS = tuple(kind for kind in LOOPS if kind not in PLAIN)

plain_tests = st.sampled_from((*FLAG_TESTS, *INTEGER_TESTS))
loop_tests = st.sampled_from((*FLAG_TESTS, *INDEX_TESTS))
flags = st.builds(Assign, st.sampled_from(("a", "b")), st.sampled_from(("True", *FLAG_TESTS[:12])))
bounds = st.builds(Assign, st.just("mid"), st.sampled_from((*INTEGERS, *CHOICES)))
ends = st.sampled_from(INTEGERS)
steps = st.just(Assign("hidden", "hidden + 1"))
captures = st.builds(Capture, st.sampled_from(FORMS), st.booleans())
runs = st.builds(
    Run, st.sampled_from(("", "", "aux", "INDEX in self.layers_to_capture", "self.f2"))
)


def body_of(
    inner: st.SearchStrategy[Statement], most: int
) -> st.SearchStrategy[tuple[Statement, ...]]:
    return st.lists(inner, min_size=1, max_size=most).map(tuple)


def branch_of(
    tests: st.SearchStrategy[str], body: st.SearchStrategy[tuple[Statement, ...]]
) -> st.SearchStrategy[Statement]:
    """An ``if``, one with an ``else``, or one with an ``elif``."""
    other = st.builds(If, tests, body, st.one_of(st.just(()), body)).map(lambda item: (item,))
    return st.builds(If, tests, body, st.one_of(st.just(()), body, other))


def try_of(body: st.SearchStrategy[tuple[Statement, ...]]) -> st.SearchStrategy[Statement]:
    calm = body_of(st.one_of(steps, captures, flags), 1)
    return st.one_of(
        st.builds(Try, body, st.none(), calm),
        st.builds(Try, body.map(lambda item: (*item, Jump("return"))), st.none(), calm),
        st.builds(Try, body, body),
        st.builds(Try, body, body, calm),
    )


def match_of(
    subjects: tuple[str, ...], body: st.SearchStrategy[tuple[Statement, ...]]
) -> st.SearchStrategy[Statement]:
    bodies = st.lists(body, min_size=2, max_size=3).map(tuple)
    return st.builds(Match, st.sampled_from(subjects), bodies)


def plain_loop(body: st.SearchStrategy[tuple[Statement, ...]]) -> st.SearchStrategy[Statement]:
    return st.builds(Loop, st.sampled_from(PLAIN), ends, ends, body)


def guarded_jumps(tests: st.SearchStrategy[str], *kinds: str) -> st.SearchStrategy[Statement]:
    jump = st.builds(Jump, st.sampled_from(kinds)).map(lambda item: (item,))
    return st.builds(If, tests, jump)


jumps = guarded_jumps(loop_tests, "continue", "break", "return", "raise")
simple = st.one_of(runs, captures, runs, captures, jumps, flags, bounds, steps)
small = body_of(simple, 2)
nested = st.one_of(simple, branch_of(loop_tests, small), try_of(small))
deep = st.one_of(
    simple,
    branch_of(loop_tests, body_of(nested, 2)),
    try_of(body_of(nested, 2)),
    plain_loop(small),
    match_of(("mid", "self.k", "INDEX", "w"), small),
)


@st.composite
def layer_loops(draw: st.DrawFn, bounds: tuple[str, ...] = INTEGERS) -> Statement:
    """A loop over layers that runs the layer somewhere."""
    kind = draw(st.sampled_from(LAYER_LOOPS))
    low, high = draw(st.sampled_from(bounds)), draw(st.sampled_from(bounds))
    body = draw(body_of(deep, 3))
    if not any(isinstance(item, Run) for item in every_statement(body)):
        body = (*body, Run())
    orelse = draw(st.one_of(st.just(()), st.just(()), small))
    return Loop(kind, low, high, body, orelse)


early = guarded_jumps(plain_tests, "return", "raise")
settled = st.one_of(flags, bounds, steps, early, branch_of(plain_tests, body_of(flags | bounds, 2)))
helps = st.builds(Help, ends, ends)
parts = body_of(layer_loops() | flags | bounds | helps | runs | captures, 2)
outer_items = st.one_of(
    settled,
    layer_loops(),
    helps,
    captures,
    runs,
    branch_of(plain_tests, parts),
    match_of(("mid", "self.k", "w"), parts),
    try_of(body_of(layer_loops() | flags | early, 2)),
    plain_loop(body_of(layer_loops() | settled, 2)),
)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A forward of a few statements, with a helper where it calls one."""
    body = (*draw(body_of(outer_items, 4)), draw(layer_loops()))
    helper: tuple[Statement, ...] = ()
    if any(isinstance(item, Help) for item in every_statement(body)):
        loop = draw(layer_loops(("low", "high", "self.k", "mid")))
        helper = (*draw(st.lists(settled, max_size=2)), loop)
    return Program(body, helper, draw(st.sampled_from(("none", "given", "own"))))


# ---- the comparison ---------------------------------------------------------------------------


class Case(Struct, frozen=True):
    """One program, what was found in it, and what its runs did."""

    program: Program
    source: str
    report: Report
    outcomes: list[Outcome]


def examine(program: Program) -> Case | None:
    """Audit and run a program; ``None`` where a loop of it does not end."""
    source, probed, faults = render_program(program)
    most = 2 if len(handled(program)) > 1 and faults <= PAIRED else 1
    try:
        outcomes = Oracle(probed, faults, most).outcomes()
    except Endless:
        return None
    return Case(program, source, audit_model("generated", source), outcomes)


def holds(condition: str, names: dict[str, object]) -> bool | None:
    """Whether a condition of the report is true, for some index; ``None``: it asks for more."""
    if condition == "always":
        return True
    if DIFFERENCE.search(condition):
        return None
    tree = ast.parse(condition, mode="eval")
    asked = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - {"len", "layers"}
    free = sorted(asked - set(names))
    if any(isinstance(node, ast.Call) for node in ast.walk(tree)) or set(free) - set("ijmn"):
        return None
    code = compile(tree, "<condition>", "eval")
    return any(
        eval(code, {}, {**names, **dict(zip(free, values, strict=True))})
        for values in product(INDEXES, repeat=len(free))
    )


def names_index(condition: str) -> bool:
    tree = ast.parse(condition, mode="eval")
    return any(isinstance(node, ast.Name) and node.id in "ijmn" for node in ast.walk(tree))


def uncovered(case: Case) -> Iterator[str]:
    """Runs that break the rule where no path of the report says so."""
    for outcome in case.outcomes:
        for violation in outcome.violations:
            if violation.first:
                continue
            here = [item for item in case.report.findings if violation.line == item.line]
            paths = [path for finding in here for path in finding.paths]
            names = outcome.assignment.names()
            if not any(holds(path.condition, names) is not False for path in paths):
                known = [path.condition for path in paths]
                yield f"line {violation.line} breaks for {outcome.assignment}, reported: {known}"


def unrealised(case: Case) -> Iterator[str]:
    """Places and assignments that the report names and no run realises."""
    if joins(case.program):
        return
    loose = forgets(case.program) or caught(case.program)
    for finding in case.report.findings:
        if finding.verdict is not Verdict.VIOLATED or is_imprecise(finding):
            continue
        if not any(breaks(outcome, finding) for outcome in case.outcomes):
            allowed = list(satisfying(case, finding))
            # "raise under a local"; any raise is stepped over where nothing else asks its test
            if any(outcome.raised for outcome in allowed):
                continue
            if not allowed and not is_tried(finding):
                continue
            # A range that is too short has no general iteration.
            if allowed and all(outcome.rounds.get(finding.line, 2) <= 1 for outcome in allowed):
                continue
            yield f"line {finding.line} never breaks, reported: {finding.condition}"
        elif not loose:
            for path in finding.paths:
                yield from unrealised_path(case, finding, path)


def is_tried(finding: Finding) -> bool:
    """Are there runs with the numbers of the witness? None is negative, and ranges are few."""
    values = {item.name: item.value for item in finding.witness}
    pair = (values.get("start_layer"), values.get("end_layer"))
    return min(values.values(), default=0) >= 0 and (None in pair or pair in RANGES)


def is_imprecise(finding: Finding) -> bool:
    """Does a condition name a local that a loop assigns, which the executor forgets?"""
    conditions = " ".join(path.condition for path in finding.paths)
    return bool(FORGOTTEN.search(conditions))


def satisfying(case: Case, finding: Finding) -> Iterator[Outcome]:
    for outcome in case.outcomes:
        names = outcome.assignment.names()
        if any(holds(path.condition, names) is not False for path in finding.paths):
            yield outcome


def handled(program: Program) -> list[Try]:
    """The ``try`` statements with a handler."""
    whole = every_statement((*program.body, *program.helper))
    return [item for item in whole if isinstance(item, Try) and item.handler is not None]


def joins(program: Program) -> bool:
    """More failures than are tried out can be needed for a path through several handlers."""
    _, _, faults = render_program(program)
    handlers = len(handled(program))
    return handlers > 2 or (handlers == 2 and faults > PAIRED)


def caught(program: Program) -> bool:
    """ "caught raise": is an error raised where a handler catches it?"""
    bodies = [item for attempt in handled(program) for item in every_statement(attempt.body)]
    return any(isinstance(item, Jump) and item.kind == "raise" for item in bodies)


def unrealised_path(case: Case, finding: Finding, path: PathReport) -> Iterator[str]:
    """Choices for which a path is reported, and that break the rule wherever something fails."""
    if names_index(path.condition):
        return
    groups: dict[object, list[Outcome]] = {}
    for outcome in case.outcomes:
        # Without a test of it a layer counts as one that was asked for.
        if not outcome.assignment.asked and "not in layers_to_capture" not in path.condition:
            continue
        if holds(path.condition, outcome.assignment.names()) is True:
            groups.setdefault(replace(outcome.assignment, faults=()), []).append(outcome)
    for assignment, group in groups.items():
        # A range that is too short has no general iteration.
        short = any(outcome.rounds.get(finding.line, 2) <= 1 for outcome in group)
        if short or any(outcome.raised for outcome in group):
            continue
        if not any(breaks(outcome, finding) for outcome in group):
            yield (
                f"line {finding.line} does not break for {assignment}, reported: {path.condition}"
            )


def breaks(outcome: Outcome, finding: Finding) -> bool:
    return any(violation.line == finding.line for violation in outcome.violations)


def forgets(program: Program) -> bool:
    """Is a local assigned inside a loop, or does the counter decide how the loop is left?"""
    statements = list(every_statement((*program.body, *program.helper)))
    inside = [
        item for loop in statements if isinstance(loop, Loop) for item in every_statement(loop.body)
    ]
    if any(isinstance(item, Assign) and item.name != "hidden" for item in inside):
        return True
    return any(_asks_index(item) and _jumps(item) for item in inside)


def _asks_index(statement: Statement) -> bool:
    match statement:
        case If(test, _, _):
            return "INDEX" in test
        case Match(subject, _):
            return subject == "INDEX"
        case _:
            return False


def _jumps(statement: Statement) -> bool:
    return any(isinstance(item, Jump) for item in every_statement((statement,)))


def wrong_witnesses(report: Report) -> Iterator[str]:
    """Witness values that do not satisfy what the condition says of integers."""
    for finding in report.findings:
        for path in finding.paths:
            named = [item.name for item in path.witness]
            # "equal to a number"; locals of two loops can be shown under one name
            if len(named) != len(set(named)):
                continue
            values: dict[str, object] = {item.name: item.value for item in path.witness}
            for part in integer_parts(path.condition, set(values)):
                if not eval(compile(part, "<part>", "eval"), {}, values):
                    yield f"{path.witness} does not satisfy {path.condition}"


def integer_parts(condition: str, names: set[str]) -> Iterator[ast.Expression]:
    """The comparisons of known integers in the first alternative of a condition."""
    tree = ast.parse(condition, mode="eval").body
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.Or):
        tree = tree.values[0]
    parts = tree.values if isinstance(tree, ast.BoolOp) else [tree]
    for part in parts:
        asked = {node.id for node in ast.walk(part) if isinstance(node, ast.Name)}
        if isinstance(part, ast.Compare) and asked <= names:
            yield ast.Expression(part)


# ---- the properties ---------------------------------------------------------------------------


def test_reports_agree_with_runs() -> None:
    seen: Counter[str] = Counter()

    @settings(
        max_examples=EXAMPLES.get(PROFILE, EXAMPLES["ci"]),
        deadline=None,
        derandomize=PROFILE != "thorough",
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(programs())
    def check(program: Program) -> None:
        case = examine(program)
        assume(case is not None)
        assert case is not None
        note(case.source)
        found = case.report.findings
        unknown = case.report.summary.unknown or case.report.gaps
        seen["unknown" if unknown else "violated" if found else "holds"] += 1
        note(f"gaps: {case.report.gaps}")
        assert list(uncovered(case))[:3] == [] or case.report.gaps
        assert list(unrealised(case))[:3] == []
        assert list(wrong_witnesses(case.report)) == []

    check()
    assert seen["unknown"] <= SHARE_OF_UNKNOWN * seen.total(), seen
    assert min(seen["violated"], seen["holds"]) >= 0.1 * seen.total(), seen
