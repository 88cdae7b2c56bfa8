"""What a git repository holds: its tags in order of version, and the commits between two of them.

Read through git's own commands; nothing is checked out or written.
"""

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from pathaudit.errors import SourceError
from pathaudit.hints import did_you_mean
from pathaudit.sources.listing import printable

if TYPE_CHECKING:
    from git.cmd import Git

_RECORD = re.compile(r"(\S+) (\S+) (.*)")


class Commits:
    """Tags and commits of one repository, the one around the working directory by default."""

    def __init__(self, repository: str | None = None) -> None:
        self._label = printable(repository or ".")
        self._git = _open(repository or ".")

    def tags(self, pattern: str, since: str | None = None) -> tuple[str, ...]:
        """Tags of such a name, from the oldest version to the newest.

        ``since`` is a tag of which nothing older is wanted, or a revision that must be part of
        them. SourceError if there are none.
        """
        known = self._run("tag", "--list").splitlines()
        names = [name for name in known if fnmatchcase(name, pattern)]
        if since is not None and since in known:
            names = [name for name in names if _order(name) >= _order(since)]
        elif since is not None:
            holding = self._run("tag", "--contains", self.commit(since)).splitlines()
            names = [name for name in names if name in holding]
        if not names:
            hint = did_you_mean(pattern, known, f"the repository has {len(known)} tags")
            raise SourceError(f"{self._label}: no tags match {printable(pattern)!r}", hint)
        return tuple(sorted(names, key=_order))

    def commit(self, revision: str) -> str:
        """The id of a commit. SourceError for what is none, or looks like an option."""
        if revision.startswith("-"):
            raise SourceError(f"{printable(revision)}: is an option, no revision", "name a commit")
        found = self._run("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").strip()
        if not found:
            hint = "git fetch --tags gets what is missing here"
            raise SourceError(f"{self._label}: has no revision {printable(revision)!r}", hint)
        return found

    def between(self, old: str, new: str) -> tuple[tuple[str, str, str], ...]:
        """Commits after ``old`` up to ``new`` along first parents: id, date and subject.

        SourceError if ``old`` is not part of ``new``'s history.
        """
        first, last = self.commit(old), self.commit(new)
        if self._run("merge-base", first, last).strip() != first:
            raise SourceError(
                f"{printable(old)} is no ancestor of {printable(new)}",
                "a bisection needs two commits of one line of history",
            )
        listed = self._run(
            "log", "--first-parent", "--reverse", "--format=%H %cs %s", f"{first}..{last}"
        )
        matches = (_RECORD.match(line) for line in listed.split("\n"))
        return tuple((found[1], found[2], found[3]) for found in matches if found)

    def _run(self, command: str, *words: str) -> str:
        from git.exc import GitCommandError

        options = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", command, *words]
        try:
            out = self._git.execute(
                options, with_extended_output=True, with_exceptions=False, strip_newline_in_stdout=False
            )
        except GitCommandError as error:
            raise SourceError(f"{self._label}: git {command} failed: {error.status}") from error
        return str(out[1])
