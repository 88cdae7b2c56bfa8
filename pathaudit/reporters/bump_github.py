"""What a change of dependencies brings, as workflow commands: annotations at the pins."""

from typing import TextIO

from pathaudit.reporters.bumps import counts_of, errors_text, summary_of
from pathaudit.reporters.github import write_annotations
from pathaudit.reporters.pinned import as_report
from pathaudit.reporters.terminal import GLUE
from pathaudit.results.bumps import BumpReport


def render(report: BumpReport, out: TextIO) -> None:
    """Write the report to ``out``: the worst findings as commands, then the rest as lines."""
    shown = as_report(report)
    told = "; ".join(filter(None, (errors_text(report), counts_of(report, None))))
    last = f"pathaudit: {summary_of(report)[1]}: {told}".replace(GLUE, " ")
    write_annotations(shown.findings, shown.gaps, last, out)
