"""Score ``gates`` against hand labels.

Run as ``python -m tests.releases.gates_score LABELS [VERSION...]``.

A row passes when each ``primary`` is named, nothing of ``must_not_include`` is, and the chain
shows the first hop, the declaration and the flag of the label.
"""

import json
import re
import sys
import time
from pathlib import Path

from pathaudit.cli.options import load_rules
from pathaudit.decisions import GateAnswer
from pathaudit.errors import PathAuditError
from pathaudit.gates import find_gates
from pathaudit.sources import open_source
from pathaudit.work import Work
from tests.releases import release

Row = dict[str, object]


def ask(work: Work, row: Row) -> tuple[GateAnswer, ...]:
    """The answers for the condition of a row, at the place that the row names."""
    condition = str(row["condition"])
    if condition.startswith("entry: "):
        return find_gates(work, str(row["function"]).split(" ")[0]).answers
    text = re.sub(r" \([^()]*\)$", "", condition) if condition.count(" (") else condition
    for within in (f"{row['file']}:{row['line']}", str(row["file"]), ""):
        try:
            return find_gates(work, text, within=within).answers
        except PathAuditError:
            continue
    return ()


def faults(row: Row, answers: tuple[GateAnswer, ...]) -> list[str]:
    """What is wrong with the answers of a row."""
    controls = [x for answer in answers for x in answer.controls]
    names = {f"{x.kind}:{x.name}" for x in controls}
    shown = {f"{h.file}:{h.line}" for x in controls for h in x.chain}
    found = [f"misses {x}" for x in _primary(row) if not _named(x, names)]
    found += [f"names {x}" for x in _list(row, "must_not_include") if f"flag:{x}" in names]
    places = dict(zip(_list(row, "hops"), _list(row, "chain"), strict=False))
    wanted = [_list(row, "chain")[0]]
    if any(x.startswith("flag:") for x in _primary(row)):
        kinds = ("dataclass-field", "struct-field", "argparse-flag", "derived-argparse")
        wanted += [places[x] for x in kinds if x in places]
    return found + [f"does not show {x}" for x in wanted if x not in shown]


def _primary(row: Row) -> list[str]:
    return _list(row, "primary")


def _list(row: Row, key: str) -> list[str]:
    value = row.get(key) or []
    return [str(x) for x in value] if isinstance(value, list) else []


def _named(wanted: str, names: set[str]) -> bool:
    """A config label may be a sentence: then the key that it names, or the architecture's."""
    if wanted in names:
        return True
    keys = {x.rpartition(": ")[2] for x in names if x.startswith("config:")}
    words = set(re.findall(r"\w+", wanted)) | (
        {"architectures"} if "architecture" in wanted else set()
    )
    return wanted.startswith("config:") and "config.json" not in wanted and bool(keys & words)


def main(labels: str, versions: list[str]) -> int:
    rows: list[Row] = json.loads(Path(labels).read_text())
    failed = 0
    for version in versions or sorted({str(row["version"]) for row in rows}):
        chosen = [row for row in rows if row["version"] == version]
        tree = open_source(str(release(version)), "sglang")
        work = Work(tree, load_rules((), ()).profile)
        passed = 0
        for row in chosen:
            started = time.perf_counter()
            wrong = faults(row, ask(work, row))
            passed += not wrong
            seconds = time.perf_counter() - started
            if wrong or seconds > 5:
                sys.stdout.write(f"  {row['id']}  {seconds:.1f} s  {'; '.join(wrong)}\n")
        sys.stdout.write(f"{version}: {passed} of {len(chosen)}\n")
        failed += len(chosen) - passed
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
