"""Find what a name means in a source tree: modules, classes, bases, methods."""

from collections.abc import Iterator

from msgspec import Struct

from pathaudit.errors import SourceError
from pathaudit.index.outline import (
    ClassOutline,
    FunctionOutline,
    ImportedSymbol,
    ModuleOutline,
)
from pathaudit.index.reads import Found, Outlines, Reads, Search
from pathaudit.results import Gap

RESOLUTION_DEPTH = 20


class ClassRef(Struct, frozen=True, order=True):
    """A class by where it is defined; same-named classes of two files differ."""

    file: str
    name: str


class FunctionRef(Struct, frozen=True, order=True):
    """A function or method by where it is defined; ``qualname`` is ``Class.method`` or a name."""

    file: str
    qualname: str


class ModuleRef(Struct, frozen=True, order=True):
    file: str


class ValueRef(Struct, frozen=True, order=True):
    """A module-level variable."""

    file: str
    name: str


class External(Struct, frozen=True, order=True):
    """Something outside the tree, by its dotted name as imported."""

    name: str


Symbol = ClassRef | FunctionRef | ModuleRef | ValueRef | External


class Modules:
    """What names mean; notes what it asks the tree, and which files it could not read."""

    def __init__(self, outlines: Outlines) -> None:
        self.tree = outlines.tree
        self.gaps: list[Gap] = []
        self._outlines = outlines
        self._read: dict[str, ModuleOutline | None] = {}
        self._texts: set[str] = set()
        self._paths: set[str] = set()
        self._folders: set[str] = set()
        self._found: set[Found] = set()
        self._mro_cache: dict[ClassRef, tuple[ClassRef, ...]] = {}
        self._resolved: dict[tuple[str, str], Symbol | None] = {}

    @property
    def reads(self) -> Reads:
        """What was asked of the tree so far."""
        return Reads(
            files=frozenset({*self._read, *self._texts}),
            paths=frozenset(self._paths),
            folders=frozenset(self._folders),
            found=frozenset(self._found),
        )

    def outline(self, file: str) -> ModuleOutline | None:
        """The outline of a file, ``None`` if it does not exist or does not parse (then a gap)."""
        if file not in self._read:
            found = self._outlines.get(file)
            self._read[file] = None if isinstance(found, Gap) else found
            if isinstance(found, Gap):
                self.gaps.append(found)
        return self._read[file]

    def find(self, globs: tuple[str, ...], text: str) -> tuple[str, int] | None:
        """Where a text first occurs under some globs: the file, and the line from 1."""
        for path in self.holding(globs, text):
            try:
                before, found, _ = self.tree.read(path).partition(text.encode())
            except SourceError:
                continue
            self._texts.add(path)
            if found:
                return path, before.count(b"\n") + 1
        return None

    def holding(self, globs: tuple[str, ...], text: str) -> tuple[str, ...]:
        """The files under some globs that hold a text, in order."""
        asked = Search(globs, text)
        files = self._outlines.search(asked)
        self._found.add(Found(asked, files))
        return files

    # ---- names ----

    def file_of(self, module: str) -> str | None:
        """The file of a dotted module name; packages without ``__init__.py`` have none."""
        base = module.replace(".", "/")
        for candidate in (f"{base}.py", f"{base}/__init__.py"):
            self._paths.add(candidate)
            if candidate in self._outlines.paths:
                return candidate
        return None

    def resolve(self, file: str, name: str) -> Symbol | None:
        """What the dotted ``name`` means at the top level of ``file``; ``None`` if unknown."""
        key = (file, name)
        if key not in self._resolved:
            head, *rest = name.split(".")
            symbol = self._member(file, head, 0)
            for part in rest:
                symbol = self._attribute(symbol, part)
            self._resolved[key] = symbol
        return self._resolved[key]

    def _member(self, file: str, name: str, depth: int) -> Symbol | None:
        outline = self.outline(file)
        if outline is None or depth > RESOLUTION_DEPTH:
            return None
        if name in outline.classes:
            return ClassRef(file, name)
        if name in outline.functions:
            return FunctionRef(file, name)
        if name in outline.imports:
            return self._imported(file, outline.imports[name], depth)
        if name in outline.values:
            return ValueRef(file, name)
        for star in outline.stars:
            found = self._imported(
                file, ImportedSymbol(star.module, name, star.level), depth, star=True
            )
            if found is not None:
                return found
        return None

    def _imported(
        self, file: str, symbol: ImportedSymbol, depth: int, *, star: bool = False
    ) -> Symbol | None:
        module = self.absolute(file, symbol)
        dotted = module if symbol.attribute is None else f"{module}.{symbol.attribute}"
        if module.split(".")[0] != self.tree.package:
            return None if star else External(dotted)
        found = self._module(module)
        if symbol.attribute is None:
            return found
        if isinstance(found, ModuleRef):
            member = self._member(found.file, symbol.attribute, depth + 1)
            if member is not None:
                return member
        return self._module(dotted)

    def _module(self, module: str) -> Symbol | None:
        file = self.file_of(module)
        if file is not None:
            return ModuleRef(file)
        folder = module.replace(".", "/")
        self._folders.add(folder)
        return ModuleRef(f"{folder}/__init__.py") if folder in self._outlines.folders else None

    def absolute(self, file: str, symbol: ImportedSymbol) -> str:
        """The absolute module name that an import in ``file`` asks for."""
        if not symbol.level:
            return self.tree.here(symbol.module)
        parts = file.removesuffix(".py").split("/")
        package = parts[: len(parts) - symbol.level]
        return ".".join([*package, *([symbol.module] if symbol.module else [])])

    def _attribute(self, symbol: Symbol | None, name: str) -> Symbol | None:
        match symbol:
            case ModuleRef(file):
                found = self._member(file, name, 0)
                if found is not None:
                    return found
                dotted = file.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
                return self._module(f"{dotted}.{name}")
            case ClassRef():
                method = self.method(symbol, name)
                return method[0] if method else None
            case External(dotted):
                return External(f"{dotted}.{name}")
            case _:
                return None

    # ---- classes ----

    def class_outline(self, ref: ClassRef) -> ClassOutline | None:
        outline = self.outline(ref.file)
        return outline.classes.get(ref.name) if outline else None

    def bases(self, ref: ClassRef) -> Iterator[Symbol | None]:
        outline = self.class_outline(ref)
        for base in outline.bases if outline else ():
            yield self.resolve(ref.file, base.split("[")[0])

    def mro(self, ref: ClassRef) -> tuple[ClassRef, ...]:
        """The classes of the tree in method resolution order; outside classes are left out.

        C3 linearisation; an inconsistent or circular hierarchy falls back to depth first.
        """
        if ref not in self._mro_cache:
            self._mro_cache[ref] = (ref,)  # answers a circular hierarchy
            bases = [base for base in self.bases(ref) if isinstance(base, ClassRef)]
            sequences = [list(self.mro(base)) for base in bases] + [bases]
            rest = [cls for cls in _merge(sequences) if cls != ref]
            self._mro_cache[ref] = (ref, *rest)
        return self._mro_cache[ref]

    def has_unknown_base(self, ref: ClassRef) -> bool:
        """Does a class of the hierarchy have a base that is neither here nor a known module?"""
        return any(base is None for cls in self.mro(ref) for base in self.bases(cls))

    def method(
        self, ref: ClassRef, name: str, after: ClassRef | None = None
    ) -> tuple[FunctionRef, FunctionOutline] | None:
        """The method that ``name`` finds on a receiver, or past ``after`` as ``super()`` does."""
        order = self.mro(ref)
        if after is not None and after in order:
            order = order[order.index(after) + 1 :]
        for cls in order:
            outline = self.class_outline(cls)
            if outline and name in outline.methods:
                method = outline.methods[name]
                return FunctionRef(cls.file, method.qualname), method
        return None

    def function(self, ref: FunctionRef) -> FunctionOutline | None:
        """The outline of a function or method by reference."""
        outline = self.outline(ref.file)
        if outline is None:
            return None
        owner, _, name = ref.qualname.rpartition(".")
        if not owner:
            return outline.functions.get(name)
        cls = outline.classes.get(owner)
        return cls.methods.get(name) if cls else None

    def owner(self, ref: FunctionRef) -> ClassRef | None:
        """The class that defines a method."""
        owner = ref.qualname.rpartition(".")[0]
        return ClassRef(ref.file, owner) if owner else None


def _merge(sequences: list[list[ClassRef]]) -> list[ClassRef]:
    merged: list[ClassRef] = []
    pending = [sequence for sequence in sequences if sequence]
    while pending:
        tails = {ref for sequence in pending for ref in sequence[1:]}
        heads = [sequence[0] for sequence in pending]
        head = next((ref for ref in heads if ref not in tails), heads[0])
        merged.append(head)
        pending = [[ref for ref in sequence if ref != head] for sequence in pending]
        pending = [sequence for sequence in pending if sequence]
    return merged
