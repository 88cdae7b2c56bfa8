"""The runner of labelled files."""

import pytest

from pathaudit.labels import Label, Outcome, compare, read_labels
from pathaudit.results import Finding, Reach, Severity, Verdict

SOURCE = '''
"""# expect: no-label-in-a-string"""
# expect: one
# beside a remark
for item in (
    1,
):
    # ok: one
    run(
        item
    )  # ok: trailing
# todo: two
x = 1
'''


def finding(line: int, **changes: object) -> Finding:
    fields: dict[str, object] = dict.fromkeys(Finding.__struct_fields__, "")
    kind = {"severity": Severity.ERROR, "verdict": Verdict.VIOLATED, "reach": Reach.REACHABLE}
    return Finding(**(fields | kind | {"line": line, "condition": "x"} | changes))  # type: ignore[arg-type]


def label(kind: str, *lines: int) -> Label:
    return Label(kind, "one", range(lines[0], lines[-1] + 1))


def test_labels_belong_to_the_statement_below() -> None:
    labels = (
        Label("expect", "one", range(5, 9)),
        Label("ok", "one", range(9, 12)),
        Label("todo", "two", range(13, 14)),
    )
    assert labels == read_labels(SOURCE)


def test_a_label_above_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^line 2: '# ok: one' stands above no statement$"):
        read_labels("x = 1\n# ok: one\n\ny = 1\n")


UNKNOWN = "line 5: error, unknown, reachable, when x"
ERROR = "line 5: error, violated, reachable, when x"
COMPARISONS = [
    pytest.param([label("expect", 5)], [finding(5)], Outcome(), id="found"),
    pytest.param([label("expect", 3, 6)], [finding(5)], Outcome(), id="within the statement"),
    pytest.param([label("expect", 4)], [], Outcome(missing=("line 4: no finding",)), id="missed"),
    pytest.param(
        [label("expect", 5)],
        [finding(5, verdict=Verdict.UNKNOWN)],
        Outcome(missing=(f"line 5: {UNKNOWN}",)),
        id="unknown is not found",
    ),
    pytest.param([label("ok", 5)], [], Outcome(), id="quiet"),
    pytest.param([label("ok", 5)], [finding(5)], Outcome(wrong=(ERROR,)), id="false alarm"),
    pytest.param([], [finding(5)], Outcome(unexpected=(ERROR,)), id="no label"),
    pytest.param([label("todo", 5)], [finding(5)], Outcome(), id="known wrong answer"),
    pytest.param(
        [label("or", 2), label("expect", 5)], [finding(2)], Outcome(), id="the other place"
    ),
    pytest.param(
        [label("or", 2), label("expect", 5)],
        [],
        Outcome(missing=("line 5: no finding",)),
        id="neither place",
    ),
]


@pytest.mark.parametrize(("labels", "findings", "expected"), COMPARISONS)
def test_compare(labels: list[Label], findings: list[Finding], expected: Outcome) -> None:
    assert expected == compare(labels, findings)


def test_an_or_needs_one_expect() -> None:
    with pytest.raises(ValueError, match="not with 2"):
        compare([label("or", 1), label("expect", 2), label("expect", 3)], [])
