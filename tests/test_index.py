"""What names mean, which types attributes have, and what a setter arms."""

from pathlib import Path
from textwrap import dedent

import pytest

from pathaudit.index import ClassRef, ClassType, Index, Instance, StackType, Write, build_index
from pathaudit.ruleset import load_ruleset, rules_directory
from pathaudit.sources import from_text

PROFILE = load_ruleset(rules_directory() / "sglang").profile

MODELS = "sglang/srt/models"
UTILS = """
    def make_layers(count, layer_fn, prefix=""):
        ...
"""


def index(**files: str) -> Index:
    """Modules of ``sglang/srt/models`` by name, with the helper that makes layers."""
    texts = {f"{MODELS}/{name}.py": dedent(text) for name, text in files.items()}
    return build_index(from_text({"sglang/srt/utils.py": dedent(UTILS), **texts}), PROFILE)


def ref(name: str, module: str = "demo") -> ClassRef:
    return ClassRef(f"{MODELS}/{module}.py", name)


def names(found: Index, cls: str, attribute: str) -> tuple[list[str], bool]:
    """The classes that an attribute may hold, those of a stack in brackets; all of them?"""
    types = found.types.attribute(Instance(ref(cls)), attribute)
    shown = []
    for item in types.items:
        if isinstance(item, StackType):
            inner = ", ".join(x.cls.name for x in item.elements.instances())
            shown.append(f"[{inner}]" + ("" if item.decoder else " other"))
        elif isinstance(item, Instance | ClassType):
            shown.append(item.cls.name)
    return shown, types.complete


HEAD = """
from torch import nn
from sglang.srt.utils import make_layers
class A(nn.Module): ...
class B(nn.Module): ...
class Base(nn.Module):
    def __init__(self, config, layer_type=A):
        layer_type = layer_type or B
        self.layers, self.start, self.end = make_layers(
            config.n, lambda idx, prefix: layer_type(idx)
        )
class Demo(Base):
    def __init__(self, config):
        super().__init__(config=config, layer_type=B)
"""


def demo(body: str) -> Index:
    return index(demo=HEAD + dedent(body))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("A(1)", (["A"], True), id="constructor"),
        pytest.param("A(1) if config.x else B(2)", (["A", "B"], True), id="conditional"),
        pytest.param("config.x or A(1)", (["A"], False), id="or"),
        pytest.param("make()", (["A"], True), id="factory"),
        pytest.param("unknown()", ([], False), id="unknown"),
        pytest.param("None", ([], True), id="none"),
        pytest.param("kind(1)", (["A"], True), id="parameter-default"),
        pytest.param("TYPES[config.kind](1)", (["A", "B"], True), id="table"),
        pytest.param("nn.ModuleList([A(i) for i in range(3)])", (["[A] other"], True), id="list"),
        pytest.param(
            "nn.ModuleList([A(i) for i in range(config.num_hidden_layers)])",
            (["[A]"], True),
            id="as-many-as-layers",
        ),
        pytest.param("make_layers(3, layer_fn=partial(A, config))", (["[A]"], True), id="partial"),
        pytest.param("make_layers(3, local)", (["[B]"], True), id="local-factory"),
    ],
)
def test_attribute_types(value: str, expected: tuple[list[str], bool]) -> None:
    found = demo(f"""
    from functools import partial
    TYPES = {{"a": A, "b": B}}
    def make():
        return A(1)
    class Holder(nn.Module):
        def __init__(self, config, kind=A):
            def local(idx, prefix):
                made = B
                return made(idx)
            self.held = {value}
    """)
    assert names(found, "Holder", "held") == expected


def test_a_stack_filled_by_appending() -> None:
    found = demo("""
    class Holder(nn.Module):
        def __init__(self, config):
            self.layers = nn.ModuleList()
            for i in range(config.num_hidden_layers):
                layer = A(i)
                self.layers.append(layer)
    """)
    assert names(found, "Holder", "layers") == (["[A]"], True)


def test_a_constructor_argument_reaches_the_base() -> None:
    found = demo("")
    assert names(found, "Base", "layers") == (["[A]"], True)
    assert names(found, "Demo", "layers") == (["[B]"], True)


def test_an_item_of_what_a_function_returns() -> None:
    found = demo("""
    def pair(kinds):
        made = tuple(A(kind) for kind in kinds)
        return made
    class Holder(nn.Module):
        def __init__(self):
            self.left, self.right = pair((1, 2))
    """)
    assert names(found, "Holder", "right") == (["A"], True)


def test_same_named_classes_differ() -> None:
    found = index(
        one="class Layer: ...\nclass M:\n    def __init__(self):\n        self.x = Layer()",
        two="from sglang.srt.models.one import M\nclass Layer: ...\nclass N(M): ...",
    )
    assert found.at(ref("N", "two"), ("x",)) == (Instance(ref("Layer", "one")),)


def test_names_through_packages_and_stars() -> None:
    files = {
        "sglang/srt/utils/__init__.py": "from .common import *",
        "sglang/srt/utils/common.py": "def make_layers(): ...",
        f"{MODELS}/demo.py": "from sglang.srt.utils import make_layers as make",
    }
    modules = build_index(from_text(files), PROFILE).modules
    found = modules.resolve(f"{MODELS}/demo.py", "make")
    assert str(found) == "FunctionRef(file='sglang/srt/utils/common.py', qualname='make_layers')"


def test_c3_order_and_super() -> None:
    found = index(
        demo="class A: ...\nclass B(A):\n    def f(self): ...\nclass C(A): ...\nclass D(B, C): ..."
    )
    assert [cls.name for cls in found.modules.mro(ref("D"))] == ["D", "B", "C", "A"]
    assert found.modules.method(ref("D"), "f", after=ref("B")) is None


def test_a_circular_hierarchy_ends() -> None:
    found = index(demo="class A(B): ...\nclass B(A): ...")
    assert [cls.name for cls in found.modules.mro(ref("A"))] == ["A", "B"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("def broken(:", "does not parse: ", id="syntax"),
        pytest.param(f"x = {'(' * 5000}1{')' * 5000}", "", id="nested"),
    ],
)
def test_a_file_that_does_not_parse_is_a_gap(text: str, message: str) -> None:
    found = index(demo=text)
    assert found.modules.outline(f"{MODELS}/demo.py") is None
    assert message in found.modules.gaps[0].message


SETTERS = """
class Inner(nn.Module):
    def __init__(self, config):
        self.layers, _, _ = make_layers(3, lambda idx, prefix: A(idx))
    def set_eagle3_layers_to_capture(self, ids):
        self.layers_to_capture = ids
        for i in self.layers_to_capture:
            setattr(self.layers[i], "flag", True)
class Outer(nn.Module):
    def __init__(self, config):
        self.model = Inner(config)
    def set_eagle3_layers_to_capture(self, layer_ids=None):
        {body}
class Wrapper(nn.Module):
    def __init__(self, config):
        self.language_model = Outer(config)
    def set_eagle3_layers_to_capture(self, layer_ids=None):
        self.language_model.set_eagle3_layers_to_capture(layer_ids)
EntryClass = [Outer, Wrapper]
"""


def armed(body: str, cls: str = "Outer") -> list[str]:
    """The stores of the setter, as ``path.name=kind``."""
    indented = dedent(body).strip().replace("\n", "\n        ")
    found = index(demo=HEAD + SETTERS.replace("{body}", indented))
    (feature,) = found.features(ref(cls))
    return [shown(write) for write in feature.writes]


def shown(write: Write) -> str:
    place = ".".join((*write.path, *(["[]"] if write.element else []), write.name))
    return f"{place}={write.kind}"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            "self.on = True\nself.model.ids = [x + 1 for x in layer_ids]",
            ["on=true", "model.ids=listed"],
            id="list",
        ),
        pytest.param(
            """
            if layer_ids is None:
                self.model.ids = [2, 3]
            else:
                self.model.ids = layer_ids
            """,
            ["model.ids=listed"],
            id="both-arms",
        ),
        pytest.param("self.model.ids = list(set(layer_ids))", ["model.ids=listed"], id="copy"),
        pytest.param(
            "self.model.a = True\nself.model.a = False", ["model.a=anything"], id="disagree"
        ),
        pytest.param("model = self.model\nmodel.ids = layer_ids", ["model.ids=listed"], id="alias"),
        pytest.param(
            "self.model.set_eagle3_layers_to_capture([i + 1 for i in layer_ids])",
            ["model.layers_to_capture=listed", "model.layers.[].flag=true"],
            id="delegates",
        ),
        pytest.param(
            """
            if hasattr(self.model, "set_eagle3_layers_to_capture"):
                self.model.seen = True
            else:
                self.model.unseen = True
            """,
            ["model.seen=true"],
            id="hasattr",
        ),
        pytest.param(
            "for i, layer in enumerate(self.model.layers):\n    layer.flag = i in layer_ids",
            ["model.layers.[].flag=true"],
            id="flag-by-membership",
        ),
        pytest.param("self.__class__.x = 1", ["__class__.x=anything"], id="odd"),
    ],
)
def test_a_feature_is_what_its_setter_stores(body: str, expected: list[str]) -> None:
    assert armed(body) == expected


def test_a_wrapper_arms_what_it_holds() -> None:
    found = armed("self.model.ids = layer_ids", "Wrapper")
    assert found == ["language_model.model.ids=listed"]


def test_entries_of_all_forms() -> None:
    found = index(
        one="class A: ...\nEntryClass = A",
        two="class B: ...\nclass C: ...\nEntryClass = [B, C]",
        three="from sglang.srt.models.one import A\nclass D: ...\nEntryClass = (D,) + (A,)",
    )
    served = [found.served(file) for file in found.model_files]
    assert [[entry.name for entry in entries] for entries in served] == [
        ["A"],
        ["A", "D"],
        ["B", "C"],
    ]


def test_drafts_are_known_by_name() -> None:
    found = index(demo="class LlamaForCausalLMEagle3: ...\nclass LlamaForCausalLM: ...")
    assert found.is_draft(ref("LlamaForCausalLMEagle3"))
    assert not found.is_draft(ref("LlamaForCausalLM"))


def test_the_profile_is_where_it_is_expected() -> None:
    assert Path(rules_directory(), "sglang", "profile.yaml").is_file()
