"""Where hooks on modules fire; data only. Field names are those in the JSON."""

from msgspec import Struct

from pathaudit.results import Gap, Source


class HookPlace(Struct, frozen=True, kw_only=True):
    """A place that runs or uses a module.

    ``how`` is ``called``, ``forward`` (its forward is called directly), ``method`` (another method
    does the work, or a step of it), ``recipe`` (methods listed there are run later), ``fused`` (its
    weights are read, its call is not made), ``handed`` (given to what cannot be followed) or
    ``raises`` (given to what refuses its class). ``within`` is the function there, ``when`` the
    tests around it in that function, ``layers`` the range that runs, ``via`` the place that leads
    there.
    """

    how: str
    file: str
    line: int
    end_line: int
    within: str
    text: str
    when: tuple[str, ...] = ()
    layers: str = ""
    via: str = ""


class HookCell(Struct, frozen=True, kw_only=True):
    """What becomes of three kinds of hook on one module and one variant of the forward.

    ``registered`` is a hook of ``register_forward_hook``, ``patched`` a replaced ``forward`` of the
    object or its class, ``around`` a context manager around the forward of the served class. Each
    is ``fires``, ``no``, ``partly`` (some places), ``not run`` or ``unknown``. ``answer`` sums up:
    those, or ``patch only``, ``hook only``, ``replay`` (no Python runs, recorded tensors do) or
    ``raises``.
    ``open`` says that other places may run it besides.
    """

    variant: str
    answer: str
    registered: str
    patched: str
    around: str
    places: tuple[HookPlace, ...]
    open: bool = False


class HookModule(Struct, frozen=True, kw_only=True):
    """A module by its path from the served class, ``*`` for any layer, and one of its classes.

    ``file`` and ``line`` are those of the call that makes it; ``holder`` is the class of the object
    that holds it, which may be one of several, too.
    """

    path: str
    name: str
    holder: str
    name_file: str
    file: str
    line: int
    end_line: int
    cells: tuple[HookCell, ...]


class HookVariant(Struct, frozen=True, kw_only=True):
    """A way to run the forward; ``place`` is the code that shows that there is one.

    What it ``replays`` was recorded, so that no Python runs there: ``whole`` or, of what holds the
    layers, only ``layers``.
    """

    name: str
    title: str
    short: str
    replays: str = ""
    place: str = ""


class HookGroup(Struct, frozen=True, kw_only=True):
    """Served classes with the same answer. ``alike`` are variants that run what forward runs."""

    entries: tuple[str, ...]
    file: str
    line: int
    variants: tuple[HookVariant, ...]
    modules: tuple[HookModule, ...]
    alike: tuple[str, ...] = ()


class HooksReport(Struct, frozen=True, kw_only=True):
    """The answer of ``hooks``; ``answer`` says it in a sentence.

    ``void`` are variants whose code is not in the tree as it is known: nothing is said of them.
    """

    tool: str
    answer: str
    source: Source
    request: str
    groups: tuple[HookGroup, ...]
    void: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()
    schema: int = 1
