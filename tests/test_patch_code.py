"""Whether two functions are the same or alike, and whether a call fits one."""

import ast

import pytest

from pathaudit.index.syntax import Definition
from pathaudit.relies.code import (
    ALIKE,
    arguments_of,
    digest_of,
    likeness,
    misfit,
    signature_of,
    sketch_of,
)


def function(text: str) -> Definition:
    (found,) = ast.parse(text).body
    assert isinstance(found, Definition)
    return found


SAME = [
    pytest.param("def f(a):\n    return a + 1  # one\n", id="a comment"),
    pytest.param('def f(a):\n    """Add."""\n    return (a\n        + 1)\n', id="layout"),
]


@pytest.mark.parametrize("text", SAME)
def test_what_does_not_count(text: str) -> None:
    assert digest_of(function(text)) == digest_of(function("def f(a):\n    return a + 1\n"))


OTHERS = [
    "def f(a):\n    return a + 2",
    "def f(b):\n    return b + 1",
    "def f(a):\n    return 1 + a",
]


@pytest.mark.parametrize("text", OTHERS)
def test_what_counts(text: str) -> None:
    assert digest_of(function(text)) != digest_of(function("def f(a):\n    return a + 1"))


CALLS = [
    pytest.param("(a, b)", "f(1, 2)", "", id="by position"),
    pytest.param("(a, b)", "f(1)", "missing a required argument: 'b'", id="too few"),
    pytest.param("(a, b)", "f(*x)", "", id="a star may bring them"),
    pytest.param("(a, b)", "f(**x)", "", id="so may two"),
    pytest.param("(a)", "f(*x, b=1)", "got an unexpected keyword argument 'b'", id="mixed"),
    pytest.param("(a, /)", "f(a=1)", "'a' parameter is positional only", id="by position only"),
    pytest.param("(a, *, b=...)", "f(1, 2)", "too many positional arguments", id="too many"),
    pytest.param("(*args, **kwargs)", "f(1, b=2)", "", id="takes all"),
    pytest.param("(no signature", "f(1)", "", id="no signature"),
]


@pytest.mark.parametrize(("signature", "call", "expected"), CALLS)
def test_whether_a_call_fits(signature: str, call: str, expected: str) -> None:
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    found = misfit(signature, arguments_of(node), bound=False)
    assert found.startswith(expected) if expected else not found


def test_a_signature_is_without_annotations() -> None:
    node = function("def f(a: int, /, b=1, *c, d: str = 'x', e, **g) -> None: ...")
    assert signature_of(node) == "(a, /, b=..., *c, d=..., e, **g)"


def test_alike() -> None:
    text = "def count(rows, weight):\n    total = rows * weight\n    print(total)\n    return total"
    whole = sketch_of(function(text))
    other = sketch_of(function("def g(x):\n    for y in x:\n        z(y)\n    return None"))
    assert likeness(whole, whole) == 1.0
    assert likeness(whole, other) < ALIKE
    assert likeness("no sketch", whole) == 0.0
