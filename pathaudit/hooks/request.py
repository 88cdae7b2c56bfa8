"""Which modules a user means: by a path, a class, or the place of a constructor."""

import re
from fnmatch import fnmatchcase

from msgspec import Struct

from pathaudit.results.hooks import HookModule

_PLACE = re.compile(r"(?P<file>.+\.py):(?P<line>\d+)")


class Request(Struct, frozen=True):
    """What was asked for: ``text`` as it stands, or the place that it names."""

    text: str
    file: str = ""
    line: int = 0

    def fits(self, module: HookModule) -> bool:
        """Is a module meant? Without a text all are."""
        if not self.text:
            return True
        if self.file:
            inside = module.line <= self.line <= module.end_line
            return inside and (module.file == self.file or module.file.endswith(f"/{self.file}"))
        return module.name in (self.text, f"torch.nn.{self.text}") or fits_path(
            self.text, module.path
        )


def read_request(text: str) -> Request:
    """``model.layers.*.mlp``, ``DecoderLayer`` or ``models/deepseek_v2.py:100``."""
    found = _PLACE.fullmatch(text)
    if found is None:
        return Request(text)
    return Request(text, found["file"].removeprefix("./"), int(found["line"]))


def fits_path(pattern: str, path: str) -> bool:
    """Does a path of globs mean a module? A number means any layer, as all are made alike.

    >>> fits_path("model.layers.3.mlp", "model.layers.*.mlp")
    True
    """
    wanted, names = pattern.split("."), path.split(".")
    return len(wanted) == len(names) and all(
        fnmatchcase(name, "*" if glob.isdigit() and name == "*" else glob)
        for glob, name in zip(wanted, names, strict=True)
    )
