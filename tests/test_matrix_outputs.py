"""How the matrix is shown, narrowed and compared: what people and programs read.

``PATHAUDIT_UPDATE_GOLDEN=1 pytest tests/test_matrix_outputs.py`` writes the golden files anew.
"""

import io
import json
import os
import re
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result
from rich.cells import cell_len

from pathaudit.cli import main
from pathaudit.reporters import json as json_reporter
from pathaudit.reporters import matrices, matrices_markdown
from pathaudit.results import Source
from pathaudit.results.matrices import (
    Cell,
    Column,
    Evidence,
    FeatureName,
    Matrix,
    Part,
    Row,
    Support,
    compared,
    narrowed,
)
from tests.labels import MODELS, shipped_rules
from tests.matrix_models import (
    CAPTURES,
    FAST,
    MARKS,
    PLAIN,
    SETTER,
    USES,
    source,
    table,
)

GOLDEN = Path(__file__).parent / "golden"


def part(support: Support, detail: str, *setters: str, rule: str = "", line: int = 12) -> Part:
    place = Evidence("sglang/srt/models/a|b.py", line, "evil \x1b[31m")
    return Part(support=support, detail=detail, evidence=(place,), rule=rule, features=setters)


EAGLE, DFLASH = MARKS


def by_hand() -> Matrix:
    """Every answer once, names that do not fit, and text that must not reach a terminal."""
    cells = {
        "capture": (
            Cell(
                column="capture",
                support=Support.NO,
                parts=(
                    part(Support.NO, "layers \x1b[31m run <b>", EAGLE, rule="skipped-aux-capture"),
                    part(Support.YES, "captured", DFLASH),
                ),
                remarks=(part(Support.NONE, "a remark", line=0),),
            ),
            Cell(column="capture", support=Support.NONE, parts=(part(Support.NONE, "no setter"),)),
        ),
        "stages": (
            Cell(
                column="stages",
                support=Support.GATED,
                parts=(part(Support.GATED, "gated by @somebody"),),
                was=(part(Support.UNKNOWN, "before"),),
            ),
            Cell(column="stages", support=Support.NONE, parts=(part(Support.NONE, "none"),)),
        ),
    }
    names = ("AVeryLongNameOfAModelThatIsServedForConditionalGeneration", "Small")
    rows = tuple(
        Row(
            name=name,
            file="sglang/srt/models/a.py",
            line=3,
            cells=(cells["capture"][number], cells["stages"][number]),
        )
        for number, name in enumerate(names)
    )
    return Matrix(
        tool="pathaudit 0.1.0",
        source=Source(label="tree|of\x07mine", version="0.5.23"),
        columns=(
            Column(id="capture", title="capture", says="Is it [captured]?"),
            Column(id="stages", title="pipeline stages", says="Is it split?"),
        ),
        features=(
            FeatureName(setter=EAGLE, title="EAGLE-3", mark="E"),
            FeatureName(setter=DFLASH, title="DFlash", mark="D"),
        ),
        rows=rows,
        drafts=("Draft",),
        facts=(Part(support=Support.NONE, detail="a fact", rule="stages"),),
        against=Source(label="old", version=None),
        gone=("Gone",),
    )


def check(name: str, found: str) -> None:
    path = GOLDEN / name
    if "PATHAUDIT_UPDATE_GOLDEN" in os.environ:
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


def text_of(matrix: Matrix, width: int, **options: bool) -> str:
    out = io.StringIO()
    matrices.render(matrix, out, width=width, **options)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "width", "options"),
    [
        pytest.param("matrix.txt", 80, {}, id="80"),
        pytest.param("matrix-all.txt", 100, {"verbose": True}, id="verbose"),
        pytest.param("matrix-entry.txt", 80, {"entry": True}, id="entry"),
    ],
)
def test_the_text(name: str, width: int, options: dict[str, bool]) -> None:
    found = text_of(by_hand(), width, **options)
    check(name, found)
    assert max(map(cell_len, found.splitlines())) <= width
    assert "\x1b" not in found
    assert "\x07" not in found


def test_colours_are_no_part_of_the_width() -> None:
    plain, painted = text_of(by_hand(), 80), text_of(by_hand(), 80, color=True)
    assert "\x1b[1;31m" in painted
    assert len(plain.splitlines()) == len(painted.splitlines())


def test_the_markdown() -> None:
    out = io.StringIO()
    matrices_markdown.render(by_hand(), out, links="https://example.org/")
    check("matrix.md", out.getvalue())
    rows = [line for line in out.getvalue().splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {4}


def test_the_json_fits_its_schema() -> None:
    out = io.StringIO()
    json_reporter.render(by_hand(), out)
    found = json.loads(out.getvalue())
    schema = json_reporter.schema(Matrix)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(found)
    assert list(found)[:3] == ["schema", "tool", "source"]
    check("matrix.schema.json", json.dumps(schema, indent=2) + "\n")


@pytest.mark.parametrize(
    ("options", "names", "columns"),
    [
        pytest.param({}, 2, ["capture", "stages"], id="all"),
        pytest.param({"only": (Support.YES,)}, 1, ["capture", "stages"], id="any-part"),
        pytest.param({"columns": ("stages",), "only": (Support.YES,)}, 0, ["stages"], id="column"),
        pytest.param({"changed": True}, 1, ["capture", "stages"], id="changed"),
    ],
)
def test_narrowed(options: dict[str, object], names: int, columns: list[str]) -> None:
    found = narrowed(by_hand(), **options)  # type: ignore[arg-type]
    assert (len(found.rows), [x.id for x in found.columns]) == (names, columns)


def test_compared() -> None:
    old = table(
        source(CAPTURES, USES + SETTER),
        {f"{MODELS}/gone.py": source(PLAIN, USES).replace("ForCausalLM", "Gone")},
    )
    new = table(
        source(FAST, USES + SETTER),
        {f"{MODELS}/more.py": source(PLAIN, USES).replace("ForCausalLM", "More")},
    )
    found = compared(new, old)
    changed = {cell.column for row in found.rows for cell in row.cells if cell.was}
    assert (changed, found.gone) == ({"capture"}, ("Gone",))
    assert [row.name for row in found.rows if row.new] == ["More"]


# ---- the command ---------------------------------------------------------------------------------

EXAMPLE = Path(__file__).parent.parent / "examples" / "two_batch_overlap"


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(main, ["matrix", *arguments], prog_name="pathaudit")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_the_help_names_every_column_and_answer() -> None:
    shown = run("--help").stdout
    names = (*shipped_rules().profile.matrix.columns, *Support)
    assert [x for x in names if not re.search(rf"^  +{x} +\S", shown, re.MULTILINE)] == []


def test_json_holds_the_columns_that_were_asked_for() -> None:
    found = json.loads(
        run(str(EXAMPLE), "--columns", "overlap", "--only", "no", "--format", "json").stdout
    )
    assert [x["id"] for x in found["columns"]] == ["overlap"]
    assert [x["name"] for x in found["rows"]] == ["OverlappedForCausalLM"]
    jsonschema.validate(found, json_reporter.schema(Matrix))


def test_one_class_is_shown_with_its_evidence(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"architectures": ["OverlappedForCausalLM"]}')
    shown = run(str(EXAMPLE), "--config", str(config)).stdout
    assert shown == run(str(EXAMPLE), "--entry", "OverlappedForCausalLM").stdout
    assert "sglang/srt/models/overlapped.py:49 OverlappedModel.forward" in shown


def test_the_same_tree_has_not_changed() -> None:
    shown = run(str(EXAMPLE), "--against", str(EXAMPLE), "--only", "changed").stdout
    assert shown.startswith("\n") or "0 served classes" in shown
    assert "was" not in shown


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        pytest.param(("--columns", "captur"), "no column 'captur'", "'capture'", id="column"),
        pytest.param(("--only", "nope"), "no answer 'nope'", "'no'", id="answer"),
        pytest.param(("--only", "changed"), "a tree to compare with", "--against", id="changed"),
        pytest.param(("--entry", "Overlaped"), "no class 'Overlaped'", "OverlappedFor", id="entry"),
    ],
)
def test_mistakes_are_said_in_one_line(arguments: tuple[str, ...], message: str, hint: str) -> None:
    result = run(str(EXAMPLE), *arguments)
    assert result.exit_code == 2
    error, advice = result.stderr.splitlines()
    assert message in error
    assert hint in advice
