"""How the parts of a cell are put together, and how findings are told in one."""

from collections.abc import Iterable

from msgspec.structs import replace

from pathaudit.matrix.asked import Asked
from pathaudit.results import Finding
from pathaudit.results.matrices import Cell, Evidence, Part, Support

# From the worst to the best: a cell is as good as the worst that it consists of.
ORDER = tuple(Support)


def cell_of(column: str, parts: Iterable[Part], remarks: Iterable[Part] = ()) -> Cell:
    """The cell of some parts; what is said of several features alike is one part."""
    merged: dict[Part, set[str]] = {}
    for part in parts:
        merged.setdefault(replace(part, features=()), set()).update(part.features)
    found = [replace(part, features=tuple(sorted(names))) for part, names in merged.items()]
    said = {(part.rule, part.detail) for part in found}
    found.sort(key=lambda part: (ORDER.index(part.support), part.features, part.detail))
    return Cell(
        column=column,
        support=found[0].support,
        parts=tuple(found),
        remarks=tuple(x for x in dict.fromkeys(remarks) if (x.rule, x.detail) not in said),
    )


def part_of(finding: Finding, support: Support, features: tuple[str, ...] = ()) -> Part:
    """A finding as what decides a cell, or stands beside it."""
    return Part(
        support=support,
        detail=told(finding),
        evidence=(place_of(finding),),
        rule=finding.rule,
        features=features,
    )


def told(finding: Finding) -> str:
    """What a finding says, and when."""
    when = finding.condition
    return f"{finding.message}, when {when}" if when not in ("", "always") else finding.message


def place_of(finding: Finding) -> Evidence:
    return Evidence(finding.file, finding.line, finding.symbol)


def proof_of(finding: Finding) -> str:
    """Why a path that cannot run cannot."""
    proofs = [*(x.proof for x in finding.paths), *(x.proof for x in finding.receivers)]
    return next(filter(None, proofs), "").rstrip(".")


def unseen(lacks: str, asked: Asked) -> str:
    """What a class lacks, unless it may have it where nobody can look."""
    if not asked.about.opaque:
        return lacks
    return f"{lacks} is to be seen, but a base of unknown class or __getattr__ may bring one"
