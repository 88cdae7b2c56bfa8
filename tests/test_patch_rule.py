"""The example of the rule ``stale-patch``, and what it notes.

``PATHAUDIT_UPDATE_GOLDEN=1 pytest tests/test_patch_rule.py`` notes its patches anew.
"""

import os

from pathaudit.relies.book import book_text
from pathaudit.ruleset import rules_directory
from pathaudit.ruleset.patches import PatchBook
from tests.patches import noted

RULES = rules_directory() / "sglang"
EXAMPLE = (RULES / "stale-patch.py").read_text()
BOOK = RULES / "stale-patch.patches.json"
FILE = "sglang/srt/models/example.py"

# What the patches were noted in, made of the example, and what each adds.
OLD = EXAMPLE.replace("def count_tokens", "def count_rows")
TAP = (
    "        aux_hidden_states: list[torch.Tensor] = []\n",
    "        aux_hidden_states: list[torch.Tensor] = []\n        self.count_rows(hidden_states)\n",
)
KEEP = (
    "        captured: list[torch.Tensor] = []\n",
    "        captured: list[torch.Tensor] = []\n"
    "        self.keep(captured, hidden_states, at=-1)\n",
)


def test_the_example_notes_what_add_notes() -> None:
    patches = tuple(
        noted({FILE: OLD}, {FILE: OLD.replace(*edit)}, name=name)
        for name, edit in (("tap", TAP), ("keep", KEEP))
    )
    text = book_text(PatchBook(patches=patches))
    if "PATHAUDIT_UPDATE_GOLDEN" in os.environ:
        BOOK.write_text(text)
    assert BOOK.read_text() == text
