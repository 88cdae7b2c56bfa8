"""A rule as a page in Markdown, for a repository or a site."""

from collections.abc import Iterator

from pathaudit.cli.rule_page import example_lines, severity_text
from pathaudit.ruleset import Rule, Ruleset

INDEX = "README.md"


def rule_pages(rules: Ruleset) -> dict[str, str]:
    """The pages by the names of their files: one for each rule, and one that lists them."""
    pages = {f"{rule.id}.md": _text(_page(rules, rule)) for rule in rules.rules}
    return {**pages, INDEX: _text(_list(rules))}


def _text(blocks: Iterator[str]) -> str:
    return "\n\n".join(block for block in blocks if block) + "\n"


def _list(rules: Ruleset) -> Iterator[str]:
    yield "# Rules"
    yield "Each page is written by `pathaudit rules docs` from the rule and its example."
    rows = (f"| [{x.id}]({x.id}.md) | {x.severity} | {_line(x.title)} |" for x in rules.rules)
    yield "\n".join(("| rule | severity | title |", "| --- | --- | --- |", *rows))


def _page(rules: Ruleset, rule: Rule) -> Iterator[str]:
    yield f"# {rule.id}"
    yield f"{_sentence(_line(rule.title))}"
    since = f" Since {rule.since}." if rule.since else ""
    yield f"Severity: {severity_text(rule)}.{since}"
    yield from _section("Why is this bad?", rule.why)
    lines = example_lines(rules, rule)
    if lines:
        fence = _fence(lines)
        yield "## Example"
        yield "A finding stands below each comment that says `expect`."
        yield "\n".join((f"{fence}python", *lines, fence))
    yield from _section("Use instead", rule.use_instead)
    yield from _section("Where it stands", _sentence(_line(rule.at)))
    yield from _section("When it bites", rule.effect)
    yield from _section("Known limits", rule.limits)
    if rule.references:
        yield "## References"
        yield "\n".join(f"- {_line(item)}" for item in rule.references)
    yield "## Accept a finding"
    yield f"```python\n# pathaudit: allow[{rule.id}] the reason\n```"


def _section(title: str, text: str) -> Iterator[str]:
    if text:
        yield f"## {title}"
        yield _line(text)


def _line(text: str) -> str:
    """Prose on one line; its line breaks only fold it."""
    return " ".join(text.split())


def _sentence(text: str) -> str:
    """Prose that begins with a capital and ends with a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def _fence(lines: list[str]) -> str:
    """A fence that no line of the code can close."""
    fence = "```"
    while any(fence in line for line in lines):
        fence += "`"
    return fence
