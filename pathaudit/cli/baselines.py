"""Known findings on the command line: read before the work, written after it."""

import os
from functools import wraps
from typing import TYPE_CHECKING, TextIO, cast

import click

from pathaudit.cli.options import Command
from pathaudit.cli.output import check_output, write_report

if TYPE_CHECKING:
    from pathaudit.baseline import Baseline
    from pathaudit.results import Report
    from pathaudit.ruleset import Policy
    from pathaudit.sources import SourceTree


class Baselines:
    """The baselines of one scan: ``file`` to accept by, ``target`` to write."""

    def __init__(self, file: str | None, target: str | None) -> None:
        self._target = target
        self._file = file
        self._known: Baseline | None = None

    def read(self) -> None:
        """Read what is known, before the work begins.

        UsageError for a file that cannot be read or is no baseline, or that could not be written.
        """
        if self._target is not None:
            check_output(self._target)
            if self._file is None and os.path.exists(self._target):
                self._file = self._target
        if self._file is not None:
            from pathaudit.baseline import read_baseline

            self._known = read_baseline(self._file)

    def use(
        self, report: "Report", tree: "SourceTree", *, whole: bool, policy: "Policy"
    ) -> "Report":
        """Accept what is known; write the new baseline first, whose findings are known then.

        What it says of files that the policy excludes is left as it is.
        """
        if self._known is None and self._target is None:
            return report
        from pathaudit.baseline import Baseline, apply_baseline, baseline_text, make_baseline
        from pathaudit.policy import excluded_by

        spared = excluded_by(policy)
        known, target = self._known or Baseline(), self._target
        if target is not None:
            known = make_baseline(report, known, tree, whole=whole, spared=spared)
            text = baseline_text(known, target)

            def render(out: TextIO) -> None:
                out.write(text)

            write_report(target, render)
        file = target or self._file or ""
        return apply_baseline(report, known, tree, file=file, whole=whole, spared=spared)


def baseline_options(command: Command) -> Command:
    """``--baseline`` and ``--write-baseline``, for a command that scans: one ``known``."""

    @wraps(command)
    def gathered(
        *given: object, baseline: str | None, write_baseline: str | None, **others: object
    ) -> None:
        command(*given, known=Baselines(baseline or None, write_baseline), **others)

    file = click.option(
        "--baseline",
        metavar="FILE",
        help="Findings in this file are known and do not fail the run.",
    )
    target = click.option(
        "--write-baseline",
        metavar="FILE",
        help="Write what is found to a baseline, with the reasons already there.",
    )
    return cast(Command, file(target(gathered)))
