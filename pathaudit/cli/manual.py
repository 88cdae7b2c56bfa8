"""Help of a command in the sections of a manual page, in at most 80 columns."""

import textwrap
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import click

Terms = tuple[tuple[str, str], ...]

_FORMS = (
    "A directory: a checkout, a site-packages folder, the package itself, or a folder that holds "
    "one. Or git:REV, a revision such as git:v0.5.6 or git:HEAD~3. Or a release: sglang==0.5.9, or "
    "'sglang>=0.5.9,<0.6' for the newest that fits. Or a wheel (.whl) or source archive (.zip, "
    ".tar.gz). Or sglang, the package that is installed."
)
TREE = (
    "TREE",
    f"{_FORMS} Without TREE: the key `tree` of the settings, else the installed package.",
)
TREE_FORMS = ("TREE", _FORMS)
DIRECTORY = (
    "DIRECTORY",
    "A folder with rules of your own: for each ID.yaml, and ID.py, its labelled example. Without "
    "it: the rules of pathaudit.",
)

NOTHING_FAILS: Terms = (
    ("0", "There is an answer, whatever it says."),
    ("2", "A mistake in the request: one line says which."),
    ("130", "Interrupted."),
)
FINDINGS_FAIL: Terms = (
    ("0", "Nothing that fails the run."),
    ("1", "Findings that fail it."),
    ("2", "A mistake in the request: one line says which."),
    ("130", "Interrupted."),
)

CACHE_VARIABLE = (
    "PATHAUDIT_CACHE_DIR",
    "The folder for answers and unpacked releases, instead of that of the user's cache.",
)
SETTINGS_VARIABLE = ("PATHAUDIT_SETTINGS", "As --settings FILE, which wins over it.")
COLOR_VARIABLE = ("NO_COLOR", "If set, no colour, unless --color always is given.")
WIDTH_VARIABLE = ("COLUMNS", "The width of text; else the terminal's, or 80 where it is none.")
VARIABLES: Terms = (CACHE_VARIABLE, SETTINGS_VARIABLE, COLOR_VARIABLE, WIDTH_VARIABLE)

SETTINGS_FILES = (
    "pathaudit.toml, pyproject.toml",
    "Settings, the latter under [tool.pathaudit]: the nearest of them in the current folder or "
    "above it. `pathaudit config` says which holds.",
)
CACHE_FILES = (
    "answers.sqlite, releases/",
    "What is kept between runs, in the folder that `pathaudit cache info` names.",
)
BASELINE_FILE = (
    "pathaudit-baseline.yaml",
    "A usual name for the file of --baseline: YAML, or JSON if it ends in .json.",
)
PATCHES_FILE = (
    "pathaudit-patches.json",
    "What your patches rely on: looked for in this folder, then beside the settings.",
)
FILES: Terms = (SETTINGS_FILES, CACHE_FILES)

# The headings of options, in the order in which they are shown, by the names of parameters.
_GROUPS: dict[str, tuple[str, ...]] = {
    "Tree": ("tree", "base", "head", "repo", "overlay", "offline"),
    "Rules and classes": ("chosen", "own", "entry", "config"),
    "Known findings": ("baseline", "write_baseline", "patches"),
    "What fails the run": ("fail_on", "strict"),
    "Report": ("form", "output", "source_root", "verbose", "quiet", "color"),
    "Work and settings": ("jobs", "no_cache", "kept", "isolated"),
    "Help": ("version",),
}
_OWN = "Options"
_REMARK = 48  # the column where what is said of an example begins, if that is short enough


class Manual(NamedTuple):
    """What the help of a command says beside its one sentence and its options.

    ``text`` are paragraphs, divided by empty lines. ``sections`` explain words of the answer, by
    their headings. ``examples`` are command lines with a remark,
    which may be empty; a line is written as it is.
    """

    text: str = ""
    arguments: Terms = ()
    sections: tuple[tuple[str, Terms], ...] = ()
    examples: Terms = ()
    statuses: Terms = NOTHING_FAILS
    variables: Terms = ()
    files: Terms = ()


class Command(click.Command):
    """A command whose help is written by its ``manual``."""

    manual = Manual()

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help_text(ctx, formatter)
        for paragraph in filter(None, self.manual.text.strip().split("\n\n")):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(" ".join(paragraph.split()))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _section(formatter, "Arguments", self.manual.arguments)
        for heading, rows in _grouped(self, ctx).items():
            _section(formatter, heading, tuple(rows))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, terms in self.manual.sections:
            _section(formatter, heading, terms)
        if self.manual.examples:
            with formatter.section("Examples"):
                for example in self.manual.examples:
                    formatter.write(_example(*example, formatter.width))
        _section(formatter, "Exit status", self.manual.statuses)
        _section(formatter, "Environment", self.manual.variables)
        _section(formatter, "Files", self.manual.files)
        super().format_epilog(ctx, formatter)


Documented = TypeVar("Documented", bound=Command)


def documented(manual: Manual) -> Callable[[Documented], Documented]:
    """Give a command its manual."""

    def with_manual(command: Documented) -> Documented:
        command.manual = manual
        return command

    return with_manual


def _section(formatter: click.HelpFormatter, heading: str, rows: Terms) -> None:
    if rows:
        with formatter.section(heading):
            formatter.write_dl(rows)


def _grouped(command: click.Command, context: click.Context) -> dict[str, list[tuple[str, str]]]:
    """The rows of a command's options by heading, those of its own before those of many."""
    headings = {name: heading for heading, names in _GROUPS.items() for name in names}
    found: dict[str, list[tuple[str, str]]] = {x: [] for x in (_OWN, *_GROUPS)}
    for parameter in command.get_params(context):
        # Newer versions of click have a row for arguments, which have a section of their own.
        row = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if row is not None:
            usual = "Help" if "--help" in parameter.opts else _OWN
            found[headings.get(parameter.name or "", usual)].append(row)
    return {heading: rows for heading, rows in found.items() if rows}


def _example(line: str, remark: str, width: int) -> str:
    """One example: the remark behind it, or below it where that is too narrow."""
    start = f"  {line}"
    if not remark:
        return f"{start}\n"
    if len(start) + 2 <= _REMARK and _REMARK + len(remark) <= width:
        return f"{start:{_REMARK}}{remark}\n"
    margin = " " * 6
    below = textwrap.fill(remark, width, initial_indent=margin, subsequent_indent=margin)
    return f"{start}\n{below}\n"
