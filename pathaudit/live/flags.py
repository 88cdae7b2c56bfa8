"""Which arguments a version of the framework declares: names, defaults, how many values."""

import ast
from collections.abc import Iterator

from msgspec import Struct

from pathaudit.errors import SourceError
from pathaudit.index import compile_globs
from pathaudit.ruleset.serving import Serving
from pathaudit.sources import SourceTree

_NAMES = {"bool": "bool", "int": "int", "float": "float", "str": "str"}


class Unknown(Struct, frozen=True):
    """A default that is worked out when the server starts."""


UNKNOWN = Unknown()


class Field(Struct, frozen=True):
    """A server argument, its default and where it is declared. ``kind`` is its type's name."""

    name: str
    default: object
    kind: str
    file: str
    line: int


class Option(Struct, frozen=True):
    """An option of the command line.

    ``takes`` is ``none``, ``one``, ``many`` or ``optional``; an option without a value stores
    ``constant``. ``field`` is empty where it stores nothing that is read.
    """

    field: str
    takes: str
    kind: str
    constant: object = True


class Declared(Struct, frozen=True, eq=False):
    """All arguments of a version; ``known`` is false where its source is not at hand."""

    fields: dict[str, Field]
    options: dict[str, Option]
    known: bool

    def option(self, name: str) -> tuple[str, Option] | None:
        """The option of a name or of an unambiguous beginning of one, as argparse finds it."""
        if name in self.options:
            return name, self.options[name]
        longer = [item for item in self.options if item.startswith(name)]
        targets = {(self.options[item].field, self.options[item].takes) for item in longer}
        if name.startswith("--") and (len(longer) == 1 or (longer and len(targets) == 1)):
            return longer[0], self.options[longer[0]]
        return None


def undeclared(serving: Serving) -> Declared:
    """What is known of the arguments without any source."""
    fields = {
        name: Field(name, value, type(value).__name__, "", 0)
        for name, value in serving.defaults.items()
    }
    options = {
        name: Option(field, "none" if isinstance(serving.defaults.get(field), bool) else "one", "")
        for name, field in serving.aliases.items()
    }
    return Declared(fields, options, known=False)


def declared_in(tree: SourceTree, serving: Serving) -> Declared:
    """Read the declarations of a tree as data."""
    reader = _Reader(serving.record)
    globs = compile_globs(serving.arguments)
    for path in filter(globs.match_file, tree.paths):
        try:
            module = ast.parse(tree.text(path))
        except (SourceError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        reader.module(path, module)
    return reader.result() if reader.fields else undeclared(serving)


class _Reader:
    def __init__(self, record: str) -> None:
        self._record = record
        self.fields: dict[str, Field] = {}
        self._options: dict[str, Option] = {}
        self._calls: list[ast.Call] = []

    def module(self, path: str, module: ast.Module) -> None:
        for node in module.body:
            if isinstance(node, ast.ClassDef) and self._declares(node):
                self._class(path, node)
                self._calls += _option_calls(node)

    def _declares(self, node: ast.ClassDef) -> bool:
        """The record itself, or a class that lends it fields of one name space."""
        return node.name == self._record or any(
            isinstance(x, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id.startswith("_NS") for t in x.targets)
            for x in node.body
        )

    def _class(self, path: str, node: ast.ClassDef) -> None:
        for item in node.body:
            if not (isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)):
                continue
            name = item.target.id
            inner, details = _annotation(item.annotation)
            if _called(details) == "Derived":
                continue
            default = UNKNOWN if item.value is None else _default(item.value)
            self.fields[name] = Field(name, default, _kind(inner), path, item.lineno)
            if details is not None:
                self._declared_options(name, inner, details)

    def _declared_options(self, name: str, inner: ast.expr, details: ast.expr) -> None:
        given = (
            {x.arg: x.value for x in details.keywords if x.arg}
            if isinstance(details, ast.Call)
            else {}
        )
        if _literal(given.get("no_cli")) is True:
            return
        cli = _literal(given.get("cli_name"))
        names = [cli if isinstance(cli, str) else "--" + name.replace("_", "-")]
        aliases = _literal(given.get("aliases"))
        names += [x for x in aliases if isinstance(x, str)] if isinstance(aliases, list) else []
        kind = _kind(inner)
        takes = _arity(_literal(given.get("nargs")))
        if "action" in given:
            takes = takes or ("none" if "StoreTrue" in ast.unparse(given["action"]) else "one")
        elif not takes:
            many = "type_parser" not in given and _is_list(inner)
            takes = (
                "many"
                if many
                else "none"
                if kind == "bool" and "type_parser" not in given
                else "one"
            )
        for option in names:
            self._options[option] = Option(
                name, takes, _element(inner) if takes == "many" else kind
            )

    def result(self) -> Declared:
        for call in self._calls:
            self._option(call)
        return Declared(self.fields, self._options, known=True)

    def _option(self, call: ast.Call) -> None:
        """``parser.add_argument("--name", ...)``."""
        names = [x for x in map(_literal, call.args) if isinstance(x, str) and x.startswith("-")]
        given = {x.arg: x.value for x in call.keywords if x.arg}
        action = ast.unparse(given["action"]).strip("'\"") if "action" in given else ""
        field = self._target(names, given)
        if action.endswith("DeprecatedAction"):
            field = ""
        takes = _arity(_literal(given.get("nargs")))
        if not takes:
            bare = action in ("store_true", "store_false", "store_const") or "Deprecated" in action
            takes = "none" if bare and not action.endswith("AliasStoreAction") else "one"
        constant: object = action != "store_false"
        for name in ("const", "const_value"):
            constant = _literal(given[name]) if name in given else constant
        kind = ast.unparse(given["type"]) if "type" in given else ""
        for option in names:
            self._options.setdefault(option, Option(field, takes, _NAMES.get(kind, ""), constant))

    def _target(self, names: list[str], given: dict[str, ast.expr]) -> str:
        """The field that an option ends in: named, by its default, or by one of its names."""
        dest = _literal(given.get("dest"))
        candidates = [dest] if isinstance(dest, str) else []
        default = given.get("default")
        if isinstance(default, ast.Attribute) and ast.unparse(default.value) == self._record:
            candidates.append(default.attr)
        candidates += [name.lstrip("-").replace("-", "_") for name in names]
        return next(
            (x for x in candidates if x in self.fields), candidates[0] if candidates else ""
        )


def _option_calls(node: ast.ClassDef) -> list[ast.Call]:
    return [
        call
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "add_argument"
    ]


def _annotation(node: ast.expr) -> tuple[ast.expr, ast.expr | None]:
    """The type of a field, and what ``A[type, details]`` says of it."""
    if isinstance(node, ast.Subscript) and ast.unparse(node.value).split(".")[-1] in (
        "A",
        "Annotated",
    ):
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return items[0], next(iter(_details(items[1:])), None)
    return node, None


def _details(items: list[ast.expr]) -> Iterator[ast.expr]:
    for item in items:
        if isinstance(item, ast.Constant) or _called(item) in ("Arg", "Derived"):
            yield item


def _called(node: ast.expr | None) -> str:
    return ast.unparse(node.func).split(".")[-1] if isinstance(node, ast.Call) else ""


def _literal(node: ast.expr | None) -> object:
    if node is None:
        return None
    try:
        found: object = ast.literal_eval(node)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return UNKNOWN
    return found


def _default(node: ast.expr) -> object:
    """The value of a default; of ``field(default_factory=list)`` an empty list."""
    if isinstance(node, ast.Call):
        for item in node.keywords:
            if item.arg == "default":
                return _literal(item.value)
            if item.arg == "default_factory":
                factory = ast.unparse(item.value)
                return {"list": [], "dict": {}, "tuple": ()}.get(factory, UNKNOWN)
    return _literal(node)


def _kind(node: ast.expr) -> str:
    """``int`` of ``int``, ``Optional[int]`` and ``int | None``."""
    found = {x.id for x in ast.walk(node) if isinstance(x, ast.Name)} & _NAMES.keys()
    return _NAMES[found.pop()] if len(found) == 1 and not _is_list(node) else ""


def _is_list(node: ast.expr) -> bool:
    return any(
        isinstance(x, ast.Subscript) and ast.unparse(x.value).lower() in ("list", "typing.list")
        for x in ast.walk(node)
    )


def _element(node: ast.expr) -> str:
    found = {x.id for x in ast.walk(node) if isinstance(x, ast.Name)} & _NAMES.keys()
    return found.pop() if len(found) == 1 else ""


def _arity(nargs: object) -> str:
    if nargs in ("+", "*"):
        return "many"
    if nargs == "?":
        return "optional"
    return {0: "none", 1: "many"}.get(nargs, "many") if isinstance(nargs, int) else ""
