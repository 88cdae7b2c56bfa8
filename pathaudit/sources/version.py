"""Tells a package's version: from its distribution metadata, else from its code read as data."""

import ast
import contextlib
import os
import re
import warnings
from collections.abc import Iterable

from pathaudit.errors import SourceError
from pathaudit.sources.listing import folders
from pathaudit.sources.tree import SourceTree, read_file


def metadata(folder: str, package: str, *names: str) -> list[bytes]:
    """Return the named files of the package's distribution metadata in a folder."""
    wanted = re.compile(rf"{re.escape(_normal(package))}(-\d.*)?-(dist|egg)-info")
    infos = [info for info in folders(folder) if wanted.fullmatch(_normal(info))]
    found: list[bytes] = []
    for path in (os.path.join(folder, info, name) for info in infos for name in names):
        with contextlib.suppress(SourceError):
            # Only a regular file: opening a pipe would wait for ever.
            found += [read_file(folder, path)] if os.path.isfile(path) else []
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def stated_version(holder: str, package: str) -> str | None:
    """Return the version that the distribution metadata beside the package agree on, if any."""
    return version_in(metadata(holder, package, "METADATA", "PKG-INFO"))


def version_in(texts: Iterable[bytes]) -> str | None:
    """Return the version that the texts of distribution metadata agree on, if any."""
    stated = {match[1] for text in texts if (match := re.search(rb"(?m)^Version: *(\S+)", text))}
    # Two distributions of one name are the leftovers of an upgrade; the code knows better.
    return stated.pop().decode("utf-8", "replace") if len(stated) == 1 else None


def coded_version(tree: SourceTree) -> str | None:
    """Return what ``version.py`` or ``_version.py`` assigns: at module level, else a fallback."""
    paths = (f"{tree.package}/version.py", f"{tree.package}/_version.py")
    modules = [_parse(tree, path) for path in paths if path in tree]
    levels = [module.body for module in modules] + [list(ast.walk(module)) for module in modules]
    return next((found for level in levels for node in level if (found := _assigned(node))), None)


def _parse(tree: SourceTree, path: str) -> ast.Module:
    """Return the syntax of a module, empty if it has none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(tree.text(path))
    except (SourceError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])


def _assigned(node: ast.AST) -> str | None:
    """Return the string that a statement assigns to ``__version__`` or ``version``."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(node.value, ast.Constant):
        return None
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    named = any(isinstance(t, ast.Name) and t.id in ("__version__", "version") for t in targets)
    return node.value.value if named and isinstance(node.value.value, str) else None
