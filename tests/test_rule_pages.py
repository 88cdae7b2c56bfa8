"""The pages under docs/rules are those that the rules give.

``PATHAUDIT_UPDATE_GOLDEN=1 pytest tests/test_rule_pages.py`` writes them anew.
"""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from pathaudit.cli import main
from pathaudit.cli.rule_markdown import rule_pages
from tests.labels import shipped_rules

FOLDER = Path(__file__).parent.parent / "docs" / "rules"
PAGES = rule_pages(shipped_rules())


@pytest.fixture(scope="module", autouse=True)
def _updated() -> None:
    if "PATHAUDIT_UPDATE_GOLDEN" in os.environ:
        CliRunner().invoke(main, ["rules", "docs", "--output", str(FOLDER)])


@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_stale(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name]


def test_no_page_is_left_over() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(PAGES)
