"""What does a server with these arguments run, and which requested layers does it capture?"""

from fnmatch import fnmatchcase

from msgspec import Struct
from msgspec.structs import replace

from pathaudit import __version__
from pathaudit.audit import ALONE, Means, audit
from pathaudit.errors import UsageError
from pathaudit.hints import did_you_mean
from pathaudit.index import ClassRef, Index, build_index
from pathaudit.live.answer import NO_START, Answered, advice_of, answer_of
from pathaudit.live.capture import Scene, unmentioned, variants_of
from pathaudit.live.flags import Declared, declared_in, undeclared
from pathaudit.live.functions import result_of
from pathaudit.live.inputs import from_command, from_log, from_server_info
from pathaudit.live.models import Asked, Config, algorithm_of, asked_by_draft, read_config
from pathaudit.live.setters import Stored, stored_ids
from pathaudit.live.stated import Stated
from pathaudit.live.variants import IMPOSSIBLE, Arguments, controls_of, exclusions_of, judge
from pathaudit.results import Report, Source
from pathaudit.results.live import LiveReport, Variant
from pathaudit.ruleset import Ruleset
from pathaudit.ruleset.serving import Algorithm, Anchored, Control, Serving
from pathaudit.sources import SourceTree

__all__ = ["Question", "declared_for", "live", "read_stated"]


class Question(Struct, frozen=True):
    """What the user names: the files, and the version if it is not said elsewhere."""

    log: str | None = None
    command: str | None = None
    server_info: str | None = None
    config: str | None = None
    draft_config: str | None = None
    version: str | None = None


def declared_for(tree: SourceTree | None, serving: Serving) -> Declared:
    """The arguments that a tree declares; without one, what holds for all releases."""
    return declared_in(tree, serving) if tree is not None else undeclared(serving)


def read_stated(question: Question, serving: Serving, declared: Declared) -> Stated:
    """What the one text that was named states; raises ``UsageError`` for none and for several."""
    given = [question.log, question.command, question.server_info]
    if sum(x is not None for x in given) != 1:
        raise UsageError(
            "one of --log, --command and --server-info is needed",
            hint="the log of the server's start, the command that starts it, or its /server_info",
        )
    if question.log is not None:
        return from_log(question.log, serving, declared)
    if question.command is not None:
        return from_command(question.command, serving, declared)
    return from_server_info(str(question.server_info), serving)


def live(
    question: Question, tree: SourceTree | None, rules: Ruleset, *, means: Means = ALONE
) -> LiveReport:
    """Answer for stated arguments, and with a model for its forward in ``tree``.

    Raises ``UsageError`` for what cannot be read, and for a model without a tree.
    """
    serving = rules.profile.serving
    declared = declared_for(tree, serving)
    stated = read_stated(question, serving, declared)
    version = question.version or stated.version or (tree.version if tree else None) or ""
    arguments = Arguments(stated, declared, serving, version)
    index = build_index(tree, rules.profile) if tree is not None else None
    controls = _controls(index, serving, arguments)
    asking = _Asking(question, arguments, controls, index, serving)
    scene = asking.scene() if question.config is not None else None
    report = (
        audit(index.tree, rules, entry=scene.entry.name, means=means) if scene and index else None
    )
    captured = variants_of(scene, report) if scene is not None and report is not None else []
    if asking.refusal:
        captured = [_no_start(asking.refusal)]
    return _told(arguments, controls, captured, scene, asking, tree, report)


def _controls(
    index: Index | None, serving: Serving, arguments: Arguments
) -> tuple[tuple[Control, Variant], ...]:
    def anchored(anchor: Anchored) -> bool:
        return index is None or index.modules.find(anchor.files, anchor.text) is not None

    exclusions = exclusions_of(serving, anchored) if index is not None else ()
    return tuple(
        (item, judge(item, arguments, exclusions)) for item in controls_of(serving, anchored)
    )


class _Asking:
    """Finds out what is asked of which class."""

    def __init__(
        self,
        question: Question,
        arguments: Arguments,
        controls: tuple[tuple[Control, Variant], ...],
        index: Index | None,
        serving: Serving,
    ) -> None:
        self._question = question
        self._arguments = arguments
        self._controls = controls
        self._index = index
        self.serving = serving
        self.notes: list[str] = []
        self.entry = ""
        self.refusal = ""
        self.basis = ""
        self.asked: Asked | None = None

    def scene(self) -> Scene | None:
        """What a capture is judged with; None where nothing asks for hidden states."""
        if self._index is None:
            raise UsageError(
                "--config asks about the code of a version, and there is none",
                hint="name a tree with --tree",
            )
        config = read_config(str(self._question.config), self.serving)
        draft = None
        if self._question.draft_config is not None:
            draft = read_config(self._question.draft_config, self.serving)
        entry = self._served(self._index, config)
        self.entry = entry.name
        algorithm = self._algorithm(draft)
        if algorithm is None:
            return None
        ids = self._ids(self._index, algorithm, config, draft)
        if self.asked is not None and self.asked.off:
            self.notes.append(f"the draft wants no hidden states: {self.asked.off}")
            return None
        stored = self._stored(self._index, entry, algorithm, ids, config)
        if self.refusal:
            return None
        return Scene(
            index=self._index,
            entry=entry,
            config=config,
            draft=draft,
            algorithm=algorithm,
            arguments=self._arguments,
            controls=self._controls,
            stored=stored,
        )

    def _served(self, index: Index, config: Config) -> ClassRef:
        """The class that serves the model, or the part of it that makes text."""
        for place, name in enumerate(config.names):
            found = _serving(index, name)
            if found is not None and place:
                self.notes.append(
                    f"{index.tree.label} serves no {config.names[0]}; its text model {name} is "
                    "judged"
                )
            if found is not None:
                return found
        if not config.names:
            hint = "name the config.json beside the weights"
            raise UsageError(f"{config.path}: names no architectures", hint)
        served = {ref.name for file in index.model_files for ref in index.served(file)}
        hint = did_you_mean(config.names[0], served, f"{len(served)} classes are served")
        raise UsageError(f"{index.tree.label} serves no class {config.names[0]!r}", hint)

    def _algorithm(self, draft: Config | None) -> Algorithm | None:
        held = self._arguments.held("speculative_algorithm")
        found = algorithm_of(held.value if held.known else None, draft, self.serving)
        if found is not None and draft is not None and not _suits(found, draft):
            self.notes.append(
                f"{held.reason}, and the draft is a {', '.join(draft.names) or 'model of no name'}"
            )
        if found is not None and not (held.known and held.value):
            self.notes.append(
                f"{held.reason}; {found.names[0]} is taken from the draft's architecture"
            )
        if found is None:
            said = held.reason if held.known else "no algorithm is stated"
            self.notes.append(f"nothing asks for hidden states of single layers ({said})")
        return found

    def _ids(
        self, index: Index, algorithm: Algorithm, config: Config, draft: Config | None
    ) -> tuple[int, ...] | None:
        """The ids that the draft asks for; None for those that the setter takes on its own."""
        if draft is None:
            self.basis = (
                "Without --draft-config, the layers that the setter selects on its own are taken."
            )
            return None
        anchor = algorithm.switch_anchor
        switchable = (
            anchor is not None and index.modules.find(anchor.files, anchor.text) is not None
        )
        self.asked = asked_by_draft(algorithm, draft, switchable=switchable)
        if self.asked.ignored:
            self.notes.append(
                f"{draft.path}: {self.asked.ignored} is not read at this level, only "
                f"{algorithm.ids[0]}; the default of the setter counts"
            )
        if self.asked.ids is None and algorithm.fallback:
            numbers = (config.number(self.serving.layer_count), draft.number("num_hidden_layers"))
            found = result_of(index, algorithm.fallback_files, algorithm.fallback, numbers)
            if isinstance(found, list) and all(isinstance(x, int) for x in found):
                self.notes.append(f"{algorithm.fallback} selects the ids; the draft names none")
                return tuple(x for x in found if isinstance(x, int))
        return self.asked.ids

    def _stored(
        self,
        index: Index,
        entry: ClassRef,
        algorithm: Algorithm,
        ids: tuple[int, ...] | None,
        config: Config,
    ) -> Stored:
        if index.modules.method(entry, algorithm.setter) is None:
            self.refusal = (
                f"{entry.name} has no {algorithm.setter}, which {algorithm.names[0]} calls "
                "(AttributeError)"
            )
            return Stored()
        switches = index.profile.features.switches
        stored = stored_ids(index, entry, algorithm.setter, ids, config, switches)
        if stored.refused:
            self.refusal = f"{algorithm.setter} refuses the ids: {stored.refused}"
        elif stored.ids is None:
            self.basis = f"Which layers are asked for is not known from {algorithm.setter}."
        elif ids is None:
            self.notes.append(f"{algorithm.setter} is given no ids, and selects these on its own")
        return stored


def _unknown_to(variant: Variant) -> Variant:
    """A variant that the code of the model does not mention."""
    told = f"{variant.reason}; the code of this model does not mention it"
    return replace(variant, reason=told, remark="")


def _no_start(reason: str) -> Variant:
    return Variant(
        name=NO_START,
        title="start of the server",
        state=IMPOSSIBLE,
        reason=reason,
        condition="always",
    )


def _suits(algorithm: Algorithm, draft: Config) -> bool:
    return any(fnmatchcase(name, glob) for name in draft.names for glob in algorithm.drafts)


def _serving(index: Index, name: str) -> ClassRef | None:
    """The served class of a name, looked for where the name stands."""
    for file in index.tree.find(name.encode(), index.model_files):
        for ref in index.served(file):
            if ref.name == name:
                return ref
    return None


def _told(
    arguments: Arguments,
    controls: tuple[tuple[Control, Variant], ...],
    captured: list[Variant],
    scene: Scene | None,
    asking: _Asking,
    tree: SourceTree | None,
    report: Report | None,
) -> LiveReport:
    stated = arguments.stated
    judged = {item.name for item in captured}
    others = [
        _unknown_to(variant) if scene is not None and unmentioned(scene, control) else variant
        for control, variant in controls
        if variant.name not in judged
    ]
    variants = (*captured, *others)
    requested = scene.stored.ids if scene is not None else None
    answered = Answered(tuple(variants), requested, asking.basis, report)
    return LiveReport(
        tool=f"pathaudit {__version__}",
        answer=answer_of(answered),
        source=Source(label=tree.label, version=tree.version) if tree is not None else None,
        version=arguments.version,
        form=stated.form,
        complete=stated.complete,
        prefix=stated.prefix,
        arguments=arguments.listed(),
        environment=arguments.environment(),
        unresolved=tuple(sorted(stated.unresolved)),
        ignored=stated.ignored,
        variants=tuple(variants),
        entry=asking.entry,
        asked=asking.asked.ids if asking.asked is not None else None,
        requested=requested,
        advice=advice_of(answered, scene.controls if scene is not None else ()),
        notes=(
            *_notes(arguments, asking.serving, tuple(variants), tree, scene),
            *stated.notes,
            *asking.notes,
        ),
    )


def _notes(
    arguments: Arguments,
    serving: Serving,
    variants: tuple[Variant, ...],
    tree: SourceTree | None,
    scene: Scene | None,
) -> list[str]:
    """What the answer takes for granted."""
    notes = []
    told = {x.name for x in variants}
    void = [x.title for x in serving.controls if x.name not in told]
    if void and tree is not None:
        notes.append(f"{tree.label} lacks the code that {', '.join(void)} is known by")
    if tree is not None and tree.version and tree.version != arguments.version:
        notes.append(
            f"the server is {arguments.version}, and the code that was read is {tree.version}"
        )
    stages = arguments.held("pp_size")
    if scene is not None and not stages.known:
        notes.append(f"one pipeline stage is taken for granted: {stages.reason}")
    return notes
