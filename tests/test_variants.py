"""The ways to get a capture wrong, or right in a form that looks wrong, one file each."""

from pathlib import Path

import pytest

from pathaudit.labels import Outcome, read_labels
from tests.labels import audit_model, judge

RULE = "skipped-aux-capture"
CASES = sorted((Path(__file__).parent / "variants" / "cases").glob("*.py"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_variant(path: Path) -> None:
    source = path.read_text()
    report = audit_model(path.stem, source)
    assert Outcome() == judge(report, path.stem, source, RULE)
    assert report.summary.sites, "nothing was judged"
    assert (report.summary.unknown, report.gaps) == (0, ())


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_name_and_labels_agree(path: Path) -> None:
    kinds = {label.kind for label in read_labels(path.read_text())}
    assert ("expect" in kinds) == path.stem.startswith("faulty_")
    assert path.stem.partition("_")[0] in {"correct", "faulty"}
    assert kinds
