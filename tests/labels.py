"""Audits one labelled file as a model of SGLang; labels are those of ``pathaudit.labels``."""

from functools import cache

from pathaudit.audit import audit
from pathaudit.labels import Outcome, compare, read_labels
from pathaudit.results import Report
from pathaudit.ruleset import Ruleset, load_ruleset, rules_directory
from pathaudit.sources import from_text

MODELS = "sglang/srt/models"

# What a labelled file imports and an audit needs to follow; it mirrors SGLang's own.
SUPPORT = {
    "sglang/srt/utils.py": """
from torch import nn


def make_layers(num_hidden_layers, layer_fn, pp_rank=None, pp_size=None, prefix=""):
    start_layer, end_layer = get_pp_indices(num_hidden_layers, pp_rank, pp_size)
    modules = nn.ModuleList(
        [nn.Identity() for _ in range(start_layer)]
        + [layer_fn(idx=idx, prefix=prefix) for idx in range(start_layer, end_layer)]
        + [nn.Identity() for _ in range(end_layer, num_hidden_layers)]
    )
    return modules, start_layer, end_layer
""",
}


@cache
def shipped_rules() -> Ruleset:
    """The rules for SGLang that pathaudit ships."""
    return load_ruleset(rules_directory() / "sglang")


@cache
def capture_rules() -> Ruleset:
    """The rule that most of the engine is tested with, alone."""
    return load_ruleset(rules_directory() / "sglang", only=("skipped-aux-capture",))


def audit_model(name: str, source: str, rules: Ruleset | None = None) -> Report:
    """Audit one file as the only model of a tree."""
    tree = from_text({**SUPPORT, model_path(name): source})
    return audit(tree, rules or capture_rules())


def model_path(name: str) -> str:
    """Where ``audit_model`` puts a file."""
    return f"{MODELS}/{name}.py"


def judge(report: Report, name: str, source: str, rule: str) -> Outcome:
    """Compare what a rule finds in a labelled file with the labels for it."""
    labels = [label for label in read_labels(source) if label.rule == rule]
    here = [f for f in report.findings if (f.rule, f.file) == (rule, model_path(name))]
    return compare(labels, here)
