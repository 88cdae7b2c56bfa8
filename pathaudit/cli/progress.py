"""Shows on a terminal how far a long analysis has come."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from pathaudit.audit import Means

_PATIENCE = 1.0  # seconds of work before anything is shown


class Meter:
    """Counts units of work; draws a bar on the standard error once it takes long.

    Nothing runs beside the work: the bar is drawn anew when a unit is done.
    """

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._drawn: Progress | None = None
        self._task: TaskID | None = None

    def tell(self, done: int, asked: int) -> None:
        """Say how many of how many units are done."""
        if self._drawn is None:
            if time.monotonic() - self._started < _PATIENCE:
                return
            self._draw()
        if self._drawn is not None and self._task is not None:
            self._drawn.update(self._task, completed=done, total=asked)
            self._drawn.refresh()

    def _draw(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (TextColumn("auditing"), BarColumn(), MofNCompleteColumn())
        console = Console(stderr=True)
        self._drawn = Progress(*columns, console=console, transient=True, auto_refresh=False)
        self._task = self._drawn.add_task("", total=None)
        self._drawn.start()

    def erase(self) -> None:
        """Take the bar away."""
        if self._drawn is not None:
            self._drawn.stop()


@contextmanager
def means_of_work(*, jobs: int | None, cached: bool, quiet: bool) -> "Iterator[Means]":
    """How to work: with a bar on a terminal, and the cache; what is wrong with that is a warning.

    Without a number of ``jobs``, as many as there are processors.
    """
    import gc
    import os

    from pathaudit.audit import Means

    gc.disable()
    from pathaudit.cache import open_cache

    cache = open_cache() if cached else None
    shown = not quiet and sys.stderr is not None and sys.stderr.isatty()
    meter = Meter()
    try:
        yield Means(jobs or os.cpu_count() or 1, cache, meter.tell if shown else None)
    finally:
        gc.freeze()  # to look at all of it once more takes longer than a warm scan
        gc.enable()
        meter.erase()
        if cache is not None:
            cache.close()
            if cache.fault:
                _warn(f"nothing is kept for the next scan: {cache.path}: {cache.fault}")


def _warn(text: str) -> None:
    import click

    from pathaudit.reporters.escaping import visible

    click.echo(f"pathaudit: warning: {visible(text)}", err=True)
