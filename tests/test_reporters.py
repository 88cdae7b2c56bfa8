"""What people and programs read.

The golden files hold one report made by hand. After a change that is meant, run
``PATHAUDIT_UPDATE_GOLDEN=1 pytest tests/test_reporters.py`` and read the difference.
"""

import io
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import jsonschema
import msgspec
import pytest
from rich.cells import cell_len

from pathaudit.reporters import json as json_reporter
from pathaudit.reporters import text as text_reporter
from pathaudit.results import (
    EntryReport,
    Finding,
    Gap,
    PathReport,
    Reach,
    Receiver,
    Report,
    Severity,
    Sibling,
    Site,
    Source,
    Step,
    Summary,
    Value,
    Verdict,
)
from pathaudit.results.versions import History, ReportDiff

GOLDEN = Path(__file__).parent / "golden"
ANSI = re.compile(r"\x1b\[[0-9;]*m")
MODELS = "sglang/srt/models"
DEEPSEEK = f"{MODELS}/deepseek_v2.py"
OVERLAP = "sglang/srt/batch_overlap/two_batch_overlap.py"
WHY = """
The draft model is fed the hidden states of the layers it asked for. Layers that run without
capture leave their states out, and the draft reads too few of them, or none.
"""
FIX = """
Hand the capture list to the call and append at each layer in it, or raise when layers_to_capture
is set on this path.
"""

EXCERPTS = {
    DEEPSEEK: {
        3277: "        if forward_batch.can_run_tbo:",
        3278: "            if (",
        3279: "                self.first_k_dense_replace > normal_start_layer",
        3280: "                and self.first_k_dense_replace < normal_end_layer",
        3281: "            ):",
        3286: "        for i in range(normal_start_layer, normal_end_layer):",
        3300: "        if normal_end_layer != self.end_layer:",
        3301: "            hidden_states, residual = model_forward_maybe_tbo(",
        3302: "                layers=self.layers[normal_end_layer : self.end_layer],",
        3303: "                enable_tbo=True,",
    },
    OVERLAP: {
        854: "        return _model_forward_tbo(",
        855: "            inputs=inputs,",
        856: "            operations_strategy=operations_strategy,",
    },
    f"{MODELS}/ernie4.py": {
        88: "        for i, layer in enumerate(self.layers[self.start_layer : self.end_layer]):",
    },
    f"{MODELS}/opt.py": {
        312: "        for layer in self.layers[self.start_layer : self.end_layer]:"
    },
}


def receiver(name: str) -> Receiver:
    return Receiver(name=name, reach=Reach.REACHABLE, entries=(name,))


def finding(**changes: object) -> Finding:
    """A small reachable error; ``changes`` replace its fields."""
    plain = Finding(
        rule="skipped-aux-capture",
        title="Layers run without aux capture",
        severity=Severity.ERROR,
        verdict=Verdict.VIOLATED,
        reach=Reach.REACHABLE,
        entry="OPTModel.forward",
        symbol="OPTModel.forward",
        file=f"{MODELS}/opt.py",
        line=312,
        column=8,
        end_line=312,
        end_column=68,
        message="layers [start_layer, end_layer) run without aux capture",
        condition="always",
        layers="[start_layer, end_layer)",
        witness=(),
        steps=(),
        paths=(),
        features=("set_eagle3_layers_to_capture",),
        receivers=(receiver("OPTModel"),),
        entries=("OPTForCausalLM",),
        siblings=(),
        controls=(),
        why=WHY,
        fix=FIX,
        fingerprint="0123456789abcdef",
    )
    return msgspec.structs.replace(plain, **changes)


def step(line: int, columns: tuple[int, int], kind: str, text: str, **changes: object) -> Step:
    """A step in one line of the canonical function; ``changes`` replace its fields."""
    plain = Step(
        file=DEEPSEEK,
        line=line,
        column=columns[0],
        end_line=line,
        end_column=columns[1],
        kind=kind,
        text=text,
    )
    return msgspec.structs.replace(plain, **changes)


def canonical() -> Finding:
    """The case everything is measured by, with its second path."""
    steps = (
        step(3277, (11, 36), "branch", "forward_batch.can_run_tbo", taken=True),
        step(3279, (16, 65), "branch", "first_k_dense_replace", end_line=3280, taken=True),
        step(3286, (8, 61), "loop", "runs [start_layer, first_k_dense_replace)"),
        step(3300, (11, 45), "branch", "normal_end_layer != self.end_layer", taken=True),
        step(3301, (38, 13), "call", "these layers run here", end_line=3312),
        step(
            854, (15, 9), "call", "flattens each layer into operations", file=OVERLAP, end_line=862
        ),
    )
    first = PathReport(
        condition="forward_batch.can_run_tbo and start_layer < first_k_dense_replace < end_layer",
        layers="[first_k_dense_replace, end_layer)",
        witness=(
            Value("start_layer", 0),
            Value("first_k_dense_replace", 1),
            Value("end_layer", 2),
        ),
        steps=steps,
    )
    second = PathReport(
        condition="forward_batch.can_run_tbo and first_k_dense_replace < start_layer",
        layers="[0, end_layer)",
        witness=(Value("first_k_dense_replace", 1), Value("start_layer", 2)),
        steps=steps,
    )
    sibling = Sibling(
        file=DEEPSEEK,
        line=3286,
        column=8,
        end_line=3286,
        end_column=61,
        condition="not forward_batch.can_run_tbo",
        text="captures in its loop",
    )
    return finding(
        entry="DeepseekV2Model.forward",
        symbol="DeepseekV2Model.forward",
        file=DEEPSEEK,
        line=3301,
        column=38,
        end_line=3312,
        end_column=13,
        message="layers [first_k_dense_replace, end_layer) run without aux capture",
        condition=first.condition,
        layers=first.layers,
        witness=first.witness,
        steps=steps,
        paths=(first, second),
        receivers=(
            Receiver(name="DeepseekV2Model", reach=Reach.REACHABLE, entries=("DeepseekV2Model",)),
        ),
        entries=("DeepseekV3ForCausalLM", *(f"Deepseek{n}ForCausalLM" for n in range(11))),
        siblings=(sibling,),
        controls=("--enable-two-batch-overlap (default off)",),
    )


def split_prefill(number: int, name: str, line: int) -> Finding:
    """One of the notes that say the same of many classes."""
    return finding(
        severity=Severity.NOTE,
        message="split prefill runs its layers without aux capture",
        symbol=f"{name}ForCausalLM.forward_split_prefill",
        file=f"{MODELS}/{name.lower()}.py",
        line=line,
        entries=(f"{name}ForCausalLM",),
        fix="",
        fingerprint=f"{number:016x}",
    )


def sample() -> Report:
    """One report with something of everything."""
    names = (("Apertus", 523), ("Gemma3", 650), ("Llama", 512), ("Qwen3Moe", 792))
    findings = (
        canonical(),
        finding(
            verdict=Verdict.UNKNOWN,
            message="layers run here and the callee could not be followed",
            symbol="Ernie4Model.forward",
            file=f"{MODELS}/ernie4.py",
            line=88,
            column=8,
            end_line=88,
            end_column=82,
            condition="self.pp_group.is_first_rank",
            entries=("Ernie4ForCausalLM", "Ernie4MoeForCausalLM"),
            fix="",
        ),
        *(split_prefill(n, name, line) for n, (name, line) in enumerate(names)),
        finding(
            severity=Severity.NOTE,
            reach=Reach.DORMANT,
            suppressed="no draft model exists for OPT",
        ),
    )
    return report(
        findings,
        entries=(entry("LlamaModel.forward", 320), *entries()),
        gaps=gaps(),
        summary=Summary(
            files=412,
            entries=61,
            sites=74,
            holds=66,
            violated=7,
            unknown=1,
            errors=1,
            warnings=0,
            notes=4,
            suppressed=1,
            gaps=2,
        ),
    )


def entry(name: str, line: int, **changes: object) -> EntryReport:
    """An entry that holds; ``changes`` replace its fields."""
    site = Site(
        file=f"{MODELS}/llama.py",
        line=line + 18,
        column=8,
        end_line=line + 18,
        end_column=60,
        layers="[start_layer, end_layer)",
        verdict=Verdict.HOLDS,
        condition="always",
        evidence=(f"{MODELS}/llama.py:{line + 20}",),
    )
    plain = EntryReport(
        rule="skipped-aux-capture",
        entry=name,
        file=f"{MODELS}/llama.py",
        line=line,
        verdict=Verdict.HOLDS,
        reach=Reach.REACHABLE,
        receivers=("LlamaModel",),
        architectures=("LlamaForCausalLM",),
        features=("set_eagle3_layers_to_capture",),
        sites=(site,),
    )
    return msgspec.structs.replace(plain, **changes)


def entries() -> tuple[EntryReport, ...]:
    """One entry that breaks the rule and one that nobody can judge."""
    held = entry("", 0).sites[0]
    violated = msgspec.structs.replace(
        held,
        file=DEEPSEEK,
        line=3301,
        layers="[first_k_dense_replace, end_layer)",
        verdict=Verdict.VIOLATED,
        condition=canonical().condition,
        evidence=(),
    )
    unknown = msgspec.structs.replace(violated, file=f"{MODELS}/ernie4.py", line=88, layers="")
    return (
        entry(
            "DeepseekV2Model.forward",
            3230,
            file=DEEPSEEK,
            verdict=Verdict.VIOLATED,
            sites=(held, violated),
        ),
        entry(
            "Ernie4Model.forward",
            70,
            file=f"{MODELS}/ernie4.py",
            verdict=Verdict.UNKNOWN,
            reach=Reach.DORMANT,
            sites=(msgspec.structs.replace(unknown, verdict=Verdict.UNKNOWN),),
        ),
    )


def gaps() -> tuple[Gap, ...]:
    """A file that cannot be read and a budget that ran out."""
    return (
        Gap(
            kind="file",
            file=f"{MODELS}/broken.py",
            line=12,
            message="does not parse: invalid syntax",
        ),
        Gap(
            kind="budget",
            file=f"{MODELS}/ernie4.py",
            line=88,
            message="20,000 states were not enough",
            entries=("Ernie4Model.forward",),
        ),
    )


def report(findings: Iterable[Finding] = (), **changes: object) -> Report:
    """A report on sglang 0.5.6; without ``changes`` one where 74 sites hold."""
    plain = Report(
        tool="pathaudit 0.1.0",
        source=Source(label="sglang==0.5.6", version="0.5.6"),
        rules=("skipped-aux-capture",),
        findings=tuple(findings),
        entries=(),
        gaps=(),
        summary=Summary(
            files=412,
            entries=61,
            sites=74,
            holds=74,
            violated=0,
            unknown=0,
            errors=0,
            warnings=0,
            notes=0,
            suppressed=0,
            gaps=0,
        ),
    )
    return msgspec.structs.replace(plain, **changes)


def shown(
    answer: Report,
    excerpts: Mapping[str, Mapping[int, str]] = EXCERPTS,
    *,
    width: int = 80,
    color: bool = False,
    verbose: bool = False,
    seconds: float | None = None,
) -> str:
    out = io.StringIO()
    text_reporter.render(
        answer, out, excerpts=excerpts, width=width, color=color, verbose=verbose, seconds=seconds
    )
    return out.getvalue()


def many(count: int, **changes: object) -> tuple[Finding, ...]:
    """Findings in as many files, whose messages differ only in a name."""
    return tuple(
        finding(
            file=f"{MODELS}/model{n}.py",
            message=f"layers [start_layer, end_{n}) run without aux capture",
            fingerprint=f"{n:016x}",
            **changes,
        )
        for n in range(count)
    )


def compare_golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("PATHAUDIT_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def as_json(answer: Report) -> str:
    out = io.StringIO()
    json_reporter.render(answer, out)
    return out.getvalue()


# Golden files


def test_text_is_as_agreed() -> None:
    usual = shown(sample())
    everything = shown(sample(), verbose=True, seconds=1.93)
    compare_golden("report.txt", f"{usual}\n{'=' * 30} --verbose {'=' * 30}\n\n{everything}")


def test_json_is_as_agreed() -> None:
    compare_golden("report.json", as_json(sample()))


@pytest.mark.parametrize(
    ("kind", "name"), [(Report, "report"), (ReportDiff, "diff"), (History, "history")]
)
def test_schema_is_as_agreed(kind: type[Report | ReportDiff | History], name: str) -> None:
    text = json.dumps(json_reporter.schema(kind), indent=2) + "\n"
    compare_golden(f"{name}.schema.json", text)


# JSON


@pytest.mark.parametrize(
    "answer",
    [pytest.param(sample(), id="sample"), pytest.param(report(), id="no findings")],
)
def test_json_follows_its_schema(answer: Report) -> None:
    validator = jsonschema.Draft202012Validator(json_reporter.schema())
    validator.check_schema(json_reporter.schema())
    document = json.loads(as_json(answer))
    validator.validate(document)
    assert not validator.is_valid(document | {"more": 1})
    assert not validator.is_valid(document | {"schema": 2})
    for name in document:
        assert not validator.is_valid({key: document[key] for key in document if key != name})


def test_json_says_all_and_only_that() -> None:
    text = as_json(sample())
    assert msgspec.json.decode(text, type=Report) == sample()
    assert list(json.loads(text)) == [
        *(
            "schema",
            "tool",
            "source",
            "findings",
            "entries",
            "gaps",
            "summary",
            "rules",
            "files",
            "inert",
            "baseline",
            "left_out",
        )
    ]
    assert text.endswith("\n}\n")


def test_json_is_safe_to_print_and_to_encode() -> None:
    hostile = "\x1b[31m \x7f \u202e \x85 \udcff"
    text = as_json(report([finding(symbol=hostile, file=hostile)]))
    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    assert json.loads(text)["findings"][0]["symbol"] == hostile


# Text: layout


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("verbose", [False, True])
def test_text_fits(width: int, verbose: bool) -> None:
    wide = {
        file: {number: line + "  # " + "x" * 300 for number, line in lines.items()}
        for file, lines in EXCERPTS.items()
    }
    answer = msgspec.structs.replace(sample(), findings=(*sample().findings, *many(60)))
    for excerpts in (EXCERPTS, wide):
        text = shown(answer, excerpts, width=width, verbose=verbose, seconds=100.04)
        assert max(map(cell_len, text.splitlines())) <= width
        assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_only_an_unbreakable_path_exceeds_the_width() -> None:
    path = "sglang/" + "deeply_nested/" * 9 + "model.py"
    text = shown(report([finding(file=path)] + [finding(file=path, severity=Severity.NOTE)] * 3))
    wide = [line for line in text.splitlines() if cell_len(line) > 80]
    assert [f"--> {path}:312:9", *[f"{path}:312"] * 3] == [line.strip() for line in wide]


@pytest.mark.parametrize("verbose", [False, True])
def test_colour_only_adds_codes(verbose: bool) -> None:
    plain = shown(sample(), verbose=verbose)
    painted = shown(sample(), verbose=verbose, color=True)
    assert "\x1b" not in plain
    assert plain.isascii()
    assert ANSI.sub("", painted) == plain
    assert "\x1b[1;31merror[skipped-aux-capture]\x1b[0m" in painted
    assert "\x1b[1;34mnote[skipped-aux-capture]\x1b[0m" in painted
    assert "\x1b[2m3277 |\x1b[0m" in painted


@pytest.mark.parametrize(
    ("line", "columns", "expected"),
    [
        pytest.param("f(x)", (0, 4), ["f(x)", "^^^^"], id="plain"),
        pytest.param("\tf(x)", (1, 5), ["    f(x)", "    ^^^^"], id="tab"),
        pytest.param("x\tf(x)", (2, 6), ["x    f(x)", "     ^^^^"], id="inner tab"),
        pytest.param('"層" + f', (6, 7), ['"層" + f', "       ^"], id="wide"),
        pytest.param("層(x)", (0, 4), ["層(x)", "^^^^^"], id="wide underlined"),
        pytest.param("\x1b f", (2, 3), ["\\x1b f", "     ^"], id="escaped"),
        pytest.param("e\u0301 f", (3, 4), ["e\u0301 f", "  ^"], id="combining"),
        pytest.param("f(x)   ", (0, 90), ["f(x)", "^^^^"], id="past the end"),
        pytest.param("f", (5, 9), ["f", "^"], id="beyond the end"),
        pytest.param("", (0, 4), ["", "^"], id="empty"),
        pytest.param(
            "a" * 100 + " f(x) " + "b" * 100,
            (101, 105),
            ["..." + "a" * 65 + " f(x)...", " " * 69 + "^^^^"],
            id="cut on both sides",
        ),
        pytest.param(
            "a" * 100 + " f(x)",
            (101, 105),
            ["..." + "a" * 68 + " f(x)", " " * 72 + "^^^^"],
            id="cut on the left",
        ),
        pytest.param(
            "f(x) " + "層" * 100,
            (0, 4),
            ["f(x) " + "層" * 34 + "...", "^^^^"],
            id="cut on the right",
        ),
        pytest.param(
            " " * 60 + "f" * 100,
            (60, 160),
            ["..." + "f" * 70 + "...", "   " + "^" * 70],
            id="longer than a line",
        ),
    ],
)
def test_underline(line: str, columns: tuple[int, int], expected: list[str]) -> None:
    region = {"line": 9, "column": columns[0], "end_line": 9, "end_column": columns[1]}
    place = finding(message="short", layers="", **region)
    source = shown(report([place]), {place.file: {9: line}}).splitlines()[2:5]
    assert source == ["  |", f"9 | {expected[0]}".rstrip(), f"  | {expected[1]}"]


def test_labels_of_one_line() -> None:
    place = finding(
        file=DEEPSEEK,
        line=3301,
        column=12,
        end_line=3301,
        end_column=60,
        steps=(
            step(3301, (38, 61), "call", "hands the layers on"),
            step(3301, (30, 33), "branch", "", taken=False),
            step(3301, (30, 33), "branch", "", taken=True),
        ),
    )
    text = shown(report([place]), width=100)
    assert f"     | {' ' * 12}{'^' * 48} hands the layers on\n" in text
    assert f"     | {' ' * 30}--- not taken; taken\n" in text


def test_missing_lines_are_not_shown() -> None:
    text = shown(report([canonical()]), {DEEPSEEK: {3301: EXCERPTS[DEEPSEEK][3301]}})
    assert re.findall(r"^ *(\d+) \|", text, re.M) == ["3301"]
    assert OVERLAP not in text
    assert shown(report([canonical()]), {}).count("\n     |\n") == 1


def test_lines_wanted_are_those_shown() -> None:
    wanted = text_reporter.lines_wanted(sample())
    everything = {file: {n: f"line {n}" for n in range(1, 4000)} for file in wanted}
    only = {file: {n: f"line {n}" for n in wanted[file]} for file in wanted}
    assert set(wanted) == set(EXCERPTS)
    assert wanted[DEEPSEEK] == {*range(3277, 3281), 3286, *range(3300, 3304)}
    assert shown(sample(), everything) == shown(sample(), only)
    text = shown(sample(), everything, verbose=True)
    assert text == shown(sample(), only, verbose=True)
    assert len(re.findall(r"^ *\d+ \| line", text, re.M)) == sum(map(len, wanted.values()))


def test_long_paths_keep_the_steps_nearest_to_the_site() -> None:
    steps = tuple(step(n, (0, 4), "branch", "", taken=True) for n in range(1, 41))
    source = {DEEPSEEK: dict.fromkeys(range(1, 100), "if x:")}
    place = finding(file=DEEPSEEK, line=50, end_line=50, steps=steps)
    text = shown(report([place]), source)
    assert re.findall(r"^(\d+) \|", text, re.M) == [*map(str, range(25, 41)), "50"]
    assert "= steps:      24 earlier ones not shown (--verbose)" in text
    assert "not shown" not in shown(report([place]), source, verbose=True)


# Text: what is said


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, "error[skipped-aux-capture]: ", id="error"),
        pytest.param(
            {"severity": Severity.WARNING}, "warning[skipped-aux-capture]: ", id="warning"
        ),
        pytest.param({"severity": Severity.NOTE}, "note[skipped-aux-capture]: ", id="note"),
        pytest.param({"verdict": Verdict.UNKNOWN}, "unknown[skipped-aux-capture]: ", id="unknown"),
        pytest.param({"reach": Reach.GATED}, "= reach:      gated: ", id="gated"),
        pytest.param({"reach": Reach.BLOCKED}, "= reach:      blocked: ", id="blocked"),
        pytest.param({"reach": Reach.DORMANT}, "= reach:      dormant: ", id="dormant"),
        pytest.param({"features": ()}, "= for:        served as OPTFor", id="no feature"),
        pytest.param({"entries": ()}, "= for:        set_eagle3_layers", id="nothing served"),
        pytest.param({"column": 0}, "--> sglang/srt/models/opt.py:312:1\n", id="columns from 1"),
        pytest.param({"why": "One.\n\n  Two.\n"}, "= why:        One. Two.\n", id="prose"),
    ],
)
def test_finding_says(changes: dict[str, object], expected: str) -> None:
    assert expected in shown(report([finding(**changes)]))


@pytest.mark.parametrize("field", ["fix", "why", "layers", "witness", "siblings", "controls"])
def test_nothing_is_said_of_what_is_not_known(field: str) -> None:
    key = {"witness": "example", "siblings": "compare", "controls": "enabled by"}.get(field, field)
    empty: object = () if field in ("witness", "siblings", "controls") else ""
    assert f"= {key}:" in shown(report([canonical()]))
    assert f"= {key}:" not in shown(
        report([msgspec.structs.replace(canonical(), **{field: empty})])
    )


@pytest.mark.parametrize(("alternatives", "expected"), [(4, True), (40, False)])
def test_a_condition_is_compared_where_it_can_be_read(alternatives: int, expected: bool) -> None:
    condition = " or ".join(f"flag_{n}" for n in range(alternatives))
    sibling = msgspec.structs.replace(canonical().siblings[0], condition=condition)
    text = shown(report([msgspec.structs.replace(canonical(), siblings=(sibling,))]))
    assert "captures in its loop" in text
    assert ("when flag_0" in text) is expected


def test_further_paths_are_counted() -> None:
    paths = tuple(
        PathReport(condition=f"case_{n}", layers="[0, n)", witness=(), steps=()) for n in range(9)
    )
    place = finding(condition="case_0", layers="[0, n)", paths=paths)
    text = shown(report([place]))
    assert re.findall(r"also when:  (.*)", text) == [
        *("case_1", "case_2", "case_3", "5 more paths (--verbose)")
    ]
    assert len(re.findall("also when", shown(report([place]), verbose=True))) == 8


def test_suppressed_findings_are_shown_on_request() -> None:
    answer = report([finding(suppressed="accepted until 0.5.9"), finding(suppressed="")])
    assert "[skipped-aux-capture]" not in shown(answer)
    text = shown(answer, verbose=True)
    assert text.count("suppressed[skipped-aux-capture]: ") == 2
    assert "= suppressed: accepted until 0.5.9\n" in text
    assert "= suppressed: no reason given\n" in text


def test_reasons_are_told_once() -> None:
    text = shown(report([finding(), canonical(), finding(rule="other", why="Another reason.")]))
    assert re.findall(r"= why: +(\S+ \S+)", text) == ["The draft", "as above", "Another reason."]


# Text: many findings


def test_notes_that_say_the_same_are_one_list() -> None:
    notes = [split_prefill(n, f"Model{n}", n + 1) for n in range(60)]
    text = shown(report(notes))
    assert text.count("note[skipped-aux-capture]") == 1
    assert text.count("= why:") == 1
    assert "  at 60 places:\n" in text
    assert all(f"{note.file}:{note.line} " in text for note in notes)
    assert text.count("\n") < 60 + 12


def test_a_list_says_when_unless_it_is_the_same() -> None:
    notes = [split_prefill(n, f"Model{n}", n + 1) for n in range(3)]
    assert "    when is_split" not in shown(report(notes))
    notes[1] = msgspec.structs.replace(notes[1], condition="is_split and rows > 0")
    text = shown(report(notes), width=100)
    assert "= when:" not in text
    assert "Model0ForCausalLM.forward_split_prefill  always\n" in text
    assert "\n        when is_split and rows > 0\n" in text


def test_two_notes_are_a_list_and_one_is_shown() -> None:
    note = split_prefill(0, "Llama", 512)
    assert "-->" in shown(report([note]))
    assert "-->" not in shown(report([note, note]))
    assert shown(report([note, msgspec.structs.replace(note, reach=Reach.GATED)])).count("-->") == 2


@pytest.mark.parametrize("count", [2, 3])
def test_warnings_that_say_the_same_are_one_list_from_three_on(count: int) -> None:
    text = shown(report([finding(severity=Severity.WARNING)] * count))
    assert text.count("warning[") == (1 if count > 2 else count)
    assert text.count("-->") == (0 if count > 2 else count)


def test_errors_that_say_the_same_show_the_first() -> None:
    errors = [msgspec.structs.replace(finding(), line=n, end_line=n) for n in (312, 400, 500)]
    errors[2] = msgspec.structs.replace(errors[2], condition="use_split")
    text = shown(report(errors))
    assert text.count("error[") == text.count("-->") == 1
    assert "  the same at 2 more places:\n" in text
    assert "    sglang/srt/models/opt.py:400  OPTModel.forward  always\n" in text
    assert "    sglang/srt/models/opt.py:500  OPTModel.forward  when use_split\n" in text


def test_twenty_errors_are_shown_in_full() -> None:
    last = finding(file=f"{MODELS}/zebra.py", message="another kind of message")
    text = shown(report([*many(60), last]))
    assert text.count("-->") == 20
    assert f"--> {MODELS}/zebra.py:312:9\n" in text
    assert "41 more findings in short; --format json has all of each:\n" in text
    assert all(f"{MODELS}/model{n}.py:312" in text for n in range(60))
    assert text.count("312  OPTModel.forward  always\n") == 41


def test_errors_come_first_and_notes_last() -> None:
    note = finding(severity=Severity.NOTE)
    warning = finding(severity=Severity.WARNING)
    text = shown(report([note, finding(verdict=Verdict.UNKNOWN), warning, finding()]))
    assert re.findall(r"^(\w+)\[", text, re.M) == ["error", "warning", "unknown", "note"]


# Text: entries, gaps and the summary


def test_what_holds_is_shown_on_request() -> None:
    assert "entries judged" not in shown(sample())
    text = shown(sample(), verbose=True, width=140)
    assert (
        "  holds     sglang/srt/models/llama.py:320         LlamaModel.forward       "
        "captures at sglang/srt/models/llama.py:340 on every path\n"
    ) in text
    assert "  violated  sglang/srt/models/deepseek_v2.py:3230  DeepseekV2Model.forward\n" in text


def test_gaps_are_counted_beyond_ten() -> None:
    found = tuple(Gap(kind="call", file="a.py", line=n, message="open") for n in range(1, 13))
    text = shown(report(gaps=found))
    assert text.count("gap[call]: a.py:") == 10
    assert "2 more gaps; --verbose lists all 12\n" in text
    assert shown(report(gaps=found), verbose=True).count("gap[call]: a.py:") == 12


def test_what_is_not_covered_is_the_last_line() -> None:
    assert shown(sample()).splitlines()[-1] == (
        "Not covered by this answer: sglang/srt/models/broken.py, Ernie4Model.forward"
    )
    assert "Not covered" not in shown(
        report(gaps=(Gap(kind="call", file="a", line=1, message=""),))
    )


def test_a_file_that_was_not_read_is_named_once() -> None:
    gap = Gap(kind="file", file="a.py", line=1, message="too large", entries=("A.f", "A.g"))
    assert shown(report(gaps=(gap,))).endswith("\nNot covered by this answer: a.py\n")


def test_a_gap_without_a_place_is_just_said() -> None:
    gap = Gap(kind="profile", file="", line=0, message="an anchor is missing")
    assert shown(report(gaps=(gap,))).startswith("gap[profile]: an anchor is missing\n")


def test_the_good_answer_is_one_sentence() -> None:
    assert shown(report(), seconds=1.93) == (
        "Every path holds in sglang==0.5.6: 61 entries audited, 74 layer-running sites\n"
        "  judged: 74 hold, 0 violated, 0 unknown; 0 suppressed; 0 gaps; 1.9 s\n"
    )
    assert "\x1b[1;32mEvery path holds\x1b[0m" in shown(report(), color=True)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"errors": 1, "notes": 9}, "1 error, 9 notes", id="found"),
        pytest.param({"warnings": 2}, "2 warnings", id="warnings"),
        pytest.param(
            {"unknown": 2}, "No findings, but not everything could be decided", id="unknown"
        ),
        pytest.param({"sites": 0, "holds": 0}, "Nothing was judged", id="nothing"),
        pytest.param({"holds": 73, "suppressed": 1}, "No findings", id="suppressed"),
        pytest.param({"gaps": 1}, "No findings", id="gaps"),
    ],
)
def test_the_answer_begins_with(changes: dict[str, int], expected: str) -> None:
    summary = msgspec.structs.replace(report().summary, **changes)
    assert shown(report(summary=summary)).startswith(f"{expected} in sglang==0.5.6: ")


@pytest.mark.parametrize(
    ("label", "version", "expected"),
    [
        pytest.param("sglang==0.5.6", "0.5.6", "sglang==0.5.6", id="requirement"),
        pytest.param("/work/sglang", "0.5.6", "/work/sglang (version 0.5.6)", id="directory"),
        pytest.param("/work/10.5.61", "0.5.6", "/work/10.5.61 (version 0.5.6)", id="by chance"),
        pytest.param("git:HEAD", None, "git:HEAD", id="unversioned"),
    ],
)
def test_the_source_is_named(label: str, version: str | None, expected: str) -> None:
    answer = report(source=Source(label=label, version=version))
    assert f" in {expected}: " in shown(answer, width=200)


# Text: audited code is not trusted


@pytest.mark.parametrize(
    ("hostile", "expected"),
    [
        pytest.param("a\x1b[31mb", "a\\x1b[31mb", id="escape sequence"),
        pytest.param("a\x9b31mb", "a\\x9b31mb", id="C1"),
        pytest.param("a\x7fb", "a\\x7fb", id="delete"),
        pytest.param("a\nb\rc", "a\\nb\\rc", id="line ends"),
        pytest.param("a\u2028b", "a\\u2028b", id="line separator"),
        pytest.param("a\u202eb\u2066c", "a\\u202eb\\u2066c", id="bidirectional"),
        pytest.param("a\u200bb\ufeffc", "a\\u200bb\\ufeffc", id="zero width"),
        pytest.param("a\u034fb\ufe0fc", "a\\u034fb\\ufe0fc", id="drawn as nothing"),
        pytest.param("a\U000e0041b", "a\\U000e0041b", id="tag"),
        pytest.param("a\xa0b", "a\\xa0b", id="no-break space"),
        pytest.param("a\udcffb", "a\\udcffb", id="undecodable"),
        pytest.param("a\tb", "a\\tb", id="tab"),
        pytest.param("[red]a[/red]", "[red]a[/red]", id="markup"),
        pytest.param("層é", "層é", id="other scripts"),
    ],
)
def test_hostile_text_is_shown(hostile: str, expected: str) -> None:
    answer = hostile_report(hostile)
    text = shown(answer, {hostile: {1: hostile}}, verbose=True, width=200)
    assert hostile == expected or hostile not in text
    assert text.count(expected) >= 25
    assert all(character.isprintable() for character in text.replace("\n", ""))
    harmless = shown(hostile_report("a"), {"a": {1: "a"}}, verbose=True, width=200)
    assert text.count("\n") == harmless.count("\n")


def hostile_report(text: str) -> Report:
    """A report with ``text`` wherever the audited code or a rule has a say."""
    where = {"file": text, "line": 1, "column": 0, "end_line": 1, "end_column": 1}
    path = PathReport(condition=text, layers=text, witness=(Value(text, 1),), steps=())
    other = msgspec.structs.replace(path, layers=f"{text}2")
    place = finding(
        **where,
        rule=text,
        message=text,
        symbol=text,
        condition=text,
        layers=text,
        witness=path.witness,
        steps=(step(1, (0, 1), "call", text, file=text),),
        paths=(path, other),
        features=(text,),
        entries=(text,),
        siblings=(
            Sibling(
                file=text, line=1, column=0, end_line=1, end_column=1, condition=text, text=text
            ),
        ),
        controls=(text,),
        suppressed=text,
    )
    judged = entry(text, 1, file=text, rule=text)
    site = msgspec.structs.replace(judged.sites[0], file=text, layers=text, condition=text)
    return report(
        [place],
        source=Source(label=text, version=text),
        entries=(
            msgspec.structs.replace(
                judged, sites=(msgspec.structs.replace(site, evidence=(text,)),)
            ),
            msgspec.structs.replace(
                judged,
                verdict=Verdict.VIOLATED,
                sites=(msgspec.structs.replace(site, verdict=Verdict.VIOLATED),),
            ),
        ),
        gaps=(Gap(kind=text, file=text, line=1, message=text, entries=(text,)),),
    )


@pytest.mark.parametrize(
    "field", ["rule", "message", "symbol", "file", "condition", "layers", "entries", "features"]
)
def test_a_very_long_name_changes_only_its_own_line(field: str) -> None:
    long: object = "x" * 10_000
    many_fields = ("entries", "features")
    changed = msgspec.structs.replace(
        canonical(), **{field: (long,) if field in many_fields else long}
    )
    usual = shown(report([canonical(), finding()]), {}).splitlines()
    lines = shown(report([changed, finding()]), {}).splitlines()
    assert max(map(len, lines)) <= 80 + 255
    assert [line for line in lines if "xxx" in line]
    assert len(lines) <= len(usual) + 1
    assert lines[-10:] == usual[-10:]


def test_what_the_output_cannot_encode_is_escaped() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii", newline="\n")
    text_reporter.render(report([finding(symbol="層", message="層")]), out, excerpts={})
    out.flush()
    assert b"error[skipped-aux-capture]: \\u5c64\n" in raw.getvalue()
