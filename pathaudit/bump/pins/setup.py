"""Reads pins from a ``setup.py``, as data: it is not run."""

import ast
import warnings
from collections.abc import Iterator

from packaging.requirements import InvalidRequirement

from pathaudit.bump.pins.forms import Place, pin_of_text
from pathaudit.bump.pins.sought import Sought
from pathaudit.errors import SourceError
from pathaudit.results import Gap
from pathaudit.results.bumps import Pin

Found = Iterator[Pin | Gap]


def read_setup(data: bytes, file: str, sought: Sought) -> Found:
    """The requirements that are written out in lists and tables; SourceError if it is no Python.

    The name of the package alone may stand for anything there, such as that of an extra.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SourceError(f"is no Python: {error}") from None
    for node in ast.walk(module):
        for text in node.elts if isinstance(node, ast.List | ast.Tuple) else ():
            if not isinstance(text, ast.Constant) or not isinstance(text.value, str):
                continue
            if sought.begins(text.value):
                yield from _read(text.value, Place(file, text.lineno, "setup"), sought)


def _read(text: str, place: Place, sought: Sought) -> Found:
    try:
        pin = pin_of_text(text, place, sought)
    except InvalidRequirement:
        return
    if pin is not None:
        yield pin
