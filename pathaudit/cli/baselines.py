"""Known findings on the command line: read before the work, written after it."""

import os
from typing import TYPE_CHECKING, TextIO

from pathaudit.cli.output import write_report

if TYPE_CHECKING:
    from pathaudit.baseline import Baseline
    from pathaudit.results import Report
    from pathaudit.sources import SourceTree


class Baselines:
    """The baselines of one scan: ``file`` to accept by, ``target`` to write.

    Raises ``UsageError`` for a file that cannot be read or is none, before the work begins.
    """

    def __init__(self, file: str | None, target: str | None) -> None:
        self._target = target
        self._file = file or (target if target is not None and os.path.exists(target) else None)
        self._known = _read(self._file)

    def use(self, report: "Report", tree: "SourceTree", *, whole: bool) -> "Report":
        """Accept what is known; write the new baseline first, whose findings are known then."""
        if self._known is None and self._target is None:
            return report
        from pathaudit.baseline import Baseline, apply_baseline, baseline_text, make_baseline

        known, target = self._known or Baseline(), self._target
        if target is not None:
            known = make_baseline(report, known, tree, whole=whole)
            text = baseline_text(known, target)

            def render(out: TextIO) -> None:
                out.write(text)

            write_report(target, render)
        file = target or self._file or ""
        return apply_baseline(report, known, tree, file=file, whole=whole)


def _read(file: str | None) -> "Baseline | None":
    if file is None:
        return None
    from pathaudit.baseline import read_baseline

    return read_baseline(file)
