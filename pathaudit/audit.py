"""The pipeline: open a tree, outline it, execute its entries, judge, accept by comment, report.

This is the page to read first. Each stage is one module; what goes from one to the next is data.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from pathaudit import __version__
from pathaudit.cache import Cache, Known
from pathaudit.cache.manifest import digest_of
from pathaudit.decisions import GatesReport
from pathaudit.errors import UsageError
from pathaudit.hints import did_you_mean
from pathaudit.results import (
    EntryReport,
    Finding,
    Gap,
    Report,
    Source,
)
from pathaudit.results.hooks import HooksReport
from pathaudit.results.matrices import Matrix
from pathaudit.results.patches import PatchesReport
from pathaudit.results.reaches import ReachReport
from pathaudit.results.versions import Survey
from pathaudit.ruleset import AnyRule, ReliesRule, Ruleset
from pathaudit.sources import SourceTree

# What follows code imports LibCST, which a report that is already known does not need.
if TYPE_CHECKING:
    from pathaudit.check import Answer
    from pathaudit.sources.fitting import Fitted
    from pathaudit.work import Work


class Means(Struct, frozen=True, eq=False):
    """How an audit is done; none of it changes the report.

    ``jobs`` processes work, ``cache`` keeps answers, ``progress`` is told how many of how many
    units of work are done.
    """

    jobs: int = 1
    cache: Cache | None = None
    progress: Callable[[int, int], None] | None = None


ALONE = Means()

Found = TypeVar("Found")

_ENCODER = msgspec.msgpack.Encoder(order="deterministic")


def audit(
    tree: SourceTree,
    rules: Ruleset,
    *,
    entry: str | None = None,
    files: tuple[str, ...] = (),
    means: Means = ALONE,
) -> Report:
    """Judge every rule on ``tree``, or on the paths of one served class.

    With ``files``, paths of the tree, what depends on none of them is not judged. Raises
    ``UsageError`` where there is nothing to audit: that must not look like success.
    """
    key = digest_of(b"report", _ENCODER.encode((rules, entry, files)))

    def answer(known: Known | None) -> Report:
        with _at_work(tree, rules, known, files, means) as work:
            return audit_work(work, rules, entry=entry)

    return _labelled(_once(tree, key, msgspec.msgpack.Decoder(Report), means, answer), tree)


def survey(tree: SourceTree, rules: Ruleset, *, means: Means = ALONE) -> Survey:
    """Judge every rule on ``tree``, and find every way to run layers: what versions differ in.

    Raises as ``audit``.
    """
    key = digest_of(b"survey", _ENCODER.encode(rules))

    def answer(known: Known | None) -> Survey:
        from pathaudit.variants import find_variants

        with _at_work(tree, rules, known, (), means) as work:
            return Survey(audit_work(work, rules), *find_variants(work, rules.rules))

    found = _once(tree, key, msgspec.msgpack.Decoder(Survey), means, answer)
    return msgspec.structs.replace(found, report=_labelled(found.report, tree))


def matrix_of(
    tree: SourceTree, rules: Ruleset, *, entry: str | None = None, means: Means = ALONE
) -> Matrix:
    """What each served class of ``tree`` supports, or one of them; raises as ``audit``."""
    key = digest_of(b"matrix", _ENCODER.encode((rules, entry)))

    def answer(known: Known | None) -> Matrix:
        from pathaudit.matrix import find_matrix

        with _at_work(tree, rules, known, (), means) as work:
            return find_matrix(work, rules, audit_work(work, rules, entry=entry), entry)

    found = _once(tree, key, msgspec.msgpack.Decoder(Matrix), means, answer)
    source = Source(label=tree.label, version=tree.version)
    return msgspec.structs.replace(found, source=source)


def _labelled(report: Report, tree: SourceTree) -> Report:
    """The report under the name that the tree has now."""
    return msgspec.structs.replace(report, source=Source(label=tree.label, version=tree.version))


def _once(
    tree: SourceTree,
    key: bytes,
    decoder: msgspec.msgpack.Decoder[Found],
    means: Means,
    answer: Callable[[Known | None], Found],
) -> Found:
    """What is kept under a key for a tree; without it the answer, which is kept then."""
    known = means.cache.known(tree) if means.cache is not None else None
    encoded = known.find_whole(key) if known is not None else None
    if encoded is not None:
        return decoder.decode(encoded)
    found = answer(known)
    if known is not None and means.cache is not None:
        known.keep_whole(key, msgspec.msgpack.encode(found))
        means.cache.keep(known, tree)
    return found


def hooks_of(
    tree: SourceTree,
    rules: Ruleset,
    module: str = "",
    *,
    entry: str | None = None,
    means: Means = ALONE,
) -> HooksReport:
    """Where hooks on modules fire, of all served classes or of one; raises as its stage does."""
    key = digest_of(b"hooks", _ENCODER.encode((rules, module, entry)))

    def answer(known: Known | None) -> HooksReport:
        from pathaudit.hooks import find_hooks

        with _at_work(tree, rules, known, (), means) as work:
            return find_hooks(work, entry=entry, module=module)

    found = _once(tree, key, msgspec.msgpack.Decoder(HooksReport), means, answer)
    source = Source(label=tree.label, version=tree.version)
    return msgspec.structs.replace(found, source=source)


def gates_of(
    tree: SourceTree, rules: Ruleset, what: str, *, within: str = "", means: Means = ALONE
) -> GatesReport:
    """What decides a condition, or those on the paths of an entry; raises as its stage does."""
    from pathaudit.gates import find_gates

    with _keeping(tree, rules, means) as work:
        return find_gates(work, what, within=within)


def patches_of(tree: SourceTree, rules: Ruleset, *, means: Means = ALONE) -> PatchesReport:
    """What became of each patch in a tree: what is wrong, what holds, what cannot be told."""
    from pathaudit.relies.relies import answers_of

    with _keeping(tree, rules, means) as work:
        answers = answers_of(work, rules.patches)
    source = Source(label=tree.label, version=tree.version)
    return PatchesReport(tool=f"pathaudit {__version__}", source=source, patches=answers)


def reach_of(
    tree: SourceTree,
    rules: Ruleset,
    target: str,
    *,
    entry: str | None = None,
    patch: "Fitted | None" = None,
    means: Means = ALONE,
) -> ReachReport:
    """Where a target or what a patch adds runs; raises as its stage does."""
    from pathaudit.reach import reach

    tree = patch.new if patch is not None else tree
    with _keeping(tree, rules, means) as work:
        return reach(work, target, entry=entry, patch=patch)


@contextmanager
def _keeping(tree: SourceTree, rules: Ruleset, means: Means) -> Iterator["Work"]:
    """The work of a question that is not kept as a whole: its units are, once it is answered."""
    known = means.cache.known(tree) if means.cache is not None else None
    with _at_work(tree, rules, known, (), means) as work:
        yield work
    if known is not None and means.cache is not None:
        means.cache.keep(known, tree)


@contextmanager
def _at_work(
    tree: SourceTree,
    rules: Ruleset,
    known: Known | None,
    files: tuple[str, ...],
    means: Means,
) -> Iterator["Work"]:
    """The work of one audit; what was started for it is stopped at its end."""
    from pathaudit.work import Work

    work = Work(
        tree,
        rules.profile,
        known=known,
        focus=frozenset(files),
        jobs=means.jobs,
        progress=means.progress,
    )
    with _collector_paused():
        try:
            yield work
        finally:
            work.stop()


def audit_work(work: "Work", rules: Ruleset, *, entry: str | None = None) -> Report:
    """Judge the rules on a tree of which something may be known; raises as ``audit`` does."""
    from pathaudit.check import begin_rule
    from pathaudit.gates import begin_controls, with_controls
    from pathaudit.policy import Told, apply_policy
    from pathaudit.summary import summary_of
    from pathaudit.suppress import apply_suppressions

    few = (entry,) if entry is not None else rules.policy.entries
    _expect_entries(work, few, by="" if entry is not None else ", which the settings name")
    entry = few[0] if len(few) == 1 else None
    tree, rules = work.tree, rules.applying
    for rule in rules.rules:
        begin_rule(work, rule)
    answers = []
    for rule in rules.rules:
        answers.append(_answer(work, rule, rules, entry))
        begin_controls(work, answers[-1].findings)
    whole = not few and not work.focus
    accepted = apply_suppressions(work.index, rules, answers, whole=whole, focus=work.focus)
    findings = sorted(with_controls(work, accepted), key=_place)
    entries = tuple(x for answer in answers for x in answer.entries)
    gaps = _gaps(work, answers, entries)
    told = apply_policy(rules, few if entry is None else (), Told(tuple(findings), entries, gaps))
    return Report(
        tool=f"pathaudit {__version__}",
        source=Source(label=tree.label, version=tree.version),
        rules=tuple(rule.id for rule in rules.rules),
        findings=told.findings,
        entries=told.entries,
        gaps=told.gaps,
        summary=summary_of(tree, told),
        files=tuple(sorted(work.focus)),
        inert=_inert(rules, answers) if whole else (),
        left_out=told.left_out,
    )


def _answer(work: "Work", rule: AnyRule, rules: Ruleset, entry: str | None) -> "Answer":
    """What one rule says of the tree; what judges patches is imported where there are some."""
    from pathaudit.check import check_rule

    if isinstance(rule, ReliesRule):
        from pathaudit.relies.relies import check_relies

        return check_relies(work, rule, rules.patches, entry)
    return check_rule(work, rule, entry)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Syntax trees are large and hold no cycles; to look for some costs more than to parse."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _place(finding: Finding) -> tuple[str, int, int, str, str]:
    return (finding.file, finding.line, finding.column, finding.rule, finding.entry)


def _expect_entries(work: "Work", wanted: tuple[str, ...], by: str) -> None:
    from pathaudit.check import find_entries

    served = find_entries(work)
    if not served:
        raise UsageError(
            f"{work.tree.label}: no served model was found under {work.profile.models[0]}",
            hint=f"is this a {work.profile.framework} source tree?",
        )
    names = sorted({ref.name for ref in served})
    for name in wanted:
        if name not in names:
            hint = did_you_mean(name, names, f"{len(names)} classes are served")
            raise UsageError(f"{work.tree.label} serves no class {name!r}{by}", hint=hint)


def _gaps(
    work: "Work", answers: "list[Answer]", entries: tuple[EntryReport, ...]
) -> tuple[Gap, ...]:
    """Files that could not be read, calls and budgets: what the verdicts do not speak of."""
    unlisted = [
        Gap(kind="file", file=path, line=1, message=reason) for path, reason in work.tree.skipped
    ]
    found = [
        *work.gaps,
        *work.index.modules.gaps,
        *unlisted,
        *(gap for answer in answers for gap in answer.gaps),
    ]
    if work.focus:
        told = {name for item in entries for name in item.architectures}
        found = [x for x in found if x.file in work.focus or told.intersection(x.entries)]
    return tuple(sorted(set(found), key=lambda gap: (gap.file, gap.line, gap.kind, gap.message)))


def _inert(rules: Ruleset, answers: "list[Answer]") -> tuple[str, ...]:
    pairs = zip(rules.rules, answers, strict=True)
    return tuple(rule.id for rule, answer in pairs if not answer.examined)
