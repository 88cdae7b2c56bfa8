"""What the analyser says of released methods, compared with runs of them under random assignments.

The methods run in a process of their own with stand-ins for everything they touch; that code
(``tests/oracle``) shares nothing with the analyser.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from labels import MODELS, shipped_rules
from pathaudit.audit import audit
from pathaudit.results import EntryReport, Finding, Reach, Report, Verdict
from pathaudit.sources import from_text
from releases import release
from trees import sources, with_models

RUNNER = Path(__file__).parent / "oracle" / "run.py"
WORLDS = 200
Case = dict[str, Any]

# The model files whose layer-running methods are compared.
FILES = {
    "0.5.6": "apertus arcee deepseek_v2 glm4 glm4_moe gpt_oss llama llama4 longcat_flash "
    "minimax_m2 qwen2 qwen2_moe qwen3 qwen3_moe qwen3_vl qwen3_vl_moe teleflm",
    "0.5.12": "deepseek_v2 qwen3_5 qwen3_moe",
    "0.5.23": "bailing_moe bailing_moe_v3 beam deepseek_v2 deepseek_v4 exaone_moe gemma3_causal "
    "gemma4_causal glm4_moe glm5_next gpt_oss inkling interns2_mobius kimi_k3 kimi_linear laguna "
    "lfm2 lfm2_moe llama llama4 longcat_flash mellum mimo_v2 minimax_m2 minimax_m3 muse_glimmer "
    "nanbeige nemotron_h qwen2 qwen2_moe qwen3 qwen3_5 qwen3_moe qwen3_next qwen3_vl "
    "qwen3_vl_moe qwen4_exp sarvam_moe",
}


class Subject(Struct, frozen=True):
    """A method as one class runs it, with all that the analyser says of it."""

    name: str
    reports: tuple[EntryReport, ...]
    findings: tuple[Finding, ...]

    @property
    def method(self) -> str:
        return self.reports[0].entry.partition(".")[2]


@cache
def report(version: str) -> Report:
    files = with_models(version, *FILES[version].split())
    return audit(from_text(files), shipped_rules())


@cache
def subjects(version: str) -> dict[str, Subject]:
    groups: dict[str, list[EntryReport]] = {}
    for item in report(version).entries:
        groups.setdefault(f"{Path(item.file).stem}:{item.receivers[0]}:{item.entry}", []).append(item)
    return {
        name: Subject(name, tuple(items), tuple(_findings(version, items)))
        for name, items in groups.items()
    }


def _findings(version: str, items: list[EntryReport]) -> Iterable[Finding]:
    receivers = {name for item in items for name in item.receivers}
    places = {(site.file, site.line) for item in items for site in item.sites}
    for finding in report(version).findings:
        run_by = {receiver.name for receiver in finding.receivers}
        if (finding.file, finding.line) in places and receivers & run_by:
            yield finding


@cache
def observed(version: str) -> dict[str, Case]:
    """What the oracle saw of all methods of a release."""
    found = subjects(version)
    request = {
        "root": str(release(version)),
        "cases": [_case(version, subject) for subject in found.values()],
    }
    command = [sys.executable, "-I", str(RUNNER)]
    done = subprocess.run(
        command, input=json.dumps(request), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return dict(zip(found, answers, strict=True))


def _case(version: str, subject: Subject) -> Case:
    first = subject.reports[0]
    served = first.architectures[0]
    features = sorted({name for item in subject.reports for name in item.features}) or [""]
    return {
        "name": subject.name,
        "file": _file_of(version, first.receivers[0], first.file),
        "class": first.receivers[0],
        "method": subject.method,
        "entry_file": _file_of(version, served, first.file),
        "entries": list(first.architectures),
        "features": features,
        "worlds": WORLDS,
        "paths": [
            {
                "file": finding.file,
                "line": finding.line,
                "end_line": finding.end_line,
                "condition": path.condition,
                "witness": [{"name": x.name, "value": x.value} for x in path.witness],
                "features": sorted({*features} & {*finding.features}) or features,
            }
            for finding in subject.findings
            for path in finding.paths
        ],
    }


def _file_of(version: str, cls: str, likely: str) -> str:
    """The file that defines a class; the likely one where several do."""
    pattern = re.compile(rf"^class {cls}\b".encode(), re.MULTILINE)
    files = sources(version)
    found = [x for x in files if x.startswith(MODELS) and pattern.search(files[x])]
    return likely if likely in found else found[0]
