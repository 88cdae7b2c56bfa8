"""The kind ``relies``: what the patches of a user rely on is still there."""

from collections.abc import Iterator

from pathaudit.check.answer import Answer, Fault, merge_faults
from pathaudit.index import Index
from pathaudit.relies.judging import Judged, Point, judge_patch
from pathaudit.results.patches import PatchAnswer, PatchPoint, Status
from pathaudit.ruleset import AnyRule, ReliesRule
from pathaudit.ruleset.patches import Reliance
from pathaudit.work import Stage, Work


def check_relies(work: Work, rule: ReliesRule, patches: tuple[Reliance, ...]) -> Answer:
    """Judge every patch on a tree. A patch is about no served class, so all are judged."""
    judged = work.run(RELIED, patches)
    faults = [fault for item in judged for fault in _faults(rule, item)]
    return Answer(merge_faults(rule, faults), (), (), len(judged))


def answers_of(work: Work, patches: tuple[Reliance, ...]) -> tuple[PatchAnswer, ...]:
    """What is to be said of each patch, also what holds and what cannot be told."""
    judged = work.run(RELIED, patches)
    return tuple(_answer(item, found) for item, found in zip(patches, judged, strict=True))


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
    )


def _judge(index: Index, _: AnyRule | None, item: Reliance) -> Judged:
    return judge_patch(index, item)


RELIED = Stage("relied", _judge, Reliance, Judged, lambda item: item.name, judges=True)
