"""``pathaudit rules test``: does each rule find in its example what the labels say?"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pathaudit.cli.manual import (DIRECTORY, NOTHING_FAILS, Command, Manual, documented)
from pathaudit.cli.options import FRAMEWORK
from pathaudit.cli.status import Status
from pathaudit.errors import UsageError

if TYPE_CHECKING:
    from pathaudit.labels import Trial
    from pathaudit.reporters.terminal import Line, Page
    from pathaudit.ruleset import Ruleset

MANUAL = Manual(
    text="""
    A comment above a statement of the example is a label: `# expect: ID` a finding, `# ok: ID`
    none, `# todo: ID` a known wrong answer. A profile.yaml in the directory adds events and
    assumptions to the profile of pathaudit, or is a whole one.
    """,
    arguments=(DIRECTORY,),
    examples=(
        ("pathaudit rules test", "the rules of pathaudit"),
        ("pathaudit rules test ours", "those of a directory"),
    ),
    statuses=(
        ("0", "Each rule finds what the labels say."),
        ("1", "One does not."),
        ("2", "Nothing was tested, or there is a mistake in a rule or in the request."),
        NOTHING_FAILS[-1],
    ),
)


@documented(MANUAL)
@click.command(cls=Command)
@click.argument("directory", required=False)
@click.pass_context
def test(context: click.Context, directory: str | None) -> None:
    """Compare what each rule finds in its example with the labels there."""
    from pathaudit.cli.pages import print_page
    from pathaudit.labels import try_example

    ruleset = _load(directory)
    trials = [(rule.id, try_example(ruleset, rule)) for rule in ruleset.rules]
    if not any(trial.labels for _, trial in trials):
        what = "no rule has a labelled example" if trials else "it holds no rules"
        hint = "beside ID.yaml stands ID.py, with comments such as '# expect: ID'"
        raise UsageError(f"{ruleset.directory}: nothing was tested: {what}", hint)
    print_page(lambda page: _lines(trials, page))
    passed = all(trial.passed for _, trial in trials)
    context.exit(Status.CLEAN if passed else Status.FINDINGS)


def _load(directory: str | None) -> "Ruleset":
    from pathaudit.ruleset import load_own_rules, load_ruleset, rules_directory

    shipped = rules_directory() / FRAMEWORK
    return load_ruleset(shipped) if directory is None else load_own_rules(Path(directory), shipped)


def _lines(trials: "Sequence[tuple[str, Trial]]", page: "Page") -> "Iterator[Line]":
    from pathaudit.cli.pages import paragraph

    for rule, trial in trials:
        yield from paragraph("ok      " if trial.passed else "FAILED  ", rule, 8, page)
        for difference in _differences(rule, trial):
            yield from paragraph(" " * 8, difference, 10, page)


def _differences(rule: str, trial: "Trial") -> "Iterator[str]":
    outcome = trial.outcome
    yield from (f"expected, not found: {text}" for text in outcome.missing)
    yield from (f"labelled ok, found: {text}" for text in outcome.wrong)
    yield from (f"without a label, found: {text}" for text in outcome.unexpected)
    yield from (f"not analysed: line {gap.line}: {gap.message}" for gap in trial.gaps)
    if not trial.labels:
        yield f"not tested: there is no {rule}.py with labels for it"
