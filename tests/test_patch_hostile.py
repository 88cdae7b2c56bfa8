"""A file of patches that someone edited, or that was made to do harm."""

import base64
import tempfile
from contextlib import suppress
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from pathaudit.errors import PathAuditError
from pathaudit.index import build_index
from pathaudit.relies.book import read_book
from pathaudit.relies.code import likeness
from pathaudit.relies.judging import judge_patch
from pathaudit.ruleset.patches import Reliance
from tests.patches import PROFILE, noted, tree_of
from tests.test_patches import COUNT, NOTE, OLD, TAP

KEPT = [msgspec.to_builtins(noted(OLD, new)) for new in (TAP, COUNT, NOTE)]
TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["", "a.b", "f(", "self.", "../x.py", "+", "\0", "from . import *", "(*"]),
)


def changed(value: object, texts: dict[str, str]) -> object:
    """The same with some of its texts replaced."""
    if isinstance(value, str):
        return texts.get(value, value)
    if isinstance(value, list | tuple):
        return [changed(item, texts) for item in value]
    if isinstance(value, dict):
        return {key: item if key == "kind" else changed(item, texts) for key, item in value.items()}
    return value


def texts_of(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [x for item in value for x in texts_of(item)] if isinstance(value, list | tuple) else []


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_whatever_it_says_nothing_crashes(data: st.DataObject) -> None:
    kept = data.draw(st.sampled_from(KEPT))
    known = sorted(set(texts_of(kept)))
    texts = data.draw(st.dictionaries(st.sampled_from(known), TEXTS, min_size=1, max_size=4))
    with suppress(PathAuditError, msgspec.ValidationError):
        reliance = msgspec.convert(changed(kept, texts), Reliance)
        judge_patch(build_index(tree_of(OLD), PROFILE), reliance)


@given(text=st.text())
def test_a_sketch_may_be_anything(text: str) -> None:
    whole = base64.b64encode(b"abcd").decode()
    assert 0 <= likeness(text, f"{whole}.{whole}") <= 1


@given(data=st.binary(max_size=60))
def test_a_file_may_hold_anything(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "patches.json"
        path.write_bytes(data)
        with suppress(PathAuditError):
            read_book(str(path))
