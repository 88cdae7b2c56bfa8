"""What a target is, as data: statements of functions, and what is asked of them together."""

from msgspec import Struct

from pathaudit.index import FunctionRef


class Spot(Struct, frozen=True, order=True):
    """A function of the tree, or statements in it by the line and column where they begin.

    Without ``statements`` it is the function itself: that it is entered.
    """

    ref: FunctionRef
    statements: tuple[tuple[int, int], ...] = ()


class Part(Struct, frozen=True):
    """One thing to answer for: any of its ``spots`` will do.

    ``file``, ``line`` and ``text`` are what people see of it, ``symbol`` is the function it stands
    in. ``within`` is the line of another part around it, 0 where there is none: whether that runs
    is told there.
    """

    file: str
    line: int
    last: int
    symbol: str
    text: str
    spots: tuple[Spot, ...]
    within: int = 0
    fault: str = ""
