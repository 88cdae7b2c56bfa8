"""Runners that choose by the class of a layer, and what they make of one."""

import textwrap

import pytest

from pathaudit.audit import audit
from pathaudit.ruleset import load_ruleset, rules_directory
from pathaudit.sources import from_text

RULES = load_ruleset(rules_directory() / "sglang", only=("unsupported-stage",))
MODEL = """
from torch import nn
from sglang.srt.runner import run


class Part(nn.Module):
    def op_part(self): ...


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()

    def forward(self, x):
        return x

    def op_first(self): ...


class M(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers = nn.ModuleList([Layer() for _ in range(config.num_hidden_layers)])

    def forward(self, x):
        return {call}


EntryClass = M
"""


def found(runner: str, call: str = "run(self.layers, x)") -> list[str]:
    """What is said of a model whose layers go to a runner."""
    files = {
        "sglang/srt/models/m.py": MODEL.format(call=call),
        "sglang/srt/runner.py": textwrap.dedent(runner),
    }
    report = audit(from_text(files, version="1"), RULES)
    assert report.gaps == ()
    return [item.message.partition(", ")[2] for item in report.findings]


CHAIN = """
def run(layers, x):
    name = {name}
    if {test}:
        return recipes(layers, x)
    raise NotImplementedError
"""
NAME = "layers[0].__class__.__name__"
TESTS = {
    "its name": (NAME, "name == 'Layer'", True),
    "another name": (NAME, "name == 'Other'", False),
    "the name of its type": ("type(layers[0]).__name__", "name in ('Other', 'Layer')", True),
    "another name, and more": (NAME, "x.ready and name == 'Other'", False),
    "its name, and more": (NAME, "x.ready and name == 'Layer'", True),
    "not its name": (NAME, "name != 'Layer'", False),
    "one of its names": (NAME, "name == 'Other' or name == 'Layer'", True),
    "not asked for it": ("x.__class__.__name__", "name == 'Other'", True),
    "an unknown registry": (NAME, "name in REGISTRY", True),
    "another class": (NAME, "isinstance(layers[0], Other)", True),
}


@pytest.mark.parametrize("case", TESTS)
def test_tests(case: str) -> None:
    name, test, known = TESTS[case]
    assert bool(found(CHAIN.format(name=name, test=test))) is not known


RUNNERS = {
    "a registry": (
        """
        KNOWN = {"Other": 1}
        def run(layers, x):
            name = type(layers[0]).__name__
            if name not in KNOWN:
                raise ValueError(name)
            return KNOWN[name](layers)
        """,
        ["which knows only Other"],
    ),
    "a registry that is asked": (
        """
        KNOWN = {"Other": 1}
        def run(layers, x):
            recipe = KNOWN.get(type(layers[0]).__name__)
            if recipe is None:
                raise ValueError
            return recipe(layers)
        """,
        ["which knows only Other"],
    ),
    "match": (
        """
        def run(layers, x):
            match type(layers[0]).__name__:
                case "A" | "B":
                    return x
                case _:
                    raise ValueError
        """,
        ["which knows only A and B"],
    ),
    "a call between": (
        """
        def run(layers, x):
            strategy = choose(layers)
            return strategy(x)
        def choose(layers):
            if type(layers[0]).__name__ == "Other":
                return 1
            else:
                raise ValueError
        """,
        ["which knows only Other"],
    ),
    "a method of the class": (
        """
        def run(layers, x):
            return Chooser.choose(layers)
        class Chooser:
            @staticmethod
            def choose(layers):
                if type(layers[0]).__name__ == "Other":
                    return 1
                raise ValueError
        """,
        ["which knows only Other"],
    ),
    "a handler": (
        """
        def run(layers, x):
            try:
                if type(layers[0]).__name__ == "Other":
                    return 1
                raise ValueError
            except ValueError:
                return 2
        """,
        [],
    ),
    "only where it is asked": (
        """
        def run(layers, x):
            if x.strict:
                if type(layers[0]).__name__ == "Other":
                    return 1
                raise ValueError
            return 2
        """,
        [],
    ),
    "a recipe": (
        """
        def run(layers, x):
            return [recipe(layer) for layer in layers]
        def recipe(layer):
            return [layer.op_first, layer.part.op_part, layer.part, layer.unknown.op_x]
        """,
        [],
    ),
    "a recipe of what it lacks": (
        """
        def run(layers, x):
            if type(layers[0]).__name__ == "Layer":
                return [recipe(layer) for layer in layers]
            raise ValueError
        def recipe(layer):
            return inner(layer)
        def inner(layer):
            return [layer.op_first, layer.op_second, layer.part.op_third]
        """,
        ["whose recipe lists op_second and part.op_third, which it lacks"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", RUNNERS)
def test_runners(case: str) -> None:
    runner, expected = RUNNERS[case]
    assert found(runner) == expected


REFUSING = "def run(layers, x):\n    raise ValueError\n"
CALLS = {
    "run(self.layers[1:], x)": 1,
    "run(layers=self.layers, x=x)": 1,
    "run([layer for layer in self.layers], x)": 1,
    "run([self.layers[i] for i in range(3)], x)": 1,
    "run(list(self.layers), x)": 1,
    "run(self.layers[0], x)": 0,
    "run(len(self.layers), x)": 0,
    "run(x, self.layers)": 1,  # every call raises
    "other(self.layers, x)": 0,
}


@pytest.mark.parametrize("call", CALLS)
def test_calls(call: str) -> None:
    assert len(found(REFUSING, call)) == CALLS[call]
