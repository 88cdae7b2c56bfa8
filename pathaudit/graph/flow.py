"""What is found out about layers: which functions get them, or get what was made of them."""

from enum import IntEnum

from msgspec import Struct

from pathaudit.graph.entry import Entry
from pathaudit.index import FunctionRef, Index, Instance

MAXIMUM_FUNCTIONS = 200


class Origin(IntEnum):
    """Is a value a layer or several, or made of them?"""

    NEITHER = 0
    MADE = 1
    LAYER = 2
    LAYERS = 3

    @property
    def is_layers(self) -> bool:
        return self >= Origin.LAYER

    @property
    def item(self) -> "Origin":
        """What is in it."""
        return min(self, Origin.LAYER)

    @property
    def listed(self) -> "Origin":
        """What a list of it is."""
        return Origin.LAYERS if self.is_layers else self


class Literal(Struct, frozen=True):
    """A literal argument; its type tells ``True`` from ``1``."""

    type: str
    value: object


class Given(Struct, frozen=True):
    """A call that gives layers, or something made of them, to a function of the tree."""

    line: int
    text: str
    origin: Origin


class Known(Struct, eq=False):
    """What is known of a function: what it is given, holds, returns and does with it.

    ``literals`` are by parameter, nothing among them for another argument. ``runs`` are callees
    that were made of layers, by line.
    """

    given: dict[str, Origin]
    literals: dict[str, set[Literal | None]]
    names: dict[str, Origin]
    calls: dict[FunctionRef, Given]
    runs: dict[int, str]
    returns: Origin = Origin.NEITHER


class Flow:
    """Follows layers from the functions that name them; ``functions`` are all that have some."""

    def __init__(self, index: Index, entry: Entry) -> None:
        self.functions: dict[FunctionRef, Known] = {}
        self.names: set[str] = set()
        self.fields: set[str] = set()
        self.index = index
        self.entry = entry
        self.changed = False

    def known(self, ref: FunctionRef) -> Known | None:
        """What is known of a function so far; nothing of one that cannot be followed."""
        if ref not in self.functions:
            if len(self.functions) >= MAXIMUM_FUNCTIONS or not self.index.modules.function(ref):
                return None
            self.functions[ref] = Known({}, {}, {}, {}, {})
            self.names.add(ref.qualname.rpartition(".")[2])
            self.changed = True
        return self.functions[ref]

    def keep(self, field: str) -> None:
        """Something made of layers is kept in attributes of this name."""
        self.changed = self.changed or field not in self.fields
        self.fields.add(field)

    def is_method(self, chain: tuple[str, ...]) -> bool:
        """Does ``layer.<chain>`` name a method: of the layer, or of a module in it?"""
        layers = [Instance(cls) for cls in sorted(self.entry.layers)]
        held = self.index.types.along(layers, chain[:-1])
        return any(self.index.modules.method(item.cls, chain[-1]) for item in held)
