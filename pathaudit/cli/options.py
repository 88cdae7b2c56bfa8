"""Options that several commands have, and what they open."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast, get_args

import click

from pathaudit.cli.output import Color

if TYPE_CHECKING:
    from pathaudit.config import Kept
    from pathaudit.ruleset import Ruleset
    from pathaudit.sources import Access, SourceTree

FRAMEWORK = "sglang"
RELEASES = "releases"  # the folder beside the answers that archives are unpacked to

Command = TypeVar("Command", bound=Callable[..., None])


def output_option(what: str) -> Callable[[Command], Command]:
    """``--output FILE``, for a command that writes ``what``."""
    return click.option(
        "--output", metavar="FILE", help=f"Write the {what} to a file, whole or not at all."
    )


def means_options(command: Command) -> Command:
    """``--jobs N`` and ``--no-cache``, for a command that audits."""
    jobs = click.option(
        "--jobs",
        metavar="N",
        type=click.IntRange(min=1),
        help="Processes to work in; as many as there are processors, unless stated.",
    )
    cache = click.option(
        "--no-cache", is_flag=True, help="Neither use nor keep answers of other runs."
    )
    return jobs(cache(command))


class Reach(NamedTuple):
    """How to get at trees, as ``source_options`` say; if ``quiet``, nothing tells what is done."""

    repo: str | None = None
    overlay: str | None = None
    offline: bool = False
    quiet: bool = False


def source_options(command: Command) -> Command:
    """``--repo``, ``--with`` and ``--offline``, for a command that opens trees: one ``reach``."""

    @wraps(command)
    def gathered(
        *given: object, repo: str | None, overlay: str | None, offline: bool, **others: object
    ) -> None:
        command(*given, reach=Reach(repo, overlay or None, offline), **others)

    repository = click.option(
        "--repo", metavar="DIR", help="The repository of git:REV, not that of the current folder."
    )
    over = click.option(
        "--with", "overlay", metavar="DIR", help="Lay a folder over the tree, such as own models."
    )
    offline = click.option(
        "--offline/--no-offline", help="Download nothing; use the releases that are kept."
    )
    return cast(Command, repository(over(offline(gathered))))


NEAR = Reach()

own_rules_option = click.option(
    "--rules",
    "own",
    metavar="DIR",
    multiple=True,
    help="Check the rules of a directory of your own, too; repeatable.",
)

color_option = click.option(
    "--color",
    type=click.Choice(get_args(Color)),
    default="auto",
    show_default=True,
    help="Colour the text; auto means on a terminal, unless NO_COLOR is set.",
)


def open_inputs(
    target: str | None,
    rules: tuple[str, ...] = (),
    reach: Reach = NEAR,
    kept: "Kept | None" = None,
) -> "tuple[SourceTree, Ruleset]":
    """Open a source tree, the installed package without a ``target``, and load rules by their id.

    Without ids all are loaded. Of the settings ``kept`` their profile and folders of rules count,
    not which rules they check. Raises ``SourceError``, ``RuleError``, ``ConfigError`` or
    ``UsageError`` where that fails.
    """
    ruleset = load_all_rules(kept, rules) if kept is not None else load_rules(rules, ())
    return open_tree(target, ruleset, reach), ruleset


def open_tree(target: str | None, ruleset: "Ruleset", reach: Reach = NEAR) -> "SourceTree":
    """Open a source tree, to be audited with some rules; raises as ``open_inputs``."""
    from pathaudit.sources import open_source

    return open_source(target, ruleset.profile.package, access_of(ruleset, reach))


def access_of(ruleset: "Ruleset", reach: Reach = NEAR) -> "Access":
    """How trees are got at, as the options say."""
    from pathaudit.cache import cache_path
    from pathaudit.sources import Access

    return Access(
        repository=reach.repo,
        overlay=reach.overlay,
        models=ruleset.profile.model_folder,
        keep=cache_path().parent / RELEASES,
        offline=reach.offline,
        tell=_say_nothing if reach.quiet else _say,
    )


def _say(text: str) -> None:
    from pathaudit.reporters.escaping import visible

    click.echo(f"pathaudit: {visible(text)}", err=True)


def _say_nothing(_: str) -> None:
    return


def load_rules(
    chosen: tuple[str, ...], own: tuple[str, ...], kept: "Kept | None" = None
) -> "Ruleset":
    """Load the shipped rules and those of the directories ``own``, or the ``chosen`` ones.

    With settings ``kept``, what they say of rules, severities, files and classes holds, unless
    rules were ``chosen``. Raises ``RuleError``, ``ConfigError`` or ``UsageError`` where that fails.
    """
    from pathaudit.ruleset import load_ruleset, rules_directory

    if kept is not None:
        from pathaudit.config import settled

        return settled(kept, rules_directory() / FRAMEWORK, chosen=chosen, own=own)
    extra = tuple(Path(directory) for directory in own)
    return load_ruleset(rules_directory() / FRAMEWORK, only=chosen, extra=extra)


def load_all_rules(kept: "Kept", only: tuple[str, ...] = ()) -> "Ruleset":
    """Load all rules that the settings know of, or some, whether they check them or not.

    Raises as ``load_rules``.
    """
    from pathaudit.config import settled_profile
    from pathaudit.ruleset import rules_directory

    shipped, own = rules_directory() / FRAMEWORK, kept.settings.own_rules
    return settled_profile(kept, shipped, own=own, only=only)
