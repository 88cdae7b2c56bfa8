"""Where registered hooks, a patched forward or a context manager fire, and where they do not."""

from collections.abc import Collection, Iterable, Sequence

from pathaudit import __version__
from pathaudit.check.subjects import find_entries
from pathaudit.errors import UsageError
from pathaudit.hints import did_you_mean
from pathaudit.hooks.answer import answer_of, names_in, subject_of
from pathaudit.hooks.request import Request, read_request
from pathaudit.hooks.served import SERVED, Served
from pathaudit.index import ClassRef
from pathaudit.index.imports import Imports
from pathaudit.results import Source
from pathaudit.results.hooks import HookGroup, HooksReport
from pathaudit.work import Work

__all__ = ["find_hooks"]


def find_hooks(work: Work, *, entry: str | None = None, module: str = "") -> HooksReport:
    """What becomes of hooks on the modules that ``module`` means, on each variant of the forward.

    ``module`` is a path such as ``model.layers.*.mlp``, a class, or ``file:line`` of a constructor;
    nothing means all modules. Without ``entry``, a served class, all that have such a module are
    told. Raises ``UsageError`` for a class that is not served and for a module that is not there.
    """
    served = _served(work, entry)
    request = read_request(module)
    asked = served if entry is not None else _leading(work, served, request)
    found = dict(zip(asked, work.run(SERVED, asked), strict=True))
    groups = _grouped(found, request)
    if not groups:
        raise _nothing(work, module, entry, found.values())
    label = Source(label=work.tree.label, version=work.tree.version)
    told = set(names_in(groups))
    silent = (x for item in found.values() if not item.variants for x in item.gaps)
    gaps = (x for ref, item in found.items() if ref.name in told for x in item.gaps)
    return HooksReport(
        tool=f"pathaudit {__version__}",
        answer=answer_of(subject_of(module, sorted(told)), groups),
        source=label,
        request=module,
        groups=groups,
        void=tuple(_void(work)),
        gaps=tuple(sorted({*gaps, *silent}, key=lambda x: (x.file, x.line, x.message))),
    )


def _served(work: Work, entry: str | None) -> list[ClassRef]:
    every = find_entries(work)
    if not every:
        raise UsageError(
            f"{work.tree.label}: no served model was found under {work.profile.models[0]}",
            hint=f"is this a {work.profile.framework} source tree?",
        )
    found = [ref for ref in every if entry in (None, ref.name)]
    if not found:
        names = sorted({ref.name for ref in every})
        hint = did_you_mean(entry or "", names, f"{len(names)} classes are served")
        raise UsageError(f"{work.tree.label} serves no class {entry!r}", hint=hint)
    return found


def _leading(work: Work, served: list[ClassRef], request: Request) -> list[ClassRef]:
    """The served classes that may have a module: their files lead to the one of its class."""
    name = request.text
    if request.file:
        homes = [x for x in work.tree.paths if x == request.file or x.endswith(f"/{request.file}")]
    elif name.isidentifier():
        homes = list(work.tree.find(f"class {name}".encode(), work.tree.paths))
    else:
        return served
    if not homes:
        return served
    files = sorted({ref.file for ref in served})
    leading = Imports(work.tree).lead_to(files, frozenset(homes))
    found = [ref for ref in served if ref.file in leading]
    return found or served


def _grouped(found: dict[ClassRef, Served], request: Request) -> tuple[HookGroup, ...]:
    """The served classes that have such a module, those with the same answer together."""
    groups: dict[tuple[object, ...], list[ClassRef]] = {}
    for ref, item in found.items():
        modules = tuple(x for x in item.modules if request.fits(x))
        if modules:
            groups.setdefault((item.variants, modules, item.alike), []).append(ref)
    made = []
    for refs in groups.values():
        item = found[refs[0]]
        made.append(
            HookGroup(
                entries=tuple(sorted({ref.name for ref in refs})),
                file=item.file,
                line=item.line,
                variants=item.variants,
                modules=tuple(x for x in item.modules if request.fits(x)),
                alike=item.alike,
            )
        )
    return tuple(sorted(made, key=lambda group: (group.file, group.line)))


def _nothing(work: Work, module: str, entry: str | None, found: Collection[Served]) -> UsageError:
    """No module is meant: what it may have been."""
    silent = [x.message for item in found if not item.variants for x in item.gaps]
    if entry and silent:
        return UsageError(silent[0], hint="its class, or what it derives from, is not read here")
    known: Sequence[str] = sorted(
        {name for item in found for x in item.modules for name in (x.path, x.name) if name}
    )
    owner = entry or f"no served class of {work.tree.label}"
    said = f"{owner} has no module {module!r}" if entry else f"{owner} has a module {module!r}"
    hint = did_you_mean(module, list(known), "name a path, a class, or FILE:LINE of a constructor")
    return UsageError(said, hint=hint)


def _void(work: Work) -> Iterable[str]:
    """The variants whose code is not in the tree."""
    for variant in work.profile.hooks.variants:
        anchors = variant.anchors
        if anchors and all(work.index.modules.find(x.files, x.text) is None for x in anchors):
            yield variant.title
