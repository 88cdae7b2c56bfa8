"""What belongs to a capability that a served class declares."""

import pytest

from pathaudit.audit import audit
from pathaudit.ruleset import load_ruleset, rules_directory
from pathaudit.sources import from_text

RULES = load_ruleset(rules_directory() / "sglang", only=("incomplete-capability",))
DECLARES = "get_model_config_for_expert_location"
NEEDS = "routed_experts_weights_of_layer"
READER = {"sglang/srt/eplb/m.py": f"def move(model):\n    return model.{NEEDS}\n"}
SILENT = {"sglang/srt/eplb/m.py": "def move(model):\n    return model\n"}
DECLARED = f"    @classmethod\n    def {DECLARES}(cls, config):\n        return 1\n"
CLASSES = {
    "nothing": ("class M:\n    x = 1\n", []),
    "a declaration alone": (f"class M:\n{DECLARED}", ["M"]),
    "a property": (f"class M:\n{DECLARED}    @property\n    def {NEEDS}(self): ...\n", []),
    "an attribute": (f"class M:\n{DECLARED}    {NEEDS} = None\n", []),
    "a stored value": (f"class M:\n{DECLARED}    def load(self):\n        self.{NEEDS} = 1\n", []),
    "an inherited one": (f"class B:\n    {NEEDS} = None\nclass M(B):\n{DECLARED}", []),
    "an inherited declaration": (f"class B:\n{DECLARED}class M(B):\n    x = 1\n", ["B"]),
    "an unknown base": (f"class M(Unknown):\n{DECLARED}", []),
    "a draft": (f"class EagleM:\n{DECLARED}class M:\n    x = EagleM\n", []),
    "asked by name": (f"class M:\n    def {DECLARES}(self):\n        x.f('{DECLARES}')\n", []),
}  # fmt: skip


def found(source: str, files: dict[str, str]) -> list[str]:
    tree = from_text({"sglang/srt/models/m.py": f"{source}EntryClass = M\n", **files}, version="1")
    return [item.symbol for item in audit(tree, RULES).findings]


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name: str) -> None:
    source, expected = CLASSES[name]
    assert found(source, READER) == expected


def test_what_nothing_reads_is_not_missed() -> None:
    assert found(f"class M:\n{DECLARED}", SILENT) == []


def test_a_tree_without_the_reader_says_nothing_of_it() -> None:
    assert found(f"class M:\n{DECLARED}", {}) == ["M"]
