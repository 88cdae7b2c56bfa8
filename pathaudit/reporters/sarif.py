"""Findings as SARIF 2.1.0, for code scanning, editors and whatever else reads that standard.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/sarif-v2.1.0-errata01-os-complete.html
"""

from collections.abc import Iterable, Sequence
from typing import TextIO

import msgspec
from msgspec import Struct

from pathaudit.reporters.escaping import visible
from pathaudit.reporters.json import document
from pathaudit.reporters.phrases import Locate, by_urgency, counted, here
from pathaudit.reporters.sarif_model import (
    BASE,
    ArtifactLocation,
    Automation,
    Configuration,
    Descriptor,
    Driver,
    Invocation,
    Location,
    Log,
    Message,
    Notification,
    Reference,
    Region,
    Run,
    RunProperties,
    Tool,
    message,
)
from pathaudit.reporters.sarif_results import Telling, located, result_of
from pathaudit.results import Finding, Gap, Known, Report, Severity, Source
from pathaudit.results.rules import RuleDoc
from pathaudit.results.versions import ReportDiff

RESULTS = 25_000  # GitHub refuses a file with more
_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_PROBLEMS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "recommendation"}
_UNUSED = "baseline"
_CUT = "cut"
_NOTES = {
    "file": "A file was not read, or not to its end.",
    "budget": "A method has more states than the budget allows.",
    "call": "A call could not be looked up.",
    "profile": "Something that is known of the framework is not in this tree.",
    "feature": "A feature is switched on in an object of no known class.",
    _UNUSED: "An entry of the baseline no longer occurs.",
    _CUT: "There are more findings than a file may have.",
    "pin": "A version that a pin names could not be had, or pins disagree.",
}


class _Note(Struct, frozen=True):
    """What is said beside the findings, of a place if there is a file."""

    kind: str
    text: str
    level: str = "warning"
    file: str = ""
    line: int = 0


def render(
    report: Report,
    out: TextIO,
    *,
    docs: Sequence[RuleDoc] = (),
    locate: Locate = here,
    command: str = "scan",
) -> None:
    """Write the report to ``out``: ASCII, and the same bytes for the same report.

    Of one ``command``, the last report that was uploaded to GitHub holds there.

    ``docs`` are the rules that were checked, also those that found nothing. ``locate`` gives the
    path of a file of the tree from the root of the reader's repository.
    """
    rules = _rules(docs, report.findings)
    notes = [_of_gap(gap) for gap in report.gaps]
    notes += [_of_unused(entry) for entry in report.baseline.unused] if report.baseline else []
    summary: dict[str, int] = msgspec.to_builtins(report.summary)
    properties = RunProperties(
        source=_source(report.source),
        summary=summary,
        inert=report.inert,
        left_out=report.left_out,
    )
    telling = Telling(_indexed(rules), locate, report.baseline)
    _write(_run(command, report.tool, rules, report.findings, notes, telling, properties), out)


def render_diff(
    diff: ReportDiff, out: TextIO, *, docs: Sequence[RuleDoc] = (), locate: Locate = here
) -> None:
    """Write to ``out`` the findings of the new version that are ``new`` or ``updated`` in it."""
    added = {x.finding.fingerprint: x.finding for x in diff.added}
    changed = {x.new.fingerprint: x.new for x in diff.changed}
    states = dict.fromkeys(changed, "updated") | dict.fromkeys(added, "new")
    findings = [x.finding for x in diff.added] + [x.new for x in diff.changed]
    findings.sort(key=lambda x: (x.file, x.line, x.column, x.rule, x.entry))
    rules = _rules(docs, findings)
    summary: dict[str, int] = msgspec.to_builtins(diff.summary)
    properties = RunProperties(
        source=_source(diff.new),
        old=_source(diff.old),
        summary=summary,
        left_out=diff.left_out,
    )
    telling = Telling(_indexed(rules), locate, None, states)
    _write(_run("diff", diff.tool, rules, findings, [], telling, properties), out)


def _write(run: Run, out: TextIO) -> None:
    fields: dict[str, object] = msgspec.to_builtins(
        Log(schema=_SCHEMA, version="2.1.0", runs=(run,))
    )
    out.write(document(fields))


def _run(
    command: str,
    tool: str,
    rules: Sequence[Descriptor],
    findings: Sequence[Finding],
    notes: list[_Note],
    telling: Telling,
    properties: RunProperties,
) -> Run:
    left = len(findings) - RESULTS
    if left > 0:
        worst = {id(finding) for finding in by_urgency(findings)[:RESULTS]}
        findings = [finding for finding in findings if id(finding) in worst]
        notes = [*notes, _Note(_CUT, f"{counted(left, 'finding')} left out, the mildest ones.")]
    name, _, version = tool.partition(" ")
    driver = Driver(
        name=name,
        semantic_version=version,
        rules=tuple(rules),
        notifications=tuple(_kind(kind) for kind in _NOTES),
    )
    root = Message(text="The root of the repository, or of the tree that was read.")
    return Run(
        tool=Tool(driver=driver),
        automation_details=Automation(id=f"{name}/{command}/"),
        column_kind="unicodeCodePoints",
        original_uri_base_ids={BASE: ArtifactLocation(description=root)},
        invocations=(
            Invocation(
                execution_successful=True,
                tool_execution_notifications=tuple(_notification(x, telling) for x in notes),
            ),
        ),
        results=tuple(result_of(finding, telling) for finding in findings),
        properties=properties,
    )


def _source(source: Source) -> dict[str, str]:
    version = {"version": source.version} if source.version else {}
    return {"label": source.label, **version}


# ---- rules --------------------------------------------------------------------------------------


def _rules(docs: Sequence[RuleDoc], findings: Iterable[Finding]) -> list[Descriptor]:
    """The rules by their ids; one that nothing is known of is told by its first finding."""
    told = {doc.id: doc for doc in docs}
    for finding in findings:
        if finding.rule not in told:
            told[finding.rule] = RuleDoc(
                id=finding.rule,
                title=finding.title,
                severity=finding.severity,
                why=finding.why,
                fix=finding.fix,
            )
    return [_descriptor(told[name]) for name in sorted(told)]


def _indexed(rules: Sequence[Descriptor]) -> dict[str, int]:
    return {rule.id: index for index, rule in enumerate(rules)}


def _descriptor(doc: RuleDoc) -> Descriptor:
    why, fix = _folded(doc.why), _folded(doc.fix)
    text = " ".join(filter(None, (why, fix and f"Use instead: {fix}"))) or _sentence(doc.title)
    markdown = _braced("".join(_line(line) for line in doc.page.splitlines(keepends=True)))
    return Descriptor(
        id=doc.id,
        name="".join(part.capitalize() for part in doc.id.split("-")),
        short_description=message(_sentence(doc.title)),
        full_description=message(why or _sentence(doc.title)),
        help=msgspec.structs.replace(message(text), markdown=markdown),
        default_configuration=Configuration(level=doc.severity.value),
        properties={"tags": ("correctness",), "problem.severity": _PROBLEMS[doc.severity]},
    )


def _folded(text: str) -> str:
    return " ".join(text.split())


def _sentence(text: str) -> str:
    folded = _folded(text)
    return f"{folded[:1].upper()}{folded[1:].rstrip('.')}."


def _line(line: str) -> str:
    """A line of a page: its end is the only control character that is kept."""
    content = line.rstrip("\r\n")
    return visible(content) + "\n" * (content != line)


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


# ---- notifications ------------------------------------------------------------------------------


def _kind(kind: str) -> Descriptor:
    return Descriptor(id=kind, short_description=Message(text=_NOTES[kind]))


def _of_gap(gap: Gap) -> _Note:
    entries = f"; leaves {', '.join(gap.entries)} unknown" if gap.entries else ""
    return _Note(gap.kind, f"{gap.message}{entries}.", file=gap.file, line=gap.line)


def _of_unused(entry: Known) -> _Note:
    text = f"{entry.rule} in {entry.symbol or entry.file}: {entry.message}."
    return _Note(_UNUSED, text, level="note")


def _notification(note: _Note, telling: Telling) -> Notification:
    kinds = list(_NOTES)
    region = Region(start_line=note.line) if note.line > 0 else None
    place = located(note.file, telling.locate, region) if note.file else None
    return Notification(
        descriptor=Reference(
            id=note.kind, index=kinds.index(note.kind) if note.kind in kinds else -1
        ),
        level=note.level,
        message=message(note.text),
        locations=(Location(physical_location=place),) if place else (),
    )
