"""The graph of an entry: what is in it, what is left out, and what the rule says of it."""

from collections.abc import Mapping
from itertools import pairwise
from textwrap import dedent, indent

import pytest
from msgspec.structs import replace

from pathaudit.audit import audit
from pathaudit.errors import UsageError
from pathaudit.graph import graph, prune
from pathaudit.graph.overlay import lay_verdicts
from pathaudit.results import Gap, GraphEdge, GraphNode, GraphView, Reach, Source
from pathaudit.sources import from_text, open_source
from tests.labels import capture_rules
from tests.releases import release

RULES = capture_rules()
RULE = RULES.rules[0].id
MODELS = "sglang/srt/models"

UTILS = """
def make_layers(count, layer_fn):
    return [layer_fn(idx=i) for i in range(count)], 0, count
"""
MODEL = """
from torch import nn
from sglang.srt.runner import run, run_captured, run_checked, run_recipe, run_twice
from sglang.srt.utils import make_layers

class Part(nn.Module):
    def op_part(self, state):
        return state

class Layer(nn.Module):
    def __init__(self, config):
        self.part = Part()
        self.modes = config.modes

    def forward(self, hidden):
        return self.part(hidden)

    def op_first(self, state):
        return state

class Model(nn.Module):
    def __init__(self, config):
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers, lambda idx: Layer(config)
        )
        self.layers_to_capture = []

    def forward(self, hidden, batch):
        aux = []
{body}
        return hidden, aux

    def capture(self, aux, hidden):
        aux.append(hidden)

    def helper(self, batch):
        return batch

    def run_all(self, hidden, layers):
        for layer in layers:
            hidden = layer(hidden)
        return hidden

class ServedForCausalLM(nn.Module):
    def __init__(self, config):
        self.model = Model(config)

    def forward(self, hidden, batch):
        return self.model(hidden, batch)

    def forward_split_prefill(self, hidden, batch):
        for i in range(batch.first, batch.end):
            hidden = self.model.layers[i](hidden)
        return hidden

    def set_eagle3_layers_to_capture(self, ids):
        self.model.layers_to_capture = ids

EntryClass = ServedForCausalLM
"""
LOOP = """
for i in range(self.start_layer, self.end_layer):
    if i in self.layers_to_capture:
        aux.append(hidden)
    hidden = self.layers[i](hidden)
"""
RUNNER = """
from dataclasses import dataclass
from sglang.srt.overlap.stages import execute, note, tell

@dataclass
class Recipe:
    operations: list
    count: int = 0

def run(layers, hidden):
    for layer in layers:
        hidden = layer(hidden)
    return hidden

def run_recipe(layers, hidden, overlap=False):
    note(layers[0].modes)
    recipe = make_recipe(layers)
    if overlap:
        return overlapped(split(hidden), recipe)
    else:
        return execute(hidden, recipe.operations)

def split(hidden):
    return hidden

def overlapped(hidden, recipe):
    tell(recipe.count)
    return execute(hidden, recipe.operations)

def make_recipe(layers):
    name = layers[0].__class__.__name__
    if name == "Layer":
        steps = [step for layer in layers for step in of_layer(layer)]
        return Recipe(operations=steps, count=layers[0].modes)
    elif name == "OtherLayer":
        return of_other(layers)
    else:
        raise NotImplementedError

def of_layer(layer):
    return [layer.op_first, layer.part.op_part]

def of_other(layers):
    return Recipe(operations=list(layers))

class Maker:
    @staticmethod
    def make(layers):
        return make_recipe(layers)

def run_captured(layers, hidden, aux):
    for layer in layers:
        aux.append(hidden)
        hidden = layer(hidden)

def run_checked(layers, hidden, fast=True, slow=False):
    from sglang.srt.models.served import Layer, Part
    slow = slow or hidden.slow
    if not fast:
        run(layers, hidden)
    if slow:
        run(layers, hidden)
    if isinstance(layers[0], Part):
        run(layers, hidden)
    elif isinstance(layers[0], Layer):
        run(layers, hidden)
    else:
        run(layers, hidden)

def run_twice(layers, hidden):
    recipe = make_recipe(layers)
    staged(hidden, [], False)
    return staged(hidden, recipe.operations, True)

def staged(hidden, operations, fast):
    if fast:
        return execute(hidden, operations)
    else:
        return execute(hidden, list(operations))
"""
STAGES = """
def note(count):
    return count

def tell(count):
    return count()

def prepare(operations):
    return [wrapped(item) for item in operations]

def wrapped(item):
    return item

def execute(hidden, operations):
    executor = Executor(prepare(operations))
    while not executor.done:
        executor.next(hidden)
    return hidden

class Executor:
    def __init__(self, stages):
        self._stages = stages
        self._index = 0

    def next(self, hidden):
        stage = self._stages[self._index]
        for operation in stage.copy():
            operation(hidden)
"""


def files(body: str = LOOP, **changes: str) -> Mapping[str, str]:
    model = MODEL.replace("{body}", indent(dedent(body), " " * 8))
    for old, new in changes.items():
        model = model.replace(old, new)
    return {
        f"{MODELS}/served.py": model,
        "sglang/srt/utils.py": UTILS,
        "sglang/srt/runner.py": RUNNER,
        "sglang/srt/overlap/stages.py": STAGES,
    }


def draw(body: str = LOOP, entry: str = "ServedForCausalLM", **options: object) -> GraphView:
    only, depth = options.get("only", "layers"), options.get("depth")
    assert isinstance(only, str)
    assert depth is None or isinstance(depth, int)
    return graph(from_text(files(body)), RULES, entry, only=only, depth=depth)


def dump(view: GraphView) -> list[str]:
    """The graph as lines: kind, label and mark, indented; a function is expanded once."""
    nodes = {node.id: node for node in view.nodes}
    lines: list[str] = []
    met: set[str] = set()

    def add(node: str, depth: int) -> None:
        item = nodes[node]
        mark = f" [{item.mark}]" * bool(item.mark)
        lines.append(f"{'  ' * depth}{item.kind} {item.label}{mark}")
        if node not in met:
            met.add(node)
            for edge in view.edges:
                if edge.source == node:
                    add(edge.target, depth + 1)

    add(view.nodes[0].id, 0)
    return lines


def below_forward(view: GraphView) -> str:
    """What stands below the forward of the model."""
    first, second, *rest = dump(view)
    assert first == "function ServedForCausalLM.forward"
    assert second == "  function Model.forward"
    return "\n".join(line.removeprefix("    ") for line in rest)


# ---- what leads to layers ---------------------------------------------------------------------

GUARDED = f"""
if batch.overlap and not self.layers_to_capture:
    hidden = run(self.layers, hidden)
else:
{indent(LOOP, " " * 4)}
"""
BODIES = [
    pytest.param(
        LOOP,
        """
        loop for i in range(self.start_layer, self.end_layer) [captures]
          arm if i in self.layers_to_capture
            capture aux.append
          run self.layers[i](...)
        """,
        id="a loop that captures",
    ),
    pytest.param(
        """
        if batch.overlap:
            hidden = run(self.layers[1:], hidden)
        else:
            for layer in self.layers:
                aux.append(hidden)
                hidden = layer(hidden)
        """,
        """
        arm if batch.overlap [bypass]
          handoff run [bypass]
            function run
              loop for layer in layers
                run layer(...)
        arm else [captures]
          loop for layer in self.layers [captures]
            capture aux.append
            run layer(...)
        """,
        id="an arm that hands the layers to a function",
    ),
    pytest.param(
        """
        batch = self.helper(batch)
        for layer in self.layers:
            if len(self.layers) > 3 and isinstance(self.layers[0], Layer):
                note(getattr(layer, "modes"))
            self.capture(aux, hidden)
            hidden = layer(hidden)
        """,
        """
        loop for layer in self.layers [captures]
          function Model.capture
            capture aux.append
          run layer(...)
        """,
        id="helpers and what only reads are left out",
    ),
    pytest.param(
        GUARDED,
        """
        arm if batch.overlap and not self.layers_to_capture [excluded]
          handoff run [excluded]
            function run
              loop for layer in layers
                run layer(...)
        arm else [captures]
          loop for i in range(self.start_layer, self.end_layer) [captures]
            arm if i in self.layers_to_capture
              capture aux.append
            run self.layers[i](...)
        """,
        id="an arm that the rule's assumptions exclude",
    ),
    pytest.param(
        "hidden = self.run_all(hidden, self.layers)",
        """
        handoff self.run_all
          function Model.run_all
            loop for layer in layers [bypass]
              run layer(...)
        """,
        id="a method of the same object",
    ),
    pytest.param(
        "hidden = run_recipe(self.layers, hidden, True)",
        """
        handoff run_recipe [bypass]
          function run_recipe
            handoff make_recipe
              function make_recipe
                arm if name == 'Layer'
                  handoff of_layer
                    function of_layer
            arm if overlap
              function overlapped
                function execute
                  function Executor.next
                    run operation(...)
        """,
        id="down to what calls the operations of a layer",
    ),
    pytest.param(
        "hidden = run_recipe(self.layers, hidden)",
        """
        handoff run_recipe [bypass]
          function run_recipe
            handoff make_recipe
              function make_recipe
                arm if name == 'Layer'
                  handoff of_layer
                    function of_layer
            arm else
              function execute
                function Executor.next
                  run operation(...)
        """,
        id="a default decides an arm",
    ),
    pytest.param(
        "hidden = run_recipe(self.layers, hidden, batch.overlap)",
        """
        handoff run_recipe [bypass]
          function run_recipe
            handoff make_recipe
              function make_recipe
                arm if name == 'Layer'
                  handoff of_layer
                    function of_layer
            arm if overlap
              function overlapped
                function execute
                  function Executor.next
                    run operation(...)
            arm else
              function execute
        """,
        id="both arms where nothing decides",
    ),
    pytest.param(
        """
        from sglang.srt.runner import Maker
        from sglang.srt.overlap.stages import execute
        if batch.overlap:
            recipe = Maker.make([self.layers[i] for i in range(self.start_layer, 4)])
            hidden = execute(hidden, recipe.operations)
            for layer in self.layers:
                hidden = layer(hidden)
        """,
        """
        arm if batch.overlap [bypass]
          handoff Maker.make [bypass]
            function Maker.make
              handoff make_recipe
                function make_recipe
                  arm if name == 'Layer'
                    handoff of_layer
                      function of_layer
          function execute
            function Executor.next
              run operation(...)
          loop for layer in self.layers [bypass]
            run layer(...)
        """,
        id="imports inside the function",
    ),
    pytest.param(
        "run_captured(self.layers, hidden, aux)",
        """
        handoff run_captured [captures]
          function run_captured
            loop for layer in layers
              capture aux.append
              run layer(...)
        """,
        id="a runner that captures",
    ),
    pytest.param(
        f"""
        if batch.some:
        {indent(LOOP, " " * 12)}
            run(self.layers, hidden)
        """,
        """
        arm if batch.some
          loop for i in range(self.start_layer, self.end_layer) [captures]
            arm if i in self.layers_to_capture
              capture aux.append
            run self.layers[i](...)
          handoff run [bypass]
            function run
              loop for layer in layers
                run layer(...)
        """,
        id="an arm in which two things are said has no mark",
    ),
    pytest.param(
        "run_checked(self.layers, hidden)",
        """
        handoff run_checked [bypass]
          function run_checked
            arm if slow
              handoff run
                function run
                  loop for layer in layers
                    run layer(...)
            arm if isinstance(layers[0], Layer)
              handoff run
                function run
        """,
        id="arms that the arguments decide",
    ),
    pytest.param(
        "run_twice(self.layers, hidden)",
        """
        handoff run_twice [bypass]
          function run_twice
            handoff make_recipe
              function make_recipe
                arm if name == 'Layer'
                  handoff of_layer
                    function of_layer
            function staged
              arm if fast
                function execute
                  function Executor.next
                    run operation(...)
              arm else
                function execute
        """,
        id="arguments of calls that get no layers count too",
    ),
]


@pytest.mark.parametrize(("body", "expected"), BODIES)
def test_what_leads_to_layers(body: str, expected: str) -> None:
    assert dedent(expected).strip() == below_forward(draw(dedent(body)))


def test_all_shows_what_is_left_out() -> None:
    body = "hidden = run_recipe(self.layers, self.helper(hidden), True)"
    lines = [line.strip() for line in dump(draw(body, only="all"))]
    assert "function split" in lines
    assert "arm if name == 'OtherLayer' [never]" in lines
    assert "function prepare" in lines


def test_a_rule_shows_what_it_judges() -> None:
    expected = """
    loop for i in range(self.start_layer, self.end_layer) [captures]
    handoff run [bypass]
      function run
    """
    body = f"{LOOP}\nhidden = run(self.layers[3:], hidden)"
    assert dedent(expected).strip() == below_forward(draw(body, only=RULE))


def test_a_method_can_be_named() -> None:
    view = draw(entry="ServedForCausalLM.forward_split_prefill")
    assert view.entry == "ServedForCausalLM.forward_split_prefill"
    assert dump(view) == [
        "function ServedForCausalLM.forward_split_prefill",
        "  loop for i in range(batch.first, batch.end) [bypass]",
        "    run self.model.layers[i](...)",
    ]


def test_what_is_judged_is_shown_though_no_call_leads_there() -> None:
    tree = from_text(files(**{"return self.model(hidden, batch)": "return batch.go(self)"}))
    view = graph(tree, RULES, "ServedForCausalLM")
    assert below_forward(view) == below_forward(draw())
    assert [edge.resolution for edge in view.edges][:1] == ["unknown"]


def test_a_runner_that_is_not_in_the_tree() -> None:
    body = "hidden = run(self.layers, hidden)"
    tree = from_text(files(body, **{"sglang.srt.runner": "sglang.srt.elsewhere"}))
    assert below_forward(graph(tree, RULES, "ServedForCausalLM")) == "handoff run [unknown]"


PARTS = """
hidden = self.layers[0].part(hidden)
hidden = self.layers[0].op_first(hidden)
for layer in self.layers:
    hidden = layer.forward(hidden)
"""


def test_a_part_of_a_layer_is_no_layer() -> None:
    runs = [line.strip() for line in dump(draw(PARTS)) if "run " in line]
    assert runs == ["run layer.forward(...)"]


def test_an_arm_stays_where_calls_differ() -> None:
    body = """
    hidden = run_recipe(self.layers, hidden, True)
    hidden = run_recipe(self.layers, hidden, False)
    """
    lines = [line.strip() for line in dump(draw(dedent(body)))]
    assert {"arm if overlap", "arm else"} <= set(lines)


def test_a_class_that_no_rule_judges() -> None:
    changed = files(**{"set_eagle3_layers_to_capture": "load", "self.layers_to_capture = []": ""})
    view = graph(from_text(changed), RULES, "ServedForCausalLM")
    assert {node.mark for node in view.nodes} == {""}
    assert "run" in {node.kind for node in view.nodes}


UNSERVED = {
    "set_eagle3_layers_to_capture": "load",
    "self.layers_to_capture = []": "",
    "return self.model(hidden, batch)": "return batch.go(self)",
}


def test_what_no_rule_judges_is_shown_though_no_call_leads_there() -> None:
    view = graph(from_text(files(**UNSERVED)), RULES, "ServedForCausalLM")
    assert dump(view)[1] == "  function Model.forward"


TOWER = """
class Tower(nn.Module):
    def __init__(self, config):
        self.layers, *_ = make_layers(config.num_hidden_layers, lambda idx: Layer(config))

    def forward(self, hidden):
        for layer in self.layers:
            hidden = layer(hidden)
        return hidden

class ServedForCausalLM"""


def test_what_a_rule_does_not_judge_is_shown_only_if_a_call_leads_there() -> None:
    changes = {"class ServedForCausalLM": TOWER, "= Model(config)": "= Model(config)\n"}
    changes["self.model = "] = "self.tower = Tower(config)\n        self.model = "
    assert dump(graph(from_text(files(**changes)), RULES, "ServedForCausalLM")) == dump(draw())


def test_only_what_is_asked_for_where_it_runs_layers_itself() -> None:
    entry = "ServedForCausalLM.forward_split_prefill"
    assert len(dump(graph(from_text(files(**UNSERVED)), RULES, entry))) == 3
    itself = "return self.model.layers[0](hidden)"
    tree = from_text(files(**(UNSERVED | {"return self.model(hidden, batch)": itself})))
    assert dump(graph(tree, RULES, "ServedForCausalLM")) == [
        "function ServedForCausalLM.forward",
        "  run self.model.layers[0](...)",
    ]


def test_the_worst_is_said_of_a_place() -> None:
    tree = from_text(files("hidden = run(self.layers, hidden)"))
    report, view = audit(tree, RULES), draw("hidden = run(self.layers, hidden)", only="all")
    blocked = replace(report.findings[0], reach=Reach.BLOCKED)
    for found in ((blocked, report.findings[0]), (report.findings[0], blocked)):
        marked = lay_verdicts(view, replace(report, findings=found), frozenset())
        assert {node.mark for node in marked.nodes} >= {"bypass"}
        assert "blocked" not in {node.mark for node in marked.nodes}


def test_nothing_is_excluded_where_a_budget_ran_out() -> None:
    tree = from_text(files(GUARDED))
    report, view = audit(tree, RULES), draw(GUARDED)
    cut = replace(report, gaps=(Gap(kind="budget", file="f", line=1, message="no"),))
    assert "excluded" in {node.mark for node in lay_verdicts(view, report, frozenset()).nodes}
    assert "excluded" not in {node.mark for node in lay_verdicts(view, cut, frozenset()).nodes}


def test_a_place_says_what_was_found_out() -> None:
    view = draw(
        f"if batch.overlap:\n    hidden = run(self.layers, hidden)\nelse:{indent(LOOP, '    ')}"
    )
    handoff, loop = (node for node in view.nodes if node.kind != "arm" and node.mark)
    assert (handoff.label, handoff.detail, handoff.condition) == ("run", "layers", "batch.overlap")
    assert handoff.layers == "[0, len(layers))"
    assert loop.evidence == (f"{loop.file}:{loop.line + 2}",)


def test_a_function_that_names_layers_may_be_given_anything() -> None:
    body = """
    if batch:
        hidden = run(self.layers, hidden)
        self.forward(self.layers, None)
    """
    assert below_forward(draw(dedent(body))).startswith("arm if batch\n")


def test_recursion_ends() -> None:
    body = "hidden = self.forward(hidden, batch) if batch.again else run(self.layers, hidden)"
    assert "function Model.forward" in [line.strip() for line in dump(draw(body))[2:]]


def test_the_graph_is_the_same_each_time() -> None:
    body = "hidden = run_recipe(self.layers, hidden, batch.overlap)"
    assert draw(body, only="all") == draw(body, only="all")


# ---- mistakes ---------------------------------------------------------------------------------

MISTAKES = [
    pytest.param(
        "ServdForCausalLM",
        "layers",
        "text serves no class 'ServdForCausalLM'",
        "did you mean 'ServedForCausalLM'?",
        id="nearly a class",
    ),
    pytest.param(
        "ServedForCausalLM.forwrd",
        "layers",
        "ServedForCausalLM has no method 'forwrd'",
        "did you mean ServedForCausalLM.forward?",
        id="nearly a method",
    ),
    pytest.param(
        "ServedForCausalLM.x",
        "layers",
        "ServedForCausalLM has no method 'x'",
        "the framework calls forward and forward_split_prefill",
        id="no method",
    ),
    pytest.param(
        "ServedForCausalLM",
        "layer",
        "there is no rule 'layer' to show only that",
        "did you mean 'layers'?",
        id="nearly a word",
    ),
    pytest.param(
        "ServedForCausalLM",
        "x",
        "there is no rule 'x' to show only that",
        f"known are: layers, all, {RULE}",
        id="no rule",
    ),
]


@pytest.mark.parametrize(("entry", "only", "message", "hint"), MISTAKES)
def test_a_mistake_has_a_hint(entry: str, only: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        draw(entry=entry, only=only)
    assert (message, hint) == (raised.value.message, raised.value.hint)


# ---- pruning ----------------------------------------------------------------------------------

KINDS = {"f": "function", "a": "arm", "l": "loop", "r": "run", "h": "handoff", "c": "capture"}


def view_of(*paths: str, **marks: str) -> GraphView:
    """A graph from paths such as ``f0 a1 r2``; the letter of a name is its kind."""
    steps = [path.split() for path in paths]
    names = dict.fromkeys(name for path in steps for name in path)
    edges = dict.fromkeys(pair for path in steps for pair in pairwise(path))
    return GraphView(
        entry="f0",
        source=Source(label="text", version=None),
        rule=RULE,
        nodes=tuple(
            GraphNode(id=x, kind=KINDS[x[0]], label=x, file="f", line=1, mark=marks.get(x, ""))
            for x in names
        ),
        edges=tuple(GraphEdge(source=source, target=target) for source, target in edges),
        resolutions={},
    )


def names_of(view: GraphView) -> str:
    return " ".join(node.id for node in view.nodes)


KEPT = [
    pytest.param(view_of("f0 f1", "f0 a2 r3", "f0 a4"), "layers", "f0 a2 r3", id="runs"),
    pytest.param(view_of("f0 h1", "f0 h2 f3 f4"), "layers", "f0 h2 f3", id="handoffs"),
    pytest.param(view_of("f0 h1", h1="unknown"), "layers", "f0 h1", id="an unknown handoff"),
    pytest.param(view_of("f0 a1 h2", h2="excluded"), "layers", "f0", id="an excluded reader"),
    pytest.param(view_of("f0 a1 r2", a1="never"), "layers", "f0", id="never"),
    pytest.param(
        view_of("f0 a1 f2 r3", "f0 f2", a1="never"), "layers", "f0 f2 r3", id="another way"
    ),
    pytest.param(view_of("f0 a1 r2", a1="never"), "all", "f0 a1 r2", id="all"),
    pytest.param(
        view_of("f0 l1 r2", "f0 a3 r4", "f0 c5", l1="captures", a3="captures"),
        RULE,
        "f0 l1",
        id="a rule",
    ),
    pytest.param(view_of("f0 f1 f0", "f1 r2"), "layers", "f0 f1 r2", id="a circle"),
    pytest.param(view_of("f0 f1 r2", "f0 r3"), "layers", "f0 f1 r2 r3", id="depth first"),
]


@pytest.mark.parametrize(("view", "only", "expected"), KEPT)
def test_what_is_kept(view: GraphView, only: str, expected: str) -> None:
    assert expected == names_of(prune(view, only))


DEEP = view_of("f0 a1 f2 l3 f4 r5", "f0 f6 r7", "f0 f4", "f2 f0")
DEPTHS = [
    pytest.param(0, {"f0": "f6, f4", "a1": "f2"}, id="0"),
    pytest.param(1, {}, id="1"),
    pytest.param(None, {}, id="no limit"),
]


@pytest.mark.parametrize(("depth", "expected"), DEPTHS)
def test_depth_says_what_it_cuts(depth: int | None, expected: Mapping[str, str]) -> None:
    view = prune(DEEP, depth=depth)
    cut = {node.id.removesuffix("/..."): node.detail for node in view.nodes if node.label == "..."}
    assert expected == cut


def test_a_cut_names_a_few_functions() -> None:
    view = prune(view_of(*(f"f0 f{n} r{n}" for n in range(1, 6))), depth=0)
    assert view.nodes[-1].detail == "f1, f2, f3 and 2 more"


def test_a_function_is_as_deep_as_its_shortest_way() -> None:
    assert "r9" in names_of(prune(view_of("f0 f1 f2 r9", "f0 f2"), depth=1))


# ---- a release --------------------------------------------------------------------------------


def test_the_canonical_bypass() -> None:
    tree = open_source(str(release("0.5.6")), "sglang")
    expected = """
    function DeepseekV2ForCausalLM.forward
      function DeepseekV2Model.forward
        loop for i in range(normal_start_layer, normal_end_layer) [captures]
          arm if i in self.layers_to_capture
            capture aux_hidden_states.append
          run layer(...)
        arm if normal_end_layer != self.end_layer [bypass]
          handoff model_forward_maybe_tbo [bypass]
            function model_forward_maybe_tbo
              handoff OperationsStrategy.init_new_tbo
                function OperationsStrategy.init_new_tbo
                  arm if layer_name == 'DeepseekV2DecoderLayer'
                    handoff _compute_moe_deepseek_layer_operations_strategy_tbo
                      function _compute_moe_deepseek_layer_operations_strategy_tbo
                        arm if forward_mode == ForwardMode.EXTEND
                          handoff _compute_moe_deepseek_blog_prefill
                            function _compute_moe_deepseek_blog_prefill
                        arm if forward_mode == ForwardMode.DECODE or forward_mode == \
ForwardMode.TARGET_VERIFY
                          handoff _compute_moe_deepseek_blog_decode
                            function _compute_moe_deepseek_blog_decode
              arm if enable_tbo
                function _model_forward_tbo
                  function execute_overlapped_operations
                    function _StageExecutor.next
                      run op.fn(...)
    """
    view = graph(tree, RULES, "DeepseekV2ForCausalLM.forward")
    assert dedent(expected).strip() == "\n".join(dump(view))
    handoff = next(node for node in view.nodes if node.mark == "bypass" and node.kind != "arm")
    assert handoff.layers == "[first_k_dense_replace, end_layer)"
    assert handoff.condition.startswith("forward_batch.can_run_tbo and ")
