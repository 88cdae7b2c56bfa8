"""The kind ``relies``: what the patches of a user rely on is still there."""

from collections.abc import Iterator

from msgspec import structs

from pathaudit.check.answer import Answer, Fault, merge_faults
from pathaudit.index import Index
from pathaudit.relies.judging import Judged, Point, judge_patch
from pathaudit.relies.running import path_points
from pathaudit.results.patches import PatchAnswer, PatchPoint, Status
from pathaudit.ruleset import AnyRule, ReliesRule
from pathaudit.ruleset.patches import Reliance
from pathaudit.sources.fitting import Standing
from pathaudit.work import Stage, Work


def check_relies(
    work: Work, rule: ReliesRule, patches: tuple[Reliance, ...], entry: str | None
) -> Answer:
    """Judge every patch on a tree; of one served class, on which of its paths they run."""
    judged = _judged(work, patches, entry)
    faults = [fault for item in judged for fault in _faults(rule, item)]
    return Answer(merge_faults(rule, faults), (), (), len(judged))


def answers_of(work: Work, patches: tuple[Reliance, ...]) -> tuple[PatchAnswer, ...]:
    """What is to be said of each patch, also what holds and what cannot be told."""
    judged = _judged(work, patches, None)
    return tuple(_answer(item, found) for item, found in zip(patches, judged, strict=True))


def _judged(work: Work, patches: tuple[Reliance, ...], entry: str | None) -> list[Judged]:
    """Those that were judged, with the paths on which they run where they are or fit."""
    known = {item.name: item for item in patches}
    return [_with_paths(work, known[x.name], x, entry) for x in work.run(RELIED, patches)]


def _with_paths(work: Work, item: Reliance, judged: Judged, entry: str | None) -> Judged:
    if judged.standing == Standing.NEITHER:
        return judged
    points = tuple(path_points(work, item, entry))
    return structs.replace(judged, points=(*judged.points, *points))


def _answer(item: Reliance, judged: Judged) -> PatchAnswer:
    points = sorted(map(_point, judged.points), key=lambda x: _ORDER.index(x.status))
    return PatchAnswer(
        name=item.name,
        reason=item.reason,
        version=item.version,
        standing=judged.standing,
        points=tuple(points),
    )


_ORDER: tuple[Status, ...] = ("error", "warning", "note", "unknown", "holds")


def _point(point: Point) -> PatchPoint:
    status: Status = "unknown" if point.doubtful else "holds"
    return PatchPoint(
        status=point.severity.value if point.severity is not None else status,
        file=point.file,
        line=point.region.line,
        symbol=point.symbol,
        text=point.how,
        condition=point.condition,
        effect=point.effect,
    )


def _faults(rule: ReliesRule, judged: Judged) -> Iterator[Fault]:
    """The points of a patch that are faults."""
    for point in judged.points:
        if point.severity is not None:
            yield _fault(rule, judged.name, point)


def _fault(rule: ReliesRule, name: str, point: Point) -> Fault:
    return Fault(
        file=point.file,
        region=point.region,
        symbol=point.symbol,
        entry=point.symbol,
        message=rule.message.format(patch=name, how=point.how),
        kind=f"{name} {point.kind}",
        severity=point.severity,
        effect=point.effect,
        condition=point.condition,
    )


def _judge(index: Index, _: AnyRule | None, item: Reliance) -> Judged:
    return judge_patch(index, item)


RELIED = Stage("relied", _judge, Reliance, Judged, lambda item: item.name, judges=True)
