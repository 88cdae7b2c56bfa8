"""One version: its tree, what was found in it, and what of that is about one served class."""

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from pathaudit.diff.naming import Defines, Owner, owner_of
from pathaudit.errors import UsageError
from pathaudit.hints import did_you_mean
from pathaudit.results import EntryReport, Finding
from pathaudit.results.versions import Survey, Variant
from pathaudit.sources import SourceTree


class Version(Struct, frozen=True, eq=False):
    """A tree and its survey."""

    tree: SourceTree
    survey: Survey


class Side(Struct, frozen=True, eq=False):
    """One of two versions; ``has`` tells whether a file defines a name."""

    survey: Survey
    has: Defines


def owners(survey: Survey) -> dict[Owner, frozenset[str]]:
    """The classes that a survey tells of, with the served classes that lead to them."""
    found: dict[Owner, set[str]] = {}
    for file, symbol, served in _told(survey):
        if symbol:
            found.setdefault(owner_of(file, symbol), set()).update(served)
    return {owner: frozenset(served) for owner, served in found.items()}


def _told(survey: Survey) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for finding in survey.report.findings:
        yield finding.file, finding.symbol, finding.entries
    for entry in survey.report.entries:
        yield entry.file, entry.entry, entry.architectures
    for variant in survey.variants:
        yield variant.entry_file, variant.entry, variant.architectures
        yield variant.file, variant.symbol, variant.architectures


def narrowed(old: Survey, new: Survey, name: str) -> tuple[Survey, Survey]:
    """What two surveys tell of one class, served or not.

    UsageError for a name that neither tells of.
    """
    found = _about(old, name), _about(new, name)
    if not any(part.report.findings or part.report.entries or part.variants for part in found):
        known = sorted({known for survey in (old, new) for known in _known(survey)})
        hint = did_you_mean(name, known, f"{len(known)} classes are known")
        raise UsageError(f"neither version has layers run for a class {name!r}", hint=hint)
    return found


def _about(survey: Survey, name: str) -> Survey:
    report = msgspec.structs.replace(
        survey.report,
        findings=tuple(x for x in survey.report.findings if is_about(x, name)),
        entries=tuple(x for x in survey.report.entries if is_about(x, name)),
    )
    variants = tuple(x for x in survey.variants if is_about(x, name))
    return Survey(report, variants, survey.cut)


def is_about(item: Finding | EntryReport | Variant, name: str) -> bool:
    """Is something told of a class: as served, as the one audited, or as one that runs the code?"""
    return name in names_of(item)


def names_of(item: Finding | EntryReport | Variant) -> frozenset[str]:
    """The classes that something is about: those that run the code, and those served.

    A class whose method others inherit is not meant, unless it runs that itself.
    """
    if isinstance(item, Finding):
        running = tuple(x.name for x in item.receivers) or (item.entry, item.symbol)
        return _classes(running, item.entries)
    if isinstance(item, EntryReport):
        return _classes(item.receivers or (item.entry,), item.architectures)
    return _classes((item.entry, item.symbol), item.architectures)


def _classes(methods: tuple[str, ...], served: tuple[str, ...]) -> frozenset[str]:
    return frozenset({*served, *(name.partition(".")[0] for name in methods)}) - {""}


def _known(survey: Survey) -> Iterator[str]:
    report = survey.report
    for parts in (report.findings, report.entries, survey.variants):
        for item in parts:
            yield from names_of(item)
