"""On which paths a target runs: lines, functions, patterns and patches of small models."""

import difflib
import io
from collections.abc import Mapping
from json import loads
from textwrap import dedent, indent

import jsonschema
import pytest

from pathaudit.audit import reach_of
from pathaudit.cli.options import load_rules
from pathaudit.errors import UsageError
from pathaudit.index import FunctionRef
from pathaudit.reach.mentions import mentioning
from pathaudit.reporters import json
from pathaudit.reporters import reaches as text
from pathaudit.reporters.reaches import answer_of
from pathaudit.results.reaches import Extent, ReachReport, TargetReach
from pathaudit.sources import SourceTree, from_text
from pathaudit.sources.fitting import fit_patch
from pathaudit.sources.patches import read_patch

RULES = load_rules((), ())
FILE = "sglang/srt/models/demo.py"
UTILS = """
def make_layers(count, layer_fn):
    return [layer_fn(idx=i) for i in range(count)], 0, count
"""
RUNNER = """
def run_all(layers, hidden, forward_batch):
    for layer in layers:
        hidden = layer(hidden, forward_batch)
    return hidden

def refuse(layers, hidden, forward_batch):
    raise NotImplementedError

def run_parts(layers, hidden, forward_batch):
    return execute([[layer.op_first, layer.part.op_part] for layer in layers], hidden)
"""
HEAD = """
from torch import nn
from sglang.srt.layers.op import Op
from sglang.srt.runner import refuse, run_all, run_parts
from sglang.srt.utils import make_layers

"""
OP = """
class Op:
    def __init__(self):
        self._method = self.pick()

    def pick(self):
        return self.forward_fast if FAST else self.forward_plain

    def forward(self, x):
        return self._method(x)

    def forward_fast(self, x):
        return x

    def forward_plain(self, x):
        return x
"""
PART = """
class Part(nn.Module):
    def forward(self, hidden):
        return hidden

    def op_part(self, state):
        note(state)
        return state
"""
LAYER = """
class Layer(nn.Module):
    def __init__(self):
        self.part = Part()
        self.op = Op()

    def forward(self, hidden, forward_batch):
        hidden = self.part(hidden)
        count(hidden, kind=1)
        if self.fused:
            return self.op(hidden)
        return hidden

    def op_first(self, state):
        return state
"""
MODEL = """
class Model(nn.Module):
    def __init__(self, config):
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers, lambda idx: Layer()
        )

    def forward(self, hidden, forward_batch):
{body}
"""
SERVED = """
class DemoForCausalLM(nn.Module):
    def __init__(self, config):
        self.model = Model(config)

    def forward(self, hidden, forward_batch):
        return self.model(hidden, forward_batch)

{more}
EntryClass = DemoForCausalLM
"""
LOOP = """
for i in range(self.start_layer, self.end_layer):
    hidden = self.layers[i](hidden, forward_batch)
return hidden
"""


def model(body: str, *, layer: str = LAYER, more: str = "") -> str:
    inner = indent(dedent(body).strip("\n"), "        ")
    served = SERVED.format(more=indent(dedent(more), "    "))
    return HEAD + PART + layer + MODEL.format(body=inner) + served


def tree(code: str, more: Mapping[str, str] | None = None) -> SourceTree:
    files = {
        FILE: code,
        "sglang/srt/utils.py": UTILS,
        "sglang/srt/runner.py": RUNNER,
        "sglang/srt/layers/op.py": OP,
    }
    return from_text(files | dict(more or {}))


def ask(code: str, target: str = "") -> ReachReport:
    lines = [number for number, line in enumerate(code.splitlines(), 1) if "# here" in line]
    return reach_of(tree(code), RULES, target or f"{FILE}:{lines[0]}")


def answer(code: str, target: str = "") -> str:
    return answer_of(ask(code, target))[1].replace("\xa0", " ")


LOOP_OR_RUNNER = """
if forward_batch.fast:
    hidden = run_all(self.layers[1:], hidden, forward_batch)
else:
    for i in range(len(self.layers)):
        note(hidden)  # here
        hidden = self.layers[i](hidden, forward_batch)
return hidden
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("note(hidden)  # here" + LOOP, "on every path of forward", id="before"),
        pytest.param(
            "if forward_batch.on:\n    note(hidden)  # here" + LOOP,
            "on some paths of forward: bypassed when not forward_batch.on",
            id="branch",
        ),
        pytest.param(
            "if forward_batch.on:  # here\n    note(hidden)" + LOOP,
            "on every path of forward",
            id="test-of-a-branch",
        ),
        pytest.param(
            "if forward_batch.early:\n    return hidden\nnote(hidden)  # here" + LOOP,
            "on some paths of forward: bypassed when forward_batch.early",
            id="early-return",
        ),
        pytest.param(
            "if forward_batch.bad:\n    raise ValueError\nnote(hidden)  # here" + LOOP,
            "on every path of forward",
            id="what-raises-is-no-bypass",
        ),
        pytest.param(
            "if forward_batch.bad:\n    raise ValueError  # here" + LOOP,
            "on no path: every path that runs it raises",
            id="raise",
        ),
        pytest.param(
            "on = None\nif on is not None:\n    note(hidden)  # here" + LOOP,
            "on no path of forward",
            id="dead",
        ),
        pytest.param(
            LOOP.replace("return hidden", "return hidden  # here"),
            "on every path of forward",
            id="return",
        ),
        pytest.param(
            "with forward_batch.scope():\n    note(hidden)  # here" + LOOP,
            "on every path of forward",
            id="with",
        ),
        pytest.param(
            "def inner(x):\n    note(x)  # here\ninner(hidden)" + LOOP,
            "on every path of forward",
            id="inside-a-function",
        ),
        pytest.param(
            "try:\n    call(hidden)\nexcept ValueError:\n    note(hidden)  # here" + LOOP,
            "on some paths of forward: bypassed by what no test tells "
            "(an exception, an empty loop)",
            id="handler",
        ),
    ],
)
def test_a_line_beside_the_layers(body: str, expected: str) -> None:
    assert answer(model(body)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            LOOP.replace("    hidden = ", "    note(i)  # here\n    hidden = "),
            "on every path of forward",
            id="in-the-loop",
        ),
        pytest.param(
            LOOP.replace(
                "    hidden = ", "    if i in self.wanted:\n        note(i)  # here\n    hidden = "
            ),
            "on some paths of forward: only where i in wanted",
            id="for-some-layers",
        ),
        pytest.param(
            LOOP_OR_RUNNER,
            "on some paths of forward: bypassed for layers [1, len(layers)), "
            "when forward_batch.fast",
            id="another-way-to-run-them",
        ),
        pytest.param(
            LOOP_OR_RUNNER.replace("run_all", "refuse"),
            "on every path of forward",
            id="another-way-that-raises",
        ),
    ],
)
def test_a_line_in_a_loop_over_layers(body: str, expected: str) -> None:
    assert answer(model(body)) == expected


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        pytest.param("Layer.forward", "on every path of forward", id="layer"),
        pytest.param("Part.forward", "on every path of forward", id="module-of-a-layer"),
        pytest.param("Model.forward", "on every path of forward", id="model"),
        pytest.param("DemoForCausalLM.forward", "on every path of forward", id="entry"),
        pytest.param(
            "Op.forward", "on some paths of forward: only where layers[i].fused", id="branch"
        ),
        pytest.param(
            "Op.forward_fast",
            "on some paths of forward: only where layers[i].fused "
            "and layers[i].op._method == forward_fast",
            id="picked-at-run-time",
        ),
        pytest.param("$X.part($Y)", "on every path of forward", id="pattern"),
        pytest.param("self.layers[$I](...)", "on every path of forward", id="rest-of-arguments"),
        pytest.param("$X.fused", "on every path of forward", id="attribute"),
        pytest.param("$F(kind=$K, ...)", "on every path of forward", id="keyword-and-rest"),
        pytest.param(
            "Part.op_part", "on no path: nothing in the tree calls op_part", id="uncalled"
        ),
        pytest.param(
            "sglang/srt/runner.py:3-5",
            "on no path: nothing in the tree calls run_all (all 2 parts)",
            id="unreached-lines",
        ),
    ],
)
def test_functions_and_patterns(target: str, expected: str) -> None:
    assert answer(model(LOOP), target) == expected


SPLIT = """
if forward_batch.split:
    return run_parts(self.layers[2:], hidden, forward_batch)
for i in range(len(self.layers)):
    hidden = self.layers[i](hidden, forward_batch)
return hidden
"""


def test_methods_of_layers_in_a_list_run_without_the_target() -> None:
    expected = "on some paths of forward: bypassed for layers [2, len(layers)), "
    assert answer(model(SPLIT), "Part.forward") == f"{expected}when forward_batch.split"


def test_methods_of_layers_in_a_list_run_there() -> None:
    report = ask(model(SPLIT), "Part.op_part")
    (entry,) = report.targets[0].entries
    assert [(x.layers, x.condition) for x in entry.runs] == [("[2, len(layers))", "always")]
    bypassed = [(x.layers, x.condition) for x in entry.bypasses]
    assert bypassed == [("[0, len(layers))", "not forward_batch.split and 0 < i < len(layers)")]


def test_layers_of_two_classes_are_told_apart() -> None:
    layer = LAYER.replace("class Layer", "class First") + LAYER.replace(
        "class Layer", "class Other"
    )
    code = model(LOOP, layer=layer).replace(
        "lambda idx: Layer()", "lambda idx: First() if idx < 3 else Other()"
    )
    expected = "on some paths of forward: only where isinstance(layers[i], First)"
    assert answer(code, "First.forward") == expected


def test_what_another_entry_method_lacks_is_told() -> None:
    more = """
    def forward_split_prefill(self, hidden, forward_batch):
        for layer in self.model.layers:
            hidden = layer(hidden, forward_batch)
        return hidden
    """
    report = ask(model("note(hidden)  # here" + LOOP, more=more))
    assert answer_of(report)[1] == "on every path of forward; absent from forward_split_prefill"
    assert report.targets[0].absent == ("DemoForCausalLM.forward_split_prefill",)
    both = ask(model(LOOP, more=more), "Layer.forward")
    assert [entry.method for entry in both.targets[0].entries] == [
        "forward",
        "forward_split_prefill",
    ]


def test_the_language_model_of_a_wrapper_is_taken_for_granted() -> None:
    other = PART.replace("class Part", "class Other").strip() + "\n\n"
    code = model("note(hidden)  # here" + LOOP).replace("class DemoFor", other + "class DemoFor")
    code = code.replace(
        "        self.model = Model(config)\n",
        "        if config.a:\n            self.model = Model(config)\n"
        "        else:\n            self.model = Other()\n",
    )
    (entry,) = ask(code).targets[0].entries
    assert (entry.extent, entry.given) == (Extent.EVERY, ("model is Model",))


def test_a_method_that_is_handed_on_is_not_known() -> None:
    code = model("launch(self.later)" + LOOP).replace("class DemoFor", "{}class DemoFor".format(""))
    code = code.replace(
        "    def forward(self, hidden, forward_batch):\n        launch",
        "    def later(self):\n        note(self)  # here\n\n"
        "    def forward(self, hidden, forward_batch):\n        launch",
    )
    extent, told = answer_of(ask(code))
    assert extent is Extent.UNKNOWN
    assert "launch is handed Model.later, and may call it" in told


def test_a_method_that_a_subclass_replaces() -> None:
    base = "class Base(nn.Module):\n    def forward(self, hidden):\n        return hidden\n\n"
    code = model(LOOP).replace("class Part(nn.Module)", base + "class Part(Base)")
    told = answer(code, "Base.forward")
    assert told.startswith("on no path: Base.forward is replaced by Part.forward (")


def test_a_definition_that_a_later_one_replaces() -> None:
    code = model(LOOP).replace(
        "    def op_part(self, state):\n        note(state)\n        return state\n",
        "    def op_part(self, state):\n        note(state)  # here\n\n"
        "    def op_part(self, state):\n        return state\n",
    )
    assert "op_part is defined again in line" in answer(code)


def test_code_of_the_module_runs_when_it_is_imported() -> None:
    told = answer(model(LOOP).replace("EntryClass", "X = 1  # here\nEntryClass"))
    assert told == "on no path: it runs when the module is imported, and in no forward"


def test_objects_of_unknown_class_may_lead_there() -> None:
    more = {"sglang/srt/backend.py": "class Backend:\n    def attend(self, x):\n        return x\n"}
    code = model(LOOP).replace("return hidden", "return forward_batch.backend.attend(hidden)", 1)
    report = reach_of(tree(code, more), RULES, "Backend.attend")
    extent, told = answer_of(report)
    assert (extent, told.startswith("not known: it may be called at sglang/srt/")) == (
        Extent.UNKNOWN,
        True,
    )


def test_a_property_of_an_object_of_unknown_class_may_be_read() -> None:
    batch = "class Batch:\n    @property\n    def fast(self):\n        return 1\n"
    more = {"sglang/srt/batch.py": batch}
    code = model("if forward_batch.fast:\n    note(hidden)" + LOOP)
    told = answer_of(reach_of(tree(code, more), RULES, "Batch.fast"))[1]
    assert told.startswith("not known: it may be read at sglang/srt/models/demo.py:")


def test_a_way_around_a_variant_is_not_that_variant() -> None:
    batch = "class ForwardBatch:\n    def can_run_tbo(self): ...\n"
    body = """
    if forward_batch.can_run_tbo:
        note(hidden)  # here
    else:
        count(hidden)  # there
    """
    code = model(body)
    place = "sglang/srt/model_executor/forward_batch_info.py"
    found = {}
    for mark in ("# here", "# there"):
        line = next(n for n, text in enumerate(code.splitlines(), 1) if mark in text)
        report = reach_of(tree(code, {place: batch}), RULES, f"{FILE}:{line}")
        (entry,) = report.targets[0].entries
        found[mark] = [(x.condition, x.variant) for x in entry.bypasses]
    assert found == {
        "# here": [("not forward_batch.can_run_tbo", "")],
        "# there": [("forward_batch.can_run_tbo", "two-batch overlap")],
    }


# ---- patches ----------------------------------------------------------------------------------


def of_patch(code: str, patched: str) -> ReachReport:
    lines = difflib.unified_diff(
        code.splitlines(True), patched.splitlines(True), f"a/python/{FILE}", f"b/python/{FILE}"
    )
    patch = read_patch("".join(lines).encode(), "fix.diff")
    source = tree(code)
    return reach_of(source, RULES, "fix.diff", patch=fit_patch(source, patch))


def parts(report: ReachReport) -> list[tuple[str, str, bool]]:
    found: list[TargetReach] = list(report.targets)
    return [(target.text, target.extent.value, bool(target.within)) for target in found]


def test_each_statement_that_a_patch_adds_is_judged() -> None:
    code = model(LOOP)
    patched = code.replace(
        "        for i in range(self.start",
        "        # aux\n        aux = []\n        if self.wanted:\n            aux.append(hidden)\n"
        "        for i in range(self.start",
    ).replace("        note(state)\n", "        note(state)\n        count(state)\n")
    report = of_patch(code, patched)
    assert report.standing == "unpatched"
    assert parts(report) == [
        ("count(state)", "none", False),
        ("aux = []", "every", False),
        ("aux.append(hidden)", "some", True),
    ]
    extent, told = answer_of(report)
    assert extent is Extent.NONE
    assert told == "on no path: 1 part (line 14); on every path: 1 part (line 40)"


def test_a_patch_of_one_place_is_answered_in_one_sentence() -> None:
    code = model(LOOP)
    patched = code.replace(
        "        hidden = self.part(hidden)\n",
        "        hidden = self.part(hidden)\n        tap(hidden)\n",
    )
    assert answer_of(of_patch(code, patched))[1] == "on every path of forward"


def test_statements_that_no_jump_parts_are_one() -> None:
    body = """
    a = 1
    b = 2
    if a:
        return b
    c = 3
    return c
    """
    code = model(body)
    first = next(n for n, line in enumerate(code.splitlines(), 1) if "a = 1" in line)
    report = reach_of(tree(code), RULES, f"{FILE}:{first}-{first + 5}")
    assert [(x.line - first, x.last - first, x.text) for x in report.targets] == [
        (0, 2, "a = 1"),
        (3, 3, "return b"),
        (4, 5, "c = 3"),
    ]


# ---- outputs ----------------------------------------------------------------------------------


def rendered(report: ReachReport, **options: bool | int) -> list[str]:
    out = io.StringIO()
    text.render(report, out, **options)  # type: ignore[arg-type]
    return out.getvalue().splitlines()


def test_the_first_line_is_the_answer_and_nothing_is_wider_than_the_page() -> None:
    report = ask(model(LOOP_OR_RUNNER))
    lines = rendered(report, width=60)
    assert lines[0].startswith("on some paths of forward: bypassed")
    assert max(map(len, lines)) <= 60
    assert "    without layers [1, len(layers)) go to run_all at" in lines
    assert "\x1b[" in "".join(rendered(report, color=True))


def test_text_of_the_code_is_escaped() -> None:
    report = ask(model("note('\u202e\x1b[31m')  # here" + LOOP))
    shown = "\n".join(rendered(report))
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "\\x1b[31m" in shown


def test_the_json_is_what_its_schema_says() -> None:
    out = io.StringIO()
    json.render(ask(model(LOOP_OR_RUNNER)), out)
    found = loads(out.getvalue())
    jsonschema.validate(found, json.schema(ReachReport))
    (target,) = found["targets"]
    assert (target["extent"], target["entries"][0]["bypasses"][0]["by"]) == ("some", "run_all")


# ---- mistakes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "message"),
    [
        pytest.param("models/none.py:3", "text has no file models/none.py", id="file"),
        pytest.param("models/demo.py:9999", f"{FILE} has no line 9999", id="line"),
        pytest.param("models/demo.py:1", f"nothing runs in line 1 of {FILE}", id="blank"),
        pytest.param("Layer.forwards", "text defines no function Layer.forwards", id="method"),
        pytest.param("nothing", "text defines no function nothing", id="function"),
        pytest.param("$X", "'$X' matches everything", id="all"),
        pytest.param(
            "$X.append(", "'$X.append(' is no target: neither code nor a place", id="code"
        ),
        pytest.param("$X.append($Y)", "nothing in text matches '$X.append($Y)'", id="no-match"),
    ],
)
def test_a_target_that_is_not_there_is_a_mistake(target: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        reach_of(tree(model(LOOP)), RULES, target)
    assert caught.value.message == message


def test_an_entry_that_is_not_served_is_a_mistake() -> None:
    with pytest.raises(UsageError) as caught:
        reach_of(tree(model(LOOP)), RULES, "Layer.forward", entry="DemoForCausal")
    assert caught.value.hint == "did you mean 'DemoForCausalLM'?"


# ---- which entries may lead to a target -------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param("class A:\n    x = T()\n", {"T", "A"}, id="made"),
        pytest.param("class A(T):\n    pass\nclass B(A):\n    pass\n", {"T", "A", "B"}, id="base"),
        pytest.param("def f():\n    return T\nclass A:\n    x = f()\n", {"T", "f", "A"}, id="by"),
        pytest.param("KINDS = {1: T}\nclass A:\n    x = KINDS\n", {"T", "KINDS", "A"}, id="table"),
        pytest.param("from a import T as U\nclass A:\n    x = U()\n", {"T", "U", "A"}, id="alias"),
        pytest.param('"It has T as the one.\n"\nclass A:\n    the = 1\n', {"T"}, id="prose"),
        pytest.param("from a import (\n    T,\n)\nclass A:\n    x = 1\n", {"T"}, id="import"),
        pytest.param('class A:\n    x = "T"  # T\n', {"T"}, id="string"),
        pytest.param("EntryClass = [T]\nclass A:\n    x = EntryClass\n", {"T"}, id="served"),
    ],
)
def test_what_names_the_class_of_a_target(code: str, expected: set[str]) -> None:
    source = from_text({FILE: code})
    found = mentioning(source, RULES.profile, [FunctionRef(FILE, "T.forward")])
    assert found is not None
    assert set(found) == expected


def test_a_patch_that_adds_very_much_is_refused() -> None:
    code = model(LOOP)
    body = "".join(f"        if x{n}:\n            return note({n})\n" for n in range(120))
    patched = code.replace(
        "        for i in range(self.start", f"{body}        for i in range(self.start"
    )
    with pytest.raises(UsageError, match="the patch adds 240 groups of statements, too many"):
        of_patch(code, patched)


def test_what_stands_before_and_after_a_jump_is_told_apart() -> None:
    body = """
    if forward_batch.early:
        return hidden
    return note(hidden)
    """
    code = model(body)
    patched = code.replace("        if forward", "        one(1)\n        if forward").replace(
        "        return note", "        two(2)\n        return note"
    )
    assert parts(of_patch(code, patched)) == [("one(1)", "every", False), ("two(2)", "some", False)]
