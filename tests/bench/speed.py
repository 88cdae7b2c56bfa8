"""How long a whole cold scan takes, and how much memory: a table over releases.

    python tests/bench/speed.py [VERSION ...] [--runs N] [--peer 'COMMAND with {tree}']

Every figure is that of a whole process, start-up included; the median of the runs is printed. A
peer is timed in the same loop, run by run, so that both meet the same machine. Releases come from
the cache folder of the tests.
"""

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.releases import WHEELS, release

SCAN = [sys.executable, "-m", "pathaudit", "scan", "--format", "json"]


def measure(command: list[str]) -> tuple[float, float]:
    """Seconds and peak MiB of one run; what it prints is thrown away."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0  # waited for above
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def row(version: str, runs: int, peer: str | None) -> str:
    """One line of the table."""
    tree = release(version)
    lines = sum(path.read_bytes().count(b"\n") for path in tree.rglob("*.py"))
    commands = [[*SCAN, str(tree)]]
    if peer:
        commands.append([part.format(tree=tree) for part in shlex.split(peer)])
    figures: list[list[tuple[float, float]]] = [[] for _ in commands]
    for _ in range(runs):
        for number, command in enumerate(commands):
            figures[number].append(measure(command))
    cells = [version, f"{lines:,}"]
    for found in figures:
        seconds = statistics.median(item[0] for item in found)
        memory = statistics.median(item[1] for item in found)
        cells += [f"{seconds:.2f}", f"{memory:.0f}"]
    return "  ".join(cell.rjust(10) for cell in cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*", default=list(WHEELS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peer")
    options = parser.parse_args()
    names = [
        "release",
        "lines",
        "seconds",
        "MiB",
        *(["peer s", "peer MiB"] if options.peer else []),
    ]
    sys.stdout.write("  ".join(name.rjust(10) for name in names) + "\n")
    for version in options.versions:
        sys.stdout.write(row(version, options.runs, options.peer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
