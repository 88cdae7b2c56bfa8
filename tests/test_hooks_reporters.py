"""What people and programs read of where hooks fire.

After a change that is meant, run ``PATHAUDIT_UPDATE_GOLDEN=1 pytest tests/test_hooks_reporters.py``
and read the difference.
"""

import io
import json
import os
import re
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from rich.cells import cell_len

from pathaudit.audit import hooks_of
from pathaudit.cli import main
from pathaudit.reporters import hooks as text_reporter
from pathaudit.reporters import json as json_reporter
from pathaudit.reporters import markdown_hooks
from pathaudit.results import Gap
from pathaudit.results.hooks import HookModule, HookPlace, HooksReport
from pathaudit.sources import open_source
from tests.labels import shipped_rules

ROOT = Path(__file__).parent.parent
GOLDEN = Path(__file__).parent / "golden"
EXAMPLE = ROOT / "examples" / "module_hooks"
ANSI = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = "\x1b[31m|`@you` <b>[x](http://y)\n\u202e"


@pytest.fixture(scope="module")
def report() -> HooksReport:
    found = hooks_of(open_source(str(EXAMPLE), "sglang"), shipped_rules())
    return replace(found, source=replace(found.source, label="examples/module_hooks"))


def text_of(report: HooksReport, **options: object) -> str:
    out = io.StringIO()
    text_reporter.render(report, out, **options)  # type: ignore[arg-type]
    return out.getvalue()


def markdown_of(report: HooksReport) -> str:
    out = io.StringIO()
    markdown_hooks.render(report, out)
    return out.getvalue()


def json_of(report: HooksReport) -> str:
    out = io.StringIO()
    json_reporter.render(report, out)
    return out.getvalue()


def compare(name: str, text: str) -> None:
    if os.environ.get("PATHAUDIT_UPDATE_GOLDEN"):
        (GOLDEN / name).write_text(text, encoding="utf-8")
    assert (GOLDEN / name).read_text(encoding="utf-8") == text


def test_text(report: HooksReport) -> None:
    compare("hooks.txt", text_of(report, verbose=True))


def test_markdown(report: HooksReport) -> None:
    compare("hooks.md", markdown_of(report))


def test_json(report: HooksReport) -> None:
    compare("hooks.json", json_of(report))


def test_the_json_has_a_schema(report: HooksReport) -> None:
    schema = json_reporter.schema(HooksReport)
    compare("hooks.schema.json", json.dumps(schema, indent=2) + "\n")
    jsonschema.Draft202012Validator(schema).validate(json.loads(json_of(report)))


@pytest.mark.parametrize("width", [60, 80, 100])
def test_lines_fit(report: HooksReport, width: int) -> None:
    lines = text_of(report, width=width, verbose=True).splitlines()
    long = [line for line in lines if cell_len(line) > width and "/" not in line]
    assert long == []


def test_colour_is_paint_only(report: HooksReport) -> None:
    painted = text_of(report, color=True)
    assert ANSI.search(painted)
    assert ANSI.sub("", painted) == text_of(report)


def test_few_rows_show_their_places_and_many_do_not(report: HooksReport) -> None:
    assert "is called" not in text_of(report)
    (group,) = report.groups
    few = replace(report, groups=(replace(group, modules=group.modules[:3]),))
    assert "is called" in text_of(few)


def hostile(report: HooksReport) -> HooksReport:
    """A report all of whose texts come from hostile code."""
    (group,) = report.groups
    place = HookPlace(
        how="called", file=HOSTILE, line=1, end_line=2, within=HOSTILE, text=HOSTILE,
        when=(HOSTILE,), layers=HOSTILE, via=HOSTILE,
    )  # fmt: skip

    def spoiled(module: HookModule) -> HookModule:
        cells = tuple(replace(cell, places=(place,)) for cell in module.cells)
        return replace(module, path=HOSTILE, name=HOSTILE, file=HOSTILE, cells=cells)

    modules = tuple(map(spoiled, group.modules[:2]))
    groups = (replace(group, entries=(HOSTILE,), file=HOSTILE, modules=modules),)
    gap = Gap(kind="call", file=HOSTILE, line=1, message=HOSTILE)
    return replace(report, answer=HOSTILE, groups=groups, gaps=(gap,))


def test_no_text_of_the_code_reaches_a_terminal(report: HooksReport) -> None:
    for text in (text_of(hostile(report)), json_of(hostile(report))):
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_no_text_of_the_code_is_markup(report: HooksReport) -> None:
    text = markdown_of(hostile(report))
    assert "\x1b" not in text
    outside = re.sub(r"(`+).+?\1", "", text)
    assert "<b>" not in outside
    assert "@you" not in outside
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in rows}) == 1


FORMS = {"text": "Hooks on lm_head", "json": '"schema": 1', "markdown": "### pathaudit hooks"}


@pytest.mark.parametrize("form", FORMS)
def test_the_command_writes_each_form(form: str, tmp_path: Path) -> None:
    target = tmp_path / "out"
    words = ["hooks", "lm_head", "--tree", str(EXAMPLE), "--format", form, "--output", str(target)]
    assert CliRunner().invoke(main, words).exit_code == 0
    assert FORMS[form] in target.read_text()
