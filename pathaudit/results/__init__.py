"""Every answer, as data; nothing here formats itself.

Field names are the names in the JSON report. Lines count from 1, columns from 0 in characters.
"""

from enum import StrEnum

from msgspec import Struct

from pathaudit.results.settings import LeftOut


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Verdict(StrEnum):
    HOLDS = "holds"
    VIOLATED = "violated"
    UNKNOWN = "unknown"


class Reach(StrEnum):
    """Can the path run at all? ``dormant``: nothing arms the feature it belongs to."""

    REACHABLE = "reachable"
    GATED = "gated"
    BLOCKED = "blocked"
    DORMANT = "dormant"


class Step(Struct, frozen=True, kw_only=True):
    """One step of a path. ``taken`` is the branch outcome, ``None`` for anything else.

    ``kind`` is ``branch``, ``loop``, ``call`` or ``event``; ``text`` is a phrase for people.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    kind: str
    text: str
    taken: bool | None = None


class Value(Struct, frozen=True):
    """One witness value: an expression of the audited code and an integer for it."""

    name: str
    value: int


class PathReport(Struct, frozen=True, kw_only=True):
    """One way to reach a site: when, over which layers, and how.

    ``condition`` is a Python expression in the fewest literals (``"always"`` without any);
    ``layers`` is a half-open range such as ``[first_k_dense_replace, end_layer)``. ``proof`` says
    why a path that is not reachable is not: what raises, and where, or which setter is missing.
    """

    condition: str
    layers: str
    witness: tuple[Value, ...]
    steps: tuple[Step, ...]
    reach: Reach = Reach.REACHABLE
    proof: str = ""


class Receiver(Struct, frozen=True, kw_only=True):
    """A class that runs the code of a finding: can it get there, and as what is it served?

    ``proof`` says why not: what raises and where, or which setter is missing.
    """

    name: str
    reach: Reach
    entries: tuple[str, ...]
    proof: str = ""


class Sibling(Struct, frozen=True, kw_only=True):
    """A place in the same function that does it right, and when it runs."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    condition: str
    text: str


class Finding(Struct, frozen=True, kw_only=True):
    """A place where a rule is broken, or where it could not be decided.

    ``verdict`` is ``violated`` or ``unknown``. The region is the statement's: a loop's header or
    the call through which the layers leave. ``condition``, ``layers``, ``witness`` and ``steps``
    are those of the first of ``paths``, ``effect`` says what happens when it bites, as far as the
    callers tell. ``features`` names the setters the finding was judged for,
    ``entries`` the served classes that reach it.
    """

    rule: str
    title: str
    severity: Severity
    verdict: Verdict
    reach: Reach
    entry: str
    symbol: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    condition: str
    layers: str
    witness: tuple[Value, ...]
    steps: tuple[Step, ...]
    paths: tuple[PathReport, ...]
    features: tuple[str, ...]
    receivers: tuple[Receiver, ...]
    entries: tuple[str, ...]
    siblings: tuple[Sibling, ...]
    controls: tuple[str, ...]
    why: str
    fix: str
    fingerprint: str
    effect: str = ""
    suppressed: str | None = None


class Site(Struct, frozen=True, kw_only=True):
    """A place that runs layers and was judged. ``evidence`` says where the event happens."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    layers: str
    verdict: Verdict
    condition: str
    evidence: tuple[str, ...]


class EntryReport(Struct, frozen=True, kw_only=True):
    """What one rule says of one method under audit, for all classes that share it.

    ``entry`` is ``Class.method`` where it is defined; ``receivers`` are the classes that run it,
    ``architectures`` the served classes that reach it.
    """

    rule: str
    entry: str
    file: str
    line: int
    verdict: Verdict
    reach: Reach
    receivers: tuple[str, ...]
    architectures: tuple[str, ...]
    features: tuple[str, ...]
    sites: tuple[Site, ...]


class Gap(Struct, frozen=True, kw_only=True):
    """Something that was not analysed.

    ``kind`` is ``file``, ``budget``, ``call``, ``profile`` or ``feature``.
    """

    kind: str
    file: str
    line: int
    message: str
    entries: tuple[str, ...] = ()


class Source(Struct, frozen=True, kw_only=True):
    label: str
    version: str | None


class Summary(Struct, frozen=True, kw_only=True):
    """Counts. ``sites`` are layer-running sites judged; findings by what they are."""

    files: int
    entries: int
    sites: int
    holds: int
    violated: int
    unknown: int
    errors: int
    warnings: int
    notes: int
    suppressed: int
    gaps: int


class Known(Struct, frozen=True, kw_only=True):
    """An entry of a baseline: a finding that is accepted as long as it gets no worse.

    ``reason`` is written by people, and says why. There is no line in it, so that it changes only
    when the finding does.
    """

    rule: str
    file: str
    symbol: str
    severity: Severity
    message: str
    fingerprint: str
    layers: str = ""
    verdict: Verdict = Verdict.VIOLATED
    reach: Reach = Reach.REACHABLE
    reason: str = ""


class BaselineUse(Struct, frozen=True, kw_only=True):
    """What a baseline did: fingerprints of the findings it accepts, of those that got worse than
    it says and so are not accepted, and the entries that no longer occur."""

    file: str
    accepted: tuple[str, ...]
    worse: tuple[str, ...]
    unused: tuple[Known, ...]


class Report(Struct, frozen=True, kw_only=True):
    """The answer of a scan, in a fixed order: by file, line, rule.

    With ``files`` it tells only of what depends on one of them. ``inert`` are the rules that found
    nothing in the tree to look at: that they report nothing says nothing. ``left_out`` counts what
    is in files that the user's settings exclude, if they do.
    """

    tool: str
    source: Source
    rules: tuple[str, ...]
    findings: tuple[Finding, ...]
    entries: tuple[EntryReport, ...]
    gaps: tuple[Gap, ...]
    summary: Summary
    files: tuple[str, ...] = ()
    inert: tuple[str, ...] = ()
    baseline: BaselineUse | None = None
    left_out: LeftOut | None = None
    schema: int = 1


class Excerpt(Struct, frozen=True, kw_only=True):
    """Source lines of a file that a reporter may show: line number to text without line end."""

    file: str
    lines: dict[int, str]


def fails(finding: Finding, fail_on: Severity, *, strict: bool = False) -> bool:
    """Does this finding make the run fail? Only reachable, unsuppressed ones do."""
    if finding.suppressed is not None or finding.reach is not Reach.REACHABLE:
        return False
    if finding.verdict is Verdict.UNKNOWN:
        return strict
    order = (Severity.ERROR, Severity.WARNING, Severity.NOTE)
    return order.index(finding.severity) <= order.index(fail_on)


# ---- the call graph of forward branches -------------------------------------------------------


class GraphNode(Struct, frozen=True, kw_only=True):
    """A function, or something inside one.

    ``kind`` is ``function``, ``arm`` (one outcome of an ``if``), ``loop``, ``run`` (a layer, or
    what was made of layers, is called), ``handoff`` (``detail`` tells whether one layer or more go
    to the callee ``label``), ``capture`` or ``call`` (a callee that is not shown).

    ``mark`` is what the rule says of it: ``captures``, ``bypass``, ``unknown``, a reach such as
    ``blocked``, or ``excluded`` where its assumptions do not lead. An arm that is not taken with
    what its function is given has ``never``, anything else nothing. Of a place that was judged,
    ``layers`` is the range that runs there, ``condition`` says when the rule is broken,
    ``evidence`` where the event happens, and ``proof`` why the place cannot be reached.
    """

    id: str
    kind: str
    label: str
    file: str
    line: int
    mark: str = ""
    detail: str = ""
    layers: str = ""
    condition: str = ""
    evidence: tuple[str, ...] = ()
    proof: str = ""


class GraphEdge(Struct, frozen=True, kw_only=True):
    """``target`` stands inside ``source`` or is called by it.

    ``resolution`` of a call is ``exact``, ``hierarchy`` (one of several classes), ``external`` or
    ``unknown``; nothing where no call is made. ``line`` is that of the call site.
    """

    source: str
    target: str
    resolution: str = ""
    line: int = 0


class GraphView(Struct, frozen=True, kw_only=True):
    """The call graph of one entry, its root first; edges of a node are in source order.

    ``resolutions`` counts all call sites of the functions shown, also those to callees left out.
    """

    entry: str
    source: Source
    rule: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    resolutions: dict[str, int]
    schema: int = 1
