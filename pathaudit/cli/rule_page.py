"""A rule as a page for people, with the example from the labelled file beside it."""

import ast
import textwrap
from collections.abc import Iterator

from pathaudit.cli.pages import paragraph
from pathaudit.index.syntax import first_line
from pathaudit.labels import Label, example_of, read_example, read_labels
from pathaudit.remarks import Remark
from pathaudit.reporters.escaping import visible
from pathaudit.reporters.terminal import Line, Page, cut
from pathaudit.ruleset import Rule, Ruleset

_INDENT = 2
_EXAMPLE = 40  # lines that are shown
_LEFT_OUT = "    ..."


def rule_lines(rules: Ruleset, rule: Rule, page: Page, stated: str = "") -> Iterator[Line]:
    """Yield the lines of a page about one of the rules; ``stated`` is what settings make of it."""
    yield from paragraph(f"{rule.id}: ", rule.title, _INDENT, page)
    yield ()
    yield from paragraph("severity: ", severity_text(rule) + stated, _INDENT, page)
    yield from _section("Why", rule.why, page)
    yield from _example(rules, rule, page)
    yield from _section("Use instead", rule.use_instead, page)
    yield from _section("When it bites", rule.effect, page)
    yield from _section("Known limits", rule.limits, page)
    if rule.references:
        yield from _heading("References")
    for reference in rule.references:
        yield from paragraph(" " * _INDENT, reference, 2 * _INDENT, page)
    if rule.since:
        yield ()
        yield from paragraph("since: ", rule.since, _INDENT, page)


def remark_lines(remark: Remark, page: Page, stated: str = "") -> Iterator[Line]:
    """Yield the lines of a page about what is said of a comment; ``stated`` as for a rule."""
    yield from paragraph(f"{remark.id}: ", remark.title, _INDENT, page)
    yield ()
    yield from paragraph("severity: ", remark.severity + stated, _INDENT, page)
    yield from _section("Why", remark.why, page)
    yield from _section("Use instead", remark.fix, page)


def severity_text(rule: Rule) -> str:
    """The severity of a rule, and where it differs."""
    methods = sorted(rule.severity_by_entry.items())
    return "; ".join([rule.severity, *(f"{severity} in {name}" for name, severity in methods)])


def _heading(title: str) -> Iterator[Line]:
    yield ()
    yield (("bold", title),)


def _section(title: str, text: str, page: Page) -> Iterator[Line]:
    """A section, unless there is nothing to say in it."""
    if not text:
        return
    yield from _heading(title)
    yield from paragraph(" " * _INDENT, text, _INDENT, page)


# ---- the example ------------------------------------------------------------------------------


def _example(rules: Ruleset, rule: Rule, page: Page) -> Iterator[Line]:
    lines = example_lines(rules, rule)
    if lines:
        yield from _heading("Example")
        for line in lines:
            shown = cut(visible(line, " " * 4), page.width - _INDENT)
            yield (("", " " * _INDENT + shown),)


def example_lines(rules: Ruleset, rule: Rule) -> list[str]:
    """The function with the first fault of a rule's example; nothing if there is none."""
    source = read_example(example_of(rules, rule))
    labels = [item for item in read_labels(source) if (item.kind, item.rule) == _fault(rule)]
    return _excerpt(source, labels[0]) if labels else []


def _fault(rule: Rule) -> tuple[str, str]:
    return "expect", rule.id


def _excerpt(source: str, label: Label) -> list[str]:
    """The function around a label, without its indentation; of a long one, the part around it."""
    whole = _function(source, label)
    lines = textwrap.dedent("\n".join(source.splitlines()[whole.start - 1 : whole.stop - 1]))
    return _shortened(lines.splitlines(), label.lines[0] - whole.start)


def _function(source: str, label: Label) -> range:
    """The lines of the innermost function around a label, or just of what it stands above."""
    line = label.lines[0]
    around = [
        range(first_line(node), node.end_lineno + 1)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    ]
    alone = range(line - 1, label.lines[-1] + 1)
    return max((x for x in around if line in x), key=lambda x: x.start, default=alone)


def _shortened(lines: list[str], focus: int) -> list[str]:
    """The first line and those around ``focus``, with marks where others are left out."""
    if len(lines) <= _EXAMPLE:
        return lines
    room = _EXAMPLE - 3  # beside the first line and two marks
    start = min(max(1, focus - room // 2), len(lines) - room)
    before = [lines[0], *([_LEFT_OUT] if start > 1 else [])]
    after = [_LEFT_OUT] if start + room < len(lines) else []
    return [*before, *lines[start : start + room], *after]
