"""The matrix of real releases: it agrees with the hand labels wherever they decide a cell."""

import io
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest
from msgspec import Struct
from rich.cells import cell_len

from pathaudit.audit import matrix_of
from pathaudit.check.subjects import find_owners, find_targets
from pathaudit.index import FunctionRef
from pathaudit.reporters.cells import marks_of, summary
from pathaudit.reporters.matrices import render
from pathaudit.results.matrices import Cell, Matrix, Support
from pathaudit.sources import SourceTree, open_source
from pathaudit.work import Work
from tests.labels import shipped_rules
from tests.releases import places, release
from tests.releases.places import NEAR
from tests.releases.score import Row, rows

VERSIONS = [("0.5.6", "0.5.6"), ("0.5.12", "0.5.12"), ("0.5.23", "0.5.23-part")]


@cache
def tree(version: str) -> SourceTree:
    return open_source(str(release(version)), "sglang")


@cache
def matrix(version: str) -> Matrix:
    return matrix_of(tree(version), shipped_rules())


def cell(version: str, name: str, column: str) -> Cell:
    """The only cell of a class."""
    (row,) = [x for x in matrix(version).rows if x.name == name]
    return next(x for x in row.cells if x.column == column)


class Decided(Struct, frozen=True):
    """What labels say of a class: the rows about its forward, or about its split prefill."""

    name: str
    column: str
    rows: tuple[Row, ...]


def decided(version: str, labels: tuple[Row, ...]) -> Iterator[Decided]:
    """The labels by served class, by which methods it leads to; no rule is asked."""
    rules = shipped_rules()
    work = Work(tree(version), rules.profile)
    index = work.index
    methods: dict[tuple[str, str], set[FunctionRef]] = {}
    for owner in find_owners(work):
        reached = index.closure(owner.instance.cls, owner.root)
        methods.setdefault((owner.entry, "capture"), set()).update(reached)
    for ref in find_targets(work):
        found = index.modules.method(ref, rules.profile.matrix.method)
        if found is not None:
            methods.setdefault((ref.name, "prefill"), set()).update(index.closure(ref, found[0]))
    for (name, column), refs in sorted(methods.items()):
        split = [x for x in labels if x.symbol.endswith(f".{rules.profile.matrix.method}")]
        own = split if column == "prefill" else [x for x in labels if x not in split]
        mine = tuple(x for x in own if FunctionRef(x.file, x.symbol) in refs)
        if mine:
            yield Decided(name, column, mine)


def wanted(version: str, item: Decided) -> dict[str, Support]:
    """The answers that labels decide. Without a setter that works there is nothing to decide."""
    capture = cell(version, item.name, "capture")
    if all(x.support in (Support.NONE, Support.BLOCKED) for x in capture.parts):
        return {}
    says = {(row.expected, row.reach) for row in item.rows if row.expected != "either"}
    if item.column == "prefill":
        # The later release can be asked for hidden states without any draft.
        answer = Support.NO if version == "0.5.23" else Support.GATED
        return {"prefill": answer} if says else {}
    answers = {}
    blocked = cell(version, item.name, "overlap").support is Support.BLOCKED
    if ("violated", "reachable") in says:
        answers["capture"] = Support.YES if blocked else Support.NO
    elif ("holds", "reachable") in says:
        answers["capture"] = Support.YES
    if any(row.expected == "violated" and "tbo" in row.when for row in item.rows):
        # Of the classes that share a method, the runner may know the layers of one alone.
        live = ("violated", "reachable") in says and not blocked
        answers["overlap"] = Support.NO if live else Support.BLOCKED
    return answers


def agrees(version: str, found: Cell, answer: Support) -> bool:
    """Is the answer the one wanted, or one that the labels of another rule give?

    What is captured on every path may still be worth nothing: other rules say that.
    """
    told = [x for x in found.parts if x.support is not Support.BLOCKED or answer is x.support]
    if {x.support for x in told} == {answer}:
        return True
    return answer is Support.YES and all(
        any(
            (row.rule, row.expected) == (part.rule, "finding")
            and any(row.file == x.file and abs(row.line - x.line) <= NEAR for x in part.evidence)
            for row in places.rows(version)
        )
        for part in told
        if part.support is not answer
    )


# How many cells the labels of each version decide: a test that decides none proves nothing.
CELLS = {
    "0.5.6": {"capture": 17, "overlap": 6, "prefill": 10},
    "0.5.12": {"capture": 38, "overlap": 10, "prefill": 15},
    "0.5.23": {"capture": 30, "prefill": 9},
}


@pytest.mark.parametrize(("version", "labels"), VERSIONS)
def test_every_cell_that_a_label_decides_agrees(version: str, labels: str) -> None:
    wrong = []
    told: Counter[str] = Counter()
    for item in decided(version, rows(labels)):
        for column, answer in wanted(version, item).items():
            told[column] += 1
            if not agrees(version, cell(version, item.name, column), answer):
                wrong.append((item.name, column, answer))
    assert wrong == []
    assert dict(told) == CELLS[version]


@pytest.mark.parametrize(("version", "labels"), VERSIONS)
def test_what_a_label_calls_broken_is_so_for_some_class(version: str, labels: str) -> None:
    broken = {x.symbol for x in rows(labels) if (x.expected, x.reach) == ("violated", "reachable")}
    seen = {
        row.symbol
        for item in decided(version, rows(labels))
        for row in item.rows
        if cell(version, item.name, "capture").support is Support.NO
    }
    assert broken
    assert broken <= seen


@pytest.mark.parametrize("width", [80, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    out = io.StringIO()
    render(matrix("0.5.23"), out, width=width, verbose=True)
    lines = out.getvalue().splitlines()
    assert len(matrix("0.5.23").rows) > 200
    assert max(map(cell_len, lines)) <= width


@pytest.mark.parametrize("version", [version for version, _ in VERSIONS])
def test_every_answer_has_its_place(version: str) -> None:
    """But for what is not there, or not to be seen."""
    silent = {Support.NONE, Support.UNKNOWN}
    parts = [x for row in matrix(version).rows for item in row.cells for x in item.parts]
    assert [x for x in parts if not x.evidence and x.support not in silent] == []
    lines = {place for part in parts for place in part.evidence}
    assert all(0 < x.line <= tree(version).text(x.file).count("\n") + 1 for x in lines)


# Read in the source of each release, by hand.
READ = [
    ("0.5.6", "DeepseekV3ForCausalLM", "capture", "no E"),
    ("0.5.6", "Glm4MoeForCausalLM", "overlap", "blocked"),
    ("0.5.6", "NemotronHForCausalLM", "stages", "no"),
    ("0.5.12", "Qwen3_5ForConditionalGeneration", "capture", "no E, yes D"),
    ("0.5.12", "ExaoneMoEForCausalLM", "recorder", "no"),
    ("0.5.12", "Gemma3ForCausalLM", "boundary", "yes E"),
    ("0.5.12", "Llama4ForCausalLM", "prefill", "gated DE"),
    ("0.5.23", "Qwen3VLForConditionalGeneration", "capture", "blocked D, yes E"),
    ("0.5.23", "MiMoV2FlashForCausalLM", "overlap", "gated D"),
    ("0.5.23", "MiMoV2ASRForCausalLM", "stages", "no"),
    ("0.5.23", "Dots3NoteForCausalLM", "stages", "yes"),
    ("0.5.23", "NanbeigeForCausalLM", "prefill", "blocked"),
    ("0.5.23", "NemotronHForCausalLM", "boundary", "yes D"),
    ("0.5.23", "BailingMoeV3ForCausalLM", "stages", "no S, yes"),
    ("0.5.23", "MiniCPMV", "capture", "unknown"),
]


@pytest.mark.parametrize(("version", "name", "column", "said"), READ)
def test_answers_that_were_read_in_the_source(
    version: str, name: str, column: str, said: str
) -> None:
    found = cell(version, name, column)
    assert summary(found.parts, marks_of(matrix(version))) == said
