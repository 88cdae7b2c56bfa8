"""Imports follow the order written in pathaudit/__init__.py, and modules stay small."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "pathaudit"
DOC = ast.get_docstring(ast.parse((PACKAGE / "__init__.py").read_text())) or ""
LAYERS = [line.split(" | ") for line in re.findall(r"^    (\w[\w |]*)$", DOC, re.MULTILINE)]
RANK = {name: rank for rank, names in enumerate(reversed(LAYERS)) for name in names}
MODULES = sorted(PACKAGE.rglob("*.py"))
FILES = [path for path in MODULES if path.parent != PACKAGE or not path.name.startswith("__")]

LONGEST_FILE = 350
LONGEST_FUNCTION = 50
# To open a folder takes neither git nor an archive reader, so that sources import by their form.
MAY_IMPORT_LATE = {"audit", "cli", "sources"}

# What does not keep to a limit today. Take a line away with its cause; add none.
TOO_LONG_FILES = {
    "ir.py",
    "lower/expressions.py",
    "paths/relevance.py",
}
TOO_LONG_FUNCTIONS: set[str] = set()
LATE_IMPORTS: set[str] = set()


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def layer(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.AST) -> set[str]:
    """Layers that a module imports, at any depth, for type checking too."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    parts = [name.split(".") for name in names]
    return {part[1] for part in parts if part[0] == "pathaudit" and part[1:] != ["__version__"]}


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


every_file = pytest.mark.parametrize("path", FILES, ids=name_of)
every_module = pytest.mark.parametrize("path", MODULES, ids=name_of)


def test_every_module_has_a_place() -> None:
    assert {layer(path) for path in FILES} == set(RANK)


@every_file
def test_imports_point_down(path: Path) -> None:
    others = imported(parse(path)) - {layer(path)}
    assert sorted(name for name in others if RANK[name] >= RANK[layer(path)]) == []


@every_file
def test_reporters_see_results_only(path: Path) -> None:
    if layer(path) == "reporters":
        assert imported(parse(path)) <= {"reporters", "results", "decisions"}


@every_module
def test_every_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(parse(path))


@every_module
def test_imports_are_absolute(path: Path) -> None:
    nodes = ast.walk(parse(path))
    assert [node.lineno for node in nodes if isinstance(node, ast.ImportFrom) and node.level] == []


# The sets above are compared whole, so that a line that is no longer true has to go.


def test_only_the_pipeline_and_the_command_line_import_late() -> None:
    late = {
        name_of(path)
        for path in FILES
        if layer(path) not in MAY_IMPORT_LATE
        for function in functions(parse(path))
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert late == LATE_IMPORTS


def test_files_are_short() -> None:
    long = {
        name_of(path)
        for path in MODULES
        if len(path.read_text(encoding="utf-8").splitlines()) > LONGEST_FILE
    }
    assert long == TOO_LONG_FILES


def test_functions_are_short() -> None:
    long = {
        f"{name_of(path)}: {function.name}"
        for path in MODULES
        for function in functions(parse(path))
        if (function.end_lineno or 0) - function.lineno >= LONGEST_FUNCTION
    }
    assert long == TOO_LONG_FUNCTIONS
