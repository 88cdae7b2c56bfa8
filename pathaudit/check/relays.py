"""The kind ``relays``: what a pipeline stage owes the next one is in what it hands over.

Two things are owed. A value that each layer hands to the next must not begin anew in the middle
of the model: lost is what a stage starts from nothing, and what the stage before did not put into
what it returned. And what a feature collected must come to the last stage, which reads it.
"""

import ast
from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit.check.answer import Answer, Fault, merge_faults
from pathaudit.check.places import region_of
from pathaudit.check.relays_collected import Collections
from pathaudit.check.relays_layers import Loops, Run
from pathaudit.check.relays_results import Layers
from pathaudit.check.relays_stage import Exit, Kinds, Stage, State
from pathaudit.check.subjects import FEATURES, OWNERS, Owner, find_targets
from pathaudit.index import ClassRef, Feature, FunctionRef, Index, Instance
from pathaudit.index.outline import FunctionOutline
from pathaudit.index.syntax import parameters
from pathaudit.ir import Region
from pathaudit.paths import ask
from pathaudit.results import Reach, Step
from pathaudit.ruleset import RelaysRule, Rule, StagedFeature
from pathaudit.work import Stage as WorkStage
from pathaudit.work import Work


class Asked(Struct, frozen=True, order=True):
    """A method that runs layers, and what the features that run in stages store there."""

    instance: Instance
    root: FunctionRef
    switches: tuple[str, ...]


class Loss(Struct, frozen=True, order=True):
    """What a return leaves out. ``collected`` if a feature asked for it.

    ``refusal`` is what may raise on the last stage. ``reset`` is where a stage starts it from
    nothing, ``used`` where layers are given it.
    """

    function: FunctionRef
    region: Region
    name: str
    how: str
    collected: bool
    refusal: str
    reset: Region | None
    used: Region


class Looked(Struct, frozen=True):
    """What one method loses, and how many returns of stages were looked at."""

    asked: Asked
    losses: tuple[Loss, ...]
    examined: int


def check_relays(work: Work, rule: RelaysRule, entry: str | None) -> Answer:
    """Judge the models that run in stages, of a tree or of one served class."""
    asked = find_targets(work, entry)
    staged = [item for item in work.profile.stages.features if work.run(STAGED, [item])[0]]
    allowed = {name: item for item in staged for name in item.setters}
    features = work.run(FEATURES, asked)
    owners = work.run(OWNERS, asked)
    groups: dict[Asked, dict[str, set[str]]] = {}
    for held, found in zip(owners, features, strict=True):
        live = [item for item in found if item.setter in allowed]
        for owner in held:
            if owner.method == work.profile.modules.call:
                group = groups.setdefault(_asked(owner, live), {})
                group.setdefault(owner.entry, set()).update(item.setter for item in live)
    looked = work.run(LOSSES, sorted(groups), rule)
    whole = {
        ref.name for ref, split in zip(asked, work.run(SPLIT, asked), strict=True) if not split
    }
    faults = (x for item in looked for x in _faults(rule, item, groups[item.asked], whole))
    return Answer(
        findings=merge_faults(rule, faults),
        entries=(),
        gaps=(),
        examined=sum(item.examined for item in looked),
    )


def _asked(owner: Owner, features: Iterable[Feature]) -> Asked:
    names = {write.name for item in features for write in item.writes}
    return Asked(owner.instance, owner.root, tuple(sorted(names)))


def _is_staged(index: Index, _: Rule | None, item: StagedFeature) -> bool:
    """Is the code still there that lets the feature run in stages?"""
    return index.modules.find(item.anchor.files, item.anchor.text) is not None


def _is_split(index: Index, _: Rule | None, entry: ClassRef) -> bool:
    """Is a served class run in stages? The framework asks its signature."""
    pipeline = index.profile.pipeline
    found = index.modules.method(entry, index.profile.modules.call)
    if pipeline is None or found is None:
        return True
    return pipeline.parameter in parameters(found[1].node)


# ---- one method -------------------------------------------------------------------------------


def _look(index: Index, rule: Rule | None, item: Asked) -> Looked:
    if not isinstance(rule, RelaysRule):
        raise AssertionError("a rule of this kind is needed")
    losses: set[Loss] = set()
    examined = 0
    stacks = index.stacks_of(item.instance)
    reached = index.closure(item.instance.cls, item.root)
    last = index.profile.stages.last
    if not any(last in index.attributes_of(ref) for ref in reached):
        return Looked(item, (), 0)
    runners = _runners(index, reached, stacks)
    layers = Layers(index, item.instance, stacks)
    for ref in reached:
        function = index.modules.function(ref)
        if function is None or last not in function.attributes:
            continue
        judged = _Function(index, rule, ref, function, stacks, runners, layers)
        examined += len(judged.exits)
        losses.update(judged.threaded())
        losses.update(judged.collected(frozenset(item.switches)))
    return Looked(item, tuple(sorted(losses, key=repr)), examined)


def _runners(
    index: Index, reached: Iterable[FunctionRef], stacks: frozenset[str]
) -> frozenset[str]:
    """The methods of an object that run its layers."""
    functions = (index.modules.function(ref) for ref in reached)
    return frozenset(
        function.name
        for function in functions
        if function is not None
        and function.attributes & stacks
        and Loops(function.node, stacks).runs_any
    )


class _Function:
    """One function of a model as a stage between others takes it."""

    def __init__(
        self,
        index: Index,
        rule: RelaysRule,
        ref: FunctionRef,
        function: FunctionOutline,
        stacks: frozenset[str],
        runners: frozenset[str],
        layers: Layers,
    ) -> None:
        self._index = index
        self._ref = ref
        self._node = function.node
        self._layers = layers
        self._question = ask(index.profile, rule.collect, rule.assume, (), stacks)
        self._loops = Loops(function.node, stacks, runners - {function.name})
        self._collections = Collections(index, self._question, ref, self._loops)
        self._stage = Stage(self._loops, index.profile.stages, self._question.assumed)
        self._stage.walk(function.node.body, State({}))

    @property
    def exits(self) -> list[Exit]:
        return self._stage.exits

    def threaded(self) -> Iterator[Loss]:
        """What goes from layer to layer, and not from stage to stage."""
        for run in self._loops.runs:
            for name in sorted(self._loops.threaded(run)):
                reset = self._reset(run, name)
                if reset is None or name in self._collections.guarded:
                    continue
                if not self._layers.hand_on(run, name):
                    continue
                for exit_ in self._after(run.loop):
                    if name not in self._kept(exit_, run.loop.lineno):
                        yield self._loss(exit_, name, run.call, reset)
                        break

    def _reset(self, run: Run, name: str) -> ast.expr | None:
        """What a stage starts a value from, where that is nothing on every way to the loop."""
        kinds = [x.names.get(name, Kinds()) for x in self._stage.entered.get(run.loop, ())]
        if not kinds or any(item.computed or item.reset is None for item in kinds):
            return None
        return kinds[0].reset

    def _kept(self, exit_: Exit, start: int) -> frozenset[str]:
        """What is in a return, and what it is asserted of that there is nothing to keep."""
        return self._loops.reaches(exit_.node, start) | self._loops.checked(exit_.node, start)

    def _after(self, loop: ast.stmt) -> list[Exit]:
        return [item for item in self.exits if item.node.lineno > loop.lineno]

    def collected(self, switches: frozenset[str]) -> Iterator[Loss]:
        """What a feature collects, and the last stage never gets."""
        for name, place in self._collections.filled(switches) if switches else ():
            for exit_ in self.exits:
                reached = self._loops.reaches(exit_.node, self._node.lineno)
                if exit_.node.lineno > place.lineno and name not in reached:
                    yield self._loss(exit_, name, place, None)
                    break

    def _loss(self, exit_: Exit, name: str, used: ast.expr, reset: ast.expr | None) -> Loss:
        given = "None" if exit_.node.value is None else ast.unparse(exit_.node.value)
        return Loss(
            function=self._ref,
            region=self._region(exit_.node),
            name=name,
            how=given if len(given) <= _SHOWN else f"{given[:_SHOWN]}...",
            collected=reset is None,
            refusal=self._collections.refusal(name) if reset is None else "",
            reset=self._region(reset) if reset is not None else None,
            used=self._region(used),
        )

    def _region(self, node: ast.expr | ast.stmt) -> Region:
        return region_of(self._index, self._ref.file, node)


_SHOWN = 60

WHOLE = "The forward of the served class declares no proxy, so that it is not split into stages."


# ---- findings ---------------------------------------------------------------------------------


def _faults(
    rule: RelaysRule, looked: Looked, entries: dict[str, set[str]], whole: set[str]
) -> Iterator[Fault]:
    """A fault for each loss; ``whole`` are the served classes that never run in stages."""
    setters = {name for names in entries.values() for name in names}
    split = sorted(entries.keys() - whole)
    for loss in looked.losses:
        yield Fault(
            file=loss.function.file,
            region=loss.region,
            symbol=loss.function.qualname,
            entry=looked.asked.root.qualname,
            message=rule.message.format(name=loss.name, how=_how(loss)),
            kind=f"{'collected' if loss.collected else 'threaded'} {loss.name}",
            steps=tuple(_steps(loss)),
            features=tuple(sorted(setters)) if loss.collected else (),
            architectures=tuple(split or sorted(entries)),
            reach=Reach.REACHABLE if split else Reach.BLOCKED,
            proof="" if split else WHOLE,
            effect=_effect(loss),
        )


def _how(loss: Loss) -> str:
    if loss.collected:
        return f"what earlier stages collect is not in {loss.how}, which they hand over"
    return f"each stage starts it anew, and it is not in {loss.how}, which the one before returns"


def _effect(loss: Loss) -> str:
    if loss.collected:
        end = f"{loss.refusal} may raise there" if loss.refusal else "no check here says so"
        return f"The last stage has fewer states than were asked for, or none; {end}."
    return "The first layer of every later stage runs as if it were the first of the model."


def _steps(loss: Loss) -> Iterator[Step]:
    if loss.reset is not None:
        yield _step(loss, loss.reset, f"every stage starts {loss.name} here")
    text = f"{loss.name} is filled here" if loss.collected else f"layers are given {loss.name}"
    yield _step(loss, loss.used, text)


def _step(loss: Loss, region: Region, text: str) -> Step:
    return Step(
        file=loss.function.file,
        line=region.line,
        column=region.column,
        end_line=region.end_line,
        end_column=region.end_column,
        kind="event",
        text=text,
    )


SPLIT = WorkStage("split", _is_split, ClassRef, bool, lambda item: item.file)
STAGED = WorkStage("staged", _is_staged, StagedFeature, bool, lambda item: item.reason)
LOSSES = WorkStage("relayed", _look, Asked, Looked, lambda item: item.root.file, judges=True)
