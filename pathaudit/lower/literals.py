"""Lower numbers and plain strings."""

import math
import warnings

import libcst as cst

from pathaudit import ir

_LARGEST = 2**63 - 1
# Longer texts cannot be within 64 bits, and Python refuses to convert very long ones.
_LONGEST = 80


def lower_integer(text: str) -> ir.Constant | ir.Opaque:
    """The value of an integer literal, if 64 bits hold it."""
    if len(text) > _LONGEST:
        return ir.Opaque(text)
    value = int(text, 0)
    return ir.Constant(value) if value <= _LARGEST else ir.Opaque(text)


def lower_float(text: str) -> ir.Constant | ir.Opaque:
    """The value of a floating-point literal, if it is finite."""
    value = float(text)
    return ir.Constant(value) if math.isfinite(value) else ir.Opaque(text)


def lower_strings(nodes: list[cst.SimpleString]) -> ir.Constant | ir.Opaque:
    """The value of a string, or of several that stand side by side."""
    values = [string_value(node) for node in nodes]
    if any(isinstance(value, bytes) for value in values):
        return ir.Opaque(repr(b"".join(value for value in values if isinstance(value, bytes))))
    text = "".join(value for value in values if isinstance(value, str))
    # A lone surrogate cannot be encoded, so neither kept nor reported as text.
    return ir.Opaque(repr(text)) if _has_surrogate(text) else ir.Constant(text)


def string_value(node: cst.SimpleString) -> str | bytes:
    """What a string literal evaluates to."""
    if "\\" not in node.value and node.prefix in ("", "r", "u"):
        return node.raw_value.replace("\r\n", "\n").replace("\r", "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the audited code's invalid escapes
        return node.evaluated_value


def _has_surrogate(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)
