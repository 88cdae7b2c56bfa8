"""What a shell may complete: files and folders, ids of rules, names of served classes.

Nothing here fails: what cannot be read completes to nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from pathaudit.errors import PathAuditError

if TYPE_CHECKING:
    from pathaudit.config import Kept

Items = list[CompletionItem]


Completer = Callable[[click.Context, str], Items]


def complete_values(command: click.Command) -> None:
    """Let the values of a command be completed, each by the word that stands for it in the help.

    Those that have a type of their own, such as a choice, are completed by that already.
    """
    for parameter in command.params:
        completer = _COMPLETERS.get(_word(parameter))
        if completer is not None and parameter.type == click.STRING:
            parameter.type = _Completed(completer)


class _Completed(click.types.StringParamType):
    """A string, with what a shell may complete it to."""

    def __init__(self, completer: Completer) -> None:
        self._completer = completer

    def shell_complete(self, ctx: click.Context, _: click.Parameter, incomplete: str) -> Items:
        return self._completer(ctx, incomplete)


def _word(parameter: click.Parameter) -> str:
    """The word that stands for a value: of an argument that has none, its name."""
    if not isinstance(parameter, click.Argument):
        return parameter.metavar or ""
    word = (parameter.metavar or parameter.name or "").upper().strip("[]")
    return "" if word == "ID" else word  # an argument ID is to be thought up


# ---- completers -------------------------------------------------------------------------------


def _files(_: click.Context, incomplete: str) -> Items:
    return [CompletionItem(incomplete, type="file")]


def _folders(_: click.Context, incomplete: str) -> Items:
    return [CompletionItem(incomplete, type="dir")]


def _rules(context: click.Context, incomplete: str) -> Items:
    """Ids of rules: those of pathaudit, of ``--rules DIR`` and of the settings."""
    names = {path.stem for folder in _rule_folders(context) for path in folder.glob("*.yaml")}
    return _beginning(names - {"profile"}, incomplete)


def _remarks_too(context: click.Context, incomplete: str) -> Items:
    """Ids of rules, and of what is said of comments."""
    from pathaudit.remarks import REMARKS

    remarks = _beginning({remark.id for remark in REMARKS}, incomplete)
    return [*_rules(context, incomplete), *remarks]


def _entries(context: click.Context, incomplete: str) -> Items:
    """Served classes of a tree that is a folder, by a look at the text of its model files."""
    try:
        return _beginning(set(_served(_trees(context))), incomplete)
    except PathAuditError:
        return []


_COMPLETERS: dict[str, Completer] = {
    "FILE": _files,
    "TEXT|FILE": _files,
    "DIR": _folders,
    "DIRECTORY": _folders,
    "TREE": _files,
    "TREE...": _files,
    "TREE | FILES...": _files,
    "DIFF": _files,
    "TARGET": _files,
    "OLD": _files,
    "NEW": _files,
    "ID": _rules,
    "RULE": _remarks_too,
    "WHAT": _rules,
    "ARCHITECTURE": _entries,
    "CLASS": _entries,
    "ENTRY": _entries,
    "CONDITION | ENTRY": _entries,
}


def _beginning(names: Iterable[str], incomplete: str) -> Items:
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def _rule_folders(context: click.Context) -> Iterator[Path]:
    from pathaudit.cli.options import FRAMEWORK
    from pathaudit.ruleset import rules_directory

    settings = _kept(context).settings
    own: tuple[str, ...] = context.params.get("own") or settings.own_rules
    yield Path(settings.profile or rules_directory() / FRAMEWORK)
    yield from map(Path, own)


def _kept(context: click.Context) -> "Kept":
    """The settings that would hold; none where they are faulty, which is said by the command."""
    from pathaudit.config import Kept, find_settings, load_settings

    path = context.params.get("kept") or find_settings().file
    try:
        return load_settings(path) if path and not context.params.get("isolated") else Kept()
    except PathAuditError:
        return Kept()


def _trees(context: click.Context) -> list[str | None]:
    """The trees that the command line names so far, else that of the settings."""
    named = (context.params.get(name) for name in ("tree", "new", "old"))
    # While a command line is completed, arguments of any number are not yet parameters.
    given = [*filter(None, named), *(x for x in context.args if not x.startswith("-"))]
    return [*given] or [_kept(context).settings.tree]


def _served(targets: list[str | None]) -> Iterator[str]:
    """Classes of the first tree that is a folder; another takes too long to open for that."""
    from pathaudit.cli.options import FRAMEWORK
    from pathaudit.index.reads import compile_globs
    from pathaudit.ruleset import PROFILE_FILE, Profile, load_file, rules_directory
    from pathaudit.sources import open_source
    from pathaudit.sources.forms import Form, form_of

    profile = load_file(rules_directory() / FRAMEWORK / PROFILE_FILE, Profile, "profile")
    near = (Form.FOLDER, Form.INSTALLED)
    folders = [target for target in targets if form_of(target, profile.package) in near]
    if not folders:
        return
    tree = open_source(folders[0], profile.package)
    variable = profile.entries.variable
    stated = re.compile(rf"^{re.escape(variable)}\s*=\s*(\[[^]]*\]|[\w ,]+)", re.MULTILINE)
    models = filter(compile_globs(profile.models).match_file, tree.paths)
    for path in tree.find(variable.encode(), list(models)):
        for match in stated.finditer(tree.text(path)):
            yield from re.findall(r"\w+", re.sub("#.*", "", match[1]))
