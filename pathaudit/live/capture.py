"""Which of the layers that a draft asks for are captured on each variant, and which are lost."""

from fnmatch import fnmatchcase

from msgspec import Struct

from pathaudit.check.bounds_ids import asked_by
from pathaudit.check.bounds_loops import Asking, askings, missing_operand
from pathaudit.index import ClassRef, Index
from pathaudit.live.functions import result_of
from pathaudit.live.models import Config
from pathaudit.live.setters import Stored
from pathaudit.live.truth import Unknown, number, truth
from pathaudit.live.variants import IMPOSSIBLE, POSSIBLE, UNKNOWN, Arguments
from pathaudit.results import Finding, PathReport, Reach, Report, Severity, Verdict
from pathaudit.results.live import Variant
from pathaudit.ruleset.serving import Algorithm, Control, Serving

STAGES, CONTROL = "pipeline stages", "pp_not_last_rank"


class Scene(Struct, frozen=True, eq=False):
    """What a capture is judged with."""

    index: Index
    entry: ClassRef
    config: Config
    draft: Config | None
    algorithm: Algorithm
    arguments: Arguments
    controls: tuple[tuple[Control, Variant], ...]
    stored: Stored

    @property
    def serving(self) -> Serving:
        return self.index.profile.serving

    @property
    def layers(self) -> int | None:
        return self.config.number(self.serving.layer_count)


def variants_of(scene: Scene, report: Report) -> list[Variant]:
    """The plain forward, and every other way to run it, with what each captures."""
    found = [
        _bypass(scene, finding, path)
        for finding in report.findings
        if finding.verdict is Verdict.VIOLATED
        and finding.suppressed is None
        and scene.algorithm.setter in finding.features
        for path in _worth_telling(finding)
    ]
    return [*_plain(scene, found), *found]


def unmentioned(scene: Scene, control: Control) -> bool:
    """Does the code of a model not know a variant that others have?"""
    places = [scene.stored.path[:size] for size in range(len(scene.stored.path) + 1)]
    held = [item.cls for path in places for item in scene.index.at(scene.entry, path)]
    files = {ref.file for cls in held for ref in scene.index.modules.mro(cls)}
    return bool(control.mentions) and not any(
        scene.index.modules.find((file,), word)
        for file in sorted(files)
        for word in control.mentions
    )


def _worth_telling(finding: Finding) -> tuple[PathReport, ...]:
    """The paths that can run; where there is none, one that says what happens instead."""
    reachable = tuple(x for x in finding.paths if x.reach is Reach.REACHABLE)
    blocked = tuple(x for x in finding.paths if x.reach is Reach.BLOCKED)
    return reachable or blocked[:1]


def _plain(scene: Scene, found: list[Variant]) -> list[Variant]:
    """The forward without any bypass, and what no variant can capture."""
    asked = scene.stored.ids
    edges = _edges(scene)
    certain = {x for variant in found if variant.condition == "always" for x in variant.lost}
    lost = {layer for variant in edges for layer in variant.lost} | certain
    captured = None if asked is None else tuple(x for x in asked if x not in lost)
    plain = Variant(
        name="forward", title="forward", state=POSSIBLE, reason="no bypass taken", captured=captured
    )
    return [plain, *edges]


# ---- a path without capture ----------------------------------------------------------------------


def _bypass(scene: Scene, finding: Finding, path: PathReport) -> Variant:
    """A path that runs layers without capture: can it run here, and which layers are on it?"""
    control = _control(scene, finding, path.condition)
    lookup = _Lookup(scene)
    met = truth(path.condition, lookup)
    state, reason = _state(met, control, path.condition)
    if path.reach is Reach.BLOCKED and state != IMPOSSIBLE:
        state, reason = IMPOSSIBLE, f"not with this model: {path.proof}"
    quiet = finding.severity is Severity.NOTE
    lost = None if state == IMPOSSIBLE or quiet else _lost(scene, path, lookup)
    asked = scene.stored.ids
    captured = None if asked is None or lost is None else tuple(x for x in asked if x not in lost)
    if state == POSSIBLE and lost is None and not quiet:
        state, reason = UNKNOWN, f"which of the layers {path.layers} are asked for is not known"
    effect = ""
    if lost and captured is not None:
        effect = _effect(scene, finding.file, len(captured))
    return Variant(
        name=control[1].name if control else finding.symbol,
        title=control[1].title if control else f"{finding.symbol} {path.layers}",
        state=state,
        reason=reason,
        condition=path.condition,
        captured=captured,
        lost=lost or (),
        effect=effect,
        place=f"{finding.file}:{finding.line}",
        remark=control[1].remark if control else "",
    )


def _control(scene: Scene, finding: Finding, condition: str) -> tuple[Control, Variant] | None:
    for control, variant in scene.controls:
        if control.method and finding.entry.rpartition(".")[2] == control.method:
            return control, variant
        if any(fnmatchcase(condition, f"*{glob.strip('*')}*") for glob in control.predicates):
            return control, variant
    return None


def _state(
    met: bool | Unknown, control: tuple[Control, Variant] | None, condition: str
) -> tuple[str, str]:
    """Can a condition hold? What decides it is told: the argument, or the field of the model."""
    if control is not None and control[1].state == IMPOSSIBLE:
        return IMPOSSIBLE, control[1].reason
    if met is False:
        return IMPOSSIBLE, f"not with this model: {condition}"
    if control is not None:
        return control[1].state, control[1].reason
    if met is True:
        return POSSIBLE, "with these arguments" if condition != "always" else "always"
    return UNKNOWN, f"depends on {', '.join(met.names) or condition}"


class _Lookup:
    """What the names in a condition stand for."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def __call__(self, text: str) -> object:
        for control, variant in self._scene.controls:
            if any(fnmatchcase(text, glob) for glob in control.predicates):
                return {IMPOSSIBLE: False, POSSIBLE: True}.get(variant.state, Unknown((text,)))
        name = text.rpartition(".")[2]
        placeholder = self._scene.index.profile.stacks.placeholder
        if placeholder is not None and name in (placeholder.first, placeholder.end):
            stage = last_stage(self._scene)
            return Unknown((name,)) if stage is None else stage[name == placeholder.end]
        if text.startswith("len(") and self._scene.layers is not None and "layers" in text:
            return self._scene.layers
        value = self._scene.config.find(name) if text.replace("config.", "") == name else None
        return Unknown((text,)) if value is None else value


def last_stage(scene: Scene) -> tuple[int, int] | None:
    """The layers of the last pipeline stage, which is the one that captures."""
    stages, layers = scene.arguments.held("pp_size"), scene.layers
    if layers is None:
        return None
    if not isinstance(stages.value, int) or stages.value <= 1:
        return 0, layers  # where it is not known, one stage is taken, and that is told
    given = scene.arguments.stated.environment.get(scene.serving.partition, "")
    parts = [int(x) for x in given.split(",") if x.strip().isdigit()]
    if len(parts) == stages.value:
        return layers - parts[-1], layers
    numbers = (layers, stages.value - 1, stages.value)
    found = result_of(scene.index, scene.serving.stage_files, scene.serving.stage, numbers)
    match found:
        case [int() as first, int() as end]:
            return first, end
        case _:
            return None


def _lost(scene: Scene, path: PathReport, lookup: _Lookup) -> tuple[int, ...] | None:
    asked = scene.stored.ids
    low, _, high = path.layers[1:-1].partition(", ")
    bounds = (number(low, lookup), number(high, lookup))
    if asked is None or isinstance(bounds[0], Unknown) or isinstance(bounds[1], Unknown):
        return None
    return tuple(x for x in asked if bounds[0] <= x < bounds[1])


# ---- the ends --------------------------------------------------------------------------------


def _edges(scene: Scene) -> list[Variant]:
    """Ids that no loop reaches, and the first layer where there is no residual yet."""
    asked, layers = scene.stored.ids or (), scene.layers
    found: list[Variant] = []
    outside = tuple(x for x in asked if x < 0 or (layers is not None and x > layers))
    if outside:
        found.append(_edge("no such layer", outside, "the model has no such layer", "", scene))
    stage = last_stage(scene)
    if stage is not None and stage[0] > 0:
        before = tuple(x for x in asked if 0 <= x < stage[0])
        reason = f"the last stage runs layers [{stage[0]}, {stage[1]}) and is the one that captures"
        refused = any(x.name == CONTROL and x.state == IMPOSSIBLE for _, x in scene.controls)
        if before and not refused and _only_last(scene):
            found.append(_edge(STAGES, before, reason, scene.stored.place, scene))
    loops = [
        asking
        for item in asked_by(scene.index, scene.entry, scene.algorithm.setter).stored
        for instance in scene.index.at(scene.entry, item.path)
        for asking in askings(scene.index, instance, item.name)
    ]
    if 0 in asked and (stage is None or stage[0] == 0):
        found += [x for x in (_first(scene, loops),) if x is not None]
    if layers is not None and layers in asked and loops:
        place = f"{loops[0].ref.file}:{loops[0].loop.lineno}"
        reason = f"layer {layers} is what the last layer puts out, and no loop reaches it"
        found.append(_edge("after the last layer", (layers,), reason, place, scene))
    return found


def _only_last(scene: Scene) -> bool:
    """Does the setter arm the last pipeline stage alone?"""
    methods = [
        scene.index.modules.method(instance.cls, scene.algorithm.setter)
        for size in range(len(scene.stored.path) + 1)
        for instance in scene.index.at(scene.entry, scene.stored.path[:size])
    ]
    return any("is_last_rank" in x[1].attributes for x in methods if x is not None)


def _first(scene: Scene, loops: list[Asking]) -> Variant | None:
    for asking in loops:
        missing = missing_operand(asking)
        if missing is not None:
            statement, name = missing
            place = f"{asking.ref.file}:{statement.lineno}"
            effect = f"loud: {name} is None in the first layer (TypeError)"
            return _edge(
                "first layer", (0,), f"{name} is None before layer 0", place, scene, effect
            )
    return None


def _edge(
    title: str, lost: tuple[int, ...], reason: str, place: str, scene: Scene, effect: str = ""
) -> Variant:
    captured = tuple(x for x in scene.stored.ids or () if x not in lost)
    return Variant(
        name=CONTROL if title == STAGES else title.replace(" ", "_"),
        title=title,
        state=POSSIBLE,
        reason=reason,
        condition="always",
        captured=captured,
        lost=lost,
        effect=effect or _effect(scene, scene.entry.file, len(captured)),
        place=place,
    )


# ---- what comes of it ----------------------------------------------------------------------------


def _effect(scene: Scene, file: str, captured: int) -> str:
    """What the callers do with fewer states than were asked for, from the code that gets them."""
    asked = len(scene.stored.ids or ())
    missing = "all" if captured == 0 else "some"
    for item in scene.serving.outcomes:
        if item.missing not in (missing, "any"):
            continue
        if item.algorithms and not set(item.algorithms) & set(scene.algorithm.names):
            continue
        if item.used and not _holds(scene, file, item.used):
            continue
        if item.fits and not _fits(scene, captured):
            continue
        place = scene.index.modules.find(item.anchor.files, item.anchor.text)
        if place is not None:
            return " ".join(item.says.split()).format(captured=captured, asked=asked)
    return "not known from the code"


def _holds(scene: Scene, file: str, text: str) -> bool:
    return scene.index.modules.find((file,), text) is not None


def _fits(scene: Scene, captured: int) -> bool:
    """Are the captured states together as wide as one hidden state of the draft?"""
    own = scene.config.number("hidden_size")
    drafts = scene.draft.number("hidden_size") if scene.draft is not None else None
    return own is not None and captured * own == (drafts if drafts is not None else own)
