"""Known findings: what a baseline accepts, what it does not, and how its file is written."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from pathaudit.audit import audit
from pathaudit.baseline import (
    NO_REASON,
    Baseline,
    apply_baseline,
    baseline_text,
    make_baseline,
    read_baseline,
)
from pathaudit.cli import main
from pathaudit.errors import UsageError
from pathaudit.results import Report
from tests import versions
from tests.labels import capture_rules
from tests.versions import Edit


def judged(*edits: Edit) -> Report:
    return audit(versions.tree_of(*edits), capture_rules())


def made(*edits: Edit) -> Baseline:
    return make_baseline(judged(*edits), Baseline(), versions.tree_of(*edits), whole=True)


def applied(baseline: Baseline, *edits: Edit, whole: bool = True) -> Report:
    tree = versions.tree_of(*edits)
    return apply_baseline(audit(tree, capture_rules()), baseline, tree, file="b", whole=whole)


def told(report: Report) -> tuple[int, int, int]:
    """How many findings are accepted, got worse, and are no longer there."""
    use = report.baseline
    assert use is not None
    return len(use.accepted), len(use.worse), len(use.unused)


SECOND = versions.copied("sglang/srt/models/another.py")
MOVED = versions.moved("sglang/srt/models/over.py")


@pytest.mark.parametrize(
    ("old", "new", "expected", "errors"),
    [
        pytest.param((), (), (1, 0, 0), 0, id="the same"),
        pytest.param((), (versions.LOWER,), (1, 0, 0), 0, id="lines move"),
        pytest.param((), (versions.RENAMED_CALLEE,), (1, 0, 0), 0, id="callee renamed"),
        pytest.param((), (MOVED,), (1, 0, 0), 0, id="file moved"),
        pytest.param((), (versions.GUARD,), (0, 0, 1), 0, id="fixed"),
        pytest.param((), (SECOND,), (1, 0, 0), 1, id="another class of the name"),
        pytest.param((SECOND,), (), (1, 0, 1), 0, id="one of two is gone"),
        pytest.param((), (versions.NO_CAPTURE,), (1, 0, 0), 1, id="one more in the method"),
        pytest.param((), (versions.RENAMED_CLASS,), (0, 0, 1), 1, id="what resembles is new"),
        pytest.param((versions.UNKNOWN_RUNNER,), (), (0, 0, 1), 1, id="was unknown"),
    ],
)
def test_what_is_known(
    old: tuple[Edit, ...], new: tuple[Edit, ...], expected: tuple[int, int, int], errors: int
) -> None:
    report = applied(made(*old), *new)
    assert told(report) == expected
    assert report.summary.errors == errors


@pytest.mark.parametrize(
    "milder", [{"reach": "blocked"}, {"severity": "note"}, {"verdict": "unknown"}]
)
def test_what_got_worse_is_not_accepted(milder: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "b.yaml"
    text = baseline_text(made(), "b.yaml")
    (field,) = milder
    lines = [line for line in text.splitlines() if not line.strip().startswith(f"{field}:")]
    file.write_text("\n".join([*lines, f"  {field}: {milder[field]}"]), encoding="utf-8")
    report = applied(read_baseline(str(file)))
    assert told(report) == (0, 1, 0)
    assert report.summary.errors == 1


def test_a_part_of_the_tree_says_nothing_of_what_is_gone() -> None:
    assert told(applied(made(), versions.GUARD, whole=False)) == (0, 0, 0)


def test_reasons_survive_and_what_is_gone_is_taken_out() -> None:
    (entry,) = made().findings
    reason = "no draft model is served with overlap"
    gone = msgspec.structs.replace(
        entry, symbol="Gone.forward", fingerprint="0" * 16, message="m", reason="old"
    )
    known = Baseline(findings=(msgspec.structs.replace(entry, reason=reason), gone))
    tree = versions.tree_of(versions.LOWER)
    again = make_baseline(judged(versions.LOWER), known, tree, whole=True)
    assert [x.reason for x in again.findings] == [reason]
    part = make_baseline(judged(versions.LOWER), known, tree, whole=False)
    assert {x.reason for x in part.findings} == {"old", reason}


@pytest.mark.parametrize("name", ["b.yaml", "b.json"])
def test_both_forms_say_the_same(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    baseline = made(SECOND)
    file.write_text(baseline_text(baseline, name), encoding="utf-8")
    assert read_baseline(str(file)) == baseline


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("a: [", "is neither YAML nor JSON", id="no YAML"),
        pytest.param("[]", "is no baseline", id="a list"),
        pytest.param("schema: 2\nfindings: []", "is of schema 2", id="a newer one"),
        pytest.param("findings: [{rule: x}]", "is no baseline: Object missing", id="a field"),
        pytest.param("fidings: []", "unknown field `fidings`", id="misspelt"),
        pytest.param("a: &a [*a]\nb: !!python/name:os.system x", "is neither", id="hostile"),
    ],
)
def test_what_is_no_baseline(text: str, fault: str, tmp_path: Path) -> None:
    file = tmp_path / "b.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=fault):
        read_baseline(str(file))


# ---- the command -------------------------------------------------------------------------------


def run(*arguments: object) -> Result:
    words = ["scan", "--rule", "skipped-aux-capture", *map(str, arguments)]
    return CliRunner(env={"COLUMNS": "80"}).invoke(main, words, prog_name="pathaudit")


def test_known_findings_do_not_fail_a_scan(tmp_path: Path) -> None:
    file = tmp_path / "baseline.yaml"
    assert run(versions.EXAMPLE).exit_code == 1
    written = run(versions.EXAMPLE, "--write-baseline", file)
    assert written.exit_code == 0
    result = run(versions.EXAMPLE, "--baseline", file)
    assert result.exit_code == 0
    assert f"accepted by {file}: 1" in result.output.replace("\n  ", " ")
    assert NO_REASON in result.output
    assert run(versions.EXAMPLE, "--baseline", file, "--strict").exit_code == 0


def test_a_reason_is_kept_by_the_command(tmp_path: Path) -> None:
    file = tmp_path / "baseline.yaml"
    run(versions.EXAMPLE, "--write-baseline", file)
    text = file.read_text(encoding="utf-8").replace("reason: ''", "reason: not served here")
    file.write_text(text, encoding="utf-8")
    assert "not served here" in run(versions.EXAMPLE, "--baseline", file).output
    run(versions.EXAMPLE, "--write-baseline", file)
    assert file.read_text(encoding="utf-8") == text


def test_a_missing_baseline_is_said_at_once(tmp_path: Path) -> None:
    result = run(versions.EXAMPLE, "--baseline", tmp_path / "none.yaml")
    assert result.exit_code == 2
    assert "none.yaml: cannot be read: No such file or directory" in result.output
