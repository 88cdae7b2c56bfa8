"""What tells whether two functions are the same or alike, and whether a call fits a function.

Comments, layout, docstrings and quotes do not count, nor does the version of Python.
"""

import ast
import base64
import hashlib
import inspect
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

from pathaudit.index.syntax import Definition, parse

# How alike two functions must be, of 1, to be one under another name, with a name that is alike
# and without; and how far ahead of the next best. Read by hand: the 33 pairs of SGLang 0.5.6 and
# 0.5.12 that pass are the same function, those that reach ALIKE and do not pass are mostly others.
ALIKE = 0.3
ALIKE_ALONE = 0.45
AHEAD = 0.1
# Few statements are alike by chance: with less than so many, the bodies must be nearly the same.
_STATEMENTS = 3
_THE_SAME = 0.8
_NAMES = 0.6

_LONGEST_WORD = 60
_HASH = 2  # bytes
_LEFT_OUT = frozenset(("kind", "type_comment", "ctx", "type_params"))


def digest_of(node: ast.AST) -> str:
    """A digest of what a function or a class does."""
    text = "\0".join(_tokens(node))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def sketch_of(node: ast.AST) -> str:
    """What ``likeness`` compares: hashes of the words and of the statements of a function."""
    statements = (x for x in ast.walk(node) if isinstance(x, ast.stmt) and x is not node)
    bodies = {"\0".join(_tokens(item, header=True)) for item in statements if not _documents(item)}
    return f"{_packed(_words(node))}.{_packed(bodies)}"


def sketch_of_names(names: Iterable[str]) -> str:
    """The same of what is known by the names that it defines, such as a class."""
    return f"{_packed(set(names))}."


def likeness(left: str, right: str) -> float:
    """How alike two sketches are, from 0 to 1."""
    pairs = zip(_parts(left), _parts(right), strict=True)
    shares = [len(a & b) / len(a | b) for a, b in pairs if a | b]
    return sum(shares) / len(shares) if shares else 0.0


def may_be(sketch: str, name: str, other: str, rate: float) -> bool:
    """May a function be one of another name, whose sketch is so much like its own?"""
    if len(_parts(sketch)[1]) < _STATEMENTS:
        return rate >= _THE_SAME
    names = SequenceMatcher(None, _bare(name), _bare(other), autojunk=False).ratio()
    return rate >= (ALIKE if names >= _NAMES else ALIKE_ALONE)


def _bare(name: str) -> str:
    return name.rpartition(".")[2].strip("_")


def _documents(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _packed(texts: set[str]) -> str:
    hashes = {_hashed(text) for text in texts}
    return base64.b64encode(b"".join(sorted(hashes))).decode()


def _hashed(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH).digest()


def _parts(sketch: str) -> tuple[frozenset[bytes], frozenset[bytes]]:
    words, _, statements = sketch.partition(".")
    return _unpacked(words), _unpacked(statements)


def _unpacked(text: str) -> frozenset[bytes]:
    try:
        data = base64.b64decode(text)
    except ValueError:
        return frozenset()  # a file that someone edited
    return frozenset(data[at : at + _HASH] for at in range(0, len(data), _HASH))


def _words(node: ast.AST) -> set[str]:
    found = set()
    for item in ast.walk(node):
        match item:
            case ast.Name(name) | ast.arg(name):
                found.add(name)
            case ast.Attribute(_, name):
                found.add(f".{name}")
            case ast.keyword(str(name)):
                found.add(f"{name}=")
            case ast.Constant(str(text)) if len(text) < _LONGEST_WORD:
                found.add(repr(text))
    return found


def _tokens(node: ast.AST, *, header: bool = False) -> Iterator[str]:
    """The tree as texts; of a ``header`` no statement inside it. No recursion: code may be deep."""
    pending: list[ast.AST | str] = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
            continue
        yield type(item).__name__
        parts: list[ast.AST | str] = []
        for name, value in _fields(item):
            if header and name in ("body", "orelse", "handlers", "finalbody", "cases"):
                continue
            parts += [f"{name}:", *_children(value), ";"]
        pending += reversed(parts)


def _fields(node: ast.AST) -> Iterator[tuple[str, object]]:
    for name, value in ast.iter_fields(node):
        if name == "body" and isinstance(value, list) and value and _documents(value[0]):
            yield name, value[1:]
        elif name not in _LEFT_OUT and (isinstance(node, ast.Constant) or value not in (None, [])):
            yield name, value


def _children(value: object) -> list[ast.AST | str]:
    if isinstance(value, list):
        return [x if isinstance(x, ast.AST) else repr(x) for x in value]
    return [value if isinstance(value, ast.AST) else repr(value)]


# ---- signatures -------------------------------------------------------------------------------


def signature_of(node: Definition) -> str:
    """The parameters of a function, without annotations; a default is ``...``."""
    arguments = node.args
    bare = ast.arguments(
        posonlyargs=[ast.arg(item.arg) for item in arguments.posonlyargs],
        args=[ast.arg(item.arg) for item in arguments.args],
        vararg=ast.arg(arguments.vararg.arg) if arguments.vararg else None,
        kwonlyargs=[ast.arg(item.arg) for item in arguments.kwonlyargs],
        kw_defaults=[ast.Constant(...) if x is not None else None for x in arguments.kw_defaults],
        kwarg=ast.arg(arguments.kwarg.arg) if arguments.kwarg else None,
        defaults=[ast.Constant(...) for _ in arguments.defaults],
    )
    return f"({ast.unparse(bare)})"


def arguments_of(call: ast.Call) -> str:
    """What a call gives, by position and keyword: ``(_, _, capture=_)``."""
    given = ["*_" if isinstance(item, ast.Starred) else "_" for item in call.args]
    given += [f"{item.arg}=_" if item.arg else "**_" for item in call.keywords]
    return f"({', '.join(given)})"


def misfit(signature: str, arguments: str, *, bound: bool) -> str:
    """Why a call with these arguments does not fit; nothing if it does, or that cannot be told.

    ``bound``, the first parameter is given by the object.
    """
    known, call = _signature(signature), _call(arguments)
    if known is None or call is None:
        return ""
    stars = any(isinstance(item, ast.Starred) for item in call.args)
    open_end = stars or any(item.arg is None for item in call.keywords)
    given = [None] * (len([x for x in call.args if not isinstance(x, ast.Starred)]) + bound)
    named = {item.arg: None for item in call.keywords if item.arg is not None}
    try:
        (known.bind_partial if open_end else known.bind)(*given, **named)
    except TypeError as error:
        return str(error)
    return ""


def _call(arguments: str) -> ast.Call | None:
    try:
        found = ast.parse(f"_{arguments}", mode="eval").body
    except SyntaxError:
        return None
    return found if isinstance(found, ast.Call) else None


def _signature(text: str) -> inspect.Signature | None:
    try:
        found = parameters_of(text)
        return inspect.Signature(list(_parameters(found))) if found is not None else None
    except ValueError:
        return None


def parameters_of(signature: str) -> ast.arguments | None:
    """The parameters that the text of a signature tells of; none where it is none."""
    try:
        (node,) = parse(f"def _{signature}: ...").body
    except (SyntaxError, ValueError):
        return None
    return node.args if isinstance(node, ast.FunctionDef) else None


def _parameters(arguments: ast.arguments) -> Iterator[inspect.Parameter]:
    kinds = inspect.Parameter
    positional = [*arguments.posonlyargs, *arguments.args]
    required = len(positional) - len(arguments.defaults)
    for place, item in enumerate(positional):
        only = place < len(arguments.posonlyargs)
        where = kinds.POSITIONAL_ONLY if only else kinds.POSITIONAL_OR_KEYWORD
        yield kinds(item.arg, where, default=kinds.empty if place < required else ...)
    if arguments.vararg:
        yield kinds(arguments.vararg.arg, kinds.VAR_POSITIONAL)
    for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield kinds(item.arg, kinds.KEYWORD_ONLY, default=kinds.empty if default is None else ...)
    if arguments.kwarg:
        yield kinds(arguments.kwarg.arg, kinds.VAR_KEYWORD)
