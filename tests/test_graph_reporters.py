"""How a graph is written: as a tree, as DOT, as Mermaid and as JSON.

The golden files hold the graph of the bundled example. After a change that is meant, run
``PATHAUDIT_UPDATE_GOLDEN=1 pytest tests/test_graph_reporters.py`` and read the difference.
"""

import io
import json
import os
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TextIO
from xml.etree import ElementTree

import jsonschema
import pytest
from rich.cells import cell_len

from pathaudit.graph import graph
from pathaudit.reporters import dot, mermaid, tree
from pathaudit.reporters import json as json_reporter
from pathaudit.results import GraphEdge, GraphNode, GraphView, Source
from pathaudit.sources import open_source
from tests.labels import capture_rules

ROOT = Path(__file__).parent.parent
GOLDEN = Path(__file__).parent / "golden"
MODEL = "sglang/srt/models/model.py"
RUNNER = "sglang/srt/runner.py"
Render = Callable[[GraphView, TextIO], None]
FORMATS: dict[str, Render] = {
    "graph.txt": tree.render,
    "graph.dot": dot.render,
    "graph.mmd": mermaid.render,
    "graph.json": json_reporter.render,
}


def written(view: GraphView, render: Render = tree.render, encoding: str = "utf-8") -> str:
    """What a reporter writes to a file of an encoding."""
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding, newline="\n", write_through=True)
    render(view, out)
    return raw.getvalue().decode(encoding)


def node(name: str, kind: str, label: str, line: int, file: str = MODEL, **more: str) -> GraphNode:
    evidence = (more.pop("evidence"),) if "evidence" in more else ()
    return GraphNode(
        id=name, kind=kind, label=label, line=line, file=file, evidence=evidence, **more
    )


def view_of(nodes: list[GraphNode], edges: str = "") -> GraphView:
    """A graph; edges are ``a>b``, or ``a?b`` for a call that could not be looked up."""
    found = (re.split("([>?*])", edge) for edge in edges.split())
    kinds = {">": "exact", "?": "unknown", "*": "hierarchy"}
    return GraphView(
        entry="Served.forward",
        source=Source(label="tree", version="1.2"),
        rule="skipped-aux-capture",
        nodes=tuple(nodes),
        edges=tuple(GraphEdge(source=a, target=b, resolution=kinds[how]) for a, how, b in found),
        resolutions={"exact": 7, "unknown": 2},
    )


SMALL = view_of(
    [
        node("f", "function", "Served.forward", 10),
        node("m", "function", "Model.forward", 20, detail="of OtherModel"),
        node("if", "arm", "if batch.can_run_tbo", 21, mark="bypass"),
        node(
            "hand",
            "handoff",
            "run",
            22,
            mark="bypass",
            detail="layers",
            layers="[k, end)",
            condition="batch.can_run_tbo and k < end",
        ),
        node("run", "function", "run", 5, RUNNER),
        node("op", "run", "op.fn(...)", 7, RUNNER, detail="made of the layers"),
        node("else", "arm", "else", 25, mark="captures", detail="not (batch.can_run_tbo)"),
        node(
            "loop",
            "loop",
            "for i in range(k)",
            25,
            mark="captures",
            layers="[0, k)",
            evidence=f"{MODEL}:26",
        ),
        node("aux", "capture", "aux.append", 26),
        node("layer", "run", "layer(...)", 27),
    ],
    "f>m m>if if>hand hand>run run>op m>else else>loop loop>aux loop>layer",
)

# ---- the golden files -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def example() -> GraphView:
    rules = capture_rules()
    source = open_source(str(ROOT / "examples" / "two_batch_overlap"), "sglang")
    view = graph(source, rules, "OverlappedForCausalLM")
    label = Source(label="two_batch_overlap", version=view.source.version)
    return GraphView(
        entry=view.entry,
        source=label,
        rule=view.rule,
        nodes=view.nodes,
        edges=view.edges,
        resolutions=view.resolutions,
    )


@pytest.mark.parametrize("name", FORMATS)
def test_golden(name: str, example: GraphView) -> None:
    text = written(example, FORMATS[name])
    if "PATHAUDIT_UPDATE_GOLDEN" in os.environ:
        (GOLDEN / name).write_text(text, encoding="utf-8")
    assert (GOLDEN / name).read_text(encoding="utf-8") == text
    assert written(example, FORMATS[name]) == text, "the same bytes each time"


def test_json_keeps_to_its_schema(example: GraphView) -> None:
    document = json.loads(written(example, json_reporter.render))
    jsonschema.validate(document, json_reporter.schema(GraphView))
    assert list(document)[:2] == ["schema", "source"]


# ---- the tree ---------------------------------------------------------------------------------


def test_tree() -> None:
    expected = """\
Served.forward                                     sglang/srt/models/model.py:10
└─ Model.forward of OtherModel                                               :20
   ├─ if batch.can_run_tbo                                                   :21
   │  └─ hands layers [k, end) to run                            BYPASS      :22
   │     │ when batch.can_run_tbo and k < end
   │     │ in sglang/srt/runner.py:5
   │     └─ runs op.fn(...), made of the layers                               :7
   └─ else                                                                   :25
      └─ for i in range(k)                                     captures      :25
         │ layers [0, k), captured at :26
         ├─ aux.append(...)                                                  :26
         └─ runs layer(...)                                                  :27

Served.forward in tree (version 1.2); skipped-aux-capture: BYPASS 1, captures 1;
  2 of 9 calls could not be looked up
"""
    assert expected == written(SMALL)


def lines(view: GraphView, width: int = 80) -> list[str]:
    text = written(view, lambda v, out: tree.render(v, out, width=width))
    return text.splitlines()


def test_a_function_is_written_once() -> None:
    view = view_of(
        [
            node("f", "function", "Served.forward", 1),
            node("g", "function", "prepare", 2),
            node("h", "handoff", "run", 3, detail="layers"),
            node("r", "function", "run", 4, RUNNER),
            node("l", "run", "layer(...)", 5, RUNNER),
        ],
        "f>g g>r f>h h>r r>l",
    )
    body = [re.sub(r" +[\w/.]*:\d+$", "", line) for line in lines(view)[1:-3]]
    expected = ["├─ prepare", "│  └─ run", "│     └─ runs layer(...)"]
    assert [*expected, "└─ hands layers to run (above)"] == body


ELSES = [
    pytest.param("else", "not (batch.x)", "if not batch.x", id="a name"),
    pytest.param("else", "not (batch.x())", "if not batch.x()", id="a call"),
    pytest.param("else", "not (not x)", "if x", id="twice"),
    pytest.param("else", "not (x and y)", "if not (x and y)", id="more"),
    pytest.param("else", "", "else", id="not known"),
    pytest.param("if x", "", "if x", id="if"),
]


@pytest.mark.parametrize(("label", "detail", "expected"), ELSES)
def test_an_else_without_its_if(label: str, detail: str, expected: str) -> None:
    nodes = [node("f", "function", "f", 1), node("a", "arm", label, 2, detail=detail)]
    view = view_of([*nodes, node("r", "run", "layer(...)", 3)], "f>a a>r")
    assert f"└─ {expected}" in [line.rpartition("  ")[0].rstrip() for line in lines(view)]


REMARKS = [
    pytest.param("?", {}, "reached by calls that could not be followed", id="unknown"),
    pytest.param("*", {}, "one of several that may be called", id="hierarchy"),
    pytest.param(">", {"file": RUNNER * 2}, f"in {RUNNER * 2}:2", id="another file"),
]


@pytest.mark.parametrize(("how", "changes", "expected"), REMARKS)
def test_a_remark_on_a_call(how: str, changes: dict[str, str], expected: str) -> None:
    callee = node("g", "function", "g" * 50, 2, **changes)
    view = view_of([node("f", "function", "f", 1), callee], f"f{how}g")
    assert expected in "\n".join(lines(view))


MARKED = [
    pytest.param({"mark": "blocked", "proof": "raises at a.py:3"}, "blocked", id="blocked"),
    pytest.param({"mark": "unknown"}, "unknown", id="unknown"),
    pytest.param({"mark": "excluded"}, "excluded", id="excluded"),
]


@pytest.mark.parametrize(("fields", "word"), MARKED)
def test_a_mark_is_a_word_beside_the_place(fields: dict[str, str], word: str) -> None:
    loop = node("l", "loop", "for x in y", 2, **fields)
    text = "\n".join(lines(view_of([node("f", "function", "f", 1), loop], "f>l")))
    assert re.search(rf"for x in y +{word} +:2$", text, re.MULTILINE)
    assert fields.get("proof", "") in text
    assert f"{word} 1;" in text


def test_an_arm_tells_what_is_excluded_in_it() -> None:
    view = view_of(
        [
            node("f", "function", "f", 1),
            node("a", "arm", "if x", 2, mark="excluded"),
            node("r", "run", "layer(...)", 3, mark="excluded"),
        ],
        "f>a a>r",
    )
    text = lines(view)
    assert ["excluded" in line for line in text[1:4]] == [True, False, False]
    assert "where the rule's assumptions do not lead" in text[2]


def test_nothing_runs() -> None:
    assert "└─ runs no layers, as far as its calls could be followed" in lines(
        view_of([node("f", "function", "f", 1)])
    )


def test_the_summary_of_an_unjudged_entry() -> None:
    text = " ".join(" ".join(lines(view_of([node("f", "function", "f", 1)]))).split())
    assert "skipped-aux-capture: nothing to judge; 2 of 9 calls" in text


def test_color_moves_nothing() -> None:
    painted = written(SMALL, lambda v, out: tree.render(v, out, color=True))
    assert "\x1b[1;31m" in painted
    assert "\x1b[1;32m" in painted
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == written(SMALL)


def test_guides_that_an_encoding_lacks() -> None:
    text = written(SMALL, encoding="ascii")
    assert text.isascii()
    assert "`- Model.forward of OtherModel" in text
    assert "   |- if batch.can_run_tbo" in text


@pytest.mark.parametrize("width", [1, 40, 60, 80, 120])
def test_lines_fit(width: int, example: GraphView) -> None:
    long = max(width, 40)
    for line in lines(example, width):
        assert cell_len(line) <= long or "/" in line, line


def test_a_deep_graph_fits() -> None:
    names = [f"a{number}" for number in range(60)]
    arms = [node(name, "arm", f"if {name * 30}", 5) for name in names]
    edges = " ".join(f"{a}>{b}" for a, b in pairwise(names))
    deep = lines(view_of([node("f", "function", "f", 1), *arms], f"f>a0 {edges}"))
    assert max(map(cell_len, deep)) <= 80
    assert sum("─ if" in line for line in deep) == 60


def test_a_graph_of_any_depth_is_written() -> None:
    names = [f"a{number}" for number in range(3000)]
    arms = [node(name, "arm", "if x", 5) for name in names]
    edges = " ".join(f"{a}>{b}" for a, b in pairwise(names))
    view = view_of([node("f", "function", "f", 1), *arms], f"f>a0 {edges}")
    assert all(written(view, render) for render in FORMATS.values())


# ---- pictures ---------------------------------------------------------------------------------


def rows_of(text: str) -> list[str]:
    """The rows of all boxes of a DOT file, as text."""
    boxes = re.findall(r"label=<(<TABLE.*</TABLE>)>\]", text)
    rows = [row for box in boxes for row in ElementTree.fromstring(box)]
    return [" ".join("".join(row.itertext()).split()) for row in rows]


def test_dot_has_a_box_for_each_function() -> None:
    text = written(SMALL, dot.render)
    assert rows_of(text) == [
        "Served.forwardmodel.py:10",
        "Model.forwardof OtherModelmodel.py:20",
        "if batch.can_run_tbo :21",
        "hands layers [k, end) to :22 run BYPASS when batch.can_run_tbo and k < end",
        "else :25",
        "for i in range(k) :25 layers [0, k) captures",
        "aux.append(...) :26",
        "runs layer(...) :27",
        "runrunner.py:5",
        "runs op.fn(...) :7made of the layers",
    ]
    assert "rankdir=LR" in text


def test_dot_leads_from_the_line_of_a_call() -> None:
    arrows = re.findall(r"(n\d+:p\d+):e -> (n\d+:p\d+):w(.*);", written(SMALL, dot.render))
    plain, bypass = arrows
    assert plain == ("n0:p0", "n1:p0", "")
    assert bypass == ("n1:p2", "n2:p0", ' [color="#c62828", penwidth=2.5]')


def test_dot_keeps_to_the_longest_label_of_graphviz() -> None:
    arms = [node(f"a{n}", "arm", f"if {n} < {'&' * 100}", n) for n in range(200)]
    view = view_of(
        [node("f", "function", "f", 1), *arms, node("g", "function", "g", 1)],
        " ".join(f"f>a{n}" for n in range(200)) + " a199>g",
    )
    text = written(view, dot.render)
    assert max(map(len, text.splitlines())) < 16384
    more = next(row for row in rows_of(text) if row.startswith("..."))
    shown = sum(row.startswith("if ") for row in rows_of(text))
    assert more == f"... {200 - shown} more"
    assert f"n0:p{shown + 1}:e -> n1:p0:w" in text


def test_mermaid_writes_what_is_handed_over_on_an_arrow() -> None:
    text = written(SMALL, mermaid.render)
    assert text.startswith("flowchart LR\n")
    label = r"hands layers \[k, end\) over<br/>BYPASS<br/>when .*"
    assert re.search(rf'-->\|"{label}"\| n3$', text, re.MULTILINE)
    assert '"if not batch.can_run_tbo<br/>model.py:25"' in text
    assert re.search(r"linkStyle 3 .*#c62828", text)


HOSTILE = "a\x1b[31m\nb\u202e\"'</TABLE>>]--|`#quot;&amp;%%{init}%% \\ é\ud800" + "x" * 300


@pytest.fixture
def hostile() -> GraphView:
    kinds = ("function", "arm", "loop", "run", "handoff", "capture", "call")
    nodes = [
        node(kind, kind, HOSTILE, 1, HOSTILE, detail=HOSTILE, layers=HOSTILE, condition=HOSTILE)
        for kind in kinds
    ]
    inner = node("g", "function", HOSTILE, 1, HOSTILE, evidence=HOSTILE, proof=HOSTILE)
    edges = " ".join(f"function>{kind}" for kind in kinds[1:])
    return GraphView(
        entry=HOSTILE,
        source=Source(label=HOSTILE, version=HOSTILE),
        rule=HOSTILE,
        nodes=(*nodes, inner),
        edges=view_of([], f"{edges} handoff>g").edges,
        resolutions={},
    )


@pytest.mark.parametrize("name", FORMATS)
def test_no_control_character_is_written(name: str, hostile: GraphView) -> None:
    text = written(hostile, FORMATS[name])
    assert re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text) == []


def test_hostile_labels_in_dot(hostile: GraphView) -> None:
    text = written(hostile, dot.render)
    rows = rows_of(text)
    assert text.isascii()
    assert len(re.findall("label=<<TABLE", text)) == 2, (
        "boxes are well-formed, and no more than two"
    )
    assert rows[0].startswith("a\\x1b[31m\\nb\\u202e\"'</TABLE>>]--|`#quot;&amp;%%{init}")


def test_hostile_labels_in_mermaid(hostile: GraphView) -> None:
    text = written(hostile, mermaid.render)
    assert text.isascii()
    label = r'"(?:[^"`|{}%<>&\\]|<br/>)*"'
    forms = (rf"n\d+\W{{1,2}}{label}\W{{1,2}}", rf"n\d+ -->(?:\|{label}\|)? n\d+")
    statements = re.compile("|".join((*forms, "class.*", "linkStyle.*")))
    assert [x for x in text.splitlines()[1:] if not statements.fullmatch(x.strip())] == []
