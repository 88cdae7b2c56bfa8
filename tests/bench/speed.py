"""How long whole commands take, and how much memory: a table over releases.

    python tests/bench/speed.py [VERSION ...] [--runs N] [--peer NAME='COMMAND with {tree}' ...]

Every figure is that of a whole process, start-up included; the median of the runs is printed, as
seconds and as MiB of the largest process. A peer is timed in the same loop, run by run, so that all
meet the same machine. Releases come from the cache folder of the tests. The columns: ``start`` is
``--version``; ``alone`` a scan in one process without a cache, ``cold`` one in as many as there are
processors with an empty cache, ``warm`` the next one, ``changed`` one after a comment was added to
a model file.
"""

import argparse
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.releases import WHEELS, release

PROGRAM = [sys.executable, "-m", "pathaudit"]
CHANGED = "sglang/srt/models/llama.py"

Figure = tuple[float, float]


def measure(command: list[str], cache: Path) -> Figure:
    """Seconds and peak MiB of one run; what it prints is thrown away."""
    environment = {**os.environ, "PATHAUDIT_CACHE_DIR": str(cache)}
    start = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    ) as child:
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0  # waited for above
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def one_run(tree: Path, options: list[str], peers: Mapping[str, str]) -> Iterator[Figure]:
    """The figures of each column once."""
    scan = [*PROGRAM, "scan", "--format", "json", *options, str(tree)]
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        yield measure([*PROGRAM, "--version"], cache)
        yield measure([*scan, "--no-cache", "--jobs", "1"], cache)
        yield measure(scan, cache)
        yield measure(scan, cache)
        text = (tree / CHANGED).read_bytes()
        (tree / CHANGED).write_bytes(text + b"# changed\n")
        yield measure(scan, cache)
        (tree / CHANGED).write_bytes(text)
    for command in peers.values():
        yield measure([part.format(tree=tree) for part in shlex.split(command)], cache)


def row(version: str, runs: int, options: list[str], peers: Mapping[str, str]) -> str:
    """One line of the table."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(shutil.copytree(release(version), Path(folder) / "tree"))
        lines = sum(path.read_bytes().count(b"\n") for path in tree.rglob("*.py"))
        figures = [list(one_run(tree, options, peers)) for _ in range(runs)]
    cells = [version, f"{lines:,}"]
    for column in zip(*figures, strict=True):
        seconds, memory = (statistics.median(values) for values in zip(*column, strict=True))
        cells.append(f"{seconds:.2f} {memory:4.0f}")
    return "  ".join(cell.rjust(11) for cell in cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*", default=list(WHEELS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rule", action="append", default=[])
    parser.add_argument("--peer", action="append", default=[])
    given = parser.parse_args()
    peers = dict(text.split("=", 1) for text in given.peer)
    options = [word for rule in given.rule for word in ("--rule", rule)]
    names = ["release", "lines", "start", "alone", "cold", "warm", "changed", *peers]
    sys.stdout.write("  ".join(name.rjust(11) for name in names) + "\n")
    for version in given.versions:
        sys.stdout.write(row(version, given.runs, options, peers) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
