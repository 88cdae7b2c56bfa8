"""Reports for other programs: SARIF, workflow commands, JUnit XML, Markdown for a comment.

The golden files hold the report of ``test_reporters``. After a change that is meant, run
``PATHAUDIT_UPDATE_GOLDEN=1 pytest tests/test_formats.py`` and read the difference.
"""

import gzip
import io
import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree

import jsonschema
import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from pathaudit.cli import main
from pathaudit.reporters import comment, github, junit, sarif
from pathaudit.reporters.escaping import visible
from pathaudit.reporters.fitting import LIMIT
from pathaudit.reporters.markdown_text import cell, code, escaped, in_html, with_code
from pathaudit.reporters.sarif_model import Location, Log, Result, Run
from pathaudit.results import BaselineUse, Finding, Known, Reach, Report, Severity, Source, Verdict
from pathaudit.results.rules import RuleDoc
from tests.commands import Command, obeyed
from tests.releases import release
from tests.test_reporters import (
    DEEPSEEK,
    FIX,
    MODELS,
    WHY,
    canonical,
    compare_golden,
    entry,
    finding,
    gaps,
    report,
    sample,
    step,
)

SCHEMA = json.loads((Path(__file__).parent / "schemas" / "sarif-2.1.0.json").read_text())
VALIDATOR = jsonschema.Draft4Validator(SCHEMA)
DOCS = (
    RuleDoc(
        id="skipped-aux-capture",
        title="layers run without aux capture",
        severity=Severity.ERROR,
        why=WHY,
        fix=FIX,
        page="# skipped-aux-capture\n\n```python\ncapture({})\n```\n",
    ),
    RuleDoc(
        id="silent-rule", title="found nothing", severity=Severity.WARNING, why="Why.", fix="Fix."
    ),
)


def below(path: str) -> str:
    return f"python/{path}"


def rendered(render: Callable[..., None], answer: Report, **options: object) -> str:
    out = io.StringIO()
    render(answer, out, **options)
    return out.getvalue()


def with_baseline() -> Report:
    """The sample, of which one finding is known and one is worse than it was."""
    findings = sample().findings
    first, *others = (
        msgspec.structs.replace(x, fingerprint=f"{n:016x}") for n, x in enumerate(findings)
    )
    known = msgspec.structs.replace(others[0], suppressed="we serve it elsewhere")
    gone = Known(
        rule="skipped-aux-capture",
        file=DEEPSEEK,
        symbol="Gone.forward",
        severity=Severity.ERROR,
        message="layers run without aux capture",
        fingerprint="f" * 16,
    )
    use = BaselineUse(
        file="known.yaml",
        accepted=(known.fingerprint,),
        worse=(first.fingerprint,),
        unused=(gone,),
    )
    return msgspec.structs.replace(sample(), findings=(first, known, *others[1:]), baseline=use)


# ---- golden files -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "render", "options"),
    [
        pytest.param("report.sarif", sarif.render, {"docs": DOCS}, id="sarif"),
        pytest.param("report.github.txt", github.render, {}, id="github"),
        pytest.param("report.junit.xml", junit.render, {}, id="junit"),
        pytest.param("report.md", comment.render, {}, id="markdown"),
    ],
)
def test_formats_are_as_agreed(
    name: str, render: Callable[..., None], options: dict[str, object]
) -> None:
    compare_golden(name, rendered(render, sample(), locate=below, **options))


# ---- SARIF --------------------------------------------------------------------------------------


def run_of(answer: Report, **options: object) -> Run:
    """The run of a report in SARIF, which follows the schema."""
    return valid(rendered(sarif.render, answer, **options))


def valid(text: str) -> Run:
    assert [error.message for error in VALIDATOR.iter_errors(json.loads(text))] == []
    (run,) = msgspec.json.decode(text, type=Log).runs
    return run


def result_of(changed: Finding, **options: object) -> Result:
    (result,) = run_of(report([changed]), **options).results
    return result


def place_of(location: Location) -> tuple[str, tuple[int | None, ...]]:
    place = location.physical_location
    region = place.region
    assert region is not None
    numbers = (region.start_line, region.start_column, region.end_line, region.end_column)
    return place.artifact_location.uri, numbers


def test_the_schema_is_looked_at() -> None:
    document = json.loads(rendered(sarif.render, sample()))
    document["runs"][0]["results"][0]["kind"] = "bad"
    assert not VALIDATOR.is_valid(document)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, ("fail", "error"), id="error"),
        pytest.param({"severity": Severity.WARNING}, ("fail", "warning"), id="warning"),
        pytest.param({"severity": Severity.NOTE}, ("fail", "note"), id="note"),
        # The standard allows no level for what is no failure.
        pytest.param({"verdict": Verdict.UNKNOWN}, ("open", "none"), id="unknown"),
    ],
)
def test_kinds_and_levels(changes: dict[str, object], expected: tuple[str, str]) -> None:
    result = result_of(finding(**changes))
    assert expected == (result.kind, result.level)


def test_places_count_from_one() -> None:
    changes = {"line": 7, "column": 0, "end_line": 8, "end_column": 4}
    (location,) = result_of(finding(**changes), locate=below).locations
    assert place_of(location) == (f"python/{MODELS}/opt.py", (7, 1, 8, 5))
    assert location.logical_locations[0].fully_qualified_name == "OPTModel.forward"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("a b/c#d.py", id="space and number sign"),
        pytest.param("c:/d?e%41.py", id="colon, question mark and percent"),
        pytest.param("é/層.py", id="other scripts"),
        pytest.param("a\nb/\udcff\ud800.py", id="undecodable"),
    ],
)
def test_paths_are_uris(path: str) -> None:
    uri, _ = place_of(result_of(finding(file=path)).locations[0])
    assert re.fullmatch(r"[A-Za-z0-9/._~%-]+", uri)
    assert ":" not in uri.partition("/")[0]
    shown = unquote_to_bytes(uri)
    assert shown == path.encode("utf-8", "surrogatepass" if "\ud800" in path else "strict")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("gets {'a': 1}", "gets {{'a': 1}}.", id="braces stand for arguments"),
        pytest.param("self.layers[i](x) runs", "self.layers[i] (x) runs.", id="no link"),
        pytest.param("layers [a, b) run", "layers [a, b) run.", id="a range"),
        pytest.param("a\x1b[1m\u202e", "a\\x1b[1m\\u202e.", id="control characters"),
    ],
)
def test_messages_say_a_text_literally(text: str, expected: str) -> None:
    assert result_of(finding(message=text, condition="")).message.text == expected


@pytest.mark.parametrize(
    ("proof", "expected"),
    [
        pytest.param("raises E at a.py:3", ": raises E at a.py:3.", id="what it raises"),
        pytest.param("No setter sets it.", ": No setter sets it.", id="a sentence"),
        pytest.param("", ".", id="nothing"),
    ],
)
def test_a_path_that_cannot_run_says_why(proof: str, expected: str) -> None:
    path = msgspec.structs.replace(canonical().paths[0], proof=proof)
    changed = finding(message="m", reach=Reach.BLOCKED, paths=(path,))
    assert result_of(changed).message.text == f"m. This path is blocked{expected} Always."


def test_a_condition_that_is_too_long_to_compare_is_left_out() -> None:
    (near,) = canonical().siblings
    far = msgspec.structs.replace(near, condition="x" * 161)
    texts = [
        x.message.text
        for x in result_of(finding(siblings=(near, far))).related_locations
        if x.message
    ]
    assert texts == [
        "captures in its loop, when not forward_batch.can_run_tbo",
        "captures in its loop",
    ]


def test_a_path_is_a_code_flow() -> None:
    result = result_of(canonical())
    first, second = result.code_flows
    steps = first.thread_flows[0].locations
    assert [x.location.message.text for x in steps if x.location.message][:3] == [
        "forward_batch.can_run_tbo: taken",
        "first_k_dense_replace: taken",
        "runs [start_layer, first_k_dense_replace)",
    ]
    assert steps[0].kinds == ("branch", "true")
    assert [x.importance for x in steps] == ["essential"] * 2 + ["important", "essential"] + [
        "important"
    ] * 2
    assert second.message is not None
    assert second.message.text.endswith("first_k_dense_replace < start_layer")
    blocked = msgspec.structs.replace(
        canonical().paths[1], reach=Reach.BLOCKED, proof="raises ValueError at a.py:3"
    )
    (flow,) = result_of(finding(paths=(blocked,))).code_flows
    assert flow.message is not None
    assert flow.message.text.endswith("start_layer; blocked; raises ValueError at a.py:3")
    (sibling,) = result.related_locations
    assert (sibling.id, place_of(sibling)[1][0]) == (1, 3286)


def test_a_long_path_keeps_its_end_and_its_branches() -> None:
    calls = [step(line, (0, 1), "call", "calls") for line in range(1, 41)]
    branches = [step(line, (0, 1), "branch", "", taken=False) for line in (3, 5)]
    steps = (*calls[:2], branches[0], calls[3], branches[1], *calls[5:])
    (flow,) = result_of(finding(steps=steps)).code_flows
    shown = [place_of(x.location)[1][0] for x in flow.thread_flows[0].locations]
    assert shown == [3, 5, *range(23, 41)]
    assert flow.message is not None
    assert flow.message.text == "always; 20 steps left out"


def test_a_baseline_is_told() -> None:
    run = run_of(with_baseline())
    first, known, *others = run.results
    assert (first.baseline_state, known.baseline_state) == ("updated", "unchanged")
    assert {x.baseline_state for x in others[:-1]} == {"new"}
    assert first.suppressions == ()
    assert known.suppressions is not None
    assert [(x.kind, x.justification) for x in known.suppressions] == [
        ("external", "we serve it elsewhere")
    ]
    (comment_,) = run.results[-1].suppressions or ()
    assert (comment_.kind, comment_.status) == ("inSource", "accepted")
    notes = run.invocations[0].tool_execution_notifications
    assert [x.descriptor.id for x in notes] == ["file", "budget", "baseline"]
    assert {x.baseline_state for x in run_of(sample()).results} == {""}


def test_rules_are_there_whether_they_found_something_or_not() -> None:
    driver = run_of(sample(), docs=DOCS).tool.driver
    assert [rule.id for rule in driver.rules] == ["silent-rule", "skipped-aux-capture"]
    told = driver.rules[1]
    assert told.name == "SkippedAuxCapture"
    assert told.help is not None
    assert told.help.text.startswith("The draft model is fed the hidden states")
    assert told.help.markdown.splitlines()[3] == "capture({{}})"
    unknown = run_of(report([finding(rule="own-rule")]), docs=DOCS)
    assert unknown.tool.driver.rules[0].id == "own-rule"
    assert unknown.results[0].rule_index == 0


def test_gaps_are_notifications() -> None:
    run = run_of(report(gaps=gaps()), locate=below)
    first, second = run.invocations[0].tool_execution_notifications
    kinds = [x.id for x in run.tool.driver.notifications]
    assert [kinds[x.descriptor.index] for x in (first, second)] == ["file", "budget"]
    assert first.message.text == "does not parse: invalid syntax."
    assert first.locations[0].physical_location.artifact_location.uri.startswith("python/")
    assert second.message.text.endswith("; leaves Ernie4Model.forward unknown.")


def test_no_more_results_than_github_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "RESULTS", 2)
    mild = [finding(severity=Severity.NOTE, line=line) for line in (1, 2)]
    run = run_of(report([*mild, canonical()]))
    assert [x.level for x in run.results] == ["note", "error"]
    (note,) = run.invocations[0].tool_execution_notifications
    assert (note.descriptor.id, note.message.text) == (
        "cut",
        "1 finding left out, the mildest ones.",
    )


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> str:
    """All of a release in SARIF, as the command writes it."""
    target = tmp_path_factory.mktemp("sarif") / "report.sarif"
    words = ["scan", release("0.5.23"), "--format", "sarif", "--output", target]
    CliRunner().invoke(main, list(map(str, words)), catch_exceptions=False)
    return target.read_text(encoding="utf-8")


def test_a_release_is_within_the_limits_of_github(released: str) -> None:
    run = valid(released)
    assert len(gzip.compress(released.encode())) < 10_000_000
    assert 100 < len(run.results) <= 25_000
    flows = [flow for result in run.results for flow in result.code_flows]
    assert 0 < max(len(x.thread_flows[0].locations) for x in flows) <= 20
    assert len({x.partial_fingerprints["pathaudit/v1"] for x in run.results}) == len(run.results)
    assert {x.help.markdown[:2] for x in run.tool.driver.rules if x.help} <= {"# ", ""}
    places = [place_of(result.locations[0]) for result in run.results]
    assert all(uri.startswith("sglang/srt/") for uri, _ in places)


# ---- workflow commands --------------------------------------------------------------------------


def commands_of(answer: Report, **options: object) -> list[Command]:
    lines = rendered(github.render, answer, **options).splitlines()
    return [found for line in lines if (found := obeyed(line))]


def test_an_annotation_says_where_and_what() -> None:
    (found,) = commands_of(report([finding(column=8, end_column=68)]), locate=below)
    assert found.name == "error"
    assert found.properties == {
        "file": f"python/{MODELS}/opt.py",
        "line": "312",
        "endLine": "312",
        "col": "9",
        "endColumn": "68",
        "title": "error[skipped-aux-capture]",
    }
    first, when, fix = found.data.split("\n")
    assert first == "layers [start_layer, end_layer) run without aux capture"
    assert when == "when: always"
    assert fix.startswith("fix: Hand the capture list")


def test_columns_are_left_out_of_a_region_of_several_lines() -> None:
    (found,) = commands_of(report([canonical()]))
    assert list(found.properties) == ["file", "line", "endLine", "title"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, ["error"], id="error"),
        pytest.param({"severity": Severity.WARNING}, ["warning"], id="warning"),
        pytest.param({"severity": Severity.NOTE}, ["notice"], id="note"),
        pytest.param({"verdict": Verdict.UNKNOWN}, ["warning"], id="unknown"),
        pytest.param({"suppressed": "known"}, [], id="accepted"),
    ],
)
def test_levels_of_annotations(changes: dict[str, object], expected: list[str]) -> None:
    assert [x.name for x in commands_of(report([finding(**changes)]))] == expected


def test_only_what_github_shows_is_a_command() -> None:
    errors = [finding(line=line) for line in range(1, 14)]
    notes = [finding(line=line, severity=Severity.NOTE) for line in range(20, 33)]
    answer = report([*notes, *errors], gaps=gaps())
    lines = rendered(github.render, answer).splitlines()
    names = [found.name if (found := obeyed(line)) else "" for line in lines]
    assert names == [
        *["error"] * 10,
        *["warning"] * 2,
        *["notice"] * 10,
        "group",
        *[""] * 6,
        "endgroup",
        "",
    ]
    assert obeyed(lines[22]) == Command("group", {}, "6 more, of them 3 errors")
    assert lines[23].startswith(f"{MODELS}/opt.py:11: error[skipped-aux-capture]: layers")
    assert lines[-1].startswith("pathaudit: Every path holds in sglang==0.5.6: 61 entries")


# Text that means something to one of the readers.
HOSTILE = st.text(
    alphabet=st.one_of(
        st.sampled_from(
            "%:,=[]()<>&\"'`|@#$\\\r\n\t\x00\x1b\x7f\x85\u2028\u202e\u200b\ufeff\ud800a"
        ),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=40,
)


@given(HOSTILE, HOSTILE)
@example("50%0A, 100%25", "::b,title=c%2C:d")
def test_annotations_round_trip(message: str, path: str) -> None:
    answer = report([finding(message=message, file=f"a{path}", rule="r")])
    (found,) = commands_of(answer)
    assert found.data.partition("\nwhen: ")[0] == visible(message)
    assert found.properties["file"] == visible(f"a{path}")
    assert found.properties["title"] == "error[r]"


# ---- JUnit --------------------------------------------------------------------------------------


def suites_of(answer: Report, **options: object) -> ElementTree.Element:
    text = rendered(junit.render, answer, **options)
    assert text.isascii()
    return ElementTree.fromstring(text)


def outcomes(answer: Report, **options: object) -> dict[str, str]:
    """The outcomes of cases by their names, without the file."""
    found = {}
    for case in suites_of(answer, **options).iter("testcase"):
        first = next(iter(case), None)
        found[case.attrib["name"].partition(" ")[0]] = "" if first is None else first.tag
    return found


@pytest.mark.parametrize(
    ("changes", "options", "expected"),
    [
        pytest.param({}, {}, "failure", id="error"),
        pytest.param({"severity": Severity.NOTE}, {}, "system-out", id="a note holds"),
        pytest.param(
            {"severity": Severity.NOTE}, {"fail_on": Severity.NOTE}, "failure", id="a note fails"
        ),
        pytest.param({"verdict": Verdict.UNKNOWN}, {}, "skipped", id="unknown"),
        pytest.param(
            {"verdict": Verdict.UNKNOWN}, {"strict": True}, "failure", id="unknown, strict"
        ),
        pytest.param({"suppressed": "known"}, {}, "skipped", id="accepted"),
        pytest.param({"reach": Reach.DORMANT}, {}, "skipped", id="cannot run"),
    ],
)
def test_outcomes_of_cases(
    changes: dict[str, object], options: dict[str, object], expected: str
) -> None:
    assert outcomes(report([finding(**changes)]), **options) == {"OPTModel.forward": expected}


def test_a_method_that_was_judged_is_a_case() -> None:
    judged = (
        entry("OPTModel.forward", 300, file=f"{MODELS}/opt.py", verdict=Verdict.VIOLATED),
        entry("LlamaModel.forward", 320),
        entry("Other.forward", 1, verdict=Verdict.UNKNOWN),
    )
    elsewhere = finding(symbol="runner", file="sglang/srt/runner.py", severity=Severity.NOTE)
    answer = report([finding(), elsewhere], entries=judged)
    assert outcomes(answer) == {
        "OPTModel.forward": "failure",
        "LlamaModel.forward": "",
        "Other.forward": "skipped",
    }
    (case, *_) = suites_of(answer).iter("testcase")
    assert case.attrib["line"] == "300"
    failure, output = case
    assert failure.attrib["type"] == "error"
    assert (output.text or "").startswith("sglang/srt/runner.py:312: note: layers")


def test_classes_of_one_name_are_different_cases() -> None:
    files = ("sglang/a.py", "sglang/b.py")
    judged = [entry("Model.forward", line, file=file) for line, file in enumerate(files, 1)]
    wrong = finding(entry="Model.forward", symbol="Model.forward", file=files[1])
    cases = suites_of(report([wrong], entries=tuple(judged))).iter("testcase")
    assert [(x.attrib["file"], len(x)) for x in cases] == [(files[0], 0), (files[1], 1)]


def test_a_rule_that_had_nothing_to_judge_is_no_success() -> None:
    answer = report(rules=("a-rule", "skipped-aux-capture"), inert=("a-rule",))
    root = suites_of(answer)
    assert [suite.attrib["name"] for suite in root] == ["a-rule"]
    assert outcomes(answer) == {"a-rule": "skipped"}


def test_counts_are_those_of_the_cases() -> None:
    root = suites_of(sample())
    for level in (root, *root):
        cases = list(level.iter("testcase"))
        assert level.attrib["tests"] == str(len(cases))
        for tag, name in (("failure", "failures"), ("skipped", "skipped")):
            assert level.attrib[name] == str(len([x for x in cases if x.find(tag) is not None]))
    assert [suite.attrib["name"] for suite in root] == ["skipped-aux-capture", "gaps"]


@given(HOSTILE, HOSTILE)
def test_cases_round_trip(message: str, name: str) -> None:
    answer = report([finding(message=message, symbol=f"a{name}", entry="", file="f")])
    (case,) = suites_of(answer).iter("testcase")
    assert case.attrib["name"] == f"{visible(f'a{name}')} (f)"
    failure = case.find("failure")
    assert failure is not None
    assert failure.attrib["message"] == visible(message)
    assert (failure.text or "").startswith(f"f:312: error: {visible(message)}\n")


# ---- Markdown -----------------------------------------------------------------------------------


def test_a_comment_can_be_found_again() -> None:
    assert rendered(comment.render, report()).startswith("<!-- pathaudit -->\n### pathaudit: ")


@pytest.mark.parametrize("limit", [3_000, 8_000, LIMIT])
def test_a_comment_is_cut_between_findings(limit: int) -> None:
    errors = [finding(line=line, message=f"層{line} " + "x" * 300) for line in range(1, 301)]
    notes = [finding(line=line, severity=Severity.NOTE) for line in range(500, 600)]
    answer = report([*notes, *errors], gaps=gaps(), source=Source(label="x" * 900, version=None))
    text = rendered(comment.render, answer, limit=limit)
    assert limit // 2 < len(text.encode()) <= limit
    assert text.count("<details>") == text.count("</details>")
    shown = text.count("[<code>skipped-aux-capture</code>]")
    assert f"**{400 - shown} more findings left out** (errors: {300 - shown}, notes: 100)" in text
    assert "**2 more gaps left out.**" in text


def test_a_comment_tells_the_worst_first_and_what_was_not_analysed() -> None:
    text = rendered(comment.render, sample())
    order = ["#### Errors: 1", "#### Could not be decided: 1", "Not analysed: 2", "Notes: 4"]
    assert sorted(order, key=text.index) == order
    assert text.count("The draft model is fed") == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a|b", "`a|b`", id="pipe"),
        pytest.param("`a``b`", "``` `a``b` ```", id="backticks"),
        pytest.param("@all #1 <b>", "`@all #1 <b>`", id="markup"),
        pytest.param("a\x1b\u202e\n", "`a\\x1b\\u202e\\n`", id="control characters"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_code_in_markdown(text: str, expected: str) -> None:
    assert code(text) == expected
    assert cell(text) == expected.replace("|", "\\|")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("@all", "`@`all", id="mention"),
        pytest.param("see #12", "see `#`12", id="issue"),
        pytest.param("$x$", "`$`x`$`", id="formula"),
        pytest.param("a*b_c", "a\\*b\\_c", id="emphasis"),
        pytest.param("[a](b)", "\\[a\\]\\(b\\)", id="link"),
        pytest.param("http://e", "http&#58;//e", id="address"),
        pytest.param("<b>&", "&lt;b&gt;&amp;", id="HTML"),
        pytest.param("a|b`c", "a\\|b\\`c", id="pipe and backtick"),
    ],
)
def test_text_in_markdown(text: str, expected: str) -> None:
    assert escaped(text) == expected


def test_prose_of_a_rule_keeps_its_code() -> None:
    assert with_code("Call `a_b()` at *x*, `") == "Call `a_b()` at \\*x\\*, \\`"


def test_text_in_html() -> None:
    expected = "&lt;b&gt; <code>@</code>all a_b \\x1b"
    assert in_html("<b> @all a_b \x1b") == expected


# ---- what changed between two versions ----------------------------------------------------------


def compared(form: str, tmp_path: Path) -> str:
    """The example against one in which nothing was wrong, in a form of ``diff``."""
    example = Path(__file__).parent.parent / "examples" / "two_batch_overlap"
    old = Path(shutil.copytree(example, tmp_path / "old"))
    (old / MODELS / "overlapped.py").unlink()
    words = ["diff", str(old), str(example), "--format", form]
    result = CliRunner().invoke(main, words, catch_exceptions=False)
    assert result.exit_code == 1
    return result.stdout


def test_a_diff_tells_what_is_new_in_sarif(tmp_path: Path) -> None:
    run = valid(compared("sarif", tmp_path))
    assert [(x.rule_id, x.baseline_state) for x in run.results] == [
        ("skipped-aux-capture", "new"),
        ("mismatched-return", "new"),
    ]
    assert run.automation_details.id == "pathaudit/diff/"
    assert run.properties.old["label"].endswith("/old")
    assert place_of(run.results[0].locations[0])[0].startswith("examples/two_batch_overlap/sglang/")


def test_a_diff_annotates_what_is_new(tmp_path: Path) -> None:
    lines = compared("github", tmp_path).splitlines()
    titles = [found.properties["title"] for line in lines if (found := obeyed(line))]
    assert titles == ["error[skipped-aux-capture]", "error[mismatched-return]"]
    assert lines[-1].endswith(": 2 added, 0 changed, 0 fixed")


# ---- README -------------------------------------------------------------------------------------


def test_the_commands_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parent.parent
    text = (root / "README.md").read_text(encoding="utf-8")
    section = text.partition("\n## Reports for other programs\n")[2].partition("\n## ")[0]
    block = section.partition("```sh\n")[2].partition("```")[0]
    commands = [shlex.split(line)[1:] for line in block.splitlines()]
    monkeypatch.chdir(tmp_path)
    shutil.copytree(root / "examples", "examples")
    for words in commands:
        assert CliRunner().invoke(main, words, catch_exceptions=False).exit_code == 1
    valid(Path("pathaudit.sarif").read_text(encoding="utf-8"))
    assert ElementTree.parse("pathaudit.xml").getroot().attrib["failures"] == "2"
    assert Path("comment.md").read_text(encoding="utf-8").startswith("<!-- pathaudit -->\n")
    assert [words[words.index("--format") + 1] for words in commands] == [
        *("sarif", "github", "junit", "markdown")
    ]
