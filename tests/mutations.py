"""Mutations of real forward methods, made on the syntax tree of the method; nothing else changes.

An ``Edit`` holds one method of one file as syntax. A mutation changes it in place and may add
methods to its class or definitions above it; ``Edit.text`` gives the file's text with the result.
"""

import ast
import copy
import textwrap
from collections.abc import Callable, Iterator, Sequence

Mutation = Callable[["Edit"], None]
Function = ast.FunctionDef
STACK = "self.layers"


class Edit:
    """One method of a file, to be changed."""

    def __init__(self, text: str, cls: str, method: str) -> None:
        self._text = text
        module = ast.parse(text)
        self._class = next(x for x in module.body if isinstance(x, ast.ClassDef) and x.name == cls)
        self._original = next(
            x for x in self._class.body if isinstance(x, Function) and x.name == method
        )
        self.function = copy.deepcopy(self._original)
        self.methods: list[ast.stmt] = []
        self.definitions: list[ast.stmt] = []
        self.base = "nn.Module"
        self.loop = self._last_loop()

    def _last_loop(self) -> ast.For:
        """The last loop that runs layers; the innermost one where loops are nested."""
        loops = [x for x in ast.walk(self.function) if isinstance(x, ast.For)]
        inner = [x for x in loops if not any(y is not x and y in loops for y in ast.walk(x))]
        running = [x for x in inner if STACK in ast.unparse(x)]
        return max(running, key=lambda loop: loop.lineno)

    def text(self) -> str:
        """The text of the file with what was changed."""
        lines = self._text.splitlines(keepends=True)
        first, last = _lines(self._original)
        indent = " " * self._original.col_offset
        changed = [textwrap.indent(_code([x]), indent) for x in (self.function, *self.methods)]
        lines[first - 1 : last] = ["\n".join(changed)]
        header = self._class.lineno - 1
        lines[header] = lines[header].replace("(nn.Module)", f"({self.base})")
        above = _lines(self._class)[0] - 1
        lines[above:above] = [_code(self.definitions)]
        return "".join(lines)

    # ---- places ----

    @property
    def accumulator(self) -> ast.Assign | ast.AnnAssign:
        """The statement that makes what states are collected in."""
        return next(
            x
            for x in ast.walk(self.function)
            if isinstance(x, ast.Assign | ast.AnnAssign)
            and isinstance(_target(x), ast.Name)
            and ast.unparse(_target(x)) == "aux_hidden_states"
        )

    @property
    def local(self) -> str:
        """The name of the accumulator."""
        return ast.unparse(_target(self.accumulator))

    @property
    def captures(self) -> list[ast.Call]:
        """The calls in the loop that append to the accumulator."""
        wanted = f"{self.local}.append"
        calls = [x for x in ast.walk(self.loop) if isinstance(x, ast.Call)]
        return [call for call in calls if ast.unparse(call.func) == wanted]

    @property
    def capture(self) -> ast.If:
        """The statement in the loop that asks for the index and captures."""
        (capture,) = self.captures
        conditions = [x for x in ast.walk(self.loop) if isinstance(x, ast.If)]
        return next(x for x in reversed(conditions) if any(y is capture for y in ast.walk(x)))

    @property
    def run(self) -> ast.Call:
        """The call in the loop that runs a layer."""
        names = {"layer", "layer.forward", f"{STACK}[{ast.unparse(self.loop.target)}]"}
        calls = [x for x in ast.walk(self.loop) if isinstance(x, ast.Call)]
        return next(call for call in calls if ast.unparse(call.func) in names)

    # ---- changes ----

    def replace(self, old: ast.AST, new: Sequence[ast.AST]) -> None:
        """Put statements, or one expression, where a node stands."""
        for parent in ast.walk(self.function):
            for name, value in ast.iter_fields(parent):
                if value is old:
                    (single,) = new
                    setattr(parent, name, single)
                    return
                if isinstance(value, list) and any(item is old for item in value):
                    at = next(i for i, item in enumerate(value) if item is old)
                    value[at : at + 1] = list(new) or _filler(value)
                    return
        raise LookupError(ast.unparse(old))

    def after(self, node: ast.stmt, *added: ast.stmt) -> None:
        self.replace(node, [node, *added])

    def first(self, *added: ast.stmt) -> None:
        """Put statements at the top of the method, below its docstring."""
        at = 1 if ast.get_docstring(self.function) is not None else 0
        self.function.body[at:at] = list(added)


def _code(nodes: Sequence[ast.AST]) -> str:
    texts = [ast.unparse(ast.fix_missing_locations(node)) for node in nodes]
    return "".join(f"{text}\n\n" for text in texts)


def _lines(node: ast.ClassDef | Function) -> tuple[int, int]:
    first = min([node.lineno, *(x.lineno for x in node.decorator_list)])
    return first, node.end_lineno or first


def _filler(body: list[ast.AST]) -> list[ast.AST]:
    return [ast.Pass()] if len(body) == 1 else []


def _target(node: ast.Assign | ast.AnnAssign) -> ast.expr:
    return node.targets[0] if isinstance(node, ast.Assign) else node.target


def code(text: str) -> list[ast.stmt]:
    return ast.parse(textwrap.dedent(text)).body


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def rewrite(node: ast.AST, changes: dict[str, str]) -> None:
    """Replace expressions in a node by others, by their text; what is stored to stays."""

    class Rewriter(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            stored = isinstance(getattr(node, "ctx", None), ast.Store)
            if isinstance(node, ast.expr) and not stored:
                new = changes.get(ast.unparse(node))
                if new is not None:
                    return expression(new)
            return self.generic_visit(node)

    Rewriter().visit(node)


# ---- mutations that change nothing ------------------------------------------------------------


def rename(old: str, new: str) -> Mutation:
    """Give a local another name."""

    def mutate(edit: Edit) -> None:
        names = [x for x in ast.walk(edit.function) if isinstance(x, ast.Name) and x.id == old]
        assert names
        for name in names:
            name.id = new

    return mutate


def alias_stack(edit: Edit) -> None:
    rewrite(edit.function, {STACK: "blocks"})
    edit.first(*code(f"blocks = {STACK}"))


def alias_slice(edit: Edit) -> None:
    """The loop runs over a slice that is kept in a local, and counts beside it."""
    low, high = _range(edit.loop)
    index = ast.unparse(edit.loop.target)
    edit.first(*code(f"blocks = {STACK}[{low}:{high}]"))
    _over(edit, f"{index}, layer", f"zip(range({low}, {high}), blocks)", index)


def always(edit: Edit) -> None:
    """The loop stands under ``if True``."""
    edit.replace(edit.loop, [ast.If(ast.Constant(True), [edit.loop], [])])


def in_context(edit: Edit) -> None:
    """The loop stands in a ``with``."""
    (block,) = code("with torch.no_grad():\n    pass")
    assert isinstance(block, ast.With)
    loop = edit.loop
    edit.replace(loop, [block])
    block.body = [loop]


def in_try(edit: Edit) -> None:
    """The loop stands in a ``try`` with ``finally``."""
    (block,) = code("try:\n    pass\nfinally:\n    torch.cuda.synchronize()")
    assert isinstance(block, ast.Try)
    loop = edit.loop
    edit.replace(loop, [block])
    block.body = [loop]


def negate(edit: Edit) -> None:
    """Each ``if`` with its test negated and its arms swapped."""
    for node in ast.walk(edit.function):
        if isinstance(node, ast.If):
            node.test = ast.UnaryOp(ast.Not(), node.test)
            node.body, node.orelse = node.orelse or [ast.Pass()], node.body


def count_with_while(edit: Edit) -> None:
    low, high = _range(edit.loop)
    index = ast.unparse(edit.loop.target)
    counted = code(f"{index} = {low}\nwhile {index} < {high}:\n    pass")
    assert isinstance(counted[1], ast.While)
    counted[1].body = [*edit.loop.body, *code(f"{index} += 1")]
    edit.replace(edit.loop, counted)


def enumerate_slice(edit: Edit) -> None:
    """The loop enumerates a slice, with the start of the count given."""
    low, high = _range(edit.loop)
    index = ast.unparse(edit.loop.target)
    _over(edit, f"{index}, layer", f"enumerate({STACK}[{low}:{high}], {low})", index)


def enumerate_rebased(edit: Edit) -> None:
    """The loop enumerates a slice, and adds the start to the count."""
    low, high = _range(edit.loop)
    index = ast.unparse(edit.loop.target)
    _over(edit, "offset, layer", f"enumerate({STACK}[{low}:{high}])", index)
    edit.loop.body[0:0] = code(f"{index} = offset + {low}")


def _range(loop: ast.For) -> tuple[str, str]:
    """The bounds of a loop over a range."""
    assert isinstance(loop.iter, ast.Call)
    assert ast.unparse(loop.iter.func) == "range"
    bounds = [ast.unparse(x) for x in loop.iter.args]
    return ("0", bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])


def _over(edit: Edit, target: str, iterable: str, index: str) -> None:
    """Let the loop go over something that gives the layer too."""
    loop = edit.loop
    for node in list(ast.walk(loop)):
        if isinstance(node, ast.Assign) and ast.unparse(node) == f"layer = {STACK}[{index}]":
            edit.replace(node, [])
    rewrite(loop, {f"{STACK}[{index}]": "layer"})
    (header,) = code(f"for {target} in {iterable}:\n    pass")
    assert isinstance(header, ast.For)
    loop.target, loop.iter = header.target, header.iter


def ask_before(edit: Edit) -> None:
    """The question for the index is kept in a local before it is asked."""
    capture = edit.capture
    asked = code(f"wanted = {ast.unparse(capture.test)}")
    capture.test = expression("wanted")
    edit.replace(capture, [*asked, capture])


def ask_copy(edit: Edit) -> None:
    """The indexes are copied to a set, which is asked."""
    rewrite(edit.function, {"self.layers_to_capture": "wanted"})
    edit.first(*code("wanted = set(self.layers_to_capture)"))


def as_expression(edit: Edit) -> None:
    """The capture is a conditional expression."""
    capture = edit.capture
    (call,) = edit.captures
    edit.replace(capture, [ast.Expr(ast.IfExp(capture.test, call, ast.Constant(None)))])


def call_forward(edit: Edit) -> None:
    """The layer's ``forward`` is called by name."""
    run = edit.run
    assert not ast.unparse(run.func).endswith(".forward")
    run.func = ast.Attribute(run.func, "forward", ast.Load())


def collect_in_class(edit: Edit) -> None:
    """The accumulator is an object of a small class."""
    edit.definitions += code(
        """
        class KeptStates:
            def __init__(self):
                self.states = []

            def append(self, state):
                self.states.append(state)

            def __len__(self):
                return len(self.states)

            def finalize(self):
                return torch.cat(self.states, dim=-1)
        """
    )
    edit.accumulator.value = expression("KeptStates()")
    for node in ast.walk(edit.function):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            rewrite(node, {edit.local: f"{edit.local}.finalize()"})


def keep_in_function(edit: Edit) -> None:
    """The append is done by a function of the module."""
    edit.definitions += code("def _keep(states, state):\n    states.append(state)")
    _append_by(edit, f"_keep({edit.local})")


def keep_in_method(edit: Edit) -> None:
    """The append is done by a method."""
    edit.methods += code("def _keep(self, states, state):\n    states.append(state)")
    _append_by(edit, f"self._keep({edit.local})")


def keep_two_calls_deep(edit: Edit) -> None:
    """The append is done by a function that a method calls."""
    edit.definitions += code("def _keep(states, state):\n    states.append(state)")
    edit.methods += code("def _note(self, states, state):\n    _keep(states, state)")
    _append_by(edit, f"self._note({edit.local})")


def keep_in_closure(edit: Edit) -> None:
    """The append is done by a nested function."""
    edit.after(edit.accumulator, *code(f"def keep(state):\n    {edit.local}.append(state)"))
    _append_by(edit, "keep()")


def keep_by_bound_method(edit: Edit) -> None:
    """The append is taken from the accumulator once."""
    captures = edit.captures
    edit.after(edit.accumulator, *code(f"keep = {edit.local}.append"))
    for call in captures:
        call.func = ast.Name("keep", ast.Load())


def _append_by(edit: Edit, call: str) -> None:
    captures = [x for x in ast.walk(edit.loop) if isinstance(x, ast.Call)]
    for capture in captures:
        if ast.unparse(capture.func) == f"{edit.local}.append":
            new = expression(call)
            assert isinstance(new, ast.Call)
            new.args += capture.args
            edit.replace(capture, [new])


def ask_in_method(edit: Edit) -> None:
    """Question and append are done by a method, one call deeper."""
    capture = edit.capture
    moved = copy.deepcopy(capture)
    _move(edit, [moved], "_capture_if_asked", instead_of=capture)


def body_in_method(edit: Edit) -> None:
    """The body of the loop is a method that gets what it needs."""
    loop = edit.loop
    body = loop.body
    moved = _moved(edit, body, "_one_layer")
    loop.body = moved


def loop_in_method(edit: Edit) -> None:
    """The loop is a method that gets what it needs."""
    loop = edit.loop
    edit.replace(loop, _moved(edit, [loop], "_all_layers"))


def layer_by_method(edit: Edit) -> None:
    """A method gives the layer of an index."""
    edit.methods += code(f"def _layer_at(self, index):\n    return {STACK}[index]")
    index = ast.unparse(edit.loop.target)
    rewrite(edit.loop, {f"{STACK}[{index}]": f"self._layer_at({index})"})


def stack_by_property(edit: Edit) -> None:
    """A property gives the stack."""
    edit.methods += code(f"@property\ndef blocks(self):\n    return {STACK}")
    rewrite(edit.function, {STACK: "self.blocks"})


def body_in_closure(edit: Edit) -> None:
    """The body of the loop is a nested function that gets the index and what is threaded."""
    edit.loop.body = _moved(edit, edit.loop.body, "one_layer")
    function = edit.methods.pop()
    assert isinstance(function, Function)
    calls = [x for x in ast.walk(edit.loop) if isinstance(x, ast.Call)]
    call = next(x for x in calls if ast.unparse(x.func) == "self.one_layer")
    call.func = ast.Name("one_layer", ast.Load())
    closed = ("self", edit.local)
    function.args.args = [x for x in function.args.args if x.arg not in closed]
    call.args = [x for x in call.args if ast.unparse(x) not in closed]
    edit.after(edit.accumulator, function)


def split_loop(edit: Edit) -> None:
    """Two loops, one after the other, run what one did."""
    low, high = _range(edit.loop)
    again = copy.deepcopy(edit.loop)
    edit.loop.iter = expression(f"range({low}, middle)")
    again.iter = expression(f"range(middle, {high})")
    edit.replace(edit.loop, [*code(f"middle = ({low} + {high}) // 2"), edit.loop, again])


def unroll_last(edit: Edit) -> None:
    """The last layer runs after the loop."""
    low, high = _range(edit.loop)
    index = ast.unparse(edit.loop.target)
    last = copy.deepcopy(edit.loop.body)
    edit.loop.iter = expression(f"range({low}, {high} - 1)")
    edit.after(edit.loop, *code(f"{index} = {high} - 1"), *last)


def list_of_range(edit: Edit) -> None:
    edit.loop.iter = expression(f"list({ast.unparse(edit.loop.iter)})")


def ask_or_empty(edit: Edit) -> None:
    """The indexes may be missing, and then there are none."""
    rewrite(edit.loop, {"self.layers_to_capture": "wanted"})
    edit.first(*code("wanted = self.layers_to_capture or ()"))


def forward_in_base(edit: Edit) -> None:
    """The method stands in a new base class, and is called by ``super()``."""
    (base,) = code("class _RunsLayers(nn.Module):\n    pass")
    assert isinstance(base, ast.ClassDef)
    base.body = [copy.deepcopy(edit.function)]
    edit.definitions.append(base)
    edit.base = base.name
    names = _parameters(edit.function)
    edit.function.body = code(f"return super().{edit.function.name}({', '.join(names[1:])})")


def everything_in_method(edit: Edit) -> None:
    """The method only calls another one that does it all."""
    moved = copy.deepcopy(edit.function)
    moved.name, moved.decorator_list = "_run_model", []
    edit.methods.append(moved)
    names = _parameters(edit.function)
    edit.function.body = code(f"return self._run_model({', '.join(names[1:])})")


def everything_by_keywords(edit: Edit) -> None:
    """The method forwards its arguments by name to another one that does it all."""
    everything_in_method(edit)
    names = _parameters(edit.function)[1:]
    forwarded = ", ".join(f"{name}={name}" for name in names)
    edit.function.body = code(f"states = self._run_model({forwarded})\nreturn states")


def _move(edit: Edit, body: list[ast.stmt], name: str, instead_of: ast.stmt) -> None:
    edit.replace(instead_of, _moved(edit, body, name))


def _moved(edit: Edit, body: list[ast.stmt], name: str) -> list[ast.stmt]:
    """Make a method of statements, and return the call of it."""
    known = set(_parameters(edit.function)) | _stored(edit.function, but=body)
    first = _First()
    for part in body:
        first.visit(part)
    taken = sorted((first.read & known) - {"self"})
    elsewhere = _loaded(edit.function, but=body)
    given = sorted({x for part in body for x in _stored(part)} & known & (elsewhere | first.read))
    parameters = ", ".join(["self", *taken])
    (method,) = code(f"def {name}({parameters}):\n    pass")
    assert isinstance(method, Function)
    method.body = [*body, *(code(f"return {', '.join(given)}") if given else [])]
    edit.methods.append(method)
    call = f"self.{name}({', '.join(taken)})"
    return code(f"{', '.join(given)} = {call}" if given else call)


class _First(ast.NodeVisitor):
    """Collects the names that are read before they are bound, in the order of evaluation."""

    def __init__(self) -> None:
        self.read: set[str] = set()
        self.bound: set[str] = set()

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_For(self, node: ast.For) -> None:
        for part in (node.iter, node.target, *node.body, *node.orelse):
            self.visit(part)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.bound.add(node.id)
        elif node.id not in self.bound:
            self.read.add(node.id)


def _loaded(node: ast.AST, but: Sequence[ast.AST] = ()) -> set[str]:
    """The names that a node reads, without what some parts of it read."""
    return {x.id for x in _names(node, but) if isinstance(x.ctx, ast.Load)}


def _stored(node: ast.AST, but: Sequence[ast.AST] = ()) -> set[str]:
    """The names that a node binds, without what some parts of it bind."""
    return {x.id for x in _names(node, but) if isinstance(x.ctx, ast.Store)}


def _names(node: ast.AST, but: Sequence[ast.AST]) -> list[ast.Name]:
    left_out = {id(x) for part in but for x in ast.walk(part)}
    return [x for x in ast.walk(node) if isinstance(x, ast.Name) and id(x) not in left_out]


def _parameters(function: Function) -> list[str]:
    arguments = function.args
    return [x.arg for x in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


# ---- mutations that lose a capture ------------------------------------------------------------


def delete_capture(edit: Edit) -> None:
    edit.replace(edit.capture, [])


def guard_capture(test: str) -> Mutation:
    """Capture only where a test holds."""

    def mutate(edit: Edit) -> None:
        capture = edit.capture
        edit.replace(capture, [ast.If(expression(test), [capture], [])])

    return mutate


def guard_append(test: str) -> Mutation:
    """Ask for more than the index."""

    def mutate(edit: Edit) -> None:
        capture = edit.capture
        capture.test = ast.BoolOp(ast.And(), [capture.test, expression(test)])

    return mutate


def guard_argument(test: str) -> Mutation:
    """Give the layer what to collect into only where a test holds."""

    def mutate(edit: Edit) -> None:
        argument = _capture_argument(edit)
        argument.value = ast.IfExp(expression(test), argument.value, ast.Constant(None))

    return mutate


def drop_argument(edit: Edit) -> None:
    edit.run.keywords.remove(_capture_argument(edit))


def none_as_argument(edit: Edit) -> None:
    _capture_argument(edit).value = ast.Constant(None)


def _capture_argument(edit: Edit) -> ast.keyword:
    names = ("captured_last_layer_outputs", "capture_output")
    return next(keyword for keyword in edit.run.keywords if keyword.arg in names)


def invert_question(edit: Edit) -> None:
    """Capture exactly the layers that nobody asked for."""
    edit.capture.test = ast.UnaryOp(ast.Not(), edit.capture.test)


def ask_another_list(edit: Edit) -> None:
    """Ask a list that no setter fills."""
    rewrite(edit.loop, {"self.layers_to_capture": "self.noted_layers"})


def capture_elsewhere(edit: Edit) -> None:
    """What is appended to is not what is returned."""
    rewrite(edit.loop, {edit.local: "scratch"})
    edit.after(edit.accumulator, *code("scratch = []"))


def second_loop(edit: Edit) -> None:
    """The same layers run again, without capture."""
    loop = edit.loop
    again = _without_capture(edit)
    edit.after(loop, again)


def fast_path(test: str) -> Mutation:
    """A loop without capture takes over where a test holds."""

    def mutate(edit: Edit) -> None:
        loop = edit.loop
        again = _without_capture(edit)
        edit.replace(loop, [ast.If(expression(test), [again], [loop])])

    return mutate


def return_early(test: str) -> Mutation:
    """Where a test holds, a loop without capture runs and the method returns."""

    def mutate(edit: Edit) -> None:
        leave = code(f"{_code([_without_capture(edit)])}return hidden_states")
        edit.replace(edit.loop, [ast.If(expression(test), leave, []), edit.loop])

    return mutate


def hand_off(test: str) -> Mutation:
    """Where a test holds, a function of the module runs the layers."""

    def mutate(edit: Edit) -> None:
        edit.definitions += code(
            """
            def _run_each(layers, hidden_states, *arguments):
                for layer in layers:
                    hidden_states = layer(hidden_states, *arguments)
                return hidden_states
            """
        )
        call = code(f"hidden_states = _run_each({STACK}, hidden_states, forward_batch)")
        edit.replace(edit.loop, [ast.If(expression(test), call, [edit.loop])])

    return mutate


def hand_off_partial(test: str) -> Mutation:
    """Where a test holds, a function that was bound before runs the layers."""

    def mutate(edit: Edit) -> None:
        hand_off(test)(edit)
        rewrite(edit.function, {"_run_each": "runner"})
        edit.first(*code("runner = functools.partial(_run_each)"))
        edit.definitions += code("import functools")

    return mutate


def fast_path_in_method(test: str) -> Mutation:
    """A method that runs the layers without capture takes over where a test holds."""

    def mutate(edit: Edit) -> None:
        loop = edit.loop
        moved = _moved(edit, [_without_capture(edit)], "_fast_path")
        edit.replace(loop, [ast.If(expression(test), moved, [loop])])

    return mutate


def skip_capture(test: str) -> Mutation:
    """The iteration runs its layer and goes on before the capture where a test holds."""

    def mutate(edit: Edit) -> None:
        loop = edit.loop
        plain = _without_capture(edit).body
        loop.body[0:0] = [ast.If(expression(test), [*plain, ast.Continue()], [])]

    return mutate


def _without_capture(edit: Edit) -> ast.For:
    """A copy of the loop that captures nothing."""
    again = copy.deepcopy(edit.loop)
    for node in ast.walk(again):
        if isinstance(node, ast.Call):
            node.keywords = [x for x in node.keywords if edit.local not in ast.unparse(x)]
        for body in _bodies(node):
            kept = [x for x in body if not (isinstance(x, ast.If) and edit.local in ast.unparse(x))]
            body[:] = kept or [ast.Pass()]
    return again


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if isinstance(body, list) and body:
            yield body


def drop_guard(guard: str) -> Mutation:
    """Remove one part of a conjunction."""

    def mutate(edit: Edit) -> None:
        nodes = [x for x in ast.walk(edit.function) if isinstance(x, ast.BoolOp)]
        node = next(x for x in nodes if guard in map(ast.unparse, x.values))
        node.values = [x for x in node.values if ast.unparse(x) != guard]

    return mutate


def both(*mutations: Mutation) -> Mutation:
    """One mutation after the other."""

    def mutate(edit: Edit) -> None:
        for mutation in mutations:
            mutation(edit)

    return mutate
