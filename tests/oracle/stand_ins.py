"""Objects that stand for everything a released method touches.

A ``World`` is one random assignment: which tests are true and what the integers are. It remembers
by text, so that equal expressions have equal values. Layers are real in number and order; running
one, or handing some on, is noted with the loops and lines where it happens.
"""

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, FunctionType, MethodType

# Attributes that hold the stack of layers, and those that are integers.
STACK = "layers"
COUNT = "num_hidden_layers"
# What a rule about captures assumes of a batch.
ASSUMED = {
    ".is_idle()": False,
    ".is_last_rank": True,
    ".need_capture()": True,
    "is_none(forward_batch.capture_hidden_mode)": False,
}
POSITIVE = (".shape[0]", ".numel()")
RUNS = "forward"
HANDED_ON = -1


class Run:
    """One layer that ran: where, in which iteration of which loops, and whether captured."""

    def __init__(self, world: "World", captured: bool, *, whole_stack: bool = False) -> None:
        innermost = world.loops[-1] if world.loops and not whole_stack else None
        # Layers that were handed on are captured where they run, or not at all.
        self.scope = HANDED_ON if whole_stack else innermost.token if innermost else 0
        self.first = innermost is not None and innermost.first
        self.captured = captured
        self.places: list[tuple[str, int]] = [(x.file, x.line) for x in world.loops]
        self.names: dict[str, object] = {}
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename.startswith("sglang/"):
                self.places.append((frame.f_code.co_filename, frame.f_lineno))
                self.names = {**self.names, **frame.f_locals}
            frame = frame.f_back


class Iteration:
    """One iteration of a loop that is under way."""

    def __init__(self, token: int, first: bool, file: str, line: int) -> None:
        self.token, self.first, self.file, self.line = token, first, file, line


class World:
    """One assignment of truth and integers, and what happened under it."""

    def __init__(self, seed: int, armed: dict[str, str], fixed: dict[str, int]) -> None:
        self.random = random.Random(seed)
        self.armed, self.fixed = armed, fixed
        self.truths: dict[str, bool] = {}
        self.integers: dict[str, int] = {}
        self.known: dict[str, object] = {}
        self.runs: list[Run] = []
        self.captures: list[frozenset[int]] = []
        self.loops: list[Iteration] = []
        self.tokens = 0
        self.depth = 0
        self.count = max([6, *fixed.values()])
        self.layers = Layers(Layer(self, index) for index in range(self.count))
        self.swallowed: frozenset[str] = frozenset()
        self.layer_names = ["Layer"]
        self.execute: Callable[..., object] | None = None
        self.is_collector: Callable[[str, str], bool] = lambda *_: False
        low = self.integer_of("start_layer", 0, 2)
        high = self.integer_of("end_layer", low + 1, self.count)
        self.integers.update(start_layer=low, end_layer=high)

    def integer_of(self, name: str, low: int, high: int) -> int:
        return self.fixed.get(name, self.random.randint(low, high))

    def truth(self, text: str) -> bool:
        """Is an expression true? The same text gives the same answer."""
        for ending, value in ASSUMED.items():
            if text.endswith(ending):
                return value
        if text not in self.truths:
            self.truths[text] = self.random.random() < 0.5
        return self.truths[text]

    def integer(self, text: str) -> int:
        if text.endswith(POSITIVE):
            return 3
        plain = text.replace("self.", "")
        name = plain.rpartition(".")[2]
        if name == COUNT:
            return self.count
        for key in (plain, name):
            if key in self.fixed:
                return self.fixed[key]
        if name not in ("start_layer", "end_layer"):
            name = plain
        if name not in self.integers:
            self.integers[name] = self.random.randint(0, 4)
        return self.integers[name]

    def stand(self, text: str) -> "Stand":
        found = self.known.get(text)
        if not isinstance(found, Stand):
            found = self.known[text] = Stand(self, text)
        return found

    # ---- what happens ----

    def run(self, arguments: Sequence[object], keywords: dict[str, object]) -> None:
        heard = [value for key, value in keywords.items() if key not in self.swallowed]
        if not self.depth:
            self.runs.append(Run(self, collects([*arguments, *heard])))

    def hand_off(self, captured: bool) -> None:
        if not self.depth:
            self.runs.append(Run(self, captured, whole_stack=True))

    def capture(self) -> None:
        self.captures.append(frozenset(x.token for x in self.loops) or frozenset({0}))

    def was_captured(self, run: Run) -> bool:
        return run.captured or any(run.scope in scopes for scopes in self.captures)

    def loop(self, items: object, line: int) -> Iterator[object]:
        file = sys._getframe(1).f_code.co_filename
        assert hasattr(items, "__iter__")
        for number, item in enumerate(items):
            self.tokens += 1
            self.loops.append(Iteration(self.tokens, number == 0, file, line))
            depth = len(self.loops)
            try:
                yield item
            finally:
                del self.loops[depth - 1 :]


class Stand:
    """Stands for any object; its text says which."""

    _world: World
    _text: str

    def __init__(self, world: World, text: str) -> None:
        self.__dict__.update(_world=world, _text=text)

    def _get(self, text: str) -> object:
        world = self._world
        found = world.known.get(text)
        return world.stand(text) if found is None else found

    def __getattr__(self, name: str) -> object:
        world = self._world
        text = f"{self._text}.{name}"
        if text in world.known:
            return world.known[text]
        if name in world.armed:
            return Everything(world) if world.armed[name] == "list" else True
        if name == STACK:
            return world.layers
        if name in (COUNT, "start_layer", "end_layer", "first_k_dense_replace", "num_loops"):
            return world.integer(text)
        if name.startswith("__"):
            raise AttributeError(name)
        return world.stand(text)

    def __setattr__(self, name: str, value: object) -> None:
        self._world.known[f"{self._text}.{name}"] = value

    def __delattr__(self, name: str) -> None:
        self._world.known.pop(f"{self._text}.{name}", None)

    def __call__(self, *arguments: object, **keywords: object) -> object:
        world = self._world
        given = [*arguments, *keywords.values()]
        handed = [x for x in given if isinstance(x, Layers) or holds_layers(x)]
        file = sys._getframe(1).f_code.co_filename
        if "AuxHiddenState" in self._text or world.is_collector(file, self._text):
            return Collector(world)
        if any(handed) and world.execute is not None:
            world.depth += 1
            result = world.execute(file, self._text, arguments, keywords)
            world.depth -= 1
            world.hand_off(collects(given))
            return result
        if collects(given):
            world.capture()
        shown = [str_of(x) for x in arguments] + [f"{k}={str_of(v)}" for k, v in keywords.items()]
        return world.stand(f"{self._text}({', '.join(shown)})")

    def __getitem__(self, key: object) -> object:
        return self._get(f"{self._text}[{str_of(key)}]")

    def __setitem__(self, key: object, value: object) -> None:
        self._world.known[f"{self._text}[{str_of(key)}]"] = value

    def __bool__(self) -> bool:
        return self._world.truth(self._text)

    def __index__(self) -> int:
        return self._world.integer(self._text)

    __int__ = __index__

    def __len__(self) -> int:
        return abs(self._world.integer(f"len({self._text})"))

    def __iter__(self) -> Iterator[object]:
        return iter([self[0], self[1]])

    def __contains__(self, item: object) -> bool:
        return self._world.truth(f"{str_of(item)} in {self._text}")

    def __enter__(self) -> "Stand":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __format__(self, _: str) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    __str__ = __repr__

    def __hash__(self) -> int:
        return hash(self._text)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, bool | int):
            return self._world.integer(self._text) == other
        return other is self or self._world.truth(f"{self._text} == {str_of(other)}")

    def __lt__(self, other: object) -> bool:
        return int(self) < whole(other)

    def __le__(self, other: object) -> bool:
        return int(self) <= whole(other)

    def __gt__(self, other: object) -> bool:
        return int(self) > whole(other)

    def __ge__(self, other: object) -> bool:
        return int(self) >= whole(other)


def _operator(symbol: str) -> Callable[[Stand, object], object]:
    def operate(self: Stand, other: object) -> object:
        return self._world.stand(f"({self._text} {symbol} {str_of(other)})")

    return operate


for _name, _symbol in {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "and": "&", "or": "|", "xor": "^", "pow": "**", "matmul": "@",
}.items():  # fmt: skip
    setattr(Stand, f"__{_name}__", _operator(_symbol))
    setattr(Stand, f"__r{_name}__", _operator(f"r{_symbol}"))
setattr(Stand, "__neg__", lambda self: self._world.stand(f"-{self._text}"))  # noqa: B010


class Layers(list["Layer"]):
    """The stack of layers, or a slice of it."""

    def __getitem__(self, key: object) -> object:  # type: ignore[override]
        if isinstance(key, slice):
            return Layers(list.__getitem__(self, key))
        return list.__getitem__(self, int(key))  # type: ignore[call-overload]


class Layer(Stand):
    """One layer. A call of it, or of a ``forward`` of it, runs it."""

    def __init__(self, world: World, index: int) -> None:
        super().__init__(world, f"layers[{index}]")
        self.__dict__.update(layer_id=index)

    def __getattr__(self, name: str) -> object:
        if name.startswith(RUNS):
            return self.__call__
        return super().__getattr__(name)

    def __call__(self, *arguments: object, **keywords: object) -> object:
        self._world.run(arguments, keywords)
        return self._world.stand(f"{self._text}()")

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._world.layer_names[0], (), {})


class Collector(list[object]):
    """What states are collected in: a list, or an object of a class for it."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    def append(self, item: object, **_: object) -> None:
        self.world.capture()
        super().append(item)

    def extend(self, items: object) -> None:
        self.world.capture()
        super().append(items)

    capture = append

    def slot(self, item: object) -> object:
        self.append(item)
        return item

    def finalize(self) -> object:
        return self


class Everything:
    """The indexes that a setter stored: each one was asked for."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __contains__(self, item: object) -> bool:
        return True

    def __len__(self) -> int:
        return self._world.count

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._world.count + 1))


def holds_layers(value: object) -> bool:
    return isinstance(value, list | tuple) and any(type(item) is Layer for item in value)


def collects(values: Sequence[object]) -> bool:
    """Is something to collect into among values: itself, its method, or a function over it?"""
    return any(_collects(value) for value in values)


def _collects(value: object) -> bool:
    if type(value) is Collector:
        return True
    if type(value) is MethodType:
        return type(value.__self__) is Collector
    if type(value) is FunctionType:
        return any(type(cell.cell_contents) is Collector for cell in value.__closure__ or ())
    return False


def str_of(value: object) -> str:
    if isinstance(value, slice):
        return f"{str_of(value.start)}:{str_of(value.stop)}"
    if isinstance(value, Stand):
        return value._text
    known = (int, str, float, type(None))
    return (
        repr(value) if type(value) in known or type(value) is bool else f"<{type(value).__name__}>"
    )


def whole(value: object) -> int:
    return value if isinstance(value, int) else int(value)  # type: ignore[call-overload]
