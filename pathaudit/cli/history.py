"""``pathaudit history``: when did it break, when was it fixed, and by which commit?"""

from typing import TYPE_CHECKING, Literal, TextIO, get_args

import click

from pathaudit.cli.manual import FILES, TREE_FORMS, VARIABLES, Command, Manual, documented
from pathaudit.cli.options import (
    Reach,
    color_option,
    load_rules,
    means_options,
    open_tree,
    output_option,
    own_rules_option,
    source_options,
)
from pathaudit.cli.output import Color, check_output, columns, wants_color, write_report
from pathaudit.cli.patches import patches_option, with_patches
from pathaudit.cli.settings import settings_options
from pathaudit.errors import UsageError

if TYPE_CHECKING:
    from pathaudit.audit import Means
    from pathaudit.config import Kept
    from pathaudit.history import Judged
    from pathaudit.results import Severity
    from pathaudit.results.versions import Bisection, History, State, Trace, Turn
    from pathaudit.ruleset import Ruleset

Format = Literal["text", "json", "markdown"]
FailOn = Literal["error", "warning", "note"]
GIT = "git:"

MANUAL = Manual(
    text="""
    One row a version, in the order given, one column a rule. With --rule and --entry: the versions
    in which that rule breaks for a class, when it broke and when it was fixed, and between two
    revisions of a git repository the first commit that did it. The exit status does not depend on
    the answer.
    """,
    arguments=(
        ("TREE...", "Versions, from the oldest to the newest, each of them as TREE here."),
        TREE_FORMS,
    ),
    examples=(
        ("pathaudit history sglang==0.5.6 sglang==0.5.9 sglang==0.5.12", ""),
        ("pathaudit history --tags 'v0.5.*' --since v0.5.3 --repo ~/src/sglang", ""),
        (
            "pathaudit history git:v0.5.4 git:v0.5.6 --rule dropped-aux --entry Qwen2Model",
            "with the commit of each turn",
        ),
    ),
    variables=VARIABLES,
    files=FILES,
)


@documented(MANUAL)
@click.command(cls=Command)
@click.argument("targets", metavar="[TREE...]", nargs=-1)
@click.option("--tags", metavar="GLOB", help="The tags of a git repository, such as 'v0.5.*'.")
@click.option("--since", metavar="REV", help="Of the tags, none older than this tag or revision.")
@click.option(
    "--rule", "chosen", metavar="ID", multiple=True, help="Judge only this rule; repeatable."
)
@own_rules_option
@patches_option
@click.option(
    "--entry",
    metavar="CLASS",
    help="Tell the story of this class, served or audited.",
)
@click.option(
    "--bisect",
    is_flag=True,
    help="Find the commit of each turn. With two revisions that is done anyway.",
)
@click.option(
    "--fail-on",
    type=click.Choice(get_args(FailOn)),
    default="error",
    show_default=True,
    help="The mildest severity that counts as broken.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Format)),
    default="text",
    show_default=True,
    help="The form of the table.",
)
@output_option("table")
@source_options
@settings_options
@means_options
@color_option
def history(
    targets: tuple[str, ...],
    *,
    tags: str | None,
    since: str | None,
    chosen: tuple[str, ...],
    own: tuple[str, ...],
    entry: str | None,
    bisect: bool,
    fail_on: FailOn,
    form: Format,
    output: str | None,
    color: Color,
    jobs: int | None,
    no_cache: bool,
    reach: Reach,
    kept: "Kept",
) -> None:
    """Follow the rules through versions."""
    from pathaudit.cli.progress import means_of_work
    from pathaudit.results import Severity

    if output is not None:
        check_output(output)
    rule = _only_rule(chosen, entry)
    found = _targets(targets, tags, since, reach)
    ruleset = with_patches(load_rules(chosen, own, kept), chosen)
    with means_of_work(jobs=jobs, cached=not no_cache, quiet=False) as means:
        work = _Work(ruleset, reach, means, Severity(fail_on))
        judged = [work.judge(target) for target in found]
        answer = _tabulated(judged, work.fail_on)
        if entry is not None and rule:
            wanted = found if bisect or len(found) == 2 else ()
            answer = _traced(answer, work.trace(judged, rule, entry, wanted))

    def render(out: TextIO) -> None:
        _render(answer, out, form, color)

    write_report(output, render)


def _only_rule(rules: tuple[str, ...], entry: str | None) -> str:
    if entry is not None and len(rules) != 1:
        raise UsageError("--entry needs one --rule", "name the rule whose story is asked for")
    return rules[0] if rules else ""


def _targets(
    targets: tuple[str, ...], tags: str | None, since: str | None, reach: Reach
) -> tuple[str, ...]:
    """The trees that are asked for: those named, then the tags."""
    if tags is None and since is None:
        if not targets:
            hint = "name trees, or tags of a git repository: --tags 'v0.5.*'"
            raise UsageError("there is no version to follow", hint)
        return targets
    from pathaudit.sources.commits import Commits

    names = Commits(reach.repo).tags(tags or "v*", since)
    return (*targets, *(f"{GIT}{name}" for name in names))


class _Work:
    """Judges versions, and the commits between two of them."""

    def __init__(
        self, ruleset: "Ruleset", reach: Reach, means: "Means", fail_on: "Severity"
    ) -> None:
        self.ruleset = ruleset
        self.reach = reach
        self.means = means
        self.fail_on = fail_on

    def judge(self, target: str, entry: str | None = None) -> "Judged":
        from pathaudit.audit import audit
        from pathaudit.history import Judged

        tree = open_tree(target, self.ruleset, self.reach)
        return Judged(tree, audit(tree, self.ruleset, entry=entry, means=self.means))

    def trace(
        self, judged: "list[Judged]", rule: str, name: str, targets: tuple[str, ...]
    ) -> "Trace":
        """The story of a class; turns between revisions among ``targets`` are bisected."""
        import msgspec

        from pathaudit.history import trace

        told = trace(judged, rule, name, self.fail_on)
        if not targets:
            return told
        places = {moment: number for number, moment in enumerate(told.moments)}
        turns = []
        for turn in told.turns:
            number = places[turn.after]
            pair = (targets[number - 1], targets[number])
            if all(target.startswith(GIT) for target in pair):
                served = _served(judged[number - 1 : number + 1], name)
                found = self._bisect(pair, turn, rule, name, served)
                turn = msgspec.structs.replace(turn, bisection=found)
            turns.append(turn)
        return msgspec.structs.replace(told, turns=tuple(turns))

    def _bisect(
        self, pair: tuple[str, str], turn: "Turn", rule: str, name: str, served: str | None
    ) -> "Bisection":
        from pathaudit.history import bisect, state_of
        from pathaudit.results.versions import Commit, State
        from pathaudit.sources.commits import Commits

        listed = Commits(self.reach.repo).between(*pair)
        commits = [Commit(id=x, date=date, subject=subject) for x, date, subject in listed]

        def judge(commit: str) -> "State | None":
            try:
                item = self.judge(f"{GIT}{commit}", served)
            except UsageError:
                return State.ABSENT  # the class was not served then
            state = state_of(item, rule, name, self.fail_on)
            return None if state is State.UNKNOWN else state

        return bisect(commits, turn.after.state, judge)


def _served(judged: "list[Judged]", name: str) -> str | None:
    """A served class that leads to a class, so that no more than that has to be judged."""
    from pathaudit.diff import is_about

    for item in reversed(judged):
        for entry in item.report.entries:
            if is_about(entry, name):
                served = entry.architectures
                return name if name in served else next(iter(served), None)
        for finding in item.report.findings:
            if is_about(finding, name) and finding.entries:
                return name if name in finding.entries else finding.entries[0]
    return None


def _tabulated(judged: "list[Judged]", fail_on: "Severity") -> "History":
    from pathaudit.history import tabulate

    return tabulate(judged, fail_on)


def _traced(answer: "History", trace: "Trace") -> "History":
    import msgspec

    return msgspec.structs.replace(answer, trace=trace)


def _render(answer: "History", out: TextIO, form: Format, color: Color) -> None:
    from pathaudit.reporters import json, markdown, timeline

    if form == "text":
        timeline.render(answer, out, width=columns(out), color=wants_color(color, out))
    elif form == "json":
        json.render(answer, out)
    else:
        markdown.render_history(answer, out)
