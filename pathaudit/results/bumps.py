"""What changed of the framework's pins, and what each new version brings, as data.

Field names are the names in the JSON report. Files and lines of a pin are those of the repository
that pins the framework; places in ``Comparison`` and ``Arrival`` are those of the framework.
"""

from enum import StrEnum

from msgspec import Struct

from pathaudit.results import Gap, Report, Severity, fails
from pathaudit.results.versions import Kept, Origin, ReportDiff


class PinSource(StrEnum):
    """Where a pin takes the framework from."""

    INDEX = "index"
    GIT = "git"
    URL = "url"
    PATH = "path"
    IMAGE = "image"
    SUBMODULE = "submodule"


class Pin(Struct, frozen=True, kw_only=True):
    """A place that says which version of the framework is used.

    ``part`` is what it belongs to in its file, such as ``project.dependencies``; ``role`` is
    ``requirement``, ``constraint``, ``override``, ``lock``, ``image`` or ``submodule``. ``text``
    is what is written. ``version`` is the one version that it names, as a release, a tag or the
    name of a wheel; ``specifier`` the condition on versions of a requirement. ``address`` and
    ``revision`` are those of a repository, an image or a file.
    """

    file: str
    line: int
    part: str
    role: str
    text: str
    source: PinSource
    specifier: str = ""
    version: str = ""
    address: str = ""
    revision: str = ""
    extras: tuple[str, ...] = ()
    marker: str = ""
    hashes: tuple[str, ...] = ()


class Aim(Struct, frozen=True, kw_only=True):
    """A pin, and what is audited for it: ``tree`` as for a scan, nothing if that cannot be told.

    ``remark`` says how the tree follows from the pin, or why there is none.
    """

    pin: Pin
    tree: str
    version: str
    remark: str = ""


class PinChange(Struct, frozen=True, kw_only=True):
    """``change`` is ``upgraded``, ``downgraded``, ``changed``, ``same``, ``added`` or ``removed``.

    ``same`` means another text for the same version, ``changed`` that the order of the two is not
    known. ``fields`` of the pin differ.
    """

    change: str
    old: Aim | None
    new: Aim | None
    fields: tuple[str, ...] = ()


class Disagreement(Struct, frozen=True, kw_only=True):
    """Pins that name different versions: ``before`` the change, ``after`` it, or both."""

    when: str
    pins: tuple[Pin, ...]


class ComparedLine(Struct, frozen=True):
    """A line of two versions of a method: its number in each, 0 where it is not there.

    ``mark`` if it is the line that a finding is about.
    """

    old: int
    new: int
    text: str
    mark: bool = False


class Regression(Struct, frozen=True, kw_only=True):
    """A finding that is new or changed in code of both versions, with the lines of both around it.

    It belongs to the finding of the comparison with this fingerprint. ``old_file`` and ``old_line``
    are the place in the old version; ``changed`` tells whether the method itself differs at all.
    """

    fingerprint: str
    old_file: str
    old_line: int
    changed: bool
    lines: tuple[ComparedLine, ...]


class Comparison(Struct, frozen=True, kw_only=True):
    """What changes from one version of the framework to another; ``pins`` are ``file:line``.

    ``fails``: the new version has what fails a scan and did not fail one of the old version.
    ``inert`` are the rules that had something to look at in the old version, and have nothing now.
    """

    old: str
    new: str
    pins: tuple[str, ...]
    fails: bool
    diff: ReportDiff
    regressions: tuple[Regression, ...]
    inert: tuple[str, ...] = ()


class Arrival(Struct, frozen=True, kw_only=True):
    """A scan of a version that there is nothing to compare with, for a ``reason``.

    ``fails``: it has what fails a scan, and the framework was not pinned before.
    """

    tree: str
    pins: tuple[str, ...]
    reason: str
    fails: bool
    report: Report


class Unfetched(Struct, frozen=True, kw_only=True):
    """A version that could not be had or audited; ``pins`` are ``file:line``."""

    tree: str
    pins: tuple[str, ...]
    reason: str


class BumpReport(Struct, frozen=True, kw_only=True):
    """The answer to a change of dependencies, from revision ``base`` to ``head``.

    ``package`` is the framework's. ``pins`` is the number of pins after the change, ``gaps`` are
    dependency files that could not be read.
    """

    tool: str
    package: str
    base: str
    head: str
    pins: int
    rules: tuple[str, ...]
    changes: tuple[PinChange, ...]
    disagreements: tuple[Disagreement, ...]
    comparisons: tuple[Comparison, ...]
    arrivals: tuple[Arrival, ...]
    unfetched: tuple[Unfetched, ...]
    gaps: tuple[Gap, ...]
    schema: int = 1


def pin_place(pin: Pin) -> str:
    """A pin's ``file:line``."""
    return f"{pin.file}:{pin.line}"


def brings_failure(report: BumpReport) -> bool:
    """Does a change of dependencies bring what fails a scan, and did not fail before?"""
    return any(x.fails for x in report.comparisons) or any(x.fails for x in report.arrivals)


def new_errors(report: BumpReport) -> tuple[int, int]:
    """How many errors a change of dependencies brings, and how many of them in known code."""
    known = fresh = 0
    for item in report.comparisons:
        for added in item.diff.added:
            if fails(added.finding, Severity.ERROR):
                known += added.origin is Origin.CHANGED
                fresh += added.origin is Origin.NEW
        known += len([x for x in item.diff.changed if _got_worse(x)])
    for arrival in report.arrivals:
        if arrival.fails:
            fresh += len([x for x in arrival.report.findings if fails(x, Severity.ERROR)])
    return known + fresh, known


def _got_worse(kept: Kept) -> bool:
    return fails(kept.new, Severity.ERROR) and not fails(kept.old, Severity.ERROR)
