"""Walks the paths of a function, and keeps what is configured after it was frozen.

A path is a state; states that differ in their conditions only are one. A callee that leads to an
event is walked in place of its call. Loops are walked twice: what a second round finds that the
first did not, a third would not either, because a state keeps one event of a kind.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from pathaudit import ir
from pathaudit.check.precedes_calls import Callee, Scene
from pathaudit.check.precedes_names import (
    aliases,
    assigned_by,
    bound_parameters,
    next_round,
    receiver_of,
    without_bound,
    without_targets,
)
from pathaudit.check.precedes_state import (
    Ends,
    Event,
    Frame,
    Late,
    PathsExceeded,
    Place,
    State,
    joined,
    kinds_of,
    merged,
)
from pathaudit.check.precedes_tests import (
    case_test,
    formula_of,
    literals_of,
    loop_test,
    object_path,
    placed,
)
from pathaudit.conditions import Literal, PathCondition, disjoin
from pathaudit.index import ClassRef, FunctionRef
from pathaudit.paths.formulas import TRUE, Atom, Formula, opposite
from pathaudit.paths.walking import all_statements, blocks, children, last_name

STATES = 400
DEPTH = 8


class Walker:
    """Walks one function of a class, or of a module."""

    def __init__(self, scene: Scene, root: ClassRef | None) -> None:
        self._scene = scene
        self._root = root
        # What the tests say that decide on an event, and when what is late was called.
        self._told: frozenset[Literal] = frozenset()
        self._when: dict[Late, PathCondition] = {}
        self._learning = False

    def walk(self, ref: FunctionRef) -> dict[Late, PathCondition]:
        """What is late at the end of a path that does not raise, and when it was called.

        Raises ``PathsExceeded``. The first time is to learn which tests decide on an event.
        """
        function = self._scene.lowered(ref)
        if function is None:
            return {}
        self._learning = True
        self._body(function.body, [State({})], Frame(ref))
        self._learning = False
        ends = self._body(function.body, [State({}, self._told)], Frame(ref))
        return self._confirmed((*ends.running, *ends.returned))

    def _confirmed(self, states: Iterable[State]) -> dict[Late, PathCondition]:
        later: dict[Late, set[str]] = {}
        for late in (late for state in states for late in state.late):
            called = replace(late, later=())
            later.setdefault(called, set()).update(late.later)
        return {
            replace(late, later=tuple(sorted(later[late]))): self._when[late]
            for late in sorted(later)
        }

    # ---- statements ----

    def _body(self, body: tuple[ir.Statement, ...], states: Iterable[State], frame: Frame) -> Ends:
        running = list(states)
        left: list[Ends] = []
        for statement in body:
            ends = [self._statement(statement, state, frame) for state in running]
            left += ends
            running = merged(state for end in ends for state in end.running)
            if len(running) > STATES:
                raise PathsExceeded
        return replace(joined(left), running=tuple(running))

    def _statement(self, statement: ir.Statement, state: State, frame: Frame) -> Ends:  # noqa: C901
        if not self._matters(statement):
            return Ends((without_bound(statement, state),))
        match statement:
            case ir.Branch():
                return self._branch(statement, state, frame)
            case ir.Loop():
                return self._loop(statement, state, frame)
            case ir.With():
                return self._with(statement, state, frame)
            case ir.Try():
                return self._try(statement, state, frame)
            case ir.Match():
                return self._match(statement, state, frame)
            case ir.Exit("return", value, _):
                states = self._optional(value, state, frame)
                return Ends(returned=tuple(states))
            case ir.Exit("break", _, _):
                return Ends(broke=(state,))
            case ir.Exit("continue", _, _):
                return Ends(continued=(state,))
            case ir.Exit():
                return Ends()
            case ir.Assertion(test, _):
                formula = formula_of(placed(test, state.names))
                return Ends(tuple(self._narrowed(state, formula)))
            case ir.Assign(_, value, _) | ir.AugmentedAssign(_, _, value, _):
                after = self._expression(value, state, frame)
                return Ends(tuple(assigned_by(statement, item) for item in after))
            case ir.Evaluate(value, _):
                return Ends(tuple(self._expression(value, state, frame)))
            case _:
                return Ends((without_bound(statement, state),))

    def _matters(self, statement: ir.Statement) -> bool:
        """Does a statement hold an event or a jump, or is it simple?"""
        inner = all_statements((statement,))
        jumps = any(isinstance(item, ir.Exit) for item in inner)
        return not blocks(statement) or jumps or self._scene.holds_event(statement)

    def _branch(self, statement: ir.Branch, state: State, frame: Frame) -> Ends:
        found = []
        for before in self._expression(statement.test, state, frame):
            formula = formula_of(placed(statement.test, before.names))
            if self._scene.holds_event(statement):
                self._tell(formula)
            arms = ((statement.body, formula), (statement.orelse, opposite(formula)))
            for arm, holds in arms:
                found.append(self._body(arm, self._narrowed(before, holds), frame))
        return joined(found)

    def _loop(self, statement: ir.Loop, state: State, frame: Frame) -> Ends:
        """No round, one, or two; a loop over ``True`` is left by jumps only."""
        found: list[Ends] = []
        leaving: list[State] = []
        entering = self._optional(statement.iterable, state, frame)
        for _ in range(3):
            rounds: list[State] = []
            for before in merged(next_round(statement, item) for item in entering):
                for tested in self._optional(statement.test, before, frame):
                    test = loop_test(statement, tested.names)
                    leaving += self._narrowed(tested, opposite(test) if test else TRUE)
                    rounds += self._narrowed(tested, test or TRUE)
            ends = self._body(statement.body, merged(rounds), frame)
            found.append(ends)
            entering = [*ends.running, *ends.continued]
        after = self._body(statement.orelse, merged(leaving), frame)
        broke = tuple(x for end in found for x in end.broke)
        kept = joined([*found, after])
        return Ends(
            tuple(merged((*after.running, *broke))), kept.returned, after.broke, after.continued
        )

    def _with(self, statement: ir.With, state: State, frame: Frame) -> Ends:
        """What a ``with`` freezes, it freezes with all that is done inside."""
        states = [state]
        freezing = [x.manager for x in statement.items if self._scene.is_freeze(x.manager)]
        for item in statement.items:
            if item.manager not in freezing:
                states = [y for x in states for y in self._expression(item.manager, x, frame)]
        ends = self._body(statement.body, (without_targets(statement, x) for x in states), frame)
        for manager in freezing:
            running = [y for x in ends.running for y in self._expression(manager, x, frame)]
            returned = [y for x in ends.returned for y in self._expression(manager, x, frame)]
            ends = Ends(tuple(running), tuple(returned), ends.broke, ends.continued)
        return ends

    def _try(self, statement: ir.Try, state: State, frame: Frame) -> Ends:
        """A handler starts from the states around each statement of the body."""
        around, running, left = [state], [state], []
        for inner in statement.body:
            ends = self._body((inner,), running, frame)
            left.append(replace(ends, running=()))
            running = list(ends.running)
            around += running
        handled = [
            self._body(handler.body, merged(around), frame) for handler in statement.handlers
        ]
        whole = self._body(statement.orelse, running, frame)
        return self._finally(joined([*left, *handled, whole]), statement.final, frame)

    def _finally(self, ends: Ends, final: tuple[ir.Statement, ...], frame: Frame) -> Ends:
        if not final:
            return ends
        after = [self._body(final, merged(states), frame) for states in kinds_of(ends)]
        jumps = joined([replace(item, running=()) for item in after])
        running, returned, broke, continued = (item.running for item in after)
        return joined([Ends(running, returned, broke, continued), jumps])

    def _match(self, statement: ir.Match, state: State, frame: Frame) -> Ends:
        found = []
        rest = self._expression(statement.subject, state, frame)
        for case in statement.cases:
            taken, passed = [], []
            for before in rest:
                test = case_test(statement, case, before.names)
                self._tell(test)
                taken += self._narrowed(before, test or TRUE)
                if not case.irrefutable:
                    passed += self._narrowed(before, opposite(test) if test else TRUE)
            found.append(self._body(case.body, merged(taken), frame))
            rest = merged(passed)
        return joined([*found, Ends(tuple(rest))])

    def _tell(self, formula: Formula | None) -> None:
        """An event depends on a test, if it is known what that says."""
        self._told |= literals_of(formula or TRUE)

    def _narrowed(self, state: State, formula: Formula) -> list[State]:
        found = state.narrowed(formula)
        return [] if found is None else [found]

    # ---- expressions ----

    def _optional(self, node: ir.Expression | None, state: State, frame: Frame) -> list[State]:
        return [state] if node is None else self._expression(node, state, frame)

    def _expression(self, node: ir.Expression, state: State, frame: Frame) -> list[State]:
        """The states after an expression was evaluated; a lambda's body is not."""
        if isinstance(node, ir.Lambda) or not self._scene.holds_call(node):
            return [state]
        match node:
            case ir.Conditional(test, body, orelse):
                formula = formula_of(placed(test, state.names))
                return [
                    *self._chosen(body, formula, state, frame),
                    *self._chosen(orelse, opposite(formula), state, frame),
                ]
            case ir.Boolean(operator, operands):
                return self._circuit(operator, operands, state, frame)
        states = [state]
        for child in children(node):
            states = [
                after for before in states for after in self._expression(child, before, frame)
            ]
        if isinstance(node, ir.Call):
            states = [y for x in states for y in self._call(node, x, frame)]
        return merged(states)

    def _chosen(
        self, node: ir.Expression, formula: Formula, state: State, frame: Frame
    ) -> list[State]:
        self._tell(formula)
        held = self._narrowed(state, formula)
        return [after for before in held for after in self._expression(node, before, frame)]

    def _circuit(
        self, operator: str, operands: tuple[ir.Expression, ...], state: State, frame: Frame
    ) -> list[State]:
        """``a and b``: the second is evaluated where the first holds."""
        first, *rest = operands
        states = self._expression(first, state, frame)
        if not rest:
            return states
        found = []
        for before in states:
            formula = formula_of(placed(first, before.names))
            self._tell(formula)
            goes_on = formula if operator == "and" else opposite(formula)
            found += self._narrowed(before, opposite(goes_on))
            for inside in self._narrowed(before, goes_on):
                found += self._circuit(operator, tuple(rest), inside, frame)
        return found

    def _call(self, node: ir.Call, state: State, frame: Frame) -> list[State]:
        name = last_name(node.function)
        if not self._scene.matters(name):
            return [state]
        number = self._scene.configures(name)
        if number is not None:
            return [self._configured(self._scene.event(node, state, frame), number, state)]
        receiver = receiver_of(node, state)
        callees = self._scene.callees(node, frame.ref, self._root, object_path(receiver))
        found = []
        for callee in callees or (None,):
            chosen = self._of_class(callee, state)
            found += [y for x in chosen for y in self._run(node, callee, receiver, x, frame)]
        return found

    def _of_class(self, callee: Callee | None, state: State) -> list[State]:
        """The state where the object is of the class whose method runs."""
        if callee is None or callee.when is None:
            return [state]
        self._tell(Atom(callee.when))
        return self._narrowed(state, Atom(callee.when))

    def _run(
        self,
        node: ir.Call,
        callee: Callee | None,
        receiver: ir.Expression,
        state: State,
        frame: Frame,
    ) -> list[State]:
        """A call that may lead to an event, or be the one that freezes."""
        states = [state]
        leads = callee is not None and self._scene.leads(callee.ref)
        if callee is not None and leads and len(frame.chain) < DEPTH:
            states = self._follow(node, callee, receiver, state, frame)
        frozen = any(after.frozen != state.frozen for after in states)
        # What freezes inside, on some path, is the freezing call; else this is one by its name.
        if self._learning or frozen or not self._scene.freezes(last_name(node.function)):
            return states
        held = Callee(callee.ref, receiver) if callee and not callee.made else None
        written = self._scene.stored_by(held, self._root)
        event = self._scene.event(node, state, frame)
        return [before.freeze(event, written) for before in states]

    def _configured(self, event: Event, number: int, state: State) -> State:
        after = state.configure(event, number)
        for late in after.late - state.late:
            known = self._when.get(late, state.condition)
            self._when[late] = disjoin(known, state.condition)
        return after

    def _follow(
        self, node: ir.Call, callee: Callee, receiver: ir.Expression, state: State, frame: Frame
    ) -> list[State]:
        """Walk a callee in place of its call."""
        function = self._scene.lowered(callee.ref)
        place = Place(frame.ref.file, node.region, frame.ref.qualname)
        if function is None or any(place == known for known in frame.chain):
            return [state]
        inner = Frame(callee.ref, (*frame.chain, place))
        held = receiver if callee.receiver is not None and not callee.made else callee.receiver
        names = bound_parameters(function, node, held, state)
        entered = replace(state, names={**aliases(state), **names})
        ends = self._body(function.body, [entered], inner)
        left = (*ends.running, *ends.returned)
        names = state.names
        return merged(replace(item, names={**names, **aliases(item)}) for item in left)
