"""Parts of real releases as source trees, small enough to audit many times."""

import ast
from functools import cache

from tests.labels import MODELS
from tests.releases import release


@cache
def sources(version: str) -> dict[str, bytes]:
    """The files of a release that can matter to a model."""
    root = release(version)
    found = (root / "sglang" / "srt").rglob("*.py")
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


@cache
def with_models(version: str, *models: str) -> dict[str, bytes]:
    """The files of a release, with those model files only that some of them import."""
    files = sources(version)
    pending = [f"{MODELS}/{model}.py" for model in models]
    kept: set[str] = set()
    while pending:
        path = pending.pop()
        kept.add(path)
        pending += sorted(_imported(path, files) - kept)
    return {
        path: data for path, data in files.items() if path in kept or not path.startswith(MODELS)
    }


def _imported(path: str, files: dict[str, bytes]) -> set[str]:
    """The model files that a file may import."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(files[path])):
        if isinstance(node, ast.ImportFrom) and node.module:
            name = node.module.replace(".", "/")
            names = [name, f"{name}/__init__", *(f"{name}/{x.name}" for x in node.names)]
            found.update(f"{x}.py" for x in names if x.startswith(MODELS))
    return found & files.keys()
