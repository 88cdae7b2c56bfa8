"""Why no forward leads to a function: what replaces it, or who calls it instead."""

import re
from collections.abc import Collection, Iterator

from msgspec import Struct

from pathaudit.errors import SourceError
from pathaudit.index import ClassRef, FunctionRef, Index
from pathaudit.results.reaches import Extent

_SHOWN = 3  # callers that are named


class Absence(Struct, frozen=True):
    """Whether a function surely is in no forward, and why."""

    extent: Extent
    reason: str
    notes: tuple[str, ...] = ()


def explain_absence(index: Index, ref: FunctionRef, reached: Collection[FunctionRef]) -> Absence:
    """Say why none of the functions that forwards lead to is this one."""
    replaced = _replaced(index, ref, reached)
    if replaced:
        return Absence(Extent.NONE, f"{ref.qualname} is replaced by {replaced}")
    name = ref.qualname.rpartition(".")[2]
    function = index.modules.function(ref)
    read = function is not None and any(x.endswith("property") for x in function.decorators)
    loose = next(_loose_uses(index, name, reached, read=read), "")
    if loose and _may_be_held(index, ref):
        used = "read" if read else "called"
        reason = f"it may be {used} at {loose}, on an object whose class is not known"
        return Absence(Extent.UNKNOWN, reason)
    callers = list(dict.fromkeys(_callers(index, name)))
    if not callers:
        return Absence(Extent.NONE, f"nothing in the tree calls {name}")
    more = f" and in {len(callers) - _SHOWN} more places" if len(callers) > _SHOWN else ""
    told = ", ".join(callers[:_SHOWN])
    return Absence(Extent.NONE, "no forward leads there", (f"{name} is called at {told}{more}",))


def _may_be_held(index: Index, ref: FunctionRef) -> bool:
    """Can an object of unknown class be of the method's? Models are known by their class."""
    runs = ref.qualname.rpartition(".")[2].startswith(index.profile.modules.call)
    return "." in ref.qualname and not (index.is_model(ref.file) and runs)


def _replaced(index: Index, ref: FunctionRef, reached: Collection[FunctionRef]) -> str:
    """The method of a subclass that runs where this one would."""
    owner, _, name = ref.qualname.rpartition(".")
    if not owner:
        return ""
    base = ClassRef(ref.file, owner)
    for other in sorted(reached):
        cls = index.modules.owner(other) if other.qualname.endswith(f".{name}") else None
        if cls is None or cls == base:
            continue
        if base in index.modules.mro(cls):
            function = index.modules.function(other)
            line = function.line if function is not None else 1
            return f"{other.qualname} ({other.file}:{line})"
    return ""


def _loose_uses(
    index: Index, name: str, reached: Collection[FunctionRef], *, read: bool
) -> Iterator[str]:
    """The places in functions that run where something of this name is called, or ``read``."""
    end = r"\b" if read else r"\("
    use = re.compile(rf"(?<!super\(\))\.{re.escape(name)}{end}")
    files = set(index.tree.find(f".{name}".encode(), sorted({ref.file for ref in reached})))
    for ref in sorted(reached):
        outline = index.modules.outline(ref.file) if ref.file in files else None
        function = index.modules.function(ref) if outline is not None else None
        if outline is None or function is None:
            continue
        for number in range(function.line, function.last):
            if use.search(outline.lines[number]):
                yield f"{ref.file}:{number + 1}"


def _callers(index: Index, name: str) -> Iterator[str]:
    """The places in the tree that call something of this name, its own definition left out."""
    call = re.compile(rf"(?<!def )(?<!\w){re.escape(name)}\(".encode())
    for file in index.tree.find(f"{name}(".encode(), index.tree.paths):
        try:
            lines = index.tree.read(file).split(b"\n")
        except SourceError:
            continue
        for number, line in enumerate(lines, 1):
            if call.search(line) and not line.lstrip().startswith(b"#"):
                yield f"{file}:{number}"
