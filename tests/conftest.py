"""What every test may rely on: none sees what another one kept in the cache."""

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The file of an empty cache, which commands use in this test."""
    file = tmp_path_factory.getbasetemp() / "cache" / "answers.sqlite"
    file.unlink(missing_ok=True)
    monkeypatch.setenv("PATHAUDIT_CACHE_DIR", str(file.parent))
    yield file
    file.unlink(missing_ok=True)
