"""Functions are lowered as ``ast`` positions and LibCST trees say, whatever the file looks like."""

import ast
import warnings
from collections.abc import Callable, Iterator, Sequence
from textwrap import dedent, indent

import libcst as cst
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathaudit import ir, lower
from pathaudit.lower import LoweringError, dump, lower_function, render
from pathaudit.lower.expressions import Scope, lower_expression
from pathaudit.lower.positions import MAX_DEPTH, survey
from pathaudit.lower.regions import FixedRegion, LocatedRegions, OrderedRegions
from pathaudit.lower.slices import cut
from pathaudit.lower.statements import lower_definition
from pathaudit.sources import split_lines

Definition = ast.FunctionDef | ast.AsyncFunctionDef


def definition(text: str) -> tuple[list[str], Definition]:
    """The lines of a file and the first function named ``f`` in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes
        tree = ast.parse(text.encode())
    found = [node for node in ast.walk(tree) if isinstance(node, Definition) and node.name == "f"]
    return split_lines(text), found[0]


def lowered(text: str) -> ir.Function:
    return lower_function(*definition(text))


def lowered_body(body: str, *, parameters: str = "") -> ir.Function:
    return lowered(f"def f({parameters}):\n{indent(dedent(body).strip(), '    ')}\n")


def dumped_body(body: str) -> str:
    header, _, rest = dump(lowered_body(body)).partition("\n")
    assert header == "def f():"
    return dedent(rest)


def expression(text: str) -> ir.Expression:
    statement = lowered(f"def f():\n  x = {text}\n").body[0]
    assert isinstance(statement, ir.Assign)
    return statement.value


# ---- statements ---------------------------------------------------------------------------------

# What is lowered to itself, up to spaces and brackets.
PLAIN = {
    "assign": "x = layer(p, capture=aux)",
    "chain": "a = b, c = d",
    "augmented": "x **= 1",
    "attribute": "self.a.b = c",
    "delete": "del a, b[0]",
    "assert": "assert a is not None",
    "return": "return",
    "return value": "return (a, b)",
    "raise": "raise",
    "raise value": "raise ValueError(a)",
    "if": "if a:\n    b()\nelif c:\n    d()\nelse:\n    e()",
    "for": "for i, layer in enumerate(self.layers[a:b]):\n    continue\nelse:\n    x = 1",
    "while": "while x < y:\n    break\nelse:\n    x = 1",
    "with": "with a(), b(c) as d, e as (f, g):\n    h()",
    "try": "try:\n    a()\nexcept (B, C) as e:\n    d()\nexcept:\n    raise\nelse:\n    g()",
    "finally": "try:\n    a()\nfinally:\n    b()",
    "import": "import a",
    "import as": "import a.b as c",
    "from": "from ..a.b import c",
    "from as": "from . import a as b",
    "define": "@a.b\ndef g(x, /, y: int = 1, *z, k=2, **w):\n    return x",
    "starless": "def g(x, *, k):\n    return x",
}  # fmt: skip


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
def test_statement_keeps_its_form(text: str) -> None:
    assert text == dumped_body(text)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("'''doc'''\n1\n...\nNone\npass\nglobal g\nx: int", "pass", id="nothing"),
        pytest.param("f'{a()}'\n'b'", "f'{a()}'", id="formatted-statement"),
        pytest.param("a; b = 1; return", "a\nb = 1\nreturn", id="one-line"),
        pytest.param("if a: b; c", "if a:\n    b\n    c", id="one-line-suite"),
        pytest.param("x: Optional[g()] = h()", "x = h()", id="annotated"),
        pytest.param("assert a, b()", "assert a", id="assert-message"),
        pytest.param("raise A(b) from c()", "raise A(b)", id="raise-cause"),
        pytest.param("del (a)\ndel (b, c)", "del a\ndel b, c", id="delete"),
        pytest.param("with (a as b, c,):\n    d", "with a as b, c:\n    d", id="with-brackets"),
        pytest.param("with (a, b):\n    c", "with a, b:\n    c", id="with-brackets-no-names"),
        pytest.param("with (a, b) as c:\n    d", "with (a, b) as c:\n    d", id="with-tuple"),
        pytest.param("import a.b, c", "import a\nimport c", id="import-binds-package"),
        pytest.param("from a import (b, c)", "from a import b\nfrom a import c", id="from"),
        pytest.param("try:\n    a\nexcept* B:\n    c", "try:\n    a\nexcept B:\n    c", id="star"),
        pytest.param("class C(D()):\n    x = g()", "C = class C", id="class"),
        pytest.param("if a: b\nelse:\n  if c: d", "if a:\n    b\nelif c:\n    d", id="else-if"),
    ],
)  # fmt: skip
def test_statement(body: str, expected: str) -> None:
    assert expected == dumped_body(body)


def test_asynchronous_statements_are_lowered_like_the_others() -> None:
    code = """
        async def f():
            async for a in b:
                await c(a)
            async with d as e:
                return [g async for g in e]
    """
    expected = """
        def f():
            for a in b:
                (yield c(a))
            with d as e:
                return [g for g in e]
    """
    assert dedent(expected).strip() == dump(lowered(dedent(code)))


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        pytest.param("1", "1", id="value"),
        pytest.param("-1", "-1", id="negative"),
        pytest.param("A.b", "A.b", id="dotted"),
        pytest.param("None", "None", id="singleton"),
        pytest.param("'a' 'b'", "'ab'", id="string"),
        pytest.param("(1 as n)", "1 as n", id="value-with-name"),
        pytest.param("1 | 2", "?", id="alternatives"),
        pytest.param("[a, (b | b), *c]", "? as a, b, c", id="sequence"),
        pytest.param("{'k': {'l': v}, **rest}", "? as v, rest", id="mapping"),
        pytest.param("A(x, y=B(z)) as w", "? as x, z, w", id="class"),
        pytest.param("A(x) if g(x)", "? as x if g(x)", id="guard"),
        pytest.param("x if g(x)", "? as x if g(x)", id="guarded-name"),
        pytest.param("x", "_ as x", id="name"),
        pytest.param("_", "_", id="wildcard"),
        pytest.param("(1 | _)", "_", id="alternative-wildcard"),
    ],
)
def test_case(case: str, expected: str) -> None:
    body = f"match m(a):\n    case {case}:\n        return n(b)"
    assert body.replace(f"case {case}:", f"case {expected}:") == dumped_body(body)


# ---- expressions --------------------------------------------------------------------------------

# What is written as it is lowered.
CANONICAL = [
    "None", "True", "12", "1.5", "1e-06", "'a'", "\"it's\"", "a.b.c", "(1).real", "...", "1j",
    "a[b]", "a[b, c]", "a[b,]", "a[:]", "a[b:c]", "a[::d]", "a[:, b:c]", "a[*b,]", "a[(b, c), d]",
    "f()", "f(a, *b, c=d, **e)", "f(a for a in b)", "f(g(h)(i).j)",
    "not a", "-a", "+a", "~a", "not a in b", "not (a or b)", "a not in b", "a is not b", "a is b",
    "a + b * c", "(a + b) * c", "a - b - c", "a - (b - c)", "a ** b ** c", "(a ** b) ** c",
    "-a ** -b", "(-a) ** b", "a @ b // c % d", "a << b | c & d ^ e", "a | b == c", "a | (b == c)",
    "a and b and c", "a and (b or c)", "a and b or c and d", "(a == b) == c",
    "a if b else c", "(a if b else c) if d else e", "a if b else c if d else e", "(lambda: a)()",
    "lambda: a", "lambda a, *b, c=d, **e: f", "(a, b)", "(a,)", "()", "[a, *b]", "{a, b}",
    "{a: b, **c}", "{}", "[a for a in b if c if d for e in f]", "{a for a, b in c}",
    "{a: b for a, b in c}", "(a for a in b)", "(a := b)", "(yield)", "(yield a)",
    "f'a'", "f'{a + b!r:>{c}}d{{}}'", "f'{a=}'", "f'a' 'b' f'{c}'",
]  # fmt: skip


@pytest.mark.parametrize("text", CANONICAL)
def test_canonical_text(text: str) -> None:
    assert text == render(expression(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("( ( a ) )", "a", id="brackets"),
        pytest.param("a  .  b [ 1 :2 ]", "a.b[1:2]", id="spaces"),
        pytest.param("(a +\n    b)", "a + b", id="lines"),
        pytest.param("a \\\n    + b", "a + b", id="continuation"),
        pytest.param("a, b", "(a, b)", id="tuple"),
        pytest.param("a < b <= c()", "a < b and b <= c()", id="chain"),
        pytest.param("a and (b and c)", "a and b and c", id="flat"),
        pytest.param("a[(b, c)]", "a[b, c]", id="subscript-tuple"),
        pytest.param("f((a for a in b))", "f(a for a in b)", id="generator"),
        pytest.param('"a" \'b\' r"\\c"', "'ab\\\\c'", id="strings"),
        pytest.param("'\\N{BULLET}\\x41\\d'", "'•A\\\\d'", id="escapes"),
        pytest.param("'''a\n  b'''", "'a\\n  b'", id="long-string"),
        pytest.param("0x_ff", "255", id="hexadecimal"),
        pytest.param("9223372036854775807", "9223372036854775807", id="largest"),
        pytest.param("0xFFFF_FFFF_FFFF_FFFF", "0xFFFF_FFFF_FFFF_FFFF", id="too-large"),
        pytest.param("1e999", "1e999", id="infinite"),
        pytest.param("b'a' b\"\\n\"", "b'a\\n'", id="bytes"),
        pytest.param("'\\ud800'", "'\\ud800'", id="surrogate"),
        pytest.param("f'''a\n{ b }'''", "f'''a\\n{b}'''", id="long-formatted"),
        pytest.param("(yield from a)", "(yield a)", id="yield-from"),
    ],
)
def test_text(text: str, expected: str) -> None:
    assert expected == render(expression(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("1e999", ir.Opaque("1e999"), id="infinite"),
        pytest.param("9223372036854775808", ir.Opaque("9223372036854775808"), id="large"),
        pytest.param(f"0x{'f' * 5000}", ir.Opaque(f"0x{'f' * 5000}"), id="huge"),
        pytest.param("'\\ud800'", ir.Opaque("'\\ud800'"), id="surrogate"),
        pytest.param("b'a'", ir.Opaque("b'a'"), id="bytes"),
        pytest.param("...", ir.Opaque("..."), id="ellipsis"),
        pytest.param("f'{a:{b}}'", ir.Opaque("f'{a:{b}}'", (ir.Name("a"), ir.Name("b"))), id="f"),
        pytest.param("True", ir.Constant(True), id="true"),
        pytest.param("-1", ir.Unary("-", ir.Constant(1)), id="negative"),
        pytest.param("await_", ir.Name("await_"), id="name"),
    ],
)
def test_expression(text: str, expected: ir.Expression) -> None:
    assert expected == expression(text)


@settings(deadline=None)
@given(st.text())
def test_any_string_keeps_its_value(text: str) -> None:
    assert ir.Constant(text) == expression(ascii(text))


@pytest.mark.skipif(not hasattr(cst, "TemplatedString"), reason="newer than this LibCST")
def test_a_kind_that_is_not_known_keeps_its_parts() -> None:
    node = cst.parse_expression("t'a{b}{c:{d}}'")
    expected = ir.Opaque("t'a{b}{c:{d}}'", (ir.Name("b"), ir.Name("c"), ir.Name("d")))
    assert expected == lower_expression(node, Scope(FixedRegion(ir.NOWHERE)))


def test_many_operands_are_one_operation() -> None:
    names = tuple(ir.Name(f"a{number}") for number in range(500))
    assert ir.Boolean("and", names) == expression(" and ".join(name.id for name in names))


# ---- functions ----------------------------------------------------------------------------------


def test_parameters() -> None:
    function = lowered("def f(a, /, b: 'T' = 1, *c: int, d: Optional['T'], **e) -> None: ...")
    assert (
        ir.Parameter("a", "positional_only"),
        ir.Parameter("b", "positional", ir.Constant(1), "T"),
        ir.Parameter("c", "args", None, "int"),
        ir.Parameter("d", "keyword_only", None, "Optional['T']"),
        ir.Parameter("e", "kwargs"),
    ) == function.parameters


def test_decorators() -> None:
    code = '@property\n@torch.no_grad()\n# comment\n@a(b = "c")[0]\ndef f(): ...'
    assert lowered(code).decorators == ("property", "torch.no_grad()", "a(b='c')[0]")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("yield", True, id="yield"),
        pytest.param("x = yield from a", True, id="yield-from"),
        pytest.param("x = f'{(yield)}'", True, id="formatted"),
        pytest.param("def g(a=(yield)): ...", True, id="default"),
        pytest.param("def g(): yield", False, id="nested"),
        pytest.param("return lambda: (yield)", False, id="lambda"),
        pytest.param("return (a for a in b)", False, id="comprehension"),
    ],
)
def test_generator(body: str, expected: bool) -> None:
    assert expected is lowered_body(body).generator


def test_await_does_not_make_a_generator() -> None:
    assert not lowered("async def f(): await a").generator


def test_a_lowered_function_can_be_stored() -> None:
    function = lowered_body("\n".join([*PLAIN.values(), *CANONICAL]))
    stored = msgspec.msgpack.encode(function)
    assert function == msgspec.msgpack.decode(stored, type=ir.Function)


# ---- files of all kinds -------------------------------------------------------------------------

METHOD = """
class A:
    def f(self):
        if a:
            x = g('''
b
            c''')
        return x
"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(METHOD, id="plain"),
        pytest.param(METHOD.replace("\n", "\r\n"), id="crlf"),
        pytest.param(METHOD.replace("\n", "\r"), id="carriage-returns"),
        pytest.param("\ufeff" + METHOD, id="byte-order-mark"),
        pytest.param(METHOD.rstrip(), id="no-last-newline"),
        pytest.param(METHOD.replace("    def", "\f    def"), id="form-feed-before"),
        pytest.param(METHOD.replace("        return", "\f        return"), id="form-feed-inside"),
        pytest.param(METHOD.replace("        return", "# comment\n        return"), id="comment"),
        pytest.param(METHOD.replace("        return", "\n  # b\n        return"), id="odd-comment"),
        pytest.param(METHOD.replace("return x", "return x;  # \\"), id="comment-backslash"),
        pytest.param(METHOD.rstrip() + " \\\n\n", id="last-backslash"),
        pytest.param(METHOD.replace("return x", "return \\\n x"), id="continuation"),
        pytest.param(METHOD.replace("    def f(self)", "    def f (\nself\n)"), id="header-lines"),
        pytest.param(METHOD + "    # after\n\nx = 1\n", id="more-code"),
    ],
)  # fmt: skip
def test_layout_does_not_matter(text: str) -> None:
    expected = "def f(self):\n    if a:\n        x = g('\\nb\\n            c')\n    return x"
    assert expected == dump(lowered(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("class A:\n\tdef f():\n\t\tif a:\n\t\t\tb\n", "if a:\n    b", id="tabs"),
        pytest.param("class A:\n\tdef f():\n\t    b\n", "b", id="tabs-and-spaces"),
        pytest.param("if a:\n  if b:\n   class A:\n    def f():\n     c", "c", id="deep"),
        pytest.param("def f(): a; b", "a\nb", id="one-line"),
        pytest.param("class A:\n  def f(): a\n  def g(): b", "a", id="one-line-method"),
        pytest.param("\fdef f():\n  a", "a", id="form-feed"),
        pytest.param("@b\n\\\n\n@c\nasync def f():\n  a", "a", id="decorated"),
    ],
)
def test_file(text: str, expected: str) -> None:
    assert indent(expected, "    ") == dump(lowered(text)).split(":\n", 1)[1]


def test_lines_end_only_where_python_ends_them() -> None:
    text = "a\fb\x1cc\u2028d\x85e\nf\r\ng\rh\n\n"
    assert split_lines(text) == ["a\fb\x1cc\u2028d\x85e\n", "f\r\n", "g\r", "h\n", "\n"]
    assert split_lines("") == []


@settings(deadline=None)
@given(st.text(alphabet="a\r\n\f\u2028"))
def test_lines_are_pythons_own(text: str) -> None:
    # A comment shields the form feeds; the statement after it has the last line's number.
    numbered = "#" + text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\n#")
    assert text == "".join(split_lines(text))
    assert len(split_lines(numbered + "\na")) == ast.parse(numbered + "\na").body[0].lineno


# ---- regions ------------------------------------------------------------------------------------


def placed(value: object) -> Iterator[tuple[str, ir.Region]]:
    """Everything with a region inside a value, outer first, in the order of the fields."""
    if isinstance(value, tuple):
        for item in value:
            yield from placed(item)
    elif isinstance(value, msgspec.Struct) and not isinstance(value, ir.Region):
        if hasattr(value, "region"):
            yield type(value).__name__, value.region
        for field in value.__struct_fields__:
            yield from placed(getattr(value, field))


def excerpt(lines: Sequence[str], region: ir.Region) -> str:
    """The text of a region."""
    taken = lines[region.line - 1 : region.end_line]
    taken = [*taken[:-1], taken[-1][: region.end_column]]
    return "".join([taken[0][region.column :], *taken[1:]])


def excerpts(text: str) -> list[str]:
    """``Kind: text`` of everything with a region in the first function named ``f``."""
    lines, node = definition(text)
    found = list(placed(lower_function(lines, node)))
    return [f"{kind}: {' '.join(excerpt(lines, region).split())}" for kind, region in found[1:]]


REGIONS = {
    "simple": ("x = a;  y += b", "Assign: x = a", "AugmentedAssign: y += b"),
    "annotated": ("x: int = a  # b", "Assign: x: int = a"),
    "whole statement": ("assert a, b", "Assertion: assert a, b"),
    "lines": ("return (\n  a\n)", "Exit: return ( a )"),
    "if": ("if a: b", "Branch: if a", "Evaluate: b"),
    "elif": (
        "if (a or\n    b):\n    c\nelif d:\n    e\nelse:\n    g",
        "Branch: if (a or b",
        "Evaluate: c",
        "Branch: elif d",
        "Evaluate: e",
        "Evaluate: g",
    ),
    "for": ("for a, b in c[d]: e", "Loop: for a, b in c[d]", "Evaluate: e"),
    "for tuple": ("for a in (b, c): d", "Loop: for a in (b, c)", "Evaluate: d"),
    "while": ("while a < b: c", "Loop: while a < b", "Evaluate: c"),
    "with": ("with a as b, c: d", "With: with a as b, c", "Evaluate: d"),
    "with brackets": ("with (a as b): c", "With: with (a as b", "Evaluate: c"),
    "try": (
        "try: a\nexcept B as c: d\nexcept: e\nfinally: g",
        "Try: try",
        "Evaluate: a",
        "Handler: except B",
        "Evaluate: d",
        "Handler: except",
        "Evaluate: e",
        "Evaluate: g",
    ),
    "try star": (
        "try: a\nexcept* B: d",
        "Try: try",
        "Evaluate: a",
        "Handler: except* B",
        "Evaluate: d",
    ),
    "match": (
        "match a:\n  case (1): b\n  case c if d: e",
        "Match: match a",
        "Case: 1",
        "Evaluate: b",
        "Case: c if d",
        "Evaluate: e",
    ),
    "define": (
        "@a(1)\ndef g(x=b(2)): c",
        "Define: def g(x=b(2)): c",
        "Function: def g(x=b(2)): c",
        "Call: b(2)",
        "Evaluate: c",
    ),
    "class": ("class C(a()): b = c()", "Assign: class C(a()): b = c()"),
    "import": ("import a", "Import: import a"),
    "calls": (
        "a(b)(c)(d(e))",
        "Evaluate: a(b)(c)(d(e))",
        "Call: a(b)(c)(d(e))",
        "Call: a(b)(c)",
        "Call: a(b)",
        "Call: d(e)",
    ),
    "chain": ("a < b() < c", "Evaluate: a < b() < c", "Call: b()", "Call: b()"),
    "conditional": (
        "(a(1) if b(2) else c(3))",
        "Evaluate: (a(1) if b(2) else c(3))",
        "Call: b(2)",
        "Call: a(1)",
        "Call: c(3)",
    ),
    "mapping": (
        "{a(1): b(2), **c(3), d(4): e}",
        "Evaluate: {a(1): b(2), **c(3), d(4): e}",
        "Call: a(1)",
        "Call: d(4)",
        "Call: b(2)",
        "Call: c(3)",
    ),
    "star after keyword": (
        "a(b=c(1), *d(2))",
        "Evaluate: a(b=c(1), *d(2))",
        "Call: a(b=c(1), *d(2))",
        "Call: c(1)",
        "Call: d(2)",
    ),
    "generator": (
        "a((b(c) for d in e))",
        "Evaluate: a((b(c) for d in e))",
        "Call: a((b(c) for d in e))",
        "Comprehension: (b(c) for d in e)",
        "Call: b(c)",
    ),
    "bare generator": (
        "a(b for c in d)",
        "Evaluate: a(b for c in d)",
        "Call: a(b for c in d)",
        "Comprehension: (b for c in d)",
    ),
    "lambda": (
        "[a, lambda b=c(): {d for e in g}]",
        "Evaluate: [a, lambda b=c(): {d for e in g}]",
        "Lambda: lambda b=c(): {d for e in g}",
        "Call: c()",
        "Comprehension: {d for e in g}",
    ),
    "not ASCII": (
        "a('é•😀', b('ü'), c)  # 😀",
        "Evaluate: a('é•😀', b('ü'), c)",
        "Call: a('é•😀', b('ü'), c)",
        "Call: b('ü')",
    ),
    "f-string": (
        "a(f'é{b(c):{d()}}' 'e', g())",
        "Evaluate: a(f'é{b(c):{d()}}' 'e', g())",
        "Call: a(f'é{b(c):{d()}}' 'e', g())",
        "Call: f'é{b(c):{d()}}' 'e'",
        "Call: f'é{b(c):{d()}}' 'e'",
        "Call: g()",
    ),
}


@pytest.mark.parametrize("texts", REGIONS.values(), ids=REGIONS)
def test_regions(texts: tuple[str, ...]) -> None:
    body, *expected = texts
    assert expected == excerpts(f"class A:\n  def f(self):\n{indent(body, '    ')}\n")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_function_runs_from_its_keyword_to_its_end(newline: str) -> None:
    text = "class A:\n  @a\n  async def f():\n    b\n    c # d\n\n  x = 1\n".replace("\n", newline)
    assert ir.Region(3, 2, 5, 5) == lowered(text).region


TRICKY = {
    "method": METHOD,
    "crlf": METHOD.replace("\n", "\r\n"),
    "function": "x = 1\n\n\n@a(b())\ndef f(c: d() = e()) -> g(): return h()\n",
    "decorated": "class A:\n  @a\n  # b\n  @c\n  async def f(): await d()\n",
    "plain": "def f():\n    " + "\n    ".join(indent(x, "    ").strip() for x in PLAIN.values()),
    "expressions": "def f():\n    " + "\n    ".join(CANONICAL),
    "generators": "def f():\n  a (b for b in c (d for d in e))\n  g(((h for h in i)), j)\n",
    "brackets": "def f():\n  for a in ((b, (c)),): (d)(e)\n  if (((a))): ((b(c)))((d))\n",
    "headers": "def f():\n  with (a, b as (c)): d\n  while (yield): a\n  for a in b, (c): d\n",
    "cases": "def f():\n match (a):\n  case (1): b\n  case (c, d) | [c, d]: e\n  case g, (h): i\n",
    "not-ascii": "def f():\n  a('é', b('ü')); c('😀')\n  d(f'{e()}é', g())\n",
    "formatted": "def f():\n  a(f'{b(c)}' 'd' f'{e(g)}', h())\n  f'{[i() for j in k]}'\n",
    "nested": "def f():\n @a()\n def g(b=c()):\n  class D(e()):\n   def h(): i()\n  j()\n k()\n",
    "dropped": "def f():\n  a().b: b() = c()\n  d().e: g()\n  assert h, i()\n  raise j() from k\n",
}  # fmt: skip


@pytest.mark.parametrize("text", TRICKY.values(), ids=TRICKY)
def test_positions_agree_with_libcst(text: str) -> None:
    lines, node = definition(text)
    piece = cut(lines, node)
    ordered, located = OrderedRegions(survey(lines, node)), LocatedRegions(piece)
    fast, slow = (
        lower_definition(piece.function, Scope(regions), regions.take(piece.function), ())
        for regions in (ordered, located)
    )
    ordered.finish()
    assert list(placed(slow)) == list(placed(fast))
    assert slow == fast


@pytest.mark.parametrize("kind", ["Call", "Return"])
@pytest.mark.parametrize(
    "change", [lambda regions: regions * 2, lambda _: []], ids=["more", "less"]
)
def test_libcst_is_asked_where_the_trees_differ(
    kind: str, change: Callable[[list[ir.Region]], list[ir.Region]], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "class A:\n    def f():\n        a()\n        return\n"
    expected = lowered(text)

    def wrong_survey(lines: Sequence[str], node: Definition) -> dict[str, list[ir.Region]]:
        positions = survey(lines, node)
        return positions | {kind: change(positions[kind])}

    monkeypatch.setattr(lower, "survey", wrong_survey)
    assert expected == lowered(text)


# ---- limits -------------------------------------------------------------------------------------

NESTED = {
    "calls": lambda depth: "x = " + "a(" * depth + "b" + ")" * depth,
    "keywords": lambda depth: "x = " + "a(b=" * (depth // 2) + "c" + ")" * (depth // 2),
    "lists": lambda depth: "x = " + "[" * depth + "]" * depth,
    "sum": lambda depth: "x = a" + " + a" * depth,
    "attributes": lambda depth: "x = a" + ".b" * depth,
    "not": lambda depth: "x = " + "not " * depth + "a",
    "lambda": lambda depth: "x = " + "lambda: " * depth + "a",
    "conditional": lambda depth: "x = " + "a if b else " * depth + "c",
    "elif": lambda depth: "if a: b\n" + "elif a: b\n" * depth,
    "annotation": lambda depth: "x: a" + ".b" * depth,
    "decorator": lambda depth: "@a" + ".b" * depth + "\ndef g(): ...",
    "formatted": lambda depth: "x = f'{a" + ".b" * depth + "}'",
}


@pytest.mark.parametrize("nested", NESTED.values(), ids=NESTED)
def test_depth(nested: Callable[[int], str]) -> None:
    function = lowered_body(nested(MAX_DEPTH - 10))
    assert dump(function)
    assert msgspec.msgpack.encode(function)
    with pytest.raises(LoweringError, match="nested more than 100 levels deep"):
        lowered_body(nested(150))


def test_depth_of_statements() -> None:
    nested = "".join(f"{' ' * depth}if a:\n" for depth in range(1, 90)) + " " * 90 + "b"
    assert dump(lowered(f"def f():\n{nested}\n")).endswith("b")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param("x = " + " and ".join(["a"] * 1001), "more than 1000 operands", id="operands"),
        pytest.param(
            f"match a:\n  case {'{1: ' * 9}b{'}' * 9}: c",
            "a pattern with more than 8",
            id="pattern",
        ),
        pytest.param(
            f"match a:\n  case 1: b\n  case {'(' * 9}b{')' * 9}: c",
            "a pattern with more than 8",
            id="pattern-brackets",
        ),
        pytest.param("a\nb\n(x): int = 1", "LibCST cannot parse f, line 4", id="rejected"),
    ],
)
def test_refused(body: str, message: str) -> None:
    with pytest.raises(LoweringError, match=message):
        lowered_body(body)


def test_a_full_stack_is_a_lowering_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def overflow(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(lower, "cut", overflow)
    with pytest.raises(LoweringError, match="f is nested too deeply"):
        lowered("def f(): ...")


def test_brackets_in_the_bodies_of_cases_are_not_patterns() -> None:
    deep = "a(" * 9 + ")" * 9
    body = f"match ({deep}):\n    case 1:\n        {deep}\n    case 2:\n        {deep}"
    assert body.replace(f"({deep})", deep) == dumped_body(body)


def test_a_very_long_function() -> None:
    body = "".join(
        f"    if a[{number}]:\n        x = b({number}, c=f'{{d}}')\n" for number in range(10_000)
    )
    function = lowered(f"def f():\n{body}")
    assert len(function.body) == 10_000
    assert ir.Region(20_000, 4, 20_000, 14) == function.body[-1].region


def test_a_very_long_line_that_is_not_ascii() -> None:
    text = "def f(): a('é'" + ", b()" * 20_000 + ")\n"
    assert ir.Region(1, len(text) - 5, 1, len(text) - 2) == list(placed(lowered(text)))[-1][1]
