"""Comments accept findings, and are reported when they accept none."""

import re
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from pathaudit.audit import audit
from pathaudit.check import check_rule
from pathaudit.results import Finding, Gap, Reach, Report, Severity, fails
from pathaudit.sources import from_text
from pathaudit.suppress import apply_suppressions
from pathaudit.work import Work
from tests.labels import MODELS, capture_rules

RULE = "skipped-aux-capture"
ALLOW = f"# pathaudit: allow[{RULE}]"
FILE = f"{MODELS}/example.py"

# A line that begins with a number in a comment is where a test may put one of its own.
MODEL = """\
from torch import nn


class Layer(nn.Module):
    def forward(self, states):
        return states


class Model(nn.Module):
    def __init__(self, config):
        self.layers = nn.ModuleList([Layer() for _ in range(config.num_hidden_layers)])
        self.layers_to_capture = []

    #1
    @staged  #2
    #3
    def forward(self, states):  #4
        first = states  #5
        #6
        for layer in (  #7
            #8
            self.layers  #9
        ):  #10
            #11
            states = layer(  #12
                states
            )
        #13
        return states  #14


class ModelForCausalLM(nn.Module):
    def __init__(self, config):
        self.model = Model(config)

    def forward(self, states):
        return self.model(states)

    def set_eagle3_layers_to_capture(self, layer_ids):
        self.model.layers_to_capture = layer_ids


EntryClass = ModelForCausalLM
"""


def source(comments: dict[int, str], model: str = MODEL) -> str:
    """The model with comments at some of its numbers, and no line for the others."""
    text = re.sub(r"#(\d+)", lambda match: comments.get(int(match[1]), "#"), model)
    return re.sub(r"^ *#\n", "", text, flags=re.MULTILINE).replace("  #\n", "\n")


def judged(text: str, *, entry: str | None = None, **more: str) -> Report:
    files = {f"{MODELS}/{name}.py": code for name, code in more.items()}
    return audit(from_text({FILE: text, **files}), capture_rules(), entry=entry)


def told(findings: Sequence[Finding]) -> list[tuple[str, str | None]]:
    return [(finding.rule, finding.suppressed) for finding in findings]


ACCEPTED = [(RULE, "no draft")]
OPEN = [(RULE, None)]
UNUSED = [*OPEN, ("unused-allow", None)]


def test_without_a_comment_the_finding_is_open() -> None:
    assert told(judged(source({})).findings) == OPEN


# ---- where ------------------------------------------------------------------------------------

PLACES = [
    pytest.param(1, True, id="above the decorator"),
    pytest.param(2, False, id="behind the decorator"),
    pytest.param(3, False, id="between decorator and def"),
    pytest.param(4, False, id="behind the def"),
    pytest.param(5, False, id="behind the statement before"),
    pytest.param(6, True, id="above the statement"),
    pytest.param(7, True, id="first line of the statement"),
    pytest.param(8, True, id="line of its own in the statement"),
    pytest.param(9, True, id="line within the statement"),
    pytest.param(10, True, id="last line of the header"),
    pytest.param(11, False, id="above the first statement of the body"),
    pytest.param(12, False, id="in the body"),
    pytest.param(13, False, id="below the loop"),
    pytest.param(14, False, id="behind the statement after"),
]


@pytest.mark.parametrize(("place", "accepted"), PLACES)
def test_where_a_comment_accepts(place: int, accepted: bool) -> None:
    findings = judged(source({place: f"{ALLOW} no draft"})).findings
    assert (ACCEPTED if accepted else sorted(UNUSED)) == sorted(told(findings))


BLOCKS = [
    pytest.param(f"{ALLOW} no draft\n        # and a remark", ACCEPTED, id="a remark below"),
    pytest.param(f"# a remark\n        {ALLOW} no draft", ACCEPTED, id="a remark above"),
    pytest.param(f"{ALLOW} no draft\n", UNUSED, id="an empty line below"),
]


@pytest.mark.parametrize(("comment", "expected"), BLOCKS)
def test_comments_on_lines_of_their_own_belong_together(
    comment: str, expected: list[tuple[str, str | None]]
) -> None:
    assert sorted(expected) == sorted(told(judged(source({6: comment})).findings))


def test_a_comment_at_the_statement_wins_over_one_above_the_function() -> None:
    comments = {1: f"{ALLOW} the function", 7: f"{ALLOW} the statement"}
    assert told(judged(source(comments)).findings) == [(RULE, "the statement")]


def test_a_comment_in_another_file_accepts_nothing() -> None:
    report = judged(source({}), other=f"{ALLOW} no draft\n")
    assert [(FILE, RULE), (f"{MODELS}/other.py", "unused-allow")] == [
        (finding.file, finding.rule) for finding in report.findings
    ]


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_any_end_of_a_line(end: str) -> None:
    text = source({6: f"{ALLOW} no draft"}).replace("\n", end)
    assert told(judged(text).findings) == ACCEPTED


# ---- what is written --------------------------------------------------------------------------

WITHOUT_REASON = [*OPEN, ("allow-without-reason", None)]
TEXTS = [
    pytest.param(f"#pathaudit:allow[{RULE}]no draft", ACCEPTED, id="no spaces"),
    pytest.param(f"# pathaudit: allow[ {RULE} ] \t no draft ", ACCEPTED, id="spaces"),
    pytest.param(f"# pathaudit: allow[other, {RULE}] no draft", ACCEPTED, id="several rules"),
    pytest.param(f"# fmt: skip # pathaudit: allow[{RULE}] no draft", ACCEPTED, id="after another"),
    pytest.param(f"{ALLOW} no draft # fmt: skip", ACCEPTED, id="before another"),
    pytest.param(f"{ALLOW} see #12", [(RULE, "see #12")], id="a number sign in a reason"),
    pytest.param("# pathaudit: allow[other] no draft", OPEN, id="a rule that was not run"),
    pytest.param("# pathaudit: allow[] no draft", OPEN, id="no rule"),
    pytest.param(f"# pathaudit: ignore[{RULE}] no draft", OPEN, id="another word"),
    pytest.param(f"# Pathaudit: allow[{RULE}] no draft", OPEN, id="another case"),
    pytest.param(ALLOW, WITHOUT_REASON, id="no reason"),
    pytest.param(f"{ALLOW}: -", WITHOUT_REASON, id="a dash is no reason"),
    pytest.param(f"{ALLOW} # fmt: skip", WITHOUT_REASON, id="another comment is no reason"),
    pytest.param(f"'# pathaudit: allow[{RULE}] no draft'", OPEN, id="a string"),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_what_a_comment_says(text: str, expected: list[tuple[str, str | None]]) -> None:
    assert sorted(expected) == sorted(told(judged(source({6: text})).findings))


# ---- comments that accept nothing -------------------------------------------------------------


def remark(comments: dict[int, str]) -> Finding:
    """The finding about a comment."""
    found = [item for item in judged(source(comments)).findings if item.rule != RULE]
    assert len(found) == 1
    return found[0]


def test_an_allow_without_a_reason() -> None:
    found = remark({6: ALLOW})
    assert (found.severity, found.reach, found.line) == (Severity.WARNING, Reach.REACHABLE, 17)
    assert found.symbol == "Model.forward"
    assert (found.column, found.end_column) == (8, 8 + len(ALLOW))
    assert found.message == f"allow[{RULE}] gives no reason and accepts nothing"
    assert fails(found, Severity.WARNING)
    assert not fails(found, Severity.ERROR)


def test_an_unused_allow_names_the_rules_that_were_run() -> None:
    found = remark({5: f"# pathaudit: allow[other, {RULE}] no draft"})
    assert (found.severity, found.message) == (Severity.NOTE, f"allow[{RULE}] accepts no finding")


def test_equal_comments_have_fingerprints_of_their_own() -> None:
    report = judged(source({5: ALLOW, 14: ALLOW}))
    prints = [finding.fingerprint for finding in report.findings]
    assert len(set(prints)) == 3


def test_a_comment_outside_functions_is_named_by_its_file() -> None:
    report = judged(f"{ALLOW} no draft\n" + source({}))
    assert report.findings[0].symbol == ""


def test_on_a_part_of_the_tree_no_comment_is_unused() -> None:
    text = source({13: f"{ALLOW} no draft"})
    assert told(judged(text, entry="ModelForCausalLM").findings) == OPEN


def test_a_file_that_does_not_parse_is_a_gap_and_nothing_else() -> None:
    report = judged(source({}), broken=f"EntryClass = (\n{ALLOW} no draft\n")
    assert told(report.findings) == OPEN
    assert [f"{MODELS}/broken.py"] == [gap.file for gap in report.gaps]


def test_no_comment_is_unused_where_a_budget_ran_out() -> None:
    rules = capture_rules()
    tree = from_text({FILE: source({6: f"{ALLOW} no draft"})})
    work = Work(tree, rules.profile)
    index = work.index
    answer = check_rule(work, rules.rules[0])
    lost = replace(answer, findings=())
    gap = Gap(kind="budget", file="sglang/a.py", line=1, message="", entries=("ModelForCausalLM",))
    cut = replace(lost, gaps=(gap,))
    assert told(apply_suppressions(index, rules, [lost], whole=True)) == UNUSED[1:]
    assert apply_suppressions(index, rules, [cut], whole=True) == ()


MISSPELT = {
    "nearly a rule": ("skiped-aux-capture", ["unknown-allow"]),
    "perhaps a rule of a team": ("skipped-tap-of-ours", []),
}


@pytest.mark.parametrize(("rule", "expected"), MISSPELT.values(), ids=MISSPELT)
def test_a_misspelt_rule(rule: str, expected: list[str]) -> None:
    report = judged(source({6: f"# pathaudit: allow[{rule}] no draft"}))
    assert [x.rule for x in report.findings if x.rule != RULE] == expected
    assert [x.suppressed for x in report.findings if x.rule == RULE] == [None]


# ---- the report -------------------------------------------------------------------------------


def test_an_accepted_finding_stays_and_does_not_fail() -> None:
    accepted, open_ = judged(source({6: f"{ALLOW} no draft"})), judged(source({}))
    assert not any(fails(finding, Severity.NOTE, strict=True) for finding in accepted.findings)
    assert accepted.findings[0].fingerprint == open_.findings[0].fingerprint
    assert (accepted.summary.errors, accepted.summary.suppressed) == (0, 1)
    assert (open_.summary.errors, open_.summary.suppressed) == (1, 0)
