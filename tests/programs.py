"""Small forwards: built as data, rendered as source, and run under every assignment.

A program is rendered twice. The plain text is what pathaudit reads. The probed text does the same
and tells a ``Probe`` which iterations begin and end, so that running it shows which of them ran a
layer without collecting. Lines that only the probe needs are not in the plain text, and the probe
names loops by their line there.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations, product
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

FLAGS = re.compile(r"self\.(f\d)")
MODEL_LAYERS = 12
MAXIMUM_ITERATIONS = 60
RANGES = ((0, 1), (0, 2), (1, 3), (2, 4), (3, 6))


class Assign(Struct, frozen=True):
    """``name = value``; also used for steps that cannot matter."""

    name: str
    value: str


class Run(Struct, frozen=True):
    """Run the layer of the innermost loop over layers, or one layer outside such loops.

    ``capture``: nothing, ``aux``, or the test under which the layer is handed ``aux``.
    """

    capture: str = ""


class Capture(Struct, frozen=True):
    """Collect; ``asked``: under a test of whether the layer was asked for."""

    form: str = "aux.append(hidden)"
    asked: bool = False


class If(Struct, frozen=True):
    test: str
    body: "tuple[Statement, ...]"
    orelse: "tuple[Statement, ...]" = ()


class Loop(Struct, frozen=True):
    """``kind`` is one of ``LOOPS``; ``rounds`` and ``span`` are loops that run no layers."""

    kind: str
    low: str
    high: str
    body: "tuple[Statement, ...]"
    orelse: "tuple[Statement, ...]" = ()


class Jump(Struct, frozen=True):
    kind: str


class Try(Struct, frozen=True):
    """``handler`` is ``None`` where there is only a ``finally``."""

    body: "tuple[Statement, ...]"
    handler: "tuple[Statement, ...] | None" = None
    final: "tuple[Statement, ...]" = ()


class Match(Struct, frozen=True):
    """``match`` on an integer: ``case 1``, ``case 2`` and so on; the last body is any other's."""

    subject: str
    bodies: "tuple[tuple[Statement, ...], ...]"


class Help(Struct, frozen=True):
    """Call the helper method, which runs layers between the bounds."""

    low: str
    high: str


Statement: TypeAlias = Assign | Run | Capture | If | Loop | Jump | Try | Match | Help


class Program(Struct, frozen=True):
    """The helper is ``given`` the accumulator, returns its ``own``, or has ``none``."""

    body: tuple[Statement, ...]
    helper: tuple[Statement, ...] = ()
    collects: str = "none"


# ---- the source -------------------------------------------------------------------------------

HEAD = '''"""A generated model."""

from torch import nn

from sglang.srt.utils import make_layers


class DemoDecoderLayer(nn.Module):
    def __init__(self, config, layer_id):
        super().__init__()
        self.layer_id = layer_id
        self.mlp = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden, captured=None):
        if captured is not None:
            captured.append(hidden)
        return self.mlp(hidden)


class DemoModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers,
            lambda idx, prefix: DemoDecoderLayer(config, layer_id=idx),
        )
        self.k = config.k
        self.f0, self.f1, self.f2, self.f3 = config.flags
        self.layers_to_capture = []

'''

TAIL = """

class DemoForCausalLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = DemoModel(config)
        self.capture_aux_hidden_states = False

    def forward(self, hidden):
        return self.model(hidden)

    def set_eagle3_layers_to_capture(self, layer_ids=None):
        self.capture_aux_hidden_states = True
        self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids or (1, 2)]


EntryClass = DemoForCausalLM
"""

LOOPS = {
    "range": "for {v} in range({low}, {high}):",
    "slice": "for layer in self.layers[{low}:{high}]:",
    "alias": "for layer in stack[{low}:{high}]:",
    "part": "for layer in stack:",
    "rest": "for layer in self.layers[{low}:{high}][1:]:",
    "counted": "for {v}, layer in enumerate(self.layers[{low}:{high}]):",
    "numbered": "for {v}, layer in enumerate(self.layers[{low}:{high}], start=1):",
    "open": "for {v}, layer in zip(range({low}, {high}), self.layers[{low}:]):",
    "pairs": "for {v}, layer in zip(range(9), self.layers[{low}:{high}]):",
    "enumerate": "for {v}, layer in enumerate(self.layers[{low}:{high}], {low}):",
    "zip": "for {v}, layer in zip(range({low}, {high}), self.layers[{low}:{high}]):",
    "while": "while {v} < {high}:",
    "rounds": "for {v} in range(2):",
    "span": "for {v} in range({low}, {high}):",
}
# What a loop runs over has a name of its own.
NAMED = {"alias": "stack = self.layers", "part": "stack = self.layers[{low}:{high}]"}
PLAIN = ("rounds", "span")


class Context(Struct, frozen=True):
    """Where a statement stands: the loop over layers around it, and what may be named there."""

    depth: int = 0
    owner: str = "None"
    callee: str = "self.layers[self.start_layer]"
    variable: str = ""
    kind: str = ""
    aux: bool = True
    result: str = "hidden, aux"
    caught: bool = False


class Writer:
    """Renders statements, with and without probes."""

    def __init__(self, collects: str) -> None:
        self.plain: list[str] = []
        self.probed: list[str] = []
        self._collects = collects
        self.faults = 0
        self._plain_depth = self._probed_depth = 0
        self._loops = 0

    def line(self, text: str, probed: str | None = None) -> None:
        self.plain.append("    " * self._plain_depth + text)
        self.probe(text if probed is None else probed)

    def probe(self, text: str) -> None:
        self.probed.append("    " * self._probed_depth + text)

    @contextmanager
    def indented(self, *, plain: bool = True) -> Iterator[None]:
        self._plain_depth += plain
        self._probed_depth += 1
        yield
        self._plain_depth -= plain
        self._probed_depth -= 1

    def block(self, body: tuple[Statement, ...], context: Context) -> None:
        with self.indented():
            self.statements(body, context)

    def statements(self, body: tuple[Statement, ...], context: Context) -> None:
        if not body:
            self.line("pass")
        for statement in body:
            if context.caught:
                self._fault()
            self.statement(statement, context)
        if context.caught:
            self._fault()

    def _fault(self) -> None:
        self.probe(f"PROBE.fault({self.faults})")
        self.faults += 1

    def statement(self, statement: Statement, context: Context) -> None:
        inner = replace(context, caught=False)
        match statement:
            case Assign(name, value):
                self.line(f"{name} = {value}")
            case Run(capture):
                self._run(capture, context)
            case Capture(form, asked):
                self._capture(form, asked, context)
            case If():
                self._if(statement, inner)
            case Loop():
                self._loop(statement, inner)
            case Jump(kind):
                self._jump(kind, context)
            case Try():
                self._try(statement, context)
            case Match(subject, bodies):
                self._match(subject, bodies, inner)
            case Help(low, high):
                given = ", aux" if self._collects == "given" else ""
                result = "hidden, aux" if self._collects == "own" else "hidden"
                self.line(f"{result} = self.helper(hidden, {low}, {high}{given})")

    def _run(self, capture: str, context: Context) -> None:
        argument = ""
        if capture and context.aux:
            given = "aux" if capture == "aux" else f"aux if {_named(capture, context)} else None"
            argument = f", captured={given}"
        self.probe(f"PROBE.owner = {context.owner}, {len(self.plain) + 1}")
        self.line(f"hidden = {context.callee}(hidden{argument})")

    def _capture(self, form: str, asked: bool, context: Context) -> None:
        if not context.aux:
            self.line("hidden = hidden + 0")
        elif asked:
            self.line(f"if {_named('INDEX', context)} in self.layers_to_capture:")
            with self.indented():
                self.line(form)
        else:
            self.line(form)

    def _if(self, statement: If, context: Context) -> None:
        self.line(f"if {_named(statement.test, context)}:")
        self.block(statement.body, context)
        match statement.orelse:
            case ():
                return
            case (If(_, body, orelse) as other,):
                self.line(f"elif {_named(other.test, context)}:")
                self.block(body, context)
                if orelse:
                    self.line("else:")
                    self.block(orelse, context)
            case _:
                self.line("else:")
                self.block(statement.orelse, context)

    def _match(
        self, subject: str, bodies: tuple[tuple[Statement, ...], ...], context: Context
    ) -> None:
        self.line(f"match {_named(subject, context)}:")
        with self.indented():
            for number, body in enumerate(bodies, start=1):
                self.line(f"case {number}:" if number < len(bodies) else "case _:")
                self.block(body, context)

    def _jump(self, kind: str, context: Context) -> None:
        match kind:
            case "return":
                self.line(f"return {context.result}")
            case "raise":
                self.line("raise ValueError")
            case _ if not context.depth:
                self.line("pass")
            case "continue" if context.kind == "while":
                self.line(f"{context.variable} += 1")
                self.line("continue")
            case _:
                self.line(kind)

    def _try(self, statement: Try, context: Context) -> None:
        self.line("try:")
        caught = context.caught or statement.handler is not None
        self.block(statement.body, replace(context, caught=caught))
        if statement.handler is not None:
            self.line("except ValueError:")
            self.block(statement.handler, context)
        if statement.final or statement.handler is None:
            self.line("finally:")
            self.block(statement.final, context)

    def _loop(self, statement: Loop, context: Context) -> None:
        self._loops += 1
        kind, variable = statement.kind, "ijmn"[context.depth]
        if kind in NAMED:
            self.line(NAMED[kind].format(low=statement.low, high=statement.high))
        if kind == "while":
            self.line(f"{variable} = {statement.low}")
        loop = f"LOOP_{self._loops}"
        self.probe(f"{loop} = PROBE.start({len(self.plain) + 1})")
        self.line(LOOPS[kind].format(v=variable, low=statement.low, high=statement.high))
        inner = _inside(context, kind, variable, loop)
        with self.indented():
            self.probe(f"with PROBE.iteration({loop}):")
            with self.indented(plain=False):
                self.statements(statement.body, inner)
                if kind == "while":
                    self.line(f"{variable} += 1")
        if statement.orelse:
            self.line("else:")
            self.block(statement.orelse, context)


def _named(test: str, context: Context) -> str:
    """A test of the loop's counter; outside loops over layers it is one of the model."""
    return test.replace("INDEX", context.variable or "self.start_layer")


def _inside(context: Context, kind: str, variable: str, loop: str) -> Context:
    depth = context.depth + 1
    if kind in PLAIN:
        return replace(context, depth=depth, kind=kind)
    return replace(
        context,
        depth=depth,
        owner=loop,
        callee=f"self.layers[{variable}]" if kind in ("range", "while") else "layer",
        variable=variable if "{v}" in LOOPS[kind] else "",
        kind=kind,
    )


def render_program(program: Program) -> tuple[str, str, int]:
    """The plain and the probed text of a model, and how many places can fail in the latter."""
    writer = Writer(program.collects)
    head = HEAD.splitlines()
    writer.plain, writer.probed = list(head), list(head)
    with writer.indented():
        if program.helper:
            _helper(writer, program)
        writer.line("def forward(self, hidden):")
        with writer.indented():
            _collector(writer)
            _opening(writer)
            writer.statements(program.body, Context())
            writer.line("return hidden, aux")
    plain, probed = ("\n".join((*text, TAIL)) for text in (writer.plain, writer.probed))
    return plain, probed, writer.faults


def _helper(writer: Writer, program: Program) -> None:
    given = program.collects == "given"
    result = "hidden, aux" if program.collects == "own" else "hidden"
    writer.line(f"def helper(self, hidden, low, high{', aux=None' if given else ''}):")
    with writer.indented():
        if program.collects == "own":
            _collector(writer)
        _opening(writer)
        context = Context(aux=program.collects != "none", result=result)
        writer.statements(program.helper, context)
        writer.line(f"return {result}")
    writer.line("")


def _collector(writer: Writer) -> None:
    writer.line("aux = []", "aux = PROBE.collector()")


def _opening(writer: Writer) -> None:
    writer.line("mid = self.end_layer")
    writer.line("w = self.start_layer")
    writer.line("a = self.f0")
    writer.line("b = False")


def every_statement(body: tuple[Statement, ...]) -> Iterator[Statement]:
    for statement in body:
        yield statement
        for part in _parts(statement):
            yield from every_statement(part)


def _parts(statement: Statement) -> tuple[tuple[Statement, ...], ...]:
    match statement:
        case If(_, body, orelse):
            return (body, orelse)
        case Loop():
            return (statement.body, statement.orelse)
        case Try(body, handler, final):
            return (body, handler or (), final)
        case Match(_, bodies):
            return bodies
        case _:
            return ()


# ---- running it -------------------------------------------------------------------------------


class Assignment(Struct, frozen=True):
    """One choice of what a program can ask.

    ``faults`` are the places that fail by themselves. ``asked``: is the first layer asked for,
    where its number stands outside loops? The layers of loops always are.
    """

    flags: tuple[tuple[str, bool], ...]
    start_layer: int
    end_layer: int
    k: int
    faults: tuple[int, ...] = ()
    asked: bool = True

    def names(self) -> dict[str, object]:
        """What a condition of the report can name."""
        return {
            **dict(self.flags),
            "start_layer": _Start(self.start_layer),
            "end_layer": self.end_layer,
            "k": self.k,
            "layers_to_capture": _Asked(start=self.asked),
        }


class _Start(int):
    """The number of the first layer as the model holds it; what a loop counts is a plain number."""


class _Asked(list[int]):
    """The layers that were asked for."""

    def __init__(self, *, start: bool) -> None:
        super().__init__(range(MODEL_LAYERS))
        self.start = start

    def __contains__(self, number: object) -> bool:
        return self.start or not isinstance(number, _Start)


class Violation(Struct, frozen=True):
    """A run without capture, by line; ``first``: in the first iteration of its loop."""

    line: int
    first: bool


class Outcome(Struct, frozen=True):
    """What one run did; ``rounds`` is the longest execution of the loop of each line."""

    assignment: Assignment
    violations: frozenset[Violation]
    rounds: dict[int, int]
    raised: bool


class _Loop:
    def __init__(self, line: int) -> None:
        self.line = line
        self.count = 0


class _Iteration:
    def __init__(self, loop: _Loop) -> None:
        self.loop = loop
        self.first = loop.count == 0
        self.ran = self.captured = False


class Endless(Exception):  # noqa: N818 - no fault: the program is not one to judge
    """A generated loop does not end."""


class _Collector(list[object]):
    """The accumulator; tells the probe."""

    def __init__(self, probe: "Probe") -> None:
        super().__init__()
        self._probe = probe

    def append(self, item: object) -> None:
        super().append(item)
        self._probe.captured()

    def extend(self, items: object) -> None:
        self.append(items)

    def __iadd__(self, items: object) -> "_Collector":  # type: ignore[misc]
        self.append(items)
        return self


class Probe:
    """Watches one run.

    Outside loops a capture stands for the layer that ran last and for one run after. Nothing is
    owed by a run that ends with an error.
    """

    def __init__(self, faults: tuple[int, ...] = (), *, asked: bool = True) -> None:
        self.owner: tuple[_Loop | None, int] = (None, 0)
        self.violations: set[Violation] = set()
        self.rounds: dict[int, int] = {}
        self._faults = faults
        self._asked = asked
        self._stack: list[_Iteration] = []
        self._pending: set[int] = set()
        self._evidence = False

    def collector(self) -> _Collector:
        return _Collector(self)

    def fault(self, number: int) -> None:
        if number in self._faults:
            raise ValueError

    def start(self, line: int) -> _Loop:
        self.rounds.setdefault(line, 0)
        return _Loop(line)

    @contextmanager
    def iteration(self, loop: _Loop) -> Iterator[None]:
        """One iteration; ``raise`` out of it ends what it owes."""
        iteration = _Iteration(loop)
        loop.count += 1
        self.rounds[loop.line] = max(self.rounds[loop.line], loop.count)
        if loop.count > MAXIMUM_ITERATIONS:
            raise Endless
        self._stack.append(iteration)
        raised = True
        try:
            yield
            raised = False
        finally:
            self._stack.pop()
            if iteration.ran and not iteration.captured and not raised:
                self.violations.add(Violation(loop.line, iteration.first))
            if iteration.captured and not iteration.ran:
                self.captured()

    def captured(self) -> None:
        if self._stack:
            self._stack[-1].captured = True
        else:
            self._pending.clear()
            self._evidence = True

    def ran(self) -> None:
        loop, line = self.owner
        if loop is None and not self._asked:
            return
        around = [item for item in self._stack if loop is None or item.loop is loop]
        if around:
            self._close()
            around[-1].ran = True
            if any(item.captured for item in self._stack[self._stack.index(around[-1]) :]):
                around[-1].captured = True
        elif self._evidence:
            self._evidence = False
        else:
            self._pending.add(line)

    def _close(self) -> None:
        self.violations.update(Violation(line, first=False) for line in self._pending)
        self._pending.clear()

    def finish(self, *, raised: bool) -> None:
        self._close()
        if raised:
            self.violations.clear()


class _Layer:
    def __init__(self, probe: Probe) -> None:
        self._probe = probe

    def __call__(self, hidden: int, captured: "_Collector | None" = None) -> int:
        if captured is not None:
            captured.append(hidden)
        self._probe.ran()
        return hidden


class _Module:
    """Stands in for ``nn.Module``."""

    Module: "type[_Module]"


_Module.Module = _Module


class Oracle:
    """Runs the probed text of one program."""

    def __init__(self, probed: str, faults: int, most: int = 1) -> None:
        """``most``: how many places fail in one run."""
        body = probed.replace("from torch import nn", "").replace(
            "from sglang.srt.utils import make_layers", ""
        )
        self._space: dict[str, Any] = {"nn": _Module, "PROBE": None}
        exec(compile(body, "<generated>", "exec"), self._space)
        self._faults = [
            chosen for count in range(most + 1) for chosen in combinations(range(faults), count)
        ]
        self._text = body

    def assignments(self) -> Iterator[Assignment]:
        text = self._text.partition("self.layers_to_capture = []")[2]
        flags = sorted(set(FLAGS.findall(text)))
        ks = range(8) if "self.k" in text else range(1, 2)
        asks = (True, False) if "self.start_layer in" in text.replace("not in", "in") else (True,)
        for values in product((False, True), repeat=len(flags)):
            pairs = tuple(zip(flags, values, strict=True))
            for (start, end), k, faults, asked in product(RANGES, ks, self._faults, asks):
                yield Assignment(pairs, start, end, k, faults, asked)

    def run(self, assignment: Assignment) -> Outcome:
        """Raises ``Endless`` where a loop does not end."""
        probe = Probe(assignment.faults, asked=assignment.asked)
        self._space["PROBE"] = probe
        model: Any = object.__new__(self._space["DemoModel"])
        vars(model).update(assignment.names())
        model.layers = [_Layer(probe) for _ in range(MODEL_LAYERS)]
        raised = False
        try:
            model.forward(0)
        except ValueError:
            raised = True
        probe.finish(raised=raised)
        return Outcome(assignment, frozenset(probe.violations), probe.rounds, raised)

    def outcomes(self) -> list[Outcome]:
        return [self.run(assignment) for assignment in self.assignments()]
