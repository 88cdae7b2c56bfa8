"""What a target of ``reach`` means in a tree: lines, a function, or all that a pattern matches."""

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator

from pathaudit.errors import UsageError
from pathaudit.hints import did_you_mean
from pathaudit.index import ClassRef, FunctionOutline, FunctionRef, Index, ModuleOutline
from pathaudit.index.syntax import Definition
from pathaudit.reach.matching import matches, needle, parse_pattern
from pathaudit.reach.segments import blocks, lines_of, segments
from pathaudit.reach.spots import Part, Spot
from pathaudit.sources import SourceTree
from pathaudit.sources.fitting import find_path

MOST_PARTS = 200
_LINES = re.compile(r"(?P<file>.+\.py):(?P<first>\d+)(?:-(?P<last>\d+))?")
_INSIDE = re.compile(r"(?P<file>.+\.py)::(?P<name>[\w.]+)")
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def find_parts(
    index: Index, text: str, functions: Callable[[], Collection[FunctionRef]]
) -> tuple[Part, ...]:
    """The parts of a target; ``functions`` gives those that a pattern is looked for in.

    Raises ``UsageError`` where the tree has no such thing.
    """
    if lines := _LINES.fullmatch(text):
        file = _file(index.tree, lines["file"])
        first = int(lines["first"])
        last = int(lines["last"] or first)
        return _at_lines(index, file, range(first, last + 1))
    if inside := _INSIDE.fullmatch(text):
        return _named(index, [_file(index.tree, inside["file"])], inside["name"], text)
    if _DOTTED.fullmatch(text):
        needed = f"{text.rpartition('.')[2]}(".encode()
        files = index.tree.find(needed, index.tree.paths)
        found = tuple(_definitions(index, files, text))
        classes = _classes(index, text.rpartition(".")[0])
        if found or classes or "." not in text:
            return found or _named(index, [ref.file for ref in classes] or files, text, text)
    return (_matching(index, text, functions()),)


def parts_at(index: Index, file: str, lines: Collection[int]) -> Iterator[Part]:
    """The parts of the code in some lines of a file, in order: as ``find_parts``, many at once."""
    outline = index.modules.outline(file)
    if outline is None:
        return
    told: set[int] = set()
    for function in _functions(outline):
        inside = frozenset(x for x in lines if function.first <= x <= function.last)
        if inside:
            told |= inside
            yield from _in_function(index, file, function, inside)
    rest = sorted(frozenset(lines) - told)
    if rest:
        yield from _outside(outline, file, rest)


def _file(tree: SourceTree, name: str) -> str:
    """The file of the tree that a path means; UsageError if there is none, or more than one."""
    found = find_path(tree, name)
    if found is not None:
        return found
    ends = [path for path in tree.paths if path.endswith(f"/{name.removeprefix('./')}")]
    if len(ends) == 1:
        return ends[0]
    if ends:
        raise UsageError(f"{name} is {' and '.join(ends[:3])}", "name more of the path")
    base = {path.rpartition("/")[2]: path for path in tree.paths}
    hint = did_you_mean(name.rpartition("/")[2], base, f"name a file of {tree.label}")
    raise UsageError(f"{tree.label} has no file {name}", hint)


def _at_lines(index: Index, file: str, lines: range) -> tuple[Part, ...]:
    outline = index.modules.outline(file)
    if outline is None:
        raise UsageError(f"{file} cannot be read as Python", "scan tells why")
    if lines.stop <= lines.start or not 0 < lines.start <= len(outline.lines):
        hint = f"the file has lines 1 to {len(outline.lines)}"
        raise UsageError(f"{file} has no line {lines.start}", hint)
    found = tuple(parts_at(index, file, lines))
    if not found:
        near = [x for x in _lines_with_code(index, file) if x >= lines.start]
        hint = f"the next statement is in line {near[0]}" if near else "name a line with code"
        raise UsageError(f"nothing runs in line {lines.start} of {file}", hint)
    return found


def _lines_with_code(index: Index, file: str) -> list[int]:
    outline = index.modules.outline(file)
    if outline is None:
        return []
    nodes = (node for item in _functions(outline) for node in ast.walk(item.node))
    return sorted({node.lineno for node in nodes if isinstance(node, ast.stmt)})


# ---- functions --------------------------------------------------------------------------------


def _functions(outline: ModuleOutline) -> Iterator[FunctionOutline]:
    yield from outline.functions.values()
    for cls in outline.classes.values():
        yield from cls.methods.values()


def _named(index: Index, files: Iterable[str], name: str, text: str) -> tuple[Part, ...]:
    found = tuple(_definitions(index, files, name))
    if found:
        return found
    outlines = [x for file in files if (x := index.modules.outline(file)) is not None]
    known = [item.qualname for outline in outlines for item in _functions(outline)]
    hint = did_you_mean(name, known, "name Class.method, FILE::function or FILE:LINE")
    raise UsageError(f"{index.tree.label} defines no function {text}", hint)


def _definitions(index: Index, files: Iterable[str], name: str) -> Iterator[Part]:
    """The functions of a name, and the methods of it that a class inherits."""
    owner, _, method = name.rpartition(".")
    found: dict[FunctionRef, None] = {}
    for file in files:
        outline = index.modules.outline(file)
        if outline is not None and not owner and name in outline.functions:
            found[FunctionRef(file, name)] = None
        if outline is not None and owner in outline.classes:
            inherited = index.modules.method(ClassRef(file, owner), method)
            found.update({inherited[0]: None} if inherited else {})
    if owner and not found:
        found.update(_inherited(index, owner, method))
    for ref in found:
        function = index.modules.function(ref)
        if function is not None:
            yield _whole(ref, function)


def _inherited(index: Index, owner: str, method: str) -> dict[FunctionRef, None]:
    """The method of a class whose own file does not name it."""
    found = [index.modules.method(ref, method) for ref in _classes(index, owner)]
    return {item[0]: None for item in found if item is not None}


def _classes(index: Index, name: str) -> list[ClassRef]:
    """The classes of a name, wherever they are defined."""
    if not name:
        return []
    files = index.tree.find(f"class {name}".encode(), index.tree.paths)
    refs = [ClassRef(file, name) for file in files]
    return [ref for ref in refs if index.modules.class_outline(ref) is not None]


def _whole(ref: FunctionRef, function: FunctionOutline) -> Part:
    text = f"def {function.name}(...)"
    return Part(ref.file, function.line, function.line, ref.qualname, text, (Spot(ref),))


# ---- statements -------------------------------------------------------------------------------


def _in_function(
    index: Index, file: str, function: FunctionOutline, lines: frozenset[int]
) -> Iterator[Part]:
    ref = FunctionRef(file, function.qualname)
    body = function.node.body
    if any(x < body[0].lineno for x in lines) and not lines_of(function.node).isdisjoint(lines):
        yield _whole(ref, function)
    for segment in segments(function.node, lines):
        first, last = segment.statements[0], segment.statements[-1]
        spot = Spot(ref, ((first.lineno, first.col_offset),))
        end = max(lines_of(last))
        text = _first_line(index, file, first)
        yield Part(file, first.lineno, end, ref.qualname, text, (spot,), segment.within)


def _first_line(index: Index, file: str, statement: ast.stmt) -> str:
    outline = index.modules.outline(file)
    lines = outline.lines if outline is not None else []
    text = lines[statement.lineno - 1] if statement.lineno <= len(lines) else ""
    return text[statement.col_offset :].strip()


def _outside(outline: ModuleOutline, file: str, lines: list[int]) -> Iterator[Part]:
    """Code that is in no function that a forward could call: why."""
    for line in lines:
        text = outline.lines[line - 1].strip() if line <= len(outline.lines) else ""
        if not text or text.startswith("#"):
            continue
        yield Part(file, line, line, "", text, (), 0, _fault(outline, line))
        return


def _fault(outline: ModuleOutline, line: int) -> str:
    for cls in (None, *outline.classes.values()):
        shadowed = cls.shadowed if cls is not None else outline.shadowed
        for item in shadowed:
            if item.first <= line < item.line and not _is_in_known(outline, line):
                owner = f"{cls.name}." if cls is not None else ""
                return f"{owner}{item.name} is defined again in line {item.line}, which replaces it"
    return "it runs when the module is imported, and in no forward"


def _is_in_known(outline: ModuleOutline, line: int) -> bool:
    return any(item.first <= line <= item.last for item in _functions(outline))


# ---- patterns ---------------------------------------------------------------------------------


def _matching(index: Index, text: str, functions: Collection[FunctionRef]) -> Part:
    """Everything that a pattern matches in some functions, as one part."""
    pattern = parse_pattern(text)
    needed = needle(pattern)
    if not needed:
        raise UsageError(f"{text!r} matches everything", "name a function, method or attribute")
    files = set(index.tree.find(needed.encode(), sorted({ref.file for ref in functions})))
    spots = [
        spot
        for ref in sorted(functions)
        if ref.file in files and (spot := _spot(index, ref, pattern, needed)) is not None
    ]
    if not spots:
        hint = (
            "no forward that was looked at leads to such code; name FILE:LINE to ask about a place"
        )
        raise UsageError(f"nothing in {index.tree.label} matches {text!r}", hint)
    first = spots[0]
    line = first.statements[0][0]
    symbol = first.ref.qualname if len(spots) == 1 else ""
    return Part(first.ref.file, line, line, symbol, text, tuple(spots))


def _spot(index: Index, ref: FunctionRef, pattern: ast.expr, needed: str) -> Spot | None:
    outline, function = index.modules.outline(ref.file), index.modules.function(ref)
    if outline is None or function is None:
        return None
    if not any(needed in line for line in outline.lines[function.first - 1 : function.last]):
        return None
    found = tuple(
        (statement.lineno, statement.col_offset)
        for statement in _statements(function.node)
        if any(matches(pattern, node) for node in _own_nodes(statement))
    )
    return Spot(ref, found) if found else None


def _statements(function: Definition) -> Iterator[ast.stmt]:
    pending = list(function.body)
    while pending:
        statement = pending.pop(0)
        yield statement
        pending = [item for block in blocks(statement) for item in block] + pending


def _own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement itself, not those of statements inside it."""
    inner = {id(item) for block in blocks(statement) for item in block}
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        yield node
        pending += [x for x in ast.iter_child_nodes(node) if id(x) not in inner]
