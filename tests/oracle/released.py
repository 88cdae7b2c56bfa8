"""Functions and classes of a release, found by name in its text; nothing is imported."""

import ast
import re
from functools import cache
from pathlib import Path

Function = ast.FunctionDef


class Found:
    """A definition and the file that holds it."""

    def __init__(self, file: str, node: ast.AST) -> None:
        self.file, self.node = file, node


@cache
def module(root: str, file: str) -> ast.Module:
    return ast.parse((Path(root) / file).read_text(encoding="utf-8"))


class Release:
    """The files below one folder."""

    def __init__(self, root: str) -> None:
        self.root = root

    def find(self, file: str, name: str, hops: int = 3) -> Found | None:
        """The class or function that a name means in a file, followed through its imports."""
        tree = module(self.root, file)
        for node in tree.body:
            if isinstance(node, ast.ClassDef | Function) and node.name == name:
                return Found(file, node)
        for part in ast.walk(tree):
            if isinstance(part, ast.ImportFrom) and hops:
                for alias in part.names:
                    if name == (alias.asname or alias.name):
                        return self.imported(part.module or "", alias.name, hops - 1)
        return None

    def imported(self, name: str, member: str, hops: int = 3) -> Found | None:
        base = name.replace(".", "/")
        for file in (f"{base}.py", f"{base}/__init__.py"):
            if (Path(self.root) / file).is_file():
                return self.find(file, member, hops)
        return None

    def bases(self, found: Found) -> list[Found]:
        """A class and its bases as far as they are in the release, the nearest first."""
        assert isinstance(found.node, ast.ClassDef)
        classes = [found]
        for base in found.node.bases:
            name = ast.unparse(base)
            above = self.find(found.file, name) if name.isidentifier() else None
            if above is not None and isinstance(above.node, ast.ClassDef):
                classes += self.bases(above)
        return classes

    def method(self, classes: list[Found], name: str) -> tuple[Found, Function] | None:
        for found in classes:
            assert isinstance(found.node, ast.ClassDef)
            for node in found.node.body:
                if isinstance(node, Function) and node.name == name:
                    return found, node
        return None

    def armed(self, files: list[str], entries: list[Found], setter: str) -> dict[str, str]:
        """What setters of a name store: ``list`` for indexes and ``flag`` for what is true."""
        classes = [found for entry in entries for found in self.bases(entry)]
        for file in files:
            for node in module(self.root, file).body:
                if isinstance(node, ast.ClassDef):
                    classes += self.bases(Found(file, node))
        stored: dict[str, str] = {}
        for found in classes:
            method = self.method([found], setter)
            if method is not None:
                text = ast.unparse(method[1])
                stored.update(_stores(text))
                for other in re.findall(r"self\.(set_\w+_layers_to_capture)\(", text):
                    if other != setter:
                        stored.update(self.armed(files, entries, other))
        return stored


def _stores(text: str) -> dict[str, str]:
    stored = {}
    for name, value in re.findall(r"\.(\w+) = (.+)", text):
        if value == "True":
            stored[name] = "flag"
        elif "layers_to_capture" in name:
            stored[name] = "list"
    for name in re.findall(r"setattr\(.+, '(\w+)', True\)", text):
        stored[name] = "flag"
    return stored
