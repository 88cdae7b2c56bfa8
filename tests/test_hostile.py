"""What the audited code says is shown by every format, and obeyed by nobody who reads it."""

import io
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from pathaudit.reporters import comment, dot, github, junit, mermaid, sarif
from pathaudit.reporters import json as json_reporter
from pathaudit.reporters import text as text_reporter
from pathaudit.reporters.escaping import visible
from pathaudit.reporters.markdown_text import code, escaped, in_html
from pathaudit.results import GraphEdge, GraphNode, GraphView, Source
from tests.commands import obeyed
from tests.test_reporters import finding, hostile_report, report

HOSTILE = [
    pytest.param("::error file=a::b", id="workflow command"),
    pytest.param("a ::error::b ::stop-commands::c", id="workflow commands behind a space"),
    pytest.param("##[error]a ##vso[task.setvariable]b", id="command inside a line"),
    pytest.param("a%0Ab%0D%25", id="escapes of workflow commands"),
    pytest.param("a]]>b<![CDATA[c", id="end of CDATA"),
    pytest.param("</testcase></details>&amp;<script>", id="tags"),
    pytest.param("a|b|\n|c", id="pipes"),
    pytest.param("`a``b```", id="backticks"),
    pytest.param("a\nb\rc\u2028d\x85e", id="line ends"),
    pytest.param("\x1b[31m\x07\x00\x9b\x7f", id="control characters"),
    pytest.param("\u202egnirts\u2066\u200f", id="right to left"),
    pytest.param("\ufeff\u200b\ufe0f\U000e0041", id="invisible"),
    pytest.param("\udcff\ud800", id="undecodable"),
    pytest.param("\uffff\ufffe", id="no characters of XML"),
    pytest.param("@all #1 [a](http://e) ![b](c) <!-- pathaudit -->", id="Markdown"),
    pytest.param("{0} {{1}} [a](0)", id="placeholders of SARIF"),
    pytest.param('"\'\\"</TABLE>>];--%%{init}%%', id="quotes and ends of labels"),
]
# What no output may hold, whoever reads it: only these end its lines.
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def rendered(render: Callable[..., None], answer: object, **options: object) -> str:
    out = io.StringIO()
    render(answer, out, **options)
    return out.getvalue()


def graph_of(text: str) -> GraphView:
    kinds = ("function", "arm", "loop", "run", "handoff", "capture", "call")
    nodes = tuple(
        GraphNode(
            id=kind,
            kind=kind,
            label=text,
            file=text,
            line=1,
            mark=text,
            detail=text,
            layers=text,
            condition=text,
        )
        for kind in kinds
    )
    edges = tuple(GraphEdge(source="function", target=kind) for kind in kinds[1:])
    source = Source(label=text, version=text)
    return GraphView(entry=text, source=source, rule=text, nodes=nodes, edges=edges, resolutions={})


def as_text(text: str, width: int = 80) -> str:
    excerpts = {text: {1: text}}
    answer = hostile_report(text)
    return rendered(text_reporter.render, answer, excerpts=excerpts, verbose=True, width=width)


def of_report(render: Callable[..., None]) -> Callable[[str], str]:
    return lambda text: rendered(render, hostile_report(text))


def of_graph(render: Callable[..., None]) -> Callable[[str], str]:
    return lambda text: rendered(render, graph_of(text))


FORMATS = {
    "text": as_text,
    "narrow text": lambda text: as_text(text, 40),
    "json": of_report(json_reporter.render),
    "sarif": of_report(sarif.render),
    "github": of_report(github.render),
    "junit": of_report(junit.render),
    "markdown": of_report(comment.render),
    "dot": of_graph(dot.render),
    "mermaid": of_graph(mermaid.render),
}
every_format = pytest.mark.parametrize("name", FORMATS)


@every_format
@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_is_written_that_a_reader_obeys(text: str, name: str) -> None:
    shown = FORMATS[name](text)
    assert RAW.findall(shown) == []
    shown.encode("utf-8")
    commands = [found.name for line in shown.splitlines() if (found := obeyed(line))]
    harmless = [found.name for line in FORMATS[name]("a").splitlines() if (found := obeyed(line))]
    assert commands == harmless
    assert bool(commands) is (name == "github")
    assert not re.search(r"##\w*\[", shown)


@every_format
def test_only_a_command_is_shown_otherwise(name: str) -> None:
    assert "x36" not in FORMATS[name]("a::b [::2] # [c]")


# ---- where there is a parser, it gives back what was said ---------------------------------------

ANY = st.text(
    alphabet=st.one_of(
        st.sampled_from("%:,=[](){}<>&\"'`|@#$*_~\\!\r\n\t \x00\x1b\u202e\u200b\ufeff\ud800az0"),
        st.characters(exclude_categories=["Cs"]),
    ),
    min_size=1,
    max_size=40,
)


@given(ANY)
def test_json_gives_back_what_was_said(text: str) -> None:
    shown = rendered(json_reporter.render, hostile_report(text))
    assert shown.isascii()
    assert json.loads(shown)["findings"][0]["layers"] == text


@given(ANY)
def test_sarif_gives_back_what_was_said(text: str) -> None:
    shown = rendered(sarif.render, hostile_report(text))
    assert shown.isascii()
    result = json.loads(shown)["runs"][0]["results"][0]
    assert result["properties"]["layers"] == text
    assert result["ruleId"] == text
    said = result["message"]["text"].replace("{{", "{").replace("}}", "}")
    assert said.startswith(visible(text).replace("](", "] ("))


@given(ANY)
def test_xml_gives_back_what_was_said(text: str) -> None:
    root = ElementTree.fromstring(rendered(junit.render, hostile_report(text)))
    suites = [suite.attrib["name"] for suite in root]
    assert visible(text) in suites
    skipped = root.find("testsuite/testcase/skipped")
    assert skipped is not None
    assert skipped.attrib["message"] == f"accepted: {visible(text)}: {visible(text)}"


MARKDOWN = MarkdownIt("gfm-like", {"linkify": False, "html": True})


def inline(text: str) -> list[Token]:
    """The tokens of a paragraph, read as GitHub does."""
    _, content, _ = MARKDOWN.parse(f"x {text} y")
    return content.children or []


@given(ANY)
@example(" a ")
@example("  ")
@example("`")
def test_code_gives_back_what_was_said(text: str) -> None:
    before, span, after = inline(code(text))
    assert (before.content, span.type, after.content) == ("x ", "code_inline", " y")
    assert span.content == visible(text)


@given(ANY)
def test_escaped_text_gives_back_what_was_said(text: str) -> None:
    tokens = inline(escaped(text))
    assert {token.type for token in tokens} <= {"text", "code_inline", "text_special"}
    said = "".join(token.content for token in tokens)
    assert said == f"x {visible(text)} y"
    assert set("".join(x.content for x in tokens if x.type == "code_inline")) <= set("@#$")


@given(ANY)
def test_a_row_has_as_many_cells_whatever_is_in_them(text: str) -> None:
    found = MARKDOWN.parse(rendered(comment.render, hostile_report(text)))
    rows = [index for index, token in enumerate(found) if token.type == "tr_open"]
    ends = [index for index, token in enumerate(found) if token.type == "tr_close"]
    counts = [
        len([x for x in found[start:end] if x.type in ("td_open", "th_open")])
        for start, end in zip(rows, ends, strict=True)
    ]
    assert counts == [4, 4]


class Page(HTMLParser):
    """What a browser makes of a page: its elements, which are all closed, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert attrs == []
        self.elements.add(tag)
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@given(ANY)
def test_html_gives_back_what_was_said(text: str) -> None:
    page = Page(f"<b>{in_html(text)}</b>")
    assert page.elements <= {"b", "code"}
    assert page.text == visible(text)


PLAIN = {
    *("h3", "h4", "p", "ul", "li", "strong", "code"),
    *("details", "summary", "table", "thead", "tbody", "tr", "th", "td"),
}


@given(ANY)
def test_a_comment_has_no_elements_but_its_own(text: str) -> None:
    for answer in (hostile_report(text), report([finding(message=text, file=text, rule=text)])):
        shown = rendered(comment.render, answer)
        assert shown.count("<!--") == 1
        assert Page(MARKDOWN.render(shown)).elements <= PLAIN
