"""Two versions compared: small edits of one model, and what is said of each."""

import io
import json
import re
from pathlib import Path

import jsonschema
import msgspec
import pytest
from click.testing import CliRunner, Result

from pathaudit.cli import main
from pathaudit.diff import compare
from pathaudit.diff.matching import Mark, match
from pathaudit.diff.naming import Naming, Owner, find_names
from pathaudit.errors import UsageError
from pathaudit.reporters import changes, markdown
from pathaudit.reporters import json as json_reporter
from pathaudit.reporters.markdown_text import escaped
from pathaudit.results import Severity, Verdict
from pathaudit.results.versions import Basis, Ending, Origin, ReportDiff, fails_newly
from tests import versions
from tests.versions import MODEL, Edit, version

ROOT = Path(__file__).parent.parent


def diff(old: tuple[Edit, ...], new: tuple[Edit, ...]) -> ReportDiff:
    return compare(version(*old), version(*new))


def counts(found: ReportDiff) -> dict[str, int]:
    """The lists that are not empty, with their lengths."""
    names = ("added", "fixed", "dropped", "changed", "unchanged", "undecided", "variants", "events")
    return {name: len(getattr(found, name)) for name in names if getattr(found, name)}


SECOND = versions.copied("sglang/srt/models/another.py")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param((), (), {"unchanged": 1}, id="the same"),
        pytest.param((), (versions.LOWER,), {"unchanged": 1}, id="lines move"),
        pytest.param((), (versions.RENAMED_CALLEE,), {"unchanged": 1}, id="callee renamed"),
        pytest.param((), (versions.RENAMED_CLASS,), {"unchanged": 1}, id="class renamed"),
        pytest.param(
            (), (versions.moved("sglang/srt/models/over.py"),), {"unchanged": 1}, id="file moved"
        ),
        pytest.param((), (versions.OTHER_FORM,), {"unchanged": 1}, id="another form of the event"),
        pytest.param((), (versions.GUARD,), {"fixed": 1}, id="guarded"),
        pytest.param((versions.GUARD,), (), {"added": 1}, id="guard lost"),
        pytest.param(
            (), (versions.NO_CAPTURE,), {"added": 1, "unchanged": 1, "events": 1}, id="capture lost"
        ),
        pytest.param((), (versions.NO_SETTER,), {"dropped": 1}, id="setter lost: not judged"),
        pytest.param(
            (), (versions.UNKNOWN_RUNNER,), {"changed": 1, "undecided": 1}, id="cannot be followed"
        ),
        pytest.param(
            (), (versions.SECOND_LOOP,), {"unchanged": 1, "variants": 1}, id="a way that captures"
        ),
        pytest.param(
            (versions.SECOND_LOOP,), (), {"unchanged": 1, "variants": 1}, id="a way vanished"
        ),
        pytest.param((), (SECOND,), {"added": 1, "unchanged": 1}, id="a class of the same name"),
        pytest.param((SECOND,), (), {"dropped": 1, "unchanged": 1}, id="the first of two is gone"),
    ],
)
def test_what_changed(
    old: tuple[Edit, ...], new: tuple[Edit, ...], expected: dict[str, int]
) -> None:
    assert expected == counts(diff(old, new))


def test_a_renamed_callee_keeps_the_fingerprint() -> None:
    (kept,) = diff((), (versions.RENAMED_CALLEE,)).unchanged
    assert (kept.basis, kept.remark) == (Basis.FINGERPRINT, "")


def test_a_renamed_class_is_said_to_resemble() -> None:
    found = diff((), (versions.RENAMED_CLASS,))
    (kept,) = found.unchanged
    assert (kept.basis, kept.remark) == (Basis.RESEMBLANCE, "was OverlappedModel")
    assert [(x.change, x.was) for x in found.entries] == [("renamed", "OverlappedModel.forward")]


def test_a_moved_file_is_said() -> None:
    (kept,) = diff((), (versions.moved("sglang/srt/models/over.py"),)).unchanged
    assert (kept.basis, kept.remark) == (Basis.FINGERPRINT, f"was in {MODEL}")


def test_the_class_that_is_left_of_two_is_the_one_it_was() -> None:
    """The ordinal in its fingerprint went from 2 to 1, and its file tells."""
    found = diff((SECOND,), ())
    assert [x.new.file for x in found.unchanged] == [MODEL]
    assert [(x.ending, x.finding.file) for x in found.dropped] == [
        (Ending.GONE, "sglang/srt/models/another.py")
    ]


def test_what_is_fixed_says_how() -> None:
    (fixed,) = diff((), (versions.GUARD,)).fixed
    assert fixed.remark == f"now at {MODEL}:45"


def test_a_class_that_is_gone_is_not_fixed() -> None:
    (ended,) = diff((), (versions.replaced("OverlappedModel", "Zzz"), _no_layers)).dropped
    assert ended.ending is Ending.GONE


def _no_layers(files: versions.Files) -> versions.Files:
    """The model becomes one without layers."""
    return versions.replaced("make_layers(", "make_nothing(")(files)


def test_new_code_is_told_from_changed_code() -> None:
    (added,) = diff((), (SECOND,)).added
    assert added.origin is Origin.NEW
    (added,) = diff((versions.GUARD,), ()).added
    assert added.origin is Origin.CHANGED


def test_a_verdict_became_unknown() -> None:
    found = diff((), (versions.UNKNOWN_RUNNER,))
    (item,) = found.undecided
    assert (item.entry, item.before) == ("OverlappedModel.forward", Verdict.VIOLATED)
    assert "cannot be followed" in item.reason


def test_a_file_that_does_not_parse_any_more_is_unknown() -> None:
    broken = versions.replaced("EntryClass =", "def (:\nEntryClass =", MODEL)
    found = diff((SECOND,), (SECOND, broken))
    assert [(x.ending, x.finding.file) for x in found.dropped] == [(Ending.UNKNOWN, MODEL)]
    assert [item.file for item in found.undecided] == [MODEL]


def test_a_finding_that_no_rule_looks_for_any_more_is_not_fixed() -> None:
    (ended,) = diff((), (versions.NO_SETTER,)).dropped
    assert ended.ending is Ending.UNJUDGED


@pytest.mark.parametrize(
    ("old", "new", "strict", "expected"),
    [
        pytest.param((versions.GUARD,), (), False, True, id="added"),
        pytest.param((), (), False, False, id="the same"),
        pytest.param((versions.NO_SETTER,), (), False, True, id="reachable only now"),
        pytest.param((), (versions.NO_SETTER,), False, False, id="no longer reachable"),
        pytest.param((), (versions.UNKNOWN_RUNNER,), False, False, id="unknown"),
        pytest.param((), (versions.UNKNOWN_RUNNER,), True, True, id="unknown, strict"),
    ],
)
def test_what_fails(
    old: tuple[Edit, ...], new: tuple[Edit, ...], strict: bool, expected: bool
) -> None:
    assert fails_newly(diff(old, new), Severity.ERROR, strict=strict) is expected


def test_only_one_class() -> None:
    old, new = version(), version(SECOND)
    assert counts(compare(old, new, entry="OverlappedForCausalLM")) == {"added": 1, "unchanged": 1}
    with pytest.raises(UsageError, match="'OverlapedModel'") as caught:
        compare(old, new, entry="OverlapedModel")
    assert caught.value.hint == "did you mean 'OverlappedModel'?"


@pytest.mark.parametrize(
    ("old", "new", "served", "same"),
    [
        pytest.param("m.py:FooModel", "m.py:BarModel", ("A", "A"), True, id="renamed"),
        pytest.param("m_flash.py:MiMoFlash", "m.py:MiMo", ("A", "AB"), True, id="both"),
        pytest.param("m.py:FooForCausalLM", "n.py:FooForCausalLM", ("A", "B"), True, id="moved"),
        pytest.param("llama.py:LlamaModel", "xllm.py:XllmModel", ("A", "B"), False, id="another"),
        pytest.param("m.py:Encoder", "m.py:TextModel", ("A", "B"), False, id="unlike"),
    ],
)
def test_names(old: str, new: str, served: tuple[str, str], same: bool) -> None:
    before, now = (Owner(*text.split(":")) for text in (old, new))
    naming = find_names(
        {before: frozenset(served[0])},
        {now: frozenset(served[1])},
        old_has=lambda *_: False,
        new_has=lambda *_: False,
    )
    assert naming.renamed == ({before: now} if same else {})


# ---- matching ----------------------------------------------------------------------------------


def mark(fingerprint: str, **fields: str) -> Mark:
    plain = {
        "rule": "r",
        "file": "m.py",
        "symbol": "C.forward",
        "layers": "[a, b)",
        "message": "layers run",
        "kind": "loop",
    }
    return Mark(fingerprint=fingerprint, **(plain | fields))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param([mark("1")], [mark("1")], [(0, 0, "fingerprint")], id="fingerprint"),
        pytest.param([mark("2")], [mark("1")], [(0, 0, "place")], id="another ordinal"),
        pytest.param([mark("1")], [mark("1", rule="q")], [], id="another rule"),
        pytest.param(
            [mark("1")], [mark("2", kind="call", message="go to f")], [], id="a loop is no call"
        ),
        pytest.param(
            [mark("1")], [mark("2", layers="[a, c)")], [(0, 0, "resemblance")], id="other layers"
        ),
        pytest.param(
            [mark("1")], [mark("2", symbol="C.rest")], [(0, 0, "resemblance")], id="other method"
        ),
        pytest.param([mark("1")], [mark("2", symbol="D.forward")], [], id="other class"),
        pytest.param(
            [mark("1", condition="x"), mark("2", condition="y")],
            [mark("1", condition="y")],
            [(1, 0, "place")],
            id="the condition tells equals apart",
        ),
    ],
)
def test_match(old: list[Mark], new: list[Mark], expected: list[tuple[int, int, str]]) -> None:
    found = match(
        old, new, Naming(), old_has=lambda *_: True, new_has=lambda _, name: name != "C.forward"
    )
    assert [(pair.old, pair.new, str(pair.basis)) for pair in found] == expected


def test_code_of_a_method_that_is_still_there_went_nowhere() -> None:
    found = match(
        [mark("1")],
        [mark("2", symbol="C.rest")],
        Naming(),
        old_has=lambda *_: True,
        new_has=lambda *_: True,
    )
    assert found == ()


# ---- reports -----------------------------------------------------------------------------------

EVERYTHING = diff(
    (versions.GUARD,), (versions.NO_CAPTURE, versions.SECOND_LOOP, versions.RENAMED_CALLEE)
)


def test_json_is_what_the_schema_says() -> None:
    out = io.StringIO()
    json_reporter.render(EVERYTHING, out)
    written = json.loads(out.getvalue())
    jsonschema.validate(written, json_reporter.schema(ReportDiff))
    assert list(written)[:4] == ["schema", "tool", "old", "new"]


def text_of(found: ReportDiff) -> str:
    out = io.StringIO()
    changes.render(found, out, excerpts={})
    return out.getvalue()


@pytest.mark.parametrize("old", [(), (versions.GUARD,), (versions.SECOND_LOOP,)])
def test_text_fits_a_terminal(old: tuple[Edit, ...]) -> None:
    for new in ((versions.UNKNOWN_RUNNER,), (versions.RENAMED_CLASS, SECOND)):
        assert max(map(len, text_of(diff(old, new)).splitlines())) <= 80


def test_an_event_that_a_new_finding_tells_of_is_not_told_again() -> None:
    assert "Lost an event" not in text_of(diff((), (versions.NO_CAPTURE,)))


def test_an_event_lost_where_no_rule_looks_is_told() -> None:
    """Nothing switches capture on in either version, and the loop stopped capturing."""
    quiet = versions.replaced("self.layers_to_capture", "self.wanted")
    found = diff((versions.NO_SETTER, quiet), (versions.NO_SETTER, versions.NO_CAPTURE))
    assert [(x.event, x.entry) for x in found.events] == [("captures", "OverlappedModel.forward")]
    assert "Lost an event: 1" in text_of(found)


def test_markdown_escapes_what_the_code_says() -> None:
    evil = "x|y`z @all <b>[l](http://e)"
    found = versions.version()
    assert escaped(evil) == ("x\\|y\\`z `@`all &lt;b&gt;\\[l\\]\\(http&#58;//e\\)")
    out = io.StringIO()
    markdown.render(compare(found, found), out)
    assert out.getvalue().startswith("<!-- pathaudit -->\n### pathaudit: ")


def test_markdown_is_cut_between_rows() -> None:
    found = diff((), (versions.SECOND_LOOP,))
    rows = msgspec.structs.replace(found, variants=found.variants * 300)
    for limit in (2_000, 20_000):
        out = io.StringIO()
        markdown.render(rows, out, limit=limit)
        text = out.getvalue()
        assert limit // 2 < len(text.encode()) <= limit
        assert text.count("<details>") == text.count("</details>")
        assert re.search(r"\n\*\*\d+ more rows left out\*\*; `--format json` has all.\n$", text)


# ---- the command -------------------------------------------------------------------------------


def run(*arguments: object) -> Result:
    words = ["diff", "--rule", "skipped-aux-capture", *map(str, arguments)]
    return CliRunner(env={"COLUMNS": "80"}).invoke(main, words, prog_name="pathaudit")


def written(folder: Path, *edits: Edit) -> Path:
    for name, text in versions.files_of(*edits).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def fixed(tmp_path: Path) -> Path:
    return written(tmp_path / "fixed", versions.GUARD)


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    return written(tmp_path / "faulty")


def test_exit_status(fixed: Path, faulty: Path) -> None:
    assert run(fixed, faulty).exit_code == 1
    assert run(faulty, fixed).exit_code == 0
    assert run(faulty, faulty).exit_code == 0
    assert run(fixed, faulty, "--fail-on", "never").exit_code == 0
    assert run(fixed, faulty, "--entry", "Nobody").exit_code == 2
    assert run(fixed, fixed / "none").exit_code == 2


def test_the_new_error_is_shown_with_its_source(fixed: Path, faulty: Path) -> None:
    output = run(fixed, faulty).output
    assert "error[skipped-aux-capture]: layers [first_k_dense_replace, end_layer)" in output
    assert "goes to run_overlapped" in output
    assert "1 new error from" in output


def test_the_second_run_gives_the_same_bytes(fixed: Path, faulty: Path) -> None:
    first, second = (run(fixed, faulty, "--format", "json").output for _ in range(2))
    assert first == second
    assert first == run(fixed, faulty, "--format", "json", "--jobs", "2", "--no-cache").output


def test_formats(fixed: Path, faulty: Path, tmp_path: Path) -> None:
    target = tmp_path / "comment.md"
    result = run(fixed, faulty, "--format", "markdown", "--output", target)
    assert (result.exit_code, result.output) == (1, "")
    assert "**1 new error.** 1 added" in target.read_text(encoding="utf-8")
    assert run(fixed, faulty, "--quiet").output == ""
