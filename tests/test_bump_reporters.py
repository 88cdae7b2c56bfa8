"""What a change of dependencies brings, told in each form; golden files from one report.

``PATHAUDIT_UPDATE_GOLDEN=1 pytest tests/test_bump_reporters.py`` writes them anew.
"""

import io
import json
from functools import cache

import jsonschema
import msgspec
import pytest

from pathaudit.bump import Sought, Target, compare_pins
from pathaudit.bump.versions import Judging, audit_versions
from pathaudit.cli.excerpts import excerpts
from pathaudit.errors import SourceError
from pathaudit.reporters import bump_github, bump_markdown, bumps, sarif
from pathaudit.reporters import json as json_reporter
from pathaudit.reporters.fitting import LIMIT
from pathaudit.reporters.pinned import as_report
from pathaudit.results import Severity
from pathaudit.results.bumps import BumpReport, brings_failure
from pathaudit.sources import SourceTree, from_text
from pathaudit.sources.repository import files_of_texts
from tests.labels import capture_rules
from tests.test_formats import VALIDATOR
from tests.test_reporters import compare_golden
from tests.versions import GUARD, LOWER, MODEL, NO_SETTER, replaced, tree_of

SGLANG = Sought("sglang", ("github.com/sgl-project/sglang",), ("lmsysorg/sglang",))
TREES = {
    "sglang==0.5.6": msgspec.structs.replace(tree_of(GUARD, LOWER), version="0.5.6"),
    "sglang==0.5.9": msgspec.structs.replace(tree_of(), version="0.5.9"),
}
USUAL = Judging()

BEFORE = {
    "requirements.txt": "sglang==0.5.6",
    "old/requirements.txt": "sglang==0.5.6",
    "Dockerfile": "FROM lmsysorg/sglang:v0.5.6",
    "draft/Dockerfile": "FROM lmsysorg/sglang:latest",
}
AFTER = {
    "requirements.txt": "sglang[all]==0.5.9",
    "Dockerfile": "FROM lmsysorg/sglang:v0.5.6-cu126",
    "draft/Dockerfile": "FROM lmsysorg/sglang:v0.5.9",
    "new/requirements.txt": "sglang==0.5.10",
    "broken/requirements.txt": "sglang === == 3",
}


FIRST = ({"requirements.txt": "sglang==0.5.6"}, {"requirements.txt": "sglang==0.5.9"})


def open_tree(target: Target) -> SourceTree:
    if target.tree not in TREES:
        hint = "--offline uses what is kept"
        raise SourceError(f"{target.tree}: the package index cannot be reached", hint)
    return msgspec.structs.replace(TREES[target.tree], label=target.tree)


def judged(before: dict[str, str], after: dict[str, str], judging: Judging = USUAL) -> BumpReport:
    found = compare_pins(files_of_texts(before), files_of_texts(after), SGLANG, lambda _: "0.5.9")
    outcome = audit_versions(found, capture_rules(), open_tree, judging=judging)
    return BumpReport(
        tool="pathaudit 0",
        package="sglang",
        base="HEAD",
        head="the work tree",
        pins=found.pins,
        rules=("skipped-aux-capture",),
        changes=found.changes,
        disagreements=found.disagreements,
        comparisons=outcome.comparisons,
        arrivals=outcome.arrivals,
        unfetched=outcome.unfetched,
        gaps=found.gaps,
    )


@cache
def sample() -> BumpReport:
    return judged(BEFORE, AFTER)


def as_text(report: BumpReport, width: int = 80, *, color: bool = False) -> str:
    out = io.StringIO()
    wanted = bumps.lines_wanted(report)
    shown = {name: excerpts(TREES[name], lines) for name, lines in wanted.items()}
    bumps.render(report, out, excerpts=shown, width=width, color=color, seconds=0.1)
    return out.getvalue()


def as_markdown(report: BumpReport, limit: int = LIMIT) -> str:
    out = io.StringIO()
    bump_markdown.render(report, out, limit=limit)
    return out.getvalue()


def test_text() -> None:
    compare_golden("bump.txt", as_text(sample()))


def test_markdown() -> None:
    compare_golden("bump.md", as_markdown(sample()))


def as_github(report: BumpReport) -> str:
    out = io.StringIO()
    bump_github.render(report, out)
    return out.getvalue()


def test_annotations_stand_at_the_pins() -> None:
    compare_golden("bump.github", as_github(sample()))


def test_sarif_stands_at_the_pins() -> None:
    out = io.StringIO()
    sarif.render(as_report(sample()), out, command="bump")
    written = json.loads(out.getvalue())
    VALIDATOR.validate(written)
    (run,) = written["runs"]
    (result,) = run["results"]
    physical = result["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == "requirements.txt"
    assert physical["region"]["startLine"] == 1
    assert f"({MODEL}:49 of sglang==0.5.9; in 0.5.6 at {MODEL}:52)" in result["message"]["text"]
    assert run["automationDetails"]["id"] == "pathaudit/bump/"
    notes = [x["descriptor"]["id"] for x in run["invocations"][0]["toolExecutionNotifications"]]
    assert sorted(set(notes)) == ["file", "pin"]


def test_json_keeps_to_its_schema() -> None:
    out = io.StringIO()
    json_reporter.render(sample(), out)
    written = json.loads(out.getvalue())
    jsonschema.validate(written, json_reporter.schema(BumpReport))
    assert next(iter(written)) == "schema"
    assert written["comparisons"][0]["regressions"][0]["old_file"] == MODEL


def test_no_line_is_wider_than_the_page() -> None:
    for width in (60, 80, 120):
        assert max(map(len, as_text(sample(), width).splitlines())) <= width


def test_the_last_definition_of_a_name_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    head = "class OverlappedModel(nn.Module)"
    again = replaced(head, f"{head}:\n    def forward(self):\n        pass\n\n\n{head}", MODEL)
    old = msgspec.structs.replace(tree_of(GUARD, again), version="0.5.6")
    monkeypatch.setitem(TREES, "sglang==0.5.6", old)
    (comparison,) = judged(*FIRST).comparisons
    (regression,) = comparison.regressions
    line = next(x for x in regression.lines if x.mark)
    assert (line.old, regression.old_line) == (54, 54)
    assert "run_overlapped(" in line.text


# ---- exit status --------------------------------------------------------------------------------

FAILING = [
    pytest.param({"requirements.txt": "sglang==0.5.6"}, "0.5.9", Judging(), True, id="worse"),
    pytest.param({"requirements.txt": "sglang==0.5.9"}, "0.5.6", Judging(), False, id="better"),
    pytest.param({}, "0.5.9", Judging(), True, id="the first pin, of a version that fails"),
    pytest.param({}, "0.5.6", Judging(), False, id="the first pin, of one that does not"),
    pytest.param(
        {"requirements.txt": "sglang==0.5.6"}, "0.5.9", Judging(None), False, id="never fails"
    ),
    pytest.param(
        {"requirements.txt": "sglang @ https://x.example/y"},
        "0.5.9",
        Judging(Severity.NOTE),
        False,
        id="what was before is not known",
    ),
    pytest.param(
        {"requirements.txt": "sglang==0.5.8"}, "0.5.9", Judging(), False, id="the old is missing"
    ),
]


@pytest.mark.parametrize(("before", "version", "judging", "expected"), FAILING)
def test_what_fails(before: dict[str, str], version: str, judging: Judging, expected: bool) -> None:
    report = judged(before, {"requirements.txt": f"sglang=={version}"}, judging)
    assert brings_failure(report) is expected


def test_what_could_not_be_had_is_said_last() -> None:
    report = judged({"requirements.txt": "sglang==0.5.6"}, {"requirements.txt": "sglang==0.5.10"})
    *_, last = as_text(report).rstrip().split("\n\n")
    text = " ".join(as_text(report).split())
    assert (
        "NOT AUDITED, because it could not be had: 1 for requirements.txt:1: sglang==0.5.10" in text
    )
    assert last.startswith("Not everything was audited")


def test_a_version_with_nothing_to_audit_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = from_text({"sglang/version.py": ""}, version="0.5.9")
    monkeypatch.setitem(TREES, "sglang==0.5.9", empty)
    (missing,) = judged(*FIRST).unfetched
    assert "no served model was found" in missing.reason


def test_a_rule_with_nothing_left_to_look_at_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TREES, "sglang==0.5.9", tree_of(NO_SETTER))
    report = judged(*FIRST)
    (comparison,) = report.comparisons
    assert "skipped-aux-capture" in comparison.inert
    told = "What these rules rely on is gone from"
    for text in (as_text(report), as_markdown(report), as_github(report)):
        assert told in text
        assert "skipped-aux-capture" in text.partition(told)[2]
    assert as_text(sample()).count(told) == 0


# ---- sizes, and hostile text --------------------------------------------------------------------


def test_markdown_fits_and_says_what_is_left_out() -> None:
    whole = as_markdown(sample())
    for limit in (2_000, 3_000, len(whole) - 1):
        text = as_markdown(sample(), limit)
        assert len(text.encode()) <= limit
        assert text.startswith("<!-- pathaudit-bump -->\n### ")
        assert "left out, to fit into a comment" in text
    assert "left out" not in whole


HOSTILE = "x\x1b[31m\n::error::`|<script>@all\u202e"


def test_hostile_names_are_shown_and_not_obeyed() -> None:
    file = f"{HOSTILE}/requirements.txt"
    marker = "sglang==0.5.9 ; os_name == '<b>`|@all'"
    report = judged({file: "sglang==0.5.6"}, {file: marker, "a/requirements.txt": "sglang==0.5.6"})
    told = as_github(report)
    assert {line.partition(" ")[0] for line in told.splitlines()} <= {
        "::error",
        "::warning",
        "pathaudit:",
    }
    for text in (as_text(report), as_markdown(report)):
        assert not {"\x1b", "\u202e", "\r"} & set(text)
        assert not any(line.startswith("::") for line in text.splitlines())
    assert "<script>" not in _outside_code(as_markdown(report))
    assert "@all" not in _outside_code(as_markdown(report))


def _outside_code(text: str) -> str:
    """Markdown without its code spans: each of a fence of its own."""
    return "".join(text.split("``")[::2]) if "``" in text else text
