"""How a framework is started, as data: where its arguments are declared, and what they select."""

from msgspec import Struct

Scalar = bool | int | float | str | None


class Anchored(Struct, frozen=True, forbid_unknown_fields=True):
    """Code that must be there for a fact to hold: ``text`` in one of ``files`` (globs)."""

    files: tuple[str, ...]
    text: str


class Reading(Struct, frozen=True, forbid_unknown_fields=True):
    """What the first of ``fields`` that has a value must be.

    It is one of ``equals``, none of ``differs``, or a number greater than ``above``.
    """

    fields: tuple[str, ...]
    equals: tuple[Scalar, ...] = ()
    differs: tuple[Scalar, ...] = ()
    above: int | None = None


class Control(Struct, frozen=True, forbid_unknown_fields=True):
    """A variant of the forward that runs only where all of ``needs`` holds.

    ``predicates`` are globs of the tests in the code that are true only then, ``mentions`` words
    one of which stands in the code of every model that has this variant. ``method`` is the
    entry method that only this variant calls. ``selects`` is false for what selects no path of a
    forward, and is told because its name is taken for something that does.
    """

    name: str
    title: str
    needs: tuple[Reading, ...]
    remark: str = ""
    predicates: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    method: str = ""
    selects: bool = True
    anchor: Anchored | None = None


class Exclusion(Struct, frozen=True, forbid_unknown_fields=True):
    """With all of ``needs`` the server refuses to start; void where the anchor is gone."""

    needs: tuple[Reading, ...]
    says: str
    anchor: Anchored


class Algorithm(Struct, frozen=True, forbid_unknown_fields=True):
    """How a speculative algorithm asks for hidden states.

    ``drafts`` are globs of the draft's architecture, ``ids`` the fields of its configuration that
    hold layer ids, ``switch`` the field that turns the capture off where ``switch_anchor`` is.
    ``ignored`` are fields that look like ids, and are not read. ``fallback`` is a function of the
    framework that selects ids where the draft names none, ``refuses`` that there must be some.
    """

    names: tuple[str, ...]
    setter: str
    drafts: tuple[str, ...]
    ids: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    switch: str = ""
    switch_anchor: Anchored | None = None
    fallback: str = ""
    fallback_files: tuple[str, ...] = ()


class Outcome(Struct, frozen=True, forbid_unknown_fields=True):
    """What happens to states that are missing, where the code of ``anchor`` handles them.

    ``missing`` says of how many: ``any``, ``all`` or ``some``. ``used`` is a text that the model
    file must hold for it. ``fits`` tells that it comes only where the widths happen to fit,
    ``algorithms`` of which drafts it is said, if not of all.
    """

    missing: str
    says: str
    anchor: Anchored
    used: str = ""
    fits: bool = False
    algorithms: tuple[str, ...] = ()


class Serving(Struct, frozen=True, forbid_unknown_fields=True):
    """How a server is started and what it says of its arguments.

    ``name`` is the word that stands wherever a version is told. ``record`` is the class of the
    arguments, declared in files under ``arguments``, ``statement`` the name under which a log
    prints them. ``launchers`` are regular expressions of what starts a server, ``calls`` the
    classes that start one from Python. ``environment`` are globs of variables that matter,
    ``secrets`` of names whose values are never shown. ``versions`` are expressions whose first
    group is a version. ``aliases`` and ``defaults`` speak for a server whose source is not at
    hand; ``defaults`` held in all releases from ``since`` on. ``stage`` is the function that gives
    the layers of a pipeline stage, and ``partition`` the variable that overrides it.
    """

    name: str = ""
    record: str = ""
    statement: str = ""
    arguments: tuple[str, ...] = ()
    launchers: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    aliases: dict[str, str] = {}
    defaults: dict[str, Scalar] = {}
    since: str = ""
    shown: tuple[str, ...] = ()
    text_configs: tuple[str, ...] = ()
    layer_count: str = "num_hidden_layers"
    partition: str = ""
    stage: str = ""
    stage_files: tuple[str, ...] = ()
    controls: tuple[Control, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()
    algorithms: tuple[Algorithm, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
