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

import msgspec
import pytest
from msgspec import Struct

from pathaudit.audit import audit
from pathaudit.results import EntryReport, Finding, Reach, Report, Site, Verdict
from pathaudit.sources import from_text
from tests.labels import MODELS, capture_rules
from tests.releases import release
from tests.trees import sources, with_models

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

    @property
    def receivers(self) -> set[str]:
        return {name for item in self.reports for name in item.receivers}

    @property
    def sites(self) -> tuple[Site, ...]:
        return tuple(site for item in self.reports for site in item.sites)

    def blocked(self, finding: Finding) -> bool:
        """Does the analyser say that its path raises before a layer runs?"""
        reaches = {x.reach for x in finding.receivers if x.name in self.receivers}
        return reaches == {Reach.BLOCKED}


@cache
def report(version: str) -> Report:
    files = with_models(version, *FILES[version].split())
    return audit(from_text(files), capture_rules())


@cache
def subjects(version: str) -> dict[str, Subject]:
    groups: dict[str, list[EntryReport]] = {}
    for item in report(version).entries:
        groups.setdefault(f"{Path(item.file).stem}:{item.receivers[0]}:{item.entry}", []).append(
            item
        )
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
    command = [sys.executable, "-I", "-S", str(RUNNER)]
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


@cache
def _file_of(version: str, cls: str, likely: str) -> str:
    """The file that defines a class; the likely one where several do."""
    pattern = re.compile(rf"^class {cls}\b".encode(), re.MULTILINE)
    files = sources(version)
    found = [x for x in files if x.startswith(MODELS) and pattern.search(files[x])]
    return likely if likely in found else found[0]


# ---- the comparison ---------------------------------------------------------------------------


def disagreements(subject: Subject, answer: Case) -> list[str]:
    """What was observed of a method and the analyser does not know, or the other way round."""
    found = [text for run in answer["seen"] if (text := _unknown(subject, run))]
    for site in subject.sites:
        reaches = [subject.blocked(x) for x in subject.findings if _same_place(x, site)]
        if True not in reaches and not any(_is_at(site, run) for run in answer["seen"]):
            found.append(f"{site.file}:{site.line}: never runs a layer")
    paths = [(finding, path) for finding in subject.findings for path in finding.paths]
    for (finding, path), replay in zip(paths, answer["replays"], strict=True):
        place = f"{finding.file}:{finding.line}: when {path.condition}"
        if subject.blocked(finding):
            found += [f"{place}: runs though said to be blocked"] if replay["shown"] else []
        elif not replay["shown"] or replay["refuted"]:
            found.append(f"{place}: not observed: {replay}")
    return found


def _unknown(subject: Subject, run: Case) -> str:
    """Say what the analyser does not know of a run; nothing where it knows it."""
    sites = [site for site in subject.sites if _is_at(site, run)]
    place = f"{run['places']} with {run['feature'] or 'no setter'}"
    if not sites:
        return f"{place}: a run that is not judged"
    # The first iteration of a loop is the business of other rules.
    if run["captured"] or run["first"]:
        return ""
    if all(site.verdict is Verdict.HOLDS for site in sites):
        return f"{place}: uncaptured where the analyser says it is captured"
    return "" if run["paths"] else f"{place}: uncaptured though no path's condition is true"


def _is_at(site: Site, run: Case) -> bool:
    lines = range(site.line, site.end_line + 1)
    return any(file == site.file and line in lines for file, line in run["places"])


def _same_place(finding: Finding, site: Site) -> bool:
    return (finding.file, finding.line) == (site.file, site.line)


COMPARED = [(version, name) for version in FILES for name in FILES[version].split()]


@pytest.mark.parametrize(("version", "file"), COMPARED)
def test_runs_and_analysis_agree(version: str, file: str) -> None:
    wanted = f"{MODELS}/{file}.py"
    compared = 0
    for name, subject in subjects(version).items():
        files = {_file_of(version, x, subject.reports[0].file) for x in subject.receivers}
        if wanted in files | {subject.reports[0].file}:
            answer = observed(version)[name]
            assert answer["raised"]["completed"] >= WORLDS // 4, answer["raised"]
            assert disagreements(subject, answer) == []
            compared += 1
    assert compared


def labels() -> list[dict[str, Any]]:
    folder = Path(__file__).parent / "releases" / "labels"
    texts = [path.read_text() for path in sorted(folder.glob("skipped-*.json"))]
    return [label for text in texts for label in json.loads(text)]


def _label_id(label: object) -> str:
    assert isinstance(label, dict)
    return f"{label['version']}-{Path(label['file']).stem}-{label['line']}"


VIOLATED = [x for x in labels() if (x["expected"], x["reach"]) == ("violated", "reachable")]
GUARDED = [
    *(x for x in labels() if "guard excludes" in x["why"]),
    # `run_tbo = self._can_run_tbo(forward_batch) and not capture_dspark`
    {"version": "0.5.23", "file": f"{MODELS}/deepseek_v4.py", "line": 4520},
]


@pytest.mark.parametrize("label", VIOLATED, ids=_label_id)
def test_what_a_label_says_is_violated_is_observed(label: dict[str, Any]) -> None:
    runs = _runs_at(label["version"], label["file"], label["line"])
    assert any(not run["captured"] and not run["first"] for run in runs)


@pytest.mark.parametrize("label", GUARDED, ids=_label_id)
def test_what_a_label_says_is_guarded_never_runs(label: dict[str, Any]) -> None:
    assert not _runs_at(label["version"], label["file"], label["line"])


def test_a_guard_for_one_feature_does_not_guard_another() -> None:
    """The guard ``not self.dflash_capture``, which the setter for EAGLE-3 leaves alone."""
    (subject,) = [x for name, x in subjects("0.5.23").items() if name.startswith("glm5_next:")]
    (finding,) = subject.findings
    assert finding.features == ("set_eagle3_layers_to_capture",)
    assert subject.blocked(finding)
    assert not _runs_at("0.5.23", finding.file, finding.line)


def _runs_at(version: str, file: str, line: int) -> list[Case]:
    answers = observed(version).values()
    runs = [run for answer in answers for run in answer["seen"]]
    return [run for run in runs if [file, line] in run["places"]]


def test_enough_is_compared() -> None:
    methods = {(version, name) for version in FILES for name in subjects(version)}
    assert len(methods) >= len(VIOLATED) + len(GUARDED) + 25
    assert len(GUARDED) >= 3
    assert len(VIOLATED) >= 4


@pytest.mark.parametrize("name", ["deepseek_v2:DeepseekV2Model:DeepseekV2Model.forward"])
def test_the_comparison_notices_a_wrong_answer(name: str) -> None:
    right, answer = subjects("0.5.6")[name], observed("0.5.6")[name]
    (report,) = right.reports
    holds = [msgspec.structs.replace(x, verdict=Verdict.HOLDS) for x in report.sites]
    missed = msgspec.structs.replace(report, sites=tuple(holds))
    unjudged = msgspec.structs.replace(report, sites=report.sites[:1])
    assert disagreements(right, answer) == []
    assert "the analyser says it is captured" in str(
        disagreements(msgspec.structs.replace(right, reports=(missed,)), answer)
    )
    assert "not judged" in str(
        disagreements(msgspec.structs.replace(right, reports=(unjudged,)), answer)
    )
