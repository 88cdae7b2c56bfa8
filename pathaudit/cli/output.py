"""Where a report goes: the standard output, or a file that appears only when it is whole."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TextIO

from pathaudit.errors import UsageError

Color = Literal["auto", "always", "never"]
Render = Callable[[TextIO], None]

PLAIN_WIDTH = 80


def check_output(target: str) -> None:
    """Refuse a file that could not be written, before the work that its report takes.

    Raises ``UsageError`` for a folder, and for a file in a folder that is not there.
    """
    folder = os.path.dirname(target) or os.curdir
    if not target or os.path.isdir(target):
        raise UsageError(f"{target or repr(target)}: is no file name", "name the file to write")
    if not os.path.isdir(folder):
        raise UsageError(f"{target}: there is no folder {folder}", "create it first")


def write_report(target: str | None, render: Render) -> None:
    """Let ``render`` write to a file, or without a target to the standard output.

    Raises ``UsageError`` if that fails; a file that was there before is then untouched.
    """
    try:
        if target is None:
            _write_stdout(render)
        elif os.path.exists(target) and not os.path.isfile(target):
            _write_device(Path(target), render)
        else:
            _write_file(Path(os.path.realpath(target)), render)
    except OSError as error:
        where = "standard output" if target is None else target
        raise UsageError(f"{where}: cannot be written: {error.strerror}") from error


def write_text(target: str, text: str) -> None:
    """Write a file, whole or not at all; raises as ``write_report``."""

    def render(out: TextIO) -> None:
        out.write(text)

    write_report(target, render)


def _write_stdout(render: Render) -> None:
    if sys.stdout is None:
        return  # closed by whoever started us, and only wants the exit status
    try:
        render(sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_stdout()  # the reader has seen enough, and the answer is the same
    except OSError:
        _drop_stdout()
        raise


def _drop_stdout() -> None:
    """Send what is still buffered nowhere, or the interpreter complains of it when it exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _write_device(path: Path, render: Render) -> None:
    """A device or a pipe is written to; to replace it with a file would destroy it."""
    with path.open("w", encoding="utf-8", newline="\n") as out:
        render(out)


def _write_file(path: Path, render: Render) -> None:
    part = path.with_name(f".pathaudit-{os.getpid()}.part")
    try:
        with part.open("x", encoding="utf-8", newline="\n") as out:
            render(out)
        if os.path.exists(path):
            shutil.copymode(path, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def columns(out: TextIO) -> int:
    """Return the width to write in: ``COLUMNS``, or the terminal's, or 80 for all else."""
    fallback = (PLAIN_WIDTH, 0)
    if out.isatty() or os.environ.get("COLUMNS"):
        return shutil.get_terminal_size(fallback).columns
    return PLAIN_WIDTH


def wants_color(choice: Color, out: TextIO) -> bool:
    """Decide whether to paint: an explicit choice wins, ``NO_COLOR`` and a file mean no."""
    if choice != "auto":
        return choice == "always"
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return out.isatty() and not plain
