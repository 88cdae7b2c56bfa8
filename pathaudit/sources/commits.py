"""What a git repository holds: its tags by version, and the commits between two revisions."""

from fnmatch import fnmatchcase

from packaging.version import InvalidVersion, Version

from pathaudit.errors import SourceError
from pathaudit.hints import did_you_mean
from pathaudit.sources.forms import GIT
from pathaudit.sources.listing import printable
from pathaudit.sources.revision import expect_revision, find_commit, open_objects


class Commits:
    """Tags and commits of a folder's repository; without one, of the current folder's."""

    def __init__(self, repository: str | None = None) -> None:
        self._objects = open_objects(repository)

    def tags(self, pattern: str, since: str | None = None) -> tuple[str, ...]:
        """Tags of such a name, from the oldest version to the newest.

        ``since`` is a tag of which nothing older is wanted, or a revision that must be part of
        them. SourceError if there are none.
        """
        known = self._objects.tell("tag", "--list").split()
        names = [name for name in known if fnmatchcase(name, pattern)]
        if since is not None and since in known:
            names = [name for name in names if _order(name) >= _order(since)]
        elif since is not None:
            holding = self._objects.tell("tag", "--contains", self._commit(since)).split()
            names = [name for name in names if name in holding]
        if not names:
            hint = did_you_mean(pattern, known, f"it has {len(known):,} tags")
            after = f" since {printable(since)}" if since is not None else ""
            where = self._objects.place
            raise SourceError(f"{where}: no tag is named {printable(pattern)!r}{after}", hint)
        return tuple(sorted(names, key=_order))

    def between(self, old: str, new: str) -> tuple[tuple[str, str, str], ...]:
        """The commits after ``old`` up to ``new`` along first parents: id, date and subject.

        SourceError if ``old`` is no part of the history of ``new``.
        """
        first, last = self._commit(old), self._commit(new)
        base = self._objects.tell("rev-list", "--max-count=1", first, f"^{last}", "--")
        if base.strip():
            raise SourceError(
                f"{printable(old)} is no part of the history of {printable(new)}",
                "a bisection needs two revisions of one line of history",
            )
        form = "--format=%H%x00%cs%x00%s%x00"
        words = ("log", "--no-show-signature", "--first-parent", "--reverse", "-z", form)
        told = self._objects.tell(*words, f"{first}..{last}", "--").split("\0")
        fields = [text for text in told if text]
        return tuple(zip(fields[0::3], fields[1::3], fields[2::3], strict=False))

    def _commit(self, revision: str) -> str:
        name = revision.removeprefix(GIT)
        expect_revision(name, printable(revision))
        return find_commit(self._objects, name, printable(revision))


def _order(tag: str) -> tuple[int, Version, str]:
    """By version, as in ``v0.5.10`` after ``v0.5.9``; what is no version comes first, by name."""
    try:
        return 1, Version(tag.rpartition("/")[2]), tag
    except InvalidVersion:
        return 0, Version("0"), tag
