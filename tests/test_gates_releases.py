"""Conditions of real releases, against labels that were read from the source by hand."""

import json
from pathlib import Path

import pytest

from pathaudit.cli.options import load_rules
from pathaudit.sources import open_source
from pathaudit.work import Work
from tests.releases import release
from tests.releases.gates_score import ask, faults

LABELS = Path(__file__).parent / "releases" / "labels" / "gates.json"


@pytest.mark.parametrize("version", ["0.5.6", "0.5.12", "0.5.23"])
def test_each_condition_names_what_decides_it_and_nothing_else(version: str) -> None:
    rows = [x for x in json.loads(LABELS.read_text()) if x["version"] == version]
    tree = open_source(str(release(version)), "sglang")
    work = Work(tree, load_rules((), ()).profile)
    wrong = {row["id"]: faults(row, ask(work, row)) for row in rows}
    assert rows
    assert {key: found for key, found in wrong.items() if found} == {}
