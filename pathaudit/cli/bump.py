"""``pathaudit bump``: what does this change of dependencies break?"""

import time
from typing import TYPE_CHECKING, Literal, TextIO, get_args

import click

from pathaudit.cli.excerpts import excerpts
from pathaudit.cli.manual import (
    FILES,
    FINDINGS_FAIL,
    VARIABLES,
    Command,
    Manual,
    documented,
)
from pathaudit.cli.options import (
    Reach,
    access_of,
    color_option,
    load_rules,
    means_options,
    open_tree,
    output_option,
    own_rules_option,
)
from pathaudit.cli.output import Color, check_output, columns, wants_color, write_report
from pathaudit.cli.patches import patches_option, with_patches
from pathaudit.cli.settings import settings_options
from pathaudit.cli.status import Status

if TYPE_CHECKING:
    from pathaudit.audit import Means
    from pathaudit.bump import PinComparison, Sought, Target
    from pathaudit.bump.versions import Judging, Open
    from pathaudit.config import Kept
    from pathaudit.results.bumps import BumpReport
    from pathaudit.ruleset import Ruleset
    from pathaudit.sources import SourceTree

Format = Literal["text", "json", "sarif", "github", "markdown"]
FailOn = Literal["error", "warning", "note", "never"]

MANUAL = Manual(
    text="""
    Finds what pins the framework in requirements, pyproject.toml, lock files, Dockerfiles, images,
    git addresses and submodules, in the revision --base and in the work tree or --head. Where a
    version changed, both are audited and compared as by `pathaudit diff`. Where none changed,
    nothing is downloaded.
    """,
    examples=(
        ("pathaudit bump", "what is not committed yet"),
        ("pathaudit bump --base HEAD~1", "and the last commit"),
        ("pathaudit bump --base origin/main --head HEAD", "a branch"),
        ("pathaudit bump --base origin/main --format markdown --output comment.md", ""),
        ("pathaudit bump --base v1.2 --repo ~/src/service --strict", ""),
    ),
    statuses=(
        ("0", "No version changed, or nothing new fails a scan."),
        ("1", "New findings do; with --strict, or something could not be looked at."),
        *FINDINGS_FAIL[2:],
    ),
    variables=VARIABLES,
    files=FILES,
)


@documented(MANUAL)
@click.command(cls=Command)
@click.option(
    "--base", metavar="REV", default="HEAD", show_default=True, help="The revision to compare with."
)
@click.option("--head", metavar="REV", help="The revision to look at, instead of the work tree.")
@click.option("--repo", metavar="DIR", help="The repository, not that of the current folder.")
@click.option(
    "--rule", "chosen", metavar="ID", multiple=True, help="Compare only this rule; repeatable."
)
@own_rules_option
@patches_option
@click.option(
    "--fail-on",
    type=click.Choice(get_args(FailOn)),
    default="error",
    show_default=True,
    help="The mildest severity of a new finding that makes the exit status 1.",
)
@click.option(
    "--strict/--no-strict", help="Fail too on what can no longer be decided, read or fetched."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Format)),
    default="text",
    show_default=True,
    help="The form of the report.",
)
@output_option("report")
@click.option("--offline/--no-offline", help="Download nothing; use the releases that are kept.")
@settings_options
@means_options
@click.option("--verbose", is_flag=True, help="List all of everything, also what is unchanged.")
@click.option("--quiet", is_flag=True, help="Print no report; the exit status is the answer.")
@color_option
@click.pass_context
def bump(
    context: click.Context,
    *,
    base: str,
    head: str | None,
    repo: str | None,
    chosen: tuple[str, ...],
    own: tuple[str, ...],
    fail_on: FailOn,
    strict: bool,
    form: Format,
    output: str | None,
    offline: bool,
    kept: "Kept",
    jobs: int | None,
    no_cache: bool,
    verbose: bool,
    quiet: bool,
    color: Color,
) -> None:
    """Say what a change of the framework's version brings."""
    from pathaudit.cli.progress import means_of_work

    started = time.perf_counter()
    if output is not None:
        check_output(output)
    ruleset = with_patches(load_rules(chosen, own, kept), chosen)
    reach = Reach(None, None, offline, quiet)
    found, head_label = _compare_pins(base, head, repo, ruleset, reach)
    trees: dict[str, SourceTree] = {}
    with means_of_work(jobs=jobs, cached=not no_cache, quiet=quiet) as means:
        judging = _judging(fail_on, strict)
        opened = _opener(ruleset, reach, trees)
        report = _audit(found, ruleset, opened, judging, means, (base, head_label))

    def render(out: TextIO) -> None:
        if form == "text":
            _render_text(report, trees, out, verbose, color, time.perf_counter() - started)
        else:
            _render(report, ruleset, out, form)

    if output is not None or not quiet:
        write_report(output, render)
    context.exit(Status.FINDINGS if _fails(report, fail_on, strict) else Status.CLEAN)


def _compare_pins(
    base: str, head: str | None, repo: str | None, ruleset: "Ruleset", reach: Reach
) -> "tuple[PinComparison, str]":
    """The pins of two states of a repository, and the name of the later one."""
    from pathaudit.bump import compare_pins
    from pathaudit.sources import newest_release
    from pathaudit.sources.repository import files_at, files_of_work_tree

    def newest(specifier: str) -> str:
        return newest_release(specifier, ruleset.profile.package, access_of(ruleset, reach))

    before = files_at(base, repo)
    after = files_of_work_tree(repo) if head is None else files_at(head, repo)
    return compare_pins(before, after, _sought(ruleset), newest), after.label


def _sought(ruleset: "Ruleset") -> "Sought":
    from pathaudit.bump import Sought

    published = ruleset.profile.published
    return Sought(ruleset.profile.package, published.repositories, published.images)


def _judging(fail_on: FailOn, strict: bool) -> "Judging":
    from pathaudit.bump.versions import Judging
    from pathaudit.results import Severity

    return Judging(None if fail_on == "never" else Severity(fail_on), strict)


def _opener(ruleset: "Ruleset", reach: Reach, trees: "dict[str, SourceTree]") -> "Open":
    """What opens the trees; each is remembered by its name for people."""
    from pathaudit.bump.settling import shown

    def opened(target: "Target") -> "SourceTree":
        tree = open_tree(target.tree, ruleset, reach._replace(repo=target.repository))
        trees[shown(target)] = tree
        return tree

    return opened


def _audit(
    found: "PinComparison",
    ruleset: "Ruleset",
    opened: "Open",
    judging: "Judging",
    means: "Means",
    names: tuple[str, str],
) -> "BumpReport":
    """Audit what a change of pins brings."""
    from pathaudit import __version__
    from pathaudit.bump.versions import audit_versions
    from pathaudit.results.bumps import BumpReport

    outcome = audit_versions(found, ruleset, opened, judging=judging, means=means)
    return BumpReport(
        tool=f"pathaudit {__version__}",
        package=ruleset.profile.package,
        base=names[0],
        head=names[1],
        pins=found.pins,
        rules=tuple(rule.id for rule in ruleset.rules),
        changes=found.changes,
        disagreements=found.disagreements,
        comparisons=outcome.comparisons,
        arrivals=outcome.arrivals,
        unfetched=outcome.unfetched,
        gaps=found.gaps,
    )


def _fails(report: "BumpReport", fail_on: FailOn, strict: bool) -> bool:
    """Does the change bring what fails? ``strict`` counts what could not be looked at."""
    from pathaudit.results.bumps import brings_failure

    if fail_on == "never":
        return False
    inert = any(item.inert for item in report.comparisons)
    if strict and (report.unfetched or report.gaps or inert):
        return True
    return brings_failure(report)


def _render(report: "BumpReport", ruleset: "Ruleset", out: TextIO, form: Format) -> None:
    from pathaudit.reporters import bump_github, bump_markdown, json, sarif
    from pathaudit.reporters.pinned import as_report

    if form == "json":
        json.render(report, out)
    elif form == "sarif":
        from pathaudit.cli.rule_docs import rule_docs

        sarif.render(as_report(report), out, docs=rule_docs(ruleset), command="bump")
    elif form == "github":
        bump_github.render(report, out)
    else:
        bump_markdown.render(report, out)


def _render_text(
    report: "BumpReport",
    trees: "dict[str, SourceTree]",
    out: TextIO,
    verbose: bool,
    color: Color,
    seconds: float,
) -> None:
    from pathaudit.reporters import bumps

    wanted = bumps.lines_wanted(report)
    bumps.render(
        report,
        out,
        excerpts={name: excerpts(trees[name], lines) for name, lines in wanted.items()},
        width=columns(out),
        color=wants_color(color, out),
        verbose=verbose,
        seconds=seconds,
    )
